"""The machine as a whole: who is fed what, what is dropped, when time counts, how it ends, and what strangers may do."""

from __future__ import annotations

import math
from typing import Any

import pytest

from cdp_core.errors import InvalidArgument
from cdp_core.sansio.messages import Event, decode
from cdp_core.sansio.structs import replace
from cdp_supervisor.sansio.effects import Dial, Disconnect, Note, Release
from cdp_supervisor.sansio.inputs import BrowserEvent, Instant, LinkDown, RequestReceived, SessionOpened, TimePassed
from cdp_supervisor.sansio.options import Limits, Policy, Reconnect, Scope
from cdp_supervisor.sansio.requests import AwaitCall, Call, Focus, Recover, RespondToDialog, SetPolicy, Stop
from cdp_supervisor.sansio.state import Deadline, initial_state
from cdp_supervisor.sansio.step import (
    EVENTS,
    Step,
    StopReport,
    deferrable_events,
    deferrable_until,
    events_unused_by_extensions,
    next_deadline,
    step,
    used_events,
)
from cdp_supervisor.sansio.step import fold as fold_at_once
from support import folded_machine

SampleExtension, Keeper, LOG, lines = (
    folded_machine.SampleExtension,
    folded_machine.Keeper,
    folded_machine.LOG,
    folded_machine.lines,
)


def repr_of(value: object) -> str:
    return repr(value)[:12]


HANDLE = "Page.handleJavaScriptDialog"
TREE = "Page.getFrameTree"


def on_a_page(**options: Any) -> Any:
    return folded_machine.on_a_page(**options)


# ── what changes nothing ─────────────────────────────────────────────────────────────────────────────────────────────


def test_an_event_that_is_in_no_table_leaves_the_very_state() -> None:
    fold = on_a_page()
    before = fold.state
    fold.says("Network.requestWillBeSent", on="s-P", requestId="1")
    assert fold.state is before
    assert fold.last == ()


def test_the_sequence_counts_states_and_not_inputs() -> None:
    """Two snapshots of one number are one: time alone makes no other."""
    fold = on_a_page()
    before = fold.state.sequence
    fold.passes(0.5)
    assert fold.state.sequence == before
    fold.opening()
    assert fold.state.sequence == before + 1


def test_params_that_are_no_object_are_counted_and_nothing_else() -> None:
    fold = on_a_page()
    pages = fold.state.pages
    torn = decode(b'{"method":"Page.frameAttached","params":[1],"sessionId":"s-P"}')
    assert isinstance(torn, Event)
    fold.feed(BrowserEvent(at=fold.at, generation=1, event=torn))
    assert fold.count("unreadable_events") == 1
    assert fold.state.pages is pages


def test_a_reply_to_nothing_means_nothing() -> None:
    fold = on_a_page()
    before = fold.state
    fold.ends(99, folded_machine.result_of({}))
    assert fold.state is before


def test_an_input_that_nobody_knows_means_nothing() -> None:
    """A trace of a later version may have some."""
    fold = on_a_page()
    before = fold.state

    class Later(TimePassed, frozen=True):
        pass

    fold.feed(Later(at=fold.at, generation=1))
    assert fold.state is before


@pytest.mark.parametrize("session", [None, "nobody", "s-P2"])
def test_a_page_s_event_counts_only_on_the_session_that_is_listened_to(session: str | None) -> None:
    """On the browser's own, on one that is not open, and on a second one (fact 47) it is passed over."""
    fold = on_a_page()
    fold.attach("P", session="s-P2")
    pages = fold.state.pages
    fold.says("Page.frameAttached", on=session, frameId="A", parentFrameId="P")
    assert fold.state.pages is pages


def test_a_page_s_event_on_a_session_below_no_page_is_passed_over() -> None:
    fold = on_a_page()
    fold.attach("W", "service_worker")
    pages = fold.state.pages
    fold.says("Page.frameAttached", on="s-W", frameId="A", parentFrameId="W")
    assert fold.state.pages is pages


