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
from cdp_supervisor.sansio.event_params import DialogClosing, DialogOpening
from cdp_supervisor.sansio.inputs import Ask, NotSent
from cdp_supervisor.sansio.requests import RespondToDialog, SetPolicy
from cdp_supervisor.sansio.state import Dialog, Page, Ticket
from cdp_supervisor.sansio.transition import Turn

__all__ = [
    "answer_ended",
    "closed",
    "due",
    "frame_gone",
    "link_or_session_lost",
    "opened",
    "replied",
    "respond",
    "set_policy",
    "settle_for_stop",
    "target_gone",
]

NONE_SHOWING: Final = -32602
"""Our params are right, so the browser can only mean that no dialog is showing."""
HELD: Final = 0.5
"""Seconds in which it is known which of two dialogs on one page is left."""
ACTIONS: Final = ("accept", "dismiss")
TYPE: Final = 32
"""Characters of a type: there may be further ones."""


# ── what the browser says ────────────────────────────────────────────────────────────────────────────────────────────


def opened(turn: Turn, page: Page, session_id: SessionId, said: DialogOpening) -> Dialog | None:
    """`Page.javascriptDialogOpening`. The dialog as it opened, if it is still there: a policy may have settled it."""
    limits = turn.state.limits
    frame_id = said.frame_id or page.id
    native = said.native
    older: list[Dialog] = []
    if page.dialogs:
        page = _make_way(turn, page, session_id, frame_id)
        older = [each for each in page.dialogs if each.phase in ("open", "answering", "stuck")]
    if len(page.dialogs) >= limits.dialogs_kept:
        turn.count("dialogs_left_out")
        return None
    number = turn.state.last_dialog + 1
    dialog = Dialog(
        id=f"d-{number}",
        target_id=page.id,
        frame_id=frame_id,
        session_id=session_id,
        type=said.type[:TYPE] or "alert",
        message=said.message,
        default_prompt=said.default_prompt,
        native=native,
        opened=turn.at,
        epoch=turn.state.epoch,
        held=native and bool(older),
    )
    turn.put(last_dialog=number, dialog_on=turn.state.dialog_on.set(dialog.id, page.id))
    amend(dialog, "deadline", _time_of(turn, dialog))
    turn.put_page(replace(page, dialogs=(*page.dialogs, dialog)))
    turn.tell(changes.DialogOpened(dialog_id=dialog.id, target_id=page.id, type=dialog.type))
    if not native:
        for other in older:  # there, it is the older one that nobody can answer any more (fact 26)
            _move(turn, other.id, "superseded")
    _answer_by_policy(turn, dialog)
    return dialog if dialog.id in turn.state.dialog_on else None


def _make_way(turn: Turn, page: Page, session_id: SessionId, frame_id: str) -> Page:
    """A dialog opens where others are: some of them are over."""
    process = turn.process_of(page, frame_id) or session_id
    for other in page.dialogs:
        if other.phase == "stuck" and turn.process_of(page, other.frame_id) == process:
            _move(turn, other.id, "page_replies")  # what it stopped runs scripts again
        elif other.phase == "closed" or (other.frame_id == frame_id and other.phase == "answered"):
            # A reply to what closed it would have come before this opening: our answer is still on its way, to this one.
            _move(turn, other.id, "superseded")
    return _kept(turn, page)


def closed(turn: Turn, page: Page, said: DialogClosing) -> None:
    """`Page.javascriptDialogClosed`. Without an opening it is one that was up before anybody listened (fact 18)."""
    dialog = _meant(page, said.frame_id)
    if dialog is None:
        turn.count("closed_without_opening")
        _supersede(turn, page.dialogs)
        return
    accepted = said.result
    elsewhere = "other_client" if accepted or said.user_input else "closed_elsewhere"
    if page.curing:
        elsewhere = "navigation"
    if dialog.phase == "answering" and dialog.accepting != accepted:
        # our answer is still on its way, maybe to the next one
        _settle(turn, page, dialog, "remote", elsewhere)
    else:
        _moved(turn, page, dialog, "closed", elsewhere)
    if len(page.dialogs) > 1:
        _supersede(turn, [each for each in page.dialogs if _number(each) > _number(dialog)])


def _meant(page: Page, frame_id: str) -> Dialog | None:
    """The dialog that has closed: of a frame that has two (its next document has one already), the one that can be answered."""
    found: Dialog | None = None
    for each in page.dialogs:
        if (not frame_id or each.frame_id == frame_id) and each.phase != "closed":
            if each.why != "superseded":
                return each
            found = found or each
    return found


def _supersede(turn: Turn, opened_meanwhile: Iterable[Dialog]) -> None:
    """They opened while another was up: the browser shows them, and answers for them to nobody (fact 3)."""
    for dialog in opened_meanwhile:
        if dialog.native and dialog.phase != "closed":
            _move(turn, dialog.id, "superseded")


