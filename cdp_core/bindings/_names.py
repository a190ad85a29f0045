"""Names of the protocol as names of Python: one rule each, used by the generator, by the lazy modules and by `diff`.

`frameId` becomes `frame_id`, `loadEventFired` the class `LoadEventFired`, the enumeration's member `cache-storage`
`CACHE_STORAGE`, the domain `DOMSnapshot` the module `dom_snapshot`. A name that Python or `Value` needs for itself gets
an underscore at its end. Whatever would still collide stops the generator, so here no name is ever looked up.
"""

from __future__ import annotations

import keyword
import re

RESERVED = frozenset(
    (*keyword.kwlist, "self", "extra", "nulls", "spec", "str", "int", "float", "bool", "tuple", "dict")
)
"""`extra`, `nulls` and `spec` are what a value has besides its fields, and the types are what stubs write."""

_PLURALS = re.compile(r"(ID|URL|API)s(?![a-z])")
_BORDERS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def snake(name: str) -> str:
    """`outerHTML` as `outer_html`, `targetIDs` as `target_ids`."""
    return _BORDERS.sub("_", _PLURALS.sub(lambda plural: plural[1].capitalize() + "s", name)).lower()


def field_name(name: str) -> str:
    """A field, parameter, command or module."""
    plain = snake(name)
    return plain + "_" if plain in RESERVED else plain


def class_name(name: str) -> str:
    """An event's class."""
    return name[:1].upper() + name[1:]


def result_name(command: str) -> str:
    """The class of what a command brings."""
    return class_name(command) + "Result"


def enum_name(owner: str, field: str) -> str:
    """The class of an enumeration that has no name in the protocol."""
    return class_name(owner) + class_name(field)


def member_name(value: str) -> str:
    """A member of an enumeration."""
    plain = re.sub(r"[^A-Za-z0-9]+", "_", snake(value)).strip("_").upper()
    if value.startswith("-"):
        plain = "MINUS_" + plain
    return plain if plain[:1].isalpha() else "_" + plain
