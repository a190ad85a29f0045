"""What the tests of the kit share: the modules beside them that are no tests, each as a fixture of its name.

Test modules cannot import each other (importlib mode), and Hypothesis wants fixtures of a wide scope.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from random import Random
from types import ModuleType

import pytest

os.environ.setdefault("CDP_HUNT_SEED", str(Random().randrange(1, 2**32)))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Hunts see other examples each time; with this the same ones come again."""
    terminalreporter.write_line(f"CDP_HUNT_SEED={os.environ['CDP_HUNT_SEED']}")


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
def naive_client() -> ModuleType:
    """naive_client.py."""
    return load("naive_client")


@pytest.fixture(scope="session")
def small_clients() -> ModuleType:
    """small_clients.py."""
    return load("small_clients")
