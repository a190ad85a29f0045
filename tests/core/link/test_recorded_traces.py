"""Every recorded trace, replayed through one router per link in the recorded order.

`Observer` adopts each recorded command as if the router had sent it (`AdoptingRouter`), hands the router each message
of the browser, and keeps the outputs. Each trace must satisfy four laws:

* no output is an anomaly, unless a rule below explains it **and** the trace's notes mention it;
* the sessions at the end are those of the ledger in the notes, by id, target, type and parent, and each ended session
  ended as in the ledger: by its own event, or with its parent;
* each command ended at most once, by its own reply in the trace or by a loss; a command that is in flight at the end
  has no reply in the trace, and belongs to an open session;
* a late reply belongs to a command that had ended before, or that the router never sent.

Five rules explain anomalies. The first four exist because the router would not have sent these commands:

* `malformed_command`: not a command (no JSON, no integer id, no method, a duplicate key). The browser answers without
  an id, or with one that the router never assigned.
* `duplicate_id`: an id that is in flight already. Chromium scopes ids by session; the router's are unique per link.
* `not_open`: a command for a session that is not open. The router refuses it with SessionGone.
* `not_flat`: a session attached without `flatten`. Only commands nested in other messages reach it, so the browser's
  refusal of a flat command does not prove that it has ended.
* `cut`: the trace holds only the beginning of a message.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from cdp_core.sansio.messages import Refusal, Result, SessionId
from cdp_core.sansio.outcomes import Loss
from cdp_core.sansio.trace import MessageRecord
from cdp_core.tracing.file import read_trace
from support.traces.observer import PARSE_ERROR, Adopted, AdoptingRouter, Observer, ledger_of, observe

TRACES = sorted((Path(__file__).parents[2] / "traces").glob("*.jsonl"))

EXPLAINED: dict[str, tuple[dict[str, int], str]] = {
    "dialog_close_and_crash": ({"not_open": 4}, "it probes each page once more after it was closed"),
    "frames_prerender": ({"not_open": 1}, "it sends a command to the page that the prerendered one replaced"),
    "hermes_page_closed": ({"not_open": 1}, "it sends a command to a closed page"),
    "session_parent_detach": ({"not_open": 3}, "it sends commands to nested sessions to prove that they ended"),
    "wire_errors": (
        {"malformed_command": 19, "not_open": 1},
        "it sends malformed commands, and one to an unknown session",
    ),
    "wire_ids": ({"duplicate_id": 4, "not_open": 1}, "it uses one id on three sessions, and twice on one"),
    "wire_nonflatten": ({"not_flat": 1}, "it sends a flat command to a session that is not flat"),
    "wire_pipe": ({"malformed_command": 5}, "it sends messages that are not commands"),
}
"""For some traces, the exact anomalies that the rules explain, and why they occur.

