"""The conformance test for a transport: the promises that a session relies on, one after the other.

    async def test_mine() -> None:
        await check_transport(open_my_pair)

`open_my_pair()` is an async context manager that yields a fresh pair: the transport under test, and its far end, which is
any object with the same three methods (for a client transport, the object that plays the browser). Each promise gets a
pair of its own. A broken promise is an AssertionError that names it. Every step has a deadline, so nothing hangs.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Final

import trio

from cdp_core.errors import ConnectionLost
from cdp_core.transports import Transport

TransportPair = Callable[[], AbstractAsyncContextManager[tuple[Transport, Transport]]]
"""Opens two transports that are connected to each other, and closes both with the block."""

ENDED: Final = (ConnectionLost, trio.ClosedResourceError, trio.BrokenResourceError, trio.EndOfChannel)
SIZES: Final = (0, 1, 100, 125, 126, 65_535, 65_536, 300_000, 1_000_000)


async def check_transport(open_pair: TransportPair, *, step_timeout: float = 10.0) -> None:
    """Check every promise of `Transport`, each within `step_timeout` seconds.

    Raises AssertionError that names the first broken promise.
    """
    for promise in (
        _carries_whole_texts_in_order,
        _carries_both_ways_at_once,
        _a_cancelled_receive_loses_nothing,
        _delivers_what_was_sent_before_the_end,
        _reports_the_end_on_every_call,
        _closing_wakes_the_receiver,
        _closing_is_idempotent,
    ):
        name = promise.__name__.strip("_").replace("_", " ")
        with trio.move_on_after(step_timeout) as scope:
            async with open_pair() as (transport, far):
                await promise(transport, far, name)
        assert not scope.cancelled_caught, f"{name}: not finished within {step_timeout:g} s"


async def _carries_whole_texts_in_order(transport: Transport, far: Transport, name: str) -> None:
    texts = [_text(number, size) for number, size in enumerate(SIZES)]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(transport.send, texts)
        assert await _gather(far, len(texts)) == texts, f"{name}: the far end did not receive the texts that were sent"
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_send_one_by_one, far, texts)
        assert await _gather(transport, len(texts)) == texts, f"{name}: it did not receive the texts that were sent"


async def _carries_both_ways_at_once(transport: Transport, far: Transport, name: str) -> None:
    texts = [_text(number, 20_000) for number in range(100)]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(transport.send, texts)
        nursery.start_soon(far.send, texts)
        nursery.start_soon(_expect, far, texts, name)
        nursery.start_soon(_expect, transport, texts, name)


async def _a_cancelled_receive_loses_nothing(transport: Transport, far: Transport, name: str) -> None:
    texts = [_text(number, 1_000) for number in range(20)]
    seen: list[bytes] = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_send_one_by_one, far, texts)
        while len(seen) < len(texts):
            with trio.move_on_after(0.001):
                seen += [bytes(text) for text in await transport.receive()]
    assert seen == texts, f"{name}: a text was lost or arrived twice"


async def _delivers_what_was_sent_before_the_end(transport: Transport, far: Transport, name: str) -> None:
    texts = [_text(number, 5_000) for number in range(10)]
    await far.send(texts)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(far.aclose)
        assert await _gather(transport, len(texts)) == texts, f"{name}: the end overtook a text"
        await _expect_end(transport.receive, name)


async def _reports_the_end_on_every_call(transport: Transport, far: Transport, name: str) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(far.aclose)
        for _time in range(3):
            await _expect_end(transport.receive, name)


async def _closing_wakes_the_receiver(transport: Transport, _far: Transport, name: str) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_expect_end, transport.receive, name)
        await trio.sleep(0.01)  # by then the receiver waits
        await transport.aclose()
    await _expect_end(lambda: transport.send([_text(0, 10)]), name)


async def _closing_is_idempotent(transport: Transport, _far: Transport, _name: str) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(transport.aclose)
        nursery.start_soon(transport.aclose)
    await transport.aclose()


def _text(number: int, size: int) -> bytes:
    return json.dumps({"id": number, "pad": "é" * (size // 12)}).encode()


async def _send_one_by_one(transport: Transport, texts: list[bytes]) -> None:
    for text in texts:
        await transport.send([text])


async def _gather(transport: Transport, count: int) -> list[bytes]:
    seen: list[bytes] = []
    while len(seen) < count:
        batch = await transport.receive()
        assert batch, "receive returned an empty batch; it must wait for at least one message"
        seen += [bytes(text) for text in batch]
    return seen


async def _expect(transport: Transport, texts: list[bytes], name: str) -> None:
    assert await _gather(transport, len(texts)) == texts, f"{name}: the texts that arrived are not those that were sent"


async def _expect_end(call: Callable[[], Awaitable[object]], name: str) -> None:
    try:
        await call()
    except ENDED:
        return
    raise AssertionError(f"{name}: the link has ended, and the call did not raise ConnectionLost")
