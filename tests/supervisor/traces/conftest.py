"""Runs the tests on each recorded trace, and prints the exceptions at the end.

The modules of `support/traces`: `follower.py` feeds a state machine from a recorded trace, `reference.py` keeps a
naive record of what a connection received, `verdict.py` compares the snapshots with the truth in the notes
(`dialog_verdict.py`, `frame_verdict.py`; `note_words.py` reads their words), `falsified_notes.py` makes that truth
false, and `consistency.py` checks each state after every record. The observer of each link is `observer.py`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from support.traces import verdict

TRACES = Path(__file__).parents[2] / "traces"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test with a `trace` argument once for each trace."""
    if "trace" in metafunc.fixturenames:
        paths = sorted(TRACES.glob("*.jsonl"))
        metafunc.parametrize("trace", paths, ids=[path.stem for path in paths])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if verdict.EXCEPTIONS:
        terminalreporter.section("where recorded traces differ from the state machine, and why")
        for (name, part), why in sorted(verdict.EXCEPTIONS.items()):
            terminalreporter.write_line(f"{name}, {part}: {why}")
