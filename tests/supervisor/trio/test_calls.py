"""Calls: where they are sent, what they return, and every way in which they fail."""

from __future__ import annotations

import json
import pickle
from collections.abc import Sequence
from typing import Any

import pytest
import trio

from cdp_core import CommandRefused, ConnectionLost, Gone, InvalidArgument, LocalProtocolError
from cdp_core.bindings import page, runtime
from cdp_core.testing import FakeBrowser, FakeTransport
from cdp_core.testing.faults import Drop
from cdp_core.testing.steps import Crash, Dialog
from cdp_supervisor import (
    AmbiguousTarget,
    BlockedByDialog,
    CallTimedOut,
    FrameSharesProcess,
    PageFrozen,
    ScriptFailed,
    SupervisorStopped,
    UnknownCall,
    UnknownFrame,
    UnknownTarget,
    open_supervisor,
)
from support.shop import Site

SHOP = "https://shop.example/"


async def test_a_call_returns_a_raw_a_typed_or_an_evaluated_result(site: Any, bounded: trio.abc.Clock) -> None:
    async with open_supervisor(site.dial) as supervisor:
        assert await supervisor.evaluate("1 + 1") == 2
        raw = await supervisor.call("Runtime.evaluate", {"expression": "1 + 2", "returnByValue": True})
        assert raw["result"]["value"] == 3
        typed = await supervisor.call(runtime.evaluate(expression="3 + 4", return_by_value=True))
        assert typed.result.value == 7
        assert "product" in await supervisor.call("Browser.getVersion")
        await supervisor.call(page.navigate(url=SHOP))
        assert (await supervisor.wait_for(lambda snapshot: snapshot.pages[0].url == SHOP)).pages
    site.fake.assert_clean()


async def test_a_refused_call_raises_the_browsers_error(site: Any, bounded: trio.abc.Clock) -> None:
    async with open_supervisor(site.dial) as supervisor:
        with pytest.raises(CommandRefused) as refused:
            await supervisor.call("Page.navigate", {})
        assert (refused.value.code, refused.value.method) == (-32602, "Page.navigate")
        with pytest.raises(CommandRefused) as unknown:
            await supervisor.call("Nothing.here")
        assert unknown.value.code == -32601


class Throwing(FakeTransport):
    """A transport over which an expression throws; the fake's own expressions never do."""

    async def receive(self) -> Sequence[bytes]:
        thrown = (
            b'"result":{"type":"object"},"exceptionDetails":%s'
            % json.dumps(
                {
                    "text": "Uncaught",
                    "lineNumber": 3,
                    "columnNumber": 7,
                    "exception": {"type": "object", "className": "TypeError", "description": "TypeError: secret"},
                }
            ).encode()
        )
        value = b'"result":{"type":"string","value":"thrown"}'
        return [bytes(payload).replace(value, thrown) for payload in await super().receive()]


async def test_an_expression_that_throws_raises_an_error(site: Any, bounded: trio.abc.Clock) -> None:
    async def dial() -> Throwing:
        return Throwing(site.fake)

    async with open_supervisor(dial) as supervisor:
        with pytest.raises(ScriptFailed) as failed:
            await supervisor.evaluate("throw()")
        error = failed.value
        assert (error.name, error.line, error.column, error.text) == ("TypeError", 4, 7, "TypeError: secret")
        assert "secret" not in str(error)


