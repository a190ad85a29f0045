"""The health of a page: the first state that applies is shown, and its reason names the cause."""

from __future__ import annotations

from typing import Any

import pytest
from immutables import Map

from cdp_core.sansio.load_state import LoadState
from cdp_core.sansio.messages import SessionId, TargetId
from cdp_core.sansio.structs import replace
from cdp_supervisor.sansio.health import view_health
from cdp_supervisor.sansio.state import Page
from cdp_supervisor.sansio.view import snapshot
from support import folded_machine, state_parts

T, U, S, UP = state_parts.T, state_parts.U, state_parts.S, state_parts.UP
moment, dialog, frame, page = state_parts.moment, state_parts.dialog, state_parts.frame, state_parts.page
attachment, state_of = state_parts.attachment, state_parts.state_of


WRONG: dict[str, dict[str, Any]] = {
    "crashed": {"crashed": moment(7.0)},
    "detached": {"session_id": None},
    "blocked_by_dialog": {"dialogs": (dialog(3, opened=moment(5.0)),)},
    "blocked": {"blocked": moment(6.0)},
    "frame_blocked": {"blocked_sessions": Map({SessionId("child"): moment(8.0)})},
    "busy": {"busy_sessions": Map({SessionId("S"): moment(9.0)})},
}


def test_a_page_without_a_known_problem_is_ok() -> None:
    assert view_health(state_of(page()), page()).to_dict() == {
        "state": "ok",
        "why": "nothing is known to stop it",
        "since": None,
    }


@pytest.mark.parametrize("phase", ["connecting", "down", "gave_up", "stopped"])
def test_without_a_link_every_page_is_link_down(phase: str) -> None:
    made = page(**WRONG["crashed"])
    health = view_health(state_of(made, link=replace(UP, phase=phase)), made)
    assert (health.state, health.since) == ("link_down", 1_001.0)


@pytest.mark.parametrize(
    ("state", "since"),
    [("crashed", 1_007.0), ("detached", None), ("blocked", 1_006.0), ("frame_blocked", 1_008.0), ("busy", 1_009.0)],
)
def test_health_has_a_state_and_the_moment_of_its_beginning(state: str, since: float | None) -> None:
    made = page(**WRONG[state])
    health = view_health(state_of(made), made)
    assert (health.state, health.since) == (state, since)


def test_the_worse_state_is_shown() -> None:
    """A crash matters more than a dialog; an open dialog explains why the page does not answer."""
    order = list(WRONG)
    for place, expected in enumerate(order):
        fields: dict[str, Any] = {}
        for name in order[place:]:
            fields |= WRONG[name]
        made = page(**fields)
        assert view_health(state_of(made), made).state == expected


def test_the_health_of_a_blocked_page_names_the_dialog() -> None:
    made = page(dialogs=(dialog(3, opened=moment(5.0)), dialog(4)))
    health = view_health(state_of(made), made)
    assert (health.why, health.since) == ("dialog d-3 (confirm) is open on it", 1_005.0)
    unanswerable = page(dialogs=(dialog(3, phase="unanswerable", why="orphaned"),))
    assert view_health(state_of(unanswerable), unanswerable).why.endswith(
        "is open on it, and cannot be answered any more (orphaned)"
    )


def test_of_several_blocked_frames_the_first_is_named() -> None:
    child, other = SessionId("child"), SessionId("other")
    made = page(blocked_sessions=Map({child: moment(8.0), other: moment(6.0)}))
    sessions = (attachment("S", "T"), attachment("child", "C"), attachment("other", "O"))
    health = view_health(state_of(made, sessions=sessions), made)
    assert (health.since, health.why.partition(" does not")[0]) == (1_006.0, "a frame of it (O)")
    together = page(blocked_sessions=Map({SessionId(f"s{n}"): moment(6.0) for n in range(20)}))
    at_once = tuple(attachment(f"s{n}", f"F{n}") for n in range(20))
    assert "(F0)" in view_health(state_of(together, sessions=at_once), together).why  # always the same one
    unknown = view_health(state_of(made), made)  # its session is gone already
    assert unknown.why.startswith("a frame of it does not answer")


BUSY = Map({SessionId("S"): moment(9.0), SessionId("child"): moment(8.0)})
BELOW = BUSY.delete(SessionId("S"))
V = TargetId("V")


