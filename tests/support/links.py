"""A check that every link of a test has ended and is empty."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from cdp_core.link import Link


@contextmanager
def links_end_empty(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Check at the end of the block that every link of it has ended and holds nothing.

    No command, session, route or unsent text may be left.
    """
    links: list[Link[Any]] = []
    make = Link.__init__

    def note(link: Link[Any], *arguments: Any, **options: Any) -> None:
        make(link, *arguments, **options)
        links.append(link)

    monkeypatch.setattr(Link, "__init__", note)
    yield
    for link in links:
        left = (link.router.in_flight, len(link.sessions), len(link.routes), len(link._outbox))
        assert link.ended.is_set()
        assert left == (0,) * 4, f"commands, sessions, routes, unsent: {left}"
