"""The search finds what wrong clients do, shrinks the examples, and accepts the right clients."""

from __future__ import annotations

import json
import os
from typing import Any

import attrs
import pytest

from cdp_core.testing import steps
from cdp_core.testing.fake.browser import FakeBrowser
from cdp_core.testing.fuzz.search import Example, examples_of, hunt, hunt_with, try_example
from cdp_core.testing.judge.laws import LAWS, Complaint
from cdp_core.testing.judge.observation import judge
from cdp_core.testing.simulation import Pump
from cdp_core.testing.steps import AddFrame, Answer, Close, Crash, Cut, Dialog, Navigate, Popup, Script, Wait, Worker
from support import small_clients

pytest.importorskip("hypothesis")

DEEP = os.environ.get("HYPOTHESIS_PROFILE") == "deep"
MANY = 5000 if DEEP else 100 if os.environ.get("CI") else 60
"""The number of examples that each right client is run with."""
SEED = int(os.environ["CDP_HUNT_SEED"])
"""Different in each run, so that repeated runs try more examples."""
NAMES = (
    "WaitsInItsReader",
    "ListensAfterTheAct",
    "CountsPerSession",
    "NoCascade",
    "DropsOnFullQueue",
    "DiesOnUnknownEvent",
    "TrustsReplyBeforeClosed",
    "ForgetsToRun",
    "OldestDialogFirst",
    "NoFrameTree",
    "OneMebibyte",
    "RunsFirst",
    "AnswersOnTheFramesSession",
    "AnswersTwice",
    "IgnoresDetach",
    "TidiesUpEndedSessions",
    "KeepsFramesOnNavigation",
    "WritesIdsAsText",
    "WaitsForRefusedLoads",
    "IgnoresTargetInfo",
    "GivesUpRefusedCommands",
    "BelievesThatEventsTellAll",
    "KeepsPendingOnCrash",
    "ClosedNeedsOpening",
    "NoWithinDocument",
    "KnowsAllEvents",
    "KnowsAllFields",
    "KnowsAllValues",
    "HoldsRequests",
    "LetsGoTwice",
    "LetsGoElsewhere",
)


@pytest.mark.parametrize("worst", [None, "legal", "hostile", "illegal"])
@pytest.mark.parametrize("name", ["RightClient", "Intercepts"])
def test_the_right_client_gets_no_complaint(name: str, worst: Any) -> None:
    assert hunt(getattr(small_clients, name), runs=MANY, faults=worst, seed=SEED) is None, f"CDP_HUNT_SEED={SEED}"


ADS, PAY, SHOP = "https://ads.example/1", "https://pay.example/3", "https://shop.example/2"
TWO_DIALOGS: dict[str, tuple[steps.Step, ...]] = {
    ADS: (AddFrame("d", PAY), Wait(1), Dialog("confirm", "a")),
    PAY: (Wait(1), Dialog("confirm", "b")),
}
NESTED = (Wait(1), AddFrame("x", "https://pay.example/"), Wait(1), Worker("w", frame="x"))
CRASHED = (Wait(1), Popup("x", SHOP), Crash("x"))
RELOAD: dict[str, Any] = {"on": 1, "method": "Page.reload", "params": {}}
HARD_CASES = {
    "its command waits behind a blocked page (fact 16)": Example(
        script=Script(pages=TWO_DIALOGS, timeline=(Wait(1), Navigate(ADS), Wait(1), Popup("p"))), asks=[RELOAD]
    ),
    "a parent session ends before the reply comes (fact 50)": Example(
        script=Script(timeline=NESTED), asks=[{"on": 1, "detach": True}]
    ),
    "a dialog outlives its process, and is answered (fact 26)": Example(
        script=Script(pages={SHOP: (Dialog("confirm", "c"),)}, timeline=CRASHED), profile="headless-shell"
    ),
    "a frame crashes with the page that shares its process (fact 49)": Example(
        script=Script(timeline=(Wait(1), AddFrame("x", SHOP), Popup("p", SHOP), Crash("p")))
    ),
    "a page continues because its last session detaches (fact 26)": Example(
        script=Script(
            pages={
                ADS: (AddFrame("d", PAY), Dialog()),
                PAY: (AddFrame("e", "https://shop.example/"), Dialog()),
            },
            timeline=(Wait(1),),
        ),
        profile="headless-shell",
        asks=[{"on": 1, "method": "Page.navigate", "params": {"url": ADS}}, {"on": 1, "detach": True}],
    ),
    "a page that crashed before is shown again (fact 49)": Example(
        script=Script(pages={ADS: (AddFrame("d"),)}, timeline=(Popup("x", noopener=True), Crash("x"), Close())),
        asks=[{"on": 1, "method": "Page.navigate", "params": {"url": ADS}}],
    ),
}


