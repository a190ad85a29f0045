"""A fake browser at a real address, as clients see it over sockets of this machine.

The clients are this project's own, and raw sockets for misbehaviour that no real client shows.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
import trio

from cdp_core import CommandRefused, ConnectionLost, DiscoveryError, InvalidArgument, open_browser_session
from cdp_core.bindings._catalog import domain_named, domain_names
from cdp_core.bindings._tables import Table, read_protocol
from cdp_core.discovery import fetch_protocol, list_targets_http
from cdp_core.testing import FakeBrowser, FakeEndpoint, Script, serve_fake_browser
from cdp_core.testing import endpoint as serving_module
from cdp_core.testing import served_client as served_client_module
from cdp_core.testing.fake.truth import Truth
from cdp_core.testing.protocol_json import write_protocol
from cdp_core.testing.schedules import Consume, Deliver, Schedule
from cdp_core.testing.served_client import RealClock, ServedClient
from cdp_core.testing.steps import Answer, Close, Console, Crash, Cut, Dialog, Navigate, Popup, RemoveFrame, Wait

LIMIT = 10.0
"""Seconds; far more than any test needs."""
SHORT = 0.2
"""Seconds for which a test checks that nothing arrives."""
UNKNOWN = b'{"id":7,"method":"Foo.bar"}'
REFUSED = b'{"id":7,"error":{"code":-32601,"message":"\'Foo.bar\' wasn\'t found"}}'
UPGRADE = "Upgrade: websocket\r\nConnection: Upgrade\r\n"
KEY = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
ACCEPTED = (
    b"HTTP/1.1 101 WebSocket Protocol Handshake\r\nUpgrade: WebSocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"
)
JSON_HEAD = "Content-Security-Policy:frame-ancestors 'none'\r\nContent-Length:{}\r\nContent-Type:application/json; charset=UTF-8"


# ── raw socket clients ───────────────────────────────────────────────────────────────────────────────────────────────


class Raw:
    """A socket to an endpoint, with a deadline on every wait."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self.stream = stream
        self._buffer = b""

    async def send(self, *octets: bytes) -> None:
        with trio.fail_after(LIMIT):
            for each in octets:
                await self.stream.send_all(each)

    async def take(self, count: int) -> bytes:
        while len(self._buffer) < count:
            with trio.fail_after(LIMIT):
                chunk = await self.stream.receive_some(1 << 16)
            assert chunk, f"the connection ended after {self._buffer!r}"
            self._buffer += chunk
        taken, self._buffer = self._buffer[:count], self._buffer[count:]
        return taken

    async def take_until(self, mark: bytes) -> bytes:
        size = 1
        while mark not in (peeked := await self._peek(size)):
            size = len(peeked) + 1
        return await self.take(peeked.index(mark) + len(mark))

    async def _peek(self, count: int) -> bytes:
        self._buffer = await self.take(count) + self._buffer
        return self._buffer

    async def rest(self) -> bytes:
        """Return all data until the connection ends; fail if it does not end."""
        received = self._buffer
        with trio.fail_after(LIMIT):
            try:
                while chunk := await self.stream.receive_some(1 << 16):
                    received += chunk
            except trio.BrokenResourceError:
                pass
        return received

    async def is_quiet(self) -> bool:
        """Return true if neither data nor an end arrives within `SHORT`."""
        with trio.move_on_after(SHORT):
            await self.stream.receive_some(1)
            return False
        return self._buffer == b""

    async def answer(self) -> tuple[bytes, bytes]:
        """Return the head and the body of one HTTP response."""
        head = await self.take_until(b"\r\n\r\n")
        length = re.search(rb"Content-Length:(\d+)", head)
        assert length is not None, head
        return head[:-4], await self.take(int(length[1]))

    async def text(self) -> bytes:
        """Return the payload of one WebSocket frame, which must be a text."""
        opcode, text = await self.frame()
        assert opcode == 0x81
        return text

    async def frame(self) -> tuple[int, bytes]:
        first, length = await self.take(2)
        if length == 126:
            (length,) = struct.unpack(">H", await self.take(2))
        elif length == 127:
            (length,) = struct.unpack(">Q", await self.take(8))
        return first, await self.take(length)

    async def upgrade(self, path: str, port: int) -> None:
        """Upgrade the connection to a WebSocket."""
        await self.send(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{UPGRADE}{KEY}\r\n".encode())
        assert await self.take_until(b"\r\n\r\n") == ACCEPTED


def frame(first: int, payload: bytes, *, masked: bool = True) -> bytes:
    mark = 0x80 if masked else 0
    if len(payload) < 126:
        head = bytes((first, mark | len(payload)))
    elif len(payload) < 1 << 16:
        head = bytes((first, mark | 126)) + struct.pack(">H", len(payload))
    else:
        head = bytes((first, mark | 127)) + struct.pack(">Q", len(payload))
    return head + (b"\0\0\0\0" if masked else b"") + payload


def port_of(endpoint: FakeEndpoint) -> int:
    return int(endpoint.http_url.rpartition(":")[2])


@asynccontextmanager
async def raw(endpoint: FakeEndpoint) -> AsyncIterator[Raw]:
    async with await trio.open_tcp_stream("127.0.0.1", port_of(endpoint)) as stream:
        yield Raw(stream)


@asynccontextmanager
async def raw_websocket(endpoint: FakeEndpoint, path: str | None = None) -> AsyncIterator[Raw]:
    async with raw(endpoint) as client:
        await client.upgrade(path or endpoint.fake.path, port_of(endpoint))
        yield client


async def fetch(
    endpoint: FakeEndpoint, request: str, *, host: str | None = None, more: str = ""
) -> tuple[bytes, bytes]:
    async with raw(endpoint) as client:
        host = host if host is not None else endpoint.http_url.removeprefix("http://")
        await client.send(f"{request} HTTP/1.1\r\nHost: {host}\r\n{more}\r\n".encode())
        return await client.answer()


async def fetch_json(endpoint: FakeEndpoint, request: str, body: Any = None) -> Any:
    async with raw(endpoint) as client:
        octets = b"" if body is None else json.dumps(body).encode()
        await client.send(
            f"{request} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(octets)}\r\n\r\n".encode(), octets
        )
        _, answered = await client.answer()
        return json.loads(answered)


async def wait_until(condition: Callable[[], object]) -> None:
    with trio.fail_after(LIMIT):
        while not condition():  # noqa: ASYNC110 - the fake has no event for it
            await trio.sleep(0.005)


def main_page(fake: FakeBrowser) -> str:
    return fake.truth().pages[0]


# ── with our own client ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("url_name", ["ws_url", "http_url"])
async def test_our_client_connects_and_works(url_name: str) -> None:
    async with serve_fake_browser() as endpoint, open_browser_session(getattr(endpoint, url_name)) as browser:
        assert (await browser.send("Browser.getVersion"))["protocolVersion"] == "1.3"
        page = await browser.targets.create("http://shop.example/")
        answer = await page.send("Runtime.evaluate", {"expression": "location.href"})
        assert answer["result"]["value"] == "http://shop.example/"
    assert endpoint.ws_url == f"ws://127.0.0.1:{port_of(endpoint)}{endpoint.fake.path}"


async def test_a_dialog_is_reported_answered_and_recorded_in_the_truth() -> None:
    script = Script(answers={"ask()": Answer("done", (Dialog("confirm", "Sure?"),))})
    async with serve_fake_browser(FakeBrowser(script)) as endpoint, open_browser_session(endpoint.ws_url) as browser:
        page = await browser.targets.create("http://shop.example/")
        await page.send("Page.enable")
        with page.expect("Page.javascriptDialogOpening") as opening:
            blocked = page.send_nowait("Runtime.evaluate", {"expression": "ask()"})
            assert (await opening.wait()).params["message"] == "Sure?"
        assert endpoint.fake.truth().blocked
        await page.send("Page.handleJavaScriptDialog", {"accept": True})
        assert (await blocked.wait())["result"]["value"] == "done"
        [dialog] = endpoint.fake.truth().dialogs
        assert (dialog.accepted, dialog.closed_by) == (True, 1)


async def test_several_clients_share_one_browser() -> None:
    async with serve_fake_browser() as endpoint, trio.open_nursery() as nursery:

        async def work(number: int) -> None:
            async with open_browser_session(endpoint.ws_url) as browser:
                page = await browser.targets.create(f"http://shop{number}.example/")
                for _ in range(20):
                    answer = await page.send("Runtime.evaluate", {"expression": "location.href"})
                    assert answer["result"]["value"] == f"http://shop{number}.example/"

        for number in range(8):
            nursery.start_soon(work, number)
    assert {each.url for each in endpoint.fake.truth().frames} >= {
        f"http://shop{number}.example/" for number in range(8)
    }
    assert endpoint.fake.truth().sessions == ()


async def test_a_client_receives_events_that_another_client_caused() -> None:
    async with (
        serve_fake_browser() as endpoint,
        open_browser_session(endpoint.ws_url) as one,
        open_browser_session(endpoint.ws_url) as other,
    ):
        with other.subscribe("Target.targetCreated", capacity=10) as created:
            await other.send("Target.setDiscoverTargets", {"discover": True})
            await one.send("Target.createTarget", {"url": "http://shop.example/"})
            urls = [(await created.receive()).params["targetInfo"]["url"] for _ in range(2)]
        assert urls == ["about:blank", "http://shop.example/"]


# ── HTTP ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_the_version_is_as_chromium_writes_it() -> None:
    async with serve_fake_browser() as endpoint:
        head, body = await fetch(endpoint, "GET /json/version")
        at = endpoint.http_url.removeprefix("http://")
        assert body.decode() == (
            '{\n   "Browser": "Chrome/156.0.8078.79",\n   "File-Path-Style": "posix",\n   "Protocol-Version": "1.3",\n'
            '   "User-Agent": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) '
            'HeadlessChrome/156.0.0.0 Safari/537.36",\n   "V8-Version": "15.6.75.27",\n'
            '   "WebKit-Version": "537.36 (@a21ce95c24ce3964416f09ae1862f53f319eb4d0)",\n'
            f'   "webSocketDebuggerUrl": "ws://{at}{endpoint.fake.path}"\n}}\n'
        )
        assert head.decode() == "HTTP/1.1 200 OK\r\n" + JSON_HEAD.format(len(body))


@pytest.mark.parametrize(
    ("request_line", "status", "body"),
    [
        ("GET /json/", 404, "Unknown command: "),
        ("GET /json/foo?x", 404, "Unknown command: foo"),
        ("GET /jsonx", 404, "Malformed query: /jsonx"),
        ("GET /json/activate/XX", 404, "No such target id: XX"),
        ("GET /json/close", 404, "No such target id: "),
        ("GET /json/new", 405, "Using unsafe HTTP verb GET to invoke /json/new. This action supports only PUT verb."),
        (
            "POST /json/new?x:y",
            405,
            "Using unsafe HTTP verb POST to invoke /json/new. This action supports only PUT verb.",
        ),
    ],
)
async def test_an_invalid_http_request_is_refused_as_chromium_refuses_it(
    request_line: str, status: int, body: str
) -> None:
    async with serve_fake_browser() as endpoint:
        head, received_body = await fetch(endpoint, request_line)
        assert received_body.decode() == body
        assert head.decode().partition("\r\n")[2] == JSON_HEAD.format(len(body))
        assert head.startswith(b"HTTP/1.1 %d " % status)


@pytest.mark.parametrize(
    ("path", "head"),
    [
        ("/", "200 OK\r\nX-Frame-Options:DENY\r\nContent-Length:0\r\nContent-Type:text/html; charset=UTF-8"),
        ("/foo", "404 Not Found\r\nContent-Length:0\r\nContent-Type:text/html"),
        ("//json/version", "404 Not Found\r\nContent-Length:0\r\nContent-Type:text/html"),
        ("/devtools/page/XX", "200 OK\r\nContent-Length:0\r\nContent-Type:text/plain"),
        ("/fake/truth", "404 Not Found\r\nContent-Length:0\r\nContent-Type:text/html"),
    ],
)
async def test_other_paths_have_their_status_and_headers(path: str, head: str) -> None:
    async with serve_fake_browser() as endpoint:
        assert await fetch(endpoint, f"GET {path}") == (f"HTTP/1.1 {head}".encode(), b"")


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:1", "a.b.localhost:8", "localhost.", "10.1.2.3:4", "[::1]:9", "[::1]", ""]
)
async def test_a_host_header_with_an_ip_address_or_localhost_is_accepted_and_used(host: str) -> None:
    async with serve_fake_browser() as endpoint:
        head, body = await fetch(endpoint, "GET /json/version", host=host)
        assert head.startswith(b"HTTP/1.1 200 OK")
        assert json.loads(body)["webSocketDebuggerUrl"] == f"ws://{host}{endpoint.fake.path}"


