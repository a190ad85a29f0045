"""The report in Markdown: the contenders, and one table per workload.

"speed x" and "CPU x" are ratios to the fastest Python peer of this run, by wall and by CPU time; above 1 is better. "of
limit" is the speed as a share of the limit. A ratio is empty if the run has nothing to compare with.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from datetime import datetime, timezone

from contenders import Contender
from results import Table
from workloads import GROWTH

COLUMNS = ("speed x", "of limit", "CPU us/op", "CPU x", "RSS before", "RSS growth", "peak growth MB")


def _row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def _rule(columns: int) -> str:
    return f"|{'---|' * columns}"


def _number(value: float | None, pattern: str) -> str:
    return "" if value is None else format(value, pattern)


def cast(contenders: Sequence[Contender]) -> str:
    """Return the date, the machine, and the version or absence of each contender."""
    machine = f"{platform.machine()}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f} at the start"
    lines = [
        f"{datetime.now(timezone.utc):%Y-%m-%d}, {machine}, Python {platform.python_version()}.",
        "",
        _row("contender", "kind", "package", "version"),
        _rule(4),
    ]
    for contender in contenders:
        version = contender.version if contender.present else "ABSENT (see setup.sh)"
        lines.append(_row(contender.name, contender.kind, contender.package, version))
    return "\n".join(lines)


def table_of(table: Table, *, pinned: bool) -> str:
    """Return one workload's results as a table."""
    workload = table.workload
    settings = ", ".join(f"{key}={value}" for key, value in workload.job.items() if key != "workload")
    compared = workload.unit != GROWTH  # a peer's callback always reads, so none is comparable
    peer = table.best("peer", "value") if compared else None
    frugal_peer = table.best("peer", "cpu") if compared else None
    limit = table.best("limit", "value")
    lines = [
        "",
        f"## {workload.name} ({settings}{', one CPU' if pinned else ''})",
        "",
        f"Fastest peer: {peer or 'none'} (least CPU: {frugal_peer or 'none'}); limit: {limit or 'none'}.",
        "",
        _row("contender", "kind", "rounds", workload.unit, "spread", *COLUMNS),
        _rule(5 + len(COLUMNS)),
    ]
    lines += [
        _row(
            name,
            table.kind(name),
            len(table.runs[name]),
            f"{table.median(name, 'value'):.4g}",
            f"{table.spread(name):.0%}",
            _number(table.ratio(name, peer, "value"), ".2f"),
            _number(table.ratio(name, limit, "value"), ".0%"),
            f"{table.median(name, 'cpu') / workload.job['n'] * 1e6:.3g}",
            _number(table.ratio(name, frugal_peer, "cpu"), ".2f"),
            *(f"{table.median(name, field):.1f}" for field in ("rss_before", "rss_growth", "peak_growth")),
        )
        for name in table.ranked()
    ]
    lines += [f"\nFailed: {name} ({len(reasons)}x: {reasons[-1]})" for name, reasons in table.failures.items()]
    return "\n".join(lines)
