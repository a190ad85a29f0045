"""The laws of the router, each as an example and over generated histories.

A rule machine draws the acts of a browser and of an impatient caller. Its parts, from the outside in:

* `Browser` keeps the truth: which sessions are open, which commands it holds. It answers late, never, twice, without
  sessionId, on other sessions and in texts that cannot be read; it ends sessions with all their children, with or
  without an event.
* `Reference` computes the outputs that the laws demand for each message, in the simplest way: lists, searched from end
  to end. It gets the meaning of a message instead of its text, so it shares no parser with the router.
* `RouterLaws` delivers messages in batches of any size, cuts the link at any time, and compares the outputs of the
  router with those of the reference; laws of every history are checked without the reference (`_assert_order`).

A machine that finds nothing proves nothing before it has found something: each of `MUTANTS` breaks one law on purpose,
and the same machine must find a counterexample.
"""

from __future__ import annotations

import enum
import json
import sys
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, NamedTuple

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from cdp_core.errors import (
    ConnectionLost,
    InvalidArgument,
    LocalProtocolError,
    RemoteProtocolError,
    SessionGone,
    TargetCrashed,
)
from cdp_core.sansio.crash_table import ANSWERED
from cdp_core.sansio.messages import (
    MAX_COMMAND_ID,
    CommandId,
    Event,
    Malformed,
    Refusal,
    Result,
    SessionId,
    TargetId,
    decode,
    encode_command,
)
from cdp_core.sansio.outcomes import Loss
from cdp_core.sansio.router import MAX_SEND_BYTES, Anomaly, CommandDone, Output, Router, SessionClosed, SessionOpened
from cdp_core.sansio.structs import replace

ATTACHED, DETACHED = "Target.attachedToTarget", "Target.detachedFromTarget"
CRASHED, SOME_CRASHED = "Inspector.targetCrashed", "Target.targetCrashed"
RELOADED = "Inspector.targetReloadedAfterCrash"
NAVIGATED = "Page.frameNavigated"
DEAD_SESSION = -32001
CUT = Loss(kind="connection", reason="broken", detail="The connection broke.", close_code=1006)

Plain = tuple[Any, ...]


# ── the machine: messages and their meaning ──────────────────────────────────────────────────────────────────────────


class Sent(NamedTuple):
    """A command with its id; `serial` identifies it even if two commands share an id."""

    serial: int
    id: int
    session: str | None
    method: str


class Reply(NamedTuple):
    """A reply on `session`; `of` is the command that it really answers, or None if no such command exists."""

    of: Sent | None
    id: int
    session: str | None
    outcome: Plain


class EventSent(NamedTuple):
    """An event; `params` is None if they cannot be read."""

    method: str
    session: str | None
    params: dict[str, Any] | None


class Odd(NamedTuple):
    """Bytes that are not a message of the protocol."""

    reason: str


Meaning = Reply | EventSent | Odd


class OpenSession(NamedTuple):
    """A session that the reference considers open."""

    id: str
    target: str
    type: str
    parent: str | None
    waiting: bool


class Reference:
    """The state and the outputs that a correct client has after each message."""

    def __init__(self) -> None:
        self.open: list[OpenSession] = []
        self.waiting: list[Sent] = []
        self.crash_reported: set[str | None] = set()
        self.late = self.dead_by_refusal = self.abandoned = self.sent = 0
        self.anomalies: Counter[str] = Counter()
        self.lost = False

    def is_open(self, session: str | None) -> bool:
        return not self.lost and (session is None or any(known.id == session for known in self.open))

    def refuses(self, session: str | None, method: str) -> bool:
        """True for a command that the renderer process of a crashed target would have to answer (fact 74)."""
        of_frame = any(known.id == session and known.type == "iframe" for known in self.open)
        crashed = session is not None and session in self.crash_reported
        return crashed and (of_frame or method not in ANSWERED)

    def outputs_for(self, meaning: Meaning) -> list[Plain]:
        if self.lost:
            return []
        if isinstance(meaning, Odd):
            return [self._anomaly(meaning.reason, None, None)]
        if isinstance(meaning, Reply):
            return self._reply(meaning)
        return self._event_sent(meaning)

    def lose(self) -> list[Plain]:
        if self.lost:
            return []
        roots = [known.id for known in self.open if known.parent is None]
        order = [session for root in roots for session in self._below(root)]
        outputs = self._end(list(self.waiting), lambda _sent: ("lost", "connection", CUT.reason))
        outputs += self._closed(order, lambda _session: ("connection", CUT.reason))
        self.lost = True
        return outputs

    def _reply(self, reply: Reply) -> list[Plain]:
        sent = reply.of
        unreadable = reply.outcome == ("malformed",)
        outputs = [self._anomaly("malformed", reply.session, reply.id)] if unreadable else []
        if sent is None or sent not in self.waiting:
            if unreadable:
                return outputs
            if sent is not None:
                self.late += 1
                return []
            return [self._anomaly("unknown_id", reply.session, reply.id)]
        if reply.session == sent.session or (unreadable and reply.session is None):
            return outputs + self._end([sent], lambda _sent: reply.outcome)
        if unreadable:
            return outputs
        if reply.session is None and reply.outcome[:2] == ("refused", DEAD_SESSION):
            assert sent.session is not None
            self.dead_by_refusal += 1
            return self._end_session(sent.session, "refused")
        return [self._anomaly("reply_on_other_session", reply.session, reply.id)]

    def _event_sent(self, event: EventSent) -> list[Plain]:
        method, session, params = event
        if not self.is_open(session):
            return [self._anomaly("unknown_session", session, None)]
        outputs: list[Plain] = [("event", method, session, params)]
        if method in (RELOADED, NAVIGATED):
            self.crash_reported.discard(session)
        if method not in (ATTACHED, DETACHED, CRASHED, SOME_CRASHED):
            return outputs
        if params is None:
            return [*outputs, self._anomaly("unreadable_params", session, None)]
        if method == ATTACHED:
            return self._attached(session, params, outputs)
        if method == DETACHED:
            gone = params.get("sessionId")
            if isinstance(gone, str) and self.is_open(gone):
                outputs += self._end_session(gone, "detached")
        elif method == CRASHED:
            self.crash_reported.add(session)
            outputs += self._crash([known for known in self.open if known.id == session])
        else:
            of_it = [known for known in self.open if known.target == params.get("targetId")]
            outputs += self._crash([known for known in of_it if known.id not in self.crash_reported])
        return outputs

    def _attached(self, parent: str | None, params: dict[str, Any], outputs: list[Plain]) -> list[Plain]:
        session, info = params.get("sessionId"), params.get("targetInfo")
        if not isinstance(session, str) or not session or not isinstance(info, dict):
            return [*outputs, self._anomaly("unreadable_params", parent, None)]
        if self.is_open(session):
            return [*outputs, self._anomaly("session_open_already", session, None)]
        target, kind = info.get("targetId"), info.get("type")
        known = OpenSession(
            id=session,
            target=target if isinstance(target, str) else "",
            type=kind if isinstance(kind, str) else "",
            parent=parent,
            waiting=params.get("waitingForDebugger") is True,
        )
        self.open.append(known)
        self.crash_reported.discard(session)
        return [("opened", *known), *outputs]

    def _crash(self, hit: list[OpenSession]) -> list[Plain]:
        outputs: list[Plain] = []
        for known in hit:
            of_it = [sent for sent in self.waiting if sent.session == known.id]
            outputs += self._end(of_it, lambda _sent: ("lost", "crash", "crashed"))
        return outputs

    def _end_session(self, top: str, reason: str) -> list[Plain]:
        order = list(self._below(top))

        def reason_of(session: str | None) -> str:
            return reason if session == top else "parent_ended"

        ended = [sent for sent in self.waiting if sent.session in order]
        outputs = self._end(ended, lambda sent: ("lost", "session", reason_of(sent.session)))
        return outputs + self._closed(order, lambda session: ("session", reason_of(session)))

    def _below(self, session: str) -> Iterator[str]:
        for known in [known for known in self.open if known.parent == session]:
            yield from self._below(known.id)
        yield session

    def _end(self, ended: list[Sent], outcome: Any) -> list[Plain]:
        self.waiting = [sent for sent in self.waiting if sent not in ended]
        return [
            ("done", sent.id, sent.session, sent.method, outcome(sent))
            for sent in sorted(ended, key=lambda sent: sent.serial)
        ]

    def _closed(self, order: list[str], why: Any) -> list[Plain]:
        by_id = {known.id: known for known in self.open}
        self.open = [known for known in self.open if known.id not in order]
        return [("closed", each, by_id[each].target, by_id[each].parent, *why(each)) for each in order]

    def _anomaly(self, reason: str, session: str | None, command_id: int | None) -> Plain:
        self.anomalies[reason] += 1
        return ("anomaly", reason, session, command_id)


