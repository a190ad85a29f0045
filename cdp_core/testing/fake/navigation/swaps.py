"""A frame changes its process: it gets one of its own, or is back in the one above.

A frame whose site is not its parent's has a process, a target and a session of its own. It keeps its id, which is its
target's (fact 39): promotion is `attachedToTarget`, then `frameDetached` with the reason "swap" on the session above;
demotion is `detachedFromTarget`, then `frameAttached` with the same id there.
"""

from __future__ import annotations

from cdp_core.testing.fake.model import contexts, sessions, targets
from cdp_core.testing.fake.model.addresses import site_of
from cdp_core.testing.fake.model.contexts import document_url
from cdp_core.testing.fake.model.frame_shapes import described
from cdp_core.testing.fake.model.parts import Frame, Load, Renderer, Target, set_renderer
from cdp_core.testing.fake.navigation import leaving, lifecycle, loading
from cdp_core.testing.fake.navigation.loading import Loaded
from cdp_core.testing.fake.world import World


def promote(world: World, frame: Frame, url: str, loader: str, loaded: Loaded) -> None:
    """The document is of another site than the one above: the frame gets a process, a target and sessions of its own."""
    parent = frame.parent
    assert parent is not None
    above = frame.target
    target = leaving.own_target(world, frame)
    if target is None:
        renderer = renderer_of(world, above.page, site_of(url))
        target = Target(frame.id, "iframe", above.context, renderer, frame=frame, parent_frame=parent)
        targets.create_related(world, target, parent.target)
    target.when_run.clear()  # another document takes the place of one that has not begun
    frame.navigating = loader

    def resume() -> None:
        if target.closed or target.crashed:
            return
        frame.navigating, frame.load = "", Load()
        left = leaving.drop_children(world, frame)
        world.on_documents_left([(each, each.document) for each in (frame, *left)], False)
        leaving.close_own_targets(world, above, left, keep=False)
        old_contexts = contexts.ended(frame)
        frame.target = target  # nothing that the document before made is left
        move(frame, target.renderer)
        _emit_document(world, frame, url, loader, left)
        sessions.auto_attach_late(world, above, frame.started_at)
        # The two processes go on by themselves: what the new one says next may come before this.
        swapped = {"frameId": frame.id, "reason": "swap"}
        world.emit_to(above, "Page", "Page.frameDetached", swapped, behind=(frame,))
        for gone in old_contexts:
            world.emit_to(above, "Runtime", "Runtime.executionContextDestroyed", gone, behind=(frame,))
        contexts.make(world, frame)
        _answer_pending(world, target)
        world.soon(lambda: loading.begin(world, frame, loaded))

    if target.held:
        target.when_run.append(resume)
    else:
        resume()


def _answer_pending(world: World, target: Target) -> None:
    """What the process before was asked, and a dialog of another frame keeps it from answering, the new one answers."""
    for session in tuple(target.sessions):
        for command_id, method in tuple(session.in_flight.items()):
            if method == "Target.setAutoAttach":
                world.reply(session, command_id, method, {"result": {}}, by_both=True)


def _emit_document(world: World, frame: Frame, url: str, loader: str, left: list[Frame]) -> None:
    target = frame.target
    frame.url, frame.loader = url, loader
    world.new_document(frame)
    lifecycle.begin(world, frame, loader)
    world.emit_to(target, "Runtime", "Runtime.executionContextsCleared", {}, frame)
    navigated = {"frame": described(world, frame), "type": "Navigation"}
    world.emit_to(target, "Page", "Page.frameNavigated", navigated, frame, *left)
    target.url, target.title = url, url
    sessions.emit_info_changed(world, target)


def renderer_of(world: World, page: Target, site: str) -> Renderer:
    """Where a document of a site belongs that is in a page: in the page's own process, if it has that site."""
    own = page.frame is not None and "//" in site and site == site_of(document_url(page.frame))
    return page.renderer if own and not page.crashed else world.renderer_for(page, site)


def demote(world: World, frame: Frame, url: str, loader: str, loaded: Loaded) -> None:
    """The document is of the site above again: the frame is back in the process there, and its target is gone."""
    parent = frame.parent
    assert parent is not None
    own = frame.target
    left = leaving.drop_children(world, frame)
    world.on_documents_left([(each, each.document) for each in (frame, *left)], False)
    _hand_over(frame, parent.target)
    own.frame = None
    move(frame, parent.renderer)
    targets.close(world, own, demoted=True)
    leaving.close_own_targets(world, own, left, keep=False)
    frame.url, frame.loader, frame.context = url, loader, 0
    world.new_document(frame)
    attached = {"frameId": frame.id, "parentFrameId": parent.id}
    world.emit_to(parent.target, "Page", "Page.frameAttached", attached, frame)
    lifecycle.begin(world, frame, loader)
    navigated = {"frame": described(world, frame), "type": "Navigation"}
    world.emit_to(parent.target, "Page", "Page.frameNavigated", navigated, frame, *left)
    contexts.make(world, frame)
    loading.begin(world, frame, loaded)


def _hand_over(frame: Frame, target: Target) -> None:
    """Another target tells of a frame, and of what its documents made."""
    kept = [each for each in frame.target.child_targets.values() if each.parent_frame is frame]
    for each in kept:
        del frame.target.child_targets[each.id]
        target.child_targets[each.id] = each
    frame.target = target


def move(frame: Frame, renderer: Renderer) -> None:
    """A frame is in another process; where a target begins with it, so is the target."""
    frame.renderer = renderer
    if frame is frame.target.frame:
        set_renderer(frame.target, renderer)
