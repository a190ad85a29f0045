"""Real Chromium's recorded traces, through the machine: at the end it shows what the notes say is true.

`judging.py` says what is demanded, `hearing.py` what a connection could know. A mutation of the machine in
`test_mutations.py` proves of each demand that it can fail.
"""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from cdp_core.transports.tracefile import read_trace

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


def test_the_traces_judge_enough(following: ModuleType, judging: ModuleType) -> None:
    """What could be known is not nothing: dialogs, frames and sessions were judged in numbers."""
    counted = {"openings": 0, "answered": 0, "closed by others": 0, "frames": 0, "urls": 0, "sessions": 0, "whole": 0}
    for path in sorted(TRACES.glob("*.jsonl")):
        truth = judging.true_frames(judging.true_targets(judging.truth_of(path.with_suffix(".md"))))
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


def test_every_word_of_the_table_is_one_of_the_notes(judging: ModuleType) -> None:
    assert set[str]().union(*map(judging.words_of, TRACES.glob("*.md"))) >= judging.CLOSED_BY.keys()


@pytest.mark.parametrize("word", ["", "no word of these"])
def test_an_unknown_word_leaves_it_to_what_was_told(word: str, judging: ModuleType) -> None:
    assert judging.meaning_of({"closed_by": word}, "A", {"A": None}).ours is None


def test_a_connection_that_is_named_has_answered(judging: ModuleType) -> None:
    ours = [
        judging.meaning_of({"closed_by": "keeper"}, conn, {"A": None, "keeper": None}).ours for conn in ("A", "keeper")
    ]
    assert ours == [False, True]
