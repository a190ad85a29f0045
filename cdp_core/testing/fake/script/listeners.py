"""Expressions that let a document do something when it is left, as tests write them.

    addEventListener('beforeunload', event => event.preventDefault())       it asks
    window.onbeforeunload = () => 'sure?'                                   so does this
    addEventListener('pagehide', () => { console.log('x'); alert('y') })    it does that

What is understood of a listener is whether it asks, and the texts that it logs or shows; nothing else in it does anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Final

from cdp_core.sansio.messages import Json
from cdp_core.testing.fake.model import unloading
from cdp_core.testing.fake.model.parts import Frame

_UNLOAD_EVENTS: Final = "|".join(unloading.UNLOAD_EVENTS)
_ADDED: Final = re.compile(
    rf"\s*(?:(?:window|document|self)\.)?(?:addEventListener\(\s*['\"](?P<added>{_UNLOAD_EVENTS})['\"]\s*,\s*(?P<listener>.*)\)"
    rf"|on(?P<set>{_UNLOAD_EVENTS})\s*=\s*(?P<value>[^=].*?))\s*;?\s*",
    re.DOTALL,
)
_ASKS: Final = re.compile(r"preventDefault\(\)|returnValue\s*=|return\s+['\"]|=>\s*['\"]")
_LOGGED: Final = re.compile(r"console\.log\(\s*(['\"])(?P<logged>[^'\"]*)\1\s*\)")
_SHOWN: Final = re.compile(r"\b(?P<kind>alert|confirm|prompt)\(\s*(?:(['\"])(?P<message>[^'\"]*)\2)?")


def is_listener(expression: str) -> bool:
    """Whether it is such an expression."""
    return _ADDED.fullmatch(expression) is not None


def add(frame: Frame, expression: str, log: Callable[[Frame, str], None]) -> Json | None:
    """Let the document listen; what the expression brings, None where it is none of these."""
    found = _ADDED.fullmatch(expression)
    if found is None:
        return None
    event, listener = found["added"] or found["set"], found["listener"] or found["value"]
    if event == unloading.UNLOAD_EVENTS[0] and _ASKS.search(listener):
        unloading.listen_with_dialog(frame, event, event, "", "")
    for logged in _LOGGED.finditer(listener):
        unloading.listen(frame, event, partial(log, frame, logged["logged"]))
    for shown in _SHOWN.finditer(listener):
        unloading.listen_with_dialog(frame, event, shown["kind"], shown["message"] or "", "")
    if found["added"]:
        return {"type": "undefined"}
    return {"type": "function", "className": "Function", "description": listener, "objectId": "1.1.2"}
