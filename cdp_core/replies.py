"""The outcome of one command, for the caller that waits for it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar, final

import trio
from trio.lowlevel import Abort, checkpoint, current_task, reschedule, wait_task_rescheduled

from cdp_core.errors import CdpError, LocalProtocolError
from cdp_core.link import Link
from cdp_core.sansio.messages import CommandId, Json, Refusal, Result, SessionId
from cdp_core.sansio.outcomes import Failure, Outcome, failure_of
from cdp_core.sansio.redaction import shown_id

R = TypeVar("R")

log = logging.getLogger("cdp_core.session")


@final
class _Abandoned:
    """The outcome of a command that was abandoned here; the engine reports none for it."""


ABANDONED: Final = _Abandoned()
UNSENT: Final = CommandId(0)


class Reply(Generic[R]):
    """A command that was sent, for a caller that waits for it at once."""

    __slots__ = ("_link", "_outcome", "_parse", "_task", "id", "method", "session_id")

    def __init__(
        self,
        link: Link[Any],
        method: str,
        session_id: SessionId | None,
        parse: Callable[[Result], R] | None,
    ) -> None:
        self.id = UNSENT
        self.method = method
        self.session_id = session_id
        self._link = link
        self._parse = parse
        self._outcome: Outcome | _Abandoned | None = None
        # The task that waits for the outcome; `_on_cancel` runs if it is cancelled.
        self._task: trio.lowlevel.Task | None = None

    def unwrap(self) -> R:
        """Return the result of an ended command, or raise its error; trio.WouldBlock if it has not ended."""
        outcome = self._outcome
        if isinstance(outcome, Result):
            return outcome.value if self._parse is None else self._parse(outcome)  # type: ignore[return-value]  # R is Json there
        if isinstance(outcome, _Abandoned):
            raise LocalProtocolError(
                f"{self.method} was abandoned here, so its outcome is unknown; send it again if it is still needed.",
                reason="abandoned",
            )
        if outcome is not None:
            raise failure_of(outcome, self.method, self.session_id)
        raise trio.WouldBlock

    def settle(self, outcome: Outcome, /) -> None:
        if self._outcome is None:
            self._end(outcome)

    def _end(self, outcome: Outcome | _Abandoned) -> None:
        self._outcome = outcome
        if self._task is not None:
            task, self._task = self._task, None
            reschedule(task)

    def _on_cancel(self, _raise_cancel: object) -> Abort:
        """Abandon the command: its only waiter was cancelled."""
        self._link.abandon(self.id)
        self._outcome, self._task = ABANDONED, None  # its outcome may be in the batch that is being delivered
        return Abort.SUCCEEDED


class PendingReply(Reply[R]):
    """A command that was sent; `wait()` returns its result, now or later."""

    __slots__ = ("_observed", "_on_end")

    def __init__(
        self, link: Link[Any], method: str, session_id: SessionId | None, parse: Callable[[Result], R] | None
    ) -> None:
        super().__init__(link, method, session_id, parse)
        self._on_end: Callable[[Outcome], None] | None = None
        self._observed = False

    def unwrap(self) -> R:
        """Return the result or raise the error as `wait` does, without waiting: else trio.WouldBlock.

        A refusal counts as observed from then on.
        """
        self._observed = self._observed or self._outcome is not None
        return super().unwrap()

    def settle(self, outcome: Outcome, /) -> None:
        if self._outcome is None:
            self._end(outcome)
            if self._on_end is not None:
                self._on_end(outcome)

    @property
    def ended(self) -> bool:
        """True once the command has ended or was abandoned."""
        return self._outcome is not None

    def on_end(self, act: Callable[[Outcome], None] = lambda _outcome: None) -> None:
        """Call `act` with the outcome in the reader task, instead of waiting for it.

        `act` must be pure and quick. A refusal is then not reported.
        """
        self._observed = True
        self._on_end = act
        if self._outcome is not None and not isinstance(self._outcome, _Abandoned):
            act(self._outcome)

    def abandon(self) -> None:
        """Abandon the command: that is its outcome, and a reply that still comes is late. Idempotent.

        Every wait, present or later, raises LocalProtocolError (reason `"abandoned"`).
        """
        if self._outcome is None:
            self._link.abandon(self.id)
            self._end(ABANDONED)

    async def wait(self) -> R:
        """Wait for the result, or raise the error that replaces it.

        A wait that was cancelled may be started again.
        """
        if self._outcome is None:
            if self._task is not None:
                raise trio.BusyResourceError("another task is waiting for this reply")
            self._task = current_task()
            await wait_task_rescheduled(self._unpark)
        else:
            await checkpoint()
        return self.unwrap()

    def _unpark(self, _raise_cancel: object) -> Abort:
        self._task = None
        return Abort.SUCCEEDED

    def __del__(self) -> None:
        if type(self._outcome) is Refusal and not self._observed:
            report_refusal(self._link, self.session_id, self.method, self._outcome)


class SharedReply:
    """A command whose outcome several callers wait for together."""

    def __init__(
        self,
        reply: PendingReply[Json],
        refused: Callable[[SharedReply], None],
        granted: Callable[[], None] = lambda: None,
    ) -> None:
        self._reply = reply
        self._refused, self._granted = refused, granted
        self._failure: Failure | None = None
        self._ended = trio.Event()
        reply.on_end(self._settle)

    async def wait(self) -> None:
        await self._ended.wait()
        self._reply.unwrap()

    def error(self) -> CdpError:
        assert self._failure is not None
        return failure_of(self._failure, self._reply.method, None)

    def _settle(self, outcome: Outcome) -> None:
        self._ended.set()
        if isinstance(outcome, Result):
            self._granted()
        else:
            self._failure = outcome
            self._refused(self)


def report_refusal(link: Link[Any], session_id: SessionId | None, method: str, refusal: Refusal) -> None:
    """Count and log a refusal that no caller waited for."""
    link.unobserved_refusals += 1
    details = (method, shown_id(session_id), refusal.code)
    log.warning("%s on session %s was refused (code %d), and no caller waited for the reply", *details)
