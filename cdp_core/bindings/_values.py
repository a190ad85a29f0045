"""The base classes of the bindings: values, events, enumerations, commands.

A `Value` is an attrs frozen class, made at the first use of its name. It does not hold its fields itself but a source
that does: either a record that the strict decoder filled straight from the bytes, or a `Loose` one, made field by
field from JSON that did not fit exactly, or from a caller's arguments. Reading a plain field costs one C call; a field
that is another value or an enumeration is made when it is read, and an array of these is kept as well.

So an event that no code reads is never decoded, and one that is read is decoded once, without a dict in between.

A field that the browser omitted although the protocol requires it raises `MissingField` when it is read; everything
else about the value works: `==`, `repr`, `pickle`, `copy`, writing it as JSON. Fields that the bindings do not know
are in `extra`; they are written again, and not compared. An optional field that was not sent is None; `NULL`, given to
a field, is an explicit JSON null (docs/cdp/optional-parameters-are-left-out.md).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, NoReturn, TypeVar, get_type_hints

import attrs

from cdp_core.bindings._names import field_name
from cdp_core.errors import InvalidArgument, MissingField
from cdp_core.sansio.messages import Event, Json, Result
from cdp_core.sansio.redaction import shown_name

if TYPE_CHECKING:
    from typing_extensions import Self

    from cdp_core.bindings._commands import CommandSpec
    from cdp_core.bindings._shapes import Spec

R_co = TypeVar("R_co", covariant=True)
V = TypeVar("V", bound="Value")


class _Mark:
    """The class of the two sentinels."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name

    def __reduce__(self) -> str:
        return self._name


NULL: Final[Any] = _Mark("NULL")
"""An explicit JSON null, where None would leave the field out: `runtime.CallArgument(value=NULL)`."""
MISSING: Final[Any] = _Mark("MISSING")
"""A required field that was not sent, in comparisons."""


class _EnumKind(type):
    """The metaclass of enumerations: their members are immutable, since the whole process shares them."""

    def __setattr__(cls, name: str, value: object) -> None:
        raise AttributeError(f"{cls.__name__}.{name} cannot be set: an enumeration does not change.")

    def __delattr__(cls, name: str) -> None:
        raise AttributeError(f"{cls.__name__}.{name} cannot be deleted: an enumeration does not change.")


class EnumValue(str, metaclass=_EnumKind):
    """A member of an enumeration: a string, so that it compares and prints as one.

    A member that the bindings do not know is a value all the same; its `known` is False.
    """

    __slots__ = ()
    __cdp_item__: ClassVar[str] = ""
    __cdp_members__: ClassVar[Mapping[str, EnumValue]] = {}

    def __new__(cls, value: str) -> Self:
        """Return the one object of a known member, or a new one for an unknown member.

        Raises InvalidArgument if the value is not a string.
        """
        if not isinstance(value, str):  # pyright: ignore[reportUnnecessaryIsInstance] - callers without a type checker
            raise InvalidArgument(f"{cls.__qualname__} is made from a string, not from {type(value).__name__}.")
        known = cls.__cdp_members__.get(value)
        return str.__new__(cls, value) if known is None else known  # type: ignore[return-value]  # pyright: ignore[reportReturnType]

    @property
    def known(self) -> bool:
        return self in type(self).__cdp_members__

    @classmethod
    def members(cls) -> tuple[Self, ...]:
        return tuple(cls.__cdp_members__.values())  # type: ignore[arg-type]  # pyright: ignore[reportReturnType]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str.__repr__(self)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self),)


class Loose:
    """Fields by their Python names; a required field that was not sent has no attribute."""

    __slots__ = ("__dict__", "extra", "nulls", "spec")

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.extra: Mapping[str, Any] = _NOTHING
        self.nulls: frozenset[str] = frozenset()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            # A `__getattr__` of the value itself would make every read slower.
            wire = self.spec.by_name[name].wire
            raise MissingField(
                f"The browser did not send {self.spec.item}.{wire}, though the bindings require it; the other fields "
                "can be used, and cdp_core.bindings.drift() lists the differences.",
                item=self.spec.item,
                field=wire,
            )


_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


class _Signature:
    """The signature of a value's class for `inspect.signature` and `help`, computed on access."""

    def __get__(self, _value: Value | None, kind: type[Value]) -> inspect.Signature:
        spec: Spec | None = getattr(kind, "__cdp_spec__", None)
        if spec is None:
            raise AttributeError("__signature__")
        hints = get_type_hints(kind)
        keyword, empty = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.empty
        return inspect.Signature(
            [
                inspect.Parameter(name, keyword, default=empty if field.required else None, annotation=hints[name])
                for name, field in spec.by_name.items()
            ]
        )


