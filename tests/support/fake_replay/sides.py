"""What the two browsers said, and what of it counts.

One of them is that of the trace, the other one the fake. Each message is about a few things, by which the two orders are
compared; some are worth nothing, or come by chance (replay.py tells which).
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
class Said:
    """One message of either browser."""

    message: Json
    number: int
    after: frozenset[int] = frozenset()
    subjects: frozenset[str] = frozenset()
    optional: bool = False
    batch: int = 0
    """How many commands had been sent."""
    place: int | None = None
    """Where the trace has it."""

    @property
    def what(self) -> str:
        return self.message.get("method") or f"reply {self.message.get('id')}"

    def __str__(self) -> str:
        rest = {key: each for key, each in self.message.items() if key not in ("method", "id")}
        return f"{self.what} {json.dumps(rest)[:300]}"


@attrs.define(eq=False)
class Side:
    """What one browser has told one client so far, as far as that decides what its next message is worth."""

    page: str = ""
    infos: dict[tuple[str | None, str], Json] = attrs.Factory(dict)
    loading: set[tuple[str | None, str]] = attrs.Factory(set)
    sessions: dict[str, str] = attrs.Factory(dict)
    """Their targets."""
    contexts: dict[tuple[str | None, int], str] = attrs.Factory(dict)
    """Their frames."""
    furniture: set[str] = attrs.Factory(set)

    def own(self, session: str | None) -> str:
        """The target of a session, which is also its frame."""
        return self.sessions.get(session, "") if session else self.page

    def are_siblings(self, message: Json, other: Json) -> bool:
        """Whether a renderer said them, on two sessions of one target."""
        sessions = [each.get("sessionId") for each in (message, other)]
        told = not any(each.get("method", "Target.").startswith("Target.") for each in (message, other))
        return told and sessions[0] != sessions[1] and self.own(sessions[0]) == self.own(sessions[1]) != ""

    def keeps(self, message: Json) -> bool:
        """Whether it counts at all."""
        params = message.get("params") or {}
        self._learn(message, params)
        named = params.get("targetInfo", params).get("targetId")
        if message.get("method", "").startswith(NOISE) or named in self.furniture:
            return False
        if self.own(message.get("sessionId")) in self.furniture:
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

    def is_for_furniture(self, command: Json) -> bool:
        """Whether a command is about the browser's own furniture, or on a session of it."""
        params, own = command.get("params"), self.own(command.get("sessionId"))
        named = params.get("targetId") if isinstance(params, dict) else None
        return not {named, own}.isdisjoint(self.furniture)

    def is_chance(self, message: Json) -> bool:
        """Whether it ends a load that was not seen to begin."""
        method, session = message.get("method"), message.get("sessionId")
        frame = (message.get("params") or {}).get("frameId") or self.own(session)
        if method == "Page.frameStartedLoading":
            self.loading.add((session, frame))
        unseen = (session, frame) not in self.loading
        if method == "Page.frameStoppedLoading":
            self.loading.discard((session, frame))
        return method in ENDS_OF_A_LOAD and unseen

    def _learn(self, message: Json, params: Json) -> None:
        if message.get("method") == "Target.attachedToTarget":
            self.sessions[params["sessionId"]] = params["targetInfo"]["targetId"]
        if message.get("method") == "Runtime.executionContextCreated":
            made = params["context"]
            self.contexts[message.get("sessionId"), made["id"]] = made.get("auxData", {}).get("frameId", "")
        self.furniture.update(furniture_in(message))

    def subjects(self, message: Json, asked: Json | None) -> frozenset[str]:
        """What it is about."""
        session = message.get("sessionId")
        params = message.get("params")
        if params is None:  # a reply
            named = {self.own(session), *ID.findall(json.dumps([message.get("result"), (asked or {}).get("params")]))}
            return frozenset((named if asked is not None else set()) | {f"replies on {session}"}) - {""}
        info, frame, context = (params.get(name) or {} for name in ("targetInfo", "frame", "context"))
        found = {params.get("frameId"), params.get("targetId"), params.get("sessionId"), info.get("targetId")}
        found |= {frame.get("id"), context.get("auxData", {}).get("frameId")}
        found.add(self.contexts.get((session, params.get("executionContextId"))))
        known = {each for each in found if each}
        if not known or "Dialog" in message["method"]:
            known.add(self.own(session))
        return frozenset(known) - {""}


def furniture_in(value: Any) -> Iterator[str]:
    """The ids of targets that are the browser's own."""
    if isinstance(value, dict):
        if value.get("type") == "browser_ui":
            yield value["targetId"]
        for each in value.values():
            yield from furniture_in(each)
    elif isinstance(value, list):
        for each in value:
            yield from furniture_in(each)


def unwrapped(message: Any) -> Any:
    """What is said on a session that is not flat, as if it were flat; that it was not stays to be seen."""
    wrapped = 0
    while isinstance(message, dict) and message.get("method") == "Target.receivedMessageFromTarget":
        params, wrapped = message["params"], wrapped + 1
        inside = json.loads(params["message"])
        message = {**inside, "sessionId": params["sessionId"], "wrapped": [wrapped, params["targetId"]]}
    return message
