"""Pages that would end the browser are freed, or left alone (facts 62, 63)."""

from __future__ import annotations

from typing import Any

import pytest

from cdp_supervisor import WouldEndBrowser
from cdp_supervisor.sansio.freeing import CLOSE_SECONDS, FREE_SECONDS
from cdp_supervisor.sansio.options import Limits, Policy, Scope
from cdp_supervisor.sansio.requests import Call, Recover, Stop
from cdp_supervisor.sansio.stopping import StopReport
from support import folded_machine
from support.folded_machine import Fold, error_of, on_a_page

HANDLE, NAVIGATE = "Page.handleJavaScriptDialog", "Page.navigate"
HISTORY, CLOSE = "Page.getNavigationHistory", "Target.closeTarget"
THERE, HERE = "https://shop.example/there", "https://shop.example/"


def leaving(*, post: bool | None = False, **options: Any) -> Fold:
    """Return a page that asks a question while it is left.

    `post`: by a form; None: the address is not known.
    """
    fold = folded_machine.with_tree(**options)
    fold.event("Page.frameNavigated", on="s-P", frame={"id": "P", "url": HERE, "loaderId": "l-1"})
    if post is not None:
        reason = "formSubmissionPost" if post else "anchorClick"
        fold.event("Page.frameRequestedNavigation", on="s-P", frameId="P", reason=reason, url=THERE)
        fold.event(
            "Page.frameStartedNavigating",
            on="s-P",
            frameId="P",
            loaderId="l-2",
            url=THERE,
            navigationType="differentDocument",
        )
    fold.opening("P")
    return fold


def inactive(fold: Fold) -> Fold:
    """Refuse the answer: the page is not active."""
    return fold.refuse(HANDLE)


# ── at the stop ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("post", "url", "lost"),
    [
        (False, THERE, "navigated to the address of its navigation; what its document holds is lost"),
        (True, HERE, "navigated to its own address; what its form sends is lost"),
        (None, HERE, "navigated to its own address; what its document holds is lost"),
    ],
)
def test_a_page_whose_dialog_cannot_be_answered_is_navigated_away_before_the_session_ends(
    post: bool | None, url: str, lost: str
) -> None:
    fold = leaving(post=post)
    stop = fold.ask(Stop())
    inactive(fold)
    assert fold.sent(NAVIGATE, on="s-P").params == {"url": url}
    assert stop not in fold.answers
    fold.closing("P", result=False)
    assert fold.answers[stop].value == StopReport(freed=(f"page P (https://shop.example): {lost}",))
    assert not fold.all_sent(CLOSE)


def test_a_page_that_no_navigation_frees_is_closed() -> None:
    fold = leaving()
    stop = fold.ask(Stop(timeout=10.0))
    inactive(fold).passes(FREE_SECONDS)
    assert fold.sent(CLOSE).params == {"targetId": "P"}
    assert stop not in fold.answers
    fold.event("Target.targetDestroyed", targetId="P")
    [told] = fold.answers[stop].value.freed
    assert told.endswith("closed, since no navigation freed it; what it holds is lost")


def test_a_stop_does_not_wait_for_ever_for_a_page_that_nothing_frees() -> None:
    fold = leaving()
    stop = fold.ask(Stop(timeout=10.0))
    inactive(fold).passes(FREE_SECONDS).passes(CLOSE_SECONDS)
    assert fold.answers[stop].value == StopReport(left=("dialog d-1 (page_inactive)",))
    assert len(fold.all_sent(CLOSE)) == 1


def test_a_dialog_that_was_refused_earlier_is_freed_at_the_stop() -> None:
    fold = leaving()
    fold.respond()
    inactive(fold)
    assert not fold.all_sent(NAVIGATE)  # a policy that waits for the caller leaves it to the caller
    fold.ask(Stop())
    assert len(fold.all_sent(NAVIGATE)) == 1


def test_an_observer_looks_first_and_frees_only_a_page_that_would_end_the_browser() -> None:
    for refused in (True, False):
        fold = leaving(scope=Scope.browser().observed())
        stop = fold.ask(Stop())
        assert not fold.all_sent(HANDLE)
        assert stop not in fold.answers
        if refused:
            fold.refuse(HISTORY)
            assert len(fold.all_sent(NAVIGATE)) == 1
            fold.closing("P", result=False)
        else:
            fold.reply(HISTORY, {"entries": []})
        assert len(fold.answers[stop].value.freed) == refused
        assert len(fold.all_sent(NAVIGATE)) == refused


def test_a_look_that_comes_to_nothing_frees_nothing() -> None:
    fold = leaving(scope=Scope.browser().observed())
    fold.ask(Stop())
    fold.event("Target.targetDestroyed", targetId="P")
    fold.refuse(HISTORY)
    assert not fold.all_sent(NAVIGATE)
    gone = leaving(scope=Scope.browser().observed())
    gone.detach("s-P")
    gone.ask(Stop())
    assert not gone.all_sent(HISTORY)


def test_the_report_keeps_as_many_pages_as_dialogs_are_kept() -> None:
    fold = leaving(limits=Limits(recent_dialogs=0))
    stop = fold.ask(Stop())
    inactive(fold).closing("P", result=False)
    assert fold.answers[stop].value.freed == ()


