"""Calls: how a dialog blocks them, how they end, and which error their callers get."""

from __future__ import annotations

from typing import Any

import pytest

from cdp_core.errors import (
    CommandRefused,
    ConnectionLost,
    InvalidArgument,
    NavigationBlocked,
    RemoteProtocolError,
    TargetCrashed,
)
from cdp_core.sansio.messages import Malformed, Refusal, decode
from cdp_core.sansio.outcomes import Loss
from cdp_core.sansio.structs import replace
from cdp_supervisor.errors import (
    BlockedByDialog,
    CallTimedOut,
    NavigationBlockedByDialog,
    SupervisorStopped,
    UnknownFrame,
)
from cdp_supervisor.sansio import calls
from cdp_supervisor.sansio.effects import Forget
from cdp_supervisor.sansio.inputs import NotSent
from cdp_supervisor.sansio.options import Limits, Policy, Scope
from cdp_supervisor.sansio.requests import AwaitCall, SetPolicy, Stop
from cdp_supervisor.sansio.transition import Transition
from support import folded_machine

EVAL, NAVIGATE, HANDLE = "Runtime.evaluate", "Page.navigate", "Page.handleJavaScriptDialog"
call, error_of = folded_machine.call, folded_machine.error_of


def on_a_page(**options: Any) -> Any:
    return folded_machine.with_tree(**options)


def blocked_by_dialog(
    fold: Any = None, *, when_blocked: str = "raise", timeout: float | None = 30.0
) -> tuple[Any, int]:
    """Return a fold with a call that a dialog blocks, and the id of the call's request."""
    fold = fold or on_a_page()
    request_id = call(fold, when_blocked=when_blocked, timeout=timeout)
    fold.opening()
    return fold, request_id


def blocked_call_ids(fold: Any) -> list[str]:
    return [each.call_id for each in fold.shown().blocked_calls]


# ── calls that wait for their frame ───────────────────────────────────────────────────────────────────────────────────


def call_waiting_for_context(**named: Any) -> tuple[Any, int]:
    """Return a fold with a call that waits for the execution context of its frame A, and its request id."""
    fold = folded_machine.with_tree("A")
    request_id = call(fold, frame_id="A", **named)
    assert request_id not in fold.answers
    assert not fold.all_sent(EVAL)
    return fold, request_id


def report_context(fold: Any, frame: str = "A") -> None:
    made = {"uniqueId": "1.1", "auxData": {"frameId": frame, "isDefault": True}}
    fold.event("Runtime.executionContextCreated", on="s-P", context=made)


def test_a_call_waits_for_the_execution_context_of_its_frame() -> None:
    fold, request_id = call_waiting_for_context()
    report_context(fold, "P")
    assert not fold.all_sent(EVAL)
    report_context(fold)
    assert fold.sent(EVAL).params["uniqueContextId"] == "1.1"
    fold.reply(EVAL, {"ok": 1})
    assert fold.answers[request_id].value == {"ok": 1}
    assert not fold.state.waiting_calls


def test_a_call_waits_no_longer_once_its_frame_has_its_own_session() -> None:
    fold, _ = call_waiting_for_context()
    fold.attach("A", "iframe", of="s-P")
    assert fold.sent(EVAL).session_id == "s-A"


@pytest.mark.parametrize(
    ("happens", "error_type"),
    [
        (lambda fold: fold.event("Page.frameDetached", on="s-P", frameId="A", reason="remove"), UnknownFrame),
        (lambda fold: fold.down(), ConnectionLost),
        (lambda fold: fold.event("Target.targetDestroyed", targetId="P"), UnknownFrame),
        (lambda fold: fold.opening(), BlockedByDialog),
        (lambda fold: fold.event("Inspector.targetCrashed", on="s-P"), TargetCrashed),
        (lambda fold: fold.ask(Stop()), SupervisorStopped),
    ],
)
def test_a_call_that_waits_in_vain_ends_at_once_with_the_reason(happens: Any, error_type: Any) -> None:
    fold, request_id = call_waiting_for_context()
    happens(fold)
    assert type(error_of(fold, request_id)) is error_type
    report_context(fold)
    fold.passes(100.0)
    assert not fold.all_sent(EVAL)
    assert not fold.state.calls
    assert not fold.state.waiting_calls


def test_a_call_that_has_no_route_is_answered_at_once_and_not_kept() -> None:
    fold = folded_machine.with_tree("A")
    request_id = call(fold, frame_id="X")
    assert type(error_of(fold, request_id)) is UnknownFrame
    assert not fold.all_sent(EVAL)
    assert not fold.state.calls


