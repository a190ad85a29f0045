"""Domains are imported and classes are made on first use, and once; the stubs match the modules.

A separate interpreter observes what is imported and made, and prints it.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import subprocess
import sys
import threading
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import attrs
import pytest

import cdp_core
from cdp_core.bindings import Command, EnumValue, EventValue, Value, domain_names, page
from cdp_core.bindings._domain import Domain
from cdp_core.bindings._names import field_name
from cdp_core.bindings._version import MODULES
from support import protocol_values

ROOT = Path(cdp_core.__file__).parents[1]
PRELUDE = """
import json, sys
from types import ModuleType

def loaded():
    return sorted(n.rpartition(".")[2] for n in sys.modules if n.startswith("cdp_core.bindings.") and "._" not in n)

def made(module):
    return sorted(n for n in vars(module) if not n.startswith("_") and n != "DOMAIN")
"""


def printed_by(program: str) -> Any:
    """Run a program in a new interpreter; return what it prints, as JSON."""
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + program],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# ── laziness ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_engine_needs_no_bindings() -> None:
    program = "import cdp_core; print(json.dumps([n for n in sys.modules if n.startswith('cdp_core.bindings')]))"
    assert printed_by(program) == []


def test_the_bindings_alone_load_no_domain() -> None:
    assert printed_by("import cdp_core.bindings as b; b.domain_names(); b.drift(); print(json.dumps(loaded()))") == []


def test_a_domain_is_imported_without_making_anything() -> None:
    program = """
from cdp_core.bindings import page
before = loaded(), made(page)
len(dir(page)), hasattr(page, "NoSuchThing"), repr(page)
after = loaded(), made(page)
page.enable()
command = loaded(), made(page)
page.LoadEventFired(timestamp=1)
event = loaded(), made(page)
page.FrameNavigated
page.FrameNavigated(frame={}, type="Navigation")
frame = loaded(), made(page)
print(json.dumps([before, after, command, event, frame]))
"""
    before, after, command, event, frame = printed_by(program)
    assert before == after == [["page"], []]
    assert command == [["page"], ["enable"]]
    assert event == [["network", "page"], ["LoadEventFired", "enable"]], "Network.MonotonicTime is a number"
    assert frame[0] == ["network", "page"]
    assert frame[1] == ["FrameNavigated", "LoadEventFired", "NavigationType", "enable"], "Page.Frame is not made"


def test_a_class_is_made_when_a_value_that_contains_it_is_read() -> None:
    program = """
from cdp_core.bindings import from_json, page, parse_event
from cdp_core.sansio.structs import Raw
from cdp_core.sansio.messages import Event
parse_event(Event(method="Page.frameResized", raw=Raw(b"{}")))
resized = loaded(), made(page)
from_json(page.FrameNavigated, {"frame": {}, "type": "Navigation"})
print(json.dumps([resized, made(page)]))
"""
    resized, navigated = printed_by(program)
    assert resized == [["page"], ["FrameResized"]]
    assert {"Frame", "FrameNavigated", "NavigationType"} <= {*navigated}
    assert "FrameTree" not in navigated


def test_only_needed_domains_are_imported() -> None:
    """Each step imports the domains that it names; an extra import would also appear in the later lists."""
    program = """
import importlib
from cdp_core.bindings import parse_command, parse_event
from cdp_core.sansio.structs import Raw
from cdp_core.sansio.messages import Event
seen = []
parse_event(Event(method="Vendor.happened", raw=Raw(b"{}")))
seen.append(loaded())
parse_command("Runtime.evaluate", {"expression": "1"})
seen.append(loaded())
importlib.import_module("cdp_core.bindings.tethering").Accepted(port=1, connection_id="")
seen.append(loaded())
from cdp_core.bindings import log
log.enable()
log.EntryAdded
seen.append(loaded())
log.EntryAdded.__cdp_read__(Event(method="Log.entryAdded", raw=Raw(b'{"entry":{}}')))
seen.append(loaded())
print(json.dumps(seen))
"""
    nothing, runtime, tethering, unread, read = printed_by(program)
    assert nothing == []
    assert runtime == ["runtime"]
    assert tethering == ["runtime", "tethering"]
    assert unread == ["log", "runtime", "tethering"]
    assert read == ["log", "network", "runtime", "tethering"]


def test_a_star_import_gives_every_name() -> None:
    program = """
