"""The `open_browser_session` block: the exceptions that leave it, the order of taps, and a clean end."""

from __future__ import annotations

import enum
import functools
import gc
import logging
import math
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

import cdp_core.bindings
from cdp_core import (
    Anomaly,
    BrowserSession,
    CommandDone,
    ConnectionLost,
    Event,
    InvalidArgument,
    MemoryStatistics,
    MessageRecord,
    Output,
    PageSession,
    RemoteProtocolError,
    SessionClosed,
    SessionId,
    SessionOpened,
    TapFailed,
    TraceHeader,
    TraceWriter,
    memory_pair,
    open_browser_session,
    read_trace,
)
from support.scripted_browser import ScriptedBrowser

if sys.version_info < (3, 11):
    from exceptiongroup import BaseExceptionGroup

SECRET = "s3cr3t-p4yload"


class BodyError(Exception):
    """Raised by the body of a block."""


class TapError(Exception):
    """Raised by a tap."""


def broken_tap(_output: Output) -> None:
    raise TapError(SECRET)


def kinds(outputs: Sequence[Output]) -> list[str]:
    return [output.method if isinstance(output, Event) else type(output).__name__ for output in outputs]


async def reason_of(call: Callable[[], Awaitable[object]]) -> str:
    with pytest.raises(ConnectionLost) as caught:
        await call()
    return caught.value.reason


# ── exceptions that leave the block (nurseries are strict here, so a group would be visible) ─────────────────────────


@pytest.mark.parametrize("lost_before", [False, True])
@pytest.mark.parametrize(
    "error", [BodyError(), KeyError("x"), KeyboardInterrupt(), SystemExit(), GeneratorExit(), StopAsyncIteration()]
)
async def test_an_exception_of_the_body_leaves_the_block_unwrapped(
    peer: Any, error: BaseException, lost_before: bool
) -> None:
    with pytest.raises(type(error)) as caught:
        async with peer.open() as browser:
            if lost_before:
                await peer.hang_up()
                await browser.wait_closed()
            raise error
    assert caught.value is error
    assert not hasattr(error, "__notes__")
    assert peer.transport.closes == 1


async def test_a_command_error_leaves_the_block_unwrapped(peer: Any) -> None:
    peer.rules["A.a"] = peer.refuse
    with pytest.raises(Exception, match=r"A\.a was refused by the browser: no \(code -32000\)"):
        async with peer.open() as browser:
            await browser.send("A.a")


async def test_an_exception_group_of_the_body_leaves_unchanged(peer: Any) -> None:
    error = BaseExceptionGroup("of the body", [BodyError()])
    with pytest.raises(BaseExceptionGroup) as caught:
        async with peer.open():
            raise error
    assert caught.value is error


async def test_the_end_of_the_link_raises_nothing_from_the_block(peer: Any) -> None:
    async with peer.open() as browser:
        reply, subscription = browser.send_nowait("A.a"), browser.subscribe("A.event", capacity=1)
        expectation, target = browser.expect("A.event"), browser.targets.expect_new()
        await peer.hang_up()
        gone = await browser.wait_closed()
        assert isinstance(gone, ConnectionLost)
        assert gone.reason == "peer_closed"
        again = await browser.wait_closed()
        assert again is not gone
        for call in (reply.wait, subscription.receive, expectation.wait, target.wait, lambda: browser.send("A.a")):
            assert await reason_of(call) == "peer_closed"
        for listen in (
            lambda: browser.subscribe("A.a", capacity=1),
            lambda: browser.subscribe_all("A.a", capacity=1),
            lambda: browser.expect("A.a"),
            lambda: browser.targets.subscribe(capacity=1),
        ):
            with pytest.raises(ConnectionLost):
                listen()
        await trio.lowlevel.checkpoint()  # not cancelled
        assert "peer_closed" in repr(browser)


async def test_cancellation_passes_through_the_block(peer: Any) -> None:
    with trio.CancelScope() as scope:
        async with peer.open() as browser:
            scope.cancel()
            await browser.wait_closed()
    assert scope.cancelled_caught
    assert peer.transport.closes == 1


