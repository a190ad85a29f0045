"""A subset of JavaScript: expressions of literals and operators, which need no document.

    read(text)      parse an expression to a function of its names; raises NotUnderstood for anything outside the
    subset:
                    calls of functions of the window, assignments, functions, statements
    SyntaxFault     the text is not valid JavaScript; the message is V8's
    ThrownError     the evaluation throws: a name that is not defined, a property of null or undefined

Nothing is guessed: an expression that is not understood completely has neither a value nor an error.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeGuard

import attrs

from cdp_core.sansio.messages import is_object
from cdp_core.testing.fake.script.calculating import (
    UNDEFINED,
    BigInt,
    NotUnderstood,
    Undefined,
    apply_operator,
    is_truthy,
    signed,
    text_of,
)


class SyntaxFault(Exception):
    """The text is not valid JavaScript; `message` is V8's, `position` an offset in the text."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message)
        self.message = message
        self.position = position


class ThrownError(Exception):
    """The evaluation throws a JavaScript error; `position` is an offset in the text."""

    def __init__(self, name: str, message: str, position: int) -> None:
        super().__init__(message)
        self.name = name
        self.message = message
        self.position = position


Names = Callable[[str], Any]
"""Returns the value of a name. Raises NotUnderstood if the fake does not model it, KeyError if it is undefined."""
Value = Callable[[Names], Any]

# ── tokens ───────────────────────────────────────────────────────────────────────────────────────────────────────────

_TOKEN: Final = re.compile(
    r"(?P<space>[ \t\n\r\u00a0\ufeff]+|//[^\n]*|/\*.*?\*/)"
    r"|(?P<bigint>\d+n)"
    r"|(?P<number>0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO][0-7]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<string>'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\")"
    r"|(?P<template>`[^`\\$]*`)"
    r"|(?P<name>[A-Za-z_$][\w$]*)"
    r"|(?P<sign>===|!==|\*\*|=>|==|!=|<=|>=|&&|\|\||\?\?|[-+*/%<>!?:;,.()\[\]{}])",
    re.DOTALL,
)
_UNSUPPORTED: Final = re.compile(r"[`=&|^~#]|\?\.|\.\.\.|\+\+|--|<<|>>|\d[\w$]|\\")
"""What may begin a token outside the subset; any other text that is not a token is a syntax error."""
_FAULT: Final = "Invalid or unexpected token"
KEYWORDS: Final = frozenset(
    (
        *(
            "await",
            "break",
            "case",
            "catch",
            "class",
            "const",
            "continue",
            "debugger",
            "default",
            "delete",
            "do",
            "else",
        ),
        *(
            "enum",
            "export",
            "extends",
            "finally",
            "for",
            "function",
            "if",
            "import",
            "in",
            "instanceof",
            "new",
            "return",
        ),
        *("super", "switch", "this", "throw", "try", "var", "while", "with", "yield", "let", "static", "async", "of"),
    )
)
CONSTANTS: Final[Mapping[str, Any]] = {
    "true": True,
    "false": False,
    "null": None,
    "undefined": UNDEFINED,
    "NaN": math.nan,
    "Infinity": math.inf,
}
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|u\{[0-9a-fA-F]{1,6}\}|x[0-9a-fA-F]{2}|\r\n|.)", re.DOTALL)
_SHORT: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": "", "\r\n": ""}


@attrs.frozen
class Token:
    """A token and its position; the last token of a text has the kind `end`."""

    kind: str
    text: str
    position: int
    on_new_line: bool


def _tokens(text: str) -> list[Token]:
    found: list[Token] = []
    position, on_new_line = 0, True
    while position < len(text):
        match = _TOKEN.match(text, position)
        if _is_unsupported(text, position, match):
            raise NotUnderstood(text)
        if match is None:
            raise SyntaxFault(_FAULT, position)
        kind = match.lastgroup
        assert kind is not None
        if kind == "space":
            on_new_line = on_new_line or "\n" in match[0]
        else:
            found.append(Token(kind, match[0], position, on_new_line))
            on_new_line = False
        position = match.end()
    found.append(Token("end", "", position, True))
    return found


def _is_unsupported(text: str, position: int, match: re.Match[str] | None) -> bool:
    """Return whether a token outside the subset begins at `position`, which `match` would read wrongly."""
    unsupported = _UNSUPPORTED.match(text, position)
    if unsupported is None or (match is not None and match.lastgroup not in ("sign", "number", "bigint")):
        return False
    if match is None or len(unsupported[0]) > len(match[0]):
        return True
    return match.lastgroup == "number" and re.match(r"[\w$]", text[match.end() : match.end() + 1]) is not None


# ── parser ───────────────────────────────────────────────────────────────────────────────────────────────────────────

