"""A small client that is right, and its brothers that are each wrong in one point: what the fuzz kit is tried on.

The right one is what a careful reader of the facts would write in an afternoon: one table of commands by an id of the
connection's own, sessions as a tree, frames rebuilt from events and `getFrameTree`, dialogs by page and frame, and every
paused target set going. It is pure: `start()` and `receive(payload)` give what it sends.

Each of the wrong ones changes one method. What they do wrong is what real clients do wrong (see `/docs/cdp`), which is
why each names the law that catches it.
"""

from __future__ import annotations

import json
from collections import deque
from typing import Any, ClassVar

Json = dict[str, Any]


class RightClient:
    """Watches everything, answers every dialog with yes."""

    law: ClassVar[str] = ""
    """For a wrong one: what it breaks."""

    def __init__(self) -> None:
        self._last_id = 0
        self.pending: dict[Any, tuple[str | None, str]] = {}
        self.sessions: dict[str, Json] = {}
        self.frames: dict[str, Json] = {}
        self.dialogs: dict[tuple[str, str], Json] = {}
        self.closed: list[Json] = []
        self.console: list[str] = []
        self.answering: dict[Any, tuple[str, str]] = {}
        self.errors: list[str] = []
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

    def take(self) -> list[bytes]:
        taken, self._out = self._out, []
        return taken

    def send(self, session: str | None, method: str, params: Json | None = None) -> Any:
        self._last_id += 1
        message: Json = {"id": self._last_id, "method": method, "params": params or {}}
        if session is not None:
            message["sessionId"] = session
        self.pending[self.key(self._last_id, session)] = (session, method)
        self._out.append(json.dumps(message).encode())
        return self.key(self._last_id, session)

    def key(self, number: int, _session: str | None) -> Any:
        return number

    # ── replies ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def on_reply(self, message: Json) -> None:
        key = self.key(message["id"], message.get("sessionId"))
        command = self.pending.pop(key, None)
        if command is None:
            return
        session, method = command
        error = message.get("error")
        if error is not None:
            self.on_refusal(key, session, method, error)
        elif method == "Page.getFrameTree":
            self.take_tree(session, message["result"]["frameTree"])
        elif method == "Page.handleJavaScriptDialog":
            self.on_answered(key)

    def on_refusal(self, key: Any, session: str | None, method: str, error: Json) -> None:
        if error["code"] == -32001 and session is not None:
            self.end_session(session)
        if method == "Page.handleJavaScriptDialog":
            self.answering.pop(key, None)

    def on_answered(self, key: Any) -> None:
        where = self.answering.pop(key, None)
        for dialog in self.closed:
            if dialog.get("by_answer") == key:
                dialog["closed_by"] = "us"
        if where in self.dialogs:
            self.dialogs[where]["answered"] = True

    # ── events ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def on_event(self, message: Json) -> None:
        name = message["method"].replace(".", "_")
        act = getattr(self, f"on_{name}", None)
        if act is None:
            self.on_unknown(message)
        else:
            act(message.get("sessionId"), message.get("params", {}))

    def on_unknown(self, message: Json) -> None:
        """Most events interest nobody."""

    def watch(self, session: str | None) -> None:
        params = {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True}
        self.send(session, "Target.setAutoAttach", params)

    def on_Target_attachedToTarget(self, session: str | None, params: Json) -> None:  # noqa: N802 - the protocol's name
        own, info = params["sessionId"], params["targetInfo"]
        self.sessions[own] = {"parent": session, "target": info["targetId"], "type": info["type"]}
        if info["type"] in ("page", "iframe"):
            self.enable(own, info)
        self.watch(own)
        self.let_run(own)

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
        """Nothing that was asked of it is answered (fact 49)."""
        self.pending = {key: value for key, value in self.pending.items() if value[0] != session}
        for where in [where for where in self.dialogs if where[0] == session]:
            self.dialogs.pop(where)

    def on_Target_detachedFromTarget(self, _session: str | None, params: Json) -> None:  # noqa: N802
        self.end_session(params["sessionId"])

    def end_session(self, session: str) -> None:
        ended = self.subtree(session)
        for each in ended:
            gone = self.sessions.pop(each, None)
            if gone is None:
                continue
            self.pending = {key: value for key, value in self.pending.items() if value[0] != each}
            for frame in [name for name, frame in self.frames.items() if frame["session"] == each]:
                if gone["type"] == "page" or frame == gone["target"]:
                    self.drop(frame, own=gone["type"] == "page")
            for where in [where for where in self.dialogs if where[0] == each]:
                self.dialogs.pop(where)

    def subtree(self, session: str) -> list[str]:
        found = [session]
        for each in found:
            found += [child for child, record in self.sessions.items() if record["parent"] == each]
        return found

    def on_Target_targetInfoChanged(self, _session: str | None, params: Json) -> None:  # noqa: N802
        info = params["targetInfo"]
        if info["type"] == "iframe" and info["targetId"] in self.frames and info["url"]:
            self.frames[info["targetId"]]["url"] = info["url"]

    # ── frames ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def take_tree(self, session: str | None, tree: Json) -> None:
        frame = tree["frame"]
        known = self.frames.setdefault(frame["id"], {"parent": frame.get("parentId"), "session": session, "url": ""})
        known["url"] = frame["url"]
        for child in tree.get("childFrames", []):
            self.take_tree(session, child)

    def on_Page_frameAttached(self, session: str | None, params: Json) -> None:  # noqa: N802
        self.frames[params["frameId"]] = {"parent": params["parentFrameId"], "session": session, "url": "about:blank"}

    def on_Page_frameNavigated(self, session: str | None, params: Json) -> None:  # noqa: N802
        frame = params["frame"]
        for child in [name for name, each in self.frames.items() if each["parent"] == frame["id"]]:
            self.drop(child, own=True)
        self.frames[frame["id"]] = {"parent": frame.get("parentId"), "session": session, "url": frame["url"]}

    def on_Page_frameDetached(self, _session: str | None, params: Json) -> None:  # noqa: N802
        if params["reason"] != "swap":
            self.drop(params["frameId"], own=True)

    def drop(self, frame: str, *, own: bool) -> None:
        for child in [name for name, each in self.frames.items() if each["parent"] == frame]:
            self.drop(child, own=True)
        if own:
            self.frames.pop(frame, None)

    # ── dialogs and the console ──────────────────────────────────────────────────────────────────────────────────────

    def on_Page_javascriptDialogOpening(self, session: str | None, params: Json) -> None:  # noqa: N802
        assert session is not None
        where = (session, params["frameId"])
        self.dialogs[where] = {"message": params["message"], "answered": False}
        self.answer(session, where)

    def answer(self, session: str, where: tuple[str, str]) -> None:
        key = self.send(session, "Page.handleJavaScriptDialog", {"accept": True})
        self.answering[key] = where
        self.dialogs[where]["key"] = key

    def on_Page_javascriptDialogClosed(self, session: str | None, params: Json) -> None:  # noqa: N802
        assert session is not None
        dialog = self.dialogs.pop((session, params["frameId"]), None)
        if dialog is not None:
            self.closed.append(
                {"message": dialog["message"], "result": params["result"], "by_answer": dialog["key"], "closed_by": "?"}
            )

    def on_Runtime_consoleAPICalled(self, _session: str | None, params: Json) -> None:  # noqa: N802
        self.console += [str(argument.get("value")) for argument in params["args"]]

    # ── what it believes ─────────────────────────────────────────────────────────────────────────────────────────────

    def observed(self) -> Json:
        """What it would tell its user."""
        return {
            "sessions": sorted(self.sessions),
            "frames": {name: frame["url"] for name, frame in sorted(self.frames.items())},
            "dialogs": [{"message": each["message"], "closed_by": each["closed_by"]} for each in self.closed],
            "unanswered": len(self.pending),
        }


