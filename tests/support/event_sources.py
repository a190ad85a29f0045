"""Three event sources that take the same happenings, turn by turn, and what each of them writes.

A run of the pure pump around `SupervisorEngine` is recorded as happenings: the link comes up or goes down, a message
arrives, time passes, a request is made. `written_by_functions` and `written_by_driver` take the same happenings; the
first calls the state machine and a router directly, the second is the trio driver on a transport that this module
controls, on its own link or on a borrowed one. Each result is a list with the texts that were written at each happening.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

import attrs
import trio
import trio.testing

from cdp_core import ConnectionLost, open_browser_session
from cdp_core.errors import CdpError
from cdp_core.sansio.fetch_arbiter import PAUSES
from cdp_core.sansio.fetch_claims import FetchClaims
from cdp_core.sansio.messages import Event, Refusal
from cdp_core.sansio.outcomes import Loss
from cdp_core.sansio.router import CommandDone, Router, SessionClosed, SessionOpened
from cdp_core.testing.fake.browser import FakeBrowser
from cdp_core.testing.schedules import Ask
from cdp_supervisor import driver as driver_module
from cdp_supervisor.driver import Driver, LinkOptions
from cdp_supervisor.performing import IGNORED, commands_of, session_input
from cdp_supervisor.sansio import effects
from cdp_supervisor.sansio.console import ConsoleRing
from cdp_supervisor.sansio.extensions import Extension
from cdp_supervisor.sansio.inputs import (
    BrowserEvent,
    CommandEnded,
    FetchEnded,
    FetchExpired,
    FetchPaused,
    Instant,
    LinkDown,
    LinkUp,
    NotSent,
    RequestReceived,
    TimePassed,
)
from cdp_supervisor.sansio.state import State, initial_state
from cdp_supervisor.sansio.step import take
from support.supervised_run import Supervised, SupervisedPump, WatchedEngine

Texts = list[bytes]


@attrs.frozen
class Happening:
    """One thing that happened to an event source: `kind` is `up`, `down`, `message`, `time` or `request`."""

    kind: str
    at: float
    content: Any = None


@attrs.define
class Recorded:
    """The happenings of a run, and what the engine wrote at each."""

    happenings: list[Happening] = attrs.field(factory=list)
    written: list[Texts] = attrs.field(factory=list)


class RecordingEngine(WatchedEngine):
    """An engine that keeps what happens to it and what it writes."""

    def __init__(self, recorded: Recorded, **options: Any) -> None:
        super().__init__(**options)
        self._recorded = recorded
        self._inside = False

    def _record(self, kind: str, at: Any, content: Any, act: Callable[[], Any]) -> Any:
        self._recorded.happenings.append(Happening(kind, at.mono, content))
        before = len(self._port.out)
        if kind in ("up", "down"):
            before = 0
        result = act()
        self._recorded.written.append(self._port.out[before:])
        return result

    def link_up(self, at: Any, **how: Any) -> None:
        act = super().link_up
        self._record("up", at, None, lambda: act(at, **how))

    def link_down(self, reason: str, at: Any, **how: Any) -> None:
        act = super().link_down
        self._record("down", at, reason, lambda: act(reason, at, **how))

    def receive(self, payload: Any, at: Any) -> bool:
        act = super().receive
        return bool(self._record("message", at, bytes(payload), lambda: act(payload, at)))

    def time_passed(self, at: Any) -> None:
        act = super().time_passed
        self._record("time", at, None, lambda: act(at))

    def request(self, request: Any, at: Any) -> int:
        act = super().request
        return int(self._record("request", at, request, lambda: act(request, at)))


class RecordingSupervised(Supervised):
    """A client of the pump around a `RecordingEngine`."""

    def __init__(self, fake: FakeBrowser, recorded: Recorded, **options: Any) -> None:
        super().__init__(fake)
        self.engine = RecordingEngine(recorded, keepalive=None, **options)


def record_run(
    script: Any,
    *,
    profile: str,
    asks: Iterable[Any],
    extensions: Sequence[Extension[Any]],
    seed: int | None,
    **options: Any,
) -> Recorded:
    """Run a script on the pure pump until nothing is left to do, and stop the supervisor at the end."""
    recorded = Recorded()
    supervised = RecordingSupervised(FakeBrowser(script, profile=profile), recorded, extensions=extensions, **options)
    asked = [Ask(1, each) for each in (*asks, {"stop": 1.5})]
    run = SupervisedPump(supervised, asks=asked, seed=seed, interrupt=True).run()
    assert run.quiet
    return recorded


def state_for(extensions: Sequence[Extension[Any]], options: dict[str, Any]) -> State:
    return initial_state(keepalive=None, extensions=(ConsoleRing(), *extensions), **options)


# ── the functions alone ──────────────────────────────────────────────────────────────────────────────────────────────


class Functions:
    """The state machine and a router, without the code that event sources share."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.router = Router()
        self.texts: Texts = []
        self.tickets: dict[int, int] = {}
        self.at = Instant(mono=0.0)
        self.inputs: list[Any] = []
        self.requests = 0
        self.fetch = FetchClaims(self.send, lambda: self.at.mono)
        self.claims: dict[tuple[str, str], Any] = {}

    def send(self, method: Any, params: Any, session_id: Any, waiter: Any, /) -> int:
        command_id, text = self.router.command(method, params, session_id, waiter)
        self.texts.append(text)
        return command_id

    def feed(self, make: Any, **fields: Any) -> None:
        self.inputs.append(make(at=self.at, generation=self.state.generation, **fields))
        if len(self.inputs) > 1:
            return
        while self.inputs:
            self.state, orders = take(self.state, self.inputs[0])
            for order in orders:
                self.perform(order)
            self.inputs.pop(0)

    def perform(self, order: Any) -> None:
        if isinstance(order, effects.Send):
            try:
                command_id, text = self.router.command(order.method, order.params, order.session_id)
            except CdpError as error:
                if order.ticket:
                    self.feed(CommandEnded, ticket=order.ticket, outcome=NotSent(error=error))
                return
            self.texts.append(text)
            self.tickets[command_id] = order.ticket
        elif isinstance(order, (effects.ClaimFetch, effects.AnswerFetch, effects.ReleaseFetch)):
            self.claim(order)
        elif isinstance(order, effects.Forget):
            for command_id, ticket in tuple(self.tickets.items()):
                if ticket == order.ticket:
                    self.router.abandon(command_id)  # type: ignore[arg-type]
        elif not isinstance(order, (effects.Answer, effects.Publish, effects.Note, effects.Dial, effects.Disconnect)):
            for command in commands_of(order):
                with suppress(CdpError):
                    self.texts.append(self.router.command(*command)[1])

    def claim(self, order: Any) -> None:
        """Perform an effect about a claim; each extension of the laws holds one claim of a key at a time."""
        key = (order.extension, order.key)
        if isinstance(order, effects.ReleaseFetch):
            for each in [each for each in self.claims if each[0] == order.extension and order.key in ("", each[1])]:
                self.claims.pop(each)[1].release()
        elif isinstance(order, effects.AnswerFetch):
            with suppress(CdpError):
                self.claims[key][1].answer(order.method, order.params, IGNORED)
        else:
            claimant = Claimant(self, key)
            try:
                claimed = self.fetch.claim(
                    order.session_id, order.patterns, auth=order.auth, name="x", claimant=claimant, waiter=claimant
                )
                self.claims[key] = claimant, claimed
            except CdpError as error:
                self.feed(FetchEnded, extension=key[0], key=key[1], reason=str(error), unsent=True)

    def output(self, output: Any) -> None:
        if isinstance(output, Event):
            self.feed(BrowserEvent, event=output)
            if output.method in PAUSES:
                self.fetch.paused(output)
        elif isinstance(output, CommandDone) and output.waiter is not None:
            output.waiter.settle(output.outcome)
        elif isinstance(output, CommandDone) and self.tickets.get(output.id):
            self.feed(CommandEnded, ticket=self.tickets.pop(output.id), outcome=output.outcome)
        elif isinstance(output, (SessionOpened, SessionClosed)):
            self.feed(lambda at, generation: session_input(output, at, generation))
            if isinstance(output, SessionClosed):
                self.fetch.session_closed(output.session_id, output.loss.error)

    def happen(self, happening: Happening) -> Texts:
        self.at, self.texts = Instant(mono=happening.at), []
        if happening.kind == "up":
            self.router = Router()
            self.tickets.clear()
            self.feed(LinkUp, owned=True)
        elif happening.kind == "down":
            lost = Loss(kind="connection", reason=happening.content, detail="")
            for output in self.router.lost(lost):
                self.output(output)
            self.fetch.link_lost(lost.error)
            self.feed(LinkDown, reason=happening.content, jitter=0.5)
        elif happening.kind == "message":
            for output in self.router.receive(happening.content):
                self.output(output)
        elif happening.kind == "time":
            self.fetch.due()
            self.feed(TimePassed)
        else:
            self.requests += 1
            self.feed(RequestReceived, request_id=self.requests, request=happening.content)
        return self.texts


