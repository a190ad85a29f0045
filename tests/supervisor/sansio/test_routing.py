"""Routing: on which session a call is sent, and what prevents sending it."""

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
    WouldEndBrowser,
)
from cdp_supervisor.sansio.requests import Focus
from cdp_supervisor.sansio.routing import session_of
from support import folded_machine

EVAL, NAVIGATE = "Runtime.evaluate", "Page.navigate"
call, error_of = folded_machine.call, folded_machine.error_of


def on_a_page(**options: Any) -> Any:
    return folded_machine.with_tree(**options)


# ── routes ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_call_goes_to_the_only_page_and_its_result_comes_back() -> None:
    fold = on_a_page()
    request_id = call(fold, params={"expression": "1"})
    assert (fold.sent(EVAL).session_id, fold.sent(EVAL).params) == ("s-P", {"expression": "1"})
    fold.reply(EVAL, {"result": {"value": 1}})
    assert fold.answers[request_id].value == {"result": {"value": 1}}
    assert not fold.state.calls


def test_of_two_pages_one_must_be_named_or_focused() -> None:
    fold = on_a_page()
    fold.attach("Q")
    assert error_of(fold, call(fold)).candidates == ("P", "Q")
    assert isinstance(error_of(fold, 1), AmbiguousTarget)
    call(fold, target_id="Q")
    assert fold.sent(EVAL).session_id == "s-Q"
    fold.ask(Focus(target_id="P"))
    call(fold)
    assert fold.sent(EVAL).session_id == "s-P"


def test_a_browser_method_goes_to_the_root_session() -> None:
    fold = on_a_page()
    call(fold, "Browser.getVersion")
    assert fold.sent("Browser.getVersion").session_id is None
    call(fold, "Target.getTargetInfo", target_id="P")
    assert fold.sent("Target.getTargetInfo").session_id == "s-P"


def test_a_named_session_is_used() -> None:
    fold = on_a_page()
    fold.attach("W", "worker", of="s-P")
    call(fold, session_id="s-W")
    assert fold.sent(EVAL).session_id == "s-W"
    error = error_of(fold, call(fold, session_id="s-X"))
    assert isinstance(error, UnknownTarget)
    assert set(error.known) == {"s-P", "s-W"}


def test_a_target_that_is_not_a_page_is_reached_by_its_session() -> None:
    fold = on_a_page()
    fold.attach("W", "service_worker")
    call(fold, target_id="W")
    assert fold.sent(EVAL).session_id == "s-W"
    error = error_of(fold, call(fold, target_id="X"))
    assert isinstance(error, UnknownTarget)
    assert error.known == ("P",)


def test_a_frame_with_a_session_of_its_own_takes_every_method() -> None:
    fold = folded_machine.with_tree("F")
    fold.attach("F", "iframe", of="s-P")
    call(fold, "DOM.enable", frame_id="F")
    assert fold.sent("DOM.enable").session_id == "s-F"


def test_the_top_frame_is_reached_by_the_session_of_its_page() -> None:
    fold = on_a_page()
    call(fold, "DOM.enable", frame_id="P")
    assert fold.sent("DOM.enable").session_id == "s-P"


def test_a_frame_that_shares_its_process_takes_only_methods_that_take_a_context() -> None:
    fold = folded_machine.with_tree("A")
    hint = error_of(fold, call(fold, "DOM.enable", frame_id="A"))
    assert isinstance(hint, FrameSharesProcess)
    assert "contentDocument" in hint.hint
    context = {"uniqueId": "1.1", "auxData": {"frameId": "A", "isDefault": True}}
    fold.event("Runtime.executionContextCreated", on="s-P", context=context)
    call(fold, frame_id="A", params={"expression": "1"})
    assert fold.sent(EVAL).params == {"uniqueContextId": "1.1", "expression": "1"}
    call(fold, frame_id="A")
    assert fold.sent(EVAL).params == {"uniqueContextId": "1.1"}
    call(fold, frame_id="A", params={"uniqueContextId": "mine"})
    assert fold.sent(EVAL).params == {"uniqueContextId": "mine"}


def test_an_unknown_frame_is_refused_with_the_known_ones() -> None:
    fold = folded_machine.with_tree("A")
    error = error_of(fold, call(fold, frame_id="X"))
    assert isinstance(error, UnknownFrame)
    assert set(error.known) == {"P", "A"}


