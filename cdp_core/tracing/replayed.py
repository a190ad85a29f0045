"""A transport made from a trace: the trace plays the browser.

Each incoming text is delivered once every outgoing text before it was sent; sends are compared with the trace, in
order. They may run ahead of what is received, as on any link. The first send that differs ends the link, since the
rest of the trace would answer commands that were not sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import attrs
import trio

from cdp_core.errors import ConnectionLost, InvalidArgument, LocalProtocolError
from cdp_core.sansio.outcomes import Loss
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
    """A transport that delivers a trace's incoming messages and compares what is sent with the outgoing.

    `strict`: byte for byte, ids included, which only a trace of our own tee can guarantee. Otherwise method, id and
    session must be the same. `conn` selects one link of a trace that holds several; its part up to the first close is
    played.

    Raises InvalidArgument if the records cannot be played that way: nothing is guessed.
    """

    def __init__(self, records: Iterable[TraceRecord], *, strict: bool = True, conn: str | None = None) -> None:
        self._strict = strict
        self._messages = _messages_of(records, conn)
        for number, message in self._messages:
            _check_playable(number, message, strict=strict)
        self._outgoing = [entry for entry in self._messages if entry[1].direction == "out"]
        self._position = self._passed = 0  # counts of the messages passed, and of the outgoing ones among them
        self._sent = self._received = 0
        self._ended = False
        self._inbox = Inbox()
        self._advance()

    async def receive(self) -> Sequence[bytes]:
        """Receive messages. Raises ConnectionLost(reason="trace_ended") at the end of the trace."""
        try:
            batch = await self._inbox.take()
        except ConnectionLost:
            self._ended = True
            raise
        self._received += len(batch)
        return batch

    async def send(self, batch: Sequence[bytes], /) -> None:
        """Compare messages with the trace. Raises LocalProtocolError(reason="trace_deviates") on a difference."""
        await trio.lowlevel.checkpoint()
        for text in batch:
            loss = self._lost()
            if loss is not None:
                raise loss.error()
            self._compare(text)

    def send_now(self, text: bytes, /) -> bool:
        """Compare one message with the trace. Raises as `send` does."""
        if self._lost() is not None:
            return False
        self._compare(text)
        return True

    @property
    def unsent(self) -> bool:
        return False

    async def aclose(self) -> None:
        self._inbox.close(Loss(kind="connection", reason="closed", detail="The link was closed here."))
        await trio.lowlevel.checkpoint()

    def statistics(self) -> RecordedStatistics:
        """Return the counts so far; nothing is left after a complete replay."""
        incoming = len(self._messages) - len(self._outgoing)
        return RecordedStatistics(
            received=self._received,
            sent=self._sent,
            left_in=incoming - self._received,
            left_out=len(self._outgoing) - self._sent,
        )

    def _lost(self) -> Loss | None:
        """Return why nothing can be sent, or None; the end of the trace counts once it was received."""
        loss = self._inbox.loss
        return loss if loss is not None and (self._ended or loss.reason != TRACE_ENDED) else None

    def _compare(self, text: bytes) -> None:
        if self._sent == len(self._outgoing):
            raise self._deviation(f"it has no more outgoing messages, but {label_command(text)} was sent")
        number, expected = self._outgoing[self._sent]
        wanted, got = label_command(expected.text), label_command(text)
        if text == expected.text or (not self._strict and wanted == got and got.method is not None):
            self._sent += 1
            self._advance()
            return
        where = f"its record {number} is {wanted} on session {_short(wanted.session_id)}"
        if wanted == got:
            raise self._deviation(f"{where}, and the command that was sent has the same name but not the same text")
        raise self._deviation(f"{where}, but {got} on session {_short(got.session_id)} was sent")

    def _deviation(self, what: str) -> LocalProtocolError:
        text = f"The replay deviates from its trace: {what}."
        self._inbox.end(Loss(kind="connection", reason="trace_deviates", detail=text))
        return LocalProtocolError(text, reason="trace_deviates")

    def _advance(self) -> None:
        """Deliver the incoming messages up to the next outgoing one that was not sent yet."""
        ready: list[bytes] = []
        while self._position < len(self._messages):
            _, message = self._messages[self._position]
            if message.direction == "in":
                ready.append(message.text)
            elif self._passed < self._sent:
                self._passed += 1
            else:
                break
            self._position += 1
        self._inbox.put(ready)
        if self._position == len(self._messages):
            self._inbox.end(Loss(kind="connection", reason=TRACE_ENDED, detail="The trace ends here."))


def _messages_of(records: Iterable[TraceRecord], conn: str | None) -> list[tuple[int, MessageRecord]]:
    """Return one link's messages up to its close, each with its record number, its line in a file."""
    messages: list[tuple[int, MessageRecord]] = []
    closed: set[str] = set()
    for number, record in enumerate(records, 1):
        if isinstance(record, LinkRecord) and record.event == "close":
            closed.add(record.conn)
        elif isinstance(record, MessageRecord) and record.conn not in closed:
            messages.append((number, record))
    names = {message.conn for _, message in messages}
    if conn is None and len(names) > 1:
        raise InvalidArgument(f"The trace holds several links; select one with conn=: {', '.join(sorted(names))}.")
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
            f"Record {number} of the trace is not the exact text that was sent; play it with strict=False."
        )


def _short(session_id: str | None) -> str:
    return session_id[:8] if session_id else "(root)"
