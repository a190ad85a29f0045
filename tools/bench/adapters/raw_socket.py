"""A plain socket with prebuilt frames, shared by the limits; only a frame's length is parsed."""

from __future__ import annotations

import contextlib
import re
import socket
import urllib.parse

from fake_messages import flood
from job import Job


def mask_frame(payload: bytes) -> bytes:
    """Return a client's frame with the mask key 0, which needs no xor."""
    size = len(payload)
    head = bytes((0x81, 128 | size)) if size < 126 else b"\x81\xfe" + size.to_bytes(2, "big")
    return head + bytes(4) + payload


def frame_size(head: bytes | bytearray | memoryview) -> int:
    """Return the length of the server's frame that begins here, including its head."""
    size = head[1]
    if size < 126:
        return 2 + size
    if size == 126:
        return 4 + int.from_bytes(head[2:4], "big")
    return 10 + int.from_bytes(head[2:10], "big")


def open_socket(job: Job) -> socket.socket:
    """Connect and upgrade."""
    url = urllib.parse.urlsplit(job.ws)
    connection = socket.create_connection((url.hostname, url.port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.sendall(
        f"GET {url.path} HTTP/1.1\r\nHost: {url.netloc}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
    )
    assert b" 101 " in connection.recv(65536)
    return connection


def attach(job: Job) -> tuple[socket.socket, bytes]:
    """Connect, open the sessions, enable Runtime, and wait for silence; return the first session's id too."""
    connection = open_socket(job)
    first = b""
    for i in range(job.sessions):
        connection.sendall(
            mask_frame(
                b'{"id":1,"method":"Target.attachToTarget","params":{"targetId":"%s","flatten":true}}'
                % job.target(i).encode()
            )
        )
        received = b""
        while not (found := re.search(rb'"result":\{"sessionId":"([^"]+)"', received)):
            received += connection.recv(65536)
        first = first or found[1]
    connection.sendall(mask_frame(b'{"id":1,"method":"Runtime.enable","sessionId":"%s"}' % first))
    connection.settimeout(0.3)
    with contextlib.suppress(TimeoutError):
        while connection.recv(65536):
            pass
    connection.settimeout(None)
    return connection, first


def command(session: bytes, expression: bytes = b"1+1") -> bytes:
    """Return a framed Runtime.evaluate."""
    return mask_frame(
        b'{"id":12345,"method":"Runtime.evaluate","params":{"expression":"%s","returnByValue":true},'
        b'"sessionId":"%s"}' % (expression, session)
    )


def flood_size(job: Job) -> int:
    """Return the number of bytes in the fake endpoint's flood."""
    return sum(map(len, flood(job.n, job.k, job.shape)))
