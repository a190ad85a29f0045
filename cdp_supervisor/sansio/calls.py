"""Calls: one command each, sent once, with a timeout and an early end if a dialog blocks it.

A command is sent at most once. If a dialog blocks the renderer that must reply, the caller gets `BlockedByDialog` at
once, with a `call_id` for the later end (docs/cdp/a-call-that-a-dialog-blocks-ends-at-once.md). After half of a
call's time without a reply, a probe checks if the renderer replies at all, so that the timeout can name the reason
(docs/cdp/a-call-timeout-carries-the-health-of-its-page.md). A call to a frame that has no execution context yet is
not sent until the frame has one: one event reports the frame's document, and a later one its context.
"""

from __future__ import annotations

from typing import Any, Final

from cdp_core.errors import CdpError, InvalidArgument, RemoteProtocolError
from cdp_core.sansio.messages import Result
from cdp_core.sansio.structs import replace
from cdp_supervisor.errors import CallTimedOut, UnknownCall
from cdp_supervisor.sansio.health import are_related, is_navigating, view_health
from cdp_supervisor.sansio.inputs import RequestReceived
from cdp_supervisor.sansio.replies import error_of
from cdp_supervisor.sansio.requests import AwaitCall, Call
from cdp_supervisor.sansio.routing import (
    ENDED_BY_BEFOREUNLOAD,
    NAVIGATIONS,
    Route,
    answered_by_browser,
    blocked_error,
    blocking_dialogs,
    check_not_blocked,
    dialog_blocks,
    is_held_by_policy,
    route_of,
    wrong_timeout,
)
from cdp_supervisor.sansio.state import CallRecord, Dialog, Page, Ticket
from cdp_supervisor.sansio.transition import RequestRules, Transition

STALLED: Final = 5.0
"""Seconds until the renderer of an unanswered call gets a probe; half of the timeout if that is less."""


# ── requests ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def call(transition: Transition, received: RequestReceived, request: Call) -> None:
    """Send the command of a call, keep it until its frame can run it, or answer with the error."""
    try:
        route = route_of(transition, request)
        check_not_blocked(transition, request, route)
    except CdpError as error:
        transition.answer(received.request_id, error=error)
        return
    state = transition.state
    if len(state.calls) >= state.limits.calls_kept:
        wrong = f"The call was not sent: {len(state.calls)} calls are under way; wait for some of them to end."
        transition.answer(received.request_id, error=InvalidArgument(wrong, reason="too_many_calls"))
        return
    number = state.last_call + 1
    record = CallRecord(
        id=f"c-{number}",
        number=number,
        method=request.method,
        session_id=route.session_id,
        page_id=None if route.page is None else route.page.id,
        since=transition.at,
        request_id=received.request_id,
        raises=request.when_blocked == "raise",
        due=None if request.timeout is None else transition.now + request.timeout,
        timeout=request.timeout,
    )
    if route.ready:
        _send(transition, record, route)
    else:
        transition.update(
            last_call=number,
            calls=state.calls.set(record.id, replace(record, waiting_request=request)),
            waiting_calls=(*state.waiting_calls, record.id),
        )
        _schedule_end(transition, record)


def _schedule_end(transition: Transition, record: CallRecord) -> None:
    if record.due is not None:
        transition.schedule_at(("call", record.id), record.due, f"{record.method} is unanswered")


def _send(transition: Transition, record: CallRecord, route: Route) -> None:
    call_id, method, page = record.id, record.method, route.page
    page_id = None if page is None else page.id
    if method in NAVIGATIONS and page is not None:
        transition.put_page(replace(page, remedy_pending=bool(page.dialogs)))
    held_by = _held_by(transition, route)
    number = transition.send(route.session_id, method, route.params, purpose="call", page_id=page_id, call_id=call_id)
    sent = replace(record, session_id=route.session_id, page_id=page_id, ticket=number, waiting_request=None)
    last = max(record.number, transition.state.last_call)
    transition.update(calls=transition.state.calls.set(call_id, sent), last_call=last)
    if held_by:
        _hold(transition, replace(sent, blocked=True, held_by=held_by))
    if record.due is not None:
        if page_id is None or route.by_browser:
            _schedule_end(transition, sent)
        else:
            patience = min((record.due - transition.now) / 2, STALLED)
            transition.schedule(("call", call_id), patience, f"{method} is still unanswered")


