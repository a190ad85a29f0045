"""The fake browser as a whole: its parts, its time, its ids, and the one place that sends messages.

`World.emit` and `World.reply` decide in which order messages may reach a client. Neither this module nor any module
above it knows an event loop, a socket or a clock.

`Ids` makes every id that a fake browser gives out, from its seed, the kind and a counter, so that equal seeds give
equal bytes. It uses no random generator: a generator's output may differ between versions of Python, and a run must
not.
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
"""The Page events that the browser process sends; the renderer sends the others."""
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
"""Events that a renderer sends with a delay; which of its sessions gets one first is random (fact 38)."""
ERROR_PAGE: Final = "chrome-error://chromewebdata/"
PROFILES: Final[tuple[Profile, ...]] = ("headless-new", "headless-shell")


class Clock(Protocol):
    """A source of time outside the browser that advances the browser's virtual time."""

    def catch_up(self) -> None:
        """Advance the browser to the clock's time, because pages are about to act."""

    def time_changed(self) -> None:
        """React to a possible change of the next timer, or to an advance by hand."""


class World:
    """A browser, its parts, and the clients that are connected to it."""

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
        self.workers: dict[str, Target] = {}
        # The workers that belong to no single document: shared workers and service workers.
        self.page_independent: dict[str, Target] = {}
        # Called with the documents of frames that are left, and whether they are kept for a restore.
        self.on_documents_left: Callable[[Iterable[tuple[Frame, int]], bool], None] = lambda _documents, _keep: None
        # Called with both frames when another target, with another frame, replaces a page.
        self.on_page_replaced: Callable[[Frame, Frame], None] = lambda _old, _new: None
        self.frames: dict[str, Frame] = {}
        self.dialogs: list[Dialog] = []
        self.discoverers: list[Session] = []
        # How long a server takes for a document, in seconds.
        self.latency: Callable[[str], float] = at_once
        self.closed = False
        self.renderers = 0
        self.target_count = 0
        # How many documents were created; a change of a target's interceptors counts, too.
        self.documents = 0
        # The requests that an interceptor may hold.
        self.requests: list[InterceptedRequest] = []
        self.fetch_jobs = 0
        self.fetch_streams = 0
        # How many navigations began and how many times auto-attach was set: orders the one against the other.
        self.logical_time = 0
        self.unmodelled: Counter[str] = Counter()
        # The clocks that advance its time.
        self.clocks: list[Clock] = []
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._timed = 0
        self._soon: deque[Callable[[], None]] = deque()
        self.default_context = self.new_context()

    # ── creating ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def new_context(self, owner: Client | None = None) -> Context:
        """Create a browser context; it is disposed of when its `owner` disconnects."""
        context = Context(self.ids.new("context"), owner)
        self.contexts[context.id] = context
        return context

    def new_renderer(self) -> Renderer:
        self.renderers += 1
        return Renderer(self.renderers)

    def renderer_for(self, page: Target, site: str) -> Renderer:
        """Return the process in which a page, or a window that it can reach, shows documents of a site."""
        if "//" not in site:
            return self.new_renderer()
        found = page.renderers.get(site)
        if found is None or not found.targets or any(each.crashed for each in found.targets):
            found = page.renderers[site] = self.new_renderer()
        return found

    def new_document(self, frame: Frame) -> None:
        self.documents += 1
        frame.document = frame.route_set_at = self.documents
        frame.unload_behaviour = UnloadBehaviour()
        frame.adopts_site = frame.url == "about:blank" if frame.loader else frame.adopts_site
        frame.adopted_site, frame.next_document = "", ("", "")
        frame.settings = DocumentSettings(csp_bypassed=any(session.bypasses_csp for session in frame.target.sessions))

    def loader_of(self, frame: Frame) -> str:
        """Return the loader of a document; the initial empty document gets one when it is first asked for."""
        if not frame.loader and not frame.first_loader:
            frame.first_loader = self.ids.new("loader")
        return frame.loader or frame.first_loader

    # ── sending ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def emit(
        self,
        session: Session,
        method: str,
        params: Json,
        *about: Hashable,
        behind: tuple[Hashable, ...] = (),
        at_once: bool = False,
    ) -> None:
        """Send an event on a session.

        It comes after the earlier messages of the session, and after the earlier messages about the same things on
        other sessions. It also comes after the messages about `behind`, but a later message about these need not wait
        for it. The browser process sends an event `at_once`, without waiting for what its renderer is about to send.
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
        """Send an event on every session of a target that has the domain enabled."""
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
        """Answer a command with `{"result": …}` or `{"error": …}`, unless its session has ended.

        The renderer's replies are in line with its events. A reply of the browser process, to a command that began
        when `since` messages had been added, comes after what the command caused, and may overtake the renderer's. A
        reply in which `by_both` processes have a part comes after what the browser process has sent, and in no order
        with the renderer's messages. The reply to `Page.handleJavaScriptDialog` is in line with the dialog events,
        since the process that closes the dialog also sends them.
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

    # ── deferred work ────────────────────────────────────────────────────────────────────────────────────────────────

    def soon(self, act: Callable[[], None]) -> None:
        """Call `act` after the present command has its reply, and after everything deferred before."""
        self._soon.append(act)

    def run_soon(self) -> None:
        while self._soon:
            self._soon.popleft()()

    def emit_runtime_event(self, target: Target, method: str, params: Json, *about: Hashable) -> None:
        """Send an event of the Runtime domain, and keep it for sessions that enable Runtime later."""
        del target.runtime_events[: len(target.runtime_events) - MAX_RUNTIME_EVENTS + 1]
        target.runtime_events.append((method, params))
        self.emit_to(target, "Runtime", method, params, *about)

    # ── time ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def after(self, seconds: float, act: Callable[[], None]) -> None:
        self._timed += 1
        heapq.heappush(self._timers, (self.now + seconds, self._timed, act))
        self._notify_clocks()

    def next_time(self) -> float | None:
        """Return when the next timer is due; None if no timer is set."""
        return self._timers[0][0] if self._timers else None

    def advance(self, to: float) -> None:
        """Advance the virtual time, and run the timers that are due by then."""
        if to < self.now:
            raise ValueError(f"time does not run backwards: it is {self.now}, not {to}.")
        while self._timers and self._timers[0][0] <= to:
            at, _, act = heapq.heappop(self._timers)
            self.now = at
            act()
            self.run_soon()
        self.now = to
        self._notify_clocks()

    def catch_up(self) -> None:
        """Let each clock advance the browser to that clock's time."""
        for clock in self.clocks:
            clock.catch_up()

    def _notify_clocks(self) -> None:
        for clock in self.clocks:
            clock.time_changed()

    @property
    def timestamp(self) -> float:
        return round(1000.0 + self.now, 6)

    # ── adding and removing ──────────────────────────────────────────────────────────────────────────────────────────

    def add_target(self, target: Target) -> None:
        """Register a target with its renderer, its parent and its opener."""
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
        """Remove a target from its renderer, its parent and its opener."""
        target.gone = True
        self.targets.pop(target.id, None)
        target.renderer.targets.pop(target, None)
        if target.parent_frame is not None:
            target.parent_frame.target.child_targets.pop(target.id, None)
        if target.opener is not None:
            target.opener.target.page.opened.pop(target.id, None)

    def add_worker(self, worker: Target) -> None:
        """Register a worker that a document asked for; its target appears later."""
        self.workers[worker.id] = worker
        if worker.parent_frame is None:
            self.page_independent[worker.id] = worker
        else:
            worker.parent_frame.workers[worker.id] = worker

    def remove_worker(self, worker: Target) -> None:
        self.workers.pop(worker.id, None)
        self.page_independent.pop(worker.id, None)
        if worker.parent_frame is not None:
            worker.parent_frame.workers.pop(worker.id, None)

    # ── lookup ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def roots(self) -> Iterator[Session]:
        """Yield the root session and the further browser sessions of each connected client."""
        for client in self.clients:
            if client.connected:
                yield client.root
                yield from tuple(client.browser_sessions)

    def pages(self) -> list[Target]:
        return [target for target in self.targets.values() if target.type == "page"]


