"""Dialogs: opening, answers, the origin of each end, two dialogs on one page, and unanswerable ones."""

from __future__ import annotations

from typing import Any, Final

import pytest

from cdp_core.sansio.structs import replace
from cdp_supervisor.errors import (
    AmbiguousDialog,
    DialogAnswerRefused,
    DialogUnanswerable,
    UnknownDialog,
)
from cdp_supervisor.sansio import dialogs
from cdp_supervisor.sansio.changes import DialogClosed, DialogOpened
from cdp_supervisor.sansio.dialog_table import TABLE
from cdp_supervisor.sansio.dialog_view import DialogView
from cdp_supervisor.sansio.effects import OpenDialog
from cdp_supervisor.sansio.inputs import BrowserEvent
from cdp_supervisor.sansio.options import Limits, Policy, Scope
from cdp_supervisor.sansio.requests import Call, Recover, RespondToDialog, SetPolicy, Stop
from cdp_supervisor.sansio.transition import Transition
from support import folded_machine

HANDLE: Final = "Page.handleJavaScriptDialog"


def on_a_page(**options: Any) -> Any:
    return folded_machine.on_a_page(**options)


def with_frame(**options: Any) -> Any:
    """Return a fold with a page that has an out-of-process frame F."""
    fold = on_a_page(**options)
    fold.attach("F", "iframe", of="s-P", parentFrameId="P")
    return fold


# ── how a dialog is handled ───────────────────────────────────────────────────────────────────────────────────────────


def test_an_open_dialog_is_shown_with_the_texts_of_the_page() -> None:
    fold = on_a_page()
    fold.opening(type="prompt", message="name?", defaultPrompt="x")
    (shown,) = fold.pending()
    assert (shown.id, shown.type, shown.message, shown.default_prompt) == ("d-1", "prompt", "name?", "x")
    assert shown.answerable
    assert fold.reported(DialogOpened) == [DialogOpened(dialog_id="d-1", target_id="P", type="prompt")]


def test_an_opening_without_params_is_an_alert_of_the_page() -> None:
    fold = on_a_page()
    fold.event("Page.javascriptDialogOpening", on="s-P")
    (shown,) = fold.pending()
    assert (shown.frame_id, shown.type) == ("P", "alert")


def test_a_message_is_cut_at_the_limit() -> None:
    fold = on_a_page(limits=Limits(text_kept=4))
    fold.opening(message="abcdefgh", defaultPrompt="123456")
    assert (fold.pending()[0].message, fold.pending()[0].default_prompt) == ("abcd", "1234")


@pytest.mark.parametrize(("policy", "accept"), [("auto_accept", True), ("auto_dismiss", False)])
def test_a_policy_answers_at_once_on_the_page_s_session(policy: str, accept: bool) -> None:
    """Fact 2: the page's session also answers a dialog of a frame in another process."""
    fold = with_frame(policy=Policy(policy))
    dialog = fold.opening("F")
    assert fold.sent(HANDLE).session_id == "s-P"
    assert fold.sent(HANDLE).params == {"accept": accept}
    assert "answering a dialog by policy" in fold.notes()
    fold.closing("F", result=accept).reply(HANDLE)
    assert fold.end_of(dialog) == ("auto_policy", "answered")


@pytest.mark.parametrize(("prompt_text", "typed"), [(None, "default"), ("mine", "mine")])
def test_a_prompt_is_accepted_with_the_policy_s_text_or_the_page_s_default(prompt_text: str | None, typed: str) -> None:
    fold = on_a_page(policy=Policy("auto_accept", prompt_text=prompt_text))
    fold.opening(type="prompt", defaultPrompt="default")
    assert fold.sent(HANDLE).params == {"accept": True, "promptText": typed}


def test_the_watchdog_dismisses_a_dialog_that_got_no_response_in_time() -> None:
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


def test_a_new_timeout_counts_from_the_opening_of_the_dialog() -> None:
    fold = on_a_page(policy=Policy(dialog_timeout=10.0))
    fold.opening()
    fold.passes(3.0)
    fold.ask(SetPolicy(policy=Policy(dialog_timeout=20.0)))
    assert fold.pending()[0].deadline == 20.0


