"""The engine on trio against generated programs, and cancelled at every checkpoint.

A program is a list of steps, run inside one `trio.run` on a mock clock; the browser in it answers late, never, twice or
wrongly. The laws: every command ends exactly once, no entry and no task is left, every subscription ends with the error
that gives the reason. Cancellation is exhaustive, not random: run 0 counts the checkpoints, run k cancels at the k-th.
"""

from __future__ import annotations

import base64
import hashlib
import json
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio
from hypothesis import example, given
from hypothesis import strategies as st
from trio.testing import MockClock, wait_all_tasks_blocked

from cdp_core import (
    CommandDone,
    CommandRefused,
    ConnectionLost,
    Event,
    Gone,
    Json,
    LocalProtocolError,
    Output,
    PendingReply,
    RemoteProtocolError,
    Result,
    SessionClosed,
    SessionId,
    SessionOpened,
    Subscription,
    open_browser_session,
)
from support.cancellation import cancelled_at
from support.scripted_browser import ScriptedBrowser

SESSIONS = ("S1", "S2", "S3", "S4")
PARENTS = {"S1": None, "S2": "S1", "S3": "S2", "S4": None}
ENDS = (CommandRefused, Gone, RemoteProtocolError)

index = st.integers(0, 20)
where = st.sampled_from([None, *SESSIONS])
steps = st.one_of(
    st.tuples(st.sampled_from(["send", "send_nowait", "send_and_cancel", "subscribe"]), where),
    st.tuples(st.sampled_from(["answer", "refuse", "answer_twice", "answer_elsewhere", "malformed"]), index),
    st.tuples(st.sampled_from(["answer_and_cancel", "dead_by_refusal", "cancel"]), index),
    st.tuples(st.sampled_from(["wait", "abandon", "wait_and_abandon"]), index),
    st.tuples(st.just("break_a_write"), where),
    st.tuples(st.sampled_from(["wait_new", "auto_attach"]), st.none()),
    st.tuples(st.sampled_from(["attach", "detach", "crash"]), st.sampled_from(SESSIONS)),
    st.tuples(st.just("event"), where),
    st.tuples(st.sampled_from(["quiet", "turn"]), st.none()),
    st.tuples(st.just("odd"), st.sampled_from([b"", b"[]", b'{"id":999,"result":{}}', b'{"error":{"code":-32700}}'])),
)
endings = st.sampled_from(["close", "hang_up", "cancel", "raise"])


class BodyError(Exception):
    """Raised by the body of a block."""


