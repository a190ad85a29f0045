"""Streams: what may come next, in both sets of edges, against a model that looks at everything each time."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdp_core.testing.fake.delivery_order import EDGES, Delivery, Edges, Streams

SESSIONS = ("s1", "s2", None)
THINGS = ("frame", "target")


@attrs.frozen
class Said:
    """One message: an event about a thing, or a reply of the browser's own process."""

    session: str | None
    thing: str | None
    since: int | None
    """For a reply: how many of the last messages it was caused before."""


MESSAGES = st.builds(Said, st.sampled_from(SESSIONS), st.sampled_from([*THINGS, None]), st.none() | st.integers(0, 3))


def add(streams: Streams, said: Said, payload: bytes = b"{}") -> None:
    line, own = ("session", said.session), ("replies", said.session)
    if said.since is None:
        about = () if said.thing is None else (said.thing,)
        streams.add(said.session, "event", payload, after=(line, *about))
    else:
        since = max(0, streams.last_number - said.since)
        streams.add(said.session, "reply to it", payload, after=(own,), before=(line,), since=since)


def needed(before: list[Said], said: Said, edges: Edges) -> set[int]:
    """By number, what must come before the message that is said after these: the rules, told without cleverness."""
    found: set[int] = set()
    number = len(before) + 1
    if said.since is not None:
        first = max(0, len(before) - said.since) + 1
        found |= {
            each for each in range(first, number) if edges == "observed" or before[each - 1].session == said.session
        }
        found |= {
            each
            for each in range(1, number)
            if before[each - 1].since is not None and before[each - 1].session == said.session
        }
        return found
    for each in range(1, number):
        other = before[each - 1]
        same_thing = other.since is None and said.thing is not None and other.thing == said.thing
        if other.session == said.session or (edges == "observed" and same_thing):
            found.add(each)
    return found


@given(messages=st.lists(MESSAGES, max_size=12), edges=st.sampled_from(EDGES), chance=st.randoms(use_true_random=False))
def test_what_may_come_next_is_what_the_rules_say(messages: list[Said], edges: Edges, chance: Any) -> None:
    streams = Streams(edges)
    rules: list[set[int]] = []
    waiting: dict[int, Said] = {}
    said: list[Said] = []
    for message in [*messages, None]:
        if message is not None:
            rules.append(needed(said, message, edges))
            said.append(message)
            add(streams, message)
            waiting[len(said)] = message
        while waiting and (message is None or chance.random() < 0.5):
            ready = {number for number in waiting if not (closure(number, rules) & waiting.keys())}
            assert {each.number for each in streams.ready()} == ready
            assert [streams.ready_at(place) for place in range(streams.ready_count)] == list(streams.ready())
            assert streams.first() == next(iter(streams.ready()), None)
            first = streams.first()
            assert first is not None
            assert first.number == min(ready)
            chosen = chance.choice(streams.ready())
            streams.take(chosen)
            del waiting[chosen.number]
    assert not streams
    assert streams.ready() == ()
    assert streams.first() is None


def closure(number: int, rules: list[set[int]]) -> set[int]:
    """What must come before it, and before that."""
    found: set[int] = set()
    open_ = [number]
    while open_:
        for each in rules[open_.pop() - 1]:
            if each not in found:
                found.add(each)
                open_.append(each)
    return found


@given(messages=st.lists(MESSAGES, max_size=12))
def test_an_order_that_was_observed_is_legal_and_not_the_other_way_round(messages: list[Said]) -> None:
    observed, causal = Streams("observed"), Streams("causal")
    for message in messages:
        add(observed, message)
        add(causal, message)
    while (first := observed.first()) is not None:
        assert {each.number for each in observed.ready()} <= {each.number for each in causal.ready()}
        for each in causal.ready():
            assert causal.is_early(each) == (each.number not in {other.number for other in observed.ready()})
        observed.take(first)
        causal.take(next(each for each in causal.ready() if each.number == first.number))


def test_two_sessions_cross_over_about_one_frame_only_by_cause() -> None:
    for edges, order in (("observed", [1]), ("causal", [1, 2])):
        streams = Streams(edges)  # type: ignore[arg-type]
        add(streams, Said("s1", "frame", None))
        add(streams, Said("s2", "frame", None))
        assert [each.number for each in streams.ready()] == order


def test_what_may_not_come_yet_is_not_taken() -> None:
    streams = Streams()
    add(streams, Said("s1", None, None))
    add(streams, Said("s1", None, None))
    second = streams.waiting_one(2)
    assert second is not None
    with pytest.raises(ValueError, match=r"message 2 \(event\) must come after \[1\]"):
        streams.take(second)
    first = streams.first()
    assert first is not None
    streams.take(first)
    with pytest.raises(ValueError, match="is no longer waiting"):
        streams.take(first)
    with pytest.raises(ValueError, match="is no longer waiting"):
        streams.take(Delivery(2, "s1", "event", b"{}", frozenset(), frozenset()))
    assert streams.take(second) == b"{}"


def test_a_hold_stops_what_comes_after_it_and_nothing_else() -> None:
    woken: list[None] = []
    streams = Streams()
    add(streams, Said("s1", None, None))
    release = streams.hold()
    streams.on_add = lambda: woken.append(None)
    add(streams, Said("s2", None, None))
    assert [each.session_id for each in streams.ready()] == ["s1"]
    held = streams.waiting_one(3)
    assert held is not None
    with pytest.raises(ValueError, match=r"must come after \[2\]"):
        streams.take(held)
    release()
    release()
    assert [each.session_id for each in streams.ready()] == ["s1", "s2"]
    assert len(woken) == 2


def test_who_is_gone_is_told_nothing_any_more() -> None:
    streams = Streams()
    release = streams.hold()
    for _ in range(3):
        add(streams, Said("s1", "frame", None))
    assert streams.clear() == 3
    release()
    assert streams.ready() == ()
    assert len(streams) == 0
    add(streams, Said("s1", "frame", None))
    assert len(streams.ready()) == 1


def test_copies_say_how_often() -> None:
    streams = Streams()
    streams.copies = lambda _session, what: {"event": 2}.get(what, 0)
    add(streams, Said("s1", None, None))
    add(streams, Said("s1", None, 0))
    assert [each.what for each in streams.ready()] == ["event"]
    assert len(streams) == 2