def test_a_call_that_waits_during_dialogs_also_waits_for_its_frame() -> None:
    fold, _ = call_waiting_for_context(when_blocked="wait")
    fold.opening()
    report_context(fold)
    assert len(fold.all_sent(EVAL)) == 1


def test_the_timeout_names_that_the_document_of_the_frame_has_not_loaded() -> None:
    fold, request_id = call_waiting_for_context(timeout=8.0)
    fold.passes(7.9)
    assert request_id not in fold.answers
    fold.passes(0.2)
    error = error_of(fold, request_id)
    assert isinstance(error, CallTimedOut)
    assert "document of its frame has not loaded" in str(error)
    assert error.health is not None
    report_context(fold)
    assert not fold.all_sent(EVAL)
    assert not fold.state.calls


def test_the_timeout_of_a_waiting_call_names_the_dialog_that_blocks_the_page() -> None:
    fold, request_id = call_waiting_for_context(timeout=8.0, when_blocked="wait")
    fold.opening()
    fold.passes(9.0)
    assert "dialog" in str(error_of(fold, request_id))


@pytest.mark.parametrize(("timeout", "probe_at"), [(8.0, 6.5), (None, 0.0), (40.0, 10.0)])
def test_a_probe_is_sent_after_half_of_the_remaining_time(timeout: float | None, probe_at: float) -> None:
    fold, _ = call_waiting_for_context(timeout=timeout)
    fold.passes(5.0)
    report_context(fold)
    if probe_at:
        fold.passes(probe_at - 5.0 - 0.1)
        assert len(fold.all_sent(EVAL)) == 1
        fold.passes(0.2)
    else:
        fold.passes(50.0)
    assert len(fold.all_sent(EVAL)) == (2 if probe_at else 1)


def test_a_cancelled_call_does_not_wait_for_its_frame() -> None:
    fold, request_id = call_waiting_for_context()
    other = call(fold, frame_id="A")
    fold.drops(request_id)
    report_context(fold)
    assert len(fold.all_sent(EVAL)) == 1
    fold.reply(EVAL, {"ok": 1})
    assert fold.answers[other].value == {"ok": 1}
    assert not fold.state.calls


# ── calls that a dialog blocks ────────────────────────────────────────────────────────────────────────────────────────


def test_a_call_that_a_dialog_blocks_ends_at_once_with_a_call_id() -> None:
    fold, request_id = blocked_by_dialog()
    error = error_of(fold, request_id)
    assert isinstance(error, BlockedByDialog)
    assert (error.dialogs, error.call) == (("d-1",), "c-1")
    assert blocked_call_ids(fold) == ["c-1"]


def test_the_outcome_of_a_blocked_call_is_kept_until_it_is_awaited_once() -> None:
    fold, _ = blocked_by_dialog()
    fold.reply(EVAL, {"ok": 1})
    assert blocked_call_ids(fold) == []
    assert fold.answers[fold.ask(AwaitCall(call_id="c-1"))].value == {"ok": 1}
    assert fold.error(fold.ask(AwaitCall(call_id="c-1"))) == "UnknownCall"
    assert len(fold.all_sent(EVAL)) == 1


def test_the_end_of_a_blocked_call_can_be_awaited_before_it_comes() -> None:
    fold, _ = blocked_by_dialog()
    request_id = fold.ask(AwaitCall(call_id="c-1", timeout=5.0))
    assert fold.error(fold.ask(AwaitCall(call_id="c-1"))) == "UnknownCall"
    fold.reply(EVAL, {"ok": 1})
    assert fold.answers[request_id].value == {"ok": 1}
    assert not fold.state.calls
    assert not any("awaited" in each for each in fold.deadline_reasons())


def test_a_wait_that_times_out_leaves_the_call_open() -> None:
    fold, _ = blocked_by_dialog()
    request_id = fold.ask(AwaitCall(call_id="c-1", timeout=5.0))
    fold.passes(5.0)
    assert isinstance(error_of(fold, request_id), CallTimedOut)
    assert error_of(fold, request_id).health.state == "blocked_by_dialog"
    fold.reply(EVAL, {"ok": 1})
    assert fold.answers[fold.ask(AwaitCall(call_id="c-1"))].value == {"ok": 1}


