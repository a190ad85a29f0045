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

from cdp_core import (
    CdpError,
    CdpWarning,
    CommandRefused,
    ConnectionLost,
    InvalidArgument,
    PageSession,
    SessionGone,
    SessionId,
    TargetCrashed,
)
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
        async with page.enabled("Page", "Runtime", wait=0):
            assert await sent_methods(peer) == ["Page.enable", "Runtime.enable"]
            async with page.enabled("Runtime", "Network", wait=0):
                assert page.statistics().leases == {"Page": 1, "Runtime": 2, "Network": 1}
                assert (await sent_methods(peer))[2:] == ["Network.enable"]
            assert (await sent_methods(peer))[3:] == ["Network.disable"]
        assert (await sent_methods(peer))[4:] == ["Runtime.disable", "Page.disable"]
        assert page.statistics().leases == {}
        assert all(command["sessionId"] == "S1" for command in peer.commands)


async def test_leases_of_two_sessions_are_independent(peer: Any) -> None:
    async with peer.open() as browser:
        one, two = await page_of(peer, browser), await page_of(peer, browser, "S2")
        async with one.enabled("Page", wait=0), two.enabled("Page", wait=0):
            await wait_all_tasks_blocked()
            assert [command["sessionId"] for command in peer.of("Page.enable")] == ["S1", "S2"]


async def test_without_a_wait_neither_enable_nor_disable_is_waited_for(peer: Any, autojump_clock: MockClock) -> None:
    """A page that a dialog blocks answers no command (fact 15)."""
    async with peer.open() as browser:
        page = await page_of(peer, browser)
        start = trio.current_time()
        lease = page.enabled("Runtime", wait=0)
        with assert_checkpoints():
            await lease.__aenter__()
        await lease.__aexit__(None, None, None)
        assert trio.current_time() == start


async def test_a_body_that_fails_releases_its_lease(peer: Any) -> None:
    async with peer.open() as browser:
        page = await page_of(peer, browser)
        with pytest.raises(KeyError):
            async with page.enabled("Runtime", wait=0):
                raise KeyError
        with trio.CancelScope() as scope:
            async with page.enabled("Runtime", wait=0):
                scope.cancel()
                await trio.sleep_forever()
        assert await sent_methods(peer) == ["Runtime.enable", "Runtime.disable"] * 2


async def test_a_holder_that_is_already_cancelled_sends_nothing(peer: Any) -> None:
    async with peer.open() as browser:
        page = await page_of(peer, browser)
        with trio.CancelScope() as scope:
            scope.cancel()
            async with page.enabled("Runtime", wait=0):
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
        async with page.enabled("Page", "Runtime", wait=0):
            opening(peer)
            peer.detached("S1")
            await wait_all_tasks_blocked()
        assert await sent_methods(peer) == ["Page.enable", "Runtime.enable"]
        for domain in ("Page", "Runtime"):
            with pytest.raises(SessionGone):
                async with page.enabled(domain):
                    pass
        async with browser.enabled("Fetch", wait=0):
            await peer.hang_up()
            await browser.wait_closed()
        with pytest.raises(ConnectionLost):
            async with browser.enabled("Fetch", wait=0):
                pass


async def test_a_domain_that_cannot_be_enabled_releases_the_others(peer: Any) -> None:
    """The second enable cannot be sent, as with a full outbox, so the first one is disabled again."""
    async with peer.open() as browser:
        page = await page_of(peer, browser)
        starts: Any = page._start

        def fail(command: str, *params: Any, **options: Any) -> Any:
            if command == "Network.enable":
                raise RuntimeError
            return starts(command, *params, **options)

        page._start = fail  # type: ignore[method-assign]
        with pytest.raises(RuntimeError):
            async with page.enabled("Runtime", "Network", wait=0):
                pass
        assert await sent_methods(peer) == ["Runtime.enable", "Runtime.disable"]
        assert page.statistics().leases == {}


