"""Reading the outcome of a command: its result or its error, and the value of a script."""

from __future__ import annotations

from typing import Any

from cdp_core.errors import RemoteProtocolError
from cdp_core.sansio.messages import Json, Result, SessionId
from cdp_core.sansio.outcomes import Failure, failure_of
from cdp_supervisor.errors import ScriptFailed
from cdp_supervisor.sansio.event_params import member, text
from cdp_supervisor.sansio.inputs import NotSent


def value_of(result: Result) -> Json:
    """Return the JSON of a result; empty if it cannot be read."""
    try:
        return result.value
    except RemoteProtocolError:
        return {}


def result_of(outcome: Any, method: str, session_id: SessionId | None) -> Json:
    """Return the result of an outcome. Raises the error of any other outcome."""
    if isinstance(outcome, Result):
        return outcome.value
    raise error_of(outcome, method, session_id)


def error_of(outcome: Failure | NotSent, method: str, session_id: SessionId | None) -> Exception:
    return outcome.error if isinstance(outcome, NotSent) else failure_of(outcome, method, session_id)


def read_evaluation(result: Json) -> Any:
    """Return the value in a result of `Runtime.evaluate` with `returnByValue`. Raises ScriptFailed."""
    details = result.get("exceptionDetails")
    if isinstance(details, dict):
        thrown: Json = member(result, "exceptionDetails")
        exception = member(thrown, "exception")
        line, column = thrown.get("lineNumber"), thrown.get("columnNumber")
        raise ScriptFailed(
            name=text(exception, "className") or text(exception, "type") or "an exception",
            text=text(exception, "description", 10_000) or text(thrown, "text", 10_000),
            line=line + 1 if isinstance(line, int) else 0,
            column=column if isinstance(column, int) else 0,
        )
    if not isinstance(result.get("result"), dict):
        return None
    value: Json = result["result"]
    return value.get("value", value.get("unserializableValue"))
