"""The table of dialogs, cell by cell: its content, and that the state machine follows it.

`CELLS` lists, rule by rule, what a user may rely on. It is compared with the table, and with the result for a dialog
that is brought into a phase and then gets the trigger. A cell `-` is impossible, and not in the table.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, Final

import pytest

from cdp_supervisor.sansio.dialog_table import (
    PHASES,
    REMEDIES,
    REMEDIES_WITHOUT_WINDOW,
    TABLE,
    TRIGGERS,
    Move,
    remedies,
)
from cdp_supervisor.sansio.requests import RespondToDialog
from support import folded_machine

CELLS: Final = """
trigger          | open              | answering          | answered       | closed             | unanswerable
answer           | answering         | refused            | refused        | refused            | refused
closed           | remote elsewhere  | closed             | by answered    | -                  | remote elsewhere
reply_ok         | -                 | answered           | -              | by answered        | stays
refused_none     | -                 | unanswerable unseen       | -              | remote elsewhere   | stays
refused_inactive | -                 | unanswerable page_inactive| -              | remote elsewhere   | stays
reply_gone       | -                 | stays              | -              | remote unconfirmed | stays
superseded       | unanswerable superseded  | unanswerable superseded   | by answered    | remote elsewhere   | stays
session_lost     | unanswerable orphaned    | unanswerable orphaned     | by answered    | remote unconfirmed | unanswerable orphaned
page_replies     | -                 | -                  | -              | -                  | remote why
target_gone      | remote target_gone| remote unconfirmed | by answered    | remote unconfirmed | remote target_gone
due              | answering         | unanswerable unseen       | by answered    | remote unconfirmed | overdue
"""
ROWS: Final = [[cell.strip() for cell in line.split("|")] for line in CELLS.strip().splitlines()]
EXPECTED: Final = {
    (phase, row[0]): cell for row in ROWS[1:] for phase, cell in zip(ROWS[0][1:], row[1:], strict=True) if cell != "-"
}


def move_in_words(move: Move) -> str:
    """Return a move in the words of the cells."""
    if move.settle:
        return f"{move.settle} {move.reason}"
    if move.unanswerable:
        return f"unanswerable {move.unanswerable}"
    return move.go or ("refused" if move.refuse else "overdue" if move.overdue else "stays")


def test_the_cells_cover_all_phases_and_triggers() -> None:
    assert tuple(ROWS[0][1:]) == PHASES
    assert tuple(row[0] for row in ROWS[1:]) == TRIGGERS


@pytest.mark.parametrize("pair", list(itertools.product(PHASES, TRIGGERS)), ids="/".join)
def test_the_table_agrees_with_the_cell(pair: tuple[Any, Any]) -> None:
    move = TABLE.get(pair)
    assert (None if move is None else move_in_words(move)) == EXPECTED.get(pair)


def test_only_a_dialog_that_may_still_be_open_is_probed() -> None:
    """No reply and "no dialog is showing" are equivalent: a probe checks if the page runs scripts again."""
    assert {pair for pair, move in TABLE.items() if move.probe} == {("answering", "refused_none"), ("answering", "due")}


def test_the_refusal_of_an_answer_gives_the_reason() -> None:
    assert "under way" in TABLE["answering", "answer"].refuse
    assert "any more" in TABLE["unanswerable", "answer"].refuse


# ── the behaviour of the state machine ────────────────────────────────────────────────────────────────────────────────

HANDLE: Final = "Page.handleJavaScriptDialog"


def fold_in_phase(phase: str, *, native: bool) -> Any:
    """Return a fold with dialog `d-1` in a phase, and an out-of-process frame F on its page."""
    fold = folded_machine.on_a_page()
    fold.attach("F", "iframe", of="s-P", parentFrameId="P")
    fold.opening(native=native)
    if phase != "open":
        fold.respond()
    if phase == "answered":
        fold.reply(HANDLE)
    elif phase == "closed":
        fold.closing(result=True)
    elif phase == "unanswerable":
        fold.refuse(HANDLE, folded_machine.NONE_SHOWING)
    assert fold.dialog("d-1").phase == phase
    return fold


def open_another(fold: Any) -> None:
    """Open another dialog: without dialog windows the newer one is left (fact 26), one per frame."""
    fold.opening("P" if fold.dialog("d-1").phase == "answered" else "F", native=False)


APPLY: Final[dict[str, Callable[[Any], Any]]] = {
    "answer": lambda fold: fold.ask(RespondToDialog(action="dismiss", dialog_id="d-1")),
    "closed": lambda fold: fold.closing(result=fold.dialog("d-1").phase == "answering"),  # equal to our answer
    "reply_ok": lambda fold: fold.reply(HANDLE),
    "refused_none": lambda fold: fold.refuse(HANDLE, folded_machine.NONE_SHOWING),
    "refused_inactive": lambda fold: fold.refuse(HANDLE, folded_machine.NOT_ACTIVE),
    "reply_gone": lambda fold: fold.lose(HANDLE),
    "superseded": open_another,
    "session_lost": lambda fold: fold.detach("s-P"),
    "page_replies": lambda fold: fold.reply("Runtime.evaluate"),
    "target_gone": lambda fold: fold.event("Target.targetDestroyed", targetId="P"),
    "due": lambda fold: fold.passes(300.0),
}


def result_in_words(fold: Any, before: Any, cell: str) -> str:
    """Return what happened to the dialog, in the words of the cells."""
    dialog = fold.dialog("d-1")
    if dialog.closed_by:
        origin = "by" if dialog.closed_by == "agent" else dialog.closed_by
        reasons = {"closed_elsewhere": "elsewhere", "other_client": "elsewhere"}
        reason = "why" if dialog.reason == before.why else reasons.get(dialog.reason, dialog.reason)
        return f"{origin} {reason}"
    if cell == "refused":
        # "UnknownDialog" because a closed dialog cannot be addressed any more
        refusals = ("DialogAnswerRefused", "DialogUnanswerable", "UnknownDialog")
        return "refused" if fold.error(fold.asked) in refusals and dialog == before else "answering"
    if dialog.overdue:
        return "overdue"
    if (dialog.phase, dialog.why) == (before.phase, before.why):
        return "stays"
    return f"unanswerable {dialog.why}" if dialog.phase == "unanswerable" else dialog.phase


@pytest.mark.parametrize("pair", list(EXPECTED), ids="/".join)
def test_the_state_machine_agrees_with_the_cell(pair: tuple[str, str]) -> None:
    phase, trigger = pair
    fold = fold_in_phase(phase, native=trigger != "superseded")
    before = fold.dialog("d-1")
    if trigger in ("reply_ok", "refused_none", "refused_inactive", "reply_gone") and phase == "unanswerable":
        fold = fold_in_phase("answering", native=True)
        fold.passes(5.0)  # it becomes unanswerable at its deadline: the reply is still missing
        before = fold.dialog("d-1")
        assert before.why == "unseen"
    APPLY[trigger](fold)
    assert result_in_words(fold, before, EXPECTED[pair]) == EXPECTED[pair]
    assert not fold.count("impossible_dialog_moves")


# ── remedies ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("why", REMEDIES)
def test_without_dialog_windows_a_same_document_navigation_frees_nothing(why: str) -> None:
    """Facts 5 and 26: the profiles differ, and closing the page is always a remedy."""
    windowed, windowless = remedies(why, native=True), remedies(why, native=False)
    assert (windowed, windowless) == (REMEDIES[why], REMEDIES_WITHOUT_WINDOW[why])
    assert "same_document" not in windowless
    assert windowed[-1] == windowless[-1] == "close"


@pytest.mark.parametrize(
    ("why", "expected"),
    [
        *((why, ("same_document", "navigate", "reload", "close")) for why in ("orphaned", "superseded", "unseen")),
        ("page_inactive", ("navigate", "close")),
    ],
)
def test_the_gentlest_remedy_comes_first(why: str, expected: tuple[str, ...]) -> None:
    """A same-document navigation keeps the document (fact 5); a page in pagehide needs another (fact 22)."""
    assert remedies(why, native=True) == expected


@pytest.mark.parametrize("why", ["", "of a newer version"])
def test_a_dialog_that_can_be_answered_needs_no_remedy(why: str) -> None:
    assert remedies(why, native=True) == ()


@pytest.mark.parametrize("why", ["orphaned", "unseen"])
def test_only_the_end_of_its_page_frees_a_beforeunload_dialog_that_no_session_sees(why: str) -> None:
    """Fact 64."""
    assert remedies(why, native=True, type="beforeunload") == ("close",)
    assert "navigate" in remedies("superseded", native=True, type="beforeunload")
