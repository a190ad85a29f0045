"""One JSON text of the protocol, there and back. Nothing else in this package parses or writes JSON envelopes.

Inward, `decode(payload)` tells five kinds of message apart, and never raises on what a peer sent:

* `Event`: has a `method`; its params stay raw until somebody looks, since most events interest nobody.
* `Result` and `Refusal`: answer one command, found by `id`.
* `OrphanError`: an error with no id at all, Chromium's answer to a text that it could not even read (fact 53).
* `Malformed`: none of these. It keeps a reason, the size, and the id where one could be read, so that the command that
  was waiting for it fails instead of hanging. The text itself is not kept.

The ladder of decoders: bytes that begin like an event go straight into an `Event`, others straight into a `Result`;
whatever does not fit exactly goes to the standard library's decoder, which is slower and more tolerant: a page can make
Chromium send lone surrogates, which strict decoders refuse (docs/cdp/messages-can-hold-lone-surrogates.md).

A payload is `bytes`, or, for a large message, a `memoryview` of a buffer that its transport will use again. Large
messages are therefore decoded whole, at once, and nothing keeps a view of the buffer.

Outward, `encode_command` writes one command and refuses what JSON cannot say (NaN, bytes, sets, keys that are no
strings), naming the place; the C encoder alone would turn some of these into something else without a word.

Not known here: which sessions exist, which ids are waiting, whether an event is legal now. That is the router's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NewType, Protocol, TypeGuard, TypeVar, runtime_checkable

from cdp_core.errors import InvalidArgument, RemoteProtocolError
from cdp_core.sansio.arguments import is_plain_json, plain_object
from cdp_core.sansio.redaction import shown_method
from cdp_core.sansio.structs import DECODE_ERRORS, Raw, Struct, decoder, encode

Json = dict[str, Any]
"""Raw params and results: the one place where `Any` is public, since a cast at each use would say nothing more."""

Payload = bytes | bytearray | memoryview
"""One message as a transport hands it over; a memoryview is valid until the next `receive()` only."""

SessionId = NewType("SessionId", str)
"""CDP's id of a session; None stands for the root session."""
TargetId = NewType("TargetId", str)
"""CDP's id of a target; for a frame it is the frame's id too."""
BrowserContextId = NewType("BrowserContextId", str)
"""CDP's id of a browser context: a profile without a name."""
CommandId = NewType("CommandId", int)
"""Ours: 1 and up, unique on its connection."""

MAX_COMMAND_ID = 2**31 - 1
"""Chromium reads ids as int32; a larger one is answered by an error without an id (fact 53)."""

EVENT_MARK = ord("m")
"""Every browser writes events as `{"method":…` and replies as `{"id":…`; what is written otherwise is only slower."""

UNUSUAL: tuple[type[Exception], ...] = (*DECODE_ERRORS, IndexError)

R_co = TypeVar("R_co", covariant=True)


class Event(
    Struct,
    frozen=True,
    kw_only=True,
    gc=False,
    forbid_unknown_fields=True,
    rename={"raw": "params", "session_id": "sessionId"},
):
    """Something happened. `session_id` is None on the root session."""

    method: str
    raw: Raw = Raw(b"{}")
    session_id: SessionId | None = None

    @property
    def params(self) -> Json:
        """The params, decoded at each call: whoever needs them twice keeps them.

        Raises RemoteProtocolError where they are no JSON object.
        """
        try:
            return _decode_object(self.raw)
        except DECODE_ERRORS:
            return _decode_object_tolerantly(self.raw, f"the params of {shown_method(self.method)}")

    @property
    def size(self) -> int:
        """About how many bytes this keeps alive."""
        return len(self.raw)


class WholeEvent(Event, frozen=True, kw_only=True):
    """An event out of a large message, decoded at once; nothing of it is raw."""

    raw: Raw = Raw(b"")
    whole: Json
    octets: int

    @property
    def params(self) -> Json:
        """The params."""
        return self.whole

    @property
    def size(self) -> int:
        """How many bytes the message had."""
        return self.octets


class Result(
    Struct,
    frozen=True,
    kw_only=True,
    gc=False,
    forbid_unknown_fields=True,
    rename={"raw": "result", "session_id": "sessionId"},
):
    """The browser did what the command asked."""

    id: CommandId
    raw: Raw
    session_id: SessionId | None = None

    @property
    def value(self) -> Json:
        """The result, decoded at each call. Raises RemoteProtocolError where it is no JSON object."""
        try:
            return _decode_object(self.raw)
        except DECODE_ERRORS:
            return _decode_object_tolerantly(self.raw, "the result of a command")


