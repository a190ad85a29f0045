"""pyppeteer 2.0: asyncio and websockets 10; only its root connection, since it predates flat sessions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from job import Job
from pyppeteer.connection import Connection

LOOP = "asyncio"


class Client:
    async def open(self, job: Job) -> None:
        self._connection = Connection(job.page_ws, asyncio.get_running_loop())
        if not job.targets:
            for i in range(job.k):
                await self._connection.send("Target.attachToTarget", {"targetId": job.target(i), "flatten": True})
        await self._connection.send("Runtime.enable")

    async def evaluate(self, expression: str) -> Any:
        params = {"expression": expression, "returnByValue": True}
        return (await self._connection.send("Runtime.evaluate", params))["result"]["value"]

    def on_event(self, method: str, callback: Callable[[], None]) -> None:
        self._connection.on(method, lambda _params: callback())

    def on_event_params(self, method: str, callback: Callable[[str, int], None]) -> None:
        self._connection.on(method, lambda params: callback(params["requestId"], params["dataLength"]))
