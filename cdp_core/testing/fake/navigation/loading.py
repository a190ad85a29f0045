"""The loading of a document: its own script runs, then the frames that it made come to their documents.

When none of these is on its way any more the load event is told, and the document above is asked the same.

A dialog that a navigation closes lets the script go on that it stopped, and with it the load. Its end is told as a beginning
where the next document is still on its way. What is at hand is there before that end, which is not told then.
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
"""Runs a document's own script, which adds frames, logs, opens dialogs; then calls what it was given."""


def begin(world: World, frame: Frame, loaded: Loaded) -> None:
    """Run the document's script; what frames it makes come to their documents after that."""
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
        if frame.renderer.parked:  # what a dialog kept waiting comes first
            world.soon(lambda: end(world, frame))
        else:
            end(world, frame)

    loaded(frame, over)


def end(world: World, frame: Frame) -> None:
    """A page's or an OOPIF's document says that it is loaded; a frame inside only that it stopped."""
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
        _ask_for_picture(world, frame)


def hold_back(frame: Frame) -> None:
    """The rest of the loads in this process waits."""
    for each in frame.subtree():
        if each.target is frame.target and each.load is not None:
            each.load.held_back = []


def let_go(frame: Frame) -> None:
    """It waits no more."""
    for each in frame.subtree():
        if each.load is not None and each.load.held_back is not None:
            rest, each.load.held_back = each.load.held_back, None
            for act in rest:
                act()


def break_off(world: World, frame: Frame, left: Iterable[Frame]) -> None:
    """The document gives way to what is at hand, and with it those inside."""
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
    """Nothing comes to these frames any more, which are gone: whoever has a say in that has none now."""
    for each in left:
        if each.started_params is not None and each.target is target:
            fetching.drop(world, each)
            world.emit_to(target, "Page", STOPPED, {"frameId": each.id}, each)


def _ask_for_picture(world: World, frame: Frame) -> None:
    """The browser wants the picture of a site for its tab; who has a say in requests is asked about that, too."""
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
