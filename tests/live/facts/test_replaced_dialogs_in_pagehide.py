"""Dialogs of `pagehide` that a script replaces, on both programs (fact 89)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio

from cdp_core import BrowserSession, PageSession, open_browser_session
from support.raw_pages import OPENING, Pages, eventually, sent

pytestmark = pytest.mark.chromium

Evaluate = Callable[..., Awaitable[Any]]
Load = Callable[[PageSession, str], Awaitable[None]]

REPLACED = """<script>
    window.alert = () => {
        try {
            const request = new XMLHttpRequest();
            request.open('GET', '/asked', false);
            request.send();
        } catch (error) {
            debugger;
        }
    };
    onpagehide = () => { alert('bye'); navigator.sendBeacon('/?went=on') };
</script>"""
NATIVE = REPLACED.replace("window.alert", "window.unused")


async def leave(browser: BrowserSession, load: Load, html: str, pages: Pages) -> list[str]:
    """Leave a document for one of the same site; answer and return what comes until the new document."""
    page = await browser.targets.create("about:blank")
    await page.send("Page.enable")
    await page.send("Debugger.enable")
    await page.send("Fetch.enable", {"patterns": [{"urlPattern": "*/asked"}]})
    with page.expect("Page.loadEventFired") as loaded:
        await page.send("Page.navigate", {"url": pages(html)})
        await loaded.wait()
    came: list[str] = []
    events = (OPENING, "Fetch.requestPaused", "Debugger.paused", "Page.frameNavigated")
    with page.subscribe(*events, capacity=9) as received:
        sent(page, "Page.navigate", {"url": pages("next")})
        async for event in received:
            came.append(event.method)
            if event.method == "Fetch.requestPaused":
                answer = {"requestId": event.params["requestId"], "responseCode": 200}
                await page.send("Fetch.fulfillRequest", answer)
            elif event.method == "Debugger.paused":
                await page.send("Debugger.resume")
            elif event.method in (OPENING, "Page.frameNavigated"):
                break
    await browser.targets.close(page.target_id)
    return came


async def test_chromium_answers_a_replaced_dialog_of_pagehide_by_request(
    browser: BrowserSession, load: Load, pages: Pages
) -> None:
    """Fact 89; the native one is announced (and unanswerable, fact 22)."""
    with trio.fail_after(30):
        assert await leave(browser, load, REPLACED, pages) == ["Fetch.requestPaused", "Page.frameNavigated"]
        assert await leave(browser, load, NATIVE, pages) == [OPENING]


async def test_headless_shell_loses_every_dialog_of_pagehide(
    launch: Any, shell: str, load: Load, pages: Pages, evaluate: Evaluate
) -> None:
    """Fact 89: neither the request nor the pause after it is seen, although the handler runs."""
    with launch(program=shell) as chromium, trio.fail_after(30):
        async with open_browser_session(chromium.url) as browser:
            counter = await browser.targets.create(pages(" "))

            async def posts() -> int:
                return int(await evaluate(counter, "fetch('/posts').then(answer => answer.text())"))

            await eventually(lambda: is_loaded(counter, evaluate))
            before = await posts()
            for number, html in enumerate((REPLACED, NATIVE), 1):
                assert await leave(browser, load, html, pages) == ["Page.frameNavigated"]

                async def went_on(number: int = number) -> bool:
                    return await posts() == before + number

                await eventually(went_on)


async def is_loaded(page: PageSession, evaluate: Evaluate) -> bool:
    return bool(await evaluate(page, "location.href !== 'about:blank' && document.readyState === 'complete'"))
