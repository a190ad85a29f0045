"""Loads the modules beside it, which test modules cannot import (importlib mode), and lists what is not covered.

`trace_replay.py` is how a trace is replayed on the fake, and compared, by `trace_sides.py` and `trace_twins.py`;
`trace_pages.py` is what the pages of each did.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

TRACES = Path(__file__).parents[2] / "traces"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


load("trace_sides")
load("trace_twins")
REPLAY = load("trace_replay")
PAGES = load("trace_pages")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that wants a `trace` is run for each."""
    if "trace" in metafunc.fixturenames:
        paths = sorted(TRACES.glob("*.jsonl"))
        metafunc.parametrize("trace", paths, ids=[path.stem for path in paths])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.section("recorded traces that the fake does not cover")
    for name, why in sorted(PAGES.NOT_COVERED.items()):
        terminalreporter.write_line(f"{name}: {why}")


@pytest.fixture(scope="session")
def trace_replay() -> ModuleType:
    """trace_replay.py."""
    return REPLAY


@pytest.fixture(scope="session")
def trace_pages() -> ModuleType:
    """trace_pages.py."""
    return PAGES
