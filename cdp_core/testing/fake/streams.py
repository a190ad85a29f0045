"""What a browser has to say and has not said yet: messages, and which of them must come before which.

A browser is several processes; its messages reach a client through one socket, in an order that is only partly fixed.
Each message here names those that must be delivered before it:

* on one session, the one before it (events and the renderer's replies are one stream; a reply of the browser's own
  process may overtake the renderer's, fact 56);
* about one thing (a frame, a target, a dialog), the one before it, whatever session either is on (fact 38).

`ready()` are the messages that may come next; whoever delivers, chooses. `first()` is the oldest, which always may.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

import attrs

__all__ = ["Delivery", "Streams"]


@attrs.frozen
class Delivery:
    """One message that waits to be delivered to one client."""

    number: int
    """The place in the order of arising."""
    session_id: str | None
    what: str
    """The event's method, or `reply to` the command's."""
    payload: bytes = attrs.field(repr=False)
    after: frozenset[int]


class Streams:
    """The messages for one client."""

    def __init__(self) -> None:
        self._waiting: dict[int, Delivery] = {}
        self.numbered = 0
        self.on_add: Callable[[], None] = lambda: None
        self._last: dict[Hashable, set[int]] = {}

    def add(
        self,
        session_id: str | None,
        what: str,
        payload: bytes,
        *,
        after: Iterable[Hashable],
        before: Iterable[Hashable] = (),
        since: int | None = None,
    ) -> Delivery:
        """One message more.

        It comes after the last ones under each key of `after`, and after all since the number `since`; what is added
        later under a key of `after` or `before` comes after it.
        """
        waiting = self._waiting
        first = self.numbered + 1 if since is None else since + 1
        earlier = {number for number in range(first, self.numbered + 1) if number in waiting}
        self.numbered += 1
        for key in after:
            earlier.update(waiting.keys() & self._last.get(key, ()))
            self._last[key] = {self.numbered}
        for key in before:
            self._last.setdefault(key, set()).add(self.numbered)
        delivery = Delivery(self.numbered, session_id, what, payload, frozenset(earlier))
        waiting[self.numbered] = delivery
        self.on_add()
        return delivery

    def ready(self) -> tuple[Delivery, ...]:
        """What may be delivered next, in the order of arising."""
        waiting = self._waiting
        return tuple(delivery for delivery in waiting.values() if waiting.keys().isdisjoint(delivery.after))

    def first(self) -> Delivery | None:
        """The oldest message: nothing that waits can be before it."""
        return next(iter(self._waiting.values()), None)

    def take(self, delivery: Delivery) -> bytes:
        """Deliver it. Raises ValueError where it may not come yet, or has gone."""
        if self._waiting.get(delivery.number) is not delivery:
            raise ValueError(f"message {delivery.number} ({delivery.what}) does not wait any more")
        before = sorted(self._waiting.keys() & delivery.after)
        if before:
            raise ValueError(f"message {delivery.number} ({delivery.what}) must come after {before}")
        del self._waiting[delivery.number]
        return delivery.payload

    def clear(self) -> int:
        """The client is gone, and so is what it was not told. How many messages that were."""
        gone = len(self._waiting)
        self._waiting.clear()
        return gone

    def __len__(self) -> int:
        return len(self._waiting)
