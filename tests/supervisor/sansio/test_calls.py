"""Calls: what overtakes them, how they end, and what their callers are told."""

from __future__ import annotations

from typing import Any

import pytest

from cdp_core.errors import CommandRefused, ConnectionLost, InvalidArgument, RemoteProtocolError, TargetCrashed
from cdp_core.sansio.messages import Malformed, Refusal, decode
from cdp_core.sansio.router import Loss
from cdp_core.sansio.structs import replace
from cdp_supervisor.errors import (
    BlockedByDialog,
    CallTimedOut,
    SupervisorStopped,
    UnknownFrame,
)
from cdp_supervisor.sansio import calls
from cdp_supervisor.sansio.effects import Forget
from cdp_supervisor.sansio.inputs import NotSent
from cdp_supervisor.sansio.options import Limits
from cdp_supervisor.sansio.requests import AwaitCall, Stop
from cdp_supervisor.sansio.transition import Transition
from support import folded_machine

EVAL, NAVIGATE = "Runtime.evaluate", "Page.navigate"
called, error = folded_machine.called, folded_machine.error


def on_a_page(**options: Any) -> Any:
    return folded_machine.with_tree(**options)


def blocked_by_dialog(
    fold: Any = None, *, when_blocked: str = "raise", timeout: float | None = 30.0
) -> tuple[Any, int]:
    """A call that a dialog has overtaken."""
    fold = fold or on_a_page()
    ask = called(fold, when_blocked=when_blocked, timeout=timeout)
    fold.opening()
    return fold, ask


def blocked(fold: Any) -> list[str]:
    return [each.call_id for each in fold.shown().blocked_calls]


# ── what waits for its frame ─────────────────────────────────────────────────────────────────────────────────────────


def waiting(**named: Any) -> tuple[Any, int]:
    """A call for a frame whose document is there, and the context of it is not told of yet."""
    fold = folded_machine.with_tree("A")
    ask = called(fold, frame_id="A", **named)
    assert ask not in fold.answers
    assert not fold.all_sent(EVAL)
    return fold, ask


def context(fold: Any, frame: str = "A") -> None:
    made = {"uniqueId": "1.1", "auxData": {"frameId": frame, "isDefault": True}}
    fold.says("Runtime.executionContextCreated", on="s-P", context=made)


def test_a_call_waits_until_the_scripts_of_its_frame_have_a_place_to_run() -> None:
    fold, ask = waiting()
    context(fold, "P")
    assert not fold.all_sent(EVAL)
    context(fold)
    assert fold.sent(EVAL).params["uniqueContextId"] == "1.1"
    fold.reply(EVAL, {"ok": 1})
    assert fold.answers[ask].value == {"ok": 1}
    assert not fold.state.waiting_calls


def test_a_frame_that_gets_a_session_of_its_own_needs_none() -> None:
    fold, _ = waiting()
    fold.attach("A", "iframe", of="s-P")
    assert fold.sent(EVAL).session_id == "s-A"


@pytest.mark.parametrize(
    ("happens", "wrong"),
    [
        (lambda fold: fold.says("Page.frameDetached", on="s-P", frameId="A", reason="remove"), UnknownFrame),
        (lambda fold: fold.down(), ConnectionLost),
        (lambda fold: fold.detach("s-P"), ConnectionLost),
        (lambda fold: fold.opening(), BlockedByDialog),
        (lambda fold: fold.says("Inspector.targetCrashed", on="s-P"), TargetCrashed),
        (lambda fold: fold.ask(Stop()), SupervisorStopped),
    ],
)
def test_what_waits_in_vain_is_told_so_at_once(happens: Any, wrong: Any) -> None:
    fold, ask = waiting()
    happens(fold)
    assert type(error(fold, ask)) is wrong
    context(fold)
    fold.passes(100.0)
    assert not fold.all_sent(EVAL)
    assert not fold.state.calls
    assert not fold.state.waiting_calls


