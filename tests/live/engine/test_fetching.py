"""Claims on Fetch against Chromium: sharing, authentication, refusals (facts 81, 82)."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any

import pytest
import trio

from cdp_core import BrowserSession, PageSession, open_browser_session
from cdp_core.errors import CommandRefused, InvalidArgument
from support.http_stream import read_request

pytestmark = pytest.mark.chromium

Evaluate = Callable[..., Awaitable[Any]]
NewPage = Callable[..., Awaitable[PageSession]]
Pages = Callable[..., str]
EVERY = [{"urlPattern": "*/asked"}, {"urlPattern": "*/secret"}]
FETCHED = "fetch('/asked').then(response => response.text(), () => 'failed')"


@pytest.fixture
async def browser(shared_chromium: Any) -> AsyncIterator[BrowserSession]:
    """One way to connect is enough for these tests."""
    async with open_browser_session(shared_chromium.url) as link:
        yield link


def text(body: str) -> dict[str, Any]:
    return {"responseCode": 200, "body": base64.b64encode(body.encode()).decode()}


async def answer_all(claim: Any, seen: list[str], name: str, answer: Any = None) -> None:
    """Note each request of a claim, and answer it or pass it on."""
    async for paused in claim:
        seen.append(f"{name}: {paused.params['request']['url'].rpartition('/')[2]}")
        if answer is None:
            paused.pass_on()
        else:
            await paused.answer("Fetch.fulfillRequest", answer)


async def test_a_request_is_paused_on_the_page_first_then_on_the_root(
    browser: BrowserSession, new_page: NewPage, evaluate: Evaluate
) -> None:
    page = await new_page("<title>shop</title>")
    seen: list[str] = []
    # A claim on the root counts for a document's requests from the next document on, or from a claim on its page on.
    async with (
        browser.claim_fetch(patterns=[{"urlPattern": "*/asked"}]) as on_root,
        page.claim_fetch(patterns=EVERY) as on_page,
        page.claim_fetch(patterns=EVERY) as second,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(answer_all, on_page, seen, "first")
        nursery.start_soon(answer_all, second, seen, "second")
        nursery.start_soon(answer_all, on_root, seen, "root", text("by the root"))
        assert await evaluate(page, FETCHED) == "by the root"
        nursery.cancel_scope.cancel()
    assert seen == ["first: asked", "second: asked", "root: asked"]
    assert await evaluate(page, FETCHED) != "by the root"


async def test_a_claim_that_ends_leaves_no_request_paused(new_page: NewPage, evaluate: Evaluate) -> None:
    page = await new_page("<title>shop</title>")
    async with trio.open_nursery() as nursery, page.claim_fetch(patterns=EVERY) as claim:
        nursery.start_soon(evaluate, page, FETCHED)
        await claim.receive()
    assert await evaluate(page, "1 + 1") == 2


async def test_a_refused_answer_leaves_the_request_with_its_claim(new_page: NewPage, evaluate: Evaluate) -> None:
    page = await new_page("<title>shop</title>")
    found: list[Any] = []

    async def ask() -> None:
        found.append(await evaluate(page, FETCHED))

    async with page.claim_fetch(patterns=EVERY) as claim, trio.open_nursery() as nursery:
        nursery.start_soon(ask)
        paused = await claim.receive()
        with pytest.raises(CommandRefused):
            await paused.answer("Fetch.fulfillRequest", {"responseCode": 200, "body": "no base 64!"})
        await paused.answer("Fetch.fulfillRequest", text("second try"))
        with pytest.raises(InvalidArgument, match="holds no request"):
            await paused.answer("Fetch.fulfillRequest", text("third"))
    assert found == ["second try"]


async def test_a_request_whose_body_was_taken_does_not_stay_paused(new_page: NewPage, evaluate: Evaluate) -> None:
    page = await new_page("<title>shop</title>")
    found: list[Any] = []

    async def ask() -> None:
        found.append(await evaluate(page, FETCHED))

    async with (
        page.claim_fetch(patterns=[{"urlPattern": "*/asked", "requestStage": "Response"}]) as claim,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(ask)
        paused = await claim.receive()
        await page.send("Fetch.takeResponseBodyAsStream", {"requestId": paused.params["requestId"]})
        paused.pass_on()
    assert found == ["failed"]


async def test_a_navigation_away_ends_a_request_without_an_event_and_its_answer_is_refused(
    new_page: NewPage, pages: Pages
) -> None:
    page = await new_page("<title>shop</title>")
    async with page.claim_fetch(patterns=[{"urlPattern": "*slow*"}]) as claim:
        page.send_nowait("Page.navigate", {"url": pages("slow")}).on_end()
        paused = await claim.receive()
        await page.send("Page.navigate", {"url": pages("<title>other</title>")})
        with pytest.raises(CommandRefused, match="Invalid InterceptionId"):
            await paused.answer("Fetch.failRequest", {"errorReason": "Failed"})


@pytest.mark.parametrize(
    ("pattern", "paused"), [("a?ked", True), ("aske??", True), ("aske???", True), (r"aske\?", False), ("as*", True)]
)
async def test_a_pattern_matches_as_the_arbiter_does(
    new_page: NewPage, evaluate: Evaluate, pattern: str, paused: bool
) -> None:
    """A claim gets exactly the requests that the browser pauses for its pattern (fact 91)."""
    page = await new_page("<title>shop</title>")
    async with page.claim_fetch(patterns=[{"urlPattern": f"*/{pattern}"}]) as claim, trio.open_nursery() as nursery:
        seen: list[str] = []
        nursery.start_soon(answer_all, claim, seen, "claim", text("paused"))
        assert (await evaluate(page, FETCHED) == "paused") is paused
        nursery.cancel_scope.cancel()
    assert page.statistics().closed is None


# ── authentication ───────────────────────────────────────────────────────────────────────────────────────────────────


async def serve_secret(stream: trio.SocketStream) -> None:
    """Answer one request: 401 without credentials, 200 with some."""
    request = await read_request(stream)
    if not request:
        return
    if b"authorization: basic" in request.lower():
        head, body = b"HTTP/1.1 200 OK", b"<title>secret</title>"
    else:
        head, body = b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=shop", b"<title>who?</title>"
    await stream.send_all(
        b"%s\r\nContent-Type: text/html\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (head, len(body), body)
    )


async def test_a_challenge_goes_to_a_claim_with_auth_and_otherwise_to_the_browser(
    new_page: NewPage, evaluate: Evaluate
) -> None:
    page = await new_page("<title>shop</title>")
    async with trio.open_nursery() as nursery:
        serve = partial(trio.serve_tcp, serve_secret, 0, host="127.0.0.1")
        [listener] = await nursery.start(serve)
        port = listener.socket.getsockname()[1]
        url = f"http://127.0.0.1:{port}/secret"
        seen: list[str] = []
        async with (
            page.enabled("Page"),
            page.claim_fetch(patterns=EVERY) as plain,
            page.claim_fetch(patterns=EVERY, auth=True) as claim,
            trio.open_nursery() as answering,
        ):
            await page.send("Page.enable")
            answering.start_soon(answer_all, plain, seen, "plain")
            for response, title in (("Default", ""), ("ProvideCredentials", "secret")):
                with page.expect("Page.loadEventFired") as loaded:
                    page.send_nowait("Page.navigate", {"url": url}).on_end()
                    while not (paused := await claim.receive()).is_challenge:
                        paused.pass_on()
                    challenge = {"response": response}
                    if title:
                        challenge |= {"username": "u", "password": "p"}
                    await paused.answer("Fetch.continueWithAuth", {"authChallengeResponse": challenge})
                    await loaded.wait()
                assert await evaluate(page, "document.title") == title
            answering.cancel_scope.cancel()
        nursery.cancel_scope.cancel()
