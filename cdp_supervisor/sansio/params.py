"""Reading what a browser said: fields that are missing, or of another type, are empty; long texts are cut.

A newer browser, or a page that lies, so breaks nothing: what could not be read is as if it had not been said.
"""

from __future__ import annotations

import re
from typing import Final

from cdp_core.sansio.messages import Json, is_object

__all__ = ["ID", "flag", "member", "members", "site_of", "text"]

ID: Final = 1024
"""Characters of an id or a name."""
_HOST = re.compile(r"([a-z][a-z0-9+.-]*)://(?:[^/?#@]*@)?(\[[^\]]*\]|[^/?#:]*)", re.IGNORECASE)
_NUMERIC = re.compile(r"[0-9.]+")


def text(params: Json, name: str, most: int = ID) -> str:
    """A text, or an empty one. Ids and names have a bound as well: memory is bounded whatever a peer sends."""
    value = params.get(name)
    return value[:most] if isinstance(value, str) else ""


def flag(params: Json, name: str) -> bool:
    """True where it says so."""
    return params.get(name) is True


def member(params: Json, name: str) -> Json:
    """An object, or an empty one."""
    value = params.get(name)
    return value if is_object(value) else {}


def members(params: Json, name: str) -> list[Json]:
    """The objects in a list."""
    value: object = params.get(name)
    if not isinstance(value, list):
        return []
    listed: list[object] = value  # pyright: ignore[reportUnknownVariableType]
    return [each for each in listed if is_object(each)]


def site_of(url: str) -> str:
    """What a browser keeps in one process: scheme and the last two labels of the host; empty where there is no host.

    Who registers names below three labels is not known here: such sites may be taken for one.
    """
    found = _HOST.match(url)
    if found is None or not found[2]:
        return ""
    scheme, host = found[1].lower(), found[2].lower()
    if host.startswith("[") or _NUMERIC.fullmatch(host):
        return f"{scheme}://{host}"
    return f"{scheme}://{'.'.join(host.split('.')[-2:])}"
