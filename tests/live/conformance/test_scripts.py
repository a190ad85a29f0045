"""Values, console lines, crashes, and the end of the browser (facts 49, 58)."""

from __future__ import annotations

from typing import Any

import pytest

from cdp_core.testing.steps import AddFrame, Console, NavigateFrame, ScriptError

pytestmark = pytest.mark.chromium

LITERALS = [
    "1",
    "-1",
    "1.5",
    "0",
    "'text'",
    '"ä€😀"',
    "'it\\'s'",
    "true",
    "false",
    "null",
    "undefined",
    "''",
    "1+1",
    "2*3-1",
    "document.title",
    "location.href",
    "document.URL",
    "1e21",
    "123456789012",
]


async def test_values(scenario: Any) -> None:
    scenario.open("p", "{a}/main")
    for expression in LITERALS:
        scenario.evaluate(expression, on="p")
    await scenario.conforms()


async def test_values_by_value(scenario: Any) -> None:
    scenario.open("p", "{a}/main")
    for expression in [*LITERALS, "[1,'x']", "({})", "[]", '({"a": [1, null]})']:
        scenario.evaluate(expression, on="p", returnByValue=True)
    await scenario.conforms()


async def test_console(scenario: Any) -> None:
    scenario.open("p", "{a}/main", enable=["Page", "Runtime"])
    for expression in [
        "console.log('a line')",
        "console.log('two', 'texts')",
        "console.log(1, 1.5, true, null)",
        "console.warn('w')",
        "console.error('e')",
        "console.info('i')",
        "console.debug('d')",
        "console.log()",
    ]:
        scenario.evaluate(expression, on="p")
    await scenario.conforms()


async def test_console_at_load(scenario: Any) -> None:
    scenario.page("/main", Console("first"), Console("second", "warning"), AddFrame("same", "{a}/same"))
    scenario.page("/same", Console("in the frame"))
    scenario.open("p", "{a}/main", enable=["Page", "Runtime"])
    await scenario.conforms()


async def test_runtime_is_enabled_after_console_lines(scenario: Any) -> None:
    scenario.page("/main", Console("first"), Console("second", "warning"))
    scenario.open("p", "{a}/main", enable=[])
    scenario.send("Runtime.enable", on="p")
    scenario.send("Runtime.enable", on="p")
    scenario.send("Runtime.disable", on="p")
    scenario.evaluate("console.log('deaf')", on="p")
    scenario.send("Runtime.enable", on="p")
    await scenario.conforms()


async def test_error_at_load(scenario: Any) -> None:
    scenario.page("/main", ScriptError("thrown"))
    scenario.open("p", "{a}/main", enable=["Page", "Runtime"])
    await scenario.conforms()


async def test_context_of_a_frame(scenario: Any) -> None:
    scenario.page("/main", AddFrame("same", "{a}/same"))
    scenario.open("p", "{a}/main", enable=["Page"])
    scenario.send("Runtime.enable", on="p")
    scenario.expect(
        "Runtime.executionContextCreated",
        {"context.auxData.isDefault": True},
        on="p",
        save={"context id.main": "params.context.id"},
    )
    scenario.expect("Runtime.executionContextCreated", on="p", save={"context id.same": "params.context.id"})
    for label in ("main", "same"):
        scenario.evaluate("location.href", on="p", contextId=f"$context id.{label}")
    await scenario.conforms()


NEAR = "http://127.0.0.1:65001/inner"
"""Another origin than the page's, in the same renderer process."""


def open_page_with_paused_frame(scenario: Any, url: str) -> None:
    """Open a page with a frame that waits for its document, paused in Fetch."""
    scenario.page("/holder", AddFrame("f", url))
    scenario.open("p", enable=["Page"])
    scenario.send("Fetch.enable", {"patterns": [{"urlPattern": "*/inner"}]}, on="p")
    scenario.send("Page.navigate", {"url": "{a}/holder"}, on="p")
    scenario.expect("Page.frameAttached", on="p", save={"frame.f": "params.frameId"})
    scenario.expect("Fetch.requestPaused", on="p", save={"request.f": "params.requestId"})
    scenario.settle()


def release_frame(scenario: Any) -> None:
    scenario.send("Fetch.fulfillRequest", {"requestId": "$request.f", "responseCode": 200, "body": "PGh0bWw+"}, on="p")
    scenario.settle()


@pytest.mark.parametrize("url", ["{a}/inner", NEAR, "{b}/inner"], ids=["same", "near", "far"])
async def test_the_context_of_a_frame_before_its_document_loads(scenario: Any, url: str) -> None:
    open_page_with_paused_frame(scenario, url)
    scenario.send("Runtime.enable", on="p")
    scenario.expect(
        "Runtime.executionContextCreated",
        {"context.auxData.frameId": "$frame.f"},
        on="p",
        save={"context id.f": "params.context.id"},
    )
    scenario.evaluate("1", on="p", contextId="$context id.f")
    release_frame(scenario)
    scenario.evaluate("location.href", on="p", contextId="$context id.f")
    scenario.act(NavigateFrame("f", "{a}/other"), on="p")
    scenario.settle()
    scenario.evaluate("location.href", on="p", contextId="$context id.f")
    await scenario.conforms()


