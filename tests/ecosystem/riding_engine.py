"""cdp-use with a `SupervisorEngine` on its own asyncio socket; prints the observations of both."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections import Counter
from typing import Any

from cdp_use.client import CDPClient

from cdp_core.bindings import runtime
from cdp_supervisor import Evaluate, RespondToDialog, SupervisorEngine, TypedCall
from examples.cdp_use_supervisor import FIRST_ID, SharedSocket, ask, now, until


class Counting:
    """The client's socket: it notes the ids of all commands, and all messages of the browser."""

    def __init__(self, socket: Any) -> None:
        self.socket, self.close = socket, socket.close
        self.sent: list[int] = []
        self.events: Counter[str] = Counter()
        self.replies: list[int] = []

    async def send(self, text: str) -> None:
        assert isinstance(text, str)
        self.sent.append(json.loads(text)["id"])
        await self.socket.send(text)

    async def recv(self) -> str:
        text: str = await self.socket.recv()
        message = json.loads(text)
        if "method" in message:
            self.events[message["method"]] += 1
        else:
            self.replies.append(message["id"])
        return text


class Riding(SharedSocket):
    """The adapter of the example; it notes the ids of the replies that the client gets."""

    def __init__(self, socket: Any, engine: SupervisorEngine) -> None:
        super().__init__(socket, engine)
        self.given: list[int] = []

    async def recv(self) -> str:
        text: str = await super().recv()
        message = json.loads(text)
        if "id" in message:
            self.given.append(message["id"])
        return text


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
    snapshot = await until(riding, lambda found: bool(found.pages) and not found.pages[0].stale)
    page = snapshot.pages[0]
    await send.Page.navigate(params={"url": f"{shop}frames"}, session_id=page.session_id)
    await until(
        riding,
        lambda found: (
            found.pages[0].frame_count == 3 and all(each.url[:6] == "https:" for each in found.pages[0].frames())
        ),
    )
    params = {"expression": "cart.pay()", "returnByValue": True}
    paying = asyncio.create_task(send.Runtime.evaluate(params=params, session_id=page.session_id))
    await until(riding, lambda found: bool(found.pending_dialogs))
    seen["closed_by"] = (await ask(riding, RespondToDialog(action="accept"))).closed_by
    seen["paid"] = (await paying)["result"]["value"]
    seen["frames"] = sorted(each.url for each in riding.engine.snapshot().pages[0].frames())
    seen["sum"] = (await send.Runtime.evaluate(params={"expression": "1 + 2"}, session_id=page.session_id))["result"][
        "value"
    ]
    seen["evaluated"] = await ask(riding, Evaluate(expression="cart.total()"))
    seen["typed"] = (await ask(riding, TypedCall(command=runtime.evaluate(expression="1 + 3")))).result.value
    work.cancel()


async def main(url: str, shop: str) -> None:
    engine = SupervisorEngine(first_command_id=FIRST_ID, sessions="adopt")
    client, seen = CDPClient(url), {}
    handled: Counter[str] = Counter()
    warnings: list[str] = []
    logging.getLogger("cdp_use.client").addFilter(
        lambda record: warnings.append(record.msg) or True if record.levelno >= 30 else True
    )
    await client.start()
    counting = Counting(client.ws)
    riding = client.ws = Riding(counting, engine)  # before its reader has started
    registry = client._event_registry
    handle = registry.handle_event

    async def counted(method: str, params: Any, session_id: Any) -> Any:
        handled[method] += 1
        return await handle(method, params, session_id)

    registry.handle_event = counted
    engine.link_up(now())
    await riding.write()
    clock = asyncio.create_task(riding.keep_time())
    async with asyncio.timeout(30):
        await visit(client, riding, shop, seen)
    clock.cancel()
    await client.stop()
    kept = Counter(counting.replies) - Counter(riding.given)
    seen["events_alike"] = handled == counting.events
    seen["dialogs"] = handled["Page.javascriptDialogOpening"]
    seen["ids_unique"] = len(set(counting.sent)) == len(counting.sent)
    seen["kept_are_ours"] = min(kept) >= FIRST_ID
    seen["given_are_theirs"] = max(riding.given) < FIRST_ID
    seen["unexpected"] = len(warnings) + riding.engine.state.totals.get("unreadable_events", 0)
    sys.stdout.write(json.dumps(seen))


asyncio.run(main(*sys.argv[1:3]))
