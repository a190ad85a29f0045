"""What a fake browser understands: one function for each command, in a module for each family.

A method that is in none of them is refused as Chromium refuses one that it has never heard of, and counted: `unmodelled`.
"""

from __future__ import annotations

from cdp_core.testing.fake import (
    accepted,
    fetch_commands,
    history_commands,
    page_commands,
    script_commands,
    target_commands,
    world_commands,
)
from cdp_core.testing.fake.call import (
    ANSWERED_BY_RENDERER,
    BEGUN_BY_BROWSER,
    COMMANDS,
    FIRST,
    LATER,
    Call,
    Modelled,
    find,
)
from cdp_core.testing.fake.target_commands import dispose

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

FAMILIES = (target_commands, page_commands, history_commands, script_commands, world_commands, fetch_commands, accepted)
"""Each has put its commands into the table when it was imported."""
