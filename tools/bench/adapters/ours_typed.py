"""This project's client with typed events.

Environment: WAY=tap (one callback for all events, with `parse_event`), or subscribe (an async iterator for each
session, the default); RAW=1 for the same without types, for workloads that read one field.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from job import Job

from adapters import ours
from cdp_core import Event
from cdp_core.bindings import page, parse_event, runtime

LOOP = ours.LOOP
TAP = os.environ.get("WAY") == "tap"
RAW = bool(os.environ.get("RAW"))

Read = Callable[[Any], None]


class Client(ours.Client):
    async def open(self, job: Job) -> None:
        self._flood = job.n
        await super().open(job)

    def _listen(self, kind: Any, read: Read, pump: Callable[[AsyncIterator[Any]], Awaitable[None]]) -> None:
        """Read events through a tap (`read`) or an iterator (`pump`), without the cost of a call in between."""
        if TAP:
            method = kind if isinstance(kind, str) else kind.__cdp_method__

            def on_output(output: object) -> None:
                if type(output) is Event and output.method == method:
                    read(output if RAW else parse_event(output))

            self._open.enter_context(self._browser.tap(on_output))
            return
        for session in self._sessions:
            subscription = session.subscribe(kind, capacity=self._flood // len(self._sessions))
            self._start_soon(pump, self._open.enter_context(subscription))

    def on_dialog(self, callback: Callable[[str, object, bool], None]) -> None:
        def read(event: Any) -> None:
            callback(event.message, event.type, event.has_browser_handler)

        async def pump(events: AsyncIterator[Any]) -> None:
            async for event in events:
                callback(event.message, event.type, event.has_browser_handler)

        self._listen(page.JavascriptDialogOpening, read, pump)

    def on_console(self, callback: Callable[[object, object, str], None]) -> None:
        def read(event: Any) -> None:
            callback(event.type, event.args[0].value, event.stack_trace.call_frames[0].url)

        async def pump(events: AsyncIterator[Any]) -> None:
            async for event in events:
                callback(event.type, event.args[0].value, event.stack_trace.call_frames[0].url)

        self._listen(runtime.ConsoleAPICalled, read, pump)

    def on_message(self, callback: Callable[[str], None]) -> None:
        def read(event: Any) -> None:
            callback(event.message)

        def read_raw(event: Event) -> None:
            callback(event.params["message"])

        async def pump(events: AsyncIterator[Any]) -> None:
            async for event in events:
                callback(event.message)

        async def pump_raw(events: AsyncIterator[Event]) -> None:
            async for event in events:
                callback(event.params["message"])

        if RAW:
            self._listen("Page.javascriptDialogOpening", read_raw, pump_raw)
        else:
            self._listen(page.JavascriptDialogOpening, read, pump)
