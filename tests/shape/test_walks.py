"""The two walks of docs/architecture.md: the files that one event and one call pass, in order.

The bounds are measured figures; lower them when a change shortens a walk.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from support.walks import Walk, walk_of_a_dialog, walk_of_an_evaluation

GUIDE = Path(__file__).parents[2] / "docs" / "architecture.md"
MOST_FILES = {"dialog": 19, "evaluate": 18}
MOST_CHANGES = {"dialog": 31, "evaluate": 45}


@pytest.fixture(scope="module")
def walks() -> dict[str, Walk]:
    """Both walks, measured once."""
    return {"dialog": walk_of_a_dialog(), "evaluate": walk_of_an_evaluation()}


@pytest.mark.parametrize("name", MOST_FILES)
def test_a_walk_does_not_become_longer(walks: dict[str, Walk], name: str) -> None:
    walk = walks[name]
    print(f"{name}: {walk}")  # noqa: T201 - shown by `pytest -rP`
    assert len(walk.files) <= MOST_FILES[name], walk.files
    assert walk.changes <= MOST_CHANGES[name], str(walk)


@pytest.mark.parametrize("name", MOST_FILES)
def test_the_guide_shows_every_file_of_a_walk(walks: dict[str, Walk], name: str) -> None:
    text = GUIDE.read_text()
    begin = text.index({"dialog": "## Walk 1", "evaluate": "## Walk 2"}[name])
    section = text[begin : text.index("\n## ", begin + 1)]
    assert [file for file in walks[name].files if f"`{file}`" not in section] == []
