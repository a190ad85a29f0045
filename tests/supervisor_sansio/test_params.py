"""Reading what a browser said: what is missing, of another type or too long breaks nothing."""

from __future__ import annotations

from typing import Any

import pytest

from cdp_supervisor.sansio.params import flag, member, members, site_of, text

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


# ── sites ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("url", "site"),
    [
        ("http://a.example/x?y#z", "http://a.example"),
        ("https://deep.sub.a.example:8443/", "https://a.example"),
        ("HTTPS://A.Example/", "https://a.example"),
        ("http://user:secret@a.example/", "http://a.example"),
        ("http://a.example/user@b.example", "http://a.example"),
        ("http://localhost:8000/", "http://localhost"),
        ("http://127.0.0.1:8000/", "http://127.0.0.1"),
        ("http://[::1]:8000/", "http://[::1]"),
        ("http://[::ffff:10.0.0.1]/", "http://[::ffff:10.0.0.1]"),
        ("chrome-extension://abcdef/page.html", "chrome-extension://abcdef"),
        ("about:blank", ""),
        ("data:text/html,http://a.example/", ""),
        ("file:///tmp/page.html", ""),
        ("http://", ""),
        ("http://:80/", ""),
        ("no address", ""),
        ("", ""),
    ],
)
def test_a_site_is_a_scheme_and_the_last_two_names_of_a_host(url: str, site: str) -> None:
    assert site_of(url) == site


def test_two_machines_are_no_site_for_their_numbers() -> None:
    assert site_of("http://10.0.0.1/") != site_of("http://20.0.0.1/")
