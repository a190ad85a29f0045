"""This project's client with async iterators for events: a task and a subscription per session.

A subscription has room for its share of the flood, since the reader task delivers many events at a time; events that
wait in it show in the report as memory.

Environment: ALL=1 for one task and one subscription to all sessions; LATEST=1 for subscriptions that drop their oldest
events (by default, a subscription that lags ends).
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from job import Job

from adapters import ours

LOOP = ours.LOOP
CAPACITY_UNREAD = 1000
SUFFIX = "_latest" if "LATEST" in os.environ else ""


class Client(ours.Client):
    async def open(self, job: Job) -> None:
        self._flood = job.n
        await super().open(job)

    def _pump(self, method: str, pump: Callable[[AsyncIterator[Any]], Awaitable[None]]) -> None:
        if "ALL" in os.environ:
            subscriptions = [getattr(self._browser, f"subscribe_all{SUFFIX}")(method, capacity=self._flood)]
        else:
            share = self._flood // len(self._sessions)
            subscriptions = [self._subscribe(session, method, share) for session in self._sessions]
        for subscription in subscriptions:
            self._start_soon(pump, self._open.enter_context(subscription))

    def on_event(self, method: str, callback: Callable[[], None]) -> None:
        async def pump(events: AsyncIterator[Any]) -> None:
            async for _event in events:
                callback()

        self._pump(method, pump)

    def on_event_params(self, method: str, callback: Callable[[str, int], None]) -> None:
        async def pump(events: AsyncIterator[Any]) -> None:
            async for event in events:
                params = event.params
                callback(params["requestId"], params["dataLength"])

        async def pump_received(events: AsyncIterator[Any]) -> None:
            async for received in events:
                params = received.event.params
                callback(params["requestId"], params["dataLength"])

        self._pump(method, pump_received if "ALL" in os.environ else pump)

    def hold_events(self, method: str) -> None:
        self._open.enter_context(self._subscribe(self._session, method, CAPACITY_UNREAD))

    def _subscribe(self, session: Any, method: str, capacity: int) -> Any:
        return getattr(session, f"subscribe{SUFFIX}")(method, capacity=capacity)
