"""The state machine as a whole: dropped inputs, time, ends of commands, stop, and deferred events."""

from __future__ import annotations

import math
from typing import Any

import pytest

from cdp_core.errors import InvalidArgument
from cdp_core.sansio.messages import Event, decode
from cdp_core.sansio.structs import replace
from cdp_supervisor.sansio.effects import Dial, Disconnect, EndDialog, Note, OpenDialog
from cdp_supervisor.sansio.inputs import (
    BrowserEvent,
    DialogAnswered,
    Instant,
    LinkDown,
    RequestReceived,
    SessionOpened,
    TimePassed,
)
from cdp_supervisor.sansio.options import Limits, Policy, Reconnect
from cdp_supervisor.sansio.requests import AwaitCall, Call, Focus, Recover, RespondToDialog, SetPolicy, Stop
from cdp_supervisor.sansio.state import Deadline, initial_state
from cdp_supervisor.sansio.step import (
    EVENTS,
    Step,
    deferrable_events,
    deferrable_until,
    events_unused_by_extensions,
    next_deadline,
    step,
    used_events,
)
from cdp_supervisor.sansio.step import fold as fold_at_once
from support import folded_machine
from support.folded_machine import LOG, Keeper, SampleExtension, lines, on_a_page


def repr_of(value: object) -> str:
    return repr(value)[:12]


HANDLE = "Page.handleJavaScriptDialog"
TREE = "Page.getFrameTree"


# ── inputs without an effect ──────────────────────────────────────────────────────────────────────────────────────────


def test_an_event_without_a_rule_returns_the_same_state() -> None:
    fold = on_a_page()
    before = fold.state
    fold.event("Network.requestWillBeSent", on="s-P", requestId="1")
    assert fold.state is before
    assert fold.last == ()


def test_the_sequence_counts_states_and_not_inputs() -> None:
    """Two snapshots with one number are equal: time alone makes no new state."""
    fold = on_a_page()
    before = fold.state.sequence
    fold.passes(0.5)
    assert fold.state.sequence == before
    fold.opening()
    assert fold.state.sequence == before + 1


def test_params_that_are_not_an_object_are_counted_and_ignored() -> None:
    fold = on_a_page()
    pages = fold.state.pages
    torn = decode(b'{"method":"Page.frameAttached","params":[1],"sessionId":"s-P"}')
    assert isinstance(torn, Event)
    fold.feed(BrowserEvent(at=fold.at, generation=1, event=torn))
    assert fold.count("unreadable_events") == 1
    assert fold.state.pages is pages


def test_a_reply_to_an_unknown_command_changes_nothing() -> None:
    fold = on_a_page()
    before = fold.state
    fold.ends(99, folded_machine.result_of({}))
    assert fold.state is before


def test_an_unknown_type_of_input_changes_nothing() -> None:
    """A trace of a later version may contain one."""
    fold = on_a_page()
    before = fold.state

    class Later(TimePassed, frozen=True):
        pass

    fold.feed(Later(at=fold.at, generation=1))
    assert fold.state is before


@pytest.mark.parametrize("session", [None, "unknown", "s-P2"])
def test_a_page_event_counts_only_on_the_primary_session(session: str | None) -> None:
    """It is ignored on the root session, on an unknown session, and on a second one (fact 47)."""
    fold = on_a_page()
    fold.attach("P", session="s-P2")
    pages = fold.state.pages
    fold.event("Page.frameAttached", on=session, frameId="A", parentFrameId="P")
    assert fold.state.pages is pages


def test_a_page_event_on_a_session_without_a_page_is_ignored() -> None:
    fold = on_a_page()
    fold.attach("W", "service_worker")
    pages = fold.state.pages
    fold.event("Page.frameAttached", on="s-W", frameId="A", parentFrameId="W")
    assert fold.state.pages is pages


def test_dialog_events_count_only_on_the_page_s_session() -> None:
    """Fact 2: a dialog belongs to the page's session; a frame's session proves nothing about it."""
    fold = on_a_page()
    fold.attach("F", "iframe", of="s-P", parentFrameId="P")
    fold.event("Page.javascriptDialogOpening", on="s-F", frameId="F", type="alert")
    assert not fold.pending()
    fold.opening("F")
    fold.event("Page.javascriptDialogClosed", on="s-F", frameId="F")
    assert len(fold.pending()) == 1


