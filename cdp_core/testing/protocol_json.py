"""The protocol description at a fake browser's `/json/protocol`, made from the bindings' tables.

It is the inverse of `cdp_core.bindings._tables.read_protocol`: the description reads back as the same tables. Tables keep
names, types and marks only, so descriptions are absent, and `binary` is a string. An enumeration that one field uses is
written in that field, as the protocol does, and not as a type.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from cdp_core.bindings._catalog import domain_named, domain_names
from cdp_core.bindings._names import enum_name, result_name
from cdp_core.bindings._tables import PLAIN_TYPES, Table, Texts, parse_field
from cdp_core.sansio.messages import Json

_PLAIN: Mapping[str, str] = {ours: theirs for theirs, ours in PLAIN_TYPES.items() if theirs != "binary"}


@cache
def describe_protocol() -> Json:
    """Return the description of all domains of the bindings."""
    domains = filter(None, map(domain_named, domain_names()))
    return write_protocol(domain.table for domain in domains)


def write_protocol(tables: Iterable[Table]) -> Json:
    """Return the description of the domains with these tables."""
    return {"version": {"major": "1", "minor": "3"}, "domains": [_Writer(table).domain() for table in tables]}


class _Writer:
    """Writes the description of one domain."""

    def __init__(self, table: Table) -> None:
        self._table = table
        uses = [kind for _, _, kind in _typed_fields(table)]
        # The enumerations that are written in their field; one with marks, or with two uses, must be a type.
        self._inline = {
            kind
            for owner, field, kind in _typed_fields(table)
            if kind in table.enums
            and kind == enum_name(owner, field)
            and not table.enums[kind][0]
            and uses.count(kind) == 1
        }

    def domain(self) -> Json:
        """Return the domain in the layout of the protocol."""
        table = self._table
        domain: Json = {"domain": table.name, **_marks(table.marks)}
        types = [*self._types()]
        if types:
            domain["types"] = types
        domain["commands"] = [
            {
                "name": name,
                **_marks(marks),
                **self._fields("parameters", params),
                **self._fields("returns", returns),
            }
            for name, (marks, params, returns) in table.commands.items()
        ]
        if table.events:
            domain["events"] = [
                {"name": name, **_marks(marks), **self._fields("parameters", tuple(fields))}
                for name, (marks, *fields) in table.events.items()
            ]
        return domain

    def _types(self) -> Iterator[Json]:
        table = self._table
        for name, (marks, kind) in table.names.items():
            yield {"id": name, **_marks(marks), **self._type(kind)}
        for name, (marks, *members) in table.enums.items():
            if name not in self._inline:
                yield {"id": name, **_marks(marks), "type": "string", "enum": members}
        for name, (marks, *fields) in table.objects.items():
            properties = self._fields("properties", tuple(fields)) or {"properties": []}
            yield {"id": name, **_marks(marks), "type": "object", **properties}

    def _fields(self, key: str, texts: Texts) -> Json:
        items: list[Json] = []
        for field in map(parse_field, texts):
            item: Json = {"name": field.wire}
            item.update(_marks("~" * field.experimental + "!" * field.deprecated))
            if field.optional:
                item["optional"] = True
            items.append({**item, **self._type(field.type)})
        return {key: items} if items else {}

    def _type(self, kind: str) -> Json:
        if kind.startswith("["):
            return {"type": "array", "items": self._type(kind[1:-1])}
        if kind in _PLAIN:
            return {"type": _PLAIN[kind]}
        if kind in self._inline:
            return {"type": "string", "enum": [*self._table.enums[kind][1:]]}
        return {"$ref": kind}


def _marks(marks: str) -> Json:
    return {word: True for mark, word in (("~", "experimental"), ("!", "deprecated")) if mark in marks}


def _typed_fields(table: Table) -> Iterator[tuple[str, str, str]]:
    """Yield each field's owner, name and type, without the brackets of an array."""
    owners: list[tuple[str, Texts]] = [
        *((name, tuple(fields)) for name, (_, *fields) in (*table.objects.items(), *table.events.items())),
        *((name, params) for name, (_, params, _) in table.commands.items()),
        *((result_name(name), returns) for name, (_, _, returns) in table.commands.items()),
    ]
    for owner, fields in owners:
        for field in map(parse_field, fields):
            yield owner, field.wire, field.type.strip("[]")
    for name, (_, kind) in table.names.items():
        yield name, "", kind.strip("[]")
