"""Options are values: what is wrong with one is told where it is made, with what would be right."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any
from unittest.mock import ANY

import attrs
import pytest

from cdp_supervisor.errors import InvalidPolicy
from cdp_supervisor.sansio.options import POLICIES, TYPES, Limits, Policy, Reconnect, Scope, is_finite, is_time, shown

NO_SECONDS = [0, -1, -0.5, math.nan, math.inf, -math.inf, True, None, "3", [3], 10**400]
NO_COUNT = [-1, 1.0, True, None, "3", math.inf]


# ── policies ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("policy", POLICIES)
def test_one_policy_is_that_of_every_type(policy: Any) -> None:
    assert [Policy(policy).of(kind) for kind in (*TYPES, "of a newer browser")] == [policy] * 5


def test_whoever_says_nothing_must_respond_within_five_minutes() -> None:
    assert (Policy().of("alert"), Policy().dialog_timeout, Policy().prompt_text) == ("must_respond", 300.0, None)


def test_a_type_without_a_policy_must_be_responded_to() -> None:
    policy = Policy({"alert": "auto_accept", "confirm": "auto_dismiss"})
    assert [policy.of(kind) for kind in ("alert", "confirm", "prompt", "of a newer browser")] == [
        "auto_accept",
        "auto_dismiss",
        "must_respond",
        "must_respond",
    ]


def test_a_policy_does_not_follow_the_mapping_that_it_was_made_of() -> None:
    given: dict[Any, Any] = {"alert": "auto_accept"}
    policy = Policy(given)
    given["alert"] = "auto_dismiss"
    assert policy.of("alert") == "auto_accept"
    with pytest.raises(TypeError):
        policy.dialogs["alert"] = "auto_dismiss"  # type: ignore[index]


@pytest.mark.parametrize(
    "wrong", ["auto", "", None, 5, ["auto_accept"], {"alert": "auto"}, {"alert": None}, {"alert": []}, ANY]
)
def test_a_policy_that_there_is_not_is_refused_with_those_that_there_are(wrong: Any) -> None:
    with pytest.raises(InvalidPolicy) as raised:
        Policy(wrong)
    assert raised.value.valid == POLICIES
    assert "must_respond, auto_dismiss, auto_accept" in str(raised.value)
    assert isinstance(raised.value, ValueError)


@pytest.mark.parametrize("wrong", ["Alert", "", None, 5, ()])
def test_a_dialog_type_that_there_is_not_is_refused_with_those_that_there_are(wrong: Any) -> None:
    with pytest.raises(InvalidPolicy) as raised:
        Policy({wrong: "auto_accept"})
    assert raised.value.valid == TYPES


@pytest.mark.parametrize("wrong", NO_SECONDS)
def test_the_time_for_a_dialog_is_a_positive_number_of_seconds(wrong: Any) -> None:
    with pytest.raises(InvalidPolicy, match="dialog_timeout must be a positive number of seconds"):
        Policy(dialog_timeout=wrong)


@pytest.mark.parametrize("right", [1, 0.001, 1e9])
def test_any_positive_number_is_a_time(right: float) -> None:
    assert Policy(dialog_timeout=right).dialog_timeout == right


@pytest.mark.parametrize("wrong", [5, b"text", True])
def test_what_a_prompt_is_answered_with_is_a_text(wrong: Any) -> None:
    with pytest.raises(InvalidPolicy, match="prompt_text must be a string or None"):
        Policy(prompt_text=wrong)


def test_an_empty_prompt_text_is_not_the_page_s_default() -> None:
    """An empty text is an answer; None leaves the page its default (fact 12)."""
    assert (Policy(prompt_text="").prompt_text, Policy(prompt_text=None).prompt_text) == ("", None)


def test_unattended_accepts_what_only_informs_and_declines_what_asks() -> None:
    policy = Policy.unattended(dialog_timeout=7.0)
    assert {kind: policy.of(kind) for kind in TYPES} == {
        "alert": "auto_accept",
        "beforeunload": "auto_accept",
        "confirm": "auto_dismiss",
        "prompt": "auto_dismiss",
    }
    assert (policy.of("of a newer browser"), policy.dialog_timeout) == ("must_respond", 7.0)
    assert Policy.unattended().dialog_timeout == Policy().dialog_timeout


def test_only_the_policy_itself_is_told_by_its_place() -> None:
    with pytest.raises(TypeError):
        Policy("auto_accept", 7.0)  # type: ignore[misc]


@pytest.mark.parametrize(
    "policy",
    [
        Policy(),
        Policy("auto_accept", dialog_timeout=2.5, prompt_text="x"),
        Policy({"prompt": "auto_accept"}, prompt_text=""),
        Policy.unattended(),
    ],
)
def test_a_policy_is_read_back_from_what_a_trace_holds(policy: Policy) -> None:
    written = policy.to_json()
    assert Policy.from_mapping(written) == policy
    assert type(written["dialog_policy"]) in (str, dict)  # what JSON can say
    assert list(written) == ["dialog_policy", "dialog_timeout_s", "prompt_text"]


@pytest.mark.parametrize("wrong", [None, "auto_accept", 5, [("dialog_policy", "auto_accept")]])
def test_what_is_no_configuration_is_refused_with_what_one_may_say(wrong: Any) -> None:
    with pytest.raises(InvalidPolicy, match="a policy is read from a mapping, not from") as raised:
        Policy.from_mapping(wrong)
    assert raised.value.valid == ("dialog_policy", "dialog_timeout_s", "prompt_text")


SEVERAL = [Policy(), Policy({"alert": "auto_accept", "prompt": "auto_dismiss"}, dialog_timeout=2, prompt_text="x")]


@pytest.mark.parametrize("policy", [*SEVERAL, Policy.unattended()])
@pytest.mark.parametrize(
    "trip",
    [copy.copy, copy.deepcopy, lambda policy: pickle.loads(pickle.dumps(policy))],
    ids=["copy", "deep", "pickle"],
)
def test_a_policy_travels(trip: Any, policy: Policy) -> None:
    """To another process, or into a dict's key: it is a value."""
    arrived = trip(policy)
    assert (arrived, hash(arrived)) == (policy, hash(policy))
    with pytest.raises(TypeError):
        trip(SEVERAL[1]).dialogs["alert"] = "auto_dismiss"


