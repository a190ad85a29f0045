"""How large a page is shown, where a client has said that: nothing is laid out, but who has Page enabled hears of it.

One size holds for a page, that of who spoke last; it goes with the session that asked for it.
"""

from __future__ import annotations

from cdp_core.testing.fake.model.parts import Session, Target
from cdp_core.testing.fake.world import World

OWN = (0, 0)
"""The size that it has by itself."""


def resize(world: World, target: Target, session: Session, size: tuple[int, int]) -> None:
    """A session wants it so large; of a side that is 0 it says nothing, and that stays as it is."""
    session.overrides_size = True
    width, height = size
    _come_to(world, target, (width or target.size[0], height or target.size[1]))


def give_up(world: World, target: Target, session: Session) -> None:
    """It does not any more, or ends."""
    if session.overrides_size:
        session.overrides_size = False
        _come_to(world, target, OWN)


def _come_to(world: World, target: Target, size: tuple[int, int]) -> None:
    if size != target.size and not target.closed:
        target.size = size
        world.emit_to(target, "Page", "Page.frameResized", {})