async def test_a_call_blocked_by_a_dialog_is_sent_once_and_can_be_awaited(site: Any, bounded: trio.abc.Clock) -> None:
    async with open_supervisor(site.dial) as supervisor:
        with pytest.raises(BlockedByDialog) as blocked:
            await supervisor.evaluate("ask()")
        error, call = blocked.value, blocked.value.call
        assert error.dialogs == ("d-1",)
        assert [each.call_id for each in supervisor.snapshot().blocked_calls] == [call.call_id]
        assert pickle.loads(pickle.dumps(error)).call is None
        with pytest.raises(CallTimedOut) as late:
            await call.wait(timeout=3)
        assert late.value.waited >= 3
        with trio.move_on_after(1) as cancelled:
            await call.wait(timeout=2)
        assert cancelled.cancelled_caught
        with pytest.raises(BlockedByDialog) as unsent:  # the page is known to be blocked: nothing is sent
            await supervisor.evaluate("ask()")
        assert unsent.value.call is None
        async with trio.open_nursery() as nursery:

            @nursery.start_soon
            async def _answer() -> None:
                await trio.sleep(10)  # longer than any earlier waiter waited
                await supervisor.respond_to_dialog("accept", prompt_text="Ada")

            assert await call.wait() == "paid"
        with pytest.raises(UnknownCall):
            await call.wait()
        assert len(site.sent("Runtime.evaluate")) == 1
    site.fake.assert_clean()


async def test_a_blocked_typed_call_ends_with_a_typed_result(site: Any, bounded: trio.abc.Clock) -> None:
    async with open_supervisor(site.dial) as supervisor:
        with pytest.raises(BlockedByDialog) as blocked:
            await supervisor.call(runtime.evaluate(expression="sure()", return_by_value=True))
        await supervisor.respond_to_dialog("dismiss")
        assert (await blocked.value.call.wait()).result.value is True
        assert "Runtime.evaluate" in repr(blocked.value.call)


async def test_a_call_can_wait_behind_a_dialog(site: Any, bounded: trio.abc.Clock) -> None:
    async with open_supervisor(site.dial) as supervisor:
        params = {"expression": "tell()", "returnByValue": True}
        got: list[Any] = []
        async with trio.open_nursery() as nursery:

            @nursery.start_soon
            async def _wait() -> None:
                got.append(await supervisor.call("Runtime.evaluate", params, when_blocked="wait"))

            await supervisor.wait_for(lambda snapshot: bool(snapshot.pending_dialogs))
            assert not got
            await supervisor.respond_to_dialog("accept")
        assert "result" in got[0]
        with pytest.raises(CallTimedOut) as late:
            await supervisor.call("Runtime.evaluate", params, when_blocked="wait", timeout=2)
        assert late.value.health is not None
        assert late.value.health.state == "blocked_by_dialog"
        assert "d-2" in str(late.value)
        assert isinstance(late.value, TimeoutError)


async def test_a_command_of_the_browser_process_is_answered_during_a_dialog(site: Any, bounded: trio.abc.Clock) -> None:
    async with open_supervisor(site.dial) as supervisor:
        with pytest.raises(BlockedByDialog):
            await supervisor.evaluate("tell()")
        assert "product" in await supervisor.call("Browser.getVersion")
        assert (await supervisor.call("Target.getTargets"))["targetInfos"]
        await supervisor.respond_to_dialog("accept")


async def test_a_call_timeout_shows_the_health_of_its_page(bounded: trio.abc.Clock) -> None:
    site = Site(FakeBrowser(faults=[Drop("Runtime.evaluate")]))
    async with open_supervisor(site.dial) as supervisor:
        with pytest.raises(CallTimedOut) as late:
            await supervisor.evaluate("1", timeout=7)
        assert (late.value.method, late.value.waited) == ("Runtime.evaluate", 7)
        assert late.value.health is not None
        assert late.value.health.state == "ok"
        assert await supervisor.evaluate("2 + 2") == 4


async def test_an_unseen_dialog_is_reported_as_a_frozen_page(site: Any, bounded: trio.abc.Clock) -> None:
    site.fake.play(Dialog("alert", "before anybody came"))
    async with open_supervisor(site.dial) as supervisor:
        snapshot = await supervisor.wait_for(lambda snapshot: snapshot.pages[0].health.state != "ok")
        assert (snapshot.pages[0].health.state, snapshot.pending_dialogs) == ("blocked", ())
        with pytest.raises(PageFrozen) as frozen:
            await supervisor.evaluate("1")
        assert frozen.value.target_id == snapshot.pages[0].target_id
        await supervisor.recover(frozen.value.target_id, "same_document")
        assert await supervisor.evaluate("1 + 1") == 2
    assert supervisor.stop_report.left == ()
    site.fake.assert_clean()


