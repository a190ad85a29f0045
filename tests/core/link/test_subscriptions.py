"""Subscriptions and expectations: bounds, overflow, ends, and slow consumers that delay no other task.

`Model` is the queue written in the simplest way, without regard to speed; the real one keeps two queues and counts
lazily.
"""

from __future__ import annotations

import gc
import json
import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import attrs
import pytest
import trio
from hypothesis import example, given
from hypothesis import strategies as st
from trio.testing import MockClock, assert_checkpoints, wait_all_tasks_blocked

from cdp_core import (
    ConnectionLost,
    Event,
    InvalidArgument,
    Missed,
    SessionGone,
    SessionId,
    SubscriberLagged,
    Subscription,
)
from cdp_core.sansio.structs import Raw
from cdp_core.subscriptions import MAX_ITEMS_PER_CHECKPOINT, Routes
from support.scripted_browser import ScriptedBrowser


class PickError(Exception):
    """Raised by a `where`."""


def numbered(number: int, size: int = 0, method: str = "A.a") -> Event:
    return Event(method=method, raw=Raw(json.dumps({"n": number, "pad": "x" * size}).encode()))


def number_of(item: Any) -> Any:
    return item if isinstance(item, Missed) else item.params["n"]


def make(**options: Any) -> Subscription[Any]:
    defaults = {"capacity": 3, "max_bytes": 1 << 20, "drop_oldest": False, "read": None, "where": None}
    return Subscription(**{**defaults, "close": lambda _sink: None, **options})


# ── against a naive model ────────────────────────────────────────────────────────────────────────────────────────────


@attrs.define
class Model:
    """The reference queue: one list, scanned whole at each step."""

    capacity: int
    max_bytes: int
    fails: bool
    queue: list[tuple[int, int]] = attrs.field(factory=list)
    missed: int = 0
    missed_total: int = 0
    end: str | None = None

    def push(self, number: int, size: int) -> None:
        if self.end in ("closed", "gone"):
            return
        if self.end == "lagged":
            self.missed_total += 1
            return
        while not self._fits(size):
            if self.fails:
                self.end = "lagged"
                self.missed_total += 1
                return
            if not self.queue:
                break  # a single item above the limit is still delivered
            self.queue.pop(0)
            self.missed += 1
            self.missed_total += 1
        self.queue.append((number, size))

    def _fits(self, size: int) -> bool:
        return len(self.queue) < self.capacity and self.waiting_bytes + size <= self.max_bytes

    @property
    def waiting_bytes(self) -> int:
        return sum(size for _, size in self.queue)

    def receive(self) -> Any:
        if self.missed:
            missed, self.missed = Missed(self.missed), 0
            return missed
        if self.queue:
            return self.queue.pop(0)[0]
        if self.end == "lagged":
            self.end = "closed"
            return ("lagged", self.missed_total)
        return self.end or "nothing"


programs = st.lists(
    st.one_of(
        st.tuples(st.just("push"), st.integers(0, 60)),
        st.tuples(st.just("push"), st.integers(0, 60)),
        st.tuples(st.just("burst"), st.integers(1, 12)),
        st.tuples(st.just("read"), st.integers(1, 5)),
        st.tuples(st.just("await"), st.integers(1, 5)),
        st.tuples(st.sampled_from(["gone", "close"]), st.just(0)),
    ),
    max_size=40,
)


def take(subscription: Subscription[Any]) -> Any:
    try:
        return number_of(subscription.receive_nowait())
    except trio.WouldBlock:
        return "nothing"
    except SubscriberLagged as lagged:
        return ("lagged", lagged.missed)
    except ConnectionLost:
        return "gone"
    except trio.ClosedResourceError:
        return "closed"


