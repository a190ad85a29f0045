"""The strict and the loose reader agree on any JSON from a peer; neither raises or loses any of it.

Bytes, such as an event's params, are read by the strict reader, and by the loose reader if the strict one declines. A
dict, made by any JSON decoder, is read by the loose reader alone.

The laws, for every JSON object and every item:

* both readers give equal values, with equal JSON and the same drift at each place;
* the JSON of the value equals the JSON that was sent;
* outside strict mode nothing raises; in strict mode BindingDrift is raised if and only if drift occurs, and then
  exactly one drift is counted.
"""

from __future__ import annotations

import copy
import json
import pickle
import sys
from collections.abc import Callable
from random import Random
from types import ModuleType
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdp_core.bindings import (
    Value,
    _strict,
    dom,
    drift,
    forget_drift,
    from_json,
    page,
    parse_command,
    parse_result,
    runtime,
    strict,
    to_json,
)
from cdp_core.bindings import network as network_domain
from cdp_core.bindings._domain import Domain
from cdp_core.bindings._values import Loose, source_of
from cdp_core.errors import BindingDrift
from cdp_core.sansio.messages import CommandId, Event, Result, WholeEvent, WholeResult
from cdp_core.sansio.structs import Raw
from support import protocol_values

chances = st.randoms(use_true_random=False)
ONE = CommandId(1)
Counts = dict[str, dict[str, int]]


def counted(read: Callable[[], Any]) -> tuple[Any, Counts]:
    """Read once; return the value and its drift."""
    forget_drift()
    value = read()
    report = drift()
    return value, {kind: dict(counts) for kind, counts in attrs.asdict(report, recurse=False).items() if counts}


def assert_strict_mode_raises(read: Callable[[], Any], counts: Counts) -> None:
    forget_drift()
    with strict():
        if not counts:
            read()
            return
        with pytest.raises(BindingDrift) as caught:
            read()
    (kind,) = (kind for kind, places in attrs.asdict(drift(), recurse=False).items() if places)
    assert drift().total == 1
    (place,) = getattr(drift(), kind)
    assert place in counts[kind]
    assert caught.value.item
    assert place.startswith(caught.value.item)
    assert place.endswith(caught.value.field)
    assert str(caught.value).endswith(".")


def assert_readers_agree(kind: type[Value], sent: dict[str, Any]) -> Counts:
    untouched = copy.deepcopy(sent)
    text = protocol_values.octets(sent)
    reads: list[Callable[[], Any]] = [
        lambda: protocol_values.from_octets(kind, text),
        lambda: from_json(kind, sent),
        lambda: from_json(kind, json.loads(text)),
    ]
    (value, counts), *others = map(counted, reads)
    assert protocol_values.same_json(to_json(value), sent)
    assert type(source_of(value)) is Loose or not counts
    for other, other_counts in others:
        assert other_counts == counts
        assert other == value
        assert repr(other) == repr(value)
        assert protocol_values.same_json(to_json(other), sent)
        assert other.extra == value.extra
    for read in reads:
        assert_strict_mode_raises(read, counts)
    for again in (pickle.loads(pickle.dumps(value)), copy.copy(value), copy.deepcopy(value)):
        assert again == value
        assert protocol_values.same_json(to_json(again), sent)
    again, again_counts = counted(lambda: from_json(kind, to_json(value)))
    assert again == value
    assert again_counts == counts
    assert sent == untouched
    return counts


# ── any JSON ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_every_spoiled_value(domain: Domain, rounds: int) -> None:
    drifted = 0
    for item in protocol_values.items_of(domain):
        if item.kind == "command":
            continue
        chance = Random(f"spoiled {item}")
        for _ in range(rounds):
            drifted += bool(
                assert_readers_agree(item.made, protocol_values.spoil(chance, protocol_values.fitting(chance, item)))
            )
    values = sum(item.kind != "command" for item in protocol_values.items_of(domain))
    assert drifted >= values * rounds // 4, "spoiling hardly ever causes drift"


