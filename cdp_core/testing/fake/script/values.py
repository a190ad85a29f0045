"""The value of an expression in a document: a remote object, or an exception (javascript.py).

Of a window's properties only a few that most tests read are modelled: its location, and whether it has loaded. A name
is undefined if no window has it and the script's `answers` and `overrides` do not contain it; of any other name the
value is not known.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import urlsplit

from cdp_core.sansio.messages import Json
from cdp_core.testing.fake.model.parts import Frame
from cdp_core.testing.fake.player import Player, remote_object
from cdp_core.testing.fake.script import calculating, javascript, thrown
from cdp_core.testing.fake.script.calculating import BigInt, NotUnderstood
from cdp_core.testing.fake.script.javascript import SyntaxFault, ThrownError
from cdp_core.testing.fake.script.window_names import WINDOW_NAMES

UNDEFINED: Final[Json] = {"type": "undefined"}
_MOST_EXACT: Final = 2**53
_LOCATION: Final = re.compile(r"(?:window\.|document\.|self\.)?location\.(?P<part>\w+)")
_PARTS: Final[dict[str, Callable[[str], str]]] = {
    "href": lambda url: url,
    "protocol": lambda url: f"{urlsplit(url).scheme}:",
    "host": lambda url: urlsplit(url).netloc,
    "hostname": lambda url: urlsplit(url).hostname or "",
    "pathname": lambda url: urlsplit(url).path or "/",
    "search": lambda url: f"?{urlsplit(url).query}" if urlsplit(url).query else "",
    "hash": lambda url: f"#{urlsplit(url).fragment}" if urlsplit(url).fragment else "",
}


def expression_value(player: Player, frame: Frame, text: str) -> Json | None:
    """Return an expression's remote object or exception; None if it is not understood."""
    expression = text.strip().rstrip(";")
    known = _document_property(frame, expression)
    if known is not None:
        return remote_object(known)
    try:
        return _remote(javascript.read(text)(lambda name: _named(player, frame, name)))
    except NotUnderstood:
        return None
    except SyntaxFault as fault:
        return thrown.error("SyntaxError", fault.message, text, fault.position, traced=False)
    except ThrownError as error:
        return thrown.error(error.name, error.message, text, error.position, traced=True)


def _document_property(frame: Frame, expression: str) -> Any:
    """Return a modelled property of the document or of its location; None for anything else."""
    if expression == "document.URL":
        return frame.url
    if expression == "document.title":
        return ""
    if expression == "document.prerendering":
        return frame.target.page.subtype == "prerender"
    if expression == "document.readyState" and not frame.busy:
        return "complete"
    if expression == "history.length":
        return max(len(frame.target.page.history.entries), 1)
    found = _LOCATION.fullmatch(expression)
    part = None if found is None else _PARTS.get(found["part"])
    known = part is not None and (frame.url.startswith("http") or expression.endswith("href"))
    return part(frame.url) if part is not None and known else None


def _named(player: Player, frame: Frame, name: str) -> Any:
    if name in WINDOW_NAMES or frame is frame.target.scope or name in ("$0", "$", "$$", "$x", "$_"):
        raise NotUnderstood(name)
    word = re.compile(rf"(?<![\w$]){re.escape(name)}(?![\w$])")
    if any(word.search(known) for known in (*player.script.answers, *player.script.overrides)):
        raise NotUnderstood(name)
    raise KeyError(name)


def _remote(value: Any) -> Json:
    if isinstance(value, BigInt):
        return {"type": "bigint", "unserializableValue": value.text, "description": value.text}
    if value is calculating.UNDEFINED:
        return UNDEFINED
    if isinstance(value, float) and (not math.isfinite(value) or str(value) == "-0.0"):
        shown = "-0" if str(value) == "-0.0" else calculating.number_text(value)
        return {"type": "number", "unserializableValue": shown, "description": shown}
    return remote_object(_plain(value))


def _plain(value: Any) -> Any:
    """Return a value in the form that is sent as JSON. Raises NotUnderstood if JSON cannot express it."""
    if isinstance(value, list):
        return [_plain(each) for each in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, float):
        if not math.isfinite(value):
            raise NotUnderstood("a number that JSON does not have")
        return int(value) if value.is_integer() and abs(value) < _MOST_EXACT else value
    if value is None or isinstance(value, (bool, str)):
        return value
    raise NotUnderstood("a value that JSON does not have")