@pytest.mark.parametrize("edges", ["observed", "causal"])
@pytest.mark.parametrize("case", HARD_CASES)
def test_the_right_client_gets_no_complaint_in_hard_cases(case: str, edges: Any) -> None:
    for seed in range(1, 5 * MANY // 4):
        example = attrs.evolve(HARD_CASES[case], seed=seed, edges=edges)
        assert try_example(small_clients.RightClient, example) == (), example


def test_each_wrong_client_extends_a_right_client_and_names_a_law() -> None:
    assert [twin.__name__ for twin in small_clients.TWINS] == ["RightClient", "Intercepts"]
    for wrong in small_clients.WRONG:
        assert wrong.__bases__[0] in small_clients.TWINS
        assert wrong.law in LAWS


def test_every_wrong_client_is_in_the_list_of_names() -> None:
    assert [wrong.__name__ for wrong in small_clients.WRONG] == list(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_client_is_found_with_a_small_example(name: str) -> None:
    wrong = getattr(small_clients, name)
    found = hunt(wrong, runs=200, faults=wrong.faults)
    assert found is not None
    assert size_of(found.example) <= LARGER_SIZES.get(name, 3)
    assert {complaint.law for complaint in found.complaints} <= LAWS.keys()
    assert try_example(wrong, found.example) == found.complaints, "the example does not reproduce the complaints"
    assert try_example(wrong.__bases__[0], found.example) == (), "the right client breaks a law with the same example"


LARGER_SIZES = {
    "OldestDialogFirst": 4,
    "GivesUpRefusedCommands": 4,
    "BelievesThatEventsTellAll": 4,
    "KnowsAllEvents": 4,
}
"""The sizes above 3.

The examples need two nested documents with a dialog each and the way there, or a document with a frame, a navigation
away, and the way back.
"""


def size_of(example: Example) -> int:
    return sum(not isinstance(step, Wait) for step in example.script.steps()) + len(example.asks)


def test_a_find_prints_the_python_that_reproduces_it() -> None:
    found = hunt(small_clients.ForgetsToRun, runs=200)
    assert found is not None
    printed = str(found).partition("with this example:\n")[2]
    names: dict[str, Any] = {"Example": Example, **vars(steps)}
    assert eval(printed, names) == found.example
    assert "paused-targets-wait-for-ever, fact 7" in str(found)


def test_an_exception_of_the_client_is_a_complaint_without_the_payload() -> None:
    class Raises(small_clients.RightClient):  # type: ignore[misc, name-defined]
        def receive(self, payload: bytes) -> list[bytes]:
            raise ValueError(payload)

    [complaint] = try_example(Raises, Example())
    assert complaint.message == "the client raised ValueError"


def test_detaching_from_two_dialogs_whose_scripts_end_each_other_does_not_raise() -> None:
    """On headless-shell both close; the page blocked by the first reloads before the second closes."""
    ads, pay = "https://ads.example/1", "https://pay.example/3"
    script = Script(
        pages={pay: (Wait(1), Dialog("confirm", "b")), ads: (AddFrame("d", pay), Wait(1), Dialog("confirm", "a"))},
        timeline=(Wait(1), AddFrame("x", "https://pay.example/"), Navigate(ads)),
        answers={"ask()": Answer(True, (Dialog("prompt", "?"),))},
    )
    asks: list[dict[str, Any]] = [
        {"on": 2, "method": "Runtime.evaluate", "params": {"expression": "ask()"}},
        {"on": 1, "method": "Page.reload", "params": {}},
        {"on": 1, "detach": True},
    ]
    for seed in range(700, 720):
        example = Example(script=script, seed=seed, profile="headless-shell", asks=asks)
        try_example(small_clients.AnswersOnTheFramesSession, example)


def test_shrinking_is_bounded() -> None:
    tried: list[Example] = []

    def attempt(example: Example) -> tuple[Complaint, ...]:
        tried.append(example)
        return (Complaint(law="x", fact=7, message="y"),) if example.script.timeline else ()

    found = hunt_with(attempt, examples_of(), runs=50, shrinks=5)
    assert found is not None
    assert len([each for each in tried if each.script.timeline]) <= 6


# ── the judge ────────────────────────────────────────────────────────────────────────────────────────────────────────


def run(*timeline: steps.Step) -> tuple[FakeBrowser, Any]:
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
        ({"targets": {}}, "target-info-changes"),
        ({"pending": [{"frame": "GHOST"}]}, "dialogs-are-matched-by-frame"),
        ({"dialogs": [{"message": "another", "closed_by": "us"}]}, "dialogs-are-matched-by-frame"),
        ({"heard": {"Page.frameAttached": 0}}, "a-subscription-never-ends-silently"),
        ({"commands": [{"session": None, "id": 1, "outcome": "refused"}]}, "every-command-ends-once"),
        ({"commands": [{"session": None, "id": 1, "outcome": "gone"}]}, "every-command-ends-once"),
        ({"commands": 2 * [{"session": None, "id": 1, "outcome": "result"}]}, "every-command-ends-once"),
    ],
)
def test_each_wrong_part_of_an_observation_breaks_its_law(wrong: dict[str, Any], law: str) -> None:
    fake, client = run(Wait(1), AddFrame("a", "https://pay.example/"), Dialog("confirm", "sure?"))
    right = client.observed()
    assert judge(fake, right) == ()
    assert judge(fake, {}) == judge(fake) == ()
    assert {complaint.law for complaint in judge(fake, {**right, **wrong})} == {law}


