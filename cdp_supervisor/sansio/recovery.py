"""Recovery: a remedy that frees a page from a dialog or script that blocks it, only on request.

The dialogs of the page decide which remedies work (facts 5, 22, 26; docs/cdp/an-unseen-dialog-blocks-its-page.md).
"""

from __future__ import annotations

from typing import Any, Final

from cdp_core.errors import CdpError, InvalidArgument
from cdp_core.sansio.messages import Json, SessionId, TargetId
from cdp_core.sansio.structs import replace
from cdp_supervisor.errors import BlockedByDialog, CallTimedOut, UnknownTarget, WouldEndBrowser
from cdp_supervisor.sansio.dialog_table import REMEDIES, remedies
from cdp_supervisor.sansio.event_params import shown_page
from cdp_supervisor.sansio.focus import page_ids
from cdp_supervisor.sansio.health import view_health
from cdp_supervisor.sansio.inputs import RequestReceived
from cdp_supervisor.sansio.replies import result_of
from cdp_supervisor.sansio.requests import Recover
from cdp_supervisor.sansio.routing import dialogs_without_window, link_down_error
from cdp_supervisor.sansio.state import Page, Ticket
from cdp_supervisor.sansio.transition import RequestRules, Transition


def recover(transition: Transition, received: RequestReceived, request: Recover) -> None:
    """Send the remedy that the caller chose, or answer with the reason why it cannot free the page."""
    page = transition.page(TargetId(request.target_id))
    useless = None if page is None else _refusal_of(page, request.remedy)
    if page is None:
        transition.answer(received.request_id, error=UnknownTarget(request.target_id, known=page_ids(transition)))
    elif transition.state.scope.observing:
        wrong = "This supervisor only observes; open one without .observed() to free a page."
        transition.answer(received.request_id, error=InvalidArgument(wrong))
    elif page.fragile is not None and not request.force:
        error = WouldEndBrowser(page.id, method=f"The remedy {request.remedy!r}", shown=shown_page(page))
        transition.answer(received.request_id, error=error)
    elif useless is not None:
        transition.answer(received.request_id, error=useless)
    elif (page.session_id is None and request.remedy != "close") or transition.state.link.phase != "up":
        transition.answer(received.request_id, error=link_down_error(transition, page))
    elif request.remedy != "close" and (dialog_ids := dialogs_without_window(transition, page, page.session_id)):
        transition.answer(received.request_id, error=BlockedByDialog(dialog_ids, method=request.remedy))
    else:
        _apply(transition, received.request_id, page, request.remedy)


def _refusal_of(page: Page, remedy: str) -> InvalidArgument | None:
    """Return the error for a remedy that does not free the page, or None if it does."""
    unanswerable = [dialog for dialog in page.dialogs if dialog.phase == "unanswerable"]
    found: tuple[str, ...] = ()
    if unanswerable or page.blocked is not None or page.blocked_sessions or page.busy_sessions:
        found = tuple(
            remedy
            for remedy in REMEDIES["unseen"]
            if all(remedy in remedies(dialog.why, native=dialog.native) for dialog in unanswerable)
        )
    if remedy in found:
        return None
    if found:
        return InvalidArgument(f"{remedy!r} does not free this page; use one of: {', '.join(found)}.")
    pending = [dialog.id for dialog in page.dialogs if dialog.phase != "closed"]
    instead = f"respond to {', '.join(pending)}" if pending else "see its health"
    return InvalidArgument(
        f"Page {shown_page(page)} answers, or waits for the answer to a dialog, so it needs no remedy; {instead}."
    )


def _apply(transition: Transition, request_id: int, page: Page, remedy: str) -> None:
    session_id: SessionId | None = page.session_id
    params: Json
    if remedy == "close":
        session_id, method, params = None, "Target.closeTarget", {"targetId": page.id}
    elif remedy == "reload":
        method, params = "Page.reload", {}
    else:
        url = page.url.partition("#")[0] or "about:blank"
        if remedy == "same_document":  # keeps the page's document and adds one entry to its history (fact 5)
            url = f"{url}#freed-{transition.state.last_ticket + 1}"
        method, params = "Page.navigate", {"url": url}
    transition.put_page(replace(page, remedy_pending=bool(page.dialogs)))
    transition.note("info", "freeing a page", page=page.id[:8], remedy=remedy)
    number = transition.send(session_id, method, params, purpose="remedy", page_id=page.id, request_id=request_id)
    transition.schedule(("remedy", number), transition.state.limits.answer_patience, "a remedy is unanswered")


def remedy_ended(transition: Transition, ticket: Ticket, number: int, outcome: Any) -> None:
    transition.cancel(("remedy", number))
    try:
        result_of(outcome, "The remedy", ticket.session_id)
    except CdpError as error:
        transition.answer(ticket.request_id, error=error)
    else:
        transition.answer(ticket.request_id)


def remedy_due(transition: Transition, number: int) -> None:
    """Answer the request with a timeout: the remedy got no reply in time."""
    ticket = transition.state.tickets.get(number)
    if ticket is not None:
        transition.forget(number)
        page = transition.page(ticket.page_id)
        health = None if page is None else view_health(transition.state, page)
        waited = transition.now - ticket.since.mono
        transition.answer(ticket.request_id, error=CallTimedOut("The remedy", waited=waited, health=health))


def end_all(transition: Transition, error_for: Any) -> None:
    """End every open remedy with the error that `error_for` makes: no reply can come any more."""
    for number, ticket in sorted(transition.state.tickets.items()):
        if ticket.purpose == "remedy":
            transition.cancel(("remedy", number))
            transition.forget(number)
            transition.answer(ticket.request_id, error=error_for())


REQUESTS: Final[RequestRules] = {Recover: recover}
"""Request → rule."""
