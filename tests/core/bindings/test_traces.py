"""Every recorded trace is read typed without any drift, and written again as it was: what browsers really send.

Events, the params of commands, and results, each of which needs the command that it answers: by link, session and id,
since Chromium counts ids by session. A client that the browser refused for what it sent (the traces of `wire_`) is no
witness of the protocol: params are looked at of commands that the browser answered with a result.
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
"""Drift that really is in a recording (here: its client tries a parameter of its own), and the words of its notes that own up to it."""


@attrs.frozen
class Said:
    """One thing of a trace: an event, the params of a command, or its result."""

    kind: str
    method: str
    fields: dict[str, Any]
    text: bytes


def said_in(path: Path) -> Iterator[Said]:
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
                yield Said("event", message["method"], message.get("params", {}), record.text)
            elif "result" in message:
                # Chromium may answer twice: again when a page in another process takes over (wire_ids).
                command = answered[key] = sent[key].pop(0) if sent[key] else answered[key]
                yield Said("command", command["method"], command.get("params") or {}, b"")
                yield Said("result", command["method"], message["result"], record.text)
            elif sent[key]:
                sent[key].pop()  # of two commands with one id, the later is refused


def messages_of(record: MessageRecord, torn: defaultdict[str, bytes]) -> list[dict[str, Any]]:
    """The objects of one record. What is no JSON was sent so on purpose, or is a part of what goes through a pipe."""
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


def test_everything_is_known_and_written_again(trace: Path) -> None:
    forget_drift()
    command: Command[Any] | None = None
    for said in said_in(trace):
        if said.kind == "event":
            event = decode(said.text)
            assert type(event) is Event
            check_event(said, event)
            check_event(said, WholeEvent(method=said.method, whole=said.fields, octets=len(said.text)))
        elif said.kind == "command":
            command = parse_command(said.method, said.fields)
            assert isinstance(command, Command)
            assert protocol_values.same_json(command.to_params(), said.fields)
        else:
            result = parse_result(said.method, said.fields)
            assert result is None or isinstance(result, Value)
            assert protocol_values.same_json({} if result is None else to_json(result), said.fields)
            answer = decode(said.text)
            assert isinstance(answer, Result)
            assert command is not None, "each result comes after its command"
            assert command.method == said.method
            assert command.parse(answer) == result
    expected, words = EXPLAINED.get(trace.stem, ({}, ""))
    assert {kind: counts for kind, counts in attrs.asdict(drift(), recurse=False).items() if counts} == expected
    assert words in trace.with_suffix(".md").read_text()


def check_event(said: Said, event: Event) -> None:
    value = parse_event(event)
    assert isinstance(value, Value)
    assert protocol_values.same_json(to_json(value), said.fields)
    if type(event) is Event:
        again = parse_event(Event(method=said.method, raw=Raw(protocol_values.octets(to_json(value)))))
        assert again == value
        # Integers that are written as 1.0, and lone surrogates, are no drift, and go the loose way all the same.
        plain = b"\\ud" not in said.text.lower() and b".0" not in said.text
        assert not (plain and type(source_of(value)) is Loose)


def test_the_traces_hold_what_they_should() -> None:
    """Without this, a reader of traces that finds nothing would prove everything."""
    found = Counter(said.kind for path in TRACES for said in said_in(path))
    assert found["event"] > 1000
    assert found["command"] == found["result"] > 500
    methods = {(said.kind, said.method) for path in TRACES for said in said_in(path)}
    assert len([method for kind, method in methods if kind == "event"]) >= 25
    assert len([method for kind, method in methods if kind == "result"]) >= 40
