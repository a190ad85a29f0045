"""Decisions: what happens next between a fake browser and its clients over sockets.

A decision names its event by content and never by time. A run is a list of decisions, each about a logical event:

    Hear(client, session, method, nth)  the browser consumes the n-th command of a method on a session
    Tell(client, session, what, nth)    the client is sent the n-th event of a method there, or the reply to that command
    Leave(client)                       the browser notices that the client has disconnected
    Put(question)                       the n-th question is sent to the program, as its user would ask it
    Pass(seconds)                       time passes; only when it is quiet

Sessions are numbered in the order in which the client received them; the root session is 0. A command waits until a
decision consumes it, and a message until a decision delivers it, so a saved list of decisions can be enforced: whatever
the operating system did to the octets meanwhile, the browser consumes and sends the same in the same order. If the client
does not do its part, the rest of the list is given up, and `followed` shows how much of it was taken.

Without a list a seed decides, by the names of the possible next decisions, so that the same client gets nearly the same
run again.

This module does not know which replies may overtake events: the fake browser does
(docs/cdp/closetarget-is-answered-before-targetdestroyed.md).
"""

from __future__ import annotations

import json
import math
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from hashlib import blake2b
from typing import Any, Final, get_args

import attrs
import trio

from cdp_core.sansio.messages import Json, is_object
from cdp_core.testing.byte_stream import ByteStream
from cdp_core.testing.fake.browser import FakeBrowser
from cdp_core.testing.fake.client_end import ClientEnd
from cdp_core.testing.fake.delivery_order import Delivery, Edges
from cdp_core.testing.literal_values import LiteralValue, a_duration, a_number, a_text, from_json, to_json
from cdp_core.testing.schedules import Ask, Consume, Deliver, Schedule
from cdp_core.testing.served_client import Outbox, Write

ATTACHED: Final = "Target.attachedToTarget"
HOLD_ONE_IN: Final = 3
"""One message in this many is held until the client has sent something, or is idle."""
INTERRUPTION: Final = 24
"""One decision in this many may put a question before everything is quiet."""


# ── the values ───────────────────────────────────────────────────────────────────────────────────────────────────────


@attrs.frozen(repr=False)
class Hear(LiteralValue):
    """The browser consumes a command; an unreadable command has the empty method."""

    client: int = attrs.field(validator=a_number(1))
    session: int = attrs.field(validator=a_number())
    method: str = attrs.field(validator=a_text)
    nth: int = attrs.field(default=1, validator=a_number(1))


@attrs.frozen(repr=False)
class Tell(LiteralValue):
    """A client is sent a message; `what` is the event's method, or `reply to` and the command's method."""

    client: int = attrs.field(validator=a_number(1))
    session: int = attrs.field(validator=a_number())
    what: str = attrs.field(validator=a_text)
    nth: int = attrs.field(default=1, validator=a_number(1))


@attrs.frozen(repr=False)
class Leave(LiteralValue):
    """The browser notices that a client has disconnected."""

    client: int = attrs.field(validator=a_number(1))


@attrs.frozen(repr=False)
class Put(LiteralValue):
    """The n-th question is sent to the program."""

    question: int = attrs.field(validator=a_number(1))


@attrs.frozen(repr=False)
class Pass(LiteralValue):
    """Virtual time passes."""

    seconds: float = attrs.field(validator=a_duration)


Decision = Hear | Tell | Leave | Put | Pass
KINDS: Final[Mapping[str, type[Decision]]] = {kind.__name__: kind for kind in get_args(Decision)}


def decisions_to_json(decisions: Iterable[Decision]) -> list[Json]:
    """Return decisions as JSON."""
    return [to_json(each, "decision") for each in decisions]


def decisions_from_json(content: Iterable[object]) -> tuple[Decision, ...]:
    """Read decisions from JSON. Raises InvalidArgument with the path of the wrong part."""
    return tuple(from_json(each, "decision", KINDS, f"decisions[{number}]") for number, each in enumerate(content))


# ── one client ───────────────────────────────────────────────────────────────────────────────────────────────────────


