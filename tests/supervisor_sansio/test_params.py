"""Reading what a browser said: what is missing, of another type or too long breaks nothing."""

from __future__ import annotations

from typing import Any

import pytest

from cdp_supervisor.sansio.params import flag, member, members, text

ODD: list[Any] = [None, True, False, 0, 1, -1, 0.5, "", "text", [], ["text"], {}, {"a": 1}]


@pytest.mark.parametrize("odd", ODD)
def test_what_is_of_another_type_is_as_if_it_had_not_been_said(odd: Any) -> None:
    params = {"it": odd}
    assert text(params, "it") == (odd if isinstance(odd, str) else "")
    assert flag(params, "it") is (odd is True)
    assert member(params, "it") == (odd if isinstance(odd, dict) else {})
    assert members(params, "it") == []


def test_what_is_missing_is_empty() -> None:
    assert (text({}, "it"), flag({}, "it"), member({}, "it"), members({}, "it")) == ("", False, {}, [])


def test_one_is_not_yes() -> None:
    """Only the boolean is: a truthy text such as "false" says nothing."""
    assert not any(flag({"it": value}, "it") for value in (1, "true", "false", [0], {"a": 1}))


def test_an_id_has_a_bound_too() -> None:
    """Memory is bounded whatever a peer sends."""
    assert len(text({"it": "x" * 5_000}, "it")) == 1_024
    assert text({"it": "x" * 1_024}, "it") == "x" * 1_024


@pytest.mark.parametrize(("most", "seen"), [(0, ""), (2, "ab"), (3, "abc"), (9, "abc")])
def test_a_text_is_cut_where_the_reader_says(most: int, seen: str) -> None:
    assert text({"it": "abc"}, "it", most) == seen


def test_a_member_is_the_thing_itself() -> None:
    inner = {"a": {"b": 1}}
    assert member({"it": inner}, "it") is inner


def test_of_a_list_the_objects_are_read_in_their_order() -> None:
    assert members({"it": [{"a": 1}, None, "b", {"c": 2}, [{"d": 3}], {}]}, "it") == [{"a": 1}, {"c": 2}, {}]


def test_what_is_read_is_a_list_of_the_reader_s_own() -> None:
    params = {"it": [{"a": 1}]}
    members(params, "it").clear()
    assert params == {"it": [{"a": 1}]}
