"""What a document may request; a request that is stopped here reaches no interceptor (facts 10, 27).

    an http: URL in a secure page                 stopped, unless it is the local machine
    connect-src, default-src                      a URL that they do not list is stopped, unless a client bypasses the CSP
    upgrade-insecure-requests                     http becomes https
    sync-xhr=() of the Permissions-Policy         stops each request that a script waits for
    a URL longer than 2 MiB                       is not a URL

A frame without a URL of its own has the policy of its parent.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from cdp_core.testing.fake.model.addresses import is_trustworthy, origin_of
from cdp_core.testing.fake.model.parts import Frame

LONGEST_ADDRESS: Final = 2 * 2**20


def allowed_url(frame: Frame, url: str, *, sync: bool) -> str | None:
    """Return the URL that a document's request really goes to; None if it is stopped."""
    if len(url) > LONGEST_ADDRESS:
        return None
    directives = _directives(frame)
    if "upgrade-insecure-requests" in directives and url.startswith("http://") and not is_trustworthy(url):
        url = f"https{url.removeprefix('http')}"
    if url.startswith("http://") and not is_trustworthy(url) and any(_are_secure(frame)):
        return None
    sources = directives.get("connect-src", directives.get("default-src"))
    if sources is not None and not any(_fits(source, frame, url) for source in sources):
        return None
    return None if sync and _forbids_sync_xhr(frame) else url


def _are_secure(frame: Frame | None) -> Iterator[bool]:
    while frame is not None:
        yield frame.url.startswith("https://")
        frame = frame.parent


def _directives(frame: Frame) -> dict[str, list[str]]:
    owner = _owner(frame)
    if owner.settings.served is None or owner.settings.csp_bypassed:
        return {}
    parts = [each.split() for each in owner.settings.served.content.split(";")]
    return {words[0].lower(): words[1:] for words in reversed(parts) if words}


def _forbids_sync_xhr(frame: Frame) -> bool:
    while True:
        if frame.settings.served is not None and "sync-xhr=()" in frame.settings.served.permissions.replace(" ", ""):
            return True
        if frame.parent is None:
            return False
        frame = frame.parent


def _owner(frame: Frame) -> Frame:
    while frame.parent is not None and frame.url.startswith(("about:", "blob:")):
        frame = frame.parent
    return frame


def _fits(source: str, frame: Frame, url: str) -> bool:
    if source == "*":
        return url.startswith("http")
    if source == "'self'":
        return origin_of(url) == origin_of(_owner(frame).url) != "://"
    if source.endswith(":"):
        return url.startswith(source)
    scheme, found, host = source.rpartition("://")
    own_scheme, _, own_host = origin_of(url).partition("://")
    return host.partition("/")[0] == own_host and (not found or scheme == own_scheme)
