"""Inputs are frozen facts with their moment and the generation of their link; each type has a rule."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from cdp_core.sansio.messages import Event, SessionId, TargetId
from cdp_supervisor.sansio import inputs
from cdp_supervisor.sansio.inputs import (
    BrowserEvent,
    CommandEnded,
    Input,
    Instant,
    LinkDown,
    LinkUp,
    NotSent,
    RequestCancelled,
    RequestReceived,
    SessionClosed,
    SessionOpened,
    TimePassed,
)
from cdp_supervisor.sansio.requests import Stop
from cdp_supervisor.sansio.step import RULES
from support.modules import assert_required, classes_of

AT = Instant(mono=3.0, wall=1_000.0)
REQUIRED: dict[type, dict[str, Any]] = {
    LinkUp: {},
    LinkDown: {"reason": "closed"},
    BrowserEvent: {"event": Event(method="Page.loadEventFired")},
    SessionOpened: {"session_id": SessionId("S"), "target_id": TargetId("T"), "target_type": "page"},
    SessionClosed: {"session_id": SessionId("S")},
    CommandEnded: {"ticket": 1, "outcome": NotSent(error=ValueError())},
    inputs.FetchPaused: {"extension": "x", "key": "k", "event": Event(method="Fetch.requestPaused")},
    inputs.FetchExpired: {"extension": "x", "key": "k", "request_id": "r"},
    inputs.FetchEnded: {"extension": "x", "key": "k", "reason": "detached"},
    RequestReceived: {"request_id": 1, "request": Stop()},
    RequestCancelled: {"request_id": 1},
    TimePassed: {},
    inputs.Replied: {"tag": "a", "outcome": NotSent(error=ValueError())},
    inputs.DialogAnswered: {"key": "a", "accept": True},
    inputs.Stopping: {},
}


def minimal(kind: type) -> Any:
    return kind(at=AT, generation=2, **REQUIRED[kind])


def test_the_union_contains_every_input() -> None:
    assert (
        set(get_args(inputs.ExtensionInput))
        == set(REQUIRED)
        == classes_of(inputs) - {Instant, inputs.NotSent, inputs.OfLink}
    )


def test_every_type_of_input_except_time_has_a_rule() -> None:
    """Due deadlines run after every input."""
    assert {*get_args(Input)} - {*RULES} == {TimePassed}


@pytest.mark.parametrize("kind", REQUIRED)
def test_an_input_has_its_moment_and_the_generation_of_its_link(kind: type) -> None:
    made = minimal(kind)
    assert (made.at, made.generation) == (AT, 2)
    assert_required(kind, {"at": AT, "generation": 2, **REQUIRED[kind]}, "at", "generation")


def test_an_instant_is_frozen_and_its_wall_time_is_optional() -> None:
    """Decisions use `mono`; without a wall clock `wall` is 0."""
    assert Instant(mono=3.0).wall == 0.0
    assert Instant(mono=3.0, wall=1_000.0) == AT
    with pytest.raises(AttributeError):
        AT.mono = 4.0  # type: ignore[misc]


def test_a_link_is_owned_by_default() -> None:
    assert (minimal(LinkUp).owned, minimal(LinkUp).browser_id) == (True, None)


def test_the_loss_of_a_link_is_not_final_by_default() -> None:
    assert (minimal(LinkDown).final, minimal(LinkDown).jitter) == (False, 0.5)


def test_the_optional_fields_of_a_session_have_defaults() -> None:
    """It is below the root session, its target runs, and it ends because it was detached."""
    assert (minimal(SessionOpened).parent, minimal(SessionOpened).waiting_for_debugger) == (None, False)
    assert minimal(SessionClosed).reason == "detached"


def test_an_event_has_no_page_by_default() -> None:
    """The state machine fills it in, for the extensions."""
    assert minimal(BrowserEvent).page is None
