"""What a browser has to say and has not said yet: messages, and which of them must come before which.

A browser is several processes; its messages reach a client through one socket, in an order that is only partly fixed.
Each message here names those that must be delivered before it, and it does so twice:

    observed   what was seen of Chromium: on one session, the message before it; about one thing (a frame, a target, a
               dialog), the one before it, whatever session either is on (fact 38); for a reply of the browser's own
               process, what the command caused (facts 1, 47, 56)
    causal     what can be no other way: one session is one stream, begun by its attach event and ended by its detach
               event; whatever else crosses over between sessions is hostile, and legal

Events and the renderer's replies are one stream; a reply of the browser's own process may overtake the renderer's, and so
may the targets that it attaches to because it was asked to.
`ready()` are the messages that may come next; whoever delivers, chooses. `first()` is the oldest of them, and `ready_at`
the one at a place among them.

Every step costs the same however many messages, sessions and things there are: what a message waits for is counted when
it arises, and counted down as those are delivered.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Hashable, Iterable
from functools import partial
from typing import Final, Literal

import attrs

Edges = Literal["observed", "causal"]
EDGES: Final[tuple[Edges, ...]] = ("observed", "causal")


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
    """Those that a browser was always seen to send before it."""
    causes: frozenset[int]
    """Those among them without which it cannot be."""


def one_copy(_session_id: str | None, _what: str) -> int:
    """Each message is said once."""
    return 1


class Streams:
    """The messages for one client."""

    def __init__(self, edges: Edges = "observed") -> None:
        self.edges: Final[Edges] = edges
        self.last_number = 0
        self.on_add: Callable[[], None] = lambda: None
        self.copies: Callable[[str | None, str], int] = one_copy
        """How often a message is said: faults lose and double messages."""
        self._waiting: dict[int, Delivery] = {}
        self._remaining: dict[int, int] = {}
        """How many must still come before a message."""
        self._followers: dict[int, list[int]] = {}
        self._ready: dict[int, Delivery] = {}
        self._order: list[int] = []
        """The numbers of these, in order."""
        self._last: dict[Hashable, list[int]] = {}
        self._beside: dict[Hashable, list[int]] = {}
        """What came after the last one under a key, in no order among each other."""
        self._holds: dict[int, None] = {}

    # ── saying ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def add(
        self,
        session_id: str | None,
        what: str,
        payload: bytes,
        *,
        after: Iterable[Hashable],
        behind: Iterable[Hashable] = (),
        before: Iterable[Hashable] = (),
        beside: Iterable[Hashable] = (),
        since: int | None = None,
    ) -> None:
        """One message more.

        It comes after the last ones under each key of `after`, `behind` or `beside`, and after all since the number `since`;
        what is added later under a key of `after`, `before` or `beside` comes after it, but for those that are `beside` each
        other. A key that is a pair is a line, which holds by cause; any other is a thing, of which only the observed order
        speaks.
        """
        copies = self.copies(session_id, what)
        for _ in range(copies):
            self._add(session_id, what, payload, after, behind, before, beside, since)
        if copies:
            self.on_add()

    def _add(
        self,
        session_id: str | None,
        what: str,
        payload: bytes,
        after: Iterable[Hashable],
        behind: Iterable[Hashable],
        before: Iterable[Hashable],
        beside: Iterable[Hashable],
        since: int | None,
    ) -> None:
        waiting, last = self._waiting, self._last
        causes: set[int] = set()
        earlier: set[int] = set()
        if since is not None:
            for number in range(since + 1, self.last_number + 1):
                found = waiting.get(number)
                if found is not None:
                    (causes if found.session_id == session_id else earlier).add(number)
        self.last_number = number = self.last_number + 1
        for key in after:
            self._follow(key, causes, earlier)
            last[key] = [number]
            self._beside.pop(key, None)
        for key in behind:
            self._follow(key, causes, earlier)
        for key in before:
            last.setdefault(key, []).append(number)
        for key in beside:
            earlier.update([each for each in last.get(key, ()) if each in waiting])
            self._beside.setdefault(key, []).append(number)
        causes.update(self._holds)
        cause = frozenset(causes)
        delivery = Delivery(number, session_id, what, payload, cause.union(earlier), cause)
        waiting[number] = delivery
        needed = delivery.after if self.edges == "observed" else cause
        for each in needed:
            self._followers.setdefault(each, []).append(number)
        self._remaining[number] = len(needed)
        if not needed:
            self._make_ready(delivery)

    def _follow(self, key: Hashable, causes: set[int], earlier: set[int]) -> None:
        """What there is under a key."""
        waiting, of_key = self._waiting, self._last.get(key)
        if of_key is not None:
            (causes if type(key) is tuple else earlier).update([each for each in of_key if each in waiting])
        if key in self._beside:
            earlier.update([each for each in self._beside[key] if each in waiting])

    def hold(self) -> Callable[[], None]:
        """What arises from now on waits until the call that is returned is made."""
        self.last_number += 1
        self._holds[self.last_number] = None
        return partial(self._release, self.last_number)

    def _release(self, hold: int) -> None:
        if hold in self._holds:
            del self._holds[hold]
            self._unblock(hold)
            self.on_add()

    # ── delivering ───────────────────────────────────────────────────────────────────────────────────────────────────

    def ready(self) -> tuple[Delivery, ...]:
        """What may be delivered next, in the order of arising."""
        return tuple([self._ready[number] for number in self._order])

    @property
    def ready_count(self) -> int:
        """How many that are."""
        return len(self._order)

    def ready_at(self, index: int) -> Delivery:
        """The one at this place among them. Raises IndexError."""
        return self._ready[self._order[index]]

    def first(self) -> Delivery | None:
        """The oldest of them."""
        return self._ready[self._order[0]] if self._order else None

    def ready_one(self, number: int) -> Delivery | None:
        """The message of that number, where it may be delivered next."""
        return self._ready.get(number)

    def waiting_one(self, number: int) -> Delivery | None:
        """The message of that number, while it waits."""
        return self._waiting.get(number)

    def is_early(self, delivery: Delivery) -> bool:
        """Whether delivering it now would be hostile: legal, and never observed."""
        return not self._waiting.keys().isdisjoint(delivery.after)

    def take(self, delivery: Delivery) -> bytes:
        """Deliver it. Raises ValueError where it may not come yet, or has gone."""
        number = delivery.number
        if self._waiting.get(number) is not delivery:
            raise ValueError(f"message {number} ({delivery.what}) does not wait any more")
        if number not in self._ready:
            needed = delivery.after if self.edges == "observed" else delivery.causes
            before = sorted(each for each in needed if each in self._waiting or each in self._holds)
            raise ValueError(f"message {number} ({delivery.what}) must come after {before}")
        del self._waiting[number], self._ready[number], self._remaining[number]
        del self._order[bisect_left(self._order, number)]
        self._unblock(number)
        if not self._waiting:
            self._beside.clear()
            self._last.clear()  # nothing can come before what is not there any more
        return delivery.payload

    def _unblock(self, number: int) -> None:
        for follower in self._followers.pop(number, ()):
            self._remaining[follower] -= 1
            if not self._remaining[follower]:
                self._make_ready(self._waiting[follower])

    def _make_ready(self, delivery: Delivery) -> None:
        self._ready[delivery.number] = delivery
        insort(self._order, delivery.number)

    def clear(self) -> int:
        """The client is gone, and so is what it was not told. How many messages that were."""
        gone = len(self._waiting)
        for table in (
            self._waiting,
            self._remaining,
            self._followers,
            self._ready,
            self._last,
            self._beside,
            self._holds,
        ):
            table.clear()
        self._order.clear()
        return gone

    def __len__(self) -> int:
        return len(self._waiting)
