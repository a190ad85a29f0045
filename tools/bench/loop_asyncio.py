"""Run a measurement under asyncio, or under uvloop if the adapter has `UVLOOP = True`."""

from __future__ import annotations

import asyncio
import importlib
import socket
from collections.abc import Awaitable, Callable, Sequence
from types import ModuleType

import leaving
from job import Job
from measure import Loop, measure


async def _gather(functions: Sequence[Callable[[], Awaitable[None]]]) -> None:
    await asyncio.gather(*(function() for function in functions))


async def _readable(connection: socket.socket) -> None:
    loop, arrived = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(connection, arrived.set)
    await arrived.wait()
    loop.remove_reader(connection)


def run(job: Job, adapter: ModuleType) -> None:
    """Measure, print the result, and exit."""

    async def main() -> None:
        try:
            async with asyncio.timeout(job.timeout):
                leaving.with_result(await measure(job, adapter.Client(), Loop(_gather, asyncio.Event, _readable)))
        except BaseException:
            leaving.with_error()

    use_uvloop = getattr(adapter, "UVLOOP", False)
    factory = importlib.import_module("uvloop").new_event_loop if use_uvloop else None
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(main())
