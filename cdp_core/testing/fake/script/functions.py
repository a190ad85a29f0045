"""`Runtime.callFunctionOn` without JavaScript: the expression that a function stands for.

Client libraries wrap what their users write. A function is understood if its body is one expression that the fake
models:

    () => EXPRESSION      a => { return EXPRESSION; }      async function (a) { await EXPRESSION }

with the arguments substituted for the parameter names. Puppeteer's `//# sourceURL=` line is removed; of Playwright's
calls, which pass every function as text to an object of its own, that text is run. A longer function is replaced by the
longest key of the script's `answers` that it contains. Any other function returns `undefined` and is counted.

`new X(…)` at the end of an expression makes an object with a known class and nothing else; a client can pass it back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from cdp_core.sansio.messages import Json, is_object
from cdp_core.testing.fake.model.dispatch_errors import Refused
from cdp_core.testing.fake.model.parts import Frame
from cdp_core.testing.fake.player import Player
from cdp_core.testing.fake.script.evaluate import evaluate, is_understood
from cdp_core.testing.fake.script.thrown import is_thrown
from cdp_core.testing.fake.script.values import UNDEFINED

Done = Callable[[Json], None]
MISSING: Final = object()
"""Stands for the value of an argument that cannot be written as JSON."""

_SOURCE_URL: Final = re.compile(r"\n?//[#@] sourceURL=[^\n]*\s*$")
_NAME: Final = r"[A-Za-z_$][\w$]*"
_NAMES: Final = rf"\s*(?:{_NAME}\s*(?:,\s*{_NAME}\s*)*,?\s*)?"
_FUNCTION: Final = re.compile(
    rf"(?:async\s+)?(?:function\s*(?:{_NAME})?\s*\((?P<of>{_NAMES})\)\s*(?={{)|"
    rf"(?:\((?P<names>{_NAMES})\)|(?P<name>{_NAME}))\s*=>)\s*(?P<body>.*)",
    re.DOTALL,
)
_CALLED: Final = re.compile(r"\(\s*(?P<function>(?:async\b|function\b|\(|[A-Za-z_$]).*)\)\s*\(\s*\)\s*;?", re.DOTALL)
_WORD: Final = re.compile(rf"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`|(?<![\w$.]){_NAME}")
_NEW: Final = re.compile(
    r"(?:.*\breturn\s+)?new\s+\(?(?:[\w$]+\.)*(?P<class>[A-Za-z_$][\w$]*)\)?(?:\(\))?\)?\([^()]*\)\s*;?\s*(?:\}\)\(\)\s*;?)?",
    re.DOTALL,
)
_PLAYWRIGHT_WRAPPER: Final = re.compile(rf"\((?P<to>{_NAME}), \.\.\.args\) => (?P=to)\.evaluate\(\.\.\.args\)")
_TEXT_AT: Final = 3
"""Index of the function's text in Playwright's arguments.

They are: its object, whether the text is a function, whether to return by value, the text, the count, the arguments.
"""


def without_source_url(text: str) -> str:
    return _SOURCE_URL.sub("", text).strip()


def run_expression(player: Player, frame: Frame, text: str, done: Done, *, user_gesture: bool) -> bool:
    """Evaluate an expression or an immediately invoked function; return whether it was understood."""
    text = without_source_url(text)
    called = None if is_understood(player, frame, text) else _CALLED.fullmatch(text)
    if called is None or _FUNCTION.fullmatch(called["function"]) is None:
        return evaluate(player, frame, text, done, user_gesture=user_gesture)
    return call_function(player, frame, called["function"], (), done, user_gesture=user_gesture)


def made_object(text: str) -> Json | None:
    """Return the remote object of an expression that ends in `new X(…)`; None for any other."""
    found = _NEW.fullmatch(without_source_url(text))
    return None if found is None else {"type": "object", "className": found["class"], "description": found["class"]}


def call_function(
    player: Player, frame: Frame, text: str, arguments: Sequence[Any], done: Done, *, user_gesture: bool
) -> bool:
    """Call a function with arguments, and return whether it was understood.

    `done` is called with the remote object, at once or later. Raises Refused if the text is an expression instead.
    """
    text = without_source_url(text)
    if _PLAYWRIGHT_WRAPPER.fullmatch(text) and len(arguments) > _TEXT_AT and isinstance(arguments[_TEXT_AT], str):
        return _call_playwright_function(player, frame, arguments, done, user_gesture=user_gesture)
    expression, brings = _expression_of(text, arguments)
    if expression == "":
        done(UNDEFINED)
        return True
    if text in player.script.answers:
        return evaluate(player, frame, text, done, user_gesture=user_gesture)
    if expression is not None and is_understood(player, frame, expression):

        def brought(value: Json) -> None:
            done(value if brings or is_thrown(value) else UNDEFINED)

        return evaluate(player, frame, expression, brought, user_gesture=user_gesture)
    if expression is None and is_understood(player, frame, text):
        raise Refused(-32000, "Given expression does not evaluate to a function")
    within = [known for known in player.script.answers if known and known in text]
    if within:
        return evaluate(player, frame, max(within, key=len), done, user_gesture=user_gesture)
    done(UNDEFINED)
    return False


def _call_playwright_function(
    player: Player, frame: Frame, arguments: Sequence[Any], done: Done, *, user_gesture: bool
) -> bool:
    text = without_source_url(arguments[_TEXT_AT])
    rest = [_plain(each) for each in arguments[_TEXT_AT + 2 :]]
    if _FUNCTION.fullmatch(text) is None:
        return run_expression(player, frame, text, done, user_gesture=user_gesture)
    return call_function(player, frame, text, rest, done, user_gesture=user_gesture)


def _plain(value: Any) -> Any:
    """Return the value of an argument from Playwright's serialization."""
    if not is_object(value):
        return value
    if isinstance(value.get("a"), list):
        return [_plain(each) for each in value["a"]]
    if isinstance(value.get("o"), list):
        return {each["k"]: _plain(each["v"]) for each in value["o"]}
    return None if value.get("v") == "null" else MISSING


def _expression_of(text: str, arguments: Sequence[Any]) -> tuple[str | None, bool]:
    """Return the expression that is a function's body (None if it is not one), and whether it is returned."""
    found = _FUNCTION.fullmatch(text)
    if found is None:
        return None, False
    names = [each.strip() for each in (found["of"] or found["names"] or found["name"] or "").split(",") if each.strip()]
    body, brings = found["body"].strip(), True
    if body.startswith("{") and body.endswith("}"):
        body = body[1:-1].strip().removesuffix(";").strip()
        brings = body.startswith("return") and not body[6:7].isalnum()
        body = body.removeprefix("return").strip() if brings else body
    body = body.removeprefix("await ").strip()
    return _with_arguments(body, dict(zip(names, arguments, strict=False))), brings


def _with_arguments(expression: str, values: Mapping[str, Any]) -> str:
    def written(word: re.Match[str]) -> str:
        value = values.get(word[0], MISSING)
        return word[0] if value is MISSING else json.dumps(value, ensure_ascii=False)

    return _WORD.sub(written, expression) if values else expression
