"""The mapping of protocol names to Python names, used by the generator, the lazy modules and `diff`.

`frameId` becomes `frame_id`, `loadEventFired` the class `LoadEventFired`, the enumeration's member `cache-storage`
`CACHE_STORAGE`, the domain `DOMSnapshot` the module `dom_snapshot`. A name that Python or `Value` reserves gets a
trailing underscore. A remaining collision stops the generator, so these functions need no table of names.
"""

from __future__ import annotations

import keyword
import re

RESERVED = frozenset(
    (*keyword.kwlist, "self", "extra", "nulls", "spec", "str", "int", "float", "bool", "tuple", "dict")
)
"""`extra`, `nulls` and `spec` belong to every value besides its fields, and stubs use the names of the types."""

_PLURALS = re.compile(r"(ID|URL|API)s(?![a-z])")
_BORDERS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def snake(name: str) -> str:
    """Convert to snake case: `outerHTML` to `outer_html`, `targetIDs` to `target_ids`."""
    return _BORDERS.sub("_", _PLURALS.sub(lambda plural: plural[1].capitalize() + "s", name)).lower()


def field_name(name: str) -> str:
    """Return the Python name of a field, parameter, command or module."""
    plain = snake(name)
    return plain + "_" if plain in RESERVED else plain


def class_name(name: str) -> str:
    return name[:1].upper() + name[1:]


def result_name(command: str) -> str:
    return class_name(command) + "Result"


def enum_name(owner: str, field: str) -> str:
    """Return the class name of an enumeration without a name in the protocol."""
    return class_name(owner) + class_name(field)


def member_name(value: str) -> str:
    """Return the Python name of an enumeration's member."""
    plain = re.sub(r"[^A-Za-z0-9]+", "_", snake(value)).strip("_").upper()
    if value.startswith("-"):
        plain = "MINUS_" + plain
    return plain if plain[:1].isalpha() else "_" + plain
