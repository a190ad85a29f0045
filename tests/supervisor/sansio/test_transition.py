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
from cdp_supervisor.sansio.effects import Answer, Forget, Note, Send, Tell
from cdp_supervisor.sansio.inputs import Instant
from cdp_supervisor.sansio.options import Limits
from cdp_supervisor.sansio.state import Attachment, Frame, Page, initial_state
from cdp_supervisor.sansio.transition import Turn, later

T, U = TargetId("T"), TargetId("U")
S, CHILD, WORKER = SessionId("S"), SessionId("child"), SessionId("worker")
AT = Instant(mono=10.0, wall=1_000.0)
PAGE = Page(id=T, number=1, session_id=S)


def begun(at: Instant = AT, **state: Any) -> Turn:
    return Turn(replace(initial_state(), now=5.0, sequence=3, **state), at)


# ── time ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@given(now=st.floats(-1e300, 1e300), seconds=st.floats(0, 1e300))
def test_a_moment_is_really_later(now: float, seconds: float) -> None:
    assert now < later(now, seconds) >= now + seconds


def test_a_wait_too_small_to_be_seen_is_a_wait_all_the_same() -> None:
    """A million days after the start, a nanosecond is nothing to a float."""
    assert later(1e11, 1e-9) == math.nextafter(1e11, math.inf)
    assert later(5.0, 2.0) == 7.0


# ── the state ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_step_that_changes_nothing_makes_no_state() -> None:
    before = replace(initial_state(), now=AT.mono)
    assert Turn(before, AT).ended(before) is before


def test_time_alone_is_no_other_state_to_whoever_compares() -> None:
    """Of two snapshots the one with the greater number is the later: nothing is shown of the time."""
    turn = begun()
    before = turn.state
    after = turn.ended(before)
    assert (after.now, after.sequence) == (10.0, 3)
    assert (before.now, replace(after, now=5.0)) == (5.0, before)


def test_a_change_is_a_later_state_and_leaves_the_one_before_as_it_was() -> None:
    turn = begun()
    before = turn.state
    turn.put(focus=T)
    turn.put(focus=U, epoch=7)
    after = turn.ended(before)
    assert (after.focus, after.epoch, after.now, after.sequence) == (U, 7, 10.0, 4)
    assert (before.focus, before.epoch, before.now, before.sequence) == (None, 1, 5.0, 3)


def test_within_a_step_what_was_put_is_seen_at_once() -> None:
    turn = begun()
    assert turn.page(T) is None
    assert turn.put_page(PAGE) is PAGE
    assert turn.page(T) is PAGE
    renamed = turn.put_page(replace(PAGE, title="new"))
    assert turn.page(T) is renamed
    assert turn.put_page(replace(PAGE, id=U)).id == U
    assert set(turn.state.pages) == {T, U}


def test_the_first_page_that_is_put_leaves_the_state_before_as_it_was() -> None:
    turn = begun()
    before = turn.state
    turn.put_page(PAGE)
    assert len(before.pages) == 0


def test_a_machine_s_step_is_a_later_state_too() -> None:
    before = initial_state(extensions=(ConsoleRing(),))
    turn = Turn(before, AT)
    turn.extensions = (replace(before.extensions[0], off="it raised ValueError"),)
    after = turn.ended(before)
    assert (after.extensions[0].off, after.sequence, after.now) == ("it raised ValueError", 1, 10.0)
    assert before.extensions[0].off == ""


def test_machines_and_ours_move_in_one_step() -> None:
    before = initial_state(extensions=(ConsoleRing(),))
    turn = Turn(before, AT)
    turn.extensions = ()
    turn.put(focus=T)
    after = turn.ended(before)
    assert (after.extensions, after.focus, after.sequence) == ((), T, 1)


def attachment(session_id: SessionId, page_id: TargetId | None = T) -> Attachment:
    return Attachment(session_id=session_id, target_id=T, type="page", parent=None, page_id=page_id, primary=True)


def test_no_page_is_found_by_what_is_none() -> None:
    sessions = {S: T, CHILD: U, WORKER: None}
    turn = begun(
        pages=Map({T: PAGE}), sessions=Map({each: attachment(each, page_id=of) for each, of in sessions.items()})
    )
    assert turn.page(None) is None
    assert turn.page(U) is None
    assert turn.page_of(None) is None
    assert turn.page_of(SessionId("other")) is None
    assert turn.page_of(CHILD) is None  # its page is not known yet
    assert turn.page_of(WORKER) is None  # it belongs to none
    assert turn.page_of(S) is PAGE


