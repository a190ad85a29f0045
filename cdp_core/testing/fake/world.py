"""A fake browser as a whole: all that it is made of, its time, and the one place through which everything is said.

`World.emit` and `World.reply` say in which order things may reach a client. Neither this nor any module above knows an
event loop, a socket or a clock.


Every id a fake browser gives out: made of its seed, the kind and a counter, so that a seed gives the same bytes.

Not of a random generator: what a generator gives may differ between versions of Python, and a run must not.
"""

from __future__ import annotations

import hashlib
import heapq
import json
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from cdp_core.sansio.messages import Json
from cdp_core.testing.fake.model.parts import (
    Client,
    Context,
    Dialog,
    DocumentSettings,
    Frame,
    Renderer,
    Session,
    Target,
    UnloadBehaviour,
)

if TYPE_CHECKING:
    from cdp_core.testing.fake.model.fetching import InterceptedRequest


Profile = Literal["headless-new", "headless-shell"]
MAX_RUNTIME_EVENTS: Final = 1000
BROWSER_PAGE_EVENTS: Final = frozenset(
    f"Page.{name}"
    for name in (
        "frameStartedNavigating",
        "frameStartedLoading",
        "frameStoppedLoading",
        "javascriptDialogOpening",
        "javascriptDialogClosed",
    )
)
"""What the browser itself tells those who have Page enabled."""
DIALOG_EVENTS: Final = frozenset(("Page.javascriptDialogOpening", "Page.javascriptDialogClosed"))
HANDLE_DIALOG: Final = "Page.handleJavaScriptDialog"
UNORDERED_EVENTS: Final = frozenset(
    (
        "Page.domContentEventFired",
        "Page.frameDetached",
        "Page.loadEventFired",
        "Runtime.executionContextCreated",
        "Runtime.executionContextDestroyed",
    )
)
"""What a renderer sends to its sessions when it has done something, and not at once: to which first is chance (fact 38)."""
ERROR_PAGE: Final = "chrome-error://chromewebdata/"
PROFILES: Final[tuple[Profile, ...]] = ("headless-new", "headless-shell")


