"""A fake browser in a thread of its own: blocking clients, asyncio, other processes; asked from any thread."""

from __future__ import annotations

import asyncio
import inspect
import json
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable
from typing import Any

import h11
import pytest
import trio

from cdp_core import InvalidArgument, LocalProtocolError, open_browser_session
from cdp_core.testing import FakeBrowser, FakeEndpoint, Script, start_fake_browser
from cdp_core.testing.fake.inspection import Inspection
from cdp_core.testing.steps import Answer, Console, Cut, Dialog, RemoveFrame, Wait
from cdp_core.testing.thread import FakeInThread

LIMIT = 10.0
HEAD = (
    "GET {path} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


def address(endpoint: FakeEndpoint) -> tuple[str, int]:
    host, _, port = endpoint.http_url.removeprefix("http://").partition(":")
    return host, int(port)


def framed(message: dict[str, Any]) -> bytes:
    text = json.dumps(message).encode()
    assert len(text) < 126
    return bytes((0x81, 0x80 | len(text))) + b"\0\0\0\0" + text


class Blocking:
    """A client that a student would write: one socket, blocking reads."""

    def __init__(self, endpoint: FakeEndpoint) -> None:
        self._socket = socket.create_connection(address(endpoint), LIMIT)
        self._file = self._socket.makefile("rb")
        self._socket.sendall(HEAD.format(path=endpoint.fake.path).encode())
        assert b" 101 " in self._file.readline()
        while self._file.readline() != b"\r\n":
            pass

    def call(self, number: int, method: str, **params: Any) -> dict[str, Any]:
        self._socket.sendall(framed({"id": number, "method": method, "params": params}))
        while True:
            message = self.receive()
            if message.get("id") == number:
                return message

    def receive(self) -> dict[str, Any]:
        first, length = self._file.read(2)
        assert first == 0x81
        if length == 126:
            length = int.from_bytes(self._file.read(2), "big")
        received: dict[str, Any] = json.loads(self._file.read(length))
        return received

    def at_end(self) -> bool:
        return self._file.read(1) == b""

    def close(self) -> None:
        self._file.close()
        self._socket.close()


def until(condition: Callable[[], object]) -> None:
    begun = time.monotonic()
    while not condition():
        assert time.monotonic() - begun < LIMIT
        time.sleep(0.005)


def test_a_blocking_client() -> None:
    with start_fake_browser() as endpoint:
        client = Blocking(endpoint)
        try:
            assert client.call(1, "Browser.getVersion")["result"]["protocolVersion"] == "1.3"
            with urllib.request.urlopen(f"{endpoint.http_url}/json/version", timeout=LIMIT) as answer:
                assert json.load(answer)["webSocketDebuggerUrl"] == endpoint.ws_url
            assert [command.method for command in endpoint.fake.commands] == ["Browser.getVersion"]
            endpoint.fake.play(Cut())
            assert client.at_end()
        finally:
            client.close()


def test_it_is_asked_and_told_from_any_thread_at_once() -> None:
    def work() -> None:
        for number in range(50):
            endpoint.fake.play(Console(f"line {number}"))
            assert len(endpoint.fake.truth().pages) == 1
            endpoint.fake.assert_clean()

    with start_fake_browser() as endpoint:
        client = Blocking(endpoint)
        threads = [threading.Thread(target=work) for _ in range(4)]
        try:
            for thread in threads:
                thread.start()
            for number in range(50):
                client.call(number, "Target.getTargets")
        finally:
            for thread in threads:
                thread.join()
            client.close()
        assert len(endpoint.fake.commands) == 50
        assert endpoint.fake.statistics().received == 50


def test_its_time_passes_and_can_be_let_pass() -> None:
    with start_fake_browser(FakeBrowser(Script(timeline=(Wait(1000.0), Dialog("alert", "late"))))) as endpoint:
        due = endpoint.fake.next_time()
        assert due == pytest.approx(1000.0)
        assert endpoint.fake.truth().dialogs == ()
        endpoint.fake.advance(999.9)
        assert endpoint.fake.now == pytest.approx(999.9, abs=0.09)
        until(lambda: endpoint.fake.truth().dialogs)  # the rest by itself
        endpoint.fake.play(Wait(0.01), Console("x"))
        with pytest.raises(AssertionError, match="alert is open"):
            endpoint.fake.assert_clean()


def test_what_it_raises_is_raised_where_it_was_asked_and_it_goes_on() -> None:
    with start_fake_browser() as endpoint:
        with pytest.raises(InvalidArgument, match="'ad'"):
            endpoint.fake.play(RemoveFrame("ad"))
        with pytest.raises(ValueError, match="backwards"):
            endpoint.fake.advance(-1.0)
        endpoint.fake.assert_clean()


def test_ends_and_messages_do_not_cross_threads() -> None:
    with start_fake_browser() as endpoint:
        asked: list[Callable[[], object]] = [
            endpoint.fake.connect,
            endpoint.fake.ready,
            lambda: endpoint.fake.deliver(None, None),  # type: ignore[arg-type]
        ]
        for ask in asked:
            with pytest.raises(LocalProtocolError, match="over its address"):
                ask()


def test_everything_public_of_a_fake_crosses_or_is_refused() -> None:
    """What a fake learns to do must not be done from the wrong thread."""
    own = {name for name in (*vars(FakeBrowser), *vars(Inspection)) if not name.startswith("_")}
    assert own <= vars(FakeInThread).keys()
    for name in own:
        there, here = getattr(FakeBrowser, name), getattr(FakeInThread, name)
        assert here is not there
        assert callable(here) == callable(there)
        if callable(here) and name != "connect":
            assert [*inspect.signature(here).parameters] == [*inspect.signature(there).parameters]


async def ask_over_asyncio(endpoint: FakeEndpoint) -> int:
    reader, writer = await asyncio.open_connection(*address(endpoint))
    http = h11.Connection(h11.CLIENT)
    writer.write(http.send(h11.Request(method="GET", target="/json/list", headers=[("Host", "localhost")])) or b"")
    body = b""
    while not isinstance(event := http.next_event(), h11.EndOfMessage):
        if event is h11.NEED_DATA:
            http.receive_data(await asyncio.wait_for(reader.read(1 << 16), LIMIT))
        elif isinstance(event, h11.Data):
            body += event.data
    writer.close()
    await writer.wait_closed()
    return len(json.loads(body))


def test_asyncio() -> None:
    async def main() -> None:
        with start_fake_browser() as endpoint:
            listed = await asyncio.gather(*(ask_over_asyncio(endpoint) for _ in range(10)))
            assert listed == [1] * 10
            reader, writer = await asyncio.open_connection(*address(endpoint))
            writer.write(HEAD.format(path=endpoint.fake.path).encode())
            await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), LIMIT)
            writer.write(framed({"id": 1, "method": "Target.setDiscoverTargets", "params": {"discover": True}}))
            await asyncio.wait_for(reader.readexactly(2), LIMIT)
            assert endpoint.fake.truth().pages
            writer.close()
            await writer.wait_closed()

    asyncio.run(main())


