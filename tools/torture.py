"""Torture a supervisor and a real browser: dialogs, frames, crashes, cut links; check each promise.

    python tools/torture.py [--program chromium] [--dialogs 2000] [--frames 5000] [--cuts 50]
    python tools/torture.py --dialogs 60 --frames 100 --cuts 3       the short form, about a minute
    python tools/torture.py --mode inactive                          the link is cut under a `pagehide` dialog
    python tools/torture.py --mode removed                           a frame is removed under its own dialog

Callers act on random pages (tools/torture_acts.py) until the wanted numbers are reached. Every call must end at most 5
seconds after its timeout; what a page got from a dialog must agree with the history; at quiet points the frames of all
pages must be those that a second connection reads; at the end the same browser must be alive, and every page must
answer. Two acts are known to end Chromium (facts 62, 63), so they run apart, each in browsers of its own: the figures
count how often the browser died, and how often the supervisor named the danger before. Prints figures as JSON, and
fails if one is not as expected. docs/torture.md has the figures of long runs.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import attrs
import trio
from soak import SWITCHES, page_server, supervised
from torture_acts import POLICIES, Acts, Page

from cdp_core import open_browser_session
from cdp_supervisor import DialogUnanswerable, Limits, Reconnect, WouldEndBrowser, open_supervisor
from support.wire import Wire

AGAIN = Reconnect(first=0.05, most=0.2, budget=60)
QUIET = 20
"""Quiet points of a run."""
BROWSERS = 5
"""Browsers of the modes in which they may die."""
DEATH = 5.0
"""Seconds in which a browser dies, if it does; it takes less than one."""


@attrs.define(kw_only=True, eq=False)
class Browser:
    """A running browser with the port of the page server."""

    popen: subprocess.Popen[bytes]
    port: int
    path: str
    served: int

    @property
    def is_alive(self) -> bool:
        return self.popen.poll() is None


class Proxy(Wire):
    """A wire that refuses connections when the browser has died."""

    async def serve(self, client: trio.SocketStream) -> None:
        try:
            await super().serve(client)
        except OSError:
            await trio.aclose_forcefully(client)


@contextmanager
def page_port() -> Generator[int, None, None]:
    """Run the page server, and give its port."""
    server = subprocess.Popen([sys.executable, page_server.__file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert server.stdout is not None
        yield int(server.stdout.readline())
    finally:
        server.kill()
        server.communicate()


@contextmanager
def browser(program: str, served: int) -> Generator[Browser, None, None]:
    """Run a browser on a new profile."""
    profile = Path(tempfile.mkdtemp(prefix="cdp-torture-"))
    popen = subprocess.Popen(
        [program, *SWITCHES, f"--user-data-dir={profile}"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        port_file = profile / "DevToolsActivePort"
        while not port_file.exists() or "/devtools/" not in port_file.read_text():
            assert popen.poll() is None, "the browser exited before it opened its port"
            time.sleep(0.05)
        port, path = port_file.read_text().split("\n")[:2]
        yield Browser(popen=popen, port=int(port), path=path, served=served)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(popen.pid, signal.SIGKILL)
        popen.wait()
        shutil.rmtree(profile, ignore_errors=True)


@asynccontextmanager
async def staged(its: Browser, again: Reconnect, trace: Path | None = None) -> AsyncGenerator[tuple[Any, Wire], None]:
    """Open a supervisor over a link that can be cut, and a raw connection."""
    wire = Proxy(port=0, to=its.port, path=its.path)
    async with trio.open_nursery() as nursery:
        (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
        wire.port = listener.socket.getsockname()[1]
        nursery.start_soon(trio.serve_listeners, wire.serve, [listener])
        limits = Limits(recent_dialogs=100)
        async with (
            open_browser_session(f"ws://127.0.0.1:{its.port}{its.path}") as raw,
            open_supervisor(wire.url, reconnect=again, limits=limits, trace=trace) as sup,
        ):
            made = await raw.send("Target.createBrowserContext", {"disposeOnDetach": True})
            context = str(made["browserContextId"])
            yield supervised.Stage(sup=sup, raw=raw, context=context, shell=False), wire
        nursery.cancel_scope.cancel()


# ── one browser that must live ───────────────────────────────────────────────────────────────────────────────────────


@attrs.define(kw_only=True, eq=False)
class Torture:
    """A run in one browser, until the wanted numbers are reached."""

    acts: Acts
    wire: Wire
    wanted: Any
    shell: bool
    agreed: int = 0
    postponed: int = 0
    ghosts: list[str] = attrs.field(factory=list)

    @property
    def shares(self) -> tuple[float, float]:
        """The shares of the wanted dialogs and frame changes that have happened."""
        figures = self.acts.figures
        return figures.dialogs.total() / self.wanted.dialogs, figures.frames / self.wanted.frames

    @property
    def is_done(self) -> bool:
        return min(self.shares) >= 1 and self.wire.cuts >= self.wanted.cuts

    async def run(self) -> None:
        for page in self.acts.pages:
            await self.acts.open(page)
            await self.acts.reset(page)
        async with trio.open_nursery() as background:
            await background.start(self.acts.record)
            background.start_soon(self.change_policies)
            background.start_soon(self.cut_links)
            background.start_soon(self.compare_often)
            async with trio.open_nursery() as callers:
                for _ in range(self.wanted.callers):
                    callers.start_soon(self.call)
            background.cancel_scope.cancel()

    async def call(self) -> None:
        """Act on random pages until the run is done."""
        acts = self.acts
        while not self.is_done:
            async with acts.quiet.shared():
                if acts.random.random() < 0.15:
                    await acts.call_another_page()
                free = [each for each in acts.pages if not each.lock.locked()]
                if not free:
                    await trio.sleep(0.02)
                    continue
                page = acts.random.choice(free)
                async with page.lock:
                    await self.act(page)

    async def act(self, page: Page) -> None:
        acts, (dialogs, frames) = self.acts, self.shares
        await acts.free(page)
        chance = acts.random.random()
        if chance < 0.02:
            act: Any = acts.crash
        elif chance < 0.04:
            act = acts.freeze
        elif dialogs > frames:
            act = acts.change_frames
        else:
            kinds = [acts.in_page, acts.in_frame, acts.in_popup, acts.before_unload, acts.in_two_documents]
            act = acts.random.choice(
                [*kinds, *kinds[:2], *([] if self.shell else [acts.amid_navigation]), acts.at_pagehide]
            )
        acts.figures.acts[act.__name__] += 1
        page.acts.append(act.__name__)
        await act(page)
        await acts.free(page)

    async def change_policies(self) -> None:
        while True:
            await self.acts.sup.set_policy(self.acts.random.choice(POLICIES))
            await trio.sleep(self.acts.random.uniform(0.2, 2.0))

    async def cut_links(self) -> None:
        """Cut the link at even distances, when no page would end the browser by that."""
        while self.wire.cuts < self.wanted.cuts:
            await trio.sleep(self.acts.random.uniform(0.01, 0.2))
            if min(self.shares) < (self.wire.cuts + 1) / (self.wanted.cuts + 1):
                continue
            async with self.acts.danger.alone():
                if not await self.acts.can_cut():
                    self.postponed += 1
                    continue
                generation = self.acts.sup.snapshot().link.generation
                await self.wire.cut()
                await self.acts.settles(lambda s, old=generation: s.link.generation > old and s.active, 30.0)

    async def compare_often(self) -> None:
        """Compare all frames at quiet points."""
        for number in range(1, QUIET):
            while min(self.shares) < number / QUIET:  # noqa: ASYNC110 - figures have no event
                await trio.sleep(0.1)
            async with self.acts.quiet.alone():
                await self.compare()

    async def compare(self) -> None:
        """Compare the frames of every page with those of the browser."""
        for page in self.acts.pages:
            await self.acts.free(page)
            try:
                await self.acts.stage.agree(page.target)
                self.agreed += 1
            except AssertionError as error:
                self.ghosts.append(str(error))
        figures = self.acts.figures
        line = f"{figures.dialogs.total()} dialogs, {figures.frames} frame changes, {self.wire.cuts} cuts"
        print(f"{time.strftime('%X')}: {line}, lies {len(figures.lies)}", file=sys.stderr, flush=True)

    async def finish(self) -> int:
        """Return how many pages answer at the end."""
        await self.compare()
        answers = 0
        for page in self.acts.pages:
            await self.acts.free(page)
            answers += await self.acts.evaluate(page, "1 + 1", timeout=20.0) == 2
        return answers


async def torture(its: Browser, options: Any) -> dict[str, Any]:
    """Run the torture in one browser, and return its figures."""
    began, answers = time.monotonic(), 0
    async with staged(its, AGAIN, options.trace) as (stage, wire):
        pages = [Page(number=number) for number in range(options.pages)]
        acts = Acts(stage=stage, served=its.served, random=random.Random(options.seed), pages=pages)
        run = Torture(acts=acts, wire=wire, wanted=options, shell=options.program.endswith("shell"))
        with trio.move_on_after(options.minutes * 60) as bound:
            await run.run()
        with trio.move_on_after(90) as last:
            answers = await run.finish()
        failed = "too slow" if bound.cancelled_caught or last.cancelled_caught else ""
        is_alive = its.is_alive
        totals = stage.sup.statistics()
    figures = acts.figures
    return {
        "seconds": round(time.monotonic() - began, 1),
        "pages_that_answer": answers,
        "browser_alive": is_alive,
        "dialogs_by_place": dict(sorted(figures.dialogs.items())),
        "dialogs": figures.dialogs.total(),
        "frame_changes": figures.frames,
        "cuts": wire.cuts,
        "cuts_postponed": run.postponed,
        **{name: getattr(figures, name) for name in ("crashes", "frozen", "reopened", "checked", "late")},
        **{name: dict(sorted(getattr(figures, name).items())) for name in ("acts", "ends", "closed_by", "remedies")},
        "compared": run.agreed,
        "ghosts": run.ghosts,
        "lies": figures.lies,
        "endless_calls": figures.endless,
        "unexpected": figures.unexpected,
        "not_freed": figures.not_freed,
        "never_ended": [] if failed else sorted(acts.opened - set(acts.ended)),
        "odd": {name: count for name, count in totals.items() if "impossible" in name or "left_out" in name},
        "failed": failed,
    }


def faults(figures: dict[str, Any], options: Any) -> list[str]:
    """Return the figures that are not as expected, one line each."""
    empty = ("ghosts", "lies", "endless_calls", "unexpected", "not_freed", "never_ended", "odd", "failed")
    wrong = [f"{name}: {figures[name]}" for name in empty if figures[name]]
    if figures["pages_that_answer"] != options.pages or not figures["browser_alive"]:
        wrong.append(f"{figures['pages_that_answer']} pages answer, browser alive: {figures['browser_alive']}")
    least = {"dialogs": options.dialogs, "frame_changes": options.frames, "cuts": options.cuts}
    return wrong + [f"{name}: {figures[name]}, not {count}" for name, count in least.items() if figures[name] < count]


# ── browsers that may die ────────────────────────────────────────────────────────────────────────────────────────────


@attrs.define(kw_only=True, eq=False)
class Apart:
    """What was seen in browsers that may die."""

    browsers: int = 0
    died: int = 0
    named: int = 0
    died_unnamed: int = 0
    without_dialog: int = 0
    ends: list[str] = attrs.field(factory=list)
    endless_calls: int = 0

    async def try_call(self, act: Any) -> None:
        """Note how a call ends, which has a timeout of 5 seconds."""
        with trio.move_on_after(10.0) as scope:
            try:
                await act()
                self.ends.append("value")
            except Exception as error:
                self.ends.append(type(error).__name__)
        self.endless_calls += scope.cancelled_caught


async def cut_under_dialog(its: Browser, seen: Apart, stage: Any, wire: Wire) -> bool:
    """Cut the link while a `pagehide` dialog is open; return True if the supervisor named it."""
    there = f"http://127.0.0.1:{its.served}/?cache=no-store&html="
    target = await stage.open(there + quote("<script>onpagehide = () => alert('bye')</script>"))
    await stage.sup.call("Page.navigate", {"url": there + "next"}, target_id=target, when_blocked="wait", timeout=5.0)
    found = await stage.until(lambda s: s.pending_dialogs or s.page(target).url == there + "next")
    if not found.pending_dialogs:
        seen.without_dialog += 1
        return False
    why = ""
    try:
        await stage.sup.respond_to_dialog("accept")
    except DialogUnanswerable as error:
        why = error.why
    async with trio.open_nursery() as calls:
        for when in ("raise", "wait"):
            calls.start_soon(
                seen.try_call,
                lambda when=when: stage.sup.evaluate("1", target_id=target, timeout=5.0, when_blocked=when),
            )
        await trio.sleep(0.1)
        await wire.cut()
    return why == "page_inactive"


async def remove_under_dialog(its: Browser, seen: Apart, stage: Any, _wire: Wire) -> bool:
    """Remove an OOPIF under its dialog and force a navigation; return True if the danger was named."""
    far = f"http://localhost:{its.served}/?html={quote('<script>setTimeout(() => confirm(1), 300)</script>')}"
    frame = quote(f"<iframe src='{far}'></iframe>")
    target = await stage.open(f"http://127.0.0.1:{its.served}/?html={frame}")
    await stage.dialog()
    await stage.sup.evaluate("document.querySelector('iframe').remove()", target_id=target, timeout=5.0)
    with trio.move_on_after(5.0):
        await stage.sup.wait_for(lambda s: s.page(target).health.state == "fragile")
    named = stage.sup.health(target).state == "fragile"
    params = {"url": f"http://127.0.0.1:{its.served}/?html=next"}
    try:
        await stage.sup.call("Page.navigate", params, target_id=target, timeout=5.0)
        named = False
    except WouldEndBrowser:
        pass
    await seen.try_call(lambda: stage.sup.call("Page.navigate", params, target_id=target, timeout=5.0, force=True))
    return named


async def apart(act: Any, program: str, served: int) -> dict[str, Any]:
    """Do a dangerous act in several browsers, and return the figures."""
    seen = Apart()
    for _ in range(BROWSERS):
        with browser(program, served) as its:
            named = False
            try:
                async with staged(its, attrs.evolve(AGAIN, budget=3)) as (stage, wire):
                    named = await act(its, seen, stage, wire)
                    with trio.move_on_after(DEATH):
                        while its.is_alive:  # noqa: ASYNC110 - its end is polled
                            await trio.sleep(0.05)
            except Exception as error:
                seen.ends.append(f"{type(error).__name__} of the block")
            seen.browsers += 1
            seen.died += not its.is_alive
            seen.named += named
            seen.died_unnamed += not its.is_alive and not named
    return {**attrs.asdict(seen), "ends": {name: seen.ends.count(name) for name in sorted(set(seen.ends))}}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", default="chromium")
    parser.add_argument("--mode", choices=("live", "inactive", "removed"), default="live")
    for name, count in {"pages": 10, "callers": 4, "dialogs": 2000, "frames": 5000, "cuts": 50, "seed": 1}.items():
        parser.add_argument(f"--{name}", type=int, default=count)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--trace", type=Path, help="record the run, for `cdp_supervisor.replay`")
    options = parser.parse_args()
    with page_port() as served:
        if options.mode == "live":
            with browser(options.program, served) as its:
                figures = trio.run(torture, its, options)
            wrong = faults(figures, options)
        else:
            act = cut_under_dialog if options.mode == "inactive" else remove_under_dialog
            figures = trio.run(apart, act, options.program, served)
            wrong = [f"{name}: {figures[name]}" for name in ("died_unnamed", "endless_calls") if figures[name]]
    print(json.dumps({"program": options.program, "mode": options.mode, **figures}, indent=1))
    print(*wrong, sep="\n", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
