"""The history of a page, and documents restored from the back/forward cache (fact 43)."""

from __future__ import annotations

from typing import Any

import pytest

from cdp_core.testing.steps import AddFrame, Console, Go, Navigate, NavigateFrame, Popup, PushState, RemoveFrame

pytestmark = pytest.mark.chromium

BOTH = ["Page", "Runtime"]


def save_entries(scenario: Any, *labels: str, on: str = "p") -> None:
    """Read the history and label its entries, oldest first."""
    save = {f"entry.{label}": f"entries.{place}.id" for place, label in enumerate(labels)}
    scenario.send("Page.getNavigationHistory", on=on, save=save)


def go_to_entry(scenario: Any, label: str, *, on: str = "p") -> None:
    scenario.send("Page.navigateToHistoryEntry", {"entryId": f"$entry.{label}"}, on=on)
    scenario.settle()


async def test_navigations_that_add_an_entry(scenario: Any) -> None:
    scenario.open("p")
    save_entries(scenario, "blank")
    for url in ("{a}/one", "{a}/one", "{a}/one#there", "data:text/html,x"):
        scenario.go(url, on="p")
        save_entries(scenario)
    scenario.send("Page.navigate", {"url": "{a}/link", "transitionType": "link"}, on="p")
    scenario.settle()
    scenario.act(PushState("{a}/pushed"), on="p")
    scenario.act(Navigate("{a}/by-script"), on="p")
    scenario.send("Page.reload", on="p")
    scenario.settle()
    save_entries(scenario)
    scenario.send("Page.resetNavigationHistory", on="p")
    save_entries(scenario)
    await scenario.conforms()


async def test_a_document_that_navigates_at_once_has_no_entry(scenario: Any) -> None:
    scenario.page("/hasty", Navigate("{a}/target"))
    scenario.send("Target.setDiscoverTargets", {"discover": True})
    scenario.open("p", enable=[])
    scenario.send("Page.navigate", {"url": "{b}/hasty"}, on="p")
    scenario.expect("Target.targetInfoChanged", {"targetInfo.url": "{a}/target"})
    scenario.settle()
    save_entries(scenario)
    await scenario.conforms()


async def test_back_and_forward_between_documents(scenario: Any) -> None:
    scenario.send("Target.setDiscoverTargets", {"discover": True})
    scenario.open("p", "{a}/one", enable=BOTH)
    scenario.go("{a}/two", on="p")
    scenario.go("{b}/three", on="p")
    save_entries(scenario, "blank", "one", "two", "three")
    for label in ("two", "one", "three", "blank", "one", "blank", "one", "two", "one"):
        go_to_entry(scenario, label)
        save_entries(scenario)
    scenario.evaluate("location.href", on="p")
    scenario.go("{a}/four", on="p")
    save_entries(scenario)
    await scenario.conforms()


async def test_back_and_forward_within_a_document(scenario: Any) -> None:
    scenario.open("p", "{a}/one", enable=BOTH)
    scenario.go("{a}/one#there", on="p")
    scenario.act(PushState("{a}/pushed"), on="p")
    save_entries(scenario, "blank", "one", "there", "pushed")
    for label in ("there", "one", "pushed"):
        go_to_entry(scenario, label)
    scenario.go("{b}/two", on="p")
    go_to_entry(scenario, "there")
    go_to_entry(scenario, "one")
    save_entries(scenario)
    await scenario.conforms()


async def test_refused_history_commands(scenario: Any) -> None:
    scenario.page("/main", AddFrame("other", "{b}/other"))
    scenario.open("p")
    scenario.auto_attach(on="p")
    scenario.go("{a}/main", on="p")
    scenario.expect("Target.attachedToTarget", on="p", save={"session.other": "params.sessionId"})
    for on in ("p", "other"):
        scenario.send("Page.navigateToHistoryEntry", {"entryId": 9999}, on=on)
        scenario.send("Page.navigateToHistoryEntry", {}, on=on)
    scenario.send("Page.getNavigationHistory", on="other")
    scenario.send("Page.resetNavigationHistory", on="other")
    await scenario.conforms()


