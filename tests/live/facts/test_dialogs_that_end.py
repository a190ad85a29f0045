"""Dialogs that end the browser or block their page, and input during one (facts 62-64, 66-68)."""

from __future__ import annotations

import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest
import trio

from cdp_core import BrowserSession, CommandRefused, PageSession, open_browser_session
from support.raw_pages import (
    CLOSED,
    OPENING,
    Pages,
    assert_browser_ends,
    assert_browser_lives,
    assert_still_unanswered,
    assert_unanswered,
    eventually,
    open_dialog,
    open_page_with_oopif,
    refusal,
    sent,
)

pytestmark = pytest.mark.chromium

Evaluate = Callable[..., Awaitable[Any]]
Load = Callable[[PageSession, str], Awaitable[None]]
NewPage = Callable[..., Awaitable[PageSession]]
Times = Callable[[int, int], int]

PAGEHIDE = "<script>onpagehide = () => alert('bye')</script><form method=post action='/?html=posted'></form>"
BEFOREUNLOAD = "<script>onbeforeunload = event => { console.log('leaving'); event.returnValue = 'x' }</script>"
INACTIVE = (-32000, "Not attached to an active page")


# ── a dialog of an inactive page ─────────────────────────────────────────────────────────────────────────────────────


async def open_dialog_in_pagehide(page: PageSession, pages: Pages, load: Load) -> None:
    """Navigate within the site, away from a document whose `pagehide` handler opens a dialog."""
    await load(page, pages(PAGEHIDE))
    await page.send("Page.enable")
    with page.expect(OPENING) as opening:
        sent(page, "Page.navigate", {"url": pages("next")})
        await opening.wait()


@pytest.mark.parametrize("end", ["link", "detach", "disable"])
async def test_a_session_that_ends_during_a_dialog_in_pagehide_ends_the_browser(
    own_chromium: Any, pages: Pages, load: Load, end: str
) -> None:
    """Fact 62: SIGABRT."""
    async with open_browser_session(own_chromium.url) as browser:
        page = await browser.targets.create("about:blank")
        await open_dialog_in_pagehide(page, pages, load)
        if end == "detach":
            sent(browser, "Target.detachFromTarget", {"sessionId": page.session_id})
        elif end == "disable":
            sent(page, "Page.disable")
        if end != "link":
            await browser.wait_closed()
    await assert_browser_ends(own_chromium, signal.SIGABRT)


async def test_a_second_client_that_leaves_during_a_dialog_in_pagehide_ends_the_browser(
    own_chromium: Any, pages: Pages, load: Load
) -> None:
    """Fact 62: although the session of the first client, with Page enabled, stays."""
    async with open_browser_session(own_chromium.url) as browser:
        page = await browser.targets.create("about:blank")
        async with open_browser_session(own_chromium.url) as observer:
            await (await observer.targets.attach(page.target_id)).send("Page.enable")
            await open_dialog_in_pagehide(page, pages, load)
        await browser.wait_closed()
    await assert_browser_ends(own_chromium, signal.SIGABRT)


async def test_a_navigation_ends_a_dialog_in_pagehide_and_then_the_session_may_end(
    browser: BrowserSession, new_page: NewPage, shared_chromium: Any, pages: Pages, load: Load
) -> None:
    """Fact 62: nothing else is accepted there, not even the harmless `Page.getNavigationHistory`."""
    page = await new_page()
    await open_dialog_in_pagehide(page, pages, load)
    for method in ("Page.getNavigationHistory", "Page.reload", "Page.stopLoading"):
        refused = await refusal(page, method)
        assert (refused.code, refused.message) == INACTIVE, method
    refused = await refusal(page, "Page.handleJavaScriptDialog", {"accept": True})
    assert (refused.code, refused.message) == INACTIVE
    info = await browser.send("Target.getTargetInfo", {"targetId": page.target_id})
    assert info["targetInfo"]["url"] == ""
    with page.expect(CLOSED) as closed:
        await page.send("Page.navigate", {"url": pages("other")})
        assert (await closed.wait()).params["result"] is False
    await page.detach()
    await assert_browser_lives(browser, shared_chromium)


