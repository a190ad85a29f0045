"""A naive record of what one connection received: the most that its state machine could know.

Nothing here is taken from the state machine. Of several sessions on one target only the oldest open one counts, since
the others repeat its events (fact 47).

* An opening was delivered if such a session of the page received it. It was `answered` by this connection if a
  command of the connection was accepted: the closed event between command and reply belongs to that dialog (fact 1).
* The frames of a session are `complete` after a reply to `Page.getFrameTree` on it, or after a navigation of its
  root. They are not complete after a restore from the back/forward cache or a reload after a crash, of which the
  events report too little (facts 43, 49). Otherwise only the frames that were `named` since then are known.
* The URL of a frame is known once a message contained it (`shown`), until the frame moves to a process in which the
  connection has no session.
* There are two kinds of evidence for the end of a dialog. The connection itself sent a command that ends dialogs
  while it was open (`ordered`): that command ended it (facts 3, 21, 23). Or such an event was received before the
  next dialog of the page opened (`causes`).
* A session `reports_all` below it if `Page.enable` and `Target.setAutoAttach` were accepted on it.
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
"""Events that end a dialog → the cause that they report (facts 3, 23)."""
HANGS = 1.0
"""Seconds; a renderer that takes longer for a reply is blocked (fact 15)."""
NOT_OF_RENDERERS = re.compile(
    r"(Target|Browser|Fetch|Input|Storage)\..*|Network\.getCookies"
    r"|Page\.(navigate|reload|stopLoading|getNavigationHistory|handleJavaScriptDialog|bringToFront|close|crash)"
)
"""Methods that are answered during a dialog, or never answered at all (facts 15, 21, 23)."""


@attrs.define
class Opening:
    """A dialog with an opening event that was delivered."""

    target: str
    frame: str
    type: str
    message: str
    place: int
    session: str
    closed: int | None = None
    orphaned: bool = False
    """Its session ended before the dialog."""
    lost: bool = False
    """The link ended before the dialog."""
    accepted: bool | None = None
    user_input: str | None = None
    answered: bool = False


@attrs.define
class Answer:
    """An answer of this connection without a reply so far."""

    target: str
    place: int


@attrs.define
class Received:
    """What one connection sent and received, up to a record of the trace."""

    open: dict[str, SessionOpened] = attrs.field(factory=dict)
    """The open sessions, in the order of their opening."""
    all_sessions: set[str] = attrs.field(factory=set)
    openings: list[Opening] = attrs.field(factory=list)
    delivered_to: set[tuple[str, str]] = attrs.field(factory=set)
    """(session, message) of every opening, for every session of the target (fact 14)."""
    answers: dict[int, Answer] = attrs.field(factory=dict)
    trees: set[int] = attrs.field(factory=set)
    """Commands with a frame tree that was fed to the state machine."""
    enabled: set[str] = attrs.field(factory=set)
    """Sessions with `Page.enable`, which report frames."""
    complete: set[str] = attrs.field(factory=set)
    named: dict[str, set[str]] = attrs.field(factory=dict)
    shown: set[str] = attrs.field(factory=set)
    discovers: bool = False
    switching: dict[int, bool] = attrs.field(factory=dict)
    target_of: dict[str, str] = attrs.field(factory=dict)
    """The target of every session, open or ended."""
    ever_enabled: set[str] = attrs.field(factory=set)
    attaching: set[int] = attrs.field(factory=set)
    attaches: set[str | None] = attrs.field(factory=set)
    """Sessions with auto-attach; None is the root session."""
    times: dict[int, float] = attrs.field(factory=dict)
    unanswered: dict[int, tuple[str, int]] = attrs.field(factory=dict)
    """Commands to renderers without a reply: their targets, and the records in which they were sent."""
    hung: list[tuple[str, int, int]] = attrs.field(factory=list)
    """(target, record of the command, record of the reply) of late replies."""
    closed_unseen: list[str] = attrs.field(factory=list)
    """Targets of closed events without an opening (fact 18)."""
    crashed: set[str] = attrs.field(factory=set)
    contexts: set[str] = attrs.field(factory=set)
    """Sessions that name the frame of each execution context (fact 41)."""
    ever_complete: set[str] = attrs.field(factory=set)
    """Targets with complete frames at some time."""
    opened: dict[str, SessionOpened] = attrs.field(factory=dict)
    """Every session, open or ended."""
    parents: dict[str, str] = attrs.field(factory=dict)
    """Reported frame → its reported parent."""
    happenings: list[tuple[int, str, str, bool]] = attrs.field(factory=list)
    """(place, target or empty for all, cause, whether this connection ordered it)."""
    lost: bool = False

    def primary_session(self, target: str) -> str | None:
        """Return the oldest open session on a target, the one that counts."""
        return next((key for key, each in self.open.items() if each.target_id == target), None)

    def is_primary(self, session: str | None) -> bool:
        opened = self.open.get(session or "")
        return opened is not None and self.primary_session(opened.target_id) == session

    def root_named(self, session: str) -> set[str]:
        """Return the frames that the session itself names: an out-of-process frame, and none for a page."""
        opened = self.open[session]
        return {opened.target_id} if opened.target_type == "iframe" else set()

    def reports_all(self, target: str) -> bool:
        """Return True if every new frame or target below this target would be reported."""
        session = self.primary_session(target)
        return session in self.enabled and (self.discovers or session in self.attaches)

    def ordered(self, opening: Opening) -> set[str]:
        """Return the causes that this connection commanded, or saw, while the dialog was open."""
        until = math.inf if opening.closed is None else opening.closed
        found = {
            cause
            for place, target, cause, ours in self.happenings
            if ours and target in ("", opening.target) and opening.place < place < until
        }
        over = [each for each in self.openings if each.target == opening.target and opening.place < each.place < until]
        return found | ({"superseded"} if over else set())

    def causes(self, opening: Opening) -> set[str]:
        """Return the causes that may have ended the dialog, as far as messages report them."""
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
        if isinstance(entry, follower.SentCommand):
            self.sent(place, entry)
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
            self.received(place, entry.method, entry.session_id, entry.params)

    def sent(self, place: int, command: Any) -> None:
        opened = self.open.get(command.session or "")
        if opened is not None and not NOT_OF_RENDERERS.fullmatch(command.method):
            self.unanswered[command.id] = opened.target_id, place
        if command.method in ORDERS:
            own = "" if opened is None else opened.target_id
            target = command.params.get("targetId") or self.target_of.get(command.params.get("sessionId", ""), own)
            self.happenings.append((place, target, ORDERS[command.method], True))
        elif command.method == "Target.setAutoAttach" and command.params.get("autoAttach") is True:
            self.attaching.add(command.id)
        if command.method == follower.ANSWER and opened is not None:
            self.answers[command.id] = Answer(opened.target_id, place)
        elif command.method == "Target.setDiscoverTargets":
            self.switching[command.id] = command.params.get("discover") is True

    def closed(self, place: int, closed: SessionClosed) -> None:
        session: str = closed.session_id
        opened = self.open.pop(session, None)
        if opened is None:
            return
        of_link = closed.loss.kind == "connection"
        self.happenings.append((place, opened.target_id, "end of link" if of_link else "end of session", False))
        self.attaches.discard(session)
        self.complete.discard(session)
        self.enabled.discard(session)
        self.named.pop(session, None)
        for opening in self.openings:
            if opening.session == session and opening.closed is None:
                opening.orphaned, opening.lost = True, of_link
        if self.primary_session(opened.target_id) is None:
            for names in self.named.values():  # the frame is removed, or moves to its parent's process (fact 42)
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
            self.set_complete(done.session_id)
            stack = [done.outcome.value.get("frameTree", {})]
            while stack:
                node = stack.pop()
                self.named[done.session_id].add(node["frame"]["id"])
                self.shown.add(node["frame"]["id"])
                self.placed(node["frame"]["id"], node["frame"].get("parentId"))
                stack += node.get("childFrames", [])

    def received(self, place: int, method: str, session: str | None, params: dict[str, Any]) -> None:
        if method in EVENTS:
            target = params.get("targetId") or self.target_of.get(session or "", "")
            self.happenings.append((place, target, EVENTS[method], False))
            if EVENTS[method] == "crash":
                self.crashed.add(target)
        if method == "Page.javascriptDialogOpening":
            self.delivered_to.add((session or "", params["message"]))
        if method in ("Target.attachedToTarget", "Target.targetInfoChanged"):
            info = params.get("targetInfo", {})
            self.placed(info.get("targetId", ""), info.get("parentFrameId"))
            if info.get("url"):
                self.shown.add(info.get("targetId", ""))
        elif session is None or not self.is_primary(session):
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
            if self.primary_session(params["frameId"]) is not None:
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
            self.set_complete(session)
        self.named[session].add(frame["id"])
        self.shown.add(frame["id"])

    def set_complete(self, session: str) -> None:
        self.complete.add(session)
        self.ever_complete.add(self.open[session].target_id)

    def placed(self, frame: str, parent: str | None) -> None:
        if parent is not None:
            self.parents[frame] = parent

    def forget(self, session: str) -> None:
        """Mark the frames of a session as unknown: they changed without events."""
        self.complete.discard(session)
        self.named[session] = self.root_named(session)


def received_by(link: Any, *, before_loss: bool = False) -> Received:
    """Return what the connection of a follower received, at the end or up to the loss of its link."""
    lost = link.lost_at is not None and not before_loss
    received = Received(trees=link.bound_trees, times=link.times, lost=lost)
    for place, entry in link.log:
        if before_loss and place == link.lost_at:
            break
        received.take(place, entry)
    return received


def trees_below(nodes: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return all frames of nested trees in the format of the notes."""
    found: list[dict[str, Any]] = []
    stack = list(nodes)
    while stack:
        node = stack.pop()
        found.append(node)
        stack += node.get("children", [])
    return found
