"""Leases: a domain is enabled for its first holder and disabled after its last one.

`Page` is not disabled while a dialog is open.
"""

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


async def sent_methods(peer: Any) -> list[str]:
    """Return the methods sent so far; commands that wait together go out in one write, one pass later."""
    await wait_all_tasks_blocked()
    methods: list[str] = peer.methods()
    return methods


def opening(peer: Any) -> None:
    peer.event("Page.javascriptDialogOpening", {"type": "alert"}, "S1")


def closed(peer: Any) -> None:
    peer.event("Page.javascriptDialogClosed", {"result": True}, "S1")


async def test_a_domain_is_enabled_at_the_first_lease_and_disabled_after_the_last(peer: Any) -> None:
    async with peer.open() as browser:
        page = await page_of(peer, browser)
        async with page.enabled("Page", "Runtime"):
            assert await sent_methods(peer) == ["Page.enable", "Runtime.enable"]
            async with page.enabled("Runtime", "Network"):
                assert page.statistics().leases == {"Page": 1, "Runtime": 2, "Network": 1}
                assert (await sent_methods(peer))[2:] == ["Network.enable"]
            assert (await sent_methods(peer))[3:] == ["Network.disable"]
        assert (await sent_methods(peer))[4:] == ["Runtime.disable", "Page.disable"]
        assert page.statistics().leases == {}
        assert all(command["sessionId"] == "S1" for command in peer.commands)


async def test_leases_of_two_sessions_are_independent(peer: Any) -> None:
    async with peer.open() as browser:
        one, two = await page_of(peer, browser), await page_of(peer, browser, "S2")
        async with one.enabled("Page"), two.enabled("Page"):
            assert [command["sessionId"] for command in peer.of("Page.enable")] == ["S1", "S2"]


async def test_neither_enable_nor_disable_is_waited_for(peer: Any, autojump_clock: MockClock) -> None:
    """A page that a dialog blocks answers no command (fact 15)."""
    async with peer.open() as browser:
        page = await page_of(peer, browser)
        start = trio.current_time()
        lease = page.enabled("Runtime")
        with assert_checkpoints():
            await lease.__aenter__()
        await lease.__aexit__(None, None, None)
        assert trio.current_time() == start


async def test_a_body_that_fails_releases_its_lease(peer: Any) -> None:
    async with peer.open() as browser:
        page = await page_of(peer, browser)
        with pytest.raises(KeyError):
            async with page.enabled("Runtime"):
                raise KeyError
        with trio.CancelScope() as scope:
            async with page.enabled("Runtime"):
                scope.cancel()
                await trio.sleep_forever()
        assert await sent_methods(peer) == ["Runtime.enable", "Runtime.disable"] * 2


async def test_a_holder_that_is_already_cancelled_sends_nothing(peer: Any) -> None:
    async with peer.open() as browser:
        page = await page_of(peer, browser)
        with trio.CancelScope() as scope:
            scope.cancel()
            async with page.enabled("Runtime"):
                pass
        assert not peer.commands


@pytest.mark.parametrize("domain", ["", "Page.enable", "a b", "1x", "page", "Pagé", " Page", 5, None])
async def test_an_invalid_domain_is_refused(peer: Any, domain: Any) -> None:
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


async def test_a_session_that_ends_under_a_lease_gets_no_more_commands(peer: Any) -> None:
    async with peer.open() as browser:
        page = await page_of(peer, browser)
        async with page.enabled("Page", "Runtime"):
            opening(peer)
            peer.detached("S1")
            await wait_all_tasks_blocked()
        assert await sent_methods(peer) == ["Page.enable", "Runtime.enable"]
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


async def test_a_domain_that_cannot_be_enabled_releases_the_others(peer: Any) -> None:
    """The second enable cannot be sent, as with a full outbox, so the first one is disabled again."""
    async with peer.open() as browser:
        page = await page_of(peer, browser)
        fails: Any = page.send_nowait

        def send_nowait(command: str, *params: Any, **options: Any) -> Any:
            if command == "Network.enable":
                raise RuntimeError
            return fails(command, *params, **options)

        page.send_nowait = send_nowait  # type: ignore[method-assign]
        with pytest.raises(RuntimeError):
            async with page.enabled("Runtime", "Network"):
                pass
        assert await sent_methods(peer) == ["Runtime.enable", "Runtime.disable"]
        assert page.statistics().leases == {}


# ── a renderer process that is gone (facts 49, 55) ───────────────────────────────────────────────────────────────────


GONE_MESSAGES = ["Target crashed", "Inspected target navigated or closed"]


