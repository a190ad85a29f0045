"""What goes wrong on purpose: values that say which message is lost, late, doubled or refused, and where a link breaks.

    legal     it happens with real browsers and real networks: a refusal, a slow link, a cut, a silent peer, other chunks
    hostile   nothing forbids it, and a browser was seen to do it elsewhere: an answer that never comes, or comes twice;
              what the protocol of a newer browser has (docs/cdp/drift-is-counted-not-raised.md)
    illegal   no browser does it: an event that is lost or doubled

Faults count for each connection by itself, in the order in which a browser hears commands and says events, so that a fault
strikes the same message under every schedule; those of a link's direction count what was really delivered.
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
"""From what everybody must live with to what nobody does."""
Direction = Literal["in", "out"]
"""`in` is what the client writes, `out` what the browser says."""


def is_event(method: str) -> bool:
    """Whether the protocol has an event of that name; a command never has the name of one."""
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
    """The client's number, from 1; 0 is each of them."""

    @property
    def legality(self) -> Legality:
        """An answer may be missing, an event may not."""
        return "illegal" if is_event(self.method) else "hostile"


@attrs.frozen(repr=False)
class Delay(LiteralValue):
    """The n-th call of a method, or the n-th event, comes so much later, and all behind it on the connection as well."""

    method: str = attrs.field(validator=a_name)
    seconds: float = attrs.field(validator=a_duration)
    nth: int = attrs.field(default=1, validator=a_number(1))
    client: int = attrs.field(default=0, validator=a_number())

    @property
    def legality(self) -> Legality:
        """Links are slow."""
        return "legal"


def _a_command(_fault: object, _field: object, method: Any) -> None:
    if not isinstance(method, str) or not method or is_event(method):
        raise InvalidArgument(f"Only a command can be refused, and {method!r} is none.")


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
        """A browser may refuse anything."""
        return "legal"


@attrs.frozen(repr=False)
class Duplicate(LiteralValue):
    """The n-th call of a method is answered twice with the same; the n-th event is sent twice."""

    method: str = attrs.field(validator=a_name)
    nth: int = attrs.field(default=1, validator=a_number(1))
    client: int = attrs.field(default=0, validator=a_number())

    @property
    def legality(self) -> Legality:
        """Chromium was seen to answer twice, when a page changed its process (wire_ids)."""
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
        """Links break."""
        return "legal"


@attrs.frozen(repr=False)
class Silence(LiteralValue):
    """From the n-th message of a direction on nothing comes through, and the link does not break."""

    nth: int = attrs.field(default=1, validator=a_number(1))
    direction: Direction = attrs.field(default="out", validator=one_of(("in", "out")))
    client: int = attrs.field(default=0, validator=a_number())

    @property
    def legality(self) -> Legality:
        """Links are half open."""
        return "legal"


@attrs.frozen(repr=False)
class Split(LiteralValue):
    """What goes over a byte stream comes in pieces of at most so many octets."""

    octets: int = attrs.field(default=1, validator=a_number(1))
    client: int = attrs.field(default=0, validator=a_number())

    @property
    def legality(self) -> Legality:
        """A stream has no borders."""
        return "legal"


@attrs.frozen(repr=False)
class Merge(LiteralValue):
    """What goes over a byte stream comes so many messages at once, where there are as many."""

    messages: int = attrs.field(default=2, validator=a_number(2))
    client: int = attrs.field(default=0, validator=a_number())

    @property
    def legality(self) -> Legality:
        """A stream has no borders."""
        return "legal"


NEW_EVENT: Final = "Future.happened"
NEW_VALUE: Final = "somethingNew"
EVENTS_WITH_OPEN_TYPE: Final = ("Page.javascriptDialogOpening", "Runtime.consoleAPICalled")
"""The events whose member `type` may have another value tomorrow, without that anything else would be another."""


