"""The tables of a protocol description, in the short form that the modules of the domains contain.

`read_protocol` turns the JSON of the `devtools-protocol` package, or of a browser's `/json/protocol`, into one `Table`
for each domain. The generator writes these tables, `diff` compares two sets of them, and the lazy modules make classes
from them: so all three have the same contents.

A field is one text: `"parentId?~:FrameId"`. The marks are `?` optional, `~` experimental, `!` deprecated. A type is
one of `str int num bool obj any`, the name of a type of the same domain (`FrameId`) or of another
(`Network.LoaderId`), or one of these in brackets for an array of it. The first text of each item has the item's own
marks. An enumeration without a name gets one, from its owner and its field.

Only names, types and marks are kept (docs/cdp/experimental-items-change-without-notice.md); descriptions are dropped.
"""

from __future__ import annotations

import keyword
import re
import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final, cast

import attrs

from cdp_core.bindings._names import class_name, enum_name, field_name, member_name, result_name
from cdp_core.errors import InvalidArgument
from cdp_core.sansio.messages import Json, is_object

PLAIN_TYPES: Final = {
    "string": "str",
    "binary": "str",  # only a browser's own description has it; as JSON it is a string in base64
    "integer": "int",
    "number": "num",
    "boolean": "bool",
    "object": "obj",
    "any": "any",
}
"""The protocol's plain types, and their names in a table."""

Texts = tuple[str, ...]

_FIELD: Final = re.compile(r"([^?~!:]+)(\??)(~?)(!?):(.+)")
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9]{0,119}")
"""A name becomes a file name, whose length file systems limit; the protocol's longest has 44 letters."""
_RESERVED: Final = frozenset((*keyword.kwlist, "DOMAIN"))
_MAX_DEPTH: Final = 8
"""Levels of nested arrays. The protocol has arrays of arrays; a deeper type is an error."""
_SHORT: Final = reprlib.Repr()
_SHORT.maxstring = 100


@attrs.frozen
class Field:
    """One field, parameter or return value."""

    wire: str
    optional: bool
    experimental: bool
    deprecated: bool
    type: str

    @property
    def text(self) -> str:
        return f"{self.wire}{'?' * self.optional}{'~' * self.experimental}{'!' * self.deprecated}:{self.type}"


@attrs.frozen(kw_only=True)
class Table:
    """One domain. The text of each item begins with its marks."""

    name: str
    marks: str = ""
    names: Mapping[str, tuple[str, str]] = MappingProxyType({})
    """Types that are an alias of another type: `FrameId`, which is a string."""
    enums: Mapping[str, Texts] = MappingProxyType({})
    objects: Mapping[str, Texts] = MappingProxyType({})
    commands: Mapping[str, tuple[str, Texts, Texts]] = MappingProxyType({})
    """The marks, the params and the result of each command."""
    events: Mapping[str, Texts] = MappingProxyType({})


def parse_field(text: str) -> Field:
    found = _FIELD.fullmatch(text)
    assert found is not None, text
    wire, optional, experimental, deprecated, kind = found.groups()
    return Field(wire, bool(optional), bool(experimental), bool(deprecated), kind)


def read_protocol(
    *files: tuple[str, object], find_domain: Callable[[str], Table | None] = lambda _domain: None
) -> dict[str, Table]:
    """Return the tables of one protocol, from one or more files, each given with its name.

    `find_domain` finds the domains that the files refer to and do not describe. A file without a version fits any
    other. Raises InvalidArgument, in one line that names the problem and its place, if a file is not a protocol, if
    versions differ, or if two names would become one.
    """
    tables: dict[str, Table] = {}
    first: tuple[str, object] | None = None
    for where, content in files:
        domains = content.get("domains") if is_object(content) else None
        if not is_object(content) or not isinstance(domains, list):
            raise InvalidArgument(f"{where} is not a protocol description: it has no list of domains.")
        version: object = content.get("version")
        if version is not None:
            first = first or (where, version)
            if version != first[1]:
                raise InvalidArgument(
                    f"{where} is of version {_version(version)}, but {first[0]} is of {_version(first[1])}; "
                    "give two files of one version."
                )
        if not domains:
            raise InvalidArgument(f"{where} is not a protocol description: its list of domains is empty.")
        for position, domain in enumerate(cast("list[object]", domains)):
            table = _read_domain(where, position, domain)
            if table.name in tables:
                raise InvalidArgument(f"{where}: the domain {table.name} is described twice.")
            tables[table.name] = table
    everywhere = " and ".join(where for where, _ in files)
    _check_distinct(everywhere, "the domains", ((name, field_name(name)) for name in tables))
    _References(tables, find_domain, everywhere).check()
    return tables


