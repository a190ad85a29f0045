"""The stop: what is settled, how long that may take, and what is left."""

from __future__ import annotations

import math

import pytest

from cdp_supervisor.sansio.effects import ClaimFetch, Release, ReleaseFetch
from cdp_supervisor.sansio.inputs import BrowserEvent
from cdp_supervisor.sansio.options import Scope
from cdp_supervisor.sansio.requests import Call, Focus, Recover, Stop
from cdp_supervisor.sansio.step import next_deadline
from cdp_supervisor.sansio.stopping import StopReport
from support import folded_machine
from support.folded_machine import LOG, SampleExtension, on_a_page

HANDLE = "Page.handleJavaScriptDialog"
TREE = "Page.getFrameTree"


def test_a_stop_with_nothing_open_ends_at_once_and_leaves_nothing() -> None:
    fold = folded_machine.with_tree()
    request_id = fold.ask(Stop())
    assert fold.answers[request_id].value == StopReport()
    assert fold.state.link.phase == "stopped"
    assert next_deadline(fold.state) is None
    assert not fold.state.tickets


def test_a_stop_ends_auto_attach_and_the_sessions_that_the_supervisor_opened() -> None:
    """Without the first, later targets would be attached and wait for ever for a resume."""
    fold = folded_machine.with_tree("F")
    fold.attach("A")
    fold.detach("s-A").passes(2.0)
    fold.attach("A", session="s-A2")
    fold.reply("Target.attachToTarget", {"sessionId": "s-A2"})
    fold.ask(Stop())
    assert [each for each in fold.last if isinstance(each, Release)] == [Release(sessions=("s-A2",))]


def test_a_stop_waits_for_a_session_that_is_being_opened() -> None:
    fold = on_a_page()
    fold.detach("s-P").passes(2.0)
    fold.ask(Stop())
    assert fold.state.stopping is not None
    fold.attach("P", session="s-P2")
    fold.reply("Target.attachToTarget", {"sessionId": "s-P2"})
    assert [each for each in fold.last if isinstance(each, Release)] == [Release(sessions=("s-P2",))]


def test_a_stop_releases_nothing_if_the_link_is_down_or_adopted() -> None:
    adopting, gone = folded_machine.with_tree(adopting=True), folded_machine.with_tree().down()
    for fold in (adopting, gone):
        fold.ask(Stop())
        assert not [each for each in fold.orders if isinstance(each, Release)]


def test_after_a_stop_nothing_changes_and_every_request_is_refused() -> None:
    fold = folded_machine.with_tree()
    fold.ask(Stop())
    before = fold.state
    fold.event("Page.frameAttached", on="s-P", frameId="A", parentFrameId="P")
    fold.event("Log.entryAdded", on="s-P")
    fold.up().passes(1_000.0)
    assert fold.state is before
    for request in (Stop(), Focus(), Call(method="Page.reload")):
        assert fold.answers[fold.ask(request)].error.reason == "stopped"


@pytest.mark.parametrize("odd", [0, -1.0, math.nan, math.inf, -math.inf, True, 10**400], ids=lambda odd: str(odd)[:9])
def test_an_invalid_timeout_of_a_stop_counts_as_zero(odd: float) -> None:
    """A program that exits must not be kept waiting: the next step is the end."""
    fold = folded_machine.with_tree()
    fold.opening()
    request_id = fold.ask(Stop(timeout=odd))
    fold.passes(0.001)
    assert fold.answers[request_id].value.left == ("dialog d-1 (answering)",)


def test_a_stop_waits_for_the_dialogs_that_it_answers() -> None:
    fold = folded_machine.with_tree()
    fold.opening()
    request_id = fold.ask(Stop(timeout=2.0))
    assert request_id not in fold.answers
    assert fold.error(fold.ask(Focus())) == "SupervisorStopped"
    fold.closing()
    assert request_id not in fold.answers
    fold.reply(HANDLE)
    assert fold.answers[request_id].value == StopReport()


