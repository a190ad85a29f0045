"""The types of the protocol: how each is read from JSON, shown, and written as JSON.

A `Shape` is one type; a `Spec` is one object type, with its fields. Two readers exist, and they agree
(tests/core/bindings/test_strict_and_loose_readers.py):

* the strict one (`_strict.py`): the bytes go straight into a record, in C; a text that does not fit exactly is
  declined;
* the loose one, here: JSON that is decoded already, field by field. It never raises, counts each misfit (`_drift.py`)
  and keeps it: an unknown field in `extra`, a value of another type and an explicit null unchanged.

`show` turns a value that the strict reader stored into the one that the user sees; it leaves any other value
unchanged, so it also accepts a value that the loose reader stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from operator import attrgetter
from types import GenericAlias, MappingProxyType
from typing import Any, Final, Literal

from cdp_core.bindings import _drift, _strict
from cdp_core.bindings._arguments import copied_json, copied_object, finite, refusal
from cdp_core.bindings._names import field_name
from cdp_core.bindings._tables import parse_field
from cdp_core.bindings._values import (
    MISSING,
    NULL,
    EnumValue,
    Loose,
    Value,
    make_value,
    make_values,
    set_source,
    source_of,
)
from cdp_core.errors import InvalidArgument, RemoteProtocolError
from cdp_core.sansio.messages import Event, Json, is_object
from cdp_core.sansio.structs import DECODE_ERRORS

Count = Callable[[_drift.Kind, str, str], None]


def no_count(_kind: _drift.Kind, _item: str, _name: str) -> None:
    """Count nothing: for values whose misfits were counted when the browser sent them."""


class Shape:
    """One type of the protocol."""

    plain = True
    """True if the strict reader stores the value in the form that is shown."""

    kept = False
    """True if the shown value is made at the first read, and kept in the slot `_kept_<field>`."""

    def getter(self, name: str) -> Callable[[Any], Any]:
        """Return the function that reads a field of this type from a value."""
        return attrgetter(f"_source.{name}")

    def read(self, value: Any, item: str, field: str, count: Count) -> Any:
        """Read a JSON value loosely; `item` and `field` name its place."""
        raise NotImplementedError

    def accept(self, value: Any, path: str) -> Any:
        """Check a caller's value, and return it in the stored form. Raises InvalidArgument, naming the place."""
        raise NotImplementedError

    def show(self, stored: Any) -> Any:
        return stored

    def strict(self, in_progress: dict[str, Any]) -> Any:
        """Return the type for the strict reader; `in_progress` is that of Spec.twin."""
        raise NotImplementedError