def answer_ended(turn: Turn, ticket: Ticket, outcome: Result | Refusal | Malformed | Loss | NotSent) -> None:
    """What became of our answer."""
    page = turn.page(ticket.page_id)
    if page is None:
        return
    trigger: Trigger
    if isinstance(outcome, Result):
        trigger = "reply_ok"
    elif isinstance(outcome, Refusal):
        trigger = "refused_none" if outcome.code == NONE_SHOWING else "refused_inactive"
        turn.count("answers_refused")
        found = _find(turn, ticket.dialog_id)
        if found is not None:
            _put(turn, replace(found[1], code=outcome.code))
    else:
        trigger = "reply_gone"
    _move(turn, ticket.dialog_id, trigger)


# ── what ends without a word ─────────────────────────────────────────────────────────────────────────────────────────


def replied(turn: Turn, page: Page, session_id: SessionId | None, ticket_number: int) -> None:
    """A renderer answered something: what was sent after a dialog became stuck proves that it is gone."""
    for dialog in page.dialogs:
        if (
            dialog.phase == "stuck"
            and ticket_number > dialog.since_ticket
            and turn.process_of(page, dialog.frame_id) == session_id
        ):
            _move(turn, dialog.id, "page_replies")


def link_or_session_lost(turn: Turn, page: Page) -> None:
    """The page's session has ended: what only it had seen nobody can answer (fact 4)."""
    for dialog in page.dialogs:
        _move(turn, dialog.id, "session_lost")


def target_gone(turn: Turn, page: Page) -> None:
    """The page is gone, and its dialogs with it."""
    for dialog in page.dialogs:
        _move(turn, dialog.id, "target_gone")


def frame_gone(turn: Turn, page: Page, frame_ids: Iterable[str], reason: str) -> None:
    """Frames are gone, or show another document: of their dialogs nothing more is said."""
    gone = frozenset(frame_ids)
    for dialog in page.dialogs:
        if dialog.frame_id in gone and dialog.phase != "closed":
            if dialog.phase == "answered":
                _move(turn, dialog.id, "target_gone")
            elif (
                dialog.phase == "stuck"
                or reason != "navigation"
                # Without a window of the browser's, a navigation ends it without a word; a frame may only have got another
                # process, while its first document still asks in the old one.
                or (not dialog.native and dialog.frame_id == page.id)
            ):
                found = _find(turn, dialog.id)
                if found is not None:
                    _settle(turn, *found, "remote", reason)


# ── time ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def due(turn: Turn, dialog_id: str) -> None:
    """The time of a dialog, or of its phase, is over."""
    found = _find(turn, dialog_id)
    if found is None:
        return
    page, dialog = found
    if dialog.held:
        _release(turn, dialog)
        return
    _put(turn, replace(dialog, deadline=None))
    if dialog.phase == "open":
        turn.note("warning", "a dialog was not answered in time, and is dismissed", dialog=dialog.id, page=page.id[:8])
        _answer(turn, dialog.id, accept=False, prompt_text=None, by="watchdog")
    else:
        _move(turn, dialog.id, "due")


# ── what is asked ────────────────────────────────────────────────────────────────────────────────────────────────────


def respond(turn: Turn, ask: Ask, question: RespondToDialog) -> None:
    """`respond_to_dialog`."""
    error = _refusal_of(turn, question)
    if error is not None:
        turn.answer(ask.ask_id, error=error)
        return
    dialog = _chosen(turn, question.dialog_id)
    if isinstance(dialog, SupervisorError):
        turn.answer(ask.ask_id, error=dialog)
        return
    if question.prompt_text is not None and dialog.type != "prompt":
        wrong = f"prompt_text is for prompts, and dialog {dialog.id} is of type {dialog.type}; leave it out."
        turn.answer(ask.ask_id, error=InvalidArgument(wrong))
        return
    refusal = TABLE[dialog.phase, "answer"].refuse
    if dialog.phase == "stuck":
        unanswerable = DialogUnanswerable(dialog.id, why=dialog.why, cures=remedies(dialog.why, native=dialog.native))
        turn.answer(ask.ask_id, error=unanswerable)
    elif refusal:
        turn.answer(ask.ask_id, error=DialogAnswerRefused(dialog.id, reason=refusal))
    else:
        accept = question.action == "accept"
        _put(turn, replace(dialog, ask_ids=(*dialog.ask_ids, ask.ask_id), held=False))
        _answer(turn, dialog.id, accept=accept, prompt_text=question.prompt_text, by="agent")


def set_policy(turn: Turn, ask: Ask, question: SetPolicy) -> None:
    """`set_policy`: open dialogs are met anew."""
    turn.put(policy=question.policy)
    for dialog in _pending(turn):
        if dialog.phase == "open" and not dialog.held:
            _meet(turn, dialog)
    turn.answer(ask.ask_id)


