"""`cdp_core.discovery` against real servers on loopback that answer correctly, wrongly, late or never."""

from __future__ import annotations

import json
import logging
import os
import socket
import ssl
import struct
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio
import trustme

from cdp_core.discovery import find_websocket, list_targets_http, open_stream
from cdp_core.errors import DiscoveryError, InvalidArgument
from cdp_core.sansio.addresses import parse_address

SECRET = "s3cr3t-t0ken"
PATH = f"/devtools/browser/{SECRET}"
VERSION = json.dumps({"Browser": "Chrome/156.0", "webSocketDebuggerUrl": f"ws://localhost{PATH}"}).encode()
SOON = 0.2
"""Seconds that the tests wait for a silent peer; short, since such a peer never answers."""

Serve = Callable[[trio.abc.Stream], Awaitable[None]]


@attrs.define
class Server:
    """A server on loopback: its port, its requests, and for each connection an event, set at its end."""

    port: int
    requests: list[bytes] = attrs.field(factory=list)
    ends: list[trio.Event] = attrs.field(factory=list)

    @property
    def connections(self) -> int:
        return len(self.ends)

    async def gone(self) -> None:
        """Wait until every client has closed its connection."""
        with trio.fail_after(5):
            for end in self.ends:
                await end.wait()


@asynccontextmanager
async def serving(serve: Serve | bytes, *, tls: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
    """Serve each connection with a function, or with an answer to one request."""
    (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    server = Server(listener.socket.getsockname()[1])

    async def handle(stream: trio.abc.Stream) -> None:
        end = trio.Event()
        server.ends.append(end)
        try:
            if tls is not None:
                stream = trio.SSLStream(stream, tls, server_side=True, https_compatible=True)
            if isinstance(serve, bytes):
                await answer(stream, serve, server.requests)
            else:
                await serve(stream)
        except trio.BrokenResourceError:
            pass
        finally:
            end.set()
            await trio.aclose_forcefully(stream)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.serve_listeners, handle, [listener])
        yield server
        nursery.cancel_scope.cancel()


async def answer(stream: trio.abc.Stream, octets: bytes, requests: list[bytes]) -> None:
    request = b""
    while not request.endswith(b"\r\n\r\n"):
        data = await stream.receive_some()
        if not data:
            return
        request += data
    requests.append(request)
    for start in range(0, min(len(octets), 2048), 7):  # in small portions, as a slow network brings them
        await stream.send_all(octets[start : min(start + 7, 2048)])
    await stream.send_all(octets[2048:])


async def silence(stream: trio.abc.Stream) -> None:
    while await stream.receive_some():
        pass


async def banner(stream: trio.abc.Stream) -> None:
    await stream.send_all(b"SSH-2.0-OpenSSH_9.2\r\n")
    await silence(stream)


async def half_a_head(stream: trio.abc.Stream) -> None:
    await stream.receive_some()
    await stream.send_all(b"HTTP/1.1 200 OK\r\nContent-Le")


async def half_a_body(stream: trio.abc.Stream) -> None:
    await stream.receive_some()
    await stream.send_all(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{")


async def a_head_and_silence(stream: trio.abc.Stream) -> None:
    await stream.receive_some()
    await stream.send_all(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{")
    await silence(stream)


async def reset(stream: trio.abc.Stream) -> None:
    assert isinstance(stream, trio.SocketStream)
    stream.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    await stream.receive_some()


async def goodbye(_stream: trio.abc.Stream) -> None:
    pass


def http(status: str, body: bytes = b"", *headers: str) -> bytes:
    head = "\r\n".join([f"HTTP/1.1 {status}", f"Content-Length:{len(body)}", *headers])
    return head.encode() + b"\r\n\r\n" + body


async def refusal(attempt: Callable[[], Awaitable[object]]) -> DiscoveryError:
    """Return the `DiscoveryError` of an attempt.

    Assert that its text ends as a sentence, and that no exception of its chain shows the secret.
    """
    with trio.fail_after(5), pytest.raises(DiscoveryError) as caught:
        await attempt()
    error = caught.value
    assert str(error).endswith(".")
    assert SECRET not in "".join(traceback.format_exception(type(error), error, error.__traceback__))
    assert SECRET not in repr(vars(error))
    link: BaseException | None = error
    while link is not None:
        assert SECRET not in f"{link!r}{link.__dict__}"
        link = link.__cause__ or link.__context__
    return error


@pytest.fixture
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def server_tls(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1", "localhost").configure_cert(context)
    return context


@pytest.fixture
def client_tls(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context


# ── addresses that need no connection ────────────────────────────────────────────────────────────────────────────────


async def test_a_websocket_address_needs_no_request() -> None:
    async with serving(http("200 OK", VERSION)) as server:
        url = f"ws://127.0.0.1:{server.port}{PATH}?token={SECRET}"
        assert (await find_websocket(url)).url == url
        assert server.connections == 0


@pytest.mark.parametrize("kind", ["file", "folder", "text"])
async def test_a_port_file_with_a_path_needs_no_request(tmp_path: Path, kind: str) -> None:
    async with serving(http("200 OK", VERSION)) as server:
        file = tmp_path / "DevToolsActivePort"
        file.write_text(f"{server.port}\n{PATH}")
        where = {"file": file, "folder": tmp_path, "text": str(tmp_path)}[kind]
        assert (await find_websocket(where)).url == f"ws://127.0.0.1:{server.port}{PATH}"
        assert server.connections == 0


async def test_a_path_may_begin_with_a_tilde(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    (tmp_path / "DevToolsActivePort").write_text("9222\n/x")
    assert await find_websocket("~") == await find_websocket(Path("~")) == parse_address("ws://127.0.0.1:9222/x")


async def test_a_path_object_is_a_file_even_if_named_like_an_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "localhost:9222").write_text("1\n/from-the-file")
    assert (await find_websocket(Path("localhost:9222"))).path == "/from-the-file"


# ── one GET ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_the_browser_receives_one_request() -> None:
    async with serving(http("200 OK", VERSION, "Content-Type:application/json; charset=UTF-8")) as server:
        found = await find_websocket(f"http://user:{SECRET}@127.0.0.1:{server.port}", headers={"X-Key": "7"})
        assert found.url == f"ws://user:{SECRET}@127.0.0.1:{server.port}{PATH}"
        await server.gone()
        assert server.connections == 1
        (request,) = server.requests
        assert request.startswith(b"GET /json/version HTTP/1.1\r\n")
        lines = request.lower().split(b"\r\n")
        assert b"host: 127.0.0.1:%d" % server.port in lines
        assert b"x-key: 7" in lines
        assert any(line.startswith(b"authorization: basic ") for line in lines)


async def test_a_given_host_header_is_sent() -> None:
    async with serving(http("200 OK", VERSION)) as server:
        await find_websocket(f"http://127.0.0.1:{server.port}", headers={"Host": "localhost"})
        await server.gone()
        lines = server.requests[0].lower().split(b"\r\n")
        assert [line for line in lines if line.startswith(b"host:")] == [b"host: localhost"]


@pytest.mark.parametrize("form", ["{}", ":{}", "127.0.0.1:{}", "localhost:{}", "http://127.0.0.1:{}/json/version"])
async def test_every_form_of_an_http_address_sends_a_request(form: str) -> None:
    async with serving(http("200 OK", VERSION)) as server:
        assert (await find_websocket(form.format(server.port))).target == PATH
        assert server.connections == 1


async def test_a_port_file_without_a_path_needs_a_request(tmp_path: Path) -> None:
    async with serving(http("200 OK", VERSION)) as server:
        (tmp_path / "DevToolsActivePort").write_text(f"{server.port}\n")
        assert (await find_websocket(tmp_path)).url == f"ws://127.0.0.1:{server.port}{PATH}"


@pytest.mark.parametrize(
    "octets",
    [
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n"
        + VERSION[:5]
        + b"\r\n%x\r\n" % (len(VERSION) - 5)
        + VERSION[5:]
        + b"\r\n0\r\n\r\n",
        b"HTTP/1.0 200 OK\r\n\r\n" + VERSION,
        b"HTTP/1.1 103 Early Hints\r\n\r\n" + http("200 OK", VERSION),
    ],
    ids=["chunked", "until the end", "informational first"],
)
async def test_every_form_of_an_http_answer_is_read(octets: bytes) -> None:
    async with serving(octets) as server:
        assert (await find_websocket(f"127.0.0.1:{server.port}")).target == PATH


async def test_the_list_of_targets_is_requested_and_read() -> None:
    body = json.dumps([{"id": "T", "type": "page", "webSocketDebuggerUrl": "ws://x/devtools/page/T"}]).encode()
    async with serving(http("200 OK", body)) as server:
        for where in (f"http://127.0.0.1:{server.port}", f"ws://127.0.0.1:{server.port}{PATH}"):
            (target,) = await list_targets_http(where, headers={"X-Key": "7"})
            assert target.websocket == parse_address(f"ws://127.0.0.1:{server.port}/devtools/page/T")
        assert all(request.startswith(b"GET /json/list HTTP/1.1\r\n") for request in server.requests)
        assert all(b"x-key: 7" in request.lower() for request in server.requests)


async def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(http("200 OK", VERSION)) as server, serving(http("502 Bad")) as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "https_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        await find_websocket(f"127.0.0.1:{server.port}")
        assert (server.connections, proxy.connections) == (1, 0)


CHROMIUM_500 = http("500 Internal Server Error", b"Host header is specified and is not an IP address or localhost.")


@pytest.mark.parametrize(
    ("serve", "stage", "status", "expected"),
    [
        (http("404 Not Found"), "http", 404, "DevToolsActivePort"),
        (CHROMIUM_500, "http", 500, "give the IP address"),
        (http("401 Unauthorized"), "http", 401, "refused access"),
        (
            http("302 Found", b"", f"Location: https://h.example/login?next={SECRET}"),
            "http",
            302,
            "https://h.example/login?next=…, and redirects are not followed",
        ),
        (http("200 OK", f"<html>{SECRET}".encode()), "http", None, "is not JSON"),
        (http("200 OK", b"{}"), "cdp", None, "names no webSocketDebuggerUrl"),
        (http("200 OK", b"x" * (2 << 20)), "http", None, "more than 1048576 bytes"),
        (http("500 Oops", b"x" * (2 << 20)), "http", None, "more than 1048576 bytes"),
        (f"HTTP/1.1 {SECRET}\r\n\r\n".encode(), "http", None, "does not speak HTTP"),
        (f"{SECRET}\r\n\r\n".encode(), "http", None, "does not speak HTTP"),
        (b"HTTP/1.1 200 OK\r\n" + b"x" * (1 << 20), "http", None, "does not speak HTTP"),
        (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", "http", None, "does not speak HTTP"),
        (banner, "http", None, "does not speak HTTP"),
        (goodbye, "http", None, "ended the connection before its answer"),
        (reset, "http", None, "ended the connection before its answer"),
        (half_a_head, "http", None, "ended the connection before its answer"),
        (half_a_body, "http", None, "ended the connection before its answer"),
        (silence, "http", None, "did not answer over HTTP within 0.2 s"),
        (a_head_and_silence, "http", None, "did not answer over HTTP within 0.2 s"),
    ],
)
async def test_a_bad_answer_is_explained(serve: Serve | bytes, stage: str, status: int | None, expected: str) -> None:
    waits = serve in (silence, a_head_and_silence)
    async with serving(serve) as server:
        where = f"http://user:{SECRET}@127.0.0.1:{server.port}?token={SECRET}"
        attempt = partial(find_websocket, where, connect_timeout=SOON if waits else 5, headers={"X-Key": SECRET})
        error = await refusal(attempt)
        assert (error.stage, error.status) == (stage, status)
        ended = "ended the connection" in expected
        assert error.answered == (
            "http" if status or "bytes" in expected else "silence" if waits else "end" if ended else "other"
        )
        assert "within" not in expected or "(connect_timeout)" in str(error)
        assert error.address == f"http://…@127.0.0.1:{server.port}/?token=…"
        assert error.address in str(error)
        assert expected in str(error)
        await server.gone()
        assert server.connections == 1


# ── addresses that cannot be read or reached ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("where", "shown"),
    [
        (f"localhost?token={SECRET}", "…"),
        (f"ws:/h/devtools/browser/{SECRET}", "…"),
        (f"/devtools/browser/{SECRET}", "…"),
        (f"//h/{SECRET}", "…"),
        (f"h/{SECRET}", "…"),
        (f"~{SECRET}", "…"),
        ("/no/such/folder", "/no/such/folder"),
        ("./no-such-folder", "./no-such-folder"),
        (Path("no-such-folder"), "no-such-folder"),
        ("/nul\0nul", "/nul\0nul"),
    ],
)
async def test_a_text_that_is_neither_address_nor_file_is_refused(where: str | Path, shown: str) -> None:
    error = await refusal(lambda: find_websocket(where))
    assert (error.stage, error.address) == ("address", shown)
    assert "is neither an address" in str(error)
    assert str(error).startswith("The given text" if shown == "…" else shown)


async def test_a_folder_without_a_port_file_is_refused(tmp_path: Path) -> None:
    error = await refusal(lambda: find_websocket(tmp_path))
    assert error.address == str(tmp_path)
    assert "No such file or directory" in str(error)


@pytest.mark.parametrize("octets", [b"", b"\xff\xfe\x00", b"9222\n" + SECRET.encode(), os.urandom(1 << 16)])
async def test_a_malformed_port_file_is_refused(tmp_path: Path, octets: bytes) -> None:
    file = tmp_path / "DevToolsActivePort"
    file.write_bytes(octets)
    error = await refusal(lambda: find_websocket(tmp_path))
    assert (error.stage, error.address) == ("address", str(file))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
async def test_a_port_file_that_cannot_be_read_in_time_is_refused(tmp_path: Path) -> None:
    fifo = tmp_path / "DevToolsActivePort"
    os.mkfifo(fifo)
    error = await refusal(lambda: find_websocket(tmp_path, connect_timeout=SOON))
    assert error.stage == "address"
    assert "could not be read within 0.2 s" in str(error)
    os.close(os.open(fifo, os.O_RDWR | os.O_NONBLOCK))  # lets the abandoned thread end


async def test_an_unreadable_address_is_refused() -> None:
    error = await refusal(lambda: find_websocket(f"ws://h:port/?token={SECRET}"))
    assert (error.stage, error.address) == ("address", "ws://…")


@pytest.mark.parametrize("where", [None, 9222, b"ws://h/"])
async def test_an_address_of_another_type_is_refused(where: Any) -> None:
    with pytest.raises(InvalidArgument, match=type(where).__name__):
        await find_websocket(where)


async def test_a_closed_port_is_reported() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"ws://127.0.0.1:{closed.getsockname()[1]}{PATH}"
        error = await refusal(lambda: open_stream(parse_address(url)))
    assert error.stage == "tcp"
    assert "Connection refused" in str(error)
    assert "debugging port" in str(error)


async def test_an_unreachable_host_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_args: object, **_options: object) -> None:
        raise OSError("no route that has a number")

    monkeypatch.setattr(trio, "open_tcp_stream", fail)
    error = await refusal(lambda: open_stream(parse_address("ws://h.example:1/")))
    assert error.stage == "tcp"
    assert "(no connection)" in str(error)
    assert "forwarded port" in str(error)


async def test_a_host_that_accepts_no_connection_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    async def hang(*_args: object, **_options: object) -> None:
        await trio.sleep_forever()

    monkeypatch.setattr(trio, "open_tcp_stream", hang)
    error = await refusal(lambda: open_stream(parse_address("ws://h.example:1/"), connect_timeout=SOON))
    assert error.stage == "tcp"
    assert "accepted no connection within 0.2 s" in str(error)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "h.example"])
async def test_only_a_link_to_this_machine_requests_a_larger_receive_buffer(
    monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    async def dial(_host: str, port: int) -> trio.SocketStream:
        return await open_tcp_stream("127.0.0.1", port)

    def buffer(stream: Any) -> int:
        size: int = stream.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)
        return size

    open_tcp_stream = trio.open_tcp_stream
    monkeypatch.setattr(trio, "open_tcp_stream", dial)
    async with (
        serving(silence) as server,
        await dial("", server.port) as usual,
        await open_stream(parse_address(f"ws://{host}:{server.port}/")) as stream,
    ):
        assert (buffer(stream) > buffer(usual)) is (host != "h.example")


async def test_a_refused_buffer_size_does_not_fail_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: object) -> None:
        raise OSError("no buffer space available")

    monkeypatch.setattr(trio.SocketStream, "setsockopt", refuse)
    async with serving(silence) as server, await open_stream(parse_address(f"ws://127.0.0.1:{server.port}/")):
        pass


async def test_a_name_that_does_not_resolve_is_reported() -> None:
    error = await refusal(lambda: find_websocket(f"http://nonexistent.invalid:9222/?token={SECRET}"))
    assert error.stage == "resolve"
    assert "nonexistent.invalid" in str(error)


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), 10**400, None, True, "1"])
async def test_an_invalid_connect_timeout_is_refused(seconds: Any) -> None:
    address = parse_address("ws://127.0.0.1:1/")
    for attempt in (
        partial(open_stream, address),
        partial(find_websocket, "ws://h/"),
        partial(list_targets_http, "ws://h/"),
    ):
        with pytest.raises(InvalidArgument, match="connect_timeout"):
            await attempt(connect_timeout=seconds)


