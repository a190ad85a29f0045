"""The JSON messages of the protocol: decoding and encoding.

No other module of this package parses or writes JSON envelopes.

Inward, `decode(payload)` distinguishes five kinds of message, and never raises on what the peer sent:

* `Event`: has a `method`; its params stay raw until they are read, since most events have no reader.
* `Result` and `Refusal`: end one command, found by `id`.
* `OrphanError`: an error without an id, Chromium's reply to a text that it could not parse (fact 53).
* `Malformed`: none of these. It keeps a reason, the size, and the id if it could be read, so that the waiting command
  fails instead of hanging. The text itself is not kept.

The decoders in order: bytes that begin like an event are decoded straight into an `Event`, others straight into a
`Result`; a payload that does not fit exactly goes to the standard library's decoder, which is slower and more
tolerant: a page can make Chromium send lone surrogates, which strict decoders refuse
(docs/cdp/messages-can-hold-lone-surrogates.md).

A payload is `bytes`, or, for a large message, a `memoryview` of a buffer that its transport will reuse. So a large
message is decoded as a whole, at once, and nothing keeps a view of the buffer.

Outward, `encode_command` writes one command and refuses values that JSON cannot represent (NaN, bytes, sets, keys that
are not strings), naming the place; the C encoder alone would silently convert some of them.

Which sessions exist, which ids wait and whether an event is legal now is the router's knowledge, not this module's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NewType, NoReturn, Protocol, TypeGuard, TypeVar, runtime_checkable

from cdp_core.errors import InvalidArgument, RemoteProtocolError
from cdp_core.sansio.arguments import is_plain_json, plain_object
from cdp_core.sansio.redaction import shown_method, shown_name
from cdp_core.sansio.structs import DECODE_ERRORS, Raw, Struct, decoder, encode

Json = dict[str, Any]
"""Raw params and results: the one public use of `Any`, since a cast at each use would add no safety."""

Payload = bytes | bytearray | memoryview
"""One message of a transport; a memoryview is valid only until the next `receive()`."""

SessionId = NewType("SessionId", str)
"""CDP's id of a session; None is the root session."""
TargetId = NewType("TargetId", str)
"""CDP's id of a target; for a frame it is the frame's id too."""
BrowserContextId = NewType("BrowserContextId", str)
"""CDP's id of a browser context, which is a profile without a name."""
CommandId = NewType("CommandId", int)
"""The id of a command: 1 and up, unique on its connection."""

MAX_COMMAND_ID = 2**31 - 1
"""Chromium reads ids as int32, and answers a larger one with an error without an id (fact 53)."""

EVENT_MARK = ord("m")
"""The third byte of an event: browsers write `{"method":…` and replies `{"id":…`; other orders are only slower."""

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
    """One event of the browser. `session_id` is None on the root session."""

    method: str
    raw: Raw = Raw(b"{}")
    session_id: SessionId | None = None

    @property
    def params(self) -> Json:
        """The params, decoded at each access: keep the value if you need it twice.

        Raises RemoteProtocolError if they are not a JSON object.
        """
        try:
            return _decode_object(self.raw)
        except DECODE_ERRORS:
            return _decode_object_tolerantly(self.raw, f"the params of {shown_method(self.method)}")

    def __getitem__(self, name: object) -> NoReturn:
        raise TypeError(f"The params of an event are in `params`: write event.params[{shown_name(name)!r}].")

    @property
    def size(self) -> int:
        """Approximate bytes of memory that the event keeps alive."""
        return len(self.raw)


class WholeEvent(Event, frozen=True, kw_only=True):
    """An event of a large message, decoded as a whole; `raw` is empty."""

    raw: Raw = Raw(b"")
    whole: Json
    octets: int

    @property
    def params(self) -> Json:
        return self.whole

    @property
    def size(self) -> int:
        return self.octets


class Result(
    Struct,
    frozen=True,
    kw_only=True,
    gc=False,
    forbid_unknown_fields=True,
    rename={"raw": "result", "session_id": "sessionId"},
):
    """The browser's reply to a command that it carried out."""

    id: CommandId
    raw: Raw
    session_id: SessionId | None = None

    @property
    def value(self) -> Json:
        """The result, decoded at each access. Raises RemoteProtocolError if it is not a JSON object."""
        try:
            return _decode_object(self.raw)
        except DECODE_ERRORS:
            return _decode_object_tolerantly(self.raw, "the result of a command")


class WholeResult(Result, frozen=True, kw_only=True):
    """A result of a large message, decoded as a whole; `raw` is empty."""

    raw: Raw = Raw(b"")
    whole: Json

    @property
    def value(self) -> Json:
        return self.whole


@runtime_checkable
class TypedCommand(Protocol[R_co]):
    """A typed command: a value with a method, params, and a parser for its result."""

    @property
    def method(self) -> str:
        """The protocol's name, such as `Page.navigate`."""
        ...

    def to_params(self) -> Json:
        """Return the params as JSON; omitted ones are left out."""
        ...

    def parse(self, result: Result, /) -> R_co:
        """Return the typed result; `result.value` is its JSON."""
        ...


