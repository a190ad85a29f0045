"""Native dialogs (facts 1 to 6, 11 to 19, 23, 25)."""

from __future__ import annotations

from typing import Any

import pytest

from cdp_core.testing.steps import AddFrame, Console, Dialog, Popup, RemoveFrame

pytestmark = pytest.mark.chromium


def open_dialog(scenario: Any, expression: str, *, on: str = "p", seen_on: str = "p") -> None:
    scenario.evaluate(expression, on=on, wait=False)
    scenario.expect("Page.javascriptDialogOpening", on=seen_on)


def answer_dialog(scenario: Any, accept: bool, *, on: str = "p", **params: Any) -> None:
    scenario.send("Page.handleJavaScriptDialog", {"accept": accept, **params}, on=on)
    scenario.settle()


@pytest.mark.parametrize("accept", [True, False])
@pytest.mark.parametrize("text", [None, "answer"])
async def test_dialogs_are_accepted_and_dismissed(scenario: Any, accept: bool, text: str | None) -> None:
    scenario.open("p", "{a}/main")
    for expression in ["alert('a')", "confirm('c')", "prompt('p', 'default')", "prompt('p')"]:
        open_dialog(scenario, expression)
        answer_dialog(scenario, accept, **({} if text is None else {"promptText": text}))
    await scenario.conforms()


async def test_arguments_of_dialogs(scenario: Any) -> None:
    scenario.open("p", "{a}/main")
    for expression in [
        "alert()",
        "confirm(null)",
        "confirm(7)",
        "prompt()",
        "alert(true)",
        "prompt('a', 5)",
        "alert('x', 'y')",
    ]:
        open_dialog(scenario, expression)
        answer_dialog(scenario, True)
    await scenario.conforms()


async def test_long_and_odd_messages(scenario: Any) -> None:
    scenario.open("p", "{a}/main")
    for expression in [
        "alert('a\\rb\\nc\\r\\nd\\te')",
        "alert('ä€😀')",
        "alert('x\\u0000y')",
        "alert('a\\ud800b')",
        "alert('" + "x" * 10_300 + "')",
        "alert('" + "x" * 10_239 + "😀y')",
        "prompt('m', 'ü\\ud83d')",
    ]:
        open_dialog(scenario, expression)
        answer_dialog(scenario, True, promptText="ü\ud83d")
    await scenario.conforms()


async def test_refused_answers(scenario: Any) -> None:
    scenario.open("p", "{a}/main")
    answer_dialog(scenario, True)
    open_dialog(scenario, "confirm('c')")
    scenario.send("Page.handleJavaScriptDialog", {}, on="p")
    scenario.send("Page.handleJavaScriptDialog", {"accept": 1}, on="p")
    scenario.send("Page.handleJavaScriptDialog", {"accept": True, "promptText": 1}, on="p")
    scenario.send("Page.handleJavaScriptDialog", {"accept": True})
    answer_dialog(scenario, True)
    answer_dialog(scenario, True)
    await scenario.conforms()


async def test_two_answers_in_flight(scenario: Any) -> None:
    scenario.open("p", "{a}/main")
    open_dialog(scenario, "confirm('c')")
    scenario.send("Page.handleJavaScriptDialog", {"accept": True}, on="p", wait=False)
    scenario.send("Page.handleJavaScriptDialog", {"accept": False}, on="p", wait=False)
    scenario.settle()
    await scenario.conforms()


async def test_a_script_opens_one_dialog_after_the_other(scenario: Any) -> None:
    scenario.open("p", "{a}/main", enable=["Page", "Runtime"])
    scenario.act(Dialog("confirm", "1"), Console("between"), Dialog("alert", "2"), Console("end"), on="p", wait=False)
    for _ in range(2):
        scenario.expect("Page.javascriptDialogOpening", on="p")
        answer_dialog(scenario, True)
    await scenario.conforms()


