"""Looks up the classes that a module itself defines."""

from __future__ import annotations

from types import ModuleType


def classes_of(module: ModuleType) -> set[type]:
    """Return the public classes that a module defines, without those that it imports."""
    return {
        value
        for name, value in vars(module).items()
        if isinstance(value, type) and value.__module__ == module.__name__ and not name.startswith("_")
    }
