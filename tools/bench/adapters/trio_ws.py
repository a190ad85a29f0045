"""A first client under trio: trio-websocket, a JSON codec, and a dict of pending calls.

Environment: JSON=json or msgspec, RECV=bytes of receive_buffer_size (unset: trio-websocket's 4 KiB).
"""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Callable
from typing import Any

import trio
import trio_websocket
from job import Job

LOOP = "trio"
CONNECT = {"receive_buffer_size": int(os.environ["RECV"])} if "RECV" in os.environ else {}

loads, dumps = json.loads, json.dumps
if os.environ.get("JSON") == "msgspec":
    msgspec = importlib.import_module("msgspec")
    encode = msgspec.json.Encoder().encode

    def dumps(message: Any) -> str:
        return encode(message).decode()

    loads = msgspec.json.Decoder().decode


class Client:
    async def open(self, job: Job) -> None:
        self._ws = await trio_websocket.connect_websocket_url(job.nursery, job.ws, max_message_size=2**30, **CONNECT)
        self._next_id = 1
        self._pending: dict[int, list[Any]] = {}
        self._handlers: dict[str, Callable[[dict[str, Any], str | None], None]] = {}
        job.start_soon(self._read)
        self._sessions = [
            (await self._call("Target.attachToTarget", {"targetId": job.target(i), "flatten": True}))["sessionId"]
            for i in range(job.sessions)
        ]
        await self._call("Runtime.enable", {}, self._sessions[0])

    async def _read(self) -> None:
        while True:
            message = loads(await self._ws.get_message())
            if "id" in message:
                slot = self._pending.pop(message["id"])
                slot[1] = message["result"]
                slot[0].set()
            else:
                handler = self._handlers.get(message["method"])
                if handler:
                    handler(message["params"], message.get("sessionId"))

    async def _call(self, method: str, params: dict[str, Any], session: str | None = None) -> Any:
        number = self._next_id
        self._next_id += 1
        message = {"id": number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        slot = self._pending[number] = [trio.Event(), None]
        await self._ws.send_message(dumps(message))
        await slot[0].wait()
        return slot[1]

    async def evaluate(self, expression: str) -> Any:
        params = {"expression": expression, "returnByValue": True}
        return (await self._call("Runtime.evaluate", params, self._sessions[0]))["result"]["value"]

    def on_event(self, method: str, callback: Callable[[], None]) -> None:
        self._handlers[method] = lambda _params, _session: callback()

    def on_event_params(self, method: str, callback: Callable[[str, int], None]) -> None:
        self._handlers[method] = lambda params, _session: callback(params["requestId"], params["dataLength"])
