"""The commit of a navigation: a document replaces the frame's document, and the history records it.

The document's site decides its renderer process: the parent frame's process, a process of the frame's own or, for the
main frame, the page's process. The document that a page leaves may be cached, and a cached document is shown again
unchanged (fact 43).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from cdp_core.testing.fake.model import contexts, dialogs, sessions, targets, unloading, workers
from cdp_core.testing.fake.model.addresses import is_same, origin_of, site_of, title_of
from cdp_core.testing.fake.model.contexts import document_url
from cdp_core.testing.fake.model.frame_shapes import described
from cdp_core.testing.fake.model.parts import Frame, Renderer
from cdp_core.testing.fake.navigation import cache, leaving, lifecycle, loading, prerenders, swaps
from cdp_core.testing.fake.navigation.loading import Loaded
from cdp_core.testing.fake.navigation.navigations import RELOADS, Navigation
from cdp_core.testing.fake.world import World


def commit(world: World, navigation: Navigation, url: str, loaded: Loaded) -> None:
    """Choose the document's renderer process, and replace the frame's document there."""
    frame, loader = navigation.frame, navigation.loader
    if frame.load is not None:
        frame.load.replaced_by_reload = navigation.kind in RELOADS
    own = frame.target.type == "iframe" and frame.target.frame is frame
    outside = frame.parent is not None and _is_outside(frame, frame.parent, navigation, url)
    frame.initiator_url = _initiator_url(navigation, url)
    waiting = leaving.own_target(world, frame)
    if waiting is not None and not own and not outside:  # the frame does not need its own process any more
        waiting.frame = None
        targets.close(world, waiting)
    if frame.parent is not None:
        _record_inside(navigation)
    if outside and not own:
        swaps.promote(world, frame, url, loader, loaded)
    elif own and not outside:
        swaps.demote(world, frame, url, loader, loaded)
    elif frame.parent is not None:
        show(world, frame, url, loader, loaded, keep=False)
    elif not prerenders.activate(world, navigation, url):
        reasons = None if navigation.entry is None else navigation.entry.reasons
        keep = _leave(world, navigation, _go_in_history)
        if frame.renderer.empty:
            frame.renderer.empty = False
            prerenders.show_first(world, frame, url, loader, loaded)
        else:
            show(world, frame, url, loader, loaded, keep=keep, reasons=reasons)
        prerenders.cancel(world, frame.target)


def _initiator_url(navigation: Navigation, url: str) -> str:
    """Return the URL that gives an `about:blank` document its origin, or "" if its parent or opener does."""
    frame = navigation.frame
    if (
        not is_same(url, "about:blank")
        or navigation.entry is not None
        or navigation.by_script is (frame.parent is not None)
    ):
        return ""
    return contexts.document_url(frame) if navigation.by_script else url


def _is_outside(frame: Frame, parent: Frame, navigation: Navigation, url: str) -> bool:
    """Return whether a document's site is not its parent's; a `data:` URL has its initiator's site."""
    if url.startswith("data:") and navigation.by_script:
        return False
    url = frame.unreachable or url
    site, above = site_of(url), site_of(document_url(parent))
    page = frame.target.page.frame
    if site and not above and page is not None and page.adopts_site:
        above = page.adopted_site = page.adopted_site or site
    return site not in ("", above)


def restore(world: World, navigation: Navigation) -> None:
    """Commit a navigation to a cached document, which is shown unchanged (fact 43)."""
    frame, entry = navigation.frame, navigation.entry
    assert entry is not None
    frame.navigating, frame.started_params, frame.left = "", None, False
    targets.break_off(world, frame.target, "Inspected target navigated or closed")
    document, keep = frame.document, _leave(world, navigation, _go_in_history)
    left = leaving.drop_children(world, frame)
    world.on_documents_left([(frame, document), *((each, each.document) for each in left)], keep)
    frame.load = None
    leaving.close_own_targets(world, frame.target, left, keep=keep)
    cache.restore(world, frame, entry, navigation.url)
    workers.watch_origin(world, frame.target)
    prerenders.cancel(world, frame.target)


