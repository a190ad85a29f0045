"""Targets that replace others: prerendered pages (fact 45) and discarded tabs.

The page `chrome://discards`, which headless Chromium has, discards a tab once `chrome://chrome-urls` enabled it.
"""

from __future__ import annotations

from typing import Any

import pytest

from cdp_core.testing.steps import AddFrame, Console, Discard, Navigate, Prerender, Worker

pytestmark = pytest.mark.chromium

PAGES = [{"type": "page"}]
DISCOVER = {"discover": True, "filter": PAGES}

# ── prerendered pages ────────────────────────────────────────────────────────────────────────────────────────────────


def open_through_its_tab(scenario: Any, *, wait: bool) -> None:
    """Open a page `p`, attached through its tab."""
    scenario.send("Target.setDiscoverTargets", DISCOVER)
    scenario.send("Target.createTarget", {"url": "{a}/main", "forTab": True}, save={"target.tab": "targetId"})
    scenario.expect("Target.targetInfoChanged", {"targetInfo.url": "{a}/main"})
    scenario.settle()
    scenario.attach("tab")
    scenario.auto_attach(on="tab", wait=wait)
    save = {"session.p": "params.sessionId", "target.p": "params.targetInfo.targetId"}
    scenario.expect("Target.attachedToTarget", on="tab", save=save)
    scenario.send("Page.enable", on="p")


def prerender(scenario: Any) -> None:
    """Let the page prerender another one, labelled `next`."""
    scenario.act(Prerender("next", "/next", page="page 2"), on="p")
    save = {"session.next": "params.sessionId", "target.next": "params.targetInfo.targetId"}
    scenario.expect("Target.attachedToTarget", {"targetInfo.subtype": "prerender"}, on="tab", save=save)


async def test_a_prerendered_page_is_activated(last_scenario: Any) -> None:
    last_scenario.page("/next", Console("next"))
    open_through_its_tab(last_scenario, wait=True)
    prerender(last_scenario)
    last_scenario.send("Target.getTargetInfo", {"targetId": "$target.next"})
    for method in ("Page.enable", "Runtime.enable"):
        last_scenario.send(method, on="next", wait=False)
        last_scenario.settle()
    last_scenario.send("Runtime.runIfWaitingForDebugger", on="next")
    last_scenario.settle()
    last_scenario.evaluate("document.prerendering", on="next")
    last_scenario.evaluate("alert('nobody asks')", on="next")
    last_scenario.act(Navigate("{a}/next", page="page 2"), on="p")
    last_scenario.expect("Target.detachedFromTarget", on="tab")
    last_scenario.evaluate("document.prerendering", on="next")
    last_scenario.evaluate("1", on="p")
    last_scenario.send("Target.getTargets")
    last_scenario.send("Target.closeTarget", {"targetId": "$target.next"})
    last_scenario.settle()
    await last_scenario.conforms()


async def test_a_paused_prerendered_page_is_activated(last_scenario: Any) -> None:
    open_through_its_tab(last_scenario, wait=True)
    prerender(last_scenario)
    last_scenario.send("Page.enable", on="next", wait=False)
    last_scenario.act(Navigate("{a}/next", page="page 2"), on="p")
    last_scenario.send("Runtime.runIfWaitingForDebugger", on="next")
    last_scenario.expect("Target.detachedFromTarget", on="tab")
    last_scenario.settle()
    last_scenario.evaluate("location.href", on="next")
    await last_scenario.conforms()


@pytest.mark.parametrize("wait", [False, True])
async def test_a_prerendered_page_is_not_activated(scenario: Any, wait: bool) -> None:
    open_through_its_tab(scenario, wait=wait)
    prerender(scenario)
    scenario.act(Navigate("{a}/other", page="page 2"), on="p")
    scenario.expect("Target.targetDestroyed", {"targetId": "$target.next"})
    scenario.evaluate("1", on="next")
    await scenario.conforms()


async def test_a_command_navigates_to_the_url_of_a_prerendered_page(scenario: Any) -> None:
    open_through_its_tab(scenario, wait=False)
    prerender(scenario)
    scenario.settle()
    scenario.go("{a}/next", on="p")
    await scenario.conforms()


async def test_a_page_with_a_prerendered_page_is_closed(scenario: Any) -> None:
    open_through_its_tab(scenario, wait=True)
    prerender(scenario)
    scenario.settle()
    scenario.send("Target.closeTarget", {"targetId": "$target.next"})
    scenario.settle()
    await scenario.conforms()


