"""The trace of a link: its messages and their times, as lines of JSON that outlive the program.

Line 1 is a header: the format version, the version of the library, perhaps that of the protocol, and the wall time of
the start. Each further line is one record. Its `t` counts the seconds since the start on a monotonic clock; `conn`
names the link, since one trace may hold several.

* `in` and `out`: one message, with its text unchanged. A text that is not UTF-8 is kept as base64. A cut text is
  marked and keeps the true size, a text changed by a redaction hook is marked, and `exact` is true only for the very
  bytes of the wire. (A re-encoded object would prove nothing about surrogates and order.)
* `link`: a link opened or closed, and why. `mark`: a note of the program that records.
* Records of any other kind are kept unchanged (`OtherRecord`): the layers above add their own, and older readers pass
  them on.

Laws: `TraceDecoder` reads every record equal to the one that `TraceEncoder` wrote. A trace is a prefix of the run,
without gaps: once its size is reached, only a last mark is added, which counts the missing records. A torn last line
is the normal end of a program that died: it is left out and `torn` is true; any other unreadable line is an error with
its number. The hook sees every message text before it is cut; if the hook raises, the text is not recorded at all.

The older form, without a header, which keeps each message as a decoded object, is read too: its texts are encoded from
the objects and are not `exact`.

Files, clocks and links are outside this module: the caller passes the times in.
"""

from __future__ import annotations

import json
from base64 import b64encode
from codecs import getincrementaldecoder
from collections.abc import Callable, Mapping
from typing import Final, Literal

import attrs

from cdp_core.errors import InvalidArgument
from cdp_core.sansio.arguments import _to_plain
from cdp_core.sansio.messages import Json, Payload
from cdp_core.sansio.structs import Struct, encode

FORMAT_VERSION: Final = 1
"""The version of the format. Adding a field keeps it; a change that an older reader would misread raises it."""

MAX_MESSAGE_BYTES: Final = 16 << 20
MAX_TRACE_BYTES: Final = 1 << 30

Direction = Literal["in", "out"]
LinkEvent = Literal["open", "close"]
Redact = Callable[[str], str]
"""Maps a message text to the text to record. A replayable trace needs the same shape, lengths and ids."""


# ── the records ──────────────────────────────────────────────────────────────────────────────────────────────────────


class TraceHeader(Struct, frozen=True, kw_only=True):
    """The first record: what wrote the trace, and the wall time (seconds since 1970) of `t` = 0."""

    start: float
    library: str
    protocol: str | None = None
    format: int = FORMAT_VERSION


class MessageRecord(Struct, frozen=True, kw_only=True):
    """One message.

    `text` is the recorded text and `size` the bytes of the original. `cut`: the text is only a prefix. `redacted`: a
    hook changed it. `exact`: it is the very bytes of the wire.
    """

    direction: Direction
    t: float
    conn: str
    text: bytes
    size: int
    cut: bool = False
    redacted: bool = False
    exact: bool = True
    note: str | None = None


class LinkRecord(Struct, frozen=True, kw_only=True):
    """A link opened or closed. `reason` is a short fixed word; only the older form has an `address`."""

    event: LinkEvent
    t: float
    conn: str
    reason: str | None = None
    address: str | None = None


class MarkRecord(Struct, frozen=True, kw_only=True):
    """A note of the program that records. The last mark of a full trace counts what is missing."""

    t: float
    note: str
    conn: str | None = None
    left_out_records: int = 0
    left_out_bytes: int = 0


class OtherRecord(Struct, frozen=True, kw_only=True):
    """A record of a kind that this module does not know; `fields` holds its other members."""

    kind: str
    t: float | None
    fields: Json
    conn: str | None = None


TraceRecord = TraceHeader | MessageRecord | LinkRecord | MarkRecord | OtherRecord
"""One line of a trace."""

KINDS: Final = frozenset(("header", "in", "out", "link", "mark"))
COMMON: Final = frozenset(("kind", "t", "conn"))


# ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def encode_record(record: TraceRecord) -> bytes:
    """Return the line of a record, including its newline."""
    if isinstance(record, MessageRecord):
        return _message_line(record)
    if isinstance(record, TraceHeader):
        fields: Json = {"kind": "header", "format": record.format, "library": record.library, "start": record.start}
        return _line(fields, protocol=record.protocol)
    if isinstance(record, LinkRecord):
        fields = {"kind": "link", "t": record.t, "conn": record.conn, "event": record.event}
        return _line(fields, reason=record.reason, address=record.address)
    if isinstance(record, MarkRecord):
        fields = {"kind": "mark", "t": record.t, "note": record.note}
        if record.left_out_records:
            fields["left_out_records"] = record.left_out_records
            fields["left_out_bytes"] = record.left_out_bytes
        return _line(fields, conn=record.conn)
    return _line({"kind": record.kind, **record.fields}, t=record.t, conn=record.conn)


def _message_line(record: MessageRecord) -> bytes:
    fields: Json = {"kind": record.direction, "t": record.t, "conn": record.conn}
    try:
        fields["text"] = record.text.decode()
    except UnicodeDecodeError:
        fields["base64"] = b64encode(record.text).decode()
    if record.size != len(record.text):
        fields["size"] = record.size
    for flag, value in (("cut", record.cut), ("redacted", record.redacted)):
        if value:
            fields[flag] = True
    if not record.exact:
        fields["exact"] = False
    return _line(fields, note=record.note)


