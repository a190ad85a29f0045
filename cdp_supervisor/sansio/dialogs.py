"""Native dialogs: from the moment one opens to the moment it is known to be over, and who ended it.

What is easily got wrong, and therefore is a table:

* The event that a dialog closed comes before the reply to our answer (fact 1): whose answer it was is known only at the
  later of the two. Where it is not known the history says `remote`, and never `agent` (docs/cdp/closed-precedes-reply.md).
* A dialog belongs to the page, also when a frame of another process raised it (fact 2), and is answered on the page's
  session (docs/cdp/a-dialog-belongs-to-its-page.md). It is told by its page and frame.
* Some dialogs nobody can answer any more (facts 3, 4, 22): they stay pending, with the reason and the cures. None is
  applied unasked (docs/cdp/an-unseen-dialog-blocks-its-page.md).
* The two browser profiles differ in which of two dialogs survives (docs/cdp/of-two-dialogs-one-cannot-be-answered.md).

`TABLE` (dialog_table.py) has every move there is; what is not in it cannot happen, and is counted if it does.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from cdp_core.errors import InvalidArgument
from cdp_core.sansio.messages import Json, Malformed, Refusal, Result, SessionId
from cdp_core.sansio.router import Loss
from cdp_core.sansio.structs import amend, replace
from cdp_supervisor.errors import (
    AmbiguousDialog,
    DialogAnswerRefused,
    DialogUnanswerable,
    NoPendingDialog,
    SupervisorError,
    UnknownDialog,
)
from cdp_supervisor.sansio import changes
from cdp_supervisor.sansio.dialog_table import TABLE, Move, Trigger, remedies
from cdp_supervisor.sansio.dialog_view import view_dialog
from cdp_supervisor.sansio.event_params import DialogClosedParams, DialogOpeningParams
from cdp_supervisor.sansio.inputs import NotSent, RequestReceived
from cdp_supervisor.sansio.requests import RespondToDialog, SetPolicy
from cdp_supervisor.sansio.state import Dialog, Page, Ticket
from cdp_supervisor.sansio.transition import Transition

NONE_SHOWING: Final = -32602
"""Our params are right, so the browser can only mean that no dialog is showing."""
HOLD_SECONDS: Final = 0.5
"""Seconds in which it is known which of two dialogs on one page is left."""
ACTIONS: Final = ("accept", "dismiss")
TYPE: Final = 32
"""Characters of a type: there may be further ones."""


# ── what the browser says ────────────────────────────────────────────────────────────────────────────────────────────


def opened(transition: Transition, page: Page, session_id: SessionId, params: DialogOpeningParams) -> Dialog | None:
    """`Page.javascriptDialogOpening`. The dialog as it opened, if it is still there: a policy may have settled it."""
    limits = transition.state.limits
    frame_id = params.frame_id or page.id
    native = params.native
    older: list[Dialog] = []
    if page.dialogs:
        page = _settle_older(transition, page, session_id, frame_id)
        older = [each for each in page.dialogs if each.phase in ("open", "answering", "unanswerable")]
    if len(page.dialogs) >= limits.dialogs_kept:
        transition.count("dialogs_left_out")
        return None
    number = transition.state.last_dialog + 1
    dialog = Dialog(
        id=f"d-{number}",
        target_id=page.id,
        frame_id=frame_id,
        session_id=session_id,
        type=params.type[:TYPE] or "alert",
        message=params.message,
        default_prompt=params.default_prompt,
        native=native,
        opened=transition.at,
        generation=transition.state.generation,
        held=native and bool(older),
    )
    transition.update(last_dialog=number, dialog_on=transition.state.dialog_on.set(dialog.id, page.id))
    amend(dialog, "deadline", _deadline_of(transition, dialog))
    transition.put_page(replace(page, dialogs=(*page.dialogs, dialog)))
    transition.publish(changes.DialogOpened(dialog_id=dialog.id, target_id=page.id, type=dialog.type))
    if not native:
        for other in older:  # there, it is the older one that nobody can answer any more (fact 26)
            _move(transition, other.id, "superseded")
    _answer_by_policy(transition, dialog)
    return dialog if dialog.id in transition.state.dialog_on else None


def _settle_older(transition: Transition, page: Page, session_id: SessionId, frame_id: str) -> Page:
    """A dialog opens where others are: some of them are over."""
    process = transition.process_of(page, frame_id) or session_id
    for other in page.dialogs:
        if other.phase == "unanswerable" and transition.process_of(page, other.frame_id) == process:
            _move(transition, other.id, "page_replies")  # what it stopped runs scripts again
        elif other.phase == "closed" or (other.frame_id == frame_id and other.phase == "answered"):
            # A reply to what closed it would have come before this opening: our answer is still on its way, to this one.
            _move(transition, other.id, "superseded")
    return _current(transition, page)


def closed(transition: Transition, page: Page, params: DialogClosedParams) -> None:
    """`Page.javascriptDialogClosed`. Without an opening it is one that was up before anybody listened (fact 18)."""
    dialog = _matching_dialog(page, params.frame_id)
    if dialog is None:
        transition.count("closed_without_opening")
        _supersede(transition, page.dialogs)
        return
    accepted = params.result
    elsewhere = "other_client" if accepted or params.user_input else "closed_elsewhere"
    if page.remedy_pending:
        elsewhere = "navigation"
    if dialog.phase == "answering" and dialog.accepting != accepted:
        # our answer is still on its way, maybe to the next one
        _settle(transition, page, dialog, "remote", elsewhere)
    else:
        _apply_move(transition, page, dialog, "closed", elsewhere)
    if len(page.dialogs) > 1:
        _supersede(transition, [each for each in page.dialogs if _number(each) > _number(dialog)])


def _matching_dialog(page: Page, frame_id: str) -> Dialog | None:
    """The dialog that has closed: of a frame that has two (its next document has one already), the one that can be answered."""
    found: Dialog | None = None
    for each in page.dialogs:
        if (not frame_id or each.frame_id == frame_id) and each.phase != "closed":
            if each.why != "superseded":
                return each
            found = found or each
    return found


def _supersede(transition: Transition, opened_meanwhile: Iterable[Dialog]) -> None:
    """They opened while another was up: the browser shows them, and answers for them to nobody (fact 3)."""
    for dialog in opened_meanwhile:
        if dialog.native and dialog.phase != "closed":
            _move(transition, dialog.id, "superseded")


def answer_ended(
    transition: Transition, ticket: Ticket, outcome: Result | Refusal | Malformed | Loss | NotSent
) -> None:
    """What became of our answer."""
    page = transition.page(ticket.page_id)
    if page is None:
        return
    trigger: Trigger
    if isinstance(outcome, Result):
        trigger = "reply_ok"
    elif isinstance(outcome, Refusal):
        trigger = "refused_none" if outcome.code == NONE_SHOWING else "refused_inactive"
        transition.count("answers_refused")
        found = _find(transition, ticket.dialog_id)
        if found is not None:
            _put(transition, replace(found[1], code=outcome.code))
    else:
        trigger = "reply_gone"
    _move(transition, ticket.dialog_id, trigger)


# ── what ends without a word ─────────────────────────────────────────────────────────────────────────────────────────


def replied(transition: Transition, page: Page, session_id: SessionId | None, ticket_number: int) -> None:
    """A renderer answered something: what was sent after a dialog became stuck proves that it is gone."""
    for dialog in page.dialogs:
        if (
            dialog.phase == "unanswerable"
            and ticket_number > dialog.since_ticket
            and transition.process_of(page, dialog.frame_id) == session_id
        ):
            _move(transition, dialog.id, "page_replies")


def link_or_session_lost(transition: Transition, page: Page) -> None:
    """The page's session has ended: what only it had seen nobody can answer (fact 4)."""
    for dialog in page.dialogs:
        _move(transition, dialog.id, "session_lost")