def test_used_events_are_those_of_the_table_and_of_the_extensions() -> None:
    fold = folded_machine.Fold(extensions=(SampleExtension(events={"Log.entryAdded"}),))
    assert used_events(fold.state) == frozenset(EVENTS) | {"Log.entryAdded"}


# ── inputs of older links ─────────────────────────────────────────────────────────────────────────────────────────────


def test_inputs_of_an_older_link_are_dropped_and_counted() -> None:
    fold = on_a_page()
    fold.feed(LinkDown(at=fold.at, generation=0, reason="cut"))
    assert fold.state.link.phase == "up"
    fold.event("Network.dataReceived")
    fold.feed(BrowserEvent(at=fold.at, generation=0, event=folded_machine.event_of("Page.frameAttached", {}, "s-P")))
    assert fold.count("inputs_of_older_links") == 2


def test_requests_and_time_belong_to_no_link() -> None:
    """A request that was made before a link broke is still answered."""
    fold = on_a_page()
    fold.opening()
    older = RequestReceived(at=fold.at, generation=0, request_id=1, request=RespondToDialog(action="accept"))
    fold.feed(older)
    assert fold.sent(HANDLE).params == {"accept": True}
    fold.feed(TimePassed(at=Instant(mono=5.0), generation=0))
    assert fold.pending()[0].why == "unseen"
    assert fold.count("inputs_of_older_links") == 0


# ── time ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("odd", [-1.0, 0.0, math.nan, math.inf, -math.inf])
def test_time_never_runs_backwards_and_stays_finite(odd: float) -> None:
    fold = on_a_page()
    fold.passes(1.0)
    fold.feed(TimePassed(at=Instant(mono=odd), generation=1))
    assert fold.state.now == 1.0


def test_every_due_deadline_runs_whatever_the_input_is() -> None:
    """A late event finds the page blocked, and the dialog dismissed by the watchdog."""
    fold = on_a_page(policy=Policy(dialog_timeout=2.0))
    fold.attach("Q")
    fold.opening()
    fold.now = 10.0
    fold.event("Page.frameAttached", on="s-P", frameId="A", parentFrameId="P")
    assert fold.health("Q") == "blocked"
    assert fold.dialog("d-1").by == "watchdog"


def test_the_next_deadline_has_a_reason() -> None:
    assert next_deadline(folded_machine.Fold().state) is None
    assert next_deadline(on_a_page().state) == Deadline(at=3.0, why="the setup of a session is unanswered")


def test_an_extra_time_passed_does_nothing() -> None:
    fold = on_a_page().passes(3.0)
    before = fold.state
    fold.passes(0.0)
    assert fold.state is before


# ── ends of commands ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_any_reply_shows_that_the_browser_is_alive_but_a_loss_does_not() -> None:
    fold = folded_machine.with_tree(keepalive=10.0)
    fold.ask(Call(method=TREE, target_id="P", timeout=None))
    fold.passes(10.0)
    assert fold.state.link.unanswered == 1
    fold.lose(TREE)
    assert fold.state.link.unanswered == 1
    fold.refuse("Browser.getVersion")
    assert fold.state.link.unanswered == 0


def test_a_browser_that_stops_answering_is_disconnected() -> None:
    fold = folded_machine.with_tree(keepalive=10.0)
    fold.passes(10.0).passes(10.0).passes(10.0)
    assert Disconnect(reason="half_open") in fold.last


def test_a_lost_link_is_dialled_again_when_its_wait_is_over() -> None:
    fold = on_a_page(reconnect=Reconnect(first=4.0))
    fold.down(jitter=1.0)
    fold.passes(3.9)
    assert not [each for each in fold.orders if isinstance(each, Dial)]
    fold.passes(0.1)
    assert fold.last == (Dial(generation=2),)


def test_a_refused_list_of_targets_removes_no_page() -> None:
    fold = on_a_page()
    fold.refuse("Target.getTargets")
    assert fold.shown().page("P") is not None
    assert not fold.state.link.listed


