"""Dialogs: how each is met, answered and ended, who is credited, and what nobody can answer any more."""

from __future__ import annotations

from typing import Any, Final

import pytest

from cdp_core.sansio.structs import replace
from cdp_supervisor.errors import AmbiguousDialog, DialogAnswerRefused, DialogUnanswerable, UnknownDialog
from cdp_supervisor.sansio import dialogs
from cdp_supervisor.sansio.changes import DialogClosed, DialogOpened
from cdp_supervisor.sansio.dialog_table import TABLE
from cdp_supervisor.sansio.dialog_view import DialogView
from cdp_supervisor.sansio.options import Limits, Policy, Scope
from cdp_supervisor.sansio.requests import Call, Recover, SetPolicy, Stop
from cdp_supervisor.sansio.transition import Transition
from support import folded_machine

HANDLE: Final = "Page.handleJavaScriptDialog"


def on_a_page(**options: Any) -> Any:
    return folded_machine.on_a_page(**options)


def with_frame(**options: Any) -> Any:
    """Beside the page there is a frame F in a process of its own."""
    fold = on_a_page(**options)
    fold.attach("F", "iframe", of="s-P", parentFrameId="P")
    return fold


# ── how one is met ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_opening_is_shown_with_what_the_page_wrote() -> None:
    fold = on_a_page()
    fold.opening(type="prompt", message="name?", defaultPrompt="x")
    (shown,) = fold.pending()
    assert (shown.id, shown.type, shown.message, shown.default_prompt) == ("d-1", "prompt", "name?", "x")
    assert shown.answerable
    assert fold.reported(DialogOpened) == [DialogOpened(dialog_id="d-1", target_id="P", type="prompt")]


def test_what_an_opening_does_not_say_is_taken_for_the_page_s_alert() -> None:
    fold = on_a_page()
    fold.says("Page.javascriptDialogOpening", on="s-P")
    (shown,) = fold.pending()
    assert (shown.frame_id, shown.type) == ("P", "alert")


def test_a_message_is_cut_at_the_limit() -> None:
    fold = on_a_page(limits=Limits(text_kept=4))
    fold.opening(message="abcdefgh", defaultPrompt="123456")
    assert (fold.pending()[0].message, fold.pending()[0].default_prompt) == ("abcd", "1234")


@pytest.mark.parametrize(("policy", "accept"), [("auto_accept", True), ("auto_dismiss", False)])
def test_a_policy_answers_at_once_on_the_page_s_session(policy: str, accept: bool) -> None:
    """Fact 2: also a frame of another process is answered for by the page's session."""
    fold = with_frame(policy=Policy(policy))
    dialog = fold.opening("F")
    assert fold.sent(HANDLE).session_id == "s-P"
    assert fold.sent(HANDLE).params == {"accept": accept}
    assert "answering a dialog by policy" in fold.notes()
    fold.closing("F", result=accept).reply(HANDLE)
    assert fold.end_of(dialog) == ("auto_policy", "answered")


@pytest.mark.parametrize(("prompt_text", "typed"), [(None, "default"), ("mine", "mine")])
def test_a_prompt_is_accepted_with_the_policy_s_text_or_the_page_s_own(prompt_text: str | None, typed: str) -> None:
    fold = on_a_page(policy=Policy("auto_accept", prompt_text=prompt_text))
    fold.opening(type="prompt", defaultPrompt="default")
    assert fold.sent(HANDLE).params == {"accept": True, "promptText": typed}


def test_who_must_respond_has_so_long_and_then_the_watchdog_dismisses() -> None:
    fold = on_a_page(policy=Policy(dialog_timeout=10.0))
    dialog = fold.opening()
    assert fold.pending()[0].deadline == 10.0
    fold.passes(9.9)
    assert not fold.all_sent(HANDLE)
    fold.passes(0.1)
    assert fold.sent(HANDLE).params == {"accept": False}
    assert fold.pending()[0].deadline is None
    assert "dismissing a dialog that got no answer in time" in fold.notes()
    fold.closing().reply(HANDLE)
    assert fold.end_of(dialog) == ("watchdog", "answered")


