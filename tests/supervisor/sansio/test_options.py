"""Options are values: an invalid one raises where it is made, and the error lists what is valid."""

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

INVALID_SECONDS = [0, -1, -0.5, math.nan, math.inf, -math.inf, True, None, "3", [3], 10**400]
INVALID_COUNTS = [-1, 1.0, True, None, "3", math.inf]


# ── policies ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("policy", POLICIES)
def test_a_single_policy_applies_to_every_type(policy: Any) -> None:
    assert [Policy(policy).of(kind) for kind in (*TYPES, "of a newer browser")] == [policy] * 5


def test_the_default_policy_waits_five_minutes_for_a_response() -> None:
    assert (Policy().of("alert"), Policy().dialog_timeout, Policy().prompt_text) == ("must_respond", 300.0, None)


def test_the_policy_of_a_type_that_is_not_given_is_must_respond() -> None:
    policy = Policy({"alert": "auto_accept", "confirm": "auto_dismiss"})
    assert [policy.of(kind) for kind in ("alert", "confirm", "prompt", "of a newer browser")] == [
        "auto_accept",
        "auto_dismiss",
        "must_respond",
        "must_respond",
    ]


def test_a_policy_keeps_a_read_only_copy_of_its_mapping() -> None:
    given: dict[Any, Any] = {"alert": "auto_accept"}
    policy = Policy(given)
    given["alert"] = "auto_dismiss"
    assert policy.of("alert") == "auto_accept"
    with pytest.raises(TypeError):
        policy.dialogs["alert"] = "auto_dismiss"  # type: ignore[index]


@pytest.mark.parametrize(
    "wrong", ["auto", "", None, 5, ["auto_accept"], {"alert": "auto"}, {"alert": None}, {"alert": []}, ANY]
)
def test_an_unknown_policy_is_refused_with_the_valid_ones(wrong: Any) -> None:
    with pytest.raises(InvalidPolicy) as raised:
        Policy(wrong)
    assert raised.value.valid == POLICIES
    assert "must_respond, auto_dismiss, auto_accept" in str(raised.value)
    assert isinstance(raised.value, ValueError)


@pytest.mark.parametrize("wrong", ["Alert", "", None, 5, ()])
def test_an_unknown_dialog_type_is_refused_with_the_valid_ones(wrong: Any) -> None:
    with pytest.raises(InvalidPolicy) as raised:
        Policy({wrong: "auto_accept"})
    assert raised.value.valid == TYPES


@pytest.mark.parametrize("wrong", INVALID_SECONDS)
def test_the_dialog_timeout_must_be_a_positive_number_of_seconds(wrong: Any) -> None:
    with pytest.raises(InvalidPolicy, match="dialog_timeout must be a positive number of seconds"):
        Policy(dialog_timeout=wrong)


@pytest.mark.parametrize("right", [1, 0.001, 1e9])
def test_any_positive_number_is_a_valid_timeout(right: float) -> None:
    assert Policy(dialog_timeout=right).dialog_timeout == right


@pytest.mark.parametrize("wrong", [5, b"text", True])
def test_the_prompt_text_must_be_a_string(wrong: Any) -> None:
    with pytest.raises(InvalidPolicy, match="prompt_text must be a string or None"):
        Policy(prompt_text=wrong)


def test_an_empty_prompt_text_is_not_the_page_s_default() -> None:
    """An empty text is an answer; with None the page's default is used (fact 12)."""
    assert (Policy(prompt_text="").prompt_text, Policy(prompt_text=None).prompt_text) == ("", None)


def test_unattended_accepts_alert_and_beforeunload_and_dismisses_confirm_and_prompt() -> None:
    policy = Policy.unattended(dialog_timeout=7.0)
    assert {kind: policy.of(kind) for kind in TYPES} == {
        "alert": "auto_accept",
        "beforeunload": "auto_accept",
        "confirm": "auto_dismiss",
        "prompt": "auto_dismiss",
    }
    assert (policy.of("of a newer browser"), policy.dialog_timeout) == ("must_respond", 7.0)
    assert Policy.unattended().dialog_timeout == Policy().dialog_timeout


