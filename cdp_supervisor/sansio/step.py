"""The state machine: `step(state, input)` returns the next state and the effects to perform.

Six parts share one state: the link, the pages with their sessions, the frames, the dialogs, the calls, and recovery.
Extensions (extensions.py) receive each input after these parts. Five tables below assign the rules: `RULES` by type of
input, `EVENTS` by event method, `ENDS` by purpose of a command, `REQUESTS` by request, `DUE` by kind of deadline.

This module couples the parts, in this order:

    a dialog opens    → the dialog, then the calls that it blocks
    a reply arrives   → the link is alive; the renderer is not blocked; then the rule for the purpose of the command
    a session closes  → its frames or its page, then the page's dialogs
    the link is lost  → every open command ends, all sessions are gone, open dialogs are orphaned
    any input         → the calls that wait for their frame
    time              → every due deadline, one after the other, for every type of input

`step` never raises, for any message of the browser in any order. Inputs of an older link are dropped here and in no
other place (docs/cdp/inputs-of-an-older-link-are-dropped.md). After each step the next deadline is later than every
time seen so far, so an extra `TimePassed` does nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Any, Final, TypeVar

from cdp_core.errors import InvalidArgument, RemoteProtocolError
from cdp_core.sansio.load_state import EVENTS as LOAD_EVENTS
from cdp_core.sansio.messages import Event, Json, Refusal, Result, SessionId, TargetId
from cdp_core.sansio.outcomes import Loss
from cdp_core.sansio.structs import Struct, replace
from cdp_supervisor.errors import SupervisorStopped
from cdp_supervisor.sansio import (
    attaching,
    calls,
    dialog_requests,
    dialogs,
    effects,
    extension_dialogs,
    extensions,
    focus,
    frames,
    freeing,
    link,
    loading,
    pages,
    patience,
    recovery,
    stopping,
    titles,
)
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
    FetchEnded,
    FetchExpired,
    FetchPaused,
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
from cdp_supervisor.sansio.replies import value_of
from cdp_supervisor.sansio.requests import AwaitCall, Focus, SetPolicy, Stop
from cdp_supervisor.sansio.state import Deadline, Dialog, Page, State, Ticket
from cdp_supervisor.sansio.transition import Transition

S = TypeVar("S", bound=Struct)


class Step(Struct, frozen=True, kw_only=True, gc=False):
    """The result of one step: the next state, and the effects to perform in order."""

    state: State
    effects: tuple[effects.Effect, ...] = ()


def step(state: State, input: Input) -> Step:
    """Return the state after an input, and the effects to perform."""
    after, emitted = take(state, input)
    return Step(state=after, effects=tuple(emitted))


def take(state: State, input: Input) -> tuple[State, Sequence[effects.Effect]]:
    """Do the same as `step` without making a `Step`: for event sources that feed many inputs."""
    for_extensions = state.extensions_listen
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
    transition = Transition(state, at, at.mono)
    if input.generation == state.generation or type(input) in OF_ANY_LINK:
        rule = RULES.get(type(input))
        if rule is not None:
            rule(transition, input)
        if for_extensions and type(input) not in OF_ONE_EXTENSION:
            extensions.feed(transition, input)
    else:
        transition.count("inputs_of_older_links")
    _settle(transition)
    if not transition.changed and at.mono != state.now:
        return replace(state, now=at.mono), transition.effects
    return transition.state, transition.effects


MAX_ROUNDS: Final = 8
"""Dialogs that an extension may open in answer to one another, within one input."""


def _settle(transition: Transition) -> None:
    """Do what follows the rule of any input: waiting calls, due deadlines, resuming targets, stopping."""
    deadlines = transition.state.deadlines
    if transition.state.waiting_calls or (deadlines and deadlines[0][0][0] <= transition.now):
        _advance(transition)
    if transition.dialogs or transition.answers:
        _exchange_dialogs(transition)
    if transition.state.held_calls:
        calls.check_held(transition)
    for effect in transition.last:
        transition.emit(effect)
    if transition.state.stopping is not None:
        stopping.go_on(transition)


def _advance(transition: Transition) -> None:
    """Send the calls that can be sent after this input, then run every deadline that is due."""
    calls.send_waiting(transition)
    while (key := transition.due()) is not None:
        kind, subject = key
        DUE[kind](transition, subject)


def _exchange_dialogs(transition: Transition) -> None:
    """Pass on reports of extensions about their dialogs, and answers to these, until none is left."""
    for round_number in range(MAX_ROUNDS + 1):
        reports, transition.dialogs = transition.dialogs, ()
        for name, report in reports:
            if isinstance(report, effects.EndDialog):
                extension_dialogs.ended_by_extension(transition, name, report)
                continue
            _block_calls(transition, extension_dialogs.opened_by_extension(transition, name, report))
        answers, transition.answers = transition.answers, ()
        for name, answer in answers:
            if round_number < MAX_ROUNDS:
                extensions.feed_named(transition, name, answer)
            else:
                extensions.disable(transition, name, "it opens a dialog for each answer without end")


def _fold_into_extensions(state: State, input: BrowserEvent) -> State | None:
    """Take the short path of an event without a rule of ours: extensions fold it into their states.

    Return None if the event has any other consequence; the caller then takes the normal path from the start.
    """
    if input.generation != state.generation or not state.now <= input.at.mono < deferrable_until(state):
        return None
    page = extensions.page_of(state, input.event)
    return extensions.fold(state, (input if input.page == page else replace(input, page=page),))


def fold(state: State, inputs: Sequence[BrowserEvent]) -> tuple[State, Sequence[effects.Effect]]:
    """Take several deferred events at once; the result is that of `take` for one after the other.

    Each must be one of `deferrable_events`, be earlier than `deferrable_until`, and have its `page` filled in.
    """
    after = extensions.fold(state, inputs)
    if after is not None:
        return after, NOTHING
    emitted: list[effects.Effect] = []
    for input in inputs:
        state, more = take(state, input)
        emitted += more
    return state, emitted


def deferrable_until(state: State) -> float:
    """Return the moment before which an event of `deferrable_events` does nothing that `fold` does not do."""
    if state.link.phase == "stopped":
        return -inf
    return first_at(state.deadlines)


def deferrable_events(state: State) -> frozenset[str]:
    """Return the events that only extensions listen to, all of them extensions that fold."""
    not_folded = [hosted.extension.events for hosted in state.extensions if not hosted.folds]
    return used_events(state).difference(EVENTS, *not_folded)


def next_deadline(state: State) -> Deadline | None:
    """Return when, and why, the state machine next needs a `TimePassed`; None if it waits for no time."""
    if not state.deadlines:
        return None
    at, _, why = state.deadlines[0][0]
    return Deadline(at=at, why=why)


def used_events(state: State) -> frozenset[str]:
    """Return the event methods that have an effect; an event source need not feed any other."""
    return frozenset(EVENTS).union(*(hosted.extension.events for hosted in state.extensions))


def events_unused_by_extensions(state: State) -> frozenset[str]:
    """Return the events that no extension listens to; they commute with `deferrable_events`."""
    return frozenset(EVENTS).difference(*(hosted.extension.events for hosted in state.extensions))


# ── events ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _event(transition: Transition, input: BrowserEvent) -> None:
    event = input.event
    rule = EVENTS.get(event.method)
    if rule is not None:
        try:
            rule(transition, event)
        except RemoteProtocolError:  # raised by the reader of the event params
            transition.count("unreadable_events")


OnPage = Callable[[Transition, Page, SessionId, S], object]


def _page_rule(kind: type[S], rule: OnPage[S]) -> Callable[[Transition, Event], None]:
    """Return an event rule that calls `rule` with the session's page, for primary sessions only."""
    read = reader(kind)

    def apply(transition: Transition, event: Event) -> None:
        state, session_id = transition.state, event.session_id
        page_id = None if session_id is None else state.page_of.get(session_id)
        page = None if page_id is None else state.pages.get(page_id)
        if page is not None and session_id is not None:
            rule(transition, page, session_id, read(event, state.limits.text_kept))

    return apply


