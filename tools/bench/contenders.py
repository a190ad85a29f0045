"""The contenders of `peers.json`, with their installed versions.

Kinds: `ours`; `peer` (a Python library in use: ratios refer to the fastest one of a run); `block` (a client built from
parts); `node`; `limit` (the bound of the socket) and `floor` (the bound of a loop or a decoder).

A contender without an installed environment is absent, and the report lists it as absent: a ratio to the fastest peer
depends on which peers took part.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
HOME = Path(os.environ.get("BENCH_HOME", Path.home() / ".cache" / "cdp-bench"))
VERSION_OF = "import sys; from importlib.metadata import version; print(version(sys.argv[1]))"


@dataclass(frozen=True)
class Contender:
    """One line of `peers.json`. `only` lists the kinds of workload it takes part in; empty for all."""

    name: str
    kind: str
    command: tuple[str, ...]
    adapter: str
    package: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    only: frozenset[str] = frozenset()
    fake_only: bool = False

    @property
    def present(self) -> bool:
        """True if its interpreter is installed, and for Node its package too."""
        return shutil.which(self.command[0]) is not None and (not self._is_node or self._node_manifest.exists())

    @property
    def version(self) -> str:
        """The installed version of its package."""
        if not self.package:
            return ""
        if self._is_node:
            return json.loads(self._node_manifest.read_text())["version"]
        command = [*self.command, "-c", VERSION_OF, self.package]
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
        return done.stdout.strip() or "unknown"

    def takes_part(self, workload: str, *, real: bool) -> bool:
        """Return True if it supports this kind of workload on this kind of endpoint."""
        return (not self.only or workload in self.only) and not (real and self.fake_only)

    def command_line(self, job: str) -> list[str]:
        """Return the command line that runs a job."""
        if self._is_node:
            return [*self.command, str(HERE / "driver.mjs"), str(HERE / "adapters" / self.adapter), job]
        return [*self.command, str(HERE / "driver.py"), self.adapter, job]

    @property
    def _is_node(self) -> bool:
        return self.adapter.endswith(".mjs")

    @property
    def _node_manifest(self) -> Path:
        return HERE / "node_modules" / self.package / "package.json"


def read_contenders(names: Collection[str] = (), kinds: Collection[str] = ()) -> list[Contender]:
    """Return all contenders, or those with one of these names and one of these kinds.

    Raises:
        SystemExit: a name is unknown.
    """
    text = (HERE / "peers.json").read_text()
    rows = json.loads(text.replace("{venvs}", str(HOME / "venvs")))
    if unknown := set(names) - set(rows):
        raise SystemExit(f"no contender is called {', '.join(sorted(unknown))}; choose from: {', '.join(rows)}")
    return [
        Contender(
            name=name,
            kind=row["kind"],
            command=tuple(row["command"]),
            adapter=row["adapter"],
            package=row["package"],
            environment=row.get("env", {}),
            only=frozenset(row.get("only", ())),
            fake_only=row.get("fake_only", False),
        )
        for name, row in rows.items()
        if (not names or name in names) and (not kinds or row["kind"] in kinds)
    ]