async def test_cancellation_after_the_body_does_no_harm(peer: Any) -> None:
    with trio.CancelScope() as scope:
        async with peer.open() as browser:
            scope.cancel()
    assert browser.statistics().closed == "closed"


@pytest.mark.parametrize("within", ["body", "nursery"])
async def test_a_tap_that_raises_ends_the_block_with_tap_failed(peer: Any, within: str) -> None:
    cancelled = False
    with pytest.raises(TapFailed) as caught:
        async with peer.open(taps=[broken_tap]) as browser:
            peer.event("A.event")
            try:
                if within == "body":
                    await trio.sleep_forever()
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(trio.sleep_forever)
                    await trio.sleep_forever()
            except BaseException:  # a nursery wraps its cancellation in a group
                cancelled = True
                raise
    assert cancelled
    assert isinstance(caught.value.__cause__, TapError)
    assert caught.value.tap == "broken_tap"
    assert SECRET not in str(caught.value)
    assert browser.statistics().closed == "tap_failed"


async def test_if_the_body_fails_too_its_exception_leaves_with_a_note(peer: Any) -> None:
    with pytest.raises(BodyError) as caught:
        async with peer.open(taps=[broken_tap]):
            peer.event("A.event")
            try:
                await trio.sleep_forever()
            except trio.Cancelled:
                raise BodyError from None
    (note,) = caught.value.__notes__
    assert note.startswith("The tap broken_tap raised an exception")


async def test_a_tap_that_raises_during_an_outer_cancellation_is_the_reason_of_the_end(peer: Any) -> None:
    with trio.CancelScope() as scope:
        async with peer.open(taps=[broken_tap]) as browser:
            peer.event("A.event")
            try:
                await trio.sleep_forever()
            finally:
                scope.cancel()
    assert browser.statistics().closed == "tap_failed"


async def test_a_tap_that_raises_while_the_link_closes_raises_tap_failed(peer: Any) -> None:
    """Closing ends the commands in flight, which the taps see: the block raises even after its body."""
    with pytest.raises(TapFailed):
        async with peer.open(taps=[broken_tap]) as browser:
            browser.send_nowait("A.a")


@pytest.mark.parametrize(
    "trigger", ["Target.detachedFromTarget", "CommandDone", "SessionClosed", "Target.attachedToTarget", "SessionOpened"]
)
async def test_when_a_tap_raises_every_command_session_and_subscription_ends(peer: Any, trigger: str) -> None:
    """This holds for any output at which the tap raises: tasks outside the block wait for commands too."""
    seen: list[Output] = []

    def picky_tap(output: Output) -> None:
        if kinds([output]) == [trigger] and armed:
            raise TapError

    armed = False
    replies, sessions, subscriptions = [], [], []
    with pytest.raises(TapFailed):
        async with peer.open(taps=[picky_tap, seen.append]) as browser:
            peer.attached("S1")
            peer.attached("S2", "T2", parent="S1")
            await wait_all_tasks_blocked()
            sessions = list(browser.sessions.values())
            replies = [session.send_nowait("A.a") for session in (browser, *sessions)]
            subscriptions = [session.subscribe("A.a", capacity=1) for session in (browser, *sessions)]
            armed = True
            peer.detached("S1")
            peer.attached("S3")
            await trio.sleep_forever()
    assert all(reply.ended for reply in replies)
    assert not any(session.open for session in sessions)
    assert not browser.sessions
    assert browser.statistics().router.in_flight == 0
    for subscription in subscriptions:
        with pytest.raises((ConnectionLost, Exception)) as caught:
            subscription.receive_nowait()
        assert not isinstance(caught.value, trio.WouldBlock)
    done = [output.id for output in seen if isinstance(output, CommandDone)]
    assert sorted(done) == [reply.id for reply in replies]  # the other tap lost nothing
    opened = [output.session_id for output in seen if isinstance(output, SessionOpened)]
    closed = [output.session_id for output in seen if isinstance(output, SessionClosed)]
    assert sorted(opened) == sorted(closed)


