"""The focus: the page that a request without a target goes to."""

from __future__ import annotations

from typing import Any

import pytest

from cdp_supervisor.errors import AmbiguousTarget, UnknownTarget
from cdp_supervisor.sansio.requests import Focus
from cdp_supervisor.sansio.routing import focused_page
from cdp_supervisor.sansio.state import Page
from cdp_supervisor.sansio.view import snapshot
from support import folded_machine
from support.state_parts import T, U, page, state_of

EVAL = "Runtime.evaluate"
call, error_of = folded_machine.call, folded_machine.error_of
ONE, TWO = page(), page(id=U, number=2)


def on_a_page(**options: Any) -> Any:
    return folded_machine.with_tree(**options)


@pytest.mark.parametrize(
    ("pages", "focus", "page_gone", "expected"),
    [
        ((), None, None, None),
        ((ONE,), None, None, T),
        ((ONE, TWO), None, None, None),
        ((ONE, TWO), U, None, U),
        ((ONE,), U, None, None),
        ((ONE,), None, (U, "closed"), None),
        ((ONE,), T, (U, "closed"), T),
    ],
)
def test_the_focus_is_the_focused_page_or_the_only_page(
    pages: tuple[Page, ...], focus: Any, page_gone: Any, expected: Any
) -> None:
    """It never moves automatically: if the focused page is gone, the remaining page does not replace it."""
    state = state_of(*pages, focus=focus, page_gone=page_gone)
    found = focused_page(state)
    assert (None if found is None else found.id) == expected
    assert snapshot(state).focus == expected


def test_the_focus_can_be_set_refused_and_unset() -> None:
    fold = on_a_page()
    fold.attach("Q")
    assert fold.answers[fold.ask(Focus(target_id="Q"))].error is None
    assert fold.shown().focus == "Q"
    assert isinstance(error_of(fold, fold.ask(Focus(target_id="X"))), UnknownTarget)
    assert fold.shown().focus == "Q"
    fold.event("Target.targetDestroyed", targetId="Q")
    assert fold.shown().page_gone == ("Q", "closed")
    assert fold.shown().focus is None
    fold.ask(Focus())
    assert (fold.shown().page_gone, fold.shown().focus) == (None, "P")


def test_the_only_page_is_remembered_as_the_focus() -> None:
    """Requests without a target went to it, so they do not go to a later page."""
    fold = on_a_page().lists("P")
    fold.attach("Q", openerId="P")
    fold.event("Target.targetDestroyed", targetId="P")
    assert (fold.shown().focus, fold.shown().page_gone) == (None, ("P", "closed"))
    assert isinstance(error_of(fold, call(fold)), AmbiguousTarget)
    fold.ask(Focus())
    call(fold)
    assert fold.sent(EVAL).session_id == "s-Q"


def test_a_call_without_a_target_makes_the_only_page_the_focus_before_the_list_arrives() -> None:
    fold = on_a_page()
    fold.attach("Q")
    fold.event("Target.targetDestroyed", targetId="Q")
    call(fold)
    fold.attach("R")
    fold.event("Target.targetDestroyed", targetId="P")
    assert (fold.shown().focus, fold.shown().page_gone) == (None, ("P", "closed"))


@pytest.mark.parametrize("gone", ["P", "Q"])
def test_of_two_initial_pages_neither_is_remembered_as_the_focus(gone: str) -> None:
    fold = on_a_page()
    fold.attach("Q")
    fold.lists("P", "Q").event("Target.targetDestroyed", targetId=gone)
    assert (fold.shown().focus, fold.shown().page_gone) == ({"P": "Q", "Q": "P"}[gone], None)


def test_the_end_of_a_page_without_the_focus_changes_nothing() -> None:
    fold = on_a_page()
    fold.attach("Q", openerId="P")
    fold.event("Target.targetDestroyed", targetId="Q")
    assert (fold.shown().focus, fold.shown().page_gone) == ("P", None)


def test_focusing_no_page_selects_the_only_page() -> None:
    fold = on_a_page()
    fold.attach("Q")
    fold.ask(Focus())  # two pages exist: neither is selected
    fold.event("Target.targetDestroyed", targetId="P")
    assert (fold.shown().focus, fold.shown().page_gone) == ("Q", None)
    fold.ask(Focus())  # one page exists: it is selected
    fold.attach("R")
    fold.event("Target.targetDestroyed", targetId="Q")
    assert (fold.shown().focus, fold.shown().page_gone) == (None, ("Q", "closed"))
    assert fold.state.only_page is None


def test_a_page_that_opens_after_the_focused_one_is_gone_does_not_get_the_focus() -> None:
    fold = on_a_page().lists("P")
    fold.event("Target.targetDestroyed", targetId="P")
    fold.attach("Q")
    assert (fold.shown().focus, fold.shown().page_gone) == (None, ("P", "closed"))
    assert fold.state.only_page is None