def test_a_dialog_s_events_count_on_the_page_s_own_session_alone() -> None:
    """Fact 2: a frame's process says nothing of dialogs that could be believed."""
    fold = on_a_page()
    fold.attach("F", "iframe", of="s-P", parentFrameId="P")
    fold.says("Page.javascriptDialogOpening", on="s-F", frameId="F", type="alert")
    assert not fold.pending()
    fold.opening("F")
    fold.says("Page.javascriptDialogClosed", on="s-F", frameId="F")
    assert len(fold.pending()) == 1


def test_every_event_of_the_table_is_wanted_and_those_of_machines_too() -> None:
    fold = folded_machine.Fold(extensions=(SampleExtension(events={"Log.entryAdded"}),))
    assert used_events(fold.state) == frozenset(EVENTS) | {"Log.entryAdded"}


# ── links of before ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_what_an_older_link_says_is_dropped_and_counted() -> None:
    fold = on_a_page()
    fold.feed(LinkDown(at=fold.at, generation=0, reason="cut"))
    assert fold.state.link.phase == "up"
    fold.says("Network.dataReceived")
    fold.feed(BrowserEvent(at=fold.at, generation=0, event=folded_machine.event_of("Page.frameAttached", {}, "s-P")))
    assert fold.count("inputs_of_older_links") == 2


def test_who_asks_and_the_clock_belong_to_no_link() -> None:
    """They come from this side: whoever asked before a link broke is answered all the same."""
    fold = on_a_page()
    fold.opening()
    older = RequestReceived(at=fold.at, generation=0, request_id=1, request=RespondToDialog(action="accept"))
    fold.feed(older)
    assert fold.sent(HANDLE).params == {"accept": True}
    fold.feed(TimePassed(at=Instant(mono=5.0), generation=0))
    assert fold.pending()[0].why == "unseen"
    assert fold.count("inputs_of_older_links") == 0


# ── time ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("odd", [-1.0, 0.0, math.nan, math.inf, -math.inf])
def test_time_never_runs_backwards_nor_out(odd: float) -> None:
    fold = on_a_page()
    fold.passes(1.0)
    fold.feed(TimePassed(at=Instant(mono=odd), generation=1))
    assert fold.state.now == 1.0


def test_every_deadline_that_has_come_is_met_whatever_the_input_was() -> None:
    """An ask that comes late finds the page already known as blocked, and the dialog's time over."""
    fold = on_a_page(policy=Policy(dialog_timeout=2.0))
    fold.attach("Q")
    fold.opening()
    fold.now = 10.0
    fold.says("Page.frameAttached", on="s-P", frameId="A", parentFrameId="P")
    assert fold.health("Q") == "blocked"
    assert fold.dialog("d-1").by == "watchdog"


def test_the_next_deadline_says_why() -> None:
    assert next_deadline(folded_machine.Fold().state) is None
    assert next_deadline(on_a_page().state) == Deadline(at=3.0, why="the setup of a session is unanswered")


def test_a_time_passed_too_many_does_nothing() -> None:
    fold = on_a_page().passes(3.0)
    before = fold.state
    fold.passes(0.0)
    assert fold.state is before


# ── what we sent ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_answer_of_any_kind_shows_that_the_browser_lives_but_a_loss_does_not() -> None:
    fold = on_a_page(keepalive=10.0)
    fold.passes(10.0)
    assert fold.state.link.unanswered == 1
    fold.lose(TREE)
    assert fold.state.link.unanswered == 1
    fold.refuse("Browser.getVersion")
    assert fold.state.link.unanswered == 0


def test_a_browser_that_answers_no_more_is_hung_up_on() -> None:
    fold = on_a_page(keepalive=10.0)
    fold.passes(10.0).passes(10.0).passes(10.0)
    assert Disconnect(reason="half_open") in fold.last


def test_a_lost_link_is_dialled_again_in_its_time() -> None:
    fold = on_a_page(reconnect=Reconnect(first=4.0))
    fold.down(jitter=1.0)
    fold.passes(3.9)
    assert not [each for each in fold.orders if isinstance(each, Dial)]
    fold.passes(0.1)
    assert fold.last == (Dial(generation=2),)


