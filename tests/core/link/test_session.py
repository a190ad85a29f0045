"""Commands: each ends exactly once, with what came first, and a cancelled caller sends or leaves nothing."""

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
    """A typed command as generated code makes it."""

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
    """A typed event as generated code makes it."""

    name: str
    __cdp_method__: ClassVar[str] = "Page.lifecycleEvent"

    @classmethod
    def __cdp_read__(cls, event: Event, /) -> LifecycleEvent:
        return cls(name=event.params["name"])


async def failure(call: Callable[[], Any]) -> BaseException:
    with pytest.raises(BaseException) as caught:  # noqa: PT011 - told apart by the caller
        await call()
    return caught.value


# ── ends ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_result(peer: Any) -> None:
    peer.rules["Browser.getVersion"] = lambda command: peer.reply(command, {"product": "Chrome/156"})
    async with peer.open() as browser:
        with assert_checkpoints():
            assert await browser.send("Browser.getVersion") == {"product": "Chrome/156"}
        assert browser.statistics().router.in_flight == 0
    assert peer.commands == [{"id": 1, "method": "Browser.getVersion"}]


async def test_a_command_of_a_session_carries_it(peer: Any) -> None:
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
async def test_what_the_command_needed_has_ended(peer: Any, waiting: bool) -> None:
    """In flight, and afterwards: the same class; a crash ends what is in flight and nothing else."""
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


async def test_a_malformed_reply_ends_its_command_alone(peer: Any) -> None:
    async with peer.open() as browser:
        bad, good = browser.send_nowait("A.a"), browser.send_nowait("B.b")
        peer.send(b'{"id":%d,"result":{"x":\xff}}' % bad.id)
        peer.reply(peer.commands[1], {"y": 1})
        error = await failure(bad.wait)
        assert isinstance(error, RemoteProtocolError)
        assert "A.a" in str(error)
        assert await good.wait() == {"y": 1}


async def test_a_result_that_is_no_object(peer: Any) -> None:
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


# ── what cannot be sent ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("command", "params"),
    [
        *(("A.a", {"x": float("nan")}), ("A.a", {1: 2}), ("A.a", {"x": b""}), ("A.a", 5), ("A.a", [1]), ("", None)),
        *((Navigate(url="x"), {"url": "y"}), (None, None), (5, None), (b"A.a", None), (Navigate, None), ([], None)),
    ],
)
async def test_a_bad_argument_is_told_and_nothing_is_sent(peer: Any, command: Any, params: Any) -> None:
    async with peer.open() as browser:
        with pytest.raises(InvalidArgument):
            await browser.send(command, params)
        with pytest.raises(InvalidArgument):
            browser.send_nowait(command, params)
        assert browser.statistics().router.commands == 0
        await wait_all_tasks_blocked()
    assert not peer.commands


@pytest.mark.parametrize("direct", [True, False])
async def test_too_much_that_waits_to_be_written_is_refused(direct: bool) -> None:
    peer = ScriptedBrowser(direct=direct)
    peer.stalled = True
    part = {"text": "x" * (17 * 2**20)}
    async with peer.open() as browser:
        await wait_all_tasks_blocked()
        first = browser.send_nowait("A.first", part)
        await wait_all_tasks_blocked()  # with the writer now, which waits
        replies = [browser.send_nowait("A.a", part) for _ in range(4)]
        assert browser.statistics().outbox_bytes > 64 * 2**20
        with pytest.raises(LocalProtocolError) as caught:
            browser.send_nowait("A.last")
        assert caught.value.reason == "outbox_full"
        assert browser.statistics().router.in_flight == 5
        few = browser.send_nowait("A.few", bounded=False)  # whoever sends it has a bound of its own
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
        # Else the writer's hands still hold it when the next test looks at memory.
    peer.commands.clear()


async def test_several_that_wait_are_one_write() -> None:
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


async def test_a_cancelled_wait_gives_the_command_up(peer: Any) -> None:
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


async def test_who_waits_for_a_command_that_is_given_up_hears_of_it(peer: Any) -> None:
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
        errors.append(await failure(reply.wait))  # and whoever comes later
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


async def test_a_command_given_up_after_its_end_keeps_its_end(peer: Any) -> None:
    peer.rules["A.a"] = lambda command: peer.reply(command, {"n": 1})
    async with peer.open() as browser:
        reply = browser.send_nowait("A.a")
        await wait_all_tasks_blocked()
        reply.abandon()
        assert await reply.wait() == {"n": 1}
        assert browser.statistics().router.abandoned == 0


@pytest.mark.parametrize("joined", [False, True])
async def test_a_transport_that_raises_as_it_sends_leaves_nothing_in_flight(peer: Any, joined: bool) -> None:
    """Both short ways; what others sent before is not taken back."""

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
        count = 16 + 2 if joined else 0  # so many wait in one pass before they are written early
        for _number in range(count - 1):
            browser.send_nowait("A.before")
        peer.transport.broken = True
        with pytest.raises(trio.BrokenResourceError):
            browser.send_nowait("A.broken")
        assert browser.statistics().router.in_flight == len(browser._link._waiters) == max(count - 1, 0)
        await wait_all_tasks_blocked()
        assert peer.methods() == ["A.before"] * max(count - 1, 0)


async def test_a_wait_for_a_pending_reply_may_be_begun_again(peer: Any) -> None:
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