@attrs.define
class Run:
    """One run of a program, with plain records of what it did."""

    peer: Any
    browser: Any
    nursery: trio.Nursery
    ends: Counter[int] = attrs.field(factory=Counter)
    begun: int = 0
    scopes: list[trio.CancelScope] = attrs.field(factory=list)
    replies: list[PendingReply[Json]] = attrs.field(factory=list)
    subscriptions: list[tuple[str | None, Subscription[Event]]] = attrs.field(factory=list)
    seen: list[Output] = attrs.field(factory=list)
    waited: set[int] = attrs.field(factory=set)
    at_bridge: Counter[str] = attrs.field(factory=Counter)

    def session(self, name: str | None) -> Any:
        return self.browser if name is None else self.browser.sessions.get(SessionId(name))

    async def step(self, act: str, what: Any) -> None:
        if act in ("send", "send_and_cancel", "send_nowait", "subscribe"):
            session = self.session(what)
            if session is None:
                return
            if act == "subscribe":
                self.subscriptions.append((what, session.subscribe("A.event", capacity=3)))
            elif act == "send_nowait":
                self.replies.append(session.send_nowait("A.a"))
            else:
                self.nursery.start_soon(self._send, session, self.begun, scope := trio.CancelScope())
                self.begun += 1
                self.scopes.append(scope)
                if act == "send_and_cancel":
                    await wait_all_tasks_blocked()
                    scope.cancel()
        elif act in ("wait_new", "auto_attach"):
            self.scopes.append(trio.CancelScope())
            self.nursery.start_soon(self._use_bridge, act, self.begun, self.scopes[-1])
            self.begun += 1
        elif act == "break_a_write":
            await self._break_a_write(self.session(what))
        elif act in ("wait", "abandon", "wait_and_abandon"):
            await self._wait_or_abandon(act, what)
        elif act == "cancel" and self.scopes:
            self.scopes[what % len(self.scopes)].cancel()
        elif act == "attach":
            self.peer.attached(what, "T" + what, "page", PARENTS[what])
        elif act == "detach":
            self.peer.detached(what, PARENTS[what])  # its children end without an event (fact 50)
        elif act == "crash":
            self.peer.event("Inspector.targetCrashed", session=what)
        elif act == "event":
            self.peer.event("A.event", session=what)
        elif act == "odd":
            self.peer.send(what)
        elif act == "quiet":
            await wait_all_tasks_blocked()
        elif act == "turn":
            await trio.lowlevel.checkpoint()
        elif act == "dead_by_refusal" and self.peer.commands:
            await self._refuse_as_dead(self.peer.commands[what % len(self.peer.commands)])
        elif self.peer.commands and act != "cancel":
            self._answer(act, self.peer.commands[what % len(self.peer.commands)], what)

    async def _wait_or_abandon(self, act: str, what: int) -> None:
        if not self.replies:
            return
        reply = self.replies[what % len(self.replies)]
        if act != "abandon" and id(reply) not in self.waited:  # one task may wait at a time
            self.waited.add(id(reply))
            self.nursery.start_soon(self._wait, reply, self.begun)
            self.begun += 1
            await wait_all_tasks_blocked()
        if act != "wait":
            reply.abandon()
            assert reply.ended

    async def _use_bridge(self, act: str, number: int, scope: trio.CancelScope) -> None:
        self.at_bridge[act] += 1
        try:
            with scope:
                if act == "wait_new":
                    await self.browser.targets.wait_new()
                else:
                    async with self.browser.targets.auto_attach(capacity=3) as sessions:
                        await sessions.receive()
        except ENDS:
            pass
        finally:
            self.at_bridge[act] -= 1
            self.ends[number] += 1

    def assert_bridge_waits(self) -> None:
        """Assert that a task that waits in the bridge has a command in flight, or one that succeeded."""
        for act, method in (("wait_new", "Target.setDiscoverTargets"), ("auto_attach", "Target.setAutoAttach")):
            command_ids = [command["id"] for command in self.peer.of(method) if "sessionId" not in command]
            command_ids = [number for number in command_ids if self.enables(number)]
            answers = {output.id: output.outcome for output in self.seen if isinstance(output, CommandDone)}
            last = command_ids[-1] if command_ids else 0
            if self.at_bridge[act]:
                assert last in self.browser._link.router.waiting or isinstance(answers.get(last), Result), act

    def enables(self, number: int) -> bool:
        """Return whether a command enables something: `autoAttach: false` does not."""
        [params] = [command.get("params", {}) for command in self.peer.commands if command["id"] == number]
        return params.get("autoAttach", True) is True

    async def _break_a_write(self, session: Any) -> None:
        """Let a direct write raise: the caller gets the error, and no entry of the command is left."""
        if session is None:
            return
        before = set(self.browser._link.router.waiting)
        self.peer.breaks_next_write = True
        try:
            self.replies.append(session.send_nowait("A.a"))
        except trio.BrokenResourceError:
            assert set(self.browser._link.router.waiting) == before
        self.peer.breaks_next_write = False

    async def _wait(self, reply: PendingReply[Json], number: int) -> None:
        try:
            await reply.wait()
        except ENDS:
            pass
        except LocalProtocolError as error:
            given_up = error.reason == "abandoned"
            assert given_up
        finally:
            self.ends[number] += 1

    def _answer(self, act: str, command: Json, what: int) -> None:
        if act in ("answer", "answer_twice", "answer_and_cancel"):
            self.peer.reply(command)
            if act == "answer_twice":
                self.peer.reply(command)
            elif act == "answer_and_cancel" and self.scopes:
                self.scopes[what % len(self.scopes)].cancel()
        elif act == "refuse":
            self.peer.refuse(command)
        elif act == "answer_elsewhere":
            self.peer.reply(command | {"sessionId": "S4" if command.get("sessionId") != "S4" else "S1"})
        elif act == "malformed":
            self.peer.send(b'{"id":%d,"result":{' % command["id"])

    async def _refuse_as_dead(self, command: Json) -> None:
        """Refuse a command without sessionId, as Chromium does: that proves that its session is dead (fact 8)."""
        await wait_all_tasks_blocked()
        waits = command["id"] in self.browser._link.router.waiting
        self.peer.send({"id": command["id"], "error": {"code": -32001, "message": "Session not found"}})
        await wait_all_tasks_blocked()
        assert command["id"] not in self.browser._link.router.waiting
        assert not (waits and command.get("sessionId") in self.browser.sessions)

    async def assert_quiet(self) -> None:
        """Assert that each open session has its parent, and that no command waits on an ended session."""
        await wait_all_tasks_blocked()
        sessions = self.browser.sessions
        assert all(session.parent is None or session.parent in sessions for session in sessions.values())
        self.assert_bridge_waits()
        for reply in self.replies:
            assert reply.ended or reply.session_id is None or reply.session_id in sessions

    async def _send(self, session: Any, number: int, scope: trio.CancelScope) -> None:
        try:
            with scope:
                await session.send("A.a")
        except ENDS:
            pass
        finally:
            self.ends[number] += 1