@given(
    program=programs,
    capacity=st.integers(1, 8),
    max_bytes=st.integers(1, 300),
    fails=st.booleans(),
    picky=st.booleans(),
    chance=st.random_module(),
)
@example(  # items read from the consumer's batch no longer count their bytes
    program=[("push", 0), ("push", 0), ("read", 1), ("push", 0), ("read", 3)],
    capacity=8,
    max_bytes=2 * len(numbered(0).raw) + 1,
    fails=True,
    picky=False,
    chance=random.Random(0),
)
@example(  # items dropped from the batch are reported before the rest of the batch
    program=[("burst", 3), ("read", 1), ("burst", 2), ("read", 5)],
    capacity=3,
    max_bytes=300,
    fails=False,
    picky=False,
    chance=random.Random(0),
)
@example(  # events that `where` selects after the overflow still count as missed
    program=[("burst", 5), ("read", 3)],
    capacity=1,
    max_bytes=300,
    fails=True,
    picky=True,
    chance=random.Random(0),
)
def test_the_queue_behaves_like_the_model(
    program: list[tuple[str, int]], capacity: int, max_bytes: int, fails: bool, picky: bool, chance: random.Random
) -> None:
    model = Model(capacity, max_bytes, fails)

    async def main() -> None:
        pushed = 0
        subscription = make(
            capacity=capacity,
            max_bytes=max_bytes,
            drop_oldest=not fails,
            where=(lambda event: event.params["n"] % 3 != 2) if picky else None,
        )

        def push(size: int) -> None:
            nonlocal pushed
            event = numbered(pushed, size)
            if model.end not in ("closed", "gone"):  # otherwise it is not registered
                subscription.push(event)
            if not picky or pushed % 3 != 2:
                model.push(pushed, len(event.raw))
            pushed += 1

        for act, amount in program:
            if act == "push":
                push(amount)
            elif act == "burst":
                for _ in range(amount):
                    push(0)
            elif act in ("read", "await"):
                for _ in range(amount):
                    if act == "await" and (model.queue or model.missed):
                        assert number_of(await subscription.receive()) == model.receive()
                    else:
                        assert take(subscription) == model.receive()
            elif act == "gone":
                subscription.end(lambda: ConnectionLost("Over.", reason="gone"))
                model.end = model.end or "gone"
            else:
                subscription.close()
                model.end, model.queue, model.missed = "closed", [], 0
            statistics = subscription.statistics()
            assert (statistics.waiting, statistics.missed) == (len(model.queue), model.missed_total)
            assert statistics.waiting <= capacity
            assert statistics.waiting_bytes == model.waiting_bytes
        while (got := take(subscription)) not in ("nothing", "closed", "gone"):
            assert got == model.receive()
        assert got == model.receive()

    trio.run(main)


@given(
    sizes=st.lists(st.integers(0, 50), max_size=60),
    reads=st.integers(0, 7),
    fails=st.booleans(),
    chance=st.random_module(),
)
def test_a_concurrent_consumer_receives_every_event_that_is_not_counted_as_missed(
    sizes: list[int], reads: int, fails: bool, chance: random.Random
) -> None:
    """In any schedule, no event is doubled or reordered, and `Missed` or the error counts each lost one."""

    async def main() -> None:
        subscription = make(capacity=5, max_bytes=400, drop_oldest=not fails)
        got: list[Any] = []
        pushed, done = 0, trio.Event()

        async def consume() -> None:
            with pytest.raises((SubscriberLagged, ConnectionLost)) as caught:
                async for item in subscription:
                    got.append(number_of(item))
                    for _ in range(reads % 3):
                        await trio.lowlevel.checkpoint()
            got.append(caught.value)
            done.set()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(consume)
            for number, size in enumerate(sizes):
                if done.is_set():
                    break  # it was closed, and is not registered any more
                subscription.push(numbered(number, size))
                pushed += 1
                if number % (reads + 1) == 0:
                    await trio.lowlevel.checkpoint()
            subscription.end(lambda: ConnectionLost("Over.", reason="gone"))
        expected, *_ = 0, None
        for item in got[:-1]:
            expected = expected + item.count if isinstance(item, Missed) else expected + int(item == expected)
        lagged = got[-1].missed if isinstance(got[-1], SubscriberLagged) else 0
        assert expected + lagged == pushed
        assert not (lagged and not fails)

    trio.run(main)


# ── which events are delivered ───────────────────────────────────────────────────────────────────────────────────────

