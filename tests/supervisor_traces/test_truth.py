"""Real Chromium's recorded traces, through the machine: at the end it shows what the notes say is true.

`judging.py` says what is demanded, `hearing.py` what a connection could know. A mutation of the machine in
`test_mutations.py` proves of each demand that it can fail.
"""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from cdp_core.tracing.file import read_trace

TRACES = Path(__file__).parents[1] / "traces"


def test_the_end_of_a_trace_is_as_its_notes_say(trace: Path, following: ModuleType, judging: ModuleType) -> None:
    links = following.follow(read_trace(trace))
    assert judging.judge(trace.stem, trace.with_suffix(".md"), links) == []


def test_every_exception_is_needed(following: ModuleType, judging: ModuleType) -> None:
    known = {path.stem: path for path in TRACES.glob("*.jsonl")}
    for name, part in judging.EXCEPTIONS:
        links = following.follow(read_trace(known[name]))
        found = judging.judge("", known[name].with_suffix(".md"), links)
        assert any(each.startswith(part) for each in found), (name, part)


def test_the_traces_judge_enough(following: ModuleType, judging: ModuleType, judging_frames: ModuleType) -> None:
    """What could be known is not nothing: dialogs, frames and sessions were judged in numbers."""
    counted = {"openings": 0, "answered": 0, "closed by others": 0, "frames": 0, "urls": 0, "sessions": 0, "whole": 0}
    for path in sorted(TRACES.glob("*.jsonl")):
        truth = judging_frames.true_frames(judging_frames.true_targets(judging.truth_of(path.with_suffix(".md"))))
        for link in following.follow(read_trace(path)).values():
            heard = judging.hearing.hear(link)
            snapshot = link.runner.snapshot()
            shown = {each.frame_id for page in snapshot.pages for each in page.frames()}
            counted["openings"] += len(heard.openings)
            counted["answered"] += sum(each.answered for each in heard.openings)
            counted["closed by others"] += sum(each.closed_by == "remote" for each in snapshot.recent_dialogs)
            counted["sessions"] += len(heard.open)
            counted["whole"] += len(heard.whole)
            if not heard.lost:
                counted["frames"] += len(truth.keys() & shown)
                counted["urls"] += len(truth.keys() & shown & heard.shown)
    least = {
        "openings": 50,
        "answered": 25,
        "closed by others": 15,
        "frames": 70,
        "urls": 70,
        "sessions": 80,
        "whole": 30,
    }
    assert {key: each for key, each in counted.items() if each < least[key]} == {}


# ── words ────────────────────────────────────────────────────────────────────────────────────────────────────────────

OURS, OTHER = True, False
SPELLINGS = {
    # of the notes that are here
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
    # the machine's own words
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
    # as others may spell them
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


def test_the_words_of_the_notes_are_all_tried(judging: ModuleType) -> None:
    blocks = [(judging.truth_of(each), judging.observing.ledger_of(each)) for each in sorted(TRACES.glob("*.md"))]
    told = [each for truth, _ledger in blocks for each in truth.get("recent") or ()]
    told += [each for _truth, ledger in blocks for link in ledger.values() for each in link.get("dialogs", ())]
    words = {each["closed_by"] for each in told if isinstance(each, dict) and each.get("closed_by")}
    assert words - SPELLINGS.keys() == set() or all(
        judging.dialogs.meaning_of(word, "", ()) is not None for word in words - SPELLINGS.keys()
    )


@pytest.mark.parametrize("word", SPELLINGS)
def test_a_word_has_one_meaning(word: str, words: ModuleType) -> None:
    meaning = words.meaning_of(word, "A", ["A", "keeper"])
    assert (meaning.ours, " ".join(sorted(meaning.causes))) == SPELLINGS[word]


@pytest.mark.parametrize("word", ["no word of these", "agent or no word of these", "tide"])
def test_another_word_has_none(word: str, words: ModuleType) -> None:
    assert words.meaning_of(word, "A", ["A"]) is None


def test_a_connection_that_is_named_has_answered(words: ModuleType) -> None:
    assert [words.meaning_of("keeper", conn, ["A", "keeper"]).ours for conn in ("A", "keeper")] == [False, True]
