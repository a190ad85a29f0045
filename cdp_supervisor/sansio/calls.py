"""Calls of others: sent once, stopped by dialogs, ended in time, and told of to whoever asked.

A command is sent once, whatever happens after. Where a dialog stops what it needs, its caller is told at once, with a
handle on the later end (`call_id`; docs/cdp/a-call-that-a-dialog-blocks-ends-at-once.md). One that is unanswered for half its time
has its renderer asked whether it answers anything, so that the timeout can say why (docs/cdp/a-call-timeout-carries-the-health-of-its-page.md).
What is meant for a frame whose scripts have nowhere to run yet waits for that, in its time: an event tells of the document,
and the next one of its context.
"""

from __future__ import annotations

from math import inf
from typing import Any, Final

from cdp_core.errors import CdpError, InvalidArgument
from cdp_core.sansio.structs import replace
from cdp_supervisor.errors import BlockedByDialog, CallTimedOut, UnknownCall
from cdp_supervisor.sansio.health import view_health
from cdp_supervisor.sansio.inputs import Ask
from cdp_supervisor.sansio.replies import result_of
from cdp_supervisor.sansio.requests import AwaitCall, Call
from cdp_supervisor.sansio.routing import (
    DECIDED_BY_LEAVING,
    NAVIGATIONS,
    Place,
    answered_meanwhile,
    check_free,
    place_of,
    stops,
    wrong_timeout,
)
from cdp_supervisor.sansio.state import CallRecord, Dialog, Page, Ticket
from cdp_supervisor.sansio.transition import Turn

__all__ = [
    "await_call",
    "call",
    "call_due",
    "call_ended",
    "dropped",
    "end_all",
    "go_on",
    "overtaken",
    "stall_due",
    "waiter_due",
]

STALLED: Final = 5.0
"""Seconds after which the renderer of an unanswered call is asked, or half the call's time where that is less."""


# ── what is asked ────────────────────────────────────────────────────────────────────────────────────────────────────


def call(turn: Turn, ask: Ask, question: Call) -> None:
    """`call`."""
    try:
        place = place_of(turn, question)
        check_free(turn, question, place)
    except CdpError as error:
        turn.answer(ask.ask_id, error=error)
        return
    state = turn.state
    if len(state.calls) >= state.limits.calls_kept:
        wrong = f"{len(state.calls)} calls are under way; wait for some of them."
        turn.answer(ask.ask_id, error=InvalidArgument(wrong, reason="too_many_calls"))
        return
    call_id = f"c-{state.last_call + 1}"
    turn.put(last_call=state.last_call + 1)
    record = CallRecord(
        id=call_id,
        method=question.method,
        session_id=place.session_id,
        page_id=None if place.page is None else place.page.id,
        since=turn.at,
        ask_id=ask.ask_id,
        raises=question.when_blocked == "raise",
    )
    if place.there:
        _send(turn, record, place, question.timeout)
    else:
        waiting = (*turn.state.waiting_calls, call_id)
        turn.put(calls=turn.state.calls.set(call_id, replace(record, waits=question)), waiting_calls=waiting)
    if question.timeout is not None:
        turn.wake(f"call:{call_id}", question.timeout, f"{question.method} is unanswered")


def _send(turn: Turn, record: CallRecord, place: Place, timeout: float | None) -> None:
    call_id, method, page = record.id, record.method, place.page
    page_id = None if page is None else page.id
    if method in NAVIGATIONS and page is not None:
        turn.put_page(replace(page, curing=bool(page.dialogs)))
    number = turn.send(place.session_id, method, place.params, purpose="call", page_id=page_id, call_id=call_id)
    sent = replace(record, session_id=place.session_id, page_id=page_id, ticket=number, waits=None)
    turn.put(calls=turn.state.calls.set(call_id, sent))
    if timeout is not None and page_id is not None and not answered_meanwhile(method):
        turn.wake(f"stall:{call_id}", min(timeout / 2, STALLED), f"{method} is still unanswered")


