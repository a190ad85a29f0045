"""This project's supervisor.

Environment: BARE=1 is the engine alone under the same events, with a callback that reads nothing; BARE=2 with one that
reads two params.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from fake_messages import page_id
from job import Job

from adapters import ours
from cdp_core import BrowserSession, Event
from cdp_supervisor import open_supervisor

LOOP = ours.LOOP
BARE = os.environ.get("BARE", "")


class Client(ours.Client):
    async def _connect(self, job: Job) -> BrowserSession:
        if BARE:
            return await super()._connect(job)
        self._supervisor = await self._open.enter_async_context(open_supervisor(job.ws))
        return self._supervisor.browser

    async def open(self, job: Job) -> None:
        job.targets = [page_id(i) for i in range(job.sessions)]
        await super().open(job)

    def watch(self) -> None:
        self._events = 0
        if not BARE:
            return

        def count(output: object) -> None:
            if type(output) is Event:
                self._events += 1

        def read(output: object) -> None:
            if type(output) is Event:
                params = output.params
                if params.get("frameId") != params.get("type"):
                    self._events += 1

        self._open.enter_context(self._browser.tap(read if BARE == "2" else count))

    def known(self) -> Mapping[str, int]:
        if BARE:
            return {} if BARE == "2" else {"events": self._events}
        seen = self._supervisor.snapshot()
        lines = seen.extensions["console"]["pages"].values()
        return {
            "frames": sum(page.frame_count for page in seen.pages),
            "pending": len(seen.pending_dialogs),
            "dialogs": self._supervisor.statistics()["closed_by_remote"],
            "lines": max(map(len, lines)),
        }
