"""Dialogs of type beforeunload, and what documents do while they are left (facts 21, 22)."""

from __future__ import annotations

from typing import Any

import pytest

from cdp_core.testing.steps import AddFrame, Console, Dialog, Navigate, NavigateFrame

pytestmark = pytest.mark.chromium

BEFOREUNLOAD = Dialog("beforeunload")
NEXT = {"url": "{a}/next"}


def open_beforeunload_page(scenario: Any, *enable: str, gesture: bool = True) -> None:
    """Open a page with a beforeunload dialog and, by default, the user gesture that the dialog needs."""
    scenario.page("/main", BEFOREUNLOAD)
    scenario.open("p", "{a}/main", enable=enable or ("Page", "Runtime"))
    if gesture:
        make_gesture(scenario, "p")


def make_gesture(scenario: Any, on: str) -> None:
    scenario.evaluate("1+1", on=on, userGesture=True)


def send(scenario: Any, method: str, params: Any = None, *, on: str = "p") -> None:
    scenario.send(method, params, on=on, wait=False)
    scenario.settle()


def answer_dialog(scenario: Any, accept: bool, **params: Any) -> None:
    send(scenario, "Page.handleJavaScriptDialog", {"accept": accept, **params})


NAVIGATIONS = (
    ("Page.navigate", NEXT),
    ("Page.navigate", {"url": "{b}/next"}),
    ("Page.navigate", {"url": "{a}/main#there"}),
    ("Page.navigate", {"url": "http://127.0.0.1:1/"}),
    ("Page.reload", None),
)


@pytest.mark.parametrize("accept", [True, False])
async def test_navigations_open_the_dialog(scenario: Any, accept: bool) -> None:
    open_beforeunload_page(scenario, gesture=False)
    for method, params in NAVIGATIONS:
        make_gesture(scenario, "p")
        send(scenario, method, params)
        answer_dialog(scenario, accept, promptText="unheard")
        if accept:
            send(scenario, "Page.navigate", {"url": "{a}/main"})
            answer_dialog(scenario, True)
    await scenario.conforms()


async def test_page_close_opens_the_dialog(scenario: Any) -> None:
    scenario.send("Target.setDiscoverTargets", {"discover": True})
    open_beforeunload_page(scenario, "Page", "Inspector")
    send(scenario, "Page.close")
    answer_dialog(scenario, False)
    scenario.evaluate("1+1", on="p")
    send(scenario, "Page.close")
    answer_dialog(scenario, True)
    await scenario.conforms()


async def test_closing_the_target_opens_no_dialog(scenario: Any) -> None:
    open_beforeunload_page(scenario, "Page", "Inspector")
    scenario.send("Target.closeTarget", {"targetId": "$target.p"})
    scenario.settle()
    scenario.send("Target.createBrowserContext", save={"context.c": "browserContextId"})
    scenario.open("q", "{a}/main", context="c")
    make_gesture(scenario, "q")
    scenario.send("Target.disposeBrowserContext", {"browserContextId": "$context.c"})
    scenario.settle()
    await scenario.conforms()


async def test_the_target_is_closed_while_the_dialog_is_open(scenario: Any) -> None:
    open_beforeunload_page(scenario)
    send(scenario, "Page.navigate", NEXT)
    scenario.send("Target.closeTarget", {"targetId": "$target.p"})
    scenario.settle()
    await scenario.conforms()


@pytest.mark.parametrize("accept", [True, False])
async def test_a_navigation_by_a_script_opens_the_dialog(scenario: Any, accept: bool) -> None:
    open_beforeunload_page(scenario)
    scenario.act(Navigate("{a}/next"), Console("went on"), on="p", wait=False)
    scenario.settle()
    answer_dialog(scenario, accept)
    if not accept:
        send(scenario, "Runtime.evaluate", {"expression": "location.reload()"})
        answer_dialog(scenario, True)
    await scenario.conforms()


