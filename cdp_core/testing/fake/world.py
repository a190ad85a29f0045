"""What a fake browser is made of: processes, contexts, targets, frames, dialogs; clients and their sessions.

Plain objects that change, and the one place through which everything is said (`World.emit`, `World.reply`). What
happens to them is told in the modules above: `targets.py` (attach, create, close, crash), `frames.py` (navigation, the
tree), `dialogs.py`, `evaluate.py`. None of these knows an event loop, a socket or a clock.
"""

from __future__ import annotations

import heapq
import json
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterator
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

import attrs

from cdp_core.sansio.wire import Json
from cdp_core.testing.fake.addresses import failure_of, is_trustworthy, origin_of, site_of, title_of
from cdp_core.testing.fake.history import History
from cdp_core.testing.fake.ids import Ids
from cdp_core.testing.fake.streams import Streams

if TYPE_CHECKING:
    from cdp_core.testing.fake.fetching import Asked, Interceptor, Request

__all__ = [
    "AutoAttach",
    "Client",
    "Clock",
    "Context",
    "Dialog",
    "Frame",
    "IsolatedWorld",
    "Load",
    "Profile",
    "Renderer",
    "Session",
    "Target",
    "World",
    "failure_of",
    "is_trustworthy",
    "origin_of",
    "site_of",
    "title_of",
]

Profile = Literal["headless-new", "headless-shell"]
MAX_REMEMBERED: Final = 1000
ERROR_PAGE: Final = "chrome-error://chromewebdata/"
PROFILES: Final[tuple[Profile, ...]] = ("headless-new", "headless-shell")


@attrs.define(eq=False)
class Context:
    """A browser context: a profile without a name."""

    id: str
    owner: Client | None = None
    """The client whose leaving disposes it, where it was made so."""


@attrs.define(eq=False)
class Renderer:
    """A renderer. A dialog stops it, or a request that a script waits for; what its sessions are asked meanwhile waits."""

    number: int
    dialog: Dialog | None = None
    asked: Asked | None = None
    """What a script of it waits for."""
    parked: list[Callable[[], None]] = attrs.Factory(list["Callable[[], None]"])
    contexts: int = 0
    """Execution contexts so far: their ids count per process."""
    isolate: str = ""
    """What the ids of its objects begin with."""
    objects_given: int = 0

    @property
    def stopped(self) -> bool:
        """Whether it runs nothing now."""
        return self.dialog is not None or self.asked is not None


@attrs.define(eq=False)
class IsolatedWorld:
    """A further execution context of a document."""

    id: int
    unique: str
    name: str
    origin: str
    renderer: Renderer


@attrs.define(eq=False)
class Load:
    """The loading of one document: its own script, then the frames that it made."""

    parsed: bool = False


@attrs.define(eq=False)
class Frame:
    """A frame and its document."""

    id: str
    target: Target
    """The target whose session tells of it: the page, or its own where it is out of process."""
    parent: Frame | None
    renderer: Renderer
    url: str = "about:blank"
    name: str = ""
    source: str = "about:blank"
    """What its element asks for."""
    loader: str = ""
    children: list[Frame] = attrs.Factory(list["Frame"])
    context: int = 0
    """The id of the execution context of its document; 0 where there is none yet."""
    context_unique: str = ""
    worlds: list[IsolatedWorld] = attrs.Factory(list["IsolatedWorld"])
    """Its other execution contexts, in the order of making."""
    objects: dict[str, Json] = attrs.Factory(dict["str", "Json"])
    """What clients were given of its document, by id."""
    moments: dict[str, float] | None = None
    """How far its document has come, and when; None for the empty one that it began with."""
    unreachable: str = ""
    """The address that an error page stands for."""
    begun: Json | None = None
    """What is said of that navigation to those who were not there when it began."""
    navigating: str = ""
    """The loader of the navigation that has begun and was not committed yet."""
    load: Load | None = None
    """While its document loads."""
    referrer: str = ""
    """Where its document was asked for from."""
    left: bool = False
    """Another document is there and waits only for this one's process."""
    document: int = 0
    """Which document of the browser it is, by the order of coming."""
    wired: int = 0
    """When the way of its requests was laid, counted as documents are."""
    ended: Callable[[str | None], None] = lambda _why: None
    """Told that the navigation that has begun comes to nothing, and by which failure."""
    mime: str = ""
    """The type of its document, where a client made it."""

    @property
    def busy(self) -> bool:
        """Whether a load event above has to wait for it."""
        return bool(self.navigating) or self.load is not None

    @property
    def origin(self) -> str:
        """Scheme, host and port, or `://` where there are none."""
        return origin_of(self.url)

    def subtree(self) -> Iterator[Frame]:
        """This frame and all below it, parents first."""
        yield self
        for child in self.children:
            yield from child.subtree()


