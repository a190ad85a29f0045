"""The parts of a fake browser: processes, contexts, targets, frames, dialogs, clients, sessions.

They are plain mutable objects. The modules above decide what happens to them: `targets.py` (attach, create, close,
crash), `frames.py` and below it (navigation, the frame tree), `dialogs.py`, `evaluate.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Literal

import attrs

from cdp_core.sansio.messages import Json
from cdp_core.testing.fake.delivery_order import Streams
from cdp_core.testing.fake.model.addresses import origin_of
from cdp_core.testing.fake.model.history import History

if TYPE_CHECKING:
    from cdp_core.testing.fake.model.fetching import Interceptor, ResourceRequest
    from cdp_core.testing.steps import Override, Served


@attrs.define(eq=False)
class Context:
    """A browser context: a profile without a name."""

    id: str
    owner: Client | None = None
    """The client whose disconnect disposes of it, if it was created with that option."""
    front: Target | None = None


@attrs.frozen(eq=False)
class PausedSteps:
    """Steps that belong to no document: they go on when the blocker is gone, and when the process is."""

    resume: Callable[[], None]

    def __call__(self) -> None:
        self.resume()


@attrs.define(eq=False)
class Renderer:
    """A renderer process.

    A dialog stops it, or a request that a script waits for; commands to it wait meanwhile.
    """

    number: int
    dialog: Dialog | None = None
    resource: ResourceRequest | None = None
    """The request that one of its scripts waits for."""
    parked: list[Callable[[], None]] = attrs.Factory(list["Callable[[], None]"])
    contexts: int = 0
    """How many execution contexts it has had: their ids count per process."""
    absent: bool = False
    """The process does not exist yet, or no longer; commands to it wait until it does."""
    empty: bool = False
    """Since it exists again it has shown only an empty document."""
    isolate: str = ""
    """What the ids of its remote objects begin with."""
    objects_given: int = 0
    requests: int = 0
    """How many of its requests were given a Network id."""
    targets: dict[Target, None] = attrs.Factory(dict["Target", "None"])
    """The pages and iframes that it shows; windows that can reach each other share one process per site."""
    revived: bool = False
    """It replaced a process that died, and has an empty document."""

    @property
    def stopped(self) -> bool:
        return self.dialog is not None or self.resource is not None or self.absent

    @property
    def stopped_by(self) -> object:
        return self.dialog or self.resource


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
    """The loading of one document: its own script, then the frames that this script created."""

    parsed: bool = False
    stopped: bool = False
    """A client stopped the rest of it: only its end is reported."""
    replaced_by_reload: bool = False
    """The document that replaces it is the same one, reloaded."""
    end_unreported: bool = False
    """Another window replaces that of its document before its end can be reported."""
    held_back: list[Callable[[], None]] | None = None
    """The rest of it, which comes after something that a client asked for, if at all."""


@attrs.define(eq=False)
class DocumentSettings:
    """What applies to one document: what it may request, and a client's override of its dialogs."""

    served: Served | None = None
    """What the server of the document sends with it."""
    csp_bypassed: bool = False
    """A client bypassed the Content-Security-Policy when the document came."""
    override: Override | None = None


@attrs.define(eq=False)
class UnloadBehaviour:
    """What a document does when it is left (`unloading.py`)."""

    asks_before_unload: bool = False
    """Whether it asks first, if a user has activated it."""
    user_activated: bool = False
    listeners: list[tuple[str, Callable[[], None]]] = attrs.Factory(list["tuple[str, Callable[[], None]]"])
    """What else it does, and at which event."""
    hide_dialog: tuple[str, str, str] | None = None
    """A dialog that it opens when it is hidden: type, message and default prompt."""


