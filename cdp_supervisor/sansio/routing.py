"""Routing: on which session a call is sent, and whether a dialog blocks it there.

A frame without a session of its own is reached through its execution context, with a method that takes one; for any
other method the error names the way. If an open dialog blocks the renderer, the command is not sent, unless the
browser itself answers that method (fact 15, docs/cdp/a-call-that-a-dialog-blocks-ends-at-once.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

from cdp_core.errors import ConnectionLost, InvalidArgument, TargetCrashed
from cdp_core.sansio.crash_rules import advice_after_crash
from cdp_core.sansio.messages import SessionId, TargetId
from cdp_supervisor.errors import (
    AmbiguousTarget,
    BlockedByDialog,
    FrameSharesProcess,
    NavigationBlockedByDialog,
    PageFrozen,
    UnknownFrame,
    UnknownTarget,
    WouldEndBrowser,
)
from cdp_supervisor.sansio.event_params import shown_page, site_of
from cdp_supervisor.sansio.focus import page_ids
from cdp_supervisor.sansio.frames import context_of
from cdp_supervisor.sansio.health import dialogs_of_kin, view_health
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
"""Methods that the browser answers during a dialog (fact 15), besides all of `Browser` and some of `Input`."""
ANSWERED_INPUT: Final = frozenset(
    (
        "Input.cancelDragging",
        "Input.dispatchKeyEvent",
        "Input.dispatchMouseEvent",
        "Input.setIgnoreInputEvents",
        "Input.setInterceptDrags",
    )
)
"""The methods of `Input` that are answered during a dialog; the others wait for its end, a mouse wheel too (fact 66)."""
BROWSER_DOMAINS: Final = ("Browser", "Target", "SystemInfo", "Tethering")
"""Domains that go to the root session if a call names no frame, target or session."""
CONTEXT_METHODS: Final = frozenset(("Runtime.evaluate", "Runtime.callFunctionOn"))
CLOSE_TARGET: Final = "Target.closeTarget"
HANDLE_DIALOG: Final = "Page.handleJavaScriptDialog"
NAVIGATIONS: Final = frozenset(("Page.navigate", "Page.reload", "Page.navigateToHistoryEntry", "Page.close"))
ENDED_BY_BEFOREUNLOAD: Final = frozenset(("Page.navigate", "Page.navigateToHistoryEntry"))
"""Methods that can open a `beforeunload` dialog and are then answered only after it (fact 21)."""
WHEN_BLOCKED: Final = ("raise", "wait")
USUAL_TIMEOUT: Final = 30.0
"""Seconds: the default of a call, which needs no check."""


@attrs.frozen(kw_only=True)
class Route:
    """Where a command is sent: its session, the page of that session, and the final params."""

    session_id: SessionId | None
    page: Page | None
    params: Mapping[str, Any] | None
    by_browser: bool
    """True if the browser answers the command while a dialog blocks the renderer."""
    ready: bool = True
    """False while the frame has no execution context yet, so that the command must wait."""


def route_of(transition: Transition, request: Call) -> Route:
    """Return the route of a call.

    Raises `InvalidArgument` for an invalid request, and the error of the missing page, frame, session or link.
    """
    state = transition.state
    _check(request)
    if request.method == HANDLE_DIALOG:
        raise InvalidArgument(
            f"{HANDLE_DIALOG} cannot be sent as a call, since the supervisor records each answer; "
            "use respond_to_dialog."
        )
    if state.link.phase != "up":
        raise link_down_error(transition, None)
    if request.session_id is not None:
        session_id = SessionId(request.session_id)
        if session_id not in state.sessions:
            raise UnknownTarget(request.session_id, known=list(state.sessions))
        return _route(request, session_id, transition.page_of(session_id))
    if request.frame_id is not None:
        return _route_to_frame(transition, request, request.frame_id)
    if request.target_id is not None:
        return _route_to_target(transition, request, TargetId(request.target_id))
    if request.method.partition(".")[0] in BROWSER_DOMAINS:
        return _route(request, None, None)
    page = focused_page(state)
    if page is None:
        raise AmbiguousTarget(page_ids(transition))
    if state.focus is None and state.only_page != page.id:
        transition.update(only_page=page.id)
    return _route_to_target(transition, request, page.id)


def _route(request: Call, session_id: SessionId | None, page: Page | None) -> Route:
    by_browser = answered_by_browser(request.method, request.params)
    return Route(session_id=session_id, page=page, params=request.params, by_browser=by_browser)


def _check(request: Call) -> None:
    if not isinstance(request.method, str) or not request.method:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidArgument("The method of a call must be a non-empty string such as 'Page.navigate'.")
    if request.when_blocked not in WHEN_BLOCKED:
        raise InvalidArgument(f"when_blocked must be one of {', '.join(WHEN_BLOCKED)}, not {request.when_blocked!r}.")
    if request.timeout != USUAL_TIMEOUT and (wrong := wrong_timeout(request.timeout)) is not None:
        raise wrong
    named = [each for each in (request.frame_id, request.target_id, request.session_id) if each is not None]
    if len(named) > 1:
        raise InvalidArgument("A call takes one of frame_id, target_id and session_id, not several; give only one.")


def focused_page(state: State) -> Page | None:
    """Return the page that is used if none is named: the focused one, or the only one."""
    if state.focus is not None:
        return state.pages.get(state.focus)
    if state.page_gone is not None or len(state.pages) != 1:
        return None
    return next(iter(state.pages.values()))


def _route_to_target(transition: Transition, request: Call, target_id: TargetId) -> Route:
    page = transition.state.pages.get(target_id)
    session_id = transition.state.primary_on.get(target_id) if page is None else page.session_id
    if page is None and session_id is None:
        raise UnknownTarget(target_id, known=page_ids(transition))
    if session_id is None:
        return _not_ready(request, page)
    return _route(request, session_id, page or transition.page_of(session_id))


def _not_ready(request: Call, page: Page | None) -> Route:
    """Return the route of a call to a page or frame whose session is being opened: it waits for that."""
    return Route(session_id=None, page=page, params=request.params, by_browser=False, ready=False)


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
        return _not_ready(request, page)
    if attachment.target_id == frame.id:
        return _route(request, attachment.session_id, page)
    if request.method not in CONTEXT_METHODS:
        hint = "reach it through `contentDocument` in a script of its parent frame, or with Runtime.evaluate in it"
        raise FrameSharesProcess(frame.id, method=request.method, hint=hint)
    params = {"uniqueContextId": context_of(page, frame), **(request.params or {})}
    return Route(
        session_id=attachment.session_id,
        page=page,
        params=params,
        by_browser=False,
        ready=params["uniqueContextId"] != "",
    )


def check_not_blocked(transition: Transition, request: Call, route: Route) -> None:
    """Raise the error of a call that cannot be answered now: a dialog or a crash blocks its page."""
    page = route.page
    if not request.force:
        _check_not_fragile(transition, request.method, page or _closed_by(transition, request))
    if page is None:
        return
    if request.method in NAVIGATIONS:
        _check_navigation(transition, page, request, route)
    elif page.crashed is not None and page.session_id == route.session_id:
        _check_crashed(page, request)
    elif request.when_blocked == "raise" and not route.by_browser:
        _check_answers(transition, page, request, route)


def _check_navigation(transition: Transition, page: Page, request: Call, route: Route) -> None:
    """Raise BlockedByDialog for a navigation that a dialog would keep from its end."""
    names = dialogs_without_window(transition, page, route.session_id)
    asks = request.method in ENDED_BY_BEFOREUNLOAD
    found = [
        each
        for each in page.dialogs
        if each.id in names or (asks and each.type == "beforeunload" and each.phase == "open")
    ]
    if found:
        raise blocked_error(found, request.method)


def blocked_error(dialogs: Sequence[Dialog], method: str, call_id: str | None = None) -> BlockedByDialog:
    """Return the error of a call that these dialogs block."""
    ids = [dialog.id for dialog in dialogs]
    if method not in NAVIGATIONS:
        return BlockedByDialog(ids, method=method, call=call_id)
    kind = dialogs[0].type
    phase = "leaving" if kind == "beforeunload" or call_id is None else "loading"
    return NavigationBlockedByDialog(ids, method=method, type=kind, phase=phase, call=call_id)


def _check_answers(transition: Transition, page: Page, request: Call, route: Route) -> None:
    """Raise the error of a call to a renderer that a dialog stops, or that has not answered."""
    if not page.dialogs and page.blocked is None and not page.blocked_sessions:
        return
    stopping = blocking_dialogs(transition, page, route.session_id)
    if stopping and not all(is_held_by_policy(transition.state, dialog) for dialog in stopping):
        raise blocked_error(stopping, request.method)
    blocked = None if route.session_id is None else page.blocked_sessions.get(route.session_id)
    since = page.blocked if route.session_id == page.session_id else blocked
    if since is not None:
        kin = [dialog for _page, dialog in dialogs_of_kin(transition.state, page)]
        if kin and route.session_id == page.session_id:
            raise blocked_error(kin, request.method)
        why = view_health(transition.state, page).why
        raise PageFrozen(page.id, since=since.wall, why=why, shown=shown_page(page))


def blocking_dialogs(transition: Transition, page: Page, session_id: SessionId | None) -> tuple[Dialog, ...]:
    """Return the dialogs of a page that stop the renderer of one of its sessions."""
    return tuple(
        dialog
        for dialog in page.dialogs
        if dialog.phase != "closed" and dialog_blocks(transition, page, dialog, session_id)
    )


def _closed_by(transition: Transition, request: Call) -> Page | None:
    """Return the page that a `Target.closeTarget` names."""
    target_id = (request.params or {}).get("targetId") if request.method == CLOSE_TARGET else None
    return transition.page(TargetId(target_id)) if isinstance(target_id, str) else None


def _check_not_fragile(transition: Transition, method: str, page: Page | None) -> None:
    """Raise WouldEndBrowser for a navigation or a close of a fragile page (fact 63)."""
    if page is not None and page.fragile is not None and (method in NAVIGATIONS or method == CLOSE_TARGET):
        transition.count("commands_that_would_end_the_browser")
        raise WouldEndBrowser(page.id, method=method, shown=shown_page(page))


def _check_crashed(page: Page, request: Call) -> None:
    """Raise TargetCrashed unless the browser answers the command on a crashed page."""
    if advice := advice_after_crash(request.method):
        raise TargetCrashed(
            f"Page {shown_page(page)} has crashed, so {request.method} was not sent; {advice}.",
            reason="not_sent",
            session_id=page.session_id or "",
            target_id=page.id,
        )


def session_of(state: State, *, target_id: str | None, frame_id: str | None) -> SessionId:
    """Return the session of a page or worker, or a frame's own session. Raises what `route_of` raises."""
    transition = Transition(state, NOWHEN, state.now)
    request = Call(method="Page.enable", target_id=target_id, frame_id=frame_id)
    try:
        route = route_of(transition, request)
    except FrameSharesProcess as error:
        hint = "use the session of its page, and its execution context in `FrameView.contexts`"
        raise FrameSharesProcess(error.frame_id, method="A session", hint=hint) from None
    if route.session_id is None:
        raise link_down_error(transition, route.page)
    return route.session_id


