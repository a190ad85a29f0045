"""One HTTP GET over an open stream, read by h11; the caller opens and closes the stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import h11
import trio

from cdp_core.sansio.structs import Struct

CHUNK: Final = 1 << 16
"""Bytes of one read."""


class Answer(Struct, frozen=True, kw_only=True):
    """The status, redirect location and body of an HTTP response."""

    status: int
    location: str | None
    body: bytes


class Fault(Struct, frozen=True, kw_only=True):
    """Why no response could be read, and what came instead: `end`, `other` or `http`.

    It contains nothing that the peer sent.
    """

    problem: str
    answered: str


async def exchange(
    stream: trio.abc.Stream, target: str, lines: Sequence[tuple[bytes, bytes]], max_bytes: int
) -> Answer | Fault:
    """Send a GET with these header lines, and read the response."""
    http = h11.Connection(our_role=h11.CLIENT)
    request = h11.Request(method="GET", target=target, headers=[*lines])
    try:
        await stream.send_all((http.send(request) or b"") + (http.send(h11.EndOfMessage()) or b""))
        return await _read_answer(stream, http, max_bytes)
    except trio.BrokenResourceError:
        pass
    except h11.RemoteProtocolError:
        _, ended = http.trailing_data
        if not ended:
            return Fault(problem="does not speak HTTP", answered="other")
    return Fault(problem="ended the connection before its answer was complete", answered="end")


async def _read_answer(stream: trio.abc.Stream, http: h11.Connection, max_bytes: int) -> Answer | Fault:
    status, location, opening, body = 0, None, b"", bytearray()
    while True:
        event = http.next_event()
        if event is h11.NEED_DATA:
            chunk = bytes(await stream.receive_some(CHUNK))
            opening = (opening + chunk[:5])[:5]
            if not b"HTTP/".startswith(opening):  # for example an SSH banner: h11 would wait for the end of its head
                return Fault(problem="does not speak HTTP", answered="other")
            http.receive_data(chunk)
        elif isinstance(event, h11.Response):
            status = event.status_code
            location = next((value.decode("latin-1") for name, value in event.headers if name == b"location"), None)
        elif isinstance(event, h11.Data):
            body += event.data
            if len(body) > max_bytes:
                return Fault(problem=f"answered with more than {max_bytes} bytes", answered="http")
        elif isinstance(event, h11.EndOfMessage):
            return Answer(status=status, location=location, body=bytes(body))