@given(data=st.data(), chance=chances)
def test_any_spoiled_value(data: st.DataObject, chance: Random) -> None:
    item = data.draw(st.sampled_from(protocol_values.VALUES))
    sent = protocol_values.fitting(chance, item, parts=chance.choice((0, 10, 40)))
    assert_readers_agree(item.made, protocol_values.spoil(chance, sent, times=6))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(data=st.data())
def test_any_json_with_the_field_names_of_an_item(data: st.DataObject) -> None:
    item = data.draw(st.sampled_from(protocol_values.VALUES))
    names = st.sampled_from([field.wire for field in item.fields] or ["x"]) | st.text(max_size=5)
    assert_readers_agree(item.made, data.draw(st.dictionaries(names, json_values, max_size=6)))


def assert_command_is_kept(item: Any, sent: dict[str, Any]) -> None:
    command, counts = counted(lambda: parse_command(item.place, sent))
    assert command is not None
    assert protocol_values.same_json(command.to_params(), sent)
    assert_strict_mode_raises(lambda: parse_command(item.place, sent), counts)
    for again in (parse_command(item.place, command.to_params()), pickle.loads(pickle.dumps(command))):
        assert again == command
        assert repr(again) == repr(command)
        assert protocol_values.same_json(again.to_params(), sent)


def test_every_spoiled_command(domain: Domain) -> None:
    for item in protocol_values.items_of(domain):
        if item.kind == "command":
            chance = Random(f"spoiled {item}")
            assert_command_is_kept(item, protocol_values.spoil(chance, protocol_values.fitting(chance, item)))


@given(data=st.data(), chance=chances)
def test_any_spoiled_command(data: st.DataObject, chance: Random) -> None:
    item = data.draw(st.sampled_from(protocol_values.COMMANDS))
    assert_command_is_kept(item, protocol_values.spoil(chance, protocol_values.fitting(chance, item)))


def assert_result_readers_agree(item: Any, sent: dict[str, Any]) -> None:
    """A result is read from bytes, from a large message that is decoded already, and from a dict."""
    spec = item.domain.command(item.name)
    reads: list[Callable[[], Any]] = [
        lambda: spec.parse(Result(id=ONE, raw=Raw(protocol_values.octets(sent)))),
        lambda: spec.parse(WholeResult(id=ONE, whole=sent)),
        lambda: spec.parse(sent),
    ]
    (value, counts), *others = map(counted, reads)
    assert type(value) is item.made
    assert protocol_values.same_json(to_json(value), sent)
    for other, other_counts in others:
        assert other == value
        assert other_counts == counts
        assert protocol_values.same_json(to_json(other), sent)
    for read in reads:
        assert_strict_mode_raises(read, counts)


def test_every_result_and_every_spoiled_result(domain: Domain) -> None:
    for item in protocol_values.items_of(domain):
        if item.kind == "result":
            chance = Random(f"spoiled result {item}")
            sent = protocol_values.fitting(chance, item)
            assert_result_readers_agree(item, sent)
            assert_result_readers_agree(item, protocol_values.spoil(chance, sent))
            read = domain.command(item.name).parse(Result(id=ONE, raw=Raw(protocol_values.octets(sent))))
            assert type(source_of(read)) is not Loose, "the strict reader declined JSON that fits"


@given(data=st.data(), chance=chances)
def test_any_spoiled_result(data: st.DataObject, chance: Random) -> None:
    item = data.draw(st.sampled_from([item for item in protocol_values.VALUES if item.kind == "result"]))
    assert_result_readers_agree(item, protocol_values.spoil(chance, protocol_values.fitting(chance, item), times=6))


@pytest.mark.parametrize("fields", [{}, {"colour": 1}, {"a": None, "\ud800": {}}])
def test_fields_of_a_result_of_a_command_without_results(fields: dict[str, Any]) -> None:
    command = page.enable()
    for read in (
        lambda: command.parse(Result(id=ONE, raw=Raw(protocol_values.octets(fields)))),
        lambda: command.parse(WholeResult(id=ONE, whole=fields)),
        lambda: command.parse(fields),
    ):
        value, counts = counted(read)
        assert value is None
        assert counts == ({"unknown_fields": {f"Page.enable.{name}": 1 for name in fields}} if fields else {})
        assert_strict_mode_raises(read, counts)


