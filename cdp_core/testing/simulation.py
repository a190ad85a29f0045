"""Runs of a fake browser and clients without sockets, turn by turn; the turns taken are recorded.

`Pump` takes the turns of a schedule, or turns that a seed chooses, and then the rest in the default order until nothing is
left to do: consume at once, deliver the oldest message, ask when quiet, let time pass when nothing else is possible. The
recorded turns are an exact schedule: the same turns give the same run.

`DeliveryOrder` does the same for a client that cannot be pumped: its transport or endpoint asks what it may send now.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, Protocol, runtime_checkable

import attrs

from cdp_core.errors import InvalidArgument, LocalProtocolError
from cdp_core.testing.fake.browser import FakeBrowser
from cdp_core.testing.fake.client_end import ClientEnd
from cdp_core.testing.fake.delivery_order import Delivery, Edges
from cdp_core.testing.schedules import Advance, Ask, Consume, Deliver, Schedule, SeededRandom, Turn

MAX_TURNS: Final = 100_000
INTERRUPTION: Final = 24
"""With `interrupt`, one turn in this many may ask before everything is quiet."""


# ── the clients ──────────────────────────────────────────────────────────────────────────────────────────────────────


class PureClient(Protocol):
    """A client without a socket: it takes the browser's messages and returns the messages that it writes."""

    def receive(self, payload: bytes, /) -> Iterable[bytes]:
        """Take a message from the browser; return the messages to write."""
        ...


@runtime_checkable
class StartingClient(Protocol):
    """A client that writes first."""

    def start(self) -> Iterable[bytes]:
        """Return the messages to write right after connecting."""
        ...


@runtime_checkable
class AskableClient(Protocol):
    """A client that takes questions, as from its user."""

    def ask(self, question: Any, /) -> Iterable[bytes]:
        """Take a question; return the messages to write."""
        ...


@attrs.define(eq=False)
class _PumpedClient:
    """A client, its end at the browser, and its messages that the browser has not consumed."""

    client: PureClient
    end: ClientEnd
    written: deque[bytes] = attrs.Factory(deque["bytes"])
    knew: deque[int] = attrs.Factory(deque["int"])
    """For each message in `written`: how many messages the client had received when it wrote it."""
    octets: int = 0
    """How many octets of the first message in `written` the browser has consumed."""

    def write(self, payloads: Iterable[bytes]) -> None:
        self.written.extend(payloads)
        self.knew.extend([self.end.delivered] * (len(self.written) - len(self.knew)))


@attrs.frozen(kw_only=True)
class Run:
    """The record of a run."""

    schedule: Schedule
    """The turns that were taken: a run with this schedule is the same."""
    delivered: tuple[tuple[int, bytes], ...] = attrs.field(repr=False)
    """Every message that was delivered, with the number of the client."""
    received: tuple[tuple[int, bytes], ...] = attrs.field(repr=False)
    """Every message that the browser consumed, with the number of the client."""
    hostile: int
    """How many messages were delivered before one that a browser was always seen to send earlier."""
    passed_over: int
    """How many turns of the schedule could not be taken."""
    quiet: bool
    """Whether the run came to rest; False if it reached `max_turns`."""


