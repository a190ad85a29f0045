"""What follows from a URL alone: its title, origin and site, and whether it can be loaded at all."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote, urljoin

UNSAFE_PORTS: Final = frozenset(map(str, (1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 53, 110, 143, 6667)))
"""Some of the ports that Chromium never connects to."""
SHOWN: Final = frozenset(("http", "https", "data", "about", "file", "blob", "chrome", "chrome-error", "view-source"))
"""The schemes that a page can show; a URL of another scheme goes to another program, or nowhere."""
WITH_HOST: Final = {"http": "80", "https": "443", "ws": "80", "wss": "443", "ftp": "21", "chrome": ""}
"""The schemes with a host at the start of their URLs, and the default port of each."""
HIGHEST_PORT: Final = 65_535
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)", re.DOTALL)
_AUTHORITY: Final = re.compile(
    r"[/\\]*(?P<user>[^/\\?#]*@)?(?P<host>\[[^\]]*\]|[^/\\?#:]*)(?::(?P<port>[^/\\?#]*))?(?P<rest>.*)", re.DOTALL
)


def spelled(url: str) -> str | None:
    """Return a URL in the form in which a browser writes it; None if it is not a URL."""
    found = _SCHEME.fullmatch(re.sub(r"[\t\r\n]", "", url.strip("".join(map(chr, range(33))))))
    if found is None:
        return None
    scheme, rest = found[1].lower(), found[2]
    if scheme in WITH_HOST:
        parts = _AUTHORITY.fullmatch(rest)
        assert parts is not None
        port, host = parts["port"] or "", parts["host"].lower()
        if not host or " " in host or not (port == "" or (port.isdecimal() and int(port) <= HIGHEST_PORT)):
            return None
        authority = f"{host}:{int(port)}" if port and port != WITH_HOST[scheme] else host
        path = parts["rest"] if parts["rest"].startswith("/") else f"/{parts['rest']}"
        rest = f"//{parts['user'] or ''}{authority}{path.replace(' ', '%20')}"
    return f"{scheme}:" + "".join(each if each.isascii() else quote(each, errors="replace") for each in rest)


def resolve_url(base: str, url: str) -> str:
    """Return a script's URL as an absolute URL, against the URL of its document."""
    return base.partition("#")[0] + url if url.startswith("#") else urljoin(base, url)


def is_within(base: str, url: str) -> bool:
    return "#" in url and is_same(base, url)


def is_same(base: str, url: str) -> bool:
    """Return whether two URLs name the same document: they differ in the fragment at most."""
    return url.partition("#")[0] == base.partition("#")[0]


def title_of(url: str) -> str:
    """Return the title of a document that sets none: its URL, without http:// or https://."""
    scheme, _, rest = url.partition("://")
    return rest if scheme in ("http", "https") else url


def origin_of(url: str) -> str:
    """Return scheme, host and port of a URL; `://` if it has none."""
    scheme, found, rest = url.partition("://")
    if not found or scheme not in ("http", "https"):
        return "://"
    return f"{scheme}://{rest.partition('/')[0].partition('?')[0]}"


def is_trustworthy(url: str) -> bool:
    """Return whether nothing could alter content from a URL in transit: https, or the local machine."""
    host = origin_of(url).partition("://")[2].partition(":")[0]
    return url.startswith("https://") or host in ("localhost", "127.0.0.1") or host.endswith(".localhost")


def failure_of(url: str) -> str | None:
    """Return why a document cannot be loaded, if the reason does not depend on a network."""
    if url.partition(":")[0] not in SHOWN:
        return "net::ERR_ABORTED"
    if url.partition("#")[0] == "about:srcdoc":
        return "net::ERR_INVALID_URL"
    host = origin_of(url).partition("://")[2]
    if host.rpartition(":")[2] in UNSAFE_PORTS:
        return "net::ERR_UNSAFE_PORT"
    return "net::ERR_NAME_NOT_RESOLVED" if host.partition(":")[0].endswith(".invalid") else None


def site_of(url: str) -> str:
    """Return the site of a URL, which decides a frame's process (--site-per-process): scheme and host."""
    scheme, found, rest = url.partition("://")
    if not found:
        return url.partition(":")[0] + ":" if not url.startswith("about:") else ""
    host = rest.partition("/")[0].partition("?")[0].rpartition("@")[2].partition(":")[0]
    labels = host.split(".")
    return f"{scheme}://{host if labels[-1].isdigit() else '.'.join(labels[-2:])}"
