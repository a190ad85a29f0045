"""The cost of `import cdp_core`: it loads no test package, and opens and starts nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
REQUIRED = ("attrs", "h11", "msgspec", "ssl", "trio", "trio_websocket")
"""Their effects at import are their own: trio looks for a C library, trio-websocket for its version."""
NEVER = ("asyncio", "cdp_core.testing", "hypothesis", "multiprocessing", "pytest", "_pytest", "sybil", "unittest")
LATER = (
    "cdp_core.demo",
    "cdp_core.launching",
    "cdp_core.transports.pipe",
    "cdp_core.tracing.replayed",
    "cdp_core.sansio.trace",
)
LATER += ("cdp_core.http_exchange", "cdp_core.transports.websocket.open", "h11", "trio_websocket", "wsproto")
"""Not every program needs these; they are loaded on first use."""
FORBIDDEN = ("socket.", "subprocess.", "os.exec", "os.fork", "os.posix_spawn", "os.system", "os.putenv", "ftplib.")
FORBIDDEN += ("os.remove", "os.rename", "os.mkdir", "os.rmdir", "shutil.", "tempfile.", "urllib.", "http.client")

WATCHED = f"""
import json, sys
list(map(__import__, {REQUIRED!r}))
seen = []
sys.addaudithook(lambda event, arguments: seen.append((event, str(arguments[0]) if arguments else "")))
import NAME
print(json.dumps(list(seen)))
"""


def run(program: str, **env: str) -> str:
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        cwd=ROOT,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **env},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert not ran.stderr
    return ran.stdout


def watched(name: str) -> list[tuple[str, str]]:
    """The audit events of an import, each with its first argument."""
    return [(event, first) for event, first in json.loads(run(WATCHED.replace("NAME", name)))]


def loaded(name: str, program: str = "") -> set[str]:
    """The modules that a fresh interpreter loads for one import."""
    return set(json.loads(run(f"import json, sys\nimport {name}\n{program}\nprint(json.dumps(sorted(sys.modules)))")))


@pytest.mark.parametrize("name", ["cdp_core", "cdp_supervisor", "cdp_core.testing"])
def test_an_import_does_no_input_or_output(name: str) -> None:
    for event, first in watched(name):
        assert not event.startswith(FORBIDDEN), (event, first)
        if event == "open":
            assert first.endswith((".py", ".pyc", ".so", ".zip")), f"{first} was opened"


def test_the_audit_hook_sees_files_sockets_and_processes() -> None:
    """Without this the test above could not fail."""
    events = watched("socket, os; socket.socket().close(); open('/dev/null').close(); os.system('true')")
    assert {"socket.__new__", "os.system"} <= {event for event, _first in events}
    assert ("open", "/dev/null") in events


def test_an_import_loads_no_test_package() -> None:
    modules = loaded("cdp_core")
    assert "cdp_core.link" in modules
    assert not [module for module in modules if module.split(".")[0] in NEVER or module in NEVER]


def test_optional_modules_are_loaded_later() -> None:
    assert not loaded("cdp_core") & set(LATER)
    touched = loaded("cdp_core", "cdp_core.RecordedTransport, cdp_core.TraceHeader")
    assert {"cdp_core.tracing.replayed", "cdp_core.sansio.trace"} <= touched


def test_cdp_core_testing_imports_no_test_package() -> None:
    own = loaded("cdp_core.testing") - loaded("trio.testing")  # trio.testing imports parts of pytest if it is installed
    assert "cdp_core.testing" in own
    assert not [module for module in own if module.split(".")[0] in {"hypothesis", "pytest", "_pytest"}]


def test_an_import_starts_and_prints_nothing() -> None:
    printed = run(
        "import logging, threading, warnings\n"
        "import cdp_core\n"
        "assert threading.active_count() == 1\n"
        "assert logging.getLogger().handlers == []\n"
        "assert logging.getLogger('cdp_core').level == logging.NOTSET"
    )
    assert printed == ""
