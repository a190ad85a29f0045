"""Load states of frames, navigations in flight, and named worlds, as the snapshot shows them."""

from __future__ import annotations

from typing import Any

import pytest

from cdp_core.sansio.load_state import EVENTS, LoadState
from cdp_supervisor.sansio.frames import MOST_WORLDS
from cdp_supervisor.sansio.options import Limits
from support import folded_machine
from support.folded_machine import call, error_of, on_a_page, with_tree


def frame_of(fold: Any, frame: str = "P") -> Any:
    return next(each for each in fold.shown().page("P").frames() if each.frame_id == frame)


def load_of(fold: Any, frame: str = "P") -> LoadState:
    load: LoadState = frame_of(fold, frame).load
    return load


def starts(
    fold: Any, frame: str = "P", *, loader: str = "new", kind: str = "differentDocument", on: str = "s-P"
) -> None:
    fold.event("Page.frameStartedNavigating", on=on, frameId=frame, loaderId=loader, navigationType=kind)


def commits(fold: Any, frame: str = "P", *, loader: str = "new", on: str = "s-P", type: str = "Navigation") -> None:
    fold.event(
        "Page.frameNavigated", on=on, frame={"id": frame, "loaderId": loader, "url": "https://x.example/"}, type=type
    )


def created(fold: Any, frame: str, context: str, world: str = "", *, on: str = "s-P") -> None:
    about = {"frameId": frame, "isDefault": not world}
    fold.event("Runtime.executionContextCreated", on=on, context={"uniqueId": context, "name": world, "auxData": about})


# ── load states ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_document_loads_step_by_step() -> None:
    fold = with_tree()
    assert load_of(fold).phase == "unknown"
    found = []
    starts(fold)
    commits(fold)
    found.append(load_of(fold).phase)
    for method in ("Page.domContentEventFired", "Page.loadEventFired"):
        fold.event(method, on="s-P", timestamp=1.0)
        found.append(load_of(fold).phase)
    assert found == ["loading", "interactive", "complete"]
    assert fold.shown().page("P").to_dict()["frame_tree"]["top"]["load_state"] == "complete"


def test_the_end_of_loading_completes_a_frame_of_its_parents_process() -> None:
    fold = with_tree("A")
    fold.event("Page.frameStoppedLoading", on="s-P", frameId="A")
    assert (load_of(fold, "A").phase, load_of(fold).phase) == ("complete", "unknown")


def test_the_network_is_idle_only_for_the_present_document() -> None:
    fold = with_tree()
    commits(fold, loader="b")
    fold.event("Page.lifecycleEvent", on="s-P", frameId="P", loaderId="a", name="networkIdle")
    assert not load_of(fold).network_idle
    fold.event("Page.lifecycleEvent", on="s-P", frameId="P", loaderId="b", name="networkIdle")
    assert load_of(fold).network_idle


def test_events_about_loading_of_another_session_are_stale() -> None:
    fold = with_tree("A")
    fold.attach("A", "iframe", of="s-P", parentFrameId="P")
    fold.event("Page.frameStoppedLoading", on="s-P", frameId="A")
    assert load_of(fold, "A").phase == "unknown"
    fold.event("Page.loadEventFired", on="s-A", timestamp=1.0)
    assert (load_of(fold, "A").phase, load_of(fold).phase) == ("complete", "unknown")


@pytest.mark.parametrize("method", EVENTS)
@pytest.mark.parametrize("session", ["s-P", "s-unknown", None])
def test_an_event_about_loading_with_odd_params_changes_nothing(method: str, session: str | None) -> None:
    fold = with_tree()
    before = load_of(fold)
    fold.event(method, on=session, frameId="nowhere", loaderId=5, navigationType=[], name=None)
    assert load_of(fold) == before


def test_the_document_of_the_tree_is_unknown_to_a_late_comer() -> None:
    fold = on_a_page()
    fold.reply("Page.getFrameTree", {"frameTree": {"frame": {"id": "P", "loaderId": "l", "url": "https://x.example/"}}})
    assert load_of(fold) == LoadState(loader="l")


