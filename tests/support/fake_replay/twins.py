"""The equivalence of the ids of the two browsers, and the comparison of two messages.

The ids in two matching messages are equivalent from then on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import attrs

from support.fake_replay.sides import ID

Json = dict[str, Any]

UNCOMPARED = frozenset(
    (
        *("timestamp", "scriptId", "exceptionId", "objectId", "stackTrace", "stack", "lineNumber", "columnNumber"),
        *("userGesture", "debuggerId", "revision", "product", "userAgent", "jsVersion"),
    )
)
OF_THE_PAGE = frozenset(("title", "name"))
"""Members of a target, a frame and a history entry that steps do not describe."""
UNIQUE = re.compile(r"-?\d+\.-?\d+(?:\.\d+)?|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|interception-job-\d+\.\d+")
PLACE = re.compile(r":\d+:\d+\b")
STACK = re.compile(r"(?:\u2026[^\n]*)?\n    at .*", re.DOTALL)
"""A stack trace of a script that a client added to the page: its text depends on that script."""
PICTURE = "iVBORw0KGgo"
"""The beginning of each screenshot; the rest is not compared."""
MISSING = object()


class IdMap:
    """The equivalence of the ids in the trace and the fake's."""

    def __init__(self) -> None:
        self.to_fake: dict[Any, Any] = {}
        self._to_trace: dict[Any, Any] = {}

    def may_match(self, trace: Any, fake: Any, new: Mapping[Any, Any]) -> bool:
        """Return True if these two ids can be equivalent."""
        if trace in self.to_fake or trace in new:
            return (self.to_fake.get(trace) or new.get(trace)) == fake
        return fake not in self._to_trace and fake not in new.values()

    def add(self, new: Mapping[Any, Any]) -> None:
        self.to_fake.update(new)
        self._to_trace.update({fake: trace for trace, fake in new.items()})

    def _entry(self, trace: Any) -> Any:
        fake = self.to_fake.get(("a history entry", trace))
        return trace if fake is None else fake[1]

    def translated(self, value: Any) -> Any:
        """Return a value of the trace with the fake's ids."""
        if isinstance(value, str):
            return ID.sub(lambda found: self.to_fake.get(found[0], found[0]), self.to_fake.get(value, value))
        if isinstance(value, dict):
            return {
                key: self._entry(each) if key == "entryId" else self.translated(each) for key, each in value.items()
            }
        if isinstance(value, list):
            return [self.translated(each) for each in value]
        return value


@attrs.define(eq=False)
class Comparison:
    """The comparison of a message of the trace with one of the fake."""

    ids: IdMap
    session: tuple[str, str | None]
    new: dict[Any, Any] = attrs.Factory(dict)
    cut: bool = False
    """True if the trace contains only the beginning of long texts."""
    mismatch: bool = False
    """True if an id of one message is already equivalent to another id."""
    differences: list[str] = attrs.Factory(list)

    def look(self, trace: Any, fake: Any, path: str) -> None:
        if isinstance(trace, dict) and isinstance(fake, dict):
            self._members(trace, fake, path)
        elif isinstance(trace, list) and isinstance(fake, list):
            trace, fake = (self._listed(each) for each in (trace, fake))
            if path.endswith("targetInfos"):
                fake = self._in_recorded_order(trace, fake)
            if len(trace) != len(fake):
                self.differences.append(f"{path} has {len(fake)} members, not {len(trace)}")
            for number, (first, second) in enumerate(zip(trace, fake, strict=False)):
                self.look(first, second, f"{path}[{number}]")
        elif isinstance(trace, str) and isinstance(fake, str) and is_id(trace) and is_id(fake):
            self._match_ids(trace, fake)
        elif not self._same(trace, fake):
            self.differences.append(f"{path} is {fake!r}, not {trace!r}")

    def _members(self, trace: Json, fake: Json, path: str) -> None:
        for key in dict.fromkeys([*trace, *fake]):
            if key in UNCOMPARED or (key in OF_THE_PAGE and {"targetId", "loaderId", "userTypedURL"} & trace.keys()):
                continue
            first, second = trace.get(key, MISSING), fake.get(key, MISSING)
            member = f"{path}.{key}"
            if first is MISSING or second is MISSING:
                only_in = "the fake" if first is MISSING else "the trace"
                self.differences.append(f"{member} is only in {only_in}: {second if first is MISSING else first!r}")
            elif key == "executionContextId" or (key == "id" and "uniqueId" in trace):
                self._match_ids((*self.session, first), (*self.session, "the fake's", second))
            elif key == "id" and "userTypedURL" in trace:
                self._match_ids(("a history entry", first), ("the fake's", second))
            else:
                self.look(first, second, member)

    def _match_ids(self, trace: Any, fake: Any) -> None:
        if not self.ids.may_match(trace, fake, self.new):
            self.mismatch = True
        self.new[trace] = fake

    def _same(self, trace: Any, fake: Any) -> bool:
        if self.cut and isinstance(trace, str) and isinstance(fake, str) and fake.startswith(trace):
            return True
        return type(trace) is type(fake) and bool(self._plain(trace) == self._plain(fake))

    def _plain(self, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        if value.startswith(PICTURE):
            return PICTURE
        return PLACE.sub(":<line>:<column>", STACK.sub("<stack>", self.ids.translated(value)))

    def _listed(self, found: list[Any]) -> list[Any]:
        return [each for each in found if not (isinstance(each, dict) and each.get("type") == "browser_ui")]

    def _in_recorded_order(self, trace: list[Json], fake: list[Json]) -> list[Json]:
        """Return the fake's targets in the trace's order: Chromium lists them by their addresses in memory."""
        left, ordered = list(fake), []
        for each in trace:
            known = self.ids.to_fake.get(each["targetId"])
            like = (each["type"], each["url"])
            fits = [
                one for one in left if one["targetId"] == known or (known is None and (one["type"], one["url"]) == like)
            ]
            ordered += fits[:1]
            left = [one for one in left if one not in fits[:1]]
        return ordered + left


def is_id(text: str) -> bool:
    return bool(ID.fullmatch(text) or UNIQUE.fullmatch(text))