class TypedEvent(Protocol):
    """A typed event class: its method, and a reader. The dunder names clash with no protocol field."""

    __cdp_method__: ClassVar[str]

    @classmethod
    def __cdp_read__(cls, event: Event, /) -> Any:
        """Return the typed event."""
        ...


class Refusal(Struct, frozen=True, kw_only=True):
    """The browser's reply to a command that it refused."""

    id: CommandId
    code: int
    message: str
    data: str | None = None
    session_id: SessionId | None = None


class OrphanError(Struct, frozen=True, kw_only=True):
    """An error without an id: the browser could not parse a message."""

    code: int
    message: str
    data: str | None = None


class Malformed(Struct, frozen=True, kw_only=True):
    """A payload that is not a message of the protocol. `id` is the command that it appears to answer."""

    reason: str
    size: int
    id: CommandId | None = None
    session_id: SessionId | None = None


Incoming = Event | Result | Refusal | OrphanError | Malformed


def is_object(value: object) -> TypeGuard[Json]:
    """Return True if a decoded value is a JSON object; its keys are strings then."""
    return isinstance(value, dict)


def decode(payload: Payload) -> Incoming:
    """Decode one message. Never raises on what the peer sent.

    Raises RemoteProtocolError if the transport's payload is not bytes.
    """
    if type(payload) is not bytes:
        if isinstance(payload, memoryview):
            return _decode_whole(payload)
        if not isinstance(payload, (bytes, bytearray)):  # pyright: ignore[reportUnnecessaryIsInstance] - an embedder's transport
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
    """Encode one command. Raises InvalidArgument, naming the place, if the params are not JSON."""
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


# ── strict decoding ──────────────────────────────────────────────────────────────────────────────────────────────────

decode_event = decoder(Event)
"""Decode a payload whose third byte is EVENT_MARK; raises one of UNUSUAL if it is not exactly an event."""
decode_result = decoder(Result)
"""Decode any other payload; raises one of UNUSUAL if it is not exactly a result."""
_decode_object: Callable[[object], Json] = decoder(dict[str, Any])


# ── tolerant decoding ────────────────────────────────────────────────────────────────────────────────────────────────

_LEADING_ID = rb'\A\{"id":\s*(-?[0-9]{1,10})\s*[,}]'


def leading_id(head: bytes | bytearray) -> CommandId | None:
    """Return the id at the start of a reply, where browsers write it; None if the reply starts otherwise."""
    found = re.match(_LEADING_ID, head)
    return CommandId(int(found[1])) if found else None


def _decode_tolerantly(payload: bytes | bytearray, *, whole: bool = False) -> Incoming:
    try:
        return _classify(_load(str(payload, "utf-8")), len(payload), whole=whole)
    except UnicodeDecodeError:
        return _malformed("it is not UTF-8", payload)
    except (ValueError, RecursionError):  # by json.loads, or by json.dumps, which allows less nesting
        return _malformed("it is not JSON", payload)


def _load(text: str) -> object:
    """Decode with the standard library, but refuse its extensions NaN and Infinity."""
    return json.loads(text, parse_constant=_refuse_constant)


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def _decode_whole(view: memoryview) -> Incoming:
    try:
        return _classify(_decode_object(view), len(view), whole=True)
    except DECODE_ERRORS:
        return _decode_tolerantly(bytes(view), whole=True)


def _classify(message: object, size: int, *, whole: bool) -> Incoming:
    """Find the kind of a message by its members, in any order, ignoring unknown members."""
    if not is_object(message):
        return Malformed(reason="it is not a JSON object", size=size)
    fields = message
    session = fields.get("sessionId")
    if session is not None and not isinstance(session, str):
        return Malformed(reason="its sessionId is not a string", size=size, id=_id_of(fields))
    session_id = None if session is None else SessionId(session)
    command_id = _id_of(fields)
    if command_id is not None:
        return _classify_reply(fields, command_id, session_id, size, whole=whole)
    if fields.get("id") is not None:
        return Malformed(reason="its id is not an integer", size=size, session_id=session_id)
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
    if type(value) is int:  # bool is a subclass of int, but True is not an id
        return CommandId(value)
    if type(value) is float and value.is_integer():  # Chromium itself accepts 7.0 as 7 (fact 53)
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
            f"The browser sent {what} in a form that is not JSON; only this message is lost."
        ) from None
    if not is_object(value):
        raise RemoteProtocolError(
            f"The browser sent {what} as something other than a JSON object; only this message is lost."
        ) from None
    return value


def _encode_tolerantly(envelope: Json) -> bytes:
    try:
        return json.dumps(envelope, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode()
    except ValueError:  # Python limits the digits of an integer that it formats
        raise InvalidArgument("params contain an integer with too many digits.") from None
