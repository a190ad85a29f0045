"""Where a command goes, and whether it can be answered there now.

A frame without a session of its own is reached through its execution context, by the methods that take one; the others get
an error that names the way. Where a dialog is open already, what it stops is not even sent, unless the browser answers it
all the same (fact 15, docs/cdp/a-call-that-a-dialog-blocks-ends-at-once.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs

from cdp_core.errors import ConnectionLost, InvalidArgument, TargetCrashed
from cdp_core.sansio.messages import SessionId, TargetId
from cdp_supervisor.errors import (
    AmbiguousTarget,
    BlockedByDialog,
    FrameSharesProcess,
    PageFrozen,
    UnknownFrame,
    UnknownTarget,
)
from cdp_supervisor.sansio.event_params import site_of
from cdp_supervisor.sansio.focus import focused_page, page_ids
from cdp_supervisor.sansio.frames import context_of
from cdp_supervisor.sansio.health import view_health
from cdp_supervisor.sansio.options import is_time, shown
from cdp_supervisor.sansio.requests import Call
from cdp_supervisor.sansio.state import NOWHEN, Dialog, Frame, Page, State
from cdp_supervisor.sansio.transition import Transition

ANSWERED_BY_BROWSER: Final = frozenset(
    (
        "Page.navigate",
        "Page.reload",
        "Page.stopLoading",
        "Page.getNavigationHistory",
        "Page.navigateToHistoryEntry",
        "Page.resetNavigationHistory",
        "Page.bringToFront",
        "Page.close",
        "Fetch.enable",
        "Fetch.disable",
        "Fetch.continueRequest",
        "Fetch.failRequest",
        "Fetch.fulfillRequest",
        "Network.getCookies",
        "Target.getTargetInfo",
    )
)
"""What is answered while a dialog stops the renderer (fact 15); of whole domains, `Input` and `Browser`."""
BROWSER_DOMAINS: Final = ("Browser", "Target", "SystemInfo", "Tethering")
"""What goes to the browser's own session, where nothing else is named."""
CONTEXT_METHODS: Final = frozenset(("Runtime.evaluate", "Runtime.callFunctionOn"))
HANDLE_DIALOG: Final = "Page.handleJavaScriptDialog"
NAVIGATIONS: Final = frozenset(("Page.navigate", "Page.reload", "Page.navigateToHistoryEntry", "Page.close"))
ENDED_BY_BEFOREUNLOAD: Final = frozenset(("Page.navigate", "Page.navigateToHistoryEntry"))
"""What is answered only when the `beforeunload` dialog that it brings up is (fact 21)."""
WHEN_BLOCKED: Final = ("raise", "wait")


@attrs.frozen(kw_only=True)
class Route:
    """Where a command goes."""

    session_id: SessionId | None
    page: Page | None
    params: Mapping[str, Any] | None
    ready: bool = True
    """Whether it can be sent: the scripts of a frame may have nowhere to run yet."""


def route_of(transition: Transition, request: Call) -> Route:
    """Where a call goes. Raises what is wrong with it, or that nobody is there."""
    state = transition.state
    _check(request)
    if request.method == HANDLE_DIALOG:
        raise InvalidArgument(
            f"{HANDLE_DIALOG} is sent by respond_to_dialog: only so is it known whose answer a dialog got."
        )
    if state.link.phase != "up":
        raise link_down_error(transition, None)
    if request.session_id is not None:
        session_id = SessionId(request.session_id)
        if session_id not in state.sessions:
            raise UnknownTarget(request.session_id, known=list(state.sessions))
        return Route(session_id=session_id, page=transition.page_of(session_id), params=request.params)
    if request.frame_id is not None:
        return _route_to_frame(transition, request, request.frame_id)
    if request.target_id is not None:
        return _route_to_target(transition, request, TargetId(request.target_id))
    if request.method.partition(".")[0] in BROWSER_DOMAINS:
        return Route(session_id=None, page=None, params=request.params)
    page = focused_page(state)
    if page is None:
        raise AmbiguousTarget(page_ids(transition))
    if state.focus is None:
        transition.update(only_page=page.id)
    return _route_to_target(transition, request, page.id)


def _check(request: Call) -> None:
    if not isinstance(request.method, str) or not request.method:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidArgument("A command's method must be a string such as 'Page.navigate'.")
    if request.when_blocked not in WHEN_BLOCKED:
        raise InvalidArgument(f"when_blocked must be one of {', '.join(WHEN_BLOCKED)}, not {request.when_blocked!r}.")
    wrong = wrong_timeout(request.timeout)
    if wrong is not None:
        raise wrong
    named = [each for each in (request.frame_id, request.target_id, request.session_id) if each is not None]
    if len(named) > 1:
        raise InvalidArgument("Give one of frame_id, target_id and session_id: each says by itself where a call goes.")


def _route_to_target(transition: Transition, request: Call, target_id: TargetId) -> Route:
    page = transition.page(target_id)
    session_id = transition.state.primary_on.get(target_id) if page is None else page.session_id
    if page is None and session_id is None:
        raise UnknownTarget(target_id, known=page_ids(transition))
    if session_id is None:
        raise link_down_error(transition, page)
    return Route(session_id=session_id, page=page or transition.page_of(session_id), params=request.params)