def target_gone(transition: Transition, page: Page) -> None:
    """The page is gone, and its dialogs with it."""
    for dialog in page.dialogs:
        _move(transition, dialog.id, "target_gone")


def frame_gone(transition: Transition, page: Page, frame_ids: Iterable[str], reason: str) -> None:
    """Frames are gone, or show another document: of their dialogs nothing more is said."""
    gone = frozenset(frame_ids)
    for dialog in page.dialogs:
        if dialog.frame_id in gone and dialog.phase != "closed":
            if dialog.phase == "answered":
                _move(transition, dialog.id, "target_gone")
            elif (
                dialog.phase == "unanswerable"
                or reason != "navigation"
                # Without a window of the browser's, a navigation ends it without a word; a frame may only have got another
                # process, while its first document still asks in the old one.
                or (not dialog.native and dialog.frame_id == page.id)
            ):
                found = _find(transition, dialog.id)
                if found is not None:
                    _settle(transition, *found, "remote", reason)


# ── time ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def due(transition: Transition, dialog_id: str) -> None:
    """The time of a dialog, or of its phase, is over."""
    found = _find(transition, dialog_id)
    if found is None:
        return
    page, dialog = found
    if dialog.held:
        _release(transition, dialog)
        return
    _put(transition, replace(dialog, deadline=None))
    if dialog.phase == "open":
        transition.note(
            "warning", "a dialog was not answered in time, and is dismissed", dialog=dialog.id, page=page.id[:8]
        )
        _answer(transition, dialog.id, accept=False, prompt_text=None, by="watchdog")
    else:
        _move(transition, dialog.id, "due")