def test_what_is_counted_adds_up() -> None:
    turn = begun()
    turn.count("unreadable_events")
    turn.count("unreadable_events", 2)
    turn.count("sessions_left_out")
    assert dict(turn.state.totals) == {"unreadable_events": 3, "sessions_left_out": 1}


# ── processes ────────────────────────────────────────────────────────────────────────────────────────────────────────


def frame(id: str, parent: str | None, **more: Any) -> Frame:
    return Frame(id=id, number=1, parent_id=parent, **{"session_id": S, **more})


def in_processes(*frames: Frame, sessions: tuple[SessionId, ...] = (S, CHILD)) -> tuple[Turn, Page]:
    page = replace(PAGE, frames=Map({each.id: each for each in frames}))
    return begun(sessions=Map({each: attachment(each) for each in sessions})), page


def test_a_frame_is_in_the_process_of_the_nearest_one_above_that_has_its_own() -> None:
    oopif = frame("O", "T", oopif=True, session_id=CHILD)
    turn, page = in_processes(frame("T", None), frame("F", "T"), oopif, frame("I", "O"), frame("J", "I"))
    found = {each: turn.process_of(page, each) for each in ("T", "F", "O", "I", "J", "unknown")}
    assert found == {"T": S, "F": S, "O": CHILD, "I": CHILD, "J": CHILD, "unknown": S}


def test_a_process_whose_session_ended_has_none() -> None:
    """It is not the page's for that."""
    oopif = frame("O", "T", oopif=True, session_id=CHILD)
    turn, page = in_processes(frame("T", None), oopif, frame("I", "O"), sessions=(S,))
    assert (turn.process_of(page, "I"), turn.process_of(page, "T")) == (None, S)
    without = replace(page, frames=page.frames.set("O", replace(oopif, session_id=None)))
    assert turn.process_of(without, "O") is None


def test_frames_that_lie_in_a_circle_end_the_search() -> None:
    turn, page = in_processes(frame("A", "B"), frame("B", "A"))
    assert turn.process_of(page, "A") == S


def test_so_many_frames_are_lost_from_sight_and_no_more() -> None:
    turn = begun(limits=Limits(sessions_kept=2))
    assert [turn.lose_sight(each, T) for each in ("A", "B", "C")] == [True, True, False]
    assert dict(turn.state.adrift) == {"A": T, "B": T}


# ── orders ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_orders_stand_in_the_order_of_their_giving() -> None:
    turn = begun(epoch=4)
    number = turn.send(S, "Page.enable", {"a": 1}, purpose="setup")
    turn.tell(PageCrashed(target_id=T))
    turn.note("info", "a page is freed", page="T")
    turn.answer(8, "value")
    assert turn.effects == [
        Send(ticket=number, session_id=S, method="Page.enable", params={"a": 1}),
        Tell(change=PageCrashed(target_id=T)),
        Note(level="info", text="a page is freed", fields={"epoch": 4, "page": "T"}),
        Answer(ask_id=8, value="value"),
    ]


def test_what_is_sent_is_known_by_a_number_of_its_own() -> None:
    turn = begun()
    first = turn.send(S, "Page.getFrameTree", purpose="tree", page_id=T)
    second = turn.send(None, "Page.handleJavaScriptDialog", purpose="answer", dialog_id="d-1", call_id="c-1")
    assert second > first
    ticket, other = turn.state.tickets[first], turn.state.tickets[second]
    assert (ticket.purpose, ticket.session_id, ticket.page_id, ticket.since) == ("tree", S, T, AT)
    assert (other.purpose, other.session_id, other.dialog_id, other.call_id) == ("answer", None, "d-1", "c-1")
    assert (ticket.dialog_id, ticket.call_id) == ("", "")
    assert turn.state.link.last_sent == 10.0  # the link is not quiet


def test_a_ticket_is_taken_once() -> None:
    turn = begun()
    number = turn.send(S, "Page.enable", purpose="setup")
    ticket = turn.take_ticket(number)
    assert ticket is not None
    assert ticket.purpose == "setup"
    assert turn.take_ticket(number) is None


