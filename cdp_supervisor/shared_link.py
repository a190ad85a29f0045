"""Shared use of one connection: discovery, auto-attach, domains and sessions, and giving them back.

The target bridge of the connection does discovery and auto-attach, and domains are leased: so no user of the connection
undoes what another one needs. What another user makes needless is not sent; apart from that, the commands are those of
`commands_of`, in the order of the effects. After `release` the connection is as it was before.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

from cdp_core import BrowserSession, Output, PageSession, SessionId
from cdp_core.sansio.target_table import ATTACH_RUNNING, AUTO_ATTACH
from cdp_supervisor.performing import Shared
from cdp_supervisor.sansio.effects import AutoAttach, Detach, Discover, Enable, Release, Resume


class SharedLink:
    """One connection, while this supervisor uses it."""

    def __init__(self, browser: BrowserSession, *, owned: bool) -> None:
        self._browser = browser
        self._owned = owned
        self._leases: dict[SessionId, dict[str, Callable[[], None]]] = {}
        # The sessions that this supervisor armed: True once their targets were resumed.
        self._armed: dict[SessionId, bool] = {}
        self._held = ExitStack()

    def tap(self, on_output: Callable[[Output], None]) -> tuple[Output, ...]:
        """Tap a link that other code opened; returns the outputs for the sessions that are open already."""
        return self._held.enter_context(self._browser.tap(on_output))

    def share(self, effect: Shared) -> None:
        """Perform an effect that concerns every user of this connection."""
        if isinstance(effect, Release):
            self._release(effect)
        elif isinstance(effect, Discover):
            discovery = self._browser.targets.subscribe_latest(capacity=1)
            self._held.callback(discovery.close)
        elif isinstance(effect, AutoAttach) and effect.session_id is None:
            self._held.callback(self._browser.targets.hold_auto_attach())
        elif isinstance(effect, Detach):
            self._detach(effect)
        elif effect.session_id is not None and (session := self._browser.sessions.get(effect.session_id)) is not None:
            if isinstance(effect, Enable):
                self._enable(session, effect.domain)
            elif isinstance(effect, Resume):
                self._resume(session)
            elif effect.wait:
                self._arm(session)
            elif not session.armed:  # else it is armed by another user of this link, who also wants what is below it
                session._start("Target.setAutoAttach", ATTACH_RUNNING, bounded=False).on_end()

    def session_closed(self, session_id: SessionId) -> None:
        """Forget a session that ended: its leases ended with it."""
        self._leases.pop(session_id, None)
        self._armed.pop(session_id, None)

    def release(self) -> None:
        """Give everything back. Idempotent."""
        self._held.close()
        leases, self._leases = self._leases, {}
        if not self._owned:
            for session_id, releases in leases.items():
                session = self._browser.sessions.get(session_id)
                if session is not None and (not session.automatic or self._others()):  # it outlives this supervisor
                    for release in releases.values():
                        release()

    def _release(self, effect: Release) -> None:
        self.release()
        for session_id in effect.sessions:
            session = self._browser.sessions.get(session_id)
            if session is not None and not session.holders and not self._others():
                self._browser.send_nowait("Target.detachFromTarget", {"sessionId": session_id}).on_end()

    def _others(self) -> int:
        """Return the number of users of auto-attach: they were given the same sessions."""
        return self._browser.targets.statistics().auto_attach_holders

    def _enable(self, session: PageSession, domain: str) -> None:
        """Lease a domain; if it is leased, send `enable` again, since a new renderer may not have it."""
        leases = self._leases.setdefault(session.session_id, {})
        if domain in leases:
            session._start(f"{domain}.enable", None, bounded=False, leased=True).on_end()
        else:
            leases[domain] = session.lease(domain, retry=False)

    def _arm(self, session: PageSession) -> None:
        """Arm a session, or again after a crash; one that another user armed has all it needs."""
        if not session.armed:
            self._armed[session.session_id] = False
            self._browser.targets.arm(session)
        elif session.session_id in self._armed:
            session.send_nowait("Target.setAutoAttach", AUTO_ATTACH, bounded=False).on_end()

    def _resume(self, session: PageSession) -> None:
        """Resume a target, unless the bridge arms it for another user and resumes it itself."""
        targets, resumed = self._browser.targets, self._armed.get(session.session_id)
        if resumed is False:
            targets.let_run(session)
        elif resumed:
            session.resume()
        elif self._may_decide(session):
            targets.claim(session)
            session.resume()
        else:
            return
        self._armed[session.session_id] = True

    def _may_decide(self, session: PageSession) -> bool:
        """True if no other user of this link decides about a session that is not armed."""
        under_way = self._browser.targets.attach_under_way(session.target_id)
        return not session.armed and self._others() == 1 and not under_way

    def _detach(self, effect: Detach) -> None:
        """Detach a session that is of no use, unless other code on this link uses it."""
        browser = self._browser
        session = browser.sessions.get(effect.session_id)
        if session is None or session.holders or self._others() > 1:
            return
        browser.targets.claim(session)
        parent = browser if effect.parent is None else browser.sessions.get(effect.parent)
        if parent is not None:
            parent.send_nowait("Target.detachFromTarget", {"sessionId": effect.session_id}, bounded=False).on_end()
