"""The sources of generated bindings: the npm package of the protocol, files, or a running browser.

A `Source` has the tables of one protocol and its origin: a version that other people can download again if one is
known, never an address, and a file name only without a version. Each error is one line that names the problem and its
place.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tarfile
import zlib
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Final

import attrs

from cdp_core.bindings._description import load_description, origin_of
from cdp_core.bindings._tables import Table, read_protocol
from cdp_core.errors import InvalidArgument
from cdp_core.sansio.messages import is_object

NPM_PACKAGE: Final = "devtools-protocol"
NPM_FILES: Final = ("browser_protocol.json", "js_protocol.json")
NPM_SECONDS: Final = 120.0
"""Seconds for all of npm's work; its own limit applies to each request."""

_NPM_OPTIONS: Final = ("--loglevel=error", "--fetch-retries=0", "--fetch-timeout=30000")
_NPM_SIGNS: Final = ("npm error", "npm ERR!", "npm warn", "npm WARN")
_LONGEST_REASON: Final = 200

FindDomain = Callable[[str], Table | None]


@attrs.frozen
class Source:
    """The tables of one protocol, and their origin."""

    origin: str
    """The origin in words, which is written into docstrings."""
    tables: dict[str, Table]


def source_of(places: Sequence[str], find_domain: FindDomain) -> Source:
    """Read the protocol from files, or from a browser.

    Raises InvalidArgument or DiscoveryError; the former also if two files are from different npm versions.
    """
    described = [load_description(place) for place in places]
    tables = read_protocol(*described, find_domain=find_domain)
    origins = [origin_of(place) for place in places]
    of_npm = [number for number, origin in enumerate(origins) if origin.startswith(f"{NPM_PACKAGE} ")]
    for number in of_npm:
        if origins[number] != origins[of_npm[0]]:
            raise InvalidArgument(
                f"{places[number]} is of {origins[number]}, but {places[of_npm[0]]} is of {origins[of_npm[0]]}; "
                "give two files of one version."
            )
    return Source(_for_docstrings(" and ".join(dict.fromkeys(origins))), tables)


def npm_source(version: str, find_domain: FindDomain) -> Source:
    """Read the protocol from the npm package; `version` may be a tag such as `latest`.

    Raises InvalidArgument.
    """
    npm = shutil.which("npm")
    if npm is None:
        raise InvalidArgument(f"npm is not installed; install it, or give the two files {' and '.join(NPM_FILES)}.")
    package = f"{NPM_PACKAGE}@{version}"
    with working_folder() as folder:
        try:
            with tarfile.open(_fetch(npm, package, folder)) as archive:
                about, *described = [_read_member(archive, name, package) for name in ("package.json", *NPM_FILES)]
        except (tarfile.TarError, OSError, EOFError, zlib.error):
            raise InvalidArgument(
                f"The file that npm fetched for {package} is not a readable archive; try again."
            ) from None
    resolved = about.get("version") if is_object(about) else None
    if not isinstance(resolved, str):
        raise InvalidArgument(f"{package} has no version in its package.json.")
    tables = read_protocol(*zip(NPM_FILES, described, strict=True), find_domain=find_domain)
    return Source(_for_docstrings(f"{NPM_PACKAGE} {resolved}"), tables)


@contextmanager
def working_folder() -> Generator[Path, None, None]:
    """Provide a temporary folder. Raises InvalidArgument if it cannot be made or written."""
    try:
        with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            yield Path(folder)
    except OSError as error:
        why = error.strerror or type(error).__name__
    else:
        return
    raise InvalidArgument(f"The temporary folder cannot be written ({why}); make room there, or set TMPDIR.")


def _for_docstrings(origin: str) -> str:
    return "".join(sign if sign.isprintable() and sign not in '"\\' else "?" for sign in origin)


# ── npm ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _fetch(npm: str, package: str, folder: Path) -> Path:
    try:
        done = subprocess.run(  # noqa: S603 - npm from the caller's path, with the version that the caller gave
            [npm, "pack", *_NPM_OPTIONS, package],
            cwd=folder,
            capture_output=True,
            check=False,
            stdin=subprocess.DEVNULL,
            timeout=NPM_SECONDS,
        )
    except subprocess.TimeoutExpired:
        why = f"nothing within {NPM_SECONDS:g} s"
    except OSError as error:
        raise InvalidArgument(f"{npm} cannot be run ({error.strerror}); install npm, or give the two files.") from None
    else:
        archives = [*folder.glob("*.tgz")]
        if not done.returncode and archives:
            return archives[0]
        why = _reason(done.stderr.decode("utf-8", "replace")) or "it gave no reason"
    raise InvalidArgument(f"npm could not fetch {package} ({why}); check the network and the version.")


def _reason(stderr: str) -> str:
    """Return the first line of npm's output that is neither a bare code nor about npm itself."""
    bare: list[str] = []
    for line in stderr.splitlines():
        plain = line.strip()
        for sign in _NPM_SIGNS:
            plain = plain.removeprefix(sign).strip()
        if not plain or "warn" in line[:8].lower() or plain.startswith("A complete log"):
            continue
        if not plain.startswith(("code ", "syscall ", "errno ", "path ")):
            return plain.rstrip(".")[:_LONGEST_REASON]
        bare.append(plain)
    return bare[0] if bare else ""


def _read_member(archive: tarfile.TarFile, name: str, package: str) -> object:
    inside = name if name == "package.json" else f"json/{name}"
    try:
        member: IO[bytes] | None = archive.extractfile(f"package/{inside}")
        if member is not None:
            content: object = json.load(member)
            return content
    except (KeyError, ValueError, RecursionError):
        pass
    raise InvalidArgument(f"{package} has no readable {inside}.") from None
