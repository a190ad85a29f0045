"""The pieces in which messages go over a byte stream: the faults `Split` and `Merge`.

A byte stream keeps no message boundaries; these faults show whether a client takes each read for one message. Over a
memory transport, which has no octets, `Merge` limits the number of messages in one batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from cdp_core.testing.faults import Fault, Merge, Split

MAX_PIECES: Final = 4096
"""Pieces per write; the rest follows in one piece, since a large text would take minutes otherwise."""


class ByteStream:
    """Splits and merges the messages to one client as its faults demand."""

    def __init__(self, faults: Iterable[Fault], client: int) -> None:
        own = [fault for fault in faults if fault.client in (0, client)]
        # How many messages to send at once, if that many are ready; 0 for no such limit.
        self.batch_size = max((fault.messages for fault in own if isinstance(fault, Merge)), default=0)
        self._piece_size = min((fault.octets for fault in own if isinstance(fault, Split)), default=0)

    def pieces(self, framed: list[bytes]) -> Iterator[bytes]:
        """Yield the pieces to write, in order; `framed` are the messages in their framing."""
        step = self.batch_size or max(len(framed), 1)
        for start in range(0, len(framed), step):
            octets = b"".join(framed[start : start + step])
            size = self._piece_size or max(len(octets), 1)
            small = min(len(octets), size * MAX_PIECES)
            for offset in range(0, small, size):
                yield octets[offset : min(offset + size, small)]
            if small < len(octets):
                yield octets[small:]
