"""Dialogs of extensions: shown, answered and ended beside native ones."""

from __future__ import annotations

from typing import Any, Final

import pytest

from cdp_supervisor.errors import (
    BlockedByDialog,
    DialogAnswerRefused,
    DialogUnanswerable,
    UnknownDialog,
)
from cdp_supervisor.sansio.changes import DialogClosed, DialogOpened
from cdp_supervisor.sansio.dialog_view import DialogView
from cdp_supervisor.sansio.effects import EndDialog, OpenDialog
from cdp_supervisor.sansio.inputs import BrowserEvent, DialogAnswered
from cdp_supervisor.sansio.options import Policy
from cdp_supervisor.sansio.requests import Call, RespondToDialog, SetPolicy, Stop
from support import folded_machine
from support.folded_machine import LOG, SampleExtension, error_of

HANDLE: Final = "Page.handleJavaScriptDialog"


OPEN = {"key": "r-1", "page_id": "P", "frame_id": "P", "via": "request", "type": "confirm", "message": "sure?"}


class Bridge(SampleExtension):
    """An extension whose effects the events name; with `confirms` it confirms each answer at once."""

    confirms = False

    def __init__(self, **options: Any) -> None:
        super().__init__(self.bridged, events={LOG}, name="bridge", **options)
        self.answers: list[DialogAnswered] = []

    def bridged(self, state: Any, got: Any) -> Any:
        if isinstance(got, DialogAnswered):
            self.answers.append(got)
            return state, (EndDialog(key=got.key, answered=True),) if self.confirms else ()
        if not isinstance(got, BrowserEvent):
            return state, ()
        kind = {"open": OpenDialog, "end": EndDialog}[got.event.params["do"]]
        return state, (kind(**got.event.params["with"]),)


def bridged(**options: Any) -> tuple[Any, Bridge]:
    bridge = Bridge()
    return folded_machine.on_a_page(extensions=(bridge,), **options), bridge


def opens(fold: Any, **changed: Any) -> Any:
    return fold.event(LOG, on="s-P", do="open", **{"with": {**OPEN, **changed}})


def ends(fold: Any, *, answered: bool, **changed: Any) -> Any:
    return fold.event(LOG, on="s-P", do="end", **{"with": {"key": "r-1", "answered": answered, **changed}})


@pytest.mark.parametrize("via", ["request", "pause"])
def test_a_dialog_of_an_extension_is_shown_with_what_announced_it(via: str) -> None:
    fold, _bridge = bridged()
    opens(fold, via=via)
    (shown,) = fold.pending()
    assert (shown.id, shown.via, shown.type, shown.message) == ("d-1", via, "confirm", "sure?")
    assert shown.answerable
    assert shown.to_dict()["via"] == via
    assert fold.reported(DialogOpened) == [DialogOpened(dialog_id="d-1", target_id="P", type="confirm")]
    assert fold.health() == "blocked_by_dialog"


def test_a_native_dialog_is_shown_as_before() -> None:
    fold, _bridge = bridged()
    fold.opening(type="alert")
    (shown,) = fold.pending()
    assert shown.via == "native"
    assert "via" not in shown.to_dict()


def test_the_answer_goes_to_the_extension_and_its_end_answers_the_caller() -> None:
    fold, bridge = bridged()
    opens(fold, type="prompt", default_prompt="x")
    request = fold.ask(RespondToDialog(action="accept", prompt_text="Ada"))
    (answer,) = bridge.answers
    assert (answer.key, answer.accept, answer.prompt_text) == ("r-1", True, "Ada")
    assert not fold.all_sent("Page.handleJavaScriptDialog")
    ends(fold, answered=True)
    shown = fold.answers[fold.asked].value
    assert isinstance(shown, DialogView)
    assert (shown.closed_by, shown.reason, shown.via) == ("agent", "answered", "request")
    assert fold.reported(DialogClosed)[-1].closed_by == "agent"
    assert request is not None


