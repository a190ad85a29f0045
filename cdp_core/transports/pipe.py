"""A browser as a child process, controlled over two pipes (`--remote-debugging-pipe`).

There is no port and no handshake, no other program can connect, and the browser's life is bound to ours: it exits
when our end of the pipe closes (fact 60), however we end. The child reads from file descriptor 3 and writes to 4;
each text ends with a NUL byte (`sansio.pipe_framing`).

* Start: the shell gets the two ends as standard input and output, and moves them to 3 and 4 before it becomes the
  program. `pass_fds` cannot renumber, and a `preexec_fn` is neither safe with threads nor quick; subprocess and the
  shell do all of this outside of Python.
* A child that is gone within `start_grace`, without output on the pipe, could not be started: DiscoveryError with its
  exit code and the end of its standard error. Chromium needs longer for its first answer anyway.
* The end of the child is detected in two ways, since helper processes that outlive it may hold the pipe open: by the
  end of the pipe, and by its exit. What it wrote before is still received.
* End: close the pipe, wait, terminate, wait, kill; each step is bounded, the child is reaped, its descriptors are
  closed.

Reading is lean, since each event of the browser passes here: one wake-up reads what is available, in pieces that the
allocator has at hand (pieces of 256 KiB and more cost twenty times as much as small ones: fresh pages each time).
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Final, cast

import attrs
import trio

from cdp_core.errors import (
    DiscoveryError,
    InvalidArgument,
    LocalProtocolError,
    RemoteProtocolError,
)
from cdp_core.nurseries import background_tasks
from cdp_core.sansio.arguments import check_timeout
from cdp_core.sansio.messages import Payload
from cdp_core.sansio.outcomes import Loss
from cdp_core.sansio.pipe_framing import PipeReader, frame_pipe
from cdp_core.transports.tuning import (
    DIRECT_LIMIT,
    EXIT_NOTICE,
    KILL_TIMEOUT,
    MAX_MESSAGE_BYTES,
    PIPE_BYTES,
    PIPE_YIELD_BYTES,
    READ_BYTES,
    STDERR_BYTES,
    STDERR_READS,
    TERMINATE_TIMEOUT,
    YIELD_BYTES,
)

if sys.platform != "win32":
    import fcntl

SHORTEST_SECRET: Final = 6
"""Characters; the error text shows a shorter argument of the program if standard error contains it."""
_SHELL: Final = "/bin/sh"
_BECOME_PROGRAM: Final = 'exec "$@" 3<&0 4>&1 </dev/null >/dev/null'


@asynccontextmanager
async def open_pipe(
    argv: Sequence[str],
    /,
    *,
    env: Mapping[str, str] | None = None,
    max_message_bytes: int = MAX_MESSAGE_BYTES,
    close_timeout: float = 2.0,
    start_grace: float = 0.1,
) -> AsyncGenerator[PipeTransport, None]:
    """Start a program and hold the link to it for the body; the program ends with the body.

    `argv[0]` is looked up in the PATH of `env`. `close_timeout` is how long the program may take to exit after its
    pipe was closed.

    Raises DiscoveryError if the program does not exist (stage `"address"`) or is gone within `start_grace` without
    output on the pipe (stage `"cdp"`).
    """
    if sys.platform == "win32":
        raise LocalProtocolError(
            "A browser cannot be controlled over a pipe on this system; start it with --remote-debugging-port.",
            reason="unsupported",
        )
    check_timeout("close_timeout", close_timeout)
    check_timeout("start_grace", start_grace)
    reader = PipeReader(max_message_bytes)
    program = _find(argv, env)
    async with background_tasks() as nursery:
        child = await _start([program, *argv[1:]], argv[0], env)
        transport = PipeTransport(child, reader, close_timeout=close_timeout)
        try:
            nursery.start_soon(transport.attend)
            await transport.wait_started(start_grace)
            yield transport
        finally:
            await transport.aclose()


@attrs.frozen(kw_only=True)
class PipeStatistics:
    """The counts of one pipe. `returncode` is None while the program runs."""

    sent: int
    received: int
    wake_ups: int
    empty_texts: int
    pid: int
    returncode: int | None


class PipeTransport:
    """The transport to a child process; `open_pipe` makes it."""

    def __init__(self, child: _Child, reader: PipeReader, *, close_timeout: float) -> None:
        self._child = child
        self._reader = reader
        self._close_timeout = close_timeout
        self._read_fd, self._write_fd = child.read_fd, child.write_fd
        self._early: list[Payload] = []
        self._tail = b""
        self._writing = False
        self._eof = self._exited = False
        self._sent = self._received = self._wake_ups = 0
        self._loss: Loss | None = None
        self._closing: trio.Event | None = None
        # Shielded: `attend` must run while the program is being ended, whatever is cancelled around it.
        self._attending = trio.CancelScope(shield=True)

    # ── receiving ────────────────────────────────────────────────────────────────────────────────────────────────────

    async def receive(self) -> Sequence[Payload]:
        """Receive messages. Raises RemoteProtocolError after a message above the size limit."""
        while True:
            if self._early:
                await trio.lowlevel.checkpoint()
                messages, self._early = self._early, []
            else:
                self._check()
                await self._wait_readable()
                messages = self._read()
            if messages:
                self._received += len(messages)
                return messages
            if self._eof and self._loss is None:
                loss = await self._peer_loss()
                self._loss = self._loss or loss  # the first reason counts; a close may have come meanwhile

    def _read(self) -> list[Payload]:
        """Read what is available, up to a limit; note the end of the pipe."""
        messages: list[Payload] = []
        if self._eof or self._read_fd < 0:
            return messages
        self._wake_ups += 1
        size = 0
        while size < (YIELD_BYTES if messages else PIPE_YIELD_BYTES):
            try:
                data = os.read(self._read_fd, READ_BYTES)
            except BlockingIOError:
                self._eof = self._exited  # helper processes may hold the pipe open, but they send nothing
                break
            if not data:
                self._eof = True
                break
            texts = self._reader.feed(data)
            if messages:
                messages += texts
            else:
                messages = texts
            size += len(data)
            if len(data) < READ_BYTES:
                break
        return messages

    async def _wait_readable(self) -> None:
        if self._exited:
            await trio.lowlevel.checkpoint()
            return
        # ClosedResourceError: closed here, which `_check` reports, or the program exited and may have left data.
        with contextlib.suppress(trio.ClosedResourceError):
            await trio.lowlevel.wait_readable(self._read_fd)

    # ── sending ──────────────────────────────────────────────────────────────────────────────────────────────────────

    async def send(self, batch: Sequence[bytes], /) -> None:
        """Send the batch in one joined write."""
        octets = b"".join([frame_pipe(text) for text in batch])
        await trio.lowlevel.checkpoint()
        self._check()
        if self._writing:
            raise trio.BusyResourceError("another task sends already")
        self._writing = True
        try:
            await self._write(memoryview(self._tail + octets))
        finally:
            self._writing = False
        self._sent += len(batch)

    def send_now(self, text: bytes, /) -> bool:
        if self._tail or self._writing or self._write_fd < 0 or len(text) > DIRECT_LIMIT:
            return False
        octets = frame_pipe(text)
        try:
            sent = os.write(self._write_fd, octets)
        except OSError:  # temporary or final: `send` finds out
            return False
        self._tail = octets[sent:]
        self._sent += 1
        return True

    @property
    def unsent(self) -> bool:
        return bool(self._tail)

    async def _write(self, octets: memoryview) -> None:
        written = 0
        try:
            while written < len(octets):
                with contextlib.suppress(BlockingIOError):
                    written += os.write(self._write_fd, octets[written:])
                if written < len(octets):
                    await self._wait_writable()
        except BrokenPipeError:
            raise (await self._peer_loss()).error() from None
        except BaseException:
            if written and self._loss is None:
                # A text was cut in its middle, and the next one would be read as its rest.
                self._lose("write_cut", "A message was cut in the middle of being sent, so the link was ended.")
            raise
        self._tail = b""

    async def _wait_writable(self) -> None:
        with contextlib.suppress(trio.ClosedResourceError):
            await trio.lowlevel.wait_writable(self._write_fd)
        self._check()
        if self._exited:
            raise BrokenPipeError  # even if a helper process holds the pipe open

    # ── the end ──────────────────────────────────────────────────────────────────────────────────────────────────────

    async def aclose(self) -> None:
        """End the link and the program, by force if necessary. A second caller waits for the first."""
        if self._closing is not None:
            await self._closing.wait()
            return
        self._closing = trio.Event()
        self._lose("closed", "The link was closed here.")
        try:
            with trio.CancelScope(shield=True):
                await self._child.end(self._close_timeout)
        finally:
            self._attending.cancel()
            self._closing.set()

    def statistics(self) -> PipeStatistics:
        return PipeStatistics(
            sent=self._sent,
            received=self._received,
            wake_ups=self._wake_ups,
            empty_texts=self._reader.empty_texts,
            pid=self._child.process.pid,
            returncode=self._child.process.returncode,
        )

    def _check(self) -> None:
        """Raise if the link is over; a fresh exception each time."""
        violation = self._reader.violation
        if violation is not None:
            self._shut()
            raise RemoteProtocolError(
                f"{self._child.name} broke the protocol of the pipe: {violation.text}; the pipe was closed.",
                close_code=violation.code,
                command_id=violation.command_id,
            )
        if self._loss is not None:
            raise self._loss.error()

    def _lose(self, reason: str, detail: str) -> None:
        """End the link from this side; the first reason counts."""
        if self._loss is None:
            self._loss = Loss(kind="connection", reason=reason, detail=detail)
        self._early = []
        self._shut()

    def _shut(self) -> None:
        """Close our ends, which makes a browser exit, and wake every task that waits on them. Idempotent."""
        descriptors, self._read_fd, self._write_fd = (self._read_fd, self._write_fd), -1, -1
        for descriptor in descriptors:
            if descriptor >= 0:
                trio.lowlevel.notify_closing(descriptor)
                os.close(descriptor)

    async def _peer_loss(self) -> Loss:
        """Return what became of the program, now that its end of the pipe is closed."""
        with trio.move_on_after(EXIT_NOTICE):
            await self._child.process.wait()
        where = " in the middle of a message" if self._reader.unfinished else ""
        if self._child.process.returncode is None:
            detail = f"{self._child.name} closed its end of the pipe{where}, but still runs; end it and start it again."
            return Loss(kind="connection", reason="peer_closed", detail=detail)
        detail = f"{self._child.name} {self._child.describe_end()}{where}; start it again."
        return Loss(kind="connection", reason="process_exited", detail=detail)

    # ── the program ──────────────────────────────────────────────────────────────────────────────────────────────────

    async def attend(self) -> None:
        """Watch the program until the link is closed: notice its exit and drain its standard error."""
        with self._attending:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._child.drain)
                await self._child.process.wait()
                self._exited = True
                for descriptor in (self._read_fd, self._write_fd):
                    if descriptor >= 0:
                        trio.lowlevel.notify_closing(descriptor)

    async def wait_started(self, grace: float) -> None:
        """Wait for the first output, up to `grace` seconds. Raises DiscoveryError if the program ends."""
        with trio.move_on_after(grace):
            await self._wait_readable()
        self._early = self._read()
        if self._eof and not self._early:
            await self._peer_loss()
            raise self._child.not_started()


class _Child:
    """The child process, and the end of its standard error."""

    def __init__(self, process: trio.Process, name: str, arguments: Sequence[str], fds: tuple[int, int, int]) -> None:
        self.process = process
        self.name = name
        self.read_fd, self.write_fd, self._error_fd = fds
        self._arguments = arguments
        self._errors = b""

    def describe_end(self) -> str:
        """Describe how the program ended."""
        code = self.process.returncode
        if code is None:
            return "closed its end of the pipe"
        if code >= 0:
            return f"exited with code {code}"
        try:
            return f"was killed by {signal.Signals(-code).name}"
        except ValueError:
            return f"was killed by signal {-code}"

    def not_started(self) -> DiscoveryError:
        """Return the error for a program that ended at once."""
        with contextlib.suppress(BlockingIOError):
            for _ in range(STDERR_READS):
                self._read_errors()
        stderr_text = self._stderr_tail()
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

    async def drain(self) -> None:
        """Read standard error to its end: a program stops when its output is not read."""
        with contextlib.suppress(trio.ClosedResourceError):
            while self._error_fd >= 0:
                await trio.lowlevel.wait_readable(self._error_fd)
                with contextlib.suppress(BlockingIOError):
                    if not self._read_errors():
                        return

    async def end(self, exit_timeout: float) -> None:
        """Wait for the exit, then terminate, then kill; each step is bounded."""
        try:
            with trio.move_on_after(exit_timeout):
                await self.process.wait()
            if self.process.returncode is None:
                self.process.terminate()
                with trio.move_on_after(TERMINATE_TIMEOUT):
                    await self.process.wait()
            if self.process.returncode is None:
                # It leads a process group of its own, so its helper processes are killed too.
                with contextlib.suppress(ProcessLookupError, PermissionError):  # it exited meanwhile
                    os.killpg(self.process.pid, signal.SIGKILL)
                with trio.move_on_after(KILL_TIMEOUT):
                    await self.process.wait()
        finally:
            descriptor, self._error_fd = self._error_fd, -1
            trio.lowlevel.notify_closing(descriptor)
            os.close(descriptor)

    def _read_errors(self) -> bool:
        """Read what is available; return False at the end. Raises BlockingIOError if nothing is available."""
        if self._error_fd < 0:  # closed before this task ran again; the number may belong to another file by now
            return False
        data = os.read(self._error_fd, READ_BYTES)
        self._errors = (self._errors + data)[-STDERR_BYTES:]
        return bool(data)

    def _stderr_tail(self) -> str:
        """Return the end of standard error without the program's arguments, which may hold tokens."""
        text = self._errors.decode(errors="replace")
        if len(self._errors) == STDERR_BYTES:  # the first line is cut, perhaps in the middle of an argument
            text = text.partition("\n")[2]
        secrets = {part for argument in self._arguments for part in (argument, argument.partition("=")[2])}
        for secret in sorted(secrets, key=len, reverse=True):
            if len(secret) >= SHORTEST_SECRET:
                text = text.replace(secret, "[argument]")
        return " ".join("".join(char if char.isprintable() else " " for char in text).split())


