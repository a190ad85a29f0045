"""Frees pages that would end the browser if their session left them (fact 62).

A dialog that opens while its document is being replaced cannot be answered: `Page.handleJavaScriptDialog` is refused
because the page is not active, and so is `Page.getNavigationHistory`, which is answered under every other dialog. If a
session with Page enabled ends while such a dialog is open, the whole browser ends. `Page.navigate` ends the dialog;
the proof is its closed event. Without that, the page is closed. Nothing is submitted again: in place of a form's
navigation, the page goes back to its own address (docs/cdp/leaving-a-page-can-end-the-browser.md).

The supervisor frees such a page when it stops, in every scope, and at once where an automatic policy wanted to answer
the dialog. It never frees a page that is fragile (`fragile` below).
"""

from __future__ import annotations

from typing import Any, Final

from cdp_core.sansio.messages import Refusal
from cdp_core.sansio.structs import replace
from cdp_supervisor.sansio.event_params import shown_page
from cdp_supervisor.sansio.state import Page, Ticket
from cdp_supervisor.sansio.transition import Transition

FREE_SECONDS: Final = 1.0
"""Seconds for the proof that `Page.navigate` freed a page; it takes milliseconds."""
CLOSE_SECONDS: Final = 0.4
"""Seconds for the end of the target after `Target.closeTarget`."""
INACTIVE: Final = -32000
"""Error code of `Page.getNavigationHistory` on a page that is not active."""


def begin_all(transition: Transition) -> None:
    """Free every page that would end the browser, as far as it is known; look at the others."""
    for page in transition.state.pages.values():
        pending = [dialog for dialog in page.dialogs if dialog.native and dialog.via == "native"]
        if any(dialog.why == "page_inactive" for dialog in pending):
            begin(transition, page)
        elif transition.state.scope.observing and any(dialog.phase == "open" for dialog in pending):
            _look(transition, page)


def _look(transition: Transition, page: Page) -> None:
    """Ask a page for its history: it is refused only if the page would end the browser."""
    if page.session_id is not None and page.fragile is None:
        transition.send(page.session_id, "Page.getNavigationHistory", purpose="look", page_id=page.id)


def looked(transition: Transition, ticket: Ticket, _number: int, outcome: Any) -> None:
    """Free the page if the history was refused."""
    page = transition.page(ticket.page_id)
    if page is not None and page.dialogs and isinstance(outcome, Refusal) and outcome.code == INACTIVE:
        begin(transition, page)


def begin(transition: Transition, page: Page) -> None:
    """Navigate a page away from a dialog that cannot be answered, unless that is under way."""
    if page.session_id is None or page.fragile is not None or ("free", page.id) in transition.state.deadline_of:
        return
    own = page.url or (page.frames[page.id].url if page.id in page.frames else "")
    url = page.pending_url if page.pending_url and not page.pending_post else own or "about:blank"
    where = "the address of its navigation" if url == page.pending_url else "its own address"
    lost = "what its form sends" if page.pending_post else "what its document holds"
    transition.put_page(replace(page, remedy_pending=True, freed_by=f"navigated to {where}; {lost} is lost"))
    transition.warn(page, "freeing a page whose dialog would end the browser")
    transition.send(page.session_id, "Page.navigate", {"url": url}, purpose="free", page_id=page.id)
    transition.schedule(("free", page.id), FREE_SECONDS, f"page {page.id[:8]} is being freed")


def settled(transition: Transition, page: Page) -> None:
    """Note, after the end of a dialog, that its page is free."""
    page = transition.current(page)
    if page.freed_by and not any(dialog.why == "page_inactive" for dialog in page.dialogs):
        _report(transition, page)
        transition.put_page(replace(page, freed_by=""))


def _report(transition: Transition, page: Page) -> None:
    transition.cancel(("free", page.id))
    most = transition.state.limits.recent_dialogs
    told = f"page {shown_page(page)}: {page.freed_by}"
    transition.update(freed=(*transition.state.freed, told)[-most:] if most else ())


def due(transition: Transition, page_id: Any) -> None:
    """Close a page that a navigation did not free: leaving it would close every page."""
    page = transition.page(page_id)
    if page is None or not page.freed_by or page.freed_by.startswith("closed"):
        return
    transition.put_page(replace(page, freed_by="closed, since no navigation freed it; what it holds is lost"))
    transition.warn(page, "closing a page whose dialog would end the browser")
    transition.send(None, "Target.closeTarget", {"targetId": page.id}, purpose="free", page_id=page.id)
    transition.schedule(("free", page.id), CLOSE_SECONDS, f"page {page.id[:8]} is being closed")


def make_fragile(transition: Transition, page: Page) -> Page:
    """Mark a page whose frame was removed under its open dialog: it would end the browser.

    Only leaving it alone is safe (fact 63, docs/cdp/removing-a-frame-closes-its-dialog-without-an-event.md).
    """
    if page.fragile is None:
        why = (
            "a frame was removed under its open dialog: a navigation, a close or a dialog of this page ends the browser"
        )
        page = transition.put_page(replace(page, fragile=transition.at))
        transition.warn(page, why)
    return transition.current(page)
