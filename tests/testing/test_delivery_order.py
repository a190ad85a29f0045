"""`Streams`: which messages may come next, for both sets of edges, compared with a slow model."""

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
class Message:
    """One message: an event about a thing, or a reply of the browser process."""

    session: str | None
    thing: str | None
    since: int | None
    """For a reply: the number of messages that were added after its cause."""


MESSAGES = st.builds(
    Message, st.sampled_from(SESSIONS), st.sampled_from([*THINGS, None]), st.none() | st.integers(0, 3)
)


def add(streams: Streams, message: Message, payload: bytes = b"{}") -> None:
    line, replies = ("session", message.session), ("replies", message.session)
    if message.since is None:
        about = () if message.thing is None else (message.thing,)
        streams.add(message.session, "event", payload, after=(line, *about))
    else:
        since = max(0, streams.last_number - message.since)
        streams.add(message.session, "reply to it", payload, after=(replies,), before=(line,), since=since)


def needed(before: list[Message], message: Message, edges: Edges) -> set[int]:
    """Return the numbers of the earlier messages that `message` must follow, by the plain rules."""
    found: set[int] = set()
    number = len(before) + 1
    if message.since is not None:
        first = max(0, len(before) - message.since) + 1
        found |= {
            each for each in range(first, number) if edges == "observed" or before[each - 1].session == message.session
        }
        found |= {
            each
            for each in range(1, number)
            if before[each - 1].since is not None and before[each - 1].session == message.session
        }
        return found
    for each in range(1, number):
        other = before[each - 1]
        same_thing = other.since is None and message.thing is not None and other.thing == message.thing
        if other.session == message.session or (edges == "observed" and same_thing):
            found.add(each)
    return found


@given(messages=st.lists(MESSAGES, max_size=12), edges=st.sampled_from(EDGES), chance=st.randoms(use_true_random=False))
def test_the_ready_messages_are_those_that_the_rules_allow(messages: list[Message], edges: Edges, chance: Any) -> None:
    streams = Streams(edges)
    rules: list[set[int]] = []
    waiting: dict[int, Message] = {}
    added: list[Message] = []
    for message in [*messages, None]:
        if message is not None:
            rules.append(needed(added, message, edges))
            added.append(message)
            add(streams, message)
            waiting[len(added)] = message
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
    """Return the numbers of all messages that must come before it, directly or indirectly."""
    found: set[int] = set()
    open_ = [number]
    while open_:
        for each in rules[open_.pop() - 1]:
            if each not in found:
                found.add(each)
                open_.append(each)
    return found


@given(messages=st.lists(MESSAGES, max_size=12))
def test_an_observed_order_is_causal_and_is_early_marks_the_others(messages: list[Message]) -> None:
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


def test_only_causal_edges_let_two_sessions_reorder_events_of_one_frame() -> None:
    for edges, order in (("observed", [1]), ("causal", [1, 2])):
        streams = Streams(edges)  # type: ignore[arg-type]
        add(streams, Message("s1", "frame", None))
        add(streams, Message("s2", "frame", None))
        assert [each.number for each in streams.ready()] == order


def test_a_message_that_is_not_ready_cannot_be_taken() -> None:
    streams = Streams()
    add(streams, Message("s1", None, None))
    add(streams, Message("s1", None, None))
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


def test_a_hold_delays_only_the_messages_added_after_it() -> None:
    notified: list[None] = []
    streams = Streams()
    add(streams, Message("s1", None, None))
    release = streams.hold()
    streams.on_add = lambda: notified.append(None)
    add(streams, Message("s2", None, None))
    assert [each.session_id for each in streams.ready()] == ["s1"]
    held = streams.waiting_one(3)
    assert held is not None
    with pytest.raises(ValueError, match=r"must come after \[2\]"):
        streams.take(held)
    release()
    release()
    assert [each.session_id for each in streams.ready()] == ["s1", "s2"]
    assert len(notified) == 2


def test_clear_drops_the_waiting_messages_and_the_hold() -> None:
    streams = Streams()
    release = streams.hold()
    for _ in range(3):
        add(streams, Message("s1", "frame", None))
    assert streams.clear() == 3
    release()
    assert streams.ready() == ()
    assert len(streams) == 0
    add(streams, Message("s1", "frame", None))
    assert len(streams.ready()) == 1


def test_copies_decides_how_many_times_a_message_is_added() -> None:
    streams = Streams()
    streams.copies = lambda _session, what: {"event": 2}.get(what, 0)
    add(streams, Message("s1", None, None))
    add(streams, Message("s1", None, 0))
    assert [each.what for each in streams.ready()] == ["event"]
    assert len(streams) == 2
