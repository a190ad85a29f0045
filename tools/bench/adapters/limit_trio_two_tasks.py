"""The floor of trio for a client with a reader task on a SocketStream that only counts messages."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import trio
from job import Job

from adapters.raw_socket import attach, command, flood_size

LOOP = "trio"


class Client:
    async def open(self, job: Job) -> None:
        connection, session = attach(job)
        self._job, self._command = job, command(session)
        connection.sendall(self._command)
        self._reply_size = len(connection.recv(65536))
        self._stream = trio.SocketStream(trio.socket.from_stdlib_socket(connection))
        self._waiting: deque[trio.Event] = deque()
        self._callback: Callable[[], None] | None = None
        job.start_soon(self._read)

    async def _read(self) -> None:
        while True:
            size = len(await self._stream.receive_some(1 << 20))
            if self._callback is None:
                for _ in range(size // self._reply_size):
                    self._waiting.popleft().set()
            else:
                self._left -= size
                if not self._left:
                    for _ in range(self._job.n):
                        self._callback()

    async def evaluate(self, _expression: str) -> int:
        answered = trio.Event()
        self._waiting.append(answered)
        await self._stream.send_all(self._command)
        await answered.wait()
        return 2

    def on_event(self, _method: str, callback: Callable[[], None]) -> None:
        self._left, self._callback = flood_size(self._job), callback
