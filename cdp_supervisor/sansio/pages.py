"""Pages, and the sessions on them and below them: how they come into sight, are set up, and go.

Whatever opens below the browser is attached to before its first instruction (one auto-attach at the root, one on each
session, fact 46). Each new session gets the same setup in one go, none of it awaited: a page that a dialog stops answers
only when it is over (fact 15), and the resume always comes (docs/cdp/resume-comes-last-and-always.md). Silence is a state
with a name: the page is blocked, and its own late answer says when it is not any more
(docs/cdp/a-page-that-does-not-answer-its-setup-is-blocked.md).

One session of ours on each target is listened to; a second one says everything again, and is listened to once the first
has ended (docs/cdp/a-second-session-repeats-every-event.md). A page is gone when its target is: a session that only
ended is opened again, and a page that crashed keeps its own (docs/cdp/a-crash-ends-no-session.md).
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any, Final

from immutables import Map

from cdp_core.sansio.messages import BrowserContextId, Json, Refusal, Result, SessionId, TargetId
from cdp_core.sansio.router import Loss
from cdp_core.sansio.structs import replace
from cdp_supervisor.sansio import changes, dialogs, effects, frames
from cdp_supervisor.sansio.event_params import member, members, text
from cdp_supervisor.sansio.inputs import SessionClosed, SessionOpened
from cdp_supervisor.sansio.replies import value_of
from cdp_supervisor.sansio.state import Attachment, Dialog, Page, Ticket
from cdp_supervisor.sansio.transition import Turn

__all__ = [
    "attached_to_target",
    "crashed",
    "destroyed",
    "info_changed",
    "link_lost",
    "reload_after_crash",
    "renderer_answered",
    "request_tree",
    "session_closed",
    "session_opened",
    "setup_overdue",
    "target_crashed",
    "target_due",
    "targets_listed",
    "tree_ended",
]

WITH_FRAMES: Final = frozenset(("page", "iframe"))
SCRIPTED: Final = frozenset(("page", "iframe", "worker", "shared_worker", "service_worker", "webview", "worklet"))
WITH_OTHERS: Final = frozenset(("parent_ended", "link_lost"))
"""Reasons of a session's end that say nothing of its target."""
REOPEN_AFTER: Final = 1.0
"""Seconds after which a page whose session ended, and that is still there, is attached to again."""


# ── sessions ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def session_opened(turn: Turn, opened: SessionOpened) -> None:
    """A session is open; what it is on is told next."""
    state = turn.state
    if opened.session_id in state.sessions:
        return
    if len(state.sessions) >= state.limits.sessions_kept:
        turn.count("sessions_left_out")
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
        waiting=opened.waiting,
    )
    turn.put(sessions=state.sessions.set(opened.session_id, attachment))
    if primary:
        turn.put(primary_on=state.primary_on.set(opened.target_id, opened.session_id))
    else:
        others = (*state.also_on.get(opened.target_id, ()), opened.session_id)
        turn.put(also_on=state.also_on.set(opened.target_id, others))
    _found(turn, opened.target_id)


def attached_to_target(turn: Turn, params: Json) -> None:
    """`Target.attachedToTarget`, after its session was told of."""
    attachment = turn.state.sessions.get(SessionId(text(params, "sessionId")))
    if attachment is not None and not attachment.begun:
        _begin(turn, attachment, member(params, "targetInfo"))


