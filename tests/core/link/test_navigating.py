"""`PageSession.navigate` on the fake: how far a document has loaded, how a navigation fails."""

from __future__ import annotations

import copy
import gc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
import trio.testing

from cdp_core import (
    CommandRefused,
    ConnectionLost,
    InvalidArgument,
    LocalProtocolError,
    NavigationBlocked,
    NavigationFailed,
    NavigationTimedOut,
    PageSession,
    SessionGone,
    TargetCrashed,
    open_browser_session,
)
from cdp_core.testing import FakeBrowser, Script
from cdp_core.testing.steps import AddFrame, Crash
from cdp_core.testing.transport import FakeTransport

SHOP = "https://shop.example/"


@asynccontextmanager
async def page_of(fake: FakeBrowser) -> AsyncIterator[PageSession]:
    async with open_browser_session(FakeTransport(fake)) as browser:
        [target] = await browser.targets.list()
        yield await browser.targets.attach(target.target_id)


def shop() -> FakeBrowser:
    return FakeBrowser(Script(pages={SHOP: (AddFrame("news", f"{SHOP}news"), AddFrame("pay", "https://pay.example/"))}))


@pytest.mark.parametrize("wait_until", ["commit", "domcontentloaded", "load", "networkidle"])
async def test_a_navigation_waits_until_the_document_has_loaded_so_far(autojump_clock: Any, wait_until: Any) -> None:
    fake = shop()
    async with page_of(fake) as page:
        first = await page.navigate(SHOP, wait_until=wait_until)
        assert first.loader_id
        assert not first.same_document
        again = await page.navigate(f"{SHOP}other", wait_until=wait_until)
        assert again.loader_id != first.loader_id
        assert page.statistics().leases == {}
        await page.send("Runtime.evaluate", {"expression": "1"})
        sent = [command.method for command in fake.commands]
        assert sent.count("Page.enable") == sent.count("Page.disable") == 2


async def test_a_navigation_within_the_document_returns_at_once(autojump_clock: Any) -> None:
    async with page_of(shop()) as page:
        await page.navigate(SHOP)
        found = await page.navigate(f"{SHOP}#there")
        assert (found.loader_id, found.same_document, found.status) == ("", True, None)


@pytest.mark.parametrize("state", ["commit", "domcontentloaded", "load", "networkidle"])
async def test_a_document_that_has_loaded_is_not_waited_for(autojump_clock: Any, state: Any) -> None:
    async with page_of(shop()) as page:
        await page.navigate(SHOP, wait_until="networkidle")
        await page.wait_for_load_state(state)
        assert page.statistics().leases == {}


async def test_a_document_that_loads_is_waited_for(autojump_clock: Any) -> None:
    async with page_of(shop()) as page:
        await page.navigate(SHOP, wait_until="commit")
        await page.wait_for_load_state("networkidle")


async def test_a_domain_that_the_embedder_enabled_stays_enabled(autojump_clock: Any) -> None:
    fake = shop()
    async with page_of(fake) as page:
        await page.send("Page.enable")
        await page.navigate(SHOP)
        assert "Page.disable" not in [command.method for command in fake.commands]
        with page.expect("Page.loadEventFired") as loaded:
            await page.send("Page.navigate", {"url": f"{SHOP}other"})
            await loaded.wait()


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

        assert (await failure_of(page, stop)).reason == "stopped"


async def test_a_navigation_that_another_one_replaces_raises(autojump_clock: Any) -> None:
    async with page_of(shop()) as page, page.claim_fetch(patterns=[{"urlPattern": "*"}]) as claim:

        async def replace() -> None:
            await claim.receive()
            page.send_nowait("Page.navigate", {"url": f"{SHOP}other"}).on_end()
            (await claim.receive()).pass_on()

        assert (await failure_of(page, replace)).reason == "superseded"