def _is_withheld(session: Session, method: str) -> bool:
    """Return whether the sender of an event, browser or renderer, takes the session's Page as disabled."""
    return (method in BROWSER_PAGE_EVENTS) != (session.page_known_to == "browser")


def at_once(_url: str) -> float:
    """Return a latency of 0: servers take no time unless a script sets one."""
    return 0


def order_keys(session_id: str | None) -> tuple[Hashable, Hashable]:
    """Return the keys of a session's two lines: the browser process's messages, and its renderer's.

    The renderer's messages come behind the browser's.
    """
    return ("session", session_id), ("renderer", session_id)


def addressed(session: Session, message: Json) -> Json:
    """Return a message with its sessionId, or wrapped for the parent if its session is not flat."""
    if session.flat:
        if session.id is not None:
            message["sessionId"] = session.id
        return message
    assert session.parent is not None
    assert session.target is not None
    inside = {"sessionId": session.id, "message": packed(message).decode(), "targetId": session.target.id}
    return addressed(session.parent, {"method": "Target.receivedMessageFromTarget", "params": inside})


def packed(message: Any) -> bytes:
    """Return a message as on the wire: compact ASCII JSON, as Chromium writes it."""
    return json.dumps(message, separators=(",", ":")).encode()


class Ids:
    """The ids of one browser."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._given: Counter[str] = Counter()

    def new(self, kind: str) -> str:
        """Return 32 hexadecimal digits in upper case, as targets, sessions, frames and loaders have them."""
        return self._digest(kind).hex().upper()[:32]

    def uuid(self, kind: str) -> str:
        """Return a UUID, as in the path of a browser's WebSocket."""
        text = self._digest(kind).hex()
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:32]}"

    def unique(self, kind: str) -> str:
        """Return two signed 64-bit numbers joined by a point, as execution contexts have them."""
        octets = self._digest(kind)
        halves = (int.from_bytes(octets[start : start + 8], "big", signed=True) for start in (0, 8))
        return ".".join(map(str, halves))

    def _digest(self, kind: str) -> bytes:
        self._given[kind] += 1
        text = f"{self._seed}/{kind}/{self._given[kind]}"
        return hashlib.blake2b(text.encode(), digest_size=16).digest()
