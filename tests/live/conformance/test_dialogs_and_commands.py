"""Dialogs with several clients, frames, pages that end, and each command sent while one is open."""

from __future__ import annotations

from typing import Any

import pytest

from cdp_core.testing.steps import AddFrame, Dialog, NavigateFrame, Popup, Worker

pytestmark = pytest.mark.chromium

OPENING, CLOSED = "Page.javascriptDialogOpening", "Page.javascriptDialogClosed"
TEXT = "prompt text \u00e9 \U0001f600 'quoted' <b>\\n"


def open_dialog(scenario: Any, expression: str = "confirm('open')", *, on: str = "p", **params: Any) -> None:
    scenario.evaluate(expression, on=on, wait=False, **params)
    scenario.expect(OPENING, on="p")
    scenario.settle()


def open_page_with_oopif(scenario: Any, *, auto: bool = True, enable: tuple[str, ...] = ("Page",)) -> None:
    """Open a page with an OOPIF, attached as `f`."""
    scenario.page("/holder", AddFrame("f", "{b}/inner"))
    scenario.page("/inner")
    scenario.open("p", enable=enable)
    scenario.auto_attach(on="p")
    scenario.send("Page.navigate", {"url": "{a}/holder"}, on="p")
    scenario.expect("Target.attachedToTarget", on="p", save={"session.f": "params.sessionId"})
    scenario.settle()


def answer_dialog(scenario: Any, accept: bool = True, *, on: str = "p", client: str = "A", **params: Any) -> None:
    scenario.send("Page.handleJavaScriptDialog", {"accept": accept, **params}, on=on, client=client)
    scenario.settle()


@pytest.mark.parametrize(
    "answer",
    [{"accept": True, "promptText": ""}, {"accept": True, "promptText": TEXT}, {"accept": False, "promptText": TEXT}],
    ids=["empty", "signs", "dismissed"],
)
@pytest.mark.parametrize("call", ["prompt('ask', 'default')", "prompt('ask')", "confirm('ask')", "alert('ask')"])
async def test_prompt_texts(scenario: Any, answer: dict[str, Any], call: str) -> None:
    scenario.page("/main")
    scenario.open("p", "{a}/main")
    open_dialog(scenario, call)
    scenario.send("Page.handleJavaScriptDialog", answer, on="p")
    scenario.settle()
    scenario.evaluate("1+1", on="p")
    await scenario.conforms()


HANGING: list[tuple[str, Any]] = [
    ("Runtime.enable", {}),
    ("Runtime.evaluate", {"expression": "1"}),
    ("Runtime.addBinding", {"name": "bound"}),
    ("Runtime.runIfWaitingForDebugger", {}),
    ("Page.enable", {}),
    ("Page.getFrameTree", {}),
    ("Page.captureScreenshot", {}),
    ("Page.addScriptToEvaluateOnNewDocument", {"source": "1"}),
    ("Page.setBypassCSP", {"enabled": True}),
    ("Page.createIsolatedWorld", {"frameId": "$target.p"}),
    ("Network.enable", {}),
    ("Network.disable", {}),
    ("Network.setCacheDisabled", {"cacheDisabled": True}),
    ("Network.setExtraHTTPHeaders", {"headers": {}}),
    ("DOM.enable", {}),
    ("CSS.enable", {}),
    ("Log.enable", {}),
    ("Overlay.enable", {}),
    ("Performance.enable", {}),
    ("Accessibility.enable", {}),
    ("Audits.enable", {}),
    ("DOMStorage.enable", {}),
    ("Inspector.enable", {}),
    ("Emulation.setDeviceMetricsOverride", {"width": 300, "height": 300, "deviceScaleFactor": 1, "mobile": False}),
    ("Emulation.clearDeviceMetricsOverride", {}),
    ("Emulation.setEmulatedMedia", {"media": "print"}),
    ("Emulation.setFocusEmulationEnabled", {"enabled": True}),
    ("Emulation.setTouchEmulationEnabled", {"enabled": False}),
    ("Emulation.setUserAgentOverride", {"userAgent": "x"}),
    ("Emulation.setTimezoneOverride", {"timezoneId": "UTC"}),
    ("Emulation.setGeolocationOverride", {}),
    ("Target.setAutoAttach", {"autoAttach": True, "waitForDebuggerOnStart": False, "flatten": True}),
    ("Target.setDiscoverTargets", {"discover": False}),
    ("Target.getTargets", {}),
    ("Target.getTargetInfo", {}),
    ("Target.activateTarget", {"targetId": "$target.p"}),
    ("Page.stopLoading", {}),
    ("Page.getNavigationHistory", {}),
    ("Page.resetNavigationHistory", {}),
    ("Page.bringToFront", {}),
    ("Page.setWebLifecycleState", {"state": "active"}),
    ("Fetch.enable", {}),
    ("Fetch.disable", {}),
    ("Network.getCookies", {}),
    ("Storage.getCookies", {}),
    ("Input.insertText", {"text": "x"}),
    ("Browser.getVersion", {}),
    ("Browser.getWindowForTarget", {}),
]


