"""Commands on a session: each ends exactly once, with its first outcome; cancellation leaves nothing."""

from __future__ import annotations

import gc
import logging
import weakref
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import attrs
import pytest
import trio
from trio.testing import assert_checkpoints, wait_all_tasks_blocked

from cdp_core import (
    BrowserSession,
    CommandDone,
    CommandRefused,
    ConnectionLost,
    Event,
    InvalidArgument,
    Json,
    LocalProtocolError,
    MemoryTransport,
    PendingReply,
    RemoteProtocolError,
    Result,
    SessionGone,
    SessionId,
    TargetCrashed,
    TypedCommand,
    open_browser_session,
)
from support.scripted_browser import ScriptedBrowser

SECRET = "s3cr3t-p4yload"


@attrs.frozen(kw_only=True)
class Navigate:
    """A typed command like those of the generated bindings."""

    url: str
    referrer: str | None = None
    method: ClassVar[str] = "Page.navigate"

    def to_params(self) -> Json:
        return {"url": self.url} if self.referrer is None else {"url": self.url, "referrer": self.referrer}

    def parse(self, result: Result, /) -> str:
        return str(result.value["frameId"])


class Reload:
    """A typed command without params."""

    method = "Page.reload"

    def to_params(self) -> Json:
        return {}

    def parse(self, result: Result, /) -> None:
        assert result.value == {}


@attrs.frozen(kw_only=True)
class LifecycleEvent:
    """A typed event like those of the generated bindings."""

    name: str
    __cdp_method__: ClassVar[str] = "Page.lifecycleEvent"

    @classmethod
    def __cdp_read__(cls, event: Event, /) -> LifecycleEvent:
        return cls(name=event.params["name"])


async def failure(call: Callable[[], Any]) -> BaseException:
    with pytest.raises(BaseException) as caught:  # noqa: PT011 - the caller checks the class
        await call()
    return caught.value


# ── outcomes ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_result_is_returned(peer: Any) -> None:
    peer.rules["Browser.getVersion"] = lambda command: peer.reply(command, {"product": "Chrome/156"})
    async with peer.open() as browser:
        with assert_checkpoints():
            assert await browser.send("Browser.getVersion") == {"product": "Chrome/156"}
        assert browser.statistics().router.in_flight == 0
    assert peer.commands == [{"id": 1, "method": "Browser.getVersion"}]


async def test_a_command_on_a_session_carries_its_session_id(peer: Any) -> None:
    peer.rules["Page.navigate"] = lambda command: peer.reply(command, {"frameId": "F"})
    async with peer.open() as browser:
        peer.attached("S1")
        await wait_all_tasks_blocked()
        page = browser.sessions[SessionId("S1")]
        assert await page.send("Page.navigate", {"url": "about:blank"}) == {"frameId": "F"}
    assert peer.commands == [{"id": 1, "method": "Page.navigate", "params": {"url": "about:blank"}, "sessionId": "S1"}]


async def test_a_refusal_has_its_fields(peer: Any) -> None:
    peer.rules["Page.x"] = lambda command: peer.refuse(command, -32602, "Invalid parameters", data="url: string")
    async with peer.open() as browser:
        error = await failure(lambda: browser.send("Page.x"))
    assert isinstance(error, CommandRefused)
    assert (error.code, error.message, error.data) == (-32602, "Invalid parameters", "url: string")
    assert (error.method, error.session_id) == ("Page.x", None)


