"""Writing traces: round trips, limits, redaction, and records of the embedder."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cdp_core.errors import InvalidArgument
from cdp_core.sansio.trace import (
    LinkRecord,
    MarkRecord,
    MessageRecord,
    OtherRecord,
    TraceEncoder,
    TraceHeader,
    TraceRecord,
    encode_record,
)
from cdp_core.sansio.trace_reading import TraceDecoder
from support.trace_records import decode, message, one

# ── round trips ──────────────────────────────────────────────────────────────────────────────────────────────────────

times = st.floats(allow_nan=False, allow_infinity=False)
words = st.text(st.characters(), max_size=12)  # lone surrogates too
json_texts = st.one_of(
    st.binary(max_size=30),
    st.text(max_size=30).map(str.encode),
    st.sampled_from([b'{"a":"\\ud800"}', b"\xed\xa0\x80", b"\0", b"a\nb", "\u2028é".encode()]),
)


@st.composite
def messages(draw: st.DrawFn) -> MessageRecord:
    text = draw(json_texts)
    cut, redacted = draw(st.booleans()), draw(st.booleans())
    return MessageRecord(
        direction=draw(st.sampled_from(["in", "out"])),
        t=draw(times),
        conn=draw(words),
        text=text,
        size=draw(st.one_of(st.just(len(text)), st.integers(0, 2**40))),
        cut=cut,
        redacted=redacted,
        exact=not cut and not redacted and draw(st.booleans()),
        note=draw(st.none() | words),
    )


plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
records = st.one_of(
    messages(),
    st.builds(
        LinkRecord,
        event=st.sampled_from(["open", "close"]),
        t=times,
        conn=words,
        reason=st.none() | words,
        address=st.none() | words,
    ),
    st.builds(MarkRecord, t=times, note=words, conn=st.none() | words),
    st.builds(
        MarkRecord, t=times, note=words, left_out_records=st.integers(1, 9), left_out_bytes=st.integers(0, 2**40)
    ),
    st.builds(
        OtherRecord,
        kind=words.filter(lambda kind: kind not in ("in", "out", "link", "mark", "header")),
        t=st.none() | times,
        conn=st.none() | words,
        fields=st.dictionaries(words.filter(lambda name: name not in ("kind", "t", "conn")), plain, max_size=3),
    ),
)


@given(records=st.lists(records, max_size=6), protocol=st.none() | words)
@example(records=[OtherRecord(kind="ask", t=1.0, fields={"n": 2**64})], protocol=None)
@example(records=[MarkRecord(t=0.0, note="\ud800")], protocol=None)
def test_every_record_comes_back_equal(records: list[TraceRecord], protocol: str | None) -> None:
    header = TraceHeader(start=2.5, library="1", protocol=protocol)
    lines = [encode_record(record) for record in [header, *records]]
    assert all(line.count(b"\n") == 1 and line.endswith(b"\n") for line in lines)
    reader = TraceDecoder(lines)
    assert list(reader) == [header, *records]
    assert not reader.torn


@given(text=json_texts)
def test_a_text_comes_back_byte_for_byte(text: bytes) -> None:
    line = TraceEncoder().message("in", text, t=0.25, conn="A")
    assert message(line) == MessageRecord(direction="in", t=0.25, conn="A", text=text, size=len(text))
    assert message(TraceEncoder().message("in", memoryview(text), t=0.25, conn="A")).text == text


def test_the_format_is_that_of_the_first_version() -> None:
    """Traces outlive the program: these lines must stay readable for ever."""
    encoder = TraceEncoder()
    written = [
        encoder.header(library="0.1.0", start=1700000000.5, protocol="1.3"),
        encoder.link("open", t=0.0, conn="A"),
        encoder.message("out", b'{"id":1}', t=0.5, conn="A"),
        encoder.message("in", b"\xff", t=1.0, conn="A"),
        encoder.mark("here", t=2.0),
        encoder.other("ask", {"q": [1, None]}, t=2.5),
        encoder.link("close", t=3.0, conn="A", reason="closed"),
    ]
    expected: list[dict[str, Any]] = [
        {"kind": "header", "format": 1, "library": "0.1.0", "start": 1700000000.5, "protocol": "1.3"},
        {"kind": "link", "t": 0.0, "conn": "A", "event": "open"},
        {"kind": "out", "t": 0.5, "conn": "A", "text": '{"id":1}'},
        {"kind": "in", "t": 1.0, "conn": "A", "base64": base64.b64encode(b"\xff").decode()},
        {"kind": "mark", "t": 2.0, "note": "here"},
        {"kind": "ask", "q": [1, None], "t": 2.5},
        {"kind": "link", "t": 3.0, "conn": "A", "event": "close", "reason": "closed"},
    ]
    assert [json.loads(line) for line in written] == expected


def test_fields_of_a_later_version_are_skipped() -> None:
    assert one(b'{"kind":"mark","t":1,"note":"n","colour":"red"}\n') == MarkRecord(t=1.0, note="n")


def test_a_mark_may_name_its_link() -> None:
    assert one(TraceEncoder().mark("n", t=1.0, conn="B")) == MarkRecord(t=1.0, note="n", conn="B")


# ── limits ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@given(text=json_texts, limit=st.integers(0, 30))
@example(text="aé".encode(), limit=2)
def test_a_cut_text_is_marked_as_cut(text: bytes, limit: int) -> None:
    record = message(TraceEncoder(max_message_bytes=limit).message("in", text, t=0.0, conn="A"))
    assert record.size == len(text)
    assert record.cut == (len(text) > limit)
    assert record.exact == (not record.cut)
    assert len(record.text) <= limit or not record.cut
    assert text.startswith(record.text)


def test_a_cut_leaves_no_half_character() -> None:
    record = message(TraceEncoder(max_message_bytes=2).message("in", "aé".encode(), t=0.0, conn="A"))
    assert record.text == b"a"
    record = message(TraceEncoder(max_message_bytes=2).message("in", b"a\xff\xff", t=0.0, conn="A"))
    assert record.text == b"a\xff"


def test_a_full_trace_ends_with_a_count_of_the_missing_records() -> None:
    encoder = TraceEncoder(max_bytes=400)
    lines = [encoder.header(library="1", start=0.0), encoder.message("in", b"x" * 100, t=1.0, conn="A")]
    assert all(lines)
    left_out = [
        encoder.message("in", b"x" * 200, t=2.0, conn="A"),  # this one does not fit
        encoder.message("in", b"x", t=3.0, conn="A"),  # this one would, but a trace has no gaps
        encoder.link("close", t=4.0, conn="A"),
        encoder.mark("n", t=4.0),
        encoder.other("ask", {}, t=4.0),
    ]
    assert left_out == [b""] * 5
    last = decode([*lines, encoder.end(t=5.0)])[-1]
    assert isinstance(last, MarkRecord)
    assert (last.t, last.left_out_records, last.left_out_bytes) == (5.0, 5, 201)
    counts = encoder.counts()
    assert (counts.records, counts.bytes) == (2, sum(map(len, lines)))
    assert (counts.left_out_records, counts.left_out_bytes, counts.cut_messages) == (5, 201, 0)


def test_a_full_trace_does_not_call_the_redaction_hook() -> None:
    texts: list[str] = []

    def hook(text: str) -> str:
        texts.append(text)
        return text

    encoder = TraceEncoder(max_bytes=0, redact=hook)
    for _ in range(3):
        encoder.message("in", b"x", t=0.0, conn="A")
    assert len(texts) == 1
    assert encoder.counts().left_out_bytes == 3


def test_the_header_is_written_whatever_the_limit() -> None:
    encoder = TraceEncoder(max_bytes=0)
    assert encoder.header(library="1", start=0.0)
    assert encoder.message("in", b"x", t=0.0, conn="A") == b""


def test_a_whole_trace_has_no_last_mark() -> None:
    encoder = TraceEncoder(max_message_bytes=3)
    encoder.message("in", b"abcd", t=0.0, conn="A")
    assert encoder.end(t=1.0) == b""
    assert encoder.counts().cut_messages == 1


@pytest.mark.parametrize("limits", [{"max_bytes": -1}, {"max_message_bytes": -1}])
def test_invalid_limits_are_refused(limits: dict[str, int]) -> None:
    with pytest.raises(InvalidArgument):
        TraceEncoder(**limits)


# ── redaction ────────────────────────────────────────────────────────────────────────────────────────────────────────


def redacted(hook: Callable[[str], Any], text: bytes, **limits: int) -> MessageRecord:
    return message(TraceEncoder(redact=hook, **limits).message("in", text, t=0.0, conn="A"))


def test_a_hook_changes_what_is_recorded() -> None:
    record = redacted(lambda text: text.replace("secret", "******"), b'{"a":"secret"}')
    assert record.text == b'{"a":"******"}'
    assert record.redacted
    assert not record.exact
    assert not record.cut


def test_a_hook_that_changes_nothing_leaves_the_text_exact() -> None:
    record = redacted(lambda text: text, b'{"a":"b"}')
    assert record.exact
    assert not record.redacted


def test_a_hook_sees_the_whole_text_before_it_is_cut() -> None:
    record = redacted(lambda text: text.replace("secret", "******"), b"a secret", max_message_bytes=5)
    assert record.text == b"a ***"
    assert (record.size, record.cut, record.redacted) == (8, True, True)
    record = redacted(lambda text: text, b"a secret", max_message_bytes=5)
    assert (record.text, record.cut, record.redacted, record.exact) == (b"a sec", True, False, False)


def test_the_size_is_that_of_the_message_on_the_wire() -> None:
    record = redacted(lambda _text: "", b"12345")
    assert (record.text, record.size, record.cut) == (b"", 5, False)


def test_a_hook_that_fails_hides_the_text() -> None:
    def fails(text: str) -> str:
        raise ValueError(text)

    encoder = TraceEncoder(redact=fails)
    line = encoder.message("in", b"a secret", t=0.0, conn="A")
    record = message(line)
    assert b"secret" not in line
    assert (record.text, record.size, record.cut, record.redacted, record.exact) == (b"", 8, True, True, False)
    assert encoder.counts().failed_redactions == 1
    assert redacted(lambda _text: None, b"secret").text == b""


def test_a_text_with_invalid_utf8_passes_the_hook_too() -> None:
    record = redacted(lambda text: text.replace("secret", "*"), b"\xff secret")
    assert record.text == "\N{REPLACEMENT CHARACTER} *".encode()
    assert record.redacted
    assert redacted(lambda _text: "\ud800", b"a").text == b"?"


# ── records of the embedder ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("kind", "fields", "expected"),
    [
        ("in", {}, "'in'"),
        ("", {}, "''"),
        ("ask", {"t": 1}, "reserved"),
        ("ask", {"a": {"b": float("nan")}}, "fields.a.b"),
        ("ask", {"a": b"bytes"}, "fields.a"),
        ("ask", {"a": [{1: 2}]}, "fields.a[0]"),
    ],
)
def test_a_record_that_could_not_be_read_back_is_refused(kind: str, fields: dict[str, Any], expected: str) -> None:
    encoder = TraceEncoder()
    with pytest.raises(InvalidArgument) as caught:
        encoder.other(kind, fields, t=0.0)
    assert expected in str(caught.value)
    assert encoder.counts().records == 0


def test_a_record_that_contains_itself_is_refused() -> None:
    loop: dict[str, Any] = {}
    loop["loop"] = loop
    with pytest.raises(InvalidArgument):
        TraceEncoder().other("ask", loop, t=0.0)
