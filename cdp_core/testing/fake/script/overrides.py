"""Dialogs that a client's script for new documents has replaced: a call asks an address, and waits (facts 27 to 34).

Which scripts do that, and where they ask, the author of the fake's script says (`Override`): here no JavaScript is run.
What of their asking is let out at all is the document's matter (policies.py), who answers that of `Fetch` (fetching.py).
"""

from __future__ import annotations

import json
from urllib.parse import quote

from cdp_core.sansio.messages import Json, is_object
from cdp_core.testing.fake.model import dialogs
from cdp_core.testing.steps import Override, Script


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
