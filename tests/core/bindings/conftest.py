"""Fixtures of the bindings tests: each domain of the protocol, and drift counts that start at zero.

A property that needs more randomness than a choice draws a `random.Random` named `chance`; `support/protocol_values.py`
makes the values.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import settings

from cdp_core.bindings import forget_drift
from support import protocol_values


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test with the argument `domain` once for each domain."""
    if "domain" in metafunc.fixturenames:
        names = sorted({item.domain.name for item in protocol_values.ITEMS})
        metafunc.parametrize("domain", [protocol_values.domain(name) for name in names], ids=names)


@pytest.fixture(scope="session")
def rounds() -> int:
    """Return how many variants a sweep tests of each item; it grows with the Hypothesis profile."""
    return max(1, settings().max_examples // 50)


@pytest.fixture(autouse=True, scope="module")
def drift_starts_at_zero() -> Iterator[None]:
    """Clear the drift counts around each module; a test that counts clears them itself first."""
    forget_drift()
    yield
    forget_drift()
