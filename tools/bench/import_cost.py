"""Measure `import cdp_core`: time and resident memory in a fresh interpreter, beyond a bare one.

    python import_cost.py [--rounds 9] [[ENVIRONMENT: ]STATEMENT …] python import_cost.py "import cdp_core" "cdpuse:
    from cdp_use.client import CDPClient" "/usr/bin/python3: import json"

A statement runs in the environment with that name (one of `setup.sh`'s; default `ours`), or in the interpreter at that
path. A part before `>>` runs before the clock starts: so the cost of the bindings excludes that of `cdp_core`.

All statements run in turn, and each interpreter also with an empty statement. The time is that of the statement
alone; the memory is the resident set afterwards, minus the median of the same bare interpreter. Bytecode is compiled
beforehand, as in an installation.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
from dataclasses import dataclass

from contenders import HOME

OURS = "import cdp_core"
BINDINGS = (
    "import cdp_core >> from cdp_core.bindings import page, runtime, target; "
    "page.navigate(url=''), page.JavascriptDialogOpening, page.FrameNavigated, page.LoadEventFired, "
    "runtime.evaluate(expression=''), runtime.ConsoleAPICalled, runtime.RemoteObject, "
    "target.set_discover_targets(discover=True), target.AttachedToTarget, target.TargetInfo"
)
"""The first use of three domains."""
CDP_USE = "cdpuse: from cdp_use.client import CDPClient"
CDP_USE_TYPES = "cdpuse: from cdp_use.client import CDPClient >> from cdp_use.cdp import page, runtime, target"
DEFAULT = (
    *(OURS, BINDINGS, BINDINGS.replace(" >> ", "; "), CDP_USE, CDP_USE_TYPES, CDP_USE_TYPES.replace(" >> ", "; ")),
    *("import trio", "import trio, trio_websocket", "import msgspec", "import attrs"),
)
BARE = "pass"
ROUNDS = 9
PROBE = """
import time
{before}
started = time.perf_counter()
{statement}
seconds = time.perf_counter() - started
import sys
with open("/proc/self/status") as file:
    kib = next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))
print(seconds, kib / 1024, len(sys.modules))
"""


@dataclass(frozen=True)
class Cost:
    """The medians of one statement."""

    statement: str
    """The statement as given, with its environment."""
    milliseconds: float
    best_milliseconds: float
    megabytes: float
    modules: int
    rounds: int


def interpreter_of(statement: str) -> tuple[str, str]:
    """Return the interpreter that a statement names, and the plain statement."""
    found = re.fullmatch(r"([\w.~/-]+): (.+)", statement, re.DOTALL)
    name, plain = found.groups() if found else ("ours", statement)
    return os.path.expanduser(name) if "/" in name else str(HOME / "venvs" / name / "bin" / "python"), plain


def import_costs(statements: tuple[str, ...], *, rounds: int = ROUNDS) -> list[Cost]:
    """Measure the statements in turn.

    Raises:
        subprocess.CalledProcessError: a statement failed.
        OSError: an interpreter does not exist.
    """
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    named = {statement: interpreter_of(statement) for statement in statements}
    for python, plain in named.values():
        subprocess.run([python, "-c", plain.replace(">>", ";")], env=environment, timeout=60, check=True)
    bare = {python: (python, BARE) for python, _ in named.values()}
    samples: dict[str, list[tuple[float, float, int]]] = {name: [] for name in (*bare, *named)}
    for _ in range(rounds):
        for name, (python, plain) in (bare | named).items():
            before, _, measured = plain.rpartition(">>")
            probe = PROBE.format(before=before.strip(), statement=measured.strip())
            command = [python, "-c", probe]
            done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
            seconds, megabytes, modules = done.stdout.split()
            samples[name].append((float(seconds), float(megabytes), int(modules)))
    nothing = {python: statistics.median(megabytes for _, megabytes, _ in samples.pop(python)) for python in bare}
    return [
        Cost(
            statement=statement,
            milliseconds=statistics.median(seconds for seconds, _, _ in taken) * 1e3,
            best_milliseconds=min(seconds for seconds, _, _ in taken) * 1e3,
            megabytes=statistics.median(megabytes for _, megabytes, _ in taken) - nothing[named[statement][0]],
            modules=taken[0][2],
            rounds=rounds,
        )
        for statement, taken in samples.items()
    ]


def report(costs: list[Cost]) -> str:
    """Return the costs as a Markdown table."""
    rows = [
        f"| {cost.statement[:90]} | {cost.milliseconds:.0f} | {cost.best_milliseconds:.0f} | +{cost.megabytes:.1f} "
        f"| {cost.modules} |"
        for cost in costs
    ]
    return "\n".join(["| statement | median ms | best ms | MB over bare | modules |", "|---|---|---|---|---|", *rows])


def main() -> None:
    """Measure and print; by default the rows with an installed environment."""
    parser = argparse.ArgumentParser(description="Import time and memory in fresh interpreters.")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("statements", nargs="*")
    arguments = parser.parse_args()
    installed = tuple(each for each in DEFAULT if os.path.exists(interpreter_of(each)[0]))
    print(report(import_costs(tuple(arguments.statements) or installed, rounds=arguments.rounds)))
    for python in dict.fromkeys(interpreter_of(each)[0] for each in DEFAULT if each not in installed):
        print(f"ABSENT: {python}")


if __name__ == "__main__":
    main()
