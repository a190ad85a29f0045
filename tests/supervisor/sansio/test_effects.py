"""Effects are orders, complete in themselves: whoever carries one out adds nothing and decides nothing."""

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
    Forget,
    Note,
    Publish,
    Release,
    Resume,
    Send,
)
from support.modules import classes_of

S = SessionId("S")
LEAST: dict[type, dict[str, Any]] = {
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
}


def test_the_union_has_every_effect() -> None:
    assert set(get_args(Effect)) == set(LEAST) == classes_of(effects)


@pytest.mark.parametrize("kind", LEAST)
def test_an_order_is_a_value(kind: type) -> None:
    """Two runs that order the same are seen to."""
    made = kind(**LEAST[kind])
    assert made == kind(**LEAST[kind])
    for name, value in LEAST[kind].items():
        with pytest.raises(AttributeError):
            setattr(made, name, value)
        assert made != kind(**{**LEAST[kind], name: "other"})


@pytest.mark.parametrize("kind", LEAST)
def test_what_an_order_must_say_has_no_default(kind: type) -> None:
    for name in LEAST[kind]:
        given = {**LEAST[kind]}
        del given[name]
        with pytest.raises(TypeError):
            kind(**given)


def test_auto_attach_without_a_session_is_the_browser_s_own() -> None:
    assert AutoAttach().session_id is None


def test_an_answer_without_a_value_is_none_and_no_error() -> None:
    """Exactly one of the two is looked at: the error, where there is one."""
    assert (Answer(request_id=1).value, Answer(request_id=1).error) == (None, None)


def test_a_command_without_params_says_none() -> None:
    assert Send(**LEAST[Send]).params is None


def test_lines_for_the_log_share_no_field() -> None:
    first, second = Note(level="info", text="a"), Note(level="info", text="b")
    with pytest.raises(TypeError):
        first.fields["page"] = "T"  # type: ignore[index]
    assert dict(second.fields) == {}
