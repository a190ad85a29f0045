"""Processes that die, and sessions that end with others: what is said no more, and what must have been said before."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cdp_core.testing import FakeBrowser, Script
from cdp_core.testing.steps import AddFrame, Console, Crash, Dialog, Navigate, RemoveFrame, Wait, Worker

SHOP, PAY = "https://shop.example/", "https://pay.example/"
FLAT = {"autoAttach": True, "waitForDebuggerOnStart": False, "flatten": True}


class Client:
    """What it says, and what it hears."""

    def __init__(self, fake: FakeBrowser) -> None:
        self.end = fake.connect()
        self.heard: list[Any] = []
        self._ids = 0

    def write(self, method: str, params: Any = None, session: str | None = None) -> int:
        self._ids += 1
        message = {"id": self._ids, "method": method, "params": params or {}}
        self.end.receive(json.dumps(message | ({"sessionId": session} if session else {})).encode())
        return self._ids

    def ask(self, method: str, params: Any = None, session: str | None = None) -> Any:
        number = self.write(method, params, session)
        self.listen()
        return next((each for each in self.heard if each.get("id") == number), None)

    def listen(self) -> list[Any]:
        new = [json.loads(each) for each in self.end.drain()]
        self.heard += new
        return new

    def attach(self) -> str:
        target = self.ask("Target.getTargets")["result"]["targetInfos"][0]["targetId"]
        session: str = self.ask("Target.attachToTarget", {"targetId": target, "flatten": True})["result"]["sessionId"]
        for method in ("Page.enable", "Runtime.enable"):
            self.ask(method, {}, session)
        self.ask("Target.setAutoAttach", FLAT, session)
        return session

    def attached(self) -> dict[str, str]:
        """Sessions by the type of their target."""
        told = [each["params"] for each in self.heard if each.get("method") == "Target.attachedToTarget"]
        return {each["targetInfo"]["type"]: each["sessionId"] for each in told}


def methods(messages: list[Any]) -> list[str]:
    return [each.get("method", "a reply") for each in messages]


def test_a_crash_ends_what_stood_behind_a_dialog() -> None:
    fake = FakeBrowser()
    client = Client(fake)
    client.attach()
    fake.play(Dialog("alert", "first"))
    fake.play(Wait(0.5), Dialog("alert", "late"), Console("later"))
    fake.advance(1)
    fake.play(Crash())
    told = methods(client.listen())
    assert told == ["Page.javascriptDialogOpening", "Page.javascriptDialogClosed", "Inspector.targetCrashed"]
    assert fake.truth().dialogs[-1].message == "first"


def test_a_crashed_page_does_nothing_until_it_goes_somewhere() -> None:
    fake = FakeBrowser()
    client = Client(fake)
    session = client.attach()
    fake.play(Crash(), Dialog("alert", "x"), Console("x"), AddFrame("f", PAY), Worker("w"), Crash())
    assert methods(client.listen()) == ["Inspector.targetCrashed"]
    fake.play(Navigate(SHOP), Console("here"))
    assert "Runtime.consoleAPICalled" in methods(client.listen())
    assert client.ask("Runtime.evaluate", {"expression": "1"}, session)["result"]["result"]["value"] == 1


def test_steps_of_other_pages_go_on_when_a_process_dies() -> None:
    fake = FakeBrowser(Script(pages={SHOP: (AddFrame("ad", PAY),)}))
    client = Client(fake)
    session = client.attach()
    client.ask("Page.navigate", {"url": SHOP}, session)
    frame = client.attached()["iframe"]
    client.ask("Runtime.enable", {}, frame)
    fake.play(Dialog("alert", "first", frame="ad"))
    fake.play(Console("lost", frame="ad"), Console("kept"))
    client.write("Page.crash", {}, frame)
    lines = [
        each["params"]["args"][0]["value"] for each in client.listen() if each.get("method", "").endswith("APICalled")
    ]
    assert lines == ["kept"]


def test_a_script_crashes_a_frame_out_of_process_alone() -> None:
    fake = FakeBrowser(Script(pages={SHOP: (AddFrame("ad", PAY),)}))
    client = Client(fake)
    session = client.attach()
    client.ask("Page.navigate", {"url": SHOP}, session)
    frame = client.attached()["iframe"]
    fake.play(Crash("ad"))
    told = [(each["method"], each.get("sessionId")) for each in client.listen()]
    assert ("Inspector.targetCrashed", frame) in told
    assert ("Inspector.targetCrashed", session) not in told
    assert client.ask("Runtime.evaluate", {"expression": "1"}, frame) is None  # never (fact 49)
    assert client.ask("Runtime.evaluate", {"expression": "1"}, session)["result"]["result"]["value"] == 1
    fake.play(RemoveFrame("ad"))
    assert "Target.detachedFromTarget" in methods(client.listen())


def test_a_dialog_of_a_frame_whose_process_died_is_answered_to_no_effect() -> None:
    fake = FakeBrowser(Script(pages={SHOP: (AddFrame("ad", PAY),)}))
    client = Client(fake)
    session = client.attach()
    client.ask("Page.navigate", {"url": SHOP}, session)
    fake.play(Dialog("confirm", "first", frame="ad"), Crash("ad"))
    assert "Page.javascriptDialogClosed" not in methods(client.listen())
    assert client.ask("Page.handleJavaScriptDialog", {"accept": True}, session)["result"] == {}


@pytest.mark.parametrize("edges", ["observed", "causal"])
@pytest.mark.parametrize("late", [("Target.setAutoAttach", FLAT), ("Runtime.evaluate", {"expression": "1"})])
def test_what_sessions_below_say_precedes_the_end_of_the_one_above(edges: Any, late: tuple[str, Any]) -> None:
    fake = FakeBrowser(Script(pages={SHOP: (AddFrame("ad", PAY), Worker("w"))}))
    client = Client(fake)
    client.end = fake.connect(edges=edges)
    session = client.attach()
    client.ask("Page.navigate", {"url": SHOP}, session)
    below = [client.attached()[kind] for kind in ("iframe", "worker")]
    for each in below:
        client.write(*late, each)
    client.write("Target.detachFromTarget", {"sessionId": session})
    told: list[Any] = []
    while ready := client.end.ready():  # the last one first, wherever that may be
        told.append(json.loads(fake.deliver(client.end, ready[-1])))
    [end] = [place for place, each in enumerate(told) if each.get("method") == "Target.detachedFromTarget"]
    assert {place < end for place, each in enumerate(told) if each.get("sessionId") in below} == {True}