def test_only_the_policy_itself_is_a_positional_argument() -> None:
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
def test_a_policy_is_read_back_from_its_json(policy: Policy) -> None:
    written = policy.to_json()
    assert Policy.from_mapping(written) == policy
    assert type(written["dialog_policy"]) in (str, dict)  # valid JSON
    assert list(written) == ["dialog_policy", "dialog_timeout_s", "prompt_text"]


@pytest.mark.parametrize("wrong", [None, "auto_accept", 5, [("dialog_policy", "auto_accept")]])
def test_a_configuration_that_is_not_a_mapping_is_refused_with_the_valid_keys(wrong: Any) -> None:
    with pytest.raises(InvalidPolicy, match="a policy is read from a mapping, not from") as raised:
        Policy.from_mapping(wrong)
    assert raised.value.valid == ("dialog_policy", "dialog_timeout_s", "prompt_text")


SEVERAL = [Policy(), Policy({"alert": "auto_accept", "prompt": "auto_dismiss"}, dialog_timeout=2, prompt_text="x")]


@pytest.mark.parametrize("policy", [*SEVERAL, Policy.unattended()])
@pytest.mark.parametrize(
    "make_copy",
    [copy.copy, copy.deepcopy, lambda policy: pickle.loads(pickle.dumps(policy))],
    ids=["copy", "deep", "pickle"],
)
def test_a_policy_can_be_copied_and_pickled(make_copy: Any, policy: Policy) -> None:
    """It is a value: it can go to another process or be the key of a dict."""
    copied = make_copy(policy)
    assert (copied, hash(copied)) == (policy, hash(policy))
    with pytest.raises(TypeError):
        make_copy(SEVERAL[1]).dialogs["alert"] = "auto_dismiss"


def test_equal_policies_are_one_key_whatever_the_order_of_their_types() -> None:
    one, other = (
        Policy({"alert": "auto_accept", "prompt": "auto_dismiss"}),
        Policy({"prompt": "auto_dismiss", "alert": "auto_accept"}),
    )
    assert len({one, other, *SEVERAL}) == 3


def test_keys_that_a_configuration_leaves_out_have_their_defaults() -> None:
    assert Policy.from_mapping({}) == Policy()
    assert Policy.from_mapping({"dialog_timeout_s": 4}) == Policy(dialog_timeout=4)
    assert Policy.from_mapping({"dialog_policy": "auto_dismiss"}) == Policy("auto_dismiss")


def test_an_unknown_key_or_policy_of_a_configuration_is_refused() -> None:
    with pytest.raises(InvalidPolicy) as raised:
        Policy.from_mapping({"dialog_timeout": 4})
    assert raised.value.valid == ("dialog_policy", "dialog_timeout_s", "prompt_text")
    with pytest.raises(InvalidPolicy):
        Policy.from_mapping({"dialog_policy": "auto"})


# ── scopes ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_only_the_scope_of_the_browser_is_whole() -> None:
    assert Scope.browser().whole
    assert Scope.browser().observed().whole
    assert not Scope.targets("A").whole
    assert not Scope.context("C").whole


def test_a_scope_contains_the_named_ids() -> None:
    assert Scope.targets("B", "A", "B").target_ids == {"A", "B"}
    assert Scope.targets("A") == Scope.targets("A", "A")
    assert Scope.context("C").context_id == "C"


@pytest.mark.parametrize("wrong", [(), ("",), ("A", None), (["A"],), (5,)])
def test_a_scope_of_targets_needs_at_least_one_id(wrong: Any) -> None:
    with pytest.raises(InvalidPolicy, match=r"Scope\.targets needs the ids"):
        Scope.targets(*wrong)


@pytest.mark.parametrize("wrong", ["", None, 5, b"C"])
def test_a_scope_of_a_context_needs_its_id(wrong: Any) -> None:
    with pytest.raises(InvalidPolicy, match=r"Scope\.context needs the id"):
        Scope.context(wrong)


@pytest.mark.parametrize("scope", [Scope.browser(), Scope.targets("A"), Scope.context("C")])
def test_observed_changes_only_the_observing_flag(scope: Scope) -> None:
    assert not scope.observing
    observing = scope.observed()
    assert observing.observing
    assert (observing.target_ids, observing.context_id) == (scope.target_ids, scope.context_id)
    assert observing.observed() == observing
    assert not scope.observing  # the scope itself has not changed


