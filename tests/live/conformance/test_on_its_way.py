"""Pages whose next document is still on its way, since a client holds it: what they are asked meanwhile, and by whom."""

from __future__ import annotations

from typing import Any

import pytest

from cdp_core.testing.steps import AddFrame, Console, Dialog, Navigate, NavigateFrame, Popup, PushState

pytestmark = pytest.mark.chromium

DOCUMENTS = {"patterns": [{"resourceType": "Document"}]}
PAGES = [{"type": "page"}]


def on_its_way(scenario: Any, url: str = "{a}/next", *, enable: tuple[str, ...] = ("Page",)) -> None:
    scenario.open("p", "{a}/main", enable=enable)
    scenario.send("Fetch.enable", DOCUMENTS, on="p")
    asked(scenario, "Page.navigate", {"url": url})
    held(scenario)


def held(scenario: Any, on: str = "p", label: str = "it") -> None:
    scenario.expect("Fetch.requestPaused", on=on, save={f"request.{label}": "params.requestId"})


def asked(scenario: Any, method: str, params: Any = None, *, on: str = "p") -> None:
    scenario.send(method, params, on=on, wait=False)
    scenario.settle()


def let_go(scenario: Any, how: str = "continueRequest", *, on: str = "p", label: str = "it", **params: Any) -> None:
    scenario.send(f"Fetch.{how}", {"requestId": f"$request.{label}", **params}, on=on)
    scenario.settle()


async def test_the_next_document_answers(scenario: Any) -> None:
    on_its_way(scenario, enable=("Page", "Runtime"))
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
    let_go(scenario)
    await scenario.conforms()


@pytest.mark.parametrize("url", ["{a}/next", "{b}/next"])
async def test_a_dialog_of_the_next_document(scenario: Any, url: str) -> None:
    on_its_way(scenario, url)
    asked(scenario, "Runtime.evaluate", {"expression": "confirm('where?')"})
    asked(scenario, "Page.handleJavaScriptDialog", {"accept": True})
    let_go(scenario)
    asked(scenario, "Page.handleJavaScriptDialog", {"accept": True})
    await scenario.conforms()


async def test_the_document_that_stays_answers(scenario: Any) -> None:
    on_its_way(scenario)
    asked(scenario, "Runtime.evaluate", {"expression": "alert('where?')"})
    let_go(scenario, "failRequest", errorReason="Aborted")
    asked(scenario, "Page.handleJavaScriptDialog", {"accept": True})
    await scenario.conforms()


async def test_where_it_is_said_to_be(scenario: Any) -> None:
    scenario.send("Target.setDiscoverTargets", {"discover": True})
    on_its_way(scenario)
    scenario.send("Target.getTargetInfo", {"targetId": "$target.p"})
    scenario.send("Target.getTargets")
    scenario.send("Target.getTargetInfo", on="p")
    let_go(scenario, "failRequest", errorReason="Aborted")
    scenario.send("Target.getTargetInfo", {"targetId": "$target.p"})
    scenario.act(Navigate("{a}/other"), on="p")
    held(scenario, label="other")
    scenario.send("Target.getTargetInfo", {"targetId": "$target.p"})
    let_go(scenario, label="other")
    await scenario.conforms()


@pytest.mark.parametrize("how", ["Page.navigate", "Page.reload", "script"])
async def test_a_session_that_comes_meanwhile(scenario: Any, how: str) -> None:
    scenario.open("p", "{a}/main")
    scenario.send("Fetch.enable", DOCUMENTS, on="p")
    if how == "script":
        scenario.act(Navigate("{a}/next"), on="p")
    else:
        asked(scenario, how, {"url": "{a}/next"} if how == "Page.navigate" else None)
    held(scenario)
    scenario.attach("late", "p")
    asked(scenario, "Page.enable", on="late")
    asked(scenario, "Page.enable", on="late")
    let_go(scenario)
    await scenario.conforms()


async def test_who_gives_up_page_gives_up_its_answer(scenario: Any) -> None:
    on_its_way(scenario)
    asked(scenario, "Page.disable")
    let_go(scenario)
    await scenario.conforms()


async def test_wishes_that_end_it(scenario: Any) -> None:
    on_its_way(scenario)
    asked(scenario, "Page.navigate", {"url": "{a}/main#there"})
    asked(scenario, "Page.navigate", {"url": "{a}/other"})
    held(scenario, label="other")
    asked(scenario, "Page.stopLoading")
    asked(scenario, "Page.stopLoading")
    asked(scenario, "Page.navigate", {"url": "{a}/third"})
    held(scenario, label="third")
    asked(scenario, "Page.close")
    await scenario.conforms()


