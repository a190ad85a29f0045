"""The messages that wait for delivery to a client, and which must be delivered before which.

A browser is several processes; its messages reach a client through one socket, in an order that is only partly fixed.
Each message here names the messages that must be delivered before it, in two orders:

    observed   the order that Chromium was seen to keep: on one session, after the message before it; about one thing (a
               frame, a target, a dialog), after the earlier message about it, on whatever session (fact 38); a reply of
               the browser process, after what the command caused (facts 1, 47, 56)
    causal     the order that cause and effect force: one session is one stream, from its attach event to its detach
               event; any other crossing between sessions is hostile, but legal

Events and the renderer's replies are one stream. A reply of the browser process may overtake the renderer's, and so
may the attach events that a command asks for.

`ready()` returns the messages that may be delivered next, `first()` the oldest of them, and `ready_at` the one at an
index; the caller chooses.

The cost of a step does not grow with the number of messages, sessions or things: a message's predecessors are counted
when it is added, and counted down as they are delivered.
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
    """Its place in the order in which messages were added."""
    session_id: str | None
    what: str
    """The method of an event, or `reply to` and the method of the command."""
    payload: bytes = attrs.field(repr=False)
    after: frozenset[int]
    """The messages that Chromium was always seen to send before it."""
    causes: frozenset[int]
    """Those of `after` that must come first by cause and effect."""


def one_copy(_session_id: str | None, _what: str) -> int:
    return 1


class Streams:
    """The messages for one client."""

    def __init__(self, edges: Edges = "observed") -> None:
        self.edges: Final[Edges] = edges
        self.last_number = 0
        self.on_add: Callable[[], None] = lambda: None
        # How many copies of a message to send: faults lose and double messages.
        self.copies: Callable[[str | None, str], int] = one_copy
        self._waiting: dict[int, Delivery] = {}
        # How many messages must still be delivered before each message.
        self._remaining: dict[int, int] = {}
        self._followers: dict[int, list[int]] = {}
        self._ready: dict[int, Delivery] = {}
        # The numbers of the ready messages, ascending.
        self._order: list[int] = []
        self._last: dict[Hashable, list[int]] = {}
        # The messages after the last one under a key, in no order among each other.
        self._beside: dict[Hashable, list[int]] = {}
        self._holds: dict[int, None] = {}

    # ── adding ───────────────────────────────────────────────────────────────────────────────────────────────────────

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
        """Add one message.

        `after`: it follows the last messages under these keys, and later ones under them follow it. `behind`: it
        follows them, and later ones need not follow it. `before`: only later ones follow it. `beside`: as `after`,
        but messages beside each other have no order. It also follows all messages since the number `since`. A key
        that is a pair orders by cause; any other key orders only in the observed order.
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
        """Add the waiting messages under a key to the predecessors."""
        waiting, of_key = self._waiting, self._last.get(key)
        if of_key is not None:
            (causes if type(key) is tuple else earlier).update([each for each in of_key if each in waiting])
        if key in self._beside:
            earlier.update([each for each in self._beside[key] if each in waiting])

    def hold(self) -> Callable[[], None]:
        """Block each message that is added from now on, until the returned function is called."""
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
        """Return the messages that may be delivered next, in the order in which they were added."""
        return tuple([self._ready[number] for number in self._order])

    @property
    def ready_count(self) -> int:
        """The number of messages that may be delivered next."""
        return len(self._order)

    def ready_at(self, index: int) -> Delivery:
        """Return the ready message at this index. Raises IndexError."""
        return self._ready[self._order[index]]

    def first(self) -> Delivery | None:
        return self._ready[self._order[0]] if self._order else None

    def ready_one(self, number: int) -> Delivery | None:
        return self._ready.get(number)

    def waiting_one(self, number: int) -> Delivery | None:
        return self._waiting.get(number)

    def is_early(self, delivery: Delivery) -> bool:
        """Return whether a delivery now is hostile: legal, but in an order never observed in Chromium."""
        return not self._waiting.keys().isdisjoint(delivery.after)

    def take(self, delivery: Delivery) -> bytes:
        """Deliver a message. Raises ValueError if it may not be delivered yet or is no longer waiting."""
        number = delivery.number
        if self._waiting.get(number) is not delivery:
            raise ValueError(f"message {number} ({delivery.what}) is no longer waiting; take one of ready().")
        if number not in self._ready:
            needed = delivery.after if self.edges == "observed" else delivery.causes
            before = sorted(each for each in needed if each in self._waiting or each in self._holds)
            raise ValueError(f"message {number} ({delivery.what}) must come after {before}.")
        del self._waiting[number], self._ready[number], self._remaining[number]
        del self._order[bisect_left(self._order, number)]
        self._unblock(number)
        if not self._waiting:
            self._beside.clear()
            self._last.clear()  # a delivered message delays no other
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
        """Drop the waiting messages of a client that is gone; return how many they were."""
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
