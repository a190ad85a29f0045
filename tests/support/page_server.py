"""A web server in a program of its own: `python page_server.py` prints its port and serves until its input ends.

With a file that has a key and its certificate it serves over TLS.

`GET /?html=<text>` answers with that very text, under whatever host name was asked, so that a test holds its page itself;
`&cache=` adds a Cache-Control.
It is no thread of the tests because Chromium keeps sockets open that it may need later, and each of them would be
something that a test left behind.
"""

from __future__ import annotations

import ssl
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit


class Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        asked = parse_qs(urlsplit(self.path).query)
        body = asked.get("html", [""])[0].encode("utf-8", "surrogatepass")
        self.send_response(200)
        for control in asked.get("cache", ()):
            self.send_header("Cache-Control", control)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args: object) -> None:
        """Say nothing."""


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    server.daemon_threads = True
    server.handle_error = lambda *_where: None  # a browser that leaves in the middle of an answer
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