async def run(program: list[tuple[str, Any]], ending: str) -> None:
    tasks_before = trio.lowlevel.current_statistics().tasks_living
    peer = ScriptedBrowser()
    peer.rules["A.never"] = lambda _command: None
    outer = trio.CancelScope()
    work: Run | None = None
    try:
        with outer:
            async with trio.open_nursery() as nursery:
                seen: list[Output] = []
                try:
                    async with peer.open(taps=[seen.append]) as browser:
                        work = Run(peer, browser, nursery, seen=seen)
                        for act, what in program:
                            await work.step(act, what)
                        await work.assert_quiet()
                        if ending == "hang_up":
                            await peer.hang_up()
                            await browser.wait_closed()
                        elif ending == "cancel":
                            outer.cancel()
                            await trio.lowlevel.checkpoint()
                        elif ending == "raise":
                            raise BodyError
                except BodyError:
                    assert ending == "raise"
    finally:
        assert work is not None
        assert_ended_and_empty(work, ending)
    assert trio.lowlevel.current_statistics().tasks_living == tasks_before


def assert_ended_and_empty(work: Run, ending: str) -> None:
    statistics = work.browser.statistics()
    assert statistics.router.in_flight == statistics.router.sessions == statistics.outbox == 0
    assert not work.browser._link.router.waiting
    assert not work.browser._link.routes
    assert not work.browser.sessions
    # Every caller returned exactly once, and every reply that no task waited for has ended too.
    assert work.ends == Counter(range(work.begun))
    assert all(reply.ended for reply in work.replies)
    # Each command is either reported as ended, once, or counted as abandoned.
    done = Counter(output.id for output in work.seen if isinstance(output, CommandDone))
    assert set(done.values()) <= {1}
    assert len(done) + statistics.router.abandoned == statistics.router.commands
    opened = Counter(output.session_id for output in work.seen if isinstance(output, SessionOpened))
    assert opened == Counter(output.session_id for output in work.seen if isinstance(output, SessionClosed))
    reason = "peer_closed" if ending == "hang_up" else "closed"
    for session, subscription in work.subscriptions:
        with pytest.raises(Exception) as caught:  # noqa: PT011 - the class is checked below
            while True:
                subscription.receive_nowait()
        error = caught.value
        assert isinstance(error, Gone) or type(error).__name__ == "SubscriberLagged"
        if session is None and isinstance(error, Gone):
            assert isinstance(error, ConnectionLost)
            assert error.reason == reason


