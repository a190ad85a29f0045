"""What happened while no link was there: crashes, and dialogs of `beforeunload` (facts 64, 69)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import trio

from cdp_core import InvalidArgument, PageSession, open_browser_session
from cdp_supervisor import RemedyFailed, open_supervisor
from support.waiting import wait_until

pytestmark = pytest.mark.chromium

Pages = Callable[..., str]
ASKS = "<body><script>onbeforeunload = event => event.preventDefault()</script>here"


async def is_silent(page: PageSession) -> bool:
    """True once the page answers no script: its dialog is open."""
    with trio.move_on_after(0.3) as silent:
        await page.send("Runtime.evaluate", {"expression": "1"})
    return silent.cancelled_caught


async def test_a_page_that_crashed_without_a_link_is_known_as_such_at_once(shared_chromium: Any) -> None:
    """Fact 69."""
    async with open_browser_session(shared_chromium.url) as maker:
        page = await maker.targets.create("about:blank")
        with page.expect("Inspector.targetCrashed") as crashed:
            page.send_nowait("Page.crash").on_end()
            await crashed.wait()
        async with open_supervisor(shared_chromium.url) as supervisor:
            seen = {supervisor.snapshot().page(page.target_id).health.state}
            await supervisor.wait_for(lambda found: found.page(page.target_id).health.state == "crashed")
            assert seen <= {"ok", "crashed"}
            assert await supervisor.call("Page.navigate", {"url": "about:blank"}, target_id=page.target_id)
            await supervisor.wait_ready(page.target_id)
        await maker.targets.close(page.target_id)


async def test_a_beforeunload_dialog_of_which_nobody_saw_the_opening_leaves_only_close(
    own_chromium: Any, program: Any, pages: Pages
) -> None:
    """Fact 64: the page shows one address, and waits to leave for another one."""
    if program.shell:
        pytest.skip("headless-shell dismisses a dialog that nobody sees (fact 26)")
    async with open_browser_session(own_chromium.url) as maker:
        page = await maker.targets.create("about:blank")
        here, there = pages(ASKS), pages("<p>there", path="/there")
        await page.navigate(here)
        await page.send("Runtime.evaluate", {"expression": "1", "userGesture": True})
        page.send_nowait("Page.navigate", {"url": there}).on_end()
        await wait_until(partial(is_silent, page))
        async with open_supervisor(own_chromium.url) as supervisor:
            found = await supervisor.wait_for(lambda found: found.page(page.target_id).url == here)
            shown = found.page(page.target_id)
            assert shown.pending_url == there
            assert shown.health.state in ("navigating", "blocked")
            with pytest.raises(InvalidArgument, match="use one of: close"):
                await supervisor.recover(page.target_id, "reload")
            await supervisor.recover(page.target_id, "close")
            assert supervisor.snapshot().page(page.target_id) is None


async def test_a_remedy_that_frees_nothing_is_no_success(own_chromium: Any, program: Any, pages: Pages) -> None:
    """Fact 64: `Page.reload` is answered there, and the address of the page tells nothing."""
    if program.shell:
        pytest.skip("headless-shell dismisses a dialog that nobody sees (fact 26)")
    async with open_browser_session(own_chromium.url) as maker:
        page = await maker.targets.create("about:blank")
        await page.navigate(pages(ASKS))
        leave = f"setTimeout(() => location.href = {pages('<p>there', path='/there')!r})"
        await page.send("Runtime.evaluate", {"expression": leave, "userGesture": True})
        await wait_until(partial(is_silent, page))
        async with open_supervisor(own_chromium.url) as supervisor:
            await supervisor.wait_for(lambda found: found.page(page.target_id).health.state == "blocked")
            with pytest.raises(RemedyFailed, match="close") as failed:
                await supervisor.recover(page.target_id, "reload")
            assert failed.value.remedies == ("close",)
            await supervisor.recover(page.target_id, "close")
            assert supervisor.snapshot().page(page.target_id) is None
