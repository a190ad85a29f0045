"""More targets and sessions: disposed contexts, detached parents, filters, popups, workers and tabs."""

from __future__ import annotations

from typing import Any

import pytest

from cdp_core.testing.steps import AddFrame, Console, EndWorker, Popup, Worker

pytestmark = pytest.mark.chromium


def open_nested_oopifs(scenario: Any) -> None:
    """Open a page `p` with an OOPIF `f` of another site, which contains an OOPIF `g` of the page's site."""
    scenario.page("/holder", AddFrame("f", "{b}/middle"))
    scenario.page("/middle", AddFrame("g", "{a}/inner"))
    scenario.page("/inner")
    scenario.open("p", enable=("Page", "Runtime"))
    scenario.auto_attach(on="p", wait=True)
    scenario.send("Page.navigate", {"url": "{a}/holder"}, on="p")
    scenario.expect("Target.attachedToTarget", on="p", save={"session.f": "params.sessionId"})
    scenario.auto_attach(on="f", wait=True)
    scenario.send("Page.enable", on="f")
    scenario.send("Runtime.runIfWaitingForDebugger", on="f")
    scenario.expect("Target.attachedToTarget", on="f", save={"session.g": "params.sessionId"})
    scenario.send("Page.enable", on="g")
    scenario.send("Runtime.runIfWaitingForDebugger", on="g")
    scenario.settle()


async def test_detaching_from_a_page_with_nested_oopifs(scenario: Any) -> None:
    open_nested_oopifs(scenario)
    scenario.send("Runtime.evaluate", {"expression": "1"}, on="g", wait=False)
    scenario.send("Target.setAutoAttach",
                  {"autoAttach": True, "waitForDebuggerOnStart": False, "flatten": True}, on="g", wait=False)  # fmt: skip
    scenario.send("Target.detachFromTarget", {"sessionId": "$session.p"})
    scenario.settle()
    scenario.evaluate("1", on="f")
    scenario.evaluate("1", on="g")
    await scenario.conforms()


async def test_detaching_from_the_outer_of_two_nested_oopifs(scenario: Any) -> None:
    open_nested_oopifs(scenario)
    scenario.send("Target.detachFromTarget", {"sessionId": "$session.f"}, on="p")
    scenario.settle()
    scenario.evaluate("1", on="g")
    scenario.evaluate("1", on="p")
    scenario.auto_attach(on="p")
    scenario.settle()
    await scenario.conforms()


async def test_auto_attach_is_disabled_and_enabled(scenario: Any) -> None:
    open_nested_oopifs(scenario)
    off = {"autoAttach": False, "waitForDebuggerOnStart": False, "flatten": True}
    scenario.send("Target.setAutoAttach", off, on="p")
    scenario.settle()
    scenario.evaluate("1", on="f")
    scenario.auto_attach(on="p")
    scenario.settle()
    await scenario.conforms()


async def test_frame_trees_and_target_infos_of_nested_oopifs(scenario: Any) -> None:
    open_nested_oopifs(scenario)
    for label in ("p", "f", "g"):
        scenario.send("Page.getFrameTree", on=label)
        scenario.send("Target.getTargetInfo", on=label)
        scenario.send("Target.getTargets", on=label)
    await scenario.conforms()


async def test_a_page_with_nested_oopifs_is_closed(scenario: Any) -> None:
    open_nested_oopifs(scenario)
    scenario.send("Target.setDiscoverTargets", {"discover": True})
    scenario.send("Page.close", on="p", wait=False)
    scenario.settle()
    await scenario.conforms()


async def test_a_page_with_nested_oopifs_navigates(scenario: Any) -> None:
    open_nested_oopifs(scenario)
    scenario.page("/plain")
    scenario.send("Target.setDiscoverTargets", {"discover": True})
    scenario.go("{b}/plain", on="p")
    scenario.evaluate("1", on="p")
    await scenario.conforms()


async def test_a_page_with_nested_oopifs_crashes_and_reloads(scenario: Any) -> None:
    open_nested_oopifs(scenario)
    scenario.send("Target.setDiscoverTargets", {"discover": True})
    scenario.send("Page.crash", on="p", wait=False)
    scenario.expect("Inspector.targetCrashed", on="p")
    scenario.settle()
    scenario.evaluate("1", on="p", wait=False)
    scenario.settle()
    scenario.send("Page.reload", on="p", wait=False)
    scenario.settle()
    await scenario.conforms()


