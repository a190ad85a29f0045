"""The list of deadlines stays sorted, whatever changes, and a change replaces few of its blocks."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from cdp_supervisor.sansio.deadlines import BLOCK, added, entries, first_at, without

CHANGES = st.lists(st.tuples(st.booleans(), st.integers(0, 40), st.integers(0, 30)), max_size=200)


@given(changes=CHANGES)
def test_the_deadlines_are_a_sorted_list(changes: list[tuple[bool, int, int]]) -> None:
    deadlines: Any = ()
    model: dict[str, float] = {}
    for adds, when, number in changes:
        key = f"k{number}"
        if key in model:
            deadlines = without(deadlines, model.pop(key), key)
        if adds:
            deadlines = added(deadlines, (float(when), key, "why"))
            model[key] = float(when)
        expected = sorted((at, each, "why") for each, at in model.items())
        assert list(entries(deadlines)) == expected
        assert first_at(deadlines) == (expected[0][0] if expected else math.inf)
        assert all(0 < len(block) <= BLOCK for block in deadlines)


def test_adding_or_removing_a_deadline_replaces_one_or_two_blocks() -> None:
    deadlines: Any = ()
    for number in range(1_000):
        deadlines = added(deadlines, (float(number % 37), f"k{number}", ""))
    more = added(deadlines, (5.5, "new", ""))
    assert len(set(map(id, more)) - set(map(id, deadlines))) <= 2
    assert len(set(map(id, without(more, 5.5, "new"))) - set(map(id, more))) <= 1


def test_many_deadlines_stay_complete_when_one_is_added_or_removed() -> None:
    """A change in the middle of many blocks keeps the blocks behind it."""
    many: Any = ()
    for number in range(10 * BLOCK):
        many = added(many, (float(number), f"k{number}", ""))
    assert len(many) > 5
    for number in range(0, 10 * BLOCK, 7):
        more = added(many, (number + 0.5, "new", ""))
        assert [entry[1] for entry in entries(without(more, number + 0.5, "new"))] == [
            entry[1] for entry in entries(many)
        ]
        assert len([*entries(without(many, float(number), f"k{number}"))]) == 10 * BLOCK - 1
