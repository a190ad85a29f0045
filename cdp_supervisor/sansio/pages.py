"""Pages and the sessions on their targets: how they appear, are set up, and end.

Auto-attach gives the supervisor a session on each new target before the target runs its first instruction (one
`Target.setAutoAttach` at the root and one on each session, fact 46). Each new session gets the same setup commands at
once, and none of their replies is awaited: a page that a dialog blocks replies only after the dialog is over (fact
15), and the resume command must always be sent (docs/cdp/resume-comes-last-and-always.md). A page that does not
answer its setup has the state blocked, until a late reply clears it
(docs/cdp/a-page-that-does-not-answer-its-setup-is-blocked.md).

The supervisor uses the events of one session per target, the primary session. A second session repeats every event,
and becomes primary when the first one ends (docs/cdp/a-second-session-repeats-every-event.md). A page is gone when
its target is gone: if only its session ended, the supervisor opens another one, and a page that crashed keeps its
session (docs/cdp/a-crash-ends-no-session.md).
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any, Final

from immutables import Map

from cdp_core.sansio.messages import BrowserContextId, Json, Refusal, Result, SessionId, TargetId
from cdp_core.sansio.outcomes import Loss
from cdp_core.sansio.structs import replace
from cdp_supervisor.sansio import changes, dialogs, effects, frames, loading, patience, titles
from cdp_supervisor.sansio.event_params import member, members, text
from cdp_supervisor.sansio.inputs import SessionClosed, SessionOpened
from cdp_supervisor.sansio.replies import value_of
from cdp_supervisor.sansio.state import Attachment, Dialog, Page, Ticket
from cdp_supervisor.sansio.transition import Transition

WITH_FRAMES: Final = frozenset(("page", "iframe"))
SCRIPTED: Final = frozenset(("page", "iframe", "worker", "shared_worker", "service_worker", "webview", "worklet"))
ENDED_WITH_ANOTHER: Final = frozenset(("parent_ended", "link_lost"))
"""Reasons for the end of a session that do not show what became of its target."""
REOPEN_AFTER: Final = 1.0
"""Seconds after the end of a page's session until the supervisor attaches to the page again."""


# ── sessions ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def session_opened(transition: Transition, opened: SessionOpened) -> None:
    """Record a new session; its `Target.attachedToTarget` comes next and starts the setup."""
    state = transition.state
    if opened.session_id in state.sessions:
        return
    if len(state.sessions) >= state.limits.sessions_kept:
        transition.count("sessions_left_out")
        return
    is_page = opened.target_type == "page"
    parent = None if opened.parent is None else state.sessions.get(opened.parent)
    above = None if parent is None else parent.page_id
    primary = opened.target_id not in state.primary_on
    attachment = Attachment(
        session_id=opened.session_id,
        target_id=opened.target_id,
        type=opened.target_type,
        parent=opened.parent,
        page_id=opened.target_id if is_page else above,
        primary=primary,
        waiting=opened.waiting_for_debugger,
    )
    transition.update(sessions=state.sessions.set(opened.session_id, attachment))
    if primary:
        transition.update(primary_on=state.primary_on.set(opened.target_id, opened.session_id))
    else:
        others = (*state.also_on.get(opened.target_id, ()), opened.session_id)
        transition.update(also_on=state.also_on.set(opened.target_id, others))
    _no_longer_adrift(transition, opened.target_id)


def attached_to_target(transition: Transition, params: Json) -> None:
    """Set up a session on its `Target.attachedToTarget`, which comes after its `SessionOpened`."""
    session_id = SessionId(text(params, "sessionId"))
    attachment = transition.state.sessions.get(session_id)
    state = transition.state
    if attachment is None and len(state.sessions) >= state.limits.sessions_kept:  # it was left out
        _resume(transition, session_id, waiting=params.get("waitingForDebugger") is True)
    elif attachment is not None and not attachment.set_up:
        _begin(transition, attachment, member(params, "targetInfo"))


