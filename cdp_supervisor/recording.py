"""Traces of a supervisor: every input of its state machine, to replay a run without browser or clock.

The records are lines of a `TraceWriter` (see cdp_core.sansio.trace). One record of kind `supervisor` has the options;
each input is a record of kind `input`, with its exact moment. The browser's message follows in a message record of
its own, so that the writer's limits and redaction hook apply to it; a hook that keeps the JSON's shape and ids leaves
the trace replayable. A trace that ends early, torn or full, is a beginning of the run
(docs/cdp/a-recorded-run-replays-identically.md).

A request is recorded without its contents: neither params of calls nor texts for prompts, on which no state of the
supervisor depends; nor does a refusal's message. The state of an extension may depend on the two latter.
Recording never raises, whatever it is given: a value that no request can have is recorded as one that gets the same
answer.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, get_args

import attrs

from cdp_core.errors import InvalidArgument, RemoteProtocolError
from cdp_core.sansio.messages import (
    BrowserContextId,
    Event,
    Json,
    Malformed,
    Refusal,
    Result,
    SessionId,
    TargetId,
    decode,
    is_object,
)
from cdp_core.sansio.outcomes import Loss
from cdp_core.sansio.trace import MessageRecord, OtherRecord, TraceRecord
from cdp_core.tracing.file import TraceWriter, read_trace
from cdp_supervisor.runner import Runner
from cdp_supervisor.sansio.console import ConsoleRing
from cdp_supervisor.sansio.effects import Effect
from cdp_supervisor.sansio.extensions import Extension
from cdp_supervisor.sansio.inputs import (
    BrowserEvent,
    CommandEnded,
    FetchEnded,
    FetchExpired,
    FetchPaused,
    Input,
    Instant,
    LinkDown,
    LinkUp,
    NotSent,
    RequestCancelled,
    RequestReceived,
    SessionClosed,
    SessionOpened,
    TimePassed,
)
from cdp_supervisor.sansio.options import Limits, Policy, Reconnect, Scope
from cdp_supervisor.sansio.requests import Request, request_from_json, request_to_json
from cdp_supervisor.sansio.state import State, initial_state
from cdp_supervisor.sansio.view import Snapshot

OPTIONS, INPUT = "supervisor", "input"
CONN: Final = "supervisor"
UNREADABLE: Final = (KeyError, TypeError, ValueError, AttributeError)
"""What reading raises for a field that is missing or changed."""


# ── writing and reading fields ───────────────────────────────────────────────────────────────────────────────────────


@attrs.frozen
class _Form:
    """Writes a field, whatever its value; reads it, or refuses it with one of UNREADABLE."""

    write: Callable[[Any], Any]
    read: Callable[[Any], Any]


def _exactly(kind: type, *, or_none: bool = False) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if type(value) is not kind and not (or_none and value is None):
            raise TypeError
        return value

    return read


def _write_text(value: object) -> str:
    return str(value) if isinstance(value, str) else ""


def _write_text_or_none(value: object) -> str | None:
    return None if value is None else _write_text(value)


def _write_number(value: object) -> object:
    """Write infinity and NaN as strings, which JSON has no numbers for; a value of another type as NaN."""
    if value is None or (type(value) in (int, float) and math.isfinite(value)):  # type: ignore[arg-type]
        return value
    return str(value) if type(value) is float else "nan"


def _read_number(value: Any) -> float:
    if type(value) not in (int, float) and value not in ("inf", "-inf", "nan"):
        raise TypeError
    return value if type(value) is int else float(value)


def _read_number_or_none(value: Any) -> float | None:
    return None if value is None else _read_number(value)


_TEXT: Final = _Form(_write_text, _exactly(str))
_TEXT_OR_NONE: Final = _Form(_write_text_or_none, _exactly(str, or_none=True))
_HIDDEN: Final = _Form(lambda value: None if value is None else "", _exactly(str, or_none=True))
_FLAG: Final = _Form(bool, _exactly(bool))
_COUNT: Final = _Form(int, _exactly(int))
_NUMBER: Final = _Form(_write_number, _read_number)
_SECONDS: Final = _Form(_write_number, _read_number_or_none)

RECORDED_TYPES: Final[Mapping[type, str]] = {RequestReceived: "Ask", RequestCancelled: "AskDropped"}
"""Names of input types in traces, where they differ from the class names: traces of every version stay readable."""
RECORDED_FIELDS: Final[Mapping[str, str]] = {
    "request_id": "ask_id",
    "remedy": "cure",
    "waiting_for_debugger": "waiting",
}
"""Names of fields in traces, likewise."""


def _type_of(kind: type) -> str:
    return RECORDED_TYPES.get(kind, kind.__name__)


INPUTS: Final[Mapping[str, tuple[Any, Mapping[str, _Form]]]] = {
    _type_of(kind): (kind, forms)
    for kind, forms in (
        (LinkUp, {"browser_id": _TEXT_OR_NONE, "owned": _FLAG}),
        (LinkDown, {"reason": _TEXT, "jitter": _NUMBER, "final": _FLAG}),
        (
            SessionOpened,
            dict.fromkeys(("session_id", "target_id", "target_type"), _TEXT)
            | {"parent": _TEXT_OR_NONE, "waiting_for_debugger": _FLAG},
        ),
        (SessionClosed, {"session_id": _TEXT, "reason": _TEXT}),
        (FetchExpired, {"extension": _TEXT, "key": _TEXT, "request_id": _TEXT}),
        (FetchEnded, {"extension": _TEXT, "key": _TEXT, "reason": _TEXT, "unsent": _FLAG}),
        (RequestCancelled, {"request_id": _COUNT}),
        (TimePassed, {}),
    )
}
"""Inputs that consist of plain fields; the functions below write the others."""


def _fields_of(value: object, forms: Mapping[str, _Form]) -> Json:
    return {RECORDED_FIELDS.get(name, name): form.write(getattr(value, name)) for name, form in forms.items()}


def _read_fields(fields: Json, forms: Mapping[str, _Form]) -> Json:
    return {name: form.read(fields[RECORDED_FIELDS.get(name, name)]) for name, form in forms.items()}


# ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def recorder(writer: TraceWriter, state: State) -> Callable[[Input], None]:
    """Return a function that records each input of a state machine that begins in this state."""
    last: float | None = None

    def record(input: Input) -> None:  # noqa: A002 - the glossary's word
        nonlocal last
        mono = input.at.mono
        at = mono if math.isfinite(mono) else last or 0.0
        if last is None:
            writer.other(OPTIONS, _options_to_json(state), at=at, conn=CONN)
        last = at
        fields, text = _written(input)
        moment = {"mono": _write_number(mono), "wall": _write_number(input.at.wall), "epoch": input.generation}
        fields |= {"type": _type_of(type(input)), **moment}
        if text is not None:
            fields["message"] = True
        writer.other(INPUT, fields, at=at, conn=CONN)
        if text is not None:
            writer.message("in", text, at=at, conn=CONN)

    return record


def _options_to_json(state: State) -> Json:
    reconnect, limits = state.reconnect, state.limits
    return {
        "policy": _policy_to_json(state.policy),
        "scope": state.scope.to_json(),
        "reconnect": _fields_of(reconnect, dict.fromkeys(attrs.asdict(reconnect), _NUMBER)),
        "limits": _fields_of(limits, dict.fromkeys(attrs.asdict(limits), _NUMBER)),
        "keepalive": _write_number(state.keepalive),
        "adopting": state.adopting,
        "machines": [each.extension.name for each in state.extensions],
    }


def _policy_to_json(policy: Policy) -> Json:
    return {**policy.to_json(), "prompt_text": _HIDDEN.write(policy.prompt_text)}


def _written(input: Input) -> tuple[Json, bytes | None]:  # noqa: A002
    """Return the fields of an input, and the browser's message in it, if any."""
    if isinstance(input, (BrowserEvent, FetchPaused)):
        fields: Json = {"method": input.event.method, "session_id": input.event.session_id}
        if isinstance(input, FetchPaused):
            fields |= {"extension": input.extension, "key": input.key}
        return fields, _event_text(input.event)
    if isinstance(input, CommandEnded):
        return _written_end(input)
    if isinstance(input, RequestReceived):
        return {"ask_id": input.request_id, "question": _request_to_json(input.request)}, None
    return _fields_of(input, INPUTS[_type_of(type(input))][1]), None