def test_who_only_observes_answers_nothing_and_times_nothing() -> None:
    fold = on_a_page(scope=Scope.browser().observed(), policy=Policy("auto_accept"))
    fold.opening()
    assert fold.pending()[0].answerable
    assert fold.pending()[0].deadline is None
    fold.passes(1_000.0)
    assert not fold.all_sent(HANDLE)


def test_beyond_the_limit_a_dialog_is_left_out_and_counted() -> None:
    fold = with_frame(limits=Limits(dialogs_kept=1))
    fold.opening()
    fold.opening("F")
    assert [each.id for each in fold.pending()] == ["d-1"]
    assert fold.count("dialogs_left_out") == 1


# ── who ended it ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_answer_is_credited_at_the_reply_that_comes_after_the_closing() -> None:
    """Fact 1: the closing says not whose answer it was, so nobody is told before the reply."""
    fold = on_a_page()
    dialog = fold.opening()
    ask = fold.respond("accept")
    fold.closing(result=True)
    assert ask not in fold.answers
    assert not fold.pending()
    fold.reply(HANDLE)
    assert fold.end_of(dialog) == ("agent", "answered")
    answered = fold.answers[ask].value
    assert isinstance(answered, DialogView)
    assert (answered.id, answered.closed_by) == (dialog, "agent")
    assert fold.reported(DialogClosed)[0].closed_by == "agent"
    assert fold.count("closed_by_agent") == 1


def test_a_reply_before_the_closing_is_waited_on_and_credited() -> None:
    fold = on_a_page()
    dialog = fold.opening()
    ask = fold.respond("dismiss")
    fold.reply(HANDLE)
    assert fold.pending()[0].answering
    fold.closing()
    assert fold.end_of(dialog) == ("agent", "answered")
    assert fold.error(ask) == ""


def test_what_was_confirmed_before_the_closing_is_ours_whatever_the_closing_says() -> None:
    fold = on_a_page()
    dialog = fold.opening()
    fold.respond("accept")
    fold.reply(HANDLE).closing(result=False)
    assert fold.end_of(dialog) == ("agent", "answered")


def test_each_wait_for_the_end_of_a_dialog_has_its_own_time() -> None:
    fold = on_a_page()
    dialog = fold.opening()
    fold.respond()
    fold.passes(3.0).closing(result=True)
    fold.passes(4.0)
    assert not fold.dialog(dialog).closed_by
    fold.passes(1.0)
    assert fold.end_of(dialog) == ("remote", "unconfirmed")
    assert not any("dialog" in each for each in fold.because())


def test_a_frame_s_second_closing_is_of_none_once_the_first_was_heard() -> None:
    fold = on_a_page()
    fold.opening()
    fold.respond()
    fold.closing(result=True).closing()
    assert fold.count("closed_without_opening") == 1
    assert not fold.count("impossible_dialog_moves")


@pytest.mark.parametrize(("action", "result"), [("accept", False), ("dismiss", True)])
def test_a_closing_that_says_other_than_our_answer_is_somebody_else_s(action: str, result: bool) -> None:
    """Ours is still on its way, and its reply says nothing of this dialog any more."""
    fold = on_a_page()
    dialog = fold.opening()
    ask = fold.respond(action)
    fold.closing(result=result)
    assert fold.end_of(dialog)[0] == "remote"
    assert fold.error(ask) == "DialogAnswerRefused"
    fold.reply(HANDLE)
    assert fold.end_of(dialog)[0] == "remote"


@pytest.mark.parametrize(
    ("params", "reason"),
    [({"result": True}, "other_client"), ({"userInput": "typed"}, "other_client"), ({}, "closed_elsewhere")],
)
def test_a_closing_without_an_answer_of_ours_is_remote(params: dict[str, Any], reason: str) -> None:
    fold = on_a_page()
    dialog = fold.opening()
    fold.closing(**params)
    assert fold.end_of(dialog) == ("remote", reason)


