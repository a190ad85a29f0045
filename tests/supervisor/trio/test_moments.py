"""The time of an input: the clock is read once per batch of a link, and per event outside a batch."""

from __future__ import annotations

from trio.testing import MockClock

from cdp_core import Event, open_browser_session
from cdp_core.sansio.structs import Raw
from cdp_core.transports.memory import memory_pair
from cdp_supervisor.driver import Driver, LinkOptions
from cdp_supervisor.sansio.state import initial_state

EVENT = Event(method="Target.targetInfoChanged", raw=Raw(b"{}"))


def driver() -> Driver:
    return Driver(initial_state(), "ws://127.0.0.1:1/", LinkOptions(headers={}, ssl_context=None))


async def test_before_the_link_is_up_each_event_reads_the_clock(mock_clock: MockClock) -> None:
    own_driver = driver()
    for _ in range(2):
        mock_clock.jump(5)
        own_driver._tap(EVENT)
        assert own_driver.runner.state.now == mock_clock.current_time()


async def test_a_batch_shares_one_time_that_ends_with_the_link(mock_clock: MockClock) -> None:
    own_driver = driver()
    async with open_browser_session(memory_pair()[0]) as browser:
        own_driver._batch = browser.batches.count
        own_driver._link_is_up(browser, owned=True)
        mock_clock.jump(5)
        own_driver._tap(EVENT)
        came = mock_clock.current_time()
        assert own_driver.runner.state.now == came
        mock_clock.jump(5)
        own_driver._tap(EVENT)
        assert own_driver.runner.state.now == came
        browser.batches.count += 1
        own_driver._tap(EVENT)
        assert own_driver.runner.state.now == mock_clock.current_time() == came + 5
        own_driver._link_is_down("peer_closed")
        mock_clock.jump(60)
        own_driver._tap(EVENT)
        assert own_driver.runner.state.now == mock_clock.current_time()
