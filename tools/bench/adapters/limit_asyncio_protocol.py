"""The floor of asyncio: a bare Protocol that completes a future in data_received.

Nothing is parsed. Environment: UV=1 for uvloop.
"""

from __future__ import annotations

import asyncio
import os

from job import Job

from adapters.raw_socket import attach, command

LOOP = "asyncio"
UVLOOP = bool(os.environ.get("UV"))


class Client(asyncio.Protocol):
    async def open(self, job: Job) -> None:
        connection, session = attach(job)
        self._command = command(session)
        connection.setblocking(False)
        self._loop = asyncio.get_running_loop()
        self._transport, _ = await self._loop.create_connection(lambda: self, sock=connection)

    def data_received(self, _data: bytes) -> None:
        self._answered.set_result(2)

    async def evaluate(self, _expression: str) -> int:
        self._answered = self._loop.create_future()
        self._transport.write(self._command)
        return await self._answered
