"""Refusals of commands about targets, scripts, requests and input (facts 13, 53, 59)."""

from __future__ import annotations

from typing import Any

import pytest

from cdp_core.testing.steps import Request

pytestmark = pytest.mark.chromium

PAGES = [{"type": "page"}]
XHR = {"resourceType": "XHR"}


def send_each(scenario: Any, commands: list[tuple[str, Any]], on: str = "browser") -> None:
    for method, params in commands:
        scenario.send(method, params, on=on)


METHODS = [
    "Browser.getWindowBounds",
    "Browser.grantPermissions",
    "Browser.setWindowBounds",
    "Emulation.setDeviceMetricsOverride",
    "Fetch.continueRequest",
    "IO.read",
    "Input.dispatchKeyEvent",
    "Input.insertText",
    "Network.getCookies",
    "Network.getResponseBody",
    "Page.createIsolatedWorld",
    "Page.handleJavaScriptDialog",
    "Page.setDocumentContent",
    "Runtime.addBinding",
    "Runtime.callFunctionOn",
    "Runtime.evaluate",
    "Runtime.getProperties",
    "Runtime.runIfWaitingForDebugger",
    "Runtime.nope",
    "Storage.getCookies",
    "Storage.setCookies",
    "Target.autoAttachRelated",
    "Target.exposeDevToolsProtocol",
    "Target.getDevToolsTarget",
    "Target.sendMessageToTarget",
    "Target.setRemoteLocations",
    "Tethering.bind",
]


@pytest.mark.parametrize("on", ["browser", "p"])
async def test_known_and_unknown_methods(scenario: Any, on: str) -> None:
    scenario.open("p", "{a}/main")
    for method in METHODS:
        scenario.send(method, {}, on=on)
    await scenario.conforms()


FLAT = {"waitForDebuggerOnStart": False, "flatten": True}


async def test_unknown_targets(scenario: Any) -> None:
    scenario.open("p", "{a}/main")
    commands: list[tuple[str, Any]] = [
        ("Target.attachToTarget", {"targetId": ""}),
        ("Target.detachFromTarget", {"sessionId": ""}),
        ("Target.detachFromTarget", {"targetId": "$target.p"}),
        ("Target.detachFromTarget", {"targetId": "$target.p"}),
        ("Target.closeTarget", {"targetId": ""}),
        ("Target.activateTarget", {"targetId": ""}),
        ("Target.getTargetInfo", {"targetId": ""}),
        ("Target.exposeDevToolsProtocol", {"targetId": "unknown"}),
        ("Target.sendMessageToTarget", {"message": "x", "sessionId": "unknown"}),
        ("Target.sendMessageToTarget", {"message": "x", "targetId": "unknown"}),
        ("Target.sendMessageToTarget", {"message": "x"}),
        ("Target.setRemoteLocations", {"locations": []}),
        ("Target.autoAttachRelated", {"targetId": "unknown", "waitForDebuggerOnStart": False}),
        ("Target.createTarget", {"url": "about:blank", "browserContextId": ""}),
        ("Target.createTarget", {"url": "about:blank", "width": 300}),
        ("Target.setDiscoverTargets", {"discover": False}),
        ("Target.setDiscoverTargets", {"discover": False, "filter": PAGES}),
        ("Target.setDiscoverTargets", {"discover": True, "filter": [{"type": 5}]}),
        ("Target.setDiscoverTargets", {"discover": True, "filter": []}),
        ("Target.setAutoAttach", {}),
        ("Target.setAutoAttach", {**FLAT, "autoAttach": True, "filter": []}),
        ("Target.setAutoAttach", {**FLAT, "autoAttach": False, "filter": PAGES}),
        ("Target.setAutoAttach", {"autoAttach": False, "waitForDebuggerOnStart": False}),
        ("Browser.getWindowForTarget", {}),
        ("Storage.clearCookies", {}),
    ]
    send_each(scenario, commands)
    await scenario.conforms()


ODD_URLS = [
    "about:blank#x",
    "about:srcdoc",
    "javascript:1+1",
    "http://",
    "http://127.0.0.1:99999/",
    "ftp://x/",
    "foo:bar",
    "  {a}/around  ",
    "{a}/x y",
    "{a}/\u00fc",
    "HTTP://127.0.0.1:1/",
    "//127.0.0.1/",
]


async def test_odd_urls(scenario: Any) -> None:
    scenario.open("p", "{a}/main")
    for url in ODD_URLS:
        scenario.go(url, on="p")
    await scenario.conforms()


async def test_wrong_input_params(scenario: Any) -> None:
    scenario.open("p", "{a}/main")
    at = {"x": 1, "y": 1}
    commands: list[tuple[str, Any]] = [
        ("Input.dispatchMouseEvent", {}),
        ("Input.dispatchMouseEvent", {"type": "nope", **at}),
        ("Input.dispatchMouseEvent", {"type": "mousePressed", "button": "nope", **at}),
        ("Input.dispatchKeyEvent", {"type": "nope"}),
        ("Input.dispatchKeyEvent", {}),
        ("Input.insertText", {"text": "x"}),
        ("Input.insertText", {}),
    ]
    send_each(scenario, commands, on="p")
    await scenario.conforms()