class PlainShape(Shape):
    """A string, number, boolean, open object, or any JSON value."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._fits = _FITS[kind]
        self.plain = kind != "any"

    def getter(self, name: str) -> Callable[[Any], Any]:
        stored = attrgetter(f"_source.{name}")
        return stored if self.plain else lambda value: _strict.set_or_none(stored(value))

    def read(self, value: Any, item: str, field: str, count: Count) -> Any:
        if not self._fits(value):
            count("other_types", item, field)
        elif self.kind == "int" and type(value) is float:
            return int(value)
        return value

    def accept(self, value: Any, path: str) -> Any:
        return _ACCEPT[self.kind](value, path)

    def show(self, stored: Any) -> Any:
        return _strict.set_or_none(stored)

    def strict(self, in_progress: dict[str, Any]) -> Any:  # noqa: ARG002
        return _STRICT[self.kind]


_STRICT: Final = {"str": str, "int": int, "num": int | float, "bool": bool, "obj": dict[str, Any], "any": Any}
_FITS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "str": lambda value: type(value) is str,
    "int": lambda value: type(value) is int or (type(value) is float and value.is_integer()),
    "num": lambda value: type(value) is float or type(value) is int,
    "bool": lambda value: type(value) is bool,
    "obj": is_object,
    "any": lambda _value: True,
}


def _accept_text(value: Any, path: str) -> Any:
    if isinstance(value, str):
        return value
    raise refusal(path, "a string", value)


def _accept_integer(value: Any, path: str) -> Any:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)  # as the loose reader does
    raise refusal(path, "an integer", value)


def _accept_number(value: Any, path: str) -> Any:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return finite(value, path)
    raise refusal(path, "a number", value)


def _accept_boolean(value: Any, path: str) -> Any:
    if isinstance(value, bool):
        return value
    raise refusal(path, "True or False", value)


def _accept_object(value: Any, path: str) -> Any:
    if isinstance(value, Mapping):
        return copied_object(value, path)  # pyright: ignore[reportUnknownArgumentType]
    raise refusal(path, "a JSON object", value)


_ACCEPT: Final[Mapping[str, Callable[[Any, str], Any]]] = {
    "str": _accept_text,
    "int": _accept_integer,
    "num": _accept_number,
    "bool": _accept_boolean,
    "obj": _accept_object,
    "any": copied_json,
}


class EnumShape(Shape):
    """An enumeration: a string from a list that may grow."""

    plain = False

    def __init__(self, kind: type[EnumValue]) -> None:
        self.kind = kind

    def getter(self, name: str) -> Callable[[Any], Any]:
        stored, known = attrgetter(f"_source.{name}"), self.kind.__cdp_members__

        def get(value: Value) -> Any:
            found = stored(value)
            try:
                return known[found]
            except (KeyError, TypeError):  # TypeError: the value has another type, without a hash
                return self.show(found)

        return get

    def read(self, value: Any, item: str, field: str, count: Count) -> Any:
        if type(value) is not str:
            count("other_types", item, field)
            return value
        member = self.kind(value)
        if not member.known:
            count("unknown_members", self.kind.__cdp_item__, value)
        return member

    def accept(self, value: Any, path: str) -> Any:
        """Accept any string: the browser may know a member that the bindings do not."""
        if isinstance(value, str):
            return self.kind(value)
        raise refusal(path, "a string", value)

    def show(self, stored: Any) -> Any:
        return self.kind(stored) if type(stored) is str else stored

    def strict(self, in_progress: dict[str, Any]) -> Any:  # noqa: ARG002
        members = tuple(self.kind.__cdp_members__)
        return Literal[members] if members else str


class ObjectShape(Shape):
    """An object type. Its class is made on demand, so that types may refer to each other in a circle."""

    plain = False

    def __init__(self, make: Callable[[], type[Value]]) -> None:
        self._make = make

    @cached_property
    def kind(self) -> type[Value]:
        return self._make()

    def getter(self, name: str) -> Callable[[Any], Any]:
        stored, twin = attrgetter(f"_source.{name}"), _strict.Twin

        def get(value: Value) -> Any:
            found = stored(value)
            return make_value(self.kind, found) if isinstance(found, twin) else found

        return get

    def read(self, value: Any, item: str, field: str, count: Count) -> Any:
        if not is_object(value):
            count("other_types", item, field)
            return value
        kind = self.kind
        return make_value(kind, kind.__cdp_spec__.read(value, count))

    def accept(self, value: Any, path: str) -> Any:
        """Accept a value of the class, or plain JSON instead."""
        if isinstance(value, Mapping):
            return copied_object(value, path)  # pyright: ignore[reportUnknownArgumentType]
        if isinstance(value, self.kind):
            return value
        raise refusal(path, f"of {self.kind.__qualname__}, or a JSON object", value)

    def show(self, stored: Any) -> Any:
        return make_value(self.kind, stored) if isinstance(stored, _strict.Twin) else stored

    def strict(self, in_progress: dict[str, Any]) -> Any:
        return self.kind.__cdp_spec__.twin(in_progress)


class ArrayShape(Shape):
    """An array of one type, as a tuple, since values are immutable."""

    def __init__(self, inner: Shape) -> None:
        self.inner = inner
        self.plain = inner.plain
        self.kept = not inner.plain

    def getter(self, name: str) -> Callable[[Any], Any]:
        stored = attrgetter(f"_source.{name}")
        if self.plain:
            return stored
        show, slot = self.show, f"_kept_{name}"

        def get(value: Value) -> Any:
            shown = getattr(value, slot, MISSING)
            if shown is MISSING:
                shown = show(stored(value))
                object.__setattr__(value, slot, shown)
            return shown

        return get

    def read(self, value: Any, item: str, field: str, count: Count) -> Any:
        if not isinstance(value, list):
            count("other_types", item, field)
            return value
        items: list[Any] = value  # pyright: ignore[reportUnknownVariableType]
        read = self.inner.read
        return tuple([read(each, item, field, count) for each in items])

    def accept(self, value: Any, path: str) -> Any:
        """Accept any iterable, and iterate over it once."""
        if not isinstance(value, Iterable) or isinstance(value, (str, bytes, bytearray, Mapping, Value)):
            raise refusal(path, "an array", value)  # pyright: ignore[reportUnknownArgumentType]
        accept = self.inner.accept
        return tuple([accept(each, f"{path}[{number}]") for number, each in enumerate(value)])  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]

    def show(self, stored: Any) -> Any:
        if type(stored) is not tuple:
            return stored
        items: tuple[Any, ...] = stored  # pyright: ignore[reportUnknownVariableType]
        inner = self.inner
        if isinstance(inner, ObjectShape) and items and isinstance(items[0], _strict.Twin):  # then all are
            return make_values(inner.kind, items)
        return tuple(map(inner.show, items))

    def strict(self, in_progress: dict[str, Any]) -> Any:
        inner: Any = self.inner.strict(in_progress)
        return f"tuple[{inner}, ...]" if isinstance(inner, str) else GenericAlias(tuple, (inner, ...))


class FieldSpec:
    """The specification of one field of an object type."""

    def __init__(self, text: str, resolve: Callable[[str], Shape]) -> None:
        field = parse_field(text)
        self.wire = field.wire
        self.name = field_name(field.wire)
        self.required = not field.optional
        self.experimental = field.experimental
        self.deprecated = field.deprecated
        self.type = field.type
        self.metadata: Mapping[str, Any] = MappingProxyType(
            {"cdp_name": field.wire, "experimental": field.experimental, "deprecated": field.deprecated}
        )
        self._resolve = resolve

    @cached_property
    def shape(self) -> Shape:
        return self._resolve(self.type)


class Spec:
    """The specification of one object type, event, or result."""

    def __init__(self, item: str, fields: Sequence[FieldSpec]) -> None:
        self.item = item
        self.by_name: Mapping[str, FieldSpec] = {field.name: field for field in fields}
        self._by_wire: Mapping[str, FieldSpec] = {field.wire: field for field in fields}
        self.kind: type[Value] = Value

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def reading(self) -> tuple[type[Value], Callable[[Any], Any], Callable[[Event], Loose]]:
        """The class of these events, their strict decoder, and the loose reader for events that it declines."""
        return self.kind, _strict.strict_decoder(self.twin), self.read_loosely

    def event_reader(self) -> Callable[[Event], Value]:
        """Return the function that makes typed events."""
        kind, decode, read_loosely = self.reading
        new = object.__new__

        def read(event: Event) -> Value:
            value = new(kind)
            try:
                set_source(value, decode(event.raw))  # empty in a WholeEvent, which read_loosely reads
            except DECODE_ERRORS:
                set_source(value, read_loosely(event))
            return value

        return read

    def read_loosely(self, event: Event) -> Loose:
        """Read an event that the strict reader declined."""
        try:
            params = event.params
        except RemoteProtocolError:
            _drift.count("other_types", self.item, "params")
            params = {}
        return self.read(params)

    def read(self, fields: Json, count: Count = _drift.count) -> Loose:
        """Read a JSON object loosely."""
        source = Loose(self)
        stored = source.__dict__
        nulls: list[str] = []
        found = 0
        for name, field in self.by_name.items():
            if field.wire not in fields:
                if field.required:
                    count("missing_fields", self.item, field.wire)
                else:
                    stored[name] = None
                continue
            found += 1
            value = fields[field.wire]
            if value is None:
                nulls.append(name)
                stored[name] = None
                if field.type != "any":
                    count("other_types", self.item, field.wire)
                continue
            try:
                stored[name] = field.shape.read(value, self.item, field.wire, count)
            except RecursionError:  # a browser stops at 300 levels; a deeper value is left as JSON
                stored[name] = value
                count("other_types", self.item, field.wire)
        source.nulls = frozenset(nulls)
        if found < len(fields):
            source.extra = {wire: value for wire, value in fields.items() if wire not in self._by_wire}
            for wire in source.extra:
                count("unknown_fields", self.item, wire)
        return source

    def restore(self, fields: Json) -> Loose:
        """Read a JSON object that `dump` wrote, without counting."""
        return self.read(fields, no_count)

    def accept(self, given: Mapping[str, Any]) -> Loose:
        """Check the fields that a caller gave. Raises TypeError or InvalidArgument, naming the field."""
        source = Loose(self)
        taken = take(self.by_name, given, self.kind.__qualname__)
        source.nulls = frozenset(name for name, value in taken.items() if value is NULL)
        source.__dict__.update({name: None if value is NULL else value for name, value in taken.items()})
        return source

    def changed(self, value: Value, changes: Mapping[str, Any]) -> Loose:
        """Return the fields of a value with a caller's changes. Raises as `accept` does."""
        source = self.restore(self.dump(value))
        taken = take(self.by_name, changes, self.kind.__qualname__, partly=True)
        source.nulls = source.nulls - taken.keys() | {name for name, given in taken.items() if given is NULL}
        source.__dict__.update({name: None if given is NULL else given for name, given in taken.items()})
        return source

    def twin(self, in_progress: dict[str, Any] | None = None) -> Any:
        """Return the record that the strict reader fills, or its name while it is being made.

        `in_progress` maps names to the twins of this run, and the name of an unfinished twin to itself. They are
        published together: another thread could not resolve the name of an unfinished one.
        """
        name = self.item.replace(".", "_")
        twins: dict[str, Any] = {} if in_progress is None else in_progress
        found = _strict.finished(name) or twins.get(name)
        if found is None:
            twins[name] = name
            fields = [(each.name, each.wire, each.shape.strict(twins), each.required) for each in self.by_name.values()]
            found = twins[name] = _strict.define(name, fields)
            if in_progress is None:
                _strict.finish(twins)
        return found

    # ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def dump(self, value: Value) -> Json:
        """Return the value as a JSON object."""
        source = source_of(value)
        if type(source) is not Loose:
            return _strict.to_builtins(source)
        written: Json = {}
        for name, field in self.by_name.items():
            stored = source.__dict__.get(name)
            if stored is not None or name in source.nulls:
                written[field.wire] = to_json(stored)
        written.update(source.extra)
        return written

    def nulls(self, value: Value) -> frozenset[str]:
        """Return the names of the fields that are an explicit null."""
        source = source_of(value)
        if type(source) is Loose:
            return source.nulls
        return frozenset(
            name for name, field in self.by_name.items() if field.type == "any" and getattr(source, name) is None
        )


