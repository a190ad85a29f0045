"""cdp-use with a `SupervisorEngine` on its own asyncio socket; prints the observations of both."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections import Counter
from typing import Any

from cdp_use.client import CDPClient

from cdp_supervisor import Instant, RespondToDialog, SupervisorEngine

OWN = 1_000_000


class Riding:
    """The client's socket with the engine on it: replies to the engine go to it alone, all else to both."""

    def __init__(self, socket: Any, engine: SupervisorEngine) -> None:
        self.socket, self.engine = socket, engine
        self.sent: list[int] = []
        self.events: Counter[str] = Counter()
        self.replies: list[int] = []
        self.kept: list[int] = []
        """The ids of the engine's replies, which the client did not get."""
        self.news = asyncio.Event()

    def now(self) -> Instant:
        return Instant(mono=asyncio.get_running_loop().time())

    async def send(self, text: str) -> None:
        self.sent.append(json.loads(text)["id"])
        await self.socket.send(text)

    async def write(self) -> None:
        for payload in self.engine.outgoing():
            await self.send(payload.decode())

    async def recv(self) -> str:
        while True:
            text: str = await self.socket.recv()
            message = json.loads(text)
            ours = self.engine.receive(text.encode(), self.now())
            await self.write()
            self.news.set()
            if "method" in message:
                self.events[message["method"]] += 1
            else:
                (self.kept if ours else self.replies).append(message["id"])
            if not ours:
                return text

    async def keep_time(self) -> None:
        while True:
            await asyncio.sleep(0.05)
            deadline = self.engine.next_deadline()
            if deadline is not None and deadline.at <= self.now().mono:
                self.engine.time_passed(self.now())
                await self.write()

    async def until(self, holds: Any) -> Any:
        while not holds(self.engine.snapshot()):
            self.news.clear()
            await self.news.wait()
        return self.engine.snapshot()

    async def request(self, question: Any) -> Any:
        number = self.engine.request(question, self.now())
        await self.write()
        found: dict[int, Any] = {}
        while number not in found:
            found |= self.engine.answers()
            if number not in found:
                self.news.clear()
                await self.news.wait()
        return found[number]

    async def close(self) -> None:
        await self.socket.close()


async def visit(client: CDPClient, riding: Riding, shop: str, seen: dict[str, Any]) -> None:
    send, sessions = client.send, asyncio.Queue[Any]()
    wanted = {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True}

    def attached(event: Any, _session: Any) -> None:
        sessions.put_nowait(event)

    async def set_up() -> None:
        while True:
            session = (await sessions.get())["sessionId"]
            await send.Target.setAutoAttach(params=wanted, session_id=session)
            await send.Page.enable(session_id=session)
            await send.Runtime.runIfWaitingForDebugger(session_id=session)

    client.register.Target.attachedToTarget(attached)
    work = asyncio.create_task(set_up())
    await send.Target.setAutoAttach(params=wanted)
    snapshot = await riding.until(lambda found: found.pages and not found.pages[0].stale)
    page = snapshot.pages[0]
    await send.Page.navigate(params={"url": f"{shop}frames"}, session_id=page.session_id)
    await riding.until(
        lambda found: (
            found.pages[0].frame_count == 3 and all(each.url[:6] == "https:" for each in found.pages[0].frames())
        )
    )
    params = {"expression": "cart.pay()", "returnByValue": True}
    paying = asyncio.create_task(send.Runtime.evaluate(params=params, session_id=page.session_id))
    await riding.until(lambda found: found.pending_dialogs)
    answer = await riding.request(RespondToDialog(action="accept"))
    seen["closed_by"] = None if answer.error else answer.value.closed_by
    seen["paid"] = (await paying)["result"]["value"]
    seen["frames"] = sorted(each.url for each in riding.engine.snapshot().pages[0].frames())
    seen["sum"] = (await send.Runtime.evaluate(params={"expression": "1 + 2"}, session_id=page.session_id))["result"][
        "value"
    ]
    work.cancel()


async def main(url: str, shop: str) -> None:
    engine = SupervisorEngine(first_command_id=OWN, sessions="adopt")
    client, seen = CDPClient(url), {}
    handled: Counter[str] = Counter()
    warnings: list[str] = []
    logging.getLogger("cdp_use.client").addFilter(
        lambda record: warnings.append(record.msg) or True if record.levelno >= 30 else True
    )
    await client.start()
    riding = client.ws = Riding(client.ws, engine)  # before its reader has started
    registry = client._event_registry
    handle = registry.handle_event

    async def counted(method: str, params: Any, session_id: Any) -> Any:
        handled[method] += 1
        return await handle(method, params, session_id)

    registry.handle_event = counted
    engine.link_up(riding.now())
    await riding.write()
    clock = asyncio.create_task(riding.keep_time())
    async with asyncio.timeout(30):
        await visit(client, riding, shop, seen)
    clock.cancel()
    await client.stop()
    seen["events_alike"] = handled == riding.events
    seen["dialogs"] = handled["Page.javascriptDialogOpening"]
    seen["ids_unique"] = len(set(riding.sent)) == len(riding.sent)
    seen["kept_are_ours"] = min(riding.kept) >= OWN
    seen["given_are_theirs"] = max(riding.replies) < OWN
    seen["unexpected"] = len(warnings) + riding.engine.state.totals.get("unreadable_events", 0)
    sys.stdout.write(json.dumps(seen))


asyncio.run(main(*sys.argv[1:3]))