async def test_closing_the_page_ends_a_dialog_in_pagehide(
    browser: BrowserSession, new_page: NewPage, shared_chromium: Any, pages: Pages, load: Load
) -> None:
    """Fact 62."""
    page = await new_page()
    await open_dialog_in_pagehide(page, pages, load)
    with page.expect(CLOSED) as closed:
        await browser.send("Target.closeTarget", {"targetId": page.target_id})
        assert (await closed.wait()).params["result"] is False
    await assert_browser_lives(browser, shared_chromium)


async def test_events_before_a_dialog_in_pagehide_show_the_address_and_a_form(
    browser: BrowserSession, new_page: NewPage, pages: Pages, load: Load
) -> None:
    """Fact 62: the target's URL does not."""
    page = await new_page()
    await load(page, pages(PAGEHIDE))
    await page.send("Page.enable")
    with (
        page.expect("Page.frameRequestedNavigation") as requested,
        page.expect("Page.frameStartedNavigating") as started,
    ):
        await open_dialog(page, "document.forms[0].submit()")
    assert (await requested.wait()).params["reason"] == "formSubmissionPost"
    assert (await started.wait()).params["url"].endswith("/?html=posted")
    await browser.targets.close(page.target_id)


@pytest.mark.parametrize("in_flight", [False, True])
async def test_a_session_that_ends_during_another_dialog_ends_no_browser(
    browser: BrowserSession,
    second_client: BrowserSession,
    new_page: NewPage,
    shared_chromium: Any,
    pages: Pages,
    in_flight: bool,
) -> None:
    """Fact 62: with a navigation in flight too; and there `Page.getNavigationHistory` is answered."""
    page = await new_page("<p>asks")
    theirs = await second_client.targets.attach(page.target_id)
    await theirs.send("Page.enable")
    await open_dialog(theirs)
    assert (await theirs.send("Page.getNavigationHistory"))["entries"]
    if in_flight:
        sent(theirs, "Page.navigate", {"url": pages("slow", after=1)})
    await theirs.detach()
    await assert_browser_lives(browser, shared_chromium)


# ── a dialog whose frame was removed ─────────────────────────────────────────────────────────────────────────────────

ENDS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "a dialog of the page": [("Runtime.evaluate", {"expression": "alert(1)"})],
    "Page.navigate": [("Page.navigate", {"url": "about:blank"})],
    "an answer": [("Page.handleJavaScriptDialog", {"accept": True})],
    "a dialog after disable and enable": [
        ("Page.disable", {}),
        ("Page.enable", {}),
        ("Runtime.evaluate", {"expression": "alert(1)"}),
    ],
    "a navigation by the page": [("Runtime.evaluate", {"expression": "location.href = '/?html=own'"})],
    "Page.reload": [("Page.reload", {})],
    "Page.close": [("Page.close", {})],
}
FEW = 2
"""Of `ENDS`, in short runs: each needs a browser of its own."""


async def remove_frame_under_its_dialog(browser: BrowserSession, pages: Pages) -> PageSession:
    """Return a page whose OOPIF was removed while a dialog of that frame was open."""
    page = await browser.targets.create("about:blank")
    frame = await open_page_with_oopif(page, browser, pages(f'<iframe src="{pages("inner", "localhost")}"></iframe>'))
    await open_dialog(page, "confirm('inner')", on=frame)
    await page.send("Runtime.evaluate", {"expression": "document.querySelector('iframe').remove()"})
    return page


async def test_the_next_act_after_an_oopif_was_removed_under_its_dialog_ends_the_browser(
    launch: Any, pages: Pages, times: Times
) -> None:
    """Fact 63: SIGSEGV."""
    for act in list(ENDS)[: times(FEW, len(ENDS))]:
        with launch() as chromium:
            async with open_browser_session(chromium.url) as browser:
                page = await remove_frame_under_its_dialog(browser, pages)
                for method, params in ENDS[act]:
                    sent(page, method, params)
                await browser.wait_closed()
            await assert_browser_ends(chromium, signal.SIGSEGV)


