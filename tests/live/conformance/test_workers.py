"""Dedicated, shared and service workers: the sessions that see them, their start and end (fact 48)."""

from __future__ import annotations

from typing import Any

import pytest

from cdp_core.testing.steps import AddFrame, Console, EndWorker, RemoveFrame, ScriptError, Worker

pytestmark = pytest.mark.chromium

SHARED = [{"type": "shared_worker"}]
SERVICE = [{"type": "service_worker"}]
DISCOVER = {"discover": True}
NOT_FOR_WORKERS = ("Page.enable", "DOM.enable", "Performance.enable", "CSS.enable", "Overlay.enable", "Security.enable")


def expect_attached(scenario: Any, label: str, *, on: str = "browser", kind: str = "worker") -> None:
    """Wait for the session that auto-attach opens on a worker, and label it."""
    save = {f"session.{label}": "params.sessionId", f"target.{label}": "params.targetInfo.targetId"}
    scenario.expect("Target.attachedToTarget", {"targetInfo.type": kind}, on=on, save=save)


@pytest.mark.parametrize("wait", [False, True])
async def test_a_dedicated_worker(scenario: Any, wait: bool) -> None:
    scenario.page("/w.js", Console("first"))
    scenario.send("Target.setDiscoverTargets", DISCOVER)
    scenario.open("p", "{a}/main")
    scenario.auto_attach(on="p", wait=wait)
    scenario.act(Worker("w", "/w.js"), on="p")
    expect_attached(scenario, "w", on="p")
    scenario.evaluate("1+1", on="w")  # a worker answers even if it is paused before its script
    scenario.send("Runtime.enable", on="w")
    scenario.send("Runtime.runIfWaitingForDebugger", on="w")
    scenario.settle()
    scenario.evaluate("location.href", on="w")
    scenario.evaluate("console.log('again')", on="w")
    scenario.send("Target.getTargetInfo", on="w")
    scenario.act(EndWorker("w"), on="p")
    scenario.expect("Target.targetDestroyed", {"targetId": "$target.w"})
    scenario.evaluate("1", on="w")
    await scenario.conforms()


async def test_auto_attach_to_a_running_dedicated_worker(scenario: Any) -> None:
    scenario.page("/w.js", ScriptError("boom"))
    scenario.send("Target.setDiscoverTargets", DISCOVER)
    scenario.open("p", "{a}/main")
    scenario.act(Worker("w", "/w.js"), on="p")
    scenario.auto_attach(on="p", wait=True)
    expect_attached(scenario, "w", on="p")
    scenario.settle()
    scenario.send("Runtime.enable", on="w")
    scenario.send("Target.closeTarget", {"targetId": "$target.w"})
    scenario.evaluate("self.close()", on="w")
    scenario.expect("Target.targetDestroyed", {"targetId": "$target.w"})
    scenario.send("Target.getTargets")
    await scenario.conforms()


async def test_domains_that_workers_lack(scenario: Any) -> None:
    scenario.open("p", "{a}/main")
    scenario.auto_attach(on="p")
    scenario.act(Worker("w", "/w.js"), on="p")
    expect_attached(scenario, "w", on="p")
    for method in NOT_FOR_WORKERS:
        scenario.send(method, on="w")
    await scenario.conforms()


async def test_a_dedicated_worker_ends_with_its_document(scenario: Any) -> None:
    scenario.send("Target.setDiscoverTargets", DISCOVER)
    scenario.open("p", "{a}/main")
    scenario.auto_attach(on="p")
    scenario.act(Worker("w", "/w.js"), on="p")
    expect_attached(scenario, "w", on="p")
    scenario.go("{a}/other", on="p")
    scenario.expect("Target.detachedFromTarget", on="p")
    scenario.evaluate("1", on="w")
    scenario.evaluate("history.back()", on="p")
    scenario.settle()
    await scenario.conforms()


async def test_a_reload_ends_a_dedicated_worker(scenario: Any) -> None:
    scenario.send("Target.setDiscoverTargets", DISCOVER)
    scenario.open("p", "{a}/main")
    scenario.auto_attach(on="p")
    scenario.act(Worker("w", "/w.js"), on="p")
    expect_attached(scenario, "w", on="p")
    scenario.send("Page.reload", on="p")
    scenario.expect("Target.targetDestroyed", {"targetId": "$target.w"})
    scenario.settle()
    scenario.send("Target.getTargets")
    await scenario.conforms()


