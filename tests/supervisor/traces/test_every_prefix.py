"""The checks of `consistency.py`, after every record of every trace.

Times are those of the records, so one trace has one sequence of snapshots.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cdp_core.sansio.trace import LinkRecord
from cdp_core.tracing.file import read_trace
from cdp_supervisor.sansio.view import Snapshot
from support.traces import consistency, follower, verdict

TRACES = Path(__file__).parents[2] / "traces"


def test_the_state_is_consistent_after_every_record(trace: Path) -> None:
    follower.follow(read_trace(trace), after=consistency.look)


def test_a_reconnected_client_keeps_its_state() -> None:
    """Its second link is the next generation; dialogs of the first link are kept and not answerable."""
    reconnected = 0

    def look(place: int, link: Any) -> None:
        consistency.look(place, link)
        for page in link.state.pages.values():
            assert all(each.generation == link.state.generation or each.phase != "open" for each in page.dialogs)

    for path in sorted(TRACES.glob("*.jsonl")):
        if not any(isinstance(each, LinkRecord) and each.conn.endswith("2") for each in read_trace(path)):
            continue
        links = follower.follow(read_trace(path), joined=True, after=look)
        for link in links.values():
            assert link.state.generation == 1 or verdict.judge_joined(path.with_suffix(".md"), link) == []
        reconnected += any(each.state.generation > 1 and each.state.link.phase == "up" for each in links.values())
    assert reconnected >= 4


def test_a_trace_has_one_sequence_of_snapshots(trace: Path) -> None:
    def replay() -> list[Snapshot]:
        seen: list[Snapshot] = []
        follower.follow(read_trace(trace), after=lambda _place, link: seen.append(link.runner.snapshot()))
        return seen

    assert replay() == replay()
