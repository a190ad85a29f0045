"""Writes bindings: one module and one stub for each domain of a protocol.

    python -m cdp_core.bindings generate vendor.json --package my_vendor.cdp      # domains of another package
    python -m cdp_core.bindings generate http://127.0.0.1:9222 --package my_vendor.cdp --domains Vendor

What is written is the same byte for byte from the same source. Either all of it is written, or nothing. Ends with 0, with
1 where `--check` found a difference, and with 2 and one line where something is wrong.

The bindings themselves are written by the same means, in a checkout, by `tools/gen_bindings.py`, which says where they
lie (`own`); what they would lose is named, and lost only where that is asked for.
"""

from __future__ import annotations

import argparse
import keyword
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

from cdp_core import bindings
from cdp_core.bindings._catalog import domain_named
from cdp_core.bindings._names import field_name
from cdp_core.bindings._source import Source, npm_source, source_of, working_folder
from cdp_core.bindings._tables import Table
from cdp_core.bindings._written import MARK, OWN_PACKAGE, Module, Stub, version_text
from cdp_core.errors import InvalidArgument

PINNED: Final = "0.0.1707781"
"""The version of the npm package whose items are exactly those of Chromium 156."""

_MAX_NAMED: Final = 12
_FORMAT: Final = ("--isolated", "--no-cache", "--quiet", "--config", "line-length=120")
_TARGET: Final = ("--config", 'target-version="py310"')
_IMPORTS: Final = ("--fix", "--select", "I", "--config", 'lint.isort.known-first-party=["cdp_core"]')
"""Spelled out, so that the same is written wherever it runs."""


def add_options(parser: argparse.ArgumentParser, *, own: bool) -> None:
    """What the command takes; `own` where the bindings themselves may be written."""
    parser.add_argument("sources", nargs="*", help="protocol files, or the address of a browser; default: npm")
    parser.add_argument("--version", default=PINNED, help="the version of the npm package (%(default)s)")
    parser.add_argument("--check", action="store_true", help="write nothing; say what would differ")
    parser.add_argument(
        "--package",
        required=not own,
        default=OWN_PACKAGE if own else None,
        help="the package that the modules belong to",
    )
    parser.add_argument(
        "--domains", type=lambda text: text.split(","), default=[], help="only these, with commas between"
    )
    parser.add_argument("--out", type=Path, help="the folder to write to; default: that of the package")
    if own:
        parser.add_argument("--drop", action="store_true", help="delete the domains that the source has not")


def generate(options: argparse.Namespace, *, own: Path | None = None, again: str = "the same") -> int:
    """Carry out the command; the result is the exit code. `own` is where the bindings themselves lie.

    Raises CdpError, in one line, where something is wrong; then nothing was written.
    """
    whole = options.package == OWN_PACKAGE
    home = own if whole else Path(*options.package.split("."))
    if home is None:
        raise InvalidArgument(f"{OWN_PACKAGE} itself is written in a checkout, by tools/gen_bindings.py.")
    source = _read(options, whole=whole)
    files = write_all(source.origin, source.tables, options.package, options.domains)
    folder: Path = options.out or home
    left = stale(files, folder) if whole else []
    if options.check:
        return _check(files, folder, source.origin, left, again)
    if left and not options.drop:
        raise InvalidArgument(
            f"{' and '.join(options.sources) or source.origin} lacks {_named(left)}, which {folder} has; "
            "give all of the protocol, or --drop to delete them."
        )
    put(files, folder, left)
    chosen = [table for table in source.tables.values() if not options.domains or table.name in options.domains]
    print(f"{folder}: {_described(chosen)}, of {source.origin}")  # noqa: T201
    return 0


def _described(tables: Iterable[Table]) -> str:
    tables = list(tables)
    types = sum(len(table.names) + len(table.enums) + len(table.objects) for table in tables)
    commands, events = sum(len(table.commands) for table in tables), sum(len(table.events) for table in tables)
    return f"{len(tables)} domains, {commands} commands, {events} events, {types} types and enumerations"


# ── where it comes from ──────────────────────────────────────────────────────────────────────────────────────────────


def _read(options: argparse.Namespace, *, whole: bool) -> Source:
    if options.domains and whole:
        raise InvalidArgument("--domains goes with --package: the bindings of this one are whole.")
    if not all(part.isidentifier() and not keyword.iskeyword(part) for part in options.package.split(".")):
        raise InvalidArgument(
            f"--package {options.package!r} is no name of a package; write it with dots, as in an import."
        )
    find_domain = _installed_domains(options.package)
    found = source_of(options.sources, find_domain) if options.sources else npm_source(options.version, find_domain)
    unknown = [name for name in options.domains if name not in found.tables]
    if unknown:
        raise InvalidArgument(f"{found.origin} has no domain {', '.join(unknown)}; it has {', '.join(found.tables)}.")
    return found


