"""A test of a cdp-use program without a browser: pytest-asyncio, and the fixtures of cdp_core.testing.

    pip install cdp-supervisor cdp-use pytest-asyncio && pytest examples/test_cdp_use_dialogs.py

`fake_browser_url` is the address of a fake browser for this test only, and `fake_browser` is that browser: the marker
sets the script of its pages, `play` adds steps, and `truth` is its real state, whatever the client believes.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from cdp_use.client import CDPClient

from cdp_core.testing import FakeBrowser, Script
from cdp_core.testing.steps import Answer, Console, Dialog

SHOP = "https://shop.example/"
SCRIPT = Script(
    pages={SHOP: (Dialog("confirm", "May we use cookies?"), Dialog("confirm", "Delete everything?"), Console("open"))},
    answers={"cart.pay()": Answer("paid", (Dialog("prompt", "Your name?"),))},
)
pytestmark = [pytest.mark.asyncio, pytest.mark.fake_script(SCRIPT)]


class Visitor:
    """The program under test: it accepts cookies, gives its name, and dismisses all other dialogs."""

    def __init__(self, client: CDPClient) -> None:
        self.client = client
        self.session = ""
        self.lines: asyncio.Queue[str] = asyncio.Queue()
        self._answers: set[asyncio.Task[Any]] = set()

    async def open(self, url: str) -> None:
        """Open a page and enable its events."""
        on, send = self.client.register, self.client.send
        on.Page.javascriptDialogOpening(self._asked)
        on.Runtime.consoleAPICalled(lambda event, _session: self.lines.put_nowait(event["args"][0]["value"]))
        page = await send.Target.createTarget(params={"url": "about:blank"})
        attached = await send.Target.attachToTarget(params={"targetId": page["targetId"], "flatten": True})
        self.session = attached["sessionId"]
        await send.Page.enable(session_id=self.session)
        await send.Runtime.enable(session_id=self.session)
        await send.Page.navigate(params={"url": url}, session_id=self.session)

    async def evaluate(self, expression: str) -> Any:
        """Return the value of an expression in the page."""
        params = {"expression": expression, "returnByValue": True}
        answer = await self.client.send.Runtime.evaluate(params=params, session_id=self.session)
        return answer["result"].get("value")

    def _asked(self, event: Any, session: str | None) -> None:
        # Awaiting a command here would wait for ever: this function runs in the task that reads the replies.
        answer = {"accept": "cookies" in event["message"] or event["type"] == "prompt", "promptText": "Ada"}
        task = asyncio.ensure_future(
            self.client.send.Page.handleJavaScriptDialog(params=answer, session_id=session)  # type: ignore[arg-type]
        )
        self._answers.add(task)
        task.add_done_callback(self._answers.discard)


async def test_each_dialog_gets_its_answer(fake_browser_url: str, fake_browser: FakeBrowser) -> None:
    async with CDPClient(fake_browser_url) as client, asyncio.timeout(20):
        visitor = Visitor(client)
        await visitor.open(SHOP)
        assert await visitor.lines.get() == "open"  # the page continues after the answers
        assert await visitor.evaluate("cart.pay()") == "paid"
    assert [(dialog.message, dialog.accepted) for dialog in fake_browser.truth().dialogs] == [
        ("May we use cookies?", True),
        ("Delete everything?", False),
        ("Your name?", True),
    ]
    fake_browser.assert_clean()


async def test_a_page_may_open_a_dialog_at_any_time(fake_browser_url: str, fake_browser: FakeBrowser) -> None:
    async with CDPClient(fake_browser_url) as client, asyncio.timeout(20):
        visitor = Visitor(client)
        await visitor.open("https://shop.example/quiet")
        fake_browser.play(Dialog("confirm", "Still there?", frame="page 2"), Console("gone", frame="page 2"))
        assert await visitor.lines.get() == "gone"
    [dialog] = fake_browser.truth().dialogs
    assert (dialog.accepted, dialog.closed_by) == (False, 1)


async def test_an_unanswered_dialog_is_reported(fake_browser_url: str, fake_browser: FakeBrowser) -> None:
    async with CDPClient(fake_browser_url):
        fake_browser.play(Dialog("alert", "Hello"))
        with pytest.raises(AssertionError, match="alert is open on page"):
            fake_browser.assert_clean()