def go_on(turn: Turn) -> None:
    """Something has happened: what waits for its frame is sent, or told that it waits in vain, or waits on."""
    for call_id in turn.state.waiting_calls:
        record = turn.state.calls[call_id]
        question = record.waits
        assert question is not None
        try:
            place = place_of(turn, question)
            check_free(turn, question, place)
        except CdpError as error:
            _end(turn, record, None, error)
            continue
        if place.there:
            _wait_no_more(turn, call_id)
            due = turn.state.deadline_of.get(f"call:{call_id}")
            _send(turn, record, place, None if due is None else due - turn.now)


def await_call(turn: Turn, ask: Ask, question: AwaitCall) -> None:
    """The end of a call that was overtaken, now or later."""
    record = turn.state.calls.get(question.call_id)
    if record is None or record.ask_id is not None:
        turn.answer(ask.ask_id, error=UnknownCall(question.call_id))
    elif record.ended is not None:
        value, error = record.ended
        _forget(turn, record)
        turn.answer(ask.ask_id, value, error=error)
    elif (wrong := wrong_timeout(question.timeout)) is not None:
        turn.answer(ask.ask_id, error=wrong)
    else:
        turn.put(calls=turn.state.calls.set(record.id, replace(record, ask_id=ask.ask_id, raises=False)))
        if question.timeout is not None:
            turn.wake(f"waiter:{record.id}", question.timeout, f"the end of {record.method} is awaited")


# ── what became of it ────────────────────────────────────────────────────────────────────────────────────────────────


def call_ended(turn: Turn, ticket: Ticket, outcome: Any) -> None:
    """The end of a call."""
    record = turn.state.calls.get(ticket.call_id)
    if record is None or record.ended is not None:
        return
    _calm(turn, record)
    value, error = None, None
    try:
        value = result_of(outcome, record.method, record.session_id)
    except CdpError as raised:
        error = raised
    _end(turn, record, value, error)


def overtaken(turn: Turn, page: Page, dialog: Dialog) -> None:
    """A dialog stops the process of its frame: who called there hears of it."""
    if not turn.state.calls:
        return
    leaving = dialog.type == "beforeunload"
    for record in tuple(turn.state.calls.values()):
        over = record.ended is not None or record.waits is not None
        if record.page_id != page.id or over or not stops(turn, page, dialog, record.session_id):
            continue
        if answered_meanwhile(record.method) and not (leaving and record.method in DECIDED_BY_LEAVING):
            continue
        blocked = replace(record, blocked=True)
        if record.raises and record.ask_id is not None:
            error = BlockedByDialog((dialog.id,), method=record.method, call=record.id)
            turn.answer(record.ask_id, error=error)
            _calm(turn, record)
            blocked = replace(blocked, ask_id=None)
        turn.put(calls=turn.state.calls.set(record.id, blocked))


def stall_due(turn: Turn, call_id: str) -> None:
    """A call has waited for long: ask its renderer whether it answers anything."""
    record = turn.state.calls.get(call_id)
    if turn.state.deadline_of.get(f"call:{call_id}", inf) <= turn.now:
        return  # who slept until the call is over hears nothing from a question that is only now sent
    if record is not None and record.ended is None and not record.blocked and record.session_id in turn.state.sessions:
        params = {"expression": "0"}
        number = turn.send(
            record.session_id, "Runtime.evaluate", params, purpose="probe", page_id=record.page_id, call_id=call_id
        )
        turn.put(calls=turn.state.calls.set(call_id, replace(record, probe=number)))


