"""What is to be done at which moment, in order: a value, and adding to it costs the same among ten and ten thousand.

An agenda is a tuple of blocks, each a short tuple of entries `(when, key, why)`, all in order. An entry that comes or goes
makes one block anew, and the tuple of blocks.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from math import inf
from typing import Final

__all__ = ["Agenda", "Entry", "added", "entries", "first_at", "without"]

Entry = tuple[float, str, str]
"""When, what for (of each there is one at most), why."""
Agenda = tuple[tuple[Entry, ...], ...]

BLOCK: Final = 32


def added(agenda: Agenda, entry: Entry) -> Agenda:
    """With one more entry."""
    if not agenda:
        return ((entry,),)
    place = max(bisect_right(agenda, (entry,)) - 1, 0)
    block = agenda[place]
    at = bisect_left(block, entry)
    block = (*block[:at], entry, *block[at:])
    made = (block,) if len(block) <= BLOCK else (block[: BLOCK // 2], block[BLOCK // 2 :])
    return (*agenda[:place], *made, *agenda[place + 1 :])


def without(agenda: Agenda, when: float, key: str) -> Agenda:
    """Without the entry of this moment and key, which is there."""
    wanted = (when, key, "")
    place = bisect_right(agenda, (wanted,))
    if place == len(agenda) or agenda[place][0][:2] != (when, key):  # not the first of its block
        place -= 1
    block = agenda[place]
    at = bisect_left(block, wanted)
    assert block[at][:2] == (when, key)
    left = block[:at] + block[at + 1 :]
    return (*agenda[:place], *((left,) if left else ()), *agenda[place + 1 :])


def first_at(agenda: Agenda) -> float:
    """The moment of the first entry; never, where there is none."""
    return agenda[0][0][0] if agenda else inf


def entries(agenda: Agenda) -> Iterator[Entry]:
    """Every entry, in order."""
    return (entry for block in agenda for entry in block)
