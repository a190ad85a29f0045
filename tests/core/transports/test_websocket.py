"""The WebSocket link against servers on loopback: correct, faulty, silent, slow, or gone.

Each test runs for every way to build the link: the socket read directly, the stream path, TLS, and plain
trio-websocket, which is the reference. The server parses what it receives with wsproto, not with our own frame code.
"""

from __future__ import annotations

import base64
import hashlib
import random
import re
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import attrs
import pytest
import trio
import trio_websocket
import trustme
from trio.testing import wait_all_tasks_blocked
from wsproto.connection import Connection, ConnectionType
from wsproto.events import CloseConnection, Pong, TextMessage

from cdp_core import ConnectionLost, DiscoveryError, InvalidArgument, RemoteProtocolError, open_browser_session
from cdp_core.nurseries import leaf_exceptions
from cdp_core.sansio.addresses import parse_address
from cdp_core.transports import DirectTransport
from cdp_core.transports.tuning import READ_BYTES
from cdp_core.transports.websocket import fast
from cdp_core.transports.websocket.connection import WebSocketOptions, WebSocketTransport
from cdp_core.transports.websocket.fast import FastWebSocketTransport
from cdp_core.transports.websocket.open import open_websocket
from support.plain_websocket import PlainWebSocketTransport

SECRET = "s3cr3t-t0ken"
PATH = f"/devtools/browser/{SECRET}"
SOON = 0.2
"""Seconds: the timeout in tests with a peer that never answers, so that the whole timeout passes."""
GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def accept_key(request: bytes) -> bytes:
    (line,) = (line for line in request.split(b"\r\n") if line.lower().startswith(b"sec-websocket-key:"))
    return base64.b64encode(hashlib.sha1(line.split(b":")[1].strip() + GUID).digest())


def upgrade(request: bytes) -> bytes:
    return (
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "
        + accept_key(request)
        + b"\r\n\r\n"
    )


def frame(payload: bytes, opcode: int = 0x1, *, first: int | None = None) -> bytes:
    """Return one WebSocket frame of a server; `first` replaces its first byte."""
    head = bytes([0x80 | opcode if first is None else first])
    if len(payload) < 126:
        return head + bytes([len(payload)]) + payload
    if len(payload) < 1 << 16:
        return head + b"\x7e" + len(payload).to_bytes(2, "big") + payload
    return head + b"\x7f" + len(payload).to_bytes(8, "big") + payload


def close_frame(code: int | None) -> bytes:
    return frame(b"" if code is None else code.to_bytes(2, "big"), 0x8)


class Peer:
    """The server's side of one connection."""

    def __init__(self, stream: trio.abc.Stream, raw: trio.SocketStream) -> None:
        self.stream, self.raw = stream, raw
        self.request = b""
        self.events: list[Any] = []
        self.done = trio.Event()
        self._wire = Connection(ConnectionType.SERVER)
        self._text = ""

    async def read_request(self) -> None:
        while not self.request.endswith(b"\r\n\r\n"):
            data = await self.stream.receive_some()
            if not data:
                raise trio.BrokenResourceError
            self.request += data

    async def accept(self, more: bytes = b"") -> None:
        await self.read_request()
        await self.send_bytes(upgrade(self.request) + more)

    async def send_bytes(self, octets: bytes) -> None:
        await self.stream.send_all(octets)

    async def read_chunk(self) -> bool:
        """Read one chunk; return False at the end of the stream."""
        data = bytes(await self.stream.receive_some(1 << 20))
        if not data:
            return False
        self._wire.receive_data(data)
        for event in self._wire.events():
            if isinstance(event, TextMessage):
                self._text += event.data
                if event.message_finished:
                    self.events.append(self._text)
                    self._text = ""
            else:
                self.events.append(event)
        return True

    async def read_until(self, kind: type, count: int = 1) -> None:
        while sum(isinstance(event, kind) for event in self.events) < count and await self.read_chunk():
            pass

    async def read_to_end(self) -> None:
        while await self.read_chunk():
            pass

    def texts(self) -> list[str]:
        return [event for event in self.events if isinstance(event, str)]

    def close_code(self) -> int | None:
        codes = [event.code for event in self.events if isinstance(event, CloseConnection)]
        return codes[0] if codes else None

    def half_a_message(self) -> bool:
        return bool(self._text)

    def reset(self) -> None:
        self.raw.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


Script = Callable[[Peer], Awaitable[object]]


@attrs.frozen(kw_only=True)
class Link:
    """One way to build the link."""

    name: str
    kind: type[WebSocketTransport]
    direct: bool
    tls: bool
    client: ssl.SSLContext
    server: ssl.SSLContext

    @asynccontextmanager
    async def serving(self, script: Script) -> AsyncIterator[tuple[str, list[Peer]]]:
        (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
        peers: list[Peer] = []

        async def serve(raw: trio.SocketStream) -> None:
            stream: trio.abc.Stream = raw
            if self.tls:
                stream = trio.SSLStream(raw, self.server, server_side=True, https_compatible=True)
            peers.append(peer := Peer(stream, raw))
            try:
                await script(peer)
            except trio.BrokenResourceError:
                pass
            finally:
                peer.done.set()
                await trio.aclose_forcefully(stream)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.serve_listeners, serve, [listener])
            port = listener.socket.getsockname()[1]
            yield f"{'wss' if self.tls else 'ws'}://127.0.0.1:{port}{PATH}", peers
            with trio.fail_after(5):
                for peer in peers:
                    await peer.done.wait()  # the client closed the connection, or the script ended
            nursery.cancel_scope.cancel()

    @asynccontextmanager
    async def open(self, script: Script, **options: Any) -> AsyncIterator[tuple[WebSocketTransport, Peer]]:
        defaults: dict[str, Any] = {"close_timeout": 5.0, "handshake_timeout": 5.0}
        context = self.client if self.tls else None
        with trio.fail_after(20):
            async with (
                self.serving(script) as (address, peers),
                open_websocket(
                    address, kind=self.kind, direct=self.direct, ssl_context=context, **{**defaults, **options}
                ) as transport,
            ):
                yield transport, peers[0]


