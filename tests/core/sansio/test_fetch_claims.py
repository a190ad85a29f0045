"""The claims of one connection: orders are performed, and what follows from them, on each session."""

from __future__ import annotations

import json
from typing import Any

import attrs
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from cdp_core.errors import ConnectionLost, InvalidArgument, SessionGone
from cdp_core.sansio.fetch_arbiter import CHALLENGED, GONE, PATIENCE, PAUSED
from cdp_core.sansio.fetch_claims import FetchClaims
from cdp_core.sansio.messages import CommandId, Event, Refusal, Result, SessionId
from cdp_core.sansio.outcomes import Loss

A, B = SessionId("A"), SessionId("B")
EVERY = [{"urlPattern": "*"}]
DONE = Result(id=CommandId(1), raw=b"{}")
REFUSED = Refusal(id=CommandId(1), code=-32602, message="Invalid parameters")
LOST = Loss(kind="session", reason="detached", detail="It ended.", session_id=A)


@attrs.define(eq=False)
class User:
    """The user of a claim, and a waiter: keeps what it gets."""

    takes: bool = True
    taken: list[Any] = attrs.field(factory=list)
    late: list[str] = attrs.field(factory=list)
    errors: list[Any] = attrs.field(factory=list)
    outcomes: list[Any] = attrs.field(factory=list)

    def take(self, event: Event, /) -> bool:
        self.taken.append(event.params["requestId"])
        return self.takes

    def expired(self, request_id: str, /) -> None:
        self.late.append(request_id)

    def ended(self, error: Any, /) -> None:
        self.errors.append(error())

    def settle(self, outcome: Any, /) -> None:
        self.outcomes.append(outcome)


class Connection:
    """Claims on a connection that keeps what is sent."""

    def __init__(self) -> None:
        self.now = 0.0
        self.sent: list[Any] = []
        self.waiters: list[Any] = []
        self.gone: set[Any] = set()
        self.notified: list[str] = []
        self.claims = FetchClaims(self.send, lambda: self.now)
        self.claims.on_first_claim = lambda: self.notified.append("first")
        self.claims.on_deadline = lambda: self.notified.append("deadline")

    def send(self, method: str, params: Any, session_id: Any, waiter: Any, /) -> None:
        if session_id in self.gone:
            raise SessionGone("It ended.", reason="detached", session_id=str(session_id))
        self.sent.append((method.removeprefix("Fetch."), session_id, (params or {}).get("requestId")))
        self.waiters.append(waiter)

    def claim(self, user: User, session_id: Any = A, *, auth: bool = False) -> Any:
        return self.claims.claim(session_id, EVERY, auth=auth, name="x", claimant=user, waiter=user)

    def pause(self, request_id: str = "r", session_id: Any = A, method: str = PAUSED) -> None:
        params = {"requestId": request_id, "request": {"url": "https://x.example/"}}
        self.claims.paused(Event(method=method, session_id=session_id, raw=json.dumps(params).encode()))


def test_a_claim_enables_fetch_and_its_waiter_gets_the_outcome() -> None:
    there, user = Connection(), User()
    there.claim(user)
    assert there.sent == [("enable", A, None)]
    there.waiters[0].settle(DONE)
    assert user.outcomes == [DONE]


def test_the_first_claim_of_a_connection_is_announced_once() -> None:
    there = Connection()
    there.claim(User())
    there.claim(User(), B)
    assert there.notified.count("first") == 1
    assert there.notified[0] == "first"
    there.notified.clear()
    there.pause()
    assert there.notified == ["deadline"]


def test_claims_on_different_sessions_do_not_concern_each_other() -> None:
    there, one, two = Connection(), User(), User()
    there.claim(one)
    there.claim(two, None)
    there.pause("r", A)
    there.pause("s", None)
    there.pause("t", B)
    assert (one.taken, two.taken) == (["r"], ["s"])
    assert [each[0] for each in there.sent] == ["enable", "enable"]