METHODS = st.lists(st.sampled_from(["A.a", "B.b", "C.c"]), min_size=1, max_size=3, unique=True)
ROUTE = st.integers(0, 2)


@given(
    acts=st.lists(
        st.one_of(
            st.tuples(st.just("listen"), ROUTE, METHODS),
            st.tuples(st.just("close"), ROUTE, st.integers(0, 9)),
            st.tuples(st.just("end"), ROUTE, st.none()),
        ),
        max_size=20,
    )
)
def test_every_method_with_a_sink_is_in_the_set_of_subscribed_methods(acts: list[tuple[str, int, Any]]) -> None:
    """The set of subscribed methods covers every route, whichever session subscribes first or closes last."""
    subscribed: set[str] = set()
    ever: set[str] = set()
    routes = [Routes(subscribed) for _ in range(3)]
    listening: list[list[Subscription[Any]]] = [[], [], []]
    for act, index, what in acts:
        if act == "listen":
            made = routes[index].subscription(tuple(what), None, capacity=1, max_bytes=1, drop_oldest=True)
            listening[index].append(made)
            ever |= {*what}
        elif act == "close" and what < len(listening[index]):
            listening[index].pop(what).close()
        elif act == "end":
            routes[index].end(trio.ClosedResourceError)
            listening[index].clear()
        assert {method for each in routes for method in each.by_method} <= subscribed == ever


def test_a_sink_collected_during_a_registration_removes_no_other_sink() -> None:
    """The garbage collector may end an unreferenced expectation at any moment, even during a registration."""

    class Collecting(dict[str, Any]):
        def get(self, method: str, default: Any = None) -> Any:
            found = super().get(method, default)
            if collectable:
                routes.remove((method,), collectable.pop())
            return found

    subscribed: set[str] = set()
    routes = Routes(subscribed)
    expectation = routes.expectation(("A.a",), None, None)
    routes.by_method, collectable = Collecting(routes.by_method), [expectation.sink]
    options = {"capacity": 1, "max_bytes": 99, "drop_oldest": False}
    with routes.subscription(("A.a",), None, **options) as subscription:
        assert subscribed == {"A.a"}
        assert subscription in routes.sinks()
    routes.end(trio.ClosedResourceError)


async def test_a_session_still_receives_events_after_others_stopped_listening(peer: Any) -> None:
    async with peer.open() as browser:
        for session in ("S1", "S2", "S3"):
            peer.attached(session)
        await wait_all_tasks_blocked()
        first, second, third = (
            browser.sessions[SessionId(name)].subscribe("A.a", capacity=2) for name in ("S1", "S2", "S3")
        )
        first.close()
        peer.detached("S2")
        peer.event("A.a", {"n": 1}, "S3")
        await wait_all_tasks_blocked()
        assert number_of(third.receive_nowait()) == 1
        with pytest.raises(SessionGone):
            await second.receive()


# ── overflow ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_overflow_fail_keeps_the_queued_events_and_raises_once(peer: Any) -> None:
    async with peer.open() as browser:
        slow, quick = browser.subscribe("A.a", capacity=2), browser.subscribe("A.a", capacity=9)
        for number in range(5):
            peer.event("A.a", {"n": number})
        await wait_all_tasks_blocked()
        assert [number_of(await slow.receive()) for _ in range(2)] == [0, 1]
        with pytest.raises(SubscriberLagged) as caught:
            await slow.receive()
        assert (caught.value.missed, caught.value.capacity) == (3, 2)
        with pytest.raises(trio.ClosedResourceError):
            await slow.receive()
        assert [number_of(await quick.receive()) for _ in range(5)] == list(range(5))
        assert browser.statistics().closed is None
        assert len(browser._link.routes[None].by_method["A.a"]) == 1


async def test_drop_oldest_reports_the_count_before_the_next_event(peer: Any) -> None:
    async with peer.open() as browser:
        with browser.subscribe_latest("A.a", capacity=2) as subscription:
            for number in range(5):
                peer.event("A.a", {"n": number})
            await wait_all_tasks_blocked()
            assert [number_of(await subscription.receive()) for _ in range(3)] == [Missed(3), 3, 4]
            for number in range(5, 7):
                peer.event("A.a", {"n": number})
            assert [number_of(await subscription.receive()) for _ in range(2)] == [5, 6]


