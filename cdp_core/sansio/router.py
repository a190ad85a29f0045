"""The meaning of each message for the commands and sessions of one connection.

The router is mutable, small and hot: every message passes through it, and one task owns it. It draws command ids,
keeps the waiting commands and the tree of sessions, and turns each payload into outputs, in order. Its laws:

* **Every command ends exactly once**: with its result, its refusal, a loss, or a reply that cannot be read. A command
  that its caller abandons gives no output. Chromium leaves commands of ended sessions and crashed targets unanswered
  for ever, so the router ends them (docs/cdp/detached-commands-never-answer.md). The browser reports a crash with two
  events; a command sent after the first survives the second (docs/cdp/a-crash-is-reported-by-two-events.md).
* **A crashed page gets only the commands that the browser process answers**
  (docs/cdp/a-crashed-page-answers-a-third-of-the-commands.md).
* **One id counter per connection; the session is checked afterwards.** A refusal caused by a dead session has no
  `sessionId`; only an id that is unique on the connection identifies its command. That refusal proves that the session
  is dead, and ends it (docs/cdp/replies-of-a-dead-session-have-no-sessionid.md).
* **Sessions open on the event, not on the reply** (docs/cdp/sessions-open-on-the-event.md), and close with their whole
  subtree: children of a detached session get no event of their own (docs/cdp/nested-sessions-die-silently.md).
* **Order within one message**: tables first. An attach gives `SessionOpened`, then the event. A detach gives the
  event, then each `CommandDone` of the subtree by id, then each `SessionClosed`, children before parents, siblings in
  opening order (docs/cdp/a-detach-ends-commands-then-sessions.md). All outputs of a message precede the next.
* **Nothing that the peer sends raises.** A message that fits nowhere is an `Anomaly`, counted; a reply to a command
  that already ended is late, counted. Unknown methods are ordinary events (docs/cdp/nothing-the-peer-sends-raises.md).

The router does not know what the domains mean, which listeners exist, or what time it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from cdp_core.errors import InvalidArgument, LocalProtocolError, RemoteProtocolError, SessionGone, TargetCrashed
from cdp_core.sansio.crash_rules import advice_after_crash
from cdp_core.sansio.messages import (
    EVENT_MARK,
    MAX_COMMAND_ID,
    UNUSUAL,
    CommandId,
    Event,
    Incoming,
    Json,
    Malformed,
    Payload,
    Refusal,
    Result,
    SessionId,
    TargetId,
    decode,
    decode_event,
    decode_result,
    encode_command,
    is_object,
)
from cdp_core.sansio.outcomes import Loss, Outcome, Waiter
from cdp_core.sansio.redaction import shown_id, shown_method, shown_type
from cdp_core.sansio.structs import Struct

MAX_SEND_BYTES: Final = 100 * 2**20 - 64
"""Bytes. Chromium drops the whole socket at a message of 100 MiB (fact 57), so a larger one is refused unsent."""

SESSION_NOT_FOUND: Final = -32001
LONGEST_ID: Final = 64


class CommandDone(Struct, frozen=True, kw_only=True):
    """A command ended; `outcome` is how, and `waiter` is the one that its sender gave."""

    id: CommandId
    session_id: SessionId | None
    method: str
    outcome: Outcome
    waiter: Any = None


class SessionOpened(Struct, frozen=True, kw_only=True):
    """A session opened, usable at once; `parent` is the session that announced it, None for the root."""

    session_id: SessionId
    target_id: TargetId
    target_type: str
    parent: SessionId | None = None
    waiting_for_debugger: bool = False


class SessionClosed(Struct, frozen=True, kw_only=True):
    """A session ended; its commands have ended before it."""

    session_id: SessionId
    target_id: TargetId
    parent: SessionId | None
    loss: Loss


class Anomaly(Struct, frozen=True, kw_only=True):
    """A message that fits nowhere and changed nothing; `reason` is a fixed word, `detail` has no payload."""

    reason: str
    detail: str
    session_id: SessionId | None = None
    id: CommandId | None = None


Output = Event | CommandDone | SessionOpened | SessionClosed | Anomaly
"""One output of the router; each payload gives none, one or several."""


class RouterStatistics(Struct, frozen=True, kw_only=True):
    """Counters of one connection since its start."""

    commands: int
    in_flight: int
    sessions: int
    abandoned: int
    late_replies: int
    dead_by_refusal: int
    anomalies: Mapping[str, int]


class _Session:
    """One open session and its children; `crashed` from its crash event to its reload event."""

    __slots__ = ("children", "crashed", "opened")

    def __init__(self, opened: SessionOpened) -> None:
        self.opened = opened
        self.children: dict[SessionId, None] = {}
        self.crashed = False


class Router:
    """The command ids, the waiting commands and the sessions of one connection."""

    def __init__(self, *, first_command_id: int = 1, max_send_bytes: int = MAX_SEND_BYTES) -> None:
        if not 1 <= first_command_id <= MAX_COMMAND_ID:
            raise InvalidArgument(f"first_command_id must be within 1 and {MAX_COMMAND_ID}, not {first_command_id}.")
        self._first_id = first_command_id
        self._last_id = first_command_id - 1
        self._max_send_bytes = max_send_bytes
        # The commands that have not ended: session, method, waiter. Only the router changes it.
        self.waiting: dict[CommandId, tuple[SessionId | None, str, Any]] = {}
        self._sessions: dict[SessionId | None, _Session | None] = {None: None}
        self._loss: Loss | None = None
        # The events that change the tables: one more from the first crash on, as `Page.frameNavigated` is frequent.
        self._session_events = dict(_SESSION_EVENTS)
        self._abandoned = self._late = self._dead_by_refusal = 0
        self._anomalies: dict[str, int] = {}

    # ── to the browser ───────────────────────────────────────────────────────────────────────────────────────────────

    def command(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        session_id: SessionId | None = None,
        waiter: Waiter | None = None,
    ) -> tuple[CommandId, bytes]:
        """Register a command as waiting, and return its id and its text, which the caller must send.

        Its `CommandDone` has the `waiter`.

        Raises ConnectionLost, SessionGone, TargetCrashed, or LocalProtocolError for this command alone; then no state
        has changed.
        """
        if self._loss is not None:
            raise self._loss.error()
        try:
            session = self._sessions[session_id]
        except KeyError:
            raise SessionGone(
                f"{method} was not sent: session {shown_id(session_id)} is not open on this connection; "
                "attach to its target again.",
                reason="not_open",
                session_id=session_id or "",
            ) from None
        if session is not None and session.crashed:
            self._check_crashed(session, method)
        if type(method) is not str:  # for a str enum member, take its value
            method = str.__str__(method) if isinstance(method, str) else ""  # pyright: ignore[reportUnnecessaryIsInstance]
        if not method:
            raise InvalidArgument("A command's method must be a string such as 'Page.navigate'.")
        command_id = CommandId(self._last_id + 1)
        if command_id > MAX_COMMAND_ID:
            raise LocalProtocolError("All ids of this connection are used up; open a new one.", reason="ids_exhausted")
        text = encode_command(command_id, method, params, session_id)
        if len(text) > self._max_send_bytes:
            raise LocalProtocolError(
                f"{method} was not sent: it takes {len(text)} bytes, and Chromium drops the whole connection above "
                f"{self._max_send_bytes}; send it in parts.",
                reason="too_big",
            )
        self._last_id = command_id
        self.waiting[command_id] = (session_id, method, waiter)
        return command_id, text

    def abandon(self, command_id: CommandId) -> bool:
        """End a command whose caller stopped waiting; its reply will be late. Return False if it had ended."""
        if self.waiting.pop(command_id, None) is None:
            return False
        self._abandoned += 1
        return True

    # ── from the browser ─────────────────────────────────────────────────────────────────────────────────────────────

    def receive_all(self, payloads: Iterable[Payload]) -> Iterator[Output]:
        """Yield the outputs of the payloads; decode a payload only when those before it are consumed."""
        sessions, session_events, waiting = self._sessions, self._session_events, self.waiting
        for payload in payloads:
            message: Incoming
            try:
                # The two common cases are inlined: an event that changes no table, the result of a waiting command.
                if type(payload) is not bytes:
                    message = decode(payload)
                elif payload[2] == EVENT_MARK:
                    message = event = decode_event(payload)
                    if event.session_id in sessions and event.method not in session_events:
                        yield event
                        continue
                else:
                    message = result = decode_result(payload)
                    entry = waiting.get(result.id)
                    if entry is not None and entry[0] == result.session_id:
                        del waiting[result.id]
                        yield CommandDone(
                            id=result.id, session_id=entry[0], method=entry[1], outcome=result, waiter=entry[2]
                        )
                        continue
            except UNUSUAL:
                message = decode(payload)
            yield from self._classify(message)

    def receive(self, payload: Payload) -> tuple[Output, ...]:
        return tuple(self.receive_all((payload,)))

    def lost(self, loss: Loss) -> tuple[Output, ...]:
        """End every command and session, because the link ended. Idempotent."""
        if self._loss is not None:
            return ()
        self._loss = loss
        roots = [
            key for key, session in self._sessions.items() if session is not None and session.opened.parent is None
        ]
        closing = [session for root in roots if root is not None for session in self._close(root)]
        del self._sessions[None]  # the root session ends too
        return (*self._end_commands(lambda _session: loss), *(_closed(session, loss) for session in closing))

    # ── queries ──────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def loss(self) -> Loss | None:
        """Why the link ended, or None while it is open."""
        return self._loss

    @property
    def late_replies(self) -> int:
        """The number of replies to commands that had ended."""
        return self._late

    @property
    def in_flight(self) -> int:
        """The number of commands that have not ended."""
        return len(self.waiting)

    def method_of(self, command_id: int) -> str | None:
        """Return the method of a waiting command, or None."""
        entry = self.waiting.get(CommandId(command_id))
        return None if entry is None else entry[1]

    def is_open(self, session_id: SessionId | None) -> bool:
        """True while commands can be sent on a session; None: the root session."""
        return session_id in self._sessions

    def open_sessions(self) -> tuple[SessionOpened, ...]:
        """Return every open session, parents before children, in the order of opening."""
        return tuple(session.opened for session in self._sessions.values() if session is not None)

    def statistics(self) -> RouterStatistics:
        """Return the counters."""
        return RouterStatistics(
            commands=self._last_id - self._first_id + 1,
            in_flight=len(self.waiting),
            sessions=sum(session is not None for session in self._sessions.values()),
            abandoned=self._abandoned,
            late_replies=self._late,
            dead_by_refusal=self._dead_by_refusal,
            anomalies=MappingProxyType(dict(self._anomalies)),
        )

    # ── one message ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _classify(self, message: Incoming) -> Iterable[Output]:
        if self._loss is not None:
            return ()
        if isinstance(message, Event):
            return self._event(message)
        if isinstance(message, (Result, Refusal)):
            return self._reply(message)
        if isinstance(message, Malformed):
            return self._malformed(message)
        return (self._anomaly("orphan_error", f"the browser could not read a message of ours (code {message.code})"),)

    def _event(self, event: Event) -> Iterable[Output]:
        if event.session_id not in self._sessions:
            detail = f"{shown_method(event.method)} on a session that is not open"
            return (self._anomaly("unknown_session", detail, event.session_id),)
        rule = self._session_events.get(event.method)
        if rule is None:
            return (event,)
        if rule is Router._reloaded:
            return self._reloaded(event)
        try:
            params = event.params
        except RemoteProtocolError:
            detail = f"{shown_method(event.method)} cannot be read"
            return event, self._anomaly("unreadable_params", detail, event.session_id)
        return rule(self, event, params)

    def _attached(self, event: Event, params: Json) -> Iterable[Output]:
        session_id, target = params.get("sessionId"), params.get("targetInfo")
        if not isinstance(session_id, str) or not session_id or not is_object(target):
            detail = f"{shown_method(event.method)} names no session"
            return event, self._anomaly("unreadable_params", detail, event.session_id)
        target_id, target_type = target.get("targetId"), target.get("type")
        if session_id in self._sessions:
            return event, self._anomaly("session_open_already", "an attach to an open session", SessionId(session_id))
        opened = SessionOpened(
            session_id=SessionId(session_id),
            target_id=TargetId(target_id if isinstance(target_id, str) else ""),
            target_type=target_type[:LONGEST_ID] if isinstance(target_type, str) else "",
            parent=event.session_id,
            waiting_for_debugger=params.get("waitingForDebugger") is True,
        )
        self._sessions[opened.session_id] = _Session(opened)
        parent = self._sessions[event.session_id]
        if parent is not None:
            parent.children[opened.session_id] = None
        return opened, event

    def _detached(self, event: Event, params: Json) -> Iterable[Output]:
        session_id = params.get("sessionId")
        if not isinstance(session_id, str) or session_id not in self._sessions:
            # Normal: the end of its parent, or a refusal, has already closed the session.
            return (event,)
        return event, *self._end_session(SessionId(session_id), "detached", "the browser detached it")

    def _target_crashed(self, event: Event, _params: Json) -> Iterable[Output]:
        session = self._sessions[event.session_id]
        if session is not None:
            session.crashed = True
            self._session_events["Page.frameNavigated"] = Router._reloaded
        return event, *self._crash(event.session_id)

    def _reloaded(self, event: Event, _params: Json | None = None) -> Iterable[Output]:
        """Note that the session has a renderer process again; the params do not matter."""
        session = self._sessions[event.session_id]
        if session is not None:
            session.crashed = False
        return (event,)

    def _some_target_crashed(self, event: Event, params: Json) -> Iterable[Output]:
        target_id = params.get("targetId")
        hit = [
            session.opened.session_id
            for session in self._sessions.values()
            # The waiting commands of a crashed session were sent after its own crash event; a reload is carried out.
            if session and session.opened.target_id == target_id and not session.crashed
        ]
        return event, *(output for session_id in hit for output in self._crash(session_id))

    def _reply(self, reply: Result | Refusal) -> Iterable[Output]:
        entry = self.waiting.get(reply.id)
        if entry is None:
            return self._not_waiting(reply.id, reply.session_id)
        session_id, method, waiter = entry
        if reply.session_id != session_id:
            if reply.session_id is None and type(reply) is Refusal and reply.code == SESSION_NOT_FOUND:
                assert session_id is not None
                self._dead_by_refusal += 1
                return self._end_session(session_id, "refused", "the browser does not know it any more")
            detail = f"a reply to {method} came on a different session from the command"
            return (self._anomaly("reply_on_other_session", detail, reply.session_id, reply.id),)
        del self.waiting[reply.id]
        return (CommandDone(id=reply.id, session_id=session_id, method=method, outcome=reply, waiter=waiter),)

    def _malformed(self, message: Malformed) -> Iterable[Output]:
        anomaly = self._anomaly(
            "malformed", f"a message of {message.size} bytes: {message.reason}", message.session_id, message.id
        )
        entry = self.waiting.get(message.id) if message.id is not None else None
        if entry is None or message.id is None or message.session_id not in (None, entry[0]):
            return (anomaly,)
        del self.waiting[message.id]
        done = CommandDone(id=message.id, session_id=entry[0], method=entry[1], outcome=message, waiter=entry[2])
        return anomaly, done

    def _not_waiting(self, command_id: CommandId, session_id: SessionId | None) -> Iterable[Output]:
        if self._first_id <= command_id <= self._last_id:
            self._late += 1
            return ()
        return (self._anomaly("unknown_id", "a reply to a command that was never sent", session_id, command_id),)

    def _check_crashed(self, session: _Session, method: str) -> None:
        """Raise TargetCrashed unless the browser answers the command without the session's renderer process."""
        page: _Session | None = session
        while page is not None and page.opened.target_type == "iframe":
            page = self._sessions.get(page.opened.parent)
        advice = advice_after_crash(method, "" if page is session else "page" if page is None else _describe(page))
        if advice:
            raise TargetCrashed(
                f"{method} was not sent, because the {_describe(session)} has crashed; {advice}.",
                reason="not_sent",
                session_id=session.opened.session_id,
                target_id=session.opened.target_id,
            )

    # ── ends ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _crash(self, session_id: SessionId | None) -> Iterable[Output]:
        session = self._sessions.get(session_id)
        if session is None:
            return ()
        loss = Loss(
            kind="crash",
            reason="crashed",
            detail=f"The {_describe(session)} crashed, and the command may have been carried out; "
            "reload or navigate the page to use it again.",
            session_id=session_id,
            target_id=session.opened.target_id,
        )
        return self._end_commands(lambda owner: loss if owner == session_id else None)

    def _end_session(self, session_id: SessionId, reason: str, why: str) -> Iterable[Output]:
        closing = self._close(session_id)
        losses = {
            session.opened.session_id: Loss(
                kind="session",
                reason=reason if session.opened.session_id == session_id else "parent_ended",
                detail=f"The session of the {_describe(session)} ended: "
                + (why if session.opened.session_id == session_id else f"its parent {shown_id(session_id)} ended")
                + "; attach to the target again if it still exists.",
                session_id=session.opened.session_id,
                target_id=session.opened.target_id,
            )
            for session in closing
        }
        ended = self._end_commands(lambda owner: losses.get(owner) if owner is not None else None)
        return *ended, *(_closed(session, losses[session.opened.session_id]) for session in closing)

    def _close(self, session_id: SessionId) -> list[_Session]:
        """Remove a session and its subtree; return them, children before parents, siblings in opening order."""
        order: list[_Session] = []
        stack: list[SessionId] = [session_id]
        while stack:
            session = self._sessions.pop(stack.pop())
            assert session is not None  # only the root session maps to None
            order.append(session)
            stack.extend(session.children)
        top = order[0].opened
        parent = self._sessions.get(top.parent) if top.parent is not None else None
        if parent is not None:
            parent.children.pop(session_id, None)
        order.reverse()  # parent, last child first … becomes first child … parent
        return order

    def _end_commands(self, loss_of: Callable[[SessionId | None], Loss | None]) -> list[CommandDone]:
        ended: list[CommandDone] = []
        for command_id in sorted(self.waiting):
            session_id, method, waiter = self.waiting[command_id]
            loss = loss_of(session_id)
            if loss is not None:
                del self.waiting[command_id]
                done = CommandDone(id=command_id, session_id=session_id, method=method, outcome=loss, waiter=waiter)
                ended.append(done)
        return ended

    def _anomaly(
        self, reason: str, detail: str, session_id: SessionId | None = None, command_id: CommandId | None = None
    ) -> Anomaly:
        self._anomalies[reason] = self._anomalies.get(reason, 0) + 1
        if session_id is not None:
            session_id = SessionId(session_id[:LONGEST_ID])  # the peer may send an id of any length
        return Anomaly(reason=reason, detail=detail, session_id=session_id, id=command_id)


_SESSION_EVENTS: Final = {
    "Target.attachedToTarget": Router._attached,
    "Target.detachedFromTarget": Router._detached,
    "Inspector.targetCrashed": Router._target_crashed,
    "Inspector.targetReloadedAfterCrash": Router._reloaded,
    "Target.targetCrashed": Router._some_target_crashed,
}
"""The events that change the tables; every other event passes through."""


def _closed(session: _Session, loss: Loss) -> SessionClosed:
    opened = session.opened
    return SessionClosed(session_id=opened.session_id, target_id=opened.target_id, parent=opened.parent, loss=loss)


def _describe(session: _Session) -> str:
    return f"{shown_type(session.opened.target_type)} {shown_id(session.opened.target_id)}"
