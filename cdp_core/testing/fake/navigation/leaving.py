"""What a document leaves behind: its frames, their targets and what its scripts ran in.

What is not said is as exact as what is: no `frameDetached` for the frames of the document that is left (fact 9), but for
those out of process where nobody can come back to it, as after a reload.


Tabs that are discarded, to save memory: their place in the strip is kept, and nothing else.

    discarded   as if the page closed; but before that is told, another tab and another page are there, with its address,
                its title and its history, and without a process. Who attaches to browser pages is attached to that
    silent      what its renderer is asked waits; what the browser itself knows it answers
    loaded      when somebody goes there, or anywhere, or looks at it (`Target.activateTarget`). Where a session had it wait
                on start, its process comes first, with an empty document, and answers; otherwise the document comes first,
                and expressions are broken off by that

Told by no facts but the ones that were seen: `chrome://discards` discards a tab of a headless browser too, once
`chrome://chrome-urls` was told to allow such pages. headless-shell has no such thing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from cdp_core.testing.fake.model import contexts, dialogs, targets
from cdp_core.testing.fake.model.parts import Frame, Target
from cdp_core.testing.fake.world import World


def drop_children(world: World, frame: Frame, *, for_good: bool = False) -> list[Frame]:
    """The document is left: nothing is said of its frames, but that the sessions of those out of process end.

    Where it goes `for_good`, so do they, with its target. The answer is all the frames that are gone.
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
    if own is not None:  # it waited for its process; what is in its empty document has others
        targets.close(world, own)
    for child in frame.children:
        _leave_own_targets(world, child)


def close_own_targets(world: World, above: Target, left: list[Frame], *, keep: bool) -> None:
    """Frames out of process of a document that nobody comes back to: these are told of, after all."""
    for frame in left:
        own = None if keep else own_target(world, frame)
        if own is not None and frame.parent is not None and frame.parent.target is above:
            world.emit_to(above, "Page", "Page.frameDetached", {"frameId": frame.id, "reason": "remove"}, frame)
        if own is not None:
            targets.close(world, own)


def own_target(world: World, frame: Frame) -> Target | None:
    """The target of a frame out of process, also while it waits to run (fact 39: it has the frame's id)."""
    return None if frame.parent is None else world.targets.get(frame.id)


def end_contexts(world: World, target: Target, frame: Frame) -> None:
    """The scripts of a document are gone, and so is what they ran in."""
    for gone in contexts.ended(frame):
        world.emit_to(target, "Runtime", "Runtime.executionContextDestroyed", gone, frame)


def discard(world: World, page: Target) -> None:
    """The browser needs the memory of a page that nobody looks at."""
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
    """It goes somewhere: there is a process for it again, at once where it had to wait on start."""
    target = frame.target
    waited = any(session.held for session in target.sessions)
    if target.frame is frame and target.tab is not None and target.renderer.absent and waited:
        target.renderer.absent = False
        target.renderer.empty = True
        frame.url, frame.loader = "", world.ids.new("loader")
        dialogs.resume(target.renderer)


def parked_commands(frame: Frame) -> list[Callable[[], None]]:
    """What was asked while there was no process, which its document brings now."""
    if not frame.renderer.absent:
        return []
    frame.renderer.absent = False
    parked, frame.renderer.parked = frame.renderer.parked, []
    return parked
