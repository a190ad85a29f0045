"""What a fake browser is made of: processes, contexts, targets, frames, dialogs; clients and their sessions.

Plain objects that change. What happens to them is told in the modules above: `targets.py` (attach, create, close, crash),
`frames.py` and below it (navigation, the tree), `dialogs.py`, `evaluate.py`.
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
    """The client whose leaving disposes it, where it was made so."""
    front: Target | None = None
    """The page that is in front of the others."""


@attrs.frozen(eq=False)
class PausedSteps:
    """Steps that are no document's: they go on when what stops them is gone, and when its process is."""

    resume: Callable[[], None]

    def __call__(self) -> None:
        """Let them go on."""
        self.resume()


@attrs.define(eq=False)
class Renderer:
    """A renderer. A dialog stops it, or a request that a script waits for; what its sessions are asked meanwhile waits."""

    number: int
    dialog: Dialog | None = None
    resource: ResourceRequest | None = None
    """What a script of it waits for."""
    parked: list[Callable[[], None]] = attrs.Factory(list["Callable[[], None]"])
    contexts: int = 0
    """Execution contexts so far: their ids count per process."""
    absent: bool = False
    """There is no process yet, or no more: what it is asked waits until there is."""
    empty: bool = False
    """It has shown nothing since it is there again, but an empty document."""
    isolate: str = ""
    """What the ids of its objects begin with."""
    objects_given: int = 0
    requests: int = 0
    """What it asked for so far, and somebody counted."""
    targets: dict[Target, None] = attrs.Factory(dict["Target", "None"])
    """The pages and iframes that it shows: of windows that can reach each other, those of one site are in one process."""
    revived: bool = False
    """It is there in the place of one that died, with an empty document."""

    @property
    def stopped(self) -> bool:
        """Whether it runs nothing now."""
        return self.dialog is not None or self.resource is not None or self.absent

    @property
    def stopped_by(self) -> object:
        """What its script waits for."""
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
    """The loading of one document: its own script, then the frames that it made."""

    parsed: bool = False
    stopped: bool = False
    """A client does not want the rest of it: its end is told, and nothing else."""
    replaced_by_reload: bool = False
    """The document that takes its place is the same one."""
    end_unreported: bool = False
    """Another window takes the place of its document before anything can be told of its end."""
    held_back: list[Callable[[], None]] | None = None
    """What is left of it comes later than something that a client asked for, if at all."""


@attrs.define(eq=False)
class DocumentSettings:
    """What holds for one document: what it may ask for, and what a client's script has put in the place of its dialogs."""

    served: Served | None = None
    """What the server says of it."""
    csp_bypassed: bool = False
    """A client had asked that no Content-Security-Policy is heeded, when the document came."""
    override: Override | None = None


