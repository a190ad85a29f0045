"""What a protocol description says, in the short form that the modules of the domains keep.

`read_protocol` turns the JSON of the `devtools-protocol` package, or of a browser's `/json/protocol`, into one `Table`
for each domain. The generator writes these tables down, `diff` compares two sets of them, and the lazy modules make
classes out of them: so "what the bindings have" is the same thing everywhere.

A field is one text: `"parentId?~:FrameId"`. The marks are `?` optional, `~` experimental, `!` deprecated. A type is one of
`str int num bool obj any`, the name of a type of the same domain (`FrameId`) or of another (`Network.LoaderId`), or one
of these in brackets for an array of it. The first text of each item holds the item's own marks. An enumeration without a
name gets one, from its owner and its field.

Only names, types and marks are kept (docs/cdp/experimental-items-change-without-notice.md): descriptions stay where they
are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final, cast

import attrs

from cdp_core.bindings._names import class_name, enum_name, field_name, member_name, result_name
from cdp_core.errors import InvalidArgument
from cdp_core.sansio.wire import Json, is_object

__all__ = ["PLAIN_TYPES", "Field", "Table", "parse_field", "read_protocol"]

PLAIN_TYPES: Final = {
    "string": "str",
    "binary": "str",  # a browser's own description tells it apart; as JSON it is a string in base64
    "integer": "int",
    "number": "num",
    "boolean": "bool",
    "object": "obj",
    "any": "any",
}
"""The protocol's own types, and what a table calls them."""

Texts = tuple[str, ...]

_FIELD: Final = re.compile(r"([^?~!:]+)(\??)(~?)(!?):(.+)")
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*")


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
        """The form that a table keeps."""
        return f"{self.wire}{'?' * self.optional}{'~' * self.experimental}{'!' * self.deprecated}:{self.type}"


@attrs.frozen(kw_only=True)
class Table:
    """One domain. Each value begins with the marks of its item."""

    name: str
    marks: str = ""
    names: Mapping[str, tuple[str, str]] = MappingProxyType({})
    """Types that are another type by a name of their own: `FrameId`, which is a string."""
    enums: Mapping[str, Texts] = MappingProxyType({})
    objects: Mapping[str, Texts] = MappingProxyType({})
    commands: Mapping[str, tuple[str, Texts, Texts]] = MappingProxyType({})
    """Params and what comes back."""
    events: Mapping[str, Texts] = MappingProxyType({})


def parse_field(text: str) -> Field:
    """Read one field's text."""
    found = _FIELD.fullmatch(text)
    assert found is not None, text
    wire, optional, experimental, deprecated, kind = found.groups()
    return Field(wire, bool(optional), bool(experimental), bool(deprecated), kind)


def read_protocol(*files: tuple[str, object]) -> dict[str, Table]:
    """The tables of one protocol that comes in one or more files, each given with its name.

    Raises InvalidArgument, in one line that says what and where, where a file is no protocol, where versions differ, or
    where two names would become one.
    """
    tables: dict[str, Table] = {}
    version: object = None
    for where, content in files:
        domains = content.get("domains") if is_object(content) else None
        if not is_object(content) or not isinstance(domains, list):
            raise InvalidArgument(f"{where} is no protocol description: it has no list of domains.")
        own: object = content.get("version")
        if version is not None and own != version:
            raise InvalidArgument(
                f"{where} is of version {_version(own)}, but {files[0][0]} is of {_version(version)}; "
                "give two files of one version."
            )
        version = own
        for position, domain in enumerate(cast("list[object]", domains)):
            if not is_object(domain):
                raise InvalidArgument(f"{where}: domain {position} is no JSON object.")
            table = _Reader(f"{where}: {domain.get('domain', position)}").table(domain)
            if table.name in tables:
                raise InvalidArgument(f"{where}: the domain {table.name} is described twice.")
            tables[table.name] = table
    _check_references(tables, " and ".join(where for where, _ in files))
    return tables


def _version(version: object) -> str:
    if is_object(version):
        return f"{version.get('major')}.{version.get('minor')}"
    return repr(version)