# ── taps ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_tap_sees_every_output_first_and_in_order(peer: Any) -> None:
    calls: list[str] = []

    def note(event: Event) -> bool:
        calls.append(f"subscription {event.method}")
        return True

    async with peer.open(taps=[lambda output: calls.append(f"tap {kinds([output])[0]}")]) as browser:
        subscription = browser.subscribe("A.one", "A.two", capacity=9, where=note)
        browser.send_nowait("A.a").on_end(lambda _outcome: calls.append("caller"))
        peer.event("A.one")
        peer.reply(peer.commands[0])
        peer.attached("S1")
        peer.event("A.two")
        peer.event("A.on_session", session="S1")
        peer.detached("S1")
        peer.send(b"[]", {"id": 99, "result": {}})
        await wait_all_tasks_blocked()
        subscription.close()
    assert calls == [
        "tap A.one",
        "subscription A.one",
        "tap CommandDone",
        "caller",
        "tap SessionOpened",
        "tap Target.attachedToTarget",
        "tap A.two",
        "subscription A.two",
        "tap A.on_session",
        "tap Target.detachedFromTarget",
        "tap SessionClosed",
        "tap Anomaly",
        "tap Anomaly",
    ]


async def test_the_session_table_changes_before_the_taps_run(peer: Any) -> None:
    states: list[tuple[str, bool, bool]] = []
    browser: BrowserSession
    page: PageSession | None = None

    def look(output: Output) -> None:
        nonlocal page
        if isinstance(output, SessionOpened):
            page = browser.sessions[output.session_id]
        if isinstance(output, (SessionOpened, SessionClosed)):
            states.append((type(output).__name__, output.session_id in browser.sessions, page is not None))

    async with peer.open(taps=[look]) as browser:
        peer.attached("S1")
        peer.detached("S1")
        await wait_all_tasks_blocked()
    assert states == [("SessionOpened", True, True), ("SessionClosed", False, True)]


async def test_a_later_tap_receives_the_open_sessions_and_then_all_outputs(peer: Any) -> None:
    async with peer.open() as browser:
        peer.attached("S1")
        peer.attached("S2", "T2", parent="S1")
        await wait_all_tasks_blocked()
        seen: list[Output] = []
        with browser.tap(seen.append) as already:
            assert [each.session_id for each in already if isinstance(each, SessionOpened)] == ["S1", "S2"]
            peer.event("A.seen")
            await wait_all_tasks_blocked()
        peer.event("A.unseen")
        await wait_all_tasks_blocked()
    assert kinds(seen) == ["A.seen"]


async def test_a_later_tap_receives_the_known_targets(peer: Any) -> None:
    """They come as `Target.targetCreated` events after the sessions, without destroyed targets."""
    peer.rules["Target.setDiscoverTargets"] = peer.reply
    async with peer.open() as browser:
        await browser.targets.list()
        info = {"targetId": "T1", "type": "page", "title": "", "url": "u", "attached": False, "canAccessOpener": True}
        for changes in ({}, {"targetId": "T2"}, {"targetId": "T3"}):
            peer.event("Target.targetCreated", {"targetInfo": info | changes})
        peer.event("Target.targetInfoChanged", {"targetInfo": info | {"title": "new \ud800"}})
        peer.event("Target.targetDestroyed", {"targetId": "T2"})
        peer.attached("S3", "T3")
        await wait_all_tasks_blocked()
        with browser.tap(lambda _output: None) as already:
            assert kinds(already) == ["SessionOpened", "Target.targetCreated", "Target.targetCreated"]
            announced = [each.params["targetInfo"] for each in already if isinstance(each, Event)]
    assert announced[0] == info | {"title": "new \ud800"}
    assert (announced[1]["targetId"], announced[1]["attached"], announced[1]["url"]) == ("T3", True, "u")