def test_a_wait_without_a_timeout_has_no_deadline_and_a_negative_timeout_is_refused() -> None:
    fold, _ = blocked_by_dialog()
    assert isinstance(error_of(fold, fold.ask(AwaitCall(call_id="c-1", timeout=-1.0))), InvalidArgument)
    fold.ask(AwaitCall(call_id="c-1"))
    assert not any("awaited" in each for each in fold.deadline_reasons())


def test_a_cancelled_wait_does_not_time_out() -> None:
    fold, _ = blocked_by_dialog()
    request_id = fold.ask(AwaitCall(call_id="c-1", timeout=5.0))
    fold.drops(request_id)
    fold.passes(5.0)
    assert request_id not in fold.answers
    assert blocked_call_ids(fold) == ["c-1"]


def test_a_call_that_waits_during_dialogs_gets_no_error_and_is_shown_as_blocked() -> None:
    fold, request_id = blocked_by_dialog(when_blocked="wait")
    assert request_id not in fold.answers
    assert blocked_call_ids(fold) == ["c-1"]
    fold.reply(EVAL, {"ok": 1})
    assert fold.answers[request_id].value == {"ok": 1}


def test_a_dialog_blocks_only_calls_to_its_renderer() -> None:
    """It does not affect ended calls, nor calls to another page, another process or the browser itself."""
    fold = folded_machine.with_tree("F")
    fold.attach("F", "iframe", of="s-P")
    fold.attach("Q")
    request_ids = [
        call(fold, target_id="Q"),
        call(fold, frame_id="F"),
        call(fold, "Page.bringToFront", target_id="P"),
    ]
    blocked_id = call(fold, target_id="P")
    fold.opening()
    assert [each for each in [*request_ids, blocked_id] if each in fold.answers] == [blocked_id]
    fold.reply(EVAL, on="s-P")
    fold.opening("F")
    assert fold.error(request_ids[1]) == "BlockedByDialog"


@pytest.mark.parametrize(("method", "blocked"), [(NAVIGATE, True), ("Page.reload", False)])
def test_a_navigation_waits_for_its_beforeunload_dialog_and_a_reload_does_not(method: str, blocked: bool) -> None:
    """Fact 21: the browser answers a navigation after its `beforeunload` dialog, and a reload at once."""
    fold = on_a_page()
    request_id = call(fold, method)
    fold.opening(type="beforeunload")
    assert fold.error(request_id).endswith("BlockedByDialog") is blocked


def test_a_dialog_without_an_open_call_blocks_no_call() -> None:
    fold = on_a_page()
    fold.opening()
    assert blocked_call_ids(fold) == []


def test_outcomes_that_are_never_awaited_are_kept_up_to_the_limit_and_then_counted() -> None:
    fold = on_a_page(limits=Limits(ended_calls=1))
    call(fold)
    call(fold)
    first, second = fold.all_sent(EVAL)
    fold.opening()
    fold.ends(first.ticket, folded_machine.result_of({"n": 1}))
    fold.ends(second.ticket, folded_machine.result_of({"n": 2}))
    assert fold.count("call_ends_uncollected") == 1
    assert fold.error(fold.ask(AwaitCall(call_id="c-1"))) == "UnknownCall"
    assert fold.answers[fold.ask(AwaitCall(call_id="c-2"))].value == {"n": 2}


# ── how a call ends ───────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("outcome", "kind"),
    [
        (Refusal(id=1, code=-32000, message="no"), CommandRefused),
        (Loss(kind="connection", reason="cut", detail="It broke."), ConnectionLost),
        (Malformed(id=1, reason="torn", size=9), RemoteProtocolError),
        (NotSent(error=InvalidArgument("It is too long.")), InvalidArgument),
        (decode(b'{"id":1,"result":7}'), RemoteProtocolError),
    ],
    ids=["refused", "lost", "torn", "not sent", "not an object"],
)
def test_a_call_ends_with_the_outcome_of_its_command(outcome: Any, kind: type[Exception]) -> None:
    fold = on_a_page()
    request_id = call(fold)
    fold.ends(fold.sent(EVAL).ticket, outcome)
    assert isinstance(error_of(fold, request_id), kind)
    assert not fold.state.calls


