"""Run an adapter that blocks on a plain socket: its function `run(job)` does the whole measurement."""

from __future__ import annotations

from types import ModuleType

import leaving
from job import Job


def run(job: Job, adapter: ModuleType) -> None:
    """Measure, print the result, and exit."""
    leaving.with_result(adapter.run(job))
