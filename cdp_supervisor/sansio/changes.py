"""What `Supervisor.changes()` tells, as values: one for each thing that came, went, or turned."""

from __future__ import annotations

from cdp_core.sansio.messages import TargetId
from cdp_core.sansio.structs import Struct


class DialogOpened(Struct, frozen=True, kw_only=True, gc=False):
    """A dialog is open."""

    dialog_id: str
    target_id: TargetId
    type: str


class DialogClosed(Struct, frozen=True, kw_only=True, gc=False):
    """A dialog has ended."""

    dialog_id: str
    target_id: TargetId
    closed_by: str
    reason: str


class FrameAdded(Struct, frozen=True, kw_only=True, gc=False):
    """A frame is there."""

    frame_id: str
    target_id: TargetId
    parent_id: str | None


class FrameNavigated(Struct, frozen=True, kw_only=True, gc=False):
    """A frame shows another document."""

    frame_id: str
    target_id: TargetId


class FrameRemoved(Struct, frozen=True, kw_only=True, gc=False):
    """A frame is gone."""

    frame_id: str
    target_id: TargetId


class PageOpened(Struct, frozen=True, kw_only=True, gc=False):
    """A page came into scope."""

    target_id: TargetId
    opener_id: TargetId | None


class PageCrashed(Struct, frozen=True, kw_only=True, gc=False):
    """A page's process died."""

    target_id: TargetId


class PageGone(Struct, frozen=True, kw_only=True, gc=False):
    """A page is gone."""

    target_id: TargetId
    reason: str


class LinkChanged(Struct, frozen=True, kw_only=True, gc=False):
    """The link came up, went down, or was given up."""

    phase: str
    generation: int
    reason: str


Change = (
    DialogOpened
    | DialogClosed
    | FrameAdded
    | FrameNavigated
    | FrameRemoved
    | PageOpened
    | PageCrashed
    | PageGone
    | LinkChanged
)
"""One of the changes."""
