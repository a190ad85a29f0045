"""Functions that clients add to pages with `Runtime.addBinding`."""

from __future__ import annotations

from typing import Any

import pytest

from cdp_core.testing.steps import AddFrame

pytestmark = pytest.mark.chromium


@pytest.mark.parametrize("enable", [["Page"], ["Page", "Runtime"]], ids=["Page", "Runtime too"])
async def test_a_call_of_a_binding_sends_an_event(scenario: Any, enable: list[str]) -> None:
    scenario.open("p", "{a}/main", enable=enable)
    scenario.evaluate("told('before')", on="p")
    scenario.send("Runtime.addBinding", {"name": "told"}, on="p")
    scenario.evaluate("told('one')", on="p")
    scenario.evaluate('window.told("two")', on="p")
    scenario.settle()
    await scenario.conforms()


@pytest.mark.parametrize("enable", [["Page"], ["Page", "Runtime"]], ids=["Page", "Runtime too"])
@pytest.mark.parametrize("to", ["{a}/next", "{b}/next", "about:blank"])
async def test_a_binding_exists_in_later_documents(scenario: Any, to: str, enable: list[str]) -> None:
    scenario.open("p", "{a}/main", enable=enable)
    scenario.send("Runtime.addBinding", {"name": "told"}, on="p")
    scenario.go(to, on="p")
    scenario.evaluate("told('there')", on="p")
    scenario.send("Page.reload", on="p")
    scenario.settle()
    scenario.evaluate("told('again')", on="p")
    scenario.settle()
    await scenario.conforms()


@pytest.mark.parametrize("enable", [["Page"], ["Page", "Runtime"]], ids=["Page", "Runtime too"])
async def test_a_binding_is_removed(scenario: Any, enable: list[str]) -> None:
    scenario.open("p", "{a}/main", enable=enable)
    scenario.send("Runtime.addBinding", {"name": "told"}, on="p")
    scenario.send("Runtime.removeBinding", {"name": "told"}, on="p")
    scenario.send("Runtime.removeBinding", {"name": "other"}, on="p")
    scenario.evaluate("told('still there')", on="p")
    scenario.go("{a}/next", on="p")
    scenario.evaluate("told('gone')", on="p")
    scenario.settle()
    await scenario.conforms()


async def test_only_sessions_that_added_a_binding_get_its_calls(scenario: Any) -> None:
    scenario.open("p", "{a}/main", enable=["Page"])
    scenario.attach("q", "p")
    scenario.attach("r", "p")
    for name, sessions in (("one", "p"), ("both", "pq")):
        for session in sessions:
            scenario.send("Runtime.addBinding", {"name": name}, on=session)
    for expression in ("one('1')", "both('2')", "both('')"):
        scenario.evaluate(expression, on="r")
        scenario.settle()
    await scenario.conforms()


async def test_a_binding_limited_to_a_world_or_a_context(scenario: Any) -> None:
    scenario.open("p", "{a}/main", enable=["Page"])
    scenario.send("Runtime.addBinding", {"name": "far", "executionContextName": "w"}, on="p")
    scenario.send("Runtime.addBinding", {"name": "far", "executionContextName": "w", "executionContextId": 1}, on="p")
    scenario.send("Runtime.addBinding", {"name": "far", "executionContextId": 9999}, on="p")
    scenario.evaluate("far('x')", on="p")
    await scenario.conforms()


@pytest.mark.parametrize("enabled", [False, True])
async def test_an_oopif_has_bindings_of_its_own(scenario: Any, enabled: bool) -> None:
    scenario.page("/main", AddFrame("other", "{b}/other"))
    scenario.open("p", enable=["Page"])
    scenario.auto_attach(on="p", wait=True)
    scenario.send("Runtime.addBinding", {"name": "told"}, on="p")
    scenario.send("Page.navigate", {"url": "{a}/main"}, on="p")
    scenario.expect("Target.attachedToTarget", on="p", save={"session.other": "params.sessionId"})
    if enabled:
        scenario.send("Runtime.enable", on="other", wait=False)
    scenario.send("Runtime.addBinding", {"name": "own"}, on="other", wait=False)
    scenario.send("Runtime.runIfWaitingForDebugger", on="other")
    scenario.settle()
    scenario.evaluate("own('frame')", on="other")
    scenario.evaluate("told('page')", on="p")
    scenario.settle()
    await scenario.conforms()
