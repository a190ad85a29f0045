"""More messages on the wire: ids, envelopes, methods and params of many kinds, in sequence."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytestmark = pytest.mark.chromium

ODD: list[Any] = [
    *({"id": number, "method": "Target.getTargets"} for number in (0, -1, 2**31 - 1, -(2**31))),
    *({"id": number, "method": "Browser.getVersion"} for number in (2**31, 1.5, "1", None, True, [], {})),
    {"id": 1},
    {"method": "Browser.getVersion"},
    {"id": 1, "method": ""},
    {"id": 1, "method": 5},
    {"id": 1, "method": "Browser"},
    {"id": 1, "method": "."},
    {"id": 1, "method": "Browser."},
    {"id": 1, "method": ".getVersion"},
    {"id": 1, "method": "browser.getVersion"},
    {"id": 1, "method": "Browser.getversion"},
    {"id": 1, "method": "Browser.getVersion.x"},
    {"id": 1, "method": "Browser.getVersion", "params": []},
    {"id": 1, "method": "Browser.getVersion", "params": 5},
    {"id": 1, "method": "Browser.getVersion", "params": "x"},
    {"id": 1, "method": "Browser.getVersion", "params": None},
    {"id": 1, "method": "Browser.getVersion", "params": {"x": 1}},
    {"id": 1, "method": "Browser.getVersion", "sessionId": None},
    {"id": 1, "method": "Browser.getVersion", "sessionId": 5},
    {"id": 1, "method": "Browser.getVersion", "sessionId": ""},
    {"id": 1, "method": "Browser.getVersion", "sessionId": "x"},
    {"id": 1, "method": "Nope.nope", "sessionId": "x"},
    {"id": 1, "method": "Browser.getVersion", "jsonrpc": "2.0"},
    {"id": 1, "method": "Browser.getVersion", "result": {}},
    {"id": 1, "result": {}},
    {"error": {}},
    [],
    [{"id": 1, "method": "Browser.getVersion"}],
    "x",
    5,
    None,
    {},
]
TEXTS = [
    "",
    " ",
    "{",
    "}",
    "[",
    "nul",
    "{'id':1}",
    '{"id":1,}',
    '{"id":01}',
    '{"id":1}{"id":2}',
    "\ufeff{}",
    '{"id":1e0,"method":"x"}',
]


@pytest.mark.parametrize("part", range(4))
async def test_odd_envelopes(scenario: Any, part: int) -> None:
    for each in ODD[part::4]:
        scenario.raw(json.dumps(each))
    await scenario.conforms()


async def test_odd_texts(scenario: Any) -> None:
    for each in TEXTS:
        scenario.raw(each)
    await scenario.conforms()


WRONG: list[tuple[str, Any]] = [
    ("Target.attachToTarget", {}),
    ("Target.attachToTarget", {"targetId": 5}),
    ("Target.attachToTarget", {"targetId": None}),
    ("Target.attachToTarget", {"targetId": "x", "flatten": "yes"}),
    ("Target.closeTarget", {"targetId": []}),
    ("Target.createTarget", {}),
    ("Target.createTarget", {"url": 5}),
    ("Target.createTarget", {"url": "about:blank", "width": "5"}),
    ("Target.createTarget", {"url": "about:blank", "background": 1}),
    ("Target.setAutoAttach", {"autoAttach": True}),
    ("Target.setAutoAttach", {"autoAttach": True, "waitForDebuggerOnStart": "no"}),
    ("Target.setAutoAttach", {"autoAttach": True, "waitForDebuggerOnStart": False, "filter": {}}),
    ("Target.setAutoAttach", {"autoAttach": True, "waitForDebuggerOnStart": False, "filter": [5]}),
    ("Target.setAutoAttach", {"autoAttach": True, "waitForDebuggerOnStart": False, "flatten": True,
                              "filter": [{"type": "tab"}, {"type": "page"}]}),
    ("Target.setDiscoverTargets", {}),
    ("Target.getTargetInfo", {"targetId": 5}),
    ("Target.getTargetInfo", {"targetId": "x"}),
    ("Target.detachFromTarget", {}),
    ("Target.detachFromTarget", {"sessionId": 5}),
    ("Target.disposeBrowserContext", {}),
    ("Target.disposeBrowserContext", {"browserContextId": "x"}),
    ("Target.sendMessageToTarget", {"message": 5}),
    ("Browser.getWindowForTarget", {"targetId": "x"}),
    ("Browser.grantPermissions", {"permissions": ["zzz"]}),
    ("Browser.grantPermissions", {"permissions": [], "origin": "data:,x"}),
    ("Browser.grantPermissions", {"permissions": [], "browserContextId": "x"}),
    ("Browser.resetPermissions", {"browserContextId": "x"}),
    ("Browser.setDownloadBehavior", {"behavior": "allow"}),
    ("Browser.setDownloadBehavior", {"behavior": "deny", "browserContextId": "x"}),
    ("Storage.getCookies", {"browserContextId": "x"}),
    ("Storage.clearCookies", {"browserContextId": "x"}),
    ("Fetch.enable", {"patterns": [{"urlPattern": 5}]}),
    ("Fetch.enable", {"patterns": [{"requestStage": "zzz"}]}),
    ("Fetch.getResponseBody", {"requestId": "x"}),
    ("Fetch.fulfillRequest", {"requestId": "x", "responseCode": 299}),
]  # fmt: skip
WRONG_ON_A_PAGE: list[tuple[str, Any]] = [
    ("Page.navigate", {}),
    ("Page.navigate", {"url": 5}),
    ("Page.navigate", {"url": "no address"}),
    ("Page.navigate", {"url": "no address", "frameId": "x"}),
    ("Page.navigate", {"url": "about:blank", "frameId": "x"}),
    ("Page.navigate", {"url": "about:blank", "referrerPolicy": "zzz"}),
    ("Page.reload", {"ignoreCache": "yes"}),
    ("Page.reload", {"loaderId": "x"}),
    ("Page.setWebLifecycleState", {"state": "zzz"}),
    ("Page.handleJavaScriptDialog", {"accept": "yes"}),
    ("Page.handleJavaScriptDialog", {"accept": True, "promptText": 5}),
    ("Page.navigateToHistoryEntry", {"entryId": 9999}),
    ("Page.navigateToHistoryEntry", {"entryId": "1"}),
    ("Page.createIsolatedWorld", {"frameId": "x"}),
    ("Page.addScriptToEvaluateOnNewDocument", {}),
    ("Page.removeScriptToEvaluateOnNewDocument", {"identifier": "x"}),
    ("Page.captureScreenshot", {"format": "gif"}),
    ("Page.captureScreenshot", {"clip": {"x": 0, "y": 0, "width": 0, "height": 1, "scale": 1}}),
    ("Page.setFontFamilies", {"fontFamilies": {}}),
    ("Page.setFontFamilies", {"fontFamilies": {}}),
    ("Page.setAdBlockingEnabled", {"enabled": True}),
    ("Runtime.evaluate", {}),
    ("Runtime.evaluate", {"expression": 5}),
    ("Runtime.evaluate", {"expression": "1", "contextId": "1"}),
    ("Runtime.evaluate", {"expression": "1", "contextId": 9999}),
    ("Runtime.callFunctionOn", {}),
    ("Runtime.addBinding", {"name": "x", "executionContextId": 9999}),
    ("Runtime.addBinding", {"name": "x", "executionContextId": 1, "executionContextName": "y"}),
    ("Runtime.setAsyncCallStackDepth", {"maxDepth": 1}),
    ("Runtime.releaseObject", {"objectId": "x"}),
    ("DOM.disable", {}),
    ("CSS.enable", {}),
    ("Overlay.enable", {}),
    ("Performance.enable", {"timeDomain": "zzz"}),
    ("Network.enable", {"enableDurableMessages": True}),
    ("Network.setExtraHTTPHeaders", {"headers": []}),
    ("Network.setExtraHTTPHeaders", {"headers": {"a b": "c"}}),
    ("Network.setExtraHTTPHeaders", {"headers": {"a": 5}}),
    ("Network.setExtraHTTPHeaders", {"headers": {"a": "b\n"}}),
    ("Emulation.setDeviceMetricsOverride", {"width": -1, "height": 1, "deviceScaleFactor": 1, "mobile": False}),
    ("Emulation.setDeviceMetricsOverride", {"width": 1, "height": 1, "deviceScaleFactor": -1, "mobile": False}),
    ("Emulation.setDeviceMetricsOverride",
     {"width": 1, "height": 1, "deviceScaleFactor": 1, "mobile": False, "scale": 11}),
    ("Emulation.setDeviceMetricsOverride",
     {"width": 1, "height": 1, "deviceScaleFactor": 1, "mobile": False, "screenWidth": -1}),
    ("Emulation.setDeviceMetricsOverride",
     {"width": 1, "height": 1, "deviceScaleFactor": 1, "mobile": False, "positionX": 1}),
    ("Emulation.setDeviceMetricsOverride",
     {"width": 1, "height": 1, "deviceScaleFactor": 1, "mobile": False, "screenOrientation": {"type": "x", "angle": 0}}),
    ("Emulation.setTouchEmulationEnabled", {"enabled": True, "maxTouchPoints": 17}),
    ("Emulation.setTimezoneOverride", {"timezoneId": "zzz"}),
    ("Emulation.setLocaleOverride", {"locale": "zzz_!"}),
    ("Emulation.setGeolocationOverride", {"latitude": 1000, "longitude": 1, "accuracy": 1}),
    ("Emulation.setEmulatedVisionDeficiency", {"type": "zzz"}),
    ("Emulation.setUserAgentOverride", {"userAgent": "x\n"}),
    ("Target.exposeDevToolsProtocol", {"targetId": "x"}),
    ("Target.autoAttachRelated", {"targetId": "x", "waitForDebuggerOnStart": True}),
    ("Target.createBrowserContext", {}),
    ("Target.setAutoAttach", {"autoAttach": True, "waitForDebuggerOnStart": False, "filter": [{}]}),
    ("Storage.getCookies", {"browserContextId": "x"}),
    ("Input.dispatchKeyEvent", {"type": "zzz"}),
    ("Input.dispatchMouseEvent", {"type": "mousePressed", "x": "1", "y": 1}),
]  # fmt: skip


async def test_wrong_params_on_the_root_session(scenario: Any) -> None:
    for method, params in WRONG:
        scenario.send(method, params)
    await scenario.conforms()


async def test_wrong_params_on_a_page_session(scenario: Any) -> None:
    scenario.open("p", "{a}/main", enable=())
    for method, params in WRONG_ON_A_PAGE:
        scenario.send(method, params, on="p")
    await scenario.conforms()


async def test_wrong_params_on_a_page_session_of_headless_shell(shell_scenario: Any) -> None:
    shell_scenario.open("p", "{a}/main", enable=())
    for method, params in WRONG_ON_A_PAGE:
        shell_scenario.send(method, params, on="p")
    await shell_scenario.conforms()


async def test_the_same_ids_on_many_sessions(scenario: Any) -> None:
    scenario.open("p")
    scenario.open("q")
    for on in ("p", "q", "browser", "p", "q"):
        scenario.send("Target.getTargetInfo" if on == "browser" else "Runtime.evaluate",
                      {} if on == "browser" else {"expression": f"'{on}'"}, on=on, id=77)  # fmt: skip
    await scenario.conforms()


EXPRESSIONS = [
    "(",
    "1+",
    "1 2",
    "'abc",
    ")",
    "}",
    "[",
    "@",
    "f(",
    "a b",
    "nowhereDefined",
    "nowhere.defined",
    "nowhere()",
    "null.x",
    "undefined.x",
]
VALUES = ["1/2", "7%3", "1/0", "-1/0", "0/0", "0.1+0.2", "2**10", "(1+2)*3", "'a'+'b'", "'a'+1", "1+'a'", "1<2", "1===2", "!0", "!!1",
          "typeof 1", "typeof 'x'", "typeof nowhere", "1;2", "'abc'.length", "[1,2,3].length", "`abc`", "5>3?'a':'b'", "true&&'x'",
          "null??1", "({a:1}).a", "[1,2][1]", "10n", "1e21", "0x10", "-0", "void 0", "document.readyState", "location.pathname"]  # fmt: skip


async def test_expressions_that_throw(scenario: Any) -> None:
    scenario.page("/main")
    scenario.open("p", "{a}/main")
    for each in EXPRESSIONS:
        scenario.evaluate(each, on="p")
    await scenario.conforms()


async def test_values_of_expressions(scenario: Any) -> None:
    scenario.page("/main")
    scenario.open("p", "{a}/main")
    for each in VALUES:
        scenario.evaluate(each, on="p")
    await scenario.conforms()


def metrics(width: int, height: int) -> dict[str, Any]:
    return {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}


async def test_device_metrics_are_overridden_many_times(scenario: Any) -> None:
    scenario.page("/main")
    scenario.open("p", "{a}/main")
    scenario.attach("q", "p", enable=("Page",))
    for override in (
        metrics(300, 300),
        metrics(300, 300),
        metrics(300, 200),
        metrics(0, 0),
        metrics(0, 0),
        metrics(300, 300),
    ):
        scenario.send("Emulation.setDeviceMetricsOverride", override, on="p")
        scenario.settle()
    for _ in range(2):
        scenario.send("Emulation.clearDeviceMetricsOverride", on="p")
        scenario.settle()
    scenario.send("Emulation.setDeviceMetricsOverride", metrics(200, 200), on="q")
    scenario.settle()
    scenario.send("Target.detachFromTarget", {"sessionId": "$session.q"})
    scenario.settle()
    await scenario.conforms()
