"""Literal values, the base of steps, turns, faults and decisions: values that print as Python.

A literal value prints its required fields in order, then by name the other fields that differ from their defaults:
`AddFrame('ad', parent='shop')`. In JSON it is an object with one member that names its class (`step`, `turn`, `fault` or
`decision`). JSON that does not fit is refused with the path of the wrong part.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeVar

import attrs

from cdp_core.errors import InvalidArgument
from cdp_core.sansio.messages import Json, is_object

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
if TYPE_CHECKING:
    Field = attrs.Attribute[Any]


# ── printing ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class LiteralValue:
    """Base class of values that print as the Python that makes them."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Return the Python that makes the value."""
        arguments: list[str] = []
        by_name = False
        for field in _fields(type(self)):
            given = getattr(self, field.name)
            by_name = by_name or field.kw_only or field.default is not attrs.NOTHING
            if field.default is attrs.NOTHING or not _same(given, field.default):
                arguments.append(f"{field.name}={_shown(given)}" if by_name else _shown(given))
        return f"{type(self).__name__}({', '.join(arguments)})"

    def _repr_pretty_(self, printer: Any, _cycle: object) -> None:
        """Print the repr in Hypothesis and IPython, which would otherwise print the fields."""
        printer.text(repr(self))


def _fields(kind: type[Any]) -> tuple[Field, ...]:
    found: tuple[Field, ...] = attrs.fields(kind)
    return found


def _shown(given: Any) -> str:
    """Return the repr of a field's value; a frozen mapping prints as a dict."""
    is_mapping = isinstance(given, Mapping)
    return repr(dict(given) if is_mapping else given)  # pyright: ignore[reportUnknownArgumentType]


def _same(given: Any, default: Any) -> bool:
    return type(given) is type(default) and bool(given == default)


# ── members ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class FrozenMapping(Mapping[str, T_co]):
    """An immutable mapping that keeps its order and can be hashed and pickled."""

    __slots__ = ("_mapping",)

    def __init__(self, mapping: Mapping[str, T_co] = MappingProxyType({})) -> None:
        self._mapping: Final = dict(mapping)

    def __getitem__(self, name: str) -> T_co:
        return self._mapping[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._mapping)

    def __len__(self) -> int:
        return len(self._mapping)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mapping) and self._mapping == dict(other)  # pyright: ignore[reportUnknownArgumentType]

    def __hash__(self) -> int:
        return hash(frozenset(self._mapping.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._mapping,)

    def __repr__(self) -> str:
        return repr(self._mapping)


# ── JSON ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def to_json(value: Any, kind: str) -> Json:
    """Return a value as JSON; `kind` is the member that names its class."""
    return {kind: type(value).__name__, **attrs.asdict(value, recurse=False)}


def from_json(content: object, kind: str, kinds: Mapping[str, type[T]], where: str) -> T:
    """Read a value that `to_json` wrote; `where` is its path. Raises InvalidArgument with that path."""
    fields = dict(content) if is_object(content) else {}
    named = fields.pop(kind, None)
    made = kinds.get(named) if isinstance(named, str) else None
    if made is None:
        raise InvalidArgument(f"{where} is not a {kind}; the {kind}s are {', '.join(kinds)}.")
    return member_from_json(made, fields, where)


def member_from_json(made: type[T], content: object, where: str) -> T:
    """Read a value of a known class; `where` is its path. Raises InvalidArgument with that path."""
    if not is_object(content):
        raise InvalidArgument(f"{where} must be an object.")
    fields = dict(content)
    try:
        return made(**fields)
    except TypeError:
        wanted = ", ".join(field.name for field in _fields(made))
        raise InvalidArgument(
            f"{where} has missing or unknown members; {made.__name__} takes {wanted or 'none'}."
        ) from None
    except InvalidArgument as error:
        raise InvalidArgument(f"{where}: {error}") from None


def parse_object(content: object, what: str, members: Iterable[str]) -> Json:
    """Read a JSON text or value that must be an object with no other members. Raises InvalidArgument."""
    try:
        found: object = json.loads(content) if isinstance(content, (str, bytes)) else content
    except (ValueError, RecursionError):
        found = None
    known = tuple(members)
    if not is_object(found):
        raise InvalidArgument(f"A {what} must be a JSON object with {', '.join(known)}.")
    odd = sorted(map(str, found.keys() - set(known)))
    if odd:
        raise InvalidArgument(f"A {what} has no member {odd[0]!r}; its members are {', '.join(known)}.")
    return found


# ── field validators ─────────────────────────────────────────────────────────────────────────────────────────────────


def a_text(_value: object, field: Field, given: object) -> None:
    """Accept a string. Raises InvalidArgument."""
    if not isinstance(given, str):
        raise InvalidArgument(f"{field.name} must be a text, not {given!r}.")


def a_name(_value: object, field: Field, given: object) -> None:
    """Accept a string that is not empty. Raises InvalidArgument."""
    if not isinstance(given, str) or not given:
        raise InvalidArgument(f"{field.name} must be a text that is not empty, not {given!r}.")


def a_flag(_value: object, field: Field, given: object) -> None:
    """Accept True or False. Raises InvalidArgument."""
    if not isinstance(given, bool):
        raise InvalidArgument(f"{field.name} must be true or false, not {given!r}.")


def a_duration(_value: object, field: Field, given: object) -> None:
    """Accept a finite number of seconds that is not negative. Raises InvalidArgument."""
    if not isinstance(given, (int, float)) or isinstance(given, bool) or not 0 <= given < float("inf"):
        raise InvalidArgument(f"{field.name} must be a number of seconds, not {given!r}.")


@attrs.frozen
class a_number:  # noqa: N801 - used like the functions above
    """Accepts an integer that is at least `least`; raises InvalidArgument for other values."""

    least: int = 0

    def __call__(self, _value: object, field: Field, given: object) -> None:
        if type(given) is not int or given < self.least:
            raise InvalidArgument(f"{field.name} must be an integer of at least {self.least}, not {given!r}.")


@attrs.frozen
class one_of:  # noqa: N801 - used like the functions above
    """Accepts one of a few texts; raises InvalidArgument for other values."""

    texts: tuple[str, ...]

    def __call__(self, _value: object, field: Field, given: object) -> None:
        if given not in self.texts:
            raise InvalidArgument(f"{field.name} must be one of {', '.join(self.texts)}, not {given!r}.")
