"""Extensions: state machines of the embedder that run beside the supervisor's own.

    class Downloads:
        name = "downloads"
        events = frozenset({"Browser.downloadWillBegin"})

        def initial(self): return ()
        def step(self, state, input): return (*state, input.event.params["guid"]), ()
        def next_deadline(self, state): return None
        def view(self, state): return {"guids": list(state)}

An extension receives each input after the supervisor's own rules. Its effects may be `Send` (with ticket 0, so no
reply comes back) and `Note`, at most `MAX_SENDS` commands for one input. An extension that raises, or asks for more,
is disabled; the snapshot shows why, and nothing else changes (docs/cdp/an-extension-that-raises-is-disabled.md). The
console ring is an extension.

An extension that only collects events may have a fifth function, `fold`, which takes several events at once. The
supervisor then defers them until the state is read (docs/cdp/unread-console-events-are-folded-later.md).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar, cast

from cdp_core.errors import CdpError
from cdp_core.sansio.messages import CommandId, Json, encode_command, is_object
from cdp_core.sansio.structs import replace
from cdp_supervisor.sansio import effects
from cdp_supervisor.sansio.inputs import BrowserEvent, Input, TimePassed
from cdp_supervisor.sansio.options import is_finite

if TYPE_CHECKING:
    from cdp_supervisor.sansio.effects import Effect
    from cdp_supervisor.sansio.state import HostedExtension, State
    from cdp_supervisor.sansio.transition import Transition

MAX_SENDS: Final = 8
"""Commands that one input may bring from one extension."""
LEVELS: Final = frozenset(("debug", "info", "warning"))

S = TypeVar("S")


class Extension(Protocol[S]):
    """Four pure functions over a state of its own, a name, and the event methods that it uses."""

    @property
    def name(self) -> str:
        """Its key in `Snapshot.extensions`."""
        ...

    @property
    def events(self) -> frozenset[str]:
        """The event methods that it is fed; inputs other than events it always gets."""
        ...

    def initial(self) -> S:
        """Return its state before the first input."""
        ...

    def step(self, state: S, input: Input, /) -> tuple[S, Iterable[Effect]]:
        """Return its state after an input, and the effects that it wants."""
        ...

    def next_deadline(self, state: S, /) -> float | None:
        """Return when it wants a `TimePassed`; called after each of its steps."""
        ...

    def view(self, state: S, /) -> Json:
        """Return its part of the snapshot, as plain JSON."""
        ...


class FoldingExtension(Extension[S], Protocol[S]):
    """An extension that causes neither effects nor deadlines when it is fed events."""

    def fold(self, state: S, inputs: Sequence[BrowserEvent], /) -> S:
        """Return its state after several of its events in order, as `step` would for each."""
        ...


class ExtensionViews(Mapping[str, Json]):
    """The view of each extension by its name, built when it is read: most readers do not use it."""

    def __init__(self, hosted: tuple[HostedExtension, ...]) -> None:
        self._hosted = {each.extension.name: each for each in hosted}
        self._made: dict[str, Json] = {}

    def __getitem__(self, name: str) -> Json:
        made = self._made.get(name)
        if made is None:
            made = self._made[name] = _view(self._hosted[name])
        return made

    def __iter__(self) -> Iterator[str]:
        return iter(self._hosted)

    def __len__(self) -> int:
        return len(self._hosted)

    def __repr__(self) -> str:
        return repr(dict(self))


def _view(hosted: HostedExtension) -> Json:
    if hosted.off:
        return {"off": hosted.off}
    try:
        view: Json = hosted.extension.view(hosted.state)
        json.dumps(view, allow_nan=False)
    except Exception as error:  # noqa: BLE001 - the embedder's code, which must not break the snapshot
        return {"off": f"its view raised {type(error).__name__}"}
    return view if is_object(view) else {"off": "its view is not a JSON object"}


# ── feeding ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def feed(transition: Transition, input: Input) -> None:
    """Feed an input to each extension that uses it, after the supervisor's own rules."""
    completed = input
    method = input.event.method if type(input) is BrowserEvent else None
    for place, hosted in enumerate(transition.extensions):
        if hosted.off or (method is not None and method not in hosted.extension.events):
            continue
        if completed is input and type(input) is BrowserEvent:
            session_id = input.event.session_id
            completed = replace(input, page=None if session_id is None else transition.state.page_of.get(session_id))
        _put_extension(transition, place, _fed(transition, hosted, completed))


def _put_extension(transition: Transition, place: int, hosted: HostedExtension) -> None:
    extensions = transition.extensions
    if hosted is not extensions[place]:
        transition.extensions = (*extensions[:place], hosted, *extensions[place + 1 :])


def _fed(transition: Transition, hosted: HostedExtension, input: Input) -> HostedExtension:
    extension = hosted.extension
    try:
        state, wanted = extension.step(hosted.state, input)
        orders = tuple(wanted)
        deadline = extension.next_deadline(state)
        reason = _violation(orders) if orders else ""
        if not (deadline is None or is_finite(deadline)):
            reason = "its deadline is not a finite number"
    except Exception as error:  # noqa: BLE001 - the embedder's code: only the extension is disabled
        state, orders, deadline, reason = hosted.state, (), None, f"it raised {type(error).__name__}"
    if reason:
        transition.count("machines_switched_off")
        transition.note("warning", "an extension was disabled", machine=extension.name, why=reason)
        transition.cancel(("extension", extension.name))
        return replace(hosted, off=reason)
    for order in orders:
        transition.emit(replace(order, ticket=0) if isinstance(order, effects.Send) else order)
    if deadline is not None or hosted.timed:
        _schedule_extension(transition, extension.name, deadline)
    if state is hosted.state and hosted.timed == (deadline is not None):
        return hosted
    return replace(hosted, state=state, timed=deadline is not None)


def _violation(orders: tuple[Any, ...]) -> str:
    sends = sum(isinstance(each, effects.Send) for each in orders)
    if sends > MAX_SENDS:
        return f"it sent {sends} commands for one input"
    wrong = [reason for order in orders if (reason := _invalid(order))]
    return wrong[0] if wrong else ""


def _invalid(order: object) -> str:
    """Return why an effect of an extension cannot be performed; empty if it can."""
    if isinstance(order, effects.Note):
        good = order.level in LEVELS and isinstance(order.text, str) and isinstance(order.fields, Mapping)  # pyright: ignore[reportUnnecessaryIsInstance]
        return "" if good else "it returned an invalid Note"
    if not isinstance(order, effects.Send):
        return "it returned something other than Send or Note"
    if not isinstance(order.session_id, (str, type(None))) or not isinstance(order.method, str) or not order.method:  # pyright: ignore[reportUnnecessaryIsInstance]
        return "it returned an invalid Send"
    try:
        encode_command(CommandId(1), order.method, order.params, order.session_id)
    except CdpError:
        return f"it sent {order.method[:64]} with params that are not JSON"
    return ""


def _schedule_extension(transition: Transition, name: str, deadline: float | None) -> None:
    key = ("extension", name)
    if deadline is None:
        transition.cancel(key)
    elif transition.state.deadline_of.get(key) != deadline:
        transition.schedule(key, max(deadline - transition.now, 0.0), f"extension {name} scheduled it")


def due(transition: Transition, name: str) -> None:
    """Feed `TimePassed` to an extension with a due deadline."""
    tick = TimePassed(at=transition.at, generation=transition.state.generation)
    for place, hosted in enumerate(transition.extensions):
        if hosted.extension.name == name and not hosted.off:
            _put_extension(transition, place, _fed(transition, hosted, tick))


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