@attrs.frozen(eq=False)
class Claimant:
    """The user of a claim of an extension."""

    source: Functions
    key: tuple[str, str]

    def feed(self, kind: Any, **fields: Any) -> None:
        self.source.feed(kind, extension=self.key[0], key=self.key[1], **fields)

    def take(self, event: Any, /) -> bool:
        self.feed(FetchPaused, event=event)
        return True

    def expired(self, request_id: str, /) -> None:
        self.feed(FetchExpired, request_id=request_id)

    def ended(self, error: Any, /) -> None:
        self.source.claims.pop(self.key, None)
        self.feed(FetchEnded, reason=error().reason)

    def settle(self, outcome: Any, /) -> None:
        current, claimed = self.source.claims.get(self.key, (None, None))
        if isinstance(outcome, Refusal) and current is self and claimed is not None:
            del self.source.claims[self.key]
            claimed.release()
            self.feed(FetchEnded, reason="the browser refused it")


def written_by_functions(recorded: Recorded, extensions: Sequence[Extension[Any]], **options: Any) -> list[Texts]:
    """Return what the functions alone write at the happenings of a run."""
    source = Functions(state_for(extensions, options))
    return [source.happen(each) for each in recorded.happenings]


# ── the driver ───────────────────────────────────────────────────────────────────────────────────────────────────────


