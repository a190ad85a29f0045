"""Calls: where each goes, what stops it, and what its caller is told."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from cdp_core.errors import CommandRefused, ConnectionLost, InvalidArgument, RemoteProtocolError
from cdp_core.sansio.records import replace
from cdp_core.sansio.router import Loss
from cdp_core.sansio.wire import Malformed, Refusal, decode
from cdp_supervisor.errors import (
    AmbiguousTarget,
    BlockedByDialog,
    CallTimedOut,
    FrameSharesProcess,
    PageFrozen,
    ScriptFailed,
    UnknownFrame,
    UnknownTarget,
)
from cdp_supervisor.sansio import calls
from cdp_supervisor.sansio.effects import Forget
from cdp_supervisor.sansio.inputs import NotSent
from cdp_supervisor.sansio.options import Limits, Scope
from cdp_supervisor.sansio.questions import AwaitCall, Call, Focus, Recover, Stop
from cdp_supervisor.sansio.turn import Turn

SPEC = importlib.util.spec_from_file_location("folding", Path(__file__).with_name("folding.py"))
assert SPEC is not None
assert SPEC.loader is not None
folding = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(folding)

EVAL, NAVIGATE = "Runtime.evaluate", "Page.navigate"


def on_a_page(**options: Any) -> Any:
    return folding.with_tree(**options)


def called(fold: Any, method: str = EVAL, **named: Any) -> int:
    return fold.ask(Call(**{"method": method, **named}))


def error(fold: Any, ask: int) -> Any:
    return fold.answers[ask].error


def overtaken(fold: Any = None, *, when_blocked: str = "raise", timeout: float | None = 30.0) -> tuple[Any, int]:
    """A call that a dialog has overtaken."""
    fold = fold or on_a_page()
    ask = called(fold, when_blocked=when_blocked, timeout=timeout)
    fold.opening()
    return fold, ask


def blocked(fold: Any) -> list[str]:
    return [each.call_id for each in fold.shown().blocked_calls]


# ── where it goes ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_call_goes_to_the_only_page_and_its_result_comes_back() -> None:
    fold = on_a_page()
    ask = called(fold, params={"expression": "1"})
    assert (fold.sent(EVAL).session_id, fold.sent(EVAL).params) == ("s-P", {"expression": "1"})
    fold.reply(EVAL, {"result": {"value": 1}})
    assert fold.answers[ask].value == {"result": {"value": 1}}
    assert not fold.state.calls


def test_of_two_pages_one_must_be_named_or_focused() -> None:
    fold = on_a_page()
    fold.attach("Q")
    assert error(fold, called(fold)).candidates == ("P", "Q")
    assert isinstance(error(fold, 1), AmbiguousTarget)
    called(fold, target_id="Q")
    assert fold.sent(EVAL).session_id == "s-Q"
    fold.ask(Focus(target_id="P"))
    called(fold)
    assert fold.sent(EVAL).session_id == "s-P"


def test_a_method_of_the_browser_goes_to_its_own_session() -> None:
    fold = on_a_page()
    called(fold, "Browser.getVersion")
    assert fold.sent("Browser.getVersion").session_id is None
    called(fold, "Target.getTargetInfo", target_id="P")
    assert fold.sent("Target.getTargetInfo").session_id == "s-P"


def test_a_named_session_is_taken_as_it_is() -> None:
    fold = on_a_page()
    fold.attach("W", "worker", of="s-P")
    called(fold, session_id="s-W")
    assert fold.sent(EVAL).session_id == "s-W"
    wrong = error(fold, called(fold, session_id="s-X"))
    assert isinstance(wrong, UnknownTarget)
    assert set(wrong.known) == {"s-P", "s-W"}


def test_a_target_that_is_no_page_is_reached_by_its_session() -> None:
    fold = on_a_page()
    fold.attach("W", "service_worker")
    called(fold, target_id="W")
    assert fold.sent(EVAL).session_id == "s-W"
    wrong = error(fold, called(fold, target_id="X"))
    assert isinstance(wrong, UnknownTarget)
    assert wrong.known == ("P",)


def test_a_frame_with_a_session_of_its_own_takes_every_method() -> None:
    fold = folding.with_tree("F")
    fold.attach("F", "iframe", of="s-P")
    called(fold, "DOM.enable", frame_id="F")
    assert fold.sent("DOM.enable").session_id == "s-F"


def test_the_top_frame_is_reached_as_its_page() -> None:
    fold = on_a_page()
    called(fold, "DOM.enable", frame_id="P")
    assert fold.sent("DOM.enable").session_id == "s-P"


def test_a_frame_that_shares_its_process_takes_what_takes_a_context() -> None:
    fold = folding.with_tree("A")
    hint = error(fold, called(fold, "DOM.enable", frame_id="A"))
    assert isinstance(hint, FrameSharesProcess)
    assert "contentDocument" in hint.hint
    assert "not known yet" in error(fold, called(fold, frame_id="A")).hint
    context = {"uniqueId": "1.1", "auxData": {"frameId": "A", "isDefault": True}}
    fold.says("Runtime.executionContextCreated", on="s-P", context=context)
    called(fold, frame_id="A", params={"expression": "1"})
    assert fold.sent(EVAL).params == {"uniqueContextId": "1.1", "expression": "1"}
    called(fold, frame_id="A")
    assert fold.sent(EVAL).params == {"uniqueContextId": "1.1"}
    called(fold, frame_id="A", params={"uniqueContextId": "mine"})
    assert fold.sent(EVAL).params == {"uniqueContextId": "mine"}


def test_an_unknown_frame_is_refused_with_those_that_are() -> None:
    fold = folding.with_tree("A")
    wrong = error(fold, called(fold, frame_id="X"))
    assert isinstance(wrong, UnknownFrame)
    assert set(wrong.known) == {"P", "A"}


def test_a_frame_without_a_session_now_and_a_page_without_one_say_so() -> None:
    fold = folding.with_tree("F")
    fold.says("Page.frameDetached", on="s-P", frameId="F", reason="swap")
    assert isinstance(error(fold, called(fold, frame_id="F")), ConnectionLost)
    fold.detach("s-P")
    assert "Page P has no session now" in str(error(fold, called(fold, target_id="P")))


def test_without_a_link_nothing_is_sent() -> None:
    fold = on_a_page()
    fold.down(reason="cut")
    wrong = error(fold, called(fold))
    assert isinstance(wrong, ConnectionLost)
    assert wrong.reason == "cut"
    assert not fold.all_sent(EVAL)


@pytest.mark.parametrize(
    "named",
    [
        {"method": ""},
        {"when_blocked": "odd"},
        {"timeout": 0},
        {"timeout": float("nan")},
        {"timeout": True},
        {"target_id": "P", "frame_id": "P"},
    ],
    ids=str,
)
def test_a_call_that_makes_no_sense_is_refused_and_not_sent(named: dict[str, Any]) -> None:
    fold = on_a_page()
    before = fold.state.last_ticket
    assert isinstance(error(fold, called(fold, **named)), InvalidArgument)
    assert fold.state.last_ticket == before


def test_beyond_the_limit_calls_are_refused() -> None:
    fold = on_a_page(limits=Limits(calls_kept=1))
    called(fold)
    wrong = error(fold, called(fold))
    assert isinstance(wrong, InvalidArgument)
    assert wrong.reason == "too_many_calls"
    assert len(fold.all_sent(EVAL)) == 1


def test_who_has_a_session_of_its_own_is_found_for_typed_commands() -> None:
    """`session_of` raises what `call` does."""
    fold = folding.with_tree("A", "F")
    fold.attach("F", "iframe", of="s-P")
    assert calls.session_of(fold.state, target_id="P", frame_id=None) == "s-P"
    assert calls.session_of(fold.state, target_id=None, frame_id="F") == "s-F"
    with pytest.raises(FrameSharesProcess):
        calls.session_of(fold.state, target_id=None, frame_id="A")


# ── what stops it ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_call_is_not_sent_where_a_dialog_is_open() -> None:
    fold = on_a_page()
    fold.opening()
    wrong = error(fold, called(fold))
    assert isinstance(wrong, BlockedByDialog)
    assert (wrong.dialogs, wrong.call) == (("d-1",), None)
    assert not fold.all_sent(EVAL)


@pytest.mark.parametrize("method", ["Page.bringToFront", "Input.dispatchKeyEvent", "Page.reload"])
def test_what_the_browser_answers_all_the_same_is_sent(method: str) -> None:
    """Fact 15."""
    fold = on_a_page()
    fold.opening()
    called(fold, method)
    assert fold.sent(method).session_id == "s-P"


def test_who_would_wait_is_sent_behind_the_dialog() -> None:
    fold = on_a_page()
    fold.opening()
    ask = called(fold, when_blocked="wait")
    assert ask not in fold.answers
    assert len(fold.all_sent(EVAL)) == 1


def test_a_dialog_stops_only_the_process_it_is_in() -> None:
    fold = folding.with_tree("F")
    fold.attach("F", "iframe", of="s-P")
    fold.opening("F")
    called(fold)
    assert fold.sent(EVAL).session_id == "s-P"
    assert isinstance(error(fold, called(fold, frame_id="F")), BlockedByDialog)


def test_a_dialog_that_has_closed_stops_nothing() -> None:
    fold = on_a_page()
    fold.opening()
    fold.respond()
    fold.closing(result=True)
    called(fold)
    assert len(fold.all_sent(EVAL)) == 1


def test_a_page_that_is_silent_is_not_called() -> None:
    fold = folding.on_a_page()
    fold.passes(3.0)
    wrong = error(fold, called(fold))
    assert isinstance(wrong, PageFrozen)
    assert (wrong.target_id, wrong.since) == ("P", folding.WALL + 3.0)
    called(fold, when_blocked="wait")
    assert len(fold.all_sent(EVAL)) == 1


def test_a_frame_s_process_that_is_silent_is_not_called_and_its_page_is() -> None:
    fold = folding.with_tree("F")
    fold.attach("F", "iframe", of="s-P")
    fold.passes(3.0)
    assert isinstance(error(fold, called(fold, frame_id="F")), PageFrozen)
    called(fold)
    assert fold.sent(EVAL).session_id == "s-P"


def test_nobody_navigates_away_from_a_dialog_that_has_no_window() -> None:
    """It would freeze the page for good, or end the browser."""
    fold = on_a_page()
    fold.opening(native=False)
    assert isinstance(error(fold, called(fold, NAVIGATE)), BlockedByDialog)
    assert not fold.all_sent(NAVIGATE)


def test_a_navigation_stops_for_no_question_to_leave_nor_another_process_nor_what_is_stuck() -> None:
    leaving = on_a_page()
    leaving.opening(native=False, type="beforeunload")
    called(leaving, NAVIGATE)
    elsewhere = folding.with_tree("F")
    elsewhere.attach("F", "iframe", of="s-P")
    elsewhere.opening("F", native=False)
    called(elsewhere, NAVIGATE)
    stuck = on_a_page()
    stuck.opening(native=False)
    stuck.respond()
    stuck.refuse("Page.handleJavaScriptDialog")
    called(stuck, NAVIGATE)
    assert [len(each.all_sent(NAVIGATE)) for each in (leaving, elsewhere, stuck)] == [1, 1, 1]


def test_what_is_no_navigation_does_not_explain_a_closing() -> None:
    fold = on_a_page()
    fold.opening()
    called(fold, "Page.bringToFront")
    fold.closing()
    assert fold.end_of("d-1") == ("remote", "closed_elsewhere")


def test_where_there_is_a_window_a_navigation_goes_out_and_ends_the_dialog() -> None:
    fold = on_a_page()
    fold.opening()
    called(fold, NAVIGATE)
    fold.closing()
    assert fold.end_of("d-1") == ("remote", "navigation")


# ── what overtakes it ────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_dialog_that_overtakes_a_call_is_told_at_once_with_a_handle() -> None:
    fold, ask = overtaken()
    wrong = error(fold, ask)
    assert isinstance(wrong, BlockedByDialog)
    assert (wrong.dialogs, wrong.call) == (("d-1",), "c-1")
    assert blocked(fold) == ["c-1"]


def test_the_end_of_an_overtaken_call_is_kept_until_it_is_awaited_and_given_once() -> None:
    fold, _ = overtaken()
    fold.reply(EVAL, {"ok": 1})
    assert blocked(fold) == []
    assert fold.answers[fold.ask(AwaitCall(call_id="c-1"))].value == {"ok": 1}
    assert fold.error(fold.ask(AwaitCall(call_id="c-1"))) == "UnknownCall"
    assert len(fold.all_sent(EVAL)) == 1


def test_who_awaits_the_end_of_a_call_gets_it_when_it_comes() -> None:
    fold, _ = overtaken()
    ask = fold.ask(AwaitCall(call_id="c-1", timeout=5.0))
    assert fold.error(fold.ask(AwaitCall(call_id="c-1"))) == "UnknownCall"
    fold.reply(EVAL, {"ok": 1})
    assert fold.answers[ask].value == {"ok": 1}
    assert not fold.state.calls
    assert not any("awaited" in each for each in fold.because())


def test_an_awaiting_that_is_over_leaves_the_call_under_way() -> None:
    fold, _ = overtaken()
    ask = fold.ask(AwaitCall(call_id="c-1", timeout=5.0))
    fold.passes(5.0)
    assert isinstance(error(fold, ask), CallTimedOut)
    assert error(fold, ask).health.state == "blocked_by_dialog"
    fold.reply(EVAL, {"ok": 1})
    assert fold.answers[fold.ask(AwaitCall(call_id="c-1"))].value == {"ok": 1}


def test_a_call_is_awaited_for_ever_or_for_a_time_that_makes_sense() -> None:
    fold, _ = overtaken()
    assert isinstance(error(fold, fold.ask(AwaitCall(call_id="c-1", timeout=-1.0))), InvalidArgument)
    fold.ask(AwaitCall(call_id="c-1"))
    assert not any("awaited" in each for each in fold.because())


def test_the_time_of_an_awaiting_means_nothing_once_nobody_awaits() -> None:
    fold, _ = overtaken()
    ask = fold.ask(AwaitCall(call_id="c-1", timeout=5.0))
    fold.drops(ask)
    fold.passes(5.0)
    assert ask not in fold.answers
    assert blocked(fold) == ["c-1"]


def test_who_would_wait_hears_of_no_dialog_and_is_shown_as_blocked() -> None:
    fold, ask = overtaken(when_blocked="wait")
    assert ask not in fold.answers
    assert blocked(fold) == ["c-1"]
    fold.reply(EVAL, {"ok": 1})
    assert fold.answers[ask].value == {"ok": 1}


def test_a_dialog_overtakes_only_what_it_stops() -> None:
    """Another page, another process, what the browser answers, what has ended: untouched."""
    fold = folding.with_tree("F")
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
    fold.ends(first.ticket, folding.result_of({"n": 1}))
    fold.ends(second.ticket, folding.result_of({"n": 2}))
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


def test_a_call_that_is_unanswered_in_its_time_says_how_its_page_fares() -> None:
    fold = on_a_page()
    ask = called(fold, timeout=5.0)
    fold.passes(5.0)
    wrong = error(fold, ask)
    assert isinstance(wrong, CallTimedOut)
    assert (wrong.method, wrong.waited, wrong.health.state) == (EVAL, 5.0, "ok")
    assert Forget(ticket=fold.sent(EVAL).ticket) in fold.last
    fold.reply(EVAL)  # a late reply is nobody's
    assert not fold.state.calls


def test_a_call_on_no_page_times_out_without_a_health() -> None:
    fold = on_a_page()
    ask = called(fold, "Browser.getVersion", timeout=5.0)
    fold.passes(5.0)
    assert error(fold, ask).health is None


def test_an_overtaken_call_has_no_time_but_who_would_wait_has() -> None:
    fold, _ = overtaken(timeout=5.0)
    fold.passes(5.0)
    assert blocked(fold) == ["c-1"]
    waiting, ask = overtaken(when_blocked="wait", timeout=5.0)
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
    fold, ask = overtaken(when_blocked="wait")
    fold.drops(ask)
    fold.reply(EVAL, {"ok": 1})
    assert fold.answers[fold.ask(AwaitCall(call_id="c-1"))].value == {"ok": 1}


def test_an_end_comes_once() -> None:
    """What has ended, or is nobody's, ends no second time."""
    fold, _ = overtaken()
    ticket = fold.state.tickets[fold.sent(EVAL).ticket]
    fold.reply(EVAL, {"n": 1})
    for state_calls in (fold.state.calls, fold.state.calls.delete("c-1")):
        turn = Turn(replace(fold.state, calls=state_calls), fold.at)
        calls.call_ended(turn, ticket, folding.result_of({"n": 2}))
        calls.call_due(turn, "c-1")
        calls.waiter_due(turn, "c-1")
        assert not turn.effects
        assert turn.state.calls is state_calls


