"""Which page is in front of the others of its window: one that somebody opens, activates or brings there.

The one that was there is hidden. What it asks just then, nobody can answer any more by hand: alert, confirm and prompt end
as if they had been dismissed, unless a client is attached to the page, its tab or a frame of it. headless-shell, which hides
nothing, ends nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from cdp_core.testing.fake.model import dialogs
from cdp_core.testing.fake.model.parts import Target
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