async def test_a_tap_added_or_removed_during_a_delivery_counts_from_the_next_output(peer: Any) -> None:
    """Each output goes to the taps that were registered when it arrived."""
    one, two, three = [], [], []

    def first(output: Output) -> None:
        one.append(output)
        if kinds([output]) == ["A.1"]:
            late.__enter__()
            early.__exit__(None, None, None)

    async with peer.open(taps=[first]) as browser:
        early = browser.tap(two.append)
        early.__enter__()
        late = browser.tap(three.append)
        for number in range(3):
            peer.event(f"A.{number}")
        await wait_all_tasks_blocked()
        late.__exit__(None, None, None)
    assert [kinds(seen) for seen in (one, two, three)] == [["A.0", "A.1", "A.2"], ["A.0", "A.1"], ["A.2"]]


async def test_a_tap_may_send_and_subscribe(peer: Any) -> None:
    subscriptions: list[Any] = []

    def tap(output: Output) -> None:
        if kinds([output]) == ["A.first"]:
            browser.send_nowait("B.b")
            subscriptions.append(browser.subscribe("A.first", "A.second", capacity=2))

    async with peer.open(taps=[tap]) as browser:
        peer.event("A.first")
        peer.event("A.second")
        await peer.wait_for_command("B.b")
        # The tap subscribed before the first event was handed on, so the subscription receives that event too.
        assert [(await subscriptions[0].receive()).method for _ in range(2)] == ["A.first", "A.second"]


async def test_a_closed_tap_sees_no_later_output(peer: Any) -> None:
    seen: list[Output] = []
    async with peer.open() as browser:
        with browser.tap(seen.append), browser.tap(lambda _output: None):
            pass
        peer.event("A.a")
        await wait_all_tasks_blocked()
    assert not seen


# ── the end of the block ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("direct", [True, False])
async def test_commands_sent_without_waiting_are_written_before_the_block_ends(direct: bool) -> None:
    peer = ScriptedBrowser(direct=direct)
    async with peer.open() as browser:
        for number in range(300):
            browser.send_nowait("A.a", {"n": number})
    assert [command["params"]["n"] for command in peer.commands] == list(range(300))


async def test_a_peer_that_reads_nothing_delays_the_end_by_close_timeout_at_most(
    peer: Any, autojump_clock: MockClock
) -> None:
    peer.stalled = True
    async with peer.open(close_timeout=3.0) as browser:
        await wait_all_tasks_blocked()
        browser.send_nowait("A.a")
        start = trio.current_time()
    assert trio.current_time() - start == pytest.approx(3.0)
    assert browser.statistics().router.in_flight == 0


async def test_a_body_that_failed_does_not_wait_for_the_writer(peer: Any, autojump_clock: MockClock) -> None:
    peer.stalled = True
    start = trio.current_time()
    with pytest.raises(BodyError):
        async with peer.open() as browser:
            browser.send_nowait("A.a")
            raise BodyError
    assert trio.current_time() == start


async def test_commands_in_flight_end_with_the_block(peer: Any) -> None:
    async with peer.open() as browser:
        peer.attached("S1")
        await wait_all_tasks_blocked()
        page = browser.sessions[SessionId("S1")]
        replies = [browser.send_nowait("A.a"), page.send_nowait("A.b")]
        subscription = page.subscribe("A.event", capacity=1)
    for call in (*[reply.wait for reply in replies], subscription.receive, lambda: page.send("A.a")):
        assert await reason_of(call) == "closed"
    assert (await browser.wait_closed()).reason == "closed"


class OddTransport:
    """A transport that raises `error` from receive or send; with `hangs` its close never finishes."""

    def __init__(self, error: Exception | None = None, *, in_send: bool = False, hangs: bool = False) -> None:
        self.error, self.in_send, self.hangs = error, in_send, hangs

    async def receive(self) -> Sequence[bytes]:
        await trio.lowlevel.checkpoint()
        if self.error is None or self.in_send:
            await trio.sleep_forever()
        assert self.error is not None
        raise self.error

    async def send(self, batch: Sequence[bytes], /) -> None:
        await trio.lowlevel.checkpoint()
        if self.error is not None:
            raise self.error

    async def aclose(self) -> None:
        await trio.lowlevel.checkpoint()
        if self.hangs:
            await trio.sleep_forever()


