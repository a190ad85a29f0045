"""A supervisor at a real browser, and beside it a connection of its own that tells what is true there.

Every test here runs on both programs of Debian, `chromium` (which has windows for dialogs, and a back/forward cache) and
`chromium-headless-shell` (which has neither): `program.shell` says which it is, and where they differ each has its own
expectation (facts 4, 24, 26).

A `Stage` is one test's: a browser context, a supervisor, and `raw`, a connection that is never listened on unless a test
does so. What the supervisor says of frames is compared with what `raw` reads from every target at that moment, so that
neither a ghost nor a frame that was missed can hide.
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
from pathlib import Path
from typing import Any
from urllib.parse import quote

import attrs
import pytest
import trio
import trustme

from cdp_core import BrowserSession, CommandRefused, PageSession, open_browser_session
from cdp_supervisor import BlockedByDialog, FrameView, PageView, Reconnect, Scope, Snapshot, Supervisor, open_supervisor

PROGRAMS = ("chromium", "chromium-headless-shell")
PATIENCE = 20.0
"""Seconds in which what is to become true has become true, on a machine that is busy with something else."""
STEP = 0.02
SOON = Reconnect(first=0.1, most=0.3, budget=8)

Frames = dict[str, tuple[str | None, str, bool]]
"""By id: the parent, the address, and whether it is out of process."""


# ── the two programs ─────────────────────────────────────────────────────────────────────────────────────────────────


@attrs.frozen(kw_only=True)
class Program:
    """A browser program, and what is different in it."""

    path: str
    shell: bool


@pytest.fixture(scope="session", params=PROGRAMS)
def program(request: pytest.FixtureRequest) -> Program:
    """One of the two; where it is not installed the test is skipped, or, where CI is set, fails."""
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
    """As above, of this program, for pages whose certificates nobody knows."""
    return partial(launch, program=program.path, switches=("--ignore-certificate-errors",))


@pytest.fixture(scope="session")
def shared_chromium(launch: Callable[..., Any]) -> Iterator[Any]:
    """As above, one of each program for the whole folder: what ends or changes a browser here has one of its own."""
    with launch() as browser:
        yield browser


# ── pages ────────────────────────────────────────────────────────────────────────────────────────────────────────────

Pages = Callable[..., str]


@pytest.fixture(scope="session")
def secure_pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pages]:
    """As `pages`, over https."""
    certificate = tmp_path_factory.mktemp("tls") / "certificate.pem"
    issued = trustme.CA().issue_cert("127.0.0.1", "localhost")
    issued.private_key_and_cert_chain_pem.write_to_path(str(certificate))
    server = subprocess.Popen(
        [sys.executable, str(Path(__file__).parents[1] / "page_server.py"), str(certificate)],
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


@attrs.define(kw_only=True, eq=False)
class Stage:
    """See the module."""

    sup: Supervisor
    raw: BrowserSession
    context: str
    shell: bool

    async def open(self, url: str = "about:blank") -> str:
        """A page of this test's own, when it has loaded, and the supervisor has read it; a dialog may stop it."""
        made = await self.raw.send("Target.createTarget", {"url": url, "browserContextId": self.context})
        target = str(made["targetId"])
        await loaded(self.sup, target, url)
        return target

    async def until(self, condition: Callable[[Snapshot], object]) -> Snapshot:
        """The first snapshot of which it is true."""
        with trio.move_on_after(PATIENCE):
            return await self.sup.wait_for(lambda snapshot: bool(condition(snapshot)))
        raise AssertionError(f"it did not come about: {self.sup.snapshot().to_dict(full=True)}")

    def page(self, target: str) -> PageView:
        """The page as it is now."""
        page = self.sup.snapshot().page(target)
        assert page is not None
        return page

    async def start(self, target: str, expression: str, **params: Any) -> Any:
        """Begin a script that may be stopped, over the other connection."""
        session = await self.attach(target)
        reply = session.send_nowait("Runtime.evaluate", {"expression": expression, "returnByValue": True, **params})
        reply.on_end()  # nobody need wait for it
        return reply

    async def attach(self, target: str) -> PageSession:
        """A session of the other connection."""
        return await self.raw.targets.attach(target)

    async def far_frame(self, target: str) -> FrameView:
        """The one frame of a page that is out of process, when it has loaded."""

        def found(snapshot: Snapshot) -> list[FrameView]:
            page = snapshot.page(target)
            frames = () if page is None else page.frames()
            return [each for each in frames if each.is_oopif and each.url.startswith("http") and each.session_id]

        (frame,) = found(await self.until(found))
        return frame

    async def dialog(self, *, of: str | None = None) -> Any:
        """The one dialog that is pending, when it is."""
        found = await self.until(lambda s: [each for each in s.pending_dialogs if of in (None, each.target_id)])
        (dialog,) = [each for each in found.pending_dialogs if of in (None, each.target_id)]
        return dialog

    async def ended(self, dialog_id: str) -> Any:
        """A dialog that is over."""
        found = await self.until(lambda s: any(each.id == dialog_id for each in s.recent_dialogs))
        return next(each for each in found.recent_dialogs if each.id == dialog_id)

    async def agree(self, target: str) -> Frames:
        """The frames of a page, when what is told of them is what the browser has."""
        truth: Frames = {}
        told: Frames = {}
        with trio.move_on_after(PATIENCE):
            while True:
                before = told
                truth = await self.true_frames(target)
                told = frames_of(self.page(target))
                if truth == told == before:  # twice the same: nothing is on its way
                    return told
                await trio.sleep(STEP)
        raise AssertionError(f"true: {truth}\ntold: {told}")

    async def true_frames(self, target: str) -> Frames:
        """The frames of a page, read anew from every target of its tree."""
        found: Frames = {}
        listed = (await self.raw.send("Target.getTargets"))["targetInfos"]
        parents = {each["targetId"]: each.get("parentFrameId") for each in listed if each["type"] == "iframe"}
        await self._read_target(target, None, found)
        more = True
        while more:
            more = False
            for child, parent in parents.items():
                if parent in found and child not in found:
                    more = await self._read_target(child, parent, found) or more
        return found

    async def _read_target(self, target: str, parent: str | None, found: Frames) -> bool:
        try:
            session = await self.raw.targets.attach(target, fresh=True)
        except Exception:
            return False  # it went while it was read; the next round says so
        try:
            with trio.fail_after(PATIENCE):
                tree = (await session.send("Page.getFrameTree"))["frameTree"]
            _collect(tree, parent, found, oopif=parent is not None)
        except Exception:
            return False
        finally:
            await session.detach()
        return True


