"""Faults: which message is lost, late, doubled or refused on purpose, and where a link breaks.

    legal     it happens with real browsers and networks: a refusal, a slow link, a cut, a silent peer, other chunks
    hostile   nothing forbids it, and a browser was seen to do it elsewhere: a reply that never comes, or comes twice;
              something that the protocol of a newer browser has (docs/cdp/drift-is-counted-not-raised.md)
    illegal   no browser does it: an event that is lost or doubled

Faults count per connection, in the order in which the browser consumes commands and creates events, so that a fault hits
the same message under every schedule. The faults of a link direction count the messages that were really delivered.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, get_args

import attrs

from cdp_core.bindings import _catalog
from cdp_core.errors import InvalidArgument
from cdp_core.sansio.messages import Json
from cdp_core.testing.literal_values import (
    LiteralValue,
    a_duration,
    a_name,
    a_number,
    a_text,
    from_json,
    one_of,
    to_json,
)

__all__ = [
    "EVENTS_WITH_OPEN_TYPE",
    "LEGALITIES",
    "NEW_EVENT",
    "Cut",
    "Delay",
    "Drop",
    "Duplicate",
    "Fault",
    "FaultReport",
    "Legality",
    "LinkFaults",
    "Merge",
    "Novelty",
    "Refuse",
    "Silence",
    "Split",
    "checked_faults",
    "faults_from_json",
    "faults_to_json",
]

Legality = Literal["legal", "hostile", "illegal"]
LEGALITIES: Final[tuple[Legality, ...]] = ("legal", "hostile", "illegal")
"""In ascending order: a search for one of them includes those before it."""
Direction = Literal["in", "out"]
"""`in` is from the client to the browser, `out` from the browser to the client."""


def is_event(method: str) -> bool:
    """Return whether the protocol has an event of this name; no command has the name of an event."""
    domain, _, name = method.partition(".")
    found = _catalog.domain_named(domain)
    return found is not None and name in found.table.events


# ── the values ───────────────────────────────────────────────────────────────────────────────────────────────────────


@attrs.frozen(repr=False)
class Drop(LiteralValue):
    """The n-th call of a method is never answered and does nothing; the n-th event is not sent."""

    method: str = attrs.field(validator=a_name)
    nth: int = attrs.field(default=1, validator=a_number(1))
    client: int = attrs.field(default=0, validator=a_number())
    """The client's number, from 1; 0 means every client."""

    @property
    def legality(self) -> Legality:
        """Hostile for a command, whose reply may be missing; illegal for an event."""
        return "illegal" if is_event(self.method) else "hostile"


@attrs.frozen(repr=False)
class Delay(LiteralValue):
    """The n-th call of a method, or the n-th event, comes `seconds` later, and so does all that follows."""

    method: str = attrs.field(validator=a_name)
    seconds: float = attrs.field(validator=a_duration)
    nth: int = attrs.field(default=1, validator=a_number(1))
    client: int = attrs.field(default=0, validator=a_number())

    @property
    def legality(self) -> Legality:
        """Legal: links are slow."""
        return "legal"


def _a_command(_fault: object, _field: object, method: Any) -> None:
    if not isinstance(method, str) or not method or is_event(method):
        raise InvalidArgument(f"Only a command can be refused, and {method!r} is not one; give the name of a command.")


@attrs.frozen(repr=False)
class Refuse(LiteralValue):
    """The n-th call of a method is refused, and does nothing."""

    method: str = attrs.field(validator=_a_command)
    nth: int = attrs.field(default=1, validator=a_number(1))
    code: int = attrs.field(default=-32000, validator=attrs.validators.instance_of(int))
    message: str = attrs.field(default="Internal error", validator=a_text)
    client: int = attrs.field(default=0, validator=a_number())

    @property
    def legality(self) -> Legality:
        """Legal: a browser may refuse any command."""
        return "legal"


@attrs.frozen(repr=False)
class Duplicate(LiteralValue):
    """The n-th call of a method gets its reply twice; the n-th event is sent twice."""

    method: str = attrs.field(validator=a_name)
    nth: int = attrs.field(default=1, validator=a_number(1))
    client: int = attrs.field(default=0, validator=a_number())

    @property
    def legality(self) -> Legality:
        """Illegal for an event. Hostile for a command: Chromium was seen to reply twice.

        That happened when a page changed its process (wire_ids).
        """
        return "illegal" if is_event(self.method) else "hostile"