async def test_a_timeout_says_that_the_navigation_is_in_flight(autojump_clock: Any) -> None:
    async with page_of(shop()) as page, page.claim_fetch(patterns=[{"urlPattern": "*"}]) as claim:
        async with trio.open_nursery() as nursery:
            with pytest.raises(
                NavigationTimedOut, match=r"has not reached .load. within 2 s: the server has not answered"
            ):
                await page.navigate(SHOP, timeout=2.0)
            (await claim.receive()).pass_on()
            nursery.cancel_scope.cancel()
        with pytest.raises(TimeoutError):
            await page.navigate(SHOP, timeout=2.0)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (
            {"wait_until": "loaded"},
            "wait_until must be one of load, domcontentloaded, commit, networkidle, not 'loaded'",
        ),
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
    answer_leases(peer)
    async with peer.open() as browser:
        page = await page_on(peer, browser)
        async with trio.open_nursery() as nursery:

            @nursery.start_soon
            async def navigate() -> None:
                assert (await page.navigate(SHOP, wait_until="commit")).loader_id == "ours"

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


# ── dialogs ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def dialog(peer: Any, page: PageSession, kind: str = "alert") -> None:
    peer.event("Page.javascriptDialogOpening", {"type": kind, "message": "", "url": SHOP}, page.session_id)


def closed(peer: Any, page: PageSession) -> None:
    peer.event("Page.javascriptDialogClosed", {"result": True, "userInput": ""}, page.session_id)


def loads(peer: Any, page: PageSession) -> None:
    for method, params in (("Page.frameNavigated", frame(page, "ours")), ("Page.loadEventFired", {"timestamp": 1.0})):
        peer.event(method, params, page.session_id)


async def test_a_dialog_blocks_the_call_and_the_navigation_goes_on(peer: Any) -> None:
    answer_leases(peer)
    async with peer.open() as browser:
        page = await page_on(peer, browser)
        peer.rules["Page.navigate"] = lambda _command: dialog(peer, page, "beforeunload")
        with pytest.raises(
            NavigationBlocked, match=r"a dialog \(beforeunload\) of the page that is left is open"
        ) as blocked:
            await page.navigate(SHOP)
        assert (blocked.value.type, blocked.value.phase) == ("beforeunload", "leaving")
        closed(peer, page)
        peer.event("Page.frameStartedNavigating", started(page), page.session_id)
        peer.reply(peer.of("Page.navigate")[0], {"loaderId": "ours"})
        peer.event("Page.frameNavigated", frame(page, "ours"), page.session_id)
        dialog(peer, page)
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(NavigationBlocked, match=r"\(alert\) of the page that is loading") as again:
            await blocked.value.wait()
        assert again.value.phase == "loading"
        closed(peer, page)
        loads(peer, page)
        await trio.testing.wait_all_tasks_blocked()
        assert (await again.value.wait()).loader_id == "ours"
        assert page.statistics().leases == {}
        assert len(peer.of("Page.navigate")) == 1


async def test_a_wait_after_a_dialog_may_time_out_and_be_repeated(peer: Any, autojump_clock: Any) -> None:
    answer_leases(peer)
    async with peer.open() as browser:
        page = await page_on(peer, browser)
        peer.rules["Page.navigate"] = lambda _command: dialog(peer, page, "beforeunload")
        with pytest.raises(NavigationBlocked) as blocked:
            await page.navigate(SHOP)
        closed(peer, page)
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(NavigationTimedOut, match="the server has not answered"):
            await blocked.value.wait(timeout=1.0)
        with pytest.raises(InvalidArgument, match="timeout must be"):
            await blocked.value.wait(timeout=-1)
        peer.reply(peer.of("Page.navigate")[0], {"loaderId": "ours"})
        loads(peer, page)
        assert (await blocked.value.wait()).url == SHOP


async def test_a_blocked_navigation_that_is_forgotten_gives_its_leases_back(peer: Any) -> None:
    answer_leases(peer)
    async with peer.open() as browser:
        page = await page_on(peer, browser)
        peer.rules["Page.navigate"] = lambda _command: dialog(peer, page)
        try:
            await page.navigate(SHOP)
        except NavigationBlocked as error:
            copied = copy.copy(error)
        assert page.statistics().leases
        closed(peer, page)
        gc.collect()
        await trio.testing.wait_all_tasks_blocked()
        assert page.statistics().leases == {}
        with pytest.raises(LocalProtocolError, match="cannot wait; call wait"):
            await copied.wait()


