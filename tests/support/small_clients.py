"""A small correct client, and variants with one mistake each, for the tests of the fuzz kit.

The correct client is what a careful reader of the facts would write in an afternoon: one table of commands with one
sequence of ids per connection, sessions as a tree, frames rebuilt from events and `getFrameTree`, dialogs by session
and frame, and every paused target resumed. It is pure: `start()` and `receive(payload)` return what it sends.

Each wrong variant changes one point. Real clients make these mistakes (see `/docs/cdp`); each variant names the law
that it breaks.
"""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Callable
from typing import Any, ClassVar

Json = dict[str, Any]


class RightClient:
    """A correct client: it watches every target and accepts every dialog."""

    law: ClassVar[str] = ""
    """For a wrong variant: the law that it breaks first. The consequences may break others."""
    faults: ClassVar[str | None] = None
    """The kind of faults that the mistake needs to show; None if it needs none."""

    def __init__(self) -> None:
        self._last_id = 0
        self.pending: dict[Any, tuple[str | None, str, Any]] = {}
        self.ended: list[Json] = []
        """The commands that ended, with their outcomes."""
        self.event_counts: Counter[str] = Counter()
        self.listening: set[str | None] = set()
        self.targets: dict[str, str] = {}
        self.sessions: dict[str, Json] = {}
        self.frames: dict[str, Json] = {}
        self.dialogs: dict[tuple[str, str], list[Json]] = {}
        """The open dialogs by session and frame: a frame can open one in its next document before the last closes."""
        self.closed: list[Json] = []
        self.answering: dict[Any, tuple[str, str]] = {}
        self._out: list[bytes] = []

    # ── in and out ───────────────────────────────────────────────────────────────────────────────────────────────────

    def start(self) -> list[bytes]:
        self.send(None, "Target.setDiscoverTargets", {"discover": True})
        self.watch(None)
        return self.take()

    def receive(self, payload: bytes) -> list[bytes]:
        message: Json = json.loads(payload)
        if "id" in message:
            self.on_reply(message)
        elif "method" in message:
            self.on_event(message)
        return self.take()

    def ask(self, question: Json) -> list[bytes]:
        """Send a user's command on the n-th session, or detach that session; number 0 is the root session."""
        session = [None, *self.sessions][question["on"] % (len(self.sessions) + 1)]
        if "method" in question:
            self.send(session, question["method"], question["params"])
        elif session is not None:
            self.send(self.sessions[session]["parent"], "Target.detachFromTarget", {"sessionId": session})
        return self.take()

    def take(self) -> list[bytes]:
        taken, self._out = self._out, []
        return taken

    def send(self, session: str | None, method: str, params: Json | None = None) -> Any:
        self._last_id += 1
        number = self.number()
        message: Json = {"id": number, "method": method, "params": params or {}}
        if session is not None:
            message["sessionId"] = session
        self.pending[self.key(number, session)] = (session, method, number)
        self._out.append(json.dumps(message).encode())
        return self.key(number, session)

    def number(self) -> Any:
        return self._last_id

    def key(self, number: Any, _session: str | None) -> Any:
        return number

    def finish(self, key: Any, outcome: str) -> tuple[str | None, str]:
        session, method, number = self.pending.pop(key)
        self.ended.append({"session": session, "id": number, "outcome": outcome})
        return session, method

    def give_up(self, session: str | None) -> None:
        for key in [key for key, value in self.pending.items() if value[0] == session]:
            self.finish(key, "gone")

    # ── replies ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def on_reply(self, message: Json) -> None:
        key = self.key(message["id"], message.get("sessionId"))
        if key not in self.pending:
            return
        error = message.get("error")
        session, method = self.finish(key, "result" if error is None else "refused")
        if error is not None:
            self.on_refusal(key, session, method, error)
        elif method == "Target.setAutoAttach":
            self.on_watching(session)
        elif method == "Page.getFrameTree":
            self.take_whole_tree(session, message["result"]["frameTree"])
        elif method == "Page.handleJavaScriptDialog":
            self.on_answered(key)

    def on_refusal(self, key: Any, session: str | None, method: str, error: Json) -> None:
        if session is None:
            return
        if error["code"] == -32001:
            self.end_session(session)
        elif method == "Page.enable" and error["code"] == -32000 and session in self.sessions:
            # The page had crashed before this session existed, so the session gets no `targetReloadedAfterCrash`.
            self.set_up(session, self.sessions[session]["info"])
        if method == "Page.handleJavaScriptDialog":
            self.answering.pop(key, None)

    def on_answered(self, key: Any) -> None:
        """Attribute the last closed dialog to this client: the reply follows its closed event (facts 1, 3)."""
        session, _frame = self.answering.pop(key)
        last = next((each for each in reversed(self.closed) if each["session"] == session), None)
        if last is not None:
            last["closed_by"] = "us"

    # ── events ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def on_event(self, message: Json) -> None:
        self.event_counts[message["method"]] += 1
        name = message["method"].replace(".", "_")
        act = getattr(self, f"on_{name}", None)
        if act is None:
            self.on_unknown(message)
        else:
            act(message.get("sessionId"), message.get("params", {}))

    def on_unknown(self, message: Json) -> None:
        """Ignore an event without a method of its own."""

    def watch(self, session: str | None) -> None:
        self.listen(session)
        params = {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True}
        self.send(session, "Target.setAutoAttach", params)

    def listen(self, session: str | None) -> None:
        self.listening.add(session)

    def on_watching(self, session: str | None) -> None:
        """Do nothing: `watch` listened before it sent the command."""

    def on_Target_attachedToTarget(self, session: str | None, params: Json) -> None:  # noqa: N802 - the protocol's name
        if session not in self.listening:
            return
        own, info = params["sessionId"], params["targetInfo"]
        self.sessions[own] = {"parent": session, "target": info["targetId"], "info": info}
        self.set_up(own, info)

    def set_up(self, session: str, info: Json) -> None:
        if info["type"] in ("page", "iframe"):
            self.enable(session, info)
        self.watch(session)
        self.let_run(session)

    def enable(self, session: str, info: Json) -> None:
        self.send(session, "Page.enable")
        self.send(session, "Runtime.enable")
        self.send(session, "Page.getFrameTree")
        parent = info.get("parentFrameId")
        shown = {"parent": parent, "session": session, "url": info["url"]}
        self.frames.setdefault(info["targetId"], shown)["session"] = session

    def let_run(self, session: str) -> None:
        self.send(session, "Runtime.runIfWaitingForDebugger")

    def on_Inspector_targetCrashed(self, session: str | None, _params: Json) -> None:  # noqa: N802
        """End the session's commands, which get no reply (fact 49).

        A dialog may stay (docs/cdp/a-crash-ends-no-session.md).
        """
        self.give_up(session)

    def on_Inspector_targetReloadedAfterCrash(self, session: str | None, _params: Json) -> None:  # noqa: N802
        """Repeat the setup: commands sent before are refused, and may not have been executed (fact 49)."""
        if session in self.sessions:
            self.set_up(session, self.sessions[session]["info"])

    def on_Target_detachedFromTarget(self, _session: str | None, params: Json) -> None:  # noqa: N802
        self.end_session(params["sessionId"])
        self.send(None, "Target.getTargets")

    def end_session(self, session: str) -> None:
        ended = self.subtree(session)
        for each in ended:
            gone = self.sessions.pop(each, None)
            if gone is None:
                continue
            self.give_up(each)
            self.drop(gone["target"], own=True)  # a frame that moves back to its parent's process is reported again
            for where in [where for where in self.dialogs if where[0] == each]:
                self.dialogs.pop(where)

    def subtree(self, session: str) -> list[str]:
        found = [session]
        for each in found:
            found += [child for child, record in self.sessions.items() if record["parent"] == each]
        return found

    def on_Target_targetCreated(self, _session: str | None, params: Json) -> None:  # noqa: N802
        self.targets[params["targetInfo"]["targetId"]] = params["targetInfo"]["url"]

    def on_Target_targetDestroyed(self, _session: str | None, params: Json) -> None:  # noqa: N802
        self.targets.pop(params["targetId"], None)

    def on_Target_targetInfoChanged(self, session: str | None, params: Json) -> None:  # noqa: N802
        """Update a URL: discovery and the parent session both report it, in orders of their own.

        The reports of the parent session end with the session on the target.
        """
        target, url = params["targetInfo"]["targetId"], params["targetInfo"]["url"]
        if session is None and target in self.targets:
            self.targets[target] = url
        own = self.sessions.get(str(self.frames.get(target, {}).get("session")))
        if own is not None and own["target"] == target and own["parent"] == session and url:
            self.frames[target]["url"] = url

    # ── frames ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def take_whole_tree(self, session: str | None, tree: Json) -> None:
        """Take a frame tree as complete: drop the frames of this session that it lacks."""
        before = {name for name, frame in self.frames.items() if frame["session"] == session}
        for name in before - self.take_tree(session, tree):
            self.drop(name, own=True)

    def take_tree(self, session: str | None, tree: Json) -> set[str]:
        frame = tree["frame"]
        known = self.frames.setdefault(frame["id"], {"parent": frame.get("parentId"), "session": session, "url": ""})
        known["url"] = frame["url"]
        return {frame["id"]}.union(*(self.take_tree(session, child) for child in tree.get("childFrames", [])))

    def on_Page_frameAttached(self, session: str | None, params: Json) -> None:  # noqa: N802
        frame = params["frameId"]
        # The frame may already have a session of its own if a dialog delayed this event of its parent.
        own = next((name for name, each in self.sessions.items() if each["target"] == frame), session)
        self.frames[frame] = {"parent": params["parentFrameId"], "session": own, "url": "about:blank"}

    def on_Page_frameNavigated(self, session: str | None, params: Json) -> None:  # noqa: N802
        frame, restored = params["frame"], params["type"] == "BackForwardCacheRestore"
        for child in [name for name, each in self.frames.items() if each["parent"] == frame["id"]]:
            if not (restored and self.frames[child]["session"] != session):  # attached just before (fact 43)
                self.drop(child, own=True)
        self.frames[frame["id"]] = {"parent": frame.get("parentId"), "session": session, "url": frame["url"]}
        if restored:
            self.on_restored(session)

    def on_restored(self, session: str | None) -> None:
        """Read the frame tree (docs/cdp/a-document-from-the-back-forward-cache-reports-no-frames.md)."""
        self.send(session, "Page.getFrameTree")

    def on_Page_navigatedWithinDocument(self, _session: str | None, params: Json) -> None:  # noqa: N802
        if params["frameId"] in self.frames:
            self.frames[params["frameId"]]["url"] = params["url"]

    def on_Page_frameDetached(self, session: str | None, params: Json) -> None:  # noqa: N802
        """Drop a removed frame; after a "swap", drop only the children that this session reported."""
        if params["reason"] != "swap":
            self.drop(params["frameId"], own=True)
        else:
            self.drop_where(lambda frame: frame["parent"] == params["frameId"] and frame["session"] == session)

    def drop_where(self, chosen: Callable[[Json], bool]) -> None:
        for name in [name for name, frame in self.frames.items() if chosen(frame)]:
            self.drop(name, own=True)

    def drop(self, frame: str, *, own: bool) -> None:
        for child in [name for name, each in self.frames.items() if each["parent"] == frame]:
            self.drop(child, own=True)
        if own:
            self.frames.pop(frame, None)

    # ── dialogs ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def on_Page_javascriptDialogOpening(self, session: str | None, params: Json) -> None:  # noqa: N802
        assert session is not None
        where = (session, params["frameId"])
        shown = {"message": params["message"], "native": params["hasBrowserHandler"]}
        self.dialogs.setdefault(where, []).append({"session": session, "closed_by": "?", **shown})
        self.answer(session, where)

    def answer(self, session: str, where: tuple[str, str]) -> None:
        key = self.send(session, "Page.handleJavaScriptDialog", {"accept": True})
        self.answering[key] = where

    def on_Page_javascriptDialogClosed(self, session: str | None, params: Json) -> None:  # noqa: N802
        assert session is not None
        # Of two dialogs in a frame the older closed, or the newer in a browser without dialog windows (facts 3, 26).
        of_frame = self.dialogs.get((session, params["frameId"]))
        if of_frame:
            self.closed.append(of_frame.pop(0 if of_frame[0]["native"] else -1))
        if not of_frame:
            self.dialogs.pop((session, params["frameId"]), None)

    # ── its view of the browser ──────────────────────────────────────────────────────────────────────────────────────

    def observed(self) -> Json:
        """Return what the client would report to its user."""
        return {
            "sessions": sorted(self.sessions),
            "targets": self.targets,
            "frames": {name: frame["url"] for name, frame in sorted(self.frames.items())},
            "dialogs": [{"message": each["message"], "closed_by": each["closed_by"]} for each in self.closed],
            "pending": [{"frame": frame} for _session, frame in self.dialogs if frame in self.frames],
            "commands": self.ended,
            "unanswered": len(self.pending),
            "heard": dict(self.event_counts),
        }