def test_an_observing_supervisor_answers_no_dialog_and_sets_no_deadline() -> None:
    fold = on_a_page(scope=Scope.browser().observed(), policy=Policy("auto_accept"))
    fold.opening()
    assert fold.pending()[0].answerable
    assert fold.pending()[0].deadline is None
    fold.passes(1_000.0)
    assert not fold.all_sent(HANDLE)


def test_a_dialog_beyond_the_limit_is_left_out_and_counted() -> None:
    fold = with_frame(limits=Limits(dialogs_kept=1))
    fold.opening()
    fold.opening("F")
    assert [each.id for each in fold.pending()] == ["d-1"]
    assert fold.count("dialogs_left_out") == 1


# ── the origin of the end ─────────────────────────────────────────────────────────────────────────────────────────────


def test_our_answer_is_credited_at_the_reply_after_the_closed_event() -> None:
    """Fact 1: the closed event does not name the client, so the request is answered at the reply."""
    fold = on_a_page()
    dialog = fold.opening()
    request_id = fold.respond("accept")
    fold.closing(result=True)
    assert request_id not in fold.answers
    assert not fold.pending()
    fold.reply(HANDLE)
    assert fold.end_of(dialog) == ("agent", "answered")
    answered = fold.answers[request_id].value
    assert isinstance(answered, DialogView)
    assert (answered.id, answered.closed_by) == (dialog, "agent")
    assert fold.reported(DialogClosed)[0].closed_by == "agent"
    assert fold.count("closed_by_agent") == 1


def test_a_reply_before_the_closed_event_is_credited_at_the_closed_event() -> None:
    fold = on_a_page()
    dialog = fold.opening()
    request_id = fold.respond("dismiss")
    fold.reply(HANDLE)
    assert fold.pending()[0].answering
    fold.closing()
    assert fold.end_of(dialog) == ("agent", "answered")
    assert fold.error(request_id) == ""


def test_a_confirmed_answer_is_credited_whatever_the_result_in_the_closed_event() -> None:
    fold = on_a_page()
    dialog = fold.opening()
    fold.respond("accept")
    fold.reply(HANDLE).closing(result=False)
    assert fold.end_of(dialog) == ("agent", "answered")


def test_each_phase_of_an_answer_has_its_own_deadline() -> None:
    fold = on_a_page()
    dialog = fold.opening()
    fold.respond()
    fold.passes(3.0).closing(result=True)
    fold.passes(4.0)
    assert not fold.dialog(dialog).closed_by
    fold.passes(1.0)
    assert fold.end_of(dialog) == ("remote", "unconfirmed")
    assert not any("dialog" in each for each in fold.deadline_reasons())


def test_a_second_closed_event_of_a_frame_belongs_to_no_dialog() -> None:
    fold = on_a_page()
    fold.opening()
    fold.respond()
    fold.closing(result=True).closing()
    assert fold.count("closed_without_opening") == 1
    assert not fold.count("impossible_dialog_moves")


@pytest.mark.parametrize(("action", "result"), [("accept", False), ("dismiss", True)])
def test_a_closed_event_that_contradicts_our_answer_is_from_another_client(action: str, result: bool) -> None:
    """Our answer is still on its way; its reply no longer changes this dialog."""
    fold = on_a_page()
    dialog = fold.opening()
    request_id = fold.respond(action)
    fold.closing(result=result)
    assert fold.end_of(dialog)[0] == "remote"
    assert fold.error(request_id) == "DialogAnswerRefused"
    fold.reply(HANDLE)
    assert fold.end_of(dialog)[0] == "remote"


@pytest.mark.parametrize(
    ("params", "reason"),
    [({"result": True}, "other_client"), ({"userInput": "typed"}, "other_client"), ({}, "closed_elsewhere")],
)
def test_a_closed_event_without_an_answer_of_ours_is_remote(params: dict[str, Any], reason: str) -> None:
    fold = on_a_page()
    dialog = fold.opening()
    fold.closing(**params)
    assert fold.end_of(dialog) == ("remote", reason)


def test_an_answer_that_came_too_late_is_not_credited() -> None:
    """Another client closed the dialog and our answer is refused: `remote`, and the caller gets an error."""
    fold = on_a_page()
    dialog = fold.opening()
    request_id = fold.respond()
    fold.closing(result=True).refuse(HANDLE, folded_machine.NONE_SHOWING)
    assert fold.end_of(dialog) == ("remote", "other_client")
    error = fold.answers[request_id].error
    assert isinstance(error, DialogAnswerRefused)
    assert (error.reason, error.code) == ("other_client", folded_machine.NONE_SHOWING)
    assert fold.count("answers_refused") == 1


