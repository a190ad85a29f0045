"""A fake browser at a real address: what a client of any kind can tell of it, over sockets of this machine.

Clients here are this project's own, and raw sockets, for what no decent client does.
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
"""Far above what any test takes."""
SHORT = 0.2
"""How long nothing happens, where nothing must happen."""
UNKNOWN = b'{"id":7,"method":"Foo.bar"}'
REFUSED = b'{"id":7,"error":{"code":-32601,"message":"\'Foo.bar\' wasn\'t found"}}'
UPGRADE = "Upgrade: websocket\r\nConnection: Upgrade\r\n"
KEY = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
ACCEPTED = (
    b"HTTP/1.1 101 WebSocket Protocol Handshake\r\nUpgrade: WebSocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"
)
JSON_HEAD = "Content-Security-Policy:frame-ancestors 'none'\r\nContent-Length:{}\r\nContent-Type:application/json; charset=UTF-8"


# ── clients made of a socket ─────────────────────────────────────────────────────────────────────────────────────────


class Raw:
    """A socket to an endpoint, with a deadline on every wait."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self.stream = stream
        self._kept = b""

    async def send(self, *octets: bytes) -> None:
        with trio.fail_after(LIMIT):
            for each in octets:
                await self.stream.send_all(each)

    async def take(self, count: int) -> bytes:
        while len(self._kept) < count:
            with trio.fail_after(LIMIT):
                chunk = await self.stream.receive_some(1 << 16)
            assert chunk, f"the connection ended after {self._kept!r}"
            self._kept += chunk
        taken, self._kept = self._kept[:count], self._kept[count:]
        return taken

    async def take_until(self, mark: bytes) -> bytes:
        size = 1
        while mark not in (peeked := await self._peek(size)):
            size = len(peeked) + 1
        return await self.take(peeked.index(mark) + len(mark))

    async def _peek(self, count: int) -> bytes:
        self._kept = await self.take(count) + self._kept
        return self._kept

    async def rest(self) -> bytes:
        """What comes until the end; that it does end is part of it."""
        received = self._kept
        with trio.fail_after(LIMIT):
            try:
                while chunk := await self.stream.receive_some(1 << 16):
                    received += chunk
            except trio.BrokenResourceError:
                pass
        return received

    async def is_quiet(self) -> bool:
        """Whether nothing comes, and no end either, for a moment."""
        with trio.move_on_after(SHORT):
            await self.stream.receive_some(1)
            return False
        return self._kept == b""

    async def answer(self) -> tuple[bytes, bytes]:
        """One answer over HTTP: head and body."""
        head = await self.take_until(b"\r\n\r\n")
        length = re.search(rb"Content-Length:(\d+)", head)
        assert length is not None, head
        return head[:-4], await self.take(int(length[1]))

    async def text(self) -> bytes:
        """One frame, which must be a text."""
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

    async def speak(self, path: str, port: int) -> None:
        """Become a WebSocket."""
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
        await client.speak(path or endpoint.fake.path, port_of(endpoint))
        yield client


async def ask(endpoint: FakeEndpoint, request: str, *, host: str | None = None, more: str = "") -> tuple[bytes, bytes]:
    async with raw(endpoint) as client:
        host = host if host is not None else endpoint.http_url.removeprefix("http://")
        await client.send(f"{request} HTTP/1.1\r\nHost: {host}\r\n{more}\r\n".encode())
        return await client.answer()


async def ask_json(endpoint: FakeEndpoint, request: str, body: Any = None) -> Any:
    async with raw(endpoint) as client:
        octets = b"" if body is None else json.dumps(body).encode()
        await client.send(
            f"{request} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(octets)}\r\n\r\n".encode(), octets
        )
        _, answered = await client.answer()
        return json.loads(answered)


async def until(condition: Callable[[], object]) -> None:
    with trio.fail_after(LIMIT):
        while not condition():  # noqa: ASYNC110 - the fake has no event for it
            await trio.sleep(0.005)


def main_page(fake: FakeBrowser) -> str:
    return fake.truth().pages[0]