def _version(version: object) -> str:
    if is_object(version):
        return f"{_shown(version.get('major'))}.{_shown(version.get('minor'))}".replace("'", "")
    return _shown(version)


def _read_domain(where: str, position: int, domain: object) -> Table:
    if not is_object(domain):
        raise InvalidArgument(f"{where}: domain {position} is not a JSON object.")
    name: object = domain.get("domain")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidArgument(f"{where}: {_shown(name)} is not a name for a domain (number {position} of the list).")
    return _Reader(f"{where}: {name}", name).table(domain)


class _Reader:
    """Reads one domain; every error names the place."""

    def __init__(self, where: str, domain: str) -> None:
        self._where = where
        self._domain = domain
        self._enums: dict[str, Texts] = {}

    def table(self, domain: Json) -> Table:
        names: dict[str, tuple[str, str]] = {}
        objects: dict[str, Texts] = {}
        commands: dict[str, tuple[str, Texts, Texts]] = {}
        events: dict[str, Texts] = {}
        for own, kind in self._items(domain, "types", "type", key="id"):
            if own in PLAIN_TYPES.values():
                raise self._wrong(f"a type cannot be called {own}, which tables reserve for a plain type")
            if own in self._enums:
                raise self._wrong(f"the type {own} has a name that is taken")
            if "properties" in kind:
                objects[own] = (_marks(kind), *self._fields(kind, "properties", own))
            elif "enum" in kind:
                self._enums[own] = (_marks(kind), *self._members(kind, own))
            else:
                names[own] = (_marks(kind), self._type(kind, own, ""))
        for own, command in self._items(domain, "commands", "command"):
            params = self._fields(command, "parameters", own)
            commands[own] = (_marks(command), params, self._fields(command, "returns", result_name(own)))
        for own, event in self._items(domain, "events", "event"):
            events[own] = (_marks(event), *self._fields(event, "parameters", own))
        table = Table(
            name=self._domain,
            marks=_marks(domain),
            names=names,
            enums=self._enums,
            objects=objects,
            commands=commands,
            events=events,
        )
        self._check_names(table)
        return table

    def _wrong(self, text: str) -> InvalidArgument:
        return InvalidArgument(f"{self._where}: {text}.")

    def _items(self, owner: Json, key_of_list: str, what: str, *, key: str = "name") -> Iterator[tuple[str, Json]]:
        """Yield each item with its name, which must be unique in the list."""
        items: object = owner.get(key_of_list, [])
        of = what.partition(" of ")[2]
        if not isinstance(items, list):
            raise self._wrong(f"the {key_of_list}{of and ' of '}{of} are not a list")
        seen: set[str] = set()
        for item in cast("list[object]", items):
            name: object = item.get(key) if is_object(item) else item
            if not is_object(item) or not isinstance(name, str) or not _NAME.fullmatch(name):
                article = "an" if what == "event" else "a"
                kind = f"a name for {article} {what}" if is_object(item) else f"{article} {what}"
                raise self._wrong(f"{_shown(name)} is not {kind}")
            if name in seen:
                raise self._wrong(f"the {what} {name} is described twice")
            seen.add(name)
            yield name, item

    def _fields(self, owner: Json, key: str, owner_name: str) -> Texts:
        return tuple(
            Field(
                name,
                item.get("optional") is True,
                item.get("experimental") is True,
                item.get("deprecated") is True,
                self._type(item, owner_name, name),
            ).text
            for name, item in self._items(owner, key, f"field of {owner_name}")
        )

    def _type(self, item: Json, owner: str, field: str, depth: int = 0) -> str:
        place = f"{owner}.{field}" if field else owner
        if "$ref" in item:
            reference: object = item["$ref"]
            named = isinstance(reference, str) and all(map(_NAME.fullmatch, reference.split(".", 1)))
            if not isinstance(reference, str) or not named or reference in PLAIN_TYPES.values():
                raise self._wrong(f"{place} refers to {_shown(reference)}, which is not the name of a type")
            return reference.removeprefix(f"{self._domain}.")
        kind: object = item.get("type")
        if kind == "array":
            items: object = item.get("items", {"type": "any"})
            if not is_object(items) or depth == _MAX_DEPTH:
                raise self._wrong(f"{place} is an array of {_shown(items)}, which is not a type")
            return f"[{self._type(items, owner, field, depth + 1)}]"
        if "enum" in item:
            name = enum_name(owner, field)
            if name in self._enums:
                raise self._wrong(f"{place} needs the name {name}, which is taken")
            self._enums[name] = ("", *self._members(item, place))
            return name
        if not isinstance(kind, str) or kind not in PLAIN_TYPES:
            raise self._wrong(f"{place} is of the unknown type {_shown(kind)}")
        return PLAIN_TYPES[kind]

    def _members(self, item: Json, place: str) -> Texts:
        members: object = item["enum"]
        if not isinstance(members, list) or not all(isinstance(each, str) for each in cast("list[object]", members)):
            raise self._wrong(f"the members of {place} are not a list of strings")
        texts = cast("list[str]", members)
        _check_distinct(self._where, f"the members of {place}", ((name, member_name(name)) for name in texts))
        return tuple(texts)

    def _check_names(self, table: Table) -> None:
        made = [
            *((name, name) for name in (*table.names, *table.enums, *table.objects)),
            *((name, field_name(name)) for name in table.commands),
            *((name, class_name(name)) for name in table.events),
            *((name, result_name(name)) for name, (_, _, returns) in table.commands.items() if returns),
        ]
        _check_distinct(self._where, "the types, commands and events", made)
        for name, becomes in made:
            if becomes in _RESERVED:
                raise self._wrong(f"{name!r} becomes {becomes}, a name that Python or the module reserves")
        for name, fields in _all_fields(table):
            wires = [parse_field(text).wire for text in fields]
            _check_distinct(self._where, f"the fields of {name}", ((wire, field_name(wire)) for wire in wires))


