"""Frames and their documents: what is said of a navigation, of a frame that comes, goes, or changes its process.

The order of what one frame's life says is fixed (fact 38); between frames it is not, which is why every message here is
about its frame, and about nothing else. What navigation does not say is as exact: no `frameDetached` for the frames of the
document that is left (fact 9), no `frameNavigated` at a child that nobody paused in time (fact 40).

A frame whose site is not its parent's has a process, a target and a session of its own. It keeps its id, which is its
target's (fact 39): promotion is `attachedToTarget`, then `frameDetached` with the reason "swap" on the session above;
demotion is `detachedFromTarget`, then `frameAttached` with the same id there.
"""

from __future__ import annotations

from collections.abc import Callable

from cdp_core.sansio.wire import Json
from cdp_core.testing.fake import dialogs, targets
from cdp_core.testing.fake.world import Frame, Renderer, Target, World, origin_of, site_of

__all__ = ["add_frame", "announce_contexts", "described", "navigate", "remove_frame", "tree"]

Loaded = Callable[[Frame], None]
"""What is to happen while a document loads: its script adds frames, logs, opens dialogs."""


# ── one document ─────────────────────────────────────────────────────────────────────────────────────────────────────


def navigate(
    world: World,
    frame: Frame,
    url: str,
    loaded: Loaded,
    *,
    reason: str | None = None,
    started: Callable[[str], None] = lambda _loader: None,
) -> str:
    """Begin a navigation, and end it as soon as the target may run. The answer is the loader's id.

    `started` is told it in between: the reply to a command comes before what it leads to (fact 56).
    """
    loader = world.ids.new("loader")
    old = frame.target
    if reason is not None:
        requested = {"frameId": frame.id, "reason": reason, "url": url, "disposition": "currentTab"}
        world.emit_to(_above(frame), "Page", "Page.frameRequestedNavigation", requested, frame)
    begun = {"frameId": frame.id, "url": url, "loaderId": loader, "navigationType": "differentDocument"}
    world.emit_to(old, "Page", "Page.frameStartedNavigating", begun, frame)
    world.emit_to(old, "Page", "Page.frameStartedLoading", {"frameId": frame.id}, frame)
    started(loader)

    def commit() -> None:
        if old.closed or frame.id not in world.frames:
            return
        _commit(world, frame, url, loader, loaded)

    if old.held:
        old.when_run.append(commit)
    else:
        commit()
    return loader


def _commit(world: World, frame: Frame, url: str, loader: str, loaded: Loaded) -> None:
    if frame.parent is None:
        dialogs.close_all(world, frame.target)
    _drop_children(world, frame)
    own = frame.target.type == "iframe" and frame.target.frame is frame
    outside = frame.parent is not None and site_of(url) not in ("", site_of(_document_url(frame.parent)))
    waiting = _own_target(world, frame)
    if waiting is not None and not own and not outside:  # it was to change its process, and has not yet
        waiting.frame = None
        targets.close(world, waiting)
    if outside and not own:
        _promote(world, frame, url, loader, loaded)
    elif own and not outside:
        _demote(world, frame, url, loader, loaded)
    else:
        _show(world, frame, url, loader, loaded)


def _show(world: World, frame: Frame, url: str, loader: str, loaded: Loaded) -> None:
    """The new document is there: told where the frame is, on the sessions of its own target."""
    if frame is frame.target.frame and site_of(url) != site_of(frame.url):
        if frame.url != "about:blank" or frame.target.type == "iframe":
            _move(frame, world.new_renderer())
        world.emit_to(frame.target, "Runtime", "Runtime.executionContextsCleared", {}, frame)
    if frame is frame.target.frame:
        world.emit_to(frame.target, "Runtime", "Runtime.executionContextsCleared", {}, frame)
    elif frame.context:
        _destroy_context(world, frame)
    frame.url, frame.loader, frame.context = url, loader, 0
    world.emit_to(frame.target, "Page", "Page.frameNavigated", {"frame": described(frame), "type": "Navigation"}, frame)
    if frame is frame.target.frame:
        frame.target.url, frame.target.title = url, url
        targets.changed(world, frame.target)
    _make_context(world, frame)
    loaded(frame)
    _end_load(world, frame)


