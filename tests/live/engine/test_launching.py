"""`open_chromium` with a real browser: both ways, its failed starts, and what is left behind."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import trio

from cdp_core import LaunchFailed, open_browser_session, open_chromium, open_pipe_session

pytestmark = [pytest.mark.chromium, pytest.mark.live_pipe]

MARK = "CDP_LIVE_RUN"
"""In the environment of each browser: identifies even a helper that left the browser's process group."""
ROOT = os.geteuid() == 0
ARGS = ("--no-sandbox",) if ROOT else ()
LIMIT = 60


@pytest.fixture
def env(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of a browser; no process that has it, and no temporary file, outlives the test."""
    assert tmp_path.is_dir()  # made before the folder for temporary files is another one
    with tempfile.TemporaryDirectory() as folder:  # short: Chromium refuses to make its socket below a long path
        env = {**os.environ, MARK: folder, "TMPDIR": folder}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tempfile, "tempdir", folder)
            yield env
        wait_until(lambda: not running(env))
        assert left_in(folder) == []


def left_in(folder: str) -> list[str]:
    return [each.name for each in Path(folder).iterdir()]


def running(env: dict[str, str]) -> list[str]:
    """Return the processes with this environment that have not ended."""
    mark = f"{MARK}={env[MARK]}".encode()
    found: list[str] = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (entry / "environ").read_bytes().split(b"\0") and not is_dead(entry):
                found.append(entry.name)
        except OSError:
            continue
    return found


def shells(env: dict[str, str]) -> list[str]:
    return [each for each in running(env) if Path("/proc", each, "comm").read_text().strip() in ("sh", "dash", "bash")]


def is_dead(entry: Path) -> bool:
    return (entry / "stat").read_text().rpartition(")")[2].split()[0] in "ZX"


def wait_until(state: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT
    while not state():
        assert time.monotonic() < deadline, "the state was not reached"
        time.sleep(0.01)


async def failed(*arguments: Any, **options: Any) -> LaunchFailed:
    with pytest.raises(LaunchFailed) as caught:
        async with open_chromium(*arguments, **options):
            raise AssertionError
    return caught.value


@pytest.mark.parametrize("over", ["pipe", "port"])
async def test_a_browser_starts_works_and_ends_with_its_block(chromium: str, env: dict[str, str], over: Any) -> None:
    async with open_chromium(chromium, ARGS, over=over, env=env) as browser:
        assert "Chrome" in (await browser.send("Browser.getVersion"))["product"]
        page = await browser.targets.create("about:blank")
        answer = await page.send("Runtime.evaluate", {"expression": "navigator.userAgent"})
        assert "Chrome" in answer["result"]["value"]
        assert (browser.browser_id is None) is (over == "pipe")
        assert running(env)
    wait_until(lambda: not running(env))


@pytest.mark.parametrize("over", ["pipe", "port"])
async def test_a_headless_shell_starts_and_ends_although_its_program_is_a_script(
    chromium: str, env: dict[str, str], over: Any
) -> None:
    shell = "chromium-headless-shell"
    try:
        async with open_chromium(shell, ARGS, over=over, env=env) as browser:
            assert "HeadlessChrome" in (await browser.send("Browser.getVersion"))["product"]
    except LaunchFailed as error:
        if error.reason == "not_found":
            pytest.skip(f"{shell} is not installed")
        raise


@pytest.mark.skipif(not ROOT, reason="Chromium refuses to start only as root")
async def test_as_root_the_advice_of_the_error_works(chromium: str, env: dict[str, str]) -> None:
    error = await failed(chromium, over="port", env=env)
    assert (error.reason, error.exit_code) == ("exited", 1)
    assert "no-sandbox" in error.stderr
    advice = re.search(r'pass args=\("([^"]+)",\)', str(error))
    assert advice is not None
    async with open_chromium(chromium, args=(advice[1],), env=env) as browser:
        await browser.send("Browser.getVersion")


@pytest.mark.parametrize(
    ("over", "kind", "code"), [("pipe", "--ozone-platform=headless", 0), ("port", "--headless=new", 21)]
)
async def test_a_profile_in_use_is_named_and_its_browser_goes_on(
    chromium: str, env: dict[str, str], tmp_path: Path, over: Any, kind: str, code: int
) -> None:
    """Chromium exits with code 21 if either of the two is headless, and with code 0 if both have windows."""
    profile = tmp_path / "profile"
    options: dict[str, Any] = {"headless": code == 21, "user_data_dir": profile, "env": env}
    async with open_chromium(chromium, (*ARGS, kind), over="port", **options) as browser:
        error = await failed(chromium, (*ARGS, kind), over=over, **options)
        assert (error.reason, error.exit_code) == ("profile_in_use", code)
        pid = str((profile / "SingletonLock").readlink()).rpartition("-")[2]
        assert f"{profile} is in use by process {pid}" in str(error)
        await browser.send("Browser.getVersion")
        async with open_browser_session(profile) as other:  # its port file is still there
            assert other.browser_id == browser.browser_id
    assert (profile / "Default").is_dir()
    async with open_chromium(chromium, (*ARGS, kind), **options):  # the advice: that browser has ended
        pass


async def test_a_browser_that_cannot_show_windows_reports_its_end(chromium: str, env: dict[str, str]) -> None:
    without = {name: value for name, value in env.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    error = await failed(chromium, ARGS, headless=False, env=without)
    assert (error.reason, error.exit_code) == ("exited", 1)
    assert error.stderr


async def test_a_killed_browser_leaves_no_profile(chromium: str, env: dict[str, str]) -> None:
    async with open_chromium(chromium, ARGS, env=env) as browser:
        os.kill(browser.statistics().transport.pid, 9)
        gone = await browser.wait_closed()
    assert "SIGKILL" in str(gone)
    assert profiles(env) == []
    for left in left_in(env["TMPDIR"]):  # the folder of Chromium's own socket, which only Chromium removes
        assert left.startswith("org.chromium.Chromium.")
        shutil.rmtree(f"{env['TMPDIR']}/{left}")


async def test_a_pipe_session_adds_the_switch_of_the_pipe(chromium: str, env: dict[str, str], tmp_path: Path) -> None:
    argv = [chromium, *ARGS, "--headless=new", f"--user-data-dir={tmp_path / 'profile'}"]
    async with open_pipe_session(argv, env=env) as browser:
        await browser.send("Browser.getVersion")


KILLED = """
import os, sys, trio
from cdp_core import open_chromium
async def main():
    async with open_chromium(sys.argv[1], sys.argv[3:], over=sys.argv[2]) as browser:
        page = await browser.targets.create("about:blank")
        print("open", flush=True)
        await trio.sleep_forever()
trio.run(main)
"""


@pytest.fixture
def kill_python(chromium: str, env: dict[str, str]) -> Callable[[str], None]:
    """A function that opens a browser in another Python and kills that with SIGKILL."""

    def killed(over: str) -> None:
        command = [sys.executable, "-c", KILLED, chromium, over, *ARGS]
        with subprocess.Popen(command, env=env, stdout=subprocess.PIPE) as python:
            assert python.stdout is not None
            assert python.stdout.readline() == b"open\n"
            assert len(running(env)) > 2
            python.kill()

    return killed


def profiles(env: dict[str, str]) -> list[Path]:
    return list(Path(env["TMPDIR"]).glob("cdp-chromium-*"))


def test_nothing_is_left_of_a_browser_over_the_pipe_when_python_is_killed(
    kill_python: Callable[[str], None], env: dict[str, str]
) -> None:
    kill_python("pipe")
    wait_until(lambda: not running(env))
    assert profiles(env) == []


def test_a_browser_over_the_port_stays_when_python_is_killed(
    kill_python: Callable[[str], None], env: dict[str, str]
) -> None:
    """As docs/embedding.md describes it, with the way to end the browser that is left."""
    kill_python("port")
    [profile] = profiles(env)
    wait_until(lambda: not shells(env))  # nothing removes the profile of a browser that runs
    assert (profile / "DevToolsActivePort").exists()

    async def end_it() -> None:
        async with open_browser_session(profile) as browser:
            await browser.send("Browser.close")

    trio.run(end_it)
    wait_until(lambda: not running(env))
    subprocess.run(["rm", "-rf", profile], check=True)
