"""The rules of a browser's debugging port: the answer to each HTTP request.

The answers copy Chromium 156 word for word (fact 61), headers and refusals included:

    any path          the Host must be an IP address, localhost or a name below it, else 500; the Origin does not matter
    WebSocket         then the Origin must be absent, or http://127.0.0.1:PORT itself, else 403; then the path must be the
                      browser's own, possibly with more behind it (else 404), or exactly a page's (else 500)
    /json/…           version, list, protocol, activate, close by any verb, new by PUT only (else 405)
    /fake/…           what only a fake browser has: its truth, the commands it received, its verdict; POST steps to play or
                      time to advance. Only with `control`, and not from a web page (a request with an Origin is refused)

The addresses in the answers contain the Host of the request, since the client reached the port by that name.

This module does not know sockets, the clock, or how a request is read; a request acts on the fake browser it is given.
"""

from __future__ import annotations

import ipaddress
import json
import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from hashlib import sha1
from typing import Any, Final
from urllib.parse import unquote

import attrs

from cdp_core.errors import InvalidArgument
from cdp_core.sansio.messages import Json, is_object
from cdp_core.testing import steps as kinds
from cdp_core.testing.fake.browser import FakeBrowser
from cdp_core.testing.fake.model import targets
from cdp_core.testing.fake.model.parts import Target
from cdp_core.testing.protocol_json import describe_protocol
from cdp_core.testing.websocket_peer import Deflate, negotiate_deflate

MAX_HEAD_BYTES: Final = 1 << 20
"""Bytes of a request's head; a longer head ends the connection without an answer."""
MAX_BODY_BYTES: Final = 1 << 24
"""Bytes of a request's body; a longer body ends the connection without an answer."""

REVISION: Final = "@a21ce95c24ce3964416f09ae1862f53f319eb4d0"
FRONTEND: Final = f"https://chrome-devtools-frontend.appspot.com/serve_rev/{REVISION}/inspector.html"
_REASONS: Final = {
    200: "OK",
    400: "Bad Request",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    500: "Internal Server Error",
}
_ACCEPT_SALT: Final = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455, 1.3
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:.")