async def test_a_dialog_during_load(scenario: Any) -> None:
    scenario.page("/main", Console("before"), Dialog("alert", "loading"), Console("after"))
    scenario.open("p", enable=["Page", "Runtime"])
    scenario.send("Page.navigate", {"url": "{a}/main"}, on="p", wait=False)
    scenario.expect("Page.javascriptDialogOpening", on="p")
    scenario.settle()
    answer_dialog(scenario, True)
    await scenario.conforms()


HANGING = [
    ("Runtime.evaluate", {"expression": "1+1"}),
    ("Runtime.enable", None),
    ("Page.enable", None),
    ("Page.getFrameTree", None),
    ("Page.addScriptToEvaluateOnNewDocument", {"source": "1"}),
    ("Network.enable", None),
    ("DOM.enable", None),
    ("Accessibility.enable", None),
    ("Target.setAutoAttach", {"autoAttach": True, "waitForDebuggerOnStart": False, "flatten": True}),
]
ANSWERED = [
    ("Page.stopLoading", None),
    ("Page.bringToFront", None),
    ("Target.getTargetInfo", None),
    ("Target.getTargets", None),
    ("Browser.getVersion", None),
]


async def test_commands_that_a_dialog_blocks(scenario: Any) -> None:
    scenario.open("p", "{a}/main")
    open_dialog(scenario, "confirm('c')")
    for method, params in HANGING:
        scenario.send(method, params, on="p", wait=False)
    scenario.settle()
    answer_dialog(scenario, True)
    await scenario.conforms()


async def test_commands_that_a_dialog_does_not_block(scenario: Any) -> None:
    scenario.open("p", "{a}/main")
    open_dialog(scenario, "confirm('c')")
    for method, params in ANSWERED:
        scenario.send(method, params, on="p", wait=False)
        scenario.settle()
    scenario.send("Target.activateTarget", {"targetId": "$target.p"})
    scenario.send("Target.getTargets")
    answer_dialog(scenario, True)
    await scenario.conforms()


async def test_a_dialog_does_not_block_other_pages(scenario: Any) -> None:
    scenario.open("p", "{a}/main")
    scenario.open("q", "{b}/main")
    open_dialog(scenario, "confirm('p')")
    scenario.evaluate("1+1", on="q")
    open_dialog(scenario, "confirm('q')", on="q", seen_on="q")
    answer_dialog(scenario, False, on="q")
    answer_dialog(scenario, True)
    await scenario.conforms()


async def test_a_dialog_without_page_enabled(scenario: Any) -> None:
    scenario.open("p", "{a}/main", enable=[])
    scenario.evaluate("confirm('unseen')", on="p", wait=False)
    scenario.settle()
    answer_dialog(scenario, True)
    scenario.send("Page.enable", on="p", wait=False)
    scenario.settle()
    answer_dialog(scenario, True)
    scenario.send("Page.navigate", {"url": "{a}/main#cure"}, on="p")
    scenario.settle()
    await scenario.conforms()


async def test_a_session_attached_while_a_dialog_is_open(scenario: Any) -> None:
    scenario.open("p", "{a}/main")
    open_dialog(scenario, "confirm('c')")
    scenario.attach("late", "p")
    scenario.send("Page.enable", on="late", wait=False)
    scenario.settle()
    scenario.send("Page.handleJavaScriptDialog", {"accept": True}, on="late")
    answer_dialog(scenario, True)
    await scenario.conforms()


async def test_two_sessions_see_a_dialog(scenario: Any) -> None:
    scenario.open("p", "{a}/main")
    scenario.attach("again", "p", enable=["Page"])
    scenario.attach("deaf", "p")
    open_dialog(scenario, "confirm('c')")
    scenario.send("Page.handleJavaScriptDialog", {"accept": True}, on="deaf")
    answer_dialog(scenario, True, on="again")
    await scenario.conforms()


@pytest.mark.parametrize("answering", ["A", "B"])
async def test_either_of_two_clients_answers(scenario: Any, answering: str) -> None:
    scenario.open("p", "{a}/main")
    scenario.connect("B")
    scenario.attach("b", "p", client="B", enable=["Page"])
    open_dialog(scenario, "confirm('c')")
    scenario.expect("Page.javascriptDialogOpening", on="b", client="B")
    scenario.send(
        "Page.handleJavaScriptDialog", {"accept": True}, on="p" if answering == "A" else "b", client=answering
    )
    scenario.settle()
    await scenario.conforms()


