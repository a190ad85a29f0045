"""Recovery: it frees only a page that does not answer, by the remedies that its dialogs allow."""

from __future__ import annotations

from typing import Any

import pytest

from cdp_core.errors import CommandRefused, ConnectionLost, InvalidArgument
from cdp_supervisor.errors import BlockedByDialog, CallTimedOut, RemedyFailed, UnknownTarget, WouldEndBrowser
from cdp_supervisor.sansio import recovery
from cdp_supervisor.sansio.deadlines import entries
from cdp_supervisor.sansio.effects import Forget
from cdp_supervisor.sansio.options import Policy, Scope
from cdp_supervisor.sansio.requests import Recover, Stop
from cdp_supervisor.sansio.transition import Transition
from support import folded_machine

HANDLE, NAVIGATE, CLOSE = "Page.handleJavaScriptDialog", "Page.navigate", "Target.closeTarget"
EVAL = "Runtime.evaluate"
REMEDIES = ("same_document", "navigate", "reload", "close")
error_of = folded_machine.error_of


def blocked_page(**options: Any) -> Any:
    """Return a fold with a page that has not answered its setup."""
    fold = folded_machine.on_a_page(**options)
    fold.passes(3.0)
    assert fold.health() == "blocked"
    return fold


def page_with_unanswerable_dialog(
    code: int = folded_machine.NONE_SHOWING, *, native: bool = True, **options: Any
) -> Any:
    """Return a fold with a page that has an unanswerable dialog: its answer was refused."""
    fold = folded_machine.with_tree(**options)
    fold.opening(native=native)
    fold.respond()
    fold.refuse(HANDLE, code)
    assert fold.dialog("d-1").phase == "unanswerable"
    return fold


def recover(fold: Any, remedy: str, target: str = "P") -> int:
    return fold.ask(Recover(target_id=target, remedy=remedy))


# ── what frees a page ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("remedy", "method", "session", "params"),
    [
        ("close", CLOSE, None, {"targetId": "P"}),
        ("reload", "Page.reload", "s-P", {}),
        ("navigate", NAVIGATE, "s-P", {"url": "http://a/"}),
    ],
)
def test_a_remedy_is_sent_and_its_request_is_answered_when_its_page_answers_or_is_gone(
    remedy: str, method: str, session: str | None, params: Any
) -> None:
    fold = blocked_page()
    request_id = recover(fold, remedy)
    assert (fold.sent(method).session_id, fold.sent(method).params) == (session, params)
    assert request_id not in fold.answers
    fold.reply(method)
    assert request_id not in fold.answers  # a reply is no proof (fact 64)
    if remedy == "close":
        fold.lose(EVAL)
    else:
        fold.reply(EVAL)
    assert fold.answers[request_id].error is None
    assert not {"a remedy is unanswered", "a remedy is unproved"} & set(fold.deadline_reasons())


def test_a_remedy_that_frees_nothing_fails_and_names_what_is_left() -> None:
    fold = blocked_page()
    request_id = recover(fold, "reload")
    fold.reply("Page.reload").passes(5.0)
    error = error_of(fold, request_id)
    assert isinstance(error, RemedyFailed)
    assert (error.target_id, error.remedy, error.remedies) == ("P", "reload", ("close",))
    dialog = page_with_unanswerable_dialog()
    request_id = recover(dialog, "same_document")
    dialog.reply(NAVIGATE).passes(5.0)
    assert error_of(dialog, request_id).remedies == ("navigate", "reload", "close")


def test_the_proof_of_a_remedy_ends_with_its_link_and_its_page() -> None:
    fold = blocked_page()
    request_id = recover(fold, "reload")
    fold.reply("Page.reload").down()
    assert isinstance(error_of(fold, request_id), ConnectionLost)
    gone = blocked_page()
    request_id = recover(gone, "close")
    gone.event("Target.targetDestroyed", targetId="P")
    gone.reply(CLOSE)
    assert gone.answers[request_id].error is None
    assert not gone.all_sent(EVAL)
    late = blocked_page()
    request_id = recover(late, "close")
    late.reply(CLOSE)
    late.event("Target.targetDestroyed", targetId="P")
    late.passes(5.0)
    assert late.answers[request_id].error is None


# ── a beforeunload dialog that no session saw ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("navigating", [False, True])
def test_a_page_that_shows_another_address_than_it_leaves_for_can_only_be_closed(navigating: bool) -> None:
    """Fact 64."""
    fold = folded_machine.leaving_page(navigating=navigating)
    assert "use one of: close." in str(error_of(fold, recover(fold, "reload")))
    recover(fold, "close")
    assert len(fold.all_sent(CLOSE)) == 1


def test_a_beforeunload_dialog_that_lost_its_session_leaves_only_close() -> None:
    fold = folded_machine.with_tree()
    fold.opening(type="beforeunload")
    fold.detach("s-P")
    assert fold.pending()[0].remedies == ("close",)


