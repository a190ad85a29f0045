"""The comparison of the bindings with another protocol: two sets of tables, item by item.

Each difference is one line, whatever the peer wrote: `+` only the other protocol has the item, `-` only the bindings
have it, `~` both have it and differ. The marks (experimental, deprecated) count as differences too: they show what may
change next.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

import attrs

from cdp_core.bindings._tables import Field, Table, Texts, parse_field


@attrs.frozen
class Difference:
    """One line of a comparison."""

    sign: str
    path: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.sign} {self.path}" + (f": {self.detail}" if self.detail else "")


@attrs.frozen
class _Item:
    """A command, an event or a type, in one form for the comparison."""

    kind: str
    marks: str
    parts: Mapping[str, Field] = MappingProxyType({})
    members: frozenset[str] = frozenset()
    type: str = ""


def compare(ours: Mapping[str, Table], theirs: Mapping[str, Table]) -> Iterator[Difference]:
    """Yield every difference, in alphabetical order."""
    for name in sorted({*ours, *theirs}):
        if name not in theirs or name not in ours:
            table = ours.get(name) or theirs[name]
            detail = f"domain with {len(table.commands)} commands and {len(table.events)} events"
            yield Difference("-" if name in ours else "+", name, detail)
            continue
        if ours[name].marks != theirs[name].marks:
            yield Difference("~", name, f"domain; {_marks(theirs[name].marks)} there, {_marks(ours[name].marks)} here")
        yield from _compare_items(name, _items(ours[name]), _items(theirs[name]))


def _compare_items(domain: str, ours: Mapping[str, _Item], theirs: Mapping[str, _Item]) -> Iterator[Difference]:
    for name in sorted({*ours, *theirs}):
        own, other = ours.get(name), theirs.get(name)
        label = name.partition(" ")[2]
        path = f"{domain}.{label}"
        if own is None or other is None:
            item = own or other
            assert item is not None
            yield Difference("-" if other is None else "+", path, item.kind + _suffix(item.marks))
            continue
        if own.kind != other.kind or own.type != other.type:
            yield Difference("~", path, f"{_type_text(other)} there, {_type_text(own)} here")
        if own.marks != other.marks:
            kind = own.kind if own.kind == other.kind else "type"
            yield Difference("~", path, f"{kind}; {_marks(other.marks)} there, {_marks(own.marks)} here")
        yield from (Difference("+", f"{path}={_shown(each)}") for each in sorted(other.members - own.members))
        yield from (Difference("-", f"{path}={_shown(each)}") for each in sorted(own.members - other.members))
        yield from _compare_parts(path, own.parts, other.parts)


def _compare_parts(path: str, ours: Mapping[str, Field], theirs: Mapping[str, Field]) -> Iterator[Difference]:
    for name in sorted({*ours, *theirs}):
        own, other = ours.get(name), theirs.get(name)
        if own is None or other is None:
            field = own or other
            assert field is not None
            yield Difference("-" if other is None else "+", f"{path}.{name}", _field(field))
        elif own != other:
            yield Difference("~", f"{path}.{name}", f"{_field(other)} there, {_field(own)} here")


def _items(table: Table) -> dict[str, _Item]:
    """Return types, commands and events by kind and name; params and results are parts of their command."""
    items = {f"type {name}": _Item("type", marks, type=kind) for name, (marks, kind) in table.names.items()}
    items |= {
        f"type {name}": _Item("enumeration", marks, members=frozenset(members))
        for name, (marks, *members) in table.enums.items()
    }
    items |= {f"type {name}": _Item("object", fields[0], _parts(fields[1:])) for name, fields in table.objects.items()}
    items |= {f"event {name}": _Item("event", fields[0], _parts(fields[1:])) for name, fields in table.events.items()}
    items |= {
        f"command {name}": _Item("command", marks, _parts(params) | _parts(returns, "→ "))
        for name, (marks, params, returns) in table.commands.items()
    }
    return items


def _parts(fields: Texts, prefix: str = "") -> dict[str, Field]:
    return {prefix + field.wire: field for field in map(parse_field, fields)}


def _shown(member: str) -> str:
    return member if member.isprintable() else ascii(member)


def _type_text(item: _Item) -> str:
    return f"{item.kind} {item.type}" if item.type else item.kind


_MARK_WORDS: Final = {"~": "experimental", "!": "deprecated"}


def _marks(marks: str) -> str:
    return " and ".join(_MARK_WORDS[mark] for mark in marks) or "neither experimental nor deprecated"


def _suffix(marks: str) -> str:
    return f", {_marks(marks)}" if marks else ""


def _field(field: Field) -> str:
    marks = "~" * field.experimental + "!" * field.deprecated
    return f"{'optional ' if field.optional else ''}{field.type}{_suffix(marks)}"
