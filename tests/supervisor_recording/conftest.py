"""What the tests of recording share: `recorded_run.py`, as a fixture of its name (test modules cannot import each other)."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

NAME = "recorded_run"


@pytest.fixture(scope="session")
def recorded_run() -> ModuleType:
    """recorded_run.py."""
    if NAME not in sys.modules:
        spec = importlib.util.spec_from_file_location(NAME, Path(__file__).with_name(f"{NAME}.py"))
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[NAME] = module
        spec.loader.exec_module(module)
    return sys.modules[NAME]
