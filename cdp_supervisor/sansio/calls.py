"""Calls of others: where a command goes, whether it can be answered at all now, and what became of it.

A command is sent once, whatever happens after. Where a dialog stops what it needs, its caller is told at once, with a
handle on the later end (`call_id`); where one is open already it is not even sent, unless the browser answers it all the
same (fact 15, docs/cdp/a-blocked-call-is-told-at-once.md). A frame without a session of its own is reached through its execution context, by the methods that take
one; the others get an error that names the way.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import attrs

from cdp_core.errors import CdpError, ConnectionLost, InvalidArgument, RemoteProtocolError
from cdp_core.sansio.records import replace
from cdp_core.sansio.router import Failure, failure_of
from cdp_core.sansio.wire import Json, Result, SessionId, TargetId
from cdp_supervisor.errors import (
    AmbiguousTarget,
    BlockedByDialog,
    CallTimedOut,
    FrameSharesProcess,
    PageFrozen,
    ScriptFailed,
    UnknownCall,
    UnknownFrame,
    UnknownTarget,
)
from cdp_supervisor.sansio.frames import context_of
from cdp_supervisor.sansio.inputs import Ask, NotSent
from cdp_supervisor.sansio.params import member, text
from cdp_supervisor.sansio.questions import AwaitCall, Call, Focus, Recover
from cdp_supervisor.sansio.state import NOWHEN, CallRecord, Dialog, Frame, Page, State, Ticket
from cdp_supervisor.sansio.turn import Turn
from cdp_supervisor.sansio.view import CURES, focused_page, view_health

__all__ = [
    "ANSWERED_BY_BROWSER",
    "await_call",
    "call",
    "call_due",
    "call_ended",
    "cure_due",
    "cure_ended",
    "dropped",
    "end_all",
    "error_of",
    "focus",
    "overtaken",
    "read_evaluation",
    "recover",
    "result_of",
    "session_of",
    "value_of",
    "waiter_due",
]

ANSWERED_BY_BROWSER: Final = frozenset(
    (
        "Page.navigate",
        "Page.reload",
        "Page.stopLoading",
        "Page.getNavigationHistory",
        "Page.navigateToHistoryEntry",
        "Page.resetNavigationHistory",
        "Page.handleJavaScriptDialog",
        "Page.bringToFront",
        "Page.close",
        "Fetch.enable",
        "Fetch.disable",
        "Fetch.continueRequest",
        "Fetch.failRequest",
        "Fetch.fulfillRequest",
        "Network.getCookies",
        "Target.getTargetInfo",
    )
)
"""What is answered while a dialog stops the renderer (fact 15); of whole domains, `Input` and `Browser`."""
BROWSER_DOMAINS: Final = ("Browser", "Target", "SystemInfo", "Tethering")
"""What goes to the browser's own session, where nothing else is named."""
IN_A_CONTEXT: Final = frozenset(("Runtime.evaluate", "Runtime.callFunctionOn"))
NAVIGATIONS: Final = frozenset(("Page.navigate", "Page.reload", "Page.navigateToHistoryEntry", "Page.close"))
DECIDED_BY_LEAVING: Final = frozenset(("Page.navigate", "Page.navigateToHistoryEntry"))
"""What is answered only when the `beforeunload` dialog that it brings up is (fact 21)."""
WHEN_BLOCKED: Final = ("raise", "wait")


@attrs.frozen(kw_only=True)
class _Place:
    session_id: SessionId | None
    page: Page | None
    params: Mapping[str, Any] | None


# ── what is asked ────────────────────────────────────────────────────────────────────────────────────────────────────


def call(turn: Turn, ask: Ask, question: Call) -> None:
    """`call`."""
    try:
        place = _place_of(turn, question)
        _check_free(turn, question, place)
    except CdpError as error:
        turn.answer(ask.ask_id, error=error)
        return
    state = turn.state
    if len(state.calls) >= state.limits.calls_kept:
        wrong = f"{len(state.calls)} calls are under way; wait for some of them."
        turn.answer(ask.ask_id, error=InvalidArgument(wrong, reason="too_many_calls"))
        return
    call_id = f"c-{state.last_call + 1}"
    page_id = None if place.page is None else place.page.id
    turn.put(last_call=state.last_call + 1)
    if question.method in NAVIGATIONS and place.page is not None:
        turn.put_page(replace(place.page, curing=bool(place.page.dialogs)))
    number = turn.send(
        place.session_id, question.method, place.params, purpose="call", page_id=page_id, call_id=call_id
    )
    record = CallRecord(
        id=call_id,
        method=question.method,
        session_id=place.session_id,
        page_id=page_id,
        since=turn.at,
        ticket=number,
        ask_id=ask.ask_id,
        raises=question.when_blocked == "raise",
    )
    turn.put(calls=turn.state.calls.set(call_id, record))
    if question.timeout is not None:
        turn.wake(f"call:{call_id}", question.timeout, f"{question.method} is unanswered")