@pytest.fixture(scope="session")
def contexts() -> tuple[ssl.SSLContext, ssl.SSLContext]:
    authority = trustme.CA()
    client, server = ssl.create_default_context(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.configure_trust(client)
    authority.issue_cert("127.0.0.1").configure_cert(server)
    return client, server


LINKS = {
    "direct": {"kind": FastWebSocketTransport, "direct": True, "tls": False},
    "stream": {"kind": FastWebSocketTransport, "direct": False, "tls": False},
    "tls": {"kind": FastWebSocketTransport, "direct": True, "tls": True},
    "plain": {"kind": PlainWebSocketTransport, "direct": False, "tls": False},
    "plain-tls": {"kind": PlainWebSocketTransport, "direct": False, "tls": True},
}


@pytest.fixture(params=LINKS)
def link(request: pytest.FixtureRequest, contexts: tuple[ssl.SSLContext, ssl.SSLContext]) -> Link:
    return Link(name=request.param, client=contexts[0], server=contexts[1], **LINKS[request.param])


only_fast = pytest.mark.parametrize("link", ["direct", "stream", "tls"], indirect=True)
only_direct = pytest.mark.parametrize("link", ["direct"], indirect=True)


async def receive(transport: WebSocketTransport, count: int) -> list[bytes]:
    messages: list[bytes] = []
    while len(messages) < count:
        messages += map(bytes, await transport.receive())
    return messages


async def lost(call: Callable[[], Awaitable[object]]) -> ConnectionLost:
    with pytest.raises(ConnectionLost) as caught:
        await call()
    return caught.value


# ── the handshake ────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_messages_pass_both_ways(link: Link) -> None:
    async def echo(peer: Peer) -> None:
        await peer.accept()
        await peer.read_until(str, 2)
        for text in peer.texts():
            await peer.send_bytes(frame(text.encode()))
        await peer.read_until(CloseConnection)
        await peer.send_bytes(close_frame(1000))
        await peer.read_to_end()

    async with link.open(echo, headers={"X-Token": "t"}) as (transport, peer):
        await transport.send([b'{"id":1}', '{"text":"žluť"}'.encode()])
        assert await receive(transport, 2) == [b'{"id":1}', '{"text":"žluť"}'.encode()]
        await transport.aclose()
        assert peer.close_code() == 1000
    assert f"GET {PATH} HTTP/1.1".encode() in peer.request
    assert b"x-token: t" in peer.request.lower()
    assert b"origin:" not in peer.request.lower()  # Chromium refuses foreign origins (fact 61)
    assert b"extensions" not in peer.request.lower()  # compression is never offered


@only_fast
async def test_every_frame_has_its_own_random_mask(link: Link) -> None:
    """A page that could predict the mask could choose the bytes on the wire (RFC 6455, 10.3)."""
    text, count, received_bytes = b'{"id":1}', 600, bytearray()
    size = 2 + 4 + len(text)

    async def script(peer: Peer) -> None:
        await peer.accept()
        while len(received_bytes) < count * size:
            received_bytes.extend(await peer.stream.receive_some())
        all_received.set()
        await peer.read_to_end()

    all_received = trio.Event()
    async with link.open(script, close_timeout=SOON) as (transport, _peer):
        for _ in range(count):
            await transport.send([text])
        await all_received.wait()
    masks = {bytes(received_bytes[place + 2 : place + 6]) for place in range(0, count * size, size)}
    assert len(masks) > count - 3  # two masks of four bytes may be equal by chance


async def close_after_request(peer: Peer) -> None:
    await peer.read_request()


async def half_a_101(peer: Peer) -> None:
    await peer.read_request()
    await peer.send_bytes(upgrade(peer.request)[:60])


async def half_a_101_and_wait(peer: Peer) -> None:
    await half_a_101(peer)
    await peer.read_to_end()


async def never_answer(peer: Peer) -> None:
    while await peer.stream.receive_some():
        pass


async def ssh(peer: Peer) -> None:
    await peer.send_bytes(b"SSH-2.0-OpenSSH_9.2\r\n")
    await never_answer(peer)


async def reset_connection(peer: Peer) -> None:
    await peer.read_request()
    peer.reset()


async def wrong_accept(peer: Peer) -> None:
    await peer.read_request()
    await peer.send_bytes(upgrade(peer.request).replace(accept_key(peer.request), b"x" * 28))
    await never_answer(peer)


async def no_upgrade(peer: Peer) -> None:
    await peer.read_request()
    await peer.send_bytes(upgrade(peer.request).replace(b"Upgrade: websocket\r\n", b""))
    await never_answer(peer)


def answering(status: str, rest: bytes = b"\r\n", version: str = "1.1") -> Script:
    async def script(peer: Peer) -> None:
        await peer.read_request()
        await peer.send_bytes(f"HTTP/{version} {status}\r\n".encode() + rest)
        await never_answer(peer)

    return script


ANSWERED = {
    close_after_request: "end",
    half_a_101: "end",
    reset_connection: "end",
    never_answer: "silence",
    half_a_101_and_wait: "silence",
}


@pytest.mark.parametrize(
    ("script", "status", "text"),
    [
        (close_after_request, None, "closed the connection in the middle"),
        (half_a_101, None, "closed the connection in the middle"),
        (half_a_101_and_wait, None, "within 0.2 s"),
        (never_answer, None, "within 0.2 s"),
        (ssh, None, "did not answer the WebSocket handshake as HTTP demands"),
        (reset_connection, None, "connection"),
        (wrong_accept, None, "did not answer the WebSocket handshake as HTTP demands"),
        (no_upgrade, None, "did not answer the WebSocket handshake as HTTP demands"),
        (answering("403 Forbidden", b"Content-Length: 2\r\n\r\nno"), 403, "send no Origin header"),
        (answering("404 Not Found", b"Content-Length: 0\r\n\r\n"), 404, "the path is wrong"),
        (answering("401 Unauthorized", b"Content-Length: 1\r\n\r\nx"), 401, "credentials"),
        (answering("410 Gone", b"Content-Length: 1\r\n\r\nx"), 410, "has ended"),
        (
            answering("302 Found", b"Location: http://a/\r\nContent-Length: 0\r\n\r\n"),
            302,
            "redirects are not followed",
        ),
        (answering("200 OK", b"Content-Length: 2\r\n\r\nok"), 200, "a page is served there"),
        (answering("502 Bad Gateway", b"Content-Length: 0\r\n\r\n"), 502, "cannot reach it"),
        (answering("418 Teapot", b"Content-Length: 0\r\n\r\n"), 418, "check that it is a browser"),
        (answering("403 Forbidden", b"Content-Length: 0\r\n\r\n", "1.0"), 403, "send no Origin header"),
    ],
)
async def test_a_failed_handshake_names_its_cause(link: Link, script: Script, status: int | None, text: str) -> None:
    with trio.fail_after(5):
        async with link.serving(script) as (address, peers):
            with pytest.raises(DiscoveryError) as caught:
                async with open_websocket(
                    address, kind=link.kind, direct=link.direct, ssl_context=link.client, handshake_timeout=SOON
                ):
                    raise AssertionError
            error = caught.value
            assert (error.stage, error.status) == ("upgrade", status)
            # Plain trio-websocket waits for the end of a head that never comes; its error comes from the deadline.
            assert text in str(error) or (
                script is ssh and link.kind is PlainWebSocketTransport and "within 0.2 s" in str(error)
            )
            assert SECRET not in str(error) + error.address
            too_late = "within 0.2 s (handshake_timeout)" in str(error)
            assert error.answered == ("http" if status else "silence" if too_late else ANSWERED.get(script, "other"))
            assert re.search(r"; \w.*(browser|origins|address|headers|ended|moment)", str(error)), (
                "the error gives no advice"
            )
            assert len(peers) == 1


@only_fast
async def test_an_upgrade_needs_http_1_1(link: Link) -> None:
    async with link.serving(answering("101 Switching Protocols", b"Upgrade: websocket\r\n\r\n", "1.0")) as (address, _):
        with pytest.raises(DiscoveryError, match="as HTTP demands"):
            async with open_websocket(address, direct=link.direct, ssl_context=link.client):
                raise AssertionError


@pytest.mark.parametrize(
    "headers",
    [
        {"X-A": "a\r\nX-B: b"},
        {"X-A": "é"},
        {"X-A": "漢"},
        {"X-A": 5},
        {"X-A": None},
        {"X-A": b"a"},
        {5: "a"},
        {"X A": "a"},
        {"": "a"},
        {"Upgrade": "x"},
        {"connection": "close"},
        {"Sec-WebSocket-Key": "x"},
        {"sec-websocket-extensions": "permessage-deflate"},
        {"Content-Length": "0"},
        {"X-A": "1", "x-a": "2"},
        "X-A: a",
        [("X-A", "a")],
    ],
)
async def test_invalid_headers_are_refused_before_connecting(headers: Any) -> None:
    """Over ws:// and over http://."""
    accepted: list[object] = []

    async def accept(stream: trio.SocketStream) -> None:
        accepted.append(stream)
        await stream.aclose()

    (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    port = listener.socket.getsockname()[1]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.serve_listeners, accept, [listener])
        for scheme in ("ws", "http"):
            with pytest.raises(InvalidArgument, match="eader") as caught:
                async with open_browser_session(f"{scheme}://127.0.0.1:{port}", headers=headers):
                    raise AssertionError
            assert "é" not in str(caught.value)
        with pytest.raises(InvalidArgument):
            async with open_websocket(f"ws://127.0.0.1:{port}", headers=headers):
                raise AssertionError
        await trio.sleep(0.02)
        nursery.cancel_scope.cancel()
    assert not accepted


async def test_a_given_host_header_replaces_the_default(link: Link) -> None:
    async def script(peer: Peer) -> None:
        await peer.accept()
        await peer.read_to_end()

    async with link.open(script, headers={"host": "localhost:1"}, close_timeout=SOON) as (_transport, peer):
        pass
    lines = peer.request.lower().split(b"\r\n")
    assert [line for line in lines if line.startswith(b"host:")] == [b"host: localhost:1"]


@only_fast
@pytest.mark.parametrize(
    "rest", [b"\r\nno end is told", b"Content-Length: 99\r\n\r\nx", b"Transfer-Encoding: chunked\r\n\r\n"]
)
async def test_a_refusal_with_an_endless_body_is_reported_at_once(link: Link, rest: bytes) -> None:
    """trio-websocket would wait for the whole body, which may never come."""
    with trio.fail_after(4):
        async with link.serving(answering("500 Internal Server Error", rest)) as (address, _peers):
            with pytest.raises(DiscoveryError) as caught:
                async with open_websocket(address, direct=link.direct, ssl_context=link.client):
                    raise AssertionError
            assert caught.value.status == 500


async def test_a_cancelled_handshake_closes_the_connection(link: Link) -> None:
    async with link.serving(never_answer) as (address, peers):
        with trio.move_on_after(SOON) as scope:
            async with open_websocket(address, kind=link.kind, direct=link.direct, ssl_context=link.client):
                raise AssertionError
        assert scope.cancelled_caught
        with trio.fail_after(5):
            await peers[0].done.wait()


async def test_the_exception_of_the_body_is_not_wrapped(link: Link) -> None:
    async def script(peer: Peer) -> None:
        await peer.accept()
        await peer.read_until(CloseConnection)

    error = KeyError("body")
    async with link.serving(script) as (address, _peers):
        with pytest.raises(KeyError) as caught:
            async with open_websocket(
                address, kind=link.kind, direct=link.direct, ssl_context=link.client, close_timeout=SOON
            ):
                raise error
        assert caught.value is error


@pytest.mark.parametrize("option", ["handshake_timeout", "close_timeout", "max_message_bytes"])
async def test_invalid_options_are_refused(link: Link, option: str) -> None:
    async with link.serving(never_answer) as (address, _peers):
        with pytest.raises(InvalidArgument):
            async with open_websocket(
                address,
                direct=link.direct,
                ssl_context=link.client,
                **{option: 0},  # type: ignore[arg-type]
            ):
                raise AssertionError
    with pytest.raises(InvalidArgument):
        async with open_websocket("http://127.0.0.1:1"):
            raise AssertionError


async def test_the_101_and_the_first_frames_in_one_chunk(link: Link) -> None:
    async def script(peer: Peer) -> None:
        await peer.accept(frame(b"1") + frame(b"ping", 0x9) + frame(b"2") + frame(b"3")[:2])
        await peer.send_bytes(b"3")
        await peer.read_until(Pong)

    async with link.open(script, close_timeout=SOON) as (transport, peer):
        assert await receive(transport, 3) == [b"1", b"2", b"3"]
        await peer.done.wait()
    assert any(isinstance(event, Pong) and event.payload == b"ping" for event in peer.events)


async def test_a_stream_that_arrives_byte_by_byte_is_read(link: Link) -> None:
    async def script(peer: Peer) -> None:
        await peer.read_request()
        peer.raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for octet in upgrade(peer.request) + frame(b"first") + frame(b"p", 0x9) + frame(b"x" * 130) + close_frame(1001):
            await peer.send_bytes(bytes([octet]))
            await trio.lowlevel.checkpoint()
        await peer.read_to_end()

    async with link.open(script) as (transport, peer):
        assert await receive(transport, 2) == [b"first", b"x" * 130]
        assert (await lost(transport.receive)).close_code == 1001
    assert [type(event) for event in peer.events] == [Pong, CloseConnection]


# ── pings ────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_ping_in_a_flood_of_messages_is_answered(link: Link) -> None:
    async def script(peer: Peer) -> None:
        await peer.accept()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(peer.read_until, Pong)
            for start in range(0, 3000, 100):
                await peer.send_bytes(b"".join(frame(b"%d" % number) for number in range(start, start + 100)))
                if start == 1000:
                    await peer.send_bytes(frame(b"alive?", 0x9))
        await peer.send_bytes(frame(b"answered"))
        await peer.read_to_end()

    async with link.open(script, close_timeout=SOON) as (transport, peer):
        assert await receive(transport, 3001) == [b"%d" % number for number in range(3000)] + [b"answered"]
    assert [event.payload for event in peer.events if isinstance(event, Pong)] == [b"alive?"]


@only_fast
async def test_a_flood_of_pings_is_bounded_and_delays_no_message(link: Link) -> None:
    """The peer reads no pong: the message after the flood is received, and at most one ping waits."""

    async def script(peer: Peer) -> None:
        await peer.accept()
        for number in range(200):
            await peer.send_bytes(b"".join(frame(b"%d-%d" % (number, place) + b"." * 100, 0x9) for place in range(100)))
        await peer.send_bytes(frame(b"after"))
        await peer.read_until(Pong)
        while not (isinstance(peer.events[-1], Pong) and peer.events[-1].payload.startswith(b"199-99.")):
            assert await peer.read_chunk()

    async with link.open(script, close_timeout=SOON) as (transport, peer):
        assert await receive(transport, 1) == [b"after"]
        assert isinstance(transport, FastWebSocketTransport)
        assert len(transport._tap._controls) <= 1
        await peer.done.wait()
    pongs = [tuple(map(int, event.payload.rstrip(b".").split(b"-"))) for event in peer.events]
    assert pongs == sorted(pongs)


# ── the peer ends it ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("code", "expected"), [(1000, 1000), (1001, 1001), (4321, 4321), (None, 1005)])
async def test_the_peer_closes(link: Link, code: int | None, expected: int) -> None:
    async def script(peer: Peer) -> None:
        await peer.accept(frame(b"1") + close_frame(code))
        await peer.read_to_end()

    async with link.open(script) as (transport, peer):
        assert await receive(transport, 1) == [b"1"]
        for _ in range(2):
            error = await lost(transport.receive)
            assert (error.reason, error.close_code) == ("peer_closed", expected)
        await transport.aclose()
        await peer.done.wait()
    assert isinstance(peer.events[0], CloseConnection)  # answered, as the protocol demands


async def test_the_peer_ends_without_a_close_frame(link: Link) -> None:
    """Chromium normally ends a link like this (fact 58)."""

    async def script(peer: Peer) -> None:
        await peer.accept(frame(b"1") + frame(b"half a message")[:5])

    async with link.open(script) as (transport, peer):
        assert await receive(transport, 1) == [b"1"]
        await peer.done.wait()
        error = await lost(transport.receive)
        assert (error.reason, error.close_code) == ("peer_closed", 1006)


async def test_a_reset_by_the_peer_ends_the_link(link: Link) -> None:
    async def script(peer: Peer) -> None:
        await peer.accept(frame(b"1"))
        await peer.read_until(str)
        peer.reset()

    async with link.open(script) as (transport, peer):
        assert await receive(transport, 1) == [b"1"]
        await transport.send([b"now"])
        error = await lost(transport.receive)
        assert error.reason in ("broken", "peer_closed")
        assert error.close_code == 1006
        await peer.done.wait()
        with pytest.raises((ConnectionLost, trio.BrokenResourceError, trio.ClosedResourceError)):
            while True:
                await transport.send([b"x"])


@pytest.mark.parametrize("direct", [True, False])
async def test_messages_before_a_reset_are_received(direct: bool) -> None:
    """The reset is read in a wake-up that has already read messages."""
    texts = [b"%020d" % number + b"x" * 1000 for number in range(64)]
    assert sum(len(frame(text)) for text in texts) == READ_BYTES  # a full read, so the link reads again at once
    ours, theirs = socket.socketpair()
    with theirs:
        stream = trio.SocketStream(trio.socket.from_stdlib_socket(ours))
        options = WebSocketOptions(max_message_bytes=1 << 20, close_timeout=SOON, direct=direct)
        transport = FastWebSocketTransport(stream, parse_address("ws://127.0.0.1:1/"), options)
        await stream.send_all(b"never read, which makes a reset of the close")
        theirs.sendall(b"".join(map(frame, texts)))
    got: list[bytes] = []
    with pytest.raises(ConnectionLost) as caught:
        while True:
            got += map(bytes, await transport.receive())
    assert caught.value.close_code == 1006
    assert got == texts
    assert transport.statistics().ended == caught.value.reason
    await transport.aclose()


# ── the peer breaks the protocol ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("octets", "code"),
    [
        (frame(b"x" * 2000), 1009),
        (frame(b"x" * 900, first=0x01) + frame(b"x" * 900, first=0x80), 1009),
        (frame(b"\x00\x01", 0x2), 1003),
        (frame(b"\xff\xfe"), 1007),
        (frame(b"\xed\xa0\x80"), 1007),
        (b"\x81\x81\x00\x00\x00\x00x", 1002),
        (frame(b"x", first=0xC1), 1002),
        (frame(b"x", first=0x80), 1002),
        (frame(b"x", first=0x83), 1002),
        (frame(b"x", first=0x09), 1002),
        (b"\x81\x7f" + (1 << 63).to_bytes(8, "big"), 1002),
        (close_frame(1005), 1002),
        (close_frame(999), 1002),
        (frame(b"\x03", 0x8), 1002),
        (frame(b"\x03\xe8\xff", 0x8), 1007),
    ],
)
async def test_a_protocol_fault_is_reported_and_ends_the_link(link: Link, octets: bytes, code: int) -> None:
    async def script(peer: Peer) -> None:
        await peer.accept(frame(b"1") + octets)
        await peer.read_to_end()

    async with link.open(script, max_message_bytes=1024, close_timeout=SOON) as (transport, peer):
        assert await receive(transport, 1) == [b"1"]
        for _ in range(2):
            with pytest.raises(RemoteProtocolError) as caught:
                await transport.receive()
            assert caught.value.close_code == code
        await peer.done.wait()
    assert peer.close_code() == code


