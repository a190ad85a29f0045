"""Requests whose results are read: the call of a typed command, and an evaluation.

The state machine knows neither: each becomes a `Call`, and a reader turns the result of that call into the value that
its caller gets. `Supervisor` reads in the caller's task. `SupervisorEngine` keeps the readers of its open requests in a
`Readers`, and reads when the answers are taken out.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from typing import Any

import attrs

from cdp_core.errors import InvalidArgument
from cdp_core.sansio.arguments import typed_params
from cdp_core.sansio.messages import CommandId, Json, TypedCommand, WholeResult
from cdp_core.sansio.structs import replace
from cdp_supervisor.errors import BlockedByDialog
from cdp_supervisor.sansio.effects import Answer
from cdp_supervisor.sansio.replies import read_evaluation
from cdp_supervisor.sansio.requests import (
    AwaitCall,
    Call,
    Evaluate,
    Request,
    TypedCall,
    TypedRequest,
    evaluation_of,
)

Reader = Callable[[Json], Any]
"""Reads the result of a call; it raises what the caller gets instead of a value."""


def call_of(
    command: TypedCommand[Any] | str, params: Mapping[str, Any] | None, **where: Any
) -> tuple[Call, Reader | None]:
    """Return the call of a command, and what reads its result; `where` are the other fields of `Call`.

    Raises InvalidArgument for a value that is no command, or for params beside a typed command.
    """
    if isinstance(command, str):
        return Call(method=command, params=params, **where), None
    params = typed_params(command, params) or None
    return Call(method=command.method, params=params, **where), _parser(command)


def _parser(command: TypedCommand[Any]) -> Reader:
    return lambda result: command.parse(WholeResult(id=CommandId(0), whole=result))


class Readers:
    """The readers of the requests that are not answered yet, and of the calls that a dialog blocks."""

    def __init__(self) -> None:
        self._by_request: dict[int, Reader] = {}
        self._by_call: dict[str, Reader] = {}

    def untyped(self, request_id: int, request: Request | TypedRequest) -> Request:
        """Return the request as the state machine knows it, and keep the reader of its answer.

        Raises InvalidArgument for a typed command without its `TypedCall`.
        """
        reader: Reader | None = None
        plain: Request
        if isinstance(request, Evaluate):
            plain, reader = evaluation_of(**attrs.asdict(request, recurse=False)), read_evaluation
        elif isinstance(request, TypedCall):
            plain, reader = call_of(params=None, **attrs.asdict(request, recurse=False))
        else:
            plain = request
            if isinstance(request, AwaitCall):
                reader = self._by_call.get(request.call_id)
            elif callable(getattr(request, "to_params", None)):
                raise InvalidArgument(
                    "A typed command alone is not a request; pass TypedCall(command=…), which also says where it goes."
                )
        if reader is not None:
            self._by_request[request_id] = reader
        return plain

    def forget(self, request_id: int) -> None:
        """Forget the reader of a request that gets no answer."""
        self._by_request.pop(request_id, None)

    def read(self, answer: Answer, calls: Container[str]) -> Answer:
        """Return an answer with its result read; `calls` are the ids of the calls that can still be awaited."""
        reader = self._by_request.pop(answer.request_id, None)
        if reader is None:
            return answer
        error = answer.error
        if error is not None:
            if isinstance(error, BlockedByDialog) and error.call is not None:
                self._by_call = {each: kept for each, kept in self._by_call.items() if each in calls}
                self._by_call[error.call] = reader
            return answer
        try:
            return replace(answer, value=reader(answer.value))
        except Exception as raised:  # noqa: BLE001 - the parser may be the embedder's; its caller gets what it raised
            return replace(answer, value=None, error=raised)
