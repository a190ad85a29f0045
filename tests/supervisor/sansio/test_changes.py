"""Changes are values that any thread may hold: each says of which page, and a filter names every one of them."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from cdp_core.sansio.messages import TargetId
from cdp_supervisor.sansio import changes
from cdp_supervisor.sansio.changes import (
    Change,
    DialogClosed,
    DialogOpened,
    FrameAdded,
    FrameNavigated,
    FrameRemoved,
    LinkChanged,
    PageCrashed,
    PageGone,
    PageOpened,
)
from support.modules import classes_of

T = TargetId("T")
EACH: dict[type, dict[str, Any]] = {
    DialogOpened: {"dialog_id": "d-1", "target_id": T, "type": "alert"},
    DialogClosed: {"dialog_id": "d-1", "target_id": T, "closed_by": "agent", "reason": "answered"},
    FrameAdded: {"frame_id": "F", "target_id": T, "parent_id": "T"},
    FrameNavigated: {"frame_id": "F", "target_id": T},
    FrameRemoved: {"frame_id": "F", "target_id": T},
    PageOpened: {"target_id": T, "opener_id": None},
    PageCrashed: {"target_id": T},
    PageGone: {"target_id": T, "reason": "closed"},
    LinkChanged: {"phase": "up", "generation": 1, "reason": ""},
}


def test_the_union_has_every_change() -> None:
    assert set(get_args(Change)) == set(EACH) == classes_of(changes)


@pytest.mark.parametrize("kind", EACH)
def test_a_change_is_a_value(kind: type) -> None:
    made = kind(**EACH[kind])
    assert made == kind(**EACH[kind])
    assert len({made, kind(**EACH[kind])}) == 1
    for name, value in EACH[kind].items():
        assert getattr(made, name) == value
        with pytest.raises(AttributeError):
            setattr(made, name, value)


@pytest.mark.parametrize("kind", EACH)
def test_nothing_of_a_change_is_left_to_a_default(kind: type) -> None:
    """Whoever tells of one says all of it."""
    for name in EACH[kind]:
        given = {**EACH[kind]}
        del given[name]
        with pytest.raises(TypeError):
            kind(**given)


@pytest.mark.parametrize("kind", [kind for kind in EACH if kind is not LinkChanged])
def test_a_change_says_of_which_page(kind: type) -> None:
    assert kind(**EACH[kind]).target_id == T


def test_two_kinds_that_say_the_same_are_not_the_same() -> None:
    """A filter goes by the type."""
    assert FrameNavigated(frame_id="F", target_id=T) != FrameRemoved(frame_id="F", target_id=T)