def session_closed(transition: Transition, closed: SessionClosed) -> None:
    """Remove an ended session, detach its page or frame, and let another session of the target take over."""
    attachment = transition.state.sessions.get(closed.session_id)
    if attachment is None:
        return
    state = transition.state
    page_of = state.page_of.delete(closed.session_id) if closed.session_id in state.page_of else state.page_of
    opened = tuple([each for each in state.opened if each != closed.session_id]) if state.opened else ()
    transition.update(sessions=state.sessions.delete(closed.session_id), page_of=page_of, opened=opened)
    transition.cancel(("setup", closed.session_id))
    successor = _leave_target(transition, attachment)
    page = transition.page(attachment.page_id)
    if page is not None:
        _forget_session(transition, page, closed.session_id)
    page = transition.page(attachment.page_id) if attachment.primary else None
    if page is not None and attachment.type == "iframe":
        unreported = successor is None and closed.reason in ENDED_WITH_ANOTHER
        if not unreported or not transition.set_adrift(attachment.target_id, page.id):
            frames.session_ended(transition, page, attachment, None if successor is None else successor.session_id)
    elif page is not None and page.session_id == closed.session_id:
        dialogs.link_or_session_lost(transition, page)
        page = transition.current(page)
        transition.put_page(replace(page, session_id=None, blocked=None))
        if state.link.phase == "up" and not state.adopting:
            transition.schedule(("target", page.id), REOPEN_AFTER, "a page may still exist without its session")
    if successor is not None and successor.set_up:
        _use_events(transition, successor)
        if successor.type == "page":
            _page_attached(transition, successor, {})
        _set_up(transition, successor)


def _forget_session(transition: Transition, page: Page, session_id: SessionId) -> None:
    page = frames.session_forgotten(transition, page, session_id)
    if session_id in page.blocked_sessions:
        page = transition.put_page(replace(page, blocked_sessions=page.blocked_sessions.delete(session_id)))
    if session_id in page.busy_sessions:
        transition.put_page(replace(page, busy_sessions=page.busy_sessions.delete(session_id)))


def _leave_target(transition: Transition, attachment: Attachment) -> Attachment | None:
    """Remove a session from its target; return the session that becomes primary instead, if any."""
    state, target_id = transition.state, attachment.target_id
    others = tuple(each for each in state.also_on.get(target_id, ()) if each != attachment.session_id)
    successor = None
    if state.primary_on.get(target_id) == attachment.session_id:
        transition.update(primary_on=state.primary_on.delete(target_id))
        if others:
            successor, others = replace(state.sessions[others[0]], primary=True), others[1:]
            transition.update(
                sessions=transition.state.sessions.set(successor.session_id, successor),
                primary_on=state.primary_on.set(target_id, successor.session_id),
            )
    if others:
        transition.update(also_on=state.also_on.set(target_id, others))
    elif target_id in state.also_on:
        transition.update(also_on=state.also_on.delete(target_id))
    return successor


def _begin(transition: Transition, attachment: Attachment, info: Json) -> None:
    """Set up a session now that its target info is known, or detach it if the target is out of scope."""
    attachment = replace(attachment, set_up=True)
    if not _in_scope(transition, attachment, info):
        transition.update(sessions=transition.state.sessions.delete(attachment.session_id))
        _leave_target(transition, attachment)
        _resume(transition, attachment.session_id, waiting=False)
        if not transition.state.adopting:
            detach = effects.Detach(session_id=attachment.session_id, parent=attachment.parent)
            transition.last = (*transition.last, detach)
        return
    transition.update(sessions=transition.state.sessions.set(attachment.session_id, attachment))
    if attachment.primary:
        _use_events(transition, attachment)
        if attachment.type == "page":
            _page_attached(transition, attachment, info)
        elif attachment.type == "iframe":
            page = transition.page(attachment.page_id)
            if page is not None:
                frames.attached_as_oopif(transition, page, attachment, info)
    _set_up(transition, attachment)


def _use_events(transition: Transition, attachment: Attachment) -> None:
    """Assign the events of a primary session to its page, or to its target if that belongs to no page."""
    subject = attachment.page_id or attachment.target_id
    transition.update(page_of=transition.state.page_of.set(attachment.session_id, subject))