def plain(output: Output) -> Plain:
    """Return an output as a tuple, without its explanatory text."""
    if isinstance(output, Event):
        try:
            return ("event", output.method, output.session_id, output.params)
        except RemoteProtocolError:
            return ("event", output.method, output.session_id, None)
    if isinstance(output, CommandDone):
        return ("done", output.id, output.session_id, output.method, plain_outcome(output.outcome))
    if isinstance(output, SessionOpened):
        return (
            "opened",
            output.session_id,
            output.target_id,
            output.target_type,
            output.parent,
            output.waiting_for_debugger,
        )
    if isinstance(output, SessionClosed):
        loss = output.loss
        return ("closed", output.session_id, output.target_id, output.parent, loss.kind, loss.reason)
    return ("anomaly", output.reason, output.session_id, output.id)


def plain_outcome(outcome: Result | Refusal | Loss | Malformed) -> Plain:
    if isinstance(outcome, Result):
        try:
            return ("result", outcome.value.get("serial"))
        except RemoteProtocolError:
            return ("result", "unreadable")
    if isinstance(outcome, Refusal):
        return ("refused", outcome.code, outcome.data)
    if isinstance(outcome, Loss):
        return ("lost", outcome.kind, outcome.reason)
    return ("malformed",)


# ── the machine: the browser ─────────────────────────────────────────────────────────────────────────────────────────


class Text(NamedTuple):
    """A message in transit: its bytes, whether they arrive in a reused buffer, and its meaning."""

    octets: bytes
    in_buffer: bool
    meaning: Meaning


def result_of(sent: Sent) -> Plain:
    return ("result", sent.serial)


def refusal_of(sent: Sent, code: int) -> Plain:
    return ("refused", code, str(sent.serial))


class Browser:
    """The true state of the browser, and the messages in transit to the client."""

    def __init__(self, *, refuses_dead: bool) -> None:
        self.refuses_dead = refuses_dead
        self.parents: dict[str, str | None] = {}
        self.targets: dict[str, str] = {}
        self.held: list[Sent] = []
        self.wire: deque[Text] = deque()
        self.count = 0
        self.all_reported = True  # every ended session had its event, and no message was false

    def put(self, message: dict[str, Any], meaning: Meaning, form: int) -> None:
        """Queue a message: as Chromium writes it, with its members in reverse order, or in a reused buffer."""
        if form == 1:
            octets = json.dumps(dict(reversed(message.items()))).encode()
        else:
            octets = json.dumps(message, separators=(",", ":")).encode()
        self.wire.append(Text(octets, form == 2, meaning))

    def send_event(self, method: str, session: str | None, params: dict[str, Any], form: int = 0) -> None:
        self.put(
            {"method": method, "params": params} | ({} if session is None else {"sessionId": session}),
            EventSent(method, session, params),
            form,
        )

    def reply(self, of: Sent | None, command_id: int, session: str | None, outcome: Plain, form: int = 0) -> None:
        message: dict[str, Any] = {"id": command_id}
        if outcome[0] == "result":
            message["result"] = {"serial": outcome[1]}
        elif outcome[0] == "refused":
            message["error"] = {"code": outcome[1], "message": "No.", "data": outcome[2]}
        if session is not None:
            message["sessionId"] = session  # neither result nor error: malformed
        self.put(message, Reply(of, command_id, session, outcome), form)

    def take(self, sent: Sent, text: bytes, *, at_once: bool) -> None:
        """Receive a command, and answer it at once, later or never."""
        envelope = json.loads(text)
        assert envelope["id"] == sent.id
        assert envelope.get("sessionId") == sent.session
        assert_law(1 <= sent.id <= MAX_COMMAND_ID, "an id that Chromium cannot read")
        assert_law(all((each.id, each.session) != (sent.id, sent.session) for each in self.held), "an id used twice")
        if sent.session is not None and sent.session not in self.parents:
            if not self.refuses_dead:
                return
            self.reply(sent, sent.id, None, refusal_of(sent, DEAD_SESSION))
        elif at_once:
            self.reply(sent, sent.id, sent.session, result_of(sent))
        else:
            self.held.append(sent)

    def attach(self, parent: str | None, kind: str, form: int, *, waiting: bool) -> str:
        self.count += 1
        session, target = f"S{self.count}", f"T{self.count % 5}"  # several sessions of one target
        self.parents[session], self.targets[session] = parent, target
        info = {"targetId": target, "type": kind, "title": "é\ud800" if form == 1 else "", "attached": True}
        self.send_event(
            ATTACHED, parent, {"sessionId": session, "targetInfo": info, "waitingForDebugger": waiting}, form
        )
        return session

    def end(self, session: str) -> str | None:
        """End a session and all sessions below it, without events for those below."""
        parent = self.parents.pop(session)
        for child in [each for each, above in self.parents.items() if above == session]:
            self.end(child)
        return parent


class LawBroken(AssertionError):
    """Raised when a law of the router does not hold; no other error counts as a counterexample."""


def assert_law(truth: bool, law: str) -> None:
    if not truth:
        raise LawBroken(law)


# ── the machine ──────────────────────────────────────────────────────────────────────────────────────────────────────

picks = st.integers(0, 30)
forms = st.sampled_from([0, 0, 1, 2])
NONSENSE = (b"", b"[]", b"nonsense", b"\xff", b'"text"', b'{"id":true}', b"{}", b"[" * 9000)
methods = st.sampled_from(["Page.enable", "Page.enable", "Target.attachToTarget"])
crash_events = st.sampled_from([CRASHED, SOME_CRASHED, RELOADED, NAVIGATED])