def call_due(turn: Turn, call_id: str) -> None:
    """A call was not answered in its time: it ends here, and says how its page fares."""
    record = turn.state.calls.get(call_id)
    if record is None or record.ended is not None:
        return
    turn.forget(record.ticket)
    page = turn.page(record.page_id)
    probe = turn.state.tickets.get(record.probe)
    if page is not None and probe is not None and probe.session_id is not None and probe.session_id not in page.busy:
        turn.put_page(replace(page, busy=page.busy.set(probe.session_id, probe.since)))
        turn.note("warning", "a page answers nothing", page=page.id[:8], session=probe.session_id[:8])
    _end(turn, record, None, _timed_out(turn, record))


def waiter_due(turn: Turn, call_id: str) -> None:
    """Somebody waits no longer for the end of a call; the call goes on."""
    record = turn.state.calls.get(call_id)
    if record is not None and record.ask_id is not None:
        turn.answer(record.ask_id, error=_timed_out(turn, record))
        turn.put(calls=turn.state.calls.set(call_id, replace(record, ask_id=None)))


def dropped(turn: Turn, ask_id: int) -> None:
    """An asker was cancelled. What it called ends here: a late reply is nobody's."""
    for record in tuple(turn.state.calls.values()):
        if record.ask_id == ask_id and record.ended is None:
            turn.calm(f"waiter:{record.id}")
            if record.blocked:
                turn.put(calls=turn.state.calls.set(record.id, replace(record, ask_id=None)))
            else:
                turn.forget(record.ticket)
                _forget(turn, record)


def end_all(turn: Turn, error_for: Any) -> None:
    """Nothing can be answered any more: whoever waits is told so."""
    for record in tuple(turn.state.calls.values()):
        if record.ended is None:
            turn.forget(record.ticket)
            _end(turn, record, None, error_for())


def _end(turn: Turn, record: CallRecord, value: Any, error: Exception | None) -> None:
    if record.ask_id is not None:
        _forget(turn, record)
        turn.answer(record.ask_id, value, error=error)
        return
    ended = replace(record, ended=(value, error), blocked=False)
    kept = (*turn.state.ended_calls, record.id)
    turn.put(calls=turn.state.calls.set(record.id, ended))
    while len(kept) > turn.state.limits.ended_calls:
        turn.put(calls=turn.state.calls.delete(kept[0]))
        kept = kept[1:]
        turn.count("call_ends_uncollected")
    turn.put(ended_calls=kept)


def _forget(turn: Turn, record: CallRecord) -> None:
    _calm(turn, record)
    _wait_no_more(turn, record.id)
    turn.put(
        calls=turn.state.calls.delete(record.id),
        ended_calls=tuple(each for each in turn.state.ended_calls if each != record.id),
    )


def _wait_no_more(turn: Turn, call_id: str) -> None:
    waiting = turn.state.waiting_calls
    if call_id in waiting:
        turn.put(waiting_calls=tuple(each for each in waiting if each != call_id))


def _calm(turn: Turn, record: CallRecord) -> None:
    for kind in ("call", "stall", "waiter"):
        turn.calm(f"{kind}:{record.id}")


def _timed_out(turn: Turn, record: CallRecord) -> CallTimedOut:
    page = turn.page(record.page_id)
    waited = turn.now - record.since.mono
    if page is not None:
        health = view_health(turn.state, page)
        free = health.state in ("ok", "frame_busy", "frame_blocked")
        if record.waits is not None:
            why = (
                "the document of its frame has not come, and before it scripts have nowhere to run there"
                if free
                else ""
            )
            return CallTimedOut(record.method, waited=waited, health=health, why=why)
        answers = record.probe > 0 and free and record.session_id not in page.busy
        why = (
            "its page answers other commands, so this one only takes longer; give it a longer timeout"
            if answers
            else ""
        )
        return CallTimedOut(record.method, waited=waited, health=health, why=why)
    link = turn.state.link
    if record.page_id is not None:
        why = "its page is gone"
    elif link.unanswered:
        why = "the browser answers nothing at present"
    else:
        why = "the browser has not answered, and nothing is known to stop it; give it a longer timeout"
    return CallTimedOut(record.method, waited=waited, health=None, why=why)
