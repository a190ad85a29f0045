"""Domains are enabled with the first holder and disabled with the last, and `Page` never under an open dialog."""

from __future__ import annotations

import random
from contextlib import AsyncExitStack
from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock, assert_checkpoints, wait_all_tasks_blocked

from cdp_core import ConnectionLost, InvalidArgument, PageSession, SessionGone, SessionId
from support.scripted_browser import ScriptedBrowser


async def page_of(peer: Any, browser: Any, session: str = "S1") -> PageSession:
    peer.attached(session)
    await wait_all_tasks_blocked()
    page = browser.sessions[SessionId(session)]
    assert isinstance(page, PageSession)
    return page


async def heard(peer: Any) -> list[str]:
    """What was sent so far; several that wait go out in one write, a turn later."""
    await wait_all_tasks_blocked()
    methods: list[str] = peer.methods()
    return methods


def opening(peer: Any) -> None:
    peer.event("Page.javascriptDialogOpening", {"type": "alert"}, "S1")


def closed(peer: Any) -> None:
    peer.event("Page.javascriptDialogClosed", {"result": True}, "S1")


async def test_enable_at_the_first_disable_at_the_last(peer: Any) -> None:
    async with peer.open() as browser:
        page = await page_of(peer, browser)
        async with page.enabled("Page", "Runtime"):
            assert await heard(peer) == ["Page.enable", "Runtime.enable"]
            async with page.enabled("Runtime", "Network"):
                assert page.statistics().leases == {"Page": 1, "Runtime": 2, "Network": 1}
                assert (await heard(peer))[2:] == ["Network.enable"]
            assert (await heard(peer))[3:] == ["Network.disable"]
        assert (await heard(peer))[4:] == ["Runtime.disable", "Page.disable"]
        assert page.statistics().leases == {}
        assert all(command["sessionId"] == "S1" for command in peer.commands)


async def test_leases_of_two_sessions_are_two(peer: Any) -> None:
    async with peer.open() as browser:
        one, two = await page_of(peer, browser), await page_of(peer, browser, "S2")
        async with one.enabled("Page"), two.enabled("Page"):
            assert [command["sessionId"] for command in peer.of("Page.enable")] == ["S1", "S2"]


async def test_neither_is_waited_for(peer: Any, autojump_clock: MockClock) -> None:
    """A page that a dialog blocks answers to nothing (fact 15)."""
    async with peer.open() as browser:
        page = await page_of(peer, browser)
        start = trio.current_time()
        lease = page.enabled("Runtime")
        with assert_checkpoints():
            await lease.__aenter__()
        await lease.__aexit__(None, None, None)
        assert trio.current_time() == start


async def test_a_body_that_fails_gives_its_lease_back(peer: Any) -> None:
    async with peer.open() as browser:
        page = await page_of(peer, browser)
        with pytest.raises(KeyError):
            async with page.enabled("Runtime"):
                raise KeyError
        with trio.CancelScope() as scope:
            async with page.enabled("Runtime"):
                scope.cancel()
                await trio.sleep_forever()
        assert await heard(peer) == ["Runtime.enable", "Runtime.disable"] * 2


async def test_a_holder_that_was_cancelled_before_takes_nothing(peer: Any) -> None:
    async with peer.open() as browser:
        page = await page_of(peer, browser)
        with trio.CancelScope() as scope:
            scope.cancel()
            async with page.enabled("Runtime"):
                pass
        assert not peer.commands


@pytest.mark.parametrize("domain", ["", "Page.enable", "a b", "1x", "page", "Pagé", " Page", 5, None])
async def test_what_is_no_domain(peer: Any, domain: Any) -> None:
    async with peer.open() as browser:
        page = await page_of(peer, browser)
        with pytest.raises(InvalidArgument):
            async with page.enabled("Page", domain):
                pass
        with pytest.raises(InvalidArgument):
            page.lease(domain)
        with pytest.raises(InvalidArgument, match="Name the domains"):
            page.lease()
        with pytest.raises(InvalidArgument, match="Name the domains"):
            async with page.enabled():
                raise AssertionError
        assert not peer.commands


