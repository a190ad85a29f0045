"""Deadlines in order, as a value: a change copies one block of entries and the tuple of blocks.

`Deadlines` is a tuple of blocks, each a short tuple of entries `(when, key, why)`, all in order.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from math import inf
from typing import Final

Key = tuple[str, str | int]
"""The kind of a deadline, and whose it is: the id of a dialog or call, the number of a remedy, or ""."""
Entry = tuple[float, Key, str]
"""Moment, key (at most one entry per key), reason."""
Deadlines = tuple[tuple[Entry, ...], ...]

BLOCK: Final = 32
"""Entries in a block at most."""


def added(deadlines: Deadlines, entry: Entry) -> Deadlines:
    """Return the deadlines with one more entry."""
    if not deadlines:
        return ((entry,),)
    place = max(bisect_right(deadlines, (entry,)) - 1, 0)
    block = deadlines[place]
    at = bisect_left(block, entry)
    block = (*block[:at], entry, *block[at:])
    made = (block,) if len(block) <= BLOCK else (block[: BLOCK // 2], block[BLOCK // 2 :])
    return (*deadlines[:place], *made, *deadlines[place + 1 :])


def without(deadlines: Deadlines, when: float, key: Key) -> Deadlines:
    """Return the deadlines without the entry of this moment and key, which must exist."""
    wanted = (when, key, "")
    place = bisect_right(deadlines, (wanted,))
    if place == len(deadlines) or deadlines[place][0][:2] != (when, key):  # not the first entry of its block
        place -= 1
    block = deadlines[place]
    at = bisect_left(block, wanted)
    assert block[at][:2] == (when, key)
    left = block[:at] + block[at + 1 :]
    return (*deadlines[:place], *((left,) if left else ()), *deadlines[place + 1 :])


def first_at(deadlines: Deadlines) -> float:
    """Return the moment of the first entry; infinity if the deadlines are empty."""
    return deadlines[0][0][0] if deadlines else inf


def entries(deadlines: Deadlines) -> Iterator[Entry]:
    return (entry for block in deadlines for entry in block)
