"""A protocol description, from a file or from a running browser."""

from __future__ import annotations

import json
import os
from pathlib import Path

import trio

from cdp_core.discovery import fetch_protocol
from cdp_core.errors import InvalidArgument
from cdp_core.sansio.endpoints import looks_like_address

__all__ = ["load_description"]


def load_description(source: str) -> tuple[str, object]:
    """The description and what to call it. `source` is a file, an address of a browser, or its DevToolsActivePort.

    Raises DiscoveryError or InvalidArgument, in one line.
    """
    path = Path(source)
    # Unlike Path.is_dir, this raises nothing where a path is too long, or forbidden.
    is_folder = os.path.isdir(path)  # noqa: PTH112
    if looks_like_address(source) or is_folder or path.name == "DevToolsActivePort":
        return trio.run(fetch_protocol, source if looks_like_address(source) else path)
    try:
        text = path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a NUL in it
        why = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else "no path"
        raise InvalidArgument(
            f"{source} cannot be read ({why}); give a protocol file, or a browser's address."
        ) from None
    try:
        return path.name, json.loads(text)
    except (ValueError, RecursionError):
        pass  # raised outside, without a context: the decoder's error keeps the whole text
    raise InvalidArgument(f"{source} is no protocol description: it is not JSON.")
