"""`open_chromium`: start an installed browser, use it for a block, and leave nothing behind.

* `cdp_core.sansio.launch_rules` decides what is looked for, the command line, and what a failed start means;
  `cdp_core.transports.child` starts the program and ends its process group.
* Over the pipe the browser exits when this process ends in any way, and a small shell then removes its temporary
  profile. Over the port both stay behind if this process is killed (docs/embedding.md).
* A browser over the port is found by the `DevToolsActivePort` file in its profile. The file of an earlier browser, or
  of one that uses the profile at present, is never taken for that of the new one.
"""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import tempfile
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs
import trio

from cdp_core.browser_session import CLOSE_TIMEOUT, START_TIMEOUT, BrowserSession, check_options, open_browser_session
from cdp_core.discovery import PORT_FILE, read_port_file
from cdp_core.errors import CdpError, DiscoveryError, InvalidArgument, LaunchFailed
from cdp_core.link import Tap
from cdp_core.loops import check_trio
from cdp_core.nurseries import background_tasks
from cdp_core.sansio.arguments import check_limit, check_timeout, describe_kind
from cdp_core.sansio.launch_rules import (
    PROFILE_LOCK,
    Ended,
    Way,
    check_args,
    check_way,
    check_windows,
    chromium_argv,
    early_exit,
    is_new_port_file,
    names_to_look_for,
    no_answer,
    not_found,
    not_started,
    secrets_of,
)
from cdp_core.transports import Transport
from cdp_core.transports.child import (
    SHELL,
    Child,
    check_platform,
    close_kept,
    find_program,
    keep_from_forks,
    start_child,
)
from cdp_core.transports.pipe import PipeTransport, Silence, start_pipe
from cdp_core.transports.tuning import EXIT_NOTICE, KILL_TIMEOUT, MAX_MESSAGE_BYTES

if TYPE_CHECKING:
    from cdp_core.tracing.file import TraceWriter

log = logging.getLogger("cdp_core.launching")

PORT_FILE_LOOKS: Final = 0.02
"""Seconds between two looks for the port file; a start takes about ten times as long."""
REMOVE_TIMEOUT: Final = 10.0
"""Seconds to remove a temporary profile; a slow disk must not hold the caller for ever."""
_SWEEP: Final = """
read -r group || group=
read -r nothing
looks=0
while [ -n "$group" ] && kill -s 0 -- "-$group"; do
  looks=$((looks + 1))
  if [ $looks -gt 100 ]; then kill -s KILL -- "-$group"; break; fi
  sleep 0.1 || sleep 1
done
rm -rf -- "$1"
"""
"""Wait for the end of our process, then for that of the browser's process group, then remove the profile."""


@asynccontextmanager
async def open_chromium(
    executable: str | os.PathLike[str] | None = None,
    args: Sequence[str] = (),
    *,
    headless: bool = True,
    user_data_dir: str | os.PathLike[str] | None = None,
    over: Way = "pipe",
    env: Mapping[str, str] | None = None,
    start_timeout: float = START_TIMEOUT,
    close_timeout: float = CLOSE_TIMEOUT,
    max_message_bytes: int = MAX_MESSAGE_BYTES,
    taps: Sequence[Tap] = (),
    trace: TraceWriter | Path | None = None,
    strict: bool = False,
) -> AsyncGenerator[BrowserSession, None]:
    """Start an installed browser, and hold the link to it for the block; the browser ends with it.

    `executable` is a path, or a name in PATH; without one, PATH is searched for Chromium, Chrome and headless-shell, in
    this order. Nothing is downloaded. `args` are further switches; nothing that weakens the browser's security is
    added. Without `user_data_dir` the profile is new, and removed when every process of the browser has ended; a given
    profile is never removed. `over="port"` lets other programs connect too. `start_timeout` is how long the browser
    may take to answer, `close_timeout` how long to end by itself. Otherwise as `open_browser_session`.

    Raises LaunchFailed if no browser is found, or it does not start; InvalidArgument if an argument is invalid.
    """
    check_trio()
    check_platform()
    for name, seconds in (("start_timeout", start_timeout), ("close_timeout", close_timeout)):
        check_timeout(name, seconds)
    check_limit(max_message_bytes)
    check_options(taps=taps, trace=trace, strict=strict)
    given = _checked_profile(user_data_dir)
    argv = _command_line(executable, args, headless=headless, over=over, env=env)
    async with AsyncExitStack() as stack:
        temporary = await stack.enter_async_context(_temporary_profile(over)) if given is None else None
        start = _Start(argv, env, given, temporary, start_timeout)
        try:
            if over == "pipe":
                where: Transport | Path = await stack.enter_async_context(
                    start.over_pipe(max_message_bytes, close_timeout)
                )
            else:
                where = await stack.enter_async_context(start.over_port(close_timeout))
            browser = await stack.enter_async_context(
                open_browser_session(
                    where,
                    connect_timeout=start_timeout,
                    handshake_timeout=start_timeout,
                    close_timeout=close_timeout,
                    max_message_bytes=max_message_bytes,
                    taps=taps,
                    trace=trace,
                    strict=strict,
                )
            )
        except DiscoveryError as error:
            raise await start.failure(over, "end", refused=error) from error
        try:
            yield browser
        finally:
            if over == "port":
                await start.close(browser, close_timeout)


