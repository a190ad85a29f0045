"""Attaches to the pages of a browser that other clients use too, and pauses nothing.

Auto-attach on the root session pauses every new page, and any client's `Runtime.runIfWaitingForDebugger` resumes it for all
(fact 72): a client that needs some time to set a popup up loses that time. In a shared scope the supervisor therefore
pauses nothing and resumes nothing. It learns of pages by discovery, attaches to each, and auto-attaches only below
pages, without waiting (docs/cdp/any-client-resumes-a-paused-target.md).
"""

from __future__ import annotations

from typing import Final

from cdp_core.sansio.messages import Json, TargetId
from cdp_supervisor.sansio.event_params import member, members, text
from cdp_supervisor.sansio.pages import target_in_scope
from cdp_supervisor.sansio.transition import Transition

PAGE: Final = "page"


def target_created(transition: Transition, params: Json) -> None:
    """Attach to a new page of a shared browser."""
    _attach(transition, member(params, "targetInfo"))


def listed(transition: Transition, result: Json) -> None:
    """Attach to the pages that are there already."""
    for info in members(result, "targetInfos"):
        _attach(transition, info)


def _attach(transition: Transition, info: Json) -> None:
    state, target_id = transition.state, TargetId(text(info, "targetId"))
    if (
        not state.scope.sharing
        or state.adopting
        or state.stopping is not None
        or text(info, "type") != PAGE
        or text(info, "subtype")  # a prerendered page becomes one of its own when it is shown
        or not target_id
        or not target_in_scope(transition, target_id, info)
        or target_id in state.primary_on
        or any(ticket.purpose == "reopen" and ticket.tag == target_id for ticket in state.tickets.values())
        or len(state.sessions) >= state.limits.sessions_kept
    ):
        return
    params = {"targetId": target_id, "flatten": True}
    transition.send(None, "Target.attachToTarget", params, purpose="reopen", page_id=target_id, tag=target_id)
