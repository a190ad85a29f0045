"""The library nodriver: asyncio, websockets and json, generated types.

Every event becomes a dataclass before its handler runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from job import Job
from nodriver import cdp
from nodriver.core.connection import Connection

LOOP = "asyncio"
EVENTS = {"Network.dataReceived": cdp.network.DataReceived, "Runtime.consoleAPICalled": cdp.runtime.ConsoleAPICalled}


class Client:
    async def open(self, job: Job) -> None:
        self._connection = Connection(target=cdp.target.TargetID(job.target(0)))
        self._connection.websocket_url = job.ws
        for i in range(1, job.k):
            await self._connection.aopen()
            attach = cdp.target.attach_to_target(cdp.target.TargetID(job.target(i)), flatten=True)
            await self._connection.send(attach, _attach=True)
        await self._connection.attach()
        await self._connection.send(cdp.runtime.enable())

    async def evaluate(self, expression: str) -> Any:
        result, _exception = await self._connection.send(cdp.runtime.evaluate(expression, return_by_value=True))
        return result.value

    def on_event(self, method: str, callback: Callable[[], None]) -> None:
        def handler(_event: Any, _connection: Any) -> None:
            callback()

        self._connection.add_handler(EVENTS[method], handler)

    def on_event_params(self, method: str, callback: Callable[[str, int], None]) -> None:
        def handler(event: Any, _connection: Any) -> None:
            callback(event.request_id, event.data_length)

        self._connection.add_handler(EVENTS[method], handler)

    def on_dialog(self, callback: Callable[[str, object, bool], None]) -> None:
        def handler(event: Any, _connection: Any) -> None:
            callback(event.message, event.type_, event.has_browser_handler)

        self._connection.add_handler(cdp.page.JavascriptDialogOpening, handler)

    def on_message(self, callback: Callable[[str], None]) -> None:
        self._connection.add_handler(
            cdp.page.JavascriptDialogOpening, lambda event, _connection: callback(event.message)
        )

    def on_console(self, callback: Callable[[object, object, str], None]) -> None:
        def handler(event: Any, _connection: Any) -> None:
            callback(event.type_, event.args[0].value, event.stack_trace.call_frames[0].url)

        self._connection.add_handler(cdp.runtime.ConsoleAPICalled, handler)