# ── the wait for the replies ─────────────────────────────────────────────────────────────────────────────────────────


async def test_the_block_begins_when_every_enable_is_answered(peer: Any) -> None:
    async with peer.open() as browser, trio.open_nursery() as nursery:
        page = await page_of(peer, browser)
        entered = trio.Event()

        async def hold() -> None:
            async with page.enabled("Page", "Runtime"):
                entered.set()

        nursery.start_soon(hold)
        assert await sent_methods(peer) == ["Page.enable", "Runtime.enable"]
        peer.reply(peer.of("Page.enable")[0])
        await wait_all_tasks_blocked()
        assert not entered.is_set()
        peer.reply(peer.of("Runtime.enable")[0])
        await entered.wait()


async def test_the_first_enables_go_out_in_one_write(peer: Any) -> None:
    async with peer.open() as browser:
        page = await page_of(peer, browser)
        writes = len(peer.writes)
        async with page.enabled("Page", "Runtime", "Network", wait=0):
            await wait_all_tasks_blocked()
            assert len(peer.writes) == writes + 1


async def test_an_enable_that_another_holder_began_is_awaited_too(peer: Any) -> None:
    async with peer.open() as browser, trio.open_nursery() as nursery:
        page = await page_of(peer, browser)
        release = page.lease("Runtime")
        entered = trio.Event()

        async def hold() -> None:
            async with page.enabled("Runtime"):
                entered.set()

        nursery.start_soon(hold)
        assert await sent_methods(peer) == ["Runtime.enable"]
        assert not entered.is_set()
        peer.reply(peer.of("Runtime.enable")[0])
        await entered.wait()
        async with page.enabled("Runtime"):  # answered before: nothing to wait for
            release()


async def test_the_block_begins_at_once_when_a_dialog_opens(peer: Any, autojump_clock: MockClock) -> None:
    async with peer.open() as browser, trio.open_nursery() as nursery:
        page = await page_of(peer, browser)
        entered = trio.Event()

        async def hold() -> None:
            async with page.enabled("Page", wait=None):
                entered.set()
            async with page.enabled("Runtime", wait=None):  # the dialog is still open
                pass

        nursery.start_soon(hold)
        await peer.wait_for_command("Page.enable")
        begun = trio.current_time()
        opening(peer)
        await entered.wait()
        await peer.wait_for_command("Runtime.disable")
        assert trio.current_time() == begun


async def test_after_the_wait_the_block_begins_with_a_warning(peer: Any, autojump_clock: MockClock) -> None:
    async with peer.open() as browser:
        page = await page_of(peer, browser)
        begun = trio.current_time()
        with pytest.warns(CdpWarning, match=r"^Page.enable on session S1 has no reply after 5 s: a dialog") as warned:
            async with page.enabled("Page"):
                assert trio.current_time() - begun == 5.0
        assert [each.filename for each in warned] == [__file__]


async def test_a_refused_enable_raises_on_entering_and_releases_the_others(peer: Any) -> None:
    peer.rules["Runtime.enable"] = peer.reply
    peer.rules["Nothing.enable"] = lambda command: peer.refuse(command, -32601, "'Nothing.enable' wasn't found")
    async with peer.open() as browser:
        page = await page_of(peer, browser)
        for _ in range(2):
            with pytest.raises(CommandRefused, match=r"Nothing\.enable"):
                async with page.enabled("Runtime", "Nothing"):
                    raise AssertionError
        assert await sent_methods(peer) == ["Runtime.enable", "Nothing.enable", "Runtime.disable"] * 2
        assert page.statistics().leases == {}
        assert browser.statistics().unobserved_refusals == 0


