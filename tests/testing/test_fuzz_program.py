"""Programs that misbehave in every way: each run has an outcome with a name, and what was decided happens again."""

from __future__ import annotations

import shlex
import socket
import sys
import time
from pathlib import Path

import attrs
import pytest

from cdp_core.errors import InvalidArgument
from cdp_core.testing import Script
from cdp_core.testing.faults import Cut, Delay, Drop, Duplicate, Fault, Merge, Refuse, Silence, Split
from cdp_core.testing.fuzz.decisions import Hear, Leave, Pass, Put, Tell, decisions_from_json, decisions_to_json
from cdp_core.testing.fuzz.program import Limits, Outcome, octets_at, try_program
from cdp_core.testing.fuzz.search import Example
from cdp_core.testing.schedules import Ask, Consume, Deliver, Schedule
from cdp_core.testing.steps import Answer, Console, Dialog, Popup, Wait
from support import small_program

PROGRAM = Path(small_program.__file__)
LIMITS = Limits(observing=0.3)
"""Long where a machine that is busy needs it, which costs nothing where a program does its part."""
SHORT = attrs.evolve(LIMITS, starting=0.4, ending=0.4, patience=0.4)
"""For those that do not: what they never do is waited for."""
NEVER = ("never connects", "says nothing", "stays", "never reads")
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
    limits = SHORT if how in NEVER else LIMITS
    return try_program(command(how), Example(script=script), limits, **more)  # type: ignore[arg-type]


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
        ("says nothing", "a-client-connects", "sent nothing"),
        ("exits with 3", "errors-say-what-to-do", "with 3"),
        ("dies of a signal", "errors-say-what-to-do", "by signal 9"),
        ("stays", "nothing-waits-for-ever", "does not exit"),
        ("never reads", "a-client-reads", "does not read"),
        ("leaves early", "commands-are-waited-for", "1 of its commands"),
        ("garbage", "nothing-the-peer-sends-raises", "1 malformed"),
        ("binary", "nothing-else-than-text", "a binary frame"),
        ("no frame", "nothing-else-than-text", "not a WebSocket frame"),
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
    assert words in " ".join(each.message for each in outcome.complaints if each.law == law)
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
        for seed in range(3):  # another seed: it is the decisions that decide
            example = Example(script=TWO_LINES, seed=seed)
            again = try_program(command("reads the order"), example, LIMITS, decisions=outcome.decisions)
            assert ("errors-say-what-to-do" in laws(again)) is wrong
            assert again.followed == (len(outcome.decisions),) * 2
            assert again.decisions[: len(outcome.decisions)] == outcome.decisions


def test_decisions_that_cannot_be_taken_are_given_up() -> None:
    decisions = (Hear(1, 0, "Target.setDiscoverTargets"), Hear(1, 0, "Browser.close"), Pass(1.0))
    hasty = attrs.evolve(LIMITS, patience=0.4)
    outcome = try_program(command("well"), Example(), hasty, decisions=decisions)
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


