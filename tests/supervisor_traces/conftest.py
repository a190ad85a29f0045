"""Loads the modules of this folder, which test modules cannot import (importlib mode), and prints what is an exception.

`following.py` feeds a machine from a recorded trace, `hearing.py` keeps naively what a connection was told, `judging.py`
compares what the machine shows with the truth in the notes (`judging_dialogs.py`, `judging_frames.py`; `words.py` reads
theirs), `falsifying.py` makes that truth false, `consistency.py` is what holds after every record. The observer of each
link is that of `replay/test_traces.py`.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

TESTS = Path(__file__).parents[1]
TRACES = TESTS / "traces"


def load(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


load("trace_observer", TESTS / "replay" / "test_traces.py")
FOLLOWING = load("trace_following", Path(__file__).with_name("following.py"))
load("trace_hearing", Path(__file__).with_name("hearing.py"))
WORDS = load("trace_words", Path(__file__).with_name("words.py"))
load("trace_judging_dialogs", Path(__file__).with_name("judging_dialogs.py"))
FRAMES = load("trace_judging_frames", Path(__file__).with_name("judging_frames.py"))
CONSISTENCY = load("trace_consistency", Path(__file__).with_name("consistency.py"))
JUDGING = load("trace_judging", Path(__file__).with_name("judging.py"))
FALSIFYING = load("trace_falsifying", Path(__file__).with_name("falsifying.py"))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that wants a `trace` is run for each."""
    if "trace" in metafunc.fixturenames:
        paths = sorted(TRACES.glob("*.jsonl"))
        metafunc.parametrize("trace", paths, ids=[path.stem for path in paths])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if JUDGING.EXCEPTIONS:
        terminalreporter.section("what recorded traces tell otherwise than the machine, and why")
        for (name, part), why in sorted(JUDGING.EXCEPTIONS.items()):
            terminalreporter.write_line(f"{name}, {part}: {why}")


@pytest.fixture(scope="session")
def following() -> ModuleType:
    """following.py."""
    return FOLLOWING


@pytest.fixture(scope="session")
def consistency() -> ModuleType:
    """consistency.py."""
    return CONSISTENCY


@pytest.fixture(scope="session")
def judging() -> ModuleType:
    """judging.py."""
    return JUDGING


@pytest.fixture(scope="session")
def falsifying() -> ModuleType:
    """falsifying.py."""
    return FALSIFYING


@pytest.fixture(scope="session")
def words() -> ModuleType:
    """words.py."""
    return WORDS


@pytest.fixture(scope="session")
def judging_frames() -> ModuleType:
    """judging_frames.py."""
    return FRAMES
