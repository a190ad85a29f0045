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

import attrs

from cdp_core.sansio.wire import Json
from cdp_core.testing.fake import dialogs, targets
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
    "add_frame",
    "announce_contexts",
    "described",
    "navigate",
    "navigate_within",
    "open_document",
    "remove_frame",
    "tree",
]

Loaded = Callable[[Frame, Callable[[], None]], None]
"""Runs a document's own script, which adds frames, logs, opens dialogs; then calls what it was given."""


# ── one document ─────────────────────────────────────────────────────────────────────────────────────────────────────


@attrs.frozen(eq=False)
class Navigation:
    """One that is on its way."""

    frame: Frame
    target: Target
    """The one that the frame had when it began."""
    url: str
    loader: str
    kind: str

    @property
    def begun(self) -> Json:
        """How its beginning is told."""
        return {"frameId": self.frame.id, "url": self.url, "loaderId": self.loader, "navigationType": self.kind}


def navigate(
    world: World,
    frame: Frame,
    url: str,
    loaded: Loaded,
    *,
    reason: str = "",
    kind: str = "differentDocument",
    started: Callable[[str], None] = lambda _loader: None,
) -> None:
    """Begin a navigation; it is committed when that was answered, and its target may run, and nothing stops its process.

    `started` is told the loader: the reply to a command comes before what it leads to (fact 56), and after the dialogs
    that it closes. `reason` is why, where no command asked for it.
    """
    going = Navigation(frame, frame.target, url, world.ids.new("loader"), kind)
    if frame.parent is None:
        targets.revive(world, frame.target)
    frame.navigating, frame.begun = going.loader, going.begun
    if reason:
        _request(world, going, reason)
    else:
        _begin(world, going)
    if kind == "reload":
        started(going.loader)
    if frame.parent is None:
        dialogs.close_all(world, frame.target)

    def go_on() -> None:
        if kind != "reload":
            started(going.loader)
        world.soon(partial(_arrive, world, going, loaded))

    if frame.target.held:
        frame.target.when_run.append(partial(world.soon, go_on))
    else:
        go_on()


def _request(world: World, going: Navigation, reason: str) -> None:
    """A script asks for it, of its own frame or of one inside; of its own it only begins when the script is over."""
    frame = going.frame
    own_process = reason == "scriptInitiated" and frame.target is _above(frame)
    if own_process:
        scheduled = {"frameId": frame.id, "delay": 0, "reason": reason, "url": going.url}
        world.emit_to(frame.target, "Page", "Page.frameScheduledNavigation", scheduled, frame)
    requested = {"frameId": frame.id, "reason": reason, "url": going.url, "disposition": "currentTab"}
    world.emit_to(_above(frame), "Page", "Page.frameRequestedNavigation", requested, frame)
    if own_process and frame.parent is None:
        world.soon(partial(_begin, world, going))
    else:
        _begin(world, going)
    if own_process:
        world.emit_to(frame.target, "Page", "Page.frameClearedScheduledNavigation", {"frameId": frame.id}, frame)


def _begin(world: World, going: Navigation) -> None:
    world.emit_to(going.target, "Page", "Page.frameStartedNavigating", going.begun, going.frame)
    world.emit_to(going.target, "Page", "Page.frameStartedLoading", {"frameId": going.frame.id}, going.frame)


def _arrive(world: World, going: Navigation, loaded: Loaded) -> None:
    """The document is there, unless the frame or its wish for it has gone meanwhile."""
    frame, url = going.frame, going.url
    if going.target.closed or world.frames.get(frame.id) is not frame or frame.navigating != going.loader:
        return
    if frame.parent is not None and frame.renderer.dialog is not None:
        frame.renderer.parked.append(partial(_arrive, world, going, loaded))
        return
    frame.navigating, frame.begun = "", None
    frame.unreachable = url if failure_of(url) else ""
    shown = ERROR_PAGE if frame.unreachable else url
    _commit(world, frame, shown, going.loader, loaded, gone_for_good=going.kind == "reload")


