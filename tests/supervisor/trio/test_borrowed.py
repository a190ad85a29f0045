"""A supervisor on the embedder's session: one socket, and neither side undoes the other's work."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from cdp_core import ConnectionLost, open_browser_session
from cdp_core.testing.steps import AddFrame, Dialog, Popup
from cdp_supervisor import BlockedByDialog, Policy, SupervisorStopped, open_supervisor

SHOP = "https://shop.example/"


async def test_supervisor_and_embedder_share_one_socket(site: Any, bounded: trio.abc.Clock) -> None:
    async with open_browser_session(await site.dial()) as browser:
        async with open_supervisor(browser) as supervisor:
            assert supervisor.browser is browser
            assert not supervisor.snapshot().link.owned
            await site.shop(supervisor)
            assert await supervisor.evaluate("1 + 1") == 2
            assert browser.sessions
            truth = site.fake.truth()
            targets = [target for _, _, target in truth.sessions]
            assert len(targets) == len(set(targets))  # no event arrives twice
        assert browser.statistics().closed is None
        assert (await browser.send("Browser.getVersion"))["product"]
        assert site.fake.truth().sessions == ()
        assert dict(browser.sessions) == {}
        assert browser.targets.statistics().auto_attach_holders == 0
        assert browser._link._taps == ()
        page = await browser.targets.attach(site.fake.truth().pages[0])
        assert (await page.send("Runtime.evaluate", {"expression": "1 + 1"}))["result"]["value"] == 2
    assert site.dials == 1
    site.fake.assert_clean()


async def test_the_embedder_keeps_using_its_session(site: Any, bounded: trio.abc.Clock) -> None:
    """The embedder attaches, leases and auto-attaches before, during and after the supervisor's block."""
    (target,) = site.fake.truth().pages
    armed: list[str] = []

    def arm(session: Any) -> list[Any]:
        armed.append(session.target_type)
        return [("Runtime.evaluate", {"expression": "1 + 1"})]

    async with (
        open_browser_session(await site.dial()) as browser,
        browser.targets.auto_attach(arm=arm, capacity=100) as mine,
    ):
        page = await browser.targets.attach(target)
        async with page.enabled("Page"):
            async with open_supervisor(browser, policy=Policy("auto_accept")) as supervisor:
                snapshot = supervisor.snapshot()
                assert snapshot.pages[0].session_id == page.session_id  # the existing session is used
                assert len(site.sent("Page.enable")) == 1
                with page.subscribe("Page.javascriptDialogOpening", capacity=5) as openings:
                    site.fake.play(Dialog("alert", "once"))
                    await supervisor.wait_for(lambda snapshot: bool(snapshot.recent_dialogs))
                    assert openings.statistics().waiting == 1
                site.fake.play(Popup("other", f"{SHOP}other", noopener=True))
                await supervisor.wait_for(lambda snapshot: len(snapshot.pages) == 2 and not snapshot.pages[1].stale)
                assert await supervisor.evaluate("1 + 1", target_id=target) == 2
            assert page.open
            assert not site.sent("Page.disable") or site.sent("Page.disable")[-1].session_id != page.session_id
            assert dict(page.statistics().leases) == {"Page": 1}
            assert browser.targets.statistics().auto_attach_holders == 1
            with page.subscribe("Page.frameAttached", capacity=5) as frames:
                site.fake.play(AddFrame("later", f"{SHOP}later"))
                await frames.receive()
        await browser.send("Browser.getVersion")  # its reply proves that all earlier events were processed
        assert [each.session_id for each in site.sent("Page.disable")][-1] == page.session_id
        site.fake.play(Popup("last", f"{SHOP}last", noopener=True))
        await trio.sleep(1)
        assert armed.count("page") == 3
        assert mine.statistics().waiting == len(armed)
        assert len(browser.sessions) == 4  # three pages, and the frame
    site.fake.assert_clean()


async def test_a_page_attached_to_twice_leaves_no_session(site: Any, bounded: trio.abc.Clock) -> None:
    (target,) = site.fake.truth().pages
    async with open_browser_session(await site.dial()) as browser:
        async with open_supervisor(browser) as supervisor:
            session = supervisor.session()
            await browser.send("Target.detachFromTarget", {"sessionId": session.session_id})
            again = await supervisor.wait_for(
                lambda snapshot: (
                    bool(snapshot.pages[0].session_id) and snapshot.pages[0].session_id != session.session_id
                )
            )
            assert again.pages[0].target_id == target
            assert await supervisor.evaluate("1 + 1") == 2
        await browser.send("Browser.getVersion")
        assert site.fake.truth().sessions == ()


@pytest.mark.parametrize("late", [False, True])
async def test_a_borrowed_link_that_ends_is_not_dialled_again(site: Any, bounded: trio.abc.Clock, late: bool) -> None:
    async with open_browser_session(await site.dial()) as browser:
        if late:
            site.fake.cut()
            await browser.wait_closed()
            with pytest.raises(ConnectionLost):
                async with open_supervisor(browser):
                    pass
            return
        async with open_supervisor(browser) as supervisor:
            with pytest.raises(BlockedByDialog):
                await supervisor.evaluate("sure()")
            site.fake.cut()
            with pytest.raises(SupervisorStopped) as stopped:
                await supervisor.wait_for(lambda snapshot: False)
            assert stopped.value.reason == "link_not_owned"
            link = supervisor.snapshot().link
            assert (link.phase, link.owned, link.generation) == ("gave_up", False, 1)
            with pytest.raises(SupervisorStopped):
                await supervisor.evaluate("1")
            await trio.sleep(1000)
        assert supervisor.stop_report.left == ("the link is gave_up", "dialog d-1 (orphaned)")
    assert site.dials == 1


async def test_two_supervisors_on_one_session(site: Any, bounded: trio.abc.Clock) -> None:
    async with open_browser_session(await site.dial()) as browser, open_supervisor(browser) as outer:
        async with open_supervisor(browser) as inner:
            await site.shop(inner)
            await outer.wait_for(lambda snapshot: snapshot.pages[0].frame_count == 3)
        assert await outer.evaluate("1 + 1") == 2
        site.fake.play(Dialog("alert", "still told"))
        await outer.wait_for(lambda snapshot: bool(snapshot.pending_dialogs))
        await outer.respond_to_dialog("accept")
    site.fake.assert_clean()
