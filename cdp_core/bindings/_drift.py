"""Where the browser and the bindings disagree: counted for each item, raised only in strict mode.

A browser is newer or older than the protocol that the bindings were made of. What it sends besides, leaves out, or
sends in another type is never a reason to lose a message (docs/cdp/drift-is-counted-not-raised.md): it is counted here,
and `drift()` tells it. The counts are those of this process, whatever connection they came from.

An event that the bindings do not know is counted when it arrives over a link, whether or not somebody listens
(`_arrivals.py`); who parses it then adds nothing.

The number of places is bounded, because a peer chooses the names; what does not fit is counted together, under `…`.
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
"""Events that are unknown, and that links tell of."""
_strict = 0


@attrs.frozen(kw_only=True)
class DriftReport:
    """How often the browser and the bindings disagreed so far; each mapping is place → count.

    A place is written as in the protocol: `Page.Frame.urlFragment`, `Page.frameResized`, and for a member of an
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
        """All of it."""
        return sum(sum(counts.values()) for counts in attrs.astuple(self, recurse=False))

    def __bool__(self) -> bool:
        return self.total > 0

    def __reduce__(self) -> tuple[Any, ...]:
        # By hand, since neither pickle nor copy takes a mapping that cannot be written to.
        return _report, ({name: dict(counts) for name, counts in attrs.asdict(self, recurse=False).items()},)


def drift() -> DriftReport:
    """What was counted since the start of the process, or since `forget_drift`."""
    return _report({kind: dict(counts) for kind, counts in _counts.items()})


def _report(counts: Mapping[Any, Mapping[str, int]]) -> DriftReport:
    return DriftReport(**{kind: MappingProxyType(each) for kind, each in counts.items()})


def forget_drift() -> None:
    """Begin to count anew."""
    for counts in _counts.values():
        counts.clear()
    _arrived.clear()


@contextmanager
def strict() -> Generator[None, None, None]:
    """For tests: for the block, in every thread, a disagreement raises BindingDrift where it is met."""
    global _strict  # noqa: PLW0603 - readers run in any task and thread
    _strict += 1
    try:
        yield
    finally:
        _strict -= 1


def count(kind: Kind, item: str, name: str = "") -> None:
    """One disagreement more. Raises BindingDrift in strict mode."""
    item, name = item[:MAX_NAME], name[:MAX_NAME]
    _add(kind, item if not name else f"{item}{'=' if kind == 'unknown_members' else '.'}{name}")
    if _strict:
        raise _error(kind, item, name)


def count_unknown(method: str) -> None:
    """An item that the bindings do not know was to be read. Raises BindingDrift in strict mode."""
    method = method[:MAX_NAME]
    if method not in _arrived:
        _add("unknown_items", method)
    if _strict:
        raise _error("unknown_items", method, "")


def count_arrival(method: str) -> None:
    """An event that the bindings do not know came over a link. Never raises: whoever reads it hears of strict mode."""
    method = method[:MAX_NAME]
    _add("unknown_items", method)
    if len(_arrived) < MAX_PLACES:
        _arrived.add(method)


def _add(kind: Kind, key: str) -> None:
    counts = _counts[kind]
    if key not in counts and len(counts) >= MAX_PLACES:
        key = OTHERS
    counts[key] = counts.get(key, 0) + 1


def _error(kind: Kind, item: str, name: str) -> BindingDrift:
    text = _TEXTS[kind] if name else _TEXTS[kind].replace(".{1}", "")  # the value itself, and none of its fields
    return BindingDrift(text.format(item, name) + ".", item=item, field=name)
