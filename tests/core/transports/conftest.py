"""Fixtures of the transport tests: every link of a test must end empty."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.links import links_end_empty


@pytest.fixture(autouse=True)
def every_link_ends_empty(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Check that every link of the test has ended and keeps no command, waiter, session or route."""
    with links_end_empty(monkeypatch):
        yield