async def test_a_refused_enable_is_sent_again_for_the_next_holder(peer: Any) -> None:
    async with peer.open() as browser:
        page = await page_of(peer, browser)
        release = page.lease("Runtime")
        peer.refuse(await peer.wait_for_command("Runtime.enable"), -32000, "not now")
        await wait_all_tasks_blocked()
        assert browser.statistics().unobserved_refusals == 1
        peer.rules["Runtime.enable"] = peer.reply
        async with page.enabled("Runtime"):
            assert await sent_methods(peer) == ["Runtime.enable"] * 2
        release()
        assert await sent_methods(peer) == ["Runtime.enable"] * 2 + ["Runtime.disable"]


async def test_a_holder_that_is_cancelled_on_entering_holds_nothing(peer: Any) -> None:
    async with peer.open() as browser:
        page = await page_of(peer, browser)
        with trio.move_on_after(0.01) as scope:
            async with page.enabled("Runtime", wait=None):
                raise AssertionError
        assert scope.cancelled_caught
        assert await sent_methods(peer) == ["Runtime.enable", "Runtime.disable"]
        assert page.statistics().leases == {}


@pytest.mark.parametrize(
    ("event", "error"), [("Inspector.targetCrashed", TargetCrashed), ("Target.detachedFromTarget", SessionGone)]
)
async def test_what_ends_the_session_ends_the_wait(peer: Any, event: str, error: type[CdpError]) -> None:
    def end(_command: Any) -> None:
        peer.event(event, {"sessionId": "S1"}, "S1" if event.startswith("Inspector") else None)

    peer.rules["Runtime.enable"] = end
    async with peer.open() as browser:
        page = await page_of(peer, browser)
        with pytest.raises(error):
            async with page.enabled("Runtime", wait=None):
                raise AssertionError
        assert page.statistics().leases == {}


@pytest.mark.parametrize("wait", [-1.0, float("nan"), float("inf"), "5", True])
async def test_an_invalid_wait_is_refused(peer: Any, wait: Any) -> None:
    async with peer.open() as browser:
        page = await page_of(peer, browser)
        with pytest.raises(InvalidArgument, match="wait must be"):
            async with page.enabled("Runtime", wait=wait):
                raise AssertionError
        assert not peer.commands


# ── a renderer process that is gone (facts 49, 55) ───────────────────────────────────────────────────────────────────


GONE_MESSAGES = ["Target crashed", "Inspected target navigated or closed"]


@pytest.mark.parametrize("message", GONE_MESSAGES)
async def test_an_enable_that_a_gone_process_refused_is_sent_again(peer: Any, message: str) -> None:
    async with peer.open() as browser:
        page = await page_of(peer, browser)
        async with page.enabled("Runtime", wait=0):
            await sent_methods(peer)
            peer.refuse(peer.of("Runtime.enable")[0], -32000, message)
            assert await sent_methods(peer) == ["Runtime.enable", "Runtime.enable"]
            peer.reply(peer.of("Runtime.enable")[1])
            await wait_all_tasks_blocked()
        assert await sent_methods(peer) == ["Runtime.enable", "Runtime.enable", "Runtime.disable"]
        assert browser.statistics().unobserved_refusals == 0


async def test_an_enable_in_flight_at_a_crash_is_sent_again_after_the_reload(peer: Any) -> None:
    async with peer.open() as browser:
        page = await page_of(peer, browser)
        async with page.enabled("Runtime", wait=0):
            await sent_methods(peer)
            peer.event("Inspector.targetCrashed", {}, "S1")
            assert await sent_methods(peer) == ["Runtime.enable"]
            peer.event("Inspector.targetReloadedAfterCrash", {}, "S1")
            assert await sent_methods(peer) == ["Runtime.enable"] * 2
            peer.event("Inspector.targetReloadedAfterCrash", {}, "S1")
            assert await sent_methods(peer) == ["Runtime.enable"] * 2
        assert await sent_methods(peer) == ["Runtime.enable"] * 2 + ["Runtime.disable"]


