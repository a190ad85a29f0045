"""A client as a project writes it for its own use: asyncio `websockets`, json, and a dict of futures.

Variants by environment: JSON=orjson, COMPRESSION=none, UV=1 for uvloop.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
from collections.abc import Callable
from typing import Any

import websockets
from job import Job

LOOP = "asyncio"
UVLOOP = bool(os.environ.get("UV"))
CONNECT: dict[str, Any] = {"compression": None} if os.environ.get("COMPRESSION") == "none" else {}

loads, dumps = json.loads, json.dumps
if os.environ.get("JSON") == "orjson":
    orjson = importlib.import_module("orjson")

    def dumps(message: Any) -> str:
        return orjson.dumps(message).decode()

    loads = orjson.loads


class Client:
    async def open(self, job: Job) -> None:
        self._ws = await websockets.connect(job.ws, max_size=None, **CONNECT)
        self._next_id = 1
        self._pending: dict[int, asyncio.Future[Any]] = {}
        self._handlers: dict[str, Callable[[dict[str, Any], str | None], None]] = {}
        self._reader = asyncio.create_task(self._read())
        self._sessions = [
            (await self._call("Target.attachToTarget", {"targetId": job.target(i), "flatten": True}))["sessionId"]
            for i in range(job.sessions)
        ]
        await self._call("Runtime.enable", {}, self._sessions[0])

    async def _read(self) -> None:
        async for raw in self._ws:
            message = loads(raw)
            if "id" in message:
                future = self._pending.pop(message["id"], None)
                if future and not future.done():
                    future.set_result(message["result"])
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
        future = self._pending[number] = asyncio.get_running_loop().create_future()
        await self._ws.send(dumps(message))
        return await future

    async def evaluate(self, expression: str) -> Any:
        params = {"expression": expression, "returnByValue": True}
        return (await self._call("Runtime.evaluate", params, self._sessions[0]))["result"]["value"]

    def on_event(self, method: str, callback: Callable[[], None]) -> None:
        self._handlers[method] = lambda _params, _session: callback()

    def on_event_params(self, method: str, callback: Callable[[str, int], None]) -> None:
        self._handlers[method] = lambda params, _session: callback(params["requestId"], params["dataLength"])