@pytest.mark.parametrize(
    ("error", "reason", "code"),
    [
        (trio.EndOfChannel(), "peer_closed", None),
        (trio.ClosedResourceError(), "closed", None),
        (trio.BrokenResourceError(), "broken", 1006),
        (OSError(), "broken", 1006),
        (ConnectionLost("Mine.", reason="mine", close_code=1001), "mine", 1001),
        (RemoteProtocolError("Odd.", close_code=1002), "protocol_error", 1002),
    ],
)
async def test_the_error_of_a_foreign_transport_becomes_the_reason(
    error: Exception, reason: str, code: int | None
) -> None:
    async with open_browser_session(OddTransport(error)) as browser:
        gone = await browser.wait_closed()
        assert isinstance(gone, ConnectionLost)
        assert (gone.reason, gone.close_code) == (reason, code)


@pytest.mark.parametrize(
    ("batch", "word"),
    [
        (['{"id":1,"result":{}}'], "a str"),
        ([None], "a NoneType"),
        (b"{}", "a int"),
        (None, "a NoneType"),
        ({}, "a dict"),
    ],
)
@pytest.mark.parametrize("traced", [False, True])
async def test_a_foreign_transport_that_returns_other_types_ends_the_link(
    batch: Any, word: str, traced: bool, tmp_path: Path
) -> None:
    """The error informs the author of the transport; the reader task does not crash."""

    class WrongType(OddTransport):
        async def receive(self) -> Any:
            await trio.lowlevel.checkpoint()
            return batch

    async with open_browser_session(WrongType(), trace=tmp_path / "trace" if traced else None) as browser:
        with trio.fail_after(5), pytest.raises(ConnectionLost, match=word) as caught:
            await browser.send("A.a")
        assert caught.value.reason == "protocol_error"
        assert isinstance(caught.value.__cause__, RemoteProtocolError)


async def test_a_fault_of_the_peer_is_the_cause_of_each_loss() -> None:
    """The error also names the method of the command that the message answered."""
    fault = RemoteProtocolError("A message was too large; raise the limit.", close_code=1009, command_id=1)

    class Faulty(OddTransport):
        async def receive(self) -> Sequence[bytes]:
            await sent.wait()
            raise fault

        async def send(self, batch: Sequence[bytes], /) -> None:
            sent.set()

    sent = trio.Event()
    async with open_browser_session(Faulty()) as browser:
        with pytest.raises(ConnectionLost) as caught:
            await browser.send("Page.captureScreenshot")
        cause = caught.value.__cause__
        assert isinstance(cause, RemoteProtocolError)
        assert cause.close_code == caught.value.close_code == 1009
        assert "It was the reply to Page.captureScreenshot." in str(caught.value)
        with pytest.raises(ConnectionLost) as again:
            await browser.send("A.a")
        assert again.value.__cause__ is not cause


TIMEOUTS = ("connect_timeout", "handshake_timeout", "close_timeout")


async def test_no_text_of_the_peer_appears_in_the_log(peer: Any, caplog: pytest.LogCaptureFixture) -> None:
    """A method name, a target type or an id from the peer may be any text of any length."""
    secret = "s3cr3t"
    with caplog.at_level(logging.DEBUG, "cdp_core"):
        async with peer.open() as browser:
            for odd in (f"{secret} x", f"Page.x\n{secret}", f"A.{secret * 50}"):
                peer.event(odd, {}, f" {odd}")
                peer.attached(f" {odd}", f" {odd}", odd)
                peer.attached(f" {odd}", f" {odd}", odd)
                await wait_all_tasks_blocked()
                page = browser.sessions[SessionId(f" {odd}")]
                assert secret not in repr(page)
                peer.refuse({"id": page.send_nowait("A.a").id, "sessionId": page.session_id})
                peer.detached(f" {odd}")
                await wait_all_tasks_blocked()
                del page
                gc.collect()
            peer.event("Page.known", {}, "0123456789abcdef")
            await wait_all_tasks_blocked()
    messages = [record.getMessage() for record in caplog.records]
    assert any("fits nowhere" in message for message in messages)
    assert any("was refused" in message for message in messages)
    assert any("session 01234567)" in message and "Page.known" in message for message in messages)
    for message in messages:
        assert secret not in message
        assert len(message) < 200


