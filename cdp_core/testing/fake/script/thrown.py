"""Exceptions of scripts: the value that a caller catches, and the details if none does.

Two kinds are modelled: the NetworkError of a synchronous `XMLHttpRequest.send` that fails, and the errors of the
language, such as that of a name that is not defined.
"""

from __future__ import annotations

from typing import Final

from cdp_core.sansio.messages import Json
from cdp_core.testing.fake.model import contexts
from cdp_core.testing.fake.model.parts import Frame
from cdp_core.testing.fake.world import World

STACK: Final = "\n    at <anonymous>:1:1"
LONGEST: Final = 100
"""Characters; a longer string in a preview is cut in its middle."""
CALL: Final[Json] = {"functionName": "", "scriptId": "3", "url": "", "lineNumber": 0, "columnNumber": 0}
CODES: Final = {"NetworkError": 19}


def network_error(url: str) -> Json:
    return {"name": "NetworkError", "thrown": f"Failed to execute 'send' on 'XMLHttpRequest': Failed to load '{url}'."}


def error(name: str, message: str, text: str, position: int, *, traced: bool) -> Json:
    """Return an error of the language; `traced` if it was thrown by running the script, not by parsing it."""
    line = text.count("\n", 0, position)
    column = position - (text.rfind("\n", 0, position) + 1)
    trace = f"\n    at <anonymous>:{line + 1}:{column + 1}" if traced else ""
    return {"name": name, "thrown": message, "trace": trace, "line": line, "column": column}


def is_thrown(value: Json) -> bool:
    return "thrown" in value


def name_of(value: Json) -> str:
    name: str = value["name"]
    return name


def message_of(value: Json) -> str:
    message: str = value["thrown"]
    return message


def exception_result(world: World, frame: Frame, context: int, value: Json) -> Json:
    return {
        "result": _object(world, frame, context, value),
        "exceptionDetails": details_of(world, frame, context, value),
    }


def is_traced(frame: Frame) -> bool:
    """Return whether uncaught exceptions have a stack trace: a session of the target has Runtime enabled."""
    return any("Runtime" in session.domains for session in frame.target.sessions)


def details_of(world: World, frame: Frame, context: int, value: Json) -> Json:
    if "trace" in value:
        where = {"lineNumber": value["line"], "columnNumber": value["column"], "scriptId": "3"}
        calls = {"stackTrace": {"callFrames": [CALL]}} if value["trace"] and is_traced(frame) else {}
        shown = _object(world, frame, context, value)
        return {"exceptionId": 1, "text": "Uncaught", **where, **calls, "exception": shown}
    return {
        "exceptionId": 1,
        "text": "Uncaught",
        "lineNumber": 0,
        "columnNumber": 0,
        "scriptId": "3",
        "stackTrace": {"callFrames": [CALL]},
        "exception": _object(world, frame, context, value),
    }


def _object(world: World, frame: Frame, context: int, value: Json) -> Json:
    name, message = name_of(value), message_of(value)
    if "trace" in value:
        made = {"type": "object", "subtype": "error", "description": f"{name}: {message}{value['trace']}"}
        object_id = contexts.keep_object(world, frame, context, made)
        return {**made, "className": name, "objectId": object_id}
    description = f"{name}: {message}{STACK}"
    made = {"type": "object", "subtype": "error", "description": description}
    properties = [
        {"name": "stack", "type": "string", "value": _cut(description)},
        {"name": "code", "type": "number", "value": str(CODES[name])},
        {"name": "name", "type": "string", "value": name},
        {"name": "message", "type": "string", "value": _cut(message)},
    ]
    return {
        **made,
        "className": "DOMException",
        "objectId": contexts.keep_object(world, frame, context, made),
        "preview": {**made, "overflow": False, "properties": properties},
    }


def _cut(text: str) -> str:
    half = LONGEST // 2
    return text if len(text) <= LONGEST else f"{text[:half]}\u2026{text[1 - half :]}"
