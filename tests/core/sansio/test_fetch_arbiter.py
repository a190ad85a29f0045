"""Fetch shared by claims: no request is left paused, and nobody answers the request of another claim."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from cdp_core.errors import InvalidArgument
from cdp_core.sansio.fetch_arbiter import CHALLENGED, GONE, PATIENCE, PAUSED, Expired, FetchArbiter, Give, Send
from cdp_core.sansio.messages import CommandId, Event, Refusal, Result
from cdp_core.sansio.outcomes import Loss

Json = dict[str, Any]
ADS, ALL = {"urlPattern": "*ads*"}, {"urlPattern": "*"}
ENDED = Result(id=CommandId(1), session_id=None, raw=b"{}")
LOST = Loss(kind="session", reason="detached", detail="")


def event_of(method: str, params: Any) -> Event:
    return Event(method=method, session_id=None, raw=json.dumps(params).encode())


def pause(request_id: str = "r1", url: str = "https://ads.example/", **more: Any) -> Event:
    return event_of(PAUSED, {"requestId": request_id, "request": {"url": url}, "resourceType": "Document", **more})


def challenge(request_id: str = "r1", url: str = "https://ads.example/") -> Event:
    return event_of(CHALLENGED, pause(request_id, url).params)


def refusal(message: str) -> Refusal:
    return Refusal(id=CommandId(1), session_id=None, code=-32602, message=message)


def claimed(*patterns: Json, auth: bool = False) -> tuple[FetchArbiter, list[int]]:
    """An arbiter with one claim for each pattern."""
    arbiter = FetchArbiter()
    return arbiter, [arbiter.claim([each], auth=auth, name=f"claim {each['urlPattern']}")[0] for each in patterns]


def sent(orders: Any) -> list[tuple[str, Json]]:
    return [(each.method, each.params) for each in orders if isinstance(each, Send)]


CONTINUE = [("Fetch.continueRequest", {"requestId": "r1"})]
DEFAULT = [("Fetch.continueWithAuth", {"requestId": "r1", "authChallengeResponse": {"response": "Default"}})]
FAIL = {"requestId": "r1", "errorReason": "Failed"}


def test_the_browser_gets_the_union_of_the_patterns() -> None:
    arbiter = FetchArbiter()
    _one, orders = arbiter.claim([ADS, ALL], auth=False, name="one")
    assert sent(orders) == [("Fetch.enable", {"patterns": [ADS, ALL]})]
    _two, orders = arbiter.claim([ALL], auth=True, name="two")
    assert sent(orders) == [("Fetch.enable", {"patterns": [ADS, ALL], "handleAuthRequests": True})]


def test_the_first_claim_that_matches_owns_a_request_and_continue_passes_it_on() -> None:
    arbiter, (ads, every) = claimed(ADS, ALL)
    assert arbiter.paused(pause(), 0.0) == (Give(claim=ads, event=pause()),)
    assert arbiter.answer(ads, "Fetch.continueRequest", {"requestId": "r1"}, 1.0) == (Give(claim=every, event=pause()),)
    assert sent(arbiter.answer(every, "Fetch.continueRequest", {"requestId": "r1"}, 2.0)) == CONTINUE


def test_a_request_that_no_claim_matches_is_continued_and_counted() -> None:
    arbiter, _claims = claimed(ADS)
    assert sent(arbiter.paused(pause(url="https://shop.example/"), 0.0)) == CONTINUE


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("Fetch.fulfillRequest", {"requestId": "r1", "responseCode": 200}),
        ("Fetch.failRequest", {"requestId": "r1", "errorReason": "Aborted"}),
        ("Fetch.continueRequest", {"requestId": "r1", "url": "https://other.example/"}),
    ],
)
def test_an_answer_with_content_goes_to_the_browser(method: str, params: Json) -> None:
    arbiter, (ads, _every) = claimed(ADS, ALL)
    arbiter.paused(pause(), 0.0)
    assert sent(arbiter.answer(ads, method, params, 1.0)) == [(method, params)]
    with pytest.raises(InvalidArgument, match="holds no request 'r1'"):
        arbiter.answer(ads, method, params, 1.0)


def test_a_claim_cannot_answer_the_request_of_another() -> None:
    arbiter, (_ads, every) = claimed(ADS, ALL)
    arbiter.paused(pause(), 0.0)
    with pytest.raises(InvalidArgument, match="holds no request"):
        arbiter.answer(every, "Fetch.failRequest", {"requestId": "r1", "errorReason": "Failed"}, 0.0)


def test_a_release_passes_on_what_the_claim_holds_and_disables_last() -> None:
    arbiter, (ads, every) = claimed(ADS, ALL)
    arbiter.paused(pause(), 0.0)
    orders = arbiter.release(ads, 0.0)
    assert orders[0] == Give(claim=every, event=pause())
    assert sent(orders) == [("Fetch.enable", {"patterns": [ALL]})]
    assert sent(arbiter.release(every, 0.0)) == [*CONTINUE, ("Fetch.disable", {})]
    assert arbiter.release(every, 0.0) == ()


def test_a_challenge_goes_to_claims_with_auth_and_is_never_cancelled_for_others() -> None:
    arbiter, _claims = claimed(ADS)
    assert sent(arbiter.paused(challenge(), 0.0)) == DEFAULT
    secret = {"response": "ProvideCredentials", "username": "u", "password": "p"}
    number, _orders = arbiter.claim([ALL], auth=True, name="auth")
    assert arbiter.paused(challenge(), 0.0) == (Give(claim=number, event=challenge()),)
    with pytest.raises(InvalidArgument, match=r"use Fetch\.continueWithAuth"):
        arbiter.answer(number, "Fetch.continueRequest", {"requestId": "r1"}, 0.0)
    params = {"requestId": "r1", "authChallengeResponse": secret}
    assert sent(arbiter.answer(number, "Fetch.continueWithAuth", params, 0.0)) == [("Fetch.continueWithAuth", params)]
    arbiter.paused(challenge(), 0.0)
    assert sent(arbiter.release(number, 0.0)) == [*DEFAULT, ("Fetch.enable", {"patterns": [ADS]})]


def test_a_request_that_is_not_answered_for_ten_seconds_is_continued_and_named() -> None:
    arbiter, (ads,) = claimed(ADS)
    assert arbiter.next_deadline() is None
    arbiter.paused(pause(), 3.0)
    assert arbiter.next_deadline() == 3.0 + PATIENCE
    assert arbiter.due(12.9) == ()
    orders = arbiter.due(13.0)
    assert orders[0] == Expired(claim=ads, request_id="r1")
    assert sent(orders) == CONTINUE
    assert arbiter.next_deadline() is None


def test_fetch_is_either_shared_or_used_directly() -> None:
    arbiter = FetchArbiter()
    arbiter.check_command("Fetch.enable")
    with pytest.raises(InvalidArgument, match=r"end that, then use claim_fetch\(patterns=…\)"):
        arbiter.claim([ALL], auth=False, name="x")
    assert arbiter.paused(pause(), 0.0) == ()
    arbiter.check_command("Fetch.disable")
    arbiter.claim([ALL], auth=False, name="bridge")
    for method in ("Fetch.enable", "Fetch.disable"):
        with pytest.raises(InvalidArgument, match=r"\(bridge\); to intercept requests use claim_fetch\(patterns=…\)"):
            arbiter.check_command(method)


@pytest.mark.parametrize(
    ("patterns", "auth", "why"),
    [
        ([], False, "at least one pattern"),
        ([{"url": "*"}], False, "has no field 'url'"),
        ([{"urlPattern": 5}], False, "has texts only"),
        ([{"requestStage": "Late"}], False, "requestStage must be one of Request, Response"),
        ([{"requestStage": "Response"}], True, "needs a pattern of the stage Request"),
        (["*"], False, "params must be a mapping"),
    ],
)
def test_an_invalid_claim_is_refused_and_changes_nothing(patterns: Any, auth: bool, why: str) -> None:
    arbiter = FetchArbiter()
    with pytest.raises(InvalidArgument, match=why):
        arbiter.claim(patterns, auth=auth, name="x")
    arbiter.check_command("Fetch.enable")


@pytest.mark.parametrize(
    ("pattern", "more", "owned"),
    [
        ({"urlPattern": "https://ads.example/?"}, {}, True),
        ({"urlPattern": "https://ads.exampl?/"}, {}, True),
        ({"urlPattern": "https://ads.examp?/"}, {}, False),
        ({"urlPattern": "https://ads.examp??/"}, {}, True),
        ({"urlPattern": r"https://ads.example/\?"}, {}, False),
        ({"urlPattern": "https://*.example/"}, {}, True),
        ({"urlPattern": r"https://ads\.example\/"}, {}, True),
        ({"urlPattern": r"*\*"}, {}, False),
        ({"urlPattern": "ads"}, {}, False),
        ({"urlPattern": "ttps://ads.example/"}, {}, False),
        ({"urlPattern": "zttps://ads.example/"}, {}, False),
        ({}, {}, True),
        ({"resourceType": "Image"}, {}, False),
        ({"resourceType": "Document"}, {}, True),
        ({"requestStage": "Response"}, {}, False),
        ({"requestStage": "Response"}, {"responseStatusCode": 200}, True),
        ({"requestStage": "Response"}, {"responseErrorReason": "Failed"}, True),
        ({"requestStage": "Request"}, {"responseStatusCode": 200}, False),
    ],
)
def test_a_pattern_matches_by_url_type_and_stage(pattern: Json, more: Json, owned: bool) -> None:
    arbiter = FetchArbiter()
    arbiter.claim([pattern], auth=False, name="x")
    assert isinstance(arbiter.paused(pause(**more), 0.0)[0], Give) == owned


@given(
    params=st.none()
    | st.dictionaries(
        st.sampled_from(["requestId", "request", "resourceType"]),
        st.none() | st.text() | st.lists(st.text()) | st.dictionaries(st.text(), st.text()),
    )
)
def test_odd_params_never_raise(params: Any) -> None:
    arbiter, _claims = claimed(ADS)
    arbiter.paused(event_of(PAUSED, params), 0.0)
    arbiter.paused(event_of(CHALLENGED, params), 0.0)


# ── answers that the browser refuses ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("outcome", [ENDED, refusal(GONE), LOST])
def test_an_answer_ends_a_request_once_the_browser_took_it_or_holds_it_no_more(outcome: Any) -> None:
    arbiter, (ads,) = claimed(ADS)
    arbiter.paused(pause(), 0.0)
    arbiter.answer(ads, "Fetch.failRequest", FAIL, 0.0)
    assert arbiter.next_deadline() is None
    assert arbiter.answered("r1", outcome, 1.0) == ()
    assert arbiter.due(99.0) == ()
    assert arbiter.answered("r1", outcome, 1.0) == ()


def test_a_refused_answer_leaves_the_request_with_its_owner_and_its_time_limit() -> None:
    arbiter, (ads,) = claimed(ADS)
    arbiter.paused(pause(), 0.0)
    arbiter.answer(ads, "Fetch.fulfillRequest", {"requestId": "r1", "responseCode": 5}, 0.0)
    assert arbiter.answered("r1", refusal("Invalid parameters"), 1.0) == ()
    assert arbiter.next_deadline() == 1.0 + PATIENCE
    assert sent(arbiter.answer(ads, "Fetch.failRequest", FAIL, 2.0)) == [("Fetch.failRequest", FAIL)]


def test_a_refused_answer_of_a_claim_that_is_over_passes_the_request_on() -> None:
    arbiter, (ads, every) = claimed(ADS, ALL)
    arbiter.paused(pause(), 0.0)
    arbiter.answer(ads, "Fetch.failRequest", FAIL, 0.0)
    assert sent(arbiter.release(ads, 1.0)) == [("Fetch.enable", {"patterns": [ALL]})]
    assert arbiter.answered("r1", refusal("Invalid parameters"), 1.0) == (Give(claim=every, event=pause()),)


def test_the_last_release_continues_also_what_was_answered_since_the_answer_may_be_refused() -> None:
    arbiter, (ads,) = claimed(ADS)
    arbiter.paused(pause(), 0.0)
    arbiter.answer(ads, "Fetch.failRequest", FAIL, 0.0)
    assert sent(arbiter.release(ads, 1.0)) == [*CONTINUE, ("Fetch.disable", {})]


def test_a_request_whose_body_was_taken_is_failed_where_another_is_continued() -> None:
    arbiter, (ads,) = claimed(ADS)
    arbiter.paused(pause(), 0.0)
    arbiter.check_command("Fetch.takeResponseBodyAsStream", {"requestId": "r1"})
    arbiter.check_command("Fetch.takeResponseBodyAsStream", {"requestId": "r2"})
    arbiter.check_command("Fetch.takeResponseBodyAsStream")
    orders = arbiter.pass_on(ads, "r1", 1.0)
    assert sent(orders) == [("Fetch.failRequest", {"requestId": "r1", "errorReason": "Aborted"})]
    assert arbiter.pass_on(ads, "r1", 1.0) == ()


def test_a_continue_of_ours_that_is_refused_is_over() -> None:
    arbiter, (ads,) = claimed(ADS)
    arbiter.paused(pause(), 0.0)
    arbiter.pass_on(ads, "r1", 1.0)
    assert arbiter.answered("r1", refusal("Invalid parameters"), 1.0) == ()
    assert arbiter.due(99.0) == ()


def test_a_challenge_is_not_failed() -> None:
    arbiter, (ads,) = claimed(ADS, auth=True)
    arbiter.paused(challenge(), 0.0)
    arbiter.pass_on(ads, "r1", 1.0)
    assert arbiter.answered("r1", refusal("Invalid parameters"), 1.0) == ()


def test_a_refused_enable_of_other_code_leaves_fetch_free() -> None:
    arbiter = FetchArbiter()
    ended = arbiter.check_command("Fetch.enable")
    ended(refusal("Invalid parameters"))
    ended(refusal("Invalid parameters"))
    arbiter.claim([ALL], auth=False, name="x")


def test_of_two_enables_of_other_code_one_may_be_refused() -> None:
    arbiter = FetchArbiter()
    first, second = arbiter.check_command("Fetch.enable"), arbiter.check_command("Fetch.enable")
    first(refusal("Invalid parameters"))
    second(ENDED)
    with pytest.raises(InvalidArgument, match="is enabled on this session already"):
        arbiter.claim([ALL], auth=False, name="x")


def test_a_refused_taking_of_the_body_takes_nothing() -> None:
    arbiter, (ads,) = claimed(ADS)
    arbiter.paused(pause(), 0.0)
    arbiter.check_command("Fetch.takeResponseBodyAsStream", {"requestId": "r1"})(refusal("Invalid parameters"))
    assert sent(arbiter.pass_on(ads, "r1", 1.0)) == CONTINUE


def test_a_claim_that_asks_for_the_response_gets_it() -> None:
    arbiter, (ads, every) = claimed(ADS, ALL)
    arbiter.paused(pause(), 0.0)
    arbiter.answer(ads, "Fetch.continueRequest", {"requestId": "r1", "interceptResponse": True}, 1.0)
    arbiter.answered("r1", ENDED, 1.0)
    response = pause(responseStatusCode=200)
    assert arbiter.paused(response, 2.0) == (Give(claim=ads, event=response),)
    arbiter.answer(ads, "Fetch.continueResponse", {"requestId": "r1", "responseCode": 201}, 3.0)
    arbiter.answered("r1", ENDED, 3.0)
    assert sent(arbiter.paused(response, 4.0)) == CONTINUE
    assert every not in {each.claim for each in arbiter.paused(response, 5.0) if isinstance(each, Give)}


def test_an_expired_request_goes_to_the_browser_and_to_no_other_claim() -> None:
    arbiter, (_ads, _every) = claimed(ADS, ALL)
    arbiter.paused(pause(), 0.0)
    assert sent(arbiter.due(PATIENCE)) == CONTINUE


def test_a_long_url_is_matched_in_linear_time() -> None:
    """Many stars against a URL of a page's choice: a regular expression would take minutes."""
    arbiter = FetchArbiter()
    arbiter.claim([{"urlPattern": "*/a/*/b/*/a/*/b/*x"}], auth=False, name="x")
    assert sent(arbiter.paused(pause(url="https://x.example/" + "a/b/" * 5_000), 0.0)) == CONTINUE


