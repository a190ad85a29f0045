"""A recorded trace, once more, on the fake: the client's side goes in as it was, the browser's side must come out.

The trace is a schedule that the fake did not choose. What the client sent is sent, with the ids of the fake in place of
the recorded ones; each message that the browser said then is looked for among what the fake has to say, and the ids of the
two are one from then on. At the end nothing may be left over on either side, no value may differ, and the recorded order
must be one that the fake allows: of two messages about the same thing (a frame, a target, a session), of which the fake
says that one comes first (`Delivery.after`), it came first. Messages of one session about different frames are told as
these load, which is chance (fact 38); a reply is about its session's own target, and whatever its command and result name.

Time passes only when the trace has something that the fake has not said yet: a `Wait` of a script lasts until then.

What neither side is asked about:

* `NOISE`, the browser's own furniture (`browser_ui`), `UNCOMPARED` values, and titles, which come when they come;
* a `targetInfoChanged` that says nothing new: how often it is told is the renderer's whim;
* the end of a load whose beginning the session did not see: how far it had come by then is chance;
* what the last command led to for a client that left just then, or the renderer's answer on a session that it ended.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from cdp_core.testing.fake.browser import ClientEnd, FakeBrowser
from cdp_core.testing.steps import Answer, Script, Step

Json = dict[str, Any]

NOISE = ("Network.", "Page.frameResized", "Page.lifecycleEvent", "Page.frameSubtreeWillBeDetached")
UNCOMPARED = frozenset(
    (
        *("timestamp", "scriptId", "exceptionId", "objectId", "stackTrace", "stack", "lineNumber", "columnNumber"),
        *("userGesture", "debuggerId", "revision", "product", "userAgent", "jsVersion"),
    )
)
OF_THE_PAGE = frozenset(("title", "name"))
"""Of a target and of a frame: steps do not tell of these."""
ENDS_OF_A_LOAD = frozenset(("Page.frameStoppedLoading", "Page.loadEventFired", "Page.domContentEventFired"))
ID = re.compile(r"\b[0-9A-F]{32}\b")
UNIQUE = re.compile(r"-?\d+\.-?\d+|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
PLACE = re.compile(r":\d+:\d+\b")
MISSING = object()


@attrs.frozen(kw_only=True)
class Acts:
    """What the pages of one trace do. `{a}` stands for http://localhost, `{b}` for 127.0.0.1, `{s}` for https, each with its port."""

    pages: Mapping[str, Sequence[Step]] = attrs.Factory(dict)
    answers: Mapping[str, Answer] = attrs.Factory(dict)
    timeline: Sequence[Step] = ()
    at: Mapping[int, Sequence[Step]] = attrs.Factory(dict)
    """What pages do by themselves where a record stands; most records are of somebody else."""
    texts: Mapping[int, str] = attrs.Factory(dict)
    """What was sent really, where the trace holds only what it could be read as."""
    foreign: Sequence[int] = ()
    """Records that tell of what a client did who is not in the trace."""
    unheld: Mapping[int, str] = attrs.Factory(dict)
    """Ends of a connection whose cause the trace does not hold."""

    def script(self, text: str, common: Mapping[str, Sequence[Step]]) -> Script:
        """With the addresses of this trace."""
        return Script(
            pages=filled({**common, **self.pages}, addresses(text)),
            answers=filled(dict(self.answers), addresses(text)),
            timeline=filled(tuple(self.timeline), addresses(text)),
        )


def addresses(text: str) -> dict[str, str]:
    """What the names of origins stand for in a trace."""
    plain, secure = (re.search(rf"\b{scheme}://localhost:(\d+)", text) for scheme in ("http", "https"))
    port, other = (found[1] if found else "1" for found in (plain, secure))
    return {
        "{a}": f"http://localhost:{port}",
        "{b}": f"http://127.0.0.1:{port}",
        "{x}": f"http://a.localhost:{port}",
        "{y}": f"http://b.localhost:{port}",
        "{z}": f"http://c.localhost:{port}",
        "{s}": f"https://localhost:{other}",
    }