@attrs.frozen(repr=False)
class Novelty(LiteralValue):
    """With the n-th event of a method, or the n-th reply to one, comes what the protocol does not have today.

    A `field` more, another `value` of an enumeration, or an `event` before it.
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
                f"{self.method!r} has no value to be another; {', '.join(EVENTS_WITH_OPEN_TYPE)} have one."
            )

    @property
    def legality(self) -> Legality:
        """Protocols grow."""
        return "hostile"

    def apply(self, message: Json) -> Json:
        """A message with what is new in it; of an `event`, the whole of it, on a session."""
        if self.what == "event":
            return {"method": NEW_EVENT, "params": {"why": NEW_VALUE}, **message}
        part = "params" if "params" in message else "result"
        new = {"type": NEW_VALUE} if self.what == "value" else {"somethingNew": {"why": NEW_VALUE}}
        return {**message, part: {**message[part], **new}} if part in message else message


Fault = Drop | Delay | Refuse | Duplicate | Novelty | Cut | Silence | Split | Merge
Counted = Drop | Delay | Refuse | Duplicate | Novelty
"""Those that count calls or events of a method."""
KINDS: Final[Mapping[str, type[Fault]]] = {kind.__name__: kind for kind in get_args(Fault)}


def checked_faults(given: Iterable[Fault]) -> tuple[Fault, ...]:
    """Faults, and nothing else. Raises InvalidArgument."""
    made: tuple[Any, ...] = (given,) if isinstance(given, str) else tuple(given)
    for each in made:
        if type(each) not in KINDS.values():
            raise InvalidArgument(f"{each!r} is no fault; there are {', '.join(KINDS)}.")
    return made


def faults_to_json(faults: Iterable[Fault]) -> list[Json]:
    """Faults as JSON."""
    return [to_json(fault, "fault") for fault in faults]


def faults_from_json(content: Iterable[object]) -> tuple[Fault, ...]:
    """Read faults. Raises InvalidArgument that names the place."""
    return tuple(from_json(each, "fault", KINDS, f"faults[{number}]") for number, each in enumerate(content))


@attrs.frozen
class FaultReport:
    """What became of the faults of one connection: for who judges its client (allowances.py)."""

    faults: tuple[Fault, ...] = ()
    """Those that met their message, in that order."""
    refused: frozenset[tuple[str | None, str]] = frozenset()
    """The calls that were refused, each by its session and method."""
    dropped: frozenset[tuple[str | None, str]] = frozenset()
    """Those that were never answered."""


# ── one connection ───────────────────────────────────────────────────────────────────────────────────────────────────


class LinkFaults:
    """The faults of one connection: what each message meets. It counts; others act."""

    def __init__(self, faults: Iterable[Fault], client: int) -> None:
        own = [fault for fault in faults if fault.client in (0, client)]
        self.matched_faults: list[Fault] = []
        """Those that met their message, in that order."""
        self._skipped: dict[type[Fault], set[tuple[str | None, str]]] = {Refuse: set(), Drop: set()}
        self._calls = _by_method(own, events=False)
        self._events = _by_method(own, events=True)
        self._replies: Counter[str] = Counter()
        """How many answers to a method are to be doubled."""
        self._link_faults = [fault for fault in own if isinstance(fault, (Cut, Silence))]
        self._counts: Counter[str] = Counter()
        self.silent: set[Direction] = set()

    @property
    def any(self) -> bool:
        """Whether there are any that a message could meet."""
        return bool(self._calls or self._events or self._link_faults)

    def for_command(self, method: str) -> list[Fault]:
        """The browser heard a call of this method: the faults that it meets."""
        matched = self._match(self._calls, method)
        self._replies[f"reply to {method}"] += sum(isinstance(fault, Duplicate) for fault in matched)
        return matched

    def note_skipped(self, fault: Refuse | Drop, session_id: str | None, method: str) -> None:
        """A call on that session did nothing, for this fault."""
        self._skipped[type(fault)].add((session_id, method))

    def report(self) -> FaultReport:
        """What became of them."""
        return FaultReport(tuple(self.matched_faults), frozenset(self._skipped[Refuse]), frozenset(self._skipped[Drop]))

    def for_message(self, what: str) -> list[Fault]:
        """The browser says this event or reply: the faults that it meets."""
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
        """Whether the link survives this message of the direction, before or after it."""
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
