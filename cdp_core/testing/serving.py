"""A fake browser at a real address: HTTP and WebSocket on one port of this machine, for any client of any kind.

    async with serve_fake_browser(FakeBrowser()) as endpoint:
        async with open_browser_session(endpoint.ws_url) as browser: ...

What a client can tell from Chromium's own port is as Chromium has it: what HTTP is answered with is decided in
`http_rules`; a WebSocket then is, below the fake's messages, trio-websocket's, over a stream that first replays what was
already read, and

* a link ends without a close frame, whoever's doing it is: 1006 is the normal end (fact 58). Only a client's own close
  frame is answered, always with 1000;
* what is no text ends the link without a word (fact 53), and so does a text of 100 MiB (fact 57);
* a connection that says nothing is left alone, and one that does not read delays nobody: what waits for it is kept, up
  to `MAX_BACKLOG_BYTES`, and then its link breaks.

Virtual time follows the real clock, from the moment of serving. Where time was let pass by hand, the clock goes on from
there.

A script that cannot be played is its author's mistake: InvalidArgument leaves the block.
"""

from __future__ import annotations

import math
import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final, Literal

import attrs
import h11
import trio
import trio_websocket

from cdp_core.errors import InvalidArgument
from cdp_core.scopes import background_tasks
from cdp_core.testing.fake.browser import FakeBrowser
from cdp_core.testing.fake.streams import Edges
from cdp_core.testing.http_rules import MAX_BODY_BYTES, MAX_HEAD_BYTES, HttpRequest, Upgrade, answer
from cdp_core.testing.pump import DeliveryOrder

__all__ = [
    "ORDERS",
    "FakeEndpoint",
    "FakeServer",
    "Order",
    "RealClock",
    "ServedClient",
    "open_server",
    "serve_fake_browser",
]

LOOPBACK: Final = "127.0.0.1"
MAX_BACKLOG_BYTES: Final = 64 << 20
"""What waits for a client that does not read."""
LONGEST_READ: Final = 256 << 20
"""Far beyond what the fake itself refuses, so that it is the fake who judges."""
LINGER: Final = 1.0
"""How long a client may take to read what was said before the end."""
PATIENCE: Final = 1.0
"""How long a schedule waits for a client that sends nothing of what it wants first."""
_CHUNK: Final = 1 << 16
_OPENING: Final = re.compile(rb"[\r\n]*[A-Za-z]{0,15}( .*)?", re.DOTALL)
"""How a request begins."""
_OPENING_BYTES: Final = 16
_CLOSE: Final = b"\x88"
_CLOSE_ANSWER: Final = b"\x88\x02\x03\xe8"
_GONE: Final = (trio.BrokenResourceError, trio.ClosedResourceError)


@attrs.frozen
class FakeEndpoint:
    """Where a fake browser can be reached, and the fake itself."""

    ws_url: str
    http_url: str
    fake: FakeBrowser


@asynccontextmanager
async def serve_fake_browser(
    fake: FakeBrowser | None = None, /, *, port: int = 0, control: bool = False, order: Order = "arising"
) -> AsyncGenerator[FakeEndpoint, None]:
    """Serve a fake browser on this machine for the body; port 0 is any that is free.

    With `control`, clients may also ask and tell the fake what a browser has no words for, under `/fake/`. `order` is how
    messages may cross over on their way to a client: by chance, which the fake's seed decides.

    Raises OSError where the port is taken, InvalidArgument where it is none.
    """
    async with open_server(FakeBrowser() if fake is None else fake, port=port, control=control, order=order) as server:
        yield server.endpoint


@asynccontextmanager
async def open_server(
    fake: FakeBrowser, *, port: int, control: bool, order: Order = "arising"
) -> AsyncGenerator[FakeServer, None]:
    """The same, for who wants to know when the browser was closed."""
    if type(port) is not int or not 0 <= port < 1 << 16:
        raise InvalidArgument(f"A port is a number from 0 to 65535, not {port!r}.")
    if order not in ORDERS:
        raise InvalidArgument(f"{order!r} is no order; there are {', '.join(ORDERS)}.")
    [listener] = await trio.open_tcp_listeners(port, host=LOOPBACK)
    async with background_tasks() as nursery:
        server = FakeServer(fake, listener, control=control, order=order)
        nursery.start_soon(server.clock.run)
        nursery.start_soon(server.listen, nursery)
        yield server


# ── time ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


class RealClock:
    """Lets a fake's virtual time follow trio's."""

    def __init__(self, fake: FakeBrowser) -> None:
        self._fake = fake
        self._begun = trio.current_time() - fake.now
        self._changed = trio.Event()
        self._advancing = False

    async def run(self) -> None:
        """Let happen what is due, when it is due."""
        clocks = self._fake._world.clocks
        clocks.append(self)
        try:
            while True:
                self.catch_up()
                due = self._fake.next_time()
                self._changed = trio.Event()
                with trio.move_on_at(math.inf if due is None else self._begun + due):
                    await self._changed.wait()
        finally:
            clocks.remove(self)

    def catch_up(self) -> None:
        """Let the time pass that has passed; what was let pass by hand has passed too."""
        elapsed = trio.current_time() - self._begun
        if elapsed > self._fake.now:
            self._advancing = True
            self._fake.advance(elapsed)
            self._advancing = False
        else:
            self._begun -= self._fake.now - elapsed

    def look_again(self) -> None:
        """See Clock."""
        if not self._advancing:  # the clock itself knows what it has done
            self._changed.set()


