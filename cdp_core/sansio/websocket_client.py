"""WebSocket data frames of a client: bytes in → whole messages, one message → a masked frame.

`FrameReader` takes the bytes of the stream and returns the messages that are complete, as payloads of JSON text. The
transport gets the rest of the protocol separately: control frames from `take_controls()`, and a breach of the protocol
in `violation`, after which nothing more is read. `FrameReader` never raises on what the peer sent.

* An incomplete long frame gets a buffer of its own, and `wanted()` returns the missing part of it, so that a socket
  can be read straight into it: a large message is never copied. Buffers are reused, so a large payload is a
  `memoryview` that is valid until the next call of the reader (docs/cdp/large-messages-are-decoded-once.md).
* The size of a message is taken from its headers, before it is buffered (RFC 6455, 10.4); of a message that is too big
  only the first bytes are read, to find the command that it answers.
* Text must be UTF-8 (8.1); frames from a server are never masked (5.1); control frames may arrive between the
  fragments of a message, and are short and not fragmented themselves (5.4, 5.5). Extensions are never offered, so RSV
  bits are a breach.

The handshake, the reply to a ping, the moment of a close, the source of the bytes and random numbers are outside this
module.
"""

from __future__ import annotations

import codecs
import struct
from typing import Final

from cdp_core.sansio.arguments import SMALLEST_LIMIT, check_limit
from cdp_core.sansio.messages import CommandId, Payload, leading_id
from cdp_core.sansio.structs import Struct

TEXT: Final = 0x1
BINARY: Final = 0x2
CONTINUATION: Final = 0x0
CLOSE: Final = 0x8
PING: Final = 0x9
PONG: Final = 0xA

LARGE: Final = 1 << 18
"""Bytes. A longer payload is passed on as a view of a reused buffer, and decoded as a whole."""
OWN_BUFFER: Final = 1 << 16
"""Bytes. A longer incomplete frame gets a buffer of its own; a shorter one is parsed again with the next bytes."""
HEAD_BYTES: Final = 64
"""Bytes to wait for of a message that is too big: browsers write the id of a reply first."""
KEPT_BUFFER: Final = 32 << 20
"""Bytes. A larger buffer is freed after its message."""

_WHOLE_TEXT: Final = 0x80 | TEXT
_SHORT: Final = _WHOLE_TEXT << 8
"""The first two bytes, without the length, of a whole text of up to 125 bytes."""
_USUAL: Final = _SHORT | 126
"""The first two bytes of a whole text whose length follows in two more bytes."""
_LONGEST_USUAL: Final = 0xFFFF
_two_numbers: Final = struct.Struct(">HH").unpack_from
_LONGEST: Final = (1 << 63) - 1


class ControlFrame(Struct, frozen=True, kw_only=True):
    """A received ping, pong or close frame; `octets` is the whole frame, unchanged."""

    opcode: int
    octets: bytes


class Violation(Struct, frozen=True, kw_only=True):
    """A breach of the protocol by the peer; `code` is its close code, `what` a short fixed word.

    For a message that is too big, `announced` is its size as far as it is known, and `command_id` the command that it
    answers.
    """

    code: int
    what: str
    text: str
    announced: int | None = None
    command_id: CommandId | None = None


def too_big(size: int, limit: int, head: bytes | bytearray, *, at_least: bool = False) -> Violation:
    """Return the violation for a message above the limit; `head` is the start of the message."""
    return Violation(
        code=1009,
        what="too_big",
        text=f"a message of {'at least ' if at_least else ''}{size} bytes is above the limit of {limit} "
        "(raise max_message_bytes to receive it)",
        announced=size,
        command_id=leading_id(bytes(head[:HEAD_BYTES])),
    )


