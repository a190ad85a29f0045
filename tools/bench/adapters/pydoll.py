"""pydoll-python: asyncio, websockets and json; one socket per page, and no routing of flat sessions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from job import Job
from pydoll.commands import RuntimeCommands, TargetCommands
from pydoll.connection.connection_handler import ConnectionHandler

LOOP = "asyncio"


class Client:
    async def open(self, job: Job) -> None:
        self._connection = ConnectionHandler(ws_address=job.page_ws)
        if not job.targets:
            for i in range(job.k):
                await self._connection.execute_command(TargetCommands.attach_to_target(job.target(i), flatten=True))
        await self._connection.execute_command(RuntimeCommands.enable())

    async def evaluate(self, expression: str) -> Any:
        reply = await self._connection.execute_command(RuntimeCommands.evaluate(expression, return_by_value=True))
        return reply["result"]["result"]["value"]

    def _register(self, method: str, handler: Callable[[dict[str, Any]], None]) -> None:
        self._connection._events_handler.register_callback(method, handler)

    def on_event(self, method: str, callback: Callable[[], None]) -> None:
        self._register(method, lambda _event: callback())

    def on_event_params(self, method: str, callback: Callable[[str, int], None]) -> None:
        def handler(event: dict[str, Any]) -> None:
            params = event["params"]
            callback(params["requestId"], params["dataLength"])

        self._register(method, handler)