class RouterLaws(RuleBasedStateMachine):
    router_class: ClassVar[type[Router]] = Router
    hostile: ClassVar[bool] = True  # replies come on wrong sessions, and for commands that were never sent
    refuses_dead: ClassVar[bool] = True  # a command to a dead session is refused, without sessionId (fact 8)

    @initialize(
        first=st.sampled_from([1, 1, 1, 1000, MAX_COMMAND_ID - 3]),
        below=st.lists(st.integers(0, 3), max_size=5),
        prompt=st.booleans(),
    )
    def begin(self, first: int, below: list[int], prompt: bool) -> None:
        """Begin with a few sessions; most histories would otherwise end before anything happens on a session."""
        self.first = first
        self.router = self.router_class(first_command_id=first)
        self.reference = Reference()
        self.browser = Browser(refuses_dead=self.refuses_dead)
        self.sent: list[Sent] = []
        self.ended: set[int] = set()  # serials
        self.opened: dict[str, str | None] = {}  # the sessions that the router reported as open
        for pick in below:
            parents = [None, *self.browser.parents]
            self.browser.attach(parents[pick % len(parents)], "page", 0, waiting=False)
        self.deliver(len(below))
        self.prompt = prompt  # deliver every message before the next act

    # acts of the caller

    @rule(commands=st.lists(st.tuples(picks, methods, st.booleans()), min_size=1, max_size=5))
    def send(self, commands: list[tuple[int, str, bool]]) -> None:
        for command in commands:
            self._send(*command)

    def _send(self, pick: int, method: str, at_once: bool) -> None:
        sessions = [None, *(known.id for known in self.reference.open)] * 3 + ["never"]
        self._send_on(sessions[pick % len(sessions)], method, pick, at_once=at_once)

    def _send_on(self, session: str | None, method: str, pick: int, *, at_once: bool) -> None:
        before = self.router.statistics()
        try:
            command_id, text = self.router.command(method, {"n": pick}, None if session is None else SessionId(session))
        except LocalProtocolError as refused:
            assert_law(refused.reason == "ids_exhausted", "a command was refused without reason")
            assert_law(self.first + len(self.sent) > MAX_COMMAND_ID, "ids ended too early")
            assert_law(self.router.statistics() == before, "a refused command left something behind")
            return
        except ConnectionLost as gone:
            assert_law(self.reference.lost and gone.reason == CUT.reason, "the link is not lost")
            return
        except SessionGone as gone:
            assert_law(not self.reference.is_open(session) and gone.session_id == session, "the session is open")
            assert_law(self.router.statistics() == before, "a refused command left something behind")
            return
        except TargetCrashed as crashed:
            assert_law(self.reference.refuses(session, method) and crashed.session_id == session, "it has not crashed")
            assert_law(self.router.statistics() == before, "a refused command left something behind")
            return
        assert_law(not self.reference.refuses(session, method), "a command went to a renderer that has crashed")
        assert_law(self.reference.is_open(session), "a command went to a session that is not open")
        sent = Sent(len(self.sent), command_id, session, method)
        self.sent.append(sent)
        self.reference.waiting.append(sent)
        attaches = method == "Target.attachToTarget" and (session is None or session in self.browser.parents)
        if attaches and at_once:  # the event comes before the reply (fact 47)
            self.browser.attach(session, "page", 0, waiting=False)
        self.browser.take(sent, text, at_once=at_once)

    @rule(pick=picks)
    def abandon(self, pick: int) -> None:
        if not self.sent:
            return
        sent = self.sent[pick % len(self.sent)]
        waits = sent in self.reference.waiting
        assert_law(self.router.abandon(CommandId(sent.id)) is waits, "abandon misjudged whether the command waits")
        if waits:
            self.reference.waiting.remove(sent)
            self.reference.abandoned += 1
            self.ended.add(sent.serial)

    # acts of the browser

    @precondition(lambda self: self.browser.held)
    @rule(answers=st.lists(st.tuples(picks, forms, st.integers(0, 3), st.booleans()), min_size=1, max_size=4))
    def answer(self, answers: list[tuple[int, int, int, bool]]) -> None:
        for pick, form, kind, again in answers[: len(self.browser.held)]:
            sent = self.browser.held[pick % len(self.browser.held)]
            outcomes = (result_of(sent), refusal_of(sent, -32000), refusal_of(sent, DEAD_SESSION), ("malformed",))
            self.browser.reply(sent, sent.id, sent.session, outcomes[kind], form)
            if not again:
                self.browser.held.remove(sent)

    @precondition(lambda self: self.browser.held)
    @rule(pick=picks, form=forms, other=st.sampled_from([None, "never", "S1", "S2"]), kind=st.integers(0, 3))
    def answer_on_another_session(self, pick: int, form: int, other: str | None, kind: int) -> None:
        sent = self.browser.held[pick % len(self.browser.held)]
        if other == sent.session or not self.hostile:
            return
        outcomes = (result_of(sent), refusal_of(sent, -32000), refusal_of(sent, DEAD_SESSION), ("malformed",))
        self.browser.reply(sent, sent.id, other, outcomes[kind], form)
        if kind == 2 and other is None:
            self.browser.all_reported = False  # it declares an open session dead, and the client must believe it

    @rule(pick=picks, form=forms, waiting=st.booleans(), kind=st.sampled_from(["page", "iframe"]))
    def attach(self, pick: int, form: int, waiting: bool, kind: str) -> None:
        parents = [*self.browser.parents, None]
        self.browser.attach(parents[pick % len(parents)], kind, form, waiting=waiting)

    def _attach_strangely(self, pick: int, form: int, what: int) -> None:
        info = {"targetId": "T9", "type": "page"}
        live = list(self.browser.parents)
        if what == 0 and live:
            self.browser.send_event(ATTACHED, None, {"sessionId": live[pick % len(live)], "targetInfo": info}, form)
        elif what == 1:
            self.browser.send_event(ATTACHED, "never", {"sessionId": f"N{pick}", "targetInfo": info}, form)
        elif what == 2:
            self.browser.send_event(
                ATTACHED, None, {"sessionId": (None, "", 5, [])[pick % 4], "targetInfo": info}, form
            )
        elif what == 3:
            self.browser.send_event(ATTACHED, None, {"sessionId": "N", "targetInfo": (None, 5, "T")[pick % 3]}, form)
        elif "odd" not in self.opened:  # really open, on a target without a readable id or type
            self.browser.parents["odd"], self.browser.targets["odd"] = None, ""
            self.browser.all_reported = False
            self.browser.send_event(
                ATTACHED, None, {"sessionId": "odd", "targetInfo": {"targetId": 5, "type": None}}, form
            )

    @precondition(lambda self: self.browser.parents)
    @rule(pick=picks, form=forms, reported=st.sampled_from([True, True, True, False]))
    def end_session(self, pick: int, form: int, reported: bool) -> None:
        sessions = list(self.browser.parents)
        session = sessions[pick % len(sessions)]
        parent = self.browser.end(session)
        if reported:
            self.browser.send_event(DETACHED, parent, {"sessionId": session, "targetId": "T"}, form)
        else:
            self.browser.all_reported = False  # the event was lost between browser and client

    def _detach_strangely(self, pick: int, form: int) -> None:
        sessions = [None, *self.browser.parents]
        self.browser.send_event(
            DETACHED, sessions[pick % len(sessions)], {"sessionId": ("never", 5, None)[pick % 3]}, form
        )

    @precondition(lambda self: self.browser.parents)
    @rule(pick=picks, form=forms, crash_events=st.lists(crash_events, min_size=1, max_size=4), in_turn=st.booleans())
    def crash(self, pick: int, form: int, crash_events: list[str], in_turn: bool) -> None:
        """Report a crash on the session, the root or both, again after a reload, or with commands between."""
        sessions = list(self.browser.parents)
        session = sessions[pick % len(sessions)]
        killed = {"targetId": self.browser.targets[session], "status": "killed"}
        for crash_event in crash_events:
            if in_turn:
                self._send_on(session, "Page.reload", pick, at_once=False)
            on_root = crash_event == SOME_CRASHED
            self.browser.send_event(crash_event, None if on_root else session, killed if on_root else {}, form)
            if in_turn:
                self.deliver(len(self.browser.wire))

    @rule(kind=st.integers(0, 9), pick=picks, form=forms)
    def noise(self, kind: int, pick: int, form: int) -> None:
        """Send any other message of a peer; none of them may disturb the router."""
        if kind < 4:
            self._event(pick, form)
        elif kind < 6:
            self._attach_strangely(pick, form, pick % 5)
        elif kind == 6:
            self._detach_strangely(pick, form)
        elif kind == 7:
            method = (ATTACHED, DETACHED, CRASHED, SOME_CRASHED, RELOADED, NAVIGATED, "Page.loadEventFired")[pick % 7]
            octets = b'{"method":"%s","params":"no object"}' % method.encode()
            self.browser.wire.append(Text(octets, False, EventSent(method, None, None)))
        elif kind == 8:
            self.browser.wire.append(Text(NONSENSE[pick % len(NONSENSE)], form == 2, Odd("malformed")))
            self.browser.put({"error": {"code": -32700, "message": "JSON: no input"}}, Odd("orphan_error"), form)
        elif self.hostile:
            command_id = (0, -1, MAX_COMMAND_ID + 1, 2**53)[pick % 4]
            outcome: Plain = (("result", None), ("refused", -32000, "none"), ("refused", DEAD_SESSION, "none"))[
                pick % 3
            ]
            self.browser.reply(None, command_id, (None, "never")[pick % 2], outcome, form)

    def _event(self, pick: int, form: int) -> None:
        sessions = [None, *self.browser.parents, "never"]
        method = ("Page.loadEventFired", "Brand.newEvent", CRASHED, RELOADED)[pick % 4]
        session = sessions[pick % len(sessions)]
        self.browser.send_event(method, None if method in (CRASHED, RELOADED) else session, {"n": [pick, "é"]}, form)

    # delivery and loss

    @rule()
    def change_pace(self) -> None:
        self.prompt = not self.prompt

    @rule(count=st.integers(1, 4))
    def deliver(self, count: int) -> None:
        batch = [self.browser.wire.popleft() for _ in range(min(count, len(self.browser.wire)))]
        buffers = [bytearray(text.octets) for text in batch]
        outputs = list(
            self.router.receive_all(
                memoryview(buffer) if text.in_buffer else text.octets
                for text, buffer in zip(batch, buffers, strict=True)
            )
        )
        for buffer in buffers:
            buffer[:] = b"#" * len(buffer)  # the transport reuses its buffer
        self._assert_order([plain(output) for output in outputs])
        expected = [each for text in batch for each in self.reference.outputs_for(text.meaning)]
        assert_law([plain(output) for output in outputs] == expected, f"{outputs} should be {expected}")

    @precondition(lambda self: not self.reference.lost)
    @rule(really=st.sampled_from([False] * 9 + [True]))
    def cut(self, really: bool) -> None:
        if really:
            self._lose()

    def _lose(self) -> None:
        outputs = [plain(output) for output in self.router.lost(CUT)]
        self._assert_order(outputs)
        assert_law(outputs == self.reference.lose(), "the outputs at the end of the link are wrong")
        assert_law(self.router.lost(CUT) == (), "the link was lost twice")
        assert_law(self.router.loss == CUT, "the reason of the loss is not kept")

    # laws that hold in every history, without the reference

    def _assert_order(self, outputs: list[Plain]) -> None:
        """Assert that each command ends once, with its own outcome, before its session and its parents close."""
        for output in outputs:
            if output[0] == "done":
                _, command_id, session, method, outcome = output
                sent = [
                    each
                    for each in self.sent
                    if (each.id, each.session, each.method) == (command_id, session, method)
                    and each.serial not in self.ended
                ]
                assert_law(len(sent) == 1, "a command ended twice, or after it was abandoned")
                self.ended.add(sent[0].serial)
                assert_law(session is None or session in self.opened, "a command ended after its session")
                if outcome[0] in ("result", "refused"):
                    assert_law(str(outcome[-1]) == str(sent[0].serial), "a command ended with the reply to another one")
            elif output[0] == "opened":
                assert_law(output[4] is None or output[4] in self.opened, "a session opened below one that is not open")
                self.opened[output[1]] = output[4]
            elif output[0] == "closed":
                assert_law(self.opened.pop(output[1], "") == output[3], "a session closed that was not open")
                assert_law(output[1] not in self.opened.values(), "a session closed before a session below it")
                left = [each for each in self.sent if each.session == output[1] and each.serial not in self.ended]
                assert_law(not left, "a session closed before its commands ended")
            elif output[0] == "event":
                assert_law(output[2] is None or output[2] in self.opened, "an event came on a session that is not open")

    @invariant()
    def state_agrees_with_the_reference(self) -> None:
        if self.prompt:
            self.deliver(len(self.browser.wire))
        reference, statistics = self.reference, self.router.statistics()
        assert_law(
            [
                (each.session_id, each.target_id, each.target_type, each.parent, each.waiting_for_debugger)
                for each in self.router.open_sessions()
            ]
            == [tuple(known) for known in reference.open],
            "the open sessions are wrong",
        )
        assert_law(
            len(self.router.waiting) == statistics.in_flight == len(reference.waiting),
            "waiting commands are miscounted",
        )
        assert_law(statistics.commands == len(self.sent), "commands are miscounted")
        assert_law(statistics.sessions == len(reference.open), "sessions are miscounted")
        assert_law(statistics.abandoned == reference.abandoned, "abandoned commands are miscounted")
        assert_law(statistics.late_replies == reference.late, "late replies are miscounted")
        assert_law(statistics.dead_by_refusal == reference.dead_by_refusal, "sessions dead by refusal are miscounted")
        assert_law(dict(statistics.anomalies) == dict(reference.anomalies), "anomalies are miscounted")

        # After the delivery of every event, the client knows which sessions are open.
        if self.browser.all_reported and not self.browser.wire and not self.reference.lost:
            known = {each.session_id: each.parent for each in self.router.open_sessions()}
            assert_law(known == self.browser.parents, "the client's sessions are not the browser's")

    def teardown(self) -> None:
        if not hasattr(self, "router") or sys.exc_info()[0] is not None:
            return  # the history has failed already, and that failure is the one to report
        if not self.reference.lost:
            self._lose()
        assert_law(not self.opened, "a session outlived the link")
        assert_law(len(self.ended) == len(self.sent), "a command never ended")
        for kind in range(10):
            self.noise(kind, kind, 0)
        assert_law(
            list(self.router.receive_all(text.octets for text in self.browser.wire)) == [],
            "a lost link produced outputs",
        )