@only_fast
@pytest.mark.parametrize("rest", ["", '{"id":7,"res', '{"id":7,"result":{"a":"' + "x" * 64])
@pytest.mark.parametrize("hangs_up", [False, True])
async def test_a_message_above_the_limit_reports_its_command_id(link: Link, rest: str, hangs_up: bool) -> None:
    """The id is read from the first bytes of the message, which may arrive with the header or after it."""

    async def script(peer: Peer) -> None:
        await peer.accept(b"\x81\x7f" + (1 << 40).to_bytes(8, "big"))
        await trio.sleep(0.01)
        for part in (rest[:5], rest[5:]):
            if part:
                await peer.send_bytes(part.encode())
        if not hangs_up:
            await peer.read_to_end()

    async with link.open(script, close_timeout=SOON) as (transport, _peer):
        with pytest.raises(RemoteProtocolError, match=str(1 << 40)) as caught:
            await transport.receive()
    assert caught.value.close_code == 1009
    assert caught.value.command_id == (7 if rest else None)
    assert "raise max_message_bytes" in str(caught.value)


@only_fast
async def test_a_message_above_the_limit_is_refused_at_its_header(link: Link) -> None:
    async def script(peer: Peer) -> None:
        await peer.accept(b"\x81\x7f" + (1 << 40).to_bytes(8, "big"))
        await peer.read_to_end()

    async with link.open(script, close_timeout=SOON) as (transport, peer):
        with pytest.raises(RemoteProtocolError, match=str(1 << 40)):
            await transport.receive()
        await peer.done.wait()
    assert peer.close_code() == 1009


