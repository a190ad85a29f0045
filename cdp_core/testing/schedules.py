"""Schedules: the explicit order of a run as a list of turns, which can be run again.

The turns alone determine a run of a fake browser and its clients:

    Deliver(client, number)   one message of the browser reaches a client, which may write at once
    Consume(client, commands) the browser consumes commands of the client, in the order of writing
    Advance(seconds)          time passes, and what is due happens
    Ask(client, question)     a user asks the client something, and it may write

`simulation.py` takes the turns. A turn that cannot be taken is skipped, and after the last turn the run continues in the
default order: any list of turns is a schedule, and a shorter list is a simpler one.

`edges` limits the order of messages: `observed` allows the orders that Chromium was seen to send, `causal` every order in
which causes precede effects, which is hostile, and legal (fake/delivery_order.py,
docs/cdp/sessions-overtake-each-other.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, get_args

import attrs

from cdp_core.errors import InvalidArgument
from cdp_core.sansio.messages import Json
from cdp_core.testing.fake.delivery_order import EDGES, Edges
from cdp_core.testing.literal_values import LiteralValue, a_duration, a_number, from_json, one_of, parse_object, to_json

__all__ = [
    "Advance",
    "Ask",
    "Consume",
    "Deliver",
    "Schedule",
    "SeededRandom",
    "Turn",
    "checked_edges",
    "checked_schedule",
]


# ── the values ───────────────────────────────────────────────────────────────────────────────────────────────────────


@attrs.frozen(repr=False)
class Deliver(LiteralValue):
    """One message reaches a client: the message with this number, or the one of this rank.

    A rank counts the messages that may come next from the oldest, modulo their number.
    """

    client: int = attrs.field(default=1, validator=a_number(1))
    number: int = attrs.field(default=0, validator=a_number())
    """The message's place in the order in which the browser created the messages, from 1; 0 to use the rank."""
    rank: int = attrs.field(default=0, validator=a_number())


@attrs.frozen(repr=False)
class Consume(LiteralValue):
    """The browser consumes this many commands of a client, and this many octets beyond them."""

    client: int = attrs.field(default=1, validator=a_number(1))
    commands: int = attrs.field(default=1, validator=a_number())
    octets: int = attrs.field(default=0, validator=a_number())
    """A command is consumed with its last octet."""


@attrs.frozen(repr=False)
class Advance(LiteralValue):
    """Virtual time passes."""

    seconds: float = attrs.field(validator=a_duration)


@attrs.frozen(repr=False)
class Ask(LiteralValue):
    """A user asks a client something; the question is JSON that only the client interprets."""

    client: int = attrs.field(default=1, validator=a_number(1))
    question: Any = attrs.field(default=None, hash=False)


Turn = Deliver | Consume | Advance | Ask
KINDS: Final[Mapping[str, type[Turn]]] = {kind.__name__: kind for kind in get_args(Turn)}


def _to_turns(turns: Iterable[Turn]) -> tuple[Turn, ...]:
    made = tuple(turns)
    for each in made:
        if type(each) not in KINDS.values():
            raise InvalidArgument(f"{each!r} is not a turn of a schedule; the turns are {', '.join(KINDS)}.")
    return made


@attrs.frozen(repr=False)
class Schedule(LiteralValue):
    """A list of turns, and the edges that limit the order of messages."""

    turns: tuple[Turn, ...] = attrs.field(default=(), converter=_to_turns)
    edges: Edges = attrs.field(default="observed", validator=one_of(EDGES))

    def to_json(self) -> Json:
        """Return the schedule as JSON."""
        return {"turns": [to_json(turn, "turn") for turn in self.turns], "edges": self.edges}

    @classmethod
    def from_json(cls, content: str | bytes | Json) -> Schedule:
        """Read a schedule from JSON. Raises InvalidArgument with the path of the wrong part."""
        found = parse_object(content, "schedule", ("turns", "edges"))
        turns: object = found.get("turns", [])
        if not isinstance(turns, list):
            raise InvalidArgument("turns of a schedule must be a list.")
        listed: list[object] = turns  # pyright: ignore[reportUnknownVariableType]
        return cls(
            tuple(from_json(turn, "turn", KINDS, f"turns[{number}]") for number, turn in enumerate(listed)),
            found.get("edges", "observed"),
        )


def checked_schedule(given: Schedule) -> Schedule:
    """Return the value if it is a schedule. Raises InvalidArgument."""
    if not isinstance(given, Schedule):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be unchecked
        raise InvalidArgument(f"{given!r} is not a schedule; give Schedule(turns), or its edges to connect().")
    return given


def checked_edges(given: Edges) -> Edges:
    """Return the value if it is a kind of edges. Raises InvalidArgument."""
    if given not in EDGES:
        raise InvalidArgument(f"edges must be one of {', '.join(EDGES)}, not {given!r}.")
    return given


class SeededRandom:
    """Random numbers from a seed, the same on every Python version: splitmix64."""

    def __init__(self, seed: int) -> None:
        self._state = seed % 2**64

    def below(self, bound: int) -> int:
        self._state = (self._state + 0x9E3779B97F4A7C15) % 2**64
        mixed = self._state
        mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB % 2**64
        return (mixed ^ (mixed >> 31)) * bound >> 64
