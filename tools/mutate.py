"""Break the pure modules on purpose, one small change at a time, and see a test fail.

    python tools/mutate.py                                   # a sample of each `sansio` module; 1 if too many survive
    python tools/mutate.py cdp_core/sansio/router.py         # this module alone
    python tools/mutate.py cdp_supervisor/driver.py --tests tests/supervisor/trio
    python tools/mutate.py --each 0                          # every mutant, not a sample

A mutant differs from its module in one place: an operator, a constant, a condition, or a statement that is removed. It
runs against the module's own tests (`test_<module>.py`), and, if those pass, against the tests of the whole package.
`tools/mutants.txt` lists the mutants that no test can notice, each with the reason.

Each mutant runs in a process of its own, forked from one that has pytest and Hypothesis loaded already; the changed
module is loaded from memory, and no file is written.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib.abc
import importlib.machinery
import importlib.util
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LISTED = ROOT / "tools" / "mutants.txt"
PURE = {"cdp_core": "tests/core/sansio", "cdp_supervisor": "tests/supervisor/sansio"}
"""Package → the folder of the tests of its pure modules."""
WIDER = {
    "cdp_core": ["tests/core/sansio", "tests/core/link"],
    "cdp_supervisor": ["tests/supervisor/sansio", "tests/supervisor/laws", "tests/supervisor/traces"],
}
"""Package → the tests for mutants that survive those of their module."""
EACH, SEED, SECONDS, ENOUGH = 40, 20, 60, 0.95
SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.BitOr: ast.BitAnd,
}
UNCHANGED = ("annotation", "returns", "decorator_list", "bases")
"""Fields of nodes that are left as they are."""
OPTIONS = ["-x", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
"""Of pytest; the warning says that Hypothesis is loaded already."""


Trail = tuple[tuple[str, int | None], ...]
"""The way from a module to a node: names of fields, with a number where the field is a list."""
Change = Callable[[Any], object]


class Mutant:
    """One change of one module: what it does, in which line, and how it is made."""

    def __init__(
        self, path: Path, tree: ast.Module, line: int, source: str, what: str, trail: Trail, change: Change
    ) -> None:
        self.path = path
        self.name = f"{path.relative_to(ROOT)}: {source.strip()}: {what}"
        self.shown = f"{path.relative_to(ROOT)}:{line}: {what}: {source.strip()}"
        self._tree = tree
        self._trail = trail
        self._change = change

    def code(self) -> CodeType:
        """Return the changed module, compiled."""
        changed = copy.deepcopy(self._tree)
        self._change(reached(changed, self._trail))
        return compile(ast.fix_missing_locations(changed), str(self.path), "exec")


# ── the changes ──────────────────────────────────────────────────────────────────────────────────────────────────────


def mutants_of(path: Path) -> list[Mutant]:
    """Return every mutant of a module, in the order of its source."""
    text = path.read_text()
    lines, tree = text.splitlines(), ast.parse(text)
    found = []
    for trail, node, line in places(tree, (), 1):
        for what, change in changes_of(node, trail):
            found.append(Mutant(path, tree, line, lines[line - 1], what, trail, change))
    return found


def unchanged_module(path: Path) -> Mutant:
    """Return a module as it is: its tests must pass."""
    return Mutant(path, ast.parse(path.read_text()), 1, "", "unchanged", (), lambda _tree: None)


def places(node: ast.AST, trail: Trail, line: int) -> Iterator[tuple[Trail, ast.AST, int]]:
    """Yield each node that may be changed, with the way to it and its line."""
    for name, value in ast.iter_fields(node):
        if name in UNCHANGED or (isinstance(node, ast.ClassDef) and name == "keywords"):
            continue
        for number, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if isinstance(child, ast.AST) and not is_skipped(child):
                step, at = (*trail, (name, number)), getattr(child, "lineno", line)
                yield step, child, at
                yield from places(child, step, at)


def is_skipped(node: ast.AST) -> bool:
    if isinstance(node, (ast.Import, ast.ImportFrom, ast.Assert, ast.Raise, ast.JoinedStr)):
        return True
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return True
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True  # a docstring, or `...`
    names = {target.id for target in getattr(node, "targets", ()) if isinstance(target, ast.Name)}
    return bool(names & {"__slots__", "__all__", "log"})


def changes_of(node: ast.AST, trail: Trail) -> Iterator[tuple[str, Change]]:
    """Yield the changes of one node: what each does, and the function that does it in place."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
        yield swap_text(node.ops[0]), lambda at: at.ops.__setitem__(0, SWAPS[type(at.ops[0])]())
    elif isinstance(node, (ast.BoolOp, ast.BinOp, ast.AugAssign)) and type(node.op) in SWAPS:
        yield swap_text(node.op), lambda at: setattr(at, "op", SWAPS[type(at.op)]())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "not removed", negated
    elif isinstance(node, ast.Constant):
        yield from constants(node)
    elif isinstance(node, (ast.If, ast.While, ast.IfExp)):
        for value in (True, False):
            if not (value and isinstance(node, ast.While)):
                yield f"condition {value}", lambda at, value=value: setattr(at, "test", ast.Constant(value))
    elif isinstance(node, (ast.Expr, ast.Assign, ast.AugAssign, ast.Delete, ast.Continue, ast.Break)) and in_function(
        trail
    ):
        yield "statement removed", emptied
    elif isinstance(node, ast.Return) and node.value is not None and not is_falsy(node.value):
        yield "returns None", lambda at: setattr(at, "value", ast.Constant(None))


