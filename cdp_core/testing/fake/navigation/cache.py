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
from cdp_core.testing.fake.model.history import CachedDocument, Entry
from cdp_core.testing.fake.model.parts import Frame, Target, set_renderer
from cdp_core.testing.fake.world import World

MAX_CACHED: Final = 6
"""So many are kept, and of more the one that was left first is not."""


def not_cached_reasons(world: World, frame: Frame) -> list[str]:
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


def capture(frame: Frame) -> CachedDocument:
    """The document of a page, taken out of it before another one comes."""
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
    """Let the entry that was left keep it; there may be one too many then."""
    entry.cached_document = cached_document
    target.history.cached.append(entry)

    def evict() -> None:
        while len(target.history.cached) > MAX_CACHED and not target.closed:
            drop(world, target, target.history.cached[0], "CacheLimit")

    world.soon(evict)


def drop(world: World, target: Target, entry: Entry, reason: str) -> None:
    """Keep it no more."""
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
    """Show it again."""
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
    """Tell of a document that was come back to, and had to be loaded again."""
    found: list[Json] = [{"type": "Circumstantial", "reason": reason} for reason in reasons]
    tree = {"url": frame.unreachable or frame.url, "explanations": found, "children": list[Json]()}
    unused = {"loaderId": frame.loader, "frameId": frame.id, "notRestoredExplanations": found}
    params = {**unused, "notRestoredExplanationsTree": tree}
    world.emit_to(frame.target, "Page", "Page.backForwardCacheNotUsed", params, frame)
