"""The machine: `step(state, input)` says what an input makes of a state, and what is to be done about it.

Five sub-machines share one state: the link, the pages with their sessions, the frames, the dialogs, the calls. Beside them
stand machines of others (machines.py), which are fed after ours. Which rule sees what is in the two tables below,
`RULES` for inputs and `EVENTS` for what browsers say; whoever looks for the code of an event begins there.

What couples the sub-machines is written here, and in this order:

    an opening        → the dialog, then the calls that it stops
    a reply           → the link is alive; the renderer is not stopped; then the purpose of what was sent
    a closed session  → its frames or its page, the page's dialogs
    the link goes     → everything under way ends, sessions are gone, open dialogs are orphaned
    anything          → the calls that wait for their frame
    time              → every deadline that has come, one after the other, whatever the input was

`step` never raises, whatever a browser says and in whatever order. Inputs of an older link are dropped, here and nowhere
else (docs/cdp/inputs-of-an-older-link-are-dropped.md). After it the next deadline is later than all that was seen, so a
`TimePassed` too many does nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Any, Final, TypeVar

import attrs
from immutables import Map

from cdp_core.errors import InvalidArgument, RemoteProtocolError
from cdp_core.sansio.messages import Event, Json, Refusal, Result, SessionId, TargetId
from cdp_core.sansio.router import Loss
from cdp_core.sansio.structs import Struct, replace
from cdp_supervisor.errors import SupervisorStopped
from cdp_supervisor.sansio import calls, dialogs, effects, extensions, focus, frames, link, pages, recovery
from cdp_supervisor.sansio.deadlines import first_at
from cdp_supervisor.sansio.event_params import (
    ContextCreatedParams,
    ContextDestroyedParams,
    DialogClosedParams,
    DialogOpeningParams,
    FrameAttachedParams,
    FrameDetachedParams,
    FrameNavigatedParams,
    NavigatedWithinDocumentParams,
    NoParams,
    reader,
)
from cdp_supervisor.sansio.inputs import (
    BrowserEvent,
    CommandEnded,
    Input,
    Instant,
    LinkDown,
    LinkUp,
    NotSent,
    RequestCancelled,
    RequestReceived,
    SessionClosed,
    SessionOpened,
    TimePassed,
)
from cdp_supervisor.sansio.options import is_time
from cdp_supervisor.sansio.replies import value_of
from cdp_supervisor.sansio.requests import AwaitCall, Call, Focus, Recover, RespondToDialog, SetPolicy, Stop
from cdp_supervisor.sansio.state import Deadline, Dialog, Page, State, Ticket
from cdp_supervisor.sansio.transition import Transition

S = TypeVar("S", bound=Struct)


class Step(Struct, frozen=True, kw_only=True, gc=False):
    """What came of an input."""

    state: State
    effects: tuple[effects.Effect, ...] = ()


@attrs.frozen(kw_only=True)
class StopReport:
    """What a supervisor left behind, each in a few words; empty where nothing was left."""

    left: tuple[str, ...] = ()


def step(state: State, input: Input) -> Step:
    """See the module."""
    after, orders = take(state, input)
    return Step(state=after, effects=tuple(orders))


def take(state: State, input: Input) -> tuple[State, Sequence[effects.Effect]]:
    """The same, without a record of it: for who takes one input after the other."""
    for_extensions = True
    if type(input) is BrowserEvent:
        method = input.event.method
        for_extensions = method in state.extension_events
        after = None if method in EVENTS else _fold_into_extensions(state, input)
        if after is not None:
            return after, NOTHING
    if state.link.phase == "stopped" and type(input) is not RequestReceived:
        return state, NOTHING
    at = input.at
    if not state.now < at.mono < inf and at.mono != state.now:
        at = Instant(mono=state.now, wall=at.wall)
    transition = Transition(state, at)
    if input.generation == state.generation or type(input) in OF_ANY_LINK:
        rule = RULES.get(type(input))
        if rule is not None:
            rule(transition, input)
        if for_extensions:
            extensions.feed(transition, input)
    else:
        transition.count("inputs_of_older_links")
    deadlines = transition.state.deadlines
    if transition.state.waiting_calls or (deadlines and deadlines[0][0][0] <= transition.now):
        _advance(transition)
    if transition.state.stopping is not None:
        _finish_stop(transition)
    return transition.result(state), transition.effects


def _advance(transition: Transition) -> None:
    """What waits for something to happen, and then for time to pass."""
    calls.send_waiting(transition)
    while (key := transition.due()) is not None:
        kind, _, name = key.partition(":")
        DUE[kind](transition, name)


def _fold_into_extensions(state: State, input: BrowserEvent) -> State | None:
    """The quick way of an event that means nothing to us: machines keep it, and nothing else comes of it.

    None where anything else does: then it takes the way of all others, from the beginning.
    """
    if input.generation != state.generation or not state.now <= input.at.mono < deferrable_until(state):
        return None
    session_id = input.event.session_id
    page = None if session_id is None else state.page_of.get(session_id)
    return extensions.fold(state, (input if input.page == page else replace(input, page=page),))


def fold(state: State, inputs: Sequence[BrowserEvent]) -> tuple[State, Sequence[effects.Effect]]:
    """`take` of one after the other, for events that were all `deferrable_events` before `deferrable_until`, with their pages."""
    after = extensions.fold(state, inputs)
    if after is not None:
        return after, NOTHING
    orders: list[effects.Effect] = []
    for input in inputs:
        state, wanted = take(state, input)
        orders += wanted
    return state, orders


def deferrable_until(state: State) -> float:
    """Before this moment an event of `deferrable_events` does nothing but what `fold` says."""
    if state.link.phase == "stopped":
        return -inf
    return first_at(state.deadlines)


def deferrable_events(state: State) -> frozenset[str]:
    """Events that only machines want, and only to keep."""
    loud = [hosted.extension.events for hosted in state.extensions if not hosted.folds]
    return used_events(state).difference(EVENTS, *loud)


def next_deadline(state: State) -> Deadline | None:
    """When the machine wants to be told of the time, and why."""
    if not state.deadlines:
        return None
    at, _, why = state.deadlines[0][0]
    return Deadline(at=at, why=why)


def used_events(state: State) -> frozenset[str]:
    """The events that do anything here; others need not be fed."""
    return frozenset(EVENTS).union(*(hosted.extension.events for hosted in state.extensions))


def events_unused_by_extensions(state: State) -> frozenset[str]:
    """Events that no machine wants: they and `deferrable_events` may change places."""
    return frozenset(EVENTS).difference(*(hosted.extension.events for hosted in state.extensions))


# ── what browsers say ────────────────────────────────────────────────────────────────────────────────────────────────


def _event(transition: Transition, input: BrowserEvent) -> None:
    event = input.event
    rule = EVENTS.get(event.method)
    if rule is not None:
        try:
            rule(transition, event)
        except RemoteProtocolError:  # of reading it
            transition.count("unreadable_events")


OnPage = Callable[[Transition, Page, SessionId, S], object]


def _of_page(kind: type[S], rule: OnPage[S]) -> Callable[[Transition, Event], None]:
    """A rule about the page of a session, where that session is the one that is listened to."""
    read = reader(kind)

    def found(transition: Transition, event: Event) -> None:
        state, session_id = transition.state, event.session_id
        page_id = None if session_id is None else state.page_of.get(session_id)
        page = None if page_id is None else state.pages.get(page_id)
        if page is not None and session_id is not None:
            rule(transition, page, session_id, read(event, state.limits.text_kept))

    return found


def _of_browser(rule: Callable[[Transition, Json], object]) -> Callable[[Transition, Event], None]:
    """A rule about targets, on whichever session it is told."""
    return lambda transition, event: rule(transition, event.params)  # type: ignore[return-value]


def _opening(transition: Transition, page: Page, session_id: SessionId, params: DialogOpeningParams) -> None:
    if page.session_id != session_id:
        return
    dialog = dialogs.opened(transition, page, session_id, params)
    now = transition.page(page.id)
    if dialog is not None and now is not None:
        calls.blocked_by_dialog(transition, now, dialog)


def _closing(transition: Transition, page: Page, session_id: SessionId, params: DialogClosedParams) -> None:
    if page.session_id == session_id:
        dialogs.closed(transition, page, params)


def _navigated(transition: Transition, page: Page, session_id: SessionId, params: FrameNavigatedParams) -> None:
    if frames.navigated(transition, page, session_id, params):
        attachment = transition.state.sessions.get(session_id)
        if attachment is not None:
            pages.request_tree(transition, attachment)


EVENTS: Final[dict[str, Callable[[Transition, Event], None]]] = {
    "Page.javascriptDialogOpening": _of_page(DialogOpeningParams, _opening),
    "Page.javascriptDialogClosed": _of_page(DialogClosedParams, _closing),
    "Page.frameAttached": _of_page(FrameAttachedParams, frames.attached),
    "Page.frameDetached": _of_page(FrameDetachedParams, frames.detached),
    "Page.frameNavigated": _of_page(FrameNavigatedParams, _navigated),
    "Page.navigatedWithinDocument": _of_page(NavigatedWithinDocumentParams, frames.navigated_within),
    "Runtime.executionContextCreated": _of_page(ContextCreatedParams, frames.context_created),
    "Runtime.executionContextDestroyed": _of_page(ContextDestroyedParams, frames.context_destroyed),
    "Runtime.executionContextsCleared": _of_page(
        NoParams, lambda transition, page, session_id, _params: frames.contexts_cleared(transition, page, session_id)
    ),
    "Inspector.targetCrashed": _of_page(
        NoParams, lambda transition, page, session_id, _params: pages.crashed(transition, page, session_id)
    ),
    "Inspector.targetReloadedAfterCrash": _of_page(
        NoParams, lambda transition, page, session_id, _params: pages.reload_after_crash(transition, page, session_id)
    ),
    "Target.attachedToTarget": _of_browser(pages.attached_to_target),
    "Target.targetInfoChanged": _of_browser(pages.info_changed),
    "Target.targetDestroyed": _of_browser(pages.destroyed),
    "Target.targetCrashed": _of_browser(pages.target_crashed),
}
"""Event → rule. An event that is not here changes nothing, and is not even read."""


# ── what we sent ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _command_ended(transition: Transition, ended: CommandEnded) -> None:
    ticket = transition.take_ticket(ended.ticket)
    if ticket is None:
        return
    outcome = ended.outcome
    if not isinstance(outcome, (Loss, NotSent)):
        link.alive(transition)
        if ticket.purpose in BY_RENDERER or _is_by_renderer(transition, ticket, outcome):
            pages.renderer_answered(transition, ticket, ended.ticket)
    rule = ENDS.get(ticket.purpose)
    if rule is not None:
        rule(transition, ticket, ended.ticket, outcome)


def _targets_received(transition: Transition, _ticket: Ticket, _number: int, outcome: Any) -> None:
    if isinstance(outcome, Result):
        pages.targets_listed(transition, value_of(outcome))
    elif isinstance(outcome, Refusal):
        link.unsupported(transition, outcome)


ENDS: Final[dict[str, Callable[[Transition, Ticket, int, Any], None]]] = {
    "tree": pages.tree_ended,
    "answer": lambda transition, ticket, _number, outcome: dialogs.answer_ended(transition, ticket, outcome),
    "call": lambda transition, ticket, _number, outcome: calls.call_ended(transition, ticket, outcome),
    "remedy": recovery.remedy_ended,
    "reopen": lambda transition, ticket, _number, outcome: pages.reopen_ended(transition, ticket, outcome),
    "targets": _targets_received,
}
"""Purpose of what was sent → what its end means. Of the others only that it came."""


def _is_by_renderer(transition: Transition, ticket: Ticket, outcome: object) -> bool:
    """Whether somebody's call was answered by what a dialog would have stopped."""
    record = transition.state.calls.get(ticket.call_id) if ticket.purpose == "call" else None
    return record is not None and isinstance(outcome, Result) and record.method.startswith(("Runtime.", "DOM."))


