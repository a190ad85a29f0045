"""One step in the making: every deadline is later than now, an answer goes out once, and the state before it is untouched."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from immutables import Map

from cdp_core.sansio.messages import SessionId, TargetId
from cdp_core.sansio.structs import replace
from cdp_supervisor.sansio.changes import PageCrashed
from cdp_supervisor.sansio.console import ConsoleRing
from cdp_supervisor.sansio.effects import Answer, Forget, Note, Publish, Send
from cdp_supervisor.sansio.inputs import Instant
from cdp_supervisor.sansio.options import Limits
from cdp_supervisor.sansio.state import Attachment, Frame, Page, initial_state
from cdp_supervisor.sansio.transition import Transition, moment_after

T, U = TargetId("T"), TargetId("U")
S, CHILD, WORKER = SessionId("S"), SessionId("child"), SessionId("worker")
AT = Instant(mono=10.0, wall=1_000.0)
PAGE = Page(id=T, number=1, session_id=S)


def begun(at: Instant = AT, **state: Any) -> Transition:
    return Transition(replace(initial_state(), now=5.0, sequence=3, **state), at)


# ── time ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@given(now=st.floats(-1e300, 1e300), seconds=st.floats(0, 1e300))
def test_a_moment_is_really_later(now: float, seconds: float) -> None:
    assert now < moment_after(now, seconds) >= now + seconds


def test_a_wait_too_small_to_be_seen_is_a_wait_all_the_same() -> None:
    """A million days after the start, a nanosecond is nothing to a float."""
    assert moment_after(1e11, 1e-9) == math.nextafter(1e11, math.inf)
    assert moment_after(5.0, 2.0) == 7.0


# ── the state ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_step_that_changes_nothing_makes_no_state() -> None:
    before = replace(initial_state(), now=AT.mono)
    assert Transition(before, AT).result(before) is before


def test_time_alone_is_no_other_state_to_whoever_compares() -> None:
    """Of two snapshots the one with the greater number is the later: nothing is shown of the time."""
    transition = begun()
    before = transition.state
    after = transition.result(before)
    assert (after.now, after.sequence) == (10.0, 3)
    assert (before.now, replace(after, now=5.0)) == (5.0, before)


def test_a_change_is_a_later_state_and_leaves_the_one_before_as_it_was() -> None:
    transition = begun()
    before = transition.state
    transition.update(focus=T)
    transition.update(focus=U, generation=7)
    after = transition.result(before)
    assert (after.focus, after.generation, after.now, after.sequence) == (U, 7, 10.0, 4)
    assert (before.focus, before.generation, before.now, before.sequence) == (None, 1, 5.0, 3)


def test_within_a_step_what_was_put_is_seen_at_once() -> None:
    transition = begun()
    assert transition.page(T) is None
    assert transition.put_page(PAGE) is PAGE
    assert transition.page(T) is PAGE
    renamed = transition.put_page(replace(PAGE, title="new"))
    assert transition.page(T) is renamed
    assert transition.put_page(replace(PAGE, id=U)).id == U
    assert set(transition.state.pages) == {T, U}


def test_the_first_page_that_is_put_leaves_the_state_before_as_it_was() -> None:
    transition = begun()
    before = transition.state
    transition.put_page(PAGE)
    assert len(before.pages) == 0


def test_a_machine_s_step_is_a_later_state_too() -> None:
    before = initial_state(extensions=(ConsoleRing(),))
    transition = Transition(before, AT)
    transition.extensions = (replace(before.extensions[0], off="it raised ValueError"),)
    after = transition.result(before)
    assert (after.extensions[0].off, after.sequence, after.now) == ("it raised ValueError", 1, 10.0)
    assert before.extensions[0].off == ""


def test_machines_and_ours_move_in_one_step() -> None:
    before = initial_state(extensions=(ConsoleRing(),))
    transition = Transition(before, AT)
    transition.extensions = ()
    transition.update(focus=T)
    after = transition.result(before)
    assert (after.extensions, after.focus, after.sequence) == ((), T, 1)


def attachment(session_id: SessionId, page_id: TargetId | None = T) -> Attachment:
    return Attachment(session_id=session_id, target_id=T, type="page", parent=None, page_id=page_id, primary=True)


def test_no_page_is_found_by_what_is_none() -> None:
    sessions = {S: T, CHILD: U, WORKER: None}
    transition = begun(
        pages=Map({T: PAGE}), sessions=Map({each: attachment(each, page_id=of) for each, of in sessions.items()})
    )
    assert transition.page(None) is None
    assert transition.page(U) is None
    assert transition.page_of(None) is None
    assert transition.page_of(SessionId("other")) is None
    assert transition.page_of(CHILD) is None  # its page is not known yet
    assert transition.page_of(WORKER) is None  # it belongs to none
    assert transition.page_of(S) is PAGE


def test_what_is_counted_adds_up() -> None:
    transition = begun()
    transition.count("unreadable_events")
    transition.count("unreadable_events", 2)
    transition.count("sessions_left_out")
    assert dict(transition.state.totals) == {"unreadable_events": 3, "sessions_left_out": 1}


# ── processes ────────────────────────────────────────────────────────────────────────────────────────────────────────


def frame(id: str, parent: str | None, **more: Any) -> Frame:
    return Frame(id=id, number=1, parent_id=parent, **{"session_id": S, **more})


def in_processes(*frames: Frame, sessions: tuple[SessionId, ...] = (S, CHILD)) -> tuple[Transition, Page]:
    page = replace(PAGE, frames=Map({each.id: each for each in frames}))
    return begun(sessions=Map({each: attachment(each) for each in sessions})), page


def test_a_frame_is_in_the_process_of_the_nearest_one_above_that_has_its_own() -> None:
    oopif = frame("O", "T", oopif=True, session_id=CHILD)
    transition, page = in_processes(frame("T", None), frame("F", "T"), oopif, frame("I", "O"), frame("J", "I"))
    found = {each: transition.process_of(page, each) for each in ("T", "F", "O", "I", "J", "unknown")}
    assert found == {"T": S, "F": S, "O": CHILD, "I": CHILD, "J": CHILD, "unknown": S}


def test_a_process_whose_session_ended_has_none() -> None:
    """It is not the page's for that."""
    oopif = frame("O", "T", oopif=True, session_id=CHILD)
    transition, page = in_processes(frame("T", None), oopif, frame("I", "O"), sessions=(S,))
    assert (transition.process_of(page, "I"), transition.process_of(page, "T")) == (None, S)
    without = replace(page, frames=page.frames.set("O", replace(oopif, session_id=None)))
    assert transition.process_of(without, "O") is None


