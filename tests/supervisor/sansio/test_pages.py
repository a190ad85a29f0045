"""Pages and sessions: how they come into sight, are set up, fall silent, crash, and go."""

from __future__ import annotations

from typing import Any, Final

import pytest

from cdp_core.sansio.messages import Malformed, SessionId
from cdp_supervisor.sansio import pages
from cdp_supervisor.sansio.changes import PageCrashed, PageGone, PageOpened
from cdp_supervisor.sansio.effects import AutoAttach, Detach, Enable, Resume, Send
from cdp_supervisor.sansio.options import Limits, Scope
from cdp_supervisor.sansio.requests import Focus, Stop
from cdp_supervisor.sansio.transition import Transition
from support import folded_machine

TREE, REOPEN, TARGETS = "Page.getFrameTree", "Target.attachToTarget", "Target.getTargets"
PATIENCE: Final = 3.0


def on_a_page(**options: Any) -> Any:
    return folded_machine.on_a_page(**options)


def orders(fold: Any) -> list[str]:
    """What the last input had sent to sessions, in the words of the protocol."""
    made: list[str] = []
    for each in fold.last:
        match each:
            case Send(session_id=session, method=method):
                made.append(f"{session} {method}")
            case Enable(session_id=session, domain=domain):
                made.append(f"{session} {domain}.enable")
            case AutoAttach(session_id=session):
                made.append(f"{session} autoattach")
            case Resume(session_id=session):
                made.append(f"{session} resume")
            case Detach(session_id=session):
                made.append(f"{session} detach")
    return made


def listed(fold: Any, *targets: str, **more: Any) -> None:
    """The browser says what there is."""
    fold.reply(TARGETS, {"targetInfos": [{"targetId": each, "type": "page", **more} for each in targets]})


def sessions(fold: Any) -> list[str]:
    return [each.session_id for each in fold.shown().sessions]


# ── setting up ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_page_is_set_up_in_one_go_and_resumed_last() -> None:
    """Fact 7: without the resume its opener stands still; fact 15: nothing of it may be awaited."""
    fold = folded_machine.Fold().up()
    fold.attach("P", url="http://a/", title="A", openerId="O", browserContextId="C")
    assert orders(fold) == [
        "s-P Page.enable",
        "s-P Page.getFrameTree",
        "s-P Runtime.enable",
        "s-P autoattach",
        "s-P resume",
    ]
    shown = fold.shown().page("P")
    assert (shown.url, shown.title, shown.opener_id, shown.context_id) == ("http://a/", "A", "O", "C")
    assert (shown.session_id, shown.stale) == ("s-P", True)
    assert fold.reported(PageOpened) == [PageOpened(target_id="P", opener_id="O")]


@pytest.mark.parametrize(
    ("type", "sent"),
    [
        ("worker", ["s-W Runtime.enable", "s-W autoattach", "s-W resume"]),
        ("tab", ["s-W autoattach", "s-W resume"]),
    ],
)
def test_other_targets_are_set_up_with_what_they_have_and_always_resumed(type: str, sent: list[str]) -> None:
    fold = on_a_page()
    fold.attach("W", type, of="s-P")
    assert orders(fold) == sent
    assert [each.target_id for each in fold.shown().pages] == ["P"]


def test_a_frame_s_session_belongs_to_the_page_above() -> None:
    fold = folded_machine.with_tree("F")
    fold.attach("F", "iframe", of="s-P")
    assert "s-F Page.enable" in orders(fold)
    assert {each.session_id: each.page_id for each in fold.shown().sessions} == {"s-P": "P", "s-F": "P"}


def test_a_frame_below_no_page_is_set_up_all_the_same() -> None:
    """What is above it is not in sight: it must not stand still for that."""
    fold = folded_machine.Fold().up()
    fold.attach("F", "iframe")
    assert orders(fold)[-1] == "s-F resume"
    assert not fold.shown().pages


def test_a_session_is_set_up_once_however_often_it_is_told_of() -> None:
    fold = on_a_page()
    fold.attach("P")
    assert orders(fold) == []
    assert sessions(fold) == ["s-P"]
    fold.says("Target.attachedToTarget", sessionId="unknown", targetInfo={"targetId": "X", "type": "page"})
    assert orders(fold) == []


def test_beyond_the_limit_sessions_are_left_out_and_counted() -> None:
    fold = on_a_page(limits=Limits(sessions_kept=1))
    fold.attach("Q")
    assert sessions(fold) == ["s-P"]
    assert fold.count("sessions_left_out") == 1


