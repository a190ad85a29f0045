"""What one connection was told, kept naively from the router's outputs: the measure of what its machine could know.

Nothing here is taken from the machine. Of several sessions on one target the oldest that is open counts, since the others
say everything again (fact 47).

* An opening was delivered where such a session of the page got it. It was `answered` by this connection where a command
  of its own was accepted: the closed event that comes between command and reply is that dialog's (fact 1).
* A session's own frames are known wholly (`whole`) after `Page.getFrameTree` was answered to whoever listens, or its root
  navigated while it was listened to; no more after a restore from the back/forward cache or a reload after a crash, of
  which the events say too little (facts 43, 49). Else only the frames are known that were named since (`named`).
* What a frame shows is known once a message has named its URL (`shown`); it is not any more where the frame went into a
  process that the connection has no session in.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import attrs

from cdp_core.sansio.router import CommandDone, SessionClosed, SessionOpened
from cdp_core.sansio.wire import Event, Result

following = sys.modules["trace_following"]


@attrs.define
class Opening:
    """A dialog whose opening was delivered."""

    target: str
    frame: str
    type: str
    message: str
    place: int
    session: str
    closed: int | None = None
    orphaned: bool = False
    """Its session ended before it did."""
    accepted: bool | None = None
    answered: bool = False


@attrs.define
class Answer:
    """An answer of this connection, as long as no reply has come."""

    target: str
    place: int


@attrs.define
class Hearing:
    """See the module."""

    open: dict[str, SessionOpened] = attrs.field(factory=dict)
    """In the order of their opening."""
    all_sessions: set[str] = attrs.field(factory=set)
    openings: list[Opening] = attrs.field(factory=list)
    answers: dict[int, Answer] = attrs.field(factory=dict)
    trees: set[int] = attrs.field(factory=set)
    """Commands whose tree reached the machine."""
    enabled: set[str] = attrs.field(factory=set)
    """Sessions that say what frames do."""
    whole: set[str] = attrs.field(factory=set)
    named: dict[str, set[str]] = attrs.field(factory=dict)
    shown: set[str] = attrs.field(factory=set)
    discovers: bool = False
    switching: dict[int, bool] = attrs.field(factory=dict)
    lost: bool = False

    def listened(self, target: str) -> str | None:
        """The session that counts on a target."""
        return next((key for key, each in self.open.items() if each.target_id == target), None)

    def counts(self, session: str | None) -> bool:
        opened = self.open.get(session or "")
        return opened is not None and self.listened(opened.target_id) == session

    def root_named(self, session: str) -> set[str]:
        """That it is there names a frame out of process; of a page it does not say that its frame may be shown."""
        opened = self.open[session]
        return {opened.target_id} if opened.target_type == "iframe" else set()

    # ── the log ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def take(self, place: int, entry: Any) -> None:
        if isinstance(entry, following.Said):
            self.said(place, entry)
        elif isinstance(entry, SessionOpened):
            self.open[entry.session_id] = entry
            self.all_sessions.add(entry.session_id)
            self.named[entry.session_id] = self.root_named(entry.session_id)
        elif isinstance(entry, SessionClosed):
            self.closed(entry.session_id)
        elif isinstance(entry, CommandDone):
            self.replied(place, entry)
        elif isinstance(entry, Event):
            self.heard(place, entry.method, entry.session_id, entry.params)

    def said(self, place: int, said: Any) -> None:
        opened = self.open.get(said.session or "")
        if said.method == following.ANSWER and opened is not None:
            self.answers[said.id] = Answer(opened.target_id, place)
        elif said.method == "Target.setDiscoverTargets":
            self.switching[said.id] = said.params.get("discover") is True

    def closed(self, session: str) -> None:
        opened = self.open.pop(session, None)
        if opened is None:
            return
        self.whole.discard(session)
        self.enabled.discard(session)
        self.named.pop(session, None)
        for opening in self.openings:
            opening.orphaned = opening.orphaned or (opening.session == session and opening.closed is None)
        if self.listened(opened.target_id) is None:
            for names in self.named.values():  # it may be removed, or on its way back to the process above (fact 42)
                names.discard(opened.target_id)

    def replied(self, place: int, done: CommandDone) -> None:
        answer = self.answers.pop(done.id, None)
        if not isinstance(done.outcome, Result):
            return
        if answer is not None:
            closed = [each for each in self.openings if each.target == answer.target and each.closed is not None]
            mine = [each for each in closed if each.closed is not None and answer.place < each.closed <= place]
            still = [each for each in self.openings if each.target == answer.target and each.closed is None]
            for opening in (mine or still)[-1:]:
                opening.answered = True
        if done.method in ("Page.enable", "Page.disable") and done.session_id is not None:
            (self.enabled.add if done.method == "Page.enable" else self.enabled.discard)(done.session_id)
        elif done.id in self.switching:
            self.discovers = self.switching[done.id]
        elif done.id in self.trees and done.session_id in self.open:
            self.whole.add(done.session_id)
            stack = [done.outcome.value.get("frameTree", {})]
            while stack:
                node = stack.pop()
                self.named[done.session_id].add(node["frame"]["id"])
                self.shown.add(node["frame"]["id"])
                stack += node.get("childFrames", [])

    def heard(self, place: int, method: str, session: str | None, params: dict[str, Any]) -> None:
        if method in ("Target.attachedToTarget", "Target.targetInfoChanged"):
            info = params.get("targetInfo", {})
            if info.get("url"):
                self.shown.add(info.get("targetId", ""))
        elif session is None or not self.counts(session):
            return
        elif method == "Page.javascriptDialogOpening":
            self.dialog_opened(place, session, params)
        elif method == "Page.javascriptDialogClosed":
            self.dialog_closed(place, session, params)
        elif method == "Page.frameAttached":
            self.named[session].add(params["frameId"])
        elif method == "Page.frameDetached":
            self.shown.discard(params["frameId"])
            if self.listened(params["frameId"]) is not None:
                self.shown.add(params["frameId"])
        elif method == "Page.navigatedWithinDocument":
            self.shown.add(params["frameId"])
        elif method == "Page.frameNavigated":
            self.navigated(session, params)
        elif method == "Inspector.targetReloadedAfterCrash":
            self.forget(session)

    def dialog_opened(self, place: int, session: str, params: dict[str, Any]) -> None:
        target = self.open[session].target_id
        if self.open[session].target_type == "page":
            frame = params.get("frameId", target)
            self.openings.append(Opening(target, frame, params["type"], params["message"], place, session))

    def dialog_closed(self, place: int, session: str, params: dict[str, Any]) -> None:
        target = self.open[session].target_id
        frame = params.get("frameId")
        for each in self.openings:
            if each.closed is None and each.target == target and frame in (None, each.frame):
                each.closed, each.accepted = place, params.get("result")
                return

    def navigated(self, session: str, params: dict[str, Any]) -> None:
        frame = params["frame"]
        root = frame["id"] == self.open[session].target_id
        if root and params.get("type") == "BackForwardCacheRestore":
            self.forget(session)
        elif root:
            self.whole.add(session)
        self.named[session].add(frame["id"])
        self.shown.add(frame["id"])

    def forget(self, session: str) -> None:
        """From now on its frames are others, and nobody says which."""
        self.whole.discard(session)
        self.named[session] = self.root_named(session)


def hear(link: Any) -> Hearing:
    """What the connection of a follower was told."""
    hearing = Hearing(trees=link.bound_trees, lost=link.lost_at is not None)
    for place, entry in link.log:
        hearing.take(place, entry)
    return hearing


def trees_below(nodes: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """All frames of nested trees, as the notes have them."""
    found: list[dict[str, Any]] = []
    stack = list(nodes)
    while stack:
        node = stack.pop()
        found.append(node)
        stack += node.get("children", [])
    return found