@given(program=st.lists(steps, max_size=50), ending=endings, chance=st.random_module())
@example(  # nested sessions die without an event (fact 50)
    program=[("attach", "S1"), ("attach", "S2"), ("quiet", None), ("send_nowait", "S2"), ("detach", "S1")],
    ending="close",
    chance=random.Random(0),
)
@example(  # the refusal for a dead session has no sessionId (fact 8)
    program=[("attach", "S1"), ("quiet", None), ("send", "S1"), ("quiet", None), ("dead_by_refusal", 0)],
    ending="close",
    chance=random.Random(0),
)
@example(  # a task that waits for an abandoned command gets an error
    program=[("send_nowait", None), ("wait_and_abandon", 0), ("answer", 0), ("wait", 0)],
    ending="close",
    chance=random.Random(0),
)
@example(  # a task that waits for a target gets the refusal of discovery
    program=[("wait_new", None), ("quiet", None), ("refuse", 0)], ending="close", chance=random.Random(0)
)
@example(
    program=[("auto_attach", None), ("auto_attach", None), ("quiet", None), ("refuse", 0)],
    ending="close",
    chance=random.Random(0),
)
@example(program=[("break_a_write", None)], ending="close", chance=random.Random(0))
def test_every_command_ends_exactly_once(program: list[tuple[str, Any]], ending: str, chance: random.Random) -> None:
    trio.run(run, program, ending, clock=MockClock(autojump_threshold=0))


@given(
    program=st.lists(steps, max_size=30),
    cut=st.integers(0, 30),
    ending=endings,
    chance=st.random_module(),
)
def test_every_command_ends_exactly_once_wherever_the_link_is_cut(
    program: list[tuple[str, Any]], cut: int, ending: str, chance: random.Random
) -> None:
    """The steps after the cut still run: their commands are refused with the reason."""

    async def main() -> None:
        peer = ScriptedBrowser()
        async with trio.open_nursery() as nursery:
            seen: list[Output] = []
            async with peer.open(taps=[seen.append]) as browser:
                work = Run(peer, browser, nursery, seen=seen)
                for number, (act, what) in enumerate(program):
                    if number == cut:
                        await peer.hang_up()
                    try:
                        await work.step(act, what)
                    except ConnectionLost:
                        assert number >= cut
                if cut >= len(program):
                    await peer.hang_up()
                await browser.wait_closed()
        assert_ended_and_empty(work, "hang_up")

    trio.run(main, clock=MockClock(autojump_threshold=0))


# ── cancellation at every checkpoint ─────────────────────────────────────────────────────────────────────────────────


async def assert_clean_at_every_checkpoint(program: Callable[[list[Any]], Awaitable[object]], *, fewest: int) -> None:
    def one_run(held: list[Any]) -> Callable[[], Awaitable[object]]:
        return lambda: program(held)

    count, cancelled = await cancelled_at(one_run([]), 0)
    assert count >= fewest
    assert not cancelled
    for at in range(1, count + 1):
        tasks, descriptors, held = trio.lowlevel.current_statistics().tasks_living, open_sockets(), []
        with trio.fail_after(10):
            await cancelled_at(one_run(held), at)
            await wait_all_tasks_blocked(0.001)
        for browser in held:
            statistics = browser.statistics()
            assert (statistics.router.in_flight, statistics.closed) != (0, None), at
            assert statistics.router.in_flight == 0, at
            assert not browser._link.router.waiting, at
        assert trio.lowlevel.current_statistics().tasks_living <= tasks, at
        assert open_sockets() <= descriptors, at


def open_sockets() -> int:
    folder = Path("/proc/self/fd")
    return len(list(folder.iterdir())) if folder.exists() else 0


async def use(browser: Any, held: list[Any]) -> None:
    """Use commands, events, a session and a lease once each."""
    held.append(browser)
    assert await browser.send("A.a") == {}
    with browser.subscribe("A.event", capacity=3) as subscription, browser.expect("A.event") as expectation:
        reply = browser.send_nowait("A.act")
        await subscription.receive()
        await expectation.wait()
        await reply.wait()
    page = await browser.targets.attach("T1")
    async with page.enabled("Page"):
        await page.send("A.a")
    await page.detach()
    browser.send_nowait("A.last")


