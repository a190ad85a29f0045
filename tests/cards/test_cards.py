"""Every fenced block of every card holds: one test per block, named by its card."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from types import CodeType
from typing import Any

import pytest
from sybil import Example

ROOT = Path(__file__).parents[2]


def test_block(block: Example, request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("chromium") is not None:
        block.namespace["chromium_url"] = request.getfixturevalue("chromium_url")
    block.evaluate()


def test_the_blocks_of_the_readme_are_python(compile_blocks: Callable[[Path], list[CodeType]]) -> None:
    codes = compile_blocks(ROOT / "README.md")
    assert codes
    assert not any(
        code.co_flags & inspect.CO_COROUTINE for code in codes
    )  # a reader pastes it into a file, so it must not await


def test_the_blocks_of_the_testing_guide_run(compile_blocks: Callable[[Path], list[CodeType]]) -> None:
    codes = compile_blocks(ROOT / "docs" / "testing.md")
    assert len(codes) == 7
    for code in codes:
        if "pytest" not in code.co_names:  # blocks with tests are run by tests/testing/test_plugin.py
            exec(code, {"__name__": "guide"})


@pytest.mark.parametrize("guide", ["embedding", "extending", "recording"])
def test_the_blocks_of_a_guide_compile(compile_blocks: Callable[[Path], list[CodeType]], guide: str) -> None:
    assert compile_blocks(ROOT / "docs" / f"{guide}.md")


def test_the_extension_of_the_guide_works(
    compile_blocks: Callable[[Path], list[CodeType]], capsys: pytest.CaptureFixture[str]
) -> None:
    namespace: dict[str, Any] = {"__name__": "guide"}
    for block in compile_blocks(ROOT / "docs" / "extending.md"):
        exec(block, namespace)
    shown, answer, last = capsys.readouterr().out.splitlines()
    assert shown.endswith(": 1}, 'marked': 1}")
    assert answer == "{'blocked': 1}"
    assert last == "['Fetch.failRequest', 'Fetch.disable', 'Target.setAutoAttach']"
