"""Freeing a page that a dialog stops which nobody can answer: only so, and only by what its dialogs name."""

from __future__ import annotations

from typing import Any

import pytest

from cdp_core.errors import CommandRefused, ConnectionLost, InvalidArgument
from cdp_supervisor.errors import BlockedByDialog, CallTimedOut, UnknownTarget
from cdp_supervisor.sansio import recovery
from cdp_supervisor.sansio.effects import Forget
from cdp_supervisor.sansio.options import Policy, Scope
from cdp_supervisor.sansio.requests import Recover, Stop
from cdp_supervisor.sansio.transition import Transition
from support import folded_machine

HANDLE, NAVIGATE, CLOSE = "Page.handleJavaScriptDialog", "Page.navigate", "Target.closeTarget"
REMEDIES = ("same_document", "navigate", "reload", "close")
error = folded_machine.error


def blocked(**options: Any) -> Any:
    """A page that has not answered its setup."""
    fold = folded_machine.on_a_page(**options)
    fold.passes(3.0)
    assert fold.health() == "blocked"
    return fold


def stuck(code: int = folded_machine.NONE_SHOWING, *, native: bool = True, **options: Any) -> Any:
    """A page with a dialog whose answer was refused."""
    fold = folded_machine.with_tree(**options)
    fold.opening(native=native)
    fold.respond()
    fold.refuse(HANDLE, code)
    assert fold.dialog("d-1").phase == "unanswerable"
    return fold


def cured(fold: Any, remedy: str, target: str = "P") -> int:
    return fold.ask(Recover(target_id=target, remedy=remedy))


# ── what frees a page ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("remedy", "method", "session", "params"),
    [
        ("close", CLOSE, None, {"targetId": "P"}),
        ("reload", "Page.reload", "s-P", {}),
        ("navigate", NAVIGATE, "s-P", {"url": "http://a/"}),
    ],
)
def test_a_cure_is_sent_and_told_of_when_it_is_done(remedy: str, method: str, session: str | None, params: Any) -> None:
    fold = blocked()
    ask = cured(fold, remedy)
    assert (fold.sent(method).session_id, fold.sent(method).params) == (session, params)
    assert ask not in fold.answers
    fold.reply(method)
    assert fold.answers[ask].error is None
    assert "a remedy is unanswered" not in fold.because()


def test_the_gentlest_cure_stays_in_the_document_and_differs_each_time() -> None:
    """Fact 5: a fragment that is there already would end nothing."""
    fold = blocked()
    cured(fold, "same_document")
    cured(fold, "same_document")
    first, second = (each.params["url"] for each in fold.all_sent(NAVIGATE))
    assert first.partition("#")[0] == second.partition("#")[0] == "http://a/"
    assert first != second
    assert "#" in first


def test_a_dialog_that_a_cure_ends_has_ended_by_navigation() -> None:
    fold = stuck()
    cured(fold, "same_document")
    fold.closing()
    assert fold.end_of("d-1") == ("remote", "navigation")


def test_a_page_without_a_url_is_navigated_to_an_empty_one() -> None:
    fold = folded_machine.Fold().up()
    fold.attach("P")
    fold.passes(3.0)
    cured(fold, "navigate")
    assert fold.sent(NAVIGATE).params == {"url": "about:blank"}


# ── what does not ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("remedy", REMEDIES)
def test_a_page_that_nothing_stops_is_not_touched(remedy: str) -> None:
    """A reload by mistake would cost the page all that it has."""
    fold = folded_machine.with_tree()
    before = fold.state.last_ticket
    wrong = error(fold, cured(fold, remedy))
    assert isinstance(wrong, InvalidArgument)
    assert "needs no remedy; see its health" in str(wrong)
    assert fold.state.last_ticket == before


@pytest.mark.parametrize("remedy", REMEDIES)
def test_a_dialog_that_can_be_answered_is_answered_and_not_freed_from(remedy: str) -> None:
    fold = folded_machine.with_tree()
    fold.opening()
    wrong = error(fold, cured(fold, remedy))
    assert isinstance(wrong, InvalidArgument)
    assert "respond to d-1" in str(wrong)
    assert len(fold.pending()) == 1


@pytest.mark.parametrize(
    ("code", "native", "frees"),
    [
        (folded_machine.NONE_SHOWING, True, REMEDIES),
        (folded_machine.NOT_ACTIVE, True, ("navigate", "close")),
        (folded_machine.NONE_SHOWING, False, ("navigate", "close")),
        (folded_machine.NOT_ACTIVE, False, ("close",)),
    ],
    ids=["unseen", "inactive", "unseen, no window", "inactive, no window"],
)
@pytest.mark.parametrize("remedy", REMEDIES)
def test_only_what_the_dialog_names_frees_its_page(
    code: int, native: bool, frees: tuple[str, ...], remedy: str
) -> None:
    """Facts 5, 22, 26: the error says what does."""
    fold = stuck(code, native=native)
    assert fold.pending()[0].remedies == frees
    ask = cured(fold, remedy)
    if remedy in frees:
        assert ask not in fold.answers
    else:
        assert isinstance(error(fold, ask), InvalidArgument)
        assert str(error(fold, ask)) == f"{remedy!r} does not free this page; use one of: {', '.join(frees)}."


