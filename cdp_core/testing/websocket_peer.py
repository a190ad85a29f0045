"""Chromium's side of a WebSocket: octets in, messages out, and the octets to write in answer.

    peer = WebSocketPeer(negotiate_deflate("permessage-deflate; client_max_window_bits"))
    for text in peer.receive(octets): ...
    send(peer.take_answer())            # pongs, and the answer to a close frame
    send(peer.frame(b'{"id":1,"result":{}}'))

The behaviour is Chromium 156's, observed octet by octet (facts 53, 57): a ping is answered; texts may come in fragments,
and need not be UTF-8, which the JSON reader checks; a close frame is answered with 1000, whatever its code. Everything else
that is not text ends the link without a close frame: a binary frame, an unmasked frame, reserved bits, broken deflate.

permessage-deflate is negotiated with a client that offers it, and then every message of the browser is compressed, however
small. The first acceptable offer is accepted as it is; an offer with an invalid parameter is skipped.

This module does not know sockets or clocks.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from typing import Final, Literal

import attrs

LONGEST_TEXT: Final = 100 << 20
"""Octets; a message that is announced or grows to this size ends the link before it is read (fact 57)."""
_TEXT, _BINARY, _CLOSE, _PING, _PONG = 1, 2, 8, 9, 10
_CLOSE_ANSWER: Final = b"\x88\x02\x03\xe8"
_SYNC: Final = b"\x00\x00\xff\xff"
_PARAMETER: Final = re.compile(r'\s*([!#$%&\'*+.^_`|~\w-]+)\s*(?:=\s*"?([!#$%&\'*+.^_`|~\w-]+)"?\s*)?')
_ORDER: Final = (
    "server_no_context_takeover",
    "client_no_context_takeover",
    "server_max_window_bits",
    "client_max_window_bits",
)

EndReason = Literal["closed", "binary", "too long", "illegal"]


# ── permessage-deflate ───────────────────────────────────────────────────────────────────────────────────────────────


@attrs.frozen(kw_only=True)
class Deflate:
    """The negotiated parameters of permessage-deflate (RFC 7692)."""

    parameters: tuple[tuple[str, int | None], ...] = ()

    def __str__(self) -> str:
        """Return the value of the Sec-WebSocket-Extensions header."""
        parameters = [name if bits is None else f"{name}={bits}" for name, bits in self.parameters]
        return "; ".join(["permessage-deflate", *parameters])

    def has(self, name: str) -> bool:
        return any(each == name for each, _ in self.parameters)

    @property
    def window(self) -> int:
        """The window of the browser's own messages, in bits: how far back they may refer."""
        return dict(self.parameters).get("server_max_window_bits") or 15


def negotiate_deflate(offers: str) -> Deflate | None:
    """Return the first acceptable offer in a header, or None."""
    for offer in offers.split(","):
        name, *parameters = offer.split(";")
        if name.strip() == "permessage-deflate":
            taken = _parse_offer(parameters)
            if taken is not None:
                return taken
    return None


def _parse_offer(parameters: list[str]) -> Deflate | None:
    found: dict[str, int | None] = {}
    for each in parameters:
        match = _PARAMETER.fullmatch(each)
        if match is None or match[1] not in _ORDER or match[1] in found:
            return None
        name, value = match.groups()
        if name.endswith("takeover"):
            if value is not None:
                return None
            found[name] = None
        elif value is None and name == "client_max_window_bits":
            found[name] = 15
        elif value is not None and re.fullmatch(r"[89]|1[0-5]", value):
            found[name] = int(value)
        else:
            return None
    return Deflate(parameters=tuple((name, found[name]) for name in _ORDER if name in found))