@attrs.define(eq=False)
class Frame:
    """A frame and its document."""

    id: str
    target: Target
    """The target that reports it on its sessions: the page, or its own target if it is out of process."""
    parent: Frame | None
    renderer: Renderer
    url: str = "about:blank"
    name: str = ""
    src: str = "about:blank"
    loader: str = ""
    first_loader: str = ""
    """The loader of its initial empty document, if something asked for that."""
    children: list[Frame] = attrs.Factory(list["Frame"])
    workers: dict[str, Target] = attrs.Factory(dict["str", "Target"])
    """The dedicated workers of its documents that have not ended."""
    context: int = 0
    """The id of its document's main execution context; 0 while there is none."""
    context_unique: str = ""
    worlds: list[IsolatedWorld] = attrs.Factory(list["IsolatedWorld"])
    """Its other execution contexts, in the order of creation."""
    objects: dict[str, Json] = attrs.Factory(dict["str", "Json"])
    """The objects of its document that clients were given, by remote object id."""
    lifecycle_times: dict[str, float] | None = None
    """When its document reached each lifecycle state; None for the initial empty document."""
    unreachable: str = ""
    """The URL that an error page stands for."""
    started_params: Json | None = None
    """The event params that report its navigation to a session that comes after the start."""
    unload_confirmed: bool = False
    """The navigation needs no further answer to a beforeunload dialog."""
    started_at: int = 0
    """When the navigation began, in the logical time that it shares with requests for auto-attach."""
    browser_initiated: bool = False
    """No script asked for the navigation."""
    navigating: str = ""
    """The loader of a navigation that has begun and is not committed yet."""
    load: Load | None = None
    referrer: str = ""
    """The URL that its document was requested from."""
    initiator_url: str = ""
    """Of an empty document that does not take its parent's or opener's URL: the URL of the script that asked for it,
    or its own if a command did."""
    adopts_site: bool = False
    """It is the empty document of a page that a client opened: it adopts the first site that a frame inside shows."""
    adopted_site: str = ""
    left: bool = False
    """Another document has arrived and waits only for this one's process."""
    next_document: tuple[str, str] = ("", "")
    """The loader and the URL of that other document, which the browser already treats as shown."""
    document: int = 0
    """The number of its document, in the order in which the browser's documents came."""
    bindings: dict[str, int] = attrs.Factory(dict["str", "int"])
    """The bindings that clients added to one of its documents, with the number of that document."""
    route_set_at: int = 0
    """When the route of its requests was set, by the count of documents."""
    ended: Callable[[str | None], None] = lambda _why: None
    """Called when the navigation that has begun comes to nothing, with the failure if there was one."""
    mime: str = ""
    """The MIME type of its document, if a client supplied the document."""
    prerender_url: str = ""
    """While it is prerendered: the URL of the navigation that will show it."""
    unload_behaviour: UnloadBehaviour = attrs.Factory(UnloadBehaviour)
    settings: DocumentSettings = attrs.Factory(DocumentSettings)
    """What its document may request, and a client's override of its dialogs."""

    @property
    def busy(self) -> bool:
        return bool(self.navigating) or self.load is not None

    @property
    def origin(self) -> str:
        """Scheme, host and port, or `://` without them."""
        return origin_of(self.url)

    def subtree(self) -> Iterator[Frame]:
        yield self
        for child in self.children:
            yield from child.subtree()


