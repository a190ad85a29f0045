"""Commands that Chromium has and this browser has not: their parameters are checked all the same, as Chromium does first.

Which targets have which domain was looked at once, method by method; only what differs inside a domain is told apart.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from cdp_core.bindings import _catalog

ROOT_DOMAINS: Final = frozenset(
    ("BluetoothEmulation", "Browser", "Extensions", "Fetch", "IO", "Security", "Storage", "SystemInfo", "Target")
) | {"Tethering", "Tracing"}
ROOT_METHODS: Final = frozenset(
    (
        "Emulation.addScreen",
        "Emulation.getScreenInfos",
        "Emulation.removeScreen",
        "Emulation.setAutomationOverride",
        "Emulation.setPrimaryScreen",
        "Emulation.updateScreen",
        "Memory.getBrowserSamplingProfile",
        "Memory.getDOMCountersForLeakDetection",
        "Memory.setPressureNotificationsSuppressed",
        "Memory.simulatePressureNotification",
    )
)
NON_PAGE_DOMAINS: Final = frozenset(
    ("BluetoothEmulation", "HeadlessExperimental", "PWA", "SmartCardEmulation", "Tethering")
)
REFUSED_METHODS: Final = frozenset(
    (
        "Page.deleteCookie",
        "Storage.clearPrivateVerificationTokens",
        "Storage.deletePrivateVerificationToken",
        "Storage.getPrivateVerificationTokens",
        "Storage.getPrivateVerificationTokensIssuerConfigs",
        "Storage.runBounceTrackingMitigations",
        "Storage.setPrivateVerificationTokensTracking",
    )
)


@lru_cache(maxsize=2048)
def chromium_has(method: str, kind: str) -> bool:
    """Whether a target of this kind takes the command there."""
    domain, found, name = method.partition(".")
    known = _catalog.domain_named(domain) if found and domain in _catalog.domain_names() else None
    if known is None or name not in known.table.commands or method in REFUSED_METHODS:
        return False
    if kind == "browser":
        return (domain in ROOT_DOMAINS and method != "IO.resolveBlob") or method in ROOT_METHODS
    return kind in ("page", "iframe") and domain not in NON_PAGE_DOMAINS
