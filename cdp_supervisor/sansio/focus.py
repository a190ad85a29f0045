"""The request to focus a page: it is used by calls that name none (routing.py).

The focus never moves automatically: when the focused page is gone, no other page takes its place until
a request focuses one (docs/cdp/focus-never-moves-automatically.md).
"""

from __future__ import annotations

from typing import Final

from cdp_core.sansio.messages import TargetId
from cdp_supervisor.errors import UnknownTarget
from cdp_supervisor.sansio.inputs import RequestReceived
from cdp_supervisor.sansio.requests import Focus
from cdp_supervisor.sansio.transition import RequestRules, Transition


def focus(transition: Transition, received: RequestReceived, request: Focus) -> None:
    if request.target_id is None:
        pages = [*transition.state.pages]
        transition.update(focus=None, page_gone=None, only_page=pages[0] if len(pages) == 1 else None)
    else:
        target_id = TargetId(request.target_id)
        if target_id not in transition.state.pages:
            transition.answer(received.request_id, error=UnknownTarget(request.target_id, known=page_ids(transition)))
            return
        transition.update(focus=target_id, page_gone=None)
    transition.answer(received.request_id)


def page_ids(transition: Transition) -> list[str]:
    """Return the ids of all pages, in the order in which they appeared."""
    return [page.id for page in sorted(transition.state.pages.values(), key=lambda page: page.number)]


REQUESTS: Final[RequestRules] = {Focus: focus}
"""Request → rule."""
