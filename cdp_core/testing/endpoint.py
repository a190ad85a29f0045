"""A fake browser at a real address: HTTP and WebSocket on one port of this machine, for any client.

    async with serve_fake_browser(FakeBrowser()) as endpoint:
        async with open_browser_session(endpoint.ws_url) as browser: ...

The port behaves as Chromium's does: `http_rules` decides the HTTP answers, `websocket_peer` reads the octets of a
WebSocket, and

* a link ends without a close frame, whichever side ends it: 1006 is the normal close code (fact 58). Only a close frame
  from the client is answered, always with 1000;
* a message that is not text ends the link without a close frame (fact 53), and so does a text of 100 MiB (fact 57);
* a connection that sends nothing stays open, and one that does not read delays no other: its messages are kept, up to
  `MAX_BACKLOG_BYTES`, and then its link breaks.

Virtual time follows the real clock from the moment of serving. If the test advances virtual time, the clock continues
from there.

A script that cannot be played is a mistake in the test: the block raises InvalidArgument.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from typing import Final, Protocol

import attrs
import h11
import trio

from cdp_core.errors import InvalidArgument
from cdp_core.nurseries import background_tasks
from cdp_core.testing.byte_stream import ByteStream
from cdp_core.testing.fake.browser import FakeBrowser
from cdp_core.testing.http_rules import MAX_BODY_BYTES, MAX_HEAD_BYTES, HttpRequest, Upgrade, answer
from cdp_core.testing.served_client import ORDERS, Order, RealClock, ServedClient, Write
from cdp_core.testing.websocket_peer import EndReason, WebSocketPeer

LOOPBACK: Final = "127.0.0.1"
LINGER: Final = 1.0
"""Seconds for a client to read the last messages after the end of its link."""
_CHUNK: Final = 1 << 16
_REQUEST_START: Final = re.compile(rb"[\r\n]*[A-Za-z]{0,15}( .*)?", re.DOTALL)
"""The possible first bytes of an HTTP request."""
_REQUEST_START_BYTES: Final = 16
_BROKEN: Final = (trio.BrokenResourceError, trio.ClosedResourceError)


@attrs.frozen
class FakeEndpoint:
    """The addresses of a served fake browser, and the fake browser itself."""

    ws_url: str
    http_url: str
    fake: FakeBrowser


@asynccontextmanager
async def serve_fake_browser(
    fake: FakeBrowser | None = None, /, *, port: int = 0, control: bool = False, order: Order = "arising"
) -> AsyncGenerator[FakeEndpoint, None]:
    """Serve a fake browser on this machine while the block runs; port 0 takes any free port.

    With `control`, clients can inspect and control the fake browser under `/fake/` (http_rules.py). `order` is the order in
    which messages may reach a client; the seed of the fake browser decides where it leaves a choice.

    Raises OSError if the port is taken, InvalidArgument if the port or the order is invalid.
    """
    async with open_server(FakeBrowser() if fake is None else fake, port=port, control=control, order=order) as server:
        yield server.endpoint


class ConnectedClient(Protocol):
    """What the server calls for each connected client."""

    @property
    def stream(self) -> ByteStream:
        """The faults of its byte stream: they decide in which pieces it is written to."""
        ...

    def receive(self, text: bytes, /) -> None:
        """Take a message from the client."""

    def lost(self) -> None:
        """Note that the client has disconnected. Idempotent."""

    async def send_messages(self) -> None:
        """Write the messages for the client until its connection has ended."""


Join = Callable[[Write, str], ConnectedClient]
"""Makes the `ConnectedClient` of a new WebSocket from a function that writes to it and the path it connected to."""


@asynccontextmanager
async def open_server(
    fake: FakeBrowser, *, port: int, control: bool, order: Order = "arising", join: Join | None = None
) -> AsyncGenerator[FakeServer, None]:
    """Serve a fake browser as `serve_fake_browser` does; yield the server itself.

    With `join`, the caller connects the clients and lets virtual time pass: the server runs no clock.
    """
    if type(port) is not int or not 0 <= port < 1 << 16:
        raise InvalidArgument(f"port must be a number from 0 to 65535, not {port!r}.")
    if order not in ORDERS:
        raise InvalidArgument(f"order must be one of {', '.join(ORDERS)}, not {order!r}.")
    [listener] = await trio.open_tcp_listeners(port, host=LOOPBACK)
    async with background_tasks() as nursery:
        clock = RealClock(fake) if join is None else None
        if clock is not None:
            nursery.start_soon(clock.run)
        server = FakeServer(fake, listener, clock, control=control, join=join or _default_join(fake, clock, order))
        nursery.start_soon(server.listen, nursery)
        yield server


def _default_join(fake: FakeBrowser, clock: RealClock | None, order: Order) -> Join:
    def join(write: Write, path: str) -> ConnectedClient:
        assert clock is not None
        return ServedClient(fake, clock, write, path=path, order=order)

    return join


# ── the endpoint ─────────────────────────────────────────────────────────────────────────────────────────────────────


class FakeServer:
    """One listening port."""

    def __init__(
        self, fake: FakeBrowser, listener: trio.SocketListener, clock: RealClock | None, *, control: bool, join: Join
    ) -> None:
        self.fake = fake
        self.connections = 0
        self.ended: Counter[EndReason] = Counter()
        """How many WebSockets ended for each reason on the client's side."""
        self._clock = clock
        self._join = join
        self._closed = trio.Event()
        self._open_links = 0
        self._link_closed = trio.Event()
        self._listener = listener
        self._port: int = listener.socket.getsockname()[1]
        self._control = control
        self._http_scopes: set[trio.CancelScope] = set()
        self._listen_scope = trio.CancelScope()

    @property
    def endpoint(self) -> FakeEndpoint:
        at = f"{LOOPBACK}:{self._port}"
        return FakeEndpoint(f"ws://{at}{self.fake.path}", f"http://{at}", self.fake)

    @property
    def port(self) -> int:
        return self._port

    async def wait_ended(self) -> None:
        """Wait until a client has closed the browser and every client was sent its last messages."""
        await self._closed.wait()
        with trio.move_on_after(2 * LINGER):
            while self._open_links:
                self._link_closed = trio.Event()
                await self._link_closed.wait()

    def stop_listening(self) -> None:
        """Accept no more connections."""
        self._listen_scope.cancel()

    async def listen(self, nursery: trio.Nursery) -> None:
        """Serve connections until `stop_listening`, or, without `control`, until the browser is closed."""
        with self._listen_scope:
            await trio.serve_listeners(self._handle_connection, [self._listener], handler_nursery=nursery)

    async def _handle_connection(self, stream: trio.SocketStream) -> None:
        try:
            with suppress(*_BROKEN):
                granted = await self._answer(stream)
                if granted is not None:
                    await self._serve_websocket(stream, *granted)
        finally:
            await trio.aclose_forcefully(stream)

    async def _answer(self, stream: trio.SocketStream) -> tuple[Upgrade, bytes] | None:
        """Answer HTTP requests until one opens a WebSocket; return that upgrade and the octets read beyond it."""
        http = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD_BYTES)
        with trio.CancelScope() as scope:
            self._http_scopes.add(scope)
            try:
                while (request := await _read_request(stream, http)) is not None:
                    if self._closed.is_set() and not request.path.startswith("/fake/"):
                        break
                    if self._clock is not None:
                        self._clock.catch_up()
                    answered = answer(self.fake, request, port=self._port, control=self._control)
                    if isinstance(answered, Upgrade):
                        return answered, http.trailing_data[0]
                    await stream.send_all(answered.octets)
                    if not _start_next_request(http):
                        await _wait_eof(stream)
                        break
            finally:
                self._http_scopes.discard(scope)
        return None

    async def _serve_websocket(self, stream: trio.SocketStream, granted: Upgrade, early: bytes) -> None:
        """Serve one WebSocket until it ends."""
        peer = WebSocketPeer(granted.deflate)
        wire = _Wire(stream, peer)
        client = self._join(wire.send_messages, granted.path)
        wire.pieces = client.stream.pieces
        self._open_links += 1
        self.connections += 1
        try:
            async with background_tasks() as nursery:
                # Cancel this scope, not the nursery's: that would cancel the code around the block too.
                with trio.CancelScope() as link_scope:
                    await wire.write(granted.octets)
                    nursery.start_soon(self._send_until_end, client, wire, link_scope)
                    with suppress(*_BROKEN):
                        await self._read_messages(client, stream, wire, peer, early)
        finally:
            if peer.ended is not None:
                self.ended[peer.ended] += 1
            client.lost()
            self._open_links -= 1
            self._link_closed.set()

    async def _read_messages(
        self, client: ConnectedClient, stream: trio.SocketStream, wire: _Wire, peer: WebSocketPeer, early: bytes
    ) -> None:
        octets = early or await stream.receive_some(_CHUNK)
        while octets:
            for text in peer.receive(bytes(octets)):
                client.receive(text)
            answer = peer.take_answer()
            if answer:
                await wire.write(answer)
            if peer.ended is not None:
                return
            octets = await stream.receive_some(_CHUNK)

    async def _send_until_end(self, client: ConnectedClient, wire: _Wire, link_scope: trio.CancelScope) -> None:
        await client.send_messages()
        if self.fake._world.closed and not self._closed.is_set():
            self._closed.set()
            for http_scope in self._http_scopes if not self._control else ():
                http_scope.cancel()
            if not self._control:
                self._listen_scope.cancel()
        # Closing with unread octets resets the connection, and the client loses messages that it has not read yet.
        with suppress(*_BROKEN):
            await wire.end()
            await trio.sleep(LINGER)  # the reader task ends the block when the client disconnects
        link_scope.cancel()