@attrs.define(eq=False)
class UnloadBehaviour:
    """What a document does when it is left (`unloading.py`)."""

    asks_before_unload: bool = False
    """Whether it asks first, if it was touched."""
    user_activated: bool = False
    """A user has done something in it."""
    listeners: list[tuple[str, Callable[[], None]]] = attrs.Factory(list["tuple[str, Callable[[], None]]"])
    """What else it does, and when."""
    hide_dialog: tuple[str, str, str] | None = None
    """A dialog that it opens when it is hidden: type, message and default."""


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
    src: str = "about:blank"
    """What its element asks for."""
    loader: str = ""
    first_loader: str = ""
    """Of the empty document that it began with, where somebody asked for that."""
    children: list[Frame] = attrs.Factory(list["Frame"])
    workers: dict[str, Target] = attrs.Factory(dict["str", "Target"])
    """The dedicated ones that its documents made, and that have not ended."""
    context: int = 0
    """The id of the execution context of its document; 0 where there is none yet."""
    context_unique: str = ""
    worlds: list[IsolatedWorld] = attrs.Factory(list["IsolatedWorld"])
    """Its other execution contexts, in the order of making."""
    objects: dict[str, Json] = attrs.Factory(dict["str", "Json"])
    """What clients were given of its document, by id."""
    lifecycle_times: dict[str, float] | None = None
    """How far its document has come, and when; None for the empty one that it began with."""
    unreachable: str = ""
    """The address that an error page stands for."""
    started_params: Json | None = None
    """What is said of that navigation to those who were not there when it began."""
    unload_confirmed: bool = False
    """Nobody has to be asked any more about that navigation."""
    started_at: int = 0
    """When it began, counted with the wishes for auto-attach."""
    browser_initiated: bool = False
    """That navigation was asked for by no script."""
    navigating: str = ""
    """The loader of the navigation that has begun and was not committed yet."""
    load: Load | None = None
    """While its document loads."""
    referrer: str = ""
    """Where its document was asked for from."""
    initiator_url: str = ""
    """Where its document is empty, the address of whoever asked for that, if it is not as everywhere: of a command, its own."""
    adopts_site: bool = False
    """It is the empty document of a page that a client opened: that is of the site that first comes to a frame in it."""
    adopted_site: str = ""
    """Which site that is."""
    left: bool = False
    """Another document is there and waits only for this one's process."""
    next_document: tuple[str, str] = ("", "")
    """The loader and the address of that one, which for the browser is there already."""
    document: int = 0
    """Which document of the browser it is, by the order of coming."""
    bindings: dict[str, int] = attrs.Factory(dict["str", "int"])
    """Functions of clients that were put into a document of it, and into which."""
    route_set_at: int = 0
    """When the way of its requests was laid, counted as documents are."""
    ended: Callable[[str | None], None] = lambda _why: None
    """Told that the navigation that has begun comes to nothing, and by which failure."""
    mime: str = ""
    """The type of its document, where a client made it."""
    prerender_url: str = ""
    """Where it is rendered in advance: what has to be gone to for it to be shown."""
    unload_behaviour: UnloadBehaviour = attrs.Factory(UnloadBehaviour)
    settings: DocumentSettings = attrs.Factory(DocumentSettings)
    """What its document may ask for, and what is in the place of its dialogs."""

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
    """For an iframe, the frame above; for a dedicated worker, the frame that made it."""
    owner_document: int = 0
    """For a dedicated worker, the document of that frame."""
    users: list[tuple[Frame, int]] = attrs.Factory(list["tuple[Frame, int]"])
    """For a shared worker, the frames and documents that asked for it."""
    number: int = 0
    """Its place in the order of appearing."""
    child_targets: dict[str, Target] = attrs.Factory(dict["str", "Target"])
    """The iframes out of process, and workers, that frames of it made."""
    renderers: dict[str, Renderer] = attrs.Factory(dict["str", "Renderer"])
    """Those of a page and the windows that it can reach, by their sites."""
    opened: dict[str, Target] = attrs.Factory(dict["str", "Target"])
    """The windows of a page that can reach it."""
    scope: Frame | None = None
    """For a worker, what its script runs in, which is no frame of any page."""
    loaded: bool = False
    """Whether a worker has told that its script is loaded."""
    sessions: list[Session] = attrs.Factory(list["Session"])
    held: set[Session] = attrs.Factory(set["Session"])
    """The sessions that it waits for: it runs when each has said so."""
    when_run: list[Callable[[], None]] = attrs.Factory(list["Callable[[], None]"])
    crashed: bool = False
    closed: bool = False
    gone: bool = False
    """It was told of as destroyed."""
    tab: Target | None = None
    """The tab of a page."""
    subtype: str = ""
    prerender: Target | None = None
    """What is rendered in advance for a page."""
    prerender_of: Target | None = None
    """The page for which this is rendered in advance."""
    tab_of: Target | None = None
    """The page of a tab; as long as it is there, a tab is shown as its page."""
    strip: Callable[[], Json | None] = lambda: None
    """Where a tab stands among the others; None where there is no telling."""
    tab_position: int = 0
    """By which that is told."""
    size: tuple[int, int] = (0, 0)
    """How large a client wants it; nothing for its own size."""
    runtime_events: list[tuple[str, Json]] = attrs.Factory(list["tuple[str, Json]"])
    """Console lines and exceptions of its documents, for who enables Runtime later."""
    dialogs: list[Dialog] = attrs.Factory(list["Dialog"])
    """The open ones, oldest first."""
    history: History = attrs.Factory(History)
    """Of a page."""
    deferred: list[Callable[[], None]] = attrs.Factory(list["Callable[[], None]"])
    """What its renderer was asked while another document was on its way: who is there then answers it."""

    @property
    def waits_for(self) -> list[Session]:
        """The sessions that have not said yet that it may run."""
        return [each for each in self.held if not each.lets_run]

    @property
    def is_navigating(self) -> bool:
        """Whether it goes to another document: until it is there, nothing is asked of a renderer."""
        return (
            self.frame is not None
            and self.frame.started_params is not None
            and self.frame.unload_confirmed
            and not self.held
        )

    @property
    def shown_url(self) -> str:
        """Its address, or the one that a client or the history has asked for."""
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
    finishes_before_closed: bool = False
    """Where it is dismissed, what then does not happen is told before its own end."""
    open: bool = True
    accepted: bool | None = None
    closed_by: Client | None = None


