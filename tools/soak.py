"""Run a supervisor for a long time on a real browser, and compare it with the browser's state.

    python tools/soak.py [--program chromium] [--rounds 50]

A round consists of 40 dialogs (32 answered by policy, 8 by an agent), 100 frame changes over two sites, and one cut
of the link: while the page is quiet, in every other round while twenty frames change their process, in every tenth
while a dialog is open. After each step the supervisor's frame tree is compared with the tree that a second connection
reads. A dialog is lost if the page had it and the supervisor never reported its end. A ghost is a frame that the
supervisor reports and the browser does not have, or the reverse; it ends the run. Prints figures as JSON, and fails
if one is not as expected.

A frame is navigated only when the page's own process has completed its last move. Between the announcement of an
OOPIF and the page's `Page.frameDetached` "swap" for it, its element still holds the document that the browser has
discarded, and a navigation started there is lost: no request is made, and no event is sent. Chromium behaves so with
or without clients. Each step therefore waits for `Stage.agree`, which does not succeed before the swap; after it no
navigation may be missing.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import trio

from cdp_core import open_browser_session
from cdp_supervisor import Policy, Reconnect, open_supervisor
from cdp_supervisor.sansio.deadlines import entries

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support import page_server
from support import stage as supervised
from support.wire import Wire

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
    "--remote-debugging-port=0",
)
BY_POLICY, BY_AGENT, FRAMES = 32, 8, 20
SETTLED = 0.4
"""The fraction of the run after which memory no longer grows."""
GROWTH = 2.0
"""MiB by which memory may grow after that."""
PATIENCE = 45.0
"""Seconds to wait for a condition, at the lowest priority on a busy machine."""

supervised.PATIENCE = PATIENCE


def resident() -> float:
    """Return the resident memory of this process in MiB."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


