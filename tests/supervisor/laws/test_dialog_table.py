"""The dialog table is total: every pair of a phase and a trigger is a move or listed as impossible."""

from __future__ import annotations

import itertools
from typing import Final

import pytest

from cdp_core.testing.fake.world import PROFILES
from cdp_core.testing.faults import Cut
from cdp_supervisor.sansio.dialog_table import PHASES, REMEDIES, TABLE, TRIGGERS
from support import scenarios, supervised_run

IMPOSSIBLE: Final = {
    ("open", "reply_ok"): "no answer of ours is on its way",
    ("open", "refused_none"): "no answer of ours is on its way",
    ("open", "refused_inactive"): "no answer of ours is on its way",
    ("open", "reply_gone"): "no answer of ours is on its way",
    ("open", "page_replies"): "a reply of the page settles only unanswerable dialogs",
    ("answering", "page_replies"): "a reply of the page settles only unanswerable dialogs",
    ("answered", "reply_ok"): "our answer has got its reply",
    ("answered", "refused_none"): "our answer has got its reply",
    ("answered", "refused_inactive"): "our answer has got its reply",
    ("answered", "reply_gone"): "our answer has got its reply",
    ("answered", "page_replies"): "a reply of the page settles only unanswerable dialogs",
    ("closed", "closed"): "a closed event is never matched to a closed dialog",
    ("closed", "page_replies"): "a reply of the page settles only unanswerable dialogs",
}


def test_every_pair_is_a_move_or_impossible() -> None:
    assert set(itertools.product(PHASES, TRIGGERS)) == set(TABLE) | set(IMPOSSIBLE)
    assert not set(TABLE) & set(IMPOSSIBLE)


@pytest.mark.parametrize("pair", TABLE, ids="/".join)
def test_a_move_does_one_thing(pair: tuple[str, str]) -> None:
    move = TABLE[pair]  # type: ignore[index]
    results = [move.go, move.settle, move.unanswerable, move.refuse, move.overdue]
    assert sum(map(bool, results)) <= 1
    assert not move.go or move.go in PHASES
    assert not move.settle or (move.settle in ("by", "remote") and move.reason)
    assert not move.unanswerable or REMEDIES[move.unanswerable]


def test_an_answer_is_credited_only_after_the_browser_confirmed_it() -> None:
    """`agent`, `auto_policy` and `watchdog` are recorded after the reply to our answer, never without it."""
    ours = {pair for pair, move in TABLE.items() if move.settle == "by"}
    assert ours == {pair for pair in TABLE if pair[0] == "answered" and pair[1] != "answer"} | {("closed", "reply_ok")}


def test_the_scenes_make_the_usual_moves_and_no_impossible_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each scene is played whole, and with its link cut at several messages."""

    used: set[tuple[str, str]] = set()

    class Watched(dict):  # type: ignore[type-arg]
        def get(self, key: object, default: object = None) -> object:
            used.add(key)  # type: ignore[arg-type]
            return super().get(key, default)

    monkeypatch.setattr("cdp_supervisor.sansio.dialogs.TABLE", Watched(TABLE))
    for scene in scenarios.SCENES.values():
        for profile in PROFILES:
            for place in range(14, 40, 3):
                cut = Cut(place, "in" if place % 2 else "out", "after", client=1)
                supervised_run.play(
                    profile=profile, faults=[cut] if place > 14 else (), **{**scene.how(), "horizon": 700.0}
                )
    assert not used & set(IMPOSSIBLE)
    usual = {("answering", "closed"), ("closed", "reply_ok"), ("open", "superseded")}
    assert usual | {("open", "session_lost"), ("unanswerable", "page_replies")} <= used
