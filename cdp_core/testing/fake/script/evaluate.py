"""`Runtime.evaluate` without JavaScript: the expressions of a `Script`, and a few that most tests use.

The `answers` of the script are tried first. Then these are understood: literals, operators and the location of the
document (values.py); `'x'.repeat(n)`, `alert(…)`, `confirm(…)`, `prompt(…)`, `console.log(…)`, `window.open(…)`,
`history.back()`, `history.forward()`, a change of `location`; one of these in `try { … } catch (x) { … }` if the catch
block consists of strings, `x.name` and `x.message`; a call of a binding; and listeners for the unload events:

    addEventListener('beforeunload', event => event.preventDefault())       opens a beforeunload dialog
    window.onbeforeunload = () => 'sure?'                                   opens one too
    addEventListener('pagehide', () => { console.log('x'); alert('y') })    logs x and opens an alert

Of a listener only this is understood: whether it asks before unload, and the texts that it logs or shows in dialogs.

Text that is not JavaScript, and a name that no window has, throw as they do in V8. Any other expression returns
`undefined` and is counted: with invented values, tests would pass that fail in a browser.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from cdp_core.sansio.messages import Json
from cdp_core.testing import steps
from cdp_core.testing.fake.model import unloading, workers
from cdp_core.testing.fake.model.parts import Frame
from cdp_core.testing.fake.player import Player, remote_object
from cdp_core.testing.fake.script import injected
from cdp_core.testing.fake.script.thrown import error, is_thrown, message_of, name_of, network_error
from cdp_core.testing.fake.script.values import UNDEFINED, expression_value

_CALL: Final = re.compile(
    r"\s*(?:window\.)?(?P<name>alert|confirm|prompt|open|history\.(?P<way>back|forward)"
    r"|console\.(?P<level>log|debug|info|warn|error|dir|trace|clear|groupCollapsed|groupEnd|group|assert))"
    r"\s*\((?P<arguments>.*)\)\s*;?\s*",
    re.DOTALL,
)
_NOTHING_THROWN: Final = network_error("")
_CLOSE: Final = re.compile(r"\s*(?:self\.)?close\(\)\s*;?\s*")
_LEVELS: Final = {
    "warn": "warning",
    "group": "startGroup",
    "groupCollapsed": "startGroupCollapsed",
    "groupEnd": "endGroup",
}
_NAMED: Final = frozenset(("trace", "clear", "group", "groupCollapsed", "groupEnd", "assert"))
"""Console methods that log their own name if they get no arguments."""
_REPEATED: Final = re.compile(
    r"(?P<text>'[^'\\]*'|\"[^\"\\]*\")\.repeat\(\s*(?P<times>\d{1,7})\s*(?:<<\s*(?P<shift>\d|1\d|2[0-4])\s*)?\)"
)
_TRY: Final = re.compile(
    r"\s*try\s*\{\s*(?P<tried>.*?)\s*;?\s*\}\s*catch\s*\(\s*(?P<name>[\w$]+)\s*\)\s*\{\s*(?P<caught>[^{}]*?)\s*;?\s*\}\s*;?\s*",
    re.DOTALL,
)
_CAUGHT_PART: Final = re.compile(
    r"([\w$]+)\.(?P<part>name|message)(?:\.slice\(\s*(?P<from>\d+)\s*,\s*(?P<to>\d+)\s*\))?"
)
_GO_TO: Final = re.compile(
    r"\s*(?:(?:window|document|self)\.)?location(?:(?:\.href)?\s*=\s*(?P<set>'[^'\\]*'|\"[^\"\\]*\")"
    r"|\.(?P<how>assign|replace)\(\s*(?P<url>'[^'\\]*'|\"[^\"\\]*\")\s*\)|\.(?P<again>reload)\(\))\s*;?\s*"
)
"""Assignments to `location`, and its methods, which navigate the frame."""


def evaluate(
    player: Player, frame: Frame, expression: str, done: Callable[[Json], None], *, user_gesture: bool = False
) -> bool:
    """Run an expression in a frame, and return whether it was understood.

    `done` is called with the remote object, at once or later. Without a user gesture no window is opened: the popup
    blocker is on.
    """
    if user_gesture:
        unloading.activate_user(frame)
    known = player.script.answers.get(expression)
    if known is not None:
        brought = UNDEFINED if known.value is None else remote_object(known.value)
        before, thrown_by = _until_thrown(known.steps, expression)
        player.play(before, here=frame, done=lambda: done(brought if thrown_by is None else thrown_by))
        return True
    tried = _TRY.fullmatch(expression)
    if tried is not None and is_understood(player, frame, expression):

        def finish(value: Json) -> None:
            done(remote_object(_caught(tried, value)) if is_thrown(value) else value)

        return evaluate(player, frame, tried["tried"], finish, user_gesture=user_gesture)
    if frame is frame.target.scope and _CLOSE.fullmatch(expression):
        player.world.soon(lambda: workers.close(player.world, frame.target))
        done(UNDEFINED)
        return True
    match = injected.called_in(frame, expression)
    if match is not None:
        injected.emit_call(player.world, frame, *match)
        done(UNDEFINED)
        return True
    call = _call_in(frame, expression)
    arguments = None if call is None else _literals(call["arguments"])
    if call is not None and arguments is not None:
        _run_call(player, frame, call, arguments, done, user_gesture=user_gesture)
        return True
    navigation = _GO_TO.fullmatch(expression)
    if navigation is not None:
        _go_to(player, frame, navigation, done)
        return True
    value = _value_of(player, frame, expression)
    if value is None:
        value = add(frame, expression, lambda where, text: player.console(where, "log", [text]))
    done(UNDEFINED if value is None else value)
    return value is not None


def _until_thrown(played: Sequence[steps.Step], expression: str) -> tuple[Sequence[steps.Step], Json | None]:
    """Return the steps before the expression throws, and its exception (None if it does not throw)."""
    for number, step in enumerate(played):
        if isinstance(step, steps.ScriptError) and step.frame == steps.MAIN:
            return played[:number], error("Error", step.message, expression, 0, traced=True)
    return played, None


def is_understood(player: Player, frame: Frame, expression: str) -> bool:
    """Return whether `evaluate` understands an expression, without running it."""
    if frame is frame.target.scope and _CLOSE.fullmatch(expression):
        return True
    call, tried = _call_in(frame, expression), _TRY.fullmatch(expression)
    if tried is not None and expression not in player.script.answers:
        return _caught(tried, _NOTHING_THROWN) is not None and is_understood(player, frame, tried["tried"])
    if expression in player.script.answers or (call is not None and _literals(call["arguments"]) is not None):
        return True
    if _GO_TO.fullmatch(expression) is not None or is_listener(expression):
        return True
    if injected.called_in(frame, expression) is not None:
        return True
    value = _value_of(player, frame, expression)
    return value is not None and not (is_thrown(value) and name_of(value) == "SyntaxError")


def _call_in(frame: Frame, expression: str) -> re.Match[str] | None:
    """Match a call that the fake models; in a worker only those of the console."""
    call = _CALL.fullmatch(expression)
    return None if call is not None and frame is frame.target.scope and not call["level"] else call


def by_reference(value: Json) -> Json | None:
    """Return how an array or object is described when its value is not sent; None for other values."""
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
        if call["level"] == "assert":
            failed, arguments = not (arguments[:1] or [None])[0], arguments[1:]
            if not failed:
                done(UNDEFINED)
                return
        if call["level"] in _NAMED and not arguments:
            arguments = [f"console.{call['level']}"]
        player.console(frame, _LEVELS.get(call["level"], call["level"]), arguments)
        done(UNDEFINED)
    elif call["way"]:
        player.go(frame, -1 if call["way"] == "back" else 1)
        done(UNDEFINED)
    elif name == "open" and not user_gesture:
        player.emit_window_open(frame, str(arguments[0]) if arguments else "about:blank", user_gesture=False)
        done(remote_object(None))
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

        def answered(accepted: bool, text: str) -> None:
            done(_answered(name, accepted, text))

        player.dialog(frame, name, message, default, answered, done)


def _caught(tried: re.Match[str], value: Json) -> str | None:
    """Return the string that the catch block yields; None if it is not understood."""
    parts: list[str] = []
    for written in tried["caught"].split("+"):
        match, literal = _CAUGHT_PART.fullmatch(written.strip()), _literals(written)
        if match is not None and match[1] == tried["name"]:
            text = name_of(value) if match["part"] == "name" else message_of(value)
            parts.append(text if match["from"] is None else text[int(match["from"]) : int(match["to"])])
        elif literal is not None and len(literal) == 1 and isinstance(literal[0], str):
            parts.append(literal[0])
        else:
            return None
    return "".join(parts)


def _go_to(player: Player, frame: Frame, navigation: re.Match[str], done: Callable[[Json], None]) -> None:
    url = (navigation["set"] or navigation["url"] or "")[1:-1]
    brought = remote_object(url) if navigation["set"] is not None else UNDEFINED
    reason = "reload" if navigation["again"] else "scriptInitiated"
    player.go_to(frame, url, reason, lambda: done(brought), replace_entry=navigation["how"] == "replace")


def _answered(kind: str, accepted: bool, text: str) -> Json:
    if kind == "alert":
        return UNDEFINED
    if kind == "confirm":
        return remote_object(accepted)
    return remote_object(text if accepted else None)


def _value_of(player: Player, frame: Frame, expression: str) -> Json | None:
    repeated = _REPEATED.fullmatch(expression.strip().rstrip(";"))
    return remote_object(_repeated(repeated)) if repeated is not None else expression_value(player, frame, expression)


def _repeated(found: re.Match[str]) -> str:
    return found["text"][1:-1] * (int(found["times"]) << int(found["shift"] or 0))


_STRING: Final = re.compile(r"'((?:[^'\\]|\\.)*)'")
_KEPT: Final = re.compile(r"\\(.)|(\")", re.DOTALL)


def _as_json(found: re.Match[str]) -> str:
    def kept(part: re.Match[str]) -> str:
        return "'" if part[1] == "'" else '\\"' if part[2] else part[0]

    return f'"{_KEPT.sub(kept, found[1])}"'


def _literals(text: str) -> list[Any] | None:
    """Parse arguments that are JSON apart from their quotes; None for anything else."""
    as_json = _STRING.sub(_as_json, _REPEATED.sub(lambda found: f'"{_repeated(found)}"', text))
    try:
        found: list[Any] = json.loads(f"[{as_json}]")
    except ValueError:
        return None
    return found


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value)


_UNLOAD_EVENTS: Final = "|".join(unloading.UNLOAD_EVENTS)
_ADDED: Final = re.compile(
    rf"\s*(?:(?:window|document|self)\.)?(?:addEventListener\(\s*['\"](?P<added>{_UNLOAD_EVENTS})['\"]\s*,\s*(?P<listener>.*)\)"
    rf"|on(?P<set>{_UNLOAD_EVENTS})\s*=\s*(?P<value>[^=].*?))\s*;?\s*",
    re.DOTALL,
)
_ASKS: Final = re.compile(r"preventDefault\(\)|returnValue\s*=|return\s+['\"]|=>\s*['\"]")
_LOGGED: Final = re.compile(r"console\.log\(\s*(['\"])(?P<logged>[^'\"]*)\1\s*\)")
_SHOWN: Final = re.compile(r"\b(?P<kind>alert|confirm|prompt)\(\s*(?:(['\"])(?P<message>[^'\"]*)\2)?")


def is_listener(expression: str) -> bool:
    return _ADDED.fullmatch(expression) is not None


def add(frame: Frame, expression: str, log: Callable[[Frame, str], None]) -> Json | None:
    """Add the listener of an expression to the document; return its remote object, None for any other."""
    found = _ADDED.fullmatch(expression)
    if found is None:
        return None
    event, listener = found["added"] or found["set"], found["listener"] or found["value"]
    if event == unloading.UNLOAD_EVENTS[0] and _ASKS.search(listener):
        unloading.listen_with_dialog(frame, event, event, "", "")
    for logged in _LOGGED.finditer(listener):
        unloading.listen(frame, event, partial(log, frame, logged["logged"]))
    for shown in _SHOWN.finditer(listener):
        unloading.listen_with_dialog(frame, event, shown["kind"], shown["message"] or "", "")
    if found["added"]:
        return {"type": "undefined"}
    return {"type": "function", "className": "Function", "description": listener, "objectId": "1.1.2"}
