"""What other people's clients send at their start, answered as Chromium answers it: tabs, worlds, moments, functions."""

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
    """Sends a command, and gives its answer; what came meanwhile is kept."""

    def __init__(self, fake: FakeBrowser) -> None:
        self.end, self.sent, self.came = fake.connect(), 0, list[Any]()

    def ask(self, method: str, session: str | None = None, **params: Any) -> Any:
        self.sent += 1
        message = {"id": self.sent, "method": method, "params": params}
        self.end.receive(json.dumps(message | ({"sessionId": session} if session else {})).encode())
        self.came = [json.loads(text) for text in self.end.drain()]
        answers = [each for each in self.came if each.get("id") == self.sent]
        return answers[0].get("result", answers[0].get("error")) if answers else None

    def told(self, method: str) -> list[Any]:
        return [each["params"] for each in self.came if each.get("method") == method]

    def page(self) -> tuple[str, str]:
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        return target, self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]


@pytest.fixture
def fake() -> FakeBrowser:
    return FakeBrowser(SCRIPT)


@pytest.fixture
def client(fake: FakeBrowser) -> Client:
    return Client(fake)


def test_who_asks_for_tabs_reaches_a_page_through_its_tab(client: Client, fake: FakeBrowser) -> None:
    client.ask("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=True, flatten=True, filter=TABS)
    [attached] = client.told("Target.attachedToTarget")
    assert (attached["targetInfo"]["type"], attached["waitingForDebugger"]) == ("tab", False)
    tab = attached["sessionId"]
    assert client.ask("Page.enable", tab) == {"code": -32601, "message": "'Page.enable' wasn't found"}
    assert client.ask("Target.setAutoAttach", tab, autoAttach=True, waitForDebuggerOnStart=True, flatten=True) == {}
    [attached] = client.told("Target.attachedToTarget")
    assert attached["targetInfo"]["targetId"] == fake.truth().pages[0]
    client.ask("Target.setDiscoverTargets", discover=True, filter=[{}])
    kinds = [told["targetInfo"]["type"] for told in client.told("Target.targetCreated")]
    assert sorted(kinds) == ["browser", "page", "tab"]
    client.ask("Target.closeTarget", targetId=fake.truth().pages[0])
    ends = [each["method"] for each in client.came if "detached" in each.get("method", "") or "Destroyed" in str(each)]
    assert ends == [
        "Inspector.detached",
        "Target.detachedFromTarget",
        "Target.targetDestroyed",
        "Target.detachedFromTarget",
        "Target.targetDestroyed",
    ]


def test_who_asks_for_no_tabs_hears_of_none(client: Client) -> None:
    client.ask("Target.setDiscoverTargets", discover=True)
    assert [told["targetInfo"]["type"] for told in client.told("Target.targetCreated")] == ["page"]
    client.ask("Target.createTarget", url="about:blank")
    assert [told["targetInfo"]["type"] for told in client.told("Target.targetCreated")] == ["page"]


def test_a_popup_waits_for_the_session_of_its_page_not_of_its_tab(client: Client, fake: FakeBrowser) -> None:
    _, page = client.page()
    client.ask("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=False, flatten=True, filter=TABS)
    assert client.ask("Runtime.evaluate", page, expression=f"window.open('{SHOP}')", userGesture=True) is None
    tab = client.told("Target.attachedToTarget")[0]["sessionId"]
    opened = client.sent

    def goes_on() -> bool:
        return any(each.get("id") == opened for each in client.came)

    client.ask("Runtime.runIfWaitingForDebugger", tab)
    assert not goes_on()
    client.ask("Target.setAutoAttach", tab, autoAttach=True, waitForDebuggerOnStart=False, flatten=True)
    assert not goes_on()
    [popup] = client.told("Target.attachedToTarget")
    assert fake.paused() == ((popup["targetInfo"]["targetId"], "page"),)
    client.ask("Runtime.runIfWaitingForDebugger", popup["sessionId"])
    assert goes_on()
    assert fake.paused() == ()


def test_a_named_world_is_one_for_all_and_comes_with_each_document(client: Client) -> None:
    page, session = client.page()
    for method in ("Page.enable", "Runtime.enable"):
        client.ask(method, session)
    first = client.ask("Page.createIsolatedWorld", session, frameId=page, worldName="mine")
    assert client.told("Runtime.executionContextCreated")[0]["context"]["auxData"]["type"] == "isolated"
    assert client.ask("Page.createIsolatedWorld", session, frameId=page, worldName="mine") == first
    assert client.ask("Page.createIsolatedWorld", session, frameId=page) != first
    refused = {"code": -32602, "message": "No frame for given id found"}
    assert client.ask("Page.createIsolatedWorld", session, frameId="x") == refused
    added = [client.ask("Page.addScriptToEvaluateOnNewDocument", session, source="", worldName="new") for _ in "ab"]
    assert added == [{"identifier": "1"}, {"identifier": "2"}]
    client.ask("Page.removeScriptToEvaluateOnNewDocument", session, identifier="2")
    assert client.ask("Page.addScriptToEvaluateOnNewDocument", session, source="") == {"identifier": "3"}
    client.ask("Page.navigate", session, url=f"{SHOP}frames")
    made = [told["context"] for told in client.told("Runtime.executionContextCreated")]
    of_the_page = [each["name"] for each in made if each["auxData"]["frameId"] == page]
    assert of_the_page == ["", "new", "mine", ""]
    near = [each["name"] for each in made if each["auxData"]["frameId"] != page]
    assert near == ["", "new"]
    last = made[1]
    asked = {"expression": "location.href", "uniqueContextId": last["uniqueId"]}
    assert client.ask("Runtime.evaluate", session, **asked)["result"]["value"] == f"{SHOP}frames"
    asked["uniqueContextId"] = "1.1"
    assert client.ask("Runtime.evaluate", session, **asked) == {"code": -32602, "message": "uniqueContextId not found"}


def test_moments_are_told_as_they_come_and_told_again_to_who_asks(client: Client, fake: FakeBrowser) -> None:
    _, session = client.page()
    client.ask("Page.setLifecycleEventsEnabled", session, enabled=True)
    been = [told["name"] for told in client.told("Page.lifecycleEvent")]
    assert been == ["commit", "DOMContentLoaded", "load", "networkAlmostIdle", "networkIdle"]
    client.ask("Page.navigate", session, url=SHOP)
    assert client.told("Page.lifecycleEvent") == []  # not without Page
    client.ask("Page.enable", session)
    client.ask("Page.navigate", session, url=f"{SHOP}two")
    assert [told["name"] for told in client.told("Page.lifecycleEvent")] == ["init", "DOMContentLoaded", "load"]
    fake.advance(fake.now + 0.5)
    idle = [json.loads(text)["params"].get("name") for text in client.end.drain()]
    assert idle == ["networkAlmostIdle", "networkIdle"]
    client.ask("Page.disable", session)
    client.ask("Page.enable", session)
    client.ask("Page.navigate", session, url=SHOP)
    assert client.told("Page.lifecycleEvent") == []


@pytest.mark.parametrize(
    ("function", "arguments", "brings"),
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
def test_a_function_is_taken_for_the_expression_that_it_is(
    function: str, arguments: list[Any], brings: Any, client: Client, fake: FakeBrowser
) -> None:
    _, session = client.page()
    client.ask("Runtime.enable", session)
    asked = {"functionDeclaration": function, "executionContextId": 1, "returnByValue": True, "arguments": arguments}
    assert client.ask("Runtime.callFunctionOn", session, **asked)["result"].get("value") == brings
    assert not fake.statistics().unmodelled


def test_what_is_no_function_or_unknown_is_said_to_be(client: Client, fake: FakeBrowser) -> None:
    _, session = client.page()
    client.ask("Runtime.enable", session)

    def call(text: str, **more: Any) -> Any:
        return client.ask("Runtime.callFunctionOn", session, functionDeclaration=text, **more)

    assert call("1+1", executionContextId=1)["message"] == "Given expression does not evaluate to a function"
    assert call("() => 1", executionContextId=9)["message"] == "Cannot find context with specified id"
    assert call("() => 1", objectId="x")["message"] == "Invalid remote object id"
    assert call("() => 1")["code"] == -32602
    held = call("() => cart.items()", executionContextId=1)["result"]["objectId"]
    assert call("x => x", executionContextId=1, arguments=[{"objectId": held}], returnByValue=True)["result"] == {
        "type": "object",
        "value": [1, 2],
    }
    assert client.ask("Runtime.releaseObject", session, objectId=held) == {}
    assert (
        client.ask("Runtime.releaseObject", session, objectId=held)["message"] == "Could not find object with given id"
    )
    assert not fake.statistics().unmodelled
    assert call("() => document.body.innerHTML", executionContextId=1) == {"result": {"type": "undefined"}}
    assert fake.statistics().unmodelled == {"a function of Runtime.callFunctionOn": 1}


def test_what_changes_nothing_is_accepted_where_chromium_takes_it(client: Client, fake: FakeBrowser) -> None:
    page, session = client.page()
    assert client.ask("Emulation.setFocusEmulationEnabled", session, enabled=True) == {}
    assert client.ask("Emulation.setFocusEmulationEnabled", enabled=True)["code"] == -32601
    assert client.ask("Browser.setDownloadBehavior", behavior="deny") == {}
    assert client.ask("Browser.setDownloadBehavior", behavior="allow")["message"] == "downloadPath not provided"
    client.ask("Page.enable", session)
    fake.play(Dialog("alert", "Hello", frame="page 2"))
    client.end.drain()
    assert client.ask("Emulation.setFocusEmulationEnabled", session, enabled=True) is None  # fact 15
    assert client.ask("Security.setIgnoreCertificateErrors", session, ignore=True) == {}
    assert client.ask("Page.handleJavaScriptDialog", session, accept=True) == {}
    assert page in fake.truth().pages
