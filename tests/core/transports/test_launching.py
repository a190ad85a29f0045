"""Starting a browser, with small programs in its place: failed starts, whole groups, nothing left."""

from __future__ import annotations

import contextlib
import logging
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import trio

from cdp_core import ConnectionLost, DiscoveryError, LaunchFailed, open_chromium, open_pipe_session
from cdp_core import launching as launching_module
from cdp_core.errors import InvalidArgument, LocalProtocolError
from cdp_core.sansio.launch_rules import NAMES
from cdp_core.testing import serve_fake_browser
from cdp_core.transports import child as child_module
from cdp_core.transports import pipe as pipe_module

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="looks at processes as Linux shows them")

PATIENCE = 30
"""Seconds after which a test that would hang fails."""
PRELUDE = r"""
import os, signal, sys, time
[profile] = [each.partition("=")[2] for each in sys.argv if each.startswith("--user-data-dir=")] or [""]
def texts():
    rest = b""
    while data := os.read(3, 1 << 16):
        *whole, rest = (rest + data).split(b"\0")
        yield from whole
def say(text):
    os.write(4, text + b"\0")
def answer(text):
    say(b'{"id":%s,"result":{}}' % text.partition(b":")[2].partition(b",")[0])
def serve():
    for text in texts():
        answer(text)
def note(name, text=""):
    with open(os.path.join(os.environ["NOTES"], name + "~"), "w") as file:
        file.write(str(text))
    os.rename(os.path.join(os.environ["NOTES"], name + "~"), os.path.join(os.environ["NOTES"], name))
def helper(code=lambda: time.sleep(600)):
    pid = os.fork()
    if not pid:
        code()
        os._exit(0)
    return pid
def listen(text=None):
    with open(os.path.join(profile, "DevToolsActivePort~"), "w") as file:
        file.write(text or os.environ["PORT_FILE"])
    os.rename(os.path.join(profile, "DevToolsActivePort~"), os.path.join(profile, "DevToolsActivePort"))
"""
SERVE = "serve()"
ENDS_AT_ONCE = "sys.exit(0)"
IGNORES_SIGTERM = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"

Make = Callable[..., str]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """A function that writes a program with this code and returns its path."""

    def made(code: str, name: str = "chromium", folder: str = "bin") -> str:
        program = tmp_path / folder / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!{sys.executable} -IS\n{PRELUDE}\n{code}\n")
        program.chmod(0o700)
        return str(program)

    return made


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "notes").mkdir()
    return {**os.environ, "NOTES": str(tmp_path / "notes")}


@pytest.fixture
def noted(tmp_path: Path) -> Callable[[str], str]:
    """A function that returns what a program noted under this name, once it did."""

    def read(name: str) -> str:
        wait_until((tmp_path / "notes" / name).exists)
        return (tmp_path / "notes" / name).read_text()

    return read


@pytest.fixture(autouse=True)
def nothing_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Assert that no process of ours and no temporary profile outlives the test."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    before = children()
    yield
    assert children() <= before
    assert list(folder.iterdir()) == []
    assert not child_module._ours


def children() -> set[str]:
    found: set[str] = set()
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):  # the thread has just ended
            found.update((task / "children").read_text().split())
    return found


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def mode_of(path: Path) -> int | None:
    """Return the permissions of a folder; None if there is none."""
    return path.stat().st_mode & 0o777 if path.is_dir() else None


def content(path: Path) -> list[str]:
    return [each.name for each in path.iterdir()]