# ── what is asked ────────────────────────────────────────────────────────────────────────────────────────────────────


def respond(transition: Transition, received: RequestReceived, request: RespondToDialog) -> None:
    """`respond_to_dialog`."""
    error = _invalid_answer(transition, request)
    if error is not None:
        transition.answer(received.request_id, error=error)
        return
    dialog = _dialog_to_answer(transition, request.dialog_id)
    if isinstance(dialog, SupervisorError):
        transition.answer(received.request_id, error=dialog)
        return
    if request.prompt_text is not None and dialog.type != "prompt":
        wrong = f"prompt_text is for prompts, and dialog {dialog.id} is of type {dialog.type}; leave it out."
        transition.answer(received.request_id, error=InvalidArgument(wrong))
        return
    refusal = TABLE[dialog.phase, "answer"].refuse
    if dialog.phase == "unanswerable":
        unanswerable = DialogUnanswerable(
            dialog.id, why=dialog.why, remedies=remedies(dialog.why, native=dialog.native)
        )
        transition.answer(received.request_id, error=unanswerable)
    elif refusal:
        transition.answer(received.request_id, error=DialogAnswerRefused(dialog.id, reason=refusal))
    else:
        accept = request.action == "accept"
        _put(transition, replace(dialog, request_ids=(*dialog.request_ids, received.request_id), held=False))
        _answer(transition, dialog.id, accept=accept, prompt_text=request.prompt_text, by="agent")


def set_policy(transition: Transition, received: RequestReceived, request: SetPolicy) -> None:
    """`set_policy`: open dialogs are met anew."""
    transition.update(policy=request.policy)
    for dialog in _pending(transition):
        if dialog.phase == "open" and not dialog.held:
            _apply_policy(transition, dialog)
    transition.answer(received.request_id)


def settle_for_stop(transition: Transition) -> None:
    """Answer what can be answered: a dialog that nobody sees any more freezes its page for good (fact 4)."""
    for dialog in _pending(transition):
        if dialog.phase == "open":
            _settle_at_the_end(transition, dialog)