def test_trio_beside_it() -> None:
    """Of a program that runs trio itself; the fake may be asked inside of it."""

    async def main() -> None:
        with start_fake_browser(FakeBrowser(Script(answers={"ask()": Answer(7)}))) as endpoint:
            async with open_browser_session(endpoint.ws_url) as browser:
                page = await browser.targets.create("about:blank")
                assert (await page.send("Runtime.evaluate", {"expression": "ask()"}))["result"]["value"] == 7
                assert len(endpoint.fake.truth().pages) == 2

    trio.run(main)


def test_a_client_in_another_process() -> None:
    program = (
        "import json, sys, urllib.request\n"
        "print(len(json.load(urllib.request.urlopen(sys.argv[1] + '/json/list', timeout=10))))"
    )
    with start_fake_browser(control=True) as endpoint:
        ran = subprocess.run(
            [sys.executable, "-c", program, endpoint.http_url], capture_output=True, text=True, timeout=60, check=True
        )
        assert ran.stdout == "1\n"
        with urllib.request.urlopen(f"{endpoint.http_url}/fake/verdict", timeout=LIMIT) as answer:
            assert json.load(answer)["clean"] is True


def test_a_port_that_is_taken_is_raised_here() -> None:
    with start_fake_browser() as endpoint:
        with pytest.raises(OSError, match="in use"), start_fake_browser(port=address(endpoint)[1]):
            pytest.fail("two on one port")
        with pytest.raises(InvalidArgument), start_fake_browser(port=-1):
            pytest.fail("no port")


def test_the_exception_of_the_body_leaves_bare_and_the_thread_ends() -> None:
    with pytest.raises(KeyError), start_fake_browser():
        raise KeyError
    assert "fake browser" not in {thread.name for thread in threading.enumerate()}


def test_a_script_that_cannot_be_played_is_raised_where_the_block_ends() -> None:
    with pytest.raises(InvalidArgument, match="'ad'"), start_fake_browser() as endpoint:
        endpoint.fake.play(Wait(0.0), RemoveFrame("ad"))
        until(lambda: "fake browser" not in {thread.name for thread in threading.enumerate()})
        with pytest.raises(LocalProtocolError, match="has ended"):
            endpoint.fake.truth()


def test_after_the_block_it_can_be_asked_no_more() -> None:
    with start_fake_browser() as endpoint:
        pass
    with pytest.raises(LocalProtocolError, match="has ended"):
        endpoint.fake.truth()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address(endpoint), LIMIT)


def test_a_question_that_comes_just_as_it_ends_is_refused_and_does_not_wait() -> None:
    class Deaf:
        """What trio's token is in that moment: it takes what is to be run, and never runs it."""

        def run_sync_soon(self, *_call: object) -> None:
            pass

    with start_fake_browser() as endpoint:
        thread = endpoint.fake._call.__self__  # type: ignore[attr-defined]
    thread._token = Deaf()
    with pytest.raises(LocalProtocolError, match="has ended"):
        endpoint.fake.truth()


def test_twenty_of_them_one_after_the_other() -> None:
    for _ in range(20):
        with start_fake_browser() as endpoint:
            endpoint.fake.truth()
