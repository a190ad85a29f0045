"""Programs that misbehave: each run has an outcome with a named law, and its decisions reproduce it."""

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
"""Long enough for a busy machine; a program that does its part does not wait for these limits."""
SHORT = attrs.evolve(LIMITS, starting=0.4, ending=0.4, patience=0.4)
"""For the programs in `NEVER`, where each test waits out the limit."""
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
def test_a_correct_program_gets_no_complaint(how: str) -> None:
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
def test_each_misbehaviour_is_a_complaint_with_its_law(how: str, law: str, words: str) -> None:
    started_at = time.monotonic()
    outcome = run(how)
    assert law in laws(outcome), outcome
    assert words in " ".join(each.message for each in outcome.complaints if each.law == law)
    assert time.monotonic() - started_at < 15


def test_what_a_program_observed_is_compared_with_the_truth() -> None:
    """The program reports what it observed of a popup, and the report agrees with the truth."""
    script = Script(timeline=(Wait(1), Popup("a", noopener=True)))
    assert run("observes", script).complaints == ()


def test_decisions_reproduce_a_run_every_time() -> None:
    """The program fails for one order of two unordered lines: seeds find both, decisions repeat them."""
    orders: dict[bool, Outcome] = {}
    for seed in range(12):
        outcome = try_program(command("reads the order"), Example(script=TWO_LINES, seed=seed), LIMITS)
        orders.setdefault("errors-say-what-to-do" in laws(outcome), outcome)
        if len(orders) == 2:
            break
    assert set(orders) == {False, True}, "all twelve seeds gave the same order of the lines"
    for wrong, outcome in orders.items():
        for seed in range(3):  # the seed differs: the decisions alone count
            example = Example(script=TWO_LINES, seed=seed)
            again = try_program(command("reads the order"), example, LIMITS, decisions=outcome.decisions)
            assert ("errors-say-what-to-do" in laws(again)) is wrong
            assert again.followed == (len(outcome.decisions),) * 2
            assert again.decisions[: len(outcome.decisions)] == outcome.decisions


def test_decisions_that_cannot_be_followed_are_abandoned() -> None:
    decisions = (Hear(1, 0, "Target.setDiscoverTargets"), Hear(1, 0, "Browser.close"), Pass(1.0))
    hasty = attrs.evolve(LIMITS, patience=0.4)
    outcome = try_program(command("well"), Example(), hasty, decisions=decisions)
    assert outcome.complaints == ()
    assert outcome.followed == (1, 3)


def test_decisions_identify_messages_by_name() -> None:
    outcome = run("well", TWO_LINES)
    kinds = {type(each) for each in outcome.decisions}
    assert {Hear, Tell, Pass} <= kinds
    assert Tell(1, 0, "Target.attachedToTarget") in outcome.decisions
    assert Hear(1, 1, "Runtime.runIfWaitingForDebugger") in outcome.decisions
    assert Tell(1, 1, "reply to Runtime.runIfWaitingForDebugger") in outcome.decisions
    assert Leave(1) in run("leaves early").decisions


def test_unread_octets_of_a_client_that_left_are_counted() -> None:
    """On a busy machine they can be read long after the client left."""
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
    """Both commands are consumed before the first message is delivered."""
    schedule = Schedule((Consume(1, 2), Deliver(1), Deliver(1, rank=1)))
    taken = run("well", Script(), schedule=schedule).decisions
    assert [type(each) for each in taken[:4]] == [Hear, Hear, Tell, Tell]
    never = Schedule((Consume(1, 100),))
    hasty = attrs.evolve(LIMITS, patience=0.4)
    assert try_program(command("well"), Example(), hasty, schedule=never).complaints == ()


def test_a_program_that_computes_is_not_quiet_although_it_sends_nothing() -> None:
    """It computes for longer than `quiet` before it answers, directly or as the child of another program."""
    limits = attrs.evolve(LIMITS, quiet=0.05)
    for client in (command("thinks long"), f"sh -c {shlex.quote(command('thinks long') + '; true')}"):
        outcome = try_program(client, Example(script=POPUP), limits)
        assert outcome.complaints == ()
        assert Hear(1, 2, "Runtime.runIfWaitingForDebugger") in outcome.decisions


