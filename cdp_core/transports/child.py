"""A browser as a child process: its start, its standard error, the end of its whole process group.

* Start: a shell connects the descriptors and becomes the program. `pass_fds` cannot renumber, and a `preexec_fn` is
  neither safe with threads nor quick; subprocess and the shell do all of this outside of Python.
* Our ends of its pipes are closed in every other program that we start (close-on-exec) and in every fork of this
  process: a browser over a pipe ends when we do, and it would not while a copy of our end is open.
* The program leads a session and a process group of its own: it gets no Ctrl-C of the terminal, and what it started
  can be ended with it. A program may be a script that starts the browser and waits (as Debian's headless-shell is), so
  the end of the program is not the end of the browser.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import trio

from cdp_core.errors import DiscoveryError, LocalProtocolError
from cdp_core.sansio.launch_rules import stderr_tail
from cdp_core.transports.tuning import (
    GROUP_GRACE,
    GROUP_LOOKS,
    KILL_TIMEOUT,
    PIPE_BYTES,
    READ_BYTES,
    STDERR_BYTES,
    STDERR_READS,
    TERMINATE_TIMEOUT,
)

if sys.platform != "win32":
    import fcntl

log = logging.getLogger("cdp_core.transports.child")

SHELL: Final = "/bin/sh"
_BECOME_PROGRAM: Final = 'exec "$@" </dev/null >/dev/null'
_BECOME_PROGRAM_ON_A_PIPE: Final = 'exec "$@" 3<&0 4>&1 </dev/null >/dev/null'

# ── descriptors ──────────────────────────────────────────────────────────────────────────────────────────────────────

_ours: set[int] = set()


def keep_from_forks(descriptor: int) -> int:
    """Let a fork of this process close the descriptor; `close` it here with `close_kept`."""
    _ours.add(descriptor)
    return descriptor


def close_kept(descriptor: int) -> None:
    """Close a descriptor of `keep_from_forks`."""
    _ours.discard(descriptor)
    os.close(descriptor)


def _close_in_fork() -> None:
    while _ours:
        with contextlib.suppress(OSError):
            os.close(_ours.pop())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_fork)


# ── the program ──────────────────────────────────────────────────────────────────────────────────────────────────────


def check_platform() -> None:
    """Raise LocalProtocolError on a system without process groups and inherited descriptors."""
    if sys.platform == "win32":
        raise LocalProtocolError(
            "A browser cannot be started on this system; start it yourself with --remote-debugging-port, and connect "
            "with open_browser_session.",
            reason="unsupported",
        )


def find_program(name: str, env: Mapping[str, str] | None) -> str | None:
    """Return the path of a program, looked up in the PATH of `env`; None if it cannot be executed."""
    return shutil.which(name, path=None if env is None else env.get("PATH", os.defpath))


class Child:
    """The child process, and the end of its standard error; `start_child` makes it."""

    def __init__(self, process: trio.Process, name: str, secrets: frozenset[str], fds: tuple[int, int, int]) -> None:
        self.process = process
        self.name = name
        self.read_fd, self.write_fd, self._error_fd = fds
        self._secrets = secrets
        self._errors = b""

    def describe_end(self) -> str:
        """Describe how the program ended."""
        code = self.process.returncode
        return "closed its end of the pipe" if code is None else _describe_exit(code)

    def not_started(self) -> DiscoveryError:
        """Return the error for a program that ended at once."""
        stderr_text = " ".join(self.stderr().split())
        return DiscoveryError(
            f"{self.name} could not be started: it {self.describe_end()} without output on the pipe"
            + (
                f"; the end of its standard error: {stderr_text}"
                if stderr_text
                else "; it wrote nothing to standard error."
            ),
            address=self.name,
            stage="cdp",
            answered="end",
        )

    def stderr(self) -> str:
        """Return the end of standard error so far, fit for an error."""
        with contextlib.suppress(BlockingIOError):
            for _ in range(STDERR_READS):
                self._read_errors()
        return stderr_tail(self._errors, self._secrets, is_cut=len(self._errors) == STDERR_BYTES)

    async def drain(self) -> None:
        """Read standard error to its end: a program stops when its output is not read."""
        with contextlib.suppress(trio.ClosedResourceError):
            while self._error_fd >= 0:
                await trio.lowlevel.wait_readable(self._error_fd)
                with contextlib.suppress(BlockingIOError):
                    if not self._read_errors():
                        return

    async def end(self, exit_timeout: float, *, terminate: bool = False) -> None:
        """Wait for the exit, terminate, kill, also the rest of the group; each step is bounded.

        `terminate` if the program does not notice the end by itself, since no pipe was closed.
        """
        try:
            if terminate and self.process.returncode is None:
                self.process.terminate()
            with trio.move_on_after(exit_timeout):
                await self.process.wait()
            if self.process.returncode is None:
                self.process.terminate()
                with trio.move_on_after(TERMINATE_TIMEOUT):
                    await self.process.wait()
            await self._end_group()
        finally:
            descriptor, self._error_fd = self._error_fd, -1
            trio.lowlevel.notify_closing(descriptor)
            close_kept(descriptor)

    async def _end_group(self) -> None:
        """End the processes that the program started and left in its group."""
        group = self.process.pid
        if self.process.returncode is not None:
            if await _has_ended(group, GROUP_GRACE):
                return
            _signal(group, signal.SIGTERM)
            if await _has_ended(group, TERMINATE_TIMEOUT):
                return
        _signal(group, signal.SIGKILL)
        with trio.move_on_after(KILL_TIMEOUT):
            await self.process.wait()
        if not await _has_ended(group, KILL_TIMEOUT):
            log.warning("process group %d of %s still runs after it was killed", group, self.name)

    def _read_errors(self) -> bool:
        """Read what is available; return False at the end. Raises BlockingIOError if nothing is available."""
        if self._error_fd < 0:  # closed before this task ran again; the number may belong to another file by now
            return False
        data = os.read(self._error_fd, READ_BYTES)
        self._errors = (self._errors + data)[-STDERR_BYTES:]
        return bool(data)


def _describe_exit(code: int) -> str:
    """Describe how a program ended, for an error text."""
    if code >= 0:
        return f"exited with code {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"


def _signal(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):  # it ended meanwhile
        os.killpg(group, number)


async def _has_ended(group: int, seconds: float) -> bool:
    """Wait until no process of a group runs; return False if one still does after `seconds`."""
    with trio.move_on_after(seconds):
        while _may_run(group):
            if not await trio.to_thread.run_sync(_runs, group):
                return True
            await trio.sleep(GROUP_LOOKS)
        return True
    return False


def _may_run(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # macOS: only dead processes are left, or another user's
        return False
    return True


def _runs(group: int) -> bool:
    """Return False if each process of the group is dead and only waits for its parent to notice it.

    A container's first process may take long for that, or never do it.
    """
    entries = list(Path("/proc").glob("[0-9]*/stat"))
    for entry in entries:
        with contextlib.suppress(OSError, ValueError):
            state, _parent, its_group = entry.read_text(errors="replace").rpartition(")")[2].split()[:3]
            if int(its_group) == group and state not in "ZX":
                return True
    return not entries  # without /proc, the answer of `killpg` counts


# ── starting the program ─────────────────────────────────────────────────────────────────────────────────────────────


async def start_child(
    command: Sequence[str], name: str, env: Mapping[str, str] | None, secrets: frozenset[str], *, piped: bool
) -> Child:
    """Start a program, with our pipes as its descriptors 3 and 4 if it is `piped`. Raises DiscoveryError."""
    with contextlib.ExitStack() as child_ends, contextlib.ExitStack() as our_ends:

        def make_pipe(our_end: int) -> tuple[int, int]:
            ends = os.pipe()
            our_ends.callback(close_kept, keep_from_forks(ends[our_end]))
            child_ends.callback(os.close, ends[1 - our_end])
            os.set_blocking(ends[our_end], False)
            return ends

        error_fd, child_error = make_pipe(0)
        child_in = child_out = subprocess.DEVNULL
        read_fd = write_fd = -1
        if piped:
            child_in, write_fd = make_pipe(1)
            read_fd, child_out = make_pipe(0)
            _widen(write_fd)
            _widen(read_fd)
        become = _BECOME_PROGRAM_ON_A_PIPE if piped else _BECOME_PROGRAM
        try:
            process = await trio.lowlevel.open_process(
                [SHELL, "-c", become, SHELL, *command],
                stdin=child_in,
                stdout=child_out,
                stderr=child_error,
                env=env,
                start_new_session=True,
            )
        except OSError as error:
            raise DiscoveryError(
                f"{name} could not be started through {SHELL}: {error.strerror or type(error).__name__}.",
                address=name,
                stage="address",
            ) from None
        our_ends.pop_all()
    return Child(process, name, secrets, (read_fd, write_fd, error_fd))


def _widen(descriptor: int) -> None:
    """Enlarge the pipe to hold a whole batch if the system allows it: fewer process switches."""
    set_size: int | None = getattr(fcntl, "F_SETPIPE_SZ", None)
    if set_size is not None:
        with contextlib.suppress(OSError):
            fcntl.fcntl(descriptor, set_size, PIPE_BYTES)
