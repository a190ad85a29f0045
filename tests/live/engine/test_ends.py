"""How a real browser ends, and that every waiter learns of it; each test ends its own browser."""

from __future__ import annotations

import os
import signal
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio

from cdp_core import (
    CommandDone,
    ConnectionLost,
    DiscoveryError,
    Event,
    Gone,
    LocalProtocolError,
    Output,
    PageSession,
    Result,
    SessionClosed,
    open_browser_session,
    open_pipe_session,
)

pytestmark = pytest.mark.chromium

Pages = Callable[..., str]

NEVER = {"expression": "new Promise(() => {})", "awaitPromise": True}
"""A command that the page never answers; it may be refused while the page is still navigating."""


async def ends(wait: Callable[[], Awaitable[object]], ended: list[Gone]) -> None:
    """Wait for an event that will not arrive, and record the loss that is raised instead."""
    try:
        while True:
            await wait()
    except Gone as gone:
        ended.append(gone)


@pytest.mark.parametrize("way_in", ["websocket", pytest.param("pipe", marks=pytest.mark.live_pipe)])
async def test_killing_the_browser_ends_every_wait(launch: Any, prepare: Any, way_in: str) -> None:
    ended: list[Gone] = []
    with launch() if way_in == "websocket" else prepare("--remote-debugging-pipe") as chromium:
        opening = (
            open_browser_session(chromium.url)
            if way_in == "websocket"
            else open_pipe_session(chromium.argv, env=chromium.env)
        )
        async with opening as browser:
            page = await browser.targets.create("about:blank")
            async with browser.targets.auto_attach(capacity=100) as arriving, trio.open_nursery() as nursery:
                waiting: list[Callable[[], Awaitable[object]]] = [
                    page.send_nowait("Runtime.evaluate", NEVER).wait,
                    lambda: page.send("Runtime.evaluate", NEVER),
                    page.subscribe("Runtime.consoleAPICalled", capacity=10).receive,
                    page.expect("Page.loadEventFired").wait,
                    browser.subscribe("Target.targetCrashed", capacity=10).receive,
                    browser.subscribe_all("Network.requestWillBeSent", capacity=10).receive,
                    browser.targets.subscribe(capacity=100).receive,
                    browser.targets.expect_new(lambda _target: False).wait,
                    arriving.receive,
                ]
                for wait in waiting:
                    nursery.start_soon(ends, wait, ended)
                await trio.testing.wait_all_tasks_blocked()
                os.kill(_main_process(chromium, browser), signal.SIGKILL)
            gone = await browser.wait_closed()
            ended.append(gone)
            with pytest.raises(ConnectionLost):
                await browser.send("Browser.getVersion")
            with pytest.raises(ConnectionLost):
                page.send_nowait("Runtime.evaluate", NEVER)
            with pytest.raises(ConnectionLost):
                page.subscribe("Page.loadEventFired", capacity=1)
            assert not browser.sessions
            assert not page.open
            assert browser.statistics().router.in_flight == 0
    assert len(ended) == len(waiting) + 1
    assert all(isinstance(each, ConnectionLost) for each in ended)
    assert len({(each.reason, str(each)) for each in ended}) == 1
    if way_in == "pipe":
        assert gone.reason == "process_exited"
        assert "SIGKILL" in str(gone)
    else:
        assert (gone.reason, gone.close_code) in {("peer_closed", 1006), ("broken", 1006)}


def _main_process(chromium: Any, browser: Any) -> int:
    started_here = chromium.popen is not None
    return int(chromium.popen.pid if started_here else browser.statistics().transport.pid)


