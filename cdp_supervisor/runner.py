"""What every event source needs around the machine: one input after the other, the state published, the effects done.

Inputs go through one queue. Whoever feeds one while another is being worked on only adds to it; so an effect that fails at
once, or that makes something happen at once, becomes an input behind the others, and no step is ever inside another.

A state is published before its effects are done: who hears of a change finds it
(docs/cdp/wait-for-sees-every-published-state.md). Reading needs no lock: the last state is
one reference, and a snapshot is built from it by whoever asks, in any thread.

Most events are such that machines only keep them (console lines). What they make of the state is worked out when it is
looked at, or something else happens; nobody can tell the difference, since a fold of the same inputs gives the same state
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
"""Events that may wait to be folded: with so many, looking still takes less than a millisecond."""
SMALL: Final = 8_192
"""Bytes of an event that may wait."""
NONE: Final[tuple[BrowserEvent, ...]] = ()


class Runner:
    """See the module."""

    def __init__(
        self, state: State, perform: Callable[[Effect], None], *, record: Callable[[Input], None] | None = None
    ) -> None:
        self._there: tuple[State, Sequence[BrowserEvent]] = state, NONE
        """A state, and what came since that waits to be folded: one reference, for other threads. A list in it only grows."""
        self._looked: tuple[State, int, State] | None = None
        """A state, how many of those that waited were folded to look at it, and what came of it."""
        self._waiting: list[BrowserEvent] = []
        """The list of `_there`, where there is one."""
        self._until = inf
        """Before this moment nothing but an input changes anything."""
        self._ours = events_unused_by_extensions(state)
        self._perform = perform
        self._record = record
        self._inputs: deque[Input] = deque()
        self._working = False
        self._views = Views()
        self._watchers: tuple[Watch, ...] = ()
        self.unsent = 0
        """What strangers' machines sent and could not go out: nobody is told of its end."""

    @property
    def state(self) -> State:
        """What is so now."""
        state, waiting = self._there
        count = len(waiting)
        if not count:
            return state
        looked = self._looked
        if looked is not None and looked[0] is state and looked[1] == count:
            return looked[2]
        after, _ = fold(state, waiting[:count])  # what that orders is done when it is published
        self._looked = state, count, after
        return after

    @property
    def generation(self) -> int:
        """Of the link that there is, or is to be."""
        return self._there[0].generation

    def feed(self, input: Input) -> State | None:  # noqa: A002 - the word of the whole machine
        """Let the machine know, and do what it wants; the state then. None: this one comes behind one under work."""
        if self._working:
            self._inputs.append(input)
            return None
        self._working = True
        queue = self._inputs
        try:
            while True:
                before, waiting = self._there
                if waiting and not self._passes(input):
                    before, waiting = self._fold(before, waiting), NONE
                if self._record is not None:
                    self._record(input)
                after, orders = take(before, input)
                if after is not before:
                    self._there = after, waiting
                    if waiting and (after.deadlines is not before.deadlines or after.link is not before.link):
                        self._until = deferrable_until(after)
                    for watch in self._watchers:
                        watch(after)
                for effect in orders:
                    self._perform(effect)
                if not queue:
                    return after
                input = queue.popleft()  # noqa: A001
        finally:
            self._working = False

    def _passes(self, input: Input) -> bool:  # noqa: A002
        """Whether it means nothing to those who keep what waits, nor that to it: then both orders are one."""
        return type(input) is BrowserEvent and input.event.method in self._ours and input.at.mono < self._until

    def keep(self, at: Instant, generation: int, event: Event) -> bool:
        """An event of `deferrable_events`: it waits to be folded. False: it cannot, and is to be fed."""
        if type(event) is not Event or len(event.raw) > SMALL:
            return False
        state, waiting = self._there
        session_id = event.session_id
        page = None if session_id is None else state.page_of.get(session_id)
        kept = BrowserEvent(at=at, generation=generation, event=event, page=page)
        if waiting:
            last = waiting[-1]
            if (
                generation != last.generation
                or len(waiting) >= KEPT
                or (at is not last.at and not (last.at.mono <= at.mono >= state.now and at.mono < self._until))
            ):
                return False
            self._waiting.append(kept)
            return True
        if not self._may_wait(state, at, generation):
            return False
        self._waiting = [kept]
        self._there = state, self._waiting
        return True

    def _may_wait(self, state: State, at: Instant, generation: int) -> bool:
        if self._working or self._watchers or self._record is not None:
            return False
        self._until = deferrable_until(state)
        return generation == state.generation and state.now <= at.mono < self._until

    def _fold(self, state: State, waiting: Sequence[BrowserEvent]) -> State:
        after, orders = fold(state, waiting)
        self._there = after, NONE
        for effect in orders:
            self._perform(effect)
        return after

    def snapshot(self) -> Snapshot:
        """What is so now."""
        return self._views.snapshot(self.state)

    def view(self, state: State) -> Snapshot:
        """What was so then."""
        return self._views.snapshot(state)

    def deadline(self) -> Deadline | None:
        """When the machine wants to be told of the time."""
        return next_deadline(self._there[0])

    def watch(self, watcher: Watch) -> Callable[[], None]:
        """Hear of every state that is published; what is returned ends it."""
        state, waiting = self._there
        if waiting:
            self._fold(state, waiting)
        self._watchers = (*self._watchers, watcher)

        def end() -> None:
            self._watchers = tuple(each for each in self._watchers if each is not watcher)

        return end
