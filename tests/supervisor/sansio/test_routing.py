"""Where a call goes, and what stops it before it is sent."""

from __future__ import annotations

from typing import Any

import pytest

from cdp_core.errors import ConnectionLost, InvalidArgument, TargetCrashed
from cdp_supervisor.errors import (
    AmbiguousTarget,
    BlockedByDialog,
    FrameSharesProcess,
    PageFrozen,
    UnknownFrame,
    UnknownTarget,
)
from cdp_supervisor.sansio.requests import Focus
from cdp_supervisor.sansio.routing import session_of
from support import folded_machine

EVAL, NAVIGATE = "Runtime.evaluate", "Page.navigate"
called, error = folded_machine.called, folded_machine.error


def on_a_page(**options: Any) -> Any:
    return folded_machine.with_tree(**options)


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
    fold = folded_machine.with_tree("F")
    fold.attach("F", "iframe", of="s-P")
    called(fold, "DOM.enable", frame_id="F")
    assert fold.sent("DOM.enable").session_id == "s-F"


def test_the_top_frame_is_reached_as_its_page() -> None:
    fold = on_a_page()
    called(fold, "DOM.enable", frame_id="P")
    assert fold.sent("DOM.enable").session_id == "s-P"


def test_a_frame_that_shares_its_process_takes_what_takes_a_context() -> None:
    fold = folded_machine.with_tree("A")
    hint = error(fold, called(fold, "DOM.enable", frame_id="A"))
    assert isinstance(hint, FrameSharesProcess)
    assert "contentDocument" in hint.hint
    context = {"uniqueId": "1.1", "auxData": {"frameId": "A", "isDefault": True}}
    fold.says("Runtime.executionContextCreated", on="s-P", context=context)
    called(fold, frame_id="A", params={"expression": "1"})
    assert fold.sent(EVAL).params == {"uniqueContextId": "1.1", "expression": "1"}
    called(fold, frame_id="A")
    assert fold.sent(EVAL).params == {"uniqueContextId": "1.1"}
    called(fold, frame_id="A", params={"uniqueContextId": "mine"})
    assert fold.sent(EVAL).params == {"uniqueContextId": "mine"}


def test_an_unknown_frame_is_refused_with_those_that_are() -> None:
    fold = folded_machine.with_tree("A")
    wrong = error(fold, called(fold, frame_id="X"))
    assert isinstance(wrong, UnknownFrame)
    assert set(wrong.known) == {"P", "A"}


def test_a_frame_without_a_session_now_and_a_page_without_one_say_so() -> None:
    fold = folded_machine.with_tree("F")
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
        {"timeout": 10**400},
        {"method": "Page.handleJavaScriptDialog", "params": {"accept": True}},
        {"target_id": "P", "frame_id": "P"},
    ],
    ids=lambda named: str(named)[:40],
)
def test_a_call_that_makes_no_sense_is_refused_and_not_sent(named: dict[str, Any]) -> None:
    fold = on_a_page()
    before = fold.state.last_ticket
    assert isinstance(error(fold, called(fold, **named)), InvalidArgument)
    assert fold.state.last_ticket == before


def test_an_answer_to_a_dialog_is_not_called_and_who_tries_is_told_how() -> None:
    """Else nobody knows whose answer the dialog got."""
    fold = on_a_page()
    fold.opening()
    wrong = error(fold, called(fold, "Page.handleJavaScriptDialog", params={"accept": True}))
    assert isinstance(wrong, InvalidArgument)
    assert "respond_to_dialog" in str(wrong)
    assert not fold.all_sent("Page.handleJavaScriptDialog")


def test_a_time_that_is_none_is_shown_and_not_all_of_it() -> None:
    """A number of four hundred digits is no error message."""
    fold = on_a_page()
    assert "not -1" in str(error(fold, called(fold, timeout=-1)))
    assert len(str(error(fold, called(fold, timeout=10**400)))) < 200


def test_who_has_a_session_of_its_own_is_found_for_typed_commands() -> None:
    """`session_of` raises what `call` does."""
    fold = folded_machine.with_tree("A", "F")
    fold.attach("F", "iframe", of="s-P")
    assert session_of(fold.state, target_id="P", frame_id=None) == "s-P"
    assert session_of(fold.state, target_id=None, frame_id="F") == "s-F"
    with pytest.raises(FrameSharesProcess):
        session_of(fold.state, target_id=None, frame_id="A")


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
    fold = folded_machine.with_tree("F")
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
    fold = folded_machine.on_a_page()
    fold.passes(3.0)
    wrong = error(fold, called(fold))
    assert isinstance(wrong, PageFrozen)
    assert (wrong.target_id, wrong.since) == ("P", folded_machine.WALL + 3.0)
    called(fold, when_blocked="wait")
    assert len(fold.all_sent(EVAL)) == 1


def test_a_frame_s_process_that_is_silent_is_not_called_and_its_page_is() -> None:
    fold = folded_machine.with_tree("F")
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