def _written_end(ended: CommandEnded) -> tuple[Json, bytes | None]:
    outcome = ended.outcome
    fields: Json = {"ticket": ended.ticket}
    if isinstance(outcome, Refusal):
        return {**fields, "outcome": "Refusal", "code": outcome.code}, None
    if isinstance(outcome, Result):
        return {**fields, "outcome": "Result"}, b'{"id":%d,"result":%s}' % (ended.ticket, _raw(outcome))
    if isinstance(outcome, Loss):
        return {**fields, "outcome": "Loss", "loss": outcome.kind, "reason": outcome.reason}, None
    return {**fields, "outcome": type(outcome).__name__}, None


def _event_text(event: Event) -> bytes:
    session = b"" if event.session_id is None else b',"sessionId":' + json.dumps(event.session_id).encode()
    return b'{"method":%s,"params":%s%s}' % (json.dumps(event.method).encode(), _raw(event), session)


def _raw(message: Event | Result) -> bytes:
    raw = bytes(message.raw)
    if raw:
        return raw
    try:  # a large message keeps no raw bytes
        return json.dumps(message.params if isinstance(message, Event) else message.value).encode()
    except (RemoteProtocolError, RecursionError):
        return b"null"


def _request_to_json(request: Any) -> Json:
    if not isinstance(request, get_args(Request)):
        return {"type": type(request).__name__}
    return {RECORDED_FIELDS.get(name, name): value for name, value in request_to_json(request, private=False).items()}