def test_a_call_to_a_frame_or_a_page_waits_for_its_session() -> None:
    fold = folded_machine.with_tree("F")
    fold.event("Page.frameDetached", on="s-P", frameId="F", reason="swap")
    to_frame = call(fold, frame_id="F")
    assert to_frame not in fold.answers
    fold.attach("F", "iframe", of="s-P", parentFrameId="P")
    assert len(fold.all_sent(EVAL, on="s-F")) == 1
    fold.detach("s-P")
    to_page = call(fold, target_id="P")
    assert to_page not in fold.answers
    fold.attach("P", session="s-P2")
    assert len(fold.all_sent(EVAL, on="s-P2")) == 1


def test_a_call_to_a_page_that_gets_no_session_times_out_and_says_so() -> None:
    fold = on_a_page()
    fold.detach("s-P")
    request_id = call(fold, target_id="P", timeout=3.0)
    fold.passes(3.0)
    assert "its session ended, and no other is open yet" in str(error_of(fold, request_id))
    with pytest.raises(ConnectionLost, match="has no session now"):
        session_of(fold.state, target_id="P", frame_id=None)


def test_without_a_link_nothing_is_sent() -> None:
    fold = on_a_page()
    fold.down(reason="cut")
    error = error_of(fold, call(fold))
    assert isinstance(error, ConnectionLost)
    assert error.reason == "cut"
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
def test_an_invalid_call_is_refused_and_not_sent(named: dict[str, Any]) -> None:
    fold = on_a_page()
    before = fold.state.last_ticket
    assert isinstance(error_of(fold, call(fold, **named)), InvalidArgument)
    assert fold.state.last_ticket == before


def test_a_call_cannot_answer_a_dialog_and_its_error_names_respond_to_dialog() -> None:
    """Else the origin of the dialog's end would be unknown."""
    fold = on_a_page()
    fold.opening()
    error = error_of(fold, call(fold, "Page.handleJavaScriptDialog", params={"accept": True}))
    assert isinstance(error, InvalidArgument)
    assert "respond_to_dialog" in str(error)
    assert not fold.all_sent("Page.handleJavaScriptDialog")


def test_an_invalid_timeout_is_shown_and_cut_in_the_error() -> None:
    """A number of four hundred digits must not fill the error text."""
    fold = on_a_page()
    assert "not -1" in str(error_of(fold, call(fold, timeout=-1)))
    assert len(str(error_of(fold, call(fold, timeout=10**400)))) < 200


def test_session_of_finds_the_session_of_a_page_or_an_out_of_process_frame() -> None:
    """`session_of` raises the same errors as `call`."""
    fold = folded_machine.with_tree("A", "F")
    fold.attach("F", "iframe", of="s-P")
    assert session_of(fold.state, target_id="P", frame_id=None) == "s-P"
    assert session_of(fold.state, target_id=None, frame_id="F") == "s-F"
    with pytest.raises(FrameSharesProcess):
        session_of(fold.state, target_id=None, frame_id="A")


# ── blocked calls ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_call_is_not_sent_while_a_dialog_is_open() -> None:
    fold = on_a_page()
    fold.opening()
    error = error_of(fold, call(fold))
    assert isinstance(error, BlockedByDialog)
    assert (error.dialogs, error.call) == (("d-1",), None)
    assert not fold.all_sent(EVAL)


@pytest.mark.parametrize("method", ["Page.bringToFront", "Input.dispatchKeyEvent", "Page.reload"])
def test_a_method_that_the_browser_itself_answers_is_sent_during_a_dialog(method: str) -> None:
    """Fact 15."""
    fold = on_a_page()
    fold.opening()
    call(fold, method)
    assert fold.sent(method).session_id == "s-P"


def test_a_call_that_waits_is_sent_during_a_dialog() -> None:
    fold = on_a_page()
    fold.opening()
    request_id = call(fold, when_blocked="wait")
    assert request_id not in fold.answers
    assert len(fold.all_sent(EVAL)) == 1


def test_a_dialog_blocks_only_its_process() -> None:
    fold = folded_machine.with_tree("F")
    fold.attach("F", "iframe", of="s-P")
    fold.opening("F")
    call(fold)
    assert fold.sent(EVAL).session_id == "s-P"
    assert isinstance(error_of(fold, call(fold, frame_id="F")), BlockedByDialog)


def test_a_closed_dialog_blocks_no_call() -> None:
    fold = on_a_page()
    fold.opening()
    fold.respond()
    fold.closing(result=True)
    call(fold)
    assert len(fold.all_sent(EVAL)) == 1


def test_a_call_to_a_blocked_page_is_not_sent() -> None:
    fold = folded_machine.on_a_page()
    fold.passes(3.0)
    error = error_of(fold, call(fold))
    assert isinstance(error, PageFrozen)
    assert (error.target_id, error.since) == ("P", folded_machine.WALL)
    call(fold, when_blocked="wait")
    assert len(fold.all_sent(EVAL)) == 1