def test_beyond_the_limit_pages_are_left_out_counted_and_resumed() -> None:
    fold = on_a_page(limits=Limits(pages_kept=1))
    fold.attach("Q")
    assert [each.target_id for each in fold.shown().pages] == ["P"]
    assert fold.count("pages_left_out") == 1
    assert orders(fold)[-1] == "s-Q resume"


def test_where_others_open_the_sessions_nobody_is_attached_or_let_go_for_them() -> None:
    """Who asked to wait says itself when it is over; where nobody waits a resume does no harm, and may be needed (fact 7)."""
    fold = folded_machine.Fold(adopting=True).up()
    fold.attach("P")
    assert orders(fold)[-1] == "s-P resume"
    assert "s-P autoattach" not in orders(fold)
    fold.opens("Q", waiting_for_debugger=True)
    fold.says("Target.attachedToTarget", sessionId="s-Q", targetInfo={"targetId": "Q"})
    assert "s-Q Page.enable" in orders(fold)
    assert "s-Q resume" not in orders(fold)


# ── scope ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_page_out_of_scope_is_resumed_and_let_go() -> None:
    fold = folded_machine.Fold(scope=Scope.targets("P")).up()
    fold.attach("Q")
    assert orders(fold) == ["s-Q resume", "s-Q detach"]
    assert not fold.shown().pages
    assert not fold.shown().sessions
    assert not fold.state.primary_on


def test_somebody_else_s_session_out_of_scope_is_not_ended() -> None:
    fold = folded_machine.Fold(scope=Scope.targets("P"), adopting=True).up()
    fold.attach("Q")
    assert orders(fold) == ["s-Q resume"]


def test_pages_in_scope_are_those_named_and_what_they_open() -> None:
    fold = folded_machine.Fold(scope=Scope.targets("P", "X")).up()
    fold.attach("P")
    fold.attach("Q", openerId="P")
    fold.attach("R", openerId="Q")
    fold.attach("Y", openerId="X")
    fold.attach("Z", openerId="elsewhere")
    assert [each.target_id for each in fold.shown().pages] == ["P", "Q", "R", "Y"]


def test_pages_in_scope_are_those_of_the_context() -> None:
    fold = folded_machine.Fold(scope=Scope.context("C")).up()
    fold.attach("P", browserContextId="C")
    fold.attach("Q", browserContextId="D")
    assert [each.target_id for each in fold.shown().pages] == ["P"]


def test_a_page_in_scope_stays_in_it_though_its_opener_is_gone() -> None:
    """Only its opener was named; over a new link nobody is there to name it."""
    fold = folded_machine.Fold(scope=Scope.targets("P")).up()
    fold.attach("P")
    fold.attach("Q", openerId="P")
    fold.says("Target.targetDestroyed", targetId="P")
    link_again(fold)
    fold.attach("Q", session="s-Q2", openerId="P")
    fold.attach("R", session="s-R", openerId="elsewhere")
    listed(fold, "Q", "R")
    assert [(each.target_id, each.session_id) for each in fold.shown().pages] == [("Q", "s-Q2")]


def test_a_popup_of_a_popup_stays_in_scope_over_a_new_link() -> None:
    fold = folded_machine.Fold(scope=Scope.targets("P")).up()
    fold.attach("P")
    fold.attach("Q", openerId="P")
    fold.attach("R", openerId="Q")
    link_again(fold)
    fold.attach("R", session="s-R2", openerId="Q-that-is-unknown")
    assert fold.page("R").session_id == "s-R2"


def missing(fold: Any) -> list[str]:
    return [
        each.fields["target"]
        for each in fold.orders
        if getattr(each, "text", "") == "a target of the scope does not exist"
    ]


def test_a_target_of_the_scope_that_is_not_there_is_told() -> None:
    """A misspelt id would supervise nothing, without a word."""
    fold = folded_machine.Fold(scope=Scope.targets("P", "not-there-at-all", "also-not")).up()
    listed(fold, "P", "Q")
    assert missing(fold) == ["also-not", "not-ther"]


@pytest.mark.parametrize("scope", [Scope.targets("P"), Scope.browser(), Scope.context("C")])
def test_where_the_scope_is_there_nothing_is_told(scope: Scope) -> None:
    fold = folded_machine.Fold(scope=scope).up()
    listed(fold, "P")
    assert missing(fold) == []


def test_a_page_that_came_before_the_list_is_there() -> None:
    fold = folded_machine.Fold(scope=Scope.targets("P")).up()
    fold.attach("P")
    listed(fold)
    assert missing(fold) == []


