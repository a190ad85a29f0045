"""cdp-use: asyncio, websockets and json, with typed dicts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cdp_use.client import CDPClient
from job import Job

LOOP = "asyncio"


class Client:
    async def open(self, job: Job) -> None:
        self._client = CDPClient(job.ws, max_ws_frame_size=200 * 2**20)
        await self._client.start()
        self._sessions = [
            (await self._client.send.Target.attachToTarget({"targetId": job.target(i), "flatten": True}))["sessionId"]
            for i in range(job.sessions)
        ]
        await self._client.send.Runtime.enable(session_id=self._sessions[0])

    async def evaluate(self, expression: str) -> Any:
        params = {"expression": expression, "returnByValue": True}
        reply = await self._client.send.Runtime.evaluate(params, session_id=self._sessions[0])
        return reply["result"]["value"]

    def _register(self, method: str, handler: Callable[[dict[str, Any], str | None], None]) -> None:
        domain, name = method.split(".")
        getattr(getattr(self._client.register, domain), name)(handler)

    def on_event(self, method: str, callback: Callable[[], None]) -> None:
        self._register(method, lambda _params, _session: callback())

    def on_event_params(self, method: str, callback: Callable[[str, int], None]) -> None:
        self._register(method, lambda params, _session: callback(params["requestId"], params["dataLength"]))

    def on_dialog(self, callback: Callable[[str, object, bool], None]) -> None:
        def handler(params: dict[str, Any], _session: str | None) -> None:
            callback(params["message"], params["type"], params["hasBrowserHandler"])

        self._register("Page.javascriptDialogOpening", handler)

    def on_message(self, callback: Callable[[str], None]) -> None:
        self._register("Page.javascriptDialogOpening", lambda params, _session: callback(params["message"]))

    def on_console(self, callback: Callable[[object, object, str], None]) -> None:
        def handler(params: dict[str, Any], _session: str | None) -> None:
            callback(params["type"], params["args"][0]["value"], params["stackTrace"]["callFrames"][0]["url"])

        self._register("Runtime.consoleAPICalled", handler)
