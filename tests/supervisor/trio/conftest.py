"""What the tests of the trio driver share: a shop of their own each (`support/shop.py`), and bounded virtual time."""

from __future__ import annotations

import pytest
from trio.testing import MockClock

from support.shop import Site


@pytest.fixture
def site() -> Site:
    """The shop."""
    return Site()


LONGEST = 20_000


@pytest.fixture
def bounded(monkeypatch: pytest.MonkeyPatch) -> MockClock:
    """Virtual time, and an end of it: a supervisor that nothing happens to keeps its link alive for ever."""
    clock = MockClock(autojump_threshold=0)
    begun, jump = clock.current_time(), clock.jump

    def limited(seconds: float) -> None:
        if clock.current_time() - begun + seconds > LONGEST:
            raise TimeoutError("the test does not come to its end")
        jump(seconds)

    monkeypatch.setattr(clock, "jump", limited)
    return clock