async def test_a_page_with_a_session_of_its_own_prerenders_nothing(scenario: Any) -> None:
    scenario.open("p", "{a}/main")
    scenario.send("Target.setDiscoverTargets", DISCOVER)
    scenario.act(Prerender("next", "/next", page="page 2"), on="p")
    scenario.act(Navigate("{a}/next", page="page 2"), on="p")
    await scenario.conforms()


# ── discarded tabs ───────────────────────────────────────────────────────────────────────────────────────────────────

ALLOW = """(async()=>{for(;;){const app=document.querySelector('chrome-urls-app');
const button=app&&app.shadowRoot&&app.shadowRoot.querySelector('cr-button');
if(button&&button.textContent.includes('Disable'))return;if(button)button.click();
await new Promise(f=>setTimeout(f,50))}})()"""
DISCARD = """(async()=>{const {getOrCreateDetailsProvider}=await import('chrome://discards/discards.js');
const provider=getOrCreateDetailsProvider();const {infos}=await provider.getTabDiscardsInfo();
await provider.discardById(infos.find(tab=>tab.tabUrl.endsWith('/main')).id,0)})()"""


def prepare_discard(scenario: Any, *, wait: bool, listen: bool = True) -> None:
    """Open a page `p`, and a page `d` at `chrome://discards` that can discard it."""
    scenario.send("Target.createTarget", {"url": "about:blank"}, save={"target.p": "targetId"})
    scenario.settle()
    scenario.send("Target.createTarget", {"url": "about:blank"}, save={"target.d": "targetId"})
    scenario.attach("d")
    scenario.send("Page.navigate", {"url": "chrome://chrome-urls/"}, on="d")
    scenario.evaluate(ALLOW, on="d", awaitPromise=True)
    scenario.send("Page.navigate", {"url": "chrome://discards/"}, on="d")
    scenario.settle()
    scenario.send("Target.setDiscoverTargets", DISCOVER)
    scenario.auto_attach(wait=wait, filter=PAGES)
    where = {"targetInfo.targetId": "$target.p"}
    scenario.expect("Target.attachedToTarget", where, save={"session.p": "params.sessionId"})
    for domain in ("Page", "Runtime") if listen else ():
        scenario.send(f"{domain}.enable", on="p")
    scenario.send("Page.navigate", {"url": "{a}/main"}, on="p")
    scenario.settle()
    scenario.send("Target.activateTarget", {"targetId": "$target.d"})


def discard(scenario: Any) -> None:
    """Discard `p`, and label the target that replaces it `new`."""
    scenario.answers[DISCARD] = (Discard("page 2"),)
    scenario.evaluate(DISCARD, on="d", awaitPromise=True)
    scenario.settle()
    where = {"targetInfo.url": "{a}/main", "targetInfo.attached": True}
    save = {"session.new": "params.sessionId", "target.new": "params.targetInfo.targetId"}
    scenario.expect("Target.attachedToTarget", where, save=save)


async def test_a_discarded_tab_is_activated(scenario: Any) -> None:
    scenario.page("/main", Console("main"))
    prepare_discard(scenario, wait=True)
    discard(scenario)
    scenario.evaluate("1", on="p")
    for method in ("Page.enable", "Runtime.enable", "Page.getFrameTree", "Runtime.runIfWaitingForDebugger"):
        scenario.send(method, on="new", wait=False)
        scenario.settle()
    scenario.send("Target.getTargetInfo", on="new")
    scenario.send("Page.handleJavaScriptDialog", {"accept": True}, on="new")
    scenario.send("Target.activateTarget", {"targetId": "$target.new"})
    scenario.settle()
    scenario.evaluate("1+1", on="new")
    await scenario.conforms()


async def test_a_discarded_tab_is_navigated(scenario: Any) -> None:
    scenario.page("/other", Console("other"))
    prepare_discard(scenario, wait=False)
    discard(scenario)
    scenario.evaluate("1", on="new", wait=False)
    scenario.settle()
    scenario.go("{a}/other", on="new")
    for domain in ("Page", "Runtime"):  # not earlier: chance decides whether the navigation overtakes them
        scenario.send(f"{domain}.enable", on="new")
    scenario.evaluate("location.href", on="new")
    await scenario.conforms()


async def test_a_tab_is_discarded_with_its_frame_and_worker(scenario: Any) -> None:
    scenario.page("/main", AddFrame("inner", "{b}/inner"))
    prepare_discard(scenario, wait=False)
    scenario.auto_attach(on="p")
    scenario.act(Worker("w", "/w.js", frame="page 2"), on="p")
    discard(scenario)
    scenario.send("Target.closeTarget", {"targetId": "$target.new"})
    scenario.settle()
    await scenario.conforms()
