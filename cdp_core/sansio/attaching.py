"""Attach decisions as values: which session is armed, which one ends, in which order.

* Each session that opens while auto-attach is held is armed once. Its target is resumed after everything else that its
  session gets, and always: without a resume it waits for ever (fact 7).
* One session per target is armed. A second one is resumed and ended, since it would repeat every event (fact 47),
  unless its opener asked for a session of its own (`fresh`).
* A session whose opener stopped waiting for it has no holder, and is ended.

`Attaching` reads and writes the facts of the link's sessions; it sends nothing. An order of a link that has ended is void.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

from cdp_core.sansio.messages import SessionId, TargetId
from cdp_core.sansio.structs import Struct


class Attached(Protocol):
    """The facts of one open session that the decisions read and write."""

    holders: int
    """Callers of `attach` that hold it."""
    automatic: bool
    """True if auto-attach made it, and ends it."""
    armed: bool
    """True once it got its first commands; no other session on its target gets them."""
    fresh: bool
    """True if `attach` must not return it to another caller."""

    @property
    def session_id(self) -> SessionId: ...
    @property
    def target_id(self) -> TargetId: ...
    @property
    def parent(self) -> SessionId | None: ...


class ArmSession(Struct, frozen=True, kw_only=True, gc=False):
    """Send the first commands of a session, have it attach to further targets, then resume its target."""

    session_id: SessionId


class ResumeSession(Struct, frozen=True, kw_only=True, gc=False):
    """Resume the target of a session."""

    session_id: SessionId


class EndSession(Struct, frozen=True, kw_only=True, gc=False):
    """End a session, on the session that announced it; None: on the root session."""

    session_id: SessionId
    parent: SessionId | None


class EndAutoAttach(Struct, frozen=True, kw_only=True, gc=False):
    """End auto-attach on a session; None: on the root session."""

    session_id: SessionId | None


Order = ArmSession | ResumeSession | EndSession | EndAutoAttach


class Attaching:
    """The attach decisions of one link, over its open sessions."""

    def __init__(self, sessions: Mapping[SessionId, Attached]) -> None:
        self._sessions = sessions
        # For each target, its `attach` calls that are not answered: True for a fresh one.
        self._under_way: dict[TargetId, list[bool]] = {}
        self.duplicates_ended = 0

    # ── attach on request ────────────────────────────────────────────────────────────────────────────────────────────

    def begin(self, target_id: TargetId, *, fresh: bool) -> None:
        """Note that a `Target.attachToTarget` of a caller is under way."""
        self._under_way.setdefault(target_id, []).append(fresh)

    def end(self, target_id: TargetId, *, fresh: bool) -> None:
        """Note that it is over."""
        calls = self._under_way[target_id]
        calls.remove(fresh)
        if not calls:
            del self._under_way[target_id]

    def under_way(self, target_id: TargetId) -> bool:
        """True while a caller attaches to this target."""
        return target_id in self._under_way

    def session_on(self, target_id: TargetId, *, besides: SessionId | None = None) -> SessionId | None:
        """Return the session that callers share on a target; None if there is none."""
        for session_id, session in self._sessions.items():
            if session.target_id == target_id and session_id != besides and not session.fresh:
                return session_id
        return None

    def orphaned(self, session_id: SessionId) -> tuple[Order, ...]:
        """Return the orders for a session whose caller was cancelled before it opened."""
        session = self._sessions.get(session_id)
        if session is None or session.holders or session.automatic:
            return ()
        session.fresh = True
        return (EndSession(session_id=session_id, parent=None),)

    # ── auto-attach ──────────────────────────────────────────────────────────────────────────────────────────────────

    def opened(self, session_id: SessionId) -> tuple[Order, ...]:
        """Return the orders for a session that opened while auto-attach is held."""
        session = self._sessions.get(session_id)
        if session is None or session.armed:
            return ()
        target_id = session.target_id
        other = self.session_on(target_id, besides=session_id)
        if other is None:
            session.automatic = not self.under_way(target_id)
            return (self._arm(session),)
        if True in self._under_way.get(target_id, ()):
            session.fresh = True
            return ()
        self.duplicates_ended += 1
        session.fresh = True
        superfluous = (ResumeSession(session_id=session_id), EndSession(session_id=session_id, parent=session.parent))
        first = self._sessions[other]
        return superfluous if first.armed else (*superfluous, self._arm(first))

    def claim(self, session: Attached) -> None:
        """Note that a state machine decides about a session, before `opened` does."""
        session.armed = True
        session.automatic = not session.holders and not self.under_way(session.target_id)

    def over(self) -> Iterator[Order]:
        """Yield the orders for the end of auto-attach; the browser ends the sessions that it made."""
        yield EndAutoAttach(session_id=None)
        for session_id, session in self._sessions.items():
            if session.armed and not session.automatic:
                yield EndAutoAttach(session_id=session_id)
            session.armed = False

    @staticmethod
    def _arm(session: Attached) -> ArmSession:
        session.armed = True
        return ArmSession(session_id=session.session_id)