@pytest.mark.parametrize("waiting", [True, False])
async def test_the_end_of_its_target_session_or_link_ends_a_command(peer: Any, waiting: bool) -> None:
    """The same error class in flight and afterwards; a crash ends only the commands in flight."""
    async with peer.open() as browser:
        peer.attached("S1", "T1")
        peer.attached("S2", "T2", "iframe", "S1")
        await wait_all_tasks_blocked()
        one, two = browser.sessions[SessionId("S1")], browser.sessions[SessionId("S2")]

        async def ends(page: Any, act: Callable[[], object]) -> BaseException:
            if not waiting:
                act()
                await wait_all_tasks_blocked()
                return await failure(lambda: page.send("Runtime.evaluate"))
            reply = page.send_nowait("Runtime.evaluate")
            act()
            return await failure(reply.wait)

        if waiting:
            crashed = await ends(one, lambda: peer.event("Inspector.targetCrashed", session="S1"))
            assert isinstance(crashed, TargetCrashed)
            assert (crashed.session_id, crashed.target_id) == ("S1", "T1")
            assert one.open
        nested = await ends(two, lambda: peer.detached("S1"))  # no event of its own (fact 50)
        assert isinstance(nested, SessionGone)
        assert (nested.reason, nested.session_id) == ("parent_ended", "S2")
        outer = await failure(lambda: one.send("Page.enable"))
        assert isinstance(outer, SessionGone)
        assert (outer.reason, outer.target_id) == ("detached", "T1")
        assert not one.open
        await peer.hang_up()
        await browser.wait_closed()
        lost = await failure(lambda: browser.send("Browser.getVersion"))
        assert isinstance(lost, ConnectionLost)
        assert lost.reason == "peer_closed"
        assert isinstance(await failure(lambda: one.send("Page.enable")), SessionGone)


async def test_a_reply_without_session_and_minus_32001_ends_the_session(peer: Any) -> None:
    async with peer.open() as browser:
        peer.attached("S1")
        await wait_all_tasks_blocked()
        page = browser.sessions[SessionId("S1")]
        reply = page.send_nowait("Page.enable")
        other = page.send_nowait("Runtime.enable")
        peer.send({"id": reply.id, "error": {"code": -32001, "message": "Session with given id not found."}})
        for each in (reply, other):
            error = await failure(each.wait)
            assert isinstance(error, SessionGone)
            assert error.reason == "refused"
        assert browser.statistics().router.dead_by_refusal == 1
        assert not browser.sessions


async def test_a_malformed_reply_ends_only_its_command(peer: Any) -> None:
    async with peer.open() as browser:
        bad, good = browser.send_nowait("A.a"), browser.send_nowait("B.b")
        peer.send(b'{"id":%d,"result":{"x":\xff}}' % bad.id)
        peer.reply(peer.commands[1], {"y": 1})
        error = await failure(bad.wait)
        assert isinstance(error, RemoteProtocolError)
        assert "A.a" in str(error)
        assert await good.wait() == {"y": 1}


async def test_a_result_that_is_not_an_object_raises(peer: Any) -> None:
    async with peer.open() as browser:
        reply = browser.send_nowait("A.a")
        peer.send({"id": reply.id, "result": [1]})
        assert isinstance(await failure(reply.wait), RemoteProtocolError)
        assert browser.statistics().closed is None


async def test_a_second_reply_is_counted_and_changes_nothing(peer: Any) -> None:
    async with peer.open() as browser:
        reply = browser.send_nowait("A.a")
        peer.reply(peer.commands[0], {"n": 1})
        peer.reply(peer.commands[0], {"n": 2})
        await wait_all_tasks_blocked()
        assert [await reply.wait(), await reply.wait()] == [{"n": 1}] * 2
        assert browser.statistics().router.late_replies == 1


# ── commands that cannot be sent ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("command", "params"),
    [
        *(("A.a", {"x": float("nan")}), ("A.a", {1: 2}), ("A.a", {"x": b""}), ("A.a", 5), ("A.a", [1]), ("", None)),
        *((Navigate(url="x"), {"url": "y"}), (None, None), (5, None), (b"A.a", None), (Navigate, None), ([], None)),
    ],
)
async def test_a_bad_argument_is_refused_and_nothing_is_sent(peer: Any, command: Any, params: Any) -> None:
    async with peer.open() as browser:
        with pytest.raises(InvalidArgument):
            await browser.send(command, params)
        with pytest.raises(InvalidArgument):
            browser.send_nowait(command, params)
        assert browser.statistics().router.commands == 0
        await wait_all_tasks_blocked()
    assert not peer.commands


