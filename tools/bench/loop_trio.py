"""Run a measurement under trio, from trio 0.13 (which one peer pins) to the newest.

Nothing is cancelled: cancellation would unwind a client that its adapter left open.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from types import ModuleType
from typing import Any

import leaving
import trio
from job import Job
from measure import Loop, measure

lowlevel = trio.lowlevel if hasattr(trio, "lowlevel") else trio.hazmat  # hazmat is the name before trio 0.15


async def _gather(functions: Sequence[Callable[[], Awaitable[None]]]) -> None:
    async with trio.open_nursery() as nursery:
        for function in functions:
            nursery.start_soon(function)


async def _exit_on_error(function: Callable[..., Awaitable[None]], *arguments: Any) -> None:
    try:
        await function(*arguments)
    except BaseException:
        leaving.with_error()


async def _end_after(seconds: float) -> None:
    await trio.sleep(seconds)
    leaving.with_error(f"TimeoutError: nothing within {seconds:g} s")


def run(job: Job, adapter: ModuleType) -> None:
    """Measure, print the result, and exit."""

    async def work() -> None:
        leaving.with_result(await measure(job, adapter.Client(), Loop(_gather, trio.Event, lowlevel.wait_readable)))

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            job.nursery = nursery
            job.start_soon = lambda function, *arguments: nursery.start_soon(_exit_on_error, function, *arguments)
            nursery.start_soon(_end_after, job.timeout)
            await _exit_on_error(work)

    trio.run(main)
