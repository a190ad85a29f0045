"""What belongs to a connection and to all who use it: discovery, auto-attach, domains, sessions, and giving them back.

Auto-attach, discovery and resuming are the bridge's of that connection, and domains are leased: nobody undoes what another
one needs. When it is let go, what is left is what was there before.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, suppress

from cdp_core import BrowserSession, CdpError, Output, SessionId
from cdp_supervisor.sansio.effects import AutoAttach, Detach, Discover, Enable, Resume


class SharedLink:
    """One connection, as long as it is used here."""

    def __init__(self, browser: BrowserSession, *, owned: bool) -> None:
        self._browser = browser
        self._owned = owned
        self._opened: list[SessionId] = []
        self._leases: dict[SessionId, dict[str, Callable[[], None]]] = {}
        self._resumed: set[SessionId] = set()
        self._held = ExitStack()

    def tap(self, on_output: Callable[[Output], None]) -> tuple[Output, ...]:
        """Hear of everything on a link that somebody else opened; what is open already is returned."""
        return self._held.enter_context(self._browser.tap(on_output))

    def share(self, effect: Discover | AutoAttach | Enable | Resume | Detach) -> None:
        """Carry out what others on this connection need as well, or must not be hurt by."""
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
        """A session was opened here by name, so it is ended here too."""
        self._opened.append(session_id)

    def session_closed(self, session_id: SessionId) -> None:
        """Its leases have ended with it."""
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
            return  # whoever else attaches to everything has been given these sessions as well
        for session_id in opened:
            session = self._browser.sessions.get(session_id)
            if session is not None and not session.holders:
                with suppress(CdpError):
                    self._browser.send_nowait("Target.detachFromTarget", {"sessionId": session_id}).on_end()

    def _enable(self, effect: Enable) -> None:
        """Lease a domain; or, where that was done and its renderer may not have heard of it, say it again."""
        session = self._browser.sessions.get(effect.session_id)
        if session is None:
            return
        leases = self._leases.setdefault(effect.session_id, {})
        if effect.domain in leases:
            session.send_nowait(f"{effect.domain}.enable").on_end()
        else:
            leases[effect.domain] = session.lease(effect.domain)

    def _resume(self, effect: Resume) -> None:
        """The bridge lets each session go on by itself, once; what comes back after a crash has to be told again."""
        session = self._browser.sessions.get(effect.session_id)
        if session is not None and effect.session_id in self._resumed:
            session.resume()
        elif session is not None:
            self._resumed.add(effect.session_id)

    def _detach(self, effect: Detach) -> None:
        """End a session that is out of scope, unless somebody else attaches to everything on this link of ours."""
        browser = self._browser
        session = browser.sessions.get(effect.session_id)
        if session is None or browser.targets.statistics().auto_attach_holders > 1:
            return
        session.armed = True  # the bridge has nothing to do with a session that ends
        session.resume()
        parent = browser if effect.parent is None else browser.sessions.get(effect.parent)
        if parent is not None:
            parent.send_nowait("Target.detachFromTarget", {"sessionId": effect.session_id}).on_end()
