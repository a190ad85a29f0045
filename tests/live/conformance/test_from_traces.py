"""Observations from recorded traces, repeated on the installed Chromium."""

from __future__ import annotations

from typing import Any

from cdp_core.testing.steps import AddFrame, MoveFrame, Popup, PushState


async def test_a_third_dialog_ends_the_second_and_none_can_be_answered(scenario: Any) -> None:
    scenario.page("/holder", AddFrame("f", "{b}/inner"))
    scenario.page("/inner")
    scenario.open("p", enable=("Page", "Runtime"))
    scenario.auto_attach(on="p")
    scenario.send("Page.navigate", {"url": "{a}/holder"}, on="p")
    scenario.expect("Target.attachedToTarget", on="p", save={"session.f": "params.sessionId"})
    scenario.settle()
    scenario.evaluate("confirm('first')", on="f", wait=False)
    scenario.expect("Page.javascriptDialogOpening", on="p")
    scenario.evaluate("confirm('second')", on="p", wait=False)
    scenario.expect("Page.javascriptDialogOpening", on="p")
    scenario.settle()
    scenario.evaluate("confirm('third')", on="f", wait=False)
    scenario.expect("Page.javascriptDialogOpening", on="p")
    scenario.settle()
    scenario.send("Page.handleJavaScriptDialog", {"accept": True}, on="p")
    scenario.go("{a}/inner", on="p")
    await scenario.conforms()


async def test_auto_attach_of_another_session_attaches_to_a_detached_oopif(scenario: Any) -> None:
    scenario.page("/holder", AddFrame("f", "{b}/inner"))
    scenario.page("/inner")
    scenario.open("p")
    scenario.auto_attach(on="p")
    scenario.send("Page.navigate", {"url": "{a}/holder"}, on="p")
    scenario.expect("Target.attachedToTarget", on="p", save={"session.f": "params.sessionId"})
    scenario.settle()
    scenario.send("Target.detachFromTarget", {"sessionId": "$session.f"}, on="p")
    scenario.settle()
    scenario.attach("q", "p")
    scenario.auto_attach(on="q")
    scenario.settle()
    await scenario.conforms()


async def test_targets_before_and_after_a_document_is_left(scenario: Any) -> None:
    scenario.page("/holder", AddFrame("f", "{b}/inner"))
    scenario.page("/inner")
    scenario.open("p", "{a}/holder")
    scenario.send("Target.getTargets")
    scenario.go("{a}/inner", on="p")
    scenario.send("Target.getTargets")
    await scenario.conforms()


async def test_a_popup_of_the_same_origin_keeps_its_initial_window(scenario: Any) -> None:
    scenario.page("/shop")
    scenario.page("/pay")
    scenario.open("p", "{a}/shop", enable=("Page", "Runtime"))
    scenario.auto_attach(wait=True)
    scenario.act(Popup("pop", "{a}/pay"), on="p", wait=False)
    scenario.expect(
        "Target.attachedToTarget", where={"waitingForDebugger": True}, save={"session.pop": "params.sessionId"}
    )
    scenario.send("Page.enable", on="pop")
    scenario.send("Runtime.enable", on="pop")
    scenario.send("Runtime.runIfWaitingForDebugger", on="pop")
    scenario.settle()
    scenario.evaluate("1", on="pop")
    await scenario.conforms()


async def test_a_page_with_an_oopif_is_closed(scenario: Any) -> None:
    scenario.page("/holder", AddFrame("f", "{b}/inner"))
    scenario.page("/inner")
    scenario.open("p", "{a}/holder", enable=("Page", "Runtime"))
    scenario.send("Target.closeTarget", {"targetId": "$target.p"})
    scenario.settle()
    await scenario.conforms()


async def test_a_page_with_two_sessions_is_closed(scenario: Any) -> None:
    scenario.send("Target.setDiscoverTargets", {"discover": True})
    scenario.open("p")
    scenario.attach("q", "p")
    scenario.send("Target.closeTarget", {"targetId": "$target.p"})
    scenario.settle()
    await scenario.conforms()


async def test_a_script_pushes_the_url_of_its_document(scenario: Any) -> None:
    scenario.page("/shop", PushState("{a}/early"))
    scenario.send("Target.setDiscoverTargets", {"discover": True})
    scenario.open("p", "{a}/shop", enable=("Page", "Runtime"))
    scenario.act(PushState("{a}/pushed"), on="p")
    scenario.evaluate("location.href", on="p")
    await scenario.conforms()


async def test_a_moved_frame_loads_the_url_of_its_element(scenario: Any) -> None:
    scenario.page("/holder", AddFrame("f", "{a}/inner"))
    scenario.page("/inner", PushState("{a}/pushed"))
    scenario.open("p", "{a}/holder", enable=("Page", "Runtime"))
    scenario.act(MoveFrame("f"), on="p")
    await scenario.conforms()


async def test_a_url_with_non_ascii_characters(scenario: Any) -> None:
    scenario.open("p")
    scenario.go("data:,ö€", on="p")
    scenario.go("data:image/svg+xml,<svg/>", on="p")
    await scenario.conforms()


async def test_a_click_and_a_key_on_a_page_without_listeners(scenario: Any) -> None:
    scenario.page("/shop")
    scenario.open("p", "{a}/shop")
    for kind in ("mousePressed", "mouseReleased"):
        click = {"type": kind, "x": 5, "y": 5, "button": "left", "clickCount": 1}
        scenario.send("Input.dispatchMouseEvent", click, on="p")
    scenario.send("Input.dispatchKeyEvent", {"type": "keyDown", "key": "Enter"}, on="p")
    scenario.evaluate("confirm('open')", on="p", wait=False)
    scenario.expect("Page.javascriptDialogOpening", on="p")
    scenario.send("Input.dispatchKeyEvent", {"type": "keyDown", "key": "Escape"}, on="p")
    await scenario.conforms()
