"""What the tests of links share: no link of a test keeps an entry, and a browser by script."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.links import links_end_empty
from support.scripted_browser import ScriptedBrowser


@pytest.fixture(autouse=True)
def no_link_keeps_an_entry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every link of a test has ended with it, and then no command, waiter, session or route is left in it."""
    with links_end_empty(monkeypatch):
        yield


@pytest.fixture
def peer() -> ScriptedBrowser:
    """A browser that does only what the test says."""
    return ScriptedBrowser()