async def test_a_page_closes_with_its_worker(scenario: Any) -> None:
    scenario.send("Target.setDiscoverTargets", DISCOVER)
    scenario.open("p", "{a}/main")
    scenario.auto_attach(on="p")
    scenario.act(Worker("w", "/w.js"), on="p")
    expect_attached(scenario, "w", on="p")
    scenario.send("Target.closeTarget", {"targetId": "$target.p"})
    scenario.settle()
    await scenario.conforms()


async def test_a_page_crashes_with_its_worker(scenario: Any) -> None:
    scenario.send("Target.setDiscoverTargets", DISCOVER)
    scenario.open("p", "{a}/main")
    scenario.auto_attach(on="p")
    scenario.act(Worker("w", "/w.js"), on="p")
    expect_attached(scenario, "w", on="p")
    scenario.send("Page.crash", on="p", wait=False)
    scenario.expect("Target.targetCrashed")
    scenario.send("Target.getTargets")
    await scenario.conforms()


async def test_a_worker_of_an_oopif(scenario: Any) -> None:
    scenario.page("/outer", AddFrame("inner", "{b}/inner"))
    scenario.send("Target.setDiscoverTargets", DISCOVER)
    scenario.open("p", "{a}/outer")
    scenario.auto_attach(on="p")
    expect_attached(scenario, "inner", on="p", kind="iframe")
    scenario.auto_attach(on="inner")
    scenario.act(Worker("w", "/w.js"), on="inner")
    expect_attached(scenario, "w", on="inner")
    scenario.act(RemoveFrame("inner"), on="p")
    await scenario.conforms()


async def test_a_shared_worker(scenario: Any) -> None:
    scenario.page("/s.js", Console("first"))
    scenario.send("Target.setDiscoverTargets", DISCOVER)
    scenario.auto_attach(wait=True, filter=SHARED)
    scenario.open("p", "{a}/main")
    scenario.auto_attach(on="p")  # no page session sees a shared worker
    scenario.act(Worker("s", "/s.js", kind="shared"), on="p")
    expect_attached(scenario, "s", kind="shared_worker")
    scenario.evaluate("1+1", on="s")
    scenario.send("Runtime.enable", on="s")
    scenario.send("Runtime.runIfWaitingForDebugger", on="s")
    scenario.settle()
    scenario.send("Inspector.enable", on="s")
    scenario.send("Page.enable", on="s")
    scenario.evaluate("self.close()", on="s")
    scenario.expect("Target.targetDestroyed", {"targetId": "$target.s"})
    scenario.send("Target.getTargets")
    await scenario.conforms()


async def test_a_shared_worker_of_two_pages(scenario: Any) -> None:
    scenario.page("/s.js", Console("first"))
    scenario.send("Target.setDiscoverTargets", DISCOVER)
    for label in ("p", "q"):
        scenario.open(label, f"{{a}}/{label}")
        scenario.act(Worker("s", "/s.js", kind="shared"), on=label)
    scenario.auto_attach(filter=SHARED)
    expect_attached(scenario, "s", kind="shared_worker")
    scenario.send("Runtime.enable", on="s")
    scenario.evaluate("location.href", on="s")
    scenario.go("{a}/other", on="p")
    scenario.evaluate("1", on="s")
    scenario.send("Target.getTargetInfo", on="s")
    await scenario.conforms()


async def test_a_shared_worker_ends_with_its_page(scenario: Any) -> None:
    scenario.send("Target.setDiscoverTargets", DISCOVER)
    scenario.auto_attach(filter=SHARED)
    scenario.open("p", "{a}/main")
    scenario.act(Worker("s", "/s.js", kind="shared"), on="p")
    expect_attached(scenario, "s", kind="shared_worker")
    scenario.send("Target.closeTarget", {"targetId": "$target.p"})
    scenario.expect("Target.targetDestroyed", {"targetId": "$target.s"})
    scenario.evaluate("1", on="s")
    await scenario.conforms()