@attrs.frozen(repr=False)
class Cut(LiteralValue):
    """The link breaks before or after its n-th message of a direction, without a close frame."""

    nth: int = attrs.field(default=1, validator=a_number(1))
    direction: Direction = attrs.field(default="out", validator=one_of(("in", "out")))
    when: Literal["before", "after"] = attrs.field(default="after", validator=one_of(("before", "after")))
    client: int = attrs.field(default=0, validator=a_number())

    @property
    def legality(self) -> Legality:
        """Legal: links break."""
        return "legal"


@attrs.frozen(repr=False)
class Silence(LiteralValue):
    """From the n-th message of a direction on nothing arrives, and the link stays open."""

    nth: int = attrs.field(default=1, validator=a_number(1))
    direction: Direction = attrs.field(default="out", validator=one_of(("in", "out")))
    client: int = attrs.field(default=0, validator=a_number())

    @property
    def legality(self) -> Legality:
        """Legal: links become half open."""
        return "legal"


@attrs.frozen(repr=False)
class Split(LiteralValue):
    """The messages to the client go over a byte stream in pieces of at most `octets` octets."""

    octets: int = attrs.field(default=1, validator=a_number(1))
    client: int = attrs.field(default=0, validator=a_number())

    @property
    def legality(self) -> Legality:
        """Legal: a byte stream keeps no message boundaries."""
        return "legal"


@attrs.frozen(repr=False)
class Merge(LiteralValue):
    """The messages to the client go over a byte stream `messages` at once, if that many are ready."""

    messages: int = attrs.field(default=2, validator=a_number(2))
    client: int = attrs.field(default=0, validator=a_number())

    @property
    def legality(self) -> Legality:
        """Legal: a byte stream keeps no message boundaries."""
        return "legal"


NEW_EVENT: Final = "Future.happened"
NEW_VALUE: Final = "somethingNew"
EVENTS_WITH_OPEN_TYPE: Final = ("Page.javascriptDialogOpening", "Runtime.consoleAPICalled")
"""The events whose `type` may get a new value in a newer browser without any other change of the event."""


@attrs.frozen(repr=False)
class Novelty(LiteralValue):
    """The n-th event of a method, or the n-th reply to it, brings something unknown to the protocol.

    `field` adds a field, `value` changes an enumeration's value, `event` sends an unknown event before the message.
    """

    method: str = attrs.field(validator=a_name)
    what: Literal["field", "value", "event"] = attrs.field(
        default="field", validator=one_of(("field", "value", "event"))
    )
    nth: int = attrs.field(default=1, validator=a_number(1))
    client: int = attrs.field(default=0, validator=a_number())

    def __attrs_post_init__(self) -> None:
        if self.what == "value" and self.method not in EVENTS_WITH_OPEN_TYPE:
            raise InvalidArgument(
                f"A Novelty cannot change a value of {self.method!r}; "
                f"take one of {', '.join(EVENTS_WITH_OPEN_TYPE)}, or what='field'."
            )

    @property
    def legality(self) -> Legality:
        """Hostile: newer browsers have a larger protocol."""
        return "hostile"

    def apply(self, message: Json) -> Json:
        """Return the message with the new part; for `event`, return an unknown event on the message's session."""
        if self.what == "event":
            return {"method": NEW_EVENT, "params": {"why": NEW_VALUE}, **message}
        part = "params" if "params" in message else "result"
        new = {"type": NEW_VALUE} if self.what == "value" else {"somethingNew": {"why": NEW_VALUE}}
        return {**message, part: {**message[part], **new}} if part in message else message


Fault = Drop | Delay | Refuse | Duplicate | Novelty | Cut | Silence | Split | Merge
Counted = Drop | Delay | Refuse | Duplicate | Novelty
"""The faults that count the calls or events of a method."""
KINDS: Final[Mapping[str, type[Fault]]] = {kind.__name__: kind for kind in get_args(Fault)}


def checked_faults(given: Iterable[Fault]) -> tuple[Fault, ...]:
    """Return the faults as a tuple. Raises InvalidArgument if one of the values is not a fault."""
    made: tuple[Any, ...] = (given,) if isinstance(given, str) else tuple(given)
    for each in made:
        if type(each) not in KINDS.values():
            raise InvalidArgument(f"{each!r} is not a fault; the faults are {', '.join(KINDS)}.")
    return made


