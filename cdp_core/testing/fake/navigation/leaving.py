"""What a document leaves behind: its frames, their targets and what its scripts ran in.

What is not said is as exact as what is: no `frameDetached` for the frames of the document that is left (fact 9), but for
those out of process where nobody can come back to it, as after a reload.
"""

from __future__ import annotations

from cdp_core.testing.fake.model import contexts, targets
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