def _check_distinct(where: str, what: str, made: Iterable[tuple[str, str]]) -> None:
    """Raise InvalidArgument if two protocol names become the same Python name."""
    seen: dict[str, str] = {}
    for name, becomes in made:
        if becomes in seen:
            raise InvalidArgument(
                f"{where}: among {what}, {_shown(seen[becomes])} and {_shown(name)} both become {becomes}."
            )
        seen[becomes] = name


def _shown(value: object) -> str:
    """Return a peer's unexpected value in one short line."""
    return _SHORT.repr(value)


def _marks(item: Json) -> str:
    return "~" * (item.get("experimental") is True) + "!" * (item.get("deprecated") is True)


def _all_fields(table: Table) -> Iterable[tuple[str, Texts]]:
    for name, (_, *fields) in (*table.objects.items(), *table.events.items()):
        yield name, tuple(fields)
    for name, (_, params, returns) in table.commands.items():
        yield name, params
        yield result_name(name), returns


class _References:
    """Checks that every type reference leads to a described type, and that no alias leads to itself."""

    def __init__(self, tables: Mapping[str, Table], find_domain: Callable[[str], Table | None], where: str) -> None:
        self._tables = tables
        self._find_domain = find_domain
        self._where = where

    def check(self) -> None:
        for table in self._tables.values():
            for name, (_, kind) in table.names.items():
                self._check_alias(table, name, kind)
            for owner, fields in _all_fields(table):
                for field in map(parse_field, fields):
                    self._find(table, owner, field.type)

    def _find(self, table: Table, owner: str, kind: str) -> tuple[Table, str] | None:
        """Return the table that describes a type, and its name; None for a plain type."""
        plain = kind.strip("[]")
        if plain in PLAIN_TYPES.values():
            return None
        domain, _, name = plain.rpartition(".")
        found = self._tables.get(domain) or self._find_domain(domain) if domain else table
        if found is None or not (name in found.names or name in found.enums or name in found.objects):
            raise InvalidArgument(
                f"{self._where}: {table.name}.{owner} refers to {domain or table.name}.{name}, "
                "which is described nowhere."
            )
        return found, name

    def _check_alias(self, table: Table, name: str, kind: str) -> None:
        passed: set[tuple[str, str]] = set()
        found = self._find(table, name, kind)
        while found is not None and found[1] in found[0].names:
            at, other = found
            if (at.name, other) in passed:
                raise InvalidArgument(f"{self._where}: {table.name}.{name} is only an alias of itself.")
            passed.add((at.name, other))
            found = self._find(at, other, at.names[other][1])