def _line(fields: Json, **optional: str | float | None) -> bytes:
    for name, value in optional.items():
        if value is not None:
            fields[name] = value
    try:
        return encode(fields) + b"\n"
    except (UnicodeEncodeError, OverflowError):  # a lone surrogate, or an integer beyond 64 bits
        return json.dumps(fields, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode() + b"\n"


@attrs.frozen(kw_only=True)
class TraceCounts:
    """Counts of the records in a trace, and of those left out.

    `left_out_bytes` counts message texts. `failed_redactions` counts messages recorded without text, because the hook
    raised.
    """

    records: int
    bytes: int
    cut_messages: int
    failed_redactions: int
    left_out_records: int
    left_out_bytes: int


class TraceEncoder:
    """Makes the lines of one trace within its limits; an empty line means that the record was left out."""

    def __init__(
        self,
        *,
        redact: Redact | None = None,
        max_bytes: int = MAX_TRACE_BYTES,
        max_message_bytes: int = MAX_MESSAGE_BYTES,
    ) -> None:
        if max_bytes < 0 or max_message_bytes < 0:
            raise InvalidArgument("The limits of a trace must not be negative.")
        self._redact = redact
        self._max_bytes = max_bytes
        self._max_message_bytes = max_message_bytes
        self._full = False
        self._records = self._bytes = self._cut = self._failed_redactions = 0
        self._left_out_records = self._left_out_bytes = 0

    def header(self, *, library: str, start: float, protocol: str | None = None) -> bytes:
        """Return the first line; the limit does not apply to it."""
        return self._count(encode_record(TraceHeader(library=library, start=start, protocol=protocol)))

    def message(self, direction: Direction, text: Payload, *, t: float, conn: str) -> bytes:
        """Return the line of one message. A view is copied."""
        if self._full:
            return self._leave_out(len(text))
        record = self._message(direction, text, t, conn)
        line = self._within(_message_line(record), len(text))
        if line:
            self._cut += record.cut
        return line

    def link(self, event: LinkEvent, *, t: float, conn: str, reason: str | None = None) -> bytes:
        """Return the line for the opening or closing of a link."""
        return self._within(encode_record(LinkRecord(event=event, t=t, conn=conn, reason=reason)))

    def mark(self, note: str, *, t: float, conn: str | None = None) -> bytes:
        return self._within(encode_record(MarkRecord(t=t, note=note, conn=conn)))

    def other(self, kind: str, fields: Mapping[str, object], *, t: float, conn: str | None = None) -> bytes:
        """Return the line of a record of another kind; the hook does not see it.

        Raises InvalidArgument if the record cannot be written.
        """
        if kind in KINDS or not kind:
            raise InvalidArgument(f"{kind!r} cannot be the kind of a custom trace record; choose another word.")
        try:
            plain: Json = _to_plain(fields, "fields")
        except RecursionError:
            raise InvalidArgument("fields are nested too deeply, or contain themselves.") from None
        if COMMON & plain.keys():
            raise InvalidArgument("The fields kind, t and conn of a trace record are reserved; rename yours.")
        return self._within(encode_record(OtherRecord(kind=kind, t=t, fields=plain, conn=conn)))

    def end(self, *, t: float) -> bytes:
        """Return the last mark if records were left out, else an empty line."""
        if not self._left_out_records:
            return b""
        return encode_record(
            MarkRecord(
                t=t,
                note="the trace reached its size; what happened after that is not in it",
                left_out_records=self._left_out_records,
                left_out_bytes=self._left_out_bytes,
            )
        )

    def counts(self) -> TraceCounts:
        return TraceCounts(
            records=self._records,
            bytes=self._bytes,
            cut_messages=self._cut,
            failed_redactions=self._failed_redactions,
            left_out_records=self._left_out_records,
            left_out_bytes=self._left_out_bytes,
        )

    def _message(self, direction: Direction, text: Payload, t: float, conn: str) -> MessageRecord:
        size, limit = len(text), self._max_message_bytes
        if self._redact is None:
            # The bytes beyond the limit are not copied.
            kept = bytes(text) if size <= limit else _head(bytes(text[:limit]))
            return MessageRecord(
                direction=direction, t=t, conn=conn, text=kept, size=size, cut=size > limit, exact=size <= limit
            )
        original = bytes(text)
        failed = False
        try:
            redacted = self._redact(original.decode(errors="replace")).encode(errors="replace")
        except Exception:  # noqa: BLE001 - the hook is the caller's, and the text that it failed on may hold a secret
            self._failed_redactions += 1
            redacted, failed = b"", True
        cut = failed or len(redacted) > limit
        return MessageRecord(
            direction=direction,
            t=t,
            conn=conn,
            text=_head(redacted[:limit]) if cut else redacted,
            size=size,
            cut=cut,
            redacted=redacted != original,
            exact=redacted == original and not cut,
        )

    def _within(self, line: bytes, text_size: int = 0) -> bytes:
        if self._full or self._bytes + len(line) > self._max_bytes:
            return self._leave_out(text_size)
        return self._count(line)

    def _count(self, line: bytes) -> bytes:
        self._records += 1
        self._bytes += len(line)
        return line

    def _leave_out(self, text_size: int) -> bytes:
        self._full = True
        self._left_out_records += 1
        self._left_out_bytes += text_size
        return b""


def _head(text: bytes) -> bytes:
    """Return a cut text without a partial character at its end; a text that is not UTF-8 is unchanged."""
    reader = getincrementaldecoder("utf-8")()
    try:
        reader.decode(text)
    except UnicodeDecodeError:
        return text
    return text[: len(text) - len(reader.getstate()[0])]
