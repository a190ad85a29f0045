"""Commands and sessions while a document is paused in Fetch, or a popup waits to run."""

from __future__ import annotations

from typing import Any

import pytest

from cdp_core.testing.steps import AddFrame, Console, Dialog, Navigate, NavigateFrame, Popup, PushState

pytestmark = pytest.mark.chromium

DOCUMENTS = {"patterns": [{"resourceType": "Document"}]}
PAGES = [{"type": "page"}]


def start_paused_navigation(scenario: Any, url: str = "{a}/next", *, enable: tuple[str, ...] = ("Page",)) -> None:
    scenario.open("p", "{a}/main", enable=enable)
    scenario.send("Fetch.enable", DOCUMENTS, on="p")
    send(scenario, "Page.navigate", {"url": url})
    expect_paused(scenario)


def expect_paused(scenario: Any, on: str = "p", label: str = "it") -> None:
    scenario.expect("Fetch.requestPaused", on=on, save={f"request.{label}": "params.requestId"})


def send(scenario: Any, method: str, params: Any = None, *, on: str = "p") -> None:
    scenario.send(method, params, on=on, wait=False)
    scenario.settle()


def decide(scenario: Any, how: str = "continueRequest", *, on: str = "p", label: str = "it", **params: Any) -> None:
    scenario.send(f"Fetch.{how}", {"requestId": f"$request.{label}", **params}, on=on)
    scenario.settle()


async def test_the_next_document_answers_pending_commands(scenario: Any) -> None:
    start_paused_navigation(scenario, enable=("Page", "Runtime"))
    for method, params in [
        ("Runtime.evaluate", {"expression": "location.href"}),
        ("Page.getFrameTree", None),
        ("Page.getNavigationHistory", None),
        ("Page.createIsolatedWorld", {"frameId": "$target.p"}),
        ("Network.enable", None),
        ("Page.bringToFront", None),
        ("Inspector.enable", None),
        ("Target.setAutoAttach", {"autoAttach": True, "waitForDebuggerOnStart": False, "flatten": True}),
        ("Page.crash", None),
    ]:
        scenario.send(method, params, on="p", wait=False)
    scenario.settle()
    decide(scenario)
    await scenario.conforms()


@pytest.mark.parametrize("url", ["{a}/next", "{b}/next"])
async def test_a_dialog_of_the_next_document(scenario: Any, url: str) -> None:
    start_paused_navigation(scenario, url)
    send(scenario, "Runtime.evaluate", {"expression": "confirm('where?')"})
    send(scenario, "Page.handleJavaScriptDialog", {"accept": True})
    decide(scenario)
    send(scenario, "Page.handleJavaScriptDialog", {"accept": True})
    await scenario.conforms()


async def test_the_current_document_answers_when_the_navigation_fails(scenario: Any) -> None:
    start_paused_navigation(scenario)
    send(scenario, "Runtime.evaluate", {"expression": "alert('where?')"})
    decide(scenario, "failRequest", errorReason="Aborted")
    send(scenario, "Page.handleJavaScriptDialog", {"accept": True})
    await scenario.conforms()


async def test_the_url_of_the_target_during_a_navigation(scenario: Any) -> None:
    scenario.send("Target.setDiscoverTargets", {"discover": True})
    start_paused_navigation(scenario)
    scenario.send("Target.getTargetInfo", {"targetId": "$target.p"})
    scenario.send("Target.getTargets")
    scenario.send("Target.getTargetInfo", on="p")
    decide(scenario, "failRequest", errorReason="Aborted")
    scenario.send("Target.getTargetInfo", {"targetId": "$target.p"})
    scenario.act(Navigate("{a}/other"), on="p")
    expect_paused(scenario, label="other")
    scenario.send("Target.getTargetInfo", {"targetId": "$target.p"})
    decide(scenario, label="other")
    await scenario.conforms()


@pytest.mark.parametrize("how", ["Page.navigate", "Page.reload", "script"])
async def test_a_session_attached_during_a_navigation(scenario: Any, how: str) -> None:
    scenario.open("p", "{a}/main")
    scenario.send("Fetch.enable", DOCUMENTS, on="p")
    if how == "script":
        scenario.act(Navigate("{a}/next"), on="p")
    else:
        send(scenario, how, {"url": "{a}/next"} if how == "Page.navigate" else None)
    expect_paused(scenario)
    scenario.attach("late", "p")
    send(scenario, "Page.enable", on="late")
    send(scenario, "Page.enable", on="late")
    decide(scenario)
    await scenario.conforms()


async def test_disabling_page_drops_the_reply_to_navigate(scenario: Any) -> None:
    start_paused_navigation(scenario)
    send(scenario, "Page.disable")
    decide(scenario)
    await scenario.conforms()


async def test_commands_that_end_a_paused_navigation(scenario: Any) -> None:
    start_paused_navigation(scenario)
    send(scenario, "Page.navigate", {"url": "{a}/main#there"})
    send(scenario, "Page.navigate", {"url": "{a}/other"})
    expect_paused(scenario, label="other")
    send(scenario, "Page.stopLoading")
    send(scenario, "Page.stopLoading")
    send(scenario, "Page.navigate", {"url": "{a}/third"})
    expect_paused(scenario, label="third")
    send(scenario, "Page.close")
    await scenario.conforms()