def test_a_call_without_a_reply_times_out() -> None:
    fold = on_a_page()
    fold.passes(2.0)
    request_id = call(fold, timeout=5.0)
    fold.passes(4.9)
    assert request_id not in fold.answers
    fold.passes(0.1)
    error = error_of(fold, request_id)
    assert isinstance(error, CallTimedOut)
    assert (error.method, error.waited) == (EVAL, 5.0)
    assert Forget(ticket=fold.all_sent(EVAL)[0].ticket) in fold.last
    fold.ends(fold.all_sent(EVAL)[0].ticket, folded_machine.result_of({}))  # a late reply is ignored
    assert not fold.state.calls


def test_calls_beyond_the_limit_are_refused() -> None:
    fold = on_a_page(limits=Limits(calls_kept=1))
    call(fold)
    error = error_of(fold, call(fold))
    assert isinstance(error, InvalidArgument)
    assert error.reason == "too_many_calls"
    assert len(fold.all_sent(EVAL)) == 1


def test_a_blocked_call_has_no_timeout_unless_its_caller_waits() -> None:
    fold, _ = blocked_by_dialog(timeout=5.0)
    fold.passes(5.0)
    assert blocked_call_ids(fold) == ["c-1"]
    waits, request_id = blocked_by_dialog(when_blocked="wait", timeout=5.0)
    waits.passes(5.0)
    assert waits.error(request_id) == "CallTimedOut"


def test_a_call_without_a_timeout_waits_for_ever() -> None:
    fold = on_a_page()
    request_id = call(fold, timeout=None)
    fold.passes(10_000.0)
    assert request_id not in fold.answers


def test_a_cancelled_call_abandons_its_command() -> None:
    fold = on_a_page()
    request_id = call(fold)
    other = call(fold)
    fold.drops(request_id)
    assert list(fold.state.calls) == ["c-2"]
    assert Forget(ticket=fold.all_sent(EVAL)[0].ticket) in fold.last
    fold.reply(EVAL)
    assert request_id not in fold.answers
    assert fold.answers[other].error is None


def test_a_blocked_call_stays_open_when_its_caller_is_cancelled() -> None:
    fold, request_id = blocked_by_dialog(when_blocked="wait")
    fold.drops(request_id)
    fold.reply(EVAL, {"ok": 1})
    assert fold.answers[fold.ask(AwaitCall(call_id="c-1"))].value == {"ok": 1}


def test_a_call_ends_once() -> None:
    """An ended or unknown call does not end again."""
    fold, _ = blocked_by_dialog()
    ticket = fold.state.tickets[fold.sent(EVAL).ticket]
    fold.reply(EVAL, {"n": 1})
    for state_calls in (fold.state.calls, fold.state.calls.delete("c-1")):
        transition = Transition(replace(fold.state, calls=state_calls), fold.at, fold.now)
        calls.call_ended(transition, ticket, 1, folded_machine.result_of({"n": 2}))
        calls.call_due(transition, "c-1")
        calls.waiter_due(transition, "c-1")
        assert not transition.effects
        assert transition.state.calls is state_calls


def test_callers_get_an_error_when_the_link_or_the_supervisor_ends() -> None:
    fold, _ = blocked_by_dialog()
    request_id = fold.ask(AwaitCall(call_id="c-1"))
    fold.down(final=True, reason="404")
    assert fold.error(request_id) == "ConnectionLost"
    stopped = on_a_page()
    request_id = call(stopped)
    stopped.ask(Stop())
    assert stopped.error(request_id) == "SupervisorStopped"


def test_a_kept_outcome_survives_the_end_of_the_link() -> None:
    fold, _ = blocked_by_dialog()
    fold.reply(EVAL, {"n": 1})
    fold.down(final=True, reason="404")
    assert fold.answers[fold.ask(AwaitCall(call_id="c-1"))].value == {"n": 1}


# ── calls without a reply ─────────────────────────────────────────────────────────────────────────────────────────────


def probes(fold: Any) -> list[Any]:
    """Return the probes that were sent to check whether a renderer replies."""
    return [each for each in fold.all_sent(EVAL) if each.params == {"expression": "0"}]


def unanswered_call(fold: Any = None, *, timeout: float = 4.0) -> tuple[Any, int]:
    """Return a fold with a call that has waited until its renderer got a probe, and its request id."""
    fold = fold or on_a_page()
    request_id = call(fold, "DOM.getDocument", timeout=timeout)
    fold.passes(timeout / 2)
    return fold, request_id