def _end_load(world: World, frame: Frame) -> None:
    """A page's or an OOPIF's document says that it is loaded; a frame inside only that it stopped."""
    target = frame.target
    if target.closed:
        return
    if frame is target.frame:
        world.emit_to(target, "Page", "Page.domContentEventFired", {"timestamp": world.timestamp}, frame)
        world.emit_to(target, "Page", "Page.loadEventFired", {"timestamp": world.timestamp}, frame)
    world.emit_to(target, "Page", "Page.frameStoppedLoading", {"frameId": frame.id}, frame)


# ── coming and going ─────────────────────────────────────────────────────────────────────────────────────────────────


def add_frame(world: World, parent: Frame, url: str, name: str, loaded: Loaded) -> Frame:
    """A script adds an iframe element."""
    frame = Frame(world.ids.new("frame"), parent.target, parent, parent.renderer, name=name)
    parent.children.append(frame)
    world.frames[frame.id] = frame
    attached = {"frameId": frame.id, "parentFrameId": parent.id}
    world.emit_to(parent.target, "Page", "Page.frameAttached", attached, frame)
    navigate(world, frame, url, loaded, reason="initialFrameNavigation")
    return frame


def remove_frame(world: World, frame: Frame) -> None:
    """A script removes an iframe element: children first, and an OOPIF's session after its frame (fact 38)."""
    parent = frame.parent
    assert parent is not None
    for child in tuple(frame.children):
        remove_frame(world, child)
    if frame.context and frame.target is parent.target:
        _destroy_context(world, frame)
    detached = {"frameId": frame.id, "reason": "remove"}
    world.emit_to(parent.target, "Page", "Page.frameDetached", detached, frame)
    parent.children.remove(frame)
    world.frames.pop(frame.id, None)
    own = _own_target(world, frame)
    if own is not None:
        targets.close(world, own)


def _drop_children(world: World, frame: Frame) -> None:
    """The document is left: nothing is said of its frames, but that the sessions of those out of process end."""
    for child in tuple(frame.children):
        for below in child.subtree():
            world.frames.pop(below.id, None)
        _close_own_targets(world, child)
    frame.children.clear()


def _close_own_targets(world: World, frame: Frame) -> None:
    own = _own_target(world, frame)
    if own is not None:
        targets.close(world, own)
        return
    for child in frame.children:
        _close_own_targets(world, child)


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

    def go_on() -> None:
        if target.closed or target.crashed:
            return
        old_context, old_unique = frame.context, frame.context_unique
        frame.target, frame.context = target, 0
        _move(frame, target.renderer)
        _tell_document(world, frame, url, loader)
        world.emit_to(above, "Page", "Page.frameDetached", {"frameId": frame.id, "reason": "swap"}, frame)
        if old_context:
            gone = {"executionContextId": old_context, "executionContextUniqueId": old_unique}
            world.emit_to(above, "Runtime", "Runtime.executionContextDestroyed", gone, frame)
        _make_context(world, frame)
        loaded(frame)
        _end_load(world, frame)

    if target.held:
        target.when_run.append(go_on)
    else:
        go_on()


def _tell_document(world: World, frame: Frame, url: str, loader: str) -> None:
    target = frame.target
    frame.url, frame.loader = url, loader
    world.emit_to(target, "Runtime", "Runtime.executionContextsCleared", {}, frame)
    world.emit_to(target, "Page", "Page.frameNavigated", {"frame": described(frame), "type": "Navigation"}, frame)
    target.url, target.title = url, url
    targets.changed(world, target)