# ── variants with one mistake each ───────────────────────────────────────────────────────────────────────────────────


class WaitsInItsReader(RightClient):
    """Waits for the reply to its answer of a dialog in the task that reads replies."""

    law = "detached-commands-never-answer"
    stuck = False

    def receive(self, payload: bytes) -> list[bytes]:
        return [] if self.stuck else super().receive(payload)

    def answer(self, session: str, where: tuple[str, str]) -> None:
        super().answer(session, where)
        self.stuck = True


class CountsPerSession(RightClient):
    """Counts ids per session, and takes a reply without a sessionId for the root session's (fact 8)."""

    law = "every-command-ends-once"

    def __init__(self) -> None:
        super().__init__()
        self._last: dict[str | None, int] = {}

    def send(self, session: str | None, method: str, params: Json | None = None) -> Any:
        self._last_id = self._last.get(session, 0)
        key = super().send(session, method, params)
        self._last[session] = self._last_id
        return key

    def key(self, number: int, session: str | None) -> Any:
        return (session, number)


class ListensAfterTheAct(RightClient):
    """Listens for attached sessions only after the reply to `Target.setAutoAttach` (fact 47)."""

    law = "nested-sessions-die-silently"

    def listen(self, session: str | None) -> None:
        pass

    def on_watching(self, session: str | None) -> None:
        self.listening.add(session)


