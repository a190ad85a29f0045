"""Frames and their documents: what is said of a navigation, of a frame that comes, goes, or changes its process.

The order of what one frame's life says is fixed (fact 38); between frames it is not, which is why every message here is
about its frame, and about nothing else. What navigation does not say is as exact: no `frameDetached` for the frames of the
document that is left (fact 9), but for those out of process where nobody can come back to it, as after a reload; no
`frameNavigated` at a child that nobody paused in time (fact 40).

A navigation begins, is answered, and is committed after that (`World.soon`): then the document's script runs, then the
frames that it made come to their documents, and when none is on its way any more the load event is told.

A frame whose site is not its parent's has a process, a target and a session of its own. It keeps its id, which is its
target's (fact 39): promotion is `attachedToTarget`, then `frameDetached` with the reason "swap" on the session above;
demotion is `detachedFromTarget`, then `frameAttached` with the same id there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from cdp_core.sansio.wire import Json
from cdp_core.testing.fake import cache, contexts, dialogs, fetching, lifecycle, targets
from cdp_core.testing.fake.contexts import document_url
from cdp_core.testing.fake.fetching import Answered, Asked
from cdp_core.testing.fake.frame_shapes import described, tree
from cdp_core.testing.fake.history import Entry
from cdp_core.testing.fake.navigations import (
    Navigation,
    failure_by,
    has_no_script,
    referrer_of,
    tell_begin,
    tell_wish,
    type_of,
)
from cdp_core.testing.fake.world import (
    ERROR_PAGE,
    Frame,
    Load,
    Renderer,
    Target,
    World,
    failure_of,
    origin_of,
    site_of,
    title_of,
)

__all__ = [
    "abort",
    "add_frame",
    "described",
    "move_back",
    "navigate",
    "navigate_within",
    "open_document",
    "push_state",
    "remove_frame",
    "stop",
    "tree",
]

Loaded = Callable[[Frame, Callable[[], None]], None]
"""Runs a document's own script, which adds frames, logs, opens dialogs; then calls what it was given."""
Started = Callable[[], None]
"""Called when something has begun, before what it leads to."""


# ── one document ─────────────────────────────────────────────────────────────────────────────────────────────────────


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
        _restore(world, going)
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
    _commit(world, going, ERROR_PAGE if frame.unreachable else url, loaded)


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
        _end_load(world, frame.parent)


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
            _begin_load(world, frame, loaded if came.body is None else has_no_script)
        else:
            frame.unreachable = url
            _show(world, frame, ERROR_PAGE, frame.loader, loaded, keep=False)

    if target.held:
        target.when_run.append(load)
    else:
        world.soon(load)


def navigate_within(world: World, frame: Frame, url: str, started: Callable[[], None]) -> None:
    """Go to another place of the same document; that, too, closes dialogs (fact 5)."""
    target = frame.target
    loader = world.ids.new("loader")
    begun = {"frameId": frame.id, "url": url, "loaderId": loader, "navigationType": "sameDocument"}
    world.emit_to(target, "Page", "Page.frameStartedNavigating", begun, frame)
    world.emit_to(target, "Page", "Page.frameStartedLoading", {"frameId": frame.id}, frame)
    dialogs.close_all(world, target, told_of=started)

    def come() -> None:
        if target.closed:
            return
        _record_move(frame, url, "typed")
        frame.url = url
        world.emit_to(target, "Page", "Page.navigatedWithinDocument", _within(frame, "fragment"), frame)
        _move_to(world, frame, url)
        world.emit_to(target, "Page", "Page.frameStoppedLoading", {"frameId": frame.id}, frame)

    if world.profile == "headless-shell":
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


def _record_move(frame: Frame, url: str, transition: str) -> None:
    history = frame.target.page.history
    if frame.parent is None:
        history.move_within(url, transition)
    else:
        history.move_inside(frame.id, url, instead=url == frame.url)