def test_a_policy_answers_it_and_an_extension_may_confirm_at_once() -> None:
    fold, bridge = bridged(policy=Policy({"confirm": "auto_accept"}))
    bridge.confirms = True
    opens(fold)
    assert fold.pending() == ()
    assert fold.shown().recent_dialogs[-1].closed_by == "auto_policy"


def test_a_new_policy_answers_it() -> None:
    fold, bridge = bridged()
    opens(fold)
    fold.ask(SetPolicy(policy=Policy("auto_dismiss")))
    assert [each.accept for each in bridge.answers] == [False]


def test_the_watchdog_dismisses_it() -> None:
    fold, bridge = bridged(policy=Policy(dialog_timeout=60.0))
    opens(fold).passes(61.0)
    assert [(each.accept, each.prompt_text) for each in bridge.answers] == [(False, None)]
    ends(fold, answered=True)
    assert fold.shown().recent_dialogs[-1].closed_by == "watchdog"


def test_it_ends_the_calls_that_it_blocks() -> None:
    fold, _bridge = bridged()
    fold.ask(Call(method="Runtime.evaluate", params={"expression": "act()"}, target_id="P"))
    blocked = fold.asked
    opens(fold)
    error = error_of(fold, blocked)
    assert isinstance(error, BlockedByDialog)
    assert error.dialogs == ("d-1",)
    fold.ask(Call(method="Runtime.evaluate", params={"expression": "1"}, target_id="P"))
    assert isinstance(error_of(fold, fold.asked), BlockedByDialog)


@pytest.mark.parametrize("answering", [False, True])
def test_an_end_without_our_answer_is_remote(answering: bool) -> None:
    fold, _bridge = bridged()
    opens(fold)
    if answering:
        fold.ask(RespondToDialog(action="accept"))
    ends(fold, answered=False, reason="navigation")
    assert (fold.shown().recent_dialogs[-1].closed_by, fold.shown().recent_dialogs[-1].reason) == (
        "remote",
        "navigation",
    )
    if answering:
        assert isinstance(error_of(fold, fold.asked), DialogAnswerRefused)


def test_an_end_claimed_as_answered_without_an_answer_is_remote() -> None:
    fold, _bridge = bridged()
    opens(fold)
    ends(fold, answered=True)
    assert fold.shown().recent_dialogs[-1].closed_by == "remote"


def test_an_unconfirmed_answer_makes_it_unanswerable() -> None:
    fold, _bridge = bridged()
    opens(fold)
    fold.ask(RespondToDialog(action="accept"))
    fold.passes(6.0)
    assert isinstance(error_of(fold, fold.asked), DialogUnanswerable)


@pytest.mark.parametrize("changed", [{"page_id": "Q"}, {"key": "r-1"}])
def test_an_unknown_page_or_a_key_in_use_is_refused_and_counted(changed: Any) -> None:
    fold, _bridge = bridged()
    opens(fold)
    opens(fold, **{"key": "r-2", **changed})
    assert len(fold.pending()) == 1
    assert fold.count("dialogs_of_extensions_refused") == 1


def test_a_key_may_be_used_again_and_an_unknown_one_ends_nothing() -> None:
    fold, _bridge = bridged()
    opens(fold)
    ends(fold, answered=False, key="other")
    assert len(fold.pending()) == 1
    ends(fold, answered=False)
    opens(fold)
    assert [each.id for each in fold.pending()] == ["d-2"]


def test_two_dialogs_of_an_extension_are_answered_on_their_own() -> None:
    """A second one does not show that the first is over, and neither waits for the other."""
    fold, bridge = bridged()
    opens(fold)
    opens(fold, key="r-2", message="second")
    assert [each.answerable for each in fold.pending()] == [True, True]
    fold.ask(RespondToDialog(action="dismiss", dialog_id="d-1"))
    assert [each.key for each in bridge.answers] == ["r-1"]


