"""A supervisor on a real browser, and a second connection that reads the truth from that browser.

Every test here runs on both programs of Debian, `chromium` (which has windows for dialogs, and a back/forward cache) and
`chromium-headless-shell` (which has neither): `program.shell` is true for the latter, and where the two differ each has
its own expectation (facts 4, 24, 26).

`support/stage.py` has the `Stage`, `support/wire.py` the link that breaks.
"""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any
from urllib.parse import quote

import attrs
import pytest
import trio
import trustme

from cdp_core import BrowserSession, open_browser_session
from cdp_supervisor import Scope, Supervisor, open_supervisor
from support import page_server
from support.stage import PATIENCE, SOON, Stage, loaded
from support.wire import Wire

PROGRAMS = ("chromium", "chromium-headless-shell")


# ── the two programs ─────────────────────────────────────────────────────────────────────────────────────────────────


@attrs.frozen(kw_only=True)
class Program:
    """A browser program, and how it differs from the other one."""

    path: str
    shell: bool


@pytest.fixture(scope="session", params=PROGRAMS)
def program(request: pytest.FixtureRequest) -> Program:
    """One of the two programs; if it is not installed the test is skipped or, if CI is set, fails."""
    name = str(request.param)
    found = shutil.which(name)
    if found is None:
        missing = f"{name} is not installed"
        if os.environ.get("CI"):
            pytest.fail(f"{missing}; CI is set, so the tests against it must run", pytrace=False)
        pytest.skip(f"{missing}; install it from Debian's packages")
    return Program(path=found, shell=name.endswith("shell"))


@pytest.fixture(scope="session")
def launch(launch: Callable[..., Any], program: Program) -> Callable[..., Any]:
    """The parent's `launch` for this program; unknown certificates are accepted."""
    return partial(launch, program=program.path, switches=("--ignore-certificate-errors",))


@pytest.fixture(scope="session")
def shared_chromium(launch: Callable[..., Any]) -> Iterator[Any]:
    """One browser per program for the whole folder; a test that ends or changes a browser starts its own."""
    with launch() as browser:
        yield browser


# ── pages ────────────────────────────────────────────────────────────────────────────────────────────────────────────

Pages = Callable[..., str]


@pytest.fixture(scope="session")
def secure_pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pages]:
    """The `pages` fixture over https."""
    certificate = tmp_path_factory.mktemp("tls") / "certificate.pem"
    issued = trustme.CA().issue_cert("127.0.0.1", "localhost")
    issued.private_key_and_cert_chain_pem.write_to_path(str(certificate))
    server = subprocess.Popen(
        [sys.executable, page_server.__file__, str(certificate)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with server:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        yield lambda html, host="127.0.0.1": f"https://{host}:{port}/?html={quote(html)}"


@pytest.fixture(params=["http", "https"])
def sites(request: pytest.FixtureRequest, pages: Pages, secure_pages: Pages) -> Pages:
    """Pages over http, and again over https."""
    return pages if request.param == "http" else secure_pages


# ── the stage ────────────────────────────────────────────────────────────────────────────────────────────────────────

OpenStage = Callable[..., AbstractAsyncContextManager[Stage]]


@pytest.fixture
def open_stage(program: Program, shared_chromium: Any) -> OpenStage:
    """A function that opens a stage on the browser of this module, or on the one given."""

    @asynccontextmanager
    async def opened(
        *, where: Any = None, url: str | None = None, scoped: bool = True, **options: Any
    ) -> AsyncIterator[Stage]:
        async with open_browser_session(url or shared_chromium.url) as raw, raw.targets.open_context() as context:
            scope = {"scope": Scope.context(context)} if scoped else {}
            options = {"reconnect": SOON, **scope, **options}
            async with open_supervisor(url or shared_chromium.url if where is None else where, **options) as sup:
                stage = Stage(sup=sup, raw=raw, context=str(context), shell=program.shell)
                yield stage
                assert sup.statistics().get("impossible_dialog_moves", 0) == 0

    return opened


@pytest.fixture
async def raw(shared_chromium: Any) -> AsyncIterator[BrowserSession]:
    """A connection that is open before any supervisor."""
    async with open_browser_session(shared_chromium.url) as browser:
        yield browser


@pytest.fixture
async def stage(open_stage: OpenStage) -> AsyncIterator[Stage]:
    """A stage with the whole browser in scope, and the policy that leaves every dialog to the test."""
    with trio.fail_after(PATIENCE) as bound:
        async with open_stage(scoped=False) as opened:
            bound.deadline = math.inf
            yield opened
            bound.deadline = trio.current_time() + PATIENCE


@pytest.fixture
def open_page() -> Callable[[Supervisor, str], Awaitable[str]]:
    """A function that opens a page through a supervisor without a stage."""

    async def opened(sup: Supervisor, url: str) -> str:
        target = str((await sup.call("Target.createTarget", {"url": url}))["targetId"])
        await loaded(sup, target, url)
        return target

    return opened


# ── a link that breaks ───────────────────────────────────────────────────────────────────────────────────────────────

OpenWire = Callable[..., AbstractAsyncContextManager[Wire]]


@pytest.fixture
def open_wire(shared_chromium: Any) -> OpenWire:
    """A function that opens a proxy to the browser of this module, or to the one given."""

    @asynccontextmanager
    async def opened(browser: Any = None) -> AsyncIterator[Wire]:
        its = browser or shared_chromium
        async with trio.open_nursery() as nursery:
            (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
            wire = Wire(port=listener.socket.getsockname()[1], to=its.port, path=its.path)
            nursery.start_soon(trio.serve_listeners, wire.serve, [listener])
            yield wire
            nursery.cancel_scope.cancel()

    return opened
