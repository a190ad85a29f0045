"""Playwright for Python: asyncio over a pipe to its Node driver, which owns the socket.

The cost of the driver counts too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from job import Job
from playwright.async_api import async_playwright

LOOP = "asyncio"
COUNT_CHILDREN = True


class Client:
    async def open(self, job: Job) -> None:
        self._playwright = await async_playwright().start()
        self._browser = await self._playwright.chromium.connect_over_cdp(job.http)
        if job.targets:
            context = self._browser.contexts[0]
            self._sessions = [await context.new_cdp_session(context.pages[0])]
        else:
            self._sessions = [await self._browser.new_browser_cdp_session() for _ in range(job.sessions)]
        await self._sessions[0].send("Runtime.enable")

    async def evaluate(self, expression: str) -> Any:
        params = {"expression": expression, "returnByValue": True}
        return (await self._sessions[0].send("Runtime.evaluate", params))["result"]["value"]

    def on_event(self, method: str, callback: Callable[[], None]) -> None:
        for session in self._sessions:
            session.on(method, lambda _params: callback())

    def on_event_params(self, method: str, callback: Callable[[str, int], None]) -> None:
        for session in self._sessions:
            session.on(method, lambda params: callback(params["requestId"], params["dataLength"]))
