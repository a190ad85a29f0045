"""One client of a served fake browser: reading its commands, and writing the messages for it.

Virtual time follows the real clock from the moment of serving. If the test advances virtual time, the clock continues
from there.

Messages are taken from the fake browser as soon as they may be delivered, so that their size is known: a client that does
not read is cut off when too much waits for it. Byte stream faults (`faults.Split`, `faults.Merge`) decide in which pieces
messages are written.
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
"""Bytes that may wait for a client that does not read."""
PATIENCE: Final = 1.0
"""Seconds that a schedule waits for the commands that it needs from the client."""
BATCH_DELAY: Final = 0.02
"""Seconds that the messages of one batch wait for each other."""
BROKEN: Final = (trio.BrokenResourceError, trio.ClosedResourceError)

Order = Literal["arising", "observed", "hostile"]
ORDERS: Final[tuple[Order, ...]] = ("arising", "observed", "hostile")
"""The order of the messages to a client: the order of creation, a random observed order, or a random causal order."""
Write = Callable[[list[bytes]], Awaitable[None]]


# ── time ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


class RealClock:
    """Makes the virtual time of a fake browser follow trio's clock."""

    def __init__(self, fake: FakeBrowser) -> None:
        self._fake = fake
        self._time_origin = trio.current_time() - fake.now
        self._changed = trio.Event()
        self._advancing = False

    async def run(self) -> None:
        """Advance virtual time whenever something is due."""
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
        """Advance virtual time to trio's time; if the test advanced it further, continue from there."""
        elapsed = trio.current_time() - self._time_origin
        if elapsed > self._fake.now:
            self._advancing = True
            self._fake.advance(elapsed)
            self._advancing = False
        else:
            self._time_origin -= self._fake.now - elapsed

    def time_changed(self) -> None:
        if not self._advancing:  # not for the clock's own advance
            self._changed.set()


# ── writing ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class Outbox:
    """The queue of messages to write to one client."""

    def __init__(self, end: ClientEnd, batch_size: int = 0) -> None:
        self._end = end
        self._batch_size = batch_size
        self._waiting: list[bytes] = []
        self._size = 0
        self._filled = trio.Event()
        self._complete = False
        self._writing = trio.CancelScope()
        self.idle = True

    def put(self, texts: list[bytes]) -> None:
        """Queue messages; cut the client off if more than MAX_BACKLOG_BYTES wait."""
        self._waiting += texts
        self._size += sum(map(len, texts))
        self.idle = self.idle and not texts
        self._filled.set()
        if self._size > MAX_BACKLOG_BYTES:
            self._end.lost()
            self._writing.cancel()

    def complete(self) -> None:
        """End the queue: no more messages follow."""
        self._complete = True
        self._filled.set()

    async def write_out(self, write: Write) -> None:
        """Write the queue until it is complete and empty, or until the connection breaks."""
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
    """One client and its link; it enforces the schedule of the fake browser.

    If the client does not send the commands that the schedule needs within PATIENCE, the rest of the schedule is dropped.
    """

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
        """Hand a message of the client to the fake browser."""
        self._clock.catch_up()
        self._order.sent(len(text))
        self._end.receive(text)
        self._wake()

    def lost(self) -> None:
        """Disconnect the client in the fake browser. Idempotent."""
        self._end.lost()

    async def send_messages(self) -> None:
        """Write messages until the connection has ended and all of them are written."""
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
