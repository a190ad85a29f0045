"""A transport that records its messages.

`TeeTransport` wraps any transport and records every message unchanged: incoming messages before any code acts on
them, outgoing ones before the peer can have seen them, so that a reply never precedes its command.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import trio

from cdp_core.errors import ConnectionLost, LocalProtocolError, RemoteProtocolError
from cdp_core.sansio.messages import Payload
from cdp_core.tracing.file import TraceWriter
from cdp_core.transports import DirectTransport, Transport


class TeeTransport:
    """A transport that records everything that passes through `inner`, under the label `conn`.

    It sends at once what the inner transport can send at once. All transports that share the writer use one clock.
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
        try:
            batch = await self._inner.receive()
        except Exception as error:
            self._note_end(error)
            raise
        at = self._clock()
        if isinstance(batch, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance] - a foreign transport; the link reports it
            for text in batch:
                if isinstance(text, (bytes, bytearray, memoryview)):  # pyright: ignore[reportUnnecessaryIsInstance]
                    self._writer.message("in", text, at=at, conn=self._conn)
        return batch

    async def send(self, batch: Sequence[bytes], /) -> None:
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
        """Send one message at once; always False if the inner transport cannot do that."""
        if self._direct is None or not self._direct.send_now(text):
            return False
        self._writer.message("out", text, at=self._clock(), conn=self._conn)
        return True

    @property
    def unsent(self) -> bool:
        return self._direct is not None and self._direct.unsent

    async def aclose(self) -> None:
        """Close the inner transport. The writer stays open: other transports may record into it."""
        self._note("closed")
        await self._inner.aclose()

    def statistics(self) -> object:
        """Return the statistics of the inner transport, or None if it has none."""
        inner_statistics: Callable[[], object] | None = getattr(self._inner, "statistics", None)
        return None if inner_statistics is None else inner_statistics()

    def _note_end(self, error: Exception) -> None:
        if isinstance(error, LocalProtocolError):
            return  # a mistake of the caller does not end the link
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
