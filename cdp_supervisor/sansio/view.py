"""The snapshot: frozen values that any thread may hold, built from the state alone.

A view knows no clock: it has moments, and `to_dict(now=…)` computes ages from them. Its JSON is capped, because
agents read it (30 frames, out-of-process iframes two deep), and shows that something was left out; `full=True` leaves
out nothing. Cuts follow the order of the tree, never that of arrival, so that two runs with the same end look the
same.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

import attrs

from cdp_core.sansio.load_state import LoadState
from cdp_core.sansio.messages import BrowserContextId, Json, SessionId, TargetId, is_object
from cdp_supervisor.sansio.dialog_view import DialogView, view_dialog
from cdp_supervisor.sansio.frames import context_of
from cdp_supervisor.sansio.health import Health, view_health
from cdp_supervisor.sansio.routing import focused_page
from cdp_supervisor.sansio.state import Frame, HostedExtension, Page, State

SCHEMA_VERSION: Final = 1
"""The version of `Snapshot.to_dict`, within which fields are only added."""


# ── the parts ────────────────────────────────────────────────────────────────────────────────────────────────────────


@attrs.frozen(kw_only=True)
class FrameView:
    """A frame with its child frames."""

    frame_id: str
    parent_frame_id: str | None
    url: str
    origin: str
    name: str
    is_oopif: bool
    session_id: SessionId | None
    """Its own session; None for a frame that shares the process of its parent."""
    load: LoadState
    """Its document, how far that has loaded, and a navigation in flight."""
    children: tuple[FrameView, ...]
    _source: tuple[Page, Frame] = attrs.field(repr=False, eq=False, alias="source")

    @property
    def contexts(self) -> Mapping[str, str]:
        """The unique ids of its execution contexts, by the names of their worlds; the default one has no name."""
        page, frame = self._source
        return {world: context for world in frame.worlds if (context := context_of(page, frame, world))}

    def to_dict(self) -> Json:
        """Return this frame as JSON, without its children."""
        return {
            "frame_id": self.frame_id,
            "parent_frame_id": self.parent_frame_id,
            "url": self.url,
            "origin": self.origin,
            "name": self.name,
            "is_oopif": self.is_oopif,
            "session_id": self.session_id,
            "load_state": self.load.phase,
        }

    def walk(self) -> Iterator[FrameView]:
        """Yield the frame and all frames below it, parents first, in the order of the tree."""
        stack: list[FrameView] = [self]
        while stack:
            frame = stack.pop()
            yield frame
            stack.extend(reversed(frame.children))


@attrs.frozen(kw_only=True)
class PageView:
    """A page with its frames, its dialogs and its health."""

    target_id: TargetId
    url: str
    """The address of the document that it shows."""
    pending_url: str
    """The address of a navigation in flight; empty if there is none."""
    title: str
    title_at: float
    """When the title was read (wall time); it may have changed since."""
    opener_id: TargetId | None
    context_id: BrowserContextId | None
    session_id: SessionId | None
    health: Health
    stale: bool
    """True if its frames are those of an earlier moment, because they could not be read again yet."""
    tree: FrameView | None
    frame_count: int
    frames_left_out: int
    pending_dialogs: tuple[DialogView, ...]
    recent_dialogs: tuple[DialogView, ...]

    def frames(self) -> Iterator[FrameView]:
        """Yield every frame, parents first."""
        return iter(()) if self.tree is None else self.tree.walk()

    def frame_tree(self, *, most: int | None = 30, depth: int | None = 2) -> Json:
        """Return `{top, children, truncated}`: up to `most` frames below the top, OOPIFs up to `depth` deep."""
        if self.tree is None:
            return {"top": None, "children": [], "truncated": False}
        children: list[Json] = []
        truncated = self.frames_left_out > 0
        stack = [(child, int(child.is_oopif)) for child in reversed(self.tree.children)]
        while stack:
            frame, oopifs = stack.pop()
            if depth is not None and oopifs > depth:
                truncated = True
                continue
            if most is not None and len(children) >= most:
                truncated = True
                break
            children.append(frame.to_dict())
            stack.extend((child, oopifs + child.is_oopif) for child in reversed(frame.children))
        return {"top": self.tree.to_dict(), "children": children, "truncated": truncated}

    def to_dict(self, *, full: bool = False) -> Json:
        """Return it as JSON, without its dialogs; capped unless `full`."""
        tree = self.frame_tree(most=None, depth=None) if full else self.frame_tree()
        return {
            "target_id": self.target_id,
            "url": self.url,
            "pending_url": self.pending_url,
            "title": self.title,
            "title_at": self.title_at,
            "opener_id": self.opener_id,
            "context_id": self.context_id,
            "session_id": self.session_id,
            "health": self.health.to_dict(),
            "stale": self.stale,
            "frame_count": self.frame_count,
            "frame_tree": tree,
        }


@attrs.frozen(kw_only=True)
class SessionView:
    """A session with its target and its page."""

    session_id: SessionId
    target_id: TargetId
    type: str
    parent: SessionId | None
    page_id: TargetId | None


@attrs.frozen(kw_only=True)
class BlockedCallView:
    """A call that a dialog blocks."""

    call_id: str
    method: str
    target_id: TargetId | None
    since: float
    held_by: str | None
    """The dialog that a policy is about to answer; None if the caller was told of the dialog."""


@attrs.frozen(kw_only=True)
class LinkView:
    """The state of the link to the browser."""

    phase: str
    reason: str
    generation: int
    since: float
    failures: int
    owned: bool
    browser_changed: bool


@attrs.frozen(kw_only=True)
class Snapshot:
    """An immutable snapshot of the whole supervisor."""

    sequence: int
    """Counts states: of two snapshots, the one with the greater number is later."""
    link: LinkView
    pages: tuple[PageView, ...]
    pending_dialogs: tuple[DialogView, ...]
    recent_dialogs: tuple[DialogView, ...]
    sessions: tuple[SessionView, ...]
    blocked_calls: tuple[BlockedCallView, ...]
    focus: TargetId | None
    """The page that is used if none is named."""
    page_gone: tuple[TargetId, str] | None
    extensions: Mapping[str, Json]

    @property
    def active(self) -> bool:
        """True while the link is up."""
        return self.link.phase == "up"

    def page(self, target_id: str) -> PageView | None:
        """Return the page with this id; None if there is none."""
        return next((page for page in self.pages if page.target_id == target_id), None)

    def to_dict(self, *, full: bool = False, now: float | None = None) -> Json:
        """Return it as JSON, capped unless `full`; with `now` (on the supervisor's clock) dialogs have ages."""
        shown: Json = {
            "schema_version": SCHEMA_VERSION,
            "sequence": self.sequence,
            "active": self.active,
            "link": attrs.asdict(self.link),
            "pages": [page.to_dict(full=full) for page in self.pages],
            "pending_dialogs": [dialog.to_dict(now=now) for dialog in self.pending_dialogs],
        }
        if self.recent_dialogs:
            shown["recent_dialogs"] = [dialog.to_dict() for dialog in self.recent_dialogs]
        if self.blocked_calls:
            shown["blocked_calls"] = [attrs.asdict(each) for each in self.blocked_calls]
        if self.focus is not None:
            page = self.page(self.focus)
            shown["focus"] = self.focus
            if page is not None:
                shown["frame_tree"] = page.frame_tree(most=None, depth=None) if full else page.frame_tree()
        if self.page_gone is not None:
            shown["page_gone"] = {"target_id": self.page_gone[0], "reason": self.page_gone[1]}
        if full:
            shown["sessions"] = [attrs.asdict(each) for each in self.sessions]
        if self.extensions:
            shown["extensions"] = dict(self.extensions)
        return shown


# ── building snapshots ───────────────────────────────────────────────────────────────────────────────────────────────


def snapshot(state: State) -> Snapshot:
    return Views().snapshot(state)


class Views:
    """Builds snapshots and reuses the parts that have not changed: one changed page costs one page.

    Threads may share it: if two of them build the same part at once, the results are equal, and the later one is kept.
    """

    def __init__(self) -> None:
        self._last: Snapshot | None = None
        self._sessions: tuple[Any, tuple[SessionView, ...]] | None = None
        self._pages: dict[TargetId, tuple[Page, Any, str, PageView]] = {}

    def snapshot(self, state: State) -> Snapshot:
        """Return the snapshot of a state; the same object if nothing but the time has changed."""
        last = self._last
        if last is not None and last.sequence == state.sequence:
            return last
        pages = sorted(state.pages.values(), key=lambda page: page.number)
        views = tuple(self._page(state, page) for page in pages)
        kept = self._pages
        if len(kept) > 2 * len(views) + 8:
            # another thread may have replaced `_pages` meanwhile
            self._pages = {page.id: kept[page.id] for page in pages if page.id in kept}
        sessions = self._sessions
        if sessions is None or sessions[0] is not state.sessions:
            sessions = self._sessions = (state.sessions, _view_sessions(state))
        made = _assemble(state, views, sessions[1])
        self._last = made
        return made

    def _page(self, state: State, page: Page) -> PageView:
        known = self._pages.get(page.id)
        if known is not None and known[0] is page and known[1] is state.sessions and known[2] == state.link.phase:
            return known[3]
        made = _view_page(state, page)
        if page.blocked is None and not page.busy_sessions:  # else a dialog of another page may be the reason (fact 16)
            self._pages[page.id] = (page, state.sessions, state.link.phase, made)
        return made


def _view_sessions(state: State) -> tuple[SessionView, ...]:
    return tuple(
        SessionView(
            session_id=each.session_id,
            target_id=each.target_id,
            type=each.type,
            parent=each.parent,
            page_id=each.page_id,
        )
        for each in sorted(state.sessions.values(), key=lambda each: each.session_id)
    )


def _assemble(state: State, pages: tuple[PageView, ...], sessions: tuple[SessionView, ...]) -> Snapshot:
    pending = sorted((each for page in pages for each in page.pending_dialogs), key=lambda each: each.number)
    gone = [view_dialog(dialog) for dialog in state.departed]
    recent = sorted(
        (*gone, *(each for page in pages for each in page.recent_dialogs)),
        key=lambda each: (each.closed_at or 0.0, each.number),
    )
    focused = focused_page(state)
    link = state.link
    return Snapshot(
        sequence=state.sequence,
        link=LinkView(
            phase=link.phase,
            reason=link.reason,
            generation=state.generation,
            since=link.since.wall,
            failures=link.failures,
            owned=link.owned,
            browser_changed=link.browser_changed,
        ),
        pages=pages,
        pending_dialogs=tuple(pending),
        recent_dialogs=tuple(recent),
        sessions=sessions,
        blocked_calls=tuple(
            BlockedCallView(
                call_id=each.id,
                method=each.method,
                target_id=each.page_id,
                since=each.since.wall,
                held_by=each.held_by or None,
            )
            for each in sorted(state.calls.values(), key=lambda each: each.number)
            if each.blocked
        ),
        focus=None if focused is None else focused.id,
        page_gone=state.page_gone,
        extensions=ExtensionViews(state.extensions),
    )


def _view_page(state: State, page: Page) -> PageView:
    pending = [each for each in page.dialogs if each.phase != "closed"]
    return PageView(
        target_id=page.id,
        url=page.url,
        pending_url=page.pending_url,
        title=page.title,
        title_at=page.title_at,
        opener_id=page.opener_id,
        context_id=page.context_id,
        session_id=page.session_id,
        health=view_health(state, page),
        stale=page.stale or page.blocked is not None,
        tree=_view_tree(state, page),
        frame_count=len(page.frames),
        frames_left_out=page.left_out,
        pending_dialogs=tuple(map(view_dialog, pending)),
        recent_dialogs=tuple(map(view_dialog, page.recent)),
    )


def _view_tree(state: State, page: Page) -> FrameView | None:
    """Build the frame tree from its leaves up, without recursion, since a page may nest frames deeply."""
    top = page.frames.get(page.id)
    if top is None:
        return None
    order: list[Frame] = []
    below: dict[str, list[Frame]] = {}
    stack = [top]
    while stack:
        frame = stack.pop()
        if frame.id in below:
            continue
        order.append(frame)
        found = [page.frames[each] for each in page.children.get(frame.id, ()) if each in page.frames]
        found.sort(key=lambda each: each.number)
        below[frame.id] = found
        stack.extend(found)
    made: dict[str, FrameView] = {}
    for frame in reversed(order):
        own = frame.oopif or frame is top
        session_id = frame.session_id if own and frame.session_id in state.sessions else None
        made[frame.id] = FrameView(
            frame_id=frame.id,
            parent_frame_id=frame.parent_id,
            url=frame.url,
            origin=frame.origin,
            name=frame.name,
            is_oopif=frame.oopif,
            session_id=session_id,
            load=frame.load,
            children=tuple(made[each.id] for each in below[frame.id] if each.id in made),
            source=(page, frame),
        )
    return made[top.id]


# ── views of extensions ──────────────────────────────────────────────────────────────────────────────────────────────


class ExtensionViews(Mapping[str, Json]):
    """The view of each extension by its name, built when it is read: most readers do not use it."""

    def __init__(self, hosted: tuple[HostedExtension, ...]) -> None:
        self._hosted = {each.extension.name: each for each in hosted}
        self._made: dict[str, Json] = {}

    def __getitem__(self, name: str) -> Json:
        made = self._made.get(name)
        if made is None:
            made = self._made[name] = _view(self._hosted[name])
        return made

    def __iter__(self) -> Iterator[str]:
        return iter(self._hosted)

    def __len__(self) -> int:
        return len(self._hosted)

    def __repr__(self) -> str:
        return repr(dict(self))


def _view(hosted: HostedExtension) -> Json:
    if hosted.off:
        return {"off": hosted.off}
    try:
        view: Json = hosted.extension.view(hosted.state)
        json.dumps(view, allow_nan=False)
    except Exception as error:  # noqa: BLE001 - the embedder's code, which must not break the snapshot
        return {"off": f"its view raised {type(error).__name__}"}
    return view if is_object(view) else {"off": "its view is not a JSON object"}
