"""Checks of the caller's arguments, made before a dial, a command or a registration uses them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import inf, isfinite, nextafter
from typing import TYPE_CHECKING, Any, Final, cast

from cdp_core.errors import InvalidArgument

if TYPE_CHECKING:
    from cdp_core.sansio.messages import Json, TypedCommand

SMALLEST_LIMIT: Final = 1024
"""Bytes. The smallest allowed message limit: a smaller one would not even fit an error of the browser."""

_LARGEST: Final = nextafter(inf, 0.0)
_ATOMS: Final = frozenset((str, int, bool, type(None)))


def check_timeout(name: str, seconds: object) -> None:
    """Raise InvalidArgument unless this is a positive, finite number of seconds."""
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 < seconds <= _LARGEST:
        raise InvalidArgument(f"{name} must be a positive, finite number of seconds, not {seconds!r}.")


def check_limit(max_message_bytes: object) -> None:
    """Raise InvalidArgument unless this is a usable limit for the size of a message."""
    if type(max_message_bytes) is not int or max_message_bytes < SMALLEST_LIMIT:
        raise InvalidArgument(f"max_message_bytes must be at least {SMALLEST_LIMIT} bytes, not {max_message_bytes!r}.")


def typed_params(command: TypedCommand[Any], params: Mapping[str, Any] | None) -> Json:
    """Return a typed command's params. Raises InvalidArgument for another value, or for params beside it."""
    if isinstance(command, type) or not callable(getattr(command, "to_params", None)):
        raise InvalidArgument(
            f"A command must be a typed command or a name such as 'Page.navigate', not {describe_kind(command)}."
        )
    if params is not None:
        raise InvalidArgument(f"{command.method} carries its own params; params are for commands named by a string.")
    return command.to_params()


def describe_kind(value: object) -> str:
    """Describe the kind of a value for an error text, without showing the value."""
    return f"the class {value.__name__}" if isinstance(value, type) else f"a {type(value).__name__}"


def plain_object(params: Mapping[str, Any]) -> dict[str, Any]:
    """Copy params as plain JSON. Raises InvalidArgument, naming the place, if they are not JSON."""
    if not isinstance(params, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - callers without a type checker
        raise InvalidArgument(f"params must be a mapping, not {type(params).__name__}.")
    plain: dict[str, Any] = _to_plain(params, "params")
    return plain


def is_plain_json(value: Any) -> bool:
    """True if a value is plain JSON already, with no subclass of a builtin type in it."""
    kind = type(value)  # pyright: ignore[reportUnknownVariableType]
    if kind is dict:
        for key, item in value.items():
            if type(key) is not str or (type(item) not in _ATOMS and not is_plain_json(item)):
                return False
        return True
    if kind is list:
        for item in value:  # noqa: SIM110 - a generator would cost twice the loop
            if type(item) not in _ATOMS and not is_plain_json(item):
                return False
        return True
    return kind in _ATOMS or (kind is float and isfinite(value))


def _to_plain(value: Any, path: str) -> Any:
    if type(value) in _ATOMS:
        return value
    if isinstance(value, float):
        if not isfinite(value):
            raise InvalidArgument(f"{path} is {value}, which JSON cannot represent.")
        return float(value)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, Mapping):
        plain: dict[str, Any] = {}
        items: Iterable[tuple[object, object]] = cast("Mapping[object, object]", value).items()
        for key, item in items:
            if not isinstance(key, str):
                raise InvalidArgument(f"{path} has a key of type {type(key).__name__}; JSON keys are strings.")
            plain[str.__str__(key)] = _to_plain(item, f"{path}.{key}")
        return plain
    if isinstance(value, (list, tuple)):
        sequence = cast("Sequence[object]", value)
        return [_to_plain(item, f"{path}[{place}]") for place, item in enumerate(sequence)]
    raise InvalidArgument(f"{path} is of type {type(value).__name__}, which JSON cannot represent.")