async def test_one_of_two_contexts_is_disposed(scenario: Any) -> None:
    scenario.page("/main")
    scenario.send("Target.setDiscoverTargets", {"discover": True})
    scenario.send("Target.createBrowserContext", save={"context.one": "browserContextId"})
    scenario.send("Target.createBrowserContext", save={"context.two": "browserContextId"})
    scenario.open("p", "{a}/main", context="one")
    scenario.open("q", "{a}/main", context="two")
    scenario.send("Target.disposeBrowserContext", {"browserContextId": "$context.one"})
    scenario.settle()
    scenario.evaluate("1", on="p")
    scenario.evaluate("1", on="q")
    scenario.send("Target.disposeBrowserContext", {"browserContextId": "$context.one"})
    await scenario.conforms()


async def test_a_context_is_disposed_with_a_dialog_and_a_worker(scenario: Any) -> None:
    scenario.page("/main", Worker("w", "/w.js"))
    scenario.page("/w.js")
    scenario.send("Target.createBrowserContext", save={"context.one": "browserContextId"})
    scenario.open("p", enable=("Page", "Runtime"), context="one")
    scenario.auto_attach(on="p")
    scenario.send("Page.navigate", {"url": "{a}/main"}, on="p")
    scenario.expect("Target.attachedToTarget", on="p", save={"session.w": "params.sessionId"})
    scenario.settle()
    scenario.evaluate("confirm('x')", on="p", wait=False)
    scenario.expect("Page.javascriptDialogOpening", on="p")
    scenario.settle()
    scenario.send("Target.disposeBrowserContext", {"browserContextId": "$context.one"})
    scenario.settle()
    await scenario.conforms()


async def test_another_client_disposes_a_context(scenario: Any) -> None:
    scenario.send("Target.createBrowserContext", save={"context.one": "browserContextId"})
    scenario.open("p", context="one")
    scenario.connect("B")
    scenario.send("Target.getBrowserContexts", client="B")
    scenario.send("Target.disposeBrowserContext", {"browserContextId": "$context.one"}, client="B")
    scenario.settle()
    scenario.evaluate("1", on="p")
    await scenario.conforms()


FILTERS: dict[str, list[dict[str, Any]]] = {
    "pages": [{"type": "page"}],
    "no pages": [{"type": "page", "exclude": True}, {}],
    "tabs": [{"type": "tab"}],
    "both": [{"type": "tab"}, {"type": "page"}],
    "all": [{}],
    "none": [],
}


@pytest.mark.parametrize("name", FILTERS)
async def test_filters_of_discovery(scenario: Any, name: str) -> None:
    scenario.send("Target.setDiscoverTargets", {"discover": True, "filter": FILTERS[name]})
    scenario.send("Target.createTarget", {"url": "about:blank"}, save={"target.p": "targetId"})
    scenario.settle()
    scenario.attach("p")
    scenario.settle()
    scenario.send("Target.getTargets", {"filter": FILTERS[name]})
    scenario.send("Target.closeTarget", {"targetId": "$target.p"})
    scenario.settle()
    await scenario.conforms()


@pytest.mark.parametrize("name", FILTERS)
async def test_filters_of_auto_attach(scenario: Any, name: str) -> None:
    scenario.auto_attach(filter=FILTERS[name])
    scenario.send("Target.createTarget", {"url": "about:blank"}, save={"target.p": "targetId"})
    scenario.settle()
    scenario.send("Target.closeTarget", {"targetId": "$target.p"})
    scenario.settle()
    await scenario.conforms()


async def test_discovery_is_enabled_twice_disabled_and_enabled(scenario: Any) -> None:
    scenario.send("Target.setDiscoverTargets", {"discover": True})
    scenario.send("Target.setDiscoverTargets", {"discover": True, "filter": [{"type": "page"}]})
    scenario.open("p")
    scenario.send("Target.setDiscoverTargets", {"discover": False})
    scenario.open("q")
    scenario.send("Target.setDiscoverTargets", {"discover": True})
    scenario.settle()
    await scenario.conforms()


async def test_discovery_on_a_page_session(scenario: Any) -> None:
    scenario.open("p")
    scenario.send("Target.setDiscoverTargets", {"discover": True}, on="p")
    scenario.settle()
    scenario.open("q")
    scenario.send("Target.closeTarget", {"targetId": "$target.q"}, on="p")
    scenario.settle()
    await scenario.conforms()


