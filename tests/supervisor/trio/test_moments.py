"""When something came: the clock is asked once for each batch of a link, and anew where there is none, or another one."""

from __future__ import annotations

from trio.testing import MockClock

from cdp_core import Event, open_browser_session
from cdp_core.sansio.structs import Raw
from cdp_core.transports.memory import memory_pair
from cdp_supervisor.driver import Driver, LinkOptions
from cdp_supervisor.sansio.state import initial_state

SAID = Event(method="Target.targetInfoChanged", raw=Raw(b"{}"))


def driver() -> Driver:
    return Driver(initial_state(), "ws://127.0.0.1:1/", LinkOptions(headers={}, ssl_context=None))


async def test_before_a_link_stands_each_has_its_own(mock_clock: MockClock) -> None:
    it = driver()
    for _ in range(2):
        mock_clock.jump(5)
        it._tap(SAID)
        assert it.runner.state.now == mock_clock.current_time()


async def test_a_batch_has_one_and_the_next_link_none_of_the_last(mock_clock: MockClock) -> None:
    it = driver()
    async with open_browser_session(memory_pair()[0]) as browser:
        it._batch = browser.batches.count
        it._link_is_up(browser, owned=True)
        mock_clock.jump(5)
        it._tap(SAID)
        came = mock_clock.current_time()
        assert it.runner.state.now == came
        mock_clock.jump(5)
        it._tap(SAID)
        assert it.runner.state.now == came
        browser.batches.count += 1
        it._tap(SAID)
        assert it.runner.state.now == mock_clock.current_time() == came + 5
        it._link_is_down("peer_closed")
        mock_clock.jump(60)
        it._tap(SAID)
        assert it.runner.state.now == mock_clock.current_time()
