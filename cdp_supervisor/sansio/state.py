"""The state of the state machine, as one frozen value, divided by page.

An event about one page makes a new record of that page, and a new map that shares the rest. This module decides
nothing.

A `State` may be read from any thread, at any time: nothing in it changes. Its maps are persistent, so an event costs
no more with ten thousand pages than with ten.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import attrs
from immutables import Map

from cdp_core.sansio.load_state import LoadState
from cdp_core.sansio.messages import BrowserContextId, SessionId, TargetId
from cdp_core.sansio.structs import Struct
from cdp_supervisor.errors import InvalidPolicy
from cdp_supervisor.sansio.deadlines import Deadlines, Key
from cdp_supervisor.sansio.dialog_table import Phase
from cdp_supervisor.sansio.inputs import Instant
from cdp_supervisor.sansio.options import Limits, Policy, Reconnect, Scope, is_time, shown
from cdp_supervisor.sansio.requests import Call

if TYPE_CHECKING:
    from cdp_supervisor.sansio.extensions import Extension

NOWHEN: Final = Instant(mono=0.0)


@attrs.frozen(kw_only=True)
class Deadline:
    """A moment at which the state machine wants a `TimePassed`, and why."""

    at: float
    why: str


class Dialog(Struct, frozen=True, kw_only=True, gc=False):
    """A dialog, native or of an extension. dialog_table.py defines its phases."""

    id: str
    number: int
    target_id: TargetId
    frame_id: str
    session_id: SessionId | None
    type: str
    message: str
    default_prompt: str
    via: str = "native"
    """What announced it: the browser (`native`), or a `request` or `pause` that an extension holds."""
    extension: str = ""
    key: str = ""
    """The extension that opened it, and its name for it."""
    native: bool
    """Whether the browser has a window for it (`hasBrowserHandler`): the two profiles differ (facts 24, 26)."""
    opened: Instant
    generation: int
    phase: Phase = "open"
    by: str = ""
    """The origin of our answer: `agent`, `auto_policy` or `watchdog`."""
    accepting: bool = False
    """True if that answer accepts the dialog."""
    why: str = ""
    """Why it is unanswerable."""
    since_ticket: int = 0
    """The last ticket that was given before its phase began."""
    held: bool = False
    """True while another dialog is open on the page and one of the two is about to end: the policy waits for that."""
    overdue: bool = False
    deadline: float | None = None
    request_ids: tuple[int, ...] = ()
    closed_by: str = ""
    reason: str = ""
    code: int | None = None
    """The browser's error code, if it refused an answer."""
    closed: Instant = NOWHEN


class Frame(Struct, frozen=True, kw_only=True, gc=False):
    """A frame of a page."""

    id: str
    number: int
    """Frames are shown in the order in which they appeared."""
    parent_id: str | None
    session_id: SessionId | None
    """The session that reports it; an out-of-process iframe has its own."""
    url: str = ""
    name: str = ""
    origin: str = ""
    oopif: bool = False
    reported: bool = False
    """True once the frame's own session reported its document; reports from other sessions are then stale."""
    worlds: Map[str, str] = Map()
    """Its latest execution contexts, destroyed or not: name of a world to unique id; the default one has no name."""
    load: LoadState = LoadState()
    """Its document, how far that has loaded, and a navigation in flight."""


class ExecutionContext(Struct, frozen=True, kw_only=True, gc=False):
    """An execution context of a frame; it ends when destroyed, or when its session's contexts are cleared."""

    session_id: SessionId
    clearings_before: int
    """How often the contexts of its session had been cleared before it was created."""


class Page(Struct, frozen=True, kw_only=True, gc=False):
    """A target of type page, with its frames in all renderer processes."""

    id: TargetId
    number: int
    """Pages are shown in the order in which they appeared."""
    url: str = ""
    title: str = ""
    title_at: float = 0.0
    """When the title was read (wall time)."""
    opener_id: TargetId | None = None
    context_id: BrowserContextId | None = None
    session_id: SessionId | None = None
    generation: int = 0
    dialogs: tuple[Dialog, ...] = ()
    recent: tuple[Dialog, ...] = ()
    frames: Map[str, Frame] = Map()
    children: Map[str, Map[str, None]] = Map()
    """Child frames by the id of their parent frame, which may not be known yet."""
    last_frame: int = 0
    left_out: int = 0
    """The number of frames beyond the limit, which are not kept."""
    contexts: Map[str, ExecutionContext] = Map()
    """By their unique ids: contexts of known frames, and of frames that no event has reported yet."""
    early_contexts: Map[str, Map[str, str]] = Map()
    """The contexts of the latter: frame id to its worlds."""
    early_load: LoadState = LoadState()
    """The load state of the main frame, until the frame is known: its tree may be read only after a navigation."""
    context_clearings: Map[SessionId, int] = Map()
    """How often the contexts of each session were cleared (`Runtime.executionContextsCleared`)."""
    crashed: Instant | None = None
    crashed_after: int = 0
    """The last ticket before the crash was known: a reply to a later one comes from a new renderer process."""
    blocked: Instant | None = None
    """Since when its setup is unanswered while no dialog of it was seen."""
    silent_since: Instant | None = None
    """Since when a setup of it is unanswered, over all links; None once it answered."""
    blocked_sessions: Map[SessionId, Instant] = Map()
    """The sessions of out-of-process iframes with an unanswered setup, and since when."""
    busy_sessions: Map[SessionId, Instant] = Map()
    """The sessions of renderers that did not answer while a call waited, and since when."""
    stale: bool = True
    """True until its frame tree was read on this link."""
    remedy_pending: bool = False
    """True while a command of ours that ends its dialogs is under way: a navigation or a remedy."""
    leaving: bool = False
    """True if it waits for the answer to a `beforeunload` dialog that no session saw: only its end frees it."""
    pending_url: str = ""
    """The address of the main frame's navigation in flight; empty if there is none."""
    pending_post: bool = False
    """True if that navigation submits a form with POST."""
    requested: tuple[str, bool] = ("", False)
    """The address that the page last asked to be navigated to, and whether by a form with POST."""
    noted: frozenset[str] = frozenset()
    """The warnings about it that were logged: each once."""
    freed_by: str = ""
    """How it is being freed from a dialog that would end the browser."""
    fragile: Instant | None = None
    """Since when its next dialog or navigation would end the browser."""