class NoCascade(RightClient):
    """Ends a detached session without the sessions below it (fact 50)."""

    law = "nested-sessions-die-silently"

    def subtree(self, session: str) -> list[str]:
        return [session]


class DropsOnFullQueue(RightClient):
    """Keeps four events, and drops the oldest silently."""

    law = "a-subscription-never-ends-silently"

    def __init__(self) -> None:
        super().__init__()
        self._queue: deque[Json] = deque(maxlen=4)
        self._seen = 0

    def on_event(self, message: Json) -> None:
        self._queue.append(message)
        self._seen += 1
        if self._seen % 6 == 0:
            while self._queue:
                super().on_event(self._queue.popleft())

    def on_reply(self, message: Json) -> None:
        while self._queue:
            super().on_event(self._queue.popleft())
        super().on_reply(message)


class DiesOnUnknownEvent(RightClient):
    """Ends its reader at an unknown event."""

    law = "a-subscription-never-ends-silently"
    dead = False
    expected = frozenset(("Page.frameStartedLoading", "Page.frameStoppedLoading", "Page.loadEventFired"))

    def receive(self, payload: bytes) -> list[bytes]:
        return [] if self.dead else super().receive(payload)

    def on_unknown(self, message: Json) -> None:
        if message["method"].startswith("Page.") and message["method"] not in self.expected:
            self.dead = True


