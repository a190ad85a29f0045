"""Claims on Fetch over a link: shared, in order, and nothing stays paused."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
import trio.testing

from cdp_core import BrowserSession, PageSession, open_browser_session
from cdp_core.bindings import fetch
from cdp_core.errors import CommandRefused, ConnectionLost, InvalidArgument, SessionGone
from cdp_core.testing import FakeBrowser, Script
from cdp_core.testing.steps import Console, Request
from cdp_core.testing.transport import FakeTransport

SHOP = "https://shop.example/"
EVERY = [{"urlPattern": "*"}]
DOCUMENTS = [{"resourceType": "Document"}]


@asynccontextmanager
async def shop() -> AsyncIterator[tuple[BrowserSession, PageSession, FakeBrowser]]:
    """A page on a fake browser, and the log of the fake."""
    fake = FakeBrowser(Script(pages={SHOP: (Request(f"{SHOP}it"), Console("on"))}))
    async with open_browser_session(FakeTransport(fake)) as browser:
        [target] = await browser.targets.list()
        page = await browser.targets.attach(target.target_id)
        await page.send("Page.enable")
        yield browser, page, fake


def fetched(fake: FakeBrowser) -> list[tuple[str, Any]]:
    return [(each.method, each.params) for each in fake.commands if each.method.startswith("Fetch.")]


async def navigate(page: PageSession) -> None:
    """Navigate, and wait until the new document is there."""
    with page.expect("Page.frameNavigated") as committed:
        page.send_nowait("Page.navigate", {"url": SHOP}).on_end()
        await committed.wait()


async def test_a_claim_gets_its_requests_and_answers_them() -> None:
    async with shop() as (_browser, page, fake):
        async with page.claim_fetch(patterns=EVERY) as claim:
            page.send_nowait("Page.navigate", {"url": SHOP}).on_end()
            document = await claim.receive()
            assert document.params["request"]["url"] == SHOP
            assert not document.is_challenge
            await document.answer(fetch.continue_request(request_id=document.params["requestId"], method="GET"))
            async for paused in claim:
                await paused.answer("Fetch.fulfillRequest", {"responseCode": 204})
                break
        await trio.testing.wait_all_tasks_blocked()
        methods = [method for method, _params in fetched(fake)]
        assert methods[:3] == ["Fetch.enable", "Fetch.continueRequest", "Fetch.fulfillRequest"]
        assert methods[-1] == "Fetch.disable"
        assert fake.truth().paused_requests == ()


async def test_a_bare_continue_passes_a_request_to_the_next_claim() -> None:
    async with (
        shop() as (_browser, page, fake),
        page.claim_fetch(patterns=DOCUMENTS, name="first") as first,
        page.claim_fetch(patterns=EVERY, name="second") as second,
    ):
        page.send_nowait("Page.navigate", {"url": SHOP}).on_end()
        paused = await first.receive()
        await paused.answer("Fetch.continueRequest")
        assert (await second.receive()).params == paused.params
        with pytest.raises(InvalidArgument, match="holds no request"):
            await paused.answer("Fetch.failRequest", {"errorReason": "Failed"})
        paused.pass_on()
        assert [method for method, _params in fetched(fake)] == ["Fetch.enable", "Fetch.enable"]


async def test_the_end_of_a_claim_leaves_no_request_paused() -> None:
    async with shop() as (_browser, page, fake):
        async with page.claim_fetch(patterns=DOCUMENTS) as claim:
            page.send_nowait("Page.navigate", {"url": SHOP}).on_end()
            await claim.receive()
        with page.expect("Page.frameNavigated") as committed:
            await committed.wait()
        await trio.testing.wait_all_tasks_blocked()
        assert [method for method, _params in fetched(fake)][-2:] == ["Fetch.continueRequest", "Fetch.disable"]


async def test_a_request_that_no_claim_wants_goes_on_by_itself() -> None:
    async with shop() as (_browser, page, fake), page.claim_fetch(patterns=[{"urlPattern": "*/it"}]) as claim:
        async with page.claim_fetch(patterns=DOCUMENTS):
            pass
        await navigate(page)
        paused = await claim.receive()
        assert paused.params["request"]["url"] == f"{SHOP}it"
        assert fake.truth().paused_requests[0].url == f"{SHOP}it"


async def test_an_unanswered_request_is_continued_after_its_time_limit(
    autojump_clock: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async with shop() as (_browser, page, _fake), page.claim_fetch(patterns=DOCUMENTS, name="sleepy") as claim:
        with caplog.at_level(logging.WARNING, "cdp_core.fetching"):
            begun = trio.current_time()
            await navigate(page)
        assert trio.current_time() - begun == pytest.approx(10.0, abs=0.5)
        assert claim.expired_count == 1
        assert "the claim 'sleepy' left a request paused for 10 seconds" in caplog.text
        paused = await claim.receive()
        with pytest.raises(InvalidArgument, match="continued after its time limit"):
            await paused.answer("Fetch.continueRequest")


async def test_requests_beyond_the_capacity_are_passed_on() -> None:
    async with shop() as (_browser, page, _fake), page.claim_fetch(patterns=DOCUMENTS, capacity=1) as claim:
        for _ in range(2):
            page.send_nowait("Page.navigate", {"url": SHOP}).on_end()
            await trio.testing.wait_all_tasks_blocked()
        assert claim.overflow_count == 1


async def test_a_refused_answer_is_raised_and_the_request_is_still_held() -> None:
    async with shop() as (_browser, page, _fake), page.claim_fetch(patterns=DOCUMENTS) as claim:
        page.send_nowait("Page.navigate", {"url": SHOP}).on_end()
        paused = await claim.receive()
        with pytest.raises(CommandRefused):
            await paused.answer("Fetch.fulfillRequest", {"responseCode": 9_999_999})
        with page.expect("Page.frameNavigated") as committed:
            await paused.answer("Fetch.continueRequest")
            await committed.wait()


@pytest.mark.parametrize("on_root", [False, True])
async def test_on_a_session_with_a_claim_fetch_is_not_switched(on_root: bool) -> None:
    async with shop() as (browser, page, fake):
        session: Any = browser if on_root else page
        other: Any = page if on_root else browser
        async with session.claim_fetch(patterns=DOCUMENTS, name="bridge"):
            before = len(fetched(fake))
            for command in ("Fetch.enable", "Fetch.disable", fetch.enable(), fetch.disable()):
                with pytest.raises(InvalidArgument, match=r"\(bridge\); to intercept requests use claim_fetch"):
                    await session.send(command)
            with pytest.raises(InvalidArgument, match=r"use claim_fetch\(patterns=…\)"):
                async with session.enabled("Fetch"):
                    pass
            assert len(fetched(fake)) == before
            await other.send("Fetch.enable")
            await other.send("Fetch.disable")
        await session.send("Fetch.enable")


async def test_a_claim_beside_an_enabled_fetch_is_refused_until_that_ends() -> None:
    async with shop() as (_browser, page, _fake):
        for begin, end in ((lambda: page.send("Fetch.enable"), lambda: page.send("Fetch.disable")),):
            await begin()
            with pytest.raises(InvalidArgument, match=r"end that, then use claim_fetch\(patterns=…\)"):
                async with page.claim_fetch(patterns=EVERY):
                    pass
            await end()
        async with page.enabled("Fetch"):
            with pytest.raises(InvalidArgument, match=r"end that, then use claim_fetch\(patterns=…\)"):
                async with page.claim_fetch(patterns=EVERY):
                    pass
            await page.send("Fetch.disable")
            async with page.claim_fetch(patterns=EVERY):
                pass
        async with page.claim_fetch(patterns=EVERY):
            pass


async def test_a_lease_that_ends_beside_a_claim_disables_nothing() -> None:
    async with shop() as (_browser, page, fake):
        release = page.lease("Fetch")
        await page.send("Fetch.disable")
        async with page.claim_fetch(patterns=EVERY):
            release()
            assert fetched(fake)[-1][0] == "Fetch.enable"


async def test_a_refused_enable_of_other_code_does_not_forbid_a_claim() -> None:
    async with shop() as (_browser, page, _fake):
        with pytest.raises(CommandRefused):
            await page.send("Fetch.enable", {"patterns": 5})
        async with page.claim_fetch(patterns=EVERY):
            pass


@pytest.mark.parametrize(
    ("patterns", "why"),
    [([], "at least one pattern"), ([{"url": "*"}], "has no field 'url'"), (["*"], "must be a mapping")],
)
async def test_an_invalid_claim_is_refused_and_sends_nothing(patterns: Any, why: str) -> None:
    async with shop() as (_browser, page, fake):
        with pytest.raises(InvalidArgument, match=why):
            async with page.claim_fetch(patterns=patterns):
                pass
        assert fetched(fake) == []


async def test_a_claim_that_the_browser_refuses_raises_and_is_over() -> None:
    async with shop() as (_browser, page, _fake):
        with pytest.raises(CommandRefused):
            async with page.claim_fetch(patterns=[{"urlPattern": "*", "resourceType": "Nothing"}]):
                pass
        await page.send("Fetch.enable")


@pytest.mark.parametrize(("end", "error"), [("session", SessionGone), ("link", ConnectionLost)])
async def test_a_claim_ends_with_its_session_or_link(end: str, error: type[Exception]) -> None:
    async with shop() as (browser, page, fake):
        async with page.claim_fetch(patterns=EVERY) as claim:
            if end == "session":
                await page.detach()
            else:
                fake.cut()
                await browser.wait_closed()
            with pytest.raises(error):
                await claim.receive()
        with pytest.raises(error):
            page.claim_fetch(patterns=EVERY)