def test_child_processes_of_a_program_end_with_it(tmp_path: Path) -> None:
    started = tmp_path / "pid"
    client = f"sh -c {shlex.quote(f'sleep 60 & echo $! > {started}; exit 0')} {{url}}"
    assert laws(try_program(client, Example(), SHORT)) == ["a-client-connects"]
    state = Path(f"/proc/{started.read_text().strip()}/stat")
    for _ in range(100):
        if not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z":
            return
        time.sleep(0.02)
    pytest.fail("the child process still runs")


def test_decisions_survive_json() -> None:
    decisions = (Hear(1, 0, "a"), Tell(2, 1, "é", 3), Leave(1), Put(2), Pass(0.5))
    assert decisions_from_json(decisions_to_json(decisions)) == decisions
    for wrong in ({"decision": "Jump"}, {"decision": "Pass", "seconds": -1}, {"decision": "Hear"}, 3):
        with pytest.raises(InvalidArgument, match=r"decisions\[1\]"):
            decisions_from_json([{"decision": "Leave", "client": 1}, wrong])


# ── faults ───────────────────────────────────────────────────────────────────────────────────────────────────────────

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
def test_a_correct_program_gets_no_complaint_under_faults(faults: tuple[Fault, ...]) -> None:
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
def test_some_misbehaviour_shows_only_under_a_fault(how: str, fault: Fault) -> None:
    assert run(how).complaints == ()
    assert "errors-say-what-to-do" in laws(try_program(command(how), Example(faults=[fault]), LIMITS))


def test_a_fault_allows_only_what_it_causes() -> None:
    refused = Example(script=POPUP, faults=[Refuse("Page.enable")])
    assert laws(try_program(command("forgets to resume"), refused, LIMITS)) == ["paused-targets-wait-for-ever"]
    for wrong, law in (("stays", "nothing-waits-for-ever"), ("exits with 3", "errors-say-what-to-do")):
        assert law in laws(try_program(command(wrong), Example(faults=[Cut(2)]), SHORT))
    silent = Example(faults=[Silence(1, "in")])
    assert "a-client-connects" in laws(try_program(command("says nothing"), silent, SHORT))


def test_a_refused_program_may_leave_before_all_commands_are_answered() -> None:
    assert laws(run("leaves early")) == ["commands-are-waited-for"]
    faults = [Refuse("Browser.getVersion")]
    assert try_program(command("leaves early"), Example(faults=faults), LIMITS).complaints == ()


def test_a_large_text_in_small_pieces_does_not_take_minutes() -> None:
    script = Script(timeline=(Wait(1), Console("x", times=1 << 20)))
    started_at = time.monotonic()
    assert try_program(command("well"), Example(script=script, faults=[Split(1)]), LIMITS).complaints == ()
    assert time.monotonic() - started_at < 20


# ── asks ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

ACT = {"on": 1, "method": "Runtime.evaluate", "params": {"expression": "act()"}}
ACTS = Script(answers={"act()": Answer(1, (Dialog("confirm", "?"),))})


def test_a_program_does_what_an_ask_requests() -> None:
    example = Example(script=ACTS, asks=(ACT, {"on": 1, "detach": True}))
    outcome = try_program(command("asked"), example, LIMITS, asked=True)
    assert outcome.complaints == ()
    methods = {each.method for each in outcome.decisions if isinstance(each, Hear)}
    assert {Put(1), Put(2)} <= {*outcome.decisions}
    assert "Runtime.evaluate" in methods
    again = try_program(command("asked"), example, LIMITS, decisions=outcome.decisions, asked=True)
    assert again.decisions[: len(outcome.decisions)] == outcome.decisions


def test_asks_are_sent_only_if_enabled_and_may_be_ignored() -> None:
    example = Example(script=ACTS, asks=(ACT,))
    for asked in (False, True):
        outcome = try_program(command("well"), example, LIMITS, asked=asked)
        assert outcome.complaints == ()
        assert (Put(1) in outcome.decisions) is asked
        assert "Runtime.evaluate" not in {each.method for each in outcome.decisions if isinstance(each, Hear)}


def test_an_ask_to_a_program_that_closed_its_input_is_ignored() -> None:
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


def test_a_program_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(OSError, match="no-such-program"):
        try_program("/no-such-program {url}", Example(), LIMITS)
