"""Run the contenders through a workload, in turn, several times, each run in a process of its own.

Contenders take turns inside a round, and the order rotates, so that a slow minute of the machine affects all of them.
No run is unbounded: one that exceeds its time is killed with all its children, and a contender that fails twice in a
workload is excluded from it.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
from collections.abc import Callable, Sequence

from contenders import HERE, Contender
from endpoint import Endpoint
from results import Run, Table
from workloads import Workload

TIMEOUT = 90.0  # seconds; the drivers themselves give up after 60 s
FAILURES_ALLOWED = 1


def run_process(contender: Contender, job: str) -> tuple[dict[str, float] | None, str]:
    """Return the measurement, or None and the reason."""
    process = subprocess.Popen(
        contender.command_line(job),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=HERE,
        env={**os.environ, **contender.environment},
        start_new_session=True,
    )
    try:
        output, errors = process.communicate(timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        return None, f"no result within {TIMEOUT:.0f} s"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    try:
        return json.loads(output.strip().splitlines()[-1]), ""
    except (IndexError, ValueError):
        return None, _reason(errors) or f"no result, exit code {process.returncode}"


def _reason(errors: str) -> str:
    """Return the line that names the error, else the last one."""
    lines = [line for line in errors.splitlines() if line.strip()]
    named = [line for line in lines if re.match(r"[\w.]*(Error|Exception)\b", line)]
    return (named or lines or [""])[-1].strip()[:160]


def measure_workload(
    workload: Workload,
    contenders: Sequence[Contender],
    endpoint: Endpoint,
    *,
    rounds: int | None,
    cpu: int | None,
    keep: Callable[[Run], None],
) -> Table:
    """Run the workload, and call `keep` with each run."""
    table = Table(workload)
    endpoint.prepare(workload)
    participants = [contender for contender in contenders if contender.takes_part(workload.kind, real=endpoint.real)]
    with endpoint.pinned(cpu):
        for number in range(rounds or workload.rounds):
            first = number % max(1, len(participants))
            for contender in participants[first:] + participants[:first]:
                failures = table.failures.get(contender.name, [])
                if len(failures) > FAILURES_ALLOWED:
                    continue
                measured, reason = run_process(contender, endpoint.job(workload))
                if measured is None:
                    table.failures[contender.name] = [*failures, reason]
                    continue
                value = workload.value(measured)
                run = Run(contender.name, contender.kind, workload.name, number, value, **measured)
                table.add(run)
                keep(run)
    return table
