"""The fake browser as a transport, on trio's clock, in the order of a seed or of a schedule."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st

from cdp_core import open_browser_session
from cdp_core.errors import ConnectionLost
from cdp_core.testing.fake.browser import FakeBrowser
from cdp_core.testing.faults import Cut
from cdp_core.testing.schedules import Consume, Deliver, Schedule
from cdp_core.testing.steps import AddFrame, Console, Script, Wait
from cdp_core.testing.steps import Cut as CutStep
from cdp_core.testing.transport import FakeTransport

BUSY = Script(timeline=[Wait(1), AddFrame("a", "https://ads.example/"), AddFrame("b", "https://pay.example/")])
DISCOVER = b'{"id":1,"method":"Target.setDiscoverTargets","params":{"discover":true}}'
VERSION = b'{"id":%d,"method":"Browser.getVersion"}'


def ids_and_methods(batch: Sequence[bytes]) -> list[Any]:
    messages = [json.loads(payload) for payload in batch]
    return [each.get("id", each.get("method")) for each in messages]


async def test_commands_are_answered_in_order() -> None:
    link = FakeTransport(FakeBrowser())
    await link.send([DISCOVER, VERSION % 2])
    assert ids_and_methods(await link.receive()) == ["Target.targetCreated", 1, 2]


async def test_receive_waits_for_a_message() -> None:
    fake = FakeBrowser()
    link = FakeTransport(fake)
    async with trio.open_nursery() as nursery:

        @nursery.start_soon
        async def receive() -> None:
            assert ids_and_methods(await link.receive()) == [7]

        await trio.testing.wait_all_tasks_blocked()
        await link.send([VERSION % 7])


@pytest.mark.parametrize("passes", range(5))
async def test_a_cancelled_receive_loses_nothing(passes: int) -> None:
    """At every checkpoint of `receive`."""
    link = FakeTransport(FakeBrowser())
    await link.send([VERSION % 1])
    received: list[bytes] = []
    with trio.CancelScope() as scope:
        async with trio.open_nursery() as nursery:

            @nursery.start_soon
            async def receive() -> None:
                received.extend(await link.receive())

            for _ in range(passes):
                await trio.lowlevel.cancel_shielded_checkpoint()
            scope.cancel()
    with trio.fail_after(5):
        assert ids_and_methods(received or await link.receive()) == [1]


def test_time_follows_the_clock_of_trio() -> None:
    async def main() -> list[float]:
        fake = FakeBrowser(Script(timeline=[Wait(3600), CutStep()]))
        link = FakeTransport(fake)
        begun = trio.current_time()
        with pytest.raises(ConnectionLost) as lost:
            await link.receive()
        assert lost.value.close_code == 1006
        return [fake.now, trio.current_time() - begun]

    now, waited = trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    assert now == pytest.approx(3600)
    assert waited == pytest.approx(3600)


async def test_a_closed_transport_raises_and_sends_nothing() -> None:
    fake = FakeBrowser()
    link = FakeTransport(fake)
    await link.aclose()
    await link.aclose()
    with pytest.raises(ConnectionLost) as lost:
        await link.receive()
    assert lost.value.reason == "closed"
    assert not link.send_now(VERSION % 1)
    assert not link.unsent
    assert fake.commands == ()


async def test_faults_of_the_browser_apply_to_the_link() -> None:
    async with open_browser_session(FakeTransport(FakeBrowser(faults=[Cut(1)]))) as browser:
        assert (await browser.send("Browser.getVersion"))["protocolVersion"] == "1.3"
        assert (await browser.wait_closed()).reason == "broken"


# ── the order of delivery ────────────────────────────────────────────────────────────────────────────────────────────


AUTO = {"autoAttach": True, "waitForDebuggerOnStart": False, "flatten": True}


async def watch(link: FakeTransport) -> list[bytes]:
    """Return the messages that a client of every target receives in ten seconds."""
    watch_all = {"id": 2, "method": "Target.setAutoAttach", "params": AUTO}
    await link.send([DISCOVER, json.dumps(watch_all).encode()])
    messages: list[bytes] = []
    last_id = 10
    while True:
        with trio.move_on_after(10) as limit:
            batch = await link.receive()
        if limit.cancelled_caught:
            return messages
        messages += batch
        for message in map(json.loads, batch):
            if message.get("method") == "Target.attachedToTarget":
                session = message["params"]["sessionId"]
                for method in ("Page.enable", "Target.setAutoAttach"):
                    last_id += 1
                    command = {"id": last_id, "method": method, "params": AUTO, "sessionId": session}
                    await link.send([json.dumps(command).encode()])


def watched(chance: Any, **how: Any) -> tuple[bytes, ...]:
    async def main() -> list[bytes]:
        return await watch(FakeTransport(FakeBrowser(BUSY), **how))

    messages = tuple(trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0)))
    assert len(messages) > 25
    return messages


@given(chance=st.random_module(), seed=st.integers(0, 2**32))
def test_a_seed_repeats_its_order(chance: Any, seed: int) -> None:
    assert watched(chance, seed=seed) == watched(chance, seed=seed)


def test_seeds_give_many_orders() -> None:
    assert len({watched(None, seed=seed) for seed in range(10)}) >= 8
    assert watched(None) == watched(None)


@pytest.mark.parametrize("number", [1, 2])
async def test_a_schedule_holds_messages_back_until_a_command(number: int) -> None:
    fake = FakeBrowser()
    link = FakeTransport(fake, schedule=Schedule([Consume(1, 2), Deliver(1, number), Deliver(1)]))
    await link.send([VERSION % 1])
    received: list[Sequence[bytes]] = []
    async with trio.open_nursery() as nursery:

        @nursery.start_soon
        async def receive() -> None:
            received.append(await link.receive())

        await trio.lowlevel.checkpoint()
        await trio.lowlevel.checkpoint()
        assert received == []
        await link.send([VERSION % 2])
    assert ids_and_methods(received[0]) == [1, 2]


async def test_a_schedule_that_no_longer_fits_is_abandoned() -> None:
    """The client waits for a message that the schedule holds back, so the schedule must give way."""
    fake = FakeBrowser(schedule=Schedule([Consume(1, 5), Deliver(1)]))
    link = FakeTransport(fake)
    await link.send([VERSION % 1])
    with trio.fail_after(5):
        assert ids_and_methods(await link.receive()) == [1]


async def test_the_edges_of_the_schedule_are_used() -> None:
    fake = FakeBrowser()
    link = FakeTransport(fake, schedule=Schedule(edges="causal"))
    await link.send([DISCOVER])
    assert ids_and_methods(await link.receive()) == ["Target.targetCreated", 1]
    assert link._end._client.streams.edges == "causal"


async def test_the_engine_works_in_every_order() -> None:
    for seed in range(10):
        fake = FakeBrowser(Script(pages={"https://shop.example/": [Console("x")]}))
        async with open_browser_session(FakeTransport(fake, seed=seed)) as browser:
            page = await browser.targets.create("about:blank")
            async with page.enabled("Page"):
                with page.expect("Page.loadEventFired") as loaded:
                    await page.send("Page.navigate", {"url": "https://shop.example/"})
                    await loaded.wait()
            assert not browser.statistics().router.anomalies
