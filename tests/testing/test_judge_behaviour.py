"""What clients send and leave behind: the judge and `assert_clean` name it with law and fact."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cdp_core.testing import FakeBrowser, Script
from cdp_core.testing.faults import Drop, Refuse
from cdp_core.testing.judge import laws
from cdp_core.testing.judge.laws import LAWS
from cdp_core.testing.judge.observation import judge
from cdp_core.testing.steps import Dialog, Navigate, Popup, Wait

SHOP = "https://shop.example/"
DOCUMENTS = {"resourceType": "Document"}
HERE = Path(laws.__file__).parents[1]


class Client:
    """A client with a session on the first page; each test decides what it sends."""

    def __init__(self, fake: FakeBrowser) -> None:
        self.fake, self.end, self.last = fake, fake.connect(), 0
        self.messages: list[dict[str, Any]] = []
        self.send("Target.attachToTarget", {"targetId": fake.truth().pages[0], "flatten": True})
        self.page = fake.truth().sessions[0][1]

    def send(self, method: str, params: Any = None, *, on: str | None = None, number: int | None = None) -> None:
        self.last += 1
        message = {"id": self.last if number is None else number, "method": method, "params": params or {}}
        self.end.receive(json.dumps(message if on is None else {**message, "sessionId": on}).encode())
        self.messages += map(json.loads, self.end.drain())

    def paused(self) -> list[str]:
        self.messages += map(json.loads, self.end.drain())
        return [each["params"]["requestId"] for each in self.messages if each.get("method") == "Fetch.requestPaused"]

    def pause(self) -> str:
        """Hold a request of the page, and return its id."""
        self.send("Fetch.enable", on=self.page)
        self.fake.play(Navigate(SHOP))
        return self.paused()[-1]

    def continue_request(self, request: str, *, on: str | None = None) -> None:
        self.send("Fetch.continueRequest", {"requestId": request}, on=on or self.page)


def assert_clean_message(fake: FakeBrowser) -> str:
    try:
        fake.assert_clean()
    except AssertionError as complaint:
        return str(complaint)
    return ""


def complaints(fake: FakeBrowser, **how: Any) -> list[tuple[str, int]]:
    return [(complaint.law, complaint.fact) for complaint in judge(fake, **how)]


def leave_a_request_held(client: Client) -> None:
    client.pause()


def answer_twice(client: Client) -> None:
    request = client.pause()
    client.continue_request(request)
    client.continue_request(request)
    client.send("Fetch.disable", on=client.page)


def answer_elsewhere(client: Client) -> None:
    client.send("Fetch.enable", on=client.page)
    client.send("Fetch.enable", {"patterns": [{"urlPattern": "x"}]})
    client.fake.play(Navigate(SHOP))
    client.send("Fetch.continueRequest", {"requestId": client.paused()[0]}, on=None)
    for session in (client.page, None):
        client.send("Fetch.disable", on=session)


def leave_fetch_enabled(client: Client) -> None:
    client.continue_request(client.pause())


def leave_an_init_script(client: Client) -> None:
    client.send("Page.addScriptToEvaluateOnNewDocument", {"source": "1"}, on=client.page)


def reuse_an_id(client: Client) -> None:
    for _ in range(2):
        client.send("Browser.getVersion", number=77)


def use_an_unknown_session(client: Client) -> None:
    client.send("Runtime.enable", on="NEVER")


@pytest.mark.parametrize(
    ("act", "law", "fact"),
    [
        (leave_a_request_held, "a-pause-stops-its-request", 33),
        (answer_twice, "a-pause-is-answered-once", 33),
        (answer_elsewhere, "a-pause-is-answered-once", 29),
        (leave_fetch_enabled, "nothing-is-left-switched-on", 34),
        (reuse_an_id, "ids-are-used-once", 54),
        (use_an_unknown_session, "sessions-open-on-the-event", 47),
    ],
)
def test_each_mistake_is_reported_with_law_and_fact(act: Callable[[Client], None], law: str, fact: int) -> None:
    client = Client(FakeBrowser())
    assert (complaints(client.fake), assert_clean_message(client.fake)) == ([], "")
    act(client)
    assert (law, fact) in complaints(client.fake)
    assert f"({law}, fact {fact})" in assert_clean_message(client.fake)


def test_an_init_script_that_is_left_is_reported_only_by_the_judge() -> None:
    """It affects only documents of its own session and ends with it; many clients keep some all the time."""
    client = Client(FakeBrowser())
    leave_an_init_script(client)
    assert (complaints(client.fake), assert_clean_message(client.fake)) == ([("nothing-is-left-switched-on", 36)], "")


def test_a_client_that_answers_and_switches_everything_off_gets_no_complaint() -> None:
    client = Client(FakeBrowser())
    client.send("Fetch.enable", {"patterns": [DOCUMENTS, {**DOCUMENTS, "requestStage": "Response"}]}, on=client.page)
    client.send("Page.addScriptToEvaluateOnNewDocument", {"source": "1"}, on=client.page)
    client.fake.play(Navigate(SHOP))
    client.continue_request(client.paused()[-1])
    assert len(set(client.paused())) == 1, "the response of the same request is paused under its id"
    client.continue_request(client.paused()[-1])
    assert [law for law, _fact in complaints(client.fake)] == 2 * ["nothing-is-left-switched-on"]
    assert complaints(client.fake, underway=True) == []
    assert len(complaints(client.fake, observed={"done": True}, underway=True)) == 2
    client.send("Fetch.disable", on=client.page)
    client.send("Page.removeScriptToEvaluateOnNewDocument", {"identifier": "1"}, on=client.page)
    assert (complaints(client.fake), assert_clean_message(client.fake)) == ([], "")


def test_what_ended_with_its_session_or_its_client_is_not_reported() -> None:
    for leave in (
        lambda client: client.send("Target.detachFromTarget", {"sessionId": client.page}),
        lambda client: client.end.lost(),
    ):
        client = Client(FakeBrowser())
        client.pause()
        leave_an_init_script(client)
        leave(client)
        assert (complaints(client.fake), assert_clean_message(client.fake)) == ([], "")


@pytest.mark.parametrize("fault", [Refuse, Drop])
def test_an_answer_that_a_fault_undid_is_allowed_for(fault: Any) -> None:
    client = Client(FakeBrowser(faults=[fault("Fetch.continueRequest")]))
    client.continue_request(client.pause())
    assert complaints(client.fake, underway=True) == []


def test_a_resume_that_waits_behind_a_blocked_opener_leaves_no_page_paused() -> None:
    """An unanswerable dialog blocks the opener and the popup that shares its process (fact 16)."""
    fake = FakeBrowser(Script(timeline=(Dialog("confirm", "unseen"), Wait(1))))
    end = fake.connect()
    watch = {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True}
    end.receive(json.dumps({"id": 1, "method": "Target.setAutoAttach", "params": watch}).encode())
    page = fake.truth().sessions[0][1]
    fake.play(Popup("p"))
    for number, session in enumerate([session for _client, session, _target in fake.truth().sessions], 2):
        run = {"id": number, "method": "Runtime.runIfWaitingForDebugger", "sessionId": session}
        if session != page or len(fake.truth().sessions) == 1:
            end.receive(json.dumps(run).encode())
    assert "paused-targets-wait-for-ever" not in [law for law, _fact in complaints(fake)]


# ── laws ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

LAW = re.compile(r'\blaw(?:: Final)?\s*=\s*"([^"]+)"')


def test_every_law_in_the_code_is_listed_and_has_a_fact() -> None:
    text = "\n".join(path.read_text() for path in HERE.rglob("*.py"))
    named = {*LAW.findall(text), *re.findall(r'NEVER_CONNECTS: Final = "([^"]+)"', text)}
    named |= set(re.findall(r'_difference\(\s*"[^"]+", "([^"]+)"', text))
    assert len(named) > 20
    assert named <= LAWS.keys()
    assert "fact=None" not in text
