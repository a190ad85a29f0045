"""The fastest asyncio stack, picows (Cython) and msgspec, which no published CDP client uses.

Environment: UV=1 for uvloop.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import Any

import msgspec
from job import Job
from picows import WSFrame, WSListener, WSMsgType, WSTransport, ws_connect

LOOP = "asyncio"
UVLOOP = bool(os.environ.get("UV"))
COPY_FROM = 65536  # bytes; a large payload is copied and then decoded, a small one decoded in place


class Envelope(msgspec.Struct, gc=False):
    id: int = -1
    method: str = ""
    sessionId: str = ""  # noqa: N815  # the name on the wire
    params: msgspec.Raw = msgspec.Raw(b"")
    result: msgspec.Raw = msgspec.Raw(b"")


encode = msgspec.json.Encoder().encode
decode_envelope, decode = msgspec.json.Decoder(Envelope).decode, msgspec.json.Decoder().decode


class Listener(WSListener):
    def __init__(self, client: Client) -> None:
        self._pending, self._handlers = client.pending, client.handlers

    def on_ws_frame(self, _transport: WSTransport, frame: WSFrame) -> None:
        if frame.msg_type != WSMsgType.TEXT:
            return
        small = frame.payload_size < COPY_FROM
        message = decode_envelope(frame.get_payload_as_memoryview() if small else frame.get_payload_as_bytes())
        if message.method:
            handler = self._handlers.get(message.method)
            if handler:
                handler(message)
        else:
            future = self._pending.pop(message.id, None)
            if future is not None:
                future.set_result(decode(message.result))


class Client:
    async def open(self, job: Job) -> None:
        self._next_id = 1
        self.pending: dict[int, asyncio.Future[Any]] = {}
        self.handlers: dict[str, Callable[[Envelope], None]] = {}
        self._transport, _ = await ws_connect(lambda: Listener(self), job.ws, max_frame_size=2**30)
        self._sessions = [
            (await self._call("Target.attachToTarget", {"targetId": job.target(i), "flatten": True}))["sessionId"]
            for i in range(job.sessions)
        ]
        await self._call("Runtime.enable", {}, self._sessions[0])

    async def _call(self, method: str, params: dict[str, Any], session: str | None = None) -> Any:
        number = self._next_id
        self._next_id += 1
        message = {"id": number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        future = self.pending[number] = asyncio.get_running_loop().create_future()
        self._transport.send(WSMsgType.TEXT, encode(message))
        return await future

    async def evaluate(self, expression: str) -> Any:
        params = {"expression": expression, "returnByValue": True}
        return (await self._call("Runtime.evaluate", params, self._sessions[0]))["result"]["value"]

    def on_event(self, method: str, callback: Callable[[], None]) -> None:
        self.handlers[method] = lambda _message: callback()

    def on_event_params(self, method: str, callback: Callable[[str, int], None]) -> None:
        def handler(message: Envelope) -> None:
            params = decode(message.params)
            callback(params["requestId"], params["dataLength"])

        self.handlers[method] = handler
