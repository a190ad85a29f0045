"""What carries the messages: every kind of link to a browser looks the same from above.

A transport moves whole JSON texts. It knows nothing of ids, sessions or events, and never drops, splits, joins or
reorders a message. Exactly one task receives, exactly one task sends, any task closes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from cdp_core.sansio.messages import Payload


class Transport(Protocol):
    """A link that carries whole messages. Bring your own: these three methods are all that a session needs."""

    async def receive(self) -> Sequence[Payload]:
        """Wait for messages; return every one that this wake-up brought, in order, at least one.

        A `memoryview` among them is valid until the next call. Raises ConnectionLost when the link has ended, in
        every call from then on; trio's ClosedResourceError, BrokenResourceError and EndOfChannel are understood as
        the same.
        """
        ...

    async def send(self, batch: Sequence[bytes], /) -> None:
        """Send whole messages in order. Raises as `receive` does; if cancelled midway the link is unusable."""
        ...

    async def aclose(self) -> None:
        """End the link, in bounded time whatever the peer does. Idempotent; wakes a waiting `receive`."""
        ...


@runtime_checkable
class JoiningTransport(Protocol):
    """A direct transport that takes several messages at once just as well, in one write."""

    def send_joined_now(self, batch: Sequence[bytes], /) -> bool:
        """Send messages in order if nothing stands in their way. False: nothing was sent, use `send`."""
        ...


@runtime_checkable
class DirectTransport(Protocol):
    """A transport that can often send without waiting, which saves a scheduler pass for each lone command."""

    def send_now(self, text: bytes, /) -> bool:
        """Send one message if nothing stands in its way. False: nothing was sent, use `send`."""
        ...

    @property
    def unsent(self) -> bool:
        """Whether a part of what `send_now` took still waits; any `send`, an empty one too, sends it first."""
        ...
