"""Frames and navigation (facts 38 to 44)."""

from __future__ import annotations

from typing import Any

import pytest

from cdp_core.testing.steps import AddFrame, MoveFrame, Navigate, NavigateFrame, RemoveFrame

pytestmark = pytest.mark.chromium

BOTH = ["Page", "Runtime"]


def set_up_children(scenario: Any, *labels: str, on: str = "p") -> None:
    """Set up the paused session of each new iframe, then resume it, as a client that misses no event does."""
    for label in labels:
        scenario.expect("Target.attachedToTarget", on=on, save={f"session.{label}": "params.sessionId"})
        for domain in BOTH:
            scenario.send(f"{domain}.enable", on=label, wait=False)
        scenario.send("Runtime.runIfWaitingForDebugger", on=label)
        scenario.settle()


async def test_navigation_by_command(scenario: Any) -> None:
    scenario.open("p", enable=BOTH)
    scenario.go("{a}/one", on="p")
    scenario.go("{a}/two", on="p")
    scenario.go("{b}/three", on="p")
    scenario.send("Page.getFrameTree", on="p")
    await scenario.conforms()


async def test_navigation_by_script(scenario: Any) -> None:
    scenario.open("p", "{a}/one", enable=BOTH)
    scenario.act(Navigate("{a}/two"), on="p")
    scenario.act(Navigate("{b}/three"), on="p")
    await scenario.conforms()


async def test_reload(scenario: Any) -> None:
    scenario.page("/main", AddFrame("same", "{a}/same"))
    scenario.open("p", "{a}/main", enable=BOTH)
    scenario.send("Page.reload", on="p")
    scenario.settle()
    await scenario.conforms()


async def test_reload_with_an_oopif(scenario: Any) -> None:
    scenario.page("/main", AddFrame("other", "{b}/other"))
    scenario.send("Target.setDiscoverTargets", {"discover": True})
    scenario.open("p", enable=BOTH)
    scenario.auto_attach(on="p", wait=True)
    scenario.send("Page.navigate", {"url": "{a}/main"}, on="p")
    set_up_children(scenario, "other")
    scenario.send("Page.reload", on="p")
    set_up_children(scenario, "again")
    scenario.send("Target.getTargets")
    await scenario.conforms()


async def test_navigation_within_a_document(scenario: Any) -> None:
    scenario.open("p", "{a}/main", enable=BOTH)
    scenario.go("{a}/main#there", on="p")
    scenario.go("{a}/main#elsewhere", on="p")
    scenario.go("{a}/main", on="p")
    await scenario.conforms()


async def test_same_process_frame_at_load(scenario: Any) -> None:
    scenario.page("/main", AddFrame("same", "{a}/same"))
    scenario.open("p", "{a}/main", enable=BOTH)
    scenario.send("Page.getFrameTree", on="p")
    await scenario.conforms()


async def test_nested_same_process_frames(scenario: Any) -> None:
    scenario.page("/main", AddFrame("one", "{a}/one"))
    scenario.page("/one", AddFrame("two", "{a}/two"))
    scenario.open("p", "{a}/main", enable=BOTH)
    scenario.send("Page.getFrameTree", on="p")
    scenario.act(RemoveFrame("one"), on="p")
    await scenario.conforms()


async def test_same_process_frame_is_added_navigated_moved_and_removed(scenario: Any) -> None:
    scenario.open("p", "{a}/main", enable=BOTH)
    scenario.act(AddFrame("same", "{a}/same"), on="p")
    scenario.act(NavigateFrame("same", "{a}/other"), on="p")
    scenario.act(MoveFrame("same"), on="p")
    scenario.act(RemoveFrame("same"), on="p")
    await scenario.conforms()


async def test_empty_frame(scenario: Any) -> None:
    scenario.open("p", "{a}/main", enable=BOTH)
    scenario.act(AddFrame("empty"), on="p")
    scenario.send("Page.getFrameTree", on="p")
    await scenario.conforms()


async def test_oopif_at_load_without_sessions(scenario: Any) -> None:
    scenario.page("/main", AddFrame("other", "{b}/other"))
    scenario.send("Target.setDiscoverTargets", {"discover": True})
    scenario.open("p", "{a}/main", enable=BOTH)
    scenario.send("Page.getFrameTree", on="p")
    scenario.send("Target.getTargets")
    await scenario.conforms()


@pytest.mark.parametrize("discover", [False, True])
async def test_oopif_at_load_paused(scenario: Any, discover: bool) -> None:
    scenario.page("/main", AddFrame("other", "{b}/other"))
    if discover:
        scenario.send("Target.setDiscoverTargets", {"discover": True})
    scenario.open("p", enable=BOTH)
    scenario.auto_attach(on="p", wait=True)
    scenario.send("Page.navigate", {"url": "{a}/main"}, on="p")
    set_up_children(scenario, "other")
    scenario.send("Page.getFrameTree", on="p")
    scenario.send("Page.getFrameTree", on="other")
    await scenario.conforms()


async def test_oopif_at_load_not_paused(scenario: Any) -> None:
    scenario.page("/main", AddFrame("other", "{b}/other"))
    scenario.open("p", enable=BOTH)
    scenario.auto_attach(on="p")
    scenario.send("Page.navigate", {"url": "{a}/main"}, on="p")
    scenario.settle()
    scenario.expect("Target.attachedToTarget", on="p", save={"session.other": "params.sessionId"})
    scenario.send("Page.enable", on="other")
    scenario.send("Runtime.enable", on="other")
    scenario.settle()
    await scenario.conforms()


