"""The load state of each frame, from the events of its session (cdp_core.sansio.load_state)."""

from __future__ import annotations

from cdp_core.sansio import load_state
from cdp_core.sansio.load_state import LoadState
from cdp_core.sansio.messages import Event, Json
from cdp_core.sansio.structs import replace
from cdp_supervisor.sansio import frames, titles
from cdp_supervisor.sansio.event_params import text
from cdp_supervisor.sansio.state import Page
from cdp_supervisor.sansio.transition import Transition

FORM = "formSubmissionPost"


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
    if frame_id == page.id:
        page = _with_navigation(transition, page, event.method, params, load)
        if load.phase == "complete" != (page.early_load if frame is None else frame.load).phase:
            titles.wanted(transition, page)
            page = transition.current(page)
    if frame is None:
        transition.put_page(replace(page, early_load=load))
    elif load is not frame.load:
        frames.put(transition, page, replace(frame, load=load))


def requested(transition: Transition, event: Event) -> None:
    """Note the navigation that a page asks for: a form with POST must not be submitted again."""
    page = transition.page_of(event.session_id)
    params = event.params
    if page is not None and text(params, "frameId") == page.id:
        url = text(params, "url", transition.state.limits.text_kept)
        transition.put_page(replace(page, requested=(url, text(params, "reason") == FORM)))


def _with_navigation(transition: Transition, page: Page, method: str, params: Json, load: LoadState) -> Page:
    """Return a page with the address of its navigation in flight."""
    if method == "Page.frameStartedNavigating" and load.navigating_to:
        url = text(params, "url", transition.state.limits.text_kept)
        post = page.requested == (url, True)
        return transition.put_page(replace(page, pending_url=url, pending_post=post, requested=("", False)))
    if page.pending_url and not load.navigating_to:
        return transition.put_page(replace(page, pending_url="", pending_post=False))
    return page


def unwatched(page: Page) -> Page:
    """Forget what only events say of the frames of a page: its session or its renderer is a new one."""
    kept = page.frames
    for frame in page.frames.values():
        load = load_state.unwatched(frame.load)
        if load is not frame.load:
            kept = kept.set(frame.id, replace(frame, load=load))
    return replace(page, frames=kept, early_load=LoadState())
