"""The wire's own rules, as Chromium keeps them: what is a message, and how it is refused when it is none.

A message is JSON, but not every JSON: Chromium's own reader knows no duplicate keys, no comments, at most 300 levels, and
an `id` that fits into 32 bits. What it refuses it names, with a position; these texts are compared with real ones
(facts 53, 54). Positions of parameters are those of the message's binary form (CBOR), in which Chromium hands it on.

    parse      -32700, without an id        the text
    envelope   -32600, with an id where     id, method, sessionId, params and nothing else
               one could be read
    params     -32602, with `data`          one field, by its path

Not known here: which methods and sessions there are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NoReturn, TypeGuard

import attrs

from cdp_core.sansio.wire import Json

__all__ = ["MAX_MESSAGE_BYTES", "Malformed", "Refused", "Request", "check_params", "read_request", "refuse"]

MAX_MESSAGE_BYTES: Final = 100 * 2**20
"""A text of this size or more makes Chromium drop the socket (fact 57)."""
STACK_LIMIT: Final = 300


class Refused(Exception):
    """A refusal, as the browser words it."""

    def __init__(self, code: int, message: str, data: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    @property
    def error(self) -> Json:
        """The error member of the reply."""
        error: Json = {"code": self.code, "message": self.message}
        if self.data is not None:
            error["data"] = self.data
        return error


def refuse(message: str) -> NoReturn:
    """Refuse an envelope. Raises Refused."""
    raise Refused(-32600, message)


@attrs.frozen(kw_only=True)
class Request:
    """One readable command. `session` is None on the root session."""

    id: int
    method: str
    params: Any
    session: str | None


class Malformed(Refused):
    """A text that is no command; `id` is there where it could be read, and so is what it is answered with."""

    def __init__(self, code: int, message: str, command_id: int | None = None) -> None:
        super().__init__(code, message)
        self.id = command_id


def read_request(text: str) -> Request:
    """Read one message. Raises Malformed."""
    value = _Parser(text).parse()
    if not isinstance(value, dict):
        raise Malformed(-32600, "Message must be an object")
    message: Json = value  # pyright: ignore[reportUnknownVariableType]
    raw_id = message.get("id")
    if not _is_int32(raw_id):
        raise Malformed(-32600, "Message must have integer 'id' property")
    command_id = int(raw_id)
    method = message.get("method")
    if not isinstance(method, str):
        raise Malformed(-32600, "Message must have string 'method' property", command_id)
    session = message.get("sessionId")
    if session is not None and not isinstance(session, str):
        raise Malformed(-32600, "Message may have string 'sessionId' property", command_id)
    if set(message) - {"id", "method", "sessionId", "params"}:
        raise Malformed(-32600, "Message has property other than 'id', 'method', 'sessionId', 'params'", command_id)
    return Request(id=command_id, method=method, params=message.get("params"), session=session or None)


def _is_int32(value: object) -> TypeGuard[int | float]:
    if type(value) is float and value.is_integer():
        return -(2**31) <= value < 2**31
    return type(value) is int and -(2**31) <= value < 2**31


# ── the text ─────────────────────────────────────────────────────────────────────────────────────────────────────────

_SPACE: Final = re.compile(r"[ \t\n\r]*")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_STRING: Final = re.compile(
    # A run of plain signs is one repetition: one for each sign would take a hundred times the memory of a large text.
    r'"([^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrtv]|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2})[^"\\\x00-\x1f]*)*)"'
)
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))")
_ESCAPED: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_WORDS: Final = {"true": True, "false": False, "null": None}


class _Parser:
    """Chromium's reader of JSON, as far as one can tell it from without."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def parse(self) -> object:
        value = self._value(0)
        self._skip()
        if self._at < len(self._text):
            raise self._fault("unprocessed input remains")
        return value

    def _value(self, depth: int) -> object:
        if depth > STACK_LIMIT:
            raise self._fault("stack limit exceeded")
        self._skip()
        if self._at >= len(self._text):
            raise self._fault("no input")
        first = self._text[self._at]
        if first == "{":
            return self._object(depth)
        if first == "[":
            return self._array(depth)
        if first == '"':
            return self._string()
        for word, value in _WORDS.items():
            if self._text.startswith(word, self._at):
                self._at += len(word)
                return value
        number = _NUMBER.match(self._text, self._at)
        if number is None:
            raise self._fault("invalid token")
        self._at = number.end()
        text = number.group()
        return float(text) if any(mark in text for mark in ".eE") else int(text)

    def _object(self, depth: int) -> Json:
        self._at += 1
        found: Json = {}
        begun = self._at
        while True:
            self._skip()
            if self._peek() == "}" and not found:
                break
            if self._peek() != '"':
                raise self._fault("string literal expected" if self._peek() else "no input")
            key = self._string()
            if key in found:
                raise self._duplicate(found, begun)
            self._skip()
            if self._peek() != ":":
                raise self._fault("colon expected" if self._peek() else "no input")
            self._at += 1
            found[key] = self._value(depth + 1)
            self._skip()
            if self._peek() == ",":
                self._at += 1
                continue
            if self._peek() == "}":
                break
            raise self._fault("comma or map end expected" if self._peek() else "no input")
        self._at += 1
        return found

    def _duplicate(self, found: Json, _begun: int) -> Malformed:
        # Found in the binary form, after the whole text was read: hence another kind of position, and an id.
        position = ENVELOPE + 1 + sum(_size(key) + _size(value) for key, value in found.items())
        known = found.get("id")
        return Malformed(
            -32700,
            f"CBOR: duplicate map key at position {position}",
            int(known) if _is_int32(known) else None,
        )

    def _array(self, depth: int) -> list[object]:
        self._at += 1
        found: list[object] = []
        while True:
            self._skip()
            if self._peek() == "]" and not found:
                break
            found.append(self._value(depth + 1))
            self._skip()
            if self._peek() == ",":
                self._at += 1
                continue
            if self._peek() == "]":
                break
            raise self._fault("comma or array end expected" if self._peek() else "no input")
        self._at += 1
        return found

    def _string(self) -> str:
        string = _STRING.match(self._text, self._at)
        if string is None:
            raise self._fault("invalid token")
        self._at = string.end()
        plain = string.group(1)
        if "\\" not in plain:
            return plain
        text = _ESCAPE.sub(_unescape, plain)
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _skip(self) -> None:
        space = _SPACE.match(self._text, self._at)
        assert space is not None
        self._at = space.end()

    def _fault(self, what: str) -> Malformed:
        position = len(self._text[: self._at].encode("utf-8", "surrogatepass"))
        return Malformed(-32700, f"JSON: {what} at position {position}")