# ── one point wrong each ─────────────────────────────────────────────────────────────────────────────────────────────


class WaitsInItsReader(RightClient):
    """Its handler of dialogs waits for the reply, in the task that would read it."""

    law = "never-block-the-reader"
    stuck = False

    def receive(self, payload: bytes) -> list[bytes]:
        return [] if self.stuck else super().receive(payload)

    def answer(self, session: str, where: tuple[str, str]) -> None:
        super().answer(session, where)
        self.stuck = True


class CountsPerSession(RightClient):
    """Ids per session; a reply without a session is taken for the root's (fact 8)."""

    law = "dead-session-replies-lose-their-session"

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


class NoCascade(RightClient):
    """The end of a session ends that one alone (fact 50)."""

    law = "nested-sessions-die-silently"

    def subtree(self, session: str) -> list[str]:
        return [session]


class DropsOnFullQueue(RightClient):
    """Keeps four events, and forgets the oldest without a word."""

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
    """An event that it has no entry for ends its reader."""

    law = "nothing-the-peer-sends-raises"
    dead = False
    expected = frozenset(("Page.frameStartedLoading", "Page.frameStoppedLoading", "Page.loadEventFired"))

    def receive(self, payload: bytes) -> list[bytes]:
        return [] if self.dead else super().receive(payload)

    def on_unknown(self, message: Json) -> None:
        if message["method"].startswith("Page.") and message["method"] not in self.expected:
            self.dead = True


class TrustsReplyBeforeClosed(RightClient):
    """A dialog that closes before our reply came was closed by somebody else, it thinks (fact 1)."""

    law = "closed-precedes-reply"

    def on_answered(self, key: Any) -> None:
        self.answering.pop(key, None)


class ForgetsToRun(RightClient):
    """Never says runIfWaitingForDebugger (fact 7)."""

    law = "paused-targets-wait-for-ever"

    def let_run(self, session: str) -> None:
        pass


class OldestDialogFirst(RightClient):
    """A closed dialog is the oldest one that is open, whatever frame it names (fact 3)."""

    law = "dialogs-are-matched-by-frame"

    def on_Page_javascriptDialogClosed(self, session: str | None, params: Json) -> None:  # noqa: N802
        assert session is not None
        oldest = next((where for where in self.dialogs if where[0] == session), None)
        frame = params["frameId"] if oldest is None else oldest[1]
        super().on_Page_javascriptDialogClosed(session, {**params, "frameId": frame})


class NoFrameTree(RightClient):
    """Believes that events tell all frames (fact 41)."""

    law = "page-enable-replays-no-frames"

    def enable(self, session: str, info: Json) -> None:
        self.send(session, "Page.enable")
        self.send(session, "Runtime.enable")


class OneMebibyte(RightClient):
    """Its WebSocket gives up above 1 MiB."""

    law = "large-messages-arrive"
    dead = False

    def receive(self, payload: bytes) -> list[bytes]:
        self.dead = self.dead or len(payload) > 1 << 20
        return [] if self.dead else super().receive(payload)


WRONG = (
    WaitsInItsReader,
    CountsPerSession,
    NoCascade,
    DropsOnFullQueue,
    DiesOnUnknownEvent,
    TrustsReplyBeforeClosed,
    ForgetsToRun,
    OldestDialogFirst,
    NoFrameTree,
    OneMebibyte,
)
