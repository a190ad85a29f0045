"""`tools/gen_bindings.py`, and `python -m cdp_core.bindings generate`, which it calls.

The same source gives the same bytes; either all files are written or none; mypy and pyright accept the stubs.

No test needs a network: the tests write the protocols, a small script replaces npm, and the committed bindings are
generated again from their own tables.
"""

from __future__ import annotations

import errno
import functools
import importlib
import importlib.util
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import cdp_core.bindings
from cdp_core.bindings import _catalog, _generate, _source, from_json, parse_command, parse_event, register, to_json
from cdp_core.bindings.__main__ import main as bindings_main
from cdp_core.bindings._tables import PLAIN_TYPES, Table, Texts, parse_field, read_protocol
from cdp_core.bindings._version import MODULES
from cdp_core.sansio.messages import Event, decode

Json = dict[str, Any]
Npm = Callable[..., None]
Run = Callable[..., tuple[int, str, str]]
ROOT = Path(__file__).parents[3]
SCRIPT = ROOT / "tools" / "gen_bindings.py"
COMMITTED = Path(cdp_core.bindings.__file__).parent
VENDOR = Path(__file__).with_name("vendor")
STRING = {"type": "string"}


def described(*domains: object) -> Json:
    return {"version": {"major": "1", "minor": "3"}, "domains": list(domains)}


def write(path: Path, content: object) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    """The module that the script calls."""
    return _generate


@pytest.fixture(scope="module")
def script() -> Iterator[ModuleType]:
    """The script, imported."""
    path = list(sys.path)
    yield loaded(SCRIPT)
    sys.path[:] = path