async def test_browser_close_ends_the_link(own_chromium: Any) -> None:
    outputs: list[Output] = []
    async with open_browser_session(own_chromium.url, taps=[outputs.append]) as browser:
        await browser.targets.list()
        page = await browser.targets.create("about:blank")
        pending = page.send_nowait("Runtime.evaluate", NEVER)
        outputs.clear()
        assert await browser.send("Browser.close") == {}
        with pytest.raises(Gone):
            await pending.wait()
        gone = await browser.wait_closed()
        assert isinstance(gone, ConnectionLost)
        assert (gone.reason, gone.close_code) == ("peer_closed", 1006)
    names = [name for name in (_name(output, page) for output in outputs) if name]
    assert names == ["reply", "Inspector.detached", "Target.detachedFromTarget", "pending", "closed", "destroyed"]
    assert own_chromium.popen is not None
    with trio.fail_after(10):
        assert await trio.to_thread.run_sync(own_chromium.popen.wait) == 0


def _name(output: Output, page: PageSession) -> str | None:
    """Return a short name for an output about this page."""
    if isinstance(output, CommandDone):
        return "reply" if isinstance(output.outcome, Result) else "pending"
    if isinstance(output, SessionClosed):
        return "closed"
    if isinstance(output, Event) and output.method == "Target.targetDestroyed":
        return "destroyed" if output.params["targetId"] == page.target_id else None
    if isinstance(output, Event) and page.session_id in (output.session_id, output.params.get("sessionId")):
        return output.method
    return None


@pytest.mark.live_pipe
async def test_a_browser_over_a_pipe_ends_with_its_block(prepare: Any, pages: Pages) -> None:
    with prepare("--remote-debugging-pipe") as chromium:
        async with open_pipe_session(chromium.argv, env=chromium.env) as browser:
            page = await browser.targets.create(pages("piped"))
            assert chromium.running()
            assert not chromium.port_file.exists()
        chromium.assert_gone()
        assert not page.open
        with pytest.raises(KeyError):
            async with open_pipe_session(chromium.argv, env=chromium.env) as browser:
                await browser.send("Browser.getVersion")
                raise KeyError("the body's own")
        chromium.assert_gone()


@pytest.mark.live_pipe
async def test_browser_close_ends_a_browser_over_a_pipe(prepare: Any) -> None:
    with prepare("--remote-debugging-pipe") as chromium:
        async with open_pipe_session(chromium.argv, env=chromium.env) as browser:
            assert await browser.send("Browser.close") == {}
            gone = await browser.wait_closed()
            assert gone.reason == "process_exited"
            assert "code 0" in str(gone)
            chromium.assert_gone()


@pytest.mark.live_pipe
async def test_a_browser_that_does_not_start_is_an_error(chromium: str, prepare: Any) -> None:
    with prepare("--remote-debugging-pipe") as its, pytest.raises(DiscoveryError) as error:
        async with open_pipe_session([f"{chromium}-no-such-program", *its.argv[1:]]):
            pytest.fail("it was started")
    assert error.value.stage == "address"


@pytest.mark.live_pipe
async def test_large_messages_pass_over_a_pipe(prepare: Any) -> None:
    with prepare("--remote-debugging-pipe") as chromium:
        async with open_pipe_session(chromium.argv, env=chromium.env) as browser:
            version = await browser.send("Browser.getVersion")
            assert await browser.send("Browser.getVersion", {"padding": "x" * (64 * 2**20)}) == version
            with pytest.raises(LocalProtocolError) as too_big:
                await browser.send("Browser.getVersion", {"padding": "x" * (100 * 2**20)})
            assert too_big.value.reason == "too_big"
            assert await browser.send("Browser.getVersion") == version


async def test_closing_the_link_leaves_the_browser_and_its_pages(own_chromium: Any) -> None:
    async with open_browser_session(own_chromium.url) as browser:
        page = await browser.targets.create("about:blank")
        pending = page.send_nowait("Runtime.evaluate", NEVER)
    with pytest.raises(ConnectionLost) as lost:
        await pending.wait()
    assert lost.value.reason == "closed"
    async with open_browser_session(own_chromium.url) as browser:
        assert page.target_id in {target.target_id for target in await browser.targets.list()}
