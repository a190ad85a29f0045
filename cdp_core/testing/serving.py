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
from typing import Final

import attrs
import h11
import trio
import trio_websocket

from cdp_core.errors import InvalidArgument
from cdp_core.scopes import background_tasks
from cdp_core.testing.fake.browser import ClientEnd, FakeBrowser
from cdp_core.testing.http_rules import MAX_BODY_BYTES, MAX_HEAD_BYTES, HttpRequest, Upgrade, answer

__all__ = ["FakeEndpoint", "FakeServer", "RealClock", "open_server", "serve_fake_browser", "tell"]

LOOPBACK: Final = "127.0.0.1"
MAX_BACKLOG_BYTES: Final = 64 << 20
"""What waits for a client that does not read."""
LONGEST_READ: Final = 256 << 20
"""Far beyond what the fake itself refuses, so that it is the fake who judges."""
LINGER: Final = 1.0
"""How long a client may take to read what was said before the end."""
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
    fake: FakeBrowser | None = None, /, *, port: int = 0, control: bool = False
) -> AsyncGenerator[FakeEndpoint, None]:
    """Serve a fake browser on this machine for the body; port 0 is any that is free.

    With `control`, clients may also ask and tell the fake what a browser has no words for, under `/fake/`.

    Raises OSError where the port is taken, InvalidArgument where it is none.
    """
    async with open_server(FakeBrowser() if fake is None else fake, port=port, control=control) as server:
        yield server.endpoint


@asynccontextmanager
async def open_server(fake: FakeBrowser, *, port: int, control: bool) -> AsyncGenerator[FakeServer, None]:
    """The same, for who wants to know when the browser was closed."""
    if type(port) is not int or not 0 <= port < 1 << 16:
        raise InvalidArgument(f"A port is a number from 0 to 65535, not {port!r}.")
    [listener] = await trio.open_tcp_listeners(port, host=LOOPBACK)
    async with background_tasks() as nursery:
        server = FakeServer(fake, listener, control=control)
        nursery.start_soon(server.clock.run)
        nursery.start_soon(server.listen)
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
        looks = self._fake._world.on_time
        looks.append(self._look_again)
        try:
            while True:
                self.catch_up()
                due = self._fake.next_time()
                self._changed = trio.Event()
                with trio.move_on_at(math.inf if due is None else self._begun + due):
                    await self._changed.wait()
        finally:
            looks.remove(self._look_again)

    def catch_up(self) -> None:
        """Let the time pass that has passed; what was let pass by hand has passed too."""
        elapsed = trio.current_time() - self._begun
        if elapsed > self._fake.now:
            self._advancing = True
            self._fake.advance(elapsed)
            self._advancing = False
        else:
            self._begun -= self._fake.now - elapsed

    def _look_again(self) -> None:
        if not self._advancing:  # the clock itself knows what it has done
            self._changed.set()


# ── telling a client ─────────────────────────────────────────────────────────────────────────────────────────────────


async def tell(end: ClientEnd, write: Callable[[list[bytes]], Awaitable[None]]) -> None:
    """Write to a client all that there is for it, until its connection has ended; then all was written.

    Who does not read is cut off when too much waits.
    """
    await _Outbox(end, write).run()


class _Outbox:
    """What one client is told next: it is taken when it arises, so that it can be counted."""

    def __init__(self, end: ClientEnd, write: Callable[[list[bytes]], Awaitable[None]]) -> None:
        self._end = end
        self._write = write
        self._waiting: list[bytes] = []
        self._size = 0
        self._arrived, self._filled = trio.Event(), trio.Event()
        self._complete = False
        end.on_message(self._wake)

    async def run(self) -> None:
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
        while self._end.connected or self._end.ready():
            self._arrived = trio.Event()
            texts = self._end.drain()
            self._waiting += texts
            self._size += sum(map(len, texts))
            self._filled.set()
            if self._size > MAX_BACKLOG_BYTES:
                self._end.lost()
                writing.cancel()
            if self._end.connected:
                await self._arrived.wait()
        self._complete = True
        self._filled.set()

    def _wake(self) -> None:
        self._arrived.set()


# ── the endpoint ─────────────────────────────────────────────────────────────────────────────────────────────────────


class FakeServer:
    """One listening port."""

    def __init__(self, fake: FakeBrowser, listener: trio.SocketListener, *, control: bool) -> None:
        self.fake = fake
        self.clock = RealClock(fake)
        self._closed = trio.Event()
        self._speaking = 0
        self._silent = trio.Event()
        self._listener = listener
        self._port: int = listener.socket.getsockname()[1]
        self._control = control
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

    async def listen(self) -> None:
        """Attend to whoever comes. When the browser is closed nobody can, but to ask the fake where that was wanted."""
        with self._listening:
            await trio.serve_listeners(self._attend, [self._listener])

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
        end = self.fake.connect(granted.path)
        wire = _Wire(stream, granted, early)
        self._speaking += 1
        try:
            async with background_tasks() as nursery:
                request = await trio_websocket.wrap_server_stream(
                    nursery, wire, max_message_size=LONGEST_READ, receive_buffer_size=_CHUNK
                )
                websocket = await request.accept()
                nursery.start_soon(self._tell, end, wire, nursery.cancel_scope)
                with suppress(trio_websocket.ConnectionClosed):
                    while isinstance(text := await websocket.get_message(), str):
                        self.clock.catch_up()
                        end.receive(text.encode())
        finally:
            end.lost()
            self._speaking -= 1
            self._silent.set()

    async def _tell(self, end: ClientEnd, wire: _Wire, speaking: trio.CancelScope) -> None:
        async def write(texts: list[bytes]) -> None:
            await wire.write(b"".join(map(_framed, texts)))

        await tell(end, write)
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
        self._replay = (
            b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n" + early
        )
        self._turn = trio.Lock()

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        if self._replay:
            await trio.lowlevel.checkpoint()
            replay, self._replay = self._replay, b""
            return replay
        return bytes(await self._stream.receive_some(max_bytes or _CHUNK))

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        octets, self._granted = self._granted or bytes(data), b""
        await self.write(_CLOSE_ANSWER if octets.startswith(_CLOSE) else octets)

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
