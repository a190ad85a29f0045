"""What is left in links: after a test every link has ended, and is empty."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from cdp_core.link import Link


@contextmanager
def links_end_empty(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every link of the block has ended with it, and then no command, waiter, session or route is left in it."""
    links: list[Link[Any]] = []
    make = Link.__init__

    def note(link: Link[Any], *arguments: Any, **options: Any) -> None:
        make(link, *arguments, **options)
        links.append(link)

    monkeypatch.setattr(Link, "__init__", note)
    yield
    for link in links:
        kept = (link._waiters, link.sessions, link.routes, link._outbox)
        left = (link.router.in_flight, *map(len, kept))
        assert link.ended.is_set()
        assert left == (0,) * 5, f"commands, waiters, sessions, routes, unsent: {left}"
