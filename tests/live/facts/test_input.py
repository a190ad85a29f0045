"""Replies to input, what overtakes it, and input for a frame (fact 86)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio

from cdp_core import BrowserSession, PageSession
from support.raw_pages import Pages, eventually, open_page_with_oopif, sent

pytestmark = pytest.mark.chromium

Evaluate = Callable[..., Awaitable[Any]]
NewPage = Callable[..., Awaitable[PageSession]]
Times = Callable[[int, int], int]

MOUSE = "Input.dispatchMouseEvent"
BUSY = 0.1
"""Seconds that the handler of `mousedown` keeps its frame busy."""
RECORDING = f"""<body style="margin:0;height:100px"><script>
    globalThis.seen = [];
    for (const type of ['mousemove', 'mousedown', 'mouseup', 'click'])
        addEventListener(type, () => {{
            for (const begun = performance.now(); type === 'mousedown' && performance.now() - begun < {1000 * BUSY};);
            seen.push(type);
        }});
</script>"""
COVER = """<style>body { margin: 0 } #cover { position: absolute; left: 0; top: 0; width: 90px; height: 90px }</style>
    <div id=cover onclick="globalThis.covered = true"></div>"""
COVERED, FREE = (40, 40), (200, 60)
"""Places in the frame, for the page and for the frame alike."""


def mouse(kind: str, place: tuple[int, int]) -> tuple[str, dict[str, Any]]:
    return MOUSE, {"type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1}


async def click(session: PageSession, place: tuple[int, int]) -> None:
    for kind in ("mousePressed", "mouseReleased"):
        await session.send(*mouse(kind, place))


async def open_frame(
    browser: BrowserSession, page: PageSession, pages: Pages, evaluate: Evaluate, outside: str = ""
) -> PageSession:
    """Load a page with an OOPIF, and wait until the page routes input to it."""
    inside = pages(RECORDING, "localhost")
    frame = await open_page_with_oopif(page, browser, pages(f'{outside}<iframe style="border:0" src="{inside}">'))
    await page.send("Page.bringToFront")

    async def gets_input() -> bool:
        await page.send(MOUSE, {"type": "mouseMoved", "x": FREE[0], "y": FREE[1]})
        return bool(await evaluate(frame, "seen.length"))

    await eventually(gets_input)
    await evaluate(frame, "seen.length = 0")
    return frame


@pytest.mark.parametrize("in_oopif", [False, True])
async def test_a_mouse_event_is_answered_after_its_handlers(
    browser: BrowserSession, new_page: NewPage, pages: Pages, evaluate: Evaluate, in_oopif: bool
) -> None:
    """Fact 86."""
    page = await new_page(RECORDING)
    await page.send("Page.bringToFront")
    target = await open_frame(browser, page, pages, evaluate) if in_oopif else page
    begun = trio.current_time()
    await page.send(*mouse("mousePressed", FREE))
    assert trio.current_time() - begun >= BUSY
    await page.send(*mouse("mouseReleased", FREE))
    assert await evaluate(target, "seen") == ["mousedown", "mouseup", "click"]


async def test_mouse_events_of_one_write_keep_their_order(new_page: NewPage, evaluate: Evaluate, times: Times) -> None:
    """Fact 86."""
    page = await new_page(RECORDING.replace(str(1000 * BUSY), "0"))
    await page.send("Page.bringToFront")
    for number in range(times(10, 200)):
        await evaluate(page, "seen.length = 0")
        place = (20 + number, 20)
        pending = [sent(page, *mouse(kind, place)) for kind in ("mouseMoved", "mousePressed", "mouseReleased")]
        for reply in pending:
            await reply.wait()
        assert await evaluate(page, "seen") == ["mousemove", "mousedown", "mouseup", "click"]


async def test_a_key_can_overtake_the_focus_that_was_sent_before_it(
    new_page: NewPage, evaluate: Evaluate, times: Times
) -> None:
    """Fact 86: never once the command that sets the focus was answered."""
    page = await new_page("<input id=field>")
    await page.send("Page.bringToFront")
    key = ("Input.dispatchKeyEvent", {"type": "keyDown", "key": "x", "text": "x"})
    focus = ("Runtime.evaluate", {"expression": "field.focus()"})

    async def typed() -> str:
        text = await evaluate(page, "const text = field.value; field.value = ''; field.blur(); text", replMode=True)
        return str(text)

    for _ in range(times(10, 200)):
        await page.send(*focus)
        await page.send(*key)
        assert await typed() == "x"
    for _ in range(500):
        focusing, pressed = sent(page, *focus), sent(page, *key)
        await focusing.wait()
        await pressed.wait()
        if await typed() == "":
            return
    pytest.fail("no key overtook the focus")


async def test_input_on_the_session_of_an_oopif_ignores_what_covers_it(
    browser: BrowserSession, new_page: NewPage, pages: Pages, evaluate: Evaluate
) -> None:
    """Fact 86: on the session of the page the click goes to the covering element."""
    page = await new_page()
    frame = await open_frame(browser, page, pages, evaluate, COVER)
    await click(page, COVERED)
    assert await evaluate(page, "globalThis.covered") is True
    assert await evaluate(frame, "seen") == []
    await evaluate(page, "globalThis.covered = false")
    await click(frame, COVERED)
    assert await evaluate(frame, "seen") == ["mousedown", "mouseup", "click"]
    assert await evaluate(page, "globalThis.covered") is False
