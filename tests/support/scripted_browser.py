"""A browser at the other end of a memory link that does only what the test scripts."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import trio

from cdp_core import BrowserSession, Json, MemoryTransport, memory_pair, open_browser_session


class Watched:
    """A transport that passes each write to the scripted browser immediately, as one write."""

    def __init__(self, inner: MemoryTransport, browser: ScriptedBrowser) -> None:
        self._inner, self._browser = inner, browser
        self.closes = 0

    async def receive(self) -> Sequence[bytes]:
        return await self._inner.receive()

    async def send(self, batch: Sequence[bytes], /) -> None:
        while self._browser.stalled:
            await self._browser.moved.wait()
        await self._inner.send(batch)
        self._browser.record(batch)

    async def aclose(self) -> None:
        self.closes += 1
        await self._inner.aclose()


class WatchedDirect(Watched):
    """The same with a direct write for a single command."""

    unsent = False

    def send_now(self, text: bytes, /) -> bool:
        if self._browser.breaks_next_write:
            self._browser.breaks_next_write = False
            raise trio.BrokenResourceError("the scripted browser took nothing")
        if self._browser.stalled or not self._inner.send_now(text):
            return False
        self._browser.record([text])
        return True


class ScriptedBrowser:
    """A browser that replies only by `rules`, a map from methods to functions of the command.

    While `stalled` is true it takes no bytes; `breaks_next_write` makes the next direct write raise.
    """

    def __init__(self, *, direct: bool = True) -> None:
        near, self._far = memory_pair()
        self.transport = (WatchedDirect if direct else Watched)(near, self)
        self.rules: dict[str, Callable[[Json], object]] = {}
        self.writes: list[list[Json]] = []
        self.commands: list[Json] = []
        self.stalled = self.breaks_next_write = False
        self.moved = trio.Event()

    @asynccontextmanager
    async def open(self, **options: Any) -> AsyncIterator[BrowserSession]:
        async with open_browser_session(self.transport, **options) as browser:
            yield browser

    # ── received commands ────────────────────────────────────────────────────────────────────────────────────────────

    def record(self, batch: Sequence[bytes]) -> None:
        commands = [json.loads(text) for text in batch]
        self.writes.append(commands)
        for command in commands:
            self.commands.append(command)
            self.rules.get(command["method"], lambda _command: None)(command)
        self._move()

    async def wait_for_command(self, method: str, count: int = 1) -> Json:
        """Wait for the count-th command of a method."""
        with trio.fail_after(5):
            while len(self.of(method)) < count:
                await self.moved.wait()
        return self.of(method)[count - 1]

    def of(self, method: str) -> list[Json]:
        return [command for command in self.commands if command["method"] == method]

    def methods(self) -> list[str]:
        return [command["method"] for command in self.commands]

    def flow(self) -> None:
        self.stalled = False
        self._move()

    def _move(self) -> None:
        moved, self.moved = self.moved, trio.Event()
        moved.set()

    # ── sent messages ────────────────────────────────────────────────────────────────────────────────────────────────

    def send(self, *messages: Json | bytes) -> None:
        for message in messages:
            self._far.send_now(message if isinstance(message, bytes) else json.dumps(message).encode())

    def reply(self, command: Json, result: Json | None = None) -> None:
        self.send({"id": command["id"], "result": result or {}} | _session(command.get("sessionId")))

    def refuse(self, command: Json, code: int = -32000, message: str = "no", **more: str) -> None:
        error = {"code": code, "message": message, **more}
        self.send({"id": command["id"], "error": error} | _session(command.get("sessionId")))

    def event(self, method: str, params: Json | None = None, session: str | None = None) -> None:
        # Chromium writes the method of an event first.
        self.send({"method": method, "params": params or {}} | _session(session))

    def attached(
        self, session: str, target: str = "T1", kind: str = "page", parent: str | None = None, *, waiting: bool = False
    ) -> None:
        info = {"targetId": target, "type": kind, "title": "", "url": "", "attached": True}
        params = {"sessionId": session, "targetInfo": info, "waitingForDebugger": waiting}
        self.event("Target.attachedToTarget", params, parent)

    def detached(self, session: str, parent: str | None = None) -> None:
        self.event("Target.detachedFromTarget", {"sessionId": session}, parent)

    async def hang_up(self) -> None:
        await self._far.aclose()


def _session(session: str | None) -> Json:
    return {} if session is None else {"sessionId": session}
