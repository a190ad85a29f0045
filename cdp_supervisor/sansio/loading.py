"""The load state of each frame, from the events of its session (cdp_core.sansio.load_state)."""

from __future__ import annotations

from cdp_core.sansio import load_state
from cdp_core.sansio.load_state import LoadState
from cdp_core.sansio.messages import Event
from cdp_core.sansio.structs import replace
from cdp_supervisor.sansio import frames
from cdp_supervisor.sansio.event_params import text
from cdp_supervisor.sansio.state import Page
from cdp_supervisor.sansio.transition import Transition


def loading(transition: Transition, event: Event) -> None:
    """Apply an event about loading to its frame; the tree of a new page may be read only after it."""
    state, session_id, params = transition.state, event.session_id, event.params
    attachment = None if session_id is None else state.sessions.get(session_id)
    page = None if session_id is None else transition.page(state.page_of.get(session_id))
    if attachment is None or page is None:
        return
    frame_id = text(params, "frameId") or attachment.target_id
    frame = page.frames.get(frame_id)
    if frame_id != page.id if frame is None else frames.reported_by_other(transition, frame, attachment.session_id):
        return
    load = page.early_load if frame is None else frame.load
    load = load_state.applied(load, event.method, params, transition.at.wall)
    if frame is None:
        transition.put_page(replace(page, early_load=load))
    elif load is not frame.load:
        frames.put(transition, page, replace(frame, load=load))


def unwatched(page: Page) -> Page:
    """Forget what only events say of the frames of a page: its session or its renderer is a new one."""
    kept = page.frames
    for frame in page.frames.values():
        load = load_state.unwatched(frame.load)
        if load is not frame.load:
            kept = kept.set(frame.id, replace(frame, load=load))
    return replace(page, frames=kept, early_load=LoadState())