def test_a_call_to_a_blocked_frame_is_not_sent_and_one_to_its_page_is() -> None:
    fold = folded_machine.with_tree("F")
    fold.attach("F", "iframe", of="s-P")
    fold.passes(3.0)
    assert isinstance(error_of(fold, call(fold, frame_id="F")), PageFrozen)
    call(fold)
    assert fold.sent(EVAL).session_id == "s-P"


def test_a_navigation_is_not_sent_during_a_dialog_without_a_window() -> None:
    """It would block the page for ever, or end the browser."""
    fold = on_a_page()
    fold.opening(native=False)
    assert isinstance(error_of(fold, call(fold, NAVIGATE)), BlockedByDialog)
    assert not fold.all_sent(NAVIGATE)


def test_a_dialog_of_another_process_or_an_unanswerable_one_blocks_no_navigation() -> None:
    elsewhere = folded_machine.with_tree("F")
    elsewhere.attach("F", "iframe", of="s-P")
    elsewhere.opening("F", native=False)
    call(elsewhere, NAVIGATE)
    unanswerable = on_a_page()
    unanswerable.opening(native=False)
    unanswerable.respond()
    unanswerable.refuse("Page.handleJavaScriptDialog")
    call(unanswerable, NAVIGATE)
    assert [len(each.all_sent(NAVIGATE)) for each in (elsewhere, unanswerable)] == [1, 1]


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize(
    ("method", "blocked"),
    [(NAVIGATE, True), ("Page.navigateToHistoryEntry", True), ("Page.reload", False), ("Page.close", False)],
)
def test_an_open_beforeunload_dialog_blocks_navigations_but_not_reload_or_close(
    method: str, blocked: bool, native: bool
) -> None:
    """Fact 21: the browser answers a navigation after the dialog, and a reload at once."""
    fold = on_a_page()
    fold.opening(native=native, type="beforeunload")
    request_id = call(fold, method)
    assert fold.error(request_id).endswith("BlockedByDialog") is blocked
    assert len(fold.all_sent(method)) == (0 if blocked else 1)
    if blocked:
        assert error_of(fold, request_id).dialogs == ("d-1",)


def test_a_beforeunload_dialog_that_is_being_answered_blocks_no_navigation() -> None:
    fold = on_a_page()
    fold.opening(type="beforeunload")
    fold.respond()
    call(fold, NAVIGATE)
    assert len(fold.all_sent(NAVIGATE)) == 1


def test_a_call_that_is_not_a_navigation_does_not_explain_a_closed_event() -> None:
    fold = on_a_page()
    fold.opening()
    call(fold, "Page.bringToFront")
    fold.closing()
    assert fold.end_of("d-1") == ("remote", "closed_elsewhere")


def test_a_navigation_is_sent_during_a_dialog_with_a_window_and_ends_it() -> None:
    fold = on_a_page()
    fold.opening()
    call(fold, NAVIGATE)
    fold.closing()
    assert fold.end_of("d-1") == ("remote", "navigation")


@pytest.mark.parametrize("url", ["about:blank", "http://a/"])
def test_a_dialog_blocks_every_session_of_its_page(url: str) -> None:
    fold = folded_machine.Fold().up()
    fold.attach("P", url=url)
    fold.reply("Page.getFrameTree", {"frameTree": {"frame": {"id": "P", "url": url}}}, on="s-P")
    fold.attach("P", session="s-2")
    fold.opening(native=False)
    for method in ("Runtime.evaluate", "Page.navigate"):
        request_id = call(fold, method, session_id="s-2")
        assert isinstance(error_of(fold, request_id), BlockedByDialog)


# ── frames of one site ────────────────────────────────────────────────────────────────────────────────────────────────


def two_frames(one: str, other: str) -> Any:
    """Return a fold with out-of-process frames F and G on these URLs, and an open dialog of F."""
    fold = folded_machine.with_tree("F", "G")
    for frame, url in (("F", one), ("G", other)):
        fold.attach(frame, "iframe", of="s-P", parentFrameId="P", url=url)
    fold.opening("F")
    return fold


@pytest.mark.parametrize(
    ("one", "other", "blocked"),
    [
        ("http://a.example/1", "http://b.a.example:8080/2", True),
        ("http://a.example/", "https://a.example/", False),
        ("http://a.example/", "http://b.test/", False),
        ("about:blank", "about:blank", False),
        ("http://127.0.0.1:1/", "http://127.0.0.1:2/", True),
        ("http://127.0.0.1/", "http://126.0.0.1/", False),
    ],
)
def test_a_dialog_blocks_the_frames_of_its_site(one: str, other: str, blocked: bool) -> None:
    """They share a process (fact 16)."""
    fold = two_frames(one, other)
    request_id = call(fold, frame_id="G")
    assert fold.error(request_id).endswith("BlockedByDialog") is blocked
    assert len(fold.all_sent(EVAL, on="s-G")) == (0 if blocked else 1)


