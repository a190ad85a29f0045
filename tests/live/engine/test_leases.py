"""Leases on a real Chromium: no event of a load is lost, and no block waits for ever to begin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import trio

from cdp_core import CdpWarning
from cdp_core.bindings import page as page_domain

pytestmark = pytest.mark.chromium

Times = Callable[[int, int], int]
SLOW = 4.0
"""Seconds that a server takes to answer."""


async def test_a_navigation_after_the_lease_is_seen_to_load(new_page: Any, pages: Any, times: Times) -> None:
    """To another site each time, so that the navigation goes to another renderer process."""
    for number in range(times(6, 200)):
        page = await new_page()
        async with page.enabled("Page"):
            with page.expect(page_domain.LoadEventFired) as loaded:
                await page.send(page_domain.navigate(url=pages("<p>here", f"site{number % 2}.localhost")))
                with trio.fail_after(20):
                    await loaded.wait()
        await page.send("Page.close")


async def test_a_dialog_from_before_the_attach_delays_the_block_for_the_wait_only(browser: Any, new_page: Any) -> None:
    page = await new_page("<p>one")
    await page.send("Page.enable")
    with page.expect("Page.javascriptDialogOpening") as opening:
        page.send_nowait("Runtime.evaluate", {"expression": "alert(1)"}).on_end()
        await opening.wait()
    late = await browser.targets.attach(page.target_id, fresh=True)
    begun = trio.current_time()
    with pytest.warns(CdpWarning, match=r"Page\.enable on session .* has no reply after 0\.3 s: a dialog may have"):
        async with late.enabled("Page", wait=0.3):
            assert 0.3 <= trio.current_time() - begun < 10
    await browser.targets.close(page.target_id)


async def test_a_dialog_that_opens_meanwhile_begins_the_block(browser: Any, new_page: Any) -> None:
    page = await new_page("<p>one")
    async with page.enabled("Page"):
        with page.expect("Page.javascriptDialogOpening") as opening:
            page.send_nowait("Runtime.evaluate", {"expression": "alert(1)"}).on_end()
            async with page.enabled("Network", wait=None):
                await opening.wait()
            await page.send("Page.handleJavaScriptDialog", {"accept": True})


async def test_a_lease_during_a_slow_navigation_begins_when_the_document_commits(new_page: Any, pages: Any) -> None:
    page, slow = await new_page("<p>one"), pages("<p>late", after=SLOW)
    with page.expect("Page.frameStartedNavigating") as started:
        await page.send("Page.enable")
        page.send_nowait("Page.navigate", {"url": slow}).on_end()
        await started.wait()
    begun = trio.current_time()
    async with page.enabled("Runtime", wait=30.0):
        assert trio.current_time() - begun > SLOW / 2
        answer = await page.send("Runtime.evaluate", {"expression": "location.href"})
        assert answer["result"]["value"] == slow