def why_busy(made: Page, *others: Page) -> str:
    health = view_health(state_of(*others, made), made)
    assert (health.state, health.since) == ("busy", 1_009.0)
    return health.why


def test_the_health_of_a_busy_page_names_an_endless_script() -> None:
    assert why_busy(page(busy_sessions=BUSY)) == "it does not answer: a script that does not end keeps it busy"


def test_a_busy_out_of_process_frame_is_named() -> None:
    made = page(busy_sessions=BELOW)
    health = view_health(state_of(made, sessions=(attachment("child", "F"),)), made)
    assert (health.state, health.since) == ("frame_busy", 1_008.0)
    assert health.why == "a frame of it (F) does not answer: a script that does not end keeps it busy"


@pytest.mark.parametrize(
    ("opener", "other_opener", "named"),
    [(None, T, True), (U, None, True), (V, V, True), (None, None, False), (V, None, False), (None, V, False)],
    ids=["its popup", "its opener", "its sibling", "unrelated", "an orphan", "another's popup"],
)
def test_an_open_dialog_of_a_related_page_may_block_a_busy_page(opener: Any, other_opener: Any, named: bool) -> None:
    """Pages that opened each other may share a process (fact 16)."""
    other = page(id=U, number=2, opener_id=other_opener, dialogs=(dialog(7, target_id=U),))
    why = why_busy(page(opener_id=opener, busy_sessions=BUSY), other)
    assert ("dialog d-7 (confirm) is open on page U" in why) is named
    assert ("may share a process" in why) is named


def test_an_open_dialog_of_a_popup_may_block_a_page_that_does_not_answer_its_setup() -> None:
    """After a reconnect the opener of a popup with an open dialog answers nothing (fact 16)."""
    popup = page(id=U, number=2, opener_id=T, dialogs=(dialog(7, target_id=U, phase="unanswerable"),))
    made = page(blocked=moment(6.0))
    health = view_health(state_of(made, popup), made)
    assert health.state == "blocked"
    assert "dialog d-7 (confirm) is open on page U" in health.why
    assert "a dialog whose opening was not seen" in view_health(state_of(made), made).why


def test_the_first_open_dialog_of_the_related_pages_is_named() -> None:
    settled = page(id=U, number=2, opener_id=T, dialogs=(dialog(5, phase="closed"),))
    later = page(id=V, number=4, opener_id=T, dialogs=(dialog(8, phase="unanswerable"), dialog(9)))
    first = page(id=TargetId("W"), number=3, opener_id=T, dialogs=(dialog(7),))
    assert "dialog d-7" in why_busy(page(busy_sessions=BUSY), settled, later, first)
    assert "d-5" not in why_busy(page(busy_sessions=BUSY), settled)


def test_a_closed_dialog_blocks_nothing() -> None:
    """Only the origin of its end is still unknown (fact 1)."""
    made = page(dialogs=(dialog(phase="closed"),))
    assert view_health(state_of(made), made).state == "ok"
    assert snapshot(state_of(made)).pending_dialogs == ()


def test_a_page_navigates_while_a_navigation_of_its_main_frame_is_in_flight() -> None:
    going = LoadState(loader="a", navigating_to="b", since=7.0)
    main = page(replace(frame("T", None), load=going))
    early = replace(page(), frames=Map(), early_load=going)
    for made in (main, early):
        health = view_health(state_of(made), made)
        assert (health.state, health.since) == ("navigating", 7.0)
    child = page(frame("T", None), replace(frame("F", "T"), load=going))
    assert view_health(state_of(child), child).state == "ok"


def test_a_page_that_would_end_the_browser_is_fragile() -> None:
    """Fact 63."""
    fold = folded_machine.with_tree()
    fold.attach("F", "iframe", of="s-P", parentFrameId="P")
    fold.reply("Page.getFrameTree", {"frameTree": folded_machine.tree_of("F")}, on="s-F")
    fold.opening("F")
    fold.event("Page.frameDetached", on="s-P", frameId="F", reason="remove")
    health = fold.shown().pages[0].health
    assert health.state == "fragile"
    assert "leave it alone" in health.why


def test_a_navigation_that_a_dialog_may_keep_says_so() -> None:
    """Fact 64."""
    health = folded_machine.leaving_page(navigating=True).shown().pages[0].health
    assert health.state == "navigating"
    assert "only closing the page helps" in health.why