# ── one client ───────────────────────────────────────────────────────────────────────────────────────────────────────

Order = Literal["arising", "legal", "hostile"]
ORDERS: Final[tuple[Order, ...]] = ("arising", "legal", "hostile")
"""In which order a client is told things: as they arise, or as they may cross over on their way, as far as was ever seen
of a browser, or as far as could be at all."""


class ServedClient:
    """One client and its link: what it sends goes to the fake at its time, and what there is for it is written to it.

    Messages are taken when they may be delivered, so that they can be counted: who does not read is cut off when too much
    waits. A schedule of the fake's is enforced, as long as the client sends what it wants first.
    """

    def __init__(
        self,
        fake: FakeBrowser,
        clock: RealClock,
        write: Callable[[list[bytes]], Awaitable[None]],
        *,
        path: str | None = None,
        order: Order = "arising",
    ) -> None:
        self._clock = clock
        self._write = write
        edges: Edges = "causal" if order == "hostile" else "observed"
        self._end = fake.connect(path) if order == "arising" else fake.connect(path, edges=edges)
        seed = None if order == "arising" else fake.seed + self._end.number
        self._order = DeliveryOrder(self._end, seed=seed)
        self._waiting: list[bytes] = []
        self._size = 0
        self._arrived, self._filled = trio.Event(), trio.Event()
        self._complete = False
        self._end.on_message(self._wake)

    def receive(self, text: bytes) -> None:
        """The client sent a text."""
        self._clock.catch_up()
        self._order.sent(len(text))
        self._end.receive(text)
        self._wake()

    def lost(self) -> None:
        """The client has gone. Idempotent."""
        self._end.lost()

    async def tell(self) -> None:
        """Write what there is, until its connection has ended; then all was written."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._fill, nursery.cancel_scope)
            with suppress(*_GONE):
                while self._waiting or not self._complete:
                    if not self._waiting:
                        await self._filled.wait()
                    self._filled = trio.Event()
                    batch, self._waiting, self._size = self._waiting, [], 0
                    await self._write(batch)
            nursery.cancel_scope.cancel()

    async def _fill(self, writing: trio.CancelScope) -> None:
        while self._end.connected or self._end.first() is not None:
            self._arrived = trio.Event()
            texts = self._order.take()
            self._waiting += texts
            self._size += sum(map(len, texts))
            self._filled.set()
            if self._size > MAX_BACKLOG_BYTES:
                self._end.lost()
                writing.cancel()
            await self._wait_for_more()
        self._complete = True
        self._filled.set()

    async def _wait_for_more(self) -> None:
        if not self._order.waits_for_client:
            if self._end.connected and self._end.first() is None:
                await self._arrived.wait()
            return
        with trio.move_on_after(PATIENCE if self._end.connected else 0):
            await self._arrived.wait()
            return
        self._order.go_on()

    def _wake(self) -> None:
        self._arrived.set()


# ── the endpoint ─────────────────────────────────────────────────────────────────────────────────────────────────────


class FakeServer:
    """One listening port."""

    def __init__(self, fake: FakeBrowser, listener: trio.SocketListener, *, control: bool, order: Order) -> None:
        self.fake = fake
        self.clock = RealClock(fake)
        self._closed = trio.Event()
        self._speaking = 0
        self._silent = trio.Event()
        self._listener = listener
        self._port: int = listener.socket.getsockname()[1]
        self._control = control
        self._order: Order = order
        self._asking: set[trio.CancelScope] = set()
        self._listening = trio.CancelScope()

    @property
    def endpoint(self) -> FakeEndpoint:
        """Where it is reached."""
        at = f"{LOOPBACK}:{self._port}"
        return FakeEndpoint(f"ws://{at}{self.fake.path}", f"http://{at}", self.fake)

    async def wait_ended(self) -> None:
        """Until a client has closed the browser, and every client was told what it is to be told."""
        await self._closed.wait()
        with trio.move_on_after(2 * LINGER):
            while self._speaking:
                self._silent = trio.Event()
                await self._silent.wait()

    async def listen(self, nursery: trio.Nursery) -> None:
        """Attend to whoever comes. When the browser is closed nobody can, but to ask the fake where that was wanted."""
        with self._listening:
            await trio.serve_listeners(self._attend, [self._listener], handler_nursery=nursery)

    async def _attend(self, stream: trio.SocketStream) -> None:
        try:
            with suppress(*_GONE):
                granted = await self._answer(stream)
                if granted is not None:
                    await self._speak(stream, *granted)
        finally:
            await trio.aclose_forcefully(stream)

    async def _answer(self, stream: trio.SocketStream) -> tuple[Upgrade, bytes] | None:
        """Answer over HTTP, until a WebSocket is granted; with what has come of it already."""
        http = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD_BYTES)
        with trio.CancelScope() as scope:
            self._asking.add(scope)
            try:
                while (request := await _read_request(stream, http)) is not None:
                    if self._closed.is_set() and not request.path.startswith("/fake/"):
                        break
                    self.clock.catch_up()
                    said = answer(self.fake, request, port=self._port, control=self._control)
                    if isinstance(said, Upgrade):
                        return said, http.trailing_data[0]
                    await stream.send_all(said.octets)
                    if not _begin_again(http):
                        await _wait_eof(stream)
                        break
            finally:
                self._asking.discard(scope)
        return None

    async def _speak(self, stream: trio.SocketStream, granted: Upgrade, early: bytes) -> None:
        """Be the browser's side of a WebSocket until it ends."""
        wire = _Wire(stream, granted, early)
        client = ServedClient(self.fake, self.clock, wire.tell, path=granted.path, order=self._order)
        self._speaking += 1
        try:
            async with background_tasks() as nursery:
                # A scope of its own: what a nursery cancels in its own body would leave it, and end much more.
                with trio.CancelScope() as speaking:
                    request = await trio_websocket.wrap_server_stream(
                        nursery, wire, max_message_size=LONGEST_READ, receive_buffer_size=_CHUNK
                    )
                    websocket = await request.accept()
                    nursery.start_soon(self._tell, client, wire, speaking)
                    with suppress(trio_websocket.ConnectionClosed):
                        while isinstance(text := await websocket.get_message(), str):
                            client.receive(text.encode())
        finally:
            client.lost()
            self._speaking -= 1
            self._silent.set()

    async def _tell(self, client: ServedClient, wire: _Wire, speaking: trio.CancelScope) -> None:
        await client.tell()
        if self.fake._world.closed and not self._closed.is_set():
            self._closed.set()
            for asking in self._asking if not self._control else ():
                asking.cancel()
            if not self._control:
                self._listening.cancel()
        # What was not read here would break the connection before the client has read what was said.
        with suppress(*_GONE):
            await wire.end()
            await trio.sleep(LINGER)  # the reader ends all this when the client has gone
        speaking.cancel()


