"""Checks of a state after every record of every trace.

The snapshot is consistent in itself and with the open sessions. If the link were lost at this point, no dialog would
stay answerable. If the supervisor were stopped at this point, it would answer with one report.
"""

from __future__ import annotations

from typing import Any

from cdp_core.sansio.messages import Event
from cdp_supervisor.sansio import inputs
from cdp_supervisor.sansio.effects import Answer
from cdp_supervisor.sansio.inputs import Instant
from cdp_supervisor.sansio.requests import Stop
from cdp_supervisor.sansio.state import Page, State
from cdp_supervisor.sansio.step import next_deadline, step
from cdp_supervisor.sansio.stopping import StopReport
from cdp_supervisor.sansio.view import Snapshot, snapshot

STOP = 10**9


def look(_place: int, link: Any) -> None:
    """Run every check on a follower after a record."""
    assert_consistent(link.state, link.runner.snapshot(), sessions_of(link))
    assert max(link.answer_counts.values(), default=0) <= 1, "a request was answered twice"
    if link.log and isinstance(link.log[-1][1], Event):
        assert_event_applied(link.state, link.runner.snapshot(), link.log[-1][1])
    assert_consistent_without_link(link)
    assert_can_stop(link)


def assert_consistent_without_link(link: Any) -> None:
    down = inputs.LinkDown(at=link.now, generation=link.state.generation, reason="cut")
    state = step(link.state, down).state
    shown = snapshot(state)
    assert_consistent(state, shown, {})
    assert not any(each.answerable for each in shown.pending_dialogs)
    before = {each.id for each in link.runner.snapshot().pending_dialogs}
    assert before >= {each.id for each in shown.pending_dialogs}, "a dialog opened at the loss of the link"


def assert_can_stop(link: Any) -> None:
    request = inputs.RequestReceived(
        at=link.now, generation=link.state.generation, request_id=STOP, request=Stop(timeout=1.5)
    )
    requested = step(link.state, request)
    later = Instant(mono=link.now.mono + 1.6)
    passed = step(requested.state, inputs.TimePassed(at=later, generation=requested.state.generation))
    answers = [
        each for each in (*requested.effects, *passed.effects) if isinstance(each, Answer) and each.request_id == STOP
    ]
    assert len(answers) == 1
    assert isinstance(answers[0].value, StopReport)


def assert_event_applied(state: State, shown: Snapshot, event: Event) -> None:
    """The snapshot shows what the last event reported of a frame, if it came on a primary session."""
    attachment = state.sessions.get(event.session_id)
    page = None if attachment is None or attachment.page_id is None else shown.page(attachment.page_id)
    if page is None or attachment is None or not attachment.primary:
        return
    frames = {each.frame_id: each for each in page.frames()}
    if event.method == "Page.frameDetached" and event.params.get("reason") != "swap":
        assert event.params["frameId"] not in frames, "a frame was removed and is still shown"
    elif event.method == "Page.frameAttached" and event.params["parentFrameId"] in frames:
        assert frames[event.params["frameId"]].parent_frame_id == event.params["parentFrameId"]
    elif event.method == "Page.frameNavigated":
        reported = event.params["frame"]
        frame = frames.get(reported["id"])
        if frame is not None and frame.session_id == event.session_id:
            assert frame.url == reported["url"] + reported.get("urlFragment", "")
            assert not frame.children or event.params.get("type") == "BackForwardCacheRestore", "children were kept"


def sessions_of(link: Any) -> dict[str, str]:
    return {each.session_id: each.target_id for each in link.router.open_sessions()}


# ── consistency ──────────────────────────────────────────────────────────────────────────────────────────────────────


def assert_consistent(state: State, shown: Snapshot, open_now: dict[str, str]) -> None:
    deadline = next_deadline(state)
    assert deadline is None or deadline.at > state.now
    sessions = {each.session_id: each for each in shown.sessions}
    assert {key: each.target_id for key, each in sessions.items()} == open_now
    assert all(each.parent is None or each.parent in sessions for each in shown.sessions)
    dialogs = [each.id for each in (*shown.pending_dialogs, *shown.recent_dialogs)]
    assert len(dialogs) == len(set(dialogs)), "a dialog is shown twice"
    unconfirmed = sum(each.phase == "closed" for page in state.pages.values() for each in page.dialogs)
    assert len(dialogs) + unconfirmed == state.last_dialog, "a dialog is not pending, not over and not closing"
    assert all(each.target_id in state.pages for each in shown.pending_dialogs)
    assert not any(each.answerable for each in shown.recent_dialogs)
    frames = [each.frame_id for page in shown.pages for each in page.frames()]
    assert len(frames) == len(set(frames)), "a frame is shown twice"
    for page in shown.pages:
        assert_tree(state.pages[page.target_id], page, open_now)
        if page.session_id is None:
            assert page.target_id not in open_now.values(), "a page is shown as detached and has a session"
            assert not any(each.answerable for each in page.pending_dialogs)
        else:
            assert open_now[page.session_id] == page.target_id


def assert_tree(page: Page, shown: Any, open_now: dict[str, str]) -> None:
    ids = {each.frame_id for each in shown.frames()}
    for frame in shown.frames():
        above = frame.parent_frame_id
        assert above is None if frame.frame_id == page.id else above in ids
        assert all(each.parent_frame_id == frame.frame_id for each in frame.children)
        assert frame.session_id is None or frame.session_id in open_now
        assert not frame.is_oopif or open_now.get(frame.session_id or "", frame.frame_id) == frame.frame_id
    for frame_id in set(page.frames) - ids:  # only descendants of an unknown frame are left out
        line = [frame_id]
        while (above := page.frames[line[-1]].parent_id) in page.frames and above not in line:
            line.append(above)
        assert line[-1] != page.id
