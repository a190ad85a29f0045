"""The results: runs, and per workload the medians and ratios for the report and the goals.

A ratio is always "how many times better than". The fastest peer is chosen for each quantity: the peer with the least
wall time need not be the one with the least CPU time.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field

from workloads import Workload


@dataclass(frozen=True)
class Run:
    """The measurement of one process. Times in seconds, memory in MB; the workload ranks by `value`."""

    contender: str
    kind: str
    workload: str
    round: int
    value: float
    wall: float
    cpu: float
    rss_before: float
    rss_growth: float
    peak: float
    peak_growth: float


@dataclass
class Table:
    """All runs of one workload, and the reasons of failed ones."""

    workload: Workload
    runs: dict[str, list[Run]] = field(default_factory=dict)
    failures: dict[str, list[str]] = field(default_factory=dict)

    def add(self, run: Run) -> None:
        self.runs.setdefault(run.contender, []).append(run)

    def kind(self, contender: str) -> str:
        """Return the contender's kind."""
        return self.runs[contender][0].kind

    def median(self, contender: str, quantity: str) -> float:
        """Return the median of one field of `Run`."""
        return statistics.median(getattr(run, quantity) for run in self.runs[contender])

    def spread(self, contender: str) -> float:
        """Return the largest minus the smallest value, as a share of the median."""
        values = [run.value for run in self.runs[contender]]
        return (max(values) - min(values)) / (abs(statistics.median(values)) or 1.0)

    def ranked(self) -> list[str]:
        """Return the contenders, best first."""
        return sorted(self.runs, key=lambda name: self.median(name, "value"), reverse=self.workload.more_is_better)

    def best(self, kind: str, quantity: str) -> str | None:
        """Return the contender of this kind with the best median of `value` or `cpu`; None if none ran."""
        names = [name for name in self.runs if self.kind(name) == kind]
        choose = max if quantity == "value" and self.workload.more_is_better else min
        return choose(names, key=lambda name: self.median(name, quantity), default=None)

    def ratio(self, contender: str, reference: str | None, quantity: str) -> float | None:
        """Return how many times better than the reference; None without one, or if a number is not above zero."""
        if reference is None:
            return None
        ours, theirs = self.median(contender, quantity), self.median(reference, quantity)
        if ours <= 0 or theirs <= 0:
            return None
        return ours / theirs if quantity == "value" and self.workload.more_is_better else theirs / ours
