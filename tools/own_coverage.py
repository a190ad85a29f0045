"""Check that each pure module is covered completely, branches included, by its own test file.

The rules of a module that only other modules' tests cover are written down nowhere. One run of the pure tests records
which test file executed each line and branch (one coverage context per file). Then each module of a folder in `PURE` is
judged by what `test_<module>.py` alone executed, and by what runs at import.

    python tools/own_coverage.py            # prints what is missing; exit code 1 if anything is
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import coverage

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = """
[run]
branch = true
source =
    cdp_core
    cdp_supervisor
[report]
exclude_also =
    if TYPE_CHECKING
    : \\.\\.\\.
    ^\\s*\\.\\.\\.$
"""
PURE = {"cdp_core/sansio": "tests/core/sansio", "cdp_supervisor/sansio": "tests/supervisor/sansio"}
AT_IMPORT = "^$"
PLUGIN = """
import coverage

def pytest_runtest_logstart(nodeid, location):
    coverage.Coverage.current().switch_context(nodeid.partition("::")[0])
"""


def main() -> int:
    """Run the pure tests once, judge each module, and return the exit code."""
    with tempfile.TemporaryDirectory() as folder:
        settings, store = Path(folder) / "coveragerc", Path(folder) / "data"
        settings.write_text(SETTINGS)
        (Path(folder) / "a_context_for_each_file.py").write_text(PLUGIN)
        command = [sys.executable, "-m", "coverage", "run", f"--rcfile={settings}", f"--data-file={store}"]
        command += ["-m", "pytest", "-q", "-p", "no:xdist", "-p", "a_context_for_each_file", *PURE.values()]
        environment = os.environ | {"COVERAGE_CORE": "ctrace", "HYPOTHESIS_PROFILE": "ci", "PYTHONPATH": folder}
        done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=False)
        print(done.stdout.splitlines()[-1] if done.returncode == 0 else done.stdout)
        if done.returncode:
            return done.returncode
        modules = [(module, tests) for folder, tests in PURE.items() for module in sorted((ROOT / folder).glob("*.py"))]
        missing = [line for module, tests in modules if (line := judge(module, tests, settings, store))]
    print("\n".join(missing) or f"own coverage: all {len(modules)} modules are complete")
    return 1 if missing else 0


def judge(module: Path, tests: str, settings: Path, store: Path) -> str:
    """Return the lines and branches of a module that its own tests do not execute; empty if none."""
    measured = coverage.Coverage(data_file=store, config_file=settings)
    measured.load()
    measured.get_data().set_query_contexts([AT_IMPORT, rf"{tests}/test_{module.stem}\.py$"])
    _, _, _, missing, lines = measured.analysis2(str(module))
    branches = measured._analyze(str(module)).missing_branch_arcs()
    arcs = [f"{start}→{end}" for start, ends in sorted(branches.items()) if start not in missing for end in ends]
    left_out = ", ".join([lines, *arcs] if lines else arcs)
    return f"{module.relative_to(ROOT)}: {tests}/test_{module.stem}.py does not execute {left_out}" if left_out else ""


if __name__ == "__main__":
    sys.exit(main())