@pytest.mark.parametrize(("timeout", "after"), [(2.0, 1.0), (10.0, 5.0), (300.0, 5.0)])
def test_a_probe_is_sent_after_half_the_timeout_and_at_most_five_seconds(timeout: float, after: float) -> None:
    fold = on_a_page()
    call(fold, "DOM.getDocument", timeout=timeout)
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
def test_a_probe_is_sent_only_for_a_call_with_a_timeout_that_the_renderer_answers(named: dict[str, Any]) -> None:
    """The browser itself answers the other methods, so a probe of the renderer would prove nothing."""
    fold = on_a_page()
    call(fold, **named)
    assert not any("still unanswered" in each for each in fold.deadline_reasons())
    fold.passes(29.0)
    assert probes(fold) == []


def test_a_worker_without_a_page_gets_no_probe() -> None:
    """No page exists that could be shown as busy."""
    fold = on_a_page()
    fold.attach("W", "service_worker")
    call(fold, target_id="W")
    fold.passes(29.0)
    assert probes(fold) == []


def test_no_probe_is_sent_once_the_call_is_answered_blocked_or_cancelled() -> None:
    answered = on_a_page()
    call(answered)
    answered.reply(EVAL).passes(20.0)
    waits, _ = blocked_by_dialog(when_blocked="wait")
    waits.passes(20.0)
    blocked, _ = blocked_by_dialog()
    blocked.passes(20.0)
    cancelled = on_a_page()
    cancelled.drops(call(cancelled))
    cancelled.passes(20.0)
    assert [probes(each) for each in (answered, waits, blocked, cancelled)] == [[], [], [], []]


def test_an_ended_call_has_no_deadline() -> None:
    fold = on_a_page()
    call(fold)
    assert any("still unanswered" in each for each in fold.deadline_reasons())
    fold.reply(EVAL)
    assert fold.deadline_reasons() == []


def test_a_renderer_without_a_session_gets_no_probe() -> None:
    fold = on_a_page()
    call(fold)
    fold.detach("s-P").passes(5.0)
    assert probes(fold) == []


def test_a_deadline_does_nothing_once_the_call_has_ended() -> None:
    fold, _ = blocked_by_dialog()
    fold.reply(EVAL)
    for name in ("c-1", "c-99"):
        transition = Transition(fold.state, fold.at, fold.now)
        calls.call_due(transition, name)
        assert not transition.effects


def test_a_page_that_answers_neither_call_nor_probe_is_busy_and_the_timeout_names_it() -> None:
    fold, request_id = unanswered_call()
    fold.passes(2.0)
    error = error_of(fold, request_id)
    assert (error.health.state, error.health.since) == ("busy", folded_machine.WALL + 2.0)
    assert error.health.why in str(error)
    assert fold.health() == "busy"
    assert fold.notes().count("a page is busy: a call and a probe got no reply") == 1


def test_a_busy_page_keeps_the_moment_since_when_it_is_busy() -> None:
    fold, _ = unanswered_call()
    fold.passes(2.0)
    _, request_id = unanswered_call(fold)
    fold.passes(2.0)
    assert error_of(fold, request_id).health.since == folded_machine.WALL + 2.0
    assert fold.notes().count("a page is busy: a call and a probe got no reply") == 1


def test_a_page_that_answers_the_probe_is_ok_and_the_timeout_advises_a_longer_one() -> None:
    fold, request_id = unanswered_call()
    fold.reply(EVAL)
    fold.passes(2.0)
    assert error_of(fold, request_id).health.state == "ok"
    assert "its page answers other commands" in str(error_of(fold, request_id))
    assert "longer timeout" in str(error_of(fold, request_id))
    assert fold.health() == "ok"


def test_the_timeout_of_a_call_without_a_probe_blames_no_renderer() -> None:
    fold = on_a_page()
    request_id = call(fold, NAVIGATE, timeout=4.0)
    fold.passes(4.0)
    assert str(error_of(fold, request_id)) == "Page.navigate was not answered within 4 s: nothing is known to stop it."


def test_an_event_source_that_wakes_after_both_deadlines_blames_no_page() -> None:
    """Both deadlines are due at once: a probe that was not sent before proves nothing."""
    fold = on_a_page()
    request_id = call(fold, timeout=4.0)
    fold.passes(60.0)
    assert probes(fold) == []
    assert error_of(fold, request_id).health.state == "ok"
    assert "other commands" not in str(error_of(fold, request_id))


def busy_page() -> Any:
    fold, _ = unanswered_call()
    fold.passes(2.0)
    assert fold.health() == "busy"
    return fold