class _Start:
    """One attempt to start a browser, and the error that it ends with."""

    def __init__(
        self,
        argv: CommandLine,
        env: Mapping[str, str] | None,
        given: str | None,
        temporary: _TemporaryProfile | None,
        seconds: float,
    ) -> None:
        profile = given if temporary is None else temporary.path
        assert profile is not None
        self._argv = argv(profile)
        self._secrets = secrets_of(self._argv[1:]) - {profile}
        self._env = env
        self._given = given
        self._temporary = temporary
        self._profile = profile
        self._seconds = seconds
        self._child: Child | None = None
        self._closing = False

    @asynccontextmanager
    async def over_pipe(self, max_message_bytes: int, close_timeout: float) -> AsyncGenerator[PipeTransport, None]:
        """Start the browser and wait for its first answer over the pipe."""
        async with start_pipe(
            self._argv,
            env=self._env,
            max_message_bytes=max_message_bytes,
            close_timeout=close_timeout,
            secrets=self._secrets,
        ) as transport:
            self._child = transport.child
            if self._temporary is not None:
                self._temporary.watch(self._child.process.pid)
            silence = await transport.first_answer(self._seconds)
            if silence is not None:
                raise await self.failure("pipe", silence)
            yield transport

    @asynccontextmanager
    async def over_port(self, close_timeout: float) -> AsyncGenerator[Path, None]:
        """Start the browser and wait until its port file names the port; yield the file's path."""
        file = Path(self._profile, PORT_FILE)
        before = ""
        with trio.move_on_after(self._seconds):
            before = await _port_text(file)
        async with background_tasks() as nursery:
            child = await start_child(self._argv, self._argv[0], self._env, self._secrets, piped=False)
            self._child = child
            try:
                nursery.start_soon(_drain, child)
                found = False
                with trio.move_on_after(self._seconds):
                    while not found and child.process.returncode is None:
                        with trio.move_on_after(PORT_FILE_LOOKS):
                            await child.process.wait()
                        found = await self._is_ours(file, before, child)
                if not found:
                    raise await self.failure("port", "silence")
                yield file
            finally:
                with trio.CancelScope(shield=True):
                    await child.end(close_timeout, terminate=not self._closing)

    async def close(self, browser: BrowserSession, seconds: float) -> None:
        """Let the browser end itself: after SIGTERM it leaves the folder of its socket in /tmp (fact 95)."""
        with trio.move_on_after(seconds) as scope, suppress(CdpError):
            scope.shield = True
            await browser.send("Browser.close")
            self._closing = True

    async def failure(self, over: Way, silence: Silence, *, refused: DiscoveryError | None = None) -> LaunchFailed:
        """Return the error for a browser that did not start; `refused` was raised instead of an answer."""
        child = self._child
        if child is None:
            return not_started(str(refused))
        if silence == "end":
            with trio.move_on_after(EXIT_NOTICE):
                await child.process.wait()
        ended = Ended(
            program=self._argv[0],
            code=child.process.returncode,
            how=child.describe_end(),
            stderr=child.stderr(),
            profile=self._given,
            lock=self._lock(),
        )
        if ended.code is not None:
            return early_exit(ended)
        why = None if refused is None else str(refused)
        return no_answer(ended, over, self._seconds, spoke=silence == "other", refused=why)

    async def _is_ours(self, file: Path, before: str, child: Child) -> bool:
        """Return True if the port file is that of our browser.

        A browser that was started on this profile at the same time may have written it: then the lock names a process
        outside our group. Within a container of its own a browser sees other process numbers, but prints the address.
        """
        text = await _port_text(file)
        if not is_new_port_file(text, before):
            return False
        if self._given is None or text.partition("\n")[2].strip() in child.stderr():
            return True
        with suppress(OSError, ValueError):
            return os.getpgid(int((self._lock() or "").rpartition("-")[2])) == child.process.pid
        return True

    def _lock(self) -> str | None:
        with suppress(OSError):
            return str(Path(self._profile, PROFILE_LOCK).readlink())
        return None


async def _drain(child: Child) -> None:
    """Read standard error until the end, even while the browser is being ended after a cancellation."""
    with trio.CancelScope(shield=True):
        await child.drain()


# ── the arguments ────────────────────────────────────────────────────────────────────────────────────────────────────


