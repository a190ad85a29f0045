"""A client program: cdp-use visits the shop at an address and prints its observations."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from typing import Any

from cdp_use.client import CDPClient

Seen = dict[str, Any]


class Shopper:
    """A client that attaches to every page and frame automatically, and answers dialogs while it waits."""

    def __init__(self, client: CDPClient, seen: Seen) -> None:
        self.client, self.seen = client, seen
        self.pages: dict[str, str] = {}
        self.urls: dict[str, str] = {}
        self.sessions: dict[str, str] = {}
        self._changed = asyncio.Event()
        self._tasks: set[asyncio.Task[Any]] = set()
        on = client.register
        on.Target.attachedToTarget(lambda event, _: self.start(self.attached(event)))
        on.Target.targetInfoChanged(lambda event, _: self.info(event["targetInfo"]))
        on.Target.targetDestroyed(lambda event, _: self.gone(event["targetId"]))
        on.Page.javascriptDialogOpening(lambda event, session: self.start(self.answer(event, session)))
        on.Page.loadEventFired(lambda _, session: self.note(f"loaded {session}"))
        on.Runtime.consoleAPICalled(lambda event, _: self.console(event))
        on.Runtime.exceptionThrown(lambda event, _: self.error(event["exceptionDetails"]))

    def start(self, work: Any) -> None:
        task = asyncio.ensure_future(work)  # commands cannot be awaited in a callback
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def note(self, what: str) -> None:
        self.seen.setdefault("notes", []).append(what)
        self._changed.set()

    async def until(self, holds: Callable[[], bool]) -> None:
        while not holds():
            self._changed.clear()
            await self._changed.wait()

    async def attached(self, event: Any) -> None:
        session, info = event["sessionId"], event["targetInfo"]
        self.sessions[info["targetId"]] = session
        self.info(info)
        on = self.client.send
        wanted = {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True}
        await asyncio.gather(
            on.Page.enable(session_id=session),
            on.Runtime.enable(session_id=session),
            on.Target.setAutoAttach(params=wanted, session_id=session),
            on.Runtime.runIfWaitingForDebugger(session_id=session),
        )
        self.note(f"ready {session}")

    def info(self, info: Any) -> None:
        self.urls[info["targetId"]] = info["url"]
        if info["type"] == "page":
            self.pages[info["targetId"]] = info["url"]
        self._changed.set()

    def gone(self, target: str) -> None:
        self.pages.pop(target, None)
        self.urls.pop(target, None)
        self._changed.set()

    async def answer(self, event: Any, session: str | None) -> None:
        self.seen["dialogs"].append([event["type"], event["message"], event.get("defaultPrompt", "")])
        params = {"accept": event["message"] != "Sure?", "promptText": "me"}
        await self.client.send.Page.handleJavaScriptDialog(params=params, session_id=session)

    def console(self, event: Any) -> None:
        self.seen["console"].append([event["type"], " ".join(str(each["value"]) for each in event["args"])])

    def error(self, details: Any) -> None:
        self.seen["errors"].append(details["exception"]["preview"]["properties"][1]["value"])

    async def evaluate(self, target: str, expression: str, **more: Any) -> Any:
        params = {"expression": expression, "returnByValue": True, "awaitPromise": True, **more}
        answer = await self.client.send.Runtime.evaluate(params=params, session_id=self.sessions[target])
        return answer["result"].get("value")

    async def go(self, target: str, url: str) -> None:
        session, notes = self.sessions[target], self.seen.setdefault("notes", [])
        before = notes.count(f"loaded {session}")
        await self.client.send.Page.navigate(params={"url": url}, session_id=session)
        await self.until(lambda: notes.count(f"loaded {session}") > before)


async def visit(shopper: Shopper, page: str, shop: str) -> None:
    seen = shopper.seen
    seen["new"] = await shopper.evaluate(page, "location.href")
    seen["sum"] = await shopper.evaluate(page, "1 + 2")
    seen["argument"] = await shopper.evaluate(page, "(() => 3 + 4)()")
    await shopper.go(page, shop)
    seen["href"] = await shopper.evaluate(page, "location.href")
    seen["total"] = await shopper.evaluate(page, "(() => cart.total())()")
    seen["items"] = await shopper.evaluate(page, "(async () => { return await cart.items() })()")
    await shopper.go(page, f"{shop}dialogs")
    seen["paid"] = await shopper.evaluate(page, "cart.pay()")
    await shopper.go(page, f"{shop}frames")
    tree = (await shopper.client.send.Page.getFrameTree(session_id=shopper.sessions[page]))["frameTree"]
    near = [child["frame"]["url"] for child in tree["childFrames"]]
    far = next(target for target, url in shopper.urls.items() if "pay.example" in url)
    seen["frames"] = sorted([tree["frame"]["url"], *near, shopper.urls[far]])
    seen["in_frame"] = await shopper.evaluate(far, "location.href")
    await shopper.evaluate(page, "cart.help()", userGesture=True)
    await shopper.until(lambda: f"{shop}help" in shopper.pages.values())
    popup = next(target for target, url in shopper.pages.items() if url.endswith("help"))
    seen["popup"] = shopper.pages[popup]
    for target in (popup, page):
        await shopper.client.send.Target.closeTarget(params={"targetId": target})
        await shopper.until(lambda target=target: target not in shopper.pages)  # type: ignore[misc]


async def main(url: str, shop: str) -> None:
    seen: Seen = {"console": [], "errors": [], "dialogs": []}
    async with CDPClient(url) as client, asyncio.timeout(30):
        shopper, send = Shopper(client, seen), client.send
        await send.Target.setDiscoverTargets(params={"discover": True})
        wanted = {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True}
        await send.Target.setAutoAttach(params=wanted)
        await shopper.until(lambda: bool(shopper.pages))
        seen["pages"] = list(shopper.pages.values())
        page = (await send.Target.createTarget(params={"url": "about:blank"}))["targetId"]
        await shopper.until(lambda: f"ready {shopper.sessions.get(page)}" in seen.get("notes", []))
        await visit(shopper, page, shop)
        seen["left"] = list(shopper.pages.values())
    seen.pop("notes")
    print(json.dumps(seen))


asyncio.run(main(*sys.argv[1:3]))