def await_call(turn: Turn, ask: Ask, question: AwaitCall) -> None:
    """The end of a call that was overtaken, now or later."""
    record = turn.state.calls.get(question.call_id)
    if record is None or record.ask_id is not None:
        turn.answer(ask.ask_id, error=UnknownCall(question.call_id))
    elif record.ended is not None:
        value, error = record.ended
        _forget(turn, record)
        turn.answer(ask.ask_id, value, error=error)
    elif (wrong := _wrong_timeout(question.timeout)) is not None:
        turn.answer(ask.ask_id, error=wrong)
    else:
        turn.put(calls=turn.state.calls.set(record.id, replace(record, ask_id=ask.ask_id, raises=False)))
        if question.timeout is not None:
            turn.wake(f"waiter:{record.id}", question.timeout, f"the end of {record.method} is awaited")


def focus(turn: Turn, ask: Ask, question: Focus) -> None:
    """`focus`."""
    if question.target_id is None:
        turn.put(focus=None, page_gone=None)
    else:
        target_id = TargetId(question.target_id)
        if target_id not in turn.state.pages:
            turn.answer(ask.ask_id, error=UnknownTarget(question.target_id, known=_page_ids(turn)))
            return
        turn.put(focus=target_id, page_gone=None)
    turn.answer(ask.ask_id)


def recover(turn: Turn, ask: Ask, question: Recover) -> None:
    """`recover`: one of the cures, chosen by whoever asks."""
    page = turn.page(TargetId(question.target_id))
    cures = CURES["unseen"]
    if page is None:
        turn.answer(ask.ask_id, error=UnknownTarget(question.target_id, known=_page_ids(turn)))
    elif question.cure not in cures:
        wrong = f"{question.cure!r} is no cure; there are: {', '.join(cures)}."
        turn.answer(ask.ask_id, error=InvalidArgument(wrong))
    elif turn.state.scope.observing:
        wrong = "This supervisor only observes: open one without .observed() to free a page."
        turn.answer(ask.ask_id, error=InvalidArgument(wrong))
    elif (page.session_id is None and question.cure != "close") or turn.state.link.phase != "up":
        turn.answer(ask.ask_id, error=_down(turn, page))
    elif question.cure != "close" and (there := _windowless(turn, page, page.session_id)):
        turn.answer(ask.ask_id, error=BlockedByDialog(there, method=question.cure))
    else:
        _cure(turn, ask.ask_id, page, question.cure)


def _cure(turn: Turn, ask_id: int, page: Page, cure: str) -> None:
    session_id: SessionId | None = page.session_id
    params: Json
    if cure == "close":
        session_id, method, params = None, "Target.closeTarget", {"targetId": page.id}
    elif cure == "reload":
        method, params = "Page.reload", {}
    else:
        url = page.url.partition("#")[0] or "about:blank"
        if cure == "same_document":  # keeps what the page has, and costs one entry of its history (fact 5)
            url = f"{url}#freed-{turn.state.last_ticket + 1}"
        method, params = "Page.navigate", {"url": url}
    turn.put_page(replace(page, curing=bool(page.dialogs)))
    turn.note("info", "a page is freed", page=page.id[:8], cure=cure)
    number = turn.send(session_id, method, params, purpose="cure", page_id=page.id, call_id=f"a-{ask_id}")
    turn.wake(f"cure:{number}", turn.state.limits.answer_patience, "a cure is unanswered")


# ── what became of it ────────────────────────────────────────────────────────────────────────────────────────────────


def call_ended(turn: Turn, ticket: Ticket, outcome: Any) -> None:
    """The end of a call."""
    record = turn.state.calls.get(ticket.call_id)
    if record is None or record.ended is not None:
        return
    turn.calm(f"call:{record.id}")
    turn.calm(f"waiter:{record.id}")
    value, error = None, None
    try:
        value = result_of(outcome, record.method, record.session_id)
    except CdpError as raised:
        error = raised
    _end(turn, record, value, error)


def cure_ended(turn: Turn, ticket: Ticket, number: int, outcome: Any) -> None:
    """A cure was carried out, or refused."""
    turn.calm(f"cure:{number}")
    ask_id = int(ticket.call_id[2:])
    try:
        result_of(outcome, "The cure", ticket.session_id)
    except CdpError as error:
        turn.answer(ask_id, error=error)
    else:
        turn.answer(ask_id)


def cure_due(turn: Turn, number: str) -> None:
    """A cure was not answered in its time."""
    ticket = turn.state.tickets.get(int(number))
    if ticket is not None:
        turn.forget(int(number))
        page = turn.page(ticket.page_id)
        health = None if page is None else view_health(turn.state, page)
        waited = turn.now - ticket.since.mono
        turn.answer(int(ticket.call_id[2:]), error=CallTimedOut("The cure", waited=waited, health=health))