def test_an_answer_is_sent_and_its_waiter_gets_the_outcome() -> None:
    there, user, waiter = Connection(), User(), User()
    claimed = there.claim(user)
    there.pause()
    assert claimed.answer("Fetch.failRequest", {"requestId": "r", "errorReason": "Failed"}, waiter)
    assert there.sent[-1] == ("failRequest", A, "r")
    there.waiters[-1].settle(REFUSED)
    assert waiter.outcomes == [REFUSED]
    assert there.claims.next_deadline() == PATIENCE
    assert claimed.answer("Fetch.failRequest", {"requestId": "r", "errorReason": "Failed"})
    there.waiters[-1].settle(DONE)
    assert there.claims.next_deadline() is None


def test_an_answer_that_only_passes_a_request_on_sends_nothing() -> None:
    there, one, two = Connection(), User(), User()
    claimed = there.claim(one)
    there.claim(two)
    there.pause()
    assert not claimed.answer("Fetch.continueRequest", {"requestId": "r"}, User())
    assert two.taken == ["r"]


def test_a_request_that_its_owner_cannot_take_goes_to_the_next_claim() -> None:
    there, one, two = Connection(), User(takes=False), User()
    there.claim(one)
    there.claim(two)
    there.pause()
    assert (one.taken, two.taken) == (["r"], ["r"])
    two.takes = False
    there.pause("s")
    assert there.sent[-1] == ("continueRequest", A, "s")


def test_a_released_claim_takes_nothing_more() -> None:
    there, one, two = Connection(), User(), User()
    first = there.claim(one)
    there.claim(two)
    there.pause("r")
    first.release()
    assert two.taken == ["r"]
    there.pause("s")
    assert (one.taken, two.taken) == (["r"], ["r", "s"])
    first.release()
    first.pass_on("s")
    assert [each[0] for each in there.sent] == ["enable", "enable", "enable"]


def test_a_challenge_is_a_pause_too() -> None:
    there, user = Connection(), User()
    there.claim(user, auth=True)
    there.pause("r", method=CHALLENGED)
    assert user.taken == ["r"]


def test_requests_that_nobody_answers_are_continued_on_every_session() -> None:
    there, one, two = Connection(), User(), User()
    there.claim(one)
    there.claim(two, B)
    there.pause("r")
    there.now = 4.0
    there.pause("s", B)
    assert there.claims.next_deadline() == PATIENCE
    there.now = PATIENCE
    there.claims.due()
    assert (one.late, two.late) == (["r"], [])
    assert there.sent[-1] == ("continueRequest", A, "r")
    there.now = PATIENCE + 4.0
    there.claims.due()
    assert two.late == ["s"]


@pytest.mark.parametrize("end", ["session", "link"])
def test_a_claim_ends_with_its_session_or_link(end: str) -> None:
    there, user = Connection(), User()
    claimed = there.claim(user)
    there.pause()
    if end == "session":
        there.claims.session_closed(A, LOST.error)
        there.claims.session_closed(B, LOST.error)
    else:
        there.claims.link_lost(LOST.error)
    [error] = user.errors
    assert isinstance(error, SessionGone)
    with pytest.raises(InvalidArgument, match="holds no request"):
        claimed.answer("Fetch.failRequest", {"requestId": "r"})
    claimed.release()
    there.now = 99.0
    there.claims.due()
    assert (user.late, there.claims.next_deadline(), len(there.sent)) == ([], None, 1)


def test_a_claim_on_a_session_that_has_ended_raises_and_is_not_kept() -> None:
    there, user = Connection(), User()
    there.gone.add(A)
    with pytest.raises(SessionGone):
        there.claim(user)
    there.gone.clear()
    there.claim(User())
    there.pause()
    assert user.taken == []


def test_an_answer_to_a_session_that_has_ended_raises_for_its_caller_alone() -> None:
    there, user = Connection(), User()
    claimed = there.claim(user)
    there.pause("r")
    there.pause("s")
    there.gone.add(A)
    with pytest.raises(SessionGone):
        claimed.answer("Fetch.failRequest", {"requestId": "r"}, User())
    claimed.pass_on("s")
    claimed.release()


