"""Laws 1 and 2: the snapshot agrees with the truth, and does not depend on the order of the messages.

The truth is the fake browser's own record, which no client sees. `supervised_run.check_moment` checks after each turn
what must hold at every moment; `check_quiet` checks at the end what must hold once no message is on its way.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings

from cdp_core.testing.fake.world import PROFILES
from cdp_core.testing.steps import AddFrame, Crash, Cut, Dialog, Navigate, NavigateFrame, Popup, Script, Wait
from cdp_core.testing.strategies import is_race_free, scripts
from support import scenarios, supervised_run
from support.drawn_requests import ASKS, POLICY, PROFILE, SEED

Json = dict[str, Any]
FEWER = settings(max_examples=max(settings().max_examples // 3, 1))

LATER = "https://pay.example/3"
ADRIFT = Script(pages={LATER: (Dialog("confirm", "b"),)}, timeline=(Wait(1), AddFrame("x1", LATER), Wait(1), Cut()))
"""The link breaks during the dialog of an out-of-process frame; frame and dialog outlive the link."""
SWAPPED = Script(timeline=(Wait(1), AddFrame("x1", "https://shop.example/"), Dialog(frame="x1")))
"""A frame opens a dialog in its first document and then changes its process; the dialog stays open."""
TWO_DOCUMENTS = Script(
    pages={LATER: (Dialog("confirm", "b"),)},
    timeline=(
        Wait(1),
        AddFrame("x1", LATER),
        Dialog("alert", "a", frame="x1"),
        Wait(1),
        NavigateFrame("x1", "about:blank"),
    ),
)
"""A frame has a dialog open while its next document, in another process, opens one already."""

FRAME_LEFT = Script(
    pages={
        "https://ads.example/1": (AddFrame("d", LATER), Wait(1), Dialog("confirm", "a")),
        LATER: (Wait(1), Dialog("confirm", "b")),
    },
    timeline=(
        *(Wait(1), Navigate("https://ads.example/1"), AddFrame("x1", LATER)),
        *(Wait(1), NavigateFrame("x1", "https://shop.example/")),
    ),
)
"""A frame navigates away from a document that is about to open a dialog, in a process that is blocked."""
PAGE_AND_FRAME = Script(
    pages={"https://ads.example/1": FRAME_LEFT.pages["https://ads.example/1"], LATER: FRAME_LEFT.pages[LATER]},
    timeline=(Wait(1), Navigate("https://ads.example/1")),
)
"""A page and one of its frames have dialogs open while the page is navigated or reloaded."""
BLOCKED_PROCESS = Script(
    pages={LATER: (Wait(1), Dialog("confirm", "b"))},
    timeline=(
        *(Wait(1), AddFrame("x1", LATER), Wait(1), Popup("x2", "https://shop.example/2")),
        AddFrame("x3", "https://pay.example/", parent="x2"),
    ),
)
"""A frame of a second page must load in a process that a dialog of the first page blocks."""
AT_ONCE = Script(pages={LATER: (Dialog(),)}, timeline=(Wait(1), AddFrame("x1", LATER), Dialog(frame="x1")))
"""A frame opens a dialog in its first document and in its next one at the same moment."""
NAVIGATE_TO_SHOP: Json = {"call": "Page.navigate", "params": {"url": "https://shop.example/"}, "page": 0}
ANSWER_TO_NEXT = Script(pages={"https://ads.example/1": (Dialog(),)}, timeline=(Dialog(),))
"""A navigation closes a dialog before our answer arrives; the answer meets the next document's dialog."""
NAVIGATE_TO_ADS: Json = {"call": "Page.navigate", "params": {"url": "https://ads.example/1"}, "page": 0}
RELOAD: Json = {"call": "Page.reload", "params": {}, "page": 0}


CRASHED_BEFORE = Script(timeline=(Crash(),))
"""A page that had crashed before the supervisor connected loads again."""


CUT_AFTER_CRASH = Script(
    timeline=(Wait(1), Popup("x1", "https://pay.example/", noopener=True), Crash("x1"), Wait(1), Cut())
)
"""The same, but the supervisor received the crash event, and the link broke after it."""