async def test_a_disable_while_the_page_is_crashed_is_sent_after_the_reload(peer: Any) -> None:
    """The next renderer process begins with the domains that were enabled before the crash."""
    async with peer.open() as browser:
        page = await page_of(peer, browser)
        async with page.enabled("Runtime", wait=0):
            peer.reply(await peer.wait_for_command("Runtime.enable"))
            peer.event("Inspector.targetCrashed", {}, "S1")
            await wait_all_tasks_blocked()
        assert await sent_methods(peer) == ["Runtime.enable"]
        with pytest.raises(TargetCrashed, match="was not sent"):
            async with page.enabled("Network"):
                raise AssertionError
        peer.event("Inspector.targetReloadedAfterCrash", {}, "S1")
        assert await sent_methods(peer) == ["Runtime.enable", "Runtime.disable"]


async def test_an_enable_without_a_holder_is_not_sent_again(peer: Any) -> None:
    async with peer.open() as browser:
        page = await page_of(peer, browser)
        async with page.enabled("Runtime", wait=0):
            await sent_methods(peer)
        peer.refuse(peer.of("Runtime.enable")[0], -32000, "Target crashed")
        assert await sent_methods(peer) == ["Runtime.enable", "Runtime.disable"]
        assert browser.statistics().unobserved_refusals == 1


async def test_an_enable_that_is_always_refused_is_sent_four_times(peer: Any, caplog: pytest.LogCaptureFixture) -> None:
    peer.rules["Runtime.enable"] = lambda command: peer.refuse(command, -32000, "Target crashed")
    async with peer.open() as browser:
        page = await page_of(peer, browser)
        async with page.enabled("Runtime", wait=0):
            assert await sent_methods(peer) == ["Runtime.enable"] * 4
        assert browser.statistics().unobserved_refusals == 1
    assert "Runtime.enable on session S1 was refused (code -32000)" in caplog.text


async def test_any_other_refusal_of_an_enable_is_logged_once(peer: Any, caplog: pytest.LogCaptureFixture) -> None:
    peer.rules["Nothing.enable"] = lambda command: peer.refuse(command, -32601, "'Nothing.enable' wasn't found")
    async with peer.open() as browser:
        page = await page_of(peer, browser)
        async with page.enabled("Nothing", wait=0):
            assert await sent_methods(peer) == ["Nothing.enable"]
        assert browser.statistics().unobserved_refusals == 1
    assert "Nothing.enable on session S1 was refused (code -32601)" in caplog.text


async def test_a_session_may_end_while_an_enable_is_sent_again(peer: Any) -> None:
    async with peer.open() as browser:
        page = await page_of(peer, browser)
        async with page.enabled("Runtime", wait=0):
            await sent_methods(peer)
            peer.event("Inspector.targetCrashed", {}, "S1")
            peer.detached("S1")
            assert await sent_methods(peer) == ["Runtime.enable"]
        assert page.statistics().closed == "detached"
        assert browser.statistics().router.in_flight == 0


# ── Page and dialogs (fact 24) ───────────────────────────────────────────────────────────────────────────────────────


async def test_page_is_not_disabled_while_a_dialog_is_open(peer: Any) -> None:
    async with peer.open() as browser:
        page = await page_of(peer, browser)
        async with page.enabled("Page", "Runtime", wait=0):
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
        async with page.enabled("Page", wait=0):
            opening(peer)
            await wait_all_tasks_blocked()
        async with page.enabled("Page", wait=0):
            closed(peer)
            await wait_all_tasks_blocked()
            assert await sent_methods(peer) == ["Page.enable"]  # it was never disabled
        assert await sent_methods(peer) == ["Page.enable", "Page.disable"]


async def test_a_closed_event_without_an_opening_event_is_ignored(peer: Any) -> None:
    """A session that attached late sees only `Page.javascriptDialogClosed` (fact 18)."""
    async with peer.open() as browser:
        page = await page_of(peer, browser)
        async with page.enabled("Page", wait=0):
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
                    await held[-1].enter_async_context(page.enabled("Page", wait=0))
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