async def test_leaving_after_an_oopif_was_removed_under_its_dialog_ends_no_browser(
    own_chromium: Any, pages: Pages
) -> None:
    """Fact 63: but a new session does not help."""
    async with open_browser_session(own_chromium.url) as browser:
        page = await remove_frame_under_its_dialog(browser, pages)
        await page.detach()
        await assert_browser_lives(browser, own_chromium)
        again = await browser.targets.attach(page.target_id)
        await again.send("Page.enable")
        sent(again, "Runtime.evaluate", {"expression": "alert(1)"})
        await browser.wait_closed()
    await assert_browser_ends(own_chromium, signal.SIGSEGV)


async def test_on_headless_shell_only_an_answer_to_the_dialog_of_a_removed_oopif_ends_the_browser(
    launch: Any, shell: str, pages: Pages
) -> None:
    """Fact 63."""
    with launch(program=shell) as chromium:
        async with open_browser_session(chromium.url) as browser:
            page = await remove_frame_under_its_dialog(browser, pages)
            asked = await open_dialog(page)
            await page.send("Page.handleJavaScriptDialog", {"accept": True})
            await asked.wait()
            page = await remove_frame_under_its_dialog(browser, pages)
            await page.send("Page.navigate", {"url": pages("next")})
            await assert_browser_lives(browser, chromium)
            page = await remove_frame_under_its_dialog(browser, pages)
            sent(page, "Page.handleJavaScriptDialog", {"accept": True})
            await browser.wait_closed()
        await assert_browser_ends(chromium, signal.SIGSEGV)


async def test_the_dialog_of_an_oopif_that_is_being_replaced_is_suppressed(
    browser: BrowserSession, new_page: NewPage, pages: Pages, evaluate: Evaluate
) -> None:
    """Fact 68: the frame's script asks once the document of another site has replaced its own; it runs on."""
    page, counter = await new_page(), await new_page(" ")
    frame = await open_page_with_oopif(page, browser, pages(f'<iframe src="{pages("old", "a.localhost")}"></iframe>'))

    async def posts() -> int:
        return int(await evaluate(counter, "fetch('/posts').then(answer => answer.text())"))

    before = await posts()
    late = f"""
        for (let posts = 0; posts <= {before};) {{
            const request = new XMLHttpRequest();
            request.open('GET', '/posts', false);
            request.send();
            posts = +request.responseText;
        }}
        const accepted = confirm('late');
        navigator.sendBeacon('/?accepted=' + accepted);"""
    with page.subscribe(OPENING, capacity=9) as dialogs:
        sent(frame, "Runtime.evaluate", {"expression": late})
        new = pages("<script>fetch('/', {method: 'POST'})</script>", "b.localhost")
        await evaluate(page, f"document.querySelector('iframe').src = {new!r}")

        async def went_on() -> bool:
            return await posts() == before + 2

        await eventually(went_on)
        assert await evaluate(page, "'answers'") == "answers"
        assert dialogs.statistics().waiting == 0


# ── a dialog of `beforeunload` without a client ──────────────────────────────────────────────────────────────────────


async def test_a_beforeunload_dialog_that_opens_unseen_blocks_its_page_until_it_is_closed(
    browser: BrowserSession, new_page: NewPage, pages: Pages, load: Load, evaluate: Evaluate
) -> None:
    """Fact 64: even a fragment of the own address, which ends other unanswerable dialogs, does not help."""
    page = await new_page()
    own, pending = pages(BEFOREUNLOAD), pages("pending")
    await load(page, own)
    await evaluate(page, "1", userGesture=True)
    await page.send("Runtime.enable")
    with page.expect("Runtime.consoleAPICalled") as leaving:
        sent(page, "Page.navigate", {"url": pending})
        await leaving.wait()
    await assert_unanswered(page, "Runtime.evaluate", {"expression": "1"})
    await page.detach()

    async def shown() -> str:
        info = await browser.send("Target.getTargetInfo", {"targetId": page.target_id})
        return str(info["targetInfo"]["url"])

    async def shows_pending() -> bool:
        return await shown() == pending

    await eventually(shows_pending)
    late = await browser.targets.attach(page.target_id)
    history = await late.send("Page.getNavigationHistory")
    assert history["entries"][history["currentIndex"]]["url"].startswith(own.partition("?")[0])
    assert pending not in {entry["url"] for entry in history["entries"]}
    enabling = await assert_unanswered(late, "Page.enable")
    refused = await refusal(late, "Page.handleJavaScriptDialog", {"accept": True})
    assert refused.message == "No dialog is showing"
    await late.send("Page.stopLoading")
    await late.send("Page.reload")
    sent(late, "Page.navigate", {"url": pages("other")})
    await late.send("Page.navigate", {"url": f"{own}#fragment"})
    await assert_unanswered(late, "Runtime.evaluate", {"expression": "1"})
    assert not enabling.ended
    await browser.targets.close(page.target_id)

    async def is_gone() -> bool:
        return page.target_id not in {target.target_id for target in await browser.targets.list()}

    await eventually(is_gone)


