"""Allowances: a fault allows what it causes, and nothing else.

The right client is never accused, and a wrong client still is.
"""

from __future__ import annotations

import json
from typing import Any

import attrs
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from cdp_core.testing.fake.browser import FakeBrowser
from cdp_core.testing.faults import LEGALITIES, Cut, Delay, Drop, Duplicate, Fault, Legality, Merge, Refuse, Silence
from cdp_core.testing.fuzz.search import Example, examples_of, hunt_with, shrunk, try_example
from cdp_core.testing.judge.allowances import Allowances
from cdp_core.testing.judge.laws import Complaint
from cdp_core.testing.judge.observation import judge
from cdp_core.testing.simulation import Pump
from cdp_core.testing.steps import AddFrame, Dialog, Popup, Script, Wait
from cdp_core.testing.strategies import faults as faults_of
from cdp_core.testing.strategies import scripts
from support import small_clients

RUN, ANSWER, LISTEN = "Runtime.runIfWaitingForDebugger", "Page.handleJavaScriptDialog", "Page.enable"
WATCH, TREE, DISCOVER = "Target.setAutoAttach", "Page.getFrameTree", "Target.setDiscoverTargets"
ATTACHED, OPENING = "Target.attachedToTarget", "Page.javascriptDialogOpening"
POPUP = Script(timeline=(Wait(1), Popup("a", noopener=True)))
ASKS = Script(timeline=(Wait(1), AddFrame("f", "https://pay.example/"), Wait(1), Dialog("confirm", "?")))


def laws(make_client: Any, script: Script, *faults: Fault) -> set[str]:
    return {complaint.law for complaint in try_example(make_client, Example(script=script, faults=faults))}


# ── what a client leaves behind ──────────────────────────────────────────────────────────────────────────────────────


class Patient:
    """A client that waits for each reply before it sends the next command, as many clients do."""

    def __init__(self, right: Any) -> None:
        self._right, self._waiting = right, False
        self._written: list[bytes] = []

    def start(self) -> list[bytes]:
        return self._next(self._right.start())

    def receive(self, payload: bytes) -> list[bytes]:
        self._waiting = self._waiting and b'{"id"' not in payload[:5]
        return self._next(self._right.receive(payload))

    def _next(self, more: list[bytes]) -> list[bytes]:
        self._written += more
        if self._waiting or not self._written:
            return []
        self._waiting = True
        return [self._written.pop(0)]


@pytest.mark.parametrize(
    ("faults", "complained"),
    [
        ((), True),
        ((Refuse(LISTEN),), True),
        ((Delay(RUN, 2.0),), True),
        ((Duplicate(RUN),), True),
        ((Merge(3),), True),
        ((Refuse(RUN, 7),), True),
        ((Silence(1, "in", client=2),), True),
        ((Drop(LISTEN),), False),
        ((Silence(9),), False),
        ((Silence(9, "in"),), False),
        ((Cut(9),), False),
        ((Drop(ATTACHED),), False),
    ],
    ids=repr,
)
def test_a_page_may_stay_paused_if_a_fault_lets_its_client_wait(faults: tuple[Fault, ...], complained: bool) -> None:
    found = laws(small_clients.ForgetsToRun, POPUP, *faults)
    assert ("paused-targets-wait-for-ever" in found) is complained


def test_only_the_page_whose_resume_was_refused_may_stay_paused() -> None:
    right, forgets = small_clients.RightClient, small_clients.ForgetsToRun
    for fault in (Refuse(RUN), Drop(RUN), Refuse(RUN, 2), Drop(RUN, 2)):
        assert laws(right, POPUP, fault) == set()

    class RunsTheFirst(forgets):  # type: ignore[misc, valid-type]
        def let_run(self, session: str) -> None:
            if len(self.sessions) == 1:
                right.let_run(self, session)

    assert laws(RunsTheFirst, POPUP, Refuse(RUN)) == {"paused-targets-wait-for-ever"}


def test_a_disconnected_or_refused_client_may_leave_a_popup_paused() -> None:
    window = Script(timeline=(Wait(1), Popup("a")))
    for nth in range(5, 14):
        assert laws(small_clients.RightClient, window, Cut(nth, "in")) == set()
    for fault, allowed in ((Refuse(RUN, 2), True), (Refuse(LISTEN, 2), False)):
        fake = FakeBrowser(window, faults=[fault])
        Pump(fake, [small_clients.RightClient()]).run()
        assert Allowances(fake, 1).may_leave_paused(None) is allowed


