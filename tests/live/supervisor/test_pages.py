"""Pages appear, open popups, have workers, crash and close; the supervisor reports it and stalls none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import trio

from cdp_core import Gone, open_browser_session
from cdp_supervisor import (
    AmbiguousTarget,
    BlockedByDialog,
    CallTimedOut,
    PageCrashed,
    PageGone,
    PageOpened,
    Policy,
    Scope,
    ScriptFailed,
    UnknownTarget,
    open_supervisor,
)

pytestmark = pytest.mark.chromium

Pages = Callable[..., str]
THERE = "localhost"


def lines_of(snapshot: Any, target: str) -> list[str]:
    """Return the console lines of a page."""
    return [entry["text"] for entry in snapshot.extensions["console"]["pages"].get(target, ())]


@pytest.mark.parametrize("features", ["", "noopener"])
async def test_a_popup_opens_a_dialog_in_its_first_script(stage: Any, sites: Pages, features: str) -> None:
    """Its opener is not stalled, and the dialog belongs to the popup."""
    target = await stage.open(sites("<p>opener"))
    popup_url = sites("<script>window.name_given = prompt('who?')</script>")
    before = {each.target_id for each in stage.sup.snapshot().pages}
    with stage.sup.changes(PageOpened) as opened:
        opening = f"window.popup = window.open({popup_url!r}, '_blank', {features!r}); popup === null"
        with trio.fail_after(20):
            no_handle = await stage.sup.evaluate(opening, target_id=target, user_gesture=True)
        assert no_handle == (features == "noopener")
        change = await opened.receive()
    dialog = await stage.dialog()
    popup = dialog.target_id
    assert popup not in before
    assert change.target_id == popup
    assert stage.page(popup).opener_id == target
    answered = await stage.sup.respond_to_dialog("accept", prompt_text="Ada")
    assert answered.closed_by == "agent"
    await stage.until(lambda s: s.page(popup).url == popup_url and s.page(popup).health.state == "ok")
    assert await stage.sup.evaluate("name_given", target_id=popup) == "Ada"
    await stage.agree(popup)
    with pytest.raises(AmbiguousTarget):
        await stage.sup.evaluate("1")


async def test_an_opener_can_open_a_dialog_of_its_popup(stage: Any, pages: Pages) -> None:
    target = await stage.open(pages("<p>opener"))
    await stage.sup.evaluate("window.popup = window.open('about:blank'); 1", target_id=target, user_gesture=True)
    reply = await stage.start(target, "popup.confirm('whose?')")
    dialog = await stage.dialog()
    assert dialog.target_id != target
    assert (await stage.sup.respond_to_dialog("accept")).closed_by == "agent"
    with trio.fail_after(20):
        assert (await reply.wait())["result"]["value"] is True


WORKER = "const w = new Worker(URL.createObjectURL(new Blob([\"console.log('from the worker')\"])))"


async def test_console_lines_of_workers_are_in_the_pages_console(stage: Any, pages: Pages) -> None:
    target = await stage.open(pages(f"<script>{WORKER}; console.log('from the page')</script>"))
    found = await stage.until(lambda s: len(lines_of(s, target)) >= 2)
    assert {"from the page", "from the worker"} <= set(lines_of(found, target))
    assert any(each.type == "worker" and each.page_id == target for each in found.sessions)
    await stage.sup.evaluate("w.terminate()", target_id=target)
    await stage.until(lambda s: not any(each.type == "worker" for each in s.sessions))


SHARED = "new SharedWorker(URL.createObjectURL(new Blob([\"console.log('from a shared worker')\"])))"


async def test_a_worker_without_a_page_has_its_own_console(stage: Any, pages: Pages) -> None:
    target = await stage.open(pages(f"<script>window.shared = {SHARED}; console.log('from the page')</script>"))

    def worker_lines(snapshot: Any) -> list[str]:
        workers = [each.target_id for each in snapshot.sessions if each.type == "shared_worker"]
        return [line for worker in workers for line in lines_of(snapshot, worker)]

    found = await stage.until(lambda s: worker_lines(s) and lines_of(s, target))
    assert worker_lines(found) == ["from a shared worker"]
    assert lines_of(found, target) == ["from the page"]


BUSY = "const end = Date.now() + {ms}; while (Date.now() < end); 'over'"


async def test_a_busy_page_is_reported_as_busy(stage: Any, pages: Pages) -> None:
    """Its renderer answers nothing, and no dialog is the reason."""
    target = await stage.open(pages("<p>busy"))
    over = await stage.start(target, BUSY.format(ms=6000))
    with pytest.raises(CallTimedOut) as late:
        await stage.sup.evaluate("1", target_id=target, timeout=2)
    assert late.value.health.state == "busy"
    assert "a script that does not end keeps it busy" in str(late.value)
    assert stage.sup.health(target).state == "busy"
    with trio.fail_after(20):
        assert (await over.wait())["result"]["value"] == "over"
    await stage.until(lambda s: s.page(target).health.state == "ok")
    assert await stage.sup.evaluate("1 + 1", target_id=target) == 2


async def test_a_slow_call_is_distinguished_from_a_busy_page(stage: Any, pages: Pages) -> None:
    target = await stage.open(pages("<p>at leisure"))
    with pytest.raises(CallTimedOut) as late:
        await stage.sup.evaluate("new Promise(() => {})", target_id=target, timeout=2)
    assert late.value.health.state == "ok"
    assert "its page answers other commands" in str(late.value)


async def test_a_popups_dialog_is_named_in_its_openers_timeout(stage: Any, pages: Pages) -> None:
    """They share a process (fact 16)."""
    target = await stage.open(pages("<p>opener"))
    url = pages("<p>popup")
    await stage.sup.evaluate(f"window.popup = window.open({url!r}); 1", target_id=target, user_gesture=True)
    found = await stage.until(lambda s: [each for each in s.pages if each.opener_id == target and each.url == url])
    (popup,) = [each.target_id for each in found.pages if each.opener_id == target]
    with pytest.raises(BlockedByDialog):
        await stage.sup.evaluate("confirm('whose?')", target_id=popup)
    dialog = await stage.dialog()
    assert dialog.target_id == popup
    with pytest.raises(CallTimedOut) as late:
        await stage.sup.evaluate("1", target_id=target, timeout=2)
    assert late.value.health.state == "busy"
    assert f"dialog {dialog.id} (confirm) is open on page {popup[:8]}" in str(late.value)
    assert (await stage.sup.respond_to_dialog("accept")).closed_by == "agent"
    await stage.until(lambda s: s.page(target).health.state == "ok")
    assert await stage.sup.evaluate("1 + 1", target_id=target) == 2


async def test_exceptions_are_in_the_console(stage: Any, pages: Pages) -> None:
    html = "<script>console.warn('w', 1); setTimeout(() => { throw new TypeError('late') }, 1)</script>"
    target = await stage.open(pages(html))
    found = await stage.until(lambda s: len(lines_of(s, target)) >= 2)
    worker_lines = " ".join(lines_of(found, target))
    assert "w" in worker_lines
    assert "late" in worker_lines
    with pytest.raises(ScriptFailed) as failed:
        await stage.sup.evaluate("\n nothing.there", target_id=target)
    assert (failed.value.name, failed.value.line) == ("ReferenceError", 2)
    for number in range(60):
        await stage.sup.evaluate(f"console.log('line {number}')", target_id=target)
    found = await stage.until(lambda s: "line 59" in lines_of(s, target))
    assert len(lines_of(found, target)) == 50


async def test_a_crash_is_reported_and_a_reload_recovers_the_page(stage: Any, pages: Pages) -> None:
    html = f'<iframe src="{pages("near")}"></iframe><iframe src="{pages("far", THERE)}"></iframe>'
    target = await stage.open(pages(html))
    await stage.until(lambda s: s.page(target).frame_count == 3)
    await stage.agree(target)
    with stage.sup.changes(PageCrashed) as crashed:
        async with trio.open_nursery() as nursery:

            @nursery.start_soon
            async def _crash() -> None:
                with pytest.raises(Exception):  # noqa: B017, PT011 - refused, gone or timed out, at random
                    await stage.sup.call("Page.crash", target_id=target, timeout=3)

            with trio.fail_after(20):
                assert (await crashed.receive()).target_id == target
            assert stage.sup.health(target).state == "crashed"
            assert await stage.sup.call("Page.reload", target_id=target, timeout=20) == {}
            nursery.cancel_scope.cancel()
    await stage.until(lambda s: s.page(target).health.state == "ok" and s.page(target).frame_count == 3)
    assert len(await stage.agree(target)) == 3
    assert await stage.sup.evaluate("1 + 1", target_id=target) == 2


async def test_a_page_that_had_crashed_before_the_start_is_reported(open_stage: Any, pages: Pages) -> None:
    async with open_stage() as first:
        target = await first.open(pages(f'<iframe src="{pages("near")}"></iframe>'))
        page = await first.attach(target)
        page.send_nowait("Page.crash").on_end()
        await first.until(lambda s: s.page(target).health.state == "crashed")
        async with open_stage(scoped=False) as late:
            await late.until(lambda s: any(each.target_id == target for each in s.sessions))
            await page.send("Page.reload")
            await late.until(lambda s: s.page(target).health.state == "ok" and s.page(target).frame_count == 2)
            await late.sup.evaluate("console.log('heard'), document.querySelector('iframe').remove()", target_id=target)
            await late.until(lambda s: "heard" in lines_of(s, target) and s.page(target).frame_count == 1)


async def test_a_frame_out_of_process_crashes_alone(stage: Any, pages: Pages) -> None:
    far = pages("far", THERE)
    target = await stage.open(pages(f'<iframe src="{far}"></iframe>'))
    frame = await stage.far_frame(target)
    await stage.agree(target)
    theirs = await stage.attach(frame.frame_id)
    with theirs.expect("Inspector.targetCrashed") as crashed, trio.fail_after(20):
        stage.sup.session(frame_id=frame.frame_id).send_nowait("Page.crash").on_end()
        await crashed.wait()
    assert stage.sup.health(target).state == "ok"
    assert await stage.sup.evaluate("1 + 1", target_id=target) == 2
    await stage.sup.evaluate(f"document.querySelector('iframe').src = {far + '&again'!r}; 1", target_id=target)
    await stage.until(lambda s: any(each.url.endswith("&again") for each in s.page(target).frames()))
    await stage.agree(target)


async def test_closing_a_page_ends_its_calls_and_dialogs(stage: Any, pages: Pages) -> None:
    target = await stage.open(pages("<p>doomed"))
    stage.sup.focus(target)
    with stage.sup.changes(PageGone) as gone:
        with pytest.raises(BlockedByDialog) as blocked:
            await stage.sup.evaluate("confirm('c')", target_id=target)
        dialog = await stage.dialog()
        await stage.raw.send("Target.closeTarget", {"targetId": target})
        with trio.fail_after(20):
            assert (await gone.receive()).target_id == target
    with pytest.raises(Gone):
        await blocked.value.call.wait(timeout=20)
    ended = await stage.ended(dialog.id)
    assert ended.closed_by == "remote"
    snapshot = stage.sup.snapshot()
    assert snapshot.page_gone == (target, "closed")
    assert snapshot.focus is None
    with pytest.raises(UnknownTarget):
        await stage.sup.evaluate("1", target_id=target)


async def test_closing_a_context_closes_its_pages(stage: Any, pages: Pages) -> None:
    kept = await stage.open(pages("<p>kept"))
    async with stage.raw.targets.open_context() as other:
        made = [
            (await stage.raw.send("Target.createTarget", {"url": pages(text), "browserContextId": other}))["targetId"]
            for text in ("a", "b")
        ]
        await stage.until(lambda s: all((page := s.page(each)) is not None and not page.stale for each in made))
        assert {stage.page(each).context_id for each in made} == {other}
    await stage.until(lambda s: not any(s.page(each) for each in made))
    assert stage.page(kept).health.state == "ok"


async def test_only_pages_in_scope_are_supervised(stage: Any, shared_chromium: Any, pages: Pages) -> None:
    """By targets (and their popups) and by context; other pages are neither observed nor stopped."""
    mine, other = await stage.open(pages("<p>mine")), await stage.open(pages("<p>other"))
    async with (
        open_supervisor(shared_chromium.url, scope=Scope.targets(mine), policy=Policy("auto_accept")) as bound,
        open_supervisor(shared_chromium.url, scope=Scope.targets(other).observed()) as observing,
    ):
        assert [each.target_id for each in bound.snapshot().pages] == [mine]
        reply = await stage.start(other, "confirm('not mine')")
        dialog = await stage.dialog()
        with trio.fail_after(20):
            await observing.wait_for(lambda s: len(s.pending_dialogs) == 1)
        assert bound.snapshot().pending_dialogs == ()
        await stage.sup.respond_to_dialog("accept", dialog_id=dialog.id)
        assert (await reply.wait())["result"]["value"] is True
        with trio.fail_after(20):
            seen = await observing.wait_for(lambda s: len(s.recent_dialogs) == 1)
        assert seen.recent_dialogs[0].closed_by == "remote"
        await stage.sup.evaluate("window.open('about:blank'); 1", target_id=mine, user_gesture=True)
        with trio.fail_after(20):
            await bound.wait_for(lambda s: len(s.pages) == 2)
        assert len(observing.snapshot().pages) == 1
    async with open_supervisor(shared_chromium.url, scope=Scope.context(stage.context)) as inside:
        assert {each.target_id for each in inside.snapshot().pages} >= {mine, other}
        assert {each.context_id for each in inside.snapshot().pages} == {stage.context}
    assert await stage.sup.evaluate("2 + 2", target_id=other) == 4


async def test_the_browsers_own_interface_is_not_a_page(launch: Any, program: Any) -> None:
    """On a browser with such pages: none is supervised, though the whole browser is in scope."""
    with launch(interface=True) as its:
        async with open_browser_session(its.url) as raw, open_supervisor(its.url) as sup:
            made = await sup.call("Target.createTarget", {"url": "about:blank"})
            every = (await raw.send("Target.getTargets", {"filter": [{}]}))["targetInfos"]
            its_own = {each["targetId"] for each in every if each["type"] == "browser_ui"}
            assert bool(its_own) != program.shell
            with trio.fail_after(20):
                found = await sup.wait_for(lambda s: (page := s.page(made["targetId"])) is not None and not page.stale)
            assert not its_own & {each.target_id for each in found.pages}
            assert not its_own & {each.target_id for each in found.sessions}


async def test_a_supervisor_can_use_an_open_session(shared_chromium: Any) -> None:
    """One socket for both; the session stays open, and the page answers, after the supervisor has stopped."""
    async with open_browser_session(shared_chromium.url) as browser, browser.targets.open_context() as context:
        page = await browser.targets.create("about:blank", context=context)
        async with open_supervisor(browser, scope=Scope.context(str(context))) as sup:
            assert sup.browser is browser
            with trio.fail_after(20):
                await sup.wait_for(lambda s: s.page(page.target_id) is not None and not s.pages[0].stale)
            with pytest.raises(BlockedByDialog) as blocked:
                await sup.evaluate("confirm('c')")
            assert (await sup.respond_to_dialog("accept")).closed_by == "agent"
            assert await blocked.value.call.wait(timeout=20) is True
        assert sup.stop_report.left == ()
        with trio.fail_after(20):
            answer = await page.send("Runtime.evaluate", {"expression": "1 + 1"})
        assert answer["result"]["value"] == 2


async def test_the_end_settles_open_dialogs(raw: Any, shared_chromium: Any) -> None:
    """The dialog is dismissed, nothing is left behind, and the page runs on."""
    async with raw.targets.open_context() as context:
        page = await raw.targets.create("about:blank", context=context)
        async with open_supervisor(shared_chromium.url, scope=Scope.context(str(context))) as sup:
            with trio.fail_after(20):
                await sup.wait_for(lambda s: len(s.pages) == 1 and not s.pages[0].stale)
            reply = page.send_nowait("Runtime.evaluate", {"expression": "confirm('c')"})
            reply.on_end()
            with trio.fail_after(20):
                await sup.wait_for(lambda s: len(s.pending_dialogs) == 1)
        assert sup.stop_report.left == ()
        with trio.fail_after(20):
            assert (await reply.wait())["result"]["value"] is False
