"""The protocols of transports: every kind of link to a browser looks the same to the engine.

A transport moves whole JSON texts. It knows nothing of ids, sessions or events, and never drops, splits, joins or
reorders a message. Exactly one task receives, exactly one task sends, any task closes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from cdp_core.sansio.messages import Payload


class Transport(Protocol):
    """A carrier of whole messages. Bring your own: a session needs nothing but these three methods."""

    async def receive(self) -> Sequence[Payload]:
        """Wait for messages; return every one that this wake-up brought, in order, at least one.

        A `memoryview` among them is valid until the next call. Once the link has ended, every call raises
        ConnectionLost; trio's ClosedResourceError, BrokenResourceError and EndOfChannel have the same meaning.
        """
        ...

    async def send(self, batch: Sequence[bytes], /) -> None:
        """Send whole messages in order. Raises as `receive` does; if cancelled midway the link is unusable."""

    async def aclose(self) -> None:
        """End the link in bounded time, whatever the peer does. Idempotent; wakes a waiting `receive`."""


@runtime_checkable
class JoiningTransport(Protocol):
    """A direct transport that can also send several messages at once, in one write."""

    def send_joined_now(self, batch: Sequence[bytes], /) -> bool:
        """Send messages in order if that needs no waiting. False: nothing was sent, use `send`."""
        ...


@runtime_checkable
class DirectTransport(Protocol):
    """A transport that can often send without waiting, which saves a scheduler pass for each lone command."""

    def send_now(self, text: bytes, /) -> bool:
        """Send one message if that needs no waiting. False: nothing was sent, use `send`."""
        ...

    @property
    def unsent(self) -> bool:
        """True while a part of what `send_now` took waits; any `send`, even an empty one, sends it first."""
        ...
