"""The subscribers of changes: one bounded queue each.

A slow subscriber delays no other one: its oldest changes are dropped, and it receives the number of those that it
missed.
"""

from __future__ import annotations

from typing import Any

import trio

from cdp_core import Subscription
from cdp_supervisor.errors import SupervisorStopped
from cdp_supervisor.sansio.changes import Change


class _Stopped(trio.EndOfChannel, StopAsyncIteration):
    """The orderly end of a subscription: it ends an `async for`, and `receive` raises it."""


class ChangeFeed:
    """Pushes each change to the subscriptions for its kind."""

    def __init__(self) -> None:
        # Replaced, never changed in place: a `publish` under way goes on with the subscriptions it began with.
        self.subscriptions: tuple[tuple[tuple[type[Change], ...], Subscription[Any]], ...] = ()

    def subscribe(self, kinds: tuple[type[Change], ...], capacity: int) -> Subscription[Any]:
        """Subscribe to the changes from now on, of these kinds; no kind means all changes."""
        subscription: Subscription[Any] = Subscription(capacity=capacity, drop_oldest=True, close=self._unsubscribe)
        self.subscriptions = (*self.subscriptions, (kinds, subscription))
        return subscription

    def publish(self, change: Change) -> None:
        """Push a change to each subscription for its kind."""
        for kinds, subscription in self.subscriptions:
            if not kinds or isinstance(change, kinds):
                subscription.push(change)

    def end(self, reason: str) -> None:
        """End each subscription after the changes that it has not read yet: with an error, unless `stopped`."""
        for _, subscription in self.subscriptions:
            subscription.end(_Stopped if reason == "stopped" else lambda: SupervisorStopped(reason))

    def _unsubscribe(self, sink: object) -> None:
        self.subscriptions = tuple(entry for entry in self.subscriptions if entry[1] is not sink)