def test_a_wrong_url_of_a_frame_is_a_complaint() -> None:
    fake, client = run()
    right = client.observed()
    [complaint] = judge(fake, {"frames": dict.fromkeys(right["frames"], "https://elsewhere.example/")})
    assert (complaint.law, complaint.fact) == ("page-enable-replays-no-frames", 40)


def test_an_observation_may_lack_the_url_of_a_worker() -> None:
    fake = FakeBrowser(Script(timeline=[Worker("w")]))
    fake.connect()
    urls = {target: url for target, _type, url in fake.truth().targets}
    [worker] = [target for target, kind, _url in fake.truth().targets if kind == "worker"]
    assert judge(fake, {"targets": {**urls, worker: ""}}) == ()
    assert judge(fake, {"targets": {**urls, worker: "https://elsewhere.example/"}})
    assert judge(fake, {"targets": dict.fromkeys(urls, "")})


def test_a_document_that_failed_to_load_may_have_either_of_two_urls() -> None:
    fake, client = run(Wait(1), Navigate("https://gone.invalid/"))
    [frame] = client.observed()["frames"]
    for url in ("chrome-error://chromewebdata/", "https://gone.invalid/"):
        assert judge(fake, {"frames": {frame: url}}) == ()
    assert judge(fake, {"frames": {frame: "about:blank"}})


