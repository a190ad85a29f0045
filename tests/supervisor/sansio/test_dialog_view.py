"""The view of a dialog: whether it can be answered, its remedies, its age, and how it ended."""

from __future__ import annotations

from typing import Any

import pytest

from cdp_core.sansio.structs import replace
from cdp_supervisor.sansio.dialog_view import view_dialog
from support.state_parts import dialog, moment


def test_a_pending_dialog_shows_whether_it_can_be_answered() -> None:
    assert view_dialog(dialog()).to_dict() == {
        "id": "d-1",
        "type": "confirm",
        "message": "Sure?",
        "default_prompt": "",
        "opened_at": 1_002.0,
        "target_id": "T",
        "frame_id": "T",
        "answerable": True,
    }


@pytest.mark.parametrize(
    ("phase", "answerable", "answering"),
    [
        ("open", True, False),
        ("answering", False, True),
        ("answered", False, True),
        ("closed", False, False),
        ("unanswerable", False, False),
    ],
)
def test_only_an_open_dialog_is_answerable(phase: Any, answerable: bool, answering: bool) -> None:
    seen = view_dialog(dialog(phase=phase))
    assert (seen.answerable, seen.answering) == (answerable, answering)
    shown = seen.to_dict()
    assert shown["answerable"] is answerable
    assert shown.get("answering", False) is answering


def test_an_unanswerable_dialog_shows_the_reason_and_the_remedies() -> None:
    shown = view_dialog(dialog(phase="unanswerable", why="page_inactive", overdue=True)).to_dict()
    assert (shown["why"], shown["cures"], shown["overdue"]) == ("page_inactive", ["navigate", "close"], True)


def test_ages_are_computed_only_with_a_current_time() -> None:
    seen = view_dialog(dialog(deadline=12.0))
    assert seen.to_dict(now=5.0) == {**seen.to_dict(), "age": 3.0, "time_left": 7.0}
    late = seen.to_dict(now=99.0)
    assert (late["age"], late["time_left"]) == (97.0, 0.0)
    assert seen.to_dict(now=1.0)["age"] == 0.0  # a snapshot may be younger than the reader's clock
    assert "time_left" not in view_dialog(dialog()).to_dict(now=5.0)  # it has no deadline


def test_a_past_dialog_shows_the_origin_of_its_end_and_no_remedy() -> None:
    past = dialog(phase="open", closed_by="remote", reason="navigation", closed=moment(4.0), why="superseded")
    shown = view_dialog(past).to_dict(now=9.0)
    assert (shown["closed_by"], shown["reason"], shown["closed_at"]) == ("remote", "navigation", 1_004.0)
    assert not {"answerable", "answering", "why", "cures", "overdue", "age", "time_left"} & set(shown)
    assert not view_dialog(past).answerable
    assert not view_dialog(replace(past, phase="answered")).answering


def test_only_a_dialog_that_is_not_native_says_what_announced_it() -> None:
    assert "via" not in view_dialog(dialog()).to_dict()
    assert view_dialog(dialog(via="request")).to_dict()["via"] == "request"
