"""A second client that connected before the tested one, as a developer tool on the first page would.

It saw a dialog open on that page, and answers it at any later moment. A client that connects in between receives only the
end of that dialog, cannot answer it, and gets the reply to its `Page.enable` only then (fact 18).
"""

from __future__ import annotations

import json
from typing import Any, Final

from cdp_core.sansio.messages import Json
from cdp_core.testing.schedules import Ask
from cdp_core.testing.simulation import Pump

CHECKS: Final = 6
"""How many questions it gets; each answers at most one dialog, the last one all that are open or open later."""


def add_second_client(pump: Pump) -> list[Ask]:
    """Connect a second client, and let it see a dialog if one opens; return the asks for it.

    Each ask makes it answer, and must be asked when all is quiet. If there is no page, no client connects.
    """
    pages = pump.fake.truth().pages
    if not pages:
        return []
    other = _SecondClient(pages[0])
    number = pump.join(other).number
    pump.run(until=lambda: bool(other.open))
    return [Ask(number, "answer")] * CHECKS


class _SecondClient:
    """One session on one page, which answers the dialogs that it saw, one at a time."""

    def __init__(self, page: str) -> None:
        # The frames of the dialogs without an answer, in the order of opening.
        self.open: list[str] = []
        self._page = page
        self._session = ""
        self._last = self._checked = 0

    def start(self) -> list[bytes]:
        return [self._command("Target.attachToTarget", {"targetId": self._page, "flatten": True})]

    def receive(self, payload: bytes, /) -> list[bytes]:
        message: Json = json.loads(payload)
        method, params = message.get("method"), message.get("params", {})
        if method == "Target.attachedToTarget" and not self._session:
            self._session = params["sessionId"]
            return [self._command("Page.enable")]
        if method == "Target.detachedFromTarget":
            self._session = ""
            self._page = ""
            self.open.clear()
        elif method == "Page.javascriptDialogOpening":
            self.open.append(params["frameId"])
            return self._answer() if self._checked == CHECKS else []
        elif method == "Page.javascriptDialogClosed" and params["frameId"] in self.open:
            self.open.remove(params["frameId"])
        return []

    def ask(self, _question: Any, /) -> list[bytes]:
        self._checked += 1
        answered = self._answer()
        while self.open and self._checked == CHECKS:
            answered += self._answer()
        return answered

    def _answer(self) -> list[bytes]:
        """Answer the oldest dialog, once (docs/cdp/one-of-two-dialogs-cannot-be-answered.md)."""
        if not self.open:
            return []
        self.open.pop(0)
        return [self._command("Page.handleJavaScriptDialog", {"accept": True})]

    def _command(self, method: str, params: Json | None = None) -> bytes:
        self._last += 1
        message: Json = {"id": self._last, "method": method, "params": params or {}}
        return json.dumps(message | ({"sessionId": self._session} if self._session else {})).encode()
