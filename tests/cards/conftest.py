"""Runs the cards: Sybil makes one test of each fenced block of `docs/cdp`, named by its card.

A block marked `python` runs in memory, under a clock that jumps over every wait; one marked `python chromium` runs on a
real browser, started once for all of them. Both may `await` at their top level. Besides Python, their namespace holds
the `NAMES` that are made here and listed in `docs/cdp/INDEX.md`; a block imports everything else.
"""

from __future__ import annotations

import ast
import inspect
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from types import CodeType
from typing import Any

import pytest
import trio
from sybil import Example, Sybil
from sybil.parsers.markdown import CodeBlockParser
from trio.testing import MockClock, wait_all_tasks_blocked

from cdp_core import BrowserSession, Json, MemoryTransport, PageSession, memory_pair, open_browser_session
from cdp_core.testing import FakeBrowser, FakeTransport, Script
from cdp_supervisor import Supervisor, open_supervisor
from support.one_chromium import running_chromium

ROOT = Path(__file__).parents[2]
CARDS = ROOT / "docs" / "cdp"
LONGEST_BLOCK = 30.0
A_DAY = 86_400.0


# ── names for the blocks ──────────────────────────────────────────────────────────────────────────────────────────────


def packed(message: Json) -> bytes:
    """Encode a message as on the wire."""
    return json.dumps(message, separators=(",", ":")).encode()


def attached(session: str, target: str = "T", *, parent: str | None = None) -> Json:
    """The event with which a browser opens a session, on its parent session."""
    info = {"targetId": target, "type": "page", "title": "", "url": "", "attached": True}
    params = {"sessionId": session, "targetInfo": info, "waitingForDebugger": False}
    return _on(parent, {"method": "Target.attachedToTarget", "params": params})


def detached(session: str, *, parent: str | None = None) -> Json:
    """The event with which a browser ends a session."""
    return _on(parent, {"method": "Target.detachedFromTarget", "params": {"sessionId": session}})


def _on(session: str | None, message: Json) -> Json:
    return message if session is None else {**message, "sessionId": session}


class Peer:
    """The browser's end of a link in memory; it sends only the messages that a block gives it."""

    def __init__(self, end: MemoryTransport) -> None:
        self._end = end

    async def say(self, *messages: Json) -> None:
        """Send messages as one batch, and wait until they have been processed."""
        await self._end.send([packed(message) for message in messages])
        await wait_all_tasks_blocked()

    async def leave(self) -> None:
        """End the link as a browser that dies does."""
        await self._end.aclose()


@asynccontextmanager
async def in_memory(**options: Any) -> AsyncIterator[tuple[BrowserSession, Peer]]:
    """A session, and the peer at the other end of its link."""
    ours, theirs = memory_pair()
    async with open_browser_session(ours, **options) as browser:
        yield browser, Peer(theirs)


@asynccontextmanager
async def new_page(browser: BrowserSession, url: str = "about:blank") -> AsyncIterator[PageSession]:
    """A page of its own, closed at the end."""
    page = await browser.targets.create(url)
    try:
        yield page
    finally:
        with trio.move_on_after(5, shield=True):
            await browser.targets.close(page.target_id)


@asynccontextmanager
async def served(host: str) -> AsyncIterator[str]:
    """The address of a page without content, served by this host for the block."""

    async def respond(stream: trio.SocketStream) -> None:
        async with stream:
            await stream.receive_some()
            await stream.send_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 0\r\n\r\n")

    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(partial(trio.serve_tcp, respond, 0, host=host))
        yield f"http://{host}:{listeners[0].socket.getsockname()[1]}/"
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def supervised(
    played: Script | FakeBrowser | None = None, **options: Any
) -> AsyncIterator[tuple[Supervisor, FakeBrowser]]:
    """A supervisor and its fake browser (or one that plays this script), which answers each dial."""
    profile = options.pop("profile", "headless-new")
    fake = played if isinstance(played, FakeBrowser) else FakeBrowser(played, profile=profile)

    async def dial() -> FakeTransport:
        return FakeTransport(fake)

    async with open_supervisor(dial, **options) as supervisor:
        yield supervisor, fake


NAMES: Json = {
    "attached": attached,
    "detached": detached,
    "packed": packed,
    "in_memory": in_memory,
    "new_page": new_page,
    "served": served,
    "supervised": supervised,
}


# ── blocks as tests ───────────────────────────────────────────────────────────────────────────────────────────────────


def compiled(example: Example) -> CodeType:
    """Compile a block at the line numbers of its card, with top-level `await` allowed."""
    source = "\n" * (example.line + example.parsed.line_offset) + example.parsed
    return compile(source, example.path, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)


def evaluate(example: Example) -> None:
    """Run a block: in its own trio run if it awaits anything."""
    code, namespace = compiled(example), {"__name__": Path(example.path).stem, **NAMES, **example.namespace}
    if not code.co_flags & inspect.CO_COROUTINE:
        exec(code, namespace)
        return

    async def run(seconds: float) -> None:
        with trio.fail_after(seconds):
            await eval(code, namespace)

    if "chromium_url" in namespace:
        trio.run(run, LONGEST_BLOCK)
    else:  # it waits for nothing outside, so time in which every task waits is jumped over
        trio.run(run, A_DAY, clock=MockClock(autojump_threshold=0))


MEMORY, CHROMIUM = (CodeBlockParser(language, evaluate) for language in ("python", "python chromium"))


def blocks() -> Iterator[Any]:
    """Yield every block of every card, as a parameter."""
    for parser, marks in ((MEMORY, ()), (CHROMIUM, (pytest.mark.chromium,))):
        sybil = Sybil(parsers=[parser], pattern="*.md", path=str(CARDS))
        for path in sorted(CARDS.glob("*.md")):
            for example in sybil.parse(path):
                yield pytest.param(example, id=path.stem + ("-chromium" if marks else ""), marks=marks)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "block" in metafunc.fixturenames:
        metafunc.parametrize("block", list(blocks()))


@pytest.fixture
def compile_blocks() -> Callable[[Path], list[CodeType]]:
    """A function that compiles the Python blocks of any document."""

    def compile_all(path: Path) -> list[CodeType]:
        return [compiled(example) for example in Sybil(parsers=[MEMORY], path=str(path.parent)).parse(path)]

    return compile_all


# ── one Chromium for all blocks ──────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="session")
def chromium_url() -> Iterator[str]:
    """The WebSocket address of a Chromium that runs as long as the tests do."""
    with running_chromium() as url:
        yield url