async def test_the_overflow_error_names_the_bound_that_was_exceeded(peer: Any) -> None:
    async with peer.open() as browser:
        short_of_bytes = browser.subscribe("A.a", capacity=9, max_bytes=20)
        short_of_places = browser.subscribe("A.a", capacity=2, max_bytes=1000)
        for number in range(4):
            peer.event("A.a", {"n": number})
        await wait_all_tasks_blocked()
        for subscription, max_bytes, word in ((short_of_bytes, 20, "20 bytes"), (short_of_places, None, "2 places")):
            with pytest.raises(SubscriberLagged, match=word) as caught:
                while True:
                    subscription.receive_nowait()
            assert caught.value.max_bytes == max_bytes


async def test_a_message_above_max_bytes_is_delivered_alone() -> None:
    subscription = make(max_bytes=50, drop_oldest=True)
    subscription.push(numbered(0))
    subscription.push(numbered(1, 100))
    assert [number_of(await subscription.receive()) for _ in range(2)] == [Missed(1), 1]


def test_the_byte_count_does_not_drift() -> None:
    """However events are queued, read and dropped, an empty queue counts no bytes."""
    subscription = make(capacity=4, max_bytes=200, drop_oldest=True)
    for turn in range(200):
        for number in range(6):
            subscription.push(numbered(number, turn % 7))
        for _ in range(turn % 5 + 1):
            take(subscription)
    while take(subscription) != "nothing":
        pass
    subscription.push(numbered(0))
    assert subscription.statistics().waiting_bytes == len(numbered(0).raw)


@pytest.mark.parametrize("capacity", [0, -1, 1.5, True, None])
async def test_an_invalid_capacity_is_refused(peer: Any, capacity: Any) -> None:
    async with peer.open() as browser:
        with pytest.raises(InvalidArgument):
            browser.subscribe("A.a", capacity=capacity)
        with pytest.raises(InvalidArgument):
            browser.subscribe("A.a", capacity=1, max_bytes=0)
        assert browser._link.routes[None].by_method == {}


# ── `where` ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_where_selects_events(peer: Any) -> None:
    async with peer.open() as browser:
        subscription = browser.subscribe("A.a", capacity=2, where=lambda event: event.params["n"] > 6)
        for number in range(9):
            peer.event("A.a", {"n": number})
        await wait_all_tasks_blocked()
        assert [number_of(await subscription.receive()) for _ in range(2)] == [7, 8]


async def test_a_where_that_raises_ends_only_its_own_sink(peer: Any) -> None:
    def pick(event: Event) -> bool:
        if event.params["n"] == 2:
            raise PickError
        return True

    async with peer.open() as browser:
        picky, other = browser.subscribe("A.a", capacity=9, where=pick), browser.subscribe("A.a", capacity=9)
        expectation = browser.expect("A.a", where=lambda event: pick(event) and event.params["n"] > 4)
        later = browser.expect("A.a", where=lambda event: event.params["n"] == 4)
        for number in range(5):
            peer.event("A.a", {"n": number})
        await wait_all_tasks_blocked()
        assert [number_of(await picky.receive()) for _ in range(2)] == [0, 1]
        for call in (picky.receive, picky.receive, expectation.wait):
            with pytest.raises(PickError):
                await call()
        assert [number_of(await other.receive()) for _ in range(5)] == list(range(5))
        assert number_of(await later.wait()) == 4
        assert browser.statistics().closed is None


# ── one consumer at a time ───────────────────────────────────────────────────────────────────────────────────────────


async def test_a_second_consumer_is_refused() -> None:
    subscription = make()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(subscription.receive)
        await wait_all_tasks_blocked()
        with pytest.raises(trio.BusyResourceError):
            await subscription.receive()
        subscription.push(numbered(0))


