"""Expressions of tests that throw or return a promise, and the results of their commands.

throw new Error('x'), throw 'x'   an exception, in the reply Promise.resolve(7)                a promise; its value if
the command awaits it Promise.reject(new Error('x'))    a promise; if the command awaits it, its reason is an
exception in the reply; otherwise
                                  sessions with Runtime enabled get `Runtime.exceptionThrown` for an uncaught exception
"""

from __future__ import annotations

import json
import re
from functools import partial
from typing import Any, Final

from cdp_core.sansio.messages import Json
from cdp_core.testing.fake.model import contexts
from cdp_core.testing.fake.model.parts import Frame
from cdp_core.testing.fake.player import remote_object
from cdp_core.testing.fake.script.thrown import is_traced
from cdp_core.testing.fake.world import World

_ENDING: Final = re.compile(
    r"\s*(?:throw\s+(?P<thrown>[^;]+?)|Promise\.(?P<how>resolve|reject)\(\s*(?P<given>[^;]*?)\s*\))\s*;?\s*", re.DOTALL
)
_ERROR: Final = re.compile(r"(?:new\s+)?(?P<name>(?:[A-Z]\w*)?Error)\(\s*(?P<message>'[^'\\]*'|\"[^\"\\]*\")?\s*\)")
_TEXT: Final = re.compile(r"'([^'\\\"]*)'")
STACK: Final = "\n    at <anonymous>:1:7"


def ending_of(world: World, frame: Frame, context: int, expression: str, *, awaited: bool) -> Json | None:
    """Return the result of the command, or None for any other expression."""
    found = _ENDING.fullmatch(expression)
    value = None if found is None else _value(world, frame, context, found["thrown"] or found["given"] or "")
    if found is None or value is None:
        return None
    if found["thrown"] is not None:
        return {"result": value, "exceptionDetails": _details("Uncaught", value, traced=is_traced(frame))}
    if not awaited:
        if found["how"] == "reject":
            world.soon(partial(_emit_uncaught, world, frame, context, value))
        promise = {"type": "object", "subtype": "promise", "className": "Promise", "description": "Promise"}
        return {"result": {**promise, "objectId": contexts.keep_object(world, frame, context, promise)}}
    if found["how"] == "resolve":
        return {"result": value}
    is_error = value.get("subtype") == "error"
    shown = f" {value['description'].partition(chr(10))[0]}" if is_error else ""
    return {
        "result": value,
        "exceptionDetails": _details(f"Uncaught (in promise){shown}", value, traced=is_error, known=is_error),
    }


def _value(world: World, frame: Frame, context: int, text: str) -> Json | None:
    """Return the remote object that is thrown or that the promise holds; None if it is not modelled."""
    error = _ERROR.fullmatch(text)
    if error is not None:
        message = (error["message"] or "''")[1:-1]
        described = f"{error['name']}: {message}" if message else error["name"]
        made = {
            "type": "object",
            "subtype": "error",
            "className": error["name"],
            "description": f"{described}{STACK}",
        }
        return {**made, "objectId": contexts.keep_object(world, frame, context, made)}
    if text in ("", "undefined"):
        return {"type": "undefined"}
    try:
        value: Any = json.loads(_TEXT.sub(r'"\1"', text))
    except ValueError:
        return None
    return None if isinstance(value, (list, dict)) else remote_object(value)


def _details(text: str, value: Json, *, traced: bool, known: bool = True) -> Json:
    call = {"functionName": "", "scriptId": "3", "url": "", "lineNumber": 0, "columnNumber": 0}
    where: Json = {"scriptId": "3"} if known else {}
    if traced:
        where["stackTrace"] = {"callFrames": [call]}
    return {"exceptionId": 1, "text": text, "lineNumber": 0, "columnNumber": 0, **where, "exception": value}


def _emit_uncaught(world: World, frame: Frame, context: int, value: Json) -> None:
    """Emit `Runtime.exceptionThrown` for a rejected promise without a handler."""
    if value.get("subtype") == "error":
        kept = {name: each for name, each in value.items() if name in ("type", "subtype", "description")}
        message = value["description"].partition("\n")[0].partition(": ")[2]
        texts = [("stack", value["description"]), ("message", message)]
        properties = [{"name": name, "type": "string", "value": text} for name, text in texts]
        value = {**value, "preview": {**kept, "overflow": False, "properties": properties}}
    details = {**_details("Uncaught (in promise)", value, traced=True), "executionContextId": context}
    params = {"timestamp": 1.7e12 + world.now * 1000, "exceptionDetails": details}
    world.emit_runtime_event(frame.target, "Runtime.exceptionThrown", params, frame)
