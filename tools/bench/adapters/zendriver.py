"""The library zendriver: asyncio, websockets, json, generated types, flat sessions on one connection.

Handlers are coroutine functions, as in its documentation; it starts a task for each event.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

from job import Job
from zendriver import cdp
from zendriver.core.connection import Connection

LOOP = "asyncio"
EVENTS = {"Network.dataReceived": cdp.network.DataReceived, "Runtime.consoleAPICalled": cdp.runtime.ConsoleAPICalled}


class Client:
    async def open(self, job: Job) -> None:
        self._browser = Connection(job.ws)
        await self._browser.aopen()
        owner = SimpleNamespace(connection=self._browser, config=None)
        self._connections = []
        for i in range(job.sessions):
            target = cdp.target.TargetInfo(
                target_id=cdp.target.TargetID(job.target(i)),
                type_="page",
                title="",
                url="",
                attached=False,
                can_access_opener=False,
            )
            connection = Connection(job.ws, target=target, _owner=owner)
            await connection.aopen()
            self._connections.append(connection)
        await self._connections[0].send(cdp.runtime.enable())

    async def evaluate(self, expression: str) -> Any:
        result, _exception = await self._connections[0].send(cdp.runtime.evaluate(expression, return_by_value=True))
        return result.value

    def _register(self, method: str, handler: Callable[[Any, Any], Awaitable[None]]) -> None:
        for connection in self._connections:
            connection.handlers[EVENTS[method]].append(handler)
            connection.enabled_domains.extend([cdp.network, cdp.runtime])

    def on_event(self, method: str, callback: Callable[[], None]) -> None:
        async def handler(_event: Any, _connection: Any) -> None:
            callback()

        self._register(method, handler)

    def on_event_params(self, method: str, callback: Callable[[str, int], None]) -> None:
        async def handler(event: Any, _connection: Any) -> None:
            callback(event.request_id, event.data_length)

        self._register(method, handler)