async def test_a_session_that_ends_under_a_lease(peer: Any) -> None:
    async with peer.open() as browser:
        page = await page_of(peer, browser)
        async with page.enabled("Page", "Runtime"):
            opening(peer)
            peer.detached("S1")
            await wait_all_tasks_blocked()
        assert await heard(peer) == ["Page.enable", "Runtime.enable"]
        for domain in ("Page", "Runtime"):
            with pytest.raises(SessionGone):
                async with page.enabled(domain):
                    pass
        async with browser.enabled("Fetch"):
            await peer.hang_up()
            await browser.wait_closed()
        with pytest.raises(ConnectionLost):
            async with browser.enabled("Fetch"):
                pass


async def test_a_domain_that_cannot_be_taken_gives_the_others_back(peer: Any) -> None:
    """Too much waits to be written: the second enable is refused, and the first is taken back."""
    async with peer.open() as browser:
        page = await page_of(peer, browser)
        fails: Any = page.send_nowait

        def send_nowait(command: str, *params: Any) -> Any:
            if command == "Network.enable":
                raise RuntimeError
            return fails(command, *params)

        page.send_nowait = send_nowait  # type: ignore[method-assign]
        with pytest.raises(RuntimeError):
            async with page.enabled("Runtime", "Network"):
                pass
        assert await heard(peer) == ["Runtime.enable", "Runtime.disable"]
        assert page.statistics().leases == {}


# ── a process that is gone (facts 49, 55) ────────────────────────────────────────────────────────────────────────────


GONE_SAYINGS = ["Target crashed", "Inspected target navigated or closed"]


@pytest.mark.parametrize("said", GONE_SAYINGS)
async def test_what_a_process_did_not_do_is_asked_of_the_next(peer: Any, said: str) -> None:
    async with peer.open() as browser:
        page = await page_of(peer, browser)
        async with page.enabled("Runtime"):
            await heard(peer)
            peer.refuse(peer.of("Runtime.enable")[0], -32000, said)
            assert await heard(peer) == ["Runtime.enable", "Runtime.enable"]
            peer.reply(peer.of("Runtime.enable")[1])
            await wait_all_tasks_blocked()
        assert await heard(peer) == ["Runtime.enable", "Runtime.enable", "Runtime.disable"]
        assert browser.statistics().unobserved_refusals == 0


async def test_a_crash_takes_an_enable_that_was_on_its_way(peer: Any) -> None:
    async with peer.open() as browser:
        page = await page_of(peer, browser)
        async with page.enabled("Runtime"):
            await heard(peer)
            peer.event("Inspector.targetCrashed", {}, "S1")
            assert await heard(peer) == ["Runtime.enable", "Runtime.enable"]
            peer.refuse(peer.of("Runtime.enable")[1], -32000, "Target crashed")  # it was reloaded
            assert await heard(peer) == ["Runtime.enable"] * 3


async def test_who_holds_it_no_more_asks_no_more(peer: Any) -> None:
    async with peer.open() as browser:
        page = await page_of(peer, browser)
        async with page.enabled("Runtime"):
            await heard(peer)
        peer.refuse(peer.of("Runtime.enable")[0], -32000, "Target crashed")
        assert await heard(peer) == ["Runtime.enable", "Runtime.disable"]
        assert browser.statistics().unobserved_refusals == 1


async def test_a_peer_that_never_does_it_is_not_asked_for_ever(peer: Any, caplog: pytest.LogCaptureFixture) -> None:
    peer.rules["Runtime.enable"] = lambda command: peer.refuse(command, -32000, "Target crashed")
    async with peer.open() as browser:
        page = await page_of(peer, browser)
        async with page.enabled("Runtime"):
            assert await heard(peer) == ["Runtime.enable"] * 4
        assert browser.statistics().unobserved_refusals == 1
    assert "Runtime.enable on session S1 was refused (code -32000)" in caplog.text


