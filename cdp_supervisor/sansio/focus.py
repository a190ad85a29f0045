"""The page that a request means when it names none: the focused page, or the only one.

The focus never moves by itself: a page that is gone leaves it empty, and another page does not take its place
(docs/cdp/focus-never-moves-by-itself.md).
"""

from __future__ import annotations

from cdp_core.sansio.messages import TargetId
from cdp_supervisor.errors import UnknownTarget
from cdp_supervisor.sansio.inputs import Ask
from cdp_supervisor.sansio.requests import Focus
from cdp_supervisor.sansio.state import Page, State
from cdp_supervisor.sansio.transition import Turn

__all__ = ["focus", "focused_page", "page_ids"]


def focus(turn: Turn, ask: Ask, question: Focus) -> None:
    """`focus`."""
    if question.target_id is None:
        pages = [*turn.state.pages]
        turn.put(focus=None, page_gone=None, only=pages[0] if len(pages) == 1 else None)
    else:
        target_id = TargetId(question.target_id)
        if target_id not in turn.state.pages:
            turn.answer(ask.ask_id, error=UnknownTarget(question.target_id, known=page_ids(turn)))
            return
        turn.put(focus=target_id, page_gone=None)
    turn.answer(ask.ask_id)


def focused_page(state: State) -> Page | None:
    """The page that is meant where none is named: the focused one, or the only one. It never moves by itself.

    See docs/cdp/focus-never-moves-by-itself.md.
    """
    if state.focus is not None:
        return state.pages.get(state.focus)
    if state.page_gone is not None or len(state.pages) != 1:
        return None
    return next(iter(state.pages.values()))


def page_ids(turn: Turn) -> list[str]:
    """Every page, in the order of their coming."""
    return [page.id for page in sorted(turn.state.pages.values(), key=lambda page: page.number)]
