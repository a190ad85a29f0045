"""This project's client, with events through its async iterators: a task and a subscription for each session.

A subscription has room for its share of the flood, since a reader brings many events at a time; what waits in it is in
the report as memory.

Environment: ALL=1 for one task and one subscription to all sessions; OVERFLOW=DROP_OLDEST for a subscription that drops
(the default, FAIL, ends one that lags).
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from job import Job

from adapters import ours
from cdp_core import Overflow

LOOP = ours.LOOP
CAPACITY_UNREAD = 1000
OVERFLOW = Overflow[os.environ.get("OVERFLOW", "FAIL")]


class Client(ours.Client):
    async def open(self, job: Job) -> None:
        self._flood = job.n
        await super().open(job)

    def _pump(self, method: str, pump: Callable[[AsyncIterator[Any]], Awaitable[None]]) -> None:
        if "ALL" in os.environ:
            subscriptions = [self._browser.subscribe_all(method, capacity=self._flood, overflow=OVERFLOW)]
        else:
            share = self._flood // len(self._sessions)
            subscriptions = [session.subscribe(method, capacity=share, overflow=OVERFLOW) for session in self._sessions]
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
        self._open.enter_context(self._session.subscribe(method, capacity=CAPACITY_UNREAD, overflow=OVERFLOW))