# ── sessions that end ────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_end_of_an_unknown_session_means_nothing() -> None:
    fold = on_a_page()
    before = fold.state
    fold.detach("nobody")
    assert fold.state is before


def test_a_page_whose_session_ended_is_shown_detached_and_attached_to_again() -> None:
    fold = on_a_page()
    fold.says("Runtime.executionContextsCleared", on="s-P")
    fold.detach("s-P")
    assert fold.health() == "detached"
    assert not fold.page().context_clearings
    fold.passes(1.0)
    assert fold.sent(REOPEN).params == {"targetId": "P", "flatten": True}
    fold.attach("P", session="s-P2")
    fold.reply(REOPEN, {"sessionId": "s-P2"})
    assert fold.health() == "ok"
    assert len(fold.reported(PageOpened)) == 1


def test_a_page_that_cannot_be_attached_to_again_is_gone() -> None:
    fold = on_a_page()
    fold.detach("s-P").passes(1.0)
    fold.refuse(REOPEN)
    assert fold.reported(PageGone) == [PageGone(target_id="P", reason="closed")]


def test_a_page_whose_attach_got_no_answer_stays() -> None:
    fold = on_a_page()
    fold.detach("s-P").passes(1.0)
    fold.lose(REOPEN)
    assert fold.health() == "detached"


def test_a_dialog_of_a_session_that_ended_is_orphaned_and_over_when_the_page_runs_again() -> None:
    fold = on_a_page()
    fold.opening()
    fold.detach("s-P")
    assert fold.pending()[0].why == "orphaned"
    fold.attach("P", session="s-P2")
    fold.reply(TREE, {"frameTree": folded_machine.tree_of("P")}, on="s-P2")
    assert fold.end_of("d-1") == ("remote", "orphaned")


def test_a_frame_that_somebody_else_is_on_is_not_adrift() -> None:
    fold = folded_machine.with_tree("F")
    fold.attach("F", "iframe", of="s-P")
    fold.attach("F", "iframe", of="s-P", session="s-F2")
    fold.detach("s-F", "parent_ended")
    assert fold.page().frames["F"].session_id == "s-F2"
    assert not fold.state.adrift


def test_a_frame_that_is_found_again_is_adrift_no_more() -> None:
    fold = folded_machine.with_tree("F")
    fold.attach("F", "iframe", of="s-P")
    fold.detach("s-F", "parent_ended")
    assert dict(fold.state.adrift) == {"F": "P"}
    fold.attach("F", "iframe", of="s-P", session="s-F2")
    assert not fold.state.adrift


def test_a_refused_attach_ends_no_page_that_has_a_session_by_now() -> None:
    fold = on_a_page()
    fold.detach("s-P").passes(1.0)
    fold.attach("P", session="s-P2")
    fold.refuse(REOPEN)
    assert fold.shown().page("P") is not None


def test_nobody_attaches_again_where_it_is_not_ours_to_do_or_the_end_has_come() -> None:
    adopting = on_a_page(adopting=True)
    adopting.detach("s-P").passes(10.0)
    assert not adopting.all_sent(REOPEN)
    ending = on_a_page()
    ending.opening()
    ending.detach("s-P")
    ending.attach("Q")
    ending.says("Page.javascriptDialogOpening", on="s-Q", frameId="Q")
    ending.ask(Stop(timeout=5.0))
    ending.passes(1.0)
    assert not ending.all_sent(REOPEN)


def test_a_second_session_on_a_target_is_listened_to_when_the_first_ends() -> None:
    """Fact 47: until then it says everything twice."""
    fold = on_a_page()
    fold.attach("P", session="s-P2")
    assert orders(fold) == ["s-P2 autoattach", "s-P2 resume"]
    fold.says("Page.frameAttached", on="s-P2", frameId="A", parentFrameId="P")
    assert "A" not in fold.page().frames
    fold.detach("s-P")
    assert fold.page().session_id == "s-P2"
    assert "s-P2 Page.enable" in orders(fold)
    fold.says("Page.frameAttached", on="s-P2", frameId="A", parentFrameId="P")
    assert "A" in fold.page().frames


def test_what_a_second_session_says_is_of_no_page_until_it_is_listened_to() -> None:
    """Whoever keeps lines would keep each twice."""
    fold = on_a_page()
    fold.attach("P", session="s-P2")
    assert dict(fold.state.page_of) == {"s-P": "P"}
    fold.detach("s-P")
    assert dict(fold.state.page_of) == {"s-P2": "P"}


