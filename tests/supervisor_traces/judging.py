"""Does the machine of each connection show what the notes of the trace say is true, as far as that connection was told?

`judge` gives complaints, each in one line; none is right. The Truth block of the notes is about the browser, and mostly
about its main client. So what is demanded depends on what the connection was told (`hearing.py`):

* Dialogs: every opening that was delivered is shown, once, in its order, with its type and message. It is `agent` exactly
  where an answer of this connection was accepted; it is not pending where a closed event came; else it is pending, or was
  ended by what ended its frame or page, and after the end of its session nobody is offered it. What the truth says of it
  (`CLOSED_BY`) agrees. What the truth calls unanswerable was shown so at some moment.
* Sessions: exactly those that the truth has of this connection, and exactly those of the ledger.
* Frames of pages with a session, while the link stands: none that the truth has not (where the session says what frames
  do), none missing of those that were named, none missing at all of a session that is known wholly; with the parent that
  the truth says, and its URL where one was told. Pages whose tree the truth itself could not read are not judged.
* Pages: each with a session is there; none that the truth has not, where targets are told of.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import attrs

observing = sys.modules["trace_observer"]
following = sys.modules["trace_following"]
hearing = sys.modules["trace_hearing"]

EXCEPTIONS: dict[tuple[str, str], str] = {}
"""(trace, first words of a complaint) → why the notes and the machine differ all the same."""


@attrs.frozen
class Meaning:
    """What a word of the notes means for a connection that was told of the dialog.

    `ours`: this connection answered it, True or False, None where the word does not tell. `reasons`: what the machine may
    say where it was somebody else; empty where it is not told of the end, so that nothing ends it.
    """

    ours: bool | None
    reasons: frozenset[str]


ANY = frozenset(
    (
        "closed_elsewhere",
        "other_client",
        "navigation",
        "target_gone",
        "frame_gone",
        "unconfirmed",
        "superseded",
        "unseen",
        "page_inactive",
        "orphaned",
    )
)
ELSEWHERE = frozenset(("closed_elsewhere", "other_client"))
NAVIGATED = frozenset(("navigation", "closed_elsewhere", "frame_gone"))
"""Of a navigation that was not its own the machine sees that the dialog closed, or that its frame is another."""
TARGET = frozenset(("closed_elsewhere", "target_gone", "unconfirmed"))
SUPERSEDED = frozenset(("superseded", "closed_elsewhere", "frame_gone"))

CLOSED_BY: dict[str, Meaning] = {
    "agent": Meaning(None, ELSEWHERE),  # of the client that the notes tell of, which need not be this one
    "remote": Meaning(False, ELSEWHERE | TARGET | NAVIGATED),
    "remote (other client)": Meaning(False, ELSEWHERE),
    "navigation": Meaning(False, NAVIGATED),
    "superseded": Meaning(False, SUPERSEDED),
    "superseded (browser)": Meaning(False, SUPERSEDED),
    "superseded or navigation; no closed event of its own unless seen": Meaning(False, SUPERSEDED | NAVIGATED),
    "Target.closeTarget": Meaning(False, TARGET),
    "Page.close": Meaning(False, TARGET),
    "Page.crash": Meaning(False, TARGET),
    "disposeBrowserContext": Meaning(False, TARGET),
    "browser closed": Meaning(False, TARGET),
    "window.close": Meaning(None, TARGET),  # a page cannot close itself while its dialog is up
    "detachFromTarget": Meaning(False, frozenset()),  # it ends nothing (fact 23)
    "disconnect of the sole Page session": Meaning(False, frozenset()),  # whoever left is not told (fact 26)
}
"""The words of the notes, but for the names of connections: such a one answered."""
UNTOLD = Meaning(None, ANY)
LEDGER = {"agent": True, "remote": False, "superseded": False, None: False}


def words_of(notes: Path) -> set[str]:
    """Who or what closed a dialog, in both blocks; connections go by their names."""
    ledger = observing.ledger_of(notes.with_suffix(".jsonl"))
    told = [*objects(truth_of(notes).get("recent"))]
    told += [each for link in ledger.values() if isinstance(link, dict) for each in objects(link.get("dialogs"))]
    return {str(each["closed_by"]) for each in told if each.get("closed_by")} - ledger.keys()


def judge_joined(notes: Path, link: Any) -> list[str]:
    """Complaints about a machine that has followed a client over its links: its dialogs and pages are kept."""
    truth, heard = truth_of(notes), hearing.hear(link)
    dialogs = judge_dialogs(link.name, {link.name: link}, link, heard, truth)
    return [*judge_openings(link, heard), *dialogs, *judge_pages(link, heard, truth)]


def judge(name: str, notes: Path, links: dict[str, Any]) -> list[str]:
    """Every complaint about a trace, but the excepted ones."""
    truth = truth_of(notes)
    ledger = observing.ledger_of(notes.with_suffix(".jsonl"))
    found: list[str] = []
    for conn, link in links.items():
        heard = hearing.hear(link)
        part = [
            *judge_openings(link, heard),
            *judge_dialogs(conn, links, link, heard, truth),
            *judge_ledger(heard, ledger.get(conn, {})),
            *judge_sessions(conn, len(links), link, heard, truth, ledger.get(conn)),
            *judge_pages(link, heard, truth),
        ]
        found += [f"{conn}: {each}" for each in part]
    return [each for each in found if not any(name == key and each.startswith(part) for key, part in EXCEPTIONS)]


def truth_of(notes: Path) -> dict[str, Any]:
    """The first JSON block of the notes."""
    blocks = re.findall(r"^```json\n(.*?)^```", notes.read_text(), re.DOTALL | re.MULTILINE)
    truth = json.loads(blocks[0]) if blocks else {}
    return truth if isinstance(truth, dict) else {}


# ── dialogs ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def shown_for(link: Any, heard: Any) -> list[tuple[Any, Any]]:
    """(opening, what the machine shows of it), by number: the n-th opening that was delivered is d-n."""
    snapshot = link.runner.snapshot()
    views = {view.id: view for view in (*snapshot.pending_dialogs, *snapshot.recent_dialogs)}
    return [(opening, views.get(f"d-{number}")) for number, opening in enumerate(heard.openings, 1)]


def judge_openings(link: Any, heard: Any) -> Iterator[str]:
    """Each opening that was delivered is shown, once; what was told of its end is believed."""
    if link.state.last_dialog != len(heard.openings):
        yield f"{len(heard.openings)} openings were delivered, {link.state.last_dialog} dialogs were made of them"
        return
    if link.taken_all_the_same:
        yield f"the browser took answers that the machine held impossible: {link.taken_all_the_same}"
    if link.offered_in_vain:
        yield f"{link.offered_in_vain} could be answered as far as the machine knew, and no dialog was showing"
    for opening, view in shown_for(link, heard):
        if view is None:
            yield f"dialog {opening.message!r} was lost"
            continue
        if (view.type, view.message, view.target_id, view.frame_id) != (
            opening.type,
            opening.message[: link.state.limits.text_kept],
            opening.target,
            opening.frame,
        ):
            yield f"dialog {opening.message!r} is shown as {view.type} {view.message!r}"
        on_its_way = view.answering and opening.closed is None
        if opening.answered != (view.closed_by == "agent") and not on_its_way and not opening.orphaned:
            yield f"dialog {opening.message!r} was answered: {opening.answered}, and is shown as {outcome(view)}"
        if opening.closed is not None and not view.closed_by:
            yield f"dialog {opening.message!r} was closed, and is pending"
        if opening.accepted and not opening.answered and view.reason not in ("other_client", ""):
            yield f"dialog {opening.message!r} was accepted by somebody, and is shown as {outcome(view)}"
        if opening.closed is None and view.closed_by and not opening.answered:
            page = link.runner.snapshot().page(opening.target)
            if view.reason in ELSEWHERE or (view.reason == "target_gone" and page is not None):
                yield f"dialog {opening.message!r} was not closed, and is shown as {outcome(view)}"
        if view.answerable and heard.listened(opening.target) is None:
            yield f"dialog {opening.message!r} is offered, and no session can answer it"


def outcome(view: Any) -> str:
    return f"({view.closed_by}, {view.reason})" if view.closed_by else f"pending ({view.why or 'open'})"


def judge_dialogs(conn: str, links: dict[str, Any], link: Any, heard: Any, truth: dict[str, Any]) -> Iterator[str]:
    """What the truth says of the dialogs that were seen."""
    if link.state.last_dialog != len(heard.openings):
        return
    left = shown_for(link, heard)
    for entry in objects(truth.get("pending")):
        for _opening, view in take(left, entry, heard):
            if view is not None and view.closed_by:
                yield f"dialog {entry['message']!r} is pending in truth, and shown as {outcome(view)}"
    for entry in objects(truth.get("recent")):
        for opening, view in take(left, entry, heard):
            if view is not None:
                yield from judge_entry(meaning_of(entry, conn, links), entry, opening, view)
    seen = [each for each in shown_for(link, heard) if not each[0].answered]
    for entry in objects(truth.get("unanswerable")):
        for _opening, view in take(seen, entry, heard):
            if view is not None and view.id not in link.shown_stuck:
                yield f"dialog {entry['message']!r} was unanswerable, and was never shown so"


def take(left: list[tuple[Any, Any]], entry: dict[str, Any], heard: Any) -> list[tuple[Any, Any]]:
    """The oldest that an entry may speak of, taken out; none where the connection did not see it."""
    if "session" in entry and entry["session"] not in heard.all_sessions:
        return []
    for each in left:
        if (each[0].type, each[0].message) == (entry.get("type", each[0].type), entry.get("message")):
            left.remove(each)
            return [each]
    return []


def meaning_of(entry: dict[str, Any], conn: str, links: dict[str, Any]) -> Meaning:
    word = entry.get("closed_by") or ""
    if word in links:
        return Meaning(word == conn, ELSEWHERE)
    meaning = CLOSED_BY.get(word, UNTOLD)
    if len(links) > 1 and "session" not in entry:  # whose remote it is, the notes do not say
        return attrs.evolve(meaning, ours=None)
    return meaning


def judge_entry(meaning: Meaning, entry: dict[str, Any], opening: Any, view: Any) -> Iterator[str]:
    closed_by = entry.get("closed_by")
    if meaning.ours is not None and meaning.ours != (view.closed_by == "agent"):
        yield f"dialog {entry['message']!r} was closed by {closed_by!r}, and is shown as {outcome(view)}"
    elif view.closed_by == "agent":
        return
    elif not meaning.reasons and view.closed_by:
        yield f"dialog {entry['message']!r} ended untold, and is shown as {outcome(view)}"
    elif not meaning.reasons or (opening.closed is None and not opening.answered):
        if view.answerable and opening.orphaned:
            yield f"dialog {entry['message']!r} can be answered by nobody, and is offered"
    elif view.closed_by != "remote" or view.reason not in meaning.reasons:
        yield f"dialog {entry['message']!r} was closed by {closed_by!r}, and is shown as {outcome(view)}"


def judge_ledger(heard: Any, ledger: dict[str, Any]) -> Iterator[str]:
    """The ledger counts by session; who answered is said by the session that did."""
    told: dict[tuple[str, float], bool] = {}
    for each in ledger.get("dialogs", ()):
        key = (each["message"], round(each["opened_t"] or 0.0, 2))
        told[key] = told.get(key, False) or LEDGER.get(each["closed_by"], False)
    both = {message for message, _at in told} & {each.message for each in heard.openings}
    ours = sorted(message for (message, _at), agent in told.items() if agent and message in both)
    answered = sorted(each.message for each in heard.openings if each.answered and each.message in both)
    if answered != ours:
        yield f"by the ledger this connection answered {ours}, by its replies {answered}"


# ── sessions ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def judge_sessions(
    conn: str, connections: int, link: Any, heard: Any, truth: dict[str, Any], ledger: dict[str, Any] | None
) -> Iterator[str]:
    refused_flat = link.refused_flat()
    shown = {
        each.session_id: (each.type, each.target_id, each.parent)
        for each in link.runner.snapshot().sessions
        if each.session_id not in refused_flat
    }
    told = truth.get("sessions")
    if isinstance(told, dict) and told:
        if not all(map(is_session, told.values())):
            told = told.get(conn)  # the notes have them by connection, or a word for one that is gone
        elif connections > 1 and not heard.all_sessions & told.keys():
            told = None  # they are another client's
        if isinstance(told, dict):
            yield from differ("truth", standing(told), shown, refused_flat, "parentSession")
    if ledger is not None:
        yield from differ("ledger", ledger.get("sessions_live", {}), shown, refused_flat, "parent")


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


# ── pages and frames ─────────────────────────────────────────────────────────────────────────────────────────────────


@attrs.frozen
class TrueFrame:
    """A frame of the notes. `target`: whose own tree has it."""

    id: str
    url: str
    parent: str | None
    target: str


def true_targets(truth: dict[str, Any]) -> list[dict[str, Any]]:
    listed = truth.get("frame_tree") or truth.get("targets") or ()
    return [each for each in objects(listed) if "targetId" in each]


def true_frames(targets: list[dict[str, Any]]) -> dict[str, TrueFrame]:
    found: dict[str, TrueFrame] = {}
    for target in targets:
        tree = target.get("frames")
        if not isinstance(tree, dict):
            continue
        for node in hearing.trees_below([tree]):
            if not isinstance(node.get("id"), str):
                continue
            parent = node.get("parentId") or (target.get("parentFrameId") if node is tree else None)
            found[node["id"]] = TrueFrame(node["id"], node.get("url", ""), parent, target["targetId"])
    return found


def judge_pages(link: Any, heard: Any, truth: dict[str, Any]) -> Iterator[str]:
    targets = true_targets(truth)
    if not targets or heard.lost:
        return
    frames = true_frames(targets)
    known = {each["targetId"]: each for each in targets}
    readable = {key for key, each in known.items() if isinstance(each.get("frames"), dict)}
    snapshot = link.runner.snapshot()
    for target, each in known.items():
        if each["type"] == "page" and heard.listened(target) and snapshot.page(target) is None:
            yield f"page {target[:4]} is not shown"
    for page in snapshot.pages:
        if page.session_id is None:
            if heard.discovers and page.target_id not in known:
                yield f"page {page.target_id[:4]} is a ghost"
        elif page.target_id not in known:
            yield f"page {page.target_id[:4]} is not in the truth"
        elif page.target_id in readable:
            if page.target_id in frames:
                yield from judge_url(page.target_id, page.url, frames[page.target_id], heard)
            if link.state.epoch == 1 or not page.stale:  # a client that came back asked for no tree, and says so
                yield from judge_frames(page, heard, frames, known.keys() - readable)
            for dialog in page.pending_dialogs:
                if dialog.frame_id not in frames and dialog.frame_id not in known and page.session_id in heard.enabled:
                    yield f"dialog {dialog.message!r} is pending in a frame that is gone"


def judge_frames(page: Any, heard: Any, frames: dict[str, TrueFrame], unreadable: Iterable[str]) -> Iterator[str]:
    """`unreadable`: targets that are there, and of whose frames the truth knows nothing."""
    shown = {each.frame_id: each for each in page.frames()}
    for frame_id, view in shown.items():
        true = frames.get(frame_id)
        if true is None:
            of = heard.open.get(view.session_id or "")
            if (
                view.session_id in heard.enabled
                and of is not None
                and not {frame_id, of.target_id}.intersection(unreadable)
            ):
                yield f"frame {frame_id[:4]} ({view.url}) is a ghost"
            continue
        if view.parent_frame_id != true.parent:
            yield f"frame {frame_id[:4]} is below {view.parent_frame_id}, not {true.parent}"
        own_process = true.target == frame_id != page.target_id
        if view.is_oopif != own_process and (view.is_oopif or heard.listened(frame_id)):
            yield f"frame {frame_id[:4]} is out of process: {own_process}, and shown as {view.is_oopif}"
        yield from judge_url(frame_id, view.url, true, heard)
    named = frozenset[str]().union(*heard.named.values())
    for target in {page.target_id, *(each.target for each in frames.values())}:
        session = heard.listened(target)
        if session is None or line_of(target, frames)[-1] != page.target_id:
            continue
        own = {each.id for each in frames.values() if each.target == target}
        expected = own if session in heard.whole else frames.keys() & heard.named[session]
        expected = {each for each in expected if each in shown or named >= {*line_of(each, frames)[1:]}}
        if missing := [each[:4] for each in sorted(expected - shown.keys())]:
            yield f"frames {missing} of {target[:4]} are missing"


def judge_url(frame_id: str, url: str, true: TrueFrame, heard: Any) -> Iterator[str]:
    told = true.url[: following.ALL_KEPT.text_kept]
    if frame_id in heard.shown and url.partition("#")[0] != told.partition("#")[0]:
        yield f"frame {frame_id[:4]} shows {url!r}, not {true.url!r}"


def line_of(frame_id: str, frames: dict[str, TrueFrame]) -> list[str]:
    """A frame and those above it, up to the page's."""
    line = [frame_id]
    while (frame := frames.get(line[-1])) is not None and frame.parent is not None:
        line.append(frame.parent)
    return line


def objects(listed: Any) -> Iterable[dict[str, Any]]:
    return [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
