"""What can be asked of a supervisor, as values; each is answered once, with a value or an error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import attrs

from cdp_supervisor.sansio.options import Policy

__all__ = [
    "AwaitCall",
    "Call",
    "Cure",
    "Focus",
    "Question",
    "Recover",
    "RespondToDialog",
    "SetPolicy",
    "Stop",
    "WhenBlocked",
]

WhenBlocked = Literal["raise", "wait"]
Cure = Literal["same_document", "navigate", "reload", "close"]


@attrs.frozen(kw_only=True)
class RespondToDialog:
    """Answer a dialog. The answer comes when the dialog has ended."""

    action: str
    prompt_text: str | None = None
    dialog_id: str | None = None


@attrs.frozen(kw_only=True)
class Call:
    """Send a command where it belongs. The answer is its result."""

    method: str
    params: Mapping[str, Any] | None = None
    frame_id: str | None = None
    target_id: str | None = None
    session_id: str | None = None
    timeout: float | None = 30.0
    when_blocked: str = "raise"


@attrs.frozen(kw_only=True)
class AwaitCall:
    """The end of a call that a dialog has overtaken."""

    call_id: str
    timeout: float | None = None


@attrs.frozen(kw_only=True)
class SetPolicy:
    """From now on dialogs are met so; those that are open, too."""

    policy: Policy


@attrs.frozen(kw_only=True)
class Focus:
    """Which page is meant where none is named; None: the only one there is."""

    target_id: str | None = None


@attrs.frozen(kw_only=True)
class Recover:
    """Free a page whose dialog nobody can answer."""

    target_id: str
    cure: str


@attrs.frozen(kw_only=True)
class Stop:
    """End: settle what can be settled, within this time. The answer is a `StopReport`."""

    timeout: float = 1.5


Question = RespondToDialog | Call | AwaitCall | SetPolicy | Focus | Recover | Stop
