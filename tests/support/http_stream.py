"""The server's side of HTTP, as far as the pages of the live tests need it."""

from __future__ import annotations

import trio


async def read_request(stream: trio.SocketStream) -> bytes:
    """Read a request up to its blank line; empty if the client hung up before."""
    request = b""
    while b"\r\n\r\n" not in request:
        more = await stream.receive_some()
        if not more:
            return b""
        request += more
    return request
