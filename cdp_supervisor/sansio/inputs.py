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


class OfLink(Struct, frozen=True, kw_only=True):
    """The fields of every input: its moment, and the generation of its link."""

    at: Instant
    generation: int


class LinkUp(OfLink, frozen=True, kw_only=True):
    """A link to a browser is up. `browser_id` is the browser's id, if its address contains one."""

    browser_id: str | None = None
    owned: bool = True
    """True if the supervisor may open it again."""


class LinkDown(OfLink, frozen=True, kw_only=True):
    """The link ended, or could not be made; `final`: a retry would fail too (401, 404, a gone session)."""

    reason: str
    jitter: float = 0.5
    final: bool = False


class BrowserEvent(OfLink, frozen=True, kw_only=True, gc=False):
    """The browser sent an event. The state machine fills in `page`, for the extensions."""

    event: Event
    page: TargetId | None = None


class SessionOpened(router.SessionOpened, frozen=True, kw_only=True):
    """A session opened: the router's output, with its moment."""

    at: Instant
    generation: int


class SessionClosed(OfLink, frozen=True, kw_only=True):
    """A session ended."""

    session_id: SessionId
    reason: str = "detached"


class NotSent(Struct, frozen=True, kw_only=True):
    """The outcome of a command that could not be sent."""

    error: Exception


class CommandEnded(OfLink, frozen=True, kw_only=True):
    """The command with this ticket ended, in whichever way."""

    ticket: int
    outcome: Outcome | NotSent


class Replied(OfLink, frozen=True, kw_only=True):
    """A command that an extension sent with `reply_to` ended; only this extension is fed it."""

    tag: str
    outcome: Outcome | NotSent


class DialogAnswered(OfLink, frozen=True, kw_only=True):
    """A dialog that an extension opened gets this answer; the extension confirms it with `EndDialog`."""

    key: str
    accept: bool
    prompt_text: str | None = None


class Stopping(OfLink, frozen=True, kw_only=True):
    """The supervisor stops; an extension may still send, for a limited time, before the link is released."""


class FetchPaused(OfLink, frozen=True, kw_only=True):
    """A request or challenge is paused for an extension. The state machine fills in `page`."""

    extension: str
    key: str
    event: Event
    page: TargetId | None = None


class FetchExpired(OfLink, frozen=True, kw_only=True):
    """A request was continued, since the extension that claimed it did not answer in time."""

    extension: str
    key: str
    request_id: str


class FetchEnded(OfLink, frozen=True, kw_only=True):
    """The claim of an extension ended: it was refused, or its session has ended; `reason` says why."""

    extension: str
    key: str
    reason: str
    unsent: bool = False
    """True if the browser was sent nothing: the claim cannot be made now."""


class RequestReceived(OfLink, frozen=True, kw_only=True):
    """A request was made; it gets exactly one `Answer`."""

    request_id: int
    request: Any
    """One of `requests.Request`."""


class RequestCancelled(OfLink, frozen=True, kw_only=True):
    """The caller no longer waits for the answer of a request."""

    request_id: int


class TimePassed(OfLink, frozen=True, kw_only=True):
    """Time passed, and nothing else happened. A superfluous one is harmless."""


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