# ── with our own client ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("way", ["ws_url", "http_url"])
async def test_our_client_connects_and_works(way: str) -> None:
    async with serve_fake_browser() as endpoint, open_browser_session(getattr(endpoint, way)) as browser:
        assert (await browser.send("Browser.getVersion"))["protocolVersion"] == "1.3"
        page = await browser.targets.create("http://shop.example/")
        answer = await page.send("Runtime.evaluate", {"expression": "location.href"})
        assert answer["result"]["value"] == "http://shop.example/"
    assert endpoint.ws_url == f"ws://127.0.0.1:{port_of(endpoint)}{endpoint.fake.path}"


async def test_a_dialog_is_told_answered_and_true() -> None:
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


async def test_several_clients_see_one_browser() -> None:
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


async def test_what_one_client_causes_another_is_told() -> None:
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
        head, body = await ask(endpoint, "GET /json/version")
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
async def test_what_is_refused_over_http(request_line: str, status: int, body: str) -> None:
    async with serve_fake_browser() as endpoint:
        head, said = await ask(endpoint, request_line)
        assert said.decode() == body
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
async def test_other_paths(path: str, head: str) -> None:
    async with serve_fake_browser() as endpoint:
        assert await ask(endpoint, f"GET {path}") == (f"HTTP/1.1 {head}".encode(), b"")


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:1", "a.b.localhost:8", "localhost.", "10.1.2.3:4", "[::1]:9", "[::1]", ""]
)
async def test_a_host_that_is_an_address_or_local_is_served_under_it(host: str) -> None:
    async with serve_fake_browser() as endpoint:
        head, body = await ask(endpoint, "GET /json/version", host=host)
        assert head.startswith(b"HTTP/1.1 200 OK")
        assert json.loads(body)["webSocketDebuggerUrl"] == f"ws://{host}{endpoint.fake.path}"


@pytest.mark.parametrize(
    "host",
    ["example.com", "example.com:80", "localhostx", "xlocalhost", "999.1.1.1", "::1", "localhost:x", "[::1", "[::1]x"],
)
@pytest.mark.parametrize("more", ["", UPGRADE + KEY, UPGRADE + KEY + "Origin: http://evil.example\r\n"])
async def test_any_other_host_is_refused(host: str, more: str) -> None:
    async with serve_fake_browser() as endpoint:
        head, body = await ask(endpoint, f"GET {endpoint.fake.path}", host=host, more=more)
        assert head == b"HTTP/1.1 500 Internal Server Error\r\nContent-Length:63\r\nContent-Type:text/html"
        assert body == b"Host header is specified and is not an IP address or localhost."


async def test_the_list_has_the_newest_first_and_says_how_to_reach_each() -> None:
    async with serve_fake_browser() as endpoint:
        made = await ask_json(endpoint, "PUT /json/new?http%3A%2F%2Fshop.example%2Fa%20b")
        assert (made["url"], made["title"], made["type"]) == ("http://shop.example/a%20b", "", "page")
        endpoint.fake.play(Navigate("http://a.example/<b>"))
        _, text = await ask(endpoint, "GET /json", host="localhost:7")
        assert b"\\u003Cb>" in text  # no page's own markup in an answer that a browser may show
        listed = json.loads(text)
        assert [each["id"] for each in listed] == [made["id"], main_page(endpoint.fake)]
        assert listed[1]["webSocketDebuggerUrl"] == f"ws://localhost:7/devtools/page/{listed[1]['id']}"
        assert listed[1]["devtoolsFrontendUrl"].endswith(
            f"/inspector.html?ws=localhost:7/devtools/page/{listed[1]['id']}"
        )
        assert list(listed[0]) == sorted(listed[0])
        assert {each.target_id for each in await list_targets_http(endpoint.ws_url)} == {made["id"], listed[1]["id"]}


@pytest.mark.parametrize("query", ["", "?", "?garbage"])
async def test_a_new_page_without_an_address_is_empty(query: str) -> None:
    async with serve_fake_browser() as endpoint:
        assert (await ask_json(endpoint, f"PUT /json/new{query}"))["url"] == "about:blank"
        assert len(endpoint.fake.truth().pages) == 2