def test_an_answer_that_came_too_late_is_not_credited() -> None:
    """Somebody closed it, and ours is refused: `remote`, and the asker is told."""
    fold = on_a_page()
    dialog = fold.opening()
    ask = fold.respond()
    fold.closing(result=True).refuse(HANDLE, folded_machine.NONE_SHOWING)
    assert fold.end_of(dialog) == ("remote", "other_client")
    error = fold.answers[ask].error
    assert isinstance(error, DialogAnswerRefused)
    assert (error.reason, error.code) == ("other_client", folded_machine.NONE_SHOWING)
    assert fold.count("answers_refused") == 1


def test_an_answer_that_the_browser_did_not_refuse_has_no_code() -> None:
    fold = on_a_page()
    fold.opening()
    first, second = fold.respond(), fold.respond()
    fold.says("Target.targetDestroyed", targetId="P")
    assert [fold.answers[ask].error.code for ask in (first, second)] == [None, None]


@pytest.mark.parametrize("gone", ["the dialog", "the page"])
def test_the_browser_s_refusal_of_a_dialog_that_is_gone_touches_none(gone: str) -> None:
    fold = on_a_page()
    dialog = fold.opening()
    fold.respond()
    if gone == "the page":
        fold.says("Target.targetDestroyed", targetId="P")
    else:
        fold.closing(result=False)  # it was ours to accept: somebody else's
    before = fold.dialog(dialog)
    assert before.closed_by == "remote"
    fold.refuse(HANDLE, folded_machine.NONE_SHOWING)
    assert fold.dialog(dialog) is before


def test_a_closing_while_a_cure_is_under_way_is_the_navigation_s() -> None:
    fold = on_a_page()
    dialog = fold.opening()
    fold.respond()
    fold.refuse(HANDLE, folded_machine.NONE_SHOWING)
    fold.ask(Recover(target_id="P", remedy="reload"))
    fold.closing()
    assert fold.end_of(dialog) == ("remote", "navigation")
    assert not fold.page().remedy_pending


def test_a_closing_without_an_opening_is_tolerated_and_counted() -> None:
    """Fact 18."""
    fold = on_a_page().closing()
    assert fold.count("closed_without_opening") == 1
    assert not fold.shown().recent_dialogs


def test_a_closing_of_nobody_s_supersedes_what_is_shown_in_a_window() -> None:
    """Something was up before that nobody saw; what opened meanwhile is answered for to nobody (fact 3)."""
    fold = with_frame()
    fold.opening("F")
    fold.closing("P")
    assert fold.pending()[0].why == "superseded"


def test_a_closing_of_nobody_s_leaves_alone_what_has_no_window_or_is_closed() -> None:
    fold = with_frame()
    fold.opening("F", native=False)
    fold.closing("P")
    assert fold.pending()[0].answerable
    closed = with_frame()
    closed.opening("F")
    closed.respond()
    closed.closing("F", result=True).closing("P").reply(HANDLE)
    assert not closed.count("impossible_dialog_moves")
    assert closed.end_of("d-1") == ("agent", "answered")


def test_a_closing_that_names_no_frame_is_of_the_one_that_is_there() -> None:
    fold = on_a_page()
    dialog = fold.opening()
    fold.says("Page.javascriptDialogClosed", on="s-P")
    assert fold.end_of(dialog) == ("remote", "closed_elsewhere")


def test_a_frame_s_next_document_has_one_while_the_old_one_s_closes() -> None:
    """Both are of the same frame: a closing is of the one that is not superseded."""
    fold = on_a_page()
    fold.opening(native=False)
    fold.opening(native=False)
    assert [each.why for each in fold.pending()] == ["superseded", ""]
    fold.closing()
    assert fold.end_of("d-2") == ("remote", "closed_elsewhere")
    fold.closing()
    assert fold.end_of("d-1") == ("remote", "closed_elsewhere")


