"""Targets, sessions, contexts and popups (facts 7, 9, 40, 46, 47, 50, 52)."""

from __future__ import annotations

from typing import Any

import pytest

from cdp_core.testing.steps import AddFrame, Console, Popup, RemoveFrame

pytestmark = pytest.mark.chromium

PAGES = [{"type": "page"}]


async def test_list_and_describe(scenario: Any) -> None:
    scenario.send("Target.getTargets")
    scenario.open("p", "{a}/main")
    scenario.send("Target.getTargets")
    scenario.send("Target.getTargets", {"filter": PAGES})
    scenario.send("Target.getTargets", {"filter": [{"type": "iframe"}]})
    scenario.send("Target.getTargets", {"filter": []})
    scenario.send("Target.getTargetInfo", {"targetId": "$target.p"})
    scenario.send("Target.getTargetInfo", on="p")
    scenario.send("Target.getTargetInfo")
    scenario.send("Browser.getVersion", on="p")
    await scenario.conforms()


async def test_discover_then_create_and_close(scenario: Any) -> None:
    scenario.send("Target.setDiscoverTargets", {"discover": True})
    scenario.send("Target.setDiscoverTargets", {"discover": True})
    scenario.open("p", "{a}/main")
    scenario.send("Target.closeTarget", {"targetId": "$target.p"})
    scenario.settle()
    scenario.send("Target.setDiscoverTargets", {"discover": False})
    scenario.open("q")
    await scenario.conforms()


async def test_create_with_a_url(scenario: Any) -> None:
    scenario.send("Target.setDiscoverTargets", {"discover": True})
    scenario.send("Target.createTarget", {"url": "{a}/main"}, save={"target.p": "targetId"})
    scenario.settle()
    scenario.send("Target.getTargetInfo", {"targetId": "$target.p"})
    await scenario.conforms()


async def test_attach_twice_and_detach(scenario: Any) -> None:
    scenario.send("Target.setDiscoverTargets", {"discover": True})
    scenario.open("p")
    scenario.attach("again", "p", enable=["Page"])
    scenario.send("Page.navigate", {"url": "{a}/main"}, on="p")
    scenario.settle()
    scenario.send("Target.detachFromTarget", {"sessionId": "$session.p"})
    scenario.settle()
    scenario.send("Target.detachFromTarget", {"sessionId": "$session.again"})
    scenario.settle()
    await scenario.conforms()


async def test_detach_by_its_own_session(scenario: Any) -> None:
    scenario.open("p")
    scenario.send("Target.detachFromTarget", {}, on="p", wait=False)
    scenario.settle()
    await scenario.conforms()


async def test_close_with_page_close(scenario: Any) -> None:
    scenario.send("Target.setDiscoverTargets", {"discover": True})
    scenario.open("p", "{a}/main", enable=["Page", "Inspector"])
    scenario.send("Page.close", on="p")
    scenario.settle()
    scenario.send("Runtime.evaluate", {"expression": "1"}, on="p")
    await scenario.conforms()


async def test_close_with_two_sessions(scenario: Any) -> None:
    scenario.open("p", "{a}/main", enable=["Page", "Inspector"])
    scenario.attach("again", "p", enable=["Inspector"])
    scenario.send("Target.closeTarget", {"targetId": "$target.p"})
    scenario.settle()
    await scenario.conforms()


async def test_close_with_commands_in_flight(scenario: Any) -> None:
    scenario.open("p", "{a}/main")
    scenario.evaluate("new Promise(() => 0)", on="p", awaitPromise=True, wait=False)
    scenario.settle()
    scenario.send("Target.closeTarget", {"targetId": "$target.p"})
    scenario.settle()
    await scenario.conforms()


async def test_activate(scenario: Any) -> None:
    scenario.open("p")
    scenario.open("q")
    scenario.send("Target.activateTarget", {"targetId": "$target.p"})
    scenario.send("Page.bringToFront", on="q")
    await scenario.conforms()


async def test_contexts(scenario: Any) -> None:
    scenario.send("Target.setDiscoverTargets", {"discover": True})
    scenario.send("Target.createBrowserContext", save={"context.c": "browserContextId"})
    scenario.send("Target.getBrowserContexts")
    scenario.open("p", "{a}/main", enable=["Page", "Inspector"], context="c")
    scenario.send("Target.disposeBrowserContext", {"browserContextId": "$context.c"})
    scenario.settle()
    scenario.send("Target.getBrowserContexts")
    scenario.send("Target.disposeBrowserContext", {"browserContextId": "$context.c"})
    scenario.send("Target.createTarget", {"url": "about:blank", "browserContextId": "$context.c"})
    await scenario.conforms()


async def test_context_that_ends_with_its_client(scenario: Any) -> None:
    scenario.send("Target.setDiscoverTargets", {"discover": True})
    scenario.connect("B")
    scenario.send(
        "Target.createBrowserContext", {"disposeOnDetach": True}, client="B", save={"context.c": "browserContextId"}
    )
    scenario.open("p", context="c", client="B")
    scenario.leave("B")
    scenario.settle()
    scenario.send("Target.getBrowserContexts")
    await scenario.conforms()


