"""Every message of the recorded traces is read into a value without drift, and written back unchanged.

Tested are events, the params of commands, and results. A result needs the command that it answers, found by link,
session and id, since Chromium counts ids by session. Params are tested only of commands that the browser answered with
a result, because the clients of some traces (`wire_`) also sent commands that the browser refused.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from cdp_core.bindings import Command, Value, drift, forget_drift, parse_command, parse_event, parse_result, to_json
from cdp_core.bindings._values import Loose, source_of
from cdp_core.sansio.messages import Event, Result, WholeEvent, decode
from cdp_core.sansio.structs import Raw
from cdp_core.sansio.trace import MessageRecord
from cdp_core.tracing.file import read_trace
from support import protocol_values

TRACES = sorted((Path(__file__).parents[2] / "traces").glob("*.jsonl"))


EXPLAINED: dict[str, tuple[dict[str, dict[str, int]], str]] = {
    "wire_errors": ({"unknown_fields": {"Target.getTargets.zzz": 1}}, "extra params ignored"),
}
"""Drift of a recording (its client sent an invented parameter), and the words of its notes on it."""


@attrs.frozen
class TraceItem:
    """One item of a trace: an event, the params of a command, or its result."""

    kind: str
    method: str
    fields: dict[str, Any]
    text: bytes


def items_in(path: Path) -> Iterator[TraceItem]:
    sent: defaultdict[tuple[str, str | None, int], list[dict[str, Any]]] = defaultdict(list)
    answered: dict[tuple[str, str | None, int], dict[str, Any]] = {}
    torn: defaultdict[str, bytes] = defaultdict(bytes)
    for record in read_trace(path):
        if not isinstance(record, MessageRecord):
            continue
        assert not record.cut
        for message in messages_of(record, torn):
            key = (record.conn, message.get("sessionId") or None, message.get("id"))
            if record.direction == "out":
                sent[key].append(message)
            elif "method" in message:
                yield TraceItem("event", message["method"], message.get("params", {}), record.text)
            elif "result" in message:
                # Chromium may answer twice: the second time when a page in another process takes over (wire_ids).
                command = answered[key] = sent[key].pop(0) if sent[key] else answered[key]
                yield TraceItem("command", command["method"], command.get("params") or {}, b"")
                yield TraceItem("result", command["method"], message["result"], record.text)
            elif sent[key]:
                sent[key].pop()  # of two commands with one id, the later is refused


def messages_of(record: MessageRecord, torn: defaultdict[str, bytes]) -> list[dict[str, Any]]:
    """Return the objects of one record; a sent text that is not JSON is garbage or a piece of a pipe."""
    try:
        found = [json.loads(record.text)]
    except ValueError:
        assert record.direction == "out"
        *whole, torn[record.conn] = (torn[record.conn] + record.text).split(b"\0")
        found = [json.loads(text) for text in whole if text.startswith(b"{")]
    return [each for each in found if isinstance(each, dict)]


@pytest.fixture(params=TRACES, ids=lambda path: path.stem)
def trace(request: pytest.FixtureRequest) -> Path:
    return request.param


def test_every_message_is_known_and_written_back(trace: Path) -> None:
    forget_drift()
    command: Command[Any] | None = None
    for item in items_in(trace):
        if item.kind == "event":
            event = decode(item.text)
            assert type(event) is Event
            assert_event_is_read_and_written(item, event)
            assert_event_is_read_and_written(
                item, WholeEvent(method=item.method, whole=item.fields, octets=len(item.text))
            )
        elif item.kind == "command":
            command = parse_command(item.method, item.fields)
            assert isinstance(command, Command)
            assert protocol_values.same_json(command.to_params(), item.fields)
        else:
            result = parse_result(item.method, item.fields)
            assert result is None or isinstance(result, Value)
            assert protocol_values.same_json({} if result is None else to_json(result), item.fields)
            answer = decode(item.text)
            assert isinstance(answer, Result)
            assert command is not None, "each result comes after its command"
            assert command.method == item.method
            assert command.parse(answer) == result
    expected, words = EXPLAINED.get(trace.stem, ({}, ""))
    assert {kind: counts for kind, counts in attrs.asdict(drift(), recurse=False).items() if counts} == expected
    assert words in trace.with_suffix(".md").read_text()


def assert_event_is_read_and_written(item: TraceItem, event: Event) -> None:
    value = parse_event(event)
    assert isinstance(value, Value)
    assert protocol_values.same_json(to_json(value), item.fields)
    if type(event) is Event:
        again = parse_event(Event(method=item.method, raw=Raw(protocol_values.octets(to_json(value)))))
        assert again == value
        # Integers written as 1.0 and lone surrogates are not drift, but only the loose reader accepts them.
        plain = b"\\ud" not in item.text.lower() and b".0" not in item.text
        assert not (plain and type(source_of(value)) is Loose)


def test_the_traces_hold_enough_messages() -> None:
    """If `items_in` found no message, the other test would pass without testing anything."""
    found = Counter(item.kind for path in TRACES for item in items_in(path))
    assert found["event"] > 1000
    assert found["command"] == found["result"] > 500
    methods = {(item.kind, item.method) for path in TRACES for item in items_in(path)}
    assert len([method for kind, method in methods if kind == "event"]) >= 25
    assert len([method for kind, method in methods if kind == "result"]) >= 40
