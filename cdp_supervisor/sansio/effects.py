"""The effects of the state machine: orders; the event source that performs them decides nothing.

If several parts of a program share one connection, the effects that concern all of them (`Discover`, `AutoAttach`,
`Enable`, `Resume`) go to the owner of the connection; on a connection of the supervisor alone, each is one command.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal

from cdp_core.sansio.messages import SessionId
from cdp_core.sansio.structs import Struct
from cdp_supervisor.sansio.changes import Change


class Send(Struct, frozen=True, kw_only=True):
    """Send a command; its end comes back as `CommandEnded` with the ticket."""

    ticket: int
    session_id: SessionId | None
    method: str
    params: Mapping[str, Any] | None = None
    bounded: bool = False
    """True if it may be refused while too many bytes wait to be written: a call, or a command of an extension."""
    reply_to: str = ""
    """For an extension: the end of the command comes back as `Replied` with this tag. Empty: it does not."""


class Forget(Struct, frozen=True, kw_only=True, gc=False):
    """Abandon the command with this ticket: its reply is ignored."""

    ticket: int


class Discover(Struct, frozen=True, kw_only=True, gc=False):
    """Discover targets: get an event for each of them."""


class AutoAttach(Struct, frozen=True, kw_only=True, gc=False):
    """Attach to new targets of this session (None: the root), paused at first if `wait`."""

    session_id: SessionId | None = None
    wait: bool = True


class Enable(Struct, frozen=True, kw_only=True, gc=False):
    """Enable a domain on a session, to get its events."""

    session_id: SessionId
    domain: str


class Resume(Struct, frozen=True, kw_only=True, gc=False):
    """Let the target of a session run. Sent whether or not the target was reported as waiting (fact 7)."""

    session_id: SessionId


class Detach(Struct, frozen=True, kw_only=True, gc=False):
    """End a session that is out of scope."""

    session_id: SessionId
    parent: SessionId | None


class Release(Struct, frozen=True, kw_only=True, gc=False):
    """Release the link: end auto-attach, or later targets wait for ever, and these sessions.

    `sessions` are those that the supervisor opened with `Target.attachToTarget`; auto-attach ends its own.
    """

    sessions: tuple[SessionId, ...] = ()
    root: bool = True
    """False if there is no auto-attach on the root session."""


class Answer(Struct, frozen=True, kw_only=True):
    """Answer a request: with a value, or with an error to raise in its caller."""

    request_id: int
    value: Any = None
    error: Exception | None = None


class Publish(Struct, frozen=True, kw_only=True, gc=False):
    """Publish a change to its subscribers."""

    change: Change


class Dial(Struct, frozen=True, kw_only=True, gc=False):
    """Connect; the inputs of the new link have this generation."""

    generation: int


class Disconnect(Struct, frozen=True, kw_only=True, gc=False):
    """End the link, because it does not answer."""

    reason: str


class Note(Struct, frozen=True, kw_only=True):
    """Write a line to the log. Neither text nor fields hold anything that a page wrote."""

    level: Literal["debug", "info", "warning"]
    text: str
    fields: Mapping[str, Any] = MappingProxyType({})


Via = Literal["native", "request", "pause"]
"""What announces a dialog: the browser, a request that an extension holds, or a script that it holds paused."""


class OpenDialog(Struct, frozen=True, kw_only=True):
    """For an extension: a dialog that the browser does not know opened on a page.

    Policy, watchdog, history and blocked calls are those of any dialog. Its answer comes as `DialogAnswered`.
    """

    key: str
    """The extension's name for it; it may be used again once the dialog is over."""
    page_id: str
    frame_id: str
    via: Via
    type: str
    message: str = ""
    default_prompt: str = ""


class EndDialog(Struct, frozen=True, kw_only=True):
    """For an extension: its dialog is over.

    `answered` says that the page got our answer; otherwise `reason` is a short word.
    """

    key: str
    answered: bool
    reason: str = "elsewhere"


class ClaimFetch(Struct, frozen=True, kw_only=True):
    """For an extension: claim requests on a session; each comes as `FetchPaused`, until `FetchEnded`.

    Other claims on the session, of the embedder too, are not disturbed: a request belongs to the first that matches.
    """

    key: str
    """The extension's name for the claim; a claim of the same key is released first."""
    session_id: SessionId | None
    patterns: tuple[Mapping[str, Any], ...]
    """As in `Fetch.enable`."""
    auth: bool = False
    """True to get challenges for credentials as well."""
    extension: str = ""
    """Filled in by the state machine."""


class AnswerFetch(Struct, frozen=True, kw_only=True):
    """For an extension: answer a request that its claim holds; a bare continue passes it on."""

    key: str
    method: str
    params: Mapping[str, Any]
    reply_to: str = ""
    """As for `Send`."""
    ticket: int = 0
    extension: str = ""
    """Both filled in by the state machine."""


class ReleaseFetch(Struct, frozen=True, kw_only=True):
    """For an extension: release a claim; the empty key: each claim of the extension."""

    key: str = ""
    extension: str = ""
    """Filled in by the state machine."""


Claiming = ClaimFetch | AnswerFetch | ReleaseFetch

Effect = (
    Send
    | Forget
    | ClaimFetch
    | AnswerFetch
    | ReleaseFetch
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

Wanted = Send | Note | OpenDialog | EndDialog | ClaimFetch | AnswerFetch | ReleaseFetch
"""The effects that an extension may return."""
