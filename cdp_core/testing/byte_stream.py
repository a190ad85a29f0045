"""In which pieces messages go over a stream of octets: the faults that only such a stream can have, `Split` and `Merge`.

A stream has no borders, and a client that takes what it reads for one message learns it here. Over a memory transport,
which has no octets, `Merge` says how many messages one batch has at most.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from cdp_core.testing.faults import Fault, Merge, Split

MAX_PIECES: Final = 4096
"""Of what is written at once; what is left then comes in one: a large text would take minutes otherwise."""


class ByteStream:
    """How the messages to one client go over a stream of octets: in one piece, or as the faults say."""

    def __init__(self, faults: Iterable[Fault], client: int) -> None:
        own = [fault for fault in faults if fault.client in (0, client)]
        self.batch_size = max((fault.messages for fault in own if isinstance(fault, Merge)), default=0)
        """So many messages come at once, where there are as many; 0 where it does not matter."""
        self._piece_size = min((fault.octets for fault in own if isinstance(fault, Split)), default=0)

    def pieces(self, framed: list[bytes]) -> Iterator[bytes]:
        """What is written at once, in turn."""
        step = self.batch_size or max(len(framed), 1)
        for start in range(0, len(framed), step):
            octets = b"".join(framed[start : start + step])
            size = self._piece_size or max(len(octets), 1)
            small = min(len(octets), size * MAX_PIECES)
            for offset in range(0, small, size):
                yield octets[offset : min(offset + size, small)]
            if small < len(octets):
                yield octets[small:]