class Attachment(Struct, frozen=True, kw_only=True, gc=False):
    """A session with its target, its page and the state of its setup."""

    session_id: SessionId
    target_id: TargetId
    type: str
    parent: SessionId | None
    page_id: TargetId | None
    primary: bool
    """True if its events are used. One session per target is primary: a second one repeats all events (fact 47)."""
    waiting: bool = False
    set_up: bool = False
    """True once its setup was sent."""
    tries: int = 0
    """Attempts to read its frame tree after the first one."""


class Ticket(Struct, frozen=True, kw_only=True, gc=False):
    """The purpose of a command that was sent."""

    purpose: str
    session_id: SessionId | None
    since: Instant
    page_id: TargetId | None = None
    dialog_id: str = ""
    call_id: str = ""
    request_id: int = 0
    """The request that is answered when a remedy ends."""
    extension: str = ""
    tag: str = ""
    """The extension that sent the command, and its tag for the reply."""


class CallRecord(Struct, frozen=True, kw_only=True):
    """A call, from its request to its answer."""

    id: str
    number: int
    method: str
    session_id: SessionId | None
    page_id: TargetId | None
    since: Instant
    ticket: int = 0
    waiting_request: Call | None = None
    """The request, while it is not sent because its frame has no execution context yet."""
    due: float | None = None
    """When its time is over."""
    timeout: float | None = None
    """How long its caller waits, for the error."""
    probe: int = 0
    """The ticket of the probe that checks whether the renderer answers at all; 0: not sent."""
    request_id: int | None
    raises: bool
    """True if a dialog ends the request at once, with BlockedByDialog."""
    blocked: bool = False
    held_by: str = ""
    """The dialog that its policy is about to answer, so that the request is not ended with BlockedByDialog."""
    reported: int = 0
    """The number of the last dialog that its caller was told of."""
    ended: tuple[Any, Exception | None] | None = None
    """Its value or error, kept while no request waits for it."""


class LinkState(Struct, frozen=True, kw_only=True):
    """The state of the link."""

    phase: str = "connecting"
    """`connecting`, `up`, `down` (it will reconnect), `gave_up`, `stopped`."""
    reason: str = ""
    since: Instant = NOWHEN
    failures: int = 0
    """Consecutive failures to connect."""
    owned: bool = True
    browser_id: str | None = None
    browser_changed: bool = False
    browser_ids_known: bool = False
    """True if the browser's id shows whether it is the browser of the previous link."""
    unsupported: str = ""
    """Why the peer is not a browser that can be supervised."""
    listed: bool = False
    """True once the targets of this link are known."""
    pages_before: int = 0
    """Pages with a number up to this one are older than this link."""
    unanswered: int = 0
    """Consecutive keepalive commands without a reply."""
    last_sent: float = 0.0


class HostedExtension(Struct, frozen=True, kw_only=True):
    """An extension of the embedder, and its state."""

    extension: Extension[Any]
    state: Any
    off: str = ""
    """Why it was disabled; empty while it runs."""
    timed: bool = False
    """True while it has a deadline."""
    folds: bool = False
    """True if it only collects events (see `FoldingExtension`)."""
    unsent: int = 0
    """Consecutive commands with a tag that could not be sent."""
    sent_at_stop: int = 0
    """Commands since `Stopping`."""
    claims: bool = False
    """True once it claimed requests: what it holds is released when it is disabled."""


