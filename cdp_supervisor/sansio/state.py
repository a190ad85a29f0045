"""All that the machine knows, as one frozen value, cut by page.

An event about one page makes a new record of that page, and a new map that shares the rest. Nothing here decides anything.

Whoever holds a `State` may read it from any thread, for ever: nothing in it changes. Maps are persistent ones, so that
the ten-thousandth page costs no more than the tenth.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import attrs
from immutables import Map

from cdp_core.sansio.messages import BrowserContextId, SessionId, TargetId
from cdp_core.sansio.structs import Struct
from cdp_supervisor.errors import InvalidPolicy
from cdp_supervisor.sansio.deadlines import Deadlines, Entry, entries
from cdp_supervisor.sansio.dialog_table import Phase
from cdp_supervisor.sansio.inputs import Instant
from cdp_supervisor.sansio.options import Limits, Policy, Reconnect, Scope, is_time, shown
from cdp_supervisor.sansio.requests import Call

if TYPE_CHECKING:
    from cdp_supervisor.sansio.extensions import Extension

NOWHEN: Final = Instant(mono=0.0)


@attrs.frozen(kw_only=True)
class Deadline:
    """When the machine wants to be woken, and why."""

    at: float
    why: str


class Dialog(Struct, frozen=True, kw_only=True, gc=False):
    """A native dialog. Its phases are told in dialogs.py."""

    id: str
    target_id: TargetId
    frame_id: str
    session_id: SessionId | None
    type: str
    message: str
    default_prompt: str
    native: bool
    """Whether the browser has a window for it (`hasBrowserHandler`): the two profiles differ (facts 24, 26)."""
    opened: Instant
    generation: int
    phase: Phase = "open"
    by: str = ""
    """Whose answer is on its way: `agent`, `auto_policy` or `watchdog`."""
    accepting: bool = False
    """What that answer says."""
    why: str = ""
    """Why nobody can answer it."""
    since_ticket: int = 0
    """What was sent before its phase began has a number up to this one."""
    held: bool = False
    """Another one is open on the page, and one of the two is about to end: it is not answered by itself before that."""
    overdue: bool = False
    deadline: float | None = None
    request_ids: tuple[int, ...] = ()
    closed_by: str = ""
    reason: str = ""
    code: int | None = None
    """The browser's, where it refused an answer."""
    closed: Instant = NOWHEN


class Frame(Struct, frozen=True, kw_only=True, gc=False):
    """A frame of a page."""

    id: str
    number: int
    """Frames are shown in the order of their coming."""
    parent_id: str | None
    session_id: SessionId | None
    """The session that tells of it; an iframe out of process has one of its own."""
    url: str = ""
    name: str = ""
    origin: str = ""
    oopif: bool = False
    reported: bool = False
    """Whether its own session has said what it shows: what others say of it is older."""
    context: str = ""
    """The one that was told of last, ended or not, by its unique id."""
    loader: str = ""
    """Of its document: another one is another document."""


class ExecutionContext(Struct, frozen=True, kw_only=True, gc=False):
    """Where scripts of a frame run: an execution context, which ends when that is told, or with all of its session."""

    session_id: SessionId
    clearings_before: int
    """So many times had all of that session ended before."""


class Page(Struct, frozen=True, kw_only=True, gc=False):
    """A page: what `Target` calls so, with its frames, in whichever process they are."""

    id: TargetId
    number: int
    """Pages are shown in the order of their coming."""
    url: str = ""
    title: str = ""
    opener_id: TargetId | None = None
    context_id: BrowserContextId | None = None
    session_id: SessionId | None = None
    generation: int = 0
    dialogs: tuple[Dialog, ...] = ()
    recent: tuple[Dialog, ...] = ()
    frames: Map[str, Frame] = Map()
    children: Map[str, Map[str, None]] = Map()
    """Frames by the frame above, whether or not that one is known yet."""
    last_frame: int = 0
    left_out: int = 0
    """Frames beyond the limit."""
    contexts: Map[str, ExecutionContext] = Map()
    """By their unique ids: those of frames that are there, or are still to be told of."""
    early_contexts: Map[str, str] = Map()
    """The contexts of the latter."""
    context_clearings: Map[SessionId, int] = Map()
    """How often all contexts of a session ended together."""
    crashed: Instant | None = None
    crashed_after: int = 0
    """The last ticket before that was known: an answer to a later one is of another process."""
    blocked: Instant | None = None
    """Since when its setup is unanswered, with no dialog of it seen."""
    blocked_sessions: Map[SessionId, Instant] = Map()
    """The sessions of frames out of process whose setup is unanswered, and since when."""
    busy_sessions: Map[SessionId, Instant] = Map()
    """The sessions whose renderers did not answer while a call waited for one, and since when."""
    stale: bool = True
    """Whether the tree is still to be read."""
    remedy_pending: bool = False
    """Whether something of ours is on its way that ends its dialogs: a navigation, a cure."""


class Attachment(Struct, frozen=True, kw_only=True, gc=False):
    """A session, and what it is for."""

    session_id: SessionId
    target_id: TargetId
    type: str
    parent: SessionId | None
    page_id: TargetId | None
    primary: bool
    """Whether it is the one that is listened to: a second one on the same target says everything again (fact 47)."""
    waiting: bool = False
    set_up: bool = False
    """Whether its setup was sent."""
    tries: int = 0
    """Of its frame tree, beyond the first."""


