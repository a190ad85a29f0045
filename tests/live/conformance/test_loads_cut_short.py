"""Documents that are left while they load: with an open dialog, or with a paused frame (fact 23)."""

from __future__ import annotations

from typing import Any

import pytest

from cdp_core.testing.steps import AddFrame, Console, Dialog

pytestmark = pytest.mark.chromium

OPENING = "Page.javascriptDialogOpening"
COMMANDS: dict[str, tuple[str, Any]] = {
    "cross": ("Page.navigate", {"url": "{b}/other"}),
    "same": ("Page.navigate", {"url": "{a}/other"}),
    "blank": ("Page.navigate", {"url": "about:blank"}),
    "fragment": ("Page.navigate", {"url": "{a}/holder#x"}),
    "reload": ("Page.reload", None),
    "stop": ("Page.stopLoading", None),
    "bad": ("Page.navigate", {"url": "http://127.0.0.1:1/"}),
}


def send_command(scenario: Any, how: str) -> None:
    method, params = COMMANDS[how]
    scenario.send(method, params, on="p", wait=False)
    scenario.settle()


def answer_open_dialog(scenario: Any, how: str) -> None:
    """Answer the dialog after the two commands that do not close it."""
    if how in ("stop", "fragment"):
        scenario.send("Page.handleJavaScriptDialog", {"accept": True}, on="p")
        scenario.settle()


def load_until_dialog(scenario: Any, enable: tuple[str, ...]) -> None:
    scenario.page("/other")
    scenario.open("p", enable=enable)
    scenario.send("Page.navigate", {"url": "{a}/holder"}, on="p", wait=False)
    scenario.expect(OPENING, on="p")
    scenario.settle()


@pytest.mark.parametrize("runtime", [False, True], ids=["", "scripts"])
@pytest.mark.parametrize("how", [*COMMANDS])
async def test_a_document_with_a_dialog(scenario: Any, how: str, runtime: bool) -> None:
    scenario.page("/holder", Dialog("confirm", "deep"), Console("on"))
    load_until_dialog(scenario, ("Page", "Runtime") if runtime else ("Page",))
    send_command(scenario, how)
    answer_open_dialog(scenario, how)
    scenario.evaluate("location.href", on="p", wait=False)
    await scenario.conforms()


# Without "cross": chance decides whether the document fires its load event before the other site has a process.
@pytest.mark.parametrize("how", [how for how in COMMANDS if how != "cross"])
async def test_a_same_process_frame_with_a_dialog(scenario: Any, how: str) -> None:
    scenario.page("/holder", AddFrame("f", "{a}/inner"))
    scenario.page("/inner", Dialog("confirm", "deep"), Console("on"))
    load_until_dialog(scenario, ("Page",))
    send_command(scenario, how)
    answer_open_dialog(scenario, how)
    scenario.evaluate("location.href", on="p", wait=False)
    await scenario.conforms()


@pytest.mark.parametrize("how", ["same", "blank", "fragment"])
async def test_an_oopif_with_a_dialog(scenario: Any, how: str) -> None:
    scenario.page("/holder", AddFrame("f", "{b}/inner"))
    scenario.page("/inner", Dialog("confirm", "deep"), Console("on"))
    scenario.page("/other")
    scenario.open("p", enable=("Page", "Runtime"))
    scenario.auto_attach(on="p")
    scenario.send("Page.navigate", {"url": "{a}/holder"}, on="p", wait=False)
    scenario.expect(OPENING, on="p")
    scenario.settle()
    send_command(scenario, how)
    scenario.evaluate("location.href", on="p", wait=False)
    await scenario.conforms()


@pytest.mark.parametrize("origin", ["{a}", "{b}"])
@pytest.mark.parametrize("how", ["cross", "same", "blank", "fragment", "reload", "stop"])
async def test_a_frame_with_a_paused_document(scenario: Any, how: str, origin: str) -> None:
    scenario.page("/holder", AddFrame("f", f"{origin}/inner"))
    scenario.page("/inner")
    scenario.page("/other")
    scenario.open("p", enable=("Page", "Runtime"))
    scenario.send("Fetch.enable", {"patterns": [{"urlPattern": "*/inner"}]}, on="p")
    scenario.send("Page.navigate", {"url": "{a}/holder"}, on="p")
    scenario.expect("Fetch.requestPaused", on="p", save={"request.r": "params.requestId"})
    scenario.settle()
    send_command(scenario, how)
    scenario.send("Fetch.continueRequest", {"requestId": "$request.r"}, on="p", wait=False)
    await scenario.conforms()


@pytest.mark.parametrize("url", ["about:blank", "data:text/html,x", "http://127.0.0.1:1/", "{a}/other", "{b}/other"])
async def test_a_script_with_a_dialog_and_further_steps(scenario: Any, url: str) -> None:
    scenario.page("/main")
    scenario.page("/other")
    scenario.open("p", "{a}/main", enable=("Page", "Runtime"))
    scenario.act(Dialog("confirm", "x"), Console("on"), on="p", wait=False)
    scenario.expect(OPENING, on="p")
    scenario.settle()
    scenario.send("Page.navigate", {"url": url}, on="p", wait=False)
    await scenario.conforms()