def constants(node: ast.Constant) -> Iterator[tuple[str, Change]]:
    value = node.value
    if isinstance(value, bool):
        yield f"{value} → {not value}", lambda at: setattr(at, "value", not value)
    elif isinstance(value, (int, float)):
        yield f"{value} → {value + 1}", lambda at: setattr(at, "value", value + 1)


def swap_text(operator: ast.AST) -> str:
    return f"{type(operator).__name__} → {SWAPS[type(operator)].__name__}"


def is_falsy(node: ast.AST) -> bool:
    """True for None, False and the empty text: None in their place is no mutant."""
    return isinstance(node, ast.Constant) and node.value in (None, False, "")


def in_function(trail: Trail) -> bool:
    """True below a function: without a statement of a module or class, the import fails."""
    return sum(name == "body" for name, _ in trail) > 1


def negated(node: ast.UnaryOp) -> None:
    """Turn `not x` into `not not x`."""
    node.operand = ast.UnaryOp(ast.Not(), node.operand)


def emptied(node: ast.stmt) -> None:
    """Turn a statement into `pass`."""
    made = ast.Pass(lineno=node.lineno, col_offset=node.col_offset)
    for name in list(node._fields):
        delattr(node, name)
    node.__class__ = ast.Pass
    node.__dict__.update(made.__dict__)


def reached(tree: ast.AST, trail: Trail) -> ast.AST:
    """Return the node at the end of a way."""
    node: object = tree
    for name, number in trail:
        node = getattr(node, name)
        if number is not None:
            node = node[number]  # type: ignore[index]
    assert isinstance(node, ast.AST)
    return node


