"""Strategies: every script can be played, at least half are race-free, and examples shrink to little."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from typing import Any

import pytest
from hypothesis import example, find, given, settings
from hypothesis import strategies as st

from cdp_core.testing import steps as kinds
from cdp_core.testing.fake.browser import FakeBrowser
from cdp_core.testing.fake.player import GoneError, Player
from cdp_core.testing.fake.world import PROFILES
from cdp_core.testing.schedules import Advance, Consume, Deliver, Schedule
from cdp_core.testing.simulation import Pump
from cdp_core.testing.steps import AddFrame, Crash, Cut, Dialog, Go, Navigate, Popup, RemoveFrame, Script, Wait
from cdp_core.testing.strategies import is_race_free, schedules, scripts
from support import naive_client

QUICK = settings(database=None, derandomize=True, max_examples=600)


def frames_of(fake: FakeBrowser) -> list[Any]:
    return list(fake.truth().frames)


# ── scripts ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@given(script=scripts(), profile=st.sampled_from(PROFILES))
def test_a_script_can_be_played_without_a_client(script: Script, profile: Any) -> None:
    fake = FakeBrowser(script, profile=profile)
    while (at := fake.next_time()) is not None:
        fake.advance(at)


@given(script=scripts(max_steps=12), profile=st.sampled_from(PROFILES), seed=st.integers(0, 2**32))
@example(
    script=Script(timeline=(Popup("x1"), Crash(), AddFrame("x2", parent="x1"), Wait(1), AddFrame("x3", parent="x2"))),
    profile="headless-new",
    seed=0,
)
def test_every_step_finds_the_frame_that_it_names(script: Script, profile: Any, seed: int) -> None:
    """The client here closes nothing, and time waits until every command is answered."""
    with pytest.MonkeyPatch.context() as patch:
        missed: list[str] = []
        frame = Player.frame

        def watched(player: Player, label: str, here: Any = None) -> Any:
            try:
                return frame(player, label, here)
            except GoneError:
                if here is None:  # the script of a document can run after its document was left
                    missed.append(label)
                raise

        patch.setattr(Player, "frame", watched)
        pump = Pump(FakeBrowser(script, profile=profile), [naive_client.NaiveClient()], seed=seed)
        assert pump.run().quiet
    # A crash also ends the pages that share the process: a popup of the page, or its opener.
    assert missed == [] or {Popup, Crash} <= {type(step) for step in script.steps()}


def test_at_least_half_are_race_free_and_the_rest_is_not() -> None:
    found: Counter[bool] = Counter()

    @settings(max_examples=300, database=None, derandomize=True)
    @given(script=scripts())
    def look(script: Script) -> None:
        found[is_race_free(script)] += 1

    look()
    assert found[True] >= 150
    assert found[False] >= 50


@given(script=scripts(race_free=True))
def test_race_free_scripts_are_marked(script: Script) -> None:
    assert is_race_free(script)


@pytest.mark.parametrize(
    ("script", "race_free_expected"),
    [
        (Script(), True),
        (Script(timeline=[Wait(1), AddFrame("a"), Wait(1), RemoveFrame("a")]), True),
        (Script(timeline=[AddFrame("a")]), False),
        (Script(timeline=[Wait(0), AddFrame("a")]), False),
        (Script(timeline=[Wait(1), AddFrame("a"), RemoveFrame("a")]), False),
        (Script(pages={"u": [AddFrame("a")]}), True),
        (Script(pages={"u": [Dialog()]}), False),
        (Script(pages={"u": [Wait(1)]}), False),
        (Script(answers={"f()": kinds.Answer(steps=[Dialog()])}), True),
    ],
)
def test_is_race_free_recognizes_a_script_without_races(script: Script, race_free_expected: bool) -> None:
    assert is_race_free(script) is race_free_expected


def test_scripts_contain_every_kind_of_step_and_situation() -> None:
    found: Counter[str] = Counter()
    reached: Counter[str] = Counter()

    @settings(max_examples=300, database=None, derandomize=True)
    @given(script=scripts())
    def look(script: Script) -> None:
        found.update(type(step).__name__ for step in script.steps())
        fake = FakeBrowser(script)
        Pump(fake, [naive_client.NaiveClient(script.answers)]).run()
        reached["out of process"] += any(frame.out_of_process for frame in frames_of(fake))
        reached["nested"] += any(
            frame.parent in {each.id for each in frames_of(fake) if each.parent} for frame in frames_of(fake)
        )
        reached["dialog"] += bool(fake.truth().dialogs)
        reached["pages"] += len(fake.truth().pages) > 1

    look()
    assert set(found) == set(kinds.KINDS)
    assert min(found.values()) >= 5, found
    assert min(reached[each] for each in ("out of process", "nested", "dialog", "pages")) >= 10, reached


# ── shrinking ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_lost_out_of_process_frame_shrinks_to_one_step() -> None:
    """For a client that ignores out-of-process frames, the smallest example is one frame of another site."""

    def has_out_of_process_frame(script: Script) -> bool:
        fake = FakeBrowser(script)
        while (at := fake.next_time()) is not None:
            fake.advance(at)
        return any(frame.out_of_process for frame in frames_of(fake))

    script = find(scripts(), has_out_of_process_frame, settings=QUICK)
    assert sum(isinstance(step, AddFrame) for step in script.steps()) == 1, script
    assert sum(not isinstance(step, Wait) for step in script.steps()) <= 3, script


def test_two_dialogs_of_two_frames_shrink_to_four_steps() -> None:
    def opens_two(script: Script) -> bool:
        client = naive_client.NaiveClient(script.answers)
        Pump(FakeBrowser(script), [client]).run()
        opened = [message for way, message in client.log if message.get("method") == "Page.javascriptDialogOpening"]
        return len(opened) >= 2 and len({message["params"]["frameId"] for message in opened}) >= 2

    script = find(scripts(), opens_two, settings=QUICK)
    assert sum(not isinstance(step, Wait) for step in script.steps()) <= 4, script
    assert all(len(getattr(step, "message", "")) <= 1 for step in script.steps())


def test_a_client_that_forgets_a_navigation_shrinks_to_few_steps() -> None:
    """The client keeps the frames of a document that the page navigated away from (fact 9)."""

    class Forgetful(naive_client.NaiveClient):  # type: ignore[name-defined, misc]
        def on_frame_navigated(self, session: str | None, params: Any) -> None:
            frame = params["frame"]
            known = self.frames.get(frame["id"], {"parent": None})
            self.frames[frame["id"]] = {**known, "url": frame["url"], "session": session}

    def is_wrong(script: Script) -> bool:
        fake, client = FakeBrowser(script), Forgetful(script.answers)
        run = Pump(fake, [client]).run()
        truth = fake.truth()
        cut = any(isinstance(step, Cut) for step in script.steps())
        silent = truth.crashed or truth.blocked
        return run.quiet and not cut and not silent and set(client.frames) != {each.id for each in truth.frames}

    script = find(scripts(race_free=True), is_wrong, settings=QUICK)
    assert {AddFrame, Wait} < {type(step) for step in script.steps()} <= {AddFrame, Wait, Navigate, Go}, script
    assert sum(not isinstance(step, Wait) for step in script.steps()) <= 3, script


# ── schedules ────────────────────────────────────────────────────────────────────────────────────────────────────────


@given(data=st.data(), script=scripts(), clients=st.integers(1, 3), edges=st.sampled_from(["observed", "causal"]))
def test_schedules_fit_their_script(data: st.DataObject, script: Script, clients: int, edges: Any) -> None:
    schedule = data.draw(schedules(script, clients=clients, edges=edges, max_turns=10))
    assert schedule.edges == edges
    assert len(schedule.turns) <= 10
    for turn in schedule.turns:
        assert isinstance(turn, (Deliver, Consume, Advance))
        assert not isinstance(turn, Advance) or not is_race_free(script)
        assert isinstance(turn, Advance) or 1 <= turn.client <= clients


def test_a_schedule_shrinks_to_the_turn_that_matters() -> None:
    """A reply of the browser process overtakes one of the renderer: one turn out of order is enough."""
    script = Script()

    def overtakes(schedule: Schedule) -> bool:
        client = naive_client.NaiveClient()
        run = Pump(FakeBrowser(script), [client], schedule=schedule).run()
        numbers = [turn.number for turn in run.schedule.turns if isinstance(turn, Deliver)]
        return numbers != sorted(numbers)

    schedule = find(schedules(script), overtakes, settings=QUICK)
    assert [turn.rank for turn in schedule.turns if isinstance(turn, Deliver) and turn.rank] == [1], schedule
    assert not any(isinstance(turn, Advance) for turn in schedule.turns)


# ── without Hypothesis ───────────────────────────────────────────────────────────────────────────────────────────────


def test_without_hypothesis_the_extra_is_named_and_the_rest_works() -> None:
    program = """
import sys
sys.modules["hypothesis"] = None
import cdp_core.testing.simulation, cdp_core.testing.faults, cdp_core.testing.transport
try:
    import cdp_core.testing.strategies
except ImportError as missing:
    print(missing)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "cdp_core.testing.strategies needs Hypothesis: install cdp-supervisor[testing].\n"