BY_RENDERER: Final = frozenset(("tree", "probe"))
"""What a stopped renderer does not answer."""


# ── what is asked ────────────────────────────────────────────────────────────────────────────────────────────────────


def _request_received(transition: Transition, received: RequestReceived) -> None:
    state = transition.state
    if state.link.phase == "stopped" or state.stopping is not None:
        transition.answer(received.request_id, error=SupervisorStopped("stopped"))
    elif isinstance(received.request, Stop):
        _stop(transition, received, received.request)
    elif state.link.phase == "gave_up" and not isinstance(received.request, (Focus, SetPolicy, AwaitCall)):
        transition.answer(
            received.request_id, error=SupervisorStopped("gave_up" if state.link.owned else "link_not_owned")
        )
    else:
        asked: object = received.request
        rule = REQUESTS.get(type(asked))
        if rule is None:
            wrong = f"{type(asked).__name__} is nothing that can be asked of a supervisor; see requests.py."
            transition.answer(received.request_id, error=InvalidArgument(wrong))
        else:
            rule(transition, received, received.request)


REQUESTS: Final[dict[type, Callable[[Transition, RequestReceived, Any], None]]] = {
    RespondToDialog: dialogs.respond,
    SetPolicy: dialogs.set_policy,
    Call: calls.call,
    AwaitCall: calls.await_call,
    Focus: focus.focus,
    Recover: recovery.recover,
}