def test_a_reply_to_an_answer_whose_page_is_gone_means_nothing() -> None:
    fold = on_a_page()
    fold.opening()
    ask = fold.respond()
    fold.says("Target.targetDestroyed", targetId="P")
    before = fold.state.departed
    fold.reply(HANDLE)
    assert fold.state.departed == before
    assert fold.error(ask) == "DialogAnswerRefused"


def test_a_reply_to_an_answer_of_a_dialog_that_has_ended_means_nothing() -> None:
    fold = on_a_page()
    dialog = fold.opening()
    fold.respond()
    fold.closing(result=True).passes(5.0)
    assert fold.end_of(dialog) == ("remote", "unconfirmed")
    fold.reply(HANDLE)
    assert fold.end_of(dialog) == ("remote", "unconfirmed")


def test_an_answer_whose_fate_is_unknown_is_not_credited() -> None:
    fold = on_a_page()
    dialog = fold.opening()
    fold.respond()
    fold.closing(result=True).lose(HANDLE)
    assert fold.end_of(dialog) == ("remote", "unconfirmed")


def test_an_answer_whose_fate_is_unknown_is_still_waited_for() -> None:
    """The end of its session follows, or the closing does."""
    fold = on_a_page()
    fold.opening()
    ask = fold.respond()
    fold.lose(HANDLE)
    assert fold.pending()[0].answering
    assert ask not in fold.answers


@pytest.mark.parametrize("kept", [0, 2])
def test_no_more_of_the_past_is_kept_than_the_limit_says(kept: int) -> None:
    fold = on_a_page(limits=Limits(recent_dialogs=kept))
    for _ in range(3):
        fold.opening()
        fold.closing()
    assert [each.id for each in fold.shown().recent_dialogs] == ["d-2", "d-3"][:kept]


def test_a_move_that_is_in_no_table_is_counted_and_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    fold = on_a_page()
    fold.opening()
    monkeypatch.delitem(TABLE, ("open", "session_lost"))  # type: ignore[arg-type]
    fold.detach("s-P")
    assert fold.count("impossible_dialog_moves") == 1
    assert fold.dialog("d-1").phase == "open"


# ── which of two ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_second_one_in_a_window_is_held_until_it_is_known_which_is_left() -> None:
    """Fact 3: it is not answered by itself while the older one is about to close."""
    fold = with_frame(policy=Policy({"confirm": "auto_accept"}))
    fold.opening("P", type="alert")
    fold.opening("F")
    assert not fold.all_sent(HANDLE)
    fold.passes(0.5)
    assert fold.sent(HANDLE).params == {"accept": True}


def test_a_held_one_is_released_when_the_older_one_ends() -> None:
    fold = with_frame(policy=Policy({"confirm": "auto_accept"}))
    fold.opening("F", type="alert")
    fold.opening("P")
    assert fold.dialog("d-2").phase == "open"
    fold.says("Page.frameDetached", on="s-P", frameId="F", reason="remove")
    assert fold.dialog("d-2").phase == "answering"
    assert not fold.dialog("d-2").held


def test_a_held_one_is_not_released_when_another_than_the_oldest_ends() -> None:
    fold = with_frame(policy=Policy({"confirm": "auto_accept"}))
    fold.attach("G", "iframe", of="s-P", parentFrameId="P")
    fold.opening("P", type="alert")
    fold.opening("F")
    fold.opening("G")
    fold.says("Page.frameDetached", on="s-P", frameId="G", reason="remove")
    assert fold.end_of("d-3") == ("remote", "frame_gone")
    assert fold.dialog("d-2").held
    assert not fold.all_sent(HANDLE)


def test_nothing_is_held_for_what_is_answered_already() -> None:
    fold = with_frame(policy=Policy({"confirm": "auto_accept"}))
    fold.opening("F", type="alert")
    fold.respond()
    fold.reply(HANDLE)
    fold.opening("P")
    assert fold.dialog("d-2").phase == "answering"


