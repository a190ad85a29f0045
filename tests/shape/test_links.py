"""Every link and every mentioned path leads to a file of the repository.

Checked are the relative links of the Markdown files, and every path that begins with a folder of the repository, in
documents and in code. A path with a placeholder (`test_<module>.py`) must match a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("cdp_core", "cdp_supervisor", "docs", "examples", "tests", "tools")
DOCUMENTS = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").rglob("*.md"),
    ROOT / "tests" / "README.md",
    ROOT / "tools" / "bench" / "README.md",
]
CODE = [
    *(path for path in map(ROOT.joinpath, ("pyproject.toml", "noxfile.py", ".ci/run")) if path.exists()),
    *(path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))),
]
EXEMPT = ("CHANGELOG.md", "test_index.py", "test_links.py")
"""They name files that do not exist any more, or that must not exist."""
NOT_HERE = frozenset(
    (
        "tools/bench/results/",  # made by a run of the benchmark
        "tools/gen_bindings",  # the start of a regular expression in tests/shape/test_house_style.py
        "cdp_core/bindings/{module}.py",  # an f-string there
    )
)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
PATH = re.compile(rf"(?<![\w./-])(?:{'|'.join(FOLDERS)})/[\w./<>{{}},*-]*[\w>}}/*]")
ALTERNATIVES = re.compile(r"\{([^{}]*)\}")


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def dead_links(text: str, folder: Path) -> list[str]:
    """The relative links of a Markdown text that lead nowhere."""
    targets = [target.partition("#")[0] for target in LINK.findall(FENCE.sub("", text)) if "://" not in target]
    return [target for target in targets if target and not (folder / target).exists()]


def dead_paths(text: str) -> list[str]:
    """The mentioned paths that match no file and no folder."""
    return [
        path for path in dict.fromkeys(PATH.findall(text)) if path not in NOT_HERE and not all(map(found, of(path)))
    ]


def of(path: str) -> Iterator[str]:
    """The paths that a path with `{one,other}` stands for."""
    match = ALTERNATIVES.search(path)
    if match is None:
        yield path
        return
    for alternative in match.group(1).split(","):
        yield from of(path[: match.start()] + alternative + path[match.end() :])


def found(path: str) -> bool:
    pattern = re.sub(r"<[^>]*>", "*", path).rstrip("/")
    return any(ROOT.glob(pattern)) if "*" in pattern else (ROOT / pattern).exists()


@pytest.mark.parametrize("path", DOCUMENTS, ids=map(name_of, DOCUMENTS))
def test_every_link_of_a_document_leads_to_a_file(path: Path) -> None:
    assert dead_links(path.read_text(), path.parent) == []


@pytest.mark.parametrize("path", [*DOCUMENTS, *CODE], ids=map(name_of, [*DOCUMENTS, *CODE]))
def test_every_mentioned_path_exists(path: Path) -> None:
    if path.name not in EXEMPT:
        assert dead_paths(path.read_text()) == []


@pytest.mark.parametrize(
    ("text", "dead"),
    [
        ("[here](docs/glossary.md) [there](docs/glossary.md#states) [web](https://trio.readthedocs.io)", []),
        ("[here](docs/glosary.md)", ["docs/glosary.md"]),
        ("```\n[sample](no-such-file.md)\n```", []),
    ],
)
def test_a_dead_link_is_found(text: str, dead: list[str]) -> None:
    assert dead_links(text, ROOT) == dead


@pytest.mark.parametrize(
    ("text", "dead"),
    [
        ("see `cdp_core/sansio/router.py` and tests/shape/.", []),
        ("(cdp_core/sansio/wire.py).", ["cdp_core/sansio/wire.py"]),
        ("tests/sansio/test_<module>.py", ["tests/sansio/test_<module>.py"]),
        ("tests/core/sansio/test_<module>.py, cdp_core/*/__init__.py", []),
        ("cdp_supervisor/{opening,supervisor}.py", []),
        ("cdp_supervisor/{opening,feeding}.py", ["cdp_supervisor/{opening,feeding}.py"]),
        ("https://example.com/docs/missing.md, my_tests/missing.py", []),
    ],
)
def test_a_dead_path_is_found(text: str, dead: list[str]) -> None:
    assert dead_paths(text) == dead
