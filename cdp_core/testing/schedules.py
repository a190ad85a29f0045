"""Schedules: who is told what, and when what a client wrote is heard, as an explicit list that can be run again.

A run of a fake browser and its clients is a row of turns, and nothing else decides about it:

    Deliver(client, number)   one message of the browser reaches a client, which may write at once
    Consume(client, commands) the browser hears what the client wrote, in its order
    Advance(seconds)          time passes, and what is due happens
    Ask(client, question)     somebody asks the client something, and it may write

`simulation.py` takes the turns. A turn that cannot be taken is passed over, and after the last one everything goes its default
way: any list of turns is a schedule, and a shorter list is a simpler one.

`edges` says which orders there may be at all: `observed` those that Chromium was seen to send, `causal` every one in which
causes precede effects, which is hostile, and legal (fake/delivery_order.py, docs/cdp/sessions-overtake-each-other.md).
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
    """One message reaches a client: that of this number, else that of this rank among those which may come next.

    A rank counts from the oldest, and goes round: there is always one of any rank, where there is one at all.
    """

    client: int = attrs.field(default=1, validator=a_number(1))
    number: int = attrs.field(default=0, validator=a_number())
    """The message's place in the order of arising, from 1; 0 where the rank decides."""
    rank: int = attrs.field(default=0, validator=a_number())


@attrs.frozen(repr=False)
class Consume(LiteralValue):
    """The browser hears so many commands of a client, and so many octets beyond them."""

    client: int = attrs.field(default=1, validator=a_number(1))
    commands: int = attrs.field(default=1, validator=a_number())
    octets: int = attrs.field(default=0, validator=a_number())
    """A command is heard with its last octet."""


@attrs.frozen(repr=False)
class Advance(LiteralValue):
    """Time passes."""

    seconds: float = attrs.field(validator=a_duration)


@attrs.frozen(repr=False)
class Ask(LiteralValue):
    """Somebody asks a client something; the question is the client's own business, and JSON."""

    client: int = attrs.field(default=1, validator=a_number(1))
    question: Any = attrs.field(default=None, hash=False)


Turn = Deliver | Consume | Advance | Ask
KINDS: Final[Mapping[str, type[Turn]]] = {kind.__name__: kind for kind in get_args(Turn)}


def _to_turns(turns: Iterable[Turn]) -> tuple[Turn, ...]:
    made = tuple(turns)
    for each in made:
        if type(each) not in KINDS.values():
            raise InvalidArgument(f"{each!r} is no turn of a schedule; there are {', '.join(KINDS)}.")
    return made


@attrs.frozen(repr=False)
class Schedule(LiteralValue):
    """Turns in their order, and which orders of messages there may be."""

    turns: tuple[Turn, ...] = attrs.field(default=(), converter=_to_turns)
    edges: Edges = attrs.field(default="observed", validator=one_of(EDGES))

    def to_json(self) -> Json:
        """The schedule as JSON."""
        return {"turns": [to_json(turn, "turn") for turn in self.turns], "edges": self.edges}

    @classmethod
    def from_json(cls, content: str | bytes | Json) -> Schedule:
        """Read a schedule. Raises InvalidArgument that names the place."""
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
    """A schedule, and nothing else. Raises InvalidArgument."""
    if not isinstance(given, Schedule):  # pyright: ignore[reportUnnecessaryIsInstance] - of those who are not checked
        raise InvalidArgument(f"{given!r} is no schedule; give Schedule(turns), or its edges to connect().")
    return given


def checked_edges(given: Edges) -> Edges:
    """Edges that there are. Raises InvalidArgument."""
    if given not in EDGES:
        raise InvalidArgument(f"{given!r} is no edges; there are {', '.join(EDGES)}.")
    return given


class SeededRandom:
    """Numbers out of a seed, the same on every Python: splitmix64."""

    def __init__(self, seed: int) -> None:
        self._state = seed % 2**64

    def below(self, bound: int) -> int:
        """One of 0 … bound-1."""
        self._state = (self._state + 0x9E3779B97F4A7C15) % 2**64
        mixed = self._state
        mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB % 2**64
        return (mixed ^ (mixed >> 31)) * bound >> 64
