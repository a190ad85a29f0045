"""Effects are complete in themselves: the event source that performs one adds and decides nothing."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from cdp_core.sansio.messages import SessionId
from cdp_supervisor.sansio import effects
from cdp_supervisor.sansio.changes import LinkChanged
from cdp_supervisor.sansio.effects import (
    Answer,
    AutoAttach,
    Detach,
    Dial,
    Disconnect,
    Discover,
    Effect,
    Enable,
    EndDialog,
    Forget,
    Note,
    OpenDialog,
    Publish,
    Release,
    Resume,
    Send,
    Wanted,
)
from support.modules import assert_required, classes_of

S = SessionId("S")
REQUIRED: dict[type, dict[str, Any]] = {
    Send: {"ticket": 1, "session_id": S, "method": "Page.enable"},
    Forget: {"ticket": 1},
    Discover: {},
    AutoAttach: {},
    Enable: {"session_id": S, "domain": "Page"},
    Resume: {"session_id": S},
    Detach: {"session_id": S, "parent": None},
    Release: {},
    Answer: {"request_id": 1},
    Publish: {"change": LinkChanged(phase="up", generation=1, reason="")},
    Dial: {"generation": 2},
    Disconnect: {"reason": "half_open"},
    Note: {"level": "info", "text": "link up"},
    OpenDialog: {"key": "a", "page_id": "P", "frame_id": "P", "via": "request", "type": "alert"},
    EndDialog: {"key": "a", "answered": True},
    effects.ClaimFetch: {"key": "a", "session_id": S, "patterns": ({},)},
    effects.AnswerFetch: {"key": "a", "method": "Fetch.failRequest", "params": {}},
    effects.ReleaseFetch: {},
}


def test_the_union_contains_every_effect() -> None:
    assert {*get_args(Effect), *get_args(Wanted)} == set(REQUIRED) == classes_of(effects)


@pytest.mark.parametrize("kind", REQUIRED)
def test_a_required_field_has_no_default(kind: type) -> None:
    assert_required(kind, REQUIRED[kind])


def test_auto_attach_without_a_session_is_for_the_root_session() -> None:
    assert AutoAttach().session_id is None


def test_an_answer_has_by_default_the_value_none_and_no_error() -> None:
    """Only one of the two counts: the error, if it is set."""
    assert (Answer(request_id=1).value, Answer(request_id=1).error) == (None, None)


def test_the_params_of_a_command_are_none_by_default() -> None:
    assert Send(**REQUIRED[Send]).params is None


def test_two_notes_share_no_fields() -> None:
    first, second = Note(level="info", text="a"), Note(level="info", text="b")
    with pytest.raises(TypeError):
        first.fields["page"] = "T"  # type: ignore[index]
    assert dict(second.fields) == {}