def _held_by(transition: Transition, route: Route) -> str:
    """Return the dialog that a policy answers now, and that a call to this place has to wait for."""
    page = route.page
    if page is None or not page.dialogs or route.by_browser:
        return ""
    blocking = blocking_dialogs(transition, page, route.session_id)
    return next((dialog.id for dialog in blocking if is_held_by_policy(transition.state, dialog)), "")


def send_waiting(transition: Transition) -> None:
    """Check again, after any input, the calls that wait for an execution context: send them or end them."""
    for call_id in transition.state.waiting_calls:
        record = transition.state.calls[call_id]
        request = record.waiting_request
        assert request is not None
        try:
            route = route_of(transition, request)
            check_not_blocked(transition, request, route)
        except CdpError as error:
            _end(transition, record, None, error)
            continue
        if route.ready:
            _stop_waiting(transition, call_id)
            _send(transition, record, route)


def await_call(transition: Transition, received: RequestReceived, request: AwaitCall) -> None:
    """Answer with the end of a call that a dialog blocked, now or when it comes."""
    record = transition.state.calls.get(request.call_id)
    if record is None or record.request_id is not None:
        transition.answer(received.request_id, error=UnknownCall(request.call_id))
    elif record.ended is not None:
        value, error = record.ended
        _forget(transition, record)
        transition.answer(received.request_id, value, error=error)
    elif (wrong := wrong_timeout(request.timeout)) is not None:
        transition.answer(received.request_id, error=wrong)
    elif (dialog := _unreported(transition, record)) is not None:
        error = blocked_error([dialog], record.method, record.id)
        told = replace(record, reported=dialog.number)
        transition.update(calls=transition.state.calls.set(record.id, told))
        transition.answer(received.request_id, error=error)
    else:
        transition.update(
            calls=transition.state.calls.set(
                record.id, replace(record, request_id=received.request_id, raises=True, timeout=request.timeout)
            )
        )
        if request.timeout is not None:
            transition.schedule(("waiter", record.id), request.timeout, f"the end of {record.method} is awaited")


def _unreported(transition: Transition, record: CallRecord) -> Dialog | None:
    """Return a dialog that blocks a call and opened after the one that its caller knows of."""
    page = transition.page(record.page_id)
    if page is None:
        return None
    later = (each for each in page.dialogs if each.number > record.reported and each.phase != "closed")
    return next(
        (
            dialog
            for dialog in later
            if not is_held_by_policy(transition.state, dialog) and _blocks(transition, page, dialog, record)
        ),
        None,
    )


# ── ends of calls ────────────────────────────────────────────────────────────────────────────────────────────────────


def call_ended(transition: Transition, ticket: Ticket, _number: int, outcome: Any) -> None:
    """Pass the outcome of a call's command on to its caller."""
    record = transition.state.calls.get(ticket.call_id)
    if record is None or record.ended is not None:
        return
    value, error = None, None
    try:
        if isinstance(outcome, Result):
            value = outcome.value
        else:
            error = error_of(outcome, record.method, record.session_id)
    except RemoteProtocolError as raised:
        error = raised
    _end(transition, record, value, error)


def blocked_by_dialog(transition: Transition, page: Page, dialog: Dialog) -> None:
    """Mark the open calls that a new dialog blocks, and tell their callers, unless a policy answers it."""
    for record in tuple(transition.state.calls.values()):
        over = record.ended is not None or record.waiting_request is not None
        if not over and _blocks(transition, page, dialog, record):
            _block(transition, record, dialog)


