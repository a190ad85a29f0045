"""What the tests of the typed bindings share: each domain of the protocol, and a drift that begins at zero.

A property that needs more than a choice draws its chance: `@given(chance)`. `support/protocol_values.py` has the values.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import settings

from cdp_core.bindings import forget_drift
from support import protocol_values


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that wants `domain` is run for each."""
    if "domain" in metafunc.fixturenames:
        names = sorted({item.domain.name for item in protocol_values.ITEMS})
        metafunc.parametrize("domain", [protocol_values.domain(name) for name in names], ids=names)


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