async def test_oopif_added_and_removed(scenario: Any) -> None:
    scenario.send("Target.setDiscoverTargets", {"discover": True})
    scenario.open("p", "{a}/main", enable=BOTH)
    scenario.auto_attach(on="p", wait=True)
    scenario.act(AddFrame("other", "{b}/other"), on="p")
    set_up_children(scenario, "other")
    scenario.act(RemoveFrame("other"), on="p")
    scenario.send("Page.getFrameTree", on="p")
    scenario.evaluate("1", on="other")
    await scenario.conforms()


async def test_frame_changes_its_process_twice(scenario: Any) -> None:
    scenario.send("Target.setDiscoverTargets", {"discover": True})
    scenario.open("p", "{a}/main", enable=BOTH)
    scenario.auto_attach(on="p", wait=True)
    scenario.act(AddFrame("f", "{a}/same"), on="p")
    scenario.act(NavigateFrame("f", "{b}/other"), on="p")
    set_up_children(scenario, "other")
    scenario.act(NavigateFrame("f", "{b}/another"), on="p")
    scenario.act(NavigateFrame("f", "{a}/back"), on="p")
    scenario.send("Page.getFrameTree", on="p")
    await scenario.conforms()


async def test_oopif_navigated_by_command(scenario: Any) -> None:
    scenario.page("/main", AddFrame("other", "{b}/other"))
    scenario.open("p", enable=BOTH)
    scenario.auto_attach(on="p", wait=True)
    scenario.send("Page.navigate", {"url": "{a}/main"}, on="p")
    set_up_children(scenario, "other")
    scenario.go("{b}/next", on="other")
    await scenario.conforms()


async def test_an_oopif_with_a_frame_of_its_own_is_removed(scenario: Any) -> None:
    scenario.page("/main", AddFrame("other", "{b}/other"))
    scenario.page("/other", AddFrame("leaf", "{b}/leaf"))
    scenario.open("p", enable=BOTH)
    scenario.auto_attach(on="p", wait=True)
    scenario.send("Page.navigate", {"url": "{a}/main"}, on="p")
    set_up_children(scenario, "other")
    scenario.send("Page.getFrameTree", on="other")
    scenario.act(RemoveFrame("other"), on="p")
    await scenario.conforms()


async def test_main_navigation_with_children(scenario: Any) -> None:
    scenario.page("/main", AddFrame("same", "{a}/same"), AddFrame("other", "{b}/other"))
    scenario.send("Target.setDiscoverTargets", {"discover": True})
    scenario.open("p", enable=BOTH)
    scenario.auto_attach(on="p", wait=True)
    scenario.send("Page.navigate", {"url": "{a}/main"}, on="p")
    set_up_children(scenario, "other")
    scenario.go("{a}/next", on="p")
    scenario.send("Page.getFrameTree", on="p")
    await scenario.conforms()


async def test_main_navigation_to_another_site_with_children(scenario: Any) -> None:
    scenario.page("/main", AddFrame("other", "{b}/other"), AddFrame("same", "{a}/same"))
    scenario.open("p", enable=BOTH)
    scenario.auto_attach(on="p", wait=True)
    scenario.send("Page.navigate", {"url": "{a}/main"}, on="p")
    set_up_children(scenario, "other")
    scenario.go("{b}/next", on="p")
    await scenario.conforms()


async def test_a_second_client_attaches_to_a_loaded_page(scenario: Any) -> None:
    scenario.page("/main", AddFrame("same", "{a}/same"), AddFrame("other", "{b}/other"))
    scenario.open("p", "{a}/main", enable=BOTH)
    scenario.connect("B")
    scenario.attach("late", "p", client="B", enable=BOTH)
    scenario.auto_attach(on="late", client="B")
    scenario.expect("Target.attachedToTarget", on="late", client="B", save={"session.other": "params.sessionId"})
    for domain in BOTH:
        scenario.send(f"{domain}.enable", on="other", client="B")
    scenario.send("Page.getFrameTree", on="late", client="B")
    scenario.send("Page.getFrameTree", on="other", client="B")
    await scenario.conforms()


async def test_page_commands_on_the_session_of_an_oopif(scenario: Any) -> None:
    scenario.page("/main", AddFrame("other", "{b}/other"))
    scenario.open("p", enable=BOTH)
    scenario.auto_attach(on="p", wait=True)
    scenario.send("Page.navigate", {"url": "{a}/main"}, on="p")
    set_up_children(scenario, "other")
    for method, params in [
        ("Page.close", {}),
        ("Page.handleJavaScriptDialog", {"accept": True}),
        ("Page.bringToFront", {}),
        ("Target.getTargetInfo", {}),
        ("Target.getTargets", {}),
        ("Browser.getVersion", {}),
        ("Page.reload", {}),
    ]:
        scenario.send(method, params, on="other")
        scenario.settle()
    await scenario.conforms()


async def test_a_command_in_flight_when_the_page_navigates(scenario: Any) -> None:
    scenario.open("p", "{a}/main", enable=["Page"])
    scenario.evaluate("new Promise(() => 0)", on="p", awaitPromise=True, wait=False)
    scenario.settle()
    scenario.go("{b}/next", on="p")
    scenario.evaluate("1", on="p")
    await scenario.conforms()


async def test_unreachable_url(scenario: Any) -> None:
    scenario.open("p", "{a}/main", enable=BOTH)
    scenario.go("http://127.0.0.1:1/", on="p")
    await scenario.conforms()
