"""A trace on disk.

`TraceWriter` appends records to a file that only its owner may read, since a trace holds whatever went over the wire.
Writing never disturbs what it records: where the disk is full or gone, recording stops, `statistics()` and one warning
tell it, and the messages go on. Lines are written in portions; a program that dies loses the last portion at most, and a
line that is torn by that is what `TraceDecoder` takes for normal.

The first record is the instant 0 of the trace, whatever clock the instants come from; all links and machines that share
a writer must share that clock. One thread uses a writer. Its writes block: they go into the system's cache, and a file
on a slow network share is not the place for a trace.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from io import FileIO
from pathlib import Path
from stat import S_ISREG
from types import TracebackType
from typing import Final, final

import attrs

from cdp_core._version import PROTOCOL, __version__
from cdp_core.sansio.messages import Payload
from cdp_core.sansio.trace import (
    MAX_MESSAGE_BYTES,
    MAX_TRACE_BYTES,
    Direction,
    LinkEvent,
    Redact,
    TraceCounts,
    TraceEncoder,
)
from cdp_core.sansio.trace_reading import TraceDecoder

FLUSH_RECORDS: Final = 32
"""At most so many records wait for their way to the disk, and are lost if the program dies."""
FLUSH_BYTES: Final = 1 << 16

log = logging.getLogger("cdp_core.trace")


@attrs.frozen(kw_only=True)
class TraceStatistics:
    """What a writer did.

    `counts` is what went through the limits. `stopped` is why nothing more is recorded (a short text), or None while
    it goes on; `lost_records` counts what came after that, or was on its way to the disk when it failed.
    """

    counts: TraceCounts
    bytes_written: int
    lost_records: int
    stopped: str | None


@final
class TraceWriter:
    """Records into a file, which is emptied first. Raises OSError where it cannot be opened, and not afterwards.

    `redact` sees each message text and gives what is recorded of it; texts above `max_message_bytes` are cut; after
    `max_bytes` nothing more is recorded, and the last line says how much that was. Instants `at` come from one clock.
    `protocol` is for the header: the protocol that who records goes by, and that is the one of the bindings.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        redact: Redact | None = None,
        max_bytes: int = MAX_TRACE_BYTES,
        max_message_bytes: int = MAX_MESSAGE_BYTES,
        protocol: str | None = PROTOCOL,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self._encoder = TraceEncoder(redact=redact, max_bytes=max_bytes, max_message_bytes=max_message_bytes)
        self._protocol = protocol
        self._wall_clock = wall_clock
        self._name = Path(path).name
        self._start: float | None = None
        self._t = 0.0
        self._lines: list[bytes] = []
        self._waiting = 0
        self._written = 0
        self._lost = 0
        self._stopped: str | None = None
        self._file = FileIO(path, "wb", opener=_open_private)

    def message(self, direction: Direction, text: Payload, *, at: float, conn: str = "A") -> None:
        """Record one message, before anybody acts on it."""
        t = self._tell(at)
        if t is not None:
            self._add(self._encoder.message(direction, text, t=t, conn=conn))

    def link(self, event: LinkEvent, *, at: float, conn: str = "A", reason: str | None = None) -> None:
        """Record that a link opened or closed."""
        t = self._tell(at)
        if t is not None:
            self._add(self._encoder.link(event, t=t, conn=conn, reason=reason))

    def mark(self, note: str, *, at: float, conn: str | None = None) -> None:
        """Record a note of your own."""
        t = self._tell(at)
        if t is not None:
            self._add(self._encoder.mark(note, t=t, conn=conn))

    def other(self, kind: str, fields: Mapping[str, object], *, at: float, conn: str | None = None) -> None:
        """Record something of a kind of your own; `redact` does not see it. Raises InvalidArgument if it is no JSON."""
        t = self._tell(at)
        if t is not None:
            self._add(self._encoder.other(kind, fields, t=t, conn=conn))

    def flush(self) -> None:
        """Hand everything to the system now."""
        if self._stopped is not None:
            return
        portion = memoryview(b"".join(self._lines))
        try:
            while portion:
                written = self._file.write(portion)
                self._written += written
                portion = portion[written:]
        except OSError as error:
            self._stop(error)
            return
        self._lines, self._waiting = [], 0

    def close(self) -> None:
        """Write what is left and close the file. Idempotent; what comes afterwards is only counted."""
        if self._stopped is not None:
            return
        self._begin(0.0)
        self._add(self._encoder.end(t=self._t))
        self.flush()
        if self._stopped is not None:
            return
        try:
            self._file.close()
        except OSError as error:  # some file systems tell only now
            self._stop(error)
        else:
            self._stopped = "closed"

    def __enter__(self) -> TraceWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def statistics(self) -> TraceStatistics:
        """Counts so far."""
        return TraceStatistics(
            counts=self._encoder.counts(),
            bytes_written=self._written,
            lost_records=self._lost,
            stopped=self._stopped,
        )

    def _tell(self, at: float) -> float | None:
        """The time of a record, or None where nothing is recorded any more."""
        if self._stopped is not None:
            self._lost += 1
            return None
        self._t = at - self._begin(at)
        return self._t

    def _begin(self, at: float) -> float:
        """The instant 0: now, if there was none before, so that the wall time in the header belongs to it."""
        if self._start is None:
            self._start = at
            header = self._encoder.header(library=__version__, start=self._wall_clock(), protocol=self._protocol)
            self._add(header)
        return self._start

    def _add(self, line: bytes) -> None:
        if not line:
            return
        self._lines.append(line)
        self._waiting += len(line)
        if len(self._lines) >= FLUSH_RECORDS or self._waiting >= FLUSH_BYTES:
            self.flush()

    def _stop(self, error: OSError) -> None:
        self._stopped = error.strerror or type(error).__name__
        self._lost += len(self._lines)
        self._lines, self._waiting = [], 0
        with suppress(OSError):
            self._file.close()
        log.warning("Recording into %s stopped: %s; the messages go on unrecorded.", self._name, self._stopped)


def read_trace(path: str | os.PathLike[str]) -> TraceDecoder:
    """The records of a trace file, one after the other; after the last one, `torn` tells whether it was unfinished.

    Raises InvalidArgument, naming the line, where the trace cannot be read; OSError where the file cannot.
    """
    return TraceDecoder(_lines_of(path))


def _lines_of(path: str | os.PathLike[str]) -> Iterator[bytes]:
    with Path(path).open("rb") as file:
        yield from file


def _open_private(path: str, flags: int) -> int:
    descriptor = os.open(path, flags, 0o600)
    try:
        if hasattr(os, "fchmod") and S_ISREG(os.fstat(descriptor).st_mode):
            os.fchmod(descriptor, 0o600)  # an older file keeps its mode otherwise
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