def test_an_answer_that_is_too_big_leaves_the_request_with_its_owner_and_its_time_limit() -> None:
    there, user = Connection(), User()
    claimed = there.claim(user)
    there.pause()
    there.gone.add(A)
    there.notified.clear()
    with pytest.raises(SessionGone):
        claimed.answer("Fetch.fulfillRequest", {"requestId": "r", "body": "x"}, User())
    assert there.notified == ["deadline"]
    there.gone.clear()
    assert there.claims.next_deadline() == PATIENCE
    assert claimed.answer("Fetch.failRequest", {"requestId": "r"}, User())


def test_a_refusal_after_the_time_limit_sets_a_new_one() -> None:
    there, user = Connection(), User()
    claimed = there.claim(user)
    there.pause()
    claimed.answer("Fetch.failRequest", {"requestId": "r"}, User())
    there.now = 12.0
    there.notified.clear()
    there.waiters[-1].settle(REFUSED)
    assert there.notified == ["deadline"]
    assert there.claims.next_deadline() == 12.0 + PATIENCE


def test_what_was_continued_without_an_owner_or_in_time_is_counted() -> None:
    there = Connection()
    there.claim(User(takes=True))
    there.claims.claim(B, [{"urlPattern": "nothing"}], auth=False, name="x", claimant=User(), waiter=User())
    there.pause("r", B)
    there.pause("s", A)
    there.now = PATIENCE
    there.claims.due()
    assert (there.claims.unclaimed, there.claims.expired) == (1, 1)


# ── commands of other code ───────────────────────────────────────────────────────────────────────────────────────────


def test_other_code_does_not_switch_fetch_on_a_session_with_a_claim() -> None:
    there = Connection()
    claimed = there.claim(User())
    for method in ("Fetch.enable", "Fetch.disable"):
        with pytest.raises(InvalidArgument, match="use claim_fetch"):
            there.claims.check_command(A, method, None, User())
        there.claims.check_command(B, method, None, User())
    claimed.release()
    there.claims.check_command(A, "Fetch.enable", None, User())


@pytest.mark.parametrize(("outcome", "refused"), [(DONE, True), (REFUSED, False)])
def test_an_enable_of_other_code_forbids_claims_unless_it_was_refused(outcome: Any, refused: bool) -> None:
    there, waiter = Connection(), User()
    there.claims.check_command(A, "Fetch.enable", {}, waiter).settle(outcome)
    assert waiter.outcomes == [outcome]
    if refused:
        with pytest.raises(InvalidArgument, match="is enabled on this session already"):
            there.claim(User())
        there.claims.check_command(A, "Fetch.disable", {}, waiter).settle(DONE)
    there.claim(User())


def test_a_body_that_was_taken_is_noted() -> None:
    there, user = Connection(), User()
    claimed = there.claim(user)
    there.pause()
    there.claims.check_command(A, "Fetch.takeResponseBodyAsStream", {"requestId": "r"}, User())
    claimed.pass_on("r")
    assert there.sent[-1] == ("failRequest", A, "r")


def test_the_error_of_a_lost_link_is_that_of_the_link() -> None:
    there, user = Connection(), User()
    there.claim(user)
    there.claims.link_lost(Loss(kind="connection", reason="closed", detail="It was closed.").error)
    assert isinstance(user.errors[0], ConnectionLost)


# ── the laws ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class Owner(User):
    """The user of one claim of the rule machine."""

    def __init__(self, machine: Connections, session_id: Any) -> None:
        super().__init__()
        self.machine, self.session_id = machine, session_id

    def take(self, event: Event, /) -> bool:
        assert event.session_id == self.session_id, "a request of another session"
        assert self in self.machine.claimed, "a request for a claim that is over"
        if self.takes:
            self.machine.owners[self.session_id, event.params["requestId"]] = self
        return self.takes

    def expired(self, request_id: str, /) -> None:
        assert self.machine.owners.pop((self.session_id, request_id)) is self


