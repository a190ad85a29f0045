"""Prerendering by speculation rules (fact 45): a document is rendered before the page navigates to it.

    requested  a second target of type page and subtype prerender is attached to the sessions of the tab that
    auto-attach.
               If they make it wait on start, it has no renderer process until each of them lets it run
    activated  a script of the page navigates to it: the page's target is disconnected, its sessions end, and no
               `Target.targetDestroyed` reports it; the tab then has the prerendered target as its page
    cancelled  the page navigates elsewhere or closes; a command that navigates to the same URL cancels it first

The fake does not prerender if a session is attached to the page itself rather than through its tab: such a client
gets an ordinary navigation. No dialog opens while a page is prerendered. Two differences from Chromium: the document
that the page leaves on activation is not cached, and frames out of process in a prerendered page are not held back
until activation.
"""

from __future__ import annotations

from functools import partial

from cdp_core.testing.fake.model import contexts, dialogs, sessions, targets
from cdp_core.testing.fake.model.addresses import origin_of, title_of
from cdp_core.testing.fake.model.frame_shapes import described
from cdp_core.testing.fake.model.parts import Frame, Session, Target
from cdp_core.testing.fake.navigation import lifecycle, loading
from cdp_core.testing.fake.navigation.loading import Loaded
from cdp_core.testing.fake.navigation.navigations import Navigation
from cdp_core.testing.fake.world import World

# ── requesting ───────────────────────────────────────────────────────────────────────────────────────────────────────


def begin(world: World, frame: Frame, url: str, loaded: Loaded) -> Frame | None:
    """Prerender a URL for a document; return the new frame, or None if the browser does not prerender it."""
    page, tab = frame.target, frame.target.tab
    if tab is None or frame is not page.frame or page.prerender is not None or not _watching(page, tab):
        return None
    if origin_of(url) != frame.origin or frame.origin == "://" or world.profile == "headless-shell":
        return None
    target = Target(world.ids.new("target"), "page", page.context, world.new_renderer(), subtype="prerender")
    target.frame = made = Frame(target.id, target, None, target.renderer)
    page.prerender, target.prerender_of = target, page
    document = frame.document
    world.soon(lambda: _appear(world, frame, document, target, url, loaded))
    return made


def _watching(page: Target, tab: Target) -> list[Session]:
    """Return the tab's sessions that get the prerendered target; none if one is on the page itself."""
    if any(each.parent is None or each.parent.target is not tab for each in page.sessions):
        return []
    return [
        each for each in tab.sessions if each.auto_attach and sessions.filter_allows(each.auto_attach.filter, "page")
    ]


def _appear(world: World, frame: Frame, document: int, target: Target, url: str, loaded: Loaded) -> None:
    page, made = frame.target, target.frame
    assert made is not None
    tab = page.tab
    watching = [] if tab is None or page.closed or page.crashed or frame.document != document else _watching(page, tab)
    if not watching or page.prerender is not target:
        page.prerender = None
        return
    world.frames[made.id] = made
    targets.create_prerender(world, target, watching)
    loader = world.ids.new("loader")
    made.prerender_url = url

    def load() -> None:
        if not target.closed:
            made.started_params = None
            show_first(world, made, url, loader, loaded)

    def let_run() -> None:
        target.renderer.absent = False
        dialogs.resume(target.renderer)
        world.soon(load)

    if target.held:
        made.started_params = {
            "frameId": made.id,
            "url": url,
            "loaderId": loader,
            "navigationType": "differentDocument",
        }
        target.renderer.absent = True
        target.when_run.append(let_run)
    else:
        load()


def show_first(world: World, frame: Frame, url: str, loader: str, loaded: Loaded) -> None:
    """Commit the first document of a renderer process that reported only an empty one so far."""
    target = frame.target
    world.emit_to(target, "Runtime", "Runtime.executionContextsCleared", {}, frame)
    lifecycle.begin(world, frame, loader)
    frame.url, frame.loader, frame.context = url, loader, 0
    world.new_document(frame)
    navigated = {"frame": described(world, frame), "type": "Navigation"}
    world.emit_to(target, "Page", "Page.frameNavigated", navigated, frame)
    address = frame.unreachable or url
    target.url, target.title = address, title_of(address)
    sessions.emit_info_changed(world, target)
    contexts.make(world, frame)
    loading.begin(world, frame, loaded)


# ── activating ───────────────────────────────────────────────────────────────────────────────────────────────────────


def activate(world: World, navigation: Navigation, url: str) -> bool:
    """Show the prerendered page that a navigation goes to, once it may run; return whether one exists."""
    page = navigation.target
    new = page.prerender
    if new is None or new.frame is None or navigation.frame is not page.frame or new.id not in world.targets:
        return False
    if navigation.transition != "link" or new.frame.prerender_url != url:
        if new.frame.prerender_url == url:
            cancel(world, page)
        return False
    if new.held:
        new.when_run.append(partial(world.soon, partial(world.soon, partial(_show, world, navigation, new))))
    else:
        _show(world, navigation, new)
        world.emit_to(new, "Page", "Page.frameStoppedLoading", {"frameId": new.frame.id}, new.frame)
    return True


def _show(world: World, navigation: Navigation, new: Target) -> None:
    old = navigation.target
    if old.closed or new.closed or old.prerender is not new:
        return
    assert old.frame is not None
    assert new.frame is not None
    world.on_documents_left([(each, each.document) for each in old.frame.subtree()], False)
    old.prerender, new.prerender_of = None, None
    old.history.record_document(
        navigation.url, navigation.transition, replace_entry=navigation.replace_entry, swaps_instance=True
    )
    new.history, new.subtype, new.frame.prerender_url = old.history, "", ""
    new.tab, old.tab = old.tab, None
    if new.tab is not None:
        new.tab.tab_of = new
    targets.disconnect(world, old)
    for session in new.sessions:
        assert session.parent is not None
        world.emit(session.parent, "Target.targetInfoChanged", {"targetInfo": new.info()}, new)
    sessions.emit_info_changed(world, new)
    world.on_page_replaced(old.frame, new.frame)


def cancel(world: World, page: Target) -> None:
    """Close the page's prerendered target: no navigation will activate it."""
    new, page.prerender = page.prerender, None
    if new is not None and new.id in world.targets:
        targets.close(world, new)
