"""Documents that ask before they are left, and what they do at last (facts 21, 22)."""

from __future__ import annotations

from typing import Any

import pytest

from cdp_core.testing.steps import AddFrame, Console, Dialog, Navigate, NavigateFrame

pytestmark = pytest.mark.chromium

ASKS = Dialog("beforeunload")
NEXT = {"url": "{a}/next"}


def armed(scenario: Any, *enable: str, gesture: bool = True) -> None:
    """A page that asks, and that somebody has touched."""
    scenario.page("/main", ASKS)
    scenario.open("p", "{a}/main", enable=enable or ("Page", "Runtime"))
    if gesture:
        touched(scenario, "p")


def touched(scenario: Any, on: str) -> None:
    scenario.evaluate("1+1", on=on, userGesture=True)


def wanted(scenario: Any, method: str, params: Any = None, *, on: str = "p") -> None:
    scenario.send(method, params, on=on, wait=False)
    scenario.settle()


def answered(scenario: Any, accept: bool, **params: Any) -> None:
    wanted(scenario, "Page.handleJavaScriptDialog", {"accept": accept, **params})


WISHES = (
    ("Page.navigate", NEXT),
    ("Page.navigate", {"url": "{b}/next"}),
    ("Page.navigate", {"url": "{a}/main#there"}),
    ("Page.navigate", {"url": "http://127.0.0.1:1/"}),
    ("Page.reload", None),
)


@pytest.mark.parametrize("accept", [True, False])
async def test_asked(scenario: Any, accept: bool) -> None:
    armed(scenario, gesture=False)
    for method, params in WISHES:
        touched(scenario, "p")
        wanted(scenario, method, params)
        answered(scenario, accept, promptText="unheard")
        if accept:
            wanted(scenario, "Page.navigate", {"url": "{a}/main"})
            answered(scenario, True)
    await scenario.conforms()


async def test_asked_before_it_closes(scenario: Any) -> None:
    scenario.send("Target.setDiscoverTargets", {"discover": True})
    armed(scenario, "Page", "Inspector")
    wanted(scenario, "Page.close")
    answered(scenario, False)
    scenario.evaluate("1+1", on="p")
    wanted(scenario, "Page.close")
    answered(scenario, True)
    await scenario.conforms()


async def test_closed_as_a_target_it_is_not_asked(scenario: Any) -> None:
    armed(scenario, "Page", "Inspector")
    scenario.send("Target.closeTarget", {"targetId": "$target.p"})
    scenario.settle()
    scenario.send("Target.createBrowserContext", save={"context.c": "browserContextId"})
    scenario.open("q", "{a}/main", context="c")
    touched(scenario, "q")
    scenario.send("Target.disposeBrowserContext", {"browserContextId": "$context.c"})
    scenario.settle()
    await scenario.conforms()


async def test_closed_as_a_target_while_it_asks(scenario: Any) -> None:
    armed(scenario)
    wanted(scenario, "Page.navigate", NEXT)
    scenario.send("Target.closeTarget", {"targetId": "$target.p"})
    scenario.settle()
    await scenario.conforms()


@pytest.mark.parametrize("accept", [True, False])
async def test_a_script_wants_it(scenario: Any, accept: bool) -> None:
    armed(scenario)
    scenario.act(Navigate("{a}/next"), Console("went on"), on="p", wait=False)
    scenario.settle()
    answered(scenario, accept)
    if not accept:
        wanted(scenario, "Runtime.evaluate", {"expression": "location.reload()"})
        answered(scenario, True)
    await scenario.conforms()


@pytest.mark.parametrize("accept", [True, False])
async def test_the_way_back(scenario: Any, accept: bool) -> None:
    scenario.page("/main", ASKS)
    scenario.open("p", "{a}/before")
    scenario.go("{a}/main", on="p")
    touched(scenario, "p")
    wanted(scenario, "Runtime.evaluate", {"expression": "history.back()"})
    answered(scenario, accept)
    scenario.send("Page.getNavigationHistory", on="p", save={"entry.first": "entries.0.id"})
    if not accept:
        wanted(scenario, "Page.navigateToHistoryEntry", {"entryId": "$entry.first"})
        answered(scenario, False)
    await scenario.conforms()


