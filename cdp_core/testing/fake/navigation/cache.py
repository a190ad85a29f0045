"""The back/forward cache: documents that a page left, kept to be shown again unchanged (fact 43).

    left      the page drops the document's frames without an event; frames out of process lose their sessions and stay
    restored  sessions that auto-attach are attached to the frames out of process; then the page gets back its address,
              its execution contexts, its console events and, last, the document; no event names the other frames
    evicted   if a page has more than `MAX_CACHED` cached documents; `Page.frameDetached` reports the frames out of
              process as removed

A document is not kept if it was not parsed yet, has no HTTP address or is an error page, if its renderer process
died, or if another window that can reach the page is open. An empty page and the first document after it share one
browsing instance; an instance has one document at a time, so neither is kept for the other. headless-shell keeps
nothing (fact 26).
"""

from __future__ import annotations

from typing import Final

from cdp_core.sansio.messages import Json
from cdp_core.testing.fake.model import contexts, sessions, targets
from cdp_core.testing.fake.model.frame_shapes import described
from cdp_core.testing.fake.model.history import CachedDocument, Entry
from cdp_core.testing.fake.model.parts import Frame, Target, set_renderer
from cdp_core.testing.fake.world import World

MAX_CACHED: Final = 6
"""Cached documents per page; beyond that, the one that was left first is evicted."""


def not_cached_reasons(world: World, frame: Frame) -> list[str]:
    """Return the reasons why a page's document cannot be cached if it is left now; empty if it can be."""
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
    """Return whether the page opened a window, or can reach the open window that opened it."""
    opener = target.opener.target.page if target.opener is not None and target.can_access_opener else None
    return bool(target.opened) or (opener is not None and not opener.closed)


def capture(frame: Frame) -> CachedDocument:
    """Take a page's document out of its frame before another document replaces it."""
    worlds, objects = list(frame.worlds), frame.objects
    frame.objects = {}
    return CachedDocument(
        children=list(frame.children),
        renderer=frame.renderer,
        loader=frame.loader,
        title=frame.target.title,
        context=frame.context,
        context_unique=frame.context_unique,
        worlds=worlds,
        objects=objects,
        lifecycle_times=frame.lifecycle_times,
        mime=frame.mime,
        referrer=frame.referrer,
        document=frame.document,
        unload_behaviour=frame.unload_behaviour,
        settings=frame.settings,
        runtime_events=list(frame.target.runtime_events),
    )


def keep(world: World, target: Target, entry: Entry, cached_document: CachedDocument) -> None:
    """Store a captured document in the history entry that was left, then evict what exceeds `MAX_CACHED`."""
    entry.cached_document = cached_document
    target.history.cached.append(entry)

    def evict() -> None:
        while len(target.history.cached) > MAX_CACHED and not target.closed:
            drop(world, target, target.history.cached[0], "CacheLimit")

    world.soon(evict)


def drop(world: World, target: Target, entry: Entry, reason: str) -> None:
    """Remove the document that an entry keeps, close the targets of its frames, and record the reason."""
    cached_document, entry.cached_document, entry.reasons = entry.cached_document, None, [reason]
    target.history.cached.remove(entry)
    for frame in (
        [] if cached_document is None else [below for child in cached_document.children for below in child.subtree()]
    ):
        own = world.targets.get(frame.id)
        if own is not None and frame.parent is target.frame:
            gone = {"frameId": frame.id, "reason": "remove"}
            world.emit_to(target, "Page", "Page.frameDetached", gone, frame)
        if own is not None:
            targets.close(world, own)
    if cached_document is not None and target.frame is not None:
        inside = [(below, below.document) for child in cached_document.children for below in child.subtree()]
        world.on_documents_left([(target.frame, cached_document.document), *inside], False)


def restore(world: World, frame: Frame, entry: Entry, url: str) -> None:
    """Show the document that an entry keeps, with the events that report its return."""
    target, cached_document = frame.target, entry.cached_document
    assert cached_document is not None
    entry.cached_document = None
    target.history.cached.remove(entry)
    _put_into(frame, cached_document, url)
    for child in cached_document.children:
        for below in child.subtree():
            world.frames[below.id] = below
    for session in target.sessions[:1]:
        sessions.auto_attach_existing(world, session, only="iframe")
    target.url, target.title = url, cached_document.title
    sessions.emit_info_changed(world, target)
    world.emit_to(target, "Page", "Page.frameStoppedLoading", {"frameId": frame.id}, frame)
    world.emit_to(target, "Runtime", "Runtime.executionContextsCleared", {}, frame)
    for context in contexts.all_of(world, target):
        world.emit_to(target, "Runtime", "Runtime.executionContextCreated", {"context": context}, frame)
    for method, params in cached_document.runtime_events:
        world.emit_to(target, "Runtime", method, params, frame)
    restored = {"frame": described(world, frame), "type": "BackForwardCacheRestore"}
    world.emit_to(target, "Page", "Page.frameNavigated", restored, frame)
    for act in cached_document.paused_steps:
        world.soon(act)


def _put_into(frame: Frame, cached_document: CachedDocument, url: str) -> None:
    frame.renderer = cached_document.renderer
    set_renderer(frame.target, cached_document.renderer)
    frame.url, frame.loader, frame.unreachable = url, cached_document.loader, ""
    frame.context, frame.context_unique = cached_document.context, cached_document.context_unique
    frame.worlds, frame.objects = cached_document.worlds, cached_document.objects
    frame.lifecycle_times, frame.mime, frame.referrer = (
        cached_document.lifecycle_times,
        cached_document.mime,
        cached_document.referrer,
    )
    frame.document = frame.route_set_at = cached_document.document
    frame.unload_behaviour = cached_document.unload_behaviour
    frame.settings = cached_document.settings
    frame.children[:] = cached_document.children
    frame.target.runtime_events[:] = cached_document.runtime_events


def emit_cache_not_used(world: World, frame: Frame, reasons: list[str]) -> None:
    """Emit `Page.backForwardCacheNotUsed`: the history returned to a document that had to be loaded again."""
    found: list[Json] = [{"type": "Circumstantial", "reason": reason} for reason in reasons]
    tree = {"url": frame.unreachable or frame.url, "explanations": found, "children": list[Json]()}
    unused = {"loaderId": frame.loader, "frameId": frame.id, "notRestoredExplanations": found}
    params = {**unused, "notRestoredExplanationsTree": tree}
    world.emit_to(frame.target, "Page", "Page.backForwardCacheNotUsed", params, frame)