# ── the history ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _leave(world: World, navigation: Navigation, go: Callable[[Navigation, bool], bool]) -> bool:
    """Move the page in its history with `go`; return whether the document that it leaves is cached."""
    frame, history = navigation.frame, navigation.frame.target.history
    here, reasons = history.current, cache.not_cached_reasons(world, frame)
    if (
        here is not None
        and navigation.entry is not None
        and navigation.entry.browsing_instance == here.browsing_instance
    ):
        reasons.append("BrowsingInstanceNotSwapped")
    cached_document = cache.capture(frame)
    changed_entry = go(navigation, not reasons)
    history.lost = False
    if here is None or not changed_entry:
        return False
    here.reasons = reasons
    if not reasons:
        cache.keep(world, frame.target, here, cached_document)
    return not reasons


def _go_in_history(navigation: Navigation, swapped: bool) -> bool:
    """Update the history; return whether the current entry changed and the previous one still exists."""
    history, failed = navigation.frame.target.history, navigation.frame.unreachable
    here = history.current
    if navigation.entry is not None:
        history.select(navigation.entry)
        return True
    if navigation.kind in (*RELOADS, "restore") and here is not None:
        if not navigation.by_script:  # a reload by a script keeps the transition
            here.transition = "reload"
        return False
    replace_entry = here is not None and (navigation.replace_entry or here.url == navigation.url)
    title = origin_of(failed).partition("://")[2].partition(":")[0] if failed else ""
    history.record_document(
        navigation.url,
        navigation.transition,
        replace_entry=replace_entry,
        swaps_instance=swapped and not replace_entry,
        title=title,
    )
    return not replace_entry


def _record_inside(navigation: Navigation) -> None:
    frame, history = navigation.frame, navigation.frame.target.page.history
    if navigation.entry is not None:
        history.select(navigation.entry)
        return
    first = not frame.loader or frame.url == "about:blank"
    replace_entry = first or navigation.replace_entry or (navigation.url == frame.url and not navigation.new_entry)
    history.record_subframe(frame.id, navigation.url, replace_entry=replace_entry)


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
    hide_dialog_done: bool = False,
) -> None:
    """Commit a new document in a frame, with events on the sessions of the frame's target.

    `reasons`: why a document that the history returned to was not cached; None if the navigation is not of the history.
    `hide_dialog_done`: the dialog that the previous document opened on leaving has closed.
    """
    if not hide_dialog_done and _opens_hide_dialog(frame, url):
        targets.break_off(world, frame.target, "Inspected target navigated or closed")
        world.emit_to(frame.target, "Runtime", "Runtime.executionContextsCleared", {}, frame)
        again = partial(show, world, frame, url, loader, loaded, keep=keep, reasons=reasons, hide_dialog_done=True)
        unloading.open_hide_dialog(world, frame, again)
        return
    left = leaving.drop_children(world, frame)
    world.on_documents_left([(each, each.document) for each in (frame, *left)], keep)
    reuses_window = _reuses_window(frame, url)
    reloads = frame.load is not None and frame.load.replaced_by_reload
    forwarded: list[Callable[[], None]] = []
    if reuses_window:
        leaving.close_own_targets(world, frame.target, left, keep=False)
        lifecycle.begin(world, frame, loader)
    elif frame is frame.target.frame:
        forwarded = _leave_top(world, frame, url, loader, left, keep=keep, hide_dialog_done=hide_dialog_done)
    else:
        leaving.end_contexts(world, frame.target, frame)
        leaving.close_own_targets(world, frame.target, left, keep=False)
        lifecycle.begin(world, frame, loader)
    frame.url, frame.loader = url, loader
    world.new_document(frame)
    if not reuses_window:
        frame.context = 0
    navigated = {"frame": described(world, frame), "type": "Navigation"}
    world.emit_to(frame.target, "Page", "Page.frameNavigated", navigated, frame, *left)
    if not reloads:
        loading.break_off_inside(world, frame.target, left)
    if reasons is not None:
        cache.emit_cache_not_used(world, frame, reasons)
    if frame is frame.target.frame:
        _emit_address(world, frame)
    if frame.navigating:
        _skip_loading(world, frame)
    else:
        _start_loading(world, frame, loaded, forwarded, in_new_window=frame is frame.target.frame and not reuses_window)