def test_of_several_dialogs_each_must_be_ended_by_the_cure() -> None:
    fold = folded_machine.with_tree("F")
    fold.attach("F", "iframe", of="s-P")
    for frame, code in (("P", folded_machine.NONE_SHOWING), ("F", folded_machine.NOT_ACTIVE)):
        fold.opening(frame)
        fold.respond(dialog_id=f"d-{fold.state.last_dialog}")
        fold.refuse(HANDLE, code)
    assert [each.phase for each in fold.page().dialogs] == ["unanswerable", "unanswerable"]
    assert "use one of: navigate, close" in str(error(fold, cured(fold, "reload")))
    assert cured(fold, "navigate") not in fold.answers


def silent_frame() -> Any:
    fold = folded_machine.with_tree("F")
    fold.attach("F", "iframe", of="s-P")
    fold.passes(3.0)
    assert fold.health() == "frame_blocked"
    return fold


def busy() -> Any:
    fold = folded_machine.with_tree()
    folded_machine.called(fold, timeout=2.0)
    fold.passes(1.0).passes(1.0)
    assert fold.health() == "busy"
    return fold


@pytest.mark.parametrize("remedy", REMEDIES)
@pytest.mark.parametrize("made", [blocked, silent_frame, busy])
def test_a_page_that_does_not_answer_is_freed_by_any_cure(made: Any, remedy: str) -> None:
    fold = made()
    assert cured(fold, remedy) not in fold.answers


def test_a_cure_that_is_none_or_of_no_page_or_by_who_only_looks_is_refused() -> None:
    fold = blocked()
    assert str(error(fold, cured(fold, "odd"))).endswith("use one of: same_document, navigate, reload, close.")
    assert isinstance(error(fold, cured(fold, "close", "X")), UnknownTarget)
    observing = blocked(scope=Scope.browser().observed())
    assert "observes" in str(error(observing, cured(observing, "close")))


@pytest.mark.parametrize("remedy", ["same_document", "navigate", "reload"])
def test_under_a_dialog_without_a_window_that_can_be_answered_only_closing_is_a_cure(remedy: str) -> None:
    """A navigation there freezes the page for good, or ends the browser."""
    fold = busy()
    fold.opening(native=False)
    before = fold.state.last_ticket
    assert isinstance(error(fold, cured(fold, remedy)), BlockedByDialog)
    assert fold.state.last_ticket == before
    cured(fold, "close")
    assert fold.sent(CLOSE).params == {"targetId": "P"}


def test_a_page_without_a_session_can_only_be_closed() -> None:
    fold = folded_machine.with_tree()
    fold.opening()
    fold.detach("s-P")
    assert fold.pending()[0].why == "orphaned"
    assert isinstance(error(fold, cured(fold, "reload")), ConnectionLost)
    cured(fold, "close")
    assert fold.sent(CLOSE).params == {"targetId": "P"}
    fold.down()
    assert isinstance(error(fold, cured(fold, "close")), ConnectionLost)


# ── what became of it ────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_refused_cure_says_so() -> None:
    fold = blocked()
    ask = cured(fold, "reload")
    fold.refuse("Page.reload")
    assert isinstance(error(fold, ask), CommandRefused)


def test_a_cure_without_an_answer_ends_in_its_time() -> None:
    fold = blocked()
    ask = cured(fold, "close")
    fold.passes(5.0)
    assert isinstance(error(fold, ask), CallTimedOut)
    assert (error(fold, ask).health.state, error(fold, ask).waited) == ("blocked", 5.0)
    assert Forget(ticket=fold.sent(CLOSE).ticket) in fold.last
    gone = blocked()
    ask = cured(gone, "close")
    gone.says("Target.targetDestroyed", targetId="P").passes(5.0)
    assert error(gone, ask).health is None


def test_the_time_of_a_cure_that_has_ended_means_nothing() -> None:
    fold = blocked()
    transition = Transition(fold.state, fold.at)
    recovery.remedy_due(transition, "99")
    assert not transition.effects


def test_whoever_waits_for_a_cure_at_the_end_is_told_so() -> None:
    lost = blocked()
    ask = cured(lost, "reload")
    lost.down(final=True, reason="404")
    assert lost.error(ask) == "ConnectionLost"
    stopped = blocked()
    asks = [cured(stopped, "reload"), cured(stopped, "close")]
    stopped.ask(Stop())
    assert [stopped.error(ask) for ask in asks] == ["SupervisorStopped", "SupervisorStopped"]
    assert not stopped.state.deadline_entries


def test_a_call_under_way_at_the_end_is_no_cure() -> None:
    fold = blocked(policy=Policy("auto_accept"))
    cured(fold, "reload")
    folded_machine.called(fold, when_blocked="wait")
    transition = Transition(fold.state, fold.at)
    recovery.end_all(transition, lambda: CallTimedOut("The cure", waited=0.0, health=None))
    assert [each.purpose for each in transition.state.tickets.values()].count("remedy") == 0
    assert "call" in [each.purpose for each in transition.state.tickets.values()]