def session_closed(turn: Turn, closed: SessionClosed) -> None:
    """A session has ended, for whatever reason."""
    attachment = turn.state.sessions.get(closed.session_id)
    if attachment is None:
        return
    state = turn.state
    page_of = state.page_of.delete(closed.session_id) if closed.session_id in state.page_of else state.page_of
    turn.put(sessions=state.sessions.delete(closed.session_id), page_of=page_of)
    turn.calm(f"setup:{closed.session_id}")
    heir = _leave(turn, attachment)
    page = turn.page(attachment.page_id)
    if page is not None:
        _forget_session(turn, page, closed.session_id)
    page = turn.page(attachment.page_id) if attachment.primary else None
    if page is not None and attachment.type == "iframe":
        unsaid = heir is None and closed.reason in WITH_OTHERS
        if not unsaid or not turn.lose_sight(attachment.target_id, page.id):
            frames.session_ended(turn, page, attachment, None if heir is None else heir.session_id)
    elif page is not None and page.session_id == closed.session_id:
        dialogs.link_or_session_lost(turn, page)
        page = _now(turn, page.id)
        turn.put_page(replace(page, session_id=None, blocked=None))
        if state.link.phase == "up" and not state.adopting:
            turn.wake(f"target:{page.id}", REOPEN_AFTER, "a page may still be there without its session")
    if heir is not None and heir.begun:
        _listen(turn, heir)
        if heir.type == "page":
            _page_attached(turn, heir, {})
        _set_up(turn, heir)


def _forget_session(turn: Turn, page: Page, session_id: SessionId) -> None:
    page = frames.session_forgotten(turn, page, session_id)
    if session_id in page.silent:
        page = turn.put_page(replace(page, silent=page.silent.delete(session_id)))
    if session_id in page.busy:
        turn.put_page(replace(page, busy=page.busy.delete(session_id)))


def _leave(turn: Turn, attachment: Attachment) -> Attachment | None:
    """A session is not on its target any more. Who is listened to from now on, where somebody else is on it."""
    state, target_id = turn.state, attachment.target_id
    others = tuple(each for each in state.also_on.get(target_id, ()) if each != attachment.session_id)
    heir = None
    if state.primary_on.get(target_id) == attachment.session_id:
        turn.put(primary_on=state.primary_on.delete(target_id))
        if others:
            heir, others = replace(state.sessions[others[0]], primary=True), others[1:]
            turn.put(
                sessions=turn.state.sessions.set(heir.session_id, heir),
                primary_on=state.primary_on.set(target_id, heir.session_id),
            )
    if others:
        turn.put(also_on=state.also_on.set(target_id, others))
    elif target_id in state.also_on:
        turn.put(also_on=state.also_on.delete(target_id))
    return heir


def _begin(turn: Turn, attachment: Attachment, info: Json) -> None:
    """Set a session up, now that it is known what it is on."""
    attachment = replace(attachment, begun=True)
    if not _in_scope(turn, attachment, info):
        turn.put(sessions=turn.state.sessions.delete(attachment.session_id))
        _leave(turn, attachment)
        turn.order(effects.Resume(session_id=attachment.session_id))
        if not turn.state.adopting:
            turn.order(effects.Detach(session_id=attachment.session_id, parent=attachment.parent))
        return
    turn.put(sessions=turn.state.sessions.set(attachment.session_id, attachment))
    if attachment.primary:
        _listen(turn, attachment)
        if attachment.type == "page":
            _page_attached(turn, attachment, info)
        elif attachment.type == "iframe":
            page = turn.page(attachment.page_id)
            if page is not None:
                frames.attached_as_oopif(turn, page, attachment, info)
    _set_up(turn, attachment)


def _listen(turn: Turn, attachment: Attachment) -> None:
    """What is said on this session is said of its page, or of what else it is on: a second session says it again."""
    about = attachment.page_id or attachment.target_id
    turn.put(page_of=turn.state.page_of.set(attachment.session_id, about))


def _set_up(turn: Turn, attachment: Attachment) -> None:
    session_id = attachment.session_id
    if attachment.primary and attachment.type in WITH_FRAMES:
        turn.order(effects.Enable(session_id=session_id, domain="Page"))
        request_tree(turn, attachment)
        turn.wake(f"setup:{session_id}", turn.state.limits.setup_patience, "a setup is unanswered")
    if attachment.primary and attachment.type in SCRIPTED:
        turn.order(effects.Enable(session_id=session_id, domain="Runtime"))
    if not turn.state.adopting:
        turn.order(effects.AutoAttach(session_id=session_id))
        turn.order(effects.Resume(session_id=session_id))
    elif not attachment.waiting:
        turn.order(
            effects.Resume(session_id=session_id)
        )  # whoever asked to wait will say so, nobody else would (fact 7)


