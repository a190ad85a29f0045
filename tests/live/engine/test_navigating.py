"""`PageSession.navigate` against Chromium: documents, downloads, slow servers (facts 79, 90)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any

import pytest
import trio

from cdp_core import BrowserSession, NavigationFailed, NavigationTimedOut, PageSession, open_browser_session
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
    ("until", "ready"),
    [
        ("loading", ("loading", "interactive", "complete")),
        ("interactive", ("interactive", "complete")),
        ("complete", ("complete",)),
        ("network_idle", ("complete",)),
    ],
)
async def test_a_document_has_loaded_as_far_as_was_asked(
    new_page: NewPage, evaluate: Evaluate, site: str, until: Any, ready: tuple[str, ...]
) -> None:
    page = await new_page()
    for _again in range(2):
        load = await page.navigate(f"{site}/", until=until)
        assert await evaluate(page, "document.readyState") in ready
        tree = await page.send("Page.getFrameTree")
        assert tree["frameTree"]["frame"]["loaderId"] == load.loader


async def test_a_fragment_is_no_new_document(new_page: NewPage, site: str) -> None:
    page = await new_page()
    await page.navigate(f"{site}/")
    assert (await page.navigate(f"{site}/#there")).loader == ""


@pytest.mark.parametrize(("path", "reason"), [("empty", "net::ERR_ABORTED"), ("file", "download")])
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
    assert failed.value.reason in ("stopped", "net::ERR_ABORTED")


async def test_a_timeout_says_why(new_page: NewPage, site: str) -> None:
    page = await new_page()
    await page.navigate(f"{site}/")
    with pytest.raises(NavigationTimedOut, match="the server has not answered"):
        await page.navigate(f"{site}/slow", timeout=1.0)
    await page.send("Page.stopLoading")
    assert (await page.navigate(f"{site}/", timeout=20.0)).phase == "complete"