def test_what_is_below_a_second_session_belongs_to_the_page_all_the_same() -> None:
    fold = on_a_page()
    fold.attach("P", session="s-P2")
    fold.attach("W", "worker", of="s-P2")
    assert fold.state.sessions["s-W"].page_id == "P"
    assert fold.state.page_of["s-W"] == "P"


def test_what_a_worker_without_a_page_says_is_its_own() -> None:
    fold = on_a_page()
    fold.attach("W", "service_worker")
    assert fold.state.page_of["s-W"] == "W"
    fold.detach("s-W")
    assert "s-W" not in fold.state.page_of


def test_what_is_below_an_unknown_session_has_no_page() -> None:
    fold = on_a_page()
    fold.opens("W", "worker", parent="nobody")
    assert fold.state.sessions["s-W"].page_id is None


def test_of_three_sessions_the_oldest_is_listened_to_next() -> None:
    fold = on_a_page()
    for session in ("s-2", "s-3", "s-4"):
        fold.attach("P", session=session)
    fold.detach("s-3")
    fold.detach("s-P")
    assert fold.page().session_id == "s-2"
    fold.detach("s-2")
    assert fold.page().session_id == "s-4"
    fold.detach("s-4")
    assert fold.page().session_id is None
    assert not fold.state.also_on
    assert not fold.state.primary_on


def test_who_is_not_listened_to_ends_without_a_trace() -> None:
    fold = on_a_page()
    fold.attach("P", session="s-P2")
    page = fold.page()
    fold.detach("s-P2")
    assert fold.page() is page
    assert not fold.state.also_on


def test_an_heir_that_nothing_was_told_of_is_set_up_when_it_is() -> None:
    fold = on_a_page()
    fold.opens("P", session="s-P2")
    fold.detach("s-P")
    assert orders(fold) == []
    fold.says("Target.attachedToTarget", sessionId="s-P2", targetInfo={"targetId": "P", "url": "http://b/"})
    assert "s-P2 Page.enable" in orders(fold)
    assert fold.page().url == "http://b/"


def test_a_worker_s_heir_is_set_up_as_a_worker() -> None:
    fold = on_a_page()
    fold.attach("W", "worker", of="s-P")
    fold.attach("W", "worker", of="s-P", session="s-W2")
    fold.detach("s-W")
    assert orders(fold) == ["s-W2 Runtime.enable", "s-W2 autoattach", "s-W2 resume"]


@pytest.mark.parametrize(("reason", "stays"), [("detached", False), ("parent_ended", True), ("link_lost", True)])
def test_a_frame_goes_with_its_session_only_where_that_was_about_the_frame(reason: str, stays: bool) -> None:
    fold = folded_machine.with_tree("F")
    fold.attach("F", "iframe", of="s-P")
    fold.detach("s-F", reason)
    assert ("F" in fold.page().frames) is stays


def test_where_too_many_are_adrift_a_frame_goes_with_its_session() -> None:
    fold = folded_machine.with_tree("F", "G", limits=Limits(sessions_kept=2))
    fold.attach("F", "iframe", of="s-P")
    fold.detach("s-F", "parent_ended")
    fold.attach("G", "iframe", of="s-P")
    fold.detach("s-G", "parent_ended")
    fold.attach("H", "iframe", of="s-P", parentFrameId="P")
    fold.detach("s-H", "parent_ended")
    assert set(fold.page().frames) == {"P", "F", "G"}


# ── silence ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_page_that_does_not_answer_its_setup_is_blocked_until_it_does() -> None:
    """Fact 4: a dialog that nobody saw open; no event tells of it."""
    fold = on_a_page()
    fold.passes(PATIENCE)
    assert fold.health() == "blocked"
    assert "a page does not answer its setup" in fold.notes()
    fold.reply(TREE, {"frameTree": folded_machine.tree_of("P")})
    assert fold.health() == "ok"


def test_a_page_that_answers_in_time_is_not_called_blocked() -> None:
    fold = on_a_page()
    fold.reply(TREE, {"frameTree": folded_machine.tree_of("P")})
    assert fold.health() == "ok"
    fold.passes(PATIENCE)
    assert fold.health() == "ok"


def test_the_answer_of_a_frame_s_process_does_not_free_the_page() -> None:
    fold = on_a_page()
    fold.attach("F", "iframe", of="s-P", parentFrameId="P")
    fold.passes(PATIENCE)
    fold.reply(TREE, {"frameTree": folded_machine.tree_of("F")}, on="s-F")
    assert fold.health() == "blocked"


