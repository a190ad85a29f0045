"""The fast WebSocket link: data frames never reach trio-websocket.

    socket ── our reader: FrameReader ── data messages → the session
                     └── handshake, pings, closes → the inbox of TapStream ── trio-websocket, by its public API

For each data frame, trio-websocket needs time for parsing objects, a memory channel and a scheduler pass. Here one
reader task of ours reads the real stream: `receive()` reads, parses, and returns every message that the wake-up
brought. Everything but data goes into the inbox of `TapStream`; trio-websocket's own reader parks on that inbox and
sees nothing else. No other code calls the real stream's `receive_some`.

Every byte up to the end of a 101 response goes to the inbox; the first byte after it is ours. The inbox holds at most
one unanswered ping, the newest (RFC 6455, 5.5.3), and one close, so a flood of pings stays bounded.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import Final

import trio
import trio_websocket
from trio.lowlevel import wait_readable

from cdp_core.errors import ConnectionLost, RemoteProtocolError
from cdp_core.sansio.addresses import EndpointAddress
from cdp_core.sansio.messages import Payload
from cdp_core.sansio.websocket_client import CLOSE, PING, ControlFrame, FrameReader, Violation
from cdp_core.transports.tuning import (
    CLOSE_GRACE,
    LARGE_READ_BYTES,
    LARGE_READS_PER_YIELD,
    MAX_HEAD_BYTES,
    READ_BYTES,
    YIELD_BYTES,
)
from cdp_core.transports.websocket.connection import BROKEN, Refused, WebSocketOptions, WebSocketTransport

CLOSE_CODES: Final = frozenset((*range(1000, 1004), *range(1007, 1014), *range(3000, 5000)))
"""The close codes that a peer may send in a close frame."""


class FastWebSocketTransport(WebSocketTransport):
    """A WebSocket link that reads data itself; trio-websocket sees the handshake and control frames."""

    def __init__(self, stream: trio.abc.Stream, address: EndpointAddress, options: WebSocketOptions) -> None:
        super().__init__(stream, address, options)
        self._frames = FrameReader(max_message_bytes=options.max_message_bytes)
        self._tap = TapStream(self)
        self._early: list[Payload] = []
        self._receiving = False
        # An error that reading met after messages that are still to be delivered.
        self._fault: OSError | None = None
        self._peer_close: int | None = None

    def stream_below(self) -> trio.abc.Stream:
        return self._tap

    async def receive(self) -> Sequence[Payload]:
        self._receiving = True
        try:
            while True:
                frames = self._frames
                if self._ended is not None or self._peer_close is not None or frames.violation is not None:
                    await self._end_with_close_frame()
                try:
                    raw = self._socket
                    if raw is None or self._early or self._fault or frames.refused:
                        messages = await self._read_slow_path()
                    else:  # inlined: each coroutine above `wait_readable` is resumed at every wake-up
                        await wait_readable(raw)
                        messages = self._read_socket(raw)
                except (EOFError, OSError, trio.BrokenResourceError, trio.ClosedResourceError) as error:
                    self._end_by(error)
                    continue
                if frames.controls:
                    self._take_controls()
                if messages and self._closing is None:
                    return messages
                self.dropped_after_close += len(messages)
        finally:
            self._receiving = False

    async def _end_with_close_frame(self) -> None:
        """Raise the known end of the link; messages that were whole before it are delivered first."""
        if self._ended is not None:
            raise self.again()
        if self._closing is not None or self._early:
            return
        if self._frames.violation is not None:
            self._receiving = False
            raise await self.end_by_violation(self._frames.violation)
        raise self.end_by_peer(self._peer_close)

    # ── the handshake ────────────────────────────────────────────────────────────────────────────────────────────────

    async def await_handshake(self) -> None:
        """Read until the head of the response is whole, and give it to trio-websocket."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._read_head)
            await self._settled.wait()
            nursery.cancel_scope.cancel()

    async def _read_head(self) -> None:
        head, end = b"", -1
        failure: Exception | None = None
        while failure is None and end < 0:
            try:
                data = await self.stream.receive_some(READ_BYTES)
            except (OSError, trio.BrokenResourceError, trio.ClosedResourceError) as error:
                failure = error
                break
            head += data
            end = head.find(b"\r\n\r\n")
            failure = _fault_in_head(head, ended=not data)
        if failure is not None:
            self.fail_handshake(failure)
            return
        self._early = self._frames.feed(head[end + 4 :])
        self._take_controls()
        self._tap.put(head[: end + 4])

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _read_slow_path(self) -> list[Payload]:
        """Handle every case of reading but a plain socket without leftovers.

        These are messages that came with the handshake, a stored fault, a stream that is not a plain socket, and the
        rest of a message that is too big.
        """
        if self._early:
            messages, self._early = self._early, []
            return messages
        if self._fault is not None:
            raise self._fault
        if not self._frames.waits_for_close:
            return await self._read()
        # The message is known to be too big; its beginning may still show its command, so wait briefly for more.
        with trio.move_on_after(CLOSE_GRACE):
            return await self._read()
        self._frames.judge()
        return []

    async def _read(self) -> list[Payload]:
        raw = self._socket
        if raw is None:
            return await self._read_stream()
        await wait_readable(raw)
        return self._read_socket(raw)

    def _end_by(self, error: Exception) -> None:
        """Raise the end of the link after a read error; of a message that is too big, judge what arrived."""
        if isinstance(error, EOFError) and self._frames.waits_for_close:
            self._frames.judge()
        elif isinstance(error, trio.ClosedResourceError):
            if self._closing is not None:
                raise self.end("closed", "The link was closed here.") from None
            # trio-websocket closes the stream when a control frame breaks the protocol.
            text = "The peer sent a control frame that breaks the WebSocket protocol."
            raise self.end("protocol_error", text, 1002) from None
        else:
            self._tap.end()
            if isinstance(error, EOFError):
                raise self.end_by_peer(self._peer_close) from None
            if self._closing is not None:
                raise self.end_by_peer(None) from None
            raise self.end("broken", BROKEN, 1006) from None

    async def _read_stream(self) -> list[Payload]:
        data = bytes(await self.stream.receive_some(READ_BYTES))
        if not data:
            raise EOFError
        return self._frames.feed(data)

    def _read_socket(self, raw: socket.socket) -> list[Payload]:
        """Read pieces while more is available, up to one chunk before other tasks may run."""
        frames = self._frames
        if frames.large_frame:
            return self._read_large(raw)
        try:
            data = raw.recv(READ_BYTES)
        except BlockingIOError:
            return []
        if not data:
            raise EOFError
        messages = frames.feed(data)
        size = len(data)
        while len(data) == READ_BYTES and size < YIELD_BYTES and not frames.lent and not frames.large_frame:
            try:
                data = raw.recv(READ_BYTES)
            except BlockingIOError:
                break
            except OSError as error:  # the kernel reports it once
                self._fault = error
                break
            messages += frames.feed(data)
            size += len(data)
        if frames.large_frame and not messages:
            return self._read_large(raw)  # most of it has arrived already
        return messages

    def _read_large(self, raw: socket.socket) -> list[Payload]:
        """Read into the large frame's own buffer, up to a few megabytes before other tasks may run."""
        for _step in range(LARGE_READS_PER_YIELD):
            wanted = self._frames.wanted()
            if wanted is None:
                break
            try:
                count = raw.recv_into(wanted[:LARGE_READ_BYTES])
            except BlockingIOError:
                break
            finally:
                wanted.release()
            if not count:
                raise EOFError
            messages = self._frames.filled(count)
            if messages:
                return messages
        return []

    def _take_controls(self) -> None:
        for control in self._frames.take_controls():
            if control.opcode == CLOSE and self._peer_close is None:
                self._frames.violation = self._frames.violation or _fault_in_close(control.octets[2:])
                if self._frames.violation is not None:
                    break
                code = control.octets[2:4]
                self._peer_close = int.from_bytes(code, "big") if len(code) == 2 else 1005
            self._tap.put_control(control)

    # ── the end ──────────────────────────────────────────────────────────────────────────────────────────────────────

    async def close_politely(self, websocket: trio_websocket.WebSocketConnection, code: int) -> None:
        """Do the close handshake while reading on: otherwise the peer's answer would never be seen."""
        self._tap.forget_pings()
        await trio.lowlevel.checkpoint()  # lets a reader that was cancelled together with us run and leave
        async with trio.open_nursery() as nursery:
            if not self._receiving:
                nursery.start_soon(self._drain)
            if self._peer_close is not None:
                await self._tap.close_answered.wait()  # otherwise our own close would overtake the answer
            await super().close_politely(websocket, code)
            nursery.cancel_scope.cancel()

    async def end_by_violation(self, violation: Violation) -> ConnectionLost | RemoteProtocolError:
        """End the link without waiting for an answer to the close: nothing after a fault can be read."""
        self._tap.end_after_send()
        return await super().end_by_violation(violation)

    async def _drain(self) -> None:
        try:
            while True:
                messages = await self._read()
                self.dropped_after_close += len(messages)
                self._take_controls()
        except (EOFError, OSError, trio.BrokenResourceError, trio.ClosedResourceError):
            self._tap.end()