def loaded(path: Path) -> ModuleType:
    """Load a file as a new module, unaffected by changes to the imported one."""
    spec = importlib.util.spec_from_file_location(f"loaded_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def run(script: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the script in this process; return its exit code, its output and its error text."""

    def call(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["gen_bindings.py", *map(str, arguments)])
        code = script.main()
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


def as_program(*arguments: object, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT), *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


FIRST = described(
    {
        "domain": "DOMThing",
        "experimental": True,
        "types": [{"id": "NodeId", "type": "integer"}, {"id": "Kind", **STRING, "enum": ["a-b", "caf\u00e9"]}],
        "commands": [
            {
                "name": "getNode",
                "parameters": [{"name": "nodeId", "$ref": "NodeId"}],
                "returns": [{"name": "where", "$ref": "Runtimes.Place"}],
            }
        ],
    }
)
SECOND = described(
    {
        "domain": "Runtimes",
        "types": [{"id": "Place", "type": "object", "properties": [{"name": "kind", "$ref": "DOMThing.Kind"}]}],
        "events": [{"name": "came", "deprecated": True, "parameters": [{"name": "at", "type": "number"}]}],
    }
)


@pytest.fixture
def two_files(tmp_path: Path) -> tuple[Path, Path]:
    return write(tmp_path / "first.json", FIRST), write(tmp_path / "second.json", SECOND)


# ── generated files ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_two_files_become_a_package(run: Run, two_files: tuple[Path, Path], tmp_path: Path) -> None:
    code, printed, error = run(*two_files, "--out", tmp_path / "out")
    assert (code, error) == (0, "")
    assert printed == (
        f"{tmp_path / 'out'}: 2 domains, 1 commands, 1 events, 3 types and enumerations, of first.json and second.json\n"
    )
    written = files_of(tmp_path / "out")
    assert set(written) == {"_version.py", "dom_thing.py", "dom_thing.pyi", "runtimes.py", "runtimes.pyi"}
    assert b'PROTOCOL = "first.json and second.json"' in written["_version.py"]
    assert b'"DOMThing": "dom_thing"' in written["_version.py"]
    for name, text in written.items():
        assert b"enerated by tools/gen_bindings.py" in text
        assert text.endswith(b"\n")
        if name != "_version.py":
            assert b"from first.json and second.json; do not edit." in text


def test_the_same_source_gives_the_same_bytes(run: Run, two_files: tuple[Path, Path], tmp_path: Path) -> None:
    """In any folder, process, locale and hash order; another file order only changes the order of names."""
    assert run(*two_files, "--out", tmp_path / "one")[0] == 0
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "cdp_core").mkdir(parents=True)  # ruff would treat the package as first-party if it looked here
    ran = as_program(
        *two_files,
        "--out",
        tmp_path / "two",
        cwd=elsewhere,
        PYTHONHASHSEED="7",
        LC_ALL="C",
        PYTHONUTF8="0",
        PYTHONCOERCECLOCALE="0",
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert files_of(tmp_path / "one") == files_of(tmp_path / "two")
    assert run(*reversed(two_files), "--out", tmp_path / "three")[0] == 0
    turned = {
        name: text.replace(b"second.json and first.json", b"first.json and second.json")
        for name, text in (files_of(tmp_path / "three").items())
    }
    assert turned == files_of(tmp_path / "one")


def test_writing_again_changes_nothing(run: Run, two_files: tuple[Path, Path], tmp_path: Path) -> None:
    for _ in range(2):
        assert run(*two_files, "--out", tmp_path / "out")[0] == 0
    first = files_of(tmp_path / "out")
    assert len(first) == 5
    assert run(*two_files, "--out", tmp_path / "out")[0] == 0
    assert files_of(tmp_path / "out") == first


def test_check_lists_the_files_that_would_differ(run: Run, two_files: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    checking = (*two_files, "--out", out, "--check")
    code, printed, _ = run(*checking)
    assert code == 1
    assert printed == (
        f"{out} differs from the bindings of first.json and second.json: _version.py, dom_thing.py, dom_thing.pyi, runtimes.py, "
        "runtimes.pyi; run tools/gen_bindings.py\n"
    )
    assert not out.exists()
    run(*two_files, "--out", out)
    code, printed, _ = run(*checking)
    assert (code, printed) == (0, f"{out} has the bindings of first.json and second.json (5 files)\n")
    (out / "runtimes.pyi").write_bytes((out / "runtimes.pyi").read_bytes().replace(b"\n", b"\r\n"))
    (out / "dom_thing.py").unlink()
    before = files_of(out)
    code, printed, _ = run(*checking)
    assert code == 1
    assert ": dom_thing.py, runtimes.pyi; run" in printed
    assert files_of(out) == before


def test_drop_deletes_the_generated_files_of_missing_domains(
    run: Run, two_files: tuple[Path, Path], tmp_path: Path
) -> None:
    """Files that the script did not generate stay."""
    out = tmp_path / "out"
    run(*two_files, "--out", out)
    mine = {"mine.py": b"x = 1\n", "_own.py": b"y = 1\n", "odd.py": b"\xff", "quotes.py": b'"Generated by tools/"\n'}
    for name, text in mine.items():
        (out / name).write_bytes(text)
    alone = write(tmp_path / "alone.json", described({"domain": "Alone"}))
    code, printed, _ = run(alone, "--out", out, "--check")
    assert code == 1
    assert ": _version.py, alone.py, alone.pyi, dom_thing.py, dom_thing.pyi, runtimes.py, runtimes.pyi; run" in printed
    assert run(alone, "--out", out, "--drop")[0] == 0
    assert set(files_of(out)) == {"_version.py", "alone.py", "alone.pyi", *mine}
    assert {name: text for name, text in files_of(out).items() if name in mine} == mine
    assert run(alone, "--out", out, "--check")[0] == 0


# ── the committed bindings ───────────────────────────────────────────────────────────────────────────────────────────

JSON_TYPES = {kind: name for name, kind in PLAIN_TYPES.items() if name != "binary"}


def to_protocol(tables: list[Table]) -> Json:
    """Convert tables to JSON that `read_protocol` converts back; every enumeration gets a name."""
    return described(*map(domain_of, tables))


def domain_of(table: Table) -> Json:
    return {
        "domain": table.name,
        **marks_of(table.marks),
        "types": [
            *({"id": name, **marks_of(marks), **type_of(kind)} for name, (marks, kind) in table.names.items()),
            *(
                {"id": name, **marks_of(marks), **STRING, "enum": members}
                for name, (marks, *members) in table.enums.items()
            ),
            *(
                {"id": name, **marks_of(marks), "type": "object", "properties": fields_of(tuple(fields))}
                for name, (marks, *fields) in table.objects.items()
            ),
        ],
        "commands": [
            {"name": name, **marks_of(marks), "parameters": fields_of(params), "returns": fields_of(returns)}
            for name, (marks, params, returns) in table.commands.items()
        ],
        "events": [
            {"name": name, **marks_of(marks), "parameters": fields_of(tuple(fields))}
            for name, (marks, *fields) in table.events.items()
        ],
    }


def marks_of(marks: str) -> Json:
    return {"experimental": "~" in marks, "deprecated": "!" in marks}


def fields_of(texts: Texts) -> list[Json]:
    return [
        {
            "name": field.wire,
            "optional": field.optional,
            "experimental": field.experimental,
            "deprecated": field.deprecated,
            **type_of(field.type),
        }
        for field in map(parse_field, texts)
    ]


def type_of(kind: str) -> Json:
    if kind.startswith("["):
        return {"type": "array", "items": type_of(kind[1:-1])}
    return {"type": JSON_TYPES[kind]} if kind in JSON_TYPES else {"$ref": kind}


def test_the_committed_bindings_match_their_own_tables(generator: ModuleType) -> None:
    tables: list[Table] = [loaded(COMMITTED / f"{name}.py").DOMAIN.table for name in MODULES.values()]
    again = read_protocol(("again.json", json.loads(json.dumps(to_protocol(tables)))))
    assert list(again.values()) == tables
    files = generator.write_all(cdp_core.bindings.PROTOCOL, again, "cdp_core.bindings", [])
    assert len(files) == 2 * len(tables) + 1 >= 119
    different = [name for name, text in files.items() if (COMMITTED / name).read_bytes() != text.encode()]
    assert different == []
    assert generator.stale(files, COMMITTED) == []
    assert generator.PINNED in cdp_core.bindings.PROTOCOL


# ── domains of another package ───────────────────────────────────────────────────────────────────────────────────────


def test_the_vendor_s_package_matches_its_protocol(run: Run) -> None:
    code, printed, error = run(VENDOR / "acme.json", "--package", "acme_cdp", "--out", VENDOR / "acme_cdp", "--check")
    assert (code, error) == (0, ""), printed
    assert printed.endswith("has the bindings of acme.json (4 files)\n")


def test_a_package_is_written_to_the_folder_of_its_name(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, two_files: tuple[Path, Path]
) -> None:
    monkeypatch.chdir(tmp_path)
    kept = tmp_path / "my_vendor" / "cdp" / "mine.py"
    kept.parent.mkdir(parents=True)
    kept.write_text('"""Mine.\n\nGenerated by `python -m cdp_core.bindings generate` from a.json; do not edit.\n"""\n')
    assert run(*two_files, "--package", "my_vendor.cdp")[0] == 0
    assert {path.name for path in kept.parent.iterdir()} == {
        "mine.py",
        "dom_thing.py",
        "dom_thing.pyi",
        "runtimes.py",
        "runtimes.pyi",
    }
    assert "from my_vendor.cdp import runtimes as _runtimes" in (kept.parent / "dom_thing.pyi").read_text()
    assert run(*two_files, "--package", "my_vendor.cdp", "--check")[0] == 0


def test_a_package_may_have_a_selection_of_the_domains(run: Run, tmp_path: Path) -> None:
    """Every other domain that it refers to must be installed, where the modules will look for it."""
    field = {"name": "f", "$ref": "Page.FrameId"}
    page = {"domain": "Page", "types": [{"id": "FrameId", **STRING}]}
    one = {"domain": "Aa", "events": [{"name": "came", "parameters": [field]}]}
    two = {"domain": "Bb", "events": [{"name": "came", "parameters": [{"name": "f", "$ref": "Cc.T"}]}]}
    three = {"domain": "Cc", "types": [{"id": "T", **STRING}]}
    whole = write(tmp_path / "whole.json", described(page, one, two, three))
    code, printed, _ = run(whole, "--package", "p", "--domains", "Aa", "--out", tmp_path / "p")
    assert code == 0
    assert "1 domains, 0 commands, 1 events" in printed
    assert set(files_of(tmp_path / "p")) == {"aa.py", "aa.pyi"}
    assert "from cdp_core.bindings import page as _page" in (tmp_path / "p" / "aa.pyi").read_text()
    assert run(whole, "--package", "p", "--domains", "Bb,Cc", "--out", tmp_path / "q")[0] == 0
    assert "from p import cc as _cc" in (tmp_path / "q" / "bb.pyi").read_text()
    code, _, error = run(whole, "--package", "p", "--domains", "Bb", "--out", tmp_path / "r")
    assert (code, error) == (
        2,
        "gen_bindings: Bb refers to Cc.T, which is not installed; name its domain with --domains too.\n",
    )
    assert not (tmp_path / "r").exists()
    newer = {"domain": "Page", "types": [{"id": "Hologram", **STRING}]}
    one["events"][0]["parameters"][0]["$ref"] = "Page.Hologram"  # type: ignore[index]
    write(whole, described(newer, one))
    code, _, error = run(whole, "--package", "p", "--domains", "Aa", "--out", tmp_path / "r")
    assert (code, error) == (
        2,
        "gen_bindings: Aa refers to Page.Hologram, which is not installed; name its domain with --domains too.\n",
    )


# ── bad input ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def written(generator: ModuleType) -> dict[str, str]:
    """The files that are generated from the two protocol files."""
    tables = read_protocol(("first.json", FIRST), ("second.json", SECOND))
    files: dict[str, str] = generator.write_all("first.json and second.json", tables, "cdp_core.bindings", [])
    return files


@pytest.fixture
def refused(run: Run, tmp_path: Path, written: dict[str, str]) -> Callable[..., str]:
    """Run the script on existing bindings; it must exit with 2, print one line and change no file."""
    out = tmp_path / "out"
    out.mkdir()
    for name, text in written.items():
        write(out / name, text)

    def call(*arguments: object) -> str:
        before, names = files_of(tmp_path), sorted(tmp_path.rglob("*"))
        code, printed, error = run(*arguments, "--out", out)
        assert (code, printed) == (2, "")
        assert error.startswith("gen_bindings: ")
        assert error.count("\n") == 1
        assert error.endswith("\n")
        assert len(error) < 600
        assert files_of(tmp_path) == before
        assert sorted(tmp_path.rglob("*")) == names
        return error.removeprefix("gen_bindings: ").strip()

    return call


def domain(**parts: object) -> Json:
    return {"domain": "Aa", **parts}


def type_called(name: str) -> Json:
    return domain(types=[{"id": name, "type": "object", "properties": []}])


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("[]", "a.json is not a protocol description: it has no list of domains."),
        (described(), "a.json is not a protocol description: its list of domains is empty."),
        (
            described({"domain": "A" * 300}),
            f"a.json: '{'A' * 47}...{'A' * 48}' is not a name for a domain (number 0 of the list).",
        ),
        (described(7), "a.json: domain 0 is not a JSON object."),
        (described(domain(), domain()), "a.json: the domain Aa is described twice."),
        (
            described({"domain": "DOMStorage"}, {"domain": "DomStorage"}),
            "a.json: among the domains, 'DOMStorage' and 'DomStorage' both become dom_storage.",
        ),
        (
            described(domain(types=[{"id": "T", "$ref": "Page.FrameId"}])),
            # The bindings themselves must describe every type that they refer to.
            "a.json: Aa.T refers to Page.FrameId, which is described nowhere.",
        ),
        (
            described(domain(types=[{"id": "Came", **STRING}], events=[{"name": "came"}])),
            "a.json: Aa: among the types, commands and events, 'Came' and 'came' both become Came.",
        ),
        (
            described(type_called("None")),
            "a.json: Aa: 'None' becomes None, a name that Python or the module reserves.",
        ),
        *(
            (
                described(type_called(name)),
                f"Aa.{name} has a name that stubs use themselves; rename it in the description.",
            )
            for name in ("Any", "Sequence", "Literal", "NewType", "attrs", "dict", "float")
        ),
        (
            described(domain(events=[{"name": "any"}])),
            "Aa.Any has a name that stubs use themselves; rename it in the description.",
        ),
        *(
            (
                described(domain(commands=[{"name": name}])),
                f"Aa.{name} has a name that stubs use themselves; rename it in the description.",
            )
            for name in ("attrs", "deprecated")
        ),
        *(
            (
                described({"domain": name}),
                f"The domain {name} would be the module {module}, a name that cdp_core.bindings uses already.",
            )
            for name, module in (("Drift", "drift"), ("ToJSON", "to_json"), ("Strict", "strict"))
        ),
    ],
)
def test_a_file_that_cannot_become_bindings(
    refused: Callable[..., str], tmp_path: Path, content: object, expected: str
) -> None:
    path = write(tmp_path / "a.json", content)
    assert refused(path) == expected
    assert refused(path, "--check") == expected


