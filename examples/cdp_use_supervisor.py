"""A supervisor on the connection of a cdp-use client; neither gets the replies of the other.

    pip install cdp-supervisor cdp-use
    python examples/cdp_use_supervisor.py ws://127.0.0.1:9222/devtools/browser/…

The client opens a dialog and waits for its script; the supervisor shows the dialog and accepts it. `SharedSocket` is the
adapter. The client attaches to the pages: the engine follows its sessions (`sessions="adopt"`).
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from cdp_use.client import CDPClient
from websockets.exceptions import ConnectionClosed

from cdp_supervisor import Evaluate, Instant, RespondToDialog, Snapshot, SupervisorEngine

FIRST_ID = 1_000_000
"""The ids of the engine's commands begin here; those of the client stay below."""


class SharedSocket:
    """The client's socket with an engine on it: a reply to the engine goes to it alone, all else to both."""

    def __init__(self, socket: Any, engine: SupervisorEngine) -> None:
        self.engine, self.answers, self.news = engine, dict[int, Any](), asyncio.Event()
        self._socket, self._sending = socket, asyncio.Lock()
        self.send, self.close = socket.send, socket.close

    async def recv(self) -> Any:
        """Return the next message for the client."""
        while True:
            try:
                message = await self._socket.recv()
            except ConnectionClosed:
                self.engine.link_down("closed", now(), final=True)
                await self.write()
                raise
            ours = self.engine.receive(message, now())
            await self.write()
            if not ours:
                return message

    async def write(self) -> None:
        """Send what the engine has to send, take out its answers, and wake those that wait for news."""
        async with self._sending:  # in order
            with suppress(ConnectionClosed):  # `recv` notices it
                for text in self.engine.outgoing():
                    await self._socket.send(text)
                if self.engine.wants_end:
                    await self._socket.close()
        self.answers.update(self.engine.answers())
        self.news.set()
        self.news = asyncio.Event()

    async def keep_time(self) -> None:
        """Wake the engine at its deadlines; cancel it to end."""
        while True:
            deadline = self.engine.next_deadline()
            try:
                await asyncio.wait_for(self.news.wait(), deadline and deadline.at - now().mono)
            except asyncio.TimeoutError:
                self.engine.time_passed(now())
                await self.write()


def now() -> Instant:
    return Instant(mono=time.monotonic(), wall=time.time())


async def ask(shared: SharedSocket, request: Any) -> Any:
    """Return the answer to a request, or raise its error."""
    number = shared.engine.request(request, now())
    await shared.write()
    while number not in shared.answers:
        await shared.news.wait()
    answer = shared.answers.pop(number)
    if answer.error is not None:
        raise answer.error
    return answer.value


async def until(shared: SharedSocket, condition: Callable[[Snapshot], bool]) -> Snapshot:
    """Return the first snapshot for which the condition is true."""
    while not condition(found := shared.engine.snapshot()):
        if found.link.phase == "gave_up":
            raise ConnectionError("The connection to the browser has ended.")
        await shared.news.wait()
    return found


async def visit(client: CDPClient, shared: SharedSocket) -> None:
    """Let the client open a dialog, and the supervisor answer it."""
    wanted = {"autoAttach": True, "waitForDebuggerOnStart": False, "flatten": True}
    await client.send.Target.setAutoAttach(params=wanted)  # type: ignore[arg-type]
    snapshot = await until(shared, lambda found: any(not page.stale for page in found.pages))
    page = snapshot.pages[0]
    script = {"expression": "confirm('Proceed?')", "returnByValue": True}
    asked = asyncio.create_task(client.send.Runtime.evaluate(params=script, session_id=page.session_id))  # type: ignore[arg-type]
    [dialog] = (await until(shared, lambda found: bool(found.pending_dialogs))).pending_dialogs
    print(f"{dialog.id}: {dialog.type} {dialog.message!r}")  # noqa: T201
    closed = await ask(shared, RespondToDialog(action="accept", dialog_id=dialog.id))
    print(f"{closed.id}: closed by {closed.closed_by}")  # noqa: T201
    print(f"the client got {(await asked)['result'].get('value')!r}")  # noqa: T201
    print(f"the supervisor got {await ask(shared, Evaluate(expression='1 + 2', target_id=page.target_id))!r}")  # noqa: T201


async def main(url: str) -> None:
    """Share a client's connection for the time of a visit."""
    client = CDPClient(url)
    await client.start()
    shared = SharedSocket(client.ws, SupervisorEngine(first_command_id=FIRST_ID, sessions="adopt"))
    client.ws = shared  # type: ignore[assignment]  # its reader has not begun to read: nothing was awaited since
    clock = asyncio.create_task(shared.keep_time())
    try:
        shared.engine.link_up(now())
        await shared.write()
        await visit(client, shared)
    finally:
        clock.cancel()
        await client.stop()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
