"""The floor of trio: one task, a plain socket, send, wait_readable, recv; nothing is parsed."""

from __future__ import annotations

import trio
from job import Job

from adapters.raw_socket import attach, command

LOOP = "trio"


class Client:
    async def open(self, job: Job) -> None:
        self._socket, session = attach(job)
        self._command = command(session)
        self._socket.setblocking(False)
        self._buffer = memoryview(bytearray(1 << 18))

    async def evaluate(self, _expression: str) -> int:
        self._socket.send(self._command)
        await trio.lowlevel.wait_readable(self._socket)
        self._socket.recv_into(self._buffer)
        return 2
