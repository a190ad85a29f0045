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
from cdp_supervisor.sansio.transition import Turn

__all__ = [
    "ANSWERED_BY_BROWSER",
    "DECIDED_BY_LEAVING",
    "NAVIGATIONS",
    "Place",
    "answered_meanwhile",
    "check_free",
    "down",
    "place_of",
    "session_of",
    "stops",
    "windowless",
    "wrong_timeout",
]

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
IN_A_CONTEXT: Final = frozenset(("Runtime.evaluate", "Runtime.callFunctionOn"))
ANSWER: Final = "Page.handleJavaScriptDialog"
NAVIGATIONS: Final = frozenset(("Page.navigate", "Page.reload", "Page.navigateToHistoryEntry", "Page.close"))
DECIDED_BY_LEAVING: Final = frozenset(("Page.navigate", "Page.navigateToHistoryEntry"))
"""What is answered only when the `beforeunload` dialog that it brings up is (fact 21)."""
WHEN_BLOCKED: Final = ("raise", "wait")


@attrs.frozen(kw_only=True)
class Place:
    """Where a command goes."""

    session_id: SessionId | None
    page: Page | None
    params: Mapping[str, Any] | None
    there: bool = True
    """Whether it can be sent: the scripts of a frame may have nowhere to run yet."""


def place_of(turn: Turn, question: Call) -> Place:
    """Where a call goes. Raises what is wrong with it, or that nobody is there."""
    state = turn.state
    _check(question)
    if question.method == ANSWER:
        raise InvalidArgument(f"{ANSWER} is sent by respond_to_dialog: only so is it known whose answer a dialog got.")
    if state.link.phase != "up":
        raise down(turn, None)
    if question.session_id is not None:
        session_id = SessionId(question.session_id)
        if session_id not in state.sessions:
            raise UnknownTarget(question.session_id, known=list(state.sessions))
        return Place(session_id=session_id, page=turn.page_of(session_id), params=question.params)
    if question.frame_id is not None:
        return _place_in_frame(turn, question, question.frame_id)
    if question.target_id is not None:
        return _place_on_target(turn, question, TargetId(question.target_id))
    if question.method.partition(".")[0] in BROWSER_DOMAINS:
        return Place(session_id=None, page=None, params=question.params)
    page = focused_page(state)
    if page is None:
        raise AmbiguousTarget(page_ids(turn))
    if state.focus is None:
        turn.put(only=page.id)
    return _place_on_target(turn, question, page.id)


def _check(question: Call) -> None:
    if not isinstance(question.method, str) or not question.method:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidArgument("A command's method must be a string such as 'Page.navigate'.")
    if question.when_blocked not in WHEN_BLOCKED:
        raise InvalidArgument(f"when_blocked must be one of {', '.join(WHEN_BLOCKED)}, not {question.when_blocked!r}.")
    wrong = wrong_timeout(question.timeout)
    if wrong is not None:
        raise wrong
    named = [each for each in (question.frame_id, question.target_id, question.session_id) if each is not None]
    if len(named) > 1:
        raise InvalidArgument("Give one of frame_id, target_id and session_id: each says by itself where a call goes.")


def _place_on_target(turn: Turn, question: Call, target_id: TargetId) -> Place:
    page = turn.page(target_id)
    session_id = turn.state.primary_on.get(target_id) if page is None else page.session_id
    if page is None and session_id is None:
        raise UnknownTarget(target_id, known=page_ids(turn))
    if session_id is None:
        raise down(turn, page)
    return Place(session_id=session_id, page=page or turn.page_of(session_id), params=question.params)


def _place_in_frame(turn: Turn, question: Call, frame_id: str) -> Place:
    for page in turn.state.pages.values():
        frame = page.frames.get(frame_id)
        if frame is not None:
            return _place_of_frame(turn, question, page, frame)
    raise UnknownFrame(frame_id, known=[each for page in turn.state.pages.values() for each in [*page.frames][:6]])


def _place_of_frame(turn: Turn, question: Call, page: Page, frame: Frame) -> Place:
    attachment = None if frame.session_id is None else turn.state.sessions.get(frame.session_id)
    if attachment is None:
        raise down(turn, page)
    if attachment.target_id == frame.id:
        return Place(session_id=attachment.session_id, page=page, params=question.params)
    if question.method not in IN_A_CONTEXT:
        hint = "reach it through `contentDocument` in a script of the frame above, or with Runtime.evaluate in it"
        raise FrameSharesProcess(frame.id, method=question.method, hint=hint)
    params = {"uniqueContextId": context_of(page, frame), **(question.params or {})}
    return Place(session_id=attachment.session_id, page=page, params=params, there=params["uniqueContextId"] != "")


