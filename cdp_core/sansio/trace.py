"""The trace of a link: what went over it and when, as lines of JSON that outlive the program.

Line 1 is a header: format version, version of the library, perhaps of the protocol, and the wall time of the start. Each
further line is one record. Its `t` counts the seconds since the start on a clock that never jumps; `conn` names the link,
since one trace may hold several.

* `in` and `out`: one message, its text exactly as it was. A text that is no UTF-8 is kept as base64. A record never
  pretends: a text that was cut says so and keeps the true size, one that a redaction hook changed says so, and `exact`
  is true only for the very bytes of the wire. (A re-encoded object would prove nothing about surrogates and order.)
* `link`: a link opened or closed, and why. `mark`: a note of whoever recorded.
* Every other kind is kept as it is (`OtherRecord`): the layers above add their own, and older readers pass them on.

Laws: what `TraceEncoder` writes, `TraceDecoder` reads back equal. A trace is a beginning of what happened, without gaps:
once its size is reached, nothing more goes in but a last mark that counts what is missing. A last line that is torn is
the normal end of a program that died, it is left out and `torn` tells; any other line that cannot be read is an error
that names its number. The hook sees every message text before it is cut, and what it fails on is not recorded at all.

The older form, without a header, which keeps each message as a decoded object, is read too: the texts are made anew from
the objects and are not `exact`.

Not known here: files, clocks, links. Times come in with the records.
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
"""Fields are only ever added; a change that an older reader would misunderstand raises this number."""

MAX_MESSAGE_BYTES: Final = 16 << 20
MAX_TRACE_BYTES: Final = 1 << 30

Direction = Literal["in", "out"]
LinkEvent = Literal["open", "close"]
Redact = Callable[[str], str]
"""Takes the text of a message, gives the text to record. To stay replayable it keeps shape, lengths and ids."""


# ── the records ──────────────────────────────────────────────────────────────────────────────────────────────────────


class TraceHeader(Struct, frozen=True, kw_only=True):
    """What wrote the trace, and when `t` was 0 in wall time (seconds since 1970)."""

    start: float
    library: str
    protocol: str | None = None
    format: int = FORMAT_VERSION


class MessageRecord(Struct, frozen=True, kw_only=True):
    """One message.

    `text` is what was recorded of it and `size` how many bytes it had. `cut`: the text is only a beginning. `redacted`:
    a hook changed it. `exact`: it is the very bytes of the wire.
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
    """A link opened or closed. `reason` is why, a short fixed word; `address` stands in the older form only."""

    event: LinkEvent
    t: float
    conn: str
    reason: str | None = None
    address: str | None = None


class MarkRecord(Struct, frozen=True, kw_only=True):
    """A note of whoever recorded. The last mark of a trace that became too large has both counts of what is missing."""

    t: float
    note: str
    conn: str | None = None
    left_out_records: int = 0
    left_out_bytes: int = 0


class OtherRecord(Struct, frozen=True, kw_only=True):
    """A record of a kind that this module does not know: whatever else it holds is in `fields`."""

    kind: str
    t: float | None
    fields: Json
    conn: str | None = None


TraceRecord = TraceHeader | MessageRecord | LinkRecord | MarkRecord | OtherRecord
"""One line of a trace."""

KINDS: Final = frozenset(("header", "in", "out", "link", "mark"))
COMMON: Final = frozenset(("kind", "t", "conn"))


# ── outward ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def encode_record(record: TraceRecord) -> bytes:
    """One line, its newline included."""
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
    """What went into a trace, and what did not.

    Bytes left out are those of message texts. `failed_redactions`: messages whose text the hook failed on, so that they
    were recorded without it.
    """

    records: int
    bytes: int
    cut_messages: int
    failed_redactions: int
    left_out_records: int
    left_out_bytes: int


class TraceEncoder:
    """Makes the lines of one trace, within its limits; an empty line means that the record was left out."""

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
        """The first line; it goes in whatever the limit is."""
        return self._count(encode_record(TraceHeader(library=library, start=start, protocol=protocol)))

    def message(self, direction: Direction, text: Payload, *, t: float, conn: str) -> bytes:
        """The line of one message. A view is copied."""
        if self._full:
            return self._leave_out(len(text))
        record = self._message(direction, text, t, conn)
        line = self._within(_message_line(record), len(text))
        if line:
            self._cut += record.cut
        return line

    def link(self, event: LinkEvent, *, t: float, conn: str, reason: str | None = None) -> bytes:
        """The line that says that a link opened or closed."""
        return self._within(encode_record(LinkRecord(event=event, t=t, conn=conn, reason=reason)))

    def mark(self, note: str, *, t: float, conn: str | None = None) -> bytes:
        """The line of a note."""
        return self._within(encode_record(MarkRecord(t=t, note=note, conn=conn)))

    def other(self, kind: str, fields: Mapping[str, object], *, t: float, conn: str | None = None) -> bytes:
        """The line of a record of another kind; no hook sees it. Raises InvalidArgument where it cannot be written."""
        if kind in KINDS or not kind:
            raise InvalidArgument(f"{kind!r} cannot be the kind of a record of your own.")
        try:
            plain: Json = _to_plain(fields, "fields")
        except RecursionError:
            raise InvalidArgument("fields are nested too deeply, or contain themselves.") from None
        if COMMON & plain.keys():
            raise InvalidArgument("The fields kind, t and conn of a trace record are taken.")
        return self._within(encode_record(OtherRecord(kind=kind, t=t, fields=plain, conn=conn)))

    def end(self, *, t: float) -> bytes:
        """The last mark, if something was left out."""
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
        """Counts so far."""
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
            # What is beyond the limit is not even copied.
            kept = bytes(text) if size <= limit else _head(bytes(text[:limit]))
            return MessageRecord(
                direction=direction, t=t, conn=conn, text=kept, size=size, cut=size > limit, exact=size <= limit
            )
        original = bytes(text)
        failed = False
        try:
            redacted = self._redact(original.decode(errors="replace")).encode(errors="replace")
        except Exception:  # noqa: BLE001 - the hook is not ours, and what it failed on may hold what it should hide
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
    """The cut text without the beginning of a character at its end; left as it is where it is no UTF-8 anyway."""
    reader = getincrementaldecoder("utf-8")()
    try:
        reader.decode(text)
    except UnicodeDecodeError:
        return text
    return text[: len(text) - len(reader.getstate()[0])]
