"""A router for a recorded link: it adopts each recorded command as its own and keeps the outputs.

`Observer` feeds its router each message of the browser, and counts the anomalies that a rule explains.
`core/link/test_recorded_traces.py` lists the rules and checks the results.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import attrs

from cdp_core.sansio.messages import CommandId, SessionId
from cdp_core.sansio.outcomes import Loss
from cdp_core.sansio.router import Anomaly, CommandDone, Output, Router, SessionClosed
from cdp_core.sansio.trace import LinkRecord, MessageRecord, TraceRecord

PARSE_ERROR = -32700


class AdoptingRouter(Router):
    """A router that takes over commands with ids that the recorded client chose."""

    def adopt(self, command_id: int, session_id: str | None, method: str) -> None:
        """Register a recorded command as an open command of this router."""
        self.waiting[CommandId(command_id)] = (None if session_id is None else SessionId(session_id), method, None)
        self.spend(command_id)

    def spend(self, command_id: int) -> None:
        """Mark an id as used, for a command of any outcome."""
        self._last_id = CommandId(max(self._last_id, command_id))
        self._first_id = CommandId(min(self._first_id, command_id))

    def waits(self, command_id: int) -> bool:
        return command_id in self.waiting

    def knows(self, session_id: str | None) -> bool:
        return session_id in self._sessions


@attrs.frozen
class Adopted:
    """A command of the trace; `place` is the number of its record in the trace."""

    place: int
    id: int
    session: str | None
    method: str


@attrs.define(kw_only=True)
class Observer:
    """The router and the outputs of one link of a trace."""

    router: AdoptingRouter = attrs.field(factory=AdoptingRouter)
    adopted: list[Adopted] = attrs.field(factory=list)
    ended: list[tuple[CommandDone, int]] = attrs.field(factory=list)
    replies: list[tuple[int, dict[str, Any]]] = attrs.field(factory=list)
    closed: dict[str, SessionClosed] = attrs.field(factory=dict)
    not_flat: set[str] = attrs.field(factory=set)
    explained: Counter[str] = attrs.field(factory=Counter)
    unexplained: list[str] = attrs.field(factory=list)
    late: list[int] = attrs.field(factory=list)
    # Commands that the router never registered, as (id, session), and how many orphan errors they can still cause.
    foreign: set[tuple[int, str | None]] = attrs.field(factory=set)
    orphans_due: int = 0
    attaching: set[int] = attrs.field(factory=set)

    def sent(self, place: int, record: MessageRecord) -> None:
        """Register a command that the recorded client sent."""
        command = None if record.cut else read_command(record.text)
        if command is None:
            self._explain("cut" if record.cut else "malformed_command")
            self.orphans_due += 1
            for command_id in ids_in(record.text):
                self.router.spend(command_id)
                self.foreign.add((command_id, None))
            return
        adopted = Adopted(place, command["id"], command.get("sessionId") or None, command["method"])
        if self.router.waits(adopted.id):
            self._explain("duplicate_id")
            self.foreign.add((adopted.id, adopted.session))
            self.foreign.add((adopted.id, None))
        elif not self.router.knows(adopted.session):
            self._explain("not_open")
            self.router.spend(adopted.id)
            self.foreign.add((adopted.id, None))
        else:
            self.router.adopt(adopted.id, adopted.session, adopted.method)
            self.adopted.append(adopted)
            params = command.get("params")
            if adopted.method == "Target.attachToTarget" and not (isinstance(params, dict) and params.get("flatten")):
                self.attaching.add(adopted.id)

    def received(self, place: int, record: MessageRecord) -> None:
        """Feed a recorded message of the browser to the router."""
        if record.cut:
            self._explain("cut")
            return
        message = json.loads(record.text)
        self._note_session_not_flat(message)
        if "id" in message:
            self._note_unrecorded(message)
        late = self.router.statistics().late_replies
        outputs = self.router.receive(record.text)
        if self.router.statistics().late_replies > late:
            self.late.append(message["id"])
        if "id" in message:
            self.replies.append((place, message))
        self.take(place, outputs)

    def lost(self, place: int, record: LinkRecord) -> None:
        """Feed the loss of the link to the router."""
        reason = record.reason or "closed"
        self.take(place, self.router.lost(Loss(kind="connection", reason="closed", detail=reason)))

    def take(self, place: int, outputs: Iterable[Output]) -> None:
        for output in outputs:
            if isinstance(output, CommandDone):
                self.ended.append((output, place))
            elif isinstance(output, SessionClosed):
                self.closed[output.session_id] = output
            elif isinstance(output, Anomaly) and not self._explains(output):
                self.unexplained.append(f"record {place}: {output.reason}: {output.detail}")

    def _explains(self, anomaly: Anomaly) -> bool:
        if anomaly.reason == "orphan_error" and self.orphans_due:
            self.orphans_due -= 1
            return True
        if anomaly.reason in ("reply_on_other_session", "unknown_id"):
            return (anomaly.id, anomaly.session_id) in self.foreign
        return False

    def _note_session_not_flat(self, message: dict[str, Any]) -> None:
        """Note the session of an attach without `flatten`.

        The attach event comes before the reply (fact 47), so the session is known before any command on it is
        refused.
        """
        result = message.get("result")
        if (
            message.get("id") in self.attaching
            and isinstance(result, dict)
            and isinstance(result.get("sessionId"), str)
        ):
            self.not_flat.add(result["sessionId"])

    def _explain(self, reason: str) -> None:
        self.explained[reason] += 1

    def _note_unrecorded(self, reply: dict[str, Any]) -> None:
        """Register a foreign command that only a parse error of the browser shows.

        The older form of a trace keeps JSON objects, so an id that was sent twice is recorded once; the browser's
        reply names the other one.
        """
        known = {each.id for each in self.adopted} | {command_id for command_id, _session in self.foreign}
        if reply["id"] not in known and reply.get("error", {}).get("code") == PARSE_ERROR:
            self._explain("malformed_command")
            self.foreign.add((reply["id"], reply.get("sessionId")))

    def refused_flat(self) -> set[str]:
        """Return the sessions that the router closed only because they are not flat, and all below them."""
        dead = {key for key, each in self.closed.items() if key in self.not_flat and each.loss.reason == "refused"}
        while below := {key for key, each in self.closed.items() if each.parent in dead} - dead:
            dead |= below
        if dead and not self.explained["not_flat"]:
            self._explain("not_flat")
        return dead


def read_command(text: bytes) -> dict[str, Any] | None:
    """Return the command if Chromium accepts the text as one (fact 53), else None."""
    try:
        pairs = json.loads(text, object_pairs_hook=list)
        command = json.loads(text)
    except ValueError:
        return None
    if not isinstance(command, dict) or len(pairs) != len(command):
        return None
    if type(command.get("id")) is float and command["id"].is_integer():
        command["id"] = int(command["id"])
    legal = type(command.get("id")) is int and -(2**31) <= command["id"] < 2**31
    legal = legal and isinstance(command.get("method"), str) and isinstance(command.get("sessionId", ""), str)
    return command if legal and command.keys() <= {"id", "method", "params", "sessionId"} else None


def ids_in(text: bytes) -> list[int]:
    """Return the ids that the browser may have found in a text that is not a valid command."""
    return [int(found) for found in re.findall(rb'"id"\s*:\s*(-?[0-9]{1,10})(?![0-9.])', text)]


def observe(records: Iterable[TraceRecord], router: type[AdoptingRouter] = AdoptingRouter) -> dict[str, Observer]:
    """Return an observer of each link of a trace, by name; a link that was opened again is `name (run 2)`."""
    runs: Counter[str] = Counter()
    links: dict[str, Observer] = {}

    def of(conn: str) -> Observer:
        name = conn if runs[conn] <= 1 else f"{conn} (run {runs[conn]})"
        return links.setdefault(name, Observer(router=router()))

    for place, record in enumerate(records, 1):
        if isinstance(record, LinkRecord):
            if record.event == "open":
                runs[record.conn] += 1
                of(record.conn)
            else:
                of(record.conn).lost(place, record)
        elif isinstance(record, MessageRecord):
            link = of(record.conn)
            (link.sent if record.direction == "out" else link.received)(place, record)
    return links


def ledger_of(path: Path) -> dict[str, Any]:
    """Return the ledger of a trace: the last JSON block of its notes, or an empty dictionary."""
    notes = path.with_suffix(".md")
    blocks = re.findall(r"^```json\n(.*?)^```", notes.read_text(), re.DOTALL | re.MULTILINE) if notes.exists() else []
    ledger = json.loads(blocks[-1]) if blocks else {}
    return ledger if isinstance(ledger, dict) else {}
