"""A web server as a program of its own.

`python page_server.py` prints its port and serves until its input ends.

With the path of a file that contains a key and its certificate as its argument it serves over TLS.

`GET /?html=<text>` responds with that text, under any host name, so that a test contains its own page; `&cache=` adds a
Cache-Control header.

It is not a thread of the tests: Chromium keeps sockets open for later use, and each would be a leak of a test.
"""

from __future__ import annotations

import ssl
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit


class Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        query = parse_qs(urlsplit(self.path).query)
        body = query.get("html", [""])[0].encode("utf-8", "surrogatepass")
        self.send_response(200)
        for control in query.get("cache", ()):
            self.send_header("Cache-Control", control)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args: object) -> None:
        """Write no log."""


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    server.daemon_threads = True
    server.handle_error = lambda *_where: None  # a browser may disconnect during a response
    if sys.argv[1:]:
        secure = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        secure.load_cert_chain(sys.argv[1])
        server.socket = secure.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main()