def test_a_lost_list_of_targets_does_not_make_the_browser_unsupported() -> None:
    """A loss is not a refusal: the link ended, and the next link requests the list again."""
    fold = on_a_page()
    fold.lose("Target.getTargets")
    assert (fold.state.link.unsupported, fold.state.link.listed) == ("", False)
    assert fold.shown().page("P") is not None


def test_a_peer_that_refuses_to_list_its_targets_is_unsupported() -> None:
    fold = on_a_page()
    fold.refuse("Target.getTargets", -32601)
    assert fold.state.link.unsupported == "Target.getTargets was refused (code -32601)"
    assert Disconnect(reason="unsupported") in fold.last


def test_the_end_of_a_command_goes_to_the_rule_for_its_purpose() -> None:
    """A call returns, a remedy ends, a page that refuses an attach is gone, a list is read."""
    fold = folded_machine.with_tree("A")
    assert fold.tree() == {"P": {"A": {}}}
    fold.attach("Q")
    call = fold.ask(Call(method="Runtime.evaluate", target_id="P"))
    fold.reply("Runtime.evaluate", {"n": 1})
    fold.opening()
    fold.respond()
    fold.refuse(HANDLE, folded_machine.NOT_ACTIVE)
    remedy = fold.ask(Recover(target_id="P", remedy="navigate"))
    fold.reply("Page.navigate").reply("Runtime.evaluate")
    assert (fold.answers[call].value, fold.answers[remedy].value) == ({"n": 1}, None)
    fold.detach("s-Q").lose(TREE).passes(1.0).refuse("Target.attachToTarget")
    assert [page.target_id for page in fold.shown().pages] == ["P"]
    fold.reply("Target.getTargets", {"targetInfos": []})
    assert fold.state.link.listed
    assert not fold.state.tickets


@pytest.mark.parametrize(
    ("method", "outcome", "unblocks"),
    [
        ("Runtime.evaluate", {}, True),
        ("DOM.getDocument", {}, True),
        ("Page.navigate", {}, False),
        ("Runtime.evaluate", None, False),
    ],
)
def test_a_result_that_only_the_renderer_can_send_unblocks_the_page(method: str, outcome: Any, unblocks: bool) -> None:
    """The browser itself refuses commands, and answers many methods."""
    fold = on_a_page().passes(3.0)
    fold.ask(Call(method=method, when_blocked="wait"))
    if outcome is None:
        fold.refuse(method)
    else:
        fold.reply(method, outcome)
    assert fold.health() == ("ok" if unblocks else "blocked")


def test_a_reply_to_a_forgotten_call_does_not_unblock_the_page() -> None:
    fold = on_a_page()
    fold.ask(Call(method="Runtime.evaluate"))
    ticket = fold.sent("Runtime.evaluate").ticket
    fold.state = replace(fold.state, calls=fold.state.calls.delete("c-1"))
    fold.passes(3.0).ends(ticket, folded_machine.result_of({}))
    assert fold.health() == "blocked"


def test_a_cancelled_request_gets_no_answer() -> None:
    fold = folded_machine.with_tree()
    request_id = fold.ask(Call(method="Runtime.evaluate"))
    fold.drops(request_id).passes(100.0)
    assert request_id not in fold.answers
    assert not fold.state.calls


def test_the_tree_is_read_again_only_for_a_document_from_the_back_forward_cache() -> None:
    """Fact 43."""
    fold = folded_machine.with_tree()
    tree_requests = len(fold.all_sent(TREE))
    fold.event("Page.frameNavigated", on="s-P", frame={"id": "P"}, type="Navigation")
    assert len(fold.all_sent(TREE)) == tree_requests
    fold.event("Page.frameNavigated", on="s-P", frame={"id": "P"}, type="BackForwardCacheRestore")
    assert len(fold.all_sent(TREE)) == tree_requests + 1


def test_the_tree_is_not_read_if_the_rule_removed_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """The session is looked up when it is needed, not remembered."""

    def restored_and_gone(transition: Any, _page: Any, session_id: Any, _params: Any) -> bool:
        transition.update(sessions=transition.state.sessions.delete(session_id))
        return True

    fold = folded_machine.with_tree()
    tree_requests = len(fold.all_sent(TREE))
    monkeypatch.setattr("cdp_supervisor.sansio.frames.navigated", restored_and_gone)
    fold.event("Page.frameNavigated", on="s-P", frame={"id": "P"}, type="BackForwardCacheRestore")
    assert len(fold.all_sent(TREE)) == tree_requests


