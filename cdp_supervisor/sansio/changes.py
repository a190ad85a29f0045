"""What `Supervisor.changes()` tells, as values: one for each thing that came, went, or turned."""

from __future__ import annotations

import attrs

from cdp_core.sansio.wire import TargetId

__all__ = [
    "Change",
    "DialogClosed",
    "DialogOpened",
    "FrameAdded",
    "FrameNavigated",
    "FrameRemoved",
    "LinkChanged",
    "PageCrashed",
    "PageGone",
    "PageOpened",
]


@attrs.frozen(kw_only=True)
class DialogOpened:
    """A dialog is open."""

    dialog_id: str
    target_id: TargetId
    type: str


@attrs.frozen(kw_only=True)
class DialogClosed:
    """A dialog has ended."""

    dialog_id: str
    target_id: TargetId
    closed_by: str
    reason: str


@attrs.frozen(kw_only=True)
class FrameAdded:
    """A frame is there."""

    frame_id: str
    target_id: TargetId
    parent_id: str | None


@attrs.frozen(kw_only=True)
class FrameNavigated:
    """A frame shows another document."""

    frame_id: str
    target_id: TargetId


@attrs.frozen(kw_only=True)
class FrameRemoved:
    """A frame is gone."""

    frame_id: str
    target_id: TargetId


@attrs.frozen(kw_only=True)
class PageOpened:
    """A page came into scope."""

    target_id: TargetId
    opener_id: TargetId | None


@attrs.frozen(kw_only=True)
class PageCrashed:
    """A page's process died."""

    target_id: TargetId


@attrs.frozen(kw_only=True)
class PageGone:
    """A page is gone."""

    target_id: TargetId
    reason: str


@attrs.frozen(kw_only=True)
class LinkChanged:
    """The link came up, went down, or was given up."""

    phase: str
    epoch: int
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