def faults_to_json(faults: Iterable[Fault]) -> list[Json]:
    """Return faults as JSON."""
    return [to_json(fault, "fault") for fault in faults]


def faults_from_json(content: Iterable[object]) -> tuple[Fault, ...]:
    """Read faults from JSON. Raises InvalidArgument with the path of the wrong part."""
    return tuple(from_json(each, "fault", KINDS, f"faults[{number}]") for number, each in enumerate(content))


@attrs.frozen
class FaultReport:
    """The faults of one connection that took effect; allowances.py derives the allowances from it."""

    faults: tuple[Fault, ...] = ()
    """The faults that matched a message, in the order of matching."""
    refused: frozenset[tuple[str | None, str]] = frozenset()
    """The session and method of each command that was refused."""
    dropped: frozenset[tuple[str | None, str]] = frozenset()
    """The session and method of each command that gets no reply."""


# ── one connection ───────────────────────────────────────────────────────────────────────────────────────────────────


class LinkFaults:
    """Counts the messages of one connection and matches its faults; the caller applies the faults."""

    def __init__(self, faults: Iterable[Fault], client: int) -> None:
        own = [fault for fault in faults if fault.client in (0, client)]
        # The faults that matched a message, in the order of matching.
        self.matched_faults: list[Fault] = []
        self._skipped: dict[type[Fault], set[tuple[str | None, str]]] = {Refuse: set(), Drop: set()}
        self._calls = _by_method(own, events=False)
        self._events = _by_method(own, events=True)
        # For each method: how many of its next replies must be doubled.
        self._replies: Counter[str] = Counter()
        self._link_faults = [fault for fault in own if isinstance(fault, (Cut, Silence))]
        self._counts: Counter[str] = Counter()
        self.silent: set[Direction] = set()

    @property
    def any(self) -> bool:
        """Whether any fault could match a message."""
        return bool(self._calls or self._events or self._link_faults)

    def for_command(self, method: str) -> list[Fault]:
        """Count a command of this method that the browser consumed; return the faults that match it."""
        matched = self._match(self._calls, method)
        self._replies[f"reply to {method}"] += sum(isinstance(fault, Duplicate) for fault in matched)
        return matched

    def note_skipped(self, fault: Refuse | Drop, session_id: str | None, method: str) -> None:
        """Note that this fault kept a command on this session from taking effect."""
        self._skipped[type(fault)].add((session_id, method))

    def report(self) -> FaultReport:
        """Return the faults that took effect so far."""
        return FaultReport(tuple(self.matched_faults), frozenset(self._skipped[Refuse]), frozenset(self._skipped[Drop]))

    def for_message(self, what: str) -> list[Fault]:
        """Count an event or reply that the browser creates; return the faults that match it."""
        matched = self._match(self._events, what)
        if self._replies[what]:
            self._replies[what] -= 1
            return [Duplicate(what), *matched]
        return matched

    def _match(self, of_method: Mapping[str, list[Counted]], method: str) -> list[Fault]:
        faults = of_method.get(method)
        if faults is None:
            return []
        self._counts[method] += 1
        matched: list[Fault] = [fault for fault in faults if fault.nth == self._counts[method]]
        self.matched_faults += matched
        return matched

    def survives(self, direction: Direction, when: Literal["before", "after"], number: int) -> bool:
        """Return whether the link survives message `number` of the direction, before or after it."""
        for fault in self._link_faults:
            if fault.direction != direction or fault.nth != number or fault in self.matched_faults:
                continue
            if isinstance(fault, Cut) and fault.when == when:
                self.matched_faults.append(fault)
                return False
            if isinstance(fault, Silence) and when == "before":
                self.matched_faults.append(fault)
                self.silent.add(direction)
        return True


def _by_method(faults: Iterable[Fault], *, events: bool) -> dict[str, list[Counted]]:
    found: dict[str, list[Counted]] = {}
    for fault in faults:
        if isinstance(fault, Novelty):
            what = fault.method if is_event(fault.method) else f"reply to {fault.method}"
            if events:
                found.setdefault(what, []).append(fault)
        elif isinstance(fault, (Drop, Delay, Refuse, Duplicate)) and is_event(fault.method) is events:
            found.setdefault(fault.method, []).append(fault)
    return found
