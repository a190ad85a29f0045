"""Pages that do not answer their setup: when they are suspected, and of what."""

from __future__ import annotations

from typing import Any, Final

import pytest

from cdp_supervisor.sansio.effects import Enable
from support import folded_machine

TREE = "Page.getFrameTree"
PATIENCE: Final = 3.0


def test_a_page_that_does_not_answer_its_setup_is_blocked_until_it_does() -> None:
    """Fact 4: an unseen dialog may block it, and no event reports that dialog."""
    fold = folded_machine.on_a_page()
    fold.passes(PATIENCE)
    assert fold.health() == "blocked"
    assert "a page does not answer its setup" in fold.notes()
    fold.reply(TREE, {"frameTree": folded_machine.tree_of("P")})
    assert fold.health() == "ok"


def test_a_page_that_answers_in_time_is_not_blocked() -> None:
    fold = folded_machine.on_a_page()
    fold.reply(TREE, {"frameTree": folded_machine.tree_of("P")})
    assert fold.health() == "ok"
    fold.passes(PATIENCE)
    assert fold.health() == "ok"


def test_a_reply_of_a_frame_s_process_does_not_unblock_the_page() -> None:
    fold = folded_machine.on_a_page()
    fold.attach("F", "iframe", of="s-P", parentFrameId="P")
    fold.passes(PATIENCE)
    fold.reply(TREE, {"frameTree": folded_machine.tree_of("F")}, on="s-F")
    assert fold.health() == "blocked"


def test_a_page_with_a_dialog_or_a_crash_is_not_marked_as_blocked() -> None:
    with_dialog = folded_machine.on_a_page()
    with_dialog.opening()
    with_dialog.passes(PATIENCE)
    assert with_dialog.page().blocked is None
    crashed = folded_machine.on_a_page()
    crashed.event("Inspector.targetCrashed", on="s-P")
    crashed.passes(PATIENCE)
    assert crashed.health() == "crashed"
    assert crashed.page().blocked is None


def test_a_frame_s_process_that_does_not_answer_blocks_only_the_frame_until_it_does() -> None:
    """It proves nothing about the page's own process."""
    fold = folded_machine.with_tree("F")
    fold.attach("F", "iframe", of="s-P")
    fold.passes(PATIENCE)
    assert fold.health() == "frame_blocked"
    assert "a frame does not answer its setup" in fold.notes()
    fold.reply(TREE, {"frameTree": folded_machine.tree_of("F")}, on="s-F")
    assert fold.health() == "ok"


@pytest.mark.parametrize("end", ["session", "link"])
def test_a_frame_is_no_longer_blocked_after_its_session_ended(end: str) -> None:
    fold = folded_machine.with_tree("F")
    fold.attach("F", "iframe", of="s-P")
    fold.passes(PATIENCE)
    if end == "session":
        fold.detach("s-F")
        assert fold.health() == "ok"
    else:
        fold.down()
        fold.passes(60.0).up()
        fold.attach("P", session="s-P2")
        assert fold.health() == "ok"


def test_the_setup_of_an_ended_session_has_no_deadline() -> None:
    fold = folded_machine.on_a_page()
    fold.detach("s-P")
    assert "the setup of a session is unanswered" not in fold.deadline_reasons()


BUSY = {"P": "busy", "F": "frame_busy"}


def busy_renderer(target: str = "P") -> Any:
    """Return a fold with a renderer that did not answer while a call waited for it."""
    fold = folded_machine.with_tree("F")
    fold.attach("F", "iframe", of="s-P")
    fold.reply(TREE, {"frameTree": folded_machine.tree_of("F")}, on="s-F")
    folded_machine.call(fold, session_id=f"s-{target}", timeout=2.0)
    fold.passes(1.0).passes(1.0)
    assert fold.health() == BUSY[target]
    return fold


@pytest.mark.parametrize("target", ["P", "F"])
def test_a_page_is_busy_until_its_busy_renderer_answers(target: str) -> None:
    fold, other = busy_renderer(target), {"P": "F", "F": "P"}[target]
    folded_machine.call(fold, session_id=f"s-{other}")
    fold.reply("Runtime.evaluate", on=f"s-{other}")
    assert fold.health() == BUSY[target]
    fold.reply("Runtime.evaluate", on=f"s-{target}")
    assert fold.health() == "ok"


@pytest.mark.parametrize("target", ["P", "F"])
@pytest.mark.parametrize("end", ["session", "link"])
def test_a_renderer_is_no_longer_busy_after_its_session_ended(target: str, end: str) -> None:
    fold = busy_renderer(target)
    if end == "link":
        fold.down()
    else:
        fold.detach(f"s-{target}")
    assert not fold.page().busy_sessions


