"""The memory transport: the order of messages, its ends, and cancellation, which loses nothing."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock, assert_checkpoints, wait_all_tasks_blocked

from cdp_core.errors import ConnectionLost
from cdp_core.sansio.outcomes import Loss
from cdp_core.transports import DirectTransport
from cdp_core.transports.memory import Inbox, MemoryTransport, memory_pair


async def lost(call: Callable[[], Awaitable[object]]) -> str:
    with pytest.raises(ConnectionLost) as caught:
        await call()
    return caught.value.reason


# ── messages ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_each_end_receives_what_the_other_sends() -> None:
    one, other = memory_pair()
    await one.send([b"1", b"2"])
    assert one.send_now(b"3")
    await other.send([b"back"])
    assert list(await other.receive()) == [b"1", b"2", b"3"]
    assert list(await one.receive()) == [b"back"]
    assert (one.statistics().sent, one.statistics().received, one.statistics().waiting) == (3, 1, 0)


async def test_a_message_wakes_a_waiting_receiver() -> None:
    one, other = memory_pair()
    got: list[list[bytes]] = []

    async def receive() -> None:
        got.append(list(await other.receive()))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(receive)
        await wait_all_tasks_blocked()
        one.send_now(b"1")
        one.send_now(b"2")  # before the woken task runs, so both come in one batch
    assert got == [[b"1", b"2"]]


async def test_every_call_is_a_checkpoint() -> None:
    one, other = memory_pair()
    with assert_checkpoints():
        await one.send([b"1"])
    with assert_checkpoints():
        await other.receive()
    with assert_checkpoints():
        await one.aclose()


async def test_an_empty_batch_wakes_no_receiver() -> None:
    one, other = memory_pair()
    got: list[bytes] = []

    async def receive() -> None:
        got.extend(await other.receive())

    async with trio.open_nursery() as nursery:
        nursery.start_soon(receive)
        await wait_all_tasks_blocked()
        await one.send([])
        await wait_all_tasks_blocked()
        assert len(nursery.child_tasks) == 1
        one.send_now(b"1")
    assert got == [b"1"]


def test_it_is_a_direct_transport() -> None:
    one, _other = memory_pair()
    assert isinstance(one, DirectTransport)
    assert not one.unsent


async def test_a_second_receiver_is_refused() -> None:
    one, other = memory_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(other.receive)
        await wait_all_tasks_blocked()
        with pytest.raises(trio.BusyResourceError):
            await other.receive()
        one.send_now(b"1")


# ── ends ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_messages_sent_before_the_peer_closed_are_received() -> None:
    one, other = memory_pair()
    await one.send([b"1"])
    await one.aclose()
    assert await lost(lambda: other.send([b"x"])) == "peer_closed"
    assert not other.send_now(b"x")
    assert list(await other.receive()) == [b"1"]
    assert await lost(other.receive) == "peer_closed"
    assert await lost(other.receive) == "peer_closed"


async def test_every_call_fails_after_our_own_close() -> None:
    one, other = memory_pair()
    await other.send([b"unread"])
    await one.aclose()
    await one.aclose()
    assert await lost(one.receive) == "closed"
    assert await lost(lambda: one.send([b"x"])) == "closed"
    assert not one.send_now(b"x")
    await other.aclose()
    assert await lost(one.receive) == "closed"
    assert await lost(other.receive) == "closed"  # it closed too, so the reason is its own


@pytest.mark.parametrize("closer", [0, 1])
async def test_a_close_wakes_a_waiting_receiver(closer: int) -> None:
    pair = memory_pair()
    async with trio.open_nursery() as nursery:

        @nursery.start_soon
        async def _() -> None:
            assert await lost(pair[0].receive) == ("closed", "peer_closed")[closer]

        await wait_all_tasks_blocked()
        await pair[closer].aclose()


async def test_a_woken_receiver_without_a_message_waits_again() -> None:
    one, other = memory_pair()
    got: list[list[bytes]] = []

    async def receive() -> None:
        got.append(list(await other.receive()))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(receive)
        await wait_all_tasks_blocked()
        one.send_now(b"1")
        other._inbox._messages.clear()
        await wait_all_tasks_blocked()
        one.send_now(b"2")
    assert got == [[b"2"]]


async def test_a_close_drops_messages_that_a_woken_receiver_has_not_taken() -> None:
    one, other = memory_pair()
    async with trio.open_nursery() as nursery:

        @nursery.start_soon
        async def _() -> None:
            assert await lost(other.receive) == "closed"

        await wait_all_tasks_blocked()
        one.send_now(b"1")
        await other.aclose()


async def test_a_cancelled_close_still_closes() -> None:
    one, other = memory_pair()
    with trio.CancelScope() as scope:
        scope.cancel()
        await one.aclose()
    assert await lost(other.receive) == "peer_closed"


async def test_each_call_raises_a_new_error() -> None:
    one, other = memory_pair()
    await one.aclose()
    errors: list[ConnectionLost] = []
    for _ in range(2):
        with pytest.raises(ConnectionLost) as caught:
            await other.receive()
        errors.append(caught.value)
    assert errors[0] is not errors[1]


async def test_the_first_reason_is_kept() -> None:
    inbox = Inbox()
    inbox.end(Loss(kind="connection", reason="first", detail="."))
    inbox.end(Loss(kind="connection", reason="second", detail="."))
    assert await lost(inbox.take) == "first"


# ── cancellation ─────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_cancelled_send_sends_nothing() -> None:
    one, other = memory_pair()
    with trio.CancelScope() as scope:
        scope.cancel()
        await one.send([b"1"])
    assert other.statistics().waiting == 0


async def test_after_a_cancelled_receive_another_one_works() -> None:
    one, other = memory_pair()
    with trio.move_on_after(0.01):
        await other.receive()
    await one.send([b"1"])
    assert list(await other.receive()) == [b"1"]


async def test_a_cancel_and_a_message_in_one_scheduler_pass_lose_nothing() -> None:
    """The message wakes the task and the cancel comes before the task runs, or the other way round."""
    for message_first in (True, False):
        one, other = memory_pair()
        got: list[bytes] = []
        scope = trio.CancelScope()

        async def receive(
            other: MemoryTransport = other, got: list[bytes] = got, scope: trio.CancelScope = scope
        ) -> None:
            with scope:
                got.extend(await other.receive())

        async with trio.open_nursery() as nursery:
            nursery.start_soon(receive)
            await wait_all_tasks_blocked()
            acts = [lambda one=one: one.send_now(b"1"), scope.cancel]
            for act in acts if message_first else reversed(acts):
                act()
        assert len(got) + other.statistics().waiting == 1


steps = st.lists(
    st.one_of(
        st.tuples(st.just("send"), st.integers(0, 3)),
        st.tuples(st.just("now"), st.just(1)),
        st.tuples(st.just("cancel"), st.just(0)),
        st.tuples(st.just("pass"), st.integers(1, 3)),
    ),
    max_size=20,
)


@given(program=steps, chance=st.random_module())
def test_nothing_is_lost_doubled_or_reordered(program: list[tuple[str, int]], chance: random.Random) -> None:
    """One task sends; another receives and is cancelled repeatedly."""

    async def main() -> None:
        one, other = memory_pair()
        sent: list[bytes] = []
        got: list[bytes] = []
        scope = trio.CancelScope()

        async def receive() -> None:
            nonlocal scope
            while True:
                with trio.CancelScope() as scope:
                    got.extend(await other.receive())

        async with trio.open_nursery() as nursery:

            @nursery.start_soon
            async def _() -> None:
                assert await lost(receive) == "peer_closed"

            for act, count in program:
                batch = [b"%d" % (len(sent) + place) for place in range(count)]
                if act == "send":
                    await one.send(batch)
                    sent += batch
                elif act == "now":
                    assert one.send_now(batch[0])
                    sent += batch
                elif act == "cancel":
                    scope.cancel()
                else:
                    for _ in range(count):
                        await trio.lowlevel.checkpoint()
            await one.aclose()
        assert got == sent

    trio.run(main, clock=MockClock(autojump_threshold=0))
