"""Measure the cost of permessage-deflate with a real Chromium, offered and not offered.

    python micro/deflate.py PORT      (in an environment with websockets; Chromium with --remote-debugging-port=PORT)

The result is a hard-to-compress text of 8 MB, like a screenshot. Chromium accepts compression if
offered; asyncio's usual WebSocket library offers it by default.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time
import urllib.request
from dataclasses import dataclass

import websockets

ROUNDS, BIG_RESULTS, SMALL_RESULTS = 5, 3, 300
MAKE = """if(!window.R){let a=new Uint8Array(32768),s='';for(let i=0;i<184;i++)
{crypto.getRandomValues(a);s+=String.fromCharCode(...a)};window.R=btoa(s)};1"""


@dataclass
class Sample:
    """Seconds per result, and the size of a big result."""

    size: int
    big_wall: float
    big_cpu: float
    small_wall: float
    small_cpu: float


async def sample(ws: str, compression: str | None) -> Sample:
    """Measure one connection."""
    async with websockets.connect(ws, max_size=None, compression=compression) as socket:

        async def evaluate(expression: str) -> str:
            params = {"expression": expression, "returnByValue": True}
            await socket.send(json.dumps({"id": 1, "method": "Runtime.evaluate", "params": params}))
            while not (message := await socket.recv()).startswith('{"id":1'):
                pass
            return message

        async def measure(expression: str, count: int) -> tuple[int, float, float]:
            wall, cpu, size = time.perf_counter(), time.process_time(), 0
            for _ in range(count):
                size = len(await evaluate(expression))
            return size, (time.perf_counter() - wall) / count, (time.process_time() - cpu) / count

        await evaluate(MAKE)
        size, big_wall, big_cpu = await measure("R", BIG_RESULTS)
        _, small_wall, small_cpu = await measure("1+1", SMALL_RESULTS)
        return Sample(size, big_wall, big_cpu, small_wall, small_cpu)


def page_address(port: int) -> str:
    """Return the WebSocket URL of the first page."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=10) as answer:
        return next(target["webSocketDebuggerUrl"] for target in json.load(answer) if target["type"] == "page")


async def main(ws: str) -> None:
    """Measure both in turn, and print medians."""
    samples: dict[str | None, list[Sample]] = {"deflate": [], None: []}
    async with asyncio.timeout(300):
        for _ in range(ROUNDS):
            for compression, taken in samples.items():
                taken.append(await sample(ws, compression))
    for compression, taken in samples.items():
        wall, cpu, small, small_cpu = (
            statistics.median(getattr(one, field) for one in taken)
            for field in ("big_wall", "big_cpu", "small_wall", "small_cpu")
        )
        print(
            f"{compression or 'no deflate'}: {taken[0].size / 1e6:.1f} MB in {wall * 1e3:.0f} ms "
            f"({cpu * 1e3:.1f} ms of the client's CPU); a small result {small * 1e6:.0f} us ({small_cpu * 1e6:.0f} us)"
        )


if __name__ == "__main__":
    asyncio.run(main(page_address(int(sys.argv[1]))))
