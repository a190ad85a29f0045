"""What a module defines itself."""

from __future__ import annotations

from types import ModuleType


def classes_of(module: ModuleType) -> set[type]:
    """The public classes that are defined in a module, without those that it imports."""
    return {
        value
        for name, value in vars(module).items()
        if isinstance(value, type) and value.__module__ == module.__name__ and not name.startswith("_")
    }
