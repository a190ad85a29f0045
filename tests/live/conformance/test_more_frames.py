"""More frames: nested, changing their process, empty, and restored from the history."""

from __future__ import annotations

from typing import Any

import pytest

from cdp_core.testing.steps import AddFrame, Console, Go, MoveFrame, NavigateFrame, PushState, RemoveFrame

pytestmark = pytest.mark.chromium


def open_watched_page(scenario: Any, url: str = "{a}/holder", *, wait: bool = False) -> None:
    scenario.open("p", enable=("Page", "Runtime"))
    scenario.auto_attach(on="p", wait=wait)
    scenario.send("Page.navigate", {"url": url}, on="p", wait=False)


async def test_three_levels_in_one_process(scenario: Any) -> None:
    scenario.page("/holder", AddFrame("f", "{a}/middle"))
    scenario.page("/middle", AddFrame("g", "{a}/inner"))
    scenario.page("/inner", Console("inner"))
    scenario.open("p", "{a}/holder", enable=("Page", "Runtime"))
    scenario.send("Page.getFrameTree", on="p")
    scenario.act(RemoveFrame("f"), on="p")
    scenario.send("Page.getFrameTree", on="p")
    await scenario.conforms()


async def test_a_frame_changes_its_process_three_times(scenario: Any) -> None:
    scenario.page("/holder", AddFrame("f", "{a}/inner"))
    scenario.page("/inner")
    open_watched_page(scenario)
    scenario.settle()
    for site in ("{b}", "{a}", "{b}"):
        scenario.act(NavigateFrame("f", f"{site}/inner"), on="p")
    scenario.send("Page.getFrameTree", on="p")
    await scenario.conforms()


async def test_an_oopif_is_moved(scenario: Any) -> None:
    scenario.page("/holder", AddFrame("f", "{b}/inner"))
    scenario.page("/inner")
    open_watched_page(scenario)
    scenario.settle()
    scenario.act(MoveFrame("f"), on="p")
    scenario.send("Page.getFrameTree", on="p")
    await scenario.conforms()


async def test_an_oopif_pushes_a_url(scenario: Any) -> None:
    scenario.page("/holder", AddFrame("f", "{b}/inner"))
    scenario.page("/inner")
    scenario.send("Target.setDiscoverTargets", {"discover": True})
    open_watched_page(scenario)
    scenario.expect("Target.attachedToTarget", on="p", save={"session.f": "params.sessionId"})
    scenario.settle()
    scenario.send("Page.enable", on="f")
    scenario.act(PushState("{b}/pushed"), on="f")
    scenario.send("Page.getFrameTree", on="f")
    await scenario.conforms()


async def test_an_oopif_is_reloaded_on_its_own_session(scenario: Any) -> None:
    scenario.page("/holder", AddFrame("f", "{b}/inner"))
    scenario.page("/inner", Console("again"))
    open_watched_page(scenario)
    scenario.expect("Target.attachedToTarget", on="p", save={"session.f": "params.sessionId"})
    scenario.settle()
    scenario.send("Page.enable", on="f")
    scenario.send("Runtime.enable", on="f")
    scenario.send("Page.reload", on="f")
    scenario.send("Page.navigate", {"url": "{b}/inner"}, on="f")
    scenario.settle()
    await scenario.conforms()


async def test_two_oopifs_of_one_site_are_removed(scenario: Any) -> None:
    scenario.page("/holder", AddFrame("f", "{b}/inner"), AddFrame("g", "{b}/inner"))
    scenario.page("/inner")
    open_watched_page(scenario)
    scenario.settle()
    scenario.act(RemoveFrame("f"), on="p")
    scenario.act(RemoveFrame("g"), on="p")
    await scenario.conforms()


async def test_frames_are_added_to_a_loaded_page(scenario: Any) -> None:
    scenario.page("/holder")
    scenario.page("/inner")
    open_watched_page(scenario)
    scenario.settle()
    scenario.act(AddFrame("e"), on="p")
    scenario.act(AddFrame("f", "{a}/inner"), on="p")
    scenario.act(AddFrame("g", "{b}/inner"), on="p")
    scenario.act(NavigateFrame("e", "{b}/inner"), on="p")
    scenario.send("Page.getFrameTree", on="p")
    await scenario.conforms()


async def test_an_empty_frame_is_navigated_and_removed(scenario: Any) -> None:
    scenario.page("/holder", AddFrame("e"))
    scenario.page("/inner")
    scenario.open("p", "{a}/holder", enable=("Page", "Runtime"))
    scenario.act(NavigateFrame("e", "{a}/inner"), on="p")
    scenario.act(NavigateFrame("e", "about:blank"), on="p")
    scenario.act(RemoveFrame("e"), on="p")
    await scenario.conforms()


