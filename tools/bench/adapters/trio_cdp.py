"""The library trio-chrome-devtools-protocol 0.6: generated types over memory channels.

It runs on old versions of trio and trio-websocket, in an environment of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cdp
import trio_cdp
from job import Job

LOOP = "trio"
EVENTS = {"Network.dataReceived": cdp.network.DataReceived, "Runtime.consoleAPICalled": cdp.runtime.ConsoleAPICalled}
BUFFER = 200_000  # events; the library drops those that do not fit


class Client:
    async def open(self, job: Job) -> None:
        self._start_soon = job.start_soon
        trio_cdp.MAX_WS_MESSAGE_SIZE = 2**28
        connection = await trio_cdp.connect_cdp(job.nursery, job.ws)
        self._sessions = [
            await connection.connect_session(cdp.target.TargetID(job.target(i))) for i in range(job.sessions)
        ]
        await self._sessions[0].execute(cdp.runtime.enable())

    async def evaluate(self, expression: str) -> Any:
        result, _exception = await self._sessions[0].execute(cdp.runtime.evaluate(expression, return_by_value=True))
        return result.value

    def on_event(self, method: str, callback: Callable[[], None]) -> None:
        async def pump(events: Any) -> None:
            async for _event in events:
                callback()

        for session in self._sessions:
            self._start_soon(pump, session.listen(EVENTS[method], buffer_size=BUFFER))

    def on_event_params(self, method: str, callback: Callable[[str, int], None]) -> None:
        async def pump(events: Any) -> None:
            async for event in events:
                callback(event.request_id, event.data_length)

        for session in self._sessions:
            self._start_soon(pump, session.listen(EVENTS[method], buffer_size=BUFFER))

    def hold_events(self, method: str) -> None:
        self._held = [session.listen(EVENTS[method], buffer_size=BUFFER) for session in self._sessions]
