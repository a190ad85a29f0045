"""Words of a peer that errors and logs may show, cut and checked.

Names of events, types of targets and ids come from the browser or a page, so they can hold anything. Each is shown where it
looks like what it should be, and replaced otherwise.
"""

from __future__ import annotations

import re

_METHOD = r"(?=.{3,64}\Z)[A-Za-z][A-Za-z0-9]*\.[A-Za-z][A-Za-z0-9]*"
_TYPE = r"[a-z][a-z_]{0,31}"
_ID_BEGINS = r"[A-Za-z0-9._-]{1,8}"


def shown_method(method: str) -> str:
    """A peer's name of an event, as errors and logs show it: what does not look like one may be anything."""
    return method if re.fullmatch(_METHOD, method) else "an event with an odd name"


def shown_type(target_type: str) -> str:
    """A peer's type of a target, likewise."""
    return target_type if re.fullmatch(_TYPE, target_type) else "target"


def shown_id(identifier: str | None) -> str:
    """A peer's id, likewise: its first eight characters."""
    if not identifier:
        return "(root)" if identifier is None else "(none)"
    return identifier[:8] if re.fullmatch(_ID_BEGINS, identifier[:8]) else "(odd)"