def test_a_page_with_a_dialog_or_dead_is_silent_for_that_reason() -> None:
    asking = on_a_page()
    asking.opening()
    asking.passes(PATIENCE)
    assert asking.page().blocked is None
    dead = on_a_page()
    dead.says("Inspector.targetCrashed", on="s-P")
    dead.passes(PATIENCE)
    assert dead.health() == "crashed"
    assert dead.page().blocked is None


def test_the_silence_of_a_frame_s_process_is_told_of_the_frame_until_it_answers() -> None:
    """It says nothing of the page's own process."""
    fold = folded_machine.with_tree("F")
    fold.attach("F", "iframe", of="s-P")
    fold.passes(PATIENCE)
    assert fold.health() == "frame_blocked"
    assert "a frame does not answer its setup" in fold.notes()
    fold.reply(TREE, {"frameTree": folded_machine.tree_of("F")}, on="s-F")
    assert fold.health() == "ok"


@pytest.mark.parametrize("end", ["session", "link"])
def test_the_silence_of_a_frame_s_process_ends_with_its_session(end: str) -> None:
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


def test_a_setup_that_ended_with_its_session_is_not_waited_for() -> None:
    fold = on_a_page()
    fold.detach("s-P")
    assert "the setup of a session is unanswered" not in fold.because()


BUSY = {"P": "busy", "F": "frame_busy"}


def busy(target: str = "P") -> Any:
    """A renderer that did not answer while a call waited for it."""
    fold = folded_machine.with_tree("F")
    fold.attach("F", "iframe", of="s-P")
    fold.reply(TREE, {"frameTree": folded_machine.tree_of("F")}, on="s-F")
    folded_machine.called(fold, session_id=f"s-{target}", timeout=2.0)
    fold.passes(1.0).passes(1.0)
    assert fold.health() == BUSY[target]
    return fold


@pytest.mark.parametrize("target", ["P", "F"])
def test_a_page_is_busy_until_the_renderer_that_was_answers(target: str) -> None:
    fold, other = busy(target), {"P": "F", "F": "P"}[target]
    folded_machine.called(fold, session_id=f"s-{other}")
    fold.reply("Runtime.evaluate", on=f"s-{other}")
    assert fold.health() == BUSY[target]
    fold.reply("Runtime.evaluate", on=f"s-{target}")
    assert fold.health() == "ok"


@pytest.mark.parametrize("target", ["P", "F"])
@pytest.mark.parametrize("end", ["session", "link"])
def test_a_renderer_whose_session_ended_is_busy_no_more(target: str, end: str) -> None:
    fold = busy(target)
    if end == "link":
        fold.down()
    else:
        fold.detach(f"s-{target}")
    assert not fold.page().busy_sessions


def test_a_page_that_crashed_is_busy_no_more() -> None:
    fold = busy()
    fold.says("Inspector.targetCrashed", on="s-P")
    fold.says("Inspector.targetReloadedAfterCrash", on="s-P")
    assert fold.health() == "ok"


def test_what_is_below_no_page_blocks_none() -> None:
    fold = folded_machine.Fold().up()
    fold.attach("F", "iframe")
    fold.passes(PATIENCE)
    assert not fold.notes()[1:]
    fold.reply(TREE, {"frameTree": folded_machine.tree_of("F")}, on="s-F")
    assert not fold.shown().pages


# ── the tree that is read ────────────────────────────────────────────────────────────────────────────────────────────


def test_a_tree_that_a_navigation_broke_off_is_asked_for_again_and_not_for_ever() -> None:
    """Fact 55."""
    fold = on_a_page(limits=Limits(retries=2))
    for _ in range(3):
        fold.refuse(TREE)
    assert len(fold.all_sent(TREE)) == 3


def test_where_a_tree_is_refused_all_is_asked_for_again() -> None:
    """The page had crashed before we came: nothing of the setup was done (docs/cdp/a-crash-ends-no-session.md)."""
    fold = on_a_page()
    fold.refuse(TREE)
    again = ["s-P Page.enable", "s-P Page.getFrameTree", "s-P Runtime.enable", "s-P autoattach", "s-P resume"]
    assert orders(fold) == again
    fold.says("Inspector.targetReloadedAfterCrash", on="s-P")  # whatever was asked when it died was not done either
    assert orders(fold) == again