# ── the laws ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class Shares(RuleBasedStateMachine):
    """Claims come and go, requests are paused and answered; a model knows what the browser holds."""

    def __init__(self) -> None:
        super().__init__()
        self.arbiter = FetchArbiter()
        self.claims: dict[int, bool] = {}
        self.held: dict[str, bool] = {}
        """What the browser holds: True for a challenge."""
        self.streamed: set[str] = set()
        """Requests whose body was taken as a stream: to continue one would hang it."""
        self.challenges: set[str] = set()
        self.given: dict[str, int] = {}
        self.keeps: dict[str, int] = {}
        """The owners of requests whose answers the browser refused, until they hear of it."""
        self.replies: list[tuple[str, Any]] = []
        self.now, self.number = 0.0, 0
        self.patterns: list[Json] = []
        self.refuse = False

    def obey(self, orders: Any) -> None:
        for each in orders:
            if isinstance(each, Give):
                request_id = each.event.params["requestId"]
                assert each.claim in self.claims
                assert self.claims[each.claim] or each.event.method == PAUSED
                self.given[request_id] = each.claim
            elif isinstance(each, Send) and each.method == "Fetch.enable":
                self.patterns = each.params["patterns"]
            elif isinstance(each, Send) and each.method == "Fetch.disable":
                assert not self.held, "Fetch.disable with a request that is held"
                self.held.clear()
                self.given.clear()
                self.patterns = []
            elif isinstance(each, Send):
                self.replies.append((each.answers, self.reply_to(each)))

    def reply_to(self, command: Send) -> Any:
        request_id = command.params["requestId"]
        assert request_id == command.answers
        if request_id not in self.held:
            return refusal(GONE)
        assert self.held[request_id] == (command.method == "Fetch.continueWithAuth")
        bare = command.method == "Fetch.continueRequest" and len(command.params) == 1
        assert not (bare and request_id in self.streamed)
        if self.refuse:
            return refusal("Invalid parameters")
        if self.held.pop(request_id):
            assert command.params["authChallengeResponse"]["response"] != "CancelAuth"
        return ENDED

    @rule(pattern=st.sampled_from([ADS, ALL, {"urlPattern": "*shop*"}]), auth=st.booleans())
    def claim(self, pattern: Json, auth: bool) -> None:
        number, orders = self.arbiter.claim([pattern], auth=auth, name="x")
        self.claims[number] = auth
        self.obey(orders)
        assert pattern in self.patterns

    @precondition(lambda self: self.claims)
    @rule(data=st.data())
    def release(self, data: Any) -> None:
        number = data.draw(st.sampled_from(sorted(self.claims)))
        del self.claims[number]
        given = {request_id for request_id, owner in self.given.items() if owner == number}
        for request_id in given:
            del self.given[request_id]
        self.obey(self.arbiter.release(number, self.now))

    @precondition(lambda self: self.claims)
    @rule(
        url=st.sampled_from(["https://ads.example/", "https://shop.example/", "https://x.example/"]),
        auth=st.booleans(),
    )
    def pause(self, url: str, auth: bool) -> None:
        self.number += 1
        request_id = f"r{self.number}"
        self.held[request_id] = auth
        if auth:
            self.challenges.add(request_id)
        self.obey(self.arbiter.paused((challenge if auth else pause)(request_id, url), self.now))

    @precondition(lambda self: self.given)
    @rule(data=st.data(), how=st.sampled_from(["continue", "fail", "refused"]))
    def answer(self, data: Any, how: str) -> None:
        request_id = data.draw(st.sampled_from(sorted(self.given)))
        owner, params = self.given[request_id], {"requestId": request_id}
        del self.given[request_id]
        self.refuse = how == "refused"
        if request_id in self.challenges:
            response = {"response": "Default" if how == "continue" else "ProvideCredentials"}
            params = {**params, "authChallengeResponse": response}
            orders = self.arbiter.answer(owner, "Fetch.continueWithAuth", params, self.now)
        elif how == "continue":
            orders = self.arbiter.answer(owner, "Fetch.continueRequest", params, self.now)
        else:
            orders = self.arbiter.answer(owner, "Fetch.failRequest", {**params, "errorReason": "Failed"}, self.now)
        if self.refuse and self.held.get(request_id) is not None:
            self.keeps[request_id] = owner
        self.obey(orders)
        self.refuse = False

    @precondition(lambda self: self.given)
    @rule(data=st.data())
    def take_body(self, data: Any) -> None:
        request_id = data.draw(st.sampled_from(sorted(self.given)))
        if request_id not in self.challenges:
            self.streamed.add(request_id)
            self.arbiter.check_command("Fetch.takeResponseBodyAsStream", {"requestId": request_id})

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def navigate(self, data: Any) -> None:
        """The browser drops a request, without an event."""
        del self.held[data.draw(st.sampled_from(sorted(self.held)))]

    @precondition(lambda self: self.replies)
    @rule()
    def deliver(self) -> None:
        request_id, outcome = self.replies.pop(0)
        owner = self.keeps.pop(request_id, None)
        if owner in self.claims and isinstance(outcome, Refusal) and outcome.message != GONE:
            self.given[request_id] = owner
        self.obey(self.arbiter.answered(request_id, outcome, self.now))

    def deliver_all(self) -> None:
        while self.replies:
            self.deliver()

    @rule(seconds=st.floats(0, 20))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds
        before = dict(self.given)
        orders = self.arbiter.due(self.now)
        for each in orders:
            if isinstance(each, Expired):
                assert each.claim in before.values()
            elif isinstance(each, Send):
                self.given.pop(each.answers, None)
        self.obey(orders)
        deadline = self.arbiter.next_deadline()
        assert deadline is None or deadline > self.now

    @invariant()
    def every_held_request_has_an_owner_or_an_answer_under_way(self) -> None:
        answered = {request_id for request_id, _outcome in self.replies}
        assert self.held.keys() <= self.given.keys() | answered
        assert all(owner in self.claims for owner in self.given.values())

    def teardown(self) -> None:
        """Without further answers, nothing is left paused after the time limits of the claims."""
        for _ in range(len(self.claims) + 2):
            self.deliver_all()
            self.time_passes(PATIENCE)
        self.deliver_all()
        assert not self.held