def _within(frame: Frame, kind: str) -> Json:
    return {"frameId": frame.id, "url": frame.url, "navigationType": kind}


def _move_to(world: World, frame: Frame, url: str) -> None:
    target = frame.target
    frame.url = url
    if frame is target.frame:
        target.url, target.title = url, url
        targets.changed(world, target)


def _commit(world: World, going: Navigation, url: str, loaded: Loaded) -> None:
    frame, loader = going.frame, going.loader
    own = frame.target.type == "iframe" and frame.target.frame is frame
    outside = frame.parent is not None and site_of(url) not in ("", site_of(document_url(frame.parent)))
    waiting = _own_target(world, frame)
    if waiting is not None and not own and not outside:  # it was to change its process, and has not yet
        waiting.frame = None
        targets.close(world, waiting)
    if frame.parent is not None:
        _record_inside(going)
    if outside and not own:
        _promote(world, frame, url, loader, loaded)
    elif own and not outside:
        _demote(world, frame, url, loader, loaded)
    elif frame.parent is not None:
        _show(world, frame, url, loader, loaded, keep=False)
    else:
        reasons = None if going.entry is None else going.entry.reasons
        keep = _leave(world, going, _go_in_history)
        _show(world, frame, url, loader, loaded, keep=keep, reasons=reasons)


# ── the history ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _leave(world: World, going: Navigation, go: Callable[[Navigation, bool], bool]) -> bool:
    """The page goes to another place in its history; whether the document that is left is kept."""
    frame, history = going.frame, going.frame.target.history
    here, reasons = history.current, cache.why_not(world, frame)
    if here is not None and going.entry is not None and going.entry.instance == here.instance:
        reasons.append("BrowsingInstanceNotSwapped")
    kept = cache.taken(frame)
    went = go(going, not reasons)
    history.lost = False
    if here is None or not went:
        return False
    here.reasons = reasons
    if not reasons:
        cache.keep(world, frame.target, here, kept)
    return not reasons


def _go_in_history(going: Navigation, swaps: bool) -> bool:
    """Whether the entry is another one then, and the one before is still there."""
    history, failed = going.frame.target.history, going.frame.unreachable
    here = history.current
    if going.entry is not None:
        history.go_to(going.entry)
        return True
    if going.kind == "reload" and here is not None:
        here.transition = "reload"
        return False
    instead = here is not None and (going.instead or here.url == going.url)
    title = origin_of(failed).partition("://")[2].partition(":")[0] if failed else ""
    history.come_to(going.url, going.transition, instead=instead, swaps=swaps and not instead, title=title)
    return not instead


def _record_inside(going: Navigation) -> None:
    frame, history = going.frame, going.frame.target.page.history
    if going.entry is not None:
        history.go_to(going.entry)
        return
    first = not frame.loader or frame.url == "about:blank"
    instead = first or going.instead or going.url == frame.url
    history.move_inside(frame.id, going.url, instead=instead)


def _restore(world: World, going: Navigation) -> None:
    """A document that was kept is there again, as it was (fact 43)."""
    frame, entry = going.frame, going.entry
    assert entry is not None
    frame.navigating, frame.begun, frame.left = "", None, False
    targets.break_off(world, frame.target, "Inspected target navigated or closed")
    keep = _leave(world, going, _go_in_history)
    left = _drop_children(world, frame)
    frame.load = None
    _forget(world, frame.target, left, keep=keep)
    cache.put_back(world, frame, entry, going.url)


# ── another document ─────────────────────────────────────────────────────────────────────────────────────────────────