def check_free(turn: Turn, question: Call, place: Place) -> None:
    """Raises what stops a call that is not sent for that reason."""
    page = place.page
    if page is None:
        return
    if question.method in NAVIGATIONS:
        there = windowless(turn, page, place.session_id)
        if question.method in DECIDED_BY_LEAVING:
            there += tuple(each.id for each in page.dialogs if each.type == "beforeunload" and each.phase == "open")
        if there:
            raise BlockedByDialog(there, method=question.method)
    elif page.crashed is not None and page.session_id == place.session_id:
        raise TargetCrashed(  # nothing is answered before a reload (fact 49)
            f"Page {page.id[:8]} has crashed, so {question.method} was not sent; reload or navigate it first.",
            reason="crashed",
            session_id=place.session_id or "",
            target_id=page.id,
        )
    if answered_meanwhile(question.method):
        return
    stopping = tuple(
        dialog.id for dialog in page.dialogs if dialog.phase != "closed" and stops(turn, page, dialog, place.session_id)
    )
    if stopping and question.when_blocked == "raise":
        raise BlockedByDialog(stopping, method=question.method)
    silent = None if place.session_id is None else page.silent.get(place.session_id)
    since = page.blocked if place.session_id == page.session_id else silent
    if since is not None and question.when_blocked == "raise":
        raise PageFrozen(page.id, since=since.wall, why=view_health(turn.state, page).why)


def session_of(state: State, *, target_id: str | None, frame_id: str | None) -> SessionId:
    """The session that a page, a worker or a frame has of its own. Raises what `call` does."""
    turn = Turn(state, NOWHEN)
    question = Call(method="Page.enable", target_id=target_id, frame_id=frame_id)
    place = place_of(turn, question)
    assert place.session_id is not None
    return place.session_id


def answered_meanwhile(method: str) -> bool:
    """Whether the browser answers it while a dialog stops the renderer."""
    return method in ANSWERED_BY_BROWSER or method.partition(".")[0] in ("Input", "Browser")


def wrong_timeout(timeout: float | None) -> InvalidArgument | None:
    """What is wrong with a timeout; None where nothing is."""
    if timeout is None or is_time(timeout):
        return None
    return InvalidArgument(f"timeout must be a positive number of seconds, or None for ever, not {shown(timeout)}.")


def down(turn: Turn, page: Page | None) -> ConnectionLost:
    """Why nothing can be sent there."""
    link = turn.state.link
    what = (
        "The link to the browser is down"
        if link.phase != "up"
        else f"Page {(page.id if page else '')[:8]} has no session now"
    )
    return ConnectionLost(
        f"{what}; wait until it is back (wait_for), and call again.", reason=link.reason or "no_session"
    )


def stops(turn: Turn, page: Page, dialog: Dialog, session_id: SessionId | None) -> bool:
    """Whether a dialog stops what is sent on a session of its page."""
    return _is_together(turn, page, turn.process_of(page, dialog.frame_id), session_id)


def _is_together(turn: Turn, page: Page, one: SessionId | None, other: SessionId | None) -> bool:
    """Whether two sessions of a page are on one process: on one target, or on frames of one site.

    See docs/cdp/frames-of-one-site-share-a-process.md.
    """
    if one is None or other is None or one == other:
        return one == other
    targets = [each.target_id for each in map(turn.state.sessions.get, (one, other)) if each is not None]
    if len(targets) < 2 or targets[0] == targets[1]:
        return len(targets) == 2
    sites = [site_of(frame.url) for frame in map(page.frames.get, targets) if frame is not None]
    return len(sites) == 2 and sites[0] == sites[1] != ""


def windowless(turn: Turn, page: Page, session_id: SessionId | None) -> tuple[str, ...]:
    """The dialogs under which a page must not be navigated: it freezes for good, or the browser ends.

    So it is where the browser has no window for dialogs.
    """
    return tuple(
        dialog.id
        for dialog in page.dialogs
        if not dialog.native
        and dialog.phase in ("open", "answering")
        and dialog.type != "beforeunload"
        and stops(turn, page, dialog, session_id)
    )