def test_the_gentlest_remedy_stays_in_the_document_and_uses_a_new_fragment_each_time() -> None:
    """Fact 5: a navigation to the current fragment would not end the dialog."""
    fold = blocked_page()
    recover(fold, "same_document")
    recover(fold, "same_document")
    first, second = (each.params["url"] for each in fold.all_sent(NAVIGATE))
    assert first.partition("#")[0] == second.partition("#")[0] == "http://a/"
    assert first != second
    assert "#" in first


def test_a_dialog_that_a_remedy_ends_has_ended_by_navigation() -> None:
    fold = page_with_unanswerable_dialog()
    recover(fold, "same_document")
    fold.closing()
    assert fold.end_of("d-1") == ("remote", "navigation")


def test_a_page_without_a_url_is_navigated_to_about_blank() -> None:
    fold = folded_machine.Fold().up()
    fold.attach("P")
    fold.passes(3.0)
    recover(fold, "navigate")
    assert fold.sent(NAVIGATE).params == {"url": "about:blank"}


# ── what does not free a page ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("remedy", REMEDIES)
def test_a_page_that_is_not_blocked_gets_no_remedy(remedy: str) -> None:
    """A reload by mistake would destroy the state of the page."""
    fold = folded_machine.with_tree()
    before = fold.state.last_ticket
    error = error_of(fold, recover(fold, remedy))
    assert isinstance(error, InvalidArgument)
    assert "needs no remedy; see its health" in str(error)
    assert fold.state.last_ticket == before


@pytest.mark.parametrize("remedy", REMEDIES)
def test_a_page_with_an_answerable_dialog_gets_no_remedy(remedy: str) -> None:
    fold = folded_machine.with_tree()
    fold.opening()
    error = error_of(fold, recover(fold, remedy))
    assert isinstance(error, InvalidArgument)
    assert "respond to d-1" in str(error)
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
def test_only_the_remedies_of_the_dialog_free_its_page(
    code: int, native: bool, frees: tuple[str, ...], remedy: str
) -> None:
    """Facts 5, 22, 26: the error names the remedies that free it."""
    fold = page_with_unanswerable_dialog(code, native=native)
    assert fold.pending()[0].remedies == frees
    request_id = recover(fold, remedy)
    if remedy in frees:
        assert request_id not in fold.answers
    else:
        assert isinstance(error_of(fold, request_id), InvalidArgument)
        assert str(error_of(fold, request_id)) == f"{remedy!r} does not free this page; use one of: {', '.join(frees)}."


def test_a_remedy_must_end_every_dialog_of_the_page() -> None:
    fold = folded_machine.with_tree("F")
    fold.attach("F", "iframe", of="s-P")
    for frame, code in (("P", folded_machine.NONE_SHOWING), ("F", folded_machine.NOT_ACTIVE)):
        fold.opening(frame)
        fold.respond(dialog_id=f"d-{fold.state.last_dialog}")
        fold.refuse(HANDLE, code)
    assert [each.phase for each in fold.page().dialogs] == ["unanswerable", "unanswerable"]
    assert "use one of: navigate, close" in str(error_of(fold, recover(fold, "reload")))
    assert recover(fold, "navigate") not in fold.answers


def page_with_blocked_frame() -> Any:
    fold = folded_machine.with_tree("F")
    fold.attach("F", "iframe", of="s-P")
    fold.passes(3.0)
    assert fold.health() == "frame_blocked"
    return fold


def busy_page() -> Any:
    fold = folded_machine.with_tree()
    folded_machine.call(fold, timeout=2.0)
    fold.passes(1.0).passes(1.0)
    assert fold.health() == "busy"
    return fold


@pytest.mark.parametrize("remedy", REMEDIES)
@pytest.mark.parametrize("make_fold", [blocked_page, page_with_blocked_frame, busy_page])
def test_a_page_that_does_not_answer_is_freed_by_any_remedy(make_fold: Any, remedy: str) -> None:
    fold = make_fold()
    assert recover(fold, remedy) not in fold.answers


def test_an_invalid_remedy_an_unknown_page_and_an_observing_supervisor_are_refused() -> None:
    fold = blocked_page()
    assert str(error_of(fold, recover(fold, "odd"))).endswith("use one of: same_document, navigate, reload, close.")
    assert isinstance(error_of(fold, recover(fold, "close", "X")), UnknownTarget)
    observing = blocked_page(scope=Scope.browser().observed())
    assert "observes" in str(error_of(observing, recover(observing, "close")))


@pytest.mark.parametrize("remedy", ["same_document", "navigate", "reload"])
def test_during_an_answerable_dialog_without_a_window_only_close_is_a_remedy(remedy: str) -> None:
    """A navigation would block the page for ever, or end the browser."""
    fold = busy_page()
    fold.opening(native=False)
    before = fold.state.last_ticket
    assert isinstance(error_of(fold, recover(fold, remedy)), BlockedByDialog)
    assert fold.state.last_ticket == before
    recover(fold, "close")
    assert fold.sent(CLOSE).params == {"targetId": "P"}


