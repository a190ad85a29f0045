"""Gives the tests each recorded trace, and prints what is an exception.

The modules of `support/traces`: `follower.py` feeds a machine from a recorded trace, `reference.py` keeps naively what a
connection received, `verdict.py` compares what the machine shows with the truth in the notes (`dialog_verdict.py`,
`frame_verdict.py`; `note_words.py` reads their words), `falsified_notes.py` makes that truth false, `consistency.py` is
what holds after every record. The observer of each link is `observer.py`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from support.traces import verdict

TRACES = Path(__file__).parents[2] / "traces"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that wants a `trace` is run for each."""
    if "trace" in metafunc.fixturenames:
        paths = sorted(TRACES.glob("*.jsonl"))
        metafunc.parametrize("trace", paths, ids=[path.stem for path in paths])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if verdict.EXCEPTIONS:
        terminalreporter.section("what recorded traces tell otherwise than the machine, and why")
        for (name, part), why in sorted(verdict.EXCEPTIONS.items()):
            terminalreporter.write_line(f"{name}, {part}: {why}")
