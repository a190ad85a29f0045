"""A transport to a fake browser, without a socket, on trio's clock.

    fake = FakeBrowser()
    async with open_browser_session(FakeTransport(fake)) as browser: ...

Virtual time follows trio's clock from the first use of a transport; under `MockClock` a script's waits cost nothing.
Messages come in the order of creation, or in an order that a `seed` or a `schedule` chooses. With a schedule a message
waits for the commands that the schedule consumes before it, until every other task of the program is blocked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import trio
import trio.testing

from cdp_core.errors import ConnectionLost
from cdp_core.testing.byte_stream import ByteStream
from cdp_core.testing.fake.browser import FakeBrowser
from cdp_core.testing.schedules import Schedule
from cdp_core.testing.simulation import DeliveryOrder


class FakeTransport:
    """One connection of a trio program to a fake browser."""

    def __init__(
        self,
        fake: FakeBrowser,
        path: str | None = None,
        *,
        schedule: Schedule | None = None,
        seed: int | None = None,
    ) -> None:
        self.fake = fake
        self._end = fake.connect(path, edges=None if schedule is None else schedule.edges)
        self._order = DeliveryOrder(self._end, schedule=schedule, seed=seed)
        self._batch_size = ByteStream(fake.faults, self._end.number).batch_size
        # Messages that are taken and exceed the batch size of a `Merge` fault; they come with the next batch.
        self._rest: list[bytes] = []
        self._end.on_message(self._wake)
        self._arrived = trio.Event()
        self._time_origin: float | None = None
        self._closed = False

    async def receive(self) -> Sequence[bytes]:
        await trio.lowlevel.checkpoint()  # before the messages are taken: a cancelled call must lose none
        while True:
            self._catch_up()
            self._rest += self._order.take()
            if self._rest:
                most = self._batch_size or len(self._rest)
                batch, self._rest = self._rest[:most], self._rest[most:]
                return batch
            if self._order.waits_for_client:
                # Every other task gets the chance to send its commands before the schedule is given up.
                await trio.testing.wait_all_tasks_blocked()
                if self._order.waits_for_client:
                    self._order.give_up()
                continue
            if self._closed:
                raise ConnectionLost("The link was closed here.", reason="closed")
            if not self._end.connected:
                raise ConnectionLost("The connection to the browser broke.", reason="broken", close_code=1006)
            with trio.move_on_at(self._deadline()):
                await self._arrived.wait()
            self._arrived = trio.Event()

    async def send(self, batch: Sequence[bytes], /) -> None:
        await trio.lowlevel.checkpoint()
        for text in batch:
            self.send_now(text)

    def send_now(self, text: bytes, /) -> bool:
        if self._closed or not self._end.connected:
            return False
        self._catch_up()
        self._order.sent(len(text))
        self._end.receive(text)
        return True

    @property
    def unsent(self) -> bool:
        """Always False: a message is taken whole or not at all."""
        return False

    async def aclose(self) -> None:
        if not self._closed:
            self._closed = True
            self._rest = []
            self._end.lost()
        await trio.lowlevel.checkpoint()

    def _wake(self) -> None:
        self._arrived.set()

    def _catch_up(self) -> None:
        now = trio.current_time()
        if self._time_origin is None:
            self._time_origin = now - self.fake.now
        if now - self._time_origin > self.fake.now:
            self.fake.advance(now - self._time_origin)

    def _deadline(self) -> float:
        due = self.fake.next_time()
        return math.inf if due is None else due + (self._time_origin or 0.0)
