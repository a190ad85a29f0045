"""Recorded traces of a real Chromium: at the end the snapshot agrees with the truth in the notes.

`verdict.py` lists the demands, `reference.py` what a connection could know.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from cdp_core.tracing.file import read_trace
from support.traces import dialog_verdict, follower, frame_verdict, note_words, observer, reference, verdict

TRACES = Path(__file__).parents[2] / "traces"


def test_the_snapshot_at_the_end_agrees_with_the_notes(trace: Path) -> None:
    links = follower.follow(read_trace(trace))
    assert verdict.judge(trace.stem, trace.with_suffix(".md"), links) == []


def test_every_exception_is_needed() -> None:
    known = {path.stem: path for path in TRACES.glob("*.jsonl")}
    for name, part in verdict.EXCEPTIONS:
        links = follower.follow(read_trace(known[name]))
        found = verdict.judge("", known[name].with_suffix(".md"), links)
        assert any(each.startswith(part) for each in found), (name, part)


def test_the_traces_contain_enough_to_judge() -> None:
    """The verdict compared at least these numbers of dialogs, frames and sessions."""
    counted = {
        "openings": 0,
        "answered": 0,
        "closed by others": 0,
        "frames": 0,
        "urls": 0,
        "sessions": 0,
        "complete": 0,
    }
    for path in sorted(TRACES.glob("*.jsonl")):
        truth = frame_verdict.true_frames(frame_verdict.true_targets(verdict.truth_of(path.with_suffix(".md"))))
        for link in follower.follow(read_trace(path)).values():
            received = reference.received_by(link)
            snapshot = link.runner.snapshot()
            shown = {each.frame_id for page in snapshot.pages for each in page.frames()}
            counted["openings"] += len(received.openings)
            counted["answered"] += sum(each.answered for each in received.openings)
            counted["closed by others"] += sum(each.closed_by == "remote" for each in snapshot.recent_dialogs)
            counted["sessions"] += len(received.open)
            counted["complete"] += len(received.complete)
            if not received.lost:
                counted["frames"] += len(truth.keys() & shown)
                counted["urls"] += len(truth.keys() & shown & received.shown)
    least = {
        "openings": 50,
        "answered": 25,
        "closed by others": 15,
        "frames": 70,
        "urls": 70,
        "sessions": 80,
        "complete": 30,
    }
    assert {key: each for key, each in counted.items() if each < least[key]} == {}


# ── words ────────────────────────────────────────────────────────────────────────────────────────────────────────────

OURS, OTHER = True, False
SPELLINGS = {
    # words of the present notes
    "agent": (OURS, ""),
    "keeper": (OTHER, "another"),
    "A": (OURS, ""),
    "remote": (OTHER, ""),
    "remote (other client)": (OTHER, "another"),
    "navigation": (OTHER, "navigation"),
    "superseded": (OTHER, "superseded"),
    "superseded (browser)": (OTHER, "superseded"),
    "superseded or navigation; no closed event of its own unless seen": (OTHER, "navigation superseded"),
    "Target.closeTarget": (OTHER, "end of target"),
    "Page.close": (OTHER, "end of target"),
    "window.close": (None, "end of target"),
    "Page.crash": (OTHER, "crash"),
    "disposeBrowserContext": (OTHER, "end of target"),
    "browser closed": (OTHER, "end of target"),
    "detachFromTarget": (OTHER, "end of session"),
    "disconnect of the sole Page session": (OTHER, "end of link"),
    # words of the state machine
    "auto_policy": (OURS, ""),
    "watchdog": (OURS, ""),
    "answered": (OURS, ""),
    "other_client": (OTHER, "another"),
    "target_gone": (OTHER, "end of target"),
    "link_lost": (OTHER, "end of link"),
    "refused": (OTHER, ""),
    "unconfirmed": (OTHER, ""),
    "orphaned": (OTHER, ""),
    "unseen": (OTHER, ""),
    "page_inactive": (OTHER, ""),
    # other spellings
    "client keeper": (OTHER, "another"),
    "closed by agent": (OURS, ""),
    "other client (keeper)": (OTHER, "another"),
    "Page.navigate": (OTHER, "navigation"),
    "same-document navigation": (OTHER, "navigation"),
    "page_close": (OTHER, "end of target"),
    "Target crashed": (OTHER, "crash"),
    "Browser.close": (OTHER, "end of target"),
    "auto-dismissed": (OTHER, ""),
}


def test_every_word_of_the_notes_has_a_meaning() -> None:
    blocks = [(verdict.truth_of(each), observer.ledger_of(each)) for each in sorted(TRACES.glob("*.md"))]
    entries = [each for truth, _ledger in blocks for each in truth.get("recent") or ()]
    entries += [each for _truth, ledger in blocks for link in ledger.values() for each in link.get("dialogs", ())]
    words = {each["closed_by"] for each in entries if isinstance(each, dict) and each.get("closed_by")}
    assert words - SPELLINGS.keys() == set() or all(
        dialog_verdict.meaning_of(word, "", ()) is not None for word in words - SPELLINGS.keys()
    )


@pytest.mark.parametrize("word", SPELLINGS)
def test_a_word_has_one_meaning(word: str) -> None:
    meaning = note_words.meaning_of(word, "A", ["A", "keeper"])
    assert (meaning.ours, " ".join(sorted(meaning.causes))) == SPELLINGS[word]


@pytest.mark.parametrize("word", ["no word of these", "agent or no word of these", "tide"])
def test_an_unknown_word_has_no_meaning(word: str) -> None:
    assert note_words.meaning_of(word, "A", ["A"]) is None


def test_the_name_of_a_connection_means_that_it_answered() -> None:
    assert [note_words.meaning_of("keeper", conn, ["A", "keeper"]).ours for conn in ("A", "keeper")] == [False, True]
