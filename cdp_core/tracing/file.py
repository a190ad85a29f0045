"""Trace files: `TraceWriter` writes one, `read_trace` reads one.

`TraceWriter` writes records to a file that only its owner may read, since a trace holds whatever went over the link.
Writing never disturbs what it records: if the disk is full or gone, recording stops, `statistics()` and one warning
report it, and the messages go on. Lines are written in portions; a program that dies loses the last portion at most,
and `TraceDecoder` accepts a line that is torn by that.

The first record is the instant 0 of the trace, whatever clock the instants come from; all links and state machines
that share a writer must share that clock. One thread uses a writer. Its writes block: they go into the system's
cache, and a slow network share is not a place for a trace.
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
"""Records that wait at most before they are written; they are lost if the program dies."""
FLUSH_BYTES: Final = 1 << 16
"""Bytes that wait at most before they are written."""

log = logging.getLogger("cdp_core.trace")


@attrs.frozen(kw_only=True)
class TraceStatistics:
    """What a writer recorded, and what it lost.

    `counts` is what passed the size limits. `stopped` is why nothing more is recorded (a short text), or None while
    recording goes on; `lost_records` counts the records after that, and those that were not yet written when the disk
    failed.
    """

    counts: TraceCounts
    bytes_written: int
    lost_records: int
    stopped: str | None


@final
class TraceWriter:
    """A writer of one trace file, which is emptied first. Raises OSError only if it cannot be opened.

    `redact` gets each message text and returns the text to record; texts above `max_message_bytes` are cut; after
    `max_bytes` nothing more is recorded, and the last line counts what was left out. Instants `at` come from one
    clock. `protocol` is for the header: the protocol that the recording program uses, by default that of the
    bindings.
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
        """Record one message, before any code acts on it."""
        t = self._time_of(at)
        if t is not None:
            self._add(self._encoder.message(direction, text, t=t, conn=conn))

    def link(self, event: LinkEvent, *, at: float, conn: str = "A", reason: str | None = None) -> None:
        """Record that a link opened or closed."""
        t = self._time_of(at)
        if t is not None:
            self._add(self._encoder.link(event, t=t, conn=conn, reason=reason))

    def mark(self, note: str, *, at: float, conn: str | None = None) -> None:
        """Record a note of the caller."""
        t = self._time_of(at)
        if t is not None:
            self._add(self._encoder.mark(note, t=t, conn=conn))

    def other(self, kind: str, fields: Mapping[str, object], *, at: float, conn: str | None = None) -> None:
        """Record something of the caller's own kind; `redact` does not see it.

        Raises InvalidArgument if it is not JSON.
        """
        t = self._time_of(at)
        if t is not None:
            self._add(self._encoder.other(kind, fields, t=t, conn=conn))

    def flush(self) -> None:
        """Write everything that waits to the system now."""
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
        """Write what waits and close the file. Idempotent; later records are only counted."""
        if self._stopped is not None:
            return
        self._begin(0.0)
        self._add(self._encoder.end(t=self._t))
        self.flush()
        if self._stopped is not None:
            return
        try:
            self._file.close()
        except OSError as error:  # some file systems report an error only now
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
        """Return the counts so far."""
        return TraceStatistics(
            counts=self._encoder.counts(),
            bytes_written=self._written,
            lost_records=self._lost,
            stopped=self._stopped,
        )

    def _time_of(self, at: float) -> float | None:
        """Return the time of a record in the trace, or None if nothing more is recorded."""
        if self._stopped is not None:
            self._lost += 1
            return None
        self._t = at - self._begin(at)
        return self._t

    def _begin(self, at: float) -> float:
        """Return the instant 0: the first call sets it, so that the wall time in the header belongs to it."""
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
    """Read the records of a trace file, one after the other.

    After the last one, `torn` is True if it was unfinished. Raises InvalidArgument, with the line number, if the
    trace cannot be read; OSError if the file cannot.
    """
    return TraceDecoder(_lines_of(path))


def _lines_of(path: str | os.PathLike[str]) -> Iterator[bytes]:
    with Path(path).open("rb") as file:
        yield from file


def _open_private(path: str, flags: int) -> int:
    descriptor = os.open(path, flags, 0o600)
    try:
        if hasattr(os, "fchmod") and S_ISREG(os.fstat(descriptor).st_mode):
            os.fchmod(descriptor, 0o600)  # otherwise an existing file keeps its mode
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
