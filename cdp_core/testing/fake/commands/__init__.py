"""What a fake browser understands: one function for each command, in a module for each family.

A method that is in none of them is refused as Chromium refuses one that it has never heard of, and counted: `unmodelled`.
"""

from __future__ import annotations

from cdp_core.testing.fake.commands import accepted, fetch, page, script, target, world
from cdp_core.testing.fake.commands.call import (
    ANSWERED_BY_RENDERER,
    BEGUN_BY_BROWSER,
    COMMANDS,
    FIRST,
    LATER,
    Call,
    Modelled,
    find,
)
from cdp_core.testing.fake.commands.target import dispose

__all__ = [
    "ANSWERED_BY_RENDERER",
    "BEGUN_BY_BROWSER",
    "COMMANDS",
    "FAMILIES",
    "FIRST",
    "LATER",
    "Call",
    "Modelled",
    "dispose",
    "find",
]

FAMILIES = (target, page, script, world, fetch, accepted)
"""Each has put its commands into the table when it was imported."""
