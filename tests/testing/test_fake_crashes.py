"""Crashed processes and ended sessions: which messages stop, and which must come before the end."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cdp_core.testing import FakeBrowser, Script
from cdp_core.testing.steps import AddFrame, Console, Crash, Dialog, Navigate, RemoveFrame, Wait, Worker

SHOP, PAY = "https://shop.example/", "https://pay.example/"
FLAT = {"autoAttach": True, "waitForDebuggerOnStart": False, "flatten": True}


class Client:
    """A client that keeps every message that it received."""

    def __init__(self, fake: FakeBrowser) -> None:
        self.end = fake.connect()
        self.received: list[Any] = []
        self._ids = 0

    def write(self, method: str, params: Any = None, session: str | None = None) -> int:
        self._ids += 1
        message = {"id": self._ids, "method": method, "params": params or {}}
        self.end.receive(json.dumps(message | ({"sessionId": session} if session else {})).encode())
        return self._ids

    def call(self, method: str, params: Any = None, session: str | None = None) -> Any:
        number = self.write(method, params, session)
        self.read()
        return next((each for each in self.received if each.get("id") == number), None)

    def read(self) -> list[Any]:
        new = [json.loads(each) for each in self.end.drain()]
        self.received += new
        return new

    def attach(self) -> str:
        target = self.call("Target.getTargets")["result"]["targetInfos"][0]["targetId"]
        session: str = self.call("Target.attachToTarget", {"targetId": target, "flatten": True})["result"]["sessionId"]
        for method in ("Page.enable", "Runtime.enable"):
            self.call(method, {}, session)
        self.call("Target.setAutoAttach", FLAT, session)
        return session

    def attached(self) -> dict[str, str]:
        """Return the sessions by the type of their target."""
        events = [each["params"] for each in self.received if each.get("method") == "Target.attachedToTarget"]
        return {each["targetInfo"]["type"]: each["sessionId"] for each in events}


def methods(messages: list[Any]) -> list[str]:
    return [each.get("method", "a reply") for each in messages]


def test_a_crash_drops_the_steps_that_waited_for_a_dialog() -> None:
    fake = FakeBrowser()
    client = Client(fake)
    client.attach()
    fake.play(Dialog("alert", "first"))
    fake.play(Wait(0.5), Dialog("alert", "late"), Console("later"))
    fake.advance(1)
    fake.play(Crash())
    messages = methods(client.read())
    assert messages == ["Page.javascriptDialogOpening", "Page.javascriptDialogClosed", "Inspector.targetCrashed"]
    assert fake.truth().dialogs[-1].message == "first"


def test_a_crashed_page_does_nothing_until_it_navigates() -> None:
    fake = FakeBrowser()
    client = Client(fake)
    session = client.attach()
    fake.play(Crash(), Dialog("alert", "x"), Console("x"), AddFrame("f", PAY), Worker("w"), Crash())
    assert methods(client.read()) == ["Inspector.targetCrashed"]
    fake.play(Navigate(SHOP), Console("here"))
    assert "Runtime.consoleAPICalled" in methods(client.read())
    assert client.call("Runtime.evaluate", {"expression": "1"}, session)["result"]["result"]["value"] == 1


def test_steps_of_other_processes_continue_after_a_crash() -> None:
    fake = FakeBrowser(Script(pages={SHOP: (AddFrame("ad", PAY),)}))
    client = Client(fake)
    session = client.attach()
    client.call("Page.navigate", {"url": SHOP}, session)
    frame = client.attached()["iframe"]
    client.call("Runtime.enable", {}, frame)
    fake.play(Dialog("alert", "first", frame="ad"))
    fake.play(Console("lost", frame="ad"), Console("kept"))
    client.write("Page.crash", {}, frame)
    lines = [
        each["params"]["args"][0]["value"] for each in client.read() if each.get("method", "").endswith("APICalled")
    ]
    assert lines == ["kept"]


def test_a_crash_step_crashes_only_the_out_of_process_frame() -> None:
    fake = FakeBrowser(Script(pages={SHOP: (AddFrame("ad", PAY),)}))
    client = Client(fake)
    session = client.attach()
    client.call("Page.navigate", {"url": SHOP}, session)
    frame = client.attached()["iframe"]
    fake.play(Crash("ad"))
    messages = [(each["method"], each.get("sessionId")) for each in client.read()]
    assert ("Inspector.targetCrashed", frame) in messages
    assert ("Inspector.targetCrashed", session) not in messages
    assert client.call("Runtime.evaluate", {"expression": "1"}, frame) is None  # no answer (fact 49)
    assert client.call("Runtime.evaluate", {"expression": "1"}, session)["result"]["result"]["value"] == 1
    fake.play(RemoveFrame("ad"))
    assert "Target.detachedFromTarget" in methods(client.read())


def test_answering_a_dialog_of_a_crashed_frame_has_no_effect() -> None:
    fake = FakeBrowser(Script(pages={SHOP: (AddFrame("ad", PAY),)}))
    client = Client(fake)
    session = client.attach()
    client.call("Page.navigate", {"url": SHOP}, session)
    fake.play(Dialog("confirm", "first", frame="ad"), Crash("ad"))
    assert "Page.javascriptDialogClosed" not in methods(client.read())
    assert client.call("Page.handleJavaScriptDialog", {"accept": True}, session)["result"] == {}


@pytest.mark.parametrize("edges", ["observed", "causal"])
@pytest.mark.parametrize("late", [("Target.setAutoAttach", FLAT), ("Runtime.evaluate", {"expression": "1"})])
def test_messages_of_nested_sessions_precede_the_detach_of_their_parent(edges: Any, late: tuple[str, Any]) -> None:
    fake = FakeBrowser(Script(pages={SHOP: (AddFrame("ad", PAY), Worker("w"))}))
    client = Client(fake)
    client.end = fake.connect(edges=edges)
    session = client.attach()
    client.call("Page.navigate", {"url": SHOP}, session)
    nested = [client.attached()[kind] for kind in ("iframe", "worker")]
    for each in nested:
        client.write(*late, each)
    client.write("Target.detachFromTarget", {"sessionId": session})
    messages: list[Any] = []
    while ready := client.end.ready():  # deliver the newest ready message first
        messages.append(json.loads(fake.deliver(client.end, ready[-1])))
    [end] = [index for index, each in enumerate(messages) if each.get("method") == "Target.detachedFromTarget"]
    assert {index < end for index, each in enumerate(messages) if each.get("sessionId") in nested} == {True}
