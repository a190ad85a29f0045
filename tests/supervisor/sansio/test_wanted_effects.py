"""What an extension may want: each field of each effect is checked."""

from __future__ import annotations

import math
from typing import Any, get_args

import pytest

from cdp_supervisor.sansio.effects import (
    AnswerFetch,
    ClaimFetch,
    Dial,
    EndDialog,
    Note,
    OpenDialog,
    ReleaseFetch,
    Send,
    Wanted,
)
from cdp_supervisor.sansio.wanted_effects import FIELDS, LONGEST_TAG, MAX_SENDS, NAMES, violation

GOOD: dict[type, dict[str, Any]] = {
    Send: {"ticket": 0, "session_id": None, "method": "Log.clear"},
    Note: {"level": "info", "text": "seen"},
    OpenDialog: {"key": "a", "page_id": "P", "frame_id": "P", "via": "request", "type": "alert"},
    EndDialog: {"key": "a", "answered": True},
    ClaimFetch: {"key": "a", "session_id": "S", "patterns": ({},)},
    AnswerFetch: {"key": "a", "method": "Fetch.failRequest", "params": {"requestId": "r"}},
    ReleaseFetch: {},
}
BAD: list[tuple[type, str, Any]] = [
    (Send, "session_id", 5),
    (Send, "method", ""),
    (Send, "method", None),
    (Send, "reply_to", None),
    (Send, "reply_to", "x" * (LONGEST_TAG + 1)),
    (Note, "level", "fatal"),
    (Note, "text", None),
    (Note, "fields", [1]),
    (OpenDialog, "key", ""),
    (OpenDialog, "via", "native"),
    *((OpenDialog, name, 5) for name in ("key", "page_id", "frame_id", "type", "message", "default_prompt")),
    (EndDialog, "key", None),
    (EndDialog, "answered", 1),
    (EndDialog, "reason", None),
    (ClaimFetch, "key", ""),
    (ClaimFetch, "session_id", 5),
    (ClaimFetch, "patterns", [{}]),
    (ClaimFetch, "auth", 1),
    (AnswerFetch, "key", None),
    (AnswerFetch, "method", ""),
    (AnswerFetch, "reply_to", 5),
    (ReleaseFetch, "key", None),
]


def made(kind: type, **changed: Any) -> Any:
    return kind(**{**GOOD[kind], **changed})


def test_every_effect_of_an_extension_is_checked() -> None:
    assert set(get_args(Wanted)) == set(FIELDS) == set(GOOD)
    assert {(kind, name) for kind, fields in FIELDS.items() for name in fields} <= {each[:2] for each in BAD}


@pytest.mark.parametrize("kind", GOOD)
def test_a_valid_effect_is_no_violation(kind: type) -> None:
    assert violation((made(kind),)) == ""


@pytest.mark.parametrize(("kind", "name", "value"), BAD)
def test_an_invalid_field_is_named(kind: type, name: str, value: Any) -> None:
    wrong = violation((made(Note), made(kind, **{name: value})))
    assert wrong == f"the {name} of the {kind.__name__} that it returned is invalid"


@pytest.mark.parametrize("kind", [Send, AnswerFetch])
@pytest.mark.parametrize("params", [{"a": object()}, {"a": math.nan}, 5])
def test_params_that_are_not_json_are_a_violation(kind: type, params: Any) -> None:
    wrong = made(kind, params=params, method="x" * 99)
    assert violation((wrong,)) == f"it sent {'x' * 64} with params that are not JSON"


@pytest.mark.parametrize("order", [None, 5, "close", Dial(generation=1)])
def test_anything_else_is_a_violation(order: Any) -> None:
    assert violation((order,)) == f"it returned something other than {NAMES}"


def test_the_commands_of_one_input_are_limited_together() -> None:
    many = (made(Send), made(ClaimFetch), made(AnswerFetch)) * 3
    assert violation(many[:MAX_SENDS]) == ""
    assert violation((*many[:MAX_SENDS], made(Note), made(ReleaseFetch))) == ""
    assert violation(many) == "it sent 9 commands for one input"


def test_a_tag_may_be_as_long_as_the_limit() -> None:
    assert violation((made(Send, reply_to="x" * LONGEST_TAG),)) == ""
