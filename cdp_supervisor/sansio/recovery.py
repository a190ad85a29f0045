"""Recovery: a remedy that frees a page from a dialog or script that blocks it, only on request.

The dialogs of the page decide which remedies work (facts 5, 22, 26; docs/cdp/an-unseen-dialog-blocks-its-page.md).
"""

from __future__ import annotations

from typing import Any, Final

from cdp_core.errors import CdpError, InvalidArgument
from cdp_core.sansio.messages import Json, SessionId, TargetId
from cdp_core.sansio.outcomes import Loss
from cdp_core.sansio.structs import replace
from cdp_supervisor.errors import BlockedByDialog, CallTimedOut, RemedyFailed, UnknownTarget, WouldEndBrowser
from cdp_supervisor.sansio.dialog_table import REMEDIES, remedies
from cdp_supervisor.sansio.event_params import shown_page
from cdp_supervisor.sansio.focus import page_ids
from cdp_supervisor.sansio.health import dialogs_of_kin, view_health
from cdp_supervisor.sansio.inputs import RequestReceived
from cdp_supervisor.sansio.replies import error_of, result_of
from cdp_supervisor.sansio.requests import Recover
from cdp_supervisor.sansio.routing import dialogs_without_window, link_down_error
from cdp_supervisor.sansio.state import Page, Ticket
from cdp_supervisor.sansio.transition import RequestRules, Transition


def recover(transition: Transition, received: RequestReceived, request: Recover) -> None:
    """Send the remedy that the caller chose, or answer with the reason why it cannot free the page."""
    page = transition.page(TargetId(request.target_id))
    useless = None if page is None else _refusal_of(page, request.remedy) or _stopped_by_kin(transition, page)
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


def remedies_of(page: Page) -> tuple[str, ...]:
    """Return the remedies that can free a page; none if it needs none."""
    unanswerable = [dialog for dialog in page.dialogs if dialog.phase == "unanswerable"]
    silent = page.blocked is not None or page.leaving or page.blocked_sessions or page.busy_sessions
    if not unanswerable and not silent:
        return ()
    return tuple(
        remedy
        for remedy in (("close",) if page.leaving else REMEDIES["unseen"])
        if all(remedy in remedies(dialog.why, native=dialog.native, type=dialog.type) for dialog in unanswerable)
    )


def _refusal_of(page: Page, remedy: str) -> InvalidArgument | None:
    """Return the error for a remedy that does not free the page, or None if it does."""
    found = remedies_of(page)
    if remedy in found:
        return None
    if found:
        return InvalidArgument(f"{remedy!r} does not free this page; use one of: {', '.join(found)}.")
    pending = [dialog.id for dialog in page.dialogs if dialog.phase != "closed"]
    instead = f"respond to {', '.join(pending)}" if pending else "see its health"
    return InvalidArgument(
        f"Page {shown_page(page)} answers, or waits for the answer to a dialog, so it needs no remedy; {instead}."
    )


def _stopped_by_kin(transition: Transition, page: Page) -> InvalidArgument | None:
    """Return the error for a remedy of a page that is silent because of a dialog of its opener or popup."""
    kin = dialogs_of_kin(transition.state, page)
    if not kin or page.dialogs:
        return None
    other, dialog = kin[0]
    how = f"recover({other.id!r}, remedy)" if dialog.phase == "unanswerable" else "respond_to_dialog"
    return InvalidArgument(
        f"Page {shown_page(page)} waits for dialog {dialog.id} on page {shown_page(other)}, so a remedy of its own frees "
        f"nothing; use {how}, or close the page with Target.closeTarget."
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
    number = transition.send(
        session_id, method, params, purpose="remedy", page_id=page.id, request_id=request_id, tag=remedy
    )
    transition.schedule(("remedy", number), transition.state.limits.answer_patience, "a remedy is unanswered")


def remedy_ended(transition: Transition, ticket: Ticket, number: int, outcome: Any) -> None:
    """Answer with the failure of a remedy, or look for the proof that it freed its page."""
    transition.cancel(("remedy", number))
    try:
        result_of(outcome, "The remedy", ticket.session_id)
    except CdpError as error:
        transition.answer(ticket.request_id, error=error)
        return
    page = transition.page(ticket.page_id)
    if page is None or page.session_id is None:
        transition.answer(ticket.request_id)
        return
    # The proof is an answer of the renderer; a page that closes ends this command with its session.
    number = transition.send(
        *(page.session_id, "Runtime.evaluate", {"expression": "0"}),
        purpose="proof",
        page_id=page.id,
        request_id=ticket.request_id,
        tag=ticket.tag,
    )
    transition.schedule(("remedy", number), transition.state.limits.answer_patience, "a remedy is unproved")


def proof_ended(transition: Transition, ticket: Ticket, number: int, outcome: Any) -> None:
    """Answer the request of a remedy: its page answers, or is gone."""
    transition.cancel(("remedy", number))
    lost = isinstance(outcome, Loss) and outcome.kind == "connection"
    error = error_of(outcome, "The remedy", ticket.session_id) if lost else None
    transition.answer(ticket.request_id, error=error)


def remedy_due(transition: Transition, number: int) -> None:
    """Answer the request: the remedy got no reply in time, or it was carried out and freed nothing."""
    ticket = transition.state.tickets.get(number)
    if ticket is None:
        return
    transition.forget(number)
    page = transition.page(ticket.page_id)
    error: Exception | None = None
    if ticket.purpose == "proof" and page is not None:
        order = REMEDIES["unseen"]
        left = tuple(each for each in remedies_of(page) if order.index(each) > order.index(ticket.tag))
        error = RemedyFailed(page.id, remedy=ticket.tag, remedies=left, shown=shown_page(page))
    elif ticket.purpose == "remedy":
        waited = transition.state.limits.answer_patience
        health = None if page is None else view_health(transition.state, page)
        error = CallTimedOut("The remedy", waited=waited, health=health)
    transition.answer(ticket.request_id, error=error)


def end_all(transition: Transition, error_for: Any) -> None:
    """End every open remedy with the error that `error_for` makes: no reply can come any more."""
    for number, ticket in sorted(transition.state.tickets.items()):
        if ticket.purpose in ("remedy", "proof"):
            transition.cancel(("remedy", number))
            transition.forget(number)
            transition.answer(ticket.request_id, error=error_for())


REQUESTS: Final[RequestRules] = {Recover: recover}
"""Request → rule."""