def test_a_dialog_of_a_frame_without_a_session_blocks_no_other_frame() -> None:
    fold = two_frames("http://a.example/", "http://a.example/")
    fold.detach("s-F", "parent_ended")
    call(fold, frame_id="G")
    assert len(fold.all_sent(EVAL, on="s-G")) == 1


def test_a_worker_has_no_document_and_so_shares_no_site() -> None:
    fold = on_a_page()
    fold.attach("W", "worker", of="s-P")
    fold.opening()
    call(fold, session_id="s-W")
    assert len(fold.all_sent(EVAL, on="s-W")) == 1


# ── crashed pages ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("when_blocked", ["raise", "wait"])
def test_a_call_to_a_crashed_page_is_refused_at_once(when_blocked: str) -> None:
    """Fact 49: the page answers nothing before it is loaded again."""
    fold = on_a_page()
    fold.event("Inspector.targetCrashed", on="s-P")
    error = error_of(fold, call(fold, when_blocked=when_blocked))
    assert isinstance(error, TargetCrashed)
    assert (error.target_id, error.session_id, error.reason) == ("P", "s-P", "not_sent")
    assert "reload or navigate it first" in str(error)
    assert not fold.all_sent(EVAL)


def test_a_crashed_page_takes_what_the_browser_answers_and_nothing_that_ends_it() -> None:
    fold = on_a_page()
    fold.event("Inspector.targetCrashed", on="s-P")
    call(fold, "Page.getNavigationHistory")
    assert len(fold.all_sent("Page.getNavigationHistory")) == 1
    error = error_of(fold, call(fold, "Page.printToPDF"))
    assert isinstance(error, TargetCrashed)
    assert "would end the whole browser" in str(error)
    assert not fold.all_sent("Page.printToPDF")


@pytest.mark.parametrize("method", [NAVIGATE, "Page.reload", "Page.navigateToHistoryEntry", "Page.close"])
def test_a_crashed_page_can_be_navigated_reloaded_or_closed(method: str) -> None:
    fold = on_a_page()
    fold.event("Inspector.targetCrashed", on="s-P")
    call(fold, method)
    assert len(fold.all_sent(method)) == 1


def test_a_crashed_page_takes_calls_after_it_was_loaded_again() -> None:
    fold = on_a_page()
    fold.event("Inspector.targetCrashed", on="s-P")
    fold.event("Inspector.targetReloadedAfterCrash", on="s-P")
    call(fold)
    assert len(fold.all_sent(EVAL)) == 1


def test_frames_in_other_processes_outlive_the_crash_of_the_page() -> None:
    fold = folded_machine.with_tree("F")
    fold.attach("F", "iframe", of="s-P")
    fold.event("Inspector.targetCrashed", on="s-P")
    call(fold, frame_id="F")
    assert len(fold.all_sent(EVAL, on="s-F")) == 1


@pytest.mark.parametrize("timeout", [5.0, None])
def test_a_valid_timeout_is_accepted(timeout: Any) -> None:
    fold = on_a_page()
    call(fold, timeout=timeout)
    assert fold.sent(EVAL)


@pytest.mark.parametrize("force", [False, True])
def test_a_page_that_would_end_the_browser_is_not_navigated_unless_forced(force: bool) -> None:
    """Fact 63."""
    fold = folded_machine.with_tree()
    fold.attach("F", "iframe", of="s-P", parentFrameId="P")
    fold.opening("F")
    fold.event("Page.frameDetached", on="s-P", frameId="F", reason="remove")
    request_id = call(fold, NAVIGATE, force=force)
    if force:
        assert len(fold.all_sent(NAVIGATE)) == 1
    else:
        assert isinstance(error_of(fold, request_id), WouldEndBrowser)
        assert fold.count("commands_that_would_end_the_browser") == 1


def test_a_call_to_a_page_that_a_dialog_of_its_popup_stops_names_that_dialog() -> None:
    """Fact 16."""
    fold = folded_machine.on_a_page()
    fold.attach("Q", openerId="P")
    fold.event("Page.javascriptDialogOpening", on="s-Q", frameId="Q", type="confirm", hasBrowserHandler=True)
    fold.passes(3.0)
    error = error_of(fold, call(fold, target_id="P"))
    assert isinstance(error, BlockedByDialog)
    assert error.dialogs == ("d-1",)