@attrs.frozen(kw_only=True)
class HttpRequest:
    """One HTTP request; header names are in lower case."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes = b""

    @property
    def host(self) -> str:
        """The Host header, with its port; empty if there is none."""
        return self.headers.get("host", "")

    @property
    def path(self) -> str:
        """The path without query and fragment."""
        return self.target.partition("#")[0].partition("?")[0]

    @property
    def query(self) -> str:
        """The part after the question mark."""
        return self.target.partition("#")[0].partition("?")[2]

    @property
    def wants_websocket(self) -> bool:
        connection = [word.strip().lower() for word in self.headers.get("connection", "").split(",")]
        return self.headers.get("upgrade", "").lower() == "websocket" and "upgrade" in connection


@attrs.frozen
class HttpAnswer:
    """One HTTP answer, and its octets."""

    status: int
    body: bytes = b""
    content_type: str = "text/html"
    headers: tuple[str, ...] = ()

    @property
    def octets(self) -> bytes:
        """The answer on the wire: Chromium puts no space behind the colons."""
        lines = [
            f"HTTP/1.1 {self.status} {_REASONS[self.status]}",
            *self.headers,
            f"Content-Length:{len(self.body)}",
            f"Content-Type:{self.content_type}",
        ]
        return "\r\n".join([*lines, "", ""]).encode() + self.body


@attrs.frozen(kw_only=True)
class Upgrade:
    """The answer that grants a WebSocket."""

    path: str
    """The path to give to `FakeBrowser.connect`."""
    accept: str
    deflate: Deflate | None = None

    @property
    def octets(self) -> bytes:
        """The head of the answer on the wire, as Chromium writes it."""
        deflate = "" if self.deflate is None else f"Sec-WebSocket-Extensions: {self.deflate}\r\n"
        return (
            "HTTP/1.1 101 WebSocket Protocol Handshake\r\nUpgrade: WebSocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Accept: {self.accept}\r\n{deflate}\r\n"
        ).encode()


def answer(fake: FakeBrowser, request: HttpRequest, *, port: int, control: bool = False) -> HttpAnswer | Upgrade:
    """Answer one request to the endpoint at this port; `control` adds the paths under `/fake/`."""
    if not _is_local(request.host):
        return HttpAnswer(500, b"Host header is specified and is not an IP address or localhost.")
    if request.wants_websocket:
        return _upgrade(fake, request, port)
    path = request.path
    if control and path.startswith("/fake/"):
        return _control(fake, request)
    if path.startswith("/json"):
        return _json_command(fake, request)
    if path.startswith("/devtools/"):
        return HttpAnswer(200, b"", "text/plain")
    if path == "/":
        return HttpAnswer(200, b"", "text/html; charset=UTF-8", ("X-Frame-Options:DENY",))
    return HttpAnswer(404)


def _is_local(host: str) -> bool:
    """Return whether a Host names this machine without name resolution; an absent Host does (fact 61)."""
    if host.startswith("["):
        address, closed, port = host[1:].partition("]")
        return bool(closed) and port[:1] in ("", ":") and _is_address(address)
    name, colon, port = host.lower().partition(":")
    if colon and not port.isdecimal():
        return False
    name = name.removesuffix(".")
    return name in ("", "localhost") or name.endswith(".localhost") or _is_address(name)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


# ── WebSocket ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _upgrade(fake: FakeBrowser, request: HttpRequest, port: int) -> HttpAnswer | Upgrade:
    origin = request.headers.get("origin")
    if origin is not None and origin.lower() != f"http://127.0.0.1:{port}":
        return HttpAnswer(
            403,
            f"Rejected an incoming WebSocket connection from the {origin} origin. Use the command line flag "
            f"--remote-allow-origins={origin} to allow connections from this origin or --remote-allow-origins=* to "
            "allow all origins.".encode(),
        )
    path = request.path
    if path.startswith(fake.path):
        path = fake.path
    elif path.startswith("/devtools/page/"):
        target_id = path.removeprefix("/devtools/page/")
        if target_id not in fake._world.targets:
            return HttpAnswer(500, f"No such target id: {target_id}".encode())
    else:
        return HttpAnswer(404)
    if "sec-websocket-version" not in request.headers:
        return HttpAnswer(500, b"Invalid request format. The version is not valid.")
    key = request.headers.get("sec-websocket-key", "")
    if not key:
        return HttpAnswer(500, b"Invalid request format. Sec-WebSocket-Key is empty or isn't specified.")
    digest = sha1(key.encode("latin-1", "replace") + _ACCEPT_SALT, usedforsecurity=False).digest()
    deflate = negotiate_deflate(request.headers.get("sec-websocket-extensions", ""))
    return Upgrade(path=path, accept=b64encode(digest).decode(), deflate=deflate)


# ── /json ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _json_command(fake: FakeBrowser, request: HttpRequest) -> HttpAnswer:
    path = request.path
    if path == "/json":
        path = "/json/list"
    if not path.startswith("/json/"):
        return _json(404, f"Malformed query: {path}")
    command, _, target_id = path.removeprefix("/json/").partition("/")
    if command in ("activate", "close"):
        return _on_target(fake, command, target_id)
    run = _COMMANDS.get(command)
    if run is None:
        return _json(404, f"Unknown command: {command}")
    return run(fake, request)


def _json(status: int, body: str) -> HttpAnswer:
    return HttpAnswer(
        status,
        body.encode("utf-8", "replace"),
        "application/json; charset=UTF-8",
        ("Content-Security-Policy:frame-ancestors 'none'",),
    )


def _version(fake: FakeBrowser, request: HttpRequest) -> HttpAnswer:
    shell = "HeadlessChrome" if fake._world.profile == "headless-shell" else "Chrome"
    shown = {
        "Browser": f"{shell}/156.0.8078.79",
        "File-Path-Style": "posix",
        "Protocol-Version": "1.3",
        "User-Agent": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) "
        "HeadlessChrome/156.0.0.0 Safari/537.36",
        "V8-Version": "15.6.75.27",
        "WebKit-Version": f"537.36 ({REVISION})",
        "webSocketDebuggerUrl": f"ws://{request.host}{fake.path}",
    }
    return _json(200, _pretty(shown) + "\n")


def _list(fake: FakeBrowser, request: HttpRequest) -> HttpAnswer:
    """List the newest target first and workers last.

    Chromium orders by when a target was last shown, and a worker never is.
    """
    newest_first = [*fake._world.targets.values()][::-1]
    seen = sorted(newest_first, key=lambda target: target.type not in ("page", "iframe"))
    listed = ", ".join(_pretty(_listed(target, request.host)) for target in seen)
    return _json(200, f"[ {listed} ]\n")


def _listed(target: Target, host: str, **instead: str) -> dict[str, str]:
    at = f"{host}/devtools/page/{target.id}"
    parent = target.info().get("parentId")
    return {
        "description": "",
        "devtoolsFrontendUrl": f"{FRONTEND}?ws={at}",
        "id": target.id,
        **({} if parent is None else {"parentId": parent}),
        "title": target.title,
        "type": target.type,
        "url": target.url,
        "webSocketDebuggerUrl": f"ws://{at}",
        **instead,
    }


def _new(fake: FakeBrowser, request: HttpRequest) -> HttpAnswer:
    if request.method != "PUT":
        return _json(
            405,
            f"Using unsafe HTTP verb {request.method} to invoke /json/new. This action supports only PUT verb.",
        )
    url = unquote(request.query).replace(" ", "%20")
    if not _SCHEME.match(url):
        url = "about:blank"
    player = fake._player
    target = player.open_page(f"page {len(player.labels) + 1}", url)
    assert target.frame is not None
    if url != "about:blank":
        player.navigate(target.frame, url)
    return _json(200, _pretty(_listed(target, request.host, title="", url=url)) + "\n")


def _protocol(_fake: FakeBrowser, _request: HttpRequest) -> HttpAnswer:
    text = json.dumps(describe_protocol(), indent=4)
    return HttpAnswer(200, text.encode(), "application/json; charset=UTF-8")


def _on_target(fake: FakeBrowser, command: str, target_id: str) -> HttpAnswer:
    target = fake._world.targets.get(target_id)
    if target is None:
        return _json(404, f"No such target id: {target_id}")
    if command == "activate":
        return _json(200, "Target activated")
    targets.close(fake._world, target)
    return _json(200, "Target is closing")


_COMMANDS: Final[Mapping[str, Callable[[FakeBrowser, HttpRequest], HttpAnswer]]] = {
    "version": _version,
    "list": _list,
    "new": _new,
    "protocol": _protocol,
}


def _pretty(members: Mapping[str, str]) -> str:
    """One object, in Chromium's layout."""
    lines = [f"   {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}" for name, value in members.items()]
    return ("{\n" + ",\n".join(lines) + "\n}").replace("<", "\\u003C")


