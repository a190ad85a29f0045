r"""Chromium's own JSON reader: which texts it accepts, and how it reports a fault in the others.

It differs from other readers. It accepts control characters in strings, `\v`, vertical tabs and form feeds between
tokens, and duplicate keys. It rejects more than 300 levels, numbers that do not fit a double, and comments. A whole
number of 32 bits is an integer, however it is written (`7.0`); any other number is a double. A surrogate without its
other half becomes U+FFFD (fact 19). Faults name the octet; their texts were compared with real ones.

A text that the standard library's reader takes the same way goes through that reader, which is much faster.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from cdp_core.sansio.messages import Json

STACK_LIMIT: Final = 300


class JsonFault(Exception):
    """A text is not JSON; the message has the browser's wording."""


class DuplicateKeyObject(dict[str, Any]):
    """An object with a duplicate key: the last value counts, and `pairs` has all members."""

    pairs: list[tuple[str, Any]]


def pairs_of(found: Json) -> list[tuple[str, Any]]:
    return found.pairs if type(found) is DuplicateKeyObject else list(found.items())


def read_json(text: str | bytes) -> Any:
    """Read one text. Raises JsonFault."""
    errors, strange = "surrogatepass", False
    if isinstance(text, bytes):
        text, errors, strange = _decoded(text)
    is_flat = text.count("[") + text.count("{") <= STACK_LIMIT
    if is_flat and not strange and "\\ud" not in text and "\\uD" not in text:
        try:
            return _FAST.decode(text)
        except ValueError:
            pass  # Chromium's own reader decides
    return _Reader(text, errors).read()


def _decoded(octets: bytes) -> tuple[str, str, bool]:
    """Return the text, the error handler that decoded it, and whether it is not valid UTF-8.

    Invalid octets are kept, so that the reader reports their position.
    """
    try:
        return octets.decode(), "surrogatepass", False
    except UnicodeDecodeError:
        try:
            return octets.decode("utf-8", "surrogatepass"), "surrogatepass", True
        except UnicodeDecodeError:
            return octets.decode("utf-8", "surrogateescape"), "surrogateescape", True


def _number(text: str) -> int | float:
    if len(text) < 10 and "." not in text and "e" not in text and "E" not in text:
        return int(text)
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError(text)
    return int(value) if value.is_integer() and -(2**31) <= value < 2**31 else value


def _object(pairs: list[tuple[str, Any]]) -> Json:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    doubled = DuplicateKeyObject(found)
    doubled.pairs = pairs
    return doubled


def _no_constant(text: str) -> None:
    raise ValueError(text)


_FAST: Final = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_number, parse_float=_number, parse_constant=_no_constant, strict=False
)

_SPACE: Final = re.compile(r"[ \t\n\r\v\f]*")
_NUMBER: Final = re.compile(
    r"-?(?:0|[1-9][0-9]*)(?![0-9])(?:\.[0-9]+(?![0-9])|(?!\.))(?:[eE][+-]?[0-9]+|(?![eE]))", re.ASCII
)
_STRING: Final = re.compile(
    # A run of plain characters is one repetition: one per character takes a hundred times a large text's memory.
    r'"([^"\\]*(?:\\(?:["\\/bfnrtv]|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2})[^"\\]*)*)"'
)
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))")
_ESCAPED: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_NO_UTF8: Final = re.compile("[\udc80-\udcff]")
_WORDS: Final = {"true": True, "false": False, "null": None}


class _OpenContainer:
    """An array or object that is not closed yet."""

    __slots__ = ("key", "pairs", "values")

    def __init__(self, *, is_object: bool) -> None:
        self.values: list[Any] = []
        self.pairs: list[tuple[str, Any]] | None = [] if is_object else None
        self.key = ""

    def add(self, value: Any) -> None:
        if self.pairs is None:
            self.values.append(value)
        else:
            self.pairs.append((self.key, value))

    @property
    def closed(self) -> Any:
        return self.values if self.pairs is None else _object(self.pairs)


