"""The warning of a wait for events that cannot come.

An event of a domain that nothing enabled, or with a misspelt name, never comes. After QUIET seconds without a first event it is explained once, and goes on, since a
browser may know events that these bindings do not. Every other silence is normal.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any, Final

from cdp_core.expectations import QUIET
from cdp_core.link import Link
from cdp_core.sansio.messages import SessionId
from cdp_core.sansio.redaction import shown_id, shown_method
from cdp_core.warnings_shown import warn

WITHOUT_ENABLE: Final = frozenset(
    (
        "HeapProfiler.addHeapSnapshotChunk",
        "HeapProfiler.reportHeapSnapshotProgress",
        "Page.lifecycleEvent",
        "Page.screencastFrame",
        "Page.screencastVisibilityChanged",
        "Runtime.bindingCalled",
    )
)
"""Events that come without the `enable` of their domain (fact 96)."""
DOMAINS_WITHOUT_ENABLE: Final = ("DOM", "Inspector")
"""Domains of which all events do: `DOM.getDocument` is enough, and `Inspector` reports crashes to every session."""


def explain(link: Link[Any], session_id: SessionId | None, methods: tuple[str, ...]) -> None:
    """Warn of each event that cannot come to this session; called in the task that waits for them."""
    for method in methods:
        why = _why(link, session_id, method)
        if why:
            warn(f"{shown_method(method)} has not come for {QUIET:g} s: {why}")


def _why(link: Link[Any], session_id: SessionId | None, method: str) -> str:
    from cdp_core.bindings._catalog import domain_named, has_event  # noqa: PLC0415 - imports stay cheap
    from cdp_core.bindings._drift import has_arrived  # noqa: PLC0415
    from cdp_core.bindings._version import EVENTS  # noqa: PLC0415

    domain = method.partition(".")[0]
    if not has_event(method):
        if has_arrived(method):
            return ""
        near = ", ".join(get_close_matches(method, EVENTS, n=3))
        return f"no known domain has this event{f'; did you mean {near}' if near else ''}? The wait goes on."
    found = domain_named(domain)
    if (
        found is None
        or "enable" not in found.table.commands
        or domain in DOMAINS_WITHOUT_ENABLE
        or method in WITHOUT_ENABLE
        or link.domains.is_on(session_id, domain)
    ):
        return ""
    return (
        f"nothing has enabled {domain} on session {shown_id(session_id)}; wait for it within enabled('{domain}'), or "
        f"send {domain}.enable first. The wait goes on."
    )
