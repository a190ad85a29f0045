"""Which modules may import which: the contracts of `pyproject.toml`, and laws beyond them."""

from __future__ import annotations

import ast
import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("cdp_core", "cdp_supervisor")
SANSIO_MAY_IMPORT = {
    *(
        "__future__",
        "attrs",
        "base64",
        "binascii",
        "bisect",
        "codecs",
        "collections",
        "enum",
        "functools",
        "immutables",
    ),
    *("importlib", "ipaddress", "itertools", "json", "math", "msgspec", "re", "struct", "types", "typing", "urllib"),
}
SANSIO_MAY_NOT_CALL = {"open", "print", "input", "exec", "eval", "__import__", "breakpoint", "id", "hash"}
WEBSOCKET_MODULES = {f"cdp_core.transports.{name}" for name in ("websocket.fast", "websocket.connection")}
"""The client's modules; the server side of a WebSocket is in the fake browser."""
LAZY = "imports stay cheap"
"""The comments of an import inside a function: no other reason is accepted."""


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


MODULES = {module_of(path): path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))}
TREES = {module: ast.parse(path.read_text()) for module, path in MODULES.items()}
SANSIO = [module for module in MODULES if ".sansio" in module]


def imported(tree: ast.AST) -> Iterator[str]:
    """Yield every imported module below this node by its full name; for `from x import y`, both x and x.y."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "relative imports are not used here"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )


def test_the_contracts_hold() -> None:
    if importlib.util.find_spec("importlinter") is None:
        pytest.skip("import-linter is not installed")
    program = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    ran = python("-c", program)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "0 broken" in ran.stdout


@pytest.mark.parametrize("module", SANSIO)
def test_a_pure_module_imports_only_pure_modules(module: str) -> None:
    """Its imports from this project are pure or are the error tree: they reach nothing impure."""
    for name in imported(TREES[module]):
        if name in MODULES:
            assert name in SANSIO or name.endswith(".errors"), f"{module} imports {name}"
        elif name.split(".")[0] not in PACKAGES:
            assert name.split(".")[0] in SANSIO_MAY_IMPORT, f"{module} imports {name}"
        else:
            assert name.rpartition(".")[0] in MODULES, f"{module} imports {name}"


@pytest.mark.parametrize("module", SANSIO)
def test_a_pure_module_calls_nothing_impure(module: str) -> None:
    called = {node.func.id for node in ast.walk(TREES[module]) if isinstance(node, ast.Call) and is_name(node.func)}
    assert not called & SANSIO_MAY_NOT_CALL
    awaiting = [node for node in ast.walk(TREES[module]) if isinstance(node, (ast.AsyncFunctionDef, ast.Await))]
    assert awaiting == []


def is_name(node: ast.expr) -> bool:
    return isinstance(node, ast.Name)


def test_the_error_tree_imports_nothing() -> None:
    outside = {name.split(".")[0] for name in imported(TREES["cdp_core.errors"])}
    assert outside <= {"__future__", "typing", "collections"}


def test_the_pure_part_runs_without_trio() -> None:
    """Imported below an empty package, so that `cdp_core/__init__.py` and its imports are not loaded."""
    names = [module for module in SANSIO if module.startswith("cdp_core.")]
    ran = python(
        "-c",
        "import importlib, json, sys, types\n"
        "package = sys.modules['cdp_core'] = types.ModuleType('cdp_core')\n"
        "package.__path__ = ['cdp_core']\n"
        f"list(map(importlib.import_module, {names!r}))\n"
        "print(json.dumps(sorted(sys.modules)))",
    )
    assert ran.returncode == 0, ran.stderr
    loaded = {name.split(".")[0] for name in json.loads(ran.stdout)}
    assert not loaded & {"trio", "trio_websocket", "asyncio", "ssl", "wsproto", "h11", "hypothesis", "pytest"}
    ours = {name for name in json.loads(ran.stdout) if name.startswith("cdp_core")}
    assert ours <= {"cdp_core", "cdp_core.errors", *SANSIO}


def test_only_two_modules_import_trio_websocket() -> None:
    users = {module for module, tree in TREES.items() for name in imported(tree) if name.startswith("trio_websocket")}
    assert users == WEBSOCKET_MODULES


def test_only_the_demos_import_testing() -> None:
    users = {module for module, tree in TREES.items() for name in imported(tree) if name.startswith("cdp_core.testing")}
    assert {user for user in users if not user.startswith("cdp_core.testing")} <= {
        *("cdp_core.__main__", "cdp_core.demo", "cdp_supervisor.__main__", "cdp_supervisor.demo"),
    }


@pytest.mark.parametrize("module", MODULES)
def test_an_import_inside_a_function_is_marked_as_lazy(module: str) -> None:
    lines = MODULES[module].read_text().splitlines()
    for function in ast.walk(TREES[module]):
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        inner = [node.lineno for node in ast.walk(function) if isinstance(node, (ast.Import, ast.ImportFrom))]
        if inner:  # of several imports together, the first one has the reason
            line = lines[min(inner) - 1]
            assert line.endswith(LAZY), f"{module}:{min(inner)} is an import inside {function.name}"
