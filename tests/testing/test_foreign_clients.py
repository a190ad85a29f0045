"""What other CDP clients send at their start: tabs, isolated worlds, lifecycle events, functions.

The fake answers it as Chromium does.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from cdp_core.testing import FakeBrowser, Script
from cdp_core.testing.steps import AddFrame, Answer, Dialog

SHOP = "https://shop.example/"
SCRIPT = Script(
    pages={f"{SHOP}frames": (AddFrame("near", f"{SHOP}near"),)},
    answers={"cart.items()": Answer([1, 2]), "cart.total()": Answer(12)},
)
TABS = [{"type": "page", "exclude": True}, {}]


class Client:
    """A client that returns the answer of each command and keeps the messages that came with it."""

    def __init__(self, fake: FakeBrowser) -> None:
        self.end, self.sent, self.messages = fake.connect(), 0, list[Any]()

    def send(self, method: str, session: str | None = None, **params: Any) -> Any:
        self.sent += 1
        message = {"id": self.sent, "method": method, "params": params}
        self.end.receive(json.dumps(message | ({"sessionId": session} if session else {})).encode())
        self.messages = [json.loads(text) for text in self.end.drain()]
        answers = [each for each in self.messages if each.get("id") == self.sent]
        return answers[0].get("result", answers[0].get("error")) if answers else None

    def events(self, method: str) -> list[Any]:
        return [each["params"] for each in self.messages if each.get("method") == method]

    def page(self) -> tuple[str, str]:
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        return target, self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]


@pytest.fixture
def fake() -> FakeBrowser:
    return FakeBrowser(SCRIPT)


@pytest.fixture
def client(fake: FakeBrowser) -> Client:
    return Client(fake)


def test_a_client_that_requests_tabs_reaches_a_page_through_its_tab(client: Client, fake: FakeBrowser) -> None:
    client.send("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=True, flatten=True, filter=TABS)
    [attached] = client.events("Target.attachedToTarget")
    assert (attached["targetInfo"]["type"], attached["waitingForDebugger"]) == ("tab", False)
    tab = attached["sessionId"]
    assert client.send("Page.enable", tab) == {"code": -32601, "message": "'Page.enable' wasn't found"}
    assert client.send("Target.setAutoAttach", tab, autoAttach=True, waitForDebuggerOnStart=True, flatten=True) == {}
    [attached] = client.events("Target.attachedToTarget")
    assert attached["targetInfo"]["targetId"] == fake.truth().pages[0]
    client.send("Target.setDiscoverTargets", discover=True, filter=[{}])
    kinds = [each["targetInfo"]["type"] for each in client.events("Target.targetCreated")]
    assert sorted(kinds) == ["browser", "page", "tab"]
    client.send("Target.closeTarget", targetId=fake.truth().pages[0])
    ends = [
        each["method"] for each in client.messages if "detached" in each.get("method", "") or "Destroyed" in str(each)
    ]
    assert ends == [
        "Inspector.detached",
        "Target.detachedFromTarget",
        "Target.targetDestroyed",
        "Target.detachedFromTarget",
        "Target.targetDestroyed",
    ]


def test_a_client_that_does_not_request_tabs_receives_none(client: Client) -> None:
    client.send("Target.setDiscoverTargets", discover=True)
    assert [each["targetInfo"]["type"] for each in client.events("Target.targetCreated")] == ["page"]
    client.send("Target.createTarget", url="about:blank")
    assert [each["targetInfo"]["type"] for each in client.events("Target.targetCreated")] == ["page"]


def test_a_popup_waits_for_the_session_of_its_page_not_of_its_tab(client: Client, fake: FakeBrowser) -> None:
    _, page = client.page()
    client.send("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=False, flatten=True, filter=TABS)
    assert client.send("Runtime.evaluate", page, expression=f"window.open('{SHOP}')", userGesture=True) is None
    tab = client.events("Target.attachedToTarget")[0]["sessionId"]
    opened = client.sent

    def is_answered() -> bool:
        return any(each.get("id") == opened for each in client.messages)

    client.send("Runtime.runIfWaitingForDebugger", tab)
    assert not is_answered()
    client.send("Target.setAutoAttach", tab, autoAttach=True, waitForDebuggerOnStart=False, flatten=True)
    assert not is_answered()
    [popup] = client.events("Target.attachedToTarget")
    assert fake.paused() == ((popup["targetInfo"]["targetId"], "page"),)
    client.send("Runtime.runIfWaitingForDebugger", popup["sessionId"])
    assert is_answered()
    assert fake.paused() == ()


def test_a_named_isolated_world_is_reused_and_created_again_in_each_document(client: Client) -> None:
    page, session = client.page()
    for method in ("Page.enable", "Runtime.enable"):
        client.send(method, session)
    first = client.send("Page.createIsolatedWorld", session, frameId=page, worldName="mine")
    assert client.events("Runtime.executionContextCreated")[0]["context"]["auxData"]["type"] == "isolated"
    assert client.send("Page.createIsolatedWorld", session, frameId=page, worldName="mine") == first
    assert client.send("Page.createIsolatedWorld", session, frameId=page) != first
    refused = {"code": -32602, "message": "No frame for given id found"}
    assert client.send("Page.createIsolatedWorld", session, frameId="x") == refused
    added = [client.send("Page.addScriptToEvaluateOnNewDocument", session, source="", worldName="new") for _ in "ab"]
    assert added == [{"identifier": "1"}, {"identifier": "2"}]
    client.send("Page.removeScriptToEvaluateOnNewDocument", session, identifier="2")
    assert client.send("Page.addScriptToEvaluateOnNewDocument", session, source="") == {"identifier": "3"}
    client.send("Page.navigate", session, url=f"{SHOP}frames")
    made = [each["context"] for each in client.events("Runtime.executionContextCreated")]
    of_the_page = [each["name"] for each in made if each["auxData"]["frameId"] == page]
    assert of_the_page == ["", "new", "mine", ""]
    near = [each["name"] for each in made if each["auxData"]["frameId"] != page]
    assert near == ["", "new"]
    last = made[1]
    params = {"expression": "location.href", "uniqueContextId": last["uniqueId"]}
    assert client.send("Runtime.evaluate", session, **params)["result"]["value"] == f"{SHOP}frames"
    params["uniqueContextId"] = "1.1"
    assert client.send("Runtime.evaluate", session, **params) == {
        "code": -32602,
        "message": "uniqueContextId not found",
    }


def test_lifecycle_events_are_sent_live_and_repeated_when_they_are_enabled(client: Client, fake: FakeBrowser) -> None:
    _, session = client.page()
    client.send("Page.setLifecycleEventsEnabled", session, enabled=True)
    repeated = [each["name"] for each in client.events("Page.lifecycleEvent")]
    assert repeated == ["commit", "DOMContentLoaded", "load", "networkAlmostIdle", "networkIdle"]
    client.send("Page.navigate", session, url=SHOP)
    assert client.events("Page.lifecycleEvent") == []  # none without Page.enable
    client.send("Page.enable", session)
    client.send("Page.navigate", session, url=f"{SHOP}two")
    assert [each["name"] for each in client.events("Page.lifecycleEvent")] == ["init", "DOMContentLoaded", "load"]
    fake.advance(fake.now + 0.5)
    idle = [json.loads(text)["params"].get("name") for text in client.end.drain()]
    assert idle == ["networkAlmostIdle", "networkIdle"]
    client.send("Page.disable", session)
    client.send("Page.enable", session)
    client.send("Page.navigate", session, url=SHOP)
    assert client.events("Page.lifecycleEvent") == []


@pytest.mark.parametrize(
    ("function", "arguments", "value"),
    [
        ("() => cart.total()", [], 12),
        ("async function work() { return await cart.total(); }", [], 12),
        ("() => { cart.total() }", [], None),
        ("(a, b) => a + b", [{"value": 3}, {"value": 4}], 7),
        ("() => { const n = cart.total(); return n; }\n//# sourceURL=pptr:evaluate;x", [], 12),
        ("() => cart.items()", [], [1, 2]),
        ("() => {}", [], None),
    ],
)
def test_a_function_is_evaluated_as_the_expression_in_it(
    function: str, arguments: list[Any], value: Any, client: Client, fake: FakeBrowser
) -> None:
    _, session = client.page()
    client.send("Runtime.enable", session)
    params = {"functionDeclaration": function, "executionContextId": 1, "returnByValue": True, "arguments": arguments}
    assert client.send("Runtime.callFunctionOn", session, **params)["result"].get("value") == value
    assert not fake.statistics().unmodelled


def test_an_invalid_or_unmodelled_function_is_reported(client: Client, fake: FakeBrowser) -> None:
    _, session = client.page()
    client.send("Runtime.enable", session)

    def call(text: str, **more: Any) -> Any:
        return client.send("Runtime.callFunctionOn", session, functionDeclaration=text, **more)

    assert call("1+1", executionContextId=1)["message"] == "Given expression does not evaluate to a function"
    assert call("() => 1", executionContextId=9)["message"] == "Cannot find context with specified id"
    assert call("() => 1", objectId="x")["message"] == "Invalid remote object id"
    assert call("() => 1")["code"] == -32602
    held = call("() => cart.items()", executionContextId=1)["result"]["objectId"]
    assert call("x => x", executionContextId=1, arguments=[{"objectId": held}], returnByValue=True)["result"] == {
        "type": "object",
        "value": [1, 2],
    }
    assert client.send("Runtime.releaseObject", session, objectId=held) == {}
    assert (
        client.send("Runtime.releaseObject", session, objectId=held)["message"] == "Could not find object with given id"
    )
    assert not fake.statistics().unmodelled
    assert call("() => document.body.innerHTML", executionContextId=1) == {"result": {"type": "undefined"}}
    assert fake.statistics().unmodelled == {"a function of Runtime.callFunctionOn": 1}


def test_a_command_without_effect_is_accepted_where_chromium_accepts_it(client: Client, fake: FakeBrowser) -> None:
    page, session = client.page()
    assert client.send("Emulation.setFocusEmulationEnabled", session, enabled=True) == {}
    assert client.send("Emulation.setFocusEmulationEnabled", enabled=True)["code"] == -32601
    assert client.send("Browser.setDownloadBehavior", behavior="deny") == {}
    assert client.send("Browser.setDownloadBehavior", behavior="allow")["message"] == "downloadPath not provided"
    client.send("Page.enable", session)
    fake.play(Dialog("alert", "Hello", frame="page 2"))
    client.end.drain()
    assert client.send("Emulation.setFocusEmulationEnabled", session, enabled=True) is None  # fact 15
    assert client.send("Security.setIgnoreCertificateErrors", session, ignore=True) == {}
    assert client.send("Page.handleJavaScriptDialog", session, accept=True) == {}
    assert page in fake.truth().pages