def open_document(world: World, frame: Frame, url: str, loaded: Loaded) -> None:
    """The first document of a page that was opened with it: it is there at once, and loads as soon as the page may run."""
    target = frame.target
    if url != "about:blank":
        frame.url, frame.loader = url, world.ids.new("loader")

    def load() -> None:
        if target.closed or frame.navigating or frame.url != url:
            return
        targets.retitled(world, target, title_of(url))
        _begin_load(world, frame, loaded)

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
    frame.url = url
    params = {"frameId": frame.id, "url": url, "navigationType": "fragment"}
    world.emit_to(target, "Page", "Page.navigatedWithinDocument", params, frame)
    if frame is target.frame:
        target.url, target.title = url, url
        targets.changed(world, target)
    world.emit_to(target, "Page", "Page.frameStoppedLoading", {"frameId": frame.id}, frame)


def _commit(world: World, frame: Frame, url: str, loader: str, loaded: Loaded, *, gone_for_good: bool) -> None:
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
        keep = frame.parent is None and frame.target.opener is None and not gone_for_good
        _show(world, frame, url, loader, loaded, keep=keep)


def _show(world: World, frame: Frame, url: str, loader: str, loaded: Loaded, *, keep: bool) -> None:
    """The new document is there: told where the frame is, on the sessions of its own target."""
    left = _drop_children(world, frame)
    top = frame is frame.target.frame
    if top:
        targets.break_off(world, frame.target, "Inspected target navigated or closed")
        frame.target.said.clear()
        if site_of(url) != site_of(frame.url) and (frame.url != "about:blank" or frame.target.type == "iframe"):
            _move(frame, world.new_renderer())
        world.emit_to(frame.target, "Runtime", "Runtime.executionContextsCleared", {}, frame)
        _forget(world, frame.target, left, keep=keep)
        # Once for the process that is left, once for the one that is come to.
        world.emit_to(frame.target, "Runtime", "Runtime.executionContextsCleared", {}, frame)
    else:
        if frame.context:
            _destroy_context(world, frame)
        _forget(world, frame.target, left, keep=False)
    frame.url, frame.loader, frame.context = url, loader, 0
    navigated = {"frame": described(frame), "type": "Navigation"}
    world.emit_to(frame.target, "Page", "Page.frameNavigated", navigated, frame, *left)
    if top:
        frame.target.url, frame.target.title = url, title_of(url) if frame.parent is None else url
        targets.changed(world, frame.target)
    _make_context(world, frame)
    _begin_load(world, frame, loaded)


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
    world.emit_to(target, "Page", "Page.frameStoppedLoading", {"frameId": frame.id}, frame)
    if frame.parent is not None:
        _end_load(world, frame.parent)


# ── coming and going ─────────────────────────────────────────────────────────────────────────────────────────────────


def add_frame(world: World, parent: Frame, url: str, name: str, loaded: Loaded) -> Frame:
    """A script adds an iframe element."""
    frame = Frame(world.ids.new("frame"), parent.target, parent, parent.renderer, name=name)
    parent.children.append(frame)
    world.frames[frame.id] = frame
    call = {"functionName": "", "scriptId": "3", "url": parent.url, "lineNumber": 0, "columnNumber": 8}
    attached = {"frameId": frame.id, "parentFrameId": parent.id, "stack": {"callFrames": [call]}}
    world.emit_to(parent.target, "Page", "Page.frameAttached", attached, frame)
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
    world.emit_to(frame.target, "Page", "Page.frameNavigated", {"frame": described(frame), "type": "Navigation"}, frame)
    world.emit_to(frame.target, "Page", "Page.frameStartedLoading", {"frameId": frame.id}, frame)
    _make_context(world, frame)
    world.emit_to(frame.target, "Page", "Page.frameStoppedLoading", {"frameId": frame.id}, frame)


def remove_frame(world: World, frame: Frame) -> None:
    """A script removes an iframe element: children first, and an OOPIF's session after its frame (fact 38)."""
    parent = frame.parent
    assert parent is not None
    for child in tuple(frame.children):
        if frame.target is parent.target:
            remove_frame(world, child)
    left = _drop_children(world, frame)  # of a frame out of process nobody is left to tell
    detached = {"frameId": frame.id, "reason": "remove"}
    world.emit_to(parent.target, "Page", "Page.frameDetached", detached, frame, *left)
    if frame.context and frame.target is parent.target:
        _destroy_context(world, frame)
    parent.children.remove(frame)
    world.frames.pop(frame.id, None)
    own = _own_target(world, frame)
    if own is not None:
        targets.close(world, own)
    world.soon(lambda: _end_load(world, parent))