def _blocks(transition: Transition, page: Page, dialog: Dialog, record: CallRecord) -> bool:
    """True if a call does not end before the dialog does.

    The input that opened a dialog is answered after it (fact 66), and it may have gone to a page that shares the process.
    """
    if record.method.startswith("Input."):
        its_page = transition.page(record.page_id)
        return its_page is not None and (its_page.id == page.id or are_related(page, its_page))
    if record.page_id != page.id or not dialog_blocks(transition, page, dialog, record.session_id):
        return False
    leaving = dialog.type == "beforeunload" and record.method in ENDED_BY_BEFOREUNLOAD
    return leaving or not answered_by_browser(record.method)


def _block(transition: Transition, record: CallRecord, dialog: Dialog) -> None:
    if is_held_by_policy(transition.state, dialog):
        _hold(transition, replace(record, blocked=True, held_by=dialog.id))
        return
    blocked = replace(record, blocked=True, held_by="")
    if record.raises and record.request_id is not None:
        transition.answer(record.request_id, error=blocked_error([dialog], record.method, record.id))
        _cancel_deadlines(transition, record)
        blocked = replace(blocked, request_id=None, reported=dialog.number)
    transition.update(calls=transition.state.calls.set(record.id, blocked))


def _hold(transition: Transition, record: CallRecord) -> None:
    held = transition.state.held_calls
    transition.update(
        calls=transition.state.calls.set(record.id, record),
        held_calls=held if record.id in held else (*held, record.id),
    )


def check_held(transition: Transition) -> None:
    """Check again, after any input, the calls that wait for a policy: let them go, or end the wait."""
    for call_id in transition.state.held_calls:
        record = transition.state.calls.get(call_id)
        if record is not None and record.held_by and record.ended is None:
            page = transition.page(transition.state.dialog_on.get(record.held_by))
            dialog = None if page is None else next((each for each in page.dialogs if each.id == record.held_by), None)
            if dialog is not None and is_held_by_policy(transition.state, dialog):
                continue
            if dialog is None:
                free = replace(record, blocked=False, held_by="")
                transition.update(calls=transition.state.calls.set(call_id, free))
            else:
                _block(transition, record, dialog)
        left = tuple(each for each in transition.state.held_calls if each != call_id)
        transition.update(held_calls=left)


def call_due(transition: Transition, call_id: str) -> None:
    """Probe the renderer of a call that got no reply for long; at the end of its time, end it."""
    record = transition.state.calls.get(call_id)
    if record is None or record.ended is not None:
        return
    if record.due is not None and record.due > transition.now:
        _probe(transition, record)
        _schedule_end(transition, record)
    else:
        _time_out(transition, record)


def _probe(transition: Transition, record: CallRecord) -> None:
    if not record.blocked and record.session_id in transition.state.sessions:
        number = transition.send(
            *(record.session_id, "Runtime.evaluate", {"expression": "0"}),
            purpose="probe",
            page_id=record.page_id,
            call_id=record.id,
        )
        transition.update(calls=transition.state.calls.set(record.id, replace(record, probe=number)))


def _time_out(transition: Transition, record: CallRecord) -> None:
    """End a call with the health of its page; a renderer that did not answer a probe either is busy."""
    transition.forget(record.ticket)
    page = transition.page(record.page_id)
    probe = transition.state.tickets.get(record.probe)
    if (
        page is not None
        and probe is not None
        and probe.session_id is not None
        and probe.session_id not in page.busy_sessions
        and not is_navigating(page)
    ):
        transition.put_page(replace(page, busy_sessions=page.busy_sessions.set(probe.session_id, probe.since)))
        transition.warn(page, "a page is busy: a call and a probe got no reply", session=probe.session_id[:8])
    _end(transition, record, None, _timed_out(transition, record))


def waiter_due(transition: Transition, call_id: str) -> None:
    """End the wait for a call that a dialog blocked; the call itself goes on."""
    record = transition.state.calls.get(call_id)
    if record is not None and record.request_id is not None:
        transition.answer(record.request_id, error=_timed_out(transition, record))
        transition.update(calls=transition.state.calls.set(call_id, replace(record, request_id=None)))


