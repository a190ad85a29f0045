"""Extensions: state machines of the embedder that run beside the supervisor's own.

    class Downloads:
        name = "downloads"
        events = frozenset({"Browser.downloadWillBegin"})

        def initial(self): return ()
        def step(self, state, input): return (*state, input.event.params["guid"]), ()
        def next_deadline(self, state): return None
        def view(self, state): return {"guids": list(state)}

An extension receives each input after the supervisor's own rules. Its effects may be `Send` and `Note`; for requests
`ClaimFetch`, `AnswerFetch` and `ReleaseFetch`; for dialogs of its own `OpenDialog` and `EndDialog`; at most `MAX_SENDS`
(wanted_effects.py) commands for one input. What it sends when a session opens
goes out before the target is resumed. A `Send` with `reply_to` brings a `Replied` with this tag. At the stop it
receives `Stopping`, and may then send `MAX_SENDS_AT_STOP` commands within `STOP_SECONDS`, before the link is released.

Two more functions are optional. With `answer` an extension takes requests (`AskExtension`). With `fold` an extension that
only collects events takes several at once; it is fed nothing but these events, and the supervisor defers them until the
state is read (docs/cdp/unread-console-events-are-folded-later.md). The console ring is one.

An extension that raises, or asks for more, is disabled; the snapshot shows why, and nothing else changes
(docs/cdp/an-extension-that-raises-is-disabled.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar, cast

from cdp_core.errors import InvalidArgument, RemoteProtocolError
from cdp_core.sansio.arguments import plain_object
from cdp_core.sansio.fetch_arbiter import PATIENCE
from cdp_core.sansio.messages import Event, Json, TargetId
from cdp_core.sansio.structs import replace
from cdp_supervisor.sansio import effects, wanted_effects
from cdp_supervisor.sansio.inputs import (
    BrowserEvent,
    ExtensionInput,
    FetchEnded,
    FetchExpired,
    FetchPaused,
    Input,
    NotSent,
    Replied,
    RequestReceived,
    Stopping,
    TimePassed,
)
from cdp_supervisor.sansio.options import is_finite
from cdp_supervisor.sansio.requests import AskExtension
from cdp_supervisor.sansio.state import Ticket

if TYPE_CHECKING:
    from cdp_supervisor.sansio.effects import Wanted
    from cdp_supervisor.sansio.state import HostedExtension, State
    from cdp_supervisor.sansio.transition import RequestRules, Transition

MAX_SENDS_AT_STOP: Final = 32
"""Commands of one extension from `Stopping` to the release of the link."""
MAX_WANTED: Final = 100
"""Effects that one input may bring from one extension."""
MAX_UNSENT: Final = 32
"""Consecutive commands of one extension that could not be sent: one that sends again on each failure never ends."""
STOP_SECONDS: Final = 1.0
"""Seconds that the stop waits for the replies to extensions."""


S = TypeVar("S")


class Extension(Protocol[S]):
    """Four pure functions over a state of its own, a name, and the event methods that it uses."""

    @property
    def name(self) -> str:
        """Its key in `Snapshot.extensions`."""
        ...

    @property
    def events(self) -> frozenset[str]:
        """The event methods that it is fed; inputs other than events it always gets, unless it has `fold`."""
        ...

    def initial(self) -> S:
        """Return its state before the first input."""
        ...

    def step(self, state: S, input: ExtensionInput, /) -> tuple[S, Iterable[Wanted]]:
        """Return its state after an input, and the effects that it wants."""
        ...

    def next_deadline(self, state: S, /) -> float | None:
        """Return when it wants a `TimePassed`; called after each of its steps."""
        ...

    def view(self, state: S, /) -> Json:
        """Return its part of the snapshot, as plain JSON."""
        ...


class FoldingExtension(Extension[S], Protocol[S]):
    """An extension that only collects events: it gets no other input and causes no effects."""

    def fold(self, state: S, inputs: Sequence[BrowserEvent], /) -> S:
        """Return its state after several of its events in order, as `step` would for each."""
        ...


class AnsweringExtension(Extension[S], Protocol[S]):
    """An extension that takes requests of callers."""

    def answer(self, state: S, question: Json, /) -> tuple[S, Json, Iterable[Wanted]]:
        """Return its state, the answer as plain JSON, and effects; raise InvalidArgument for a wrong question."""
        ...


# ── feeding ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def feed(transition: Transition, input: Input) -> None:
    """Feed an input to each extension that uses it, after the supervisor's own rules."""
    completed = input
    method = input.event.method if type(input) is BrowserEvent else None
    for place, hosted in enumerate(transition.state.extensions):
        if hosted.off or (hosted.folds if method is None else method not in hosted.extension.events):
            continue
        if completed is input and type(input) is BrowserEvent:
            completed = replace(input, page=page_of(transition.state, input.event))
        _feed_one(transition, place, completed)


def page_of(state: State, event: Event) -> TargetId | None:
    """Return the page of an event: of its session, or on the root session of the frame it names."""
    if event.session_id is not None:
        return state.page_of.get(event.session_id)
    try:
        frame_id = event.params.get("frameId")
    except RemoteProtocolError:
        return None
    if not isinstance(frame_id, str):
        return None
    return next((page.id for page in state.pages.values() if page.id == frame_id or frame_id in page.frames), None)