async def _read_request(stream: trio.abc.Stream, http: h11.Connection) -> HttpRequest | None:
    """Read the next request with its body; return None at the end, or if the octets are not a request."""
    head, body = h11.Request(method=b"GET", target=b"/", headers=[("Host", "")]), bytearray()
    opening = b""
    try:
        while len(body) <= MAX_BODY_BYTES:
            event = http.next_event()
            if event is h11.NEED_DATA:
                chunk = bytes(await stream.receive_some(_CHUNK))
                opening = (opening + chunk)[:_REQUEST_START_BYTES]
                if not _REQUEST_START.fullmatch(opening):  # for example TLS: h11 would wait for the end of a line
                    break
                http.receive_data(chunk)
            elif isinstance(event, h11.Request):
                head = event
                if head.http_version != b"1.1":
                    break
            elif isinstance(event, h11.Data):
                body += event.data
            elif isinstance(event, h11.EndOfMessage):
                return HttpRequest(
                    method=head.method.decode("ascii"),
                    target=head.target.decode("ascii"),
                    headers={name.decode("ascii"): value.decode("latin-1") for name, value in head.headers},
                    body=bytes(body),
                )
            else:
                break
    except h11.RemoteProtocolError:
        pass
    return None


def _start_next_request(http: h11.Connection) -> bool:
    """Mark the request as answered in h11; return whether the connection may carry another one."""
    http.send(h11.Response(status_code=404, headers=[("Content-Length", "0")]))
    http.send(h11.EndOfMessage())
    if http.our_state is not h11.DONE:
        return False
    http.start_next_cycle()
    return True


async def _wait_eof(stream: trio.abc.Stream) -> None:
    while await stream.receive_some(_CHUNK):
        pass


class _Wire:
    """The socket of one client; frames are written whole."""

    def __init__(self, stream: trio.SocketStream, peer: WebSocketPeer) -> None:
        self._stream = stream
        self._peer = peer
        self._lock = trio.Lock()
        self.pieces: Callable[[list[bytes]], Iterable[bytes]] = ByteStream((), 1).pieces

    async def send_messages(self, texts: list[bytes]) -> None:
        async with self._lock:
            for piece in self.pieces([*map(self._peer.frame, texts)]):
                await self._stream.send_all(piece)

    async def write(self, octets: bytes) -> None:
        async with self._lock:
            await self._stream.send_all(octets)

    async def end(self) -> None:
        """End the sending direction without a close frame."""
        async with self._lock:
            await self._stream.send_eof()