def request_cancelled(transition: Transition, request_id: int) -> None:
    """Forget the command of a caller that was cancelled; a late reply is ignored."""
    for record in tuple(transition.state.calls.values()):
        if record.request_id == request_id and record.ended is None:
            transition.cancel(("waiter", record.id))
            if record.blocked:
                transition.update(calls=transition.state.calls.set(record.id, replace(record, request_id=None)))
            else:
                transition.forget(record.ticket)
                _forget(transition, record)


def end_all(transition: Transition, error_for: Any) -> None:
    """End every open call with the error that `error_for` makes: no reply can come any more."""
    for record in tuple(transition.state.calls.values()):
        if record.ended is None:
            transition.forget(record.ticket)
            _end(transition, record, None, error_for())


def _end(transition: Transition, record: CallRecord, value: Any, error: Exception | None) -> None:
    if record.request_id is not None:
        _forget(transition, record)
        transition.answer(record.request_id, value, error=error)
        return
    _cancel_deadlines(transition, record)
    ended = replace(record, ended=(value, error), blocked=False)
    kept = (*transition.state.ended_calls, record.id)
    transition.update(calls=transition.state.calls.set(record.id, ended))
    while len(kept) > transition.state.limits.ended_calls:
        transition.update(calls=transition.state.calls.delete(kept[0]))
        kept = kept[1:]
        transition.count("call_ends_uncollected")
    transition.update(ended_calls=kept)


def _forget(transition: Transition, record: CallRecord) -> None:
    _cancel_deadlines(transition, record)
    if record.waiting_request is not None:
        _stop_waiting(transition, record.id)
    ended = transition.state.ended_calls
    if record.ended is not None:
        ended = tuple(each for each in ended if each != record.id)
    transition.update(calls=transition.state.calls.delete(record.id), ended_calls=ended)


def _stop_waiting(transition: Transition, call_id: str) -> None:
    waiting = transition.state.waiting_calls
    transition.update(waiting_calls=tuple(each for each in waiting if each != call_id))


def _cancel_deadlines(transition: Transition, record: CallRecord) -> None:
    transition.cancel(("call", record.id))
    if ("waiter", record.id) in transition.state.deadline_of:
        transition.cancel(("waiter", record.id))


def _timed_out(transition: Transition, record: CallRecord) -> CallTimedOut:
    page = transition.page(record.page_id)
    waited = transition.now - record.since.mono if record.timeout is None else record.timeout
    if record.held_by and (why := _policy_awaited(transition, record.held_by)):
        health = None if page is None else view_health(transition.state, page)
        return CallTimedOut(record.method, waited=waited, health=health, why=why)
    if page is not None:
        health = view_health(transition.state, page)
        free = health.state in ("ok", "frame_busy", "frame_blocked")
        if record.waiting_request is not None:
            why = "the document of its frame has not loaded, so scripts have no execution context there" if free else ""
            return CallTimedOut(record.method, waited=waited, health=health, why=why)
        answers = record.probe > 0 and free and record.session_id not in page.busy_sessions
        why = (
            "its page answers other commands, so this one only takes long; give it a longer timeout" if answers else ""
        )
        return CallTimedOut(record.method, waited=waited, health=health, why=why)
    link = transition.state.link
    if record.page_id is not None:
        why = "its page is gone"
    elif link.unanswered:
        why = "the browser does not answer at present"
    else:
        why = "the browser has not answered, and nothing is known to block it; give it a longer timeout"
    return CallTimedOut(record.method, waited=waited, health=None, why=why)


def _policy_awaited(transition: Transition, dialog_id: str) -> str:
    """Say which policy a call waited for, and how long; empty if the dialog is over."""
    page = transition.page(transition.state.dialog_on.get(dialog_id))
    return next(
        (
            f"the policy {transition.state.policy.of(each.type)} has been answering dialog {each.id} ({each.type}) "
            f"for {transition.now - each.opened.mono:.1f} s"
            for each in (() if page is None else page.dialogs)
            if each.id == dialog_id
        ),
        "",
    )


REQUESTS: Final[RequestRules] = {Call: call, AwaitCall: await_call}
"""Request → rule."""