# ── our own end ──────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_close_that_the_peer_never_answers_ends_at_its_timeout(link: Link) -> None:
    async def script(peer: Peer) -> None:
        await peer.accept()
        await peer.read_to_end()

    async with link.open(script, close_timeout=SOON) as (transport, peer):
        start = trio.current_time()
        await transport.aclose()
        assert SOON * 0.9 <= trio.current_time() - start < 2
        await peer.done.wait()
    assert peer.close_code() == 1000


async def test_concurrent_closes_wait_for_each_other(link: Link) -> None:
    """A second caller of `aclose` waits for the first; every waiting call ends."""

    async def script(peer: Peer) -> None:
        await peer.accept()
        await peer.read_until(CloseConnection)
        await answer.wait()
        await peer.send_bytes(close_frame(1000))
        await peer.read_to_end()

    answer = trio.Event()
    ends: list[str] = []
    async with link.open(script) as (transport, peer):

        async def close(name: str) -> None:
            await transport.aclose()
            ends.append(name)

        async def wait() -> None:
            ends.append((await lost(transport.receive)).reason)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait)
            await wait_all_tasks_blocked()
            nursery.start_soon(close, "one")
            nursery.start_soon(close, "two")
            await wait_all_tasks_blocked(0.01)
            assert {"one", "two"}.isdisjoint(ends)
            answer.set()
        assert sorted(ends) == ["closed", "one", "two"]
        await transport.aclose()
        assert (await lost(transport.receive)).reason == "closed"
        assert (await lost(lambda: transport.send([b"x"]))).reason == "closed"
        await peer.done.wait()
    assert [type(event) for event in peer.events] == [CloseConnection]