def test_a_refused_list_of_targets_ends_no_page() -> None:
    fold = on_a_page()
    fold.refuse("Target.getTargets")
    assert fold.shown().page("P") is not None
    assert not fold.state.link.listed


def test_a_list_of_targets_that_is_lost_says_nothing_of_the_browser() -> None:
    """It is no refusal: the link ended, and the next one asks again."""
    fold = on_a_page()
    fold.lose("Target.getTargets")
    assert (fold.state.link.unsupported, fold.state.link.listed) == ("", False)
    assert fold.shown().page("P") is not None


def test_what_refuses_to_say_which_targets_it_has_is_no_browser() -> None:
    fold = on_a_page()
    fold.refuse("Target.getTargets", -32601)
    assert fold.state.link.unsupported == "Target.getTargets was refused (code -32601)"
    assert Disconnect(reason="unsupported") in fold.last


def test_the_end_of_a_command_goes_to_whoever_sent_it() -> None:
    """A call gets its result, a cure is done, a page that cannot be attached to is gone, a list is believed."""
    fold = folded_machine.with_tree("A")
    assert fold.tree() == {"P": {"A": {}}}
    fold.attach("Q")
    call = fold.ask(Call(method="Runtime.evaluate", target_id="P"))
    fold.reply("Runtime.evaluate", {"n": 1})
    fold.opening()
    fold.respond()
    fold.refuse(HANDLE, folded_machine.NOT_ACTIVE)
    remedy = fold.ask(Recover(target_id="P", remedy="navigate"))
    fold.reply("Page.navigate")
    assert (fold.answers[call].value, fold.answers[remedy].value) == ({"n": 1}, None)
    fold.detach("s-Q").lose(TREE).passes(1.0).refuse("Target.attachToTarget")
    assert [page.target_id for page in fold.shown().pages] == ["P"]
    fold.reply("Target.getTargets", {"targetInfos": []})
    assert fold.state.link.listed
    assert not fold.state.tickets


@pytest.mark.parametrize(
    ("method", "outcome", "frees"),
    [
        ("Runtime.evaluate", {}, True),
        ("DOM.getDocument", {}, True),
        ("Page.navigate", {}, False),
        ("Runtime.evaluate", None, False),
    ],
)
def test_a_page_is_not_stopped_once_a_call_is_answered_that_needs_its_renderer(
    method: str, outcome: Any, frees: bool
) -> None:
    """The browser itself refuses, and answers much."""
    fold = on_a_page().passes(3.0)
    fold.ask(Call(method=method, when_blocked="wait"))
    if outcome is None:
        fold.refuse(method)
    else:
        fold.reply(method, outcome)
    assert fold.health() == ("ok" if frees else "blocked")


def test_the_renderer_of_a_call_that_nobody_awaits_any_more_is_not_taken_for_its_answer() -> None:
    fold = on_a_page()
    fold.ask(Call(method="Runtime.evaluate"))
    ticket = fold.sent("Runtime.evaluate").ticket
    fold.state = replace(fold.state, calls=fold.state.calls.delete("c-1"))
    fold.passes(3.0).ends(ticket, folded_machine.result_of({}))
    assert fold.health() == "blocked"


def test_a_dropped_ask_is_answered_no_more() -> None:
    fold = folded_machine.with_tree()
    ask = fold.ask(Call(method="Runtime.evaluate"))
    fold.drops(ask).passes(100.0)
    assert ask not in fold.answers
    assert not fold.state.calls


def test_a_document_from_the_cache_is_read_anew_and_another_one_is_not() -> None:
    """Fact 43."""
    fold = folded_machine.with_tree()
    asked = len(fold.all_sent(TREE))
    fold.says("Page.frameNavigated", on="s-P", frame={"id": "P"}, type="Navigation")
    assert len(fold.all_sent(TREE)) == asked
    fold.says("Page.frameNavigated", on="s-P", frame={"id": "P"}, type="BackForwardCacheRestore")
    assert len(fold.all_sent(TREE)) == asked + 1