class TrustsReplyBeforeClosed(RightClient):
    """Attributes a dialog that closes before the reply arrives to another client (fact 1)."""

    law = "closed-precedes-reply"

    def on_answered(self, key: Any) -> None:
        self.answering.pop(key, None)


class ForgetsToRun(RightClient):
    """Never sends `Runtime.runIfWaitingForDebugger` (fact 7)."""

    law = "paused-targets-wait-for-ever"

    def let_run(self, session: str) -> None:
        pass


class OldestDialogFirst(RightClient):
    """Takes a closed event for the oldest open dialog, whatever frame it names (fact 3)."""

    law = "dialogs-are-matched-by-frame"

    def on_Page_javascriptDialogClosed(self, session: str | None, params: Json) -> None:  # noqa: N802
        assert session is not None
        oldest = next((where for where in self.dialogs if where[0] == session), None)
        frame = params["frameId"] if oldest is None else oldest[1]
        super().on_Page_javascriptDialogClosed(session, {**params, "frameId": frame})


class NoFrameTree(RightClient):
    """Expects events for all frames, and reads no frame tree (fact 41)."""

    law = "page-enable-replays-no-frames"

    def enable(self, session: str, info: Json) -> None:
        self.send(session, "Page.enable")
        self.send(session, "Runtime.enable")