def _set_up(transition: Transition, attachment: Attachment) -> None:
    session_id = attachment.session_id
    if attachment.primary and attachment.type in WITH_FRAMES:
        if attachment.type == "page" and not attachment.waiting:  # one that crashed earlier reports it now (fact 69)
            transition.emit(effects.Enable(session_id=session_id, domain="Inspector"))
        transition.emit(effects.Enable(session_id=session_id, domain="Page"))
        request_tree(transition, attachment)
        patience.await_setup(transition, session_id)
    if attachment.primary and attachment.type in SCRIPTED:
        transition.emit(effects.Enable(session_id=session_id, domain="Runtime"))
    if attachment.primary and not transition.state.adopting:
        transition.emit(effects.AutoAttach(session_id=session_id, wait=not transition.state.scope.sharing))
    _resume(transition, session_id, waiting=attachment.waiting)


def _resume(transition: Transition, session_id: SessionId, *, waiting: bool) -> None:
    """Resume a target, waiting or not (fact 7), unless the client that made it wait does so."""
    if transition.state.scope.sharing:
        return
    if not transition.state.adopting or not waiting:
        transition.resume(session_id)


def request_tree(transition: Transition, attachment: Attachment) -> None:
    transition.send(attachment.session_id, "Page.getFrameTree", purpose="tree", page_id=attachment.page_id)


def tree_ended(transition: Transition, ticket: Ticket, number: int, outcome: Any) -> None:
    """Read the reply to `Page.getFrameTree`; after a refusal, send the setup again."""
    attachment = None if ticket.session_id is None else transition.state.sessions.get(ticket.session_id)
    page = transition.page(ticket.page_id)
    if attachment is None or page is None or isinstance(outcome, Loss):
        return
    if isinstance(outcome, Result):
        frames.read_tree(transition, page, attachment, value_of(outcome))
        page = transition.current(page)
        if page.crashed is not None and number > page.crashed_after and page.session_id == attachment.session_id:
            # A session that was opened after a crash gets no event when the page loads again.
            transition.put_page(replace(page, crashed=None))
    elif isinstance(outcome, Refusal) and attachment.tries < transition.state.limits.retries:
        # A navigation broke the command off (fact 55); or the page had crashed before we attached, and its new renderer
        # process received none of the setup commands (docs/cdp/a-crash-ends-no-session.md).
        attachment = replace(attachment, tries=attachment.tries + 1)
        transition.update(sessions=transition.state.sessions.set(attachment.session_id, attachment))
        _set_up(transition, attachment)


# ── pages ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _page_attached(transition: Transition, attachment: Attachment, info: Json) -> None:
    state = transition.state
    page = state.pages.get(attachment.target_id)
    if page is None:
        if len(state.pages) >= state.limits.pages_kept:
            transition.count("pages_left_out")
            return
        page = Page(id=attachment.target_id, number=state.last_page + 1)
        transition.update(last_page=state.last_page + 1)
        if state.link.listed and not state.pages and state.page_gone is None:
            transition.update(only_page=page.id)
        opener = text(info, "openerId")
        transition.publish(changes.PageOpened(target_id=page.id, opener_id=TargetId(opener) if opener else None))
    transition.cancel(("target", page.id))
    page = loading.unwatched(page)
    page = replace(
        page, session_id=attachment.session_id, generation=state.generation, stale=True, blocked=None, leaving=False
    )
    page = _with_info(transition, page, info)
    # This target info is newer than the document that an earlier session reported.
    url = text(info, "url", state.limits.text_kept)
    transition.put_page(replace(page, url=url) if url else page)


def _with_info(transition: Transition, page: Page, info: Json) -> Page:
    most = transition.state.limits.text_kept
    opener, context = text(info, "openerId"), text(info, "browserContextId")
    main = page.frames.get(page.id)
    page = titles.with_title(transition, page, info)
    return replace(
        page,
        url=main.url if main is not None and main.reported else text(info, "url", most) or page.url,
        opener_id=TargetId(opener) if opener else page.opener_id,
        context_id=BrowserContextId(context) if context else page.context_id,
    )


