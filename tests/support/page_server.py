"""A web server as a program of its own.

`python page_server.py` prints its port and serves until its input ends.

With the path of a file that contains a key and its certificate as its argument it serves over TLS.

`GET /?html=<text>` responds with that text, under any host name, so that a test contains its own page; `&cache=` adds a
Cache-Control header, `&status=` is the status, `&after=` the seconds until the answer, `&as=attachment` makes it a
download. `POST` responds in the same way, and `GET /posts` with the number of POST requests so far.

It is not a thread of the tests: Chromium keeps sockets open for later use, and each would be a leak of a test.
"""

from __future__ import annotations

import ssl
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit


class Page(BaseHTTPRequestHandler):
    posts = 0

    def do_POST(self) -> None:
        Page.posts += 1
        self.rfile.read(int(self.headers.get("Content-Length", "0")))
        self.do_GET()

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        query = parse_qs(address.query)
        body = query.get("html", [""])[0].encode("utf-8", "surrogatepass")
        if address.path == "/posts":
            body = b"%d" % Page.posts
        time.sleep(float(query.get("after", ["0"])[0]))
        self.send_response(int(query.get("status", ["200"])[0]))
        for kind in query.get("as", ()):
            self.send_header("Content-Disposition", kind)
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