class OneMebibyte(RightClient):
    """Stops reading after a message above 1 MiB."""

    law = "detached-commands-never-answer"
    dead = False

    def receive(self, payload: bytes) -> list[bytes]:
        self.dead = self.dead or len(payload) > 1 << 20
        return [] if self.dead else super().receive(payload)


class RunsFirst(RightClient):
    """Resumes a page before it enables domains (fact 40)."""

    law = "listen-before-you-let-run"

    def set_up(self, session: str, info: Json) -> None:
        self.let_run(session)
        if info["type"] in ("page", "iframe"):
            self.enable(session, info)
        self.watch(session)


class AnswersOnTheFramesSession(RightClient):
    """Answers a dialog on the session of its frame (fact 2)."""

    law = "a-dialog-stops-its-page"

    def answer(self, session: str, where: tuple[str, str]) -> None:
        frame = self.frames.get(where[1])
        own = session if frame is None else frame["session"]
        key = self.send(own, "Page.handleJavaScriptDialog", {"accept": True})
        self.answering[key] = where


class AnswersTwice(RightClient):
    """Answers each dialog twice (fact 13)."""

    law = "a-dialog-is-answered-once"

    def answer(self, session: str, where: tuple[str, str]) -> None:
        super().answer(session, where)
        self.send(session, "Page.handleJavaScriptDialog", {"accept": True})


class IgnoresDetach(RightClient):
    """Keeps sessions until the link ends, and ignores `Target.detachedFromTarget` (fact 55)."""

    law = "nested-sessions-die-silently"

    def on_Target_detachedFromTarget(self, session: str | None, params: Json) -> None:  # noqa: N802
        self.send(None, "Target.getTargets")


class TidiesUpEndedSessions(RightClient):
    """Disables Runtime on sessions that have ended."""

    law = "nothing-is-sent-to-an-ended-session"

    def on_Target_detachedFromTarget(self, session: str | None, params: Json) -> None:  # noqa: N802
        super().on_Target_detachedFromTarget(session, params)
        self.send(params["sessionId"], "Runtime.disable")


class KeepsFramesOnNavigation(RightClient):
    """Keeps child frames at a navigation: it waits for a `Page.frameDetached` that is never sent (fact 9)."""

    law = "page-enable-replays-no-frames"

    def on_Page_frameNavigated(self, session: str | None, params: Json) -> None:  # noqa: N802
        frame = params["frame"]
        self.frames[frame["id"]] = {"parent": frame.get("parentId"), "session": session, "url": frame["url"]}


class WritesIdsAsText(RightClient):
    """Sends ids as strings (fact 53)."""

    law = "nothing-the-peer-sends-raises"

    def number(self) -> Any:
        return str(super().number())


class WaitsForRefusedLoads(RightClient):
    """Ignores the reply of a navigation that failed (fact 56)."""

    law = "detached-commands-never-answer"

    def on_reply(self, message: Json) -> None:
        if "errorText" not in message.get("result", {}):
            super().on_reply(message)


class IgnoresTargetInfo(RightClient):
    """Keeps the URL that a target had at its creation (fact 40)."""

    law = "target-info-changes"

    def on_Target_targetInfoChanged(self, session: str | None, params: Json) -> None:  # noqa: N802
        pass


class GivesUpRefusedCommands(RightClient):
    """Takes a refusal for the end of its session."""

    law = "every-command-ends-once"

    def on_refusal(self, key: Any, session: str | None, method: str, error: Json) -> None:
        super().on_refusal(key, session, method, error)
        self.give_up(session)


class BelievesThatEventsTellAll(RightClient):
    """Reads no frame tree when a document is restored (fact 43)."""

    law = "page-enable-replays-no-frames"

    def on_restored(self, session: str | None) -> None:
        pass


class KeepsPendingOnCrash(RightClient):
    """Waits for replies after a crash, since the session stays (fact 55)."""

    law = "detached-commands-never-answer"

    def on_Inspector_targetCrashed(self, session: str | None, _params: Json) -> None:  # noqa: N802
        pass


class ClosedNeedsOpening(RightClient):
    """Expects an opening event before each closed event (fact 18)."""

    law = "nothing-the-peer-sends-raises"

    def on_Page_javascriptDialogClosed(self, session: str | None, params: Json) -> None:  # noqa: N802
        assert session is not None
        _ = self.dialogs[session, params["frameId"]]
        super().on_Page_javascriptDialogClosed(session, params)