def test_a_file_that_is_not_json(refused: Callable[..., str], tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", "{")
    assert refused(path) == f"{path} is not a protocol description: it is not JSON."


def test_a_file_that_is_missing(refused: Callable[..., str], tmp_path: Path) -> None:
    missing = tmp_path / "none.json"
    assert refused(missing) == (
        f"{missing} cannot be read (No such file or directory); give a protocol file, or a browser's address."
    )


def test_two_files_of_different_versions_are_refused(
    refused: Callable[..., str], tmp_path: Path, two_files: tuple[Path, Path]
) -> None:
    newer = write(tmp_path / "newer.json", {**SECOND, "version": {"major": "1", "minor": "4"}})
    assert refused(two_files[0], newer) == (
        "newer.json is of version 1.4, but first.json is of 1.3; give two files of one version."
    )


@pytest.mark.parametrize("address", ["http://127.0.0.1:1", "ws://127.0.0.1:1/devtools/browser/secret", "ftp://host:1"])
def test_an_address_without_a_browser(refused: Callable[..., str], address: str) -> None:
    error = refused(address)
    assert "cannot be reached" in error or "An address begins with ws://" in error
    assert "secret" not in error


def test_unknown_domains_are_refused(refused: Callable[..., str], two_files: tuple[Path, Path]) -> None:
    assert refused(*two_files, "--package", "p", "--domains", "Runtimes,Page,Aa") == (
        "first.json and second.json has no domain Page, Aa; it has DOMThing, Runtimes."
    )


def test_a_selection_of_domains_needs_another_package(
    refused: Callable[..., str], two_files: tuple[Path, Path]
) -> None:
    assert refused(*two_files, "--domains", "Runtimes").startswith("--domains needs another --package")


@pytest.mark.parametrize("package", ["", "a..b", "a-b", "my.class", "../up", "a b", "/abs"])
def test_a_package_that_cannot_be_imported(
    refused: Callable[..., str], two_files: tuple[Path, Path], package: str
) -> None:
    assert refused(*two_files, "--package", package).startswith(f"--package {package!r} is not a package name")


def test_the_program_prints_an_error_in_one_line(tmp_path: Path) -> None:
    ran = as_program("none.json", "--out", "out", cwd=tmp_path)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("gen_bindings: none.json cannot be read")
    assert ran.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ['my"""file.json', "back\\slash.json", "two\nlines.json", "caf\u00e9.json"])
def test_the_name_of_a_file_breaks_no_module(run: Run, tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, described({"domain": "Aa"}))
    assert run(path, "--package", "p", "--out", tmp_path / "p")[0] == 0
    compile((tmp_path / "p" / "aa.py").read_text(encoding="utf-8"), "aa.py", "exec")


# ── domains that would be lost ───────────────────────────────────────────────────────────────────────────────────────


def test_a_source_that_lacks_domains_is_refused(refused: Callable[..., str], tmp_path: Path) -> None:
    alone = write(tmp_path / "alone.json", described({"domain": "Alone"}))
    assert refused(alone) == (
        f"{alone} lacks DOMThing, Runtimes, which {tmp_path / 'out'} has; give the whole protocol, or --drop to delete them."
    )
    empty = write(tmp_path / "empty.json", described())
    assert refused(alone, empty) == "empty.json is not a protocol description: its list of domains is empty."
    assert refused(empty, "--drop") == "empty.json is not a protocol description: its list of domains is empty."


def test_the_bindings_themselves_are_not_overwritten(script: ModuleType, run: Run, tmp_path: Path) -> None:
    """Without --out, the script's folder is that of the bindings; it is read, and nothing is written."""
    alone = write(tmp_path / "alone.json", described({"domain": "Alone"}))
    before = files_of(COMMITTED)
    code, printed, error = run(alone)
    assert (code, printed) == (2, "")
    assert error.startswith(f"gen_bindings: {alone} lacks Accessibility, Ads, ")
    assert error.rstrip().endswith(
        "and 47 more, which " + str(COMMITTED) + " has; give the whole protocol, or --drop to delete them."
    )
    assert files_of(COMMITTED) == before
    assert script.BINDINGS == COMMITTED


# ── the recorded source ──────────────────────────────────────────────────────────────────────────────────────────────


def write_npm_package(folder: Path, version: str, name: str = "devtools-protocol") -> tuple[Path, Path]:
    """Write the two files as they lie in an unpacked npm package."""
    (folder / "json").mkdir(parents=True)
    write(folder / "package.json", {"name": name, "version": version})
    return (
        write(folder / "json" / "browser_protocol.json", FIRST),
        write(folder / "json" / "js_protocol.json", SECOND),
    )


def test_files_of_the_npm_package_are_recorded_with_its_version(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for files in (
        write_npm_package(tmp_path / "a", "0.0.7"),
        [path.name for path in write_npm_package(tmp_path / "b", "0.0.7")],
    ):
        monkeypatch.chdir(tmp_path / "b" / "json" if isinstance(files, list) else tmp_path)
        code, printed, _ = run(*files, "--out", tmp_path / "out")
        assert code == 0
        assert printed.endswith(", of devtools-protocol 0.0.7\n")
    assert 'PROTOCOL = "devtools-protocol 0.0.7"' in (tmp_path / "out" / "_version.py").read_text()


def test_files_of_two_npm_versions_are_refused(refused: Callable[..., str], tmp_path: Path) -> None:
    first, _ = write_npm_package(tmp_path / "a", "0.0.7")
    _, second = write_npm_package(tmp_path / "b", "0.0.8")
    assert refused(first, second) == (
        f"{second} is of devtools-protocol 0.0.8, but {first} is of devtools-protocol 0.0.7; give two files of one version."
    )


def test_files_of_another_package_are_recorded_with_their_names(run: Run, tmp_path: Path) -> None:
    files = write_npm_package(tmp_path / "a", "3.0.0", name="my-app")
    assert run(*files, "--out", tmp_path / "out")[1].endswith(", of browser_protocol.json and js_protocol.json\n")
    write(tmp_path / "a" / "package.json", "{")
    assert run(*files, "--out", tmp_path / "out", "--check")[0] == 0


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        (
            {"Browser": "Chrome/156.0.1.2", "Protocol-Version": "1.3", "WebKit-Version": "537.36 (@abcdef)"},
            "Chrome/156.0.1.2, protocol 1.3, revision @abcdef",
        ),
        ({"Browser": "Chrome/156.0.1.2"}, "Chrome/156.0.1.2"),
        ({"Browser": 7}, "a browser that does not name itself"),
        ([], "a browser that does not name itself"),
        (None, "a browser that does not name itself"),
    ],
)
def test_a_browser_is_recorded_with_its_product(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: object, expected: str
) -> None:
    """Its address is not recorded, because it changes."""
    whole = described(*FIRST["domains"], *SECOND["domains"])
    with answering({"/json/protocol": whole, "/json/version": version}) as address:
        assert run(address, "--out", tmp_path / "out")[1].endswith(f", of {expected}\n")
    assert address not in (tmp_path / "out" / "_version.py").read_text()


