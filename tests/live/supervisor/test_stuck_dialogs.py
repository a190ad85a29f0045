"""Unanswerable dialogs (facts 3, 4, 22): each has a reason, and its remedies free the page.

Where `chromium-headless-shell` has no such state, its own behaviour is expected: it dismisses unseen dialogs (fact 26).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import trio

from cdp_supervisor import CallTimedOut, DialogUnanswerable, Limits, PageFrozen, Policy

pytestmark = pytest.mark.chromium

Pages = Callable[..., str]
THERE = "localhost"


async def assert_alive(stage: Any, target: str) -> None:
    """Assert that the page runs scripts again and its frames are read."""
    await stage.until(lambda s: s.page(target).health.state == "ok")
    assert await stage.sup.evaluate("6 * 7", target_id=target, timeout=20) == 42
    await stage.agree(target)


async def test_of_two_open_dialogs_one_is_superseded(stage: Any, pages: Pages) -> None:
    target = await stage.open(pages(f'<iframe src="{pages("<p>far", THERE)}"></iframe>'))
    frame = await stage.far_frame(target)
    far = stage.sup.session(frame_id=frame.frame_id).send_nowait("Runtime.evaluate", {"expression": "confirm('1')"})
    far.on_end()
    older = await stage.dialog()
    near = await stage.start(target, "confirm('2')")
    named = await stage.until(lambda s: any(each.why == "superseded" for each in s.pending_dialogs))
    (stuck,) = [each for each in named.pending_dialogs if each.why]
    assert not stuck.answerable
    assert (stuck.id == older.id) == stage.shell
    assert stage.sup.health(target).state == "blocked_by_dialog"
    with pytest.raises(DialogUnanswerable) as refused:
        await stage.sup.respond_to_dialog("accept", dialog_id=stuck.id)
    assert refused.value.why == "superseded"
    if stage.shell:
        (left,) = [each for each in named.pending_dialogs if each.id != stuck.id]
        assert (await stage.sup.respond_to_dialog("accept", dialog_id=left.id)).closed_by == "agent"
        assert (await near.wait())["result"]["value"] is True
    else:
        assert (await stage.ended(older.id)).closed_by == "remote"
    await stage.sup.recover(target, refused.value.remedies[0])
    assert (await stage.ended(stuck.id)).closed_by == "remote"
    await assert_alive(stage, target)


async def test_a_pagehide_dialog_ends_only_by_another_navigation(stage: Any, pages: Pages) -> None:
    target = await stage.open(pages("<script>onpagehide = () => alert('bye')</script>") + "&cache=no-store")
    await stage.sup.call("Page.navigate", {"url": pages("<p>next")}, target_id=target, when_blocked="wait")
    if stage.shell:  # headless-shell suppresses this dialog
        await stage.until(lambda s: s.page(target).url == pages("<p>next"))
        await assert_alive(stage, target)
        assert stage.sup.snapshot().recent_dialogs == ()
        return
    dialog = await stage.dialog()
    with pytest.raises(DialogUnanswerable) as refused:
        await stage.sup.respond_to_dialog("accept")
    assert refused.value.why == "page_inactive"
    assert "same_document" not in refused.value.remedies
    assert not stage.sup.snapshot().pending_dialogs[0].answerable
    await stage.sup.recover(target, "navigate")
    assert (await stage.ended(dialog.id)).closed_by == "remote"
    await assert_alive(stage, target)


async def open_unseen_dialog(page: Any, *, dismissed: bool) -> None:
    """Open a dialog that no client receives an event for, and wait until it is open.

    If the browser dismisses such a dialog at once (`dismissed`), wait until its script has ended instead.
    """
    async with page.enabled("Runtime"):
        with page.expect("Runtime.consoleAPICalled") as asking:
            asked = page.send_nowait("Runtime.evaluate", {"expression": "console.log('asking'); confirm('?')"})
            asked.on_end()
        with trio.fail_after(20):
            await asking.wait()
            if dismissed:
                await asked.wait()
                return
        with trio.move_on_after(0.4):
            await page.send("Runtime.evaluate", {"expression": "1"})
        assert not asked.ended


@pytest.mark.parametrize("remedy", ["same_document", "navigate", "reload", "close"])
async def test_a_dialog_opened_before_the_start_is_a_blocked_page(
    open_stage: Any, raw: Any, shared_chromium: Any, pages: Pages, load: Any, remedy: str
) -> None:
    """No client was attached when it opened. Headless-shell dismissed it at once, and the page is healthy."""
    async with raw.targets.open_context() as context:
        page = await raw.targets.create("about:blank", context=context)
        target = page.target_id
        await load(page, pages("<script>window.kept = 'yes'</script>"))
        await open_unseen_dialog(page, dismissed="headless-shell" in shared_chromium.argv[0])
        async with open_stage(scoped=False, limits=Limits(setup_patience=0.3)) as stage:
            if stage.shell:
                await stage.until(lambda s: s.page(target).health.state == "ok")
                await assert_alive(stage, target)
                return
            await stage.until(lambda s: s.page(target).health.state == "blocked")
            with pytest.raises(PageFrozen) as frozen:
                await stage.sup.evaluate("1", target_id=target)
            assert frozen.value.target_id == target
            assert stage.sup.snapshot().pending_dialogs == ()
            await stage.sup.recover(target, remedy)
            if remedy == "close":
                await stage.until(lambda s: s.page(target) is None)
                return
            await assert_alive(stage, target)
            kept = await stage.sup.evaluate("window.kept", target_id=target)
            assert kept == "yes"
            assert ("#" in stage.page(target).url) == (remedy == "same_document")


async def test_a_link_that_is_cut_orphans_its_dialog(open_stage: Any, open_wire: Any, pages: Pages) -> None:
    """Its deadline keeps running; the gentlest remedy keeps the state of the page."""
    async with open_wire() as wire, open_stage(where=wire.url, policy=Policy(dialog_timeout=1.0)) as stage:
        target = await stage.open(pages("<script>window.kept = 'yes'</script>"))
        reply = await stage.start(target, "confirm('c')")
        dialog = await stage.dialog()
        await wire.cut()
        await stage.until(lambda s: s.link.generation >= 2 and s.active)
        if stage.shell:  # a client that disconnects dismisses the dialog for all clients
            ended = await stage.ended(dialog.id)
            assert (ended.closed_by, ended.reason) == ("remote", "orphaned")
            assert (await reply.wait())["result"]["value"] is False
            await assert_alive(stage, target)
            return
        overdue = await stage.until(lambda s: s.pending_dialogs and s.pending_dialogs[0].overdue)
        (pending,) = overdue.pending_dialogs
        assert (pending.id, pending.answerable, pending.why) == (dialog.id, False, "orphaned")
        with pytest.raises(DialogUnanswerable) as refused:
            await stage.sup.respond_to_dialog("dismiss", dialog_id=dialog.id)
        assert refused.value.remedies[0] == "same_document"
        await stage.sup.recover(target, "same_document")
        ended = await stage.ended(dialog.id)
        assert (ended.closed_by, ended.reason) == ("remote", "navigation")
        await assert_alive(stage, target)
        assert await stage.sup.evaluate("window.kept", target_id=target) == "yes"
        assert (await reply.wait())["result"]["value"] is False


async def test_a_second_client_keeps_a_dialog_answerable(open_stage: Any, open_wire: Any, pages: Pages) -> None:
    """Fact 6: the link breaks while a second client listens; the answer of that client is not ours."""
    async with open_wire() as wire, open_stage(where=wire.url) as stage:
        target = await stage.open(pages("<p>quiet"))
        theirs = await stage.attach(target)
        async with theirs.enabled("Page"):
            await theirs.send("Page.enable")
            reply = await stage.start(target, "confirm('c')")
            dialog = await stage.dialog()
            await wire.cut()
            await stage.until(lambda s: s.link.generation >= 2 and s.active)
            if not stage.shell:
                await theirs.send("Page.handleJavaScriptDialog", {"accept": True})
            assert (await reply.wait())["result"]["value"] is (not stage.shell)
            assert (await stage.ended(dialog.id)).closed_by == "remote"
            await assert_alive(stage, target)


async def test_an_endless_script_is_reported(open_stage: Any, pages: Pages) -> None:
    async with open_stage() as stage:
        target = await stage.open(pages("<p>quiet"))
        with pytest.raises(CallTimedOut) as timed_out:
            await stage.sup.evaluate("for (;;) {}", target_id=target, timeout=2.0)
        assert timed_out.value.method == "Runtime.evaluate"
        assert timed_out.value.health.state == "busy"
        assert "script that does not end" in timed_out.value.why
        assert stage.sup.health(target).state == "busy"
        async with open_stage(scoped=False, limits=Limits(setup_patience=0.3)) as late:
            await late.until(lambda s: (page := s.page(target)) is not None and page.health.state == "blocked")
            assert "script that does not end" in late.sup.health(target).why
            with pytest.raises(PageFrozen):
                await late.sup.evaluate("1", target_id=target)
        await stage.sup.call("Runtime.terminateExecution", target_id=target)
        await assert_alive(stage, target)