def _feed_one(transition: Transition, place: int, input: ExtensionInput) -> None:
    hosted = transition.state.extensions[place]
    try:
        made = hosted.extension.step(hosted.state, input)
        _take_over(transition, place, *made)
    except Exception as error:  # noqa: BLE001 - the embedder's code: only the extension is disabled
        _disable(transition, place, f"it raised {type(error).__name__}")


def _take_over(transition: Transition, place: int, state: Any, wanted: Iterable[Any]) -> None:
    """Perform the effects of an extension and keep its state, or disable it."""
    hosted = transition.state.extensions[place]
    orders = tuple(islice(wanted, MAX_WANTED + 1))
    deadline = hosted.extension.next_deadline(state)
    reason = wanted_effects.violation(orders) if orders else ""
    at_stop = hosted.sent_at_stop
    if transition.state.stopping is not None:
        at_stop += sum(isinstance(each, wanted_effects.COMMANDS) for each in orders)
    if len(orders) > MAX_WANTED:
        reason = f"it wanted more than {MAX_WANTED} effects for one input"
    elif not (deadline is None or is_finite(deadline)):
        reason = "its deadline is not a finite number"
    elif at_stop > MAX_SENDS_AT_STOP:
        reason = f"it sent {at_stop} commands after Stopping"
    if reason:
        _disable(transition, place, reason)
        return
    claims = hosted.claims or any(isinstance(each, effects.ClaimFetch) for each in orders)
    for order in orders:
        _perform(transition, hosted.extension.name, order)
    if deadline is not None or hosted.timed:
        _schedule_extension(transition, hosted.extension.name, deadline)
    timed = deadline is not None
    if state is not hosted.state or (hosted.timed, hosted.sent_at_stop, hosted.claims) != (timed, at_stop, claims):
        kept = replace(hosted, state=state, timed=timed, sent_at_stop=at_stop, claims=claims)
        _put(transition, place, kept)


def _perform(transition: Transition, name: str, order: Wanted) -> None:
    if isinstance(order, effects.Note):
        transition.emit(order)
    elif isinstance(order, (effects.OpenDialog, effects.EndDialog)):
        transition.dialogs = (*transition.dialogs, (name, order))
    elif isinstance(order, effects.ClaimFetch):
        transition.emit(replace(order, extension=name, patterns=tuple(map(plain_object, order.patterns))))
    elif isinstance(order, effects.ReleaseFetch):
        transition.emit(replace(order, extension=name))
    elif isinstance(order, effects.AnswerFetch):
        ticket = 0
        if order.reply_to:
            waiting = Ticket(
                purpose="extension", session_id=None, since=transition.at, extension=name, tag=order.reply_to
            )
            ticket = transition.put_ticket(waiting)
        transition.emit(replace(order, extension=name, ticket=ticket))
    elif order.reply_to:
        transition.send(
            order.session_id, order.method, order.params, purpose="extension", extension=name, tag=order.reply_to
        )
    else:
        transition.emit(replace(order, ticket=0, bounded=True))


def _disable(transition: Transition, place: int, reason: str) -> None:
    hosted = transition.state.extensions[place]
    transition.count("machines_switched_off")
    transition.note("warning", "an extension was disabled", extension=hosted.extension.name, why=reason)
    transition.cancel(("extension", hosted.extension.name))
    if hosted.claims:
        transition.emit(effects.ReleaseFetch(extension=hosted.extension.name))
    for page in transition.state.pages.values():
        for dialog in page.dialogs:
            if dialog.extension == hosted.extension.name:
                over = effects.EndDialog(key=dialog.key, answered=False, reason="extension_disabled")
                transition.dialogs = (*transition.dialogs, (dialog.extension, over))
    _put(transition, place, replace(hosted, off=reason))


def _put(transition: Transition, place: int, hosted: HostedExtension) -> None:
    extensions = transition.state.extensions
    transition.update(extensions=(*extensions[:place], hosted, *extensions[place + 1 :]))


def _place_of(transition: Transition, name: str) -> int | None:
    """Return the place of an extension that is not disabled."""
    for place, hosted in enumerate(transition.state.extensions):
        if hosted.extension.name == name and not hosted.off:
            return place
    return None


def feed_named(transition: Transition, name: str, input: ExtensionInput, *, unsent: bool | None = None) -> None:
    """Feed one extension, unless it is disabled.

    `unsent` says that the input reports a command or a claim that could not be sent. An extension that goes on sending
    after MAX_UNSENT of them in a row is disabled: it would never end.
    """
    place = _place_of(transition, name)
    if place is None:
        return
    hosted = transition.state.extensions[place]
    count = hosted.unsent if unsent is None else hosted.unsent + 1 if unsent else 0
    if count > MAX_UNSENT:
        _disable(transition, place, f"it went on sending after {MAX_UNSENT} commands that could not be sent")
        return
    if count != hosted.unsent:
        _put(transition, place, replace(hosted, unsent=count))
    _feed_one(transition, place, input)