def test_who_waits_through_dialogs_waits_for_the_frame_as_well() -> None:
    fold, _ = waiting(when_blocked="wait")
    fold.opening()
    context(fold)
    assert len(fold.all_sent(EVAL)) == 1


def test_a_frame_that_never_gets_a_document_is_named_when_time_is_up() -> None:
    fold, ask = waiting(timeout=8.0)
    fold.passes(7.9)
    assert ask not in fold.answers
    fold.passes(0.2)
    wrong = error(fold, ask)
    assert isinstance(wrong, CallTimedOut)
    assert "document of its frame has not loaded" in str(wrong)
    assert wrong.health is not None
    context(fold)
    assert not fold.all_sent(EVAL)
    assert not fold.state.calls


def test_where_the_page_is_stopped_that_is_why() -> None:
    fold, ask = waiting(timeout=8.0, when_blocked="wait")
    fold.opening()
    fold.passes(9.0)
    assert "dialog" in str(error(fold, ask))


@pytest.mark.parametrize(("timeout", "asked"), [(8.0, 6.5), (None, 0.0), (40.0, 10.0)])
def test_the_renderer_is_asked_when_half_of_what_is_left_has_passed(timeout: float | None, asked: float) -> None:
    fold, _ = waiting(timeout=timeout)
    fold.passes(5.0)
    context(fold)
    if asked:
        fold.passes(asked - 5.0 - 0.1)
        assert len(fold.all_sent(EVAL)) == 1
        fold.passes(0.2)
    else:
        fold.passes(50.0)
    assert len(fold.all_sent(EVAL)) == (2 if asked else 1)


def test_who_is_cancelled_waits_no_more() -> None:
    fold, ask = waiting()
    other = called(fold, frame_id="A")
    fold.drops(ask)
    context(fold)
    assert len(fold.all_sent(EVAL)) == 1
    fold.reply(EVAL, {"ok": 1})
    assert fold.answers[other].value == {"ok": 1}
    assert not fold.state.calls


# ── what overtakes it ────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_dialog_that_overtakes_a_call_is_told_at_once_with_a_handle() -> None:
    fold, ask = blocked_by_dialog()
    wrong = error(fold, ask)
    assert isinstance(wrong, BlockedByDialog)
    assert (wrong.dialogs, wrong.call) == (("d-1",), "c-1")
    assert blocked(fold) == ["c-1"]


def test_the_end_of_an_overtaken_call_is_kept_until_it_is_awaited_and_given_once() -> None:
    fold, _ = blocked_by_dialog()
    fold.reply(EVAL, {"ok": 1})
    assert blocked(fold) == []
    assert fold.answers[fold.ask(AwaitCall(call_id="c-1"))].value == {"ok": 1}
    assert fold.error(fold.ask(AwaitCall(call_id="c-1"))) == "UnknownCall"
    assert len(fold.all_sent(EVAL)) == 1


def test_who_awaits_the_end_of_a_call_gets_it_when_it_comes() -> None:
    fold, _ = blocked_by_dialog()
    ask = fold.ask(AwaitCall(call_id="c-1", timeout=5.0))
    assert fold.error(fold.ask(AwaitCall(call_id="c-1"))) == "UnknownCall"
    fold.reply(EVAL, {"ok": 1})
    assert fold.answers[ask].value == {"ok": 1}
    assert not fold.state.calls
    assert not any("awaited" in each for each in fold.because())


def test_an_awaiting_that_is_over_leaves_the_call_under_way() -> None:
    fold, _ = blocked_by_dialog()
    ask = fold.ask(AwaitCall(call_id="c-1", timeout=5.0))
    fold.passes(5.0)
    assert isinstance(error(fold, ask), CallTimedOut)
    assert error(fold, ask).health.state == "blocked_by_dialog"
    fold.reply(EVAL, {"ok": 1})
    assert fold.answers[fold.ask(AwaitCall(call_id="c-1"))].value == {"ok": 1}