def _settle_at_the_end(transition: Transition, dialog: Dialog) -> None:
    accept = transition.state.policy.of(dialog.type) == "auto_accept"
    _put(transition, replace(dialog, held=False))
    _answer(transition, dialog.id, accept=accept, prompt_text=None, by="auto_policy")


# ── one dialog ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _apply_policy(transition: Transition, dialog: Dialog) -> None:
    """Do what the policy says."""
    deadline = _deadline_of(transition, dialog)
    if deadline is not dialog.deadline:
        dialog = replace(dialog, deadline=deadline)
        _put(transition, dialog)
    _answer_by_policy(transition, dialog)


def _deadline_of(transition: Transition, dialog: Dialog) -> float | None:
    """The time that a dialog has from now on, where the policy is to wait for somebody; else what it had."""
    state = transition.state
    if state.scope.observing or state.stopping is not None:
        return dialog.deadline
    if dialog.held:
        transition.schedule(_key(dialog), HOLD_SECONDS, f"which of two dialogs is left ({dialog.id})")
        return dialog.deadline
    if state.policy.of(dialog.type) != "must_respond":
        return dialog.deadline
    left = state.policy.dialog_timeout - max(transition.now - dialog.opened.mono, 0.0)
    return transition.schedule(_key(dialog), left, f"nobody answered dialog {dialog.id}")


def _answer_by_policy(transition: Transition, dialog: Dialog) -> None:
    """Answer, where the policy is not to wait for somebody."""
    policy = transition.state.policy.of(dialog.type)
    if transition.state.scope.observing:
        return
    if transition.state.stopping is not None:
        _settle_at_the_end(transition, dialog)
    elif policy != "must_respond" and not dialog.held:
        accept = policy == "auto_accept"
        transition.note("info", "a dialog is answered by policy", dialog=dialog.id, type=dialog.type, accept=accept)
        _answer(transition, dialog.id, accept=accept, prompt_text=transition.state.policy.prompt_text, by="auto_policy")


def _release(transition: Transition, dialog: Dialog) -> None:
    dialog = replace(dialog, held=False)
    _put(transition, dialog)
    if dialog.phase == "open":
        _apply_policy(transition, dialog)


def _answer(transition: Transition, dialog_id: str, *, accept: bool, prompt_text: str | None, by: str) -> None:
    found = _find(transition, dialog_id)
    assert found is not None
    page, dialog = found
    params: Json = {"accept": accept}
    if accept and dialog.type == "prompt":
        params["promptText"] = dialog.default_prompt if prompt_text is None else prompt_text
    _put(
        transition,
        replace(
            dialog,
            phase="answering",
            by=by,
            accepting=accept,
            since_ticket=transition.state.last_ticket,
        ),
    )
    transition.send(
        page.session_id,
        "Page.handleJavaScriptDialog",
        params,
        purpose="answer",
        page_id=page.id,
        dialog_id=dialog.id,
    )
    transition.schedule(
        _key(dialog), transition.state.limits.answer_patience, f"the answer to dialog {dialog.id} is unconfirmed"
    )


def _move(transition: Transition, dialog_id: str, trigger: Trigger) -> None:
    """One trigger, for a dialog that may have ended meanwhile."""
    found = _find(transition, dialog_id)
    if found is not None:
        _apply_move(transition, *found, trigger)