def test_whoever_waits_at_the_end_is_told_so() -> None:
    fold, _ = overtaken()
    ask = fold.ask(AwaitCall(call_id="c-1"))
    cure = fold.ask(Recover(target_id="P", cure="reload"))
    fold.down(final=True, reason="404")
    assert [fold.error(ask), fold.error(cure)] == ["ConnectionLost", "ConnectionLost"]
    stopped = on_a_page()
    ask = called(stopped)
    cure = stopped.ask(Recover(target_id="P", cure="reload"))
    stopped.ask(Stop())
    assert [stopped.error(ask), stopped.error(cure)] == ["SupervisorStopped", "SupervisorStopped"]


def test_an_end_that_is_kept_is_not_ended_again_at_the_end() -> None:
    fold, _ = overtaken()
    fold.reply(EVAL, {"n": 1})
    fold.down(final=True, reason="404")
    assert fold.answers[fold.ask(AwaitCall(call_id="c-1"))].value == {"n": 1}


# ── focus ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_focus_is_set_refused_and_unset() -> None:
    fold = on_a_page()
    fold.attach("Q")
    assert fold.answers[fold.ask(Focus(target_id="Q"))].error is None
    assert fold.shown().focus == "Q"
    assert isinstance(error(fold, fold.ask(Focus(target_id="X"))), UnknownTarget)
    assert fold.shown().focus == "Q"
    fold.says("Target.targetDestroyed", targetId="Q")
    assert fold.shown().page_gone == ("Q", "closed")
    assert fold.shown().focus is None
    fold.ask(Focus())
    assert (fold.shown().page_gone, fold.shown().focus) == (None, "P")


