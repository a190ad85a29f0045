"""JSON that fits the protocol exactly, and JSON that does not, made from the tables alone.

It covers every item of every domain.

A `random.Random` makes every choice. A property passes the one that Hypothesis draws (`st.randoms()`), so that examples
shrink; a sweep over all items passes one seeded with the item's name, so that it is the same on every run.

An `Item` is anything with fields: an object type, an event, a command's result, and a command's params. Fitting values
are made by type, through aliases and other domains. `Budget` bounds them, since types contain themselves: when it is
used up, optional fields are absent and arrays empty. The fields required even then form a finite value, or no browser
could send it.

Values that do not fit are fitting values changed in a few places, at any depth (`spoil`). Only these exceed the
protocol, so only they contain lone surrogates, unexpected nulls, and integers of any size.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import attrs

from cdp_core.bindings import Value, domain_names
from cdp_core.bindings._catalog import domain_named
from cdp_core.bindings._domain import Domain
from cdp_core.bindings._names import class_name, field_name, result_name
from cdp_core.bindings._tables import Field, parse_field
from cdp_core.sansio.messages import Event
from cdp_core.sansio.structs import Raw

# ── items ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@attrs.frozen
class Item:
    """An object type, an event, a command's result, or a command's params."""

    domain: Domain
    kind: str
    name: str
    """In the protocol's spelling: a type, an event, or a command."""
    texts: tuple[str, ...]

    @property
    def fields(self) -> tuple[Field, ...]:
        return tuple(map(parse_field, self.texts))

    @property
    def place(self) -> str:
        """The name that drift uses."""
        return f"{self.domain.name}.{result_name(self.name) if self.kind == 'result' else self.name}"

    @property
    def python_name(self) -> str:
        return {"object": str, "event": class_name, "result": result_name, "command": field_name}[self.kind](self.name)

    @property
    def made(self) -> Any:
        """The generated class, or the function of a command."""
        return self.domain.get(self.python_name)

    def __str__(self) -> str:
        return f"{self.kind} {self.place}"


def domain(name: str) -> Domain:
    found = domain_named(name)
    assert found is not None
    return found


def items_of(owner: Domain) -> Iterator[Item]:
    """Yield every item of a domain."""
    table = owner.table
    for name, (_marks, *fields) in table.objects.items():
        yield Item(owner, "object", name, tuple(fields))
    for name, (_marks, *fields) in table.events.items():
        yield Item(owner, "event", name, tuple(fields))
    for name, (_marks, params, returns) in table.commands.items():
        yield Item(owner, "command", name, params)
        if returns:
            yield Item(owner, "result", name, returns)


ITEMS = tuple(item for name in sorted(domain_names()) for item in items_of(domain(name)))
VALUES = tuple(item for item in ITEMS if item.kind != "command")
COMMANDS = tuple(item for item in ITEMS if item.kind == "command")


def item_named(place: str) -> Item:
    """Return the value with a name of drift."""
    return next(item for item in VALUES if item.place == place)


# ── fitting values ───────────────────────────────────────────────────────────────────────────────────────────────────

TEXTS = ("", "a", "about:blank", "naïve €", "\U0001f600", "\x00\x1f\x7f", '"\\/', "\u2028", "extra", "x" * 300)
WHOLE = (0, 1, -1, 7, 2**31 - 1, -(2**31), 2**53, 2**63 - 1, -(2**63), 2**64)
BROKEN = (0.5, -0.25, 1e-7, 1.7e308, 5e-324, 1e22, 123456.789)
OPEN = ({}, {"a": 1}, {"": None}, {"frameId": [True, None, {"b": "c"}], "extra": 0.5})
ANYTHING = (None, "", "text", 0, 1.5, True, False, [], [1, [None]], {}, {"type": "x", "value": None})


class Budget:
    """The number of optional parts that may still be made."""

    def __init__(self, parts: int) -> None:
        self.left = parts

    def spend(self) -> bool:
        self.left -= 1
        return self.left > 0


def fitting(chance: Random, item: Item, *, parts: int = 25) -> dict[str, Any]:
    """Return JSON for an item. With no parts, every optional field is absent."""
    return _object(chance, item.domain, item.texts, Budget(parts))


def fitting_type(chance: Random, owner: Domain, kind: str, *, parts: int = 25) -> Any:
    """Return JSON for a type, in the notation of a field of that domain."""
    return _value(chance, owner, kind, Budget(parts))


def _object(chance: Random, owner: Domain, texts: tuple[str, ...], budget: Budget) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for field in map(parse_field, texts):
        if not field.optional or (budget.spend() and chance.randrange(2)):
            found[field.wire] = _value(chance, owner, field.type, budget)
    return found