# ── a navigation in flight ───────────────────────────────────────────────────────────────────────────────────────────


def test_a_page_that_navigates_is_shown_so_with_its_start() -> None:
    fold = with_tree()
    fold.passes(2.0)
    starts(fold)
    health = fold.shown().page("P").health
    assert (health.state, health.since) == ("navigating", fold.at.wall)
    assert "a navigation of it is in flight" in health.why
    commits(fold)
    assert fold.health() == "ok"


@pytest.mark.parametrize("end", ["stopped", "crashed", "session"])
def test_a_navigation_ends_without_a_document(end: str) -> None:
    fold = with_tree()
    starts(fold)
    assert fold.health() == "navigating"
    if end == "stopped":
        fold.event("Page.frameStoppedLoading", on="s-P", frameId="P")
        assert fold.health() == "ok"
    elif end == "crashed":
        fold.event("Inspector.targetCrashed", on="s-P")
        assert fold.health() == "crashed"
        fold.event("Inspector.targetReloadedAfterCrash", on="s-P")
        assert fold.health() == "ok"
    else:
        fold.detach("s-P")
        fold.attach("P", session="again")
        assert fold.health() == "ok"


@pytest.mark.parametrize("kind", ["sameDocument", "historySameDocument"])
def test_a_navigation_within_the_document_silences_nothing(kind: str) -> None:
    fold = with_tree()
    starts(fold, kind=kind)
    assert fold.health() == "ok"


def test_the_navigation_of_a_child_frame_silences_nothing() -> None:
    fold = with_tree("A")
    starts(fold, "A")
    assert (fold.health(), load_of(fold, "A").navigating_to) == ("ok", "new")


def test_the_navigation_of_a_page_whose_tree_is_not_read_yet_is_known() -> None:
    """The renderer of a popup with a slow server does not answer the request for its tree."""
    fold = on_a_page()
    starts(fold)
    assert fold.health() == "navigating"
    assert fold.shown().page("P").tree is None
    fold.passes(60.0)
    assert fold.health() == "navigating"
    commits(fold)
    assert fold.health() == "ok"
    fold.passes(60.0)
    assert fold.health() == "blocked"


def test_a_navigation_that_began_before_the_tree_was_read_is_that_of_the_top_frame() -> None:
    fold = on_a_page()
    starts(fold)
    tree = {"frame": {"id": "P", "loaderId": "old"}, "childFrames": [{"frame": {"id": "A", "loaderId": "a"}}]}
    fold.reply("Page.getFrameTree", {"frameTree": tree})
    assert (load_of(fold).navigating_to, load_of(fold, "A").navigating_to) == ("new", "")


def test_the_tree_shows_that_a_navigation_is_over_whose_end_was_missed() -> None:
    fold = on_a_page()
    starts(fold, loader="l")
    fold.reply("Page.getFrameTree", {"frameTree": {"frame": {"id": "P", "loaderId": "l", "url": "https://x.example/"}}})
    assert fold.health() == "ok"


def test_a_timeout_during_a_navigation_names_it_and_not_a_script() -> None:
    fold = with_tree()
    starts(fold)
    request = call(fold, timeout=4.0)
    fold.passes(5.0)
    error = error_of(fold, request)
    assert error.health.state == "navigating"
    assert "a navigation of it is in flight: it answers when the new document is there" in str(error)
    commits(fold)
    assert fold.health() == "ok"


# ── worlds ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_snapshot_names_the_contexts_of_a_frame_by_their_worlds() -> None:
    fold = with_tree("A")
    created(fold, "A", "1.1")
    created(fold, "A", "1.2", "tools")
    created(fold, "A", "1.3", "other")
    assert frame_of(fold, "A").contexts == {"": "1.1", "tools": "1.2", "other": "1.3"}
    created(fold, "A", "1.4", "tools")
    fold.event("Runtime.executionContextDestroyed", on="s-P", executionContextUniqueId="1.3")
    assert frame_of(fold, "A").contexts == {"": "1.1", "tools": "1.4"}
    fold.event("Runtime.executionContextsCleared", on="s-P")
    assert frame_of(fold, "A").contexts == {}