class SetClock(trio.abc.Clock):
    """A clock that shows the time that it is set to."""

    def __init__(self) -> None:
        self.time = 0.0

    def start_clock(self) -> None:
        pass

    def current_time(self) -> float:
        return self.time

    def deadline_to_sleep_time(self, deadline: float) -> float:
        return 0.0 if deadline <= self.time else 999_999.0


class HandTransport:
    """A transport that delivers what the test gives it, and keeps what it gets."""

    def __init__(self) -> None:
        self.written: Texts = []
        self._send, self._receive = trio.open_memory_channel[list[bytes] | str](math.inf)

    async def receive(self) -> list[bytes]:
        batch = await self._receive.receive()
        if isinstance(batch, str):
            raise ConnectionLost("cut", reason=batch)
        return batch

    async def send(self, batch: Sequence[bytes], /) -> None:
        self.written += map(bytes, batch)

    async def aclose(self) -> None:
        self._send.close()

    def deliver(self, batch: list[bytes] | str) -> None:
        self._send.send_nowait(batch)


def written_by_driver(
    recorded: Recorded, extensions: Sequence[Extension[Any]], *, borrowed: bool = False, **options: Any
) -> list[Texts]:
    """Return what the trio driver writes at the happenings of a run."""
    clock, found = SetClock(), []
    transports: list[HandTransport] = []
    may_dial = trio.Event()

    async def dial() -> Any:
        nonlocal may_dial
        await may_dial.wait()
        may_dial = trio.Event()
        transports.append(HandTransport())
        return transports[-1]

    async def happen(driver: Driver, happening: Happening) -> None:
        clock.time = max(clock.time, happening.at)
        if happening.kind == "up":
            may_dial.set()
        elif happening.kind == "down":
            transports[-1].deliver(happening.content)
        elif happening.kind == "message":
            transports[-1].deliver([happening.content])
        elif happening.kind == "request":
            driver.request_nowait(happening.content)
        await trio.testing.wait_all_tasks_blocked()
        found.append(transports[-1].written[:] if transports else [])
        if transports:
            transports[-1].written.clear()

    async def drive(where: Any) -> None:
        driver = Driver(state_for(extensions, options), where, LinkOptions(headers={}, ssl_context=None))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(driver.run, driver.keep_link)
            nursery.start_soon(driver.run, driver.keep_time)
            await trio.testing.wait_all_tasks_blocked()
            for happening in recorded.happenings:
                await happen(driver, happening)
            if driver.failure is not None:
                raise driver.failure
            driver.end()
            nursery.cancel_scope.cancel()

    async def main() -> None:
        if not borrowed:
            await drive(dial)
            return
        transports.append(HandTransport())
        async with open_browser_session(transports[0]) as browser:
            await drive(browser)

    real, driver_module.random.random = driver_module.random.random, lambda: 0.5
    try:
        trio.run(main, clock=clock)
    finally:
        driver_module.random.random = real
    return found
