"""Links that break, browsers that end, the `watch` command, and the replay of a recorded run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio

from cdp_core import ConnectionLost, Gone, read_trace
from cdp_supervisor import (
    BlockedByDialog,
    LinkChanged,
    Policy,
    Reconnect,
    SupervisorStopped,
    open_supervisor,
    replay,
)
from cdp_supervisor.sansio.view import snapshot as snapshot_of

pytestmark = pytest.mark.chromium

Pages = Callable[..., str]
THERE = "localhost"
SOON = Reconnect(first=0.1, most=0.3, budget=30)


def is_read(page: Any) -> bool:
    """Return True if the page exists and its frames are read."""
    return page is not None and not page.stale and page.health.state == "ok"


async def test_changes_during_an_outage_are_read_afterwards(open_stage: Any, open_wire: Any, pages: Pages) -> None:
    """Frames, pages and an address, over three cuts in a row: none missing, and none left that is gone."""
    async with open_wire() as wire, open_stage(where=wire.url, reconnect=SOON) as stage:
        html = f'<iframe src="{pages("near")}"></iframe><iframe src="{pages("far", THERE)}"></iframe>'
        target = await stage.open(pages(html))
        closing = await stage.open(pages("<p>closing"))
        await stage.until(lambda s: s.page(target).frame_count == 3)
        await stage.agree(target)
        opened: list[str] = []
        for url in (pages("<p>none"), pages(html, THERE), pages(html)):
            await wire.cut(refuse=True)
            await stage.until(lambda s: not s.active)
            with pytest.raises(ConnectionLost):
                await stage.sup.evaluate("1", target_id=target)
            theirs = await stage.attach(target)
            await theirs.send("Page.navigate", {"url": url})
            if not opened:
                await stage.raw.send("Target.closeTarget", {"targetId": closing})
                new = {"url": pages("<p>new"), "browserContextId": stage.context}
                opened.append((await stage.raw.send("Target.createTarget", new))["targetId"])
            wire.refusing = False
            await stage.until(lambda s, url=url: s.active and is_read(s.page(target)) and s.page(target).url == url)
            await stage.agree(target)
            await stage.until(lambda s: s.page(closing) is None and is_read(s.page(opened[0])))
            await stage.agree(opened[0])
            assert not stage.sup.snapshot().link.browser_changed
        assert stage.sup.snapshot().link.generation >= 4


async def test_a_call_that_a_cut_ends_is_not_sent_again(open_stage: Any, open_wire: Any, pages: Pages) -> None:
    async with open_wire() as wire, open_stage(where=wire.url, reconnect=SOON) as stage:
        target = await stage.open(pages("<script>window.times = 0</script>"))
        async with trio.open_nursery() as nursery:

            @nursery.start_soon
            async def _call() -> None:
                with pytest.raises(Gone):
                    await stage.sup.evaluate("times += 1; new Promise(() => {})", target_id=target, timeout=None)

            theirs = await stage.attach(target)
            with trio.fail_after(20):
                while True:
                    answer = await theirs.send("Runtime.evaluate", {"expression": "times"})
                    if answer["result"]["value"] == 1:
                        break
            await wire.cut()
        await stage.until(lambda s: s.active and s.link.generation >= 2 and is_read(s.page(target)))
        assert await stage.sup.evaluate("times", target_id=target) == 1


async def test_a_link_that_never_comes_back_is_given_up(open_stage: Any, open_wire: Any, pages: Pages) -> None:
    few = Reconnect(first=0.05, most=0.05, budget=2)
    async with open_wire() as wire, open_stage(where=wire.url, reconnect=few) as stage:
        await stage.open(pages("<p>quiet"))
        with stage.sup.changes(LinkChanged) as changes:
            await wire.cut(refuse=True)
            await stage.until(lambda s: s.link.phase == "gave_up")
            received: list[str] = []
            with pytest.raises(SupervisorStopped):
                while True:
                    received.append((await changes.receive()).phase)
        assert received[-1] == "gave_up"
        with pytest.raises(SupervisorStopped):
            await stage.sup.evaluate("1")


async def test_another_browser_behind_the_address_is_reported(launch: Any, open_page: Any, pages: Pages) -> None:
    """The browser is killed and another one started: no state of the old one is reused."""
    with ExitStack() as browsers:
        first = browsers.enter_context(launch())
        current = [first]

        async def address() -> str:
            return current[0].url

        async with open_supervisor(address, reconnect=attrs.evolve(SOON, budget=1000)) as sup:
            with trio.fail_after(40):
                old = await open_page(sup, pages("<p>old"))
                sup.focus(old)
                with pytest.raises(BlockedByDialog) as blocked:
                    await sup.evaluate("confirm('c')")
                os.killpg(first.popen.pid, signal.SIGKILL)
                await sup.wait_for(lambda s: not s.active)
                assert sup.health(old).state == "link_down"
                current[0] = browsers.enter_context(launch())
                found = await sup.wait_for(lambda s: s.active and s.link.browser_changed and s.page(old) is None)
                assert found.focus is None
                assert found.page_gone is not None
                with pytest.raises(Gone):
                    await blocked.value.call.wait(timeout=20)
                found = await sup.wait_for(lambda s: len(s.recent_dialogs) == 1 and not s.pending_dialogs)
                assert found.recent_dialogs[0].closed_by == "remote"
                again = await open_page(sup, pages("<p>new"))
                assert await sup.evaluate("1 + 1", target_id=again) == 2


async def test_the_browsers_id_identifies_the_same_browser(open_stage: Any, open_wire: Any, pages: Pages) -> None:
    """Every earlier page is gone, and still it is not another browser."""
    async with open_wire() as wire, open_stage(where=wire.url, reconnect=SOON) as stage:
        old = await stage.open(pages("<p>old"))
        assert stage.sup.browser.browser_id is not None
        assert wire.url.endswith(f"/devtools/browser/{stage.sup.browser.browser_id}")
        await wire.cut(refuse=True)
        await stage.until(lambda s: not s.active)
        await stage.raw.send("Target.closeTarget", {"targetId": old})
        made = {"url": pages("<p>new"), "browserContextId": stage.context}
        new = (await stage.raw.send("Target.createTarget", made))["targetId"]
        wire.refusing = False
        found = await stage.until(lambda s: s.active and s.page(old) is None and is_read(s.page(new)))
        assert found.link.generation >= 2
        assert not found.link.browser_changed


async def test_a_recorded_run_replays(open_stage: Any, open_wire: Any, pages: Pages, tmp_path: Path) -> None:
    """Requests, a cut and a policy change: the replay gives the same snapshots in order, times included."""
    path = tmp_path / "run.jsonl"
    published: list[Any] = []
    async with open_wire() as wire, open_stage(where=wire.url, reconnect=SOON, trace=path) as stage:
        runner = stage.sup._driver.runner
        runner.watch(published.append)
        target = await stage.open(pages(f'<iframe src="{pages("far", THERE)}"></iframe>'))
        await stage.far_frame(target)
        with pytest.raises(BlockedByDialog) as blocked:
            await stage.sup.evaluate("console.log('asks'); prompt('who?')", target_id=target)
        await stage.sup.respond_to_dialog("accept", prompt_text="Ada")
        assert await blocked.value.call.wait(timeout=20) == "Ada"
        await wire.cut()
        await stage.until(lambda s: s.active and s.link.generation >= 2 and is_read(s.page(target)))
        await stage.sup.set_policy(Policy.unattended())
        reply = await stage.start(target, "confirm('by policy')")
        with trio.fail_after(20):
            assert (await reply.wait())["result"]["value"] is False
        await stage.until(lambda s: len(s.recent_dialogs) == 2)
        stage.sup.focus(target)
        await stage.sup.call("Page.navigate", {"url": pages("<p>end")})
        await stage.until(lambda s: s.page(target).url == pages("<p>end"))
    again = [each.to_dict(full=True) for each in replay(read_trace(path))]
    lived = [snapshot_of(state).to_dict(full=True) for state in published]
    assert len(lived) > 30
    assert again[-len(lived) :] == lived


async def test_the_watch_command_prints_changes_until_ctrl_c(stage: Any, shared_chromium: Any, pages: Pages) -> None:
    """Ctrl-C ends it with exit code 0."""
    target = await stage.open(pages("<p>watched"))
    command = [sys.executable, "-m", "cdp_supervisor", "watch", shared_chromium.url]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    watching = await trio.lowlevel.open_process(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    )
    received, complaints = b"", b""
    try:
        assert watching.stdout is not None
        assert watching.stderr is not None
        async with watching.stdout, watching.stderr:
            while f"page {target[:8]}".encode() not in received:
                received += await watching.stdout.receive_some()
            await stage.sup.evaluate("setTimeout(() => alert('seen')); 1", target_id=target)
            await stage.dialog()
            while b"opened" not in received:
                received += await watching.stdout.receive_some()
            watching.send_signal(signal.SIGINT)
            async for some in watching.stderr:
                complaints += some
        assert await watching.wait() == 0, complaints
        assert complaints == b""
        assert b"seen" not in received
    finally:
        watching.kill()
        with trio.CancelScope(shield=True):
            await watching.wait()
