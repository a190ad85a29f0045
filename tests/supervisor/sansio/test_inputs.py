"""Inputs are facts: they do not change, they say when they happened and on which link, and each has its rule."""

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
from support.modules import classes_of

AT = Instant(mono=3.0, wall=1_000.0)
LEAST: dict[type, dict[str, Any]] = {
    LinkUp: {},
    LinkDown: {"reason": "closed"},
    BrowserEvent: {"event": Event(method="Page.loadEventFired")},
    SessionOpened: {"session_id": SessionId("S"), "target_id": TargetId("T"), "target_type": "page"},
    SessionClosed: {"session_id": SessionId("S")},
    CommandEnded: {"ticket": 1, "outcome": NotSent(error=ValueError())},
    RequestReceived: {"request_id": 1, "request": Stop()},
    RequestCancelled: {"request_id": 1},
    TimePassed: {},
}


def least(kind: type) -> Any:
    return kind(at=AT, generation=2, **LEAST[kind])


def test_the_union_has_every_input() -> None:
    assert set(get_args(Input)) == set(LEAST) == classes_of(inputs) - {Instant, inputs.NotSent}


def test_every_input_has_a_rule_but_time() -> None:
    """What time does is done after every input."""
    assert {*get_args(Input)} - {*RULES} == {TimePassed}


@pytest.mark.parametrize("kind", LEAST)
def test_an_input_says_when_it_happened_and_on_which_link(kind: type) -> None:
    made = least(kind)
    assert (made.at, made.generation) == (AT, 2)
    for missing in ("at", "generation"):
        given = {"at": AT, "generation": 2, **LEAST[kind]}
        del given[missing]
        with pytest.raises(TypeError):
            kind(**given)


@pytest.mark.parametrize("kind", LEAST)
def test_a_fact_does_not_change(kind: type) -> None:
    made = least(kind)
    with pytest.raises(AttributeError):
        made.generation = 3
    assert made == least(kind)


def test_a_moment_is_no_other_one_for_being_shown_otherwise() -> None:
    """`mono` decides; where nobody tells the wall's time, there is none."""
    assert Instant(mono=3.0).wall == 0.0
    assert Instant(mono=3.0, wall=1_000.0) == AT
    with pytest.raises(AttributeError):
        AT.mono = 4.0  # type: ignore[misc]


def test_a_link_is_ours_to_open_again_unless_somebody_says_otherwise() -> None:
    assert (least(LinkUp).owned, least(LinkUp).browser_id) == (True, None)


def test_a_lost_link_is_worth_another_try_unless_it_says_otherwise() -> None:
    assert (least(LinkDown).final, least(LinkDown).jitter) == (False, 0.5)


def test_what_is_not_said_of_a_session_is_nothing() -> None:
    """A session below the browser's own, on a target that runs; one that ended by a detach."""
    assert (least(SessionOpened).parent, least(SessionOpened).waiting_for_debugger) == (None, False)
    assert least(SessionClosed).reason == "detached"


def test_an_event_comes_without_its_page() -> None:
    """The machine fills it in, for those that come after it."""
    assert least(BrowserEvent).page is None
