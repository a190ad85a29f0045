"""Differences of headless-shell: dialogs, and no back/forward cache (facts 4, 24, 25, 26)."""

from __future__ import annotations

from typing import Any

import pytest

from cdp_core.testing.steps import AddFrame, Dialog, RemoveFrame

pytestmark = pytest.mark.chromium


def open_dialog(scenario: Any, expression: str, *, on: str = "p", seen_on: str = "p") -> None:
    scenario.evaluate(expression, on=on, wait=False)
    scenario.expect("Page.javascriptDialogOpening", on=seen_on)
    scenario.settle()


def answer_dialog(scenario: Any, accept: bool, *, on: str = "p", **params: Any) -> None:
    scenario.send("Page.handleJavaScriptDialog", {"accept": accept, **params}, on=on)
    scenario.settle()


def open_page_with_oopif(scenario: Any, *, enable: tuple[str, ...] = ("Page",)) -> None:
    scenario.page("/main", AddFrame("other", "{b}/other"))
    scenario.open("p", enable=enable)
    scenario.auto_attach(on="p", wait=True)
    scenario.send("Page.navigate", {"url": "{a}/main"}, on="p")
    scenario.expect("Target.attachedToTarget", on="p", save={"session.other": "params.sessionId"})
    scenario.send("Page.enable", on="other", wait=False)
    scenario.send("Runtime.runIfWaitingForDebugger", on="other")
    scenario.settle()


async def test_targets_frames_and_version(shell_scenario: Any) -> None:
    scenario = shell_scenario
    scenario.send("Target.getTargets")
    scenario.open("p", "{a}/main", enable=["Page", "Runtime"])
    scenario.send("Target.setDiscoverTargets", {"discover": True})
    scenario.send("Page.getFrameTree", on="p")
    scenario.send("Browser.getVersion")
    scenario.send("Target.closeTarget", {"targetId": "$target.p"})
    scenario.settle()
    await scenario.conforms()


@pytest.mark.parametrize("accept", [True, False])
async def test_dialogs_are_accepted_and_dismissed(shell_scenario: Any, accept: bool) -> None:
    scenario = shell_scenario
    scenario.open("p", "{a}/main")
    for expression in ["alert('a')", "confirm('c')", "prompt('p', 'default')"]:
        open_dialog(scenario, expression)
        answer_dialog(scenario, accept, promptText="text")
    answer_dialog(scenario, accept)
    await scenario.conforms()


async def test_dialogs_without_page_enabled(shell_scenario: Any) -> None:
    scenario = shell_scenario
    scenario.open("p", "{a}/main", enable=[])
    for expression in ["alert('unseen')", "confirm('unseen')", "prompt('unseen', 'default')"]:
        scenario.evaluate(expression, on="p")
    answer_dialog(scenario, True)
    scenario.send("Page.enable", on="p")
    scenario.settle()
    await scenario.conforms()


async def test_page_is_disabled_while_a_dialog_is_open(shell_scenario: Any) -> None:
    scenario = shell_scenario
    scenario.open("p", "{a}/main")
    open_dialog(scenario, "confirm('c')")
    scenario.send("Page.disable", on="p", wait=False)
    scenario.settle()
    answer_dialog(scenario, True)
    scenario.evaluate("1+1", on="p", wait=False)
    scenario.settle()
    await scenario.conforms()


@pytest.mark.parametrize("leaving", ["A", "B"])
async def test_a_session_with_page_enabled_ends_while_a_dialog_is_open(shell_scenario: Any, leaving: str) -> None:
    scenario = shell_scenario
    scenario.connect("B")
    scenario.connect("C")
    for client in ("A", "B"):
        if client == "A":
            scenario.open("p", "{a}/main")
        else:
            scenario.attach("b", "p", client="B", enable=["Page"])
    open_dialog(scenario, "confirm('c')")
    scenario.leave("B") if leaving == "B" else scenario.send("Target.detachFromTarget", {"sessionId": "$session.p"})
    scenario.settle()
    scenario.attach("c", "p", client="C")
    scenario.evaluate("1+1", on="c", client="C")
    await scenario.conforms()


async def test_a_session_without_page_enabled_ends_while_a_dialog_is_open(shell_scenario: Any) -> None:
    scenario = shell_scenario
    scenario.open("p", "{a}/main")
    scenario.attach("deaf", "p")
    open_dialog(scenario, "confirm('c')")
    scenario.send("Target.detachFromTarget", {"sessionId": "$session.deaf"})
    scenario.settle()
    answer_dialog(scenario, True)
    await scenario.conforms()


async def test_a_session_attached_while_a_dialog_is_open(shell_scenario: Any) -> None:
    scenario = shell_scenario
    scenario.open("p", "{a}/main")
    open_dialog(scenario, "confirm('c')")
    scenario.attach("late", "p")
    scenario.send("Page.enable", on="late", wait=False)
    scenario.settle()
    scenario.send("Page.handleJavaScriptDialog", {"accept": True}, on="late")
    answer_dialog(scenario, True)
    await scenario.conforms()


