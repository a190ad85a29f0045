"""New pages, hidden pages, crashed pages, and settings that two clients share (facts 65, 69-73, 75)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import trio

from cdp_core import (
    BrowserContextId,
    BrowserSession,
    CommandRefused,
    PageSession,
    TargetCrashed,
    open_browser_session,
)
from support.raw_pages import (
    PATIENCE,
    SILENCE,
    Pages,
    assert_unanswered,
    eventually,
    sent,
)

pytestmark = pytest.mark.chromium

Evaluate = Callable[..., Awaitable[Any]]
NewPage = Callable[..., Awaitable[PageSession]]
Times = Callable[[int, int], int]

ATTACH: dict[str, Any] = {"autoAttach": True, "waitForDebuggerOnStart": False, "flatten": True}
VISIBLE = "document.visibilityState"


async def create(browser: BrowserSession, url: str, **params: Any) -> PageSession:
    """Create a page with this URL, and wait until it has loaded."""
    created = await browser.send("Target.createTarget", {"url": url, **params})
    page = await browser.targets.attach(created["targetId"])
    await has_loaded(page, url)
    return page


async def has_loaded(page: PageSession, url: str) -> None:
    """Wait until a page shows a document; an evaluation can be refused while it comes."""

    async def shown() -> bool:
        try:
            answer = await page.send("Runtime.evaluate", {"expression": "location.href + document.readyState"})
        except CommandRefused:  # the document changed
            return False
        return bool(answer["result"]["value"] == f"{url}complete")

    await eventually(shown)


# ── new pages ────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_page_that_is_created_with_its_url_shows_it(
    browser: BrowserSession, context: BrowserContextId, pages: Pages, times: Times
) -> None:
    """Fact 65: so does a page whose first load was over when the navigation was sent.

    Of a navigation that is sent directly after `Target.createTarget` only the reply is certain.
    """
    for number in range(times(4, 40)):
        url, other = (pages(f"<p>{name} {number}", f"site{number % 2}.localhost") for name in ("first", "second"))
        page = await create(browser, url, browserContextId=context)
        answer = await page.send("Page.navigate", {"url": other})
        assert "errorText" not in answer
        await has_loaded(page, other)
        await browser.targets.close(page.target_id)
        hasty = await browser.targets.create("about:blank", context=context)
        answer = await hasty.send("Page.navigate", {"url": url})
        assert answer["loaderId"]
        assert "errorText" not in answer
        await browser.targets.close(hasty.target_id)


async def test_a_title_that_changes_is_in_the_list_and_in_no_event(browser: BrowserSession, new_page: NewPage) -> None:
    """Fact 73."""
    page = await new_page("<title>one</title>")
    await browser.send("Target.setDiscoverTargets", {"discover": True})

    async def is_listed() -> bool:
        listed = (await browser.send("Target.getTargets"))["targetInfos"]
        return next(each["title"] for each in listed if each["targetId"] == page.target_id) == "two"

    async def change() -> None:
        await page.send("Runtime.evaluate", {"expression": "document.title = 'two'"})
        await eventually(is_listed)

    def is_about_the_page(event: Any) -> bool:
        return bool(event.params["targetInfo"]["targetId"] == page.target_id)

    with browser.subscribe("Target.targetInfoChanged", capacity=9, where=is_about_the_page) as changes:
        await change()
        await page.send("Runtime.evaluate", {"expression": "history.pushState(1, '', '#later')"})
        with trio.fail_after(PATIENCE):
            first = (await changes.receive()).params["targetInfo"]
        assert first["url"].endswith("#later")
        assert first["title"] == "two"


# ── crashed and hidden pages ─────────────────────────────────────────────────────────────────────────────────────────


async def test_a_page_that_crashed_unseen_reports_it_when_inspector_is_enabled(
    browser: BrowserSession, new_page: NewPage, pages: Pages
) -> None:
    """Fact 69: until then it looks like a page that does not answer."""
    page = await new_page("<p>one")
    await browser.send("Target.setDiscoverTargets", {"discover": True})
    with browser.expect("Target.targetCrashed", where=lambda event: event.params["targetId"] == page.target_id) as over:
        sent(page, "Runtime.evaluate", {"expression": "setTimeout(() => {}, 0)"})
        sent(page, "Page.crash")
        await page.detach()
        await over.wait()
    late = await browser.targets.attach(page.target_id)
    await assert_unanswered(late, "Runtime.evaluate", {"expression": "1"})
    with late.expect("Inspector.targetCrashed") as crashed:
        sent(late, "Inspector.enable")
        await crashed.wait()
    with late.expect("Inspector.targetReloadedAfterCrash") as back:
        sent(late, "Page.navigate", {"url": pages("<p>two")})
        await back.wait()


async def test_a_background_page_is_hidden_and_draws_nothing(
    browser: BrowserSession, context: BrowserContextId, pages: Pages, evaluate: Evaluate
) -> None:
    """Fact 70: the first page of a context is visible, the second one once it is in front.

    On the hidden page a move of the mouse is answered after 5 s.
    """
    first = await create(browser, pages("first"), browserContextId=context, background=True)
    hidden = await create(browser, pages("second"), browserContextId=context, background=True)
    assert await evaluate(first, VISIBLE) == "visible"
    assert await evaluate(hidden, VISIBLE) == "hidden"
    assert not await draws(hidden, evaluate)
    begun = trio.current_time()
    moved = sent(hidden, "Input.dispatchMouseEvent", {"type": "mouseMoved", "x": 6, "y": 6})
    for remedy, params in (("Page.setWebLifecycleState", {"state": "active"}), ("Page.startScreencast", {})):
        await hidden.send("Page.enable")
        await hidden.send(remedy, params)
        assert await evaluate(hidden, VISIBLE) == "hidden", remedy
        assert not await draws(hidden, evaluate), remedy
    windowed = await create(browser, pages("third"), browserContextId=context, background=True, newWindow=True)
    assert await evaluate(windowed, VISIBLE) == "visible"
    assert await draws(windowed, evaluate, PATIENCE)
    await moved.wait()
    assert trio.current_time() - begun > 4
    await hidden.send("Page.bringToFront")
    await eventually(lambda: shows(hidden, evaluate, "visible"))
    assert await draws(hidden, evaluate, PATIENCE)


async def draws(page: PageSession, evaluate: Evaluate, patience: float = SILENCE) -> bool:
    """True if the page calls back at the next animation frame within `patience` seconds."""
    drawn = f"new Promise(end => (requestAnimationFrame(() => end(true)), setTimeout(end, {1000 * patience}, false)))"
    return bool(await evaluate(page, drawn))


async def shows(page: PageSession, evaluate: Evaluate, state: str) -> bool:
    return bool(await evaluate(page, VISIBLE) == state)


async def test_emulated_focus_makes_a_background_page_visible_until_another_client_switches_it_off(
    browser: BrowserSession,
    second_client: BrowserSession,
    context: BrowserContextId,
    pages: Pages,
    evaluate: Evaluate,
) -> None:
    """Facts 70 and 71: the other client takes it even after it has left."""
    await create(browser, pages("first"), browserContextId=context)
    page = await create(browser, pages("second"), browserContextId=context, background=True)
    await page.send("Emulation.setFocusEmulationEnabled", {"enabled": True})
    assert await evaluate(page, f"[{VISIBLE}, document.hasFocus()]") == ["visible", True]
    assert await draws(page, evaluate, PATIENCE)
    theirs = await second_client.targets.attach(page.target_id)
    await theirs.send("Emulation.setFocusEmulationEnabled", {"enabled": False})
    await eventually(lambda: lacks_focus(page, evaluate))
    await theirs.detach()
    assert await lacks_focus(page, evaluate)
    await page.send("Emulation.setFocusEmulationEnabled", {"enabled": False})
    await page.send("Emulation.setFocusEmulationEnabled", {"enabled": True})
    await page.send("Input.dispatchMouseEvent", {"type": "mouseMoved", "x": 6, "y": 6})
    assert not await lacks_focus(page, evaluate)


async def lacks_focus(page: PageSession, evaluate: Evaluate) -> bool:
    return not await evaluate(page, "document.hasFocus()")


async def test_on_headless_shell_every_page_is_visible(
    launch: Any, shell: str, pages: Pages, evaluate: Evaluate
) -> None:
    """Fact 70."""
    with launch(program=shell) as chromium:
        async with open_browser_session(chromium.url) as browser:
            for name in ("first", "second"):
                page = await create(browser, pages(name), background=True)
                assert await evaluate(page, VISIBLE) == "visible"
                assert await draws(page, evaluate, PATIENCE)


async def test_a_navigation_beside_an_unanswered_focus_emulation_crashes_a_fresh_page(
    browser: BrowserSession, pages: Pages, times: Times
) -> None:
    """Fact 71: in half of the cases; never once the emulation was answered."""
    for _ in range(200):
        if not await navigates(browser, pages, answered=False):
            break
    else:
        pytest.fail("no page crashed")
    for _ in range(times(5, 100)):
        assert await navigates(browser, pages, answered=True)


async def navigates(browser: BrowserSession, pages: Pages, *, answered: bool) -> bool:
    """Navigate a fresh page with emulated focus; False if it crashes."""
    url = pages("next")
    page = await browser.targets.create("about:blank")
    enabled = sent(page, "Emulation.setFocusEmulationEnabled", {"enabled": True})
    if answered:
        await enabled.wait()
    sent(page, "Page.navigate", {"url": url})
    shown = ""
    with trio.fail_after(PATIENCE):
        while shown != url:
            try:
                shown = (await page.send("Runtime.evaluate", {"expression": "location.href"}))["result"]["value"]
            except TargetCrashed:
                break
            except CommandRefused:  # the document changed
                await trio.sleep(0.005)
    await browser.targets.close(page.target_id)
    return shown == url


# ── two clients ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("pausing_first", [True, False])
async def test_a_client_that_resumes_a_popup_resumes_it_for_every_client(
    browser: BrowserSession, second_client: BrowserSession, new_page: NewPage, pages: Pages, pausing_first: bool
) -> None:
    """Fact 72: `waitingForDebugger` is true only for the client that asked for the pause.

    `attached` in `Target.targetCreated` is true for the client that attached automatically second.
    """
    opener = await new_page("<title>opener</title>")
    clients = [(browser, True), (second_client, False)]
    created: dict[bool, Any] = {}
    attached: dict[bool, Any] = {}

    def is_popup(event: Any) -> bool:
        return bool(event.params["targetInfo"].get("openerId") == opener.target_id)

    for client, pausing in clients if pausing_first else reversed(clients):
        await client.send("Target.setDiscoverTargets", {"discover": True})
        await client.send("Target.setAutoAttach", {**ATTACH, "waitForDebuggerOnStart": pausing})
        created[pausing] = client.expect("Target.targetCreated", where=is_popup)
        attached[pausing] = client.expect("Target.attachedToTarget", where=is_popup)
    popup_url = pages("<title>popup</title>")
    await resume_all(browser)
    sent(opener, "Runtime.evaluate", {"expression": f"open({popup_url!r})", "userGesture": True})
    infos = {pausing: (await expected.wait()).params for pausing, expected in created.items()}
    sessions = {pausing: (await expected.wait()).params for pausing, expected in attached.items()}
    assert {pausing: each["waitingForDebugger"] for pausing, each in sessions.items()} == {True: True, False: False}
    assert {pausing: each["targetInfo"]["attached"] for pausing, each in infos.items()} == {
        pausing_first: False,
        not pausing_first: True,
    }
    ours = browser.sessions[sessions[True]["sessionId"]]
    theirs = second_client.sessions[sessions[False]["sessionId"]]
    assert (await ours.send("Runtime.evaluate", {"expression": "document.title"}))["result"]["value"] == ""
    await theirs.send("Runtime.runIfWaitingForDebugger")
    await has_loaded(ours, popup_url)
    await browser.targets.close(ours.target_id)


async def resume_all(browser: BrowserSession) -> None:
    """Resume what an auto-attach paused besides the page of the test."""
    for session in browser.sessions.values():
        sent(session, "Runtime.runIfWaitingForDebugger")


async def test_the_auto_attach_of_one_client_is_not_the_other_clients(
    browser: BrowserSession, second_client: BrowserSession, context: BrowserContextId
) -> None:
    """Fact 75: on one link the last call wins; another client's call changes nothing."""
    await browser.send("Target.setAutoAttach", ATTACH)
    await second_client.send("Target.setAutoAttach", {**ATTACH, "autoAttach": False})
    created = await browser.send("Target.createTarget", {"url": "about:blank", "browserContextId": context})
    assert created["targetId"] in {session.target_id for session in browser.sessions.values()}
    await browser.send("Target.setAutoAttach", {**ATTACH, "autoAttach": False})
    created = await browser.send("Target.createTarget", {"url": "about:blank", "browserContextId": context})
    await browser.send("Target.getTargets")
    assert created["targetId"] not in {session.target_id for session in browser.sessions.values()}


