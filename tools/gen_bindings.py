"""Writes `cdp_core/bindings/`: one module and one stub for each domain of the protocol.

    python tools/gen_bindings.py                        # the pinned version of the npm package devtools-protocol
    python tools/gen_bindings.py --check                # writes nothing; says what would differ, and ends with 1
    python tools/gen_bindings.py --version 0.0.1734725  # another version
    python tools/gen_bindings.py browser_protocol.json js_protocol.json
    python tools/gen_bindings.py http://127.0.0.1:9222  # what a running browser serves at /json/protocol
    python tools/gen_bindings.py vendor.json --package my_vendor.cdp --domains Vendor    # domains of another package

What is written is the same byte for byte from the same source. Either all of it is written, or nothing. Ends with 2 and
one line where something is wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

PINNED = "0.0.1707781"
"""The version whose items are exactly those of Chromium 156."""
NPM_PACKAGE = "devtools-protocol"
NPM_FILES = ("browser_protocol.json", "js_protocol.json")

# The package imports what this script writes, so that must be there, if empty, before the first run.
VERSION_FILE = ROOT / "cdp_core" / "bindings" / "_version.py"
if not VERSION_FILE.exists():
    VERSION_FILE.write_text("MODULES: dict[str, str] = {}\nPROTOCOL = ''\n")

from cdp_core.bindings._description import load_description  # noqa: E402
from cdp_core.bindings._domain import OWN_NAMES, PAGES  # noqa: E402
from cdp_core.bindings._names import class_name, field_name, member_name, result_name  # noqa: E402
from cdp_core.bindings._tables import Field, Table, parse_field, read_protocol  # noqa: E402
from cdp_core.errors import CdpError  # noqa: E402

TYPING_NAMES = ("Any", "ClassVar", "Final", "Literal", "NewType", "TypeAlias")
PLAIN = {"str": "str", "int": "int", "num": "float", "bool": "bool", "obj": "dict[str, Any]", "any": "Any"}


class Trouble(Exception):
    """Something is wrong; the text is the one line that says what and where."""


def main() -> int:
    options = parse_options()
    try:
        said, tables = read_source(options)
        files = write_all(said, tables, options.package, options.domains)
        folder = options.out or folder_of(options.package)
        if options.check:
            return check(files, folder, said)
        put(files, folder, keep=options.package != "cdp_core.bindings")
    except (Trouble, CdpError) as trouble:
        print(f"gen_bindings: {trouble}", file=sys.stderr)
        return 2
    chosen = [table for table in tables.values() if not options.domains or table.name in options.domains]
    print(f"{folder}: {describe(chosen)}, of {said}")
    return 0


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Write the bindings of a protocol description.")
    parser.add_argument("sources", nargs="*", help="protocol files, or the address of a browser; default: npm")
    parser.add_argument("--version", default=PINNED, help="the version of the npm package (%(default)s)")
    parser.add_argument("--check", action="store_true", help="write nothing; say what would differ")
    parser.add_argument("--package", default="cdp_core.bindings", help="the package that the modules belong to")
    parser.add_argument(
        "--domains", type=lambda text: text.split(","), default=[], help="only these, with commas between"
    )
    parser.add_argument("--out", type=Path, help="the folder to write to; default: that of the package")
    return parser.parse_args()


def describe(tables: Iterable[Table]) -> str:
    tables = list(tables)
    types = sum(len(table.names) + len(table.enums) + len(table.objects) for table in tables)
    commands, events = sum(len(table.commands) for table in tables), sum(len(table.events) for table in tables)
    return f"{len(tables)} domains, {commands} commands, {events} events, {types} types and enumerations"


# ── where it comes from ──────────────────────────────────────────────────────────────────────────────────────────────


def read_source(options: argparse.Namespace) -> tuple[str, dict[str, Table]]:
    if not options.sources:
        said = f"{NPM_PACKAGE} {options.version}"
        tables = read_protocol(*fetch_npm(options.version))
    else:
        described = [load_description(source) for source in options.sources]
        said = " and ".join(name for name, _ in described)
        tables = read_protocol(*described)
    unknown = [name for name in options.domains if name not in tables]
    if unknown:
        raise Trouble(f"{said} has no domain {', '.join(unknown)}; it has {', '.join(tables)}.")
    return said, tables


def fetch_npm(version: str) -> list[tuple[str, object]]:
    npm = shutil.which("npm")
    if npm is None:
        raise Trouble(f"npm is not installed; install it, or give the two files {' and '.join(NPM_FILES)}.")
    package = f"{NPM_PACKAGE}@{version}"
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [npm, "pack", "--silent", package], cwd=folder, capture_output=True, text=True, check=False
        )
        archives = list(Path(folder).glob("*.tgz"))
        if done.returncode or not archives:
            why = next((line for line in done.stderr.splitlines() if "code" in line), "").removeprefix("npm error ")
            raise Trouble(
                f"npm could not fetch {package} ({why or 'it gave no reason'}); check the network and the version."
            )
        with tarfile.open(archives[0]) as archive:
            return [(name, read_member(archive, name, package)) for name in NPM_FILES]


def read_member(archive: tarfile.TarFile, name: str, package: str) -> object:
    try:
        member = archive.extractfile(f"package/json/{name}")
        assert member is not None
        return json.load(member)
    except (KeyError, AssertionError, ValueError):
        raise Trouble(f"{package} has no readable json/{name}.") from None


# ── what is written ──────────────────────────────────────────────────────────────────────────────────────────────────


def write_all(said: str, tables: Mapping[str, Table], package: str, domains: list[str]) -> dict[str, str]:
    """Every file by its name, formatted."""
    files: dict[str, str] = {}
    chosen = {name: table for name, table in sorted(tables.items()) if not domains or name in domains}
    for name, table in chosen.items():
        files[f"{field_name(name)}.py"] = Module(table, said).text()
        files[f"{field_name(name)}.pyi"] = Stub(table, said, tables, package, chosen).text()
    if package == "cdp_core.bindings":
        files["_version.py"] = version_text(said, chosen)
    return formatted(files)


def version_text(said: str, tables: Mapping[str, Table]) -> str:
    lines = [
        '"""Which protocol the bindings are of. Generated by tools/gen_bindings.py; do not edit."""',
        "",
        f"PROTOCOL = {quoted(said)}",
        "",
        "MODULES = {",
        *(f"    {quoted(name)}: {quoted(field_name(name))}," for name in tables),
        "}",
    ]
    return "\n".join(lines) + "\n"


def quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


class Module:
    """The table of a domain, as Python."""

    def __init__(self, table: Table, said: str) -> None:
        self.table = table
        self.said = said

    def text(self) -> str:
        table = self.table
        page = field_name(table.name)
        lines = [
            f'"""The {table.name} domain of the protocol, as a table; {page}.pyi has its names and types.',
            "",
            f"Generated by tools/gen_bindings.py from {self.said}; do not edit. `cdp_core.bindings._tables` explains the marks.",
            f"{PAGES}{table.name}/",
            '"""',
            "",
            "from cdp_core.bindings._domain import Domain",
            "",
            "DOMAIN = Domain(",
            "    __name__,",
            f"    {quoted(table.name)},",
            f"    {quoted(table.marks)},",
            *self.section("names", table.names),
            *self.section("enums", table.enums),
            *self.section("objects", table.objects),
            *self.section("commands", table.commands),
            *self.section("events", table.events),
            ")",
            "__getattr__ = DOMAIN.make",
            "__dir__ = DOMAIN.names",
        ]
        return "\n".join(lines) + "\n"

    def section(self, title: str, items: Mapping[str, tuple[object, ...]]) -> Iterable[str]:
        yield f"    {title}={{"
        for name, parts in items.items():
            yield f"        {quoted(name)}: {self.literal(parts)},"
        yield "    },"

    def literal(self, value: object) -> str:
        if isinstance(value, str):
            return quoted(value)
        assert isinstance(value, tuple)
        return f"({', '.join(map(self.literal, value))}{',' if len(value) == 1 else ''})"


