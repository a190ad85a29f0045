"""Freeing a page that a dialog stops which nobody can answer: one of the cures, chosen by whoever asks, never unasked.

Which there are is said by the dialogs of the page (facts 5, 22, 26; docs/cdp/an-unseen-dialog-blocks-its-page.md).
"""

from __future__ import annotations

from typing import Any

from cdp_core.errors import CdpError, InvalidArgument
from cdp_core.sansio.messages import Json, SessionId, TargetId
from cdp_core.sansio.structs import replace
from cdp_supervisor.errors import BlockedByDialog, CallTimedOut, UnknownTarget
from cdp_supervisor.sansio.dialog_table import REMEDIES, remedies
from cdp_supervisor.sansio.focus import page_ids
from cdp_supervisor.sansio.health import view_health
from cdp_supervisor.sansio.inputs import Ask
from cdp_supervisor.sansio.replies import result_of
from cdp_supervisor.sansio.requests import Recover
from cdp_supervisor.sansio.routing import down, windowless
from cdp_supervisor.sansio.state import Page, Ticket
from cdp_supervisor.sansio.transition import Turn

__all__ = ["cure_due", "cure_ended", "end_all", "recover"]


def recover(turn: Turn, ask: Ask, question: Recover) -> None:
    """`recover`: one of the cures, chosen by whoever asks."""
    page = turn.page(TargetId(question.target_id))
    useless = None if page is None else _no_cure(page, question.cure)
    if page is None:
        turn.answer(ask.ask_id, error=UnknownTarget(question.target_id, known=page_ids(turn)))
    elif turn.state.scope.observing:
        wrong = "This supervisor only observes: open one without .observed() to free a page."
        turn.answer(ask.ask_id, error=InvalidArgument(wrong))
    elif useless is not None:
        turn.answer(ask.ask_id, error=useless)
    elif (page.session_id is None and question.cure != "close") or turn.state.link.phase != "up":
        turn.answer(ask.ask_id, error=down(turn, page))
    elif question.cure != "close" and (there := windowless(turn, page, page.session_id)):
        turn.answer(ask.ask_id, error=BlockedByDialog(there, method=question.cure))
    else:
        _cure(turn, ask.ask_id, page, question.cure)


def _no_cure(page: Page, cure: str) -> InvalidArgument | None:
    """Why this does not free the page."""
    stuck = [dialog for dialog in page.dialogs if dialog.phase == "stuck"]
    cures: tuple[str, ...] = ()
    if stuck or page.blocked is not None or page.silent or page.busy:
        cures = tuple(
            cure
            for cure in REMEDIES["unseen"]
            if all(cure in remedies(dialog.why, native=dialog.native) for dialog in stuck)
        )
    if cure in cures:
        return None
    if cures:
        return InvalidArgument(f"{cure!r} does not free this page; what does: {', '.join(cures)}.")
    pending = [dialog.id for dialog in page.dialogs if dialog.phase != "closed"]
    instead = f"respond to {', '.join(pending)}" if pending else "its health says how it fares"
    return InvalidArgument(
        f"Nothing that nobody can answer stops page {page.id[:8]}, so there is nothing to free; {instead}."
    )


def _cure(turn: Turn, ask_id: int, page: Page, cure: str) -> None:
    session_id: SessionId | None = page.session_id
    params: Json
    if cure == "close":
        session_id, method, params = None, "Target.closeTarget", {"targetId": page.id}
    elif cure == "reload":
        method, params = "Page.reload", {}
    else:
        url = page.url.partition("#")[0] or "about:blank"
        if cure == "same_document":  # keeps what the page has, and costs one entry of its history (fact 5)
            url = f"{url}#freed-{turn.state.last_ticket + 1}"
        method, params = "Page.navigate", {"url": url}
    turn.put_page(replace(page, curing=bool(page.dialogs)))
    turn.note("info", "a page is freed", page=page.id[:8], cure=cure)
    number = turn.send(session_id, method, params, purpose="cure", page_id=page.id, call_id=f"a-{ask_id}")
    turn.wake(f"cure:{number}", turn.state.limits.answer_patience, "a cure is unanswered")


def cure_ended(turn: Turn, ticket: Ticket, number: int, outcome: Any) -> None:
    """A cure was carried out, or refused."""
    turn.calm(f"cure:{number}")
    ask_id = int(ticket.call_id[2:])
    try:
        result_of(outcome, "The cure", ticket.session_id)
    except CdpError as error:
        turn.answer(ask_id, error=error)
    else:
        turn.answer(ask_id)


def cure_due(turn: Turn, number: str) -> None:
    """A cure was not answered in its time."""
    ticket = turn.state.tickets.get(int(number))
    if ticket is not None:
        turn.forget(int(number))
        page = turn.page(ticket.page_id)
        health = None if page is None else view_health(turn.state, page)
        waited = turn.now - ticket.since.mono
        turn.answer(int(ticket.call_id[2:]), error=CallTimedOut("The cure", waited=waited, health=health))


def end_all(turn: Turn, error_for: Any) -> None:
    """Nothing can be freed any more: whoever waits is told so."""
    for number, ticket in sorted(turn.state.tickets.items()):
        if ticket.purpose == "cure":
            turn.calm(f"cure:{number}")
            turn.forget(number)
            turn.answer(int(ticket.call_id[2:]), error=error_for())
