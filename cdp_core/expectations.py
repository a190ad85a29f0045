"""Expectations: the wait for one event, armed before the act that causes it.

The box of an expectation is what the reader task holds, so that an expectation without references stops listening.
`where` runs in the reader task: it must be pure and quick.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, Final, Generic, TypeVar

import attrs
import trio
from trio.lowlevel import checkpoint

from cdp_core.sansio.messages import Event

T = TypeVar("T")

CRASHED: Final = "Inspector.targetCrashed"
QUIET: Final = 2.0
"""Seconds without a first event after which a wait asks why."""


class Expectation(Generic[T]):
    """A wait for the first event that matches, from the moment of its creation.

    `await x.wait()` may be inside or after the `with`. An expectation without references stops listening, and so does
    one whose block was left by an exception.
    """

    def __init__(
        self,
        *,
        read: Callable[[Event], Any] | None = None,
        where: Callable[[T], object] | None,
        close: Callable[[Any], None],
        silent: Callable[[], None] | None = None,
    ) -> None:
        self._box: ExpectationBox[T] = ExpectationBox(read, where, close)
        self._silent = silent

    @property
    def sink(self) -> ExpectationBox[T]:
        """The object that the reader task pushes to; it holds no reference to the expectation."""
        return self._box

    def __enter__(self) -> Expectation[T]:
        return self

    def __exit__(self, kind: type[BaseException] | None, _error: object, _traceback: TracebackType | None) -> None:
        if kind is not None:
            self._box.drop()

    def __del__(self) -> None:
        self._box.drop()

    async def wait(self) -> T:
        """Wait for the event. Raises the error that ended its session, or the exception of `where`."""
        if self._box.answer is None:
            silent, self._silent = self._silent, None
            if silent is not None:
                with trio.move_on_after(QUIET):
                    await self._box.arrived.wait()
                if self._box.answer is None:
                    silent()
            await self._box.arrived.wait()
        else:
            await checkpoint()
        assert self._box.answer is not None
        return self._box.answer.unwrap()


class ExpectationBox(Generic[T]):
    """The part of an expectation that the reader task holds."""

    def __init__(
        self,
        read: Callable[[Event], Any] | None,
        where: Callable[[T], object] | None,
        close: Callable[[Any], None],
    ) -> None:
        self.answer: _Answer[T] | None = None
        self.arrived = trio.Event()
        self._read, self._where, self._unregister = read, where, close

    def push(self, event: Event, _at: float, /) -> None:
        try:
            value: Any = event if self._read is None else self._read(event)
        except Exception as error:  # noqa: BLE001 - an unreadable event ends the wait with this error
            failure = error
            self._settle(_Answer(None, lambda: failure))
            return
        self.offer(value)

    def offer(self, value: T) -> None:
        """Settle the expectation with this value if it matches."""
        try:
            if self._where is not None and not self._where(value):
                return
        except Exception as error:  # noqa: BLE001 - the user's own code: its error ends the wait
            failure = error
            self._settle(_Answer(None, lambda: failure))
            return
        self._settle(_Answer(value, None))

    def end(self, error: Callable[[], BaseException], /) -> None:
        if self.answer is None:
            self._settle(_Answer(None, error))

    def drop(self) -> None:
        """Stop listening, since no task waits any more."""
        self._unregister(self)
        self.end(trio.ClosedResourceError)

    def _settle(self, answer: _Answer[T]) -> None:
        if self.answer is None:
            self.answer = answer
            self._unregister(self)
            self.arrived.set()


@attrs.frozen(eq=False)
class AtCrash:
    """The sink that ends an expectation when its target crashes."""

    _box: ExpectationBox[Any]
    _error: Callable[[], BaseException]

    def push(self, _event: Event, _at: float, /) -> None:
        self._box.end(self._error)

    def end(self, _error: Callable[[], BaseException], /) -> None:
        """The expectation ends by itself."""


@attrs.frozen
class _Answer(Generic[T]):
    value: T | None
    error: Callable[[], BaseException] | None

    def unwrap(self) -> T:
        if self.error is not None:
            raise self.error()
        return self.value  # type: ignore[return-value]  # None may be a T