async def loaded(sup: Supervisor, target: str, url: str) -> None:
    """Until a page has been read, and has loaded this; a dialog may stop it."""
    with trio.fail_after(PATIENCE):
        await sup.wait_for(lambda s: (page := s.page(target)) is not None and not page.stale and page.url == url)
        while True:
            try:
                shown = await sup.evaluate("[document.readyState, location.href]", target_id=target)
            except CommandRefused:
                continue  # its navigation came in between
            except BlockedByDialog:
                return
            if shown == ["complete", url]:
                return
            await trio.sleep(STEP)


def _collect(tree: Any, parent: str | None, found: Frames, *, oopif: bool) -> None:
    frame = tree["frame"]
    found[frame["id"]] = (parent, frame["url"] + frame.get("urlFragment", ""), oopif)
    for child in tree.get("childFrames", ()):
        _collect(child, frame["id"], found, oopif=False)


def frames_of(page: PageView) -> Frames:
    """What is told of a page's frames."""
    return {each.frame_id: (each.parent_frame_id, each.url, each.is_oopif) for each in page.frames()}


OpenStage = Callable[..., AbstractAsyncContextManager[Stage]]


@pytest.fixture
def open_stage(program: Program, shared_chromium: Any) -> OpenStage:
    """What opens a stage on the browser of this module, or on the one given."""

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
    """A connection that is there before any supervisor."""
    async with open_browser_session(shared_chromium.url) as browser:
        yield browser


@pytest.fixture
async def stage(open_stage: OpenStage) -> AsyncIterator[Stage]:
    """One with the whole browser in scope and every dialog to be responded to."""
    with trio.fail_after(PATIENCE) as bound:
        async with open_stage(scoped=False) as opened:
            bound.deadline = math.inf
            yield opened
            bound.deadline = trio.current_time() + PATIENCE


@pytest.fixture
def open_page() -> Callable[[Supervisor, str], Awaitable[str]]:
    """What opens a page by a supervisor that is no stage's."""

    async def opened(sup: Supervisor, url: str) -> str:
        target = str((await sup.call("Target.createTarget", {"url": url}))["targetId"])
        await loaded(sup, target, url)
        return target

    return opened


# ── a link that breaks ───────────────────────────────────────────────────────────────────────────────────────────────


@attrs.define(kw_only=True, eq=False)
class Wire:
    """A TCP proxy in front of a browser: it cuts what goes through it, and may refuse to be dialled."""

    port: int
    to: int
    path: str
    refusing: bool = False
    cuts: int = 0
    _streams: set[trio.SocketStream] = attrs.field(factory=set)

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}{self.path}"

    async def cut(self, *, refuse: bool = False) -> None:
        """End every connection, without a word."""
        self.refusing = refuse
        self.cuts += 1
        for stream in tuple(self._streams):
            await trio.aclose_forcefully(stream)

    async def serve(self, client: trio.SocketStream) -> None:
        if self.refusing:
            await client.aclose()
            return
        browser = await trio.open_tcp_stream("127.0.0.1", self.to)
        ours = {client, browser}
        self._streams |= ours
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._carry, client, browser, nursery.cancel_scope)
                nursery.start_soon(self._carry, browser, client, nursery.cancel_scope)
        finally:
            self._streams -= ours
            with trio.CancelScope(shield=True):
                for stream in ours:
                    await trio.aclose_forcefully(stream)

    async def _carry(self, source: trio.SocketStream, to: trio.SocketStream, scope: trio.CancelScope) -> None:
        try:
            async for some in source:
                await to.send_all(some)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass
        scope.cancel()


OpenWire = Callable[..., AbstractAsyncContextManager[Wire]]


@pytest.fixture
def open_wire(shared_chromium: Any) -> OpenWire:
    """What opens a proxy to the browser of this module, or to the one given."""

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
