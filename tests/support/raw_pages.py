"""Pages driven with raw commands, for tests that check the browser and not the library."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

import pytest
import trio

from cdp_core import BrowserSession, CommandRefused, Event, PageSession, PendingReply
from cdp_core.session import Session

Pages = Callable[..., str]

SILENCE = 0.3
"""Seconds without a reply that count as none. A busy machine can make such a check pass, never fail."""
PATIENCE = 30.0
"""Seconds for what must happen."""
OPENING, CLOSED = "Page.javascriptDialogOpening", "Page.javascriptDialogClosed"


async def refusal(session: Session, method: str, params: Any = None) -> CommandRefused:
    """Send a command that the browser refuses, and return the refusal."""
    with pytest.raises(CommandRefused) as refused:
        await session.send(method, params or {})
    return refused.value


async def assert_unanswered(session: Session, method: str, params: Any = None) -> PendingReply[Any]:
    """Assert that a command gets no reply for a while; return it, so that its reply can be awaited later."""
    pending = session.send_nowait(method, params or {})
    await assert_still_unanswered(pending)
    return pending


async def assert_still_unanswered(*pending: PendingReply[Any]) -> None:
    for reply in pending:
        reply.on_end()
    await trio.sleep(SILENCE)
    assert [reply.method for reply in pending if reply.ended] == []


async def assert_no_event(session: Session, act: Callable[[], Any], *events: str) -> None:
    """Assert that an act, and a command after it, cause none of these events."""
    with session.subscribe(*events, capacity=100) as received:
        await act()
        with trio.move_on_after(SILENCE):
            event: Event = await received.receive()
            pytest.fail(f"{event.method} came")


async def eventually(condition: Callable[[], Any]) -> None:
    """Wait until an asynchronous condition holds."""
    with trio.fail_after(PATIENCE):
        while True:
            if await condition():
                return
            await trio.sleep(0.01)


def sent(session: Session, method: str, params: Any = None) -> PendingReply[Any]:
    """Send a command whose outcome may stay unknown."""
    pending = session.send_nowait(method, params or {})
    pending.on_end()
    return pending


async def open_dialog(page: PageSession, expression: str = "alert('open')", *, on: PageSession | None = None) -> Any:
    """Open a dialog on a page whose Page domain is enabled; return the evaluation that waits for its end."""
    with page.expect(OPENING) as opening:
        asked = sent(on or page, "Runtime.evaluate", {"expression": expression, "returnByValue": True})
        await opening.wait()
    return asked


async def open_page_with_oopif(page: PageSession, browser: BrowserSession, url: str) -> PageSession:
    """Load a page that contains one frame of another site, and return the session of that frame."""
    await page.send("Page.enable")
    await page.send("Target.setAutoAttach", {"autoAttach": True, "waitForDebuggerOnStart": False, "flatten": True})
    with page.expect("Target.attachedToTarget") as attached, page.expect("Page.loadEventFired") as loaded:
        await page.send("Page.navigate", {"url": url})
        await loaded.wait()
        return browser.sessions[(await attached.wait()).params["sessionId"]]


async def assert_browser_ends(chromium: Any, with_signal: signal.Signals) -> None:
    """Assert that the browser process ends by this signal; Debian's launcher of headless-shell adds 128."""

    async def has_ended() -> bool:
        return chromium.popen.poll() is not None

    await eventually(has_ended)
    code = chromium.popen.returncode
    assert code in (-with_signal, 128 + with_signal), f"{os.fspath(chromium.profile)} ended with {code}"


async def assert_browser_lives(browser: BrowserSession, chromium: Any) -> None:
    """Assert that the browser opens and runs another page."""
    page = await browser.targets.create("about:blank")
    answer = await page.send("Runtime.evaluate", {"expression": "6 * 7"})
    assert answer["result"]["value"] == 42
    await browser.targets.close(page.target_id)
    assert chromium.popen.poll() is None
