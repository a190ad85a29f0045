"""A fake browser on a pipe: started as a program instead of a browser, and with our own descriptors."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from cdp_core import ConnectionLost, open_pipe_session
from cdp_core.testing import FakeBrowser, Script
from cdp_core.testing import served_client as served_client_module
from cdp_core.testing.pipe import serve_pipe
from cdp_core.testing.steps import Answer, Console, Cut, Dialog, Wait

LIMIT = 20.0
ROOT = Path(__file__).parents[2]
SERVE = [sys.executable, "-m", "cdp_core.testing", "serve", "--pipe"]
ENV = {**os.environ, "PYTHONPATH": str(ROOT)}


class Peer:
    """Our ends of two pipes to a fake that this process serves."""

    def __init__(self, fake: FakeBrowser, commands: trio.lowlevel.FdStream, messages: trio.lowlevel.FdStream) -> None:
        self.fake = fake
        self.commands = commands
        self.messages = messages
        self.ended = trio.Event()
        self.completed = False
        self._buffer = b""

    async def send(self, *octets: bytes) -> None:
        for each in octets:
            with trio.fail_after(LIMIT):
                await self.commands.send_all(each)

    async def message(self) -> Any:
        while b"\0" not in self._buffer:
            with trio.fail_after(LIMIT):
                chunk = await self.messages.receive_some(1 << 16)
            assert chunk, "the pipe has ended"
            self._buffer += bytes(chunk)
        text, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(text)

    async def wait_ended(self) -> None:
        with trio.fail_after(LIMIT):
            await self.ended.wait()


@asynccontextmanager
async def peer(fake: FakeBrowser | None = None) -> AsyncIterator[Peer]:
    fake = fake or FakeBrowser()
    their_read, our_write = os.pipe()
    our_read, their_write = os.pipe()
    async with trio.lowlevel.FdStream(our_write) as commands, trio.lowlevel.FdStream(our_read) as messages:
        made = Peer(fake, commands, messages)

        async def serve() -> None:
            await serve_pipe(fake, read_fd=their_read, write_fd=their_write)
            made.ended.set()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(serve)
            yield made
            made.completed = True
            nursery.cancel_scope.cancel()
    assert made.completed, "something cancelled the test"


# ── as the program of a browser ──────────────────────────────────────────────────────────────────────────────────────


async def test_our_client_starts_the_program_and_works() -> None:
    with trio.fail_after(LIMIT):
        async with open_pipe_session(SERVE, env=ENV) as browser:
            assert (await browser.send("Browser.getVersion"))["protocolVersion"] == "1.3"
            page = await browser.targets.create("http://shop.example/")
            answer = await page.send("Runtime.evaluate", {"expression": "location.href"})
            assert answer["result"]["value"] == "http://shop.example/"


async def test_closing_the_browser_ends_the_program_with_0() -> None:
    with trio.fail_after(LIMIT):
        async with open_pipe_session([*SERVE, "--profile", "headless-shell"], env=ENV) as browser:
            assert (await browser.send("Browser.getVersion"))["product"].startswith("HeadlessChrome/")
            await browser.send("Browser.close")
            gone = await browser.wait_closed()
    assert isinstance(gone, ConnectionLost)
    assert gone.reason == "process_exited"
    assert "exited with code 0" in str(gone)


async def test_a_script_file_is_played_with_its_waits(tmp_path: Path) -> None:
    script = Script(answers={"ask()": Answer("yes", (Wait(0.05), Dialog("confirm", "Sure?")))})
    file = tmp_path / "script.json"
    file.write_text(json.dumps(script.to_json()))
    with trio.fail_after(LIMIT):
        async with open_pipe_session([*SERVE, "--script", str(file)], env=ENV) as browser:
            page = await browser.targets.create("about:blank")
            await page.send("Page.enable")
            with page.expect("Page.javascriptDialogOpening") as opening:
                answer = page.send_nowait("Runtime.evaluate", {"expression": "ask()"})
                await opening.wait()
            await page.send("Page.handleJavaScriptDialog", {"accept": True})
            assert (await answer.wait())["result"]["value"] == "yes"


# ── the framing ──────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_texts_can_be_split_and_merged_anywhere() -> None:
    async with peer() as pipe:
        one = b'{"id":%d,"method":"Foo.bar"}\0'
        octets = b"".join(one % number for number in range(3))
        await pipe.send(*(octets[place : place + 1] for place in range(len(octets))))
        await pipe.send(b"".join(one % number for number in range(3, 100)) + (one % 100)[:7])
        await pipe.send((one % 100)[7:])
        assert [(await pipe.message())["id"] for _ in range(101)] == [*range(101)]


@pytest.mark.parametrize("text", [b"", b"garbage", b"[]", b'{"id":1}\n{"id":2}'])
async def test_a_text_that_is_not_a_command_is_refused_and_the_link_stays(text: bytes) -> None:
    async with peer() as pipe:
        await pipe.send(text + b"\0")
        assert "error" in await pipe.message()
        await pipe.send(b'{"id":1,"method":"Browser.getVersion"}\0')
        assert (await pipe.message())["result"]["protocolVersion"] == "1.3"


async def test_a_large_command_is_read_and_answered() -> None:
    async with peer() as pipe:
        text = json.dumps({"id": 1, "method": "Runtime.evaluate", "params": {"expression": "x" * 3_000_000}}).encode()
        await pipe.send(text + b"\0")
        assert (await pipe.message())["id"] == 1


# ── the end ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_closing_our_end_ends_the_serving() -> None:
    async with peer() as pipe:
        await pipe.send(b'{"id":1,"method":"Browser.getVersion"}\0{"id":2,"method":"Never')
        await pipe.message()
        await pipe.commands.aclose()
        await pipe.wait_ended()
        assert await pipe.messages.receive_some(100) == b""
        assert [command.id for command in pipe.fake.commands] == [1]
        assert not pipe.fake.is_connected(1)


async def test_closing_our_end_ends_the_serving_with_unread_messages() -> None:
    async with peer() as pipe:
        for number in range(3000):  # more than a pipe holds
            await pipe.send(b'{"id":%d,"method":"%s"}\0' % (number, b"x" * 100))
        await pipe.commands.aclose()
        await pipe.wait_ended()
        assert not pipe.fake.is_connected(1)


async def test_closing_the_browser_is_answered_and_ends_the_serving() -> None:
    async with peer() as pipe:
        await pipe.send(b'{"id":1,"method":"Browser.close"}\0')
        assert await pipe.message() == {"id": 1, "result": {}}
        await pipe.wait_ended()


async def test_a_cut_ends_the_serving() -> None:
    async with peer() as pipe:
        await pipe.send(b'{"id":1,"method":"Browser.getVersion"}\0')
        await pipe.message()
        pipe.fake.play(Cut())
        await pipe.wait_ended()


async def test_a_client_that_does_not_read_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served_client_module, "MAX_BACKLOG_BYTES", 1 << 20)
    async with peer() as pipe:
        page = pipe.fake.truth().pages[0]
        attach = {"id": 1, "method": "Target.attachToTarget", "params": {"targetId": page, "flatten": True}}
        await pipe.send(json.dumps(attach).encode() + b"\0")
        await pipe.message()
        session = (await pipe.message())["result"]["sessionId"]
        await pipe.send(json.dumps({"id": 2, "method": "Runtime.enable", "sessionId": session}).encode() + b"\0")
        while (await pipe.message()).get("id") != 2:
            pass
        lines = 0
        while not pipe.ended.is_set():
            pipe.fake.play(Console("x" * 50_000))
            await trio.testing.wait_all_tasks_blocked()
            lines += 1
            assert lines < 100, "5 MB wait for a client that does not read"
        assert lines > 10, "it was cut off before the limit"
        await pipe.wait_ended()


async def test_a_client_that_left_before_the_answer_ends_the_serving() -> None:
    async with peer() as pipe:
        await pipe.messages.aclose()
        await pipe.send(b'{"id":1,"method":"Browser.getVersion"}\0')
        await pipe.wait_ended()
