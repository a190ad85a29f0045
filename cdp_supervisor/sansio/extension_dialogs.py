"""Dialogs that extensions open and end, in place of native ones."""

from __future__ import annotations

from cdp_core.sansio.messages import TargetId
from cdp_supervisor.sansio import dialogs
from cdp_supervisor.sansio.effects import EndDialog, OpenDialog
from cdp_supervisor.sansio.event_params import ID, DialogOpeningParams
from cdp_supervisor.sansio.state import Dialog
from cdp_supervisor.sansio.transition import Transition


def opened_by_extension(transition: Transition, name: str, order: OpenDialog) -> Dialog | None:
    """Add the dialog of an extension; None, and counted, if its page is unknown or its key in use."""
    page = transition.page(TargetId(order.page_id))
    if page is None or _of_extension(transition, name, order.key) is not None:
        transition.count("dialogs_of_extensions_refused")
        return None
    most = transition.state.limits.text_kept
    params = DialogOpeningParams(
        frame_id=order.frame_id[:ID],
        type=order.type,
        message=order.message[:most],
        default_prompt=order.default_prompt[:most],
        native=True,
    )
    session_id = transition.process_of(page, params.frame_id)
    return dialogs.opened(transition, page, session_id, params, via=order.via, extension=name, key=order.key)


def ended_by_extension(transition: Transition, name: str, order: EndDialog) -> None:
    """Settle the dialog of an extension: by our answer if that reached the page."""
    dialog = _of_extension(transition, name, order.key)
    found = None if dialog is None else dialogs.find(transition, dialog.id)
    if found is None:
        return
    page, dialog = found
    if order.answered and dialog.phase == "answering":
        dialogs.settle(transition, page, dialog, dialog.by, "answered")
    else:
        dialogs.settle(transition, page, dialog, "remote", order.reason[: dialogs.TYPE])


def _of_extension(transition: Transition, name: str, key: str) -> Dialog | None:
    return next((each for each in dialogs.pending(transition) if (each.extension, each.key) == (name, key)), None)