def test_an_error_without_a_refusal_of_the_browser_has_no_code() -> None:
    fold = on_a_page()
    fold.opening()
    first, second = fold.respond(), fold.respond()
    fold.event("Target.targetDestroyed", targetId="P")
    assert [fold.answers[request_id].error.code for request_id in (first, second)] == [None, None]


@pytest.mark.parametrize("gone", ["the dialog", "the page"])
def test_a_refused_answer_to_an_ended_dialog_changes_nothing(gone: str) -> None:
    fold = on_a_page()
    dialog = fold.opening()
    fold.respond()
    if gone == "the page":
        fold.event("Target.targetDestroyed", targetId="P")
    else:
        fold.closing(result=False)  # our answer was accept: another client closed it
    before = fold.dialog(dialog)
    assert before.closed_by == "remote"
    fold.refuse(HANDLE, folded_machine.NONE_SHOWING)
    assert fold.dialog(dialog) is before


def test_a_closed_event_during_a_remedy_is_caused_by_the_navigation() -> None:
    fold = on_a_page()
    dialog = fold.opening()
    fold.respond()
    fold.refuse(HANDLE, folded_machine.NONE_SHOWING)
    fold.ask(Recover(target_id="P", remedy="reload"))
    fold.closing()
    assert fold.end_of(dialog) == ("remote", "navigation")
    assert not fold.page().remedy_pending


def test_a_closed_event_without_an_opening_is_counted_and_ignored() -> None:
    """Fact 18."""
    fold = on_a_page().closing()
    assert fold.count("closed_without_opening") == 1
    assert not fold.shown().recent_dialogs


def test_a_closed_event_of_an_unseen_dialog_supersedes_a_dialog_with_a_window() -> None:
    """The browser takes no answer for a dialog that opened over an unseen one (fact 3)."""
    fold = with_frame()
    fold.opening("F")
    fold.closing("P")
    assert fold.pending()[0].why == "superseded"


def test_a_closed_event_of_an_unseen_dialog_changes_no_windowless_or_closed_dialog() -> None:
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


def test_a_closed_event_without_a_frame_belongs_to_the_only_dialog() -> None:
    fold = on_a_page()
    dialog = fold.opening()
    fold.event("Page.javascriptDialogClosed", on="s-P")
    assert fold.end_of(dialog) == ("remote", "closed_elsewhere")


def test_the_next_document_of_a_frame_may_open_a_dialog_before_the_old_one_closes() -> None:
    """Both belong to one frame: the closed event is for the dialog that is not superseded."""
    fold = on_a_page()
    fold.opening(native=False)
    fold.opening(native=False)
    assert [each.why for each in fold.pending()] == ["superseded", ""]
    fold.closing()
    assert fold.end_of("d-2") == ("remote", "closed_elsewhere")
    fold.closing()
    assert fold.end_of("d-1") == ("remote", "closed_elsewhere")


def test_a_reply_to_an_answer_on_a_gone_page_changes_nothing() -> None:
    fold = on_a_page()
    fold.opening()
    request_id = fold.respond()
    fold.event("Target.targetDestroyed", targetId="P")
    before = fold.state.departed
    fold.reply(HANDLE)
    assert fold.state.departed == before
    assert fold.error(request_id) == "DialogAnswerRefused"


def test_a_reply_to_an_answer_of_an_ended_dialog_changes_nothing() -> None:
    fold = on_a_page()
    dialog = fold.opening()
    fold.respond()
    fold.closing(result=True).passes(5.0)
    assert fold.end_of(dialog) == ("remote", "unconfirmed")
    fold.reply(HANDLE)
    assert fold.end_of(dialog) == ("remote", "unconfirmed")


def test_an_answer_with_a_lost_reply_is_not_credited() -> None:
    fold = on_a_page()
    dialog = fold.opening()
    fold.respond()
    fold.closing(result=True).lose(HANDLE)
    assert fold.end_of(dialog) == ("remote", "unconfirmed")


