"""Both type checkers agree with `tests/typing_samples`, and would report a change of the types."""

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
TYPES_GONE_WRONG = {
    "sessions.py": [
        ("assert_type(await page.send(typed), str)", "assert_type(await page.send(typed), int)"),
        ("Subscription[Event | Missed])", "Subscription[Event])"),
        ('page.subscribe("Page.x")  # type: ignore[call-overload]', 'page.subscribe("Page.x")'),
        ('page.send("Page.enable"), Json)', 'page.send("Page.enable"), Json)  # type: ignore[call-overload]'),
    ],
    "supervisor.py": [
        ('supervisor.call(page.navigate(url="about:blank")), page.NavigateResult)', 'supervisor.call("Page.x"), str)'),
        ("Subscription[DialogOpened | Missed])", "Subscription[DialogOpened])"),
        ("    await supervisor.call(42)  # type: ignore[call-overload]", "    await supervisor.call(42)"),
        ("supervisor.health(), Health)", "supervisor.health(), Health)  # type: ignore[call-overload]"),
    ],
    "bindings.py": [
        ("PendingReply[None])", "PendingReply[page.NavigateResult])"),
        ("await session.send(page.enable()), None)", "await session.send(page.enable()), Json)"),
        ("Expectation[page.LoadEventFired])", "Expectation[page.FrameNavigated])"),
        ("assert_type(info.target_id, TargetId)", "assert_type(info.target_id, str)"),
        ("assert_type(document.children, tuple[dom.Node, ...] | None)", "assert_type(document.children, Any)"),
        ("from_json(page.Frame, raw), page.Frame)", "from_json(page.Frame, raw), Any)"),
        ("    page.navigate(url=7)  # type: ignore[arg-type]", "    page.navigate(url=7)"),
        ("    page.navigate()  # type: ignore[call-arg]", "    page.navigate()"),
        ("frame_id=text)  # type: ignore[arg-type]", "frame_id=text)"),
        ("_unknown = sent.requestId  # type: ignore[attr-defined]", "_unknown = sent.requestId"),
        ("page.navigate(url=text, frame_id=None)", "page.navigate(url=text, frame_id=None)  # type: ignore[arg-type]"),
    ],
}


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
def test_the_samples_pass_and_each_spoilt_line_is_reported(checker: Checker, tmp_path: Path) -> None:
    """One run over the samples and a spoilt copy of each: every spoilt line is reported, and nothing else."""
    samples = sorted(SAMPLES.glob("*.py"))
    assert [sample.name for sample in samples] == sorted(TYPES_GONE_WRONG)
    wrong: set[tuple[str, int]] = set()
    for sample in samples:
        spoilt, text = tmp_path / f"spoilt_{sample.name}", sample.read_text()
        for right, changed in TYPES_GONE_WRONG[sample.name]:
            assert text.count(right) == 1, right
            wrong.add((spoilt.name, text[: text.index(right)].count("\n") + 1))
            text = text.replace(right, changed)
        spoilt.write_text(text)
    ran = checker(*samples, *tmp_path.glob("*.py"))
    printed = ran.stdout + ran.stderr
    assert ran.returncode == 1, printed
    found = re.findall(r"^\s*(\S+\.py):(\d+)(?::\d+)?(?: -|:) error", printed, re.MULTILINE)
    assert {(Path(path).name, int(line)) for path, line in found} == wrong, printed


def test_every_overload_has_a_sample_line() -> None:
    """Counted in the source, so that a new overload needs a new line."""
    samples = "".join(path.read_text() for path in SAMPLES.glob("*.py"))
    for method, source in (
        ("subscribe", "session"),
        ("subscribe_latest", "session"),
        ("subscribe_all", "browser_session"),
        ("subscribe_all_latest", "browser_session"),
        ("expect", "session"),
    ):
        overloads = re.findall(
            rf"@overload\n    (?:async )?def {method}\(", (ROOT / "cdp_core" / f"{source}.py").read_text()
        )
        lines = re.findall(rf"assert_type\(\s*\w+\.{method}\(", samples)
        assert 2 <= len(overloads) <= len(lines), method