from cdp_core.bindings.page import *
names = set(globals())
from cdp_core.bindings import page
print(json.dumps([[n for n in page.__all__ if globals()[n] is not getattr(page, n)], "DOMAIN" in names]))
"""
    assert printed_by(program) == [[], False]


# ── made once ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", ["Thing", "Kind", "Number", "Happened", "act", "ActResult"])
def test_two_threads_get_one_object(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both threads start to make the object before one of them has finished."""
    module = ModuleType("bindings_test_twice")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    owner = Domain(
        module.__name__,
        "Twice",
        "",
        names={"Number": ("", "int")},
        enums={"Kind": ("", "a", "b")},
        objects={"Thing": ("", "kind:Kind", "thing?:Thing")},
        commands={"act": ("", ("kind:Kind",), ("thing:Thing",))},
        events={"happened": ("", "thing:Thing")},
    )
    module.DOMAIN = owner  # type: ignore[attr-defined]
    module.__getattr__ = owner.make  # type: ignore[method-assign]
    together = threading.Barrier(2, timeout=10)
    makers = dict(owner._makers)

    def make_together(wanted: str) -> Any:
        made = makers[wanted](wanted)
        together.wait()
        return made

    monkeypatch.setitem(owner.__dict__, "_makers", {**makers, name: make_together})
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(getattr(module, name))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found[0] is found[1] is getattr(module, name) is owner.get(name)


def test_many_threads_and_many_names() -> None:
    program = """
import threading
from cdp_core.bindings import page, runtime, network
sys.setswitchinterval(1e-6)
found, start = [], threading.Barrier(4)

def touch():
    start.wait()
    found.append([getattr(m, n) for m in (page, runtime) for n in m.__all__])

threads = [threading.Thread(target=touch) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(json.dumps([len(found), all(a is b for other in found[1:] for a, b in zip(found[0], other))]))
"""
    assert printed_by(program) == [4, True]


def test_an_unknown_name_raises() -> None:
    with pytest.raises(AttributeError, match=r"^The domain Page has no 'Navigate'; dir\(cdp_core\.bindings\.page\)"):
        _ = page.Navigate
    with pytest.raises(ImportError):
        exec("from cdp_core.bindings.page import Navigate")
    assert not hasattr(page, "__path__")


# ── names, and the stubs ─────────────────────────────────────────────────────────────────────────────────────────────


class Stub:
    """The parts of a `.pyi` file that the tests compare."""

    def __init__(self, module: ModuleType) -> None:
        assert module.__file__ is not None
        tree = ast.parse(Path(module.__file__).with_suffix(".pyi").read_text())
        self.classes = {each.name: each for each in tree.body if isinstance(each, ast.ClassDef)}
        self.functions = {each.name: each for each in tree.body if isinstance(each, ast.FunctionDef)}
        self.others = {
            target.id
            for each in tree.body
            for target in (
                each.targets
                if isinstance(each, ast.Assign)
                else [each.target]
                if isinstance(each, ast.AnnAssign)
                else []
            )
            if isinstance(target, ast.Name)
        }
        self.imported = {
            alias.asname or alias.name
            for each in tree.body
            if isinstance(each, (ast.Import, ast.ImportFrom))
            for alias in each.names
        }

    @property
    def public(self) -> set[str]:
        return {name for name in (*self.classes, *self.functions, *self.others) if not name.startswith("_")}


def annotated(body: list[ast.stmt]) -> dict[str, tuple[str, bool]]:
    """Return the annotation of each field of a class, and whether the field has a default."""
    return {
        each.target.id: (ast.unparse(each.annotation), each.value is not None)
        for each in body
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
    }


def module_of(domain: Domain) -> ModuleType:
    return importlib.import_module(domain.module)


@cache
def stub_of(domain: Domain) -> Stub:
    return Stub(module_of(domain))


def test_every_module_is_in_the_catalog() -> None:
    folder = Path(cdp_core.__file__).parent / "bindings"
    modules = {path.stem for path in folder.glob("*.py") if not path.stem.startswith("_")}
    stubs = {path.stem for path in folder.glob("*.pyi")}
    assert modules == stubs == {*MODULES.values()}
    assert {*MODULES} <= {*domain_names()}
    assert len(MODULES) == 59


