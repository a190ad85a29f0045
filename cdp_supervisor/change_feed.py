"""Who hears of changes: a bounded queue each, so that a slow one is told how many it missed, and nobody else waits."""

from __future__ import annotations

from typing import Any, Final

from cdp_core import Subscription
from cdp_core.subscriptions import Overflow
from cdp_supervisor.errors import SupervisorStopped
from cdp_supervisor.sansio.changes import Change

MAX_BYTES: Final = 1 << 26


class ChangeFeed:
    """See the module."""

    def __init__(self) -> None:
        self._subscriptions: tuple[tuple[tuple[type[Change], ...], Subscription[Any]], ...] = ()
        """Never changed in place: whoever tells goes on with those that were there."""

    def subscribe(self, kinds: tuple[type[Change], ...], capacity: int) -> Subscription[Any]:
        """Changes from now on: of these kinds, or, where none is named, of all."""
        subscription: Subscription[Any] = Subscription(
            capacity=capacity,
            max_bytes=MAX_BYTES,
            overflow=Overflow.DROP_OLDEST,
            read=None,
            where=None,
            close=self._unsubscribe,
        )
        self._subscriptions = (*self._subscriptions, (kinds, subscription))
        return subscription

    def publish(self, change: Change) -> None:
        """Something changed."""
        for kinds, subscription in self._subscriptions:
            if not kinds or isinstance(change, kinds):
                subscription.push(change)

    def end(self, reason: str) -> None:
        """Nothing changes any more: each hears so, after all that it has not read yet."""
        for _, subscription in self._subscriptions:
            subscription.end(lambda: SupervisorStopped(reason))

    def _unsubscribe(self, sink: object) -> None:
        self._subscriptions = tuple(entry for entry in self._subscriptions if entry[1] is not sink)
