"""A session on one target: a page, a frame in a process of its own, a worker."""

from __future__ import annotations

from typing import Any

import trio

from cdp_core.errors import CommandRefused, Gone
from cdp_core.link import Link
from cdp_core.sansio.messages import SessionId, TargetId
from cdp_core.sansio.redaction import shown_id, shown_type
from cdp_core.sansio.router import SessionOpened
from cdp_core.session import Session, SessionStatistics


class PageSession(Session):
    """One session on one target.

    It is usable from the moment the browser announced it, and ends with the target, with its parent session, with
    `detach`, or with the link; what waits on it then ends with the reason.
    """

    def __init__(self, link: Link[PageSession], opened: SessionOpened) -> None:
        super().__init__(link, opened.session_id)
        # The bridge's book-keeping: who holds this session, and whether auto-attach made it, armed it, or must not.
        self.holders = 0
        self.automatic = self.armed = self.fresh = False
        self._opened = opened
        self._waiting_for_debugger = opened.waiting_for_debugger

    @property
    def session_id(self) -> SessionId:
        """CDP's id of this session."""
        return self._opened.session_id

    @property
    def target_id(self) -> TargetId:
        """The target's id; for a frame this is the frame's id too."""
        return self._opened.target_id

    @property
    def target_type(self) -> str:
        """`"page"`, `"iframe"`, `"worker"`, ..."""
        return self._opened.target_type

    @property
    def parent(self) -> SessionId | None:
        """The session below which this one was opened; None for the root."""
        return self._opened.parent

    @property
    def waiting_for_debugger(self) -> bool:
        """Whether the target was paused at its first instruction and has not been resumed through here."""
        return self._waiting_for_debugger

    @property
    def open(self) -> bool:
        """Whether commands can still be sent."""
        return self._loss is None

    def resume(self, *, joined: bool = False) -> None:
        """Let a paused target run.

        Sent whether or not it said that it waits: a popup announced as running blocks its opener all the same until
        this was sent (fact 7).
        """
        self._waiting_for_debugger = False
        self._start("Runtime.runIfWaitingForDebugger", None, joined=joined).on_end()

    async def detach(self) -> None:
        """Give up one hold on this session; the last holder ends it. A session of auto-attach is ended by its bridge.

        Idempotent: a session that has ended already is what was wanted.
        """
        self.holders = max(self.holders - 1, 0)
        if self.holders or self.automatic or self._loss is not None:
            await trio.lowlevel.checkpoint()
            return
        self.fresh = True  # nobody else is given a session that is about to end
        try:
            await self._parent_session().send("Target.detachFromTarget", {"sessionId": self.session_id})
        except (CommandRefused, Gone):
            if self.open:
                raise

    def statistics(self) -> SessionStatistics:
        """Counts so far."""
        return self.session_statistics()

    def _parent_session(self) -> Session:
        parent: Any = self._link.sessions.get(self.parent) if self.parent is not None else None
        return parent if isinstance(parent, Session) else Session(self._link, None)

    def __repr__(self) -> str:
        state = "open" if self._loss is None else self._loss.reason
        target = f"{shown_type(self.target_type)} {shown_id(self.target_id)}"
        return f"<PageSession {target} session {shown_id(self.session_id)} {state}>"
