"""Runs the limits that block on a plain socket: the adapter's own `run(job)` does the whole work."""

from __future__ import annotations

from types import ModuleType

import leaving
from job import Job


def run(job: Job, adapter: ModuleType) -> None:
    """Measure and leave."""
    leaving.with_result(adapter.run(job))
