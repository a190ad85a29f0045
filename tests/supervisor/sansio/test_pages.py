"""Pages and sessions: how they appear, are set up, stop answering, crash and end."""

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


def sent_to_sessions(fold: Any) -> list[str]:
    """Return what the last input sent to sessions, as texts of session id and method."""
    texts: list[str] = []
    for each in fold.last:
        match each:
            case Send(session_id=session, method=method):
                texts.append(f"{session} {method}")
            case Enable(session_id=session, domain=domain):
                texts.append(f"{session} {domain}.enable")
            case AutoAttach(session_id=session):
                texts.append(f"{session} autoattach")
            case Resume(session_id=session):
                texts.append(f"{session} resume")
            case Detach(session_id=session):
                texts.append(f"{session} detach")
    return texts


def list_targets(fold: Any, *targets: str, **more: Any) -> None:
    """Reply to `Target.getTargets` with these targets."""
    fold.reply(TARGETS, {"targetInfos": [{"targetId": each, "type": "page", **more} for each in targets]})


def session_ids(fold: Any) -> list[str]:
    return [each.session_id for each in fold.shown().sessions]


# ── setup ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_page_is_set_up_in_one_step_and_resumed_last() -> None:
    """Fact 7: without the resume its opener hangs. Fact 15: none of the replies may be awaited."""
    fold = folded_machine.Fold().up()
    fold.attach("P", url="http://a/", title="A", openerId="O", browserContextId="C")
    assert sent_to_sessions(fold) == [
        "s-P Inspector.enable",
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
def test_other_targets_are_set_up_with_their_domains_and_always_resumed(type: str, sent: list[str]) -> None:
    fold = on_a_page()
    fold.attach("W", type, of="s-P")
    assert sent_to_sessions(fold) == sent
    assert [each.target_id for each in fold.shown().pages] == ["P"]


def test_a_frame_s_session_belongs_to_its_page() -> None:
    fold = folded_machine.with_tree("F")
    fold.attach("F", "iframe", of="s-P")
    assert "s-F Page.enable" in sent_to_sessions(fold)
    assert {each.session_id: each.page_id for each in fold.shown().sessions} == {"s-P": "P", "s-F": "P"}


def test_a_frame_without_a_known_page_is_also_set_up() -> None:
    """Its page is unknown, but the frame must not stay paused."""
    fold = folded_machine.Fold().up()
    fold.attach("F", "iframe")
    assert sent_to_sessions(fold)[-1] == "s-F resume"
    assert not fold.shown().pages


def test_a_session_is_set_up_once_however_often_it_is_reported() -> None:
    fold = on_a_page()
    fold.attach("P")
    assert sent_to_sessions(fold) == []
    assert session_ids(fold) == ["s-P"]
    fold.event("Target.attachedToTarget", sessionId="unknown", targetInfo={"targetId": "X", "type": "page"})
    assert sent_to_sessions(fold) == []


def test_sessions_beyond_the_limit_are_left_out_counted_and_resumed() -> None:
    fold = on_a_page(limits=Limits(sessions_kept=1))
    fold.attach("Q")
    assert session_ids(fold) == ["s-P"]
    assert sent_to_sessions(fold) == ["s-Q resume"]
    assert fold.count("sessions_left_out") == 1


def test_pages_beyond_the_limit_are_left_out_counted_and_resumed() -> None:
    fold = on_a_page(limits=Limits(pages_kept=1))
    fold.attach("Q")
    assert [each.target_id for each in fold.shown().pages] == ["P"]
    assert fold.count("pages_left_out") == 1
    assert sent_to_sessions(fold)[-1] == "s-Q resume"


def test_an_adopting_supervisor_neither_auto_attaches_nor_resumes_a_waiting_target() -> None:
    """The client that paused a target resumes it.

    For a target that does not wait, a resume is harmless and may be needed (fact 7).
    """
    fold = folded_machine.Fold(adopting=True).up()
    fold.attach("P")
    assert sent_to_sessions(fold)[-1] == "s-P resume"
    assert "s-P autoattach" not in sent_to_sessions(fold)
    fold.opens("Q", waiting_for_debugger=True)
    fold.event("Target.attachedToTarget", sessionId="s-Q", targetInfo={"targetId": "Q"})
    assert "s-Q Page.enable" in sent_to_sessions(fold)
    assert "s-Q resume" not in sent_to_sessions(fold)


# ── scope ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_page_out_of_scope_is_resumed_and_detached() -> None:
    fold = folded_machine.Fold(scope=Scope.targets("P")).up()
    fold.attach("Q")
    assert sent_to_sessions(fold) == ["s-Q resume", "s-Q detach"]
    assert not fold.shown().pages
    assert not fold.shown().sessions
    assert not fold.state.primary_on


def test_an_adopted_session_out_of_scope_is_not_detached() -> None:
    fold = folded_machine.Fold(scope=Scope.targets("P"), adopting=True).up()
    fold.attach("Q")
    assert sent_to_sessions(fold) == ["s-Q resume"]


def test_a_scope_of_targets_contains_the_named_pages_and_those_that_they_open() -> None:
    fold = folded_machine.Fold(scope=Scope.targets("P", "X")).up()
    fold.attach("P")
    fold.attach("Q", openerId="P")
    fold.attach("R", openerId="Q")
    fold.attach("Y", openerId="X")
    fold.attach("Z", openerId="elsewhere")
    assert [each.target_id for each in fold.shown().pages] == ["P", "Q", "R", "Y"]


def test_a_scope_of_a_context_contains_its_pages() -> None:
    fold = folded_machine.Fold(scope=Scope.context("C")).up()
    fold.attach("P", browserContextId="C")
    fold.attach("Q", browserContextId="D")
    assert [each.target_id for each in fold.shown().pages] == ["P"]


def test_a_page_stays_in_scope_after_its_opener_is_gone() -> None:
    """Only its opener was named, and that page does not exist after the reconnect."""
    fold = folded_machine.Fold(scope=Scope.targets("P")).up()
    fold.attach("P")
    fold.attach("Q", openerId="P")
    fold.event("Target.targetDestroyed", targetId="P")
    reconnect(fold)
    fold.attach("Q", session="s-Q2", openerId="P")
    fold.attach("R", session="s-R", openerId="elsewhere")
    list_targets(fold, "Q", "R")
    assert [(each.target_id, each.session_id) for each in fold.shown().pages] == [("Q", "s-Q2")]


def test_a_popup_of_a_popup_stays_in_scope_after_a_reconnect() -> None:
    fold = folded_machine.Fold(scope=Scope.targets("P")).up()
    fold.attach("P")
    fold.attach("Q", openerId="P")
    fold.attach("R", openerId="Q")
    reconnect(fold)
    fold.attach("R", session="s-R2", openerId="Q-that-is-unknown")
    assert fold.page("R").session_id == "s-R2"


def missing_targets(fold: Any) -> list[str]:
    return [
        each.fields["target"]
        for each in fold.orders
        if getattr(each, "text", "") == "a target of the scope does not exist"
    ]


def test_a_target_of_the_scope_that_does_not_exist_is_logged() -> None:
    """Else a misspelt id would supervise nothing, without a warning."""
    fold = folded_machine.Fold(scope=Scope.targets("P", "not-there-at-all", "also-not")).up()
    list_targets(fold, "P", "Q")
    assert missing_targets(fold) == ["also-not", "not-ther"]


@pytest.mark.parametrize("scope", [Scope.targets("P"), Scope.browser(), Scope.context("C")])
def test_a_scope_of_existing_targets_logs_nothing(scope: Scope) -> None:
    fold = folded_machine.Fold(scope=scope).up()
    list_targets(fold, "P")
    assert missing_targets(fold) == []


def test_a_page_that_was_attached_before_the_list_counts_as_existing() -> None:
    fold = folded_machine.Fold(scope=Scope.targets("P")).up()
    fold.attach("P")
    list_targets(fold)
    assert missing_targets(fold) == []


# ── sessions that end ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_end_of_an_unknown_session_changes_nothing() -> None:
    fold = on_a_page()
    before = fold.state
    fold.detach("unknown")
    assert fold.state is before


def test_a_page_is_detached_after_its_session_ended_and_attached_to_again() -> None:
    fold = on_a_page()
    fold.event("Runtime.executionContextsCleared", on="s-P")
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


def test_a_page_stays_if_its_attach_got_no_reply() -> None:
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


def test_a_frame_with_a_second_session_is_not_adrift() -> None:
    fold = folded_machine.with_tree("F")
    fold.attach("F", "iframe", of="s-P")
    fold.attach("F", "iframe", of="s-P", session="s-F2")
    fold.detach("s-F", "parent_ended")
    assert fold.page().frames["F"].session_id == "s-F2"
    assert not fold.state.adrift


def test_a_frame_that_gets_a_session_again_is_no_longer_adrift() -> None:
    fold = folded_machine.with_tree("F")
    fold.attach("F", "iframe", of="s-P")
    fold.detach("s-F", "parent_ended")
    assert dict(fold.state.adrift) == {"F": "P"}
    fold.attach("F", "iframe", of="s-P", session="s-F2")
    assert not fold.state.adrift


def test_a_refused_attach_removes_no_page_that_already_has_a_session() -> None:
    fold = on_a_page()
    fold.detach("s-P").passes(1.0)
    fold.attach("P", session="s-P2")
    fold.refuse(REOPEN)
    assert fold.shown().page("P") is not None


def test_an_adopting_or_stopping_supervisor_does_not_attach_again() -> None:
    adopting = on_a_page(adopting=True)
    adopting.detach("s-P").passes(10.0)
    assert not adopting.all_sent(REOPEN)
    stopping = on_a_page()
    stopping.opening()
    stopping.detach("s-P")
    stopping.attach("Q")
    stopping.event("Page.javascriptDialogOpening", on="s-Q", frameId="Q")
    stopping.ask(Stop(timeout=5.0))
    stopping.passes(1.0)
    assert not stopping.all_sent(REOPEN)


def test_a_second_session_on_a_target_becomes_primary_when_the_first_ends() -> None:
    """Fact 47: until then it repeats every event."""
    fold = on_a_page()
    fold.attach("P", session="s-P2")
    assert sent_to_sessions(fold) == ["s-P2 resume"]
    fold.event("Page.frameAttached", on="s-P2", frameId="A", parentFrameId="P")
    assert "A" not in fold.page().frames
    fold.detach("s-P")
    assert fold.page().session_id == "s-P2"
    assert "s-P2 Page.enable" in sent_to_sessions(fold)
    fold.event("Page.frameAttached", on="s-P2", frameId="A", parentFrameId="P")
    assert "A" in fold.page().frames


def test_events_of_a_second_session_belong_to_no_page_until_it_is_primary() -> None:
    """Else an extension that keeps lines would keep each line twice."""
    fold = on_a_page()
    fold.attach("P", session="s-P2")
    assert dict(fold.state.page_of) == {"s-P": "P"}
    fold.detach("s-P")
    assert dict(fold.state.page_of) == {"s-P2": "P"}


def test_a_session_below_a_second_session_belongs_to_the_page() -> None:
    fold = on_a_page()
    fold.attach("P", session="s-P2")
    fold.attach("W", "worker", of="s-P2")
    assert fold.state.sessions["s-W"].page_id == "P"
    assert fold.state.page_of["s-W"] == "P"


def test_events_of_a_worker_without_a_page_belong_to_its_own_target() -> None:
    fold = on_a_page()
    fold.attach("W", "service_worker")
    assert fold.state.page_of["s-W"] == "W"
    fold.detach("s-W")
    assert "s-W" not in fold.state.page_of


def test_a_session_below_an_unknown_session_has_no_page() -> None:
    fold = on_a_page()
    fold.opens("W", "worker", parent="unknown")
    assert fold.state.sessions["s-W"].page_id is None


def test_the_oldest_of_the_other_sessions_becomes_primary() -> None:
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


def test_the_end_of_a_session_that_is_not_primary_changes_no_page() -> None:
    fold = on_a_page()
    fold.attach("P", session="s-P2")
    page = fold.page()
    fold.detach("s-P2")
    assert fold.page() is page
    assert not fold.state.also_on


def test_a_new_primary_session_without_target_info_is_set_up_when_the_info_arrives() -> None:
    fold = on_a_page()
    fold.opens("P", session="s-P2")
    fold.detach("s-P")
    assert sent_to_sessions(fold) == []
    fold.event("Target.attachedToTarget", sessionId="s-P2", targetInfo={"targetId": "P", "url": "http://b/"})
    assert "s-P2 Page.enable" in sent_to_sessions(fold)
    assert fold.page().url == "http://b/"


def test_a_new_primary_session_of_a_worker_is_set_up_as_a_worker() -> None:
    fold = on_a_page()
    fold.attach("W", "worker", of="s-P")
    fold.attach("W", "worker", of="s-P", session="s-W2")
    fold.detach("s-W")
    assert sent_to_sessions(fold) == ["s-W2 Runtime.enable", "s-W2 autoattach", "s-W2 resume"]


@pytest.mark.parametrize(("reason", "stays"), [("detached", False), ("parent_ended", True), ("link_lost", True)])
def test_a_frame_is_removed_with_its_session_only_if_that_session_was_detached(reason: str, stays: bool) -> None:
    fold = folded_machine.with_tree("F")
    fold.attach("F", "iframe", of="s-P")
    fold.detach("s-F", reason)
    assert ("F" in fold.page().frames) is stays


def test_a_frame_is_removed_with_its_session_if_too_many_frames_are_adrift() -> None:
    fold = folded_machine.with_tree("F", "G", limits=Limits(sessions_kept=2))
    fold.attach("F", "iframe", of="s-P")
    fold.detach("s-F", "parent_ended")
    fold.attach("G", "iframe", of="s-P")
    fold.detach("s-G", "parent_ended")
    fold.attach("H", "iframe", of="s-P", parentFrameId="P")
    fold.detach("s-H", "parent_ended")
    assert set(fold.page().frames) == {"P", "F", "G"}


# ── reading the frame tree ────────────────────────────────────────────────────────────────────────────────────────────


def test_a_refused_tree_is_requested_again_a_limited_number_of_times() -> None:
    """Fact 55: a navigation to another site refuses the open commands."""
    fold = on_a_page(limits=Limits(retries=2))
    for _ in range(3):
        fold.refuse(TREE)
    assert len(fold.all_sent(TREE)) == 3


def test_a_refused_tree_repeats_the_whole_setup() -> None:
    """The page crashed before the attach: no setup took effect (docs/cdp/a-crash-ends-no-session.md)."""
    fold = on_a_page()
    fold.refuse(TREE)
    setup = [
        "s-P Inspector.enable",
        "s-P Page.enable",
        "s-P Page.getFrameTree",
        "s-P Runtime.enable",
        "s-P autoattach",
        "s-P resume",
    ]
    assert sent_to_sessions(fold) == setup
    fold.event("Inspector.targetReloadedAfterCrash", on="s-P")  # the crashed renderer did not run the setup either
    assert sent_to_sessions(fold) == setup


def test_a_reply_to_a_command_sent_after_a_crash_ends_the_crashed_state() -> None:
    """A session that attaches after a crash gets no event of the reload."""
    fold = on_a_page()
    fold.event("Target.targetCrashed", targetId="P")
    fold.reply(TREE, {"frameTree": folded_machine.tree_of("P")})
    assert fold.health() == "crashed"  # the command was sent before the crash
    fold.attach("F", "iframe", of="s-P")
    fold.reply(TREE, {"frameTree": folded_machine.tree_of("F")}, on="s-F")
    assert fold.health() == "crashed"
    fold.detach("s-P")
    fold.attach("P", session="s-P2")
    fold.refuse(TREE)
    assert fold.health() == "crashed"
    fold.reply(TREE, {"frameTree": folded_machine.tree_of("P")})
    assert fold.health() == "ok"


def test_a_tree_with_a_lost_reply_is_not_requested_again() -> None:
    fold = on_a_page()
    fold.lose(TREE)
    assert len(fold.all_sent(TREE)) == 1


def test_an_unreadable_tree_leaves_the_known_frames() -> None:
    fold = folded_machine.with_tree("A")
    fold.event("Inspector.targetReloadedAfterCrash", on="s-P")
    fold.ends(fold.sent(TREE).ticket, Malformed(id=1, reason="torn", size=9))
    assert fold.tree() == {"P": {"A": {}}}
    assert len(fold.all_sent(TREE)) == 2


def test_a_tree_of_an_ended_session_is_ignored() -> None:
    fold = folded_machine.with_tree("A")
    fold.event("Inspector.targetReloadedAfterCrash", on="s-P")
    fold.detach("s-P")
    fold.reply(TREE, {"frameTree": folded_machine.tree_of("P", "B")}, on="s-P")
    assert set(fold.page().frames) == {"P", "A"}


# ── target info ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_target_s_url_counts_until_the_page_reports_its_own() -> None:
    fold = on_a_page()
    fold.event("Target.targetInfoChanged", targetInfo={"targetId": "P", "url": "http://b/", "title": "B"})
    assert (fold.page().url, fold.page().title) == ("http://b/", "B")
    fold.event("Page.frameNavigated", on="s-P", frame={"id": "P", "url": "http://c/"}, type="Navigation")
    fold.event("Target.targetInfoChanged", targetInfo={"targetId": "P", "url": "http://old/", "title": "C"})
    assert (fold.page().url, fold.page().title) == ("http://c/", "C")


def test_target_info_without_an_opener_or_a_context_changes_neither() -> None:
    fold = on_a_page()
    fold.event(
        "Target.targetInfoChanged", targetInfo={"targetId": "P", "openerId": "O", "browserContextId": "C", "url": "u"}
    )
    fold.event("Target.targetInfoChanged", targetInfo={"targetId": "P", "url": "http://b/"})
    assert (fold.page().opener_id, fold.page().context_id) == ("O", "C")


def test_a_page_that_a_prerendered_one_replaced_is_gone() -> None:
    """Fact 45."""
    fold = on_a_page()
    fold.event("Target.targetInfoChanged", targetInfo={"targetId": "P", "subtype": "disconnected"})
    assert fold.reported(PageGone) == [PageGone(target_id="P", reason="replaced")]


def test_events_of_an_unknown_target_change_nothing() -> None:
    fold = on_a_page()
    pages = fold.state.pages
    fold.event("Target.targetInfoChanged", targetInfo={"targetId": "X", "url": "http://x/"})
    fold.event("Target.targetDestroyed", targetId="X")
    fold.event("Target.targetInfoChanged", targetInfo={"targetId": "X", "subtype": "disconnected"})
    fold.event("Target.targetCrashed", targetId="X")
    assert fold.state.pages is pages


def test_a_page_is_gone_with_its_target_and_its_dialogs_are_kept() -> None:
    fold = on_a_page()
    fold.ask(Focus(target_id="P"))
    fold.opening()
    fold.event("Target.targetDestroyed", targetId="P")
    shown = fold.shown()
    assert not shown.pages
    assert not shown.pending_dialogs
    assert [(each.closed_by, each.reason) for each in shown.recent_dialogs] == [("remote", "target_gone")]
    assert (shown.focus, shown.page_gone) == (None, ("P", "closed"))


def test_the_end_of_a_page_without_the_focus_keeps_the_focus() -> None:
    fold = on_a_page()
    fold.attach("Q")
    fold.attach("R")
    fold.ask(Focus(target_id="P"))
    fold.event("Target.targetDestroyed", targetId="Q")
    assert (fold.shown().focus, fold.shown().page_gone) == ("P", None)


def test_the_first_page_gets_the_focus_and_a_later_one_does_not() -> None:
    fold = folded_machine.Fold().up().lists()
    fold.attach("P")
    fold.attach("Q")
    assert fold.state.only_page == "P"
    fold.event("Target.targetDestroyed", targetId="P")
    assert (fold.state.only_page, fold.shown().page_gone, fold.shown().focus) == (None, ("P", "closed"), None)
    fold.event("Target.targetDestroyed", targetId="Q")
    fold.attach("R")  # no request has focused this one
    assert (fold.state.only_page, fold.shown().page_gone, fold.shown().focus) == (None, ("P", "closed"), None)


def test_the_focused_page_takes_precedence_over_the_only_page() -> None:
    fold = on_a_page().lists("P")
    fold.attach("Q")
    fold.ask(Focus(target_id="Q"))
    fold.event("Target.targetDestroyed", targetId="P")
    assert (fold.shown().focus, fold.shown().page_gone) == ("Q", None)
    fold.event("Target.targetDestroyed", targetId="Q")
    assert fold.shown().page_gone == ("Q", "closed")


# ── crashes ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_crash_is_published_once_and_ends_no_session() -> None:
    """Two events report it: one on the session, one for the target."""
    fold = on_a_page()
    fold.event("Inspector.targetCrashed", on="s-P")
    fold.event("Target.targetCrashed", targetId="P")
    assert fold.reported(PageCrashed) == [PageCrashed(target_id="P")]
    assert fold.health() == "crashed"
    assert session_ids(fold) == ["s-P"]


def test_a_crash_that_only_the_target_event_reports_counts() -> None:
    fold = on_a_page()
    fold.event("Target.targetCrashed", targetId="P")
    assert fold.health() == "crashed"


def test_the_crash_of_a_frame_s_process_is_not_a_crash_of_the_page() -> None:
    fold = folded_machine.with_tree("F")
    fold.attach("F", "iframe", of="s-P")
    fold.event("Inspector.targetCrashed", on="s-F")
    assert fold.health() == "ok"


def test_a_page_that_was_loaded_again_after_a_crash_is_read_again() -> None:
    fold = folded_machine.with_tree("A")
    fold.event("Inspector.targetCrashed", on="s-P")
    fold.event("Inspector.targetReloadedAfterCrash", on="s-P")
    assert fold.health() == "ok"
    fold.reply(TREE, {"frameTree": folded_machine.tree_of("P", "B")}, on="s-P")
    assert fold.tree() == {"P": {"B": {}}}


# ── reconnecting ──────────────────────────────────────────────────────────────────────────────────────────────────────


def reconnect(fold: Any) -> None:
    """Lose the link and get a new one."""
    fold.down()
    fold.passes(60.0).up()


def test_pages_outlive_the_link_and_are_marked_as_stale() -> None:
    fold = folded_machine.with_tree("F")
    fold.attach("F", "iframe", of="s-P")
    fold.down()
    assert fold.health() == "link_down"
    assert fold.tree() == {"P": {"F": {}}}
    assert fold.page().stale
    assert not fold.shown().sessions


def test_pages_that_the_new_link_does_not_list_are_gone_and_the_others_get_a_session() -> None:
    fold = on_a_page()
    fold.attach("Q")
    fold.attach("F", "iframe", of="s-P", parentFrameId="P")
    reconnect(fold)
    list_targets(fold, "P")
    assert [each.target_id for each in fold.shown().pages] == ["P"]
    assert fold.reported(PageGone) == [PageGone(target_id="Q", reason="link_lost")]
    assert set(fold.page().frames) == set()  # the frame's target is not listed either
    assert not fold.shown().link.browser_changed
    fold.passes(1.0)
    assert fold.sent(REOPEN).params == {"targetId": "P", "flatten": True}


def test_a_frame_with_a_listed_target_stays() -> None:
    fold = folded_machine.with_tree("F")
    fold.attach("F", "iframe", of="s-P")
    reconnect(fold)
    list_targets(fold, "P", "F")
    assert fold.tree() == {"P": {"F": {}}}


def test_an_adopting_supervisor_does_not_attach_to_a_listed_page() -> None:
    fold = on_a_page(adopting=True)
    reconnect(fold)
    list_targets(fold, "P")
    fold.passes(10.0)
    assert not fold.all_sent(REOPEN)


def test_a_page_with_a_session_before_the_list_is_not_attached_to_again() -> None:
    fold = on_a_page()
    reconnect(fold)
    fold.attach("P", session="s-P2")
    list_targets(fold, "P")
    fold.passes(10.0)
    assert not fold.all_sent(REOPEN)


def test_if_no_earlier_page_is_left_the_browser_counts_as_changed() -> None:
    fold = on_a_page()
    reconnect(fold)
    list_targets(fold, "N")
    assert fold.shown().link.browser_changed
    assert not fold.shown().pages
    assert any("another browser" in each for each in fold.notes())


def test_if_one_earlier_page_is_found_the_browser_counts_as_the_same() -> None:
    fold = on_a_page()
    fold.attach("Q")
    reconnect(fold)
    fold.attach("P", session="s-P2")
    list_targets(fold, "P")
    assert [each.target_id for each in fold.shown().pages] == ["P"]
    assert not fold.shown().link.browser_changed


def test_if_both_links_name_their_browser_the_pages_do_not_decide() -> None:
    """The same browser may have replaced all its pages, and another one may list the same page id."""
    same = folded_machine.Fold().up(browser_id="B")
    same.attach("P")
    same.down().passes(60.0).up(browser_id="B")
    list_targets(same, "N")
    assert not same.shown().link.browser_changed
    assert not any("another browser" in each for each in same.notes())
    other = folded_machine.Fold().up(browser_id="B")
    other.attach("P")
    other.down().passes(60.0).up(browser_id="C")
    list_targets(other, "P")
    assert other.shown().link.browser_changed
    assert sum("another browser" in each for each in other.notes()) == 1


def test_if_only_one_link_names_its_browser_the_pages_decide() -> None:
    fold = folded_machine.Fold().up(browser_id="B")
    fold.attach("P")
    reconnect(fold)
    list_targets(fold, "N")
    assert fold.shown().link.browser_changed


def test_a_changed_browser_stays_marked_as_changed() -> None:
    fold = on_a_page()
    reconnect(fold)
    list_targets(fold, "N")
    reconnect(fold)
    list_targets(fold, "N")
    assert fold.shown().link.browser_changed


def test_a_session_without_target_info_is_set_up_from_the_list() -> None:
    """Its `Target.attachedToTarget` was missed, so the target info is taken from the list."""
    fold = folded_machine.Fold(scope=Scope.context("C")).up()
    fold.opens("P")
    fold.opens("Q")
    fold.reply(TARGETS, {"targetInfos": [{"targetId": "P", "browserContextId": "C", "url": "http://a/"}]})
    assert [(each.target_id, each.url) for each in fold.shown().pages] == [("P", "http://a/")]
    assert session_ids(fold) == ["s-P"]


def test_a_page_that_is_attached_after_a_reconnect_takes_its_url_from_the_target_info() -> None:
    """The report of the earlier session is stale."""
    fold = folded_machine.with_tree()
    reconnect(fold)
    fold.attach("P", session="s-P2", url="http://moved/")
    assert fold.page().url == "http://moved/"


def test_the_deadline_to_attach_again_is_cancelled_once_a_session_exists() -> None:
    fold = on_a_page()
    fold.detach("s-P")
    assert any("without its session" in each for each in fold.deadline_reasons())
    fold.attach("P", session="s-P2")
    assert not any("without its session" in each for each in fold.deadline_reasons())
    fold.passes(1.0)
    assert not fold.all_sent(REOPEN)


def test_the_reload_of_a_frame_s_process_reads_the_frame_and_not_the_page() -> None:
    fold = folded_machine.with_tree("F")
    fold.attach("F", "iframe", of="s-P")
    fold.event("Inspector.targetCrashed", on="s-P")
    fold.event("Inspector.targetReloadedAfterCrash", on="s-F")
    assert {each.partition(" ")[0] for each in sent_to_sessions(fold)} == {"s-F"}
    assert "s-F Page.getFrameTree" in sent_to_sessions(fold)
    assert fold.health() == "crashed"


@pytest.mark.parametrize("session", ["s-P2", "unknown"])
def test_a_reload_repeats_the_setup_only_on_the_primary_session(session: str) -> None:
    """The rule itself checks it, whatever calls the rule."""
    fold = folded_machine.with_tree()
    fold.attach("P", session="s-P2")
    transition = Transition(fold.state, fold.at, fold.now)
    pages.reload_after_crash(transition, fold.page(), SessionId(session))
    assert not transition.effects
    assert transition.state is fold.state


def test_the_end_of_a_worker_leaves_its_page_attached() -> None:
    fold = on_a_page()
    fold.attach("W", "worker", of="s-P")
    fold.detach("s-W")
    assert fold.page().session_id == "s-P"
    assert fold.health() == "ok"


def test_the_end_of_a_session_without_a_page_changes_no_page() -> None:
    fold = on_a_page()
    fold.attach("W", "service_worker")
    kept = fold.state.pages
    fold.detach("s-W")
    assert fold.state.pages is kept
    assert session_ids(fold) == ["s-P"]


def test_the_info_of_a_frame_s_target_updates_the_frame() -> None:
    """Fact 40."""
    fold = folded_machine.with_tree("F")
    fold.attach("F", "iframe", of="s-P")
    fold.event("Target.targetInfoChanged", targetInfo={"targetId": "F", "url": "http://f2/", "title": "not the page's"})
    assert fold.page().frames["F"].url == "http://f2/"
    assert fold.page().title == ""


def test_the_deadline_of_a_page_without_a_session_ends_with_the_link() -> None:
    fold = folded_machine.on_a_page()
    fold.detach("s-P")
    assert any("without its session" in each for each in fold.deadline_reasons())
    fold.down()
    assert not any("without its session" in each for each in fold.deadline_reasons())


def test_a_page_that_navigates_is_not_blocked_when_its_setup_is_overdue() -> None:
    fold = folded_machine.on_a_page()
    fold.event("Page.frameStartedNavigating", on="s-P", frameId="P", loaderId="l", navigationType="reload")
    fold.passes(60.0)
    assert fold.health() == "navigating"
    fold.event("Page.frameStoppedLoading", on="s-P", frameId="P")
    fold.passes(60.0)
    assert fold.health() == "blocked"


def test_a_session_that_auto_attach_made_superfluous_is_ended() -> None:
    """A page without its session is attached to again; auto-attach may be quicker (fact 47)."""
    fold = folded_machine.on_a_page()
    fold.detach("s-P")
    fold.passes(60.0)
    assert fold.sent("Target.attachToTarget").params["targetId"] == "P"
    fold.attach("P", session="auto")
    fold.attach("P", session="ours")
    fold.reply("Target.attachToTarget", {"sessionId": "ours"})
    assert Detach(session_id="ours", parent=None) in fold.last
    assert fold.state.opened == ()


def test_a_session_that_ended_before_the_reply_to_its_attach_is_of_no_interest() -> None:
    fold = folded_machine.on_a_page()
    fold.detach("s-P")
    fold.passes(60.0)
    fold.reply("Target.attachToTarget", {"sessionId": "gone"})
    assert fold.state.opened == ()
    assert not any(isinstance(each, Detach) for each in fold.last)


def test_in_a_shared_browser_no_target_is_resumed() -> None:
    fold = folded_machine.Fold(scope=Scope.browser().shared()).up()
    fold.attach("P")
    assert "s-P resume" not in sent_to_sessions(fold)
    assert AutoAttach(session_id="s-P", wait=False) in fold.last


def test_the_end_of_a_frame_s_session_ends_what_was_known_of_its_silence() -> None:
    fold = folded_machine.with_tree("F")
    fold.attach("F", "iframe", of="s-P", parentFrameId="P")
    fold.passes(3.0)
    assert fold.health() == "frame_blocked"
    fold.detach("s-F")
    assert fold.health() == "ok"
    fold.attach("G", "iframe", of="s-P", parentFrameId="P")
    fold.reply(TREE, {"frameTree": folded_machine.tree_of("G")}, on="s-G")
    folded_machine.call(fold, frame_id="G", timeout=2.0)
    fold.passes(1.0).passes(1.0)
    assert fold.health() == "frame_busy"
    fold.detach("s-G")
    assert fold.health() == "ok"