def test_a_page_is_busy_until_its_renderer_answers_any_command() -> None:
    late = busy_page()
    late.reply(EVAL)  # the late reply to the probe
    called_again = busy_page()
    call(called_again, "DOM.getDocument")
    called_again.reply("DOM.getDocument")
    assert [late.health(), called_again.health()] == ["ok", "ok"]


def test_a_reply_that_the_browser_itself_sends_leaves_the_renderer_busy() -> None:
    fold = busy_page()
    call(fold, NAVIGATE)
    fold.reply(NAVIGATE)
    call(fold, "DOM.getDocument")
    fold.refuse("DOM.getDocument")
    assert fold.health() == "busy"


@pytest.mark.parametrize(
    "method",
    ["Inspector.targetCrashed", "", "link"],
    ids=["the crash", "the end of its session", "the end of the link"],
)
def test_a_renderer_that_is_gone_is_no_longer_busy(method: str) -> None:
    fold = busy_page()
    if method == "link":
        fold.down()
    elif method:
        fold.event(method, on="s-P")
    else:
        fold.detach("s-P")
    assert not fold.page().busy_sessions


def test_a_busy_frame_makes_its_page_busy_and_no_other_frame() -> None:
    fold = folded_machine.with_tree("F")
    fold.attach("F", "iframe", of="s-P")
    fold.reply("Page.getFrameTree", {"frameTree": folded_machine.tree_of("F")}, on="s-F")
    call(fold, frame_id="F", timeout=2.0)
    fold.passes(1.0).passes(1.0)
    assert list(fold.page().busy_sessions) == ["s-F"]
    call(fold)
    assert len(fold.all_sent(EVAL, on="s-P")) == 1


def test_the_timeout_of_a_call_names_that_its_page_is_gone() -> None:
    fold, request_id = unanswered_call()
    fold.event("Target.targetDestroyed", targetId="P").passes(2.0)
    assert error_of(fold, request_id).health is None
    assert "its page is gone" in str(error_of(fold, request_id))


def test_the_timeout_of_a_call_to_the_browser_names_the_state_of_the_link() -> None:
    fold = on_a_page()
    request_id = call(fold, "Browser.getVersion", timeout=5.0)
    fold.passes(5.0)
    assert error_of(fold, request_id).health is None
    assert "nothing is known to block it; give it a longer timeout" in str(error_of(fold, request_id))
    unresponsive = on_a_page(keepalive=1.0)
    request_id = call(unresponsive, "Browser.getVersion", timeout=1.5)
    unresponsive.passes(1.0).passes(0.5)
    assert "the browser does not answer at present" in str(error_of(unresponsive, request_id))


def test_a_waiting_call_that_times_out_forgets_no_command() -> None:
    fold, request_id = call_waiting_for_context()
    before = {*fold.state.tickets}
    assert before
    fold.passes(60.0)
    assert isinstance(error_of(fold, request_id), CallTimedOut)
    assert before <= {*fold.state.tickets}


def test_an_end_that_was_awaited_is_not_kept() -> None:
    fold = on_a_page()
    call(fold)
    dialog = fold.opening()
    fold.ends(fold.all_sent(EVAL)[0].ticket, folded_machine.result_of({"n": 1}))
    assert fold.state.ended_calls == ("c-1",)
    fold.ask(AwaitCall(call_id="c-1"))
    assert fold.answers[fold.asked].value == {"n": 1}
    assert fold.state.ended_calls == ()
    assert dialog


def test_a_call_to_a_session_while_the_link_is_down_names_the_link() -> None:
    fold = on_a_page().down()
    request_id = call(fold, session_id="s-P")
    assert fold.error(request_id) == "ConnectionLost"


# ── dialogs that a policy answers ─────────────────────────────────────────────────────────────────────────────────────

AUTOMATIC = Policy({"confirm": "auto_accept"})


def test_a_call_waits_while_a_policy_answers_its_dialog() -> None:
    fold, request_id = blocked_by_dialog(on_a_page(policy=AUTOMATIC))
    assert request_id not in fold.answers
    [shown] = fold.shown().blocked_calls
    assert shown.held_by == "d-1"
    fold.closing(result=True)
    fold.reply(HANDLE, {})
    assert fold.shown().blocked_calls == ()
    fold.reply(EVAL, {"result": {"value": 7}})
    assert fold.answers[request_id].value == {"result": {"value": 7}}
    assert fold.state.held_calls == ()


