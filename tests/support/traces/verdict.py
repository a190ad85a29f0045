"""Does the machine of each connection show what the notes of the trace say is true, as far as that connection was told?

`judge` gives complaints, each in one line; none is right. The Truth block of the notes is about the browser, and mostly
about its main client. So what is demanded depends on what the connection was told (`reference.py`):

* Dialogs: `dialog_verdict.py`, by the words of `note_words.py`.
* Pages and frames: `frame_verdict.py`.
* Sessions: exactly those that the truth has of this connection, and exactly those of the ledger; none that nobody heard of.

A connection that was lost is judged once more as it was before: the truth is of the end of the trace, so of its pages only
what cannot have changed meanwhile.
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
"""(trace, first words of a complaint) → why the notes and the machine differ all the same: a fact about that recording."""

GONE = re.compile(r"\b(gone|closed|lost|dropped|killed|disconnected)\b")


@attrs.frozen
class Sight:
    """A machine at one moment, and what its connection had been told by then."""

    conn: str
    link: Any
    heard: Any
    state: Any
    before_loss: bool = False

    @property
    def snapshot(self) -> Any:
        return snapshot(self.state)


def sights_of(links: dict[str, Any]) -> list[Sight]:
    """Each machine at the end, and before the loss of its link."""
    found = []
    for conn, link in links.items():
        found.append(Sight(conn, link, reference.hear(link), link.state))
        if link.lost_at is not None:
            found.append(Sight(conn, link, reference.hear(link, before_loss=True), link.before_loss, before_loss=True))
    return found


def judge(name: str, notes: Path, links: dict[str, Any]) -> list[str]:
    """Every complaint about a trace, but the excepted ones."""
    truth, ledger = truth_of(notes), observer.ledger_of(notes.with_suffix(".jsonl"))
    return without_exceptions(name, judge_truth(truth, ledger, sights_of(links)))


def without_exceptions(name: str, found: Iterable[str]) -> list[str]:
    return [each for each in found if not any(name == key and each.startswith(part) for key, part in EXCEPTIONS)]


def judge_truth(truth: dict[str, Any], ledger: dict[str, Any], sights: list[Sight]) -> list[str]:
    """Every complaint."""
    found = [*dialog_verdict.judge_words(truth, ledger, sights), *judge_known_sessions(truth, sights)]
    found += [*dialog_verdict.judge_unheard(truth, sights), *dialog_verdict.judge_answered(truth, sights, ledger)]
    found += [*frame_verdict.judge_truth(truth, sights)]
    for sight in sights:
        part = [*dialog_verdict.judge_openings(sight), *frame_verdict.judge_pages(sight, truth)]
        if not sight.before_loss:
            part += dialog_verdict.judge_told(sight, truth, sights, ledger)
            part += dialog_verdict.judge_ledger(sight.heard, ledger.get(sight.conn, {}))
            part += judge_sessions(sight, sum(not each.before_loss for each in sights), truth, ledger.get(sight.conn))
        found += [f"{sight.conn}{' before its loss' * sight.before_loss}: {each}" for each in part]
    return found


def judge_joined(notes: Path, link: Any) -> list[str]:
    """Complaints about a machine that has followed a client over its links: its dialogs and pages are kept."""
    truth, ledger = truth_of(notes), observer.ledger_of(notes.with_suffix(".jsonl"))
    sight = Sight(link.name, link, reference.hear(link), link.state)
    told = dialog_verdict.judge_told(sight, truth, [sight], ledger)
    return [*dialog_verdict.judge_openings(sight), *told, *frame_verdict.judge_pages(sight, truth)]


def truth_of(notes: Path) -> dict[str, Any]:
    """The first JSON block of the notes."""
    blocks = re.findall(r"^```json\n(.*?)^```", notes.read_text(), re.DOTALL | re.MULTILINE)
    truth = json.loads(blocks[0]) if blocks else {}
    return truth if isinstance(truth, dict) else {}


# ── sessions ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def judge_sessions(
    sight: Sight, connections: int, truth: dict[str, Any], ledger: dict[str, Any] | None
) -> Iterator[str]:
    heard, refused_flat = sight.heard, sight.link.refused_flat()
    shown = {
        each.session_id: (each.type, each.target_id, each.parent)
        for each in sight.snapshot.sessions
        if each.session_id not in refused_flat
    }
    told = truth.get("sessions")
    if isinstance(told, dict) and told and not all(map(is_session, told.values())):
        told = told.get(sight.conn)  # the notes have them by connection, or a word for one that is gone
    elif connections > 1 and isinstance(told, dict) and not heard.all_sessions & told.keys():
        told = None  # they are another client's
    if isinstance(told, dict) and (told or connections == 1 or truth["sessions"]):
        yield from differ("truth", standing(told), shown, refused_flat, "parentSession")
    elif isinstance(told, str) and not (heard.lost and GONE.search(told)):
        yield f"sessions: the truth has {told!r}, and the link is {'lost' if heard.lost else 'up'}"
    if ledger is not None:
        yield from differ("ledger", ledger.get("sessions_live", {}), shown, refused_flat, "parent")


def judge_known_sessions(truth: dict[str, Any], sights: list[Sight]) -> Iterator[str]:
    """Of each session somebody was told, and of what it is."""
    told = truth.get("sessions")
    if not isinstance(told, dict):
        return
    up = [each for each in sights if not each.before_loss and not each.heard.lost]
    if not told and len(up) > 1 and all(each.heard.open for each in up):
        yield "sessions: the truth has none, and every link has some"
    known = set[str]().union(*(each.heard.all_sessions for each in sights))
    by_conn = (
        [told] if all(map(is_session, told.values())) else [each for each in told.values() if isinstance(each, dict)]
    )
    for session, each in ((key, each) for part in by_conn for key, each in part.items()):
        if session not in known:
            yield f"sessions: the truth has {session[:4]}, of which nobody was told"
            continue
        opened = next(one.heard.opened[session] for one in sights if session in one.heard.opened)
        true = (each.get("type"), each.get("targetId"), each.get("parentSession"))
        if true != (opened.target_type, opened.target_id, opened.parent):
            yield f"sessions: the truth has {session[:4]} as {true}, and it was opened as {opened}"


def is_session(told: Any) -> bool:
    return isinstance(told, dict) and "targetId" in told


def standing(told: dict[str, Any]) -> dict[str, Any]:
    """Without those below a session that is gone, which say no word of their end (fact 50)."""
    while gone := [key for key, each in told.items() if each["parentSession"] and each["parentSession"] not in told]:
        told = {key: each for key, each in told.items() if key not in gone}
    return told


def differ(
    where: str, told: dict[str, Any], shown: dict[str, Any], refused_flat: set[str], parent: str
) -> Iterator[str]:
    expected = {
        key: (each["type"], each["targetId"], each[parent]) for key, each in told.items() if key not in refused_flat
    }
    if expected != shown:
        yield f"sessions: the {where} has {expected}, shown are {shown}"
