"""One browser for this folder, and one link to it; a test that ends its browser starts its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from cdp_core import BrowserSession, open_browser_session


@pytest.fixture(scope="session")
def shared_chromium(launch: Callable[..., Any]) -> Iterator[Any]:
    with launch() as chromium:
        yield chromium


@pytest.fixture
async def browser(shared_chromium: Any) -> AsyncIterator[BrowserSession]:
    """A link to the shared browser."""
    async with open_browser_session(shared_chromium.url) as link:
        yield link


@pytest.fixture
async def second_client(shared_chromium: Any) -> AsyncIterator[BrowserSession]:
    """A second client of the shared browser."""
    async with open_browser_session(shared_chromium.url) as link:
        yield link