class Connections(RuleBasedStateMachine):
    """Claims on three sessions come and go with them; a model knows what the browser holds."""

    def __init__(self) -> None:
        super().__init__()
        self.now, self.number = 0.0, 0
        self.claims = FetchClaims(self.send, lambda: self.now)
        self.claimed: dict[Owner, Any] = {}
        self.owners: dict[tuple[Any, str], Owner] = {}
        self.held: set[tuple[Any, str]] = set()
        self.replies: list[tuple[Any, Any]] = []

    def send(self, method: str, params: Any, session_id: Any, waiter: Any, /) -> None:
        if method == "Fetch.disable":
            assert not {each for each in self.held if each[0] == session_id}, "held at Fetch.disable"
        key = (session_id, (params or {}).get("requestId"))
        outcome = DONE if key in self.held or key[1] is None else Refusal(id=CommandId(1), code=-32602, message=GONE)
        self.held.discard(key)
        self.replies.append((waiter, outcome))

    @rule(session_id=st.sampled_from([A, B, None]), takes=st.booleans())
    def claim(self, session_id: Any, takes: bool) -> None:
        user = Owner(self, session_id)
        user.takes = takes
        claimed = self.claims.claim(session_id, EVERY, auth=False, name="x", claimant=user, waiter=user)
        self.claimed[user] = claimed

    @precondition(lambda self: self.claimed)
    @rule(data=st.data())
    def release(self, data: Any) -> None:
        user = data.draw(st.sampled_from(list(self.claimed)))
        claimed = self.claimed.pop(user)
        for key in [key for key, owner in self.owners.items() if owner is user]:
            del self.owners[key]
        claimed.release()

    @precondition(lambda self: self.claimed)
    @rule(data=st.data())
    def pause(self, data: Any) -> None:
        session_id = data.draw(st.sampled_from([user.session_id for user in self.claimed]))
        self.number += 1
        self.held.add((session_id, f"r{self.number}"))
        params = {"requestId": f"r{self.number}", "request": {"url": "https://x.example/"}}
        self.claims.paused(Event(method=PAUSED, session_id=session_id, raw=json.dumps(params).encode()))

    @precondition(lambda self: self.owners)
    @rule(data=st.data(), bare=st.booleans())
    def answer(self, data: Any, bare: bool) -> None:
        key = data.draw(st.sampled_from(sorted(self.owners, key=repr)))
        owner = self.owners.pop(key)
        params = {"requestId": key[1], **({} if bare else {"method": "GET"})}
        self.claimed[owner].answer("Fetch.continueRequest", params)

    @rule(session_id=st.sampled_from([A, B]))
    def session_ends(self, session_id: Any) -> None:
        gone = [user for user in self.claimed if user.session_id == session_id]
        self.held = {key for key in self.held if key[0] != session_id}
        self.owners = {key: owner for key, owner in self.owners.items() if key[0] != session_id}
        self.claims.session_closed(session_id, LOST.error)
        for user in gone:
            assert len(user.errors) == 1
            del self.claimed[user]

    @precondition(lambda self: self.replies)
    @rule()
    def deliver(self) -> None:
        waiter, outcome = self.replies.pop(0)
        waiter.settle(outcome)

    @rule(seconds=st.floats(0, 12))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds
        self.claims.due()
        deadline = self.claims.next_deadline()
        assert deadline is None or deadline > self.now

    @invariant()
    def every_held_request_is_with_a_user(self) -> None:
        assert self.held == set(self.owners)

    def teardown(self) -> None:
        for _ in range(len(self.claimed) + 1):
            self.time_passes(PATIENCE)
        assert not self.held


def test_claims_on_several_sessions_keep_the_laws() -> None:
    run_state_machine_as_test(Connections)


def test_a_request_that_expires_without_its_user_is_continued_all_the_same() -> None:
    there, user = Connection(), User()
    there.claim(user)
    there.pause()
    there.claims._sessions[A].claimants.clear()
    there.now = PATIENCE
    there.claims.due()
    assert there.sent[-1] == ("continueRequest", A, "r")


def test_the_user_of_a_released_claim_hears_nothing_of_the_end_of_the_session() -> None:
    there, user = Connection(), User()
    there.claim(user).release()
    there.claims.session_closed(A, LOST.error)
    assert user.errors == []
