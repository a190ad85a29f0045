"""Which page of a window is in front, and the size that a client gives a page.

A page comes to the front when it is opened, activated or brought to the front; the page that was there is hidden. No
user could answer the dialogs of a hidden page, so its open alert, confirm and prompt end as if they had been
dismissed, unless a client is attached to the page, to its tab or to a frame of it. headless-shell hides no page, and
ends no dialog.

No layout takes place: a change of size is only reported, to sessions with Page enabled (`Page.frameResized`). A page
has one size, the one that was set last. The page returns to its own size when a session that set one gives it up or
ends.
"""

from __future__ import annotations

from collections.abc import Iterator

from cdp_core.testing.fake.model import dialogs
from cdp_core.testing.fake.model.parts import Session, Target
from cdp_core.testing.fake.world import World


def bring(world: World, target: Target) -> None:
    """Bring a page to the front; the target may also be its tab or one of its frames."""
    page = (target.tab_of or target).page
    before, page.context.front = page.context.front, page
    if before is None or before is page or before.closed or world.profile == "headless-shell":
        return
    if not _is_attached(before):
        world.soon(lambda: _close_dialogs(world, before))


def _close_dialogs(world: World, hidden: Target) -> None:
    dialogs.close_all(world, hidden)


def _is_attached(page: Target) -> bool:
    return any(each.sessions for each in (page, page.tab or page, *_iframes_below(page)))


def _iframes_below(target: Target) -> Iterator[Target]:
    for each in target.child_targets.values():
        if each.type == "iframe":
            yield each
            yield from _iframes_below(each)


OWN = (0, 0)
"""No size set by a client: the page has its own size."""


def resize(world: World, target: Target, session: Session, size: tuple[int, int]) -> None:
    """Set the size that a session wants; a side of 0 leaves that side unchanged."""
    session.overrides_size = True
    width, height = size
    _set_size(world, target, (width or target.size[0], height or target.size[1]))


def give_up(world: World, target: Target, session: Session) -> None:
    """Drop the size that a session set, because it gives it up or ends."""
    if session.overrides_size:
        session.overrides_size = False
        _set_size(world, target, OWN)


def _set_size(world: World, target: Target, size: tuple[int, int]) -> None:
    if size != target.size and not target.closed:
        target.size = size
        world.emit_to(target, "Page", "Page.frameResized", {})
