"""What the parameters of a command must look like, out of the tables of the protocol.

Commands that Chromium has and this browser has not: their parameters are checked all the same, as Chromium does first.

Which targets have which domain was looked at once, method by method; only what differs inside a domain is told apart.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from cdp_core.bindings import _catalog
from cdp_core.bindings._tables import Table, parse_field
from cdp_core.testing.fake.model.dispatch_errors import Shape

BINARY = frozenset(
    (
        ("Browser.setDockTile", "image"),
        ("Fetch.continueRequest", "postData"),
        ("Fetch.continueResponse", "binaryResponseHeaders"),
        ("Fetch.fulfillRequest", "binaryResponseHeaders"),
        ("Fetch.fulfillRequest", "body"),
    )
)
"""Texts that must be base64; the tables do not tell them from others."""
FREE = frozenset((("Network", "Headers"),))
"""Objects whose members may have any name."""
MAX_DEPTH = 4
"""Types hold types of their own kind; nobody is refused for what lies deeper."""


def params_of(method: str) -> dict[str, tuple[Shape, bool]]:
    """The parameters of a method that the protocol has: name → shape, and whether it must be there."""
    domain, _, name = method.partition(".")
    _, params, _ = _table(domain).commands[name]
    fields = _fields(domain, params, MAX_DEPTH)
    return {name: ("binary" if (method, name) in BINARY else shape, needed) for name, (shape, needed) in fields.items()}


def enum_of(domain: str, name: str) -> frozenset[str]:
    """The values of an enumeration; of one that any text is taken for, those that mean something."""
    return frozenset(_table(domain).enums[name]) - {"", "~"}


def _fields(domain: str, texts: tuple[str, ...], depth: int) -> dict[str, tuple[Shape, bool]]:
    return {field.wire: (_shape(domain, field.type, depth), not field.optional) for field in map(parse_field, texts)}


def _shape(domain: str, kind: str, depth: int) -> Shape:
    if kind.startswith("["):
        return [_shape(domain, kind[1:-1], depth)]
    owner, found, name = kind.rpartition(".")
    if found:
        return _shape(owner, name, depth)
    if name == "obj" or (domain, name) in FREE:
        return {}
    table = _table(domain)
    if name in table.names:
        return _shape(domain, table.names[name][1], depth)
    if name in table.enums:
        return "str"  # any text is taken; the command itself may refuse it
    if name in table.objects:
        return _fields(domain, table.objects[name][1:], depth - 1) if depth else "any"
    return name


def _table(domain: str) -> Table:
    found = _catalog.domain_named(domain)
    assert found is not None, domain
    return found.table


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