class Ticket(Struct, frozen=True, kw_only=True, gc=False):
    """Why something was sent."""

    purpose: str
    session_id: SessionId | None
    since: Instant
    page_id: TargetId | None = None
    dialog_id: str = ""
    call_id: str = ""


class CallRecord(Struct, frozen=True, kw_only=True):
    """A call of somebody."""

    id: str
    method: str
    session_id: SessionId | None
    page_id: TargetId | None
    since: Instant
    ticket: int = 0
    waiting_request: Call | None = None
    """What is asked, while it is not sent: the scripts of its frame have nowhere to run yet."""
    probe: int = 0
    """The ticket of the question whether its renderer answers anything; 0: it was not asked."""
    request_id: int | None
    raises: bool
    """Whether it is to be told of a dialog at once."""
    blocked: bool = False
    ended: tuple[Any, Exception | None] | None = None
    """Its value or error, where nobody waited for it."""


class LinkState(Struct, frozen=True, kw_only=True):
    """How the link is."""

    phase: str = "connecting"
    """`connecting`, `up`, `down` (to be dialled again), `gave_up`, `stopped`."""
    reason: str = ""
    since: Instant = NOWHEN
    failures: int = 0
    """In a row."""
    owned: bool = True
    browser_id: str | None = None
    browser_changed: bool = False
    browser_ids_known: bool = False
    """Whether the browser's own id says if it is the one of before."""
    unsupported: str = ""
    """Why what answers is no browser that can be supervised."""
    listed: bool = False
    """Whether the targets of this link have been told."""
    pages_before: int = 0
    """Pages with a number up to this one are older than this link."""
    unanswered: int = 0
    """Keepalives in a row."""
    last_sent: float = 0.0


class HostedExtension(Struct, frozen=True, kw_only=True):
    """An extension of the embedder, and its state."""

    extension: Extension[Any]
    state: Any
    off: str = ""
    """Why it was switched off."""
    timed: bool = False
    """Whether it waits for a time."""
    folds: bool = False
    """Whether it only keeps events (see `FoldingExtension`)."""


class State(Struct, frozen=True, kw_only=True):
    """Everything."""

    policy: Policy
    scope: Scope
    reconnect: Reconnect
    keepalive: float | None
    limits: Limits
    adopting: bool
    """Whether sessions are opened by somebody else, and only followed here."""
    now: float = 0.0
    """The latest moment that was seen."""
    generation: int = 1
    sequence: int = 0
    link: LinkState = LinkState()
    pages: Map[TargetId, Page] = Map()
    page_of: Map[SessionId, TargetId] = Map()
    """What is told of on the sessions that are listened to: a page, or a worker that belongs to none."""
    sessions: Map[SessionId, Attachment] = Map()
    primary_on: Map[TargetId, SessionId] = Map()
    """The session that is listened to, by target."""
    also_on: Map[TargetId, tuple[SessionId, ...]] = Map()
    """Further sessions on a target, the oldest first: the next one is listened to when that one ends."""
    adrift: Map[TargetId, TargetId] = Map()
    """Frames, with their pages, whose session ended with another one's: nothing was said of the frame itself."""
    dialog_on: Map[str, TargetId] = Map()
    """The page of each pending dialog."""
    tickets: Map[int, Ticket] = Map()
    calls: Map[str, CallRecord] = Map()
    ended_calls: tuple[str, ...] = ()
    waiting_calls: tuple[str, ...] = ()
    """Those that are not sent yet."""
    deadlines: Deadlines = ()
    """What is to be done when."""
    deadline_of: Map[str, float] = Map()
    departed: tuple[Dialog, ...] = ()
    """The last dialogs of pages that are gone."""
    focus: TargetId | None = None
    only_page: TargetId | None = None
    """The page that was the only one, and so was meant where none was named."""
    page_gone: tuple[TargetId, str] | None = None
    """The page that was focused, and why it is gone."""
    last_ticket: int = 0
    last_dialog: int = 0
    last_call: int = 0
    last_page: int = 0
    stopping: int | None = None
    """The ask that wants the end."""
    totals: Map[str, int] = Map()
    extensions: tuple[HostedExtension, ...] = ()
    extension_events: frozenset[str] = frozenset()
    """The events that a machine of somebody else's wants."""

    @property
    def deadline_entries(self) -> tuple[Entry, ...]:
        """(when, key, why), the next one first."""
        return tuple(entries(self.deadlines))


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
    """Before anything happened. Raises InvalidPolicy where an option is none."""
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
        raise InvalidPolicy(f"Two extensions have one name; the names are {', '.join(sorted(names))}")
    return State(
        policy=policy or Policy(),
        scope=scope or Scope.browser(),
        reconnect=reconnect or Reconnect(),
        keepalive=keepalive,
        limits=limits or Limits(),
        adopting=adopting,
        extensions=tuple(
            HostedExtension(
                extension=extension, state=extension.initial(), folds=callable(getattr(extension, "fold", None))
            )
            for extension in extensions
        ),
        extension_events=frozenset[str]().union(*(extension.events for extension in extensions)),
    )


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