def info_changed(transition: Transition, params: Json) -> None:
    info = member(params, "targetInfo")
    target_id = TargetId(text(info, "targetId"))
    page = transition.page(target_id)
    if page is not None and text(info, "subtype") == "disconnected":  # a prerendered page replaced it (fact 45)
        page_gone(transition, page, "replaced")
        return
    if page is not None:
        transition.put_page(_with_info(transition, page, info))
        return
    session_id = transition.state.primary_on.get(target_id)
    page = transition.page_of(session_id)
    if page is not None:
        frames.target_changed(transition, page, str(target_id), info)


def destroyed(transition: Transition, params: Json) -> None:
    target_id = TargetId(text(params, "targetId"))
    page = transition.page(target_id)
    if page is not None:
        page_gone(transition, page, "closed")
    else:
        _frame_gone(transition, target_id)


def _frame_gone(transition: Transition, frame_id: TargetId) -> None:
    """Remove a frame that is adrift: its target is gone."""
    page = transition.page(transition.state.adrift.get(frame_id))
    _no_longer_adrift(transition, frame_id)
    if page is not None:
        frames.gone(transition, page, str(frame_id))


def _no_longer_adrift(transition: Transition, frame_id: TargetId) -> None:
    if frame_id in transition.state.adrift:
        transition.update(adrift=transition.state.adrift.delete(frame_id))


def page_gone(transition: Transition, page: Page, reason: str) -> None:
    """Remove a page; keep its last dialogs, and why it is gone if calls without a target went to it."""
    dialogs.target_gone(transition, page)
    page = transition.current(page)
    transition.cancel(("target", page.id))
    state = transition.state
    default_page = state.focus or state.only_page
    kept: tuple[Dialog, ...] = (*state.departed, *page.recent)[-state.limits.recent_dialogs :]
    transition.update(
        pages=state.pages.delete(page.id),
        departed=kept,
        page_gone=(page.id, reason) if default_page == page.id else state.page_gone,
        focus=None if default_page == page.id else state.focus,
        only_page=None if default_page == page.id else state.only_page,
    )
    transition.publish(changes.PageGone(target_id=page.id, reason=reason))


def crashed(transition: Transition, page: Page, session_id: SessionId) -> None:
    if page.session_id == session_id:
        _mark_crashed(transition, page)


def target_crashed(transition: Transition, params: Json) -> None:
    page = transition.page(TargetId(text(params, "targetId")))
    if page is not None:
        _mark_crashed(transition, page)


def _mark_crashed(transition: Transition, page: Page) -> None:
    if page.crashed is None:
        last, page = transition.state.last_ticket, loading.unwatched(page)
        transition.put_page(
            replace(
                page,
                crashed=transition.at,
                crashed_after=last,
                blocked=None,
                silent_since=None,
                busy_sessions=Map(),
            )
        )
        transition.publish(changes.PageCrashed(target_id=page.id))


def reload_after_crash(transition: Transition, page: Page, session_id: SessionId) -> None:
    """Send the setup again after `Inspector.targetReloadedAfterCrash`: the renderer process is new."""
    attachment = transition.state.sessions.get(session_id)
    if attachment is not None and attachment.primary:
        if page.session_id == session_id:
            transition.put_page(replace(page, crashed=None))
        _set_up(transition, attachment)  # commands that were open at the crash were refused and had no effect


# ── the whole browser ────────────────────────────────────────────────────────────────────────────────────────────────


def targets_listed(transition: Transition, result: Json) -> None:
    """Read the result of `Target.getTargets`: a page that neither this link nor the list has is gone."""
    listed = {TargetId(text(info, "targetId")): info for info in members(result, "targetInfos")}
    for attachment in tuple(transition.state.sessions.values()):
        if not attachment.set_up:
            _begin(transition, attachment, listed.get(attachment.target_id, {}))
    old = [page for page in transition.state.pages.values() if page.generation != transition.state.generation]
    gone = [page for page in old if page.id not in listed]
    found_again = (page for page in transition.state.pages.values() if page.generation == transition.state.generation)
    same = any(page.number <= transition.state.link.pages_before for page in found_again)
    # The pages decide only if the address gave no browser id; with a known id, missing pages were merely closed.
    changed = not transition.state.link.browser_ids_known and bool(old) and len(gone) == len(old) and not same
    for page in gone:
        page_gone(transition, page, "link_lost")
    for frame_id in transition.state.adrift:
        if frame_id not in listed:
            _frame_gone(transition, frame_id)
    for page in old:
        if page.id in listed and page.session_id is None and not transition.state.adopting:
            transition.schedule(("target", page.id), REOPEN_AFTER, "a page is listed but has no session")
    link = transition.state.link
    transition.update(link=replace(link, listed=True, failures=0, browser_changed=link.browser_changed or changed))
    _update_only_page(transition, listed)
    if changed:
        transition.note("warning", "another browser is behind the link; the pages of the previous browser are gone")