class WholeResult(Result, frozen=True, kw_only=True):
    """A result out of a large message, decoded at once; nothing of it is raw."""

    raw: Raw = Raw(b"")
    whole: Json

    @property
    def value(self) -> Json:
        """The result."""
        return self.whole


@runtime_checkable
class TypedCommand(Protocol[R_co]):
    """A typed command is a value: it knows its method, its params, and how to read its result."""

    @property
    def method(self) -> str:
        """The protocol's name, such as `Page.navigate`."""
        ...

    def to_params(self) -> Json:
        """The params as JSON; what was not given is left out."""
        ...

    def parse(self, result: Result, /) -> R_co:
        """Read the result; `result.value` is its JSON."""
        ...


class TypedEvent(Protocol):
    """A typed event class knows its method and how to read an event; such names clash with no field of the protocol."""

    __cdp_method__: ClassVar[str]

    @classmethod
    def __cdp_read__(cls, event: Event, /) -> Any:
        """Read the event."""
        ...


class Refusal(Struct, frozen=True, kw_only=True):
    """The browser refused a command."""

    id: CommandId
    code: int
    message: str
    data: str | None = None
    session_id: SessionId | None = None


class OrphanError(Struct, frozen=True, kw_only=True):
    """An error that names no command: the browser could not read what it was sent."""

    code: int
    message: str
    data: str | None = None


class Malformed(Struct, frozen=True, kw_only=True):
    """Not a message of the protocol. `id` is the command that it seems to have answered."""

    reason: str
    size: int
    id: CommandId | None = None
    session_id: SessionId | None = None


Incoming = Event | Result | Refusal | OrphanError | Malformed


def is_object(value: object) -> TypeGuard[Json]:
    """Whether a decoded value is a JSON object (its keys are strings then)."""
    return isinstance(value, dict)


def decode(payload: Payload) -> Incoming:
    """Read one message. Never raises on what the peer sent.

    Raises RemoteProtocolError where what a transport handed over are no bytes.
    """
    if type(payload) is not bytes:
        if isinstance(payload, memoryview):
            return _decode_whole(payload)
        if not isinstance(payload, (bytes, bytearray)):  # pyright: ignore[reportUnnecessaryIsInstance] - a foreign transport's
            raise RemoteProtocolError(
                f"The transport gave a {type(payload).__name__} for a message, and messages are bytes; encode text as UTF-8."
            )
    try:
        if payload[2] == EVENT_MARK:
            return decode_event(payload)
        return decode_result(payload)
    except UNUSUAL:
        return _decode_tolerantly(payload)


def encode_command(
    command_id: CommandId, method: str, params: Mapping[str, Any] | None, session_id: SessionId | None
) -> bytes:
    """Write one command. Raises InvalidArgument, naming the place, where the params are not JSON."""
    envelope: Json = {"id": command_id, "method": method}
    try:
        if params is not None:
            exact = type(params) is dict and is_plain_json(params)
            envelope["params"] = params if exact else plain_object(params)  # pyright: ignore[reportUnknownArgumentType]
        if session_id is not None:
            envelope["sessionId"] = session_id
        try:
            return encode(envelope)
        except (ValueError, OverflowError, TypeError):  # a lone surrogate, a long integer, a subclass of str as an id
            return _encode_tolerantly(envelope)
    except RecursionError:
        raise InvalidArgument("params are nested too deeply, or contain themselves.") from None


# ── the strict rung ──────────────────────────────────────────────────────────────────────────────────────────────────

decode_event = decoder(Event)
"""For a payload whose third byte is EVENT_MARK; raises one of UNUSUAL at anything that is not exactly an event."""
decode_result = decoder(Result)
"""For every other payload; raises one of UNUSUAL at anything that is not exactly a result."""
_decode_object: Callable[[object], Json] = decoder(dict[str, Any])


# ── the tolerant rung ────────────────────────────────────────────────────────────────────────────────────────────────

_LEADING_ID = rb'\A\{"id":\s*(-?[0-9]{1,10})\s*[,}]'