def test_worlds_that_are_reported_before_their_frame_are_known_with_it() -> None:
    fold = with_tree()
    created(fold, "A", "1.1")
    created(fold, "A", "1.2", "tools")
    fold.event("Page.frameAttached", on="s-P", frameId="A", parentFrameId="P")
    assert frame_of(fold, "A").contexts == {"": "1.1", "tools": "1.2"}
    assert not fold.page().early_contexts
    fold.event("Page.frameDetached", on="s-P", frameId="A", reason="remove")
    assert not fold.page().contexts


def test_an_isolated_world_without_a_name_is_not_kept() -> None:
    fold = with_tree()
    about = {"frameId": "P", "isDefault": False}
    fold.event("Runtime.executionContextCreated", on="s-P", context={"uniqueId": "1.1", "name": "", "auxData": about})
    assert not fold.page().contexts


def test_the_worlds_of_a_frame_are_limited() -> None:
    fold = with_tree()
    for number in range(MOST_WORLDS + 10):
        created(fold, "P", f"1.{number}", f"world {number}")
    assert len(frame_of(fold).contexts) == MOST_WORLDS == len(fold.page().contexts)
    created(fold, "P", "2.1", "world 0")
    assert frame_of(fold).contexts["world 0"] == "2.1"
    created(fold, "P", "3.1")
    assert frame_of(fold).contexts[""] == "3.1"


def test_worlds_that_have_ended_make_room() -> None:
    fold = with_tree()
    for number in range(2 * MOST_WORLDS):
        created(fold, "P", f"1.{number}", f"world {number}")
        fold.event("Runtime.executionContextDestroyed", on="s-P", executionContextUniqueId=f"1.{number}")
    created(fold, "P", "2.1", "last")
    assert frame_of(fold).contexts == {"last": "2.1"}


def test_after_a_reconnect_only_complete_documents_are_known_to_be_so() -> None:
    fold = with_tree("A", "B")
    fold.event("Page.frameStoppedLoading", on="s-P", frameId="A")
    fold.event("Page.domContentEventFired", on="s-P", timestamp=1.0)
    starts(fold)
    fold.down()
    fold.passes(60.0)
    fold.up()
    fold.attach("P")
    assert (load_of(fold).phase, load_of(fold, "A").phase, load_of(fold, "B").phase) == (
        "unknown",
        "complete",
        "unknown",
    )
    assert load_of(fold).navigating_to == ""


def test_frames_that_no_event_has_reported_are_limited_with_their_worlds() -> None:
    fold = folded_machine.with_tree(limits=Limits(frames_kept=2))
    for frame in ("A", "B", "C"):
        created(fold, frame, f"1.{frame}")
        created(fold, frame, f"2.{frame}", "tools")
    assert {*fold.page().early_contexts} == {"A", "B"}
    assert {*fold.page().contexts} == {"1.A", "2.A", "1.B", "2.B"}


def test_the_address_of_a_navigation_in_flight_is_known_until_it_ends() -> None:
    fold = folded_machine.with_tree()
    for reason, url, post in (("formSubmissionPost", "http://a/post", True), ("anchorClick", "http://a/link", False)):
        fold.event("Page.frameRequestedNavigation", on="s-P", frameId="P", reason=reason, url=url)
        fold.event("Page.frameRequestedNavigation", on="s-P", frameId="F", reason="formSubmissionPost", url="http://f/")
        kind = "differentDocument"
        fold.event("Page.frameStartedNavigating", on="s-P", frameId="P", loaderId="l", navigationType=kind, url=url)
        assert (fold.page().pending_url, fold.page().pending_post) == (url, post)
        assert fold.shown().pages[0].pending_url == url
        fold.event("Page.frameStoppedLoading", on="s-P", frameId="P")
        assert (fold.page().pending_url, fold.page().pending_post) == ("", False)