def test_a_stop_is_bounded_and_reports_what_is_left() -> None:
    """A caller that waits for its answer to a dialog gets `SupervisorStopped`."""
    fold = folded_machine.with_tree()
    fold.attach("Q-that-is-silent")
    fold.opening()
    answering = fold.respond()
    fold.passes(3.0)
    request_id = fold.ask(Stop(timeout=1.0))
    fold.passes(1.0)
    assert fold.answers[request_id].value.left == ("dialog d-1 (answering)", "page Q-that-i (blocked)")
    assert fold.error(answering) == "SupervisorStopped"


def test_a_stop_ends_open_calls() -> None:
    fold = folded_machine.with_tree()
    request_id = fold.ask(Call(method="Runtime.evaluate", timeout=None))
    fold.ask(Stop())
    assert fold.error(request_id) == "SupervisorStopped"
    assert not fold.state.calls


def test_a_closed_dialog_is_not_reported_as_left_when_the_stop_times_out() -> None:
    fold = folded_machine.with_tree()
    fold.opening()
    answering = fold.respond()
    fold.closing(result=True)
    request_id = fold.ask(Stop(timeout=1.0))
    assert request_id not in fold.answers
    fold.passes(1.0)
    assert fold.answers[request_id].value == StopReport()
    assert fold.error(answering) == "SupervisorStopped"


def test_a_blocked_frame_is_reported_as_left() -> None:
    fold = folded_machine.with_tree("F")
    fold.attach("F", "iframe", of="s-P")
    fold.passes(3.0)
    assert fold.answers[fold.ask(Stop())].value.left == ("page P (one of its frames is blocked)",)


def test_a_stop_without_a_link_ends_at_once_and_leaves_the_dialogs() -> None:
    fold = folded_machine.with_tree()
    fold.opening()
    fold.down()
    request_id = fold.ask(Stop())
    assert fold.answers[request_id].value.left == ("the link is down", "dialog d-1 (orphaned)")
    assert not fold.all_sent(HANDLE)


def test_an_observing_supervisor_answers_no_dialog_at_a_stop() -> None:
    fold = folded_machine.with_tree(scope=Scope.browser().observed())
    fold.opening()
    request_id = fold.ask(Stop())
    fold.reply("Page.getNavigationHistory", {"entries": []})
    assert fold.answers[request_id].value == StopReport(left=("dialog d-1 (open)",))
    assert not fold.all_sent(HANDLE)


def test_the_report_names_a_dialog_without_a_window_that_the_browser_dismisses() -> None:
    """Fact 26: when the client that saw it open disconnects, it is dismissed for all clients."""
    fold = folded_machine.with_tree(scope=Scope.browser().observed())
    fold.opening(native=False)
    request_id = fold.ask(Stop())
    assert fold.answers[request_id].value.left == ("dialog d-1 (open; the browser dismisses it now, for all clients)",)
    unanswerable = folded_machine.with_tree()
    unanswerable.opening(native=False)
    unanswerable.respond()
    unanswerable.refuse(HANDLE, folded_machine.NONE_SHOWING)
    assert unanswerable.answers[unanswerable.ask(Stop())].value.left == ("dialog d-1 (unseen)",)  # that one is not open


def test_a_stop_ends_open_remedies() -> None:
    fold = on_a_page().passes(3.0)
    request_id = fold.ask(Recover(target_id="P", remedy="reload"))
    fold.ask(Stop())
    assert fold.error(request_id) == "SupervisorStopped"


def test_the_claims_of_extensions_are_released_at_the_stop() -> None:
    claim = ClaimFetch(key="k", session_id=None, patterns=({},))
    claiming = SampleExtension(lambda state, got: (state, (claim,) if type(got) is BrowserEvent else ()), events={LOG})
    fold = on_a_page(extensions=(claiming, SampleExtension(name="other")))
    fold.event(LOG, on="s-P")
    fold.ask(Stop())
    ends = [each for each in fold.last if isinstance(each, (ReleaseFetch, Release))]
    assert ends == [ReleaseFetch(extension="example"), Release()]