def test_an_answer_with_a_lost_reply_waits_for_the_closed_event() -> None:
    """Either the session ends next, or the closed event comes."""
    fold = on_a_page()
    fold.opening()
    request_id = fold.respond()
    fold.lose(HANDLE)
    assert fold.pending()[0].answering
    assert request_id not in fold.answers


@pytest.mark.parametrize("kept", [0, 2])
def test_past_dialogs_are_kept_up_to_the_limit(kept: int) -> None:
    fold = on_a_page(limits=Limits(recent_dialogs=kept))
    for _ in range(3):
        fold.opening()
        fold.closing()
    assert [each.id for each in fold.shown().recent_dialogs] == ["d-2", "d-3"][:kept]


def test_a_move_outside_the_table_is_counted_and_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    fold = on_a_page()
    fold.opening()
    monkeypatch.delitem(TABLE, ("open", "session_lost"))  # type: ignore[arg-type]
    fold.detach("s-P")
    assert fold.count("impossible_dialog_moves") == 1
    assert fold.dialog("d-1").phase == "open"


# ── two dialogs on one page ───────────────────────────────────────────────────────────────────────────────────────────


def test_a_second_dialog_with_a_window_is_held_until_it_is_known_which_one_is_left() -> None:
    """Fact 3: the policy does not answer it while the older one is about to close."""
    fold = with_frame(policy=Policy({"confirm": "auto_accept"}))
    fold.opening("P", type="alert")
    fold.opening("F")
    assert not fold.all_sent(HANDLE)
    fold.passes(0.5)
    assert fold.sent(HANDLE).params == {"accept": True}


def test_a_held_dialog_is_released_when_the_older_one_ends_and_not_answered_on_a_fragile_page() -> None:
    """Fact 63: an answer would end the browser."""
    fold = with_frame(policy=Policy({"confirm": "auto_accept"}))
    fold.opening("F", type="alert")
    fold.opening("P")
    assert fold.dialog("d-2").phase == "open"
    fold.event("Page.frameDetached", on="s-P", frameId="F", reason="remove")
    assert fold.dialog("d-2").phase == "open"
    assert not fold.dialog("d-2").held
    assert fold.page().fragile is not None
    assert not fold.all_sent(HANDLE)


def test_a_held_dialog_is_not_released_when_a_newer_one_ends() -> None:
    fold = with_frame(policy=Policy({"confirm": "auto_accept"}))
    fold.attach("G", "iframe", of="s-P", parentFrameId="P")
    fold.opening("P", type="alert")
    fold.opening("F")
    fold.opening("G")
    fold.event("Page.frameDetached", on="s-P", frameId="G", reason="remove")
    assert fold.end_of("d-3") == ("remote", "frame_gone")
    assert fold.dialog("d-2").held
    assert not fold.all_sent(HANDLE)


def test_a_dialog_is_not_held_if_the_older_one_is_answered() -> None:
    fold = with_frame(policy=Policy({"confirm": "auto_accept"}))
    fold.opening("F", type="alert")
    fold.respond()
    fold.reply(HANDLE)
    fold.opening("P")
    assert fold.dialog("d-2").phase == "answering"


def test_without_a_window_the_policy_answers_the_newer_dialog_at_once() -> None:
    """Without dialog windows the newer dialog is the answerable one (fact 26)."""
    fold = with_frame(policy=Policy({"confirm": "auto_accept"}))
    fold.opening("F", type="alert", native=False)
    fold.opening("P", native=False)
    assert fold.dialog("d-2").phase == "answering"


def test_a_second_dialog_of_a_frame_leaves_the_first_one_open() -> None:
    fold = on_a_page()
    fold.opening()
    fold.opening()
    assert [(each.id, each.answerable) for each in fold.pending()] == [("d-1", True), ("d-2", True)]


def test_the_older_dialog_can_still_be_answered_after_the_newer_one_closes() -> None:
    fold = with_frame()
    fold.opening("P")
    fold.opening("F")
    fold.closing("F")
    assert [(each.id, each.answerable) for each in fold.pending()] == [("d-1", True)]


def test_the_newer_dialog_is_superseded_when_the_older_one_closes() -> None:
    """Fact 3: the browser shows it and takes no answer."""
    fold = with_frame()
    fold.opening("P")
    fold.opening("F")
    fold.closing("P")
    (left,) = fold.pending()
    assert (left.id, left.why, left.answerable) == ("d-2", "superseded", False)
    assert left.remedies == ("same_document", "navigate", "reload", "close")


