"""Asks for titles when a document has loaded, because no event tells of a change (fact 73)."""

from __future__ import annotations

from typing import Any, Final

from cdp_core.sansio.messages import Json, Result, TargetId
from cdp_core.sansio.structs import replace
from cdp_supervisor.sansio.event_params import members, text
from cdp_supervisor.sansio.replies import value_of
from cdp_supervisor.sansio.state import Page, Ticket
from cdp_supervisor.sansio.transition import Transition

PAUSE: Final = 0.25
"""Seconds between two `Target.getTargets` on one link: a page that loads in a loop must not ask in one."""


def wanted(transition: Transition, page: Page) -> None:
    """Ask for the title of a page whose document has loaded, now or after the pause."""
    ids = transition.state.titles_wanted
    if page.id not in ids:
        transition.update(titles_wanted=(*ids, page.id))
    if ("titles", "") not in transition.state.deadline_of:
        _ask(transition)


def due(transition: Transition) -> None:
    """Ask for the titles that became wanted meanwhile."""
    if transition.state.titles_wanted:
        _ask(transition)


def _ask(transition: Transition) -> None:
    if transition.state.link.phase == "up" and transition.state.stopping is None:
        transition.update(titles_asked=transition.state.titles_wanted, titles_wanted=())
        transition.send(None, "Target.getTargets", purpose="titles")
        transition.schedule(("titles", ""), PAUSE, "titles were asked for")


def received(transition: Transition, _ticket: Ticket, _number: int, outcome: Any) -> None:
    """Read the titles of the listed pages."""
    if isinstance(outcome, Result):
        asked = transition.state.titles_asked
        for info in members(value_of(outcome), "targetInfos"):
            page = transition.page(TargetId(text(info, "targetId")))
            if page is not None and (page.id in asked or _title_in(transition, info) != page.title):
                transition.put_page(with_title(transition, page, info))


def with_title(transition: Transition, page: Page, info: Json) -> Page:
    """Return a page with the title of its target info, and when that was read."""
    title = _title_in(transition, info)
    return replace(page, title=title, title_at=transition.at.wall) if "title" in info else page


def _title_in(transition: Transition, info: Json) -> str:
    return text(info, "title", transition.state.limits.text_kept)