@attrs.define(eq=False)
class Target:
    """A page, an iframe out of process, or a worker."""

    id: str
    type: str
    context: Context
    renderer: Renderer
    url: str = ""
    title: str = ""
    frame: Frame | None = None
    opener: Frame | None = None
    can_access_opener: bool = False
    parent_frame: Frame | None = None
    """For an iframe, the frame above; for a worker, the frame that made it."""
    sessions: list[Session] = attrs.Factory(list["Session"])
    held: set[Session] = attrs.Factory(set["Session"])
    """The sessions that it waits for: it runs when each has said so."""
    when_run: list[Callable[[], None]] = attrs.Factory(list["Callable[[], None]"])
    crashed: bool = False
    closed: bool = False
    tab: Target | None = None
    """The tab of a page."""
    tab_of: Target | None = None
    """The page of a tab; as long as it is there, a tab is shown as its page."""
    strip: Json | None = None
    """Where a tab stands among the others."""
    said: list[tuple[str, Json]] = attrs.Factory(list["tuple[str, Json]"])
    """Console lines and exceptions of its documents, for who enables Runtime later."""
    dialogs: list[Dialog] = attrs.Factory(list["Dialog"])
    """The open ones, oldest first."""
    history: History = attrs.Factory(History)
    """Of a page."""

    @property
    def page(self) -> Target:
        """The top-level target that it belongs to."""
        target = self
        while target.parent_frame is not None:
            target = target.parent_frame.target
        return target

    def info(self) -> Json:
        """As events and results show it."""
        shown = self.tab_of or self
        info: Json = {
            "targetId": self.id,
            "type": self.type,
            "title": shown.title,
            "url": shown.url,
            "attached": bool(self.sessions),
        }
        if self.parent_frame is not None:
            info["parentId"] = self.parent_frame.target.id if self.type == "iframe" else self.parent_frame.id
        if shown.opener is not None:
            info["openerId"] = shown.opener.target.page.id
        info["canAccessOpener"] = shown.can_access_opener
        if shown.opener is not None:
            info["openerFrameId"] = shown.opener.id
        if self.parent_frame is not None:
            info["parentFrameId"] = self.parent_frame.id
        info["browserContextId"] = self.context.id
        return info if self.strip is None else {**info, "embedderData": self.strip}


@attrs.define(eq=False)
class Dialog:
    """A native dialog. It belongs to the page, whichever frame raised it (fact 2)."""

    page: Target
    frame: Frame
    type: str
    message: str
    default_prompt: str
    finish: Callable[[bool, str], None]
    """What the script that raised it goes on with."""
    number: int
    seen_by: set[Session] = attrs.Factory(set["Session"])
    document: int = 0
    """The document whose script raised it."""
    missed_by: tuple[Session, ...] = ()
    """Those that had let the page run, and did not listen."""
    superseded: bool = False
    unreachable: bool = False
    """It was raised in a document that is being left (fact 22)."""
    open: bool = True
    accepted: bool | None = None
    closed_by: Client | None = None


@attrs.frozen(kw_only=True)
class AutoAttach:
    """What a session asked for with `Target.setAutoAttach`."""

    wait: bool
    filter: tuple[Json, ...]


