"""What a peer wrote is shown in errors and logs only where it looks like what it should be."""

from __future__ import annotations

import re

from hypothesis import example, given
from hypothesis import strategies as st

from cdp_core.sansio.redaction import shown_id, shown_method, shown_type


@given(st.text(), st.integers(0, 100))
@example("Page.loadEventFired", 1)
@example("Page." + "x" * 59, 1)
@example("Page." + "x" * 60, 1)
@example("Page.x\n", 1)
@example("a1-._B", 1)
@example("shared_worker", 1)
def test_what_a_peer_says_is_shown_where_it_looks_like_what_it_should_be(word: str, times: int) -> None:
    """Letters, digits and few signs; cut, or left away. Anything else may be the words of a page."""
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