# ── /fake ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _control(fake: FakeBrowser, request: HttpRequest) -> HttpAnswer:
    if "origin" in request.headers:
        return _control_answer(403, {"error": "Web pages may not use this path; send the request without an Origin."})
    found = _CONTROLS.get(request.path)
    if found is None:
        error = f"The path {request.path} does not exist; use one of {', '.join(_CONTROLS)}."
        return _control_answer(404, {"error": error})
    verb, run = found
    if request.method != verb:
        return _control_answer(405, {"error": f"{request.path} does not take {request.method}; use {verb}."})
    try:
        return _control_answer(200, run(fake, request.body))
    except InvalidArgument as error:
        return _control_answer(400, {"error": str(error)})


def _control_answer(status: int, content: Any) -> HttpAnswer:
    return HttpAnswer(status, json.dumps(content).encode(), "application/json; charset=UTF-8")


def _truth(fake: FakeBrowser, _body: bytes) -> Json:
    return attrs.asdict(fake.truth())


def _received(fake: FakeBrowser, _body: bytes) -> list[Json]:
    return [attrs.asdict(command) for command in fake.commands]


def _verdict(fake: FakeBrowser, _body: bytes) -> Json:
    try:
        fake.assert_clean()
    except AssertionError as complaint:
        return {"clean": False, "complaint": str(complaint)}
    return {"clean": True, "complaint": None}


def _play(fake: FakeBrowser, body: bytes) -> Json:
    content = _read(body)
    if is_object(content):
        script = kinds.Script.from_json(content)
        fake.play(script)
        return {"played": len(script.timeline)}
    steps = kinds._steps_from_json(content, "steps")  # not a Script: they may use labels of the fake's own script
    fake.play(*steps)
    return {"played": len(steps)}


def _advance(fake: FakeBrowser, body: bytes) -> Json:
    content = _read(body)
    seconds: object = content.get("seconds") if is_object(content) else None
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 <= seconds < float("inf"):
        raise InvalidArgument('The body must be like {"seconds": 1.5}, with a number that is not negative.')
    fake.advance(fake.now + seconds)
    return {"now": fake.now}


def _read(body: bytes) -> object:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise InvalidArgument("The body must be JSON.") from None


_CONTROLS: Final[Mapping[str, tuple[str, Callable[[FakeBrowser, bytes], Any]]]] = {
    "/fake/truth": ("GET", _truth),
    "/fake/commands": ("GET", _received),
    "/fake/verdict": ("GET", _verdict),
    "/fake/play": ("POST", _play),
    "/fake/advance": ("POST", _advance),
}
