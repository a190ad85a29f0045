"""Dialogs, native and of extensions, from opening to end, and which client's answer ended each.

* Chromium sends the closed event before the reply to our answer (fact 1), so only the later of the two shows which
  answer closed the dialog. Without proof the history has `remote`, never `agent` (docs/cdp/closed-precedes-reply.md).
* A dialog belongs to the page even if an out-of-process frame raised it (fact 2). It is identified by page and frame,
  and answered on the page's session (docs/cdp/a-dialog-belongs-to-its-page.md).
* Unanswerable dialogs (facts 3, 4, 22) stay pending, with the reason and the remedies. No remedy is applied
  automatically (docs/cdp/an-unseen-dialog-blocks-its-page.md).
* The two browser profiles differ in which of two dialogs survives
  (docs/cdp/one-of-two-dialogs-cannot-be-answered.md).

`TABLE` (dialog_table.py) holds every possible move; a move outside it is counted and ignored.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from cdp_core.sansio.messages import Json, Malformed, Refusal, Result, SessionId
from cdp_core.sansio.outcomes import Loss
from cdp_core.sansio.structs import amend, replace
from cdp_supervisor.errors import (
    DialogAnswerRefused,
    DialogUnanswerable,
)
from cdp_supervisor.sansio import changes, freeing
from cdp_supervisor.sansio.deadlines import Key
from cdp_supervisor.sansio.dialog_table import TABLE, Move, Trigger, remedies
from cdp_supervisor.sansio.dialog_view import view_dialog
from cdp_supervisor.sansio.event_params import DialogClosedParams, DialogOpeningParams
from cdp_supervisor.sansio.inputs import DialogAnswered, NotSent
from cdp_supervisor.sansio.state import Dialog, Page, Ticket
from cdp_supervisor.sansio.transition import Transition

NONE_SHOWING: Final = -32602
"""Error code "invalid params": ours are valid, so the browser means that no dialog is showing."""
HOLD_SECONDS: Final = 0.5
"""Seconds after which it is known which of two dialogs on one page is left."""
TYPE: Final = 32
"""Characters that are kept of a dialog's type: a browser may send types that are not known here."""


# ── events and replies ───────────────────────────────────────────────────────────────────────────────────────────────


def opened(
    transition: Transition,
    page: Page,
    session_id: SessionId | None,
    params: DialogOpeningParams,
    *,
    via: str = "native",
    extension: str = "",
    key: str = "",
) -> Dialog | None:
    """Add a dialog, native or of an extension; return it unless the policy settled it."""
    limits = transition.state.limits
    frame_id = params.frame_id or page.id
    native = params.native
    older: list[Dialog] = []
    if page.dialogs and session_id is not None and via == "native":
        page = _settle_older(transition, page, session_id, frame_id)
        older = [each for each in _native(page) if each.phase in ("open", "answering", "unanswerable")]
    if len(page.dialogs) >= limits.dialogs_kept:
        transition.count("dialogs_left_out")
        return None
    number = transition.state.last_dialog + 1
    dialog = Dialog(
        id=f"d-{number}",
        number=number,
        target_id=page.id,
        frame_id=frame_id,
        session_id=session_id,
        type=params.type[:TYPE] or "alert",
        message=params.message,
        default_prompt=params.default_prompt,
        native=native,
        via=via,
        extension=extension,
        key=key,
        opened=transition.at,
        generation=transition.state.generation,
        held=native and bool(older),
    )
    policy = transition.state.policy.of(dialog.type)
    transition.update(last_dialog=number, dialog_on=transition.state.dialog_on.set(dialog.id, page.id))
    amend(dialog, "deadline", _schedule(transition, dialog, policy))
    transition.put_page(replace(page, dialogs=(*page.dialogs, dialog)))
    transition.publish(changes.DialogOpened(dialog_id=dialog.id, target_id=page.id, type=dialog.type))
    if not native:
        for other in older:  # without dialog windows the older one becomes unanswerable (fact 26)
            _move(transition, other.id, "superseded")
    if policy != "must_respond" or transition.state.stopping is not None:
        _answer_by_policy(transition, dialog, policy)
    return dialog if dialog.id in transition.state.dialog_on else None