async def test_a_reset_during_our_close_is_reported_as_closed(link: Link) -> None:
    """The reason is still `closed`, even if the peer cuts the stream."""

    async def script(peer: Peer) -> None:
        await peer.accept()
        await peer.read_until(CloseConnection)
        peer.reset()

    async with link.open(script) as (transport, _peer), trio.open_nursery() as nursery:

        @nursery.start_soon
        async def _() -> None:
            error = await lost(transport.receive)
            assert (error.reason, error.close_code) == ("closed", None)

        await wait_all_tasks_blocked()
        await transport.aclose()


async def test_a_cancelled_close_still_closes(link: Link) -> None:
    async def script(peer: Peer) -> None:
        await peer.accept()
        await peer.read_to_end()

    async with link.open(script, close_timeout=SOON) as (transport, peer):
        with trio.CancelScope() as scope:
            scope.cancel()
            await transport.aclose()
        with trio.fail_after(5):
            await peer.done.wait()
        assert (await lost(transport.receive)).reason == "closed"


@only_fast
async def test_messages_after_our_close_are_counted_and_dropped(link: Link) -> None:
    async def script(peer: Peer) -> None:
        await peer.accept()
        await peer.read_until(CloseConnection)
        await peer.send_bytes(frame(b"1") + frame(b"2") + frame(b"3") + close_frame(1000))
        await peer.read_to_end()

    for receiving in (True, False):
        async with link.open(script) as (transport, _peer), trio.open_nursery() as nursery:
            if receiving:
                nursery.start_soon(lost, transport.receive)
                await wait_all_tasks_blocked()
            await transport.aclose()
            assert transport.statistics().dropped_after_close == 3


# ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_cut_write_poisons_the_link(link: Link) -> None:
    """Half a frame is sent: nothing may follow it, not even a close frame, and `aclose` does not wait."""

    async def script(peer: Peer) -> None:
        await peer.accept()
        await go_on.wait()
        await peer.read_to_end()

    go_on = trio.Event()
    async with link.open(script, close_timeout=10) as (transport, peer):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(transport.send, [b"x" * (20 << 20)])
            await wait_all_tasks_blocked(0.05)
            nursery.cancel_scope.cancel()
        with pytest.raises((trio.BrokenResourceError, ConnectionLost)):
            await transport.send([b"y"])
        start = trio.current_time()
        await transport.aclose()
        assert trio.current_time() - start < 2
        go_on.set()
        await peer.done.wait()
    assert not peer.events
    assert peer.half_a_message()


async def test_a_sender_that_waits_for_another_write_can_be_cancelled(link: Link) -> None:
    """The gate passes to the next sender when a waiting one is cancelled; the cancelled one sends nothing."""

    async def script(peer: Peer) -> None:
        await peer.accept()
        await go_on.wait()
        await peer.read_until(CloseConnection)
        await peer.send_bytes(close_frame(1000))

    go_on, gave_up = trio.Event(), trio.CancelScope()
    async with link.open(script) as (transport, peer):

        async def give_up() -> None:
            with gave_up:
                await transport.send([b"never"])

        async with trio.open_nursery() as nursery:
            nursery.start_soon(transport.send, [b"x" * (6 << 20)])
            await wait_all_tasks_blocked(0.03)
            nursery.start_soon(give_up)
            nursery.start_soon(transport.send, [b"sent"])
            await wait_all_tasks_blocked(0.01)
            assert not transport.send_now(b"no")
            gave_up.cancel()
            await wait_all_tasks_blocked(0.01)
            go_on.set()
        await transport.aclose()
        await peer.done.wait()
    assert [len(text) for text in peer.texts()] == [6 << 20, 4]
    assert peer.close_code() == 1000