def test_a_navigation_stops_for_no_other_process_nor_what_is_stuck() -> None:
    elsewhere = folded_machine.with_tree("F")
    elsewhere.attach("F", "iframe", of="s-P")
    elsewhere.opening("F", native=False)
    called(elsewhere, NAVIGATE)
    stuck = on_a_page()
    stuck.opening(native=False)
    stuck.respond()
    stuck.refuse("Page.handleJavaScriptDialog")
    called(stuck, NAVIGATE)
    assert [len(each.all_sent(NAVIGATE)) for each in (elsewhere, stuck)] == [1, 1]


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize(
    ("method", "stopped"),
    [(NAVIGATE, True), ("Page.navigateToHistoryEntry", True), ("Page.reload", False), ("Page.close", False)],
)
def test_a_second_navigation_does_not_wait_behind_the_question_whether_to_leave(
    method: str, stopped: bool, native: bool
) -> None:
    """Fact 21: it is not answered before that question is; a reload is, at once."""
    fold = on_a_page()
    fold.opening(native=native, type="beforeunload")
    ask = called(fold, method)
    assert (fold.error(ask) == "BlockedByDialog") is stopped
    assert len(fold.all_sent(method)) == (0 if stopped else 1)
    if stopped:
        assert error(fold, ask).dialogs == ("d-1",)


def test_a_question_whether_to_leave_that_is_being_answered_stops_no_navigation() -> None:
    fold = on_a_page()
    fold.opening(type="beforeunload")
    fold.respond()
    called(fold, NAVIGATE)
    assert len(fold.all_sent(NAVIGATE)) == 1


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


@pytest.mark.parametrize("url", ["about:blank", "http://a/"])
def test_a_dialog_stops_every_session_of_its_page(url: str) -> None:
    fold = folded_machine.Fold().up()
    fold.attach("P", url=url)
    fold.reply("Page.getFrameTree", {"frameTree": {"frame": {"id": "P", "url": url}}}, on="s-P")
    fold.attach("P", session="s-2")
    fold.opening(native=False)
    for method in ("Runtime.evaluate", "Page.navigate"):
        ask = called(fold, method, session_id="s-2")
        assert isinstance(error(fold, ask), BlockedByDialog)


# ── frames of one site ───────────────────────────────────────────────────────────────────────────────────────────────


def two_frames(one: str, other: str) -> Any:
    """Two frames out of process, `F` and `G`, on these addresses; a dialog of the first is open."""
    fold = folded_machine.with_tree("F", "G")
    for frame, url in (("F", one), ("G", other)):
        fold.attach(frame, "iframe", of="s-P", parentFrameId="P", url=url)
    fold.opening("F")
    return fold


@pytest.mark.parametrize(
    ("one", "other", "stopped"),
    [
        ("http://a.example/1", "http://b.a.example:8080/2", True),
        ("http://a.example/", "https://a.example/", False),
        ("http://a.example/", "http://b.test/", False),
        ("about:blank", "about:blank", False),
        ("http://127.0.0.1:1/", "http://127.0.0.1:2/", True),
        ("http://127.0.0.1/", "http://126.0.0.1/", False),
    ],
)
def test_a_dialog_stops_the_frames_of_its_site(one: str, other: str, stopped: bool) -> None:
    """They share a process (fact 16)."""
    fold = two_frames(one, other)
    ask = called(fold, frame_id="G")
    assert (fold.error(ask) == "BlockedByDialog") is stopped
    assert len(fold.all_sent(EVAL, on="s-G")) == (0 if stopped else 1)


def test_a_dialog_of_a_frame_whose_session_is_gone_stops_what_is_unknown_to_share_nothing() -> None:
    fold = two_frames("http://a.example/", "http://a.example/")
    fold.detach("s-F", "parent_ended")
    called(fold, frame_id="G")
    assert len(fold.all_sent(EVAL, on="s-G")) == 1


def test_a_worker_shows_no_document_and_so_shares_no_site() -> None:
    fold = on_a_page()
    fold.attach("W", "worker", of="s-P")
    fold.opening()
    called(fold, session_id="s-W")
    assert len(fold.all_sent(EVAL, on="s-W")) == 1


# ── what crashed ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("when_blocked", ["raise", "wait"])
def test_a_page_that_crashed_answers_nothing_and_is_told_of_at_once(when_blocked: str) -> None:
    """Fact 49: nothing is answered before it is loaded again."""
    fold = on_a_page()
    fold.says("Inspector.targetCrashed", on="s-P")
    wrong = error(fold, called(fold, when_blocked=when_blocked))
    assert isinstance(wrong, TargetCrashed)
    assert (wrong.target_id, wrong.session_id, wrong.reason) == ("P", "s-P", "crashed")
    assert "reload or navigate it first" in str(wrong)
    assert not fold.all_sent(EVAL)


@pytest.mark.parametrize("method", [NAVIGATE, "Page.reload", "Page.navigateToHistoryEntry", "Page.close"])
def test_a_page_that_crashed_is_navigated_all_the_same(method: str) -> None:
    fold = on_a_page()
    fold.says("Inspector.targetCrashed", on="s-P")
    called(fold, method)
    assert len(fold.all_sent(method)) == 1


def test_a_page_that_was_loaded_again_is_called_again() -> None:
    fold = on_a_page()
    fold.says("Inspector.targetCrashed", on="s-P")
    fold.says("Inspector.targetReloadedAfterCrash", on="s-P")
    called(fold)
    assert len(fold.all_sent(EVAL)) == 1


def test_frames_of_other_processes_outlive_the_crash_of_the_page_s() -> None:
    fold = folded_machine.with_tree("F")
    fold.attach("F", "iframe", of="s-P")
    fold.says("Inspector.targetCrashed", on="s-P")
    called(fold, frame_id="F")
    assert len(fold.all_sent(EVAL, on="s-F")) == 1