def _installed_domains(package: str) -> Callable[[str], Table | None]:
    """A package of its own refers to the domains that are installed; the bindings refer to themselves alone."""

    def find(domain: str) -> Table | None:
        found = None if package == OWN_PACKAGE else domain_named(domain)
        return None if found is None else found.table

    return find


# ── what is written ──────────────────────────────────────────────────────────────────────────────────────────────────


def write_all(origin: str, tables: Mapping[str, Table], package: str, domains: list[str]) -> dict[str, str]:
    """Every file by its name, formatted."""
    files: dict[str, str] = {}
    chosen = {name: table for name, table in sorted(tables.items()) if not domains or name in domains}
    for name in chosen if package == OWN_PACKAGE else ():
        if field_name(name) in bindings.__all__:
            raise InvalidArgument(
                f"The domain {name} would be the module {field_name(name)}, a name that {package} has already."
            )
    for name, table in chosen.items():
        files[f"{field_name(name)}.py"] = Module(table, origin, package).text()
        files[f"{field_name(name)}.pyi"] = Stub(table, origin, package, chosen, _installed_domains(package)).text()
    if package == OWN_PACKAGE:
        files["_version.py"] = version_text(origin, chosen)
    return _formatted(files)


def _formatted(files: Mapping[str, str]) -> dict[str, str]:
    with working_folder() as folder:
        for name, text in files.items():
            (folder / name).write_bytes(text.encode())
        for command in (("check", *_FORMAT, *_TARGET, *_IMPORTS), ("format", *_FORMAT, *_TARGET)):
            done = subprocess.run(  # noqa: S603 - this interpreter, and options of our own
                [sys.executable, "-m", "ruff", *command, "."],
                capture_output=True,
                text=True,
                check=False,
                cwd=folder,
            )
            if done.returncode:
                lines = (done.stderr or done.stdout).strip().splitlines()
                if lines and lines[-1].endswith("No module named ruff"):
                    raise InvalidArgument("ruff, which formats what is written, is not installed; pip install ruff.")
                raise InvalidArgument(
                    f"ruff could not format what was written: {lines[-1] if lines else done.returncode}"
                )
        return {name: (folder / name).read_bytes().decode() for name in files}


# ── where it goes ────────────────────────────────────────────────────────────────────────────────────────────────────


def stale(files: Mapping[str, str], folder: Path) -> list[Path]:
    """Generated before, and not any more."""
    mark = f"\n{MARK} from ".encode()
    try:
        found = [*folder.glob("*.py"), *folder.glob("*.pyi")]
    except OSError:  # no folder yet, or none that can be read, which the writing will say
        return []
    return sorted(path for path in found if path.name not in files and mark in (_content(path) or b""))


def _named(left: Iterable[Path]) -> str:
    """The domains of such files; the files where they do not say."""
    names: dict[str, None] = {}
    for path in left:
        found = re.search(rb"The (\w+) domain", _content(path) or b"")
        names[found[1].decode() if found else path.name] = None
    more = len(names) - _MAX_NAMED
    return ", ".join([*names][:_MAX_NAMED]) + (f" and {more} more" if more > 0 else "")


def _check(files: Mapping[str, str], folder: Path, origin: str, left: list[Path], again: str) -> int:
    different = [name for name, text in files.items() if _content(folder / name) != text.encode()]
    different += [path.name for path in left]
    if different:
        print(f"{folder} is not what {origin} gives: {', '.join(sorted(different))}; run {again}")  # noqa: T201
        return 1
    print(f"{folder} is what {origin} gives ({len(files)} files)")  # noqa: T201
    return 0


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def put(files: Mapping[str, str], folder: Path, left: Iterable[Path] = ()) -> None:
    """Write the files, and delete what is left of others.

    All new files are whole beside the old ones before the first takes its place; where one cannot, the old come back.
    """
    new = {folder / name: folder / f".{name}.new" for name in files}
    replaced: dict[Path, bytes | None] = {}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            for path, beside in new.items():
                beside.write_bytes(files[path.name].encode())
            for path, beside in new.items():
                before = _content(path)
                beside.replace(path)
                replaced[path] = before
        except OSError:
            for path, before in replaced.items():
                path.unlink() if before is None else path.write_bytes(before)
            raise
        finally:
            for beside in new.values():
                beside.unlink(missing_ok=True)
        for path in left:
            path.unlink()
    except OSError as error:
        raise InvalidArgument(f"{folder} cannot be written: {error.strerror}") from None
