"""A client program for `python -m cdp_core.testing fuzz`: what it takes to have a CDP client looked through from outside.

    pip install cdp-supervisor[testing] websockets
    python -m cdp_core.testing fuzz --client "python examples/fuzzed_client.py {url}" --runs 200 --ask --faults legal

It watches the whole browser, answers every dialog with yes, and

* prints what it believes as `{"observed": {…}}` lines, which are compared with the truth (`cdp_core/testing/judge/observation.py`);
* does what it is asked over its standard input, a line `{"ask": {…}}` each;
* goes on when a command is refused, and ends with 0 when its browser has gone, whatever went wrong before.

To look through another client, put it in the place of `Link`, and let the rest stand.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

Json = dict[str, Any]
WATCH = {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True}


class Link:
    """The client that is tested: one table of commands by an id of the connection's own."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._last = 0

    async def send(self, session: str | None, method: str, params: Json | None = None) -> None:
        """Send a command; nothing here waits for its answer."""
        self._last += 1
        message: Json = {"id": self._last, "method": method, "params": params or {}}
        await self._socket.send(json.dumps(message if session is None else {**message, "sessionId": session}))

    async def receive(self) -> Json:
        """The next message. Raises ConnectionClosed at the end."""
        message: Json = json.loads(await self._socket.recv())
        return message


class Watcher:
    """What a user makes of it."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self.above: dict[str, str | None] = {}
        """The sessions that are open, in the order of attaching, each with the one above it."""

    async def start(self) -> None:
        """Watch everything."""
        await self.link.send(None, "Target.setAutoAttach", WATCH)

    async def take(self, method: str, params: Json, session: str | None) -> None:
        """The browser said this."""
        if method == "Target.attachedToTarget":
            await self._attached(params["sessionId"], params["targetInfo"]["type"], session)
        elif method == "Target.detachedFromTarget":
            self._end(params["sessionId"])
        elif method == "Page.javascriptDialogOpening":
            await self.link.send(session, "Page.handleJavaScriptDialog", {"accept": True})

    async def ask(self, question: Json) -> None:
        """The user wants this, on the n-th of the sessions."""
        session = [None, *self.above][question["on"] % (len(self.above) + 1)]
        if "method" in question:
            await self.link.send(session, question["method"], question["params"])
        elif session is not None:
            await self.link.send(self.above[session], "Target.detachFromTarget", {"sessionId": session})

    def observed(self) -> Json:
        """What it believes. More can be said; of what is not said, nothing is asked."""
        return {"sessions": [*self.above]}

    async def _attached(self, session: str, kind: str, above: str | None) -> None:
        self.above[session] = above
        if kind in ("page", "iframe"):
            await self.link.send(session, "Page.enable")
        await self.link.send(session, "Runtime.enable")
        await self.link.send(session, "Target.setAutoAttach", WATCH)
        await self.link.send(session, "Runtime.runIfWaitingForDebugger")  # last, and always

    def _end(self, session: str) -> None:
        """Those below end with it, and nothing is said of them."""
        self.above.pop(session, None)
        for below in [each for each, above in self.above.items() if above == session]:
            self._end(below)


async def obey(watcher: Watcher) -> None:
    """Do what is asked over standard input, until that ends."""
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    while line := await lines.readline():
        await watcher.ask(json.loads(line)["ask"])


async def main(url: str) -> None:
    """Watch until the browser has gone."""
    async with connect(url, max_size=None) as socket:
        watcher = Watcher(Link(socket))
        asked = asyncio.ensure_future(obey(watcher))
        try:
            await watcher.start()
            while True:
                message = await watcher.link.receive()
                if "method" in message:
                    await watcher.take(message["method"], message.get("params", {}), message.get("sessionId"))
                    print(json.dumps({"observed": watcher.observed()}), flush=True)  # noqa: T201
        except ConnectionClosed:
            pass
        finally:
            asked.cancel()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
