"""The oracle of the WebSocket link: trio-websocket reads all bytes, wsproto parses them.

Whatever the peer sends, in whatever portions, the fast link of the package must deliver the same messages and end with
the same close code and reason (tests/core/transports/test_websocket_oracle.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import trio
import trio_websocket

from cdp_core.errors import RemoteProtocolError
from cdp_core.sansio.messages import Payload
from cdp_core.sansio.websocket_client import Violation
from cdp_core.transports.websocket.connection import WebSocketTransport

TOO_BIG: Final = "Exceeded maximum message size"


class PlainWebSocketTransport(WebSocketTransport):
    """Unmodified trio-websocket behind the same interface."""

    close_code_sent: int | None = None

    def stream_below(self) -> trio.abc.Stream:
        return _WatchedStream(self)

    async def receive(self) -> Sequence[Payload]:
        if self._ended is not None:
            raise self.again()
        assert self._websocket is not None
        try:
            message = await self._websocket.get_message()
        except trio_websocket.ConnectionClosed as closed:
            code, text = (closed.reason.code, closed.reason.reason or "") if closed.reason else (None, "")
            # trio-websocket has answered a close frame of the peer by now. A protocol violation looks the same, but it
            # was not answered.
            unread = code in (1002, 1007) and self.close_code_sent is None
            if self._closing is None and (unread or (code == 1009 and text.startswith(TOO_BIG))):
                fault = _fault(code or 0, self._max_message_bytes)
                raise await self.end_by_violation(fault) from None
            raise self.end_by_peer(code) from None
        if isinstance(message, bytes):
            raise await self.end_by_violation(Violation(code=1003, what="binary", text="a binary message arrived"))
        return [message.encode()]

    async def close_politely(self, websocket: trio_websocket.WebSocketConnection, code: int) -> None:
        """Send the close frame that trio-websocket omits: it takes a violation for the peer's close."""
        if isinstance(self._ended, RemoteProtocolError) and self.close_code_sent is None and code in (1002, 1007):
            await self.write(b"\x88\x82\0\0\0\0" + code.to_bytes(2, "big"))
        await super().close_politely(websocket, code)


def _fault(code: int, limit: int) -> Violation:
    """Return trio-websocket's violation; it reports neither size nor beginning of a large message."""
    if code == 1009:
        text = f"a message is above the limit of {limit} (raise max_message_bytes to receive it)"
        return Violation(code=code, what="too_big", text=text)
    return Violation(code=code, what="other", text="trio-websocket found a fault")


class _WatchedStream(trio.abc.Stream):
    """The real stream; it notes a failed handshake and the code of an outgoing close frame."""

    def __init__(self, transport: PlainWebSocketTransport) -> None:
        self._transport = transport

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        try:
            data = bytes(await self._transport.stream.receive_some(max_bytes))
        except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
            self._transport.fail_handshake(error)
            raise
        if not data:
            self._transport.fail_handshake(EOFError())
        return data

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        octets = bytes(data)
        if octets[:1] == b"\x88" and len(octets) >= 8 and self._transport.close_code_sent is None:
            self._transport.close_code_sent = (octets[6] ^ octets[2]) << 8 | (octets[7] ^ octets[3])
        await self._transport.write(octets)

    async def wait_send_all_might_not_block(self) -> None:
        await self._transport.wait_writable()

    async def aclose(self) -> None:
        self._transport.fail_handshake(ValueError("the answer to the handshake is wrong"))
        await self._transport.shut_stream()
