"""The table of dialogs is total: every pair of a phase and a trigger is either a move, or listed as impossible."""

from __future__ import annotations

import itertools
from typing import Final

import pytest

from cdp_core.testing.fake.world import PROFILES
from cdp_core.testing.faults import Cut
from cdp_supervisor.sansio.dialog_table import PHASES, REMEDIES, TABLE, TRIGGERS
from support import scenarios, supervised_run

IMPOSSIBLE: Final = {
    ("open", "reply_ok"): "nothing of ours is on its way",
    ("open", "refused_none"): "nothing of ours is on its way",
    ("open", "refused_inactive"): "nothing of ours is on its way",
    ("open", "reply_gone"): "nothing of ours is on its way",
    ("open", "page_replies"): "only of what is stuck is anything concluded from a reply",
    ("answering", "page_replies"): "only of what is stuck is anything concluded from a reply",
    ("answered", "reply_ok"): "our answer has had its reply",
    ("answered", "refused_none"): "our answer has had its reply",
    ("answered", "refused_inactive"): "our answer has had its reply",
    ("answered", "reply_gone"): "our answer has had its reply",
    ("answered", "page_replies"): "only of what is stuck is anything concluded from a reply",
    ("closed", "closed"): "it is not looked for any more",
    ("closed", "page_replies"): "only of what is stuck is anything concluded from a reply",
}


def test_every_pair_is_a_move_or_impossible() -> None:
    assert set(itertools.product(PHASES, TRIGGERS)) == set(TABLE) | set(IMPOSSIBLE)
    assert not set(TABLE) & set(IMPOSSIBLE)


@pytest.mark.parametrize("pair", TABLE, ids="/".join)
def test_a_move_says_one_thing(pair: tuple[str, str]) -> None:
    move = TABLE[pair]  # type: ignore[index]
    said = [move.go, move.settle, move.unanswerable, move.refuse, move.overdue]
    assert sum(map(bool, said)) <= 1
    assert not move.go or move.go in PHASES
    assert not move.settle or (move.settle in ("by", "remote") and move.reason)
    assert not move.unanswerable or REMEDIES[move.unanswerable]


def test_credit_is_given_only_where_the_browser_confirmed() -> None:
    """`agent`, `auto_policy` and `watchdog` are written down after our own reply, and never without it."""
    ours = {pair for pair, move in TABLE.items() if move.settle == "by"}
    assert ours == {pair for pair in TABLE if pair[0] == "answered" and pair[1] != "answer"} | {("closed", "reply_ok")}


def test_moves_are_met_and_no_impossible_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scenes, cut here and there, make the usual moves, and none that is impossible."""

    met: set[tuple[str, str]] = set()

    class Watched(dict):  # type: ignore[type-arg]
        def get(self, key: object, default: object = None) -> object:
            met.add(key)  # type: ignore[arg-type]
            return super().get(key, default)

    monkeypatch.setattr("cdp_supervisor.sansio.dialogs.TABLE", Watched(TABLE))
    for scene in scenarios.SCENES.values():
        for profile in PROFILES:
            for place in range(14, 40, 3):
                cut = Cut(place, "in" if place % 2 else "out", "after", client=1)
                supervised_run.play(
                    profile=profile, faults=[cut] if place > 14 else (), **{**scene.how(), "horizon": 700.0}
                )
    assert not met & set(IMPOSSIBLE)
    usual = {("answering", "closed"), ("closed", "reply_ok"), ("open", "superseded")}
    assert usual | {("open", "session_lost"), ("unanswerable", "page_replies")} <= met