@attrs.define(eq=False)
class Session:
    """A session of a client; the root session has no id and no target, a further one of the browser no target either."""

    client: Client
    id: str | None
    target: Target | None
    parent: Session | None
    domains: set[str] = attrs.Factory(set["str"])
    auto_attach: AutoAttach | None = None
    in_flight: dict[int, str] = attrs.Factory(dict["int", "str"])
    """The ids of unanswered commands; with the method where the renderer is to answer."""
    automatic: bool = False
    """Whether auto-attach opened it: these end when it is switched off."""
    interceptor: Interceptor | None = None
    """Where it has Fetch enabled."""
    held: bool = False
    """Whether its target had to wait for it, at first."""
    discovers: tuple[Json, ...] = ()
    """The filter of what it is told of."""
    scripts: dict[str, str] = attrs.Factory(dict["str", "str"])
    """Those for new documents: the names of the worlds that they run in, nothing for a page's own."""
    scripts_added: int = 0
    browser_id: str = ""
    """Of the target that a further session of the browser is of."""
    open: bool = True

    @property
    def name(self) -> str:
        """For messages to people."""
        return f"session {self.id[:8]}" if self.id else "the root session"


@attrs.define(eq=False)
class Client:
    """One connection."""

    number: int
    streams: Streams = attrs.Factory(Streams)
    sessions: dict[str | None, Session] = attrs.Factory(dict["str | None", "Session"])
    connected: bool = True
    page: Target | None = None
    """Where it connected to a page's own address."""
    outcomes: dict[tuple[str | None, int], int] = attrs.Factory(dict["tuple[str | None, int]", "int"])
    """How commands were answered, by session and id: 0 for a result, else the code of the refusal."""
    ended: dict[str, str] = attrs.Factory(dict["str", "str"])
    """Sessions that have ended, and the one at or above each whose end was told."""
    on_end: Callable[[], None] = lambda: None
    target_id: str = ""
    """Of the target that it itself is."""

    @property
    def root(self) -> Session:
        """The root session."""
        return self.sessions[None]

    def end(self) -> None:
        """It is connected no more."""
        self.connected = False
        self.on_end()


class Clock(Protocol):
    """What lets time pass in a browser, by another time than the browser's own."""

    def catch_up(self) -> None:
        """Let the time pass that has passed: somebody is about to let pages act."""
        ...

    def look_again(self) -> None:
        """The next time may be another one now, or time was let pass by hand."""
        ...