@pytest.mark.parametrize("accept", [True, False])
async def test_going_back_opens_the_dialog(scenario: Any, accept: bool) -> None:
    scenario.page("/main", BEFOREUNLOAD)
    scenario.open("p", "{a}/before")
    scenario.go("{a}/main", on="p")
    make_gesture(scenario, "p")
    send(scenario, "Runtime.evaluate", {"expression": "history.back()"})
    answer_dialog(scenario, accept)
    scenario.send("Page.getNavigationHistory", on="p", save={"entry.first": "entries.0.id"})
    if not accept:
        send(scenario, "Page.navigateToHistoryEntry", {"entryId": "$entry.first"})
        answer_dialog(scenario, False)
    await scenario.conforms()


async def test_no_dialog_opens_without_a_gesture(scenario: Any) -> None:
    open_beforeunload_page(scenario, gesture=False)
    scenario.go("{a}/next", on="p")
    scenario.go("{a}/main", on="p")
    scenario.act(Navigate("{a}/next"), on="p")
    scenario.go("{a}/main", on="p")
    send(scenario, "Page.close")
    await scenario.conforms()


async def test_a_click_or_a_key_is_a_gesture(scenario: Any) -> None:
    open_beforeunload_page(scenario, gesture=False)
    for kind in ("mousePressed", "mouseReleased"):
        scenario.send(
            "Input.dispatchMouseEvent", {"type": kind, "x": 5, "y": 5, "button": "left", "clickCount": 1}, on="p"
        )
    leave_page(scenario)
    scenario.go("{a}/main", on="p")
    for kind in ("keyDown", "keyUp"):
        scenario.send("Input.dispatchKeyEvent", {"type": kind, "key": "a", "text": "a"}, on="p")
    leave_page(scenario)
    await scenario.conforms()


def leave_page(scenario: Any) -> None:
    """Navigate, accept the dialog, and wait for the next document, without a time limit for either event."""
    scenario.send("Page.navigate", NEXT, on="p", wait=False)
    scenario.expect("Page.javascriptDialogOpening", on="p")
    scenario.settle()
    answer_dialog(scenario, True)
    scenario.expect("Page.frameNavigated", {"frame.url": "{a}/next"}, on="p")
    scenario.settle()


@pytest.mark.parametrize("accept", [True, False])
async def test_another_navigation_replaces_the_pending_one(scenario: Any, accept: bool) -> None:
    open_beforeunload_page(scenario)
    send(scenario, "Page.navigate", NEXT)
    send(scenario, "Page.navigate", {"url": "{b}/other"})
    send(scenario, "Page.reload")
    answer_dialog(scenario, accept)
    answer_dialog(scenario, accept)
    send(scenario, "Runtime.evaluate", {"expression": "1+1"})
    await scenario.conforms()


async def test_commands_that_end_a_pending_navigation(scenario: Any) -> None:
    open_beforeunload_page(scenario)
    send(scenario, "Page.navigate", NEXT)
    send(scenario, "Page.navigate", {"url": "{a}/main#there"})
    answer_dialog(scenario, True)
    send(scenario, "Page.navigate", NEXT)
    send(scenario, "Page.stopLoading")
    answer_dialog(scenario, True)
    send(scenario, "Page.navigate", NEXT)
    scenario.send("Page.crash", on="p")
    send(scenario, "Page.close")
    answer_dialog(scenario, True)
    await scenario.conforms()


async def test_an_open_alert_closes_without_a_beforeunload_dialog(scenario: Any) -> None:
    open_beforeunload_page(scenario)
    send(scenario, "Runtime.evaluate", {"expression": "alert('open')"})
    send(scenario, "Page.navigate", NEXT)
    scenario.go("{a}/main", on="p")
    make_gesture(scenario, "p")
    send(scenario, "Runtime.evaluate", {"expression": "alert('open')"})
    send(scenario, "Page.close")
    await scenario.conforms()


async def test_two_clients_see_the_dialog(scenario: Any) -> None:
    open_beforeunload_page(scenario)
    scenario.connect("B")
    scenario.attach("b", "p", client="B", enable=["Page"])
    send(scenario, "Page.navigate", NEXT)
    scenario.send("Page.handleJavaScriptDialog", {"accept": False}, on="b", client="B")
    scenario.settle()
    answer_dialog(scenario, True)
    send(scenario, "Page.disable")
    scenario.send("Page.navigate", NEXT, on="b", client="B", wait=False)
    scenario.settle()
    answer_dialog(scenario, True)
    await scenario.conforms()