@pytest.mark.parametrize("command", [page.navigate(url=""), page.enable()])
@pytest.mark.parametrize("raw", [b"[]", b"null", b"7", b'"text"', b"{", b""])
def test_a_result_that_is_not_an_object_is_read_as_an_empty_one(command: Any, raw: bytes) -> None:
    def read() -> Any:
        return command.parse(Result(id=ONE, raw=Raw(raw)))

    value, counts = counted(read)
    assert value == command.parse({})
    missed = {"missing_fields": {"Page.NavigateResult.frameId": 1}} if value is not None else {}
    assert counts == {"other_types": {f"{command.method}.result": 1}, **missed}
    assert_strict_mode_raises(read, counts)


@pytest.mark.parametrize("value", [None, [], [1], "text", 7, True])
def test_json_of_a_caller_that_is_not_an_object_is_counted(value: Any) -> None:
    for act, place in (
        (lambda: page.navigate(url="").parse(value), "Page.navigate.result"),
        (lambda: parse_result("Page.navigate", value), "Page.navigate.result"),
        (lambda: parse_result("Page.enable", value), "Page.enable.result"),
        *(((lambda: parse_command("Page.enable", value), "Page.enable.params"),) if value is not None else ()),
    ):
        read, counts = counted(act)
        assert counts["other_types"] == {place: 1}
        assert read in (None, page.enable(), page.navigate(url="").parse({}))
        assert_strict_mode_raises(act, counts)


# ── JSON that decoders are known to read differently ─────────────────────────────────────────────────────────────────

CALL_FRAME = '{"functionName":"","scriptId":"1","url":"","lineNumber":%s,"columnNumber":0}'


@pytest.mark.parametrize(
    ("number", "shown", "drifts"),
    [
        ("7", 7, False),
        ("7.0", 7, False),
        ("-0", 0, False),
        ("-0.0", 0, False),
        ("7e2", 700, False),
        ("9007199254740993", 9007199254740993, False),
        ("18446744073709551616", 2**64, False),
        ("1180591620717411303425", 2**70 + 1, False),
        ("1e300", int(1e300), False),
        ("7.5", 7.5, True),
        ("1e400", float("inf"), True),
        ("true", True, True),
        ('"7"', "7", True),
        ("[7]", [7], True),
    ],
)
def test_ways_to_write_an_integer(number: str, shown: Any, drifts: bool) -> None:
    text = (CALL_FRAME % number).encode()
    read, counts = counted(lambda: protocol_values.from_octets(runtime.CallFrame, text))
    loose, loose_counts = counted(lambda: from_json(runtime.CallFrame, json.loads(text)))
    assert read.line_number == loose.line_number == shown
    assert type(read.line_number) is type(loose.line_number) is type(shown)
    assert counts == loose_counts == ({"other_types": {"Runtime.CallFrame.lineNumber": 1}} if drifts else {})


@pytest.mark.parametrize("number", ["0", "1.5", "1e400", "-1e400", "1180591620717411303425", "1e22", "5e-324"])
def test_ways_to_write_a_number(number: str) -> None:
    text = b'{"timestamp":%s}' % number.encode()
    read, counts = counted(lambda: protocol_values.from_octets(page.LoadEventFired, text))
    assert read.timestamp == json.loads(number)
    assert read == from_json(page.LoadEventFired, json.loads(text))
    assert not counts


@pytest.mark.parametrize(
    ("text", "timestamp"),
    [(b'{"timestamp":"x","timestamp":1}', 1), (b'{"timestamp":1,"timestamp":2}', 2), (b' {\n"timestamp" :\t3} ', 3)],
)
def test_unusual_json_is_not_drift(text: bytes, timestamp: int) -> None:
    read, counts = counted(lambda: protocol_values.from_octets(page.LoadEventFired, text))
    assert read.timestamp == timestamp
    assert not counts