async def test_a_page_is_activated_and_closed() -> None:
    async with serve_fake_browser() as endpoint:
        page = main_page(endpoint.fake)
        assert (await ask(endpoint, f"GET /json/activate/{page}?x"))[1] == b"Target activated"
        assert (await ask(endpoint, f"POST /json/close/{page}"))[1] == b"Target is closing"
        assert endpoint.fake.truth().pages == ()
        assert (await ask(endpoint, f"GET /json/close/{page}"))[1] == f"No such target id: {page}".encode()
        assert (await ask(endpoint, "GET /json"))[1] == b"[  ]\n"


async def test_the_protocol_reads_back_as_the_bindings_have_it() -> None:
    async with serve_fake_browser() as endpoint:
        _, protocol = await fetch_protocol(endpoint.http_url)
    assert read_protocol(("it", protocol)) == {
        name: domain.table for name in domain_names() if (domain := domain_named(name)) is not None
    }


def test_an_enumeration_of_two_fields_is_a_type_and_one_of_a_field_stands_in_it() -> None:
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


async def test_a_connection_is_used_for_several_requests() -> None:
    async with serve_fake_browser() as endpoint, raw(endpoint) as client:
        one = b"PUT /json/foo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc"
        await client.send(one + one[:10])
        assert (await client.answer())[1] == b"Unknown command: foo"
        await client.send(one[10:])
        assert (await client.answer())[1] == b"Unknown command: foo"
        await client.speak(endpoint.fake.path, port_of(endpoint))
        await client.send(frame(0x81, UNKNOWN))
        assert await client.text() == REFUSED


async def test_who_asks_for_a_close_is_answered_and_closes_himself() -> None:
    """Chromium leaves the connection open (a client that waits for its end would hang there too)."""
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
async def test_what_is_no_request_ends_the_connection_without_a_word(octets: bytes) -> None:
    async with serve_fake_browser() as endpoint:
        async with raw(endpoint) as client:
            with suppress(trio.BrokenResourceError):  # it may end while we speak
                await client.send(octets)
            assert await client.rest() == b""
        assert (await ask(endpoint, "GET /foo"))[0].startswith(b"HTTP/1.1 404")


async def test_a_long_head_is_read() -> None:
    async with serve_fake_browser() as endpoint:
        assert (await ask(endpoint, "GET /json/foo", more=f"X: {'a' * 900_000}\r\n"))[1] == b"Unknown command: foo"


@pytest.mark.parametrize("octets", [b"", b"GET /json/ver", b"GET /json/version HTTP/1.1\r\nHost: localhost\r\nX: "])
async def test_who_says_nothing_or_never_ends_is_left_alone(octets: bytes) -> None:
    async with serve_fake_browser() as endpoint:
        async with raw(endpoint) as client:
            if octets:
                await client.send(octets)
            assert await client.is_quiet()
            async with open_browser_session(endpoint.ws_url) as browser:  # and nobody is the worse for it
                await browser.send("Browser.getVersion")
        async with open_browser_session(endpoint.ws_url) as browser:
            await browser.send("Browser.getVersion")


# ── WebSocket ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("head", [UPGRADE + KEY, "upgrade: WebSocket\r\nConnection: keep-alive, upgrade\r\n" + KEY])
@pytest.mark.parametrize("more", ["", "?x=1", "/"])
async def test_the_handshake_is_as_chromium_writes_it(head: str, more: str) -> None:
    async with serve_fake_browser() as endpoint, raw(endpoint) as client:
        request = f"GET {endpoint.fake.path}{more} HTTP/1.1\r\nHost: localhost\r\n{head}\r\n".encode()
        await client.send(request + frame(0x81, UNKNOWN))  # what comes right behind it is no less heard
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
async def test_a_handshake_that_is_refused(path: str, more: str, status: int, body: str) -> None:
    async with serve_fake_browser() as endpoint:
        path = path.replace("BROWSER", endpoint.fake.path)
        head, said = await ask(endpoint, f"GET {path}", more=UPGRADE + more)
        assert said.decode() == body
        assert head.startswith(b"HTTP/1.1 %d " % status)
        assert head.endswith(f"\r\nContent-Length:{len(body)}\r\nContent-Type:text/html".encode())