def _leave_top(
    world: World, frame: Frame, url: str, loader: str, left: list[Frame], *, keep: bool, hide_dialog_done: bool
) -> list[Callable[[], None]]:
    """Leave a target's top document; return the parked commands that the next renderer process answers."""
    forwarded: list[Callable[[], None]] = []
    if not hide_dialog_done:
        targets.break_off(world, frame.target, "Inspected target navigated or closed")
    reloads = frame.load is not None and frame.load.replaced_by_reload
    if not reloads:
        loading.break_off(world, frame, left)
    frame.target.runtime_events.clear()
    if _swaps_renderer(frame, url):
        forwarded = _take_parked(frame.renderer)
        page = frame.target.page
        if frame is page.frame and not page.can_access_opener and not page.opened:
            page.renderers = {}  # a cached document keeps its renderer processes
        swaps.move(
            frame,
            swaps.renderer_of(world, page, site_of(url)) if frame.parent else world.renderer_for(page, site_of(url)),
        )
    if not hide_dialog_done and not (
        frame.target.opener is not None and not frame.loader and not frame.target.can_access_opener
    ):
        world.emit_to(frame.target, "Runtime", "Runtime.executionContextsCleared", {}, frame)
    if reloads:
        loading.break_off(world, frame, left)
        loading.break_off_inside(world, frame.target, left)
    if frame.renderer.revived:
        frame.renderer.revived = False
        contexts.make_empty(world, frame)
    leaving.close_own_targets(world, frame.target, left, keep=keep)
    lifecycle.begin(world, frame, loader)
    # This event comes twice: above from the process that is left, here from the next one.
    world.emit_to(frame.target, "Runtime", "Runtime.executionContextsCleared", {}, frame)
    return forwarded


def _swaps_renderer(frame: Frame, url: str) -> bool:
    """Return whether the new document needs another renderer process, since its site is another one.

    An empty page has no site; an empty window that can reach its opener has the opener's site.
    """
    if frame.url != "about:blank" or frame.target.type == "iframe":
        return site_of(url) != site_of(frame.url)
    return frame.target.can_access_opener and site_of(url) != site_of(document_url(frame))


def _emit_address(world: World, frame: Frame) -> None:
    address = frame.unreachable or frame.url
    frame.target.url, frame.target.title = address, title_of(address) if frame.parent is None else address
    sessions.emit_info_changed(world, frame.target)
    workers.watch_origin(world, frame.target)


def _start_loading(
    world: World, frame: Frame, loaded: Loaded, forwarded: list[Callable[[], None]], *, in_new_window: bool
) -> None:
    """Load the document; its renderer process then runs the commands that were deferred meanwhile."""
    target = frame.target
    if not frame.context:
        contexts.make(world, frame)
    for act in (*forwarded, *leaving.parked_commands(frame)):
        act()
    if frame is target.frame and frame.unreachable:
        dialogs.run_deferred(target)
    for session in target.sessions if in_new_window else ():
        for waiting in session.replayed_commands.values():
            if waiting and waiting[0]():
                waiting.pop(0)
    loading.begin(world, frame, loaded)
    if frame is target.frame:
        dialogs.run_deferred(target)


def _opens_hide_dialog(frame: Frame, url: str) -> bool:
    """Return whether the old document opens a dialog now, as it can before one of its own site (fact 22)."""
    return (
        frame.parent is None and frame.unload_behaviour.hide_dialog is not None and site_of(url) == site_of(frame.url)
    )


def _skip_loading(world: World, frame: Frame) -> None:
    """Do not load a document: while its commit was delayed, another navigation of the frame began.

    Its renderer process answers no command.
    """
    loading_on = {"frameId": frame.id}
    world.soon(partial(world.emit_to, frame.target, "Page", "Page.frameStartedLoading", loading_on, frame))
    parked, frame.renderer.parked = frame.renderer.parked, []
    for session in frame.target.sessions:
        session.in_flight.update(dict.fromkeys(session.in_flight, ""))  # so no navigation ends these with an error
    world.soon(partial(world.soon, partial(_do_all, parked)))


def _do_all(acts: list[Callable[[], None]]) -> None:
    for act in acts:
        act()


def _take_parked(left: Renderer) -> list[Callable[[], None]]:
    """Take the commands parked in a stopped renderer process; the next document's process answers them."""
    if not left.stopped:
        return []
    parked, left.parked = left.parked, []
    return parked


def _reuses_window(frame: Frame, url: str) -> bool:
    """Return whether the document reuses the window of the empty one: it is the first, of the same origin.

    The empty document of a frame or popup has the origin of its parent or opener. Scripts keep their window, and so the
    execution context stays (docs/cdp/the-first-document-of-a-frame-keeps-its-execution-context.md).
    """
    top = frame is frame.target.frame
    empty = frame.url == "about:blank" and not frame.loader and (not top or frame.target.can_access_opener)
    return empty and origin_of(url) == origin_of(document_url(frame)) != "://"