def test_equal_policies_are_one_key_in_whichever_order_they_were_written() -> None:
    one, other = (
        Policy({"alert": "auto_accept", "prompt": "auto_dismiss"}),
        Policy({"prompt": "auto_dismiss", "alert": "auto_accept"}),
    )
    assert len({one, other, *SEVERAL}) == 3


def test_a_configuration_says_what_it_wants_and_no_more() -> None:
    assert Policy.from_mapping({}) == Policy()
    assert Policy.from_mapping({"dialog_timeout_s": 4}) == Policy(dialog_timeout=4)
    assert Policy.from_mapping({"dialog_policy": "auto_dismiss"}) == Policy("auto_dismiss")


def test_a_misspelt_option_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(InvalidPolicy) as raised:
        Policy.from_mapping({"dialog_timeout": 4})
    assert raised.value.valid == ("dialog_policy", "dialog_timeout_s", "prompt_text")
    with pytest.raises(InvalidPolicy):
        Policy.from_mapping({"dialog_policy": "auto"})


# ── scopes ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_only_the_scope_of_the_browser_is_whole() -> None:
    assert Scope.browser().whole
    assert Scope.browser().observed().whole
    assert not Scope.targets("A").whole
    assert not Scope.context("C").whole


def test_a_scope_holds_what_was_named() -> None:
    assert Scope.targets("B", "A", "B").target_ids == {"A", "B"}
    assert Scope.targets("A") == Scope.targets("A", "A")
    assert Scope.context("C").context_id == "C"


@pytest.mark.parametrize("wrong", [(), ("",), ("A", None), (["A"],), (5,)])
def test_a_scope_of_targets_names_one_at_least(wrong: Any) -> None:
    with pytest.raises(InvalidPolicy, match=r"Scope\.targets needs the ids"):
        Scope.targets(*wrong)


@pytest.mark.parametrize("wrong", ["", None, 5, b"C"])
def test_a_scope_of_a_context_names_it(wrong: Any) -> None:
    with pytest.raises(InvalidPolicy, match=r"Scope\.context needs the id"):
        Scope.context(wrong)


@pytest.mark.parametrize("scope", [Scope.browser(), Scope.targets("A"), Scope.context("C")])
def test_observing_changes_nothing_but_that(scope: Scope) -> None:
    assert not scope.observing
    seen = scope.observed()
    assert seen.observing
    assert (seen.target_ids, seen.context_id) == (scope.target_ids, scope.context_id)
    assert seen.observed() == seen
    assert not scope.observing  # the scope itself is as it was


def test_a_scope_is_written_the_same_on_every_run() -> None:
    assert Scope.targets("B", "C", "A").to_json() == {"targets": ["A", "B", "C"], "context": None, "observing": False}
    assert Scope.context("C").observed().to_json() == {"targets": None, "context": "C", "observing": True}


