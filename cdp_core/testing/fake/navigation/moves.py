"""Navigations within a document, which change its URL and load nothing: by command, script or history.

A command and the history close the dialogs of the page (fact 5), a script does not. While the document loads, a command
or a script sends no `Page.frameStoppedLoading`: only the end of the load does.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from cdp_core.sansio.messages import Json
from cdp_core.testing.fake.model import dialogs, sessions, unloading
from cdp_core.testing.fake.model.addresses import resolve_url
from cdp_core.testing.fake.model.history import Entry
from cdp_core.testing.fake.model.parts import Frame
from cdp_core.testing.fake.navigation import lifecycle, loading
from cdp_core.testing.fake.navigation.navigations import emit_cleared, emit_requested, emit_scheduled
from cdp_core.testing.fake.world import World

Started = Callable[[], None]
"""Called when a navigation has begun, before its effects."""


def navigate_within(world: World, frame: Frame, url: str, started: Callable[[], None]) -> None:
    """Navigate within the document by a command, which closes dialogs (fact 5)."""
    target = frame.target
    _emit_started(world, frame, url, "sameDocument")
    asking = unloading.before_unload_dialog(target.page)
    if asking is None and world.profile == "headless-new":
        loading.hold_back(frame)
    dialogs.close_all(world, target, on_closed=started, but=asking)

    commit = partial(_commit_by_browser, world, frame, url, "typed")
    if asking is not None or world.profile == "headless-shell":
        dialogs.when_unblocked(frame, commit)  # the renderer commits when that dialog has closed
    else:
        commit()


def _commit_by_browser(world: World, frame: Frame, url: str, transition: str) -> None:
    target = frame.target
    if target.closed:
        return
    _record_move(frame, url, transition, new_entry=True)
    frame.url = url
    world.emit_to(target, "Page", "Page.navigatedWithinDocument", _within(frame, "fragment"), frame)
    _move_to(world, frame, url)
    _emit_stopped(world, frame)
    loading.let_go(frame)


def go_within_from_above(world: World, frame: Frame, url: str, reason: str) -> None:
    """Navigate within the document by a script of the parent's process, which goes through the browser."""
    emit_requested(world, frame, url, reason, own=False)
    _emit_started(world, frame, url, "sameDocument")
    world.soon(
        lambda: lifecycle.void(dialogs.when_unblocked(frame, partial(_commit_by_browser, world, frame, url, "link")))
    )


def _emit_started(world: World, frame: Frame, url: str, kind: str) -> None:
    started_params = {"frameId": frame.id, "url": url, "loaderId": world.ids.new("loader"), "navigationType": kind}
    world.emit_to(frame.target, "Page", "Page.frameStartedNavigating", started_params, frame)
    world.emit_to(frame.target, "Page", "Page.frameStartedLoading", {"frameId": frame.id}, frame)


def push_state(world: World, frame: Frame, url: str) -> None:
    """Set the document's URL as `history.pushState` does."""
    _commit_by_script(world, frame, resolve_url(frame.url, url), "historyApi", replace_entry=False)


def go_within(world: World, frame: Frame, url: str, reason: str, *, replace_entry: bool) -> None:
    """Navigate within the document by a script of the same process."""
    emit_scheduled(world, frame, url, reason)
    _commit_by_script(world, frame, url, "fragment", replace_entry=replace_entry or frame.load is not None)
    emit_cleared(world, frame)


def _commit_by_script(world: World, frame: Frame, url: str, kind: str, *, replace_entry: bool) -> None:
    """Commit a script's move; it is reported as a load unless the document is loading."""
    if frame.load is None:
        world.emit_to(frame.target, "Page", "Page.frameStartedLoading", {"frameId": frame.id}, frame)
    _record_move(frame, url, "link", replace_entry=replace_entry)
    _move_to(world, frame, url)
    world.emit_to(frame.target, "Page", "Page.navigatedWithinDocument", _within(frame, kind), frame)
    _emit_stopped(world, frame)


def _emit_stopped(world: World, frame: Frame) -> None:
    if frame.load is None:
        world.emit_to(frame.target, "Page", "Page.frameStoppedLoading", {"frameId": frame.id}, frame)


def move_back(world: World, frame: Frame, url: str, entry: Entry, started: Started) -> None:
    """Navigate within the document to a history entry, which closes dialogs."""
    target, history = frame.target, frame.target.page.history
    _emit_started(world, frame, url, "historySameDocument")
    dialogs.close_all(world, target, on_closed=started)

    def commit() -> None:
        if target.closed or entry not in history.entries:
            return
        history.select(entry)
        _move_to(world, frame, url)
        world.emit_to(target, "Page", "Page.navigatedWithinDocument", _within(frame, "fragment"), frame)
        world.emit_to(target, "Page", "Page.frameStoppedLoading", {"frameId": frame.id}, frame)

    world.soon(lambda: lifecycle.void(dialogs.when_unblocked(frame, commit)))


def _record_move(
    frame: Frame, url: str, transition: str, *, new_entry: bool = False, replace_entry: bool = False
) -> None:
    history = frame.target.page.history
    if frame.parent is None:
        here = history.current
        kept = here.transition if here is not None and replace_entry else transition
        history.record_same_document(url, kept, new_entry=new_entry, replace_entry=replace_entry)
    else:
        history.record_subframe(frame.id, url, replace_entry=replace_entry or url == frame.url)


def _within(frame: Frame, kind: str) -> Json:
    return {"frameId": frame.id, "url": frame.url, "navigationType": kind}


def _move_to(world: World, frame: Frame, url: str) -> None:
    target = frame.target
    frame.url = url
    if frame is target.frame:
        target.url, target.title = url, url
        sessions.emit_info_changed(world, target)