def test_without_a_window_the_newer_one_is_met_at_once() -> None:
    """There it is the one that can be answered (fact 26)."""
    fold = with_frame(policy=Policy({"confirm": "auto_accept"}))
    fold.opening("F", type="alert", native=False)
    fold.opening("P", native=False)
    assert fold.dialog("d-2").phase == "answering"


def test_a_frame_s_second_one_leaves_the_open_first_one_open() -> None:
    fold = on_a_page()
    fold.opening()
    fold.opening()
    assert [(each.id, each.answerable) for each in fold.pending()] == [("d-1", True), ("d-2", True)]


def test_the_older_one_can_still_be_answered_when_the_newer_one_closes() -> None:
    fold = with_frame()
    fold.opening("P")
    fold.opening("F")
    fold.closing("F")
    assert [(each.id, each.answerable) for each in fold.pending()] == [("d-1", True)]


def test_the_newer_one_is_superseded_when_the_older_one_closes() -> None:
    """Fact 3: the browser shows it, and answers for it to nobody."""
    fold = with_frame()
    fold.opening("P")
    fold.opening("F")
    fold.closing("P")
    (left,) = fold.pending()
    assert (left.id, left.why, left.answerable) == ("d-2", "superseded", False)
    assert left.remedies == ("same_document", "navigate", "reload", "close")


def test_without_a_window_the_older_one_is_superseded() -> None:
    """Fact 26."""
    fold = with_frame()
    fold.opening("P", native=False)
    fold.opening("F", native=False)
    assert [(each.id, each.why) for each in fold.pending()] == [("d-1", "superseded"), ("d-2", "")]


def test_what_is_stuck_is_over_when_its_process_opens_another_one() -> None:
    """A stopped process raises no dialog: it runs scripts again."""
    fold = on_a_page()
    fold.opening()
    fold.respond()
    fold.refuse(HANDLE, folded_machine.NOT_ACTIVE)
    fold.opening()
    assert fold.end_of("d-1") == ("remote", "page_inactive")
    assert fold.pending()[0].answerable


def test_an_answered_one_has_ended_when_its_frame_opens_another_one() -> None:
    fold = on_a_page()
    fold.opening()
    fold.respond()
    fold.reply(HANDLE)
    fold.opening()
    assert fold.end_of("d-1") == ("agent", "answered")


def test_a_held_mark_on_what_is_answered_already_changes_nothing() -> None:
    """Only an open dialog is met; who is being answered is not answered again."""
    fold = on_a_page()
    fold.opening()
    fold.respond()
    page = fold.page()
    marked = replace(page, dialogs=(replace(page.dialogs[0], held=True),))
    fold.state = replace(fold.state, pages=fold.state.pages.set(page.id, marked))
    fold.passes(5.0)
    assert len(fold.all_sent(HANDLE)) == 1
    assert fold.dialog("d-1").phase == "answering"


# ── what nobody can answer ───────────────────────────────────────────────────────────────────────────────────────────


def test_a_refused_answer_names_the_reason_and_the_cures() -> None:
    """Fact 22: a page in pagehide; there a navigation within the document frees nothing."""
    fold = on_a_page()
    fold.opening()
    ask = fold.respond()
    fold.refuse(HANDLE, folded_machine.NOT_ACTIVE)
    error = fold.answers[ask].error
    assert isinstance(error, DialogUnanswerable)
    assert (error.why, error.remedies) == ("page_inactive", ("navigate", "close"))
    assert not fold.all_sent("Runtime.evaluate")


def test_none_showing_is_probed_and_the_page_s_reply_ends_it() -> None:
    """Either it is gone, or wedged (fact 4): a script that runs says which."""
    fold = on_a_page()
    dialog = fold.opening()
    fold.respond()
    fold.refuse(HANDLE, folded_machine.NONE_SHOWING)
    probe = fold.sent("Runtime.evaluate")
    assert probe.session_id == "s-P"
    assert fold.pending()[0].why == "unseen"
    fold.reply("Runtime.evaluate")
    assert fold.end_of(dialog) == ("remote", "unseen")


