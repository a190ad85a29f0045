"""Every id a fake browser gives out: made of its seed, the kind and a counter, so that a seed gives the same bytes.

Not of a random generator: what a generator gives may differ between versions of Python, and a run must not.
"""

from __future__ import annotations

import hashlib
from collections import Counter


class Ids:
    """Ids of one browser."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._given: Counter[str] = Counter()

    def new(self, kind: str) -> str:
        """32 hexadecimal digits in upper case, as Chromium writes the ids of targets, sessions, frames and loaders."""
        return self._digest(kind).hex().upper()[:32]

    def uuid(self, kind: str) -> str:
        """In the form of the path of a browser's WebSocket."""
        text = self._digest(kind).hex()
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:32]}"

    def unique(self, kind: str) -> str:
        """Two signed 64-bit numbers with a point between, as execution contexts have them."""
        octets = self._digest(kind)
        halves = (int.from_bytes(octets[start : start + 8], "big", signed=True) for start in (0, 8))
        return ".".join(map(str, halves))

    def _digest(self, kind: str) -> bytes:
        self._given[kind] += 1
        text = f"{self._seed}/{kind}/{self._given[kind]}"
        return hashlib.blake2b(text.encode(), digest_size=16).digest()