async def test_a_beforeunload_dialog_of_the_pages_own_navigation_leaves_the_shown_address(
    browser: BrowserSession, new_page: NewPage, pages: Pages, load: Load, evaluate: Evaluate
) -> None:
    """Fact 64: only a navigation of a client shows as the target's URL while it is in flight."""
    page = await new_page()
    await load(page, pages(BEFOREUNLOAD))
    await evaluate(page, "1", userGesture=True)
    shown = await evaluate(page, "location.href")
    await page.send("Page.enable")
    await open_dialog(page, f"location.href = {pages('own')!r}; 1")
    info = await browser.send("Target.getTargetInfo", {"targetId": page.target_id})
    assert info["targetInfo"]["url"] == shown
    await page.send("Page.handleJavaScriptDialog", {"accept": False})


# ── input ────────────────────────────────────────────────────────────────────────────────────────────────────────────

MOUSE, KEY = "Input.dispatchMouseEvent", "Input.dispatchKeyEvent"
MOVED = (MOUSE, {"type": "mouseMoved", "x": 6, "y": 6})
PRESSED = (MOUSE, {"type": "mousePressed", "x": 6, "y": 6, "button": "left", "clickCount": 1})
KEY_DOWN = (KEY, {"type": "keyDown", "key": "a", "text": "a"})
KEY_UP = (KEY, {"type": "keyUp", "key": "a"})
TEXT = ("Input.insertText", {"text": "x"})
WHEEL = (MOUSE, {"type": "mouseWheel", "x": 5, "y": 5, "deltaX": 0, "deltaY": 5})
TAP = ("Input.synthesizeTapGesture", {"x": 5, "y": 5})


async def open_in_front(new_page: NewPage, html: str) -> PageSession:
    page = await new_page(html)
    await page.send("Page.bringToFront")
    await page.send("Page.enable")
    return page


async def assert_input_waits(page: PageSession, *commands: tuple[str, dict[str, Any]]) -> list[Any]:
    """Assert that none of these commands is answered; return them."""
    waiting = [sent(page, method, params) for method, params in commands]
    await assert_still_unanswered(*waiting)
    return waiting


async def test_a_native_dialog_answers_moves_presses_and_keys_only(new_page: NewPage) -> None:
    """Fact 66: text, wheel and gestures wait for the end of the dialog."""
    page = await open_in_front(new_page, "<input autofocus>")
    await open_dialog(page)
    with trio.fail_after(20):
        for method, params in (MOVED, PRESSED, KEY_DOWN, KEY_UP):
            await page.send(method, params)
    waiting = await assert_input_waits(page, TEXT, WHEEL, TAP)
    await page.send("Page.handleJavaScriptDialog", {"accept": True})
    for pending in waiting:
        await pending.wait()


@pytest.mark.parametrize(
    ("handler", "before", "command"),
    [
        ("onmousedown", [], PRESSED),
        ("onclick", [PRESSED], (MOUSE, {**PRESSED[1], "type": "mouseReleased"})),
        ("onkeydown", [], (KEY, {"type": "keyDown", "key": "Enter", "text": "\r", "windowsVirtualKeyCode": 13})),
    ],
)
async def test_the_input_command_that_opens_a_dialog_is_answered_after_it(
    new_page: NewPage, evaluate: Evaluate, handler: str, before: list[Any], command: tuple[str, Any]
) -> None:
    """Fact 66."""
    page = await open_in_front(new_page, "<body>asks")
    await evaluate(page, f"{handler} = () => alert('asks')")
    for method, params in before:
        await page.send(method, params)
    with page.expect(OPENING) as opening:
        pressed = sent(page, *command)
        await opening.wait()
    await assert_still_unanswered(pressed)
    await page.send("Page.handleJavaScriptDialog", {"accept": True})
    await pressed.wait()