def test_a_document_whose_session_a_rule_ended_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who would read it is asked for when it is needed, not remembered."""

    def restored_and_gone(transition: Any, _page: Any, session_id: Any, _params: Any) -> bool:
        transition.update(sessions=transition.state.sessions.delete(session_id))
        return True

    fold = folded_machine.with_tree()
    asked = len(fold.all_sent(TREE))
    monkeypatch.setattr("cdp_supervisor.sansio.frames.navigated", restored_and_gone)
    fold.says("Page.frameNavigated", on="s-P", frame={"id": "P"}, type="BackForwardCacheRestore")
    assert len(fold.all_sent(TREE)) == asked


def test_a_dialog_is_there_before_the_calls_hear_of_it() -> None:
    fold = folded_machine.with_tree()
    ask = fold.ask(Call(method="Runtime.evaluate"))
    fold.opening()
    told = [type(each).__name__ for each in fold.last if not isinstance(each, Note)]
    assert told == ["Publish", "Answer"]
    assert fold.error(ask) == "BlockedByDialog"


def test_a_dialog_that_is_left_out_overtakes_no_call() -> None:
    """Nobody could be told its id."""
    fold = folded_machine.with_tree(limits=Limits(dialogs_kept=0))
    ask = fold.ask(Call(method="Runtime.evaluate"))
    fold.opening()
    assert ask not in fold.answers


# ── asks, when there is no link ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("owned", "reason"), [(True, "gave_up"), (False, "link_not_owned")])
def test_who_gave_up_says_so_to_all_that_needs_a_link(owned: bool, reason: str) -> None:
    fold = folded_machine.Fold(reconnect=Reconnect.never()).up(owned=owned)
    fold.attach("P")
    fold.down()
    for question in (
        Call(method="Page.reload"),
        RespondToDialog(action="accept"),
        Recover(target_id="P", remedy="close"),
    ):
        assert fold.answers[fold.ask(question)].error.reason == reason
    assert fold.error(fold.ask(Focus(target_id="P"))) == ""
    assert fold.error(fold.ask(SetPolicy(policy=Policy("auto_accept")))) == ""
    assert fold.error(fold.ask(AwaitCall(call_id="c-9"))) == "UnknownCall"


@pytest.mark.parametrize("question", [None, "reload", 10**400, math.nan, [], object(), Call], ids=repr_of)
def test_what_is_no_question_is_refused_by_its_type(question: Any) -> None:
    fold = on_a_page()
    before = fold.state.last_ticket
    error = fold.answers[fold.ask(question)].error
    assert isinstance(error, InvalidArgument)
    assert str(error).startswith(f"{type(question).__name__} is not a request to a supervisor")
    assert fold.state.last_ticket == before


def test_what_is_no_question_is_answered_whatever_the_link_does() -> None:
    gone = on_a_page(reconnect=Reconnect.never()).down()
    assert gone.error(gone.ask(None)) == "SupervisorStopped"
    ended = folded_machine.with_tree()
    ended.ask(Stop())
    assert ended.error(ended.ask(None)) == "SupervisorStopped"


# ── the end ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_with_nothing_open_the_end_is_at_once_and_leaves_nothing() -> None:
    fold = folded_machine.with_tree()
    ask = fold.ask(Stop())
    assert fold.answers[ask].value == StopReport()
    assert fold.state.link.phase == "stopped"
    assert next_deadline(fold.state) is None
    assert not fold.state.tickets


def test_at_the_end_nothing_more_is_attached_to_and_what_was_is_let_go() -> None:
    """Else what opens later is attached to, and waits for ever for somebody to resume it. Sessions below end with theirs."""
    fold = folded_machine.with_tree("F")
    fold.attach("F", "iframe", of="s-P")
    fold.attach("A")
    fold.ask(Stop())
    assert [each for each in fold.last if isinstance(each, Release)] == [Release(sessions=("s-A", "s-P"))]


def test_at_the_end_nothing_is_let_go_that_is_gone_or_somebody_else_s() -> None:
    adopting, gone = folded_machine.with_tree(adopting=True), folded_machine.with_tree().down()
    for fold in (adopting, gone):
        fold.ask(Stop())
        assert not [each for each in fold.orders if isinstance(each, Release)]


def test_after_the_end_nothing_happens_and_every_ask_is_told_so() -> None:
    fold = folded_machine.with_tree()
    fold.ask(Stop())
    before = fold.state
    fold.says("Page.frameAttached", on="s-P", frameId="A", parentFrameId="P")
    fold.says("Log.entryAdded", on="s-P")
    fold.up().passes(1_000.0)
    assert fold.state is before
    for question in (Stop(), Focus(), Call(method="Page.reload")):
        assert fold.answers[fold.ask(question)].error.reason == "stopped"


@pytest.mark.parametrize("odd", [0, -1.0, math.nan, math.inf, -math.inf, True, 10**400], ids=lambda odd: str(odd)[:9])
def test_a_time_for_the_end_that_is_none_is_no_time(odd: float) -> None:
    """Whoever is on the way out is not kept: the step after it is the end."""
    fold = folded_machine.with_tree()
    fold.opening()
    ask = fold.ask(Stop(timeout=odd))
    fold.passes(0.001)
    assert fold.answers[ask].value.left == ("dialog d-1 (answering)",)


def test_the_end_waits_for_the_dialogs_that_it_settles() -> None:
    fold = folded_machine.with_tree()
    fold.opening()
    ask = fold.ask(Stop(timeout=2.0))
    assert ask not in fold.answers
    assert fold.error(fold.ask(Focus())) == "SupervisorStopped"
    fold.closing()
    assert ask not in fold.answers
    fold.reply(HANDLE)
    assert fold.answers[ask].value == StopReport()


def test_the_end_is_bounded_and_says_what_is_left() -> None:
    """Also whoever waits for an answer to a dialog hears of the end."""
    fold = folded_machine.with_tree()
    fold.attach("Q-that-is-silent")
    fold.opening()
    answering = fold.respond()
    fold.passes(3.0)
    ask = fold.ask(Stop(timeout=1.0))
    fold.passes(1.0)
    assert fold.answers[ask].value.left == ("dialog d-1 (answering)", "page Q-that-i (blocked)")
    assert fold.error(answering) == "SupervisorStopped"


def test_who_waits_for_a_call_at_the_end_hears_of_it() -> None:
    fold = folded_machine.with_tree()
    ask = fold.ask(Call(method="Runtime.evaluate", timeout=None))
    fold.ask(Stop())
    assert fold.error(ask) == "SupervisorStopped"
    assert not fold.state.calls


def test_a_closed_dialog_at_the_end_of_the_time_is_not_left_over() -> None:
    fold = folded_machine.with_tree()
    fold.opening()
    answering = fold.respond()
    fold.closing(result=True)
    ask = fold.ask(Stop(timeout=1.0))
    assert ask not in fold.answers
    fold.passes(1.0)
    assert fold.answers[ask].value == StopReport()
    assert fold.error(answering) == "SupervisorStopped"


def test_a_frame_that_is_silent_is_left_over() -> None:
    fold = folded_machine.with_tree("F")
    fold.attach("F", "iframe", of="s-P")
    fold.passes(3.0)
    assert fold.answers[fold.ask(Stop())].value.left == ("page P (one of its frames is blocked)",)


def test_without_a_link_the_end_is_at_once_and_the_dialogs_are_left() -> None:
    fold = folded_machine.with_tree()
    fold.opening()
    fold.down()
    ask = fold.ask(Stop())
    assert fold.answers[ask].value.left == ("the link is down", "dialog d-1 (orphaned)")
    assert not fold.all_sent(HANDLE)


def test_who_only_observed_settles_nothing_at_the_end() -> None:
    fold = folded_machine.with_tree(scope=Scope.browser().observed())
    fold.opening()
    ask = fold.ask(Stop())
    assert fold.answers[ask].value.left == ("dialog d-1 (open)",)
    assert not fold.all_sent(HANDLE)


def test_a_dialog_without_a_window_that_is_left_is_dismissed_by_the_browser_and_that_is_said() -> None:
    """Fact 26: with who saw it open it goes, for everybody."""
    fold = folded_machine.with_tree(scope=Scope.browser().observed())
    fold.opening(native=False)
    ask = fold.ask(Stop())
    assert fold.answers[ask].value.left == ("dialog d-1 (open; the browser dismisses it now, for all clients)",)
    stuck = folded_machine.with_tree()
    stuck.opening(native=False)
    stuck.respond()
    stuck.refuse(HANDLE, folded_machine.NONE_SHOWING)
    assert stuck.answers[stuck.ask(Stop())].value.left == ("dialog d-1 (unseen)",)  # that one is not open


def test_a_cure_under_way_at_the_end_is_told_so() -> None:
    fold = on_a_page().passes(3.0)
    ask = fold.ask(Recover(target_id="P", remedy="reload"))
    fold.ask(Stop())
    assert fold.error(ask) == "SupervisorStopped"


# ── events that may wait ─────────────────────────────────────────────────────────────────────────────────────────────


def test_several_events_that_are_only_kept_are_folded_at_once_to_the_same_state() -> None:
    fold = on_a_page(
        extensions=(Keeper(), Keeper(name="other", events={LOG, "X.y"}), Keeper(name="idle", events={"Z.z"}))
    )
    wanted = [*lines(fold, "a", "b"), *lines(fold, "c", method="X.y")]
    after, orders = fold_at_once(fold.state, wanted)
    for each in wanted:
        fold.feed(each)
    assert (after, orders) == (fold.state, ())
    assert [each.state for each in after.extensions] == [("a", "b"), ("a", "b", "c"), ()]


def test_what_a_machine_that_only_keeps_passes_over_makes_no_state() -> None:
    fold = on_a_page(extensions=(Keeper(ignores="x"),))
    assert fold_at_once(fold.state, lines(fold, "x", "x"))[0] is fold.state
    fold.now += 0.1
    assert fold_at_once(fold.state, lines(fold, "x"))[0] == replace(fold.state, now=fold.now)


def test_a_machine_that_fails_among_several_events_is_switched_off_at_that_one() -> None:
    fold = on_a_page(extensions=(Keeper(), Keeper(name="deaf", events={"Z.z"})))
    after, orders = fold_at_once(fold.state, lines(fold, "a", "fatal", "b"))
    assert [(each.state, each.off) for each in after.extensions] == [(("a",), "it raised KeyError"), ((), "")]
    assert [type(each) for each in orders] == [Note]
    assert fold_at_once(after, lines(fold, "c"))[0].extensions == after.extensions


def test_what_may_wait_is_what_only_keeping_machines_want_until_something_is_due() -> None:
    fold = on_a_page(extensions=(Keeper(events={LOG, "X.y", "Page.frameAttached"}), SampleExtension(events={"X.y"})))
    assert deferrable_events(fold.state) == {LOG}
    assert events_unused_by_extensions(fold.state) == EVENTS.keys() - {"Page.frameAttached"}
    due = next_deadline(fold.state)
    assert due is not None
    assert deferrable_until(fold.state) == due.at
    fold.ask(Stop(timeout=1.0))
    assert deferrable_until(fold.state) == -math.inf
    assert deferrable_until(initial_state(keepalive=None)) == math.inf


# ── the record of a step ─────────────────────────────────────────────────────────────────────────────────────────────


def test_a_step_is_a_pure_function() -> None:
    fold = on_a_page()
    opened = SessionOpened(at=fold.at, generation=1, session_id="s-Q", target_id="Q", target_type="page")  # type: ignore[arg-type]
    before = fold.state.sessions
    first, second = step(fold.state, opened), step(fold.state, opened)
    assert isinstance(first, Step)
    assert first == second
    assert fold.state.sessions is before
