"""`python -m cdp_core.testing serve`: its output, its end, and the errors that it prints in one line."""

from __future__ import annotations

import argparse
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import trio

from cdp_core import open_browser_session
from cdp_core.testing import FakeBrowser, Script
from cdp_core.testing.__main__ import main
from cdp_core.testing.schedules import Consume, Schedule
from cdp_core.testing.steps import AddFrame, Navigate

LIMIT = 20.0
ROOT = Path(__file__).parents[2]
ENV = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"} | {"PYTHONPATH": str(ROOT)}
COMMAND = [sys.executable, "-W", "error", "-m", "cdp_core.testing"]


@contextmanager
def served(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run the program; yield it and the first line that it printed."""
    with subprocess.Popen(
        [*COMMAND, "serve", *arguments], env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as program:
        try:
            assert program.stdout is not None
            assert select.select([program.stdout], [], [], LIMIT)[0], "it printed nothing"
            yield program, program.stdout.readline().rstrip("\n")
        finally:
            program.kill()


def end_of(program: subprocess.Popen[str]) -> tuple[int, str, str]:
    printed, errors = program.communicate(timeout=LIMIT)
    return program.returncode, printed, errors


Captured = pytest.CaptureFixture[str]


def run_here(captured: Captured, *arguments: str) -> tuple[object, str, str]:
    """Run the program in this process: a new interpreter for each case would cost a second."""
    try:
        code: object = main([*arguments])
    except SystemExit as ended:
        code = ended.code
    return code, *captured.readouterr()


def run(*arguments: str) -> tuple[int, str, str]:
    ran = subprocess.run(
        [*COMMAND, *arguments],
        env=ENV,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    return ran.returncode, ran.stdout, ran.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_serve_prints_its_address_first_and_ends_cleanly_at_a_signal(number: signal.Signals) -> None:
    with served() as (program, line):
        assert re.fullmatch(r"ws://127\.0\.0\.1:\d+/devtools/browser/[0-9a-f-]{36}", line)
        with socket.create_connection(("127.0.0.1", int(line.split(":")[2].split("/")[0])), LIMIT):
            program.send_signal(number)
            assert end_of(program) == (0, "", "")


def test_a_client_works_and_closes_the_browser() -> None:
    async def work(url: str) -> None:
        with trio.fail_after(LIMIT):
            async with open_browser_session(url) as browser:
                assert (await browser.send("Browser.getVersion"))["product"].startswith("HeadlessChrome/")
                assert len(await browser.targets.list()) == 1
                await browser.send("Browser.close")
                await browser.wait_closed()

    with served("--profile", "headless-shell") as (program, line):
        trio.run(work, line)
        assert end_of(program) == (0, "", "")


def test_a_seed_decides_the_ids_and_a_script_the_pages(tmp_path: Path) -> None:
    script = Script(timeline=(Navigate("http://shop.example/"), AddFrame("ad", "http://ads.example/")))
    file = tmp_path / "script.json"
    file.write_text(json.dumps(script.to_json()))
    with served("--seed", "7", "--script", str(file), "--control") as (program, line):
        assert line.endswith(FakeBrowser(seed=7).path)
        at = line.split("/")[2]
        with urllib.request.urlopen(f"http://{at}/fake/truth", timeout=LIMIT) as answer:
            assert [frame["url"] for frame in json.load(answer)["frames"]] == [
                "http://shop.example/",
                "http://ads.example/",
            ]
        program.terminate()
        assert end_of(program) == (0, "", "")


@pytest.mark.parametrize("how", ["observed", "hostile", "a file"])
def test_schedule_accepts_the_same_words_as_fuzz(how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "schedule.json"
    file.write_text(json.dumps(Schedule((Consume(),), "causal").to_json()))
    served: list[tuple[str, Schedule | None]] = []

    async def record(fake: FakeBrowser, options: argparse.Namespace) -> None:
        served.append((options.order, fake.schedule))

    monkeypatch.setattr("cdp_core.testing.serve_command._serve", record)
    assert main(["serve", "--schedule", str(file) if how == "a file" else how]) == 0
    of_file = ("arising", Schedule((Consume(),), "causal"))
    assert served == [of_file if how == "a file" else (how, None)]


def test_with_control_the_program_continues_after_the_browser_closed() -> None:
    async def close(url: str) -> None:
        with trio.fail_after(LIMIT):
            async with open_browser_session(url) as browser:
                await browser.send("Browser.close")
                await browser.wait_closed()

    with served("--control") as (program, line):
        trio.run(close, line)
        with urllib.request.urlopen(f"http://{line.split('/')[2]}/fake/commands", timeout=LIMIT) as answer:
            assert json.load(answer)[-1]["method"] == "Browser.close"
        program.terminate()
        assert end_of(program) == (0, "", "")


def test_a_port_can_be_chosen_and_is_refused_if_it_is_in_use() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        code, printed, errors = run("serve", "--port", port)
        assert (code, printed) == (2, "")
        assert re.fullmatch(rf"cdp_core\.testing: port {port} cannot be used \(.*in use.*\); .*\n", errors)
    with served("--port", port) as (_, line):
        assert f":{port}/" in line


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "serve"),
        (("walk",), "walk"),
        (("serve", "--nothing"), "--nothing"),
        (("serve", "--port", "x"), "--port"),
        (("serve", "--port", "70000"), "65535"),
        (("serve", "--port", "-1"), "65535"),
        (("serve", "--profile", "lynx"), "lynx"),
        (("serve", "--seed", "x"), "--seed"),
        (("serve", "--pipe", "--control"), "--pipe"),
        (("serve", "--pipe", "--port", "5"), "--pipe and --port exclude each other"),
        (("serve", "--pipe", "--port", "0"), "--pipe and --port exclude each other"),
        (("serve", "--schedule", "wild"), "observed, hostile, or a FILE"),
        (("serve", "--schedule", "/bin/true"), "is not UTF-8 text"),
        (("serve", "--script", "/nowhere/at all"), "/nowhere/at all"),
        (("serve", "--script", "/"), "directory"),
    ],
)
def test_an_invalid_argument_is_reported_in_one_line(arguments: tuple[str, ...], words: str, capsys: Captured) -> None:
    code, printed, errors = run_here(capsys, *arguments)
    assert (code, printed) == (2, "")
    assert errors.count("\n") == 1
    assert words in errors
    assert "Traceback" not in errors


def test_an_invalid_descriptor_is_reported_by_the_program_in_one_line() -> None:
    code, printed, errors = run("serve", "--pipe")  # here, descriptor 3 may be anything
    assert (code, printed) == (2, "")
    assert re.fullmatch(r"cdp_core\.testing: descriptor 3 .*\n", errors)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"nonsense",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"pages":3}',
        b'{"timeline":[{"step":"Fly"}]}',
        b'{"x":1}',
        b'{"answers":{"a":3}}',
        b'{"timeline":[{"step":"RemoveFrame","label":"ad"}]}',
        b'{"timeline":"x"}',
        b'{"pages":{"a":[{"step":"Wait","seconds":"x"}]}}',
    ],
)
def test_an_invalid_script_file_is_refused_in_one_line(tmp_path: Path, content: bytes, capsys: Captured) -> None:
    file = tmp_path / "script.json"
    file.write_bytes(content)
    code, printed, errors = run_here(capsys, "serve", "--script", str(file))
    assert (code, printed) == (2, "")
    assert errors.startswith("cdp_core.testing: ")
    assert errors.count("\n") == 1


def test_help_is_printed_and_exits_with_0(capsys: Captured) -> None:
    code, printed, errors = run_here(capsys, "serve", "--help")
    assert (code, errors) == (0, "")
    assert "--control" in printed
