"""What an address says by itself: its title, origin and site, and whether anything can come from there."""

from __future__ import annotations

from typing import Final

__all__ = ["failure_of", "is_trustworthy", "origin_of", "site_of", "title_of"]

UNSAFE_PORTS: Final = frozenset(map(str, (1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 53, 110, 143, 6667)))
"""Some of those that Chromium never connects to."""


def title_of(url: str) -> str:
    """The title of a document that has none: its URL, as it is shown to people."""
    scheme, _, rest = url.partition("://")
    return rest if scheme in ("http", "https") else url


def origin_of(url: str) -> str:
    """Scheme, host and port of a URL; `://` where it has none."""
    scheme, found, rest = url.partition("://")
    if not found or scheme not in ("http", "https"):
        return "://"
    return f"{scheme}://{rest.partition('/')[0].partition('?')[0]}"


def is_trustworthy(url: str) -> bool:
    """Whether what comes from there could not have been changed on the way."""
    host = origin_of(url).partition("://")[2].partition(":")[0]
    return url.startswith("https://") or host in ("localhost", "127.0.0.1") or host.endswith(".localhost")


def failure_of(url: str) -> str | None:
    """Why a document cannot be had, where that does not depend on any network."""
    host = origin_of(url).partition("://")[2]
    if host.rpartition(":")[2] in UNSAFE_PORTS:
        return "net::ERR_UNSAFE_PORT"
    return "net::ERR_NAME_NOT_RESOLVED" if host.partition(":")[0].endswith(".invalid") else None


def site_of(url: str) -> str:
    """What decides about the process of a frame: under --site-per-process, scheme and host."""
    scheme, found, rest = url.partition("://")
    if not found:
        return url.partition(":")[0] + ":" if not url.startswith("about:") else ""
    host = rest.partition("/")[0].partition("?")[0].rpartition("@")[2].partition(":")[0]
    labels = host.split(".")
    return f"{scheme}://{host if labels[-1].isdigit() else '.'.join(labels[-2:])}"
