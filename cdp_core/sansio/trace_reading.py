"""The reader of traces: it turns lines into the records of `trace`, for each version of the format.

A torn last line is the normal end of a program that died: it is left out, and `torn` is true. Any other unreadable
line is an error with its number.

The older form has no header and keeps each message as a decoded object; its texts are encoded from the objects, and
are not `exact`.
"""

from __future__ import annotations

import json
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NoReturn

from cdp_core.errors import InvalidArgument
from cdp_core.sansio.messages import Json, is_object
from cdp_core.sansio.structs import DECODE_ERRORS, Struct, decoder
from cdp_core.sansio.trace import (
    COMMON,
    FORMAT_VERSION,
    Direction,
    LinkEvent,
    LinkRecord,
    MarkRecord,
    MessageRecord,
    OtherRecord,
    TraceHeader,
    TraceRecord,
)

DIRECTIONS: Final[Mapping[str, Direction]] = {"in": "in", "out": "out"}
LINK_EVENTS: Final[Mapping[str, LinkEvent]] = {"open": "open", "close": "close"}


class TraceDecoder(Iterator[TraceRecord]):
    """Iterates over the records of a trace, the header first, given its lines with their newlines.

    Raises InvalidArgument (reason `"trace_malformed"`), naming the line, if a line cannot be read. `torn` is true once
    the last line proved to be unfinished.
    """

    def __init__(self, lines: Iterable[bytes]) -> None:
        self.torn = False
        self.line = 0
        self._lines = iter(lines)
        self._read: Callable[[Json], TraceRecord] | None = None

    def __next__(self) -> TraceRecord:
        line = next(self._lines)
        self.line += 1
        fields = _json_object(line)
        if fields is None:
            if not line.endswith(b"\n") and next(self._lines, None) is None:
                self.torn = True
                raise StopIteration
            self._malformed("is not a JSON object")
        if self._read is None:
            self._read = self._reader_of(fields)
        try:
            return self._read(fields)
        except _Unreadable as error:
            self._malformed(str(error))

    def _reader_of(self, fields: Json) -> Callable[[Json], TraceRecord]:
        if fields.get("kind") == "header":
            return _record
        if "dir" not in fields:
            self._malformed("is not a header, so this is not a trace")
        return _older_record

    def _malformed(self, what: str) -> NoReturn:
        raise InvalidArgument(f"Line {self.line} of the trace {what}.", reason="trace_malformed") from None


class _Unreadable(Exception):
    """A record lacks a field that its kind requires."""


_decode_line = decoder(Json)


def _json_object(line: bytes) -> Json | None:
    try:
        return _decode_line(line)
    except DECODE_ERRORS:
        pass
    try:
        value: object = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if is_object(value) else None


def _record(fields: Json) -> TraceRecord:
    kind = _string(fields, "kind")
    if kind in DIRECTIONS:
        return _message(DIRECTIONS[kind], fields)
    if kind == "link":
        event = _string(fields, "event")
        if event not in LINK_EVENTS:
            raise _Unreadable("has a link event that is neither open nor close")
        return LinkRecord(
            event=LINK_EVENTS[event],
            t=_number(fields, "t"),
            conn=_string(fields, "conn"),
            reason=_optional_string(fields, "reason"),
            address=_optional_string(fields, "address"),
        )
    if kind == "mark":
        return MarkRecord(
            t=_number(fields, "t"),
            note=_string(fields, "note"),
            conn=_optional_string(fields, "conn"),
            left_out_records=_count(fields, "left_out_records", 0),
            left_out_bytes=_count(fields, "left_out_bytes", 0),
        )
    if kind == "header":
        return _header(fields)
    return OtherRecord(
        kind=kind,
        t=_number(fields, "t") if "t" in fields else None,
        conn=_optional_string(fields, "conn"),
        fields={name: value for name, value in fields.items() if name not in COMMON},
    )