# ── replaying ────────────────────────────────────────────────────────────────────────────────────────────────────────


def replay(
    trace: str | os.PathLike[str] | Iterable[TraceRecord],
    /,
    *,
    until: float | None = None,
    extensions: Iterable[Extension[Any]] = (),
) -> Iterator[Snapshot]:
    """Yield the snapshots of a recorded run, one per published state, without network or clock.

    `trace` is a file, or what `read_trace` returns; `until` is a moment in it (its `t`); `extensions` are those of
    the run. Raises InvalidArgument if the trace has no records of a supervisor, or, when it reaches it, for an
    unreadable record.
    """
    records = iter(read_trace(trace) if isinstance(trace, (str, os.PathLike)) else trace)
    state = _options_of(records, tuple(extensions))
    return _snapshots(state, records, until)


def _snapshots(state: State, records: Iterator[TraceRecord], until: float | None) -> Iterator[Snapshot]:
    runner = Runner(state, _nothing)
    for t, input in _inputs_of(records):  # noqa: A001
        if until is not None and t > until:
            return
        before = runner.state
        runner.feed(input)
        if runner.state is not before:
            yield runner.snapshot()


def _nothing(_effect: Effect) -> None:
    """Perform nothing: the recorded run performed its effects."""


def _options_of(records: Iterator[TraceRecord], extensions: tuple[Extension[Any], ...]) -> State:
    for record in records:
        if isinstance(record, OtherRecord) and record.kind == OPTIONS:
            try:
                had = [str(name) for name in record.fields["machines"]]
                state = _read_options(record.fields, (ConsoleRing(), *extensions))
            except UNREADABLE as error:
                raise InvalidArgument(f"The options in the trace cannot be read: {type(error).__name__}.") from None
            given = [each.extension.name for each in state.extensions]
            if had != given:
                raise InvalidArgument(
                    f"The run had the extensions {', '.join(had[1:]) or '(none)'}, in this order; "
                    f"pass the same ones to replay, not {', '.join(given[1:]) or 'none'}."
                )
            return state
    raise InvalidArgument("This trace holds no records of a supervisor; record one with open_supervisor(trace=…).")