PRECEDENCE: Final[Mapping[str, int]] = {
    "??": 1,
    "||": 2,
    "&&": 3,
    **dict.fromkeys(("==", "!=", "===", "!=="), 4),
    **dict.fromkeys(("<", ">", "<=", ">="), 5),
    **dict.fromkeys(("+", "-"), 6),
    **dict.fromkeys(("*", "/", "%"), 7),
    "**": 8,
}
_UNARY: Final = 8


def read(text: str) -> Value:
    """Parse an expression to a function of its names. Raises NotUnderstood or SyntaxFault."""
    return _Reader(_tokens(text)).script()


class _Reader:
    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._at = 0

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    def _is(self, *signs: str) -> bool:
        return self._next.kind == "sign" and self._next.text in signs

    def _take(self) -> Token:
        token = self._next
        self._at += token.kind != "end"
        return token

    def _demand(self, sign: str) -> None:
        if not self._is(sign):
            raise self._fault()
        self._take()

    def _fault(self) -> Exception:
        token = self._next
        shown = {
            "end": "Unexpected end of input",
            "number": "Unexpected number",
            "bigint": "Unexpected number",
            "string": "Unexpected string",
            "template": "Unexpected template string",
            "name": f"Unexpected identifier '{token.text}'",
        }.get(token.kind, f"Unexpected token '{token.text}'")
        if token.kind == "name" and (token.text in KEYWORDS or token.text in CONSTANTS):
            return NotUnderstood(token.text)
        return SyntaxFault(shown, token.position)

    def script(self) -> Value:
        last: Value = _constant(UNDEFINED)
        while self._next.kind != "end":
            if self._is(";"):
                self._take()
                continue
            if self._is("{"):
                return self._block()
            last = self._sequence()
            if not (self._is(";") or self._next.on_new_line):
                raise self._fault()
        return last

    def _block(self) -> Value:
        """Refuse a block; only a missing closing brace is detected. Raises SyntaxFault or NotUnderstood."""
        depth = 0
        for token in self._tokens:
            depth += (token.text == "{") - (token.text == "}") if token.kind == "sign" else 0
        if depth > 0:
            raise SyntaxFault("Unexpected end of input", self._tokens[-1].position)
        raise NotUnderstood("{")

    def _sequence(self) -> Value:
        value = self._conditional()
        while self._is(","):
            self._take()
            before, after = value, self._conditional()
            value = _both(before, after)
        return value

    def _conditional(self) -> Value:
        condition = self._binary(0)
        if not self._is("?"):
            return condition
        self._take()
        yes = self._conditional()
        self._demand(":")
        no = self._conditional()
        return lambda names: yes(names) if is_truthy(condition(names)) else no(names)

    def _binary(self, least: int) -> Value:
        value = self._unary()
        while self._next.kind == "sign" and PRECEDENCE.get(self._next.text, 0) > least:
            sign = self._take().text
            # `**` binds to the right, the others to the left.
            value = _combined(sign, value, self._binary(PRECEDENCE[sign] - (sign == "**")))
        return value

    def _unary(self) -> Value:
        token = self._next
        if token.kind == "sign" and token.text in ("!", "-", "+"):
            self._take()
            inner = self._binary(_UNARY)
            if self._is("**"):
                raise NotUnderstood(token.text)
            if token.text == "!":
                return lambda names: not is_truthy(inner(names))
            factor = -1.0 if token.text == "-" else 1.0
            return lambda names: signed(inner(names), factor)
        if token.kind == "name" and token.text in ("typeof", "void"):
            self._take()
            inner = self._binary(_UNARY)
            return _constant_after(inner) if token.text == "void" else lambda names: _type_of(inner, names)
        return self._members()

    def _members(self) -> Value:
        value = self._primary()
        while self._is(".", "[", "("):
            token = self._take()
            if token.text == ".":
                if self._next.kind != "name":
                    raise self._fault()
                value = _member(value, _constant(self._take().text), token.position + 1)
            elif token.text == "[":
                index = self._sequence()
                self._demand("]")
                value = _member(value, index, token.position + 1)
            else:
                value = _call(value, self._arguments())
        return value

    def _arguments(self) -> list[Value]:
        given: list[Value] = []
        while not self._is(")"):
            given.append(self._conditional())
            if self._is(","):
                self._take()
            elif not self._is(")"):
                raise SyntaxFault("missing ) after argument list", self._next.position)
        self._take()
        return given

    def _primary(self) -> Value:
        token = self._next
        if token.kind == "sign" and token.text in ("(", "[", "{"):
            self._take()
            return {"(": self._group, "[": self._list, "{": self._object}[token.text]()
        if token.kind in ("sign", "end"):
            if token.text in ("/", "<", "=>"):  # a regular expression, an HTML comment
                raise NotUnderstood(token.text)
            raise self._fault()
        if token.kind == "name" and token.text in KEYWORDS:
            raise NotUnderstood(token.text)
        self._take()
        if token.kind == "name" and token.text not in CONSTANTS:
            if self._is("=>"):
                raise NotUnderstood("=>")
            return _named(token)
        return _constant(_literal(token))

    def _group(self) -> Value:
        if self._is(")"):
            raise NotUnderstood("()")
        value = self._sequence()
        self._demand(")")
        if self._is("=>"):
            raise NotUnderstood("=>")
        return value

    def _list(self) -> Value:
        given: list[Value] = []
        while not self._is("]"):
            given.append(self._conditional())
            if not self._is("]"):
                self._demand(",")
        self._take()
        return lambda names: [each(names) for each in given]

    def _object(self) -> Value:
        given: dict[str, Value] = {}
        while not self._is("}"):
            token = self._take()
            if token.kind not in ("name", "string", "number") or not self._is(":"):
                raise NotUnderstood(token.text)
            self._take()
            given[token.text if token.kind == "name" else text_of(_literal(token))] = self._conditional()
            if not self._is("}"):
                self._demand(",")
        self._take()
        return lambda names: {name: each(names) for name, each in given.items()}