@pytest.mark.parametrize(
    "host",
    ["example.com", "example.com:80", "localhostx", "xlocalhost", "999.1.1.1", "::1", "localhost:x", "[::1", "[::1]x"],
)
@pytest.mark.parametrize("more", ["", UPGRADE + KEY, UPGRADE + KEY + "Origin: http://evil.example\r\n"])
async def test_any_other_host_header_is_refused(host: str, more: str) -> None:
    async with serve_fake_browser() as endpoint:
        head, body = await fetch(endpoint, f"GET {endpoint.fake.path}", host=host, more=more)
        assert head == b"HTTP/1.1 500 Internal Server Error\r\nContent-Length:63\r\nContent-Type:text/html"
        assert body == b"Host header is specified and is not an IP address or localhost."


async def test_the_target_list_is_newest_first_with_an_address_for_each() -> None:
    async with serve_fake_browser() as endpoint:
        made = await fetch_json(endpoint, "PUT /json/new?http%3A%2F%2Fshop.example%2Fa%20b")
        assert (made["url"], made["title"], made["type"]) == ("http://shop.example/a%20b", "", "page")
        endpoint.fake.play(Navigate("http://a.example/<b>"))
        _, text = await fetch(endpoint, "GET /json", host="localhost:7")
        assert b"\\u003Cb>" in text  # markup of the page is escaped: a browser may show this answer
        listed = json.loads(text)
        assert [each["id"] for each in listed] == [made["id"], main_page(endpoint.fake)]
        assert listed[1]["webSocketDebuggerUrl"] == f"ws://localhost:7/devtools/page/{listed[1]['id']}"
        assert listed[1]["devtoolsFrontendUrl"].endswith(
            f"/inspector.html?ws=localhost:7/devtools/page/{listed[1]['id']}"
        )
        assert list(listed[0]) == sorted(listed[0])
        assert {each.target_id for each in await list_targets_http(endpoint.ws_url)} == {made["id"], listed[1]["id"]}


