"""The inputs of the state machine: facts in the past tense; nothing else changes its state.

Each input carries its moment and the generation of its link: inputs of an older link are dropped, in one place.
"""

from __future__ import annotations

from typing import Any

from cdp_core.sansio import router
from cdp_core.sansio.messages import Event, SessionId, TargetId
from cdp_core.sansio.outcomes import Outcome
from cdp_core.sansio.structs import Struct


class Instant(Struct, frozen=True, kw_only=True, gc=False):
    """A moment: decisions use `mono`, `wall` (seconds since 1970) is only shown."""

    mono: float
    wall: float = 0.0


class LinkUp(Struct, frozen=True, kw_only=True):
    """A link to a browser is up. `browser_id` is the browser's id, if its address contains one."""

    at: Instant
    generation: int
    browser_id: str | None = None
    owned: bool = True
    """True if the supervisor may open it again."""


class LinkDown(Struct, frozen=True, kw_only=True):
    """The link ended, or could not be made; `final`: a retry would fail too (401, 404, a gone session)."""

    at: Instant
    generation: int
    reason: str
    jitter: float = 0.5
    final: bool = False


class BrowserEvent(Struct, frozen=True, kw_only=True, gc=False):
    """The browser sent an event. The state machine fills in `page`, for the extensions."""

    at: Instant
    generation: int
    event: Event
    page: TargetId | None = None


class SessionOpened(router.SessionOpened, frozen=True, kw_only=True):
    """A session opened: the router's output, with its moment."""

    at: Instant
    generation: int


class SessionClosed(Struct, frozen=True, kw_only=True):
    """A session ended."""

    at: Instant
    generation: int
    session_id: SessionId
    reason: str = "detached"


class NotSent(Struct, frozen=True, kw_only=True):
    """The outcome of a command that could not be sent."""

    error: Exception


class CommandEnded(Struct, frozen=True, kw_only=True):
    """The command with this ticket ended, in whichever way."""

    at: Instant
    generation: int
    ticket: int
    outcome: Outcome | NotSent


class Replied(Struct, frozen=True, kw_only=True):
    """A command that an extension sent with `reply_to` ended; only this extension is fed it."""

    at: Instant
    generation: int
    tag: str
    outcome: Outcome | NotSent


class DialogAnswered(Struct, frozen=True, kw_only=True):
    """A dialog that an extension opened gets this answer; the extension confirms it with `EndDialog`."""

    at: Instant
    generation: int
    key: str
    accept: bool
    prompt_text: str | None = None


class Stopping(Struct, frozen=True, kw_only=True):
    """The supervisor stops; an extension may still send, for a limited time, before the link is released."""

    at: Instant
    generation: int


class FetchPaused(Struct, frozen=True, kw_only=True):
    """A request or challenge is paused for an extension. The state machine fills in `page`."""

    at: Instant
    generation: int
    extension: str
    key: str
    event: Event
    page: TargetId | None = None


class FetchExpired(Struct, frozen=True, kw_only=True):
    """A request was continued, since the extension that claimed it did not answer in time."""

    at: Instant
    generation: int
    extension: str
    key: str
    request_id: str


class FetchEnded(Struct, frozen=True, kw_only=True):
    """The claim of an extension ended: it was refused, or its session has ended; `reason` says why."""

    at: Instant
    generation: int
    extension: str
    key: str
    reason: str


class RequestReceived(Struct, frozen=True, kw_only=True):
    """A request was made; it gets exactly one `Answer`."""

    at: Instant
    generation: int
    request_id: int
    request: Any
    """One of `requests.Request`."""


class RequestCancelled(Struct, frozen=True, kw_only=True):
    """The caller no longer waits for the answer of a request."""

    at: Instant
    generation: int
    request_id: int


class TimePassed(Struct, frozen=True, kw_only=True):
    """Time passed, and nothing else happened. A superfluous one is harmless."""

    at: Instant
    generation: int


Input = (
    LinkUp
    | LinkDown
    | BrowserEvent
    | SessionOpened
    | SessionClosed
    | CommandEnded
    | FetchPaused
    | FetchExpired
    | FetchEnded
    | RequestReceived
    | RequestCancelled
    | TimePassed
)
ExtensionInput = Input | Replied | DialogAnswered | Stopping
"""What an extension is fed: the inputs of the state machine, and three that only extensions get."""
