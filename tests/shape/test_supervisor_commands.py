"""`python -m cdp_supervisor demo` and `watch ADDRESS`, run as commands."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from cdp_core.testing import FakeBrowser, start_fake_browser
from cdp_core.testing.steps import AddFrame, Dialog
from cdp_supervisor.demo import run_demo

ROOT = Path(__file__).parents[2]
PRINTED_IN_ORDER = (
    r"frame \w{8}  https://pay\.example/form  \(its own process\)",
    r"· page \w{8}: prompt d-1 opened",
    r"A dialog stops this page \(d-1\)",
    r"dialog d-1 closed by agent \(answered\)",
    r"come back with 'paid'",
    r"the link is cut while the dialog is open",
    r"· link down \(broken\), generation 1",
    r"· link up, generation 2",
    r"d-2 \(prompt\) is open on it, and cannot be answered any more \(orphaned\)",
    r"dialog d-2 was closed by remote \(navigation\)",
    r"left behind: nothing\.",
)


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "cdp_supervisor", *arguments]


def assert_printed(text: str) -> None:
    place = 0
    for pattern in PRINTED_IN_ORDER:
        found = re.compile(pattern).search(text, place)
        assert found is not None, f"{pattern} is missing at this place:\n{text}"
        place = found.end()


def test_the_demo_prints_its_steps_in_order() -> None:
    ran = subprocess.run(command("demo"), cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert_printed(ran.stdout)


def test_the_demo_prints_the_same_in_any_task_order_within_ten_seconds() -> None:
    lines: list[str] = []

    async def duration() -> float:
        begun = trio.current_time()
        await run_demo(lines.append)
        return trio.current_time() - begun

    for _run in range(5):
        lines.clear()
        assert trio.run(duration, clock=MockClock(autojump_threshold=0)) < 8
        assert_printed("\n".join(lines))


@pytest.mark.parametrize("answer", [[], ["--answer"]])
def test_watch_prints_changes_until_it_is_interrupted(answer: list[str]) -> None:
    with start_fake_browser(FakeBrowser()) as endpoint:
        watching = subprocess.Popen(
            command("watch", endpoint.http_url, *answer),
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        try:
            assert watching.stdout is not None
            lines = [watching.stdout.readline()]  # it has started: later events are printed
            endpoint.fake.play(AddFrame("pay", "https://pay.example/"), Dialog("confirm", "Sure?"))
            while lines[-1] and "confirm d-1 opened" not in lines[-1]:
                lines.append(watching.stdout.readline())
            watching.send_signal(signal.SIGINT)
            rest, errors = watching.communicate(timeout=20)
        finally:
            watching.kill()
            watching.communicate()
        assert watching.returncode == 0, errors
    text = "".join(lines) + rest
    assert re.match(r"page \w{8}  about:blank  1 frames  ok\n", text)
    assert re.search(r"· page \w{8}: frame \w{8} was added", text)
    assert "Sure?" not in text
    assert "Traceback" not in errors


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("http://127.0.0.1:9", "127.0.0.1:9"),
        ("/nowhere/DevToolsActivePort", "DevToolsActivePort"),
        ("ftp://127.0.0.1", "begins with ws://"),
    ],
)
def test_a_bad_address_is_reported_with_its_reason(address: str, reason: str) -> None:
    ran = subprocess.run(command("watch", address), cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 1
    assert ran.stderr.startswith("cdp_supervisor: ")
    assert reason in ran.stderr
    assert "Traceback" not in ran.stderr
    assert ran.stdout == ""