class Value:
    """The base of every object type of the protocol, of events and of results.

    A value has a hash, unless one of its fields holds open JSON (the protocol's `object` and `any`) that is an object
    or an array: those are dicts and lists here. The same holds for a command.
    """

    __slots__ = ("__weakref__", "_source")

    if TYPE_CHECKING:
        # Hidden from typing.get_type_hints, which must see the fields, and could not resolve this one.
        __cdp_spec__: ClassVar[Spec]

    @property
    def extra(self) -> Mapping[str, Any]:
        """The fields that the bindings do not know, as JSON."""
        source = source_of(self)
        return MappingProxyType(dict(source.extra)) if type(source) is Loose else _NOTHING

    if not TYPE_CHECKING:
        __signature__ = _Signature()

        def __init__(self, /, **given: Any) -> None:
            set_source(self, type(self).__cdp_spec__.accept(given))

        def __eq__(self, other: object) -> bool:
            if type(other) is not type(self):
                return NotImplemented
            return tuple(_state(self)) == tuple(_state(other))

        def __hash__(self) -> int:
            return hash((type(self), *_state(self)))

        def __repr__(self) -> str:
            fields = zip(type(self).__cdp_spec__.by_name, _state(self), strict=True)
            shown = ", ".join(f"{name}={value!r}" for name, value in fields if value is not None)
            return f"{type(self).__qualname__}({shown})"

        def __reduce__(self) -> tuple[Any, ...]:
            spec = type(self).__cdp_spec__
            return _restore, (type(self), spec.dump(self))

        def __replace__(self, /, **changes: Any) -> Self:
            return replace(self, **changes)


def replace(value: V, /, **changes: Any) -> V:
    """Copy a value with some fields changed, None for "not given"; `copy.replace` of Python 3.13 calls it.

    Unlike `attrs.evolve`, which makes a new value from the readable fields, it keeps everything else that the browser
    sent: fields that the bindings do not know, values of another type, explicit nulls; and a field that was not sent
    stays missing. Raises TypeError or InvalidArgument, as the constructor of a value does.
    """
    kind = type(value)
    return make_value(kind, kind.__cdp_spec__.changed(value, changes))  # type: ignore[no-any-return]


class _Reader:
    """Builds the event reader of a class on first access, and replaces itself with it."""

    def __get__(self, _value: EventValue | None, kind: type[Any]) -> Callable[[Event], Any]:
        read: Callable[[Event], Any] = kind.__cdp_spec__.event_reader()
        kind.__cdp_read__ = staticmethod(read)
        return read


class EventValue(Value):
    """The base of every event."""

    __slots__ = ()

    def __getitem__(self, name: object) -> NoReturn:
        raise TypeError(
            f"A typed event has fields, not items: read {type(self).__name__}.{field_name(shown_name(name))}, or subscribe to the "
            "event by its name to get plain JSON in `params`."
        )

    if TYPE_CHECKING:
        __cdp_method__: ClassVar[str]

        @classmethod
        def __cdp_read__(cls, event: Event, /) -> Self:
            """Return the typed event. Never raises outside strict mode."""
            ...

    else:
        __cdp_read__ = _Reader()


def _state(value: Value) -> Iterator[Any]:
    """Yield every field in order, with NULL and MISSING for fields without a value."""
    nulls = value.__cdp_spec__.nulls(value)
    for name in value.__cdp_spec__.by_name:
        yield NULL if name in nulls else getattr(value, name, MISSING)


source_of: Final[Any] = Value._source.__get__  # type: ignore[attr-defined]  # pyright: ignore  # noqa: PGH003
set_source: Final[Any] = Value._source.__set__  # type: ignore[attr-defined]  # pyright: ignore  # noqa: PGH003


def make_value(kind: type[Value], source: object) -> Any:
    value = _new(kind)
    set_source(value, source)
    return value


def make_values(kind: type[Value], sources: Iterable[object]) -> tuple[Any, ...]:
    values: list[Any] = []
    for source in sources:
        value = _new(kind)
        set_source(value, source)
        values.append(value)
    return tuple(values)


_new: Final[Any] = object.__new__


def _restore(kind: type[Value], fields: Json) -> Value:
    return make_value(kind, kind.__cdp_spec__.restore(fields))  # type: ignore[no-any-return]


@attrs.frozen(repr=False)
class Command(Generic[R_co]):
    """A command as a value: its method, its params, and the parser of its result.

    The functions of the domains' modules make commands: `page.navigate(url="https://example.com")`.
    """

    method: str
    params: tuple[tuple[str, Any], ...]
    """The given params, with the protocol's names, in its order."""
    _spec: CommandSpec = attrs.field(eq=False)

    def to_params(self) -> Json:
        """Return the params as JSON. A param that was not given is left out, and never sent as null."""
        return self._spec.to_params(self.params)

    def parse(self, result: Result | Json, /) -> R_co:
        """Return the typed result; None if the command has none. Drift is counted, not raised."""
        return self._spec.parse(result)  # type: ignore[return-value]  # pyright: ignore[reportReturnType]

    def __repr__(self) -> str:
        return f"{self.method}({', '.join(f'{name}={value!r}' for name, value in self.params)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return self._spec.reduce(self.params)
