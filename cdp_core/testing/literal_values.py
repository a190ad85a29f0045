"""Values that print as the Python that makes them, and survive JSON: what scripts, schedules and faults are made of.

A value of these prints its required fields in order, and of the others those that differ from their defaults, by name:
`AddFrame('ad', parent='shop')`. In JSON it is an object whose member `kind` names the class. What does not fit is refused
with the place where it stands.
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
    """What such values have in common."""

    __slots__ = ()

    def __repr__(self) -> str:
        """The Python that makes it."""
        arguments: list[str] = []
        by_name = False
        for field in _fields(type(self)):
            given = getattr(self, field.name)
            by_name = by_name or field.kw_only or field.default is not attrs.NOTHING
            if field.default is attrs.NOTHING or not _same(given, field.default):
                arguments.append(f"{field.name}={_shown(given)}" if by_name else _shown(given))
        return f"{type(self).__name__}({', '.join(arguments)})"

    def _repr_pretty_(self, printer: Any, _cycle: object) -> None:
        """The same for Hypothesis and IPython, which would print the fields."""
        printer.text(repr(self))


def _fields(kind: type[Any]) -> tuple[Field, ...]:
    found: tuple[Field, ...] = attrs.fields(kind)
    return found


def _shown(given: Any) -> str:
    """A mapping that cannot change prints as the dict that it is made of."""
    is_mapping = isinstance(given, Mapping)
    return repr(dict(given) if is_mapping else given)  # pyright: ignore[reportUnknownArgumentType]


def _same(given: Any, default: Any) -> bool:
    return type(given) is type(default) and bool(given == default)


# ── members ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class FrozenMapping(Mapping[str, T_co]):
    """A mapping that does not change, and can be hashed and pickled; in the order of making."""

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
    """A value as JSON; `kind` is the member that names its class."""
    return {kind: type(value).__name__, **attrs.asdict(value, recurse=False)}


def from_json(content: object, kind: str, kinds: Mapping[str, type[T]], where: str) -> T:
    """The value that `to_json` made this of. Raises InvalidArgument that names the place."""
    fields = dict(content) if is_object(content) else {}
    named = fields.pop(kind, None)
    made = kinds.get(named) if isinstance(named, str) else None
    if made is None:
        raise InvalidArgument(f"{where} is no {kind}; there are {', '.join(kinds)}.")
    return member_from_json(made, fields, where)


def member_from_json(made: type[T], content: object, where: str) -> T:
    """A value of that class. Raises InvalidArgument that names the place."""
    if not is_object(content):
        raise InvalidArgument(f"{where} must be an object.")
    fields = dict(content)
    try:
        return made(**fields)
    except TypeError:
        wanted = ", ".join(field.name for field in _fields(made))
        raise InvalidArgument(f"{where} does not fit: {made.__name__} has {wanted or 'no fields'}.") from None
    except InvalidArgument as error:
        raise InvalidArgument(f"{where}: {error}") from None


def parse_object(content: object, what: str, members: Iterable[str]) -> Json:
    """A JSON text or value that must be an object with these members at most. Raises InvalidArgument."""
    try:
        found: object = json.loads(content) if isinstance(content, (str, bytes)) else content
    except (ValueError, RecursionError):
        found = None
    known = tuple(members)
    if not is_object(found):
        raise InvalidArgument(f"A {what} is a JSON object with {', '.join(known)}.")
    odd = sorted(map(str, found.keys() - set(known)))
    if odd:
        raise InvalidArgument(f"A {what} has {', '.join(known)}, and no {odd[0]!r}.")
    return found


# ── what a field may be ──────────────────────────────────────────────────────────────────────────────────────────────


def a_text(_value: object, field: Field, given: object) -> None:
    """A string."""
    if not isinstance(given, str):
        raise InvalidArgument(f"{field.name} must be a text, not {given!r}.")


def a_name(_value: object, field: Field, given: object) -> None:
    """A string with something in it."""
    if not isinstance(given, str) or not given:
        raise InvalidArgument(f"{field.name} must be a text that is not empty, not {given!r}.")


def a_flag(_value: object, field: Field, given: object) -> None:
    """True or False."""
    if not isinstance(given, bool):
        raise InvalidArgument(f"{field.name} must be true or false, not {given!r}.")


def a_duration(_value: object, field: Field, given: object) -> None:
    """A duration."""
    if not isinstance(given, (int, float)) or isinstance(given, bool) or not 0 <= given < float("inf"):
        raise InvalidArgument(f"{field.name} must be a number of seconds, not {given!r}.")


@attrs.frozen
class a_number:  # noqa: N801 - used as the functions beside it
    """An integer, from `least` on."""

    least: int = 0

    def __call__(self, _value: object, field: Field, given: object) -> None:
        """See the class."""
        if type(given) is not int or given < self.least:
            raise InvalidArgument(f"{field.name} must be an integer from {self.least} on, not {given!r}.")


@attrs.frozen
class one_of:  # noqa: N801 - used as the functions beside it
    """One of a few texts."""

    texts: tuple[str, ...]

    def __call__(self, _value: object, field: Field, given: object) -> None:
        """See the class."""
        if given not in self.texts:
            raise InvalidArgument(f"{given!r} is no {field.name}; there are {', '.join(self.texts)}.")
