"""Arguments of commands and values: invalid ones are refused at once, valid ones are copied."""

from __future__ import annotations

from collections import OrderedDict, UserDict, deque
from collections.abc import Callable
from enum import Enum, IntEnum
from types import MappingProxyType
from typing import Any

import pytest

from cdp_core.bindings import NULL, css, dom, emulation, fetch, from_json, network, overlay, page, runtime, target
from cdp_core.errors import InvalidArgument

# ── arguments are copied ─────────────────────────────────────────────────────────────────────────────────────────────


def test_changing_an_argument_afterwards_has_no_effect() -> None:
    headers: dict[str, Any] = {"a": "b"}
    command = network.set_extra_http_headers(headers=headers)
    inner: dict[str, Any] = {"deep": [1]}
    call = runtime.call_function_on(function_declaration="f", arguments=[runtime.CallArgument(value=inner)])
    filters = [{"type": "page"}]
    attach = target.set_discover_targets(discover=True, filter=filters)
    headers["c"] = "d"
    inner["deep"].append(2)
    filters[0]["type"] = "iframe"
    assert command.to_params() == {"headers": {"a": "b"}}
    assert call.to_params()["arguments"] == [{"value": {"deep": [1]}}]
    assert attach.to_params()["filter"] == [{"type": "page"}]


def test_changing_parsed_params_afterwards_has_no_effect() -> None:
    from cdp_core.bindings import parse_command

    params = {"headers": {"a": ["b"]}}
    command = parse_command("Network.setExtraHTTPHeaders", params)
    assert command is not None
    params["headers"]["a"].append("c")
    params["headers"]["d"] = []
    assert command.to_params() == {"headers": {"a": ["b"]}}


def test_any_mapping_or_sequence_becomes_plain_json() -> None:
    for given in (OrderedDict(a=(1, 2)), MappingProxyType({"a": [1, 2]}), UserDict(a=[1, 2])):
        argument = runtime.CallArgument(value=given)
        assert type(argument.value) is dict
        assert argument == from_json(runtime.CallArgument, {"value": {"a": [1, 2]}})
    assert runtime.CallArgument(value=(1, (2,))).value == [1, [2]]


@pytest.mark.parametrize(
    "kind", [list, tuple, set, frozenset, dict.fromkeys, iter, deque, reversed, lambda given: (each for each in given)]
)
def test_any_iterable_is_accepted_as_an_array(kind: Any) -> None:
    given = kind(["a"])
    files = given.keys() if isinstance(given, dict) else given
    assert dom.set_file_input_files(files=files).to_params() == {"files": ["a"]}


def test_values_that_hold_mutable_json_are_unhashable() -> None:
    assert hash(page.navigate(url="u")) == hash(page.navigate(url="u"))
    assert hash(runtime.CallArgument(value=1)) == hash(runtime.CallArgument(value=1))
    for value in (
        network.set_extra_http_headers(headers={}),
        runtime.CallArgument(value=[]),
        runtime.call_function_on(function_declaration="f", arguments=[runtime.CallArgument(value={})]),
    ):
        with pytest.raises(TypeError, match="unhashable"):
            hash(value)


# ── invalid arguments are refused ────────────────────────────────────────────────────────────────────────────────────