@contextmanager
def answering(answers: Json) -> Iterator[str]:
    """Serve these answers over HTTP; None gives a 404."""

    class Answering(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer = answers.get(self.path)
            self.send_response(404 if answer is None else 200)
            self.end_headers()
            self.wfile.write(b"" if answer is None else json.dumps(answer).encode())

        def log_message(self, *_arguments: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Answering)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


# ── from an installation ─────────────────────────────────────────────────────────────────────────────────────────────


def test_the_command_of_the_package(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, two_files: tuple[Path, Path]
) -> None:
    """The installed command does the same as the script, for packages other than the bindings."""
    first, second = map(str, two_files)
    arguments = ["generate", first, second, "--package", "mine_cdp", "--out", str(tmp_path / "mine_cdp")]
    assert bindings_main([*arguments, "--check"]) == 1
    assert bindings_main(arguments) == 0
    assert bindings_main([*arguments, "--check"]) == 0
    assert set(files_of(tmp_path / "mine_cdp")) == {"dom_thing.py", "dom_thing.pyi", "runtimes.py", "runtimes.pyi"}
    assert capsys.readouterr().err == ""
    own = ["generate", first, second, "--package", "cdp_core.bindings"]
    before = files_of(COMMITTED)
    assert bindings_main(own) == 2
    assert capsys.readouterr().err == (
        "cdp_core.bindings: cdp_core.bindings itself is generated in a checkout; run tools/gen_bindings.py there.\n"
    )
    assert files_of(COMMITTED) == before
    with pytest.raises(SystemExit):
        bindings_main(["generate", first, second])


def test_a_missing_ruff_is_reported(
    refused: Callable[..., str], two_files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = subprocess.run

    def run_without(command: list[str], **how: Any) -> Any:
        return real([command[0], "-m", "no_such_ruff"] if "ruff" in command else command, **how)

    monkeypatch.setattr(_generate.subprocess, "run", run_without)
    assert refused(*two_files).startswith("ruff could not format the generated files: ")
    monkeypatch.setattr(
        _generate.subprocess,
        "run",
        lambda command, **how: subprocess.CompletedProcess(command, 1, "", f"{command[0]}: No module named ruff"),
    )
    assert refused(*two_files) == "ruff, which formats the files, is not installed; pip install ruff."


def test_the_script_needs_no_bindings_and_writes_all_files_or_none(tmp_path: Path) -> None:
    """The script runs in a copy of the checkout without any generated file."""
    for folder in ("cdp_core", "tools"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__", "bench"))
    bare = tmp_path / "cdp_core" / "bindings"
    for path in [*bare.glob("[a-z]*.py*"), bare / "_version.py"]:
        path.unlink()
    before = files_of(bare)
    run_there = functools.partial(
        subprocess.run,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    script = [sys.executable, "tools/gen_bindings.py"]
    ran = run_there([*script, "none.json"])
    assert (ran.returncode, ran.stderr.count("\n")) == (2, 1), ran.stderr
    assert files_of(bare) == before
    ran = run_there([*script, "none.json", "--check"])
    assert (ran.returncode, files_of(bare)) == (2, before)
    first, second = write(tmp_path / "first.json", FIRST), write(tmp_path / "second.json", SECOND)
    ran = run_there([*script, "--check", str(first), str(second)])
    assert (ran.returncode, files_of(bare)) == (1, before), ran.stderr
    ran = run_there([*script, str(first), str(second)])
    assert (ran.returncode, ran.stderr) == (0, "")
    assert {*files_of(bare)} - {*before} == {
        "_version.py",
        "dom_thing.py",
        "dom_thing.pyi",
        "runtimes.py",
        "runtimes.pyi",
    }


# ── a folder that cannot be written ──────────────────────────────────────────────────────────────────────────────────


def test_a_folder_that_cannot_be_made(run: Run, tmp_path: Path, two_files: tuple[Path, Path]) -> None:
    file = write(tmp_path / "file", "x")
    for folder, why in ((file, "File exists"), (file / "deeper", "Not a directory")):
        code, printed, error = run(*two_files, "--out", folder)
        assert (code, printed) == (2, "")
        assert error == f"gen_bindings: {folder} cannot be written: {why}\n"
    assert file.read_text() == "x"


def test_a_folder_with_the_name_of_a_generated_file(
    refused: Callable[..., str], tmp_path: Path, two_files: tuple[Path, Path]
) -> None:
    """The error comes in the middle of replacing: replaced files are restored, and new files removed."""
    out = tmp_path / "out"
    (out / "runtimes.pyi").unlink()
    (out / "runtimes.pyi").mkdir()
    (out / "dom_thing.py").write_text("older")
    (out / "dom_thing.pyi").unlink()
    assert refused(*two_files) == f"{out} cannot be written: Is a directory"


@pytest.mark.parametrize("why", [errno.ENOSPC, errno.ENAMETOOLONG, errno.EACCES])
def test_a_temporary_folder_that_cannot_be_written(
    refused: Callable[..., str], two_files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, why: int
) -> None:
    def write_bytes(self: Path, data: bytes) -> int:
        raise OSError(why, os.strerror(why))

    monkeypatch.setattr(Path, "write_bytes", write_bytes)
    expected = f"The temporary folder cannot be written ({os.strerror(why)}); make room there, or set TMPDIR."
    assert refused(*two_files) == expected


def test_no_temporary_folder(
    refused: Callable[..., str], two_files: tuple[Path, Path], npm: Npm, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nowhere(**_how: object) -> object:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found")

    monkeypatch.setattr(_source, "TemporaryDirectory", nowhere)
    npm()
    for arguments in (two_files, ()):
        assert refused(*arguments).startswith("The temporary folder cannot be written (No usable temporary")


@pytest.mark.parametrize("failing", [1, 3, 5])
def test_a_disk_that_is_full(
    refused: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    """The disk fills up while the new files are written next to the old ones; no file changes."""
    written: list[Path] = []
    out, real = tmp_path / "out", Path.write_bytes

    def write_bytes(self: Path, data: bytes) -> int:
        if self.parent == out:
            written.append(self)
            if len(written) == failing:
                real(self, data[: len(data) // 2])
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(self, data)

    monkeypatch.setattr(Path, "write_bytes", write_bytes)
    changed = [write(tmp_path / f"{name}.json", content) for name, content in (("one", FIRST), ("two", SECOND))]
    assert refused(*changed) == f"{out} cannot be written: No space left on device"
    assert len(written) == failing


# ── npm ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def npm(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Npm:
    """Replace npm by a script; with `archive`, by a script that fetches these bytes."""
    folder = tmp_path_factory.mktemp("bin")
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    def place(script: str = "", archive: bytes | None = None) -> None:
        path = folder / "npm"
        if archive is not None:
            (folder / "archive").write_bytes(archive)
            script = f'#!/bin/sh\necho "$@" > {folder}/called\ncp {folder}/archive devtools-protocol-1.tgz\n'
        path.write_text(script)
        path.chmod(0o755)

    return place


def packed(version: object = "0.0.7", **files: object) -> bytes:
    """Return a package as npm packs it; the file names are given without .json."""
    made = io.BytesIO()
    about = version if isinstance(version, bytes) else {"name": "devtools-protocol", "version": version}
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for name, content in {"../package": about, **files}.items():
            text = content if isinstance(content, bytes) else json.dumps(content).encode()
            info = tarfile.TarInfo("package/package.json" if name == "../package" else f"package/json/{name}.json")
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text))
    return made.getvalue()


def test_npm_fetches_the_two_files(run: Run, npm: Npm, tmp_path: Path) -> None:
    npm(archive=packed(browser_protocol=FIRST, js_protocol=SECOND))
    code, printed, error = run("--version", "0.0.7", "--out", tmp_path / "out")
    assert (code, error) == (0, "")
    assert printed.endswith("of devtools-protocol 0.0.7\n")
    called = (Path(os.environ["PATH"].split(os.pathsep)[0]) / "called").read_text()
    assert called.split()[0] == "pack"
    assert called.split()[-1] == "devtools-protocol@0.0.7"
    assert "--fetch-retries=0" in called
    assert 'PROTOCOL = "devtools-protocol 0.0.7"' in (tmp_path / "out" / "_version.py").read_text()
    code, printed, _ = run("--version", "0.0.7", "--out", tmp_path / "out", "--check")
    assert (code, printed) == (0, f"{tmp_path / 'out'} has the bindings of devtools-protocol 0.0.7 (5 files)\n")
    npm(archive=packed("0.0.8", browser_protocol=FIRST, js_protocol=SECOND))
    code, printed, _ = run("--version", "0.0.8", "--out", tmp_path / "out", "--check")
    assert code == 1
    assert "differs from the bindings of devtools-protocol 0.0.8" in printed


def test_the_pinned_version_is_the_one_that_is_fetched(
    run: Run, npm: Npm, generator: ModuleType, tmp_path: Path
) -> None:
    npm(archive=packed(browser_protocol=FIRST, js_protocol=SECOND))
    run("--check", "--out", tmp_path / "out")
    called = (Path(os.environ["PATH"].split(os.pathsep)[0]) / "called").read_text()
    assert called.split()[-1] == f"devtools-protocol@{generator.PINNED}"


def test_a_tag_is_recorded_as_its_version(run: Run, npm: Npm, tmp_path: Path) -> None:
    npm(archive=packed("0.0.1800000", browser_protocol=FIRST, js_protocol=SECOND))
    code, printed, _ = run("--version", "latest", "--out", tmp_path / "out")
    assert code == 0
    assert printed.endswith("of devtools-protocol 0.0.1800000\n")
    assert "latest" not in "".join(text.decode() for text in files_of(tmp_path / "out").values())


@pytest.mark.parametrize("version", [None, 7, b"{", b"[]"])
def test_a_package_without_a_version(refused: Callable[..., str], npm: Npm, version: object) -> None:
    npm(archive=packed(version, browser_protocol=FIRST, js_protocol=SECOND))
    assert refused() in (
        f"devtools-protocol@{_generate.PINNED} has no version in its package.json.",
        f"devtools-protocol@{_generate.PINNED} has no readable package.json.",
    )


def test_npm_that_hangs_is_given_up(refused: Callable[..., str], npm: Npm, monkeypatch: pytest.MonkeyPatch) -> None:
    npm("#!/bin/sh\nexec sleep 60\n")
    monkeypatch.setattr(_source, "NPM_SECONDS", 0.2)
    assert refused("--version", "1") == (
        "npm could not fetch devtools-protocol@1 (nothing within 0.2 s); check the network and the version."
    )


def test_npm_is_not_installed(refused: Callable[..., str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert refused() == (
        "npm is not installed; install it, or give the two files browser_protocol.json and js_protocol.json."
    )


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("#!/bin/sh\nexit 1\n", "it gave no reason"),
        ("#!/bin/sh\nexit 0\n", "it gave no reason"),  # and wrote no archive
        ("#!/bin/sh\necho garbage\n", "it gave no reason"),
        ("#!/bin/sh\necho garbage > debug.log\n", "it gave no reason"),
        ("#!/bin/sh\necho 'npm error code E404' >&2\nexit 1\n", "code E404"),
        (
            (
                "#!/bin/sh\ncat >&2 <<'END'\nnpm warn Unknown user config\nnpm error code ECONNREFUSED\nnpm error syscall connect\n"
                "npm error errno ECONNREFUSED\nnpm error FetchError: request to http://x/ failed, reason: connect ECONNREFUSED\n"
                "npm error     at ClientRequest\nEND\nexit 1\n"
            ),
            "FetchError: request to http://x/ failed, reason: connect ECONNREFUSED",
        ),
        (
            "#!/bin/sh\necho 'npm ERR! code ETARGET' >&2\necho 'npm ERR! notarget No matching version found.' >&2\nexit 1\n",
            "notarget No matching version found",
        ),
        ("#!/bin/sh\necho 'npm error 404 Not Found - GET http://x/' >&2\nexit 1\n", "404 Not Found - GET http://x/"),
        ("#!/bin/sh\nprintf '\\377\\376 code E1\\n' >&2\nexit 1\n", "\ufffd\ufffd code E1"),
        ("#!/bin/sh\necho x > devtools-protocol-1.tgz\nexit 3\n", "it gave no reason"),
    ],
)
def test_npm_fails(refused: Callable[..., str], npm: Npm, program: str, why: str) -> None:
    npm(program)
    assert refused("--version", "0.0.7") == (
        f"npm could not fetch devtools-protocol@0.0.7 ({why}); check the network and the version."
    )


def test_npm_cannot_be_run(refused: Callable[..., str], npm: Npm) -> None:
    npm("\x7fELF nothing that runs")
    assert "npm cannot be run (Exec format error)" in refused()


WHOLE = packed(browser_protocol=FIRST, js_protocol=SECOND)


@pytest.mark.parametrize(  # explicit ids, since an archive contains the time of its creation
    "archive",
    [b"", b"garbage", WHOLE[:40], WHOLE[: len(WHOLE) // 2], b"\x1f\x8b" + b"x" * 99],
    ids=["empty", "garbage", "its beginning", "half of it", "a head and garbage"],
)
def test_npm_fetches_an_unreadable_archive(refused: Callable[..., str], npm: Npm, archive: bytes) -> None:
    npm(archive=archive)
    error = refused("--version", "0.0.7")
    assert error == "The file that npm fetched for devtools-protocol@0.0.7 is not a readable archive; try again."


@pytest.mark.parametrize(
    ("files", "missing"),
    [
        ({}, "browser"),
        ({"browser_protocol": FIRST}, "js"),
        ({"browser_protocol": FIRST, "js_protocol": b"{"}, "js"),
        ({"browser_protocol": b"\xff", "js_protocol": SECOND}, "browser"),
        ({"browser_protocol": b"[" * 200_000, "js_protocol": SECOND}, "browser"),
    ],
)
def test_npm_fetches_a_package_without_readable_files(
    refused: Callable[..., str], npm: Npm, files: Json, missing: str
) -> None:
    npm(archive=packed(**files))
    assert refused("--version", "0.0.7") == f"devtools-protocol@0.0.7 has no readable json/{missing}_protocol.json."


def test_npm_fetches_a_folder_with_the_name_of_a_file(refused: Callable[..., str], npm: Npm) -> None:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        info = tarfile.TarInfo("package/json/browser_protocol.json")
        info.type = tarfile.DIRTYPE
        archive.addfile(info)
        about = b'{"version": "1"}'
        info = tarfile.TarInfo("package/package.json")
        info.size = len(about)
        archive.addfile(info, io.BytesIO(about))
    npm(archive=made.getvalue())
    assert refused("--version", "1") == "devtools-protocol@1 has no readable json/browser_protocol.json."


def test_npm_fetches_a_file_that_is_not_a_protocol(refused: Callable[..., str], npm: Npm) -> None:
    npm(archive=packed(browser_protocol=[], js_protocol=SECOND))
    assert refused() == "browser_protocol.json is not a protocol description: it has no list of domains."


# ── unusual names ────────────────────────────────────────────────────────────────────────────────────────────────────

ODD_MEMBERS = [
    "",
    "-0",
    "-Infinity",
    "3d",
    "a b",
    "class",
    "None",
    'quo"te',
    "back\\slash",
    "line\nbreak",
    "caf\u00e9s",
]
MEMBERS = {"type": "string", "enum": ["one", "two"]}


def every_plain(**more: object) -> list[Json]:
    return [{"name": f"{kind}{len(more)}", "type": kind, **more} for kind in sorted(PLAIN_TYPES)]


TRICKY = described(
    {
        "domain": "Import",
        "experimental": True,
        "types": [
            {
                "id": "Value",
                "type": "object",
                "properties": [
                    *(
                        {"name": name, "type": "string"}
                        for name in ("value", "extra", "nulls", "spec", "class", "from", "self")
                    ),
                    *({"name": name, "type": "integer"} for name in ("str", "int", "float", "bool", "tuple", "dict")),
                    *every_plain(),
                    *every_plain(optional=True),
                    {"name": "loose", "type": "any", "optional": True, "experimental": True, "deprecated": True},
                ],
            },
            {"id": "Domain", **MEMBERS},
            {"id": "Command", **MEMBERS},
            {"id": "EnumValue", "type": "string", "enum": ODD_MEMBERS, "deprecated": True},
            {"id": "EventValue", **MEMBERS},
            {"id": "TargetID", **MEMBERS},
            {"id": "TargetId", "type": "string"},
            {"id": "Nobody", "type": "string", "enum": []},
            {"id": "Open", "type": "object"},
            {"id": "Shut", "type": "object", "properties": [], "deprecated": True},
            {"id": "Grid", "type": "array", "items": {"type": "array", "items": {"$ref": "Lambda.Node"}}},
            {
                "id": "Node",
                "type": "object",
                "properties": [
                    {"name": "children", "type": "array", "items": {"$ref": "Node"}, "optional": True},
                    {"name": "other", "$ref": "Lambda.Node", "optional": True},
                    {"name": "grid", "$ref": "Import.Grid", "optional": True},
                ],
            },
        ],
        "commands": [
            {
                "name": "for",
                "parameters": [
                    {"name": "from", "type": "string"},
                    {"name": "domain", "$ref": "Domain"},
                    {"name": "command", "$ref": "Command", "optional": True},
                    {"name": "odd", "$ref": "EnumValue", "optional": True},
                    {"name": "event", "$ref": "EventValue", "optional": True},
                    {"name": "target", "$ref": "TargetID", "optional": True},
                    {"name": "nobody", "$ref": "Nobody", "optional": True},
                    {"name": "inline", **MEMBERS, "optional": True},
                    {"name": "several", "type": "array", "items": MEMBERS, "optional": True},
                    {"name": "node", "$ref": "Node", "optional": True},
                    {"name": "extra", "type": "any", "optional": True},
                ],
                "returns": [{"name": "is", "$ref": "Value", "optional": True}],
            },
            {"name": "import", "deprecated": True},
            {"name": "str", "parameters": [{"name": "str", "type": "string"}, {"name": "also", "type": "string"}]},
            {"name": "class", "returns": [{"name": "class", "type": "array", "items": {"$ref": "Nobody"}}]},
        ],
        "events": [
            {"name": "value1", "parameters": [{"name": "self", "$ref": "Value", "optional": True}]},
            {"name": "import", "experimental": True, "deprecated": True},
        ],
    },
    {
        "domain": "Lambda",
        "deprecated": True,
        "types": [
            {"id": "ImportDomain", "type": "string", "enum": ["own"]},
            {
                "id": "Node",
                "type": "object",
                "properties": [
                    {"name": "back", "$ref": "Import.Node"},
                    {"name": "grid", "$ref": "Import.Grid", "optional": True},
                ],
            },
        ],
        "commands": [
            {
                "name": "both",
                "parameters": [{"name": "theirs", "$ref": "Import.Domain"}, {"name": "own", "$ref": "ImportDomain"}],
            }
        ],
    },
)

SAMPLE = """
from cdp_core.bindings import Command
from tricky_cdp import import_, lambda_
from typing_extensions import assert_type

assert_type(import_.for_(from_="a", domain="one", several=["two"]), Command[import_.ForResult])
assert_type(import_.str_(str_="a", also="b"), Command[None])
assert_type(lambda_.both(theirs="one", own="own"), Command[None])
assert_type(import_.EnumValue.MINUS_0, import_.EnumValue)
def look(value: import_.Value, node: import_.Node) -> None:
    assert_type(value.str_, int)
    assert_type(value.string0, str)
    assert_type(value.number1, float | None)
    assert_type(value.extra_, str)
    if node.other is not None:
        assert_type(node.other.back.children, tuple[import_.Node, ...] | None)
        assert_type(node.other.grid, tuple[tuple[lambda_.Node, ...], ...] | None)
import_.for_(from_="a", domain="own")  # WRONG
lambda_.both(theirs="own", own="own")  # WRONG
lambda_.both(theirs="one", own="two")  # WRONG
import_.for_(domain="one")  # WRONG
import_.str_(str="a", also="b")  # WRONG
"""


@pytest.fixture(scope="module")
def tricky(generator: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that holds the package `tricky_cdp`."""
    folder = tmp_path_factory.mktemp("tricky")
    tables = read_protocol(("tricky.json", json.loads(json.dumps(TRICKY))))
    generator.put(generator.write_all("tricky.json", tables, "tricky_cdp", []), folder / "tricky_cdp")
    return folder


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_both_checkers_accept_the_stubs_and_find_wrong_uses(tricky: Path, checker: str) -> None:
    """The stubs with unusual names and those of the vendor have no error, and each wrong use is found."""
    for needed in (checker, "msgspec"):  # the checkers read msgspec's annotations, as in most installations
        if importlib.util.find_spec(needed) is None:
            pytest.skip(f"{needed} is not installed")
    sample = write(tricky / "sample.py", SAMPLE)
    wrong = {number for number, line in enumerate(SAMPLE.splitlines(), 1) if "# WRONG" in line}
    folders = [tricky / "tricky_cdp", VENDOR / "acme_cdp"]
    env = dict(os.environ)
    if checker == "mypy":
        env["MYPYPATH"] = os.pathsep.join(map(str, (tricky, VENDOR)))
        config = write(
            tricky / "mypy.ini", "[mypy]\nstrict = True\npython_version = 3.10\nexplicit_package_bases = True\n"
        )
        arguments = ["--config-file", config, "--no-error-summary", "--no-pretty", sample, *folders]
    else:
        settings = {"typeCheckingMode": "strict", "pythonVersion": "3.10", "reportPrivateUsage": False}
        paths = {"include": list(map(str, (sample, *folders))), "extraPaths": list(map(str, (ROOT, tricky, VENDOR)))}
        config = write(tricky / "pyrightconfig.json", settings | paths)
        arguments = ["--project", config, "--pythonpath", sys.executable]
    ran = subprocess.run(
        [sys.executable, "-m", checker, *map(str, arguments)],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    errors = [line for line in (ran.stdout + ran.stderr).splitlines() if " error" in line and ":" in line]
    found = {int(line.split("sample.py:")[1].split(":")[0]) for line in errors if "sample.py:" in line}
    assert [line for line in errors if "sample.py:" not in line] == []
    assert found == wrong, ran.stdout + ran.stderr


@pytest.fixture
def modules(tricky: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, ModuleType]:
    monkeypatch.setattr(_catalog, "_registered", {})
    monkeypatch.syspath_prepend(tricky)
    found = {name: importlib.import_module(f"tricky_cdp.{name}") for name in ("import_", "lambda_")}
    for module in found.values():
        register(module)
    return found


def test_every_unusual_name_can_be_made(modules: dict[str, ModuleType]) -> None:
    for module in modules.values():
        for name in module.__all__:
            assert getattr(module, name) is getattr(module, name)
            assert name in dir(module)
    assert modules["import_"].Value.__module__ == "tricky_cdp.import_"
    assert modules["import_"].Domain.members() == ("one", "two")
    odd = modules["import_"].EnumValue
    assert odd.members() == tuple(ODD_MEMBERS)
    assert [name for name in vars(odd) if name.strip("_") in {"QUO_TE", "BACK_SLASH", "LINE_BREAK", "3D", "CAF_S"}] == [
        "_3D",
        "QUO_TE",
        "BACK_SLASH",
        "LINE_BREAK",
        "CAF_S",
    ]


def test_values_with_unusual_names_are_read_and_written(modules: dict[str, ModuleType]) -> None:
    """With both readers, and with each name that the bindings use too."""
    kept: Json = {name: name for name in ("value", "extra", "nulls", "spec", "class", "from", "self")}
    kept |= dict.fromkeys(("str", "int", "float", "bool", "tuple", "dict"), 7)
    examples = {"string": "s", "binary": "b", "integer": 3, "number": 1.5, "boolean": True, "object": {}, "any": [1]}
    kept |= {f"{kind}0": example for kind, example in examples.items()}
    for given in (kept, {**kept, "unheard": 1}, {**kept, "loose": None}):
        raw = json.dumps({"method": "Import.value1", "params": {"self": given}}).encode()
        message = decode(raw)
        assert isinstance(message, Event)
        read = parse_event(message)
        assert not isinstance(read, Event)
        value = read.self_
        assert type(value) is modules["import_"].Value
        assert (value.extra_, value.nulls_, value.class_, value.from_, value.self_) == (
            "extra",
            "nulls",
            "class",
            "from",
            "self",
        )
        assert (value.str_, value.dict_, value.int_, value.float_, value.bool_, value.tuple_) == (7,) * 6
        assert dict(value.extra) == ({"unheard": 1} if "unheard" in given else {})
        assert to_json(value) == given
        assert from_json(modules["import_"].Value, given) == value


def test_commands_with_unusual_names_are_read_and_written(modules: dict[str, ModuleType]) -> None:
    import_, lambda_ = modules["import_"], modules["lambda_"]
    params = {"from": "a", "domain": "two", "odd": 'quo"te', "several": ["one"], "extra": {"x": 1}}
    command = import_.for_(from_="a", domain="two", odd='quo"te', several=["one"], extra_={"x": 1})
    assert command.to_params() == params
    assert parse_command("Import.for", params) == command
    assert import_.import_().parse({}) is None
    assert lambda_.both(theirs="one", own="own").to_params() == {"theirs": "one", "own": "own"}
    node = {"children": [{}], "other": {"back": {}, "grid": [[{"back": {}}]]}}
    read = from_json(import_.Node, node)
    assert type(read.other.grid[0][0].back) is import_.Node
    assert to_json(read) == node


def test_a_member_that_utf_8_cannot_encode_is_escaped(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lone surrogate can be written in JSON, but not in UTF-8."""
    path = write(
        tmp_path / "lone.json", described(domain(types=[{"id": "E", **STRING, "enum": ["x\ud800", "\U0001f600"]}]))
    )
    assert run(path, "--package", "lone_cdp", "--out", tmp_path / "lone_cdp")[0] == 0
    monkeypatch.syspath_prepend(tmp_path)
    made = importlib.import_module("lone_cdp.aa")
    assert made.E.members() == ("x\ud800", "\U0001f600")
