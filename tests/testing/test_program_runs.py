"""Programs that misbehave in every way: each run has an outcome with a name, and what was decided happens again."""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path

import attrs
import pytest

from cdp_core.errors import InvalidArgument
from cdp_core.testing import Script
from cdp_core.testing.conducting import Hear, Leave, Pass, Tell, decisions_from_json, decisions_to_json
from cdp_core.testing.hunts import Example
from cdp_core.testing.program_runs import Limits, Outcome, try_program
from cdp_core.testing.schedules import Consume, Deliver, Schedule
from cdp_core.testing.steps import Console, Dialog, Popup, Wait

PROGRAM = Path(__file__).with_name("small_program.py")
LIMITS = Limits(starting=1.5, ending=1.5, patience=1.0, saying=0.3, whole=20)
POPUP = Script(timeline=(Wait(1), Popup("a", "https://a.example/"), Wait(1), Dialog("confirm", "?", frame="a")))
TWO_LINES = Script(
    timeline=(
        Wait(1),
        Popup("a", "https://a.example/", noopener=True),
        Wait(1),
        Console("first"),
        Console("second", frame="a"),
    )
)


def command(how: str) -> str:
    return f"{shlex.quote(sys.executable)} -S -E {shlex.quote(str(PROGRAM))} {{url}} {shlex.quote(how)}"


def run(how: str, script: Script = POPUP, **more: object) -> Outcome:
    return try_program(command(how), Example(script=script), LIMITS, **more)  # type: ignore[arg-type]


def laws(outcome: Outcome) -> list[str]:
    return [complaint.law for complaint in outcome.complaints]


@pytest.mark.parametrize("how", ["well", "observes"])
def test_nothing_is_said_of_who_does_nothing_wrong(how: str) -> None:
    assert run(how).complaints == ()


@pytest.mark.parametrize(
    ("how", "law", "words"),
    [
        ("never connects", "a-client-connects", "opened no WebSocket"),
        ("exits at once", "a-client-connects", "opened no WebSocket"),
        ("speaks no HTTP", "a-client-connects", "opened no WebSocket"),
        ("says nothing", "a-client-connects", "said nothing"),
        ("exits with 3", "errors-say-what-to-do", "with 3"),
        ("dies of a signal", "errors-say-what-to-do", "by signal 9"),
        ("stays", "nothing-waits-for-ever", "does not end"),
        ("never reads", "a-client-reads", "does not read"),
        ("leaves early", "commands-are-waited-for", "1 of its commands"),
        ("garbage", "nothing-the-peer-sends-raises", "1 malformed"),
        ("binary", "nothing-else-than-text", "a binary frame"),
        ("no frame", "nothing-else-than-text", "no WebSocket frame"),
        ("200 MiB", "nothing-else-than-text", "100 MiB"),
        ("same id", "ids-are-used-once", "the id 1"),
        ("forgets to resume", "paused-targets-wait-for-ever", "runIfWaitingForDebugger"),
        ("forgets to answer", "a-dialog-stops-its-page", "confirm"),
    ],
)
def test_each_kind_of_wrong_has_a_name(how: str, law: str, words: str) -> None:
    begun = time.monotonic()
    outcome = run(how)
    assert law in laws(outcome), outcome
    assert words in " ".join(each.said for each in outcome.complaints if each.law == law)
    assert time.monotonic() - begun < 15


def test_what_a_program_observed_is_compared_with_the_truth() -> None:
    """The program that forgets sessions says so itself."""
    script = Script(timeline=(Wait(1), Popup("a", noopener=True)))
    assert run("observes", script).complaints == ()


