"""The kit finds what clients do wrong, makes it small, and has nothing to say of a right one."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

from cdp_core.testing import judge as judging
from cdp_core.testing import steps
from cdp_core.testing.fake.browser import FakeBrowser
from cdp_core.testing.hunts import Example, examples_of, hunt, hunt_with, try_example
from cdp_core.testing.judge import Complaint, judge
from cdp_core.testing.pump import Pump
from cdp_core.testing.steps import AddFrame, Cut, Dialog, Popup, Script, Wait

pytest.importorskip("hypothesis")

MANY = 300
"""What the right client is put to."""
CAUGHT = (
    "DiesOnUnknownEvent",
    "DropsOnFullQueue",
    "ForgetsToRun",
    "NoFrameTree",
    "TrustsReplyBeforeClosed",
    "WaitsInItsReader",
)


def test_nothing_is_said_of_the_right_client(small_clients: ModuleType) -> None:
    assert hunt(small_clients.RightClient, runs=MANY) is None


@pytest.mark.parametrize("name", CAUGHT)
def test_a_wrong_client_is_caught_and_the_example_is_small(small_clients: ModuleType, name: str) -> None:
    wrong = getattr(small_clients, name)
    found = hunt(wrong, runs=200)
    assert found is not None
    assert len(found.example.script.timeline) + sum(map(len, found.example.script.pages.values())) <= 3
    assert try_example(wrong, found.example) == found.complaints, "it is not the example that shows it"
    assert try_example(small_clients.RightClient, found.example) == (), "it is not the client that is wrong"


def test_a_find_prints_the_python_that_shows_it_again(small_clients: ModuleType) -> None:
    found = hunt(small_clients.ForgetsToRun, runs=200)
    assert found is not None
    printed = str(found).partition("with\n")[2]
    names: dict[str, Any] = {"Example": Example, **vars(steps)}
    assert eval(printed, names) == found.example
    assert "paused-targets-wait-for-ever, fact 7" in str(found)


def test_what_a_client_raises_is_its_fault_and_no_payload_is_shown(small_clients: ModuleType) -> None:
    class Raises(small_clients.RightClient):  # type: ignore[misc, name-defined]
        def receive(self, payload: bytes) -> list[bytes]:
            raise ValueError(payload)

    [complaint] = try_example(Raises, Example())
    assert complaint.said == "it raised ValueError"


def test_shrinking_is_bounded() -> None:
    tried: list[Example] = []

    def attempt(example: Example) -> tuple[Complaint, ...]:
        tried.append(example)
        return (Complaint(law="x", fact=None, said="y"),) if example.script.timeline else ()

    found = hunt_with(attempt, examples_of(), runs=50, shrinks=5)
    assert found is not None
    assert len([each for each in tried if each.script.timeline]) <= 6


# ── the judge ────────────────────────────────────────────────────────────────────────────────────────────────────────


def run(small_clients: ModuleType, *timeline: steps.Step) -> tuple[FakeBrowser, Any]:
    fake, client = FakeBrowser(Script(timeline=timeline)), small_clients.RightClient()
    assert Pump(fake, [client]).run().quiet
    return fake, client


@pytest.mark.parametrize(
    ("wrong", "law"),
    [
        ({"sessions": []}, "nested-sessions-die-silently"),
        ({"sessions": ["GHOST"]}, "nested-sessions-die-silently"),
        ({"frames": {}}, "page-enable-replays-no-frames"),
        ({"frames": {"GHOST": "about:blank"}}, "page-enable-replays-no-frames"),
        ({"dialogs": []}, "closed-precedes-reply"),
        ({"unanswered": 1}, "detached-commands-never-answer"),
    ],
)
def test_each_difference_is_named(small_clients: ModuleType, wrong: dict[str, Any], law: str) -> None:
    fake, client = run(small_clients, Wait(1), AddFrame("a", "https://pay.example/"), Dialog("confirm", "sure?"))
    right = client.observed()
    assert judge(fake, right) == ()
    assert judge(fake, {}) == judge(fake) == ()
    assert {complaint.law for complaint in judge(fake, {**right, **wrong})} == {law}


def test_another_address_of_a_frame_is_named(small_clients: ModuleType) -> None:
    fake, client = run(small_clients)
    right = client.observed()
    [complaint] = judge(fake, {"frames": dict.fromkeys(right["frames"], "https://elsewhere.example/")})
    assert (complaint.law, complaint.fact) == ("page-enable-replays-no-frames", 40)


def test_nothing_is_asked_of_a_client_whose_link_broke(small_clients: ModuleType) -> None:
    fake, _client = run(small_clients, Wait(1), Cut())
    assert judge(fake, {"sessions": ["GHOST"]}) == ()


def test_what_was_sent_is_judged() -> None:
    fake = FakeBrowser()
    end = fake.connect()
    end.receive(b"garbage")
    for _ in range(2):
        end.receive(b'{"id":1,"method":"Browser.getVersion"}')
    assert [complaint.fact for complaint in judge(fake)] == [53, 54]


def test_every_law_that_is_named_says_which_fact(small_clients: ModuleType) -> None:
    fake, _ = run(small_clients, Wait(1), Popup("p"))
    assert judging.Complaint(law="x", fact=None, said="it is so").__str__() == "it is so (x)"
    assert judge(fake) == ()
