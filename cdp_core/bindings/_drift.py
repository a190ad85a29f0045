"""Disagreements between browser and bindings: counted for each item, raised only in strict mode.

A browser is newer or older than the protocol of the bindings. A field that it adds, omits, or sends with another type
is never a reason to lose a message (docs/cdp/drift-is-counted-not-raised.md): it is counted here, and `drift()`
returns the counts. They are those of this process, for all its connections.

An event that the bindings do not know is counted when it arrives over a link, with or without a subscriber
(`_arrivals.py`); parsing it later adds nothing.

The number of items is bounded, because a peer chooses the names; the rest is counted together, under `…`.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, Final, Literal

import attrs

from cdp_core.errors import BindingDrift

Kind = Literal["unknown_fields", "missing_fields", "other_types", "unknown_members", "unknown_items"]

MAX_PLACES: Final = 1000
MAX_NAME: Final = 100
OTHERS: Final = "…"

_TEXTS: Final[Mapping[Kind, str]] = {
    "unknown_fields": "the browser sent the field {0}.{1}, which the bindings do not know",
    "missing_fields": "the browser did not send {0}.{1}, which the bindings require",
    "other_types": "the browser sent {0}.{1} as another type than the bindings have",
    "unknown_members": "the browser sent the member {1!r} of {0}, which the bindings do not know",
    "unknown_items": "the browser sent {0}, which the bindings do not know",
}

_counts: dict[Kind, dict[str, int]] = {kind: {} for kind in _TEXTS}
_arrived: Final[set[str]] = set()
_strict = 0


@attrs.frozen(kw_only=True)
class DriftReport:
    """How often the browser and the bindings disagreed so far; each mapping is item → count.

    An item is written as in the protocol: `Page.Frame.urlFragment`, `Page.frameResized`, and for a member of an
    enumeration `Page.DialogType=toast`.
    """

    unknown_fields: Mapping[str, int]
    missing_fields: Mapping[str, int]
    other_types: Mapping[str, int]
    unknown_members: Mapping[str, int]
    unknown_items: Mapping[str, int]
    """Events, commands and domains."""

    @property
    def total(self) -> int:
        return sum(sum(counts.values()) for counts in attrs.astuple(self, recurse=False))

    def __bool__(self) -> bool:
        return self.total > 0

    def __reduce__(self) -> tuple[Any, ...]:
        # Neither pickle nor copy accepts a MappingProxyType.
        return _report, ({name: dict(counts) for name, counts in attrs.asdict(self, recurse=False).items()},)


def drift() -> DriftReport:
    """Return the counts since the start of the process, or since `forget_drift`."""
    return _report({kind: dict(counts) for kind, counts in _counts.items()})


def _report(counts: Mapping[Any, Mapping[str, int]]) -> DriftReport:
    return DriftReport(**{kind: MappingProxyType(each) for kind, each in counts.items()})


def forget_drift() -> None:
    for counts in _counts.values():
        counts.clear()
    _arrived.clear()


@contextmanager
def strict() -> Generator[None, None, None]:
    """Raise BindingDrift at each disagreement inside the block, in every thread; for tests."""
    global _strict  # noqa: PLW0603 - readers run in any task and thread
    _strict += 1
    try:
        yield
    finally:
        _strict -= 1


def count(kind: Kind, item: str, name: str = "") -> None:
    """Count one disagreement. Raises BindingDrift in strict mode."""
    item, name = item[:MAX_NAME], name[:MAX_NAME]
    _add(kind, item if not name else f"{item}{'=' if kind == 'unknown_members' else '.'}{name}")
    if _strict:
        raise _error(kind, item, name)


def count_unknown(method: str) -> None:
    """Count the parsing of an item that the bindings do not know, unless its arrival was counted.

    Raises BindingDrift in strict mode.
    """
    method = method[:MAX_NAME]
    if method not in _arrived:
        _add("unknown_items", method)
    if _strict:
        raise _error("unknown_items", method, "")


def count_arrival(method: str) -> None:
    """Count the arrival of an event that the bindings do not know.

    Never raises: in strict mode, the code that parses the event gets the error.
    """
    method = method[:MAX_NAME]
    _add("unknown_items", method)
    if len(_arrived) < MAX_PLACES:
        _arrived.add(method)


def has_arrived(method: str) -> bool:
    """Return True if an event that the bindings do not know has arrived."""
    return method in _arrived


def _add(kind: Kind, key: str) -> None:
    counts = _counts[kind]
    if key not in counts and len(counts) >= MAX_PLACES:
        key = OTHERS
    counts[key] = counts.get(key, 0) + 1


def _error(kind: Kind, item: str, name: str) -> BindingDrift:
    text = (
        _TEXTS[kind] if name else _TEXTS[kind].replace(".{1}", "")
    )  # without a field, the text is about the item itself
    return BindingDrift(text.format(item, name) + ".", item=item, field=name)