def test_without_a_window_the_older_dialog_is_superseded() -> None:
    """Fact 26."""
    fold = with_frame()
    fold.opening("P", native=False)
    fold.opening("F", native=False)
    assert [(each.id, each.why) for each in fold.pending()] == [("d-1", "superseded"), ("d-2", "")]


def test_an_unanswerable_dialog_is_over_when_its_process_opens_another_one() -> None:
    """A blocked process opens no dialog, so this one runs scripts again."""
    fold = on_a_page()
    fold.opening()
    fold.respond()
    fold.refuse(HANDLE, folded_machine.NOT_ACTIVE)
    fold.opening()
    assert fold.end_of("d-1") == ("remote", "page_inactive")
    assert fold.pending()[0].answerable


def test_an_answered_dialog_has_ended_when_its_frame_opens_another_one() -> None:
    fold = on_a_page()
    fold.opening()
    fold.respond()
    fold.reply(HANDLE)
    fold.opening()
    assert fold.end_of("d-1") == ("agent", "answered")


def test_a_held_dialog_that_a_caller_answers_is_not_answered_by_the_policy() -> None:
    fold = with_frame(policy=Policy({"confirm": "auto_accept"}))
    fold.opening("P", type="alert")
    fold.opening("F")
    fold.ask(RespondToDialog(dialog_id="d-2", action="dismiss"))
    fold.passes(5.0)
    assert fold.sent(HANDLE).params == {"accept": False}


def test_a_held_dialog_and_one_with_an_automatic_policy_have_no_deadline() -> None:
    fold = with_frame(policy=Policy({"confirm": "auto_accept"}))
    fold.opening("P", type="alert")
    fold.opening("F")
    assert fold.dialog("d-2").deadline is None
    fold.passes(0.5)
    assert fold.dialog("d-2").phase == "answering"
    assert fold.dialog("d-2").deadline is None


# ── unanswerable dialogs ──────────────────────────────────────────────────────────────────────────────────────────────


def test_a_refused_answer_names_the_reason_and_the_remedies() -> None:
    """Fact 22: the page is in pagehide, and a same-document navigation does not free it."""
    fold = on_a_page()
    fold.opening()
    request_id = fold.respond()
    fold.refuse(HANDLE, folded_machine.NOT_ACTIVE)
    error = fold.answers[request_id].error
    assert isinstance(error, DialogUnanswerable)
    assert (error.why, error.remedies) == ("page_inactive", ("navigate", "close"))
    assert not fold.all_sent("Runtime.evaluate")


def test_a_refusal_because_none_is_showing_starts_a_probe_and_its_reply_ends_the_dialog() -> None:
    """The dialog is gone, or still blocks the page (fact 4): a script that runs proves that it is gone."""
    fold = on_a_page()
    dialog = fold.opening()
    fold.respond()
    fold.refuse(HANDLE, folded_machine.NONE_SHOWING)
    probe = fold.sent("Runtime.evaluate")
    assert probe.session_id == "s-P"
    assert fold.pending()[0].why == "unseen"
    fold.reply("Runtime.evaluate")
    assert fold.end_of(dialog) == ("remote", "unseen")


def test_a_process_without_a_session_is_not_probed() -> None:
    fold = with_frame()
    fold.opening("F")
    fold.respond()
    fold.detach("s-F", "parent_ended")
    fold.refuse(HANDLE, folded_machine.NONE_SHOWING)
    assert fold.pending()[0].why == "unseen"
    assert not fold.all_sent("Runtime.evaluate")


def test_a_reply_to_an_earlier_command_does_not_end_an_unanswerable_dialog() -> None:
    fold = on_a_page()
    fold.opening()
    fold.respond()
    fold.passes(5.0)
    fold.reply("Page.getFrameTree", {}, on="s-P")
    assert fold.pending()[0].why == "unseen"


def test_a_reply_does_not_end_an_open_dialog() -> None:
    """Commands that were sent before it opened may still be answered."""
    fold = on_a_page()
    fold.opening()
    fold.reply("Page.getFrameTree", {}, on="s-P")
    assert fold.pending()[0].answerable
    assert not fold.count("impossible_dialog_moves")


