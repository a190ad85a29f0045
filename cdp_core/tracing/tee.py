"""A transport that records what passes through it.

`TeeTransport` wraps any transport and records every message as it was: incoming messages before any code acts on them,
outgoing ones before the peer can have seen them, so that a reply never stands before its command.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import trio

from cdp_core.errors import ConnectionLost, LocalProtocolError, RemoteProtocolError
from cdp_core.sansio.messages import Payload
from cdp_core.tracing.file import TraceWriter
from cdp_core.transports import DirectTransport, Transport


class TeeTransport:
    """Records everything that passes through `inner`, under the label `conn`.

    It sends at once what the inner transport can send at once. One clock serves all who share the writer.
    """

    def __init__(
        self,
        inner: Transport,
        writer: TraceWriter,
        conn: str = "A",
        clock: Callable[[], float] = trio.current_time,
    ) -> None:
        self._inner = inner
        self._direct = inner if isinstance(inner, DirectTransport) else None
        self._writer = writer
        self._conn = conn
        self._clock = clock
        self._open = True
        writer.link("open", at=clock(), conn=conn)

    async def receive(self) -> Sequence[Payload]:
        """See Transport."""
        try:
            batch = await self._inner.receive()
        except Exception as error:
            self._note_end(error)
            raise
        at = self._clock()
        if isinstance(batch, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance] - a foreign transport's, told above
            for text in batch:
                if isinstance(text, (bytes, bytearray, memoryview)):  # pyright: ignore[reportUnnecessaryIsInstance]
                    self._writer.message("in", text, at=at, conn=self._conn)
        return batch

    async def send(self, batch: Sequence[bytes], /) -> None:
        """See Transport."""
        if self._open:
            at = self._clock()
            for text in batch:
                self._writer.message("out", text, at=at, conn=self._conn)
        try:
            await self._inner.send(batch)
        except Exception as error:
            self._note_end(error)
            raise

    def send_now(self, text: bytes, /) -> bool:
        """See DirectTransport; never at once where the inner transport cannot."""
        if self._direct is None or not self._direct.send_now(text):
            return False
        self._writer.message("out", text, at=self._clock(), conn=self._conn)
        return True

    @property
    def unsent(self) -> bool:
        """See DirectTransport."""
        return self._direct is not None and self._direct.unsent

    async def aclose(self) -> None:
        """See Transport. The writer stays open: others may record into it."""
        self._note("closed")
        await self._inner.aclose()

    def statistics(self) -> object:
        """Those of the inner transport; None where it has none."""
        tell: Callable[[], object] | None = getattr(self._inner, "statistics", None)
        return None if tell is None else tell()

    def _note_end(self, error: Exception) -> None:
        if isinstance(error, LocalProtocolError):
            return  # our own mistake ended nothing
        if isinstance(error, ConnectionLost):
            self._note(error.reason)
        elif isinstance(error, RemoteProtocolError):
            self._note("protocol_error")
        else:
            self._note(type(error).__name__)

    def _note(self, reason: str) -> None:
        if self._open:
            self._open = False
            self._writer.link("close", at=self._clock(), conn=self._conn, reason=reason)