def test_a_lost_answer_allows_a_wrong_closed_by() -> None:
    for fault, laws_broken in ((Drop(ANSWER), []), (Refuse(ANSWER), ["closed-precedes-reply"])):
        fake = FakeBrowser(faults=[fault])
        end = fake.connect()
        attach = {"targetId": fake.truth().pages[0], "flatten": True}
        end.receive(json.dumps({"id": 1, "method": "Target.attachToTarget", "params": attach}).encode())
        session = fake.truth().sessions[0][1]
        end.receive(json.dumps({"id": 2, "method": LISTEN, "sessionId": session}).encode())
        fake.play(Dialog("confirm", "?"))
        end.receive(json.dumps({"id": 3, "method": ANSWER, "params": {"accept": True}, "sessionId": session}).encode())
        shown = {"dialogs": [{"message": "?", "closed_by": "us"}]}
        assert [complaint.law for complaint in judge(fake, shown)] == laws_broken


def test_a_client_that_waits_for_a_dropped_reply_gets_no_complaint() -> None:
    for method in (LISTEN, "Runtime.enable", TREE, WATCH):
        for nth in (1, 2):
            assert laws(lambda: Patient(small_clients.RightClient()), POPUP, Drop(method, nth)) == set()


@pytest.mark.parametrize(
    ("fault", "complained"),
    [(Refuse(ANSWER), False), (Drop(ANSWER), False), (Drop(OPENING), False), (Refuse(TREE), True)],
)
def test_a_dialog_may_stay_open_if_its_answer_was_refused_or_dropped(fault: Fault, complained: bool) -> None:
    right = small_clients.RightClient

    class Mute(right):  # type: ignore[misc, valid-type]
        def answer(self, session: str, where: tuple[str, str]) -> None:
            if not complained:
                right.answer(self, session, where)

    assert laws(Mute, ASKS, fault) == ({"a-dialog-stops-its-page"} if complained else set())


def test_a_client_may_enable_late_if_its_first_enable_was_refused() -> None:
    right = small_clients.RightClient

    class Again(right):  # type: ignore[misc, valid-type]
        def on_refusal(self, key: Any, session: str | None, method: str, error: Any) -> None:
            right.on_refusal(self, key, session, method, error)
            if method == LISTEN:
                self.send(session, LISTEN)

    url = "https://shop.example/2"
    script = Script(pages={url: (Dialog("confirm", "?"),)}, timeline=(Wait(1), Popup("a", url, noopener=True)))
    late = "listen-before-you-let-run"
    assert late in laws(small_clients.RunsFirst, script, Refuse("Runtime.enable", 2))
    for seed in range(8):
        example = Example(script=script, seed=seed, faults=[Refuse(LISTEN, 2)])
        assert late not in {complaint.law for complaint in try_example(Again, example)}


# ── observations ─────────────────────────────────────────────────────────────────────────────────────────────────────

WRONG: dict[str, Any] = {
    "sessions": [],
    "frames": {},
    "targets": {},
    "unanswered": 99,
    "dialogs": [],
    "heard": {ATTACHED: 99},
}


@pytest.mark.parametrize(
    ("fault", "allowed"),
    [
        (Refuse("Runtime.enable"), set()),
        (Delay(OPENING, 0.25), set()),
        (Duplicate(LISTEN), set()),
        (Refuse(DISCOVER), {"targets", "frames"}),
        (Refuse(TREE), {"frames"}),
        (Drop(TREE), {"frames"}),
        (Refuse(LISTEN, 2), {"frames"}),
        (Refuse(WATCH, 2), {"frames"}),
        (Drop(ANSWER), {"dialogs"}),
        (Silence(14), set(WRONG) - {"heard"}),
        (Silence(7, "in"), set(WRONG) - {"heard"}),
        (Duplicate("Page.frameNavigated"), set(WRONG) - {"heard"}),
        (Cut(20), set(WRONG)),
    ],
    ids=lambda given: repr(given) if not isinstance(given, set) else len(given),
)
def test_each_part_of_an_observation_has_its_own_allowances(fault: Fault, allowed: set[str]) -> None:
    fake, client = FakeBrowser(ASKS, faults=[fault]), small_clients.RightClient()
    assert Pump(fake, [client]).run().quiet
    assert fake.matched_faults(1).faults == (fault,)
    assert judge(fake, client.observed()) == ()
    accused = {part for part, shown in WRONG.items() if judge(fake, {part: shown})}
    assert accused == set(WRONG) - allowed - ({"dialogs"} if not closed_a_dialog(fake) else set())