async def test_a_call_ends_when_its_process_dies(site: Any, bounded: trio.abc.Clock) -> None:
    async with open_supervisor(site.dial) as supervisor:
        await site.shop(supervisor)
        with pytest.raises(BlockedByDialog) as blocked:
            await supervisor.evaluate("ask()")
        site.fake.play(Crash())
        with pytest.raises(Gone) as gone:
            await blocked.value.call.wait()
        assert getattr(gone.value, "reason", "")
        snapshot = await supervisor.wait_for(lambda snapshot: snapshot.pages[0].health.state == "crashed")
        assert supervisor.health() == snapshot.pages[0].health


async def test_a_lost_link_ends_its_calls(site: Any, bounded: trio.abc.Clock) -> None:
    async with open_supervisor(site.dial) as supervisor:
        with pytest.raises(BlockedByDialog) as blocked:
            await supervisor.evaluate("ask()")
        site.fake.cut()
        with pytest.raises(ConnectionLost):
            await blocked.value.call.wait()
        await supervisor.wait_for(lambda snapshot: snapshot.link.phase == "down")
        for ask in (supervisor.evaluate("1"), supervisor.call("Browser.getVersion")):
            with pytest.raises(ConnectionLost):
                await ask
        with pytest.raises(ConnectionLost):
            assert supervisor.browser
        with pytest.raises(ConnectionLost):
            supervisor.session()
        await supervisor.wait_for(lambda snapshot: snapshot.active and snapshot.pages[0].session_id is not None)
        assert len(site.sent("Runtime.evaluate")) == 1  # not sent again after the loss
        await supervisor.recover(supervisor.snapshot().pages[0].target_id, "navigate")
    with pytest.raises(SupervisorStopped):
        await supervisor.evaluate("1")


async def test_a_cancelled_caller_leaves_nothing(site: Any, bounded: trio.abc.Clock) -> None:
    site = Site(FakeBrowser(site.fake.script, faults=[Drop("Runtime.evaluate")]))
    async with open_supervisor(site.dial) as supervisor:
        driver = supervisor._driver
        with trio.CancelScope() as scope:
            scope.cancel()
            await supervisor.evaluate("1")
        assert scope.cancelled_caught
        assert not site.sent("Runtime.evaluate")
        with trio.move_on_after(1) as unanswered:
            await supervisor.evaluate("1")
        assert unanswered.cancelled_caught
        assert (driver._pending_requests, driver.runner._sent) == ({}, {})
        with trio.move_on_after(1) as late:
            await supervisor.call("Runtime.evaluate", {"expression": "ask()"}, when_blocked="wait")
        assert late.cancelled_caught
        await supervisor.respond_to_dialog("dismiss")
        with trio.move_on_after(1) as soon:
            soon.cancel()
            await supervisor.respond_to_dialog("accept")
        assert await supervisor.evaluate("1 + 1") == 2
        assert (driver._pending_requests, driver.runner._sent) == ({}, {})


