"""Measure CDP clients side by side, in turn and in several rounds: one table of ratios per workload.

    python run.py                                      everything on the fake endpoint
    python run.py --check                              the workloads with goals, and a verdict on each
    python run.py --workloads seq_pinned,events1 --only ours,cdp_use --rounds 7
    python run.py --real 9222                          a Chromium with --remote-debugging-port=9222

The report goes to stdout as Markdown, each raw run as a line of JSON to `results/`. README.md explains the numbers.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path

import goals
from contenders import HERE, read_contenders
from endpoint import fake_endpoint, real_endpoint
from import_cost import BINDINGS, OURS, Cost, import_costs
from report import cast, table_of
from results import Run, Table
from rounds import measure_workload
from workloads import FAKE, REAL


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description="CDP clients side by side.")
    parser.add_argument(
        "--workloads", type=_names, default=[], help=f"some of {', '.join(FAKE)}; with --real, of {', '.join(REAL)}"
    )
    parser.add_argument("--only", type=_names, default=[], help="names of contenders")
    parser.add_argument("--kinds", type=_names, default=[], help="kinds of contenders (see contenders.py)")
    parser.add_argument("--rounds", type=int, help="number of rounds (default: each workload's own)")
    parser.add_argument("--real", type=int, metavar="PORT", help="measure on the Chromium at this debugging port")
    parser.add_argument("--pin", type=int, metavar="CPU", help="run client and endpoint on this CPU, in every workload")
    parser.add_argument("--check", action="store_true", help="judge the goals, and exit with 1 if one is missed")
    parser.add_argument("--out", type=Path, help="file for raw runs (default: a new file in results/)")
    return parser.parse_args()


def imports() -> dict[str, Cost]:
    """Measure the cost of importing this project, by statement; empty if its environment is missing."""
    try:
        return {cost.statement: cost for cost in import_costs((OURS, BINDINGS))}
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"import cost not measured: {error}", file=sys.stderr)
        return {}


def main() -> int:
    """Measure, report and judge; return the exit code."""
    options = arguments()
    known = REAL if options.real else FAKE
    chosen = options.workloads or (goals.workloads_needed() if options.check and not options.real else list(known))
    if unknown := set(chosen) - set(known):
        raise SystemExit(f"no workload is called {', '.join(sorted(unknown))}; choose from: {', '.join(known)}")
    kinds = options.kinds or (["ours", "peer"] if options.check and not options.only else [])
    contenders = read_contenders(options.only, kinds)
    present = [contender for contender in contenders if contender.present]
    print(cast(contenders), flush=True)
    out = options.out or HERE / "results" / f"{datetime.now(timezone.utc):%Y%m%d-%H%M%S}.jsonl"
    out.parent.mkdir(parents=True, exist_ok=True)
    tables: dict[str, Table] = {}
    with real_endpoint(options.real) if options.real else fake_endpoint() as endpoint, out.open("a") as file:

        def keep(run: Run) -> None:
            file.write(json.dumps(asdict(run)) + "\n")
            file.flush()

        for name in chosen:
            workload = known[name]
            cpu = options.pin
            if cpu is None and workload.pinned:
                cpu = max(os.sched_getaffinity(0))
            tables[name] = measure_workload(workload, present, endpoint, rounds=options.rounds, cpu=cpu, keep=keep)
            print(table_of(tables[name], pinned=cpu is not None), flush=True)
    if not options.check:
        return 0
    text, good = goals.check(tables, imports())
    print(text, flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