def test_a_page_without_a_session_can_only_be_closed() -> None:
    fold = folded_machine.with_tree()
    fold.opening()
    fold.detach("s-P")
    assert fold.pending()[0].why == "orphaned"
    assert isinstance(error_of(fold, recover(fold, "reload")), ConnectionLost)
    recover(fold, "close")
    assert fold.sent(CLOSE).params == {"targetId": "P"}
    fold.down()
    assert isinstance(error_of(fold, recover(fold, "close")), ConnectionLost)


# ── how a remedy ends ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_refused_remedy_raises_the_refusal() -> None:
    fold = blocked_page()
    request_id = recover(fold, "reload")
    fold.refuse("Page.reload")
    assert isinstance(error_of(fold, request_id), CommandRefused)


def test_a_remedy_without_a_reply_times_out() -> None:
    fold = blocked_page()
    request_id = recover(fold, "close")
    fold.passes(5.0)
    assert isinstance(error_of(fold, request_id), CallTimedOut)
    assert (error_of(fold, request_id).health.state, error_of(fold, request_id).waited) == ("blocked", 5.0)
    assert Forget(ticket=fold.sent(CLOSE).ticket) in fold.last
    gone = blocked_page()
    request_id = recover(gone, "close")
    gone.event("Target.targetDestroyed", targetId="P").passes(5.0)
    assert error_of(gone, request_id).health is None


def test_the_deadline_of_an_ended_remedy_does_nothing() -> None:
    fold = blocked_page()
    transition = Transition(fold.state, fold.at, fold.now)
    recovery.remedy_due(transition, "99")
    assert not transition.effects


def test_open_remedies_end_with_the_link_and_with_the_supervisor() -> None:
    lost = blocked_page()
    request_id = recover(lost, "reload")
    lost.down(final=True, reason="404")
    assert lost.error(request_id) == "ConnectionLost"
    stopped = blocked_page()
    request_ids = [recover(stopped, "reload"), recover(stopped, "close")]
    stopped.ask(Stop())
    assert [stopped.error(request_id) for request_id in request_ids] == ["SupervisorStopped", "SupervisorStopped"]
    assert not tuple(entries(stopped.state.deadlines))


def test_ending_all_remedies_leaves_the_open_calls() -> None:
    fold = blocked_page(policy=Policy("auto_accept"))
    recover(fold, "reload")
    folded_machine.call(fold, when_blocked="wait")
    transition = Transition(fold.state, fold.at, fold.now)
    recovery.end_all(transition, lambda: CallTimedOut("The remedy", waited=0.0, health=None))
    assert [each.purpose for each in transition.state.tickets.values()].count("remedy") == 0
    assert "call" in [each.purpose for each in transition.state.tickets.values()]
    assert not [key for key in transition.state.deadline_of if key[0] == "remedy"]


def test_a_remedy_is_noted_and_its_deadline_ends_with_the_link() -> None:
    fold = folded_machine.on_a_page()
    fold.passes(60.0)
    assert fold.health() == "blocked"
    fold.ask(Recover(target_id="P", remedy="navigate"))
    assert "freeing a page" in fold.notes()
    assert any("a remedy is unanswered" in each for each in fold.deadline_reasons())
    fold.down()
    assert not any("a remedy is unanswered" in each for each in fold.deadline_reasons())


def test_a_remedy_of_a_page_that_would_end_the_browser_is_refused_unless_forced() -> None:
    """Fact 63."""
    fold = blocked_page()
    fold.attach("F", "iframe", of="s-P", parentFrameId="P")
    fold.opening("F")
    fold.event("Page.frameDetached", on="s-P", frameId="F", reason="remove")
    assert isinstance(error_of(fold, recover(fold, "close")), WouldEndBrowser)
    fold.ask(Recover(target_id="P", remedy="close", force=True))
    assert len(fold.all_sent(CLOSE)) == 1


@pytest.mark.parametrize("orphaned", [True, False])
def test_a_page_that_waits_for_a_dialog_of_its_popup_names_it(orphaned: bool) -> None:
    """Fact 16: only that dialog, or a remedy of its page, frees both."""
    fold = folded_machine.on_a_page()
    fold.attach("Q", openerId="P")
    fold.reply("Page.getFrameTree", {"frameTree": folded_machine.tree_of("Q")}, on="s-Q")
    fold.event("Page.javascriptDialogOpening", on="s-Q", frameId="Q", type="confirm", hasBrowserHandler=True)
    if orphaned:
        fold.detach("s-Q")
    fold.passes(3.0)
    assert fold.health() == "blocked"
    text = str(error_of(fold, recover(fold, "navigate")))
    assert "waits for dialog d-1 on page Q" in text
    assert ("recover('Q', remedy)" if orphaned else "respond_to_dialog") in text
    assert not fold.all_sent(NAVIGATE)