@pytest.mark.parametrize("direct", [True, False])
async def test_a_command_is_refused_when_the_outbox_is_full(direct: bool) -> None:
    peer = ScriptedBrowser(direct=direct)
    peer.stalled = True
    part = {"text": "x" * (17 * 2**20)}
    async with peer.open() as browser:
        await wait_all_tasks_blocked()
        first = browser.send_nowait("A.first", part)
        await wait_all_tasks_blocked()  # the writer task has it now, and waits
        replies = [browser.send_nowait("A.a", part) for _ in range(4)]
        assert browser.statistics().outbox_bytes > 64 * 2**20
        with pytest.raises(LocalProtocolError) as caught:
            browser.send_nowait("A.last")
        assert caught.value.reason == "outbox_full"
        assert browser.statistics().router.in_flight == 5
        few = browser.send_nowait("A.few", bounded=False)  # for a caller with a bound of its own
        peer.flow()
        await peer.wait_for_command("A.a", 4)
        await peer.wait_for_command("A.few", 1)
        assert browser.statistics().outbox_bytes == 0
        assert [len(write) for write in peer.writes][:5] == [1] * 5  # a joined write is short, or one message
        last = browser.send_nowait("A.last")
        for command in tuple(peer.commands):
            peer.reply(command)
        for reply in (first, *replies, few):
            await reply.wait()
        assert not last.ended
        # Otherwise the writer task still holds the commands when the next test measures memory.
    peer.commands.clear()


async def test_commands_that_wait_together_go_out_in_one_write() -> None:
    peer = ScriptedBrowser(direct=False)
    async with peer.open() as browser:
        await wait_all_tasks_blocked()
        for number in range(5):
            browser.send_nowait(f"A.a{number}")
        await wait_all_tasks_blocked()
        assert [[command["method"] for command in write] for write in peer.writes] == [[f"A.a{n}" for n in range(5)]]


# ── cancellation ─────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_caller_that_is_cancelled_already_sends_nothing(peer: Any) -> None:
    async with peer.open() as browser:
        with trio.CancelScope() as scope:
            scope.cancel()
            await browser.send("A.a")
        assert scope.cancelled_caught
        await wait_all_tasks_blocked()
        assert browser.statistics().router.commands == 0
    assert not peer.commands


async def test_a_cancelled_send_abandons_its_command(peer: Any) -> None:
    async with peer.open() as browser:
        with trio.move_on_after(0.01) as scope:
            await browser.send("A.a")
        assert scope.cancelled_caught
        statistics = browser.statistics().router
        assert (statistics.in_flight, statistics.abandoned) == (0, 1)
        peer.reply(peer.commands[0])
        await wait_all_tasks_blocked()
        assert browser.statistics().router.late_replies == 1
        assert not browser.statistics().router.anomalies


async def test_waiting_for_an_abandoned_command_raises(peer: Any) -> None:
    async with peer.open() as browser, trio.open_nursery() as nursery:
        reply = browser.send_nowait("A.a")
        acted: list[object] = []
        errors: list[BaseException] = []

        async def wait() -> None:
            errors.append(await failure(reply.wait))

        nursery.start_soon(wait)
        reply.on_end(acted.append)
        await wait_all_tasks_blocked()
        reply.abandon()
        await wait_all_tasks_blocked()
        reply.abandon()
        errors.append(await failure(reply.wait))  # a later wait raises too
        reply.on_end(acted.append)
        peer.reply(peer.commands[0])
        await wait_all_tasks_blocked()
        assert reply.ended
        assert not acted
        for error in errors:
            assert isinstance(error, LocalProtocolError)
            assert error.reason == "abandoned"
            assert "A.a" in str(error)
        assert len(errors) == 2
        statistics = browser.statistics().router
        assert (statistics.in_flight, statistics.abandoned, statistics.late_replies) == (0, 1, 1)


async def test_a_command_abandoned_after_its_end_keeps_its_outcome(peer: Any) -> None:
    peer.rules["A.a"] = lambda command: peer.reply(command, {"n": 1})
    async with peer.open() as browser:
        reply = browser.send_nowait("A.a")
        await wait_all_tasks_blocked()
        reply.abandon()
        assert await reply.wait() == {"n": 1}
        assert browser.statistics().router.abandoned == 0


