"""The client of hermes_like with events as hand-written attrs objects, nested and with enumerations."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

import attrs

from adapters import hermes_like

LOOP = hermes_like.LOOP


class DialogType(enum.Enum):
    ALERT = "alert"
    CONFIRM = "confirm"
    PROMPT = "prompt"
    BEFOREUNLOAD = "beforeunload"


@attrs.frozen(kw_only=True)
class DialogOpening:
    url: str
    frame_id: str
    message: str
    type: DialogType
    has_browser_handler: bool
    default_prompt: str | None

    @classmethod
    def from_json(cls, params: dict[str, Any]) -> DialogOpening:
        return cls(
            url=params["url"],
            frame_id=params["frameId"],
            message=params["message"],
            type=DialogType(params["type"]),
            has_browser_handler=params["hasBrowserHandler"],
            default_prompt=params.get("defaultPrompt"),
        )


class ConsoleType(enum.Enum):
    LOG = "log"
    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@attrs.frozen(kw_only=True)
class RemoteObject:
    type: str
    subtype: str | None
    value: Any
    description: str | None
    object_id: str | None

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> RemoteObject:
        return cls(
            type=fields["type"],
            subtype=fields.get("subtype"),
            value=fields.get("value"),
            description=fields.get("description"),
            object_id=fields.get("objectId"),
        )


@attrs.frozen(kw_only=True)
class CallFrame:
    function_name: str
    script_id: str
    url: str
    line_number: int
    column_number: int

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> CallFrame:
        return cls(
            function_name=fields["functionName"],
            script_id=fields["scriptId"],
            url=fields["url"],
            line_number=fields["lineNumber"],
            column_number=fields["columnNumber"],
        )


@attrs.frozen(kw_only=True)
class StackTrace:
    description: str | None
    call_frames: list[CallFrame]

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> StackTrace:
        return cls(
            description=fields.get("description"),
            call_frames=[CallFrame.from_json(frame) for frame in fields["callFrames"]],
        )


@attrs.frozen(kw_only=True)
class ConsoleCalled:
    type: ConsoleType
    args: list[RemoteObject]
    execution_context_id: int
    timestamp: float
    stack_trace: StackTrace | None

    @classmethod
    def from_json(cls, params: dict[str, Any]) -> ConsoleCalled:
        stack = params.get("stackTrace")
        return cls(
            type=ConsoleType(params["type"]),
            args=[RemoteObject.from_json(each) for each in params["args"]],
            execution_context_id=params["executionContextId"],
            timestamp=params["timestamp"],
            stack_trace=None if stack is None else StackTrace.from_json(stack),
        )


class Client(hermes_like.Client):
    def on_dialog(self, callback: Callable[[str, object, bool], None]) -> None:
        def handler(params: dict[str, Any], _session: str | None) -> None:
            event = DialogOpening.from_json(params)
            callback(event.message, event.type, event.has_browser_handler)

        self._handlers["Page.javascriptDialogOpening"] = handler

    def on_message(self, callback: Callable[[str], None]) -> None:
        def handler(params: dict[str, Any], _session: str | None) -> None:
            callback(DialogOpening.from_json(params).message)

        self._handlers["Page.javascriptDialogOpening"] = handler

    def on_console(self, callback: Callable[[object, object, str], None]) -> None:
        def handler(params: dict[str, Any], _session: str | None) -> None:
            event = ConsoleCalled.from_json(params)
            assert event.stack_trace is not None
            callback(event.type, event.args[0].value, event.stack_trace.call_frames[0].url)

        self._handlers["Runtime.consoleAPICalled"] = handler