def _literal(token: Token) -> Any:
    if token.kind == "name":
        return CONSTANTS[token.text]
    if token.kind == "template":
        return token.text[1:-1]
    if token.kind == "bigint":
        return BigInt(f"{int(token.text[:-1])}n")
    if token.kind == "number":
        if re.fullmatch(r"0\d+", token.text):
            raise NotUnderstood(token.text)
        return float(int(token.text, 0)) if token.text[1:2] in tuple("xXbBoO") else float(token.text)
    return _ESCAPE.sub(_unescaped, token.text[1:-1])


def _unescaped(found: re.Match[str]) -> str:
    text = found[1]
    if text[0] in "ux" and len(text) > 1:
        return chr(int(text[1:].strip("{}"), 16))
    if text.isdigit() and text != "0":
        raise NotUnderstood(text)
    return _SHORT.get(text, text)


# ── values ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _constant(value: Any) -> Value:
    return lambda _names: value


def _constant_after(inner: Value) -> Value:
    return lambda names: (inner(names), UNDEFINED)[1]


def _both(before: Value, after: Value) -> Value:
    return lambda names: (before(names), after(names))[1]


def _named(token: Token) -> Value:
    def value(names: Names) -> Any:
        try:
            return names(token.text)
        except KeyError:
            raise ThrownError("ReferenceError", f"{token.text} is not defined", token.position) from None

    return value


def _call(called: Value, given: list[Value]) -> Value:
    def value(names: Names) -> Any:
        called(names)  # the callee and the arguments may throw before the call
        for each in given:
            each(names)
        raise NotUnderstood("a call")

    return value


def _member(owner: Value, index: Value, position: int) -> Value:
    def value(names: Names) -> Any:
        of, key = owner(names), index(names)
        if of is None or of is UNDEFINED:
            shown = "null" if of is None else "undefined"
            message = f"Cannot read properties of {shown} (reading '{text_of(key)}')"
            raise ThrownError("TypeError", message, position)
        if is_object(of):
            if text_of(key) in of:
                return of[text_of(key)]
        elif _is_sequence(of):
            if key == "length":
                return float(len(of.encode("utf-16-le", "surrogatepass")) // 2 if isinstance(of, str) else len(of))
            in_range = isinstance(key, float) and key.is_integer() and 0 <= key < len(of)
            if in_range and not (isinstance(of, str) and not of.isascii()):
                return of[int(key)]
        raise NotUnderstood("a member")

    return value


def _is_sequence(value: Any) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, (str, list))


def _type_of(inner: Value, names: Names) -> str:
    try:
        value: object = inner(names)
    except ThrownError as thrown:
        if thrown.name == "ReferenceError":
            return "undefined"
        raise
    if isinstance(value, BigInt):
        return "bigint"
    kinds: dict[type[Any], str] = {bool: "boolean", float: "number", str: "string", Undefined: "undefined"}
    return kinds.get(type(value), "object")


def _combined(sign: str, left: Value, right: Value) -> Value:
    if sign == "&&":
        return lambda names: right(names) if is_truthy(kept := left(names)) else kept
    if sign == "||":
        return lambda names: kept if is_truthy(kept := left(names)) else right(names)
    if sign == "??":
        return lambda names: right(names) if (kept := left(names)) is None or kept is UNDEFINED else kept
    return lambda names: apply_operator(sign, left(names), right(names))
