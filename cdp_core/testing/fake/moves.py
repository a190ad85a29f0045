"""A document gets another address: by a command, by a script, or through the history. Nothing is loaded.

A command and the history close the dialogs of the page (fact 5), a script does not.
"""

from __future__ import annotations

from collections.abc import Callable

from cdp_core.sansio.wire import Json
from cdp_core.testing.fake import dialogs, lifecycle, sessions, unloading
from cdp_core.testing.fake.history import Entry
from cdp_core.testing.fake.parts import Frame
from cdp_core.testing.fake.world import World

__all__ = ["Started", "move_back", "navigate_within", "push_state"]

Started = Callable[[], None]
"""Called when something has begun, before what it leads to."""


def navigate_within(world: World, frame: Frame, url: str, started: Callable[[], None]) -> None:
    """Go to another place of the same document; that, too, closes dialogs (fact 5)."""
    target = frame.target
    loader = world.ids.new("loader")
    begun = {"frameId": frame.id, "url": url, "loaderId": loader, "navigationType": "sameDocument"}
    world.emit_to(target, "Page", "Page.frameStartedNavigating", begun, frame)
    world.emit_to(target, "Page", "Page.frameStartedLoading", {"frameId": frame.id}, frame)
    asking = unloading.open_question(target.page)
    dialogs.close_all(world, target, told_of=started, but=asking)

    def come() -> None:
        if target.closed:
            return
        _record_move(frame, url, "typed", anew=True)
        frame.url = url
        world.emit_to(target, "Page", "Page.navigatedWithinDocument", _within(frame, "fragment"), frame)
        _move_to(world, frame, url)
        world.emit_to(target, "Page", "Page.frameStoppedLoading", {"frameId": frame.id}, frame)

    if asking is not None or world.profile == "headless-shell":
        dialogs.when_free(frame, come)  # a dialog stays, and the renderer comes to it when that is gone
    else:
        come()


def push_state(world: World, frame: Frame, url: str) -> None:
    """A script says that its document has another address now: that is told as a load, unless one is on its way."""
    if frame.load is None:
        world.emit_to(frame.target, "Page", "Page.frameStartedLoading", {"frameId": frame.id}, frame)
    _record_move(frame, url, "link")
    _move_to(world, frame, url)
    world.emit_to(frame.target, "Page", "Page.navigatedWithinDocument", _within(frame, "historyApi"), frame)
    if frame.load is None:
        world.emit_to(frame.target, "Page", "Page.frameStoppedLoading", {"frameId": frame.id}, frame)


def move_back(world: World, frame: Frame, entry: Entry, started: Started) -> None:
    """Go to another place of the same document through the history."""
    target, history = frame.target, frame.target.history
    loader = world.ids.new("loader")
    begun = {"frameId": frame.id, "url": entry.url, "loaderId": loader, "navigationType": "historySameDocument"}
    world.emit_to(target, "Page", "Page.frameStartedNavigating", begun, frame)
    world.emit_to(target, "Page", "Page.frameStartedLoading", {"frameId": frame.id}, frame)
    dialogs.close_all(world, target, told_of=started)

    def come() -> None:
        if target.closed or entry not in history.entries:
            return
        history.go_to(entry)
        _move_to(world, frame, entry.url)
        world.emit_to(target, "Page", "Page.navigatedWithinDocument", _within(frame, "fragment"), frame)
        world.emit_to(target, "Page", "Page.frameStoppedLoading", {"frameId": frame.id}, frame)

    world.soon(lambda: lifecycle.void(dialogs.when_free(frame, come)))


def _record_move(frame: Frame, url: str, transition: str, *, anew: bool = False) -> None:
    history = frame.target.page.history
    if frame.parent is None:
        history.move_within(url, transition, anew=anew)
    else:
        history.move_inside(frame.id, url, instead=url == frame.url)


def _within(frame: Frame, kind: str) -> Json:
    return {"frameId": frame.id, "url": frame.url, "navigationType": kind}


def _move_to(world: World, frame: Frame, url: str) -> None:
    target = frame.target
    frame.url = url
    if frame is target.frame:
        target.url, target.title = url, url
        sessions.changed(world, target)