# ── starting the program ─────────────────────────────────────────────────────────────────────────────────────────────


def _find(argv: Sequence[str], env: Mapping[str, str] | None) -> str:
    # Callers without a type checker pass one string, or a value that is not a sequence.
    if isinstance(argv, (str, bytes)) or not hasattr(argv, "__getitem__") or not argv or not argv[0]:
        raise InvalidArgument("argv must be a sequence of strings: the program and its arguments.")
    given = cast("Sequence[object]", argv)
    if any(not isinstance(argument, str) or "\0" in argument for argument in given):
        raise InvalidArgument("An argument of a program is a string without a NUL byte.")
    program = shutil.which(argv[0], path=None if env is None else env.get("PATH", os.defpath))
    if program is None:
        raise DiscoveryError(
            f"The program {argv[0]} was not found or cannot be executed; give its path, or add its folder to PATH.",
            address=argv[0],
            stage="address",
        )
    return program


async def _start(command: Sequence[str], name: str, env: Mapping[str, str] | None) -> _Child:
    with contextlib.ExitStack() as child_ends, contextlib.ExitStack() as our_ends:
        (child_in, write_fd), (read_fd, child_out), (error_fd, child_error) = os.pipe(), os.pipe(), os.pipe()
        for descriptor in (child_in, child_out, child_error):
            child_ends.callback(os.close, descriptor)
        for descriptor in (write_fd, read_fd, error_fd):
            our_ends.callback(os.close, descriptor)
            os.set_blocking(descriptor, False)
        _widen(write_fd)
        _widen(read_fd)
        try:
            # In a session of its own it gets no Ctrl-C of the terminal, and its whole group can be killed.
            process = await trio.lowlevel.open_process(
                [_SHELL, "-c", _BECOME_PROGRAM, _SHELL, *command],
                stdin=child_in,
                stdout=child_out,
                stderr=child_error,
                env=env,
                start_new_session=True,
            )
        except OSError as error:
            raise DiscoveryError(
                f"{name} could not be started through {_SHELL}: {error.strerror or type(error).__name__}.",
                address=name,
                stage="address",
            ) from None
        our_ends.pop_all()
    return _Child(process, name, command[1:], (read_fd, write_fd, error_fd))


def _widen(descriptor: int) -> None:
    """Enlarge the pipe to hold a whole batch if the system allows it: fewer process switches."""
    set_size: int | None = getattr(fcntl, "F_SETPIPE_SZ", None)
    if set_size is not None:
        with contextlib.suppress(OSError):
            fcntl.fcntl(descriptor, set_size, PIPE_BYTES)