def test_a_page_may_close_itself_when_the_link_that_kept_its_dialog_breaks() -> None:
    pages = {"https://pay.example/": (Wait(1), Dialog("confirm", "b"))}
    timeline = (Wait(1), AddFrame("x", "https://pay.example/"), Wait(1), Dialog("confirm", "a"), Close())
    fake = FakeBrowser(Script(pages=pages, timeline=timeline), profile="headless-shell")
    assert Pump(fake, [small_clients.RightClient()]).run().quiet
    fake.cut()
    assert fake.truth().sessions == ()


def test_the_observation_of_a_client_with_a_broken_link_is_not_judged() -> None:
    fake, _client = run(Wait(1), Cut())
    assert judge(fake, {"sessions": ["GHOST"]}) == ()


def test_the_command_log_has_the_outcome_of_each_command() -> None:
    fake = FakeBrowser(Script(answers={"ask()": Answer(1, [Dialog()])}))
    end = fake.connect()
    page = fake.truth().pages[0]
    sent: list[tuple[str | None, str, Any]] = [
        (None, "Target.attachToTarget", {"targetId": page, "flatten": True}),
        (None, "Page.enable", {}),
        ("S", "Runtime.evaluate", {"expression": "ask()"}),
        (None, "Target.detachFromTarget", {"sessionId": "S"}),
        ("S", "Runtime.enable", {}),
    ]
    own_session = ""
    for number, (session, method, params) in enumerate(sent, 1):
        own_session = fake.truth().sessions[0][1] if fake.truth().sessions else own_session
        named = {key: own_session if value == "S" else value for key, value in params.items()}
        command = {
            "id": number,
            "method": method,
            "params": named,
            **({} if session is None else {"sessionId": own_session}),
        }
        if number == 4:
            assert [entry.outcome for entry in fake.command_log()] == ["result", "refused", "waiting"]
        end.receive(json.dumps(command).encode(), knew=0)
    assert [(entry.outcome, entry.code) for entry in fake.command_log(1)] == [
        ("result", None),
        ("refused", -32601),
        ("ended", None),
        ("result", None),
        ("refused", -32001),
    ]
    end.lost()
    assert [entry.outcome for entry in fake.command_log(2)] == []


def test_a_command_to_an_ended_session_is_judged_by_what_the_client_knew() -> None:
    for knew, laws in ((0, []), (99, ["nothing-is-sent-to-an-ended-session"]), (None, [])):
        fake = FakeBrowser()
        end = fake.connect()
        attach = {"targetId": fake.truth().pages[0], "flatten": True}
        end.receive(json.dumps({"id": 1, "method": "Target.attachToTarget", "params": attach}).encode())
        session = fake.truth().sessions[0][1]
        leave = {"id": 2, "method": "Target.detachFromTarget", "params": {"sessionId": session}}
        end.receive(json.dumps(leave).encode())
        end.drain()
        late = {"id": 3, "method": "Runtime.enable", "sessionId": session}
        end.receive(json.dumps(late).encode(), knew=knew)
        assert [complaint.law for complaint in judge(fake)] == laws
    end.receive(json.dumps({"id": 4, "method": "Runtime.enable", "sessionId": "NEVER"}).encode())
    assert [complaint.law for complaint in judge(fake)] == ["sessions-open-on-the-event"]


def test_malformed_messages_and_reused_ids_are_complaints() -> None:
    fake = FakeBrowser()
    end = fake.connect()
    end.receive(b"garbage")
    for _ in range(2):
        end.receive(b'{"id":1,"method":"Browser.getVersion"}')
    assert [complaint.fact for complaint in judge(fake)] == [53, 54]


def test_a_complaint_prints_its_law_and_its_fact() -> None:
    fake, _ = run(Wait(1), Popup("p"))
    assert str(Complaint(law="x", fact=7, message="it is so")) == "it is so (x, fact 7)"
    assert judge(fake) == ()