def test_a_lone_surrogate_is_kept_and_is_not_drift() -> None:
    sent = {"type": "string", "value": "\ud83d", "description": "a\udc00"}
    text = b'{"type":"string","value":"\\ud83d","description":"a\\udc00"}'
    read, counts = counted(lambda: protocol_values.from_octets(runtime.RemoteObject, text))
    assert not counts
    assert read.type is runtime.RemoteObjectType.STRING
    assert (read.value, read.description) == ("\ud83d", "a\udc00")
    assert to_json(read) == sent == to_json(pickle.loads(pickle.dumps(read)))


# ── deep nesting ─────────────────────────────────────────────────────────────────────────────────────────────────────

LEVELS = 100
"""Levels of nested values.

A browser stops at 300 levels of JSON, which are 150 levels of arrays of objects.
"""


def node(children: list[dict[str, Any]]) -> dict[str, Any]:
    plain = {"nodeId": 1, "backendNodeId": 1, "nodeType": 1, "nodeName": "", "localName": "", "nodeValue": ""}
    return {**plain, "children": children}


def test_a_deep_tree() -> None:
    tree = node([])
    for _ in range(LEVELS):
        tree = node([tree])
    assert assert_readers_agree(dom.Node, tree) == {}
    assert assert_readers_agree(dom.SetChildNodes, {"parentId": 1, "nodes": [tree]}) == {}
    found, depth = from_json(dom.Node, tree), 0
    while found.children:
        (found,) = found.children
        depth += 1
    assert depth == LEVELS


def test_a_deep_chain() -> None:
    stack: dict[str, Any] = {"callFrames": []}
    for _ in range(LEVELS):
        stack = {"callFrames": [], "parent": stack}
    assert assert_readers_agree(runtime.StackTrace, stack) == {}
    stack["parent"]["parent"]["colour"] = None
    assert assert_readers_agree(runtime.StackTrace, stack) == {"unknown_fields": {"Runtime.StackTrace.colour": 1}}


@pytest.mark.parametrize("levels", [150, 300, 1000, 3000, 100_000])
@pytest.mark.parametrize("unknown_field", ["", '"colour":1,'])
def test_even_deeper_nesting_does_not_raise(levels: int, unknown_field: str) -> None:
    """The event is read in part, or not at all if the JSON is too deep for the decoder."""
    start = f'{{"nodeId":1,"backendNodeId":1,"nodeType":1,"nodeName":"",{unknown_field}"localName":"","nodeValue":"","children":['
    text = f'{{"parentId":1,"nodes":[{start * levels}{"]}" * levels}]}}'.encode()
    read, counts = counted(lambda: protocol_values.from_octets(dom.SetChildNodes, text))
    if not counts.get("missing_fields"):
        assert read.parent_id == 1
        assert type(read.nodes) is tuple
    else:  # the JSON was too deep for the decoder
        assert levels > 300
        assert counts["other_types"] == {"DOM.setChildNodes.params": 1}
    if levels <= 150:
        assert read.nodes[0].node_id == 1
        assert protocol_values.same_json(to_json(read), json.loads(text))


def test_deep_json_in_one_field() -> None:
    deep: Any = None
    for level in range(140):
        deep = [deep] if level % 2 else {"a": deep}
    assert_readers_agree(runtime.RemoteObject, {"type": "object", "value": deep})
    assert_readers_agree(runtime.RemoteObject, {"type": "object", "colour": deep})
    assert_readers_agree(runtime.RemoteObject, {"type": deep})


# ── ways to read an event ────────────────────────────────────────────────────────────────────────────────────────────


def test_the_strict_reader_is_used_for_an_event_that_fits() -> None:
    sent = {"requestId": "1", "timestamp": 1.5}
    read = network_domain.RequestServedFromCache.__cdp_read__(
        Event(method="Network.requestServedFromCache", raw=Raw(b'{"requestId":"1"}'))
    )
    assert type(source_of(read)) is not Loose
    assert assert_readers_agree(network_domain.RequestServedFromCache, sent) == {
        "unknown_fields": {"Network.requestServedFromCache.timestamp": 1}
    }