def test_a_page_that_crashed_is_no_longer_busy() -> None:
    fold = busy_renderer()
    fold.event("Inspector.targetCrashed", on="s-P")
    fold.event("Inspector.targetReloadedAfterCrash", on="s-P")
    assert fold.health() == "ok"


def test_a_blocked_frame_without_a_page_blocks_no_page() -> None:
    fold = folded_machine.Fold().up()
    fold.attach("F", "iframe")
    fold.passes(PATIENCE)
    assert not fold.notes()[1:]
    fold.reply(TREE, {"frameTree": folded_machine.tree_of("F")}, on="s-F")
    assert not fold.shown().pages


# ── pages that were silent or crashed on an earlier link ──────────────────────────────────────────────────────────────


def inspected(fold: Any) -> bool:
    return any(isinstance(each, Enable) and each.domain == "Inspector" for each in fold.last)


def test_a_page_that_crashed_without_a_link_is_known_as_such_at_once() -> None:
    """Fact 69: `Inspector.enable` reports it. A target that waits cannot have crashed."""
    fold = folded_machine.Fold().up()
    fold.attach("P")
    assert inspected(fold)
    fold.event("Inspector.targetCrashed", on="s-P")
    assert fold.health() == "crashed"
    fold.passes(9.0)
    assert fold.health() == "crashed"
    waiting = folded_machine.Fold().up()
    waiting.opens("Q", waiting_for_debugger=True)
    waiting.event(
        "Target.attachedToTarget",
        sessionId="s-Q",
        targetInfo={"targetId": "Q", "type": "page"},
        waitingForDebugger=True,
    )
    assert not inspected(waiting)


def test_the_patience_with_a_setup_goes_on_over_links() -> None:
    fold = folded_machine.on_a_page()
    fold.passes(2.0).down()
    fold.passes(0.6)
    fold.up().attach("P")
    fold.passes(0.3)
    assert fold.health() != "blocked"
    fold.passes(0.2)
    assert fold.health() == "blocked"
    assert fold.page().blocked == fold.page().silent_since


def test_a_page_that_was_blocked_on_the_last_link_is_so_at_once_on_the_next() -> None:
    fold = folded_machine.on_a_page()
    fold.passes(3.0)
    assert fold.health() == "blocked"
    fold.down().passes(0.6)
    fold.up().attach("P")
    assert fold.health() == "blocked"
    fold.reply(TREE, folded_machine.tree_of("P"))
    assert fold.health() == "ok"
    assert fold.page().silent_since is None
    fold.down().passes(0.6)
    fold.up().attach("P")
    assert fold.health() != "blocked"


def test_a_navigation_begins_the_patience_anew() -> None:
    fold = folded_machine.on_a_page()
    fold.event(
        "Page.frameStartedNavigating", on="s-P", frameId="P", loaderId="l", navigationType="differentDocument", url="u"
    )
    fold.passes(3.0)
    assert fold.health() == "navigating"
    fold.event("Page.frameStoppedLoading", on="s-P", frameId="P").passes(2.0)
    assert fold.health() != "blocked"
    fold.passes(1.0)
    assert fold.health() == "blocked"


# ── what a silent page shows ──────────────────────────────────────────────────────────────────────────────────────────

HISTORY = "Page.getNavigationHistory"


@pytest.mark.parametrize("navigating", [False, True])
def test_a_silent_page_is_asked_once_what_it_shows(navigating: bool) -> None:
    """Fact 64."""
    fold = folded_machine.leaving_page(navigating=navigating)
    shown = fold.shown().pages[0]
    assert (shown.url, shown.pending_url, fold.page().leaving) == ("http://a/here", "http://a/there", True)
    fold.passes(PATIENCE)
    assert len(fold.all_sent(HISTORY)) == 1
    fold.reply(TREE, {"frameTree": folded_machine.tree_of("P")})
    assert not fold.page().leaving


@pytest.mark.parametrize(
    "result",
    [
        {},
        {"entries": [], "currentIndex": 0},
        {"entries": [{"url": "http://b/"}], "currentIndex": "0"},
        {"entries": [{"url": 7}], "currentIndex": 0},
    ],
)
def test_a_history_that_tells_nothing_changes_nothing(result: Any) -> None:
    fold = folded_machine.on_a_page().passes(PATIENCE)
    fold.reply(HISTORY, result)
    assert not fold.page().leaving
    fold.passes(9.0)
    same = folded_machine.on_a_page().passes(PATIENCE)
    same.reply(HISTORY, {"entries": [{"url": same.page().url}], "currentIndex": 0})
    assert not same.page().leaving
    answered = folded_machine.on_a_page().passes(PATIENCE)
    answered.reply(TREE, {"frameTree": folded_machine.tree_of("P")})
    answered.reply(HISTORY, {"entries": [{"url": "http://b/"}], "currentIndex": 0})
    assert not answered.page().leaving