class _Reader:
    """Reads one domain; every complaint says where."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._enums: dict[str, Texts] = {}

    def table(self, domain: Json) -> Table:
        name = self._name(domain, "domain")
        names: dict[str, tuple[str, str]] = {}
        objects: dict[str, Texts] = {}
        for kind in self._items(domain, "types"):
            own = self._name(kind, "id")
            if "properties" in kind:
                objects[own] = (_marks(kind), *self._fields(kind, "properties", own))
            elif "enum" in kind:
                self._enums[own] = (_marks(kind), *self._members(kind, own))
            else:
                names[own] = (_marks(kind), self._type(kind, own, ""))
        commands = {
            self._name(command, "name"): (
                _marks(command),
                self._fields(command, "parameters", command["name"]),
                self._fields(command, "returns", result_name(command["name"])),
            )
            for command in self._items(domain, "commands")
        }
        events = {
            self._name(event, "name"): (_marks(event), *self._fields(event, "parameters", event["name"]))
            for event in self._items(domain, "events")
        }
        table = Table(
            name=name,
            marks=_marks(domain),
            names=names,
            enums=self._enums,
            objects=objects,
            commands=commands,
            events=events,
        )
        self._check_names(table)
        return table

    def _items(self, owner: Json, key: str) -> list[Json]:
        items: list[Json] = owner.get(key, [])
        if not isinstance(items, list) or not all(map(is_object, items)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidArgument(f"{self._where}: {key} is no list of objects.")
        return items

    def _name(self, item: Json, key: str) -> str:
        name: object = item.get(key)
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise InvalidArgument(f"{self._where}: {name!r} is no name for a {'type' if key == 'id' else key}.")
        return name

    def _fields(self, owner: Json, key: str, owner_name: str) -> Texts:
        return tuple(
            Field(
                self._name(item, "name"),
                item.get("optional") is True,
                item.get("experimental") is True,
                item.get("deprecated") is True,
                self._type(item, owner_name, item["name"]),
            ).text
            for item in self._items(owner, key)
        )

    def _type(self, item: Json, owner: str, field: str) -> str:
        place = f"{owner}.{field}" if field else owner
        if "$ref" in item:
            reference: object = item["$ref"]
            if not isinstance(reference, str) or not all(map(_NAME.fullmatch, reference.split(".", 1))):
                raise InvalidArgument(f"{self._where}: {place} refers to {reference!r}, which is no type's name.")
            return reference
        kind: object = item.get("type")
        if kind == "array":
            items: object = item.get("items", {"type": "any"})
            if not is_object(items):
                raise InvalidArgument(f"{self._where}: {place} is an array of {items!r}, which is no type.")
            return f"[{self._type(items, owner, field)}]"
        if "enum" in item:
            name = enum_name(owner, field)
            if name in self._enums:
                raise InvalidArgument(f"{self._where}: {place} needs the name {name}, which is taken.")
            self._enums[name] = ("", *self._members(item, place))
            return name
        if not isinstance(kind, str) or kind not in PLAIN_TYPES:
            raise InvalidArgument(f"{self._where}: {place} is of the unknown type {kind!r}.")
        return PLAIN_TYPES[kind]

    def _members(self, item: Json, place: str) -> Texts:
        members: list[str] = item["enum"]
        if not isinstance(members, list) or not all(isinstance(member, str) for member in members):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidArgument(f"{self._where}: the members of {place} are no list of strings.")
        self._check_distinct(f"the members of {place}", members, member_name)
        return tuple(members)

    def _check_names(self, table: Table) -> None:
        self._check_distinct(
            "the types, commands and events",
            [*table.names, *table.enums, *table.objects, *table.commands, *map(class_name, table.events)]
            + [result_name(name) for name, (_, _, returns) in table.commands.items() if returns],
            lambda name: name if name[0].isupper() else field_name(name),
        )
        for name, fields in _all_fields(table):
            self._check_distinct(f"the fields of {name}", [parse_field(text).wire for text in fields], field_name)

    def _check_distinct(self, what: str, names: Iterable[str], rule: Callable[[str], str]) -> None:
        seen: dict[str, str] = {}
        for name in names:
            made = rule(name)
            if made in seen:
                raise InvalidArgument(f"{self._where}: among {what}, {seen[made]!r} and {name!r} both become {made}.")
            seen[made] = name


def _marks(item: Json) -> str:
    return "~" * (item.get("experimental") is True) + "!" * (item.get("deprecated") is True)


def _all_fields(table: Table) -> Iterable[tuple[str, Texts]]:
    for name, (_, *fields) in (*table.objects.items(), *table.events.items()):
        yield name, tuple(fields)
    for name, (_, params, returns) in table.commands.items():
        yield name, params
        yield result_name(name), returns


def _check_references(tables: Mapping[str, Table], where: str) -> None:
    known = {
        f"{table.name}.{name}" for table in tables.values() for name in (*table.names, *table.enums, *table.objects)
    }
    known |= set(PLAIN_TYPES.values())
    for table in tables.values():
        aliases = [(name, (f"is:{kind}",)) for name, (_, kind) in table.names.items()]
        for owner, fields in (*aliases, *_all_fields(table)):
            for field in map(parse_field, fields):
                kind = field.type.strip("[]")
                full = kind if "." in kind or kind in known else f"{table.name}.{kind}"
                if full not in known:
                    raise InvalidArgument(
                        f"{where}: {table.name}.{owner} refers to {full}, which is described nowhere."
                    )