async def test_a_dialog_that_is_closed_at_once_blocks_nothing(peer: Any) -> None:
    answer_leases(peer)
    async with peer.open() as browser:
        page = await page_on(peer, browser)

        def answer(command: Any) -> None:
            dialog(peer, page)
            closed(peer, page)
            peer.reply(command, {"loaderId": "ours"})
            loads(peer, page)

        peer.rules["Page.navigate"] = answer
        assert (await page.navigate(SHOP)).loader_id == "ours"


# ── ends ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("end", ["crash", "session", "link"])
@pytest.mark.parametrize("answered", [False, True])
async def test_what_ends_the_page_ends_the_navigation(peer: Any, end: str, answered: bool) -> None:
    answer_leases(peer)

    async def stop() -> None:
        if end == "crash":
            peer.event("Inspector.targetCrashed", {}, "S1")
        elif end == "session":
            peer.detached("S1")
        else:
            await peer.hang_up()

    async with peer.open() as browser:
        page = await page_on(peer, browser)
        async with trio.open_nursery() as nursery:

            @nursery.start_soon
            async def navigate() -> None:
                with pytest.raises({"crash": TargetCrashed, "session": SessionGone, "link": ConnectionLost}[end]):
                    await page.navigate(SHOP)

            command = await peer.wait_for_command("Page.navigate")
            if answered:
                peer.reply(command, {"loaderId": "ours"})
            await trio.testing.wait_all_tasks_blocked()
            await stop()


async def test_a_refused_navigation_raises_the_refusal(peer: Any) -> None:
    answer_leases(peer)
    peer.rules["Page.navigate"] = lambda command: peer.refuse(command, -32000, "Cannot navigate to invalid URL")
    async with peer.open() as browser:
        page = await page_on(peer, browser)
        with pytest.raises(CommandRefused, match="invalid URL"):
            await page.navigate("no address")
        with pytest.raises(InvalidArgument, match="url must be a string such as"):
            await page.navigate(b"bytes")  # type: ignore[arg-type]
        assert page.statistics().leases == {}


async def test_a_browser_without_the_network_domain_gives_no_status(peer: Any) -> None:
    answer_leases(peer)
    peer.rules["Network.enable"] = lambda command: peer.refuse(command, -32601, "'Network.enable' wasn't found")
    async with peer.open() as browser:
        page = await page_on(peer, browser)

        def answer(command: Any) -> None:
            peer.reply(command, {"loaderId": "ours"})
            loads(peer, page)

        peer.rules["Page.navigate"] = answer
        assert (await page.navigate(SHOP)).status is None
        peer.rules["Page.enable"] = lambda command: peer.refuse(command, -32601, "'Page.enable' wasn't found")
        with pytest.raises(CommandRefused, match=r"Page\.enable"):
            await page.navigate(SHOP)


async def test_a_cancelled_navigation_stops_nothing_in_the_browser(peer: Any) -> None:
    answer_leases(peer)
    async with peer.open() as browser:
        page = await page_on(peer, browser)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(page.navigate, SHOP)
            command = await peer.wait_for_command("Page.navigate")
            nursery.cancel_scope.cancel()
        peer.refuse(command, -32000, "late")
        await trio.testing.wait_all_tasks_blocked()
        assert not peer.of("Page.stopLoading")
        assert page.statistics().leases == {}
        assert browser.statistics().router.late_replies == 1


async def test_a_crashed_page_is_brought_back_by_a_navigation(autojump_clock: Any) -> None:
    fake = shop()
    async with page_of(fake) as page:
        with page.expect("Inspector.targetCrashed") as crashed:
            fake.play(Crash())
            await crashed.wait()
        assert (await page.navigate(SHOP)).loader_id
        async with page.enabled("Page"):
            assert page.statistics().leases == {"Page": 1}


def answer_leases(peer: Any) -> None:
    for domain in ("Page", "Network"):
        peer.rules[f"{domain}.enable"] = peer.rules[f"{domain}.disable"] = peer.reply
    peer.rules["Page.setLifecycleEventsEnabled"] = peer.reply


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
