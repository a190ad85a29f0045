"""This project's client over a pipe to a fake endpoint that it starts itself.

The cost of that process is not counted.
"""

from __future__ import annotations

import socket
import sys
import urllib.request
from pathlib import Path

import trio
from job import Job

from adapters import ours
from cdp_core import BrowserSession, open_pipe_session

LOOP = ours.LOOP
ENDPOINT = Path(__file__).resolve().parents[1] / "fake_endpoint.py"


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


class Client(ours.Client):
    async def _connect(self, job: Job) -> BrowserSession:
        port = _free_port()
        job.http = f"http://127.0.0.1:{port}"
        argv = [sys.executable, str(ENDPOINT), "--pipe", "--port", str(port)]
        browser = await self._open.enter_async_context(open_pipe_session(argv))
        await browser.send("Browser.getVersion")
        prepare = f"{job.http}/prepare?n={job.n}&k={job.k}&shape={job.shape}&pipe=1"
        if job.workload in ("events", "params"):
            await trio.to_thread.run_sync(urllib.request.urlopen, prepare)
        return browser