# ── cures ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def cured(fold: Any, cure: str, target: str = "P") -> int:
    return fold.ask(Recover(target_id=target, cure=cure))


@pytest.mark.parametrize(
    ("cure", "method", "session", "params"),
    [
        ("close", "Target.closeTarget", None, {"targetId": "P"}),
        ("reload", "Page.reload", "s-P", {}),
        ("navigate", NAVIGATE, "s-P", {"url": "http://a/"}),
    ],
)
def test_a_cure_is_sent_and_told_of_when_it_is_done(cure: str, method: str, session: str | None, params: Any) -> None:
    fold = folding.on_a_page()
    ask = cured(fold, cure)
    assert (fold.sent(method).session_id, fold.sent(method).params) == (session, params)
    assert ask not in fold.answers
    fold.reply(method)
    assert fold.answers[ask].error is None
    assert "a cure is unanswered" not in fold.because()


def test_the_gentlest_cure_stays_in_the_document_and_differs_each_time() -> None:
    """Fact 5: a fragment that is there already would end nothing."""
    fold = folding.on_a_page()
    cured(fold, "same_document")
    cured(fold, "same_document")
    first, second = (each.params["url"] for each in fold.all_sent(NAVIGATE))
    assert first.partition("#")[0] == second.partition("#")[0] == "http://a/"
    assert first != second
    assert "#" in first


