"""A real Chromium for the tests that need one, pages for it, and the ways to connect to it.

* One browser process per module (`shared_chromium`), on a new profile; a test that ends its browser uses one of its own
  (`own_chromium`). Both are found by the port file that the browser writes, and reaped with all their helpers.
* `browser` is a link over one of four ways; the same test body must pass over each. Over the pipe each link starts its
  own browser. When the fixture ends, the link must have counted no anomaly.
* Each test works in a browser context of its own (`context`, `new_page`), or shares nothing at all.
* Every test, and every fixture that talks to the browser, is bounded by `LIMIT` seconds: nothing hangs.

Anything that outlives a test has a wider scope than the check for leaks in `tests/conftest.py`, or is a process that is
neither a descriptor nor a thread of ours.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import attrs
import pytest
import trio

from cdp_core import BrowserContextId, BrowserSession, PageSession, open_browser_session, open_pipe_session
from cdp_core.transports.websocket.open import open_websocket
from support import page_server

LONG = "CDP_LONG" in os.environ
"""Repeat as often as the claim says; set by the nox session `long`."""
LIMIT = 600.0 if LONG else 60.0
"""Seconds: far above what any test takes on a busy machine, so that only a test that hangs reaches it."""
LIMIT_OF_COMPARISONS = 90.0
"""Seconds, for `conformance`: those tests observe a browser many times before they report a deviation."""
NAMES = ("chromium", "chromium-browser", "google-chrome")
SWITCHES = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--site-per-process",
)
NO_INTERFACE = "--disable-features=WebUIOmniboxPopup"
"""Without it each window loads two pages of the browser's interface, and opening a page takes half as long again."""
MARK = "CDP_LIVE_RUN"
"""In the environment of each browser: identifies even a helper that left the browser's process group."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Bound every test of this folder."""
    for item in items:
        if item.get_closest_marker("chromium") and isinstance(item, pytest.Function):
            item.obj = _bounded(item.obj, LIMIT_OF_COMPARISONS if "conformance" in item.path.parts else LIMIT)


def _bounded(test: Callable[..., Any], limit: float) -> Callable[..., Any]:
    if not inspect.iscoroutinefunction(test):
        return test

    @functools.wraps(test)
    async def bounded(**fixtures: Any) -> None:
        with trio.fail_after(limit):
            await test(**fixtures)

    return bounded


# ── the program ──────────────────────────────────────────────────────────────────────────────────────────────────────


@attrs.frozen(kw_only=True)
class Chromium:
    """One browser, prepared or started: command line, profile, and the environment that identifies it."""

    argv: list[str]
    profile: Path
    env: dict[str, str]
    popen: subprocess.Popen[bytes] | None = None

    @property
    def port_file(self) -> Path:
        return self.profile / "DevToolsActivePort"

    @property
    def port(self) -> int:
        return int(self.port_file.read_text().split("\n")[0])

    @property
    def path(self) -> str:
        """The path of the browser's WebSocket address."""
        return self.port_file.read_text().split("\n")[1]

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}{self.path}"

    def running(self) -> set[int]:
        """Return every process of this browser that has not ended."""
        found: set[int] = set()
        mark = f"{MARK}={self.env[MARK]}".encode()
        profile = os.fsencode(self.profile)
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if entry.name.isdigit() and _state(entry) != "Z":
                    ours = profile in (entry / "cmdline").read_bytes() or mark in (entry / "environ").read_bytes()
                    if ours or (self.popen is not None and _group(entry) == self.popen.pid):
                        found.add(int(entry.name))
        return found

    def assert_gone(self) -> None:
        """Assert that no process of it runs, after giving helpers time to notice that their browser has ended."""
        deadline = time.monotonic() + LIMIT
        while left := self.running():
            assert time.monotonic() < deadline, f"processes of the browser are left: {left}"
            time.sleep(0.01)


def _state(entry: Path) -> str:
    return (entry / "stat").read_text().rpartition(")")[2].split()[0]


