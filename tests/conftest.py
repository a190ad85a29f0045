"""What all tests share: Hypothesis' profiles, and a check for leaked descriptors and threads.

Profiles: `dev` is quick (the default), `ci` is thorough and the same on every run, `deep` is for long searches:
`HYPOTHESIS_PROFILE=deep pytest tests/core/sansio`.
"""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

pytest.register_assert_rewrite("support")

settings.register_profile(
    "dev",
    max_examples=50,
    deadline=None,
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "ci",
    max_examples=100,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "mutants",  # of tools/mutate.py: many short runs
    max_examples=25,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("deep", max_examples=20_000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev"))

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell starts its background jobs so
    signal.signal(signal.SIGINT, signal.default_int_handler)

FDS = Path("/proc/self/fd")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """For `-n auto`: two workers per processor, since tests with a real browser mostly wait for it."""
    return 2 * (os.cpu_count() or 1)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Use work stealing: a worker without tests takes some of another worker's.

    Tests with a browser take seconds, most others milliseconds. By default xdist hands out hundreds at a time, and the
    last worker would run those of `tests/live` alone.
    """
    from xdist.scheduler import WorkStealingScheduling  # only installed together with the plug-in that calls this hook

    return WorkStealingScheduling(config, log) if config.getoption("dist") == "load" else None


def open_descriptors() -> set[str]:
    """The open descriptors of this process, each with its target."""
    found: set[str] = set()
    for entry in FDS.iterdir():
        try:
            found.add(f"{entry.name}:{entry.readlink()}")
        except OSError:
            continue  # the descriptor of this listing itself
    return found


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """Assert that no descriptor, thread or child process outlives the test."""
    if not FDS.exists():
        yield
        return
    before, threads = open_descriptors(), threading.active_count()
    yield
    left = _left(before)
    if left:
        gc.collect()
        deadline = time.monotonic() + 1  # a thread of a fake may still be closing its connections
        while (left := _left(before)) and time.monotonic() < deadline:
            time.sleep(0.01)
    assert not left, f"descriptors left open: {sorted(left)}"
    # trio keeps a few idle worker threads for a while.
    named = [thread for thread in threading.enumerate() if not thread.name.startswith("Trio thread")]
    assert len(named) <= threads, f"threads left running: {named}"


def _left(before: set[str]) -> set[str]:
    return {each for each in open_descriptors() - before if "anon_inode" not in each and "/dev/null" not in each}
