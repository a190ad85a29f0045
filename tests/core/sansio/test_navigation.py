"""One navigation: orders seen on Chromium, and a model that keeps every event."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cdp_core.sansio.load_state import EVENTS, REACHED
from cdp_core.sansio.navigation import REASONS, DocumentProgress, Navigation, NavigationProgress

URL = "https://shop.example/"
OURS, OTHER = "ours", "other"


def started(loader: str, kind: str = "differentDocument") -> Any:
    return "Page.frameStartedNavigating", {"frameId": "F", "loaderId": loader, "navigationType": kind}


def navigated(loader: str) -> Any:
    return "Page.frameNavigated", {"frame": {"id": "F", "loaderId": loader}}


def lifecycle(name: str, loader: str) -> Any:
    return "Page.lifecycleEvent", {"frameId": "F", "loaderId": loader, "name": name}


def responded(loader: str, status: Any, request: str | None = None) -> Any:
    params = {"frameId": "F", "requestId": request or loader, "loaderId": loader, "response": {"status": status}}
    return "Network.responseReceived", params


def replied(loader: str, **more: Any) -> Any:
    return "reply", {"frameId": "F", "loaderId": loader, **more}


STOPPED = ("Page.frameStoppedLoading", {"frameId": "F"})
LOADING = ("Page.frameStartedLoading", {"frameId": "F"})
LOADED = ("Page.loadEventFired", {"timestamp": 1.0})
ABORTED = replied(OURS, errorText="net::ERR_ABORTED")


def loads(loader: str) -> list[Any]:
    """The events of a document, from its commit on."""
    begin = [lifecycle("init", loader), navigated(loader), lifecycle("DOMContentLoaded", loader)]
    return [*begin, LOADED, lifecycle("load", loader), STOPPED]


def after(*inputs: Any, wait_until: str = "load") -> NavigationProgress:
    progress = NavigationProgress("F", wait_until, URL)
    for method, params in inputs:
        if method == "reply":
            progress.replied(params)
        else:
            progress.event(method, params, 1.0)
    return progress


# ── orders seen on Chromium ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("status", [200, 404, 500])
def test_a_document_loads_whatever_its_status(status: int) -> None:
    progress = after(started(OURS), LOADING, responded(OURS, status), replied(OURS), *loads(OURS))
    assert progress.done
    assert progress.result() == Navigation(url=URL, status=status, loader_id=OURS)


def test_a_navigation_within_the_document_is_done_at_its_reply() -> None:
    progress = after(started(OURS, "sameDocument"), ("reply", {"frameId": "F"}))
    assert progress.done
    assert progress.result() == Navigation(url=URL, same_document=True)


@pytest.mark.parametrize(
    ("inputs", "reason"),
    [
        ([started(OURS), LOADING, responded(OURS, 204), ABORTED], "no_document"),
        ([started(OURS), LOADING, replied(OURS, errorText="net::ERR_ABORTED", isDownload=True)], "download"),
        ([started(OURS), replied(OURS, errorText="net::ERR_UNSAFE_PORT")], "net::ERR_UNSAFE_PORT"),
        ([started(OURS), LOADING, ABORTED, STOPPED], "stopped"),
        ([started(OURS), LOADING, ("reply", {"errorText": "net::ERR_ABORTED"}), STOPPED], "stopped"),
        ([started(OURS), LOADING, ABORTED, started(OTHER), STOPPED], "superseded"),
        ([started(OURS), started(OTHER), ABORTED], "superseded"),
        ([started(OURS), ABORTED, started(OTHER, "sameDocument"), STOPPED], "stopped"),
        ([started(OURS), ABORTED, navigated(OTHER)], "superseded"),
        ([started(OURS), replied(OURS), *loads(OURS)[:2], started(OTHER), *loads(OTHER)], "superseded"),
    ],
)
def test_a_navigation_that_fails_says_why(inputs: list[Any], reason: str) -> None:
    progress = after(*inputs)
    assert (progress.reason, progress.done) == (reason, False)
    assert REASONS.get(reason, reason) in progress.failure()


def test_the_commit_of_an_earlier_document_supersedes_nothing() -> None:
    progress = after(navigated(OTHER), started(OURS), replied(OURS), *loads(OURS))
    assert progress.done


def test_a_document_that_another_one_follows_has_loaded_all_the_same() -> None:
    progress = after(started(OURS), replied(OURS), *loads(OURS), started(OTHER), *loads(OTHER))
    assert (progress.done, progress.reason) == (True, "")


def test_events_that_are_sent_again_to_a_late_session_are_enough() -> None:
    """Page was enabled only after the commit: its `Page.frameNavigated` did not come."""
    again = [lifecycle(name, OURS) for name in ("commit", "DOMContentLoaded", "load")]
    progress = after(replied(OURS), *again)
    assert progress.done


def test_a_navigation_that_seems_to_have_ended_is_given_up() -> None:
    progress = after(started(OURS), replied(OURS), STOPPED)
    assert progress.is_ending
    progress.give_up()
    assert progress.reason == "stopped"
    progress = after(started(OURS), started(OTHER), ABORTED)
    progress.give_up()
    assert progress.reason == "superseded"
    assert not after(started(OURS), replied(OURS)).is_ending


@pytest.mark.parametrize(
    ("wait_until", "events"),
    [
        ("commit", [lifecycle("init", OURS)]),
        ("domcontentloaded", loads(OURS)[:3]),
        ("load", loads(OURS)[:4]),
        ("networkidle", [*loads(OURS), lifecycle("networkIdle", OURS)]),
    ],
)
def test_each_state_is_reached_by_its_event_and_not_before(wait_until: str, events: list[Any]) -> None:
    before = [started(OURS), replied(OURS)]
    assert not after(*before, *events[:-1], wait_until=wait_until).done
    assert after(*before, *events, wait_until=wait_until).done


@pytest.mark.parametrize(
    "event",
    [
        ("Page.lifecycleEvent", {"frameId": "G", "loaderId": OURS, "name": "load"}),
        ("Page.frameNavigated", {"frame": {"id": "G", "loaderId": OTHER}}),
        ("Network.responseReceived", {"frameId": "G", "requestId": OURS, "loaderId": OURS, "response": {"status": 1}}),
        responded(OURS, 1, request="picture"),
        responded(OURS, "204"),
        ("Network.responseReceived", {"frameId": "F", "requestId": OURS, "loaderId": OURS, "response": 7}),
        ("Network.responseReceived", {"frameId": "F", "requestId": 7, "loaderId": 7, "response": {}}),
    ],
)
def test_other_frames_and_what_cannot_be_read_change_nothing(event: Any) -> None:
    progress = after(started(OURS), replied(OURS), *loads(OURS)[:2], event)
    assert (progress.done, progress.reason) == (False, "")
    assert progress.result().status is None


def test_a_reply_that_cannot_be_read_is_one_within_the_document() -> None:
    assert after(("reply", {"loaderId": 7})).done


# ── dialogs and texts ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_dialog_belongs_to_the_page_that_is_left_or_to_the_one_that_loads() -> None:
    opening = ("Page.javascriptDialogOpening", {"type": "beforeunload"})
    leaving = after(opening)
    assert (leaving.dialog, leaving.dialog_phase) == ("beforeunload", "leaving")
    assert "a dialog (beforeunload) is open" in leaving.state()
    loading = after(started(OURS), replied(OURS), navigated(OURS), ("Page.javascriptDialogOpening", {"type": "alert"}))
    assert loading.dialog_phase == "loading"
    loading.event("Page.javascriptDialogClosed", {"result": True}, 1.0)
    assert loading.dialog == ""


def test_the_state_says_how_far_the_navigation_came() -> None:
    assert "the server has not answered" in after(started(OURS)).state()
    assert (
        "its document is loading, and its network is busy"
        in after(started(OURS), replied(OURS), navigated(OURS)).state()
    )


# ── the document that is shown ────────────────────────────────────────────────────────────────────────────────────────


def document(*inputs: Any, wait_until: str = "load") -> DocumentProgress:
    progress = DocumentProgress("F", wait_until)
    for method, params in inputs:
        if method == "listed":
            progress.listed(params)
        else:
            progress.event(method, params, 1.0)
    return progress


def test_the_events_before_the_frame_tree_are_of_its_document() -> None:
    old = [lifecycle(name, OTHER) for name in ("commit", "load")]
    again = [lifecycle(name, OURS) for name in ("commit", "DOMContentLoaded", "load")]
    assert document(*old, *again, ("listed", OURS)).done
    assert not document(*again[:2], ("listed", OURS)).done
    assert not document(*again, ("listed", OTHER)).done


def test_a_document_that_takes_the_place_is_waited_for() -> None:
    first = [("listed", OTHER), started(OURS)]
    assert not document(*first, *loads(OURS)[:3]).done
    assert document(*first, *loads(OURS)).done
    assert document(*first, lifecycle("init", OURS), lifecycle("load", OURS)).done
    assert document(navigated(OURS), ("listed", OURS), LOADED).done


def test_a_document_never_seems_to_have_ended() -> None:
    progress = document(("Page.javascriptDialogOpening", {"type": "alert"}))
    assert (progress.is_ending, progress.dialog_phase, progress.reason) == (False, "loading", "")
    assert "a dialog (alert) is open" in progress.state()
    assert "its document is unknown" in document().state()


# ── laws ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

INPUTS = st.one_of(
    st.sampled_from([STOPPED, LOADING, LOADED, ABORTED, replied(OURS), replied(OURS, errorText="net::ERR_FAILED")]),
    st.builds(started, st.sampled_from([OURS, OTHER]), st.sampled_from(["differentDocument", "sameDocument"])),
    st.builds(navigated, st.sampled_from([OURS, OTHER])),
    st.builds(
        lifecycle,
        st.sampled_from(["init", "commit", "DOMContentLoaded", "load", "networkIdle"]),
        st.sampled_from([OURS, OTHER]),
    ),
    st.builds(responded, st.sampled_from([OURS, OTHER]), st.sampled_from([200, 204])),
)
"""What a session may report of two documents, in any order."""


@given(inputs=st.lists(INPUTS, max_size=12), wait_until=st.sampled_from(["commit", "load"]))
@example(inputs=[started(OURS), replied(OURS), *loads(OTHER)], wait_until="load")
@example(inputs=[started(OURS), replied(OURS), *loads(OURS)], wait_until="load")
def test_a_navigation_ends_once_and_never_with_the_load_of_another_document(inputs: list[Any], wait_until: str) -> None:
    progress = NavigationProgress("F", wait_until, URL)
    ends: list[tuple[bool, str]] = []
    answered = False
    for number, (method, params) in enumerate(inputs):
        if method == "reply":
            if not answered:  # a command is answered once
                progress.replied(params)
            answered = True
        else:
            progress.event(method, params, 1.0)
        end = (progress.done, progress.reason)
        assert not (progress.done and progress.reason)
        assert not ends or end == ends[0]  # the first end stays
        ends += [end] if progress.done or progress.reason else []
        if progress.done:
            seen = inputs[: number + 1]
            assert answered
            assert any(
                names(each) == OURS and each[0] in ("Page.frameNavigated", "Page.lifecycleEvent") for each in seen
            )
            assert wait_until == "commit" or any(loaded(each) for each in seen)


def names(event: Any) -> str:
    method, params = event
    return str(params["frame"]["loaderId"] if method == "Page.frameNavigated" else params.get("loaderId", ""))


def loaded(event: Any) -> bool:
    """True for an event after which the present document is complete, or that names ours as complete."""
    return event in (STOPPED, LOADED, lifecycle("load", OURS))


def test_every_event_without_a_frame_is_one_of_the_session_s_own_frame() -> None:
    assert set(REACHED) <= set(EVENTS)