def _path(name: str, path: object) -> str | None:
    if path is None:
        return None
    text: object = os.fspath(path) if isinstance(path, (str, os.PathLike)) else None  # pyright: ignore[reportUnknownArgumentType,reportUnknownVariableType]
    if not isinstance(text, str) or not text or "\0" in text:
        what = describe_kind(path) if not isinstance(text, str) else "one with a NUL byte" if text else "an empty one"  # pyright: ignore[reportUnknownArgumentType]
        raise InvalidArgument(f"{name} must be a path as a str or an os.PathLike of str, not {what}.")
    return str(Path(text).expanduser()) if text.startswith("~") else text


def _checked_profile(user_data_dir: object) -> str | None:
    given = _path("user_data_dir", user_data_dir)
    if given is None:
        return None
    absolute = os.path.abspath(given)  # noqa: PTH100 - a link in it stays as the caller wrote it
    if os.path.lexists(absolute) and not os.path.isdir(absolute):  # noqa: PTH112
        raise InvalidArgument(f"user_data_dir must be a folder, or a path for a new one; {absolute} is another file.")
    return absolute


CommandLine = Callable[[str], tuple[str, ...]]
"""The command line of a browser, by the folder of its profile."""


def _command_line(
    executable: object, args: object, *, headless: object, over: Way, env: Mapping[str, str] | None
) -> CommandLine:
    """Check what decides the command line, before a profile is made, and find the program."""
    checked = check_args(args)
    check_way(over)
    if not isinstance(headless, bool):
        raise InvalidArgument(f"headless must be True or False, not {describe_kind(headless)}.")
    wanted = _path("executable", executable)
    names = names_to_look_for(wanted, headless=headless)
    program = next(filter(None, (find_program(name, env) for name in names)), None)
    if program is None:
        raise not_found(names, wanted)
    check_windows(program, headless=headless)
    return lambda profile: chromium_argv(program, checked, headless=headless, profile=profile, over=over)


async def _port_text(file: Path) -> str:
    try:
        _source, text = await trio.to_thread.run_sync(read_port_file, str(file), abandon_on_cancel=True)
    except OSError:
        return ""
    return text


# ── the temporary profile ────────────────────────────────────────────────────────────────────────────────────────────


class _TemporaryProfile:
    """A new folder, and the shell that removes it if this process is killed, if there is one."""

    def __init__(self, path: str, sweeper: _Sweeper | None) -> None:
        self.path = path
        self._sweeper = sweeper

    def watch(self, group: int) -> None:
        """Let the shell wait for the end of this process group before it removes the folder."""
        if self._sweeper is not None:
            with suppress(BrokenPipeError):  # the shell was killed; the folder then stays if this process is killed too
                os.write(self._sweeper.write_fd, b"%d\n" % group)

    async def remove(self) -> None:
        """Remove the folder; bounded, since a disk may be slow."""
        removed = False
        with trio.move_on_after(REMOVE_TIMEOUT):
            removed = await trio.to_thread.run_sync(_remove, self.path, abandon_on_cancel=True)
        if not removed:
            log.warning("the temporary profile %s could not be removed", self.path)
        if self._sweeper is not None:
            self._sweeper.process.kill()
            with trio.move_on_after(KILL_TIMEOUT):
                await self._sweeper.process.wait()
            close_kept(self._sweeper.write_fd)


@attrs.frozen
class _Sweeper:
    """The shell, and the write end of the pipe that tells it of the end of this process."""

    process: trio.Process
    write_fd: int


@asynccontextmanager
async def _temporary_profile(over: Way) -> AsyncGenerator[_TemporaryProfile, None]:
    """Make a folder and remove it; over the port it stays with its browser if this process is killed."""
    try:
        path = tempfile.mkdtemp(prefix="cdp-chromium-")
    except OSError as error:
        raise not_started(
            f"No temporary profile could be made ({error.strerror}); make room in {tempfile.gettempdir()}, "
            "or pass a user_data_dir."
        ) from error
    profile = _TemporaryProfile(path, await _start_sweeper(path) if over == "pipe" else None)
    try:
        yield profile
    finally:
        with trio.CancelScope(shield=True):
            await profile.remove()


async def _start_sweeper(path: str) -> _Sweeper:
    read_fd, write_fd = os.pipe()
    keep_from_forks(write_fd)
    try:
        process = await trio.lowlevel.open_process(
            [SHELL, "-c", _SWEEP, SHELL, path],
            stdin=read_fd,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
        )
    except BaseException as error:
        close_kept(write_fd)
        _remove(path)
        if isinstance(error, OSError):
            raise not_started(f"{SHELL} could not be run ({error.strerror}); check that it exists.") from error
        raise
    finally:
        os.close(read_fd)
    return _Sweeper(process, write_fd)


def _remove(path: str) -> bool:
    shutil.rmtree(path, ignore_errors=True)
    return not os.path.lexists(path)