def test_a_call_is_awaited_for_ever_or_for_a_time_that_makes_sense() -> None:
    fold, _ = blocked_by_dialog()
    assert isinstance(error(fold, fold.ask(AwaitCall(call_id="c-1", timeout=-1.0))), InvalidArgument)
    fold.ask(AwaitCall(call_id="c-1"))
    assert not any("awaited" in each for each in fold.because())


def test_the_time_of_an_awaiting_means_nothing_once_nobody_awaits() -> None:
    fold, _ = blocked_by_dialog()
    ask = fold.ask(AwaitCall(call_id="c-1", timeout=5.0))
    fold.drops(ask)
    fold.passes(5.0)
    assert ask not in fold.answers
    assert blocked(fold) == ["c-1"]


def test_who_would_wait_hears_of_no_dialog_and_is_shown_as_blocked() -> None:
    fold, ask = blocked_by_dialog(when_blocked="wait")
    assert ask not in fold.answers
    assert blocked(fold) == ["c-1"]
    fold.reply(EVAL, {"ok": 1})
    assert fold.answers[ask].value == {"ok": 1}


def test_a_dialog_overtakes_only_what_it_stops() -> None:
    """Another page, another process, what the browser answers, what has ended: untouched."""
    fold = folded_machine.with_tree("F")
    fold.attach("F", "iframe", of="s-P")
    fold.attach("Q")
    asks = [
        called(fold, target_id="Q"),
        called(fold, frame_id="F"),
        called(fold, "Page.bringToFront", target_id="P"),
    ]
    stopped = called(fold, target_id="P")
    fold.opening()
    assert [ask for ask in [*asks, stopped] if ask in fold.answers] == [stopped]
    fold.reply(EVAL, on="s-P")
    fold.opening("F")
    assert fold.error(asks[1]) == "BlockedByDialog"


@pytest.mark.parametrize(("method", "stopped"), [(NAVIGATE, True), ("Page.reload", False)])
def test_leaving_waits_for_the_question_whether_to_leave(method: str, stopped: bool) -> None:
    """Fact 21: a navigation is answered when its `beforeunload` is, a reload at once."""
    fold = on_a_page()
    ask = called(fold, method)
    fold.opening(type="beforeunload")
    assert (fold.error(ask) == "BlockedByDialog") is stopped


def test_without_a_call_a_dialog_overtakes_none() -> None:
    fold = on_a_page()
    fold.opening()
    assert blocked(fold) == []


def test_ends_that_nobody_collects_are_kept_up_to_the_limit_and_then_counted() -> None:
    fold = on_a_page(limits=Limits(ended_calls=1))
    called(fold)
    called(fold)
    first, second = fold.all_sent(EVAL)
    fold.opening()
    fold.ends(first.ticket, folded_machine.result_of({"n": 1}))
    fold.ends(second.ticket, folded_machine.result_of({"n": 2}))
    assert fold.count("call_ends_uncollected") == 1
    assert fold.error(fold.ask(AwaitCall(call_id="c-1"))) == "UnknownCall"
    assert fold.answers[fold.ask(AwaitCall(call_id="c-2"))].value == {"n": 2}


# ── what became of it ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("outcome", "kind"),
    [
        (Refusal(id=1, code=-32000, message="no"), CommandRefused),
        (Loss(kind="connection", reason="cut", detail="It broke."), ConnectionLost),
        (Malformed(id=1, reason="torn", size=9), RemoteProtocolError),
        (NotSent(error=InvalidArgument("It is too long.")), InvalidArgument),
        (decode(b'{"id":1,"result":7}'), RemoteProtocolError),
    ],
    ids=["refused", "lost", "torn", "not sent", "no object"],
)
def test_a_call_ends_with_what_became_of_it(outcome: Any, kind: type[Exception]) -> None:
    fold = on_a_page()
    ask = called(fold)
    fold.ends(fold.sent(EVAL).ticket, outcome)
    assert isinstance(error(fold, ask), kind)
    assert not fold.state.calls