# ── TLS ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_https_leads_to_wss(server_tls: ssl.SSLContext, client_tls: ssl.SSLContext) -> None:
    async with serving(http("200 OK", VERSION), tls=server_tls) as server:
        found = await find_websocket(f"https://localhost:{server.port}", ssl_context=client_tls)
        assert found.url == f"wss://localhost:{server.port}{PATH}"


async def test_an_untrusted_certificate_is_refused(server_tls: ssl.SSLContext) -> None:
    async with serving(http("200 OK", VERSION), tls=server_tls) as server:
        error = await refusal(lambda: find_websocket(f"https://127.0.0.1:{server.port}/?token={SECRET}"))
        assert error.stage == "tls"
        assert "not trusted" in str(error)
        assert "ssl_context" in str(error)
        await server.gone()


async def test_a_certificate_for_another_host_is_refused(authority: trustme.CA, client_tls: ssl.SSLContext) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("other.example").configure_cert(context)
    async with serving(silence, tls=context) as server:
        address = parse_address(f"wss://127.0.0.1:{server.port}{PATH}")
        error = await refusal(lambda: open_stream(address, ssl_context=client_tls))
        assert "not trusted" in str(error)
        assert "127.0.0.1" in str(error)


@pytest.mark.parametrize(
    ("serve", "expected"),
    [
        (banner, "failed the TLS handshake (wrong version number)"),
        (goodbye, "ended the connection during the TLS handshake"),
        (reset, "ended the connection during the TLS handshake"),
        (silence, "did not complete the TLS handshake within 0.2 s"),
    ],
)
async def test_a_peer_without_tls_is_reported(serve: Serve, expected: str) -> None:
    async with serving(serve) as server:
        address = parse_address(f"wss://127.0.0.1:{server.port}{PATH}")
        error = await refusal(lambda: open_stream(address, connect_timeout=SOON if serve is silence else 5))
        assert error.stage == "tls"
        assert expected in str(error)
        await server.gone()