async def test_a_script_comes_later(scenario: Any) -> None:
    on_its_way(scenario)
    scenario.act(PushState("{a}/pushed"), on="p", wait=False)
    scenario.settle()
    let_go(scenario)
    await scenario.conforms()


@pytest.mark.parametrize("url", ["{a}/other", "{b}/other"])
async def test_a_frame_waits_for_its_process(scenario: Any, url: str) -> None:
    scenario.page("/main", AddFrame("f", "{a}/f"))
    scenario.open("p", "{a}/main")
    scenario.send("Fetch.enable", DOCUMENTS, on="p")
    scenario.act(NavigateFrame("f", url), on="p")
    held(scenario)
    asked(scenario, "Runtime.evaluate", {"expression": "1+1"})
    asked(scenario, "Runtime.evaluate", {"expression": "confirm('c')"})
    let_go(scenario)
    asked(scenario, "Page.handleJavaScriptDialog", {"accept": True})
    await scenario.conforms()


async def test_a_frame_out_of_process_is_on_its_way(scenario: Any) -> None:
    scenario.page("/main", AddFrame("f", "{b}/f"))
    scenario.open("p")
    scenario.auto_attach(on="p")
    scenario.go("{a}/main", on="p")
    scenario.expect("Target.attachedToTarget", on="p", save={"session.f": "params.sessionId"})
    scenario.send("Page.enable", on="f")
    scenario.send("Fetch.enable", DOCUMENTS, on="f")
    asked(scenario, "Page.navigate", {"url": "{b}/next"}, on="f")
    held(scenario, on="f")
    asked(scenario, "Runtime.evaluate", {"expression": "location.href"}, on="f")
    asked(scenario, "Runtime.evaluate", {"expression": "1+1"})
    asked(scenario, "Page.crash", on="f")
    let_go(scenario, on="f")
    await scenario.conforms()


async def test_who_watches_since_then_is_told_where_it_is(scenario: Any) -> None:
    scenario.page("/main", AddFrame("f", "{b}/f"))
    on_its_way(scenario, "{a}/main")
    let_go(scenario)
    held(scenario, label="f")
    scenario.auto_attach(on="p")
    let_go(scenario, label="f")
    await scenario.conforms()


def with_a_popup(scenario: Any, client: str, *, wait: bool) -> None:
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


async def test_a_popup_waits_on_when_nobody_is_left(scenario: Any) -> None:
    scenario.connect("B")
    with_a_popup(scenario, "B", wait=True)
    scenario.leave("B")
    scenario.settle()
    scenario.send("Target.getTargets", {"filter": PAGES})
    asked(scenario, "Runtime.evaluate", {"expression": "1+1"})
    scenario.attach("again", "popup")
    asked(scenario, "Runtime.runIfWaitingForDebugger", on="again")
    await scenario.conforms()


@pytest.mark.parametrize("how", ["detach", "no auto-attach", "close"])
async def test_a_popup_waits_on_whatever_becomes_of_its_session(scenario: Any, how: str) -> None:
    with_a_popup(scenario, "A", wait=False)
    if how == "detach":
        scenario.send("Target.detachFromTarget", {"sessionId": "$session.popup"})
    elif how == "close":
        scenario.send("Target.closeTarget", {"targetId": "$target.popup"})
    else:
        scenario.send("Target.setAutoAttach", {"autoAttach": False, "waitForDebuggerOnStart": False, "flatten": True})
    scenario.settle()
    asked(scenario, "Runtime.evaluate", {"expression": "1+1"})
    await scenario.conforms()


@pytest.mark.parametrize("to", ["{b}/three", "{a}/three"])
async def test_a_script_that_a_navigation_frees_wants_to_go_elsewhere(scenario: Any, to: str) -> None:
    scenario.page("/main", Dialog("alert", "x"), Navigate("{a}/two"))
    scenario.open("p", enable=["Page"])
    scenario.send("Page.navigate", {"url": "{a}/main"}, on="p", wait=False)
    scenario.expect("Page.javascriptDialogOpening", on="p")
    scenario.send("Page.navigate", {"url": to}, on="p")
    scenario.settle()
    scenario.send("Page.getFrameTree", on="p")
    await scenario.conforms()


async def test_an_evaluation_that_a_navigation_frees_wants_to_go_elsewhere(scenario: Any) -> None:
    scenario.open("p", "{a}/main", enable=["Page"])
    scenario.act(Dialog("alert", "x"), Navigate("{a}/two"), on="p", wait=False)
    scenario.expect("Page.javascriptDialogOpening", on="p")
    scenario.send("Page.navigate", {"url": "{b}/three"}, on="p")
    scenario.settle()
    scenario.send("Page.getFrameTree", on="p")
    await scenario.conforms()