def to_json(value: Any) -> Any:
    """Convert a value of the bindings to plain JSON; plain JSON is unchanged."""
    if isinstance(value, Value):
        return value.__cdp_spec__.dump(value)
    if isinstance(value, EnumValue):
        return str(value)
    if isinstance(value, (tuple, list)):
        return [to_json(each) for each in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, dict):
        return {key: to_json(each) for key, each in value.items()}  # pyright: ignore[reportUnknownVariableType]
    return None if value is NULL else value


def take(
    fields: Mapping[str, FieldSpec], given: Mapping[str, Any], what: str, *, partly: bool = False
) -> dict[str, Any]:
    """Check the given values, and return them in the order of the fields.

    An omitted field is None; with `partly` it is left out. Raises TypeError or InvalidArgument.
    """
    for name in given:
        if name not in fields:
            raise TypeError(f"{what} has no {name!r}; it has {', '.join(fields) or 'no parameters'}.")
    if partly:
        fields = {name: fields[name] for name in given}
    missing = [name for name, field in fields.items() if field.required and given.get(name) is None]
    if missing:
        raise TypeError(f"{what} needs {', '.join(missing)}.")
    try:
        return {name: _accepted(given.get(name), field, what) for name, field in fields.items()}
    except RecursionError:
        pass  # raised outside, without a context a thousand frames deep
    raise InvalidArgument(f"The values given to {what} are nested too deeply, or contain themselves.")


def _accepted(value: Any, field: FieldSpec, what: str) -> Any:
    return value if value is None or value is NULL else field.shape.accept(value, f"{what}: {field.name}")
