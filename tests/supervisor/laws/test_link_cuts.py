"""Law 3: the link may break before or after every message of either direction, in every scene.

After the reconnect the snapshot agrees with the truth again within 200 messages, every request is answered, no dialog
is shown as answerable that is not, and the watchdog's time has gone on running.
"""

from __future__ import annotations

from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdp_core.testing.fake.world import PROFILES
from cdp_core.testing.faults import Cut, Silence
from cdp_core.testing.steps import Script
from cdp_core.testing.strategies import scripts
from cdp_supervisor.sansio.options import Reconnect
from support import scenarios, supervised_run

CONVERGED: Final = 200
"""Most messages from the browser after the first link until the snapshot must agree with the truth."""
STRIDE: Final = 1 if settings().max_examples >= 100 else 6
"""Every message is cut in the full profile, every sixth in the quick one."""
ALL_THE_TIME: Final = 2_000.0
"""Seconds after which every deadline of a scene has passed."""


def assert_both_ends(played: Any, *, broke: bool = True) -> None:
    """Check the run once no message is on its way, and again after every deadline."""
    supervised_run.check_quiet(played)
    behind = sum(number != 1 for number, _ in played.run.delivered)
    assert not broke or behind <= CONVERGED
    played.pump.horizon = ALL_THE_TIME
    played.pump.run()
    supervised_run.check_quiet(played)
    for dialog in played.engine.snapshot().pending_dialogs:
        assert dialog.why, "the watchdog has not answered an answerable dialog"
        assert dialog.overdue


SCENE_NAMES: Final = 20


@pytest.mark.parametrize("number", range(SCENE_NAMES))
@pytest.mark.parametrize("profile", PROFILES)
def test_the_snapshot_is_true_again_after_a_cut_at_any_message(number: int, profile: str) -> None:
    name, scene = list(scenarios.SCENES.items())[number]
    whole = supervised_run.play(profile=profile, **scene.how())
    places = [("out", place) for place in range(1, len(whole.run.delivered) + 1)]
    places += [("in", place) for place in range(1, len(whole.run.received) + 1)]
    assert len(places) > 12
    for direction, place in places[::STRIDE]:
        for when in ("before", "after") if profile == "headless-new" else ("after",):
            cut = Cut(place, direction, when, client=1)  # type: ignore[arg-type]
            played = supervised_run.play(profile=profile, faults=[cut], **scene.how())
            try:
                assert played.pump.supervised.link >= 2, "the link did not break, or did not come back"
                assert_both_ends(played)
            except AssertionError as wrong:
                pytest.fail(f"{name} ({profile}), cut {when} message {place} {direction}: {wrong}")


def test_the_cuts_cover_every_scene() -> None:
    assert len(scenarios.SCENES) == SCENE_NAMES


CUTS = st.lists(
    st.builds(
        Cut,
        st.integers(1, 120),
        st.sampled_from(["in", "out"]),
        st.sampled_from(["before", "after"]),
        st.integers(1, 3),
    ),
    min_size=1,
    max_size=3,
)


@settings(max_examples=max(settings().max_examples // 3, 1))
@given(
    script=scripts(),
    profile=st.sampled_from(PROFILES),
    policy=st.sampled_from(["must_respond", "auto_accept"]),
    cuts=CUTS,
    seed=st.integers(0, 2**32),
)
def test_the_snapshot_is_true_again_after_several_cuts(
    script: Script, profile: str, policy: str, cuts: Any, seed: int
) -> None:
    played = supervised_run.play(script, profile=profile, policy=policy, faults=cuts, seed=seed)
    assert_both_ends(played, broke=False)


@pytest.mark.parametrize("direction", ["in", "out"])
def test_a_half_open_link_is_ended_and_dialled_again(direction: Any) -> None:
    """The connection stays open and carries no messages; only the keepalive can detect it."""
    for scene in scenarios.SCENES.values():
        for place in (1, 6, 12):
            silence = Silence(place, direction, client=1)
            how = {**scene.how(), "horizon": 600.0, "options": {"keepalive": 60.0}}
            played = supervised_run.play(faults=[silence], **how)
            assert played.pump.supervised.link >= 2
            supervised_run.check_quiet(played)


def test_a_link_is_given_up_when_its_budget_is_spent() -> None:
    """Open requests are answered, and pending dialogs stay in the snapshot as unanswerable."""
    scene = scenarios.SCENES["a confirm that nobody answers"]
    asks = ({"call": "Runtime.evaluate", "params": {"expression": "1"}, "page": 0}, {"respond": "accept"})
    cut = Cut(len(supervised_run.play(**scene.how()).run.delivered) - 2, "out", "after", client=1)
    how = {**scene.how(), "asks": asks, "options": {"reconnect": Reconnect.never()}}
    played = supervised_run.play(faults=[cut], **how)
    snapshot = played.engine.snapshot()
    assert snapshot.link.phase == "gave_up"
    assert not played.engine.wants_link
    supervised_run.check_asks(played)
    assert not any(dialog.answerable for dialog in snapshot.pending_dialogs)
