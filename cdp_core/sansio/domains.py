"""Which domains are enabled on each session of one link: by leases, or by the embedder's commands.

A domain that the embedder enabled with a command of its own stays enabled when the last lease of it ends, and a wait for
an event of a domain that nothing enabled can be explained.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from cdp_core.sansio.messages import SessionId

ENDINGS: Final = ("able", "EventsEnabled")
"""The ends of the methods that enable or disable something: a quick check before `Domains.sent`."""
LIFECYCLE_EVENTS: Final = "Page.lifecycleEvents"
"""Leased like a domain; it stands for the command below."""
LIFECYCLE_SWITCH: Final = "Page.setLifecycleEventsEnabled"


def switch(domain: str, *, on: bool) -> tuple[str, dict[str, Any] | None]:
    """Return the command that enables or disables a domain, with its params."""
    if domain == LIFECYCLE_EVENTS:
        return LIFECYCLE_SWITCH, {"enabled": on}
    return f"{domain}.{'enable' if on else 'disable'}", None


class Domains:
    """The enabled domains of the sessions of one link."""

    def __init__(self) -> None:
        self._leased: dict[SessionId | None, set[str]] = {}
        self._raw: dict[SessionId | None, set[str]] = {}

    def sent(
        self, session_id: SessionId | None, method: str, params: Mapping[str, Any] | None, *, leased: bool
    ) -> None:
        """Note a command that was sent."""
        domain, _, verb = method.partition(".")
        on = verb == "enable"
        if method == LIFECYCLE_SWITCH:
            domain, on = LIFECYCLE_EVENTS, bool((params or {}).get("enabled"))
        elif verb not in ("enable", "disable"):
            return
        for sets in (self._leased,) if leased else (self._raw,) if on else (self._leased, self._raw):
            enabled = sets.setdefault(session_id, set())
            if on:
                enabled.add(domain)
            else:
                enabled.discard(domain)

    def is_on(self, session_id: SessionId | None, domain: str) -> bool:
        """True if the domain was enabled on the session, and not disabled since."""
        return domain in self._leased.get(session_id, ()) or self.is_raw(session_id, domain)

    def is_raw(self, session_id: SessionId | None, domain: str) -> bool:
        """True if a command of the embedder enabled it."""
        return domain in self._raw.get(session_id, ())

    def closed(self, session_id: SessionId) -> None:
        """Forget a session that ended."""
        self._leased.pop(session_id, None)
        self._raw.pop(session_id, None)
