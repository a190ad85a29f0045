"""What clients inject into documents: bindings, and init scripts that replace dialog functions.

Bindings (`Runtime.addBinding`): the function is added to the current documents and, if the session has Runtime
enabled, to later ones. A call sends `Runtime.bindingCalled` to each session of the target that added a binding of
that name. After `Runtime.removeBinding` the function stays, and the session gets no more events. A binding for a
named isolated world is ignored, since all scripts of the fake run in the main world.

Dialog overrides: an init script replaces `alert`, `confirm` and `prompt` by a synchronous request (facts 27 to 34). The
fake runs no JavaScript, so the `Override` values of a `Script` name the init scripts that do this and the URL that they
request. The document's policies decide whether the request is allowed (policies.py); Fetch answers it (fetching.py).
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
    """Add a binding to the documents of a session's target, and report its calls on the session."""
    assert session.target is not None
    session.bindings.add(name)
    top = session.target.frame or session.target.scope
    for frame in () if top is None else top.subtree():
        if frame.target is session.target:
            frame.bindings[name] = frame.document


def called_in(frame: Frame, expression: str) -> tuple[str, str] | None:
    """Return name and payload if an expression calls a binding with one string; None otherwise."""
    call = _CALL.fullmatch(expression)
    if call is None:
        return None
    name = call["name"]
    exists = frame.bindings.get(name) == frame.document or any(
        name in each.bindings and "Runtime" in each.domains for each in frame.target.sessions
    )
    return (name, call["two"] if call["one"] is None else call["one"]) if exists else None


def emit_call(world: World, frame: Frame, name: str, payload: str) -> None:
    """Emit `Runtime.bindingCalled` on the sessions that added the binding."""
    params: Json = {"name": name, "payload": payload, "executionContextId": frame.context}
    for session in tuple(frame.target.sessions):
        if name in session.bindings:
            world.emit(session, "Runtime.bindingCalled", params, frame)


def override_in(script: Script, params: Json) -> Override | None:
    """Return the dialog override that an init script sets up in the main world; None if there is none."""
    if params.get("worldName"):
        return None
    known = [each for text, each in script.overrides.items() if text in params["source"]]
    return known[-1] if known else None


def address_of(override: Override, kind: str, message: str, default: str) -> str:
    """Return the URL that an override requests instead of opening a dialog."""
    address = override.url
    for name, given in (("type", kind), ("message", message), ("default", default if kind == "prompt" else "")):
        address = address.replace(f"{{{name}}}", quote(dialogs.whole(given), safe="!*'()~"))
    return address


def answer_in(override: Override, text: str) -> tuple[bool, str]:
    """Read from a response whether the dialog is accepted, and its text; unreadable text dismisses it."""
    try:
        found: object = json.loads(text)
    except ValueError:
        found = None
    if not is_object(found):
        return False, ""
    return bool(found.get(override.accept)), str(found.get(override.text, ""))
