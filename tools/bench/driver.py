"""Run one job with one Python adapter in this process, and print one line of JSON.

    python driver.py ADAPTER '{"workload": "seq", "ws": "ws://…", …}'

An adapter is a module in `adapters` with `LOOP` = "asyncio", "trio" or "none" and a class `Client` (see `measure.py`).
With "none" it has a function `run(job)` instead. `COUNT_CHILDREN = True` adds the cost of child processes.
"""

from __future__ import annotations

import importlib
import sys

import leaving
from job import Job
from meter import Meter


def main() -> None:
    """Import the adapter and its loop, and run the job."""
    name, text = sys.argv[1:]
    try:
        adapter = importlib.import_module(f"adapters.{name}")
        Meter.count_children = getattr(adapter, "COUNT_CHILDREN", False)
        importlib.import_module(f"loop_{adapter.LOOP}").run(Job.from_json(text), adapter)
    except BaseException:
        leaving.with_error()


if __name__ == "__main__":
    main()