@pytest.mark.parametrize("noopener", [False, True], ids=["opener", "noopener"])
@pytest.mark.parametrize("wait", [False, True], ids=["runs", "waits"])
async def test_popups_with_auto_attach(scenario: Any, noopener: bool, wait: bool) -> None:
    scenario.page("/shop")
    scenario.page("/pay", Console("here"))
    scenario.open("p", "{a}/shop", enable=("Page", "Runtime"))
    scenario.auto_attach(wait=wait, filter=[{"type": "page"}])
    scenario.act(Popup("pop", "{b}/pay", noopener=noopener), on="p", wait=False)
    scenario.expect(
        "Target.attachedToTarget",
        where={"targetInfo.openerId": "$target.p"},
        save={"session.pop": "params.sessionId", "target.pop": "params.targetInfo.targetId"},
    )
    scenario.send("Page.enable", on="pop", wait=False)
    scenario.send("Runtime.enable", on="pop", wait=False)
    scenario.send("Runtime.runIfWaitingForDebugger", on="pop", wait=False)
    scenario.settle()
    scenario.send("Target.getTargetInfo", {"targetId": "$target.pop"})
    scenario.send("Target.closeTarget", {"targetId": "$target.p"})
    scenario.settle()
    scenario.send("Target.getTargetInfo", {"targetId": "$target.pop"})
    await scenario.conforms()


async def test_the_opener_of_a_popup_crashes(scenario: Any) -> None:
    scenario.page("/shop")
    scenario.page("/pay")
    scenario.send("Target.setDiscoverTargets", {"discover": True})
    scenario.open("p", "{a}/shop", enable=("Page", "Runtime"))
    scenario.auto_attach(filter=[{"type": "page"}])
    scenario.act(Popup("pop", "{a}/pay"), on="p", wait=False)
    scenario.expect(
        "Target.attachedToTarget",
        where={"targetInfo.openerId": "$target.p"},
        save={"session.pop": "params.sessionId", "target.pop": "params.targetInfo.targetId"},
    )
    scenario.send("Page.enable", on="pop", wait=False)
    scenario.send("Runtime.runIfWaitingForDebugger", on="pop", wait=False)
    scenario.settle()
    scenario.send("Page.crash", on="p", wait=False)
    scenario.expect("Inspector.targetCrashed", on="p")
    scenario.settle()
    scenario.evaluate("1", on="pop", wait=False)
    scenario.settle()
    await scenario.conforms()


async def test_a_page_no_longer_waits_for_a_client_that_left(scenario: Any) -> None:
    scenario.page("/main", Console("here"))
    scenario.connect("B")
    scenario.auto_attach(wait=True, client="B", filter=[{"type": "page"}])
    scenario.send("Target.createTarget", {"url": "about:blank"}, save={"target.p": "targetId"})
    scenario.settle()
    scenario.attach("p", enable=("Page", "Runtime"))
    scenario.send("Page.navigate", {"url": "{a}/main"}, on="p", wait=False)
    scenario.settle()
    scenario.leave("B")
    scenario.settle()
    await scenario.conforms()


async def test_three_sessions_of_one_page(scenario: Any) -> None:
    scenario.page("/main", Console("here"))
    scenario.open("p")
    scenario.attach("q", "p", enable=("Page",))
    scenario.attach("r", "p", enable=("Runtime",))
    scenario.go("{a}/main", on="p")
    scenario.send("Target.detachFromTarget", {"sessionId": "$session.q"})
    scenario.go("{b}/main", on="p")
    scenario.send("Target.closeTarget", {"targetId": "$target.p"})
    scenario.settle()
    await scenario.conforms()


async def test_a_page_attached_on_the_session_of_another_page(scenario: Any) -> None:
    scenario.page("/main")
    scenario.open("p")
    scenario.open("q")
    scenario.attach("r", "q", on="p", enable=("Page",))
    scenario.go("{a}/main", on="r")
    scenario.send("Target.closeTarget", {"targetId": "$target.p"})
    scenario.settle()
    scenario.evaluate("1", on="r")
    scenario.evaluate("1", on="q")
    await scenario.conforms()