def _header(fields: Json) -> TraceHeader:
    version = _count(fields, "format", 0)
    if not 1 <= version <= FORMAT_VERSION:
        raise _Unreadable(f"has format {version}, and this version of the library reads 1 to {FORMAT_VERSION}")
    return TraceHeader(
        start=_number(fields, "start"),
        library=_string(fields, "library"),
        protocol=_optional_string(fields, "protocol"),
        format=version,
    )


def _message(direction: Direction, fields: Json) -> MessageRecord:
    text = _octets(fields)
    cut, redacted = fields.get("cut") is True, fields.get("redacted") is True
    return MessageRecord(
        direction=direction,
        t=_number(fields, "t"),
        conn=_string(fields, "conn"),
        text=text,
        size=_count(fields, "size", len(text)),
        cut=cut,
        redacted=redacted,
        exact=fields.get("exact") is not False and not cut and not redacted,
        note=_optional_string(fields, "note"),
    )


def _octets(fields: Json) -> bytes:
    try:
        if "base64" in fields:
            return b64decode(_string(fields, "base64"), validate=True)
        return _string(fields, "text").encode()
    except UnicodeEncodeError:
        raise _Unreadable("holds a text that is not Unicode; write such a text as base64") from None
    except Base64Error:
        raise _Unreadable("holds base64 that cannot be read") from None


def _older_record(fields: Json) -> TraceRecord:
    kind, t = _string(fields, "dir"), _number(fields, "t")
    if kind in DIRECTIONS:
        text = _older_text(fields)
        return MessageRecord(
            direction=DIRECTIONS[kind],
            t=t,
            conn=_string(fields, "conn"),
            text=text,
            size=len(text),
            exact="raw" in fields,
            note=_optional_string(fields, "note"),
        )
    if kind in LINK_EVENTS:
        return LinkRecord(
            event=LINK_EVENTS[kind],
            t=t,
            conn=_string(fields, "conn"),
            reason=_optional_string(fields, "note"),
            address=_optional_string(fields, "url"),
        )
    if kind == "note":
        return MarkRecord(t=t, note=_string(fields, "note"), conn=_optional_string(fields, "conn"))
    rest = {name: value for name, value in fields.items() if name not in ("dir", "t", "conn")}
    return OtherRecord(kind=kind, t=t, conn=_optional_string(fields, "conn"), fields=rest)


def _older_text(fields: Json) -> bytes:
    if "raw" in fields:
        return _string(fields, "raw").encode(errors="surrogatepass")
    if "msg" not in fields:
        raise _Unreadable("holds no message")
    return json.dumps(fields["msg"], ensure_ascii=True, separators=(",", ":")).encode()


def _string(fields: Json, name: str) -> str:
    value: object = fields.get(name)
    if not isinstance(value, str):
        raise _Unreadable(f"lacks the string {name!r}")
    return value


def _optional_string(fields: Json, name: str) -> str | None:
    return None if fields.get(name) is None else _string(fields, name)


def _number(fields: Json, name: str) -> float:
    value: object = fields.get(name)
    if type(value) is not float and type(value) is not int:
        raise _Unreadable(f"lacks the number {name!r}")
    return float(value)


def _count(fields: Json, name: str, default: int) -> int:
    value: object = fields.get(name, default)
    if type(value) is not int or value < 0:
        raise _Unreadable(f"holds a {name!r} that is not a count")
    return value


# ── commands ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class CommandLabel(Struct, frozen=True, kw_only=True):
    """The parts of a command that may be shown, without its params; None for a missing member."""

    method: str | None = None
    id: int | None = None
    session_id: str | None = None

    def __str__(self) -> str:
        name = self.method or "a message without a method"
        return f"{name} (id {self.id})" if self.id is not None else f"{name} (no id)"


def label_command(text: bytes) -> CommandLabel:
    """Read the label of a command; a text that is not a command has an empty label."""
    fields = _json_object(text) or {}
    method, command_id, session_id = fields.get("method"), fields.get("id"), fields.get("sessionId")
    return CommandLabel(
        method=method if isinstance(method, str) else None,
        id=command_id if type(command_id) is int else None,
        session_id=session_id if isinstance(session_id, str) else None,
    )
