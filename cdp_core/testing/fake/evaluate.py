"""`Runtime.evaluate` without JavaScript: expressions that a script knows, and a few that every test writes.

A script's `answers` come first. Then literals, sums, `'x'.repeat(n)`, `document.title`, `location.href`, `alert(…)`,
`confirm(…)`, `prompt(…)`, `console.log(…)`, `window.open(…)`, `history.back()`, `history.forward()`. Anything else brings `undefined`, and is counted: a fake
that made up values would make tests pass that a browser would fail.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable
from typing import Any, Final

from cdp_core.sansio.wire import Json
from cdp_core.testing.fake.parts import Frame
from cdp_core.testing.fake.player import Player, remote

__all__ = ["UNDEFINED", "by_reference", "evaluate", "is_understood"]

UNDEFINED: Final[Json] = {"type": "undefined"}
_CALL: Final = re.compile(
    r"\s*(?:window\.)?(?P<name>alert|confirm|prompt|open|history\.(?P<way>back|forward)"
    r"|console\.(?P<level>log|debug|info|warn|error))"
    r"\s*\((?P<arguments>.*)\)\s*;?\s*",
    re.DOTALL,
)
_LEVELS: Final = {"warn": "warning"}
_REPEATED: Final = re.compile(r"(?P<text>'[^'\\]*')\.repeat\((?P<times>\d{1,7})\)")
_SUM: Final = re.compile(r"\s*-?\d+(?:\s*[-+*]\s*-?\d+)*\s*")


def evaluate(
    player: Player, frame: Frame, expression: str, done: Callable[[Json], None], *, user_gesture: bool = False
) -> bool:
    """Run an expression in a frame; `done` gets the remote object, maybe later. Whether it was understood.

    Without a user's gesture no window is opened: the popup blocker is on.
    """
    known = player.script.answers.get(expression)
    if known is not None:
        brought = UNDEFINED if known.value is None else remote(known.value)
        player.play(known.steps, here=frame, done=lambda: done(brought))
        return True
    call = _CALL.fullmatch(expression)
    arguments = None if call is None else _literals(call["arguments"])
    if call is not None and arguments is not None:
        _run_call(player, frame, call, arguments, done, user_gesture=user_gesture)
        return True
    value = _value_of(frame, expression)
    done(UNDEFINED if value is None else value)
    return value is not None


def is_understood(player: Player, frame: Frame, expression: str) -> bool:
    """Whether it is more than `undefined` that `evaluate` would bring of it."""
    call = _CALL.fullmatch(expression)
    if expression in player.script.answers or (call is not None and _literals(call["arguments"]) is not None):
        return True
    return _value_of(frame, expression) is not None


def by_reference(value: Json) -> Json | None:
    """How a value is shown that is not sent, as an array or another object is not; None for the others."""
    content = value.get("value")
    if isinstance(content, list):
        named = {"subtype": "array", "className": "Array", "description": f"Array({len(content)})"}  # pyright: ignore[reportUnknownArgumentType]
    elif isinstance(content, dict):
        named = {"className": "Object", "description": "Object"}
    else:
        return None
    return {"type": "object", **named}


def _run_call(
    player: Player,
    frame: Frame,
    call: re.Match[str],
    arguments: list[Any],
    done: Callable[[Json], None],
    *,
    user_gesture: bool,
) -> None:
    name = call["name"]
    if call["level"]:
        player.console(frame, _LEVELS.get(call["level"], call["level"]), arguments)
        done(UNDEFINED)
    elif call["way"]:
        player.go(frame, -1 if call["way"] == "back" else 1)
        done(UNDEFINED)
    elif name == "open" and not user_gesture:
        player.ask_for_window(frame, str(arguments[0]) if arguments else "about:blank", user_gesture=False)
        done(remote(None))
    elif name == "open":
        popup = player.popup(frame, str(arguments[0]) if arguments else "about:blank")
        window = {"type": "object", "className": "Window", "description": "Window", "objectId": "1.1.1"}
        if popup.held:
            popup.when_run.append(lambda: player.world.soon(lambda: done(window)))
        else:
            done(window)
    else:
        message = _shown(arguments[0]) if arguments else ""
        default = _shown(arguments[1]) if len(arguments) > 1 else ""
        player.dialog(frame, name, message, default, lambda accepted, text: done(_answered(name, accepted, text)))


def _answered(kind: str, accepted: bool, text: str) -> Json:
    if kind == "alert":
        return UNDEFINED
    if kind == "confirm":
        return remote(accepted)
    return remote(text if accepted else None)


def _value_of(frame: Frame, expression: str) -> Json | None:
    text = expression.strip().rstrip(";")
    if text in ("location.href", "document.URL"):
        return remote(frame.url)
    if text == "document.title":
        return remote("")
    if text == "history.length":
        return remote(max(len(frame.target.page.history.entries), 1))
    if _SUM.fullmatch(text):
        return remote(_sum(text))
    repeated = _REPEATED.fullmatch(text)
    if repeated is not None:
        return remote(repeated["text"][1:-1] * int(repeated["times"]))
    if text == "undefined":
        return UNDEFINED
    literal = _literals(text[1:-1] if text.startswith("({") and text.endswith("})") else text)
    return remote(literal[0]) if literal is not None and len(literal) == 1 else None


def _sum(text: str) -> int:
    def value(node: ast.expr) -> int:
        if isinstance(node, ast.BinOp):
            left, right = value(node.left), value(node.right)
            return (
                left + right
                if isinstance(node.op, ast.Add)
                else left - right
                if isinstance(node.op, ast.Sub)
                else left * right
            )
        if isinstance(node, ast.UnaryOp):
            return -value(node.operand)
        assert isinstance(node, ast.Constant)
        return int(str(node.value))

    return value(ast.parse(text.strip(), mode="eval").body)


_STRING: Final = re.compile(r"'((?:[^'\\]|\\.)*)'")
_KEPT: Final = re.compile(r"\\(.)|(\")", re.DOTALL)


def _as_json(found: re.Match[str]) -> str:
    def kept(part: re.Match[str]) -> str:
        return "'" if part[1] == "'" else '\\"' if part[2] else part[0]

    return f'"{_KEPT.sub(kept, found[1])}"'


def _literals(text: str) -> list[Any] | None:
    """The literals of JavaScript that are JSON, but for quotes; None where there is anything else."""
    as_json = _STRING.sub(_as_json, text)
    try:
        found: list[Any] = json.loads(f"[{as_json}]")
    except ValueError:
        return None
    return found


def _shown(value: Any) -> str:
    """A value as a dialog shows it."""
    if isinstance(value, str):
        return value
    return json.dumps(value)
