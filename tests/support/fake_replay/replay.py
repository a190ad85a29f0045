"""Replay a recorded trace on the fake: send its commands, and expect its replies and events.

The trace is a schedule that the fake did not choose. Each recorded command is sent with the ids of the fake instead of
the recorded ones. Each recorded message of the browser is matched with a pending message of the fake; from then on the
ids of the two are equivalent. At the end no message may remain unmatched on either side, no value may differ, and the
fake must allow the recorded order: if two messages have a common subject (a frame, a target, a session) and the fake
requires one of them first (`Delivery.after`), it was first. The order of one session's messages about different frames
is chance, since it follows their loading (fact 38). A reply is about the target of its session, and about every target
and frame that its command and result name.

Time passes only when the trace contains a message that the fake has not sent yet: a `Wait` of a script lasts until
then.

Not compared:

* `NOISE`, `browser_ui` targets and commands about them, `UNCOMPARED` values, and titles, which change at any time;
* a `targetInfoChanged` without a change: chance decides how often it is repeated;
* the end of a load if the session did not see its beginning: how far the load was by then is chance;
* events of a new document to a session in setup, if the setup commands were answered only after them;
* the order in which a renderer sends events to several sessions of one target;
* the consequences of the last command for a client that left then, and the renderer's reply on a session that the
  command ended.
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
from support.fake_replay.sides import SentMessage, Side, unwrapped
from support.fake_replay.twins import Comparison, IdMap

Json = dict[str, Any]
CUT = "payload cut"
"""Part of the note of a truncated record."""


@attrs.frozen(kw_only=True)
class Acts:
    """The acts of the pages in one trace.

    `{a}` stands for http://localhost, `{b}` for 127.0.0.1, `{s}` for https, each with its port.
    """

    pages: Mapping[str, Sequence[Step]] = attrs.Factory(dict)
    answers: Mapping[str, Answer] = attrs.Factory(dict)
    timeline: Sequence[Step] = ()
    at: Mapping[int, Sequence[Step]] = attrs.Factory(dict)
    """Steps that pages perform without a command, by the index of the record before which they happen."""
    texts: Mapping[int, str] = attrs.Factory(dict)
    """The text really sent, for records that contain only its parsed form."""
    foreign: Sequence[int] = ()
    """Records of messages caused by a client that is not in the trace."""
    overrides: Mapping[str, Override] = attrs.Factory(dict)
    """How the client's init scripts replace dialogs."""
    served: Mapping[str, Served] = attrs.Factory(dict)
    unexplained_ends: Mapping[int, str] = attrs.Factory(dict)
    """Records of the end of a connection with a cause that the trace does not contain."""

    def script(self, text: str, common: Mapping[str, Sequence[Step]]) -> Script:
        """Return the pages' script with the origins of this trace."""
        return Script(
            pages=filled({**common, **self.pages}, addresses(text)),
            answers=filled(dict(self.answers), addresses(text)),
            timeline=filled(tuple(self.timeline), addresses(text)),
            served=filled(dict(self.served), addresses(text)),
            overrides=self.overrides,
        )


def addresses(text: str) -> dict[str, str]:
    """Return the origins of a trace by their placeholders."""
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
    """One client's connection to the fake, and its record in the trace."""

    name: str
    end: ClientEnd
    fake_side: Side
    trace_side: Side
    commands: dict[tuple[str | None, int], Json] = attrs.Factory(dict)
    not_sent: set[tuple[str | None, int]] = attrs.Factory(set)
    """Commands about targets that the fake does not have, which were not sent."""
    sent: list[SentMessage] = attrs.Factory(list)
    seen: int = 0
    settled: int = 0
    """The number of the last message seen before the latest command of any client."""

    def collect(self, batch: int) -> None:
        """Collect the fake's pending messages without delivering them: until the end each keeps its `after`."""
        streams = self.end._client.streams
        for number in range(self.seen + 1, streams.last_number + 1):
            found = streams.waiting_one(number)
            if found is None:
                continue
            message = unwrapped(json.loads(found.payload))
            kept, chance = self.fake_side.counts(message), self.fake_side.ends_unseen_load(message)
            command = self.commands.get((message.get("sessionId"), message.get("id", -1)))
            subjects = self.fake_side.subjects(message, command)
            self.sent.append(SentMessage(message, number, found.after, subjects, chance or not kept, batch))
            if message.get("method") == "Target.detachedFromTarget":
                self._make_replies_optional(message["params"]["sessionId"], batch)
        self.seen = streams.last_number

    def _make_replies_optional(self, session: str, batch: int) -> None:
        """Make the replies on a session optional if the same command ended it: they may be too late."""
        for sent in self.sent:
            if sent.batch == batch and sent.message.get("sessionId") == session and "id" in sent.message:
                sent.optional = True


