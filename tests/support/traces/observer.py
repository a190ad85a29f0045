"""The client that never was: it adopts each recorded command as the router's own, and keeps what came out.

`Observer` hands its router each message of the browser, and notes what a rule explains; `core/link/test_recorded_traces.py`
says which rules there are, and what is demanded.
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
from cdp_core.sansio.router import Anomaly, CommandDone, Loss, Output, Router, SessionClosed
from cdp_core.sansio.trace import LinkRecord, MessageRecord, TraceRecord

PARSE_ERROR = -32700


class AdoptingRouter(Router):
    """Takes commands that somebody else has numbered and sent."""

    def adopt(self, command_id: int, session_id: str | None, method: str) -> None:
        """From now on this is a command of the router's own."""
        self._waiting[CommandId(command_id)] = (None if session_id is None else SessionId(session_id), method)
        self.spend(command_id)

    def spend(self, command_id: int) -> None:
        """This id was used, whatever became of it."""
        self._last_id = CommandId(max(self._last_id, command_id))
        self._first_id = CommandId(min(self._first_id, command_id))

    def waits(self, command_id: int) -> bool:
        return command_id in self._waiting

    def knows(self, session_id: str | None) -> bool:
        return session_id in self._sessions


@attrs.frozen
class Adopted:
    """A command of the trace; `place` is the number of its record."""

    place: int
    id: int
    session: str | None
    method: str


@attrs.define(kw_only=True)
class Observer:
    """One link of a trace."""

    router: AdoptingRouter = attrs.field(factory=AdoptingRouter)
    adopted: list[Adopted] = attrs.field(factory=list)
    ended: list[tuple[CommandDone, int]] = attrs.field(factory=list)
    replies: list[tuple[int, dict[str, Any]]] = attrs.field(factory=list)
    closed: dict[str, SessionClosed] = attrs.field(factory=dict)
    not_flat: set[str] = attrs.field(factory=set)
    explained: Counter[str] = attrs.field(factory=Counter)
    unexplained: list[str] = attrs.field(factory=list)
    late: list[int] = attrs.field(factory=list)
    # What was never the router's: commands as (id, session), and how many orphan errors they may still bring.
    foreign: set[tuple[int, str | None]] = attrs.field(factory=set)
    orphans_due: int = 0
    attaching: set[int] = attrs.field(factory=set)

    def sent(self, place: int, record: MessageRecord) -> None:
        """The client of the trace sent this."""
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
        """The browser said this."""
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
        """The link closed."""
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
        """The attach event comes before the reply (fact 47), so a refusal can only come when this is known."""
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
        """The older form keeps objects, so a key that was sent twice stands in it once; the browser names the other."""
        known = {each.id for each in self.adopted} | {command_id for command_id, _session in self.foreign}
        if reply["id"] not in known and reply.get("error", {}).get("code") == PARSE_ERROR:
            self._explain("malformed_command")
            self.foreign.add((reply["id"], reply.get("sessionId")))

    def refused_flat(self) -> set[str]:
        """Sessions that the router holds for dead, though they only cannot be spoken to this way; all below them too."""
        dead = {key for key, each in self.closed.items() if key in self.not_flat and each.loss.reason == "refused"}
        while below := {key for key, each in self.closed.items() if each.parent in dead} - dead:
            dead |= below
        if dead and not self.explained["not_flat"]:
            self._explain("not_flat")
        return dead


def read_command(text: bytes) -> dict[str, Any] | None:
    """What Chromium takes for a command (fact 53); None for everything else."""
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
    """Ids that the browser may have found in what is no command."""
    return [int(found) for found in re.findall(rb'"id"\s*:\s*(-?[0-9]{1,10})(?![0-9.])', text)]


def observe(records: Iterable[TraceRecord], router: type[AdoptingRouter] = AdoptingRouter) -> dict[str, Observer]:
    """Each link of a trace, by its name; one that was opened again goes on as `name (run 2)`."""
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
    """The last JSON block of the notes."""
    notes = path.with_suffix(".md")
    blocks = re.findall(r"^```json\n(.*?)^```", notes.read_text(), re.DOTALL | re.MULTILINE) if notes.exists() else []
    ledger = json.loads(blocks[-1]) if blocks else {}
    return ledger if isinstance(ledger, dict) else {}