# ── the pump ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class Pump:
    """Runs a fake browser and pure clients, without an event loop.

        run = Pump(FakeBrowser(script), [client], seed=7).run()
        again = Pump(FakeBrowser(script), [another], schedule=run.schedule, exact=True).run()

    With a `seed`, each turn is chosen at random among those that can be taken; time passes only when it is quiet, or at any
    moment with `hurry`. The `asks` come in their order when it is quiet, with `interrupt` at any moment. The turns of the
    `schedule` (default: the schedule of the browser) come first, its asks included. `watch` is called after each turn.
    """

    def __init__(
        self,
        fake: FakeBrowser,
        clients: Sequence[PureClient],
        *,
        schedule: Schedule | None = None,
        seed: int | None = None,
        edges: Edges | None = None,
        asks: Iterable[Ask] = (),
        exact: bool = False,
        hurry: bool = False,
        interrupt: bool = False,
        watch: Callable[[Turn], None] | None = None,
        max_turns: int = MAX_TURNS,
    ) -> None:
        if schedule is not None and (seed is not None or edges is not None):
            raise InvalidArgument("A pump takes a schedule, or a seed and edges; give only one of the two.")
        self.fake = fake
        self._schedule = schedule if schedule is not None else None if seed is not None else fake.schedule
        self._edges: Edges = edges or ("observed" if self._schedule is None else self._schedule.edges)
        self._random = None if seed is None else SeededRandom(seed)
        # The turns of the schedule that have not been tried yet.
        self._scheduled = deque(() if self._schedule is None or self._random is not None else self._schedule.turns)
        self._asks = deque(asks)
        self._exact = exact
        self._hurry = hurry
        self._interrupt = interrupt
        self._watch = watch
        self._max_turns = max_turns
        self._taken: list[Turn] = []
        self._delivered: list[tuple[int, bytes]] = []
        self._received: list[tuple[int, bytes]] = []
        self._hostile = self._passed_over = 0
        self._pumped: dict[int, _PumpedClient] = {}
        for client in clients:
            self.join(client)

    def join(self, client: PureClient, path: str | None = None) -> ClientEnd:
        """Connect a client."""
        end = self.fake.connect(path, edges=self._edges)
        pumped = self._pumped[end.number] = _PumpedClient(client, end)
        if isinstance(client, StartingClient):
            pumped.write(client.start())
        return end

    @property
    def ends(self) -> tuple[ClientEnd, ...]:
        """The clients' ends at the browser, in the order of connecting."""
        return tuple(pumped.end for pumped in self._pumped.values())

    def ask(self, asks: Iterable[Ask]) -> None:
        """Add these asks to the end of the queue."""
        self._asks.extend(asks)

    def run(self, *, until: Callable[[], bool] | None = None) -> Run:
        """Take turns until nothing is left to do or `until` returns True; the next call continues the run."""
        quiet = True
        for turn in self._turns():
            quiet = self._run_turn(turn)
            if not quiet or (until is not None and until()):
                break
        return Run(
            schedule=Schedule(tuple(self._taken), self._edges),
            delivered=tuple(self._delivered),
            received=tuple(self._received),
            hostile=self._hostile,
            passed_over=self._passed_over,
            quiet=quiet,
        )

    def _turns(self) -> Iterator[Turn]:
        while self._scheduled:
            turn = self._scheduled.popleft()
            if self._can_take(turn):
                yield turn
            elif self._exact:
                raise LocalProtocolError(
                    f"Turn {len(self._taken) + 1} of the schedule cannot be taken: {turn!r}. Run it with the clients and "
                    "the script that it was recorded with, or without exact=True.",
                    reason="schedule",
                )
            else:
                self._passed_over += 1
        choose = self._by_default if self._random is None else self._by_seed
        while (chosen := choose()) is not None:
            yield chosen

    def _run_turn(self, turn: Turn) -> bool:
        if len(self._taken) >= self._max_turns:
            return False
        self._taken.append(self._take(turn))
        if self._watch is not None:
            self._watch(turn)
        return True

    # ── choosing ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _by_default(self) -> Turn | None:
        for number, pumped in self._pumped.items():
            if self._has_written(pumped):
                return Consume(number)
        for number, pumped in self._pumped.items():
            first = pumped.end.first()
            if first is not None:
                return Deliver(number, first.number)
        return self._asks.popleft() if self._asks else self._next_time()

    def _by_seed(self) -> Turn | None:
        assert self._random is not None
        turns: list[Turn] = [Consume(number) for number, pumped in self._pumped.items() if self._has_written(pumped)]
        ready = [(number, pumped.end, pumped.end.ready_count) for number, pumped in self._pumped.items()]
        waiting = sum(count for _, _, count in ready)
        quiet = not (turns or waiting)
        if self._asks and (self._hurry or quiet or (self._interrupt and not self._random.below(INTERRUPTION))):
            turns.append(self._asks[0])
        if self._hurry or quiet:
            time = self._next_time()
            turns += [] if time is None else [time]
        if not turns and not waiting:
            return None
        index = self._random.below(len(turns) + waiting)
        if index < len(turns):
            return self._asks.popleft() if isinstance(turns[index], Ask) else turns[index]
        index -= len(turns)
        for number, end, count in ready:
            if index < count:
                return Deliver(number, end.ready_at(index).number)
            index -= count
        raise AssertionError("the index is larger than the number of ready messages")

    def _next_time(self) -> Turn | None:
        at, now = self.fake.next_time(), self.fake.now
        if at is None:
            return None
        seconds = at - now
        while now + seconds < at:  # the difference was rounded down: time must reach `at`
            seconds = math.nextafter(seconds, math.inf)
        return Advance(seconds)

    # ── taking ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _can_take(self, turn: Turn) -> bool:
        if isinstance(turn, Advance):
            return True
        pumped = self._pumped.get(turn.client)
        if pumped is None:
            return False
        if isinstance(turn, Deliver):
            return self._delivery_for(pumped, turn) is not None
        if isinstance(turn, Consume):
            return self._has_written(pumped) and (not self._exact or len(pumped.written) >= turn.commands)
        return isinstance(pumped.client, AskableClient)

    def _has_written(self, pumped: _PumpedClient) -> bool:
        if not pumped.end.connected:
            pumped.written.clear()
            pumped.knew.clear()
        return bool(pumped.written)

    def _delivery_for(self, pumped: _PumpedClient, turn: Deliver) -> Delivery | None:
        if turn.number:
            return pumped.end.ready_one(turn.number)
        return _at_rank(pumped.end, turn)

    def _take(self, turn: Turn) -> Turn:
        """Take the turn; return it in its exact form."""
        if isinstance(turn, Advance):
            self.fake.advance(self.fake.now + turn.seconds)
            return turn
        pumped = self._pumped[turn.client]
        if isinstance(turn, Deliver):
            return self._deliver(pumped, turn)
        if isinstance(turn, Consume):
            return self._consume(pumped, turn)
        if isinstance(pumped.client, AskableClient):
            pumped.write(pumped.client.ask(turn.question))
        return turn

    def _deliver(self, pumped: _PumpedClient, turn: Deliver) -> Turn:
        delivery = self._delivery_for(pumped, turn)
        assert delivery is not None
        self._hostile += pumped.end.is_early(delivery)
        payload = self.fake.deliver(pumped.end, delivery)
        self._delivered.append((turn.client, payload))
        pumped.write(pumped.client.receive(payload))
        return Deliver(turn.client, delivery.number)

    def _consume(self, pumped: _PumpedClient, turn: Consume) -> Turn:
        consumed = 0
        pumped.octets += turn.octets
        while pumped.written and pumped.end.connected:
            if consumed >= turn.commands:
                if pumped.octets < len(pumped.written[0]):
                    break
                pumped.octets -= len(pumped.written[0])
            payload = pumped.written.popleft()
            self._received.append((turn.client, payload))
            pumped.end.receive(payload, knew=pumped.knew.popleft())
            consumed += 1
        return Consume(turn.client, consumed)


