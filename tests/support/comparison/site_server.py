"""A web server for the pages of the scenarios, as a program of its own.

`python site_server.py` prints its port and serves until its input ends. Each line of its input is JSON,
`[{path: HTML}, number]`; it replaces the previous one, and the server acknowledges it with a line. A path that the line
does not contain has an empty document, or an empty text.

With the number 0 the server responds at once. With any other number each request is delayed by 0, 1 or 2 times `TURN`;
consecutive numbers rotate these delays.
"""

from __future__ import annotations

import itertools
import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TURNS = 3
TURN = 0.1
"""Seconds per step of delay."""


class Run:
    """The pages of one run and their delays."""

    def __init__(self, pages: dict[str, str], late: int) -> None:
        self.pages = pages
        self._late = late
        self._requests = itertools.count()

    def wait(self) -> None:
        """Delay the next request."""
        if self._late:
            time.sleep(TURN * ((next(self._requests) + self._late) % TURNS))


class Page(BaseHTTPRequestHandler):
    run = Run({}, 0)

    def do_GET(self) -> None:
        run = self.run
        empty = "" if self.path.endswith((".txt", ".js")) else "<!doctype html>"
        body = run.pages.get(self.path, empty).encode()
        run.wait()
        self.send_response_only(200)
        kind = "text/javascript" if self.path.endswith(".js") else "text/html"
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Cache-Control", "no-cache")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args: object) -> None:
        """Write no log."""


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)  # noqa: T201
    for line in sys.stdin:
        Page.run = Run(*json.loads(line))
        print("known", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