def test_an_unanswerable_dialog_keeps_its_deadline() -> None:
    fold = on_a_page(policy=Policy(dialog_timeout=20.0))
    fold.opening()
    fold.passes(1.0)
    fold.respond()
    fold.refuse(HANDLE, folded_machine.NOT_ACTIVE)
    fold.passes(18.9)
    assert (fold.pending()[0].deadline, fold.pending()[0].overdue) == (20.0, False)
    fold.passes(0.1)
    assert (fold.pending()[0].deadline, fold.pending()[0].overdue) == (None, True)


def test_a_reply_of_another_process_does_not_end_an_unanswerable_dialog() -> None:
    fold = with_frame()
    fold.opening("P")
    fold.respond()
    fold.passes(5.0)
    fold.event("Inspector.targetReloadedAfterCrash", on="s-F")
    fold.reply("Page.getFrameTree", {}, on="s-F")
    assert fold.pending()[0].why == "unseen"


def test_a_dialog_that_only_an_ended_session_saw_is_orphaned_and_then_overdue() -> None:
    fold = on_a_page(policy=Policy(dialog_timeout=20.0))
    fold.opening()
    fold.passes(15.0)
    fold.detach("s-P")
    assert (fold.pending()[0].why, fold.pending()[0].deadline) == ("orphaned", 20.0)
    fold.passes(5.0)
    assert fold.pending()[0].overdue
    assert "an unanswerable dialog is overdue (orphaned)" in fold.notes()


def test_an_unanswerable_dialog_is_orphaned_with_its_link_and_keeps_its_deadline() -> None:
    fold = on_a_page(policy=Policy(dialog_timeout=20.0))
    fold.opening()
    fold.respond()
    fold.refuse(HANDLE, folded_machine.NOT_ACTIVE).passes(1.0)
    fold.down()
    assert (fold.pending()[0].why, fold.pending()[0].deadline) == ("orphaned", 20.0)
    assert fold.notes().count("a dialog became unanswerable (page_inactive)") == 1


def test_a_warning_about_a_page_is_logged_once_and_then_at_the_level_of_debugging() -> None:
    """A flood of cuts gives one line per page and reason."""
    fold = on_a_page()
    for number in range(1, 6):
        fold.opening()
        fold.detach("s-P", "detached")
        fold.attach("P", session="s-P")
        levels = [each.level for each in fold.orders if getattr(each, "text", "").startswith("a dialog became")]
        assert levels == ["warning"] + ["debug"] * (number - 1)


# ── frames and pages that are removed ─────────────────────────────────────────────────────────────────────────────────


def test_the_dialog_of_a_removed_frame_has_ended() -> None:
    fold = with_frame()
    dialog = fold.opening("F")
    fold.event("Page.frameDetached", on="s-P", frameId="F", reason="remove")
    assert fold.end_of(dialog) == ("remote", "frame_gone")


def test_the_removal_of_a_frame_ends_no_dialog_of_another_frame() -> None:
    fold = with_frame()
    fold.opening("P")
    fold.event("Page.frameDetached", on="s-P", frameId="F", reason="remove")
    assert fold.pending()[0].answerable


def test_the_navigation_of_a_frame_does_not_end_its_dialog() -> None:
    """The frame may only have moved to another process, with the dialog still open in the old one."""
    fold = folded_machine.with_tree("A")
    fold.opening("A", native=False)
    fold.event("Page.frameNavigated", on="s-P", frame={"id": "A", "parentId": "P"}, type="Navigation")
    assert fold.pending()[0].answerable


def test_an_answered_dialog_of_a_removed_frame_is_credited() -> None:
    fold = with_frame()
    dialog = fold.opening("F")
    fold.respond()
    fold.reply(HANDLE)
    fold.event("Page.frameDetached", on="s-P", frameId="F", reason="remove")
    assert fold.end_of(dialog) == ("agent", "answered")


def test_a_closed_dialog_of_a_removed_frame_still_waits_for_its_reply() -> None:
    fold = with_frame()
    dialog = fold.opening("F")
    fold.respond()
    fold.closing("F", result=True)
    fold.event("Page.frameDetached", on="s-P", frameId="F", reason="remove")
    fold.reply(HANDLE)
    assert fold.end_of(dialog) == ("agent", "answered")


