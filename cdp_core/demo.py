"""The engine at work, with every message shown, and no browser anywhere.

A browser of a hundred lines stands at the other end of a memory link and answers as Chromium does: the session is
announced before its reply (docs/cdp/sessions-open-on-the-event.md), a dialog blocks its page, and the dialog's closed
event comes before the reply to the answer (docs/cdp/closed-precedes-reply.md). What you see is what goes over a real
link; only the other end is made up.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import trio

from cdp_core.browser_session import open_browser_session
from cdp_core.errors import ConnectionLost
from cdp_core.page_session import PageSession
from cdp_core.sansio.wire import Event, Json
from cdp_core.transports import Payload
from cdp_core.transports.memory import MemoryTransport, memory_pair

__all__ = ["run_demo"]

PAGE, FRAME, SESSION = "PAGE-1", "FRAME-2", "SESSION-1"
WIDTH = 150

Say = Callable[[str], None]


def _print(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - telling is what a demo is for


async def run_demo(say: Say = _print) -> None:
    """Tell the whole story, one line for each message."""
    ours, theirs = memory_pair()
    say("An engine and a small browser, connected in memory. → goes to the browser, ← comes from it.\n")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_browse, theirs, say)
        async with open_browser_session(ours) as browser:
            say("── open a page; its session is announced before the reply")
            page = await browser.targets.create("https://shop.example/")
            async with page.enabled("Page"):
                await _show_frames(page, say)
                await _answer_dialog(page, say)
    counts = browser.statistics().router
    odd = sum(counts.anomalies.values())
    say(
        f"\nDone: {counts.commands} commands, {counts.in_flight} of them without an end, {odd} messages that fit nowhere."
    )


async def _show_frames(page: PageSession, say: Say) -> None:
    say("── ask for its frames")
    tree = (await page.send("Page.getFrameTree"))["frameTree"]
    _tell_frame(tree, 0, say)


def _tell_frame(tree: Json, depth: int, say: Say) -> None:
    say(f"   {'  ' * depth}frame {tree['frame']['id']}  {tree['frame']['url']}")
    for child in tree.get("childFrames", []):
        _tell_frame(child, depth + 1, say)


async def _answer_dialog(page: PageSession, say: Say) -> None:
    say("── a script opens a dialog; the page is blocked until it is answered")
    with page.subscribe("Page.javascriptDialogOpening", "Page.javascriptDialogClosed", capacity=8) as dialogs:
        blocked = page.send_nowait("Runtime.evaluate", {"expression": "confirm('Delete the basket?')"})
        opening: Event = await dialogs.receive()
        say(f"   seen: a {opening.params['type']} that says {opening.params['message']!r}")
        await page.send("Page.handleJavaScriptDialog", {"accept": True})
        closed = await dialogs.receive()
        say(f"   answered: result {closed.params['result']}; the closed event came before the reply")
        answer = await blocked.wait()
        say(f"   and the script goes on, with {answer['result']['value']}")


# ── the browser at the other end ─────────────────────────────────────────────────────────────────────────────────────


async def _browse(link: MemoryTransport, say: Say) -> None:
    browser = _SmallBrowser()
    try:
        while True:
            for text in await link.receive():
                _show("→", text, say)
                replies = [json.dumps(message, separators=(",", ":")).encode() for message in browser.answer(text)]
                for reply in replies:
                    _show("←", reply, say)
                await link.send(replies)
    except ConnectionLost:
        say("   the link is closed")


def _show(arrow: str, text: Payload, say: Say) -> None:
    line = bytes(text).decode()
    say(f" {arrow} {line if len(line) <= WIDTH else line[: WIDTH - 1] + '…'}")


class _SmallBrowser:
    """One page with one frame in it, and a confirm dialog."""

    def __init__(self) -> None:
        self._blocked: Json | None = None
        self._answers: dict[str, Callable[[Json], list[Json]]] = {
            "Target.createTarget": self._create,
            "Target.attachToTarget": self._attach,
            "Page.getFrameTree": self._frames,
            "Runtime.evaluate": self._evaluate,
            "Page.handleJavaScriptDialog": self._handle,
        }

    def answer(self, text: Payload) -> list[Json]:
        command: Json = json.loads(bytes(text))
        make = self._answers.get(command["method"])
        return [_reply(command, {})] if make is None else make(command)

    def _create(self, command: Json) -> list[Json]:
        return [_reply(command, {"targetId": PAGE})]

    def _attach(self, command: Json) -> list[Json]:
        target = {"targetId": PAGE, "type": "page", "title": "Shop", "url": "https://shop.example/", "attached": True}
        opened = {"sessionId": SESSION, "targetInfo": target, "waitingForDebugger": False}
        return [{"method": "Target.attachedToTarget", "params": opened}, _reply(command, {"sessionId": SESSION})]

    def _frames(self, command: Json) -> list[Json]:
        child: Json = {"frame": {"id": FRAME, "parentId": PAGE, "url": "https://pay.example/form"}}
        tree: Json = {"frame": {"id": PAGE, "url": "https://shop.example/"}, "childFrames": [child]}
        return [_reply(command, {"frameTree": tree})]

    def _evaluate(self, command: Json) -> list[Json]:
        self._blocked = command
        opening = {
            "url": "https://shop.example/",
            "frameId": PAGE,
            "message": "Delete the basket?",
            "type": "confirm",
            "hasBrowserHandler": True,
            "defaultPrompt": "",
        }
        return [_event("Page.javascriptDialogOpening", opening)]

    def _handle(self, command: Json) -> list[Json]:
        accept: bool = command["params"]["accept"]
        closed = {"frameId": PAGE, "result": accept, "userInput": ""}
        messages = [_event("Page.javascriptDialogClosed", closed), _reply(command, {})]
        if self._blocked is not None:
            messages.append(_reply(self._blocked, {"result": {"type": "boolean", "value": accept}}))
            self._blocked = None
        return messages


def _event(method: str, params: Json) -> Json:
    return {"method": method, "params": params, "sessionId": SESSION}


def _reply(command: Json, result: Json) -> Json:
    reply: dict[str, Any] = {"id": command["id"], "result": result}
    if "sessionId" in command:
        reply["sessionId"] = command["sessionId"]
    return reply
