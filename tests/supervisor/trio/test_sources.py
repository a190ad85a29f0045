"""Every event source gives the same states: one scenario, one schedule, one list of states.

The pure pump makes the schedule and runs first; then the memory transport, a real WebSocket, and a pipe with a
borrowed session. Compared is N(snapshot) of every published state, with consecutive duplicates collapsed: times, ages,
sequence numbers and the ownership of the link are left out; ids come from the fake, and one seed gives the same ids.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
import trio.testing

from cdp_core import open_browser_session
from cdp_core.testing import FakeBrowser, FakeTransport, serve_fake_browser
from cdp_core.testing.pipe import serve_pipe
from cdp_core.testing.schedules import Ask, Schedule
from cdp_core.testing.simulation import Pump
from cdp_supervisor import Call, Instant, RespondToDialog, Snapshot, Supervisor, SupervisorEngine
from cdp_supervisor.driver import Driver, LinkOptions
from cdp_supervisor.sansio.console import ConsoleRing
from cdp_supervisor.sansio.state import State, initial_state

SHOP = "https://shop.example/"


def evaluate(expression: str) -> Call:
    return Call(method="Runtime.evaluate", params={"expression": expression, "returnByValue": True})


ASKS: dict[str, Any] = {
    "shop": Call(method="Page.navigate", params={"url": SHOP}),
    "ask": evaluate("ask()"),
    "accept": RespondToDialog(action="accept", prompt_text="me"),
    "both": evaluate("both()"),
    "dismiss": RespondToDialog(action="dismiss"),
    "framed": evaluate("framed()"),
    "alone": evaluate("open_alone()"),
}
SCENARIOS = {
    "dialogs": ("shop", "ask", "accept", "both", "dismiss", "accept"),
    "frames and pages": ("shop", "framed", "accept", "shop", "alone"),
}
TIMES = ("since", "opened_at", "closed_at", "at", "title_at", "sequence", "owned", "last_sent")


def normal(snapshot: Snapshot) -> Any:
    return without_times(snapshot.to_dict(full=True))


def without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_times(each) for name, each in value.items() if name not in TIMES}
    return [without_times(each) for each in value] if isinstance(value, (list, tuple)) else value


class States:
    """The N(snapshot) of every published state, with consecutive duplicates collapsed."""

    def __init__(self) -> None:
        self.seen: list[Any] = []
        self.news = trio.Event()

    def add(self, snapshot: Snapshot) -> None:
        found = normal(snapshot)
        if not self.seen or self.seen[-1] != found:
            self.seen.append(found)
        news, self.news = self.news, trio.Event()
        news.set()


class PureSupervisor:
    """A client of the pump around a `SupervisorEngine`."""

    def __init__(self) -> None:
        self.engine, self.states = SupervisorEngine(), States()
        self.end: Any = None
        self.marks: list[tuple[int, int]] = []
        """At each request: the number of states and of delivered messages before it."""
        runner = self.engine._runner
        runner.watch(lambda state: self.states.add(runner.view(state)))

    def take(self) -> list[bytes]:
        return [text.encode() for text in self.engine.outgoing()]

    def start(self) -> list[bytes]:
        self.engine.link_up(Instant(mono=0.0))
        return self.take()

    def receive(self, payload: bytes, /) -> list[bytes]:
        self.engine.receive(payload, Instant(mono=0.0))
        return self.take()

    def ask(self, question: Any, /) -> list[bytes]:
        self.marks.append((len(self.states.seen), self.end.delivered))
        self.engine.request(ASKS[question], Instant(mono=0.0))
        return self.take()


def pumped(script: Any, asks: tuple[str, ...], seed: int | None) -> tuple[PureSupervisor, Schedule, tuple[Any, ...]]:
    client = PureSupervisor()
    pump = Pump(FakeBrowser(script), [client], seed=seed, asks=[Ask(1, name) for name in asks])
    (client.end,) = pump.ends
    run = pump.run()
    assert run.quiet
    return client, run.schedule, tuple(payload for _, payload in run.received)


# ── the event sources ─────────────────────────────────────────────────────────────────────────────────────────────────

Source = Callable[[FakeBrowser, Schedule], Any]


@asynccontextmanager
async def memory(fake: FakeBrowser, schedule: Schedule) -> Any:
    async def dial() -> FakeTransport:
        return FakeTransport(fake, schedule=schedule)

    yield dial


@asynccontextmanager
async def websocket(fake: FakeBrowser, _schedule: Schedule) -> Any:
    async with serve_fake_browser(fake) as endpoint:
        yield endpoint.ws_url


class OwnPipe:
    """A transport over a pipe whose other end is in this process."""

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self._in, self._out = trio.lowlevel.FdStream(read_fd), trio.lowlevel.FdStream(write_fd)
        self._begun = b""

    async def receive(self) -> list[bytes]:
        while True:
            chunk = bytes(await self._in.receive_some(1 << 16))
            if not chunk:
                raise trio.EndOfChannel
            *whole, self._begun = (self._begun + chunk).split(b"\0")
            if whole:
                return whole

    async def send(self, batch: Any, /) -> None:
        await self._out.send_all(b"".join(text + b"\0" for text in batch))

    async def aclose(self) -> None:
        await self._out.aclose()
        await self._in.aclose()


@asynccontextmanager
async def pipe(fake: FakeBrowser, _schedule: Schedule) -> Any:
    their_read, our_write = os.pipe()
    our_read, their_write = os.pipe()
    async with trio.open_nursery() as nursery:

        @nursery.start_soon
        async def _serve() -> None:
            await serve_pipe(fake, read_fd=their_read, write_fd=their_write)

        async with open_browser_session(OwnPipe(our_read, our_write)) as browser:
            yield browser


async def driven(
    address: Any,
    fake: FakeBrowser,
    asks: tuple[str, ...],
    pure: PureSupervisor,
    until: Callable[[int, int], Awaitable[None]],
) -> list[Any]:
    """Make the same requests of the driver, each after as many states and messages as in the pure run."""
    driver = Driver(initial_state(extensions=(ConsoleRing(),)), address, LinkOptions(headers={}, ssl_context=None))
    states = States()

    def watch(state: State) -> None:
        states.add(driver.runner.view(state))

    driver.runner.watch(watch)

    async def reach(count: int, delivered: int) -> None:
        while len(states.seen) < count or 1 not in fake._ends or fake._ends[1].delivered < delivered:
            await until(count, delivered)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(driver.run, driver.keep_link)
        nursery.start_soon(driver.run, driver.keep_time)
        supervisor = Supervisor(driver)
        try:
            for name, (count, delivered) in zip(asks, pure.marks, strict=True):
                await reach(count, delivered)
                driver.request_nowait(ASKS[name])
            await reach(len(pure.states.seen), pure.end.delivered)
            found = list(states.seen)
            assert supervisor.snapshot()
            await driver.stop()
        finally:
            driver.end()
    return found


@pytest.mark.parametrize("source", [memory, websocket, pipe], ids=lambda each: each.__name__)
@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("seed", [None, 1, 2], ids=str)
async def test_every_source_gives_the_same_states(site: Any, source: Any, scenario: str, seed: int | None) -> None:
    asks = SCENARIOS[scenario]
    pure, schedule, received = pumped(site.fake.script, asks, seed)
    assert len(pure.marks) == len(asks)
    fake = FakeBrowser(site.fake.script, schedule=schedule)

    async def soon(_count: int, _delivered: int) -> None:
        await trio.sleep(0.001)

    with trio.fail_after(15):
        async with source(fake, schedule) as address:
            found = await driven(address, fake, asks, pure, soon)
    assert len(found) > 15
    for number, (mine, wanted) in enumerate(zip(found, pure.states.seen, strict=False)):
        assert mine == wanted, number
    assert len(found) == len(pure.states.seen)
    sent = [(each.method, each.session_id) for each in fake.commands[: len(received)]]
    assert len(sent) == len(received)
    fake.assert_clean()


async def test_the_driver_and_the_engine_write_the_same_bytes(site: Any) -> None:
    """Byte for byte, ids included, in the same order."""
    asks = SCENARIOS["frames and pages"]
    pure, schedule, received = pumped(site.fake.script, asks, None)
    fake = FakeBrowser(site.fake.script)
    written: list[bytes] = []

    class Recorder(FakeTransport):
        def send_now(self, text: bytes, /) -> bool:
            written.append(bytes(text))
            return super().send_now(text)

    async def dial() -> FakeTransport:
        return Recorder(fake, schedule=schedule)

    async def soon(_count: int, _delivered: int) -> None:
        await trio.sleep(0.001)

    with trio.fail_after(15):
        await driven(dial, fake, asks, pure, soon)
    assert written[: len(received)] == list(received)
