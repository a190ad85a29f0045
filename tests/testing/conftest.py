"""What the tests of the kit share: the seed of their hunts; at the end they name the traces that the fake does not cover."""

from __future__ import annotations

import os
from random import Random

import pytest

from support.fake_replay import pages

os.environ.setdefault("CDP_HUNT_SEED", str(Random().randrange(1, 2**32)))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Hunts see other examples each time; with this the same ones come again."""
    terminalreporter.section("recorded traces that the fake does not cover")
    for name, why in sorted(pages.NOT_COVERED.items()):
        terminalreporter.write_line(f"{name}: {why}")
    terminalreporter.write_line(f"CDP_HUNT_SEED={os.environ['CDP_HUNT_SEED']}")