@pytest.mark.parametrize("joined", [False, True])
async def test_a_transport_that_raises_in_a_direct_write_leaves_nothing_in_flight(peer: Any, joined: bool) -> None:
    """Covers `send_now` and `send_joined_now`; commands sent before stay in flight."""

    class Raises(type(peer.transport)):  # type: ignore[misc]
        broken = False

        def send_now(self, text: bytes, /) -> bool:
            if self.broken and not joined:
                raise trio.BrokenResourceError
            return super().send_now(text)  # type: ignore[no-any-return]

        def send_joined_now(self, batch: Sequence[bytes], /) -> bool:
            raise trio.BrokenResourceError

    peer.transport.__class__ = Raises
    async with peer.open() as browser:
        await wait_all_tasks_blocked()
        count = 16 + 2 if joined else 0  # this many commands may wait in one pass before an early write
        for _number in range(count - 1):
            browser.send_nowait("A.before")
        peer.transport.broken = True
        with pytest.raises(trio.BrokenResourceError):
            browser.send_nowait("A.broken")
        assert browser.statistics().router.in_flight == len(browser._link.router.waiting) == max(count - 1, 0)
        await wait_all_tasks_blocked()
        assert peer.methods() == ["A.before"] * max(count - 1, 0)


async def test_a_cancelled_wait_for_a_reply_may_be_repeated(peer: Any) -> None:
    async with peer.open() as browser:
        reply = browser.send_nowait("A.a")
        with trio.move_on_after(0.01):
            await reply.wait()
        with pytest.raises(trio.WouldBlock):
            reply.unwrap()
        peer.reply(peer.commands[0], {"n": 1})
        assert await reply.wait() == {"n": 1}
        with assert_checkpoints():
            await reply.wait()


async def test_two_tasks_cannot_wait_for_one_reply(peer: Any) -> None:
    async with peer.open() as browser, trio.open_nursery() as nursery:
        reply = browser.send_nowait("A.a")
        nursery.start_soon(reply.wait)
        await wait_all_tasks_blocked()
        with pytest.raises(trio.BusyResourceError):
            await reply.wait()
        peer.reply(peer.commands[0])


@pytest.mark.parametrize("winner", ["cancel", "reply"])
async def test_of_a_reply_and_a_cancel_in_one_reader_pass_the_first_wins(peer: Any, winner: str) -> None:
    """The tap runs before the caller gets its reply, and the `where` of a later event after it."""
    scope = trio.CancelScope()
    results: list[Json] = []

    def on_output(output: object) -> None:
        if winner == "cancel" and isinstance(output, CommandDone):
            scope.cancel()

    def on_event(_event: Event) -> bool:
        scope.cancel()
        return False

    async with peer.open(taps=[on_output]) as browser, trio.open_nursery() as nursery:
        subscription = browser.subscribe("A.after", capacity=1, where=on_event)

        @nursery.start_soon
        async def _() -> None:
            with scope:
                results.append(await browser.send("A.a"))

        command = await peer.wait_for_command("A.a")
        peer.reply(command, {"n": 1})
        peer.event("A.after")
        await wait_all_tasks_blocked()
        assert results == ([{"n": 1}] if winner == "reply" else [])
        statistics = browser.statistics().router
        assert (statistics.in_flight, statistics.late_replies, statistics.abandoned) == (0, 0, 0)
        subscription.close()


async def test_a_cancel_before_the_reply_is_read_wins(peer: Any) -> None:
    async with peer.open() as browser, trio.open_nursery() as nursery:
        nursery.start_soon(browser.send, "A.a")
        command = await peer.wait_for_command("A.a")
        peer.reply(command)
        nursery.cancel_scope.cancel()
    statistics = browser.statistics().router
    assert (statistics.in_flight, statistics.abandoned) == (0, 1)


# ── replies that no task waits for ───────────────────────────────────────────────────────────────────────────────────


