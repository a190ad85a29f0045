"""Fixtures for conformance scenarios (`support/comparison`) against Chromium and headless-shell."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from support.comparison.deviations import KNOWN_DEVIATIONS, judge
from support.comparison.performing import Received, run_real
from support.comparison.scenario import Scenario
from support.comparison.site import Site, served_site


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        why = KNOWN_DEVIATIONS.get(item.name)
        if why is not None and "conformance" in item.nodeid:
            item.add_marker(pytest.mark.xfail(reason=why, strict=True))


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    """The pages of the scenarios."""
    with served_site() as served:
        yield served


@pytest.fixture
async def scenario(request: pytest.FixtureRequest, shared_chromium: Any, launch: Any, site: Site) -> Scenario:
    """An empty scenario with the test's name; the first two runs share one browser."""

    async def run(scenario: Scenario, number: int) -> Received:
        with contextlib.nullcontext(shared_chromium) if number < 2 else launch() as chromium:
            return await run_real(scenario, chromium.url, site, number)

    return Scenario(request.node.name, lambda scenario: judge(scenario, site, run))


@pytest.fixture
async def last_scenario(request: pytest.FixtureRequest, launch: Any, site: Site) -> Scenario:
    """A scenario that ends its browser: each run launches its own."""

    async def run(scenario: Scenario, number: int) -> Received:
        with launch() as chromium:
            return await run_real(scenario, chromium.url, site, number)

    return Scenario(request.node.name, lambda scenario: judge(scenario, site, run))


@pytest.fixture(scope="module")
def shared_shell(shell: str, launch: Any) -> Iterator[Any]:
    with launch(program=shell) as browser:
        yield browser


@pytest.fixture
async def shell_scenario(
    request: pytest.FixtureRequest, shell: str, shared_shell: Any, launch: Any, site: Site
) -> Scenario:
    """A scenario for headless-shell, and for a fake with that profile."""

    async def run(scenario: Scenario, number: int) -> Received:
        with contextlib.nullcontext(shared_shell) if number < 2 else launch(program=shell) as browser:
            return await run_real(scenario, browser.url, site, number)

    return Scenario(request.node.name, lambda scenario: judge(scenario, site, run, "headless-shell"))


@pytest.fixture
async def last_shell_scenario(request: pytest.FixtureRequest, shell: str, launch: Any, site: Site) -> Scenario:
    """A scenario after which headless-shell ends if the page is closed: each run launches its own."""

    async def run(scenario: Scenario, number: int) -> Received:
        with launch(program=shell) as browser:
            return await run_real(scenario, browser.url, site, number)

    return Scenario(request.node.name, lambda scenario: judge(scenario, site, run, "headless-shell"))
