"""Changes are frozen values for any thread: each names its page, and the union contains all of them."""

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
from support.modules import assert_required, classes_of

T = TargetId("T")
FIELDS: dict[type, dict[str, Any]] = {
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


def test_the_union_contains_every_change() -> None:
    assert set(get_args(Change)) == set(FIELDS) == classes_of(changes)


@pytest.mark.parametrize("kind", FIELDS)
def test_no_field_of_a_change_has_a_default(kind: type) -> None:
    """The code that publishes a change must give every field."""
    assert_required(kind, FIELDS[kind])


@pytest.mark.parametrize("kind", [kind for kind in FIELDS if kind is not LinkChanged])
def test_a_change_names_its_page(kind: type) -> None:
    assert kind(**FIELDS[kind]).target_id == T


def test_changes_of_two_types_with_equal_fields_are_not_equal() -> None:
    """Subscribers filter by type."""
    assert FrameNavigated(frame_id="F", target_id=T) != FrameRemoved(frame_id="F", target_id=T)