def test_a_dialog_that_a_cure_ends_has_ended_by_navigation() -> None:
    fold = on_a_page()
    fold.opening()
    cured(fold, "same_document")
    fold.closing()
    assert fold.end_of("d-1") == ("remote", "navigation")


def test_a_page_without_a_url_is_navigated_to_an_empty_one() -> None:
    fold = folding.Fold().up()
    fold.attach("P")
    cured(fold, "navigate")
    assert fold.sent(NAVIGATE).params == {"url": "about:blank"}


def test_a_cure_that_is_none_or_of_no_page_or_by_who_only_looks_is_refused() -> None:
    fold = on_a_page()
    assert "same_document" in str(error(fold, cured(fold, "odd")))
    assert isinstance(error(fold, cured(fold, "close", "X")), UnknownTarget)
    observing = on_a_page(scope=Scope.browser().observed())
    assert "observes" in str(error(observing, cured(observing, "close")))


@pytest.mark.parametrize("cure", ["same_document", "navigate", "reload"])
def test_under_a_dialog_without_a_window_that_can_be_answered_only_closing_is_a_cure(cure: str) -> None:
    """A navigation there freezes the page for good, or ends the browser."""
    fold = on_a_page()
    fold.opening(native=False)
    before = fold.state.last_ticket
    assert isinstance(error(fold, cured(fold, cure)), BlockedByDialog)
    assert fold.state.last_ticket == before
    cured(fold, "close")
    assert fold.sent("Target.closeTarget").params == {"targetId": "P"}


