"""A navigation's document comes to its frame, and to the history of its page.

Where it belongs is settled by its site: in the process of the frame above, in one of its own, or, for the document of a
page, in the one that the page has. A page's document that is left may be kept, and one that was kept is there again as it
was (fact 43).
"""

from __future__ import annotations

from collections.abc import Callable

from cdp_core.testing.fake import cache, contexts, leaving, lifecycle, loading, swaps, targets
from cdp_core.testing.fake.addresses import origin_of, site_of, title_of
from cdp_core.testing.fake.contexts import document_url
from cdp_core.testing.fake.frame_shapes import described
from cdp_core.testing.fake.loading import Loaded
from cdp_core.testing.fake.navigations import Navigation
from cdp_core.testing.fake.parts import Frame, Renderer
from cdp_core.testing.fake.world import World

__all__ = ["commit", "restore", "show"]


def commit(world: World, going: Navigation, url: str, loaded: Loaded) -> None:
    """It is settled where the document belongs: it comes there, in the place of the one that is left."""
    frame, loader = going.frame, going.loader
    own = frame.target.type == "iframe" and frame.target.frame is frame
    outside = frame.parent is not None and site_of(url) not in ("", site_of(document_url(frame.parent)))
    waiting = leaving.own_target(world, frame)
    if waiting is not None and not own and not outside:  # it was to change its process, and has not yet
        waiting.frame = None
        targets.close(world, waiting)
    if frame.parent is not None:
        _record_inside(going)
    if outside and not own:
        swaps.promote(world, frame, url, loader, loaded)
    elif own and not outside:
        swaps.demote(world, frame, url, loader, loaded)
    elif frame.parent is not None:
        show(world, frame, url, loader, loaded, keep=False)
    else:
        reasons = None if going.entry is None else going.entry.reasons
        keep = _leave(world, going, _go_in_history)
        show(world, frame, url, loader, loaded, keep=keep, reasons=reasons)


def restore(world: World, going: Navigation) -> None:
    """A document that was kept is there again, as it was (fact 43)."""
    frame, entry = going.frame, going.entry
    assert entry is not None
    frame.navigating, frame.begun, frame.left = "", None, False
    targets.break_off(world, frame.target, "Inspected target navigated or closed")
    keep = _leave(world, going, _go_in_history)
    left = leaving.drop_children(world, frame)
    frame.load = None
    leaving.forget(world, frame.target, left, keep=keep)
    cache.put_back(world, frame, entry, going.url)


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


def _go_in_history(going: Navigation, swapped: bool) -> bool:
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
    history.come_to(going.url, going.transition, instead=instead, swaps=swapped and not instead, title=title)
    return not instead


def _record_inside(going: Navigation) -> None:
    frame, history = going.frame, going.frame.target.page.history
    if going.entry is not None:
        history.go_to(going.entry)
        return
    first = not frame.loader or frame.url == "about:blank"
    instead = first or going.instead or going.url == frame.url
    history.move_inside(frame.id, going.url, instead=instead)


# ── another document ─────────────────────────────────────────────────────────────────────────────────────────────────


def show(
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
    left = leaving.drop_children(world, frame)
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
            swaps.move(frame, world.new_renderer())
        world.emit_to(frame.target, "Runtime", "Runtime.executionContextsCleared", {}, frame)
        leaving.forget(world, frame.target, left, keep=keep)
        lifecycle.begin(world, frame, loader)
        # Once for the process that is left, once for the one that is come to.
        world.emit_to(frame.target, "Runtime", "Runtime.executionContextsCleared", {}, frame)
    else:
        leaving.end_contexts(world, frame.target, frame)
        leaving.forget(world, frame.target, left, keep=False)
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
    loading.begin(world, frame, loaded)


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
