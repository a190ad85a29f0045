"""A recorded trace, once more, on the fake: the client's side goes in as it was, the browser's side must come out.

The trace is a schedule that the fake did not choose. What the client sent is sent, with the ids of the fake in place of
the recorded ones; each message that the browser said then is looked for among what the fake has to say, and the ids of the
two are one from then on. At the end nothing may be left over on either side, no value may differ, and the recorded order
must be one that the fake allows: of two messages about the same thing (a frame, a target, a session), of which the fake
says that one comes first (`Delivery.after`), it came first. Messages of one session about different frames are told as
these load, which is chance (fact 38); a reply is about its session's own target, and whatever its command and result name.

Time passes only when the trace has something that the fake has not said yet: a `Wait` of a script lasts until then.

What neither side is asked about:

* `NOISE`, the browser's own furniture (`browser_ui`) and what a client wants of that, `UNCOMPARED` values, and titles, which come when they come;
* a `targetInfoChanged` that says nothing new: how often it is told is the renderer's whim;
* the end of a load whose beginning the session did not see: how far it had come by then is chance;
* what a new document says to a session that was being set up, when the commands for that were answered after it only;
* in which order a renderer tells several sessions of one target;
* what the last command led to for a client that left just then, or the renderer's answer on a session that it ended.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from cdp_core.testing.fake.browser import FakeBrowser
from cdp_core.testing.fake.client_end import ClientEnd
from cdp_core.testing.steps import Answer, Override, Script, Served, Step
from support.fake_replay.sides import Said, Side, unwrapped
from support.fake_replay.twins import Comparison, Twins

Json = dict[str, Any]
CUT = "payload cut"
"""In the note of a record that is not whole."""


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
    overrides: Mapping[str, Override] = attrs.Factory(dict)
    """What scripts of the client put in the place of dialogs."""
    served: Mapping[str, Served] = attrs.Factory(dict)
    unheld: Mapping[int, str] = attrs.Factory(dict)
    """Ends of a connection whose cause the trace does not hold."""

    def script(self, text: str, common: Mapping[str, Sequence[Step]]) -> Script:
        """With the addresses of this trace."""
        return Script(
            pages=filled({**common, **self.pages}, addresses(text)),
            answers=filled(dict(self.answers), addresses(text)),
            timeline=filled(tuple(self.timeline), addresses(text)),
            served=filled(dict(self.served), addresses(text)),
            overrides=self.overrides,
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
        "{port}": port,
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


# ── the replay ───────────────────────────────────────────────────────────────────────────────────────────────────────


@attrs.define(eq=False)
class Link:
    """One client's connection to the fake, and what the trace has of it."""

    name: str
    end: ClientEnd
    mine: Side
    theirs: Side
    asked: dict[tuple[str | None, int], Json] = attrs.Factory(dict)
    unasked: set[tuple[str | None, int]] = attrs.Factory(set)
    """Commands about what the fake does not have."""
    said: list[Said] = attrs.Factory(list)
    seen: int = 0
    settled: int = 0
    """What had been seen before the last command of anybody."""

    def collect(self, batch: int) -> None:
        """Look at what the fake has to say; it is not delivered before the end, so that all of its order is known."""
        streams = self.end._client.streams
        for number in range(self.seen + 1, streams.last_number + 1):
            found = streams.waiting_one(number)
            if found is None:
                continue
            message = unwrapped(json.loads(found.payload))
            kept, chance = self.mine.keeps(message), self.mine.is_chance(message)
            asked = self.asked.get((message.get("sessionId"), message.get("id", -1)))
            subjects = self.mine.subjects(message, asked)
            self.said.append(Said(message, number, found.after, subjects, chance or not kept, batch))
            if message.get("method") == "Target.detachedFromTarget":
                self._race(message["params"]["sessionId"], batch)
        self.seen = streams.last_number

    def _race(self, session: str, batch: int) -> None:
        """What the renderer answers on a session that ends by the same command may come too late."""
        for said in self.said:
            if said.batch == batch and said.message.get("sessionId") == session and "id" in said.message:
                said.optional = True


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
                self._hear(place, self._link(name), unwrapped(record["msg"]), cut=CUT in record.get("note", ""))
        self._stop_recording()
        self._end_all()
        return self.deviations

    def _stop_recording(self) -> None:
        """A recording ends when its last command is answered: what that leads to besides may be missing in it."""
        last = len(self.records) - 1
        for link in self._links.values():
            link.collect(self._sent)
            answer = next((said for said in link.said if said.place == last and "id" in said.message), None)
            for said in link.said if answer is not None else ():
                said.optional |= said.number > answer.number

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
        if isinstance(command, dict) and link.theirs.is_for_furniture(command):
            link.unasked.add((command.get("sessionId"), command["id"]))
            return
        if isinstance(command, dict):
            command = self._twins.filled(command)
            if isinstance(command.get("id"), int):
                link.asked[command.get("sessionId"), command["id"]] = command
            if command.get("method") == "Target.sendMessageToTarget":
                inside = json.loads(command["params"]["message"])
                link.asked[command["params"].get("sessionId"), inside.get("id")] = inside
        link.end.receive(json.dumps(command).encode())

    def _pipe(self, link: Link, text: str) -> None:
        """Over a pipe a message ends with NUL."""
        *whole, self._piped = (self._piped + text).split("\0")
        for each in whole:
            link.end.receive(each.encode())

    def _hear(self, place: int, link: Link, message: Json, *, cut: bool) -> None:
        kept, chance = link.theirs.keeps(message), link.theirs.is_chance(message)
        if not kept or (message.get("sessionId"), message.get("id")) in link.unasked:
            return
        best = self._find(link, message, cut=cut)
        if best is None and not chance and self._closed_early(place):
            best = self._find(link, message, cut=cut)
        while best is None and not chance and (due := self.fake.next_time()) is not None:
            self.fake.advance(due)
            best = self._find(link, message, cut=cut)
        if best is None:
            if not chance:
                self.deviations.append(f"{place}: missing: {Said(self._twins.filled(message), 0)}")
            return
        said, comparison = best
        self._heed_late_enable(link, said)
        said.place = place
        self.compared += 1
        self._twins.marry(comparison.new)
        self.deviations += [f"{place}: {said.what}: {each}" for each in comparison.differences]

    def _heed_late_enable(self, link: Link, answer: Said) -> None:
        """What hung may reach the process of the next document only, when that has said a few things."""
        asked = link.asked.get((answer.message.get("sessionId"), answer.message.get("id", -1)), {})
        later = [said for said in link.said if said.number > answer.number]
        same = [said for said in later if said.message.get("sessionId") == answer.message.get("sessionId")]
        setting_up = str(asked.get("method")).endswith((".enable", ".runIfWaitingForDebugger"))
        if setting_up and any(said.place is not None for said in same):
            answer.subjects = frozenset()
            for said in same:
                said.optional |= "method" in said.message

    def _closed_early(self, place: int) -> bool:
        """A client that leaves is recorded when it has left: what that leads to may be told before."""
        following = next((each for each in enumerate(self.records) if each[0] > place and each[1]["dir"] != "in"), None)
        if following is None or following[1]["dir"] != "close" or "1000" not in following[1].get("note", ""):
            return False
        self._close(following[0], following[1]["conn"], following[1]["note"])
        return True

    def _find(self, link: Link, message: Json, *, cut: bool) -> tuple[Said, Comparison] | None:
        link.collect(self._sent)
        what = Said(message, 0).what
        found: list[tuple[Said, Comparison]] = []
        for said in link.said:
            if said.place is None and said.what == what:
                comparison = Comparison(self._twins, (link.name, message.get("sessionId")), cut=cut)
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
                if link.mine.are_siblings(other.message, said.message):
                    continue
                if other.place > said.place:
                    self.deviations.append(f"order: {said.place} {said.what} was before {other.place} {other.what}")
                    break
