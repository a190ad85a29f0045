"""The base class of WebSocket transports: the handshake, one gate for all writes, a bounded close.

trio-websocket does the handshake, answers pings and closes. It can wait for ever
(docs/cdp/trio-websocket-can-wait-for-ever.md): when the stream ends in the middle of the handshake, when a refusal
has no length, when the peer never answers a close. It also raises its errors as a group out of a nursery. So it runs
in a nursery of its own here, its handshake is raced against failure and a deadline, its close is bounded and followed
by force, and all its errors become our own.

Each stream has one gate: every writer (commands, pong, close, handshake) holds it for whole WebSocket frames. On a
plain socket a lone command may be written at once (`send_now`) if the gate is free; the part that the kernel did not
take goes out first, under the gate. A write that is cut in the middle poisons the stream, which is then closed
without a close frame.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Mapping, Sequence
from typing import Final, cast

import attrs
import trio
import trio_websocket

from cdp_core.errors import ConnectionLost, DiscoveryError, RemoteProtocolError
from cdp_core.nurseries import leaf_exceptions
from cdp_core.sansio.addresses import EndpointAddress
from cdp_core.sansio.messages import Payload
from cdp_core.sansio.structs import Struct
from cdp_core.sansio.websocket_client import Violation, frame_text
from cdp_core.transports.tuning import DIRECT_LIMIT

BROKEN: Final = "The connection to the browser broke; if it still runs, connect to it again."

_ADVICE: Final = {
    200: "a page is served there, not a WebSocket: look the ws:// address up, or give the http:// address",
    401: "it requires credentials, in the address or in headers=",
    403: "Chromium refuses foreign origins: send no Origin header, or start Chromium with --remote-allow-origins",
    404: "the path is wrong or names a browser that has ended: look the address up again",
    407: "a proxy in between requires credentials: give an address that needs none",
    410: "this browser has ended",
    426: "it speaks another version of WebSocket: check that it is a browser's DevTools endpoint",
    429: "there are too many connections: wait, or close some",
    500: "the path names no target of this browser, or the Host header is neither an IP address nor localhost",
}


def _refusal_advice(status: int) -> str:
    if 300 <= status < 400:
        return _ADVICE.get(status, "redirects are not followed: give the address that it leads to")
    if status > 500:
        return "a proxy in front of the browser cannot reach it: check that it runs, or try again in a moment"
    return _ADVICE.get(status, "check that it is a browser's DevTools endpoint")


log = logging.getLogger("cdp_core.websocket")


class Refused(Exception):
    """The peer answered the handshake with a status other than 101."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


@attrs.frozen(kw_only=True)
class WebSocketOptions:
    """The options of one WebSocket link."""

    max_message_bytes: int
    close_timeout: float
    direct: bool


class WebSocketStatistics(Struct, frozen=True, kw_only=True):
    """The state of a WebSocket link: what it dropped, what is unsent, and why it ended."""

    dropped_after_close: int
    unsent_bytes: int
    ended: str | None


