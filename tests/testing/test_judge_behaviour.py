"""What clients sent and what they leave behind: named, with law and fact, by the judge and where a test ends."""

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


class Talk:
    """A client that is told what to write, attached to the first page."""

    def __init__(self, fake: FakeBrowser) -> None:
        self.fake, self.end, self.last = fake, fake.connect(), 0
        self.told: list[dict[str, Any]] = []
        self.send("Target.attachToTarget", {"targetId": fake.truth().pages[0], "flatten": True})
        self.page = fake.truth().sessions[0][1]

    def send(self, method: str, params: Any = None, *, on: str | None = None, number: int | None = None) -> None:
        self.last += 1
        message = {"id": self.last if number is None else number, "method": method, "params": params or {}}
        self.end.receive(json.dumps(message if on is None else {**message, "sessionId": on}).encode())
        self.told += map(json.loads, self.end.drain())

    def paused(self) -> list[str]:
        self.told += map(json.loads, self.end.drain())
        return [each["params"]["requestId"] for each in self.told if each.get("method") == "Fetch.requestPaused"]

    def pause(self) -> str:
        """A request of its page is held."""
        self.send("Fetch.enable", on=self.page)
        self.fake.play(Navigate(SHOP))
        return self.paused()[-1]

    def go_on(self, request: str, *, on: str | None = None) -> None:
        self.send("Fetch.continueRequest", {"requestId": request}, on=on or self.page)


def verdict(fake: FakeBrowser) -> str:
    try:
        fake.assert_clean()
    except AssertionError as complaint:
        return str(complaint)
    return ""


def said(fake: FakeBrowser, **how: Any) -> list[tuple[str, int]]:
    return [(complaint.law, complaint.fact) for complaint in judge(fake, **how)]


def held(talk: Talk) -> None:
    talk.pause()


def twice(talk: Talk) -> None:
    request = talk.pause()
    talk.go_on(request)
    talk.go_on(request)
    talk.send("Fetch.disable", on=talk.page)


def elsewhere(talk: Talk) -> None:
    talk.send("Fetch.enable", on=talk.page)
    talk.send("Fetch.enable", {"patterns": [{"urlPattern": "x"}]})
    talk.fake.play(Navigate(SHOP))
    talk.send("Fetch.continueRequest", {"requestId": talk.paused()[0]}, on=None)
    for where in (talk.page, None):
        talk.send("Fetch.disable", on=where)


def patterns(talk: Talk) -> None:
    talk.go_on(talk.pause())


def scripts(talk: Talk) -> None:
    talk.send("Page.addScriptToEvaluateOnNewDocument", {"source": "1"}, on=talk.page)


def same_id(talk: Talk) -> None:
    for _ in range(2):
        talk.send("Browser.getVersion", number=77)


def never_was(talk: Talk) -> None:
    talk.send("Runtime.enable", on="NEVER")


@pytest.mark.parametrize(
    ("act", "law", "fact"),
    [
        (held, "a-pause-stops-its-request", 33),
        (twice, "a-pause-is-answered-once", 33),
        (elsewhere, "a-pause-is-answered-once", 29),
        (patterns, "nothing-is-left-switched-on", 34),
        (same_id, "ids-are-used-once", 54),
        (never_was, "sessions-open-on-the-event", 47),
    ],
)
def test_what_is_wrong_is_named_with_law_and_fact(act: Callable[[Talk], None], law: str, fact: int) -> None:
    talk = Talk(FakeBrowser())
    assert (said(talk.fake), verdict(talk.fake)) == ([], "")
    act(talk)
    assert (law, fact) in said(talk.fake)
    assert f"({law}, fact {fact})" in verdict(talk.fake)


def test_a_script_is_left_by_who_is_done_and_harms_nobody_before() -> None:
    """It is there for documents of its own session, and goes with it: many clients have some all the time."""
    talk = Talk(FakeBrowser())
    scripts(talk)
    assert (said(talk.fake), verdict(talk.fake)) == ([("nothing-is-left-switched-on", 36)], "")


def test_nothing_is_said_of_who_answers_and_gives_up_what_it_had_switched_on() -> None:
    talk = Talk(FakeBrowser())
    talk.send("Fetch.enable", {"patterns": [DOCUMENTS, {**DOCUMENTS, "requestStage": "Response"}]}, on=talk.page)
    talk.send("Page.addScriptToEvaluateOnNewDocument", {"source": "1"}, on=talk.page)
    talk.fake.play(Navigate(SHOP))
    talk.go_on(talk.paused()[-1])
    assert len(set(talk.paused())) == 1, "the same request is paused again on its way back"
    talk.go_on(talk.paused()[-1])
    assert [law for law, _fact in said(talk.fake)] == 2 * ["nothing-is-left-switched-on"]
    assert said(talk.fake, underway=True) == []
    assert len(said(talk.fake, observed={"done": True}, underway=True)) == 2
    talk.send("Fetch.disable", on=talk.page)
    talk.send("Page.removeScriptToEvaluateOnNewDocument", {"identifier": "1"}, on=talk.page)
    assert (said(talk.fake), verdict(talk.fake)) == ([], "")


def test_what_has_gone_with_its_session_or_its_client_is_left_by_nobody() -> None:
    for leave in (
        lambda talk: talk.send("Target.detachFromTarget", {"sessionId": talk.page}),
        lambda talk: talk.end.lost(),
    ):
        talk = Talk(FakeBrowser())
        talk.pause()
        scripts(talk)
        leave(talk)
        assert (said(talk.fake), verdict(talk.fake)) == ([], "")


@pytest.mark.parametrize("fault", [Refuse, Drop])
def test_an_answer_that_a_fault_undid_is_excused(fault: Any) -> None:
    talk = Talk(FakeBrowser(faults=[fault("Fetch.continueRequest")]))
    talk.go_on(talk.pause())
    assert said(talk.fake, underway=True) == []


def test_who_sent_its_word_and_stands_behind_a_wedge_left_no_page_paused() -> None:
    """The opener stands at a dialog that nobody can answer, and so does the popup that shares its process (fact 16)."""
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
    assert "paused-targets-wait-for-ever" not in [law for law, _fact in said(fake)]


# ── laws ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

LAW = re.compile(r'\blaw(?:: Final)?\s*=\s*"([^"]+)"')


def test_every_law_that_anybody_complains_of_is_in_the_list_and_carries_a_fact() -> None:
    text = "\n".join(path.read_text() for path in HERE.rglob("*.py"))
    named = {*LAW.findall(text), *re.findall(r'NEVER_CONNECTS: Final = "([^"]+)"', text)}
    named |= set(re.findall(r'_difference\(\s*"[^"]+", "([^"]+)"', text))
    assert len(named) > 20
    assert named <= LAWS.keys()
    assert "fact=None" not in text