def test_frames_that_lie_in_a_circle_end_the_search() -> None:
    transition, page = in_processes(frame("A", "B"), frame("B", "A"))
    assert transition.process_of(page, "A") == S


def test_so_many_frames_are_lost_from_sight_and_no_more() -> None:
    transition = begun(limits=Limits(sessions_kept=2))
    assert [transition.set_adrift(each, T) for each in ("A", "B", "C")] == [True, True, False]
    assert dict(transition.state.adrift) == {"A": T, "B": T}


# ── orders ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_orders_stand_in_the_order_of_their_giving() -> None:
    transition = begun(generation=4)
    number = transition.send(S, "Page.enable", {"a": 1}, purpose="setup")
    transition.publish(PageCrashed(target_id=T))
    transition.note("info", "a page is freed", page="T")
    transition.answer(8, "value")
    assert transition.effects == [
        Send(ticket=number, session_id=S, method="Page.enable", params={"a": 1}),
        Publish(change=PageCrashed(target_id=T)),
        Note(level="info", text="a page is freed", fields={"generation": 4, "page": "T"}),
        Answer(request_id=8, value="value"),
    ]


def test_what_is_sent_is_known_by_a_number_of_its_own() -> None:
    transition = begun()
    first = transition.send(S, "Page.getFrameTree", purpose="tree", page_id=T)
    second = transition.send(None, "Page.handleJavaScriptDialog", purpose="answer", dialog_id="d-1", call_id="c-1")
    assert second > first
    ticket, other = transition.state.tickets[first], transition.state.tickets[second]
    assert (ticket.purpose, ticket.session_id, ticket.page_id, ticket.since) == ("tree", S, T, AT)
    assert (other.purpose, other.session_id, other.dialog_id, other.call_id) == ("answer", None, "d-1", "c-1")
    assert (ticket.dialog_id, ticket.call_id) == ("", "")
    assert transition.state.link.last_sent == 10.0  # the link is not quiet


def test_a_ticket_is_taken_once() -> None:
    transition = begun()
    number = transition.send(S, "Page.enable", purpose="setup")
    ticket = transition.take_ticket(number)
    assert ticket is not None
    assert ticket.purpose == "setup"
    assert transition.take_ticket(number) is None


def test_a_number_is_never_given_again() -> None:
    """A late reply would be taken for another one's."""
    transition = begun()
    first = transition.send(S, "Page.enable", purpose="setup")
    transition.take_ticket(first)
    assert transition.send(S, "Page.enable", purpose="setup") != first