LOOP: list[Any] = []
LOOP.append(LOOP)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: page.navigate(url=7), "page.navigate(): url must be a string, not int."),
        (lambda: page.navigate(url=b"u"), "page.navigate(): url must be a string, not bytes."),
        (
            lambda: page.navigate(url="", transition_type=7),
            "page.navigate(): transition_type must be a string, not int.",
        ),
        (lambda: page.reload(ignore_cache=1), "page.reload(): ignore_cache must be True or False, not int."),
        (lambda: dom.resolve_node(node_id="1"), "dom.resolve_node(): node_id must be an integer, not str."),
        (lambda: dom.resolve_node(node_id=True), "dom.resolve_node(): node_id must be an integer, not bool."),
        (lambda: dom.resolve_node(node_id=1.5), "dom.resolve_node(): node_id must be an integer, not float."),
        (
            lambda: emulation.set_cpu_throttling_rate(rate="2"),
            "emulation.set_cpu_throttling_rate(): rate must be a number, not str.",
        ),
        (
            lambda: emulation.set_cpu_throttling_rate(rate=float("nan")),
            "emulation.set_cpu_throttling_rate(): rate is nan, which JSON cannot represent.",
        ),
        (
            lambda: emulation.set_cpu_throttling_rate(rate=True),
            "emulation.set_cpu_throttling_rate(): rate must be a number, not bool.",
        ),
        (
            lambda: network.set_extra_http_headers(headers=[("a", "b")]),
            "network.set_extra_http_headers(): headers must be a JSON object, not list.",
        ),
        (
            lambda: network.set_extra_http_headers(headers={"a": {1, 2}}),
            "network.set_extra_http_headers(): headers.a must be JSON, not set.",
        ),
        (
            lambda: network.set_extra_http_headers(headers={7: "a"}),
            "network.set_extra_http_headers(): headers has a key of type int; JSON keys are strings.",
        ),
        (
            lambda: dom.set_file_input_files(files="a"),
            "dom.set_file_input_files(): files must be an array, not str.",
        ),
        (
            lambda: dom.set_file_input_files(files={"a": 1}),
            "dom.set_file_input_files(): files must be an array, not dict.",
        ),
        (
            lambda: dom.set_file_input_files(files=["a", 7]),
            "dom.set_file_input_files(): files[1] must be a string, not int.",
        ),
        (
            lambda: overlay.highlight_quad(quad=[1, float("inf")]),
            "overlay.highlight_quad(): quad[1] is inf, which JSON cannot represent.",
        ),
        (
            lambda: fetch.enable(patterns=[page.FrameResized()]),
            "fetch.enable(): patterns[0] must be of RequestPattern, or a JSON object, not FrameResized.",
        ),
        (
            lambda: fetch.enable(patterns=[{"a": [b"x"]}]),
            "fetch.enable(): patterns[0].a[0] must be JSON, not bytes.",
        ),
        (lambda: runtime.CallArgument(value=object()), "CallArgument: value must be JSON, not object."),
        (
            lambda: runtime.CallArgument(value={"a": [float("-inf")]}),
            "CallArgument: value.a[0] is -inf, which JSON cannot represent.",
        ),
        (lambda: page.Viewport(x="1", y=2, width=3, height=4, scale=1), "Viewport: x must be a number, not str."),
        (
            lambda: css.CSSProperty(name="a", value="b", longhand_properties=[7]),
            "CSSProperty: longhand_properties[0] must be of CSSProperty, or a JSON object, not int.",
        ),
        (
            lambda: runtime.CallArgument(value=LOOP),
            "The values given to CallArgument are nested too deeply, or contain themselves.",
        ),
    ],
)
def test_an_invalid_argument_is_refused(make: Callable[[], object], expected: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        make()
    assert str(caught.value) == expected
    assert caught.value.__context__ is None


def test_enums_whole_floats_and_nulls_are_accepted() -> None:
    class Text(str, Enum):
        BLANK = "about:blank"

    class Number(IntEnum):
        ONE = 1

    assert page.navigate(url=Text.BLANK).to_params() == {"url": "about:blank"}
    assert dom.resolve_node(node_id=Number.ONE).to_params() == {"nodeId": 1}
    assert dom.resolve_node(node_id=3.0) == dom.resolve_node(node_id=3)
    assert type(dict(dom.resolve_node(node_id=3.0).params)["nodeId"]) is int
    assert emulation.set_cpu_throttling_rate(rate=2).to_params() == {"rate": 2}
    assert page.navigate(url=NULL).to_params() == {"url": None}
    assert runtime.CallArgument(value={"a": [None, NULL, page.DialogType.ALERT]}).value["a"][2] == "alert"