def _fault_in_close(body: bytes) -> Violation | None:
    """Return what is wrong with the body of a close frame (RFC 6455, 5.5.1 and 7.4), which may be empty."""
    if body and (len(body) == 1 or int.from_bytes(body[:2], "big") not in CLOSE_CODES):
        return Violation(code=1002, what="close_frame", text="a close frame has a code that may not be sent")
    try:
        body[2:].decode()
    except UnicodeDecodeError:
        return Violation(code=1007, what="not_utf8", text="the reason of a close frame is not UTF-8")
    return None


def _fault_in_head(head: bytes, *, ended: bool) -> Exception | None:
    """Return why the received part of a response head is not an upgrade, or None."""
    if ended:
        return EOFError()
    if head[:9] not in (b"HTTP/1.1 "[: len(head)], b"HTTP/1.0 "[: len(head)]) or len(head) > MAX_HEAD_BYTES:
        return ValueError("no HTTP")
    if b"\r\n\r\n" not in head or head[:13] == b"HTTP/1.1 101 ":
        return None
    status = head[9:12]
    return Refused(int(status)) if status.isdigit() and status != b"101" else ValueError("no status")


class TapStream(trio.abc.Stream):
    """The stream that trio-websocket sees: reads come from the inbox, writes pass the gate."""

    def __init__(self, transport: FastWebSocketTransport) -> None:
        self._transport = transport
        self._head = b""
        self._controls: dict[int, bytes] = {}
        self._ended = self._last_send = self._close_given = False
        self._wanted: tuple[int, ...] = (PING, CLOSE)
        self._arrived = trio.Event()
        self.close_answered = trio.Event()

    def put(self, head: bytes) -> None:
        """Add the head of the handshake's response."""
        self._head += head
        self._arrived.set()

    def put_control(self, control: ControlFrame) -> None:
        """Add a ping or close. Drop a pong, since we send no pings; a newer ping replaces an unseen one."""
        if control.opcode in self._wanted:
            self._controls.pop(control.opcode, None)
            self._controls[control.opcode] = control.octets
            self._arrived.set()

    def forget_pings(self) -> None:
        """Drop pings once our close begins: trio-websocket breaks on a ping then, and the peer needs no pong."""
        self._wanted = (CLOSE,)
        self._controls.pop(PING, None)

    def end(self) -> None:
        """Note that nothing more will arrive."""
        self._ended = True
        self._arrived.set()

    def end_after_send(self) -> None:
        """Note that the close frame that is written next is the last."""
        self._last_send = True

    async def receive_some(self, max_bytes: int | None = None) -> bytes:  # noqa: ARG002 - frames are handed over whole
        if self._close_given:
            self.close_answered.set()  # trio-websocket reads on once it has answered or rejected the close
        await self._arrived.wait()
        while not (self._head or self._controls or self._ended):  # `forget_pings` removed a ping
            self._arrived = trio.Event()
            await self._arrived.wait()
        data = self._head + b"".join(self._controls.values())
        self._close_given = self._close_given or CLOSE in self._controls
        self._head = b""
        self._controls.clear()
        if not self._ended:
            self._arrived = trio.Event()
        return data

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        try:
            await self._transport.write(bytes(data))
        finally:
            if data[0] == 0x80 | CLOSE:  # not a pong, which may be written before it
                self.close_answered.set()
                if self._last_send:
                    self.end()

    async def wait_send_all_might_not_block(self) -> None:
        await self._transport.wait_writable()

    async def aclose(self) -> None:
        self.end()
        self._transport.fail_handshake(ValueError("the answer to the handshake is wrong"))
        await self._transport.shut_stream()