def _settle_older(transition: Transition, page: Page, session_id: SessionId, frame_id: str) -> Page:
    """Settle the dialogs of a page that the opening of another one proves to be over."""
    process = transition.process_of(page, frame_id) or session_id
    for other in _native(page):
        if other.phase == "unanswerable" and transition.process_of(page, other.frame_id) == process:
            _move(transition, other.id, "page_replies")  # its renderer process runs scripts again
        elif other.phase == "closed" or (other.frame_id == frame_id and other.phase == "answered"):
            # The reply to an answer that closed it would precede this opening, so our answer is for the new dialog.
            _move(transition, other.id, "superseded")
    return transition.current(page)


def closed(transition: Transition, page: Page, params: DialogClosedParams) -> None:
    """Apply a `Page.javascriptDialogClosed`, which may be of a dialog that we never saw open (fact 18)."""
    dialog = _matching_dialog(page, params.frame_id)
    if dialog is None:
        transition.count("closed_without_opening")
        _supersede(transition, _native(page))
        return
    accepted = params.result
    elsewhere = "other_client" if accepted or params.user_input else "closed_elsewhere"
    if page.remedy_pending:
        elsewhere = "navigation"
    if dialog.phase == "answering" and dialog.accepting != accepted:
        # our own answer is still on its way, perhaps to the next dialog
        settle(transition, page, dialog, "remote", elsewhere)
    else:
        _apply_move(transition, page, dialog, "closed", elsewhere)
    if len(page.dialogs) > 1:
        _supersede(transition, [each for each in _native(page) if each.number > dialog.number])


def _native(page: Page) -> list[Dialog]:
    """Return the dialogs that the browser knows: its events are about no other."""
    return [each for each in page.dialogs if each.via == "native"]


def _matching_dialog(page: Page, frame_id: str) -> Dialog | None:
    """Return the dialog that closed; of two in one frame (its next document's too), the answerable one."""
    found: Dialog | None = None
    for each in _native(page):
        if (not frame_id or each.frame_id == frame_id) and each.phase != "closed":
            if each.why != "superseded":
                return each
            found = found or each
    return found


def _supersede(transition: Transition, opened_meanwhile: Iterable[Dialog]) -> None:
    """Mark dialogs that opened over another one: the browser shows them and takes no answer (fact 3)."""
    for dialog in opened_meanwhile:
        if dialog.native and dialog.phase != "closed":
            _move(transition, dialog.id, "superseded")


def answer_ended(
    transition: Transition, ticket: Ticket, _number: int, outcome: Result | Refusal | Malformed | Loss | NotSent
) -> None:
    """Apply the end of our answer to a dialog."""
    page = transition.page(ticket.page_id)
    if page is None:
        return
    trigger: Trigger
    if isinstance(outcome, Result):
        trigger = "reply_ok"
    elif isinstance(outcome, Refusal):
        trigger = "refused_none" if outcome.code == NONE_SHOWING else "refused_inactive"
        transition.count("answers_refused")
        found = find(transition, ticket.dialog_id)
        if found is not None:
            put(transition, replace(found[1], code=outcome.code))
    else:
        trigger = "reply_gone"
    _move(transition, ticket.dialog_id, trigger)


# ── ends without an event ────────────────────────────────────────────────────────────────────────────────────────────


def replied(transition: Transition, page: Page, session_id: SessionId | None, ticket_number: int) -> None:
    """Settle unanswerable dialogs of a renderer that replied to a command sent after they became so."""
    for dialog in page.dialogs:
        if (
            dialog.phase == "unanswerable"
            and ticket_number > dialog.since_ticket
            and transition.process_of(page, dialog.frame_id) == session_id
        ):
            _move(transition, dialog.id, "page_replies")