@pytest.mark.parametrize("url", ["{a}/inner", NEAR], ids=["same", "near"])
async def test_an_isolated_world_of_a_frame_before_its_document_loads(scenario: Any, url: str) -> None:
    open_page_with_paused_frame(scenario, url)
    scenario.send("Runtime.enable", on="p")
    scenario.send("Page.createIsolatedWorld", {"frameId": "$frame.f", "worldName": "w"}, on="p")
    scenario.send("Page.addScriptToEvaluateOnNewDocument", {"source": "1", "worldName": "w"}, on="p")
    scenario.send("Page.addScriptToEvaluateOnNewDocument", {"source": "1", "worldName": "u"}, on="p")
    release_frame(scenario)
    await scenario.conforms()


@pytest.mark.parametrize("url", ["{a}/inner", NEAR], ids=["same", "near"])
async def test_an_init_script_is_added_before_the_document_of_a_frame_loads(scenario: Any, url: str) -> None:
    open_page_with_paused_frame(scenario, url)
    scenario.send("Page.addScriptToEvaluateOnNewDocument", {"source": "1", "worldName": "w"}, on="p")
    scenario.send("Runtime.enable", on="p")
    scenario.settle()
    release_frame(scenario)
    await scenario.conforms()


async def test_a_second_session_enables_runtime_before_the_document_of_a_frame_loads(scenario: Any) -> None:
    open_page_with_paused_frame(scenario, "{a}/inner")
    scenario.attach("q", "p")
    scenario.send("Runtime.enable", on="p")
    scenario.act(AddFrame("g", "{a}/inner"), on="p")
    scenario.expect("Fetch.requestPaused", on="p", save={"request.g": "params.requestId"})
    scenario.settle()
    scenario.send("Runtime.enable", on="q")
    scenario.settle()
    release_frame(scenario)
    await scenario.conforms()


async def test_crash(scenario: Any) -> None:
    scenario.send("Target.setDiscoverTargets", {"discover": True})
    scenario.open("p", "{a}/main", enable=["Page", "Inspector"])
    scenario.evaluate("new Promise(() => 0)", on="p", awaitPromise=True, wait=False)
    scenario.send("Page.crash", on="p", wait=False)
    scenario.expect("Target.targetCrashed")
    scenario.settle()
    scenario.evaluate("1+1", on="p", wait=False)
    scenario.send("Target.getTargetInfo", on="p")
    scenario.settle()
    scenario.send("Page.reload", on="p")
    scenario.expect("Inspector.targetReloadedAfterCrash", on="p")
    scenario.settle()
    scenario.evaluate("1+1", on="p")
    await scenario.conforms()


async def test_crashed_page_is_closed(scenario: Any) -> None:
    scenario.send("Target.setDiscoverTargets", {"discover": True})
    scenario.open("p", "{a}/main", enable=["Page", "Inspector"])
    scenario.send("Page.crash", on="p", wait=False)
    scenario.expect("Target.targetCrashed")
    scenario.settle()
    scenario.send("Target.closeTarget", {"targetId": "$target.p"})
    scenario.settle()
    await scenario.conforms()


async def test_browser_close(last_scenario: Any) -> None:
    scenario = last_scenario
    scenario.send("Target.setDiscoverTargets", {"discover": True})
    scenario.open("p", "{a}/main", enable=["Page", "Inspector"])
    scenario.evaluate("confirm('c')", on="p", wait=False)
    scenario.expect("Page.javascriptDialogOpening", on="p")
    scenario.send("Browser.close")
    scenario.ends()
    await scenario.conforms()


async def test_a_session_attached_to_a_crashed_page(scenario: Any) -> None:
    scenario.page("/main", AddFrame("f", "{a}/inner"))
    scenario.send("Target.setDiscoverTargets", {"discover": True})
    scenario.open("p", "{a}/main", enable=["Page"])
    scenario.send("Page.crash", on="p", wait=False)
    scenario.expect("Target.targetCrashed")
    scenario.attach("q", "p")
    for method in ("Page.enable", "Page.getFrameTree", "Runtime.enable"):
        scenario.send(method, on="q", wait=False)
    scenario.send(
        "Target.setAutoAttach",
        {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True},
        on="q",
        wait=False,
    )
    scenario.send("Runtime.runIfWaitingForDebugger", on="q", wait=False)
    scenario.send(
        "Target.setAutoAttach",
        {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True},
        on="p",
        wait=False,
    )
    scenario.settle()
    scenario.send("Page.reload", on="p")
    scenario.settle()
    scenario.evaluate("console.log('on')", on="q")
    scenario.evaluate("alert('on')", on="q", wait=False)
    scenario.settle()
    await scenario.conforms()