def _group(entry: Path) -> int:
    return int((entry / "stat").read_text().rpartition(")")[2].split()[2])


@pytest.fixture(scope="session")
def times() -> Callable[[int, int], int]:
    """A function that returns how often to repeat: the short number, or in long runs the other one."""
    return lambda short, full: full if LONG else short


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of the program; without one the test is skipped or, if CI is set, fails."""
    wanted = os.environ.get("CDP_CHROMIUM")
    found = shutil.which(wanted) if wanted else next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        missing = f"CDP_CHROMIUM names no program: {wanted}" if wanted else f"none of {', '.join(NAMES)} is installed"
        if os.environ.get("CI"):
            pytest.fail(f"{missing}; CI is set, so the tests against a real Chromium must run", pytrace=False)
        pytest.skip(f"{missing}; install Chromium, or name it in CDP_CHROMIUM")
    return found


@pytest.fixture(scope="session")
def shell() -> str:
    """The path of headless-shell; if it is not installed, the test is skipped, or fails when CI is set."""
    found = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chrome-headless-shell"))), None)
    if found is None and os.environ.get("CI"):
        pytest.fail("headless-shell is not installed; CI is set, so the tests against it must run", pytrace=False)
    if found is None:
        pytest.skip("headless-shell is not installed (Debian: chromium-headless-shell)")
    return found


@pytest.fixture(scope="session")
def prepare(chromium: str) -> Callable[..., AbstractAsyncContextManager[Chromium]]:
    """A function that prepares a browser, on a new profile, for the length of a block.

    Afterwards no process of it is left. Pages of the browser's own `interface` are off by default.
    """

    @contextlib.contextmanager
    def prepared(
        way_in: str, program: str = chromium, switches: tuple[str, ...] = (), *, interface: bool = False
    ) -> Iterator[Chromium]:
        profile = Path(tempfile.mkdtemp(prefix="cdp-live-"))
        env = {**os.environ, MARK: uuid.uuid4().hex}
        lean = () if interface else (NO_INTERFACE,)
        argv = [program, *SWITCHES, *lean, *switches, f"--user-data-dir={profile}", way_in]
        browser = Chromium(argv=argv, profile=profile, env=env)
        try:
            yield browser
            browser.assert_gone()
        finally:
            shutil.rmtree(profile, ignore_errors=True)

    return prepared


@pytest.fixture(scope="session")
def launch(prepare: Callable[..., Any]) -> Callable[..., AbstractAsyncContextManager[Chromium]]:
    """A function that runs a browser with a debugging port for a block: Chromium, or another `program`.

    A folder that needs another program or more `switches` overrides this fixture with a `partial` of it. A fixture that
    it depends on could not be overridden per folder, since this one is made once for all folders.
    """

    @contextlib.contextmanager
    def launched(**other: Any) -> Iterator[Chromium]:
        with prepare("--remote-debugging-port=0", **other) as prepared:
            popen = subprocess.Popen(
                prepared.argv,
                env=prepared.env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            browser = attrs.evolve(prepared, popen=popen)
            try:
                _await_port(browser)
                yield browser
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(popen.pid, signal.SIGKILL)
                popen.wait()

    return launched


def _await_port(browser: Chromium) -> None:
    deadline = time.monotonic() + LIMIT
    while not browser.port_file.exists() or "/devtools/" not in browser.port_file.read_text():
        assert browser.popen is not None
        assert browser.popen.poll() is None, "the browser left before it opened its debugging port"
        assert time.monotonic() < deadline, "the browser opened no debugging port"
        time.sleep(0.01)


@pytest.fixture(scope="module")
def shared_chromium(launch: Callable[[], Any]) -> Iterator[Chromium]:
    with launch() as browser:
        yield browser


@pytest.fixture
def own_chromium(launch: Callable[[], Any]) -> Iterator[Chromium]:
    with launch() as browser:
        yield browser


# ── the ways to connect ───────────────────────────────────────────────────────────────────────────────────────────────

OpenLink = Callable[..., AbstractAsyncContextManager[BrowserSession]]


@pytest.fixture(
    params=["fast", "fast over a stream", pytest.param("pipe", marks=pytest.mark.live_pipe)],
)
def way(request: pytest.FixtureRequest) -> str:
    """How the test connects to the browser; the same body must pass over each way."""
    return str(request.param)


@pytest.fixture
def open_link(way: str, shared_chromium: Chromium, prepare: Callable[[str], Any]) -> OpenLink:
    """A function that opens a link over this way."""

    @asynccontextmanager
    async def over_pipe(**options: Any) -> AsyncIterator[BrowserSession]:
        with prepare("--remote-debugging-pipe") as its:
            async with open_pipe_session(its.argv, env=its.env, **options) as browser:
                yield browser

    @asynccontextmanager
    async def over_websocket(**options: Any) -> AsyncIterator[BrowserSession]:
        async with (
            open_websocket(shared_chromium.url, direct=way == "fast") as transport,
            open_browser_session(transport, **options) as browser,
        ):
            yield browser

    return over_pipe if way == "pipe" else over_websocket


@pytest.fixture
async def browser(open_link: OpenLink) -> AsyncIterator[BrowserSession]:
    """A link over this way."""
    with trio.fail_after(LIMIT) as scope:
        async with open_link() as link:
            scope.deadline = math.inf
            yield link
            scope.deadline = trio.current_time() + LIMIT
            assert dict(link.statistics().router.anomalies) == {}


@pytest.fixture
async def context(browser: BrowserSession) -> AsyncIterator[BrowserContextId]:
    """A browser context for this test alone."""
    with trio.fail_after(LIMIT) as scope:
        async with browser.targets.open_context() as context:
            scope.deadline = math.inf
            yield context
            scope.deadline = trio.current_time() + LIMIT


# ── pages ────────────────────────────────────────────────────────────────────────────────────────────────────────────

Pages = Callable[..., str]
Evaluate = Callable[..., Awaitable[Any]]
Load = Callable[[PageSession, str], Awaitable[None]]


@pytest.fixture(scope="session")
def pages() -> Iterator[Pages]:
    """A function that returns the address of a page; each host is a site with its own process."""
    server = subprocess.Popen(
        [sys.executable, page_server.__file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with server:
        assert server.stdout is not None
        port = int(server.stdout.readline())

        def address(html: str, host: str = "127.0.0.1", path: str = "/", **query: object) -> str:
            more = "".join(f"&{name}={value}" for name, value in query.items())
            return f"http://{host}:{port}{path}?html={quote(html)}{more}"

        yield address


@pytest.fixture
def evaluate() -> Evaluate:
    """A function that returns the value of an expression in a page."""

    async def value_of(page: PageSession, expression: str, **params: Any) -> Any:
        answer = await page.send(
            "Runtime.evaluate", {"expression": expression, "returnByValue": True, "awaitPromise": True, **params}
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    return value_of


@pytest.fixture
def load() -> Load:
    """A function that navigates a page and waits until it has loaded."""

    async def loaded(page: PageSession, url: str) -> None:
        async with page.enabled("Page"):
            with page.expect("Page.loadEventFired") as event:
                answer = await page.send("Page.navigate", {"url": url})
            assert "errorText" not in answer, answer
            await event.wait()

    return loaded


@pytest.fixture
def new_page(
    browser: BrowserSession, context: BrowserContextId, pages: Pages, load: Load
) -> Callable[..., Awaitable[PageSession]]:
    """A function that opens a page of this test's context, loaded with this source."""

    async def opened(html: str = "", host: str = "127.0.0.1") -> PageSession:
        page = await browser.targets.create("about:blank", context=context)
        if html:
            await load(page, pages(html, host))
        return page

    return opened