def test_the_stop_answers_it_and_waits_for_its_end() -> None:
    fold, bridge = bridged()
    opens(fold)
    fold.ask(Stop())
    assert [each.key for each in bridge.answers] == ["r-1"]
    assert fold.state.stopping is not None
    ends(fold, answered=True)
    assert fold.answers[fold.asked].value.left == ()


@pytest.mark.parametrize(
    "wrong", [{"key": ""}, {"via": "native"}, {"message": 5}, {"page_id": None}, {"type": None}, {"via": []}]
)
def test_an_invalid_opening_disables_the_extension(wrong: Any) -> None:
    fold, _bridge = bridged()
    opens(fold, **wrong)
    assert fold.state.extensions[0].off == f"the {next(iter(wrong))} of the OpenDialog that it returned is invalid"
    assert fold.pending() == ()


@pytest.mark.parametrize("wrong", [{"answered": 1}, {"reason": None}, {"key": 5}])
def test_an_invalid_end_disables_the_extension(wrong: Any) -> None:
    fold, _bridge = bridged()
    opens(fold)
    fold.event(LOG, on="s-P", do="end", **{"with": {"key": "r-1", "answered": True, **wrong}})
    assert fold.state.extensions[0].off == f"the {next(iter(wrong))} of the EndDialog that it returned is invalid"


def test_an_extension_that_opens_a_dialog_for_each_answer_without_end_is_disabled() -> None:
    class Endless(Bridge):
        def bridged(self, state: Any, got: Any) -> Any:
            if isinstance(got, DialogAnswered):
                again = OpenDialog(**{**OPEN, "key": f"{got.key}+"})
                return state, (EndDialog(key=got.key, answered=True), again)
            return super().bridged(state, got)

    endless = Endless()
    fold = folded_machine.on_a_page(extensions=(endless,), policy=Policy("auto_accept"))
    opens(fold)
    assert fold.state.extensions[0].off == "it opens a dialog for each answer without end"


def test_the_request_for_an_unknown_dialog_lists_those_of_extensions() -> None:
    fold, _bridge = bridged()
    opens(fold)
    fold.ask(RespondToDialog(action="accept", dialog_id="d-9"))
    error = error_of(fold, fold.asked)
    assert isinstance(error, UnknownDialog)
    assert "d-1" in str(error)


# ── beside native dialogs ────────────────────────────────────────────────────────────────────────────────────────────


def test_the_closed_event_of_a_native_dialog_ends_no_dialog_of_an_extension() -> None:
    fold, _bridge = bridged()
    opens(fold)
    fold.opening(type="alert")
    fold.closing()
    (left,) = fold.pending()
    assert (left.id, left.via, left.answerable) == ("d-1", "request", True)


def test_a_closed_event_without_an_opening_leaves_the_dialog_of_an_extension_answerable() -> None:
    fold, _bridge = bridged()
    opens(fold)
    fold.closing()
    (left,) = fold.pending()
    assert left.answerable


def test_the_dialog_of_an_extension_that_opened_over_a_native_one_is_not_superseded() -> None:
    fold, _bridge = bridged()
    fold.opening(type="alert")
    opens(fold)
    fold.closing()
    (left,) = fold.pending()
    assert (left.via, left.answerable) == ("request", True)


@pytest.mark.parametrize("native", [True, False])
def test_a_native_dialog_over_that_of_an_extension_is_not_held_and_supersedes_nothing(native: bool) -> None:
    fold, _bridge = bridged()
    opens(fold)
    fold.opening(type="alert", native=native)
    assert all(each.answerable for each in fold.pending())
    assert not any("one of two" in each for each in fold.deadline_reasons())


def test_the_dialogs_of_a_disabled_extension_are_over() -> None:
    fold, _bridge = bridged()
    opens(fold)
    request = fold.ask(Call(method="Runtime.evaluate"))
    assert isinstance(error_of(fold, request), BlockedByDialog)
    opens(fold, key="")
    assert fold.state.extensions[0].off
    assert fold.pending() == ()
    assert fold.end_of("d-1") == ("remote", "extension_disabled")