def _read_options(fields: Json, extensions: tuple[Extension[Any], ...]) -> State:
    scope, reconnect, limits = fields["scope"], fields["reconnect"], fields["limits"]
    targets, context = scope["targets"], _TEXT_OR_NONE.read(scope["context"])
    return initial_state(
        policy=Policy.from_mapping(fields["policy"]),
        scope=Scope(
            target_ids=None if targets is None else frozenset(TargetId(_TEXT.read(each)) for each in targets),
            context_id=None if context is None else BrowserContextId(context),
            observing=_FLAG.read(scope["observing"]),
            sharing=_FLAG.read(scope.get("sharing", False)),
            grace=scope.get("grace", 1.0),
        ),
        reconnect=Reconnect(**_read_fields(reconnect, dict.fromkeys(reconnect, _NUMBER))),
        limits=Limits(**_read_fields(limits, dict.fromkeys(limits, _NUMBER))),
        keepalive=_SECONDS.read(fields["keepalive"]),
        adopting=_FLAG.read(fields["adopting"]),
        extensions=extensions,
    )


def _inputs_of(records: Iterator[TraceRecord]) -> Iterator[tuple[float, Input]]:
    """Yield each input with its moment; leave out a last one without its message, recorded in part."""
    waiting: tuple[float, Json] | None = None
    for record in records:
        if isinstance(record, OtherRecord) and record.kind in (OPTIONS, INPUT):
            if record.kind == OPTIONS:
                raise InvalidArgument("The trace holds two supervisors; record each one into a file of its own.")
            if waiting is not None:
                raise InvalidArgument("The trace lacks the message of an input; replay it as it was recorded.")
            moment = (record.t or 0.0, record.fields)
            if record.fields.get("message") is True:
                waiting = moment
            else:
                yield moment[0], _read(moment[1], None)
        elif isinstance(record, MessageRecord) and record.conn == CONN and waiting is not None:
            yield waiting[0], _read(waiting[1], None if record.cut else record.text)
            waiting = None


def _read(fields: Json, text: bytes | None) -> Input:
    try:
        at = Instant(mono=_read_number(fields["mono"]), wall=_read_number(fields["wall"]))
        generation, kind = _COUNT.read(fields["epoch"]), fields["type"]
        if kind == "BrowserEvent":
            return BrowserEvent(at=at, generation=generation, event=_read_event(fields, text))
        if kind == "FetchPaused":
            names = _read_fields(fields, dict.fromkeys(("extension", "key"), _TEXT))
            return FetchPaused(at=at, generation=generation, event=_read_event(fields, text), **names)
        if kind == "CommandEnded":
            ticket = _COUNT.read(fields["ticket"])
            return CommandEnded(at=at, generation=generation, ticket=ticket, outcome=_read_outcome(fields, text))
        if kind == "Ask":
            request_id = _COUNT.read(fields["ask_id"])
            return RequestReceived(
                at=at, generation=generation, request_id=request_id, request=_read_request(fields["question"])
            )
        make, forms = INPUTS[kind]
        made: Input = make(at=at, generation=generation, **_read_fields(fields, forms))
    except UNREADABLE as error:
        raise InvalidArgument(f"An input in the trace cannot be read: {type(error).__name__}.") from None
    return made


def _read_event(fields: Json, text: bytes | None) -> Event:
    message = None if text is None else decode(text)
    if isinstance(message, Event):
        return message
    session = _TEXT_OR_NONE.read(fields["session_id"])
    return Event(method=_TEXT.read(fields["method"]), session_id=None if session is None else SessionId(session))


def _read_outcome(fields: Json, text: bytes | None) -> Result | Refusal | Loss | Malformed | NotSent:
    kind = fields["outcome"]
    if kind == "Result":
        message = None if text is None else decode(text)
        return message if isinstance(message, Result) else Malformed(reason="it was cut in the trace", size=0)
    if kind == "Refusal":
        return Refusal(id=fields["ticket"], code=_COUNT.read(fields["code"]), message="")
    if kind == "Loss":
        return Loss(kind=_TEXT.read(fields["loss"]), reason=_TEXT.read(fields["reason"]), detail="")
    if kind == "NotSent":
        return NotSent(error=InvalidArgument("It was not sent."))
    if kind != "Malformed":
        raise ValueError(kind)
    return Malformed(reason="recorded", size=0)


def _read_request(fields: object) -> Request:
    if not is_object(fields):
        raise TypeError
    names = {recorded: name for name, recorded in RECORDED_FIELDS.items()}
    return request_from_json({names.get(name, name): value for name, value in fields.items()})
