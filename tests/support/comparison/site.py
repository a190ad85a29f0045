"""The pages of a scenario: a web server under two host names for Chromium, a script for the fake."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from cdp_core.testing import steps as kinds
from support.comparison import site_server
from support.comparison.scenario import Scenario, script_of


class Site:
    """The HTTP server under its two host names."""

    def __init__(self, server: subprocess.Popen[bytes]) -> None:
        assert server.stdout is not None
        self._server = server
        port = int(server.stdout.readline())
        self.origins = {"{a}": f"http://127.0.0.1:{port}", "{b}": f"http://localhost:{port}"}

    def serve(self, pages: Mapping[str, Sequence[kinds.Step]], late: int) -> None:
        """Serve these steps at these paths. `late` selects the delays of the documents; 0 means none."""
        html = {path: self.filled(_source(path, steps)) for path, steps in pages.items()}
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(json.dumps([html, late]).encode() + b"\n")
        self._server.stdin.flush()
        assert self._server.stdout.readline()

    def filled(self, value: Any) -> Any:
        """Return the value with the origins instead of `{a}` and `{b}`."""
        if isinstance(value, str):
            for label, origin in self.origins.items():
                value = value.replace(label, origin)
            return value
        if isinstance(value, dict):
            return {self.filled(key): self.filled(each) for key, each in value.items()}
        if isinstance(value, (list, tuple)):
            return type(value)(map(self.filled, value))
        if attrs.has(type(value)):
            return type(value)(**{key: self.filled(each) for key, each in attrs.asdict(value, recurse=False).items()})
        return value

    def script(self, scenario: Scenario) -> kinds.Script:
        """Return the scenario's pages as the script of a fake browser."""
        answers = {
            self.filled(expression): kinds.Answer(None, self.filled(steps))
            for expression, steps in scenario.answers.items()
        }
        pages = {
            f"{origin}{path}": self.filled(steps)
            for origin in self.origins.values()
            for path, steps in scenario.pages.items()
        }
        return kinds.Script(pages=pages, answers=answers, overrides=scenario.overrides)


def _source(path: str, steps: Sequence[kinds.Step]) -> str:
    """Return the HTML document at a path, or the script of a worker."""
    script = "".join(map(script_of, steps))
    if path.endswith(".js"):
        return script
    return f"<!doctype html><body><script>{script}</script>" if steps else "<!doctype html><body>"


@contextlib.contextmanager
def served_site() -> Iterator[Site]:
    """Run the server in a process of its own, and yield its site."""
    server = subprocess.Popen([sys.executable, site_server.__file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with server:
        yield Site(server)