def test_a_dialog_is_published_before_the_calls_that_it_blocks_are_answered() -> None:
    fold = folded_machine.with_tree()
    request_id = fold.ask(Call(method="Runtime.evaluate"))
    fold.opening()
    effect_names = [type(each).__name__ for each in fold.last if not isinstance(each, Note)]
    assert effect_names == ["Publish", "Answer"]
    assert fold.error(request_id) == "BlockedByDialog"


def test_a_dialog_that_is_left_out_blocks_no_call() -> None:
    """The error could not name its id."""
    fold = folded_machine.with_tree(limits=Limits(dialogs_kept=0))
    request_id = fold.ask(Call(method="Runtime.evaluate"))
    fold.opening()
    assert request_id not in fold.answers


# ── requests without a link ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("owned", "reason"), [(True, "gave_up"), (False, "link_not_owned")])
def test_requests_that_need_a_link_are_refused_after_it_was_given_up(owned: bool, reason: str) -> None:
    fold = folded_machine.Fold(reconnect=Reconnect.never()).up(owned=owned)
    fold.attach("P")
    fold.down()
    for request in (
        Call(method="Page.reload"),
        RespondToDialog(action="accept"),
        Recover(target_id="P", remedy="close"),
    ):
        assert fold.answers[fold.ask(request)].error.reason == reason
    assert fold.error(fold.ask(Focus(target_id="P"))) == ""
    assert fold.error(fold.ask(SetPolicy(policy=Policy("auto_accept")))) == ""
    assert fold.error(fold.ask(AwaitCall(call_id="c-9"))) == "UnknownCall"


@pytest.mark.parametrize("value", [None, "reload", 10**400, math.nan, [], object(), Call], ids=repr_of)
def test_a_value_that_is_not_a_request_is_refused_by_its_type(value: Any) -> None:
    fold = on_a_page()
    before = fold.state.last_ticket
    error = fold.answers[fold.ask(value)].error
    assert isinstance(error, InvalidArgument)
    assert str(error).startswith(f"{type(value).__name__} is not a request to a supervisor")
    assert fold.state.last_ticket == before


def test_a_value_that_is_not_a_request_is_refused_without_a_link_too() -> None:
    gone = on_a_page(reconnect=Reconnect.never()).down()
    assert gone.error(gone.ask(None)) == "SupervisorStopped"
    ended = folded_machine.with_tree()
    ended.ask(Stop())
    assert ended.error(ended.ask(None)) == "SupervisorStopped"


# ── deferred events ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_deferred_events_are_folded_at_once_to_the_same_state() -> None:
    fold = on_a_page(
        extensions=(Keeper(), Keeper(name="other", events={LOG, "X.y"}), Keeper(name="idle", events={"Z.z"}))
    )
    events = [*lines(fold, "a", "b"), *lines(fold, "c", method="X.y")]
    after, effects = fold_at_once(fold.state, events)
    for each in events:
        fold.feed(each)
    assert (after, effects) == (fold.state, ())
    assert [each.state for each in after.extensions] == [("a", "b"), ("a", "b", "c"), ()]


def test_events_that_a_folding_extension_ignores_make_no_new_state() -> None:
    fold = on_a_page(extensions=(Keeper(ignores="x"),))
    assert fold_at_once(fold.state, lines(fold, "x", "x"))[0] is fold.state
    fold.now += 0.1
    assert fold_at_once(fold.state, lines(fold, "x"))[0] == replace(fold.state, now=fold.now)


def test_an_extension_that_fails_on_one_of_several_events_is_disabled_at_that_event() -> None:
    fold = on_a_page(extensions=(Keeper(), Keeper(name="idle", events={"Z.z"})))
    after, effects = fold_at_once(fold.state, lines(fold, "a", "fatal", "b"))
    assert [(each.state, each.off) for each in after.extensions] == [(("a",), "it raised KeyError"), ((), "")]
    assert [type(each) for each in effects] == [Note]
    assert fold_at_once(after, lines(fold, "c"))[0].extensions == after.extensions