async def test_one_of_two_clients_leaves_while_a_dialog_is_open(scenario: Any) -> None:
    scenario.connect("B")
    scenario.open("p", "{a}/main")
    scenario.attach("b", "p", client="B", enable=["Page"])
    open_dialog(scenario, "confirm('c')")
    scenario.leave("B")
    scenario.settle()
    answer_dialog(scenario, True)
    await scenario.conforms()


async def test_the_only_client_leaves_while_a_dialog_is_open(scenario: Any) -> None:
    scenario.connect("B")
    scenario.open("p", "{a}/main", client="B")
    scenario.evaluate("confirm('c')", on="p", client="B", wait=False)
    scenario.expect("Page.javascriptDialogOpening", on="p", client="B")
    scenario.leave("B")
    scenario.attach("a", "p")
    scenario.send("Page.enable", on="a", wait=False)
    scenario.settle()
    scenario.send("Page.handleJavaScriptDialog", {"accept": True}, on="a")
    scenario.send("Page.navigate", {"url": "{a}/next"}, on="a")
    scenario.settle()
    await scenario.conforms()


async def test_the_session_is_detached_while_a_dialog_is_open(scenario: Any) -> None:
    scenario.open("p", "{a}/main")
    open_dialog(scenario, "confirm('c')")
    scenario.send("Target.detachFromTarget", {"sessionId": "$session.p"})
    scenario.settle()
    scenario.attach("again", "p")
    scenario.send("Page.handleJavaScriptDialog", {"accept": True}, on="again")
    await scenario.conforms()


NAVIGATIONS = {
    "same document": "{a}/main#there",
    "same site": "{a}/next",
    "another site": "{b}/next",
}


@pytest.mark.parametrize("kind", NAVIGATIONS)
async def test_navigation_closes_a_dialog(scenario: Any, kind: str) -> None:
    scenario.open("p", "{a}/main")
    open_dialog(scenario, "confirm('c')")
    scenario.go(NAVIGATIONS[kind], on="p")
    scenario.evaluate("1+1", on="p")
    await scenario.conforms()


async def test_reload_closes_a_dialog(scenario: Any) -> None:
    scenario.open("p", "{a}/main")
    open_dialog(scenario, "confirm('c')")
    scenario.send("Page.reload", on="p")
    scenario.settle()
    await scenario.conforms()


@pytest.mark.parametrize("how", ["Target.closeTarget", "Page.close", "Target.disposeBrowserContext"])
async def test_a_page_is_closed_while_a_dialog_is_open(scenario: Any, how: str) -> None:
    scenario.send("Target.setDiscoverTargets", {"discover": True})
    scenario.send("Target.createBrowserContext", save={"context.c": "browserContextId"})
    scenario.open("p", "{a}/main", enable=["Page", "Inspector"], context="c")
    open_dialog(scenario, "confirm('c')")
    if how == "Page.close":
        scenario.send(how, on="p")
    elif how == "Target.closeTarget":
        scenario.send(how, {"targetId": "$target.p"})
    else:
        scenario.send(how, {"browserContextId": "$context.c"})
    scenario.settle()
    await scenario.conforms()


async def test_a_page_crashes_while_a_dialog_is_open(scenario: Any) -> None:
    scenario.send("Target.setDiscoverTargets", {"discover": True})
    scenario.open("p", "{a}/main", enable=["Page", "Inspector"])
    open_dialog(scenario, "confirm('c')")
    scenario.send("Page.crash", on="p", wait=False)
    scenario.expect("Target.targetCrashed")
    scenario.settle()
    await scenario.conforms()


async def test_a_dialog_in_a_frame_of_the_same_process(scenario: Any) -> None:
    scenario.page("/main", AddFrame("same", "{a}/same"))
    scenario.page("/same", Dialog("confirm", "in the frame"))
    scenario.open("p")
    scenario.send("Page.navigate", {"url": "{a}/main"}, on="p", wait=False)
    scenario.expect("Page.javascriptDialogOpening", on="p")
    scenario.evaluate("1+1", on="p", wait=False)
    scenario.settle()
    answer_dialog(scenario, False)
    await scenario.conforms()