class _Reader:
    """A reader that goes token by token; open containers are a list, so that no text is too deep for it."""

    def __init__(self, text: str, errors: str) -> None:
        self._text = text
        self._errors = errors
        # The bounds of the current token.
        self._start = self._end = 0

    def read(self) -> Any:
        value = self._value()
        if self._token():
            raise self._fault("unprocessed input remains")
        return value

    def _value(self) -> Any:
        open_containers: list[_OpenContainer] = []
        while True:
            if len(open_containers) > STACK_LIMIT:
                raise self._fault("stack limit exceeded", self._end)
            word = self._token()
            if word in ("{", "["):
                opened = _OpenContainer(is_object=word == "{")
                if self._has_first_value(opened):
                    open_containers.append(opened)
                    continue
                value = opened.closed
            else:
                value = self._scalar(word)
            while open_containers:
                open_containers[-1].add(value)
                if self._has_next_value(open_containers[-1]):
                    break
                value = open_containers.pop().closed
            else:
                return value

    def _has_first_value(self, opened: _OpenContainer) -> bool:
        """Return whether the container has a first value."""
        before = self._end
        word = self._token()
        if opened.pairs is not None:
            return word != "}" and self._read_key(opened, word)
        if word != "]":
            self._end = before
        return word != "]"

    def _has_next_value(self, opened: _OpenContainer) -> bool:
        """Return whether the container has another value."""
        what, end = ("map", "}") if opened.pairs is not None else ("array", "]")
        word = self._token()
        if word == end:
            return False
        if word != ",":
            raise self._fault(f"comma or {what} end expected")
        before = self._end
        word = self._token()
        if word == end:
            raise self._fault(f"unexpected {what} end")
        if opened.pairs is not None:
            return self._read_key(opened, word)
        self._end = before
        return True

    def _read_key(self, opened: _OpenContainer, word: str) -> bool:
        if word[:1] != '"':
            raise self._fault("string literal expected")
        opened.key = self._string(word)
        if self._token() != ":":
            raise self._fault("colon expected")
        return True

    def _token(self) -> str:
        """Return the next token: an empty string at the end, and `?` if it is invalid."""
        space = _SPACE.match(self._text, self._end)
        assert space is not None
        self._start = self._end = space.end()
        first = self._text[self._start : self._start + 1]
        if not first or first in "{}[],:":
            self._end += len(first)
            return first
        if first == '"':
            found = _STRING.match(self._text, self._start)
        elif first in "-0123456789":
            found = _NUMBER.match(self._text, self._start)
        else:
            word = next((word for word in _WORDS if self._text.startswith(word, self._start)), "?")
            self._end += len(word)
            return word
        if found is None:
            return "?"
        self._end = found.end()
        return found.group()

    def _scalar(self, word: str) -> Any:
        if word in _WORDS:
            return _WORDS[word]
        if word[:1] == '"':
            return self._string(word)
        if not word:
            raise self._fault("no input")
        if word == "?":
            raise self._fault("invalid token")
        if word in "}],:":
            raise self._fault("value expected")
        try:
            return _number(word)
        except ValueError:
            raise self._fault("invalid number") from None

    def _string(self, word: str) -> str:
        if "\\x" in _ESCAPE.sub(_kept, word) or (self._errors == "surrogateescape" and _NO_UTF8.search(word)):
            raise self._fault("invalid string")
        text = _ESCAPE.sub(_unescape, word[1:-1]) if "\\" in word else word[1:-1]
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")

    def _fault(self, what: str, at: int | None = None) -> JsonFault:
        before = self._text[: self._start if at is None else at]
        return JsonFault(f"JSON: {what} at position {len(before.encode('utf-8', self._errors))}")


def _kept(found: re.Match[str]) -> str:
    """Keep an escape by `x`: a token may contain one, a string may not."""
    return "\\x" if found[2] == "x" else ""


def _unescape(found: re.Match[str]) -> str:
    return chr(int(found[1], 16)) if found[1] else _ESCAPED.get(found[2], found[2])
