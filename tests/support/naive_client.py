"""A small client that relies on the facts alone: the tests of the fake's laws run it.

It attaches to every target, enables domains, reads frame trees, resumes, answers every dialog, evaluates the
expressions of the script, and records all messages in order.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

Json = dict[str, Any]
WAITING = {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True}
RULES = {
    "Target.attachedToTarget": "on_attached",
    "Target.detachedFromTarget": "on_detached",
    "Inspector.targetCrashed": "on_crashed",
    "Inspector.targetReloadedAfterCrash": "on_reloaded",
    "Page.frameAttached": "on_frame_attached",
    "Page.frameNavigated": "on_frame_navigated",
    "Page.navigatedWithinDocument": "on_navigated_within",
    "Page.frameDetached": "on_frame_detached",
    "Page.javascriptDialogOpening": "on_dialog",
}


class NaiveClient:
    def __init__(self, expressions: Iterable[str] = (), *, wait: bool = True) -> None:
        self.expressions = list(expressions)
        self.wait = wait
        self.log: list[tuple[str, Json]] = []
        """Received messages (`in`) and written commands (`out`), in order."""
        self.commands: dict[int, Json] = {}
        self.replies: dict[int, list[Json]] = {}
        self.sessions: dict[str, Json] = {}
        """The open sessions: target, type and parent session."""
        self.ended: set[str] = set()
        self.crashed: set[str] = set()
        """The crashed targets."""
        self.frames: dict[str, Json] = {}
        """By frame: its parent, its URL, and the session that reports it."""
        self._out: list[bytes] = []

    # ── in and out ───────────────────────────────────────────────────────────────────────────────────────────────────

    def start(self) -> list[bytes]:
        self.send(None, "Target.setDiscoverTargets", {"discover": True})
        self.send(None, "Target.setAutoAttach", {**WAITING, "waitForDebuggerOnStart": self.wait})
        return self._written()

    def receive(self, payload: bytes) -> list[bytes]:
        message: Json = json.loads(payload)
        self.log.append(("in", message))
        if "method" in message:
            if message["method"] in RULES:
                getattr(self, RULES[message["method"]])(message.get("sessionId"), message["params"])
        else:
            self.replies.setdefault(message.get("id"), []).append(message)
            self.on_reply(message)
        return self._written()

    def ask(self, question: Any) -> list[bytes]:
        """Send `[target type, method, params]` on the first session of that type; None is the root session.

        `Target.detachFromTarget` is sent on the parent session and detaches that first session.
        """
        kind, method, params = question
        open_now = [session for session, found in self.sessions.items() if found["type"] == kind]
        if open_now and method == "Target.detachFromTarget":
            self.send(self.sessions[open_now[0]]["parent"], method, {"sessionId": open_now[0]})
        elif kind is None or open_now:
            self.send(open_now[0] if open_now else None, method, params)
        return self._written()

    def send(self, session: str | None, method: str, params: Json | None = None) -> None:
        command: Json = {"id": len(self.commands) + 1, "method": method, "params": params or {}}
        if session is not None:
            command["sessionId"] = session
        self.commands[command["id"]] = command
        self.log.append(("out", command))
        self._out.append(json.dumps(command).encode())

    def _written(self) -> list[bytes]:
        written, self._out = self._out, []
        return written

    # ── targets ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def on_attached(self, parent: str | None, params: Json) -> None:
        session, info = params["sessionId"], params["targetInfo"]
        self.sessions[session] = {"target": info["targetId"], "type": info["type"], "parent": parent}
        self.send(session, "Target.setAutoAttach", {**WAITING, "waitForDebuggerOnStart": self.wait})
        if info["type"] in ("page", "iframe"):
            self.send(session, "Page.enable")
            self.send(session, "Inspector.enable")
        self.send(session, "Runtime.enable")
        if info["type"] == "iframe":
            known = self.frames.get(info["targetId"], {"url": "about:blank"})
            self.frames[info["targetId"]] = {**known, "parent": info["parentFrameId"], "session": session}
        if info["type"] in ("page", "iframe"):
            self.send(session, "Page.getFrameTree")
        self.send(session, "Runtime.runIfWaitingForDebugger")
        if info["type"] == "page" and "openerId" not in info and self.expressions:
            self.send(session, "Runtime.evaluate", {"expression": self.expressions.pop(0)})

    def on_detached(self, _parent: str | None, params: Json) -> None:
        session = params["sessionId"]
        if session in self.sessions:
            target = self.sessions[session]["target"]
            self._end(session)
            self._drop(target)

    def _end(self, session: str) -> None:
        for other in [each for each, found in self.sessions.items() if found["parent"] == session]:
            self._end(other)
        del self.sessions[session]
        self.ended.add(session)

    def on_reloaded(self, session: str | None, _params: Json) -> None:
        """Repeat the setup: the commands sent during the crash have failed (fact 49)."""
        assert session is not None
        self.crashed.discard(self.sessions[session]["target"])
        for method in ("Page.enable", "Runtime.enable", "Page.getFrameTree"):
            self.send(session, method)

    def on_crashed(self, session: str | None, _params: Json) -> None:
        assert session is not None
        self.crashed.add(self.sessions[session]["target"])

    # ── frames ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def on_reply(self, reply: Json) -> None:
        command = self.commands[reply["id"]]
        if command["method"] == "Page.getFrameTree" and "result" in reply:
            self._tree(command["sessionId"], reply["result"]["frameTree"], None)
        if command["method"] == "Runtime.evaluate" and self.expressions:
            self.send(command.get("sessionId"), "Runtime.evaluate", {"expression": self.expressions.pop(0)})

    def _tree(self, session: str, tree: Json, above: str | None) -> None:
        frame = tree["frame"]
        reported_by = self.frames.get(frame["id"], {}).get("session")
        if reported_by != session and self.sessions.get(reported_by, {}).get("target") == frame["id"]:
            return  # stale: the frame has a session of its own by now, and sessions overtake each other
        parent = frame.get("parentId", above)
        if parent is None:
            parent = self.frames.get(frame["id"], {}).get("parent")
        self.frames[frame["id"]] = {"parent": parent, "url": frame["url"], "session": session}
        for child in tree.get("childFrames", []):
            self._tree(session, child, frame["id"])

    def on_frame_attached(self, session: str | None, params: Json) -> None:
        self.frames[params["frameId"]] = {"parent": params["parentFrameId"], "url": "about:blank", "session": session}

    def on_frame_navigated(self, session: str | None, params: Json) -> None:
        frame = params["frame"]
        if params["type"] == "BackForwardCacheRestore":  # restored frames have few events (fact 43)
            left = [each for each, found in self.frames.items() if found["session"] == session and each != frame["id"]]
            for child in left:  # frames with sessions of their own were attached just before
                self._drop(child)
            self.send(session, "Page.getFrameTree")
        else:
            self._drop(frame["id"], itself=False)
        known = self.frames.get(frame["id"], {})
        parent = frame.get("parentId", known.get("parent"))
        self.frames[frame["id"]] = {"parent": parent, "url": frame["url"], "session": session}

    def on_navigated_within(self, _session: str | None, params: Json) -> None:
        if params["frameId"] in self.frames:  # otherwise the frame tree has not arrived yet, and will contain it
            self.frames[params["frameId"]]["url"] = params["url"]

    def on_frame_detached(self, session: str | None, params: Json) -> None:
        if params["reason"] == "remove":
            self._drop(params["frameId"])
            return
        # The frame changed its process; frames that the new process has already reported stay (fact 38).
        reported_here = [each for each, found in self.frames.items() if found["session"] == session]
        for child in reported_here:
            if self.frames.get(child, {}).get("parent") == params["frameId"]:
                self._drop(child)

    def _drop(self, frame: str, *, itself: bool = True) -> None:
        for child in [each for each, found in self.frames.items() if found["parent"] == frame]:
            self._drop(child)
        if itself:
            self.frames.pop(frame, None)

    # ── dialogs ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def on_dialog(self, session: str | None, _params: Json) -> None:
        self.send(session, "Page.handleJavaScriptDialog", {"accept": True})