async def test_the_origin_is_checked_on_websockets_alone() -> None:
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
            for at in (path, "/devtools/page/XX", "/foo"):  # before it is looked where it goes
                head, body = await ask(endpoint, f"GET {at}", more=f"{UPGRADE}{KEY}Origin: {origin}\r\n")
                assert (
                    head == f"HTTP/1.1 403 Forbidden\r\nContent-Length:{len(body)}\r\nContent-Type:text/html".encode()
                )
                assert body.decode() == (
                    f"Rejected an incoming WebSocket connection from the {origin} origin. Use the command line flag "
                    f"--remote-allow-origins={origin} to allow connections from this origin or --remote-allow-origins=* "
                    "to allow all origins."
                )
        head, _ = await ask(endpoint, "GET /json/version", more="Origin: http://evil.example\r\n")
        assert head.startswith(b"HTTP/1.1 200 OK")


async def test_a_page_has_a_socket_of_its_own_and_both_end_together() -> None:
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
async def test_what_is_no_text_frame_ends_the_link_without_a_close_frame(parts: list[bytes]) -> None:
    async with serve_fake_browser() as endpoint, raw_websocket(endpoint) as client:
        await client.send(*parts)
        assert await client.rest() == b""
        assert endpoint.fake.commands == ()


async def test_to_our_client_that_is_1006() -> None:
    async with serve_fake_browser() as endpoint, open_browser_session(endpoint.ws_url) as browser:
        await browser.send("Browser.getVersion")
        endpoint.fake.play(Cut())
        gone = await browser.wait_closed()
        assert isinstance(gone, ConnectionLost)
        assert gone.close_code == 1006


@pytest.mark.parametrize("payload", [b"", b"\x03\xe8bye", b"\x0f\xa0"])
async def test_a_close_is_answered_with_1000(payload: bytes) -> None:
    async with serve_fake_browser() as endpoint, raw_websocket(endpoint) as client:
        await client.send(frame(0x88, payload))
        assert await client.rest() == b"\x88\x02\x03\xe8"
        await until(lambda: "gone" in repr(endpoint.fake._ends[1]))


async def test_control_frames_and_fragments() -> None:
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
async def test_a_text_that_is_no_command_is_refused_and_the_link_stays(text: bytes) -> None:
    async with serve_fake_browser() as endpoint, raw_websocket(endpoint) as client:
        await client.send(frame(0x81, text))
        refusal = json.loads(await client.text())
        assert refusal.keys() == {"error"}
        await client.send(frame(0x81, UNKNOWN))
        assert await client.text() == REFUSED


async def test_a_large_text_is_read_and_a_larger_one_ends_the_link(monkeypatch: pytest.MonkeyPatch) -> None:
    def padded(size: int) -> bytes:
        return UNKNOWN[:-1] + b',"params":{"a":"' + b"a" * (size - len(UNKNOWN) - 18) + b'"}}'

    monkeypatch.setattr("cdp_core.testing.fake.browser.MAX_MESSAGE_BYTES", 1 << 20)  # else it is a matter of 100 MiB
    async with serve_fake_browser() as endpoint, raw_websocket(endpoint) as other:
        async with raw_websocket(endpoint) as client:
            await client.send(frame(0x81, padded((1 << 20) - 1)))
            assert await client.text() == REFUSED
            await client.send(frame(0x81, padded(1 << 20)))
            assert await client.rest() == b""
        await other.send(frame(0x81, UNKNOWN))
        assert await other.text() == REFUSED


async def test_closing_the_browser_ends_everything_without_a_close_frame() -> None:
    async with serve_fake_browser() as endpoint, raw(endpoint) as asking, raw_websocket(endpoint) as other:
        async with raw_websocket(endpoint) as client:
            await client.send(frame(0x81, b'{"id":1,"method":"Browser.close"}'))
            assert await client.text() == b'{"id":1,"result":{}}'
            assert await client.rest() == b""
        assert await other.rest() == b""
        assert await asking.rest() == b""
        with pytest.raises(OSError, match=r"fail|refused"):
            await trio.open_tcp_stream("127.0.0.1", port_of(endpoint))


# ── clients that do not behave ───────────────────────────────────────────────────────────────────────────────────────


