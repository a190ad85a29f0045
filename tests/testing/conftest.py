"""Set the seed of the hunts, and list in the summary the traces that the fake does not cover."""

from __future__ import annotations

import os
from random import Random

import pytest

from support.fake_replay import pages

os.environ.setdefault("CDP_HUNT_SEED", str(Random().randrange(1, 2**32)))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List the uncovered traces and the seed; set `CDP_HUNT_SEED` to it to repeat the examples."""
    terminalreporter.section("recorded traces that the fake does not cover")
    for name, reason in sorted(pages.NOT_COVERED.items()):
        terminalreporter.write_line(f"{name}: {reason}")
    terminalreporter.write_line(f"CDP_HUNT_SEED={os.environ['CDP_HUNT_SEED']}")