class Stub:
    """What people, mypy and pyright read."""

    def __init__(
        self, table: Table, said: str, tables: Mapping[str, Table], package: str, chosen: Mapping[str, Table]
    ) -> None:
        self.table = table
        self.said = said
        self.tables = tables
        self.package = package
        self.chosen = chosen
        self.imports: set[str] = set()
        self.choices: dict[str, str] = {}

    def text(self) -> str:
        table = self.table
        body = [
            *(line for name in table.names for line in self.alias(name)),
            *(line for name in table.enums for line in self.enum(name)),
            *(line for name in table.objects for line in self.object(name)),
            *(line for name in table.commands for line in self.command(name)),
            *(line for name in table.events for line in self.event(name)),
        ]
        head = [
            f'"""The {table.name} domain{self.said_of(table.marks)}.',
            "",
            f"Generated by tools/gen_bindings.py from {self.said}; do not edit.",
            f"{PAGES}{table.name}/",
            '"""',
            "",
        ]
        for name in (*table.names, *table.enums, *table.objects, *map(class_name, table.events)):
            if name in TYPING_NAMES:
                raise Trouble(
                    f"{table.name}.{name} has the name of something that stubs import; give it another one here."
                )
        used = "\n".join((*body, *self.choices.values()))
        names = [name for name in TYPING_NAMES if word(name, used)]
        if word("Sequence", used):
            head.append("from collections.abc import Sequence")
        head.append(f"from typing import {', '.join(sorted({*names, 'Final'}))}")
        if "@attrs" in used:
            head.append("import attrs")
        if "@deprecated" in used:
            head.append("from typing_extensions import deprecated")
        bases = [name for name in ("Command", "EnumValue", "EventValue", "Value") if word(f"_{name}", used)]
        head += [f"from cdp_core.bindings import {name} as _{name}" for name in bases]
        head += sorted(self.imports)
        head += ["from cdp_core.bindings._domain import Domain as _Domain", "", "DOMAIN: Final[_Domain]", ""]
        return "\n".join([*head, *self.choices.values(), *body]) + "\n"

    # ── items ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def alias(self, name: str) -> Iterable[str]:
        _marks, kind = self.table.names[name]
        own = OWN_NAMES.get(f"{self.table.name}.{name}")
        if own is not None:
            self.imports.add(f"from {own.__module__} import {own.__name__} as _{own.__name__}")
            yield f"{name}: TypeAlias = _{own.__name__}"
        elif kind in ("str", "int", "num", "bool"):
            yield f"{name} = NewType({quoted(name)}, {PLAIN[kind]})"
        else:
            yield f"{name}: TypeAlias = {self.type(kind)}"
        yield self.doc(name, self.table.names[name][0], f"type-{name}").strip()

    def enum(self, name: str) -> Iterable[str]:
        marks, *members = self.table.enums[name]
        yield f"class {name}(_EnumValue):"
        yield self.doc(name, marks, f"type-{name}")
        for member in members:
            yield f"    {member_name(member)}: ClassVar[{name}]"

    def object(self, name: str) -> Iterable[str]:
        marks, *fields = self.table.objects[name]
        return self.value(name, "_Value", self.doc(name, marks, f"type-{name}"), fields)

    def event(self, name: str) -> Iterable[str]:
        marks, *fields = self.table.events[name]
        return self.value(class_name(name), "_EventValue", self.doc(name, marks, f"event-{name}"), fields)

    def value(self, name: str, base: str, doc: str, fields: Iterable[str]) -> Iterable[str]:
        yield "@attrs.frozen(kw_only=True)"
        yield f"class {name}({base}):"
        yield doc
        for field in map(parse_field, fields):
            kind = self.type(field.type)
            yield f"    {field_name(field.wire)}: {kind}" + self.default(field, kind)

    def command(self, name: str) -> Iterable[str]:
        marks, params, returns = self.table.commands[name]
        anchor = f"method-{name}"
        if returns:
            yield from self.value(result_name(name), "_Value", self.doc(name, marks, anchor, "What {} brings"), returns)
        if "!" in marks:
            yield f'@deprecated("{self.table.name}.{name} is deprecated in the protocol.")'
        given = [
            f"    {field_name(field.wire)}: {kind}" + self.default(field, kind) + ","
            for field in map(parse_field, params)
            for kind in (self.given(field.type),)
        ]
        yield f"def {field_name(name)}("
        if given:
            yield "    *,"
            yield from given
        yield f") -> _Command[{result_name(name) if returns else None}]:"
        yield self.doc(name, marks, anchor)

    def default(self, field: Field, kind: str) -> str:
        if not field.optional:
            return ""
        return " = None" if kind == "Any" else " | None = None"

    def doc(self, name: str, marks: str, anchor: str, what: str = "{}") -> str:
        item = what.format(f"{self.table.name}.{name}")
        return f'    """{item}{self.said_of(marks)}. {PAGES}{self.table.name}/#{anchor}"""'

    def said_of(self, marks: str) -> str:
        return ", experimental" * ("~" in marks) + ", deprecated" * ("!" in marks)

    # ── types ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def type(self, kind: str, array: str = "tuple[{}, ...]") -> str:
        if kind.startswith("["):
            return array.format(self.type(kind[1:-1], array))
        if kind in PLAIN:
            return PLAIN[kind]
        owner, _, name = kind.rpartition(".")
        if not owner or owner == self.table.name:
            return name
        page = field_name(owner)
        package = self.package if owner in self.chosen else "cdp_core.bindings"
        self.imports.add(f"from {package} import {page} as _{page}")
        return f"_{page}.{name}"

    def given(self, kind: str) -> str:
        """A parameter's type: any sequence for an array, and a member's plain text for an enumeration."""
        if kind.startswith("["):
            return f"Sequence[{self.given(kind[1:-1])}]"
        owner, _, name = kind.rpartition(".")
        table = self.tables[owner or self.table.name]
        if name not in table.enums or not table.enums[name][1:]:
            return self.type(kind)
        choice = f"_{owner}{name}"
        members = ", ".join(map(quoted, table.enums[name][1:]))
        self.choices[choice] = f"{choice}: TypeAlias = Literal[{members}]"
        return f"{self.type(kind)} | {choice}"