def test_the_arbiter_keeps_its_laws() -> None:
    run_state_machine_as_test(Shares)


@pytest.mark.parametrize("method", ["Page.navigate", "Fetch.continueWithAuth", "Fetch.disable"])
def test_another_command_does_not_answer_a_request(method: str) -> None:
    arbiter, (ads,) = claimed(ADS)
    arbiter.paused(pause(), 0.0)
    with pytest.raises(InvalidArgument, match=r"does not answer a request; use one of: Fetch\.continueRequest"):
        arbiter.answer(ads, method, {"requestId": "r1"}, 0.0)


def test_the_default_answer_to_a_challenge_passes_it_on() -> None:
    arbiter, (ads,) = claimed(ADS, auth=True)
    arbiter.paused(challenge(), 0.0)
    params = {"requestId": "r1", "authChallengeResponse": {"response": "Default"}}
    assert sent(arbiter.answer(ads, "Fetch.continueWithAuth", params, 0.0)) == DEFAULT


def test_the_outcome_of_a_disable_is_of_no_interest() -> None:
    arbiter = FetchArbiter()
    arbiter.check_command("Fetch.disable")(refusal("no"))
    arbiter.check_command("Fetch.takeResponseBodyAsStream", {"requestId": "unknown"})(refusal("no"))
    arbiter.claim([ALL], auth=False, name="x")


def test_a_request_that_is_over_is_forgotten() -> None:
    arbiter, (ads,) = claimed(ADS)
    arbiter.paused(pause(), 0.0)
    arbiter.pass_on(ads, "r1", 1.0)
    arbiter.answered("r1", ENDED, 1.0)
    assert not arbiter._pauses
    assert not arbiter._held
