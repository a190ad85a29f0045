"""One client of a fake browser that is served: what it sends goes to the fake at its time, what there is for it goes out.

Virtual time follows the real clock, from the moment of serving. Where time was let pass by hand, the clock goes on from
there.

Messages are taken when they may be delivered, so that they can be counted: who does not read is cut off when too much
waits. Faults of byte streams (`faults.Split`, `faults.Merge`) say in which pieces they are written.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final, Literal

import trio

from cdp_core.testing.byte_stream import ByteStream
from cdp_core.testing.fake.browser import FakeBrowser
from cdp_core.testing.fake.client_end import ClientEnd
from cdp_core.testing.fake.delivery_order import Edges
from cdp_core.testing.simulation import DeliveryOrder

MAX_BACKLOG_BYTES: Final = 64 << 20
"""What waits for a client that does not read."""
PATIENCE: Final = 1.0
"""How long a schedule waits for a client that sends nothing of what it wants first."""
BATCH_DELAY: Final = 0.02
"""How long messages that are to come together wait for each other."""
BROKEN: Final = (trio.BrokenResourceError, trio.ClosedResourceError)

Order = Literal["arising", "observed", "hostile"]
ORDERS: Final[tuple[Order, ...]] = ("arising", "observed", "hostile")
"""In which order a client is told things: as they arise, or as they may cross over on their way, as far as was ever seen
of a browser, or as far as could be at all."""
Write = Callable[[list[bytes]], Awaitable[None]]


# ── time ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


class RealClock:
    """Lets a fake's virtual time follow trio's."""

    def __init__(self, fake: FakeBrowser) -> None:
        self._fake = fake
        self._time_origin = trio.current_time() - fake.now
        self._changed = trio.Event()
        self._advancing = False

    async def run(self) -> None:
        """Let happen what is due, when it is due."""
        clocks = self._fake._world.clocks
        clocks.append(self)
        try:
            while True:
                self.catch_up()
                due = self._fake.next_time()
                self._changed = trio.Event()
                with trio.move_on_at(math.inf if due is None else self._time_origin + due):
                    await self._changed.wait()
        finally:
            clocks.remove(self)

    def catch_up(self) -> None:
        """Let the time pass that has passed; what was let pass by hand has passed too."""
        elapsed = trio.current_time() - self._time_origin
        if elapsed > self._fake.now:
            self._advancing = True
            self._fake.advance(elapsed)
            self._advancing = False
        else:
            self._time_origin -= self._fake.now - elapsed

    def time_changed(self) -> None:
        """See Clock."""
        if not self._advancing:  # the clock itself knows what it has done
            self._changed.set()


# ── writing ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class Outbox:
    """What is to be written to one client, until nothing more will come."""

    def __init__(self, end: ClientEnd, batch_size: int = 0) -> None:
        self._end = end
        self._batch_size = batch_size
        self._waiting: list[bytes] = []
        self._size = 0
        self._filled = trio.Event()
        self._complete = False
        self._writing = trio.CancelScope()
        self.idle = True
        """Whether everything is written that was to be."""

    def put(self, texts: list[bytes]) -> None:
        """Have these written. A client for whom too much waits is cut off."""
        self._waiting += texts
        self._size += sum(map(len, texts))
        self.idle = self.idle and not texts
        self._filled.set()
        if self._size > MAX_BACKLOG_BYTES:
            self._end.lost()
            self._writing.cancel()

    def complete(self) -> None:
        """Nothing more will come."""
        self._complete = True
        self._filled.set()

    async def write_out(self, write: Write) -> None:
        """Write until all is written, or it cannot be."""
        with self._writing, suppress(*BROKEN):
            while self._waiting or not self._complete:
                if not self._waiting:
                    self.idle = True
                    await self._filled.wait()
                self._filled = trio.Event()
                if len(self._waiting) < self._batch_size and not self._complete:
                    with trio.move_on_after(BATCH_DELAY):
                        while len(self._waiting) < self._batch_size and not self._complete:
                            await self._filled.wait()
                            self._filled = trio.Event()
                batch, self._waiting, self._size = self._waiting, [], 0
                if batch:
                    await write(batch)
        self.idle = True


# ── one client ───────────────────────────────────────────────────────────────────────────────────────────────────────


class ServedClient:
    """One client and its link. A schedule of the fake's is enforced, as long as the client sends what it wants first."""

    def __init__(
        self,
        fake: FakeBrowser,
        clock: RealClock,
        write: Write,
        *,
        path: str | None = None,
        order: Order = "arising",
    ) -> None:
        self._clock = clock
        self._write = write
        edges: Edges = "causal" if order == "hostile" else "observed"
        self._end = fake.connect(path) if order == "arising" else fake.connect(path, edges=edges)
        seed = None if order == "arising" else fake.seed + self._end.number
        self._order = DeliveryOrder(self._end, seed=seed)
        self.stream = ByteStream(fake.faults, self._end.number)
        self._outbox = Outbox(self._end, self.stream.batch_size)
        self._arrived = trio.Event()
        self._end.on_message(self._wake)

    def receive(self, text: bytes) -> None:
        """The client sent a text."""
        self._clock.catch_up()
        self._order.sent(len(text))
        self._end.receive(text)
        self._wake()

    def lost(self) -> None:
        """The client has gone. Idempotent."""
        self._end.lost()

    async def send_messages(self) -> None:
        """Write what there is, until its connection has ended; then all was written."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._fill_outbox)
            await self._outbox.write_out(self._write)
            nursery.cancel_scope.cancel()

    async def _fill_outbox(self) -> None:
        while self._end.connected or self._end.first() is not None:
            self._arrived = trio.Event()
            self._outbox.put(self._order.take())
            await self._wait_for_more()
        self._outbox.complete()

    async def _wait_for_more(self) -> None:
        if not self._order.waits_for_client:
            if self._end.connected and self._end.first() is None:
                await self._arrived.wait()
            return
        with trio.move_on_after(PATIENCE if self._end.connected else 0):
            await self._arrived.wait()
            return
        self._order.give_up()

    def _wake(self) -> None:
        self._arrived.set()
