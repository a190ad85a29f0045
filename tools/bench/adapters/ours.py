"""This project's client, with a callback for events: one tap that checks the method.

Environment: TRANSPORT=stream for the WebSocket link over any trio stream, without the direct path of plain sockets.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any

from job import Job

from cdp_core import BrowserSession, Event, PageSession, open_browser_session
from cdp_core.transports.websocket.open import open_websocket

LOOP = "trio"


class Client:
    def __init__(self) -> None:
        self._open = AsyncExitStack()  # never closed: the driver exits without unwinding

    async def _connect(self, job: Job) -> BrowserSession:
        where = job.ws
        if "TRANSPORT" in os.environ:
            where = await self._open.enter_async_context(
                open_websocket(job.ws, direct=os.environ["TRANSPORT"] != "stream")
            )
        return await self._open.enter_async_context(open_browser_session(where))

    async def open(self, job: Job) -> None:
        self._start_soon = job.start_soon
        self._browser = await self._connect(job)
        self._sessions = [await self._attach(job.target(i)) for i in range(job.sessions)]
        self._session = self._sessions[0]
        await self._session.send("Runtime.enable")

    async def _attach(self, target_id: str) -> PageSession:
        result = await self._browser.send("Target.attachToTarget", {"targetId": target_id, "flatten": True})
        return self._browser.sessions[result["sessionId"]]

    async def evaluate(self, expression: str) -> Any:
        params = {"expression": expression, "returnByValue": True}
        return (await self._session.send("Runtime.evaluate", params))["result"]["value"]

    def on_event(self, method: str, callback: Callable[[], None]) -> None:
        def on_output(output: object) -> None:
            if type(output) is Event and output.method == method:
                callback()

        self._open.enter_context(self._browser.tap(on_output))

    def on_event_params(self, method: str, callback: Callable[[str, int], None]) -> None:
        def on_output(output: object) -> None:
            if type(output) is Event and output.method == method:
                params = output.params
                callback(params["requestId"], params["dataLength"])

        self._open.enter_context(self._browser.tap(on_output))