def test_a_number_is_never_given_again() -> None:
    """A late reply would be taken for another one's."""
    turn = begun()
    first = turn.send(S, "Page.enable", purpose="setup")
    turn.take_ticket(first)
    assert turn.send(S, "Page.enable", purpose="setup") != first


def test_what_nobody_waits_for_is_forgotten_once() -> None:
    turn = begun()
    number = turn.send(S, "Page.enable", purpose="setup")
    turn.forget(number)
    turn.forget(number)
    assert turn.effects[1:] == [Forget(ticket=number)]
    assert len(turn.state.tickets) == 0


def test_an_asker_who_was_told_already_gets_no_second_answer() -> None:
    turn = begun()
    turn.answer(None, "late")
    assert turn.effects == []
    wrong = ValueError("no")
    turn.answer(0, error=wrong)  # the first ask has a number that is false
    assert turn.effects == [Answer(ask_id=0, error=wrong)]


# ── deadlines ────────────────────────────────────────────────────────────────────────────────────────────────────────


def keys(turn: Turn) -> list[str]:
    return [key for _, key, _ in turn.state.deadlines]


def test_deadlines_stand_with_the_next_one_first() -> None:
    turn = begun()
    for key, seconds in (("b", 3.0), ("a", 1.0), ("c", 2.0), ("z", 1.0)):
        assert turn.wake(key, seconds, f"why {key}") == 10.0 + seconds
    assert turn.state.deadlines == (
        (11.0, "a", "why a"),
        (11.0, "z", "why z"),
        (12.0, "c", "why c"),
        (13.0, "b", "why b"),
    )
    assert dict(turn.state.deadline_of) == {"a": 11.0, "b": 13.0, "c": 12.0, "z": 11.0}


def test_there_is_one_deadline_under_a_key() -> None:
    turn = begun()
    turn.wake("a", 1.0, "first")
    turn.wake("b", 2.0, "other")
    turn.wake("a", 3.0, "second")
    assert turn.state.deadlines == ((12.0, "b", "other"), (13.0, "a", "second"))


@pytest.mark.parametrize("seconds", [0.0, -5.0, math.nan, 1e-30])
def test_a_deadline_is_later_than_now_whatever_was_asked_for(seconds: float) -> None:
    """One that had come already would come again and again."""
    turn = begun()
    assert turn.wake("a", seconds, "why") == math.nextafter(10.0, math.inf)
    assert turn.due() is None


def test_what_is_calmed_does_not_come() -> None:
    turn = begun()
    for key in ("a", "b", "c"):
        turn.wake(key, 1.0, "at the same moment")
    turn.calm("b")
    turn.calm("b")
    turn.calm("unknown")
    assert (keys(turn), set(turn.state.deadline_of)) == (["a", "c"], {"a", "c"})


def test_calming_nothing_changes_nothing() -> None:
    turn = begun()
    before = turn.state
    turn.calm("unknown")
    assert turn.state is before


def due_at(mono: float) -> tuple[Turn, list[str]]:
    made = begun()
    for key, seconds in (("b", 3.0), ("a", 1.0), ("c", 2.0)):
        made.wake(key, seconds, "why")
    turn = Turn(made.ended(initial_state()), Instant(mono=mono))
    came: list[str] = []
    while (key := turn.due()) is not None:
        came.append(key)
    return turn, came


@pytest.mark.parametrize(
    ("mono", "came"), [(10.9, []), (11.0, ["a"]), (12.5, ["a", "c"]), (13.0, ["a", "c", "b"]), (1e9, ["a", "c", "b"])]
)
def test_what_has_come_is_taken_out_in_its_order(mono: float, came: list[str]) -> None:
    turn, found = due_at(mono)
    assert found == came
    left = [key for key in ("a", "c", "b") if key not in came]
    assert (keys(turn), set(turn.state.deadline_of)) == (left, set(left))


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
        turn = Turn(state, Instant(mono=now))
        if seconds is None:
            turn.calm(key)
            naive.pop(key, None)
        else:
            naive[key] = turn.wake(key, seconds, "why")
        came = []
        while (found := turn.due()) is not None:
            came.append(found)
        gone = sorted((at, each) for each, at in naive.items() if at <= now)
        assert came == [each for _, each in gone]
        for each in came:
            del naive[each]
        state = turn.ended(state)
        assert dict(state.deadline_of) == naive
        assert [(at, each) for at, each, _ in state.deadlines] == sorted((at, each) for each, at in naive.items())
