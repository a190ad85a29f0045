"""Attach decisions: each session is armed once, one session per target, and nothing is left paused."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from cdp_core.sansio.attaching import ArmSession, Attaching, EndAutoAttach, EndSession, ResumeSession
from cdp_core.sansio.messages import SessionId, TargetId


@attrs.define
class Seen:
    """The facts of one session."""

    session_id: SessionId
    target_id: TargetId
    parent: SessionId | None = None
    holders: int = 0
    automatic: bool = False
    armed: bool = False
    fresh: bool = False


def link(*sessions: Seen) -> tuple[dict[SessionId, Seen], Attaching]:
    open_sessions = {each.session_id: each for each in sessions}
    return open_sessions, Attaching(open_sessions)


def seen(name: str, target: str = "T", **facts: Any) -> Seen:
    return Seen(SessionId(name), TargetId(target), **facts)


ONE, TWO, T = SessionId("one"), SessionId("two"), TargetId("T")


def test_a_session_is_armed_once() -> None:
    sessions, attaching = link(seen("one"))
    assert attaching.opened(ONE) == (ArmSession(session_id=ONE),)
    assert attaching.opened(ONE) == ()
    assert (sessions[ONE].armed, sessions[ONE].automatic) == (True, True)


def test_a_session_that_is_not_open_gets_nothing() -> None:
    _sessions, attaching = link()
    assert attaching.opened(ONE) == ()
    assert attaching.orphaned(ONE) == ()


def test_a_second_session_on_a_target_is_resumed_and_ended() -> None:
    _sessions, attaching = link(seen("one", armed=True), seen("two", parent=SessionId("above")))
    assert attaching.opened(TWO) == (
        ResumeSession(session_id=TWO),
        EndSession(session_id=TWO, parent=SessionId("above")),
    )
    assert attaching.duplicates_ended == 1
    assert attaching.session_on(T) == ONE


def test_the_first_session_is_armed_if_the_second_one_shows_its_target() -> None:
    _sessions, attaching = link(seen("one", holders=1), seen("two"))
    assert attaching.opened(TWO)[-1] == ArmSession(session_id=ONE)


def test_a_session_that_a_caller_asked_for_is_left_alone() -> None:
    sessions, attaching = link(seen("one", armed=True), seen("two"))
    attaching.begin(T, fresh=True)
    assert attaching.opened(TWO) == ()
    assert sessions[TWO].fresh
    attaching.end(T, fresh=True)
    assert not attaching.under_way(T)


def test_a_session_of_a_caller_is_not_automatic() -> None:
    sessions, attaching = link(seen("one"))
    attaching.begin(T, fresh=False)
    attaching.opened(ONE)
    attaching.end(T, fresh=False)
    assert not sessions[ONE].automatic


@pytest.mark.parametrize(("facts", "automatic"), [({}, True), ({"holders": 1}, False)])
def test_a_claimed_session_gets_no_orders(facts: Any, automatic: bool) -> None:
    sessions, attaching = link(seen("one", **facts))
    attaching.claim(sessions[ONE])
    assert attaching.opened(ONE) == ()
    assert (sessions[ONE].armed, sessions[ONE].automatic) == (True, automatic)


@pytest.mark.parametrize("facts", [{"holders": 1}, {"automatic": True}])
def test_a_session_in_use_is_no_orphan(facts: Any) -> None:
    _sessions, attaching = link(seen("one", **facts))
    assert attaching.orphaned(ONE) == ()


def test_an_orphan_is_ended_and_no_longer_shared() -> None:
    _sessions, attaching = link(seen("one"))
    assert attaching.orphaned(ONE) == (EndSession(session_id=ONE, parent=None),)
    assert attaching.session_on(T) is None


def test_the_end_of_auto_attach_reaches_the_sessions_that_it_did_not_make() -> None:
    sessions, attaching = link(seen("one", armed=True, automatic=True), seen("two", "U", armed=True), seen("3", "V"))
    assert list(attaching.over()) == [EndAutoAttach(session_id=None), EndAutoAttach(session_id=TWO)]
    assert not any(each.armed for each in sessions.values())


class Attaches(RuleBasedStateMachine):
    """Sessions open and end, callers attach and give up, in any order, while auto-attach is held."""

    sessions = Bundle("sessions")
    calls = Bundle("calls")

    def __init__(self) -> None:
        super().__init__()
        self.open: dict[SessionId, Seen] = {}
        self.attaching = Attaching(self.open)
        self.number = 0
        self.under_way: list[tuple[TargetId, bool]] = []
        self.resumed: dict[SessionId, int] = {}
        self.ended: set[SessionId] = set()

    def obey(self, orders: Any) -> None:
        for order in orders:
            session_id = order.session_id
            assert session_id is None or session_id in self.open, "an order for a session that is not open"
            if isinstance(order, (ArmSession, ResumeSession)):
                assert session_id not in self.ended, "a session that ends is sent something else"
                self.resumed[session_id] = self.resumed.get(session_id, 0) + 1
            elif isinstance(order, EndSession):
                assert not self.open[session_id].holders, "a session in use was ended"
                self.ended.add(session_id)

    @rule(target=calls, target_id=st.sampled_from(["T", "U"]), fresh=st.booleans())
    def a_caller_attaches(self, target_id: str, fresh: bool) -> tuple[TargetId, bool]:
        call = TargetId(target_id), fresh
        self.attaching.begin(call[0], fresh=fresh)
        self.under_way.append(call)
        return call

    @rule(call=consumes(calls), session=st.none() | sessions)
    def an_attach_ends(self, call: tuple[TargetId, bool], session: SessionId | None) -> None:
        self.attaching.end(call[0], fresh=call[1])
        self.under_way.remove(call)
        assert self.attaching.under_way(call[0]) == any(each[0] == call[0] for each in self.under_way)
        if session in self.open and session not in self.ended and self.open[session].target_id == call[0]:
            self.open[session].holders += 1
        elif session is not None:
            self.obey(self.attaching.orphaned(session))

    @rule(target=sessions, target_id=st.sampled_from(["T", "U"]), parent=st.none() | sessions)
    def a_session_opens(self, target_id: str, parent: SessionId | None) -> Any:
        if parent is not None and parent not in self.open:
            return multiple()
        self.number += 1
        session = Seen(SessionId(f"s{self.number}"), TargetId(target_id), parent)
        alone = self.attaching.session_on(session.target_id) is None
        self.open[session.session_id] = session
        orders = self.attaching.opened(session.session_id)
        self.obey(orders)
        wanted = (session.target_id, True) in self.under_way
        assert self.resumed.get(session.session_id, 0) == (1 if alone or not wanted else 0)
        assert session.armed == alone
        assert self.attaching.opened(session.session_id) == () or not session.armed
        return session.session_id

    @rule(session=consumes(sessions))
    def a_session_ends(self, session: SessionId) -> None:
        self.open.pop(session, None)
        self.ended.discard(session)

    @rule()
    def auto_attach_begins_anew(self) -> None:
        orders = list(self.attaching.over())
        assert orders[0] == EndAutoAttach(session_id=None)
        assert not any(each.armed for each in self.open.values())

    @invariant()
    def one_session_per_target_is_shared(self) -> None:
        for target_id in (TargetId("T"), TargetId("U")):
            shared = [each for each in self.open.values() if each.target_id == target_id and not each.fresh]
            assert len(shared) <= 1, "two sessions that each repeat the events of the other"


def test_the_attach_decisions_keep_their_laws() -> None:
    run_state_machine_as_test(Attaches)