def test_a_call_under_a_dialog_that_a_policy_answers_is_sent_and_waits() -> None:
    fold = on_a_page(policy=AUTOMATIC)
    fold.opening()
    request_id = call(fold)
    assert len(fold.all_sent(EVAL)) == 1
    assert [each.held_by for each in fold.shown().blocked_calls] == ["d-1"]
    fold.closing(result=True).reply(HANDLE, {}).reply(EVAL, {})
    assert fold.answers[request_id].error is None


@pytest.mark.parametrize(
    ("options", "type"),
    [
        ({}, "confirm"),
        ({"policy": AUTOMATIC}, "alert"),
        ({"scope": Scope.browser().observed(), "policy": AUTOMATIC}, "confirm"),
    ],
)
def test_a_call_ends_at_once_at_a_dialog_that_no_policy_answers(options: Any, type: str) -> None:
    fold = on_a_page(**options)
    request_id = call(fold)
    fold.opening(type=type)
    error = error_of(fold, request_id)
    assert isinstance(error, BlockedByDialog)
    assert error.call == "c-1"
    assert [each.held_by for each in fold.shown().blocked_calls] == [None]


def refuse_the_answer(fold: Any) -> None:
    fold.refuse(HANDLE)


def set_another_policy(fold: Any) -> None:
    fold.ask(SetPolicy(policy=Policy("must_respond")))


def stop(fold: Any) -> None:
    fold.ask(Stop(timeout=9.0))


@pytest.mark.parametrize("happens", [refuse_the_answer, set_another_policy, stop])
@pytest.mark.parametrize("when_blocked", ["raise", "wait"])
def test_a_held_call_ends_when_no_policy_answers_its_dialog_any_more(happens: Any, when_blocked: str) -> None:
    fold, request_id = blocked_by_dialog(on_a_page(policy=AUTOMATIC), when_blocked=when_blocked)
    happens(fold)
    if when_blocked == "raise":
        assert isinstance(error_of(fold, request_id), BlockedByDialog)
    else:
        assert request_id not in fold.answers
    assert [each.held_by for each in fold.shown().blocked_calls] == [None]
    assert fold.state.held_calls == ()


def test_the_timeout_of_a_held_call_names_the_policy() -> None:
    fold, request_id = blocked_by_dialog(on_a_page(policy=AUTOMATIC), timeout=4.0)
    fold.passes(4.0)
    error = error_of(fold, request_id)
    assert isinstance(error, CallTimedOut)
    assert error.why == "the policy auto_accept has been answering dialog d-1 (confirm) for 4.0 s"
    assert fold.state.held_calls == ()


def test_a_held_call_that_is_cancelled_or_answered_is_no_longer_held() -> None:
    fold, request_id = blocked_by_dialog(on_a_page(policy=AUTOMATIC))
    fold.drops(request_id)
    fold.reply(EVAL, {})
    assert fold.state.held_calls == ()
    gone, waiting = blocked_by_dialog(on_a_page(policy=AUTOMATIC))
    gone.event("Target.targetDestroyed", targetId="P")
    gone.lose(EVAL)
    assert gone.answers[waiting].error is not None
    assert gone.state.held_calls == ()


# ── several dialogs of one call ───────────────────────────────────────────────────────────────────────────────────────


def end_dialog(fold: Any) -> None:
    fold.respond()
    fold.closing(result=True).reply(HANDLE, {})


def test_the_wait_for_a_call_reports_its_next_dialog_at_once() -> None:
    fold, _ = blocked_by_dialog()
    waiting = fold.ask(AwaitCall(call_id="c-1"))
    end_dialog(fold)
    fold.opening()
    error = error_of(fold, waiting)
    assert isinstance(error, BlockedByDialog)
    assert (error.dialogs, error.call) == (("d-2",), "c-1")
    again = fold.ask(AwaitCall(call_id="c-1", timeout=5.0))  # it knows of this dialog, and waits for its end
    assert again not in fold.answers
    end_dialog(fold)
    fold.reply(EVAL, {"result": {}})
    assert fold.answers[again].value == {"result": {}}
    assert fold.deadline_reasons() == on_a_page().deadline_reasons()


def test_a_dialog_that_opened_between_two_waits_is_reported_at_once() -> None:
    fold, _ = blocked_by_dialog()
    end_dialog(fold)
    fold.opening()
    error = error_of(fold, fold.ask(AwaitCall(call_id="c-1")))
    assert isinstance(error, BlockedByDialog)
    assert error.dialogs == ("d-2",)
    waiting = fold.ask(AwaitCall(call_id="c-1"))
    assert waiting not in fold.answers