@pytest.mark.parametrize(("method", "params"), HANGING, ids=[method for method, _ in HANGING])
async def test_one_command_while_a_dialog_is_open(scenario: Any, method: str, params: Any) -> None:
    scenario.page("/main")
    scenario.open("p", "{a}/main")
    open_dialog(scenario)
    scenario.send(method, params, on="p", wait=False)
    scenario.settle()
    answer_dialog(scenario)
    scenario.evaluate("1+1", on="p")
    await scenario.conforms()


async def test_many_commands_while_a_dialog_is_open(scenario: Any) -> None:
    scenario.page("/main")
    scenario.open("p", "{a}/main")
    open_dialog(scenario)
    for method, params in HANGING[:21]:
        scenario.send(method, params, on="p", wait=False)
    scenario.settle()
    answer_dialog(scenario)
    await scenario.conforms()


@pytest.mark.parametrize("kind", ["alert", "confirm", "prompt"])
async def test_a_page_crashes_before_its_script_opens_a_second_dialog(scenario: Any, kind: str) -> None:
    scenario.page("/main")
    scenario.send("Target.setDiscoverTargets", {"discover": True})
    scenario.open("p", "{a}/main", enable=("Page", "Runtime"))
    scenario.act(Dialog(kind, "first"), Dialog(kind, "second"), on="p", wait=False)
    scenario.expect(OPENING, on="p")
    scenario.settle()
    scenario.send("Page.crash", on="p", wait=False)
    scenario.expect("Inspector.targetCrashed", on="p")
    scenario.settle()
    await scenario.conforms()


@pytest.mark.parametrize("how", ["navigate", "reload", "Page.close", "closeTarget"])
async def test_a_page_is_left_before_its_script_opens_a_second_dialog(last_scenario: Any, how: str) -> None:
    scenario = last_scenario
    scenario.page("/main")
    scenario.page("/other")
    scenario.send("Target.setDiscoverTargets", {"discover": True})
    scenario.open("p", "{a}/main", enable=("Page", "Runtime"))
    scenario.act(Dialog("alert", "first"), Dialog("alert", "second"), on="p", wait=False)
    scenario.expect(OPENING, on="p")
    scenario.settle()
    if how == "navigate":
        scenario.send("Page.navigate", {"url": "{a}/other"}, on="p", wait=False)
    elif how == "reload":
        scenario.send("Page.reload", on="p", wait=False)
    elif how == "Page.close":
        scenario.send("Page.close", on="p", wait=False)
    else:
        scenario.send("Target.closeTarget", {"targetId": "$target.p"}, wait=False)
    scenario.settle()
    await scenario.conforms()


