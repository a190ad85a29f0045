"""A supervisor's own trace: everything that its machine was fed, so that it can be run again without browser or clock.

The records are lines of a `TraceWriter` (see cdp_core.sansio.trace). One of kind `supervisor` has the options; each input is
one of kind `input`, with its moment exactly as it was. What a browser said follows in a message record of its own, so that
its limits and its redaction hook see it; a hook that keeps the JSON's shape and ids leaves the trace replayable.

What somebody asked is recorded without what it carried: neither params of calls nor texts for prompts, of which no state
depends.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import attrs

from cdp_core.errors import InvalidArgument, RemoteProtocolError
from cdp_core.sansio.router import Loss
from cdp_core.sansio.trace import MessageRecord, OtherRecord, TraceRecord
from cdp_core.sansio.wire import Event, Json, Malformed, Refusal, Result, SessionId, TargetId, decode, is_object
from cdp_core.transports.tracefile import TraceWriter
from cdp_supervisor.runner import Runner
from cdp_supervisor.sansio import questions
from cdp_supervisor.sansio.console import ConsoleRing
from cdp_supervisor.sansio.effects import Effect
from cdp_supervisor.sansio.inputs import (
    Ask,
    AskDropped,
    BrowserEvent,
    CommandEnded,
    Input,
    Instant,
    LinkDown,
    LinkUp,
    NotSent,
    SessionClosed,
    SessionOpened,
    TimePassed,
)
from cdp_supervisor.sansio.machines import Machine
from cdp_supervisor.sansio.options import Limits, Policy, Reconnect, Scope
from cdp_supervisor.sansio.state import State, initial_state
from cdp_supervisor.sansio.view import Snapshot

__all__ = ["recorder", "replay"]

OPTIONS, INPUT = "supervisor", "input"
CONN: Final = "supervisor"
PRIVATE: Final = frozenset(("params", "prompt_text"))
PLAIN: Final[dict[str, Any]] = {
    kind.__name__: kind for kind in (LinkUp, LinkDown, SessionOpened, SessionClosed, AskDropped, TimePassed)
}
QUESTIONS: Final[dict[str, Any]] = {
    kind.__name__: kind
    for kind in (
        questions.RespondToDialog,
        questions.Call,
        questions.AwaitCall,
        questions.Focus,
        questions.Recover,
        questions.Stop,
    )
}


# ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def recorder(writer: TraceWriter, state: State) -> Callable[[Input], None]:
    """What writes down each input of a machine that begins so."""
    options: Json = {
        "policy": state.policy.to_json(),
        "scope": state.scope.to_json(),
        "reconnect": state.reconnect.to_json(),
        "limits": attrs.asdict(state.limits),
        "keepalive": state.keepalive,
        "adopting": state.adopting,
        "machines": [each.machine.name for each in state.extensions],
    }
    begun = False

    def record(input: Input) -> None:  # noqa: A002 - the word of the whole machine
        nonlocal begun
        at = input.at.mono
        if not begun:
            begun = True
            writer.other(OPTIONS, options, at=at, conn=CONN)
        fields, text = _written(input)
        fields |= {"type": type(input).__name__, "mono": at, "wall": input.at.wall, "epoch": input.epoch}
        writer.other(INPUT, fields, at=at, conn=CONN)
        if text is not None:
            writer.message("in", text, at=at, conn=CONN)

    return record


def _written(input: Input) -> tuple[Json, bytes | None]:  # noqa: A002
    """The fields of an input, and the message that belongs to it."""
    if isinstance(input, BrowserEvent):
        fields: Json = {"method": input.event.method, "session_id": input.event.session_id}
        return fields, _event_text(input.event)
    if isinstance(input, CommandEnded):
        return _written_end(input)
    if isinstance(input, Ask):
        return {"ask_id": input.ask_id, "question": _question_to_json(input.question)}, None
    names = [name for name in type(input).__struct_fields__ if name not in ("at", "epoch")]
    return {name: getattr(input, name) for name in names}, None


def _written_end(ended: CommandEnded) -> tuple[Json, bytes | None]:
    outcome = ended.outcome
    fields: Json = {"ticket": ended.ticket, "outcome": type(outcome).__name__}
    if isinstance(outcome, Refusal):
        return {**fields, "outcome": "Refusal", "code": outcome.code}, None
    if isinstance(outcome, Result):
        return {**fields, "outcome": "Result"}, b'{"id":%d,"result":%s}' % (ended.ticket, _raw(outcome))
    if isinstance(outcome, Loss):
        return {**fields, "loss": outcome.kind, "reason": outcome.reason}, None
    return fields, None


def _event_text(event: Event) -> bytes:
    session = b"" if event.session_id is None else b',"sessionId":' + json.dumps(event.session_id).encode()
    return b'{"method":%s,"params":%s%s}' % (json.dumps(event.method).encode(), _raw(event), session)


def _raw(message: Event | Result) -> bytes:
    raw = bytes(message.raw)
    if raw:
        return raw
    try:  # of a large message nothing is kept raw
        return json.dumps(message.params if isinstance(message, Event) else message.value).encode()
    except RemoteProtocolError:
        return b"null"


def _question_to_json(question: Any) -> Json:
    name = type(question).__name__
    if isinstance(question, questions.SetPolicy):
        return {"type": name, "policy": question.policy.to_json()}
    fields: Json = attrs.asdict(question)
    for private in PRIVATE & fields.keys():
        fields[private] = None if fields[private] is None else {} if private == "params" else ""
    return {"type": name, **fields}


# ── running it again ─────────────────────────────────────────────────────────────────────────────────────────────────


def replay(
    trace: Iterable[TraceRecord], /, *, until: float | None = None, machines: Iterable[Machine[Any]] = ()
) -> Iterator[Snapshot]:
    """The snapshots of a recorded run, one for each state that was published, without network or clock.

    `trace` is what `read_trace` gives; `until` is a moment of it (its `t`). Raises InvalidArgument where it holds no
    supervisor's records, or cannot be read.
    """
    records = iter(trace)
    state = _options_of(records, tuple(machines))
    runner = Runner(state, _nothing)
    for t, input in _inputs_of(records):  # noqa: A001
        if until is not None and t > until:
            return
        before = runner.state
        runner.feed(input)
        if runner.state is not before:
            yield runner.snapshot()


def _nothing(_effect: Effect) -> None:
    """What was to be done was done then."""


def _options_of(records: Iterator[TraceRecord], machines: tuple[Machine[Any], ...]) -> State:
    for record in records:
        if isinstance(record, OtherRecord) and record.kind == OPTIONS:
            fields = record.fields
            try:
                scope = fields["scope"]
                targets = scope["targets"]
                return initial_state(
                    policy=Policy.from_mapping(fields["policy"]),
                    scope=Scope(
                        target_ids=None if targets is None else frozenset(map(TargetId, targets)),
                        context_id=scope["context"],
                        observing=scope["observing"],
                    ),
                    reconnect=Reconnect(**fields["reconnect"]),
                    limits=Limits(**fields["limits"]),
                    keepalive=fields["keepalive"],
                    adopting=fields["adopting"],
                    machines=(ConsoleRing(), *machines),
                )
            except (KeyError, TypeError) as error:
                raise InvalidArgument(f"The options in the trace cannot be read: {type(error).__name__}.") from None
    raise InvalidArgument("This trace holds no records of a supervisor; record one with open_supervisor(trace=…).")


def _inputs_of(records: Iterator[TraceRecord]) -> Iterator[tuple[float, Input]]:
    waiting: tuple[float, Json] | None = None
    for record in records:
        if isinstance(record, OtherRecord) and record.kind == INPUT:
            if waiting is not None:
                yield waiting[0], _read(waiting[1], None)
            waiting = (record.t or 0.0, record.fields)
        elif isinstance(record, MessageRecord) and record.conn == CONN and waiting is not None:
            yield waiting[0], _read(waiting[1], None if record.cut else record.text)
            waiting = None
    if waiting is not None:
        yield waiting[0], _read(waiting[1], None)


def _read(fields: Json, text: bytes | None) -> Input:
    try:
        at = Instant(mono=fields["mono"], wall=fields["wall"])
        epoch, kind = fields["epoch"], fields["type"]
        if kind == "BrowserEvent":
            return BrowserEvent(at=at, epoch=epoch, event=_read_event(fields, text))
        if kind == "CommandEnded":
            return CommandEnded(at=at, epoch=epoch, ticket=fields["ticket"], outcome=_read_outcome(fields, text))
        if kind == "Ask":
            return Ask(at=at, epoch=epoch, ask_id=fields["ask_id"], question=_read_question(fields["question"]))
        others = {name: fields[name] for name in PLAIN[kind].__struct_fields__ if name in fields}
        made: Input = PLAIN[kind](**{**others, "at": at, "epoch": epoch})
    except (KeyError, TypeError) as error:
        raise InvalidArgument(f"An input in the trace cannot be read: {type(error).__name__}.") from None
    return made


def _read_event(fields: Json, text: bytes | None) -> Event:
    message = None if text is None else decode(text)
    if isinstance(message, Event):
        return message
    session = fields["session_id"]
    return Event(method=fields["method"], session_id=None if session is None else SessionId(session))


def _read_outcome(fields: Json, text: bytes | None) -> Result | Refusal | Loss | Malformed | NotSent:
    kind = fields["outcome"]
    if kind == "Result":
        message = None if text is None else decode(text)
        return message if isinstance(message, Result) else Malformed(reason="it was cut in the trace", size=0)
    if kind == "Refusal":
        return Refusal(id=fields["ticket"], code=fields["code"], message="")
    if kind == "Loss":
        return Loss(kind=fields["loss"], reason=fields["reason"], detail="")
    if kind == "NotSent":
        return NotSent(error=InvalidArgument("It was not sent."))
    return Malformed(reason="recorded", size=0)


def _read_question(fields: object) -> questions.Question:
    if not is_object(fields):
        raise InvalidArgument("A question in the trace is no object.")
    name = fields["type"]
    if name == "SetPolicy":
        return questions.SetPolicy(policy=Policy.from_mapping(fields["policy"]))
    made: questions.Question = QUESTIONS[name](**{key: value for key, value in fields.items() if key != "type"})
    return made