@pytest.mark.parametrize("wait", [False, True])
async def test_auto_attach_to_new_pages(scenario: Any, wait: bool) -> None:
    scenario.auto_attach(wait=wait, filter=PAGES)
    scenario.send("Target.createTarget", {"url": "{a}/main"}, save={"target.p": "targetId"}, wait=not wait)
    new = {"waitingForDebugger": True} if wait else {"targetInfo.url": "{a}/main"}
    scenario.expect("Target.attachedToTarget", new, save={"session.p": "params.sessionId"})
    scenario.settle()
    scenario.send("Page.enable", on="p", wait=False)
    scenario.send("Runtime.enable", on="p", wait=False)
    scenario.send("Runtime.runIfWaitingForDebugger", on="p")
    scenario.settle()
    scenario.send("Target.setAutoAttach", {"autoAttach": False, "waitForDebuggerOnStart": False, "flatten": True})
    scenario.settle()
    await scenario.conforms()


async def test_a_new_page_is_paused(scenario: Any) -> None:
    scenario.auto_attach(wait=True, filter=PAGES)
    scenario.send("Target.createTarget", {"url": "about:blank"}, save={"target.p": "targetId"})
    scenario.expect("Target.attachedToTarget", {"waitingForDebugger": True}, save={"session.p": "params.sessionId"})
    scenario.settle()
    scenario.send("Page.enable", on="p")
    scenario.send("Page.navigate", {"url": "{a}/main"}, on="p", wait=False)
    scenario.settle()
    scenario.evaluate("1+1", on="p", wait=False)
    scenario.settle()
    scenario.send("Runtime.runIfWaitingForDebugger", on="p")
    scenario.settle()
    await scenario.conforms()


async def test_auto_attach_to_existing_pages(scenario: Any) -> None:
    scenario.open("p", "{a}/main")
    scenario.auto_attach(filter=PAGES)
    scenario.settle()
    scenario.auto_attach(filter=PAGES)
    scenario.settle()
    scenario.send("Target.setAutoAttach", {"autoAttach": False, "waitForDebuggerOnStart": False, "flatten": True})
    scenario.settle()
    scenario.evaluate("1+1", on="p")
    await scenario.conforms()


async def test_auto_attach_filter_excludes_pages(scenario: Any) -> None:
    scenario.auto_attach(filter=[{"type": kind, "exclude": True} for kind in ("page", "tab", "browser_ui")] + [{}])
    scenario.open("p", "{a}/main")
    await scenario.conforms()


async def test_auto_attach_on_nested_oopifs(scenario: Any) -> None:
    scenario.page("/outer", AddFrame("inner", "{b}/inner"))
    scenario.page("/inner", AddFrame("leaf", "{a}/leaf"))
    scenario.open("p")
    scenario.auto_attach(on="p", wait=True)
    scenario.send("Page.navigate", {"url": "{a}/outer"}, on="p")
    scenario.expect("Target.attachedToTarget", on="p", save={"session.inner": "params.sessionId"})
    scenario.auto_attach(on="inner", wait=True)
    scenario.send("Page.enable", on="inner", wait=False)
    scenario.send("Runtime.runIfWaitingForDebugger", on="inner", wait=False)
    scenario.expect("Target.attachedToTarget", on="inner", save={"session.leaf": "params.sessionId"})
    scenario.send("Page.enable", on="leaf", wait=False)
    scenario.send("Runtime.runIfWaitingForDebugger", on="leaf", wait=False)
    scenario.settle()
    scenario.send("Target.detachFromTarget", {"sessionId": "$session.p"})
    scenario.settle()
    scenario.evaluate("1", on="inner")
    scenario.evaluate("1", on="leaf")
    await scenario.conforms()


async def test_page_filter_without_iframes(scenario: Any) -> None:
    scenario.page("/outer", AddFrame("inner", "{b}/inner"))
    scenario.open("p")
    scenario.auto_attach(on="p", filter=[{"type": "worker"}])
    scenario.go("{a}/outer", on="p")
    await scenario.conforms()


@pytest.mark.parametrize("noopener", [False, True])
async def test_popup(scenario: Any, noopener: bool) -> None:
    scenario.send("Target.setDiscoverTargets", {"discover": True})
    scenario.open("p", "{a}/main")
    scenario.act(Popup("popup", "{a}/popup", noopener=noopener), on="p")
    scenario.send("Target.getTargets")
    await scenario.conforms()


