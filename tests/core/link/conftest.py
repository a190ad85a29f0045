"""Fixtures for the tests of links: a check that no link keeps an entry, and a scripted browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.links import links_end_empty
from support.scripted_browser import ScriptedBrowser


@pytest.fixture(autouse=True)
def no_link_keeps_an_entry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Assert after each test that its links have ended, with no command, waiter, session or route."""
    with links_end_empty(monkeypatch):
        yield


@pytest.fixture
def peer() -> ScriptedBrowser:
    """A browser that does only what the test instructs it to do."""
    return ScriptedBrowser()