def answered_by_browser(method: str, params: Mapping[str, Any] | None = None) -> bool:
    """True if the browser answers this command while a dialog blocks the renderer."""
    if method.startswith("Input."):
        return method in ANSWERED_INPUT and (params or {}).get("type") != "mouseWheel"
    return method in ANSWERED_BY_BROWSER or method.startswith("Browser.")


def is_held_by_policy(state: State, dialog: Dialog) -> bool:
    """True if a policy answers this dialog without a caller, so that a call that it blocks only waits."""
    return (
        not state.scope.observing
        and state.stopping is None
        and dialog.phase != "unanswerable"
        and state.policy.of(dialog.type) != "must_respond"
    )


def wrong_timeout(timeout: float | None) -> InvalidArgument | None:
    """Return the error for an invalid timeout, or None if it is valid."""
    if timeout is None or is_time(timeout):
        return None
    return InvalidArgument(f"timeout must be a positive number of seconds, or None for no limit, not {shown(timeout)}.")


def link_down_error(transition: Transition, page: Page | None) -> ConnectionLost:
    """Return the error of a call to a page without a session, or without a link."""
    link = transition.state.link
    what = (
        "The link to the browser is down"
        if link.phase != "up"
        else f"Page {shown_page(page) if page else ''} has no session now"
    )
    return ConnectionLost(
        f"{what}; wait until it is back (wait_for) and call again.", reason=link.reason or "no_session"
    )


def dialog_blocks(transition: Transition, page: Page, dialog: Dialog, session_id: SessionId | None) -> bool:
    """True if a dialog blocks commands on this session of its page."""
    return _share_process(transition, page, transition.process_of(page, dialog.frame_id), session_id)


def _share_process(transition: Transition, page: Page, one: SessionId | None, other: SessionId | None) -> bool:
    """True if two sessions of a page are on one process: on one target, or on frames of one site.

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
    """Return the dialogs during which a page must not be navigated.

    In a browser without dialog windows, a navigation would block the page for ever or end the browser.
    """
    return tuple(
        dialog.id
        for dialog in page.dialogs
        if not dialog.native
        and dialog.phase in ("open", "answering")
        and dialog.type != "beforeunload"
        and dialog_blocks(transition, page, dialog, session_id)
    )
