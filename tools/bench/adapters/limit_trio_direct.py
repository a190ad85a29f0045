"""The floor of trio for a client with a reader task on a plain socket; nothing is parsed.

The caller sends directly and sleeps, the reader receives and wakes it: two passes of the scheduler per round trip.
"""

from __future__ import annotations

from job import Job
from trio.lowlevel import Abort, Task, current_task, reschedule, wait_readable, wait_task_rescheduled

from adapters import limit_trio_one_task

LOOP = limit_trio_one_task.LOOP


class Client(limit_trio_one_task.Client):
    async def open(self, job: Job) -> None:
        await super().open(job)
        self._caller: Task | None = None
        job.start_soon(self._read)

    async def _read(self) -> None:
        while True:
            await wait_readable(self._socket)
            self._socket.recv_into(self._buffer)
            if self._caller is not None:
                caller, self._caller = self._caller, None
                reschedule(caller)

    async def evaluate(self, _expression: str) -> int:
        self._caller = current_task()
        self._socket.send(self._command)
        await wait_task_rescheduled(_abort)
        return 2


def _abort(_raise_cancel: object) -> Abort:
    return Abort.SUCCEEDED