def _update_only_page(transition: Transition, listed: Container[TargetId]) -> None:
    state = transition.state
    if len(state.pages) == 1 and state.only_page is None and state.page_gone is None:
        transition.update(only_page=next(iter(state.pages)))
    for target_id in sorted(state.scope.target_ids or ()):
        if target_id not in listed and target_id not in state.pages:
            transition.note("warning", "a target of the scope does not exist", target=target_id[:8])


def target_due(transition: Transition, target_id: TargetId) -> None:
    """Attach to a page that still has no session."""
    page = transition.page(target_id)
    if (
        page is not None
        and page.session_id is None
        and transition.state.link.phase == "up"
        and transition.state.stopping is None
    ):
        params = {"targetId": page.id, "flatten": True}
        transition.send(None, "Target.attachToTarget", params, purpose="reopen", page_id=page.id)


def reopen_ended(transition: Transition, ticket: Ticket, _number: int, outcome: Any) -> None:
    """Note the session that attaching opened; end a superfluous one; remove a page that is gone."""
    page = transition.page(ticket.page_id)
    if isinstance(outcome, Result):
        _opened_by_us(transition, SessionId(text(value_of(outcome), "sessionId")))
    elif page is not None and isinstance(outcome, Refusal) and page.session_id is None:
        page_gone(transition, page, "closed")


def _opened_by_us(transition: Transition, session_id: SessionId) -> None:
    state = transition.state
    attachment = state.sessions.get(session_id)
    if attachment is not None and attachment.primary:
        transition.update(opened=(*state.opened, session_id))
    elif attachment is not None:  # auto-attach was quicker, and a second session repeats every event (fact 47)
        transition.emit(effects.Detach(session_id=session_id, parent=attachment.parent))


def link_lost(transition: Transition) -> None:
    """Drop all sessions with the link; keep pages and frames until the next link shows which are gone."""
    for page in tuple(transition.state.pages.values()):
        dialogs.link_or_session_lost(transition, page)
        page = transition.current(page)  # noqa: PLW2901 - the same page after the change above
        transition.cancel(("free", page.id))
        cleared = replace(page, session_id=None, blocked=None, stale=True, remedy_pending=False, freed_by="")
        transition.put_page(
            replace(
                cleared,
                contexts=Map(),
                early_contexts=Map(),
                context_clearings=Map(),
                blocked_sessions=Map(),
                busy_sessions=Map(),
            )
        )
        transition.cancel(("target", page.id))
    for attachment in transition.state.sessions.values():
        transition.cancel(("setup", attachment.session_id))
        if attachment.type == "iframe" and attachment.page_id is not None:
            transition.set_adrift(attachment.target_id, attachment.page_id)
    transition.update(sessions=Map(), page_of=Map(), primary_on=Map(), also_on=Map(), opened=())


def _in_scope(transition: Transition, attachment: Attachment, info: Json) -> bool:
    if attachment.type != "page" and (attachment.page_id is not None or attachment.type == "iframe"):
        return True
    return target_in_scope(transition, attachment.target_id, info)


def target_in_scope(transition: Transition, target_id: TargetId, info: Json) -> bool:
    """True for a target of the scope, by its target info."""
    scope = transition.state.scope
    if scope.whole:
        return True
    if scope.context_id is not None:
        return text(info, "browserContextId") == scope.context_id
    opener = TargetId(text(info, "openerId"))
    assert scope.target_ids is not None
    named = target_id in scope.target_ids or opener in scope.target_ids
    # A known page stays in scope after its opener is gone.
    return named or opener in transition.state.pages or target_id in transition.state.pages
