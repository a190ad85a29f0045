"""The frames of a page are those of the browser, after every change and in every process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import trio

from cdp_supervisor import BlockedByDialog, CallTimedOut, FrameSharesProcess, UnknownFrame

pytestmark = pytest.mark.chromium

Pages = Callable[..., str]
HERE, THERE = "127.0.0.1", "localhost"


def frame(url: str, name: str = "") -> str:
    return f'<iframe name="{name}" src="{url}"></iframe>'


async def test_the_frame_tree_is_complete_after_attaching(open_stage: Any, sites: Pages) -> None:
    inner = sites(frame(sites("deep", HERE)), THERE)
    html = frame(sites("near", HERE), "near") + frame(inner, "far")
    async with open_stage() as first:
        target = await first.open(sites(html))
        shown = await first.agree(target)
        assert len(shown) == 4
        async with open_stage(scoped=False) as late:
            assert await late.agree(target) == shown
            near, far = (next(f for f in late.page(target).frames() if f.name == name) for name in ("near", "far"))
            assert (near.name, near.is_oopif, near.session_id) == ("near", False, None)
            assert far.is_oopif
            assert far.session_id not in (None, near.session_id)
            assert near.origin == sites("", HERE).partition("/?")[0]


async def test_a_frame_keeps_its_id_across_processes(stage: Any, sites: Pages) -> None:
    target = await stage.open(sites(frame(sites("one"), "f")))
    before = await stage.agree(target)
    for host, oopif in ((THERE, True), (HERE, False), (THERE, True)):
        url = sites(f"at {host}", host)
        await stage.sup.evaluate(f"document.querySelector('iframe').src = {url!r}; 1", target_id=target)
        await stage.until(lambda s, url=url: any(each.url == url for each in s.page(target).frames()))
        now = await stage.agree(target)
        assert now.keys() == before.keys()
        assert [each[2] for each in now.values() if each[0]] == [oopif]


async def test_nested_frames_are_removed_and_moved_correctly(stage: Any, pages: Pages) -> None:
    """Processes nested three deep: the innermost frame is removed, one is moved, all are removed."""
    third = pages("<p>3", HERE)
    second = pages(frame(third, "third"), THERE)
    target = await stage.open(pages(frame(second, "second") + frame(pages("near"), "near")))
    await stage.until(lambda s: s.page(target).frame_count == 4)
    shown = await stage.agree(target)
    assert sorted(each[2] for each in shown.values()) == [False, False, True, True]
    far = next(each for each in stage.page(target).frames() if each.name == "second")
    await stage.sup.evaluate("document.querySelector('iframe').remove()", frame_id=far.frame_id)
    await stage.until(lambda s: s.page(target).frame_count == 3)
    await stage.agree(target)
    await stage.sup.evaluate("document.body.append(document.querySelector('iframe[name=second]'))", target_id=target)
    await stage.until(lambda s: s.page(target).frame_count == 4)  # the moved frame loaded again, with its child
    moved = await stage.agree(target)
    assert far.frame_id not in moved
    await stage.sup.evaluate("document.querySelectorAll('iframe').forEach(each => each.remove())", target_id=target)
    await stage.until(lambda s: s.page(target).frame_count == 1)
    assert list(await stage.agree(target)) == [target]


async def test_a_navigation_leaves_no_earlier_frame(stage: Any, sites: Pages) -> None:
    html = frame(sites("a")) + frame(sites(frame(sites("c")), THERE))
    target = await stage.open(sites(html))
    await stage.until(lambda s: s.page(target).frame_count == 4)
    for url, frames in ((sites(frame(sites("b", THERE))), 2), (sites("<p>last", THERE), 1), (sites(html), 4)):
        await stage.sup.call("Page.navigate", {"url": url}, target_id=target)
        await stage.until(lambda s, url=url, n=frames: s.page(target).url == url and s.page(target).frame_count == n)
        assert len(await stage.agree(target)) == frames
    await stage.sup.call("Page.reload", target_id=target)
    await stage.until(lambda s: s.page(target).frame_count == 4)
    await stage.agree(target)


async def test_back_and_forward_restore_the_frames(stage: Any, pages: Pages) -> None:
    """From the back/forward cache if the browser has one (fact 43) and chose to keep the page in it."""
    first, second = pages(frame(pages("a")) + frame(pages("b", THERE))), pages("<p>second", THERE)
    target = await stage.open(first)
    await stage.until(lambda s: s.page(target).frame_count == 3)
    await stage.agree(target)
    loaded = "new Promise(done => document.readyState == 'complete' ? done('yes') : onload = () => done('yes'))"
    await stage.sup.evaluate(f"window.kept = 'yes'; {loaded}", target_id=target)
    await stage.sup.call("Page.navigate", {"url": second}, target_id=target)
    await stage.until(lambda s: s.page(target).url == second)
    assert len(await stage.agree(target)) == 1
    kept, back = True, 0
    theirs = await stage.attach(target)
    async with theirs.enabled("Page"):
        await theirs.send("Page.enable")
        for url, frames in ((first, 3), (second, 1), (first, 3)):
            history = await stage.sup.call("Page.getNavigationHistory", target_id=target)
            entry = next(each["id"] for each in history["entries"] if each["url"] == url)
            with theirs.expect(
                "Page.frameNavigated", where=lambda event: "parentId" not in event.params["frame"]
            ) as came:
                await stage.sup.call("Page.navigateToHistoryEntry", {"entryId": entry}, target_id=target)
            await stage.until(
                lambda s, url=url, n=frames: s.page(target).url == url and s.page(target).frame_count == n
            )
            assert len(await stage.agree(target)) == frames
            restored = (await came.wait()).params["type"] == "BackForwardCacheRestore"
            back += restored
            if url == first:
                kept = kept and restored
                assert (await stage.sup.evaluate("window.kept ?? 'not'", target_id=target)) == (
                    "yes" if kept else "not"
                )
    assert not (back and stage.shell)


async def test_a_script_runs_in_the_frame_that_is_named(stage: Any, sites: Pages) -> None:
    target = await stage.open(sites(frame(sites("near"), "near") + frame(sites("far", THERE), "far")))
    await stage.until(lambda s: s.page(target).frame_count == 3)
    await stage.agree(target)
    await stage.far_frame(target)
    for each in stage.page(target).frames():
        assert await stage.sup.evaluate("location.href", frame_id=each.frame_id) == each.url
        assert await stage.sup.evaluate("name", frame_id=each.frame_id) == each.name
    near = next(each for each in stage.page(target).frames() if each.name == "near")
    with pytest.raises(FrameSharesProcess):
        await stage.sup.call("Page.captureScreenshot", frame_id=near.frame_id)
    with pytest.raises(UnknownFrame):
        await stage.sup.evaluate("1", frame_id="nobody")


async def test_a_script_runs_in_a_frame_loaded_after_the_start(open_stage: Any, sites: Pages) -> None:
    """Its execution context is then the one made for the empty document before it."""
    url, near = sites(frame(sites("near"), "near")), sites("near")
    async with open_stage() as first:
        target = await first.open()
        page = await first.attach(target)
        await page.send("Fetch.enable", {"patterns": [{"urlPattern": near}]})
        with page.expect("Fetch.requestPaused") as waits:
            await page.send("Page.navigate", {"url": url})
            held = (await waits.wait()).params
        async with open_stage(scoped=False) as late:
            await late.until(lambda s: (seen := s.page(target)) is not None and seen.frame_count == 2)
            await page.send("Fetch.continueRequest", {"requestId": held["requestId"]})
            await late.until(lambda s: any(each.url == near for each in s.page(target).frames()))
            assert await late.sup.evaluate("location.href", frame_id=held["frameId"]) == near


async def test_a_dialog_of_one_frame_stops_the_other_frames_of_its_site(stage: Any, sites: Pages) -> None:
    """They share a process (fact 16), and the page is in another."""
    target = await stage.open(sites(frame(sites("one", THERE), "one") + frame(sites("two", THERE), "two")))
    await stage.until(lambda s: sum(each.is_oopif and bool(each.session_id) for each in s.page(target).frames()) == 2)
    await stage.agree(target)
    one, two = (each for each in stage.page(target).frames() if each.is_oopif)
    assert one.session_id != two.session_id
    with pytest.raises(BlockedByDialog):
        await stage.sup.evaluate("confirm('sure?')", frame_id=one.frame_id)
    dialog = await stage.dialog()
    with trio.fail_after(5), pytest.raises(BlockedByDialog) as blocked:
        await stage.sup.evaluate("1", frame_id=two.frame_id)
    assert (blocked.value.dialogs, blocked.value.call) == ((dialog.id,), None)
    assert await stage.sup.evaluate("1 + 1", target_id=target) == 2
    with pytest.raises(CallTimedOut):  # the page does not answer
        await stage.sup.call(
            "Runtime.evaluate", {"expression": "1"}, frame_id=two.frame_id, when_blocked="wait", timeout=2
        )
    await stage.sup.respond_to_dialog("accept")
    assert await stage.sup.evaluate("1 + 1", frame_id=two.frame_id) == 2


async def test_many_frames_come_and_go(stage: Any, pages: Pages) -> None:
    target = await stage.open(pages("<p>quiet"))
    urls = [pages(str(number), (HERE, THERE)[number % 2]) for number in range(12)]
    for _ in range(2):
        await stage.sup.evaluate(
            f"for (const url of {urls!r}) {{ const f = document.createElement('iframe'); f.src = url; document.documentElement.append(f) }}; 1",
            target_id=target,
        )
        await stage.sup.evaluate(
            "document.querySelectorAll('iframe:nth-of-type(3n)').forEach(f => f.remove())", target_id=target
        )
    await stage.until(lambda s: s.page(target).frame_count >= 13)
    shown = await stage.agree(target)
    assert len(shown) - 1 == await stage.sup.evaluate("document.querySelectorAll('iframe').length", target_id=target)
