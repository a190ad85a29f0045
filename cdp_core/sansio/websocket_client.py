"""WebSocket data frames of a client: bytes in → whole messages, one message → a masked frame.

`FrameReader` is fed whatever the stream brought and returns the messages that are now complete, as payloads of JSON
text. What is not data it keeps apart for whoever speaks the rest of the protocol: control frames in `take_controls()`,
a breach of the protocol in `violation`, after which nothing more is read. It never raises on what the peer sent.

* A frame that began but is longer than what is here gets a buffer of its own, and `wanted()` names the part that is
  still missing, so that a socket can be read straight into it: a large message is never copied. Buffers are used
  again, hence a large payload is a `memoryview` that is valid until the reader is touched next
  (docs/cdp/large-messages-are-decoded-once.md).
* The size of a message is judged from its headers, before it is buffered (RFC 6455, 10.4); of one that is too big only
  the first bytes are looked at, which tell what command it answers.
* Text must be UTF-8 (8.1); frames from a server are never masked (5.1); control frames may stand between the fragments
  of a message, and are whole and short themselves (5.4, 5.5). Extensions are never offered, so RSV bits are a breach.

Not known here: the handshake, what to answer to a ping, when to close, where bytes come from, what is random.
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
"""Above this a payload is handed over as a view of a buffer that is used again, and decoded whole."""
OWN_BUFFER: Final = 1 << 16
"""An unfinished frame above this gets a buffer of its own; a shorter one waits for the next bytes."""
HEAD_BYTES: Final = 64
"""So many bytes of a message that is too big are waited for; browsers write the id of a reply first."""
KEPT_BUFFER: Final = 32 << 20
"""A larger buffer is given back after its message."""

_WHOLE_TEXT: Final = 0x80 | TEXT
_SHORT: Final = _WHOLE_TEXT << 8
"""How a whole text of up to 125 bytes begins; its length is added to it."""
_USUAL: Final = _SHORT | 126
"""How one begins whose length follows in two bytes."""
_LONGEST_USUAL: Final = 0xFFFF
_two_numbers: Final = struct.Struct(">HH").unpack_from
_LONGEST: Final = (1 << 63) - 1


class ControlFrame(Struct, frozen=True, kw_only=True):
    """A ping, pong or close, for whoever answers it; `octets` is the frame as it came."""

    opcode: int
    octets: bytes


class Violation(Struct, frozen=True, kw_only=True):
    """The peer broke the protocol; `code` is the close code that says so, `what` a short fixed word.

    Of a message that is too big `announced` is its size, as far as it is known, and `command_id` what it answers.
    """

    code: int
    what: str
    text: str
    announced: int | None = None
    command_id: CommandId | None = None


def too_big(size: int, limit: int, head: bytes | bytearray, *, at_least: bool = False) -> Violation:
    """The violation of a message above the limit; `head` is how it begins."""
    return Violation(
        code=1009,
        what="too_big",
        text=f"a message of {'at least ' if at_least else ''}{size} bytes is above the limit of {limit} "
        "(raise max_message_bytes to receive it)",
        announced=size,
        command_id=leading_id(bytes(head[:HEAD_BYTES])),
    )


class FrameReader:
    """Takes bytes of server frames, gives whole text messages."""

    def __init__(self, *, max_message_bytes: int) -> None:
        check_limit(max_message_bytes)
        self.violation: Violation | None = None
        self.large_messages = 0
        self.refused: Violation | None = None
        """Of a message that is too big, and whose command may not be known yet."""
        self.controls: list[ControlFrame] = []
        self._limit = max_message_bytes
        self._rest = b""
        self._fragments: _Fragments | None = None
        # The frame that is being received into its own buffer, and the buffer that is kept for the next one.
        self._buffer = bytearray()
        self._filled = 0
        self.large_frame = 0
        """The length of the large frame that is being received, 0 where there is none."""
        self._head = 0
        self._lent = False

    def feed(self, portion: bytes) -> list[Payload]:
        """Take the next bytes, in any portion; return the messages that they completed."""
        self._lent = False
        if self.violation is not None:
            return []
        if not (self._rest or self.large_frame or self._fragments):
            # The usual case of a conversation: one short text, and nothing before or behind it.
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
            messages = self._grow(taken)
            if taken == len(portion) or self.violation is not None:
                return messages
            portion = portion[taken:]
        elif self._rest:
            portion = self._rest + portion
            self._rest = b""
        self._parse(portion, messages)
        return messages

    def wanted(self) -> memoryview | None:
        """The missing part of a large frame, to be received into; None where any bytes will do."""
        if not self.large_frame:
            return None
        return memoryview(self._buffer)[self._filled : self.large_frame]

    def filled(self, count: int) -> list[Payload]:
        """Say that `count` bytes were received into `wanted()`; return the message if that completed it."""
        self._lent = False
        return self._grow(count)

    @property
    def lent(self) -> bool:
        """Whether what was returned last holds a view of the buffer, and would not survive the next call."""
        return self._lent

    @property
    def waits_for_close(self) -> bool:
        """Whether a message is too big, and its first bytes, which name its command, are not here yet."""
        return self.refused is not None and self.violation is None

    def judge(self) -> None:
        """Wait for these bytes no longer."""
        self.violation = self.violation or self.refused

    def take_controls(self) -> list[ControlFrame]:
        """The control frames since the last call, in order."""
        controls, self.controls = self.controls, []
        return controls

    # ── one portion of bytes ─────────────────────────────────────────────────────────────────────────────────────────

    def _parse(self, portion: bytes, messages: list[Payload]) -> None:
        """Walk over the frames in `portion`. The inner half of this loop runs once for each event of the browser."""
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
        """One frame of whatever kind; where the next one begins, or -1 where there is no more to do now."""
        found = self._read_header(portion, position, end)
        if found is None:
            self._rest = portion[position:]
            return -1
        head, length, start = found
        if self.violation is not None or not self._may_come(head, length):
            return -1
        if not head & 0x8 and length + self._begun() > self._limit:
            return self._refuse(length + self._begun(), portion, position, start)
        stop = start + length
        if stop > end:
            if length > OWN_BUFFER:
                self._begin_own(head, length, portion, start)
            else:
                self._rest = portion[position:]
            return -1
        payload = portion[start:stop]
        if head != _WHOLE_TEXT:
            self._unusual(head, payload, portion[position:stop], messages)
        elif _is_utf8(payload):
            messages.append(payload)
        else:
            self._breach(1007, "not_utf8", "a text message is not UTF-8")
        return -1 if self.violation is not None else stop

    def _read_header(self, portion: bytes, position: int, end: int) -> tuple[int, int, int] | None:
        """First byte, length and start of the payload; None where the header is not whole yet."""
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

    def _may_come(self, head: int, length: int) -> bool:
        """Judge the header of a frame that is not simply one whole text message."""
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
            return self._breach(1003, "binary", "a binary message came, and the protocol of browsers is text")
        return True

    def _unusual(self, head: int, payload: bytes | bytearray, octets: bytes, messages: list[Payload]) -> None:
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

    def _begin_own(self, head: int, length: int, portion: bytes, start: int) -> None:
        if self._lent or len(self._buffer) < length:
            # The next message is seldom of the same length: with some room to spare it needs no buffer of its own.
            self._buffer = bytearray(max(length, min(length + length // 8, KEPT_BUFFER)))
        self._head, self.large_frame, self._filled = head, length, len(portion) - start
        self._buffer[: self._filled] = portion[start:]

    def _grow(self, count: int) -> list[Payload]:
        self._filled += count
        if self._filled < self.large_frame:
            return []
        length, self.large_frame = self.large_frame, 0
        messages: list[Payload] = []
        if self._head != _WHOLE_TEXT:
            self._unusual(self._head, self._buffer[:length], b"", messages)
        elif not self._buffer.isascii() and not _is_utf8_in_parts(memoryview(self._buffer)[:length]):
            # The whole buffer is looked at, stale tail included: a look costs a twentieth of the decoding.
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

    def _begun(self) -> int:
        """How much of a fragmented message is here."""
        return 0 if self._fragments is None else len(self._fragments.octets)

    def _refuse(self, size: int, portion: bytes, position: int, start: int) -> int:
        """See `_next_frame`: a message above the limit, once its first bytes are here."""
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
    """A fragmented message so far; each part is checked as it comes, so a fault is seen before the end.

    The parts are not kept apart: a peer may send as many as it likes, of one byte or none, and they cost what they hold.
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
    """One text message as one masked frame (RFC 6455, 5.3); `mask` is four unpredictable bytes."""
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
        masked[lane::4] = payload[lane::4].translate(_xor_table(mask[lane]))
    return masked


def _xor_table(key: int) -> bytes:
    return bytes(octet ^ key for octet in range(256))


def _is_utf8(payload: bytes) -> bool:
    try:
        payload.decode()
    except UnicodeDecodeError:
        return False
    return True


def _is_utf8_in_parts(view: memoryview) -> bool:
    """The same in slices, so that no second copy of a large message is made."""
    check = codecs.getincrementaldecoder("utf-8")().decode
    try:
        for start in range(0, len(view), 1 << 20):
            check(view[start : start + (1 << 20)])
        check(b"", True)
    except UnicodeDecodeError:
        return False
    return True
