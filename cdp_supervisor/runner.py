"""The runner of every event source: one input at a time, each state published before its effects.

Inputs go through one queue. An input that is fed while another one is processed is only appended; so an effect that
fails at once, or that causes another input at once, becomes an input behind the others, and no step runs inside
another.

A state is published before its effects are performed: a subscriber that receives a change finds it in the snapshot
(docs/cdp/wait-for-sees-every-published-state.md). Reading needs no lock: the last state is one reference, and the
reader builds the snapshot from it, in any thread.

Most events are only collected by extensions (console lines). They are deferred, and folded into the state when the
state is read or another input arrives; the result is the same, since a fold of the same inputs gives the same state
(docs/cdp/unread-console-events-are-folded-later.md).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from math import inf
from typing import Final

from cdp_core.sansio.messages import Event
from cdp_supervisor.sansio.effects import Effect
from cdp_supervisor.sansio.inputs import BrowserEvent, Input, Instant
from cdp_supervisor.sansio.state import Deadline, State
from cdp_supervisor.sansio.step import deferrable_until, events_unused_by_extensions, fold, next_deadline, take
from cdp_supervisor.sansio.view import Snapshot, Views

Watch = Callable[[State], None]

KEPT: Final = 1024
"""Events that may be deferred: with so many, reading the state still takes less than a millisecond."""
SMALL: Final = 8_192
"""Bytes of an event that may be deferred."""
NONE: Final[tuple[BrowserEvent, ...]] = ()


class Runner:
    """Feeds a state machine one input at a time, publishes each state, then performs its effects."""

    def __init__(
        self, state: State, perform: Callable[[Effect], None], *, record: Callable[[Input], None] | None = None
    ) -> None:
        self._latest: tuple[State, Sequence[BrowserEvent]] = state, NONE
        """The last state and the events deferred since: one reference, for other threads. A list in it only grows."""
        self._folded: tuple[State, int, State] | None = None
        """A state, how many deferred events were folded into it for a reader, and the resulting state."""
        self._deferred: list[BrowserEvent] = []
        """The list in `_latest`, if it holds one."""
        self._defer_until = inf
        """Before this moment no deadline is due, so only an input changes the state."""
        self._own_events = events_unused_by_extensions(state)
        self._perform = perform
        self._record = record
        self._inputs: deque[Input] = deque()
        self._working = False
        self._views = Views()
        self._watchers: tuple[Watch, ...] = ()
        self.unsent = 0
        """Commands of extensions that could not be sent: no input reports their end."""

    @property
    def state(self) -> State:
        """The state now, with the deferred events folded in."""
        state, deferred = self._latest
        count = len(deferred)
        if not count:
            return state
        folded = self._folded
        if folded is not None and folded[0] is state and folded[1] == count:
            return folded[2]
        after, _ = fold(state, deferred[:count])  # the effects are performed when it is published
        self._folded = state, count, after
        return after

    @property
    def generation(self) -> int:
        """The generation of the current link, or of the next one while there is none."""
        return self._latest[0].generation

    def feed(self, input: Input) -> State | None:  # noqa: A002 - the glossary's word
        """Process an input and return the new state; None: another input is being processed, so it is queued."""
        if self._working:
            self._inputs.append(input)
            return None
        self._working = True
        queue = self._inputs
        try:
            while True:
                before, deferred = self._latest
                if deferred and not self._commutes(input):
                    before, deferred = self._fold(before, deferred), NONE
                if self._record is not None:
                    self._record(input)
                after, orders = take(before, input)
                if after is not before:
                    self._latest = after, deferred
                    if deferred and (after.deadlines is not before.deadlines or after.link is not before.link):
                        self._defer_until = deferrable_until(after)
                    for watch in self._watchers:
                        watch(after)
                for effect in orders:
                    self._perform(effect)
                if not queue:
                    return after
                input = queue.popleft()  # noqa: A001
        finally:
            self._working = False

    def _commutes(self, input: Input) -> bool:  # noqa: A002
        """True if this input commutes with the deferred events: no extension uses it, and no rule reads them."""
        return (
            type(input) is BrowserEvent and input.event.method in self._own_events and input.at.mono < self._defer_until
        )

    def keep(self, at: Instant, generation: int, event: Event) -> bool:
        """Defer an event of `deferrable_events`. False: it cannot be deferred, so feed it."""
        if type(event) is not Event or len(event.raw) > SMALL:
            return False
        state, deferred = self._latest
        session_id = event.session_id
        page = None if session_id is None else state.page_of.get(session_id)
        kept = BrowserEvent(at=at, generation=generation, event=event, page=page)
        if deferred:
            last = deferred[-1]
            if (
                generation != last.generation
                or len(deferred) >= KEPT
                or (at is not last.at and not (last.at.mono <= at.mono >= state.now and at.mono < self._defer_until))
            ):
                return False
            self._deferred.append(kept)
            return True
        if not self._may_defer(state, at, generation):
            return False
        self._deferred = [kept]
        self._latest = state, self._deferred
        return True

    def _may_defer(self, state: State, at: Instant, generation: int) -> bool:
        if self._working or self._watchers or self._record is not None:
            return False
        self._defer_until = deferrable_until(state)
        return generation == state.generation and state.now <= at.mono < self._defer_until

    def _fold(self, state: State, deferred: Sequence[BrowserEvent]) -> State:
        after, orders = fold(state, deferred)
        self._latest = after, NONE
        for effect in orders:
            self._perform(effect)
        return after

    def snapshot(self) -> Snapshot:
        """Return a snapshot of the state now."""
        return self._views.snapshot(self.state)

    def view(self, state: State) -> Snapshot:
        """Return a snapshot of an earlier state."""
        return self._views.snapshot(state)

    def deadline(self) -> Deadline | None:
        """Return the next deadline of the state machine; None if it has none."""
        return next_deadline(self._latest[0])

    def watch(self, watcher: Watch) -> Callable[[], None]:
        """Call `watcher` with each state that is published; call the returned function to end that."""
        state, deferred = self._latest
        if deferred:
            self._fold(state, deferred)
        self._watchers = (*self._watchers, watcher)

        def end() -> None:
            self._watchers = tuple(each for each in self._watchers if each is not watcher)

        return end
