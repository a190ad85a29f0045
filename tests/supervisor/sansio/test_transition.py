"""A transition: every deadline is later than now, no request gets two answers, the old state stays."""

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
from cdp_supervisor.sansio.deadlines import entries
from cdp_supervisor.sansio.effects import Answer, Forget, Note, Publish, Resume, Send
from cdp_supervisor.sansio.inputs import Instant
from cdp_supervisor.sansio.options import Limits
from cdp_supervisor.sansio.state import NOWHEN, Attachment, Frame, Page, initial_state
from cdp_supervisor.sansio.transition import Transition

T, U = TargetId("T"), TargetId("U")
S, CHILD, WORKER = SessionId("S"), SessionId("child"), SessionId("worker")
AT = Instant(mono=10.0, wall=1_000.0)
PAGE = Page(id=T, number=1, session_id=S)


def transition_with(at: Instant = AT, **state: Any) -> Transition:
    return Transition(replace(initial_state(), now=5.0, sequence=3, **state), at, at.mono)


# ── time ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


@given(now=st.floats(-1e300, 1e300), seconds=st.floats(-1, 1e300))
def test_a_deadline_is_later_than_now(now: float, seconds: float) -> None:
    transition = transition_with(Instant(mono=now))
    assert now < transition.schedule(("dialog", "d-1"), seconds, "why") >= now + seconds


def test_a_wait_below_the_precision_of_a_float_is_still_a_wait() -> None:
    """A million days after the start, a nanosecond is below the precision of a float."""
    transition = transition_with(Instant(mono=1e11))
    assert transition.schedule(("dialog", "d-1"), 1e-9, "why") == math.nextafter(1e11, math.inf)
    assert transition_with(Instant(mono=5.0)).schedule(("dialog", "d-1"), 2.0, "why") == 7.0


# ── the state ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_change_makes_a_later_state_and_leaves_the_old_one_unchanged() -> None:
    transition = transition_with()
    before = transition.state
    transition.update(focus=T)
    transition.update(focus=U, generation=7)
    after = transition.state
    assert (after.focus, after.generation, after.now, after.sequence) == (U, 7, 10.0, 4)
    assert (before.focus, before.generation, before.now, before.sequence) == (None, 1, 5.0, 3)


def test_a_page_that_was_put_is_visible_within_the_step() -> None:
    transition = transition_with()
    assert transition.page(T) is None
    assert transition.put_page(PAGE) is PAGE
    assert transition.page(T) is PAGE
    renamed = transition.put_page(replace(PAGE, title="new"))
    assert transition.page(T) is transition.current(PAGE) is renamed
    assert transition.put_page(replace(PAGE, id=U)).id == U
    assert set(transition.state.pages) == {T, U}


def test_putting_the_first_page_leaves_the_old_state_unchanged() -> None:
    transition = transition_with()
    before = transition.state
    transition.put_page(PAGE)
    assert len(before.pages) == 0


def attachment(session_id: SessionId, page_id: TargetId | None = T) -> Attachment:
    return Attachment(session_id=session_id, target_id=T, type="page", parent=None, page_id=page_id, primary=True)


def test_no_page_is_found_for_an_unknown_target_or_session() -> None:
    sessions = {S: T, CHILD: U, WORKER: None}
    transition = transition_with(
        pages=Map({T: PAGE}), sessions=Map({each: attachment(each, page_id=of) for each, of in sessions.items()})
    )
    assert transition.page(None) is None
    assert transition.page(U) is None
    assert transition.page_of(None) is None
    assert transition.page_of(SessionId("other")) is None
    assert transition.page_of(CHILD) is None  # its page is not known yet
    assert transition.page_of(WORKER) is None  # it belongs to no page
    assert transition.page_of(S) is PAGE


def test_counts_add_up() -> None:
    transition = transition_with()
    transition.count("unreadable_events")
    transition.count("unreadable_events", 2)
    transition.count("sessions_left_out")
    assert dict(transition.state.totals) == {"unreadable_events": 3, "sessions_left_out": 1}


# ── processes ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def frame(id: str, parent: str | None, **more: Any) -> Frame:
    return Frame(id=id, number=1, parent_id=parent, **{"session_id": S, **more})


def in_processes(*frames: Frame, sessions: tuple[SessionId, ...] = (S, CHILD)) -> tuple[Transition, Page]:
    page = replace(PAGE, frames=Map({each.id: each for each in frames}))
    return transition_with(sessions=Map({each: attachment(each) for each in sessions})), page


