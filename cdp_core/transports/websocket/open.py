"""`open_websocket`: connect to an address, upgrade the stream, and hold the link."""

from __future__ import annotations

import ssl
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager

from cdp_core.discovery import open_stream
from cdp_core.errors import InvalidArgument
from cdp_core.nurseries import background_tasks
from cdp_core.sansio.addresses import EndpointAddress, check_headers, parse_address
from cdp_core.sansio.arguments import check_limit, check_timeout
from cdp_core.transports.tuning import MAX_MESSAGE_BYTES
from cdp_core.transports.websocket.connection import WebSocketOptions, WebSocketTransport
from cdp_core.transports.websocket.fast import FastWebSocketTransport


@asynccontextmanager
async def open_websocket(
    where: str | EndpointAddress,
    /,
    *,
    headers: Mapping[str, str] | None = None,
    ssl_context: ssl.SSLContext | None = None,
    connect_timeout: float = 10.0,
    handshake_timeout: float = 10.0,
    close_timeout: float = 2.0,
    max_message_bytes: int = MAX_MESSAGE_BYTES,
    kind: type[WebSocketTransport] = FastWebSocketTransport,
    direct: bool = True,
) -> AsyncGenerator[WebSocketTransport, None]:
    """Dial a ws:// or wss:// address and hold the link open for the body.

    `kind` is the class of the transport. `direct=False` never writes to the socket below the stream.
    Compression is never offered (docs/cdp/compression-costs-more-than-it-saves.md).

    Raises DiscoveryError if no WebSocket could be opened; its stage is how far the attempt came.
    """
    address = parse_address(where) if isinstance(where, str) else where
    if not address.is_websocket:
        raise InvalidArgument(f"{address} is not a ws:// or wss:// address.")
    check_timeout("connect_timeout", connect_timeout)
    check_timeout("handshake_timeout", handshake_timeout)
    check_timeout("close_timeout", close_timeout)
    check_limit(max_message_bytes)
    lines = check_headers({} if headers is None else headers)
    options = WebSocketOptions(max_message_bytes=max_message_bytes, close_timeout=close_timeout, direct=direct)
    async with background_tasks() as nursery:
        stream = await open_stream(address, ssl_context=ssl_context, connect_timeout=connect_timeout)
        transport = kind(stream, address, options)
        try:
            await transport.shake_hands(nursery, lines, handshake_timeout)
            yield transport
        finally:
            await transport.aclose()
