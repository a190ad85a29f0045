"""One client's connection to the fake browser, and which messages may be delivered over it next."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from cdp_core.testing import faults as kinds
from cdp_core.testing.fake.command_log import DeliveryLog
from cdp_core.testing.fake.delivery_order import Delivery
from cdp_core.testing.fake.model.parts import Client
from cdp_core.testing.fake.world import order_keys, packed

if TYPE_CHECKING:
    from cdp_core.testing.fake.browser import FakeBrowser


class ReadyMessage(NamedTuple):
    """A message that may be delivered next, with the client's end that it goes to."""

    end: ClientEnd
    delivery: Delivery

    @property
    def session_id(self) -> str | None:
        """The id of the session that the message belongs to; None for the root session."""
        return self.delivery.session_id

    @property
    def what(self) -> str:
        """The method of an event, or `reply to` and the method of the command."""
        return self.delivery.what


class ClientEnd:
    """The browser's end of one client's connection."""

    def __init__(self, fake: FakeBrowser, client: Client) -> None:
        self.fake = fake
        self._client = client
        self.faults = kinds.LinkFaults(fake.faults, client.number)
        self.delivered = self._received = 0
        self.delivery_log = DeliveryLog()
        self._stalled: list[tuple[bytes, int | None]] | None = None
        # The novelty to apply to a message, by the number of the message.
        self._novelties: dict[int, kinds.Novelty] = {}

    @property
    def number(self) -> int:
        """The number of the client, counted from 1."""
        return self._client.number

    @property
    def connected(self) -> bool:
        """Whether the connection is open; after the browser closed it, sent messages can still be drained."""
        return self._client.connected

    def receive(self, payload: bytes, *, knew: int | None = None) -> None:
        """Receive one message of the client; never raises because of its content.

        `knew` is the number of messages that had been delivered to the client when it wrote this one.
        """
        if not self.faults.any:
            self.fake._receive(self._client, payload, knew)
            return
        self._received += 1
        if not self.faults.survives("in", "before", self._received):
            self.lost()
        elif "in" not in self.faults.silent:
            if self._stalled is None:
                self.fake._receive(self._client, payload, knew)
            else:
                self._stalled.append((payload, knew))
            if not self.faults.survives("in", "after", self._received):
                self.lost()
        self.fake._apply_link_faults()

    def stall(self, seconds: float, act: Callable[[], None]) -> None:
        """Read nothing for `seconds`, then call `act` and read what arrived meanwhile."""
        self._stalled = []
        self.fake._world.after(seconds, partial(self._resume, act))

    def _resume(self, act: Callable[[], None]) -> None:
        stalled, self._stalled = self._stalled or [], None
        act()
        for number, (payload, knew) in enumerate(stalled):
            self.fake._receive(self._client, payload, knew)
            if self._stalled is not None:
                self._stalled += stalled[number + 1 :]
                return

    def copies(self, session_id: str | None, what: str) -> int:
        """Return how many copies of a new message to send, and apply the faults that match it."""
        copies, streams = 1, self._client.streams
        for fault in self.faults.for_message(what):
            if isinstance(fault, kinds.Drop):
                copies = 0
            elif isinstance(fault, kinds.Duplicate):
                copies = 2
            elif isinstance(fault, kinds.Delay):
                self.fake._world.after(fault.seconds, streams.hold())
            elif isinstance(fault, kinds.Novelty) and fault.what == "event":
                addressed = {} if session_id is None else {"sessionId": session_id}
                streams.add(session_id, kinds.NEW_EVENT, packed(fault.apply(addressed)), after=order_keys(session_id))
            elif isinstance(fault, kinds.Novelty):
                self._novelties[streams.last_number + 1] = fault
        return copies

    def taken(self, delivery: Delivery) -> bytes:
        """Take a message from the stream, log its delivery, and return its payload.

        Raises ValueError if it may not be delivered yet.
        """
        payload = self._client.streams.take(delivery)
        novelty = self._novelties.pop(delivery.number, None) if self._novelties else None
        if novelty is not None:
            payload = packed(novelty.apply(json.loads(payload)))
        self.delivered += 1
        self.delivery_log.add(self.delivered, delivery.session_id, delivery.what, payload)
        return payload

    def ready(self) -> tuple[Delivery, ...]:
        """Return the messages that may be delivered to this client next."""
        return () if "out" in self.faults.silent else self._client.streams.ready()

    @property
    def ready_count(self) -> int:
        """The number of messages that may be delivered next."""
        return 0 if "out" in self.faults.silent else self._client.streams.ready_count

    def ready_at(self, index: int) -> Delivery:
        """Return the ready message at this index. Raises IndexError."""
        return self._client.streams.ready_at(index)

    def first(self) -> Delivery | None:
        """Return the oldest ready message."""
        return None if "out" in self.faults.silent else self._client.streams.first()

    def ready_one(self, number: int) -> Delivery | None:
        """Return the message with this number if it is ready."""
        return None if "out" in self.faults.silent else self._client.streams.ready_one(number)

    def is_early(self, delivery: Delivery) -> bool:
        """Return whether a delivery now is hostile: legal, but in an order never observed in Chromium."""
        return self._client.streams.is_early(delivery)

    def drain(self) -> list[bytes]:
        """Deliver every message that can be delivered to this client, oldest first."""
        taken: list[bytes] = []
        while (first := self.first()) is not None:
            taken.append(self.fake.deliver(self, first))
        return taken

    def on_message(self, act: Callable[[], None]) -> None:
        """Call `act` each time a message may have been added, or the connection has ended."""
        self._client.streams.on_add = act
        self._client.on_end = act

    def lost(self) -> None:
        """Break the connection: its sessions end, and its undelivered messages are dropped."""
        self.fake._disconnect(self._client)

    def __repr__(self) -> str:
        state: Any = "connected" if self.connected else "gone"
        return f"<client {self.number}, {state}>"