A trace without an entry may still have anomalies that a rule explains and its notes mention.
"""

DEAD_SESSION = -32001

NOTED = {
    "malformed_command": r"malformed|not a string|missing|garbage|empty|parse|-32[67]00",
    "duplicate_id": r"duplicate|same id|twice|id 700",
    "not_open": r"-32001|unknown session|not found|dead|closed|gone|detach",
    "not_flat": r"non-?flat|without flatten",
    "cut": r"cut|truncated|size",
}
"""For each rule, a pattern that the notes of a trace must match if the rule explains an anomaly there."""


# ── the laws ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(params=TRACES, ids=lambda path: path.stem)
def trace(request: pytest.FixtureRequest) -> Path:
    return request.param


def test_the_recorded_traces_exist() -> None:
    assert len(TRACES) >= 50


def test_every_anomaly_is_explained_by_a_rule_and_the_notes(trace: Path) -> None:
    links = observe(read_trace(trace))
    unexplained = {name: link.unexplained for name, link in links.items() if link.unexplained}
    assert not unexplained
    for link in links.values():
        link.refused_flat()
    explained = sum((link.explained for link in links.values()), Counter[str]())
    notes = trace.with_suffix(".md").read_text()
    for reason in explained:
        assert re.search(NOTED[reason], notes, re.IGNORECASE), f"the notes do not mention {reason}"
    if trace.stem in EXPLAINED:
        assert explained == EXPLAINED[trace.stem][0]


def test_every_explained_trace_exists() -> None:
    assert EXPLAINED.keys() <= {path.stem for path in TRACES}


def test_the_sessions_at_the_end_are_those_of_the_ledger(trace: Path) -> None:
    ledger = ledger_of(trace)
    links = observe(read_trace(trace))
    assert ledger.keys() <= links.keys()
    for name, link in links.items():
        truth = ledger.get(name, {})
        refused_flat = link.refused_flat()
        live = {
            each.session_id: (each.target_type, each.target_id, each.parent) for each in link.router.open_sessions()
        }
        expected = {
            key: (each["type"], each["targetId"], each["parent"])
            for key, each in truth.get("sessions_live", {}).items()
            if key not in refused_flat
        }
        assert live == expected, name
        gone = {
            key: (each.target_id, each.parent, HOW[each.loss.reason])
            for key, each in link.closed.items()
            if each.loss.kind == "session" and key not in refused_flat
        }
        assert gone == {
            key: (each["targetId"], each["parent"], each["how"]) for key, each in truth.get("sessions_gone", {}).items()
        }, name


HOW = {"detached": "event", "parent_ended": "implied by parent", "refused": "refused"}


def test_each_command_ends_once_and_with_its_own_reply(trace: Path) -> None:
    for name, link in observe(read_trace(trace)).items():
        ends = {}
        for done, place in link.ended:
            command = next(each for each in reversed(link.adopted) if each.id == done.id and each.place < place)
            assert (done.session_id, done.method) == (command.session, command.method)
            assert command not in ends, f"{name}: {command} ended twice"
            ends[command] = (done, place)
        for command in link.adopted:
            reply = reply_to(command, link)
            if command not in ends:
                assert link.router.loss is None, f"{name}: {command} outlived the link"
                assert reply is None, f"{name}: {command} was answered and still waits"
                continue
            done, place = ends[command]
            if isinstance(done.outcome, (Result, Refusal)):
                assert reply is not None
                assert reply[0] == place
                assert_same(done.outcome, reply[1])
            else:
                assert isinstance(done.outcome, Loss), f"{name}: {command} was undecodable"
                assert reply is None or reply[0] >= place, f"{name}: {command} was answered before it was lost"


def reply_to(command: Adopted, link: Observer) -> tuple[int, dict[str, Any]] | None:
    """Return the first reply to a command: on its session, or the refusal of its dead session."""
    until = min(
        (each.place for each in link.adopted if each.id == command.id and each.place > command.place), default=None
    )
    for place, reply in link.replies:
        if place < command.place or reply["id"] != command.id or (until is not None and place > until):
            continue
        if reply.get("sessionId") == command.session:
            return place, reply
        if "sessionId" not in reply and reply.get("error", {}).get("code") == DEAD_SESSION:
            return place, reply
    return None


def assert_same(outcome: Result | Refusal, reply: dict[str, Any]) -> None:
    if isinstance(outcome, Result):
        assert outcome.value == reply["result"]
    else:
        error = reply["error"]
        assert (outcome.code, outcome.message, outcome.data) == (error["code"], error["message"], error.get("data"))


def test_commands_in_flight_at_the_end_belong_to_open_sessions(trace: Path) -> None:
    ledger = ledger_of(trace)
    for name, link in observe(read_trace(trace)).items():
        left = {each for each in link.adopted if link.router.waits(each.id)}  # an id in flight is adopted once
        live = ledger.get(name, {}).get("sessions_live", {})
        assert {each.session for each in left} <= {None, *live}
        assert len(link.adopted) == len(link.ended) + len(link.router.waiting)


def test_a_late_reply_belongs_to_a_command_that_had_ended(trace: Path) -> None:
    for link in observe(read_trace(trace)).values():
        ended = {each.id for each, _place in link.ended}
        foreign_ids = {command_id for command_id, _session in link.foreign}
        assert set(link.late) <= ended | foreign_ids


# ── the observer ─────────────────────────────────────────────────────────────────────────────────────────────────────


def link_of(*messages: tuple[str, dict[str, Any]]) -> Observer:
    """Return the observer of a trace that has one link and these messages."""
    records = [
        MessageRecord(
            direction="out" if direction == "out" else "in", t=0.0, conn="A", text=json.dumps(each).encode(), size=0
        )
        for direction, each in messages
    ]
    return observe(records)["A"]


COMMAND = ("out", {"id": 1, "method": "Browser.getVersion"})


@pytest.mark.parametrize(
    "message",
    [
        {"method": "Page.loadEventFired", "params": {}, "sessionId": "never"},
        {"id": 5, "result": {}},
        {"id": 1, "result": {}, "sessionId": "never"},
        {"id": 1, "result": {}, "sessionId": 5},
        {"error": {"code": PARSE_ERROR, "message": "JSON: no input"}},
        {"method": "Target.attachedToTarget", "params": {}},
    ],
)
def test_an_anomaly_that_no_rule_explains_is_reported(message: dict[str, Any]) -> None:
    assert link_of(COMMAND, ("in", message)).unexplained


def test_an_odd_command_explains_only_one_anomaly() -> None:
    orphan = ("in", {"error": {"code": PARSE_ERROR, "message": "JSON: no input"}})
    assert not link_of(("out", {"id": "a"}), orphan).unexplained
    assert len(link_of(("out", {"id": "a"}), orphan, orphan).unexplained) == 1
    twice = link_of(COMMAND, COMMAND, ("in", {"id": 1, "error": {"code": -32600, "message": "Duplicate"}}))
    assert twice.explained == {"duplicate_id": 1}


class NoCascade(AdoptingRouter):
    """A router that leaves the children of an ended session open."""

    def _close(self, session_id: SessionId) -> list[Any]:
        session = self._sessions[session_id]
        assert session is not None
        session.children.clear()
        return super()._close(session_id)


def test_a_router_without_the_cascade_disagrees_with_a_ledger() -> None:
    trace = next(path for path in TRACES if path.stem == "session_parent_detach")
    open_ids = [
        {each.session_id for each in observe(read_trace(trace), router)["A"].router.open_sessions()}
        for router in (AdoptingRouter, NoCascade)
    ]
    assert open_ids[0] == ledger_of(trace)["A"]["sessions_live"].keys()
    assert open_ids[1] > open_ids[0]