def is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def wait_until(state: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not state():
        assert time.monotonic() < deadline, "the state was not reached"
        time.sleep(0.005)


async def failed(executable: str | None, args: Any = (), **options: Any) -> LaunchFailed:
    with trio.fail_after(PATIENCE), pytest.raises(LaunchFailed) as caught:
        async with open_chromium(executable, args, **options):
            raise AssertionError
    assert "Traceback" not in caught.value.stderr
    return caught.value


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short waits for programs that do not react."""
    for name, seconds in (("TERMINATE_TIMEOUT", 0.05), ("GROUP_GRACE", 0.05)):
        monkeypatch.setattr(child_module, name, seconds)
    monkeypatch.setattr(launching_module, "EXIT_NOTICE", 0.05)
    monkeypatch.setattr(pipe_module, "EXIT_NOTICE", 0.05)


# ── over the pipe ────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_the_block_has_a_session_and_a_temporary_profile(make: Make, env: dict[str, str], noted: Any) -> None:
    program = make("note('argv', '\\n'.join(sys.argv)); note('profile', os.path.isdir(profile)); serve()")
    taken: list[object] = []
    with trio.fail_after(PATIENCE):
        async with open_chromium(program, ["--lang=de"], env=env, taps=[taken.append]) as browser:
            assert taken == []  # the first command is not one of the link
            assert browser.statistics().transport.sent == 0
            assert await browser.send("Browser.getVersion") == {}
            assert browser.statistics().transport.sent == 1
            assert browser.statistics().transport.received == 1
            assert noted("profile") == "True"
            argv = noted("argv").split("\n")
            profile = Path(argv[4].removeprefix("--user-data-dir="))
            assert mode_of(profile) == 0o700
    assert mode_of(profile) is None
    assert argv[:4] == [program, "--headless=new", "--no-first-run", "--no-default-browser-check"]
    assert argv[5:] == ["--remote-debugging-pipe", "--lang=de"]


async def test_a_given_profile_is_never_removed(make: Make, tmp_path: Path, env: dict[str, str], noted: Any) -> None:
    program = make("note('profile', profile); serve()")
    for profile in (tmp_path / "new", tmp_path):
        async with open_chromium(program, user_data_dir=profile, env=env):
            assert noted("profile") == str(profile)
        assert content(tmp_path / "temporary") == []
    assert "bin" in content(tmp_path)


async def test_a_relative_profile_is_made_absolute(
    make: Make, tmp_path: Path, env: dict[str, str], noted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    program = make("note('profile-' + os.path.basename(profile), profile); serve()")
    for given, expected in (("some", tmp_path / "some"), ("~/kept", tmp_path / "home" / "kept")):
        async with open_chromium(program, user_data_dir=given, env=env):
            assert noted(f"profile-{expected.name}") == str(expected)


async def test_the_body_s_exception_leaves_the_block_unchanged(make: Make) -> None:
    with pytest.raises(KeyError):
        async with open_chromium(make(SERVE)):
            raise KeyError
    with trio.CancelScope() as scope:
        async with open_chromium(make(SERVE)):
            scope.cancel()
            await trio.sleep_forever()
    assert scope.cancelled_caught


async def test_messages_before_the_first_answer_are_kept(make: Make) -> None:
    program = make("""
say(b'{"method":"Target.targetCreated","params":{"n":1}}')
for text in texts(): answer(text) if b"getVersion" in text else say(b'{"method":"A.late","params":{"n":2}}')
""")
    taken: list[Any] = []
    async with open_chromium(program, taps=[taken.append]) as browser:
        with browser.expect("A.late") as late:
            browser.send_nowait("A.a").abandon()
            assert (await late.wait()).params == {"n": 2}
        assert browser.statistics().router.anomalies == {}
    assert [each.method for each in taken] == ["Target.targetCreated", "A.late"]


async def test_a_program_that_exits_is_reported_with_its_code_and_standard_error(make: Make) -> None:
    program = make("sys.stderr.write('first\\n' * 2000 + 'hunter2! is wrong\\n'); sys.exit(7)")
    error = await failed(program, ["--proxy-server=hunter2!"])
    assert (error.reason, error.exit_code) == ("exited", 7)
    assert error.stderr.endswith("first\n[argument] is wrong")
    assert 2000 < len(error.stderr) <= 2048
    assert "exited with code 7" in str(error)
    assert "[argument] is wrong" in str(error)
    error = await failed(make("os.kill(os.getpid(), 9)"))
    assert (error.reason, error.exit_code, error.stderr) == ("exited", -9, "")


async def test_a_program_that_never_answers_is_ended(make: Make, hasty: None) -> None:
    error = await failed(make(IGNORES_SIGTERM + "time.sleep(600)"), start_timeout=0.1, close_timeout=0.05)
    assert (error.reason, error.exit_code) == ("no_answer", None)
    assert "within 0.1 s" in str(error)


async def test_a_program_that_closes_its_pipe_is_ended(make: Make, hasty: None) -> None:
    error = await failed(make("os.close(4); time.sleep(600)"), close_timeout=0.05)
    assert error.reason == "no_answer"


async def test_a_program_that_sends_no_reply_is_ended(make: Make, hasty: None) -> None:
    program = make("say(b'hello'); time.sleep(600)")
    assert (await failed(program, start_timeout=0.1, close_timeout=0.05)).reason == "no_answer"


@pytest.mark.parametrize("code", ["while True: say(b'{}')", "os.write(4, b'x' * 5000); time.sleep(600)"])
async def test_a_program_that_sends_something_else_is_ended_at_once(make: Make, code: str, hasty: None) -> None:
    error = await failed(make(code), start_timeout=600, close_timeout=0.05, max_message_bytes=1024)
    assert error.reason == "no_answer"
    assert "something else" in str(error)
    with trio.fail_after(PATIENCE), pytest.raises(DiscoveryError, match="something else") as caught:
        async with open_pipe_session([make(code)], start_timeout=600, close_timeout=0.05, max_message_bytes=1024):
            raise AssertionError
    assert caught.value.answered == "other"


# ── the end of the group ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("stubborn", ["", IGNORES_SIGTERM])
async def test_processes_left_in_the_group_are_ended(
    make: Make, env: dict[str, str], noted: Any, hasty: None, stubborn: str
) -> None:
    program = make(stubborn + "note('helper', helper()); serve()")
    async with open_chromium(program, env=env, close_timeout=1):
        helper = int(noted("helper"))
        assert runs(helper)
    assert not runs(helper)


async def test_a_script_that_waits_for_the_browser_is_ended_with_it(
    make: Make, env: dict[str, str], noted: Any, hasty: None
) -> None:
    """As Debian's chromium-headless-shell: a shell that starts the browser as its child."""
    program = make("note('browser', helper(serve)); signal.pause()")
    async with open_chromium(program, env=env, close_timeout=0.05) as browser:
        assert await browser.send("Browser.getVersion") == {}
        pid = int(noted("browser"))
    assert not runs(pid)


async def test_processes_left_in_the_group_may_end_by_themselves(make: Make, env: dict[str, str], noted: Any) -> None:
    program = make("""
def wait_for_sigterm():
    signal.signal(signal.SIGTERM, lambda *_: (note("terminated"), os._exit(0)))
    note("ready")
    time.sleep(600)
helper(wait_for_sigterm)
serve()
""")
    async with open_chromium(program, env=env):
        noted("ready")
    assert noted("terminated") == ""


async def test_a_profile_is_removed_after_the_last_process_of_the_group(
    make: Make, env: dict[str, str], noted: Any, hasty: None
) -> None:
    """A helper that still writes would put files back into a folder that was removed too early."""
    program = make(
        IGNORES_SIGTERM
        + """
def write():
    n = 0
    while True:
        os.makedirs(profile, exist_ok=True)
        open(os.path.join(profile, str(n)), "w").close()
        n = (n + 1) % 50
note("helper", helper(write))
serve()
"""
    )
    async with open_chromium(program, env=env):
        wait_until(lambda: any(Path(tempfile.gettempdir()).glob("*/49")))
    assert not runs(int(noted("helper")))


async def test_the_end_is_bounded_even_if_the_group_does_not_end(
    make: Make, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, hasty: None
) -> None:
    """As with a process that the kernel holds in a system call."""
    monkeypatch.setattr(child_module, "KILL_TIMEOUT", 0.05)
    with monkeypatch.context() as patch, caplog.at_level(logging.WARNING):
        async with open_chromium(make(SERVE)):
            patch.setattr(child_module, "_may_run", lambda _group: True)
            patch.setattr(child_module, "_runs", lambda _group: True)
    assert "still runs" in caplog.text


def test_dead_processes_do_not_count_as_running() -> None:
    """The first process of a container may never collect them."""
    with subprocess.Popen([sys.executable, "-c", ""], start_new_session=True) as dead:
        wait_until(lambda: not runs(dead.pid))
        assert child_module._may_run(dead.pid)
        assert not child_module._runs(dead.pid)
    assert not child_module._may_run(dead.pid)


async def test_a_profile_that_cannot_be_removed_is_logged(
    make: Make, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with monkeypatch.context() as patch, caplog.at_level(logging.WARNING):
        patch.setattr(launching_module, "_remove", lambda _path: False)
        async with open_chromium(make(SERVE)):
            pass
    assert "could not be removed" in caplog.text
    for left in content(Path(tempfile.gettempdir())):
        assert launching_module._remove(f"{tempfile.gettempdir()}/{left}")


@pytest.mark.parametrize("delay", [0, 0.001, 0.005, 0.02, 0.05])
@pytest.mark.parametrize("over", ["pipe", "port"])
async def test_a_start_may_be_cancelled_at_any_time(make: Make, delay: float, over: Any, hasty: None) -> None:
    with trio.move_on_after(delay) as scope:
        async with open_chromium(make("time.sleep(600)"), over=over, close_timeout=0.05):
            raise AssertionError
    assert scope.cancelled_caught


# ── descriptors, forks, and the end of this process ──────────────────────────────────────────────────────────────────


async def test_the_program_inherits_nothing_of_ours(make: Make, env: dict[str, str], noted: Any) -> None:
    program = make("note('fds', sorted(map(int, os.listdir('/proc/self/fd')))[:-1]); serve()")
    async with open_chromium(program, env=env):
        assert noted("fds") == "[0, 1, 2, 3, 4]"
        assert len(child_module._ours) == 4
        assert not any(map(os.get_inheritable, child_module._ours))


async def test_a_fork_of_this_process_closes_our_ends(make: Make) -> None:
    """A copy of our end that stays open would keep the browser running when this process is killed."""
    async with open_chromium(make(SERVE)) as browser:
        ours = sorted(child_module._ours)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python warns of forks beside threads
            pid = os.fork()
        if not pid:
            os._exit(sum(map(is_open, ours)))
        _pid, status = await trio.to_thread.run_sync(os.waitpid, pid, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        assert await browser.send("Browser.getVersion") == {}


KILLED = """
import os, sys, tempfile, trio
from cdp_core import open_chromium
tempfile.tempdir = sys.argv[2]
async def main():
    async with open_chromium(sys.argv[1]):
        print("open", flush=True)
        await trio.sleep_forever()
trio.run(main)
"""


def test_nothing_is_left_when_this_process_is_killed(
    make: Make, env: dict[str, str], noted: Any, tmp_path: Path
) -> None:
    program = make("note('pid', os.getpid()); serve()")
    command = [sys.executable, "-c", KILLED, program, tempfile.gettempdir()]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE) as killed:
        assert killed.stdout is not None
        assert killed.stdout.readline() == b"open\n"
        pid = int(noted("pid"))
        assert runs(pid)
        assert list((tmp_path / "temporary").iterdir())
        killed.kill()
    wait_until(lambda: not runs(pid))
    wait_until(lambda: not list((tmp_path / "temporary").iterdir()))


# ── profiles in use ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("over", ["pipe", "port"])
@pytest.mark.parametrize("code", [0, 21])
async def test_a_profile_in_use_is_an_error(make: Make, tmp_path: Path, code: int, over: Any) -> None:
    profile = tmp_path / "profile"
    profile.mkdir()
    (profile / "SingletonLock").symlink_to(f"machine-{os.getpid()}")
    (profile / "DevToolsActivePort").write_text("1\n/devtools/browser/of-the-running-one")
    error = await failed(make(f"sys.exit({code})"), user_data_dir=profile, over=over)
    assert (error.reason, error.exit_code) == ("profile_in_use", code)
    assert str(profile) in str(error)
    assert f"process {os.getpid()} on machine" in str(error)


async def test_an_exit_with_code_0_of_a_free_profile_is_only_an_exit(make: Make, tmp_path: Path) -> None:
    assert (await failed(make(ENDS_AT_ONCE), user_data_dir=tmp_path / "profile")).reason == "exited"
    assert (await failed(make(ENDS_AT_ONCE))).reason == "exited"


# ── over a port ──────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_browser_over_a_port_is_found_by_its_new_file(
    make: Make, tmp_path: Path, env: dict[str, str], noted: Any
) -> None:
    profile = tmp_path / "profile"
    profile.mkdir()
    (profile / "DevToolsActivePort").write_text("1\n/devtools/browser/of-an-earlier-one")
    program = make("note('argv', sys.argv); note('pid', os.getpid()); time.sleep(0.1); listen(); time.sleep(600)")
    async with serve_fake_browser() as endpoint:
        env["PORT_FILE"] = port_file(endpoint.ws_url)
        async with open_chromium(program, user_data_dir=profile, over="port", env=env, close_timeout=0.05) as browser:
            assert browser.browser_id is not None
            assert (await browser.send("Browser.getVersion"))["protocolVersion"] == "1.3"
            assert "'--remote-debugging-port=0'" in noted("argv")
    assert not runs(int(noted("pid")))
    assert profile.is_dir()


def port_file(url: str) -> str:
    port, _, path = url.removeprefix("ws://127.0.0.1:").partition("/")
    return f"{port}\n/{path}"


async def test_the_file_of_a_browser_that_started_at_the_same_time_is_not_used(
    make: Make, tmp_path: Path, env: dict[str, str]
) -> None:
    profile = tmp_path / "profile"
    profile.mkdir()
    (profile / "SingletonLock").symlink_to(f"machine-{os.getpid()}")
    async with serve_fake_browser() as endpoint:
        env["PORT_FILE"] = port_file(endpoint.ws_url)
        program = make("listen(); time.sleep(0.2); sys.exit(21)")
        assert (await failed(program, user_data_dir=profile, over="port", env=env)).reason == "profile_in_use"


@pytest.mark.parametrize(
    "proof",
    [
        "sys.stderr.write('DevTools listening on ws://127.0.0.1:' + os.environ['PORT_FILE'].replace('\\n', ''))",
        "os.unlink(profile + '/SingletonLock'); os.symlink(f'machine-{os.getpid()}', profile + '/SingletonLock')",
        "os.unlink(profile + '/SingletonLock')",
    ],
)
async def test_the_file_of_our_browser_is_used(make: Make, tmp_path: Path, env: dict[str, str], proof: str) -> None:
    """It prints the address, or the lock is its own (or there is none, as with headless-shell)."""
    profile = tmp_path / "profile"
    profile.mkdir()
    (profile / "SingletonLock").symlink_to(f"machine-{os.getpid()}")
    program = make(f"{proof}; sys.stderr.flush(); listen(); time.sleep(600)")
    async with serve_fake_browser() as endpoint:
        env["PORT_FILE"] = port_file(endpoint.ws_url)
        options = {"user_data_dir": profile, "env": env, "close_timeout": 0.05}
        async with open_chromium(program, over="port", **options) as browser:
            assert browser.browser_id is not None


async def test_a_program_that_opens_no_port_is_ended(make: Make, env: dict[str, str], noted: Any, hasty: None) -> None:
    program = make(
        "note('pid', os.getpid()); open(profile + '/DevToolsActivePort', 'w').write('1\\n'); time.sleep(600)"
    )
    error = await failed(program, over="port", env=env, start_timeout=0.1)
    assert error.reason == "no_answer"
    assert "opened no debugging port" in str(error)


@pytest.mark.parametrize(("rest", "reason"), [("sys.exit(3)", "exited"), ("time.sleep(600)", "no_answer")])
async def test_a_port_that_leads_nowhere_is_an_error(make: Make, rest: str, reason: str, hasty: None) -> None:
    error = await failed(make(f"listen('1\\n/devtools/browser/x'); {rest}"), over="port", close_timeout=600)
    assert error.reason == reason
    assert error.exit_code == (3 if reason == "exited" else None)
    assert ("cannot be reached" in str(error)) is (reason == "no_answer")


async def test_a_file_that_cannot_be_read_does_not_hang(make: Make, tmp_path: Path, hasty: None) -> None:
    os.mkfifo(tmp_path / "DevToolsActivePort")
    try:
        error = await failed(make("time.sleep(600)"), user_data_dir=tmp_path, over="port", start_timeout=0.1)
    finally:  # ends the threads that still try to open it
        os.close(os.open(tmp_path / "DevToolsActivePort", os.O_RDWR | os.O_NONBLOCK))
    assert error.reason == "no_answer"


async def test_a_flood_on_standard_error_stops_nothing(make: Make, env: dict[str, str]) -> None:
    async with serve_fake_browser() as endpoint:
        env["PORT_FILE"] = port_file(endpoint.ws_url)
        program = make("sys.stderr.write('x' * 1_000_000); sys.stderr.flush(); listen(); time.sleep(600)")
        async with open_chromium(program, over="port", env=env, close_timeout=0.05) as browser:
            assert browser.browser_id is not None


# ── the program to start ─────────────────────────────────────────────────────────────────────────────────────────────


async def test_without_an_executable_path_is_searched(
    make: Make, tmp_path: Path, env: dict[str, str], noted: Any
) -> None:
    make("note('chosen', sys.argv[:2]); serve()", "chrome-headless-shell")
    env["PATH"] = str(tmp_path / "bin")
    async with open_chromium(env=env):
        pass
    assert "chrome-headless-shell" in noted("chosen")
    assert "--headless" not in noted("chosen")
    error = await failed(None, headless=False, env=env)
    assert error.reason == "not_found"
    make("note('chosen', sys.argv[:2]); serve()", "google-chrome")
    async with open_chromium(env=env):
        pass
    assert "google-chrome" in noted("chosen")


async def test_not_found_names_what_was_looked_for(tmp_path: Path) -> None:
    error = await failed(None, env={"PATH": str(tmp_path)})
    assert error.reason == "not_found"
    for name in NAMES:
        assert name in str(error)
    file = tmp_path / "file"
    file.write_text("")
    for executable in (str(file), str(tmp_path), "/nowhere/chrome", "no-such-browser"):
        error = await failed(executable)
        assert error.reason == "not_found"
        assert executable in str(error)


async def test_a_file_that_is_no_program_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "chromium"
    file.write_bytes(b"\x7fELF nonsense")
    file.chmod(0o700)
    error = await failed(str(file))
    assert error.reason == "exited"
    assert error.exit_code in (126, 127)


@pytest.mark.parametrize(
    "options",
    [
        {"executable": 5},
        {"executable": ""},
        {"executable": b"/bin/true"},
        {"executable": "a\0b"},
        {"args": "--no-sandbox"},
        {"args": ["--user-data-dir=/x"]},
        {"args": ["--remote-debugging-port=9222"]},
        {"over": "websocket"},
        {"headless": "new"},
        {"user_data_dir": ""},
        {"user_data_dir": 5},
        {"user_data_dir": "/dev/null"},
        {"start_timeout": 0},
        {"close_timeout": float("nan")},
        {"max_message_bytes": 3},
        {"taps": 5},
        {"trace": 5},
        {"strict": 1},
    ],
)
async def test_invalid_arguments_start_nothing(
    make: Make, options: dict[str, Any], env: dict[str, str], tmp_path: Path
) -> None:
    program = make("note('started')")
    with pytest.raises(InvalidArgument):
        async with open_chromium(**{"executable": program, "env": env, **options}):
            raise AssertionError
    assert content(tmp_path / "notes") == []


async def test_a_headless_shell_without_headless_is_refused(make: Make) -> None:
    with pytest.raises(InvalidArgument, match="headless=True"):
        async with open_chromium(make(SERVE, "headless_shell"), headless=False):
            raise AssertionError


async def test_windows_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(sys, "platform", "win32")
        with pytest.raises(LocalProtocolError, match="open_browser_session") as caught:
            async with open_chromium():
                raise AssertionError
    assert caught.value.reason == "unsupported"


def missing(*_arguments: Any, **_options: Any) -> Any:
    raise OSError(28, "No space left on device")


async def test_a_system_that_cannot_start_it_is_an_error(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(tempfile, "mkdtemp", missing)
        assert "user_data_dir" in str(error := await failed(make(SERVE)))
        assert error.reason == "not_started"
    with monkeypatch.context() as patch:
        patch.setattr(launching_module, "SHELL", "/nowhere/sh")
        assert "/nowhere/sh" in str(error := await failed(make(SERVE)))
        assert error.reason == "not_started"
    for over in ("pipe", "port"):
        with monkeypatch.context() as patch:
            patch.setattr(child_module, "SHELL", "/nowhere/sh")
            assert "/nowhere/sh" in str(error := await failed(make(SERVE), over=over))
            assert error.reason == "not_started"


# ── open_pipe_session ────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_pipe_session_adds_the_switch(make: Make, env: dict[str, str], noted: Any) -> None:
    program = make("note('argv', sys.argv[1:]); serve() if '--remote-debugging-pipe' in sys.argv else time.sleep(600)")
    with trio.fail_after(PATIENCE):
        async with open_pipe_session([program, "--lang=de"], env=env) as browser:
            assert await browser.send("Browser.getVersion") == {}
    assert noted("argv") == "['--lang=de', '--remote-debugging-pipe']"


async def test_a_pipe_session_without_an_answer_ends_its_program(make: Make, hasty: None) -> None:
    program = make(IGNORES_SIGTERM + "time.sleep(600)")
    with trio.fail_after(PATIENCE), pytest.raises(DiscoveryError) as caught:
        async with open_pipe_session([program], start_timeout=0.1, close_timeout=0.05):
            raise AssertionError
    assert (caught.value.stage, caught.value.answered) == ("cdp", "silence")
    assert "within 0.1 s (start_timeout)" in str(caught.value)


async def test_a_pipe_session_reports_an_early_exit(make: Make) -> None:
    with pytest.raises(DiscoveryError, match="exited with code 7") as caught:
        async with open_pipe_session([make("time.sleep(0.15); sys.exit(7)")]):
            raise AssertionError
    assert (caught.value.stage, caught.value.answered) == ("cdp", "end")


@pytest.mark.parametrize(
    ("argv", "options"),
    [(["x", "--remote-debugging-pipe=cbor"], {}), (["x"], {"start_timeout": 0}), ("x", {}), ([], {})],
)
async def test_a_pipe_session_refuses_invalid_arguments(argv: Any, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument):
        async with open_pipe_session(argv, **options):
            raise AssertionError


async def test_a_program_that_ends_later_is_a_loss_of_the_link(make: Make) -> None:
    async with open_chromium(make("answer(next(texts())); time.sleep(0.05); sys.exit(4)")) as browser:
        gone = await browser.wait_closed()
    assert isinstance(gone, ConnectionLost)
    assert "exited with code 4" in str(gone)
    assert gone.reason == "process_exited"
