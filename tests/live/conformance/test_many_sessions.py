"""Several sessions of one page: the order of their events, and their effect on a dialog of all."""

from __future__ import annotations

from typing import Any

import pytest

from cdp_core.testing.steps import AddFrame, Console, ScriptError, Step

pytestmark = pytest.mark.chromium

OPENING = "Page.javascriptDialogOpening"
COMMANDS: dict[str, tuple[str, Any]] = {
    "elsewhere": ("Page.navigate", {"url": "{b}/other"}),
    "near": ("Page.navigate", {"url": "{a}/other"}),
    "again": ("Page.reload", None),
    "world": ("Page.createIsolatedWorld", {"frameId": "$target.p"}),
}
STEPS: dict[str, Step] = {"frame": AddFrame("g", "{a}/main"), "error": ScriptError("x"), "line": Console("x")}


@pytest.mark.parametrize("how", [*COMMANDS, *STEPS])
async def test_events_of_three_sessions(scenario: Any, how: str) -> None:
    scenario.page("/main", Console("x"))
    scenario.page("/other", Console("y"))
    scenario.open("p", "{a}/main", enable=("Page", "Runtime"))
    scenario.attach("q", "p", enable=("Page", "Runtime"))
    scenario.attach("r", "p", enable=("Page", "Runtime"))
    if how in COMMANDS:
        method, params = COMMANDS[how]
        scenario.send(method, params, on="q")
    else:
        scenario.act(STEPS[how], on="q")
    await scenario.conforms()


DURING: dict[str, tuple[str, Any, str]] = {
    "reload": ("Page.reload", {"ignoreCache": True}, "q"),
    "close": ("Page.close", None, "q"),
    "navigate": ("Page.navigate", {"url": "{b}/other"}, "q"),
    "crash": ("Page.crash", None, "q"),
    "stop": ("Page.stopLoading", None, "q"),
    "disable": ("Page.disable", None, "p"),
    "detach": ("Target.detachFromTarget", {"sessionId": "$session.p"}, "browser"),
    "closeTarget": ("Target.closeTarget", {"targetId": "$target.p"}, "q"),
    "activate": ("Target.activateTarget", {"targetId": "$target.p"}, "q"),
}


@pytest.mark.parametrize("how", DURING)
async def test_a_command_of_another_session_while_a_dialog_is_open(scenario: Any, how: str) -> None:
    scenario.page("/main")
    scenario.page("/other")
    scenario.send("Target.setDiscoverTargets", {"discover": True})
    scenario.open("p", "{a}/main", enable=("Page", "Runtime"))
    scenario.attach("q", "p", enable=("Page", "Runtime"))
    scenario.evaluate("prompt('x','y')", on="p", wait=False)
    scenario.expect(OPENING, on="p")
    scenario.settle()
    method, params, on = DURING[how]
    scenario.send(method, params, on=on, wait=False)
    scenario.settle()
    scenario.send("Page.handleJavaScriptDialog", {"accept": True}, on="q", wait=False)
    scenario.settle()
    scenario.evaluate("1", on="q", wait=False)
    await scenario.conforms()