def overtaken(turn: Turn, page: Page, dialog: Dialog) -> None:
    """A dialog stops the process of its frame: who called there hears of it."""
    if not turn.state.calls:
        return
    session_id = turn.process_of(page, dialog.frame_id)
    leaving = dialog.type == "beforeunload"
    for record in tuple(turn.state.calls.values()):
        if record.page_id != page.id or record.ended is not None or record.session_id != session_id:
            continue
        if _answered_meanwhile(record.method) and not (leaving and record.method in DECIDED_BY_LEAVING):
            continue
        blocked = replace(record, blocked=True)
        if record.raises and record.ask_id is not None:
            error = BlockedByDialog((dialog.id,), method=record.method, call=record.id)
            turn.answer(record.ask_id, error=error)
            turn.calm(f"call:{record.id}")
            blocked = replace(blocked, ask_id=None)
        turn.put(calls=turn.state.calls.set(record.id, blocked))


def call_due(turn: Turn, call_id: str) -> None:
    """A call was not answered in its time: it ends here, and says how its page fares."""
    record = turn.state.calls.get(call_id)
    if record is None or record.ended is not None:
        return
    turn.forget(record.ticket)
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
    for number, ticket in sorted(turn.state.tickets.items()):
        if ticket.purpose == "cure":
            turn.calm(f"cure:{number}")
            turn.forget(number)
            turn.answer(int(ticket.call_id[2:]), error=error_for())


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
    turn.calm(f"call:{record.id}")
    turn.calm(f"waiter:{record.id}")
    turn.put(
        calls=turn.state.calls.delete(record.id),
        ended_calls=tuple(each for each in turn.state.ended_calls if each != record.id),
    )


def _timed_out(turn: Turn, record: CallRecord) -> CallTimedOut:
    page = turn.page(record.page_id)
    waited = turn.now - record.since.mono
    return CallTimedOut(record.method, waited=waited, health=None if page is None else view_health(turn.state, page))


# ── where it goes ────────────────────────────────────────────────────────────────────────────────────────────────────


def _place_of(turn: Turn, question: Call) -> _Place:
    state = turn.state
    _check(question)
    if state.link.phase != "up":
        raise _down(turn, None)
    if question.session_id is not None:
        session_id = SessionId(question.session_id)
        if session_id not in state.sessions:
            raise UnknownTarget(question.session_id, known=list(state.sessions))
        return _Place(session_id=session_id, page=turn.page_of(session_id), params=question.params)
    if question.frame_id is not None:
        return _place_in_frame(turn, question, question.frame_id)
    if question.target_id is not None:
        return _place_on_target(turn, question, TargetId(question.target_id))
    if question.method.partition(".")[0] in BROWSER_DOMAINS:
        return _Place(session_id=None, page=None, params=question.params)
    page = focused_page(state)
    if page is None:
        raise AmbiguousTarget(_page_ids(turn))
    return _place_on_target(turn, question, page.id)


def _check(question: Call) -> None:
    if not isinstance(question.method, str) or not question.method:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidArgument("A command's method must be a string such as 'Page.navigate'.")
    if question.when_blocked not in WHEN_BLOCKED:
        raise InvalidArgument(f"when_blocked must be one of {', '.join(WHEN_BLOCKED)}, not {question.when_blocked!r}.")
    wrong = _wrong_timeout(question.timeout)
    if wrong is not None:
        raise wrong
    named = [each for each in (question.frame_id, question.target_id, question.session_id) if each is not None]
    if len(named) > 1:
        raise InvalidArgument("Give one of frame_id, target_id and session_id: each says by itself where a call goes.")


def _place_on_target(turn: Turn, question: Call, target_id: TargetId) -> _Place:
    page = turn.page(target_id)
    session_id = turn.state.primary_on.get(target_id) if page is None else page.session_id
    if page is None and session_id is None:
        raise UnknownTarget(target_id, known=_page_ids(turn))
    if session_id is None:
        raise _down(turn, page)
    return _Place(session_id=session_id, page=page or turn.page_of(session_id), params=question.params)


def _place_in_frame(turn: Turn, question: Call, frame_id: str) -> _Place:
    for page in turn.state.pages.values():
        frame = page.frames.get(frame_id)
        if frame is not None:
            return _place_of_frame(turn, question, page, frame)
    raise UnknownFrame(frame_id, known=[each for page in turn.state.pages.values() for each in [*page.frames][:6]])