async def soak(endpoint: list[str], served: int, rounds: int) -> dict[str, Any]:
    """Run all rounds and return their figures."""
    began, memory = time.monotonic(), []
    dialogs = changes = orphans = 0
    port, path = endpoint
    wire = Wire(port=0, to=int(port), path=path)
    async with trio.open_nursery() as nursery:
        (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
        wire.port = listener.socket.getsockname()[1]
        nursery.start_soon(trio.serve_listeners, wire.serve, [listener])
        again = Reconnect(first=0.05, most=0.2, budget=60)
        async with (
            open_browser_session(f"ws://127.0.0.1:{port}{path}") as raw,
            raw.targets.open_context() as context,
            open_supervisor(wire.url, reconnect=again) as sup,
        ):
            stage = supervised.Stage(sup=sup, raw=raw, context=str(context), shell=False)
            urls = [f"http://{host}:{served}/?html={quote('<p>frame')}" for host in ("127.0.0.1", "localhost")]
            target = await stage.open(f"http://127.0.0.1:{served}/?html={quote('<body>soak')}")
            for number in range(rounds):
                dialogs += await ask(stage, target)
                orphaned, amid = number % 10 == 9, number % 2 == 0
                changes += await change_frames(stage, target, urls, wire if amid else None)
                if not amid:
                    await cut(stage, target, wire, orphaned=orphaned)
                dialogs, orphans = dialogs + orphaned, orphans + orphaned
                memory.append(resident())
                line = f"round {number + 1}: {time.monotonic() - began:.0f} s, {memory[-1]:.1f} MiB"
                print(line, file=sys.stderr, flush=True)
            state, totals = sup._driver.runner.state, dict(sup.statistics())
            generation = sup.snapshot().link.generation
        nursery.cancel_scope.cancel()
    ended = sum(count for name, count in totals.items() if name.startswith("closed_by_"))
    settled = memory[int(len(memory) * SETTLED) :]
    return {
        "seconds": round(time.monotonic() - began, 1),
        "dialogs": dialogs,
        "lost": dialogs - ended,
        "frame_changes": changes,
        "ghosts": 0,  # a difference would have ended the run
        "cuts": wire.cuts,
        "generation": generation,
        "orphaned": orphans,
        "closed_by": {name[10:]: count for name, count in totals.items() if name.startswith("closed_by_")},
        "odd": {name: count for name, count in totals.items() if "impossible" in name or "left_out" in name},
        "memory_mib": [round(each, 1) for each in memory[:: max(len(memory) // 10, 1)]],
        "growth_mib": round(settled[-1] - settled[0], 2),
        "kept": {
            "tickets": len(state.tickets),
            "deadlines": len(tuple(entries(state.deadlines))),
            "calls": len(state.calls),
            "sessions": len(state.sessions),
            "frames": sum(len(page.frames) for page in state.pages.values()),
            "pending": len(state.dialog_on),
        },
    }


async def ask(stage: Any, target: str) -> int:
    """Open and answer dialogs, check each answer in the page, and return their number."""
    await stage.sup.set_policy(Policy("auto_accept"))
    expression = f"let yes = 0; for (let i = 0; i < {BY_POLICY}; i++) yes += confirm(i); yes"
    with trio.fail_after(60):
        answer = await (await stage.start(target, f"{{ {expression} }}")).wait()
    assert answer["result"]["value"] == BY_POLICY, answer
    await stage.until(lambda s: not s.pending_dialogs)
    await stage.sup.set_policy(Policy())
    for number in range(BY_AGENT):
        reply = await stage.start(target, "prompt('which?')")
        dialog = await stage.dialog()
        answered = await stage.sup.respond_to_dialog("accept", prompt_text=str(number), dialog_id=dialog.id)
        assert answered.closed_by == "agent", answered
        assert (await reply.wait())["result"]["value"] == str(number)
    return BY_POLICY + BY_AGENT


async def change_frames(stage: Any, target: str, urls: list[str], wire: Any) -> int:
    """Add frames, change their processes twice, move, remove them; cut `wire` in the first change."""
    run = stage.sup.evaluate
    made = f"for (let i = 0; i < {FRAMES}; i++) {{ const f = document.createElement('iframe');"
    await run(f"{{ {made} f.src = {urls!r}[i % 2] + '&' + i; document.body.append(f) }} }}", target_id=target)
    await shown(stage, target, lambda url: "&" in url)
    for turn in (1, 0):
        move = f"document.querySelectorAll('iframe').forEach((f, i) => f.src = {urls!r}[(i + {turn}) % 2] + '&t{turn}')"
        await run(move, target_id=target)
        if turn and wire:
            await break_link(stage, target, wire)
        await shown(stage, target, lambda url, turn=turn: url.endswith(f"&t{turn}"))
    await run("document.querySelectorAll('iframe').forEach(f => document.body.append(f))", target_id=target)
    await shown(stage, target, lambda url: url.endswith("&t0"))
    await run("document.querySelectorAll('iframe').forEach(f => f.remove())", target_id=target)
    await stage.until(lambda s: s.page(target).frame_count == 1)
    await stage.agree(target)
    return 5 * FRAMES


async def shown(stage: Any, target: str, right: Any) -> None:
    """Wait until every frame shows an expected URL, on both connections."""
    await stage.until(
        lambda s: (
            s.page(target).frame_count == FRAMES + 1
            and all(right(each.url) for each in s.page(target).frames() if each.parent_frame_id)
        )
    )
    tree = await stage.agree(target)
    assert len(tree) == FRAMES + 1
    assert all(right(url) for parent, url, _ in tree.values() if parent), tree


async def cut(stage: Any, target: str, wire: Any, *, orphaned: bool) -> None:
    """Break the link, with or without an open dialog, and wait until the page is healthy again."""
    dialog = None
    if orphaned:
        await stage.start(target, "confirm('orphan')")
        dialog = await stage.dialog()
    await break_link(stage, target, wire)
    if dialog is not None:
        assert not stage.sup.snapshot().pending_dialogs[0].answerable
        await stage.sup.recover(target, "same_document")
        await stage.ended(dialog.id)
    await stage.until(lambda s: s.page(target).health.state == "ok" and not s.page(target).stale)
    await stage.agree(target)


async def break_link(stage: Any, target: str, wire: Any) -> None:
    """Cut the link, and wait for another one with a session on the page."""
    generation = stage.sup.snapshot().link.generation
    await wire.cut()
    await stage.until(lambda s: s.link.generation > generation and s.active and s.page(target).session_id)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", default="chromium")
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--minutes", type=float, default=20)
    options = parser.parse_args()
    profile = Path(tempfile.mkdtemp(prefix="cdp-soak-"))
    server = subprocess.Popen([sys.executable, page_server.__file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert server.stdout is not None
    browser = subprocess.Popen(
        [options.program, *SWITCHES, f"--user-data-dir={profile}"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        port_file = profile / "DevToolsActivePort"
        while not port_file.exists() or "/devtools/" not in port_file.read_text():
            assert browser.poll() is None, "the browser exited before it opened its port"
            time.sleep(0.05)

        served = int(server.stdout.readline())
        endpoint = port_file.read_text().split("\n")[:2]

        async def bounded() -> dict[str, Any]:
            with trio.fail_after(options.minutes * 60):
                return await soak(endpoint, served, options.rounds)

        figures = trio.run(bounded)
    finally:
        os.killpg(browser.pid, signal.SIGKILL)
        browser.wait()
        server.kill()
        server.wait()
        shutil.rmtree(profile, ignore_errors=True)
    print(json.dumps(figures, indent=1))
    wrong = faults(figures, options.rounds)
    print(*wrong, sep="\n", file=sys.stderr)
    return 1 if wrong else 0


def faults(figures: dict[str, Any], rounds: int) -> list[str]:
    """Return the figures that are not as expected, one line each."""
    by = {"agent": BY_AGENT * rounds, "auto_policy": BY_POLICY * rounds, "remote": figures["orphaned"]}
    expected = {
        "lost": 0,
        "closed_by": {closer: count for closer, count in by.items() if count},
        "cuts": rounds,
        "generation": rounds + 1,
        "odd": {},
    }
    wrong = [f"{name}: {figures[name]}, not {right}" for name, right in expected.items() if figures[name] != right]
    if figures["growth_mib"] > GROWTH:
        wrong.append(f"memory grew by {figures['growth_mib']} MiB")
    if figures["kept"]["pending"] or figures["kept"]["calls"] or figures["kept"]["tickets"]:
        wrong.append(f"kept: {figures['kept']}")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