def test_a_later_dialog_that_does_not_block_the_call_is_not_reported() -> None:
    fold = folded_machine.with_tree()
    fold.attach("F", "iframe", of="s-P", parentFrameId="P")
    call(fold, session_id="s-F")
    fold.opening("F")
    fold.opening("P")
    assert fold.ask(AwaitCall(call_id="c-1")) not in fold.answers
    gone, _ = blocked_by_dialog()
    gone.event("Target.targetDestroyed", targetId="P")
    assert gone.ask(AwaitCall(call_id="c-1")) not in gone.answers


# ── input ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

CLICK = "Input.dispatchMouseEvent"


def test_input_in_flight_is_blocked_by_a_dialog_of_any_frame_of_its_page() -> None:
    """Fact 66: the input that opened a dialog is answered after it."""
    fold = folded_machine.with_tree()
    fold.attach("F", "iframe", of="s-P", parentFrameId="P")
    request_id = call(fold, CLICK, params={"type": "mouseReleased"})
    fold.opening("F")
    error = error_of(fold, request_id)
    assert isinstance(error, BlockedByDialog)
    end_dialog(fold)
    fold.reply(CLICK, {})
    assert fold.answers[fold.ask(AwaitCall(call_id="c-1"))].value == {}


@pytest.mark.parametrize(
    ("of", "on", "blocked"),
    [("P", "Q", True), ("Q", "P", True), ("Q", "R", True), ("P", "X", False)],
)
def test_input_in_flight_is_blocked_by_a_dialog_of_its_opener_or_popup(of: str, on: str, blocked: bool) -> None:
    """Facts 16, 17: they may share a process. Q and R are popups of P."""
    fold = on_a_page()
    for target, opener in (("Q", "P"), ("R", "P"), ("X", "")):
        fold.attach(target, openerId=opener)
    request_id = call(fold, CLICK, target_id=on, params={"type": "mousePressed"})
    fold.event("Page.javascriptDialogOpening", on=f"s-{of}", frameId=of, type="alert", hasBrowserHandler=True)
    assert (request_id in fold.answers) == blocked


def test_a_call_to_the_browser_is_not_blocked_by_a_dialog() -> None:
    fold = on_a_page()
    request_id = call(fold, "Input.dispatchKeyEvent", session_id="s-P", params={"type": "keyDown"})
    fold.event("Target.targetDestroyed", targetId="P")
    fold.attach("Q")
    fold.event("Page.javascriptDialogOpening", on="s-Q", frameId="Q", type="alert", hasBrowserHandler=True)
    assert request_id not in fold.answers


@pytest.mark.parametrize(
    ("method", "params", "sent"),
    [
        (CLICK, {"type": "mousePressed"}, True),
        (CLICK, {"type": "mouseWheel"}, False),
        ("Input.dispatchKeyEvent", {"type": "keyDown"}, True),
        ("Input.insertText", {"text": "x"}, False),
        ("Input.synthesizeTapGesture", {"x": 1, "y": 1}, False),
    ],
)
def test_input_that_waits_for_the_dialog_is_not_sent_under_it(method: str, params: Any, sent: bool) -> None:
    fold = on_a_page()
    fold.opening()
    request_id = call(fold, method, params=params)
    assert bool(fold.all_sent(method)) == sent
    assert isinstance(error_of(fold, request_id), BlockedByDialog) == (not sent) if request_id in fold.answers else sent


# ── navigations ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_navigation_that_a_dialog_blocks_is_a_blocked_navigation_too() -> None:
    fold = on_a_page()
    request_id = call(fold, NAVIGATE, params={"url": "http://b/"})
    fold.opening(type="beforeunload")
    error = error_of(fold, request_id)
    assert isinstance(error, NavigationBlockedByDialog)
    assert isinstance(error, NavigationBlocked)
    assert (error.type, error.phase, error.dialogs, error.call) == ("beforeunload", "leaving", ("d-1",), "c-1")
    refused = error_of(fold, call(fold, NAVIGATE, params={"url": "http://b/"}))
    assert isinstance(refused, NavigationBlockedByDialog)
    assert refused.call is None


async def test_a_navigation_that_was_not_sent_cannot_be_waited_for() -> None:
    error = NavigationBlockedByDialog(("d-1",), method=NAVIGATE, type="alert", phase="leaving")
    with pytest.raises(InvalidArgument, match="was not sent"):
        await error.wait()