class FrameReader:
    """Turns the bytes of server frames into whole text messages."""

    def __init__(self, *, max_message_bytes: int) -> None:
        check_limit(max_message_bytes)
        self.violation: Violation | None = None
        self.large_messages = 0
        # The violation of a message that is too big, while its first bytes may still be missing.
        self.refused: Violation | None = None
        self.controls: list[ControlFrame] = []
        self._limit = max_message_bytes
        self._rest = b""
        self._fragments: _Fragments | None = None
        # The large frame that is being received, and its buffer, which is kept for the next one.
        self._buffer = bytearray()
        self._filled = 0
        # The length of the large frame that is being received, or 0.
        self.large_frame = 0
        self._head = 0
        self._lent = False

    def feed(self, portion: bytes) -> list[Payload]:
        """Take the next bytes, in any portion; return the messages that they complete."""
        self._lent = False
        if self.violation is not None:
            return []
        if not (self._rest or self.large_frame or self._fragments):
            # The usual case: the portion is exactly one short text, with nothing before or after it.
            start, length, size = 0, 0, len(portion)
            if 2 < size < 2 + 126:
                start, length = 2, portion[1]
            elif 4 + 126 <= size <= SMALLEST_LIMIT and portion[1] == 126:
                start, length = 4, portion[2] << 8 | portion[3]
            if start and start + length == size and portion[0] == _WHOLE_TEXT:
                text = portion[start:]
                if text.isascii():
                    return [text]
        messages: list[Payload] = []
        if self.large_frame:
            taken = min(self.large_frame - self._filled, len(portion))
            self._buffer[self._filled : self._filled + taken] = portion[:taken]
            messages = self._extend_large_frame(taken)
            if taken == len(portion) or self.violation is not None:
                return messages
            portion = portion[taken:]
        elif self._rest:
            portion = self._rest + portion
            self._rest = b""
        self._parse(portion, messages)
        return messages

    def wanted(self) -> memoryview | None:
        """Return the missing part of a large frame, to be received into; None outside a large frame."""
        if not self.large_frame:
            return None
        return memoryview(self._buffer)[self._filled : self.large_frame]

    def filled(self, count: int) -> list[Payload]:
        """Account for `count` bytes received into `wanted()`; return the message that they complete."""
        self._lent = False
        return self._extend_large_frame(count)

    @property
    def lent(self) -> bool:
        """True if the last returned messages include a view of the buffer, invalid after the next call."""
        return self._lent

    @property
    def waits_for_close(self) -> bool:
        """True if a message is too big, and its first bytes, which name its command, are still missing."""
        return self.refused is not None and self.violation is None

    def judge(self) -> None:
        """Stop waiting for the first bytes of a message that is too big: report its violation."""
        self.violation = self.violation or self.refused

    def take_controls(self) -> list[ControlFrame]:
        """Return the control frames since the last call, in order."""
        controls, self.controls = self.controls, []
        return controls

    # ── one portion of bytes ─────────────────────────────────────────────────────────────────────────────────────────

    def _parse(self, portion: bytes, messages: list[Payload]) -> None:
        """Parse the frames in `portion`. The inner loop runs once for each event of the browser."""
        append = messages.append
        position, end = 0, len(portion)
        while position >= 0:
            usual = self._fragments is None and self._limit >= _LONGEST_USUAL
            last = end - 4 if usual else -1
            while position <= last:
                head, length = _two_numbers(portion, position)
                if head == _USUAL:
                    if length < 126:
                        break
                    start = position + 4
                elif _SHORT <= head < _USUAL:
                    length = head - _SHORT
                    start = position + 2
                else:
                    break
                stop = start + length
                if stop > end:
                    break
                payload = portion[start:stop]
                if not payload.isascii() and not _is_utf8(payload):
                    break
                append(payload)
                position = stop
            if position == end:
                return
            position = self._next_frame(portion, position, end, messages)

    def _next_frame(self, portion: bytes, position: int, end: int, messages: list[Payload]) -> int:
        """Parse one frame of any kind; return the position of the next one, or -1 if the parsing stops."""
        found = self._read_header(portion, position, end)
        if found is None:
            self._rest = portion[position:]
            return -1
        head, length, start = found
        if self.violation is not None or not self._header_allowed(head, length):
            return -1
        if not head & 0x8 and length + self._fragment_bytes() > self._limit:
            return self._refuse(length + self._fragment_bytes(), portion, position, start)
        stop = start + length
        if stop > end:
            if length > OWN_BUFFER:
                self._begin_large_frame(head, length, portion, start)
            else:
                self._rest = portion[position:]
            return -1
        payload = portion[start:stop]
        if head != _WHOLE_TEXT:
            self._take_frame(head, payload, portion[position:stop], messages)
        elif _is_utf8(payload):
            messages.append(payload)
        else:
            self._breach(1007, "not_utf8", "a text message is not UTF-8")
        return -1 if self.violation is not None else stop

    def _read_header(self, portion: bytes, position: int, end: int) -> tuple[int, int, int] | None:
        """Return the first byte, the payload's length and its start; None if the header is incomplete."""
        start = position + 2
        if start > end:
            return None
        head, length = portion[position], portion[position + 1]
        if length > 127:
            self._breach(1002, "masked", "a server frame is masked")
        elif length > 125:
            minimum, start = (126, start + 2) if length == 126 else (1 << 16, start + 8)
            if start > end:
                return None
            length = int.from_bytes(portion[position + 2 : start], "big")
            if not minimum <= length <= _LONGEST:
                self._breach(1002, "length", "a frame's length is not written as the protocol demands")
        return head, length, start

    def _header_allowed(self, head: int, length: int) -> bool:
        """Return True if the protocol allows this header here; set the violation otherwise."""
        opcode = head & 0x0F
        if head & 0x70:
            return self._breach(1002, "reserved_bits", "a frame has reserved bits set, and no extension was agreed")
        if opcode in (CLOSE, PING, PONG):
            if not head & 0x80:
                return self._breach(1002, "control_frame", "a control frame is fragmented")
            if length > 125:
                return self._breach(1002, "control_frame", "a control frame is longer than 125 bytes")
            return True
        if opcode not in (TEXT, BINARY, CONTINUATION):
            return self._breach(1002, "opcode", f"a frame has the unknown opcode {opcode}")
        if (opcode == CONTINUATION) == (self._fragments is None):
            return self._breach(1002, "fragments", "the fragments of a message are out of order")
        if opcode == BINARY:
            return self._breach(1003, "binary", "a binary message arrived, and the protocol of browsers is text")
        return True

    def _take_frame(self, head: int, payload: bytes | bytearray, octets: bytes, messages: list[Payload]) -> None:
        opcode = head & 0x0F
        if opcode & 0x8:
            self.controls.append(ControlFrame(opcode=opcode, octets=octets))
            return
        if self._fragments is None:
            self._fragments = _Fragments()
        final = bool(head & 0x80)
        if not self._fragments.add(payload, final=final):
            self._breach(1007, "not_utf8", "a text message is not UTF-8")
        elif final:
            messages.append(bytes(self._fragments.octets))
            self._fragments = None

    # ── a frame with a buffer of its own ─────────────────────────────────────────────────────────────────────────────

    def _begin_large_frame(self, head: int, length: int, portion: bytes, start: int) -> None:
        if self._lent or len(self._buffer) < length:
            # The next message seldom has the same length: with some spare room it fits into this buffer.
            self._buffer = bytearray(max(length, min(length + length // 8, KEPT_BUFFER)))
        self._head, self.large_frame, self._filled = head, length, len(portion) - start
        self._buffer[: self._filled] = portion[start:]

    def _extend_large_frame(self, count: int) -> list[Payload]:
        self._filled += count
        if self._filled < self.large_frame:
            return []
        length, self.large_frame = self.large_frame, 0
        messages: list[Payload] = []
        if self._head != _WHOLE_TEXT:
            self._take_frame(self._head, self._buffer[:length], b"", messages)
        elif not self._buffer.isascii() and not _is_utf8_in_parts(memoryview(self._buffer)[:length]):
            # isascii() checks the whole buffer, stale tail included: it costs a twentieth of the decoding.
            self._breach(1007, "not_utf8", "a text message is not UTF-8")
        elif length > LARGE:
            self.large_messages += 1
            self._lent = True
            messages.append(memoryview(self._buffer)[:length])
        else:
            messages.append(bytes(memoryview(self._buffer)[:length]))
        if len(self._buffer) > KEPT_BUFFER:
            self._buffer = bytearray()
        return messages

    def _fragment_bytes(self) -> int:
        return 0 if self._fragments is None else len(self._fragments.octets)

    def _refuse(self, size: int, portion: bytes, position: int, start: int) -> int:
        """Refuse a message above the limit once its first bytes are here; return what `_next_frame` returns."""
        head = b"" if self._fragments is None else bytes(self._fragments.octets[:HEAD_BYTES])
        head += portion[start : start + HEAD_BYTES - len(head)]
        self.refused = too_big(size, self._limit, head)
        if len(head) < HEAD_BYTES:
            self._rest = portion[position:]
        else:
            self.judge()
        return -1

    def _breach(self, code: int, what: str, text: str) -> bool:
        self.violation = Violation(code=code, what=what, text=text)
        return False


class _Fragments:
    """A fragmented message so far; each part is checked on arrival, so a fault is found before the end.

    The parts are joined: a peer may send any number of parts, of one byte or none, and they cost only their bytes.
    """

    def __init__(self) -> None:
        self.octets = bytearray()
        self._checker = codecs.getincrementaldecoder("utf-8")()

    def add(self, part: bytes | bytearray, *, final: bool) -> bool:
        self.octets += part
        try:
            self._checker.decode(part, final)
        except UnicodeDecodeError:
            return False
        return True


def frame_text(payload: bytes, mask: bytes) -> bytes:
    """Return one text message as one masked frame (RFC 6455, 5.3); `mask` is four unpredictable bytes."""
    length = len(payload)
    if length < 126:
        head = bytes((_WHOLE_TEXT, 0x80 | length)) + mask
    elif length < 1 << 16:
        head = b"\x81\xfe" + length.to_bytes(2, "big") + mask
    else:
        head = b"\x81\xff" + length.to_bytes(8, "big") + mask
    if length >= 1 << 13:  # one big-integer XOR is the fastest below, four translations above
        return head + _masked_in_lanes(payload, mask)
    key = (mask * (length // 4 + 1))[:length]
    return head + (int.from_bytes(payload, "big") ^ int.from_bytes(key, "big")).to_bytes(length, "big")


def _masked_in_lanes(payload: bytes, mask: bytes) -> bytearray:
    masked = bytearray(len(payload))
    for lane in range(4):
        masked[lane::4] = payload[lane::4].translate(bytes(octet ^ mask[lane] for octet in range(256)))
    return masked


def _is_utf8(payload: bytes) -> bool:
    try:
        payload.decode()
    except UnicodeDecodeError:
        return False
    return True


def _is_utf8_in_parts(view: memoryview) -> bool:
    """Check in slices, so that no second copy of a large message is made."""
    check = codecs.getincrementaldecoder("utf-8")().decode
    try:
        for start in range(0, len(view), 1 << 20):
            check(view[start : start + (1 << 20)])
        check(b"", True)
    except UnicodeDecodeError:
        return False
    return True
