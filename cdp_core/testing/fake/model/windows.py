"""Which page is in front of the others of its window: one that somebody opens, activates or brings there.

The one that was there is hidden. What it asks just then, nobody can answer any more by hand: alert, confirm and prompt end
as if they had been dismissed, unless a client is attached to the page, its tab or a frame of it. headless-shell, which hides
nothing, ends nothing.


How large a page is shown, where a client has said that: nothing is laid out, but who has Page enabled hears of it.

One size holds for a page, that of who spoke last; it goes with the session that asked for it.
"""

from __future__ import annotations

from collections.abc import Iterator

from cdp_core.testing.fake.model import dialogs
from cdp_core.testing.fake.model.parts import Session, Target
from cdp_core.testing.fake.world import World


def bring(world: World, target: Target) -> None:
    """A page, or the page of a tab, or of a frame, is in front now."""
    page = (target.tab_of or target).page
    before, page.context.front = page.context.front, page
    if before is None or before is page or before.closed or world.profile == "headless-shell":
        return
    if not _is_attached(before):
        world.soon(lambda: _end(world, before))


def _end(world: World, hidden: Target) -> None:
    dialogs.close_all(world, hidden)


def _is_attached(page: Target) -> bool:
    return any(each.sessions for each in (page, page.tab or page, *_inside(page)))


def _inside(target: Target) -> Iterator[Target]:
    for each in target.child_targets.values():
        if each.type == "iframe":
            yield each
            yield from _inside(each)


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