async def test_frames_of_an_empty_page(scenario: Any) -> None:
    scenario.page("/inner")
    scenario.open("p", enable=("Page", "Runtime"))
    scenario.auto_attach(on="p")
    scenario.act(AddFrame("e"), on="p")
    scenario.act(AddFrame("f", "{a}/inner"), on="p")
    scenario.send("Page.getFrameTree", on="p")
    scenario.go("{a}/inner", on="p")
    await scenario.conforms()


async def test_back_to_a_page_with_a_watched_oopif(scenario: Any) -> None:
    scenario.page("/holder", AddFrame("f", "{b}/inner"))
    scenario.page("/inner")
    open_watched_page(scenario)
    scenario.settle()
    scenario.go("{b}/inner", on="p")
    scenario.act(Go(-1), on="p")
    scenario.send("Page.getFrameTree", on="p")
    scenario.act(RemoveFrame("f"), on="p")
    await scenario.conforms()


async def test_back_and_forward_over_pushed_urls(scenario: Any) -> None:
    scenario.page("/main")
    scenario.open("p", "{a}/main", enable=("Page", "Runtime"))
    scenario.act(PushState("{a}/one"), on="p")
    scenario.act(PushState("{a}/two"), on="p")
    scenario.act(Go(-2), on="p")
    scenario.act(Go(1), on="p")
    scenario.send("Page.getNavigationHistory", on="p")
    scenario.evaluate("location.href", on="p")
    await scenario.conforms()


async def test_navigation_to_the_current_url(scenario: Any) -> None:
    scenario.page("/main")
    scenario.open("p", "{a}/main", enable=("Page", "Runtime"))
    scenario.go("{a}/main", on="p")
    scenario.go("{a}/main#x", on="p")
    scenario.go("{a}/main#x", on="p")
    scenario.go("{a}/main", on="p")
    scenario.send("Page.getNavigationHistory", on="p")
    await scenario.conforms()


@pytest.mark.parametrize("kind", ["", "zzz", "link", "reload", "address_bar", "keyword", "form_submit", "other"])
async def test_transition_types(scenario: Any, kind: str) -> None:
    scenario.page("/main")
    scenario.open("p")
    scenario.send("Page.navigate", {"url": "{a}/main", "transitionType": kind}, on="p")
    scenario.settle()
    scenario.send("Page.getNavigationHistory", on="p")
    await scenario.conforms()


async def test_reload_with_a_loader_id(scenario: Any) -> None:
    scenario.page("/main")
    scenario.open("p", "{a}/main")
    scenario.send("Page.reload", {"loaderId": "zzz"}, on="p")
    scenario.send("Page.reload", {"loaderId": ""}, on="p")
    scenario.send("Page.reload", {"ignoreCache": True}, on="p")
    scenario.settle()
    await scenario.conforms()


async def test_a_session_attached_after_nested_frames_loaded(scenario: Any) -> None:
    scenario.page("/holder", AddFrame("f", "{b}/middle"))
    scenario.page("/middle", AddFrame("g", "{a}/inner"), AddFrame("e"))
    scenario.page("/inner")
    scenario.open("p", "{a}/holder")
    scenario.attach("q", "p", enable=("Page", "Runtime"))
    scenario.send("Page.getFrameTree", on="q")
    scenario.auto_attach(on="q")
    scenario.expect("Target.attachedToTarget", on="q", save={"session.f": "params.sessionId"})
    scenario.send("Runtime.enable", on="f")
    scenario.send("Page.getFrameTree", on="f")
    scenario.auto_attach(on="f")
    scenario.settle()
    await scenario.conforms()


async def test_navigation_with_the_id_of_the_main_frame(scenario: Any) -> None:
    scenario.page("/holder", AddFrame("f", "{b}/inner"))
    scenario.page("/inner")
    open_watched_page(scenario)
    scenario.expect("Target.attachedToTarget", on="p", save={"session.f": "params.sessionId"})
    scenario.settle()
    scenario.send("Page.navigate", {"url": "{a}/inner", "frameId": "$target.p"}, on="p")
    scenario.settle()
    scenario.evaluate("1", on="f")
    await scenario.conforms()


async def test_isolated_worlds_of_frames(scenario: Any) -> None:
    scenario.page("/holder", AddFrame("f", "{a}/inner"))
    scenario.page("/inner")
    scenario.open("p", enable=("Page", "Runtime"))
    scenario.send("Page.addScriptToEvaluateOnNewDocument", {"source": "1", "worldName": "w"}, on="p")
    scenario.go("{a}/holder", on="p")
    scenario.send("Page.createIsolatedWorld", {"frameId": "$target.p", "worldName": "w"}, on="p")
    scenario.send("Page.createIsolatedWorld", {"frameId": "$target.p", "worldName": "v"}, on="p")
    scenario.act(NavigateFrame("f", "{b}/inner"), on="p")
    scenario.act(RemoveFrame("f"), on="p")
    await scenario.conforms()


