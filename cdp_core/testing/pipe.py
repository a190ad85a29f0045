"""A fake browser at the far end of a pipe, as a browser started with `--remote-debugging-pipe`.

Messages that end with a NUL byte come in on one descriptor and go out on another. Reads may split and merge them; a newline
does not separate messages; an empty message is refused as invalid JSON, and the link stays open (fact 60). When the client
closes its end, or closes the browser, the browser exits; a last message without its NUL byte is ignored.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

import trio

from cdp_core.nurseries import background_tasks
from cdp_core.testing.fake.browser import FakeBrowser
from cdp_core.testing.served_client import Order, RealClock, ServedClient

COMMANDS_FD: Final = 3
MESSAGES_FD: Final = 4
_CHUNK: Final = 1 << 16


async def serve_pipe(
    fake: FakeBrowser, *, read_fd: int = COMMANDS_FD, write_fd: int = MESSAGES_FD, order: Order = "arising"
) -> None:
    """Serve the client at the other end until it closes its end or closes the browser.

    Both descriptors are closed then. Raises OSError if they are not open descriptors.
    """
    async with trio.lowlevel.FdStream(read_fd) as commands, trio.lowlevel.FdStream(write_fd) as messages:

        async def write(texts: list[bytes]) -> None:
            for piece in client.stream.pieces([text + b"\0" for text in texts]):
                await messages.send_all(piece)

        clock = RealClock(fake)
        client = ServedClient(fake, clock, write, order=order)
        try:
            async with background_tasks() as nursery:
                nursery.start_soon(clock.run)
                with trio.CancelScope() as serving:
                    nursery.start_soon(_read_messages, commands, client, serving)
                    await client.send_messages()
        finally:
            client.lost()


async def _read_messages(stream: trio.abc.ReceiveStream, client: ServedClient, serving: trio.CancelScope) -> None:
    partial_text: list[bytes] = []
    with suppress(trio.BrokenResourceError):
        while chunk := bytes(await stream.receive_some(_CHUNK)):
            first, *others = chunk.split(b"\0")
            partial_text.append(first)
            for part in others:
                client.receive(b"".join(partial_text))
                partial_text = [part]
    serving.cancel()