def _request_cancelled(transition: Transition, dropped: RequestCancelled) -> None:
    calls.request_cancelled(transition, dropped.request_id)


# ── the end ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _stop(transition: Transition, received: RequestReceived, request: Stop) -> None:
    transition.update(stopping=received.request_id)
    if transition.state.link.phase == "up" and not transition.state.scope.observing:
        dialogs.settle_for_stop(transition)
    transition.schedule("stop", request.timeout if is_time(request.timeout) else 0.0, "the end is bounded")


def _finish_stop(transition: Transition) -> None:
    """The end has come when nothing is under way that could still be settled."""
    state = transition.state
    dialogs_there = [each for page in state.pages.values() for each in page.dialogs]
    found = [each for each in dialogs_there if each.phase != "closed"]
    settling = any(each.phase in ("answering", "answered", "closed") for each in dialogs_there)
    if state.link.phase == "up" and settling and "stop" in state.deadline_of:
        return
    left = [_describe_open_dialog(each) for each in sorted(found, key=lambda each: int(each.id[2:]))]
    left += [
        f"page {page.id[:8]} ({'blocked' if page.blocked is not None else 'a frame of it is blocked'})"
        for page in state.pages.values()
        if page.blocked is not None or page.blocked_sessions
    ]
    if state.link.phase != "up":
        left.insert(0, f"the link is {state.link.phase}")
    for each in dialogs_there:
        for request_id in each.request_ids:
            transition.answer(request_id, error=SupervisorStopped("stopped"))
    calls.end_all(transition, lambda: SupervisorStopped("stopped"))
    recovery.end_all(transition, lambda: SupervisorStopped("stopped"))
    if state.link.phase == "up" and not state.adopting:
        ours = sorted(each.session_id for each in state.sessions.values() if each.parent is None)
        transition.emit(effects.Release(sessions=tuple(ours)))
    transition.answer(state.stopping, StopReport(left=tuple(left)))
    transition.update(
        stopping=None,
        link=replace(state.link, phase="stopped", reason="stopped", since=transition.at),
        deadlines=(),
        deadline_of=Map(),
        tickets=Map(),
    )