async def test_activated_and_brought_to_front(scenario: Any) -> None:
    scenario.open("p")
    scenario.open("q")
    scenario.send("Target.activateTarget", {"targetId": "$target.p"})
    scenario.send("Page.bringToFront", on="q")
    scenario.send("Target.createTarget", {"url": "about:blank", "background": True}, save={"target.r": "targetId"})
    scenario.settle()
    scenario.send("Target.getTargets", {"filter": [{"type": "page"}]})
    scenario.send("Target.closeTarget", {"targetId": "$target.p"})
    scenario.settle()
    scenario.send("Target.closeTarget", {"targetId": "$target.p"})
    scenario.send("Target.activateTarget", {"targetId": "$target.p"})
    scenario.send("Target.getTargetInfo", {"targetId": "$target.p"})
    scenario.send("Target.attachToTarget", {"targetId": "$target.p", "flatten": True})
    await scenario.conforms()


async def test_two_workers_start_and_end(scenario: Any) -> None:
    scenario.page("/main")
    scenario.page("/w.js", Console("here"))
    scenario.send("Target.setDiscoverTargets", {"discover": True})
    scenario.open("p", "{a}/main", enable=("Page", "Runtime"))
    scenario.auto_attach(on="p", wait=True)
    for label in ("v", "w"):
        scenario.act(Worker(label, "/w.js"), on="p", wait=False)
        scenario.expect("Target.attachedToTarget", on="p", save={f"session.{label}": "params.sessionId"})
        scenario.settle()
        scenario.send("Runtime.enable", on=label)
        scenario.send("Runtime.runIfWaitingForDebugger", on=label)
        scenario.settle()
    scenario.act(EndWorker("v"), on="p")
    scenario.evaluate("1", on="w")
    scenario.go("{b}/main", on="p")
    await scenario.conforms()


async def test_detaching_from_a_page_with_a_worker(scenario: Any) -> None:
    scenario.page("/main", Worker("w", "/w.js"))
    scenario.page("/w.js")
    scenario.open("p")
    scenario.auto_attach(on="p")
    scenario.send("Page.navigate", {"url": "{a}/main"}, on="p")
    scenario.expect("Target.attachedToTarget", on="p", save={"session.w": "params.sessionId"})
    scenario.settle()
    scenario.auto_attach(on="w")
    scenario.send("Target.detachFromTarget", {"sessionId": "$session.p"})
    scenario.settle()
    await scenario.conforms()


async def test_a_page_created_for_its_tab(scenario: Any) -> None:
    scenario.send("Target.setDiscoverTargets", {"discover": True, "filter": [{"type": "tab"}, {"type": "page"}]})
    scenario.send("Target.createTarget", {"url": "about:blank", "forTab": True}, save={"target.t": "targetId"})
    scenario.settle()
    scenario.attach("t")
    scenario.auto_attach(on="t")
    scenario.settle()
    scenario.send("Target.getTargetInfo", on="t")
    scenario.send("Page.enable", on="t")
    scenario.send("Target.closeTarget", {"targetId": "$target.t"})
    scenario.settle()
    await scenario.conforms()


@pytest.mark.parametrize("how", ["dispose", "Browser.close"])
async def test_several_pages_end_together(last_scenario: Any, how: str) -> None:
    scenario = last_scenario
    scenario.page("/main")
    scenario.page("/pay")
    scenario.send("Target.setDiscoverTargets", {"discover": True})
    scenario.send("Target.createBrowserContext", save={"context.one": "browserContextId"})
    scenario.open("p", "{a}/main", context="one")
    scenario.open("q", "{b}/main", context="one")
    scenario.auto_attach(filter=[{"type": "page"}])
    scenario.act(Popup("pop", "{b}/pay"), on="p", wait=False)
    scenario.expect(
        "Target.attachedToTarget",
        where={"targetInfo.openerId": "$target.p"},
        save={"session.pop": "params.sessionId", "target.pop": "params.targetInfo.targetId"},
    )
    scenario.send("Page.enable", on="pop", wait=False)
    scenario.send("Runtime.runIfWaitingForDebugger", on="pop", wait=False)
    scenario.settle()
    if how == "dispose":
        scenario.send("Target.disposeBrowserContext", {"browserContextId": "$context.one"})
        scenario.settle()
    else:
        scenario.send("Browser.close", wait=False)
        scenario.ends()
    await scenario.conforms()
