"""A link made from a trace: the trace plays the browser.

Each incoming text is delivered once every outgoing text before it was sent; sends are compared with the trace, in order. They
may run ahead of what is received, as on any link. The first send that differs ends the link, since the rest of the trace would
answer commands that were not sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import attrs
import trio

from cdp_core.errors import ConnectionLost, InvalidArgument, LocalProtocolError
from cdp_core.sansio.router import Loss
from cdp_core.sansio.trace import LinkRecord, MessageRecord, TraceRecord
from cdp_core.sansio.trace_reading import label_command
from cdp_core.transports.memory import Inbox

TRACE_ENDED: Final = "trace_ended"


@attrs.frozen(kw_only=True)
class RecordedStatistics:
    """How much of the trace was used, and how much is left of it."""

    received: int
    sent: int
    left_in: int
    left_out: int


class RecordedTransport:
    """Gives what a trace says came in, and checks that what is sent is what the trace says went out.

    `strict`: byte for byte, ids included, which only a trace of our own tee can promise. Otherwise method, id and
    session must be the same. `conn` says which link of the trace, if it holds several; its part up to the first close
    is played.

    Raises InvalidArgument where the records cannot be played that way: nothing is left to guess.
    """

    def __init__(self, records: Iterable[TraceRecord], *, strict: bool = True, conn: str | None = None) -> None:
        self._strict = strict
        self._messages = _messages_of(records, conn)
        for number, message in self._messages:
            _check_playable(number, message, strict=strict)
        self._outgoing = [entry for entry in self._messages if entry[1].direction == "out"]
        self._place = self._passed = 0  # how many messages are behind us, and how many of them went out
        self._sent = self._received = 0
        self._ended = False
        self._inbox = Inbox()
        self._advance()

    async def receive(self) -> Sequence[bytes]:
        """See Transport. Ends with ConnectionLost(reason="trace_ended")."""
        try:
            batch = await self._inbox.take()
        except ConnectionLost:
            self._ended = True
            raise
        self._received += len(batch)
        return batch

    async def send(self, batch: Sequence[bytes], /) -> None:
        """See Transport. Raises LocalProtocolError(reason="trace_deviates") where the trace has something else."""
        await trio.lowlevel.checkpoint()
        for text in batch:
            loss = self._lost()
            if loss is not None:
                raise loss.error()
            self._compare(text)

    def send_now(self, text: bytes, /) -> bool:
        """See DirectTransport. Raises as `send` does."""
        if self._lost() is not None:
            return False
        self._compare(text)
        return True

    @property
    def unsent(self) -> bool:
        """See DirectTransport."""
        return False

    async def aclose(self) -> None:
        """See Transport."""
        self._inbox.close(Loss(kind="connection", reason="closed", detail="The link was closed here."))
        await trio.lowlevel.checkpoint()

    def statistics(self) -> RecordedStatistics:
        """Counts so far; nothing is left after a complete replay."""
        incoming = len(self._messages) - len(self._outgoing)
        return RecordedStatistics(
            received=self._received,
            sent=self._sent,
            left_in=incoming - self._received,
            left_out=len(self._outgoing) - self._sent,
        )

    def _lost(self) -> Loss | None:
        """Why nothing can be sent; the end of the trace counts once it was received."""
        loss = self._inbox.loss
        return loss if loss is not None and (self._ended or loss.reason != TRACE_ENDED) else None

    def _compare(self, text: bytes) -> None:
        if self._sent == len(self._outgoing):
            raise self._deviation(f"nothing more went out in it, but {label_command(text)} was sent")
        number, expected = self._outgoing[self._sent]
        wanted, got = label_command(expected.text), label_command(text)
        if text == expected.text or (not self._strict and wanted == got and got.method is not None):
            self._sent += 1
            self._advance()
            return
        where = f"its record {number} is {wanted} on session {_short(wanted.session_id)}"
        if wanted == got:
            raise self._deviation(f"{where}, and what was sent has that name, but is not the same text")
        raise self._deviation(f"{where}, but {got} on session {_short(got.session_id)} was sent")

    def _deviation(self, what: str) -> LocalProtocolError:
        text = f"The replay left its trace: {what}."
        self._inbox.end(Loss(kind="connection", reason="trace_deviates", detail=text))
        return LocalProtocolError(text, reason="trace_deviates")

    def _advance(self) -> None:
        """Give what nothing unsent stands in front of."""
        ready: list[bytes] = []
        while self._place < len(self._messages):
            _, message = self._messages[self._place]
            if message.direction == "in":
                ready.append(message.text)
            elif self._passed < self._sent:
                self._passed += 1
            else:
                break
            self._place += 1
        self._inbox.put(ready)
        if self._place == len(self._messages):
            self._inbox.end(Loss(kind="connection", reason=TRACE_ENDED, detail="The trace ends here."))


def _messages_of(records: Iterable[TraceRecord], conn: str | None) -> list[tuple[int, MessageRecord]]:
    """The messages of one link up to its close, each with the number of its record, which is its line in a file."""
    messages: list[tuple[int, MessageRecord]] = []
    closed: set[str] = set()
    for number, record in enumerate(records, 1):
        if isinstance(record, LinkRecord) and record.event == "close":
            closed.add(record.conn)
        elif isinstance(record, MessageRecord) and record.conn not in closed:
            messages.append((number, record))
    names = {message.conn for _, message in messages}
    if conn is None and len(names) > 1:
        raise InvalidArgument(f"The trace holds several links; say which one with conn=: {', '.join(sorted(names))}.")
    if conn is not None and conn not in names:
        raise InvalidArgument(f"The trace holds no messages of a link {conn!r}.")
    return [entry for entry in messages if conn is None or entry[1].conn == conn]


def _check_playable(number: int, message: MessageRecord, *, strict: bool) -> None:
    if message.cut:
        raise InvalidArgument(
            f"Record {number} of the trace is only the beginning of a message, so the trace cannot be played; "
            "record it with a larger max_message_bytes."
        )
    if strict and message.direction == "out" and not message.exact:
        raise InvalidArgument(
            f"Record {number} of the trace is not the very text that went out; play it with strict=False."
        )


def _short(session_id: str | None) -> str:
    return session_id[:8] if session_id else "(root)"
