"""Chromium's side of a WebSocket: octets in, texts out, and what is written because of them. No socket, no clock.

    peer = WebSocketPeer(negotiate_deflate("permessage-deflate; client_max_window_bits"))
    for text in peer.receive(octets): ...
    send(peer.take_answer())            # pongs, and the answer to a close frame
    send(peer.frame(b'{"id":1,"result":{}}'))

As Chromium 156 has it, seen octet by octet (facts 53, 57): a ping is answered; texts may come in fragments, and need not
be UTF-8, since it is the reader of JSON who says so; a close frame is answered with 1000, whatever it said. Everything
else that is no text ends the link without a word: a binary frame, one that is not masked, reserved bits, broken deflate.

permessage-deflate is negotiated with who offers it, and then every message of the browser is compressed, however small.
The first offer that can be taken is taken as it stands; one with a parameter that is none is passed over.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from typing import Final, Literal

import attrs

LONGEST_TEXT: Final = 100 << 20
"""What is announced to be as long, or grows as long, ends the link before it is read (fact 57)."""
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
    """What was agreed on: RFC 7692."""

    parameters: tuple[tuple[str, int | None], ...] = ()

    def __str__(self) -> str:
        """The header's value."""
        parameters = [name if bits is None else f"{name}={bits}" for name, bits in self.parameters]
        return "; ".join(["permessage-deflate", *parameters])

    def has(self, name: str) -> bool:
        """Whether a parameter was given."""
        return any(each == name for each, _ in self.parameters)

    @property
    def window(self) -> int:
        """How far back the browser's own messages may refer, in bits."""
        return dict(self.parameters).get("server_max_window_bits") or 15


def negotiate_deflate(offers: str) -> Deflate | None:
    """The first of the offers in a header that can be taken; None where there is none."""
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
    """See the module."""

    def __init__(self, deflate: Deflate | None = None) -> None:
        self.ended: EndReason | None = None
        """Why nothing more is read."""
        self._deflate = deflate
        self._buffer = bytearray()
        self._parts: list[bytes] = []
        """The fragments of a text that has begun; `_deflated` is of its first."""
        self._in_fragments = self._deflated = False
        self._answer = b""
        self._inflating = self._deflating = None if deflate is None else _new_codec(deflate)

    def receive(self, octets: bytes) -> Iterator[bytes]:
        """The texts that are complete now."""
        self._buffer += octets
        while self.ended is None:
            frame = self._next_frame()
            if frame is None:
                return
            text = self._take(*frame)
            if text is not None:
                yield text

    def take_answer(self) -> bytes:
        """What is to be written because of what was received; once."""
        answer, self._answer = self._answer, b""
        return answer

    def frame(self, text: bytes) -> bytes:
        """One text as the browser sends it."""
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
        """The kind, whether it is the last fragment, whether it is compressed, and what it holds."""
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
    # zlib has no window of 8 bits to write with: what refers to nothing before it fits every window.
    strategy = zlib.Z_HUFFMAN_ONLY if deflate.window == 8 else zlib.Z_DEFAULT_STRATEGY
    shrinking = zlib.compressobj(wbits=-max(deflate.window, 9), strategy=strategy)
    return shrinking, zlib.decompressobj(wbits=-15)


def _unmasked(mask: bytes, content: bytes) -> bytes:
    length = len(content)
    stretched = (mask * (length // 4 + 1))[:length]
    return (int.from_bytes(content, "big") ^ int.from_bytes(stretched, "big")).to_bytes(length, "big")