# ── clients that cannot be pumped ────────────────────────────────────────────────────────────────────────────────────


class DeliveryOrder:
    """The order of the messages to one client, for the transport or endpoint that sends them.

    `take()` returns a batch that may be sent now. A schedule is enforced: if its next turn consumes commands that the
    client has not sent yet, `take()` returns nothing and `waits_for_client` is True; `give_up()` drops the rest of the
    schedule, for a client that behaves differently from the recorded one. Advance and Ask turns are skipped: time and
    questions belong to the program.
    """

    def __init__(self, end: ClientEnd, *, schedule: Schedule | None = None, seed: int | None = None) -> None:
        if schedule is not None and seed is not None:
            raise InvalidArgument(
                "The order of delivery comes from a schedule or from a seed; give only one of the two."
            )
        self._end = end
        given = schedule if schedule is not None else end.fake.schedule if seed is None else None
        turns = () if given is None else given.turns
        self._turns = deque(
            turn for turn in turns if isinstance(turn, (Deliver, Consume)) and turn.client == end.number
        )
        self._random = None if seed is None else SeededRandom(seed)
        # The commands and octets that the client sent and the schedule has not consumed.
        self._commands = self._octets = 0

    def sent(self, octets: int) -> None:
        """Count a command of this many octets from the client."""
        self._commands += 1
        self._octets += octets

    @property
    def waits_for_client(self) -> bool:
        """Whether a message is ready, and the schedule needs commands of the client first."""
        self._skip_consumed()
        return bool(self._turns) and not isinstance(self._turns[0], Deliver) and self._end.first() is not None

    def give_up(self) -> None:
        """Drop the rest of the schedule."""
        self._turns.clear()

    def take(self) -> list[bytes]:
        """Return the messages that may be sent now; the list may be empty."""
        taken: list[bytes] = []
        while True:
            self._skip_consumed()
            delivery = self._next()
            if delivery is None:
                return taken
            taken.append(self._end.fake.deliver(self._end, delivery))
            if self._random is not None and not self._random.below(4):
                return taken

    def _skip_consumed(self) -> None:
        """Remove the Consume turns at the front that the client has already satisfied."""
        while self._turns:
            turn = self._turns[0]
            if not isinstance(turn, Consume) or self._commands < turn.commands or self._octets < turn.octets:
                return
            self._turns.popleft()
            self._commands -= turn.commands
            self._octets = self._octets - turn.octets if turn.octets else self._octets

    def _next(self) -> Delivery | None:
        if self._random is not None:
            count = self._end.ready_count
            return self._end.ready_at(self._random.below(count)) if count else None
        if not self._turns:
            return self._end.first()
        turn = self._turns[0]
        if not isinstance(turn, Deliver) or self._end.first() is None:
            return None
        self._turns.popleft()
        named = self._end.ready_one(turn.number)
        return _at_rank(self._end, turn) if named is None else named


def _at_rank(end: ClientEnd, turn: Deliver) -> Delivery | None:
    count = end.ready_count
    return end.ready_at(turn.rank % count) if count else None
