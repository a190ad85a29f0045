"""The mistakes of the first hour: each error says what to write instead."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from cdp_core import ConnectionLost, Event, LocalProtocolError, open_browser_session, open_pipe_session
from cdp_core.bindings import page
from cdp_supervisor import open_supervisor


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: page.navigate("https://a.example/"),
            "page.navigate() takes its params by name; write page.navigate(url=…).",
        ),
        (lambda: page.reload(True), "page.reload() takes its params by name; write page.reload(ignore_cache=…)."),
        (lambda: page.close(1), "page.close() takes no params; write page.close()."),
    ],
)
def test_a_positional_argument_of_a_typed_command(call: Any, text: str) -> None:
    with pytest.raises(TypeError) as wrong:
        call()
    assert str(wrong.value) == text


def test_the_item_of_a_typed_event() -> None:
    event: Any = page.LoadEventFired(timestamp=1.0)
    with pytest.raises(TypeError, match=r"read LoadEventFired\.frame_id, or subscribe"):
        event["frameId"]
    with pytest.raises(TypeError, match=r"read LoadEventFired\.name, or subscribe"):
        event["s3cr3t text"]


def test_the_item_of_an_event() -> None:
    event: Any = Event(method="Page.loadEventFired")
    with pytest.raises(TypeError, match=r"write event\.params\['timestamp'\]"):
        event["timestamp"]


async def test_the_use_of_a_session_after_its_block(peer: Any) -> None:
    async with peer.open() as browser:
        pass
    with pytest.raises(ConnectionLost, match="at the end of its block; use it within its `async with`"):
        await browser.send("Browser.getVersion")


@pytest.mark.parametrize("opened", [open_browser_session, open_supervisor])
def test_another_event_loop(opened: Any) -> None:
    async def main() -> None:
        async with opened("ws://127.0.0.1:1/"):
            raise AssertionError

    with pytest.raises(
        LocalProtocolError, match=r"cdp_core runs on trio; under asyncio use cdp_supervisor\.aio"
    ) as wrong:
        asyncio.run(main())
    assert wrong.value.reason == "no_trio"


def test_another_event_loop_for_a_pipe() -> None:
    async def main() -> None:
        async with open_pipe_session(["no-such-program"]):
            raise AssertionError

    with pytest.raises(LocalProtocolError, match="cdp_core runs on trio"):
        asyncio.run(main())