async def test_two_cannot_wait_for_one_reply(peer: Any) -> None:
    async with peer.open() as browser, trio.open_nursery() as nursery:
        reply = browser.send_nowait("A.a")
        nursery.start_soon(reply.wait)
        await wait_all_tasks_blocked()
        with pytest.raises(trio.BusyResourceError):
            await reply.wait()
        peer.reply(peer.commands[0])


@pytest.mark.parametrize("winner", ["cancel", "reply"])
async def test_of_a_reply_and_a_cancel_in_one_turn_the_first_wins(peer: Any, winner: str) -> None:
    """The tap runs before the caller is told, `where` of an event behind the reply runs after it: one turn of the reader."""
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


# ── nobody waits ─────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_refusal_that_nobody_hears_is_counted_and_logged(peer: Any, caplog: pytest.LogCaptureFixture) -> None:
    peer.rules["A.refused"] = lambda command: peer.refuse(command, -32601, SECRET)
    peer.rules["A.fine"] = peer.reply
    async with peer.open() as browser:
        with caplog.at_level(logging.DEBUG, "cdp_core"):
            browser.send_nowait("A.refused", {"x": SECRET})
            browser.send_nowait("A.fine")
            browser.send_nowait("A.refused").on_end()
            heard = browser.send_nowait("A.refused")
            with pytest.raises(CommandRefused):
                await heard.wait()
            del heard
            await wait_all_tasks_blocked()
            gc.collect()
        assert browser.statistics().unobserved_refusals == 1
    records = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert [record.getMessage() for record in records] == [
        "A.refused on session (root) was refused (code -32601), and no caller waited for the reply"
    ]


async def test_a_reply_that_is_kept_keeps_nobody_who_waited(peer: Any) -> None:
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


async def test_on_end_hears_now_and_later(peer: Any) -> None:
    peer.rules["A.a"] = lambda command: peer.reply(command, {"n": 1})
    heard: list[Any] = []
    async with peer.open() as browser:
        reply = browser.send_nowait("A.a")
        reply.on_end(lambda outcome: heard.append(outcome.value))
        await wait_all_tasks_blocked()
        reply.on_end(lambda outcome: heard.append(outcome.value))
    assert heard == [{"n": 1}, {"n": 1}]


# ── types ────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_typed_commands_and_events(peer: Any) -> None:
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


async def test_typed_and_raw_events_in_one_subscription(peer: Any) -> None:
    async with peer.open() as browser:
        subscription: Any = browser.subscribe(LifecycleEvent, "A.raw", capacity=3)  # type: ignore[call-overload]
        peer.event("A.raw", {"n": 1})
        peer.event("Page.lifecycleEvent", {"name": "load"})
        raw = await subscription.receive()
        assert (raw.method, raw.params) == ("A.raw", {"n": 1})
        assert await subscription.receive() == LifecycleEvent(name="load")


@pytest.mark.parametrize("event", ["load", 7, int])
async def test_what_is_no_event(peer: Any, event: Any) -> None:
    async with peer.open() as browser:
        for listen in (lambda: browser.subscribe(event, capacity=1), lambda: browser.expect(event)):
            with pytest.raises(InvalidArgument):
                listen()
        with pytest.raises(InvalidArgument):
            browser.subscribe_all(event, capacity=1)
        with pytest.raises(InvalidArgument):
            browser.subscribe_all(capacity=1)
        assert browser.statistics().closed is None


async def test_a_typed_event_that_cannot_be_read_is_its_readers_alone(peer: Any) -> None:
    async with peer.open() as browser:
        subscription = browser.subscribe(LifecycleEvent, capacity=3)
        expectation = browser.expect(LifecycleEvent)
        peer.event("Page.lifecycleEvent", {})
        peer.event("Page.lifecycleEvent", {"name": "load"})
        assert isinstance(await failure(subscription.receive), KeyError)
        assert await subscription.receive() == LifecycleEvent(name="load")
        assert isinstance(await failure(expectation.wait), KeyError)


# ── sessions ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_session_knows_what_it_is(peer: Any) -> None:
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
        await page.detach()  # it is what was wanted
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


async def test_detach_is_refused_although_the_session_lives(peer: Any) -> None:
    async with peer.open() as browser:
        assert isinstance(await detach_with(peer, browser, peer.refuse), CommandRefused)


async def test_detach_of_what_ends_meanwhile_is_what_was_wanted(peer: Any) -> None:
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
    """A transport that takes several messages in one write; it keeps what it was given in which portions."""

    def __init__(self) -> None:
        super().__init__()
        self.portions: list[int] = []
        self.willing = True

    def send_now(self, text: bytes, /) -> bool:
        return False

    def send_joined_now(self, batch: Sequence[bytes], /) -> bool:
        self.portions.append(len(batch))
        return self.willing

    async def send(self, batch: Sequence[bytes], /) -> None:
        self.portions.append(len(batch))
        await trio.lowlevel.checkpoint()


@pytest.mark.parametrize(("willing", "portions"), [(True, [16, 16, 8]), (False, [16, 32, 40])])
async def test_many_commands_of_one_pass_begin_to_go_out_early(willing: bool, portions: list[int]) -> None:
    link = Joining()
    link.willing = willing
    async with open_browser_session(link) as browser:
        await wait_all_tasks_blocked()
        replies = [browser.send_nowait("A.a") for _ in range(40)]
        await wait_all_tasks_blocked()
        assert link.portions == portions
        assert sum(not reply.ended for reply in replies) == 40