@pytest.mark.parametrize("awaited", [True, False])
async def test_scripts_that_throw(scenario: Any, awaited: bool) -> None:
    scenario.open("p", "{a}/main", enable=["Page", "Runtime"])
    for expression in (
        "throw new Error('x')",
        "throw 'x'",
        "throw new TypeError('t')",
        "throw null",
        "Promise.reject(new Error('r'))",
        "Promise.reject('r')",
        "Promise.resolve(7)",
        "Promise.resolve()",
        "NaN",
        "-0",
    ):
        scenario.evaluate(expression, on="p", awaitPromise=awaited)
        scenario.settle()
    await scenario.conforms()


async def test_unknown_contexts(scenario: Any) -> None:
    scenario.open("p", "{a}/main", enable=["Runtime"])
    for place in (
        {"contextId": 99999},
        {"contextId": -1},
        {"contextId": 0},
        {"uniqueContextId": "nope"},
        {"uniqueContextId": "1.2"},
        {"contextId": 1, "uniqueContextId": "1.2"},
    ):
        scenario.evaluate("1", on="p", **place)
    declared = {"functionDeclaration": "() => 1"}
    commands: list[tuple[str, Any]] = [
        ("Runtime.callFunctionOn", declared),
        ("Runtime.callFunctionOn", {**declared, "objectId": "nope"}),
        ("Runtime.callFunctionOn", {**declared, "objectId": "1.2.3"}),
        ("Runtime.callFunctionOn", {**declared, "executionContextId": 99999}),
        ("Runtime.releaseObject", {"objectId": "nope"}),
        ("Page.createIsolatedWorld", {"frameId": "nope"}),
        ("Page.navigate", {"url": "{a}/x", "frameId": ""}),
        ("Page.navigateToHistoryEntry", {"entryId": 777}),
    ]
    send_each(scenario, commands, on="p")
    await scenario.conforms()


async def test_console_methods(scenario: Any) -> None:
    scenario.open("p", "{a}/main", enable=["Page", "Runtime"])
    for call in (
        "log('a', 1, true, null)",
        "log()",
        "warn('w')",
        "dir(1)",
        "trace('t')",
        "trace()",
        "assert(false, 'x')",
        "assert(true, 'x')",
        "assert(false)",
        "group('g')",
        "groupCollapsed('g')",
        "groupEnd()",
        "clear()",
    ):
        scenario.evaluate(f"console.{call}", on="p")
    scenario.settle()
    await scenario.conforms()


def pause_request(scenario: Any, number: int = 0) -> dict[str, str]:
    scenario.act(Request(f"{{a}}/{number}.txt"), on="p")
    scenario.expect("Fetch.requestPaused", on="p", save={f"request.{number}": "params.requestId"})
    return {"requestId": f"$request.{number}"}


def open_page_with_fetch(scenario: Any, stage: str) -> None:
    scenario.open("p", "{a}/main", enable=["Page", "Runtime"])
    scenario.send("Fetch.enable", {"patterns": [{**XHR, "requestStage": stage}]}, on="p")


DECISIONS: dict[str, Any] = {
    "continueRequest": {},
    "continueResponse": {},
    "failRequest": {"errorReason": "Failed"},
    "fulfillRequest": {"responseCode": 200},
    "getResponseBody": {},
    "takeResponseBodyAsStream": {},
    "continueWithAuth": {"authChallengeResponse": {"response": "Default"}},
}


@pytest.mark.parametrize("stage", ["Request", "Response"])
async def test_a_request_is_decided_more_than_once(scenario: Any, stage: str) -> None:
    open_page_with_fetch(scenario, stage)
    for number, (decision, params) in enumerate(DECISIONS.items()):
        request = pause_request(scenario, number)
        send_each(scenario, [(f"Fetch.{decision}", {**request, **params})] * 2, on="p")
        send_each(scenario, [("Fetch.continueRequest", request)], on="p")
        scenario.settle()
    await scenario.conforms()


async def test_wrong_decisions_about_a_request(scenario: Any) -> None:
    open_page_with_fetch(scenario, "Request")
    request = pause_request(scenario)
    commands: list[tuple[str, Any]] = [
        ("Fetch.continueRequest", {**request, "headers": [{"name": "", "value": ""}]}),
        ("Fetch.continueResponse", {**request, "responseCode": 200}),
        ("Fetch.failRequest", {**request, "errorReason": "Nope"}),
        ("Fetch.fulfillRequest", {**request, "responseCode": 99}),
        ("Fetch.continueRequest", {**request, "url": "nope"}),
        ("Fetch.enable", {"patterns": [{"requestStage": "Nope"}]}),
        ("Fetch.enable", {"patterns": [{"resourceType": "Nope"}]}),
        ("Fetch.enable", {"patterns": [5]}),
        ("Fetch.enable", {"handleAuthRequests": 1}),
        *((f"Fetch.{name}", {"requestId": "gone", **params}) for name, params in DECISIONS.items()),
    ]
    send_each(scenario, commands, on="p")
    await scenario.conforms()


@pytest.mark.parametrize("enable", [["Page"], ["Page", "Runtime"]], ids=["Page", "Page and Runtime"])
async def test_exceptions_of_evaluations(scenario: Any, enable: list[str]) -> None:
    scenario.open("p", "{a}/main", enable=enable)
    for expression in ("nowhere", "null.x", "throw new Error('x')", "throw 1", "throw 'x'", "("):
        scenario.evaluate(expression, on="p")
    await scenario.conforms()