def replied(transition: Transition, ticket: Ticket, _number: int, outcome: Any) -> None:
    """Feed an extension the end of a command that it sent with a tag."""
    passed_on = isinstance(outcome, NotSent) and getattr(outcome.error, "reason", "") == "passed_on"
    reply = Replied(at=transition.at, generation=transition.state.generation, tag=ticket.tag, outcome=outcome)
    feed_named(transition, ticket.extension, reply, unsent=isinstance(outcome, NotSent) and not passed_on)


# ── claims ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def fetch_paused(transition: Transition, paused: FetchPaused) -> None:
    """Feed an extension a request that is paused for its claim."""
    feed_named(transition, paused.extension, replace(paused, page=page_of(transition.state, paused.event)))


def fetch_expired(transition: Transition, expired: FetchExpired) -> None:
    """Count and log a request that an extension did not answer, and tell it."""
    transition.count("requests_expired")
    text = f"an extension left a request paused for {PATIENCE:g} seconds, so it was continued"
    transition.note("warning", text, extension=expired.extension, key=expired.key)
    feed_named(transition, expired.extension, expired)


def fetch_ended(transition: Transition, ended: FetchEnded) -> None:
    """Feed an extension the end of its claim."""
    feed_named(transition, ended.extension, ended, unsent=ended.unsent or None)


# ── ends ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def disable(transition: Transition, name: str, reason: str) -> None:
    """Disable an extension."""
    place = _place_of(transition, name)
    if place is not None:
        _disable(transition, place, reason)


def stop(transition: Transition) -> None:
    """Feed `Stopping` to each extension that is not only collecting."""
    stopping = Stopping(at=transition.at, generation=transition.state.generation)
    for place, hosted in enumerate(transition.state.extensions):
        if not hosted.off and not hosted.folds:
            _feed_one(transition, place, stopping)


def ask(transition: Transition, received: RequestReceived, request: AskExtension) -> None:
    """Pass a question on to an extension, and its answer to the caller."""
    place = _place_of(transition, request.extension)
    extension = None if place is None else transition.state.extensions[place].extension
    if place is None or not callable(getattr(extension, "answer", None)):
        transition.answer(received.request_id, error=_no_answer(transition, request.extension))
        return
    answering = cast("AnsweringExtension[Any]", extension)
    value: Json | None = None
    try:
        state, value, wanted = answering.answer(transition.state.extensions[place].state, dict(request.question))
        value = plain_object(value)
        _take_over(transition, place, state, wanted)
    except Exception as error:  # noqa: BLE001 - the embedder's code: only the extension is disabled
        if isinstance(error, InvalidArgument) and value is None:  # it refuses the question
            transition.answer(received.request_id, error=error)
            return
        _disable(transition, place, f"its answer raised {type(error).__name__}")
    if transition.state.extensions[place].off:
        transition.answer(received.request_id, error=_no_answer(transition, request.extension))
    else:
        transition.answer(received.request_id, value)


def _no_answer(transition: Transition, name: str) -> InvalidArgument:
    off = {each.extension.name: each.off for each in transition.state.extensions}
    takes = [
        each.extension.name for each in transition.state.extensions if callable(getattr(each.extension, "answer", None))
    ]
    why = f"is disabled: {off[name]}" if off.get(name) else "takes no requests" if name in off else "does not exist"
    return InvalidArgument(
        f"Extension {name[:64]!r} {why}; extensions that take requests: {', '.join(takes) or 'none'}."
    )


def _schedule_extension(transition: Transition, name: str, deadline: float | None) -> None:
    key = ("extension", name)
    if deadline is None:
        transition.cancel(key)
    elif transition.state.deadline_of.get(key) != deadline:
        transition.schedule(key, max(deadline - transition.now, 0.0), f"extension {name} scheduled it")


def due(transition: Transition, name: str) -> None:
    """Feed `TimePassed` to an extension with a due deadline."""
    feed_named(transition, name, TimePassed(at=transition.at, generation=transition.state.generation))


def fold(state: State, inputs: Sequence[BrowserEvent]) -> State | None:
    """Fold events into the extensions that only collect; None if another one uses them, or one raises."""
    extensions = state.extensions
    for place, hosted in enumerate(extensions):
        extension = hosted.extension
        events = extension.events
        used = (
            inputs if events == state.extension_events else [input for input in inputs if input.event.method in events]
        )
        if not used or hosted.off:
            continue
        if not hosted.folds:
            return None
        try:
            kept = cast("FoldingExtension[Any]", extension).fold(hosted.state, used)
        except Exception:  # noqa: BLE001 - fed one at a time, it raises again and is disabled
            return None
        if kept is not hosted.state:
            extensions = (*extensions[:place], replace(hosted, state=kept), *extensions[place + 1 :])
    now = max(state.now, inputs[-1].at.mono)
    if extensions is not state.extensions:
        return replace(state, now=now, sequence=state.sequence + len(inputs), extensions=extensions)
    return state if now == state.now else replace(state, now=now)


REQUESTS: Final[RequestRules] = {AskExtension: ask}
"""Request → rule."""