def _route_to_frame(transition: Transition, request: Call, frame_id: str) -> Route:
    for page in transition.state.pages.values():
        frame = page.frames.get(frame_id)
        if frame is not None:
            return _route_of_frame(transition, request, page, frame)
    raise UnknownFrame(
        frame_id, known=[each for page in transition.state.pages.values() for each in [*page.frames][:6]]
    )


def _route_of_frame(transition: Transition, request: Call, page: Page, frame: Frame) -> Route:
    attachment = None if frame.session_id is None else transition.state.sessions.get(frame.session_id)
    if attachment is None:
        raise link_down_error(transition, page)
    if attachment.target_id == frame.id:
        return Route(session_id=attachment.session_id, page=page, params=request.params)
    if request.method not in CONTEXT_METHODS:
        hint = "reach it through `contentDocument` in a script of the frame above, or with Runtime.evaluate in it"
        raise FrameSharesProcess(frame.id, method=request.method, hint=hint)
    params = {"uniqueContextId": context_of(page, frame), **(request.params or {})}
    return Route(session_id=attachment.session_id, page=page, params=params, ready=params["uniqueContextId"] != "")


def check_not_blocked(transition: Transition, request: Call, route: Route) -> None:
    """Raises what stops a call that is not sent for that reason."""
    page = route.page
    if page is None:
        return
    if request.method in NAVIGATIONS:
        dialog_ids = dialogs_without_window(transition, page, route.session_id)
        if request.method in ENDED_BY_BEFOREUNLOAD:
            dialog_ids += tuple(
                each.id for each in page.dialogs if each.type == "beforeunload" and each.phase == "open"
            )
        if dialog_ids:
            raise BlockedByDialog(dialog_ids, method=request.method)
    elif page.crashed is not None and page.session_id == route.session_id:
        raise TargetCrashed(  # nothing is answered before a reload (fact 49)
            f"Page {page.id[:8]} has crashed, so {request.method} was not sent; reload or navigate it first.",
            reason="crashed",
            session_id=route.session_id or "",
            target_id=page.id,
        )
    if answered_by_browser(request.method):
        return
    stopping = tuple(
        dialog.id
        for dialog in page.dialogs
        if dialog.phase != "closed" and dialog_blocks(transition, page, dialog, route.session_id)
    )
    if stopping and request.when_blocked == "raise":
        raise BlockedByDialog(stopping, method=request.method)
    blocked = None if route.session_id is None else page.blocked_sessions.get(route.session_id)
    since = page.blocked if route.session_id == page.session_id else blocked
    if since is not None and request.when_blocked == "raise":
        raise PageFrozen(page.id, since=since.wall, why=view_health(transition.state, page).why)


def session_of(state: State, *, target_id: str | None, frame_id: str | None) -> SessionId:
    """The session that a page, a worker or a frame has of its own. Raises what `call` does."""
    transition = Transition(state, NOWHEN)
    request = Call(method="Page.enable", target_id=target_id, frame_id=frame_id)
    route = route_of(transition, request)
    assert route.session_id is not None
    return route.session_id


def answered_by_browser(method: str) -> bool:
    """Whether the browser answers it while a dialog stops the renderer."""
    return method in ANSWERED_BY_BROWSER or method.partition(".")[0] in ("Input", "Browser")


def wrong_timeout(timeout: float | None) -> InvalidArgument | None:
    """What is wrong with a timeout; None where nothing is."""
    if timeout is None or is_time(timeout):
        return None
    return InvalidArgument(f"timeout must be a positive number of seconds, or None for ever, not {shown(timeout)}.")


def link_down_error(transition: Transition, page: Page | None) -> ConnectionLost:
    """Why nothing can be sent there."""
    link = transition.state.link
    what = (
        "The link to the browser is down"
        if link.phase != "up"
        else f"Page {(page.id if page else '')[:8]} has no session now"
    )
    return ConnectionLost(
        f"{what}; wait until it is back (wait_for), and call again.", reason=link.reason or "no_session"
    )


def dialog_blocks(transition: Transition, page: Page, dialog: Dialog, session_id: SessionId | None) -> bool:
    """Whether a dialog stops what is sent on a session of its page."""
    return _share_process(transition, page, transition.process_of(page, dialog.frame_id), session_id)


def _share_process(transition: Transition, page: Page, one: SessionId | None, other: SessionId | None) -> bool:
    """Whether two sessions of a page are on one process: on one target, or on frames of one site.

    See docs/cdp/frames-of-one-site-share-a-process.md.
    """
    if one is None or other is None or one == other:
        return one == other
    targets = [each.target_id for each in map(transition.state.sessions.get, (one, other)) if each is not None]
    if len(targets) < 2 or targets[0] == targets[1]:
        return len(targets) == 2
    sites = [site_of(frame.url) for frame in map(page.frames.get, targets) if frame is not None]
    return len(sites) == 2 and sites[0] == sites[1] != ""


def dialogs_without_window(transition: Transition, page: Page, session_id: SessionId | None) -> tuple[str, ...]:
    """The dialogs under which a page must not be navigated: it freezes for good, or the browser ends.

    So it is where the browser has no window for dialogs.
    """
    return tuple(
        dialog.id
        for dialog in page.dialogs
        if not dialog.native
        and dialog.phase in ("open", "answering")
        and dialog.type != "beforeunload"
        and dialog_blocks(transition, page, dialog, session_id)
    )