def filled(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        for name, origin in names.items():
            value = value.replace(name, origin)
        return value
    if isinstance(value, dict):
        return {filled(key, names): filled(each, names) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return tuple(filled(each, names) for each in value)
    if attrs.has(type(value)):
        return type(value)(**{key: filled(each, names) for key, each in attrs.asdict(value, recurse=False).items()})
    return value


# ── what was said ────────────────────────────────────────────────────────────────────────────────────────────────────


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

    def keeps(self, message: Json) -> bool:
        """Whether it counts at all."""
        params = message.get("params") or {}
        self._learn(message, params)
        named = params.get("targetInfo", params).get("targetId")
        if message.get("method", "").startswith(NOISE) or named in self.furniture:
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


@attrs.define(eq=False)
class Link:
    """One client's connection to the fake, and what the trace has of it."""

    name: str
    end: ClientEnd
    mine: Side
    theirs: Side
    asked: dict[tuple[str | None, int], Json] = attrs.Factory(dict)
    said: list[Said] = attrs.Factory(list)
    seen: int = 0
    settled: int = 0
    """What had been seen before the last command of anybody."""

    def collect(self, batch: int) -> None:
        """Look at what the fake has to say; it is not delivered before the end, so that all of its order is known."""
        streams = self.end._client.streams
        for number in range(self.seen + 1, streams.numbered + 1):
            found = streams.waits(number)
            if found is None:
                continue
            message = json.loads(found.payload)
            kept, chance = self.mine.keeps(message), self.mine.is_chance(message)
            asked = self.asked.get((message.get("sessionId"), message.get("id", -1)))
            subjects = self.mine.subjects(message, asked)
            self.said.append(Said(message, number, found.after, subjects, chance or not kept, batch))
            if message.get("method") == "Target.detachedFromTarget":
                self._race(message["params"]["sessionId"], batch)
        self.seen = streams.numbered

    def _race(self, session: str, batch: int) -> None:
        """What the renderer answers on a session that ends by the same command may come too late."""
        for said in self.said:
            if said.batch == batch and said.message.get("sessionId") == session and "id" in said.message:
                said.optional = True


# ── the ids of the two ───────────────────────────────────────────────────────────────────────────────────────────────


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

    def filled(self, value: Any) -> Any:
        """Something of the trace with the fake's ids."""
        if isinstance(value, str):
            return ID.sub(lambda found: self.of.get(found[0], found[0]), self.of.get(value, value))
        if isinstance(value, dict):
            return {key: self.filled(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self.filled(each) for each in value]
        return value


@attrs.define(eq=False)
class Comparison:
    """A message of the trace beside one of the fake."""

    twins: Twins
    session: tuple[str, str | None]
    new: dict[Any, Any] = attrs.Factory(dict)
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
        elif self._plain(theirs) != self._plain(mine) or type(theirs) is not type(mine):
            self.differences.append(f"{path} is {mine!r}, not {theirs!r}")

    def _members(self, theirs: Json, mine: Json, path: str) -> None:
        for key in dict.fromkeys([*theirs, *mine]):
            if key in UNCOMPARED or (key in OF_THE_PAGE and {"targetId", "loaderId"} & theirs.keys()):
                continue
            first, second = theirs.get(key, MISSING), mine.get(key, MISSING)
            where = f"{path}.{key}"
            if first is MISSING or second is MISSING:
                there = "the fake" if first is MISSING else "the trace"
                self.differences.append(f"{where} is only in {there}: {second if first is MISSING else first!r}")
            elif key == "executionContextId" or (key == "id" and "uniqueId" in theirs):
                self._ids((*self.session, first), (*self.session, "the fake's", second))
            else:
                self.look(first, second, where)

    def _ids(self, theirs: Any, mine: Any) -> None:
        if not self.twins.may_be(theirs, mine, self.new):
            self.strangers = True
        self.new[theirs] = mine

    def _plain(self, value: Any) -> Any:
        return PLACE.sub(":<line>:<column>", self.twins.filled(value)) if isinstance(value, str) else value

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


# ── the replay ───────────────────────────────────────────────────────────────────────────────────────────────────────


class Replay:
    """One trace on the fake; `deviations` is what is wrong with that."""

    def __init__(self, path: Path, acts: Acts, common: Mapping[str, Sequence[Step]], *, profile: Any) -> None:
        text = path.read_text(encoding="utf-8")
        self.records: list[Json] = [json.loads(line) for line in text.splitlines()]
        self.deviations: list[str] = []
        self.compared = 0
        self._acts = acts
        self._addresses = addresses(text)
        self._script = acts.script(text, common)
        self._profile = profile
        self._browser = ""
        self._sent = 0
        self._begin()

    def _begin(self) -> None:
        self.fake = FakeBrowser(self._script, profile=self._profile)
        self._twins = Twins()
        self._links: dict[str, Link] = {}
        self._piped = ""

    def run(self) -> list[str]:
        """What deviates."""
        for place, record in enumerate(self.records):
            kind, name = record["dir"], record.get("conn", "")
            self.fake.play(*filled(tuple(self._acts.at.get(place, ())), self._addresses))
            if kind == "open":
                self._open(name, record["url"])
            elif kind == "close":
                self._close(place, name, record.get("note", ""))
            elif kind == "out":
                self._send(self._link(name), record, self._acts.texts.get(place))
            elif kind == "in" and place not in self._acts.foreign:
                self._hear(place, self._link(name), record["msg"])
        self._end_all()
        return self.deviations

    def _link(self, name: str) -> Link:
        if name not in self._links:  # a pipe is not opened
            self._links[name] = Link(name, self.fake.connect(), Side(), Side())
        return self._links[name]

    def _open(self, name: str, url: str) -> None:
        kind, _, where = url.removeprefix("devtools/").partition("/")
        if kind == "browser" and self._browser not in ("", where):
            self._end_all()
            self._begin()
        if kind == "browser":
            self._browser = where
            self._links[name] = Link(name, self.fake.connect(), Side(), Side())
            return
        mine = self._twins.of[where]
        end = self.fake.connect(f"/devtools/page/{mine}")
        self._links[name] = Link(name, end, Side(page=mine), Side(page=where))

    def _close(self, place: int, name: str, note: str) -> None:
        link = self._links.pop(name, None)
        if link is None:
            return  # what it led to was told before it was recorded
        link.collect(self._sent)
        if "1006" in note and link.end.connected and not self._is_killed(place) and place not in self._acts.unheld:
            self.deviations.append(f"{place}: the fake does not end the connection of {name}")
        for said in link.said:
            said.optional |= "1000" in note and said.number > link.settled
        self._end(link)
        link.end.lost()

    def _is_killed(self, place: int) -> bool:
        """Whether it was not the browser that ended the connection, but the recorder that ended the browser."""
        rest = self.records[place + 1 :]
        return any(each["dir"] == "open" and self._browser not in each["url"] for each in rest)

    def _send(self, link: Link, record: Json, text: str | None) -> None:
        for each in self._links.values():
            each.collect(self._sent)
            each.settled = each.seen
        self._sent += 1
        if text is not None:
            link.end.receive(text.encode())
            return
        if link.name == "pipe":
            self._pipe(link, record.get("raw") or json.dumps(record["msg"]) + "\0")
            return
        if "raw" in record:
            link.end.receive(record["raw"].encode())
            return
        command = record["msg"]
        if isinstance(command, dict):
            command = self._twins.filled(command)
            if isinstance(command.get("id"), int):
                link.asked[command.get("sessionId"), command["id"]] = command
        link.end.receive(json.dumps(command).encode())

    def _pipe(self, link: Link, text: str) -> None:
        """Over a pipe a message ends with NUL."""
        *whole, self._piped = (self._piped + text).split("\0")
        for each in whole:
            link.end.receive(each.encode())

    def _hear(self, place: int, link: Link, message: Json) -> None:
        kept, chance = link.theirs.keeps(message), link.theirs.is_chance(message)
        if not kept:
            return
        best = self._find(link, message)
        if best is None and not chance and self._closed_early(place):
            best = self._find(link, message)
        while best is None and not chance and (due := self.fake.next_time()) is not None:
            self.fake.advance(due)
            best = self._find(link, message)
        if best is None:
            if not chance:
                self.deviations.append(f"{place}: missing: {Said(self._twins.filled(message), 0)}")
            return
        said, comparison = best
        said.place = place
        self.compared += 1
        self._twins.marry(comparison.new)
        self.deviations += [f"{place}: {said.what}: {each}" for each in comparison.differences]

    def _closed_early(self, place: int) -> bool:
        """A client that leaves is recorded when it has left: what that leads to may be told before."""
        following = next((each for each in enumerate(self.records) if each[0] > place and each[1]["dir"] != "in"), None)
        if following is None or following[1]["dir"] != "close" or "1000" not in following[1].get("note", ""):
            return False
        self._close(following[0], following[1]["conn"], following[1]["note"])
        return True

    def _find(self, link: Link, message: Json) -> tuple[Said, Comparison] | None:
        link.collect(self._sent)
        what = Said(message, 0).what
        found: list[tuple[Said, Comparison]] = []
        for said in link.said:
            if said.place is None and said.what == what:
                comparison = Comparison(self._twins, (link.name, message.get("sessionId")))
                comparison.look(message, said.message, "")
                if not comparison.strangers:
                    found.append((said, comparison))
        return min(found, key=lambda each: (len(each[1].differences), each[0].optional), default=None)

    # ── what is left ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _end_all(self) -> None:
        for link in self._links.values():
            link.collect(self._sent)
            self._end(link)
        self._links.clear()

    def _end(self, link: Link) -> None:
        left = [said for said in link.said if said.place is None and not said.optional]
        self.deviations += [f"{link.name}: never sent by the browser: {said}" for said in left]
        before: dict[int, set[int]] = {}
        by_number = {said.number: said for said in link.said}
        for said in link.said:
            earlier = before[said.number] = set(said.after)
            for each in said.after:
                earlier |= before.get(each, set())
            if said.place is None:
                continue
            for each in sorted(earlier):
                other = by_number.get(each)
                if other is None or other.place is None or not other.subjects & said.subjects:
                    continue
                if other.place > said.place:
                    self.deviations.append(f"order: {said.place} {said.what} was before {other.place} {other.what}")
                    break