def _target_rule(rule: Callable[[Transition, Json], object]) -> Callable[[Transition, Event], None]:
    """Return a rule for a `Target` event, which counts on every session that receives it."""
    return lambda transition, event: rule(transition, event.params)  # type: ignore[return-value]


def _dialog_opening(transition: Transition, page: Page, session_id: SessionId, params: DialogOpeningParams) -> None:
    if page.session_id != session_id:
        return
    _block_calls(transition, dialogs.opened(transition, page, session_id, params))


def _block_calls(transition: Transition, dialog: Dialog | None) -> None:
    if dialog is not None and transition.state.calls:
        calls.blocked_by_dialog(transition, transition.state.pages[dialog.target_id], dialog)


def _dialog_closed(transition: Transition, page: Page, session_id: SessionId, params: DialogClosedParams) -> None:
    if page.session_id == session_id:
        dialogs.closed(transition, page, params)


def _navigated(transition: Transition, page: Page, session_id: SessionId, params: FrameNavigatedParams) -> None:
    if frames.navigated(transition, page, session_id, params):
        attachment = transition.state.sessions.get(session_id)
        if attachment is not None:
            pages.request_tree(transition, attachment)


EVENTS: Final[dict[str, Callable[[Transition, Event], None]]] = {
    "Page.javascriptDialogOpening": _page_rule(DialogOpeningParams, _dialog_opening),
    "Page.javascriptDialogClosed": _page_rule(DialogClosedParams, _dialog_closed),
    "Page.frameAttached": _page_rule(FrameAttachedParams, frames.attached),
    "Page.frameDetached": _page_rule(FrameDetachedParams, frames.detached),
    "Page.frameNavigated": _page_rule(FrameNavigatedParams, _navigated),
    "Page.navigatedWithinDocument": _page_rule(NavigatedWithinDocumentParams, frames.navigated_within),
    **dict.fromkeys(LOAD_EVENTS, loading.loading),
    "Page.frameRequestedNavigation": loading.requested,
    "Runtime.executionContextCreated": _page_rule(ContextCreatedParams, frames.context_created),
    "Runtime.executionContextDestroyed": _page_rule(ContextDestroyedParams, frames.context_destroyed),
    "Runtime.executionContextsCleared": _page_rule(
        NoParams, lambda transition, page, session_id, _params: frames.contexts_cleared(transition, page, session_id)
    ),
    "Inspector.targetCrashed": _page_rule(
        NoParams, lambda transition, page, session_id, _params: pages.crashed(transition, page, session_id)
    ),
    "Inspector.targetReloadedAfterCrash": _page_rule(
        NoParams, lambda transition, page, session_id, _params: pages.reload_after_crash(transition, page, session_id)
    ),
    "Target.attachedToTarget": _target_rule(pages.attached_to_target),
    "Target.targetCreated": _target_rule(attaching.target_created),
    "Target.targetInfoChanged": _target_rule(pages.info_changed),
    "Target.targetDestroyed": _target_rule(pages.destroyed),
    "Target.targetCrashed": _target_rule(pages.target_crashed),
}
"""Event method → rule. An event without a rule changes nothing, and its params are not decoded."""


