"""A supervisor without IO, for any event loop: messages in, messages out, time given by the caller.

    engine = SupervisorEngine()
    engine.link_up(at)
    for text in engine.outgoing(): ...              # send it, as a text message
    engine.receive(message, at)                     # True: it was a reply to a command of the supervisor
    engine.next_deadline()                          # then: engine.time_passed(at)
    engine.snapshot()

It can share a connection that another client owns: command ids begin at `first_command_id` (the client stays below
it), `receive` returns True only for a reply to a command of the supervisor, and the client handles all events as well.
With `sessions="adopt"` the engine follows the sessions that the client attaches and never sends
`Target.setAutoAttach`, since the last one on a connection wins.

`fetch` says whose Fetch is: "ours" lets extensions claim requests (`ClaimFetch`), "other" forbids it, since the commands of
the other client are not seen. The default is "ours", and with `sessions="adopt"` it is "other".

`record=partial(recorder, writer)` (recording.py) records the inputs, for `replay`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from math import inf
from typing import Any, Literal

from cdp_core.errors import CdpError, InvalidArgument
from cdp_core.sansio.fetch_arbiter import PAUSES, WATCHED
from cdp_core.sansio.fetch_claims import FetchClaims
from cdp_core.sansio.messages import CommandId, Event, Payload, SessionId
from cdp_core.sansio.outcomes import Loss, Waiter
from cdp_core.sansio.router import CommandDone, Output, Router, SessionClosed
from cdp_supervisor.extension_claims import NOT_OURS
from cdp_supervisor.performing import IGNORED, Performer, Shared, commands_of
from cdp_supervisor.sansio.changes import Change
from cdp_supervisor.sansio.console import ConsoleRing
from cdp_supervisor.sansio.effects import Answer, Note
from cdp_supervisor.sansio.extensions import Extension
from cdp_supervisor.sansio.inputs import (
    BrowserEvent,
    Input,
    Instant,
    LinkDown,
    LinkUp,
    RequestCancelled,
    RequestReceived,
    TimePassed,
)
from cdp_supervisor.sansio.options import Limits, Policy, Reconnect, Scope
from cdp_supervisor.sansio.requests import Request, TypedRequest
from cdp_supervisor.sansio.state import Deadline, State, initial_state
from cdp_supervisor.sansio.typed_requests import Readers
from cdp_supervisor.sansio.view import Snapshot

Moment = Instant | float
"""A moment in seconds, on a clock that never goes back; an `Instant` has the wall time as well."""


class SupervisorEngine:
    """A supervisor for callers that move the bytes, give the time and take out the answers."""

    def __init__(
        self,
        *,
        policy: Policy | None = None,
        scope: Scope | None = None,
        first_command_id: int = 1,
        sessions: Literal["own", "adopt"] = "own",
        fetch: Literal["ours", "other"] | None = None,
        reconnect: Reconnect | None = None,
        keepalive: float | None = 60.0,
        limits: Limits | None = None,
        extensions: Iterable[Extension[Any]] = (),
        record: Callable[[State], Callable[[Input], None]] | None = None,
    ) -> None:
        if sessions not in ("own", "adopt"):
            raise InvalidArgument(f"sessions must be 'own' or 'adopt', not {sessions!r}.")
        if fetch not in (None, "ours", "other"):
            raise InvalidArgument(f"fetch must be 'ours', 'other' or None, not {fetch!r}.")
        ours = fetch == "ours" or (fetch is None and sessions == "own")
        self._port = _Port(first_command_id, may_claim=ours)
        state = initial_state(
            policy=policy,
            scope=scope,
            reconnect=reconnect,
            keepalive=keepalive,
            limits=limits,
            adopting=sessions == "adopt",
            extensions=(ConsoleRing(), *extensions),
        )
        self._runner = Performer(state, self._port, record=None if record is None else record(state))
        self._readers = Readers()
        self._last_request = 0

    # ── the link ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def link_up(self, at: Moment, *, browser_id: str | None = None) -> None:
        """Begin a link: send what `outgoing` returns over it."""
        at = self._port.at = _instant(at)
        self._port.begin_link()
        self._runner.link_ended()
        self._runner.feed(LinkUp(at=at, generation=self._runner.generation, browser_id=browser_id))

    def link_down(self, reason: str, at: Moment, *, jitter: float = 0.5, final: bool = False) -> None:
        """End the link, or report that it could not be made."""
        at = self._port.at = _instant(at)
        loss = Loss(kind="connection", reason=reason, detail="The link to the browser ended.")
        for output in self._port.router.lost(loss):
            self._take(output, at)
        self._port.claims.link_lost(loss.error)
        self._port.out.clear()
        self._port.wants_link, self._port.wants_end = False, ""  # until the state machine orders the next attempt
        self._runner.feed(
            LinkDown(at=at, generation=self._runner.generation, reason=reason, jitter=jitter, final=final)
        )

    @property
    def wants_link(self) -> bool:
        """True if the caller has to connect now."""
        return self._port.wants_link

    @property
    def wants_end(self) -> str:
        """Why the caller has to end the link, which does not answer; empty if it need not."""
        return self._port.wants_end

    # ── messages and time ────────────────────────────────────────────────────────────────────────────────────────────

    def receive(self, message: str | Payload, at: Moment) -> bool:
        """Take in one message of the browser, text or bytes.

        True: it answers a command of the engine, so do not pass it on. Raises InvalidArgument for another kind of value.
        """
        payload = message if type(message) is bytes else _payload(message)
        at = self._port.at = _instant(at)
        ours, router = False, self._port.router
        late = router.late_replies
        for output in router.receive(payload):
            ours = ours or isinstance(output, CommandDone)
            self._take(output, at)
        return ours or router.late_replies > late

    def adopt(
        self,
        session_id: str,
        target_id: str,
        target_type: str,
        at: Moment,
        *,
        url: str = "",
        parent: str | None = None,
    ) -> None:
        """Follow a session that was open before this engine."""
        info = {"targetId": target_id, "type": target_type, "url": url, "title": "", "attached": True}
        params = {"sessionId": session_id, "targetInfo": info, "waitingForDebugger": False}
        message: dict[str, Any] = {"method": "Target.attachedToTarget", "params": params}
        if parent is not None:
            message["sessionId"] = parent
        self.receive(json.dumps(message).encode(), at)

    def time_passed(self, at: Moment) -> None:
        """Feed the time, so that due deadlines take effect."""
        at = self._port.at = _instant(at)
        self._port.claims.due()
        self._runner.feed(TimePassed(at=at, generation=self._runner.generation))

    def outgoing(self) -> list[str]:
        """Take out what to send: each string as one text message.

        Do not encode it: Chromium drops the link at a binary message (fact 53).
        """
        out, self._port.out = self._port.out, []
        return [text.decode() for text in out]

    def next_deadline(self) -> Deadline | None:
        """Return when to call `time_passed`, and why; None: not at all."""
        deadline, at = self._runner.deadline(), self._port.claims.next_deadline()
        if at is None or (deadline is not None and deadline.at <= at):
            return deadline
        return Deadline(at=at, why="a request must not stay paused")

    # ── requests ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def request(self, request: Request | TypedRequest, at: Moment) -> int:
        """Feed a request; `answers()` will have its answer under the id that this returns.

        Raises InvalidArgument for a typed command that cannot be sent as it is.
        """
        request_id = self._last_request + 1
        plain = self._readers.untyped(request_id, request)
        at = self._port.at = _instant(at)
        self._last_request = request_id
        self._runner.feed(
            RequestReceived(at=at, generation=self._runner.generation, request_id=request_id, request=plain)
        )
        return request_id

    def cancel(self, request_id: int, at: Moment) -> None:
        """Cancel a request: its answer is no longer needed."""
        at = self._port.at = _instant(at)
        if request_id not in self._port.answers:
            self._readers.forget(request_id)
        self._runner.feed(RequestCancelled(at=at, generation=self._runner.generation, request_id=request_id))

    def answers(self) -> dict[int, Answer]:
        """Take out the answers so far, by request id."""
        answers, self._port.answers = self._port.answers, {}
        if not answers:
            return answers
        calls = self._runner.state.calls
        return {request_id: self._readers.read(answer, calls) for request_id, answer in answers.items()}

    def changes(self) -> list[Change]:
        """Take out the changes so far."""
        changes, self._port.changes = self._port.changes, []
        return changes

    def notes(self) -> list[Note]:
        """Take out the lines for the log."""
        notes, self._port.notes = self._port.notes, []
        return notes

    def snapshot(self, at: Moment | None = None) -> Snapshot:
        """Return a snapshot; with `at`, after the deadlines that are due until then."""
        if at is not None:
            self.time_passed(at)
        return self._runner.snapshot()

    @property
    def state(self) -> State:
        """The whole state."""
        return self._runner.state

    # ── the port of the state machine ────────────────────────────────────────────────────────────────────────────────

    def _take(self, output: Output, at: Instant) -> None:
        if isinstance(output, CommandDone):
            output.waiter.settle(output.outcome)
        elif isinstance(output, Event):
            deferrable = self._runner.used_events.get(output.method)
            generation = self._runner.generation
            if deferrable is not None and not (deferrable and self._runner.defer(at, generation, output)):
                self._runner.feed(BrowserEvent(at=at, generation=generation, event=output))
            if output.method in PAUSES:
                self._port.claims.paused(output)
        else:
            self._runner.take(output)
            if isinstance(output, SessionClosed):
                self._port.claims.session_closed(output.session_id, output.loss.error)


class _Port:
    """Where the engine's effects go: its router, and the lists that the caller takes out."""

    def __init__(self, first_command_id: int, *, may_claim: bool) -> None:
        self.first_command_id = first_command_id
        self.may_claim = may_claim
        self.at = Instant(mono=0.0)
        self.sender = self
        self.mono, self.wall = lambda: self.at.mono, lambda: self.at.wall
        self.claims = FetchClaims(self._send, lambda: self.at.mono)
        self.router = Router(first_command_id=first_command_id)
        self.router.lost(Loss(kind="connection", reason="link_down", detail="The link is down."))  # until `link_up`
        self.out: list[bytes] = []
        self.answers: dict[int, Answer] = {}
        self.changes: list[Change] = []
        self.notes: list[Note] = []
        self.wants_link = True
        self.wants_end = ""

    def begin_link(self) -> None:
        self.router = Router(first_command_id=self.first_command_id)
        self.out.clear()
        self.wants_link, self.wants_end = False, ""

    def fed(self, state: State) -> None:
        """The caller asks for the next deadline itself."""

    def command(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        session_id: SessionId | None,
        waiter: Waiter,
        *,
        bounded: bool,  # noqa: ARG002 - the caller bounds what it sends
    ) -> CommandId:
        if method in WATCHED and self.router.is_open(session_id):
            waiter = self.claims.check_command(session_id, method, params, waiter)
        return self._send(method, params, session_id, waiter)

    def _send(
        self, method: str, params: Mapping[str, Any] | None, session_id: SessionId | None, waiter: Waiter, /
    ) -> CommandId:
        command_id, text = self.router.command(method, params, session_id, waiter)
        self.out.append(text)
        return command_id

    def fetch_claims(self) -> FetchClaims:
        if not self.may_claim:
            raise InvalidArgument(NOT_OURS)
        return self.claims

    def abandon(self, command_id: CommandId) -> None:
        self.router.abandon(command_id)

    def share(self, effect: Shared) -> None:
        for command in commands_of(effect):
            with suppress(CdpError):  # the session has just ended: an input follows
                self.out.append(self.router.command(*command, IGNORED)[1])

    def answer(self, answer: Answer) -> None:
        self.answers[answer.request_id] = answer

    def publish(self, change: Change) -> None:
        self.changes.append(change)

    def note(self, note: Note) -> None:
        self.notes.append(note)

    def dial(self, _generation: int) -> None:
        self.wants_link = True

    def disconnect(self, reason: str) -> None:
        self.wants_end = reason


def _instant(at: Moment) -> Instant:
    if isinstance(at, Instant):
        return at
    if isinstance(at, (int, float)) and -inf < at < inf:  # pyright: ignore[reportUnnecessaryIsInstance] - embedders without a type checker
        return Instant(mono=at, wall=at)
    shown = repr(at) if isinstance(at, float) else f"a {type(at).__name__}"
    raise InvalidArgument(
        f"A moment must be a finite number of seconds or an Instant, not {shown}; pass the time of your loop's clock."
    )


def _payload(message: Any) -> Payload:
    """Return a message as the router takes it. Text with a lone surrogate is one that it cannot read."""
    if isinstance(message, str):
        return message.encode("utf-8", "surrogatepass")
    if isinstance(message, (bytes, bytearray, memoryview)):
        return message  # pyright: ignore[reportUnknownVariableType]
    raise InvalidArgument(
        f"A message of the browser must be text or bytes, not a {type(message).__name__}; "
        "pass it as it came from the socket, not decoded as JSON."
    )
