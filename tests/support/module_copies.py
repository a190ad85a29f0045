"""Fresh copies of test modules, which a test may change without changing the originals."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType


def copy_of(path: Path) -> ModuleType:
    """Return a new module from this file, without an entry in `sys.modules`."""
    spec = importlib.util.spec_from_file_location(f"copy_of_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made
