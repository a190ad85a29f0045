"""The ids of the two browsers, which are one another's from their first meeting on, and messages beside each other."""

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
"""Of a target, a frame and a place in a history: steps do not tell of these."""
UNIQUE = re.compile(r"-?\d+\.-?\d+(?:\.\d+)?|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|interception-job-\d+\.\d+")
PLACE = re.compile(r":\d+:\d+\b")
STACK = re.compile(r"(?:\u2026[^\n]*)?\n    at .*", re.DOTALL)
"""Of whatever script a client had put into the page, which is no business of the browser's."""
PICTURE = "iVBORw0KGgo"
"""How each begins; what is in it is nobody's business here."""
MISSING = object()


class Twins:
    """Which id of the trace is which of the fake."""

    def __init__(self) -> None:
        self.of: dict[Any, Any] = {}
        self._back: dict[Any, Any] = {}

    def may_be(self, theirs: Any, mine: Any, new: Mapping[Any, Any]) -> bool:
        """Whether these two can be one."""
        if theirs in self.of or theirs in new:
            return (self.of.get(theirs) or new.get(theirs)) == mine
        return mine not in self._back and mine not in new.values()

    def marry(self, new: Mapping[Any, Any]) -> None:
        self.of.update(new)
        self._back.update({mine: theirs for theirs, mine in new.items()})

    def _entry(self, theirs: Any) -> Any:
        mine = self.of.get(("a place in a history", theirs))
        return theirs if mine is None else mine[1]

    def filled(self, value: Any) -> Any:
        """Something of the trace with the fake's ids."""
        if isinstance(value, str):
            return ID.sub(lambda found: self.of.get(found[0], found[0]), self.of.get(value, value))
        if isinstance(value, dict):
            return {key: self._entry(each) if key == "entryId" else self.filled(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self.filled(each) for each in value]
        return value


@attrs.define(eq=False)
class Comparison:
    """A message of the trace beside one of the fake."""

    twins: Twins
    session: tuple[str, str | None]
    new: dict[Any, Any] = attrs.Factory(dict)
    cut: bool = False
    """The trace has only the beginning of long texts."""
    strangers: bool = False
    """An id of the one is known to be another one of the other."""
    differences: list[str] = attrs.Factory(list)

    def look(self, theirs: Any, mine: Any, path: str) -> None:
        if isinstance(theirs, dict) and isinstance(mine, dict):
            self._members(theirs, mine, path)
        elif isinstance(theirs, list) and isinstance(mine, list):
            theirs, mine = (self._listed(each) for each in (theirs, mine))
            if path.endswith("targetInfos"):
                mine = self._in_their_order(theirs, mine)
            if len(theirs) != len(mine):
                self.differences.append(f"{path} has {len(mine)} members, not {len(theirs)}")
            for number, (first, second) in enumerate(zip(theirs, mine, strict=False)):
                self.look(first, second, f"{path}[{number}]")
        elif isinstance(theirs, str) and isinstance(mine, str) and is_id(theirs) and is_id(mine):
            self._ids(theirs, mine)
        elif not self._same(theirs, mine):
            self.differences.append(f"{path} is {mine!r}, not {theirs!r}")

    def _members(self, theirs: Json, mine: Json, path: str) -> None:
        for key in dict.fromkeys([*theirs, *mine]):
            if key in UNCOMPARED or (key in OF_THE_PAGE and {"targetId", "loaderId", "userTypedURL"} & theirs.keys()):
                continue
            first, second = theirs.get(key, MISSING), mine.get(key, MISSING)
            where = f"{path}.{key}"
            if first is MISSING or second is MISSING:
                there = "the fake" if first is MISSING else "the trace"
                self.differences.append(f"{where} is only in {there}: {second if first is MISSING else first!r}")
            elif key == "executionContextId" or (key == "id" and "uniqueId" in theirs):
                self._ids((*self.session, first), (*self.session, "the fake's", second))
            elif key == "id" and "userTypedURL" in theirs:
                self._ids(("a place in a history", first), ("the fake's", second))
            else:
                self.look(first, second, where)

    def _ids(self, theirs: Any, mine: Any) -> None:
        if not self.twins.may_be(theirs, mine, self.new):
            self.strangers = True
        self.new[theirs] = mine

    def _same(self, theirs: Any, mine: Any) -> bool:
        if self.cut and isinstance(theirs, str) and isinstance(mine, str) and mine.startswith(theirs):
            return True
        return type(theirs) is type(mine) and bool(self._plain(theirs) == self._plain(mine))

    def _plain(self, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        if value.startswith(PICTURE):
            return PICTURE
        return PLACE.sub(":<line>:<column>", STACK.sub("<stack>", self.twins.filled(value)))

    def _listed(self, found: list[Any]) -> list[Any]:
        return [each for each in found if not (isinstance(each, dict) and each.get("type") == "browser_ui")]

    def _in_their_order(self, theirs: list[Json], mine: list[Json]) -> list[Json]:
        """Targets are listed by their addresses in memory."""
        left, ordered = list(mine), []
        for each in theirs:
            known = self.twins.of.get(each["targetId"])
            like = (each["type"], each["url"])
            fits = [
                one for one in left if one["targetId"] == known or (known is None and (one["type"], one["url"]) == like)
            ]
            ordered += fits[:1]
            left = [one for one in left if one not in fits[:1]]
        return ordered + left


def is_id(text: str) -> bool:
    return bool(ID.fullmatch(text) or UNIQUE.fullmatch(text))
