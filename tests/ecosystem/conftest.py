"""Third-party clients, as separate programs, and the fake browser that they connect to.

The Python clients run in the interpreter that CDP_CLIENTS_PYTHON names (else in this one), the JavaScript ones with the
`node_modules` in the folder that CDP_CLIENTS_NODE names (else that of this folder). Their packages are listed in
requirements.txt and package.json. If one is missing the test is skipped with the reason; if CI is set, it fails.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

from cdp_core.testing import FakeBrowser, Script, start_fake_browser
from cdp_core.testing.steps import AddFrame, Answer, Console, Dialog, Popup, ScriptError
from support.one_chromium import running_chromium

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
LIMIT = 60.0
"""Seconds: far above what any client takes, on a busy machine."""

SHOP = "https://shop.example/"
SCRIPT = Script(
    pages={
        SHOP: (Console("welcome"), Console("careful", type="warning"), ScriptError("broken")),
        f"{SHOP}dialogs": (
            Dialog("alert", "Hello"),
            Dialog("confirm", "Sure?"),
            Dialog("prompt", "Name?", "nobody"),
            Console("all answered"),
        ),
        f"{SHOP}frames": (AddFrame("near", f"{SHOP}near"), AddFrame("pay", "https://pay.example/")),
    },
    answers={
        "cart.total()": Answer(12),
        "cart.items()": Answer([{"name": "tea", "price": 12}]),
        "cart.pay()": Answer("paid", (Dialog("confirm", "Pay 12?"),)),
        "cart.help()": Answer(None, (Popup("help", f"{SHOP}help"),)),
    },
)


def missing(what: str) -> NoReturn:
    reason = f"{what}; see tests/ecosystem/conftest.py"
    if os.environ.get("CI"):
        pytest.fail(f"{reason}; CI is set, so third-party clients must run", pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def clients_python() -> Callable[..., str]:
    """A function that returns an interpreter with the packages it is given."""
    interpreter = os.environ.get("CDP_CLIENTS_PYTHON", sys.executable)
    known: dict[str, bool] = {}

    def with_packages(*names: str) -> str:
        for name in names:
            if name not in known:
                look = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({name!r}) is None)"
                known[name] = subprocess.run([interpreter, "-c", look], check=False, cwd=HERE).returncode == 0
            if not known[name]:
                missing(f"{interpreter} has no {name}")
        return interpreter

    return with_packages


@pytest.fixture(scope="session")
def node_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which a module finds puppeteer-core."""
    installed = Path(os.environ.get("CDP_CLIENTS_NODE", HERE)) / "node_modules"
    if shutil.which("node") is None:
        missing("node is not installed")
    if not (installed / "puppeteer-core").is_dir():
        missing(f"there is no puppeteer-core in {installed}")
    folder = tmp_path_factory.mktemp("node")
    (folder / "node_modules").symlink_to(installed.absolute())
    return folder


Run = Callable[[list[str]], subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def run() -> Run:
    """A function that runs a program to its end, and shows its output if it fails."""

    def ran(command: list[str]) -> subprocess.CompletedProcess[str]:
        env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", "NO_COLOR": "1"}
        env |= {"PYTHON": sys.executable}
        for name in ("NODE_OPTIONS", "NODE_TEST_CONTEXT", "FORCE_COLOR", "PYTEST_ADDOPTS", "PYTEST_PLUGINS"):
            env.pop(name, None)
        done = subprocess.run(
            command, env=env, capture_output=True, text=True, timeout=LIMIT, check=False, stdin=subprocess.DEVNULL
        )
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        return done

    return ran


@pytest.fixture(scope="session")
def chromium_url() -> Iterator[str]:
    """The WebSocket address of a Chromium that runs as long as the tests do."""
    with running_chromium() as url:
        yield url


Program = Callable[[str], list[str]]


@pytest.fixture
def program(clients_python: Callable[..., str], request: pytest.FixtureRequest) -> Program:
    """A function that returns the command line of a client of this folder, without its arguments."""

    def command(name: str) -> list[str]:
        if name == "puppeteer":
            folder: Path = request.getfixturevalue("node_folder")
            return ["node", shutil.copy(HERE / "puppeteer_client.mjs", folder)]
        return [clients_python(name), str(HERE / f"{name}_client.py")]

    return command


@pytest.fixture(params=["headless-new", "headless-shell"])
def fake(request: pytest.FixtureRequest) -> Iterator[FakeBrowser]:
    """The fake browser with the shop, in both profiles."""
    with start_fake_browser(FakeBrowser(SCRIPT, profile=request.param)) as endpoint:
        endpoint.fake.ws_url = endpoint.ws_url  # type: ignore[attr-defined]
        yield endpoint.fake


@pytest.fixture
def observe(program: Program, run: Run) -> Callable[[str, str], dict[str, Any]]:
    """A function that returns a client's observations of the shop at an address."""

    def observed(name: str, url: str) -> dict[str, Any]:
        return json.loads(run([*program(name), url, SHOP]).stdout)

    return observed
