"""Functions that a client puts into pages, so that a script tells it something: `Runtime.addBinding`.

A binding is put into the documents that are there, and where the session has Runtime enabled into those to come, too; a
call of it is told to each session of the target that has one of the name. Taken away, the function stays where it was, and
tells this session no more. One for the worlds of a name is in no page's own world, which is where all scripts run here.


Dialogs that a client's script for new documents has replaced: a call asks an address, and waits (facts 27 to 34).

Which scripts do that, and where they ask, the author of the fake's script says (`Override`): here no JavaScript is run.
What of their asking is let out at all is the document's matter (policies.py), who answers that of `Fetch` (fetching.py).
"""

from __future__ import annotations

import json
import re
from typing import Final
from urllib.parse import quote

from cdp_core.sansio.messages import Json, is_object
from cdp_core.testing.fake.model import dialogs
from cdp_core.testing.fake.model.parts import Frame, Session
from cdp_core.testing.fake.world import World
from cdp_core.testing.steps import Override, Script

_CALL: Final = re.compile(
    r"\s*(?:(?:window|globalThis|self)\.)?(?P<name>[\w$]+)\s*"
    r"\(\s*(?:'(?P<one>[^'\\]*)'|\"(?P<two>[^\"\\]*)\")\s*\)\s*;?\s*"
)


def bind(session: Session, name: str) -> None:
    """From now on the session is told of calls."""
    assert session.target is not None
    session.bindings.add(name)
    top = session.target.frame or session.target.scope
    for frame in () if top is None else top.subtree():
        if frame.target is session.target:
            frame.bindings[name] = frame.document


def called_in(frame: Frame, expression: str) -> tuple[str, str] | None:
    """The name and the payload, where an expression calls a binding with one text."""
    call = _CALL.fullmatch(expression)
    if call is None:
        return None
    name = call["name"]
    exists = frame.bindings.get(name) == frame.document or any(
        name in each.bindings and "Runtime" in each.domains for each in frame.target.sessions
    )
    return (name, call["two"] if call["one"] is None else call["one"]) if exists else None


def emit_call(world: World, frame: Frame, name: str, payload: str) -> None:
    """A script calls it."""
    params: Json = {"name": name, "payload": payload, "executionContextId": frame.context}
    for session in tuple(frame.target.sessions):
        if name in session.bindings:
            world.emit(session, "Runtime.bindingCalled", params, frame)


def override_in(script: Script, params: Json) -> Override | None:
    """What the script of `Page.addScriptToEvaluateOnNewDocument` puts in the place of dialogs, in a page's own world."""
    if params.get("worldName"):
        return None
    known = [each for text, each in script.overrides.items() if text in params["source"]]
    return known[-1] if known else None


def address_of(override: Override, kind: str, message: str, default: str) -> str:
    """Where a call asks."""
    address = override.url
    for name, given in (("type", kind), ("message", message), ("default", default if kind == "prompt" else "")):
        address = address.replace(f"{{{name}}}", quote(dialogs.whole(given), safe="!*'()~"))
    return address


def answer_in(override: Override, text: str) -> tuple[bool, str]:
    """Whether a dialog was accepted, and with which text; what is no answer is none that accepts."""
    try:
        found: object = json.loads(text)
    except ValueError:
        found = None
    if not is_object(found):
        return False, ""
    return bool(found.get(override.accept)), str(found.get(override.text, ""))