def settle_for_stop(turn: Turn) -> None:
    """Answer what can be answered: a dialog that nobody sees any more freezes its page for good (fact 4)."""
    for dialog in _pending(turn):
        if dialog.phase == "open":
            _settle_at_the_end(turn, dialog)


def _settle_at_the_end(turn: Turn, dialog: Dialog) -> None:
    accept = turn.state.policy.of(dialog.type) == "auto_accept"
    _put(turn, replace(dialog, held=False))
    _answer(turn, dialog.id, accept=accept, prompt_text=None, by="auto_policy")


# ── one dialog ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _meet(turn: Turn, dialog: Dialog) -> None:
    """Do what the policy says."""
    deadline = _time_of(turn, dialog)
    if deadline is not dialog.deadline:
        dialog = replace(dialog, deadline=deadline)
        _put(turn, dialog)
    _answer_by_policy(turn, dialog)


def _time_of(turn: Turn, dialog: Dialog) -> float | None:
    """The time that a dialog has from now on, where the policy is to wait for somebody; else what it had."""
    state = turn.state
    if state.scope.observing or state.stopping is not None:
        return dialog.deadline
    if dialog.held:
        turn.wake(_key(dialog), HELD, f"which of two dialogs is left ({dialog.id})")
        return dialog.deadline
    if state.policy.of(dialog.type) != "must_respond":
        return dialog.deadline
    left = state.policy.dialog_timeout - max(turn.now - dialog.opened.mono, 0.0)
    return turn.wake(_key(dialog), left, f"nobody answered dialog {dialog.id}")


def _answer_by_policy(turn: Turn, dialog: Dialog) -> None:
    """Answer, where the policy is not to wait for somebody."""
    policy = turn.state.policy.of(dialog.type)
    if turn.state.scope.observing:
        return
    if turn.state.stopping is not None:
        _settle_at_the_end(turn, dialog)
    elif policy != "must_respond" and not dialog.held:
        accept = policy == "auto_accept"
        turn.note("info", "a dialog is answered by policy", dialog=dialog.id, type=dialog.type, accept=accept)
        _answer(turn, dialog.id, accept=accept, prompt_text=turn.state.policy.prompt_text, by="auto_policy")


def _release(turn: Turn, dialog: Dialog) -> None:
    dialog = replace(dialog, held=False)
    _put(turn, dialog)
    if dialog.phase == "open":
        _meet(turn, dialog)


def _answer(turn: Turn, dialog_id: str, *, accept: bool, prompt_text: str | None, by: str) -> None:
    found = _find(turn, dialog_id)
    assert found is not None
    page, dialog = found
    params: Json = {"accept": accept}
    if accept and dialog.type == "prompt":
        params["promptText"] = dialog.default_prompt if prompt_text is None else prompt_text
    _put(
        turn,
        replace(
            dialog,
            phase="answering",
            by=by,
            accepting=accept,
            since_ticket=turn.state.last_ticket,
        ),
    )
    turn.send(
        page.session_id,
        "Page.handleJavaScriptDialog",
        params,
        purpose="answer",
        page_id=page.id,
        dialog_id=dialog.id,
    )
    turn.wake(_key(dialog), turn.state.limits.answer_patience, f"the answer to dialog {dialog.id} is unconfirmed")


def _move(turn: Turn, dialog_id: str, trigger: Trigger) -> None:
    """One trigger, for a dialog that may have ended meanwhile."""
    found = _find(turn, dialog_id)
    if found is not None:
        _moved(turn, *found, trigger)


def _moved(turn: Turn, page: Page, dialog: Dialog, trigger: Trigger, elsewhere: str = "") -> None:
    """One trigger; `elsewhere` is how it ended where it was not by us."""
    move = TABLE.get((dialog.phase, trigger))
    if move is None:
        turn.count("impossible_dialog_moves")
    elif move.settle:
        reason = elsewhere or dialog.reason
        reason = reason if move.reason == "elsewhere" else dialog.why if move.reason == "why" else move.reason
        _settle(turn, page, dialog, dialog.by if move.settle == "by" else move.settle, reason)
    elif move.stick:
        _stick(turn, page, dialog, move)
    elif move.go:
        _put(turn, replace(dialog, phase=move.go, reason=elsewhere or dialog.reason))
        turn.wake(_key(dialog), turn.state.limits.answer_patience, f"the end of dialog {dialog.id} is unconfirmed")
    elif move.overdue:
        _put(turn, replace(dialog, overdue=True, deadline=None))
        turn.note("warning", "a dialog that nobody can answer is overdue", dialog=dialog.id, why=dialog.why)


