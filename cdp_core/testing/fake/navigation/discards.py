"""Tabs that are discarded, to save memory: their place in the strip is kept, and nothing else.

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

from cdp_core.testing.fake.model import dialogs, targets
from cdp_core.testing.fake.model.parts import Frame, Target
from cdp_core.testing.fake.world import World


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
