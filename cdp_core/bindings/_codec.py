"""JSON to values, by class or by the protocol's own names.

For those who hold messages rather than a session: replays, fakes, machines. None of these raises on what a browser
sent; outside strict mode it is counted (`_drift.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar, overload

from cdp_core.bindings import _catalog, _drift
from cdp_core.bindings._domain import Domain
from cdp_core.bindings._values import Command, EnumValue, EventValue, Value, make_value
from cdp_core.errors import InvalidArgument
from cdp_core.sansio.wire import Event, Json

__all__ = ["from_json", "parse_command", "parse_event", "parse_result"]

T = TypeVar("T")
V = TypeVar("V", bound="Value | EnumValue")


@overload
def from_json(kind: type[V], value: Any, /) -> V: ...
@overload
def from_json(kind: Any, value: Any, /) -> Any: ...
def from_json(kind: Any, value: Any, /) -> Any:
    """A JSON value as one of the bindings' types; `to_json` is the way back.

    For a name of another type, such as `page.FrameId` or `dom.Quad`, that is the plain value.
    Raises InvalidArgument where an object type is given what is no object, or an enumeration what is no string.
    """
    if isinstance(kind, type) and issubclass(kind, Value):
        if not isinstance(value, dict):
            raise InvalidArgument(f"{kind.__qualname__} is made of a JSON object, not of {type(value).__name__}.")
        return make_value(kind, kind.__cdp_spec__.read(value))  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(kind, type) and issubclass(kind, EnumValue):
        if not isinstance(value, str):
            raise InvalidArgument(f"{kind.__qualname__} is made of a string, not of {type(value).__name__}.")
        member = kind(value)
        if not member.known:
            _drift.count("unknown_members", kind.__cdp_item__, member)
        return member
    return _plain(kind, value)


def _plain(kind: Any, value: Any) -> Any:
    inner: Any = getattr(kind, "__args__", None)
    if getattr(kind, "__origin__", None) is tuple and isinstance(value, list):
        return tuple(from_json(inner[0], each) for each in value)  # pyright: ignore[reportUnknownVariableType]
    return value


def parse_event(event: Event, /) -> EventValue | Event:
    """The event as its typed value; the event itself, counted, where the bindings do not know it."""
    read = _readers.get(event.method) or _reader_of(event.method)
    return event if read is None else read(event)


_readers: Final[dict[str, Callable[[Event], EventValue]]] = {}


def _reader_of(method: str) -> Callable[[Event], EventValue] | None:
    kind = _find(method, Domain.event)
    return None if kind is None else _readers.setdefault(method, kind.__cdp_read__)


def parse_command(method: str, params: Mapping[str, Any] | None = None, /) -> Command[Any] | None:
    """A command out of its protocol form; None, counted, where the bindings do not know it."""
    spec = _find(method, Domain.command)
    if spec is None:
        return None
    return Command(method, spec.read(dict(params or {})), spec)


def parse_result(method: str, result: Json, /) -> Value | Json | None:
    """What a command brought, as its typed value; the JSON itself, counted, where the bindings do not know it."""
    spec = _find(method, Domain.command)
    return result if spec is None else spec.parse(result)


def _find(method: str, item: Callable[[Domain, str], T | None]) -> T | None:
    """One item by the protocol's name; None, counted, where the bindings do not know it."""
    domain, _, name = method.partition(".")
    home = _catalog.domain_named(domain)
    found = None if home is None else item(home, name)
    if found is None:
        _drift.count("unknown_items", method)
    return found
