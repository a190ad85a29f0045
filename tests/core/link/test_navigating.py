"""`PageSession.navigate` on the fake: how far a document has loaded, how a navigation fails."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
import trio.testing

from cdp_core import InvalidArgument, NavigationFailed, NavigationTimedOut, PageSession, open_browser_session
from cdp_core.testing import FakeBrowser, Script
from cdp_core.testing.steps import AddFrame
from cdp_core.testing.transport import FakeTransport

SHOP = "https://shop.example/"


@asynccontextmanager
async def page_of(fake: FakeBrowser) -> AsyncIterator[PageSession]:
    async with open_browser_session(FakeTransport(fake)) as browser:
        [target] = await browser.targets.list()
        yield await browser.targets.attach(target.target_id)


def shop() -> FakeBrowser:
    return FakeBrowser(Script(pages={SHOP: (AddFrame("news", f"{SHOP}news"), AddFrame("pay", "https://pay.example/"))}))


@pytest.mark.parametrize("until", ["loading", "interactive", "complete"])
async def test_a_navigation_waits_until_the_document_has_loaded_so_far(autojump_clock: Any, until: Any) -> None:
    async with page_of(shop()) as page:
        load = await page.navigate(SHOP, until=until)
        assert load.loader
        assert load.phase in {"loading": ("loading", "interactive", "complete")}.get(until, (until, "complete"))
        again = await page.navigate(f"{SHOP}other", until=until)
        assert again.loader != load.loader


async def test_a_navigation_waits_until_the_network_is_idle(autojump_clock: Any) -> None:
    async with page_of(shop()) as page:
        load = await page.navigate(SHOP, until="network_idle")
        assert load.network_idle


async def test_a_navigation_within_the_document_has_no_load_state(autojump_clock: Any) -> None:
    async with page_of(shop()) as page:
        await page.navigate(SHOP)
        assert (await page.navigate(f"{SHOP}#there")).loader == ""


async def failure_of(page: PageSession, meanwhile: Callable[[], Awaitable[None]]) -> NavigationFailed:
    """Navigate to the shop while this function runs, and return the error."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(meanwhile)
        with pytest.raises(NavigationFailed) as failed:
            await page.navigate(SHOP)
    return failed.value


async def test_a_navigation_that_the_network_refuses_raises_its_error(autojump_clock: Any) -> None:
    async with page_of(shop()) as page, page.claim_fetch(patterns=[{"urlPattern": "*"}]) as claim:

        async def refuse() -> None:
            paused = await claim.receive()
            await paused.answer("Fetch.failRequest", {"errorReason": "ConnectionRefused"})

        failure = await failure_of(page, refuse)
        assert "ERR_CONNECTION_REFUSED" in str(failure)
        assert failure.reason == "net::ERR_CONNECTION_REFUSED"


async def test_a_navigation_that_is_stopped_raises_and_is_not_waited_for(autojump_clock: Any) -> None:
    async with page_of(shop()) as page, page.claim_fetch(patterns=[{"urlPattern": "*"}]) as claim:

        async def stop() -> None:
            await claim.receive()
            await page.send("Page.stopLoading")

        assert (await failure_of(page, stop)).reason in ("stopped", "net::ERR_ABORTED")


async def test_a_navigation_that_another_one_replaces_raises(autojump_clock: Any) -> None:
    async with page_of(shop()) as page, page.claim_fetch(patterns=[{"urlPattern": "*"}]) as claim:

        async def replace() -> None:
            await claim.receive()
            page.send_nowait("Page.navigate", {"url": f"{SHOP}other"}).on_end()
            (await claim.receive()).pass_on()

        assert (await failure_of(page, replace)).reason in ("superseded", "net::ERR_ABORTED")


async def test_a_timeout_says_that_the_navigation_is_in_flight(autojump_clock: Any) -> None:
    async with page_of(shop()) as page, page.claim_fetch(patterns=[{"urlPattern": "*"}]) as claim:
        async with trio.open_nursery() as nursery:
            with pytest.raises(
                NavigationTimedOut, match=r"has not reached .complete. within 2 s: the server has not answered"
            ):
                await page.navigate(SHOP, timeout=2.0)
            (await claim.receive()).pass_on()
            nursery.cancel_scope.cancel()
        with pytest.raises(TimeoutError):
            await page.navigate(SHOP, timeout=2.0)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"until": "loaded"}, "until must be one of loading, interactive, complete, network_idle, not 'loaded'"),
        ({"timeout": -1}, "timeout must be"),
        ({"timeout": "soon"}, "timeout must be"),
    ],
)
async def test_a_wrong_option_is_refused_and_nothing_is_sent(options: Any, why: str) -> None:
    fake = shop()
    async with page_of(fake) as page:
        with pytest.raises(InvalidArgument, match=why):
            await page.navigate(SHOP, **options)
        assert not any(each.method == "Page.navigate" for each in fake.commands)


# ── orders of events ─────────────────────────────────────────────────────────────────────────────────────────────────


async def test_the_commit_of_an_earlier_navigation_supersedes_nothing(peer: Any) -> None:
    """Its events are queued before the reply to ours."""
    peer.rules["Page.enable"] = peer.rules["Page.disable"] = peer.reply
    async with peer.open() as browser:
        page = await page_on(peer, browser)
        async with trio.open_nursery() as nursery:

            @nursery.start_soon
            async def navigate() -> None:
                assert (await page.navigate(SHOP, until="loading")).loader == "ours"

            command = await peer.wait_for_command("Page.navigate")
            peer.event("Page.frameNavigated", frame(page, "old"), page.session_id)
            peer.event("Page.frameStartedNavigating", started(page), page.session_id)
            peer.reply(command, {"loaderId": "ours"})
            await trio.testing.wait_all_tasks_blocked()
            peer.event("Page.frameNavigated", frame(page, "ours"), page.session_id)


async def test_a_page_whose_domain_is_not_enabled_is_named_as_blocked(peer: Any, autojump_clock: Any) -> None:
    async with peer.open() as browser:
        page = await page_on(peer, browser)
        with pytest.raises(NavigationTimedOut, match=r"Page\.enable is not answered; a dialog, a script or an earlier"):
            await page.navigate(SHOP, timeout=2.0)


async def page_on(peer: Any, browser: Any) -> PageSession:
    """Return a session that the scripted browser announced."""
    peer.attached("S1")
    await trio.testing.wait_all_tasks_blocked()
    session: PageSession = browser.sessions["S1"]
    return session


def started(page: PageSession) -> Any:
    return {"frameId": page.target_id, "loaderId": "ours", "navigationType": "differentDocument", "url": SHOP}


def frame(page: PageSession, loader: str) -> Any:
    return {"frame": {"id": page.target_id, "loaderId": loader}}