def _drop_children(world: World, frame: Frame) -> list[Frame]:
    """The document is left: nothing is said of its frames, but that the sessions of those out of process end.

    The answer is all the frames that are gone.
    """
    left = [below for child in frame.children for below in child.subtree()]
    for each in left:
        world.frames.pop(each.id, None)
    for child in frame.children:
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
        old_context, old_unique = frame.context, frame.context_unique
        frame.target, frame.context = target, 0
        _move(frame, target.renderer)
        _tell_document(world, frame, url, loader, left)
        world.emit_to(above, "Page", "Page.frameDetached", {"frameId": frame.id, "reason": "swap"}, frame)
        if old_context:
            gone = {"executionContextId": old_context, "executionContextUniqueId": old_unique}
            world.emit_to(above, "Runtime", "Runtime.executionContextDestroyed", gone, frame)
        _make_context(world, frame)
        world.soon(lambda: _begin_load(world, frame, loaded))

    if target.held:
        target.when_run.append(go_on)
    else:
        go_on()


def _tell_document(world: World, frame: Frame, url: str, loader: str, left: list[Frame]) -> None:
    target = frame.target
    frame.url, frame.loader = url, loader
    world.emit_to(target, "Runtime", "Runtime.executionContextsCleared", {}, frame)
    navigated = {"frame": described(frame), "type": "Navigation"}
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
    attached = {"frameId": frame.id, "parentFrameId": parent.id}
    world.emit_to(parent.target, "Page", "Page.frameAttached", attached, frame)
    navigated = {"frame": described(frame), "type": "Navigation"}
    world.emit_to(parent.target, "Page", "Page.frameNavigated", navigated, frame, *left)
    _make_context(world, frame)
    _begin_load(world, frame, loaded)


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
    """The contexts that `Runtime.enable` replays (fact 41), of a target's own frames, the newest first."""
    if target.frame is None:
        return []
    own = [frame for frame in target.frame.subtree() if frame.target is target]
    for frame in own:
        if not frame.context:
            frame.renderer.contexts += 1
            frame.context = frame.renderer.contexts
            frame.context_unique = world.ids.unique("execution context")
    return [_context(frame) for frame in sorted(own, key=lambda each: -each.context)]


def _context(frame: Frame) -> Json:
    return {
        "id": frame.context,
        "origin": origin_of(_document_url(frame)),
        "name": "",
        "uniqueId": frame.context_unique,
        "auxData": {"isDefault": True, "type": "default", "frameId": frame.id},
    }


# ── how frames are shown ─────────────────────────────────────────────────────────────────────────────────────────────


def described(frame: Frame) -> Json:
    """A frame as events and results show it."""
    shown: Json = {"id": frame.id}
    if frame.parent is not None:
        shown["parentId"] = frame.parent.id
    shown["loaderId"] = frame.loader
    if frame.parent is not None:
        shown["name"] = frame.name
    shown |= {
        "url": frame.url,
        **({"unreachableUrl": frame.unreachable} if frame.unreachable else {}),
        "domainAndRegistry": _registry(frame.url),
        "securityOrigin": frame.origin,
        "securityOriginDetails": {"isLocalhost": _is_local(frame.url)},
        "mimeType": "text/html",
        "adFrameStatus": {"adFrameType": "none", **({} if frame.parent is None else {"explanations": []})},
        "secureContextType": _secure(_document_url(frame)),
        "crossOriginIsolatedContextType": "NotIsolated" if _shares_site(frame) else "NotIsolatedFeatureDisabled",
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


def _shares_site(frame: Frame) -> bool:
    return frame.parent is None or (frame.target is frame.parent.target and _shares_site(frame.parent))


def _secure(url: str) -> str:
    if url.startswith("https://"):
        return "Secure"
    return "SecureLocalhost" if _is_local(url) else "InsecureScheme"


def _is_local(url: str) -> bool:
    return _host(url) in ("localhost", "127.0.0.1") or _host(url).endswith(".localhost")
