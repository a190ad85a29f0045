"""Law 5: the end is bounded, settles what can be settled, and says what it leaves."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cdp_core.testing.fake.world import PROFILES
from cdp_core.testing.faults import Cut, Drop
from cdp_core.testing.steps import AddFrame, Dialog, Navigate, Popup, Script, Wait, Worker
from cdp_core.testing.strategies import scripts
from cdp_supervisor.errors import SupervisorStopped
from cdp_supervisor.sansio.options import Scope
from support import scenarios, supervised_run

PATIENCE = 1.5


def stopped(played: Any) -> Any:
    """The report of a stop that was asked for last; everything else was answered, too."""
    supervised = played.pump.supervised
    asked = supervised.asked[-1]
    assert set(supervised.answers) == set(supervised.asked)
    assert all(number == 1 for number in played.engine.answered.values())
    assert supervised.answers[asked].error is None
    state = played.engine.state
    assert state.link.phase == "stopped"
    assert played.engine.next_deadline() is None
    assert not state.tickets
    return supervised.answers[asked].value


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("kind", ["alert", "confirm", "prompt"])
def test_a_pending_dialog_is_settled_before_the_end(profile: str, kind: str) -> None:
    script = Script(timeline=(Wait(1), Dialog(kind, "?", "me")))
    played = supervised_run.play(script, profile=profile, asks=[{"stop": PATIENCE, "after": 1.5}])
    assert stopped(played).left == ()
    [true] = played.truth.dialogs
    assert not true.open
    assert true.closed_by == 1
    assert true.accepted is False
    [shown] = played.engine.snapshot().recent_dialogs
    assert shown.closed_by == "auto_policy"


def test_what_nobody_can_answer_is_reported() -> None:
    scene = scenarios.SCENES["two dialogs of one page"]
    played = supervised_run.play(scene.script, asks=[{"stop": PATIENCE, "after": 8.0}])
    [left] = stopped(played).left
    assert "superseded" in left


def test_with_the_link_down_the_end_comes_at_once() -> None:
    script = Script(timeline=(Wait(1), AddFrame("f"), Wait(1), Dialog("alert", "?")))
    told = len(supervised_run.play(script).run.delivered)
    cut = Cut(told, "out", "after", client=1)
    down = supervised_run.play(script, faults=[cut], horizon=2.1)
    asked = down.engine.request(down.pump.supervised._request_of({"stop": PATIENCE}), down.pump.supervised.at)
    report = down.engine.answers()[asked].value
    assert report.left[0] == "the link is down"
    assert "orphaned" in report.left[1]
    assert not down.engine.wants_link


def test_the_end_is_bounded_where_the_browser_is_silent() -> None:
    """Its answer to the dialog never comes: the end does, and says what is left."""
    script = Script(timeline=(Wait(1), Dialog("confirm", "?")))
    unanswered = Drop("Page.handleJavaScriptDialog")
    played = supervised_run.play(script, faults=[unanswered], asks=[{"stop": PATIENCE, "after": 2.0}])
    stopped(played)
    assert played.engine.state.link.since.mono <= 2.0 + PATIENCE + 0.001


@pytest.mark.parametrize("profile", PROFILES)
def test_nothing_that_was_attached_to_waits_for_us(profile: str) -> None:
    """Pages, popups and workers start paused (fact 7): what we had a session of goes on."""
    script = Script(
        timeline=(Wait(1), Popup("pop", "https://shop.example/"), AddFrame("f", "https://pay.example/"), Worker("w"))
    )
    played = supervised_run.play(script, profile=profile, asks=[{"stop": PATIENCE, "after": 3.0}])
    assert stopped(played).left == ()
    assert len(played.engine.state.sessions) == 4
    assert played.pump.fake.paused() == ()


@pytest.mark.parametrize("profile", PROFILES)
def test_after_the_end_nothing_is_ours_and_what_comes_later_waits_for_nobody(profile: str) -> None:
    """Auto-attach pauses what appears (fact 7), and a machine that has stopped would never resume it."""
    shop = "https://shop.example/"
    script = Script(timeline=(Wait(1), AddFrame("f", "https://pay.example/"), Wait(3), Popup("pop", shop), Worker("w")))
    played = supervised_run.play(script, profile=profile, asks=[{"stop": PATIENCE, "after": 2.0}])
    assert stopped(played).left == ()
    assert {session for _client, session, _target in played.truth.sessions if session} == set()
    assert played.pump.fake.paused() == ()
    played.pump.fake.assert_clean()


@pytest.mark.parametrize("profile", PROFILES)
def test_what_is_not_ours_is_let_go(profile: str) -> None:
    """A page out of scope keeps no session of ours, and waits for nobody."""
    script = Script(timeline=(Wait(1), Popup("pop", "https://shop.example/"), Wait(1)))
    options = {"scope": Scope.context("another")}
    played = supervised_run.play(script, profile=profile, options=options)
    assert {session for _client, session, _target in played.truth.sessions if session} == set()
    assert played.pump.fake.paused() == ()


ADS, PAY = "https://ads.example/1", "https://pay.example/3"
TWO_DIALOGS = Script(
    pages={ADS: (AddFrame("d", PAY), Wait(1), Dialog("confirm", "a")), PAY: (Wait(1), Dialog("confirm", "b"))},
    timeline=(Wait(1), Navigate(ADS)),
)
"""Of which one can be answered by nobody (docs/cdp/of-two-dialogs-one-cannot-be-answered.md)."""


@settings(max_examples=max(settings().max_examples // 3, 1))
@example(script=TWO_DIALOGS, profile="headless-shell", first=[{"respond": "accept"}], cut=(), seed=1)
@given(
    script=scripts(),
    profile=st.sampled_from(PROFILES),
    first=st.lists(
        st.sampled_from(
            [
                {"call": "Runtime.evaluate", "params": {"expression": "ask()"}, "page": 0},
                {"respond": "accept"},
                {"recover": "navigate", "page": 0},
            ]
        ),
        max_size=2,
    ),
    cut=st.sampled_from([(), (Cut(20, "out", "after", 1),), (Cut(9, "in", "after", 1),)]),
    seed=st.integers(0, 2**32),
)
def test_the_end_is_bounded_at_any_moment(script: Script, profile: str, first: Any, cut: Any, seed: int) -> None:
    asks = [*first, {"stop": PATIENCE}, {"respond": "accept"}]
    played = supervised_run.play(script, profile=profile, asks=asks, faults=cut, seed=seed, interrupt=True)
    supervised = played.pump.supervised
    stop = supervised.asked[-2]
    assert set(supervised.answers) == set(supervised.asked)
    assert all(number == 1 for number in played.engine.answered.values())
    assert supervised.answers[stop].error is None
    assert isinstance(supervised.answers[supervised.asked[-1]].error, SupervisorStopped)
    assert played.engine.next_deadline() is None
    asked = next(each.at.mono for each in played.engine.inputs if getattr(each, "request_id", 0) == stop)
    assert played.engine.state.link.since.mono <= asked + PATIENCE
