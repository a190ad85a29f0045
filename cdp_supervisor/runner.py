"""What every event source needs around the machine: one input after the other, the state published, the effects done.

Inputs go through one queue. Whoever feeds one while another is being worked on only adds to it; so an effect that fails at
once, or that makes something happen at once, becomes an input behind the others, and no step is ever inside another.

A state is published before its effects are done: who hears of a change finds it
(docs/cdp/every-published-state-can-be-waited-for.md). Reading needs no lock: the last state is
one reference, and a snapshot is built from it by whoever asks, in any thread.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from cdp_supervisor.sansio.effects import Effect
from cdp_supervisor.sansio.inputs import Input
from cdp_supervisor.sansio.state import Deadline, State
from cdp_supervisor.sansio.step import next_deadline, take
from cdp_supervisor.sansio.view import Snapshot, Views

__all__ = ["Runner"]

Watch = Callable[[State], None]


class Runner:
    """See the module."""

    def __init__(
        self, state: State, perform: Callable[[Effect], None], *, record: Callable[[Input], None] | None = None
    ) -> None:
        self.state = state
        self._perform = perform
        self._record = record
        self._inputs: deque[Input] = deque()
        self._working = False
        self._views = Views()
        self._watchers: tuple[Watch, ...] = ()

    def feed(self, input: Input) -> bool:  # noqa: A002 - the word of the whole machine
        """Let the machine know, and do what it wants. False: an input is being worked on, and this one comes behind it."""
        if self._working:
            self._inputs.append(input)
            return False
        self._working = True
        waiting = self._inputs
        try:
            while True:
                if self._record is not None:
                    self._record(input)
                before = self.state
                after, orders = take(before, input)
                if after is not before:
                    self.state = after
                    for watch in self._watchers:
                        watch(after)
                for effect in orders:
                    self._perform(effect)
                if not waiting:
                    return True
                input = waiting.popleft()  # noqa: A001
        finally:
            self._working = False

    def snapshot(self) -> Snapshot:
        """What is so now."""
        return self._views.snapshot(self.state)

    def view(self, state: State) -> Snapshot:
        """What was so then."""
        return self._views.snapshot(state)

    def deadline(self) -> Deadline | None:
        """When the machine wants to be told of the time."""
        return next_deadline(self.state)

    def watch(self, watcher: Watch) -> Callable[[], None]:
        """Hear of every state that is published; what is returned ends it."""
        self._watchers = (*self._watchers, watcher)

        def end() -> None:
            self._watchers = tuple(each for each in self._watchers if each is not watcher)

        return end
