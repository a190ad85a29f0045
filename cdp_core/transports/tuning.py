"""The sizes and times of the transports, each with the reason for its value.

The figures come from `tools/bench` on Linux, as ratios within one run; change one only with a new measurement.
"""

from __future__ import annotations

from typing import Final

MAX_MESSAGE_BYTES: Final = 256 * 2**20
"""Bytes of one message. This is Chromium's own limit for what it sends; 1 MiB, the default of trio-websocket, is less
than a screenshot."""

READ_BYTES: Final = 1 << 16
"""Bytes of one read. For larger buffers the allocator asks the kernel for fresh pages each time, which costs more
than a round trip."""
YIELD_BYTES: Final = 1 << 18
"""Bytes to read at most before other tasks run. A reader that drains a socket without a pause starves its consumers."""
LARGE_READ_BYTES: Final = 1 << 20
"""Bytes of one read into the buffer of a large message, which exists already."""
LARGE_READS_PER_YIELD: Final = 4
"""Reads of a large message before other tasks run: no consumer has anything to do until it is complete."""
DIRECT_LIMIT: Final = 1 << 16
"""Bytes of a command that is written at once; more does not fit into an empty socket buffer, so it goes to the writer
task."""

MAX_HEAD_BYTES: Final = 1 << 16
"""Bytes of the answer to a WebSocket handshake. Chromium's has less than 200."""
CLOSE_GRACE: Final = 0.1
"""Seconds in which the rest of a message above the limit may come, so that the error can name its command."""

PIPE_BYTES: Final = 1 << 20
"""Bytes of a pipe's kernel buffer, the most that Linux grants without privileges: fewer wake-ups under a flood."""
PIPE_YIELD_BYTES: Final = 1 << 20
"""As YIELD_BYTES, while the first message of a batch is incomplete: no consumer has anything to do yet."""
STDERR_BYTES: Final = 1 << 12
"""Bytes of a child's error output that are kept for the error message."""
STDERR_READS: Final = 16
"""Reads of error output in one go: a child that logs without end must not keep the reader."""
EXIT_NOTICE: Final = 1.0
"""Seconds for a child that closed its pipe to exit, so that the error can give its exit code."""
TERMINATE_TIMEOUT: Final = 1.0
"""Seconds for a child to end after SIGTERM; Chromium takes about 0.2."""
KILL_TIMEOUT: Final = 5.0
"""Seconds to wait for a killed child; the kernel can hold a dying process, and closing must stay bounded."""
GROUP_GRACE: Final = 0.25
"""Seconds for the rest of a process group to end after its leader; Chromium's helpers take less than 0.05."""
GROUP_LOOKS: Final = 0.01
"""Seconds between two looks at a process group: the system reports the end of no process but our children."""
MAX_EARLY: Final = 1000
"""Messages that are kept while the first answer is missing; Chromium sends none."""
