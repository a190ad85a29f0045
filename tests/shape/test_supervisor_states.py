"""The card of a dialog's phases is drawn from the code; `draw_states.py --check` finds a stale one."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CARD = Path("docs/cdp/a-dialog-has-five-phases-and-one-end.md")


def draw_states(root: Path, *arguments: str) -> tuple[int, str]:
    command = [sys.executable, str(ROOT / "tools" / "draw_states.py"), "--root", str(root), *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    return ran.returncode, ran.stderr


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    (tmp_path / CARD).parent.mkdir(parents=True)
    shutil.copy(ROOT / CARD, tmp_path / CARD)
    return tmp_path


def test_the_card_is_up_to_date() -> None:
    assert draw_states(ROOT, "--check") == (0, "")


@pytest.mark.parametrize("old", ["open --> answering", "| closed | remote: elsewhere |"])
def test_a_stale_card_is_found_and_drawn_anew(copied: Path, old: str) -> None:
    right = (copied / CARD).read_text()
    assert old in right
    wrong = right.replace(old, "something else")
    (copied / CARD).write_text(wrong)
    code, printed = draw_states(copied, "--check")
    assert code == 1
    assert "run tools/draw_states.py" in printed
    assert (copied / CARD).read_text() == wrong  # a check writes nothing
    assert draw_states(copied) == (0, "")
    assert (copied / CARD).read_text() == right