def _unescape(found: re.Match[str]) -> str:
    code = found[1] or found[2]
    return chr(int(code, 16)) if code else _ESCAPED.get(found[3], found[3])


# ── parameters ───────────────────────────────────────────────────────────────────────────────────────────────────────

ENVELOPE: Final = 7
"""How many bytes begin a map or array in the binary form: a tag, and a length of 32 bits."""

_WANTED: Final = {
    "str": ("string", str),
    "int": ("integer", int),
    "bool": ("bool", bool),
}


def check_params(params: Any, fields: Mapping[str, tuple[str, bool]]) -> Json:
    """The params of a command whose fields are given as name → (type, required). Raises Refused as Chromium would.

    Types are `str`, `int`, `num`, `bool`; what is called otherwise is not looked into.
    """
    if params is None:
        params = {}
    if not isinstance(params, dict):
        raise Refused(
            -32602, "Invalid parameters", "Failed to deserialize params - CBOR: map start expected at position 7"
        )
    given: Json = params  # pyright: ignore[reportUnknownVariableType]
    position = ENVELOPE + 1
    places: dict[str, int] = {}
    for name, value in given.items():
        position += _size(name)
        places[name] = position
        position += _size(value)
    for name, (kind, required) in fields.items():
        if name not in given:
            if required:
                raise _bad_field(name, "mandatory field missing", position)
            continue
        wanted = _fault_of(given[name], kind)
        if wanted is not None:
            raise _bad_field(name, f"{wanted} value expected", places[name])
    return given


def _fault_of(value: Any, kind: str) -> str | None:
    if kind == "num":
        return None if type(value) in (int, float) else "double"
    if kind not in _WANTED:
        return None
    name, wanted = _WANTED[kind]
    return None if type(value) is wanted else name


def _bad_field(name: str, what: str, position: int) -> Refused:
    data = f"Failed to deserialize params.{name} - BINDINGS: {what} at position {position}"
    return Refused(-32602, "Invalid parameters", data)


def _size(value: Any) -> int:
    """How many bytes a value takes in the binary form."""
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
        return ENVELOPE + 2 + sum(_size(key) + _size(each) for key, each in value.items())  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return ENVELOPE + 2 + sum(map(_size, value))


def _head(number: int) -> int:
    for size, bound in ((1, 24), (2, 1 << 8), (3, 1 << 16), (5, 1 << 32)):
        if number < bound:
            return size
    return 9