async def test_an_evaluation_during_a_navigation(scenario: Any) -> None:
    start_paused_navigation(scenario)
    scenario.act(PushState("{a}/pushed"), on="p", wait=False)
    scenario.settle()
    decide(scenario)
    await scenario.conforms()


@pytest.mark.parametrize("url", ["{a}/other", "{b}/other"])
async def test_a_paused_navigation_of_a_frame(scenario: Any, url: str) -> None:
    scenario.page("/main", AddFrame("f", "{a}/f"))
    scenario.open("p", "{a}/main")
    scenario.send("Fetch.enable", DOCUMENTS, on="p")
    scenario.act(NavigateFrame("f", url), on="p")
    expect_paused(scenario)
    send(scenario, "Runtime.evaluate", {"expression": "1+1"})
    send(scenario, "Runtime.evaluate", {"expression": "confirm('c')"})
    decide(scenario)
    send(scenario, "Page.handleJavaScriptDialog", {"accept": True})
    await scenario.conforms()


async def test_a_paused_navigation_of_an_oopif(scenario: Any) -> None:
    scenario.page("/main", AddFrame("f", "{b}/f"))
    scenario.open("p")
    scenario.auto_attach(on="p")
    scenario.go("{a}/main", on="p")
    scenario.expect("Target.attachedToTarget", on="p", save={"session.f": "params.sessionId"})
    scenario.send("Page.enable", on="f")
    scenario.send("Fetch.enable", DOCUMENTS, on="f")
    send(scenario, "Page.navigate", {"url": "{b}/next"}, on="f")
    expect_paused(scenario, on="f")
    send(scenario, "Runtime.evaluate", {"expression": "location.href"}, on="f")
    send(scenario, "Runtime.evaluate", {"expression": "1+1"})
    send(scenario, "Page.crash", on="f")
    decide(scenario, on="f")
    await scenario.conforms()


async def test_auto_attach_while_the_document_of_an_oopif_is_paused(scenario: Any) -> None:
    scenario.page("/main", AddFrame("f", "{b}/f"))
    start_paused_navigation(scenario, "{a}/main")
    decide(scenario)
    expect_paused(scenario, label="f")
    scenario.auto_attach(on="p")
    decide(scenario, label="f")
    await scenario.conforms()


def open_popup(scenario: Any, client: str, *, wait: bool) -> None:
    scenario.open("p", "{a}/main")
    scenario.auto_attach(client=client, wait=wait, filter=PAGES)
    scenario.settle()
    scenario.act(Popup("popup", "{a}/popup"), Console("opened"), on="p", wait=False)
    scenario.settle()
    scenario.expect(
        "Target.attachedToTarget",
        {"targetInfo.openerId": "$target.p"},
        client=client,
        save={"session.popup": "params.sessionId", "target.popup": "params.targetInfo.targetId"},
    )


async def test_a_paused_popup_keeps_waiting_when_its_client_leaves(scenario: Any) -> None:
    scenario.connect("B")
    open_popup(scenario, "B", wait=True)
    scenario.leave("B")
    scenario.settle()
    scenario.send("Target.getTargets", {"filter": PAGES})
    send(scenario, "Runtime.evaluate", {"expression": "1+1"})
    scenario.attach("again", "popup")
    send(scenario, "Runtime.runIfWaitingForDebugger", on="again")
    await scenario.conforms()


@pytest.mark.parametrize("how", ["detach", "no auto-attach", "close"])
async def test_a_popup_keeps_waiting_when_its_session_ends(scenario: Any, how: str) -> None:
    open_popup(scenario, "A", wait=False)
    if how == "detach":
        scenario.send("Target.detachFromTarget", {"sessionId": "$session.popup"})
    elif how == "close":
        scenario.send("Target.closeTarget", {"targetId": "$target.popup"})
    else:
        scenario.send("Target.setAutoAttach", {"autoAttach": False, "waitForDebuggerOnStart": False, "flatten": True})
    scenario.settle()
    send(scenario, "Runtime.evaluate", {"expression": "1+1"})
    await scenario.conforms()


@pytest.mark.parametrize("to", ["{b}/three", "{a}/three"])
async def test_a_script_freed_by_a_navigation_starts_another_one(scenario: Any, to: str) -> None:
    scenario.page("/main", Dialog("alert", "x"), Navigate("{a}/two"))
    scenario.open("p", enable=["Page"])
    scenario.send("Page.navigate", {"url": "{a}/main"}, on="p", wait=False)
    scenario.expect("Page.javascriptDialogOpening", on="p")
    scenario.send("Page.navigate", {"url": to}, on="p")
    scenario.settle()
    scenario.send("Page.getFrameTree", on="p")
    await scenario.conforms()


async def test_an_evaluation_freed_by_a_navigation_starts_another_one(scenario: Any) -> None:
    scenario.open("p", "{a}/main", enable=["Page"])
    scenario.act(Dialog("alert", "x"), Navigate("{a}/two"), on="p", wait=False)
    scenario.expect("Page.javascriptDialogOpening", on="p")
    scenario.send("Page.navigate", {"url": "{b}/three"}, on="p")
    scenario.settle()
    scenario.send("Page.getFrameTree", on="p")
    await scenario.conforms()