async def test_http_to_a_tls_port_is_reported(server_tls: ssl.SSLContext) -> None:
    async with serving(silence, tls=server_tls) as server:
        error = await refusal(lambda: find_websocket(f"127.0.0.1:{server.port}", connect_timeout=SOON))
        assert error.stage == "http"


async def test_an_ssl_context_for_servers_is_refused(server_tls: ssl.SSLContext) -> None:
    async with serving(silence) as server:
        address = parse_address(f"wss://127.0.0.1:{server.port}/")
        error = await refusal(lambda: open_stream(address, ssl_context=server_tls))
        assert error.stage == "tls"
        await server.gone()


# ── streams, cancellation, logs ──────────────────────────────────────────────────────────────────────────────────────


async def test_a_stream_carries_bytes_without_delay(server_tls: ssl.SSLContext, client_tls: ssl.SSLContext) -> None:
    async def echo(stream: trio.abc.Stream) -> None:
        await stream.send_all(await stream.receive_some())

    async with serving(echo) as plain, serving(echo, tls=server_tls) as secure:
        for scheme, server in (("ws", plain), ("http", plain), ("wss", secure), ("https", secure)):
            stream = await open_stream(parse_address(f"{scheme}://127.0.0.1:{server.port}"), ssl_context=client_tls)
            async with stream:
                await stream.send_all(b"x")
                assert await stream.receive_some(1) == b"x"
                raw = stream.transport_stream if isinstance(stream, trio.SSLStream) else stream
                assert raw.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_cancelled_search_closes_its_connection(scheme: str) -> None:
    async with serving(silence) as server:
        with trio.move_on_after(SOON) as scope:
            await find_websocket(f"{scheme}://127.0.0.1:{server.port}")
        assert scope.cancelled_caught
        await server.gone()
        assert server.connections == 1


async def test_the_log_shows_no_secret(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with serving(http("200 OK", VERSION)) as server:
        await find_websocket(f"http://user:{SECRET}@127.0.0.1:{server.port}?token={SECRET}")
        assert f"http://…@127.0.0.1:{server.port}/?token=…" in caplog.text
        assert SECRET not in caplog.text
