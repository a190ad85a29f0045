"""Tabs: a target above each page, for those whose filter asks for them (fact 45), as Puppeteer's does.

A tab is told of before its page, and ends after it. Who watches tabs attaches to the page through a session of the tab,
with `Target.setAutoAttach` on that; what a tab waits for stops nothing but a window that a script opened: this one runs,
and its opener goes on, when the session of the page says so (fact 7).

Here is what a tab is; when it comes and goes is told in `targets.py`.
"""

from __future__ import annotations

from cdp_core.sansio.wire import Json
from cdp_core.testing.fake.parts import Context, Renderer, Session, Target
from cdp_core.testing.fake.world import World

__all__ = ["browser_info", "end_tab", "found", "hand_over", "new_tab"]


def new_tab(world: World, context: Context, *, instead: Target | None = None) -> Target:
    """A tab whose page is still to come; it is the last, or in the place of another one, which goes."""
    tab = Target(world.ids.new("tab"), "tab", context, Renderer(0))
    there = [*world.tabs.values()]
    place = len(there) if instead is None else there.index(instead)
    there[place : place + 1] = [tab]
    if instead is not None:
        instead.strip = None
    world.tabs.clear()
    world.tabs.update((each.id, each) for each in there)
    _number(world)
    return tab


def end_tab(world: World, tab: Target) -> Json:
    """It has no page any more; how it is shown then."""
    tab.closed, tab.tab_of, tab.strip = True, None, None
    world.tabs.pop(tab.id, None)
    _number(world)
    return {**tab.info(), "attached": False}


def _number(world: World) -> None:
    if world.profile == "headless-shell":
        return  # it has no strip of tabs
    last = len(world.tabs) - 1
    for place, tab in enumerate(world.tabs.values()):
        tab.strip = {"tabActive": place == last, "tabPinned": False, "tabStripIndex": place}


def found(world: World, target_id: str) -> Target | None:
    """The target of that id, of every kind."""
    return world.targets.get(target_id) or world.tabs.get(target_id)


def hand_over(page: Target, tab_session: Session, session: Session) -> None:
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