async def test_untouched_it_does_not_ask(scenario: Any) -> None:
    armed(scenario, gesture=False)
    scenario.go("{a}/next", on="p")
    scenario.go("{a}/main", on="p")
    scenario.act(Navigate("{a}/next"), on="p")
    scenario.go("{a}/main", on="p")
    wanted(scenario, "Page.close")
    await scenario.conforms()


async def test_touched_by_a_click_or_a_key(scenario: Any) -> None:
    armed(scenario, gesture=False)
    for kind in ("mousePressed", "mouseReleased"):
        scenario.send(
            "Input.dispatchMouseEvent", {"type": kind, "x": 5, "y": 5, "button": "left", "clickCount": 1}, on="p"
        )
    left(scenario)
    scenario.go("{a}/main", on="p")
    for kind in ("keyDown", "keyUp"):
        scenario.send("Input.dispatchKeyEvent", {"type": kind, "key": "a", "text": "a"}, on="p")
    left(scenario)
    await scenario.conforms()


def left(scenario: Any) -> None:
    """It asks, and then the next document is there, however long either takes."""
    scenario.send("Page.navigate", NEXT, on="p", wait=False)
    scenario.expect("Page.javascriptDialogOpening", on="p")
    scenario.settle()
    answered(scenario, True)
    scenario.expect("Page.frameNavigated", {"frame.url": "{a}/next"}, on="p")
    scenario.settle()


@pytest.mark.parametrize("accept", [True, False])
async def test_another_wish_takes_its_place(scenario: Any, accept: bool) -> None:
    armed(scenario)
    wanted(scenario, "Page.navigate", NEXT)
    wanted(scenario, "Page.navigate", {"url": "{b}/other"})
    wanted(scenario, "Page.reload")
    answered(scenario, accept)
    answered(scenario, accept)
    wanted(scenario, "Runtime.evaluate", {"expression": "1+1"})
    await scenario.conforms()


async def test_wishes_that_end_others(scenario: Any) -> None:
    armed(scenario)
    wanted(scenario, "Page.navigate", NEXT)
    wanted(scenario, "Page.navigate", {"url": "{a}/main#there"})
    answered(scenario, True)
    wanted(scenario, "Page.navigate", NEXT)
    wanted(scenario, "Page.stopLoading")
    answered(scenario, True)
    wanted(scenario, "Page.navigate", NEXT)
    scenario.send("Page.crash", on="p")
    wanted(scenario, "Page.close")
    answered(scenario, True)
    await scenario.conforms()


async def test_an_open_dialog_closes_and_nobody_is_asked(scenario: Any) -> None:
    armed(scenario)
    wanted(scenario, "Runtime.evaluate", {"expression": "alert('open')"})
    wanted(scenario, "Page.navigate", NEXT)
    scenario.go("{a}/main", on="p")
    touched(scenario, "p")
    wanted(scenario, "Runtime.evaluate", {"expression": "alert('open')"})
    wanted(scenario, "Page.close")
    await scenario.conforms()


async def test_two_clients_are_asked(scenario: Any) -> None:
    armed(scenario)
    scenario.connect("B")
    scenario.attach("b", "p", client="B", enable=["Page"])
    wanted(scenario, "Page.navigate", NEXT)
    scenario.send("Page.handleJavaScriptDialog", {"accept": False}, on="b", client="B")
    scenario.settle()
    answered(scenario, True)
    wanted(scenario, "Page.disable")
    scenario.send("Page.navigate", NEXT, on="b", client="B", wait=False)
    scenario.settle()
    answered(scenario, True)
    await scenario.conforms()