def test_where_the_process_has_no_session_nothing_is_probed() -> None:
    fold = with_frame()
    fold.opening("F")
    fold.respond()
    fold.detach("s-F", "parent_ended")
    fold.refuse(HANDLE, folded_machine.NONE_SHOWING)
    assert fold.pending()[0].why == "unseen"
    assert not fold.all_sent("Runtime.evaluate")


def test_a_reply_to_what_was_sent_before_proves_nothing() -> None:
    fold = on_a_page()
    fold.opening()
    fold.respond()
    fold.passes(5.0)
    fold.reply("Page.getFrameTree", {}, on="s-P")
    assert fold.pending()[0].why == "unseen"


def test_a_reply_ends_no_dialog_that_is_open() -> None:
    """What was asked before it opened may still be answered."""
    fold = on_a_page()
    fold.opening()
    fold.reply("Page.getFrameTree", {}, on="s-P")
    assert fold.pending()[0].answerable
    assert not fold.count("impossible_dialog_moves")


def test_what_is_stuck_keeps_the_time_that_it_had() -> None:
    fold = on_a_page(policy=Policy(dialog_timeout=20.0))
    fold.opening()
    fold.passes(1.0)
    fold.respond()
    fold.refuse(HANDLE, folded_machine.NOT_ACTIVE)
    fold.passes(18.9)
    assert (fold.pending()[0].deadline, fold.pending()[0].overdue) == (20.0, False)
    fold.passes(0.1)
    assert (fold.pending()[0].deadline, fold.pending()[0].overdue) == (None, True)


def test_a_reply_of_another_process_proves_nothing() -> None:
    fold = with_frame()
    fold.opening("P")
    fold.respond()
    fold.passes(5.0)
    fold.says("Inspector.targetReloadedAfterCrash", on="s-F")
    fold.reply("Page.getFrameTree", {}, on="s-F")
    assert fold.pending()[0].why == "unseen"


def test_a_dialog_that_only_a_session_saw_that_ended_is_orphaned_and_then_overdue() -> None:
    fold = on_a_page(policy=Policy(dialog_timeout=20.0))
    fold.opening()
    fold.passes(15.0)
    fold.detach("s-P")
    assert (fold.pending()[0].why, fold.pending()[0].deadline) == ("orphaned", 20.0)
    fold.passes(5.0)
    assert fold.pending()[0].overdue
    assert "an unanswerable dialog is overdue" in fold.notes()


def test_what_is_stuck_is_orphaned_with_its_link_and_keeps_its_time() -> None:
    fold = on_a_page(policy=Policy(dialog_timeout=20.0))
    fold.opening()
    fold.respond()
    fold.refuse(HANDLE, folded_machine.NOT_ACTIVE).passes(1.0)
    fold.down()
    assert (fold.pending()[0].why, fold.pending()[0].deadline) == ("orphaned", 20.0)
    assert fold.notes().count("a dialog became unanswerable") == 1


# ── frames and pages that go ─────────────────────────────────────────────────────────────────────────────────────────


def test_the_dialog_of_a_removed_frame_has_ended() -> None:
    fold = with_frame()
    dialog = fold.opening("F")
    fold.says("Page.frameDetached", on="s-P", frameId="F", reason="remove")
    assert fold.end_of(dialog) == ("remote", "frame_gone")


def test_a_dialog_of_another_frame_does_not_end_with_a_removed_one() -> None:
    fold = with_frame()
    fold.opening("P")
    fold.says("Page.frameDetached", on="s-P", frameId="F", reason="remove")
    assert fold.pending()[0].answerable


def test_the_navigation_of_a_frame_ends_no_dialog_of_it() -> None:
    """It may only have got another process, while its first document still asks in the old one."""
    fold = folded_machine.with_tree("A")
    fold.opening("A", native=False)
    fold.says("Page.frameNavigated", on="s-P", frame={"id": "A", "parentId": "P"}, type="Navigation")
    assert fold.pending()[0].answerable