def _apply_move(transition: Transition, page: Page, dialog: Dialog, trigger: Trigger, elsewhere: str = "") -> None:
    """One trigger; `elsewhere` is how it ended where it was not by us."""
    move = TABLE.get((dialog.phase, trigger))
    if move is None:
        transition.count("impossible_dialog_moves")
    elif move.settle:
        reason = elsewhere or dialog.reason
        reason = reason if move.reason == "elsewhere" else dialog.why if move.reason == "why" else move.reason
        _settle(transition, page, dialog, dialog.by if move.settle == "by" else move.settle, reason)
    elif move.unanswerable:
        _make_unanswerable(transition, page, dialog, move)
    elif move.go:
        _put(transition, replace(dialog, phase=move.go, reason=elsewhere or dialog.reason))
        transition.schedule(
            _key(dialog), transition.state.limits.answer_patience, f"the end of dialog {dialog.id} is unconfirmed"
        )
    elif move.overdue:
        _put(transition, replace(dialog, overdue=True, deadline=None))
        transition.note("warning", "a dialog that nobody can answer is overdue", dialog=dialog.id, why=dialog.why)


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
                dialog.id, why=unanswerable.why, remedies=remedies(unanswerable.why, native=unanswerable.native)
            ),
        )
    _put(transition, unanswerable)
    if dialog.phase != "unanswerable":
        transition.note("warning", "a dialog cannot be answered any more", dialog=dialog.id, why=move.unanswerable)
        _schedule_overdue(transition, unanswerable)
    session_id = transition.process_of(page, dialog.frame_id)
    if move.probe and session_id is not None:
        transition.send(session_id, "Runtime.evaluate", {"expression": "0"}, purpose="probe", page_id=page.id)


def _schedule_overdue(transition: Transition, dialog: Dialog) -> None:
    """Its time goes on running, whatever happened to its link: then it is overdue."""
    left = transition.state.policy.dialog_timeout - max(transition.now - dialog.opened.mono, 0.0)
    at = transition.schedule(_key(dialog), left, f"dialog {dialog.id} is stuck")
    _put(transition, replace(dialog, deadline=at))


def _settle(transition: Transition, page: Page, dialog: Dialog, closed_by: str, reason: str) -> None:
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
    """What was held is met, where nothing else is up any more."""
    waiting = [each for each in left if each.held]
    if waiting and not any(each.phase in ("open", "answering", "unanswerable") and not each.held for each in left):
        _release(transition, waiting[0])


# ── finding ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _invalid_answer(transition: Transition, request: RespondToDialog) -> Exception | None:
    if request.action not in ACTIONS:
        return InvalidArgument(f"{request.action!r} is no action; a dialog can be answered with: {', '.join(ACTIONS)}.")
    if transition.state.scope.observing:
        return InvalidArgument("This supervisor only observes: open one without .observed() to answer dialogs.")
    return None


def _dialog_to_answer(transition: Transition, dialog_id: str | None) -> Dialog | SupervisorError:
    pending = [each for each in _pending(transition) if each.phase != "closed"]
    if dialog_id is not None:
        named = next((each for each in pending if each.id == dialog_id), None)
        return named or UnknownDialog(dialog_id, known=[each.id for each in pending])
    if not pending:
        return NoPendingDialog()
    answerable = [each for each in pending if each.phase == "open"] or pending
    if len(answerable) > 1:
        return AmbiguousDialog(each.id for each in answerable)
    return answerable[0]


def _pending(transition: Transition) -> list[Dialog]:
    """Every dialog that is not known to be over, in the order of opening."""
    found = (_find(transition, each) for each in transition.state.dialog_on)
    return sorted((each[1] for each in found if each is not None), key=_number)


def _find(transition: Transition, dialog_id: str) -> tuple[Page, Dialog] | None:
    page = transition.page(transition.state.dialog_on.get(dialog_id))
    if page is not None:
        for dialog in page.dialogs:
            if dialog.id == dialog_id:
                return page, dialog
    return None


def _current(transition: Transition, page: Page) -> Page:
    found = transition.page(page.id)
    assert found is not None
    return found


def _put(transition: Transition, dialog: Dialog) -> None:
    page = transition.page(dialog.target_id)
    assert page is not None
    kept = tuple([dialog if each.id == dialog.id else each for each in page.dialogs])
    transition.put_page(replace(page, dialogs=kept))


def _number(dialog: Dialog) -> int:
    return int(dialog.id[2:])


def _key(dialog: Dialog) -> str:
    return f"dialog:{dialog.id}"
