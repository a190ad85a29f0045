"""Compares the snapshots of each connection with the truth in the notes of its trace.

`judge` returns complaints of one line each; a correct state machine gets none. The Truth block of the notes describes
the browser, and mostly its main client. The demands on a connection depend on the messages that it received
(`reference.py`):

* Dialogs: `dialog_verdict.py`, with the words of `note_words.py`.
* Pages and frames: `frame_verdict.py`.
* Sessions: exactly those that the truth has for this connection, and exactly those of the ledger; each session of the
  truth was opened on a connection.

A connection that was lost is judged a second time at the moment before its loss. The truth describes the end of the
trace, so there only values of its pages are compared that cannot have changed since.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import attrs

from cdp_supervisor.sansio.view import snapshot
from support.traces import dialog_verdict, frame_verdict, observer, reference

EXCEPTIONS: dict[tuple[str, str], str] = {}
"""(trace, first words of a complaint) → the fact about that recording that explains the difference."""

GONE = re.compile(r"\b(gone|closed|lost|dropped|killed|disconnected)\b")


@attrs.frozen
class Moment:
    """A state at one moment, and the messages that its connection had received by then."""

    conn: str
    link: Any
    received: Any
    state: Any
    before_loss: bool = False

    @property
    def snapshot(self) -> Any:
        return snapshot(self.state)


def moments_of(links: dict[str, Any]) -> list[Moment]:
    """Return each connection at the end of the trace, and before the loss of its link."""
    found = []
    for conn, link in links.items():
        found.append(Moment(conn, link, reference.received_by(link), link.state))
        if link.lost_at is not None:
            found.append(
                Moment(conn, link, reference.received_by(link, before_loss=True), link.before_loss, before_loss=True)
            )
    return found


def judge(name: str, notes: Path, links: dict[str, Any]) -> list[str]:
    """Return every complaint about a trace, without the exceptions."""
    truth, ledger = truth_of(notes), observer.ledger_of(notes.with_suffix(".jsonl"))
    return without_exceptions(name, judge_truth(truth, ledger, moments_of(links)))


def without_exceptions(name: str, found: Iterable[str]) -> list[str]:
    return [each for each in found if not any(name == key and each.startswith(part) for key, part in EXCEPTIONS)]


def judge_truth(truth: dict[str, Any], ledger: dict[str, Any], moments: list[Moment]) -> list[str]:
    """Return every complaint, including the exceptions."""
    found = [*dialog_verdict.judge_words(truth, ledger, moments), *judge_known_sessions(truth, moments)]
    found += [*dialog_verdict.judge_undelivered(truth, moments), *dialog_verdict.judge_answered(truth, moments, ledger)]
    found += [*frame_verdict.judge_truth(truth, moments)]
    for moment in moments:
        part = [*dialog_verdict.judge_openings(moment), *frame_verdict.judge_pages(moment, truth)]
        if not moment.before_loss:
            part += dialog_verdict.judge_entries(moment, truth, moments, ledger)
            part += dialog_verdict.judge_ledger(moment.received, ledger.get(moment.conn, {}))
            part += judge_sessions(
                moment, sum(not each.before_loss for each in moments), truth, ledger.get(moment.conn)
            )
        found += [f"{moment.conn}{' before its loss' * moment.before_loss}: {each}" for each in part]
    return found


def judge_joined(notes: Path, link: Any) -> list[str]:
    """Return the complaints about the dialogs and pages of one client over its links."""
    truth, ledger = truth_of(notes), observer.ledger_of(notes.with_suffix(".jsonl"))
    moment = Moment(link.name, link, reference.received_by(link), link.state)
    entries = dialog_verdict.judge_entries(moment, truth, [moment], ledger)
    return [*dialog_verdict.judge_openings(moment), *entries, *frame_verdict.judge_pages(moment, truth)]


def truth_of(notes: Path) -> dict[str, Any]:
    """Return the truth of a trace: the first JSON block of its notes, or an empty dictionary."""
    blocks = re.findall(r"^```json\n(.*?)^```", notes.read_text(), re.DOTALL | re.MULTILINE)
    truth = json.loads(blocks[0]) if blocks else {}
    return truth if isinstance(truth, dict) else {}


# ── sessions ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def judge_sessions(
    moment: Moment, connections: int, truth: dict[str, Any], ledger: dict[str, Any] | None
) -> Iterator[str]:
    received, refused_flat = moment.received, moment.link.refused_flat()
    shown = {
        each.session_id: (each.type, each.target_id, each.parent)
        for each in moment.snapshot.sessions
        if each.session_id not in refused_flat
    }
    sessions = truth.get("sessions")
    if isinstance(sessions, dict) and sessions and not all(map(is_session, sessions.values())):
        sessions = sessions.get(moment.conn)  # one table per connection, or a word for a connection that is gone
    elif connections > 1 and isinstance(sessions, dict) and not received.all_sessions & sessions.keys():
        sessions = None  # the sessions are those of another client
    if isinstance(sessions, dict) and (sessions or connections == 1 or truth["sessions"]):
        yield from differ("truth", remaining(sessions), shown, refused_flat, "parentSession")
    elif isinstance(sessions, str) and not (received.lost and GONE.search(sessions)):
        yield f"sessions: the truth has {sessions!r}, and the link is {'lost' if received.lost else 'up'}"
    if ledger is not None:
        yield from differ("ledger", ledger.get("sessions_live", {}), shown, refused_flat, "parent")


def judge_known_sessions(truth: dict[str, Any], moments: list[Moment]) -> Iterator[str]:
    """Complain unless each session of the truth was opened on a connection, with the same values."""
    sessions = truth.get("sessions")
    if not isinstance(sessions, dict):
        return
    up = [each for each in moments if not each.before_loss and not each.received.lost]
    if not sessions and len(up) > 1 and all(each.received.open for each in up):
        yield "sessions: the truth has none, and every link has some"
    known = set[str]().union(*(each.received.all_sessions for each in moments))
    by_conn = (
        [sessions]
        if all(map(is_session, sessions.values()))
        else [each for each in sessions.values() if isinstance(each, dict)]
    )
    for session, each in ((key, each) for part in by_conn for key, each in part.items()):
        if session not in known:
            yield f"sessions: the truth has {session[:4]}, which was opened on no connection"
            continue
        opened = next(one.received.opened[session] for one in moments if session in one.received.opened)
        true = (each.get("type"), each.get("targetId"), each.get("parentSession"))
        if true != (opened.target_type, opened.target_id, opened.parent):
            yield f"sessions: the truth has {session[:4]} as {true}, and it was opened as {opened}"


def is_session(entry: Any) -> bool:
    return isinstance(entry, dict) and "targetId" in entry


def remaining(sessions: dict[str, Any]) -> dict[str, Any]:
    """Drop the sessions below a session that is gone: their ends are not reported (fact 50)."""
    while gone := [
        key for key, each in sessions.items() if each["parentSession"] and each["parentSession"] not in sessions
    ]:
        sessions = {key: each for key, each in sessions.items() if key not in gone}
    return sessions


def differ(
    where: str, sessions: dict[str, Any], shown: dict[str, Any], refused_flat: set[str], parent: str
) -> Iterator[str]:
    expected = {
        key: (each["type"], each["targetId"], each[parent]) for key, each in sessions.items() if key not in refused_flat
    }
    if expected != shown:
        yield f"sessions: the {where} has {expected}, shown are {shown}"