class Replay:
    """A replay of one trace on the fake; `deviations` lists the differences."""

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
        self._command_count = 0
        self._begin()

    def _begin(self) -> None:
        self.fake = FakeBrowser(self._script, profile=self._profile)
        self._ids = IdMap()
        self._links: dict[str, Link] = {}
        self._partial = ""

    def run(self) -> list[str]:
        """Replay all records and return the deviations."""
        for index, record in enumerate(self.records):
            kind, name = record["dir"], record.get("conn", "")
            self.fake.play(*filled(tuple(self._acts.at.get(index, ())), self._addresses))
            if kind == "open":
                self._open(name, record["url"])
            elif kind == "close":
                self._close(index, name, record.get("note", ""))
            elif kind == "out":
                self._send(self._link(name), record, self._acts.texts.get(index))
            elif kind == "in" and index not in self._acts.foreign:
                self._match(index, self._link(name), unwrapped(record["msg"]), cut=CUT in record.get("note", ""))
        self._stop_recording()
        self._end_all()
        return self.deviations

    def _stop_recording(self) -> None:
        """Make messages after the last reply optional: the recording ends with it, and may lack them."""
        last = len(self.records) - 1
        for link in self._links.values():
            link.collect(self._command_count)
            answer = next((sent for sent in link.sent if sent.index == last and "id" in sent.message), None)
            for sent in link.sent if answer is not None else ():
                sent.optional |= sent.number > answer.number

    def _link(self, name: str) -> Link:
        if name not in self._links:  # a pipe has no "open" record
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
        target = self._ids.to_fake[where]
        end = self.fake.connect(f"/devtools/page/{target}")
        self._links[name] = Link(name, end, Side(page=target), Side(page=where))

    def _close(self, index: int, name: str, note: str) -> None:
        link = self._links.pop(name, None)
        if link is None:
            return  # closed early, since its consequences were recorded before it
        link.collect(self._command_count)
        if (
            "1006" in note
            and link.end.connected
            and not self._recorder_ended_browser(index)
            and index not in self._acts.unexplained_ends
        ):
            self.deviations.append(f"{index}: the fake does not end the connection of {name}")
        for sent in link.sent:
            sent.optional |= "1000" in note and sent.number > link.settled
        self._end(link)
        link.end.lost()

    def _recorder_ended_browser(self, index: int) -> bool:
        """Return True if the connection ended because the recorder ended the browser."""
        rest = self.records[index + 1 :]
        return any(each["dir"] == "open" and self._browser not in each["url"] for each in rest)

    def _send(self, link: Link, record: Json, text: str | None) -> None:
        for each in self._links.values():
            each.collect(self._command_count)
            each.settled = each.seen
        self._command_count += 1
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
        if isinstance(command, dict) and link.trace_side.is_about_browser_ui(command):
            link.not_sent.add((command.get("sessionId"), command["id"]))
            return
        if isinstance(command, dict):
            command = self._ids.translated(command)
            if isinstance(command.get("id"), int):
                link.commands[command.get("sessionId"), command["id"]] = command
            if command.get("method") == "Target.sendMessageToTarget":
                inside = json.loads(command["params"]["message"])
                link.commands[command["params"].get("sessionId"), inside.get("id")] = inside
        link.end.receive(json.dumps(command).encode())

    def _pipe(self, link: Link, text: str) -> None:
        """Split the text at NUL, which ends a message on a pipe."""
        *whole, self._partial = (self._partial + text).split("\0")
        for each in whole:
            link.end.receive(each.encode())

    def _match(self, index: int, link: Link, message: Json, *, cut: bool) -> None:
        kept, chance = link.trace_side.counts(message), link.trace_side.ends_unseen_load(message)
        if not kept or (message.get("sessionId"), message.get("id")) in link.not_sent:
            return
        best = self._find(link, message, cut=cut)
        if best is None and not chance and self._closed_early(index):
            best = self._find(link, message, cut=cut)
        while best is None and not chance and (due := self.fake.next_time()) is not None:
            self.fake.advance(due)
            best = self._find(link, message, cut=cut)
        if best is None:
            if not chance:
                self.deviations.append(f"{index}: missing: {SentMessage(self._ids.translated(message), 0)}")
            return
        sent, comparison = best
        self._relax_late_setup(link, sent)
        sent.index = index
        self.compared += 1
        self._ids.add(comparison.new)
        self.deviations += [f"{index}: {sent.what}: {each}" for each in comparison.differences]

    def _relax_late_setup(self, link: Link, answer: SentMessage) -> None:
        """Relax the comparison if a setup command was answered after events of its session.

        A blocked command may reach only the process of the next document, after that has sent some events.
        """
        command = link.commands.get((answer.message.get("sessionId"), answer.message.get("id", -1)), {})
        later = [sent for sent in link.sent if sent.number > answer.number]
        same = [sent for sent in later if sent.message.get("sessionId") == answer.message.get("sessionId")]
        setting_up = str(command.get("method")).endswith((".enable", ".runIfWaitingForDebugger"))
        if setting_up and any(sent.index is not None for sent in same):
            answer.subjects = frozenset()
            for sent in same:
                sent.optional |= "method" in sent.message

    def _closed_early(self, index: int) -> bool:
        """Close early the client that leaves next: the trace records it after the consequences of its leaving."""
        following = next((each for each in enumerate(self.records) if each[0] > index and each[1]["dir"] != "in"), None)
        if following is None or following[1]["dir"] != "close" or "1000" not in following[1].get("note", ""):
            return False
        self._close(following[0], following[1]["conn"], following[1]["note"])
        return True

    def _find(self, link: Link, message: Json, *, cut: bool) -> tuple[SentMessage, Comparison] | None:
        link.collect(self._command_count)
        what = SentMessage(message, 0).what
        found: list[tuple[SentMessage, Comparison]] = []
        for sent in link.sent:
            if sent.index is None and sent.what == what:
                comparison = Comparison(self._ids, (link.name, message.get("sessionId")), cut=cut)
                comparison.look(message, sent.message, "")
                if not comparison.mismatch:
                    found.append((sent, comparison))
        return min(found, key=lambda each: (len(each[1].differences), each[0].optional), default=None)

    # ── the end of a connection ──────────────────────────────────────────────────────────────────────────────────────

    def _end_all(self) -> None:
        for link in self._links.values():
            link.collect(self._command_count)
            self._end(link)
        self._links.clear()

    def _end(self, link: Link) -> None:
        left = [sent for sent in link.sent if sent.index is None and not sent.optional]
        self.deviations += [f"{link.name}: never sent by the browser: {sent}" for sent in left]
        before: dict[int, set[int]] = {}
        by_number = {sent.number: sent for sent in link.sent}
        for sent in link.sent:
            earlier = before[sent.number] = set(sent.after)
            for each in sent.after:
                earlier |= before.get(each, set())
            if sent.index is None:
                continue
            for each in sorted(earlier):
                other = by_number.get(each)
                if other is None or other.index is None or not other.subjects & sent.subjects:
                    continue
                if link.fake_side.are_of_sibling_sessions(other.message, sent.message):
                    continue
                if other.index > sent.index:
                    self.deviations.append(f"order: {sent.index} {sent.what} came before {other.index} {other.what}")
                    break
