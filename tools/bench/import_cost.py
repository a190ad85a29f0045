"""What `import cdp_core` costs: time and resident memory in a fresh interpreter, beyond a bare one.

    python import_cost.py [--rounds 9] [--python INTERPRETER] [STATEMENT …]

A statement may have a part before `>>`, which comes before the clock starts: what the bindings cost beyond `cdp_core`.

Bare and importing interpreters take turns. Time is that of the statement alone; memory is the resident set afterwards,
minus the bare interpreter's median. Bytecode is compiled beforehand, as it is for whoever installed the package.
"""

from __future__ import annotations

import argparse
import os
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
"""The first use of three domains together."""
DEFAULT = (OURS, BINDINGS, "import trio", "import trio, trio_websocket", "import msgspec", "import attrs")
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
    """Medians of one statement."""

    statement: str
    milliseconds: float
    best_milliseconds: float
    megabytes: float
    modules: int
    rounds: int


def default_interpreter() -> str:
    """The environment that has this checkout installed."""
    return str(HOME / "venvs" / "ours" / "bin" / "python")


def import_costs(statements: tuple[str, ...], *, rounds: int = ROUNDS, python: str | None = None) -> list[Cost]:
    """Measure the statements in turn.

    Raises subprocess.CalledProcessError where a statement fails, OSError where there is no such interpreter.
    """
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    for statement in statements:
        plain = statement.replace(">>", ";")
        subprocess.run([python or default_interpreter(), "-c", plain], env=environment, timeout=60, check=True)
    samples: dict[str, list[tuple[float, float, int]]] = {statement: [] for statement in (BARE, *statements)}
    for _ in range(rounds):
        for statement, taken in samples.items():
            before, _, measured = statement.rpartition(">>")
            probe = PROBE.format(before=before.strip(), statement=measured.strip())
            command = [python or default_interpreter(), "-c", probe]
            done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
            seconds, megabytes, modules = done.stdout.split()
            taken.append((float(seconds), float(megabytes), int(modules)))
    bare = statistics.median(megabytes for _, megabytes, _ in samples.pop(BARE))
    return [
        Cost(
            statement=statement,
            milliseconds=statistics.median(seconds for seconds, _, _ in taken) * 1e3,
            best_milliseconds=min(seconds for seconds, _, _ in taken) * 1e3,
            megabytes=statistics.median(megabytes for _, megabytes, _ in taken) - bare,
            modules=taken[0][2],
            rounds=rounds,
        )
        for statement, taken in samples.items()
    ]


def report(costs: list[Cost]) -> str:
    """A Markdown table."""
    rows = [
        f"| {cost.statement[:60]} | {cost.milliseconds:.0f} | {cost.best_milliseconds:.0f} | +{cost.megabytes:.1f} "
        f"| {cost.modules} |"
        for cost in costs
    ]
    return "\n".join(["| statement | median ms | best ms | MB over bare | modules |", "|---|---|---|---|---|", *rows])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Import time and memory in fresh interpreters.")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--python", default=default_interpreter())
    parser.add_argument("statements", nargs="*", default=DEFAULT)
    arguments = parser.parse_args()
    statements = tuple(arguments.statements)
    print(report(import_costs(statements, rounds=arguments.rounds, python=arguments.python)))


if __name__ == "__main__":
    main()