class State(Struct, frozen=True, kw_only=True):
    """The whole state of one supervisor."""

    policy: Policy
    scope: Scope
    reconnect: Reconnect
    keepalive: float | None
    limits: Limits
    adopting: bool
    """True if another client opens the sessions, and the supervisor only follows them."""
    now: float = 0.0
    generation: int = 1
    sequence: int = 0
    link: LinkState = LinkState()
    pages: Map[TargetId, Page] = Map()
    page_of: Map[SessionId, TargetId] = Map()
    """What the events of each primary session are about: a page, or a worker that belongs to no page."""
    sessions: Map[SessionId, Attachment] = Map()
    primary_on: Map[TargetId, SessionId] = Map()
    """The primary session of each target."""
    also_on: Map[TargetId, tuple[SessionId, ...]] = Map()
    """Further sessions on a target, the oldest first: the next one becomes primary when the primary one ends."""
    opened: tuple[SessionId, ...] = ()
    """The sessions that the supervisor opened with `Target.attachToTarget`: it has to end them."""
    adrift: Map[TargetId, TargetId] = Map()
    """Frames, with their pages, that lost their session with another one: no event reported the end of the frame."""
    dialog_on: Map[str, TargetId] = Map()
    tickets: Map[int, Ticket] = Map()
    calls: Map[str, CallRecord] = Map()
    ended_calls: tuple[str, ...] = ()
    waiting_calls: tuple[str, ...] = ()
    held_calls: tuple[str, ...] = ()
    """The calls that wait for a policy to answer the dialog that blocks them."""
    deadlines: Deadlines = ()
    deadline_of: Map[Key, float] = Map()
    titles_wanted: tuple[TargetId, ...] = ()
    titles_asked: tuple[TargetId, ...] = ()
    """Pages whose title is asked for next, and those whose title was asked for last."""
    departed: tuple[Dialog, ...] = ()
    """The most recent dialogs of pages that are gone."""
    focus: TargetId | None = None
    only_page: TargetId | None = None
    """The page that is used if none is named, because it was the only one."""
    page_gone: tuple[TargetId, str] | None = None
    """The page that was focused, or was the only one, and why it is gone."""
    last_ticket: int = 0
    last_dialog: int = 0
    last_call: int = 0
    last_page: int = 0
    stopping: int | None = None
    """The id of the `Stop` request, while it is under way."""
    freed: tuple[str, ...] = ()
    """Pages that were freed from a dialog that would have ended the browser, and how."""
    totals: Map[str, int] = Map()
    extensions: tuple[HostedExtension, ...] = ()
    extension_events: frozenset[str] = frozenset()
    extensions_listen: bool = False
    """True if an extension is fed inputs other than events: one without `fold`."""


def initial_state(
    *,
    policy: Policy | None = None,
    scope: Scope | None = None,
    reconnect: Reconnect | None = None,
    keepalive: float | None = 60.0,
    limits: Limits | None = None,
    adopting: bool = False,
    extensions: tuple[Extension[Any], ...] = (),
) -> State:
    """Return the state before the first input. Raises InvalidPolicy if an option is invalid."""
    for name, given, kind in (
        ("policy", policy, Policy),
        ("scope", scope, Scope),
        ("reconnect", reconnect, Reconnect),
        ("limits", limits, Limits),
    ):
        if given is not None and not isinstance(given, kind):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidPolicy(f"{name} must be a {kind.__name__}, not {type(given).__name__}")
    if keepalive is not None and not is_time(keepalive):
        raise InvalidPolicy(
            f"keepalive must be a positive number of seconds, or None for never, not {shown(keepalive)}"
        )
    for extension in extensions:
        _check_extension(extension)
    names = [extension.name for extension in extensions]
    if len(set(names)) < len(names):
        raise InvalidPolicy(f"Two extensions have the same name; the names are {', '.join(sorted(names))}")
    return State(
        policy=policy or Policy(),
        scope=scope or Scope.browser(),
        reconnect=reconnect or Reconnect(),
        keepalive=keepalive,
        limits=limits or Limits(),
        adopting=adopting,
        extensions=tuple(map(_hosted, extensions)),
        extensions_listen=not all(callable(getattr(extension, "fold", None)) for extension in extensions),
        extension_events=frozenset[str]().union(*(extension.events for extension in extensions)),
    )


def _hosted(extension: Extension[Any]) -> HostedExtension:
    """Return an extension with its first state; one that raises there is disabled from the start."""
    state, off = None, ""
    try:
        state = extension.initial()
    except Exception as error:  # noqa: BLE001 - the embedder's code: only the extension is disabled
        off = f"its initial raised {type(error).__name__}"
    return HostedExtension(extension=extension, state=state, off=off, folds=callable(getattr(extension, "fold", None)))


def _check_extension(extension: object) -> None:
    """Raise InvalidPolicy unless this has the members of an `Extension`."""
    functions = ("initial", "step", "next_deadline", "view")
    if isinstance(extension, type):
        raise InvalidPolicy(f"{extension.__name__} is a class; give an instance of it, {extension.__name__}()")
    missing = [name for name in functions if not callable(getattr(extension, name, None))]
    name, events = getattr(extension, "name", None), getattr(extension, "events", None)
    missing += [] if isinstance(name, str) else ["name"]
    listed = isinstance(events, (frozenset, set)) and all(isinstance(each, str) for each in events)  # pyright: ignore[reportUnknownVariableType]
    missing += [] if listed else ["events (a frozenset of methods)"]
    if missing:
        raise InvalidPolicy(f"{type(extension).__name__} is not an extension: it lacks {', '.join(missing)}")
