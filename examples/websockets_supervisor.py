"""A supervisor on asyncio: `SupervisorEngine` over the package `websockets`.

    pip install cdp-supervisor websockets
    python examples/websockets_supervisor.py ws://127.0.0.1:9222/devtools/browser/…

It opens a dialog in the first page, shows the open dialogs, accepts that one, and prints what the script made of the
answer. `Link` is the adapter; with another event loop or another WebSocket package it has the same parts.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, WebSocketException

from cdp_core.bindings import browser
from cdp_supervisor import (
    AwaitCall,
    BlockedByDialog,
    Evaluate,
    Instant,
    Reconnect,
    RespondToDialog,
    Snapshot,
    Stop,
    SupervisorEngine,
    TypedCall,
)


class Link:
    """The connection of an engine, and its clock."""

    def __init__(self, url: str, engine: SupervisorEngine) -> None:
        self.engine, self.answers, self.news = engine, dict[int, Any](), asyncio.Event()
        self._url, self._socket, self._sending = url, None, asyncio.Lock()

    async def run(self) -> None:
        """Connect whenever the engine wants it, and keep the time; cancel it to end."""
        await asyncio.gather(self._keep_link(), self._keep_time())

    async def _keep_link(self) -> None:
        while True:
            while not self.engine.wants_link:
                await self.news.wait()
            with suppress(OSError, WebSocketException):
                async with connect(self._url, max_size=None) as self._socket:
                    self.engine.link_up(now())
                    await self.write()
                    async for message in self._socket:
                        self.engine.receive(message, now())
                        await self.write()
            self.engine.link_down(self.engine.wants_end or "closed", now())
            await self.write()

    async def write(self) -> None:
        """Send what the engine has to send, take out its answers, and wake those that wait for news."""
        async with self._sending:  # in order, and over the connection that the messages are for
            socket, texts = self._socket, self.engine.outgoing()
            with suppress(ConnectionClosed):  # `_keep_link` notices it
                for text in texts:
                    await socket.send(text)
                if self.engine.wants_end:
                    await socket.close()
        self.answers.update(self.engine.answers())
        self.news.set()
        self.news = asyncio.Event()

    async def _keep_time(self) -> None:
        while True:
            deadline = self.engine.next_deadline()
            try:
                await asyncio.wait_for(self.news.wait(), deadline and deadline.at - now().mono)
            except asyncio.TimeoutError:
                self.engine.time_passed(now())
                await self.write()


def now() -> Instant:
    return Instant(mono=time.monotonic(), wall=time.time())


async def ask(link: Link, request: Any) -> Any:
    """Return the answer to a request, or raise its error."""
    number = link.engine.request(request, now())
    await link.write()
    while number not in link.answers:
        await link.news.wait()
    answer = link.answers.pop(number)
    if answer.error is not None:
        raise answer.error
    return answer.value


async def until(link: Link, condition: Callable[[Snapshot], bool]) -> Snapshot:
    """Return the first snapshot for which the condition is true."""
    while not condition(found := link.engine.snapshot()):
        if found.link.phase == "gave_up":
            raise ConnectionError("There is no connection to the browser; is the address right?")
        await link.news.wait()
    return found


async def visit(link: Link) -> None:
    """Open a dialog, show it, and answer it."""
    snapshot = await until(link, lambda found: any(not page.stale for page in found.pages))
    page = snapshot.pages[0].target_id
    version = await ask(link, TypedCall(command=browser.get_version(), target_id=page))
    print(f"connected to {version.product}")  # noqa: T201
    try:
        value = await ask(link, Evaluate(expression="confirm('Proceed?')", target_id=page))
    except BlockedByDialog as blocked:  # at once; the call itself ends after the dialog
        for dialog in link.engine.snapshot().pending_dialogs:
            print(f"{dialog.id}: {dialog.type} {dialog.message!r}")  # noqa: T201
        closed = await ask(link, RespondToDialog(action="accept", dialog_id=blocked.dialogs[0]))
        print(f"{closed.id}: closed by {closed.closed_by}")  # noqa: T201
        value = await ask(link, AwaitCall(call_id=blocked.call, timeout=10.0))
    print(f"the script got {value!r}")  # noqa: T201
    await ask(link, Stop())


async def main(url: str) -> None:
    """Supervise the browser at an address for the time of a visit."""
    link = Link(url, SupervisorEngine(reconnect=Reconnect(budget=2)))
    running = asyncio.create_task(link.run())
    try:
        await visit(link)
    finally:
        running.cancel()
        await asyncio.wait([running])


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