def _show(
    world: World,
    frame: Frame,
    url: str,
    loader: str,
    loaded: Loaded,
    *,
    keep: bool,
    reasons: list[str] | None = None,
) -> None:
    """The new document is there: told where the frame is, on the sessions of its own target.

    `reasons` are those for which one that is come back to was not kept.
    """
    left = _drop_children(world, frame)
    forwarded: list[Callable[[], None]] = []
    top = frame is frame.target.frame
    kept_window = top and _keeps_window(frame, url)
    if kept_window:
        lifecycle.begin(world, frame, loader)  # its scripts have the window that they had before there was a document
    elif top:
        targets.break_off(world, frame.target, "Inspected target navigated or closed")
        frame.target.said.clear()
        if site_of(url) != site_of(frame.url) and (frame.url != "about:blank" or frame.target.type == "iframe"):
            forwarded = _taken_over(frame.renderer)
            _move(frame, world.new_renderer())
        world.emit_to(frame.target, "Runtime", "Runtime.executionContextsCleared", {}, frame)
        _forget(world, frame.target, left, keep=keep)
        lifecycle.begin(world, frame, loader)
        # Once for the process that is left, once for the one that is come to.
        world.emit_to(frame.target, "Runtime", "Runtime.executionContextsCleared", {}, frame)
    else:
        _end_contexts(world, frame.target, frame)
        _forget(world, frame.target, left, keep=False)
        lifecycle.begin(world, frame, loader)
    frame.url, frame.loader = url, loader
    world.new_document(frame)
    if not kept_window:
        frame.context = 0
    navigated = {"frame": described(world, frame), "type": "Navigation"}
    world.emit_to(frame.target, "Page", "Page.frameNavigated", navigated, frame, *left)
    if reasons is not None:
        cache.tell_unused(world, frame, reasons)
    if top:
        address = frame.unreachable or url
        frame.target.url, frame.target.title = address, title_of(address) if frame.parent is None else address
        targets.changed(world, frame.target)
    if not frame.context:
        contexts.make(world, frame)
    for act in forwarded:
        act()
    _begin_load(world, frame, loaded)


def _taken_over(left: Renderer) -> list[Callable[[], None]]:
    """What a process was asked that a script holds: the process of the next document answers it."""
    if not left.stopped:
        return []
    parked, left.parked = left.parked, []
    return parked


def _keeps_window(frame: Frame, url: str) -> bool:
    """The empty document of a popup is its opener's; the first one that comes from the same place takes its window over."""
    empty = frame.url == "about:blank" and not frame.loader and frame.target.can_access_opener
    return empty and origin_of(url) == origin_of(document_url(frame)) != "://"


# ── loading ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _begin_load(world: World, frame: Frame, loaded: Loaded) -> None:
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
            world.soon(lambda: _end_load(world, frame))
        else:
            _end_load(world, frame)

    loaded(frame, over)


def _end_load(world: World, frame: Frame) -> None:
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
        _end_load(world, frame.parent)


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
    left = _drop_children(world, frame, for_good=True)  # of a frame out of process nobody is left to tell
    detached = {"frameId": frame.id, "reason": "remove"}
    world.emit_to(parent.target, "Page", "Page.frameDetached", detached, frame, *left)
    if frame.target is parent.target:
        _end_contexts(world, frame.target, frame)
    parent.children.remove(frame)
    world.frames.pop(frame.id, None)
    own = _own_target(world, frame)
    if own is not None:
        targets.close(world, own)
    world.soon(lambda: _end_load(world, parent))


def _drop_children(world: World, frame: Frame, *, for_good: bool = False) -> list[Frame]:
    """The document is left: nothing is said of its frames, but that the sessions of those out of process end.

    Where it goes `for_good`, so do they, with its target. The answer is all the frames that are gone.
    """
    left = [below for child in frame.children for below in child.subtree()]
    for each in left:
        world.frames.pop(each.id, None)
    for child in frame.children:
        if not for_good or frame.target.frame is not frame:
            _leave_own_targets(world, child)
    frame.children.clear()
    return left


def _leave_own_targets(world: World, frame: Frame) -> None:
    own = _own_target(world, frame)
    if own is not None and own is frame.target:
        targets.shelve(world, own)
        return
    if own is not None:  # it waited for its process; what is in its empty document has others
        targets.close(world, own)
    for child in frame.children:
        _leave_own_targets(world, child)


