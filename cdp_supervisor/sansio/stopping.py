"""Stopping: dialogs and extensions get a limited time; then everything ends, with a report."""

from __future__ import annotations

import attrs
from immutables import Map

from cdp_core.sansio.structs import replace
from cdp_supervisor.errors import SupervisorStopped
from cdp_supervisor.sansio import calls, dialogs, effects, extensions, freeing, recovery
from cdp_supervisor.sansio.event_params import shown_page
from cdp_supervisor.sansio.inputs import RequestReceived
from cdp_supervisor.sansio.options import is_time
from cdp_supervisor.sansio.requests import Stop
from cdp_supervisor.sansio.state import Dialog, State
from cdp_supervisor.sansio.transition import Transition


@attrs.frozen(kw_only=True)
class StopReport:
    """What a supervisor left unsettled when it stopped, and the pages that it had to free."""

    left: tuple[str, ...] = ()
    freed: tuple[str, ...] = ()
    """Pages with a dialog that would have ended the browser when the supervisor left, and what was lost."""


def begin(transition: Transition, received: RequestReceived, request: Stop) -> None:
    """Settle the dialogs, and let the extensions send for the last time."""
    transition.update(stopping=received.request_id)
    if transition.state.link.phase == "up":
        if not transition.state.scope.observing:
            dialogs.settle_for_stop(transition)
        freeing.begin_all(transition)
        extensions.stop(transition)
        transition.schedule(("extensions", ""), extensions.STOP_SECONDS, "extensions may still send")
    transition.schedule(("stop", ""), request.timeout if is_time(request.timeout) else 0.0, "stopping has a time limit")


def go_on(transition: Transition) -> None:
    """Stop, unless something is still being settled and the time for it is not over."""
    state = transition.state
    if state.link.phase == "up" and ("stop", "") in state.deadline_of and _is_settling(state):
        return
    report = StopReport(left=tuple(_left(state)), freed=state.freed)
    for dialog in _dialogs(state):
        for request_id in dialog.request_ids:
            transition.answer(request_id, error=SupervisorStopped("stopped"))
    calls.end_all(transition, lambda: SupervisorStopped("stopped"))
    recovery.end_all(transition, lambda: SupervisorStopped("stopped"))
    for hosted in state.extensions:
        if hosted.claims:
            transition.emit(effects.ReleaseFetch(extension=hosted.extension.name))
    if state.link.phase == "up" and not state.adopting:
        transition.emit(effects.Release(sessions=state.opened, root=not state.scope.sharing))
    transition.answer(state.stopping, report)
    transition.update(
        stopping=None,
        link=replace(state.link, phase="stopped", reason="stopped", since=transition.at),
        deadlines=(),
        deadline_of=Map(),
        tickets=Map(),
    )


def _is_settling(state: State) -> bool:
    """True while a dialog is being closed, a session being opened, or a reply to an extension due."""
    purposes = ("reopen", "look", "extension") if ("extensions", "") in state.deadline_of else ("reopen", "look")
    return (
        any(("free", page.id) in state.deadline_of for page in state.pages.values() if page.freed_by)
        or any(dialog.phase in ("answering", "answered", "closed") for dialog in _dialogs(state))
        or any(ticket.purpose in purposes for ticket in state.tickets.values())
    )


def _left(state: State) -> list[str]:
    """Describe what stays unsettled."""
    left = [] if state.link.phase == "up" else [f"the link is {state.link.phase}"]
    still_open = sorted((each for each in _dialogs(state) if each.phase != "closed"), key=lambda each: each.number)
    left += [_describe_open_dialog(dialog) for dialog in still_open]
    left += [
        f"page {shown_page(page)} is left as it is: a dialog or a navigation of it would end the browser"
        for page in state.pages.values()
        if page.fragile is not None
    ]
    left += [
        f"page {page.id[:8]} ({'blocked' if page.blocked is not None else 'one of its frames is blocked'})"
        for page in state.pages.values()
        if page.blocked is not None or page.blocked_sessions
    ]
    return left


def _dialogs(state: State) -> list[Dialog]:
    return [dialog for page in state.pages.values() for dialog in page.dialogs]


def _describe_open_dialog(dialog: Dialog) -> str:
    # A browser without dialog windows dismisses a dialog when a client that saw it open disconnects (fact 26).
    dismissed = (
        "; the browser dismisses it now, for all clients" if dialog.phase == "open" and not dialog.native else ""
    )
    return f"dialog {dialog.id} ({dialog.why or dialog.phase}{dismissed})"
