"""The loading of a document: its own script runs, then the frames that it made come to their documents.

When none of these is on its way any more the load event is told, and the document above is asked the same.
"""

from __future__ import annotations

from collections.abc import Callable

from cdp_core.testing.fake import fetching, lifecycle
from cdp_core.testing.fake.fetching import Asked
from cdp_core.testing.fake.parts import Frame, Load
from cdp_core.testing.fake.world import World

__all__ = ["Loaded", "begin", "end"]

Loaded = Callable[[Frame, Callable[[], None]], None]
"""Runs a document's own script, which adds frames, logs, opens dialogs; then calls what it was given."""


def begin(world: World, frame: Frame, loaded: Loaded) -> None:
    """Run the document's script; what frames it makes come to their documents after that."""
    load = frame.load = Load()

    def over() -> None:
        if frame.load is not load or frame.target.closed:
            return
        load.parsed = True
        if frame is frame.target.frame:
            moment = {"timestamp": world.timestamp}
            world.emit_to(frame.target, "Page", "Page.domContentEventFired", moment, frame)
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
    frame.load = None
    target = frame.target
    if frame is target.frame:
        world.emit_to(target, "Page", "Page.loadEventFired", {"timestamp": world.timestamp}, frame)
    lifecycle.reach(world, frame, "load")
    world.emit_to(target, "Page", "Page.frameStoppedLoading", {"frameId": frame.id}, frame)
    if frame.parent is not None:
        end(world, frame.parent)
    else:
        _ask_for_picture(world, frame)


def _ask_for_picture(world: World, frame: Frame) -> None:
    """The browser wants the picture of a site for its tab; who has a say in requests is asked about that, too."""
    site = frame.origin
    if site == "://" or frame.unreachable or world.profile == "headless-shell":
        return
    url = f"{site}/favicon.ico"
    asked = Asked(url=url, kind="Other", frame=frame, target=frame.target, referrer=frame.url, priority="High")
    if any(each.wants(asked, response=back) for each in fetching.concerned(world, asked) for back in (False, True)):
        world.soon(lambda: fetching.ask(world, asked, lambda _answered: None))