def test_what_a_client_said_before_it_left_is_still_seen_to_be_there() -> None:
    """On a busy machine it may be read long after."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(b"a word")
        browser, _ = server.accept()
        with browser:
            _unread, underway = octets_at(port)
            assert underway >= len(b"a word")
            while browser.recv(100):
                pass
            assert octets_at(port) == (0, 0)


def test_a_schedule_decides_for_every_example() -> None:
    """Both commands are heard before the first word is said."""
    schedule = Schedule((Consume(1, 2), Deliver(1), Deliver(1, rank=1)))
    taken = run("well", Script(), schedule=schedule).decisions
    assert [type(each) for each in taken[:4]] == [Hear, Hear, Tell, Tell]
    never = Schedule((Consume(1, 100),))
    hasty = attrs.evolve(LIMITS, patience=0.4)
    assert try_program(command("well"), Example(), hasty, schedule=never).complaints == ()


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
    assert laws(try_program(client, Example(), SHORT)) == ["a-client-connects"]
    state = Path(f"/proc/{started.read_text().strip()}/stat")
    for _ in range(100):
        if not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z":
            return
        time.sleep(0.02)
    pytest.fail("it still runs")


def test_decisions_survive_json() -> None:
    decisions = (Hear(1, 0, "a"), Tell(2, 1, "é", 3), Leave(1), Put(2), Pass(0.5))
    assert decisions_from_json(decisions_to_json(decisions)) == decisions
    for wrong in ({"decision": "Jump"}, {"decision": "Pass", "seconds": -1}, {"decision": "Hear"}, 3):
        with pytest.raises(InvalidArgument, match=r"decisions\[1\]"):
            decisions_from_json([{"decision": "Leave", "client": 1}, wrong])


# ── what goes wrong on purpose ───────────────────────────────────────────────────────────────────────────────────────

RUN, ANSWER, ATTACHED = "Runtime.runIfWaitingForDebugger", "Page.handleJavaScriptDialog", "Target.attachedToTarget"


@pytest.mark.parametrize(
    "faults",
    [
        (Refuse("Target.setAutoAttach"), Refuse("Page.enable", 2)),
        (Refuse(RUN, 2), Refuse(ANSWER)),
        (Drop(RUN), Duplicate("Runtime.enable"), Delay("Page.enable", 2.0)),
        (Cut(1, "in", "before"),),
        (Cut(9),),
        (Silence(1, "in"),),
        (Silence(4),),
        (Split(3), Merge(3)),
        (Drop(ATTACHED), Duplicate("Page.javascriptDialogOpening")),
    ],
    ids=repr,
)
def test_nothing_is_said_of_who_meets_what_went_wrong(faults: tuple[Fault, ...]) -> None:
    for how in ("well", "observes"):
        assert try_program(command(how), Example(script=POPUP, faults=faults), LIMITS).complaints == ()


@pytest.mark.parametrize(
    ("how", "fault"),
    [
        ("insists", Refuse("Target.setDiscoverTargets")),
        ("counts answers", Duplicate("Target.setAutoAttach")),
        ("believes all", Duplicate(ATTACHED)),
    ],
)
def test_some_are_wrong_only_where_something_goes_wrong(how: str, fault: Fault) -> None:
    assert run(how).complaints == ()
    assert "errors-say-what-to-do" in laws(try_program(command(how), Example(faults=[fault]), LIMITS))


def test_a_fault_excuses_what_it_causes_and_nothing_else() -> None:
    refused = Example(script=POPUP, faults=[Refuse("Page.enable")])
    assert laws(try_program(command("forgets to resume"), refused, LIMITS)) == ["paused-targets-wait-for-ever"]
    for wrong, law in (("stays", "nothing-waits-for-ever"), ("exits with 3", "errors-say-what-to-do")):
        assert law in laws(try_program(command(wrong), Example(faults=[Cut(2)]), SHORT))
    silent = Example(faults=[Silence(1, "in")])
    assert "a-client-connects" in laws(try_program(command("says nothing"), silent, SHORT))


def test_who_is_refused_may_leave_before_everything_is_answered() -> None:
    assert laws(run("leaves early")) == ["commands-are-waited-for"]
    faults = [Refuse("Browser.getVersion")]
    assert try_program(command("leaves early"), Example(faults=faults), LIMITS).complaints == ()


def test_a_large_text_in_small_pieces_does_not_take_minutes() -> None:
    script = Script(timeline=(Wait(1), Console("x", times=1 << 20)))
    begun = time.monotonic()
    assert try_program(command("well"), Example(script=script, faults=[Split(1)]), LIMITS).complaints == ()
    assert time.monotonic() - begun < 20


# ── what it is asked ─────────────────────────────────────────────────────────────────────────────────────────────────

ACT = {"on": 1, "method": "Runtime.evaluate", "params": {"expression": "act()"}}
ACTS = Script(answers={"act()": Answer(1, (Dialog("confirm", "?"),))})


def test_a_program_does_what_it_is_asked() -> None:
    example = Example(script=ACTS, asks=(ACT, {"on": 1, "detach": True}))
    outcome = try_program(command("asked"), example, LIMITS, asked=True)
    assert outcome.complaints == ()
    heard = {each.method for each in outcome.decisions if isinstance(each, Hear)}
    assert {Put(1), Put(2)} <= {*outcome.decisions}
    assert "Runtime.evaluate" in heard
    again = try_program(command("asked"), example, LIMITS, decisions=outcome.decisions, asked=True)
    assert again.decisions[: len(outcome.decisions)] == outcome.decisions


def test_nothing_is_asked_of_who_cannot_be_asked_and_who_does_not_listen_does_no_harm() -> None:
    example = Example(script=ACTS, asks=(ACT,))
    for asked in (False, True):
        outcome = try_program(command("well"), example, LIMITS, asked=asked)
        assert outcome.complaints == ()
        assert (Put(1) in outcome.decisions) is asked
        assert "Runtime.evaluate" not in {each.method for each in outcome.decisions if isinstance(each, Hear)}


def test_who_has_closed_its_input_is_asked_in_vain() -> None:
    example = Example(script=ACTS, asks=8 * (ACT,))
    outcome = try_program(command("listens to nobody"), example, LIMITS, asked=True)
    assert outcome.complaints == ()
    assert Put(8) in outcome.decisions


def test_a_schedule_may_ask_and_the_input_ends_with_the_browser() -> None:
    schedule = Schedule((Consume(1, 2), Ask(question={"on": 0, "method": "Browser.getVersion", "params": {}})))
    taken = try_program(command("asked"), Example(), LIMITS, schedule=schedule, asked=True).decisions
    assert taken[2] == Put(1)
    assert Hear(1, 0, "Browser.getVersion") in taken
    assert try_program(command("waits for its user"), Example(), LIMITS, asked=True).complaints == ()


def test_a_program_that_is_none_is_an_error() -> None:
    with pytest.raises(OSError, match="no-such-program"):
        try_program("/no-such-program {url}", Example(), LIMITS)
