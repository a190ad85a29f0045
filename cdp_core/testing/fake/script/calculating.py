"""The values of JavaScript expressions as Python values, and the operators on them.

A number is a `float`, a string a `str`, and so on; `undefined` and bigints have classes of their own. An operator that
would convert an object to a string or a number raises NotUnderstood (javascript.py).
"""

from __future__ import annotations

import math
import re
from typing import Any, Final

import attrs


class Undefined:
    """The value `undefined`."""


UNDEFINED: Final = Undefined()


@attrs.frozen
class BigInt:
    """A bigint; `text` is its literal, with the trailing `n`."""

    text: str


class NotUnderstood(Exception):
    """The text may be valid JavaScript, but the fake does not model it."""


def is_truthy(value: Any) -> bool:
    if isinstance(value, float):
        return bool(value) and not math.isnan(value)
    if isinstance(value, BigInt):
        return value.text != "0n"
    return isinstance(value, (list, dict)) or (value is not UNDEFINED and bool(value))


def number_text(value: float) -> str:
    """Return a number as JavaScript prints it."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if value == int(value) and abs(value) < 1e21:
        return str(int(value))
    mantissa, found, exponent = repr(value).partition("e")
    if not found:
        return mantissa
    if -7 < int(exponent) < 0:
        return f"{value:.{len(mantissa.replace('.', '').lstrip('-')) - 1 - int(exponent)}f}"
    return f"{mantissa.removesuffix('.0')}e{'+' if int(exponent) > 0 else '-'}{abs(int(exponent))}"


def text_of(value: Any) -> str:
    """Convert a value to a string. Raises NotUnderstood for an object."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return number_text(value)
    if value is None or value is UNDEFINED:
        return "null" if value is None else "undefined"
    if isinstance(value, BigInt):
        return value.text[:-1]
    raise NotUnderstood("an object as a string")


def number_of(value: Any) -> float:
    """Convert a value to a number. Raises NotUnderstood for an object or a bigint."""
    if isinstance(value, (bool, float)):
        return float(value)
    if value is None or value is UNDEFINED:
        return 0.0 if value is None else math.nan
    if isinstance(value, str):
        text = value.strip()
        if text == "":
            return 0.0
        return float(text) if re.fullmatch(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", text) else math.nan
    raise NotUnderstood("an object as a number")


def signed(value: Any, factor: float) -> Any:
    """Apply unary plus or minus. Raises NotUnderstood."""
    if isinstance(value, BigInt):
        raise NotUnderstood("a sign")
    return factor * number_of(value)


def apply_operator(sign: str, left: Any, right: Any) -> Any:
    """Apply a binary operator to two values. Raises NotUnderstood."""
    if isinstance(left, BigInt) or isinstance(right, BigInt):
        raise NotUnderstood("bigints")
    if sign in ("===", "!=="):
        return _is_same(left, right) is (sign == "===")
    if sign in ("==", "!="):
        return _is_like(left, right) is (sign == "==")
    if sign == "+" and (isinstance(left, str) or isinstance(right, str)):
        return text_of(left) + text_of(right)
    if sign in ("<", ">", "<=", ">=") and isinstance(left, str) and isinstance(right, str):
        return _compared(sign, left.encode("utf-16-be", "surrogatepass"), right.encode("utf-16-be", "surrogatepass"))
    one, other = number_of(left), number_of(right)
    return _compared(sign, one, other) if sign[0] in "<>" else _of_numbers(sign, one, other)


def _compared(sign: str, one: Any, other: Any) -> bool:
    found: bool = {"<": one < other, ">": one > other, "<=": one <= other, ">=": one >= other}[sign]
    return found


def _of_numbers(sign: str, one: float, other: float) -> float:
    if sign == "/":
        if other == 0:
            return math.nan if one == 0 or math.isnan(one) else math.copysign(math.inf, one) * math.copysign(1, other)
        return one / other
    if sign == "%":
        return math.nan if other == 0 or math.isinf(one) else math.fmod(one, other)
    try:
        return {"+": one + other, "-": one - other, "*": one * other}[sign] if sign != "**" else math.pow(one, other)
    except (OverflowError, ValueError):
        raise NotUnderstood("a number out of range") from None


def _is_same(left: Any, right: Any) -> bool:
    if isinstance(left, (list, dict)) or isinstance(right, (list, dict)):
        return False  # each literal makes a new object
    return type(left) is type(right) and bool(left == right)


def _is_like(left: Any, right: Any) -> bool:
    nothing = [each is None or each is UNDEFINED for each in (left, right)]
    if any(nothing):
        return all(nothing)
    if type(left) is type(right):
        return _is_same(left, right)
    return number_of(left) == number_of(right)
