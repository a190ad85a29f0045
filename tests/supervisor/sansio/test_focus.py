"""The page that a request means when it names none."""

from __future__ import annotations

from typing import Any

import pytest

from cdp_supervisor.errors import AmbiguousTarget, UnknownTarget
from cdp_supervisor.sansio.focus import focused_page
from cdp_supervisor.sansio.requests import Focus
from cdp_supervisor.sansio.state import Page
from cdp_supervisor.sansio.view import snapshot
from support import folded_machine
from support.state_parts import T, U, page, state_of

EVAL = "Runtime.evaluate"
called, error = folded_machine.called, folded_machine.error
ONE, TWO = page(), page(id=U, number=2)


def on_a_page(**options: Any) -> Any:
    return folded_machine.with_tree(**options)


@pytest.mark.parametrize(
    ("pages", "focus", "page_gone", "meant"),
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
def test_the_page_that_is_meant_is_the_focused_one_or_the_only_one(
    pages: tuple[Page, ...], focus: Any, page_gone: Any, meant: Any
) -> None:
    """It never moves by itself: where the focused page is gone, the one that is left is not meant."""
    state = state_of(*pages, focus=focus, page_gone=page_gone)
    found = focused_page(state)
    assert (None if found is None else found.id) == meant
    assert snapshot(state).focus == meant


def test_focus_is_set_refused_and_unset() -> None:
    fold = on_a_page()
    fold.attach("Q")
    assert fold.answers[fold.ask(Focus(target_id="Q"))].error is None
    assert fold.shown().focus == "Q"
    assert isinstance(error(fold, fold.ask(Focus(target_id="X"))), UnknownTarget)
    assert fold.shown().focus == "Q"
    fold.says("Target.targetDestroyed", targetId="Q")
    assert fold.shown().page_gone == ("Q", "closed")
    assert fold.shown().focus is None
    fold.ask(Focus())
    assert (fold.shown().page_gone, fold.shown().focus) == (None, "P")


def test_the_only_page_is_remembered_as_the_one_that_was_meant() -> None:
    """Whoever named none meant it: what comes after it is not what they meant."""
    fold = on_a_page().lists("P")
    fold.attach("Q", openerId="P")
    fold.says("Target.targetDestroyed", targetId="P")
    assert (fold.shown().focus, fold.shown().page_gone) == (None, ("P", "closed"))
    assert isinstance(error(fold, called(fold)), AmbiguousTarget)
    fold.ask(Focus())
    called(fold)
    assert fold.sent(EVAL).session_id == "s-Q"


def test_who_called_the_only_page_meant_it_whatever_the_list_says() -> None:
    fold = on_a_page()
    fold.attach("Q")
    fold.says("Target.targetDestroyed", targetId="Q")
    called(fold)
    fold.attach("R")
    fold.says("Target.targetDestroyed", targetId="P")
    assert (fold.shown().focus, fold.shown().page_gone) == (None, ("P", "closed"))


@pytest.mark.parametrize("gone", ["P", "Q"])
def test_of_two_pages_that_were_there_first_none_is_meant(gone: str) -> None:
    fold = on_a_page()
    fold.attach("Q")
    fold.lists("P", "Q").says("Target.targetDestroyed", targetId=gone)
    assert (fold.shown().focus, fold.shown().page_gone) == ({"P": "Q", "Q": "P"}[gone], None)


def test_a_page_that_was_never_meant_goes_unnoticed() -> None:
    fold = on_a_page()
    fold.attach("Q", openerId="P")
    fold.says("Target.targetDestroyed", targetId="Q")
    assert (fold.shown().focus, fold.shown().page_gone) == ("P", None)


def test_to_focus_none_means_the_only_page_from_now_on() -> None:
    fold = on_a_page()
    fold.attach("Q")
    fold.ask(Focus())  # of two: neither is meant
    fold.says("Target.targetDestroyed", targetId="P")
    assert (fold.shown().focus, fold.shown().page_gone) == ("Q", None)
    fold.ask(Focus())  # of one: it is
    fold.attach("R")
    fold.says("Target.targetDestroyed", targetId="Q")
    assert (fold.shown().focus, fold.shown().page_gone) == (None, ("Q", "closed"))
    assert fold.state.only_page is None


def test_a_page_that_opens_after_the_meant_one_went_is_not_meant() -> None:
    fold = on_a_page().lists("P")
    fold.says("Target.targetDestroyed", targetId="P")
    fold.attach("Q")
    assert (fold.shown().focus, fold.shown().page_gone) == (None, ("P", "closed"))
    assert fold.state.only_page is None
