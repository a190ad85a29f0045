"""Waits for events that cannot come are explained, and all others are not."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from cdp_core import CdpWarning, PageSession
from cdp_core.bindings import page as page_domain


async def page_of(peer: Any, browser: Any) -> PageSession:
    peer.attached("S1")
    await wait_all_tasks_blocked()
    page: PageSession = browser.sessions["S1"]
    return page


@contextmanager
def shown() -> Iterator[list[str]]:
    """Collect the texts of the warnings."""
    texts: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield texts
    for each in caught:
        assert each.category is CdpWarning
        assert each.filename == __file__  # it shows the line that waits
        texts.append(str(each.message))


async def wait_for(page: Any, event: Any, seconds: float = 10.0, *, kind: str = "expect") -> None:
    with trio.move_on_after(seconds):
        if kind == "expect":
            with page.expect(event) as expected:
                await expected.wait()
        elif kind == "receive":
            with page.subscribe(event, capacity=9) as events:
                await events.receive()
        else:
            with page.subscribe_latest(event, capacity=9) as events:
                async for _event in events:
                    pass


@pytest.mark.parametrize("kind", ["expect", "receive", "iterate"])
async def test_an_event_of_a_domain_that_nothing_enabled_is_explained_once(
    peer: Any, autojump_clock: MockClock, kind: str
) -> None:
    async with peer.open() as browser:
        page = await page_of(peer, browser)
        with shown() as texts:
            await wait_for(page, page_domain.LoadEventFired, kind=kind)
        [text] = texts
        assert text == (
            "Page.loadEventFired has not come for 2 s: nothing has enabled Page on session S1; wait for it within "
            "enabled('Page'), or send Page.enable first. The wait goes on."
        )
        with shown() as texts:
            await wait_for(page, "Page.loadEventFired", 1.9, kind=kind)
        assert texts == []


@pytest.mark.parametrize("how", ["lease", "raw", "typed", "enabled"])
async def test_an_event_of_an_enabled_domain_may_take_its_time(peer: Any, autojump_clock: MockClock, how: str) -> None:
    peer.rules["Page.enable"] = peer.reply
    async with peer.open() as browser:
        page = await page_of(peer, browser)
        with shown() as texts:
            if how == "lease":
                page.lease("Page")
            elif how == "raw":
                await page.send("Page.enable")
            elif how == "typed":
                await page.send(page_domain.enable())
            async with page.enabled("Page") if how == "enabled" else trio.open_nursery():
                await wait_for(page, "Page.loadEventFired")
        assert texts == []


@pytest.mark.parametrize(
    "event",
    [
        "Target.targetCreated",
        "Runtime.bindingCalled",
        "Page.screencastFrame",
        "DOM.childNodeInserted",
        "Inspector.detached",
        "Tracing.dataCollected",
    ],
)
async def test_an_event_that_comes_without_enable_is_not_explained(
    peer: Any, autojump_clock: MockClock, event: str
) -> None:
    async with peer.open() as browser:
        page = await page_of(peer, browser)
        with shown() as texts:
            await wait_for(page, event)
        assert texts == []


async def test_a_misspelt_event_is_named_with_the_nearest_ones(peer: Any, autojump_clock: MockClock) -> None:
    async with peer.open() as browser:
        page = await page_of(peer, browser)
        with shown() as texts:
            await wait_for(page, "Page.loadEventFire")
            await wait_for(page, "Zzz.qqq")
        assert texts[0].startswith("Page.loadEventFire has not come for 2 s: no known domain has this event; did you ")
        assert "Page.loadEventFired" in texts[0]
        assert texts[1] == "Zzz.qqq has not come for 2 s: no known domain has this event? The wait goes on."


async def test_an_unknown_event_that_has_come_once_is_not_explained(peer: Any, autojump_clock: MockClock) -> None:
    async with peer.open() as browser:
        page = await page_of(peer, browser)
        peer.event("Page.fresh", {}, "S1")
        await wait_all_tasks_blocked()
        with shown() as texts:
            await wait_for(page, "Page.fresh")
        assert texts == []


async def test_a_stream_that_had_an_event_is_not_explained(peer: Any, autojump_clock: MockClock) -> None:
    async with peer.open() as browser:
        page = await page_of(peer, browser)
        with page.subscribe("Page.loadEventFired", capacity=9) as events:
            peer.event("Page.loadEventFired", {"timestamp": 1.0}, "S1")
            await events.receive()
            with shown() as texts, trio.move_on_after(10):
                await events.receive()
        assert texts == []


async def test_an_error_of_the_warning_reaches_the_one_who_waits(peer: Any, autojump_clock: MockClock) -> None:
    """A program may turn warnings into errors."""
    async with peer.open() as browser:
        page = await page_of(peer, browser)
        with page.subscribe("Page.loadEventFired", capacity=9) as events:
            with pytest.raises(CdpWarning):
                await events.receive()
            peer.event("Page.loadEventFired", {"timestamp": 1.0}, "S1")
            assert (await events.receive()).method == "Page.loadEventFired"