def test_an_answer_to_what_was_asked_after_a_crash_says_that_it_is_over() -> None:
    """Who comes after a crash is told of no reload."""
    fold = on_a_page()
    fold.says("Target.targetCrashed", targetId="P")
    fold.reply(TREE, {"frameTree": folded_machine.tree_of("P")})
    assert fold.health() == "crashed"  # it was on its way before
    fold.attach("F", "iframe", of="s-P")
    fold.reply(TREE, {"frameTree": folded_machine.tree_of("F")}, on="s-F")
    assert fold.health() == "crashed"
    fold.detach("s-P")
    fold.attach("P", session="s-P2")
    fold.refuse(TREE)
    assert fold.health() == "crashed"
    fold.reply(TREE, {"frameTree": folded_machine.tree_of("P")})
    assert fold.health() == "ok"


def test_a_tree_whose_answer_is_lost_is_not_asked_for_again() -> None:
    fold = on_a_page()
    fold.lose(TREE)
    assert len(fold.all_sent(TREE)) == 1


def test_a_tree_that_cannot_be_read_leaves_what_was_known() -> None:
    fold = folded_machine.with_tree("A")
    fold.says("Inspector.targetReloadedAfterCrash", on="s-P")
    fold.ends(fold.sent(TREE).ticket, Malformed(id=1, reason="torn", size=9))
    assert fold.tree() == {"P": {"A": {}}}
    assert len(fold.all_sent(TREE)) == 2


def test_a_tree_of_a_session_that_ended_is_not_believed() -> None:
    fold = folded_machine.with_tree("A")
    fold.says("Inspector.targetReloadedAfterCrash", on="s-P")
    fold.detach("s-P")
    fold.reply(TREE, {"frameTree": folded_machine.tree_of("P", "B")}, on="s-P")
    assert set(fold.page().frames) == {"P", "A"}


# ── what is told of targets ──────────────────────────────────────────────────────────────────────────────────────────


def test_the_target_s_url_counts_until_the_page_itself_has_told() -> None:
    fold = on_a_page()
    fold.says("Target.targetInfoChanged", targetInfo={"targetId": "P", "url": "http://b/", "title": "B"})
    assert (fold.page().url, fold.page().title) == ("http://b/", "B")
    fold.says("Page.frameNavigated", on="s-P", frame={"id": "P", "url": "http://c/"}, type="Navigation")
    fold.says("Target.targetInfoChanged", targetInfo={"targetId": "P", "url": "http://old/", "title": "C"})
    assert (fold.page().url, fold.page().title) == ("http://c/", "C")


def test_a_page_that_a_prerendered_one_replaced_is_gone() -> None:
    """Fact 45."""
    fold = on_a_page()
    fold.says("Target.targetInfoChanged", targetInfo={"targetId": "P", "subtype": "disconnected"})
    assert fold.reported(PageGone) == [PageGone(target_id="P", reason="replaced")]


def test_what_is_told_of_an_unknown_target_means_nothing() -> None:
    fold = on_a_page()
    pages = fold.state.pages
    fold.says("Target.targetInfoChanged", targetInfo={"targetId": "X", "url": "http://x/"})
    fold.says("Target.targetDestroyed", targetId="X")
    fold.says("Target.targetInfoChanged", targetInfo={"targetId": "X", "subtype": "disconnected"})
    fold.says("Target.targetCrashed", targetId="X")
    assert fold.state.pages is pages


def test_a_page_is_gone_when_its_target_is_and_its_dialogs_are_remembered() -> None:
    fold = on_a_page()
    fold.ask(Focus(target_id="P"))
    fold.opening()
    fold.says("Target.targetDestroyed", targetId="P")
    shown = fold.shown()
    assert not shown.pages
    assert not shown.pending_dialogs
    assert [(each.closed_by, each.reason) for each in shown.recent_dialogs] == [("remote", "target_gone")]
    assert (shown.focus, shown.page_gone) == (None, ("P", "closed"))


def test_a_page_that_nobody_focused_leaves_the_focus_where_it_is() -> None:
    fold = on_a_page()
    fold.attach("Q")
    fold.attach("R")
    fold.ask(Focus(target_id="P"))
    fold.says("Target.targetDestroyed", targetId="Q")
    assert (fold.shown().focus, fold.shown().page_gone) == ("P", None)


def test_the_first_page_is_the_one_that_is_meant_and_no_later_one() -> None:
    fold = folded_machine.Fold().up().lists()
    fold.attach("P")
    fold.attach("Q")
    assert fold.state.only_page == "P"
    fold.says("Target.targetDestroyed", targetId="P")
    assert (fold.state.only_page, fold.shown().page_gone, fold.shown().focus) == (None, ("P", "closed"), None)
    fold.says("Target.targetDestroyed", targetId="Q")
    fold.attach("R")  # nobody has said that this one is meant
    assert (fold.state.only_page, fold.shown().page_gone, fold.shown().focus) == (None, ("P", "closed"), None)


