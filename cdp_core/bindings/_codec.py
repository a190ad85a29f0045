"""Conversion of JSON to values, by class or by the protocol's own names.

It is for code that has messages instead of a session: replays, fakes, state machines. None of these functions raises
on what a browser sent, except in strict mode; a disagreement is counted (`_drift.py`).
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Mapping
from types import GenericAlias
from typing import Any, Final, TypeVar, overload

from cdp_core.bindings import _catalog, _drift
from cdp_core.bindings._domain import OWN_NAMES, Domain
from cdp_core.bindings._values import Command, EnumValue, EventValue, Value, make_value, set_source
from cdp_core.errors import InvalidArgument
from cdp_core.sansio.messages import Event, Json
from cdp_core.sansio.structs import DECODE_ERRORS

T = TypeVar("T")
V = TypeVar("V", bound="Value | EnumValue")

_SHORT: Final = reprlib.Repr()


@overload
def from_json(kind: type[V], value: Any, /) -> V: ...
@overload
def from_json(kind: Any, value: Any, /) -> Any: ...
def from_json(kind: Any, value: Any, /) -> Any:
    """Convert a JSON value to one of the bindings' types; `to_json` is the inverse.

    For an alias, such as `page.FrameId` or `dom.Quad`, the result is the plain value; `tuple[page.Frame, ...]` converts
    an array. Raises InvalidArgument if `kind` is not a type of the bindings, if the value for an object type is not an
    object, or if that for an enumeration is not a string; any other misfit is drift.
    """
    if isinstance(kind, type) and not isinstance(
        kind, GenericAlias
    ):  # in Python 3.10, list[int] is an instance of type
        if issubclass(kind, Value) and kind not in (Value, EventValue):
            if not isinstance(value, dict):
                raise InvalidArgument(
                    f"{kind.__qualname__} is made from a JSON object, not from {type(value).__name__}."
                )
            return make_value(kind, kind.__cdp_spec__.read(value))  # pyright: ignore[reportUnknownArgumentType]
        if issubclass(kind, EnumValue) and kind is not EnumValue:
            member = kind(value)
            if not member.known:
                _drift.count("unknown_members", kind.__cdp_item__, member)
            return member
    named = _named(kind)
    if named is not None:
        home, name = named
        return home.shape(name).read(value, f"{home.name}.{name}", "", _drift.count)
    alias: Any = kind  # pyright: ignore[reportUnknownVariableType]
    inner: Any = getattr(alias, "__args__", ())
    if getattr(alias, "__origin__", None) is tuple and len(inner) == 2 and inner[1] is ...:
        if not isinstance(value, list):
            raise InvalidArgument(f"{kind} is made from a JSON array, not from {type(value).__name__}.")
        return tuple([from_json(inner[0], each) for each in value])  # pyright: ignore[reportUnknownVariableType]
    raise InvalidArgument(f"{_SHORT.repr(kind)} is not a type of the bindings, such as page.Frame or page.FrameId.")


def _named(kind: Any) -> tuple[Domain, str] | None:
    """Return the domain and the name of an alias type."""
    for item, own in OWN_NAMES.items():
        if own is kind:
            owner, _, name = item.partition(".")
            home = _catalog.domain_named(owner)
            assert home is not None
            return home, name
    return getattr(kind, "__cdp_name__", None)


def parse_event(event: Event, /) -> EventValue | Event:
    """Return the event as its typed value; an event unknown to the bindings is counted and returned."""
    try:
        kind, decode, read_loosely = _readers[event.method]
    except KeyError:
        return _first_event(event)
    # The body of `kind.__cdp_read__`, inlined: calling it would cost a tenth of the total.
    value = _new(kind)
    try:
        set_source(value, decode(event.raw))
    except DECODE_ERRORS:
        set_source(value, read_loosely(event))
    return value  # type: ignore[no-any-return]


_new: Final[Any] = object.__new__
_readers: Final[dict[str, Any]] = {}


def _first_event(event: Event) -> EventValue | Event:
    kind = _find(event.method, Domain.event)
    if kind is None:
        return event
    _readers[event.method] = kind.__cdp_spec__.reading
    return kind.__cdp_read__(event)


def parse_command(method: str, params: Mapping[str, Any] | None = None, /) -> Command[Any] | None:
    """Return a command from its protocol form; None, counted, if the bindings do not know it.

    Params that are not an object are counted, and read as no params.
    """
    spec = _find(method, Domain.command)
    return None if spec is None else Command(method, spec.read({} if params is None else params), spec)


def parse_result(method: str, result: Json, /) -> Value | Json | None:
    """Return the typed result of a command; the JSON itself, counted, if the bindings do not know it.

    A result that is not an object is counted, and read as one without fields.
    """
    spec = _find(method, Domain.command)
    return result if spec is None else spec.parse(result)


def _find(method: str, item: Callable[[Domain, str], T | None]) -> T | None:
    """Find one item by the protocol's name; None, counted, if the bindings do not know it."""
    if not isinstance(method, str):  # pyright: ignore[reportUnnecessaryIsInstance] - callers without a type checker
        raise InvalidArgument(f"A method is a string such as 'Page.navigate', not of type {type(method).__name__}.")
    domain, _, name = method.partition(".")
    home = _catalog.domain_named(domain)
    found = None if home is None else item(home, name)
    if found is None:
        _drift.count_unknown(method)
    return found