def test_what_nobody_waits_for_is_forgotten_once() -> None:
    transition = begun()
    number = transition.send(S, "Page.enable", purpose="setup")
    transition.forget(number)
    transition.forget(number)
    assert transition.effects[1:] == [Forget(ticket=number)]
    assert len(transition.state.tickets) == 0


def test_an_asker_who_was_told_already_gets_no_second_answer() -> None:
    transition = begun()
    transition.answer(None, "late")
    assert transition.effects == []
    wrong = ValueError("no")
    transition.answer(0, error=wrong)  # the first ask has a number that is false
    assert transition.effects == [Answer(request_id=0, error=wrong)]


# ── deadlines ────────────────────────────────────────────────────────────────────────────────────────────────────────


def keys(transition: Transition) -> list[str]:
    return [key for _, key, _ in transition.state.deadline_entries]


def test_deadlines_stand_with_the_next_one_first() -> None:
    transition = begun()
    for key, seconds in (("b", 3.0), ("a", 1.0), ("c", 2.0), ("z", 1.0)):
        assert transition.schedule(key, seconds, f"why {key}") == 10.0 + seconds
    assert transition.state.deadline_entries == (
        (11.0, "a", "why a"),
        (11.0, "z", "why z"),
        (12.0, "c", "why c"),
        (13.0, "b", "why b"),
    )
    assert dict(transition.state.deadline_of) == {"a": 11.0, "b": 13.0, "c": 12.0, "z": 11.0}


def test_there_is_one_deadline_under_a_key() -> None:
    transition = begun()
    transition.schedule("a", 1.0, "first")
    transition.schedule("b", 2.0, "other")
    transition.schedule("a", 3.0, "second")
    assert transition.state.deadline_entries == ((12.0, "b", "other"), (13.0, "a", "second"))


@pytest.mark.parametrize("seconds", [0.0, -5.0, math.nan, 1e-30])
def test_a_deadline_is_later_than_now_whatever_was_asked_for(seconds: float) -> None:
    """One that had come already would come again and again."""
    transition = begun()
    assert transition.schedule("a", seconds, "why") == math.nextafter(10.0, math.inf)
    assert transition.due() is None


def test_what_is_calmed_does_not_come() -> None:
    transition = begun()
    for key in ("a", "b", "c"):
        transition.schedule(key, 1.0, "at the same moment")
    transition.cancel("b")
    transition.cancel("b")
    transition.cancel("unknown")
    assert (keys(transition), set(transition.state.deadline_of)) == (["a", "c"], {"a", "c"})


def test_calming_nothing_changes_nothing() -> None:
    transition = begun()
    before = transition.state
    transition.cancel("unknown")
    assert transition.state is before


def due_at(mono: float) -> tuple[Transition, list[str]]:
    made = begun()
    for key, seconds in (("b", 3.0), ("a", 1.0), ("c", 2.0)):
        made.schedule(key, seconds, "why")
    transition = Transition(made.result(initial_state()), Instant(mono=mono))
    came: list[str] = []
    while (key := transition.due()) is not None:
        came.append(key)
    return transition, came


@pytest.mark.parametrize(
    ("mono", "came"), [(10.9, []), (11.0, ["a"]), (12.5, ["a", "c"]), (13.0, ["a", "c", "b"]), (1e9, ["a", "c", "b"])]
)
def test_what_has_come_is_taken_out_in_its_order(mono: float, came: list[str]) -> None:
    transition, found = due_at(mono)
    assert found == came
    left = [key for key in ("a", "c", "b") if key not in came]
    assert (keys(transition), set(transition.state.deadline_of)) == (left, set(left))


@given(
    st.lists(
        st.tuples(st.sampled_from("abcd"), st.sampled_from([None, 0.0, 1.0, 1.0, 2.0, 5.0]), st.floats(0, 2)),
        max_size=20,
    )
)
def test_deadlines_are_those_of_a_plain_dictionary(told: list[tuple[str, float | None, float]]) -> None:
    """None calms; what has come meanwhile is taken out."""
    naive: dict[str, float] = {}
    state, now = initial_state(), 0.0
    for key, seconds, step in told:
        now += step
        transition = Transition(state, Instant(mono=now))
        if seconds is None:
            transition.cancel(key)
            naive.pop(key, None)
        else:
            naive[key] = transition.schedule(key, seconds, "why")
        came = []
        while (found := transition.due()) is not None:
            came.append(found)
        gone = sorted((at, each) for each, at in naive.items() if at <= now)
        assert came == [each for _, each in gone]
        for each in came:
            del naive[each]
        state = transition.result(state)
        assert dict(state.deadline_of) == naive
        assert [(at, each) for at, each, _ in state.deadline_entries] == sorted(
            (at, each) for each, at in naive.items()
        )
