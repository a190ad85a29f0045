"""The commands of the fake browser: one function for each command, one module for each family.

A method that no module models is refused as Chromium refuses an unknown method, and counted in `World.unmodelled`.
"""

from __future__ import annotations

from cdp_core.testing.fake.commands import accepted, fetch, page, script, target, world
from cdp_core.testing.fake.commands.call import (
    ANSWERED_BY_RENDERER,
    COMMANDS,
    FIRST,
    LATER,
    Call,
    Modelled,
    find,
    is_answered_after_crash,
)
from cdp_core.testing.fake.commands.target import dispose

__all__ = [
    "ANSWERED_BY_RENDERER",
    "COMMANDS",
    "FAMILIES",
    "FIRST",
    "LATER",
    "Call",
    "Modelled",
    "dispose",
    "find",
    "is_answered_after_crash",
]

FAMILIES = (target, page, script, world, fetch, accepted)
"""The modules of the commands; importing one registers its commands in the table."""
