"""`PageSession.navigate` against Chromium: documents, downloads, slow servers (facts 79, 90)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any

import pytest
import trio

from cdp_core import (
    BrowserSession,
    NavigationBlocked,
    NavigationFailed,
    NavigationTimedOut,
    PageSession,
    open_browser_session,
)
from support.http_stream import read_request

pytestmark = pytest.mark.chromium

Evaluate = Callable[..., Awaitable[Any]]
NewPage = Callable[..., Awaitable[PageSession]]


@pytest.fixture
async def browser(shared_chromium: Any) -> AsyncIterator[BrowserSession]:
    """One way to connect is enough for these tests."""
    async with open_browser_session(shared_chromium.url) as link:
        yield link


ANSWERS = {
    b"/empty": b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n",
    b"/file": (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Disposition: attachment; filename=f\r\n"
        b"Content-Length: 1\r\nConnection: close\r\n\r\nf"
    ),
}


async def answer(stream: trio.SocketStream) -> None:
    """Answer one request by its path; `/slow` is never answered."""
    request = await read_request(stream)
    if not request:
        return
    path = request.split()[1]
    if path == b"/slow":
        await trio.sleep_forever()
    body = b"<title>shop</title><iframe src='/frame'></iframe>" if path == b"/" else b"frame"
    document = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s"
    await stream.send_all(ANSWERS.get(path, document % (len(body), body)))


@pytest.fixture
async def site(nursery: trio.Nursery) -> str:
    """The address of a server that knows a few paths."""
    [listener] = await nursery.start(partial(trio.serve_tcp, answer, 0, host="127.0.0.1"))
    return f"http://127.0.0.1:{listener.socket.getsockname()[1]}"


@pytest.mark.parametrize(
    ("wait_until", "ready"),
    [
        ("commit", ("loading", "interactive", "complete")),
        ("domcontentloaded", ("interactive", "complete")),
        ("load", ("complete",)),
        ("networkidle", ("complete",)),
    ],
)
async def test_a_document_has_loaded_as_far_as_was_asked(
    new_page: NewPage, evaluate: Evaluate, site: str, wait_until: Any, ready: tuple[str, ...]
) -> None:
    page = await new_page()
    for _again in range(2):
        load = await page.navigate(f"{site}/", wait_until=wait_until)
        assert await evaluate(page, "document.readyState") in ready
        tree = await page.send("Page.getFrameTree")
        assert tree["frameTree"]["frame"]["loaderId"] == load.loader_id


async def test_a_fragment_is_no_new_document(new_page: NewPage, site: str) -> None:
    page = await new_page()
    await page.navigate(f"{site}/")
    assert (await page.navigate(f"{site}/#there")).same_document


@pytest.mark.parametrize(("path", "reason"), [("empty", "no_document"), ("file", "download")])
async def test_an_answer_without_a_document_raises(new_page: NewPage, site: str, path: str, reason: str) -> None:
    page = await new_page()
    with pytest.raises(NavigationFailed) as failed:
        await page.navigate(f"{site}/{path}")
    assert failed.value.reason == reason


async def test_a_server_that_is_not_there_raises_its_error(new_page: NewPage) -> None:
    page = await new_page()
    with pytest.raises(NavigationFailed, match=r"net::ERR_"):
        await page.navigate("http://127.0.0.1:1/")


async def test_a_navigation_that_is_stopped_raises(new_page: NewPage, site: str) -> None:
    page = await new_page()
    async with trio.open_nursery() as tasks, page.enabled("Page"):
        await page.send("Page.enable")
        with page.subscribe("Page.frameStartedNavigating", capacity=10) as started:

            @tasks.start_soon
            async def stop() -> None:
                await started.receive()
                await page.send("Page.stopLoading")

            with pytest.raises(NavigationFailed) as failed:
                await page.navigate(f"{site}/slow")
    assert failed.value.reason == "stopped"


async def test_a_timeout_says_why(new_page: NewPage, site: str) -> None:
    page = await new_page()
    await page.navigate(f"{site}/")
    with pytest.raises(NavigationTimedOut, match="the server has not answered"):
        await page.navigate(f"{site}/slow", timeout=1.0)
    await page.send("Page.stopLoading")
    assert (await page.navigate(f"{site}/", timeout=20.0)).status == 200


async def test_another_navigation_supersedes_ours_and_its_load_does_not_count(
    browser: BrowserSession, new_page: NewPage, pages: Any
) -> None:
    page = await new_page()
    other = await browser.targets.attach(page.target_id, fresh=True)
    with page.expect("Page.frameStartedNavigating") as started:
        async with trio.open_nursery() as nursery:

            @nursery.start_soon
            async def navigate() -> None:
                with pytest.raises(NavigationFailed) as failed:
                    await page.navigate(pages("<p>slow", after=20))
                assert failed.value.reason == "superseded"

            await started.wait()
            assert (await other.navigate(pages("<p>quick"))).status == 200
    with pytest.raises(NavigationFailed) as failed:
        await page.navigate(pages(f"<script>location.href = {pages('<p>next')!r}</script>"))
    assert failed.value.reason == "superseded"


@pytest.mark.parametrize("status", [200, 404, 500])
async def test_the_status_is_no_failure(new_page: NewPage, pages: Any, status: int) -> None:
    page = await new_page()
    found = await page.navigate(pages("<img src=/there>", status=status))
    assert (found.status, found.same_document) == (status, False)


async def test_a_dialog_while_loading_blocks_the_call_and_its_wait_gives_the_end(new_page: NewPage, pages: Any) -> None:
    page = await new_page()
    with pytest.raises(NavigationBlocked) as blocked:
        await page.navigate(pages("<script>alert(1)</script><p>there"))
    assert (blocked.value.type, blocked.value.phase) == ("alert", "loading")
    await page.send("Page.handleJavaScriptDialog", {"accept": True})
    assert (await blocked.value.wait()).status == 200


@pytest.mark.parametrize("accept", [True, False])
async def test_a_beforeunload_dialog_blocks_the_call_and_its_wait_gives_the_end(
    new_page: NewPage, pages: Any, evaluate: Evaluate, accept: bool
) -> None:
    page = await new_page()
    await page.navigate(pages("<script>onbeforeunload = event => event.preventDefault()</script>"))
    await evaluate(page, "1", userGesture=True)
    with pytest.raises(NavigationBlocked) as blocked:
        await page.navigate(pages("<p>there"))
    assert (blocked.value.type, blocked.value.phase) == ("beforeunload", "leaving")
    await page.send("Page.handleJavaScriptDialog", {"accept": accept})
    if accept:
        assert (await blocked.value.wait()).status == 200
    else:
        with pytest.raises(NavigationFailed) as failed:
            await blocked.value.wait()
        assert failed.value.reason == "stopped"


@pytest.mark.parametrize("state", ["commit", "domcontentloaded", "load", "networkidle"])
async def test_the_load_state_of_a_document_that_is_there_is_known(
    browser: BrowserSession, new_page: NewPage, pages: Any, state: Any
) -> None:
    page = await new_page()
    await page.navigate(pages("<p>one"))
    late = await browser.targets.attach(page.target_id, fresh=True)
    for session in (page, late, late):
        await session.wait_for_load_state(state, timeout=20.0)


async def test_a_navigation_replaces_one_that_silences_the_page(new_page: NewPage, site: str) -> None:
    """Fact 90: the enables of the lease are not answered before the new document commits."""
    page = await new_page()
    page.send_nowait("Page.navigate", {"url": f"{site}/slow"}).on_end()
    assert (await page.navigate(f"{site}/", timeout=30.0)).status == 200