async def test_a_synchronous_request_holds_every_input_command(new_page: NewPage) -> None:
    """Fact 66."""
    page = await open_in_front(new_page, "<input autofocus>")
    await page.send("Fetch.enable", {"patterns": [{"urlPattern": "*/asked"}]})
    ask = "const x = new XMLHttpRequest(); x.open('GET', '/asked', false); x.send()"
    with page.expect("Fetch.requestPaused") as paused:
        sent(page, "Runtime.evaluate", {"expression": ask})
        request = (await paused.wait()).params["requestId"]
    waiting = await assert_input_waits(page, MOVED, PRESSED, KEY_DOWN, KEY_UP, TEXT, WHEEL, TAP)
    await page.send("Fetch.fulfillRequest", {"requestId": request, "responseCode": 200})
    for pending in waiting:
        await pending.wait()


async def test_a_pause_in_the_debugger_answers_input_and_all_but_promises(new_page: NewPage) -> None:
    """Fact 66, on a page in front."""
    page = await open_in_front(new_page, "<input autofocus>")
    await page.send("Debugger.enable")
    await page.send("Accessibility.enable")
    with page.expect("Debugger.paused") as paused:
        asked = sent(page, "Runtime.evaluate", {"expression": "debugger"})
        await paused.wait()
    with trio.fail_after(20):
        for method, params in (MOVED, PRESSED, KEY_DOWN, KEY_UP, TEXT, WHEEL, TAP):
            await page.send(method, params)
        for method in ("Page.getFrameTree", "DOM.getDocument", "Accessibility.getRootAXNode"):
            await page.send(method)
        await page.send("Page.captureScreenshot")
        await page.send("Runtime.evaluate", {"expression": "1"})
    promise = {"expression": "Promise.resolve(1)", "awaitPromise": True}
    waiting = await assert_unanswered(page, "Runtime.evaluate", promise)
    await page.send("Debugger.resume")
    await asked.wait()
    assert (await waiting.wait())["result"]["value"] == 1


# ── texts, and two clients that answer ───────────────────────────────────────────────────────────────────────────────


async def test_the_default_text_of_a_prompt_is_not_cut(new_page: NewPage) -> None:
    """Fact 67: the message is."""
    page = await new_page("<p>asks")
    await page.send("Page.enable")
    with page.expect(OPENING) as opening:
        asked = await open_dialog(page, "prompt('m'.repeat(30000), 'd'.repeat(30000)).length")
    params = (await opening.wait()).params
    assert (len(params["message"]), len(params["defaultPrompt"])) == (10_240, 30_000)
    await page.send("Page.handleJavaScriptDialog", {"accept": True, "promptText": params["defaultPrompt"]})
    assert (await asked.wait())["result"]["value"] == 30_000


async def test_of_two_clients_that_answer_at_once_one_is_refused(
    new_page: NewPage, second_client: BrowserSession, times: Times
) -> None:
    """Fact 67: which of them is not determined; the dialog ends as the accepted answer demands."""
    page = await new_page("<p>asks")
    theirs = await second_client.targets.attach(page.target_id)
    for session in (page, theirs):
        await session.send("Page.enable")
    for _ in range(times(10, 100)):
        accepted: list[bool] = []
        with page.expect(CLOSED) as closed:
            async with trio.open_nursery() as nursery:
                for session, accept in ((page, True), (theirs, False)):
                    nursery.start_soon(answer_next, session, accept, accepted)
                await trio.testing.wait_all_tasks_blocked()
                asked = sent(page, "Runtime.evaluate", {"expression": "confirm('?')"})
            result = (await closed.wait()).params["result"]
        assert accepted == [result]
        assert (await asked.wait())["result"]["value"] is result


async def answer_next(session: PageSession, accept: bool, accepted: list[bool]) -> None:
    """Answer the next dialog; append to `accepted` if the browser took the answer."""
    await session.expect(OPENING).wait()
    with suppress(CommandRefused):
        await session.send("Page.handleJavaScriptDialog", {"accept": accept})
        accepted.append(accept)
