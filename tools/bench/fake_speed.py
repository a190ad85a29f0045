"""Measure the fake browser: messages per second through FakeBrowser and Router, without an event loop.

    PYTHONPATH=. python tools/bench/fake_speed.py [--rounds N] [--check]

A page's script causes the events, commands cause the replies, and every message passes the router. The sizes are the
number of frames of other sites, each with a session of its own, and of clients. The important number is the ratio: an
event must cost no more among a thousand sessions than among ten. `--check` exits with 1 if a goal is missed. Times
are CPU time in one thread, the best of the rounds.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from functools import partial

from cdp_core.sansio.router import Router
from cdp_core.testing.fake.browser import FakeBrowser
from cdp_core.testing.fake.client_end import ClientEnd
from cdp_core.testing.simulation import Pump
from cdp_core.testing.steps import (
    AddFrame,
    Close,
    Console,
    EndWorker,
    Navigate,
    NavigateFrame,
    Popup,
    RemoveFrame,
    Worker,
)

GOAL = 20_000
"""Minimum of messages per second."""
MAX_RATIO = 2.0
"""Maximum cost of an event among a thousand sessions, as a multiple of its cost among ten."""
SMALL, LARGE = 10, 1000
SITES = ("https://one.example/", "https://two.example/")
AUTO_ATTACH = {"autoAttach": True, "waitForDebuggerOnStart": False, "flatten": True}


class Watcher:
    """A client on the router that sets up every session."""

    def __init__(self, fake: FakeBrowser) -> None:
        self.router = Router()
        self.end: ClientEnd = fake.connect()
        self.passed = 0
        self.send("Target.setAutoAttach", AUTO_ATTACH)

    def send(self, method: str, params: object = None, session: object = None) -> None:
        self.send_all([(method, params)], session)

    def send_all(self, commands: list[tuple[str, object]], session: object) -> None:
        # All are written before the first read: while reading, the session may end.
        for _, text in [self.router.command(method, params, session) for method, params in commands]:  # type: ignore[arg-type]
            self.end.receive(text)
            self.passed += 1
        self.drain()

    def drain(self) -> None:
        for payload in self.end.drain():
            self.passed += 1
            for output in self.router.receive(payload):
                if type(output).__name__ == "SessionOpened":
                    begin = [("Target.setAutoAttach", AUTO_ATTACH), ("Page.enable", {}), ("Runtime.enable", {})]
                    self.send_all(begin, output.session_id)


def world_of(frames: int, clients: int = 1) -> tuple[FakeBrowser, list[Watcher]]:
    fake = FakeBrowser()
    watchers = [Watcher(fake) for _ in range(clients)]
    for number in range(frames):
        fake.play(AddFrame(f"f{number}", f"https://site{number}.example/"))
        for watcher in watchers:
            watcher.drain()
    return fake, watchers


def cost(watchers: list[Watcher], act: Callable[[int], None], times: int) -> tuple[float, float]:
    """Return the seconds of CPU per message and per act."""
    before = sum(watcher.passed for watcher in watchers)
    begun = time.process_time()
    for number in range(times):
        act(number)
        for watcher in watchers:
            watcher.drain()
    spent = time.process_time() - begun
    return spent / max(1, sum(watcher.passed for watcher in watchers) - before), spent / times


def acts(fake: FakeBrowser, watchers: list[Watcher], frames: int) -> dict[str, Callable[[int], None]]:
    watcher = watchers[0]
    page = watcher.router.open_sessions()[0].session_id

    def come_and_go(_number: int) -> None:
        fake.play(AddFrame("one", SITES[0]), RemoveFrame("one"))

    return {
        "console line on the page": lambda _number: fake.play(Console("x")),
        "console line in a frame": lambda number: fake.play(Console("x", frame=f"f{number % frames}")),
        "Runtime.evaluate": lambda _number: watcher.send("Runtime.evaluate", {"expression": "1"}, page),
        "Target.getTargetInfo": lambda _number: watcher.send("Target.getTargetInfo", {}, page),
        "a frame navigates": lambda number: fake.play(NavigateFrame(f"f{number % frames}", SITES[number % 2])),
        "a frame comes and goes": come_and_go,
    }


def world_of_popups(popups: int) -> tuple[FakeBrowser, list[Watcher]]:
    fake = FakeBrowser()
    watcher = Watcher(fake)
    for number in range(popups):
        fake.play(Popup(f"p{number}", f"https://site{number}.example/", noopener=True))
        watcher.drain()
    return fake, [watcher]


def acts_among_popups(fake: FakeBrowser, watchers: list[Watcher], _popups: int) -> dict[str, Callable[[int], None]]:
    watcher = watchers[0]
    page = watcher.router.open_sessions()[0]

    def attach(_number: int) -> None:
        _, text = watcher.router.command("Target.attachToTarget", {"targetId": page.target_id, "flatten": True}, None)
        watcher.end.receive(text)
        received = [json.loads(each) for each in watcher.end.drain()]
        watcher.passed += len(received)
        watcher.send("Target.detachFromTarget", {"sessionId": received[-1]["result"]["sessionId"]})

    return {
        "a popup comes and goes": lambda _number: fake.play(Popup("one", SITES[0], noopener=True), Close("one")),
        "a worker comes and goes": lambda _number: fake.play(Worker("w"), EndWorker("w")),
        "a session comes and goes": attach,
        "a page navigates": lambda number: fake.play(Navigate(f"https://{number % 2}.example/", page="p0")),
    }


def world_of_sessions(sessions: int) -> tuple[FakeBrowser, list[Watcher]]:
    """Return a fake with one page and that many sessions on it."""
    fake = FakeBrowser()
    watcher = Watcher(fake)
    page = watcher.router.open_sessions()[0]
    for _ in range(sessions):
        watcher.send("Target.attachToTarget", {"targetId": page.target_id, "flatten": True})
    return fake, [watcher]


def acts_among_sessions(fake: FakeBrowser, watchers: list[Watcher], popups: int) -> dict[str, Callable[[int], None]]:
    found = acts_among_popups(fake, watchers, popups)
    return {"a session comes and goes, of a page with so many": found["a session comes and goes"]}


World = Callable[[int], tuple[FakeBrowser, list[Watcher]]]
Acts = Callable[[FakeBrowser, list[Watcher], int], dict[str, Callable[[int], None]]]


def measured(rounds: int, size: int, times: int, *worlds: tuple[World, Acts]) -> dict[str, tuple[float, float]]:
    found: dict[str, list[tuple[float, float]]] = {}
    for make, what in worlds:
        for _ in range(rounds):
            fake, watchers = make(size)
            for name, act in what(fake, watchers, size).items():
                cost(watchers, act, max(1, times // 20))  # warm up: some things are built only once
                found.setdefault(name, []).append(cost(watchers, act, times))
    return {name: min(costs) for name, costs in found.items()}


class Listener:
    """A client that sends no commands."""

    def receive(self, _payload: bytes) -> list[bytes]:
        return []


def pumped(frames: int, seed: int | None) -> float:
    """Return the seconds of CPU per message through the pump, with pending messages on every session."""
    fake, [watcher] = world_of(frames)
    pump = Pump(fake, [Listener()], seed=seed)
    pump.ends[0].receive(b'{"id":1,"method":"Target.setAutoAttach","params":%s}' % json.dumps(AUTO_ATTACH).encode())
    watched = json.loads(pump.ends[0].drain()[0])["params"]["sessionId"]
    for number, method in enumerate(("Target.setAutoAttach", "Page.enable"), 2):
        command = {"id": number, "method": method, "params": AUTO_ATTACH, "sessionId": watched}
        pump.ends[0].receive(json.dumps(command).encode())
    for payload in pump.ends[0].drain():
        message = json.loads(payload)
        if message.get("method") == "Target.attachedToTarget":
            session = message["params"]["sessionId"]
            pump.ends[0].receive(b'{"id":1,"method":"Runtime.enable","sessionId":"%s"}' % session.encode())
    pump.ends[0].drain()
    for number in range(max(1000, frames)):
        fake.play(Console("x", frame=f"f{number % frames}"))
    begun = time.process_time()
    run = pump.run()
    assert len(run.delivered) >= max(1000, frames)
    assert watcher.end.connected
    return (time.process_time() - begun) / len(run.delivered)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--times", type=int, default=2000)
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    worlds = ((world_of, acts), (world_of_popups, acts_among_popups), (world_of_sessions, acts_among_sessions))
    small = measured(given.rounds, SMALL, given.times, *worlds)
    large = measured(given.rounds, LARGE, given.times, *worlds)
    many = measured(given.rounds, SMALL, max(1, given.times // SMALL), (partial(world_of, clients=SMALL), acts))
    missed: list[str] = []
    print(
        f"| act | messages/s, {SMALL} sessions | µs each time, {SMALL} | {LARGE} | ratio | messages/s, {SMALL} clients |"
    )
    print("|---|---|---|---|---|---|")
    for name, (each, act) in small.items():
        ratio = large[name][1] / act
        rate = 1 / each
        print(
            f"| {name} | {rate:,.0f} | {act * 1e6:.1f} | {large[name][1] * 1e6:.1f} | {ratio:.2f} "
            f"| {f'{1 / many[name][0]:,.0f}' if name in many else ''} |"
        )
        missed += [f"{name}: {rate:,.0f} messages a second"] if rate < GOAL else []
        missed += [f"{name}: {ratio:.2f} times the cost"] if ratio > MAX_RATIO else []
    for name, seed in (("in order of creation", None), ("in random order", 1)):
        rates = [1 / pumped(frames, seed) for frames in (SMALL, LARGE)]
        print(f"\npump, {name}: {rates[0]:,.0f} messages/s with {SMALL} sessions, {rates[1]:,.0f} with {LARGE}", end="")
        ratio = rates[0] / rates[1]
        missed += [f"the pump, {name}: {ratio:.2f} times the cost"] if ratio > MAX_RATIO else []
    print()
    if given.check and missed:
        print("missed: " + "; ".join(missed))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
