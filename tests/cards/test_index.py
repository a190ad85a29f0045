"""The cards are in order, and `tools/index_cards.py --check` reports each disorder."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CARD = "docs/cdp/messages-can-hold-lone-surrogates.md"
INDEX = "docs/cdp/INDEX.md"
WIRE = "cdp_core/sansio/messages.py"


def index_cards(root: Path, *arguments: str) -> tuple[int, str]:
    command = [sys.executable, str(ROOT / "tools" / "index_cards.py"), "--root", str(root), *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert not ran.stdout
    return ran.returncode, ran.stderr


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the files that the cards depend on."""
    for folder in ("cdp_core", "cdp_supervisor", "docs"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in ("tests", "tools"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    return tmp_path


def test_the_cards_are_in_order() -> None:
    assert index_cards(ROOT, "--check") == (0, "")


def replaced(old: str, new: str) -> Callable[[str], str]:
    def change(text: str) -> str:
        assert old in text
        return text.replace(old, new)

    return change


@pytest.mark.parametrize(
    ("path", "change", "complaint"),
    [
        (CARD, replaced("# Messages can hold lone surrogates", "# They arrive"), "does not make the file's name"),
        (CARD, replaced("## Source\n", "\n" * 60 + "## Source\n"), "a card has 25 to 60"),
        (CARD, lambda text: "\n".join(text.splitlines()[:20]), "a card has 25 to 60"),
        (CARD, replaced("## Why it bites\n", ""), "its sections are not"),
        (CARD, replaced("## Claim\n", "## Claim\n\n## Claim\n"), "its sections are not"),
        (CARD, lambda text: text.rpartition("## Source\n")[0] + "## Source\n", "a section is empty"),
        (CARD, replaced("```python\n", "```text\n"), "its evidence is not"),
        (CARD, replaced("```python chromium\n", "```python\n"), "its evidence is not"),
        (
            CARD,
            replaced("](../../cdp_core/sansio/messages.py)", "](../../tests/traces/wire_ids.md)"),
            "no file of the code",
        ),
        (CARD, replaced("](../../cdp_core/sansio/messages.py)", "](../../cdp_core/sansio/wires.py)"), "a dead link to"),
        (INDEX, replaced("](../../tests/cards/conftest.py)", "](conftest.py)"), "a dead link to"),
        (
            INDEX,
            replaced("* [Messages can hold lone surrogates](messages-can-hold-lone-surrogates.md)\n", ""),
            "the list is not",
        ),
        (
            WIRE,
            replaced("docs/cdp/messages-can-hold-lone-surrogates.md", ""),
            "messages-can-hold-lone-surrogates.md: no code cites it",
        ),
        (WIRE, lambda text: text + "# docs/cdp/no-such-card.md\n", "cites no-such-card"),
    ],
)
def test_disorder_is_reported(copied: Path, path: str, change: Callable[[str], str], complaint: str) -> None:
    file = copied / path
    before = file.read_text()
    file.write_text(change(before))
    code, printed = index_cards(copied, "--check")
    assert code == 1
    assert complaint in printed
    assert file.read_text() == change(before)  # a check writes nothing


def test_the_list_is_written_between_its_markers(copied: Path) -> None:
    file = copied / INDEX
    right = file.read_text()
    file.write_text(right.replace("Messages can hold lone surrogates", "An old title"))
    assert index_cards(copied) == (0, "")
    assert file.read_text() == right