@attrs.frozen
class _PendingCommand:
    """A command that arrived, and that the browser has not consumed."""

    text: bytes
    session_id: str | None
    method: str
    id: object
    nth: int


class ConductedClient:
    """One client and its link; the conductor decides when its commands and messages pass."""

    def __init__(self, conductor: Conductor, end: ClientEnd, write: Write) -> None:
        self.end = end
        self.stream = ByteStream(end.fake.faults, end.number)
        self.outbox = Outbox(end, self.stream.batch_size)
        self.written: deque[_PendingCommand] = deque()
        self.gone = self.disconnected = False
        self._write = write
        self._conductor = conductor
        self._sessions: dict[str | None, int] = {None: 0}
        self._arrived: Counter[tuple[str | None, str]] = Counter()
        self._delivered: Counter[tuple[str | None, str]] = Counter()
        # For each command id of a session: the command's number among those of its method there.
        self._commands: dict[tuple[str | None, object], int] = {}
        self._names: dict[int, Tell] = {}
        self.has_sent = False
        # The number of replies that were ready for the client when it disconnected.
        self.unread = 0
        end.on_message(conductor.wake)

    # ── its link ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def receive(self, text: bytes) -> None:
        """Keep a message from the client until the conductor passes it on."""
        self.has_sent = True
        session_id, method, number = _read(text)
        self._arrived[session_id, method] += 1
        nth = self._arrived[session_id, method]
        self.written.append(_PendingCommand(text, session_id, method, number, nth))
        self._conductor.arrived()

    def lost(self) -> None:
        """Note that the client has disconnected. Idempotent."""
        if not self.gone:
            self.gone = True
            self._conductor.arrived()

    async def send_messages(self) -> None:
        """Write the delivered messages until the connection has ended."""
        await self.outbox.write_out(self._write)

    # ── possible decisions ───────────────────────────────────────────────────────────────────────────────────────────

    def command_options(self) -> list[tuple[Hear, _PendingCommand]]:
        """Return the decisions that would consume its commands, oldest command first."""
        number = self.end.number
        return [(Hear(number, self._session(each.session_id), each.method, each.nth), each) for each in self.written]

    def message_options(self) -> list[tuple[Tell, Delivery]]:
        """Return the decisions that would deliver the messages that are ready."""
        return [(self._name(delivery), delivery) for delivery in self.end.ready()]

    def _name(self, delivery: Delivery) -> Tell:
        known = self._names.get(delivery.number)
        if known is not None:
            return known
        session, what = delivery.session_id, delivery.what
        nth = self._delivered[session, what] + 1
        if what.startswith("reply to "):
            nth = self._commands.get((session, json.loads(delivery.payload).get("id")), nth)
            self._names[delivery.number] = Tell(self.end.number, self._session(session), what, nth)
        return Tell(self.end.number, self._session(session), what, nth)

    def _session(self, session_id: str | None) -> int:
        return self._sessions.get(session_id, len(self._sessions))

    # ── carrying out decisions ───────────────────────────────────────────────────────────────────────────────────────

    def pass_on(self, written: _PendingCommand) -> None:
        """Hand a command to the browser."""
        self.written.remove(written)
        self._sessions.setdefault(written.session_id, len(self._sessions))
        self._commands[written.session_id, written.id] = written.nth
        self._commands.setdefault((None, written.id), written.nth)  # a refusal may come without its sessionId
        self.end.receive(written.text)  # without `knew`: a socket does not show what the client had read by then

    def deliver(self, delivery: Delivery) -> None:
        """Send a message to the client."""
        self._delivered[delivery.session_id, delivery.what] += 1
        payload = self.end.fake.deliver(self.end, delivery)
        if delivery.what == ATTACHED:
            session_id: str = json.loads(payload)["params"]["sessionId"]
            self._sessions.setdefault(session_id, len(self._sessions))
        self.outbox.put([payload])

    def leave(self) -> None:
        """Disconnect the client in the browser."""
        self.disconnected = True
        self.unread = sum(tell.what.startswith("reply to ") for tell, _delivery in self.message_options())
        self.end.lost()

    def settle(self) -> None:
        """Complete the outbox if the connection has ended and no message is left."""
        if not self.end.connected and self.end.first() is None:
            self.outbox.complete()