@pytest.mark.parametrize("url", ["{a}/main#there", "{b}/next"])
async def test_navigation_does_not_close_a_dialog(shell_scenario: Any, url: str) -> None:
    scenario = shell_scenario
    scenario.open("p", "{a}/main")
    open_dialog(scenario, "confirm('c')")
    scenario.go(url, on="p")
    answer_dialog(scenario, True)
    scenario.evaluate("1+1", on="p", wait=False)
    scenario.settle()
    await scenario.conforms()


@pytest.mark.parametrize("how", ["navigate", "reload"])
async def test_navigation_while_a_dialog_is_open_never_ends(last_shell_scenario: Any, how: str) -> None:
    scenario = last_shell_scenario
    scenario.open("p", "{a}/main")
    open_dialog(scenario, "confirm('c')")
    scenario.send(f"Page.{how}", {"url": "{a}/next"} if how == "navigate" else {}, on="p")
    scenario.settle()
    answer_dialog(scenario, True)
    scenario.evaluate("1+1", on="p", wait=False)
    scenario.settle()
    await scenario.conforms()


@pytest.mark.parametrize("how", ["Target.closeTarget", "Page.close"])
async def test_a_page_is_closed_while_a_dialog_is_open(shell_scenario: Any, how: str) -> None:
    scenario = shell_scenario
    scenario.open("p", "{a}/main", enable=["Page", "Inspector"])
    scenario.send("Target.setDiscoverTargets", {"discover": True})
    open_dialog(scenario, "confirm('c')")
    if how == "Page.close":
        scenario.send(how, on="p")
    else:
        scenario.send(how, {"targetId": "$target.p"})
    scenario.settle()
    await scenario.conforms()


async def test_a_page_crashes_while_a_dialog_is_open(shell_scenario: Any) -> None:
    scenario = shell_scenario
    scenario.open("p", "{a}/main", enable=["Page", "Inspector"])
    scenario.send("Target.setDiscoverTargets", {"discover": True})
    open_dialog(scenario, "confirm('c')")
    scenario.send("Page.crash", on="p", wait=False)
    scenario.expect("Target.targetCrashed")
    answer_dialog(scenario, True)
    await scenario.conforms()


async def test_a_dialog_supersedes_the_dialog_of_an_oopif(shell_scenario: Any) -> None:
    scenario = shell_scenario
    open_page_with_oopif(scenario)
    open_dialog(scenario, "confirm('older')", on="other")
    open_dialog(scenario, "confirm('newer')")
    answer_dialog(scenario, True)
    answer_dialog(scenario, True)
    scenario.evaluate("1+1", on="p")
    scenario.evaluate("1+1", on="other", wait=False)
    scenario.settle()
    await scenario.conforms()


async def test_a_dialog_with_page_enabled_on_the_oopif_only(shell_scenario: Any) -> None:
    scenario = shell_scenario
    open_page_with_oopif(scenario, enable=())
    scenario.evaluate("confirm('c')", on="other")
    answer_dialog(scenario, True, on="p")
    await scenario.conforms()


async def test_an_oopif_is_removed_while_its_dialog_is_open(shell_scenario: Any) -> None:
    scenario = shell_scenario
    open_page_with_oopif(scenario)
    open_dialog(scenario, "confirm('c')", on="other")
    scenario.act(RemoveFrame("other"), on="p")
    scenario.evaluate("1+1", on="p")
    await scenario.conforms()


async def test_a_dialog_during_load(shell_scenario: Any) -> None:
    scenario = shell_scenario
    scenario.page("/main", Dialog("alert", "loading"))
    scenario.open("p", enable=["Page", "Runtime"])
    scenario.send("Page.navigate", {"url": "{a}/main"}, on="p", wait=False)
    scenario.expect("Page.javascriptDialogOpening", on="p")
    scenario.settle()
    answer_dialog(scenario, True)
    await scenario.conforms()


async def test_back_and_forward_between_documents(shell_scenario: Any) -> None:
    scenario = shell_scenario
    scenario.page("/main", AddFrame("same", "{a}/same"))
    scenario.open("p", "{a}/main", enable=["Page", "Runtime"])
    scenario.go("{a}/main#there", on="p")
    scenario.go("{b}/away", on="p")
    save = {f"entry.{place}": f"entries.{place}.id" for place in range(4)}
    scenario.send("Page.getNavigationHistory", on="p", save=save)
    for place in (2, 1, 3):
        scenario.send("Page.navigateToHistoryEntry", {"entryId": f"$entry.{place}"}, on="p")
        scenario.settle()
    await scenario.conforms()


async def test_back_within_a_document_while_a_dialog_is_open(shell_scenario: Any) -> None:
    scenario = shell_scenario
    scenario.open("p", "{a}/main")
    scenario.go("{a}/main#there", on="p")
    scenario.send("Page.getNavigationHistory", on="p", save={"entry.main": "entries.1.id"})
    open_dialog(scenario, "confirm('c')")
    scenario.send("Page.navigateToHistoryEntry", {"entryId": "$entry.main"}, on="p")
    scenario.settle()
    answer_dialog(scenario, True)
    await scenario.conforms()