def closed_a_dialog(fake: FakeBrowser) -> bool:
    """Return true if the client closed a dialog, so that its observation can miss one."""
    return any(dialog.closed_by == 1 for dialog in fake.truth().dialogs)


def test_a_second_answer_is_judged_although_a_command_was_delayed() -> None:
    """The fake records what the client knew when it wrote, although the commands waited in a queue."""
    assert "a-dialog-is-answered-once" in laws(small_clients.AnswersTwice, ASKS, Delay(LISTEN, 0.25))
    assert "a-dialog-is-answered-once" not in laws(small_clients.AnswersTwice, ASKS, Duplicate(OPENING))


# ── clients that only a fault finds ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("worst", "needs"), [("legal", Refuse), ("hostile", Duplicate), ("illegal", Duplicate)], ids=LEGALITIES
)
def test_a_find_that_needs_a_fault_shrinks_to_that_fault(worst: Legality, needs: type[Fault]) -> None:
    right = small_clients.RightClient

    class Insists(right):  # type: ignore[misc, valid-type]
        def on_reply(self, message: Any) -> None:
            if message["id"] <= 2:
                _ = message["result"]
            right.on_reply(self, message)

    class CountsAnswers(right):  # type: ignore[misc, valid-type]
        def on_reply(self, message: Any) -> None:
            again = message["id"] in {each["id"] for each in self.ended if each["outcome"] != "gone"}
            assert not again
            right.on_reply(self, message)

    class BelievesAll(right):  # type: ignore[misc, valid-type]
        def on_Target_attachedToTarget(self, session: str | None, params: Any) -> None:  # noqa: N802
            assert params["sessionId"] not in self.sessions
            right.on_Target_attachedToTarget(self, session, params)

    wrong: Any = {"legal": Insists, "hostile": CountsAnswers, "illegal": BelievesAll}[worst]
    few = st.builds(Example, script=scripts(max_steps=1, race_free=True), seed=st.integers(1, 2**32))
    some = st.builds(attrs.evolve, few, faults=faults_of(*LEGALITIES[: LEGALITIES.index(worst) + 1]))

    def attempt(example: Example) -> tuple[Complaint, ...]:
        return try_example(wrong, example)

    assert hunt_with(attempt, few, runs=30) is None
    found = hunt_with(attempt, some, runs=500)
    assert found is not None
    assert [type(fault) for fault in found.example.faults] == [needs], found
    assert found.example.script == Script()
    assert {complaint.law for complaint in found.complaints} == {"nothing-the-peer-sends-raises"}
    assert "faults=(" in str(found)


def test_faults_that_are_not_needed_are_removed_first() -> None:
    long = Example(script=POPUP, faults=[Cut(1), Refuse(RUN), Cut(2)])
    assert shrunk(long, lambda example: Refuse(RUN) in example.faults) == Example(faults=[Refuse(RUN)])


@pytest.mark.parametrize("worst", [None, *LEGALITIES])
def test_examples_contain_faults_up_to_the_requested_legality(worst: Legality | None) -> None:
    seen: set[str] = set()

    @settings(max_examples=40, database=None, derandomize=True, phases=[Phase.generate])
    @given(example=examples_of(faults=worst, asked=False))
    def look(example: Example) -> None:
        seen.update(fault.legality for fault in example.faults)

    look()
    assert seen == (set() if worst is None else {*LEGALITIES[: LEGALITIES.index(worst) + 1]})


def test_a_client_that_met_no_fault_has_no_allowance() -> None:
    fake = FakeBrowser(faults=[Refuse(RUN), Drop(RUN, 2), Cut(90)])
    fake.connect()
    allowances = Allowances(fake, 1)
    assert (allowances.may_wait, allowances.may_give_up, allowances.misled) == (False, False, False)
    assert not allowances.may_leave_paused(None)
    assert not any(allowances.may_differ(part) for part in WRONG)
    assert Allowances(fake, 7).may_give_up is False
