"""Everything that the machine wants done. Effects are orders; whoever carries them out decides nothing.

Where several parts of a program share one connection, the effects that touch what is shared (`Discover`, `AutoAttach`,
`Enable`, `Resume`) go to whoever holds it; alone, each is one command.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal

from cdp_core.sansio.messages import SessionId
from cdp_core.sansio.structs import Struct
from cdp_supervisor.sansio.changes import Change


class Send(Struct, frozen=True, kw_only=True):
    """A command; its end comes back under the ticket."""

    ticket: int
    session_id: SessionId | None
    method: str
    params: Mapping[str, Any] | None = None


class Forget(Struct, frozen=True, kw_only=True, gc=False):
    """Nobody waits for what was sent under this ticket any more."""

    ticket: int


class Discover(Struct, frozen=True, kw_only=True, gc=False):
    """Hear of every target."""


class AutoAttach(Struct, frozen=True, kw_only=True, gc=False):
    """Hear of what appears below this session before its first instruction; None is the browser's own session."""

    session_id: SessionId | None = None


class Enable(Struct, frozen=True, kw_only=True, gc=False):
    """Hear the events of a domain on a session."""

    session_id: SessionId
    domain: str


class Resume(Struct, frozen=True, kw_only=True, gc=False):
    """Let the target of a session run. Sent whether or not it said that it waits (fact 7)."""

    session_id: SessionId


class Detach(Struct, frozen=True, kw_only=True, gc=False):
    """End a session that is not wanted."""

    session_id: SessionId
    parent: SessionId | None


class Release(Struct, frozen=True, kw_only=True, gc=False):
    """The end: attach to nothing more, or what comes later waits for ever; `sessions` are the browser's own ones of ours."""

    sessions: tuple[SessionId, ...] = ()


class Answer(Struct, frozen=True, kw_only=True):
    """The answer to an ask: a value, or an error to be raised where it was asked."""

    request_id: int
    value: Any = None
    error: Exception | None = None


class Publish(Struct, frozen=True, kw_only=True, gc=False):
    """Something changed that somebody may want to hear of."""

    change: Change


class Dial(Struct, frozen=True, kw_only=True, gc=False):
    """Dial; what comes of it belongs to this epoch."""

    generation: int


class Disconnect(Struct, frozen=True, kw_only=True, gc=False):
    """End the link: it does not answer."""

    reason: str


class Note(Struct, frozen=True, kw_only=True):
    """A line for the log. Neither text nor fields hold anything that a page wrote."""

    level: Literal["debug", "info", "warning"]
    text: str
    fields: Mapping[str, Any] = MappingProxyType({})


Effect = (
    Send
    | Forget
    | Discover
    | AutoAttach
    | Enable
    | Resume
    | Detach
    | Release
    | Answer
    | Publish
    | Dial
    | Disconnect
    | Note
)
