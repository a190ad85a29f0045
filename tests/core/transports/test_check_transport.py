"""`check_transport`: our memory transport and a foreign one pass it; a broken transport fails."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
import trio

from cdp_core import ConnectionLost, Transport, memory_pair, open_browser_session
from cdp_core.nurseries import leaf_exceptions
from cdp_core.testing import check_transport


class Channel:
    """A transport on trio's own channels; it reports its end with trio's exceptions."""

    def __init__(self, send: trio.MemorySendChannel[bytes], receive: trio.MemoryReceiveChannel[bytes]) -> None:
        self._send, self._receive = send, receive

    async def receive(self) -> Sequence[bytes]:
        return [await self._receive.receive()]

    async def send(self, batch: Sequence[bytes], /) -> None:
        for text in batch:
            await self._send.send(text)

    async def aclose(self) -> None:
        await self._send.aclose()
        await self._receive.aclose()


def channels(kind: type[Channel] = Channel) -> tuple[Channel, Channel]:
    outgoing, incoming = trio.open_memory_channel[bytes](10_000), trio.open_memory_channel[bytes](10_000)
    return kind(outgoing[0], incoming[1]), Channel(incoming[0], outgoing[1])


async def test_the_memory_transport_keeps_every_promise() -> None:
    @asynccontextmanager
    async def pair() -> AsyncIterator[tuple[Transport, Transport]]:
        yield memory_pair()

    await check_transport(pair)


async def test_a_foreign_transport_keeps_every_promise_and_serves_a_session() -> None:
    @asynccontextmanager
    async def pair() -> AsyncIterator[tuple[Transport, Transport]]:
        ours, far = channels()
        try:
            yield ours, far
        finally:
            await ours.aclose()
            await far.aclose()

    await check_transport(pair)
    ours, far = channels()
    async with open_browser_session(ours) as browser:
        reply = browser.send_nowait("Browser.getVersion")
        assert await far.receive() == [b'{"id":1,"method":"Browser.getVersion"}']
        await far.send([b'{"id":1,"result":{"product":"x"}}'])
        assert await reply.wait() == {"product": "x"}
        await far.aclose()
        assert (await browser.wait_closed()).reason == "peer_closed"


class Reverses(Channel):
    async def send(self, batch: Sequence[bytes], /) -> None:
        await super().send(list(reversed(batch)))


class Splits(Channel):
    async def receive(self) -> Sequence[bytes]:
        [text] = await super().receive()
        return [text[: len(text) // 2], text[len(text) // 2 :]]


class Forgets(Channel):
    async def receive(self) -> Sequence[bytes]:
        texts = await super().receive()
        await trio.sleep(0.002)  # a cancel here loses the message
        return texts


class EndsSilently(Channel):
    async def receive(self) -> Sequence[bytes]:
        try:
            return await super().receive()
        except (trio.EndOfChannel, trio.ClosedResourceError):
            return [b""]


class ClosesOnce(Channel):
    closed = False

    async def aclose(self) -> None:
        if self.closed:
            raise RuntimeError("already closed")
        self.closed = True
        await super().aclose()


@pytest.mark.parametrize("broken", [Reverses, Splits, Forgets, EndsSilently, ClosesOnce])
async def test_a_broken_promise_is_caught(broken: type[Channel]) -> None:
    @asynccontextmanager
    async def pair() -> AsyncIterator[tuple[Transport, Transport]]:
        yield channels(broken)

    with pytest.raises(Exception) as caught:  # noqa: PT011 - bare, or in a group of the check's nursery
        await check_transport(pair, step_timeout=0.5)
    assert all(isinstance(leaf, (AssertionError, RuntimeError)) for leaf in leaf_exceptions(caught.value))


async def test_the_link_reports_its_end_as_connection_lost() -> None:
    ours, far = memory_pair()
    async with open_browser_session(ours) as browser:
        await far.aclose()
        assert isinstance(await browser.wait_closed(), ConnectionLost)