@pytest.mark.parametrize("accept", [True, False], ids=["accepted", "dismissed"])
async def test_an_oopif_opens_two_dialogs(scenario: Any, accept: bool) -> None:
    open_page_with_oopif(scenario)
    scenario.act(Dialog("confirm", "one"), Dialog("prompt", "two", "default"), on="f", wait=False)
    scenario.expect(OPENING, on="p")
    scenario.evaluate("1", on="p")
    answer_dialog(scenario, accept)
    answer_dialog(scenario, accept)
    answer_dialog(scenario, accept)
    await scenario.conforms()


async def test_a_dialog_is_answered_on_the_session_of_its_oopif(scenario: Any) -> None:
    open_page_with_oopif(scenario)
    scenario.send("Page.enable", on="f")
    open_dialog(scenario, on="f")
    scenario.send("Page.handleJavaScriptDialog", {"accept": True}, on="f")
    scenario.send("Page.handleJavaScriptDialog", {"accept": True, "promptText": "x"}, on="f")
    scenario.send("Page.handleJavaScriptDialog", {}, on="f")
    answer_dialog(scenario)
    await scenario.conforms()


@pytest.mark.parametrize("how", ["navigated", "crashed", "reloaded"])
async def test_an_oopif_navigates_crashes_or_reloads_while_its_dialog_is_open(scenario: Any, how: str) -> None:
    open_page_with_oopif(scenario, enable=("Page", "Runtime"))
    open_dialog(scenario, on="f")
    if how == "navigated":
        scenario.act(NavigateFrame("f", "{b}/other"), on="p")
    elif how == "crashed":
        scenario.send("Page.crash", on="f", wait=False)
    else:
        scenario.send("Page.reload", on="p", wait=False)
    scenario.settle()
    answer_dialog(scenario)
    await scenario.conforms()


async def test_an_oopif_session_is_detached_while_its_dialog_is_open(scenario: Any) -> None:
    open_page_with_oopif(scenario)
    open_dialog(scenario, on="f")
    scenario.send("Target.detachFromTarget", {"sessionId": "$session.f"}, on="p")
    scenario.settle()
    answer_dialog(scenario)
    await scenario.conforms()


async def test_six_dialogs_in_a_row(scenario: Any) -> None:
    scenario.page("/main")
    scenario.open("p", "{a}/main")
    scenario.act(*[Dialog("confirm", f"number {number}") for number in range(6)], on="p", wait=False)
    for number in range(6):
        scenario.expect(OPENING, on="p")
        scenario.send("Page.handleJavaScriptDialog", {"accept": number % 2 == 0}, on="p")
    scenario.settle()
    await scenario.conforms()


async def test_one_of_two_clients_disables_page(scenario: Any) -> None:
    scenario.page("/main")
    scenario.open("p", "{a}/main")
    scenario.connect("B")
    scenario.attach("q", "p", client="B", enable=("Page",))
    open_dialog(scenario)
    scenario.expect(OPENING, on="q", client="B")
    scenario.send("Page.disable", on="q", client="B", wait=False)
    scenario.settle()
    answer_dialog(scenario, on="q", client="B")
    answer_dialog(scenario)
    scenario.evaluate("1", on="q", client="B")
    await scenario.conforms()


async def test_both_clients_answer(scenario: Any) -> None:
    scenario.page("/main")
    scenario.open("p", "{a}/main")
    scenario.connect("B")
    scenario.attach("q", "p", client="B", enable=("Page",))
    scenario.act(Dialog("confirm", "one"), Dialog("confirm", "two"), on="p", wait=False)
    scenario.expect(OPENING, on="q", client="B")
    answer_dialog(scenario, on="q", client="B")
    answer_dialog(scenario)
    answer_dialog(scenario, on="q", client="B")
    await scenario.conforms()


async def test_page_is_disabled_and_enabled_while_a_dialog_is_open(scenario: Any) -> None:
    scenario.page("/main")
    scenario.open("p", "{a}/main")
    open_dialog(scenario)
    scenario.send("Page.disable", on="p", wait=False)
    scenario.send("Page.enable", on="p", wait=False)
    scenario.settle()
    answer_dialog(scenario)
    scenario.go("{a}/main#free", on="p")
    await scenario.conforms()