def test_the_json_of_a_scope_is_the_same_on_every_run() -> None:
    assert Scope.targets("B", "C", "A").to_json() == {"targets": ["A", "B", "C"], "context": None, "observing": False}
    assert Scope.context("C").observed().to_json() == {"targets": None, "context": "C", "observing": True}


# ── reconnecting ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_each_attempt_waits_longer_up_to_the_maximum() -> None:
    reconnect = Reconnect(first=0.5, factor=2.0, most=3.0)
    assert [reconnect.wait_before(attempt, 1.0) for attempt in range(1, 6)] == [0.5, 1.0, 2.0, 3.0, 3.0]


def test_jitter_spreads_over_the_upper_half_of_the_wait() -> None:
    reconnect = Reconnect(first=4.0)
    assert [reconnect.wait_before(1, jitter) for jitter in (0.0, 0.5, 1.0)] == [2.0, 3.0, 4.0]


@pytest.mark.parametrize("odd", [-0.1, 1.1, math.nan, math.inf, -math.inf])
def test_an_invalid_jitter_counts_as_the_middle(odd: float) -> None:
    assert Reconnect().wait_before(1, odd) == Reconnect().wait_before(1, 0.5)


def test_the_five_thousandth_attempt_waits_no_longer_than_the_maximum() -> None:
    """The power of the factor would overflow by then."""
    assert Reconnect(budget=10_000).wait_before(5_000, 1.0) == 10.0


@pytest.mark.parametrize("factor", [10**300, 1e308, 10**9])
def test_the_wait_never_exceeds_the_maximum_however_large_the_factor(factor: float) -> None:
    """A power that overflows gives the maximum, and no exception."""
    reconnect = Reconnect(factor=factor, most=7.0)
    assert [reconnect.wait_before(attempt, 1.0) for attempt in (1, 2, 5_000)] == [0.5, 7.0, 7.0]


def test_a_factor_below_one_shrinks_the_wait_to_zero() -> None:
    reconnect = Reconnect(factor=0.5)
    assert [reconnect.wait_before(attempt, 1.0) for attempt in (1, 2, 5_000)] == [0.5, 0.25, 0.0]


def test_never_is_a_budget_of_zero() -> None:
    assert Reconnect.never().budget == 0
    assert Reconnect() == Reconnect(first=0.5, factor=2.0, most=10.0, budget=5)


@pytest.mark.parametrize("name", ["first", "factor", "most"])
@pytest.mark.parametrize("wrong", INVALID_SECONDS)
def test_the_numbers_of_reconnect_must_be_positive(name: str, wrong: Any) -> None:
    with pytest.raises(InvalidPolicy, match=f"{name} must be a positive number"):
        Reconnect(**{name: wrong})


@pytest.mark.parametrize("wrong", INVALID_COUNTS)
def test_the_budget_must_be_a_whole_number(wrong: Any) -> None:
    with pytest.raises(InvalidPolicy, match="budget must be a whole number, 0 or more"):
        Reconnect(budget=wrong)


# ── all options ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_every_limit_is_positive_and_finite() -> None:
    limits = attrs.asdict(Limits())
    assert all(0 < value < math.inf for value in limits.values())


def test_the_defaults_of_the_limits_that_users_notice() -> None:
    """Messages are cut where the browser cuts them (fact 19); twenty outcomes of calls are kept."""
    assert (Limits().text_kept, Limits().ended_calls, Limits().recent_dialogs) == (10_240, 20, 20)


# ── numbers, and wrong values in error texts ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("number", [0, -1, 0.5, 1e308, 10**300])
def test_a_finite_number_is_a_time_if_it_is_positive(number: float) -> None:
    assert is_finite(number)
    assert is_time(number) is (number > 0)


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf, True, None, "3", [3], 10**400, -(10**400)])
def test_a_value_that_is_not_a_finite_number_is_not_a_time(odd: Any) -> None:
    assert not is_finite(odd)
    assert not is_time(odd)


class Silent:
    """A class with a repr that raises."""

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
def test_a_wrong_value_is_shown_and_a_long_one_is_cut(value: Any, text: str) -> None:
    assert shown(value) == text