@pytest.mark.parametrize("query", ["", "?", "?garbage"])
async def test_json_new_without_a_url_opens_about_blank(query: str) -> None:
    async with serve_fake_browser() as endpoint:
        assert (await fetch_json(endpoint, f"PUT /json/new{query}"))["url"] == "about:blank"
        assert len(endpoint.fake.truth().pages) == 2


async def test_a_page_is_activated_and_closed_over_http() -> None:
    async with serve_fake_browser() as endpoint:
        page = main_page(endpoint.fake)
        assert (await fetch(endpoint, f"GET /json/activate/{page}?x"))[1] == b"Target activated"
        assert (await fetch(endpoint, f"POST /json/close/{page}"))[1] == b"Target is closing"
        assert endpoint.fake.truth().pages == ()
        assert (await fetch(endpoint, f"GET /json/close/{page}"))[1] == f"No such target id: {page}".encode()
        assert (await fetch(endpoint, "GET /json"))[1] == b"[  ]\n"


async def test_the_served_protocol_is_read_back_as_the_tables_of_the_bindings() -> None:
    async with serve_fake_browser() as endpoint:
        _, protocol = await fetch_protocol(endpoint.http_url)
    assert read_protocol(("it", protocol)) == {
        name: domain.table for name in domain_names() if (domain := domain_named(name)) is not None
    }


def test_an_enumeration_is_a_type_if_two_fields_use_it_and_inline_if_one_does() -> None:
    table = Table(
        name="Aa",
        marks="~",
        names={"Id": ("!", "[str]")},
        enums={"GetKind": ("", "x"), "GetWhy": ("", "y"), "GetHow": ("~", "z")},
        objects={"Nothing": ("",)},
        commands={
            "get": ("", ("kind?~!:GetKind", "why:[GetWhy]", "how:GetHow"), ()),
            "put": ("!", ("kind:GetKind",), ("id:[[Id]]",)),
        },
        events={"came": ("~", "it:any")},
    )
    written = write_protocol([table])
    assert read_protocol(("it", written)) == {"Aa": table}
    [domain] = written["domains"]
    assert [each["id"] for each in domain["types"]] == ["Id", "GetKind", "GetHow", "Nothing"]
    kind, why, how = domain["commands"][0]["parameters"]
    assert kind == {"name": "kind", "optional": True, "experimental": True, "deprecated": True, "$ref": "GetKind"}
    assert why == {"name": "why", "type": "array", "items": {"type": "string", "enum": ["y"]}}
    assert how == {"name": "how", "$ref": "GetHow"}