def test_an_answered_dialog_of_a_removed_frame_is_credited() -> None:
    fold = with_frame()
    dialog = fold.opening("F")
    fold.respond()
    fold.reply(HANDLE)
    fold.says("Page.frameDetached", on="s-P", frameId="F", reason="remove")
    assert fold.end_of(dialog) == ("agent", "answered")


def test_a_closed_dialog_of_a_removed_frame_still_waits_for_its_reply() -> None:
    fold = with_frame()
    dialog = fold.opening("F")
    fold.respond()
    fold.closing("F", result=True)
    fold.says("Page.frameDetached", on="s-P", frameId="F", reason="remove")
    fold.reply(HANDLE)
    assert fold.end_of(dialog) == ("agent", "answered")


@pytest.mark.parametrize(("native", "ended"), [(False, ("remote", "navigation")), (True, ("", ""))])
def test_a_navigation_ends_one_without_a_window_and_no_other(native: bool, ended: tuple[str, str]) -> None:
    """In a window the browser says itself that it closed."""
    fold = folded_machine.with_tree()
    dialog = fold.opening(native=native)
    fold.says("Page.frameNavigated", on="s-P", frame={"id": "P", "url": "http://b/"}, type="Navigation")
    assert fold.end_of(dialog) == ended


def test_a_navigation_ends_what_is_stuck() -> None:
    fold = folded_machine.with_tree()
    dialog = fold.opening()
    fold.respond()
    fold.refuse(HANDLE, folded_machine.NOT_ACTIVE)
    fold.says("Page.frameNavigated", on="s-P", frame={"id": "P"}, type="Navigation")
    assert fold.end_of(dialog) == ("remote", "navigation")


def test_what_ended_meanwhile_is_not_ended_twice() -> None:
    """A rule may hold a page as it was before: the dialog is looked for in the page as it is."""
    fold = folded_machine.with_tree()
    fold.opening()
    before = fold.page()
    fold.closing()
    transition = Transition(fold.state, fold.at)
    dialogs.frame_gone(transition, before, ["P"], "frame_gone")
    assert transition.state.pages["P"].recent == fold.page().recent  # type: ignore[index]
    assert not transition.effects


def test_the_time_of_a_dialog_that_is_not_there_means_nothing() -> None:
    fold = on_a_page()
    fold.opening()
    state = replace(fold.state, dialog_on=fold.state.dialog_on.set("d-9", fold.page().id))
    for name in ("d-8", "d-9"):
        transition = Transition(state, fold.at)
        dialogs.due(transition, name)
        assert transition.state is state
        assert not transition.effects


# ── what is asked ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_answer_that_is_none_is_refused_with_those_that_are() -> None:
    fold = on_a_page()
    fold.opening()
    ask = fold.respond("maybe")
    assert "accept, dismiss" in str(fold.answers[ask].error)
    assert not fold.all_sent(HANDLE)


def test_who_only_observes_is_not_let_answer() -> None:
    fold = on_a_page(scope=Scope.browser().observed())
    fold.opening()
    assert "observes" in str(fold.answers[fold.respond()].error)


def test_an_unknown_dialog_is_refused_with_those_that_are_pending() -> None:
    fold = on_a_page()
    fold.opening()
    error = fold.answers[fold.respond(dialog_id="d-7")].error
    assert isinstance(error, UnknownDialog)
    assert error.known == ("d-1",)


def test_without_a_dialog_there_is_none_to_answer() -> None:
    assert on_a_page().error(1) == ""
    fold = on_a_page()
    assert fold.error(fold.respond()) == "NoPendingDialog"


def test_of_two_that_can_be_answered_one_must_be_named() -> None:
    fold = with_frame()
    fold.attach("Q")
    fold.opening("P")
    fold.says("Page.javascriptDialogOpening", on="s-Q", frameId="Q", type="alert")
    error = fold.answers[fold.respond()].error
    assert isinstance(error, AmbiguousDialog)
    assert error.candidates == ("d-1", "d-2")
    fold.respond(dialog_id="d-2")
    assert fold.sent(HANDLE).session_id == "s-Q"