# ── the peer ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class WebSocketPeer:
    """Reads the octets of one client, and frames the messages for it."""

    def __init__(self, deflate: Deflate | None = None) -> None:
        # Why reading ended; None while the link is open.
        self.ended: EndReason | None = None
        self._deflate = deflate
        self._buffer = bytearray()
        # The fragments of an unfinished text; its first frame set `_deflated`.
        self._parts: list[bytes] = []
        self._in_fragments = self._deflated = False
        self._answer = b""
        self._inflating = self._deflating = None if deflate is None else _new_codec(deflate)

    def receive(self, octets: bytes) -> Iterator[bytes]:
        """Take octets from the client; yield the texts that are complete."""
        self._buffer += octets
        while self.ended is None:
            frame = self._next_frame()
            if frame is None:
                return
            text = self._take(*frame)
            if text is not None:
                yield text

    def take_answer(self) -> bytes:
        """Return the pongs and the close frame that must be written, and forget them."""
        answer, self._answer = self._answer, b""
        return answer

    def frame(self, text: bytes) -> bytes:
        """Return the frame in which the browser sends this text."""
        first = 0x81
        if self._deflating is not None:
            text, first = self._compressed(text), 0xC1
        length = len(text)
        if length < 126:
            return bytes((first, length)) + text
        if length < 1 << 16:
            return bytes((first, 126)) + length.to_bytes(2, "big") + text
        return bytes((first, 127)) + length.to_bytes(8, "big") + text

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _next_frame(self) -> tuple[int, bool, bool, bytes] | None:
        """Return the next frame's opcode, whether it is final, whether it is compressed, and its content."""
        buffer = self._buffer
        if len(buffer) < 2:
            return None
        final, reserved, kind = bool(buffer[0] & 0x80), buffer[0] & 0x70, buffer[0] & 0x0F
        masked, length, start = buffer[1] & 0x80, buffer[1] & 0x7F, 2
        if self._is_illegal(kind, final=final, reserved=reserved, length=length) or not masked:
            self._end("illegal")
            return None
        if length >= 126:
            start = 4 if length == 126 else 10
            if len(buffer) < start:
                return None
            length = int.from_bytes(buffer[2:start], "big")
        if length + sum(map(len, self._parts)) >= LONGEST_TEXT:
            self._end("too long")
            return None
        end = start + 4 + length
        if len(buffer) < end:
            return None
        content = _unmasked(bytes(buffer[start : start + 4]), bytes(buffer[start + 4 : end]))
        del buffer[:end]
        return kind, final, bool(reserved), content

    def _is_illegal(self, kind: int, *, final: bool, reserved: int, length: int) -> bool:
        if kind >= _CLOSE:
            return kind > _PONG or bool(reserved) or not final or length > 125
        allowed = (0, 0x40) if self._deflate is not None and kind else (0,)
        return kind > _BINARY or reserved not in allowed or self._in_fragments is not (kind == 0)

    def _take(self, kind: int, final: bool, deflated: bool, content: bytes) -> bytes | None:
        if kind == _PING:
            self._answer += bytes((0x80 | _PONG, len(content))) + content
        elif kind == _CLOSE:
            self._answer += _CLOSE_ANSWER
            self._end("closed")
        elif kind == _BINARY:
            self._end("binary")
        elif kind != _PONG:
            self._deflated = deflated if kind == _TEXT else self._deflated
            self._parts.append(content)
            self._in_fragments = not final
            return self._complete() if final else None
        return None

    def _complete(self) -> bytes | None:
        text = b"".join(self._parts)
        self._parts = []
        return self._decompressed(text) if self._deflated else text

    def _end(self, why: EndReason) -> None:
        self.ended = why
        self._buffer.clear()
        self._parts = []

    # ── deflate ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _decompressed(self, text: bytes) -> bytes | None:
        assert self._deflate is not None
        assert self._inflating is not None
        inflate = self._inflating[1]
        try:
            decompressed = inflate.decompress(text + _SYNC, LONGEST_TEXT)
        except zlib.error:
            self._end("illegal")
            return None
        if inflate.unconsumed_tail:
            self._end("too long")
            return None
        if self._deflate.has("client_no_context_takeover") or inflate.eof:
            self._inflating = _new_codec(self._deflate)
        return decompressed

    def _compressed(self, text: bytes) -> bytes:
        assert self._deflate is not None
        assert self._deflating is not None
        deflate = self._deflating[0]
        compressed = deflate.compress(text) + deflate.flush(zlib.Z_SYNC_FLUSH)
        if self._deflate.has("server_no_context_takeover"):
            self._deflating = _new_codec(self._deflate)
        return compressed.removesuffix(_SYNC)


def _new_codec(deflate: Deflate) -> tuple[zlib._Compress, zlib._Decompress]:
    # zlib cannot write with a window of 8 bits; data without back references fits every window.
    strategy = zlib.Z_HUFFMAN_ONLY if deflate.window == 8 else zlib.Z_DEFAULT_STRATEGY
    shrinking = zlib.compressobj(wbits=-max(deflate.window, 9), strategy=strategy)
    return shrinking, zlib.decompressobj(wbits=-15)


def _unmasked(mask: bytes, content: bytes) -> bytes:
    length = len(content)
    stretched = (mask * (length // 4 + 1))[:length]
    return (int.from_bytes(content, "big") ^ int.from_bytes(stretched, "big")).to_bytes(length, "big")