async def test_a_shared_worker_is_closed(scenario: Any) -> None:
    scenario.send("Target.setDiscoverTargets", DISCOVER)
    scenario.open("p", "{a}/main")
    scenario.act(Worker("s", "/s.js", kind="shared"), on="p")
    scenario.auto_attach(filter=SHARED)
    expect_attached(scenario, "s", kind="shared_worker")
    scenario.settle()
    scenario.send("Target.closeTarget", {"targetId": "$target.s"})
    scenario.expect("Target.targetDestroyed", {"targetId": "$target.s"})
    scenario.evaluate("1", on="s")
    scenario.send("Target.getTargets")
    await scenario.conforms()


async def test_a_service_worker(scenario: Any) -> None:
    scenario.page("/sw.js", Console("first"))
    open_page_in_own_context(scenario)
    scenario.auto_attach(on="p")
    scenario.act(Worker("w", "/sw.js", kind="service"), on="p")
    expect_attached(scenario, "w", on="p", kind="service_worker")
    scenario.send("Runtime.enable", on="w")
    scenario.evaluate("console.log('again')", on="w")
    scenario.send("Page.enable", on="w")
    scenario.act(Worker("again", "/sw.js", kind="service"), on="p")
    scenario.auto_attach(filter=SERVICE)
    expect_attached(scenario, "b", kind="service_worker")
    scenario.send("Target.getTargets")
    scenario.send("Target.closeTarget", {"targetId": "$target.p"})
    scenario.settle()
    scenario.evaluate("1+1", on="b")
    await scenario.conforms()


@pytest.mark.parametrize("order", ["wb", "bw"])
async def test_a_paused_service_worker(scenario: Any, order: str) -> None:
    scenario.page("/sw.js", Console("first"))
    open_page_in_own_context(scenario)
    scenario.auto_attach(wait=True, filter=SERVICE)
    scenario.auto_attach(on="p", wait=True)
    scenario.act(Worker("w", "/sw.js", kind="service"), on="p")
    expect_attached(scenario, "w", on="p", kind="service_worker")
    expect_attached(scenario, "b", kind="service_worker")
    for on in order:
        scenario.send("Runtime.enable", on=on, wait=False)
        scenario.send("Runtime.runIfWaitingForDebugger", on=on, wait=False)
        scenario.settle()
    scenario.evaluate("1+1", on="w")
    await scenario.conforms()


async def test_a_service_worker_paused_by_two_clients(scenario: Any) -> None:
    scenario.page("/sw.js", Console("first"))
    open_page_in_own_context(scenario)
    scenario.connect("B")
    for client in "AB":
        scenario.auto_attach(wait=True, filter=SERVICE, client=client)
    scenario.act(Worker("w", "/sw.js", kind="service"), on="p")
    for client in "AB":
        where = {"targetInfo.type": "service_worker"}
        save = {f"session.{client}": "params.sessionId", "target.w": "params.targetInfo.targetId"}
        scenario.expect("Target.attachedToTarget", where, client=client, save=save)
    for client in "AB":
        scenario.send("Runtime.enable", on=client, client=client)
        scenario.send("Runtime.runIfWaitingForDebugger", on=client, client=client)
        scenario.settle()
    scenario.send("Target.closeTarget", {"targetId": "$target.w"})
    scenario.evaluate("1+1", on="A", wait=False)
    scenario.settle()
    scenario.send("Target.disposeBrowserContext", {"browserContextId": "$context.c"})
    scenario.settle()
    await scenario.conforms()


async def test_pages_attach_to_service_workers_of_their_origin(scenario: Any) -> None:
    open_page_in_own_context(scenario)
    scenario.auto_attach(on="p")
    scenario.act(Worker("w", "/sub/sw.js", kind="service"), on="p")
    expect_attached(scenario, "w", on="p", kind="service_worker")
    scenario.go("{a}/other", on="p")
    scenario.evaluate("1+1", on="w")
    scenario.go("{b}/other", on="p")
    scenario.expect("Target.detachedFromTarget", on="p")
    scenario.evaluate("1+1", on="w")
    scenario.go("{a}/third", on="p")
    expect_attached(scenario, "again", on="p", kind="service_worker")
    await scenario.conforms()


def open_page_in_own_context(scenario: Any) -> None:
    """Open a page in a new browser context: a service worker runs as long as its context exists."""
    scenario.send("Target.createBrowserContext", save={"context.c": "browserContextId"})
    scenario.open("p", "{a}/main", context="c")
    scenario.send("Target.setDiscoverTargets", DISCOVER)
