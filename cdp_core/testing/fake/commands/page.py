"""The commands of the Page domain: navigation, history, dialogs, the frame tree."""

from __future__ import annotations

from functools import partial
from typing import Final

from cdp_core.sansio.messages import Json
from cdp_core.testing.fake.commands.call import FRAMES, LATER, Call, modelled
from cdp_core.testing.fake.commands.shapes import enum_of
from cdp_core.testing.fake.model import dialogs, targets, unloading, windows
from cdp_core.testing.fake.model.addresses import spelled
from cdp_core.testing.fake.model.dispatch_errors import Refused
from cdp_core.testing.fake.model.frame_shapes import tree
from cdp_core.testing.fake.navigation import frames, lifecycle, moves, traversals

REFERRER_POLICIES: Final = enum_of("Page", "ReferrerPolicy")
TRANSITIONS: Final = {"address_bar": "link"} | {
    name: name
    for name in (
        *("link", "typed", "auto_bookmark", "auto_subframe", "manual_subframe", "generated", "auto_toplevel"),
        *("form_submit", "reload", "keyword", "keyword_generated"),
    )
}
"""A command's `transitionType` → the transition type in the history; any other value becomes `typed`."""
WHITE: Final = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mP4DwABAQEAHLCMmQAAAABJRU5ErkJggg=="
"""A PNG of one pixel, in base64: the fake paints nothing."""


@modelled("Page.enable", FRAMES, by_renderer=True, parks=False)
def _page_enable(call: Call) -> Json:
    # The browser process sends its events at once, and the reply waits for the renderer (facts 15, 18).
    frame = call.target.frame
    if frame is not None and frame.started_params is not None and "Page" not in call.session.domains:
        call.world.emit(call.session, "Page.frameStartedNavigating", frame.started_params, frame)
    call.session.domains.add("Page")
    alone = call.target.is_navigating or call.target.renderer.absent or call.target.crashed
    call.session.page_known_to = "browser" if alone else ""

    def enable() -> None:
        call.session.page_known_to = ""
        call.session.domains.add("Page")
        call.answer({"result": {}})

    if not call.target.crashed:  # the next renderer will not get the command (fact 49)
        dialogs.when_unblocked(call.target, enable)
    return LATER


@modelled("Page.disable", FRAMES, by_renderer=True, parks=False)
def _page_disable(call: Call) -> Json:
    if call.world.profile == "headless-shell":  # it dismisses open dialogs (fact 24)
        call.session.domains.discard("Page")
        dialogs.leave(call.world, call.session)

    call.session.page_known_to = "renderer"
    call.session.page_disable_count += 1
    dialogs.disable(call.session)

    def disable() -> None:
        call.session.page_known_to = ""
        call.session.domains.discard("Page")
        lifecycle.disable(call.session)
        call.answer({"result": {}})

    dialogs.when_unblocked(call.target, disable)
    return LATER


@modelled("Page.navigate", FRAMES)
def _page_navigate(call: Call) -> Json:
    url = spelled(dialogs.whole(call.params["url"]))
    if url is None:
        raise Refused(-32000, "Cannot navigate to invalid URL")
    if call.params.get("referrerPolicy", "origin") not in REFERRER_POLICIES:
        raise Refused(-32602, "Invalid referrerPolicy")
    frame = call.world.frames.get(call.params.get("frameId", "")) or call.target.frame
    if frame is None or ("frameId" in call.params and frame.id != call.params["frameId"]):
        raise Refused(-32000, "No frame with given id found")
    if url.startswith("javascript:"):  # a command cannot run a script this way
        return {"frameId": frame.id, "errorText": "net::ERR_ABORTED"}
    base, _, fragment = url.partition("#")
    if fragment and base == (frame.next_document[1] or frame.url).partition("#")[0]:
        frames.give_up(call.world, frame)
        within: Json = {"frameId": frame.id, "isDownload": False}
        moves.navigate_within(call.world, frame, url, lambda: call.answer({"result": within}))
        return LATER
    # The reply precedes the commit (fact 56), so `started` sends it; `Page.disable` before that drops the reply.
    given_up = call.session.page_disable_count

    def started(made: str, failure: str | None) -> None:
        if call.session.page_disable_count == given_up:
            call.answer({"result": _navigated(frame.id, made, failure)})

    frames.navigate(
        call.world,
        frame,
        url,
        call.player.loaded,
        transition=TRANSITIONS.get(call.params.get("transitionType", ""), "typed"),
        started=started,
    )
    return LATER


