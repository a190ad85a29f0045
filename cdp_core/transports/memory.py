"""A link without a wire: a connected pair of transports inside one trio run.

What one end sends, the other receives, in order, in the batches in which it gathered. It behaves as a socket whose
buffer has no end, and that on purpose: both ends live in one program and answer each other, so a limit would let each
wait for room at the other, and neither would ever get it. Bounds belong to the layers above, which know what may be
dropped; `statistics()` shows how much waits.

After one end is closed, the other still receives everything that was sent before, then its link is lost too.

`Inbox` is the half that waits: messages and one task that is parked until there are some. A wake-up carries no message,
so cancelling a `take` at any moment loses none.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import trio

from cdp_core.sansio.router import Loss


class Inbox:
    """Messages that wait for one task; at its end it loses the link in every further call."""

    def __init__(self) -> None:
        self._messages: list[bytes] = []
        self._loss: Loss | None = None
        self._parked: trio.lowlevel.Task | None = None

    def __len__(self) -> int:
        return len(self._messages)

    @property
    def loss(self) -> Loss | None:
        """Why nothing more comes in, or None."""
        return self._loss

    def put(self, messages: Sequence[bytes]) -> None:
        """Add messages, and wake the task that waits for them."""
        self._messages.extend(messages)
        if messages:
            self._wake()

    def end(self, loss: Loss) -> None:
        """Nothing more comes in; what is here is still taken first. The first reason counts."""
        if self._loss is None:
            self._loss = loss
            self._wake()

    def close(self, loss: Loss) -> None:
        """End it from this side: what is here is not wanted any more."""
        self._loss, self._messages = loss, []
        self._wake()

    async def take(self) -> list[bytes]:
        """Wait until something is here, and take all of it. Raises ConnectionLost after the end."""
        if self._messages or self._loss is not None:
            await trio.lowlevel.checkpoint()
        # The world may move on while a woken task waits for its turn: `close` takes the messages away.
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
    """What passed through one end; `waiting` was sent by the other end and is not received yet."""

    sent: int
    received: int
    waiting: int


class MemoryTransport:
    """One end of a pair."""

    def __init__(self) -> None:
        self._inbox = Inbox()
        self._peer = self  # until memory_pair() has joined the two
        self._sent = self._received = 0

    async def receive(self) -> Sequence[bytes]:
        """See Transport."""
        batch = await self._inbox.take()
        self._received += len(batch)
        return batch

    async def send(self, batch: Sequence[bytes], /) -> None:
        """See Transport. Never waits for the peer; a cancelled send has sent nothing."""
        await trio.lowlevel.checkpoint()
        if self._inbox.loss is not None:  # a peer that closed is known here at once
            raise self._inbox.loss.error()
        self._deliver(batch)

    def send_now(self, text: bytes, /) -> bool:
        """See DirectTransport."""
        if self._inbox.loss is not None:
            return False
        self._deliver((text,))
        return True

    @property
    def unsent(self) -> bool:
        """See DirectTransport: a message is delivered whole or not at all."""
        return False

    async def aclose(self) -> None:
        """See Transport."""
        self._inbox.close(Loss(kind="connection", reason="closed", detail="The link was closed here."))
        self._peer._inbox.end(
            Loss(kind="connection", reason="peer_closed", detail="The other end of the link was closed.")
        )
        await trio.lowlevel.checkpoint()

    def statistics(self) -> MemoryStatistics:
        """Counts so far."""
        return MemoryStatistics(sent=self._sent, received=self._received, waiting=len(self._inbox))

    def _deliver(self, batch: Sequence[bytes]) -> None:
        self._peer._inbox.put(batch)
        self._sent += len(batch)


def memory_pair() -> tuple[MemoryTransport, MemoryTransport]:
    """Two transports: what one sends, the other receives."""
    one, other = MemoryTransport(), MemoryTransport()
    one._peer, other._peer = other, one
    return one, other
