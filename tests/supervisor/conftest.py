"""What the tests of the supervisor share: the modules beside them that are no tests, each as a fixture of its name.

Test modules cannot import each other (importlib mode), and Hypothesis wants fixtures of a wide scope.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest


def load(name: str) -> ModuleType:
    """A module of this folder; the same one for all who ask."""
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


@pytest.fixture(scope="session")
def pure_run() -> ModuleType:
    """pure_run.py."""
    return load("pure_run")


@pytest.fixture(scope="session")
def scenarios() -> ModuleType:
    """scenarios.py."""
    return load("scenarios")