async def test_a_refusal_that_no_task_waits_for_is_counted_and_logged(
    peer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    peer.rules["A.refused"] = lambda command: peer.refuse(command, -32601, SECRET)
    peer.rules["A.fine"] = peer.reply
    async with peer.open() as browser:
        with caplog.at_level(logging.DEBUG, "cdp_core"):
            browser.send_nowait("A.refused", {"x": SECRET})
            browser.send_nowait("A.fine")
            browser.send_nowait("A.refused").on_end()
            observed = browser.send_nowait("A.refused")
            with pytest.raises(CommandRefused):
                await observed.wait()
            del observed
            await wait_all_tasks_blocked()
            gc.collect()
        assert browser.statistics().unobserved_refusals == 1
    records = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert [record.getMessage() for record in records] == [
        "A.refused on session (root) was refused (code -32601), and no caller waited for the reply"
    ]


async def test_a_kept_reply_does_not_keep_the_tasks_that_waited_for_it(peer: Any) -> None:
    waited: list[weakref.ref[trio.lowlevel.Task]] = []

    async def wait(reply: PendingReply[Any]) -> None:
        waited.append(weakref.ref(trio.lowlevel.current_task()))
        await failure(reply.wait)

    async with peer.open() as browser:
        replies = [browser.send_nowait("A.answered"), browser.send_nowait("A.abandoned")]
        async with trio.open_nursery() as nursery:
            for reply in replies:
                nursery.start_soon(wait, reply)
            await wait_all_tasks_blocked()
            replies[1].abandon()
            peer.refuse(peer.commands[0])
        await wait_all_tasks_blocked()
        gc.collect()
        assert [task() for task in waited] == [None, None]


async def test_on_end_calls_at_the_end_and_after_it(peer: Any) -> None:
    peer.rules["A.a"] = lambda command: peer.reply(command, {"n": 1})
    observed: list[Any] = []
    async with peer.open() as browser:
        reply = browser.send_nowait("A.a")
        reply.on_end(lambda outcome: observed.append(outcome.value))
        await wait_all_tasks_blocked()
        reply.on_end(lambda outcome: observed.append(outcome.value))
    assert observed == [{"n": 1}, {"n": 1}]


# ── types ────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_typed_commands_and_events_are_sent_and_read(peer: Any) -> None:
    peer.rules["Page.navigate"] = lambda command: peer.reply(command, {"frameId": "F1"})
    peer.rules["Page.reload"] = peer.reply
    assert isinstance(Navigate(url="x"), TypedCommand)
    async with peer.open() as browser:
        assert await browser.send(Navigate(url="about:blank")) == "F1"
        assert await browser.send_nowait(Navigate(url="x", referrer="y")).wait() == "F1"
        assert await browser.send(Reload()) is None
        with browser.expect(LifecycleEvent, where=lambda event: event.name == "load") as load:
            subscription = browser.subscribe(LifecycleEvent, capacity=3)
            for name in ("init", "load"):
                peer.event("Page.lifecycleEvent", {"name": name})
        assert await load.wait() == LifecycleEvent(name="load")
        assert [await subscription.receive(), await subscription.receive()] == [
            LifecycleEvent(name="init"),
            LifecycleEvent(name="load"),
        ]
    assert [command.get("params") for command in peer.commands] == [
        {"url": "about:blank"},
        {"url": "x", "referrer": "y"},
        None,
    ]


async def test_one_subscription_takes_typed_and_raw_events(peer: Any) -> None:
    async with peer.open() as browser:
        subscription: Any = browser.subscribe(LifecycleEvent, "A.raw", capacity=3)  # type: ignore[call-overload]
        peer.event("A.raw", {"n": 1})
        peer.event("Page.lifecycleEvent", {"name": "load"})
        raw = await subscription.receive()
        assert (raw.method, raw.params) == ("A.raw", {"n": 1})
        assert await subscription.receive() == LifecycleEvent(name="load")


@pytest.mark.parametrize("event", ["load", 7, int])
async def test_an_invalid_event_is_refused(peer: Any, event: Any) -> None:
    async with peer.open() as browser:
        for listen in (lambda: browser.subscribe(event, capacity=1), lambda: browser.expect(event)):
            with pytest.raises(InvalidArgument):
                listen()
        with pytest.raises(InvalidArgument):
            browser.subscribe_all(event, capacity=1)
        with pytest.raises(InvalidArgument):
            browser.subscribe_all(capacity=1)
        assert browser.statistics().closed is None


async def test_a_typed_event_that_cannot_be_read_fails_only_its_reader(peer: Any) -> None:
    async with peer.open() as browser:
        subscription = browser.subscribe(LifecycleEvent, capacity=3)
        expectation = browser.expect(LifecycleEvent)
        peer.event("Page.lifecycleEvent", {})
        peer.event("Page.lifecycleEvent", {"name": "load"})
        assert isinstance(await failure(subscription.receive), KeyError)
        assert await subscription.receive() == LifecycleEvent(name="load")
        assert isinstance(await failure(expectation.wait), KeyError)


# ── sessions ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_session_has_the_fields_of_its_target(peer: Any) -> None:
    async with peer.open() as browser:
        peer.attached("SESSION-LONG", "TARGET-LONG", "iframe", waiting=True)
        await wait_all_tasks_blocked()
        page = browser.sessions[SessionId("SESSION-LONG")]
        assert (page.session_id, page.target_id, page.target_type) == ("SESSION-LONG", "TARGET-LONG", "iframe")
        assert (page.parent, page.waiting_for_debugger, page.open) == (None, True, True)
        assert repr(page) == "<PageSession iframe TARGET-L session SESSION- open>"
        with page.subscribe("A.a", "A.b", capacity=1):
            assert page.statistics().subscriptions == 1
        assert page.statistics().subscriptions == 0
        page.resume()
        assert not page.waiting_for_debugger
        peer.detached("SESSION-LONG")
        await wait_all_tasks_blocked()
        assert repr(page).endswith("detached>")
        assert page.statistics().closed == "detached"
        await page.detach()  # it is detached already, so this does nothing
    assert peer.methods() == ["Runtime.runIfWaitingForDebugger"]


async def test_the_sessions_cannot_be_changed_from_outside(peer: Any) -> None:
    async with peer.open() as browser:
        with pytest.raises(TypeError):
            browser.sessions["S"] = None  # type: ignore[index]


async def detach_with(peer: Any, browser: BrowserSession, answer: Callable[[Json], object]) -> BaseException | None:
    peer.rules["Target.detachFromTarget"] = answer
    peer.attached("S1")
    await wait_all_tasks_blocked()
    page = browser.sessions[SessionId("S1")]
    try:
        with trio.fail_after(5):
            await page.detach()
    except Exception as error:
        return error
    return None


async def test_a_refused_detach_of_an_open_session_raises(peer: Any) -> None:
    async with peer.open() as browser:
        assert isinstance(await detach_with(peer, browser, peer.refuse), CommandRefused)


async def test_a_detach_succeeds_if_the_session_ends_meanwhile(peer: Any) -> None:
    def gone(command: Json) -> None:
        peer.detached(command["params"]["sessionId"])
        peer.refuse(command)

    async with peer.open() as browser:
        assert await detach_with(peer, browser, gone) is None


async def test_a_nested_session_is_detached_through_its_parent(peer: Any) -> None:
    peer.rules["Target.detachFromTarget"] = peer.reply
    async with peer.open() as browser:
        peer.attached("S1")
        peer.attached("S2", "T2", "iframe", "S1")
        await wait_all_tasks_blocked()
        await browser.sessions[SessionId("S2")].detach()
    assert peer.commands == [
        {"id": 1, "method": "Target.detachFromTarget", "params": {"sessionId": "S2"}, "sessionId": "S1"}
    ]


class Joining(MemoryTransport):
    """A transport that accepts several messages in one write, and records the size of each write."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[int] = []
        self.accepts = True

    def send_now(self, text: bytes, /) -> bool:
        return False

    def send_joined_now(self, batch: Sequence[bytes], /) -> bool:
        self.sizes.append(len(batch))
        return self.accepts

    async def send(self, batch: Sequence[bytes], /) -> None:
        self.sizes.append(len(batch))
        await trio.lowlevel.checkpoint()


@pytest.mark.parametrize(("accepts", "sizes"), [(True, [16, 16, 8]), (False, [16, 32, 40])])
async def test_many_commands_of_one_pass_are_written_early(accepts: bool, sizes: list[int]) -> None:
    transport = Joining()
    transport.accepts = accepts
    async with open_browser_session(transport) as browser:
        await wait_all_tasks_blocked()
        replies = [browser.send_nowait("A.a") for _ in range(40)]
        await wait_all_tasks_blocked()
        assert transport.sizes == sizes
        assert sum(not reply.ended for reply in replies) == 40
