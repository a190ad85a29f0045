"""Faults of byte streams: they change how octets are cut into pieces, and nothing else."""

from __future__ import annotations

import json
import os

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from cdp_core import open_browser_session
from cdp_core.testing import FakeBrowser, FakeTransport, serve_fake_browser
from cdp_core.testing.byte_stream import ByteStream
from cdp_core.testing.faults import Fault, Merge, Split
from cdp_core.testing.pipe import serve_pipe
from cdp_core.testing.steps import Console

LIMIT = 10.0


@given(
    framed=st.lists(st.binary(min_size=1, max_size=20), max_size=8),
    split=st.none() | st.integers(1, 9),
    batch_size=st.none() | st.integers(2, 5),
)
def test_split_and_merge_set_the_size_of_the_pieces_and_lose_no_octet(
    framed: list[bytes], split: int | None, batch_size: int | None
) -> None:
    faults: list[Fault] = [Split(1, client=2), Merge(2, client=2)]
    faults += [] if split is None else [Split(split)]
    faults += [] if batch_size is None else [Merge(batch_size, client=1)]
    pieces = [*ByteStream(faults, 1).pieces(framed)]
    assert b"".join(pieces) == b"".join(framed)
    assert all(pieces)
    if split is not None:
        assert all(len(piece) <= split for piece in pieces)
    elif batch_size is not None:
        groups = [b"".join(framed[start : start + batch_size]) for start in range(0, len(framed), batch_size)]
        assert pieces == groups
    else:
        assert len(pieces) <= 1


@pytest.mark.parametrize("faults", [(), (Split(1),), (Merge(3),), (Merge(2), Split(7))], ids=repr)
async def test_a_client_over_a_socket_receives_the_same_messages(faults: tuple[Fault, ...]) -> None:
    fake = FakeBrowser(faults=faults)
    async with serve_fake_browser(fake) as endpoint, open_browser_session(endpoint.ws_url) as browser:
        page = await browser.targets.attach(fake.truth().pages[0])
        await page.send("Runtime.enable")
        with page.subscribe("Runtime.consoleAPICalled", capacity=20) as lines, trio.fail_after(LIMIT):
            fake.play(*(Console(f"{number}") for number in range(7)))
            texts = [(await lines.receive()).params["args"][0]["value"] for _ in range(7)]
        assert texts == [f"{number}" for number in range(7)]


@pytest.mark.parametrize("faults", [(Split(4),), (Merge(2),)], ids=repr)
async def test_a_client_over_a_pipe_receives_the_same_messages(
    faults: tuple[Fault, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[bytes] = []
    send_all = trio.lowlevel.FdStream.send_all

    async def record_and_send(stream: trio.lowlevel.FdStream, data: bytes) -> None:
        written.append(bytes(data))
        await send_all(stream, data)

    their_read, our_write = os.pipe()
    our_read, their_write = os.pipe()
    async with trio.open_nursery() as nursery, trio.lowlevel.FdStream(our_read) as messages:
        nursery.start_soon(lambda: serve_pipe(FakeBrowser(faults=faults), read_fd=their_read, write_fd=their_write))
        monkeypatch.setattr(trio.lowlevel.FdStream, "send_all", record_and_send)
        os.write(our_write, b"".join(b'{"id":%d,"method":"Foo.bar"}\0' % number for number in range(4)))
        received = b""
        with trio.fail_after(LIMIT):
            while received.count(b"\0") < 4:
                received += await messages.receive_some()
        os.close(our_write)
    assert [json.loads(text)["id"] for text in received.split(b"\0")[:-1]] == [0, 1, 2, 3]
    if isinstance(faults[0], Split):
        assert max(map(len, written)) == 4
    else:
        assert [octets.count(b"\0") for octets in written] == [2, 2]


async def test_merge_limits_the_messages_of_a_batch_over_memory() -> None:
    transport = FakeTransport(FakeBrowser(faults=(Merge(3), Split(1))))
    await transport.send([b'{"id":%d,"method":"Foo.bar"}' % number for number in range(8)])
    sizes = [len(await transport.receive()) for _ in range(3)]
    assert sizes == [3, 3, 2]
    async with open_browser_session(FakeTransport(FakeBrowser(faults=(Merge(2),)))) as browser:
        assert [target.type for target in await browser.targets.list()] == ["page"]
    await transport.aclose()
