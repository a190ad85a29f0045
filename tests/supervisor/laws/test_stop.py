"""Law 5: a stop takes bounded time, settles what it can, and reports what it leaves."""

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
"""Seconds that a stop may take."""


def stopped(played: Any) -> Any:
    """Return the report of a stop, the last request of a run; check that all requests were answered."""
    supervised = played.pump.supervised
    stop = supervised.asked[-1]
    assert set(supervised.answers) == set(supervised.asked)
    assert all(number == 1 for number in played.engine.answered.values())
    assert supervised.answers[stop].error is None
    state = played.engine.state
    assert state.link.phase == "stopped"
    assert played.engine.next_deadline() is None
    assert not state.tickets
    return supervised.answers[stop].value


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("kind", ["alert", "confirm", "prompt"])
def test_a_stop_settles_a_pending_dialog(profile: str, kind: str) -> None:
    script = Script(timeline=(Wait(1), Dialog(kind, "?", "me")))
    played = supervised_run.play(script, profile=profile, asks=[{"stop": PATIENCE, "after": 1.5}])
    assert stopped(played).left == ()
    [true] = played.truth.dialogs
    assert not true.open
    assert true.closed_by == 1
    assert true.accepted is False
    [shown] = played.engine.snapshot().recent_dialogs
    assert shown.closed_by == "auto_policy"


def test_a_stop_reports_an_unanswerable_dialog() -> None:
    scene = scenarios.SCENES["two dialogs of one page"]
    played = supervised_run.play(scene.script, asks=[{"stop": PATIENCE, "after": 8.0}])
    [left] = stopped(played).left
    assert "superseded" in left


def test_a_stop_ends_at_once_if_the_link_is_down() -> None:
    script = Script(timeline=(Wait(1), AddFrame("f"), Wait(1), Dialog("alert", "?")))
    delivered = len(supervised_run.play(script).run.delivered)
    cut = Cut(delivered, "out", "after", client=1)
    down = supervised_run.play(script, faults=[cut], horizon=2.1)
    stop = down.engine.request(down.pump.supervised._request_of({"stop": PATIENCE}), down.pump.supervised.at)
    report = down.engine.answers()[stop].value
    assert report.left[0] == "the link is down"
    assert "orphaned" in report.left[1]
    assert not down.engine.wants_link


def test_a_stop_is_bounded_if_the_browser_does_not_answer() -> None:
    """The reply to the answer of the dialog never comes; the stop ends all the same."""
    script = Script(timeline=(Wait(1), Dialog("confirm", "?")))
    unanswered = Drop("Page.handleJavaScriptDialog")
    played = supervised_run.play(script, faults=[unanswered], asks=[{"stop": PATIENCE, "after": 2.0}])
    stopped(played)
    assert played.engine.state.link.since.mono <= 2.0 + PATIENCE + 0.001


@pytest.mark.parametrize("profile", PROFILES)
def test_no_attached_target_stays_paused(profile: str) -> None:
    """Pages, popups and workers start paused (fact 7); the supervisor resumes those that it attached to."""
    script = Script(
        timeline=(Wait(1), Popup("pop", "https://shop.example/"), AddFrame("f", "https://pay.example/"), Worker("w"))
    )
    played = supervised_run.play(script, profile=profile, asks=[{"stop": PATIENCE, "after": 3.0}])
    assert stopped(played).left == ()
    assert len(played.engine.state.sessions) == 4
    assert played.pump.fake.paused() == ()


@pytest.mark.parametrize("profile", PROFILES)
def test_after_the_stop_no_session_is_left_and_new_targets_are_not_paused(profile: str) -> None:
    """Auto-attach pauses new targets (fact 7), and a stopped supervisor would never resume them."""
    shop = "https://shop.example/"
    script = Script(timeline=(Wait(1), AddFrame("f", "https://pay.example/"), Wait(3), Popup("pop", shop), Worker("w")))
    played = supervised_run.play(script, profile=profile, asks=[{"stop": PATIENCE, "after": 2.0}])
    assert stopped(played).left == ()
    assert {session for _client, session, _target in played.truth.sessions if session} == set()
    assert played.pump.fake.paused() == ()
    played.pump.fake.assert_clean()


@pytest.mark.parametrize("profile", PROFILES)
def test_a_target_out_of_scope_is_detached_and_resumed(profile: str) -> None:
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
"""One of the two is unanswerable (docs/cdp/one-of-two-dialogs-cannot-be-answered.md)."""


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
def test_a_stop_is_bounded_at_any_moment(script: Script, profile: str, first: Any, cut: Any, seed: int) -> None:
    asks = [*first, {"stop": PATIENCE}, {"respond": "accept"}]
    played = supervised_run.play(script, profile=profile, asks=asks, faults=cut, seed=seed, interrupt=True)
    supervised = played.pump.supervised
    stop = supervised.asked[-2]
    assert set(supervised.answers) == set(supervised.asked)
    assert all(number == 1 for number in played.engine.answered.values())
    assert supervised.answers[stop].error is None
    assert isinstance(supervised.answers[supervised.asked[-1]].error, SupervisorStopped)
    assert played.engine.next_deadline() is None
    requested = next(each.at.mono for each in played.engine.inputs if getattr(each, "request_id", 0) == stop)
    assert played.engine.state.link.since.mono <= requested + PATIENCE
