"""The size of an installation on disk: upper bounds; the measurements are in tools/bench/README.md."""

from __future__ import annotations

import marshal
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[2]
BOUND = 3_000_000
HEADER = 16
"""Bytes of a bytecode file before its code."""


def installed(*folders: str) -> list[Path]:
    """The files of a wheel."""
    found = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file()]
    return [path for path in found if "__pycache__" not in path.parts]


def size(paths: Iterable[Path]) -> int:
    return sum(path.stat().st_size for path in paths)


def bytecode(paths: Iterable[Path]) -> int:
    code = (compile(path.read_text(), str(path), "exec") for path in paths if path.suffix == ".py")
    return sum(HEADER + len(marshal.dumps(each)) for each in code)


def test_the_bindings_stay_small() -> None:
    """With bytecode, as after their first use."""
    paths = installed("cdp_core/bindings")
    assert len(paths) > 2 * 59
    assert size(paths) + bytecode(paths) <= BOUND


def test_the_whole_wheel_stays_small() -> None:
    paths = installed("cdp_core", "cdp_supervisor")
    assert size([*paths, ROOT / "cdp_core_pytest.py"]) <= BOUND
