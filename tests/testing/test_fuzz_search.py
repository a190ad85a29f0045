"""The kit finds what clients do wrong, makes it small, and has nothing to say of a right one."""

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
MANY = 5000 if DEEP else 150 if os.environ.get("CI") else 60
"""What each right client is put to."""
SEED = int(os.environ["CDP_HUNT_SEED"])
"""Another one each time, so that runs add up."""
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
def test_nothing_is_said_of_the_right_client(name: str, worst: Any) -> None:
    assert hunt(getattr(small_clients, name), runs=MANY, faults=worst, seed=SEED) is None, f"CDP_HUNT_SEED={SEED}"


ADS, PAY, SHOP = "https://ads.example/1", "https://pay.example/3", "https://shop.example/2"
ASKING_TWICE: dict[str, tuple[steps.Step, ...]] = {
    ADS: (AddFrame("d", PAY), Wait(1), Dialog("confirm", "a")),
    PAY: (Wait(1), Dialog("confirm", "b")),
}
NESTED = (Wait(1), AddFrame("x", "https://pay.example/"), Wait(1), Worker("w", frame="x"))
CRASHED = (Wait(1), Popup("x", SHOP), Crash("x"))
RELOAD: dict[str, Any] = {"on": 1, "method": "Page.reload", "params": {}}
WHERE_IT_IS_HARD = {
    "its word waits behind a page that is wedged (fact 16)": Example(
        script=Script(pages=ASKING_TWICE, timeline=(Wait(1), Navigate(ADS), Wait(1), Popup("p"))), asks=[RELOAD]
    ),
    "a session above ends before the reply comes (fact 50)": Example(
        script=Script(timeline=NESTED), asks=[{"on": 1, "detach": True}]
    ),
    "a dialog outlives its process, and is answered (fact 26)": Example(
        script=Script(pages={SHOP: (Dialog("confirm", "c"),)}, timeline=CRASHED), profile="headless-shell"
    ),
    "a frame dies with the page whose process it shares (fact 49)": Example(
        script=Script(timeline=(Wait(1), AddFrame("x", SHOP), Popup("p", SHOP), Crash("p")))
    ),
    "a page goes on because its last session leaves (fact 26)": Example(
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
@pytest.mark.parametrize("where", WHERE_IT_IS_HARD)
def test_nothing_is_said_of_the_right_client_where_it_is_hard(where: str, edges: Any) -> None:
    for seed in range(1, 5 * MANY // 4):
        example = attrs.evolve(WHERE_IT_IS_HARD[where], seed=seed, edges=edges)
        assert try_example(small_clients.RightClient, example) == (), example


def test_each_wrong_one_has_a_right_twin_from_which_it_differs_in_one_point() -> None:
    assert [twin.__name__ for twin in small_clients.TWINS] == ["RightClient", "Intercepts"]
    for wrong in small_clients.WRONG:
        assert wrong.__bases__[0] in small_clients.TWINS
        assert wrong.law in LAWS


def test_all_of_the_wrong_ones_are_tried() -> None:
    assert [wrong.__name__ for wrong in small_clients.WRONG] == list(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_client_is_caught_and_the_example_is_small(name: str) -> None:
    wrong = getattr(small_clients, name)
    found = hunt(wrong, runs=200, faults=wrong.faults)
    assert found is not None
    assert size_of(found.example) <= NEED_MORE.get(name, 3)
    assert {complaint.law for complaint in found.complaints} <= LAWS.keys()
    assert try_example(wrong, found.example) == found.complaints, "it is not the example that shows it"
    assert try_example(wrong.__bases__[0], found.example) == (), "it is not the client that is wrong"


NEED_MORE = {"OldestDialogFirst": 4, "GivesUpRefusedCommands": 4, "BelievesThatEventsTellAll": 4, "KnowsAllEvents": 4}
"""Two documents that each ask, one in the other, and the way there; a document with a frame, and away, and back."""


def size_of(example: Example) -> int:
    return sum(not isinstance(step, Wait) for step in example.script.steps()) + len(example.asks)


def test_a_find_prints_the_python_that_shows_it_again() -> None:
    found = hunt(small_clients.ForgetsToRun, runs=200)
    assert found is not None
    printed = str(found).partition("with this example:\n")[2]
    names: dict[str, Any] = {"Example": Example, **vars(steps)}
    assert eval(printed, names) == found.example
    assert "paused-targets-wait-for-ever, fact 7" in str(found)


def test_what_a_client_raises_is_its_fault_and_no_payload_is_shown() -> None:
    class Raises(small_clients.RightClient):  # type: ignore[misc, name-defined]
        def receive(self, payload: bytes) -> list[bytes]:
            raise ValueError(payload)

    [complaint] = try_example(Raises, Example())
    assert complaint.message == "the client raised ValueError"


def test_a_session_that_leaves_two_dialogs_whose_scripts_end_each_other() -> None:
    """On headless-shell both close, and the page that the first had stopped is loaded anew before the second does."""
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
def test_each_difference_is_named(wrong: dict[str, Any], law: str) -> None:
    fake, client = run(Wait(1), AddFrame("a", "https://pay.example/"), Dialog("confirm", "sure?"))
    right = client.observed()
    assert judge(fake, right) == ()
    assert judge(fake, {}) == judge(fake) == ()
    assert {complaint.law for complaint in judge(fake, {**right, **wrong})} == {law}


def test_another_address_of_a_frame_is_named() -> None:
    fake, client = run()
    right = client.observed()
    [complaint] = judge(fake, {"frames": dict.fromkeys(right["frames"], "https://elsewhere.example/")})
    assert (complaint.law, complaint.fact) == ("page-enable-replays-no-frames", 40)


def test_what_nobody_told_of_a_worker_s_address_is_not_asked() -> None:
    fake = FakeBrowser(Script(timeline=[Worker("w")]))
    fake.connect()
    urls = {target: url for target, _type, url in fake.truth().targets}
    [worker] = [target for target, kind, _url in fake.truth().targets if kind == "worker"]
    assert judge(fake, {"targets": {**urls, worker: ""}}) == ()
    assert judge(fake, {"targets": {**urls, worker: "https://elsewhere.example/"}})
    assert judge(fake, {"targets": dict.fromkeys(urls, "")})


def test_what_could_not_be_loaded_has_two_addresses() -> None:
    fake, client = run(Wait(1), Navigate("https://gone.invalid/"))
    [frame] = client.observed()["frames"]
    for url in ("chrome-error://chromewebdata/", "https://gone.invalid/"):
        assert judge(fake, {"frames": {frame: url}}) == ()
    assert judge(fake, {"frames": {frame: "about:blank"}})


def test_a_page_may_close_itself_when_the_link_that_held_its_dialog_breaks() -> None:
    pages = {"https://pay.example/": (Wait(1), Dialog("confirm", "b"))}
    timeline = (Wait(1), AddFrame("x", "https://pay.example/"), Wait(1), Dialog("confirm", "a"), Close())
    fake = FakeBrowser(Script(pages=pages, timeline=timeline), profile="headless-shell")
    assert Pump(fake, [small_clients.RightClient()]).run().quiet
    fake.cut()
    assert fake.truth().sessions == ()


def test_nothing_is_asked_of_a_client_whose_link_broke() -> None:
    fake, _client = run(Wait(1), Cut())
    assert judge(fake, {"sessions": ["GHOST"]}) == ()


def test_the_ledger_tells_what_became_of_each_command() -> None:
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
    own = ""
    for number, (session, method, params) in enumerate(sent, 1):
        own = fake.truth().sessions[0][1] if fake.truth().sessions else own
        named = {key: own if value == "S" else value for key, value in params.items()}
        command = {"id": number, "method": method, "params": named, **({} if session is None else {"sessionId": own})}
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


def test_what_is_sent_after_the_end_is_judged_by_what_was_known() -> None:
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


def test_what_was_sent_is_judged() -> None:
    fake = FakeBrowser()
    end = fake.connect()
    end.receive(b"garbage")
    for _ in range(2):
        end.receive(b'{"id":1,"method":"Browser.getVersion"}')
    assert [complaint.fact for complaint in judge(fake)] == [53, 54]


def test_every_law_that_is_named_says_which_fact() -> None:
    fake, _ = run(Wait(1), Popup("p"))
    assert str(Complaint(law="x", fact=7, message="it is so")) == "it is so (x, fact 7)"
    assert judge(fake) == ()
