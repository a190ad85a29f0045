"""Both type checkers see what `tests/typing_samples` says, and would see it if that changed."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "tests" / "typing_samples"
SAMPLE = SAMPLES / "sessions.py"
TYPES_GONE_WRONG = [
    ("assert_type(await page.send(typed), str)", "assert_type(await page.send(typed), int)"),
    ("Subscription[Event | Missed])", "Subscription[Event])"),
    ('page.subscribe("Page.x")  # type: ignore[call-overload]', 'page.subscribe("Page.x")'),
    ('page.send("Page.enable"), Json)', 'page.send("Page.enable"), Json)  # type: ignore[call-overload]'),
]


def mypy(*paths: Path) -> subprocess.CompletedProcess[str]:
    return checked("mypy", "--no-pretty", "--no-error-summary", "--hide-error-context", *map(str, paths))


def pyright(*paths: Path) -> subprocess.CompletedProcess[str]:
    return checked("pyright", "--pythonpath", sys.executable, *map(str, paths))


def checked(module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed")
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)


Checker = Callable[..., subprocess.CompletedProcess[str]]


@pytest.mark.parametrize("checker", [mypy, pyright])
def test_the_samples_hold_and_the_checkers_look(checker: Checker, tmp_path: Path) -> None:
    """One run over the samples and a spoilt copy: each spoilt line is found, and nothing else."""
    spoilt = tmp_path / "spoilt.py"
    text = SAMPLE.read_text()
    wrong: set[int] = set()
    for right, changed in TYPES_GONE_WRONG:
        assert text.count(right) == 1, right
        wrong.add(text[: text.index(right)].count("\n") + 1)
        text = text.replace(right, changed)
    spoilt.write_text(text)
    ran = checker(*sorted(SAMPLES.glob("*.py")), spoilt)
    said = ran.stdout + ran.stderr
    assert ran.returncode == 1, said
    found = re.findall(r"^\s*(\S+\.py):(\d+)(?::\d+)?(?: -|:) error", said, re.MULTILINE)
    assert [path for path, _line in found if not path.endswith(spoilt.name)] == [], said
    assert {int(line) for _path, line in found} == wrong, said


def test_every_overload_has_its_line() -> None:
    """Counted in the source, so that a new overload brings a new line."""
    samples = "".join(path.read_text() for path in SAMPLES.glob("*.py"))
    for method, source in (("subscribe", "session"), ("subscribe_all", "browser_session"), ("expect", "session")):
        overloads = re.findall(
            rf"@overload\n    (?:async )?def {method}\(", (ROOT / "cdp_core" / f"{source}.py").read_text()
        )
        lines = re.findall(rf"assert_type\(\s*\w+\.{method}\(", samples)
        assert 2 <= len(overloads) <= len(lines), method