def answer(peer: Any, command: Json) -> None:
    method = command["method"]
    if method == "A.act":
        peer.event("A.event")
    if method == "Target.attachToTarget":
        peer.attached("S1")
    if method == "Target.detachFromTarget":
        peer.detached("S1")
    peer.reply(command, {"sessionId": "S1"} if method == "Target.attachToTarget" else {})


METHODS = (
    *("A.a", "A.act", "A.last", "Page.enable", "Page.disable"),
    *("Target.attachToTarget", "Target.detachFromTarget"),
)


@pytest.mark.parametrize("direct", [True, False])
async def test_cancellation_at_any_checkpoint_leaves_nothing_over_memory(direct: bool) -> None:
    async def program(held: list[Any]) -> None:
        peer = ScriptedBrowser(direct=direct)
        for method in METHODS:
            peer.rules[method] = lambda command: answer(peer, command)
        async with peer.open() as browser:
            await use(browser, held)

    await assert_clean_at_every_checkpoint(program, fewest=8)


@pytest.mark.parametrize("answers_close", [True, False])
async def test_cancellation_at_any_checkpoint_leaves_nothing_over_a_websocket(answers_close: bool) -> None:
    """With a server that answers the close, and with one that does not."""
    (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")

    served: list[trio.Event] = []

    async def serve(stream: trio.SocketStream) -> None:
        served.append(end := trio.Event())
        async with stream:
            with suppress(trio.BrokenResourceError):
                await serve_commands(stream, answers_close=answers_close)
        end.set()

    async def program(held: list[Any]) -> None:
        port = listener.socket.getsockname()[1]
        async with open_browser_session(f"ws://127.0.0.1:{port}/devtools/browser/x", close_timeout=0.05) as browser:
            await use(browser, held)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.serve_listeners, serve, [listener])
        await wait_all_tasks_blocked()
        tasks = trio.lowlevel.current_statistics().tasks_living
        for at in range(200):
            held: list[Any] = []
            with trio.fail_after(10):
                count, _ = await cancelled_at(lambda held=held: program(held), at)
                for end in served:  # a server task ends when the client closes its connection
                    await end.wait()
                await wait_all_tasks_blocked(0.001)
            assert all(browser.statistics().router.in_flight == 0 for browser in held), at
            assert not any(browser._link.router.waiting for browser in held), at
            assert trio.lowlevel.current_statistics().tasks_living == tasks, at
            if at > count:
                break
        assert 10 < at < 199
        nursery.cancel_scope.cancel()


async def serve_commands(stream: trio.SocketStream, *, answers_close: bool) -> None:
    request = b""
    while not request.endswith(b"\r\n\r\n"):
        data = await stream.receive_some()
        if not data:
            return
        request += data
    (line,) = (line for line in request.split(b"\r\n") if line.lower().startswith(b"sec-websocket-key:"))
    key = line.split(b":")[1].strip() + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
    await stream.send_all(
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "
        + base64.b64encode(hashlib.sha1(key).digest())
        + b"\r\n\r\n"
    )
    peer = ScriptedBrowser()
    sent: list[bytes] = []
    peer.send = lambda *messages: sent.extend(json.dumps(message).encode() for message in messages)
    data = b""
    while portion := await stream.receive_some():
        data += bytes(portion)
        while len(data) >= 6 and len(data) >= 6 + (size := data[1] & 0x7F):  # every command here is short
            assert size < 126
            payload = bytes(octet ^ data[2 + index % 4] for index, octet in enumerate(data[6 : 6 + size]))
            if data[0] == 0x88:
                if answers_close:
                    await stream.send_all(bytes([0x88, size]) + payload)
            else:
                answer(peer, json.loads(payload))
            data = data[6 + size :]
        for text in sent:
            head = bytes([0x81, len(text)]) if len(text) < 126 else b"\x81\x7e" + len(text).to_bytes(2, "big")
            await stream.send_all(head + text)
        sent.clear()