def test_a_call_that_is_unanswered_in_its_time_is_over() -> None:
    fold = on_a_page()
    ask = called(fold, timeout=5.0)
    fold.passes(4.9)
    assert ask not in fold.answers
    fold.passes(0.1)
    wrong = error(fold, ask)
    assert isinstance(wrong, CallTimedOut)
    assert (wrong.method, wrong.waited) == (EVAL, 5.0)
    assert Forget(ticket=fold.all_sent(EVAL)[0].ticket) in fold.last
    fold.ends(fold.all_sent(EVAL)[0].ticket, folded_machine.result_of({}))  # a late reply is nobody's
    assert not fold.state.calls


def test_beyond_the_limit_calls_are_refused() -> None:
    fold = on_a_page(limits=Limits(calls_kept=1))
    called(fold)
    wrong = error(fold, called(fold))
    assert isinstance(wrong, InvalidArgument)
    assert wrong.reason == "too_many_calls"
    assert len(fold.all_sent(EVAL)) == 1


def test_an_overtaken_call_has_no_time_but_who_would_wait_has() -> None:
    fold, _ = blocked_by_dialog(timeout=5.0)
    fold.passes(5.0)
    assert blocked(fold) == ["c-1"]
    waiting, ask = blocked_by_dialog(when_blocked="wait", timeout=5.0)
    waiting.passes(5.0)
    assert waiting.error(ask) == "CallTimedOut"


def test_a_call_without_a_time_waits_for_ever() -> None:
    fold = on_a_page()
    ask = called(fold, timeout=None)
    fold.passes(10_000.0)
    assert ask not in fold.answers


def test_what_a_dropped_asker_called_is_forgotten() -> None:
    fold = on_a_page()
    ask = called(fold)
    other = called(fold)
    fold.drops(ask)
    assert list(fold.state.calls) == ["c-2"]
    assert Forget(ticket=fold.all_sent(EVAL)[0].ticket) in fold.last
    fold.reply(EVAL)
    assert ask not in fold.answers
    assert fold.answers[other].error is None


def test_what_a_dropped_asker_awaited_goes_on_where_a_dialog_stops_it() -> None:
    fold, ask = blocked_by_dialog(when_blocked="wait")
    fold.drops(ask)
    fold.reply(EVAL, {"ok": 1})
    assert fold.answers[fold.ask(AwaitCall(call_id="c-1"))].value == {"ok": 1}


def test_an_end_comes_once() -> None:
    """What has ended, or is nobody's, ends no second time."""
    fold, _ = blocked_by_dialog()
    ticket = fold.state.tickets[fold.sent(EVAL).ticket]
    fold.reply(EVAL, {"n": 1})
    for state_calls in (fold.state.calls, fold.state.calls.delete("c-1")):
        transition = Transition(replace(fold.state, calls=state_calls), fold.at)
        calls.call_ended(transition, ticket, folded_machine.result_of({"n": 2}))
        calls.call_due(transition, "c-1")
        calls.waiter_due(transition, "c-1")
        assert not transition.effects
        assert transition.state.calls is state_calls


def test_whoever_waits_at_the_end_is_told_so() -> None:
    fold, _ = blocked_by_dialog()
    ask = fold.ask(AwaitCall(call_id="c-1"))
    fold.down(final=True, reason="404")
    assert fold.error(ask) == "ConnectionLost"
    stopped = on_a_page()
    ask = called(stopped)
    stopped.ask(Stop())
    assert stopped.error(ask) == "SupervisorStopped"


def test_an_end_that_is_kept_is_not_ended_again_at_the_end() -> None:
    fold, _ = blocked_by_dialog()
    fold.reply(EVAL, {"n": 1})
    fold.down(final=True, reason="404")
    assert fold.answers[fold.ask(AwaitCall(call_id="c-1"))].value == {"n": 1}


# ── why nothing came ─────────────────────────────────────────────────────────────────────────────────────────────────