class NoWithinDocument(RightClient):
    """Keeps the URL of a frame's last load, and ignores navigations within the document."""

    law = "page-enable-replays-no-frames"

    def on_Page_navigatedWithinDocument(self, _session: str | None, params: Json) -> None:  # noqa: N802
        pass


class KnowsAllEvents(RightClient):
    """Has one class per event, and fails on unknown domains."""

    law = "nothing-the-peer-sends-raises"
    faults = "hostile"

    domains = dict.fromkeys(("Target", "Page", "Runtime", "Inspector", "Fetch"))

    def on_unknown(self, message: Json) -> None:
        _ = self.domains[message["method"].partition(".")[0]]


class KnowsAllFields(RightClient):
    """Reads events into classes, and fails on unknown members."""

    law = "nothing-the-peer-sends-raises"
    faults = "hostile"
    fields = frozenset(("frame", "type", "frameId", "parentFrameId", "reason", "stack", "loaderId", "url"))
    fields |= {"sessionId", "targetInfo", "waitingForDebugger", "targetId", "message", "hasBrowserHandler"}
    fields |= {"defaultPrompt", "result", "userInput"}

    def on_event(self, message: Json) -> None:
        if hasattr(self, f"on_{message['method'].replace('.', '_')}"):
            assert message["params"].keys() <= self.fields
        super().on_event(message)


class KnowsAllValues(RightClient):
    """Reads the type of a dialog into an enumeration, and fails on unknown values."""

    law = "nothing-the-peer-sends-raises"
    faults = "hostile"

    def on_Page_javascriptDialogOpening(self, session: str | None, params: Json) -> None:  # noqa: N802
        _ = {"alert": 1, "confirm": 2, "prompt": 3, "beforeunload": 4}[params["type"]]
        super().on_Page_javascriptDialogOpening(session, params)


class Intercepts(RightClient):
    """A correct client that intercepts every request and continues it."""

    def enable(self, session: str, info: Json) -> None:
        super().enable(session, info)
        self.send(session, "Fetch.enable")

    def on_Fetch_requestPaused(self, session: str | None, params: Json) -> None:  # noqa: N802
        self.let_go_on(session, params["requestId"])

    def let_go_on(self, session: str | None, request: str) -> None:
        self.send(session, "Fetch.continueRequest", {"requestId": request})


class HoldsRequests(Intercepts):
    """Intercepts requests and never continues them."""

    law = "a-pause-stops-its-request"

    def let_go_on(self, session: str | None, request: str) -> None:
        pass


class LetsGoTwice(Intercepts):
    """Continues each request twice."""

    law = "a-pause-is-answered-once"

    def let_go_on(self, session: str | None, request: str) -> None:
        super().let_go_on(session, request)
        super().let_go_on(session, request)


class LetsGoElsewhere(Intercepts):
    """Continues requests on the root session (fact 29)."""

    law = "a-pause-stops-its-request"

    def let_go_on(self, session: str | None, request: str) -> None:
        super().let_go_on(None, request)


TWINS = (RightClient, Intercepts)
"""The correct clients. Each wrong variant differs in one point from the one that it derives from."""
WRONG = (
    WaitsInItsReader,
    ListensAfterTheAct,
    CountsPerSession,
    NoCascade,
    DropsOnFullQueue,
    DiesOnUnknownEvent,
    TrustsReplyBeforeClosed,
    ForgetsToRun,
    OldestDialogFirst,
    NoFrameTree,
    OneMebibyte,
    RunsFirst,
    AnswersOnTheFramesSession,
    AnswersTwice,
    IgnoresDetach,
    TidiesUpEndedSessions,
    KeepsFramesOnNavigation,
    WritesIdsAsText,
    WaitsForRefusedLoads,
    IgnoresTargetInfo,
    GivesUpRefusedCommands,
    BelievesThatEventsTellAll,
    KeepsPendingOnCrash,
    ClosedNeedsOpening,
    NoWithinDocument,
    KnowsAllEvents,
    KnowsAllFields,
    KnowsAllValues,
    HoldsRequests,
    LetsGoTwice,
    LetsGoElsewhere,
)
