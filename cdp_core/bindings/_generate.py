"""The generator of bindings: one module and one stub for each domain of a protocol.

    python -m cdp_core.bindings generate vendor.json --package my_vendor.cdp      # domains of another package
    python -m cdp_core.bindings generate http://127.0.0.1:9222 --package my_vendor.cdp --domains Vendor

The same source gives the same files, byte for byte. Either all files are written, or none. The exit code is 0, 1 if
`--check` found a difference, and 2, with one line, after an error.

`tools/gen_bindings.py` writes the bindings themselves with this module, in a checkout, and passes their folder
(`own`). If they would lose a domain, the error names it, and `--drop` allows it.
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
"""Given explicitly, so that the files do not depend on the configuration of the machine."""


def add_options(parser: argparse.ArgumentParser, *, own: bool) -> None:
    """Add the options of the command; `own` allows writing the bindings themselves."""
    parser.add_argument("sources", nargs="*", help="protocol files, or the address of a browser; default: npm")
    parser.add_argument("--version", default=PINNED, help="the version of the npm package (%(default)s)")
    parser.add_argument("--check", action="store_true", help="write nothing; list the files that would differ")
    parser.add_argument(
        "--package",
        required=not own,
        default=OWN_PACKAGE if own else None,
        help="the package that the modules belong to",
    )
    parser.add_argument(
        "--domains", type=lambda text: text.split(","), default=[], help="only these, separated by commas"
    )
    parser.add_argument("--out", type=Path, help="the folder to write to; default: that of the package")
    if own:
        parser.add_argument("--drop", action="store_true", help="delete the domains that the source does not have")


def generate(options: argparse.Namespace, *, own: Path | None = None, again: str = "the same") -> int:
    """Run the command, and return the exit code. `own` is the folder of the bindings themselves.

    Raises CdpError, with a text of one line, after which no file has changed.
    """
    whole = options.package == OWN_PACKAGE
    home = own if whole else Path(*options.package.split("."))
    if home is None:
        raise InvalidArgument(f"{OWN_PACKAGE} itself is generated in a checkout; run tools/gen_bindings.py there.")
    source = _read(options, whole=whole)
    files = write_all(source.origin, source.tables, options.package, options.domains)
    folder: Path = options.out or home
    left = stale(files, folder) if whole else []
    if options.check:
        return _check(files, folder, source.origin, left, again)
    if left and not options.drop:
        raise InvalidArgument(
            f"{' and '.join(options.sources) or source.origin} lacks {_named(left)}, which {folder} has; "
            "give the whole protocol, or --drop to delete them."
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


# ── the source ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _read(options: argparse.Namespace, *, whole: bool) -> Source:
    if options.domains and whole:
        raise InvalidArgument(f"--domains needs another --package: {OWN_PACKAGE} always has every domain.")
    if not all(part.isidentifier() and not keyword.iskeyword(part) for part in options.package.split(".")):
        raise InvalidArgument(
            f"--package {options.package!r} is not a package name; write it with dots, as in an import."
        )
    find_domain = _installed_domains(options.package)
    found = source_of(options.sources, find_domain) if options.sources else npm_source(options.version, find_domain)
    unknown = [name for name in options.domains if name not in found.tables]
    if unknown:
        raise InvalidArgument(f"{found.origin} has no domain {', '.join(unknown)}; it has {', '.join(found.tables)}.")
    return found


def _installed_domains(package: str) -> Callable[[str], Table | None]:
    """Return the lookup of installed domains; the bindings themselves refer to none of them."""

    def find(domain: str) -> Table | None:
        found = None if package == OWN_PACKAGE else domain_named(domain)
        return None if found is None else found.table

    return find


# ── the files ────────────────────────────────────────────────────────────────────────────────────────────────────────


def write_all(origin: str, tables: Mapping[str, Table], package: str, domains: list[str]) -> dict[str, str]:
    """Return the formatted text of every file by its name."""
    files: dict[str, str] = {}
    chosen = {name: table for name, table in sorted(tables.items()) if not domains or name in domains}
    for name in chosen if package == OWN_PACKAGE else ():
        if field_name(name) in bindings.__all__:
            raise InvalidArgument(
                f"The domain {name} would be the module {field_name(name)}, a name that {package} uses already."
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
            done = subprocess.run(  # noqa: S603 - this interpreter, with fixed options
                [sys.executable, "-m", "ruff", *command, "."],
                capture_output=True,
                text=True,
                check=False,
                cwd=folder,
            )
            if done.returncode:
                lines = (done.stderr or done.stdout).strip().splitlines()
                if lines and lines[-1].endswith("No module named ruff"):
                    raise InvalidArgument("ruff, which formats the files, is not installed; pip install ruff.")
                raise InvalidArgument(
                    f"ruff could not format the generated files: {lines[-1] if lines else done.returncode}"
                )
        return {name: (folder / name).read_bytes().decode() for name in files}


# ── the folder ───────────────────────────────────────────────────────────────────────────────────────────────────────


def stale(files: Mapping[str, str], folder: Path) -> list[Path]:
    """Return the generated files of the folder that are not among the new ones."""
    mark = f"\n{MARK} from ".encode()
    try:
        found = [*folder.glob("*.py"), *folder.glob("*.pyi")]
    except OSError:  # no folder, or an unreadable one, which is an error when the files are written
        return []
    return sorted(path for path in found if path.name not in files and mark in (_content(path) or b""))


def _named(left: Iterable[Path]) -> str:
    """Name the domains of the files; a file without a domain by its file name."""
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
        print(f"{folder} differs from the bindings of {origin}: {', '.join(sorted(different))}; run {again}")  # noqa: T201
        return 1
    print(f"{folder} has the bindings of {origin} ({len(files)} files)")  # noqa: T201
    return 0


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def put(files: Mapping[str, str], folder: Path, left: Iterable[Path] = ()) -> None:
    """Write the files, and delete those in `left`.

    All new files are written under temporary names before the first replaces an old one; after an error, the old files
    are restored.
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
