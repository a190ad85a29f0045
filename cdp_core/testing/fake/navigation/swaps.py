"""Process swaps: a frame gets a renderer process of its own, or returns to its parent's process.

A frame with another site than its parent has a process, a target and a session of its own. The frame keeps its id,
which is also its target's id (fact 39). A promotion sends `Target.attachedToTarget`, then `Page.frameDetached` with
the reason "swap" on the parent's session; a demotion sends `Target.detachedFromTarget`, then `Page.frameAttached`
with the same id.
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
    """Give a frame a process, a target and sessions of its own: its site is not its parent's."""
    parent = frame.parent
    assert parent is not None
    above = frame.target
    target = leaving.own_target(world, frame)
    if target is None:
        renderer = renderer_of(world, above.page, site_of(url))
        target = Target(frame.id, "iframe", above.context, renderer, frame=frame, parent_frame=parent)
        targets.create_related(world, target, parent.target)
    target.when_run.clear()  # a document that has not begun is replaced
    frame.navigating = loader

    def resume() -> None:
        if target.closed or target.crashed:
            return
        frame.navigating, frame.load = "", Load()
        left = leaving.drop_children(world, frame)
        world.on_documents_left([(each, each.document) for each in (frame, *left)], False)
        leaving.close_own_targets(world, above, left, keep=False)
        old_contexts = contexts.ended(frame)
        frame.target = target  # nothing that the previous document made is left
        move(frame, target.renderer)
        _emit_document(world, frame, url, loader, left)
        sessions.auto_attach_late(world, above, frame.started_at)
        # The two processes are independent: the next events of the new one may come before this.
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
    """Answer pending `Target.setAutoAttach` commands, which a dialog of another frame blocked before."""
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
    """Return the renderer process for a site's documents in a page; the page's own for the same site."""
    own = page.frame is not None and "//" in site and site == site_of(document_url(page.frame))
    return page.renderer if own and not page.crashed else world.renderer_for(page, site)


def demote(world: World, frame: Frame, url: str, loader: str, loaded: Loaded) -> None:
    """Return a frame to its parent's process, since its document has the parent's site; close its target."""
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
    """Move a frame and the child targets that it made to another target, which then reports them."""
    kept = [each for each in frame.target.child_targets.values() if each.parent_frame is frame]
    for each in kept:
        del frame.target.child_targets[each.id]
        target.child_targets[each.id] = each
    frame.target = target


def move(frame: Frame, renderer: Renderer) -> None:
    """Put a frame into a renderer process, with its target if the frame is the target's top frame."""
    frame.renderer = renderer
    if frame is frame.target.frame:
        set_renderer(frame.target, renderer)