@attrs.frozen(kw_only=True)
class AutoAttach:
    """What a session asked for with `Target.setAutoAttach`."""

    wait: bool
    filter: tuple[Json, ...]
    since: int = 0
    """When, counted as navigations are."""


@attrs.define(eq=False)
class Session:
    """A session of a client; the root session has no id and no target, a further one of the browser no target either."""

    client: Client
    id: str | None
    target: Target | None
    parent: Session | None
    children: dict[Session, None] = attrs.Factory(dict["Session", "None"])
    """Those that were opened on it, in the order of opening."""
    domains: set[str] = attrs.Factory(set["str"])
    auto_attach: AutoAttach | None = None
    in_flight: dict[int, str] = attrs.Factory(dict["int", "str"])
    """The ids of unanswered commands; with the method where the renderer is to answer."""
    auto_attached: bool = False
    """Whether auto-attach opened it: these end when it is switched off."""
    interceptor: Interceptor | None = None
    """Where it has Fetch enabled."""
    held: bool = False
    """Whether its target had to wait for it, at first."""
    lets_run: bool = False
    """It has said that its target may run; where a dialog stops the process, that is heard when it is gone."""
    discovers: tuple[Json, ...] = ()
    """The filter of what it is told of."""
    scripts: dict[str, str] = attrs.Factory(dict["str", "str"])
    """Those for new documents: the names of the worlds that they run in, nothing for a page's own."""
    scripts_added: int = 0
    overrides: dict[str, Override] = attrs.Factory(dict["str", "Override"])
    """What some of them put in the place of dialogs."""
    bindings: set[str] = attrs.Factory(set["str"])
    """The functions of pages whose calls it is told of."""
    bypasses_csp: bool = False
    overrides_size: bool = False
    """It has said how large its page is to be."""
    time_domain: str = ""
    """The kind of time that Performance counts by."""
    timezone: str = ""
    """The time zone that it put in the place of the machine's."""
    page_known_to: Literal["", "browser", "renderer"] = ""
    """Which of the two alone knows now that it has Page enabled; the other is still to be told, of that or of its end."""
    page_disable_count: int = 0
    """How often it gave Page up."""
    saw_crash: bool = False
    """It was there when the renderer died, which was not replaced yet."""
    browser_id: str = ""
    """Of the target that a further session of the browser is of."""
    replayed_commands: dict[int, list[Callable[[], bool]]] = attrs.Factory(dict["int", "list[Callable[[], bool]]"])
    """Commands, by their ids, of which one is carried out once more in each document to come, if it can be."""
    blocker_at_attach: object = None
    """What stopped the renderer when it was opened: until that is gone, the renderer knows nothing of it."""
    flat: bool = True
    """Otherwise what is said on it is wrapped in events of the session that it was opened on (fact 59)."""
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
    browser_sessions: list[Session] = attrs.Factory(list["Session"])
    """Those of the browser, beside the root session."""
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


def set_renderer(target: Target, renderer: Renderer) -> None:
    """A target is in another process."""
    there = target in target.renderer.targets
    target.renderer.targets.pop(target, None)
    target.renderer = renderer
    if there:
        renderer.targets[target] = None
