"""The requests about dialogs: respond to one, and set the policy for all."""

from __future__ import annotations

from typing import Final

from cdp_core.errors import InvalidArgument
from cdp_core.sansio.structs import replace
from cdp_supervisor.errors import (
    AmbiguousDialog,
    DialogAnswerRefused,
    DialogUnanswerable,
    NoPendingDialog,
    SupervisorError,
    UnknownDialog,
)
from cdp_supervisor.sansio import dialogs
from cdp_supervisor.sansio.dialog_table import TABLE, remedies
from cdp_supervisor.sansio.inputs import RequestReceived
from cdp_supervisor.sansio.requests import RespondToDialog, SetPolicy
from cdp_supervisor.sansio.state import Dialog
from cdp_supervisor.sansio.transition import RequestRules, Transition

ACTIONS: Final = ("accept", "dismiss")


def respond(transition: Transition, received: RequestReceived, request: RespondToDialog) -> None:
    """Answer a dialog for `respond_to_dialog`, or answer the request with the error that prevents it."""
    error = _invalid_answer(transition, request)
    if error is not None:
        transition.answer(received.request_id, error=error)
        return
    dialog = _dialog_to_answer(transition, request.dialog_id)
    if isinstance(dialog, SupervisorError):
        transition.answer(received.request_id, error=dialog)
        return
    if request.prompt_text is not None and dialog.type != "prompt":
        wrong = f"prompt_text was given, and dialog {dialog.id} is of type {dialog.type}, not prompt; leave it out."
        transition.answer(received.request_id, error=InvalidArgument(wrong))
        return
    refusal = TABLE[dialog.phase, "answer"].refuse
    if dialog.phase == "unanswerable":
        unanswerable = DialogUnanswerable(
            dialog.id, why=dialog.why, remedies=remedies(dialog.why, native=dialog.native, type=dialog.type)
        )
        transition.answer(received.request_id, error=unanswerable)
    elif refusal:
        transition.answer(received.request_id, error=DialogAnswerRefused(dialog.id, reason=refusal))
    else:
        accept = request.action == "accept"
        dialogs.put(transition, replace(dialog, request_ids=(*dialog.request_ids, received.request_id), held=False))
        dialogs.answer(transition, dialog.id, accept=accept, prompt_text=request.prompt_text, by="agent")


def set_policy(transition: Transition, received: RequestReceived, request: SetPolicy) -> None:
    transition.update(policy=request.policy)
    for dialog in dialogs.pending(transition):
        if dialog.phase == "open" and not dialog.held:
            dialogs.apply_policy(transition, dialog)
    transition.answer(received.request_id)


def _invalid_answer(transition: Transition, request: RespondToDialog) -> Exception | None:
    if request.action not in ACTIONS:
        return InvalidArgument(f"{request.action!r} is not an action for a dialog; use one of: {', '.join(ACTIONS)}.")
    if transition.state.scope.observing:
        return InvalidArgument("This supervisor only observes; open one without .observed() to answer dialogs.")
    return None


def _dialog_to_answer(transition: Transition, dialog_id: str | None) -> Dialog | SupervisorError:
    pending = [each for each in dialogs.pending(transition) if each.phase != "closed"]
    if dialog_id is not None:
        named = next((each for each in pending if each.id == dialog_id), None)
        return named or UnknownDialog(dialog_id, known=[each.id for each in pending])
    if not pending:
        return NoPendingDialog()
    answerable = [each for each in pending if each.phase == "open"] or pending
    if len(answerable) > 1:
        return AmbiguousDialog(each.id for each in answerable)
    return answerable[0]


REQUESTS: Final[RequestRules] = {RespondToDialog: respond, SetPolicy: set_policy}
"""Request → rule."""