async def test_another_client_closes_the_page(scenario: Any) -> None:
    scenario.page("/main")
    scenario.open("p", "{a}/main", enable=("Page", "Runtime"))
    scenario.connect("B")
    open_dialog(scenario)
    scenario.send("Target.closeTarget", {"targetId": "$target.p"}, client="B")
    scenario.settle()
    answer_dialog(scenario)
    await scenario.conforms()


async def test_a_late_session_sees_the_next_dialog(scenario: Any) -> None:
    scenario.page("/main")
    scenario.open("p", "{a}/main")
    scenario.act(Dialog("alert", "one"), Dialog("alert", "two"), on="p", wait=False)
    scenario.expect(OPENING, on="p")
    scenario.attach("q", "p")
    scenario.send("Page.enable", on="q", wait=False)
    scenario.send("Runtime.enable", on="q", wait=False)
    scenario.settle()
    answer_dialog(scenario, on="q")
    answer_dialog(scenario)
    answer_dialog(scenario, on="q")
    answer_dialog(scenario)
    await scenario.conforms()


@pytest.mark.parametrize("fragment", ["{a}/main#one", "{a}/main"])
async def test_navigation_to_the_current_url_frees_a_page_with_an_unseen_dialog(scenario: Any, fragment: str) -> None:
    scenario.page("/main")
    scenario.open("p", "{a}/main", enable=())
    scenario.evaluate("confirm('unheard')", on="p", wait=False)
    scenario.settle()
    scenario.send("Page.enable", on="p", wait=False)
    scenario.settle()
    scenario.send("Page.navigate", {"url": fragment}, on="p", wait=False)
    scenario.settle()
    scenario.evaluate("location.href", on="p")
    await scenario.conforms()


async def test_beforeunload_opens_for_each_navigation_until_it_is_accepted(scenario: Any) -> None:
    scenario.page("/main", Dialog("beforeunload"))
    scenario.page("/other")
    scenario.open("p", "{a}/main")
    scenario.evaluate("1", on="p", userGesture=True)
    for accept in (False, False, True):
        scenario.send("Page.navigate", {"url": "{a}/other"}, on="p", wait=False)
        scenario.expect(OPENING, on="p")
        scenario.settle()
        answer_dialog(scenario, accept)
    await scenario.conforms()


async def test_beforeunload_opens_for_each_reload_until_it_is_accepted(scenario: Any) -> None:
    scenario.page("/main", Dialog("beforeunload"))
    scenario.open("p", "{a}/main")
    scenario.evaluate("1", on="p", userGesture=True)
    for accept in (False, True):
        scenario.send("Page.reload", on="p", wait=False)
        scenario.expect(OPENING, on="p")
        scenario.settle()
        answer_dialog(scenario, accept)
    scenario.send("Page.reload", on="p")
    scenario.settle()
    await scenario.conforms()


async def test_commands_while_beforeunload_is_open(scenario: Any) -> None:
    scenario.page("/main", Dialog("beforeunload"))
    scenario.page("/other")
    scenario.open("p", "{a}/main")
    scenario.evaluate("1", on="p", userGesture=True)
    scenario.send("Page.navigate", {"url": "{a}/other"}, on="p", wait=False)
    scenario.expect(OPENING, on="p")
    scenario.evaluate("1", on="p", wait=False)
    scenario.send("Page.getFrameTree", on="p", wait=False)
    scenario.send("Page.getNavigationHistory", on="p")
    scenario.send("Target.getTargetInfo", on="p")
    scenario.settle()
    answer_dialog(scenario, False)
    scenario.evaluate("2", on="p")
    await scenario.conforms()


