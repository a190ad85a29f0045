"""The commands of the Page domain: navigation, dialogs, the tree."""

from __future__ import annotations

from functools import partial
from urllib.parse import quote

from cdp_core.sansio.wire import Json
from cdp_core.testing.fake import dialogs, frames, lifecycle, moves, targets
from cdp_core.testing.fake.call import FRAMES, LATER, Call, modelled
from cdp_core.testing.fake.dispatch_errors import Refused
from cdp_core.testing.fake.frame_shapes import tree


@modelled("Page.enable", FRAMES, by_renderer=True, parks=False)
def _page_enable(call: Call) -> Json:
    # The browser tells of its part at once, and the answer waits for the renderer (facts 15, 18).
    frame = call.target.frame
    if frame is not None and frame.begun is not None and call.target.held and "Page" not in call.session.domains:
        call.world.emit(call.session, "Page.frameStartedNavigating", frame.begun, frame)
    call.session.domains.add("Page")
    dialogs.when_free(call.target, lambda: call.answer({"result": {}}))
    return LATER


@modelled("Page.disable", FRAMES, by_renderer=True, parks=False)
def _page_disable(call: Call) -> Json:
    if call.world.profile == "headless-shell":  # it dismisses what is open (fact 24)
        call.session.domains.discard("Page")
        dialogs.leave(call.world, call.session)

    def disable() -> None:
        call.session.domains.discard("Page")
        lifecycle.disable(call.session)
        call.answer({"result": {}})

    dialogs.when_free(call.target, disable)
    return LATER


@modelled("Page.navigate", FRAMES)
def _page_navigate(call: Call) -> Json:
    frame = call.world.frames.get(call.params.get("frameId", "")) or call.target.frame
    if frame is None or ("frameId" in call.params and frame.id != call.params["frameId"]):
        raise Refused(-32000, "No frame with given id found")
    url = _spelled(call.params["url"])
    base, _, fragment = url.partition("#")
    if fragment and base == frame.url.partition("#")[0]:
        within: Json = {"frameId": frame.id, "isDownload": False}
        moves.navigate_within(call.world, frame, url, lambda: call.answer({"result": within}))
        return LATER
    # The reply precedes what the navigation commits (fact 56), so it is said in between.
    frames.navigate(
        call.world,
        frame,
        url,
        call.player.loaded,
        transition=call.params.get("transitionType", ""),
        started=lambda made, failure: call.answer({"result": _navigated(frame.id, made, failure)}),
    )
    return LATER


def _spelled(url: str) -> str:
    """A URL as a browser writes it. Raises Refused for what is none."""
    scheme, found, rest = url.partition(":")
    if not found or not scheme.replace("-", "").replace("+", "").isalnum():
        raise Refused(-32000, "Cannot navigate to invalid URL")
    bare = scheme in ("http", "https") and rest.startswith("//") and "/" not in rest[2:]
    spelled = "".join(each if each.isascii() else quote(each) for each in dialogs.whole(url))
    return f"{spelled}/" if bare and not {"?", "#"} & set(rest) else spelled


def _navigated(frame_id: str, loader: str, failure: str | None) -> Json:
    why: Json = {} if failure is None else {"errorText": failure}
    return {"frameId": frame_id, "loaderId": loader, **why, "isDownload": False}


@modelled("Page.reload", FRAMES)
def _page_reload(call: Call) -> Json:
    call.demand_top()
    frame = call.target.frame
    assert frame is not None
    started = partial(call.answer, {"result": {}})
    frames.navigate(
        call.world, frame, frame.url, call.player.loaded, kind="reload", started=lambda _loader, _failure: started()
    )
    return LATER


@modelled("Page.bringToFront", FRAMES)
def _bring_to_front(call: Call) -> Json:
    call.demand_top()
    return {}


@modelled("Page.stopLoading", FRAMES)
def _stop_loading(call: Call) -> Json:
    if call.target.frame is not None:
        frames.stop(call.world, call.target.frame)
    return {}


@modelled("Page.close", FRAMES)
def _page_close(call: Call) -> Json:
    call.demand_top()
    call.answer({"result": {}})
    targets.close(call.world, call.target)
    return LATER


@modelled("Page.crash", FRAMES, by_renderer=True, parks=False)
def _page_crash(call: Call) -> Json:
    targets.crash(call.world, call.target)
    return LATER


@modelled("Page.getFrameTree", FRAMES, by_renderer=True)
def _get_frame_tree(call: Call) -> Json:
    assert call.target.frame is not None
    return {"frameTree": tree(call.world, call.target.frame)}


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