def test_who_names_none_means_the_one_that_can_be_answered() -> None:
    """Neither the one that is being answered, nor the one that is closed."""
    fold = with_frame()
    fold.attach("Q")
    fold.opening("P")
    fold.respond()
    fold.says("Page.javascriptDialogOpening", on="s-Q", frameId="Q", type="alert")
    fold.respond()
    assert fold.sent(HANDLE).session_id == "s-Q"
    closed = on_a_page()
    closed.opening()
    closed.respond()
    closed.closing(result=True)
    assert closed.error(closed.respond()) == "NoPendingDialog"


def test_who_called_where_it_opens_is_told_its_id() -> None:
    fold = folded_machine.with_tree()
    ask = fold.ask(Call(method="Runtime.evaluate"))
    dialog = fold.opening()
    assert fold.answers[ask].error.dialogs == (dialog,)


def test_only_prompts_take_a_text() -> None:
    fold = on_a_page()
    fold.opening()
    assert "prompt_text was given" in str(fold.answers[fold.respond(prompt_text="x")].error)
    fold.closing()
    fold.opening(type="prompt", defaultPrompt="page's")
    fold.respond(prompt_text="mine")
    assert fold.sent(HANDLE).params == {"accept": True, "promptText": "mine"}


def test_a_dismissed_prompt_takes_no_text_along() -> None:
    fold = on_a_page()
    fold.opening(type="prompt")
    fold.respond("dismiss", prompt_text="mine")
    assert fold.sent(HANDLE).params == {"accept": False}


def test_a_second_answer_is_refused_while_the_first_is_on_its_way() -> None:
    fold = on_a_page()
    fold.opening()
    fold.respond()
    assert fold.error(fold.respond()) == "DialogAnswerRefused"
    assert len(fold.all_sent(HANDLE)) == 1


def test_what_nobody_can_answer_is_refused_with_the_cures() -> None:
    fold = on_a_page()
    fold.opening()
    fold.detach("s-P")
    error = fold.answers[fold.respond()].error
    assert isinstance(error, DialogUnanswerable)
    assert error.why == "orphaned"
    assert "navigate" in error.remedies


def test_a_new_policy_meets_what_is_open_and_only_that() -> None:
    fold = with_frame()
    fold.attach("Q")
    fold.says("Page.javascriptDialogOpening", on="s-Q", frameId="Q", type="alert", hasBrowserHandler=True)
    fold.opening("P")
    fold.opening("F")  # held: one of the two is about to end
    fold.respond("dismiss", dialog_id="d-2")
    ask = fold.ask(SetPolicy(policy=Policy("auto_accept")))
    assert fold.answers[ask].error is None
    assert [(each.session_id, each.params) for each in fold.all_sent(HANDLE)] == [
        ("s-P", {"accept": False}),
        ("s-Q", {"accept": True}),
    ]


# ── the end ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("policy", "accept"), [("must_respond", False), ("auto_accept", True)])
def test_what_is_open_at_the_end_is_settled_as_the_policy_would(policy: str, accept: bool) -> None:
    """A dialog that nobody sees any more freezes its page for good (fact 4)."""
    fold = on_a_page()
    fold.opening()
    fold.state = replace(fold.state, policy=Policy(policy))
    fold.ask(Stop())
    assert fold.sent(HANDLE).params == {"accept": accept}
    fold.closing(result=accept).reply(HANDLE)
    assert fold.end_of("d-1") == ("auto_policy", "answered")


def test_what_is_being_answered_at_the_end_is_not_answered_again() -> None:
    fold = on_a_page()
    fold.opening()
    fold.respond()
    fold.ask(Stop())
    assert len(fold.all_sent(HANDLE)) == 1


def test_what_opens_during_the_end_is_settled_at_once() -> None:
    fold = with_frame()
    fold.opening("P")
    fold.ask(Stop())
    fold.opening("F")
    assert [each.params for each in fold.all_sent(HANDLE)] == [{"accept": False}] * 2
