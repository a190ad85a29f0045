"""Reading traces: torn ones, malformed ones, and those of the older form; labels of commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cdp_core.errors import InvalidArgument
from cdp_core.sansio.trace import (
    FORMAT_VERSION,
    LinkRecord,
    MarkRecord,
    MessageRecord,
    OtherRecord,
    TraceEncoder,
    TraceHeader,
    encode_record,
)
from cdp_core.sansio.trace_reading import CommandLabel, TraceDecoder, label_command
from support.trace_records import HEADER, decode

TRACES = sorted((Path(__file__).parents[2] / "traces").glob("*.jsonl"))


# ── ends and faults ──────────────────────────────────────────────────────────────────────────────────────────────────


def sample() -> list[bytes]:
    encoder = TraceEncoder()
    return [
        encoder.header(library="0.1.0", start=1.0),
        encoder.link("open", t=0.0, conn="A"),
        encoder.message("out", '{"id":1,"é":"\\ud800"}'.encode(), t=0.5, conn="A"),
        encoder.message("in", b"\xff\0", t=1.0, conn="A"),
    ]


def test_a_trace_may_be_torn_at_every_byte() -> None:
    lines = sample()
    whole = b"".join(lines)
    everything = decode(lines)
    for length in range(len(whole)):
        reader = TraceDecoder(whole[:length].splitlines(keepends=True))
        records = list(reader)
        complete = whole[:length].count(b"\n")
        rest = whole[:length].rpartition(b"\n")[2]
        if rest == lines[complete].rstrip(b"\n"):
            complete, rest = complete + 1, b""  # only its newline is missing
        assert records == everything[:complete], length
        assert reader.torn == bool(rest), length


def test_an_empty_trace_is_empty() -> None:
    reader = TraceDecoder([])
    assert list(reader) == []
    assert not reader.torn


@pytest.mark.parametrize(
    "line",
    [
        b'{"kind":"in","t":1,"con\n',  # torn, but not the last
        b"\n",
        b"[1]\n",
        b'"text"\n',
        b"\xff\n",
        b"[" * 100_000 + b"\n",
        b'{"t":1}\n',
        b'{"kind":7,"t":1}\n',
        b'{"kind":"in","t":1,"conn":"A"}\n',
        b'{"kind":"in","t":1,"conn":"A","text":7}\n',
        b'{"kind":"in","t":"now","conn":"A","text":""}\n',
        b'{"kind":"in","t":true,"conn":"A","text":""}\n',
        b'{"kind":"in","t":1,"text":""}\n',
        b'{"kind":"in","t":1,"conn":"A","text":"\\ud800"}\n',
        b'{"kind":"in","t":1,"conn":"A","base64":"?"}\n',
        b'{"kind":"in","t":1,"conn":"A","text":"","size":-1}\n',
        b'{"kind":"in","t":1,"conn":"A","text":"","size":1.5}\n',
        b'{"kind":"in","t":1,"conn":"A","text":"","note":1}\n',
        b'{"kind":"link","t":1,"conn":"A","event":"wobbles"}\n',
        b'{"kind":"mark","t":1}\n',
        b'{"kind":"ask","t":"x"}\n',
        b'{"kind":"header","format":1,"start":0}\n',
    ],
)
def test_an_unreadable_line_is_named(line: bytes) -> None:
    lines = [encode_record(HEADER), encode_record(MarkRecord(t=0.0, note="n")), line, b'{"kind":"mark"'[:4]]
    reader = TraceDecoder(lines)
    assert [next(reader), next(reader)] == [HEADER, MarkRecord(t=0.0, note="n")]
    with pytest.raises(InvalidArgument, match=r"^Line 3 of the trace ") as caught:
        next(reader)
    assert caught.value.reason == "trace_malformed"


def test_a_torn_line_that_is_not_the_last_is_a_fault() -> None:
    for torn in ([b'{"kind":', encode_record(HEADER)], [b'{"kind":\n']):  # the second one ends with a newline
        reader = TraceDecoder([encode_record(HEADER), *torn])
        next(reader)
        with pytest.raises(InvalidArgument, match="Line 2"):
            next(reader)
        assert not reader.torn


@pytest.mark.parametrize("line", [b'{"kind":"mark","t":1,"note":"n"}\n', b'{"id":1}\n'])
def test_a_trace_begins_with_its_header(line: bytes) -> None:
    with pytest.raises(InvalidArgument, match=r"Line 1 .* not a trace"):
        decode([line])


@pytest.mark.parametrize("version", [FORMAT_VERSION + 1, 0])
def test_another_format_is_refused_with_its_number(version: int) -> None:
    with pytest.raises(InvalidArgument, match=f"format {version}"):
        decode([encode_record(TraceHeader(start=0.0, library="9", format=version))])


# ── the older form ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_recorded_traces_exist() -> None:
    assert len(TRACES) >= 50


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.stem)
def test_every_older_trace_is_read(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    reader = TraceDecoder(lines)
    records = list(reader)
    assert not reader.torn
    assert len(records) == len(lines)
    for line, record in zip(lines, records, strict=True):
        fields = json.loads(line)
        assert not isinstance(record, (TraceHeader, OtherRecord))
        assert record.t == fields["t"]
        assert record.conn == fields.get("conn")
        if isinstance(record, MessageRecord):
            assert record.direction == fields["dir"]
            assert record.exact == ("raw" in fields)
            assert record.size == len(record.text)
            assert record.note == fields.get("note")
            if "raw" in fields:
                assert record.text == fields["raw"].encode()
            else:
                assert json.loads(record.text) == fields["msg"]
                assert record.text.isascii()
                assert b'": ' not in record.text.replace(b'\\": ', b"")
        elif isinstance(record, LinkRecord):
            assert record.event == fields["dir"]
            assert record.address == fields.get("url")
            assert record.reason == fields.get("note")
        else:
            assert isinstance(record, MarkRecord)
            assert record.note == fields["note"]


def test_an_older_trace_survives_the_newer_form() -> None:
    path = TRACES[0]
    records = decode(path.read_bytes().splitlines(keepends=True))
    assert decode([encode_record(HEADER), *map(encode_record, records)])[1:] == records


def test_odd_records_of_the_older_form_are_read() -> None:
    lines = [
        b'{"t":1,"dir":"blink","conn":"A","extra":[1]}\n',
        b'{"t":2,"dir":"out","conn":"A","raw":"\\ud800"}\n',
        b'{"t":3,"dir":"in","conn":"A","msg":{"a":"\\ud800"}}\n',
    ]
    odd, raw, surrogate = decode(lines)
    assert odd == OtherRecord(kind="blink", t=1.0, conn="A", fields={"extra": [1]})
    assert isinstance(raw, MessageRecord)
    assert raw.text == b"\xed\xa0\x80"
    assert isinstance(surrogate, MessageRecord)
    assert surrogate.text == b'{"a":"\\ud800"}'


@pytest.mark.parametrize("line", [b'{"t":1,"dir":"in","conn":"A"}\n', b'{"dir":"note","note":"n"}\n', b'{"t":1}\n'])
def test_an_unreadable_line_of_the_older_form_is_named(line: bytes) -> None:
    with pytest.raises(InvalidArgument, match="Line 2"):
        decode([b'{"t":1,"dir":"note","note":"n"}\n', line])


# ── labels of commands ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "label", "words"),
    [
        (b'{"id":7,"method":"A.b","sessionId":"S"}', CommandLabel(id=7, method="A.b", session_id="S"), "A.b (id 7)"),
        (b'{"id":true,"method":7,"sessionId":8}', CommandLabel(), "a message without a method (no id)"),
        (b"garbage", CommandLabel(), "a message without a method (no id)"),
        (b"[]", CommandLabel(), "a message without a method (no id)"),
    ],
)
def test_a_command_has_a_label(text: bytes, label: CommandLabel, words: str) -> None:
    assert label_command(text) == label
    assert str(label) == words
