"""A shop in a fake browser and a `dial` function for it, for the tests of the trio driver."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import attrs

from cdp_core import Transport
from cdp_core.testing import FakeBrowser, FakeTransport, Script
from cdp_core.testing.steps import AddFrame, Answer, Console, Dialog, Popup
from cdp_supervisor import Snapshot, Supervisor

SHOP = "https://shop.example/"
SCRIPT = Script(
    pages={
        SHOP: (AddFrame("news", f"{SHOP}news"), AddFrame("pay", "https://pay.example/f")),
        f"{SHOP}wait": (Dialog("confirm", "Leave?"),),
    },
    answers={
        "ask()": Answer("paid", (Dialog("prompt", "Name?", "guest"), Console("thanks"))),
        "sure()": Answer(True, (Dialog("confirm", "Sure?"),)),
        "tell()": Answer(None, (Dialog("alert", "Hello"),)),
        "both()": Answer(1, (Dialog("alert", "one"), Dialog("confirm", "two"))),
        "framed()": Answer(2, (Dialog("alert", "inside", frame="pay"),)),
        "open()": Answer(None, (Popup("help", f"{SHOP}help"),)),
        "open_alone()": Answer(None, (Popup("alone", f"{SHOP}alone", noopener=True),)),
        "throw()": Answer("thrown"),
        "log()": Answer(None, (Console("line"),)),
    },
)


@attrs.define(eq=False)
class Site:
    """A fake browser, and the transports that were dialled to it."""

    fake: FakeBrowser = attrs.field(factory=lambda: FakeBrowser(SCRIPT))
    dials: int = 0
    before: Callable[[int], Awaitable[None]] | None = None
    """Called before each dial, with its number."""
    transports: list[Any] = attrs.field(factory=list)

    async def dial(self) -> Transport:
        self.dials += 1
        if self.before is not None:
            await self.before(self.dials)
        transport = FakeTransport(self.fake)
        self.transports.append(transport)
        return transport

    def sent(self, method: str) -> list[Any]:
        return [each for each in self.fake.commands if each.method == method]

    async def shop(self, supervisor: Supervisor) -> Snapshot:
        """Navigate to the shop and wait until its three frames are known."""
        await supervisor.call("Page.navigate", {"url": SHOP})
        return await supervisor.wait_for(in_the_shop)


def in_the_shop(snapshot: Snapshot) -> bool:
    """Return True once the shop's page, its three frames and their URLs are known."""
    if not snapshot.pages or snapshot.pages[0].frame_count != 3 or snapshot.pages[0].stale:
        return False
    frames = list(snapshot.pages[0].frames())
    return all((frame.session_id or not frame.is_oopif) and frame.url.startswith("https:") for frame in frames)