@pytest.mark.parametrize("end", [False, True])
async def test_a_second_consumer_is_refused_while_the_first_is_woken(end: bool) -> None:
    """The first is woken but has not run, so the item or the end is reserved for it.

    The second gets BusyResourceError, not WouldBlock.
    """
    subscription = make()
    got: list[int] = []

    async def first() -> None:
        if end:
            with pytest.raises(trio.ClosedResourceError):
                await subscription.receive()
        else:
            got.append(number_of(await subscription.receive()))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(first)
        await wait_all_tasks_blocked()
        subscription.push(numbered(0))
        if end:
            subscription.close()
        with pytest.raises(trio.BusyResourceError):
            await subscription.receive()
    assert got == ([] if end else [0])


async def test_receive_nowait_leaves_a_waiting_consumer_waiting() -> None:
    subscription = make()
    got: list[int] = []

    async def first() -> None:
        got.append(number_of(await subscription.receive()))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(first)
        await wait_all_tasks_blocked()
        subscription.push(numbered(0))
        assert number_of(subscription.receive_nowait()) == 0
        await wait_all_tasks_blocked()
        assert got == []
        subscription.push(numbered(1))
    assert got == [1]


@given(
    program=st.lists(st.sampled_from(["receive", "nowait", "push", "cancel", "turn", "quiet"]), max_size=40),
    chance=st.random_module(),
)
@example(["receive", "quiet", "push", "receive"], random.Random(0))
def test_several_consumers_take_each_event_once_or_are_refused(program: list[str], chance: random.Random) -> None:
    """At most one consumer waits, none gets WouldBlock, and each event reaches exactly one of them."""

    async def main() -> None:
        subscription, taken, scopes, pushed = make(capacity=100), list[int](), list[trio.CancelScope](), 0

        async def consume(scope: trio.CancelScope) -> None:
            with scope, suppress(trio.BusyResourceError, trio.ClosedResourceError):
                taken.append(number_of(await subscription.receive()))

        async with trio.open_nursery() as nursery:
            for act in program:
                if act == "receive":
                    scopes.append(trio.CancelScope())
                    nursery.start_soon(consume, scopes[-1])
                elif act == "nowait":
                    with suppress(trio.WouldBlock):
                        taken.append(number_of(subscription.receive_nowait()))
                elif act == "push":
                    subscription.push(numbered(pushed))
                    pushed += 1
                elif act == "cancel" and scopes:
                    scopes.pop().cancel()
                elif act == "turn":
                    await trio.lowlevel.checkpoint()
                elif act == "quiet":
                    await wait_all_tasks_blocked()
            await wait_all_tasks_blocked()
            with suppress(trio.WouldBlock):
                while True:
                    taken.append(number_of(subscription.receive_nowait()))
            assert sorted(taken) == list(range(pushed))
            subscription.close()

    trio.run(main, clock=MockClock(autojump_threshold=0))


@pytest.mark.parametrize("subscribe", ["subscribe", "subscribe_latest", "subscribe_all", "subscribe_all_latest"])
async def test_an_invalid_argument_registers_nothing(peer: Any, subscribe: str) -> None:
    async with peer.open() as browser:
        for options in ({"capacity": 0}, {"capacity": 1, "max_bytes": "1"}, {"capacity": True}):
            with pytest.raises(InvalidArgument):
                getattr(browser, subscribe)("A.a", **options)
        with pytest.raises(InvalidArgument):
            browser.subscribe("A.a", capacity=1, where=5)
        assert browser.session_statistics().subscriptions == 0
        assert not browser._link.all_sessions.by_method


async def test_a_cancelled_receive_loses_nothing() -> None:
    subscription = make()
    with trio.move_on_after(0.01):
        await subscription.receive()
    subscription.push(numbered(0))
    subscription.push(numbered(1))
    with trio.CancelScope() as scope:
        scope.cancel()
        await subscription.receive()
    assert number_of(await subscription.receive()) == 0
    with trio.CancelScope() as scope:  # also while the batch holds items
        scope.cancel()
        await subscription.receive()
    assert scope.cancelled_caught
    assert number_of(await subscription.receive()) == 1