def test_a_frame_is_in_the_process_of_its_nearest_out_of_process_ancestor() -> None:
    oopif = frame("O", "T", oopif=True, session_id=CHILD)
    transition, page = in_processes(frame("T", None), frame("F", "T"), oopif, frame("I", "O"), frame("J", "I"))
    found = {each: transition.process_of(page, each) for each in ("T", "F", "O", "I", "J", "unknown")}
    assert found == {"T": S, "F": S, "O": CHILD, "I": CHILD, "J": CHILD, "unknown": S}


def test_a_process_has_no_session_after_its_session_ended() -> None:
    """The page's session does not replace it."""
    oopif = frame("O", "T", oopif=True, session_id=CHILD)
    transition, page = in_processes(frame("T", None), oopif, frame("I", "O"), sessions=(S,))
    assert (transition.process_of(page, "I"), transition.process_of(page, "T")) == (None, S)
    without = replace(page, frames=page.frames.set("O", replace(oopif, session_id=None)))
    assert transition.process_of(without, "O") is None


def test_a_cycle_of_frames_ends_the_search() -> None:
    transition, page = in_processes(frame("A", "B"), frame("B", "A"))
    assert transition.process_of(page, "A") == S


def test_the_number_of_adrift_frames_is_bounded() -> None:
    transition = transition_with(limits=Limits(sessions_kept=2))
    assert [transition.set_adrift(each, T) for each in ("A", "B", "C")] == [True, True, False]
    assert dict(transition.state.adrift) == {"A": T, "B": T}


# ── effects ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_effects_keep_the_order_in_which_they_were_added() -> None:
    transition = transition_with(generation=4)
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


def test_each_command_gets_its_own_ticket() -> None:
    transition = transition_with()
    first = transition.send(S, "Page.getFrameTree", purpose="tree", page_id=T)
    second = transition.send(None, "Page.handleJavaScriptDialog", purpose="answer", dialog_id="d-1", call_id="c-1")
    assert second > first
    ticket, other = transition.state.tickets[first], transition.state.tickets[second]
    assert (ticket.purpose, ticket.session_id, ticket.page_id, ticket.since) == ("tree", S, T, AT)
    assert (other.purpose, other.session_id, other.dialog_id, other.call_id) == ("answer", None, "d-1", "c-1")
    assert (ticket.dialog_id, ticket.call_id) == ("", "")
    assert transition.state.link.last_sent == 10.0  # the link is not quiet


def test_a_ticket_is_taken_once() -> None:
    transition = transition_with()
    number = transition.send(S, "Page.enable", purpose="setup")
    ticket = transition.take_ticket(number)
    assert ticket is not None
    assert ticket.purpose == "setup"
    assert transition.take_ticket(number) is None


def test_the_number_of_a_ticket_is_never_used_again() -> None:
    """Else a late reply would be taken for the reply to another command."""
    transition = transition_with()
    first = transition.send(S, "Page.enable", purpose="setup")
    transition.take_ticket(first)
    assert transition.send(S, "Page.enable", purpose="setup") != first


def test_a_command_is_forgotten_once() -> None:
    transition = transition_with()
    number = transition.send(S, "Page.enable", purpose="setup")
    transition.forget(number)
    transition.forget(number)
    assert transition.effects[1:] == [Forget(ticket=number)]
    assert len(transition.state.tickets) == 0


def test_a_request_that_was_answered_gets_no_second_answer() -> None:
    transition = transition_with()
    transition.answer(None, "late")
    assert transition.effects == []
    wrong = ValueError("no")
    transition.answer(0, error=wrong)  # the id of the first request is 0, which is falsy
    assert transition.effects == [Answer(request_id=0, error=wrong)]


# ── deadlines ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def keys(transition: Transition) -> list[str]:
    return [key for _, key, _ in tuple(entries(transition.state.deadlines))]


def test_deadlines_are_sorted_with_the_next_one_first() -> None:
    transition = transition_with()
    for key, seconds in (("b", 3.0), ("a", 1.0), ("c", 2.0), ("z", 1.0)):
        assert transition.schedule(key, seconds, f"why {key}") == 10.0 + seconds
    assert tuple(entries(transition.state.deadlines)) == (
        (11.0, "a", "why a"),
        (11.0, "z", "why z"),
        (12.0, "c", "why c"),
        (13.0, "b", "why b"),
    )
    assert dict(transition.state.deadline_of) == {"a": 11.0, "b": 13.0, "c": 12.0, "z": 11.0}


