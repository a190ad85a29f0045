"""An in-memory link: a connected pair of transports inside one trio run.

What one end sends, the other receives, in order, in the batches in which it gathered. The pair behaves as a socket
with an unlimited buffer, on purpose: both ends live in one program and answer each other, so with a limit each could
wait for ever for room at the other. Bounds belong to the layers above, which know what may be dropped; `statistics()`
shows how much waits.

After one end is closed, the other still receives everything that was sent before; then its link is lost too.

`Inbox` is the receiving half: messages, and one task that is parked until some arrive. A wake-up carries no message,
so cancelling a `take` at any moment loses none.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import trio

from cdp_core.sansio.outcomes import Loss


class Inbox:
    """Messages that wait for one task; once all are taken after the end, it raises ConnectionLost."""

    def __init__(self) -> None:
        self._messages: list[bytes] = []
        self._loss: Loss | None = None
        self._parked: trio.lowlevel.Task | None = None

    def __len__(self) -> int:
        return len(self._messages)

    @property
    def loss(self) -> Loss | None:
        """The reason why no more messages arrive, or None."""
        return self._loss

    def put(self, messages: Sequence[bytes]) -> None:
        """Add messages, and wake the task that waits for them."""
        self._messages.extend(messages)
        if messages:
            self._wake()

    def end(self, loss: Loss) -> None:
        """Accept no more messages; those that wait are still taken first. The first reason counts."""
        if self._loss is None:
            self._loss = loss
            self._wake()

    def close(self, loss: Loss) -> None:
        """End the inbox from this side: the messages that wait are dropped."""
        self._loss, self._messages = loss, []
        self._wake()

    async def take(self) -> list[bytes]:
        """Wait until messages are available, and take all of them. Raises ConnectionLost after the end."""
        if self._messages or self._loss is not None:
            await trio.lowlevel.checkpoint()
        # `close` may drop the messages after this task was woken and before it runs.
        while not self._messages and self._loss is None:
            if self._parked is not None:
                raise trio.BusyResourceError("another task receives already")
            self._parked = trio.lowlevel.current_task()
            await trio.lowlevel.wait_task_rescheduled(self._unpark)
        if self._messages:
            taken, self._messages = self._messages, []
            return taken
        assert self._loss is not None
        raise self._loss.error()

    def _wake(self) -> None:
        if self._parked is not None:
            task, self._parked = self._parked, None
            trio.lowlevel.reschedule(task)

    def _unpark(self, _raise_cancel: object) -> trio.lowlevel.Abort:
        self._parked = None
        return trio.lowlevel.Abort.SUCCEEDED


@attrs.frozen(kw_only=True)
class MemoryStatistics:
    """The counts of one end; `waiting` was sent by the other end and is not received yet."""

    sent: int
    received: int
    waiting: int


class MemoryTransport:
    """One end of a connected pair of transports."""

    def __init__(self) -> None:
        self._inbox = Inbox()
        self._peer = self  # until memory_pair() has joined the two
        self._sent = self._received = 0

    async def receive(self) -> Sequence[bytes]:
        batch = await self._inbox.take()
        self._received += len(batch)
        return batch

    async def send(self, batch: Sequence[bytes], /) -> None:
        """Send messages without waiting for the peer; a cancelled send has sent nothing."""
        await trio.lowlevel.checkpoint()
        if self._inbox.loss is not None:  # the peer's close is known here at once
            raise self._inbox.loss.error()
        self._deliver(batch)

    def send_now(self, text: bytes, /) -> bool:
        if self._inbox.loss is not None:
            return False
        self._deliver((text,))
        return True

    @property
    def unsent(self) -> bool:
        """Always False: a message is delivered whole or not at all."""
        return False

    async def aclose(self) -> None:
        self._inbox.close(Loss(kind="connection", reason="closed", detail="The link was closed here."))
        self._peer._inbox.end(
            Loss(kind="connection", reason="peer_closed", detail="The other end of the link was closed.")
        )
        await trio.lowlevel.checkpoint()

    def statistics(self) -> MemoryStatistics:
        """Return the counts so far."""
        return MemoryStatistics(sent=self._sent, received=self._received, waiting=len(self._inbox))

    def _deliver(self, batch: Sequence[bytes]) -> None:
        self._peer._inbox.put(batch)
        self._sent += len(batch)


def memory_pair() -> tuple[MemoryTransport, MemoryTransport]:
    """Create two transports: what one sends, the other receives."""
    one, other = MemoryTransport(), MemoryTransport()
    one._peer, other._peer = other, one
    return one, other