async def test_a_cancel_together_with_an_event_loses_nothing() -> None:
    for event_first in (True, False):
        subscription, scope, got = make(), trio.CancelScope(), []

        async def consume(
            subscription: Subscription[Any] = subscription, scope: trio.CancelScope = scope, got: list[Any] = got
        ) -> None:
            with scope:
                got.append(await subscription.receive())

        async with trio.open_nursery() as nursery:
            nursery.start_soon(consume)
            await wait_all_tasks_blocked()
            acts: list[Callable[[], object]] = [
                lambda subscription=subscription: subscription.push(numbered(0)),
                scope.cancel,
            ]
            for act in acts if event_first else reversed(acts):
                act()
        assert len(got) + subscription.statistics().waiting == 1


async def test_a_consumer_lets_other_tasks_run() -> None:
    """An empty batch is a full checkpoint, and so is every MAX_ITEMS_PER_CHECKPOINT-th item at the latest.

    Each receive may be cancelled.
    """
    subscription = make(capacity=3 * MAX_ITEMS_PER_CHECKPOINT)
    for number in range(2 * MAX_ITEMS_PER_CHECKPOINT):
        subscription.push(numbered(number))
    with assert_checkpoints():
        await subscription.receive()
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(other)
        for _ in range(2 * MAX_ITEMS_PER_CHECKPOINT - 1):
            await subscription.receive()
        nursery.cancel_scope.cancel()
    assert 1 <= turns <= 10


# ── ends ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("parked", [True, False])
@pytest.mark.parametrize("end", ["session", "link", "close", "block"])
async def test_every_end_is_raised_after_the_queued_events(peer: Any, end: str, parked: bool) -> None:
    got: list[Any] = []

    async def consume(subscription: Subscription[Any]) -> None:
        try:
            async for event in subscription:
                got.append(number_of(event))  # noqa: PERF401 - it ends by an exception
        except Exception as error:
            got.append(type(error))

    async with trio.open_nursery() as nursery:
        async with peer.open() as browser:
            peer.attached("S1")
            await wait_all_tasks_blocked()
            subscription = browser.sessions[SessionId("S1")].subscribe("A.a", capacity=9)
            if parked:
                nursery.start_soon(consume, subscription)
                await wait_all_tasks_blocked()
            peer.event("A.a", {"n": 0}, "S1")
            peer.event("A.a", {"n": 1}, "S1")
            await wait_all_tasks_blocked()
            if end == "session":
                peer.detached("S1")
            elif end == "link":
                await peer.hang_up()
            elif end == "close":
                subscription.close()
            await wait_all_tasks_blocked()
        if not parked:
            nursery.start_soon(consume, subscription)
    kind = {"session": SessionGone, "close": trio.ClosedResourceError}.get(end, ConnectionLost)
    assert got == ([0, 1, kind] if parked or end != "close" else [kind])


async def test_a_closed_subscription_receives_and_holds_nothing(peer: Any) -> None:
    async with peer.open() as browser:
        with browser.subscribe("A.a", "A.b", capacity=1) as subscription:
            peer.event("A.a")
            await wait_all_tasks_blocked()
        subscription.close()
        statistics = subscription.statistics()
        assert (statistics.waiting, statistics.waiting_bytes) == (0, 0)
        assert browser._link.routes[None].by_method == {}
        for _ in range(2):
            with pytest.raises(trio.ClosedResourceError):
                subscription.receive_nowait()


async def test_each_read_raises_a_new_error(peer: Any) -> None:
    async with peer.open() as browser:
        subscription = browser.subscribe("A.a", capacity=1)
        await peer.hang_up()
        errors = []
        for _ in range(2):
            with pytest.raises(ConnectionLost) as caught:
                await subscription.receive()
            errors.append(caught.value)
        assert errors[0] is not errors[1]