# ── dialling again ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_each_attempt_waits_longer_up_to_the_most() -> None:
    reconnect = Reconnect(first=0.5, factor=2.0, most=3.0)
    assert [reconnect.wait_before(attempt, 1.0) for attempt in range(1, 6)] == [0.5, 1.0, 2.0, 3.0, 3.0]


def test_jitter_spreads_over_the_upper_half() -> None:
    reconnect = Reconnect(first=4.0)
    assert [reconnect.wait_before(1, jitter) for jitter in (0.0, 0.5, 1.0)] == [2.0, 3.0, 4.0]


@pytest.mark.parametrize("odd", [-0.1, 1.1, math.nan, math.inf, -math.inf])
def test_a_jitter_that_is_none_is_the_middle(odd: float) -> None:
    assert Reconnect().wait_before(1, odd) == Reconnect().wait_before(1, 0.5)


def test_the_thousandth_attempt_waits_no_longer_than_the_most() -> None:
    """Powers of the factor would be no number by then."""
    assert Reconnect(budget=10_000).wait_before(5_000, 1.0) == 10.0


@pytest.mark.parametrize("factor", [10**300, 1e308, 10**9])
def test_however_fast_it_grows_the_wait_is_no_longer_than_the_most(factor: float) -> None:
    """Powers that no clock can show are the most, and no exception."""
    reconnect = Reconnect(factor=factor, most=7.0)
    assert [reconnect.wait_before(attempt, 1.0) for attempt in (1, 2, 5_000)] == [0.5, 7.0, 7.0]


def test_a_wait_that_shrinks_comes_to_nothing() -> None:
    reconnect = Reconnect(factor=0.5)
    assert [reconnect.wait_before(attempt, 1.0) for attempt in (1, 2, 5_000)] == [0.5, 0.25, 0.0]


def test_never_is_a_budget_of_nothing() -> None:
    assert Reconnect.never().budget == 0
    assert Reconnect() == Reconnect(first=0.5, factor=2.0, most=10.0, budget=5)


@pytest.mark.parametrize("name", ["first", "factor", "most"])
@pytest.mark.parametrize("wrong", NO_SECONDS)
def test_the_times_of_dialling_again_are_positive(name: str, wrong: Any) -> None:
    with pytest.raises(InvalidPolicy, match=f"{name} must be a positive number"):
        Reconnect(**{name: wrong})


@pytest.mark.parametrize("wrong", NO_COUNT)
def test_a_budget_is_a_whole_number(wrong: Any) -> None:
    with pytest.raises(InvalidPolicy, match="budget must be a whole number, 0 or more"):
        Reconnect(budget=wrong)


def test_how_it_is_dialled_again_is_written_whole() -> None:
    reconnect = Reconnect(first=1, factor=3, most=9, budget=2)
    assert reconnect.to_json() == {"first": 1, "factor": 3, "most": 9, "budget": 2}
    assert Reconnect(**reconnect.to_json()) == reconnect


# ── all of them ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("option", [Policy(), Scope(), Reconnect(), Limits()])
def test_an_option_does_not_change_once_it_is_made(option: Any) -> None:
    name = attrs.fields(type(option))[0].name
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        setattr(option, name, None)


def test_limits_are_bounds_of_everything_a_page_can_make_more_of() -> None:
    limits = attrs.asdict(Limits())
    assert all(0 < value < math.inf for value in limits.values())


def test_limits_that_a_user_meets() -> None:
    """A message is as long as the browser's own cut (fact 19); the ends of the last twenty calls are kept."""
    assert (Limits().text_kept, Limits().ended_calls, Limits().recent_dialogs) == (10_240, 20, 20)


# ── numbers, and what is shown of what is none ───────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("number", [0, -1, 0.5, 1e308, 10**300])
def test_what_a_clock_can_show_is_finite_and_a_time_where_it_is_more_than_nothing(number: float) -> None:
    assert is_finite(number)
    assert is_time(number) is (number > 0)


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf, True, None, "3", [3], 10**400, -(10**400)])
def test_what_no_clock_can_show_is_no_time(odd: Any) -> None:
    assert not is_finite(odd)
    assert not is_time(odd)


class Silent:
    """Somebody's own class."""

    def __repr__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("auto", "'auto'"),
        ("x" * 78, repr("x" * 78)),
        ("x" * 79, repr("x" * 79)[:80] + "…"),
        (Silent(), "a Silent"),
        (10**5_000, "a int"),
    ],
    ids=["short", "just", "long", "raises", "too many digits"],
)
def test_a_wrong_value_is_shown_and_not_all_of_a_long_one(value: Any, text: str) -> None:
    assert shown(value) == text