def test_every_name_can_be_made_and_is_in_the_stub(domain: Domain) -> None:
    module = module_of(domain)
    names = module.__all__
    assert len(names) == len({*names})
    assert {*names} == stub_of(domain).public - {"DOMAIN"}
    made = {name: getattr(module, name) for name in names}
    assert all(made[name] is getattr(module, name) for name in names)
    assert {*names} <= {*dir(module)}
    assert len(dir(module)) == len({*dir(module)})
    for name, each in made.items():
        if isinstance(each, type) and issubclass(each, (Value, EnumValue)):
            assert (each.__name__, each.__module__) == (name, module.__name__)


def test_imports_of_stubs_are_private_or_from_typing(domain: Domain) -> None:
    stub = stub_of(domain)
    typing = {"Any", "ClassVar", "Final", "Literal", "NewType", "Sequence", "TypeAlias", "attrs", "deprecated"}
    assert {name for name in stub.imported if not name.startswith("_")} <= typing
    assert not stub.imported & stub.public


def test_classes_match_their_stubs(domain: Domain) -> None:
    module = module_of(domain)
    for name, node in stub_of(domain).classes.items():
        kind = getattr(module, name)
        (base,) = map(ast.unparse, node.bases)
        assert base == {Value: "_Value", EventValue: "_EventValue", EnumValue: "_EnumValue"}[kind.__bases__[0]]
        fields = annotated(node.body)
        if issubclass(kind, EnumValue):
            members = {name: member for name, member in vars(kind).items() if type(member) is kind}
            assert [*fields] == [*members]
            assert tuple(members.values()) == kind.members()
            assert {annotation for annotation, _ in fields.values()} <= {f"ClassVar[{name}]"}
            continue
        assert [*fields] == [field.name for field in attrs.fields(kind)]
        for field, (annotation, optional) in zip(attrs.fields(kind), fields.values(), strict=True):
            assert optional is (field.default is not attrs.NOTHING)
            assert optional is annotation.endswith(" | None") or annotation == "Any"
            assert field.kw_only
        making = [each for each in node.body if isinstance(each, ast.FunctionDef)]
        own = ", init=False" * bool(
            making
        )  # for an enumeration that may be given as text, which no annotation of a field shows
        assert [ast.unparse(each) for each in node.decorator_list] == [f"attrs.frozen(kw_only=True{own})"]
        for each in making:
            assert each.name == "__init__"
            assert [argument.arg for argument in each.args.kwonlyargs] == [*fields]
            for argument, default, (annotation, optional) in zip(
                each.args.kwonlyargs, each.args.kw_defaults, fields.values(), strict=True
            ):
                assert argument.annotation is not None
                given = ast.unparse(argument.annotation)
                assert given.replace(" | None", "").startswith(annotation.replace(" | None", "").removesuffix(", ...]"))
                assert (default is not None) is optional


def test_functions_match_their_stubs(domain: Domain) -> None:
    module = module_of(domain)
    stub = stub_of(domain)
    assert {*stub.functions} == {*map(field_name, domain.table.commands)}
    for name, node in stub.functions.items():
        parameters = inspect.signature(getattr(module, name)).parameters
        arguments = node.args
        assert not arguments.args
        assert not arguments.posonlyargs
        assert arguments.vararg is arguments.kwarg is None
        assert [each.arg for each in arguments.kwonlyargs] == [*parameters]
        for parameter, default in zip(parameters.values(), arguments.kw_defaults, strict=True):
            assert (parameter.default is None) is (default is not None)
            assert default is None or ast.unparse(default) == "None"
        result = getattr(module, name).__cdp_spec__.result
        assert node.returns is not None
        assert ast.unparse(node.returns) == f"_{Command.__name__}[{result.__name__ if result else None}]"


def test_types_of_stubs_match_the_tables(domain: Domain) -> None:
    stub = stub_of(domain)
    for item in protocol_values.items_of(domain):
        if item.kind != "command":
            fields = annotated(stub.classes[item.python_name].body)
            for field, (annotation, _) in zip(item.fields, fields.values(), strict=True):
                assert annotation.removesuffix(" | None") == written(field.type, domain.name)


PLAIN: Mapping[str, str] = {
    "str": "str",
    "int": "int",
    "num": "float",
    "bool": "bool",
    "obj": "dict[str, Any]",
    "any": "Any",
}


def written(kind: str, domain: str) -> str:
    """Return a type of a table as a stub writes it."""
    if kind.startswith("["):
        return f"tuple[{written(kind[1:-1], domain)}, ...]"
    if kind in PLAIN:
        return PLAIN[kind]
    owner, _, name = kind.rpartition(".")
    return name if owner in ("", domain) else f"_{field_name(owner)}.{name}"