def _describe_open_dialog(dialog: Dialog) -> str:
    """A browser without windows for dialogs dismisses it when one leaves who saw it open (fact 26)."""
    dismissed = "; the browser dismisses it now, for everybody" if dialog.phase == "open" and not dialog.native else ""
    return f"dialog {dialog.id} ({dialog.why or dialog.phase}{dismissed})"


# ── the tables ───────────────────────────────────────────────────────────────────────────────────────────────────────

RULES: Final[dict[type, Callable[[Transition, Any], None]]] = {
    BrowserEvent: _event,
    CommandEnded: _command_ended,
    SessionOpened: pages.session_opened,
    SessionClosed: pages.session_closed,
    LinkUp: link.link_up,
    LinkDown: link.link_down,
    RequestReceived: _request_received,
    RequestCancelled: _request_cancelled,
}
"""Input → rule. `TimePassed` has none: what time does is done after every input."""

NOTHING: Final[tuple[effects.Effect, ...]] = ()

OF_ANY_LINK: Final = frozenset((RequestReceived, RequestCancelled, TimePassed))
"""What comes from this side."""

DUE: Final[dict[str, Callable[[Transition, str], None]]] = {
    "dialog": dialogs.due,
    "setup": lambda transition, name: pages.setup_overdue(transition, SessionId(name)),
    "target": lambda transition, name: pages.target_due(transition, TargetId(name)),
    "call": calls.call_due,
    "stall": calls.stall_due,
    "waiter": calls.waiter_due,
    "remedy": recovery.remedy_due,
    "keepalive": lambda transition, _name: link.keepalive_due(transition),
    "redial": lambda transition, _name: link.redial(transition),
    "machine": extensions.due,
    "stop": lambda _turn, _name: None,
}
"""What is done when a deadline has come, by its kind."""