def test_events_that_only_folding_extensions_use_are_deferrable_until_a_deadline_is_due() -> None:
    fold = on_a_page(extensions=(Keeper(events={LOG, "X.y", "Page.frameAttached"}), SampleExtension(events={"X.y"})))
    assert deferrable_events(fold.state) == {LOG}
    assert events_unused_by_extensions(fold.state) == EVENTS.keys() - {"Page.frameAttached"}
    due = next_deadline(fold.state)
    assert due is not None
    assert deferrable_until(fold.state) == due.at
    fold.ask(Stop(timeout=1.0))
    assert deferrable_until(fold.state) == -math.inf
    assert deferrable_until(initial_state(keepalive=None)) == math.inf


# ── a step ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_step_is_a_pure_function() -> None:
    fold = on_a_page()
    opened = SessionOpened(at=fold.at, generation=1, session_id="s-Q", target_id="Q", target_type="page")  # type: ignore[arg-type]
    before = fold.state.sessions
    first, second = step(fold.state, opened), step(fold.state, opened)
    assert isinstance(first, Step)
    assert first == second
    assert fold.state.sessions is before


# ── dialogs of extensions ────────────────────────────────────────────────────────────────────────────────────────────


OPENING = OpenDialog(key="k", page_id="P", frame_id="P", via="request", type="confirm")


def opening_again(state: Any, got: Any) -> Any:
    """Open a dialog at an event, and end it and open another one at each answer."""
    if isinstance(got, DialogAnswered):
        return state, (EndDialog(key="k", answered=True), OPENING)
    return state, (OPENING,) if isinstance(got, BrowserEvent) else ()


def test_a_dialog_of_an_extension_blocks_calls_and_its_answer_goes_to_the_extension() -> None:
    fold = on_a_page(extensions=(SampleExtension(opening_again, events={LOG}),))
    request = folded_machine.call(fold)
    fold.event(LOG, on="s-P")
    assert fold.error(request) == "BlockedByDialog"
    fold.respond("accept")
    assert fold.end_of("d-1") == ("agent", "answered")
    assert [each.id for each in fold.pending()] == ["d-2"]


def test_an_extension_that_opens_a_dialog_for_each_answer_is_disabled() -> None:
    fold = on_a_page(extensions=(SampleExtension(opening_again, events={LOG}),), policy=Policy("auto_accept"))
    fold.event(LOG, on="s-P")
    assert "opens a dialog for each answer" in fold.state.extensions[0].off


def test_after_the_stop_an_event_changes_nothing() -> None:
    fold = on_a_page()
    fold.ask(Stop())
    before = fold.state
    fold.event("Page.loadEventFired", on="s-P", timestamp=1.0)
    assert fold.state is before


def test_an_opening_and_a_closing_go_to_the_rules_of_dialogs() -> None:
    fold = on_a_page()
    folded_machine.call(fold)
    fold.opening()
    assert fold.error(fold.asked) == "BlockedByDialog"
    fold.closing()
    assert [each.phase for each in fold.page().dialogs] in ([], ["closed"])


def test_the_second_dialog_of_one_key_is_refused() -> None:
    fold = on_a_page(extensions=(SampleExtension(opening_again, events={LOG}),))
    fold.event(LOG, on="s-P")
    fold.event(LOG, on="s-P")
    assert [each.id for each in fold.pending()] == ["d-1"]
    assert fold.count("dialogs_of_extensions_refused") == 1


def test_an_event_of_an_older_link_is_not_folded() -> None:
    fold = on_a_page(extensions=(Keeper(),))
    fold.feed(BrowserEvent(at=fold.at, generation=0, event=folded_machine.event_of(LOG, {"text": "a"}, "s-P")))
    assert fold.state.extensions[0].state == ()
    assert fold.count("inputs_of_older_links") == 1


def test_calls_that_wait_for_a_policy_are_checked_after_each_input() -> None:
    fold = folded_machine.with_tree(policy=Policy("auto_accept"))
    fold.ask(Call(method="Runtime.evaluate", target_id="P"))
    fold.opening()
    assert fold.state.held_calls == ("c-1",)
    fold.closing(result=True).reply(HANDLE)
    assert fold.state.held_calls == ()
