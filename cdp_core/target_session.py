"""A session on one target: a page, a frame in a process of its own, a worker."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import trio

from cdp_core.errors import CommandRefused, Gone, TargetCrashed
from cdp_core.link import Link
from cdp_core.navigating import navigate, wait_for_load_state
from cdp_core.sansio.messages import SessionId, TargetId
from cdp_core.sansio.navigation import Navigation, WaitUntil
from cdp_core.sansio.redaction import shown_id, shown_type
from cdp_core.sansio.router import SessionOpened
from cdp_core.session import Session, SessionStatistics


class PageSession(Session):
    """A session on one target, whatever the target's type.

    It is usable from the moment the browser announced it, and ends with the target, with its parent session, with
    `detach`, or with the link. Everything that waits on it then ends with the reason.
    """

    def __init__(self, link: Link[PageSession], opened: SessionOpened) -> None:
        super().__init__(link, opened.session_id)
        # The bridge's bookkeeping: how many callers hold this session, and whether auto-attach made it, armed it, or
        # must leave it alone.
        self.holders = 0
        self.automatic = self.armed = self.fresh = False
        self._opened = opened
        self._waiting_for_debugger = opened.waiting_for_debugger

    @property
    def session_id(self) -> SessionId:
        """The protocol's sessionId of this session."""
        return self._opened.session_id

    @property
    def target_id(self) -> TargetId:
        """The targetId; for a frame this is also its frameId."""
        return self._opened.target_id

    @property
    def target_type(self) -> str:
        """The type of the target: `"page"`, `"iframe"`, `"worker"`, ..."""
        return self._opened.target_type

    @property
    def parent(self) -> SessionId | None:
        """The sessionId of the session on which this one was opened; None for the root session."""
        return self._opened.parent

    @property
    def waiting_for_debugger(self) -> bool:
        """True if the target was paused at its first instruction and was not resumed on this session."""
        return self._waiting_for_debugger

    @property
    def open(self) -> bool:
        """True while commands can be sent."""
        return self._loss is None

    def resume(self, *, joined: bool = False) -> None:
        """Let a paused target run.

        This is sent even if the target was not announced as paused: a popup announced as running blocks its opener
        all the same until it was sent (fact 7). A target that has crashed has nothing to resume.
        """
        self._waiting_for_debugger = False
        with suppress(TargetCrashed):
            self._start("Runtime.runIfWaitingForDebugger", None, joined=joined).on_end()

    async def navigate(
        self,
        url: str,
        /,
        *,
        wait_until: WaitUntil = "load",
        timeout: float | None = 30.0,  # noqa: ASYNC109 - its error says how far the navigation came
    ) -> Navigation:
        """Navigate, and wait until the new document has loaded as far as `wait_until` says.

        A status such as 404 is no failure: see `Navigation.status`. A navigation within the document returns at once. If
        the caller is cancelled, nothing is stopped in the browser.

        Raises NavigationFailed; NavigationTimedOut, with how far it came; NavigationBlocked at a dialog, whose `wait`
        waits on; and what `send` raises.
        """
        return await navigate(self, url, wait_until, timeout)

    async def wait_for_load_state(
        self,
        state: WaitUntil = "load",
        /,
        *,
        timeout: float | None = 30.0,  # noqa: ASYNC109 - its error says how far the document came
    ) -> None:
        """Wait until the document that the page shows has come so far; at once if it has already.

        If another document takes its place, that one is waited for. Raises NavigationTimedOut, NavigationBlocked at a
        dialog, and what `send` raises.
        """
        await wait_for_load_state(self, state, timeout)

    async def detach(self) -> None:
        """Give up one hold on this session; the last holder ends it. Idempotent.

        A session that auto-attach made is ended by its bridge. A session that has ended already raises nothing.
        """
        self.holders = max(self.holders - 1, 0)
        if self.holders or self.automatic or self._loss is not None:
            await trio.lowlevel.checkpoint()
            return
        self.fresh = True  # `attach` must not return a session that is about to end
        try:
            await self._parent_session().send("Target.detachFromTarget", {"sessionId": self.session_id})
        except (CommandRefused, Gone):
            if self.open:
                raise

    def statistics(self) -> SessionStatistics:
        """Return the counts so far."""
        return self.session_statistics()

    def _crash_of(self, method: str, what: str) -> Callable[[], BaseException] | None:
        if method.startswith(("Inspector.", "Target.")):  # the browser process sends them about the crash itself
            return None
        target = f"{shown_type(self.target_type)} {shown_id(self.target_id)}"
        return lambda: TargetCrashed(
            f"The {target} crashed before {what}; reload or navigate the page to use it again.",
            reason="crashed",
            session_id=self.session_id,
            target_id=self.target_id,
        )

    def _parent_session(self) -> Session:
        parent: Any = self._link.sessions.get(self.parent) if self.parent is not None else None
        return parent if isinstance(parent, Session) else Session(self._link, None)

    def __repr__(self) -> str:
        state = "open" if self._loss is None else self._loss.reason
        target = f"{shown_type(self.target_type)} {shown_id(self.target_id)}"
        return f"<PageSession {target} session {shown_id(self.session_id)} {state}>"
