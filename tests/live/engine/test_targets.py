"""The target bridge's assumptions about Chromium: popups, the browser's own interface, blocked pages."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
import trio

from cdp_core import BrowserSession, PageSession, open_browser_session

pytestmark = pytest.mark.chromium

Evaluate = Callable[..., Awaitable[Any]]
Load = Callable[[PageSession, str], Awaitable[None]]
NewPage = Callable[..., Awaitable[PageSession]]
Pages = Callable[..., str]

AT_ONCE = 20.0
"""Seconds; a dialog would block for ever, so an answer within this time did not wait for one."""


@pytest.fixture
async def browser(shared_chromium: Any) -> AsyncIterator[BrowserSession]:
    """One way to connect is enough for these tests."""
    async with open_browser_session(shared_chromium.url) as link:
        yield link


# ── popups ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("features", ["", "noopener"])
async def test_popups_are_resumed_and_their_opener_runs_on(
    browser: BrowserSession, new_page: NewPage, pages: Pages, evaluate: Evaluate, features: str
) -> None:
    opener = await new_page("<title>opener</title>")
    urls = ["about:blank", pages("same site"), pages("other site", "a.localhost")]
    async with browser.targets.auto_attach(types={"page"}, capacity=20) as arriving:
        for url in urls:
            opened = await evaluate(opener, f"open({url!r}, '_blank', {features!r}); 'went on'", userGesture=True)
            assert opened == "went on"
            popup = opener
            while not await _is_opened_by(browser, popup, opener):
                popup = await arriving.receive()
            assert not popup.waiting_for_debugger
            assert await evaluate(popup, "1 + 1") == 2
            assert await evaluate(opener, "document.title") == "opener"
            await browser.targets.close(popup.target_id)


async def _is_opened_by(browser: BrowserSession, page: PageSession, opener: PageSession) -> bool:
    infos = {target.target_id: target for target in await browser.targets.list()}
    return page.target_id in infos and infos[page.target_id].opener_id == opener.target_id


async def test_a_popup_is_armed_before_its_first_instruction(
    browser: BrowserSession, new_page: NewPage, pages: Pages, evaluate: Evaluate
) -> None:
    opener = await new_page("opener")
    binding_calls = browser.subscribe_all("Runtime.bindingCalled", capacity=10)
    arm = ["Runtime.enable", ("Runtime.addBinding", {"name": "tell"})]
    async with browser.targets.auto_attach(types={"page"}, arm=lambda _session: arm, capacity=20):
        first = pages("<script>tell('first instruction')</script>", "a.localhost")
        await evaluate(opener, f"window.open({first!r}); 1", userGesture=True)
        received = await binding_calls.receive()
        assert received.event.params["payload"] == "first instruction"
        assert received.session_id != opener.session_id
        await browser.targets.close(browser.sessions[received.session_id].target_id)


# ── the browser's own interface ──────────────────────────────────────────────────────────────────────────────────────


async def test_the_browsers_own_interface_is_left_alone(launch: Any) -> None:
    with launch(interface=True) as chromium:
        async with open_browser_session(chromium.url) as browser:
            page = await browser.targets.create("about:blank")
            every = (await browser.send("Target.getTargets", {"filter": [{}]}))["targetInfos"]
            its_own = {target["targetId"] for target in every if target["type"] == "browser_ui"}
            async with browser.targets.auto_attach(capacity=100):
                attached = {session.target_id for session in browser.sessions.values()}
                listed = {target.target_id for target in await browser.targets.list(type=None)}
                assert page.target_id in attached
                assert page.target_id in listed
                assert its_own, "this Chromium shows no interface of its own: the filter proves nothing"
                assert not its_own & (attached | listed)


# ── pages that are blocked ───────────────────────────────────────────────────────────────────────────────────────────


async def test_no_setup_waits_for_a_page_that_a_dialog_blocks(
    browser: BrowserSession, shared_chromium: Any, new_page: NewPage, evaluate: Evaluate
) -> None:
    blocked, free = await new_page("blocked"), await new_page("free")
    asked = await _block(blocked)
    async with open_browser_session(shared_chromium.url) as newcomer:
        with trio.fail_after(AT_ONCE):
            session = await newcomer.targets.attach(blocked.target_id)
            async with session.enabled("Page", "Runtime", "Network", wait=0):
                assert session.statistics().leases == {"Page": 1, "Runtime": 1, "Network": 1}
            attached: set[str] = set()
            async with newcomer.targets.auto_attach(
                types={"page"}, arm=lambda _session: ["Page.enable", "Runtime.enable"], capacity=100
            ) as arriving:
                while not attached >= {blocked.target_id, free.target_id}:
                    attached.add((await arriving.receive()).target_id)
                on_free = next(each for each in newcomer.sessions.values() if each.target_id == free.target_id)
                assert await evaluate(on_free, "'free'") == "free"
        assert not asked.ended
    await browser.targets.close(blocked.target_id)


async def _block(page: PageSession) -> Any:
    """Open a dialog without a listener, and wait until the renderer answers no command any more."""
    asked = page.send_nowait("Runtime.evaluate", {"expression": "alert('wait')"})
    asked.on_end()
    behind = page.send_nowait("Runtime.evaluate", {"expression": "1"})
    behind.on_end()
    # The browser process answers this command although the renderer has answered neither of the two before it.
    for _ in range(5):
        await page.send("Page.getNavigationHistory")
    assert not asked.ended
    assert not behind.ended
    return asked


async def test_page_is_not_disabled_while_its_dialog_is_open(
    browser: BrowserSession, new_page: NewPage, evaluate: Evaluate
) -> None:
    page = await new_page("asks")
    async with page.enabled("Page"):
        with page.expect("Page.javascriptDialogOpening") as opening:
            asked = page.send_nowait("Runtime.evaluate", {"expression": "prompt('name?')"})
        await opening.wait()
    assert not asked.ended
    with page.expect("Page.javascriptDialogClosed") as closed:
        await page.send("Page.handleJavaScriptDialog", {"accept": True, "promptText": "Ada"})
    assert (await closed.wait()).params["userInput"] == "Ada"
    assert (await asked.wait())["result"]["value"] == "Ada"
    assert await evaluate(page, "1") == 1
    assert browser.statistics().unobserved_refusals == 0


async def test_a_navigation_may_overtake_an_unanswered_enable(
    browser: BrowserSession, new_page: NewPage, pages: Pages
) -> None:
    """Chromium carries such an enable over to the new process, mostly after the commit.

    So events of the next navigation are certain to arrive.
    """
    page = await new_page("<title>before</title>")
    busy = page.send_nowait("Runtime.evaluate", {"expression": "for (const t = Date.now(); Date.now() < t + 400;);"})
    busy.on_end()
    async with page.enabled("Page"):
        navigated = page.subscribe("Page.frameNavigated", capacity=2)
        await page.send("Page.navigate", {"url": pages("<title>after</title>", "a.localhost")})
        await page.send("Page.enable")
        answer = await page.send("Runtime.evaluate", {"expression": "location.hostname"})
        assert answer["result"]["value"] == "a.localhost"
        await page.send("Page.navigate", {"url": pages("<title>again</title>", "b.localhost")})
        urls = [(await navigated.receive()).params["frame"]["url"]]
        if "a.localhost" in urls[0]:
            urls = [(await navigated.receive()).params["frame"]["url"]]
        assert "b.localhost" in urls[0]