def _demote(world: World, frame: Frame, url: str, loader: str, loaded: Loaded) -> None:
    parent = frame.parent
    assert parent is not None
    own = frame.target
    frame.target = parent.target
    own.frame = None
    _move(frame, parent.renderer)
    targets.close(world, own)
    frame.url, frame.loader, frame.context = url, loader, 0
    attached = {"frameId": frame.id, "parentFrameId": parent.id}
    world.emit_to(parent.target, "Page", "Page.frameAttached", attached, frame)
    world.emit_to(
        parent.target, "Page", "Page.frameNavigated", {"frame": described(frame), "type": "Navigation"}, frame
    )
    _make_context(world, frame)
    loaded(frame)
    _end_load(world, frame)


def _move(frame: Frame, renderer: Renderer) -> None:
    frame.renderer = renderer
    if frame is frame.target.frame:
        frame.target.renderer = renderer


# ── execution contexts ───────────────────────────────────────────────────────────────────────────────────────────────


def _make_context(world: World, frame: Frame) -> None:
    frame.renderer.contexts += 1
    frame.context = frame.renderer.contexts
    frame.context_unique = world.ids.unique("execution context")
    world.emit_to(frame.target, "Runtime", "Runtime.executionContextCreated", {"context": _context(frame)}, frame)


def _destroy_context(world: World, frame: Frame) -> None:
    gone = {"executionContextId": frame.context, "executionContextUniqueId": frame.context_unique}
    world.emit_to(frame.target, "Runtime", "Runtime.executionContextDestroyed", gone, frame)
    frame.context = 0


def announce_contexts(world: World, target: Target) -> list[Json]:
    """The contexts that `Runtime.enable` replays (fact 41), of a target's own frames."""
    if target.frame is None:
        return []
    own = [frame for frame in target.frame.subtree() if frame.target is target]
    for frame in own:
        if not frame.context:
            frame.renderer.contexts += 1
            frame.context = frame.renderer.contexts
            frame.context_unique = world.ids.unique("execution context")
    return [_context(frame) for frame in own]


def _context(frame: Frame) -> Json:
    return {
        "id": frame.context,
        "origin": frame.origin,
        "name": "",
        "uniqueId": frame.context_unique,
        "auxData": {"isDefault": True, "type": "default", "frameId": frame.id},
    }


# ── how frames are shown ─────────────────────────────────────────────────────────────────────────────────────────────


def described(frame: Frame) -> Json:
    """A frame as events and results show it."""
    local = _host(frame.url) in ("localhost", "127.0.0.1") or _host(frame.url).endswith(".localhost")
    shown: Json = {"id": frame.id}
    if frame.parent is not None:
        shown["parentId"] = frame.parent.id
    shown["loaderId"] = frame.loader
    if frame.parent is not None:
        shown["name"] = frame.name
    shown |= {
        "url": frame.url,
        "domainAndRegistry": _registry(frame.url),
        "securityOrigin": frame.origin,
        "securityOriginDetails": {"isLocalhost": local},
        "mimeType": "text/html",
        "adFrameStatus": {"adFrameType": "none"},
        "secureContextType": _secure(frame.url, local=local),
        "crossOriginIsolatedContextType": "NotIsolated",
        "gatedAPIFeatures": [],
    }
    return shown


def tree(frame: Frame) -> Json:
    """A frame and those below it that have the same target: OOPIFs are absent (fact 41)."""
    shown: Json = {"frame": described(frame)}
    children = [tree(child) for child in frame.children if child.target is frame.target]
    if children:
        shown["childFrames"] = children
    return shown


def _above(frame: Frame) -> Target:
    """Where a frame's own element is: what is asked of a frame is told there."""
    return frame.target if frame.parent is None else frame.parent.target


def _document_url(frame: Frame) -> str:
    """The URL that a frame's site is of: an empty document is its parent's."""
    while frame.parent is not None and frame.url.startswith("about:"):
        frame = frame.parent
    return frame.url


def _host(url: str) -> str:
    return origin_of(url).partition("://")[2].partition(":")[0]


def _registry(url: str) -> str:
    host = _host(url)
    return "" if not host or "." not in host or host.rpartition(".")[2].isdigit() else host


def _secure(url: str, *, local: bool) -> str:
    if url.startswith("https://"):
        return "Secure"
    return "SecureLocalhost" if local else "InsecureScheme"
