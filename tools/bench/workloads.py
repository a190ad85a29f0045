"""The workloads: each one's job, its rounds, and the number that ranks its contenders.

The names are stable, since goals and written results refer to them. `seq_pinned` is `seq` with client and endpoint on
one CPU: the wall time of a round trip depends on where the kernel puts the two processes, and varies by half without
a pin.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

MICROSECONDS, SPEED, MILLISECONDS, GROWTH = "us/op", "MB/s", "ms", "MB growth"


@dataclass(frozen=True)
class Workload:
    """One table of the report. `job` contains the fields of `job.Job` that this workload sets."""

    name: str
    job: Mapping[str, Any]
    rounds: int = 5
    unit: str = MICROSECONDS
    pinned: bool = False

    @property
    def kind(self) -> str:
        """The workload's name in `measure.py`; a contender can be limited to some of these."""
        return self.job["workload"]

    @property
    def flooded(self) -> bool:
        """True if the endpoint has to prepare a flood."""
        return self.kind not in ("seq", "pipe", "big", "connect")

    @property
    def more_is_better(self) -> bool:
        """True for throughput."""
        return self.unit == SPEED

    def value(self, measured: Mapping[str, float]) -> float:
        """Return the number to rank by."""
        if self.unit == SPEED:
            return self.job["mb"] * self.job["n"] / measured["wall"]
        if self.unit == MILLISECONDS:
            return measured["wall"] * 1e3
        if self.unit == GROWTH:
            return measured["rss_growth"]
        return measured["wall"] / self.job["n"] * 1e6


def _job(kind: str, n: int, **more: Any) -> Mapping[str, Any]:
    return MappingProxyType({"workload": kind, "n": n, "k": 1, **more})


def _by_name(*workloads: Workload) -> Mapping[str, Workload]:
    return MappingProxyType({workload.name: workload for workload in workloads})


FAKE = _by_name(
    Workload("seq", _job("seq", 3000), rounds=7),
    Workload("seq_pinned", _job("seq", 3000), rounds=7, pinned=True),
    Workload("pipe50", _job("pipe", 10000, width=50)),
    Workload("pipe1000", _job("pipe", 10000, width=1000)),
    Workload("events1", _job("events", 100000)),
    Workload("events100", _job("events", 100000, k=100)),
    Workload("events1000", _job("events", 100000, k=1000)),
    Workload("console100", _job("events", 100000, k=100, shape="console")),
    Workload("params1", _job("params", 100000)),
    Workload("params100", _job("params", 100000, k=100)),
    Workload("params1000", _job("params", 100000, k=1000)),
    Workload("subscribe1", _job("subscribe", 100000, k=1)),
    Workload("subscribe100", _job("subscribe", 100000, k=100)),
    Workload("typed1", _job("typed", 100000, shape="dialog")),
    Workload("typed100", _job("typed", 100000, k=100, shape="dialog")),
    Workload("nested1", _job("nested", 100000, shape="console")),
    Workload("field1", _job("field", 100000, shape="dialog")),
    Workload("supervise100", _job("supervise", 100000, k=100, shape="mixed")),
    Workload("flood", _job("flood", 100000), unit=GROWTH),
    Workload("big1", _job("big", 20, mb=1), unit=SPEED),
    Workload("big10", _job("big", 5, mb=10), unit=SPEED),
    Workload("big100", _job("big", 2, mb=100), unit=SPEED),
    Workload("connect", _job("connect", 1), unit=MILLISECONDS),
)
"""The workloads on the fake endpoint."""

REAL = _by_name(
    Workload("real_seq", _job("seq", 2000), rounds=7),
    Workload("real_pipe50", _job("pipe", 5000, width=50)),
    Workload("real_events", _job("events", 20000, shape="console")),
    Workload("real_big1", _job("big", 10, mb=1), unit=SPEED),
    Workload("real_big10", _job("big", 3, mb=10), unit=SPEED),
    Workload("real_big100", _job("big", 1, mb=100), unit=SPEED),
    Workload("real_connect", _job("connect", 1), unit=MILLISECONDS),
)
"""The workloads on a running Chromium, which has no command for a flood."""