def test_who_was_focused_counts_before_who_was_the_only_one() -> None:
    fold = on_a_page().lists("P")
    fold.attach("Q")
    fold.ask(Focus(target_id="Q"))
    fold.says("Target.targetDestroyed", targetId="P")
    assert (fold.shown().focus, fold.shown().page_gone) == ("Q", None)
    fold.says("Target.targetDestroyed", targetId="Q")
    assert fold.shown().page_gone == ("Q", "closed")


# ── crashes ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_crash_is_told_once_and_ends_no_session() -> None:
    """Two events say it, one on the session and one of the target."""
    fold = on_a_page()
    fold.says("Inspector.targetCrashed", on="s-P")
    fold.says("Target.targetCrashed", targetId="P")
    assert fold.reported(PageCrashed) == [PageCrashed(target_id="P")]
    assert fold.health() == "crashed"
    assert sessions(fold) == ["s-P"]


def test_a_crash_that_only_the_target_tells_of_is_one() -> None:
    fold = on_a_page()
    fold.says("Target.targetCrashed", targetId="P")
    assert fold.health() == "crashed"


def test_the_crash_of_a_frame_s_process_is_none_of_the_page() -> None:
    fold = folded_machine.with_tree("F")
    fold.attach("F", "iframe", of="s-P")
    fold.says("Inspector.targetCrashed", on="s-F")
    assert fold.health() == "ok"


def test_a_page_that_was_loaded_again_after_a_crash_is_read_anew() -> None:
    fold = folded_machine.with_tree("A")
    fold.says("Inspector.targetCrashed", on="s-P")
    fold.says("Inspector.targetReloadedAfterCrash", on="s-P")
    assert fold.health() == "ok"
    fold.reply(TREE, {"frameTree": folded_machine.tree_of("P", "B")}, on="s-P")
    assert fold.tree() == {"P": {"B": {}}}


# ── the whole browser ────────────────────────────────────────────────────────────────────────────────────────────────


def link_again(fold: Any) -> None:
    """The link goes, and comes back."""
    fold.down()
    fold.passes(60.0).up()


def test_pages_outlive_the_link_as_they_were_and_say_so() -> None:
    fold = folded_machine.with_tree("F")
    fold.attach("F", "iframe", of="s-P")
    fold.down()
    assert fold.health() == "link_down"
    assert fold.tree() == {"P": {"F": {}}}
    assert fold.page().stale
    assert not fold.shown().sessions


def test_what_the_new_link_does_not_list_is_gone_and_the_rest_is_attached_to() -> None:
    fold = on_a_page()
    fold.attach("Q")
    fold.attach("F", "iframe", of="s-P", parentFrameId="P")
    link_again(fold)
    listed(fold, "P")
    assert [each.target_id for each in fold.shown().pages] == ["P"]
    assert fold.reported(PageGone) == [PageGone(target_id="Q", reason="link_lost")]
    assert set(fold.page().frames) == set()  # the frame's target is not listed either
    assert not fold.shown().link.browser_changed
    fold.passes(1.0)
    assert fold.sent(REOPEN).params == {"targetId": "P", "flatten": True}


def test_a_frame_whose_target_is_listed_stays() -> None:
    fold = folded_machine.with_tree("F")
    fold.attach("F", "iframe", of="s-P")
    link_again(fold)
    listed(fold, "P", "F")
    assert fold.tree() == {"P": {"F": {}}}


def test_where_others_open_the_sessions_a_listed_page_waits_for_them() -> None:
    fold = on_a_page(adopting=True)
    link_again(fold)
    listed(fold, "P")
    fold.passes(10.0)
    assert not fold.all_sent(REOPEN)


def test_a_page_that_was_attached_to_before_the_list_is_not_again() -> None:
    fold = on_a_page()
    link_again(fold)
    fold.attach("P", session="s-P2")
    listed(fold, "P")
    fold.passes(10.0)
    assert not fold.all_sent(REOPEN)


def test_where_no_page_of_before_is_left_it_is_another_browser() -> None:
    fold = on_a_page()
    link_again(fold)
    listed(fold, "N")
    assert fold.shown().link.browser_changed
    assert not fold.shown().pages
    assert any("another browser" in each for each in fold.notes())


def test_where_one_page_of_before_was_found_it_is_the_same_browser() -> None:
    fold = on_a_page()
    fold.attach("Q")
    link_again(fold)
    fold.attach("P", session="s-P2")
    listed(fold, "P")
    assert [each.target_id for each in fold.shown().pages] == ["P"]
    assert not fold.shown().link.browser_changed


