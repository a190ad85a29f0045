"""Redaction: errors and logs show text of the peer only if it has the expected form."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cdp_core.sansio.redaction import shown_id, shown_method, shown_name, shown_type


@given(st.text(), st.integers(0, 100))
@example("Page.loadEventFired", 1)
@example("Page." + "x" * 59, 1)
@example("Page." + "x" * 60, 1)
@example("Page.x\n", 1)
@example("a1-._B", 1)
@example("shared_worker", 1)
def test_text_of_a_peer_is_shown_only_in_its_expected_form(word: str, times: int) -> None:
    """Letters, digits and a few signs are shown, cut to a length; any other text may come from a page."""
    for text in (word, word * times):
        assert re.fullmatch(r"[A-Za-z0-9]+\.[A-Za-z0-9]+|an event with an odd name", shown_method(text))
        assert re.fullmatch(r"[a-z_]+", shown_type(text))
        assert re.fullmatch(r"[A-Za-z0-9._-]{1,8}|\(odd\)|\(none\)", shown_id(text))
        assert max(len(shown_method(text)), len(shown_type(text)), len(shown_id(text))) <= 64


def test_names_types_and_ids_are_shown() -> None:
    assert shown_method("Page.loadEventFired") == "Page.loadEventFired"
    assert shown_type("service_worker") == "service_worker"
    assert shown_id("0123456789") == "01234567"
    assert shown_id(None) == "(root)"
    assert shown_id("") == "(none)"


@pytest.mark.parametrize(("name", "shown"), [("frameId", "frameId"), ("a b", "name"), (7, "name"), ("", "name")])
def test_the_name_of_a_field_is_shown_only_if_it_looks_like_one(name: object, shown: str) -> None:
    assert shown_name(name) == shown
