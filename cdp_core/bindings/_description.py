"""A protocol description, loaded from a file or a running browser, and the name of its origin."""

from __future__ import annotations

import json
import os
from pathlib import Path

import trio

from cdp_core import discovery
from cdp_core.errors import CdpError, InvalidArgument
from cdp_core.sansio.addresses import looks_like_address
from cdp_core.sansio.messages import Json, is_object


def load_description(source: str) -> tuple[str, object]:
    """Load a description; return a name for it, and the description.

    `source` is a file, an address of a browser, or its DevToolsActivePort. Raises DiscoveryError or InvalidArgument,
    with a text of one line.
    """
    browser = _browser_at(source)
    if browser is not None:
        return trio.run(discovery.fetch_protocol, browser)
    path = Path(source)
    try:
        text = path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: the path contains a NUL
        why = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else "no path"
        raise InvalidArgument(
            f"{source} cannot be read ({why}); give a protocol file, or a browser's address."
        ) from None
    try:
        return path.name, json.loads(text)
    except (ValueError, RecursionError):
        pass  # raised outside, without a context: the decoder's error keeps the whole text
    raise InvalidArgument(f"{source} is not a protocol description: it is not JSON.")


def origin_of(source: str) -> str:
    """Return the origin of a description, in a form by which other people can find it again.

    For a file of the npm package: the version, from the package.json in the folder of the file or the one above. For a
    browser: its product and the revision of its protocol, never the address.
    """
    browser = _browser_at(source)
    if browser is None:
        return _npm_version(Path(os.path.abspath(source))) or Path(source).name  # noqa: PTH100 - Path.absolute may raise
    try:
        version_info: object = json.loads(trio.run(_ask_version, browser))
    except (CdpError, ValueError, RecursionError):
        version_info = None
    product, *rest = [_text_member(version_info, name) for name in ("Browser", "Protocol-Version", "WebKit-Version")]
    version, engine = (each.split("(")[-1].rstrip(")") for each in rest)  # "537.36 (@revision)"
    about = [f"protocol {version}"] * bool(version) + [f"revision {engine}"] * bool(engine)
    return ", ".join([product or "a browser that does not name itself", *about])


def _browser_at(source: str) -> str | Path | None:
    """Return the address or the path of a browser; None for a protocol file."""
    if looks_like_address(source):
        return source
    path = Path(source)
    # Unlike Path.is_dir, this does not raise if a path is too long, or forbidden.
    is_folder = os.path.isdir(path)  # noqa: PTH112
    return path if is_folder or path.name == "DevToolsActivePort" else None


def _npm_version(path: Path) -> str | None:
    for folder in path.parents[:2]:
        try:
            about: object = json.loads((folder / "package.json").read_bytes())
        except (OSError, ValueError, RecursionError):
            continue
        if is_object(about) and about.get("name") == "devtools-protocol" and isinstance(about.get("version"), str):
            return f"devtools-protocol {about['version']}"
    return None


async def _ask_version(where: str | Path) -> bytes:
    attempt = discovery._Attempt(10.0)
    with attempt.bounded():
        address = (await discovery._read_address(where, attempt)).over_http()
        return await discovery._get(address, "/json/version", {}, None, attempt)


def _text_member(version_info: Json | object, name: str) -> str:
    word: object = version_info.get(name) if is_object(version_info) else None
    return word if isinstance(word, str) else ""
