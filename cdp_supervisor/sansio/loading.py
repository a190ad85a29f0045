"""The load state of each frame, from the events of the session that reports the frame (cdp_core.sansio.load_state)."""

from __future__ import annotations

from collections.abc import Callable

from cdp_core.sansio import load_state
from cdp_core.sansio.load_state import LoadState
from cdp_core.sansio.messages import SessionId
from cdp_core.sansio.structs import replace
from cdp_supervisor.sansio import frames
from cdp_supervisor.sansio.event_params import (
    LifecycleParams,
    LoadingStoppedParams,
    NavigationStartedParams,
    NoParams,
)
from cdp_supervisor.sansio.state import Page
from cdp_supervisor.sansio.transition import Transition


def navigation_started(
    transition: Transition, page: Page, session_id: SessionId, params: NavigationStartedParams
) -> None:
    """Note the navigation of a frame; the tree of a new page may be read only after it."""
    if params.frame_id == page.id and page.id not in page.frames:
        page = frames.add(transition, page, page.id, None, session_id)
    kind, at = params.navigation_type, transition.at.wall
    _apply(
        transition,
        page,
        session_id,
        params.frame_id,
        lambda load: load_state.started(load, params.loader_id, kind, at),
    )


def loading_stopped(transition: Transition, page: Page, session_id: SessionId, params: LoadingStoppedParams) -> None:
    _apply(transition, page, session_id, params.frame_id, load_state.stopped)


def parsed(transition: Transition, page: Page, session_id: SessionId, _params: NoParams) -> None:
    """Note that the document of a session's own frame is parsed: `Page.domContentEventFired` names no frame."""
    _apply_to_own(transition, page, session_id, lambda load: load_state.reached(load, "interactive"))


def loaded(transition: Transition, page: Page, session_id: SessionId, _params: NoParams) -> None:
    """Note that the document of a session's own frame is loaded: `Page.loadEventFired` names no frame."""
    _apply_to_own(transition, page, session_id, lambda load: load_state.reached(load, "complete"))


def lifecycle(transition: Transition, page: Page, session_id: SessionId, params: LifecycleParams) -> None:
    _apply(
        transition,
        page,
        session_id,
        params.frame_id,
        lambda load: load_state.lifecycle(load, params.loader_id, params.name),
    )


def no_longer_navigating(page: Page) -> Page:
    """Return a page without a navigation in flight: its renderer or its session is gone, and its events with it."""
    main = page.frames.get(page.id)
    if main is None or not main.load.navigating_to:
        return page
    return replace(page, frames=page.frames.set(page.id, replace(main, load=replace(main.load, navigating_to=""))))


def _apply_to_own(
    transition: Transition, page: Page, session_id: SessionId, change: Callable[[LoadState], LoadState]
) -> None:
    attachment = transition.state.sessions.get(session_id)
    if attachment is not None:
        _apply(transition, page, session_id, str(attachment.target_id), change)


def _apply(
    transition: Transition, page: Page, session_id: SessionId, frame_id: str, change: Callable[[LoadState], LoadState]
) -> None:
    frame = page.frames.get(frame_id)
    if frame is None or frames.reported_by_other(transition, frame, session_id):
        return
    load = change(frame.load)
    if load is not frame.load:
        frames.put(transition, page, replace(frame, load=load))