async def test_a_popup_is_closed_while_its_dialog_is_open(scenario: Any) -> None:
    scenario.page("/shop")
    scenario.page("/pay", Dialog("confirm", "pay?"))
    scenario.auto_attach()
    scenario.open("p", "{a}/shop")
    scenario.act(Popup("pop", "{a}/pay"), on="p", wait=False)
    scenario.expect("Target.attachedToTarget", where={"targetInfo.openerId": "$target.p"},
                    save={"session.pop": "params.sessionId", "target.pop": "params.targetInfo.targetId"})  # fmt: skip
    scenario.send("Page.enable", on="pop", wait=False)
    scenario.send("Runtime.runIfWaitingForDebugger", on="pop", wait=False)
    scenario.expect(OPENING, on="pop")
    scenario.settle()
    scenario.evaluate("1", on="p", wait=False)
    scenario.settle()
    scenario.send("Target.closeTarget", {"targetId": "$target.pop"})
    scenario.settle()
    scenario.evaluate("2", on="p")
    await scenario.conforms()


async def test_three_pages_have_dialogs_at_once(scenario: Any) -> None:
    scenario.page("/main")
    for label in ("p", "q", "r"):
        scenario.open(label, "{a}/main")
    for label in ("p", "q", "r"):
        scenario.evaluate(f"confirm('{label}')", on=label, wait=False)
        scenario.expect(OPENING, on=label)
    scenario.settle()
    for label in ("r", "p", "q"):
        answer_dialog(scenario, on=label)
    await scenario.conforms()


async def test_dialogs_in_a_data_page_and_an_empty_page(scenario: Any) -> None:
    scenario.open("p")
    scenario.go("data:text/html,<body>", on="p")
    open_dialog(scenario, "prompt('in data', 'd')")
    answer_dialog(scenario, promptText="x")
    scenario.go("about:blank", on="p")
    open_dialog(scenario, "alert('in an empty one')")
    answer_dialog(scenario)
    await scenario.conforms()


async def test_a_dialog_does_not_block_a_worker(scenario: Any) -> None:
    scenario.page("/main", Worker("w", "/w.js"))
    scenario.page("/w.js")
    scenario.open("p")
    scenario.auto_attach(on="p")
    scenario.send("Page.navigate", {"url": "{a}/main"}, on="p")
    scenario.expect("Target.attachedToTarget", on="p", save={"session.w": "params.sessionId"})
    scenario.settle()
    open_dialog(scenario)
    scenario.evaluate("1+1", on="w")
    answer_dialog(scenario)
    await scenario.conforms()


async def test_lifecycle_events_are_enabled_while_a_dialog_is_open(scenario: Any) -> None:
    scenario.page("/main")
    scenario.open("p")
    scenario.send("Page.setLifecycleEventsEnabled", {"enabled": False}, on="p")
    scenario.go("{a}/main", on="p")
    open_dialog(scenario)
    scenario.send("Page.setLifecycleEventsEnabled", {"enabled": True}, on="p", wait=False)
    scenario.settle()
    answer_dialog(scenario)
    await scenario.conforms()


@pytest.mark.parametrize("how", ["handle", "navigate", "same"])
async def test_a_script_opens_a_second_dialog_while_its_page_is_left(last_scenario: Any, how: str) -> None:
    scenario = last_scenario
    for path in ("/main", "/other", "/third"):
        scenario.page(path)
    scenario.open("p", "{a}/main", enable=("Page", "Runtime"))
    scenario.act(Dialog("alert", "first"), Dialog("alert", "second"), on="p", wait=False)
    scenario.expect(OPENING, on="p")
    scenario.settle()
    scenario.send("Page.navigate", {"url": "{a}/other"}, on="p", wait=False)
    scenario.expect(OPENING, on="p")
    scenario.settle()
    if how == "handle":
        scenario.send("Page.handleJavaScriptDialog", {"accept": True}, on="p", wait=False)
    elif how == "navigate":
        scenario.send("Page.navigate", {"url": "{a}/third"}, on="p", wait=False)
    else:
        scenario.send("Page.navigate", {"url": "{a}/main#x"}, on="p", wait=False)
    scenario.settle()
    scenario.evaluate("location.href", on="p", wait=False)
    scenario.settle()
    await scenario.conforms()
