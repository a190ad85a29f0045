"""Targets that take the place of others: pages rendered in advance (fact 45), and tabs that were discarded.

A tab is discarded by `chrome://discards`, which headless Chromium has, once `chrome://chrome-urls` was told to allow it.
"""

from __future__ import annotations

from typing import Any

import pytest

from cdp_core.testing.steps import AddFrame, Console, Discard, Navigate, Prerender, Worker

pytestmark = pytest.mark.chromium

PAGES = [{"type": "page"}]
DISCOVER = {"discover": True, "filter": PAGES}

# ── rendered in advance ──────────────────────────────────────────────────────────────────────────────────────────────


def through_its_tab(scenario: Any, *, wait: bool) -> None:
    """A page `p`, attached to through its tab."""
    scenario.send("Target.setDiscoverTargets", DISCOVER)
    scenario.send("Target.createTarget", {"url": "{a}/main", "forTab": True}, save={"target.tab": "targetId"})
    scenario.expect("Target.targetInfoChanged", {"targetInfo.url": "{a}/main"})
    scenario.settle()
    scenario.attach("tab")
    scenario.auto_attach(on="tab", wait=wait)
    save = {"session.p": "params.sessionId", "target.p": "params.targetInfo.targetId"}
    scenario.expect("Target.attachedToTarget", on="tab", save=save)
    scenario.send("Page.enable", on="p")


def in_advance(scenario: Any) -> None:
    """It has another one rendered."""
    scenario.act(Prerender("next", "/next", page="page 2"), on="p")
    save = {"session.next": "params.sessionId", "target.next": "params.targetInfo.targetId"}
    scenario.expect("Target.attachedToTarget", {"targetInfo.subtype": "prerender"}, on="tab", save=save)


async def test_a_page_is_rendered_in_advance_and_gone_to(last_scenario: Any) -> None:
    last_scenario.page("/next", Console("next"))
    through_its_tab(last_scenario, wait=True)
    in_advance(last_scenario)
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


async def test_a_page_rendered_in_advance_that_waits_is_gone_to(last_scenario: Any) -> None:
    through_its_tab(last_scenario, wait=True)
    in_advance(last_scenario)
    last_scenario.send("Page.enable", on="next", wait=False)
    last_scenario.act(Navigate("{a}/next", page="page 2"), on="p")
    last_scenario.send("Runtime.runIfWaitingForDebugger", on="next")
    last_scenario.expect("Target.detachedFromTarget", on="tab")
    last_scenario.settle()
    last_scenario.evaluate("location.href", on="next")
    await last_scenario.conforms()


@pytest.mark.parametrize("wait", [False, True])
async def test_a_page_rendered_in_advance_is_not_gone_to(scenario: Any, wait: bool) -> None:
    through_its_tab(scenario, wait=wait)
    in_advance(scenario)
    scenario.act(Navigate("{a}/other", page="page 2"), on="p")
    scenario.expect("Target.targetDestroyed", {"targetId": "$target.next"})
    scenario.evaluate("1", on="next")
    await scenario.conforms()


async def test_a_command_goes_where_a_page_was_rendered_in_advance(scenario: Any) -> None:
    through_its_tab(scenario, wait=False)
    in_advance(scenario)
    scenario.settle()
    scenario.go("{a}/next", on="p")
    await scenario.conforms()


async def test_a_page_closes_with_what_was_rendered_in_advance(scenario: Any) -> None:
    through_its_tab(scenario, wait=True)
    in_advance(scenario)
    scenario.settle()
    scenario.send("Target.closeTarget", {"targetId": "$target.next"})
    scenario.settle()
    await scenario.conforms()


async def test_nothing_is_rendered_in_advance_for_who_is_attached_to_the_page(scenario: Any) -> None:
    scenario.open("p", "{a}/main")
    scenario.send("Target.setDiscoverTargets", DISCOVER)
    scenario.act(Prerender("next", "/next", page="page 2"), on="p")
    scenario.act(Navigate("{a}/next", page="page 2"), on="p")
    await scenario.conforms()


# ── discarded ────────────────────────────────────────────────────────────────────────────────────────────────────────

ALLOW = """(async()=>{for(;;){const app=document.querySelector('chrome-urls-app');
const button=app&&app.shadowRoot&&app.shadowRoot.querySelector('cr-button');
if(button&&button.textContent.includes('Disable'))return;if(button)button.click();
await new Promise(f=>setTimeout(f,50))}})()"""
DISCARD = """(async()=>{const {getOrCreateDetailsProvider}=await import('chrome://discards/discards.js');
const provider=getOrCreateDetailsProvider();const {infos}=await provider.getTabDiscardsInfo();
await provider.discardById(infos.find(tab=>tab.tabUrl.endsWith('/main')).id,0)})()"""


def to_be_discarded(scenario: Any, *, wait: bool, listen: bool = True) -> None:
    """A page `p`, and one of the browser's that can discard it."""
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


def discarded(scenario: Any) -> None:
    """It is."""
    scenario.answers[DISCARD] = (Discard("page 2"),)
    scenario.evaluate(DISCARD, on="d", awaitPromise=True)
    scenario.settle()
    where = {"targetInfo.url": "{a}/main", "targetInfo.attached": True}
    save = {"session.new": "params.sessionId", "target.new": "params.targetInfo.targetId"}
    scenario.expect("Target.attachedToTarget", where, save=save)


async def test_a_tab_is_discarded_and_looked_at(scenario: Any) -> None:
    scenario.page("/main", Console("main"))
    to_be_discarded(scenario, wait=True)
    discarded(scenario)
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


async def test_a_discarded_tab_goes_elsewhere(scenario: Any) -> None:
    scenario.page("/other", Console("other"))
    to_be_discarded(scenario, wait=False)
    discarded(scenario)
    scenario.evaluate("1", on="new", wait=False)
    scenario.settle()
    scenario.go("{a}/other", on="new")
    for domain in ("Page", "Runtime"):  # before, it is chance whether the navigation overtakes them
        scenario.send(f"{domain}.enable", on="new")
    scenario.evaluate("location.href", on="new")
    await scenario.conforms()


async def test_a_tab_is_discarded_with_what_is_in_it(scenario: Any) -> None:
    scenario.page("/main", AddFrame("inner", "{b}/inner"))
    to_be_discarded(scenario, wait=False)
    scenario.auto_attach(on="p")
    scenario.act(Worker("w", "/w.js", frame="page 2"), on="p")
    discarded(scenario)
    scenario.send("Target.closeTarget", {"targetId": "$target.new"})
    scenario.settle()
    await scenario.conforms()
