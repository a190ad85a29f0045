"""New pages on a real Chromium: the first navigation comes, and nothing is left over."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import trio

from cdp_core import PageSession
from support.waiting import wait_until

pytestmark = pytest.mark.chromium


async def test_a_navigation_right_after_create_shows_its_document(
    browser: Any, pages: Any, evaluate: Any, times: Callable[[int, int], int]
) -> None:
    """Fact 65."""
    for number in range(times(6, 200)):
        page = await browser.targets.create("about:blank")
        url = pages(f"<p>{number}")
        await page.send("Page.navigate", {"url": url})
        await wait_until(partial(_shows, page, url, evaluate))
        await browser.targets.close(page.target_id)


async def _shows(page: PageSession, url: str, evaluate: Any) -> bool:
    return bool(await evaluate(page, "location.href + document.readyState") == f"{url}complete")


async def test_create_does_not_wait_for_the_server(browser: Any, pages: Any) -> None:
    with trio.fail_after(10):
        page = await browser.targets.create(pages("<p>late", after=20))
    await browser.targets.close(page.target_id)


async def test_a_background_page_is_hidden_and_one_in_a_window_is_visible(browser: Any, evaluate: Any) -> None:
    """Fact 70."""
    for new_window, state in ((False, "hidden"), (True, "visible")):
        page = await browser.targets.create("about:blank", new_window=new_window)
        assert await evaluate(page, "document.visibilityState") == state
        await browser.targets.close(page.target_id)


async def test_a_page_whose_creation_is_cancelled_does_not_stay(browser: Any) -> None:
    before = {each.target_id for each in await browser.targets.list()}
    with trio.CancelScope() as scope, browser.targets.expect_new() as created:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(browser.targets.create, "about:blank")
            await created.wait()
            scope.cancel()

    async def is_gone() -> bool:
        return not {each.target_id for each in await browser.targets.list()} - before

    await wait_until(is_gone)
