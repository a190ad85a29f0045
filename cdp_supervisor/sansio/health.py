"""The health of a page in one word and one sentence, for snapshots and for calls that timed out.

The first one of these that holds: the link is down; the page crashed; its session ended; a dialog is open; it is
navigating (docs/cdp/a-navigation-silences-its-page.md); it does not answer its setup
(docs/cdp/a-page-that-does-not-answer-its-setup-is-blocked.md); it does not answer while a call waits.
"""

from __future__ import annotations

import attrs

from cdp_core.sansio.load_state import LoadState
from cdp_core.sansio.messages import Json, SessionId
from cdp_supervisor.sansio.event_params import shown_page
from cdp_supervisor.sansio.state import Dialog, Page, State


@attrs.frozen(kw_only=True)
class Health:
    """The state of a page in one word, why in one sentence, and since when (wall time)."""

    state: str
    """`ok`, `fragile`, `navigating`, `busy`, `frame_busy`, `blocked_by_dialog`, `blocked`, `frame_blocked`, `crashed`, `detached`
    or `link_down`.
    """
    why: str
    since: float | None

    def to_dict(self) -> Json:
        """Return it as JSON."""
        return attrs.asdict(self)


def view_health(state: State, page: Page) -> Health:
    """Return the health of a page."""
    pending = [dialog for dialog in page.dialogs if dialog.phase != "closed"]
    if state.link.phase != "up":
        return Health(state="link_down", why="the link to the browser is down", since=state.link.since.wall)
    if page.crashed is not None:
        return Health(
            state="crashed", why="its renderer process crashed; reload or navigate it", since=page.crashed.wall
        )
    if page.session_id is None:
        return Health(state="detached", why="its session ended, and no other is open yet", since=None)
    if pending:
        dialog = pending[0]
        unanswerable = f", and cannot be answered any more ({dialog.why})" if dialog.why else ""
        why = f"dialog {dialog.id} ({dialog.type}) is open on it{unanswerable}"
        return Health(state="blocked_by_dialog", why=why, since=dialog.opened.wall)
    if is_navigating(page):
        why = "a navigation of it is in flight: it answers when the new document is there, or after Page.stopLoading"
        if page.leaving:
            why += "; if a beforeunload dialog that was not seen keeps it, only closing the page helps"
        return Health(state="navigating", why=why, since=_main_load(page).since)
    return _health_of_answers(state, page, page.session_id)


def _health_of_answers(state: State, page: Page, own: SessionId) -> Health:
    """Return the health of a page on which nothing is open, by what it answers."""
    if page.blocked is not None:
        why = (
            "a beforeunload dialog whose opening was not seen keeps it from leaving; only closing it helps"
            if page.leaving
            else _why_silent(state, page, "a dialog whose opening was not seen, or a script that does not end")
        )
        return Health(state="blocked", why=why, since=page.blocked.wall)
    if page.blocked_sessions:
        session_id, since = min(page.blocked_sessions.items(), key=lambda each: (each[1].mono, each[0]))
        frame = _frame_on(state, session_id)
        why = (
            f"a frame of it{frame} does not answer: a dialog whose opening was not seen, or a script that does not end"
        )
        return Health(state="frame_blocked", why=why, since=since.wall)
    if own in page.busy_sessions:
        why = _why_silent(state, page, "a script that does not end keeps it busy")
        return Health(state="busy", why=why, since=page.busy_sessions[own].wall)
    if page.busy_sessions:
        session_id, since = min(page.busy_sessions.items(), key=lambda each: (each[1].mono, each[0]))
        why = f"a frame of it{_frame_on(state, session_id)} does not answer: a script that does not end keeps it busy"
        return Health(state="frame_busy", why=why, since=since.wall)
    if page.fragile is not None:
        why = (
            "a frame was removed under its open dialog: the next dialog, navigation or close of this page ends the whole "
            "browser; leave it alone, and open another page"
        )
        return Health(state="fragile", why=why, since=page.fragile.wall)
    return Health(state="ok", why="nothing is known to stop it", since=None)


def is_navigating(page: Page) -> bool:
    """True while a navigation of the main frame is in flight: the renderer answers nothing (fact 90)."""
    return _main_load(page).navigating_to != ""


def are_related(page: Page, other: Page) -> bool:
    """True for an opener and its popups: they may share a renderer process (facts 16, 17)."""
    popups = page.opener_id is not None and page.opener_id == other.opener_id
    return popups or other.opener_id == page.id or page.opener_id == other.id


def _main_load(page: Page) -> LoadState:
    return page.frames[page.id].load if page.id in page.frames else page.early_load


def _frame_on(state: State, session_id: SessionId) -> str:
    blocked = state.sessions.get(session_id)
    return "" if blocked is None else f" ({blocked.target_id[:8]})"


def dialogs_of_kin(state: State, page: Page) -> list[tuple[Page, Dialog]]:
    """Return the dialogs of the opener and the popups of a page: one may stop the page too (fact 16)."""
    return [
        (other, dialog)
        for other in sorted(state.pages.values(), key=lambda each: each.number)
        if other.id != page.id and are_related(page, other)
        for dialog in other.dialogs
        if dialog.phase != "closed"
    ]


def _why_silent(state: State, page: Page, otherwise: str) -> str:
    """Explain a silent page: an opener and its popup may share a process, which a dialog stops (fact 16)."""
    for other, dialog in dialogs_of_kin(state, page):
        return (
            f"it does not answer, and dialog {dialog.id} ({dialog.type}) is open on page {shown_page(other)}, "
            "with which it may share a process"
        )
    return f"it does not answer: {otherwise}"