TestRouterLaws = RouterLaws.TestCase
TestRouterLaws.settings = settings(stateful_step_count=40)


# ── the machine finds mutants ────────────────────────────────────────────────────────────────────────────────────────


FOREIGN = 2**80  # beyond all ids


class CounterPerSession(Router):
    """Counts ids per session: legal for Chromium (fact 54), but ambiguous when a session is dead."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.counters: Counter[SessionId | None] = Counter()
        self.keys: dict[int, tuple[SessionId | None, int]] = {}

    def command(self, method: str, params: Any = None, session_id: SessionId | None = None) -> tuple[CommandId, bytes]:
        unique, _text = super().command(method, params, session_id)
        self.counters[session_id] += 1
        own = CommandId(self._first_id + self.counters[session_id] - 1)
        self.keys[unique] = (session_id, own)
        return own, encode_command(own, method, params, session_id)

    def abandon(self, command_id: CommandId) -> bool:
        raise NotImplementedError  # an id alone is ambiguous; a machine without `abandon` is enough

    def _unique(self, session_id: SessionId | None, own: int) -> CommandId:
        """Return the unique id that a table per session would find."""
        return CommandId(next((unique for unique, key in self.keys.items() if key == (session_id, own)), own + FOREIGN))

    def receive_all(self, payloads: Iterable[Any]) -> Iterator[Output]:
        for payload in payloads:
            message = decode(payload)
            if isinstance(message, (Result, Refusal, Malformed)) and message.id is not None:
                message = replace(message, id=self._unique(message.session_id, message.id))
            yield from map(self._with_own_id, self._classify(message))

    def lost(self, loss: Loss) -> tuple[Output, ...]:
        return tuple(map(self._with_own_id, super().lost(loss)))

    def _with_own_id(self, output: Output) -> Output:
        if isinstance(output, (CommandDone, Anomaly)) and output.id is not None:
            key = self.keys.get(output.id, (None, output.id - FOREIGN))
            return replace(output, id=CommandId(key[1]))
        return output


class NoCascade(Router):
    """Leaves sessions below an ended one open, so their commands wait for ever (fact 50)."""

    def _close(self, session_id: SessionId) -> list[Any]:
        session = self._sessions.pop(session_id)
        assert session is not None
        for other in self._sessions.values():
            if other is not None:
                other.children.pop(session_id, None)
        return [session]


class IgnoresDeadSessions(Router):
    """Takes a -32001 without sessionId for a reply on another session, so its command hangs."""

    def _reply(self, reply: Result | Refusal) -> Iterable[Output]:
        entry = self.waiting.get(reply.id)
        if entry is not None and entry[0] is not None and reply.session_id is None:
            return (self._anomaly("reply_on_other_session", "", reply.session_id, reply.id),)
        return super()._reply(reply)


class AnySessionAnswers(Router):
    """Ignores the session of a reply."""

    def _reply(self, reply: Result | Refusal) -> Iterable[Output]:
        entry = self.waiting.pop(reply.id, None)
        if entry is None:
            return self._not_waiting(reply.id, reply.session_id)
        return (CommandDone(id=reply.id, session_id=entry[0], method=entry[1], outcome=reply),)


class OpensOnReply(Router):
    """Opens a session at the reply to `Target.attachToTarget`, after its first events."""

    def _event(self, event: Event) -> Iterable[Output]:
        return (event,) if event.method == ATTACHED and event.session_id in self._sessions else super()._event(event)

    def receive_all(self, payloads: Iterable[Any]) -> Iterator[Output]:
        for output in super().receive_all(payloads):
            yield output
            if isinstance(output, CommandDone) and isinstance(output.outcome, Result):
                session = output.outcome.value.get("sessionId")
                if isinstance(session, str):
                    yield SessionOpened(
                        session_id=SessionId(session),
                        target_id=TargetId(""),
                        target_type="",
                        parent=output.session_id,
                        waiting_for_debugger=False,
                    )


class EventBeforeOpened(Router):
    """Delivers `Target.attachedToTarget` before the session can be used."""

    def _attached(self, event: Event, params: Any) -> Iterable[Output]:
        return reversed(tuple(super()._attached(event, params)))

    def _event(self, event: Event) -> Iterable[Output]:
        outputs = tuple(super()._event(event))
        return outputs[::-1] if outputs and isinstance(outputs[0], SessionOpened) else outputs


class ClosedBeforeDone(Router):
    """Closes sessions before their commands end."""

    def _end_session(self, session_id: SessionId, reason: str, why: str) -> Iterable[Output]:
        outputs = tuple(super()._end_session(session_id, reason, why))
        return sorted(outputs, key=lambda output: isinstance(output, CommandDone))


class ParentsFirst(Router):
    """Closes parents before their children."""

    def _close(self, session_id: SessionId) -> list[Any]:
        return super()._close(session_id)[::-1]


class SiblingsReversed(Router):
    """Closes the newest sibling first."""

    def _close(self, session_id: SessionId) -> list[Any]:
        session = self._sessions[session_id]
        assert session is not None
        session.children = dict(reversed(session.children.items()))
        return super()._close(session_id)


class CrashIgnored(Router):
    """Lets the commands of a crashed target wait for ever (fact 49)."""

    def _crash(self, session_id: SessionId | None) -> Iterable[Output]:
        return ()


class EachCrashEventEnds(Router):
    """At the second event of one crash, ends the commands that were sent after the first event."""

    def _event(self, event: Event) -> Iterable[Output]:
        if event.method == SOME_CRASHED:
            for session in self._sessions.values():
                if session is not None:
                    session.crashed = False
        return super()._event(event)


class SendsToTheCrashed(Router):
    """Sends a command that a crashed target leaves unanswered (fact 74)."""

    def _check_crashed(self, _session: Any, _method: str) -> None:
        pass


class CrashedUntilTheReloadEvent(Router):
    """Ignores a navigation that brings a crashed page back."""

    def _reloaded(self, event: Event, params: Any = None) -> Iterable[Output]:
        return (event,) if event.method == NAVIGATED else super()._reloaded(event, params)


class CrashedForGood(Router):
    """Takes a later crash, reported on the root only, for one that was reported on the session before."""

    def _event(self, event: Event) -> Iterable[Output]:
        session = self._sessions.get(event.session_id)
        crashed = session is not None and session.crashed
        outputs = tuple(super()._event(event))
        if session is not None and event.method == RELOADED:
            session.crashed = crashed
        return outputs


class AbandonedStay(Router):
    """Keeps the entry of an abandoned command, so its reply completes it after all."""

    def abandon(self, command_id: CommandId) -> bool:
        entry = self.waiting.get(command_id)
        done = super().abandon(command_id)
        if entry is not None:
            self.waiting[command_id] = entry
        return done


class LateIsAnomalous(Router):
    """Reports a reply to an abandoned command as an anomaly."""

    def _not_waiting(self, command_id: CommandId, session_id: SessionId | None) -> Iterable[Output]:
        return (self._anomaly("unknown_id", "", session_id, command_id),)


class UndecodableHangs(Router):
    """Drops a reply that cannot be read, so its command waits for ever."""

    def _malformed(self, message: Malformed) -> Iterable[Output]:
        return (self._anomaly("malformed", "", message.session_id, message.id),)


class ClassifiesAfterTheEnd(Router):
    """Classifies messages after the link is lost."""

    def _classify(self, message: Any) -> Iterable[Output]:
        loss, self._loss = self._loss, None
        outputs = tuple(super()._classify(message))
        self._loss = loss
        return outputs


class ForgetsTheRoot(Router):
    """At the end of the link, ends only the commands of sessions."""

    def lost(self, loss: Loss) -> tuple[Output, ...]:
        return tuple(
            output
            for output in super().lost(loss)
            if not (isinstance(output, CommandDone) and output.session_id is None)
        )


MUTANTS = [
    CounterPerSession,
    NoCascade,
    IgnoresDeadSessions,
    AnySessionAnswers,
    OpensOnReply,
    EventBeforeOpened,
    ClosedBeforeDone,
    ParentsFirst,
    SiblingsReversed,
    CrashIgnored,
    EachCrashEventEnds,
    SendsToTheCrashed,
    CrashedUntilTheReloadEvent,
    CrashedForGood,
    AbandonedStay,
    LateIsAnomalous,
    UndecodableHangs,
    ClassifiesAfterTheEnd,
    ForgetsTheRoot,
]

SEARCH = settings(
    max_examples=300,
    stateful_step_count=40,
    phases=[Phase.generate],
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    report_multiple_bugs=False,
)


def machine_with(router: type[Router], **traits: bool) -> type[RouterLaws]:
    """Return the same machine over another router, or with a better-behaved browser."""
    members: dict[str, Any] = {"router_class": router, **traits}
    if router is CounterPerSession:
        members["abandon"] = rule()(lambda _self: None)  # it takes an id alone, which is ambiguous there
    return type(f"LawsOf{router.__name__}", (RouterLaws,), members)


@pytest.mark.parametrize("mutant", MUTANTS)
def test_the_machine_finds_a_router_that_breaks_a_law(mutant: type[Router]) -> None:
    with pytest.raises(LawBroken):
        run_state_machine_as_test(machine_with(mutant), settings=SEARCH)


def test_a_counter_per_session_fails_with_a_well_behaved_browser() -> None:
    """No hostile peer is needed, only a dead session: its refusal comes without sessionId (fact 8)."""
    with pytest.raises(LawBroken):
        run_state_machine_as_test(machine_with(CounterPerSession, hostile=False), settings=SEARCH)
    ideal = machine_with(CounterPerSession, hostile=False, refuses_dead=False)
    run_state_machine_as_test(ideal, settings=settings(SEARCH, max_examples=60))


def test_the_same_search_finds_nothing_in_the_router() -> None:
    run_state_machine_as_test(RouterLaws, settings=settings(SEARCH, max_examples=60))


# ── one example of each law ──────────────────────────────────────────────────────────────────────────────────────────


def outputs_of(router: Router, *messages: dict[str, Any] | bytes) -> list[Plain]:
    payloads = [each if isinstance(each, bytes) else json.dumps(each).encode() for each in messages]
    return [plain(output) for output in router.receive_all(payloads)]


def attach(
    session: str, *, below: str | None = None, target: str = "T", waiting: bool = False, kind: str = "page"
) -> dict[str, Any]:
    info = {"targetId": target, "type": kind, "url": ""}
    params = {"sessionId": session, "targetInfo": info, "waitingForDebugger": waiting}
    return event(ATTACHED, params, below)


def detach(session: str, *, below: str | None = None) -> dict[str, Any]:
    return event(DETACHED, {"sessionId": session}, below)


def event(method: str, params: dict[str, Any], session: str | None = None) -> dict[str, Any]:
    return {"method": method, "params": params} | ({} if session is None else {"sessionId": session})


def with_sessions(*parents: tuple[str, str | None]) -> Router:
    router = Router()
    outputs_of(router, *(attach(session, below=parent) for session, parent in parents))
    return router


def send(router: Router, session: str | None = None, method: str = "Page.enable") -> int:
    return router.command(method, None, None if session is None else SessionId(session))[0]


def test_ids_count_over_all_sessions() -> None:
    router = with_sessions(("A", None), ("B", "A"))
    assert [send(router, session) for session in (None, "A", "B", None)] == [1, 2, 3, 4]


def test_a_command_is_written_as_chromium_reads_it() -> None:
    router = with_sessions(("A", None))
    command_id, text = router.command("Page.navigate", {"url": "about:blank"}, SessionId("A"))
    assert json.loads(text) == {
        "id": command_id,
        "method": "Page.navigate",
        "params": {"url": "about:blank"},
        "sessionId": "A",
    }


def test_ids_end_before_chromium_refuses_them() -> None:
    router = Router(first_command_id=MAX_COMMAND_ID)
    assert send(router) == MAX_COMMAND_ID
    with pytest.raises(LocalProtocolError) as refused:
        send(router)
    assert refused.value.reason == "ids_exhausted"
    assert len(router.waiting) == router.statistics().commands == 1


@pytest.mark.parametrize("first", [0, -1, MAX_COMMAND_ID + 1])
def test_a_first_id_that_chromium_would_refuse_is_refused(first: int) -> None:
    with pytest.raises(InvalidArgument):
        Router(first_command_id=first)


def test_a_command_that_cannot_be_sent_changes_nothing() -> None:
    router = Router(max_send_bytes=100)
    before = router.statistics()
    with pytest.raises(LocalProtocolError) as too_big:
        router.command("Page.navigate", {"url": "x" * 100})
    assert too_big.value.reason == "too_big"
    assert "Page.navigate" in str(too_big.value)
    for method in ("", 5):
        with pytest.raises(InvalidArgument):
            router.command(method)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument):
        router.command("Page.navigate", {"url": b""})
    with pytest.raises(SessionGone) as gone:
        send(router, "0123456789")
    assert gone.value.reason == "not_open"
    assert "01234567 " in str(gone.value)
    assert router.statistics() == before
    text = router.command("Page.navigate", {"url": "x" * 40})[1]
    assert len(text) <= 100
    assert json.loads(text)["id"] == 1


def test_exactly_the_largest_message_is_sent() -> None:
    size = len(Router().command("M.m", {"a": ""})[1])
    assert len(Router(max_send_bytes=size).command("M.m", {"a": ""})[1]) == size
    with pytest.raises(LocalProtocolError):
        Router(max_send_bytes=size - 1).command("M.m", {"a": ""})


def test_a_session_is_open_before_its_attach_event_is_delivered() -> None:
    router = Router()
    outputs = outputs_of(router, attach("A", waiting=True))
    assert [output[0] for output in outputs] == ["opened", "event"]
    assert outputs[0] == ("opened", "A", "T", "page", None, True)
    outputs = outputs_of(router, event(ATTACHED, {"sessionId": "O", "targetInfo": {}, "waitingForDebugger": 1}))
    assert outputs[0] == ("opened", "O", "", "", None, False)
    steps = router.receive_all([json.dumps(attach("B", below="A")).encode()])
    assert isinstance(next(steps), SessionOpened)
    assert send(router, "B") == 1  # the session can be used as soon as it is reported


def test_the_outputs_of_a_detach_are_in_order() -> None:
    """The event, all commands by id, then the sessions: children first, siblings in the order of opening."""
    router = with_sessions(("A", None), ("B", "A"), ("C", "A"), ("D", "B"), ("E", None))
    for session in ("D", "A", "E", "C", "B", None):
        send(router, session)
    outputs = outputs_of(router, detach("A"))
    assert [output[:3] for output in outputs[1:5]] == [
        ("done", 1, "D"),
        ("done", 2, "A"),
        ("done", 4, "C"),
        ("done", 5, "B"),
    ]
    assert outputs[0] == ("event", DETACHED, None, {"sessionId": "A"})
    assert [output[1] for output in outputs[5:]] == ["D", "B", "C", "A"]
    assert {output[0] for output in outputs[5:]} == {"closed"}
    assert [output[-1] for output in outputs[5:]] == ["parent_ended", "parent_ended", "parent_ended", "detached"]
    assert [each.session_id for each in router.open_sessions()] == ["E"]
    assert len(router.waiting) == 2


def test_the_end_of_a_session_gives_the_reason() -> None:
    router = with_sessions(("A", None), ("B", "A"))
    send(router, "B")
    done, closed_b, closed_a = router.receive(json.dumps(detach("A")).encode())[1:]
    assert isinstance(done, CommandDone)
    assert isinstance(done.outcome, Loss)
    error = done.outcome.error()
    assert isinstance(error, SessionGone)
    assert (error.session_id, error.target_id, error.reason) == ("B", "T", "parent_ended")
    assert error is not done.outcome.error()
    assert isinstance(closed_b, SessionClosed)
    assert isinstance(closed_a, SessionClosed)
    assert closed_b.loss == done.outcome
    assert closed_a.loss.reason == "detached"


def test_the_send_limit_is_below_that_of_chromium() -> None:
    """Chromium drops the socket at 100 MiB (fact 57)."""
    assert 64 * 2**20 <= MAX_SEND_BYTES < 100 * 2**20


def test_a_child_that_ended_before_its_parent_ends_once() -> None:
    router = with_sessions(("A", None), ("B", "A"), ("C", "A"))
    assert [output[1] for output in outputs_of(router, detach("B", below="A")) if output[0] == "closed"] == ["B"]
    assert [output[1] for output in outputs_of(router, detach("A")) if output[0] == "closed"] == ["C", "A"]
    assert outputs_of(router, detach("C")) == [("event", DETACHED, None, {"sessionId": "C"})]
    assert router.statistics().anomalies == {}


def test_a_refusal_without_session_id_ends_a_dead_session() -> None:
    """The only reply comes without sessionId (fact 8); it ends the session as a detach does."""
    router = with_sessions(("A", None), ("B", "A"))
    own, other, root = send(router, "A"), send(router, "B"), send(router)
    outputs = outputs_of(
        router, {"id": own, "error": {"code": DEAD_SESSION, "message": "Session with given id not found."}}
    )
    assert outputs == [
        ("done", own, "A", "Page.enable", ("lost", "session", "refused")),
        ("done", other, "B", "Page.enable", ("lost", "session", "parent_ended")),
        ("closed", "B", "T", "A", "session", "parent_ended"),
        ("closed", "A", "T", None, "session", "refused"),
    ]
    assert router.statistics().dead_by_refusal == 1
    assert len(router.waiting) == 1
    assert outputs_of(router, {"id": root, "error": {"code": DEAD_SESSION, "message": "No."}})[0][-1][0] == "refused"
    assert router.statistics().dead_by_refusal == 1  # the root session does not die of a refusal


@pytest.mark.parametrize(
    "reply",
    [
        {"result": {}},
        {"error": {"code": -32000, "message": "No."}},
        {"result": {}, "sessionId": "B"},
        {"error": {"code": DEAD_SESSION, "message": "No."}, "sessionId": "B"},
    ],
)
def test_a_reply_on_another_session_completes_nothing(reply: dict[str, Any]) -> None:
    router = with_sessions(("A", None), ("B", None))
    command_id = send(router, "A")
    outputs = outputs_of(router, {"id": command_id, **reply})
    assert outputs == [("anomaly", "reply_on_other_session", reply.get("sessionId"), command_id)]
    assert outputs_of(router, {"id": command_id, "result": {}, "sessionId": "A"})[0][0] == "done"


def test_an_abandoned_command_leaves_nothing_but_a_count() -> None:
    router = Router()
    command_id = CommandId(send(router))
    assert router.abandon(command_id) is True
    assert router.abandon(command_id) is False
    assert len(router.waiting) == 0
    assert outputs_of(router, {"id": command_id, "result": {}}) == []
    assert (router.statistics().late_replies, router.statistics().abandoned) == (1, 1)
    assert router.late_replies == 1
    assert router.lost(CUT) == ()


def test_a_second_reply_is_late_and_an_id_never_used_is_an_anomaly() -> None:
    router = Router(first_command_id=10)
    command_id = send(router)
    reply = {"id": command_id, "result": {}}
    assert [output[0] for output in outputs_of(router, reply, reply, reply)] == ["done"]
    assert router.statistics().late_replies == 2
    for foreign_id in (command_id + 1, 9, 0, -5):
        assert outputs_of(router, {"id": foreign_id, "result": {}}) == [("anomaly", "unknown_id", None, foreign_id)]


def test_a_crash_ends_commands_and_keeps_the_session() -> None:
    router = with_sessions(("A", None), ("B", "A"))
    hit, other = send(router, "A"), send(router, "B")
    done = router.receive(json.dumps(event(CRASHED, {}, "A")).encode())[1]
    assert isinstance(done, CommandDone)
    assert isinstance(done.outcome, Loss)
    error = done.outcome.error()
    assert isinstance(error, TargetCrashed)
    assert (error.session_id, error.target_id) == ("A", "T")
    assert "reload" in str(error)
    late = {"id": hit, "error": {"code": -32000, "message": "Target crashed"}, "sessionId": "A"}
    assert outputs_of(router, late) == []  # after a reload (fact 49)
    assert router.statistics().late_replies == 1
    assert send(router, "A", "Page.reload") > other
    assert len(router.open_sessions()) == 2


def test_a_command_to_a_crashed_page_is_refused_unsent_until_it_has_a_renderer_again() -> None:
    router = with_sessions(("A", None))
    outputs_of(router, event(CRASHED, {}, "A"))
    with pytest.raises(
        TargetCrashed, match=r"^Page.enable was not sent, because the page T has crashed; reload or navi"
    ):
        send(router, "A", "Page.enable")
    with pytest.raises(TargetCrashed, match=r"^Page.printToPDF was not sent, .*would end the whole browser now") as end:
        send(router, "A", "Page.printToPDF")
    assert (end.value.reason, end.value.session_id, end.value.target_id) == ("not_sent", "A", "T")
    send(router, "A", "Page.reload")
    send(router, "A", "Target.closeTarget")
    outputs_of(router, event(RELOADED, {}, "A"))
    send(router, "A", "Page.printToPDF")


def test_a_crashed_frame_takes_no_command_and_its_page_is_named() -> None:
    router = Router()
    outputs_of(router, attach("A", target="P"), attach("B", below="A", target="F", kind="iframe"))
    outputs_of(router, attach("C", below="B", target="G", kind="iframe"), attach("D", target="H", kind="iframe"))
    outputs_of(router, *(event(CRASHED, {}, session) for session in "BCD"))
    for session, page in (("B", "the page P"), ("C", "the page P"), ("D", "the page, which contains it")):
        for method in ("Page.navigate", "Inspector.enable"):
            with pytest.raises(TargetCrashed, match=rf"^{method} was not sent, .*reload or navigate {page}"):
                send(router, session, method)
    send(router, "A", "Page.enable")


def test_the_crash_of_a_target_reaches_all_its_sessions() -> None:
    router = Router()
    outputs_of(router, attach("A", target="X"), attach("B", target="Y"), attach("C", target="X"))
    ids = [send(router, session) for session in ("C", "B", "A", None)]
    outputs = outputs_of(router, event(SOME_CRASHED, {"targetId": "X", "status": "killed"}))
    assert [output[1:3] for output in outputs[1:]] == [(ids[2], "A"), (ids[0], "C")]
    for on_the_root in (CRASHED, RELOADED):
        assert outputs_of(router, event(on_the_root, {})) == [("event", on_the_root, None, {})]
    assert len(router.waiting) == 2


def test_a_second_event_of_one_crash_ends_no_command_sent_after_the_first() -> None:
    router = Router()
    outputs_of(router, attach("A", target="X"), attach("B", target="X"))
    on_root = event(SOME_CRASHED, {"targetId": "X", "status": "killed"})
    before, elsewhere = send(router, "A"), send(router, "B")
    assert [output[1] for output in outputs_of(router, event(CRASHED, {}, "A"))[1:]] == [before]
    reload = send(router, "A", "Page.reload")
    assert [output[1] for output in outputs_of(router, on_root)[1:]] == [elsewhere]  # B is reported by this event only
    assert outputs_of(router, on_root) == [
        ("event", SOME_CRASHED, None, on_root["params"])
    ]  # repeated for each session that discovers
    assert [output[:2] for output in outputs_of(router, {"id": reload, "result": {}, "sessionId": "A"})] == [
        ("done", reload)
    ]


@pytest.mark.parametrize("reported_on", ["session", "root"])
def test_another_crash_after_a_reload_ends_commands_again(reported_on: str) -> None:
    router = Router()
    outputs_of(router, attach("A", target="X"), event(CRASHED, {}, "A"), event(RELOADED, {}, "A"))
    hit = send(router, "A")
    again = event(CRASHED, {}, "A") if reported_on == "session" else event(SOME_CRASHED, {"targetId": "X"})
    assert [output[1] for output in outputs_of(router, again)[1:]] == [hit]


def test_a_crash_event_on_the_session_ends_commands_even_without_a_reload_event() -> None:
    router = with_sessions(("A", None))
    outputs_of(router, event(CRASHED, {}, "A"))
    hit = send(router, "A", "Page.reload")
    assert [output[1] for output in outputs_of(router, event(CRASHED, {}, "A"))[1:]] == [hit]


def test_the_end_of_the_link_ends_everything_once() -> None:
    router = with_sessions(("A", None), ("B", None), ("C", "A"))
    for session in ("B", None, "C"):
        send(router, session)
    outputs = [plain(output) for output in router.lost(CUT)]
    assert [output[1] for output in outputs] == [1, 2, 3, "C", "A", "B"]
    assert {output[-2:] for output in outputs[3:]} == {("connection", "broken")}
    assert router.lost(Loss(kind="connection", reason="other", detail="")) == ()
    assert router.loss == CUT
    assert router.open_sessions() == ()
    with pytest.raises(ConnectionLost) as lost:
        send(router)
    assert lost.value.close_code == 1006
    before = router.statistics()
    late = [attach("D"), event("M.m", {}), {"id": 1, "result": {}}, {"id": 77, "result": {}}, {"error": {}}]
    assert outputs_of(router, *late, b"nonsense", b"") == []
    assert router.statistics() == before


def test_an_anomaly_is_counted_and_never_raises() -> None:
    router = with_sessions(("A", None))
    outputs = outputs_of(
        router,
        b"",
        b"[]",
        {"error": {"code": -32700, "message": "JSON: no input"}},
        event("M.m", {}, "gone"),
        attach("A"),
        attach("B", below="gone"),
        event(ATTACHED, {"sessionId": "B"}),
        event(ATTACHED, {"sessionId": "", "targetInfo": {}}),
        {"method": DETACHED, "params": []},
    )
    assert [output[1] for output in outputs if output[0] == "anomaly"] == [
        "malformed",
        "malformed",
        "orphan_error",
        "unknown_session",
        "session_open_already",
        "unknown_session",
        "unreadable_params",
        "unreadable_params",
        "unreadable_params",
    ]
    assert router.statistics().anomalies == {
        "malformed": 2,
        "orphan_error": 1,
        "unknown_session": 2,
        "session_open_already": 1,
        "unreadable_params": 3,
    }
    assert [each.session_id for each in router.open_sessions()] == ["A"]


def test_a_reply_that_cannot_be_read_ends_its_command() -> None:
    router = with_sessions(("A", None))
    first, second, third = send(router, "A"), send(router, "A"), send(router)
    outputs = outputs_of(
        router,
        {"id": first, "sessionId": "A"},
        b'{"id":%d,"result":{"a":\xff' % second,
        {"id": third, "sessionId": "A"},  # this command is not on session A
    )
    assert [output for output in outputs if output[0] == "done"] == [
        ("done", first, "A", "Page.enable", ("malformed",)),
        ("done", second, "A", "Page.enable", ("malformed",)),
    ]
    assert router.statistics().anomalies == {"malformed": 3}
    assert len(router.waiting) == 1


def test_an_anomaly_shows_no_payload() -> None:
    router = Router()
    for payload in (b'{"method":"M.m","params":{"secret":1},"sessionId":"gone"}', b'{"secret":1}', b"secret"):
        for output in router.receive(payload):
            assert isinstance(output, Anomaly)
            assert "secret" not in repr(output)


def test_a_payload_is_decoded_after_all_earlier_outputs_were_consumed() -> None:
    router = with_sessions(("A", None))
    outputs = router.receive_all([json.dumps(each).encode() for each in (detach("A"), event("M.m", {}, "A"))])
    assert isinstance(next(outputs), Event)
    assert router.open_sessions() == ()  # the tables change before the output
    assert isinstance(next(outputs), SessionClosed)
    assert router.statistics().anomalies == {}  # the second message is not decoded yet
    assert [plain(output)[1] for output in outputs] == ["unknown_session"]


def test_method_of_names_a_waiting_command() -> None:
    router = Router()
    command_id, _text = router.command("A.a")
    assert router.method_of(command_id) == "A.a"
    router.receive(b'{"id":%d,"result":{}}' % command_id)
    assert router.method_of(command_id) is None
    assert router.method_of(-5) is None


class Name(str, enum.Enum):
    """An enum with string values, like `StrEnum`, which Python 3.10 does not have."""

    ENABLE = "Page.enable"


def test_a_method_is_a_string_or_a_string_enum() -> None:
    router = Router()
    assert json.loads(router.command(Name.ENABLE)[1])["method"] == "Page.enable"
    for method in ("", None, 5, b"Page.enable", ["Page.enable"]):
        with pytest.raises(InvalidArgument):
            router.command(method)  # type: ignore[arg-type]
    assert len(router.waiting) == 1


def test_a_session_is_open_from_its_event_to_its_end() -> None:
    router = Router()
    assert router.is_open(None)
    assert not router.is_open(SessionId("A"))
    assert router.in_flight == 0
