"""Make received messages comparable: replace ids by labels and leave out noise.

`NOISE` lists events that are compared on neither browser, `UNCOMPARED` members with values that differ by nature.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from support.comparison.performing import Received
from support.comparison.scenario import Json

ENDS_OF_A_LOAD = ("Page.frameStoppedLoading", "Page.loadEventFired", "Page.domContentEventFired")
"""Ignored in the first load of an empty page: how far that had loaded when a client enabled Page is chance."""
NOISE = ("Network.",)
"""Prefixes of events that are not modelled: the fake has no network, and only records `Network.enable`.

Messages about a `browser_ui` target, which belongs to the browser itself, are ignored too. Everything else that
Chromium sends is compared."""
PAINTED = (
    "firstPaint",
    "firstContentfulPaint",
    "firstImagePaint",
    "firstMeaningfulPaint",
    "firstMeaningfulPaintCandidate",
)
"""Lifecycle events that painting causes: the fake paints nothing."""
UNCOMPARED = {
    "timestamp": "<time>",
    "scriptId": "<script>",
    "exceptionId": "<exception>",
    "objectId": "<object>",
    "stackTrace": "<stack>",
    "stack": "<stack>",
    "lineNumber": "<place>",
    "columnNumber": "<place>",
    "debuggerId": "<debugger>",
    "notRestoredExplanations": "<why>",
    "notRestoredExplanationsTree": "<why>",
    "revision": "<version>",
    "product": "<version>",
    "userAgent": "<version>",
    "jsVersion": "<version>",
}
"""Members with other values in every run, and their placeholders."""
Key = tuple[str, str, str, str, int]
"""Client, session, method or reply, its subjects, and a count of equal ones."""
_ID = re.compile(r"\b[0-9A-F]{32}\b")
_PLACE = re.compile(r":\d+:\d+\b")


@attrs.frozen
class Message:
    key: Key
    fields: Mapping[str, Any]
    subjects: frozenset[str]
    position: int

    def __str__(self) -> str:
        client, session, what, about, number = self.key
        fields = " ".join(f"{path}={value!r}" for path, value in self.fields.items())
        return f"{client} {session}: {what} {about} #{number}  {fields}"


def comparable(received: Received, origins: Mapping[str, str]) -> list[Message]:
    """Return the messages with labels instead of ids, and without noise."""
    labels = Labels(received, origins)
    hidden = set(_hidden([message for _, message in received.messages]))
    seen: Counter[tuple[str, str, str, str]] = Counter()
    last_info: dict[tuple[str, str, str], Any] = {}
    found: list[Message] = []
    empty: set[str] = set()
    for position, (client, message) in enumerate(received.messages):
        if _is_noise(message, hidden) or _is_of_an_empty_page(message, empty):
            continue
        session = labels.session(message.get("sessionId"))
        what = message.get("method") or f"answer {message.get('id', 'without an id')}"
        shown = labels.shown({key: each for key, each in message.items() if key != "sessionId"}, message)
        subjects = _subjects(shown)
        about = " ".join([*sorted(subjects), *_named(shown)])
        if what == "Target.targetInfoChanged":
            # Chance decides how often the browser repeats it for a title or an icon.
            if last_info.get((client, session, about)) == shown:
                continue
            last_info[client, session, about] = shown
        alike = (client, session, what, about)
        seen[alike] += 1
        if "sessionId" in message:
            subjects |= {session}
        found.append(Message((*alike, seen[alike]), dict(_leaves(shown)), frozenset(subjects), position))
    return found


def _is_noise(message: Json, hidden: set[str]) -> bool:
    params = message.get("params") or {}
    named = params.get("targetInfo", params).get("targetId")
    painted = message.get("method") == "Page.lifecycleEvent" and params["name"] in PAINTED
    return painted or message.get("method", "").startswith(NOISE) or named in hidden


def _is_of_an_empty_page(message: Json, empty: set[str]) -> bool:
    """Return True for a message of a page's first load.

    `empty` contains the sessions of pages that have not navigated.
    """
    method, params, session = message.get("method"), message.get("params") or {}, message.get("sessionId")
    if method == "Target.attachedToTarget":
        info = params["targetInfo"]
        if info["type"] == "page" and info["url"] == "about:blank" and not params["waitingForDebugger"]:
            empty.add(params["sessionId"])
    if session in empty and method in ENDS_OF_A_LOAD:
        return True
    if method in ("Page.frameStartedNavigating", "Page.frameStartedLoading", "Page.frameNavigated"):
        empty.discard(str(session))
    return False


def _hidden(value: Any) -> Iterator[str]:
    """Yield the ids of `browser_ui` targets."""
    if isinstance(value, list):
        for each in value:
            yield from _hidden(each)
    elif isinstance(value, dict):
        if value.get("type") == "browser_ui":
            yield value["targetId"]
        for each in value.values():
            yield from _hidden(each)


def _named(shown: Json) -> list[str]:
    """Return what distinguishes messages of one kind with the same subjects."""
    return [shown["params"]["name"]] if shown.get("method") == "Page.lifecycleEvent" else []


def _subjects(shown: Json) -> set[str]:
    params = shown.get("params")
    if not isinstance(params, dict):
        return set()
    info, frame, context = (params.get(name) or {} for name in ("targetInfo", "frame", "context"))
    found = [params.get("frameId"), params.get("targetId"), params.get("sessionId")]
    found += [info.get("targetId"), frame.get("id"), context.get("auxData", {}).get("frameId")]
    return {each for each in found if isinstance(each, str)}


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for key, each in value.items():
            yield from _leaves(each, f"{path}.{key}" if path else key)
    elif isinstance(value, list) and value:
        for number, each in enumerate(value):
            yield from _leaves(each, f"{path}[{number}]")
    else:
        yield path, value


class Labels:
    """The labels of ids: the scenario's own labels, else the first URL that arrived with the id."""

    def __init__(self, received: Received, origins: Mapping[str, str]) -> None:
        self._origins = origins
        self._labels: dict[str, str] = {}
        self._used: Counter[str] = Counter()
        self._urls: dict[str, str] = {}
        self._kinds: dict[str, str] = {}
        self._contexts: dict[tuple[str | None, int], str] = {}
        for name, value in received.names.items():
            kind, _, label = name.partition(".")
            self._labels.setdefault(value, label if kind == "target" else f"{kind} {label}")
        for _, message in received.messages:
            self._look(message)
        for found, kind in self._kinds.items():
            if kind != "session":
                self._give(found, f"{kind} {self._urls.get(found, '')}")
        for _, message in received.messages:
            params = message.get("params") or {}
            if message.get("method") == "Target.attachedToTarget":
                target = self._labels.get(params["targetInfo"]["targetId"], "?")
                self._give(params["sessionId"], f"session of {target}")
            if message.get("method") == "Runtime.executionContextCreated":
                context = params["context"]
                of = self._labels.get(context.get("auxData", {}).get("frameId", ""), "a worker")
                self._give(context["uniqueId"], f"context of {of}")

    def _give(self, found: str, label: str) -> None:
        if found in self._labels:
            return
        self._used[label] += 1
        self._labels[found] = label if self._used[label] == 1 else f"{label} ({self._used[label]})"

    def _look(self, value: Any) -> None:
        if isinstance(value, list):
            for each in value:
                self._look(each)
        if not isinstance(value, dict):
            return
        url = value.get("url", "")
        for name, kind in (("targetId", "frame"), ("frameId", "frame"), ("loaderId", "loader")):
            if isinstance(value.get(name), str):
                self._note(value[name], kind, url)
        if isinstance(value.get("requestId"), str) and "request" in value:
            self._note(value["requestId"], "request", value["request"]["url"])
        if isinstance(value.get("id"), str) and "loaderId" in value:
            self._note(value["id"], "frame", url)
        if isinstance(value.get("browserContextId"), str):
            self._note(value["browserContextId"], "browser context", "")
        if isinstance(value.get("defaultBrowserContextId"), str):
            self._note(value["defaultBrowserContextId"], "browser context", "")
        for each in value.values():
            self._look(each)

    def _note(self, found: str, kind: str, url: str) -> None:
        self._kinds.setdefault(found, kind)
        if url not in ("", "about:blank") and found not in self._urls:
            self._urls[found] = self._plain(url)

    def _plain(self, text: str) -> str:
        for label, origin in self._origins.items():
            text = text.replace(origin, label)
        text = _PLACE.sub(":<line>:<column>", text)
        return _ID.sub(lambda found: self._labels.get(found[0], "<id>"), text)

    def session(self, found: str | None) -> str:
        return "browser" if found is None else self._labels.get(found, "an unknown session")

    def shown(self, value: Any, message: Json) -> Any:
        """Return a part of a message with its ids replaced by labels."""
        if value is message.get("params") and message.get("method") == "Runtime.executionContextCreated":
            made = value["context"]  # each renderer process counts from 1
            self._contexts[message.get("sessionId"), made["id"]] = self._labels[made["uniqueId"]]
        if isinstance(value, dict):
            return {
                key: UNCOMPARED.get(key) or self._member(key, each, value, message)
                for key, each in value.items()
                if not (isinstance(each, dict) and each.get("type") == "browser_ui")
            }
        if isinstance(value, list):
            kept = [each for each in value if not (isinstance(each, dict) and each.get("type") == "browser_ui")]
            return [self.shown(each, message) for each in kept]
        if isinstance(value, str):
            return self._labels.get(value) or self._plain(value)
        return value

    def _member(self, key: str, value: Any, parent: Json, message: Json) -> Any:
        if key == "title" and "targetId" in parent:
            return "<title>"
        if key == "data" and parent is message.get("result"):
            return "<picture>"
        if key == "id" and "transitionType" in parent:
            return "<entry>"
        if key == "executionContextId" or (key == "id" and "uniqueId" in parent):
            return self._contexts.get((message.get("sessionId"), value), "<unknown context>")
        if key == "targetInfos":
            value = sorted(value, key=lambda info: self._labels.get(info["targetId"], ""))
        return self.shown(value, message)
