"""The public names: each has one home and a docstring, and the list changes only on purpose.

`public_names.txt` is that list for `cdp_core`, `cdp_core.testing` and `cdp_supervisor`, with signatures. It is read
from the source, so it is the same on every Python. To change the public surface, write the list anew and review the
difference:

    PYTHONPATH=. python tests/shape/test_exports.py
"""

from __future__ import annotations

import ast
import difflib
import importlib
import importlib.metadata
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import cdp_core
import cdp_core.testing
import cdp_supervisor
from cdp_core import _version, bindings

ROOT = Path(__file__).parents[2]
PACKAGES = {package.__name__: package for package in (cdp_core, cdp_core.testing, cdp_supervisor)}
GOLDEN = Path(__file__).with_name("public_names.txt")
MODULES_OF_NAMES = {"cdp_core.testing": ("faults", "schedules", "steps")}
"""Public modules whose names are public as the module's: `steps.Dialog`."""
WITH_A_LIST = {
    *PACKAGES,
    *(f"{package}.{module}" for package, modules in MODULES_OF_NAMES.items() for module in modules),
    "cdp_core.bindings",
    "cdp_core.sansio.structs",
    "cdp_core.testing.fake.commands",
    "cdp_core.testing.strategies",
    "cdp_supervisor.sansio.requests",
}
"""The modules with `__all__`: packages, public modules, and modules that re-export."""
NAMES = [
    f"{package}.{name}"
    for package in PACKAGES
    for name in PACKAGES[package].__all__
    if name != "__version__" and name not in MODULES_OF_NAMES.get(package, ())
]
IN_MODULES = {
    f"{package}.{module}": importlib.import_module(f"{package}.{module}").__all__
    for package, modules in MODULES_OF_NAMES.items()
    for module in modules
}
DUNDERS = {"__init__", "__enter__", "__exit__", "__aenter__", "__aexit__", "__aiter__", "__anext__", "__iter__"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def dotted(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


TREES = {
    dotted(path): ast.parse(path.read_text())
    for package in ("cdp_core", "cdp_supervisor")
    for path in sorted((ROOT / package).rglob("*.py"))
}


def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module or class, with those under a top-level `if`."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.If):
            yield from statements(statement.body)
            yield from statements(statement.orelse)


def assigned(statement: ast.stmt) -> str | None:
    """The one name that this statement assigns or annotates."""
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        return statement.targets[0].id
    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        return statement.target.id
    return None


def homes(qualified: str) -> list[str]:
    """The modules of the package that define a name, not those that only import it.

    If two test tools define the same name, its home is the module that the package imports it from.
    """
    package, _, name = qualified.rpartition(".")
    if package == "cdp_core.testing":
        return [imports_of(package)[name]]
    return [
        module
        for module, tree in TREES.items()
        if module.startswith(package) and (package != "cdp_core" or not module.startswith("cdp_core.testing"))
        if any(getattr(each, "name", None) == name or assigned(each) == name for each in statements(tree.body))
    ]


def imports_of(package: str) -> dict[str, str]:
    """The module that the package's `__init__.py` imports each name from, under `TYPE_CHECKING`."""
    return {
        name: statement.module or ""
        for statement in statements(TREES[package].body)
        if isinstance(statement, ast.ImportFrom) and (statement.module or "").startswith(package)
        for name in names_in(statement)
    }


def names_in(statement: ast.ImportFrom) -> list[str]:
    """The names that a `from … import` binds; for `*`, those of the module's list."""
    if [alias.name for alias in statement.names] == ["*"]:
        return importlib.import_module(statement.module or "").__all__
    return [alias.asname or alias.name for alias in statement.names]


# ── the names ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("package", PACKAGES)
def test_the_list_is_complete(package: str) -> None:
    exported = PACKAGES[package].__all__
    assert len(exported) == len(set(exported))
    assert set(imports_of(package)) - {"requests"} == set(exported)  # that module has the list of its names
    if package == "cdp_core":
        assert set(dir(cdp_core)) == set(exported)


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_is_defined_in_one_module(name: str) -> None:
    package, _, bare = name.rpartition(".")
    [home] = homes(name)
    assert imports_of(package)[bare] == home
    module = importlib.import_module(home)
    assert getattr(PACKAGES[package], bare) is getattr(module, bare)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        cdp_core.no_such_name  # noqa: B018 - reading it is the test


@pytest.mark.parametrize("module", TREES)
def test_only_a_package_or_a_public_module_has_a_list_of_exports(module: str) -> None:
    """An internal module has no `__all__`: only other modules of its package use its names."""
    if module.endswith(".__main__") or is_generated(module):
        return  # importing the first would run it; the second makes its list on request
    listed = any(assigned(each) == "__all__" for each in TREES[module].body)
    assert listed is (module in WITH_A_LIST), module
    for name in getattr(importlib.import_module(module), "__all__", ()):
        assert hasattr(importlib.import_module(module), name)


def is_generated(module: str) -> bool:
    """True for a domain of the bindings."""
    return module.startswith("cdp_core.bindings.") and not module.startswith("cdp_core.bindings._")


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_documented(name: str) -> None:
    [home] = homes(name)
    name = name.rpartition(".")[2]
    body = list(statements(TREES[home].body))
    for place, statement in enumerate(body):
        if getattr(statement, "name", None) == name and isinstance(statement, (ast.ClassDef, Function)):
            text = ast.get_docstring(statement)
        elif assigned(statement) == name:  # its note is the string below it
            below = body[place + 1]
            text = below.value.value if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) else None
        else:
            continue
        assert isinstance(text, str)
        assert re.search(r"\w+ .*[.:?)]", text), f"{name} in {home} has no sentence that describes it"
        return
    pytest.fail(f"{name} is nowhere in {home}")


def test_every_public_method_is_documented() -> None:
    """Except a method that a documented protocol describes: `receive` of a transport, `push` of a sink."""
    described = {
        member.name
        for tree in TREES.values()
        for node in statements(tree.body)
        if isinstance(node, ast.ClassDef) and any("Protocol" in ast.unparse(base) for base in node.bases)
        for member in node.body
        if isinstance(member, Function) and ast.get_docstring(member) is not None
    }
    missing = [
        f"{name}.{member.name}"
        for name in NAMES
        for node in class_nodes(name)
        for member in node.body
        if isinstance(member, Function) and not member.name.startswith("_") and member.name not in described
        if not is_overload(member) and ast.get_docstring(member) is None
    ]
    assert missing == []


def test_the_protocol_version_comes_from_the_bindings() -> None:
    assert _version.PROTOCOL == bindings.PROTOCOL


def test_the_version_equals_the_distributions() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+([a-z]+\d+)?", cdp_core.__version__)
    try:
        installed = importlib.metadata.version("cdp-supervisor")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("the distribution is not installed here: the package is run from the checkout")
    assert installed == cdp_core.__version__


# ── their signatures ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_public_names_equal_the_golden_file() -> None:
    now, golden = described(), GOLDEN.read_text()
    difference = "".join(difflib.unified_diff(golden.splitlines(True), now.splitlines(True), "golden", "now", n=0))
    assert not difference, (
        f"the public surface changed:\n{difference}\n"
        "If you changed it on purpose: note it in CHANGELOG.md, run `PYTHONPATH=. python tests/shape/test_exports.py`, "
        "and commit tests/shape/public_names.txt."
    )


def described() -> str:
    """Every public name with its signatures; names of a package or module follow its own name."""
    lines = [line for package in ("cdp_core", "cdp_supervisor") for line in names_of(package)]
    lines += ["# cdp_core.testing", *names_of("cdp_core.testing")]
    for module, exported in IN_MODULES.items():
        lines += [f"# {module}", *(line for name in exported for line in describe(f"{module}.{name}"))]
    return "".join(f"{line}\n" for line in lines)


def names_of(package: str) -> Iterator[str]:
    for name in NAMES:
        if name.rpartition(".")[0] == package:
            yield from describe(name)


def describe(name: str) -> Iterator[str]:
    [home] = homes(name)
    qualified, name = name, name.rpartition(".")[2]
    for statement in statements(TREES[home].body):
        if isinstance(statement, ast.ClassDef) and statement.name == name:
            bases = ", ".join(ast.unparse(each) for each in [*statement.bases, *statement.keywords])
            yield f"class {name}({bases})"
            members: dict[str, list[str]] = {}
            for node in class_nodes(qualified):  # the class itself first, so that its overrides win
                own: dict[str, list[str]] = {}
                for member, line in describe_members(node):
                    own.setdefault(member, []).append(line)
                members = own | members
            yield from (f"    {line}" for member in sorted(members) for line in members[member])
        elif isinstance(statement, Function) and statement.name == name:
            yield signature(statement)
        elif assigned(statement) == name and isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value:
            yield f"{name} = {ast.unparse(statement.value)}"


def class_nodes(name: str) -> list[ast.ClassDef]:
    """A class and its private bases of ours, since their members are members of this class."""
    package, _, bare = name.rpartition(".")
    value = getattr(importlib.import_module(package), bare)
    if not isinstance(value, type):
        return []
    return [
        statement
        for each in value.__mro__
        if each.__module__ in TREES and (each is value or f"{package}.{each.__name__}" not in NAMES)
        for statement in statements(TREES[each.__module__].body)
        if isinstance(statement, ast.ClassDef) and statement.name == each.__name__
    ]


def describe_members(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    overloaded = {each.name for each in node.body if isinstance(each, Function) and is_overload(each)}
    for member in node.body:
        if isinstance(member, Function):
            shown = member.name in DUNDERS or not member.name.startswith("_")
            if shown and (is_overload(member) or member.name not in overloaded):
                yield member.name, signature(member)
            continue
        name = assigned(member)
        if name is None or (name.startswith("_") and name not in DUNDERS):
            continue
        assert isinstance(member, (ast.Assign, ast.AnnAssign))
        kind = f": {ast.unparse(member.annotation)}" if isinstance(member, ast.AnnAssign) else ""
        yield name, f"{name}{kind}" + (f" = {ast.unparse(member.value)}" if member.value is not None else "")


def signature(node: Function) -> str:
    marks = [ast.unparse(each) for each in node.decorator_list if not isinstance(each, ast.Call)]
    words = [f"@{mark}" for mark in marks] + (["async"] if isinstance(node, ast.AsyncFunctionDef) else [])
    returns = f" -> {ast.unparse(node.returns)}" if node.returns is not None else ""
    return f"{node.name}({ast.unparse(node.args)}){returns}" + (f"  [{' '.join(words)}]" if words else "")


def is_overload(node: Function) -> bool:
    return any(isinstance(each, ast.Name) and each.id == "overload" for each in node.decorator_list)


if __name__ == "__main__":
    GOLDEN.write_text(described())
