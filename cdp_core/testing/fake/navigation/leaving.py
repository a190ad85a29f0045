"""What is left when a document goes: its child frames, targets and execution contexts; discarded tabs.

Child frames: `Page.frameDetached` is not sent for the frames of a left document (fact 9). The exceptions are
frames out of process if the history cannot return to the document, for example after a reload.

Discarded tabs: the browser ends a page to save memory. Only the place in the tab strip is kept.

    discarded   the page closes. Before its end is reported, a new tab and a new page exist with its address, title and
                history, and without a renderer process; sessions that auto-attach to pages are attached to the new page
    unloaded    commands for the renderer wait; commands that the browser process handles are answered
    loaded      when any navigation of the page begins, or with `Target.activateTarget`. If a session made the page wait
                on start, its process starts first, with an empty document, and answers; otherwise the document is
                committed first, which ends expressions with an error

No numbered fact covers discarding: this is what was observed with `chrome://discards`, which also discards a tab of a
headless browser once `chrome://chrome-urls` allows such pages. headless-shell does not discard tabs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from cdp_core.testing.fake.model import contexts, dialogs, targets
from cdp_core.testing.fake.model.parts import Frame, Target
from cdp_core.testing.fake.world import World


def drop_children(world: World, frame: Frame, *, for_good: bool = False) -> list[Frame]:
    """Remove the child frames of a document that is left, and return every frame below it.

    No event reports them; only the sessions of frames out of process end. With `for_good`, the frames below the top
    frame of a target end with that target instead.
    """
    left = [below for child in frame.children for below in child.subtree()]
    for each in left:
        world.frames.pop(each.id, None)
    for child in frame.children:
        if not for_good or frame.target.frame is not frame:
            _leave_own_targets(world, child)
    frame.children.clear()
    return left


def _leave_own_targets(world: World, frame: Frame) -> None:
    own = own_target(world, frame)
    if own is not None and own is frame.target:
        targets.cache_target(world, own)
        return
    if own is not None:  # the frame still waited for its process, so its child frames have other targets
        targets.close(world, own)
    for child in frame.children:
        _leave_own_targets(world, child)


def close_own_targets(world: World, above: Target, left: list[Frame], *, keep: bool) -> None:
    """Close the targets of a left document's frames, with `Page.frameDetached`, unless `keep`."""
    for frame in left:
        own = None if keep else own_target(world, frame)
        if own is not None and frame.parent is not None and frame.parent.target is above:
            world.emit_to(above, "Page", "Page.frameDetached", {"frameId": frame.id, "reason": "remove"}, frame)
        if own is not None:
            targets.close(world, own)


def own_target(world: World, frame: Frame) -> Target | None:
    """Return a frame's own target, even while it waits to run (fact 39: it has the frame's id)."""
    return None if frame.parent is None else world.targets.get(frame.id)


def end_contexts(world: World, target: Target, frame: Frame) -> None:
    """Emit `Runtime.executionContextDestroyed` for the execution contexts of a frame's document."""
    for gone in contexts.ended(frame):
        world.emit_to(target, "Runtime", "Runtime.executionContextDestroyed", gone, frame)


def discard(world: World, page: Target) -> None:
    """Discard a page's tab to save memory: a new page without a renderer process replaces it."""
    if page.closed or page.crashed or page.tab is None or page.renderer.absent or world.profile == "headless-shell":
        return
    assert page.frame is not None
    new = Target(world.ids.new("target"), "page", page.context, world.new_renderer(), url=page.url, title=page.title)
    new.frame = Frame(new.id, new, None, new.renderer, url=page.frame.url, loader=page.frame.loader)
    new.renderer.absent = True
    new.history = page.history.restored()
    targets.close(world, page, before_end=partial(targets.replace_page, world, page, new))
    world.on_page_replaced(page.frame, new.frame)


def wake(world: World, frame: Frame) -> None:
    """Start a discarded page's renderer process when it navigates, if a session made it wait on start."""
    target = frame.target
    waited = any(session.held for session in target.sessions)
    if target.frame is frame and target.tab is not None and target.renderer.absent and waited:
        target.renderer.absent = False
        target.renderer.empty = True
        frame.url, frame.loader = "", world.ids.new("loader")
        dialogs.resume(target.renderer)


def parked_commands(frame: Frame) -> list[Callable[[], None]]:
    """Mark the renderer process as started; return the commands that waited for it."""
    if not frame.renderer.absent:
        return []
    frame.renderer.absent = False
    parked, frame.renderer.parked = frame.renderer.parked, []
    return parked