def _navigated(frame_id: str, loader: str, failure: str | None) -> Json:
    named: Json = {"loaderId": loader} if loader else {}
    why: Json = {} if failure is None else {"errorText": failure}
    return {"frameId": frame_id, **named, **why, "isDownload": False}


@modelled("Page.reload", FRAMES)
def _page_reload(call: Call) -> Json:
    call.demand_top()
    frame = call.target.frame
    assert frame is not None
    if call.params.get("loaderId", frame.loader) != frame.loader:
        raise Refused(-32602, "Reload was discarded because the page already navigated")
    started = partial(call.answer, {"result": {}})
    frames.navigate(
        call.world,
        frame,
        frame.url,
        call.player.loaded,
        kind="reloadBypassingCache" if call.params.get("ignoreCache") else "reload",
        started=lambda _loader, _failure: started(),
    )
    return LATER


@modelled("Page.bringToFront", FRAMES)
def _bring_to_front(call: Call) -> Json:
    call.demand_top()
    windows.bring(call.world, call.target)
    return {}


@modelled("Page.stopLoading", FRAMES)
def _stop_loading(call: Call) -> Json:
    if call.target.frame is not None:
        frames.stop(call.world, call.target.frame)
    return {}


@modelled("Page.close", FRAMES)
def _page_close(call: Call) -> Json:
    call.demand_top()
    target = call.target
    close = partial(targets.close, call.world, target)
    if target.frame is None or target.crashed or (target.dialogs and not unloading.before_unload_dialog(target)):
        call.answer({"result": {}})
        close()
        return LATER
    frames.stop(call.world, target.frame)
    call.answer({"result": {}})
    unloading.ask(call.world, target.frame, close, _keep_open)
    return LATER


def _keep_open() -> None:
    """Do nothing: no event reports that a page stays open."""


@modelled("Page.crash", FRAMES, by_renderer=True, parks=False)
def _page_crash(call: Call) -> Json:
    if call.target.frame is not None and call.target.frame.started_params is not None and not call.target.held:
        raise Refused(-32000, "Page has pending navigations, not killing")
    # A stopped renderer executes it, except on a session that was attached while it was stopped.
    unknown_session = (
        call.session.blocker_at_attach is not None and call.session.blocker_at_attach is call.target.renderer.stopped_by
    )
    if unknown_session:
        dialogs.when_unblocked(call.target, partial(_crash, call))
    else:
        _crash(call)
    return LATER


def _crash(call: Call) -> None:
    if not (call.target.closed or call.target.crashed):
        targets.crash(call.world, call.target)


@modelled("Page.getFrameTree", FRAMES, by_renderer=True)
def _get_frame_tree(call: Call) -> Json:
    assert call.target.frame is not None
    return {"frameTree": tree(call.world, call.target.frame)}


@modelled("Page.captureScreenshot", FRAMES, by_renderer=True)
def _capture_screenshot(call: Call) -> Json:
    call.demand_top()
    if call.params.get("format", "png") not in ("jpeg", "png", "webp"):
        raise Refused(-32602, "Invalid image format")
    clip = call.params.get("clip", {"width": 1, "height": 1})
    for name in ("width", "height"):
        if clip[name] == 0:
            raise Refused(-32000, f"Cannot take screenshot with 0 {name}.")
    if call.target.crashed:
        raise Refused(-32603, "Internal error")
    painted: Json = {"data": WHITE}
    call.world.soon(lambda: call.world.soon(lambda: call.answer({"result": painted})))  # a screenshot takes a while
    return LATER


@modelled("Page.handleJavaScriptDialog", FRAMES)
def _handle_dialog(call: Call) -> Json:
    dialogs.answer(
        call.world,
        call.session,
        accept=call.params["accept"],
        text=call.params.get("promptText", ""),
        answered=lambda: call.answer({"result": {}}),
    )
    return LATER


@modelled("Page.getNavigationHistory", FRAMES)
def _get_history(call: Call) -> Json:
    call.demand_top()
    history = call.target.history
    return {"currentIndex": history.current_index, "entries": [each.shown() for each in history.entries]}


@modelled("Page.navigateToHistoryEntry", FRAMES)
def _go_to_entry(call: Call) -> Json:
    call.demand_top()
    entry = call.target.history.find(call.params["entryId"])
    if entry is None:
        raise Refused(-32602, "No entry with passed id")
    traversals.go(call.world, call.target, entry, call.player.loaded, lambda: call.answer({"result": {}}))
    return LATER


@modelled("Page.resetNavigationHistory", FRAMES)
def _reset_history(call: Call) -> Json:
    call.demand_top()
    call.target.history.reset()
    return {}
