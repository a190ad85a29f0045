"""JSON to values, by class or by the protocol's own names.

For those who hold messages rather than a session: replays, fakes, machines. None of these raises on what a browser
sent; outside strict mode it is counted (`_drift.py`).
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
    """A JSON value as one of the bindings' types; `to_json` is the way back.

    For a name of another type, such as `page.FrameId` or `dom.Quad`, that is the plain value; `tuple[page.Frame, ...]` is
    several. Raises InvalidArgument where `kind` is no type of the bindings, where an object type is given what is no
    object, or an enumeration what is no string; what else does not fit is drift.
    """
    if isinstance(kind, type) and not isinstance(kind, GenericAlias):  # Python 3.10 takes list[int] for a class
        if issubclass(kind, Value) and kind not in (Value, EventValue):
            if not isinstance(value, dict):
                raise InvalidArgument(f"{kind.__qualname__} is made of a JSON object, not of {type(value).__name__}.")
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
            raise InvalidArgument(f"{kind} is made of a JSON array, not of {type(value).__name__}.")
        return tuple([from_json(inner[0], each) for each in value])  # pyright: ignore[reportUnknownVariableType]
    raise InvalidArgument(f"{_SHORT.repr(kind)} is no type of the bindings, such as page.Frame or page.FrameId.")


def _named(kind: Any) -> tuple[Domain, str] | None:
    """The domain that has a type by that name, and the name."""
    for item, own in OWN_NAMES.items():
        if own is kind:
            owner, _, name = item.partition(".")
            home = _catalog.domain_named(owner)
            assert home is not None
            return home, name
    return getattr(kind, "__cdp_name__", None)


def parse_event(event: Event, /) -> EventValue | Event:
    """The event as its typed value; the event itself, counted, where the bindings do not know it."""
    try:
        kind, decode, read_loosely = _readers[event.method]
    except KeyError:
        return _first_event(event)
    # What `kind.__cdp_read__` does: a call of it would be a tenth of the whole.
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
    """A command out of its protocol form; None, counted, where the bindings do not know it.

    Params that are no object are counted, and read as none.
    """
    spec = _find(method, Domain.command)
    return None if spec is None else Command(method, spec.read({} if params is None else params), spec)


def parse_result(method: str, result: Json, /) -> Value | Json | None:
    """What a command brought, as its typed value; the JSON itself, counted, where the bindings do not know it.

    A result that is no object is counted, and read as one without fields.
    """
    spec = _find(method, Domain.command)
    return result if spec is None else spec.parse(result)


def _find(method: str, item: Callable[[Domain, str], T | None]) -> T | None:
    """One item by the protocol's name; None, counted, where the bindings do not know it."""
    if not isinstance(method, str):  # pyright: ignore[reportUnnecessaryIsInstance] - callers without a type checker
        raise InvalidArgument(f"A method is a string such as 'Page.navigate', not of type {type(method).__name__}.")
    domain, _, name = method.partition(".")
    home = _catalog.domain_named(domain)
    found = None if home is None else item(home, name)
    if found is None:
        _drift.count_unknown(method)
    return found
