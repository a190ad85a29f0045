"""How long a page may take to answer its setup, and what it means if it does not.

An unseen dialog (fact 4) or an endless script blocks the renderer process
(docs/cdp/a-page-that-does-not-answer-its-setup-is-blocked.md); a navigation in flight silences it (fact 90). The time
runs on over links, so that a page that was silent before a reconnect is suspected at once.
"""

from __future__ import annotations

from typing import Any

from cdp_core.sansio.messages import Result, SessionId
from cdp_core.sansio.structs import replace
from cdp_supervisor.sansio import dialogs
from cdp_supervisor.sansio.event_params import members, text
from cdp_supervisor.sansio.health import is_navigating
from cdp_supervisor.sansio.replies import value_of
from cdp_supervisor.sansio.state import Page, Ticket
from cdp_supervisor.sansio.transition import Transition


def await_setup(transition: Transition, session_id: SessionId) -> None:
    """Schedule when the setup is overdue, less the time that the page was silent on earlier links."""
    left, page = transition.state.limits.setup_patience, transition.page_of(session_id)
    if page is not None and page.session_id == session_id:
        since = page.silent_since or transition.at
        left -= transition.now - since.mono
        transition.put_page(replace(page, silent_since=since))
    if left > 0:
        transition.schedule(("setup", session_id), left, "the setup of a session is unanswered")
    else:
        setup_overdue(transition, session_id)


def renderer_answered(transition: Transition, ticket: Ticket, number: int) -> None:
    """Clear the blocked and busy states of a session: its renderer sent a result or a refusal."""
    page = transition.page(ticket.page_id)
    assert page is not None
    assert ticket.session_id is not None
    transition.cancel(("setup", ticket.session_id))
    dialogs.replied(transition, page, ticket.session_id, number)
    page = transition.current(page)
    if page.silent_since is not None and page.session_id == ticket.session_id:
        page = transition.put_page(replace(page, silent_since=None, blocked=None, leaving=False))
    if ticket.session_id in page.blocked_sessions:
        transition.put_page(replace(page, blocked_sessions=page.blocked_sessions.delete(ticket.session_id)))
    if ticket.session_id in page.busy_sessions:
        page = transition.current(page)
        transition.put_page(replace(page, busy_sessions=page.busy_sessions.delete(ticket.session_id)))


def setup_overdue(transition: Transition, session_id: SessionId) -> None:
    """Mark a page, or only its frame, as blocked: the setup of this session is unanswered.

    An unseen dialog (fact 4) or an endless script blocks the renderer process.
    """
    attachment = transition.state.sessions.get(session_id)
    page = None if attachment is None else transition.page(attachment.page_id)
    if page is None or page.dialogs or page.crashed is not None:
        return
    if is_navigating(page):
        if page.session_id == session_id and not page.leaving:
            _ask_what_is_shown(transition, page, session_id)
        transition.put_page(replace(transition.current(page), silent_since=None))
        await_setup(transition, session_id)
    elif page.session_id == session_id:
        transition.put_page(replace(page, blocked=page.silent_since or transition.at))
        _ask_what_is_shown(transition, page, session_id)
        transition.warn(page, "a page does not answer its setup", session=session_id[:8])
    else:
        transition.put_page(replace(page, blocked_sessions=page.blocked_sessions.set(session_id, transition.at)))
        transition.warn(page, "a frame does not answer its setup", session=session_id[:8])


def _ask_what_is_shown(transition: Transition, page: Page, session_id: SessionId) -> None:
    transition.send(session_id, "Page.getNavigationHistory", purpose="shown", page_id=page.id)


def shown_known(transition: Transition, ticket: Ticket, _number: int, outcome: Any) -> None:
    """Compare what a silent page shows with the address in its target info.

    A page that a `beforeunload` dialog keeps, of which no session saw the opening, cannot be told from one whose server is
    slow. Only its end frees the former (fact 64).
    """
    page = transition.page(ticket.page_id)
    if page is None or page.silent_since is None or not isinstance(outcome, Result):
        return
    result = value_of(outcome)
    entries, index = members(result, "entries"), result.get("currentIndex")
    most = transition.state.limits.text_kept
    url = text(entries[index], "url", most) if isinstance(index, int) and 0 <= index < len(entries) else ""
    if url and url != page.url:
        transition.put_page(replace(page, url=url, pending_url=page.url, leaving=True))