@attrs.define(eq=False)
class Target:
    """A page, an iframe out of process, a worker, or a tab."""

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
    """For an iframe, the parent frame; for a dedicated worker, the frame that created it."""
    owner_document: int = 0
    """For a dedicated worker, the document of that frame."""
    users: list[tuple[Frame, int]] = attrs.Factory(list["tuple[Frame, int]"])
    """For a shared worker, the frames and documents that asked for it."""
    number: int = 0
    child_targets: dict[str, Target] = attrs.Factory(dict["str", "Target"])
    """The iframes out of process, and the workers, that its frames created."""
    renderers: dict[str, Renderer] = attrs.Factory(dict["str", "Renderer"])
    """The processes of a page and of the windows that it can reach, by site."""
    opened: dict[str, Target] = attrs.Factory(dict["str", "Target"])
    """The windows that a page opened and that can reach it."""
    scope: Frame | None = None
    """For a worker, the global scope of its script; it is not a frame of any page."""
    loaded: bool = False
    """Whether a worker has reported that its script is loaded."""
    sessions: list[Session] = attrs.Factory(list["Session"])
    held: set[Session] = attrs.Factory(set["Session"])
    """The sessions that it waits for: it runs when each of them has resumed it."""
    when_run: list[Callable[[], None]] = attrs.Factory(list["Callable[[], None]"])
    crashed: bool = False
    closed: bool = False
    gone: bool = False
    tab: Target | None = None
    subtype: str = ""
    prerender: Target | None = None
    prerender_of: Target | None = None
    tab_of: Target | None = None
    """The page of a tab; while it exists, the tab has the page's title, URL and opener."""
    strip: Callable[[], Json | None] = lambda: None
    """Returns a tab's position among the others; None if there is none to report."""
    tab_position: int = 0
    """The key that orders a tab among the others."""
    size: tuple[int, int] = (0, 0)
    """The size that a client set; (0, 0) for the page's own size."""
    runtime_events: list[tuple[str, Json]] = attrs.Factory(list["tuple[str, Json]"])
    """Console lines and exceptions of its documents, for sessions that enable Runtime later."""
    dialogs: list[Dialog] = attrs.Factory(list["Dialog"])
    history: History = attrs.Factory(History)
    deferred: list[Callable[[], None]] = attrs.Factory(list["Callable[[], None]"])
    """Commands to its renderer that came while another document was on its way: that document's process answers."""

    @property
    def waits_for(self) -> list[Session]:
        return [each for each in self.held if not each.lets_run]

    @property
    def is_navigating(self) -> bool:
        """Whether it navigates to another document; until that has come, its renderer gets no command."""
        return (
            self.frame is not None
            and self.frame.started_params is not None
            and self.frame.unload_confirmed
            and not self.held
        )

    @property
    def shown_url(self) -> str:
        frame = self.frame
        wished = (
            frame is not None and frame.started_params is not None and frame.parent is None and frame.browser_initiated
        )
        if frame is not None and self.opener is not None and not frame.loader:
            return self.url
        return (
            str(frame.started_params["url"])
            if wished and frame is not None and frame.started_params is not None
            else self.url
        )

    @property
    def page(self) -> Target:
        target = self
        while target.parent_frame is not None:
            target = target.parent_frame.target
        return target

    def info(self) -> Json:
        """Return its target info, as events and results show it."""
        shown = self.tab_of or self
        info: Json = {
            "targetId": self.id,
            "type": self.type,
            "title": shown.title,
            "url": shown.shown_url,
            "attached": bool(self.sessions),
        }
        if self.parent_frame is not None:
            info["parentId"] = self.parent_frame.target.id if self.type == "iframe" else self.parent_frame.id
        opener = None if shown.opener is None or shown.opener.target.page.gone else shown.opener
        if opener is not None:
            info["openerId"] = opener.target.page.id
        info["canAccessOpener"] = shown.can_access_opener and opener is not None
        if shown.opener is not None:
            info["openerFrameId"] = shown.opener.id
        if self.parent_frame is not None:
            info["parentFrameId"] = self.parent_frame.id
        info["browserContextId"] = self.context.id
        if self.subtype:
            info["subtype"] = self.subtype
        strip = self.strip()
        return info if strip is None else {**info, "embedderData": strip}


@attrs.define(eq=False)
class Dialog:
    """A native dialog. It belongs to the page, whichever frame raised it (fact 2)."""

    page: Target
    frame: Frame
    type: str
    message: str
    default_prompt: str
    finish: Callable[[bool, str], None]
    """Continues the script that raised it, with the answer."""
    number: int
    seen_by: set[Session] = attrs.Factory(set["Session"])
    document: int = 0
    missed_by: tuple[Session, ...] = ()
    """The sessions that had resumed the page, and did not have Page enabled."""
    superseded: bool = False
    unreachable: bool = False
    """The document that raised it is being left (fact 22)."""
    finishes_before_closed: bool = False
    """If it is dismissed, the navigation that then does not happen is reported before its closed event."""
    open: bool = True
    accepted: bool | None = None
    closed_by: Client | None = None