def _place_of_frame(turn: Turn, question: Call, page: Page, frame: Frame) -> _Place:
    attachment = None if frame.session_id is None else turn.state.sessions.get(frame.session_id)
    if attachment is None:
        raise _down(turn, page)
    if attachment.target_id == frame.id:
        return _Place(session_id=attachment.session_id, page=page, params=question.params)
    if question.method not in IN_A_CONTEXT:
        hint = "reach it through `contentDocument` in a script of the frame above, or with Runtime.evaluate in it"
        raise FrameSharesProcess(frame.id, method=question.method, hint=hint)
    context = context_of(page, frame)
    if not context:
        raise FrameSharesProcess(
            frame.id, method=question.method, hint="its execution context is not known yet; try again"
        )
    params = {"uniqueContextId": context, **(question.params or {})}
    return _Place(session_id=attachment.session_id, page=page, params=params)


def _check_free(turn: Turn, question: Call, place: _Place) -> None:
    page = place.page
    if page is None:
        return
    if question.method in NAVIGATIONS:
        there = _windowless(turn, page, place.session_id)
        if there:
            raise BlockedByDialog(there, method=question.method)
    if _answered_meanwhile(question.method):
        return
    stopping = tuple(
        dialog.id
        for dialog in page.dialogs
        if dialog.phase != "closed" and turn.process_of(page, dialog.frame_id) == place.session_id
    )
    if stopping and question.when_blocked == "raise":
        raise BlockedByDialog(stopping, method=question.method)
    silent = None if place.session_id is None else page.silent.get(place.session_id)
    since = page.blocked if place.session_id == page.session_id else silent
    if since is not None and question.when_blocked == "raise":
        raise PageFrozen(page.id, since=since.wall, why=view_health(turn.state, page).why)


def _windowless(turn: Turn, page: Page, session_id: SessionId | None) -> tuple[str, ...]:
    """The dialogs under which a page must not be navigated: it freezes for good, or the browser ends.

    So it is where the browser has no window for dialogs.
    """
    return tuple(
        dialog.id
        for dialog in page.dialogs
        if not dialog.native
        and dialog.phase in ("open", "answering")
        and dialog.type != "beforeunload"
        and turn.process_of(page, dialog.frame_id) == session_id
    )


def session_of(state: State, *, target_id: str | None, frame_id: str | None) -> SessionId:
    """The session that a page, a worker or a frame has of its own. Raises what `call` does."""
    turn = Turn(state, NOWHEN)
    question = Call(method="Page.enable", target_id=target_id, frame_id=frame_id)
    place = _place_of(turn, question)
    assert place.session_id is not None
    return place.session_id


def _answered_meanwhile(method: str) -> bool:
    return method in ANSWERED_BY_BROWSER or method.partition(".")[0] in ("Input", "Browser")


def _wrong_timeout(timeout: float | None) -> InvalidArgument | None:
    if timeout is None or (not isinstance(timeout, bool) and math.isfinite(timeout) and timeout > 0):
        return None
    return InvalidArgument(f"timeout must be a positive number of seconds, or None for ever, not {timeout!r}.")


def _page_ids(turn: Turn) -> list[str]:
    return [page.id for page in sorted(turn.state.pages.values(), key=lambda page: page.number)]


def _down(turn: Turn, page: Page | None) -> ConnectionLost:
    link = turn.state.link
    what = (
        "The link to the browser is down"
        if link.phase != "up"
        else f"Page {(page.id if page else '')[:8]} has no session now"
    )
    return ConnectionLost(
        f"{what}; wait until it is back (wait_for), and call again.", reason=link.reason or "no_session"
    )


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def value_of(result: Result) -> Json:
    """The result's JSON; empty where it is none."""
    try:
        return result.value
    except RemoteProtocolError:
        return {}


def result_of(outcome: Any, method: str, session_id: SessionId | None) -> Json:
    """The result. Raises what it was otherwise."""
    if isinstance(outcome, Result):
        return outcome.value
    raise error_of(outcome, method, session_id)


def error_of(outcome: Failure | NotSent, method: str, session_id: SessionId | None) -> Exception:
    """Why there is no result."""
    return outcome.error if isinstance(outcome, NotSent) else failure_of(outcome, method, session_id)


def read_evaluation(result: Json) -> Any:
    """The value that `Runtime.evaluate` brought by value. Raises ScriptFailed."""
    details = result.get("exceptionDetails")
    if isinstance(details, dict):
        thrown: Json = member(result, "exceptionDetails")
        exception = member(thrown, "exception")
        line, column = thrown.get("lineNumber"), thrown.get("columnNumber")
        raise ScriptFailed(
            name=text(exception, "className") or text(exception, "type") or "an exception",
            text=text(exception, "description", 10_000) or text(thrown, "text", 10_000),
            line=line if isinstance(line, int) else 0,
            column=column if isinstance(column, int) else 0,
        )
    value = member(result, "result")
    return value.get("value", value.get("unserializableValue"))