def test_a_key_has_one_deadline() -> None:
    transition = transition_with()
    transition.schedule("a", 1.0, "first")
    transition.schedule("b", 2.0, "other")
    transition.schedule("a", 3.0, "second")
    assert tuple(entries(transition.state.deadlines)) == ((12.0, "b", "other"), (13.0, "a", "second"))


@pytest.mark.parametrize("seconds", [0.0, -5.0, math.nan, 1e-30])
def test_a_deadline_is_later_than_now_whatever_the_delay(seconds: float) -> None:
    """A deadline that is due already would repeat for ever."""
    transition = transition_with()
    assert transition.schedule("a", seconds, "why") == math.nextafter(10.0, math.inf)
    assert transition.due() is None


def test_a_cancelled_deadline_does_not_become_due() -> None:
    transition = transition_with()
    for key in ("a", "b", "c"):
        transition.schedule(key, 1.0, "at the same moment")
    transition.cancel("b")
    transition.cancel("b")
    transition.cancel("unknown")
    assert (keys(transition), set(transition.state.deadline_of)) == (["a", "c"], {"a", "c"})


def test_cancelling_an_unknown_deadline_changes_nothing() -> None:
    transition = transition_with()
    before = transition.state
    transition.cancel("unknown")
    assert transition.state is before


def due_at(mono: float) -> tuple[Transition, list[str]]:
    made = transition_with()
    for key, seconds in (("b", 3.0), ("a", 1.0), ("c", 2.0)):
        made.schedule(key, seconds, "why")
    transition = Transition(made.state, Instant(mono=mono), mono)
    due: list[str] = []
    while (key := transition.due()) is not None:
        due.append(key)
    return transition, due


@pytest.mark.parametrize(
    ("mono", "due"), [(10.9, []), (11.0, ["a"]), (12.5, ["a", "c"]), (13.0, ["a", "c", "b"]), (1e9, ["a", "c", "b"])]
)
def test_due_deadlines_are_taken_out_in_their_order(mono: float, due: list[str]) -> None:
    transition, found = due_at(mono)
    assert found == due
    left = [key for key in ("a", "c", "b") if key not in due]
    assert (keys(transition), set(transition.state.deadline_of)) == (left, set(left))


@given(
    st.lists(
        st.tuples(st.sampled_from("abcd"), st.sampled_from([None, 0.0, 1.0, 1.0, 2.0, 5.0]), st.floats(0, 2)),
        max_size=20,
    )
)
def test_deadlines_behave_like_a_plain_dictionary(moves: list[tuple[str, float | None, float]]) -> None:
    """A delay of None cancels the key; deadlines that are due are taken out."""
    model: dict[str, float] = {}
    state, now = initial_state(), 0.0
    for key, seconds, step in moves:
        now += step
        transition = Transition(state, Instant(mono=now), now)
        if seconds is None:
            transition.cancel(key)
            model.pop(key, None)
        else:
            model[key] = transition.schedule(key, seconds, "why")
        due = []
        while (found := transition.due()) is not None:
            due.append(found)
        expected = sorted((at, each) for each, at in model.items() if at <= now)
        assert due == [each for _, each in expected]
        for each in due:
            del model[each]
        state = transition.state
        assert dict(state.deadline_of) == model
        assert [(at, each) for at, each, _ in tuple(entries(state.deadlines))] == sorted(
            (at, each) for each, at in model.items()
        )


def test_targets_are_resumed_after_everything_else() -> None:
    transition = transition_with()
    transition.resume(S)
    transition.note("info", "link up")
    transition.resume(CHILD)
    assert transition.last == (Resume(session_id=S), Resume(session_id=CHILD))
    assert [type(each) for each in transition.effects] == [Note]


def test_a_warning_about_a_page_is_logged_once_and_then_for_debugging() -> None:
    state = initial_state()
    page = Page(id=TargetId("P"), number=1)
    transition = Transition(replace(state, pages=state.pages.set(page.id, page)), NOWHEN, 0.0)
    for text in ("one", "one", "two"):
        transition.warn(page, text, why="so")
    assert [(each.level, each.text) for each in transition.effects] == [
        ("warning", "one"),
        ("debug", "one"),
        ("warning", "two"),
    ]
    assert transition.effects[0].fields["page"] == "P"