def _stick(turn: Turn, page: Page, dialog: Dialog, move: Move) -> None:
    stuck = replace(
        dialog,
        phase="stuck",
        why=move.stick,
        since_ticket=turn.state.last_ticket,
        held=False,
        ask_ids=(),
    )
    for ask_id in dialog.ask_ids:
        turn.answer(
            ask_id, error=DialogUnanswerable(dialog.id, why=stuck.why, cures=remedies(stuck.why, native=stuck.native))
        )
    _put(turn, stuck)
    if dialog.phase != "stuck":
        turn.note("warning", "a dialog cannot be answered any more", dialog=dialog.id, why=move.stick)
        _time_what_is_stuck(turn, stuck)
    session_id = turn.process_of(page, dialog.frame_id)
    if move.probe and session_id is not None:
        turn.send(session_id, "Runtime.evaluate", {"expression": "0"}, purpose="probe", page_id=page.id)


def _time_what_is_stuck(turn: Turn, dialog: Dialog) -> None:
    """Its time goes on running, whatever happened to its link: then it is overdue."""
    left = turn.state.policy.dialog_timeout - max(turn.now - dialog.opened.mono, 0.0)
    at = turn.wake(_key(dialog), left, f"dialog {dialog.id} is stuck")
    _put(turn, replace(dialog, deadline=at))


def _settle(turn: Turn, page: Page, dialog: Dialog, closed_by: str, reason: str) -> None:
    turn.calm(_key(dialog))
    turn.put(dialog_on=turn.state.dialog_on.delete(dialog.id))
    ended = replace(dialog, closed_by=closed_by, reason=reason, closed=turn.at, deadline=None, ask_ids=(), held=False)
    recent = (*page.recent, ended)[-turn.state.limits.recent_dialogs :] if turn.state.limits.recent_dialogs else ()
    left = tuple([each for each in page.dialogs if each.id != dialog.id])
    page = turn.put_page(replace(page, dialogs=left, recent=recent, curing=page.curing and bool(left)))
    turn.count(f"closed_by_{closed_by}")
    turn.tell(changes.DialogClosed(dialog_id=ended.id, target_id=page.id, closed_by=closed_by, reason=reason))
    for ask_id in dialog.ask_ids:
        if closed_by == "agent":
            turn.answer(ask_id, view_dialog(ended))
        else:
            turn.answer(ask_id, error=DialogAnswerRefused(dialog.id, reason=reason, code=dialog.code))
    if left:
        _release_next(turn, left)


def _release_next(turn: Turn, left: tuple[Dialog, ...]) -> None:
    """What was held is met, where nothing else is up any more."""
    waiting = [each for each in left if each.held]
    if waiting and not any(each.phase in ("open", "answering", "stuck") and not each.held for each in left):
        _release(turn, waiting[0])


# ── finding ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _refusal_of(turn: Turn, question: RespondToDialog) -> Exception | None:
    if question.action not in ACTIONS:
        return InvalidArgument(
            f"{question.action!r} is no action; a dialog can be answered with: {', '.join(ACTIONS)}."
        )
    if turn.state.scope.observing:
        return InvalidArgument("This supervisor only observes: open one without .observed() to answer dialogs.")
    return None


def _chosen(turn: Turn, dialog_id: str | None) -> Dialog | SupervisorError:
    pending = [each for each in _pending(turn) if each.phase != "closed"]
    if dialog_id is not None:
        named = next((each for each in pending if each.id == dialog_id), None)
        return named or UnknownDialog(dialog_id, known=[each.id for each in pending])
    if not pending:
        return NoPendingDialog()
    answerable = [each for each in pending if each.phase == "open"] or pending
    if len(answerable) > 1:
        return AmbiguousDialog(each.id for each in answerable)
    return answerable[0]


def _pending(turn: Turn) -> list[Dialog]:
    """Every dialog that is not known to be over, in the order of opening."""
    found = (_find(turn, each) for each in turn.state.dialog_on)
    return sorted((each[1] for each in found if each is not None), key=_number)


def _find(turn: Turn, dialog_id: str) -> tuple[Page, Dialog] | None:
    page = turn.page(turn.state.dialog_on.get(dialog_id))
    if page is not None:
        for dialog in page.dialogs:
            if dialog.id == dialog_id:
                return page, dialog
    return None


def _kept(turn: Turn, page: Page) -> Page:
    found = turn.page(page.id)
    assert found is not None
    return found


def _put(turn: Turn, dialog: Dialog) -> None:
    page = turn.page(dialog.target_id)
    assert page is not None
    kept = tuple([dialog if each.id == dialog.id else each for each in page.dialogs])
    turn.put_page(replace(page, dialogs=kept))


def _number(dialog: Dialog) -> int:
    return int(dialog.id[2:])


def _key(dialog: Dialog) -> str:
    return f"dialog:{dialog.id}"