def open_two_oopifs_of_one_site(scenario: Any) -> None:
    """Open a page with two OOPIFs of one site, `f` and `g`, which share a process."""
    scenario.page("/holder", AddFrame("f", "{b}/inner"))
    scenario.page("/inner")
    open_watched_page(scenario)
    scenario.expect("Target.attachedToTarget", on="p", save={"session.f": "params.sessionId"})
    scenario.settle()
    scenario.act(AddFrame("g", "{b}/other"), on="p")
    scenario.expect("Target.attachedToTarget", on="p", save={"session.g": "params.sessionId"})
    scenario.settle()


async def test_a_dialog_blocks_all_frames_of_its_process(scenario: Any) -> None:
    open_two_oopifs_of_one_site(scenario)
    scenario.evaluate("confirm('x')", on="f", wait=False)
    scenario.expect("Page.javascriptDialogOpening", on="p")
    scenario.settle()
    scenario.evaluate("1", on="g", wait=False)
    scenario.evaluate("1", on="p")
    scenario.settle()
    scenario.send("Page.handleJavaScriptDialog", {"accept": True}, on="p")
    scenario.settle()
    await scenario.conforms()


async def test_a_crash_ends_all_frames_of_its_process(scenario: Any) -> None:
    scenario.send("Target.setDiscoverTargets", {"discover": True})
    open_two_oopifs_of_one_site(scenario)
    scenario.send("Page.crash", on="f", wait=False)
    scenario.expect("Inspector.targetCrashed", on="f")
    scenario.settle()
    scenario.evaluate("1", on="g", wait=False)
    scenario.evaluate("1", on="p")
    scenario.settle()
    scenario.act(RemoveFrame("f"), on="p")
    await scenario.conforms()


async def test_a_dialog_of_the_page_blocks_a_frame_of_its_site_inside_an_oopif(scenario: Any) -> None:
    scenario.page("/holder", AddFrame("f", "{b}/middle"))
    scenario.page("/middle", AddFrame("g", "{a}/inner"))
    scenario.page("/inner")
    open_watched_page(scenario)
    scenario.expect("Target.attachedToTarget", on="p", save={"session.f": "params.sessionId"})
    scenario.settle()
    scenario.auto_attach(on="f")
    scenario.expect("Target.attachedToTarget", on="f", save={"session.g": "params.sessionId"})
    scenario.settle()
    scenario.evaluate("confirm('x')", on="p", wait=False)
    scenario.expect("Page.javascriptDialogOpening", on="p")
    scenario.settle()
    scenario.evaluate("1", on="f")
    scenario.evaluate("1", on="g", wait=False)
    scenario.settle()
    scenario.send("Page.handleJavaScriptDialog", {"accept": True}, on="p")
    scenario.settle()
    await scenario.conforms()


async def test_an_oopif_with_a_nested_oopif_is_removed(scenario: Any) -> None:
    scenario.page("/holder", AddFrame("f", "{b}/middle"))
    scenario.page("/middle", AddFrame("g", "{a}/inner"))
    scenario.page("/inner")
    scenario.send("Target.setDiscoverTargets", {"discover": True})
    open_watched_page(scenario)
    scenario.expect("Target.attachedToTarget", on="p", save={"session.f": "params.sessionId"})
    scenario.settle()
    scenario.send("Page.enable", on="f")
    scenario.auto_attach(on="f")
    scenario.settle()
    scenario.act(RemoveFrame("f"), on="p")
    await scenario.conforms()


async def test_frames_of_a_data_page(scenario: Any) -> None:
    scenario.page("/inner")
    scenario.open("p", "{a}/inner", enable=("Page", "Runtime"))
    scenario.auto_attach(on="p")
    scenario.go("data:text/html,<body>", on="p")
    scenario.act(AddFrame("f", "{a}/inner"), on="p")
    scenario.act(AddFrame("g", "{b}/inner"), on="p")
    await scenario.conforms()


async def test_lifecycle_events(scenario: Any) -> None:
    scenario.page("/holder", AddFrame("e"), AddFrame("f", "{a}/inner"), AddFrame("g", "{b}/inner"))
    scenario.page("/inner")
    scenario.open("p")
    scenario.send("Page.setLifecycleEventsEnabled", {"enabled": True}, on="p")
    scenario.go("{a}/inner", on="p")
    scenario.go("{a}/holder", on="p")
    scenario.act(NavigateFrame("f", "{a}/other"), on="p")
    scenario.act(RemoveFrame("f"), on="p")
    scenario.send("Page.reload", on="p")
    scenario.settle()
    scenario.send("Page.setLifecycleEventsEnabled", {"enabled": False}, on="p")
    scenario.go("{b}/inner", on="p")
    await scenario.conforms()
