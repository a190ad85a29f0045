"""Records of a trace, read from their lines."""

from __future__ import annotations

from cdp_core.sansio.trace import MessageRecord, TraceHeader, TraceRecord, encode_record
from cdp_core.sansio.trace_reading import TraceDecoder

HEADER = TraceHeader(start=1.5, library="0.1.0", protocol="1.3")


def decode(lines: list[bytes]) -> list[TraceRecord]:
    return list(TraceDecoder(lines))


def one(line: bytes) -> TraceRecord:
    """Return the record of one line, read after a header."""
    return decode([encode_record(HEADER), line])[1]


def message(line: bytes) -> MessageRecord:
    record = one(line)
    assert isinstance(record, MessageRecord)
    return record