class WebSocketTransport:
    """A stream that trio-websocket upgraded; a subclass decides how the stream is read."""

    def __init__(
        self,
        stream: trio.abc.Stream,
        address: EndpointAddress,
        options: WebSocketOptions,
    ) -> None:
        self.dropped_after_close = 0
        self.stream = stream
        self._address = address
        self._max_message_bytes = options.max_message_bytes
        self._close_timeout = options.close_timeout
        self._websocket: trio_websocket.WebSocketConnection | None = None
        self._settled = trio.Event()
        self._failure: BaseException | None = None
        self._gate = _Gate()
        self._poisoned = False
        self._masks = _MaskPool()
        self._ended: ConnectionLost | RemoteProtocolError | None = None
        self._closing: trio.Event | None = None
        # A cancelled caller still does the close handshake, so trio-websocket must run until `aclose` ends it.
        self._protocol_scope = trio.CancelScope(shield=True)
        # A second object for the same descriptor, for non-blocking calls of our own; it never closes it.
        self._socket: socket.socket | None = None
        self._tail = b""
        if options.direct and isinstance(stream, trio.SocketStream):
            self._socket = socket.socket(fileno=stream.socket.fileno())
            self._socket.setblocking(False)

    async def receive(self) -> Sequence[Payload]:
        raise NotImplementedError

    def stream_below(self) -> trio.abc.Stream:
        raise NotImplementedError

    # ── the handshake ────────────────────────────────────────────────────────────────────────────────────────────────

    async def shake_hands(self, nursery: trio.Nursery, headers: Mapping[bytes, bytes], seconds: float) -> None:
        """Upgrade the stream within `seconds`. Raises DiscoveryError(stage="upgrade").

        The caller has checked `headers`.
        """
        lines = {name.lower(): value for name, value in self._address.credential_headers()} | dict(headers)
        host = lines.pop(b"host", self._address.host_header.encode()).decode()  # trio-websocket writes this header
        nursery.start_soon(self._run_trio_websocket, host, list(lines.items()))
        with trio.move_on_after(seconds):
            await self.await_handshake()
        if self._failure is not None or self._websocket is None:
            self._protocol_scope.cancel()  # without a handshake no close handshake is possible
            raise self._handshake_error(seconds)

    async def await_handshake(self) -> None:
        """Wait until the handshake succeeded or failed."""
        await self._settled.wait()

    def fail_handshake(self, error: BaseException) -> None:
        """Report that the handshake failed. The first report counts, and none after the handshake."""
        if not self._settled.is_set():
            self._failure = error
            self._settled.set()

    async def _run_trio_websocket(self, host: str, headers: list[tuple[bytes, bytes]]) -> None:
        """Run trio-websocket in a nursery of its own; none of its errors may reach the caller's nursery."""
        try:
            with self._protocol_scope:
                await self._upgrade(host, headers)
        except Exception as error:  # noqa: BLE001 - every error, single or grouped, becomes one of ours
            log.debug("trio-websocket raised %s", type(leaf_exceptions(error)[0]).__name__)
            self.fail_handshake(leaf_exceptions(error)[0])
            await self.shut_stream()  # after the handshake this wakes our reader

    async def _upgrade(self, host: str, headers: list[tuple[bytes, bytes]]) -> None:
        async with trio.open_nursery() as nursery:
            self._websocket = await trio_websocket.wrap_client_stream(
                nursery,
                cast("trio.SocketStream", self.stream_below()),  # annotated with two classes, but any stream works
                host,
                self._address.target,
                extra_headers=headers,
                max_message_size=self._max_message_bytes,
                receive_buffer_size=1 << 16,
            )
            self._settled.set()

    def _handshake_error(self, seconds: float) -> DiscoveryError:
        failure, status, answered = self._failure, None, "other"
        if isinstance(failure, trio_websocket.ConnectionRejected):
            failure = Refused(failure.status_code)
        advice = "check that it is a browser's DevTools endpoint"
        if failure is None:
            answered = "silence"
            text = f"did not complete the WebSocket handshake within {seconds:g} s (handshake_timeout); {advice}"
        elif isinstance(failure, Refused):
            status = failure.status
            text = f"refused the WebSocket with HTTP status {status}; {_refusal_advice(status)}"
        elif isinstance(failure, EOFError):
            answered = "end"
            text = f"closed the connection in the middle of the WebSocket handshake; {advice}"
        elif isinstance(failure, (trio.BrokenResourceError, OSError)):
            answered = "end"
            text = f"broke the connection during the WebSocket handshake; {advice}"
        else:
            text = f"did not answer the WebSocket handshake as HTTP demands; {advice}"
        where = str(self._address)
        return DiscoveryError(f"{where} {text}.", address=where, stage="upgrade", status=status, answered=answered)

    # ── sending ──────────────────────────────────────────────────────────────────────────────────────────────────────

    async def send(self, batch: Sequence[bytes], /) -> None:
        """Send the batch in one joined write."""
        self._check_open()
        await self.write(self._framed(batch))

    def send_now(self, text: bytes, /) -> bool:
        if self._socket is None or self._tail or self._gate.held or len(text) > DIRECT_LIMIT:
            return False
        if self._closing is not None or self._ended is not None:
            return False  # `send` raises the reason
        return self._send_octets(self._socket, frame_text(text, self._masks.next()))

    def send_joined_now(self, batch: Sequence[bytes], /) -> bool:
        if (
            self._socket is None
            or self._tail
            or self._gate.held
            or self._closing is not None
            or self._ended is not None
        ):
            return False
        return self._send_octets(self._socket, self._framed(batch))

    def _framed(self, batch: Sequence[bytes]) -> bytes:
        return b"".join([frame_text(text, self._masks.next()) for text in batch])

    def _send_octets(self, raw: socket.socket, octets: bytes) -> bool:
        sent = _send_some(raw, octets)
        if sent == len(octets):
            return True
        self._tail = octets[sent:] if sent else b""
        return sent > 0

    @property
    def unsent(self) -> bool:
        return bool(self._tail)

    def statistics(self) -> WebSocketStatistics:
        """Return the counts so far; messages are counted by the session above."""
        ended = None if self._ended is None else getattr(self._ended, "reason", "protocol_error")
        return WebSocketStatistics(
            dropped_after_close=self.dropped_after_close,
            unsent_bytes=len(self._tail),
            ended=ended,
        )

    async def wait_writable(self) -> None:
        """Wait until a write might not block."""
        await self.stream.wait_send_all_might_not_block()

    async def write(self, octets: bytes) -> None:
        """Write whole WebSocket frames of any writer through the gate. Raises trio.BrokenResourceError."""
        async with self._gate:
            if self._poisoned:
                raise trio.BrokenResourceError("an earlier write was cut in the middle of a frame")
            octets, self._tail = self._tail + octets, b""
            if self._socket is not None and octets:
                octets = octets[_send_some(self._socket, octets) :]
            if octets:
                try:
                    await self.stream.send_all(octets)
                except BaseException:
                    self._poisoned = True  # a part of it may have been sent
                    raise

    def _check_open(self) -> None:
        if self._closing is not None:
            raise self.end("closed", "The link was closed here.")
        if self._ended is not None:
            raise self.again()

    # ── the end ──────────────────────────────────────────────────────────────────────────────────────────────────────

    async def aclose(self, code: int = 1000) -> None:
        """End the link, with this WebSocket close code."""
        if self._closing is not None:
            await self._closing.wait()
            return
        self._closing = trio.Event()
        try:
            if self._websocket is not None and not self._poisoned:
                with trio.move_on_after(self._close_timeout, shield=True):
                    await self.close_politely(self._websocket, code)
        finally:
            with trio.CancelScope(shield=True):
                await self.shut_stream()
            self._protocol_scope.cancel()
            self._closing.set()

    async def close_politely(self, websocket: trio_websocket.WebSocketConnection, code: int) -> None:
        """Do the close handshake; the caller bounds it and closes by force afterwards."""
        try:
            await websocket.aclose(code)
        except Exception as error:  # noqa: BLE001 - the stream is closed by force next
            log.debug("the close handshake failed: %s", type(error).__name__)
        async with self._gate:  # a close frame that answers the peer's may still be in the gate
            pass

    async def shut_stream(self) -> None:
        """Close the stream without a close frame, and wake every task that waits on it. Idempotent."""
        if self._socket is not None:
            self._socket.detach()
            self._socket = None
        await trio.aclose_forcefully(self.stream)

    def end(self, reason: str, text: str, close_code: int | None = None) -> ConnectionLost | RemoteProtocolError:
        """Note why the link ended, if that is not known already; return the reason as a fresh exception."""
        if self._ended is None:
            self._ended = ConnectionLost(text, reason=reason, close_code=close_code)
        return self.again()

    def end_by_peer(self, code: int | None) -> ConnectionLost | RemoteProtocolError:
        """Note that the peer ended the link, with the code of its close frame or None without one."""
        if self._closing is not None:
            return self.end("closed", "The link was closed here.")
        if code is None:
            text = "The browser ended the connection without a close frame, which is its normal way"
            return self.end("peer_closed", f"{text}; if it still runs, connect to it again.", 1006)
        text = f"The browser closed the connection with code {code}; if it still runs, connect to it again."
        return self.end("peer_closed", text, code)

    async def end_by_violation(self, violation: Violation) -> ConnectionLost | RemoteProtocolError:
        """End the link with the close code of a protocol violation."""
        self._ended = RemoteProtocolError(
            f"The peer broke the WebSocket protocol: {violation.text}; "
            f"the connection was closed with code {violation.code}.",
            close_code=violation.code,
            command_id=violation.command_id,
        )
        await self.aclose(violation.code)
        return self.again()

    def again(self) -> ConnectionLost | RemoteProtocolError:
        """Return the reason of the end as a fresh exception.

        One instance that is raised often would grow a traceback without end.
        """
        ended = self._ended
        assert ended is not None
        if isinstance(ended, RemoteProtocolError):
            return RemoteProtocolError(str(ended), close_code=ended.close_code, command_id=ended.command_id)
        return ConnectionLost(str(ended), reason=ended.reason, close_code=ended.close_code)


