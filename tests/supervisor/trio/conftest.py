"""Fixtures of the trio driver's tests: a shop for each test (`support/shop.py`), bounded virtual time."""

from __future__ import annotations

import pytest
from trio.testing import MockClock

from support.shop import Site


@pytest.fixture
def site() -> Site:
    """The site of a shop, for one test."""
    return Site()


LONGEST = 20_000


@pytest.fixture
def bounded(monkeypatch: pytest.MonkeyPatch) -> MockClock:
    """Virtual time with a limit: an idle supervisor keeps its link alive for ever."""
    clock = MockClock(autojump_threshold=0)
    begun, jump = clock.current_time(), clock.jump

    def limited(seconds: float) -> None:
        if clock.current_time() - begun + seconds > LONGEST:
            raise TimeoutError("the test did not end within the limit of virtual time")
        jump(seconds)

    monkeypatch.setattr(clock, "jump", limited)
    return clock
