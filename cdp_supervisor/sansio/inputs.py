"""Everything that can happen to the machine. Inputs are facts, in the past tense, and nothing else moves it.

Each carries when it happened, and on which link (`epoch`): what a link that has gone still says is dropped in one place.
"""

from __future__ import annotations

from typing import Any

from cdp_core.sansio.messages import Event, SessionId, TargetId
from cdp_core.sansio.router import Outcome
from cdp_core.sansio.structs import Struct


class Instant(Struct, frozen=True, kw_only=True, gc=False):
    """A moment: `mono` decides, `wall` (seconds since 1970) is only shown."""

    mono: float
    wall: float = 0.0


class LinkUp(Struct, frozen=True, kw_only=True):
    """A link to a browser stands. `browser_id` is the browser's own, where its address tells."""

    at: Instant
    generation: int
    browser_id: str | None = None
    owned: bool = True
    """Whether it is ours to open again."""


class LinkDown(Struct, frozen=True, kw_only=True):
    """The link ended, or could not be made. `final`: there is no use in trying again (401, 404, a gone session)."""

    at: Instant
    generation: int
    reason: str
    jitter: float = 0.5
    final: bool = False


class BrowserEvent(Struct, frozen=True, kw_only=True, gc=False):
    """The browser said something. `page` is filled in by the machine, for those that come after it."""

    at: Instant
    generation: int
    event: Event
    page: TargetId | None = None


class SessionOpened(Struct, frozen=True, kw_only=True):
    """A session opened."""

    at: Instant
    generation: int
    session_id: SessionId
    target_id: TargetId
    target_type: str
    parent: SessionId | None = None
    waiting: bool = False


class SessionClosed(Struct, frozen=True, kw_only=True):
    """A session ended."""

    at: Instant
    generation: int
    session_id: SessionId
    reason: str = "detached"


class NotSent(Struct, frozen=True, kw_only=True):
    """A command could not even be sent."""

    error: Exception


class CommandEnded(Struct, frozen=True, kw_only=True):
    """What we sent under this ticket has ended, one way or another."""

    at: Instant
    generation: int
    ticket: int
    outcome: Outcome | NotSent


class RequestReceived(Struct, frozen=True, kw_only=True):
    """Somebody asks something; exactly one Answer will come."""

    at: Instant
    generation: int
    request_id: int
    request: Any
    """One of `questions.Question`."""


class RequestCancelled(Struct, frozen=True, kw_only=True):
    """Whoever asked waits no more."""

    at: Instant
    generation: int
    request_id: int


class TimePassed(Struct, frozen=True, kw_only=True):
    """It is later now. One too many is harmless."""

    at: Instant
    generation: int


Input = (
    LinkUp
    | LinkDown
    | BrowserEvent
    | SessionOpened
    | SessionClosed
    | CommandEnded
    | RequestReceived
    | RequestCancelled
    | TimePassed
)