async def test_a_permission_is_set_by_the_last_client_and_reset_when_it_leaves(
    browser: BrowserSession, shared_chromium: Any, pages: Pages, evaluate: Evaluate
) -> None:
    """Fact 75: the earlier client's setting does not return."""
    page = await create(browser, pages("asks", "permitted.localhost"))
    origin = await evaluate(page, "origin")

    async def state() -> Any:
        return await evaluate(page, "navigator.permissions.query({name: 'geolocation'}).then(found => found.state)")

    async def is_prompt() -> bool:
        return bool(await state() == "prompt")

    def setting(value: str) -> dict[str, Any]:
        return {"permission": {"name": "geolocation"}, "setting": value, "origin": origin}

    await browser.send("Browser.setPermission", setting("granted"))
    assert await state() == "granted"
    async with open_browser_session(shared_chromium.url) as other:
        await other.send("Browser.setPermission", setting("denied"))
        assert await state() == "denied"
    await eventually(is_prompt)
    await browser.targets.close(page.target_id)


async def test_a_download_folder_that_another_client_replaced_does_not_return(
    launch: Any, pages: Pages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fact 75: after the other client has left, the browser's own folder counts."""
    home, ours, theirs = (tmp_path / name for name in ("home", "ours", "theirs"))
    for folder in (home, ours, theirs):
        folder.mkdir()
    monkeypatch.setenv("HOME", str(home))
    with launch() as chromium:
        async with open_browser_session(chromium.url) as browser:
            page = await create(browser, pages("<p>a page that only downloads is closed"))

            async def download() -> Path:
                def is_done(event: Any) -> bool:
                    return bool(event.params["state"] == "completed")

                with browser.expect("Browser.downloadProgress", where=is_done) as done:
                    url = pages("file", path="/file", **{"as": "attachment"})
                    sent(page, "Page.navigate", {"url": url})
                    return Path((await done.wait()).params["filePath"]).parent

            mine = {"behavior": "allow", "downloadPath": str(ours), "eventsEnabled": True}
            await browser.send("Browser.setDownloadBehavior", mine)
            assert await download() == ours
            async with open_browser_session(chromium.url) as other:
                await other.send("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(theirs)})
                assert await download() == theirs

            async def is_reset() -> bool:
                return await download() not in (ours, theirs)

            await eventually(is_reset)
            await browser.send("Browser.setDownloadBehavior", mine)
            assert await download() == ours