def request_tree(turn: Turn, attachment: Attachment) -> None:
    """Ask a session which frames it has."""
    turn.send(attachment.session_id, "Page.getFrameTree", purpose="tree", page_id=attachment.page_id)


def tree_ended(turn: Turn, ticket: Ticket, number: int, outcome: Any) -> None:
    """The frame tree, or why there is none."""
    attachment = None if ticket.session_id is None else turn.state.sessions.get(ticket.session_id)
    page = turn.page(ticket.page_id)
    if attachment is None or page is None or isinstance(outcome, Loss):
        return
    if isinstance(outcome, Result):
        frames.read_tree(turn, page, attachment, value_of(outcome))
        page = _now(turn, page.id)
        if page.crashed is not None and number > page.crashed_after and page.session_id == attachment.session_id:
            turn.put_page(replace(page, crashed=None))  # who came after a crash hears no other word of its end
    elif isinstance(outcome, Refusal) and attachment.tries < turn.state.limits.retries:
        # A navigation broke it off (fact 55); or the page had crashed before we came, and what comes back in its place has
        # heard nothing of what was asked (docs/cdp/a-crash-ends-no-session.md).
        attachment = replace(attachment, tries=attachment.tries + 1)
        turn.put(sessions=turn.state.sessions.set(attachment.session_id, attachment))
        _set_up(turn, attachment)


def renderer_answered(turn: Turn, ticket: Ticket, number: int) -> None:
    """A renderer has answered, whatever it was: it is not stopped."""
    page = turn.page(ticket.page_id)
    if page is None or ticket.session_id is None:
        return
    turn.calm(f"setup:{ticket.session_id}")
    dialogs.replied(turn, page, ticket.session_id, number)
    page = _now(turn, page.id)
    if page.blocked is not None and page.session_id == ticket.session_id:
        turn.put_page(replace(page, blocked=None))
    elif ticket.session_id in page.silent:
        turn.put_page(replace(page, silent=page.silent.delete(ticket.session_id)))
    if ticket.session_id in page.busy:
        page = _now(turn, page.id)
        turn.put_page(replace(page, busy=page.busy.delete(ticket.session_id)))


def setup_overdue(turn: Turn, session_id: SessionId) -> None:
    """The setup is unanswered: the process is stopped, by a dialog that nobody saw open (fact 4) or by itself.

    That of a frame of its own says nothing of the page's, and the page says so.
    """
    attachment = turn.state.sessions.get(session_id)
    page = None if attachment is None else turn.page(attachment.page_id)
    if page is None or page.dialogs or page.crashed is not None:
        return
    if page.session_id == session_id:
        turn.put_page(replace(page, blocked=turn.at))
        turn.note("warning", "a page does not answer its setup", page=page.id[:8], session=session_id[:8])
    else:
        turn.put_page(replace(page, silent=page.silent.set(session_id, turn.at)))
        turn.note("warning", "a frame does not answer its setup", page=page.id[:8], session=session_id[:8])


# ── pages ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _page_attached(turn: Turn, attachment: Attachment, info: Json) -> None:
    state = turn.state
    page = state.pages.get(attachment.target_id)
    if page is None:
        if len(state.pages) >= state.limits.pages_kept:
            turn.count("pages_left_out")
            return
        page = Page(id=attachment.target_id, number=state.last_page + 1)
        turn.put(last_page=state.last_page + 1)
        if state.link.listed and not state.pages and state.page_gone is None:
            turn.put(only=page.id)
        opener = text(info, "openerId")
        turn.tell(changes.PageOpened(target_id=page.id, opener_id=TargetId(opener) if opener else None))
    turn.calm(f"target:{page.id}")
    page = replace(page, session_id=attachment.session_id, epoch=state.epoch, stale=True, blocked=None)
    page = _informed(turn, page, info)
    shown = text(info, "url", state.limits.text_kept)  # what an older session told of the document is older
    turn.put_page(replace(page, url=shown) if shown else page)


