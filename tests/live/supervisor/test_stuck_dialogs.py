"""Dialogs that nobody can answer (facts 3, 4, 22): each is named with its reason, and its cures cure.

Where `chromium-headless-shell` has no such state, its own end is expected: it dismisses what nobody sees (fact 26).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import trio

from cdp_supervisor import CallTimedOut, DialogUnanswerable, PageFrozen, Policy

pytestmark = pytest.mark.chromium

Pages = Callable[..., str]
THERE = "localhost"


async def alive(stage: Any, target: str) -> None:
    """The page runs scripts again, and its frames are read."""
    await stage.until(lambda s: s.page(target).health.state == "ok")
    assert await stage.sup.evaluate("6 * 7", target_id=target, timeout=8) == 42
    await stage.agree(target)


async def test_of_two_at_once_one_is_superseded(stage: Any, pages: Pages) -> None:
    target = await stage.open(pages(f'<iframe src="{pages("<p>far", THERE)}"></iframe>'))
    (frame,) = [each for each in stage.page(target).frames() if each.is_oopif]
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
    await stage.sup.recover(target, refused.value.cures[0])
    assert (await stage.ended(stuck.id)).closed_by == "remote"
    await alive(stage, target)


async def test_in_pagehide_only_another_navigation_helps(stage: Any, pages: Pages) -> None:
    target = await stage.open(pages("<script>onpagehide = () => alert('bye')</script>"))
    await stage.sup.call("Page.navigate", {"url": pages("<p>next")}, target_id=target, when_blocked="wait")
    dialog = await stage.dialog()
    with pytest.raises(DialogUnanswerable) as refused:
        await stage.sup.respond_to_dialog("accept")
    assert refused.value.why == "page_inactive"
    assert "same_document" not in refused.value.cures
    assert not stage.sup.snapshot().pending_dialogs[0].answerable
    await stage.sup.recover(target, "navigate")
    assert (await stage.ended(dialog.id)).closed_by == "remote"
    await alive(stage, target)


@pytest.mark.parametrize("cure", ["same_document", "navigate", "reload", "close"])
async def test_a_dialog_from_before_we_came_is_a_blocked_page(open_stage: Any, pages: Pages, cure: str) -> None:
    async with open_stage() as first:  # it is not listened to: its supervisor leaves before
        url = pages("<script>window.kept = 'yes'</script>")
        made = await first.raw.send("Target.createTarget", {"url": "about:blank", "browserContextId": first.context})
        target = made["targetId"]
        theirs = await first.attach(target)
        with theirs.expect("Runtime.consoleAPICalled") as ready:
            await theirs.send("Runtime.enable")
            await theirs.send("Page.navigate", {"url": pages("<script>window.kept = 'yes'; console.log(1)</script>")})
            await ready.wait()
        del url
