"""Every recorded trace, through one router per link: what the browser really said, in the order in which it said it.

`Observer` is the client that never was. It adopts each recorded command as the router's own (`AdoptingRouter`), hands it
each message of the browser, and keeps what came out. Four things are demanded of every trace:

* nothing that the router says is an anomaly, unless a rule below explains it **and** the trace's notes speak of it;
* the sessions at the end are those of the ledger in the notes, by id, target, type and parent, and each that is gone went
  as the ledger says: by its own event, or with its parent;
* each command ended at most once, by the very reply that the trace holds, or by a loss; what is still in flight at the
  end has no reply in the trace, and belongs to a session that lives;
* a reply that comes late belongs to a command that had ended before, or was never the router's.

What is explained, since these commands are not the router's: it would not have sent them.

* `malformed_command`: no command at all (no JSON, no integer id, no method, a key twice). The browser answers without an
  id, or with one that the router never gave out.
* `duplicate_id`: an id that is in flight already. Chromium counts ids by session; the router's are one for all.
* `not_open`: a command for a session that is not open. The router refuses it with SessionGone.
* `not_flat`: a session attached without `flatten`. It can only be spoken to through other messages, so the browser's
  refusal of a flat one proves nothing about its life.
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
from cdp_core.sansio.router import Loss
from cdp_core.sansio.trace import MessageRecord
from cdp_core.tracing.file import read_trace
from support.traces.observer import PARSE_ERROR, Adopted, AdoptingRouter, Observer, ledger_of, observe

TRACES = sorted((Path(__file__).parents[2] / "traces").glob("*.jsonl"))

EXPLAINED: dict[str, tuple[dict[str, int], str]] = {
    "dialog_close_and_crash": ({"not_open": 4}, "it probes each page once more after it was closed"),
    "frames_prerender": ({"not_open": 1}, "it speaks to the page that the prerendered one replaced"),
    "hermes_page_closed": ({"not_open": 1}, "it goes on with a page that is closed"),
    "session_parent_detach": ({"not_open": 3}, "it proves that nested sessions are dead by speaking to them"),
    "wire_errors": ({"malformed_command": 19, "not_open": 1}, "it tries what is no command, and one unknown session"),
    "wire_ids": ({"duplicate_id": 4, "not_open": 1}, "it uses one id on three sessions, and twice on one"),
    "wire_nonflatten": ({"not_flat": 1}, "it sends a flat command to a session that is not flat"),
    "wire_pipe": ({"malformed_command": 5}, "it tries frames that hold no command"),
}
"""What the traces that are here need, and why.

A trace that is not named needs no entry for what a rule explains and its notes tell.
"""

DEAD_SESSION = -32001

NOTED = {
    "malformed_command": r"malformed|not a string|missing|garbage|empty|parse|-32[67]00",
    "duplicate_id": r"duplicate|same id|twice|id 700",
    "not_open": r"-32001|unknown session|not found|dead|closed|gone|detach",
    "not_flat": r"non-?flat|without flatten",
    "cut": r"cut|truncated|size",
}
"""The words by which the notes of a trace own up to it."""


# ── what is demanded ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(params=TRACES, ids=lambda path: path.stem)
def trace(request: pytest.FixtureRequest) -> Path:
    return request.param


def test_there_are_traces() -> None:
    assert len(TRACES) >= 50


def test_no_anomaly_that_the_notes_do_not_explain(trace: Path) -> None:
    links = observe(read_trace(trace))
    unexplained = {name: link.unexplained for name, link in links.items() if link.unexplained}
    assert not unexplained
    for link in links.values():
        link.refused_flat()
    explained = sum((link.explained for link in links.values()), Counter[str]())
    notes = trace.with_suffix(".md").read_text()
    for reason in explained:
        assert re.search(NOTED[reason], notes, re.IGNORECASE), f"the notes do not speak of {reason}"
    if trace.stem in EXPLAINED:
        assert explained == EXPLAINED[trace.stem][0]


def test_what_needs_an_explanation_is_there() -> None:
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
                assert reply is None, f"{name}: {command} was answered and waits"
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
    """The first reply that the trace holds for a command: on its session, or the refusal of its dead session."""
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


def test_what_is_in_flight_at_the_end_belongs_to_what_lives(trace: Path) -> None:
    ledger = ledger_of(trace)
    for name, link in observe(read_trace(trace)).items():
        left = {each for each in link.adopted if link.router.waits(each.id)}  # an id in flight is adopted once
        live = ledger.get(name, {}).get("sessions_live", {})
        assert {each.session for each in left} <= {None, *live}
        assert len(link.adopted) == len(link.ended) + link.router.in_flight


def test_a_late_reply_belongs_to_a_command_that_had_ended(trace: Path) -> None:
    for link in observe(read_trace(trace)).values():
        ended = {each.id for each, _place in link.ended}
        strangers = {command_id for command_id, _session in link.foreign}
        assert set(link.late) <= ended | strangers


# ── the observer itself ──────────────────────────────────────────────────────────────────────────────────────────────


def link_of(*messages: tuple[str, dict[str, Any]]) -> Observer:
    """A trace of one link, in a few words."""
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
def test_what_no_rule_explains_is_seen(message: dict[str, Any]) -> None:
    assert link_of(COMMAND, ("in", message)).unexplained


def test_a_rule_explains_no_more_than_it_has_to() -> None:
    orphan = ("in", {"error": {"code": PARSE_ERROR, "message": "JSON: no input"}})
    assert not link_of(("out", {"id": "a"}), orphan).unexplained
    assert len(link_of(("out", {"id": "a"}), orphan, orphan).unexplained) == 1
    twice = link_of(COMMAND, COMMAND, ("in", {"id": 1, "error": {"code": -32600, "message": "Duplicate"}}))
    assert twice.explained == {"duplicate_id": 1}


class NoCascade(AdoptingRouter):
    """Sessions below an ended one stay open."""

    def _close(self, session_id: SessionId) -> list[Any]:
        session = self._sessions[session_id]
        assert session is not None
        session.children.clear()
        return super()._close(session_id)


def test_a_router_without_the_cascade_disagrees_with_a_ledger() -> None:
    trace = next(path for path in TRACES if path.stem == "session_parent_detach")
    told = [
        {each.session_id for each in observe(read_trace(trace), router)["A"].router.open_sessions()}
        for router in (AdoptingRouter, NoCascade)
    ]
    assert told[0] == ledger_of(trace)["A"]["sessions_live"].keys()
    assert told[1] > told[0]