def link_or_session_lost(transition: Transition, page: Page) -> None:
    """Orphan the dialogs that only the page's ended session saw: no other can answer them (fact 4)."""
    for dialog in page.dialogs:
        _move(transition, dialog.id, "session_lost")


def target_gone(transition: Transition, page: Page) -> None:
    for dialog in page.dialogs:
        _move(transition, dialog.id, "target_gone")


def frame_gone(transition: Transition, page: Page, frame_ids: Iterable[str], reason: str) -> None:
    """Settle the dialogs of frames that are gone or show another document: no closed event comes for them."""
    gone = frozenset(frame_ids)
    for dialog in page.dialogs:
        if dialog.frame_id in gone and dialog.phase != "closed":
            if dialog.phase == "answered":
                _move(transition, dialog.id, "target_gone")
            elif (
                dialog.phase == "unanswerable"
                or reason != "navigation"
                # Without a dialog window, a navigation of the page closes it without an event. A frame may only have
                # changed its process, while the dialog of its first document is still open in the old one.
                or (not dialog.native and dialog.frame_id == page.id)
            ):
                found = find(transition, dialog.id)
                if found is not None:
                    settle(transition, *found, "remote", reason)


# ── time ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def due(transition: Transition, dialog_id: str) -> None:
    """Act on the deadline of a dialog or of its phase."""
    found = find(transition, dialog_id)
    if found is None:
        return
    page, dialog = found
    if dialog.held:
        _release(transition, dialog)
        return
    dialog = replace(dialog, deadline=None)
    put(transition, dialog)
    if dialog.phase == "open" and (policy := transition.state.policy.of(dialog.type)) != "must_respond":
        _answer_by_policy(transition, dialog, policy)
    elif dialog.phase == "open":
        transition.note("warning", "dismissing a dialog that got no answer in time", dialog=dialog.id, page=page.id[:8])
        answer(transition, dialog.id, accept=False, prompt_text=None, by="watchdog")
    else:
        _move(transition, dialog.id, "due")


# ── requests ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def settle_for_stop(transition: Transition) -> None:
    """Answer every open dialog: one that no remaining session saw open blocks its page for ever (fact 4)."""
    for dialog in pending(transition):
        page = transition.page(dialog.target_id)
        if dialog.phase == "open" and page is not None and page.fragile is None:
            _answer_for_stop(transition, dialog)


def _answer_for_stop(transition: Transition, dialog: Dialog) -> None:
    accept = transition.state.policy.of(dialog.type) == "auto_accept"
    put(transition, replace(dialog, held=False))
    answer(transition, dialog.id, accept=accept, prompt_text=None, by="auto_policy")


# ── one dialog ───────────────────────────────────────────────────────────────────────────────────────────────────────


def apply_policy(transition: Transition, dialog: Dialog) -> None:
    policy = transition.state.policy.of(dialog.type)
    deadline = _schedule(transition, dialog, policy)
    if deadline is not dialog.deadline:
        dialog = replace(dialog, deadline=deadline)
        put(transition, dialog)
    _answer_by_policy(transition, dialog, policy)


def _schedule(transition: Transition, dialog: Dialog, policy: str) -> float | None:
    """Schedule the deadline that the policy gives a dialog and return it; else return the one it has."""
    state = transition.state
    if state.scope.observing or state.stopping is not None:
        return dialog.deadline
    if dialog.held:
        transition.schedule(_key(dialog), HOLD_SECONDS, f"dialog {dialog.id} is one of two, and one of them ends")
        return None
    if policy != "must_respond" and _is_left_to_others(transition, dialog):
        left = dialog.opened.mono + state.scope.grace - transition.now
        return transition.schedule(_key(dialog), left, f"dialog {dialog.id} is left to other clients")
    if policy != "must_respond":
        return dialog.deadline
    left = state.policy.dialog_timeout - max(transition.now - dialog.opened.mono, 0.0)
    return transition.schedule(_key(dialog), left, f"dialog {dialog.id} must get an answer")