@given(data=st.data(), chance=chances, spoiled=st.booleans())
def test_an_event_of_a_large_message_is_the_same(data: st.DataObject, chance: Random, spoiled: bool) -> None:
    item = data.draw(st.sampled_from([item for item in protocol_values.VALUES if item.kind == "event"]))
    sent = protocol_values.fitting(chance, item)
    if spoiled:
        sent = protocol_values.spoil(chance, sent)
    small = Event(method=item.place, raw=Raw(protocol_values.octets(sent)))
    large = WholeEvent(method=item.place, whole=sent, octets=1 << 20)
    (one, counts), (other, other_counts) = (
        counted(lambda event=event: item.made.__cdp_read__(event)) for event in (small, large)
    )
    assert one == other
    assert counts == other_counts
    assert protocol_values.same_json(to_json(other), sent)


@pytest.mark.parametrize("raw", [b"[]", b"null", b"7", b'"x"', b"", b"{", b'{"timestamp":', b'{"timestamp":"\xff"}'])
def test_params_that_are_not_an_object(raw: bytes) -> None:
    event = Event(method="Page.loadEventFired", raw=Raw(raw))
    read, counts = counted(lambda: page.LoadEventFired.__cdp_read__(event))
    assert counts == {
        "other_types": {"Page.loadEventFired.params": 1},
        "missing_fields": {"Page.loadEventFired.timestamp": 1},
    }
    assert to_json(read) == {}
    assert_strict_mode_raises(
        lambda: page.LoadEventFired.__cdp_read__(event), {"other_types": {"Page.loadEventFired.params": 1}}
    )


def test_an_event_without_params() -> None:
    read, counts = counted(lambda: page.FrameResized.__cdp_read__(Event(method="Page.frameResized")))
    assert read == page.FrameResized()
    assert not counts


# ── twins that are made concurrently ─────────────────────────────────────────────────────────────────────────────────


def test_twins_of_a_circle_can_be_made_in_any_order() -> None:
    module = circular_domain("CircleOne")
    for first in ("c", "b", "a"):
        read = getattr(module, first.upper()).__cdp_spec__.event_reader()
        value = read(Event(method="x", raw=Raw(b'{"next":{"next":{"next":{"list":[{"next":{}}]}}}}')))
        assert type(source_of(value)) is not Loose
        assert to_json(value) == {"next": {"next": {"next": {"list": [{"next": {}}]}}}}


def test_a_twin_is_made_once() -> None:
    twins = [kind.__cdp_spec__.twin() for kind in (dom.SetChildNodes, dom.Node, dom.SetChildNodes, dom.Node)]
    assert twins[:2] == twins[2:]


def test_a_twin_of_a_circle_can_be_used_while_another_thread_makes_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two links in two threads: one reads its first B while the other is making A, which contains a B."""
    module = circular_domain("CircleTwo")
    define, seen = _strict.define, []

    def slow(name: str, fields: Any) -> Any:
        if name == "CircleTwo_A" and not seen:
            seen.append(name)
            read = module.B.__cdp_spec__.event_reader()  # stands for the other thread, in the middle of this call
            seen.append(read(Event(method="x", raw=Raw(b'{"next":{"next":{}}}'))))
        return define(name, fields)

    monkeypatch.setattr(_strict, "define", slow)
    read = module.A.__cdp_spec__.event_reader()
    assert to_json(read(Event(method="x", raw=Raw(b'{"next":{}}')))) == {"next": {}}
    assert to_json(seen[1]) == {"next": {"next": {}}}


def circular_domain(name: str) -> Any:
    """Make a domain in which A contains B, B contains C, C contains A; each also has a list of another."""
    module = ModuleType(f"bindings_test_{name}")
    sys.modules[module.__name__] = module
    objects = {
        "A": ("", "next?:B", "list?:[C]"),
        "B": ("", "next?:C", "list?:[A]"),
        "C": ("", "next?:A", "list?:[B]"),
    }
    module.DOMAIN = Domain(  # type: ignore[attr-defined]
        module.__name__, name, "", names={}, enums={}, objects=objects, commands={}, events={}
    )
    module.__getattr__ = module.DOMAIN.make  # type: ignore[method-assign]
    return module
