"""Tabs: a target above each page, for those whose filter asks for them (fact 45), as Puppeteer's does.

A tab is told of before its page, and ends after it. Who watches tabs attaches to the page through a session of the tab,
with `Target.setAutoAttach` on that; what a tab waits for stops nothing but a window that a script opened: this one runs,
and its opener goes on, when the session of the page says so (fact 7).

Here is what a tab is; when it comes and goes is told in `targets.py`.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import partial

from cdp_core.sansio.messages import Json
from cdp_core.testing.fake.model.parts import Context, Renderer, Session, Target
from cdp_core.testing.fake.world import World


def new_tab(world: World, context: Context, *, instead: Target | None = None) -> Target:
    """A tab whose page is still to come; it is the last, or in the place of another one, which goes."""
    tab = Target(world.ids.new("tab"), "tab", context, Renderer(0))
    if instead is None:
        tab.tab_position = world.tab_positions[-1] + 1 if world.tab_positions else 1
        world.tab_positions.append(tab.tab_position)
        world.tabs[tab.id] = tab
    else:
        tab.tab_position, instead.strip = instead.tab_position, _nowhere
        there = [tab if each is instead else each for each in world.tabs.values()]
        world.tabs.clear()
        world.tabs.update((each.id, each) for each in there)
    tab.strip = partial(_strip, world, tab)
    return tab


def end_tab(world: World, tab: Target) -> Json:
    """It has no page any more; how it is shown then."""
    if world.tabs.pop(tab.id, None) is not None:
        del world.tab_positions[bisect_left(world.tab_positions, tab.tab_position)]
    tab.closed, tab.tab_of, tab.strip = True, None, _nowhere
    return {**tab.info(), "attached": False}


def _strip(world: World, tab: Target) -> Json | None:
    """Counted when it is asked for: each tab that comes or goes moves all behind it."""
    if world.profile == "headless-shell":
        return None  # it has no strip of tabs
    position = bisect_left(world.tab_positions, tab.tab_position)
    return {"tabActive": position == len(world.tab_positions) - 1, "tabPinned": False, "tabStripIndex": position}


def _nowhere() -> None:
    return None


def found(world: World, target_id: str) -> Target | None:
    """The target of that id, of every kind."""
    return world.targets.get(target_id) or world.tabs.get(target_id)


def wait_for_page_session(page: Target, tab_session: Session, session: Session) -> None:
    """The page that waited for somebody on its tab waits for the session that was opened there."""
    if tab_session in page.held:
        page.held.discard(tab_session)
        page.held.add(session)


def browser_info(world: World, session: Session) -> Json:
    """The target that a connection itself is, or a further session of the browser."""
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