def _answer_by_policy(transition: Transition, dialog: Dialog, policy: str) -> None:
    """Answer a dialog now, unless the policy waits for a caller, or an answer would end the browser."""
    page = transition.page(dialog.target_id)
    if transition.state.scope.observing or page is None or page.fragile is not None:
        return
    if transition.state.stopping is not None:
        _answer_for_stop(transition, dialog)
    elif policy != "must_respond" and not dialog.held and not _is_left_to_others(transition, dialog):
        accept = policy == "auto_accept"
        transition.note("info", "answering a dialog by policy", dialog=dialog.id, type=dialog.type, accept=accept)
        answer(transition, dialog.id, accept=accept, prompt_text=transition.state.policy.prompt_text, by="auto_policy")


def _is_left_to_others(transition: Transition, dialog: Dialog) -> bool:
    """True while other clients may answer a dialog of a shared browser."""
    scope = transition.state.scope
    return scope.sharing and dialog.via == "native" and transition.now < dialog.opened.mono + scope.grace


def _release(transition: Transition, dialog: Dialog) -> None:
    """Apply the policy to a dialog that was held, and so is still open."""
    dialog = replace(dialog, held=False)
    put(transition, dialog)
    apply_policy(transition, dialog)


def answer(transition: Transition, dialog_id: str, *, accept: bool, prompt_text: str | None, by: str) -> None:
    found = find(transition, dialog_id)
    assert found is not None
    page, dialog = found
    params: Json = {"accept": accept}
    if accept and dialog.type == "prompt":
        params["promptText"] = dialog.default_prompt if prompt_text is None else prompt_text
    put(
        transition,
        replace(dialog, phase="answering", by=by, accepting=accept, since_ticket=transition.state.last_ticket),
    )
    if dialog.via == "native":
        transition.send(
            *(page.session_id, "Page.handleJavaScriptDialog", params),
            purpose="answer",
            page_id=page.id,
            dialog_id=dialog.id,
        )
    else:
        text = params.get("promptText")
        at, generation = transition.at, transition.state.generation
        answer = DialogAnswered(at=at, generation=generation, key=dialog.key, accept=accept, prompt_text=text)
        transition.answers = (*transition.answers, (dialog.extension, answer))
    transition.schedule(
        _key(dialog), transition.state.limits.answer_patience, f"the answer to dialog {dialog.id} is unconfirmed"
    )


def _move(transition: Transition, dialog_id: str, trigger: Trigger) -> None:
    """Apply a trigger to a dialog, unless it has ended."""
    found = find(transition, dialog_id)
    if found is not None:
        _apply_move(transition, *found, trigger)


def _apply_move(transition: Transition, page: Page, dialog: Dialog, trigger: Trigger, elsewhere: str = "") -> None:
    """Apply a trigger to a dialog; `elsewhere` is the reason to record if our answer did not close it."""
    move = TABLE.get((dialog.phase, trigger))
    if move is None:
        transition.count("impossible_dialog_moves")
    elif move.settle:
        reason = elsewhere or dialog.reason
        reason = reason if move.reason == "elsewhere" else dialog.why if move.reason == "why" else move.reason
        settle(transition, page, dialog, dialog.by if move.settle == "by" else move.settle, reason)
    elif move.unanswerable:
        _make_unanswerable(transition, page, dialog, move)
    elif move.go:
        put(transition, replace(dialog, phase=move.go, reason=elsewhere or dialog.reason))
        transition.schedule(
            _key(dialog), transition.state.limits.answer_patience, f"the end of dialog {dialog.id} is unconfirmed"
        )
    elif move.overdue:
        put(transition, replace(dialog, overdue=True, deadline=None))
        transition.warn(page, f"an unanswerable dialog is overdue ({dialog.why})", dialog=dialog.id)


