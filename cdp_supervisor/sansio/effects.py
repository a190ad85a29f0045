"""Everything that the machine wants done. Effects are orders; whoever carries them out decides nothing.

Where several parts of a program share one connection, the effects that touch what is shared (`Discover`, `AutoAttach`,
`Enable`, `Resume`) go to whoever holds it; alone, each is one command.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import attrs

from cdp_core.sansio.wire import SessionId
from cdp_supervisor.sansio.changes import Change

__all__ = [
    "Answer",
    "AutoAttach",
    "Detach",
    "Dial",
    "Disconnect",
    "Discover",
    "Effect",
    "Enable",
    "Forget",
    "Note",
    "Resume",
    "Send",
    "Tell",
]


@attrs.frozen(kw_only=True)
class Send:
    """A command; its end comes back under the ticket."""

    ticket: int
    session_id: SessionId | None
    method: str
    params: Mapping[str, Any] | None = None


@attrs.frozen(kw_only=True)
class Forget:
    """Nobody waits for what was sent under this ticket any more."""

    ticket: int


@attrs.frozen(kw_only=True)
class Discover:
    """Hear of every target."""


@attrs.frozen(kw_only=True)
class AutoAttach:
    """Hear of what appears below this session before its first instruction; None is the browser's own session."""

    session_id: SessionId | None = None


@attrs.frozen(kw_only=True)
class Enable:
    """Hear the events of a domain on a session."""

    session_id: SessionId
    domain: str


@attrs.frozen(kw_only=True)
class Resume:
    """Let the target of a session run. Sent whether or not it said that it waits (fact 7)."""

    session_id: SessionId


@attrs.frozen(kw_only=True)
class Detach:
    """End a session that is not wanted."""

    session_id: SessionId
    parent: SessionId | None


@attrs.frozen(kw_only=True)
class Answer:
    """The answer to an ask: a value, or an error to be raised where it was asked."""

    ask_id: int
    value: Any = None
    error: Exception | None = None


@attrs.frozen(kw_only=True)
class Tell:
    """Something changed that somebody may want to hear of."""

    change: Change


@attrs.frozen(kw_only=True)
class Dial:
    """Dial; what comes of it belongs to this epoch."""

    epoch: int


@attrs.frozen(kw_only=True)
class Disconnect:
    """End the link: it does not answer."""

    reason: str


@attrs.frozen(kw_only=True)
class Note:
    """A line for the log. Neither text nor fields hold anything that a page wrote."""

    level: Literal["debug", "info", "warning"]
    text: str
    fields: Mapping[str, Any] = attrs.field(factory=dict[str, Any])


Effect = Send | Forget | Discover | AutoAttach | Enable | Resume | Detach | Answer | Tell | Dial | Disconnect | Note