@given(script=scripts(), profile=PROFILE, policy=POLICY, asks=ASKS, seed=SEED)
@example(
    script=CUT_AFTER_CRASH,
    profile="headless-new",
    policy="must_respond",
    asks=[{"respond": "accept", "rank": 0}, {**NAVIGATE_TO_SHOP, "page": 1}],
    seed=0,
)
@example(script=CRASHED_BEFORE, profile="headless-new", policy="must_respond", asks=[NAVIGATE_TO_SHOP], seed=0)
@example(script=SWAPPED, profile="headless-shell", policy="must_respond", asks=[], seed=0)
@example(script=ADRIFT, profile="headless-new", policy="must_respond", asks=[], seed=0)
@example(script=TWO_DOCUMENTS, profile="headless-new", policy="must_respond", asks=[], seed=9197)
@example(script=FRAME_LEFT, profile="headless-new", policy="must_respond", asks=[], seed=1)
@example(script=PAGE_AND_FRAME, profile="headless-shell", policy="must_respond", asks=[NAVIGATE_TO_SHOP], seed=2)
@example(script=PAGE_AND_FRAME, profile="headless-shell", policy="must_respond", asks=[RELOAD], seed=7)
@example(script=BLOCKED_PROCESS, profile="headless-new", policy="must_respond", asks=[], seed=0)
@example(script=AT_ONCE, profile="headless-new", policy="auto_accept", asks=[], seed=0)
@example(
    script=ANSWER_TO_NEXT,
    profile="headless-new",
    policy="auto_dismiss",
    asks=[NAVIGATE_TO_ADS, NAVIGATE_TO_ADS],
    seed=0,
)
@example(script=AT_ONCE, profile="headless-shell", policy="auto_accept", asks=[], seed=0)
def test_once_quiet_the_snapshot_is_the_truth(
    script: Script, profile: str, policy: Any, asks: list[Json], seed: int
) -> None:
    played = supervised_run.play(script, profile=profile, policy=policy, asks=asks, seed=seed, interrupt=True)
    supervised_run.check_quiet(played)


@FEWER
@given(script=scripts(), profile=PROFILE, policy=POLICY, asks=ASKS, seed=SEED)
def test_the_snapshot_is_never_wrong_at_any_moment(
    script: Script, profile: str, policy: Any, asks: list[Json], seed: int
) -> None:
    """In causal order, and with time that passes while messages are on their way."""
    played = supervised_run.play(
        script, profile=profile, policy=policy, asks=asks, seed=seed, edges="causal", hurry=True
    )
    supervised_run.check_asks(played)


@FEWER
@given(script=scripts(), profile=PROFILE, policy=POLICY, seed=SEED, other=SEED)
def test_two_orders_with_the_same_truth_give_the_same_snapshot(
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
def test_a_dialog_is_answered_in_the_end_or_shown_as_unanswerable(
    script: Script, profile: str, policy: Any, seed: int
) -> None:
    """After every deadline, each answerable dialog has been answered, by the watchdog at the latest."""
    played = supervised_run.play(script, profile=profile, policy=policy, seed=seed, horizon=2_000.0)
    supervised_run.check_quiet(played)
    for dialog in played.engine.snapshot().pending_dialogs:
        assert dialog.why
        assert not dialog.answerable
        assert dialog.remedies
        assert dialog.overdue


def test_every_scene_ends_with_a_true_snapshot() -> None:
    for name, scene in scenarios.SCENES.items():
        for profile in PROFILES:
            played = supervised_run.play(profile=profile, **scene.how())
            try:
                supervised_run.check_quiet(played)
            except AssertionError as wrong:
                pytest.fail(f"{name} ({profile}): {wrong}")


def test_a_schedule_gives_the_same_snapshots_again() -> None:
    """The schedule determines the whole run: the engine has no randomness of its own."""
    for scene in scenarios.SCENES.values():
        first = supervised_run.play(**{**scene.how(), "seed": 11})
        again = supervised_run.play(**{**scene.how(), "asks": ()}, schedule=first.run.schedule, exact=True)
        assert again.run.schedule == first.run.schedule
        assert again.engine.snapshot().to_dict(full=True) == first.engine.snapshot().to_dict(full=True)