async def test_a_connection_serves_several_requests() -> None:
    async with serve_fake_browser() as endpoint, raw(endpoint) as client:
        one = b"PUT /json/foo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc"
        await client.send(one + one[:10])
        assert (await client.answer())[1] == b"Unknown command: foo"
        await client.send(one[10:])
        assert (await client.answer())[1] == b"Unknown command: foo"
        await client.upgrade(endpoint.fake.path, port_of(endpoint))
        await client.send(frame(0x81, UNKNOWN))
        assert await client.text() == REFUSED


async def test_connection_close_is_answered_and_leaves_the_connection_open() -> None:
    """Chromium leaves it open too: a client that waits for the end of the connection hangs there as well."""
    async with serve_fake_browser() as endpoint, raw(endpoint) as client:
        await client.send(b"GET /json/foo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert (await client.answer())[1] == b"Unknown command: foo"
        assert await client.is_quiet()


@pytest.mark.parametrize(
    "octets",
    [
        b"garbage\r\n\r\n",
        b"SSH-2.0-OpenSSH\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"\0" * 5,
        b"GET /json/version HTTP/1.0\r\nHost: localhost\r\n\r\n",
        b"GET /json/version HTTP/2.0\r\nHost: localhost\r\n\r\n",
        b"GET  /json/version HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /json/foo HTTP/1.1\r\nbadheader\r\nHost: localhost\r\n\r\n",
        b"GET /json/foo HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * (2 << 20),
        b"POST /json/foo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n" + b"a" * (17 << 20),
    ],
    ids=lambda octets: repr(octets[:24]),
)
async def test_a_malformed_request_ends_the_connection_without_a_response(octets: bytes) -> None:
    async with serve_fake_browser() as endpoint:
        async with raw(endpoint) as client:
            with suppress(trio.BrokenResourceError):  # the endpoint may close while the test sends
                await client.send(octets)
            assert await client.rest() == b""
        assert (await fetch(endpoint, "GET /foo"))[0].startswith(b"HTTP/1.1 404")


async def test_a_long_head_is_read() -> None:
    async with serve_fake_browser() as endpoint:
        assert (await fetch(endpoint, "GET /json/foo", more=f"X: {'a' * 900_000}\r\n"))[1] == b"Unknown command: foo"


@pytest.mark.parametrize("octets", [b"", b"GET /json/ver", b"GET /json/version HTTP/1.1\r\nHost: localhost\r\nX: "])
async def test_an_incomplete_request_keeps_its_connection_and_delays_no_other(octets: bytes) -> None:
    async with serve_fake_browser() as endpoint:
        async with raw(endpoint) as client:
            if octets:
                await client.send(octets)
            assert await client.is_quiet()
            async with open_browser_session(endpoint.ws_url) as browser:  # other clients are served meanwhile
                await browser.send("Browser.getVersion")
        async with open_browser_session(endpoint.ws_url) as browser:
            await browser.send("Browser.getVersion")


# ── WebSocket ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("head", [UPGRADE + KEY, "upgrade: WebSocket\r\nConnection: keep-alive, upgrade\r\n" + KEY])
@pytest.mark.parametrize("more", ["", "?x=1", "/"])
async def test_the_handshake_is_as_chromium_writes_it(head: str, more: str) -> None:
    async with serve_fake_browser() as endpoint, raw(endpoint) as client:
        request = f"GET {endpoint.fake.path}{more} HTTP/1.1\r\nHost: localhost\r\n{head}\r\n".encode()
        await client.send(request + frame(0x81, UNKNOWN))  # a frame directly after the handshake is read too
        assert await client.take_until(b"\r\n\r\n") == ACCEPTED
        assert await client.text() == REFUSED


@pytest.mark.parametrize(
    ("path", "more", "status", "body"),
    [
        ("/devtools/browser/XX", KEY, 404, ""),
        ("/devtools/browser", KEY, 404, ""),
        ("/devtools/page", KEY, 404, ""),
        ("/json/version", KEY, 404, ""),
        ("/", KEY, 404, ""),
        ("/devtools/page/XX", KEY, 500, "No such target id: XX"),
        ("/devtools/page/", KEY, 500, "No such target id: "),
        (
            "BROWSER",
            "Sec-WebSocket-Version: 13\r\n",
            500,
            "Invalid request format. Sec-WebSocket-Key is empty or isn't specified.",
        ),
        ("BROWSER", KEY.partition("\r\n")[0] + "\r\n", 500, "Invalid request format. The version is not valid."),
    ],
)
async def test_an_invalid_handshake_is_refused(path: str, more: str, status: int, body: str) -> None:
    async with serve_fake_browser() as endpoint:
        path = path.replace("BROWSER", endpoint.fake.path)
        head, received_body = await fetch(endpoint, f"GET {path}", more=UPGRADE + more)
        assert received_body.decode() == body
        assert head.startswith(b"HTTP/1.1 %d " % status)
        assert head.endswith(f"\r\nContent-Length:{len(body)}\r\nContent-Type:text/html".encode())


async def test_the_origin_is_checked_only_for_websockets() -> None:
    async with serve_fake_browser() as endpoint:
        port = port_of(endpoint)
        own, path = f"Origin: http://127.0.0.1:{port}\r\n", endpoint.fake.path
        async with raw(endpoint) as client:
            await client.send(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{UPGRADE}{KEY}{own}\r\n".encode())
            assert await client.take_until(b"\r\n\r\n") == ACCEPTED
        for origin in (
            f"http://localhost:{port}",
            "http://evil.example",
            "null",
            "",
            f"https://127.0.0.1:{port}",
            "devtools://devtools",
        ):
            for at in (path, "/devtools/page/XX", "/foo"):  # the origin is checked before the path
                head, body = await fetch(endpoint, f"GET {at}", more=f"{UPGRADE}{KEY}Origin: {origin}\r\n")
                assert (
                    head == f"HTTP/1.1 403 Forbidden\r\nContent-Length:{len(body)}\r\nContent-Type:text/html".encode()
                )
                assert body.decode() == (
                    f"Rejected an incoming WebSocket connection from the {origin} origin. Use the command line flag "
                    f"--remote-allow-origins={origin} to allow connections from this origin or --remote-allow-origins=* "
                    "to allow all origins."
                )
        head, _ = await fetch(endpoint, "GET /json/version", more="Origin: http://evil.example\r\n")
        assert head.startswith(b"HTTP/1.1 200 OK")


async def test_the_socket_of_a_page_ends_with_the_page() -> None:
    async with serve_fake_browser() as endpoint:
        page = main_page(endpoint.fake)
        async with raw_websocket(endpoint, f"/devtools/page/{page}") as client:
            await client.send(frame(0x81, b'{"id":1,"method":"Target.getTargetInfo"}'))
            assert json.loads(await client.text())["result"]["targetInfo"]["targetId"] == page
            await client.send(frame(0x81, b'{"id":2,"method":"Target.createBrowserContext"}'))
            assert "error" in json.loads(await client.text())
            endpoint.fake.play(Close())
            reasons = [json.loads(await client.text())["params"]["reason"] for _ in range(2)]
            assert reasons == ["Render process gone.", "target_closed"]
            assert await client.rest() == b""


@pytest.mark.parametrize(
    "parts",
    [
        [frame(0x82, UNKNOWN)],
        [frame(0x82, b"")],
        [frame(0x81, UNKNOWN, masked=False)],
        [frame(0xC1, UNKNOWN)],
        [frame(0x83, UNKNOWN)],
    ],
    ids=["binary", "empty binary", "not masked", "reserved bit", "unknown opcode"],
)
async def test_a_frame_that_is_not_a_valid_text_ends_the_link_without_a_close_frame(parts: list[bytes]) -> None:
    async with serve_fake_browser() as endpoint, raw_websocket(endpoint) as client:
        await client.send(*parts)
        assert await client.rest() == b""
        assert endpoint.fake.commands == ()


async def test_our_client_reports_an_end_without_a_close_frame_as_1006() -> None:
    async with serve_fake_browser() as endpoint, open_browser_session(endpoint.ws_url) as browser:
        await browser.send("Browser.getVersion")
        endpoint.fake.play(Cut())
        gone = await browser.wait_closed()
        assert isinstance(gone, ConnectionLost)
        assert gone.close_code == 1006


@pytest.mark.parametrize("payload", [b"", b"\x03\xe8bye", b"\x0f\xa0"])
async def test_a_close_frame_is_answered_with_1000(payload: bytes) -> None:
    async with serve_fake_browser() as endpoint, raw_websocket(endpoint) as client:
        await client.send(frame(0x88, payload))
        assert await client.rest() == b"\x88\x02\x03\xe8"
        await wait_until(lambda: "gone" in repr(endpoint.fake._ends[1]))


async def test_pings_are_answered_and_fragments_are_joined() -> None:
    async with serve_fake_browser() as endpoint, raw_websocket(endpoint) as client:
        await client.send(frame(0x89, b"hey"))
        assert await client.frame() == (0x8A, b"hey")
        await client.send(
            frame(0x8A, b"unasked"), frame(0x01, UNKNOWN[:9]), frame(0x89, b"p"), frame(0x00, UNKNOWN[9:12])
        )
        assert await client.frame() == (0x8A, b"p")
        await client.send(frame(0x80, UNKNOWN[12:]))
        assert await client.text() == REFUSED
        octets = frame(0x81, UNKNOWN)
        await client.send(*(octets[place : place + 1] for place in range(len(octets))))
        assert await client.text() == REFUSED


@pytest.mark.parametrize("text", [b"", b"nonsense", b"[]", b'{"id":1.5}', "é".encode()])
async def test_a_text_that_is_not_a_command_is_refused_and_the_link_stays(text: bytes) -> None:
    async with serve_fake_browser() as endpoint, raw_websocket(endpoint) as client:
        await client.send(frame(0x81, text))
        refusal = json.loads(await client.text())
        assert refusal.keys() == {"error"}
        await client.send(frame(0x81, UNKNOWN))
        assert await client.text() == REFUSED


async def test_a_text_below_the_limit_is_read_and_one_at_the_limit_ends_the_link(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def padded(size: int) -> bytes:
        return UNKNOWN[:-1] + b',"params":{"a":"' + b"a" * (size - len(UNKNOWN) - 18) + b'"}}'

    monkeypatch.setattr("cdp_core.testing.fake.browser.MAX_MESSAGE_BYTES", 1 << 20)  # the real limit is 100 MiB
    async with serve_fake_browser() as endpoint, raw_websocket(endpoint) as other:
        async with raw_websocket(endpoint) as client:
            await client.send(frame(0x81, padded((1 << 20) - 1)))
            assert await client.text() == REFUSED
            await client.send(frame(0x81, padded(1 << 20)))
            assert await client.rest() == b""
        await other.send(frame(0x81, UNKNOWN))
        assert await other.text() == REFUSED


async def test_closing_the_browser_ends_every_connection_without_a_close_frame() -> None:
    async with serve_fake_browser() as endpoint, raw(endpoint) as http_client, raw_websocket(endpoint) as other:
        async with raw_websocket(endpoint) as client:
            await client.send(frame(0x81, b'{"id":1,"method":"Browser.close"}'))
            assert await client.text() == b'{"id":1,"result":{}}'
            assert await client.rest() == b""
        assert await other.rest() == b""
        assert await http_client.rest() == b""
        with pytest.raises(OSError, match=r"fail|refused"):
            await trio.open_tcp_stream("127.0.0.1", port_of(endpoint))


# ── misbehaving clients ──────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_client_that_does_not_read_is_cut_off_and_delays_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served_client_module, "MAX_BACKLOG_BYTES", 4 << 20)
    async with (
        serve_fake_browser() as endpoint,
        open_browser_session(endpoint.ws_url) as browser,
        raw_websocket(endpoint, f"/devtools/page/{main_page(endpoint.fake)}") as lazy,
    ):
        await lazy.send(frame(0x81, b'{"id":1,"method":"Runtime.enable"}'))
        await wait_until(lambda: len(endpoint.fake.commands) == 1)
        number = endpoint.fake.commands[0].client
        lines = 0
        while "connected" in repr(endpoint.fake._ends[number]):
            endpoint.fake.play(Console("x" * 100_000))
            with trio.fail_after(LIMIT):
                await browser.send("Browser.getVersion")
            lines += 1
            assert lines < 400, "40 MB wait for a client that does not read"
        assert lines > 40, "it was cut off before the limit"
        assert endpoint.fake.truth().sessions == ()
        await lazy.rest()
        await browser.send("Browser.getVersion")


def test_a_client_that_stays_after_its_link_ended_is_disconnected(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run it in its own `trio.run`: a stray cancellation would end a trio test early, and it would pass."""
    monkeypatch.setattr(serving_module, "LINGER", 0.02)
    reached: list[str] = []

    async def main() -> None:
        async with serve_fake_browser() as endpoint, raw(endpoint) as http_client:
            async with raw_websocket(endpoint) as stubborn:
                endpoint.fake.play(Cut())
                assert await stubborn.rest() == b""
                with pytest.raises(trio.BrokenResourceError), trio.fail_after(LIMIT):
                    while True:  # writing to a connection that is not read any more ends in a reset
                        await stubborn.send(frame(0x81, UNKNOWN))
            # other clients are still served
            await http_client.send(b"GET /json/foo HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert (await http_client.answer())[1] == b"Unknown command: foo"
            async with open_browser_session(endpoint.ws_url) as browser:
                await browser.send("Browser.getVersion")
            reached.append("the end")

    trio.run(main)
    assert reached


async def test_messages_sent_before_the_browser_closed_reach_a_slow_reader() -> None:
    fake = FakeBrowser()
    page = f"/devtools/page/{main_page(fake)}"
    async with serve_fake_browser(fake) as endpoint, raw_websocket(endpoint, page) as late:
        await late.send(frame(0x81, b'{"id":1,"method":"Runtime.enable"}'))
        await wait_until(lambda: len(fake.commands) == 1)
        for number in range(200):
            fake.play(Console(f"{number}:{'x' * 50_000}"))
        async with open_browser_session(endpoint.ws_url) as browser:
            await browser.send("Browser.close")
            await browser.wait_closed()
        assert (await late.rest()).count(b'"Runtime.consoleAPICalled"') == 200


async def test_a_slow_reader_receives_all_messages_in_order() -> None:
    async with (
        serve_fake_browser() as endpoint,
        raw_websocket(endpoint, f"/devtools/page/{main_page(endpoint.fake)}") as late,
    ):
        await late.send(frame(0x81, b'{"id":1,"method":"Runtime.enable"}'))
        await wait_until(lambda: len(endpoint.fake.commands) == 1)
        for number in range(200):
            endpoint.fake.play(Console(f"{number}:{'x' * 50_000}"))
        texts: list[str] = []
        while len(texts) < 200:
            message = json.loads(await late.text())
            if message.get("method") == "Runtime.consoleAPICalled":
                texts.append(message["params"]["args"][0]["value"].partition(":")[0])
        assert texts == [str(number) for number in range(200)]


@pytest.mark.parametrize("part", [b"", b"\x81", b"\x81\xfe\x10\x00\0\0\0\0abc", frame(0x01, b"{")])
async def test_the_sessions_of_a_vanished_client_are_closed(part: bytes) -> None:
    async with serve_fake_browser() as endpoint:
        async with raw_websocket(endpoint) as client:
            target = main_page(endpoint.fake).encode()
            await client.send(
                frame(
                    0x81,
                    b'{"id":1,"method":"Target.attachToTarget","params":{"targetId":"%s","flatten":true}}' % target,
                )
            )
            await client.text()
            assert len(endpoint.fake.truth().sessions) == 1
            if part:
                await client.send(part)
        await wait_until(lambda: not endpoint.fake.truth().sessions)


async def test_a_hundred_connections_open_and_close_at_once() -> None:
    async with serve_fake_browser() as endpoint, trio.open_nursery() as nursery:

        async def visit(number: int) -> None:
            async with raw_websocket(endpoint) if number % 2 else raw(endpoint) as client:
                if number % 3:
                    await client.send(
                        frame(0x81, UNKNOWN) if number % 2 else b"GET /foo HTTP/1.1\r\nHost: localhost\r\n\r\n"
                    )
                if number % 3 == 1:
                    await client.take(2)

        for number in range(100):
            nursery.start_soon(visit, number)


# ── order ────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def delivered_order(order: str, seed: int) -> list[tuple[int, str]]:
    """Return ten lines on each of two sessions in the order received, as (session index, line)."""
    fake = FakeBrowser(seed=seed)
    serving = serve_fake_browser(fake, order=order)  # type: ignore[arg-type]
    async with serving as endpoint, raw_websocket(endpoint) as client:
        fake.play(Popup("other", "http://b.example/", noopener=True))
        sessions: list[str] = []
        for number, page in enumerate(fake.truth().pages):
            params = {"targetId": page, "flatten": True}
            await client.send(
                frame(0x81, json.dumps({"id": number, "method": "Target.attachToTarget", "params": params}).encode())
            )
            while (message := json.loads(await client.text())).get("id") != number:
                pass
            sessions.append(message["result"]["sessionId"])
            enable = {"id": 10 + number, "method": "Runtime.enable", "sessionId": sessions[-1]}
            await client.send(frame(0x81, json.dumps(enable).encode()))
            while json.loads(await client.text()).get("id") != 10 + number:
                pass
        fake.play(*(Console(f"{line}", frame=label) for line in range(10) for label in ("main", "other")))
        received: list[tuple[int, str]] = []
        while len(received) < 20:
            message = json.loads(await client.text())
            received.append((sessions.index(message["sessionId"]), message["params"]["args"][0]["value"]))
        return received


async def test_orders_mix_the_sessions_and_keep_the_order_of_each() -> None:
    arising = [(session, f"{line}") for line in range(10) for session in (0, 1)]
    assert await delivered_order("arising", 1) == arising
    for order in ("observed", "hostile"):
        orders = [await delivered_order(order, seed) for seed in range(4)]
        for each in orders:
            assert sorted(each) == sorted(arising)
            for session in (0, 1):
                assert [line for number, line in each if number == session] == [f"{line}" for line in range(10)]
        assert len({tuple(each) for each in orders}) > 1


async def test_an_unknown_order_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="arising, observed, hostile"):
        async with serve_fake_browser(order="chaos"):  # type: ignore[arg-type]
            pytest.fail("served")


async def test_a_schedule_waits_for_its_commands_for_a_limited_time(
    autojump_clock: trio.testing.MockClock,
) -> None:
    schedule = Schedule((Consume(1, commands=2), Deliver(1), Consume(1, commands=1), Deliver(1)))
    received: list[bytes] = []

    async def keep(texts: list[bytes]) -> None:
        received.extend(texts)

    fake = FakeBrowser(schedule=schedule)
    client = ServedClient(fake, RealClock(fake), keep)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(client.send_messages)
        client.receive(UNKNOWN)
        await trio.sleep(0.5)
        assert received == []
        client.receive(UNKNOWN.replace(b"7", b"8"))
        await trio.sleep(0.5)
        assert received == [REFUSED]
        await trio.sleep(1.0)  # the third command never comes
        assert received == [REFUSED, REFUSED.replace(b"7", b"8")]
        client.lost()


async def test_a_schedule_counts_a_command_that_is_never_answered(
    autojump_clock: trio.testing.MockClock,
) -> None:
    received: list[bytes] = []

    async def keep(texts: list[bytes]) -> None:
        received.extend(texts)

    fake = FakeBrowser(schedule=Schedule((Consume(1, commands=1), Deliver(1))))
    client = ServedClient(fake, RealClock(fake), keep, path=f"/devtools/page/{main_page(fake)}")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(client.send_messages)
        fake.play(Crash())
        await trio.sleep(0.1)
        assert received == []
        client.receive(b'{"id":1,"method":"Page.getFrameTree"}')
        await trio.sleep(0.1)
        assert received == [b'{"method":"Inspector.targetCrashed","params":{}}']
        client.lost()


# ── time ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_virtual_time_follows_the_clock(autojump_clock: trio.testing.MockClock) -> None:
    fake = FakeBrowser(Script(timeline=(Wait(100.0), Navigate("http://later.example/"))))
    async with serve_fake_browser(fake):
        await trio.sleep(99.9)
        assert fake.truth().frames[0].url == "about:blank"
        await trio.sleep(0.2)
        assert fake.truth().frames[0].url == "http://later.example/"
        assert fake.now == pytest.approx(100.0)


async def test_steps_played_while_serving_wait_for_the_clock(autojump_clock: trio.testing.MockClock) -> None:
    async with serve_fake_browser() as endpoint:
        await trio.sleep(50)
        endpoint.fake.play(Wait(10.0), Navigate("http://later.example/"))
        await trio.sleep(9.9)
        assert endpoint.fake.truth().frames[0].url == "about:blank"
        await trio.sleep(0.2)
        assert endpoint.fake.truth().frames[0].url == "http://later.example/"


async def test_time_advanced_by_hand_is_not_waited_for_again(autojump_clock: trio.testing.MockClock) -> None:
    fake = FakeBrowser(Script(timeline=(Wait(100.0), Navigate("http://later.example/"))))
    async with serve_fake_browser(fake):
        await trio.sleep(1)
        fake.advance(fake.now + 95.0)
        before = fake.now
        await trio.sleep(6)
        assert fake.truth().frames[0].url == "http://later.example/"
        assert fake.now == pytest.approx(before + 5.0, abs=1.1)


async def test_an_event_of_the_timeline_is_sent_when_it_is_due() -> None:
    async with serve_fake_browser() as endpoint, open_browser_session(endpoint.ws_url) as browser:
        page = await browser.targets.attach(main_page(endpoint.fake))
        await page.send("Runtime.enable")
        with page.expect("Runtime.consoleAPICalled") as line:
            endpoint.fake.play(Wait(0.05), Console("late"))
            with trio.fail_after(LIMIT):
                assert (await line.wait()).params["args"][0]["value"] == "late"


# ── control ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_the_fake_is_inspected_and_controlled_over_http() -> None:
    async with serve_fake_browser(control=True) as endpoint:
        async with raw_websocket(endpoint) as client:
            await client.send(frame(0x81, UNKNOWN))
            await client.text()
            [command] = await fetch_json(endpoint, "GET /fake/commands")
            assert (command["method"], command["id"], command["client"]) == ("Foo.bar", 7, 1)
        assert await fetch_json(endpoint, "GET /fake/verdict") == {"clean": True, "complaint": None}
        script = Script(answers={"ask()": Answer(7)}, timeline=(Popup("p", noopener=True),)).to_json()
        assert await fetch_json(endpoint, "POST /fake/play", script) == {"played": 1}
        assert len(endpoint.fake.truth().pages) == 2
        steps = [Navigate("http://shop.example/"), Dialog("alert", "Hi"), Wait(5.0)]
        timeline = Script(timeline=tuple(steps)).to_json()["timeline"]
        assert await fetch_json(endpoint, "POST /fake/play", timeline) == {"played": 3}
        truth = await fetch_json(endpoint, "GET /fake/truth")
        assert truth.keys() == {field.name for field in Truth.__attrs_attrs__}  # type: ignore[attr-defined]
        assert truth["dialogs"][0]["message"] == "Hi"
        verdict = await fetch_json(endpoint, "GET /fake/verdict")
        assert (verdict["clean"], "alert" in verdict["complaint"]) == (False, True)
        before = endpoint.fake.now
        assert (await fetch_json(endpoint, "POST /fake/advance", {"seconds": 30}))["now"] >= before + 30


@pytest.mark.parametrize(
    ("request_line", "body", "status", "words"),
    [
        ("POST /fake/play", b"{", 400, "must be JSON"),
        ("POST /fake/play", b"[" * 100_000, 400, "must be JSON"),
        ("POST /fake/play", b"\xff", 400, "must be JSON"),
        ("POST /fake/play", b'{"a":1}', 400, "no member 'a'"),
        ("POST /fake/play", b"[1]", 400, "steps[0]"),
        ("POST /fake/play", b'[{"step":"RemoveFrame","label":"ad"}]', 400, "'ad'"),
        ("POST /fake/advance", b'{"seconds":-1}', 400, "seconds"),
        ("POST /fake/advance", b'{"seconds":true}', 400, "seconds"),
        ("POST /fake/advance", b'{"seconds":1e999}', 400, "seconds"),
        ("POST /fake/advance", b"[]", 400, "seconds"),
        ("GET /fake/play", b"", 405, "POST"),
        ("POST /fake/truth", b"", 405, "GET"),
        ("GET /fake/nothing", b"", 404, "/fake/truth"),
    ],
)
async def test_an_invalid_control_request_is_refused(request_line: str, body: bytes, status: int, words: str) -> None:
    async with serve_fake_browser(control=True) as endpoint:
        async with raw(endpoint) as client:
            await client.send(
                f"{request_line} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
            )
            head, received_body = await client.answer()
            assert head.startswith(b"HTTP/1.1 %d " % status)
            assert words in json.loads(received_body)["error"]
        assert endpoint.fake.truth().frames[0].url == "about:blank"


async def test_a_web_page_cannot_control_the_fake() -> None:
    async with serve_fake_browser(control=True) as endpoint:
        origin = f"Origin: {endpoint.http_url}\r\n"
        assert (await fetch(endpoint, "POST /fake/advance", more=origin))[0].startswith(b"HTTP/1.1 403 ")
        assert (await fetch(endpoint, "GET /fake/truth", host="evil.example"))[0].startswith(b"HTTP/1.1 500 ")


async def test_with_control_the_fake_is_inspected_after_its_browser_was_closed() -> None:
    async with serve_fake_browser(control=True) as endpoint:
        async with raw_websocket(endpoint) as client:
            await client.send(frame(0x81, b'{"id":1,"method":"Browser.close"}'))
            await client.rest()
        assert (await fetch_json(endpoint, "GET /fake/verdict"))["clean"]
        async with raw(endpoint) as client:
            await client.send(b"GET /json/version HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert await client.rest() == b""


# ── failures of serving ──────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_port_in_use_is_refused_until_it_is_free() -> None:
    async with serve_fake_browser() as endpoint:
        with pytest.raises(OSError, match="in use"):
            async with serve_fake_browser(port=port_of(endpoint)):
                pytest.fail("two endpoints on one port")
    async with serve_fake_browser(port=port_of(endpoint)) as again:
        assert port_of(again) == port_of(endpoint)


@pytest.mark.parametrize("port", [-1, 65536, True, "80", 1.0, None])
async def test_an_invalid_port_is_refused(port: Any) -> None:
    with pytest.raises(InvalidArgument, match="0 to 65535"):
        async with serve_fake_browser(port=port):
            pytest.fail("served")


async def test_a_step_that_cannot_be_played_raises_from_the_serving_block() -> None:
    with pytest.raises(InvalidArgument, match="'ad'"):
        async with serve_fake_browser() as endpoint:
            endpoint.fake.play(Wait(0.01), RemoveFrame("ad"))
            await trio.sleep(LIMIT)


async def test_an_exception_of_the_body_is_not_wrapped_in_a_group() -> None:
    with pytest.raises(KeyError):
        async with serve_fake_browser() as endpoint, raw_websocket(endpoint):
            raise KeyError


async def test_the_end_of_serving_ends_every_connection() -> None:
    async with serve_fake_browser() as endpoint:
        stream = await trio.open_tcp_stream("127.0.0.1", port_of(endpoint))
        client = Raw(stream)
        await client.upgrade(endpoint.fake.path, port_of(endpoint))
    async with stream:
        assert await client.rest() == b""
    with pytest.raises(DiscoveryError):
        async with open_browser_session(endpoint.http_url):
            pytest.fail("the endpoint still answers")


async def test_our_client_raises_command_refused_for_a_refusal() -> None:
    async with serve_fake_browser() as endpoint, open_browser_session(endpoint.ws_url) as browser:
        with pytest.raises(CommandRefused):
            await browser.send("Foo.bar")
