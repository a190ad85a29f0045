"""URLs for navigation by scripts and commands: within a document, without a server, and relative ones."""

from __future__ import annotations

from typing import Any

import pytest

from cdp_core.testing.steps import AddFrame, Navigate, NavigateFrame, Popup, PushState, RemoveFrame, Step

pytestmark = pytest.mark.chromium


def open_page_with_oopif(scenario: Any) -> None:
    """Open a page `p` with an OOPIF `f`, and set up the session of `f` before it runs."""
    scenario.page("/main", AddFrame("f", "{b}/inner"))
    scenario.page("/inner")
    scenario.page("/next")
    scenario.open("p", enable=("Page", "Runtime"))
    scenario.auto_attach(on="p", wait=True)
    scenario.send("Page.navigate", {"url": "{a}/main"}, on="p")
    scenario.expect("Target.attachedToTarget", on="p", save={"session.f": "params.sessionId"})
    scenario.send("Page.enable", on="f")
    scenario.send("Runtime.enable", on="f")
    scenario.send("Runtime.runIfWaitingForDebugger", on="f")
    scenario.settle()


WITHIN: dict[str, Step | str] = {
    "step": Navigate("{a}/main#x"),
    "href": "location.href = '#x'",
    "assign": "location.assign('#x')",
    "replace": "location.replace('#x')",
    "frame": NavigateFrame("f", "{a}/inner#y"),
    "pushed": PushState("#z"),
}


@pytest.mark.parametrize("how", WITHIN)
async def test_navigation_within_a_document(scenario: Any, how: str) -> None:
    scenario.page("/main", AddFrame("f", "{a}/inner"))
    scenario.page("/inner")
    scenario.open("p", "{a}/main", enable=("Page", "Runtime"))
    step = WITHIN[how]
    if isinstance(step, str):
        scenario.evaluate(step, on="p")
    else:
        scenario.act(step, on="p")
    scenario.settle()
    scenario.send("Page.getNavigationHistory", on="p")
    scenario.send("Page.getFrameTree", on="p")
    await scenario.conforms()


@pytest.mark.parametrize("url", ["{b}/inner#y", "{b}/inner"])
async def test_a_page_and_an_oopif_navigate_the_oopif(scenario: Any, url: str) -> None:
    open_page_with_oopif(scenario)
    scenario.act(NavigateFrame("f", url), on="p")
    scenario.send("Page.getNavigationHistory", on="p")
    scenario.evaluate("location.href = '#z'", on="f")
    scenario.settle()
    scenario.act(PushState("#q"), on="f")
    scenario.send("Page.getNavigationHistory", on="p")
    scenario.evaluate("history.back()", on="p")
    await scenario.conforms()


@pytest.mark.parametrize(
    "script",
    [
        "location.href = '{b}/next'",
        "location.href = '{a}/next'",
        "location.reload()",
        "location.replace('{b}/next')",
        "location.href = '#z'",
    ],
)
async def test_an_oopif_navigates_itself(scenario: Any, script: str) -> None:
    open_page_with_oopif(scenario)
    scenario.evaluate(script, on="f")
    scenario.settle()
    scenario.send("Page.getNavigationHistory", on="p")
    await scenario.conforms()


@pytest.mark.parametrize("url", ["{b}/inner#z", "{b}/next"])
async def test_a_command_navigates_an_oopif_and_back(scenario: Any, url: str) -> None:
    open_page_with_oopif(scenario)
    scenario.send("Page.navigate", {"url": url}, on="f")
    scenario.settle()
    scenario.send("Page.getNavigationHistory", on="p")
    scenario.evaluate("history.back()", on="f")
    await scenario.conforms()


@pytest.mark.parametrize("script", ["location.reload()", "location.replace('{a}/other')", "location.href = '{a}/main'"])
async def test_a_script_reloads_or_replaces_its_document(scenario: Any, script: str) -> None:
    scenario.page("/main")
    scenario.page("/other")
    scenario.open("p", "{a}/main", enable=("Page", "Runtime"))
    scenario.evaluate(script, on="p")
    scenario.settle()
    scenario.send("Page.getNavigationHistory", on="p")
    scenario.send("Page.reload", on="p")
    scenario.settle()
    scenario.evaluate(script, on="p")
    scenario.settle()
    scenario.send("Page.getNavigationHistory", on="p")
    await scenario.conforms()


async def test_relative_urls(scenario: Any) -> None:
    scenario.page("/main", AddFrame("f", "/inner"))
    scenario.page("/inner")
    scenario.page("/other")
    scenario.open("p", "{a}/main")
    scenario.act(NavigateFrame("f", "/other"), on="p")
    scenario.act(PushState("/pushed"), on="p")
    scenario.act(Navigate("/other"), on="p")
    scenario.auto_attach()
    scenario.settle()
    scenario.act(Popup("pop", "/other"), on="p", wait=False)
    await scenario.conforms()


FOR_FRAMES = [
    "about:blank",
    "about:srcdoc",
    "data:text/html,x",
    "javascript:1",
    "blob:x",
    "http://127.0.0.1:1/",
    "http://nope.invalid/",
]


@pytest.mark.parametrize("url", FOR_FRAMES)
async def test_a_frame_is_added_with_a_url_without_a_server(scenario: Any, url: str) -> None:
    scenario.page("/holder", AddFrame("f", url))
    scenario.open("p", "{a}/holder", enable=("Page", "Runtime"))
    scenario.act(RemoveFrame("f"), on="p")
    await scenario.conforms()


@pytest.mark.parametrize("url", FOR_FRAMES)
async def test_a_page_navigates_a_frame_to_a_url_without_a_server(scenario: Any, url: str) -> None:
    scenario.page("/holder", AddFrame("f", "{a}/inner"))
    scenario.page("/inner")
    scenario.open("p", "{a}/holder", enable=("Page", "Runtime"))
    scenario.act(NavigateFrame("f", url), on="p")
    scenario.act(RemoveFrame("f"), on="p")
    await scenario.conforms()


@pytest.mark.parametrize("url", ["about:blank#x", "{b}/inner", "{a}/inner#y", *FOR_FRAMES[:4], FOR_FRAMES[5]])
async def test_a_command_navigates_a_frame(scenario: Any, url: str) -> None:
    scenario.page("/holder", AddFrame("f", "{a}/inner"))
    scenario.page("/inner")
    scenario.open("p", enable=("Page", "Runtime"))
    scenario.send("Page.navigate", {"url": "{a}/holder"}, on="p")
    scenario.expect("Page.frameAttached", on="p", save={"frame.f": "params.frameId"})
    scenario.settle()
    scenario.send("Page.navigate", {"url": url, "frameId": "$frame.f"}, on="p", wait=False)
    scenario.settle()
    scenario.send("Page.getFrameTree", on="p")
    scenario.send("Page.getNavigationHistory", on="p")
    await scenario.conforms()


@pytest.mark.parametrize("url", ["javascript:1", "data:text/html,x", "about:blank"])
async def test_a_script_navigates_its_page_to_a_url_without_a_server(scenario: Any, url: str) -> None:
    scenario.page("/main")
    scenario.open("p", "{a}/main", enable=("Page", "Runtime"))
    scenario.evaluate(f"location.href = '{url}'", on="p")
    scenario.settle()
    scenario.send("Page.getNavigationHistory", on="p")
    await scenario.conforms()