@only_direct
async def test_a_partial_direct_write_is_finished_before_anything_else(link: Link) -> None:
    """Commands and a pong follow it: whole frames, in order."""

    async def script(peer: Peer) -> None:
        await peer.accept()
        await full.wait()
        await peer.send_bytes(frame(b"alive?", 0x9) + frame(b"go"))
        await go_on.wait()
        await peer.read_until(Pong)
        while len(peer.texts()) < len(sent):
            assert await peer.read_chunk()
        await peer.send_bytes(frame(b"seen"))
        await peer.read_to_end()

    full, go_on = trio.Event(), trio.Event()
    sent: list[bytes] = []
    async with link.open(script, close_timeout=SOON) as (transport, peer):
        assert isinstance(transport, DirectTransport)
        assert isinstance(transport.stream, trio.SocketStream)
        while not transport.unsent:
            text = b"%06d" % len(sent) + b"x" * 30_000
            if transport.send_now(text):
                sent.append(text)
            else:
                await peer.read_chunk()  # the buffer is full; a little room makes the next write a partial one
        assert not transport.send_now(b"no")
        full.set()
        assert await receive(transport, 1) == [b"go"]  # trio-websocket has received the ping
        await wait_all_tasks_blocked(0.01)
        async with trio.open_nursery() as nursery:
            sent += [b"a" * 70_000, b"b"]
            nursery.start_soon(transport.send, sent[-2:])
            await wait_all_tasks_blocked(0.01)
            assert not transport.send_now(b"no")
            go_on.set()
            assert await receive(transport, 1) == [b"seen"]
        assert not transport.unsent
    assert [text.encode() for text in peer.texts()] == sent
    assert [event.payload for event in peer.events if isinstance(event, Pong)] == [b"alive?"]


class ScriptedSocket:
    """A socket whose first reads return the given bytes or raise the given errors."""

    def __init__(self, raw: Any, *given: bytes | OSError) -> None:
        self._raw, self.given = raw, [*given]

    def recv(self, size: int) -> bytes:
        given = self.given.pop(0) if self.given else self._raw.recv(size)
        if isinstance(given, OSError):
            raise given
        return given

    def __getattr__(self, name: str) -> Any:
        return getattr(self._raw, name)


@only_direct
async def test_after_a_spurious_wake_up_the_link_waits_again(link: Link) -> None:
    async def script(peer: Peer) -> None:
        await peer.accept()
        await watched.wait()  # bytes that arrive with the handshake are not read from this socket
        await peer.send_bytes(frame(b"one"))
        await peer.read_to_end()

    watched = trio.Event()
    async with link.open(script, close_timeout=SOON) as (transport, _peer):
        spurious = transport._socket = ScriptedSocket(transport._socket, BlockingIOError())
        watched.set()
        assert await receive(transport, 1) == [b"one"]
        assert not spurious.given


