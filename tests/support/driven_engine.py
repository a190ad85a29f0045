"""A `SupervisorEngine` and a fake browser, without an event loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cdp_core.testing import FakeBrowser, Script
from cdp_supervisor import SupervisorEngine


def drive(engine: SupervisorEngine, end: Any, at: float = 0.0, form: Callable[[bytes], Any] = bytes) -> None:
    """Pass the messages of both sides on until none is left; the engine gets each in this form."""
    while (inward := end.drain()) or (outward := engine.outgoing()):
        for payload in inward:
            engine.receive(form(payload), at)
        for text in engine.outgoing() if inward else outward:
            end.receive(text.encode())


class Driven:
    """An engine of its own on a fake browser, with the pages of a script."""

    def __init__(self, script: Script | None = None, form: Callable[[bytes], Any] = bytes) -> None:
        self.fake = FakeBrowser(script)
        self.engine = SupervisorEngine(keepalive=None)
        self._end, self._form = self.fake.connect(), form
        self.engine.link_up(0.0)
        self.drive()

    def drive(self, at: float = 0.0) -> None:
        drive(self.engine, self._end, at, self._form)

    def ask(self, request: Any, at: float = 0.0) -> Any:
        """Return the answer to a request."""
        number = self.engine.request(request, at)
        self.drive(at)
        return self.engine.answers()[number]
