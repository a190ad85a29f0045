"""A browser as a child process, controlled over two pipes (`--remote-debugging-pipe`).

There is no port and no handshake, no other program can connect, and the browser's life is bound to ours: it exits
when our end of the pipe closes (fact 60), however we end. The child reads from file descriptor 3 and writes to 4;
each text ends with a NUL byte (`sansio.pipe_framing`).

* Start and end of the process: `child.py`. The shell gets the two ends as standard input and output, and moves them to
  3 and 4 before it becomes the program.
* A child that is gone within `start_grace`, without output on the pipe, could not be started: DiscoveryError with its
  exit code and the end of its standard error. Chromium needs longer for its first answer anyway.
* The end of the child is detected in two ways, since helper processes that outlive it may hold the pipe open: by the
  end of the pipe, and by its exit. What it wrote before is still received.
* A program that is no browser, or was started without `--remote-debugging-pipe`, runs and never answers:
  `first_answer` sends one command and bounds the wait for its reply.
* End: close the pipe, wait, terminate, wait, kill, with the whole process group; each step is bounded, the child is
  reaped, its descriptors are closed.

Reading is lean, since each event of the browser passes here: one wake-up reads what is available, in pieces that the
allocator has at hand (pieces of 256 KiB and more cost twenty times as much as small ones: fresh pages each time).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Literal

import attrs
import trio

from cdp_core.errors import ConnectionLost, DiscoveryError, RemoteProtocolError
from cdp_core.nurseries import background_tasks
from cdp_core.sansio.arguments import check_timeout
from cdp_core.sansio.launch_rules import FIRST_COMMAND, check_argv, is_first_reply, secrets_of
from cdp_core.sansio.messages import Payload
from cdp_core.sansio.outcomes import Loss
from cdp_core.sansio.pipe_framing import PipeReader, frame_pipe
from cdp_core.transports.child import Child, check_platform, close_kept, find_program, start_child
from cdp_core.transports.tuning import (
    DIRECT_LIMIT,
    EXIT_NOTICE,
    MAX_EARLY,
    MAX_MESSAGE_BYTES,
    PIPE_YIELD_BYTES,
    READ_BYTES,
    YIELD_BYTES,
)

Silence = Literal["end", "silence", "other"]
"""Why a program gave no first answer: it ended, it sent nothing in time, or what it sent is no answer."""


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
    check_timeout("start_grace", start_grace)
    async with start_pipe(argv, env=env, max_message_bytes=max_message_bytes, close_timeout=close_timeout) as transport:
        await transport.wait_started(start_grace)
        yield transport


@asynccontextmanager
async def start_pipe(
    argv: Sequence[str],
    /,
    *,
    env: Mapping[str, str] | None,
    max_message_bytes: int,
    close_timeout: float,
    secrets: frozenset[str] | None = None,
) -> AsyncGenerator[PipeTransport, None]:
    """Start a program as `open_pipe` does, but wait for nothing. Its errors contain none of `secrets`."""
    check_platform()
    check_timeout("close_timeout", close_timeout)
    reader = PipeReader(max_message_bytes)
    name, *arguments = check_argv(argv)
    program = find_program(name, env)
    if program is None:
        raise DiscoveryError(
            f"The program {name} was not found or cannot be executed; give its path, or add its folder to PATH.",
            address=name,
            stage="address",
        )
    hidden = secrets_of(arguments) if secrets is None else secrets
    async with background_tasks() as nursery:
        child = await start_child([program, *arguments], name, env, hidden, piped=True)
        transport = PipeTransport(child, reader, close_timeout=close_timeout)
        try:
            nursery.start_soon(transport.attend)
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

    def __init__(self, child: Child, reader: PipeReader, *, close_timeout: float) -> None:
        self.child = child
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
                await self.child.end(self._close_timeout)
        finally:
            self._attending.cancel()
            self._closing.set()

    def statistics(self) -> PipeStatistics:
        return PipeStatistics(
            sent=self._sent,
            received=self._received,
            wake_ups=self._wake_ups,
            empty_texts=self._reader.empty_texts,
            pid=self.child.process.pid,
            returncode=self.child.process.returncode,
        )

    def _check(self) -> None:
        """Raise if the link is over; a fresh exception each time."""
        violation = self._reader.violation
        if violation is not None:
            self._shut()
            raise RemoteProtocolError(
                f"{self.child.name} broke the protocol of the pipe: {violation.text}; the pipe was closed.",
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
                close_kept(descriptor)

    async def _peer_loss(self) -> Loss:
        """Return what became of the program, now that its end of the pipe is closed."""
        with trio.move_on_after(EXIT_NOTICE):
            await self.child.process.wait()
        where = " in the middle of a message" if self._reader.unfinished else ""
        if self.child.process.returncode is None:
            detail = f"{self.child.name} closed its end of the pipe{where}, but still runs; end it and start it again."
            return Loss(kind="connection", reason="peer_closed", detail=detail)
        detail = f"{self.child.name} {self.child.describe_end()}{where}; start it again."
        return Loss(kind="connection", reason="process_exited", detail=detail)

    # ── the program ──────────────────────────────────────────────────────────────────────────────────────────────────

    async def attend(self) -> None:
        """Watch the program until the link is closed: notice its exit and drain its standard error."""
        with self._attending:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self.child.drain)
                await self.child.process.wait()
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
            raise self.child.not_started()

    async def first_answer(self, seconds: float) -> Silence | None:
        """Send a first command and wait for its reply; return None, or why there was none within `seconds`.

        What arrives before the reply is kept for `receive`; the command and its reply are not counted.
        """
        other: list[Payload] = []
        try:
            with trio.move_on_after(seconds):
                await self.send([FIRST_COMMAND])
                while len(other) <= MAX_EARLY:
                    batch = await self.receive()
                    rest = [message for message in batch if not is_first_reply(message)]
                    other += rest
                    if len(rest) < len(batch):
                        self._early = other
                        self._sent = self._received = 0
                        return None
                return "other"
        except ConnectionLost:
            return "end"
        except RemoteProtocolError:
            return "other"
        return "other" if other else "silence"

    async def wait_answering(self, seconds: float) -> None:
        """Wait for the first answer. Raises DiscoveryError if there is none within `seconds`."""
        silence = await self.first_answer(seconds)
        if silence == "end":
            raise self.child.not_started()
        if silence is not None:
            failed = "sent something else than the messages of a browser" if silence == "other" else _too_slow(seconds)
            raise DiscoveryError(
                f"{self.child.name} {failed}, so it was ended; check that it is a Chromium browser.",
                address=self.child.name,
                stage="cdp",
                answered=silence,
            )


def _too_slow(seconds: float) -> str:
    return f"did not answer over its pipe within {seconds:g} s (start_timeout)"
