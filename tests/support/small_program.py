"""A CDP client program on the standard library alone; its second argument selects a misbehaviour.

    python small_program.py ws://127.0.0.1:1234/devtools/browser/… well

It starts in a few hundredths of a second, which a campaign of many examples in a test suite needs. With `observes` it
prints its observations in the judge's format; with `asked` it executes the requests on its standard input.

Three misbehaviours show only under faults: `insists` requires results of its first commands, `counts answers` fails
on a repeated reply, and `believes all` fails on a repeated session.
"""

from __future__ import annotations

import json
import os
import select
import socket
import sys
import time

WAITING = {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True}


class Link:
    def __init__(self, url: str) -> None:
        at, _, path = url.removeprefix("ws://").partition("/")
        host, _, port = at.partition(":")
        self.socket = socket.create_connection((host, int(port)))
        self.socket.sendall(
            f"GET /{path} HTTP/1.1\r\nHost: {at}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        self.octets = b""
        while b"\r\n\r\n" not in self.octets:
            self.octets += self.socket.recv(1 << 16)
        self.octets = self.octets.partition(b"\r\n\r\n")[2]

    def send(self, content: bytes, first: int = 0x81) -> None:
        size = len(content)
        if size < 126:
            head = bytes((first, 0x80 | size))
        elif size < 1 << 16:
            head = bytes((first, 0x80 | 126)) + size.to_bytes(2, "big")
        else:
            head = bytes((first, 0x80 | 127)) + size.to_bytes(8, "big")
        self.socket.sendall(head + bytes(4) + content)

    def fill(self) -> None:
        chunk = self.socket.recv(1 << 16)
        if not chunk:
            raise EOFError
        self.octets += chunk

    def take(self, size: int) -> bytes:
        while len(self.octets) < size:
            self.fill()
        taken, self.octets = self.octets[:size], self.octets[size:]
        return taken

    def receive(self) -> dict:
        size = self.take(2)[1]
        if size == 126:
            size = int.from_bytes(self.take(2), "big")
        elif size == 127:
            size = int.from_bytes(self.take(8), "big")
        return json.loads(self.take(size))


class Client:
    def __init__(self, link: Link, how: str) -> None:
        self.link = link
        self.how = how
        self.number = 0
        self.sessions: list[str] = []
        self.above: dict[str, str | None] = {}
        self.waiting: set[int] = set()
        self.lines: list[str] = []
        self.asked = b""

    def send(self, method: str, params: dict | None = None, session: str | None = None) -> None:
        self.number += self.how != "same id" or self.number == 0
        message = {"id": self.number, "method": method, "params": params or {}}
        self.waiting.add(self.number)
        self.link.send(json.dumps({**message, "sessionId": session} if session else message).encode())

    def run(self) -> None:
        self.send("Target.setDiscoverTargets", {"discover": True})
        self.send("Target.setAutoAttach", WAITING)
        while True:
            if self.how == "asked" and not self.link.octets:
                self.listen()
                continue
            message = self.link.receive()
            self.reply(message)
            self.take(message.get("method"), message.get("params", {}), message.get("sessionId"))
            if self.how == "observes":
                print(json.dumps({"observed": {"sessions": self.sessions}}), flush=True)  # noqa: T201

    def listen(self) -> None:
        """Wait for the browser or for standard input, until that ends."""
        ready, _, _ = select.select([self.link.socket, sys.stdin], [], [])
        if sys.stdin in ready:
            octets = os.read(sys.stdin.fileno(), 1 << 16)
            self.how = self.how if octets else "well"
            *lines, self.asked = (self.asked + octets).split(b"\n")
            for line in lines:
                self.ask(json.loads(line)["ask"])
        if self.link.socket in ready:
            self.link.fill()

    def ask(self, question: dict) -> None:
        session = [None, *self.sessions][question["on"] % (len(self.sessions) + 1)]
        if "method" in question:
            self.send(question["method"], question["params"], session)
        elif session:
            self.send("Target.detachFromTarget", {"sessionId": session}, self.above[session])

    def reply(self, message: dict) -> None:
        if self.how == "insists" and message.get("id") in (1, 2):
            message["result"]
        if self.how == "counts answers" and "id" in message:
            self.waiting.remove(message["id"])

    def take(self, method: str | None, params: dict, session: str | None) -> None:
        if method == "Target.attachedToTarget":
            below = params["sessionId"]
            if self.how == "believes all" and below in self.sessions:
                sys.exit(7)
            self.sessions.append(below)
            self.above[below] = session
            if self.how == "thinks long":
                until = time.process_time() + 0.15
                while time.process_time() < until:
                    pass
            if self.how != "asks first":
                for each in ("Page.enable", "Runtime.enable"):
                    self.send(each, {}, below)
            self.send("Target.setAutoAttach", WAITING, below)
            if self.how != "forgets to resume":
                self.send("Runtime.runIfWaitingForDebugger", {}, below)
        elif method == "Target.detachedFromTarget" and params["sessionId"] in self.sessions:
            self.sessions.remove(params["sessionId"])
        elif method == "Page.javascriptDialogOpening" and self.how != "forgets to answer":
            self.send("Page.handleJavaScriptDialog", {"accept": True}, session)
        elif method == "Runtime.consoleAPICalled" and self.how == "reads the order":
            # Fails in only one of the two orders of the lines of two pages.
            self.lines.append(params["args"][0]["value"])
            if self.lines == ["second", "first"]:
                sys.exit(7)


def main() -> None:
    url, how = sys.argv[1], sys.argv[2]
    if how == "exits at once":
        return
    if how == "exits with 3":
        sys.exit(3)
    if how == "never connects":
        time.sleep(60)
    if how == "speaks no HTTP":
        at = url.removeprefix("ws://").partition("/")[0].split(":")
        with socket.create_connection((at[0], int(at[1]))) as link:
            link.sendall(b"\x16\x03\x01hello")
            link.recv(100)
        return
    if how == "listens to nobody":
        sys.stdin.close()
    link = Link(url)
    if how == "says nothing":
        link.socket.recv(100)
        return
    client = Client(link, how)
    if how == "never reads":
        client.send("Target.setDiscoverTargets", {"discover": True})
        time.sleep(60)
    if how == "leaves early":
        client.send("Browser.getVersion")
        return
    if how in ("garbage", "binary", "no frame", "200 MiB"):
        client.send("Browser.getVersion")
        link.receive()
    if how == "garbage":
        link.send(b"\x00\xff nonsense {")
    elif how == "binary":
        link.send(b"{}", 0x82)
    elif how == "no frame":
        link.socket.sendall(b"\xff" * 100)
    elif how == "200 MiB":
        try:
            link.send(b" " * (200 << 20))
        except OSError:
            return
    try:
        client.run()
    except (EOFError, ConnectionError):
        if how == "stays":
            time.sleep(60)
        if how == "waits for its user":
            sys.stdin.read()
        if how == "dies of a signal":
            os.kill(os.getpid(), 9)


if __name__ == "__main__":
    main()
