"""The messages of the two browsers, the recorded one and the fake, and which of them are compared.

Each message has subjects, by which the two orders are compared. Some messages are ignored, others optional; `replay.py`
lists both.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import attrs

Json = dict[str, Any]

NOISE = ("Network.", "Page.frameResized", "Page.lifecycleEvent", "Page.frameSubtreeWillBeDetached")
ENDS_OF_A_LOAD = frozenset(("Page.frameStoppedLoading", "Page.loadEventFired", "Page.domContentEventFired"))
ID = re.compile(r"\b[0-9A-F]{32}\b")


@attrs.define(eq=False)
class SentMessage:
    """One message of either browser."""

    message: Json
    number: int
    after: frozenset[int] = frozenset()
    subjects: frozenset[str] = frozenset()
    optional: bool = False
    batch: int = 0
    """The number of commands sent before it."""
    index: int | None = None
    """The index of the matching record; None until one is found."""

    @property
    def what(self) -> str:
        return self.message.get("method") or f"reply {self.message.get('id')}"

    def __str__(self) -> str:
        rest = {key: each for key, each in self.message.items() if key not in ("method", "id")}
        return f"{self.what} {json.dumps(rest)[:300]}"


@attrs.define(eq=False)
class Side:
    """The state of one browser's messages to one client that decides if the next one is compared."""

    page: str = ""
    infos: dict[tuple[str | None, str], Json] = attrs.Factory(dict)
    loading: set[tuple[str | None, str]] = attrs.Factory(set)
    sessions: dict[str, str] = attrs.Factory(dict)
    """The target of each session."""
    contexts: dict[tuple[str | None, int], str] = attrs.Factory(dict)
    """The frame of each execution context."""
    browser_ui: set[str] = attrs.Factory(set)

    def target_of(self, session: str | None) -> str:
        """Return the target of a session; its id is also the id of its frame."""
        return self.sessions.get(session, "") if session else self.page

    def are_of_sibling_sessions(self, message: Json, other: Json) -> bool:
        """Return True for two messages of a renderer on two sessions of one target."""
        sessions = [each.get("sessionId") for each in (message, other)]
        from_renderer = not any(each.get("method", "Target.").startswith("Target.") for each in (message, other))
        return (
            from_renderer
            and sessions[0] != sessions[1]
            and self.target_of(sessions[0]) == self.target_of(sessions[1]) != ""
        )

    def counts(self, message: Json) -> bool:
        """Return True if the message is compared, and update this side by it."""
        params = message.get("params") or {}
        self._update(message, params)
        named = params.get("targetInfo", params).get("targetId")
        if message.get("method", "").startswith(NOISE) or named in self.browser_ui:
            return False
        if self.target_of(message.get("sessionId")) in self.browser_ui:
            return False
        if message.get("method") == "Target.targetCreated":
            self.infos[message.get("sessionId"), named] = {**params["targetInfo"], "title": ""}
        if message.get("method") == "Target.targetInfoChanged":
            key = (message.get("sessionId"), named)
            info = {**params["targetInfo"], "title": ""}
            if self.infos.get(key) == info:
                return False
            self.infos[key] = info
        return True

    def is_about_browser_ui(self, command: Json) -> bool:
        """Return True for a command about a `browser_ui` target, or on a session of one."""
        params, target_of = command.get("params"), self.target_of(command.get("sessionId"))
        named = params.get("targetId") if isinstance(params, dict) else None
        return not {named, target_of}.isdisjoint(self.browser_ui)

    def ends_unseen_load(self, message: Json) -> bool:
        """Return True for the end of a load that this session did not see begin."""
        method, session = message.get("method"), message.get("sessionId")
        frame = (message.get("params") or {}).get("frameId") or self.target_of(session)
        if method == "Page.frameStartedLoading":
            self.loading.add((session, frame))
        unseen = (session, frame) not in self.loading
        if method == "Page.frameStoppedLoading":
            self.loading.discard((session, frame))
        return method in ENDS_OF_A_LOAD and unseen

    def _update(self, message: Json, params: Json) -> None:
        if message.get("method") == "Target.attachedToTarget":
            self.sessions[params["sessionId"]] = params["targetInfo"]["targetId"]
        if message.get("method") == "Runtime.executionContextCreated":
            made = params["context"]
            self.contexts[message.get("sessionId"), made["id"]] = made.get("auxData", {}).get("frameId", "")
        self.browser_ui.update(browser_ui_in(message))

    def subjects(self, message: Json, command: Json | None) -> frozenset[str]:
        """Return the frames, targets and sessions that a message is about."""
        session = message.get("sessionId")
        params = message.get("params")
        if params is None:  # a reply
            named = {
                self.target_of(session),
                *ID.findall(json.dumps([message.get("result"), (command or {}).get("params")])),
            }
            return frozenset((named if command is not None else set()) | {f"replies on {session}"}) - {""}
        info, frame, context = (params.get(name) or {} for name in ("targetInfo", "frame", "context"))
        found = {params.get("frameId"), params.get("targetId"), params.get("sessionId"), info.get("targetId")}
        found |= {frame.get("id"), context.get("auxData", {}).get("frameId")}
        found.add(self.contexts.get((session, params.get("executionContextId"))))
        known = {each for each in found if each}
        if not known or "Dialog" in message["method"]:
            known.add(self.target_of(session))
        return frozenset(known) - {""}


def browser_ui_in(value: Any) -> Iterator[str]:
    """Yield the ids of `browser_ui` targets in a message."""
    if isinstance(value, dict):
        if value.get("type") == "browser_ui":
            yield value["targetId"]
        for each in value.values():
            yield from browser_ui_in(each)
    elif isinstance(value, list):
        for each in value:
            yield from browser_ui_in(each)


def unwrapped(message: Any) -> Any:
    """Return a message as if its session were flat, with a member that records the wrapping."""
    wrapped = 0
    while isinstance(message, dict) and message.get("method") == "Target.receivedMessageFromTarget":
        params, wrapped = message["params"], wrapped + 1
        inside = json.loads(params["message"])
        message = {**inside, "sessionId": params["sessionId"], "wrapped": [wrapped, params["targetId"]]}
    return message