# ── sessions ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_session_receives_its_own_events_and_subscribe_all_receives_all(peer: Any) -> None:
    async with peer.open() as browser:
        peer.attached("S1")
        await wait_all_tasks_blocked()
        root = browser.subscribe("A.a", "A.b", capacity=9)
        page = browser.sessions[SessionId("S1")].subscribe("A.a", capacity=9)
        all_sessions = browser.subscribe_all("A.a", capacity=9)
        before = trio.current_time()
        for method, session in (("A.a", "S1"), ("A.a", None), ("A.b", None), ("A.b", "S1"), ("A.a", "S1")):
            peer.event(method, {"n": 0}, session)
        await wait_all_tasks_blocked()
        assert [(event.method, event.session_id) for event in drain(root)] == [("A.a", None), ("A.b", None)]
        assert [event.session_id for event in drain(page)] == ["S1", "S1"]
        received = drain(all_sessions)
        assert [(each.session_id, each.event.method) for each in received] == [
            ("S1", "A.a"),
            (None, "A.a"),
            ("S1", "A.a"),
        ]
        assert all(before <= each.at <= trio.current_time() for each in received)
        peer.detached("S1")
        await wait_all_tasks_blocked()
        with pytest.raises(trio.WouldBlock):
            all_sessions.receive_nowait()
    with pytest.raises(ConnectionLost):
        all_sessions.receive_nowait()


async def test_subscribe_all_overflows_like_subscribe(peer: Any) -> None:
    class Typed:
        __cdp_method__ = "A.a"

        @classmethod
        def __cdp_read__(cls, event: Event) -> int:
            return int(event.params["n"])

    async with peer.open() as browser:
        drops = browser.subscribe_all_latest(Typed, capacity=1)
        fails = browser.subscribe_all("A.a", capacity=1)
        for number in range(3):
            peer.event("A.a", {"n": number})
        await wait_all_tasks_blocked()
        missed, last = drain(drops)
        assert missed == Missed(2)
        assert (last.event, last.session_id) == (2, None)
        assert len([await fails.receive()]) == 1
        with pytest.raises(SubscriberLagged):
            await fails.receive()


def drain(subscription: Subscription[Any]) -> list[Any]:
    items = []
    while True:
        try:
            items.append(subscription.receive_nowait())
        except trio.WouldBlock:
            return items


# ── expectations ─────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_an_expectation_is_armed_at_once(peer: Any) -> None:
    async with peer.open() as browser:
        expectation = browser.expect("A.a")
        peer.event("A.a", {"n": 0})
        peer.event("A.a", {"n": 1})
        await wait_all_tasks_blocked()
        with assert_checkpoints():
            assert number_of(await expectation.wait()) == 0
        assert number_of(await expectation.wait()) == 0
        assert browser._link.routes[None].by_method == {}


@pytest.mark.parametrize("inside", [True, False])
async def test_an_expectation_is_awaited_inside_or_after_its_block(peer: Any, inside: bool) -> None:
    peer.rules["A.act"] = lambda _command: peer.event("A.a", {"n": 7})
    async with peer.open() as browser:
        with browser.expect("A.a") as expectation:
            browser.send_nowait("A.act")
            if inside:
                assert number_of(await expectation.wait()) == 7
        with trio.fail_after(5):
            assert number_of(await expectation.wait()) == 7


async def test_many_tasks_may_wait_for_one_expectation(peer: Any) -> None:
    async with peer.open() as browser, trio.open_nursery() as nursery:
        expectation = browser.expect("A.a")
        for _ in range(3):
            nursery.start_soon(expectation.wait)
        await wait_all_tasks_blocked()
        peer.event("A.a")


async def test_an_unreferenced_expectation_stops_listening(peer: Any) -> None:
    async with peer.open() as browser:
        browser.expect("A.a")
        with browser.expect("A.a"):
            pass
        gc.collect()
        assert browser._link.routes[None].by_method == {}


async def test_an_expectation_whose_block_raised_is_closed(peer: Any) -> None:
    async with peer.open() as browser:
        with pytest.raises(PickError), browser.expect("A.a") as expectation:
            raise PickError
        assert browser._link.routes[None].by_method == {}
        with pytest.raises(trio.ClosedResourceError):
            await expectation.wait()