async def test_the_dialog_without_page_enabled(scenario: Any) -> None:
    open_beforeunload_page(scenario, "Runtime")
    send(scenario, "Page.navigate", NEXT)
    answer_dialog(scenario, True)
    send(scenario, "Page.enable")
    answer_dialog(scenario, True)
    await scenario.conforms()


async def test_the_client_that_saw_the_dialog_leaves(scenario: Any) -> None:
    scenario.page("/main", BEFOREUNLOAD)
    scenario.connect("B")
    scenario.open("p", "{a}/main", client="B")
    scenario.evaluate("1+1", on="p", client="B", userGesture=True)
    scenario.send("Page.navigate", NEXT, on="p", client="B", wait=False)
    scenario.settle()
    scenario.leave("B")
    scenario.attach("late", "p")
    send(scenario, "Page.enable", on="late")
    scenario.send("Target.getTargetInfo", {"targetId": "$target.p"})
    await scenario.conforms()


@pytest.mark.parametrize("origin", ["{a}", "{b}"])
async def test_a_frame_opens_the_dialog(scenario: Any, origin: str) -> None:
    scenario.page("/main", AddFrame("inside", f"{origin}/inside"))
    scenario.page("/inside", BEFOREUNLOAD)
    scenario.open("p")
    scenario.auto_attach(on="p")
    scenario.go("{a}/main", on="p")
    on = "p"
    if origin == "{b}":
        scenario.expect("Target.attachedToTarget", on="p", save={"session.inside": "params.sessionId"})
        scenario.send("Page.enable", on="inside")
        on = "inside"
    make_gesture(scenario, on)
    send(scenario, "Page.navigate", NEXT)
    answer_dialog(scenario, False)
    if origin == "{a}":
        scenario.act(NavigateFrame("inside", "{a}/elsewhere"), on="p", wait=False)
        scenario.settle()
    else:
        send(scenario, "Page.navigate", {"url": "{b}/elsewhere"}, on="inside")
    answer_dialog(scenario, False)
    send(scenario, "Page.navigate", NEXT)
    answer_dialog(scenario, True)
    await scenario.conforms()


async def test_a_gesture_in_the_page_does_not_count_for_its_oopif(scenario: Any) -> None:
    scenario.page("/main", AddFrame("inside", "{b}/inside"))
    scenario.page("/inside", BEFOREUNLOAD)
    scenario.open("p")
    scenario.go("{a}/main", on="p")
    make_gesture(scenario, "p")
    send(scenario, "Page.navigate", NEXT)
    await scenario.conforms()


async def test_dialogs_of_unload_handlers(scenario: Any) -> None:
    scenario.open("p", enable=["Page"])
    for moment in ("beforeunload", "pagehide", "visibilitychange", "unload"):
        scenario.page(f"/{moment}", Dialog("alert", "at the end", at=moment), Console("and a word", at=moment))
        scenario.go(f"{{a}}/{moment}", on="p")
        if moment in ("beforeunload", "unload"):  # the other two would open a dialog that blocks the page
            scenario.go("{a}/next", on="p")
            scenario.go(f"{{a}}/{moment}", on="p")
        scenario.go("{b}/next", on="p")
    await scenario.conforms()


async def test_a_pagehide_dialog_within_one_site(last_scenario: Any) -> None:
    last_scenario.page("/main", Dialog("alert", "at the end", at="pagehide"))
    last_scenario.open("p", "{a}/main", enable=["Page", "Runtime"])
    send(last_scenario, "Page.navigate", NEXT)
    answer_dialog(last_scenario, True)
    send(last_scenario, "Runtime.evaluate", {"expression": "1+1"})
    send(last_scenario, "Page.getFrameTree")
    await last_scenario.conforms()  # no third document: how far the second had loaded by then is chance


async def test_console_lines_of_unload_handlers(scenario: Any) -> None:
    moments = ("beforeunload", "pagehide", "unload")
    scenario.page("/main", *(Console(moment, at=moment) for moment in moments))
    scenario.open("p", "{a}/main", enable=["Page", "Runtime", "Inspector"])
    scenario.go("{a}/next", on="p")
    scenario.go("{a}/main", on="p")
    send(scenario, "Page.close")
    await scenario.conforms()