def word(name: str, text: str) -> bool:
    return any(f"{before}{name}{after}" in text for before in " [(|" for after in "[]() ,:\n")


def formatted(files: Mapping[str, str]) -> dict[str, str]:
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            (Path(folder) / name).write_text(text)
        command = [sys.executable, "-m", "ruff", "format", "--quiet", "--config", str(ROOT / "pyproject.toml"), folder]
        fixing = [*command[:3], "check", "--quiet", "--fix", "--select", "I", *command[5:]]
        for each in (fixing, command):
            done = subprocess.run(each, capture_output=True, text=True, check=False)
            if done.returncode:
                said = (done.stderr or done.stdout).strip().splitlines()
                raise Trouble(f"ruff could not format what was written: {said[-1] if said else done.returncode}")
        return {name: (Path(folder) / name).read_text() for name in files}


# ── where it goes ────────────────────────────────────────────────────────────────────────────────────────────────────


def folder_of(package: str) -> Path:
    return ROOT.joinpath(*package.split(".")) if package == "cdp_core.bindings" else Path(*package.split("."))


def stale(files: Mapping[str, str], folder: Path) -> list[Path]:
    """Generated before, and not any more."""
    found = [*folder.glob("*.py"), *folder.glob("*.pyi")]
    return [path for path in found if not path.name.startswith("_") and path.name not in files]


def check(files: Mapping[str, str], folder: Path, said: str) -> int:
    different = [
        name for name, text in files.items() if not (folder / name).exists() or (folder / name).read_text() != text
    ]
    different += [path.name for path in stale(files, folder)]
    if different:
        print(f"{folder} is not what {said} gives: {', '.join(sorted(different))}; run tools/gen_bindings.py")
        return 1
    print(f"{folder} is what {said} gives ({len(files)} files)")
    return 0


def put(files: Mapping[str, str], folder: Path, *, keep: bool) -> None:
    """All new files are whole beside the old ones before the first takes its place."""
    folder.mkdir(parents=True, exist_ok=True)
    new = {folder / name: folder / f".{name}.new" for name in files}
    try:
        for path, beside in new.items():
            beside.write_text(files[path.name])
        for path, beside in new.items():
            os.replace(beside, path)
    except OSError as error:
        raise Trouble(f"{folder} cannot be written: {error.strerror}") from None
    finally:
        for beside in new.values():
            beside.unlink(missing_ok=True)
    if not keep:
        for path in stale(files, folder):
            path.unlink()


if __name__ == "__main__":
    sys.exit(main())