# ── frames ───────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_call_goes_to_the_session_of_its_frame(site: Any, bounded: trio.abc.Clock) -> None:
    async with open_supervisor(site.dial) as supervisor:
        snapshot = await site.shop(supervisor)
        own, near, far = snapshot.pages[0].frames()
        assert (near.is_oopif, far.is_oopif) == (False, True)
        for frame in (own, near, far):
            assert await supervisor.evaluate("location.href", frame_id=frame.frame_id) == frame.url
        sent = site.sent("Runtime.evaluate")
        assert [each.session_id for each in sent] == [own.session_id, own.session_id, far.session_id]
        assert [("uniqueContextId" in each.params) for each in sent] == [False, True, False]
        with pytest.raises(FrameSharesProcess) as shares:
            await supervisor.call("Page.navigate", {"url": SHOP}, frame_id=near.frame_id)
        assert shares.value.hint
        with pytest.raises(FrameSharesProcess):
            supervisor.session(frame_id=near.frame_id)
        assert supervisor.session(frame_id=far.frame_id).session_id == far.session_id
        assert supervisor.session().session_id == own.session_id
        assert await supervisor.session().send("Runtime.evaluate", {"expression": "1 + 1"})
        in_session = await supervisor.call("Runtime.evaluate", {"expression": "1"}, session_id=far.session_id)
        assert in_session["result"]
        with pytest.raises(BlockedByDialog):  # the frame's dialog stops the frame's own process
            await supervisor.evaluate("framed()", frame_id=far.frame_id)
        assert await supervisor.evaluate("location.href", frame_id=near.frame_id) == near.url
        assert supervisor.snapshot().pending_dialogs[0].frame_id == far.frame_id
        await supervisor.respond_to_dialog("accept")


# ── invalid calls ─────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_call_to_an_unknown_page_or_frame_is_refused(site: Any, bounded: trio.abc.Clock) -> None:
    async with open_supervisor(site.dial) as supervisor:
        target = supervisor.snapshot().pages[0].target_id
        with pytest.raises(UnknownFrame) as frame:
            await supervisor.evaluate("1", frame_id="nowhere")
        assert frame.value.known == (target,)
        with pytest.raises(UnknownTarget) as unknown:
            await supervisor.evaluate("1", target_id="nowhere")
        assert unknown.value.known == (target,)
        with pytest.raises(UnknownTarget):
            await supervisor.call("Page.enable", session_id="nowhere")
        with pytest.raises(InvalidArgument):
            await supervisor.evaluate("1", frame_id=target, target_id=target)
        with pytest.raises(UnknownTarget):
            supervisor.session(target_id="nowhere")
        with pytest.raises(UnknownTarget):
            supervisor.focus("nowhere")
        with pytest.raises(UnknownTarget):
            supervisor.health("nowhere")
        with pytest.raises(UnknownTarget):
            await supervisor.recover("nowhere", "close")
        await supervisor.call("Target.closeTarget", {"targetId": target})
        await supervisor.wait_for(lambda snapshot: not snapshot.pages)
        with pytest.raises(AmbiguousTarget):
            await supervisor.evaluate("1")
        with pytest.raises(AmbiguousTarget):
            supervisor.health()


@pytest.mark.parametrize(
    "wrong",
    [
        {"timeout": -1},
        {"timeout": 0},
        {"timeout": float("nan")},
        {"timeout": float("inf")},
        {"timeout": "soon"},
        {"timeout": True},
        {"when_blocked": "hope"},
        {"when_blocked": []},
        {"frame_id": []},
        {"target_id": 5},
        {"session_id": b"1"},
    ],
    ids=str,
)
async def test_invalid_arguments_are_refused(site: Any, bounded: trio.abc.Clock, wrong: dict[str, Any]) -> None:
    async with open_supervisor(site.dial) as supervisor:
        with pytest.raises(InvalidArgument):
            await supervisor.call("Runtime.evaluate", {"expression": "1"}, **wrong)
        assert not site.sent("Runtime.evaluate")
        assert await supervisor.evaluate("1 + 1") == 2


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("", None),
        (None, None),
        ("Runtime.evaluate", ["expression"]),
        ("Runtime.evaluate", {"expression": float("nan")}),
        ("Runtime.evaluate", {"expression": b"1"}),
        ("Runtime.evaluate", {1: 2}),
        (page.enable(), {"more": 1}),
    ],
    ids=str,
)
async def test_invalid_commands_are_refused(site: Any, bounded: trio.abc.Clock, method: Any, params: Any) -> None:
    async with open_supervisor(site.dial) as supervisor:
        with pytest.raises((LocalProtocolError, AttributeError)):
            await supervisor.call(method, params)
        assert await supervisor.evaluate("1 + 1") == 2
    assert site.fake.statistics().malformed == 0