# ── running ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class Loader(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads one module from changed code."""

    def __init__(self, name: str, path: Path, code: CodeType) -> None:
        self._name, self._path, self._code = name, path, code

    def find_spec(
        self, name: str, _path: object = None, _target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != self._name:
            return None
        spec = importlib.util.spec_from_file_location(name, self._path, loader=self)
        assert spec is not None
        return spec

    def exec_module(self, module: ModuleType) -> None:
        exec(self._code, module.__dict__)


def start(mutant: Mutant, tests: list[str]) -> int:
    """Fork a process that runs these tests on a mutant; its exit code is 0 if they pass."""
    child = os.fork()
    if child:
        return child
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    signal.alarm(SECONDS)  # a mutant that never ends is noticed
    code = 1
    try:
        import pytest  # noqa: PLC0415 - loaded by the parent already

        name = ".".join(mutant.path.relative_to(ROOT).with_suffix("").parts)
        sys.meta_path.insert(0, Loader(name, mutant.path, mutant.code()))
        code = int(pytest.main([*OPTIONS, *tests]))
    except BaseException:
        code = 1
    finally:
        os._exit(0 if code == 0 else 1)


def survivors(mutants: list[tuple[Mutant, list[list[str]]]], workers: int) -> list[Mutant]:
    """Run every mutant against its tests, the next tests where it passes; return those that pass all."""
    waiting, running, left = list(reversed(mutants)), {}, []
    while waiting or running:
        while waiting and len(running) < workers:
            mutant, stages = waiting.pop()
            running[start(mutant, stages[0])] = (mutant, stages[1:])
        child, status = os.wait()
        mutant, stages = running.pop(child)
        if status == 0 and stages:
            waiting.append((mutant, stages))
        elif status == 0:
            left.append(mutant)
            if not mutant.name.endswith("unchanged"):
                print("survived:", mutant.shown, flush=True)
    return left


def tests_of(path: Path, named: list[str]) -> list[list[str]]:
    """Return the tests of a module: its own, then those of its package."""
    if named:
        return [named]
    package = path.relative_to(ROOT).parts[0]
    own = f"{PURE[package]}/test_{path.stem}.py"
    return ([[own]] if (ROOT / own).exists() else []) + [WIDER[package]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*", help="paths of modules; all `sansio` modules if none is given")
    parser.add_argument("--tests", nargs="+", default=[], help="tests to run in place of the module's own")
    parser.add_argument("--each", type=int, default=EACH, help=f"mutants of each module ({EACH}); 0: all")
    parser.add_argument("--seed", type=int, default=SEED, help=f"the seed of the sample ({SEED})")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    os.chdir(ROOT)
    os.environ.setdefault("HYPOTHESIS_PROFILE", "mutants")
    sys.path.insert(0, str(ROOT))
    for loaded in ("pytest", "hypothesis.stateful", "trio.testing", "attrs", "msgspec", "immutables"):
        importlib.import_module(loaded)
    paths = [Path(each).resolve() for each in options.modules] or [
        path for package in PURE for path in sorted((ROOT / package / "sansio").glob("*.py")) if path.stem != "__init__"
    ]
    listed = LISTED.read_text() if LISTED.exists() else ""
    chosen: list[tuple[Mutant, list[list[str]]]] = []
    for path in paths:
        mutants = mutants_of(path)
        if options.each and len(mutants) > options.each:
            mutants = random.Random(f"{options.seed} {path.stem}").sample(mutants, options.each)
        chosen += [(mutant, tests_of(path, options.tests)) for mutant in mutants]
    begun = time.monotonic()
    unchanged = [(unchanged_module(path), [stage]) for path in paths for stage in tests_of(path, options.tests)[:1]]
    if broken := {each.path for each, _ in unchanged} - {each.path for each in survivors(unchanged, options.workers)}:
        print("These modules fail their tests without a change:", *sorted(broken))
        return 2
    left = survivors(chosen, options.workers)
    explained = [mutant for mutant in left if f"\n{mutant.name}\n" in listed]
    counted = len(chosen) - len(explained)
    killed = len(chosen) - len(left)
    share = killed / counted if counted else 1.0
    print(f"{len(chosen)} mutants of {len(paths)} modules: {killed} killed, {len(explained)} listed as equivalent,")
    print(
        f"{len(left) - len(explained)} survived; {share:.1%} of those not listed are killed, in {time.monotonic() - begun:.0f} s"
    )
    return 0 if share >= ENOUGH else 1


if __name__ == "__main__":
    raise SystemExit(main())