class Clock(Protocol):
    """What lets time pass in a browser, by another time than the browser's own."""

    def catch_up(self) -> None:
        """Let the time pass that has passed: somebody is about to let pages act."""
        ...

    def time_changed(self) -> None:
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
        self.tab_positions: list[int] = []
        """Where there are tabs, in order."""
        self.workers: dict[str, Target] = {}
        """Those among the targets that are workers."""
        self.page_independent: dict[str, Target] = {}
        """Those among them that are of no document alone."""
        self.on_documents_left: Callable[[Iterable[tuple[Frame, int]], bool], None] = lambda _documents, _keep: None
        """Told which documents of frames are left, and whether they are kept to be come back to."""
        self.on_page_replaced: Callable[[Frame, Frame], None] = lambda _old, _new: None
        """Told that a page goes on in another target, with another frame."""
        self.frames: dict[str, Frame] = {}
        self.dialogs: list[Dialog] = []
        self.discoverers: list[Session] = []
        """The sessions that are told of every target."""
        self.latency: Callable[[str], float] = at_once
        """How long a server takes for a document."""
        self.closed = False
        self.renderers = 0
        self.target_count = 0
        """How many targets."""
        self.documents = 0
        """How many there were."""
        self.requests: list[InterceptedRequest] = []
        """Those that somebody may hold."""
        self.fetch_jobs = 0
        self.fetch_streams = 0
        self.logical_time = 0
        """How often a navigation began, or auto-attach."""
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

    def renderer_for(self, page: Target, site: str) -> Renderer:
        """The process in which a page, or a window that it can reach, shows documents of a site."""
        if "//" not in site:
            return self.new_renderer()
        found = page.renderers.get(site)
        if found is None or not found.targets or any(each.crashed for each in found.targets):
            found = page.renderers[site] = self.new_renderer()
        return found

    def new_document(self, frame: Frame) -> None:
        """A frame has a document that was not there before."""
        self.documents += 1
        frame.document = frame.route_set_at = self.documents
        frame.unload_behaviour = UnloadBehaviour()
        frame.adopts_site = frame.url == "about:blank" if frame.loader else frame.adopts_site
        frame.adopted_site, frame.next_document = "", ("", "")
        frame.settings = DocumentSettings(csp_bypassed=any(session.bypasses_csp for session in frame.target.sessions))

    def loader_of(self, frame: Frame) -> str:
        """The loader of a document; the empty one that a frame began with has got one as soon as somebody asks."""
        if not frame.loader and not frame.first_loader:
            frame.first_loader = self.ids.new("loader")
        return frame.loader or frame.first_loader

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
        message = addressed(session, {"method": method, "params": params})
        line, renderer = order_keys(session.id)
        if at_once:
            after = (line, *about)
        elif method in UNORDERED_EVENTS:
            behind = (line, *behind)
            session.client.streams.add(
                session.id, method, packed(message), after=(renderer,), behind=behind, beside=about
            )
            return
        elif method.startswith("Target."):
            after = (line, renderer, *about)
        else:
            after, behind = (renderer, *about), (line, *behind)
        if method in DIALOG_EVENTS:
            after = (*after, ("dialogs", session.id))
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
            if domain in session.domains and not (
                session.page_known_to and domain == "Page" and _is_withheld(session, method)
            ):
                self.emit(session, method, params, *about, behind=behind)

    def reply(
        self,
        session: Session,
        command_id: int,
        method: str,
        outcome: Json,
        *,
        since: int | None = None,
        by_both: bool = False,
    ) -> None:
        """Answer a command with `{"result": …}` or `{"error": …}`; one of a session that has ended is never answered.

        The renderer's replies are in line with its events. One of the browser's own process, which began when `since`
        messages had been said, comes after what it caused, and may overtake the renderer's. One that `both` have a part in
        comes when it comes, behind what the browser's own process has said. What an answer to a dialog came to is in line
        with what is told of dialogs: who carries it out tells of them.
        """
        session.in_flight.pop(command_id, None)
        if not session.open or not session.client.connected:
            return
        error = outcome.get("error")
        session.client.outcomes[session.id, command_id] = 0 if error is None else error["code"]
        message = addressed(session, {"id": command_id, **outcome})
        (line, renderer), own = order_keys(session.id), ("replies", session.id)
        if by_both:
            session.client.streams.add(session.id, f"reply to {method}", packed(message), after=(own,), behind=(line,))
        elif since is None:
            session.client.streams.add(
                session.id, f"reply to {method}", packed(message), after=(renderer,), behind=(line,)
            )
        else:
            session.client.streams.add(
                session.id,
                f"reply to {method}",
                packed(message),
                after=(own, ("dialogs", session.id)) if method == HANDLE_DIALOG else (own,),
                before=(line,),
                since=since,
            )

    # ── later ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def soon(self, act: Callable[[], None]) -> None:
        """Do something when what is done now has been answered, and what was to be done before it."""
        self._soon.append(act)

    def run_soon(self) -> None:
        """Now everything was answered."""
        while self._soon:
            self._soon.popleft()()

    def emit_runtime_event(self, target: Target, method: str, params: Json, *about: Hashable) -> None:
        """Say an event of the Runtime domain, and keep it for those who enable it later."""
        del target.runtime_events[: len(target.runtime_events) - MAX_RUNTIME_EVENTS + 1]
        target.runtime_events.append((method, params))
        self.emit_to(target, "Runtime", method, params, *about)

    # ── time ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def after(self, seconds: float, act: Callable[[], None]) -> None:
        """Do something later."""
        self._timed += 1
        heapq.heappush(self._timers, (self.now + seconds, self._timed, act))
        self._notify_clocks()

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
            self.run_soon()
        self.now = to
        self._notify_clocks()

    def catch_up(self) -> None:
        """Let the time pass that has passed by the clocks."""
        for clock in self.clocks:
            clock.catch_up()

    def _notify_clocks(self) -> None:
        for clock in self.clocks:
            clock.time_changed()

    @property
    def timestamp(self) -> float:
        """The monotonic time of events, in seconds."""
        return round(1000.0 + self.now, 6)

    # ── coming and going ─────────────────────────────────────────────────────────────────────────────────────────────

    def add_target(self, target: Target) -> None:
        """A target is there."""
        self.target_count += 1
        target.number = self.target_count
        self.targets[target.id] = target
        if target.frame is not None:
            target.renderer.targets[target] = None
        if target.parent_frame is not None:
            target.parent_frame.target.child_targets[target.id] = target
        if target.opener is not None and target.can_access_opener:
            target.opener.target.page.opened[target.id] = target

    def remove_target(self, target: Target) -> None:
        """It is there no more."""
        target.gone = True
        self.targets.pop(target.id, None)
        target.renderer.targets.pop(target, None)
        if target.parent_frame is not None:
            target.parent_frame.target.child_targets.pop(target.id, None)
        if target.opener is not None:
            target.opener.target.page.opened.pop(target.id, None)

    def add_worker(self, worker: Target) -> None:
        """A document asked for a worker, which will be there."""
        self.workers[worker.id] = worker
        if worker.parent_frame is None:
            self.page_independent[worker.id] = worker
        else:
            worker.parent_frame.workers[worker.id] = worker

    def remove_worker(self, worker: Target) -> None:
        """It ended, or never came."""
        self.workers.pop(worker.id, None)
        self.page_independent.pop(worker.id, None)
        if worker.parent_frame is not None:
            worker.parent_frame.workers.pop(worker.id, None)

    # ── finding ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def roots(self) -> Iterator[Session]:
        """The root sessions of those who are connected, and their further sessions of the browser."""
        for client in self.clients:
            if client.connected:
                yield client.root
                yield from tuple(client.browser_sessions)

    def pages(self) -> list[Target]:
        """Every page, in the order of opening."""
        return [target for target in self.targets.values() if target.type == "page"]


