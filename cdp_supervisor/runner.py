"""The runner of every event source: one input at a time, each state published before its effects.

Inputs go through one queue. An input that is fed while another one is processed is only appended; so an effect that
fails at once, or that causes another input at once, becomes an input behind the others, and no step runs inside
another.

A state is published before its effects are performed: a subscriber that receives a change finds it in the snapshot
(docs/cdp/wait-for-sees-every-published-state.md). Reading needs no lock: the last state is one reference, and the
reader builds the snapshot from it, in any thread.

Events that only extensions collect are deferred (`deferred.py`); a reader cannot notice it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from cdp_core.sansio.messages import Event
from cdp_supervisor.deferred import DeferredEvents
from cdp_supervisor.sansio.effects import Effect
from cdp_supervisor.sansio.inputs import Input, Instant
from cdp_supervisor.sansio.state import Deadline, State
from cdp_supervisor.sansio.step import next_deadline, take
from cdp_supervisor.sansio.view import Snapshot, Views

Watch = Callable[[State], None]


class Runner:
    """Feeds a state machine one input at a time, publishes each state, then performs its effects."""

    def __init__(
        self,
        state: State,
        perform: Callable[[Effect], None],
        *,
        record: Callable[[Input], None] | None = None,
        fed: Watch = lambda _state: None,
    ) -> None:
        self._deferred = DeferredEvents(state)
        self._perform = perform
        self._record = record
        # Called with the state after an input, and after those that its effects caused.
        self._fed = fed
        # The generation of the current link, or of the next one while there is none.
        self.generation = state.generation
        self._inputs: deque[Input] = deque()
        self._working = False
        self._views = Views()
        self._watchers: tuple[Watch, ...] = ()
        # Commands of extensions that could not be sent: no input reports their end.
        self.unsent: int = 0

    @property
    def state(self) -> State:
        """The state now, with the deferred events folded in."""
        published, waiting = self._deferred.published
        return self._deferred.read(published, waiting) if waiting else published

    @property
    def used_events(self) -> dict[str, bool]:
        """The event methods to feed; True for those that `defer` accepts."""
        return self._deferred.used

    def feed(self, input: Input) -> State | None:  # noqa: A002 - the glossary's word
        """Process an input and return the new state; None: another input is being processed, so it is queued."""
        if self._working:
            self._inputs.append(input)
            return None
        self._working = True
        queue, deferred = self._inputs, self._deferred
        try:
            while True:
                before, waiting = deferred.published
                if waiting and not deferred.commutes(input):
                    self._fold_deferred()
                    before, waiting = deferred.published
                if self._record is not None:
                    self._record(input)
                after, effects = take(before, input)
                if after is not before:
                    deferred.published = after, waiting
                    self.generation = after.generation
                    if waiting and (after.deadlines is not before.deadlines or after.link is not before.link):
                        deferred.bounds_changed()
                    for watch in self._watchers:
                        watch(after)
                for effect in effects:
                    self._perform(effect)
                if not queue:
                    break
                input = queue.popleft()  # noqa: A001
        finally:
            self._working = False
        self._fed(after)
        return after

    def defer(self, at: Instant, generation: int, event: Event) -> bool:
        """Defer an event that `used_events` marks. False: it cannot be deferred now, so feed it."""
        deferred = self._deferred
        if not deferred.published[1] and (self._working or self._watchers or self._record is not None):
            return False
        return deferred.add(at, generation, event)

    def _fold_deferred(self) -> None:
        for effect in self._deferred.fold():
            self._perform(effect)

    def snapshot(self) -> Snapshot:
        return self._views.snapshot(self.state)

    def view(self, state: State) -> Snapshot:
        return self._views.snapshot(state)

    def deadline(self) -> Deadline | None:
        """Return the next deadline of the state machine; None if it has none."""
        return next_deadline(self._deferred.published[0])

    def watch(self, watcher: Watch) -> Callable[[], None]:
        """Call `watcher` with each state that is published; call the returned function to end that."""
        if self._deferred.published[1]:
            self._fold_deferred()
        self._watchers = (*self._watchers, watcher)

        def end() -> None:
            self._watchers = tuple(each for each in self._watchers if each is not watcher)

        return end
