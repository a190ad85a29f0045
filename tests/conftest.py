"""What every test stands on: Hypothesis' profiles, and a look at what a test left behind.

Profiles: `dev` is quick (the default), `ci` is thorough and the same on every run, `deep` is for long hunts:
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
settings.register_profile("deep", max_examples=20_000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev"))

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell starts what is in its background
    signal.signal(signal.SIGINT, signal.default_int_handler)

FDS = Path("/proc/self/fd")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """`-n auto`: twice as many as there are processors, since the tests with a real browser mostly wait for it."""
    return 2 * (os.cpu_count() or 1)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Who has no tests left takes some of another's: those with a browser take seconds, most others milliseconds.

    xdist's own way hands out hundreds at a time, and the last worker is alone with those of `tests/live`.
    """
    from xdist.scheduler import WorkStealingScheduling  # loaded by whoever calls this

    return WorkStealingScheduling(config, log) if config.getoption("dist") == "load" else None


def open_descriptors() -> set[str]:
    """What this process holds open, by what it is."""
    found: set[str] = set()
    for entry in FDS.iterdir():
        try:
            found.add(f"{entry.name}:{entry.readlink()}")
        except OSError:
            continue  # the descriptor of this very look
    return found


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """No descriptor, thread or child of a test outlives it."""
    if not FDS.exists():
        yield
        return
    before, threads = open_descriptors(), threading.active_count()
    yield
    left = _left(before)
    if left:
        gc.collect()
        deadline = time.monotonic() + 1  # a thread of its own, such as a fake's, may be closing what was hung up
        while (left := _left(before)) and time.monotonic() < deadline:
            time.sleep(0.01)
    assert not left, f"descriptors left open: {sorted(left)}"
    # trio keeps a few idle worker threads for a while; they are its own.
    named = [thread for thread in threading.enumerate() if not thread.name.startswith("Trio thread")]
    assert len(named) <= threads, f"threads left running: {named}"


def _left(before: set[str]) -> set[str]:
    return {each for each in open_descriptors() - before if "anon_inode" not in each and "/dev/null" not in each}