def _is_withheld(session: Session, method: str) -> bool:
    """Whether it is said by the one who does not know, or not any more, that the session listens."""
    return (method in BROWSER_PAGE_EVENTS) != (session.page_known_to == "browser")


def at_once(_url: str) -> float:
    """Servers take no time, unless a script says so."""
    return 0


def order_keys(session_id: str | None) -> tuple[Hashable, Hashable]:
    """What the browser says on a session is in line, and so is what its renderer says, which comes behind it."""
    return ("session", session_id), ("renderer", session_id)


def addressed(session: Session, message: Json) -> Json:
    """A message as it is said on a session: with its id, or inside of one of the session above where it is not flat."""
    if session.flat:
        if session.id is not None:
            message["sessionId"] = session.id
        return message
    assert session.parent is not None
    assert session.target is not None
    inside = {"sessionId": session.id, "message": packed(message).decode(), "targetId": session.target.id}
    return addressed(session.parent, {"method": "Target.receivedMessageFromTarget", "params": inside})


def packed(message: Any) -> bytes:
    """A message as it stands on the wire: ASCII, as Chromium writes it."""
    return json.dumps(message, separators=(",", ":")).encode()


class Ids:
    """Ids of one browser."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._given: Counter[str] = Counter()

    def new(self, kind: str) -> str:
        """32 hexadecimal digits in upper case, as Chromium writes the ids of targets, sessions, frames and loaders."""
        return self._digest(kind).hex().upper()[:32]

    def uuid(self, kind: str) -> str:
        """In the form of the path of a browser's WebSocket."""
        text = self._digest(kind).hex()
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:32]}"

    def unique(self, kind: str) -> str:
        """Two signed 64-bit numbers with a point between, as execution contexts have them."""
        octets = self._digest(kind)
        halves = (int.from_bytes(octets[start : start + 8], "big", signed=True) for start in (0, 8))
        return ".".join(map(str, halves))

    def _digest(self, kind: str) -> bytes:
        self._given[kind] += 1
        text = f"{self._seed}/{kind}/{self._given[kind]}"
        return hashlib.blake2b(text.encode(), digest_size=16).digest()
