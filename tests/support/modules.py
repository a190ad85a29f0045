"""What tests of value classes share: the classes of a module, and the fields that a class needs."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

import pytest


def classes_of(module: ModuleType) -> set[type]:
    """Return the public classes that a module defines, without those that it imports."""
    return {
        value
        for name, value in vars(module).items()
        if isinstance(value, type) and value.__module__ == module.__name__ and not name.startswith("_")
    }


def assert_required(kind: type, given: Mapping[str, Any], *names: str) -> None:
    """Assert that a class needs these of the given fields (default: all of them)."""
    for name in names or given:
        with pytest.raises(TypeError):
            kind(**{field: value for field, value in given.items() if field != name})
