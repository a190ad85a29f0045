"""Commands that clients send at the start and that the fake accepts without any effect.

The fake has no layout, network, fonts or downloads, so a viewport, headers or an emulated medium is only accepted. As
in Chromium are the kinds of target that take a command, the refusals, and whether the reply waits while a dialog
stops the renderer (fact 15). A client that relies on the effect of one of these commands needs a real browser.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

from cdp_core.sansio.messages import Json
from cdp_core.testing.fake.commands.call import FRAMES, LATER, ROOT, SCRIPTED, Call, modelled
from cdp_core.testing.fake.commands.settings_checks import CHECKS, Check, check_context, check_context_use
from cdp_core.testing.fake.model import dialogs, tabs, unloading, windows
from cdp_core.testing.fake.model.dispatch_errors import Refused


def _check_nothing(_call: Call) -> None:
    pass


def _demand_top(call: Call) -> None:
    call.demand_top()


def _demand_document(call: Call) -> None:
    if call.target.type not in FRAMES:
        raise Refused(-32000, "Operation is only supported for pages, not workers")


def _demand_both(call: Call) -> None:
    _demand_document(call)
    _demand_top(call)


def _check_downloads(call: Call) -> None:
    check_context(call)
    if call.params["behavior"] in ("allow", "allowAndName") and not call.params.get("downloadPath"):
        raise Refused(-32602, "downloadPath not provided")


def _accept(
    methods: Iterable[str], where: frozenset[str], check: Check = _check_nothing, *, by_renderer: bool = True
) -> None:
    for method in methods:
        modelled(method, where, by_renderer=by_renderer)(_setting(check, CHECKS.get(method, _check_nothing)))


def _setting(check_target: Check, check_params: Check) -> Callable[[Call], Json]:
    """Return a command that checks the target and the parameters, and does nothing else."""

    def run(call: Call) -> Json:
        check_target(call)
        check_params(call)
        return {}

    return run


FRAME_COMMANDS: Final = (
    "DOMStorage.enable",
    "DOMStorage.disable",
    "Page.setFontFamilies",
    "Page.setInterceptFileChooserDialog",
    "WebMCP.enable",
    "WebMCP.disable",
)
WORKER_COMMANDS: Final = (
    "Audits.enable",
    "Audits.disable",
    "Debugger.setAsyncCallStackDepth",
    "Emulation.setLocaleOverride",
    "Emulation.setTimezoneOverride",
    "Emulation.setUserAgentOverride",
    "Network.setBypassServiceWorker",
    "Network.setCacheDisabled",
    "Network.setExtraHTTPHeaders",
    "Network.setUserAgentOverride",
    "Runtime.setAsyncCallStackDepth",
)
DOCUMENT_COMMANDS: Final = (
    "Emulation.setAutoDarkModeOverride",
    "Emulation.setCPUThrottlingRate",
    "Emulation.setDefaultBackgroundColorOverride",
    "Emulation.setEmulatedMedia",
    "Emulation.setEmulatedVisionDeficiency",
    "Emulation.setFocusEmulationEnabled",
    "Emulation.setScriptExecutionDisabled",
    "Emulation.setTouchEmulationEnabled",
)
BROWSER_COMMANDS: Final = (
    "Emulation.clearGeolocationOverride",
    "Emulation.clearIdleOverride",
    "Emulation.setGeolocationOverride",
    "Emulation.setIdleOverride",
    "Input.cancelDragging",
    "Input.imeSetComposition",
    "Input.setIgnoreInputEvents",
    "Page.setAdBlockingEnabled",
    "ServiceWorker.enable",
)
BROWSER_PAGE_COMMANDS: Final = (
    "Emulation.setEmitTouchEventsForMouse",
    "Page.setDownloadBehavior",
    "Page.setPrerenderingAllowed",
    "Page.setWebLifecycleState",
)
ROOT_COMMANDS: Final = (
    "Browser.grantPermissions",
    "Browser.setDockTile",
    "Storage.clearCookies",
    "Browser.resetPermissions",
    "Security.setIgnoreCertificateErrors",
)


@modelled("Input.dispatchKeyEvent", FRAMES)
def _dispatch_key(call: Call) -> Json:
    _check_kind(call, ("keyDown", "keyUp", "rawKeyDown", "char"))
    return _input(
        call, activates=call.params["type"] in ("keyDown", "rawKeyDown") and call.params.get("key") != "Escape"
    )


@modelled("Input.dispatchMouseEvent", FRAMES)
def _dispatch_mouse(call: Call) -> Json:
    _check_kind(call, ("mousePressed", "mouseReleased", "mouseMoved", "mouseWheel"))
    if call.params.get("button", "none") not in ("none", "left", "middle", "right", "back", "forward"):
        raise Refused(-32602, "Invalid mouse button")
    return _input(call, activates=call.params["type"] == "mousePressed")


def _check_kind(call: Call, kinds: Iterable[str]) -> None:
    if call.params["type"] not in kinds:
        raise Refused(-32602, f"Unexpected event type '{call.params['type']}'")


def _input(call: Call, *, activates: bool) -> Json:
    """Record user activation, which a beforeunload dialog depends on; the input has no other effect."""
    if activates and call.target.frame is not None:
        unloading.activate_user(call.target.frame)
    return {}


@modelled("Storage.getCookies", FRAMES | ROOT)
def _storage_cookies(call: Call) -> Json:
    check_context_use(call)
    return {"cookies": []}


@modelled("Network.getCookies", FRAMES)
def _network_cookies(_call: Call) -> Json:
    return {"cookies": []}


@modelled("Browser.getWindowForTarget", FRAMES | ROOT)
def _window(call: Call) -> Json:
    if call.session.target is None and "targetId" not in call.params:
        raise Refused(-32000, "No web contents in the target")
    target = tabs.found(call.world, call.params["targetId"]) if "targetId" in call.params else call.target
    if target is None:
        raise Refused(-32000, "No target with given id")
    pages = [each.id for each in call.world.pages()]
    bounds = {"left": 10, "top": 10, "width": 780, "height": 580, "windowState": "normal"}
    return {"windowId": 1 + pages.index(target.page.id), "bounds": bounds}


@modelled("Emulation.clearDeviceMetricsOverride", SCRIPTED, by_renderer=True, parks=False)
def _clear_metrics(call: Call) -> Json:
    _demand_both(call)
    # Without an override to clear, the browser does not involve the renderer.
    if call.session.overrides_size:
        dialogs.when_unblocked(call.target, partial(_give_up_size, call))
    else:
        call.answer({"result": {}})
    return LATER


def _give_up_size(call: Call) -> None:
    windows.give_up(call.world, call.target, call.session)
    call.answer({"result": {}})


@modelled("Emulation.setDeviceMetricsOverride", SCRIPTED, by_renderer=True)
def _set_metrics(call: Call) -> Json:
    _demand_both(call)
    CHECKS["Emulation.setDeviceMetricsOverride"](call)
    windows.resize(call.world, call.target, call.session, (call.params["width"], call.params["height"]))
    return {}


_accept(FRAME_COMMANDS, FRAMES)
_accept(WORKER_COMMANDS, SCRIPTED)
_accept(DOCUMENT_COMMANDS, SCRIPTED, _demand_document)
_accept(("Input.insertText",), FRAMES)
_accept(BROWSER_COMMANDS, FRAMES, by_renderer=False)
_accept(BROWSER_PAGE_COMMANDS, FRAMES, _demand_top, by_renderer=False)
_accept(ROOT_COMMANDS, FRAMES | ROOT, by_renderer=False)
_accept(("Browser.setDownloadBehavior",), FRAMES | ROOT, _check_downloads, by_renderer=False)