def leading_id(head: bytes | bytearray) -> CommandId | None:
    """The id of a reply, read from its first bytes, where it stands first, as browsers write it."""
    found = re.match(_LEADING_ID, head)
    return CommandId(int(found[1])) if found else None


def _decode_tolerantly(payload: bytes | bytearray, *, whole: bool = False) -> Incoming:
    try:
        return _classify(_load(str(payload, "utf-8")), len(payload), whole=whole)
    except UnicodeDecodeError:
        return _malformed("it is not UTF-8", payload)
    except (ValueError, RecursionError):  # of the reading, or of the writing anew, which can be nested less deeply
        return _malformed("it is not JSON", payload)


def _load(text: str) -> object:
    """The standard library's decoder, without what it takes beyond JSON: it would come back as numbers that are none."""
    return json.loads(text, parse_constant=_refuse_constant)


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def _decode_whole(view: memoryview) -> Incoming:
    try:
        return _classify(_decode_object(view), len(view), whole=True)
    except DECODE_ERRORS:
        return _decode_tolerantly(bytes(view), whole=True)


def _classify(message: object, size: int, *, whole: bool) -> Incoming:
    """Tell the kinds apart by their members, whatever their order and whatever stands beside them."""
    if not is_object(message):
        return Malformed(reason="it is no JSON object", size=size)
    fields = message
    session = fields.get("sessionId")
    if session is not None and not isinstance(session, str):
        return Malformed(reason="its sessionId is no string", size=size, id=_id_of(fields))
    session_id = None if session is None else SessionId(session)
    command_id = _id_of(fields)
    if command_id is not None:
        return _classify_reply(fields, command_id, session_id, size, whole=whole)
    if fields.get("id") is not None:
        return Malformed(reason="its id is no integer", size=size, session_id=session_id)
    method = fields.get("method")
    if isinstance(method, str):
        params = fields.get("params", {})
        if whole and is_object(params):
            return WholeEvent(method=method, whole=params, octets=size, session_id=session_id)
        return Event(method=method, raw=_raw(params), session_id=session_id)
    error = fields.get("error")
    if is_object(error):
        code, text, data = _error_parts(error)
        return OrphanError(code=code, message=text, data=data)
    return Malformed(reason="it is neither an event nor a reply", size=size, session_id=session_id)


def _classify_reply(
    fields: Json, command_id: CommandId, session_id: SessionId | None, size: int, *, whole: bool
) -> Incoming:
    error = fields.get("error")
    if is_object(error):
        code, text, data = _error_parts(error)
        return Refusal(id=command_id, code=code, message=text, data=data, session_id=session_id)
    if "result" in fields:
        result = fields["result"]
        if whole and is_object(result):
            return WholeResult(id=command_id, whole=result, session_id=session_id)
        return Result(id=command_id, raw=_raw(result), session_id=session_id)
    return Malformed(
        reason="it has an id but neither result nor error", size=size, id=command_id, session_id=session_id
    )


def _id_of(fields: Json) -> CommandId | None:
    value = fields.get("id")
    if type(value) is int:  # bool is an int too, and no id
        return CommandId(value)
    if type(value) is float and value.is_integer():  # Chromium itself takes 7.0 for 7 (fact 53)
        return CommandId(int(value))
    return None


def _error_parts(error: Json) -> tuple[int, str, str | None]:
    code, message, data = error.get("code"), error.get("message"), error.get("data")
    return (
        code if type(code) is int else 0,
        message if isinstance(message, str) else "(no message)",
        data if isinstance(data, str) else None,
    )


def _raw(value: object) -> Raw:
    return Raw(json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode())


def _malformed(reason: str, payload: bytes | bytearray) -> Malformed:
    return Malformed(reason=reason, size=len(payload), id=leading_id(payload))


def _decode_object_tolerantly(raw: Raw, what: str) -> Json:
    try:
        value = _load(str(bytes(raw), "utf-8"))
    except (ValueError, RecursionError):
        raise RemoteProtocolError(
            f"The browser sent {what} in a form that is not JSON; that one message is lost."
        ) from None
    if not is_object(value):
        raise RemoteProtocolError(
            f"The browser sent {what} as something other than a JSON object; that one message is lost."
        ) from None
    return value


def _encode_tolerantly(envelope: Json) -> bytes:
    try:
        return json.dumps(envelope, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode()
    except ValueError:  # Python bounds the digits of an integer that it writes
        raise InvalidArgument("params hold an integer of too many digits.") from None
