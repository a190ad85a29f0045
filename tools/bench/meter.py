"""Measure the cost of some work in this process: wall time, CPU time, memory.

CPU is user plus system time. Memory is the resident set: `rss_growth` is the growth at the end, `peak_growth` the
growth at the highest moment; the kernel's high-water mark is reset at the start, so warm-up does not count. For a
library that works in a child process (Playwright's Node driver) the child counts too.
"""

from __future__ import annotations

import contextlib
import os
import time
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Self

KIB_PER_MB = 1024


class Meter:
    """A context manager that measures its block; call `result()` afterwards."""

    count_children = False

    def __enter__(self) -> Self:
        self._processes = self._all_processes()
        for process in self._processes:
            with contextlib.suppress(OSError), open(f"/proc/{process}/clear_refs", "w") as file:
                file.write("5")
        self._rss_before = self._status("VmRSS")
        self._cpu_before = self._cpu()
        self._started = time.perf_counter()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._wall = time.perf_counter() - self._started
        self._cpu_used = self._cpu() - self._cpu_before
        self._peak = self._status("VmHWM")
        self._rss_after = self._status("VmRSS")

    def result(self) -> dict[str, float]:
        """Return seconds and MB (of 1,024 KiB, as the kernel counts)."""
        return {
            "wall": self._wall,
            "cpu": self._cpu_used,
            "rss_before": self._rss_before,
            "rss_growth": self._rss_after - self._rss_before,
            "peak": self._peak,
            "peak_growth": self._peak - self._rss_before,
        }

    def _cpu(self) -> float:
        total = time.process_time()
        for process in self._processes[1:]:
            with contextlib.suppress(OSError, IndexError):
                for thread in os.listdir(f"/proc/{process}/task"):
                    with open(f"/proc/{process}/task/{thread}/schedstat") as file:
                        total += int(file.read().split()[0]) / 1e9
        return total

    def _status(self, field: str) -> float:
        total = 0.0
        for process in self._processes:
            with contextlib.suppress(OSError), open(f"/proc/{process}/status") as file:
                total += sum(int(line.split()[1]) / KIB_PER_MB for line in file if line.startswith(field))
        return total

    def _all_processes(self) -> list[str]:
        """Return this process, then its descendants if they count."""
        found = [str(os.getpid())]
        if self.count_children:
            for process in found:  # grows while it is walked
                with contextlib.suppress(OSError):
                    for thread in os.listdir(f"/proc/{process}/task"):
                        with open(f"/proc/{process}/task/{thread}/children") as file:
                            found += file.read().split()
        return found
