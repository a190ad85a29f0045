"""Answers over HTTP: a real Chromium and the fake browser get the same requests and must agree.

Compared are status, headers and body: its text without ids, ports and values derived from them; of JSON, the names and
types of the members. A list is compared by its page.
"""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from cdp_core.testing import FakeBrowser, start_fake_browser

pytestmark = pytest.mark.chromium

UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Version": "13",
}
IDS = re.compile(rb"[0-9A-F]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
Answer = tuple[bytes, bytes]


def ask(port: int, line: str, headers: dict[str, str]) -> Answer:
    """Return head and body of one answer; an opened WebSocket has no body yet."""
    lines = [f"{line} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    with socket.create_connection(("127.0.0.1", port), timeout=20) as link:
        link.sendall("\r\n".join(lines).encode())
        octets = b""
        while b"\r\n\r\n" not in octets:
            chunk = link.recv(1 << 16)
            if not chunk:
                return octets, b""
            octets += chunk
        head, _, body = octets.partition(b"\r\n\r\n")
        length = re.search(rb"Content-Length:(\d+)", head)
        while length is not None and len(body) < int(length[1]):
            body += link.recv(1 << 16)
        return head, body


def shape(content: Any) -> Any:
    """Replace the values of a JSON document with their types."""
    if isinstance(content, dict):
        return {name: shape(value) for name, value in content.items()}
    if isinstance(content, list):
        pages = [each for each in content if isinstance(each, dict) and each.get("type") == "page"]
        return [shape(each) for each in pages[:1]]
    return type(content).__name__


def comparable(answer: Answer, port: int) -> tuple[bytes, Any]:
    head, body = (IDS.sub(b"ID", part.replace(str(port).encode(), b"PORT")) for part in answer)
    try:
        content = json.loads(body)
    except ValueError:
        return head, body
    if isinstance(content, dict) and "domains" in content:  # their content is a matter of the bindings
        content = {"version": content["version"], "domains": []}
    return re.sub(rb"Content-Length:\d+", b"Content-Length:N", head), shape(content)


@pytest.fixture(scope="module")
def ports(shared_chromium: Any) -> Iterator[tuple[int, int]]:
    """The ports of Chromium and of the fake."""
    with start_fake_browser(FakeBrowser()) as endpoint:
        yield shared_chromium.port, int(endpoint.http_url.rpartition(":")[2])


def both(ports: tuple[int, int], line: str, **headers: str) -> None:
    real, fake = (
        comparable(
            ask(
                port, line, {name.replace("_", "-"): text.replace("PORT", str(port)) for name, text in headers.items()}
            ),
            port,
        )
        for port in ports
    )
    assert fake == real


@pytest.mark.parametrize(
    "line",
    [
        "GET /json/version",
        "POST /json/version",
        "GET /json/version?for_tab",
        "GET /json/list",
        "GET /json",
        "GET /json/",
        "GET /json/new",
        "POST /json/new?about:blank",
        "PUT /json/new",
        "PUT /json/new?about:blank",
        "PUT /json/new?nonsense",
        "GET /json/protocol",
        "GET /json/activate/NONE",
        "GET /json/activate",
        "GET /json/close/NONE",
        "GET /json/foo",
        "GET /jsonfoo",
        "GET /foo",
        "GET /",
        "GET /devtools/foo",
        "DELETE /json/list",
    ],
)
def test_the_fake_answers_like_chromium(ports: tuple[int, int], line: str) -> None:
    both(ports, line, Host="127.0.0.1:PORT")


@pytest.mark.parametrize(
    "host", ["localhost", "a.localhost:PORT", "localhost.", "[::1]:PORT", "10.0.0.1", "", "example.com"]
)
@pytest.mark.parametrize("line", ["GET /json/version", "GET /foo"])
def test_the_host_header_is_checked_alike(ports: tuple[int, int], host: str, line: str) -> None:
    both(ports, line, Host=host)


@pytest.mark.parametrize(
    "origin", ["http://127.0.0.1:PORT", "http://localhost:PORT", "http://localhost", "null", "https://a.example"]
)
def test_the_origin_matters_only_for_websockets(ports: tuple[int, int], origin: str) -> None:
    both(ports, "GET /json/version", Host="127.0.0.1:PORT", Origin=origin)
    both(
        ports, "GET /devtools/browser/00000000-0000-0000-0000-000000000000", Host="localhost", Origin=origin, **UPGRADE
    )


@pytest.mark.parametrize("path", ["/devtools/browser/none", "/devtools/page/NONE", "/devtools/foo", "/foo"])
def test_a_websocket_to_an_unknown_path_is_refused_alike(ports: tuple[int, int], path: str) -> None:
    both(ports, f"GET {path}", Host="127.0.0.1:PORT", **UPGRADE)


def test_a_page_is_created_activated_and_closed(ports: tuple[int, int]) -> None:
    answers: list[list[Any]] = []
    for port in ports:
        host = {"Host": f"127.0.0.1:{port}"}
        made = json.loads(ask(port, "PUT /json/new?about:blank", host)[1])["id"]
        lines = [f"GET /json/activate/{made}", f"GET /json/close/{made}"]
        answers.append([comparable(ask(port, line, host), port) for line in lines])
    assert answers[0] == answers[1]
    assert [body for _head, body in answers[1]] == [b"Target activated", b"Target is closing"]


@pytest.mark.parametrize(
    "offer",
    [
        "permessage-deflate",
        "permessage-deflate; client_max_window_bits",
        "permessage-deflate; server_max_window_bits=7",
        "foo, permessage-deflate; server_no_context_takeover; server_max_window_bits=10",
    ],
)
def test_websocket_extensions_are_negotiated_alike(ports: tuple[int, int], offer: str) -> None:
    heads: list[bytes] = []
    for port in ports:
        version = json.loads(ask(port, "GET /json/version", {"Host": f"127.0.0.1:{port}"})[1])
        path = version["webSocketDebuggerUrl"].partition(f":{port}")[2]
        headers = {"Host": f"127.0.0.1:{port}", **UPGRADE, "Sec-WebSocket-Extensions": offer}
        heads.append(ask(port, f"GET {path}", headers)[0])
    assert heads[1] == heads[0]
    assert heads[0].startswith(b"HTTP/1.1 101 ")
