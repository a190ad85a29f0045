"""A recorded run of the supervisor's engine on a fake browser, without event loop, clock or network.

A run is driven by acts: a request, a step of the page, or a function that takes the run and returns one of these.
Each act comes when no message is on its way; after the last one, time passes up to the horizon.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

from cdp_core import TraceWriter
from cdp_core.testing.fake.browser import FakeBrowser
from cdp_core.testing.fake.client_end import ClientEnd
from cdp_core.testing.steps import Cut, Script
from cdp_supervisor.engine import SupervisorEngine
from cdp_supervisor.recording import recorder
from cdp_supervisor.sansio.effects import Answer
from cdp_supervisor.sansio.inputs import Instant
from cdp_supervisor.sansio.options import Policy, Reconnect
from cdp_supervisor.sansio.view import Snapshot

Act = Any
BEGUN, EPOCH = 4711.0625, 1_700_000_000.25
"""Seconds at which the two clocks begin; not 0, so that a confusion of clocks shows."""
HORIZON = 40.0
MOST_TURNS = 20_000


class RecordedRun:
    """One run; it is over when the constructor returns."""

    def __init__(
        self,
        path: Path,
        script: Script,
        acts: Iterable[Act] = (),
        *,
        seed: int | None = None,
        profile: Any = "headless-new",
        horizon: float = HORIZON,
        writer_options: dict[str, Any] | None = None,
        **options: Any,
    ) -> None:
        self.fake = FakeBrowser(script, profile=profile)
        self.snapshots: list[Snapshot] = []
        """One snapshot per published state."""
        self.times: list[float] = []
        """The time of each snapshot on the trace's clock, in seconds."""
        self.answers: dict[int, Answer] = {}
        self._order = None if seed is None else random.Random(seed)
        self._end: ClientEnd | None = None
        self._horizon = horizon
        with TraceWriter(path, wall_clock=lambda: EPOCH, **(writer_options or {})) as writer:
            chosen = {"policy": Policy(), "reconnect": Reconnect(budget=100), "keepalive": None, **options}
            self.engine = SupervisorEngine(record=partial(recorder, writer), **chosen)
            self.engine._runner.watch(self._published)
            self._run(list(acts))
        self.written = writer.statistics()

    @property
    def at(self) -> Instant:
        return Instant(mono=BEGUN + self.fake.now, wall=EPOCH + self.fake.now)

    def _published(self, state: Any) -> None:
        self.snapshots.append(self.engine._runner.view(state))
        self.times.append(self.engine._port.at.mono - BEGUN)

    def _run(self, acts: list[Act]) -> None:
        for _turn in range(MOST_TURNS):
            self._update_link()
            if self._deliver():
                continue
            if acts:
                self._act(acts.pop(0))
            elif not self._wait():
                return
        raise AssertionError("the run did not become quiet")

    def _update_link(self) -> None:
        if self._end is not None and not self._end.connected:
            self._end = None
            self.engine.link_down("broken", self.at, jitter=0.375)
        if self.engine.wants_link and self._end is None:
            self._end = self.fake.connect()
            self.engine.link_up(self.at)
        for text in self.engine.outgoing():
            if self._end is not None:
                self._end.receive(text.encode())
        self.answers |= self.engine.answers()

    def _deliver(self) -> bool:
        ready = [(end, delivery) for end, delivery in self.fake.ready() if end is self._end]
        if not ready:
            return False
        end, delivery = ready[0] if self._order is None else self._order.choice(ready)
        self.engine.receive(self.fake.deliver(end, delivery), self.at)
        return True

    def _act(self, act: Act) -> None:
        made = act(self) if callable(act) else act
        if isinstance(made, Cut):
            self.fake.cut()
        elif type(made).__module__.startswith("cdp_core"):
            self.fake.play(made)
        elif made is not None:
            self.engine.request(made, self.at)

    def _wait(self) -> bool:
        own = self.engine.next_deadline()
        times = [self.fake.next_time(), None if own is None else own.at - BEGUN]
        at = min((time for time in times if time is not None), default=self._horizon + 1)
        if at > self._horizon:
            return False
        self.fake.advance(max(at, self.fake.now + 2**-20))
        self.engine.time_passed(self.at)
        return True