def _read(text: bytes) -> tuple[str | None, str, object]:
    try:
        message: object = json.loads(text)
    except (ValueError, RecursionError):
        message = None
    if not is_object(message) or not isinstance(message.get("method"), str):
        return None, "", None
    session, number = message.get("sessionId"), message.get("id")
    hashable = number if isinstance(number, (int, float, str)) else None
    return session if isinstance(session, str) and session else None, message["method"], hashable


# ── the conductor ────────────────────────────────────────────────────────────────────────────────────────────────────


class Conductor:
    """Takes the decisions of a run, one at each `step`.

        conductor = Conductor(fake, seed=7)
        async with open_server(fake, port=0, control=False, join=conductor.join): ...

    The caller reports when the run is idle or quiet, and calls `step` while it returns True. The conductor takes `decisions`
    first, then the turns of `schedule`, then decisions that the seed chooses. It calls `ask` with each question, those of
    the schedule before those of `asks`, when a decision puts it.
    """

    def __init__(
        self,
        fake: FakeBrowser,
        *,
        seed: int = 0,
        edges: Edges = "observed",
        schedule: Schedule | None = None,
        decisions: Iterable[Decision] = (),
        asks: Iterable[Any] = (),
        ask: Callable[[Any], None] | None = None,
    ) -> None:
        self.fake = fake
        turns = () if schedule is None else schedule.turns
        scheduled = [turn.question for turn in turns if isinstance(turn, Ask)]
        self._questions: list[Any] = [] if ask is None else [*scheduled, *asks]
        self._questions_put = 0
        self._ask = ask
        self.clients: dict[int, ConductedClient] = {}
        self.taken: list[Decision] = []
        self.arrivals = 0
        self._seed = seed
        self._edges: Edges = edges if schedule is None else schedule.edges
        self._remaining = deque(decisions)
        self._turns = deque(turns)
        self._enforcing = bool(self._remaining)
        self._followed = 0
        self._given_up = False
        self._held: dict[Decision, int] = {}
        self._changed = trio.Event()

    # ── the clients ──────────────────────────────────────────────────────────────────────────────────────────────────

    def join(self, write: Write, path: str) -> ConductedClient:
        """Connect a client to the fake browser; `write` writes to it."""
        client = ConductedClient(self, self.fake.connect(path, edges=self._edges), write)
        self.clients[client.end.number] = client
        return client

    def arrived(self) -> None:
        """Count an arrival: a client sent something, or disconnected."""
        self.arrivals += 1
        self.wake()

    def wake(self) -> None:
        """Wake the task that waits in `changed`."""
        self._changed.set()

    async def changed(self) -> None:
        """Wait until something has changed since the last step."""
        await self._changed.wait()

    @property
    def followed(self) -> tuple[int, int] | None:
        """How many of the given decisions were taken, and how many were given; None if none were given."""
        return (self._followed, self._followed + len(self._remaining)) if self._enforcing else None

    @property
    def waits_for_client(self) -> bool:
        """Whether the next enforced decision or turn may need something from a client first."""
        return bool((self._remaining and not self._given_up) or self._turns)

    @property
    def disconnected(self) -> bool:
        """Whether all clients have disconnected, and the browser has noticed."""
        return all(client.disconnected for client in self.clients.values())

    @property
    def written(self) -> bool:
        """Whether all delivered messages are written to the sockets."""
        return all(client.outbox.idle for client in self.clients.values())

    def give_up(self) -> None:
        """Stop enforcing the given decisions and the schedule."""
        self._given_up = True
        self._turns.clear()

    # ── steps ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def step(self, *, idle: bool = False, quiet: bool = False) -> bool:
        """Take the next decision and return True, or return False if none can be taken now.

        `idle`: no client has sent anything for a moment. `quiet`: no client will, until it receives something.
        """
        self._changed = trio.Event()
        options = self._options()
        if self._remaining and not self._given_up:
            decision = self._as_decided(options, quiet=quiet)
        elif self._turns:
            decision = self._as_scheduled(options, quiet=quiet)
        else:
            decision = self._by_seed(options, idle=idle, quiet=quiet)
        if decision is None:
            return False
        act = options.get(decision)
        self.taken.append(decision)
        if isinstance(decision, Pass):
            self.fake.advance(self.fake.now + decision.seconds)
        else:
            assert act is not None
            act()
        self.settle()
        return True

    def settle(self) -> None:
        """End the links whose connections have ended and whose messages are all delivered."""
        for client in self.clients.values():
            client.settle()

    def _options(self) -> dict[Decision, Callable[[], None]]:
        """Return the possible decisions except `Pass`, with their effects; older commands come first."""
        found: dict[Decision, Callable[[], None]] = {}
        for number, client in self.clients.items():
            if client.gone and not client.disconnected and not client.written:
                found[Leave(number)] = client.leave
            for hear, written in client.command_options() if client.end.connected else ():
                found[hear] = partial(client.pass_on, written)
            for tell, delivery in client.message_options():
                found[tell] = partial(client.deliver, delivery)
        if self._questions_put < len(self._questions):
            found[Put(self._questions_put + 1)] = self._put_next
        return found

    def _put_next(self) -> None:
        assert self._ask is not None
        self._questions_put += 1
        self._ask(self._questions[self._questions_put - 1])

    def _as_decided(self, options: Mapping[Decision, object], *, quiet: bool) -> Decision | None:
        decided = self._remaining[0]
        if (quiet and self.fake.next_time() is not None) if isinstance(decided, Pass) else decided in options:
            self._remaining.popleft()
            self._followed += 1
            return decided
        return None

    def _as_scheduled(self, options: Mapping[Decision, object], *, quiet: bool) -> Decision | None:
        turn = self._turns[0]
        if isinstance(turn, Consume):
            hears = [each for each in options if isinstance(each, Hear) and each.client == turn.client]
            if hears:
                self._turns.popleft()
                if turn.commands > 1:
                    self._turns.appendleft(attrs.evolve(turn, commands=turn.commands - 1))
            return hears[0] if hears else None
        if isinstance(turn, Deliver):
            client = self.clients.get(turn.client)
            tells = [] if client is None else client.message_options()
            if not tells:
                return None
            self._turns.popleft()
            numbered = [tell for tell, delivery in tells if delivery.number == turn.number]
            return numbered[0] if numbered else tells[turn.rank % len(tells)][0]
        if isinstance(turn, Ask):
            self._turns.popleft()
            return next((each for each in options if isinstance(each, Put)), None)
        self._turns.popleft()
        return self._next_time() if quiet else None

    def _by_seed(self, options: Mapping[Decision, object], *, idle: bool, quiet: bool) -> Decision | None:
        first: dict[int, Decision] = {}
        for each in options:
            if isinstance(each, Hear):  # one socket is one stream: only the oldest command can be consumed
                first.setdefault(each.client, each)
        put = next((each for each in options if isinstance(each, Put)), None)
        choices = [
            each for each in options if each != put and (not isinstance(each, Hear) or first[each.client] == each)
        ]
        time = self._next_time() if quiet and not choices else None
        if put is not None and self._asks_now(put, now=quiet and not choices, instead=time):
            return put
        for each in sorted(choices, key=self._rank):
            if not isinstance(each, Tell) or idle or self._rank(each) % HOLD_ONE_IN:
                return each
            if self.arrivals > self._held.setdefault(each, self.arrivals):
                return each
        return time

    def _asks_now(self, put: Put, *, now: bool, instead: Decision | None) -> bool:
        """Return whether to put the next question: when all is quiet, or at random (INTERRUPTION)."""
        chance = self._rank((put, len(self.taken)))
        return (instead is None or not chance % 2) if now else bool(self.arrivals) and not chance % INTERRUPTION

    def _rank(self, decision: object) -> int:
        text = f"{self._seed}/{decision!r}"
        return int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "big")

    def _next_time(self) -> Decision | None:
        at, now = self.fake.next_time(), self.fake.now
        if at is None:
            return None
        seconds = max(at - now, 0.0)
        while now + seconds < at:  # the difference was rounded down: time must reach `at`
            seconds = math.nextafter(seconds, math.inf)
        return Pass(seconds)
