"""Leaving a page whose dialog cannot be answered must not end the browser (facts 62, 63)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.request import urlopen

import pytest
import trio

from cdp_core import CdpError, open_browser_session
from cdp_supervisor import Policy, Scope, Snapshot, WouldEndBrowser, open_supervisor

pytestmark = pytest.mark.chromium

Times = Callable[[int, int], int]
BYE = "<body><script>addEventListener('pagehide', () => alert('bye'))</script>"
NEXT = "location.href = {to!r}"
FORM = "f = document.createElement('form'); f.method = 'post'; f.action = {to!r}; document.body.append(f); f.submit()"


async def lives(browser: Any) -> bool:
    """True if the browser answers over a new link."""
    try:
        async with open_browser_session(browser.url) as again:
            return bool((await again.send("Browser.getVersion"))["product"])
    except CdpError:
        return False


def asks(snapshot: Snapshot) -> bool:
    return bool(snapshot.pending_dialogs)


async def posts(pages: Any) -> int:
    """Return how many POST requests the server got."""
    return int(await trio.to_thread.run_sync(lambda: urlopen(pages("", path="/posts")).read()))


@pytest.mark.parametrize("kind", ["own", "observed", "beside another client", "unattended", "post"])
async def test_a_stop_frees_a_page_whose_dialog_would_end_the_browser(
    own_chromium: Any, program: Any, pages: Any, kind: str, times: Times
) -> None:
    """Fact 62: the same browser outlives every stop."""
    if program.shell:
        pytest.skip("headless-shell shows no dialog while it leaves a document (fact 89)")
    before = await posts(pages)
    scope = Scope.browser().observed() if kind == "observed" else Scope.browser()
    policy = Policy.unattended() if kind == "unattended" else Policy()
    rounds = times(1, 10 if kind == "post" else 20)
    for _ in range(rounds):
        async with open_browser_session(own_chromium.url) as other:
            async with open_supervisor(own_chromium.url, scope=scope, policy=policy) as supervisor:
                session = await supervisor.browser.targets.create("about:blank")
                await session.navigate(pages(BYE))
                if kind == "beside another client":
                    beside = await other.targets.attach(session.target_id)
                    await beside.send("Page.enable")
                leave = (FORM if kind == "post" else NEXT).format(to=pages("<p>next", path="/next"))
                session.send_nowait("Runtime.evaluate", {"expression": f"setTimeout(() => {{ {leave} }})"}).on_end()
                if kind == "unattended":
                    await supervisor.wait_for(lambda found: not found.pending_dialogs and bool(found.recent_dialogs))
                else:
                    await supervisor.wait_for(asks)
            report = supervisor.stop_report
            assert report is not None
            assert len(report.freed) == 1, report
            assert ("what its form sends" in report.freed[0]) == (kind == "post")
            assert await lives(own_chromium)
            await close_pages(own_chromium)
    assert await posts(pages) - before == (rounds if kind == "post" else 0)


async def close_pages(browser: Any) -> None:
    async with open_browser_session(browser.url) as closing:
        for target in await closing.targets.list():
            if target.url != "about:blank":
                await closing.targets.close(target.target_id)


async def test_a_page_whose_frame_was_removed_under_its_dialog_is_left_alone(
    own_chromium: Any, program: Any, pages: Any
) -> None:
    """Fact 63."""
    if program.shell:
        pytest.skip("headless-shell survives what comes after it (fact 63)")
    async with open_supervisor(own_chromium.url) as supervisor:
        session = await supervisor.browser.targets.create("about:blank")
        inner = pages("<script>setTimeout(() => confirm('here?'), 300)</script>", "localhost")
        await session.navigate(pages(f"<iframe src='{inner}'></iframe>"))
        await supervisor.wait_for(asks)
        await session.send("Runtime.evaluate", {"expression": "document.querySelector('iframe').remove()"})
        found = await supervisor.wait_for(lambda found: any(each.health.state == "fragile" for each in found.pages))
        assert not found.pending_dialogs
        with pytest.raises(WouldEndBrowser):
            await supervisor.call("Page.reload", target_id=session.target_id)
        with pytest.raises(WouldEndBrowser):
            await supervisor.call("Target.closeTarget", {"targetId": session.target_id})
        with pytest.raises(WouldEndBrowser):
            await supervisor.recover(session.target_id, "close")
        assert await supervisor.evaluate("1 + 1", target_id=session.target_id) == 2
    assert supervisor.stop_report is not None
    assert "would end the browser" in supervisor.stop_report.left[0]
    assert await lives(own_chromium)