async def test_any_other_refusal_is_told_once(peer: Any, caplog: pytest.LogCaptureFixture) -> None:
    peer.rules["Nothing.enable"] = lambda command: peer.refuse(command, -32601, "'Nothing.enable' wasn't found")
    async with peer.open() as browser:
        page = await page_of(peer, browser)
        async with page.enabled("Nothing"):
            assert await heard(peer) == ["Nothing.enable"]
        assert browser.statistics().unobserved_refusals == 1
    assert "Nothing.enable on session S1 was refused (code -32601)" in caplog.text


async def test_a_session_that_ends_as_it_is_asked_again(peer: Any) -> None:
    async with peer.open() as browser:
        page = await page_of(peer, browser)
        async with page.enabled("Runtime"):
            await heard(peer)
            peer.event("Inspector.targetCrashed", {}, "S1")
            peer.detached("S1")
            assert await heard(peer) == ["Runtime.enable", "Runtime.enable"]
        assert page.statistics().closed == "detached"
        assert browser.statistics().router.in_flight == 0


# ── Page and dialogs (fact 24) ───────────────────────────────────────────────────────────────────────────────────────


async def test_page_is_not_disabled_while_a_dialog_is_open(peer: Any) -> None:
    async with peer.open() as browser:
        page = await page_of(peer, browser)
        async with page.enabled("Page", "Runtime"):
            opening(peer)
            opening(peer)  # of a frame in another process: two at once (fact 3)
            await wait_all_tasks_blocked()
        assert (await heard(peer))[2:] == ["Runtime.disable"]
        closed(peer)
        await wait_all_tasks_blocked()
        assert not peer.of("Page.disable")
        closed(peer)
        await peer.wait_for_command("Page.disable")


async def test_who_comes_meanwhile_takes_over(peer: Any) -> None:
    async with peer.open() as browser:
        page = await page_of(peer, browser)
        async with page.enabled("Page"):
            opening(peer)
            await wait_all_tasks_blocked()
        async with page.enabled("Page"):
            closed(peer)
            await wait_all_tasks_blocked()
            assert await heard(peer) == ["Page.enable"]  # it was never disabled
        assert await heard(peer) == ["Page.enable", "Page.disable"]


async def test_a_closed_without_an_opening_is_normal(peer: Any) -> None:
    """A late attacher sees only the end (fact 18)."""
    async with peer.open() as browser:
        page = await page_of(peer, browser)
        async with page.enabled("Page"):
            closed(peer)
            opening(peer)
            closed(peer)
            closed(peer)
            await wait_all_tasks_blocked()
        assert await heard(peer) == ["Page.enable", "Page.disable"]


acts = st.lists(st.sampled_from(["take", "give", "open", "close"]), max_size=25)


@given(acts=acts, chance=st.random_module())
def test_enabled_exactly_while_held_or_a_dialog_is_open(acts: list[str], chance: random.Random) -> None:
    async def main() -> None:
        peer = ScriptedBrowser()
        async with peer.open() as browser, AsyncExitStack() as holders:
            page = await page_of(peer, browser)
            held: list[AsyncExitStack] = []
            on, dialogs, watching = False, 0, False
            for act in acts:
                if act == "take":
                    held.append(await holders.enter_async_context(AsyncExitStack()))
                    await held[-1].enter_async_context(page.enabled("Page"))
                    watching = True
                elif act == "give" and held:
                    await held.pop().aclose()
                elif act == "open" and watching and on:
                    opening(peer)
                    dialogs += 1
                elif act == "close" and dialogs:
                    closed(peer)
                    dialogs -= 1
                await wait_all_tasks_blocked()
                on = bool(held) or (on and dialogs > 0)
                told = [method for method in peer.methods() if method.startswith("Page.")]
                assert told == [("Page.enable", "Page.disable")[place % 2] for place in range(len(told))]
                assert (len(told) % 2 == 1) == on

    trio.run(main)