def _make_unanswerable(transition: Transition, page: Page, dialog: Dialog, move: Move) -> None:
    unanswerable = replace(
        dialog,
        phase="unanswerable",
        why=move.unanswerable,
        since_ticket=transition.state.last_ticket,
        held=False,
        request_ids=(),
    )
    for request_id in dialog.request_ids:
        transition.answer(
            request_id,
            error=DialogUnanswerable(
                dialog.id,
                why=unanswerable.why,
                remedies=remedies(unanswerable.why, native=unanswerable.native, type=dialog.type),
            ),
        )
    put(transition, unanswerable)
    if move.unanswerable == "page_inactive" and _is_freed_at_once(transition, dialog):
        freeing.begin(transition, transition.current(page))
    if dialog.phase != "unanswerable":
        transition.warn(page, f"a dialog became unanswerable ({move.unanswerable})", dialog=dialog.id)
        _schedule_overdue(transition, unanswerable)
    session_id = transition.process_of(page, dialog.frame_id)
    if move.probe and session_id is not None:
        transition.send(session_id, "Runtime.evaluate", {"expression": "0"}, purpose="probe", page_id=page.id)


def _is_freed_at_once(transition: Transition, dialog: Dialog) -> bool:
    state = transition.state
    automatic = not state.scope.observing and state.policy.of(dialog.type) != "must_respond"
    return dialog.native and dialog.via == "native" and (automatic or state.stopping is not None)


def _schedule_overdue(transition: Transition, dialog: Dialog) -> None:
    """Schedule when an unanswerable dialog is overdue: its time runs from its opening, across reconnects."""
    left = transition.state.policy.dialog_timeout - max(transition.now - dialog.opened.mono, 0.0)
    at = transition.schedule(_key(dialog), left, f"dialog {dialog.id} is unanswerable")
    put(transition, replace(dialog, deadline=at))


def settle(transition: Transition, page: Page, dialog: Dialog, closed_by: str, reason: str) -> None:
    transition.cancel(_key(dialog))
    transition.update(dialog_on=transition.state.dialog_on.delete(dialog.id))
    ended = replace(
        dialog, closed_by=closed_by, reason=reason, closed=transition.at, deadline=None, request_ids=(), held=False
    )
    recent = (
        (*page.recent, ended)[-transition.state.limits.recent_dialogs :]
        if transition.state.limits.recent_dialogs
        else ()
    )
    left = tuple([each for each in page.dialogs if each.id != dialog.id])
    page = transition.put_page(
        replace(page, dialogs=left, recent=recent, remedy_pending=page.remedy_pending and bool(left))
    )
    freeing.settled(transition, page)
    transition.count(f"closed_by_{closed_by}")
    transition.publish(changes.DialogClosed(dialog_id=ended.id, target_id=page.id, closed_by=closed_by, reason=reason))
    for request_id in dialog.request_ids:
        if closed_by == "agent":
            transition.answer(request_id, view_dialog(ended))
        else:
            transition.answer(request_id, error=DialogAnswerRefused(dialog.id, reason=reason, code=dialog.code))
    if left:
        _release_next(transition, left)


def _release_next(transition: Transition, left: tuple[Dialog, ...]) -> None:
    """Apply the policy to the next held dialog, once no other dialog of the page is open."""
    waiting = [each for each in left if each.held]
    if waiting and not any(each.phase in ("open", "answering", "unanswerable") and not each.held for each in left):
        _release(transition, waiting[0])


# ── lookup ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def pending(transition: Transition) -> list[Dialog]:
    """Return every dialog that is not known to be over, in the order of opening."""
    found = (find(transition, each) for each in transition.state.dialog_on)
    return sorted((each[1] for each in found if each is not None), key=lambda each: each.number)


def find(transition: Transition, dialog_id: str) -> tuple[Page, Dialog] | None:
    page = transition.page(transition.state.dialog_on.get(dialog_id))
    if page is not None:
        for dialog in page.dialogs:
            if dialog.id == dialog_id:
                return page, dialog
    return None


def put(transition: Transition, dialog: Dialog) -> None:
    page = transition.page(dialog.target_id)
    assert page is not None
    kept = tuple([dialog if each.id == dialog.id else each for each in page.dialogs])
    transition.put_page(replace(page, dialogs=kept))


def _key(dialog: Dialog) -> Key:
    return ("dialog", dialog.id)
