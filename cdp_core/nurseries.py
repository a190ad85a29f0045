"""Nurseries that leave the exception of the body unchanged.

A context manager that owns a nursery turns `raise KeyError` in its body into `ExceptionGroup([KeyError])`, so that an
`except` around it never matches. The context managers of this library run their background tasks in
`background_tasks()`: these tasks report failures as state and never raise, and the block raises exactly what its body
raised (docs/cdp/the-body-s-exception-is-never-wrapped-in-a-group.md).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import trio


@asynccontextmanager
async def background_tasks() -> AsyncGenerator[trio.Nursery, None]:
    """Open a nursery that is cancelled when the body ends and passes the body's exception unchanged."""
    body_error: BaseException | None = None
    try:
        async with trio.open_nursery() as nursery:
            try:
                yield nursery
            except BaseException as error:  # noqa: BLE001 - raised again below, Cancelled and KeyboardInterrupt too
                body_error = error
            nursery.cancel_scope.cancel()
    except BaseException as error:  # a task raised after all, for example a KeyboardInterrupt
        [*rest, last] = leaf_exceptions(error)
        if rest or last is error:
            raise
        raise last from last.__cause__  # and not from the group
    if body_error is not None:
        try:
            raise body_error
        finally:
            del body_error  # avoids a reference cycle through this frame


def leaf_exceptions(error: BaseException) -> list[BaseException]:
    """Return the exceptions in a group; an exception that is not a group is returned alone."""
    inner: tuple[BaseException, ...] | None = getattr(error, "exceptions", None)
    if inner is None:
        return [error]
    return [leaf for part in inner for leaf in leaf_exceptions(part)]


def add_note(error: BaseException, note: str) -> None:
    """Add a note to an exception (PEP 678) on every supported Python."""
    notes: list[str] = getattr(error, "__notes__", [])
    setattr(error, "__notes__", [*notes, note])  # noqa: B010 - the attribute is unknown to checkers before 3.11
