"""The requests about dialogs: which dialog is answered, what refuses an answer, and a new policy."""

from __future__ import annotations

from typing import Any

import pytest

from cdp_supervisor.errors import AmbiguousDialog, DialogUnanswerable
from cdp_supervisor.sansio.options import Policy, Scope
from cdp_supervisor.sansio.requests import RespondToDialog, SetPolicy
from support.folded_machine import error_of, on_a_page

HANDLE = "Page.handleJavaScriptDialog"


@pytest.mark.parametrize(("action", "accept"), [("accept", True), ("dismiss", False)])
def test_the_only_dialog_is_answered_once(action: str, accept: bool) -> None:
    fold = on_a_page()
    fold.opening()
    fold.respond(action)
    assert fold.sent(HANDLE).params == {"accept": accept}
    assert fold.error(fold.respond(action)) == "DialogAnswerRefused"
    assert len(fold.all_sent(HANDLE)) == 1


def test_a_prompt_is_answered_with_the_text_of_the_caller() -> None:
    fold = on_a_page()
    fold.opening(type="prompt", defaultPrompt="guest")
    fold.respond("accept", prompt_text="Ada")
    assert fold.sent(HANDLE).params == {"accept": True, "promptText": "Ada"}


@pytest.mark.parametrize(
    ("request_", "why"),
    [
        ({"action": "agree"}, "'agree' is not an action for a dialog; use one of: accept, dismiss."),
        ({"action": "accept", "prompt_text": "Ada"}, "prompt_text was given, and dialog d-1 is of type confirm"),
    ],
)
def test_an_invalid_answer_is_refused_and_nothing_is_sent(request_: dict[str, Any], why: str) -> None:
    fold = on_a_page()
    fold.opening()
    assert why in str(error_of(fold, fold.ask(RespondToDialog(**request_))))
    assert not fold.all_sent(HANDLE)


def test_an_observer_answers_no_dialog() -> None:
    fold = on_a_page(scope=Scope(observing=True))
    fold.opening()
    assert "only observes" in str(error_of(fold, fold.respond()))


def test_without_a_dialog_or_with_a_wrong_id_nothing_is_answered() -> None:
    fold = on_a_page()
    assert fold.error(fold.respond()) == "NoPendingDialog"
    fold.opening()
    assert fold.error(fold.respond(dialog_id="d-9")) == "UnknownDialog"
    fold.respond(dialog_id="d-1")
    assert fold.all_sent(HANDLE)


def test_of_several_dialogs_one_must_be_named() -> None:
    fold = on_a_page()
    fold.attach("Q")
    fold.opening()
    fold.event("Page.javascriptDialogOpening", on="s-Q", type="alert", hasBrowserHandler=True)
    assert isinstance(error_of(fold, fold.respond()), AmbiguousDialog)


def test_an_unanswerable_dialog_is_refused_with_its_reason() -> None:
    fold = on_a_page()
    fold.opening()
    fold.detach("s-P")
    error = error_of(fold, fold.respond())
    assert isinstance(error, DialogUnanswerable)
    assert error.why == "orphaned"


def test_a_new_policy_answers_open_dialogs() -> None:
    fold = on_a_page()
    fold.opening(type="alert")
    request = fold.ask(SetPolicy(policy=Policy("auto_accept")))
    assert fold.answers[request].error is None
    assert fold.sent(HANDLE).params == {"accept": True}
    fold.ask(SetPolicy(policy=Policy("auto_dismiss")))
    assert len(fold.all_sent(HANDLE)) == 1
