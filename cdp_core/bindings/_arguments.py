"""Checks of a caller's values, before they become part of a value or a command of the bindings.

A value that no browser could read is an InvalidArgument that names the place, so that a refusal of the browser (code
-32602) is never about types. JSON is copied, containers included: a command keeps its params even if the caller
changes the originals.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any, Final, cast

from cdp_core.bindings._values import NULL, Value
from cdp_core.errors import InvalidArgument

_ATOMS: Final = frozenset((str, int, bool, type(None)))


def refusal(path: str, wanted: str, value: object) -> InvalidArgument:
    """Return the error for a value of the wrong type at `path`."""
    return InvalidArgument(f"{path} must be {wanted}, not {type(value).__name__}.")


def finite(value: float, path: str) -> float:
    """Return the number. Raises InvalidArgument if JSON cannot represent it."""
    if isfinite(value):
        return value
    raise InvalidArgument(f"{path} is {value}, which JSON cannot represent.")


def copied_json(value: Any, path: str) -> Any:
    """Copy JSON with its containers; values of the bindings are immutable, and are not copied."""
    if type(value) in _ATOMS or value is NULL or isinstance(value, (str, int, Value)):
        return value
    if isinstance(value, float):
        return finite(value, path)
    if isinstance(value, Mapping):
        return copied_object(cast("Mapping[object, Any]", value), path)
    if isinstance(value, (list, tuple)):
        items = cast("list[Any]", value)
        return [copied_json(each, f"{path}[{number}]") for number, each in enumerate(items)]
    raise refusal(path, "JSON", value)


def copied_object(value: Mapping[object, Any], path: str) -> dict[str, Any]:
    """Copy a JSON object. Raises InvalidArgument, naming the place, if it is not one."""
    copied: dict[str, Any] = {}
    for key, each in value.items():
        if not isinstance(key, str):
            raise InvalidArgument(f"{path} has a key of type {type(key).__name__}; JSON keys are strings.")
        copied[key] = copied_json(each, f"{path}.{key}")
    return copied