async def _read_request(stream: trio.abc.Stream, http: h11.Connection) -> HttpRequest | None:
    """The next request with its body; None at the end, and where what came is none."""
    head, body = h11.Request(method=b"GET", target=b"/", headers=[("Host", "")]), bytearray()
    opening = b""
    try:
        while len(body) <= MAX_BODY_BYTES:
            event = http.next_event()
            if event is h11.NEED_DATA:
                chunk = bytes(await stream.receive_some(_CHUNK))
                opening = (opening + chunk)[:_OPENING_BYTES]
                if not _OPENING.fullmatch(opening):  # of TLS, say: the parser would wait for the end of a line
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


def _begin_again(http: h11.Connection) -> bool:
    """Tell the parser that the request was answered; whether another may come on this connection."""
    http.send(h11.Response(status_code=404, headers=[("Content-Length", "0")]))
    http.send(h11.EndOfMessage())
    if http.our_state is not h11.DONE:
        return False
    http.start_next_cycle()
    return True


async def _wait_eof(stream: trio.abc.Stream) -> None:
    while await stream.receive_some(_CHUNK):
        pass


def _framed(text: bytes) -> bytes:
    """One text as a frame of a server."""
    length = len(text)
    if length < 126:
        return bytes((0x81, length)) + text
    if length < 1 << 16:
        return b"\x81\x7e" + length.to_bytes(2, "big") + text
    return b"\x81\x7f" + length.to_bytes(8, "big") + text


class _Wire(trio.abc.Stream):
    """The socket as trio-websocket sees it: the request comes once more, in the form that it knows.

    Its answer to the request, and to a close frame, go out as Chromium writes them.
    """

    def __init__(self, stream: trio.SocketStream, granted: Upgrade, early: bytes) -> None:
        self._stream = stream
        self._granted = granted.octets
        self._request = (
            b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
        )
        self._early = early
        self._turn = trio.Lock()
        self._answered = trio.Event()

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        if self._request:
            await trio.lowlevel.checkpoint()
            request, self._request = self._request, b""
            return request
        await self._answered.wait()  # what comes with its request, trio-websocket loses
        if self._early:
            early, self._early = self._early, b""
            return early
        return bytes(await self._stream.receive_some(max_bytes or _CHUNK))

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        octets, self._granted = self._granted or bytes(data), b""
        await self.write(_CLOSE_ANSWER if octets.startswith(_CLOSE) else octets)
        self._answered.set()

    async def tell(self, texts: list[bytes]) -> None:
        """Send texts."""
        await self.write(b"".join(map(_framed, texts)))

    async def write(self, octets: bytes) -> None:
        """Send what is no answer of trio-websocket's."""
        async with self._turn:
            await self._stream.send_all(octets)

    async def end(self) -> None:
        """Say that nothing more will come, without a close frame."""
        async with self._turn:
            await self._stream.send_eof()

    async def wait_send_all_might_not_block(self) -> None:
        await self._stream.wait_send_all_might_not_block()

    async def aclose(self) -> None:
        await self._stream.aclose()
