"""What the tests of the typed bindings share: strategies.py, as the fixture `protocol`, and a drift that begins at zero.

Test modules cannot import each other (importlib mode), and Hypothesis wants fixtures of a wide scope: so there is one of
the whole session, and a property that needs more than a choice draws its chance: `@given(chance)`.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import settings

from cdp_core.bindings import forget_drift

NAME = "bindings_strategies"


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location(NAME, Path(__file__).with_name("strategies.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[NAME] = module
    spec.loader.exec_module(module)
    return module


STRATEGIES = load()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that wants `domain` is run for each."""
    if "domain" in metafunc.fixturenames:
        names = sorted({item.domain.name for item in STRATEGIES.ITEMS})
        metafunc.parametrize("domain", [STRATEGIES.domain(name) for name in names], ids=names)


@pytest.fixture(scope="session")
def protocol() -> ModuleType:
    """strategies.py."""
    return STRATEGIES


@pytest.fixture(scope="session")
def rounds() -> int:
    """How often a sweep over all items looks at each: it grows with the profile, as the examples do."""
    return max(1, settings().max_examples // 50)


@pytest.fixture(autouse=True, scope="module")
def drift_is_forgotten() -> Iterator[None]:
    """One module's drift is none of the next one's. A test that counts forgets before it begins."""
    forget_drift()
    yield
    forget_drift()
