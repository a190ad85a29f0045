"""`Runtime.evaluate` without JavaScript: expressions that a script knows, and a few that every test writes.

A script's `answers` come first. Then literals, sums, `document.title`, `location.href`, `alert(…)`, `confirm(…)`,
`prompt(…)`, `console.log(…)` and `window.open(…)`. Anything else brings `undefined`, and is counted: a fake that made up
values would make tests pass that a browser would fail.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable
from typing import Any, Final

from cdp_core.sansio.wire import Json
from cdp_core.testing.fake.player import Player, remote
from cdp_core.testing.fake.world import Frame

__all__ = ["evaluate"]

UNDEFINED: Final[Json] = {"type": "undefined"}
_CALL: Final = re.compile(
    r"\s*(?:window\.)?(?P<name>alert|confirm|prompt|open|console\.(?P<level>log|debug|info|warn|error))"
    r"\s*\((?P<arguments>.*)\)\s*;?\s*",
    re.DOTALL,
)
_LEVELS: Final = {"warn": "warning"}
_SUM: Final = re.compile(r"\s*-?\d+(?:\s*[-+*]\s*-?\d+)*\s*")


def evaluate(player: Player, frame: Frame, expression: str, done: Callable[[Json], None]) -> bool:
    """Run an expression in a frame; `done` gets the remote object, maybe later. Whether it was understood."""
    known = player.script.answers.get(expression)
    if known is not None:
        brought = UNDEFINED if known.value is None else remote(known.value)
        player.play(known.steps, here=frame, done=lambda: done(brought))
        return True
    call = _CALL.fullmatch(expression)
    arguments = None if call is None else _literals(call["arguments"])
    if call is not None and arguments is not None:
        _run_call(player, frame, call, arguments, done)
        return True
    value = _value_of(frame, expression)
    done(UNDEFINED if value is None else value)
    return value is not None


def _run_call(
    player: Player, frame: Frame, call: re.Match[str], arguments: list[Any], done: Callable[[Json], None]
) -> None:
    name = call["name"]
    if call["level"]:
        player.console(frame, _LEVELS.get(call["level"], call["level"]), arguments)
        done(UNDEFINED)
    elif name == "open":
        player.popup(frame, str(arguments[0]) if arguments else "about:blank")
        done({"type": "object", "className": "Window", "description": "Window", "objectId": "1.1.1"})
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
        return remote(frame.target.title)
    if _SUM.fullmatch(text):
        return remote(_sum(text))
    literal = _literals(text)
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


def _literals(text: str) -> list[Any] | None:
    """The literals of JavaScript that are JSON, but for quotes; None where there is anything else."""
    as_json = _STRING.sub(lambda found: json.dumps(found[1].replace("\\'", "'")), text)
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