def _informed(turn: Turn, page: Page, info: Json) -> Page:
    most = turn.state.limits.text_kept
    opener, context = text(info, "openerId"), text(info, "browserContextId")
    main = page.frames.get(page.id)
    return replace(
        page,
        url=main.url if main is not None and main.told else text(info, "url", most) or page.url,
        title=text(info, "title", most) or page.title,
        opener_id=TargetId(opener) if opener else page.opener_id,
        context_id=BrowserContextId(context) if context else page.context_id,
    )


def info_changed(turn: Turn, params: Json) -> None:
    """`Target.targetInfoChanged`."""
    info = member(params, "targetInfo")
    target_id = TargetId(text(info, "targetId"))
    page = turn.page(target_id)
    if page is not None and text(info, "subtype") == "disconnected":  # a prerendered page took its place (fact 45)
        page_gone(turn, page, "replaced")
        return
    if page is not None:
        turn.put_page(_informed(turn, page, info))
        return
    session_id = turn.state.primary_on.get(target_id)
    page = turn.page_of(session_id)
    if page is not None:
        frames.target_changed(turn, page, str(target_id), info)


def destroyed(turn: Turn, params: Json) -> None:
    """`Target.targetDestroyed`."""
    target_id = TargetId(text(params, "targetId"))
    page = turn.page(target_id)
    if page is not None:
        page_gone(turn, page, "closed")
    else:
        _frame_gone(turn, target_id)


def _frame_gone(turn: Turn, frame_id: TargetId) -> None:
    """A frame that is adrift is no more."""
    page = turn.page(turn.state.adrift.get(frame_id))
    _found(turn, frame_id)
    if page is not None:
        frames.gone(turn, page, str(frame_id))


def _found(turn: Turn, frame_id: TargetId) -> None:
    if frame_id in turn.state.adrift:
        turn.put(adrift=turn.state.adrift.delete(frame_id))


def page_gone(turn: Turn, page: Page, reason: str) -> None:
    """A page is no more."""
    dialogs.target_gone(turn, page)
    page = _now(turn, page.id)
    turn.calm(f"target:{page.id}")
    state = turn.state
    meant = state.focus or state.only
    kept: tuple[Dialog, ...] = (*state.departed, *page.recent)[-state.limits.recent_dialogs :]
    turn.put(
        pages=state.pages.delete(page.id),
        departed=kept,
        page_gone=(page.id, reason) if meant == page.id else state.page_gone,
        focus=None if meant == page.id else state.focus,
        only=None if meant == page.id else state.only,
    )
    turn.tell(changes.PageGone(target_id=page.id, reason=reason))


def crashed(turn: Turn, page: Page, session_id: SessionId) -> None:
    """`Inspector.targetCrashed`."""
    if page.session_id == session_id:
        _mark_crashed(turn, page)


def target_crashed(turn: Turn, params: Json) -> None:
    """`Target.targetCrashed`."""
    page = turn.page(TargetId(text(params, "targetId")))
    if page is not None:
        _mark_crashed(turn, page)


def _mark_crashed(turn: Turn, page: Page) -> None:
    if page.crashed is None:
        last = turn.state.last_ticket
        turn.put_page(replace(page, crashed=turn.at, crashed_after=last, blocked=None, busy=Map()))
        turn.tell(changes.PageCrashed(target_id=page.id))


def reload_after_crash(turn: Turn, page: Page, session_id: SessionId) -> None:
    """`Inspector.targetReloadedAfterCrash`: it shows a document again, and nothing of before is left."""
    attachment = turn.state.sessions.get(session_id)
    if attachment is not None and attachment.primary:
        if page.session_id == session_id:
            turn.put_page(replace(page, crashed=None))
        _set_up(turn, attachment)  # what was asked when it died was refused, and not done


# ── the whole browser ────────────────────────────────────────────────────────────────────────────────────────────────