@only_direct
async def test_the_available_part_of_a_large_message_is_read_in_one_wake_up(
    link: Link, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def script(peer: Peer) -> None:
        await peer.accept()
        await watched.wait()
        await peer.send_bytes(whole[READ_BYTES:])
        await peer.read_to_end()

    async def count_wait(raw: Any) -> None:
        waits.append(raw)
        await wait_readable(raw)

    watched, wait_readable, waits = trio.Event(), fast.wait_readable, list[Any]()
    text = b"x" * (READ_BYTES + 1000)
    whole = frame(text)
    async with link.open(script, close_timeout=SOON) as (transport, _peer):
        transport._socket = ScriptedSocket(transport._socket, whole[:READ_BYTES])
        monkeypatch.setattr(fast, "wait_readable", count_wait)
        watched.set()
        assert await receive(transport, 1) == [text]
        assert len(waits) == 1


@only_direct
@pytest.mark.parametrize("first", [0x81, 0x01], ids=["after a message", "after a fragment"])
async def test_a_reset_is_reported_as_broken(link: Link, first: int) -> None:
    async def script(peer: Peer) -> None:
        await peer.accept()
        await watched.wait()
        await peer.send_bytes(frame(b"whatever wakes the reader"))
        await peer.read_to_end()

    watched = trio.Event()
    text = b"x" * (READ_BYTES - 4)
    async with link.open(script, close_timeout=SOON) as (transport, _peer):
        whole = bytes((first, 126)) + len(text).to_bytes(2, "big") + text
        # The kernel reports a reset once, and after it the end of the stream.
        transport._socket = ScriptedSocket(transport._socket, whole, ConnectionResetError(), b"")
        watched.set()
        if first == 0x81:
            assert await receive(transport, 1) == [text]
        for _ in range(2):
            with pytest.raises(ConnectionLost) as lost:
                await transport.receive()
            assert lost.value.reason == "broken"


@only_direct
async def test_an_empty_send_finishes_a_partial_direct_write(link: Link) -> None:
    async def script(peer: Peer) -> None:
        await peer.accept()
        await go_on.wait()
        while len(peer.texts()) < count:
            assert await peer.read_chunk()

    go_on, count = trio.Event(), 0
    async with link.open(script, close_timeout=SOON) as (transport, peer):
        while not transport.unsent:
            if transport.send_now(b"x" * 60_000):
                count += 1
            else:
                await peer.read_chunk()
        go_on.set()
        await transport.send([])
        assert not transport.unsent
        await peer.done.wait()
    assert peer.texts() == ["x" * 60_000] * count


@only_direct
async def test_large_messages_and_messages_after_a_close_are_not_sent_directly(link: Link) -> None:
    async def script(peer: Peer) -> None:
        await peer.accept()
        await peer.read_until(CloseConnection)

    async with link.open(script, close_timeout=SOON) as (transport, peer):
        assert not transport.send_now(b"x" * (1 << 17))
        await transport.aclose()
        assert not transport.send_now(b"x")
    assert not peer.texts()


@only_direct
async def test_a_direct_write_does_not_overtake_a_waiting_sender(link: Link) -> None:
    async def script(peer: Peer) -> None:
        await peer.accept()
        while len(peer.texts()) < 2:
            assert await peer.read_chunk()

    async with link.open(script, close_timeout=SOON) as (transport, peer), trio.open_nursery() as nursery:
        async with transport._gate:
            nursery.start_soon(transport.send, [b"first"])
            await wait_all_tasks_blocked()
        # The gate is free, and the sender that waited for it has not run yet.
        assert not transport.send_now(b"second")
        assert not transport.send_joined_now([b"second"])
        await transport.send([b"second"])
        await peer.done.wait()
    assert peer.texts() == ["first", "second"]


@only_direct
async def test_several_messages_are_sent_directly_in_one_write(link: Link) -> None:
    async def script(peer: Peer) -> None:
        await peer.accept()
        while len(peer.texts()) < 3:
            assert await peer.read_chunk()

    async with link.open(script, close_timeout=SOON) as (transport, peer):
        assert transport.send_joined_now([b"a", b"b", b"c"])
        assert not transport.unsent
        await peer.done.wait()
        await transport.aclose()
        assert not transport.send_joined_now([b"d"])
    assert peer.texts() == ["a", "b", "c"]


@pytest.mark.parametrize("link", ["stream", "tls", "plain"], indirect=True)
async def test_links_without_a_direct_socket_refuse_direct_writes(link: Link) -> None:
    async def script(peer: Peer) -> None:
        await peer.accept()
        await peer.read_until(CloseConnection)

    async with link.open(script, close_timeout=SOON) as (transport, _peer):
        assert not transport.send_now(b"x")
        assert not transport.send_joined_now([b"x"])
        assert not transport.unsent


@pytest.mark.parametrize("link", ["direct", "tls"], indirect=True)
async def test_a_write_of_70_mb(link: Link) -> None:
    """The bytes are counted, not parsed: wsproto would take longer than the rest of this file."""
    size = 70 << 20
    received = 0

    async def script(peer: Peer) -> None:
        nonlocal received
        await peer.accept()
        while received < size + 14:
            received += len(await peer.stream.receive_some(1 << 20))
        await peer.send_bytes(frame(b"all"))
        await never_answer(peer)

    async with link.open(script, close_timeout=SOON) as (transport, _peer):
        await transport.send([b"x" * size])
        assert await receive(transport, 1) == [b"all"]
    assert received == size + 14


@pytest.mark.parametrize("megabytes", [1, 5, 30])
async def test_large_messages(link: Link, megabytes: int) -> None:
    """With small messages around them, a ping between the fragments of one, and the buffer used again."""
    large = random.Random(megabytes).randbytes(megabytes << 19).hex().encode()
    other = large[::-1]

    async def script(peer: Peer) -> None:
        await peer.accept(frame(b"before"))
        await peer.send_bytes(frame(large) + frame(b"between"))
        await peer.send_bytes(frame(other[:1000], first=0x01) + frame(b"p", 0x9) + frame(other[1000:], first=0x80))
        await peer.send_bytes(frame(other) + frame(b"behind"))
        await peer.read_until(Pong)

    async with link.open(script, close_timeout=SOON) as (transport, peer):
        got = await receive(transport, 6)
        await peer.done.wait()
    assert [len(message) for message in got] == [6, len(large), 7, len(large), len(large), 6]
    assert got == [b"before", large, b"between", other, other, b"behind"]


# ── trio-websocket without our link ──────────────────────────────────────────────────────────────────────────────────


async def connect_with_trio_websocket(address: str) -> None:
    async with trio.open_nursery() as nursery:
        stream = await trio.open_tcp_stream("127.0.0.1", parse_address(address).port)
        try:
            await trio_websocket.wrap_client_stream(nursery, stream, "127.0.0.1", "/")
        finally:
            await trio.aclose_forcefully(stream)


@only_direct
async def test_the_behaviours_of_trio_websocket_that_the_link_works_around(link: Link) -> None:
    """Three behaviours that `connection.py` works around. If one changes, that file can become simpler."""

    async def never_answers_the_close(peer: Peer) -> None:
        await peer.accept()
        await peer.read_to_end()

    async with link.serving(half_a_101) as (address, _peers):  # it waits for ever after EOF in the middle of the 101
        with trio.move_on_after(SOON) as scope:
            await connect_with_trio_websocket(address)
        assert scope.cancelled_caught
    async with link.serving(never_answers_the_close) as (
        address,
        _peers,
    ):  # it waits for ever for the answer to its close frame
        port = parse_address(address).port
        with trio.move_on_after(SOON) as scope:
            async with trio_websocket.open_websocket("127.0.0.1", port, "/", use_ssl=False):
                pass
        assert scope.cancelled_caught
    async with link.serving(answering("403 Forbidden", b"Content-Length: 0\r\n\r\n")) as (address, _peers):
        with pytest.raises(Exception, match=r".") as caught:  # its nursery wraps the error in a group
            await connect_with_trio_websocket(address)
        assert not isinstance(caught.value, trio_websocket.ConnectionRejected)
        assert any(isinstance(leaf, trio_websocket.ConnectionRejected) for leaf in leaf_exceptions(caught.value))
