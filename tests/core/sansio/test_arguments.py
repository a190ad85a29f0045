"""Arguments of callers: plain JSON, values that become plain JSON, and values refused with their path."""

from __future__ import annotations

import json
import math
from collections import OrderedDict, UserDict
from enum import Enum, IntEnum
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cdp_core.errors import InvalidArgument
from cdp_core.sansio.arguments import SMALLEST_LIMIT, check_limit, check_timeout, is_plain_json, typed_params
from cdp_core.sansio.messages import CommandId, encode_command
from cdp_core.sansio.structs import Raw

ONE = CommandId(1)
OBJECTS = st.dictionaries(
    st.text(max_size=8),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
        max_leaves=8,
    ),
    max_size=4,
)


def exact(value: Any) -> Any:
    """Return a form of a value that compares types too: 1, 1.0 and True differ."""
    if isinstance(value, dict):
        return {key: exact(item) for key, item in value.items()}
    if isinstance(value, list):
        return [exact(item) for item in value]
    return (type(value).__name__, repr(value))


class Text(str):
    __slots__ = ()


class Number(int):
    pass


class Real(float):
    pass


class Colour(str, Enum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


def params_of(octets: bytes) -> Any:
    return json.loads(octets)["params"]


# ── params ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@given(params=OBJECTS)
def test_json_is_plain_but_subclasses_nan_and_other_keys_are_not(params: dict[str, Any]) -> None:
    assert is_plain_json(params)
    assert is_plain_json([1.5, params])
    assert not is_plain_json({**params, "more": [Text("x")]})
    assert not is_plain_json([math.nan])
    assert not is_plain_json({1: "a key that is no string"})


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        (UserDict(a=1), {"a": 1}),
        (OrderedDict(a=1), {"a": 1}),
        (MappingProxyType({"a": MappingProxyType({"b": (1, 2)})}), {"a": {"b": [1, 2]}}),
        ({"a": (1, [2, (3,)])}, {"a": [1, [2, [3]]]}),
        ({"a": Text("x"), Text("b"): Colour.RED}, {"a": "x", "b": "red"}),
        ({"a": [Number(5), Level.HIGH, Real(1.5)]}, {"a": [5, 3, 1.5]}),
        ({"a": {"b": [True, None, 0.5, "x", {}]}}, {"a": {"b": [True, None, 0.5, "x", {}]}}),
        ({"a": (Text("\ud800"), Number(2**70))}, {"a": ["\ud800", 2**70]}),
        ({}, {}),
    ],
)
def test_values_with_a_json_form_are_sent_as_json(params: Any, expected: Any) -> None:
    assert exact(params_of(encode_command(ONE, "M.m", params, None))) == exact(expected)


@pytest.mark.parametrize(
    ("params", "path"),
    [
        ([], "params"),
        ("text", "params"),
        ({"a": math.nan}, "params.a is nan"),
        ({"a": [0.0, math.inf]}, "params.a[1] is inf"),
        ({"a": (1, {"b": -math.inf})}, "params.a[1].b is -inf"),
        ({"a": Real("nan")}, "params.a is nan"),
        ({"a": b"x"}, "params.a is of type bytes"),
        ({"a": bytearray(b"x")}, "params.a is of type bytearray"),
        ({"a": {1, 2}}, "params.a is of type set"),
        ({"a": {"b": object()}}, "params.a.b is of type object"),
        ({"a": [1, {"b": 1j}]}, "params.a[1].b is of type complex"),
        ({1: 2}, "params has a key of type int"),
        ({"a": {None: 2}}, "params.a has a key of type NoneType"),
        ({"a": [{b"b": 2}]}, "params.a[0] has a key of type bytes"),
        ({"a": iter([1])}, "params.a is of type list_iterator"),
        (UserDict({"a": Raw(b"1")}), "params.a is of type Raw"),
    ],
)
def test_a_value_without_a_json_form_is_refused_with_its_path(params: Any, path: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        encode_command(ONE, "M.m", params, None)
    assert path in str(refused.value)


@given(
    params=OBJECTS,
    bad=st.sampled_from([math.nan, math.inf, -math.inf, b"x", {1}, object()]),
    path=st.lists(st.sampled_from(["k", 0]), max_size=4),
)
def test_one_bad_value_at_any_path_is_refused(params: dict[str, Any], bad: object, path: list[str | int]) -> None:
    assume("bad" not in params)
    value: Any = bad
    expected_path = "params.bad"
    for step in reversed(path):
        value = {"k": value} if step == "k" else [value]
    for step in path:
        expected_path += ".k" if step == "k" else "[0]"
    with pytest.raises(InvalidArgument) as refused:
        encode_command(ONE, "M.m", {**params, "bad": value}, None)
    assert f"{expected_path} is" in str(refused.value)


# ── numbers ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("seconds", [0, -1, math.inf, math.nan, True, "1", None, 10**400])
def test_a_timeout_that_is_not_a_positive_finite_number_is_refused_by_name(seconds: Any) -> None:
    with pytest.raises(InvalidArgument, match="connect_timeout must be a positive"):
        check_timeout("connect_timeout", seconds)
    check_timeout("connect_timeout", 0.001)


@pytest.mark.parametrize("limit", [0, SMALLEST_LIMIT - 1, True, 1e9, "1024", None])
def test_a_limit_below_the_smallest_is_refused(limit: Any) -> None:
    with pytest.raises(InvalidArgument, match="max_message_bytes must be at least 1024 bytes"):
        check_limit(limit)
    check_limit(SMALLEST_LIMIT)


class Navigate:
    """A typed command."""

    method = "Page.navigate"

    def to_params(self) -> dict[str, Any]:
        return {"url": "about:blank"}

    def parse(self, _result: Any) -> None: ...


def test_a_typed_command_gives_its_params() -> None:
    assert typed_params(Navigate(), None) == {"url": "about:blank"}


@pytest.mark.parametrize(
    ("command", "params", "message"),
    [
        (Navigate, None, "not the class Navigate"),
        (7, None, "not a int"),
        (Navigate(), {}, "Page.navigate carries its own params"),
    ],
)
def test_a_class_another_value_and_params_beside_a_typed_command_are_refused(
    command: Any, params: Any, message: str
) -> None:
    with pytest.raises(InvalidArgument, match=message):
        typed_params(command, params)
