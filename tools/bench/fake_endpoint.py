"""A small, fast CDP endpoint on the standard library alone, so that a measurement contains no browser.

    python fake_endpoint.py [--port N] [--pipe]

It replies to every command with a canned result, and floods its clients with events on request.

* GET /json/version, /json/list: discovery, as in Chromium.
* ws://…/devtools/browser/fake: the browser socket; any other path works too.
* `--pipe`: NUL-delimited JSON, in on fd 3, out on fd 4; HTTP still serves requests for floods.
* Runtime.evaluate of `'x'.repeat(N)`: a string of N characters. Target.attachToTarget: a new flat session.
* GET /emit?n=&k=&shape=: sends n events round-robin over the first k sessions of each client with sessions (k=0: no
  session), and responds when they are written. GET /prepare with the same query: builds them beforehand.

One blocking thread per connection: under load only one is busy, so a round trip costs the endpoint about 10 us.
It offers no permessage-deflate; Chromium does.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import hashlib
import itertools
import json
import os
import re
import socket
import threading
import urllib.parse
from collections.abc import Callable
from typing import Any

from fake_messages import BROWSER_TARGET, CANNED, TARGET, flood, frame_head, frame_tree, repeated, session_id, wrap

READ_SIZE = 262144
PIPE_IN, PIPE_OUT = 3, 4
ID = re.compile(rb'"id"\s*:\s*(\d+)')
METHOD = re.compile(rb'"method"\s*:\s*"([^"]+)"')
SESSION = re.compile(rb'"sessionId"\s*:\s*"([^"]+)"')
ATTACHED = re.compile(rb'"targetId"\s*:\s*"([^"]+)"')
REPEAT = re.compile(rb"'(.)'\.repeat\((\d+)\)")


class Client:
    """One client connection: it makes replies and counts its sessions."""

    everyone: set[Client]

    def __init__(self, write: Callable[[bytes], Any], *, pipe: bool) -> None:
        self._write, self._pipe = write, pipe
        self._writing = threading.Lock()
        self._numbers = itertools.count()
        self._targets: dict[bytes, str] = {}
        self.opened = 0

    def write(self, *parts: bytes) -> None:
        """Write the parts of one or more whole messages."""
        with self._writing:
            for part in parts:
                self._write(part)

    def flood(self, n: int, k: int, shape: str) -> None:
        """Send a flood, and stop if the client disconnects."""
        with contextlib.suppress(OSError):
            for chunk in flood(n, k, shape, pipe=self._pipe):
                self.write(chunk)

    def reply(self, message: bytes) -> bytes:
        """Return the reply; empty for a big result, which is written immediately, without a copy."""
        found = ID.search(message)
        if not found:
            return b""
        number = found[1]
        session = SESSION.search(message)
        method = METHOD.search(message)
        name = method[1] if method else b""
        before = b""
        end = b',"sessionId":"%s"}' % session[1] if session else b"}"
        if name == b"Runtime.evaluate" and (repeat := REPEAT.search(message)):
            self._reply_big(number, repeat, end)
            return b""
        if name in (b"Target.attachToTarget", b"Target.attachToBrowserTarget"):
            opened = session_id(next(self._numbers)).encode()
            self.opened += 1
            info = TARGET if name == b"Target.attachToTarget" else BROWSER_TARGET
            if (named := ATTACHED.search(message)) is not None:
                self._targets[opened] = named[1].decode()
                info = info.replace('"T1"', f'"{self._targets[opened]}"')
            before = wrap(
                b'{"method":"Target.attachedToTarget","params":{"sessionId":"%s","targetInfo":%s,'
                b'"waitingForDebugger":false}}' % (opened, info.encode()),
                pipe=self._pipe,
            )
            result, end = b'{"sessionId":"%s"}' % opened, b"}"
        else:
            if name == b"Target.setDiscoverTargets":
                created = b'{"method":"Target.targetCreated","params":%s}' % CANNED[b"Target.getTargetInfo"]
                before = wrap(created, pipe=self._pipe)
            result = CANNED.get(name, b"{}")
            if session and name == b"Page.getFrameTree":
                result = frame_tree(self._targets.get(session[1], "T1"))
        return before + wrap(b'{"id":%s,"result":%s%s' % (number, result, end), pipe=self._pipe)

    def _reply_big(self, number: bytes, repeat: re.Match[bytes], end: bytes) -> None:
        head = b'{"id":%s,"result":{"result":{"type":"string","value":"' % number
        body = repeated(repeat[1], int(repeat[2]))
        tail = b'"}}' + end
        if self._pipe:
            self.write(head, body, tail + b"\0")
        else:
            self.write(frame_head(len(head) + len(body) + len(tail)) + head, body, tail)


Client.everyone = set()


def flood_everyone(n: int, k: int, shape: str) -> None:
    """Flood each client; with k above 0, only those with sessions, if any client has some."""
    clients = list(Client.everyone)
    some_have_sessions = any(client.opened for client in clients)
    for client in clients:
        if client.opened or not k or not some_have_sessions:
            client.flood(n, k, shape)


def take_frames(data: bytes, client: Client) -> tuple[bytes, list[bytes], bool]:
    """Return the unread rest, the replies to the complete frames, and True if the client closes."""
    replies: list[bytes] = []
    start, end = 0, len(data)
    while end - start >= 6:
        opcode, size, at = data[start] & 15, data[start + 1] & 127, start + 2
        if size == 126:
            size, at = int.from_bytes(data[at : at + 2], "big"), at + 2
        elif size == 127:
            size, at = int.from_bytes(data[at : at + 8], "big"), at + 8
        if end - at < 4 + size:
            break
        mask, masked = data[at : at + 4], data[at + 4 : at + 4 + size]
        start = at + 4 + size
        pattern = int.from_bytes((mask * (size // 4 + 1))[:size], "big")
        payload = (int.from_bytes(masked, "big") ^ pattern).to_bytes(size, "big")
        if opcode == 8:
            return b"", [bytes((0x88, size)) + payload], True
        if opcode == 9:
            replies.append(bytes((0x8A, size)) + payload)
        elif opcode in (1, 2):
            replies.append(client.reply(payload))
    return data[start:], replies, False


def serve_websocket(connection: socket.socket, rest: bytes) -> None:
    """Reply to frames until either side closes."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    client = Client(connection.sendall, pipe=False)
    Client.everyone.add(client)
    closing = False
    try:
        while not closing:
            rest, replies, closing = take_frames(rest, client)
            if replies:
                client.write(b"".join(replies))
            if not closing:
                data = connection.recv(READ_SIZE)
                if not data:
                    return
                rest = rest + data if rest else data
    except OSError:
        pass
    finally:
        Client.everyone.discard(client)
        connection.close()