# ── under an automatic policy ─────────────────────────────────────────────────────────────────────────────────────────


def test_an_automatic_policy_frees_the_page_at_once() -> None:
    fold = leaving(policy=Policy("auto_accept"))
    inactive(fold)
    assert len(fold.all_sent(NAVIGATE)) == 1
    fold.closing("P", result=False)
    assert fold.end_of("d-1") == ("remote", "navigation")
    assert fold.answers[fold.ask(Stop())].value.freed


def test_a_page_that_is_being_freed_is_not_freed_again() -> None:
    fold = leaving(policy=Policy("auto_accept"))
    inactive(fold)
    stop = fold.ask(Stop())
    assert len(fold.all_sent(NAVIGATE)) == 1
    fold.closing("P", result=False)
    assert len(fold.answers[stop].value.freed) == 1


def test_a_lost_link_ends_the_freeing() -> None:
    fold = leaving(policy=Policy("auto_accept"))
    inactive(fold).down()
    fold.passes(FREE_SECONDS)
    assert not fold.all_sent(CLOSE)
    assert fold.page().freed_by == ""


# ── fragile pages ─────────────────────────────────────────────────────────────────────────────────────────────────────


def fragile(**options: Any) -> Fold:
    """Return a page whose frame, out of process, was removed under its open dialog."""
    fold = on_a_page(**options)
    fold.attach("F", "iframe", of="s-P", parentFrameId="P")
    fold.opening("F")
    fold.event("Page.frameDetached", on="s-P", frameId="F", reason="remove")
    return fold


def test_a_page_whose_frame_was_removed_under_its_dialog_is_fragile() -> None:
    fold = fragile()
    assert fold.health() == "fragile"
    assert [note for note in fold.notes() if "ends the browser" in note]
    fold.opening("P")
    fold.event("Page.frameNavigated", on="s-P", frame={"id": "P", "url": HERE})  # it survived
    assert fold.page().fragile is None


def test_a_page_is_called_fragile_once() -> None:
    fold = fragile()
    since = fold.page().fragile
    fold.passes(1.0)
    fold.attach("G", "iframe", of="s-P", parentFrameId="P")
    fold.opening("G")
    fold.event("Page.frameDetached", on="s-P", frameId="G", reason="remove")
    assert fold.page().fragile == since
    assert len([note for note in fold.notes() if "ends the browser" in note]) == 1


@pytest.mark.parametrize("native", [True, False])
def test_only_a_frame_out_of_process_with_a_window_for_its_dialog_makes_its_page_fragile(native: bool) -> None:
    fold = on_a_page()
    if not native:
        fold.attach("F", "iframe", of="s-P", parentFrameId="P")
    else:
        fold.event("Page.frameAttached", on="s-P", frameId="F", parentFrameId="P")
    fold.opening("F", native=native)
    fold.event("Page.frameDetached", on="s-P", frameId="F", reason="remove")
    assert fold.page().fragile is None


@pytest.mark.parametrize("method", [NAVIGATE, "Page.reload", "Page.close", "Page.navigateToHistoryEntry", CLOSE])
def test_what_would_end_the_browser_is_refused_unless_forced(method: str) -> None:
    params = {"targetId": "P"} if method == CLOSE else {}
    fold = fragile()
    error = error_of(fold, fold.ask(Call(method=method, params=params)))
    assert isinstance(error, WouldEndBrowser)
    assert (error.target_id, error.method) == ("P", method)
    assert not fold.all_sent(method)
    fold.ask(Call(method=method, params=params, force=True))
    assert len(fold.all_sent(method)) == 1


def test_other_calls_go_to_a_fragile_page_and_other_targets_may_be_closed() -> None:
    fold = fragile()
    fold.ask(Call(method="Runtime.evaluate", params={"expression": "1"}))
    assert fold.all_sent("Runtime.evaluate")
    for params in ({"targetId": "Q"}, {"targetId": 7}, {}):
        fold.ask(Call(method=CLOSE, params=params))
    assert len(fold.all_sent(CLOSE)) == 3


def test_a_remedy_of_a_fragile_page_is_refused_unless_forced() -> None:
    fold = fragile()
    fold.opening("P")
    error = error_of(fold, fold.ask(Recover(target_id="P", remedy="close")))
    assert isinstance(error, WouldEndBrowser)
    fold.respond()
    inactive(fold)
    fold.ask(Recover(target_id="P", remedy="close", force=True))
    assert len(fold.all_sent(CLOSE)) == 1


def test_nothing_is_sent_to_a_fragile_page_at_a_stop() -> None:
    for scope in (Scope.browser(), Scope.browser().observed()):
        fold = fragile(scope=scope)
        fold.opening("P")
        before = len(fold.orders)
        stop = fold.ask(Stop())
        assert not [each for each in fold.orders[before:] if getattr(each, "session_id", None) == "s-P"]
        assert "would end the browser" in " ".join(fold.answers[stop].value.left)


def test_a_dialog_on_a_fragile_page_is_not_freed() -> None:
    fold = fragile()
    fold.opening("P")
    fold.respond()
    inactive(fold)
    fold.ask(Stop())
    assert not fold.all_sent(NAVIGATE)
