"""Frames: how they come, ask for a document, and go.

The order of what one frame's life says is fixed (fact 38); between frames it is not, which is why every message here is
about its frame, and about nothing else. No `frameNavigated` is told at a child that nobody paused in time (fact 40).

A navigation begins, is answered, and is committed after that (`World.soon`): how the document comes then is told in
`commits.py`, how a frame changes its process on the way in `swaps.py`, what the one before leaves behind in `leaving.py`,
and how it loads in `loading.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from cdp_core.testing.fake import cache, commits, contexts, dialogs, fetching, leaving, lifecycle, loading, targets
from cdp_core.testing.fake.addresses import failure_of, site_of, title_of
from cdp_core.testing.fake.fetching import Answered, Asked
from cdp_core.testing.fake.frame_shapes import described
from cdp_core.testing.fake.history import Entry
from cdp_core.testing.fake.loading import Loaded
from cdp_core.testing.fake.navigations import (
    Navigation,
    failure_by,
    has_no_script,
    referrer_of,
    tell_begin,
    tell_wish,
    type_of,
)
from cdp_core.testing.fake.parts import Frame, Target
from cdp_core.testing.fake.world import ERROR_PAGE, World

__all__ = ["abort", "add_frame", "navigate", "open_document", "remove_frame", "stop"]


# ── asking for a document ────────────────────────────────────────────────────────────────────────────────────────────


def navigate(
    world: World,
    frame: Frame,
    url: str,
    loaded: Loaded,
    *,
    reason: str = "",
    kind: str = "differentDocument",
    transition: str = "",
    entry: Entry | None = None,
    started: Callable[[str, str | None], None] = lambda _loader, _failure: None,
) -> None:
    """Begin a navigation; it is committed when that was answered, and its target may run, and nothing stops its process.

    `started` is told the loader, and the failure if it comes to nothing: the reply to a command comes before what it leads
    to (fact 56), and after the dialogs that it closes. `reason` is why, where no command asked for it; `entry` is the place
    in the history that it goes to.
    """
    abort(world, frame)
    going = Navigation(
        frame,
        frame.target,
        url,
        world.ids.new("loader"),
        kind,
        transition or ("link" if reason else "typed"),
        instead=bool(reason) and frame.load is not None,
        entry=entry,
    )
    if frame.parent is None:
        targets.revive(world, frame.target)
    frame.navigating, frame.begun = going.loader, going.begun
    if kind != "reload":
        frame.referrer = referrer_of(frame, reason)
    if reason:
        tell_wish(world, going, reason)
    else:
        tell_begin(world, going)
    tell = started
    if kind == "reload" or entry is not None:
        started(going.loader, None)
        tell = _nobody
    if frame.parent is None:
        dialogs.close_all(world, frame.target)

    def answered(came: Answered) -> None:
        frame.ended = lambda _why: None
        tell(going.loader, failure_by(came))
        world.soon(partial(_arrive, world, going, loaded, came))

    def go_on() -> None:
        asked = Asked(url=url, kind="Document", frame=frame, target=going.target, referrer=frame.referrer)
        if url.startswith("http") and not _is_kept(going) and fetching.concerned(world, asked):
            frame.ended = partial(tell, going.loader)
            world.soon(partial(_ask, world, going, asked, answered))
        else:
            answered(Answered(failure=failure_of(url)))

    if frame.target.held:
        frame.target.when_run.append(partial(world.soon, go_on))
    else:
        go_on()


def abort(world: World, frame: Frame) -> None:
    """A navigation that somebody has a say in, and that is not answered yet, comes to nothing."""
    fetching.drop(world, frame)
    ended, frame.ended = frame.ended, _of_no_interest
    ended("net::ERR_ABORTED")


def stop(world: World, frame: Frame) -> None:
    """The same, with nothing in its place."""
    if any(request.asked.frame is frame and request.asked.kind == "Document" for request in world.requests):
        abort(world, frame)
        _stay(world, frame, frame.target)


def _of_no_interest(_why: str | None) -> None:
    """Nobody asked for the navigation, or it was answered."""


def _nobody(_loader: str, _failure: str | None) -> None:
    """Who was answered before is not answered again."""


def _ask(world: World, going: Navigation, asked: Asked, answered: Callable[[Answered], None]) -> None:
    if not going.target.closed and going.frame.navigating == going.loader:
        fetching.ask(world, asked, answered)


def _arrive(world: World, going: Navigation, loaded: Loaded, came: Answered) -> None:
    """The document is there, unless the frame or its wish for it has gone meanwhile."""
    frame, url, failure = going.frame, going.url, failure_by(came)
    if going.target.closed or world.frames.get(frame.id) is not frame or frame.navigating != going.loader:
        return
    if failure == "net::ERR_ABORTED":
        _stay(world, frame, going.target)
        return
    if frame.parent is not None and frame.renderer.stopped:
        frame.renderer.parked.append(partial(_arrive, world, going, loaded, came))
        return
    if _is_kept(going):
        commits.restore(world, going)
        return
    if going.entry is not None and going.entry.kept is not None and frame.parent is None:
        cache.drop(world, frame.target, going.entry, "ConflictingBrowsingInstance")
    standing = frame.renderer.stopped if world.profile == "headless-shell" else frame.renderer.asked is not None
    if standing and site_of(url) == site_of(frame.url):
        dialogs.leave_document(frame.target)
        # The script that waits is not heard of any more, and still holds the process (fact 33).
        targets.break_off(world, frame.target, "Inspected target navigated or closed")
        frame.left = True
        frame.renderer.parked.insert(0, partial(_arrive, world, going, loaded, came))
        return
    frame.navigating, frame.begun, frame.left = "", None, False
    frame.unreachable = url if failure else ""
    frame.mime = "" if failure else type_of(came)
    if came.body is not None:
        loaded = has_no_script
    commits.commit(world, going, ERROR_PAGE if frame.unreachable else url, loaded)


def _is_kept(going: Navigation) -> bool:
    entry, here = going.entry, going.target.history.current
    if entry is None or entry.kept is None or going.frame.parent is not None:
        return False
    return here is not None and entry.instance != here.instance


def _stay(world: World, frame: Frame, told: Target) -> None:
    """The document stays that was there."""
    frame.navigating, frame.begun = "", None
    world.emit_to(told, "Page", "Page.frameStoppedLoading", {"frameId": frame.id}, frame)
    if frame.parent is not None:
        loading.end(world, frame.parent)


def open_document(world: World, frame: Frame, url: str, loaded: Loaded) -> None:
    """The first document of a page that was opened with it: it is there at once, and loads as soon as the page may run."""
    target = frame.target
    target.history.come_to(
        url, "typed" if world.profile == "headless-shell" else "auto_toplevel", instead=False, swaps=True
    )
    if url != "about:blank":
        frame.url, frame.loader = url, world.ids.new("loader")

    def load() -> None:
        if target.closed or frame.navigating or frame.url != url:
            return
        asked = Asked(url=url, kind="Document", frame=frame, target=target)
        if url.startswith("http") and fetching.concerned(world, asked):
            fetching.ask(world, asked, come)
        else:
            come(Answered())

    def come(came: Answered) -> None:
        if target.closed or frame.navigating or frame.url != url or failure_by(came) == "net::ERR_ABORTED":
            return
        world.new_document(frame)
        if failure_by(came) is None:
            targets.retitled(world, target, title_of(url))
            contexts.run_scripts(world, frame)
            loading.begin(world, frame, loaded if came.body is None else has_no_script)
        else:
            frame.unreachable = url
            commits.show(world, frame, ERROR_PAGE, frame.loader, loaded, keep=False)

    if target.held:
        target.when_run.append(load)
    else:
        world.soon(load)


# ── coming and going ─────────────────────────────────────────────────────────────────────────────────────────────────


def add_frame(world: World, parent: Frame, url: str, name: str, loaded: Loaded) -> Frame:
    """A script adds an iframe element."""
    frame = Frame(world.ids.new("frame"), parent.target, parent, parent.renderer, name=name, source=url)
    parent.children.append(frame)
    world.frames[frame.id] = frame
    call = {"functionName": "", "scriptId": "3", "url": parent.url, "lineNumber": 0, "columnNumber": 8}
    attached = {"frameId": frame.id, "parentFrameId": parent.id, "stack": {"callFrames": [call]}}
    world.emit_to(parent.target, "Page", "Page.frameAttached", attached, frame)
    lifecycle.begin_empty(world, frame)
    if url == "about:blank":
        _show_empty(world, frame)
    else:
        navigate(world, frame, url, loaded, reason="initialFrameNavigation")
    return frame


def _show_empty(world: World, frame: Frame) -> None:
    """The empty document of a new frame is there at once."""
    frame.loader = world.ids.new("loader")
    requested = {
        "frameId": frame.id,
        "reason": "initialFrameNavigation",
        "url": frame.url,
        "disposition": "currentTab",
    }
    world.emit_to(frame.target, "Page", "Page.frameRequestedNavigation", requested, frame)
    lifecycle.begin(world, frame, frame.loader)
    world.emit_to(
        frame.target, "Page", "Page.frameNavigated", {"frame": described(world, frame), "type": "Navigation"}, frame
    )
    world.emit_to(frame.target, "Page", "Page.frameStartedLoading", {"frameId": frame.id}, frame)
    contexts.make(world, frame)
    for name in (lifecycle.PARSED, "load"):
        lifecycle.reach(world, frame, name)
    world.emit_to(frame.target, "Page", "Page.frameStoppedLoading", {"frameId": frame.id}, frame)


def remove_frame(world: World, frame: Frame) -> None:
    """A script removes an iframe element: children first, and an OOPIF's session after its frame (fact 38)."""
    parent = frame.parent
    assert parent is not None
    for child in tuple(frame.children):
        if frame.target is parent.target:
            remove_frame(world, child)
    left = leaving.drop_children(world, frame, for_good=True)  # of a frame out of process nobody is left to tell
    detached = {"frameId": frame.id, "reason": "remove"}
    world.emit_to(parent.target, "Page", "Page.frameDetached", detached, frame, *left)
    if frame.target is parent.target:
        leaving.end_contexts(world, frame.target, frame)
    parent.children.remove(frame)
    world.frames.pop(frame.id, None)
    own = leaving.own_target(world, frame)
    if own is not None:
        targets.close(world, own)
    world.soon(lambda: loading.end(world, parent))