class WithoutSend:
    """An object with only `receive`, which is not enough for a transport."""

    def receive(self) -> None: ...


async def async_tap(_output: Output) -> None: ...


class AsyncTap:
    async def __call__(self, _output: Output) -> None: ...


@pytest.mark.parametrize("where", [None, 5, b"ws://127.0.0.1:1/", ["ws://127.0.0.1:1/"], WithoutSend(), OddTransport])
async def test_a_value_that_is_neither_an_address_nor_a_transport_is_refused(where: Any) -> None:
    with pytest.raises(InvalidArgument, match="address"):
        async with open_browser_session(where):
            raise AssertionError


@pytest.mark.parametrize(
    "options",
    [
        *({name: value} for name in TIMEOUTS for value in (None, "5", 0, -1, math.nan, math.inf, True, [])),
        *({"max_message_bytes": value} for value in (None, "5", 5, 1e6, math.inf)),
        *({"taps": value} for value in (print, "ab", None, [5], {print}, [async_tap], [AsyncTap()])),
        {"taps": [functools.partial(async_tap, None)]},
        *({"trace": value} for value in (5, [], object())),
        *({"strict": value} for value in ("no", None, 1)),
        *({"ssl_context": value} for value in (True, "x")),
        *({"headers": value} for value in (None, {"X": 5}, "X: a")),
    ],
)
@pytest.mark.parametrize("where", ["ws://127.0.0.1:1/devtools/browser/x", "http://127.0.0.1:1", "transport"])
async def test_wrong_arguments_are_refused_before_anything_is_dialled(
    where: Any, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def dial(*_args: object, **_options: object) -> None:
        raise AssertionError("it dialled")

    monkeypatch.setattr(trio, "open_tcp_stream", dial)
    with pytest.raises(InvalidArgument):
        async with open_browser_session(OddTransport() if where == "transport" else where, **options):
            raise AssertionError


async def test_a_later_tap_that_is_not_a_plain_function_is_refused(peer: Any) -> None:
    async with peer.open() as browser:
        for tap in (None, 5, async_tap, AsyncTap()):
            with pytest.raises(InvalidArgument, match="tap"), browser.tap(tap):
                raise AssertionError


class Names(str, enum.Enum):
    """An enum with string values, like `StrEnum`, which Python 3.10 does not have."""

    ENABLE = "Page.enable"
    LOADED = "Page.loadEventFired"
    PAGE = "Page"


async def test_members_of_an_enum_stand_for_their_values(peer: Any) -> None:
    peer.rules["Page.enable"] = peer.reply
    async with peer.open() as browser:
        assert await browser.send(Names.ENABLE) == {}
        assert browser.send_nowait(Names.ENABLE).method == "Page.enable"
        async with browser.enabled(Names.PAGE):
            assert browser.session_statistics().leases == {"Page": 1}
        with browser.subscribe(Names.LOADED, capacity=1) as events, browser.expect(Names.LOADED) as loaded:
            peer.event("Page.loadEventFired")
            assert (await events.receive()).method == "Page.loadEventFired"
            await loaded.wait()
    assert peer.methods() == ["Page.enable"] * 3  # it was enabled before the lease


@pytest.mark.parametrize("error", [trio.BrokenResourceError(), trio.ClosedResourceError(), OSError()])
async def test_a_broken_write_ends_the_link_after_the_reader_had_time_to_find_the_reason(
    autojump_clock: MockClock, error: Exception
) -> None:
    async with open_browser_session(OddTransport(error, in_send=True), close_timeout=4.0) as browser:
        start = trio.current_time()
        assert await reason_of(lambda: browser.send("A.a")) == "broken"
        assert trio.current_time() - start == pytest.approx(4.0)


async def test_a_foreign_transport_whose_close_hangs_is_given_up(autojump_clock: MockClock) -> None:
    start = trio.current_time()
    async with open_browser_session(OddTransport(hangs=True), close_timeout=2.0):
        pass
    assert trio.current_time() - start == pytest.approx(3.0)


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
async def test_an_invalid_close_timeout_is_refused(peer: Any, seconds: float) -> None:
    with pytest.raises(InvalidArgument):
        async with peer.open(close_timeout=seconds):
            pass


# ── odd messages ─────────────────────────────────────────────────────────────────────────────────────────────────────

ODD = [
    b"",
    b"x",
    b"[]",
    b"7",
    b"{}",
    b"\xff\xfe",
    b"[" * 100_000,
    b'{"id":1.5}',
    b'{"id":77,"result":{}}',
    b'{"error":{"code":-32700,"message":"s3cr3t-p4yload"}}',
    b'{"method":"A.a","sessionId":"s3cr3t-p4yload-session"}',
    b'{"method":"A.a","sessionId":7}',
    b'{"method":"Target.attachedToTarget","params":[1]}',
    b'{"method":"Target.attachedToTarget","params":{"sessionId":7}}',
    b'{"method":"Target.detachedFromTarget","params":"s3cr3t-p4yload"}',
]


@pytest.mark.parametrize("auto_attach", [False, True])
async def test_no_message_of_the_browser_ends_the_link(peer: Any, auto_attach: bool) -> None:
    seen: list[Output] = []
    peer.rules["Target.setAutoAttach"] = peer.reply
    async with AsyncExitStack() as stack:
        browser = await stack.enter_async_context(peer.open(taps=[seen.append]))
        if auto_attach:
            await stack.enter_async_context(browser.targets.auto_attach(capacity=9))
        await stack.enter_async_context(browser.enabled("Page", wait=0))
        browser.targets.subscribe(capacity=9)
        never = browser.send_nowait("A.never")
        peer.send(*ODD)
        await wait_all_tasks_blocked()
        assert browser.statistics().closed is None
        anomalies = [output for output in seen if isinstance(output, Anomaly)]
        assert sum(browser.statistics().router.anomalies.values()) == len(anomalies) == len(ODD)
        peer.reply(peer.of("A.never")[0])
        peer.event("A.fine")
        assert await never.wait() == {}
        assert kinds(seen)[-1] == "A.fine"


async def test_strict_ends_the_link_at_the_first_odd_message() -> None:
    for odd in ODD:
        peer = ScriptedBrowser()
        async with peer.open(strict=True) as browser:
            reply = browser.send_nowait("A.a")
            peer.send(odd)
            assert await reason_of(reply.wait) == "strict"
            assert SECRET not in str(await browser.wait_closed())


async def test_a_link_that_has_ended_is_not_read_any_more(peer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, receive = 0, peer.transport.receive

    async def counting() -> Any:
        nonlocal asked
        asked += 1
        return await receive()

    monkeypatch.setattr(peer.transport, "receive", counting)
    async with peer.open(strict=True) as browser:
        await wait_all_tasks_blocked()
        before = asked
        peer.send(b"[]")
        await browser.wait_closed()
        await wait_all_tasks_blocked()
        assert asked == before == 1


async def test_strict_allows_normal_messages(peer: Any) -> None:
    async with peer.open(strict=True) as browser:
        with trio.move_on_after(0.01):
            await browser.send("A.abandoned")
        peer.reply(peer.commands[0])  # late
        peer.attached("S1")
        peer.detached("S1")
        peer.detached("S1")  # the session had ended already
        peer.event("Unknown.event", {"odd": []})
        await wait_all_tasks_blocked()
        assert browser.statistics().closed is None


async def test_no_payload_appears_in_any_log_record_or_error(peer: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "cdp_core")
    errors: list[BaseException] = []
    peer.rules["A.refused"] = peer.refuse
    async with peer.open() as browser:
        subscription = browser.subscribe("A.event", capacity=1)
        browser.send_nowait("A.refused", {"text": SECRET})
        pending = browser.send_nowait("A.a", {"text": SECRET})
        bad = browser.send_nowait("A.bad", {"text": SECRET})
        peer.send(*ODD, b'{"id":%d,"result":"%s"}' % (bad.id, SECRET.encode()))
        peer.send(b'{"id":%d,"result":{"x":"%s\xff"}}' % (bad.id, SECRET.encode()))
        peer.event("A.event", {"text": SECRET})
        peer.event("A.event", {"text": SECRET})
        peer.send(b'{"method":"A.event","params":["%s"]}' % SECRET.encode())
        await wait_all_tasks_blocked()
        await subscription.receive()
        for call in (bad.wait, subscription.receive, lambda: browser.send("A.a", {"text": [SECRET, b""]})):
            with pytest.raises(Exception) as caught:  # noqa: PT011 - of any class
                await call()
            errors.append(caught.value)
        await peer.hang_up()
        errors.append(await browser.wait_closed())
        with pytest.raises(ConnectionLost) as caught:
            await pending.wait()
        errors.append(caught.value)
    logged = [record.getMessage() for record in caplog.records]
    assert logged
    assert len(errors) == 5
    for text in [*logged, *map(str, errors), *map(repr, errors)]:
        assert SECRET not in text
    assert all(
        record.levelno < logging.ERROR for record in caplog.records
    )  # faults of the peer are not logged as errors


async def test_each_kind_of_anomaly_is_logged_as_a_warning_once(peer: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "cdp_core.link")
    async with peer.open():
        peer.send(*[b"[]"] * 5, *[{"method": "A.a", "sessionId": "S"}] * 5)
        await wait_all_tasks_blocked()
    levels = [record.levelname for record in caplog.records if "fits nowhere" in record.getMessage()]
    assert levels == (["WARNING"] + ["DEBUG"] * 4) * 2


# ── statistics and traces ────────────────────────────────────────────────────────────────────────────────────────────


async def test_statistics_count_commands_sessions_and_the_outbox(peer: Any) -> None:
    async with peer.open() as browser:
        assert repr(browser) == "<BrowserSession 0 sessions, open>"
        peer.attached("S1")
        await wait_all_tasks_blocked()
        browser.send_nowait("A.a")
        peer.stalled = True
        browser.send_nowait("A.b")
        browser.send_nowait("A.c")
        statistics = browser.statistics()
        assert (statistics.batches, statistics.outbox, statistics.closed) == (1, 2, None)
        assert statistics.outbox_bytes == 2 * len(b'{"id":2,"method":"A.b"}')
        assert (statistics.router.commands, statistics.router.in_flight, statistics.router.sessions) == (3, 3, 1)
        peer.flow()
        assert statistics.transport is None  # this transport has no statistics
    statistics = browser.statistics()
    assert (statistics.outbox, statistics.outbox_bytes, statistics.closed) == (0, 0, "closed")
    assert (statistics.router.in_flight, statistics.router.sessions) == (0, 0)


@pytest.mark.parametrize("traced", [False, True])
async def test_the_statistics_include_those_of_the_transport(tmp_path: Path, traced: bool) -> None:
    near, far = memory_pair()
    async with open_browser_session(near, trace=tmp_path / "trace" if traced else None) as browser:
        browser.send_nowait("A.a")
        await wait_all_tasks_blocked()
        assert browser.statistics().transport == MemoryStatistics(sent=1, received=0, waiting=0)
    await far.aclose()


@pytest.mark.parametrize("own", [True, False])
async def test_a_trace_holds_both_directions(peer: Any, tmp_path: Path, own: bool) -> None:
    path = tmp_path / "trace.jsonl"
    peer.rules["A.a"] = peer.reply
    writer = TraceWriter(path) if own else None
    async with peer.open(trace=writer or path) as browser:
        await browser.send("A.a")
    if writer is not None:
        assert writer.statistics().stopped is None  # the code that made the writer closes it
        writer.close()
    [header, *_] = read_trace(path)
    assert isinstance(header, TraceHeader)
    assert header.protocol == cdp_core.bindings.PROTOCOL
    records = [record for record in read_trace(path) if isinstance(record, MessageRecord)]
    assert {(record.direction, record.text) for record in records} == {
        ("out", b'{"id":1,"method":"A.a"}'),
        ("in", b'{"id": 1, "result": {}}'),
    }
