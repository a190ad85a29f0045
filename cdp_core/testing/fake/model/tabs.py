"""Tabs: a target above each page, for clients with a filter that admits them, as Puppeteer (fact 45).

A tab is reported before its page, and ends after it. A client that watches tabs attaches to the page through a
session of the tab, with `Target.setAutoAttach` on that session. A tab that waits for its debugger stops nothing
except a window that a script opened: this window runs, and its opener goes on, when the session of the page resumes
it (fact 7).

This module defines what a tab is; `targets.py` decides when one appears and ends.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import partial

from cdp_core.sansio.messages import Json
from cdp_core.testing.fake.model.parts import Context, Renderer, Session, Target
from cdp_core.testing.fake.world import World


def new_tab(world: World, context: Context, *, instead: Target | None = None) -> Target:
    """Create a tab; its page is created later.

    It is the last tab, or takes the position of the tab `instead`, which goes.
    """
    tab = Target(world.ids.new("tab"), "tab", context, Renderer(0))
    if instead is None:
        tab.tab_position = world.tab_positions[-1] + 1 if world.tab_positions else 1
        world.tab_positions.append(tab.tab_position)
        world.tabs[tab.id] = tab
    else:
        tab.tab_position, instead.strip = instead.tab_position, _no_strip
        reordered = [tab if each is instead else each for each in world.tabs.values()]
        world.tabs.clear()
        world.tabs.update((each.id, each) for each in reordered)
    tab.strip = partial(_strip, world, tab)
    return tab


def end_tab(world: World, tab: Target) -> Json:
    """End a tab that has no page any more, and return its last target info."""
    if world.tabs.pop(tab.id, None) is not None:
        del world.tab_positions[bisect_left(world.tab_positions, tab.tab_position)]
    tab.closed, tab.tab_of, tab.strip = True, None, _no_strip
    return {**tab.info(), "attached": False}


def _strip(world: World, tab: Target) -> Json | None:
    """Return a tab's position, computed on request: each tab that comes or goes moves all behind it."""
    if world.profile == "headless-shell":
        return None  # headless-shell has no tab strip
    position = bisect_left(world.tab_positions, tab.tab_position)
    return {"tabActive": position == len(world.tab_positions) - 1, "tabPinned": False, "tabStripIndex": position}


def _no_strip() -> None:
    return None


def found(world: World, target_id: str) -> Target | None:
    """Return the target with this id; it may be a tab."""
    return world.targets.get(target_id) or world.tabs.get(target_id)


def wait_for_page_session(page: Target, tab_session: Session, session: Session) -> None:
    if tab_session in page.held:
        page.held.discard(tab_session)
        page.held.add(session)


def browser_info(world: World, session: Session) -> Json:
    client = session.client
    if not client.target_id:
        client.target_id = world.ids.uuid("connection")
    shown: Json = {
        "targetId": session.browser_id or client.target_id,
        "type": "browser",
        "title": "",
        "url": "",
        "attached": True,
    }
    return {**shown, "canAccessOpener": False}