# ── ends of commands ─────────────────────────────────────────────────────────────────────────────────────────────────


def _command_ended(transition: Transition, ended: CommandEnded) -> None:
    ticket = transition.take_ticket(ended.ticket)
    if ticket is None:
        return
    outcome = ended.outcome
    if not isinstance(outcome, (Loss, NotSent)):
        state = transition.state
        if state.link.unanswered:
            link.alive(transition)
        page = None if ticket.page_id is None else state.pages.get(ticket.page_id)
        if page is not None and (
            page.dialogs
            or page.blocked is not None
            or page.blocked_sessions
            or page.busy_sessions
            or ("setup", ticket.session_id) in state.deadline_of
        ):
            _page_replied(transition, ticket, ended.ticket, outcome)
    rule = ENDS.get(ticket.purpose)
    if rule is not None:
        rule(transition, ticket, ended.ticket, outcome)


def _page_replied(transition: Transition, ticket: Ticket, number: int, outcome: object) -> None:
    """Note a reply that only a renderer sends which nothing blocks: a dialog would have blocked it."""
    record = transition.state.calls.get(ticket.call_id)
    by_renderer = ticket.purpose in BY_RENDERER or (
        record is not None and isinstance(outcome, Result) and record.method.startswith(("Runtime.", "DOM."))
    )
    if by_renderer:
        patience.renderer_answered(transition, ticket, number)


