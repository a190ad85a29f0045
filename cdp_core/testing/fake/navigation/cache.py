"""The back/forward cache: documents of a page that were left, and are shown again as they were (fact 43).

    left      its frames are forgotten by the page without a word; those out of process lose their sessions, and stay
    restored  the sessions that attach by themselves are attached to those out of process; then the page has the address,
              the contexts, the console and, at last, the document that it had; of the frames in its own process nothing is said
    evicted   when there are more than six; frames out of process are told of as removed then

Nothing is kept of a document that was not yet parsed, or not of HTTP, or an error, or whose process died, nor where a
window that can reach the other is open. An empty page and the first document after it are of one group of windows: of these
only one is there at a time, and neither is kept for the other. headless-shell keeps nothing (fact 26).
"""

from __future__ import annotations

from typing import Final

from cdp_core.sansio.messages import Json
from cdp_core.testing.fake.model import contexts, sessions, targets
from cdp_core.testing.fake.model.frame_shapes import described
from cdp_core.testing.fake.model.history import Entry, Kept
from cdp_core.testing.fake.model.parts import Frame, Target, house
from cdp_core.testing.fake.world import World

MOST: Final = 6
"""So many are kept, and of more the one that was left first is not."""


def why_not(world: World, frame: Frame) -> list[str]:
    """Why the document of a page would not be kept when it is left now; nothing where it would."""
    found = [] if frame.url.startswith("http") else ["SchemeNotHTTPOrHTTPS"]
    if frame.unreachable:
        found = ["HTTPStatusNotOK", "ErrorDocument"]
    if world.profile == "headless-shell":
        found.append("BackForwardCacheDisabledForDelegate")
    if _has_related(frame.target):
        found.append("RelatedActiveContentsExist")
    if frame.target.history.lost:
        found.append("RendererProcessKilled")
    if frame.load is not None and not frame.load.parsed:
        found.append("Loading")
    if any(each.navigating for child in frame.children for each in child.subtree()):
        found.append("SubframeIsNavigating")
    return found


def _has_related(target: Target) -> bool:
    """Whether there is a window that can reach the other one."""
    opener = target.opener.target.page if target.opener is not None and target.can_access_opener else None
    return bool(target.opened) or (opener is not None and not opener.closed)


def taken(frame: Frame) -> Kept:
    """The document of a page, taken out of it before another one comes."""
    worlds, objects = list(frame.worlds), frame.objects
    frame.objects = {}
    return Kept(
        children=list(frame.children),
        renderer=frame.renderer,
        loader=frame.loader,
        title=frame.target.title,
        context=frame.context,
        context_unique=frame.context_unique,
        worlds=worlds,
        objects=objects,
        moments=frame.moments,
        mime=frame.mime,
        referrer=frame.referrer,
        document=frame.document,
        manners=frame.manners,
        terms=frame.terms,
        said=list(frame.target.said),
    )


def keep(world: World, target: Target, entry: Entry, kept: Kept) -> None:
    """Let the entry that was left keep it; there may be one too many then."""
    entry.kept = kept
    target.history.cached.append(entry)

    def evict() -> None:
        while len(target.history.cached) > MOST and not target.closed:
            drop(world, target, target.history.cached[0], "CacheLimit")

    world.soon(evict)


def drop(world: World, target: Target, entry: Entry, reason: str) -> None:
    """Keep it no more."""
    kept, entry.kept, entry.reasons = entry.kept, None, [reason]
    target.history.cached.remove(entry)
    for frame in [] if kept is None else [below for child in kept.children for below in child.subtree()]:
        own = world.targets.get(frame.id)
        if own is not None and frame.parent is target.frame:
            gone = {"frameId": frame.id, "reason": "remove"}
            world.emit_to(target, "Page", "Page.frameDetached", gone, frame)
        if own is not None:
            targets.close(world, own)
    if kept is not None and target.frame is not None:
        inside = [(below, below.document) for child in kept.children for below in child.subtree()]
        world.when_left([(target.frame, kept.document), *inside], False)


def put_back(world: World, frame: Frame, entry: Entry, url: str) -> None:
    """Show it again."""
    target, kept = frame.target, entry.kept
    assert kept is not None
    entry.kept = None
    target.history.cached.remove(entry)
    _put_into(frame, kept, url)
    for child in kept.children:
        for below in child.subtree():
            world.frames[below.id] = below
    for session in target.sessions[:1]:
        sessions.auto_attach_existing(world, session, only="iframe")
    target.url, target.title = url, kept.title
    sessions.changed(world, target)
    world.emit_to(target, "Page", "Page.frameStoppedLoading", {"frameId": frame.id}, frame)
    world.emit_to(target, "Runtime", "Runtime.executionContextsCleared", {}, frame)
    for context in contexts.all_of(world, target):
        world.emit_to(target, "Runtime", "Runtime.executionContextCreated", {"context": context}, frame)
    for method, params in kept.said:
        world.emit_to(target, "Runtime", method, params, frame)
    restored = {"frame": described(world, frame), "type": "BackForwardCacheRestore"}
    world.emit_to(target, "Page", "Page.frameNavigated", restored, frame)
    for act in kept.further:
        world.soon(act)


def _put_into(frame: Frame, kept: Kept, url: str) -> None:
    frame.renderer = kept.renderer
    house(frame.target, kept.renderer)
    frame.url, frame.loader, frame.unreachable = url, kept.loader, ""
    frame.context, frame.context_unique = kept.context, kept.context_unique
    frame.worlds, frame.objects = kept.worlds, kept.objects
    frame.moments, frame.mime, frame.referrer = kept.moments, kept.mime, kept.referrer
    frame.document = frame.wired = kept.document
    frame.manners = kept.manners
    frame.terms = kept.terms
    frame.children[:] = kept.children
    frame.target.said[:] = kept.said


def tell_unused(world: World, frame: Frame, reasons: list[str]) -> None:
    """Tell of a document that was come back to, and had to be loaded again."""
    found: list[Json] = [{"type": "Circumstantial", "reason": reason} for reason in reasons]
    tree = {"url": frame.unreachable or frame.url, "explanations": found, "children": list[Json]()}
    unused = {"loaderId": frame.loader, "frameId": frame.id, "notRestoredExplanations": found}
    told = {**unused, "notRestoredExplanationsTree": tree}
    world.emit_to(frame.target, "Page", "Page.backForwardCacheNotUsed", told, frame)