@pytest.mark.parametrize(("native", "ended"), [(False, ("remote", "navigation")), (True, ("", ""))])
def test_a_navigation_of_the_page_ends_only_a_dialog_without_a_window(native: bool, ended: tuple[str, str]) -> None:
    """For a dialog with a window the browser sends a closed event."""
    fold = folded_machine.with_tree()
    dialog = fold.opening(native=native)
    fold.event("Page.frameNavigated", on="s-P", frame={"id": "P", "url": "http://b/"}, type="Navigation")
    assert fold.end_of(dialog) == ended


def test_a_navigation_ends_an_unanswerable_dialog() -> None:
    fold = folded_machine.with_tree()
    dialog = fold.opening()
    fold.respond()
    fold.refuse(HANDLE, folded_machine.NOT_ACTIVE)
    fold.event("Page.frameNavigated", on="s-P", frame={"id": "P"}, type="Navigation")
    assert fold.end_of(dialog) == ("remote", "navigation")


def test_a_dialog_that_has_ended_does_not_end_twice() -> None:
    """A rule may hold an older record of the page: the dialog is looked up in the current one."""
    fold = folded_machine.with_tree()
    fold.opening()
    before = fold.page()
    fold.closing()
    transition = Transition(fold.state, fold.at, fold.now)
    dialogs.frame_gone(transition, before, ["P"], "frame_gone")
    assert transition.state.pages["P"].recent == fold.page().recent  # type: ignore[index]
    assert not transition.effects


def test_the_deadline_of_an_unknown_dialog_changes_nothing() -> None:
    fold = on_a_page()
    fold.opening()
    state = replace(fold.state, dialog_on=fold.state.dialog_on.set("d-9", fold.page().id))
    for name in ("d-8", "d-9"):
        transition = Transition(state, fold.at, fold.now)
        dialogs.due(transition, name)
        assert transition.state is state
        assert not transition.effects


# ── requests ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_invalid_action_is_refused_with_the_valid_ones() -> None:
    fold = on_a_page()
    fold.opening()
    request_id = fold.respond("maybe")
    assert "accept, dismiss" in str(fold.answers[request_id].error)
    assert not fold.all_sent(HANDLE)


def test_an_observing_supervisor_refuses_to_answer() -> None:
    fold = on_a_page(scope=Scope.browser().observed())
    fold.opening()
    assert "observes" in str(fold.answers[fold.respond()].error)


def test_an_unknown_dialog_id_is_refused_with_the_pending_ones() -> None:
    fold = on_a_page()
    fold.opening()
    error = fold.answers[fold.respond(dialog_id="d-7")].error
    assert isinstance(error, UnknownDialog)
    assert error.known == ("d-1",)


def test_a_response_without_a_pending_dialog_is_refused() -> None:
    assert on_a_page().error(1) == ""
    fold = on_a_page()
    assert fold.error(fold.respond()) == "NoPendingDialog"


def test_of_two_answerable_dialogs_one_must_be_named() -> None:
    fold = with_frame()
    fold.attach("Q")
    fold.opening("P")
    fold.event("Page.javascriptDialogOpening", on="s-Q", frameId="Q", type="alert")
    error = fold.answers[fold.respond()].error
    assert isinstance(error, AmbiguousDialog)
    assert error.candidates == ("d-1", "d-2")
    fold.respond(dialog_id="d-2")
    assert fold.sent(HANDLE).session_id == "s-Q"


def test_a_response_without_an_id_goes_to_the_only_answerable_dialog() -> None:
    """A dialog that is being answered or closed is not answerable."""
    fold = with_frame()
    fold.attach("Q")
    fold.opening("P")
    fold.respond()
    fold.event("Page.javascriptDialogOpening", on="s-Q", frameId="Q", type="alert")
    fold.respond()
    assert fold.sent(HANDLE).session_id == "s-Q"
    closed = on_a_page()
    closed.opening()
    closed.respond()
    closed.closing(result=True)
    assert closed.error(closed.respond()) == "NoPendingDialog"


def test_a_blocked_call_gets_the_id_of_the_dialog() -> None:
    fold = folded_machine.with_tree()
    request_id = fold.ask(Call(method="Runtime.evaluate"))
    dialog = fold.opening()
    assert fold.answers[request_id].error.dialogs == (dialog,)