def serve_pipe() -> None:
    """Reply to messages on the two fds, and exit the program when they end."""

    def write(data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(PIPE_OUT, view) :]

    client = Client(write, pipe=True)
    Client.everyone.add(client)
    rest = b""
    while data := os.read(PIPE_IN, READ_SIZE):
        *messages, rest = (rest + data).split(b"\0")
        if messages:
            client.write(b"".join(map(client.reply, messages)))
    os._exit(0)


def answer_http(path: str, ws: str) -> Any:
    """Return the JSON response to a plain GET."""
    url = urllib.parse.urlsplit(path)
    query = dict(urllib.parse.parse_qsl(url.query))
    if url.path in ("/emit", "/prepare"):
        n, k, shape = int(query["n"]), int(query["k"]), query["shape"]
        if url.path == "/emit":
            flood_everyone(n, k, shape)
        else:
            flood(n, k, shape, pipe=bool(query.get("pipe")))
        return {}
    if url.path.startswith("/json/version"):
        return {
            "Browser": "Chrome/156.0.0.0",
            "Protocol-Version": "1.3",
            "User-Agent": "fake",
            "webSocketDebuggerUrl": ws,
        }
    return [{**json.loads(TARGET), "id": "T1", "webSocketDebuggerUrl": ws.replace("browser/fake", "page/T1")}]


def serve(connection: socket.socket, ws: str) -> None:
    """Serve one connection: an upgrade to a WebSocket, or one plain request."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        if not more:
            connection.close()
            return
        data += more
    head, _, rest = data.partition(b"\r\n\r\n")
    request, *lines = head.decode().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    if "sec-websocket-key" in headers:
        key = headers["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        accept = base64.b64encode(hashlib.sha1(key.encode()).digest())
        connection.sendall(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Accept: %s\r\n\r\n" % accept
        )
        serve_websocket(connection, rest)
        return
    with connection, contextlib.suppress(OSError):
        body = json.dumps(answer_http(request.split()[1], ws)).encode()
        connection.sendall(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=UTF-8\r\n"
            b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        )


def main() -> None:
    """Listen until the program is killed."""
    parser = argparse.ArgumentParser(description="A fake CDP endpoint.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--pipe", "--remote-debugging-pipe", action="store_true")
    arguments = parser.parse_args()
    server = socket.create_server(("127.0.0.1", arguments.port), backlog=64)
    ws = f"ws://127.0.0.1:{server.getsockname()[1]}/devtools/browser/fake"
    if arguments.pipe:
        threading.Thread(target=serve_pipe, daemon=True).start()
    print(f"DevTools listening on {ws}", flush=True)
    while True:
        connection, _ = server.accept()
        threading.Thread(target=serve, args=(connection, ws), daemon=True).start()


if __name__ == "__main__":
    main()
