"""Waiting for a state that no event announces."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import trio


async def wait_until(condition: Callable[[], Awaitable[object]], *, within: float = 20.0) -> None:
    """Ask again and again until the condition is true; bounded, and far longer than it takes."""
    with trio.fail_after(within):
        while not await condition():  # noqa: ASYNC110 - a browser announces it with no event
            await trio.sleep(0.005)
