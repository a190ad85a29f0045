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
* What may have ended a dialog is told in two ways. The connection itself ordered it while the dialog was up (`ordered`):
  then that did it (facts 3, 21, 23). Or it was told of such a thing before the next dialog of the page (`causes`).
* A session tells of all that is below it (`tells_all`), where `Page.enable` and `Target.setAutoAttach` were accepted on it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

import attrs

from cdp_core.sansio.messages import Event, Refusal, Result
from cdp_core.sansio.router import CommandDone, SessionClosed, SessionOpened
from support.traces import follower

ORDERS = {
    "Page.navigate": "navigation",
    "Page.reload": "navigation",
    "Page.navigateToHistoryEntry": "navigation",
    "Page.close": "end of target",
    "Page.crash": "crash",
    "Target.closeTarget": "end of target",
    "Target.disposeBrowserContext": "end of target",
    "Browser.close": "end of target",
    "Target.detachFromTarget": "end of session",
    "Page.disable": "end of session",
}
EVENTS = {
    "Page.frameNavigated": "navigation",
    "Page.frameStartedNavigating": "navigation",
    "Page.navigatedWithinDocument": "navigation",
    "Inspector.targetCrashed": "crash",
    "Target.targetCrashed": "crash",
    "Target.targetDestroyed": "end of target",
}
"""What ends a dialog (facts 3, 23)."""
HANGS = 1.0
"""Seconds: a renderer that takes longer is stopped by something (fact 15)."""
NOT_OF_RENDERERS = re.compile(
    r"(Target|Browser|Fetch|Input|Storage)\..*|Network\.getCookies"
    r"|Page\.(navigate|reload|stopLoading|getNavigationHistory|handleJavaScriptDialog|bringToFront|close|crash)"
)
"""Answered although a dialog is up, or never whether one is or not (facts 15, 21, 23)."""


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
    lost: bool = False
    """The link ended before it did."""
    accepted: bool | None = None
    user_input: str | None = None
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
    told_to: set[tuple[str, str]] = attrs.field(factory=set)
    """The sessions that each message was delivered to: others of its target, too (fact 14)."""
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
    target_of: dict[str, str] = attrs.field(factory=dict)
    """Of every session that there was."""
    ever_enabled: set[str] = attrs.field(factory=set)
    attaching: set[int] = attrs.field(factory=set)
    attaches: set[str | None] = attrs.field(factory=set)
    """Sessions, and the root, that attach by themselves to what is below."""
    times: dict[int, float] = attrs.field(factory=dict)
    unanswered: dict[int, tuple[str, int]] = attrs.field(factory=dict)
    """Commands to renderers without a reply: their targets, and where they were sent."""
    hung: list[tuple[str, int, int]] = attrs.field(factory=list)
    """(target, where it was sent, where the reply came) of those that were answered late."""
    closed_unseen: list[str] = attrs.field(factory=list)
    """Targets of closings without an opening (fact 18)."""
    crashed: set[str] = attrs.field(factory=set)
    contexts: set[str] = attrs.field(factory=set)
    """Sessions that name the frame of each execution context (fact 41)."""
    ever_whole: set[str] = attrs.field(factory=set)
    """Targets whose frames were known wholly at some time."""
    opened: dict[str, SessionOpened] = attrs.field(factory=dict)
    """Every session that there was."""
    parents: dict[str, str] = attrs.field(factory=dict)
    """Of the frames of which it was told."""
    happenings: list[tuple[int, str, str, bool]] = attrs.field(factory=list)
    """(place, target or empty for all, cause, whether this connection ordered it)."""
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

    def tells_all(self, target: str) -> bool:
        """Whether nothing could come below a target without a word."""
        session = self.listened(target)
        return session in self.enabled and (self.discovers or session in self.attaches)

    def ordered(self, opening: Opening) -> set[str]:
        """What this connection ordered, or knows of, while the dialog was up."""
        until = math.inf if opening.closed is None else opening.closed
        found = {
            cause
            for place, target, cause, ours in self.happenings
            if ours and target in ("", opening.target) and opening.place < place < until
        }
        over = [each for each in self.openings if each.target == opening.target and opening.place < each.place < until]
        return found | ({"superseded"} if over else set())

    def causes(self, opening: Opening) -> set[str]:
        """What may have ended it, as far as was told."""
        since = opening.place if opening.closed is None else opening.closed
        later = (each.place for each in self.openings if each.target == opening.target and each.place > since)
        until = min(later, default=math.inf)
        found = self.ordered(opening) | {
            cause
            for place, target, cause, _ours in self.happenings
            if target in ("", opening.target) and opening.place < place <= until
        }
        if any(
            each.target == opening.target and each.place < opening.place and (each.closed or math.inf) > opening.place
            for each in self.openings
        ):
            found.add("superseded")  # of two, the older or the newer, by the browser's profile (facts 3, 26)
        return found

    # ── the log ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def take(self, place: int, entry: Any) -> None:
        if isinstance(entry, follower.Said):
            self.said(place, entry)
        elif isinstance(entry, SessionOpened):
            self.open[entry.session_id] = entry
            self.all_sessions.add(entry.session_id)
            self.target_of[entry.session_id] = entry.target_id
            self.opened[entry.session_id] = entry
            self.named[entry.session_id] = self.root_named(entry.session_id)
        elif isinstance(entry, SessionClosed):
            self.closed(place, entry)
        elif isinstance(entry, CommandDone):
            self.replied(place, entry)
        elif isinstance(entry, Event):
            self.heard(place, entry.method, entry.session_id, entry.params)

    def said(self, place: int, said: Any) -> None:
        opened = self.open.get(said.session or "")
        if opened is not None and not NOT_OF_RENDERERS.fullmatch(said.method):
            self.unanswered[said.id] = opened.target_id, place
        if said.method in ORDERS:
            own = "" if opened is None else opened.target_id
            target = said.params.get("targetId") or self.target_of.get(said.params.get("sessionId", ""), own)
            self.happenings.append((place, target, ORDERS[said.method], True))
        elif said.method == "Target.setAutoAttach" and said.params.get("autoAttach") is True:
            self.attaching.add(said.id)
        if said.method == follower.ANSWER and opened is not None:
            self.answers[said.id] = Answer(opened.target_id, place)
        elif said.method == "Target.setDiscoverTargets":
            self.switching[said.id] = said.params.get("discover") is True

    def closed(self, place: int, closed: SessionClosed) -> None:
        session: str = closed.session_id
        opened = self.open.pop(session, None)
        if opened is None:
            return
        of_link = closed.loss.kind == "connection"
        self.happenings.append((place, opened.target_id, "end of link" if of_link else "end of session", False))
        self.attaches.discard(session)
        self.whole.discard(session)
        self.enabled.discard(session)
        self.named.pop(session, None)
        for opening in self.openings:
            if opening.session == session and opening.closed is None:
                opening.orphaned, opening.lost = True, of_link
        if self.listened(opened.target_id) is None:
            for names in self.named.values():  # it may be removed, or on its way back to the process above (fact 42)
                names.discard(opened.target_id)

    def replied(self, place: int, done: CommandDone) -> None:
        answer = self.answers.pop(done.id, None)
        if isinstance(done.outcome, (Result, Refusal)):
            target, since = self.unanswered.pop(done.id, ("", place))
            if self.times[place] - self.times[since] > HANGS:
                self.hung.append((target, since, place))
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
            self.ever_enabled |= self.enabled
        elif done.method == "Runtime.enable" and done.session_id is not None:
            self.contexts.add(done.session_id)
        elif done.id in self.attaching:
            self.attaches.add(done.session_id)
        elif done.id in self.switching:
            self.discovers = self.switching[done.id]
        elif done.id in self.trees and done.session_id in self.open:
            self.known_wholly(done.session_id)
            stack = [done.outcome.value.get("frameTree", {})]
            while stack:
                node = stack.pop()
                self.named[done.session_id].add(node["frame"]["id"])
                self.shown.add(node["frame"]["id"])
                self.placed(node["frame"]["id"], node["frame"].get("parentId"))
                stack += node.get("childFrames", [])

    def heard(self, place: int, method: str, session: str | None, params: dict[str, Any]) -> None:
        if method in EVENTS:
            target = params.get("targetId") or self.target_of.get(session or "", "")
            self.happenings.append((place, target, EVENTS[method], False))
            if EVENTS[method] == "crash":
                self.crashed.add(target)
        if method == "Page.javascriptDialogOpening":
            self.told_to.add((session or "", params["message"]))
        if method in ("Target.attachedToTarget", "Target.targetInfoChanged"):
            info = params.get("targetInfo", {})
            self.placed(info.get("targetId", ""), info.get("parentFrameId"))
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
            self.placed(params["frameId"], params["parentFrameId"])
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
                each.closed, each.accepted, each.user_input = place, params.get("result"), params.get("userInput")
                return
        self.closed_unseen.append(target)

    def navigated(self, session: str, params: dict[str, Any]) -> None:
        frame = params["frame"]
        root = frame["id"] == self.open[session].target_id
        if root and params.get("type") == "BackForwardCacheRestore":
            self.forget(session)
        elif root:
            self.known_wholly(session)
        self.named[session].add(frame["id"])
        self.shown.add(frame["id"])

    def known_wholly(self, session: str) -> None:
        self.whole.add(session)
        self.ever_whole.add(self.open[session].target_id)

    def placed(self, frame: str, parent: str | None) -> None:
        if parent is not None:
            self.parents[frame] = parent

    def forget(self, session: str) -> None:
        """From now on its frames are others, and nobody says which."""
        self.whole.discard(session)
        self.named[session] = self.root_named(session)


def hear(link: Any, *, before_loss: bool = False) -> Hearing:
    """What the connection of a follower was told; up to the loss of its link, where asked for."""
    lost = link.lost_at is not None and not before_loss
    hearing = Hearing(trees=link.bound_trees, times=link.times, lost=lost)
    for place, entry in link.log:
        if before_loss and place == link.lost_at:
            break
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