def test_what_was_decided_happens_again_every_time() -> None:
    """The program fails in one order of two lines that nothing fixes: chance finds both, and decisions bring it back."""
    orders: dict[bool, Outcome] = {}
    for seed in range(12):
        outcome = try_program(command("reads the order"), Example(script=TWO_LINES, seed=seed), LIMITS)
        orders.setdefault("errors-say-what-to-do" in laws(outcome), outcome)
        if len(orders) == 2:
            break
    assert set(orders) == {False, True}, "no seed of twelve, or each, had the second line first"
    for wrong, outcome in orders.items():
        for seed in range(5):  # another seed: it is the decisions that decide
            example = Example(script=TWO_LINES, seed=seed)
            again = try_program(command("reads the order"), example, LIMITS, decisions=outcome.decisions)
            assert ("errors-say-what-to-do" in laws(again)) is wrong
            assert again.followed == (len(outcome.decisions),) * 2
            assert again.decisions[: len(outcome.decisions)] == outcome.decisions


def test_decisions_that_cannot_be_taken_are_given_up() -> None:
    decisions = (Hear(1, 0, "Target.setDiscoverTargets"), Hear(1, 0, "Browser.close"), Pass(1.0))
    outcome = run("well", Script(), decisions=decisions)
    assert outcome.complaints == ()
    assert outcome.followed == (1, 3)


def test_decisions_are_of_names_and_not_of_numbers() -> None:
    outcome = run("well", TWO_LINES)
    kinds = {type(each) for each in outcome.decisions}
    assert {Hear, Tell, Pass} <= kinds
    assert Tell(1, 0, "Target.attachedToTarget") in outcome.decisions
    assert Hear(1, 1, "Runtime.runIfWaitingForDebugger") in outcome.decisions
    assert Tell(1, 1, "reply to Runtime.runIfWaitingForDebugger") in outcome.decisions
    assert Leave(1) in run("leaves early").decisions


def test_a_schedule_decides_for_every_example() -> None:
    """Both commands are heard before the first word is said."""
    schedule = Schedule((Consume(1, 2), Deliver(1), Deliver(1, rank=1)))
    taken = run("well", Script(), schedule=schedule).decisions
    assert [type(each) for each in taken[:4]] == [Hear, Hear, Tell, Tell]
    never = Schedule((Consume(1, 100),))
    assert run("well", Script(), schedule=never).complaints == ()


def test_a_program_that_has_work_is_not_quiet_however_long_it_is_silent() -> None:
    """It computes for longer than quiet lasts before it answers; so does one that another program started."""
    limits = attrs.evolve(LIMITS, quiet=0.05)
    for client in (command("thinks long"), f"sh -c {shlex.quote(command('thinks long') + '; true')}"):
        outcome = try_program(client, Example(script=POPUP), limits)
        assert outcome.complaints == ()
        assert Hear(1, 2, "Runtime.runIfWaitingForDebugger") in outcome.decisions


def test_what_a_program_started_ends_with_it(tmp_path: Path) -> None:
    started = tmp_path / "pid"
    client = f"sh -c {shlex.quote(f'sleep 60 & echo $! > {started}; exit 0')} {{url}}"
    assert laws(try_program(client, Example(), LIMITS)) == ["a-client-connects"]
    state = Path(f"/proc/{started.read_text().strip()}/stat")
    for _ in range(100):
        if not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z":
            return
        time.sleep(0.02)
    pytest.fail("it still runs")


def test_decisions_survive_json() -> None:
    decisions = (Hear(1, 0, "a"), Tell(2, 1, "é", 3), Leave(1), Pass(0.5))
    assert decisions_from_json(decisions_to_json(decisions)) == decisions
    for wrong in ({"decision": "Jump"}, {"decision": "Pass", "seconds": -1}, {"decision": "Hear"}, 3):
        with pytest.raises(InvalidArgument, match=r"decisions\[1\]"):
            decisions_from_json([{"decision": "Leave", "client": 1}, wrong])


def test_a_program_that_is_none_is_an_error() -> None:
    with pytest.raises(OSError, match="no-such-program"):
        try_program("/no-such-program {url}", Example(), LIMITS)