async def test_back_to_a_document_with_frames(scenario: Any) -> None:
    scenario.page("/main", AddFrame("same", "{a}/same"), AddFrame("other", "{b}/other"), Console("once"))
    scenario.send("Target.setDiscoverTargets", {"discover": True})
    scenario.open("p", enable=BOTH)
    scenario.auto_attach(on="p")
    scenario.go("{a}/main", on="p")
    scenario.go("{b}/away", on="p")
    scenario.send("Target.getTargets")
    save_entries(scenario, "blank", "main", "away")
    go_to_entry(scenario, "main")
    scenario.send("Page.getFrameTree", on="p")
    scenario.send("Target.getTargets")
    scenario.expect("Target.attachedToTarget", on="p", save={"session.first": "params.sessionId"})
    scenario.expect("Target.attachedToTarget", on="p", save={"session.other": "params.sessionId"})
    scenario.evaluate("1", on="first")
    scenario.evaluate("location.href", on="other")
    scenario.act(RemoveFrame("other"), on="p")
    go_to_entry(scenario, "away")
    await scenario.conforms()


async def test_back_to_a_document_with_frames_without_auto_attach(scenario: Any) -> None:
    scenario.page("/main", AddFrame("same", "{a}/same"), AddFrame("other", "{b}/other"))
    scenario.open("p", "{a}/main", enable=BOTH)
    scenario.go("{a}/away", on="p")
    save_entries(scenario, "blank", "main", "away")
    go_to_entry(scenario, "main")
    scenario.send("Page.getFrameTree", on="p")
    scenario.auto_attach(on="p")
    scenario.settle()
    await scenario.conforms()


async def test_more_documents_than_the_cache_keeps(scenario: Any) -> None:
    scenario.page("/main", AddFrame("other", "{b}/other"))
    scenario.send("Target.setDiscoverTargets", {"discover": True})
    scenario.open("p", "{a}/main", enable=["Page"])
    save_entries(scenario, "blank", "main")
    for number in range(7):
        scenario.go(f"{{a}}/{number}", on="p")
    go_to_entry(scenario, "main")
    await scenario.conforms()


async def test_a_script_goes_back_and_forward(scenario: Any) -> None:
    scenario.open("p", "{a}/one", enable=BOTH)
    scenario.go("{a}/two", on="p")
    scenario.go("{b}/three", on="p")
    for delta in (-1, 1, 5, -2, -7):
        scenario.act(Go(delta), on="p")
    scenario.evaluate("history.length", on="p")
    save_entries(scenario)
    await scenario.conforms()


async def test_back_in_a_frame(scenario: Any) -> None:
    scenario.open("p", "{a}/main", enable=BOTH)
    scenario.act(AddFrame("f", "{a}/first"), on="p")
    scenario.act(NavigateFrame("f", "{a}/second"), on="p")
    scenario.act(NavigateFrame("f", "{a}/third"), on="p")
    save_entries(scenario, "blank", "main", "second", "third")
    go_to_entry(scenario, "main")
    go_to_entry(scenario, "third")
    save_entries(scenario)
    await scenario.conforms()


async def test_back_while_a_dialog_is_open(scenario: Any) -> None:
    scenario.open("p", "{a}/one")
    scenario.go("{a}/two", on="p")
    scenario.go("{a}/two#there", on="p")
    save_entries(scenario, "blank", "one", "two", "there")
    for label in ("two", "one", "two"):
        scenario.evaluate("confirm('c')", on="p", wait=False)
        scenario.expect("Page.javascriptDialogOpening", on="p")
        go_to_entry(scenario, label)
    await scenario.conforms()


async def test_back_in_a_popup(scenario: Any) -> None:
    scenario.open("p", "{a}/main")
    scenario.auto_attach(filter=[{"type": "page"}])
    scenario.act(Popup("popup", "{a}/popup"), on="p", wait=False)
    new = {"targetInfo.openerId": "$target.p"}
    scenario.expect("Target.attachedToTarget", new, save={"session.popup": "params.sessionId"})
    scenario.send("Page.enable", on="popup", wait=False)
    scenario.send("Runtime.runIfWaitingForDebugger", on="popup")
    scenario.expect("Page.loadEventFired", on="popup")
    scenario.settle()
    scenario.go("{a}/next", on="popup")
    scenario.expect("Page.loadEventFired", on="popup")
    save_entries(scenario, "popup", "next", on="popup")
    go_to_entry(scenario, "popup", on="popup")
    scenario.go("{a}/elsewhere", on="p")
    save_entries(scenario, "blank", "main", "elsewhere")
    go_to_entry(scenario, "main")
    await scenario.conforms()
