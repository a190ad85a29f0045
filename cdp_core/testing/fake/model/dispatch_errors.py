"""How Chromium reads a command from the wire, and how it refuses a text that is not a command.

A message is JSON as Chromium reads it (`json_text.py`). Chromium then goes through the binary form (CBOR), in which
it passes the message on, member by member. The refusal is about the first member that does not fit, and contains the
`id` only if that came before. These texts, and the positions in them, were compared with real ones (facts 53, 54).

    text       -32700, without an id        JSON, with the octet in the text
    envelope   -32600, or -32700            id, method, sessionId, params, no other member, and none of them twice
    params     -32602, with `data`          one field, by its path; a wrong field before a missing one

This module does not know which methods and sessions exist.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NoReturn, TypeAlias

import attrs

from cdp_core.sansio.messages import Json
from cdp_core.testing.fake.model.json_text import JsonFault, pairs_of, read_json

MAX_MESSAGE_BYTES: Final = 100 * 2**20
"""At a text of this size or more, in bytes, Chromium drops the socket (fact 57)."""


class Refused(Exception):
    """A refusal in the browser's wording."""

    def __init__(self, code: int, message: str, data: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    @property
    def error(self) -> Json:
        error: Json = {"code": self.code, "message": self.message}
        if self.data is not None:
            error["data"] = self.data
        return error


def refuse(message: str) -> NoReturn:
    """Refuse an envelope. Raises Refused."""
    raise Refused(-32600, message)


NO_ID: Final = "Message must have integer 'id' property"
NO_METHOD: Final = "Message must have string 'method' property"

# ── the envelope ─────────────────────────────────────────────────────────────────────────────────────────────────────


@attrs.frozen(kw_only=True)
class Request:
    """One readable command; `session` is None on the root session."""

    id: int
    method: str
    params: Any
    session: str | None


class Unreadable(Refused):
    """A text that is not a command; `id` was read before the fault and goes into the refusal."""

    def __init__(self, code: int, message: str, command_id: int | None = None) -> None:
        super().__init__(code, message)
        self.id = command_id


def read_request(text: str | bytes) -> Request:
    """Return one message as a command. Raises Unreadable."""
    try:
        message = read_json(text)
    except JsonFault as fault:
        raise Unreadable(-32700, str(fault)) from None
    if not isinstance(message, dict):
        raise Unreadable(-32600, "Message must be an object")
    return _Envelope(message).read()  # pyright: ignore[reportUnknownArgumentType]


class _Envelope:
    """The reading of one message, member by member."""

    def __init__(self, message: Json) -> None:
        self._members = pairs_of(message)
        self._id: int | None = None
        self._method = self._session = ""
        self._params: Any = None
        self._has_params = False

    def read(self) -> Request:
        readers = {
            "id": self._read_id,
            "method": self._read_method,
            "params": self._read_params,
            "sessionId": self._read_session,
        }
        for index, (name, given) in enumerate(self._members):
            read = readers.get(name)
            if read is not None:
                read(given, index)
            elif name.isascii():
                raise self._fault("Message has property other than 'id', 'method', 'sessionId', 'params'")
            else:
                raise Unreadable(-32700, f"CBOR: invalid map key at position {self._position(index)}", self._id)
        if self._id is None:
            raise self._fault(NO_ID)
        if not self._method:
            raise self._fault(NO_METHOD)
        return Request(id=self._id, method=self._method, params=self._params, session=self._session or None)

    def _read_id(self, given: Any, index: int) -> None:
        self._is_first(self._id is None, index)
        if type(given) is not int:
            raise self._fault(NO_ID)
        self._id = given

    def _read_method(self, given: Any, index: int) -> None:
        self._is_first(not self._method, index)
        self._method = self._ascii(given, NO_METHOD)

    def _read_params(self, given: Any, index: int) -> None:
        self._is_first(not self._has_params, index)
        if given is not None and not isinstance(given, (dict, list)):
            raise self._fault("Message may have object 'params' property")
        self._has_params, self._params = True, given

    def _read_session(self, given: Any, index: int) -> None:
        self._is_first(not self._session, index)
        self._session = self._ascii(given, "Message may have string 'sessionId' property")

    def _is_first(self, first: bool, index: int) -> None:
        if not first:
            position = self._position(index)
            raise Unreadable(-32700, f"CBOR: duplicate map key at position {position}", self._id)

    def _ascii(self, given: Any, what: str) -> str:
        # In the binary form a string that is not ASCII has another type.
        if not isinstance(given, str) or not given.isascii():
            raise self._fault(what)
        return given

    def _fault(self, what: str) -> Unreadable:
        return Unreadable(-32600, what, self._id)

    def _position(self, index: int) -> int:
        return ENVELOPE + 1 + sum(_size(name) + _size(given) for name, given in self._members[:index])


# ── parameters ───────────────────────────────────────────────────────────────────────────────────────────────────────

ENVELOPE: Final = 7
"""How many octets begin a map or array in the binary form: a tag, and a length of 32 bits."""

Shape: TypeAlias = "str | list[Shape] | Mapping[str, tuple[Shape, bool]]"
"""What a value must be: `str`, `binary`, `int`, `num` or `bool`, a list of one shape, or an object whose fields are
given as name → (shape, required). Any other text admits every value."""

_BASE64: Final = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_PLAIN: Final[Mapping[str, tuple[str, tuple[type[Any], ...]]]] = {
    "str": ("string", (str,)),
    "binary": ("binary", (str,)),
    "int": ("int32", (int,)),
    "num": ("double", (int, float)),
    "bool": ("bool", (bool,)),
}


def check_params(params: Any, fields: Mapping[str, tuple[Shape, bool]]) -> Json:
    """Return the params of a command, checked as Chromium does. Raises Refused.

    A command without fields ignores its params.
    """
    if params is None and any(required for _, required in fields.values()):
        raise _misfit("params", "CBOR: map start expected", 0)
    if params is None or not fields:
        params = {}
    given: Json = params
    _check(given, fields, "params", 0)
    return given


def _check(value: Any, shape: Shape, path: str, at: int) -> None:
    """Raise Refused if a value that begins at this position does not have the shape."""
    if isinstance(shape, str):
        wanted = _PLAIN.get(shape)
        if wanted is not None and type(value) not in wanted[1]:
            raise _misfit(path, f"BINDINGS: {wanted[0]} value expected", at)
        if shape == "binary" and not _BASE64.fullmatch(value):
            raise _misfit(path, "BINDINGS: invalid base64 string", at)
    elif isinstance(shape, list):
        if not isinstance(value, list):
            raise _misfit(path, "CBOR: array start expected", at + ENVELOPE * isinstance(value, dict))
        at += ENVELOPE + 1
        for each in value:  # pyright: ignore[reportUnknownVariableType]
            _check(each, shape[0], path, at)
            at += _size(each)
    elif not isinstance(value, dict):
        raise _misfit(path, "CBOR: map start expected", at + ENVELOPE * isinstance(value, list))
    else:
        _check_fields(value, shape, path, at + ENVELOPE + 1)  # pyright: ignore[reportUnknownArgumentType]


def _check_fields(value: Json, fields: Mapping[str, tuple[Shape, bool]], path: str, at: int) -> None:
    for name, given in pairs_of(value):
        if not name.isascii():
            raise _misfit(path, "CBOR: invalid map key", at)
        at += _size(name)
        if name in fields:
            _check(given, fields[name][0], f"{path}.{name}", at)
        at += _size(given)
    missing = min((name for name, (_, required) in fields.items() if required and name not in value), default=None)
    if missing is not None:
        raise _misfit(f"{path}.{missing}", "BINDINGS: mandatory field missing", at)


def _misfit(path: str, what: str, at: int) -> Refused:
    return Refused(-32602, "Invalid parameters", f"Failed to deserialize {path} - {what} at position {at}")


def _size(value: Any) -> int:
    """Return how many octets a value takes in the binary form."""
    if value is None or isinstance(value, bool):
        return 1
    if isinstance(value, int):
        return _head(value if value >= 0 else -value - 1)
    if isinstance(value, float):
        return 9
    if isinstance(value, str):
        length = len(value) if value.isascii() else len(value.encode("utf-16-le", "surrogatepass"))
        return _head(length) + length
    if isinstance(value, dict):
        return ENVELOPE + 2 + sum(_size(name) + _size(each) for name, each in pairs_of(value))  # pyright: ignore[reportUnknownArgumentType]
    return ENVELOPE + 2 + sum(map(_size, value))


def _head(number: int) -> int:
    for size, bound in ((1, 24), (2, 1 << 8), (3, 1 << 16)):
        if number < bound:
            return size
    return 5