@attrs.frozen(kw_only=True)
class AutoAttach:
    """What a session asked for with `Target.setAutoAttach`."""

    wait: bool
    filter: tuple[Json, ...]
    since: int = 0
    """When, in the logical time that it shares with navigations."""


@attrs.define(eq=False)
class Session:
    """A session of a client.

    The root session has no id and no target; a further session of the browser has no target either.
    """

    client: Client
    id: str | None
    target: Target | None
    parent: Session | None
    children: dict[Session, None] = attrs.Factory(dict["Session", "None"])
    """The sessions that were opened on it, in the order of opening."""
    domains: set[str] = attrs.Factory(set["str"])
    auto_attach: AutoAttach | None = None
    in_flight: dict[int, str] = attrs.Factory(dict["int", "str"])
    """The ids of unanswered commands; with the method if the renderer has to answer."""
    auto_attached: bool = False
    """Whether auto-attach opened it: such a session ends when auto-attach is switched off."""
    interceptor: Interceptor | None = None
    held: bool = False
    """Whether its target had to wait for it at first."""
    lets_run: bool = False
    """It sent `runIfWaitingForDebugger`; if a dialog stops the process, this takes effect when the dialog is gone."""
    discovers: tuple[Json, ...] = ()
    scripts: dict[str, str] = attrs.Factory(dict["str", "str"])
    """Its init scripts: the names of the worlds that they run in, empty for the main world."""
    scripts_added: int = 0
    overrides: dict[str, Override] = attrs.Factory(dict["str", "Override"])
    """The dialog overrides of some of these scripts."""
    bindings: set[str] = attrs.Factory(set["str"])
    """The bindings that it receives calls of."""
    bypasses_csp: bool = False
    overrides_size: bool = False
    time_domain: str = ""
    """The kind of time that Performance counts by."""
    timezone: str = ""
    """The time zone that it put in place of the machine's."""
    page_known_to: Literal["", "browser", "renderer"] = ""
    """The one process that takes its Page as enabled at the moment; the other has not received the enable, or has
    carried out the disable."""
    page_disable_count: int = 0
    saw_crash: bool = False
    """It was attached when the renderer died, and that was not replaced yet."""
    browser_id: str = ""
    """The id of the target that a further browser session is on."""
    replayed_commands: dict[int, list[Callable[[], bool]]] = attrs.Factory(dict["int", "list[Callable[[], bool]]"])
    """Commands by id: one of each id is sent once more in each later document, if it can be."""
    blocker_at_attach: object = None
    """What stopped the renderer at the attach: until that is gone, the renderer does not know the session."""
    flat: bool = True
    """If not, its messages are wrapped in events of the session that it was opened on (fact 59)."""
    open: bool = True

    @property
    def name(self) -> str:
        return f"session {self.id[:8]}" if self.id else "the root session"


@attrs.define(eq=False)
class Client:
    """One client's connection."""

    number: int
    streams: Streams = attrs.Factory(Streams)
    sessions: dict[str | None, Session] = attrs.Factory(dict["str | None", "Session"])
    browser_sessions: list[Session] = attrs.Factory(list["Session"])
    """Its sessions on the browser, apart from the root session."""
    connected: bool = True
    page: Target | None = None
    """The page, if it connected to a page's own path."""
    outcomes: dict[tuple[str | None, int], int] = attrs.Factory(dict["tuple[str | None, int]", "int"])
    """How commands were answered, by session and id: 0 for a result, else the code of the refusal."""
    ended: dict[str, str] = attrs.Factory(dict["str", "str"])
    """Sessions that have ended, each with the session at or above it that the detach event named."""
    on_end: Callable[[], None] = lambda: None
    target_id: str = ""
    """The id of the target that the connection itself is."""

    @property
    def root(self) -> Session:
        return self.sessions[None]

    def end(self) -> None:
        self.connected = False
        self.on_end()


def set_renderer(target: Target, renderer: Renderer) -> None:
    registered = target in target.renderer.targets
    target.renderer.targets.pop(target, None)
    target.renderer = renderer
    if registered:
        renderer.targets[target] = None
