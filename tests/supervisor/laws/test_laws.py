"""Laws 1 and 2: what is shown is so, and does not depend on the order in which it was told.

The truth is the fake's own ledger, which no client sees. What holds at every moment is checked after each turn
(`pure_run.check_moment`); what holds once it is quiet, at the end.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cdp_core.testing.fake.world import PROFILES
from cdp_core.testing.steps import AddFrame, Crash, Cut, Dialog, Navigate, NavigateFrame, Popup, Script, Wait
from cdp_core.testing.strategies import is_race_free, scripts
from support import scenarios, supervised_run

Json = dict[str, Any]
SEED = st.integers(0, 2**32)
PROFILE = st.sampled_from(PROFILES)
POLICY = st.sampled_from(["must_respond", "auto_accept", "auto_dismiss", {"alert": "auto_accept"}])
URL = st.sampled_from(["https://shop.example/", "https://shop.example/2", "https://ads.example/1", "about:blank"])
RANK = st.integers(0, 3)
ASKS = st.lists(
    st.one_of(
        st.builds(lambda action, rank: {"respond": action, "rank": rank}, st.sampled_from(["accept", "dismiss"]), RANK),
        st.builds(lambda url, rank: {"call": "Page.navigate", "params": {"url": url}, "page": rank}, URL, RANK),
        st.builds(
            lambda method, rank: {"call": method, "params": {}, "page": rank},
            st.sampled_from(["Page.reload", "Page.close", "Page.getFrameTree"]),
            RANK,
        ),
        st.builds(
            lambda expression, rank: {"call": "Runtime.evaluate", "params": {"expression": expression}, "frame": rank},
            st.sampled_from(["act()", "ask()", "1+1"]),
            RANK,
        ),
        st.builds(
            lambda remedy, rank: {"recover": remedy, "page": rank},
            st.sampled_from(["same_document", "navigate", "reload", "close"]),
            RANK,
        ),
        st.builds(lambda policy: {"policy": policy}, st.sampled_from(["must_respond", "auto_accept"])),
        st.just({"await": 1}),
    ),
    max_size=3,
)
FEWER = settings(max_examples=max(settings().max_examples // 3, 1))

LATER = "https://pay.example/3"
ADRIFT = Script(pages={LATER: (Dialog("confirm", "b"),)}, timeline=(Wait(1), AddFrame("x1", LATER), Wait(1), Cut()))
"""The dialog of a frame out of process, when the link breaks: frame and dialog are still there."""
SWAPPED = Script(timeline=(Wait(1), AddFrame("x1", "https://shop.example/"), Dialog(frame="x1")))
"""A frame asks in its first document, and then gets another process: the dialog is up all the same."""
TWICE = Script(
    pages={LATER: (Dialog("confirm", "b"),)},
    timeline=(
        Wait(1),
        AddFrame("x1", LATER),
        Dialog("alert", "a", frame="x1"),
        Wait(1),
        NavigateFrame("x1", "about:blank"),
    ),
)
"""A frame asks while its next document, in another process, asks already."""

LEFT = Script(
    pages={
        "https://ads.example/1": (AddFrame("d", LATER), Wait(1), Dialog("confirm", "a")),
        LATER: (Wait(1), Dialog("confirm", "b")),
    },
    timeline=(
        *(Wait(1), Navigate("https://ads.example/1"), AddFrame("x1", LATER)),
        *(Wait(1), NavigateFrame("x1", "https://shop.example/")),
    ),
)
"""A frame is left whose document was about to ask, and whose process stands at the dialog of another one."""
BOTH = Script(
    pages={"https://ads.example/1": LEFT.pages["https://ads.example/1"], LATER: LEFT.pages[LATER]},
    timeline=(Wait(1), Navigate("https://ads.example/1")),
)
"""A page and a frame of it ask, while the page is sent elsewhere, or loaded again."""
ON_ITS_WAY = Script(
    pages={LATER: (Wait(1), Dialog("confirm", "b"))},
    timeline=(
        *(Wait(1), AddFrame("x1", LATER), Wait(1), Popup("x2", "https://shop.example/2")),
        AddFrame("x3", "https://pay.example/", parent="x2"),
    ),
)
"""A frame of a second page is to load in the process that stands at a dialog of the first one."""
AT_ONCE = Script(pages={LATER: (Dialog(),)}, timeline=(Wait(1), AddFrame("x1", LATER), Dialog(frame="x1")))
"""A frame asks in its first document and in its next one at the same moment."""
ELSEWHERE: Json = {"call": "Page.navigate", "params": {"url": "https://shop.example/"}, "page": 0}
TWICE_LEFT = Script(pages={"https://ads.example/1": (Dialog(),)}, timeline=(Dialog(),))
"""A navigation ends a dialog while our answer is on its way, which then meets that of the next document."""
THERE: Json = {"call": "Page.navigate", "params": {"url": "https://ads.example/1"}, "page": 0}
AGAIN: Json = {"call": "Page.reload", "params": {}, "page": 0}


COME_BACK = Script(timeline=(Crash(),))
"""A page that had crashed when somebody came is shown again."""


CUT_AFTER = Script(timeline=(Wait(1), Popup("x1", "https://pay.example/", noopener=True), Crash("x1"), Wait(1), Cut()))
"""The same, but the crash was heard of, and the link broke after it."""


@given(script=scripts(), profile=PROFILE, policy=POLICY, asks=ASKS, seed=SEED)
@example(
    script=CUT_AFTER,
    profile="headless-new",
    policy="must_respond",
    asks=[{"respond": "accept", "rank": 0}, {**ELSEWHERE, "page": 1}],
    seed=0,
)
@example(script=COME_BACK, profile="headless-new", policy="must_respond", asks=[ELSEWHERE], seed=0)
@example(script=SWAPPED, profile="headless-shell", policy="must_respond", asks=[], seed=0)
@example(script=ADRIFT, profile="headless-new", policy="must_respond", asks=[], seed=0)
@example(script=TWICE, profile="headless-new", policy="must_respond", asks=[], seed=9197)
@example(script=LEFT, profile="headless-new", policy="must_respond", asks=[], seed=1)
@example(script=BOTH, profile="headless-shell", policy="must_respond", asks=[ELSEWHERE], seed=2)
@example(script=BOTH, profile="headless-shell", policy="must_respond", asks=[AGAIN], seed=7)
@example(script=ON_ITS_WAY, profile="headless-new", policy="must_respond", asks=[], seed=0)
@example(script=AT_ONCE, profile="headless-new", policy="auto_accept", asks=[], seed=0)
@example(script=TWICE_LEFT, profile="headless-new", policy="auto_dismiss", asks=[THERE, THERE], seed=0)
@example(script=AT_ONCE, profile="headless-shell", policy="auto_accept", asks=[], seed=0)
def test_once_quiet_the_snapshot_is_the_truth(
    script: Script, profile: str, policy: Any, asks: list[Json], seed: int
) -> None:
    played = supervised_run.play(script, profile=profile, policy=policy, asks=asks, seed=seed, interrupt=True)
    supervised_run.check_quiet(played)


@FEWER
@given(script=scripts(), profile=PROFILE, policy=POLICY, asks=ASKS, seed=SEED)
def test_at_every_moment_nothing_false_is_shown(
    script: Script, profile: str, policy: Any, asks: list[Json], seed: int
) -> None:
    """Also in orders that no browser was seen to send, and with time that does not wait for anybody."""
    played = supervised_run.play(
        script, profile=profile, policy=policy, asks=asks, seed=seed, edges="causal", hurry=True
    )
    supervised_run.check_asks(played)


@FEWER
@given(script=scripts(), profile=PROFILE, policy=POLICY, seed=SEED, other=SEED)
def test_two_orders_with_the_same_truth_look_the_same(
    script: Script, profile: str, policy: Any, seed: int, other: int
) -> None:
    one = supervised_run.play(script, profile=profile, policy=policy, seed=seed)
    two = supervised_run.play(script, profile=profile, policy=policy, seed=other)
    same = supervised_run.plain_truth(one) == supervised_run.plain_truth(two)
    if is_race_free(script):
        assert same, "the script is race-free, and the truth is not the same"
    if same:
        assert supervised_run.plain_snapshot(one) == supervised_run.plain_snapshot(two)


@FEWER
@given(script=scripts(), profile=PROFILE, policy=POLICY, seed=SEED)
def test_a_dialog_is_answered_in_the_end_or_said_to_be_unanswerable(
    script: Script, profile: str, policy: Any, seed: int
) -> None:
    """With all the time that the machine wants: what can be answered was, by the watchdog at the latest."""
    played = supervised_run.play(script, profile=profile, policy=policy, seed=seed, horizon=2_000.0)
    supervised_run.check_quiet(played)
    for dialog in played.engine.snapshot().pending_dialogs:
        assert dialog.why
        assert not dialog.answerable
        assert dialog.remedies
        assert dialog.overdue


def test_every_scene_comes_to_its_truth() -> None:
    for name, scene in scenarios.SCENES.items():
        for profile in PROFILES:
            played = supervised_run.play(profile=profile, **scene.how())
            try:
                supervised_run.check_quiet(played)
            except AssertionError as wrong:
                pytest.fail(f"{name} ({profile}): {wrong}")


def test_a_schedule_gives_the_same_snapshots_again() -> None:
    """A run is its schedule: the engine brings no chance of its own."""
    for scene in scenarios.SCENES.values():
        first = supervised_run.play(**{**scene.how(), "seed": 11})
        again = supervised_run.play(**{**scene.how(), "asks": ()}, schedule=first.run.schedule, exact=True)
        assert again.run.schedule == first.run.schedule
        assert again.engine.snapshot().to_dict(full=True) == first.engine.snapshot().to_dict(full=True)