async def test_a_cancelled_wait_may_be_repeated(peer: Any) -> None:
    async with peer.open() as browser:
        expectation = browser.expect("A.a")
        with trio.move_on_after(0.01):
            await expectation.wait()
        peer.event("A.a", {"n": 3})
        assert number_of(await expectation.wait()) == 3


async def test_the_end_of_the_session_ends_an_expectation(peer: Any) -> None:
    async with peer.open() as browser:
        peer.attached("S1")
        await wait_all_tasks_blocked()
        page = browser.sessions[SessionId("S1")]
        met, unmet = page.expect("A.a"), page.expect("A.b")
        peer.event("A.a", {"n": 1}, "S1")
        peer.detached("S1")
        with pytest.raises(SessionGone):
            await unmet.wait()
        assert number_of(await met.wait()) == 1
        with pytest.raises(SessionGone):
            page.expect("A.a")


# ── floods and large events ──────────────────────────────────────────────────────────────────────────────────────────


async def test_a_subscriber_that_never_reads_delays_no_other_task(peer: Any) -> None:
    peer.rules["A.act"] = peer.reply
    async with peer.open() as browser:
        browser.subscribe("A.a", capacity=10)
        browser.subscribe_latest("A.a", capacity=10)
        lazy = browser.subscribe("A.a", capacity=10)
        for number in range(5_000):
            peer.event("A.a", {"n": number})
        with trio.fail_after(5):
            await browser.send("A.act")
        statistics = lazy.statistics()
        assert (statistics.waiting, statistics.missed) == (10, 4990)
        assert statistics.waiting_bytes < 1000


async def test_a_reader_that_keeps_reading_keeps_up_with_a_flood(peer: Any) -> None:
    """Events arrive as from a WebSocket: a chunk, then a checkpoint for the other tasks."""
    chunk, chunks = 500, 40
    highest = 0
    async with peer.open() as browser, trio.open_nursery() as nursery:
        subscription = browser.subscribe("A.a", capacity=chunk * chunks)

        @nursery.start_soon
        async def _() -> None:
            for start in range(0, chunk * chunks, chunk):
                peer.send(*[b'{"method":"A.a","params":{"n":%d}}' % (start + index) for index in range(chunk)])
                await trio.lowlevel.checkpoint()

        for number in range(chunk * chunks):
            assert number_of(await subscription.receive()) == number
            if number % 50 == 0:
                highest = max(highest, subscription.statistics().waiting)
    assert highest <= 4 * chunk  # the most that may arrive within one pass of the scheduler


class LargeMessages:
    """A transport whose messages are views of one reused buffer."""

    def __init__(self, *messages: bytes) -> None:
        self._messages = list(messages)
        self._buffer = bytearray(max(map(len, messages)))

    async def receive(self) -> list[memoryview]:
        await trio.lowlevel.checkpoint()
        self._buffer[:] = b"\0" * len(self._buffer)
        if not self._messages:
            raise trio.EndOfChannel
        message = self._messages.pop(0)
        self._buffer[: len(message)] = message
        return [memoryview(self._buffer)[: len(message)]]

    async def send(self, batch: Any, /) -> None:
        await trio.lowlevel.checkpoint()

    async def aclose(self) -> None:
        await trio.lowlevel.checkpoint()


async def test_large_events_outlive_their_receive_buffer() -> None:
    peer = ScriptedBrowser()
    texts = [
        json.dumps({"method": "A.a", "params": {"n": number, "pad": str(number) * 300_000}}).encode()
        for number in range(4)
    ]
    peer.transport = LargeMessages(*texts)
    subscription = None
    async with peer.open() as browser:
        subscription = browser.subscribe("A.a", capacity=9, max_bytes=3 * len(texts[0]))
        all_sessions = browser.subscribe_all("A.a", capacity=9)
        await browser.wait_closed()
        assert subscription.statistics().waiting_bytes == 3 * len(texts[0])
        for number in range(3):
            event = await subscription.receive()
            assert event.params == {"n": number, "pad": str(number) * 300_000}
        with pytest.raises(SubscriberLagged):
            await subscription.receive()
        assert [each.event.params["n"] for each in [await all_sessions.receive() for _ in range(4)]] == [0, 1, 2, 3]