def test_where_the_browser_says_who_it_is_its_pages_do_not_decide() -> None:
    """All of them closed while nobody looked, and another one open: the same browser (and the other way about)."""
    same = folded_machine.Fold().up(browser_id="B")
    same.attach("P")
    same.down().passes(60.0).up(browser_id="B")
    listed(same, "N")
    assert not same.shown().link.browser_changed
    assert not any("another browser" in each for each in same.notes())
    other = folded_machine.Fold().up(browser_id="B")
    other.attach("P")
    other.down().passes(60.0).up(browser_id="C")
    listed(other, "P")
    assert other.shown().link.browser_changed
    assert sum("another browser" in each for each in other.notes()) == 1


def test_where_only_one_link_says_who_the_browser_is_its_pages_decide() -> None:
    fold = folded_machine.Fold().up(browser_id="B")
    fold.attach("P")
    link_again(fold)
    listed(fold, "N")
    assert fold.shown().link.browser_changed


def test_that_it_is_another_browser_is_not_forgotten() -> None:
    fold = on_a_page()
    link_again(fold)
    listed(fold, "N")
    link_again(fold)
    listed(fold, "N")
    assert fold.shown().link.browser_changed


def test_a_session_that_only_the_list_tells_of_is_set_up_by_it() -> None:
    """Its event was missed, so what it is on is taken from the list."""
    fold = folded_machine.Fold(scope=Scope.context("C")).up()
    fold.opens("P")
    fold.opens("Q")
    fold.reply(TARGETS, {"targetInfos": [{"targetId": "P", "browserContextId": "C", "url": "http://a/"}]})
    assert [(each.target_id, each.url) for each in fold.shown().pages] == [("P", "http://a/")]
    assert sessions(fold) == ["s-P"]


def test_a_page_that_opens_anew_under_a_lost_link_is_listened_to_from_its_url_on() -> None:
    """What an older session told of the document is older."""
    fold = folded_machine.with_tree()
    link_again(fold)
    fold.attach("P", session="s-P2", url="http://moved/")
    assert fold.page().url == "http://moved/"


def test_the_time_to_attach_again_means_nothing_once_somebody_did() -> None:
    fold = on_a_page()
    fold.detach("s-P")
    assert any("without its session" in each for each in fold.because())
    fold.attach("P", session="s-P2")
    assert not any("without its session" in each for each in fold.because())
    fold.passes(1.0)
    assert not fold.all_sent(REOPEN)


def test_the_reload_of_a_frame_s_process_reads_the_frame_and_not_the_page() -> None:
    fold = folded_machine.with_tree("F")
    fold.attach("F", "iframe", of="s-P")
    fold.says("Inspector.targetCrashed", on="s-P")
    fold.says("Inspector.targetReloadedAfterCrash", on="s-F")
    assert {each.partition(" ")[0] for each in orders(fold)} == {"s-F"}
    assert "s-F Page.getFrameTree" in orders(fold)
    assert fold.health() == "crashed"


@pytest.mark.parametrize("session", ["s-P2", "nobody"])
def test_a_reload_is_read_only_by_who_is_listened_to(session: str) -> None:
    """Whoever brings it: the rule asks for itself."""
    fold = folded_machine.with_tree()
    fold.attach("P", session="s-P2")
    transition = Transition(fold.state, fold.at)
    pages.reload_after_crash(transition, fold.page(), SessionId(session))
    assert not transition.effects
    assert transition.state is fold.state


def test_the_end_of_a_worker_leaves_its_page_attached() -> None:
    fold = on_a_page()
    fold.attach("W", "worker", of="s-P")
    fold.detach("s-W")
    assert fold.page().session_id == "s-P"
    assert fold.health() == "ok"


def test_a_session_below_no_page_ends_and_touches_none() -> None:
    fold = on_a_page()
    fold.attach("W", "service_worker")
    kept = fold.state.pages
    fold.detach("s-W")
    assert fold.state.pages is kept
    assert sessions(fold) == ["s-P"]


def test_what_is_told_of_a_frame_s_target_is_told_of_the_frame() -> None:
    """Fact 40."""
    fold = folded_machine.with_tree("F")
    fold.attach("F", "iframe", of="s-P")
    fold.says("Target.targetInfoChanged", targetInfo={"targetId": "F", "url": "http://f2/", "title": "not the page's"})
    assert fold.page().frames["F"].url == "http://f2/"
    assert fold.page().title == ""
