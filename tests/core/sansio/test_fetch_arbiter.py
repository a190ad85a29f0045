"""Fetch shared by claims: no request is left paused, and nobody answers the request of another claim."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from cdp_core.errors import InvalidArgument
from cdp_core.sansio.fetch_arbiter import PATIENCE, Expired, FetchArbiter, Give, Send

Json = dict[str, Any]
ADS, ALL = {"urlPattern": "*ads*"}, {"urlPattern": "*"}


def pause(request_id: str = "r1", url: str = "https://ads.example/", **more: Any) -> Json:
    return {"requestId": request_id, "request": {"url": url}, "resourceType": "Document", **more}


def claimed(*patterns: Json, auth: bool = False) -> tuple[FetchArbiter, list[int]]:
    """An arbiter with one claim for each pattern."""
    arbiter = FetchArbiter()
    return arbiter, [arbiter.claim([each], auth=auth, name=f"claim {each['urlPattern']}")[0] for each in patterns]


def sent(orders: Any) -> list[tuple[str, Json]]:
    return [(each.method, each.params) for each in orders if isinstance(each, Send)]


CONTINUE = [("Fetch.continueRequest", {"requestId": "r1"})]
DEFAULT = [("Fetch.continueWithAuth", {"requestId": "r1", "authChallengeResponse": {"response": "Default"}})]


def test_the_browser_gets_the_union_of_the_patterns() -> None:
    arbiter = FetchArbiter()
    _one, orders = arbiter.claim([ADS, ALL], auth=False, name="one")
    assert sent(orders) == [("Fetch.enable", {"patterns": [ADS, ALL]})]
    _two, orders = arbiter.claim([ALL], auth=True, name="two")
    assert sent(orders) == [("Fetch.enable", {"patterns": [ADS, ALL], "handleAuthRequests": True})]


def test_the_first_claim_that_matches_owns_a_request_and_continue_passes_it_on() -> None:
    arbiter, (ads, every) = claimed(ADS, ALL)
    assert arbiter.paused(pause(), 0.0) == (Give(claim=ads, params=pause(), auth=False),)
    assert arbiter.answer(ads, "Fetch.continueRequest", {"requestId": "r1"}, 1.0) == (
        Give(claim=every, params=pause(), auth=False),
    )
    assert sent(arbiter.answer(every, "Fetch.continueRequest", {"requestId": "r1"}, 2.0)) == CONTINUE
    assert arbiter.unclaimed == 0


def test_a_request_that_no_claim_matches_is_continued_and_counted() -> None:
    arbiter, _claims = claimed(ADS)
    assert sent(arbiter.paused(pause(url="https://shop.example/"), 0.0)) == CONTINUE
    assert arbiter.unclaimed == 1


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
    orders = arbiter.release(ads)
    assert orders[0] == Give(claim=every, params=pause(), auth=False)
    assert sent(orders) == [("Fetch.enable", {"patterns": [ALL]})]
    assert sent(arbiter.release(every)) == [*CONTINUE, ("Fetch.disable", {})]
    assert arbiter.release(every) == ()


def test_a_challenge_goes_to_claims_with_auth_and_is_never_cancelled_for_others() -> None:
    arbiter, _claims = claimed(ADS)
    assert sent(arbiter.auth_required(pause(), 0.0)) == DEFAULT
    secret = {"response": "ProvideCredentials", "username": "u", "password": "p"}
    number, _orders = arbiter.claim([ALL], auth=True, name="auth")
    assert arbiter.auth_required(pause(), 0.0) == (Give(claim=number, params=pause(), auth=True),)
    with pytest.raises(InvalidArgument, match=r"use Fetch\.continueWithAuth"):
        arbiter.answer(number, "Fetch.continueRequest", {"requestId": "r1"}, 0.0)
    params = {"requestId": "r1", "authChallengeResponse": secret}
    assert sent(arbiter.answer(number, "Fetch.continueWithAuth", params, 0.0)) == [("Fetch.continueWithAuth", params)]
    arbiter.auth_required(pause(), 0.0)
    assert sent(arbiter.release(number)) == [*DEFAULT, ("Fetch.enable", {"patterns": [ADS]})]


def test_a_request_that_is_not_answered_for_ten_seconds_is_continued_and_named() -> None:
    arbiter, (ads,) = claimed(ADS)
    assert arbiter.next_deadline() is None
    arbiter.paused(pause(), 3.0)
    assert arbiter.next_deadline() == 3.0 + PATIENCE
    assert arbiter.due(12.9) == ()
    orders = arbiter.due(13.0)
    assert orders[0] == Expired(claim=ads, name="claim *ads*")
    assert sent(orders) == CONTINUE
    assert (arbiter.expired, arbiter.next_deadline()) == (1, None)


def test_fetch_is_either_shared_or_used_directly() -> None:
    arbiter = FetchArbiter()
    arbiter.check_command("Fetch.enable")
    with pytest.raises(InvalidArgument, match=r"Fetch.disable, then use claim_fetch\(patterns=…\)"):
        arbiter.claim([ALL], auth=False, name="x")
    assert arbiter.paused(pause(), 0.0) == ()
    arbiter.check_command("Fetch.disable")
    arbiter.claim([ALL], auth=False, name="bridge")
    for method in ("Fetch.enable", "Fetch.disable"):
        with pytest.raises(InvalidArgument, match=r"\(bridge\); use claim_fetch\(patterns=…\)"):
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
        ({"urlPattern": "https://ads.example/?"}, {}, False),
        ({"urlPattern": "https://ads.exampl?/"}, {}, True),
        ({"urlPattern": "https://*.example/"}, {}, True),
        ({"urlPattern": r"https://ads\.example\/"}, {}, True),
        ({"urlPattern": r"*\*"}, {}, False),
        ({"urlPattern": "ads"}, {}, False),
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
    params=st.dictionaries(
        st.sampled_from(["requestId", "request", "resourceType"]),
        st.none() | st.text() | st.lists(st.text()) | st.dictionaries(st.text(), st.text()),
    )
)
def test_odd_params_never_raise(params: Json) -> None:
    arbiter, _claims = claimed(ADS)
    arbiter.paused(params, 0.0)
    arbiter.auth_required(params, 0.0)


class Shares(RuleBasedStateMachine):
    """Claims come and go, requests are paused, answered, given up; a model knows what the browser holds."""

    def __init__(self) -> None:
        super().__init__()
        self.arbiter = FetchArbiter()
        self.claims: dict[int, bool] = {}
        self.paused_at_browser: dict[str, bool] = {}
        """What the browser holds: True for a challenge."""
        self.given: dict[str, int] = {}
        self.now, self.number, self.patterns = 0.0, 0, []

    def obey(self, orders: Any) -> None:
        for each in orders:
            if isinstance(each, Give):
                request_id = each.params["requestId"]
                assert request_id in self.paused_at_browser
                assert each.claim in self.claims
                assert self.claims[each.claim] or not each.auth
                self.given[request_id] = each.claim
            elif isinstance(each, Send) and each.method == "Fetch.enable":
                self.patterns = each.params["patterns"]
            elif isinstance(each, Send) and each.method == "Fetch.disable":
                assert not self.paused_at_browser, "Fetch.disable with a request that is held"
                self.patterns = []
            elif isinstance(each, Send):
                request_id = each.params["requestId"]
                auth = self.paused_at_browser.pop(request_id)
                assert auth == (each.method == "Fetch.continueWithAuth")
                if auth:
                    assert each.params["authChallengeResponse"]["response"] != "CancelAuth"
                self.given.pop(request_id, None)

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
        orders = self.arbiter.release(number)
        del self.claims[number]
        self.obey(orders)

    @precondition(lambda self: self.claims)
    @rule(
        url=st.sampled_from(["https://ads.example/", "https://shop.example/", "https://x.example/"]), auth=st.booleans()
    )
    def pause(self, url: str, auth: bool) -> None:
        self.number += 1
        params = pause(f"r{self.number}", url)
        self.paused_at_browser[params["requestId"]] = auth
        self.obey((self.arbiter.auth_required if auth else self.arbiter.paused)(params, self.now))

    @precondition(lambda self: self.given)
    @rule(data=st.data(), how=st.sampled_from(["continue", "fail"]))
    def answer(self, data: Any, how: str) -> None:
        request_id = data.draw(st.sampled_from(sorted(self.given)))
        owner, params = self.given.pop(request_id), {"requestId": request_id}
        if self.paused_at_browser[request_id]:
            response = {"response": "Default" if how == "continue" else "ProvideCredentials"}
            orders = self.arbiter.answer(
                owner, "Fetch.continueWithAuth", {**params, "authChallengeResponse": response}, self.now
            )
        elif how == "continue":
            orders = self.arbiter.answer(owner, "Fetch.continueRequest", params, self.now)
        else:
            orders = self.arbiter.answer(owner, "Fetch.failRequest", {**params, "errorReason": "Failed"}, self.now)
        self.obey(orders)

    @precondition(lambda self: self.given)
    @rule(data=st.data())
    def navigate(self, data: Any) -> None:
        """The browser drops a request, and the answer to it is refused."""
        request_id = data.draw(st.sampled_from(sorted(self.given)))
        del self.paused_at_browser[request_id], self.given[request_id]
        self.arbiter.gone(request_id)

    @rule(seconds=st.floats(0, 20))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds
        self.obey(self.arbiter.due(self.now))
        deadline = self.arbiter.next_deadline()
        assert deadline is None or deadline > self.now

    @invariant()
    def every_held_request_has_an_owner(self) -> None:
        assert self.given.keys() == self.paused_at_browser.keys()
        assert all(owner in self.claims for owner in self.given.values())


def test_the_arbiter_keeps_its_laws() -> None:
    run_state_machine_as_test(Shares)
