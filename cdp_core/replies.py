"""The end of one command, for whoever waits for it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar, final

import trio
from trio.lowlevel import Abort, checkpoint, current_task, reschedule, wait_task_rescheduled

from cdp_core.errors import LocalProtocolError
from cdp_core.link import Link
from cdp_core.sansio.messages import CommandId, Refusal, Result, SessionId
from cdp_core.sansio.redaction import shown_id
from cdp_core.sansio.router import Outcome, failure_of

R = TypeVar("R")

log = logging.getLogger("cdp_core.session")


@final
class _Abandoned:
    """The end of a command that was given up here; the engine tells none of it."""


ABANDONED: Final = _Abandoned()
UNSENT: Final = CommandId(0)


class Reply(Generic[R]):
    """A command that was sent, for the one who waits for it at once."""

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
        self._task: trio.lowlevel.Task | None = None
        """Who sleeps until the end; `_on_cancel` is for its cancellation."""

    def unwrap(self) -> R:
        """The result of a command that has ended; trio.WouldBlock where it has not."""
        outcome = self._outcome
        if isinstance(outcome, Result):
            return outcome.value if self._parse is None else self._parse(outcome)  # type: ignore[return-value]  # R is Json there
        if isinstance(outcome, _Abandoned):
            raise LocalProtocolError(
                f"{self.method} was given up here, so its end is not known; send it again if it is still wanted.",
                reason="abandoned",
            )
        if outcome is not None:
            raise failure_of(outcome, self.method, self.session_id)
        raise trio.WouldBlock

    def settle(self, outcome: Outcome, /) -> None:
        """The command ended (said by the link)."""
        self._end(outcome)

    def _end(self, outcome: Outcome | _Abandoned) -> None:
        self._outcome = outcome
        if self._task is not None:
            task, self._task = self._task, None
            reschedule(task)

    def _on_cancel(self, _raise_cancel: object) -> Abort:
        """The one who sleeps was cancelled, and nobody else will ask."""
        self._link.abandon(self.id)
        return Abort.SUCCEEDED


class PendingReply(Reply[R]):
    """A command that was sent; `wait()` gives its end, now or later."""

    __slots__ = ("_observed", "_on_end")

    def __init__(
        self, link: Link[Any], method: str, session_id: SessionId | None, parse: Callable[[Result], R] | None
    ) -> None:
        super().__init__(link, method, session_id, parse)
        self._on_end: Callable[[Outcome], None] | None = None
        self._observed = False

    def unwrap(self) -> R:
        """See Reply; a refusal has been heard of then."""
        self._observed = self._observed or self._outcome is not None
        return super().unwrap()

    def settle(self, outcome: Outcome, /) -> None:
        """See Reply."""
        super().settle(outcome)
        if self._on_end is not None:
            self._on_end(outcome)

    @property
    def ended(self) -> bool:
        """Whether the command has ended, or was given up."""
        return self._outcome is not None

    def on_end(self, act: Callable[[Outcome], None] = lambda _outcome: None) -> None:
        """Act on the end in the reader, pure and quick, in place of waiting for it. A refusal is then not reported."""
        self._observed = True
        self._on_end = act
        if self._outcome is not None and not isinstance(self._outcome, _Abandoned):
            act(self._outcome)

    def abandon(self) -> None:
        """Give the command up: that is its end, and a reply that still comes is late. Idempotent.

        Whoever waits, now or later, gets LocalProtocolError (reason `"abandoned"`).
        """
        if self._outcome is None:
            self._link.abandon(self.id)
            self._end(ABANDONED)

    async def wait(self) -> R:
        """The result, or the error that took its place. A wait that is cancelled may be begun again."""
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


def report_refusal(link: Link[Any], session_id: SessionId | None, method: str, refusal: Refusal) -> None:
    """Nobody heard that a command was refused: that is counted, and logged."""
    link.unobserved_refusals += 1
    details = (method, shown_id(session_id), refusal.code)
    log.warning("%s on session %s was refused (code %d), and nobody waited for the reply", *details)
