"""How fast the fake browser is: messages a second through FakeBrowser + Router, in one thread, without an event loop.

    PYTHONPATH=. python tools/bench/fake_speed.py [--rounds N] [--check]

Events come of a page's own script, replies of commands, each taken through the router; sizes are frames of other sites, each
with a session of its own, and clients. The number to look at is the ratio: an event must cost no more among a thousand
sessions than among ten. `--check` ends with 1 where a goal is missed. Times are CPU time, the best of the rounds.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable

from cdp_core.sansio.router import Router
from cdp_core.testing.fake.browser import ClientEnd, FakeBrowser
from cdp_core.testing.pump import Pump
from cdp_core.testing.steps import AddFrame, Console, NavigateFrame

GOAL = 20_000
"""Messages a second."""
MOST = 2.0
"""How much more an event may cost among a thousand."""
SMALL, LARGE = 10, 1000
AUTO_ATTACH = {"autoAttach": True, "waitForDebuggerOnStart": False, "flatten": True}


class Watcher:
    """A client of the router's that watches every session."""

    def __init__(self, fake: FakeBrowser) -> None:
        self.router = Router()
        self.end: ClientEnd = fake.connect()
        self.passed = 0
        self.send("Target.setAutoAttach", AUTO_ATTACH)

    def send(self, method: str, params: object = None, session: object = None) -> None:
        _, text = self.router.command(method, params, session)  # type: ignore[arg-type]
        self.end.receive(text)
        self.passed += 1
        self.drain()

    def drain(self) -> None:
        for payload in self.end.drain():
            self.passed += 1
            for output in self.router.receive(payload):
                if type(output).__name__ == "SessionOpened":
                    for method, params in (
                        ("Target.setAutoAttach", AUTO_ATTACH), ("Page.enable", {}), ("Runtime.enable", {})
                    ):  # fmt: skip
                        self.send(method, params, output.session_id)


def world_of(frames: int, clients: int = 1) -> tuple[FakeBrowser, list[Watcher]]:
    fake = FakeBrowser()
    watchers = [Watcher(fake) for _ in range(clients)]
    for number in range(frames):
        fake.play(AddFrame(f"f{number}", f"https://site{number}.example/"))
        for watcher in watchers:
            watcher.drain()
    return fake, watchers


def cost(watchers: list[Watcher], act: Callable[[int], None], times: int) -> tuple[float, float]:
    """Seconds of CPU for each message, and for each act."""
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
    sites = ("https://one.example/", "https://two.example/")
    return {
        "console line on the page": lambda _number: fake.play(Console("x")),
        "console line in a frame": lambda number: fake.play(Console("x", frame=f"f{number % frames}")),
        "Runtime.evaluate": lambda _number: watcher.send("Runtime.evaluate", {"expression": "1"}, page),
        "Target.getTargetInfo": lambda _number: watcher.send("Target.getTargetInfo", {}, page),
        "a frame navigates": lambda number: fake.play(NavigateFrame(f"f{number % frames}", sites[number % 2])),
    }


def measured(rounds: int, frames: int, clients: int, times: int) -> dict[str, tuple[float, float]]:
    found: dict[str, list[tuple[float, float]]] = {}
    for _ in range(rounds):
        fake, watchers = world_of(frames, clients)
        for name, act in acts(fake, watchers, frames).items():
            found.setdefault(name, []).append(cost(watchers, act, times))
    return {name: min(costs) for name, costs in found.items()}


class Listener:
    """Writes nothing."""

    def receive(self, _payload: bytes) -> list[bytes]:
        return []


def pumped(frames: int, seed: int | None) -> float:
    """Seconds of CPU for each message through the pump, with something to say on every session."""
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
    assert len(run.told) >= max(1000, frames)
    assert watcher.end.connected
    return (time.process_time() - begun) / len(run.told)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--times", type=int, default=2000)
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    small = measured(given.rounds, SMALL, 1, given.times)
    large = measured(given.rounds, LARGE, 1, given.times)
    many = measured(given.rounds, SMALL, SMALL, max(1, given.times // SMALL))
    missed: list[str] = []
    print(
        f"| what | messages/s, {SMALL} sessions | µs each time, {SMALL} | {LARGE} | ratio | messages/s, {SMALL} clients |"
    )
    print("|---|---|---|---|---|---|")
    for name, (each, act) in small.items():
        ratio = large[name][1] / act
        rate = 1 / each
        print(
            f"| {name} | {rate:,.0f} | {act * 1e6:.1f} | {large[name][1] * 1e6:.1f} | {ratio:.2f} "
            f"| {1 / many[name][0]:,.0f} |"
        )
        missed += [f"{name}: {rate:,.0f} messages a second"] if rate < GOAL else []
        missed += [f"{name}: {ratio:.2f} times the cost"] if ratio > MOST else []
    for name, seed in (("in the order of arising", None), ("by chance", 1)):
        rates = [1 / pumped(frames, seed) for frames in (SMALL, LARGE)]
        print(f"\npump, {name}: {rates[0]:,.0f} messages/s with {SMALL} sessions, {rates[1]:,.0f} with {LARGE}", end="")
    print()
    if given.check and missed:
        print("missed: " + "; ".join(missed))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
