"""The shapes of command parameters, from the protocol's tables, and which targets take a command.

Commands that Chromium has and the fake does not model are included: Chromium checks their parameters first, and so
does the fake. The types of target that take a command were determined once, method by method; the tables list whole
domains, and single methods only if they differ from their domain.
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
"""Parameters that must be base64; the protocol's tables list them as plain strings."""
FREE = frozenset((("Network", "Headers"),))
"""Objects whose members may have any name."""
MAX_DEPTH = 4
"""Levels of nested objects that are checked; the limit is needed since types can contain themselves."""


def params_of(method: str) -> dict[str, tuple[Shape, bool]]:
    """Return the parameters of a method of the protocol: name → shape, and whether it is required."""
    domain, _, name = method.partition(".")
    _, params, _ = _table(domain).commands[name]
    fields = _fields(domain, params, MAX_DEPTH)
    return {name: ("binary" if (method, name) in BINARY else shape, needed) for name, (shape, needed) in fields.items()}


def enum_of(domain: str, name: str) -> frozenset[str]:
    """Return the values of an enumeration; for an open one, the values that have a meaning."""
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
        return "str"  # any string fits; the command itself may refuse it
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
    """Return whether Chromium takes a method on a target of this type."""
    domain, found, name = method.partition(".")
    known = _catalog.domain_named(domain) if found and domain in _catalog.domain_names() else None
    if known is None or name not in known.table.commands or method in REFUSED_METHODS:
        return False
    if kind == "browser":
        return (domain in ROOT_DOMAINS and method != "IO.resolveBlob") or method in ROOT_METHODS
    return kind in ("page", "iframe") and domain not in NON_PAGE_DOMAINS