def _value(chance: Random, owner: Domain, kind: str, budget: Budget) -> Any:
    if kind.startswith("["):
        length = chance.randrange(4) if budget.spend() else 0
        return [_value(chance, owner, kind[1:-1], budget) for _ in range(length)]
    if kind in PLAIN:
        return PLAIN[kind](chance)
    other, _, name = kind.rpartition(".")
    defining = domain(other) if other else owner
    table = defining.table
    if name in table.objects:
        return _object(chance, defining, table.objects[name][1:], budget)
    if name in table.enums:
        return chance.choice(table.enums[name][1:] or TEXTS)
    return _value(chance, defining, table.names[name][1], budget)


PLAIN: dict[str, Callable[[Random], Any]] = {
    "str": lambda chance: chance.choice(TEXTS),
    "int": lambda chance: chance.choice(WHOLE),
    "num": lambda chance: chance.choice(WHOLE + BROKEN),
    "bool": lambda chance: chance.choice((False, True)),
    "obj": lambda chance: copy.deepcopy(chance.choice(OPEN)),
    "any": lambda chance: copy.deepcopy(chance.choice(ANYTHING)),
}


# ── values that do not fit ───────────────────────────────────────────────────────────────────────────────────────────

ODD = (
    *(None, True, False, 0, 1, -7, 1.0, 2.5, -0.0, 1e300, 2**70, -(2**63) - 1, 10**40),
    *("", "toast", "\ud800", "a\udfff", [], [None], [[1]], ["a", 1], {}, {"a": None}, {"type": "\udc80"}),
)
UNKNOWN_NAMES = ("colour", "", "extra", "frame_id", "__dict__", "nulls", "_source", "params", "\ud83d", "x" * 150)


def spoil(chance: Random, fits: dict[str, Any], *, times: int = 3) -> dict[str, Any]:
    """Return a copy with up to `times` places changed."""
    spoiled = copy.deepcopy(fits)
    for _ in range(1 + chance.randrange(times)):
        places = [*_places(spoiled)]
        if places:
            chance.choice(CHANGES)(chance, *chance.choice(places))
        else:
            _add_member(chance, [spoiled], 0)
    return spoiled


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, dict):
        for key in value:
            yield value, key
            yield from _places(value[key])
    elif isinstance(value, list):
        for key, each in enumerate(value):
            yield value, key
            yield from _places(each)


def _put_odd_value(chance: Random, parent: Any, key: Any) -> None:
    parent[key] = copy.deepcopy(chance.choice(ODD))


def _leave_out(_chance: Random, parent: Any, key: Any) -> None:
    if isinstance(parent, dict):
        del parent[key]
    else:
        parent[key] = None


def _put_null(_chance: Random, parent: Any, key: Any) -> None:
    parent[key] = None


def _add_member(chance: Random, parent: Any, key: Any) -> None:
    whole = parent[key] if isinstance(parent[key], dict) else parent
    if isinstance(whole, dict):
        whole[chance.choice(UNKNOWN_NAMES)] = copy.deepcopy(chance.choice(ODD))
    else:
        whole.append(copy.deepcopy(chance.choice(ODD)))


def _alter(_chance: Random, parent: Any, key: Any) -> None:
    if isinstance(parent[key], str):
        parent[key] += "-new"
    elif type(parent[key]) is int:
        parent[key] = float(parent[key])
    else:
        parent[key] = [parent[key]]


def _nest(chance: Random, parent: Any, key: Any) -> None:
    for _ in range(chance.choice((1, 40))):
        parent[key] = chance.choice(([parent[key]], {"children": parent[key]}))


CHANGES = (_put_odd_value, _leave_out, _put_null, _add_member, _alter, _nest)


# ── reading and comparing ────────────────────────────────────────────────────────────────────────────────────────────


def octets(value: Any) -> bytes:
    """Return the JSON as a browser writes it; lone surrogates need an escape."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


def from_octets(kind: type[Value], text: bytes) -> Any:
    """Read a value as an event, which uses the strict rung if one exists."""
    spec = kind.__cdp_spec__
    return spec.event_reader()(Event(method=spec.item, raw=Raw(text)))


def same_json(one: Any, other: Any) -> bool:
    """Return True if two JSON values are equal; 1 and 1.0 are, 1 and true are not."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same_json(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same_json, one, other))
    if isinstance(one, (bool, type(None), str, dict, list)) or isinstance(other, (bool, type(None), str, dict, list)):
        return type(one) is type(other) and one == other
    return bool(one == other)


def has_null(value: Value) -> bool:
    """Return True if any field, at any depth, contains an explicit null."""
    if value.__cdp_spec__.nulls(value):
        return True
    return any(map(_has_null, (getattr(value, name, None) for name in value.__cdp_spec__.by_name)))


def _has_null(shown: Any) -> bool:
    if isinstance(shown, tuple):
        return any(map(_has_null, shown))
    return isinstance(shown, Value) and has_null(shown)