async def test_a_client_that_does_not_read_delays_nobody_and_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served_client_module, "MAX_BACKLOG_BYTES", 4 << 20)
    async with (
        serve_fake_browser() as endpoint,
        open_browser_session(endpoint.ws_url) as browser,
        raw_websocket(endpoint, f"/devtools/page/{main_page(endpoint.fake)}") as lazy,
    ):
        await lazy.send(frame(0x81, b'{"id":1,"method":"Runtime.enable"}'))
        await until(lambda: len(endpoint.fake.commands) == 1)
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


def test_a_client_that_does_not_leave_when_its_link_has_ended_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cancellation that went too far would end a trio test early, and let it pass: hence its own run."""
    monkeypatch.setattr(serving_module, "LINGER", 0.02)
    reached: list[str] = []

    async def main() -> None:
        async with serve_fake_browser() as endpoint, raw(endpoint) as asking:
            async with raw_websocket(endpoint) as stubborn:
                endpoint.fake.play(Cut())
                assert await stubborn.rest() == b""
                with pytest.raises(trio.BrokenResourceError), trio.fail_after(LIMIT):
                    while True:  # a reset comes for what nobody reads any more
                        await stubborn.send(frame(0x81, UNKNOWN))
            await asking.send(b"GET /json/foo HTTP/1.1\r\nHost: localhost\r\n\r\n")  # the others are still served
            assert (await asking.answer())[1] == b"Unknown command: foo"
            async with open_browser_session(endpoint.ws_url) as browser:
                await browser.send("Browser.getVersion")
            reached.append("the end")

    trio.run(main)
    assert reached


async def test_what_was_said_before_the_browser_closed_is_told_to_who_reads_late() -> None:
    fake = FakeBrowser()
    page = f"/devtools/page/{main_page(fake)}"
    async with serve_fake_browser(fake) as endpoint, raw_websocket(endpoint, page) as late:
        await late.send(frame(0x81, b'{"id":1,"method":"Runtime.enable"}'))
        await until(lambda: len(fake.commands) == 1)
        for number in range(200):
            fake.play(Console(f"{number}:{'x' * 50_000}"))
        async with open_browser_session(endpoint.ws_url) as browser:
            await browser.send("Browser.close")
            await browser.wait_closed()
        assert (await late.rest()).count(b'"Runtime.consoleAPICalled"') == 200


async def test_a_client_that_reads_late_gets_all_in_order() -> None:
    async with (
        serve_fake_browser() as endpoint,
        raw_websocket(endpoint, f"/devtools/page/{main_page(endpoint.fake)}") as late,
    ):
        await late.send(frame(0x81, b'{"id":1,"method":"Runtime.enable"}'))
        await until(lambda: len(endpoint.fake.commands) == 1)
        for number in range(200):
            endpoint.fake.play(Console(f"{number}:{'x' * 50_000}"))
        texts: list[str] = []
        while len(texts) < 200:
            message = json.loads(await late.text())
            if message.get("method") == "Runtime.consoleAPICalled":
                texts.append(message["params"]["args"][0]["value"].partition(":")[0])
        assert texts == [str(number) for number in range(200)]


@pytest.mark.parametrize("part", [b"", b"\x81", b"\x81\xfe\x10\x00\0\0\0\0abc", frame(0x01, b"{")])
async def test_a_client_that_vanishes_leaves_nothing(part: bytes) -> None:
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
        await until(lambda: not endpoint.fake.truth().sessions)


async def test_a_hundred_connections_at_once_come_and_go() -> None:
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


async def told_order(order: str, seed: int) -> list[tuple[int, str]]:
    """Ten lines on each of two sessions, as one client gets them: session and line."""
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
        told: list[tuple[int, str]] = []
        while len(told) < 20:
            message = json.loads(await client.text())
            told.append((sessions.index(message["sessionId"]), message["params"]["args"][0]["value"]))
        return told


async def test_messages_cross_over_as_they_may_and_not_otherwise() -> None:
    arising = [(session, f"{line}") for line in range(10) for session in (0, 1)]
    assert await told_order("arising", 1) == arising
    for order in ("observed", "hostile"):
        told = [await told_order(order, seed) for seed in range(4)]
        for each in told:
            assert sorted(each) == sorted(arising)
            for session in (0, 1):
                assert [line for number, line in each if number == session] == [f"{line}" for line in range(10)]
        assert len({tuple(each) for each in told}) > 1


async def test_an_unknown_order_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="arising, observed, hostile"):
        async with serve_fake_browser(order="chaos"):  # type: ignore[arg-type]
            pytest.fail("served")


async def test_a_schedule_waits_for_the_commands_it_wants_and_not_for_ever(
    autojump_clock: trio.testing.MockClock,
) -> None:
    schedule = Schedule((Consume(1, commands=2), Deliver(1), Consume(1, commands=1), Deliver(1)))
    heard: list[bytes] = []

    async def hear(texts: list[bytes]) -> None:
        heard.extend(texts)

    fake = FakeBrowser(schedule=schedule)
    client = ServedClient(fake, RealClock(fake), hear)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(client.send_messages)
        client.receive(UNKNOWN)
        await trio.sleep(0.5)
        assert heard == []
        client.receive(UNKNOWN.replace(b"7", b"8"))
        await trio.sleep(0.5)
        assert heard == [REFUSED]
        await trio.sleep(1.0)  # the third command never comes
        assert heard == [REFUSED, REFUSED.replace(b"7", b"8")]
        client.lost()


async def test_a_command_that_is_never_answered_is_one_that_a_schedule_wanted(
    autojump_clock: trio.testing.MockClock,
) -> None:
    heard: list[bytes] = []

    async def hear(texts: list[bytes]) -> None:
        heard.extend(texts)

    fake = FakeBrowser(schedule=Schedule((Consume(1, commands=1), Deliver(1))))
    client = ServedClient(fake, RealClock(fake), hear, path=f"/devtools/page/{main_page(fake)}")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(client.send_messages)
        fake.play(Crash())
        await trio.sleep(0.1)
        assert heard == []
        client.receive(b'{"id":1,"method":"Page.getFrameTree"}')
        await trio.sleep(0.1)
        assert heard == [b'{"method":"Inspector.targetCrashed","params":{}}']
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


async def test_what_is_played_while_it_is_served_has_its_time_too(autojump_clock: trio.testing.MockClock) -> None:
    async with serve_fake_browser() as endpoint:
        await trio.sleep(50)
        endpoint.fake.play(Wait(10.0), Navigate("http://later.example/"))
        await trio.sleep(9.9)
        assert endpoint.fake.truth().frames[0].url == "about:blank"
        await trio.sleep(0.2)
        assert endpoint.fake.truth().frames[0].url == "http://later.example/"


async def test_time_that_was_let_pass_by_hand_has_passed(autojump_clock: trio.testing.MockClock) -> None:
    fake = FakeBrowser(Script(timeline=(Wait(100.0), Navigate("http://later.example/"))))
    async with serve_fake_browser(fake):
        await trio.sleep(1)
        fake.advance(fake.now + 95.0)
        before = fake.now
        await trio.sleep(6)
        assert fake.truth().frames[0].url == "http://later.example/"
        assert fake.now == pytest.approx(before + 5.0, abs=1.1)


async def test_an_event_of_the_timeline_is_pushed_when_it_is_due() -> None:
    async with serve_fake_browser() as endpoint, open_browser_session(endpoint.ws_url) as browser:
        page = await browser.targets.attach(main_page(endpoint.fake))
        await page.send("Runtime.enable")
        with page.expect("Runtime.consoleAPICalled") as said:
            endpoint.fake.play(Wait(0.05), Console("late"))
            with trio.fail_after(LIMIT):
                assert (await said.wait()).params["args"][0]["value"] == "late"


# ── control ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_client_of_any_kind_can_ask_and_tell_the_fake() -> None:
    async with serve_fake_browser(control=True) as endpoint:
        async with raw_websocket(endpoint) as client:
            await client.send(frame(0x81, UNKNOWN))
            await client.text()
            [command] = await ask_json(endpoint, "GET /fake/commands")
            assert (command["method"], command["id"], command["client"]) == ("Foo.bar", 7, 1)
        assert await ask_json(endpoint, "GET /fake/verdict") == {"clean": True, "complaint": None}
        whole = Script(answers={"ask()": Answer(7)}, timeline=(Popup("p", noopener=True),)).to_json()
        assert await ask_json(endpoint, "POST /fake/play", whole) == {"played": 1}
        assert len(endpoint.fake.truth().pages) == 2
        steps = [Navigate("http://shop.example/"), Dialog("alert", "Hi"), Wait(5.0)]
        timeline = Script(timeline=tuple(steps)).to_json()["timeline"]
        assert await ask_json(endpoint, "POST /fake/play", timeline) == {"played": 3}
        truth = await ask_json(endpoint, "GET /fake/truth")
        assert truth.keys() == {field.name for field in Truth.__attrs_attrs__}  # type: ignore[attr-defined]
        assert truth["dialogs"][0]["message"] == "Hi"
        verdict = await ask_json(endpoint, "GET /fake/verdict")
        assert (verdict["clean"], "alert" in verdict["complaint"]) == (False, True)
        before = endpoint.fake.now
        assert (await ask_json(endpoint, "POST /fake/advance", {"seconds": 30}))["now"] >= before + 30


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
async def test_what_the_fake_cannot_be_asked(request_line: str, body: bytes, status: int, words: str) -> None:
    async with serve_fake_browser(control=True) as endpoint:
        async with raw(endpoint) as client:
            await client.send(
                f"{request_line} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
            )
            head, said = await client.answer()
            assert head.startswith(b"HTTP/1.1 %d " % status)
            assert words in json.loads(said)["error"]
        assert endpoint.fake.truth().frames[0].url == "about:blank"


async def test_a_page_of_some_browser_cannot_control_the_fake() -> None:
    async with serve_fake_browser(control=True) as endpoint:
        origin = f"Origin: {endpoint.http_url}\r\n"
        assert (await ask(endpoint, "POST /fake/advance", more=origin))[0].startswith(b"HTTP/1.1 403 ")
        assert (await ask(endpoint, "GET /fake/truth", host="evil.example"))[0].startswith(b"HTTP/1.1 500 ")


async def test_with_control_the_fake_can_be_asked_after_its_browser_was_closed() -> None:
    async with serve_fake_browser(control=True) as endpoint:
        async with raw_websocket(endpoint) as client:
            await client.send(frame(0x81, b'{"id":1,"method":"Browser.close"}'))
            await client.rest()
        assert (await ask_json(endpoint, "GET /fake/verdict"))["clean"]
        async with raw(endpoint) as client:
            await client.send(b"GET /json/version HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert await client.rest() == b""


# ── what can go wrong with serving ───────────────────────────────────────────────────────────────────────────────────


async def test_a_port_that_is_taken() -> None:
    async with serve_fake_browser() as endpoint:
        with pytest.raises(OSError, match="in use"):
            async with serve_fake_browser(port=port_of(endpoint)):
                pytest.fail("two on one port")
    async with serve_fake_browser(port=port_of(endpoint)) as again:
        assert port_of(again) == port_of(endpoint)


@pytest.mark.parametrize("port", [-1, 65536, True, "80", 1.0, None])
async def test_a_port_that_is_none(port: Any) -> None:
    with pytest.raises(InvalidArgument, match="0 to 65535"):
        async with serve_fake_browser(port=port):
            pytest.fail("served")


async def test_a_script_that_cannot_be_played_is_raised_where_it_is_served() -> None:
    with pytest.raises(InvalidArgument, match="'ad'"):
        async with serve_fake_browser() as endpoint:
            endpoint.fake.play(Wait(0.01), RemoveFrame("ad"))
            await trio.sleep(LIMIT)


async def test_the_exception_of_the_body_leaves_bare() -> None:
    with pytest.raises(KeyError):
        async with serve_fake_browser() as endpoint, raw_websocket(endpoint):
            raise KeyError


async def test_the_end_of_serving_ends_every_connection() -> None:
    async with serve_fake_browser() as endpoint:
        stream = await trio.open_tcp_stream("127.0.0.1", port_of(endpoint))
        client = Raw(stream)
        await client.speak(endpoint.fake.path, port_of(endpoint))
    async with stream:
        assert await client.rest() == b""
    with pytest.raises(DiscoveryError):
        async with open_browser_session(endpoint.http_url):
            pytest.fail("somebody answers")


async def test_a_refusal_is_one_for_our_client() -> None:
    async with serve_fake_browser() as endpoint, open_browser_session(endpoint.ws_url) as browser:
        with pytest.raises(CommandRefused):
            await browser.send("Foo.bar")
