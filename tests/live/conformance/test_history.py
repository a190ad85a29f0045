"""The history of a page, and documents that are come back to as they were left (fact 43)."""

from __future__ import annotations

from typing import Any

import pytest

from cdp_core.testing.steps import AddFrame, Console, Go, Navigate, NavigateFrame, Popup, PushState, RemoveFrame

pytestmark = pytest.mark.chromium

BOTH = ["Page", "Runtime"]


def entries(scenario: Any, *labels: str, on: str = "p") -> None:
    """Look at the history, and call its entries so, the first one first."""
    save = {f"entry.{label}": f"entries.{place}.id" for place, label in enumerate(labels)}
    scenario.send("Page.getNavigationHistory", on=on, save=save)


def go(scenario: Any, label: str, *, on: str = "p") -> None:
    scenario.send("Page.navigateToHistoryEntry", {"entryId": f"$entry.{label}"}, on=on)
    scenario.settle()


async def test_what_makes_an_entry(scenario: Any) -> None:
    scenario.open("p")
    entries(scenario, "blank")
    for url in ("{a}/one", "{a}/one", "{a}/one#there", "data:text/html,x"):
        scenario.go(url, on="p")
        entries(scenario)
    scenario.send("Page.navigate", {"url": "{a}/link", "transitionType": "link"}, on="p")
    scenario.settle()
    scenario.act(PushState("{a}/pushed"), on="p")
    scenario.act(Navigate("{a}/by-script"), on="p")
    scenario.send("Page.reload", on="p")
    scenario.settle()
    entries(scenario)
    scenario.send("Page.resetNavigationHistory", on="p")
    entries(scenario)
    await scenario.conforms()


async def test_a_document_that_goes_on_at_once_has_no_entry(scenario: Any) -> None:
    scenario.page("/hasty", Navigate("{a}/target"))
    scenario.send("Target.setDiscoverTargets", {"discover": True})
    scenario.open("p", enable=[])
    scenario.send("Page.navigate", {"url": "{b}/hasty"}, on="p")
    scenario.expect("Target.targetInfoChanged", {"targetInfo.url": "{a}/target"})
    scenario.settle()
    entries(scenario)
    await scenario.conforms()


async def test_there_and_back(scenario: Any) -> None:
    scenario.send("Target.setDiscoverTargets", {"discover": True})
    scenario.open("p", "{a}/one", enable=BOTH)
    scenario.go("{a}/two", on="p")
    scenario.go("{b}/three", on="p")
    entries(scenario, "blank", "one", "two", "three")
    for label in ("two", "one", "three", "blank", "one", "blank", "one", "two", "one"):
        go(scenario, label)
        entries(scenario)
    scenario.evaluate("location.href", on="p")
    scenario.go("{a}/four", on="p")
    entries(scenario)
    await scenario.conforms()


async def test_within_a_document(scenario: Any) -> None:
    scenario.open("p", "{a}/one", enable=BOTH)
    scenario.go("{a}/one#there", on="p")
    scenario.act(PushState("{a}/pushed"), on="p")
    entries(scenario, "blank", "one", "there", "pushed")
    for label in ("there", "one", "pushed"):
        go(scenario, label)
    scenario.go("{b}/two", on="p")
    go(scenario, "there")
    go(scenario, "one")
    entries(scenario)
    await scenario.conforms()


async def test_refused(scenario: Any) -> None:
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


async def test_back_to_frames(scenario: Any) -> None:
    scenario.page("/main", AddFrame("same", "{a}/same"), AddFrame("other", "{b}/other"), Console("once"))
    scenario.send("Target.setDiscoverTargets", {"discover": True})
    scenario.open("p", enable=BOTH)
    scenario.auto_attach(on="p")
    scenario.go("{a}/main", on="p")
    scenario.go("{b}/away", on="p")
    scenario.send("Target.getTargets")
    entries(scenario, "blank", "main", "away")
    go(scenario, "main")
    scenario.send("Page.getFrameTree", on="p")
    scenario.send("Target.getTargets")
    scenario.expect("Target.attachedToTarget", on="p", save={"session.first": "params.sessionId"})
    scenario.expect("Target.attachedToTarget", on="p", save={"session.other": "params.sessionId"})
    scenario.evaluate("1", on="first")
    scenario.evaluate("location.href", on="other")
    scenario.act(RemoveFrame("other"), on="p")
    go(scenario, "away")
    await scenario.conforms()


async def test_back_to_frames_that_nobody_watches(scenario: Any) -> None:
    scenario.page("/main", AddFrame("same", "{a}/same"), AddFrame("other", "{b}/other"))
    scenario.open("p", "{a}/main", enable=BOTH)
    scenario.go("{a}/away", on="p")
    entries(scenario, "blank", "main", "away")
    go(scenario, "main")
    scenario.send("Page.getFrameTree", on="p")
    scenario.auto_attach(on="p")
    scenario.settle()
    await scenario.conforms()


async def test_too_many_to_keep(scenario: Any) -> None:
    scenario.page("/main", AddFrame("other", "{b}/other"))
    scenario.send("Target.setDiscoverTargets", {"discover": True})
    scenario.open("p", "{a}/main", enable=["Page"])
    entries(scenario, "blank", "main")
    for number in range(7):
        scenario.go(f"{{a}}/{number}", on="p")
    go(scenario, "main")
    await scenario.conforms()


async def test_back_by_a_script(scenario: Any) -> None:
    scenario.open("p", "{a}/one", enable=BOTH)
    scenario.go("{a}/two", on="p")
    scenario.go("{b}/three", on="p")
    for delta in (-1, 1, 5, -2, -7):
        scenario.act(Go(delta), on="p")
    scenario.evaluate("history.length", on="p")
    entries(scenario)
    await scenario.conforms()


async def test_back_in_a_frame(scenario: Any) -> None:
    scenario.open("p", "{a}/main", enable=BOTH)
    scenario.act(AddFrame("f", "{a}/first"), on="p")
    scenario.act(NavigateFrame("f", "{a}/second"), on="p")
    scenario.act(NavigateFrame("f", "{a}/third"), on="p")
    entries(scenario, "blank", "main", "second", "third")
    go(scenario, "main")
    go(scenario, "third")
    entries(scenario)
    await scenario.conforms()


async def test_back_while_a_dialog_is_open(scenario: Any) -> None:
    scenario.open("p", "{a}/one")
    scenario.go("{a}/two", on="p")
    scenario.go("{a}/two#there", on="p")
    entries(scenario, "blank", "one", "two", "there")
    for label in ("two", "one", "two"):
        scenario.evaluate("confirm('c')", on="p", wait=False)
        scenario.expect("Page.javascriptDialogOpening", on="p")
        go(scenario, label)
    await scenario.conforms()


async def test_back_in_a_window_that_was_opened(scenario: Any) -> None:
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
    entries(scenario, "popup", "next", on="popup")
    go(scenario, "popup", on="popup")
    scenario.go("{a}/elsewhere", on="p")
    entries(scenario, "blank", "main", "elsewhere")
    go(scenario, "main")
    await scenario.conforms()