def _forget(world: World, above: Target, left: list[Frame], *, keep: bool) -> None:
    """Frames out of process of a document that nobody comes back to: these are told of, after all."""
    for frame in left:
        own = None if keep else _own_target(world, frame)
        if own is not None and frame.parent is not None and frame.parent.target is above:
            world.emit_to(above, "Page", "Page.frameDetached", {"frameId": frame.id, "reason": "remove"}, frame)
        if own is not None:
            targets.close(world, own)


def _own_target(world: World, frame: Frame) -> Target | None:
    """The target of a frame out of process, also while it waits to run (fact 39: it has the frame's id)."""
    return None if frame.parent is None else world.targets.get(frame.id)


# ── changing the process ─────────────────────────────────────────────────────────────────────────────────────────────


def _promote(world: World, frame: Frame, url: str, loader: str, loaded: Loaded) -> None:
    parent = frame.parent
    assert parent is not None
    above = frame.target
    target = _own_target(world, frame)
    if target is None:
        target = Target(frame.id, "iframe", above.context, world.new_renderer(), frame=frame, parent_frame=parent)
        targets.create_related(world, target, parent.target)
    target.when_run.clear()  # another document takes the place of one that has not begun
    frame.navigating = loader

    def go_on() -> None:
        if target.closed or target.crashed:
            return
        frame.navigating, frame.load = "", Load()
        left = _drop_children(world, frame)
        _forget(world, above, left, keep=False)
        old_contexts = contexts.ended(frame)
        frame.target = target
        _move(frame, target.renderer)
        _tell_document(world, frame, url, loader, left)
        # The two processes go on by themselves: what the new one says next may come before this.
        swapped = {"frameId": frame.id, "reason": "swap"}
        world.emit_to(above, "Page", "Page.frameDetached", swapped, behind=(frame,))
        for gone in old_contexts:
            world.emit_to(above, "Runtime", "Runtime.executionContextDestroyed", gone, behind=(frame,))
        contexts.make(world, frame)
        world.soon(lambda: _begin_load(world, frame, loaded))

    if target.held:
        target.when_run.append(go_on)
    else:
        go_on()


def _tell_document(world: World, frame: Frame, url: str, loader: str, left: list[Frame]) -> None:
    target = frame.target
    frame.url, frame.loader = url, loader
    world.new_document(frame)
    lifecycle.begin(world, frame, loader)
    world.emit_to(target, "Runtime", "Runtime.executionContextsCleared", {}, frame)
    navigated = {"frame": described(world, frame), "type": "Navigation"}
    world.emit_to(target, "Page", "Page.frameNavigated", navigated, frame, *left)
    target.url, target.title = url, url
    targets.changed(world, target)


def _demote(world: World, frame: Frame, url: str, loader: str, loaded: Loaded) -> None:
    parent = frame.parent
    assert parent is not None
    own = frame.target
    left = _drop_children(world, frame)
    frame.target = parent.target
    own.frame = None
    _move(frame, parent.renderer)
    targets.close(world, own, demoted=True)
    _forget(world, own, left, keep=False)
    frame.url, frame.loader, frame.context = url, loader, 0
    world.new_document(frame)
    attached = {"frameId": frame.id, "parentFrameId": parent.id}
    world.emit_to(parent.target, "Page", "Page.frameAttached", attached, frame)
    lifecycle.begin(world, frame, loader)
    navigated = {"frame": described(world, frame), "type": "Navigation"}
    world.emit_to(parent.target, "Page", "Page.frameNavigated", navigated, frame, *left)
    contexts.make(world, frame)
    _begin_load(world, frame, loaded)


def _end_contexts(world: World, target: Target, frame: Frame) -> None:
    for gone in contexts.ended(frame):
        world.emit_to(target, "Runtime", "Runtime.executionContextDestroyed", gone, frame)


def _move(frame: Frame, renderer: Renderer) -> None:
    frame.renderer = renderer
    if frame is frame.target.frame:
        frame.target.renderer = renderer