def _targets_received(transition: Transition, _ticket: Ticket, _number: int, outcome: Any) -> None:
    if isinstance(outcome, Result):
        pages.targets_listed(transition, value_of(outcome))
        attaching.listed(transition, value_of(outcome))
    elif isinstance(outcome, Refusal):
        link.unsupported(transition, outcome)


ENDS: Final[dict[str, Callable[[Transition, Ticket, int, Any], None]]] = {
    "tree": pages.tree_ended,
    "answer": dialogs.answer_ended,
    "call": calls.call_ended,
    "remedy": recovery.remedy_ended,
    "reopen": pages.reopen_ended,
    "targets": _targets_received,
    "extension": extensions.replied,
    "look": freeing.looked,
    "shown": patience.shown_known,
    "proof": recovery.proof_ended,
    "titles": titles.received,
}
"""Purpose of a ticket → rule for the end of its command. For other purposes any reply is enough."""


BY_RENDERER: Final = frozenset(("tree", "probe", "proof"))
"""Purposes of commands that a blocked renderer does not answer."""


# ── requests ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _request_received(transition: Transition, received: RequestReceived) -> None:
    state = transition.state
    if state.link.phase == "stopped" or state.stopping is not None:
        transition.answer(received.request_id, error=SupervisorStopped("stopped"))
    elif isinstance(received.request, Stop):
        stopping.begin(transition, received, received.request)
    elif state.link.phase == "gave_up" and not isinstance(received.request, (Focus, SetPolicy, AwaitCall)):
        transition.answer(
            received.request_id, error=SupervisorStopped("gave_up" if state.link.owned else "link_not_owned")
        )
    else:
        request: object = received.request
        rule = REQUESTS.get(type(request))
        if rule is None:
            wrong = (
                f"{type(request).__name__} is not a request to a supervisor; "
                "pass one of the classes in cdp_supervisor.sansio.requests."
            )
            transition.answer(received.request_id, error=InvalidArgument(wrong))
        else:
            rule(transition, received, received.request)


REQUESTS: Final[dict[type, Callable[[Transition, RequestReceived, Any], None]]] = {
    **dialog_requests.REQUESTS,
    **calls.REQUESTS,
    **focus.REQUESTS,
    **recovery.REQUESTS,
    **extensions.REQUESTS,
}
"""Request → rule, from the modules of the rules; `Stop` is here, since it concerns all of them."""


# ── the tables ───────────────────────────────────────────────────────────────────────────────────────────────────────

RULES: Final[dict[type, Callable[[Transition, Any], None]]] = {
    BrowserEvent: _event,
    CommandEnded: _command_ended,
    SessionOpened: pages.session_opened,
    SessionClosed: pages.session_closed,
    LinkUp: link.link_up,
    LinkDown: link.link_down,
    FetchPaused: extensions.fetch_paused,
    FetchExpired: extensions.fetch_expired,
    FetchEnded: extensions.fetch_ended,
    RequestReceived: _request_received,
    RequestCancelled: lambda transition, cancelled: calls.request_cancelled(transition, cancelled.request_id),
}
"""Type of input → rule. `TimePassed` has none: due deadlines run after every input."""

NOTHING: Final[tuple[effects.Effect, ...]] = ()

OF_ANY_LINK: Final = frozenset((RequestReceived, RequestCancelled, TimePassed))
"""Inputs that do not come from the link, so that an older generation does not make them stale."""

OF_ONE_EXTENSION: Final = frozenset((FetchPaused, FetchExpired, FetchEnded))
"""Inputs that concern one extension; its rule feeds it."""

DUE: Final[dict[str, Callable[[Transition, Any], None]]] = {
    "dialog": dialogs.due,
    "setup": lambda transition, name: patience.setup_overdue(transition, SessionId(name)),
    "target": lambda transition, name: pages.target_due(transition, TargetId(name)),
    "call": calls.call_due,
    "waiter": calls.waiter_due,
    "remedy": recovery.remedy_due,
    "keepalive": lambda transition, _name: link.keepalive_due(transition),
    "redial": lambda transition, _name: link.redial(transition),
    "extension": extensions.due,
    "free": freeing.due,
    "titles": lambda transition, _name: titles.due(transition),
    "stop": lambda _transition, _name: None,
    "extensions": lambda _transition, _name: None,
}
"""Kind of deadline → rule that runs when it is due. For `stop` and `extensions`, `stopping.go_on` runs after every input."""
