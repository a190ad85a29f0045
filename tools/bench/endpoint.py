"""The endpoint of a measurement: a fake endpoint in a child process, or a running Chromium."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from contenders import HERE
from workloads import Workload

TIMEOUT = 60.0


def _get(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=TIMEOUT) as answer:
        return json.load(answer)


@dataclass
class Endpoint:
    """The addresses of an endpoint, and its process id; 0 for a running browser."""

    ws: str
    http: str
    targets: list[str]
    process: int = 0

    @property
    def real(self) -> bool:
        """True for a browser."""
        return not self.process

    def job(self, workload: Workload) -> str:
        """Return the workload's job on this endpoint, for the command line."""
        where = {"ws": self.ws, "http": self.http, "targets": self.targets, "real": self.real}
        return json.dumps({**workload.job, **where})

    def prepare(self, workload: Workload) -> None:
        """Let the fake build a flood before the clock starts."""
        if workload.flooded and not self.real:
            job = {"shape": "network", **workload.job}
            _get(f"{self.http}/prepare?n={job['n']}&k={job['k']}&shape={job['shape']}")

    @contextlib.contextmanager
    def pinned(self, cpu: int | None) -> Iterator[None]:
        """Run the endpoint's new connections and this process's new children on one CPU.

        Threads and processes inherit the CPUs of their creator; the fake starts a thread for each connection.
        """
        before = os.sched_getaffinity(0)
        processes = [0] if self.real else [0, self.process]
        try:
            for process in processes if cpu is not None else ():
                os.sched_setaffinity(process, {cpu})
            yield
        finally:
            for process in processes:
                os.sched_setaffinity(process, before)


@contextlib.contextmanager
def fake_endpoint() -> Iterator[Endpoint]:
    """Start a fake endpoint, and end it with the block."""
    command = [sys.executable, str(HERE / "fake_endpoint.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            ws = process.stdout.readline().split()[-1]
            yield Endpoint(ws, f"http://{ws.split('/')[2]}", [], process.pid)
        finally:
            process.kill()


@contextlib.contextmanager
def real_endpoint(port: int) -> Iterator[Endpoint]:
    """Use the first page of a Chromium that runs with --remote-debugging-port."""
    http = f"http://127.0.0.1:{port}"
    ws = _get(f"{http}/json/version")["webSocketDebuggerUrl"]
    pages = [target["id"] for target in _get(f"{http}/json/list") if target["type"] == "page"]
    if not pages:
        raise SystemExit(f"the browser on port {port} has no page; open one")
    yield Endpoint(ws, http, pages[:1])