@pytest.mark.parametrize("noopener", [False, True])
@pytest.mark.parametrize("wait", [False, True])
async def test_popup_stalls_its_opener(scenario: Any, noopener: bool, wait: bool) -> None:
    scenario.open("p", "{a}/main", enable=["Page", "Runtime"])
    scenario.auto_attach(wait=wait, filter=PAGES)
    scenario.settle()
    scenario.act(Popup("popup", "{a}/popup", noopener=noopener), Console("opened"), on="p", wait=False)
    scenario.settle()
    scenario.expect(
        "Target.attachedToTarget",
        {"targetInfo.openerId": "$target.p"},
        save={"session.popup": "params.sessionId", "target.popup": "params.targetInfo.targetId"},
    )
    scenario.evaluate("1+1", on="p", wait=False)
    scenario.settle()
    scenario.send("Page.enable", on="popup", wait=False)
    scenario.settle()
    scenario.send("Runtime.runIfWaitingForDebugger", on="popup")
    scenario.settle()
    await scenario.conforms()


async def test_commands_of_the_root_session_on_a_page_session(scenario: Any) -> None:
    scenario.open("p")
    scenario.send("Target.setAutoAttach", {"autoAttach": True, "waitForDebuggerOnStart": False}, on="p")
    scenario.send("Target.setDiscoverTargets", {"discover": True}, on="p")
    scenario.settle()
    scenario.send("Target.getTargets", on="p")
    await scenario.conforms()


async def test_attach_from_a_page(scenario: Any) -> None:
    scenario.open("p", "{a}/main")
    scenario.open("q", "{b}/main")
    scenario.attach("q2", "q", on="p")
    scenario.evaluate("1", on="q2")
    scenario.send("Target.detachFromTarget", {"sessionId": "$session.p"})
    scenario.evaluate("1", on="q2")
    await scenario.conforms()


async def test_a_second_session_of_the_browser(scenario: Any) -> None:
    scenario.open("p")
    scenario.send("Target.attachToBrowserTarget", save={"session.b": "sessionId"})
    for method in ("Target.getTargetInfo", "Target.getTargets", "Target.getBrowserContexts", "Page.enable"):
        scenario.send(method, on="b")
    scenario.send("Target.attachToBrowserTarget", on="p")
    scenario.send("Target.setDiscoverTargets", {"discover": True, "filter": PAGES}, on="b")
    scenario.settle()
    scenario.attach("q", "p", on="b", enable=["Page"])
    scenario.auto_attach(on="b", filter=PAGES)
    scenario.settle()
    scenario.send("Target.createTarget", {"url": "about:blank"}, save={"target.n": "targetId"})
    scenario.settle()
    scenario.send("Target.detachFromTarget", {"sessionId": "$session.b"})
    scenario.settle()
    for on in ("b", "q"):
        scenario.send("Browser.getVersion", on=on)
    scenario.evaluate("1+1", on="p")
    await scenario.conforms()


async def test_nested_oopifs_are_removed(scenario: Any) -> None:
    scenario.page("/outer", AddFrame("inner", "{b}/inner"))
    scenario.page("/inner", AddFrame("leaf", "{a}/leaf"))
    scenario.send("Target.setDiscoverTargets", {"discover": True})
    scenario.open("p", "{a}/outer")
    scenario.auto_attach(on="p")
    scenario.expect("Target.attachedToTarget", on="p", save={"session.inner": "params.sessionId"})
    scenario.auto_attach(on="inner")
    scenario.expect("Target.attachedToTarget", on="inner", save={"session.leaf": "params.sessionId"})
    scenario.evaluate("location.href", on="leaf")
    scenario.settle()
    scenario.act(RemoveFrame("inner"), on="p")
    for on in ("inner", "leaf"):
        scenario.send("Browser.getVersion", on=on)
    scenario.send("Target.getTargets")
    await scenario.conforms()


async def test_an_oopif_crashes(scenario: Any) -> None:
    scenario.page("/outer", AddFrame("inner", "{b}/inner"))
    scenario.send("Target.setDiscoverTargets", {"discover": True})
    scenario.open("p", "{a}/outer")
    scenario.auto_attach(on="p")
    scenario.expect("Target.attachedToTarget", on="p", save={"session.inner": "params.sessionId"})
    scenario.send("Page.enable", on="inner")
    scenario.settle()
    scenario.send("Page.crash", on="inner", wait=False)
    scenario.expect("Target.targetCrashed")
    scenario.settle()
    scenario.evaluate("1+1", on="inner", wait=False)
    scenario.evaluate("1+1", on="p")
    scenario.send("Target.getTargets")
    await scenario.conforms()


async def test_a_client_leaves(scenario: Any) -> None:
    scenario.send("Target.setDiscoverTargets", {"discover": True})
    scenario.connect("B")
    scenario.open("p", client="B")
    scenario.leave("B")
    scenario.settle()
    scenario.send("Target.getTargetInfo", {"targetId": "$target.p"})
    await scenario.conforms()


async def test_popup_without_a_gesture(scenario: Any) -> None:
    scenario.open("p", "{a}/main")
    scenario.evaluate("window.open('{a}/popup')", on="p")
    scenario.settle()
    scenario.send("Target.getTargets")
    await scenario.conforms()