def test_only_prompts_take_a_text() -> None:
    fold = on_a_page()
    fold.opening()
    assert "prompt_text was given" in str(fold.answers[fold.respond(prompt_text="x")].error)
    fold.closing()
    fold.opening(type="prompt", defaultPrompt="page's")
    fold.respond(prompt_text="mine")
    assert fold.sent(HANDLE).params == {"accept": True, "promptText": "mine"}


def test_a_dismissed_prompt_is_sent_without_a_text() -> None:
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


def test_a_response_to_an_unanswerable_dialog_is_refused_with_the_remedies() -> None:
    fold = on_a_page()
    fold.opening()
    fold.detach("s-P")
    error = fold.answers[fold.respond()].error
    assert isinstance(error, DialogUnanswerable)
    assert error.why == "orphaned"
    assert "navigate" in error.remedies


def test_a_new_policy_applies_to_open_dialogs_only() -> None:
    fold = with_frame()
    fold.attach("Q")
    fold.event("Page.javascriptDialogOpening", on="s-Q", frameId="Q", type="alert", hasBrowserHandler=True)
    fold.opening("P")
    fold.opening("F")  # held: one of the two is about to end
    fold.respond("dismiss", dialog_id="d-2")
    request_id = fold.ask(SetPolicy(policy=Policy("auto_accept")))
    assert fold.answers[request_id].error is None
    assert [(each.session_id, each.params) for each in fold.all_sent(HANDLE)] == [
        ("s-P", {"accept": False}),
        ("s-Q", {"accept": True}),
    ]


# ── stop ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("policy", "accept"), [("must_respond", False), ("auto_accept", True)])
def test_a_stop_answers_an_open_dialog_according_to_the_policy(policy: str, accept: bool) -> None:
    """A dialog that no session saw open blocks its page for ever (fact 4)."""
    fold = on_a_page()
    fold.opening()
    fold.state = replace(fold.state, policy=Policy(policy))
    fold.ask(Stop())
    assert fold.sent(HANDLE).params == {"accept": accept}
    fold.closing(result=accept).reply(HANDLE)
    assert fold.end_of("d-1") == ("auto_policy", "answered")


def test_a_stop_does_not_answer_a_dialog_again() -> None:
    fold = on_a_page()
    fold.opening()
    fold.respond()
    fold.ask(Stop())
    assert len(fold.all_sent(HANDLE)) == 1


def test_a_dialog_that_opens_during_a_stop_is_answered_at_once() -> None:
    fold = with_frame()
    fold.opening("P")
    fold.ask(Stop())
    fold.opening("F")
    assert [each.params for each in fold.all_sent(HANDLE)] == [{"accept": False}] * 2


# ── dialogs that are left to others, and pages that would end the browser ─────────────────────────────────────────────


def test_a_policy_leaves_a_dialog_of_a_shared_browser_to_others_for_the_grace() -> None:
    fold = on_a_page(policy=Policy("auto_accept"), scope=Scope.browser().shared(grace=2.0))
    fold.opening()
    fold.passes(1.9)
    assert not fold.all_sent(HANDLE)
    fold.passes(0.1)
    assert fold.dialog("d-1").by == "auto_policy"


def test_an_inactive_page_is_freed_under_an_automatic_policy() -> None:
    """Fact 62."""
    fold = on_a_page(policy=Policy("auto_accept"))
    fold.opening()
    fold.refuse(HANDLE, folded_machine.NOT_ACTIVE)
    assert len(fold.all_sent("Page.navigate")) == 1


def test_the_answer_to_a_dialog_of_an_extension_goes_to_the_extension() -> None:
    def opens(state: Any, got: Any) -> Any:
        order = OpenDialog(
            key="r-1", page_id="P", frame_id="P", via="request", type="prompt", message="", default_prompt="Ada"
        )
        return state, (order,) if isinstance(got, BrowserEvent) else ()

    fold = on_a_page(extensions=(folded_machine.SampleExtension(opens, events=(folded_machine.LOG,)),))
    fold.event(folded_machine.LOG, on="s-P")
    fold.respond(prompt_text="Bob")
    assert fold.dialog("d-1").phase == "answering"
    assert not fold.all_sent(HANDLE)