def test_a_page_without_a_session_can_only_be_closed() -> None:
    fold = on_a_page()
    fold.detach("s-P")
    assert isinstance(error(fold, cured(fold, "reload")), ConnectionLost)
    cured(fold, "close")
    assert fold.sent("Target.closeTarget").params == {"targetId": "P"}
    fold.down()
    assert isinstance(error(fold, cured(fold, "close")), ConnectionLost)


def test_a_refused_cure_says_so() -> None:
    fold = on_a_page()
    ask = cured(fold, "reload")
    fold.refuse("Page.reload")
    assert isinstance(error(fold, ask), CommandRefused)


def test_a_cure_without_an_answer_ends_in_its_time() -> None:
    fold = on_a_page()
    ask = cured(fold, "close")
    fold.passes(5.0)
    assert isinstance(error(fold, ask), CallTimedOut)
    assert error(fold, ask).health.state == "ok"
    assert Forget(ticket=fold.sent("Target.closeTarget").ticket) in fold.last
    gone = on_a_page()
    ask = cured(gone, "close")
    gone.says("Target.targetDestroyed", targetId="P").passes(5.0)
    assert error(gone, ask).health is None


def test_the_time_of_a_cure_that_has_ended_means_nothing() -> None:
    fold = on_a_page()
    turn = Turn(fold.state, fold.at)
    calls.cure_due(turn, "99")
    assert not turn.effects


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("result", "value"),
    [
        ({"result": {"type": "number", "value": 7}}, 7),
        ({"result": {"type": "object", "value": None}}, None),
        ({"result": {"type": "bigint", "unserializableValue": "7n"}}, "7n"),
        ({}, None),
    ],
    ids=str,
)
def test_a_value_is_read_from_an_evaluation(result: Any, value: Any) -> None:
    assert calls.read_evaluation(result) == value


@pytest.mark.parametrize(
    ("details", "read"),
    [
        (
            {
                "exception": {"className": "TypeError", "description": "TypeError: x"},
                "lineNumber": 2,
                "columnNumber": 3,
            },
            ("TypeError", "TypeError: x", 2, 3),
        ),
        ({"exception": {"type": "string"}, "text": "Uncaught"}, ("string", "Uncaught", 0, 0)),
        ({"lineNumber": "odd"}, ("an exception", "", 0, 0)),
    ],
    ids=["error", "thrown text", "nothing said"],
)
def test_a_script_that_threw_is_an_error_with_what_it_threw(details: Any, read: tuple[Any, ...]) -> None:
    with pytest.raises(ScriptFailed) as caught:
        calls.read_evaluation({"exceptionDetails": details})
    failed = caught.value
    assert (failed.name, failed.text, failed.line, failed.column) == read


def test_a_result_that_cannot_be_read_is_an_empty_one_where_nobody_asks() -> None:
    """The list of targets, a tree: as if nothing was said."""
    fold = folding.Fold().up()
    fold.ends(fold.sent("Target.getTargets").ticket, decode(b'{"id":1,"result":7}'))
    assert fold.state.link.listed