class World:
    """A browser and those who are connected to it."""

    def __init__(self, *, profile: Profile, seed: int) -> None:
        self.profile: Profile = profile
        self.ids = Ids(seed)
        self.uuid = self.ids.uuid("browser")
        self.now = 0.0
        self.clients: list[Client] = []
        self.contexts: dict[str, Context] = {}
        self.targets: dict[str, Target] = {}
        self.tabs: dict[str, Target] = {}
        self.frames: dict[str, Frame] = {}
        self.dialogs: list[Dialog] = []
        self.discoverers: list[Session] = []
        """The sessions that are told of every target."""
        self.closed = False
        self.renderers = 0
        self.documents = 0
        """How many there were."""
        self.requests: list[Request] = []
        """Those that somebody may hold."""
        self.fetch_jobs = 0
        self.unmodelled: Counter[str] = Counter()
        self.clocks: list[Clock] = []
        """Those that let its time pass."""
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._timed = 0
        self._soon: deque[Callable[[], None]] = deque()
        self.default_context = self.new_context()

    # ── making ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def new_context(self, owner: Client | None = None) -> Context:
        """A browser context."""
        context = Context(self.ids.new("context"), owner)
        self.contexts[context.id] = context
        return context

    def new_renderer(self) -> Renderer:
        """A renderer."""
        self.renderers += 1
        return Renderer(self.renderers)

    def new_document(self, frame: Frame) -> None:
        """A frame has a document that was not there before."""
        self.documents += 1
        frame.document = frame.wired = self.documents

    # ── saying ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def emit(
        self,
        session: Session,
        method: str,
        params: Json,
        *about: Hashable,
        behind: tuple[Hashable, ...] = (),
        at_once: bool = False,
    ) -> None:
        """Say an event on a session; it comes after what was said on it, and of the same things elsewhere.

        Behind what was said of `behind` it comes too, but what is said of that later need not wait for it. The browser
        says a thing `at_once` whatever its renderer is about to say.
        """
        if not session.open or not session.client.connected:
            return
        message: Json = {"method": method, "params": params}
        if session.id is not None:
            message["sessionId"] = session.id
        line, renderer = lines_of(session.id)
        if at_once:
            after = (line, *about)
        elif method.startswith("Target."):
            after = (line, renderer, *about)
        else:
            after, behind = (renderer, *about), (line, *behind)
        session.client.streams.add(session.id, method, packed(message), after=after, behind=behind)

    def emit_to(
        self,
        target: Target,
        domain: str,
        method: str,
        params: Json,
        *about: Hashable,
        behind: tuple[Hashable, ...] = (),
    ) -> None:
        """Say an event on every session of a target that has the domain enabled."""
        for session in tuple(target.sessions):
            if domain in session.domains:
                self.emit(session, method, params, *about, behind=behind)

    def reply(self, session: Session, command_id: int, method: str, outcome: Json, *, since: int | None = None) -> None:
        """Answer a command with `{"result": …}` or `{"error": …}`; one of a session that has ended is never answered.

        The renderer's replies are in line with its events. One of the browser's own process, which began when `since`
        messages had been said, comes after what it caused, and may overtake the renderer's.
        """
        session.in_flight.pop(command_id, None)
        if not session.open or not session.client.connected:
            return
        error = outcome.get("error")
        session.client.outcomes[session.id, command_id] = 0 if error is None else error["code"]
        message: Json = {"id": command_id, **outcome}
        if session.id is not None:
            message["sessionId"] = session.id
        (line, renderer), own = lines_of(session.id), ("replies", session.id)
        if since is None:
            session.client.streams.add(
                session.id, f"reply to {method}", packed(message), after=(renderer,), behind=(line,)
            )
        else:
            session.client.streams.add(
                session.id, f"reply to {method}", packed(message), after=(own,), before=(line,), since=since
            )

    # ── later ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def soon(self, act: Callable[[], None]) -> None:
        """Do something when what is done now has been answered, and what was to be done before it."""
        self._soon.append(act)

    def do_soon(self) -> None:
        """Now everything was answered."""
        while self._soon:
            self._soon.popleft()()

    def remember(self, target: Target, method: str, params: Json, *about: Hashable) -> None:
        """Say an event of the Runtime domain, and keep it for those who enable it later."""
        del target.said[: len(target.said) - MAX_REMEMBERED + 1]
        target.said.append((method, params))
        self.emit_to(target, "Runtime", method, params, *about)

    # ── time ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def after(self, seconds: float, act: Callable[[], None]) -> None:
        """Do something later."""
        self._timed += 1
        heapq.heappush(self._timers, (self.now + seconds, self._timed, act))
        self._tell_clocks()

    def next_time(self) -> float | None:
        """When something happens by itself; None for never."""
        return self._timers[0][0] if self._timers else None

    def advance(self, to: float) -> None:
        """Let time pass, and what is due happen."""
        if to < self.now:
            raise ValueError(f"time does not run backwards: it is {self.now}, not {to}")
        while self._timers and self._timers[0][0] <= to:
            at, _, act = heapq.heappop(self._timers)
            self.now = at
            act()
            self.do_soon()
        self.now = to
        self._tell_clocks()

    def catch_up(self) -> None:
        """Let the time pass that has passed by the clocks."""
        for clock in self.clocks:
            clock.catch_up()

    def _tell_clocks(self) -> None:
        for clock in self.clocks:
            clock.look_again()

    @property
    def timestamp(self) -> float:
        """The monotonic time of events, in seconds."""
        return round(1000.0 + self.now, 6)

    # ── finding ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def roots(self) -> Iterator[Session]:
        """The root sessions of those who are connected, and their further sessions of the browser."""
        for client in self.clients:
            if client.connected:
                yield client.root
                yield from [each for each in client.sessions.values() if each.browser_id]

    def pages(self) -> list[Target]:
        """Every page, in the order of opening."""
        return [target for target in self.targets.values() if target.type == "page"]


def lines_of(session_id: str | None) -> tuple[Hashable, Hashable]:
    """What the browser says on a session is in line, and so is what its renderer says, which comes behind it."""
    return ("session", session_id), ("renderer", session_id)


def packed(message: Any) -> bytes:
    """A message as it stands on the wire: ASCII, as Chromium writes it."""
    return json.dumps(message, separators=(",", ":")).encode()