async def test_nobody_hears_it_asked(scenario: Any) -> None:
    armed(scenario, "Runtime")
    wanted(scenario, "Page.navigate", NEXT)
    answered(scenario, True)
    wanted(scenario, "Page.enable")
    answered(scenario, True)
    await scenario.conforms()


async def test_who_was_asked_leaves(scenario: Any) -> None:
    scenario.page("/main", ASKS)
    scenario.connect("B")
    scenario.open("p", "{a}/main", client="B")
    scenario.evaluate("1+1", on="p", client="B", userGesture=True)
    scenario.send("Page.navigate", NEXT, on="p", client="B", wait=False)
    scenario.settle()
    scenario.leave("B")
    scenario.attach("late", "p")
    wanted(scenario, "Page.enable", on="late")
    scenario.send("Target.getTargetInfo", {"targetId": "$target.p"})
    await scenario.conforms()


@pytest.mark.parametrize("origin", ["{a}", "{b}"])
async def test_a_frame_asks(scenario: Any, origin: str) -> None:
    scenario.page("/main", AddFrame("inside", f"{origin}/inside"))
    scenario.page("/inside", ASKS)
    scenario.open("p")
    scenario.auto_attach(on="p")
    scenario.go("{a}/main", on="p")
    on = "p"
    if origin == "{b}":
        scenario.expect("Target.attachedToTarget", on="p", save={"session.inside": "params.sessionId"})
        scenario.send("Page.enable", on="inside")
        on = "inside"
    touched(scenario, on)
    wanted(scenario, "Page.navigate", NEXT)
    answered(scenario, False)
    if origin == "{a}":
        scenario.act(NavigateFrame("inside", "{a}/elsewhere"), on="p", wait=False)
        scenario.settle()
    else:
        wanted(scenario, "Page.navigate", {"url": "{b}/elsewhere"}, on="inside")
    answered(scenario, False)
    wanted(scenario, "Page.navigate", NEXT)
    answered(scenario, True)
    await scenario.conforms()


async def test_a_touch_above_is_none_below(scenario: Any) -> None:
    scenario.page("/main", AddFrame("inside", "{b}/inside"))
    scenario.page("/inside", ASKS)
    scenario.open("p")
    scenario.go("{a}/main", on="p")
    touched(scenario, "p")
    wanted(scenario, "Page.navigate", NEXT)
    await scenario.conforms()


async def test_dialogs_at_the_end(scenario: Any) -> None:
    scenario.open("p", enable=["Page"])
    for moment in ("beforeunload", "pagehide", "visibilitychange", "unload"):
        scenario.page(f"/{moment}", Dialog("alert", "at the end", at=moment), Console("and a word", at=moment))
        scenario.go(f"{{a}}/{moment}", on="p")
        if moment in ("beforeunload", "unload"):  # the others are announced then, and the page stands still
            scenario.go("{a}/next", on="p")
            scenario.go(f"{{a}}/{moment}", on="p")
        scenario.go("{b}/next", on="p")
    await scenario.conforms()


async def test_a_dialog_of_what_is_hidden(last_scenario: Any) -> None:
    last_scenario.page("/main", Dialog("alert", "at the end", at="pagehide"))
    last_scenario.open("p", "{a}/main", enable=["Page", "Runtime"])
    wanted(last_scenario, "Page.navigate", NEXT)
    answered(last_scenario, True)
    wanted(last_scenario, "Runtime.evaluate", {"expression": "1+1"})
    wanted(last_scenario, "Page.getFrameTree")
    await last_scenario.conforms()  # how far the second document comes when a third one is asked for is chance


async def test_last_words(scenario: Any) -> None:
    moments = ("beforeunload", "pagehide", "unload")
    scenario.page("/main", *(Console(moment, at=moment) for moment in moments))
    scenario.open("p", "{a}/main", enable=["Page", "Runtime", "Inspector"])
    scenario.go("{a}/next", on="p")
    scenario.go("{a}/main", on="p")
    wanted(scenario, "Page.close")
    await scenario.conforms()
