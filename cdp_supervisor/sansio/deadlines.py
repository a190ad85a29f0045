"""What is to be done at which moment, in order: a value, and adding to it costs the same among ten and ten thousand.

An agenda is a tuple of blocks, each a short tuple of entries `(when, key, why)`, all in order. An entry that comes or goes
makes one block anew, and the tuple of blocks.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from math import inf
from typing import Final

Entry = tuple[float, str, str]
"""When, what for (of each there is one at most), why."""
Deadlines = tuple[tuple[Entry, ...], ...]

BLOCK: Final = 32


def added(deadlines: Deadlines, entry: Entry) -> Deadlines:
    """With one more entry."""
    if not deadlines:
        return ((entry,),)
    place = max(bisect_right(deadlines, (entry,)) - 1, 0)
    block = deadlines[place]
    at = bisect_left(block, entry)
    block = (*block[:at], entry, *block[at:])
    made = (block,) if len(block) <= BLOCK else (block[: BLOCK // 2], block[BLOCK // 2 :])
    return (*deadlines[:place], *made, *deadlines[place + 1 :])


def without(deadlines: Deadlines, when: float, key: str) -> Deadlines:
    """Without the entry of this moment and key, which is there."""
    wanted = (when, key, "")
    place = bisect_right(deadlines, (wanted,))
    if place == len(deadlines) or deadlines[place][0][:2] != (when, key):  # not the first of its block
        place -= 1
    block = deadlines[place]
    at = bisect_left(block, wanted)
    assert block[at][:2] == (when, key)
    left = block[:at] + block[at + 1 :]
    return (*deadlines[:place], *((left,) if left else ()), *deadlines[place + 1 :])


def first_at(deadlines: Deadlines) -> float:
    """The moment of the first entry; never, where there is none."""
    return deadlines[0][0][0] if deadlines else inf


def entries(deadlines: Deadlines) -> Iterator[Entry]:
    """Every entry, in order."""
    return (entry for block in deadlines for entry in block)
