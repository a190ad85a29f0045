"""cdp-use or pydoll under a small watcher: a client program for `python -m cdp_core.testing fuzz`.

    python -m cdp_core.testing fuzz --client "PYTHON tests/ecosystem/fuzzed_watcher.py {url} cdp_use" --runs 200 --ask

The watcher is that of examples/fuzzed_client.py; its observations of commands and events are the library's: how each
command ended for its awaiter, how many are still awaited, how many events reached a callback. It does not forget
sessions for the library, nor give up commands that the library still waits for.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any

Json = dict[str, Any]
WATCH = {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True}
EVENTS = (
    "Target.attachedToTarget",
    "Target.detachedFromTarget",
    "Page.javascriptDialogOpening",
    "Page.javascriptDialogClosed",
    "Page.frameNavigated",
    "Runtime.consoleAPICalled",
)
Take = Callable[[str, Json, str | None], None]


async def ending(work: asyncio.Future[Any], *, refused: type[Exception], gone: type[Exception]) -> str:
    """Return how a command ended for its awaiter."""
    try:
        await work
    except refused:
        return "refused"
    except gone:
        return "gone"
    return "result"


class CdpUse:
    """The adapter for cdp-use's CDPClient."""

    def __init__(self, url: str, take: Take) -> None:
        from cdp_use.client import CDPClient

        self._client = CDPClient(url)
        for event in EVENTS:
            self._client._event_registry.register(
                event, lambda params, session, event=event: take(event, params, session)
            )

    async def open(self) -> None:
        await self._client.start()

    async def send(self, session: str | None, method: str, params: Json, sent: Callable[[int], None]) -> str:
        work = asyncio.ensure_future(self._client.send_raw(method, params, session))
        await asyncio.sleep(0)  # it is written in the first step of the task
        sent(self._client.msg_id)
        return await ending(work, refused=RuntimeError, gone=ConnectionError)

    async def wait_end(self) -> None:
        await self._client._message_handler_task


class Pydoll:
    """The adapter for pydoll's ConnectionHandler."""

    def __init__(self, url: str, take: Take) -> None:
        from pydoll.connection.connection_handler import ConnectionHandler

        self._link = ConnectionHandler(ws_address=url)
        self._take = take

    async def open(self) -> None:
        for event in EVENTS:
            await self._link.register_callback(
                event, lambda message: self._take(message["method"], message["params"], message.get("sessionId"))
            )
        await self._link._ensure_active_connection()

    async def send(self, session: str | None, method: str, params: Json, sent: Callable[[int], None]) -> str:
        from pydoll.exceptions import CommandFailed, WebSocketConnectionClosed

        command = {"method": method, "params": params, **({} if session is None else {"sessionId": session})}
        work = asyncio.ensure_future(self._link.execute_command(command))
        await asyncio.sleep(0)  # it gets its id in the first step of the task
        sent(command["id"])
        return await ending(work, refused=CommandFailed, gone=WebSocketConnectionClosed)

    async def wait_end(self) -> None:
        await self._link._receive_task


class Watcher:
    """The watcher that a user would write on either library."""

    def __init__(self, library: type[CdpUse | Pydoll], url: str) -> None:
        self.link = library(url, self.take)
        self.above: dict[str, str | None] = {}
        self.ended: list[Json] = []
        self.waiting = 0
        self.heard: Counter[str] = Counter()
        self._work: set[asyncio.Task[Any]] = set()
        self._next: asyncio.Queue[tuple[str | None, str, Json]] = asyncio.Queue()

    def send(self, session: str | None, method: str, params: Json | None = None) -> None:
        self._next.put_nowait((session, method, params or {}))

    async def write(self) -> None:
        """Write commands in the order of sending; await each on its own."""
        while True:
            command = await self._next.get()
            written = asyncio.Event()
            task = asyncio.ensure_future(self._command(*command, written))
            self._work.add(task)
            task.add_done_callback(self._work.discard)
            await written.wait()

    async def _command(self, session: str | None, method: str, params: Json, written: asyncio.Event) -> None:
        numbers: list[int] = []

        def sent(number: int) -> None:
            numbers.append(number)
            written.set()
            self.say()

        self.waiting += 1
        try:
            outcome = await self.link.send(session, method, params, sent)
        finally:
            written.set()
        self.waiting -= 1
        self.ended += [{"session": session, "id": number, "outcome": outcome} for number in numbers]
        self.say()

    def take(self, method: str, params: Json, session: str | None) -> None:
        self.heard[method] += 1
        if method == "Target.attachedToTarget":
            self._attached(params["sessionId"], params["targetInfo"]["type"], session)
        elif method == "Target.detachedFromTarget":
            self._end(params["sessionId"])
        elif method == "Page.javascriptDialogOpening":
            self.send(session, "Page.handleJavaScriptDialog", {"accept": True})
        self.say()

    def ask(self, question: Json) -> None:
        session = [None, *self.above][question["on"] % (len(self.above) + 1)]
        if "method" in question:
            self.send(session, question["method"], question["params"])
        elif session is not None:
            self.send(self.above[session], "Target.detachFromTarget", {"sessionId": session})

    def say(self) -> None:
        heard = {event: self.heard[event] for event in EVENTS}
        shown = {"sessions": [*self.above], "commands": self.ended, "unanswered": self.waiting, "heard": heard}
        print(json.dumps({"observed": shown}), flush=True)  # noqa: T201

    def _attached(self, session: str, kind: str, above: str | None) -> None:
        self.above[session] = above
        if kind in ("page", "iframe"):
            self.send(session, "Page.enable")
        self.send(session, "Runtime.enable")
        self.send(session, "Target.setAutoAttach", WATCH)
        self.send(session, "Runtime.runIfWaitingForDebugger")

    def _end(self, session: str) -> None:
        self.above.pop(session, None)
        for below in [each for each, above in self.above.items() if above == session]:
            self._end(below)


async def obey(watcher: Watcher) -> None:
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    while line := await lines.readline():
        watcher.ask(json.loads(line)["ask"])


async def main(url: str, library: str) -> None:
    logging.disable(logging.CRITICAL)
    watcher = Watcher({"cdp_use": CdpUse, "pydoll": Pydoll}[library], url)
    await watcher.link.open()
    work = [asyncio.ensure_future(each) for each in (watcher.write(), obey(watcher))]
    watcher.send(None, "Target.setAutoAttach", WATCH)
    with suppress(Exception):
        await watcher.link.wait_end()
    for each in work:
        each.cancel()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:3]))
