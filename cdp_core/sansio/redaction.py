"""Words of the peer in errors and logs, checked and cut.

Names of events, types of targets and ids are chosen by the browser or a page, so they can hold any text. Each is shown
only if it has the usual form, and replaced otherwise.
"""

from __future__ import annotations

import re

_METHOD = r"(?=.{3,64}\Z)[A-Za-z][A-Za-z0-9]*\.[A-Za-z][A-Za-z0-9]*"
_TYPE = r"[a-z][a-z_]{0,31}"
_NAME = r"[A-Za-z_][A-Za-z0-9_]{0,63}"
_ID_BEGINS = r"[A-Za-z0-9._-]{1,8}"


def shown_method(method: str) -> str:
    """Return an event's name for errors and logs, or a substitute if it does not look like a name."""
    return method if re.fullmatch(_METHOD, method) else "an event with an odd name"


def shown_type(target_type: str) -> str:
    """Return a target's type for errors and logs, or a substitute if it does not look like a type."""
    return target_type if re.fullmatch(_TYPE, target_type) else "target"


def shown_id(identifier: str | None) -> str:
    """Return the first eight characters of an id for errors and logs, or a substitute."""
    if not identifier:
        return "(root)" if identifier is None else "(none)"
    return identifier[:8] if re.fullmatch(_ID_BEGINS, identifier[:8]) else "(odd)"


def shown_name(name: object) -> str:
    """Return the name of a field for errors, or a substitute if it does not look like a name."""
    return name if isinstance(name, str) and re.fullmatch(_NAME, name) else "name"
