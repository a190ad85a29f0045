"""A fake browser in its own thread, for blocking clients, asyncio and other processes.

It can be used from any thread.
"""

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
    """A simple client: one socket, blocking reads."""

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


def wait_until(condition: Callable[[], object]) -> None:
    started_at = time.monotonic()
    while not condition():
        assert time.monotonic() - started_at < LIMIT
        time.sleep(0.005)


def test_a_blocking_client_works() -> None:
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


def test_several_threads_can_use_the_fake_at_once() -> None:
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


def test_time_passes_and_can_be_advanced() -> None:
    with start_fake_browser(FakeBrowser(Script(timeline=(Wait(1000.0), Dialog("alert", "late"))))) as endpoint:
        due = endpoint.fake.next_time()
        assert due == pytest.approx(1000.0)
        assert endpoint.fake.truth().dialogs == ()
        endpoint.fake.advance(999.9)
        assert endpoint.fake.now == pytest.approx(999.9, abs=0.09)
        wait_until(lambda: endpoint.fake.truth().dialogs)  # the remaining time passes on its own
        endpoint.fake.play(Wait(0.01), Console("x"))
        with pytest.raises(AssertionError, match="alert is open"):
            endpoint.fake.assert_clean()


def test_an_exception_is_raised_in_the_calling_thread_and_the_serving_continues() -> None:
    with start_fake_browser() as endpoint:
        with pytest.raises(InvalidArgument, match="'ad'"):
            endpoint.fake.play(RemoveFrame("ad"))
        with pytest.raises(ValueError, match="backwards"):
            endpoint.fake.advance(-1.0)
        endpoint.fake.assert_clean()


def test_client_ends_and_messages_are_refused_in_other_threads() -> None:
    with start_fake_browser() as endpoint:
        calls: list[Callable[[], object]] = [
            endpoint.fake.connect,
            endpoint.fake.ready,
            lambda: endpoint.fake.deliver(None, None),  # type: ignore[arg-type]
        ]
        for call in calls:
            with pytest.raises(LocalProtocolError, match="over its address"):
                call()


def test_every_public_member_of_a_fake_is_forwarded_or_refused() -> None:
    """A member that is added to the fake must not run in the wrong thread."""
    public = {name for name in (*vars(FakeBrowser), *vars(Inspection)) if not name.startswith("_")}
    assert public <= vars(FakeInThread).keys()
    for name in public:
        original, forwarded = getattr(FakeBrowser, name), getattr(FakeInThread, name)
        assert forwarded is not original
        assert callable(forwarded) == callable(original)
        if callable(forwarded) and name != "connect":
            assert [*inspect.signature(forwarded).parameters] == [*inspect.signature(original).parameters]


async def list_over_asyncio(endpoint: FakeEndpoint) -> int:
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


def test_an_asyncio_client_works() -> None:
    async def main() -> None:
        with start_fake_browser() as endpoint:
            listed = await asyncio.gather(*(list_over_asyncio(endpoint) for _ in range(10)))
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


def test_a_trio_program_can_use_the_fake() -> None:
    """The program runs its own trio loop and calls the fake inside it."""

    async def main() -> None:
        with start_fake_browser(FakeBrowser(Script(answers={"ask()": Answer(7)}))) as endpoint:
            async with open_browser_session(endpoint.ws_url) as browser:
                page = await browser.targets.create("about:blank")
                assert (await page.send("Runtime.evaluate", {"expression": "ask()"}))["result"]["value"] == 7
                assert len(endpoint.fake.truth().pages) == 2

    trio.run(main)


def test_a_client_in_another_process_works() -> None:
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


def test_an_unusable_port_raises_in_the_calling_thread() -> None:
    with start_fake_browser() as endpoint:
        with pytest.raises(OSError, match="in use"), start_fake_browser(port=address(endpoint)[1]):
            pytest.fail("two endpoints on one port")
        with pytest.raises(InvalidArgument), start_fake_browser(port=-1):
            pytest.fail("no port")


def test_an_exception_of_the_body_is_not_wrapped_and_ends_the_thread() -> None:
    with pytest.raises(KeyError), start_fake_browser():
        raise KeyError
    assert "fake browser" not in {thread.name for thread in threading.enumerate()}


def test_a_step_that_cannot_be_played_raises_at_the_end_of_the_block() -> None:
    with pytest.raises(InvalidArgument, match="'ad'"), start_fake_browser() as endpoint:
        endpoint.fake.play(Wait(0.0), RemoveFrame("ad"))
        wait_until(lambda: "fake browser" not in {thread.name for thread in threading.enumerate()})
        with pytest.raises(LocalProtocolError, match="has ended"):
            endpoint.fake.truth()


def test_after_the_block_the_fake_refuses_every_call() -> None:
    with start_fake_browser() as endpoint:
        pass
    with pytest.raises(LocalProtocolError, match="has ended"):
        endpoint.fake.truth()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address(endpoint), LIMIT)


def test_a_call_during_the_end_of_the_thread_is_refused_without_waiting() -> None:
    class EndedToken:
        """A copy of trio's token at that moment: it accepts a function and never runs it."""

        def run_sync_soon(self, *_call: object) -> None:
            pass

    with start_fake_browser() as endpoint:
        thread = endpoint.fake._call.__self__  # type: ignore[attr-defined]
    thread._token = EndedToken()
    with pytest.raises(LocalProtocolError, match="has ended"):
        endpoint.fake.truth()


def test_twenty_fakes_can_run_one_after_the_other() -> None:
    for _ in range(20):
        with start_fake_browser() as endpoint:
            endpoint.fake.truth()
