"""Crashed pages on a real Chromium: what is answered, what is refused unsent, and the way back."""

from __future__ import annotations

import importlib.util
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from cdp_core import BrowserSession, PageSession, TargetCrashed
from cdp_core.sansio.crash_table import ANSWERED, CARRIED_OUT, ENDS_BROWSER
from support.waiting import wait_until

pytestmark = pytest.mark.chromium

TOOL = Path(__file__).parents[3] / "tools" / "measure_crash.py"


async def crash(page: PageSession) -> None:
    """Crash a page, and wait until the client knows it."""
    with page.expect("Inspector.targetCrashed") as crashed:
        page.send_nowait("Page.crash").on_end()
        await crashed.wait()


async def test_every_command_of_the_table_is_answered_on_a_crashed_page(own_chromium: Any) -> None:
    """Fact 74: the browser's own description of the protocol gives the commands; each is sent raw."""
    spec = importlib.util.spec_from_file_location("measure_crash", TOOL)
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    answered, sent = await tool.measure(f"http://127.0.0.1:{own_chromium.port}")
    assert sent > 600
    assert answered | {"IO.close"} >= ANSWERED
    assert own_chromium.popen.poll() is None


async def test_what_waits_at_a_crash_ends_and_everything_works_after_the_reload(
    new_page: Any, evaluate: Any, pages: Any
) -> None:
    page = await new_page("<p>one")
    async with page.enabled("Page", "Runtime"):
        with page.expect("Network.requestWillBeSent") as never:
            pending = page.send_nowait("Runtime.evaluate", {"expression": "new Promise(() => 0)", "awaitPromise": True})
            await crash(page)
            with pytest.raises(TargetCrashed, match=r"crashed before Network\.requestWillBeSent came"):
                await never.wait()
        with pytest.raises(TargetCrashed, match="may have been carried out") as lost:
            await pending.wait()
        assert lost.value.reason == "crashed"
        with pytest.raises(TargetCrashed, match="was not sent") as refused:
            await page.send("Runtime.evaluate", {"expression": "1"})
        assert refused.value.reason == "not_sent"
        assert (await page.send("Page.getNavigationHistory"))["entries"]
        with page.expect("Page.loadEventFired") as loaded, page.expect("Inspector.targetReloadedAfterCrash") as back:
            await page.send("Page.reload")
            await back.wait()
            await loaded.wait()
        with page.expect("Runtime.consoleAPICalled") as line:  # the domains are still enabled
            assert await evaluate(page, "console.log('again'), 1 + 1") == 2
            await line.wait()
        await page.navigate(pages("<p>two"))


async def test_a_navigation_brings_a_crashed_page_back(new_page: Any, evaluate: Any, pages: Any) -> None:
    page = await new_page("<p>one")
    await crash(page)
    await page.send("Page.navigate", {"url": pages("<script>globalThis.here = 7</script>")})

    async def is_back() -> bool:
        with suppress(TargetCrashed):
            return bool(await evaluate(page, "globalThis.here") == 7)
        return False

    await wait_until(is_back)


async def test_a_crashed_frame_takes_no_command_and_its_page_lives(
    browser: BrowserSession, new_page: Any, evaluate: Any, pages: Any
) -> None:
    async with browser.targets.auto_attach(types=("iframe",), capacity=9) as frames:
        page = await new_page(f'<iframe src="{pages("<p>inner", "localhost")}"></iframe>')
        frame = await frames.receive()
        await crash(frame)
        for method in ("Page.navigate", "Inspector.enable", "Runtime.evaluate"):
            with pytest.raises(TargetCrashed, match=r"was not sent, because the iframe .* reload or navigate the page"):
                await frame.send(method, {"url": "about:blank"} if method == "Page.navigate" else {})
        assert await evaluate(page, "1 + 1") == 2


def test_no_command_is_in_two_tables() -> None:
    assert not ANSWERED & ENDS_BROWSER
    assert not ANSWERED & CARRIED_OUT