def targets_listed(turn: Turn, result: Json) -> None:
    """`Target.getTargets`: what there is. What this link has not seen and the list has not is gone."""
    listed = {TargetId(text(info, "targetId")): info for info in members(result, "targetInfos")}
    for attachment in tuple(turn.state.sessions.values()):
        if not attachment.begun:
            _begin(turn, attachment, listed.get(attachment.target_id, {}))
    old = [page for page in turn.state.pages.values() if page.epoch != turn.state.epoch]
    gone = [page for page in old if page.id not in listed]
    found_again = (page for page in turn.state.pages.values() if page.epoch == turn.state.epoch)
    same = any(page.number <= turn.state.link.pages_before for page in found_again)
    # Where its address does not tell: or a page was closed meanwhile, and that is all.
    changed = not turn.state.link.browser_told and bool(old) and len(gone) == len(old) and not same
    for page in gone:
        page_gone(turn, page, "link_lost")
    for frame_id in turn.state.adrift:
        if frame_id not in listed:
            _frame_gone(turn, frame_id)
    for page in old:
        if page.id in listed and page.session_id is None and not turn.state.adopting:
            turn.wake(f"target:{page.id}", REOPEN_AFTER, "a page is there, and has not been attached to")
    link = turn.state.link
    turn.put(link=replace(link, listed=True, failures=0, browser_changed=link.browser_changed or changed))
    _look_for_what_is_meant(turn, listed)
    if changed:
        turn.note("warning", "another browser is behind the link: the pages of before are gone")


def _look_for_what_is_meant(turn: Turn, listed: Container[TargetId]) -> None:
    state = turn.state
    if len(state.pages) == 1 and state.only is None and state.page_gone is None:
        turn.put(only=next(iter(state.pages)))
    for target_id in sorted(state.scope.target_ids or ()):
        if target_id not in listed and target_id not in state.pages:
            turn.note("warning", "a target of the scope is not there", target=target_id[:8])


def target_due(turn: Turn, target_id: TargetId) -> None:
    """A page has no session: open one, if it is still there."""
    page = turn.page(target_id)
    if page is not None and page.session_id is None and turn.state.link.phase == "up" and turn.state.stopping is None:
        params = {"targetId": page.id, "flatten": True}
        turn.send(None, "Target.attachToTarget", params, purpose="reopen", page_id=page.id)


def reopen_ended(turn: Turn, ticket: Ticket, outcome: Any) -> None:
    """It could not be attached to: there is no such target."""
    page = turn.page(ticket.page_id)
    if page is not None and isinstance(outcome, Refusal) and page.session_id is None:
        page_gone(turn, page, "closed")


def link_lost(turn: Turn) -> None:
    """No session is left; pages and frames stay, until a browser says otherwise."""
    for page in tuple(turn.state.pages.values()):
        dialogs.link_or_session_lost(turn, page)
        page = _now(turn, page.id)  # noqa: PLW2901 - the same page, as it is now
        cleared = replace(page, session_id=None, blocked=None, stale=True, curing=False)
        turn.put_page(replace(cleared, contexts=Map(), early=Map(), clearings=Map(), silent=Map(), busy=Map()))
        turn.calm(f"target:{page.id}")
    for attachment in turn.state.sessions.values():
        turn.calm(f"setup:{attachment.session_id}")
        if attachment.type == "iframe" and attachment.page_id is not None:
            turn.lose_sight(attachment.target_id, attachment.page_id)
    turn.put(sessions=Map(), page_of=Map(), primary_on=Map(), also_on=Map())


def _in_scope(turn: Turn, attachment: Attachment, info: Json) -> bool:
    scope, target_id = turn.state.scope, attachment.target_id
    if scope.whole or (attachment.type != "page" and (attachment.page_id is not None or attachment.type == "iframe")):
        return True
    if scope.context_id is not None:
        return text(info, "browserContextId") == scope.context_id
    opener = TargetId(text(info, "openerId"))
    assert scope.target_ids is not None
    named = target_id in scope.target_ids or opener in scope.target_ids
    return named or opener in turn.state.pages or target_id in turn.state.pages  # its opener may be gone by now


def _now(turn: Turn, page_id: TargetId) -> Page:
    page = turn.page(page_id)
    assert page is not None
    return page