def probes(fold: Any) -> list[Any]:
    """What was sent to hear whether a renderer answers anything."""
    return [each for each in fold.all_sent(EVAL) if each.params == {"expression": "0"}]


def unanswered(fold: Any = None, *, timeout: float = 4.0) -> tuple[Any, int]:
    """A call that waits for so long that its renderer was asked."""
    fold = fold or on_a_page()
    ask = called(fold, "DOM.getDocument", timeout=timeout)
    fold.passes(timeout / 2)
    return fold, ask


@pytest.mark.parametrize(("timeout", "after"), [(2.0, 1.0), (10.0, 5.0), (300.0, 5.0)])
def test_at_half_its_time_and_five_seconds_at_most_the_renderer_of_a_call_is_asked(
    timeout: float, after: float
) -> None:
    fold = on_a_page()
    called(fold, "DOM.getDocument", timeout=timeout)
    fold.passes(after - 0.1)
    assert probes(fold) == []
    fold.passes(0.1)
    assert [each.session_id for each in probes(fold)] == ["s-P"]
    fold.passes(after / 2)
    assert len(probes(fold)) == 1


@pytest.mark.parametrize(
    "named",
    [
        {"timeout": None},
        {"method": "Browser.getVersion"},
        {"method": "Page.bringToFront"},
        {"method": NAVIGATE},
    ],
    ids=str,
)
def test_a_renderer_is_asked_only_where_a_call_waits_for_it_and_for_a_time(named: dict[str, Any]) -> None:
    """The browser itself answers the others, so a renderer says nothing of them."""
    fold = on_a_page()
    called(fold, **named)
    assert not any("still unanswered" in each for each in fold.because())
    fold.passes(29.0)
    assert probes(fold) == []


def test_a_worker_that_belongs_to_no_page_is_not_asked() -> None:
    """There is no page that could be told of as busy."""
    fold = on_a_page()
    fold.attach("W", "service_worker")
    called(fold, target_id="W")
    fold.passes(29.0)
    assert probes(fold) == []


def test_a_renderer_is_not_asked_once_the_call_is_answered_or_a_dialog_stops_it() -> None:
    answered = on_a_page()
    called(answered)
    answered.reply(EVAL).passes(20.0)
    stopped, _ = blocked_by_dialog(when_blocked="wait")
    stopped.passes(20.0)
    told, _ = blocked_by_dialog()
    told.passes(20.0)
    dropped = on_a_page()
    dropped.drops(called(dropped))
    dropped.passes(20.0)
    assert [probes(each) for each in (answered, stopped, told, dropped)] == [[], [], [], []]


def test_what_has_ended_is_not_waited_for() -> None:
    fold = on_a_page()
    called(fold)
    assert any("still unanswered" in each for each in fold.because())
    fold.reply(EVAL)
    assert fold.because() == []


def test_a_renderer_without_a_session_is_not_asked() -> None:
    fold = on_a_page()
    called(fold)
    fold.detach("s-P").passes(5.0)
    assert probes(fold) == []


def test_the_end_of_a_stall_means_nothing_once_the_call_has_ended() -> None:
    fold, _ = blocked_by_dialog()
    fold.reply(EVAL)
    for name in ("c-1", "c-99"):
        transition = Transition(fold.state, fold.at)
        calls.stall_due(transition, name)
        assert not transition.effects


def test_a_page_that_answers_nothing_is_busy_and_the_timeout_says_so() -> None:
    fold, ask = unanswered()
    fold.passes(2.0)
    wrong = error(fold, ask)
    assert (wrong.health.state, wrong.health.since) == ("busy", folded_machine.WALL + 2.0)
    assert wrong.health.why in str(wrong)
    assert fold.health() == "busy"
    assert fold.notes().count("a page is busy: a call and a probe got no reply") == 1


