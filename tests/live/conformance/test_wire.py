"""Which texts are messages, and how Chromium refuses the others (facts 8, 53, 54, 56, 59)."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.chromium

MALFORMED = {
    "nothing": "",
    "space": "  ",
    "garbage": "not json",
    "number": "7",
    "text": '"x"',
    "null": "null",
    "list": "[]",
    "batch": '[{"id":1,"method":"Browser.getVersion"}]',
    "cut": '{"id":1,"method":"Browser.getVersion"',
    "comma at the end": '{"id":1,"method":"Browser.getVersion",}',
    "comma at the end of a list": '{"id":1,"method":"Browser.getVersion","params":[1,]}',
    "no comma in a list": '{"id":1,"method":"Browser.getVersion","params":[1 2]}',
    "no end of a list": '{"id":1,"method":"Browser.getVersion","params":[1',
    "no end of a text": '{"id":1,"method":"Browser',
    "no value": '{"id":',
    "bare brace": "{",
    "bare key": '{"id"',
    "bare bracket": "[",
    "closing bracket": "]",
    "word": '{"id":nope}',
    "no key": "{1:2}",
    "number like": '{"id":1.,"method":"Browser.getVersion"}',
    "plus": '{"id":+1,"method":"Browser.getVersion"}',
    "exponent": '{"id":1e1,"method":"Browser.getVersion"}',
    "fraction that is whole": '{"id":2.50e1,"method":"Browser.getVersion"}',
    "control sign": '{"id":1,"method":"a\nb"}',
    "non-ASCII": '{"id":1,"method":"ü€😀"}',
    "non-ASCII, then cut": '{"ü€😀":1,"id":1,"method":',
    "lone surrogate": '{"id":1,"method":"\\ud800"}',
    "duplicate key below": '{"id":1,"method":"Browser.getVersion","params":{"a":1,"a":2}}',
    "duplicate key behind a text": '{"method":"ü","id":5,"method":"y"}',
    "no colon": '{"id" 1}',
    "single quotes": "{'id':1}",
    "two objects": '{"id":1,"method":"Browser.getVersion"}{"id":2}',
    "comment": '/* x */{"id":1,"method":"Browser.getVersion"}',
    "bad escape": '{"id":1,"method":"\\q"}',
    "leading zero": '{"id":01,"method":"Browser.getVersion"}',
    "deep": '{"id":1,"method":"Browser.getVersion","params":' + "[" * 400 + "]" * 400 + "}",
    "empty object": "{}",
    "no id": '{"method":"Browser.getVersion"}',
    "no method": '{"id":1}',
    "float id": '{"id":1.5,"method":"Browser.getVersion"}',
    "whole float id": '{"id":7.0,"method":"Browser.getVersion"}',
    "text id": '{"id":"1","method":"Browser.getVersion"}',
    "null id": '{"id":null,"method":"Browser.getVersion"}',
    "bool id": '{"id":true,"method":"Browser.getVersion"}',
    "big id": '{"id":2147483648,"method":"Browser.getVersion"}',
    "greatest id": '{"id":2147483647,"method":"Browser.getVersion"}',
    "least id": '{"id":-2147483648,"method":"Browser.getVersion"}',
    "too low id": '{"id":-2147483649,"method":"Browser.getVersion"}',
    "zero id": '{"id":0,"method":"Browser.getVersion"}',
    "negative id": '{"id":-5,"method":"Browser.getVersion"}',
    "duplicate key": '{"id":1,"id":2,"method":"Browser.getVersion"}',
    "number method": '{"id":1,"method":5}',
    "null method": '{"id":1,"method":null}',
    "unknown key": '{"id":1,"method":"Browser.getVersion","jsonrpc":"2.0"}',
    "number session": '{"id":1,"method":"Browser.getVersion","sessionId":5}',
    "null session": '{"id":1,"method":"Browser.getVersion","sessionId":null}',
    "empty session": '{"id":1,"method":"Browser.getVersion","sessionId":""}',
    "unknown session": '{"id":1,"method":"Browser.getVersion","sessionId":"ABC"}',
    "null params": '{"id":1,"method":"Browser.getVersion","params":null}',
    "list params": '{"id":1,"method":"Target.getTargetInfo","params":[]}',
    "text params": '{"id":1,"method":"Target.getTargetInfo","params":"x"}',
    "number params": '{"id":1,"method":"Browser.getVersion","params":5}',
    "extra params": '{"id":1,"method":"Browser.getVersion","params":{"x":1}}',
    "unknown method": '{"id":1,"method":"Nope.nope"}',
    "no domain": '{"id":1,"method":"nope"}',
    "empty method": '{"id":1,"method":""}',
    "unknown method of a domain": '{"id":1,"method":"Target.nope"}',
    "wrong case": '{"id":1,"method":"browser.getversion"}',
    "page method on the root": '{"id":1,"method":"Page.enable"}',
    "runtime method on the root": '{"id":1,"method":"Runtime.evaluate","params":{"expression":"1"}}',
}


@pytest.mark.parametrize("part", range(3))
async def test_malformed_messages(scenario: Any, part: int) -> None:
    for text in list(MALFORMED.values())[part::3]:
        scenario.raw(text)
    await scenario.conforms()


PARAMS: list[tuple[str, Any]] = [
    ("Target.attachToTarget", None),
    ("Target.attachToTarget", {}),
    ("Target.attachToTarget", {"targetId": 5}),
    ("Target.attachToTarget", {"targetId": None}),
    ("Target.attachToTarget", {"flatten": True, "targetId": {"a": 1}}),
    ("Target.attachToTarget", {"flatten": 1, "targetId": "x"}),
    ("Target.attachToTarget", {"flatten": True, "targetId": "unknown"}),
    ("Target.setDiscoverTargets", {"discover": "yes"}),
    ("Target.setDiscoverTargets", {"x": "a long text of more than twenty-four bytes", "discover": 1}),
    ("Target.setDiscoverTargets", {"ü": "ä", "discover": 1}),
    ("Target.setDiscoverTargets", {"list": [1, 2.5, "x", None, {"a": []}], "n": -300, "discover": 1}),
    ("Target.setAutoAttach", {"autoAttach": True}),
    ("Target.setAutoAttach", {"autoAttach": True, "waitForDebuggerOnStart": False}),
    ("Target.setAutoAttach", {"autoAttach": True, "waitForDebuggerOnStart": False, "flatten": False}),
    ("Target.setAutoAttach", {"autoAttach": True, "waitForDebuggerOnStart": False, "flatten": True, "filter": 1}),
    ("Target.createTarget", {}),
    ("Target.createTarget", {"url": "about:blank", "width": "x"}),
    ("Target.createTarget", {"url": "about:blank", "browserContextId": "unknown"}),
    ("Target.closeTarget", {}),
    ("Target.closeTarget", {"targetId": "unknown"}),
    ("Target.activateTarget", {"targetId": "unknown"}),
    ("Target.getTargetInfo", {"targetId": "unknown"}),
    ("Target.detachFromTarget", {"sessionId": "unknown"}),
    ("Target.detachFromTarget", {"targetId": "unknown"}),
    ("Target.detachFromTarget", {}),
    ("Target.disposeBrowserContext", {"browserContextId": "unknown"}),
    ("Target.disposeBrowserContext", {}),
    ("Browser.getVersion", {"x": 1}),
]


async def test_params_on_the_root(scenario: Any) -> None:
    for method, params in PARAMS:
        scenario.send(method, params)
    await scenario.conforms()


async def test_params_on_a_page(scenario: Any) -> None:
    scenario.open("p")
    for method, params in [
        ("Page.navigate", {}),
        ("Page.navigate", {"url": 5}),
        ("Page.navigate", {"url": "not a url"}),
        ("Page.navigate", {"url": ""}),
        ("Page.navigate", {"url": "{a}/x", "frameId": "unknown"}),
        ("Page.handleJavaScriptDialog", {}),
        ("Page.handleJavaScriptDialog", {"accept": "yes"}),
        ("Page.handleJavaScriptDialog", {"accept": True, "promptText": 5}),
        ("Page.handleJavaScriptDialog", {"accept": True}),
        ("Runtime.evaluate", {}),
        ("Runtime.evaluate", {"expression": 1}),
        ("Runtime.evaluate", {"expression": "1", "contextId": 99999}),
        ("Runtime.evaluate", {"expression": "1", "contextId": "x"}),
        ("Runtime.evaluate", {"expression": "1", "returnByValue": 1}),
        ("Page.removeScriptToEvaluateOnNewDocument", {"identifier": "77"}),
        ("Page.addScriptToEvaluateOnNewDocument", {}),
        ("Page.addScriptToEvaluateOnNewDocument", {"source": "1"}),
        ("Page.addScriptToEvaluateOnNewDocument", {"source": "1"}),
        ("Page.removeScriptToEvaluateOnNewDocument", {"identifier": "1"}),
        ("Page.removeScriptToEvaluateOnNewDocument", {"identifier": "1"}),
        ("Target.createBrowserContext", {}),
        ("Nope.nope", {}),
        ("Page.nope", {}),
    ]:
        scenario.send(method, params, on="p")
    await scenario.conforms()


async def test_ids_are_counted_per_session(scenario: Any) -> None:
    scenario.open("p")
    scenario.send("Browser.getVersion", id=100)
    scenario.send("Browser.getVersion", id=100)
    scenario.send("Browser.getVersion", on="p", id=100)
    await scenario.conforms()


async def test_a_repeated_id_in_flight(scenario: Any) -> None:
    scenario.open("p")
    scenario.evaluate("alert('blocks')", on="p", wait=False)
    scenario.expect("Page.javascriptDialogOpening", on="p")
    scenario.send("Runtime.evaluate", {"expression": "1"}, on="p", id=500, wait=False)
    scenario.send("Runtime.evaluate", {"expression": "2"}, on="p", id=500, wait=False)
    scenario.send("Runtime.evaluate", {"expression": "3"}, on="p", id=501, wait=False)
    scenario.settle()
    scenario.send("Page.handleJavaScriptDialog", {"accept": True}, on="p")
    await scenario.conforms()


async def test_unknown_and_ended_sessions(scenario: Any) -> None:
    scenario.open("p")
    scenario.send("Browser.getVersion", on="NOSESSION")
    scenario.send("Nope.nope", on="NOSESSION")
    scenario.send("Target.detachFromTarget", {"sessionId": "$session.p"})
    scenario.send("Runtime.evaluate", {"expression": "1"}, on="p")
    scenario.send("Target.detachFromTarget", {"sessionId": "$session.p"})
    await scenario.conforms()


async def test_a_session_of_another_client(scenario: Any) -> None:
    scenario.open("p")
    scenario.connect("B")
    scenario.send("Runtime.evaluate", {"expression": "1"}, on="p", client="B")
    scenario.send("Target.detachFromTarget", {"sessionId": "$session.p"}, client="B")
    scenario.send("Runtime.evaluate", {"expression": "1"}, on="p")
    await scenario.conforms()


async def test_commands_of_the_root_session_on_a_page_session(scenario: Any) -> None:
    scenario.open("p")
    scenario.send("Target.createBrowserContext", {}, on="p")
    scenario.send("Target.getBrowserContexts", {}, on="p")
    scenario.send("Target.disposeBrowserContext", {"browserContextId": "x"}, on="p")
    scenario.send("Target.createTarget", {"url": "about:blank"}, on="p", save={"target.q": "targetId"})
    scenario.settle()
    scenario.send("Target.activateTarget", {"targetId": "$target.q"}, on="p")
    scenario.send("Target.closeTarget", {"targetId": "$target.q"}, on="p")
    await scenario.conforms()