def open_page_with_oopif(scenario: Any, *, page_enabled: bool = True) -> None:
    scenario.page("/main", AddFrame("other", "{b}/other"))
    scenario.open("p", enable=["Page"] if page_enabled else [])
    scenario.auto_attach(on="p", wait=True)
    scenario.send("Page.navigate", {"url": "{a}/main"}, on="p")
    scenario.expect("Target.attachedToTarget", on="p", save={"session.other": "params.sessionId"})
    scenario.send("Page.enable", on="other", wait=False)
    scenario.send("Runtime.runIfWaitingForDebugger", on="other")
    scenario.settle()


async def test_a_dialog_in_an_oopif(scenario: Any) -> None:
    open_page_with_oopif(scenario)
    open_dialog(scenario, "confirm('c')", on="other")
    scenario.send("Page.handleJavaScriptDialog", {"accept": True}, on="other")
    scenario.evaluate("1+1", on="p")
    scenario.evaluate("1+2", on="other", wait=False)
    scenario.settle()
    answer_dialog(scenario, True)
    await scenario.conforms()


async def test_a_dialog_in_a_page_with_an_oopif(scenario: Any) -> None:
    open_page_with_oopif(scenario)
    open_dialog(scenario, "confirm('c')")
    scenario.evaluate("1+1", on="other")
    answer_dialog(scenario, True)
    await scenario.conforms()


async def test_a_dialog_with_page_enabled_on_the_oopif_only(scenario: Any) -> None:
    open_page_with_oopif(scenario, page_enabled=False)
    scenario.evaluate("confirm('c')", on="other", wait=False)
    scenario.settle()
    scenario.send("Page.handleJavaScriptDialog", {"accept": True}, on="p")
    scenario.send("Page.handleJavaScriptDialog", {"accept": True}, on="other")
    await scenario.conforms()


async def test_a_dialog_supersedes_the_dialog_of_an_oopif(scenario: Any) -> None:
    open_page_with_oopif(scenario)
    open_dialog(scenario, "confirm('older')", on="other")
    scenario.settle()
    open_dialog(scenario, "confirm('newer')")
    scenario.settle()
    answer_dialog(scenario, True)
    scenario.evaluate("1+1", on="other")
    scenario.evaluate("1+2", on="p", wait=False)
    scenario.settle()
    scenario.send("Page.navigate", {"url": "{a}/main#cure"}, on="p")
    scenario.settle()
    await scenario.conforms()


async def test_an_oopif_is_removed_while_its_dialog_is_open(scenario: Any) -> None:
    open_page_with_oopif(scenario)
    open_dialog(scenario, "confirm('c')", on="other")
    scenario.act(RemoveFrame("other"), on="p")
    scenario.evaluate("1+1", on="p", wait=False)
    await scenario.conforms()  # without an answer: it would end the whole browser


async def test_a_dialog_of_a_popup_blocks_its_opener(scenario: Any) -> None:
    scenario.open("p", "{a}/main")
    scenario.auto_attach(filter=[{"type": "page"}])
    scenario.act(Popup("popup", "{a}/popup"), on="p", wait=False)
    scenario.expect(
        "Target.attachedToTarget",
        {"targetInfo.openerId": "$target.p"},
        save={"session.popup": "params.sessionId", "target.popup": "params.targetInfo.targetId"},
    )
    scenario.send("Page.enable", on="popup", wait=False)
    scenario.send("Runtime.runIfWaitingForDebugger", on="popup")
    scenario.settle()
    open_dialog(scenario, "confirm('popup')", on="popup", seen_on="popup")
    scenario.evaluate("1+1", on="p", wait=False)
    scenario.settle()
    scenario.send("Page.handleJavaScriptDialog", {"accept": True}, on="p")
    answer_dialog(scenario, True, on="popup")
    await scenario.conforms()
