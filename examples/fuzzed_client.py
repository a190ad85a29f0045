"""A client program for `python -m cdp_core.testing fuzz`, to copy for testing a CDP client of your own.

    pip install cdp-supervisor[testing] websockets
    python -m cdp_core.testing fuzz --client "python examples/fuzzed_client.py {url}" --runs 200 --ask --faults legal

It watches the whole browser, answers every dialog with yes, and

* prints its view of the browser as `{"observed": {…}}` lines, which are compared with the truth
  (`cdp_core/testing/judge/observation.py`);
* carries out the questions on its standard input, one line `{"ask": {…}}` each;
* continues when a command is refused, and ends with 0 when its browser is gone, whatever went wrong before.

To test another client, replace `Link` by it and keep the rest.
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
    """The client under test: it numbers its commands with one counter per connection."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._last = 0

    async def send(self, session: str | None, method: str, params: Json | None = None) -> None:
        """Send a command without waiting for its reply."""
        self._last += 1
        message: Json = {"id": self._last, "method": method, "params": params or {}}
        await self._socket.send(json.dumps(message if session is None else {**message, "sessionId": session}))

    async def receive(self) -> Json:
        """Return the next message. Raises ConnectionClosed at the end."""
        message: Json = json.loads(await self._socket.recv())
        return message


class Watcher:
    """A user of the client: it watches all sessions and accepts every dialog."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self.parents: dict[str, str | None] = {}
        """The open sessions in the order of attaching, each with its parent session."""

    async def start(self) -> None:
        """Attach to all targets."""
        await self.link.send(None, "Target.setAutoAttach", WATCH)

    async def handle(self, method: str, params: Json, session: str | None) -> None:
        """Handle one event of the browser."""
        if method == "Target.attachedToTarget":
            await self._attached(params["sessionId"], params["targetInfo"]["type"], session)
        elif method == "Target.detachedFromTarget":
            self._end(params["sessionId"])
        elif method == "Page.javascriptDialogOpening":
            await self.link.send(session, "Page.handleJavaScriptDialog", {"accept": True})

    async def ask(self, question: Json) -> None:
        """Carry out a question on the n-th of the sessions."""
        session = [None, *self.parents][question["on"] % (len(self.parents) + 1)]
        if "method" in question:
            await self.link.send(session, question["method"], question["params"])
        elif session is not None:
            await self.link.send(self.parents[session], "Target.detachFromTarget", {"sessionId": session})

    def observed(self) -> Json:
        """Return the observation. It may have more parts; an absent part is not judged."""
        return {"sessions": [*self.parents]}

    async def _attached(self, session: str, kind: str, parent: str | None) -> None:
        self.parents[session] = parent
        if kind in ("page", "iframe"):
            await self.link.send(session, "Page.enable")
        await self.link.send(session, "Runtime.enable")
        await self.link.send(session, "Target.setAutoAttach", WATCH)
        await self.link.send(session, "Runtime.runIfWaitingForDebugger")  # last, and always

    def _end(self, session: str) -> None:
        """End a session and the sessions below it, for which no event comes."""
        self.parents.pop(session, None)
        for below in [each for each, parent in self.parents.items() if parent == session]:
            self._end(below)


async def obey(watcher: Watcher) -> None:
    """Carry out the questions on standard input until it ends."""
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    while line := await lines.readline():
        await watcher.ask(json.loads(line)["ask"])


async def main(url: str) -> None:
    """Watch until the browser is gone."""
    async with connect(url, max_size=None) as socket:
        watcher = Watcher(Link(socket))
        asked = asyncio.ensure_future(obey(watcher))
        try:
            await watcher.start()
            while True:
                message = await watcher.link.receive()
                if "method" in message:
                    await watcher.handle(message["method"], message.get("params", {}), message.get("sessionId"))
                    print(json.dumps({"observed": watcher.observed()}), flush=True)  # noqa: T201
        except ConnectionClosed:
            pass
        finally:
            asked.cancel()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
