"""A gate: many tasks inside, or one alone."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import attrs
import trio


@attrs.define(eq=False)
class Gate:
    """Many tasks may be inside, or one alone; a task that waits to be alone keeps others out."""

    _inside: int = 0
    _closed: bool = False
    _changed: trio.Condition = attrs.field(factory=trio.Condition)

    @asynccontextmanager
    async def shared(self) -> AsyncGenerator[None, None]:
        async with self._changed:
            while self._closed:
                await self._changed.wait()
            self._inside += 1
        try:
            yield
        finally:
            with trio.CancelScope(shield=True):
                async with self._changed:
                    self._inside -= 1
                    self._changed.notify_all()

    @asynccontextmanager
    async def alone(self) -> AsyncGenerator[None, None]:
        async with self._changed:
            while self._closed:
                await self._changed.wait()
            self._closed = True
            while self._inside:
                await self._changed.wait()
        try:
            yield
        finally:
            with trio.CancelScope(shield=True):
                async with self._changed:
                    self._closed = False
                    self._changed.notify_all()
