"""The speed goals of this project, and the verdicts of a run.

A ratio refers to the fastest peer of the same run; a goal is judged on the median of at least five rounds of both
sides. A lower bound counts as met within 5 % below it, and the verdict shows this; an upper bound has no such
allowance. A quantity that was not measured is neither met nor missed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from import_cost import BINDINGS, OURS, Cost
from results import Table

ROUNDS_NEEDED = 5
ALLOWANCE = 0.05
WALL, CPU, RSS_GROWTH, PEAK = "wall", "CPU", "RSS growth", "peak growth / message"
IMPORT_TIME, IMPORT_MEMORY = "import time", "import memory"
MIB = 2**20
NOT_MEASURED = "not measured"
MISSED = "MISSED"


@dataclass(frozen=True)
class Goal:
    """A bound of one quantity of one contender in one workload: a minimal ratio, or a maximal cost."""

    contender: str
    workload: str
    quantity: str
    bound: float
    against: str = ""
    """The contender to compare with; if empty, the fastest peer."""

    @property
    def is_ratio(self) -> bool:
        """True if the bound is a minimal ratio; else it is a maximal cost."""
        return self.quantity in (WALL, CPU)

    @property
    def unit(self) -> str:
        """The unit of the numbers."""
        return {IMPORT_TIME: " ms", IMPORT_MEMORY: " MB", RSS_GROWTH: " MB"}.get(self.quantity, "x")

    def __str__(self) -> str:
        relation = "≥" if self.is_ratio else "≤"
        against = f" of {self.against}" if self.against else ""
        return f"{self.contender}, {self.workload}: {self.quantity} {relation} {self.bound:g}{self.unit}{against}"


@dataclass(frozen=True)
class Measured:
    """A measured number, the contender that it refers to, and its rounds."""

    number: float
    rounds: int
    against: str = ""


def _goals(contender: str, quantity: str, bound: float, *workloads: str, against: str = "") -> tuple[Goal, ...]:
    return tuple(Goal(contender, workload, quantity, bound, against) for workload in workloads)


GOALS = (
    *_goals("ours", CPU, 6.0, "events1", "events100", "events1000"),
    *_goals("ours", CPU, 4.5, "params1", "params100", "params1000"),
    *_goals("ours subscribe", CPU, 4.0, "subscribe1", "subscribe100"),
    *_goals("ours", WALL, 1.6, "seq_pinned"),
    *_goals("ours", CPU, 1.8, "seq_pinned"),
    *_goals("ours stream", WALL, 1.25, "seq_pinned"),
    *_goals("ours", WALL, 2.3, "pipe50", "pipe1000"),
    *_goals("ours", WALL, 2.0, "big1", "big10"),
    *_goals("ours", WALL, 1.8, "big100"),
    *_goals("ours", PEAK, 2.1, "big100"),
    *_goals("ours pipe", CPU, 8.0, "events1", "events100", "events1000"),
    *_goals("ours subscribe", RSS_GROWTH, 5.0, "flood"),
    *_goals("ours drop_oldest", RSS_GROWTH, 5.0, "flood"),
    *_goals("ours typed", CPU, 3.5, "typed1", "typed100", against="hermes_typed"),
    *_goals("ours typed", CPU, 1.0, "field1", against="ours raw"),
    *_goals("ours typed subscribe", CPU, 1.0, "field1", against="ours raw subscribe"),
    *_goals("ours supervisor", CPU, 3.0, "supervise100", against="hermes_supervisor"),
    *_goals("ours supervisor", CPU, 0.33, "supervise100", against="ours bare params"),
    *_goals("ours supervisor", CPU, 0.33, "supervise100", against="ours bare"),
    *_goals("ours", IMPORT_TIME, 25.0, "import bindings"),
    *_goals("ours", IMPORT_TIME, 120.0, "import cdp_core"),
    *_goals("ours", IMPORT_MEMORY, 25.0, "import cdp_core"),
)


def workloads_needed() -> list[str]:
    """Return the workloads that have a goal."""
    return list(dict.fromkeys(goal.workload for goal in GOALS if not goal.workload.startswith("import ")))


IMPORTS = {"import cdp_core": OURS, "import bindings": BINDINGS}


def measured(goal: Goal, tables: Mapping[str, Table], imported: Mapping[str, Cost]) -> Measured | None:
    """Return the goal's quantity in this run; None if it was not measured."""
    if goal.quantity in (IMPORT_TIME, IMPORT_MEMORY):
        cost = imported.get(IMPORTS[goal.workload])
        if cost is None:
            return None
        return Measured(cost.milliseconds if goal.quantity == IMPORT_TIME else cost.megabytes, cost.rounds)
    table = tables.get(goal.workload)
    if table is None or goal.contender not in table.runs:
        return None
    rounds = len(table.runs[goal.contender])
    if goal.quantity == RSS_GROWTH:
        return Measured(table.median(goal.contender, "rss_growth"), rounds)
    if goal.quantity == PEAK:
        message = table.workload.job["mb"] * 1e6
        return Measured(table.median(goal.contender, "peak_growth") * MIB / message, rounds)
    field = "value" if goal.quantity == WALL else "cpu"
    peer = goal.against or table.best("peer", field)
    if peer is not None and peer not in table.runs:
        return None
    ratio = table.ratio(goal.contender, peer, field)
    if peer is None or ratio is None:
        return None
    return Measured(ratio, min(rounds, len(table.runs[peer])), peer)


def verdict(goal: Goal, found: Measured | None, table: Table | None = None) -> str:
    """Return the verdict: met, missed, or the reason why neither."""
    if found is None:
        reasons = table.failures.get(goal.contender) if table else None
        return f"{NOT_MEASURED}: {reasons[-1]}" if reasons else NOT_MEASURED
    if found.rounds < ROUNDS_NEEDED:
        return f"no verdict: {found.rounds} of {ROUNDS_NEEDED} rounds"
    if goal.is_ratio:
        if found.number >= goal.bound:
            return "met"
        return "met (within 5 %)" if found.number >= goal.bound * (1 - ALLOWANCE) else MISSED
    return "met" if found.number <= goal.bound else MISSED


def check(tables: Mapping[str, Table], imported: Mapping[str, Cost]) -> tuple[str, bool]:
    """Return the table of goals, and True if none was missed."""
    lines = ["", "## Goals", "", "| goal | measured | against | rounds | verdict |", "|---|---|---|---|---|"]
    verdicts: list[str] = []
    for goal in GOALS:
        found = measured(goal, tables, imported)
        verdicts.append(verdict(goal, found, tables.get(goal.workload)))
        cells = (f"{found.number:.2f}{goal.unit}", found.against, found.rounds) if found else ("", "", "")
        lines.append(f"| {goal} | {' | '.join(map(str, cells))} | {verdicts[-1]} |")
    return "\n".join(lines), MISSED not in verdicts
