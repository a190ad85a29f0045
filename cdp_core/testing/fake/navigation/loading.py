"""The loading of a document: its script runs, then the frames that the script added load theirs.

When no child frame is loading any more, the document's load ends, and the parent document is checked in the same way.

If a navigation closes a dialog, the script that the dialog stopped continues, and so does the load. While the next
document is still on its way, `Page.frameStartedLoading` reports the end of that load. A next document that is
available at once is committed before the load ends, and then the end is not reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from cdp_core.testing.fake.model import fetching
from cdp_core.testing.fake.model.fetching import ResourceRequest
from cdp_core.testing.fake.model.parts import Frame, Load, Target
from cdp_core.testing.fake.navigation import lifecycle
from cdp_core.testing.fake.world import World

STARTED: Final = "Page.frameStartedLoading"
STOPPED: Final = "Page.frameStoppedLoading"
Loaded = Callable[[Frame, Callable[[], None]], None]
"""Runs a document's script, which adds frames, logs and opens dialogs, and then calls the callback."""


def begin(world: World, frame: Frame, loaded: Loaded) -> None:
    """Run the document's script; the frames that it adds load their documents after that."""
    load = frame.load = Load()

    def over() -> None:
        if frame.load is not load or frame.target.closed:
            return
        if load.held_back is not None:
            load.held_back.append(over)
            return
        load.parsed = True
        if frame is frame.target.frame and not load.stopped:
            moment = {"timestamp": world.timestamp}
            world.emit_to(frame.target, "Page", "Page.domContentEventFired", moment, frame)
        if not load.stopped:
            lifecycle.reach(world, frame, lifecycle.PARSED)
        if frame.renderer.parked:  # commands that a dialog parked are answered first
            world.soon(lambda: end(world, frame))
        else:
            end(world, frame)

    loaded(frame, over)


def end(world: World, frame: Frame) -> None:
    """End a document's load if it was parsed and no child frame is loading.

    The top document of a page or OOPIF sends `Page.loadEventFired`; every frame sends `Page.frameStoppedLoading`.
    """
    if frame.load is None or not frame.load.parsed or any(child.busy for child in frame.children):
        return
    if frame.load.held_back is not None:
        frame.load.held_back.append(lambda: end(world, frame))
        return
    stopped, frame.load = frame.load.stopped, None
    target = frame.target
    if frame is target.frame and not stopped:
        world.emit_to(target, "Page", "Page.loadEventFired", {"timestamp": world.timestamp}, frame)
    if not stopped:
        lifecycle.reach(world, frame, "load")
    world.emit_to(target, "Page", STOPPED if frame.started_params is None else STARTED, {"frameId": frame.id}, frame)
    if frame.parent is not None:
        end(world, frame.parent)
    else:
        _request_favicon(world, frame)


def hold_back(frame: Frame) -> None:
    """Suspend the loads of the frame and of those below it on the same target."""
    for each in frame.subtree():
        if each.target is frame.target and each.load is not None:
            each.load.held_back = []


def let_go(frame: Frame) -> None:
    """Resume the loads that `hold_back` suspended."""
    for each in frame.subtree():
        if each.load is not None and each.load.held_back is not None:
            rest, each.load.held_back = each.load.held_back, None
            for act in rest:
                act()


def break_off(world: World, frame: Frame, left: Iterable[Frame]) -> None:
    """Report the end of a load: another document replaces this one and its child frames."""
    if frame.load is not None and frame.load.end_unreported:
        return
    if frame.load is not None and frame.load.held_back is not None:
        for each in left:
            if each.target is frame.target and each.load is not None:
                world.emit_to(frame.target, "Page", STOPPED, {"frameId": each.id}, each)
        world.emit_to(frame.target, "Page", STARTED, {"frameId": frame.id}, frame)
    elif frame.load is not None and frame.load.replaced_by_reload:
        world.emit_to(frame.target, "Page", STARTED, {"frameId": frame.id}, frame)


def break_off_inside(world: World, target: Target, left: Iterable[Frame]) -> None:
    """Cancel the navigations of frames that are gone, including requests that are paused in Fetch."""
    for each in left:
        if each.started_params is not None and each.target is target:
            fetching.drop(world, each)
            world.emit_to(target, "Page", STOPPED, {"frameId": each.id}, each)


def _request_favicon(world: World, frame: Frame) -> None:
    """Request the site's favicon, if a session's Fetch patterns would pause that request."""
    site = frame.origin
    if site == "://" or frame.unreachable or world.profile == "headless-shell":
        return
    url = f"{site}/favicon.ico"
    resource = ResourceRequest(
        url=url, kind="Other", frame=frame, target=frame.target, referrer=frame.url, priority="High"
    )
    if any(
        each.wants(resource, response=back)
        for each in fetching.interceptors_for(world, resource)
        for back in (False, True)
    ):
        world.soon(lambda: fetching.ask(world, resource, lambda _answered: None))
