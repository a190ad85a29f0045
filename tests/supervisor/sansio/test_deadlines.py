"""The agenda keeps its order, whatever comes and goes, and touches little of itself."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from cdp_supervisor.sansio.deadlines import BLOCK, added, entries, first_at, without

MOVES = st.lists(st.tuples(st.booleans(), st.integers(0, 40), st.integers(0, 30)), max_size=200)


@given(moves=MOVES)
def test_it_is_a_sorted_list(moves: list[tuple[bool, int, int]]) -> None:
    deadlines: Any = ()
    naive: dict[str, float] = {}
    for adds, when, number in moves:
        key = f"k{number}"
        if key in naive:
            deadlines = without(deadlines, naive.pop(key), key)
        if adds:
            deadlines = added(deadlines, (float(when), key, "why"))
            naive[key] = float(when)
        wanted = sorted((at, each, "why") for each, at in naive.items())
        assert list(entries(deadlines)) == wanted
        assert first_at(deadlines) == (wanted[0][0] if wanted else math.inf)
        assert all(0 < len(block) <= BLOCK for block in deadlines)


def test_what_comes_or_goes_makes_one_block_anew() -> None:
    deadlines: Any = ()
    for number in range(1_000):
        deadlines = added(deadlines, (float(number % 37), f"k{number}", ""))
    more = added(deadlines, (5.5, "new", ""))
    assert len(set(map(id, more)) - set(map(id, deadlines))) <= 2
    assert len(set(map(id, without(more, 5.5, "new"))) - set(map(id, more))) <= 1
