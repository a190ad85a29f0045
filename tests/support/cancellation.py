"""Cancels a program at its k-th checkpoint, so that a test can cancel at every one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import trio


class Canceller(trio.abc.Instrument):
    """Counts the checkpoints of the task that runs under `scope`, and cancels at checkpoint number `at`."""

    def __init__(self, scope: trio.CancelScope, at: int) -> None:
        self.task: trio.lowlevel.Task | None = None
        self.count = 0
        self._scope, self._at = scope, at

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        if task is self.task:
            self.count += 1
            if self.count == self._at:
                self._scope.cancel()


async def cancelled_at(program: Callable[[], Awaitable[object]], at: int) -> tuple[int, bool]:
    """Return how many checkpoints the program passed, and whether it was cancelled."""
    scope = trio.CancelScope()
    canceller = Canceller(scope, at)
    trio.lowlevel.add_instrument(canceller)
    try:
        with scope:
            canceller.task = trio.lowlevel.current_task()
            await program()
    finally:
        canceller.task = None
        trio.lowlevel.remove_instrument(canceller)
    return canceller.count, scope.cancelled_caught
