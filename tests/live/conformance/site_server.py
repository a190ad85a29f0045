"""The pages of the scenarios, in a program of its own: `python site_server.py` prints its port and serves until its input ends.

Each line of its input is JSON, path → HTML, which replaces the one before, and is answered with a line; `{a}` and `{b}` in the HTML become its two
addresses, which are two sites. A path that it was not told of has an empty document, or an
empty text.
"""

from __future__ import annotations

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PAGES: dict[str, str] = {}


class Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        empty = "" if self.path.endswith((".txt", ".js")) else "<!doctype html>"
        body = PAGES.get(self.path, empty).encode()
        self.send_response_only(200)
        kind = "text/javascript" if self.path.endswith(".js") else "text/html"
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Cache-Control", "no-cache")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args: object) -> None:
        """Say nothing."""


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)  # noqa: T201
    for line in sys.stdin:
        PAGES.clear()
        PAGES.update(json.loads(line))
        print("known", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
