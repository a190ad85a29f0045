"""Shared use of one connection: discovery, auto-attach, domains and sessions, and giving them back.

The target bridge of the connection does discovery, auto-attach and resuming, and domains are leased: so no user of the
connection undoes what another one needs. After `release` the connection is as it was before.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, suppress

from cdp_core import BrowserSession, CdpError, Output, SessionId
from cdp_supervisor.sansio.effects import AutoAttach, Detach, Discover, Enable, Resume


class SharedLink:
    """One connection, while this supervisor uses it."""

    def __init__(self, browser: BrowserSession, *, owned: bool) -> None:
        self._browser = browser
        self._owned = owned
        self._opened: list[SessionId] = []
        self._leases: dict[SessionId, dict[str, Callable[[], None]]] = {}
        self._resumed: set[SessionId] = set()
        self._held = ExitStack()

    def tap(self, on_output: Callable[[Output], None]) -> tuple[Output, ...]:
        """Tap a link that other code opened; returns the outputs for the sessions that are open already."""
        return self._held.enter_context(self._browser.tap(on_output))

    def share(self, effect: Discover | AutoAttach | Enable | Resume | Detach) -> None:
        """Perform an effect that concerns every user of this connection."""
        if isinstance(effect, Discover):
            discovery = self._browser.targets.subscribe_latest(capacity=1)
            self._held.callback(discovery.close)
        elif isinstance(effect, AutoAttach) and effect.session_id is None:
            self._held.callback(self._browser.targets.hold_auto_attach())
        elif isinstance(effect, Enable):
            self._enable(effect)
        elif isinstance(effect, Resume):
            self._resume(effect)
        elif isinstance(effect, Detach) and self._owned:
            self._detach(effect)

    def opened(self, session_id: SessionId) -> None:
        """Note a session that the supervisor opened with `Target.attachToTarget`, so that `release` ends it."""
        self._opened.append(session_id)

    def session_closed(self, session_id: SessionId) -> None:
        """Forget a session that ended: its leases ended with it."""
        self._leases.pop(session_id, None)
        self._resumed.discard(session_id)

    def release(self) -> None:
        """Give everything back. Idempotent."""
        for releases in self._leases.values():
            for release in releases.values():
                release()
        self._leases.clear()
        self._held.close()
        opened, self._opened = self._opened, []
        if self._browser.targets.statistics().auto_attach_holders:
            return  # another user of auto-attach was given these sessions as well
        for session_id in opened:
            session = self._browser.sessions.get(session_id)
            if session is not None and not session.holders:
                with suppress(CdpError):
                    self._browser.send_nowait("Target.detachFromTarget", {"sessionId": session_id}).on_end()

    def _enable(self, effect: Enable) -> None:
        """Lease a domain; if it is leased, send `enable` again, since a new renderer may not have it."""
        session = self._browser.sessions.get(effect.session_id)
        if session is None:
            return
        leases = self._leases.setdefault(effect.session_id, {})
        if effect.domain in leases:
            session.send_nowait(f"{effect.domain}.enable").on_end()
        else:
            leases[effect.domain] = session.lease(effect.domain)

    def _resume(self, effect: Resume) -> None:
        """Resume a session again after a crash; the bridge resumes each session only once, when it opens."""
        session = self._browser.sessions.get(effect.session_id)
        if session is not None and effect.session_id in self._resumed:
            session.resume()
        elif session is not None:
            self._resumed.add(effect.session_id)

    def _detach(self, effect: Detach) -> None:
        """Detach a session that is out of scope, unless other code on this link uses auto-attach too."""
        browser = self._browser
        session = browser.sessions.get(effect.session_id)
        if session is None or browser.targets.statistics().auto_attach_holders > 1:
            return
        session.armed = True  # the bridge needs no setup for a session that ends
        session.resume()
        parent = browser if effect.parent is None else browser.sessions.get(effect.parent)
        if parent is not None:
            parent.send_nowait("Target.detachFromTarget", {"sessionId": effect.session_id}).on_end()