def test_a_page_that_is_busy_already_is_so_since_the_first_time() -> None:
    fold, _ = unanswered()
    fold.passes(2.0)
    _, ask = unanswered(fold)
    fold.passes(2.0)
    assert error(fold, ask).health.since == folded_machine.WALL + 2.0
    assert fold.notes().count("a page is busy: a call and a probe got no reply") == 1


def test_a_page_that_answers_others_is_ok_and_the_call_only_takes_longer() -> None:
    fold, ask = unanswered()
    fold.reply(EVAL)
    fold.passes(2.0)
    assert error(fold, ask).health.state == "ok"
    assert "its page answers other commands" in str(error(fold, ask))
    assert "longer timeout" in str(error(fold, ask))
    assert fold.health() == "ok"


def test_a_call_whose_renderer_was_not_asked_claims_nothing_of_it() -> None:
    fold = on_a_page()
    ask = called(fold, NAVIGATE, timeout=4.0)
    fold.passes(4.0)
    assert str(error(fold, ask)) == "Page.navigate was not answered within 4 s: nothing is known to stop it."


def test_who_slept_through_half_the_time_of_a_call_blames_no_page() -> None:
    """Both times have come at once: a question that is only now sent is no unanswered one."""
    fold = on_a_page()
    ask = called(fold, timeout=4.0)
    fold.passes(60.0)
    assert probes(fold) == []
    assert error(fold, ask).health.state == "ok"
    assert "other commands" not in str(error(fold, ask))


def busy() -> Any:
    fold, _ = unanswered()
    fold.passes(2.0)
    assert fold.health() == "busy"
    return fold


def test_a_page_is_busy_until_its_renderer_answers_anything() -> None:
    late = busy()
    late.reply(EVAL)  # the question itself
    called_again = busy()
    called(called_again, "DOM.getDocument")
    called_again.reply("DOM.getDocument")
    assert [late.health(), called_again.health()] == ["ok", "ok"]


def test_what_the_browser_answers_says_nothing_of_a_busy_renderer() -> None:
    fold = busy()
    called(fold, NAVIGATE)
    fold.reply(NAVIGATE)
    called(fold, "DOM.getDocument")
    fold.refuse("DOM.getDocument")
    assert fold.health() == "busy"


@pytest.mark.parametrize(
    "method",
    ["Inspector.targetCrashed", "", "link"],
    ids=["the crash", "the end of its session", "the end of the link"],
)
def test_a_renderer_that_is_gone_is_busy_no_more(method: str) -> None:
    fold = busy()
    if method == "link":
        fold.down()
    elif method:
        fold.says(method, on="s-P")
    else:
        fold.detach("s-P")
    assert not fold.page().busy_sessions


def test_a_frame_that_is_busy_makes_its_page_so_and_no_other_frame() -> None:
    fold = folded_machine.with_tree("F")
    fold.attach("F", "iframe", of="s-P")
    fold.reply("Page.getFrameTree", {"frameTree": folded_machine.tree_of("F")}, on="s-F")
    called(fold, frame_id="F", timeout=2.0)
    fold.passes(1.0).passes(1.0)
    assert list(fold.page().busy_sessions) == ["s-F"]
    called(fold)
    assert len(fold.all_sent(EVAL, on="s-P")) == 1


def test_a_call_whose_page_is_gone_says_so() -> None:
    fold, ask = unanswered()
    fold.says("Target.targetDestroyed", targetId="P").passes(2.0)
    assert error(fold, ask).health is None
    assert "its page is gone" in str(error(fold, ask))


def test_a_call_on_no_page_says_how_the_link_fares() -> None:
    fold = on_a_page()
    ask = called(fold, "Browser.getVersion", timeout=5.0)
    fold.passes(5.0)
    assert error(fold, ask).health is None
    assert "nothing is known to block it; give it a longer timeout" in str(error(fold, ask))
    quiet = on_a_page(keepalive=1.0)
    ask = called(quiet, "Browser.getVersion", timeout=1.5)
    quiet.passes(1.0).passes(0.5)
    assert "the browser does not answer at present" in str(error(quiet, ask))