@pytest.mark.parametrize("message", GONE_MESSAGES)
async def test_an_enable_that_a_gone_process_refused_is_sent_again(peer: Any, message: str) -> None:
    async with peer.open() as browser:
        page = await page_of(peer, browser)
        async with page.enabled("Runtime"):
            await sent_methods(peer)
            peer.refuse(peer.of("Runtime.enable")[0], -32000, message)
            assert await sent_methods(peer) == ["Runtime.enable", "Runtime.enable"]
            peer.reply(peer.of("Runtime.enable")[1])
            await wait_all_tasks_blocked()
        assert await sent_methods(peer) == ["Runtime.enable", "Runtime.enable", "Runtime.disable"]
        assert browser.statistics().unobserved_refusals == 0


async def test_an_enable_in_flight_at_a_crash_is_sent_again(peer: Any) -> None:
    async with peer.open() as browser:
        page = await page_of(peer, browser)
        async with page.enabled("Runtime"):
            await sent_methods(peer)
            peer.event("Inspector.targetCrashed", {}, "S1")
            assert await sent_methods(peer) == ["Runtime.enable", "Runtime.enable"]
            peer.refuse(peer.of("Runtime.enable")[1], -32000, "Target crashed")  # it was reloaded
            assert await sent_methods(peer) == ["Runtime.enable"] * 3


async def test_an_enable_without_a_holder_is_not_sent_again(peer: Any) -> None:
    async with peer.open() as browser:
        page = await page_of(peer, browser)
        async with page.enabled("Runtime"):
            await sent_methods(peer)
        peer.refuse(peer.of("Runtime.enable")[0], -32000, "Target crashed")
        assert await sent_methods(peer) == ["Runtime.enable", "Runtime.disable"]
        assert browser.statistics().unobserved_refusals == 1


async def test_an_enable_that_is_always_refused_is_sent_four_times(peer: Any, caplog: pytest.LogCaptureFixture) -> None:
    peer.rules["Runtime.enable"] = lambda command: peer.refuse(command, -32000, "Target crashed")
    async with peer.open() as browser:
        page = await page_of(peer, browser)
        async with page.enabled("Runtime"):
            assert await sent_methods(peer) == ["Runtime.enable"] * 4
        assert browser.statistics().unobserved_refusals == 1
    assert "Runtime.enable on session S1 was refused (code -32000)" in caplog.text


async def test_any_other_refusal_of_an_enable_is_logged_once(peer: Any, caplog: pytest.LogCaptureFixture) -> None:
    peer.rules["Nothing.enable"] = lambda command: peer.refuse(command, -32601, "'Nothing.enable' wasn't found")
    async with peer.open() as browser:
        page = await page_of(peer, browser)
        async with page.enabled("Nothing"):
            assert await sent_methods(peer) == ["Nothing.enable"]
        assert browser.statistics().unobserved_refusals == 1
    assert "Nothing.enable on session S1 was refused (code -32601)" in caplog.text


async def test_a_session_may_end_while_an_enable_is_sent_again(peer: Any) -> None:
    async with peer.open() as browser:
        page = await page_of(peer, browser)
        async with page.enabled("Runtime"):
            await sent_methods(peer)
            peer.event("Inspector.targetCrashed", {}, "S1")
            peer.detached("S1")
            assert await sent_methods(peer) == ["Runtime.enable", "Runtime.enable"]
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
        assert (await sent_methods(peer))[2:] == ["Runtime.disable"]
        closed(peer)
        await wait_all_tasks_blocked()
        assert not peer.of("Page.disable")
        closed(peer)
        await peer.wait_for_command("Page.disable")


async def test_a_new_holder_takes_over_a_postponed_disable(peer: Any) -> None:
    async with peer.open() as browser:
        page = await page_of(peer, browser)
        async with page.enabled("Page"):
            opening(peer)
            await wait_all_tasks_blocked()
        async with page.enabled("Page"):
            closed(peer)
            await wait_all_tasks_blocked()
            assert await sent_methods(peer) == ["Page.enable"]  # it was never disabled
        assert await sent_methods(peer) == ["Page.enable", "Page.disable"]


async def test_a_closed_event_without_an_opening_event_is_ignored(peer: Any) -> None:
    """A session that attached late sees only `Page.javascriptDialogClosed` (fact 18)."""
    async with peer.open() as browser:
        page = await page_of(peer, browser)
        async with page.enabled("Page"):
            closed(peer)
            opening(peer)
            closed(peer)
            closed(peer)
            await wait_all_tasks_blocked()
        assert await sent_methods(peer) == ["Page.enable", "Page.disable"]


acts = st.lists(st.sampled_from(["take", "give", "open", "close"]), max_size=25)


@given(acts=acts, chance=st.random_module())
def test_page_is_enabled_exactly_while_it_is_held_or_a_dialog_is_open(acts: list[str], chance: random.Random) -> None:
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
                page_commands = [method for method in peer.methods() if method.startswith("Page.")]
                assert page_commands == [
                    ("Page.enable", "Page.disable")[index % 2] for index in range(len(page_commands))
                ]
                assert (len(page_commands) % 2 == 1) == on

    trio.run(main)