def _send_some(raw: socket.socket, octets: bytes) -> int:
    """Send what the kernel takes at once; on an error nothing, since the stream then raises trio's own."""
    try:
        return raw.send(octets)
    except OSError:
        return 0


class _Gate:
    """A lock for one writer at a time, in the order of asking.

    It is handed from one writer to the next, and never free in between. trio.Lock does as much, and costs more; here
    two tasks meet only now and then, over a pong.
    """

    def __init__(self) -> None:
        self.held = False
        self._lot = trio.lowlevel.ParkingLot()

    async def __aenter__(self) -> None:
        if self.held:
            await self._lot.park()  # the task that wakes us leaves it held, for us
        self.held = True

    async def __aexit__(self, *_exc: object) -> None:
        if self._lot:
            self._lot.unpark()
        else:
            self.held = False


class _MaskPool:
    """Masks of four unpredictable bytes (RFC 6455, 5.3), drawn from the system in larger portions.

    This is not a generator: an interrupt in the middle of one would end it for ever.
    """

    def __init__(self) -> None:
        self._pool: list[bytes] = []

    def next(self) -> bytes:
        if not self._pool:
            drawn = os.urandom(1024)
            self._pool = [drawn[start : start + 4] for start in range(0, len(drawn), 4)]
        return self._pool.pop()
