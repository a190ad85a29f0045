"""Calls that a dialog blocks: input, several dialogs, and dialogs that a policy answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio

from cdp_supervisor import BlockedByDialog, Policy

pytestmark = pytest.mark.chromium

Pages = Callable[..., str]
AT_ONCE = 5.0
"""Seconds: far below the timeout of a call, and far above what a busy machine takes."""
ASK = "<body style='margin:0'><button style='width:300px;height:200px' onclick=\"{act}\">go</button>"


async def click(stage: Any, target: str, x: int = 50, y: int = 50) -> None:
    """Click in a page; the release is what opens a dialog."""
    for kind in ("mousePressed", "mouseReleased"):
        params = {"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1}
        await stage.sup.call("Input.dispatchMouseEvent", params, target_id=target)


async def press_enter(stage: Any, target: str) -> None:
    await stage.sup.evaluate("document.querySelector('button').focus()", target_id=target)
    for kind in ("rawKeyDown", "char", "keyUp"):
        params = {"type": kind, "key": "Enter", "code": "Enter", "text": "\r", "windowsVirtualKeyCode": 13}
        await stage.sup.call("Input.dispatchKeyEvent", params, target_id=target)


async def tap(stage: Any, target: str) -> None:
    for kind, points in (("touchStart", [{"x": 50, "y": 50}]), ("touchEnd", [])):
        await stage.sup.call("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points}, target_id=target)


async def assert_blocked_at_once(stage: Any, act: Awaitable[None], end: str = "accept") -> None:
    """Assert that this input is blocked by the dialog that it opens, and that its end can be collected."""
    begun = trio.current_time()
    with pytest.raises(BlockedByDialog) as blocked:
        await act
    assert trio.current_time() - begun < AT_ONCE
    dialog = await stage.dialog()
    assert blocked.value.dialogs == (dialog.id,)
    await stage.sup.respond_to_dialog(end)
    assert await blocked.value.call.wait(timeout=20.0) is not None


@pytest.mark.parametrize("act", [click, press_enter, tap])
async def test_input_that_opens_a_dialog_is_blocked_by_it_at_once(stage: Any, pages: Pages, act: Any) -> None:
    """Fact 66."""
    target = await stage.open(pages(ASK.format(act="alert(1)")))
    await stage.sup.browser.sessions[stage.page(target).session_id].send("Page.bringToFront")
    await assert_blocked_at_once(stage, act(stage, target))


async def test_input_that_opens_a_dialog_of_an_oopif_is_blocked_by_it_at_once(stage: Any, sites: Any) -> None:
    inner = sites(ASK.format(act="confirm(1)"), "localhost")
    target = await stage.open(
        sites(f"<body style='margin:0'><iframe style='border:0' width=400 height=300 src='{inner}'></iframe>")
    )
    frame = await stage.far_frame(target)
    await stage.sup.browser.sessions[stage.page(target).session_id].send("Page.bringToFront")
    painted = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))"
    for where in ({"frame_id": frame.frame_id}, {"target_id": target}):
        await stage.sup.evaluate(painted, **where)
    await assert_blocked_at_once(stage, click(stage, target))


async def test_input_of_an_opener_that_opens_a_dialog_of_its_popup_is_blocked_at_once(stage: Any, pages: Pages) -> None:
    """Facts 16, 17."""
    target = await stage.open(pages(ASK.format(act="popup.confirm(1)")))
    await stage.sup.evaluate("popup = open('about:blank'); 0", target_id=target, user_gesture=True)
    await stage.until(lambda found: len(found.pages) >= 2)
    await stage.sup.browser.sessions[stage.page(target).session_id].send("Page.bringToFront")
    await assert_blocked_at_once(stage, click(stage, target))


async def test_a_call_is_not_disturbed_by_dialogs_that_a_policy_answers(stage: Any, pages: Pages) -> None:
    target = await stage.open(pages("<p>quiet"))
    await stage.sup.set_policy(Policy.unattended())
    for _ in range(9):
        assert await stage.sup.evaluate("alert(1); confirm(2)", target_id=target) is False
    assert stage.sup.snapshot().blocked_calls == ()


async def test_the_wait_for_a_call_reports_each_of_its_dialogs(stage: Any, pages: Pages) -> None:
    target = await stage.open(pages("<p>quiet"))
    with pytest.raises(BlockedByDialog) as first:
        await stage.sup.evaluate("[confirm(1), confirm(2)]", target_id=target)
    await stage.sup.respond_to_dialog("accept", dialog_id=first.value.dialogs[0])
    with pytest.raises(BlockedByDialog) as second:
        await first.value.call.wait(timeout=20.0)
    assert second.value.dialogs != first.value.dialogs
    assert second.value.call.call_id == first.value.call.call_id
    await stage.sup.respond_to_dialog("dismiss")
    assert await second.value.call.wait(timeout=20.0) == [True, False]
